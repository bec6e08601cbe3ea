"""`wirelens calls`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.server_side import ManyValues, server_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Final

    from wirelens.cli.call_reading import CallReading
    from wirelens.cli.input_options import CaptureOptions, InputOptions, OutputOptions
    from wirelens.cli.output import Output
    from wirelens.codecs.call import Call

EPILOG: Final = """\b
Examples:
  wirelens calls app.pcap
  wirelens calls --sort latency --limit 20 app.pcap    the slowest
  wirelens calls --where 'late=true or outcome=error' app.pcap
  wirelens calls --call 13 app.pcap                    one of them, with what happened on the wire
  wirelens calls --format csv -o calls.csv captures/
  wirelens calls client.pcap --server-side server*.pcap  where the time went: there, server, back
  tcpdump -U -w - --immediate-mode port 20880 | wirelens calls -  as they are answered

\b
A call is a request with what came of it: ok, error, unanswered, one-way or cancelled. late: answered after
the client's timeout. Calls are numbered in the order of their requests, and these numbers stay the same."""

ROWS: Final = 512  # calls that are laid out together
LINES: Final = 128  # calls that are written together as JSON
SORTS: Final = ("latency", "time", "bytes")


@options.command(EPILOG, ManyValues)
@options.captures
@options.where("calls", "outcome=error and late=true, latency>100ms, request.body.arguments[0]=5, TEXT")
@server_side
@options.option(
    "--sort",
    type=click.Choice(SORTS),
    help="Slowest first, oldest first, or most bytes first; by default in the order of the requests.",
)
@options.option("--limit", type=click.IntRange(0), metavar="N", help="At most this many calls.")
@options.option(
    "--call",
    "chosen",
    type=click.IntRange(1),
    metavar="N",
    help="Show call N: its request, what happened on the wire, its reply.",
)
@options.style("text", "jsonl", "csv")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    capture_options: CaptureOptions,
    where: tuple[str, ...],
    server_paths: tuple[str, ...],
    sort: str | None,
    limit: int | None,
    chosen: int | None,
    style: str,
    output_options: OutputOptions,
) -> None:
    """List the calls in captures: each request with its outcome and latency."""
    from wirelens.cli.call_reading import CallReading
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output
    from wirelens.cli.select import call_filter

    protocol, merge_options = capture_options.protocol, capture_options.merge_options
    if chosen is not None and (sort is not None or limit is not None or style != "text"):
        raise click.UsageError("--call shows one call as text: without --sort, --limit and --format")
    selected = call_filter(where)
    inputs = Inputs(input_options, output_options.verbose)
    selection = capture_options.selecting()
    kept = chosen or 0
    logs = chosen is not None
    if server_paths:
        from wirelens.cli.ends_reading import EndsReading

        reading: CallReading = EndsReading(
            inputs, input_options, server_paths, merge_options, protocol, selection, kept, logs
        )
    else:
        reading = CallReading(inputs, merge_options, protocol, selection, kept, logs)
        # lines of text do not show what was sent again
        reading.observes = style != "text" or chosen is not None or bool(where)
    if selected is not None:
        reading.select(selected)
    rows = Rows(reading, sort, limit)
    missing = False
    with Output(output_options, [*inputs.paths, *server_paths]) as output:
        reading.progress = not output.terminal
        inputs.before_report = output.flush
        if chosen is not None:
            missing = not show_call(reading, chosen, output)
        else:
            WRITERS[style](rows, output)
    if chosen is None and (limit is None or rows.shown < limit):
        reading.report()
    if missing:
        calls = "there are no calls" if not reading.number else f"there are calls 1 to {reading.number:,}"
        inputs.fail(f"no call {chosen}: {calls}")
    ctx.exit(2 if inputs.failed else 1 if reading.damaged or inputs.damaged else 0)


class Rows:
    """The calls that are shown, in the order in which they are shown; `shown`: how many so far."""

    def __init__(self, reading: CallReading, sort: str | None, limit: int | None) -> None:
        self.reading = reading
        self.sort = sort
        self.limit = limit
        self.shown = 0
        self.slowest_us = -1
        self.outcomes: dict[str, int] = {}

    def batches(self) -> Iterator[list[Call]]:
        """The calls in portions."""
        for calls in self._sorted() if self.sort else self._in_order():
            left = None if self.limit is None else self.limit - self.shown
            if left is not None and len(calls) >= left:
                self.shown += left
                yield calls[:left]
                return
            self.shown += len(calls)
            yield calls

    def count(self, calls: list[Call]) -> None:
        """Count the outcomes of calls that are shown, or would be without --limit."""
        outcomes = self.outcomes
        for call in calls:
            outcomes[call.outcome] = outcomes.get(call.outcome, 0) + 1
            if call.latency_us is not None and call.latency_us > self.slowest_us:
                self.slowest_us = call.latency_us

    def _in_order(self) -> Iterator[list[Call]]:
        from wirelens.cli.sorting import InOrder

        order = InOrder(1)
        reading = self.reading
        every = reading.takes_all
        takes = reading.takes
        for calls in reading.batches():
            if every:
                reading.read += len(calls)
                reading.selected += len(calls)
                yield from order.add_all(calls)
            else:
                yield from order.add([(call.call, call if takes(call) else None) for call in calls])

    def _sorted(self) -> Iterator[list[Call]]:
        from wirelens.cli.sorting import Sorted

        sorted_calls = Sorted(self.limit)
        key = {"latency": _slowest, "time": _oldest, "bytes": _largest}[self.sort or ""]
        for batch in self.reading.batches():
            calls = [call for call in batch if self.reading.takes(call)]
            for call in calls:
                sorted_calls.add(key(call), call)
            self.count(calls)
        portion: list[Call] = []
        for call in sorted_calls:
            portion.append(call)
            if len(portion) >= ROWS:
                yield portion
                portion = []
        yield portion


def _slowest(call: Call) -> int:
    return 1 if call.latency_us is None else -call.latency_us


def _oldest(call: Call) -> int:
    return call.sent_us or 0


def _largest(call: Call) -> int:
    return -((call.request_bytes or 0) + (call.response_bytes or 0))


def write_text(rows: Rows, output: Output) -> None:
    """A line for each call; on a terminal a last one that counts them."""
    from wirelens.formatters.calls import CallTable

    table = CallTable(output.layout)
    plain = output.layout.width is None and output.painter is None and not output.ascii

    def write(calls: list[Call]) -> None:
        if plain:
            output.utf8(table.text(calls))
        else:
            output.lines(table.lines(calls))

    def batches() -> Iterator[list[Call]]:
        live = False
        for calls in rows.batches():
            if rows.reading.live and not live:
                live = True
                output.live()
            if not rows.sort and output.layout.width is not None:
                rows.count(calls)
            yield calls

    write_together(batches(), ROWS, write, rows, output)
    if output.layout.width is not None and rows.shown:
        from wirelens.formatters import layout as lay
        from wirelens.formatters.calls import totals

        text = totals(rows.shown, rows.reading.read, rows.outcomes, rows.slowest_us)
        output.lines(lay.wrapped("", lay.DIM, text, output.layout))


def write_jsonl(rows: Rows, output: Output) -> None:
    """A JSON object for each call, on a line of its own."""
    from wirelens.codecs.call import json_lines

    def write(calls: list[Call]) -> None:
        for at in range(0, len(calls), LINES):
            output.json(json_lines(calls[at : at + LINES]))

    write_together(rows.batches(), LINES, write, rows, output)


def write_together(
    batches: Iterable[list[Call]],
    least: int,
    write: Callable[[list[Call]], None],
    rows: Rows,
    output: Output,
) -> None:
    """Write calls once at least `least` are collected, and before more input or a report is awaited."""
    collected: list[Call] = []

    def write_collected() -> None:
        if collected:
            write(collected)
            collected.clear()

    def write_and_flush() -> None:
        write_collected()
        output.flush()

    rows.reading.before_read = write_and_flush
    rows.reading.inputs.before_report = write_and_flush
    for calls in batches:
        collected.extend(calls)
        if len(collected) >= least:
            write_collected()
    write_collected()


def write_csv(rows: Rows, output: Output) -> None:
    """Comma-separated values, with a line of names; what is unknown is empty."""
    from wirelens.cli.csv_text import csv_text
    from wirelens.codecs.call import MEMBERS

    rows.reading.before_read = output.flush
    output.text(csv_text([[name for name, _ in MEMBERS]]))
    for calls in rows.batches():
        output.text(csv_text(call.texts() for call in calls))


WRITERS: Final = {"text": write_text, "jsonl": write_jsonl, "csv": write_csv}


def show_call(reading: CallReading, number: int, output: Output) -> bool:
    """Show one call with its messages; whether there is one of that number."""
    from wirelens.formatters.call_view import call_view

    for calls in reading.batches():
        for call in calls:
            if call.call == number:
                output.lines(call_view(call, output.layout))
                return True
    return False
