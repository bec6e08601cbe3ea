"""Reports on standard error. File names and texts in them come from input: they are cleaned, line by line."""

from __future__ import annotations

import click


def warn(text: str) -> None:
    """Write one line to standard error."""
    from wirelens.codecs.words import clean

    click.echo(clean(text), err=True)
