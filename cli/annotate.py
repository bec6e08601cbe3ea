"""`wirelens annotate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.errors import RefusedError
from wirelens.cli.stderr import warn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import CaptureOptions, InputOptions, OutputOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.merged import Merged
    from wirelens.cli.output import Output
    from wirelens.cli.select import Selection
    from wirelens.codecs.call import Call
    from wirelens.codecs.conversations import Message

EPILOG: Final = """\b
Examples:
  wirelens annotate app.pcap -o app-annotated.pcapng
  wirelens annotate 'rotated/' -o all.pcapng
  tshark -r app-annotated.pcapng -Y 'frame.comment contains "outcome=\\"error\\""'

\b
`wirelens wireshark --install` turns the comments into fields of Wireshark and TShark: wirelens.method,
wirelens.outcome, wirelens.latency and more."""


@options.command(EPILOG)
@options.captures
@options.where("messages", "kind=response and status!=OK, method=find")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    capture_options: CaptureOptions,
    where: tuple[str, ...],
    output_options: OutputOptions,
) -> None:
    """Copy captures as pcapng, with the content of each message as a comment on the packet that completes it.

    Packets keep their bytes, times and interfaces. Annotating an annotated file changes nothing but the
    comments of wirelens, which are made anew.
    """
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output

    protocol, merge_options = capture_options.protocol, capture_options.merge_options
    selection = capture_options.selecting(where)
    inputs = Inputs(input_options, output_options.verbose)
    with Output(output_options, inputs.paths) as output:
        if output.terminal:
            raise click.UsageError("a capture is not written to a terminal: give a file with -o")
        run = Run(inputs, output, protocol, selection)
        for item in inputs.merged(merge_options):
            run.annotate(item)
        beyond = selection.beyond(run.flows)
        if run.flows and beyond:
            raise RefusedError(beyond)
    selection.report()
    ctx.exit(2 if inputs.failed else 1 if run.damaged or inputs.damaged else 0)


class Note:
    """The comment on a message: `text` is its start; calls add what came of them."""

    __slots__ = ("frame", "other", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.frame = -1  # the packet of the other message of its call, -1 for none
        self.other = ""  # what that one is: "request_in" or "response_in"


class Run:
    """Annotates captures, one after the other, into one file."""

    def __init__(self, inputs: Inputs, output: Output, protocol: str | None, selection: Selection) -> None:
        self.inputs = inputs
        self.output = output
        self.protocol = protocol
        self.selection = selection
        self.damaged = False
        self.flows = 0
        self.calls = 0
        self.frames = 0  # written so far

    def annotate(self, item: Input | Merged) -> None:
        """Read a capture, or several as one, for its messages; then copy it with comments."""
        from wirelens.cli.input import Input, InputError

        if not item.capture:
            self.inputs.fail(f"{item.name}: not a capture ({item.form})")
            return
        items = [item] if isinstance(item, Input) else list(item.items)
        if any(one.live or one.text is not None for one in items) or any(
            one.form == "packets" for one in items
        ):
            self.inputs.fail(f"{item.name}: annotate reads a capture twice; save it in a file first")
            return
        try:
            notes = self._notes(item)
            starts = self._starts(items)
            for number, one in enumerate(items):
                self._copy(one.name, number, notes, starts)
        except InputError as error:
            self.inputs.fail(str(error))

    def _notes(self, item: Input | Merged) -> dict[int, list[Note]]:
        """The notes on packets, by their numbers."""
        from wirelens.cli.packets import Capture
        from wirelens.codecs.calls import ALL_CALLS, Calls

        capture = Capture(item, self.protocol, self.selection, False, self.flows)
        calls = Calls(first=self.calls + 1, kept=ALL_CALLS)
        notes: dict[int, list[Note]] = {}
        waiting: dict[int, Note] = {}  # by the identity of messages that their calls keep

        def add(messages: list[Message], finished: list[Call]) -> None:
            for message in messages:
                if message.packets and message.record.codec is not None and self._takes(message):
                    note = Note(_start(message))
                    notes.setdefault(message.packets[-1], []).append(note)
                    if message.pair_number or message.exchange is not None:
                        waiting[id(message)] = note
            for call in finished:
                _complete(call, waiting)

        for messages, pieces in capture.conversed():
            capture.messages += len(messages)
            add(messages, calls.feed(messages, pieces))
        add([], calls.close([]))
        self.flows = capture.flows
        self.calls = calls.number
        self.damaged = self.damaged or capture.damaged
        capture.report_rest(capture.messages, capture.conversations.foreign)
        return notes

    def _takes(self, message: Message) -> bool:
        return self.selection.takes_direction(message.direction) and self.selection.matches(message)

    def _starts(self, items: list[Input]) -> list[int]:
        """The number of frames before each file's, in the file that is written."""
        from wirelens.codecs.captures.containers import PacketReader

        starts = [self.frames]
        for item in items[:-1]:
            reader = PacketReader()
            for chunk in _chunks(item.name):
                for _ in reader.steps(chunk):
                    pass
            reader.close()
            starts.append(starts[-1] + int(reader.number))
        return starts

    def _copy(self, name: str, number: int, notes: dict[int, list[Note]], starts: list[int]) -> None:
        """Copy one file."""
        from wirelens.cli.packets import progress_bar
        from wirelens.codecs.captures.annotating import Annotator
        from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK
        from wirelens.codecs.words import count

        def comments(packet: int) -> tuple[str, ...]:
            found = notes.get(number << FILE_SHIFT | packet)
            if found is None:
                return ()
            texts = []
            for note in found:
                text = note.text
                if note.frame >= 0:
                    frame = starts[note.frame >> FILE_SHIFT] + (note.frame & NUMBER_MASK)
                    text += f" {note.other}={frame}"
                texts.append(text)
            return tuple(texts)

        annotator = Annotator(comments)
        with progress_bar(name, 0) as advance:
            for chunk in _chunks(name):
                for part in annotator.feed(chunk):
                    self.output.data(part)
                if advance is not None:
                    advance(len(chunk))
            for part in annotator.close():
                self.output.data(part)
        self.frames = starts[number] + annotator.number
        if annotator.unattached:
            warn(f"{name}: {count(annotator.unattached, 'message')} in packets that cannot have comments")


def _chunks(name: str) -> Iterator[bytes]:
    """A capture file's bytes, unpacked."""
    from wirelens.cli.input import Input

    item = Input(name)
    item.open(None)
    return item.chunks


def _start(message: Message) -> str:
    """The start of a comment: protocol, kind, what the message calls, its text."""
    from wirelens.codecs.captures.annotating import MARK

    record = message.record
    codec, root = record.codec, record.root
    words = [("protocol", record.protocol), ("kind", record.kind)]
    if codec is not None and root is not None:
        facts = codec.call(root)
        words += [("service", facts.service), ("method", facts.method)]
        words += [("status", facts.status), ("exception", facts.exception)]
    words.append(("text", record.summary))
    return MARK + " ".join([f"{name}={_quoted(text)}" for name, text in words if text])


def _complete(call: Call, waiting: dict[int, Note]) -> None:
    """Add to the notes on a call's messages what came of it, and where the other one is."""
    from wirelens.codecs.call import seconds_text

    notes = [(message, waiting.pop(id(message), None)) for message in call.messages]
    request = next((message for message, _ in notes if message.direction == call.direction), None)
    reply = next((message for message, _ in notes if message.direction != call.direction), None)
    for message, note in notes:
        if note is None:
            continue
        words = f" call={call.call}"
        asks = message.direction == call.direction
        if not asks and request is not None:
            words += f" service={_quoted(call.service)}" if call.service else ""
            words += f" method={_quoted(call.method)}" if call.method else ""
        words += f" outcome={_quoted(call.outcome)}"
        if call.latency_us is not None and not asks:  # once for each call, for statistics
            words += f" latency={seconds_text(call.latency_us)}"
        note.text += words
        other = reply if asks else request
        if other is not None and other.packets:
            note.frame = other.packets[-1]
            note.other = "response_in" if asks else "request_in"


def _quoted(text: str) -> str:
    from wirelens.codecs.words import quote, shortened

    return quote(shortened(text))
