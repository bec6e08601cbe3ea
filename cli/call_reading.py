"""The calls of a command's inputs, for `calls` and `stats`: read, selected, and what is left out reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.cli.stderr import warn
from wirelens.codecs.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import MergeOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.merged import Merged
    from wirelens.cli.packets import Capture
    from wirelens.cli.select import Selection
    from wirelens.codecs.call import Call
    from wirelens.codecs.calls import Calls


class CallReading:
    """Reads all inputs as captures; `damaged`: whether one was cut or damaged, or has what did not decode.

    `number`: that of the last call. `kept`: whose messages are kept, as `Calls` has it; with `logs` each
    direction keeps its last segments. `before_read` is called before a live input is waited for.
    """

    def __init__(
        self,
        inputs: Inputs,
        merge_options: MergeOptions,
        protocol: str | None,
        selection: Selection,
        kept: int = 0,
        logs: bool = False,
    ) -> None:
        self.inputs = inputs
        self.merge_options = merge_options
        self.protocol = protocol
        self.selection = selection
        self.kept = kept
        self.logs = logs
        self.damaged = False
        self.live = False
        self.progress = True
        self.flows = 0
        self.number = 0
        self.open = 0  # calls that wait for replies
        self.before_read: Callable[[], None] | None = None
        self.quiet = False  # whether what the rows leave out is not reported

    def batches(self) -> Iterator[list[Call]]:
        """The calls in batches, as they are finished; each number once. Those of other flows are left out."""
        from wirelens.cli.input import InputError

        for item in self.inputs.merged(self.merge_options):
            if not item.capture:
                self.inputs.fail(f"{item.name}: not a capture ({item.form})")
                continue
            item.progress = self.progress
            self.live = item.live
            if item.live and self.before_read is not None:
                item.before_each_read(self.before_read)
            try:
                yield from self._capture(item)
            except InputError as error:
                self.inputs.fail(str(error))

    def _capture(self, item: Input | Merged) -> Iterator[list[Call]]:
        from wirelens.cli.packets import Capture
        from wirelens.codecs.calls import Calls

        capture = Capture(item, self.protocol, self.selection, False, self.flows, sources=False)
        capture.reader.assembler.observe(self.logs)
        source = capture.source
        calls = Calls(
            source.file, source.files, self._points(item), item.live, first=self.number + 1, kept=self.kept
        )
        conversations = capture.conversations
        for pieces in capture.pieces():
            messages = conversations.feed(pieces)
            capture.messages += len(messages)
            yield self._chosen(calls, calls.feed(messages, pieces))
        yield self._chosen(calls, calls.close(conversations.close()))
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
        """Whether --flow wants the calls of this direction."""
        return self.selection.takes_direction(call.direction)

    def beyond(self) -> str:
        """An error about --flow if all was read and there is no such flow, else ""."""
        return "" if self.inputs.failed and not self.flows else self.selection.beyond(self.flows)

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
