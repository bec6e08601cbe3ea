"""`wirelens decode`."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.stderr import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Final

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import CaptureOptions, InputOptions, OutputOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.merged import Merged
    from wirelens.cli.output import Output
    from wirelens.cli.packets import Capture
    from wirelens.cli.select import Selection
    from wirelens.codecs import Detection, Record
    from wirelens.formatters.find import Search
    from wirelens.formatters.layout import Line
    from wirelens.formatters.members import Members
    from wirelens.formatters.summary import Summaries

OTHERS_NAMED: Final = 3  # files of a kind
START: Final = 1 << 10  # bytes of an input that are kept for `looks_like`, which asks for half as many
FORMATS: Final = ("tree", "hex", "summary", "json", "jsonl", "dot", "mermaid", "html", "svg")

EPILOG: Final = """\b
Examples:
  wirelens decode payload.hex
  wirelens decode --hex '1e 00 00 01 08 00 00 00 00'
  wirelens decode --format hex payload.bin       each byte next to its field
  wirelens decode --as hessian2 --format json x.bin
  pbpaste | wirelens decode
  wirelens decode captures/                      rotated files as one capture
  wirelens decode --where 'method=find and latency>100ms' app.pcap
  wirelens decode --format jsonl --with method,latency app.pcap | jq 'select(.latency > .1) | .method'
  tcpdump -U -w - --immediate-mode port 1080 | wirelens decode -  messages as they arrive

\b
Exit status: 0: all decoded; 1: something did not, as the output shows; 2: an input is wrong."""


@options.command(EPILOG)
@options.captures
@options.where("messages", "kind=request and method~find, latency>100ms, message.body.arguments[0]=5, TEXT")
@options.style(*FORMATS)
@options.option(
    "--plain", is_flag=True, help="Leave out types, tags and wire forms; the result does not encode back."
)
@options.option(
    "--depth",
    type=click.IntRange(0),
    metavar="N",
    help="Fold what is more than N levels deep in a tree.",
)
@options.option(
    "--find",
    metavar="TEXT|/REGEX/|PATH",
    help="Show only the nodes with this in their name or value, or at this path, and where they are.",
)
@options.option(
    "--no-offset",
    is_flag=True,
    help="Leave offset, length and source out of JSON, for comparing with other tools.",
)
@options.option(
    "--with",
    "added",
    metavar="NAME,…",
    help="Add members to JSON, before message: kind, summary, service, method, outcome, status, exception, "
    "latency, timeout, id, trace. A reply has the method of its request.",
)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    capture_options: CaptureOptions,
    where: tuple[str, ...],
    style: str,
    plain: bool,
    depth: int | None,
    find: str | None,
    no_offset: bool,
    added: str | None,
    output_options: OutputOptions,
) -> None:
    """Show the messages in INPUT: files, folders of files, - for standard input, or text given with --hex.

    Pasted text is accepted as it is: hex, dumps of xxd, hexdump and tcpdump, escaped strings, arrays of any
    language, base64. So are raw bytes and captures (pcap, pcapng, snoop), compressed or not.
    """
    # First: compiled, it brings the modules that it needs, which are 40 calls of the system cheaper than
    # if others import them.
    import wirelens.codecs.decoder  # noqa: F401
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output

    protocol, merge_options = capture_options.protocol, capture_options.merge_options
    if no_offset and style not in ("json", "jsonl"):
        raise click.UsageError("--no-offset needs --format json or jsonl")
    if find is not None and style != "tree":
        raise click.UsageError("--find shows trees; it needs --format tree")
    if added is not None and style not in ("json", "jsonl"):
        raise click.UsageError("--with needs --format json or jsonl")
    search = None if find is None else searched(find)
    members = None if added is None else members_named(added)
    selection = capture_options.selection(where)
    inputs = Inputs(input_options, output_options.verbose)
    with Output(output_options, inputs.paths, plain, depth) as output:
        run = Run(inputs.merged(merge_options), inputs, output, protocol, selection, output_options.verbose)
        if style == "summary":
            from wirelens.formatters.summary import Summaries

            run.summaries = Summaries()
            run.learn = run.summaries.learn
        elif members is not None:
            run.learn = members.learn
        run.for_people = style in ("tree", "hex", "summary")
        drawing = Drawing(style, plain, not no_offset, run.summaries, search, members)
        draw_all(drawing, run, output)
    run.report_others()
    if selection is not None:
        selection.report()
        run.check_flow()
    failed = run.undecoded or inputs.damaged or (search is not None and not drawing.hits)
    ctx.exit(2 if inputs.failed else 1 if failed else 0)


def draw_all(drawing: Drawing, run: Run, output: Output) -> None:
    """Draw the records of all inputs; one that takes too much memory is reported, and passed over."""
    from wirelens.cli.input import TOO_MUCH

    batches = run.batches()
    drawn = False
    while not drawn:
        try:
            drawing.draw(batches, output)
            drawn = True
        except MemoryError:
            if drawing.style not in ("tree", "hex", "summary", "jsonl"):  # one document: it cannot go on
                raise
            run.inputs.fail(f"{run.name}: {TOO_MUCH}")


class Run:
    """Reads all inputs and decodes them; `undecoded` is true if anything did not decode."""

    def __init__(
        self,
        items: Iterator[Input | Merged],
        inputs: Inputs,
        output: Output,
        protocol: str | None,
        selection: Selection | None,
        verbose: bool,
    ) -> None:
        self.items = items
        self.inputs = inputs
        self.name = ""  # of the input being read
        self.captures = False  # whether one was read
        self.flows = 0  # in the captures so far
        self.output = output
        self.protocol = protocol
        self.selection = selection
        self.verbose = verbose
        self.undecoded = False
        self.for_people = False  # whether the result is for people to read
        self.others: dict[
            str, list[str]
        ] = {}  # files in folders of no known protocol, by what they look like
        self.summaries: Summaries | None = None
        self.learn: Callable[[list[Record]], None] | None = None  # gets messages that are not selected, too
        inputs.before_report = output.flush

    def batches(self) -> Iterator[list[Record]]:
        """The records of all inputs in batches, each record as soon as it is complete."""
        from wirelens.cli.input import InputError

        for item in self.items:
            self.name = item.name
            item.progress = not self.output.terminal
            if item.live:
                self.output.live()
                item.before_each_read(self.output.flush)
            try:
                yield from self.capture(item) if item.capture else self.plain(item)
            except (InputError, MemoryError) as error:
                self.inputs.fail_on(item, error)

    def plain(self, item: Input) -> Iterator[list[Record]]:
        """The records of an input that is one stream of bytes."""
        from wirelens.codecs.decoder import Decoder

        decoder = Decoder(self.protocol)
        report = self.verbose and self.protocol is None
        start = last = b""
        for chunk in item.chunks:
            start = start or chunk[:START]
            if item.live:
                records = decoder.feed(chunk)
            else:  # one chunk late, so that the last one is decoded together with the end
                records = decoder.feed(last)
                last = chunk
            if report and decoder.detection is not None:
                report = False
                self.report_detection(item.name, decoder.detection)
            yield self.finish(item, records)
        records = decoder.close(last)
        if report and decoder.detection is not None:
            self.report_detection(item.name, decoder.detection)
        yield self.finish(item, records)
        if not start:
            from wirelens.cli.input import STDIN

            self.output.flush()
            warn("standard input is empty" if item.name == STDIN else f"{item.name}: no bytes in it")
            self.undecoded = True
        elif decoder.codec is None:
            self.report_unknown(item, start)

    def report_unknown(self, item: Input, start: bytes) -> None:
        """Report an input of no known protocol, or keep it for the report on all of a folder."""
        from wirelens.codecs.file_kinds import looks_like

        looks = looks_like(start)
        if item.walked:
            self.others.setdefault(looks, []).append(item.name)
            return
        self.output.flush()
        if looks == "JSON":
            warn(f"{item.name}: this looks like JSON; `wirelens encode` reads that")
            return
        reason = f"it looks like {looks}" if looks else "no protocol has enough evidence"
        warn(
            f"{item.name}: {reason}; `wirelens detect` shows the candidates, "
            "--as PROTOCOL decodes without detection"
        )

    def report_others(self) -> None:
        """Report the files in folders that are of no known protocol, a line for each kind."""
        from wirelens.codecs.words import count

        for looks, names in sorted(self.others.items(), key=lambda entry: (-len(entry[1]), entry[0])):
            first = ", ".join(names[:OTHERS_NAMED]) + (", …" if len(names) > OTHERS_NAMED else "")
            looking = (
                f"that look{'s' if len(names) == 1 else ''} like {looks}" if looks else "of no known protocol"
            )
            warn(f"{count(len(names), 'file')} {looking}: {first}")

    def report_detection(self, name: str, detection: Detection) -> None:
        """Report on stderr which protocol was detected and why."""
        from wirelens.cli.detect import verdict

        self.output.flush()
        warn(f"{name}: {verdict(detection)}")

    def finish(self, item: Input, records: list[Record]) -> list[Record]:
        """The selected of the records, which get their file as origin if there are several inputs.

        Of the files in folders, bytes of no known protocol are left out where people read; they are reported.
        """
        from wirelens.codecs.record import any_damaged

        self.undecoded = self.undecoded or any_damaged(records)
        if item.walked and self.for_people:
            records = [record for record in records if record.codec is not None]
        if self.inputs.several:
            from wirelens.codecs.record import Origin, Place

            origin = Origin(Place(item.name))
            for record in records:
                record.origin = origin
        return records if self.selection is None else self.selection.of_records(records)

    def capture(self, item: Input | Merged) -> Iterator[list[Record]]:
        """The records of a capture."""
        from wirelens.cli.packets import Capture

        capture = Capture(item, self.protocol, self.selection, self.verbose, self.flows)
        capture.before_selection = self.learn
        for records in capture.records():
            self.report_verdicts(capture)
            self.undecoded = self.undecoded or capture.undecoded
            yield records
        self.captures = True
        self.flows = capture.flows
        if capture.damaged:
            self.undecoded = True
        self.output.flush()
        capture.report_rest(capture.messages, capture.conversations.foreign)

    def check_flow(self) -> None:
        """Report that the flow of --flow is in none of the captures."""
        beyond = "" if self.selection is None else self.selection.beyond(self.flows)
        if self.captures and beyond:
            self.inputs.fail(beyond)

    def report_verdicts(self, capture: Capture) -> None:
        """Report on stderr newly detected protocols of directions and why."""
        for (flow, direction), verdict in capture.verdicts.items():
            arrow = ">" if direction == 0 else "<"
            why = f", {verdict.bits:.0f} bits: {'; '.join(verdict.reasons)}" if verdict.reasons else ""
            warn(f"{capture.name}: flow {flow} {arrow} {verdict.protocol}{why}")
        capture.verdicts.clear()


def searched(text: str) -> Search:
    """What --find looks for. Raises click's error about a wrong expression."""
    from wirelens.formatters.find import Search, SearchError

    try:
        return Search(text)
    except SearchError as error:
        raise click.BadParameter(str(error), param_hint="--find") from None


def members_named(text: str) -> Members:
    """The members that --with names. Raises click's error about a wrong name."""
    from wirelens.formatters.members import NAMES, Members

    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in NAMES:
            raise click.BadParameter(f"no member {name!r}; there are {', '.join(NAMES)}", param_hint="--with")
    return Members(names)


class Drawing:
    """Writes records in a format; `hits` counts the nodes that --find found.

    `places`: whether JSON has offsets, `members`: what --with adds to it. `summaries` is for summaries,
    `search` for trees.
    """

    def __init__(
        self,
        style: str,
        plain: bool,
        places: bool,
        summaries: Summaries | None,
        search: Search | None,
        members: Members | None,
    ) -> None:
        self.style = style
        self.plain = plain
        self.places = places
        self.summaries = summaries
        self.search = search
        self.members = members
        self.hits = 0

    def draw(self, batches: Iterator[list[Record]], output: Output) -> None:
        """Write the records."""
        records = chain.from_iterable(batches)
        if self.search is not None:
            self._find(records, output, self.search)
        elif self.style == "jsonl":
            from wirelens.formatters import json

            for lines in json.jsonl(batches, self.plain, self.places, self.members):
                output.json(lines)
        elif self.style == "json":
            from wirelens.formatters import json

            for text in json.json(records, self.plain, self.places, self.members):
                output.json(text)
        elif self.summaries is not None:
            for batch in batches:
                for line in self.summaries.draws(batch):
                    output.view(line)
        elif self.style in ("dot", "mermaid"):
            from wirelens.formatters import graph

            for text in getattr(graph, self.style)(records):
                output.text(text)
        elif self.style in ("html", "svg"):
            from wirelens.formatters import pages

            output.text(getattr(pages, self.style)(self._lines(records, output), output.theme))
        else:
            self._views(records, output)

    def _lines(self, records: Iterator[Record], output: Output) -> Iterator[Line]:
        """The lines of trees, each below its place."""
        from wirelens.formatters.summary import heading
        from wirelens.formatters.tree import tree

        first = True
        for record in records:
            if not first:
                yield []
            first = False
            line = heading(record, output.layout)
            if line:
                yield line
            yield from tree(record, output.layout)

    def _views(self, records: Iterator[Record], output: Output) -> None:
        """Trees or hex views, each below its place."""
        if self.style == "hex":
            from wirelens.formatters.hexview import hexview as view
        else:
            from wirelens.formatters.tree import tree as view
        headings = _Headings(output)
        for record in records:
            headings.start(record)
            output.view(partial(view, record))

    def _find(self, records: Iterator[Record], output: Output, search: Search) -> None:
        """The nodes that match, and their number."""
        from wirelens.codecs.words import count
        from wirelens.formatters.find import Found

        headings = _Headings(output)
        for record in records:
            found = Found(record, search)
            if found.hits:
                self.hits += len(found.hits)
                headings.start(record)
                output.view(found.lines)
        output.flush()
        matches = "matches" if self.hits == 1 else "match"
        warn(f"{count(self.hits, 'node')} {matches}")


class _Headings:
    """Parts messages by a blank line, and by a heading where their place changes."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.previous: Line | None = None
        self.first = True

    def start(self, record: Record) -> None:
        """Begin a message."""
        if not self.first:
            self.output.text("\n")
        self.first = False
        line: Line = []
        if record.origin is not None:
            from wirelens.formatters.summary import heading

            line = heading(record, self.output.layout)
        if line and line != self.previous:
            self.output.line(line)
        self.previous = line
