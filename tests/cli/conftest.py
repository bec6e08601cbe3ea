"""Running commands in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from wirelens.cli.main import group

if TYPE_CHECKING:
    from click.testing import Result
    from commands import Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `wirelens WORDS…` in this process; standard output is not a terminal."""
    for name in ("FORCE_COLOR", "NO_COLOR", "WIRELENS_DEBUG", "PAGER", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str, stdin: str | bytes = b"") -> Result:
        return CliRunner().invoke(group, list(words), input=stdin, prog_name="wirelens")

    return call
