"""`encode` of the output of `decode` restores the bytes, whatever they are."""

import gzip
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from wirelens.cli.main import group
from wirelens.codecs import registry

VECTORS = Path(__file__).parent.parent / "vectors"


def round_trip(data: bytes, *words: str) -> bytes:
    runner = CliRunner()
    decoded = runner.invoke(group, ["decode", "--input", "raw", *words, "-"], input=data)
    assert decoded.exit_code in (0, 1), decoded.output
    encoded = runner.invoke(group, ["encode", "-"], input=decoded.stdout_bytes)
    assert encoded.exit_code == 0, encoded.output
    return encoded.stdout_bytes


@pytest.mark.parametrize("style", ["json", "jsonl"])
@pytest.mark.parametrize("protocol", [None, *registry.names()])
@given(data=st.binary(min_size=1, max_size=200))
@examples(25)
def test_arbitrary_bytes(style: str, protocol: str | None, data: bytes) -> None:
    words = ["--format", style] + (["--as", protocol] if protocol else [])
    assert round_trip(data, *words) == data


@pytest.mark.parametrize("path", sorted(VECTORS.glob("*.jsonl*")), ids=lambda path: path.name)
def test_vectors_and_damaged_vectors(path: Path) -> None:
    content = path.read_bytes()
    rows = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()
    chance = random.Random(path.name)
    for line in chance.sample(rows, min(12, len(rows))):
        protocol = re.search(r'"protocol": "([^"]+)"', line)
        found = re.search(r'"hex": "([0-9a-f]+)"', line)
        if protocol is None or found is None or protocol[1] not in registry.names():
            continue
        data = bytes.fromhex(found[1])
        assert round_trip(data, "--format", "jsonl", "--as", protocol[1]) == data
        if len(data) < 3000:
            at = chance.randrange(len(data))
            damaged = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
            for each in (damaged, data[:at] or b"\0", data + damaged):
                assert round_trip(each, "--format", "json", "--as", protocol[1]) == each
