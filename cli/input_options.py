"""Options that several commands share, as the commands get them: what is read, how results are written.

Plain classes: each NamedTuple would add 0.2 ms to the start of every command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wirelens.cli.select import Selection


class InputOptions:
    """What is read: paths, texts on the command line, the form of the bytes in them (None: recognised)."""

    __slots__ = ("form", "paths", "texts")

    def __init__(self, paths: tuple[str, ...], texts: tuple[str, ...], form: str | None) -> None:
        self.paths = paths
        self.texts = texts
        self.form = form


class OutputOptions:
    """Where and how results are written; `verbose` reports on standard error how the input was read."""

    __slots__ = ("ascii", "color", "pager", "target", "theme", "verbose", "width")

    def __init__(
        self,
        target: str | None,
        color: str,
        theme: str,
        ascii: bool,
        width: int | None,
        pager: bool,
        verbose: bool,
    ) -> None:
        self.target = target
        self.color = color
        self.theme = theme
        self.ascii = ascii
        self.width = width
        self.pager = pager
        self.verbose = verbose


class MergeOptions:
    """How several captures belong together.

    `separate`: each is by itself. `point`: "none", "folder", or a regular expression, which finds in a path
    the point where it was captured.
    """

    __slots__ = ("point", "separate")

    def __init__(self, separate: bool, point: str) -> None:
        self.separate = separate
        self.point = point


class FlowChoice:
    """A selected flow: its number; 0 for what the client sends, 1 for the server, None for both."""

    __slots__ = ("direction", "number")

    def __init__(self, number: int, direction: int | None) -> None:
        self.number = number
        self.direction = direction


class CaptureOptions:
    """What is read of captures: a protocol that is not detected, one flow, the flows of a port."""

    __slots__ = ("flow", "merge_options", "port", "protocol")

    def __init__(
        self,
        protocol: str | None,
        flow: FlowChoice | None,
        port: int | None,
        merge_options: MergeOptions,
    ) -> None:
        self.protocol = protocol
        self.flow = flow
        self.port = port
        self.merge_options = merge_options

    def selecting(self, where: Sequence[str] = ()) -> Selection:
        """What selects messages, with --where. Raises click's error."""
        from wirelens.cli.select import Selection

        return Selection(self.flow, self.port, where, self.merge_options)

    def selection(self, where: Sequence[str]) -> Selection | None:
        """As `selecting`; None if all are selected."""
        if not where and self.flow is None and self.port is None:
            return None
        return self.selecting(where)
