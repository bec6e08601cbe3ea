"""Comma-separated values."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from wirelens.codecs.words import clean

if TYPE_CHECKING:
    from collections.abc import Iterable


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Lines of cells, None being empty; characters that are not printable as escapes, as in other text."""
    buffer = StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([[clean(cell) if isinstance(cell, str) else cell for cell in row] for row in rows])
    return buffer.getvalue()
