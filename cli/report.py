"""`wirelens report`."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.errors import RefusedError
from wirelens.codecs.words import count

if TYPE_CHECKING:
    from typing import Final

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import CaptureOptions, InputOptions, OutputOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.merged import Merged
    from wirelens.cli.select import Selection
    from wirelens.codecs import Record
    from wirelens.codecs.call import Call
    from wirelens.codecs.conversations import Message
    from wirelens.formatters.html.report import Report

SECONDS: Final = 1.0  # between reports of progress

EPILOG: Final = """\b
Examples:
  wirelens report app.pcap -o app.html
  wirelens report captures/ -o all.html                 rotated files as one capture
  wirelens report --where 'latency>100ms' app.pcap -o slow.html
  wirelens report --redact app.pcap -o ticket.html      without the sender's values
  wirelens report payload.hex -o payload.html

\b
The page needs no network and no other file. --redact keeps names of classes, fields, services and
methods, numbers, times and ports; it replaces all other values, keys of maps, addresses, file names and
the sentences of errors. Look at the page before it goes to strangers."""


@options.command(EPILOG)
@options.captures
@options.where("messages", "kind=response and status!=OK, method=find")
@options.option("--redact", is_flag=True, help="Replace values, keys of maps, addresses and file names.")
@options.option("--redact-numbers", is_flag=True, help="Replace numbers, dates and ports too.")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    capture_options: CaptureOptions,
    where: tuple[str, ...],
    redact: bool,
    redact_numbers: bool,
    output_options: OutputOptions,
) -> None:
    """Write what is in INPUT as one page of HTML, for those who do not have wirelens.

    It shows conversations, calls, latencies, and each message as a tree beside its bytes. With --where a call
    is there as a whole if one of its messages matches.
    """
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output
    from wirelens.formatters.html.report import Report

    protocol, merge_options = capture_options.protocol, capture_options.merge_options
    selection = capture_options.selecting(where)
    redactor = None
    if redact or redact_numbers:
        from wirelens.formatters.html.redaction import Redactor

        redactor = Redactor(redact_numbers)
    inputs = Inputs(input_options, output_options.verbose)
    with Output(output_options, inputs.paths) as output:
        if output.terminal:
            raise click.UsageError("a page is not written to a terminal: give a file with -o")
        run = Run(inputs, Report(redactor), protocol, selection)
        for item in inputs.merged(merge_options):
            run.read(item)
        beyond = selection.beyond(run.flows)
        if run.captures and beyond:
            raise RefusedError(beyond)
        output.data(run.page())
    selection.report()
    ctx.exit(2 if inputs.failed else 1 if run.undecoded or inputs.damaged else 0)


class Progress:
    """Shows on a terminal's standard error how many messages were read, once it takes long."""

    def __init__(self) -> None:
        self.shown = False
        self.last = monotonic()
        self.terminal = sys.stderr.isatty()

    def tell(self, messages: int) -> None:
        """Show the number of messages so far."""
        now = monotonic()
        if self.terminal and now - self.last >= SECONDS:
            self.last = now
            self.shown = True
            click.echo(f"\r{count(messages, 'message')}…", err=True, nl=False)

    def clear(self) -> None:
        """Remove what is shown."""
        if self.shown:
            self.shown = False
            click.echo("\r\x1b[K", err=True, nl=False)


class Run:
    """Reads all inputs into a report; `undecoded`: whether something did not decode."""

    def __init__(self, inputs: Inputs, report: Report, protocol: str | None, selection: Selection) -> None:
        self.inputs = inputs
        self.report = report
        self.protocol = protocol
        self.selection = selection
        self.undecoded = False
        self.captures = False
        self.flows = 0
        self.calls = 0
        self.counts = False  # whether messages are counted on the terminal
        self.names: list[str] = []
        self.progress = Progress()

    def read(self, item: Input | Merged) -> None:
        """Read an input, or several captures as one."""
        from wirelens.cli.input import Input, InputError

        self.names += [item.name] if isinstance(item, Input) else [one.name for one in item.items]
        try:
            if item.capture:
                self._capture(item)
            elif isinstance(item, Input):
                self._plain(item)
        except (InputError, MemoryError) as error:
            self.inputs.fail_on(item, error)
        finally:
            self.progress.clear()

    def page(self) -> bytes:
        """The page of all that was read."""
        return self.report.page(self.names)

    def _plain(self, item: Input) -> None:
        """Read an input that is one stream of bytes."""
        from wirelens.codecs.decoder import Decoder
        from wirelens.codecs.record import Origin, Place, any_damaged

        decoder = Decoder(self.protocol)
        origin = Origin(Place(item.name))

        def add(records: list[Record]) -> None:
            self.undecoded = self.undecoded or any_damaged(records)
            for record in records:
                record.origin = origin
            for record in self.selection.of_records(records):
                self.report.add_record(record, item.name)
                self.progress.tell(self.report.messages)

        last = b""
        for chunk in item.chunks:  # one late, so that the last one is decoded together with the end
            add(decoder.feed(last))
            last = chunk
        add(decoder.close(last))

    def _capture(self, item: Input | Merged) -> None:
        from wirelens.cli.input import Input
        from wirelens.cli.packets import LARGE, Capture
        from wirelens.codecs.calls import ALL_CALLS, Calls
        from wirelens.codecs.conversations import known_messages
        from wirelens.codecs.record import any_damaged

        capture = Capture(item, self.protocol, self.selection, False, self.flows)
        size = item.size if isinstance(item, Input) else sum([one.size for one in item.items])
        self.counts = size < LARGE  # else there is a bar
        following = Calls(first=self.calls + 1, kept=ALL_CALLS)
        wanted: dict[int, Message] = {}  # by identity, those that match and wait for their call

        def add(messages: list[Message], finished: list[Call]) -> None:
            messages = known_messages(messages)
            capture.messages += len(messages)
            self.undecoded = self.undecoded or any_damaged([message.record for message in messages])
            for message in messages:
                if self.selection.takes_direction(message.direction) and self.selection.matches(message):
                    if self.report.takes(len(wanted)):
                        wanted[id(message)] = message
            for call in finished:
                self._add_call(call, wanted)

        for messages, pieces in capture.conversed():
            add(messages, following.feed(messages, pieces))
        add([], following.close([]))
        for message in wanted.values():
            self.report.add_message(message)
        self.captures = True
        self.flows = capture.flows
        self.calls = following.number
        self.undecoded = self.undecoded or capture.damaged
        foreign = capture.conversations.foreign
        if foreign:
            flows = count(capture.conversations.foreign_flows, "flow")
            self.report.remarks.append(f"{flows} with {count(foreign, 'byte')} of other protocols left out")
        self.progress.clear()
        capture.report_rest(capture.messages, foreign)

    def _add_call(self, call: Call, wanted: dict[int, Message]) -> None:
        """Add a call if one of its messages is wanted: those of the selected direction."""
        found = [wanted.pop(id(message), None) for message in call.messages]
        if any(found):
            messages = [one for one in call.messages if self.selection.takes_direction(one.direction)]
            self.report.add_call(call, messages)
            if self.counts:
                self.progress.tell(self.report.messages)
