"""`wirelens detect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import InputOptions, MergeOptions, OutputOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.merged import Merged
    from wirelens.cli.output import Output
    from wirelens.codecs import Candidate, Detection, Json
    from wirelens.codecs.captures.heads import Head
    from wirelens.formatters.layout import Line

SHOWN: Final = 5  # candidates without --all

EPILOG: Final = """\b
Examples:
  wirelens detect payload.bin
  wirelens detect --all --hex 'c0 02 63'
  wirelens detect --format json dumps/

\b
Evidence is counted in bits of the constraints that the bytes satisfy: a magic of one byte counts 8, a length
that leads to a valid next header counts its bits. Exit status: 0: named; 1: unknown; 2: an input is wrong."""


@options.command(EPILOG)
@options.inputs
@options.merging
@options.option("--all", "everything", is_flag=True, help="Show every candidate, however weak.")
@options.style("text", "json")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    merge_options: MergeOptions,
    everything: bool,
    style: str,
    output_options: OutputOptions,
) -> None:
    """Name the protocol of INPUT and the reasons: candidates with their evidence in bits."""
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output

    inputs = Inputs(input_options, output_options.verbose)
    run = Run(inputs, inputs.merged(merge_options))
    with Output(output_options, inputs.paths) as output:
        inputs.before_report = output.flush
        if style == "json":
            for text in run.as_json(everything):
                output.json(text)
        else:
            run.report(output, everything)
    ctx.exit(2 if inputs.failed else 1 if run.unknown or inputs.damaged else 0)


class Run:
    """Examines all inputs; `unknown`: whether the protocol of one of them was not found."""

    def __init__(self, inputs: Inputs, items: Iterator[Input | Merged]) -> None:
        self.inputs = inputs
        self.items = items
        self.several = inputs.several  # results, so that JSON is an array
        self.unknown = False

    def results(self) -> Iterator[tuple[Input | Merged, Examined]]:
        """Each input with what was found, as soon as it is known."""
        from wirelens.cli.input import InputError

        for item in self.items:
            self.several = self.several or item.capture
            named = False
            try:
                for examined in streams(item) if item.capture else [examine(item)]:
                    named = named or examined.detection.protocol != "unknown"
                    yield item, examined
                self.unknown = self.unknown or not named
            except (InputError, MemoryError) as error:
                self.inputs.fail_on(item, error)

    def report(self, output: Output, everything: bool) -> None:
        """As text, each under its name if there are several."""
        from wirelens.codecs.words import clean

        first = True
        for item, examined in self.results():
            flow = examined.flow
            if not first:
                output.text("\n")
            first = False
            if self.inputs.several or flow:
                name = item.name if self.inputs.several else ""
                output.line([("heading", clean("  ".join([part for part in (name, flow) if part])))])
            report(examined, output, everything)

    def as_json(self, everything: bool) -> Iterator[str]:
        """JSON text: an object, or an array of them."""
        from itertools import chain

        from wirelens.codecs import dumps
        from wirelens.formatters.json import array, indented

        texts = self._texts(everything)
        first = next(texts, "")
        if self.several:
            yield from array(chain([first] if first else [], texts))
        else:
            yield "".join(indented(first or dumps(None))) + "\n"

    def _texts(self, everything: bool) -> Iterator[str]:
        from wirelens.codecs import dumps

        for item, examined in self.results():
            members: dict[str, Json] = {"file": item.name} if self.inputs.several else {}
            if examined.flow:
                members["flow"] = examined.flow
            yield dumps(members | as_json(examined, everything))


class Examined(NamedTuple):
    """What was found in a stream, which is a flow's text if it is one of a capture.

    `size`: bytes that were examined; `start`: the first of them.
    """

    flow: str
    detection: Detection
    size: int
    start: bytes

    @property
    def looks(self) -> str:
        """What it looks like if its protocol is not known; "" for nothing."""
        from wirelens.codecs.file_kinds import looks_like

        return "" if self.detection.protocol != "unknown" else looks_like(self.start)


def examine(item: Input) -> Examined:
    """The detection on the start of an input."""
    from wirelens.codecs.decoder import MAX_MESSAGE
    from wirelens.codecs.detection import ENOUGH_BYTES, detect
    from wirelens.codecs.file_kinds import HEAD

    data = bytearray()
    wanted = ENOUGH_BYTES
    for chunk in item.chunks:
        data += chunk
        if len(data) > wanted:
            detection = detect(bytes(data), b"", False)
            if detection.protocol != "unknown" or not detection.unfinished or len(data) > MAX_MESSAGE:
                size = len(data) if wanted > ENOUGH_BYTES else ENOUGH_BYTES
                return Examined("", detection, size, bytes(data[:HEAD]))
            wanted = 2 * len(data)
    return Examined("", detect(bytes(data), b"", True), len(data), bytes(data[:HEAD]))


def streams(item: Input | Merged) -> Iterator[Examined]:
    """The detection on each direction of a capture's flows that has bytes."""
    from wirelens.cli.packets import source_of
    from wirelens.codecs.captures.heads import Heads

    heads = Heads()
    for pieces in source_of(item).pieces():
        for head in heads.feed(pieces):
            yield from _directions(head)
    for head in heads.close():
        yield from _directions(head)


def _directions(head: Head) -> Iterator[Examined]:
    from wirelens.codecs.detection import detect
    from wirelens.codecs.file_kinds import HEAD

    flow = head.flow
    for direction, data in enumerate(head.data):
        if data:
            name = f"{flow.transport} {flow.endpoint(direction)} > {flow.endpoint(1 - direction)}"
            detection = detect(data, head.data[1 - direction], head.whole[direction])
            yield Examined(name, detection, len(data), data[:HEAD])


def verdict(detection: Detection) -> str:
    """The protocol and its evidence in a line."""
    if detection.protocol == "unknown":
        return f"unknown: {detection.reason}"
    best = _named(detection)
    return f"{best.protocol}, {best.bits:.0f} bits of evidence: {'; '.join(best.reasons)}"


def _named(detection: Detection) -> Candidate:
    """The candidate that was named."""
    return next(best for best in detection.candidates if best.protocol == detection.protocol)


def report(examined: Examined, output: Output, everything: bool) -> None:
    """The verdict, then a block for each candidate."""
    from wirelens.codecs.words import clean, count
    from wirelens.formatters import layout as lay

    detection = examined.detection
    candidates = detection.candidates
    head: Line = [(lay.PROTOCOL, detection.protocol)]
    if detection.protocol == "unknown":
        head.append((lay.PLAIN, f"  {detection.reason}"))
        if examined.looks:
            head.append((lay.ANNOTATION, f"; it looks like {examined.looks}"))
    else:
        best = _named(detection)
        head.append((lay.PLAIN, f"  {best.bits:.0f} bits of evidence, {best.asked:.0f} asked"))
        rest = [other for other in candidates if other is not best and other.protocol not in detection.equal]
        if rest:
            head.append((lay.DIM, f", {detection.margin:.0f} more than {rest[0].protocol}"))
    head.append((lay.DIM, f"  {count(examined.size, 'byte')} looked at"))
    output.line(head)
    equal = [name for name in detection.equal if name != detection.protocol]
    if equal:
        output.line([(lay.PLAIN, "  the same meaning as "), (lay.WORD, ", ".join(equal))])
    if not everything:  # the twin that means the same has the same reasons
        candidates = tuple([candidate for candidate in candidates if candidate.protocol not in equal])
    shown = candidates if everything else candidates[:SHOWN]
    widest = max([len(candidate.protocol) for candidate in shown], default=0)
    for candidate in shown:
        line: Line = [
            (lay.NUMBER, f"  {candidate.bits:>5.0f}  "),
            (lay.NAME, f"{candidate.protocol:<{widest}}  "),
        ]
        for position, reason in enumerate(candidate.reasons):
            if position:
                line = [(lay.PLAIN, " " * (widest + 11))]
            line.append((lay.PLAIN, clean(reason)))
            output.line(line)
        if not candidate.reasons:
            output.line(line)
        if candidate.settle and candidate.protocol != detection.protocol:
            output.line(
                [(lay.PLAIN, " " * (widest + 11)), (lay.NOTE, f"to settle it: {clean(candidate.settle)}")]
            )
    if len(shown) < len(candidates):
        output.line([(lay.DIM, f"         and {len(candidates) - len(shown)} more (--all)")])


def as_json(examined: Examined, everything: bool) -> dict[str, Json]:
    """The detection as JSON."""
    detection = examined.detection
    shown = detection.candidates if everything else detection.candidates[:SHOWN]
    candidates: list[Json] = []
    for candidate in shown:
        members: dict[str, Json] = {
            "protocol": candidate.protocol,
            "bits": round(candidate.bits, 1),
            "reasons": list(candidate.reasons),
        }
        members["asked"] = candidate.asked
        if candidate.settle:
            members["settle"] = candidate.settle
        candidates.append(members)
    verdict: dict[str, Json] = {"protocol": detection.protocol, "equal": list(detection.equal)}
    if detection.reason:
        verdict["reason"] = detection.reason
    if examined.looks:
        verdict["looks_like"] = examined.looks
    return {**verdict, "margin": round(detection.margin, 1), "candidates": candidates}
