"""`wirelens diff`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.decode import Run
from wirelens.cli.errors import RefusedError
from wirelens.codecs.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import FlowChoice, InputOptions, MergeOptions, OutputOptions
    from wirelens.cli.output import Output
    from wirelens.cli.select import Selection
    from wirelens.codecs import Json, Record
    from wirelens.codecs.comparing import Ignored, MessagePair

MOST_MESSAGES: Final = 1_000_000  # of one side; more are refused, as they are held in memory

EPILOG: Final = """\b
Examples:
  wirelens diff old.bin new.bin
  wirelens diff ticket.txt expected.json             pasted bytes and JSON
  wirelens diff --hex '05 74 65' --hex '05 74 66' --as hessian2
  wirelens diff --ignore body.attachments --ignore ..token a.bin b.bin
  wirelens diff --ignore-ids --ignore-dates monday/ tuesday/
  wirelens diff --format json a.bin b.bin | jq '.messages[].changes[].path'

\b
Paths are those of JSON: body.arguments[0].name, lines[*].price, lines[-1], ..name at any depth.
Signs: ~ changed, + added, - removed, > moved, = another form of the same value (--wire).
Exit status: 0: the same; 1: different; 2: an input could not be read or compared."""


@click.command(context_settings=options.CONTEXT, epilog=EPILOG)
@options.captures
@options.where("messages", "kind=request, method=find and service~Order, TEXT")
@click.option(
    "--ignore",
    "ignored_paths",
    multiple=True,
    metavar="PATH",
    help="Do not compare the values at this path: body.arguments[0].x, lines[*].price, ..name.",
)
@click.option("--ignore-dates", is_flag=True, help="Do not compare dates and times, in any form.")
@click.option("--ignore-ids", is_flag=True, help="Do not compare ids of messages, requests and traces.")
@click.option(
    "--wire", is_flag=True, help="Show other wire forms and other reference numbers of equal values too."
)
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    protocol: str | None,
    flow: FlowChoice | None,
    port: int | None,
    merge_options: MergeOptions,
    where: tuple[str, ...],
    ignored_paths: tuple[str, ...],
    ignore_dates: bool,
    ignore_ids: bool,
    wire: bool,
    style: str,
    output_options: OutputOptions,
) -> None:
    """Compare the messages of two INPUTs by what they mean; the first is the old one.

    Each is a file, a folder of captures, - for standard input, or text given with --hex (which comes before
    files): bytes as `decode` reads them, or JSON as it writes it. Offsets, numbers of references and other
    wire forms of the same values are no difference. Lists and sequences of messages are aligned.
    """
    from wirelens.cli.input_options import InputOptions
    from wirelens.cli.output import Output

    names = [*input_options.texts, *input_options.paths]
    if len(names) != 2:
        raise click.UsageError(f"two inputs are compared, {count(len(names), 'was', 'were')} given")
    if input_options.paths == ("-", "-"):
        raise click.UsageError("standard input can be only one of the two")
    ignored = ignored_values(ignored_paths, ignore_dates, ignore_ids)
    selection = None
    if where or flow is not None or port is not None:
        from wirelens.cli.select import Selection

        selection = Selection(flow, port, where, merge_options)
    sides = [InputOptions((), (text,), input_options.form) for text in input_options.texts]
    sides += [InputOptions((path,), (), input_options.form) for path in input_options.paths]
    with Output(output_options, input_options.paths) as output:
        old, new = [
            read(side, merge_options, output, protocol, selection, output_options.verbose) for side in sides
        ]
        if selection is not None:
            selection.report()
        comparison = Report(output, names_of(sides), old, new)
        from wirelens.codecs.comparing import compare_messages

        pairs = compare_messages(old, new, ignored, wire)
        if style == "json":
            comparison.json(pairs)
        else:
            comparison.text(pairs)
        ctx.exit(1 if comparison.different else 0)


def ignored_values(paths: tuple[str, ...], dates: bool, ids: bool) -> Ignored:
    """What is not compared; refuses a path that cannot be read."""
    from wirelens.codecs.comparing import Ignored, PathError, Pattern

    patterns: list[Pattern] = []
    for path in paths:
        try:
            patterns.append(Pattern(path))
        except PathError as error:
            raise click.BadParameter(f"{path!r}, {error}", param_hint="--ignore") from None
    return Ignored(tuple(patterns), dates, ids)


def names_of(sides: list[InputOptions]) -> tuple[str, str]:
    """What the two inputs are called."""
    first, second = [side.paths[0] if side.paths else "--hex" for side in sides]
    return (first, second) if first != second else (f"{first} (old)", f"{second} (new)")


def read(
    side: InputOptions,
    merge_options: MergeOptions,
    output: Output,
    protocol: str | None,
    selection: Selection | None,
    verbose: bool,
) -> list[Record]:
    """The messages of one side. Refuses one that cannot be read whole."""
    from wirelens.cli.inputs import Inputs

    inputs = Inputs(side, verbose)
    run = Side(inputs.merged(merge_options), inputs, output, protocol, selection, verbose)
    records: list[Record] = []
    for batch in run.batches():
        records.extend(batch)
        if len(records) > MOST_MESSAGES:
            raise RefusedError(f"more than {MOST_MESSAGES:,} messages; choose some with --flow or --port")
    run.check_flow()
    if inputs.failed:
        raise SystemExit(2)
    if inputs.damaged:
        raise RefusedError("a damaged input cannot be compared")
    return records


class Side(Run):
    """Reads one of the two inputs, which may be JSON."""

    def plain(self, item: Input) -> Iterator[list[Record]]:
        """The records of an input that is not a capture."""
        chunks = iter(item.chunks)
        first = next(chunks, b"")
        item.chunks = _after(first, chunks)
        if first.lstrip()[:1] in (b"[", b"{") and b'"' in first:
            yield from self.json(item)
        else:
            yield from super().plain(item)

    def json(self, item: Input) -> Iterator[list[Record]]:
        """The records that JSON stands for. Raises InputError."""
        from wirelens.cli.encode import documents, messages
        from wirelens.cli.input import InputError
        from wirelens.codecs import EncodeError, Record

        for document in documents(item.chunks, item.name):
            for path, value in messages(document.value):
                record = value
                if not isinstance(value, dict) or "protocol" not in value:
                    if self.protocol is None:
                        raise InputError(
                            f"{document.at(path)}not a record; a bare message needs --as PROTOCOL"
                        )
                    record = {"protocol": self.protocol, "message": value}
                try:
                    yield self.finish(item, [Record.from_json(record)])
                except EncodeError as error:
                    raise InputError(document.error(path, error)) from None
                except LookupError as error:
                    raise InputError(f"{document.at(path)}{error.args[0]}") from None


def _after(first: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from chunks


class Report:
    """Writes the result; `different` is true if there was any difference."""

    def __init__(self, output: Output, names: tuple[str, str], old: list[Record], new: list[Record]) -> None:
        self.output = output
        self.names = names
        self.old = old
        self.new = new
        self.different = False
        self.messages: Counter[str] = Counter()
        self.changes: Counter[str] = Counter()
        self.same = 0  # values
        self.left_out = 0

    def take(self, pairs: Iterable[MessagePair]) -> Iterator[MessagePair]:
        """The pairs that differ; all are counted."""
        from wirelens.codecs.comparing.sequences import SAME

        for pair in pairs:
            self.messages[pair.kind] += 1
            self.same += pair.differences.same
            self.left_out += pair.differences.left_out
            self.changes.update([change.kind for change in pair.differences.changes])
            if pair.kind != SAME:
                self.different = True
                yield pair

    def text(self, pairs: Iterable[MessagePair]) -> None:
        """Write the differences, message by message, and what was counted."""
        from wirelens.codecs.comparing.comparison import MOVED
        from wirelens.formatters import difference

        output, layout = self.output, self.output.layout
        single = len(self.old) <= 1 and len(self.new) <= 1
        for pair in self.take(pairs):
            for side, number, records, sign in ((0, pair.old, self.old, "-"), (1, pair.new, self.new, "+")):
                if number >= 0:
                    mark = ">" if pair.kind == MOVED else sign
                    shown = 0 if single else number + 1
                    output.line(difference.message(records[number], self.names[side], shown, mark, layout))
            output.lines(difference.changes(pair.differences.changes, layout))
            output.text("\n")
        for line in self.totals():
            output.text(line + "\n")

    def totals(self) -> list[str]:
        """What was counted, in words."""
        from wirelens.codecs.comparing.sequences import SAME
        from wirelens.formatters.difference import totals

        lines: list[str] = []
        same = count(self.messages[SAME], "message")
        if not self.different:
            lines.append(f"the same: {same}")
        else:
            if self.changes:
                lines.append(f"{totals(self.changes)}; {count(self.same, 'value')} the same")
            if len(self.old) > 1 or len(self.new) > 1:
                lines.append(f"messages: {totals(self.messages)}; {self.messages[SAME]:,} the same")
        if self.left_out:
            lines.append(f"not compared: {count(self.left_out, 'value')}")
        return lines

    def json(self, pairs: Iterable[MessagePair]) -> None:
        """Write one JSON object."""
        from wirelens.codecs import dumps
        from wirelens.formatters import difference
        from wirelens.formatters.json import indented

        output = self.output
        names = [dumps(name) for name in self.names]
        output.json(f'{{\n  "old": {names[0]},\n  "new": {names[1]},\n  "messages": [')
        before = "\n    "
        for pair in self.take(pairs):
            parts = [f'"change": {dumps(pair.kind)}']
            if pair.old >= 0:
                parts.append(f'"old": {difference.message_json(self.old[pair.old], pair.old + 1)}')
            if pair.new >= 0:
                parts.append(f'"new": {difference.message_json(self.new[pair.new], pair.new + 1)}')
            if pair.differences.changes:
                inner = [difference.change_json(change) for change in pair.differences.changes]
                parts.append(f'"changes": [{", ".join(inner)}]')
            output.json(before + "".join(indented("{" + ", ".join(parts) + "}", 2)))
            before = ",\n    "
        closing = "]" if before == "\n    " else "\n  ]"
        counted: dict[str, Json] = {
            "messages": {kind: self.messages[kind] for kind in sorted(self.messages)},
            "changes": {kind: self.changes[kind] for kind in sorted(self.changes)},
        }
        output.json(f'{closing},\n  "counts": {dumps(counted)},\n  "same": {dumps(not self.different)}\n}}\n')
