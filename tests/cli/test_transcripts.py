"""Commands and the output that they give, as files in transcripts/.

A line `$ wirelens …` is run from the top folder, with ` | wirelens …` behind it on its output; the lines
below it are what it must print, standard error included, and `[exit STATUS]` where it is not 0. Run with
UPDATE_TRANSCRIPTS=1 to write what is printed now, and read the difference.
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
    """What a command line prints, below the line itself."""
    stdin = b""
    said = status = ""
    for command in line.removeprefix("$ ").split(" | "):
        words = shlex.split(command)
        assert words[0] == "wirelens"
        result = run(*words[1:], stdin=stdin)
        stdin = result.stdout_bytes
        said, status = result.output, f"[exit {result.exit_code}]\n" if result.exit_code else ""
    return f"{line}\n{said}{status}"


def test_there_are_transcripts() -> None:
    assert len(list(FOLDER.glob("*.txt"))) >= 8
