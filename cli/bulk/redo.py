"""Which files of earlier runs are converted again, and with them those whose flows they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wirelens.cli.bulk.ledger import LedgerRow
from wirelens.cli.bulk.settings import loads


class Redo(NamedTuple):
    """Options of a run: what to convert again."""

    quarantine: bool = False  # files with something that did not decode
    files: tuple[str, ...] = ()  # these, by their names or the ends of them
    before: str = ""  # files that were read by an older version of wirelens


def selected(rows: Iterable[LedgerRow], redo: Redo) -> set[int]:
    """The numbers of the files that the options name."""
    found = set()
    for row in rows:
        if (
            (redo.quarantine and row.quarantined + row.unrecognised + row.errors)
            or any(is_named(row, name) for name in redo.files)
            or (redo.before and _version(loads(row.settings).get("wirelens", "")) < _version(redo.before))
        ):
            found.add(row.number)
    return found


def is_named(row: LedgerRow, name: str) -> bool:
    """Whether a name, or the end of a path, is that of a file."""
    return row.file == name or row.file.endswith(f"/{name}")


def connected(
    rows: Sequence[LedgerRow], chosen: set[int], flows: Callable[[], Iterable[tuple[int, int]]]
) -> set[int]:
    """The chosen files, and all captures that may share a flow with one of them, or with one of those.

    `flows` gives the times of the first and the last packet of each flow, microseconds. Captures share one if
    it overlaps both in time.
    """
    chosen = set(chosen)
    captures = [row for row in rows if row.first_time is not None and row.last_time is not None]
    if not any(row.number in chosen for row in captures):
        return chosen
    spans = [(row.first_time or 0, row.last_time or 0) for row in captures]
    joined: list[tuple[int, int]] = []
    for first, last in sorted([*spans, *flows()]):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    times = [row.first_time or 0 for row in captures if row.number in chosen]
    wanted = [span for span in joined if any(span[0] <= time <= span[1] for time in times)]
    return chosen | {
        row.number for row in captures if any(span[0] <= (row.first_time or 0) <= span[1] for span in wanted)
    }


def _version(text: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", text)]
