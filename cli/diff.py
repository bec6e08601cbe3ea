"""`wirelens diff`."""

from __future__ import annotations

from collections import Counter
from itertools import chain
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
    from wirelens.cli.input_options import CaptureOptions, InputOptions, MergeOptions, OutputOptions
    from wirelens.cli.merged import Merged
    from wirelens.cli.output import Output
    from wirelens.cli.select import Selection
    from wirelens.codecs import Json, Record
    from wirelens.codecs.call import Call
    from wirelens.codecs.comparing import CallPair, Ignored, MessagePair, Pattern
    from wirelens.formatters.layout import Line

MOST_SHOWN: Final = 1000  # messages or calls that differ, as text
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


@options.command(EPILOG)
@options.captures
@options.where("messages", "kind=request, method=find and service~Order, TEXT")
@options.option(
    "--ignore",
    "ignored_paths",
    multiple=True,
    metavar="PATH",
    help="Do not compare the values at this path: body.arguments[0].x, lines[*].price, ..name.",
)
@options.option("--ignore-dates", is_flag=True, help="Do not compare dates and times, in any form.")
@options.option("--ignore-ids", is_flag=True, help="Do not compare ids of messages, requests and traces.")
@options.option(
    "--wire",
    is_flag=True,
    help="Show other wire forms and reference numbers of equal values, lengths and checksums too.",
)
@options.style("text", "json")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    capture_options: CaptureOptions,
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
    files): bytes as `decode` reads them, or JSON as it writes it. Offsets, lengths, numbers of references and
    other wire forms of the same values are no difference. Lists and sequences of messages are aligned.

    Of two captures the calls are compared, paired by service, method and arguments: what was called and
    answered, not when, by whom and under which id.
    """
    from wirelens.cli.input_options import InputOptions
    from wirelens.cli.output import Output

    protocol, merge_options = capture_options.protocol, capture_options.merge_options
    names = [*input_options.texts, *input_options.paths]
    if len(names) != 2:
        raise click.UsageError(f"two inputs are compared, {count(len(names), 'was', 'were')} given")
    if input_options.paths == ("-", "-"):
        raise click.UsageError("standard input can be only one of the two")
    ignored = ignored_values(ignored_paths, ignore_dates, ignore_ids, wire)
    selection = capture_options.selection(where)
    sides = [InputOptions((), (text,), input_options.form) for text in input_options.texts]
    sides += [InputOptions((path,), (), input_options.form) for path in input_options.paths]
    with Output(output_options, input_options.paths) as output:
        old, new = [
            Side(side, merge_options, output, protocol, selection, output_options.verbose) for side in sides
        ]
        report: MessageReport | CallReport
        if old.is_capture and new.is_capture:
            from wirelens.codecs.comparing import compare_calls

            calls, new_calls = old.calls(), new.calls()
            report = CallReport(output, names_of(sides), calls, new_calls)
            pairs: Iterable[MessagePair | CallPair] = compare_calls(calls, new_calls, ignored, wire)
        else:
            from wirelens.codecs.comparing import compare_messages

            records, new_records = old.records(), new.records()
            report = MessageReport(output, names_of(sides), records, new_records)
            pairs = compare_messages(records, new_records, ignored, wire)
        if selection is not None:
            selection.report()
        if style == "json":
            report.json(pairs)
        else:
            report.text(pairs)
        ctx.exit(1 if report.different else 0)


def ignored_values(paths: tuple[str, ...], dates: bool, ids: bool, wire: bool) -> Ignored:
    """What is not compared; refuses a path that cannot be read. With `wire` lengths are compared too."""
    from wirelens.codecs.comparing import Ignored, PathError, pattern

    patterns: list[Pattern] = []
    for path in paths:
        try:
            patterns.append(pattern(path))
        except PathError as error:
            raise click.BadParameter(f"{path!r}, {error}", param_hint="--ignore") from None
    return Ignored(tuple(patterns), dates, ids, derived=not wire)


def names_of(sides: list[InputOptions]) -> tuple[str, str]:
    """What the two inputs are called."""
    first, second = [side.paths[0] if side.paths else "--hex" for side in sides]
    return (first, second) if first != second else (f"{first} (old)", f"{second} (new)")


class Side:
    """One of the two inputs; it is opened when it is made."""

    def __init__(
        self,
        options: InputOptions,
        merge_options: MergeOptions,
        output: Output,
        protocol: str | None,
        selection: Selection | None,
        verbose: bool,
    ) -> None:
        from wirelens.cli.inputs import Inputs

        self.inputs = Inputs(options, verbose)
        self.inputs.takes_json = True
        self.merge_options = merge_options
        self.output = output
        self.protocol = protocol
        self.selection = selection
        self.verbose = verbose
        items = self.inputs.merged(merge_options)
        first = next(items, None)
        self.check()
        self.is_capture = first is not None and first.capture
        self.items: Iterable[Input | Merged] = items if first is None else chain([first], items)

    def check(self) -> None:
        """Refuse what cannot be read whole."""
        if self.inputs.failed:
            raise SystemExit(2)
        if self.inputs.damaged:
            raise RefusedError("a damaged input cannot be compared")

    def records(self) -> list[Record]:
        """Its messages."""
        run = JsonRun(iter(self.items), self.inputs, self.output, self.protocol, self.selection, self.verbose)
        records: list[Record] = []
        for batch in run.batches():
            records.extend(batch)
            _limit(len(records), "messages")
        run.check_flow()
        self.check()
        return records

    def calls(self) -> list[Call]:
        """Its calls with their messages; --where chooses calls by one of their messages."""
        from wirelens.cli.call_reading import CallReading
        from wirelens.cli.select import Selection
        from wirelens.codecs.calls import ALL_CALLS

        selection = self.selection or Selection(None, None)
        reading = CallReading(
            self.inputs, self.merge_options, self.protocol, selection, ALL_CALLS, items=self.items
        )
        reading.progress = True
        calls: list[Call] = []
        for batch in reading.batches():
            calls.extend([call for call in batch if reading.takes(call) and selection.of(call.messages)])
            _limit(len(calls), "calls")
        reading.report()
        self.check()
        calls.sort(key=lambda call: call.call)
        return calls


def _limit(number: int, noun: str) -> None:
    if number > MOST_MESSAGES:
        raise RefusedError(f"more than {MOST_MESSAGES:,} {noun}; choose some with --flow, --port or --where")


class JsonRun(Run):
    """Reads an input that may be JSON."""

    def plain(self, item: Input) -> Iterator[list[Record]]:
        """The records of an input that is not a capture."""
        from wirelens.cli.input import RECORDS

        yield from self.json(item) if item.form == RECORDS else super().plain(item)

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


class Report:
    """Writes the result; `different` is true if there was any difference.

    `noun` is what is compared; `sizes` how many of them there are on both sides.
    """

    noun = ""

    def __init__(self, output: Output, names: tuple[str, str], sizes: tuple[int, int]) -> None:
        self.output = output
        self.names = names
        self.sizes = sizes
        self.different = False
        self.kinds: Counter[str] = Counter()
        self.changes: Counter[str] = Counter()
        self.same = 0  # values
        self.left_out = 0

    def line(self, side: int, number: int, sign: str) -> Line:
        """The line that names one of what is compared; `side`: 0 old, 1 new."""
        raise NotImplementedError

    def place(self, side: int, number: int) -> str:
        """Which one it is, as JSON."""
        raise NotImplementedError

    def take(self, pairs: Iterable[MessagePair | CallPair]) -> Iterator[MessagePair | CallPair]:
        """The pairs that differ; all are counted."""
        from wirelens.codecs.comparing.sequences import SAME

        for pair in pairs:
            self.kinds[pair.kind] += 1
            self.same += pair.differences.same
            self.left_out += pair.differences.left_out
            self.changes.update([change.kind for change in pair.differences.changes])
            if pair.kind != SAME:
                self.different = True
                yield pair

    def text(self, pairs: Iterable[MessagePair | CallPair]) -> None:
        """Write the differences, one message or call after the other, and what was counted."""
        from wirelens.codecs.comparing.comparison import MOVED
        from wirelens.formatters import difference

        output = self.output
        shown = 0
        gap = False
        more = 0
        for pair in self.take(pairs):
            if shown == MOST_SHOWN:
                more += 1
                continue
            if shown and (gap or pair.differences.changes):
                output.text("\n")
            shown += 1
            gap = bool(pair.differences.changes)
            for side, number in enumerate((pair.old, pair.new)):
                if number >= 0:
                    output.line(self.line(side, number, ">" if pair.kind == MOVED else "-+"[side]))
            output.lines(difference.changes(pair.differences.changes, output.layout))
        if more:
            rest = count(more, f"more {self.noun}")
            output.text(f"… {rest} with differences; --format json has all\n")
        if self.different:
            output.text("\n")
        for line in self.totals():
            output.text(line + "\n")

    def totals(self) -> list[str]:
        """What was counted, in words."""
        from wirelens.codecs.comparing.sequences import SAME
        from wirelens.formatters.difference import totals

        lines: list[str] = []
        if not self.different:
            lines.append(f"the same: {count(self.kinds[SAME], self.noun)}")
        else:
            single = max(self.sizes) <= 1
            if self.changes:
                same = f"; {self.same:,} the same" if single else ""
                lines.append(f"values: {totals(self.changes)}{same}")
            if not single or not self.changes:
                lines.append(f"{self.noun}s: {totals(self.kinds)}; {self.kinds[SAME]:,} the same")
        if self.left_out and max(self.sizes) <= 1:
            lines.append(f"not compared: {count(self.left_out, 'value')}")
        return lines

    def json(self, pairs: Iterable[MessagePair | CallPair]) -> None:
        """Write one JSON object."""
        from wirelens.codecs import dumps
        from wirelens.formatters import difference
        from wirelens.formatters.json import indented

        output = self.output
        names = [dumps(name) for name in self.names]
        output.json(f'{{\n  "old": {names[0]},\n  "new": {names[1]},\n  "{self.noun}s": [')
        before = "\n    "
        for pair in self.take(pairs):
            parts = [f'"change": {dumps(pair.kind)}']
            for side, number in enumerate((pair.old, pair.new)):
                if number >= 0:
                    parts.append(f'"{("old", "new")[side]}": {self.place(side, number)}')
            if pair.differences.changes:
                inner = [difference.change_json(change) for change in pair.differences.changes]
                parts.append(f'"changes": [{", ".join(inner)}]')
            output.json(before + "".join(indented("{" + ", ".join(parts) + "}", 2)))
            before = ",\n    "
        closing = "]" if before == "\n    " else "\n  ]"
        counted: dict[str, Json] = {
            f"{self.noun}s": {kind: self.kinds[kind] for kind in sorted(self.kinds)},
            "values": {kind: self.changes[kind] for kind in sorted(self.changes)},
        }
        output.json(f'{closing},\n  "counts": {dumps(counted)},\n  "same": {dumps(not self.different)}\n}}\n')


class MessageReport(Report):
    """The result of comparing messages."""

    noun = "message"

    def __init__(self, output: Output, names: tuple[str, str], old: list[Record], new: list[Record]) -> None:
        super().__init__(output, names, (len(old), len(new)))
        self.records = (old, new)

    def line(self, side: int, number: int, sign: str) -> Line:
        """The line that names a message."""
        from wirelens.formatters import difference

        shown = f"message {number + 1}" if max(self.sizes) > 1 else ""
        return difference.message(
            self.records[side][number], self.names[side], shown, sign, self.output.layout
        )

    def place(self, side: int, number: int) -> str:
        """Which message it is, as JSON."""
        from wirelens.formatters import difference

        return difference.message_json(self.records[side][number], number + 1)


class CallReport(Report):
    """The result of comparing calls."""

    noun = "call"

    def __init__(self, output: Output, names: tuple[str, str], old: list[Call], new: list[Call]) -> None:
        super().__init__(output, names, (len(old), len(new)))
        self.calls = (old, new)

    def line(self, side: int, number: int, sign: str) -> Line:
        """The line that names a call."""
        from wirelens.formatters import difference

        call = self.calls[side][number]
        shown = f"call {call.call}"
        return difference.message(call.messages[0].record, self.names[side], shown, sign, self.output.layout)

    def place(self, side: int, number: int) -> str:
        """Which call it is, as JSON."""
        return self.calls[side][number].json_bytes().decode()
