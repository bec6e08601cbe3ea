"""Reports on standard error. File names and texts in them come from input: they are cleaned, line by line."""

from __future__ import annotations

import sys


def warn(text: str) -> None:
    """Write one line to standard error. Without click: bulk's tasks report as well."""
    from wirelens.codecs.words import clean

    print(clean(text), file=sys.stderr, flush=True)
