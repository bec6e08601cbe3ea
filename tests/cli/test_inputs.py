"""From files and pasted text to bytes."""

from __future__ import annotations

import gzip
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelens.cli.input import CHUNK, Input, InputError, plain_hex
from wirelens.cli.input_options import InputOptions
from wirelens.cli.inputs import Inputs
from wirelens.codecs.captures.magic import MAGICS, PCAPNG, STARTS, sniff
from wirelens.codecs.captures.pasting import PastedError, pasted

if TYPE_CHECKING:
    from pathlib import Path

HEADER = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


def opened(path: Path, form: str | None = None) -> tuple[str, bytes]:
    item = Input(str(path))
    item.open(form)
    return item.form, b"".join(item.chunks)


@given(st.text("0123456789abcdefABCDEF \n", max_size=80) | st.binary(max_size=40).map(bytes.hex))
def test_the_fast_path_agrees_with_the_full_parser(text: str) -> None:
    quick = plain_hex(text.encode())
    if quick is not None:
        found = pasted(text)
        assert (found.data, found.form) == (quick, "hex")


@given(st.binary(min_size=8, max_size=200), st.integers(1, 40))
def test_the_fast_path_accepts_plain_hex(data: bytes, columns: int) -> None:
    digits = data.hex()
    rows = [digits[at : at + columns * 2] for at in range(0, len(digits), columns * 2)]
    for text in (digits, digits.upper(), "\n".join(rows) + "\n"):
        quick = plain_hex(text.encode())
        assert quick in (None, data)
    if len(digits) >= 16 and any(letter in "abcdef" for letter in digits) and not digits.isalpha():
        assert plain_hex(digits.encode()) == data


def test_magics_of_all_containers() -> None:
    assert {magic[:2] for magic, _ in MAGICS} | {PCAPNG[:2]} == set(STARTS)
    for magic in (PCAPNG, *[magic for magic, _ in MAGICS]):
        assert sniff(magic)
        assert magic.startswith(STARTS)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "form", "data"),
    [
        (b"\x1e\0\0\1\x08\0\0\0\0", "raw", b"\x1e\0\0\1\x08\0\0\0\0"),
        (b"1e0000010800000000\n", "hex", b"\x1e\0\0\1\x08\0\0\0\0"),
        (b"just some words\n", "raw", b"just some words\n"),
        (HEADER, "pcap", HEADER),
        (b"", "raw", b""),
        (b"\x1f", "raw", b"\x1f"),
    ],
)
def test_forms(content: bytes, form: str, data: bytes, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert opened(path) == (form, data)


def test_a_large_binary_is_read_in_chunks(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(3 * CHUNK + 5)
    for content in (data, gzip.compress(data), gzip.compress(data[:7]) + gzip.compress(data[7:]) + b"\0" * 9):
        path = tmp_path / "input"
        path.write_bytes(content)
        item = Input(str(path))
        item.open()
        sizes = []
        parts = []
        for chunk in item.chunks:
            sizes.append(len(chunk))
            parts.append(chunk)
        assert b"".join(parts) == data
        assert max(sizes) <= CHUNK
        assert not item.notes


def test_input_that_stops_being_text_is_raw(tmp_path: Path) -> None:
    path = tmp_path / "input"
    content = b"GET / HTTP/1.1\r\n" * 20000 + b"\0\1\2" + b"x" * 100
    path.write_bytes(content)
    assert opened(path) == ("raw", content)


def test_captures_are_recognised_by_their_start(shared: Path) -> None:
    for path in sorted((shared / "captures" / "sessions").glob("*.pcap")):
        form, data = opened(path)
        assert form == sniff(data[:40]) == "pcap"
        assert data == path.read_bytes()


def test_refused_containers_are_named(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"GMBU" + bytes(100))
    with pytest.raises(InputError, match="Network Monitor"):
        opened(path)
    assert opened(path, "raw") == ("raw", b"GMBU" + bytes(100))
    path.write_bytes(b"no capture at all")
    with pytest.raises(InputError, match="not a capture"):
        opened(path, "capture")


def test_every_open_form_through_the_command_line(shared: Path) -> None:
    import json

    folder = shared / "captures" / "forms"
    manifest = json.loads((folder / "manifest.json").read_text())
    rows = manifest if isinstance(manifest, list) else manifest.get("files", manifest.get("forms"))
    checked = 0
    for row in rows:
        if row.get("caveat"):
            continue
        try:
            found = opened(folder / row["file"])
        except InputError as error:
            pytest.fail(f"{row['file']}: {error}")
        assert found[1] == (folder / row["payload_file"]).read_bytes(), row["file"]
        checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    "data", [b"\x1f\x8b\x08", b"\x1f\x8b\x08" + bytes(7), b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 900_000]
)
def test_input_that_only_starts_like_gzip_is_raw(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    item = Input(str(path))
    item.open()
    assert b"".join(item.chunks) == data
    assert (item.form, item.compression, item.notes) == ("raw", "", [])


def test_missing_inputs_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good = tmp_path / "good"
    good.write_bytes(b"\0\1")
    paths = (str(tmp_path / "none"), str(good), str(tmp_path / "nothing"))
    inputs = Inputs(InputOptions(paths, ("cafe",), None))
    assert [item.name for item in inputs] == ["--hex", str(good)]
    assert inputs.failed == 2
    assert capsys.readouterr().err.count("No such file") == 2


def test_an_empty_folder_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    inputs = Inputs(InputOptions((str(tmp_path),), (), None))
    assert not list(inputs)
    assert inputs.failed == 1
    assert "no files" in capsys.readouterr().err


def test_errors_of_pasted_text_are_those_of_the_parser() -> None:
    text = "ca fe ba be 00 11 22 33\n44 55 66 77 88 zz 99 aa\n"
    with pytest.raises(PastedError) as expected:
        pasted(text)
    item = Input("--hex", text)
    with pytest.raises(InputError, match=f"--hex:{expected.value.line}:{expected.value.column}: "):
        item.open()
