"""Processes of a run, and what they have written."""

import os
from pathlib import Path


def children(parent: int) -> list[int]:
    """The processes whose parent is `parent`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def has_rows(out: Path) -> bool:
    """Whether a decoding task of an active run has written rows."""
    # Unlike a pattern, `os.walk` is not disturbed by folders that vanish.
    return any(
        "rows" in Path(folder).relative_to(out).parts and files for folder, _, files in os.walk(out / "_runs")
    )
