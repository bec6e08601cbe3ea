"""`wirelens flows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from typing import Final

    from wirelens.cli.inputs import Input
    from wirelens.cli.output import Output
    from wirelens.cli.select import Selection
    from wirelens.codecs import Json
    from wirelens.codecs.captures import Flow
    from wirelens.codecs.conversations import Said, Verdict
    from wirelens.formatters.layout import Line

EPILOG: Final = """\b
Examples:
  wirelens flows app.pcap
  wirelens flows --port 20880 --format json app.pcapng.gz
  wirelens decode --flow 3 app.pcap              the messages of one of them

\b
Of a pair of numbers the first is the client's: the side that sent the SYN, or the first packet.
Flows of which nothing is known are listed with --all."""


VERDICTS_KEPT: Final = 1 << 12


@click.command(
    context_settings=options.CONTEXT, epilog=EPILOG, short_help="List the conversations of a capture."
)
@options.inputs
@options.protocol
@options.selection
@click.option("--all", "everything", is_flag=True, help="List flows of other protocols too.")
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", help="text by default."
)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    given: options.Given,
    protocol: str | None,
    flow: int | None,
    port: int | None,
    everything: bool,
    style: str,
    written: options.Written,
) -> None:
    """List the conversations in captures: endpoints, protocol, messages, bytes, gaps, duration."""
    from wirelens.cli.inputs import InputError, Inputs
    from wirelens.cli.output import Output
    from wirelens.cli.select import Selection

    inputs = Inputs(given, written.verbose)
    selection = Selection(flow, port, ())
    damaged = False
    listed: list[tuple[str, Row]] = []
    with Output(written, inputs.paths) as output:
        for item in inputs:
            if not item.capture:
                inputs.fail(f"{item.name}: not a capture ({item.form})")
                continue
            item.progress = True
            try:
                rows, broken = conversations(item, protocol, selection)
            except InputError as error:
                inputs.fail(str(error))
                continue
            damaged = damaged or broken or any(row.undecoded for row in rows)
            if style == "json":
                listed.extend([(item.name, row) for row in rows])
                continue
            if inputs.several:
                output.line([("heading", item.name)])
            table([row for row in rows if everything or row.known], output)
            hidden = 0 if everything else sum(1 for row in rows if not row.known)
            if hidden:
                click.echo(f"{item.name}: {hidden} flows of other protocols (--all lists them)", err=True)
        if style == "json":
            from wirelens.codecs import dumps
            from wirelens.formatters.json import array

            for text in array(dumps(row.as_json(name)) for name, row in listed):
                output.text(text)
    ctx.exit(2 if inputs.failed else 1 if damaged or inputs.damaged else 0)


class Row:
    """What is known of one flow; pairs of numbers are of its two directions."""

    __slots__ = ("errors", "flow", "known", "messages", "notes", "slowest_us", "undecoded", "verdicts")

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.messages = [0, 0]
        self.undecoded = 0
        self.errors = 0
        self.slowest_us = -1
        self.known = False
        self.verdicts: list[Verdict | None] = [None, None]

    def add(self, said: Said) -> None:
        record = said.record
        if record.error is not None:
            self.undecoded += record.length
        else:
            self.messages[said.direction] += 1
        if record.damaged:
            self.errors += 1
        if said.latency_us is not None and said.latency_us > self.slowest_us:
            self.slowest_us = said.latency_us

    @property
    def protocol(self) -> str:
        """The protocol, of both directions where they differ."""
        names = list(dict.fromkeys(one.protocol for one in self.verdicts if one is not None))
        named = [name for name in names if name != "unknown"]
        return " / ".join(named or names)

    @property
    def bits(self) -> float:
        return max([one.bits for one in self.verdicts if one is not None], default=0.0)

    @property
    def endpoints(self) -> str:
        return f"{self.flow.transport} {self.flow.endpoint(0)} > {self.flow.endpoint(1)}"

    def as_json(self, file: str) -> Json:
        from wirelens.codecs.conversations import time_text

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
                    "messages": self.messages[number],
                    "bytes": side.length - side.gap_bytes,
                    "missing": side.gap_bytes,
                    "gaps": side.gap_count,
                    "retransmitted": side.retransmitted,
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
            "slowest": None if self.slowest_us < 0 else self.slowest_us / 1_000_000,
            "directions": sides,
        }


def conversations(item: Input, protocol: str | None, selection: Selection) -> tuple[list[Row], bool]:
    """The flows of a capture in order, and whether the file is damaged."""
    from wirelens.cli.packets import Capture

    capture = Capture(item, protocol, selection, True)
    rows: dict[int, Row] = {}
    kept: dict[Verdict, Verdict] = {}  # most flows are found alike: one verdict stands for them

    def count(said: list[Said]) -> None:
        for (number, direction), verdict in capture.verdicts.items():
            row = rows[number]
            if len(kept) < VERDICTS_KEPT:
                verdict = kept.setdefault(verdict, verdict)
            row.verdicts[direction] = verdict
            row.known = row.known or verdict.protocol != "unknown"
        capture.verdicts.clear()
        for one in capture.known(said):
            rows[one.flow.number].add(one)

    for piece in capture.pieces():
        if piece.flow.number not in rows:
            rows[piece.flow.number] = Row(piece.flow)
        count(capture.conversations.feed(piece))
    count(capture.conversations.close())
    capture.foreign = 0
    capture.messages = len(rows)
    capture.say_end()
    return [rows[number] for number in sorted(rows)], capture.damaged


HEADINGS: Final = (
    "#",
    "flow",
    "protocol",
    "bits",
    "messages",
    "bytes",
    "undecoded",
    "gaps",
    "slowest",
    "duration",
)
LEFT: Final = (1, 2)  # columns that stand on the left
LESS: Final = (3, 8, 9, 4)  # columns that a narrow terminal goes without, in this order


def table(rows: list[Row], output: Output) -> None:
    """The flows as a table."""
    from wirelens.formatters import layout as lay
    from wirelens.formatters.summary import duration

    cells: list[tuple[str, ...]] = []
    for row in rows:
        first, second = row.flow.directions
        cells.append(
            (
                str(row.flow.number),
                row.endpoints,
                row.protocol,
                f"{row.bits:.0f}" if row.bits else "",
                f"{row.messages[0]:,} / {row.messages[1]:,}",
                f"{first.length - first.gap_bytes:,} / {second.length - second.gap_bytes:,}",
                f"{row.undecoded:,}" if row.undecoded else "",
                f"{first.gap_bytes + second.gap_bytes:,}" if first.gap_count + second.gap_count else "",
                duration(row.slowest_us / 1e6) if row.slowest_us >= 0 else "",
                duration((row.flow.last_us - row.flow.first_us) / 1e6),
            )
        )
    if not cells:
        return
    used = [place for place in range(len(HEADINGS)) if any(cell[place] for cell in cells)]
    needs = [
        max(len(heading), *[len(cell[place]) for cell in cells]) for place, heading in enumerate(HEADINGS)
    ]
    width = output.layout.width
    for place in LESS:
        if width is not None and place in used and sum([needs[one] + 2 for one in used]) - 2 > width:
            used.remove(place)
    widths = [needs[place] for place in used]
    styles = {0: lay.NUMBER, 1: lay.PLAIN, 2: lay.PROTOCOL, 6: lay.ERROR, 7: lay.NOTE}
    for number, cell in enumerate([HEADINGS, *cells]):
        line: Line = []
        for cells_of, place in zip(widths, used, strict=True):
            text = f"{cell[place]:<{cells_of}}" if place in LEFT else f"{cell[place]:>{cells_of}}"
            line.append((lay.DIM if number == 0 else styles.get(place, lay.PLAIN), text + "  "))
        output.line(output.layout.fit(line))
