"""The harnesses: their seeds are no findings, wrong records are one, some seconds of fuzzing find nothing."""

import importlib.util
import os
import random
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import fuzzing
import pytest

from wirelens import codecs
from wirelens.codecs.record import Record

FOLDER = Path(__file__).resolve().parent
NAMES = sorted(path.stem.removeprefix("fuzz_") for path in FOLDER.glob("fuzz_*.py"))
SECONDS = 15
PURE = os.environ.get("WIRELENS_FORM", "pure") == "pure"  # only interpreted code is instrumented


@pytest.mark.parametrize("name", NAMES)
def test_seeds_are_no_findings(name: str) -> None:
    harness = import_module(f"fuzz_{name}")
    seeds = list(harness.seeds())
    assert len(seeds) > 20
    for seed in seeds:
        harness.try_one(seed)


def test_changed_json_is_refused_or_encodes() -> None:
    harness = import_module("fuzz_json")
    chance = random.Random(17)
    for seed in harness.seeds():
        value = codecs.loads(seed.decode())
        for _ in range(4):
            value = fuzzing.changed(value, chance)
            harness.try_one(codecs.dumps(value).encode())


@pytest.mark.parametrize(
    "members",
    [
        {"offset": 1 << 63},
        {"offset": -(1 << 70), "error": {"offset": 1 << 64, "code": [], "text": 10**5000}},
        {"offset": "0", "error": []},
    ],
)
def test_offsets_that_no_input_has(members: dict[str, Any]) -> None:
    record = Record.from_json({"protocol": "hessian2", "bytes": "4802", **members})
    assert record.offset == 0
    assert record.error is not None
    assert record.error.offset <= 2
    assert '"bytes": "4802"' in record.json_text()


def test_what_is_wrong_with_records_is_a_finding() -> None:
    data = bytes.fromhex("48020052910048020052")
    records = codecs.decode(data, "hessian2")
    fuzzing.check_records(records, data)
    with pytest.raises(AssertionError, match="do not cover"):
        fuzzing.check_records(records[:-1], data)
    with pytest.raises(AssertionError, match="a gap"):
        fuzzing.check_records(records[1:], data)
    first = records[0]
    other = [Record(first.codec, first.offset, first.length, records[-1].tape), *records[1:]]
    with pytest.raises((AssertionError, codecs.EncodeError)):
        fuzzing.check_records(other, data)


@pytest.mark.slow
@pytest.mark.skipif(not PURE, reason="the uncompiled form is fuzzed")
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris has no wheel here")
@pytest.mark.parametrize("name", NAMES)
def test_some_seconds_of_fuzzing(name: str, tmp_path: Path) -> None:
    import wirelens

    package = Path(wirelens.__file__).parent.parent
    paths = [str(package), str(FOLDER.parent), str(FOLDER.parent / "captures")]
    options = ["-seed=1", f"-max_total_time={SECONDS}", f"-artifact_prefix={tmp_path}/found-"]
    # A process counts the memory of the one that started it as its own; the shell's is small.
    command = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]
    command += [sys.executable, str(FOLDER / "fuzz.py"), name, str(tmp_path / "corpus"), *options]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True, errors="replace")
    found = [(path.name, path.read_bytes().hex()) for path in tmp_path.glob("found-*")]
    assert (done.returncode, found) == (0, []), done.stderr[-3000:]
    assert "stat::number_of_executed_units" in done.stderr
