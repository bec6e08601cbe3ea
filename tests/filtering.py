"""What `--where` takes of the JSON lines of a command, for the tests of messages and of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commands import Run


def lines(run: Run, command: str, *words: str) -> list[str]:
    """The lines of `wirelens COMMAND --format jsonl WORDS…`."""
    result = run(command, "--format", "jsonl", *words)
    assert result.exit_code == 0, result.stderr
    rows: list[str] = result.stdout.splitlines()
    return rows


def check_counts(run: Run, command: str, path: str, total: int, examples: Sequence[tuple[str, int]]) -> None:
    """Check how many lines each expression takes, and that these are the same lines in the same order."""
    every = lines(run, command, path)
    assert len(every) == total
    counts = []
    for expression, _ in examples:
        found = lines(run, command, "--where", expression, path)
        assert [line for line in every if line in set(found)] == found
        counts.append((expression, len(found)))
    assert [pair for pair in counts if pair not in examples] == []
