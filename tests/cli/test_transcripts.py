"""Commands and their output, as files in transcripts/.

A line `$ wirelens …` is run from the top folder, piped into any ` | wirelens …` that follows; the lines below
it are the expected output, including standard error, and `[exit STATUS]` if it is not 0. Run with
UPDATE_TRANSCRIPTS=1 to write the current output, and check the difference.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from commands import Run

FOLDER = Path(__file__).parent / "transcripts"
ROOT = FOLDER.parent.parent.parent


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    expected = path.read_text(encoding="utf-8")
    printed = "\n".join(replay(line, run) for line in expected.splitlines() if line.startswith("$ "))
    if os.environ.get("UPDATE_TRANSCRIPTS"):
        path.write_text(printed, encoding="utf-8")
    else:
        assert printed == expected


def replay(line: str, run: Run) -> str:
    """A command line followed by its output."""
    stdin = b""
    output = status = ""
    for command in line.removeprefix("$ ").split(" | "):
        words = shlex.split(command)
        assert words[0] == "wirelens"
        result = run(*words[1:], stdin=stdin)
        stdin = result.stdout_bytes
        output, status = result.output, f"[exit {result.exit_code}]\n" if result.exit_code else ""
    return f"{line}\n{output}{status}"


def test_there_are_transcripts() -> None:
    assert len(list(FOLDER.glob("*.txt"))) >= 8
