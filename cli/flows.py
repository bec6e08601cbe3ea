"""`wirelens flows`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from wirelens.cli import options
from wirelens.cli.stderr import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Final

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import CaptureOptions, InputOptions, OutputOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.merged import Merged
    from wirelens.cli.output import Output
    from wirelens.cli.packets import Capture
    from wirelens.cli.select import Selection
    from wirelens.codecs import Json
    from wirelens.codecs.captures import Flow
    from wirelens.codecs.conversations import Message
    from wirelens.codecs.verdicts import Verdict
    from wirelens.formatters.layout import Layout, Line

EPILOG: Final = """\b
Examples:
  wirelens flows app.pcap
  wirelens flows --port 20880 --format json app.pcapng.gz
  wirelens flows --where 'latency>1s' app.pcap   those with a slow call
  wirelens decode --flow 3 app.pcap              the messages of a flow

\b
The first of two numbers is that of the client: the side that sent the SYN, or else the first packet.
unanswered: requests without a reply. orphaned: replies to no request in the capture.
Flows of unknown protocols are listed with --all."""


VERDICTS_KEPT: Final = 1 << 12
ROWS_KEPT: Final = 1 << 12
CELL_END: Final = "\0"


@options.command(EPILOG)
@options.captures
@options.option("--all", "everything", is_flag=True, help="List flows of other protocols too.")
@options.where(
    "flows with messages", "exception~Timeout, latency>1s, client=10.0.0.0/8; numbers stay the flow's"
)
@options.style("text", "json")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    capture_options: CaptureOptions,
    everything: bool,
    where: tuple[str, ...],
    style: str,
    output_options: OutputOptions,
) -> None:
    """List the conversations in captures: endpoints, protocol, messages, bytes, gaps, duration."""
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output

    protocol, merge_options = capture_options.protocol, capture_options.merge_options
    selection = capture_options.selecting(where)
    inputs = Inputs(input_options, output_options.verbose)
    run = Run(inputs, inputs.merged(merge_options), protocol, selection, everything)
    with Output(output_options, inputs.paths) as output:
        inputs.before_report = output.flush
        if style == "json":
            from wirelens.formatters.json import array

            for text in array(run.as_json()):
                output.json(text)
        else:
            run.tables(output)
    selection.report()
    run.check_flow()
    ctx.exit(2 if inputs.failed else 1 if run.damaged or inputs.damaged else 0)


class Run:
    """Lists all inputs; `damaged`: whether something was damaged or did not decode."""

    def __init__(
        self,
        inputs: Inputs,
        items: Iterator[Input | Merged],
        protocol: str | None,
        selection: Selection,
        everything: bool,
    ) -> None:
        self.inputs = inputs
        self.items = items
        self.captured = False  # whether a capture was read
        self.flows = 0  # in the captures so far
        self.protocol = protocol
        self.selection = selection
        self.everything = everything
        self.damaged = False

    def captures(self, pack: Callable[[Row, str], bytes]) -> Iterator[tuple[str, list[Listed]]]:
        """The names of captures with their flows in order.

        `pack` gives the bytes that are kept of each row, for which it gets its file's name, too.
        """
        from wirelens.cli.input import InputError
        from wirelens.cli.packets import Capture

        for item in self.items:
            if not item.capture:
                self.inputs.fail(f"{item.name}: not a capture ({item.form})")
                continue
            item.progress = True
            try:
                capture = Capture(item, self.protocol, self.selection, True, self.flows)
                rows = conversations(capture, pack)
            except (InputError, MemoryError) as error:
                self.inputs.fail_on(item, error)
                continue
            self.captured = True
            self.flows = capture.flows
            self.damaged = self.damaged or capture.damaged or any(row.undecoded for row in rows)
            yield item.name, [row for row in rows if row.matches]

    def check_flow(self) -> None:
        """Report that the flow of --flow is in none of the captures."""
        beyond = self.selection.beyond(self.flows)
        if self.captured and beyond:
            self.inputs.fail(beyond)

    def as_json(self) -> Iterator[str]:
        """A JSON text for each flow."""
        from zlib import compress, decompress

        from wirelens.codecs import dumps

        for _, rows in self.captures(lambda row, file: compress(dumps(row.as_json(file)).encode(), 1)):
            for row in rows:
                yield decompress(row.packed).decode()

    def tables(self, output: Output) -> None:
        """For people."""
        for name, rows in self.captures(lambda row, file: row.as_cells()):
            if self.inputs.several:
                output.line([("heading", name)])
            table([row for row in rows if self.everything or row.known], output)
            hidden = 0 if self.everything else sum(1 for row in rows if not row.known)
            if hidden:
                from wirelens.codecs.words import count

                flows = count(hidden, "flow")
                warn(f"{name}: {flows} of other protocols (--all lists them)")


class Listed(NamedTuple):
    """A flow that has ended: what is shown of it, packed; `matches`: whether it is selected."""

    packed: bytes
    known: bool
    undecoded: int
    matches: bool


class Row:
    """Everything known of one flow; in pairs of numbers, one for each direction."""

    __slots__ = (
        "ends",
        "first",
        "flow",
        "known",
        "matches",
        "messages",
        "replies",
        "second",
        "slowest_us",
        "undecoded",
    )

    def __init__(self, flow: Flow, matches: bool) -> None:
        self.flow = flow
        self.matches = matches  # whether one of its messages matches --where
        self.messages = 0
        self.replies = 0  # messages of the second direction
        self.undecoded = 0
        self.slowest_us = -1
        self.known = False
        self.ends = 0  # directions that have ended
        self.first: Verdict | None = None
        self.second: Verdict | None = None

    def add(self, message: Message) -> None:
        """Count a message."""
        record = message.record
        if record.error is not None:
            self.undecoded += record.length
        elif message.direction:
            self.replies += 1
        else:
            self.messages += 1
        if message.latency_us is not None and message.latency_us > self.slowest_us:
            self.slowest_us = message.latency_us

    def settle(self, direction: int, verdict: Verdict) -> None:
        """Take the verdict on a direction."""
        self.known = self.known or verdict.protocol != "unknown"
        if direction:
            self.second = verdict
        else:
            self.first = verdict

    @property
    def verdicts(self) -> tuple[Verdict | None, Verdict | None]:
        """The verdicts on both directions, as far as they are known."""
        return self.first, self.second

    @property
    def protocol(self) -> str:
        """The protocol, of both directions where they differ."""
        names = list(dict.fromkeys(verdict.protocol for verdict in self.verdicts if verdict is not None))
        named = [name for name in names if name != "unknown"]
        return " / ".join(named or names)

    @property
    def unanswered(self) -> int:
        """The number of requests without a reply."""
        return sum(side.unanswered for side in self.flow.directions)

    @property
    def orphaned(self) -> int:
        """The number of replies to no known request."""
        return sum(side.orphaned for side in self.flow.directions)

    @property
    def bits(self) -> float:
        """The evidence of the direction that has more."""
        return max([verdict.bits for verdict in self.verdicts if verdict is not None], default=0.0)

    @property
    def endpoints(self) -> str:
        """Transport and both endpoints, client first."""
        return f"{self.flow.transport} {self.flow.endpoint(0)} > {self.flow.endpoint(1)}"

    def as_cells(self) -> bytes:
        """The cells of the table."""
        from wirelens.codecs.numbers import duration

        first, second = self.flow.directions
        cells = (
            str(self.flow.number),
            self.endpoints,
            self.protocol,
            f"{self.bits:.0f}" if self.bits else "",
            f"{self.messages:,} / {self.replies:,}",
            f"{first.length - first.gap_bytes:,} / {second.length - second.gap_bytes:,}",
            f"{self.undecoded:,}" if self.undecoded else "",
            f"{first.gap_bytes + second.gap_bytes:,}" if first.gap_count + second.gap_count else "",
            f"{self.unanswered:,}" if self.unanswered else "",
            f"{self.orphaned:,}" if self.orphaned else "",
            duration(self.slowest_us / 1e6) if self.slowest_us >= 0 else "",
            duration((self.flow.last_us - self.flow.first_us) / 1e6),
        )
        return CELL_END.join(cells).encode()

    def as_json(self, file: str) -> Json:
        """The flow as JSON."""
        from wirelens.codecs.numbers import time_text

        flow = self.flow
        sides: list[Json] = []
        for number, side in enumerate(flow.directions):
            verdict = self.verdicts[number]
            sides.append(
                {
                    "from": flow.endpoint(number),
                    "protocol": None if verdict is None else verdict.protocol,
                    "bits": 0.0 if verdict is None else round(verdict.bits, 1),
                    "reasons": [] if verdict is None else list(verdict.reasons),
                    "messages": self.replies if number else self.messages,
                    "unanswered": side.unanswered,
                    "orphaned": side.orphaned,
                    "bytes": side.length - side.gap_bytes,
                    "missing": side.gap_bytes,
                    "gaps": side.gap_count,
                    "retransmitted": side.retransmitted,
                    "late": side.late,
                    "packets": side.segments,
                }
            )
        return {
            "file": file,
            "flow": flow.number,
            "transport": flow.transport,
            "protocol": self.protocol,
            "start": time_text(flow.first_us),
            "end": time_text(flow.last_us),
            "undecoded": self.undecoded,
            "unanswered": self.unanswered,
            "orphaned": self.orphaned,
            "slowest": None if self.slowest_us < 0 else self.slowest_us / 1_000_000,
            "directions": sides,
        }


def conversations(capture: Capture, pack: Callable[[Row, str], bytes]) -> list[Listed]:
    """The flows of a capture, in order."""
    rows: dict[int, Row] = {}
    ended: list[int] = []  # numbers of rows that nothing but acknowledgements may follow
    listed: dict[int, Listed] = {}
    kept: dict[Verdict, Verdict] = {}  # most flows have the same verdict: one object stands for all

    def count(messages: list[Message]) -> None:
        for (number, direction), verdict in capture.verdicts.items():
            if len(kept) < VERDICTS_KEPT:
                verdict = kept.setdefault(verdict, verdict)
            rows[number].settle(direction, verdict)
        capture.verdicts.clear()
        for message in messages:
            row = rows.get(message.flow.number)
            if message.record.codec is not None and row is not None:
                row.add(message)
                if not row.matches and selection is not None and selection.takes_direction(message.direction):
                    row.matches = selection.matches(message)

    def end(row: Row) -> None:
        packed = pack(row, capture.source.file_of(row.flow))
        listed[row.flow.number] = Listed(packed, row.known, row.undecoded, row.matches)

    selection = capture.selection
    every = selection is None or selection.where is None
    for messages, pieces in capture.conversed():
        for piece in pieces:
            number = piece.flow.number
            row = rows.get(number)
            if row is None:
                if number in listed:
                    continue  # it came after the flow had ended
                row = rows[number] = Row(piece.flow, every)
            if piece.end:
                row.ends += 1
                if row.ends == 2:
                    ended.append(number)
        count(messages)
        if len(ended) >= ROWS_KEPT:
            for number in ended[: ROWS_KEPT // 2]:
                end(rows.pop(number))
            del ended[: ROWS_KEPT // 2]
    for row in rows.values():
        end(row)
    capture.report_rest(len(listed), 0)
    return [listed[number] for number in sorted(listed)]


HEADINGS: Final = (
    "#",
    "flow",
    "protocol",
    "bits",
    "messages",
    "bytes",
    "undecoded",
    "gaps",
    "unanswered",
    "orphaned",
    "slowest",
    "duration",
)
LEFT: Final = (1, 2)  # columns aligned left
LESS: Final = (3, 11, 5, 4)  # columns that a narrow terminal leaves out, in this order


def _below(cells: Sequence[str], layout: Layout) -> Iterator[Line]:
    """A flow whose columns do not fit beside one another: what is known of it below, with its name."""
    from wirelens.formatters import layout as lay

    yield from lay.wrapped("", lay.PLAIN, f"{cells[0]}  {cells[1]}", layout)
    known = [
        cells[2],
        *[f"{HEADINGS[place]} {cells[place]}" for place in range(3, len(cells)) if cells[place]],
    ]
    yield from lay.wrapped("   ", lay.DIM, ", ".join(known), layout)


def table(rows: list[Listed], output: Output) -> None:
    """The flows as a table."""
    from wirelens.formatters import layout as lay

    if not rows:
        return
    needs = [len(heading) for heading in HEADINGS]
    full = [False] * len(HEADINGS)
    for row in rows:
        for place, cell in enumerate(row.packed.decode().split(CELL_END)):
            if cell:
                full[place] = True
                needs[place] = max(needs[place], len(cell))
    used = [place for place in range(len(HEADINGS)) if full[place]]
    width = output.layout.width
    for place in LESS:
        if width is not None and place in used and sum([needs[column] + 2 for column in used]) - 2 > width:
            used.remove(place)
    widths = [needs[place] for place in used]
    styles = {
        0: lay.NUMBER,
        1: lay.PLAIN,
        2: lay.PROTOCOL,
        6: lay.ERROR,
        7: lay.NOTE,
        8: lay.NOTE,
        9: lay.NOTE,
    }

    if width is not None and sum([room + 2 for room in widths]) - 2 > width:
        for row in rows:
            output.lines(_below(row.packed.decode().split(CELL_END), output.layout))
        return

    def show(cells: Sequence[str], heading: bool) -> None:
        line: Line = []
        for room, place in zip(widths, used, strict=True):
            text = f"{cells[place]:<{room}}" if place in LEFT else f"{cells[place]:>{room}}"
            gap = "  " if place != used[-1] else ""
            line.append((lay.DIM if heading else styles.get(place, lay.PLAIN), text + gap))
        output.line(output.layout.fit(line))

    show(HEADINGS, True)
    for row in rows:
        show(row.packed.decode().split(CELL_END), False)
