"""Bytes of no known protocol: their first rows, what they look like, a line for each kind in folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from commands import Run

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\xf4" + bytes(range(256)) * 40
HEARTBEAT = bytes.fromhex("dabbe200000000000000004e000000014e")


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.bin"
    path.write_bytes(PNG)
    return path


def test_the_first_rows_are_shown(run: Run, picture: Path) -> None:
    shown = run("decode", str(picture))
    assert shown.exit_code == 1
    rows = [line for line in shown.stdout.splitlines() if "  |" in line]
    assert len(rows) == 16
    assert f"{len(PNG) - 256:,} more bytes (--format hex shows all)" in shown.stdout
    assert "looks like a PNG image" in shown.stdout.splitlines()[0]
    assert "it looks like a PNG image" in shown.stderr


@pytest.mark.parametrize("words", [(), ("--width", "80")])
def test_the_hex_view_shows_all(words: tuple[str, ...], run: Run, picture: Path) -> None:
    shown = run("decode", "--format", "hex", *words, str(picture)).stdout
    rows = [line.split("  ", 1)[1].partition("|")[0] for line in shown.splitlines() if "|" in line]
    assert bytes.fromhex("".join(rows)) == PNG


def test_detect_names_it(run: Run, picture: Path) -> None:
    assert "it looks like a PNG image" in run("detect", str(picture)).stdout
    found = json.loads(run("detect", "--format", "json", str(picture)).stdout)
    assert found["looks_like"] == "a PNG image"


def test_a_folder_gives_a_line_for_each_kind(run: Run, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.png").write_bytes(PNG)
    (tmp_path / "notes.txt").write_text("what was sent: nothing that matters\n")
    (tmp_path / "odd").write_bytes(b"\xff\xfe\xfd\xfc" * 9)
    (tmp_path / "beat.bin").write_bytes(HEARTBEAT)
    shown = run("decode", "--format", "summary", str(tmp_path))
    assert shown.exit_code == 1
    assert len(shown.stdout.splitlines()) == 1
    assert "heartbeat" in shown.stdout
    lines = shown.stderr.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("5 files that look like a PNG image: ")
    assert lines[0].endswith(", …")
    assert f"1 file that looks like text: {tmp_path}/notes.txt" in lines
    assert f"1 file of no known protocol: {tmp_path}/odd" in lines
    records = run("decode", "--format", "jsonl", str(tmp_path)).stdout.splitlines()
    assert sum(json.loads(line)["protocol"] == "unknown" for line in records) == 7
