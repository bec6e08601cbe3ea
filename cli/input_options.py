"""Options that several commands share, as the commands get them: what is read, how results are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wirelens.cli.select import Selection


class InputOptions(NamedTuple):
    """What is read: paths, texts on the command line, the form of the bytes in them (None: recognised)."""

    paths: tuple[str, ...]
    texts: tuple[str, ...]
    form: str | None


class OutputOptions(NamedTuple):
    """Where and how results are written; `verbose` reports on standard error how the input was read."""

    target: str | None
    color: str
    theme: str
    ascii: bool
    width: int | None
    pager: bool
    verbose: bool


class MergeOptions(NamedTuple):
    """How several captures belong together.

    `separate`: each is by itself. `point`: "none", "folder", or a regular expression, which finds in a path
    the point where it was captured.
    """

    separate: bool
    point: str


class FlowChoice(NamedTuple):
    """A selected flow: its number; 0 for what the client sends, 1 for the server, None for both."""

    number: int
    direction: int | None


class CaptureOptions(NamedTuple):
    """What is read of captures: a protocol that is not detected, one flow, the flows of a port."""

    protocol: str | None
    flow: FlowChoice | None
    port: int | None
    merge_options: MergeOptions

    def selection(self, where: Sequence[str]) -> Selection | None:
        """What selects messages, with --where; None if all are selected. Raises click's error."""
        if not where and self.flow is None and self.port is None:
            return None
        from wirelens.cli.select import Selection

        return Selection(self.flow, self.port, where, self.merge_options)
