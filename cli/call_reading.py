"""The calls of a command's inputs, for `calls` and `stats`: read, selected, what is left out reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.cli.select import report_none
from wirelens.cli.stderr import warn
from wirelens.codecs.calls import ALL_CALLS, Calls
from wirelens.codecs.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Final

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import MergeOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.merged import Merged
    from wirelens.cli.packets import Capture
    from wirelens.cli.select import Selection
    from wirelens.cli.where.compiling import Filter
    from wirelens.codecs.call import Call

PORTION: Final = 16  # pieces that are decoded before calls are made of them, while they are in the cache


class CallReading:
    """Reads all inputs as captures; `damaged`: whether one was cut or damaged, or has what did not decode.

    `kept`: whose messages are kept, as `Calls` has it; with `logs` each direction keeps its last segments.
    `items`: the inputs if they are open already. `number`: that of the last call; `open`: calls that wait for
    replies; `read`: calls that `takes` was asked about; `selected`: those that it takes. `before_read` is
    called before a live input is waited for.
    """

    def __init__(
        self,
        inputs: Inputs,
        merge_options: MergeOptions,
        protocol: str | None,
        selection: Selection,
        kept: int = 0,
        logs: bool = False,
        items: Iterable[Input | Merged] | None = None,
    ) -> None:
        self.inputs = inputs
        self.items = items
        self.merge_options = merge_options
        self.protocol = protocol
        self.selection = selection
        self.where: Filter[Call] | None = None
        self.kept = kept
        self.logs = logs
        self.damaged = False
        self.live = False
        self.progress = True
        self.captured = False  # whether a capture was read
        self.flows = 0
        self.number = 0
        self.open = 0
        self.read = 0
        self.selected = 0
        self.before_read: Callable[[], None] | None = None
        self.observes = True  # whether packets are followed, to count what is sent again of a call
        self.quiet = False  # whether what the rows leave out is not reported

    def select(self, where: Filter[Call]) -> None:
        """Take only calls that match; their messages are kept if that takes them."""
        self.where = where
        if where.needs_trees and not self.kept:
            self.kept = ALL_CALLS

    def batches(self) -> Iterator[list[Call]]:
        """The calls in batches, as they are finished; each number once. Those of other flows are left out."""
        from wirelens.cli.input import InputError

        items = self.items if self.items is not None else self.inputs.merged(self.merge_options)
        for item in items:
            if not item.capture:
                self.inputs.fail(f"{item.name}: not a capture ({item.form})")
                continue
            item.progress = self.progress
            self.live = item.live
            if item.live and self.before_read is not None:
                item.before_each_read(self.before_read)
            try:
                yield from self._capture(item)
            except (InputError, MemoryError) as error:
                self.inputs.fail_on(item, error)

    def _capture(self, item: Input | Merged) -> Iterator[list[Call]]:
        from wirelens.cli.packets import Capture

        capture = Capture(item, self.protocol, self.selection, False, self.flows, sources=False)
        capture.portion = PORTION
        if self.observes:
            capture.reader.assembler.observe(self.logs)
        source = capture.source
        calls = Calls(
            source.file,
            source.files,
            self._points(item),
            item.live,
            first=self.number + 1,
            kept=self.kept,
            prompt=not self.observes,
        )
        for messages, pieces in capture.conversed():
            capture.messages += len(messages)
            yield self._chosen(calls, calls.feed(messages, pieces))
        yield self._chosen(calls, calls.close([]))
        self.captured = True
        self.flows = capture.flows
        self.damaged = self.damaged or capture.damaged or calls.undecoded > 0
        if self.inputs.before_report is not None:
            self.inputs.before_report()
        self._report(capture, calls)

    def _chosen(self, calls: Calls, finished: list[Call]) -> list[Call]:
        self.number = calls.number
        self.open = calls.open_calls
        return finished

    def takes(self, call: Call) -> bool:
        """Whether a call is selected by --flow and --where."""
        if not self.selection.takes_direction(call.direction):
            return False
        self.read += 1
        where = self.where
        if where is not None:
            if not where.matches(call):
                return False
            if call.messages:
                call.messages = []  # the call may have to wait, and needs them no longer
        self.selected += 1
        return True

    @property
    def takes_all(self) -> bool:
        """Whether neither --flow nor --where leaves out calls of those that are read."""
        flow = self.selection.flow
        return self.where is None and (flow is None or flow.direction is None)

    def report(self) -> None:
        """Report that --flow names no flow of the captures, or that nothing matches --where."""
        beyond = self.selection.beyond(self.flows)
        if self.captured and beyond:
            self.inputs.fail(beyond)
        elif self.where is not None and not self.selected:
            report_none(self.read, "call")

    def _points(self, item: Input | Merged) -> tuple[str, ...]:
        """Where each file was captured; () without --point."""
        from wirelens.cli.input import Input
        from wirelens.cli.points import NONE, point_of

        option = self.merge_options.point
        if option == NONE:
            return ()
        names = [item.name] if isinstance(item, Input) else [one.name for one in item.items]
        return tuple([point_of(name, option) for name in names])

    def _report(self, capture: Capture, calls: Calls) -> None:
        """Report on standard error what the rows leave out."""
        if self.quiet:
            return
        capture.report_rest(capture.messages, capture.conversations.foreign)
        name = capture.name
        if calls.undecoded:
            warn(f"{name}: {count(calls.undecoded, 'message')} not decoded: `wirelens decode` shows why")
        if calls.orphans:
            warn(f"{name}: {count(calls.orphans, 'reply', 'replies')} to no request in the capture")
        if calls.given_up:
            late = f", of which {calls.late_replies:,} were answered later" if calls.late_replies else ""
            warn(f"{name}: {count(calls.given_up, 'call')} no longer waited for{late}")
