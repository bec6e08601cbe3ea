"""`wirelens encode`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from wirelens.cli import options
from wirelens.cli.errors import RefusedError
from wirelens.cli.stderr import warn
from wirelens.codecs.words import clean, count, elided

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

    from wirelens.cli.input_options import OutputOptions
    from wirelens.codecs import EncodeError, Json

MOST_NOTES: Final = 20  # on messages, shown on stderr

EPILOG: Final = """\b
Examples:
  wirelens encode message.json -o message.bin
  wirelens encode --as hessian2 --json '{"values": [{"$long": 5}]}'
  wirelens decode --format jsonl x.bin | jq -c … | wirelens encode > y.bin

\b
The JSON is the output of `decode --format json` or `jsonl`: a record, an array of records, or one per line;
or, with --as, messages written by hand. Records of several directions of a capture need --flow."""


@options.command(EPILOG)
@click.argument("paths", nargs=-1, type=options.PATH, metavar="[FILE]...")
@options.option("--json", "texts", multiple=True, metavar="TEXT", help="JSON on the command line.")
@options.message_protocol
@options.record_flow
@options.kind
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    texts: tuple[str, ...],
    protocol: str | None,
    flow: str | None,
    kind: str | None,
    output_options: OutputOptions,
) -> None:
    """Write the bytes of the messages in FILE, which is JSON (- or no FILE: standard input).

    Raw into a pipe or a file; a dump of offset, hex and text on a terminal.
    """
    from wirelens.cli.bytes import write
    from wirelens.cli.input import RAW, TOO_MUCH, InputError
    from wirelens.cli.input_options import InputOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output
    from wirelens.codecs import EncodeError, encode

    inputs = Inputs(InputOptions(paths, texts, RAW), output_options.verbose, "--json")
    directions: dict[Direction, list[bytes]] = {}
    oddities = Oddities()
    with Output(output_options, inputs.paths) as output:
        for item in inputs:
            try:
                for document in documents(item.chunks, item.name):
                    for path, message in messages(document.value):
                        try:
                            data = encode(message, protocol)
                        except EncodeError as error:
                            raise InputError(document.error(path, error)) from None
                        except LookupError as error:
                            raise InputError(f"{document.at(path)}{error.args[0]}") from None
                        directions.setdefault(direction(message), []).append(data)
                        oddities.report(data, message, protocol, document.at(path))
            except MemoryError:
                raise RefusedError(f"{item.name}: {TOO_MUCH}") from None
            except InputError as error:
                raise RefusedError("; ".join([str(error), *[note.text for note in item.notes]])) from None
        oddities.end()
        write(chosen(directions, flow), output, kind)
        if inputs.failed or inputs.damaged:
            ctx.exit(2 if inputs.failed else 1)


class Oddities:
    """Decodes what was encoded, and reports on stderr what is odd about it: MOST_NOTES times at most."""

    def __init__(self) -> None:
        self.shown = 0

    def report(self, data: bytes, message: Json, protocol: str | None, place: str) -> None:
        """Report the notes on a message's bytes, other than those that its record has already."""
        from wirelens.codecs import decode

        if not isinstance(message, dict) or ("bytes" in message and message.get("message") is None):
            return
        name = message.get("protocol", protocol)
        known = message.get("notes")
        texts = (
            {note.get("text") for note in known if isinstance(note, dict)} if isinstance(known, list) else ()
        )
        for record in decode(data, str(name)) if data else []:
            notes = [(note.offset, note.text, note.code) for note in record.notes if note.text not in texts]
            if record.error is not None:
                notes.append((record.error.offset, record.error.text, record.error.code))
            for offset, text, code in notes:
                self.shown += 1
                if self.shown <= MOST_NOTES:
                    warn(f"{place}at byte {offset}: {clean(text)} ({code})")

    def end(self) -> None:
        """Report how many notes were left out."""
        if self.shown > MOST_NOTES:
            warn(count(self.shown - MOST_NOTES, "more note"))


class Document(NamedTuple):
    """One JSON value of an input: `line` is its number in JSON lines, 0 for the only value of the input."""

    name: str
    text: str
    value: Json
    line: int

    def at(self, path: str) -> str:
        """What goes before a text about the value at a path."""
        line = f"line {self.line}: " if self.line else ""
        return f"{self.name}: {line}{path}{': ' if path else ''}"

    def error(self, path: str, error: EncodeError) -> str:
        """The text of an error in the message at a path, with its line and column."""
        from wirelens.codecs.json_text import place_of

        where = path + ("." if path and error.path and error.path[0] != "[" else "") + error.path
        line, column = place_of(self.text, where)
        line += max(self.line - 1, 0)
        place = f"line {line}, column {column}"
        return self.at(f"{elided(where)} ({place})" if where else "") + error.text


def messages(value: Json) -> Iterator[tuple[str, Json]]:
    """The messages of a JSON value with their paths: the items of an array, or the value itself."""
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield f"[{position}]", item
    else:
        yield "", value


def documents(chunks: Iterator[bytes], name: str) -> Iterator[Document]:
    """The JSON values of an input, one or one per line."""
    from wirelens.cli.input import InputError
    from wirelens.codecs import JsonTextError, loads

    whole = b"".join(chunks)
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 at byte {error.start}") from None
    if not text.strip():
        raise InputError(f"{name}: the input is empty; JSON is expected")
    first, _, rest = text.lstrip().partition("\n")
    if rest.strip():
        try:
            loads(first)
        except JsonTextError:
            pass
        else:
            yield from lines(text, name)
            return
    try:
        yield Document(name, text, loads(text), 0)
    except JsonTextError as error:
        raise InputError(f"{name}:{error.line}:{error.column}: not JSON: {error.text}") from None


def lines(text: str, name: str) -> Iterator[Document]:
    """The values of JSON lines."""
    from wirelens.cli.input import InputError
    from wirelens.codecs import JsonTextError, loads

    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = loads(line)
            except JsonTextError as error:
                raise InputError(f"{name}:{number}:{error.column}: {error.text}") from None
            yield Document(name, line, value, number)


class Direction(NamedTuple):
    """One direction of a flow of a capture.

    `flow`: transport and endpoints as text, sender first, "" for records that are not from a capture.
    `number`: the flow's as `flows` shows it, 0 if unknown, with `c` for messages of its client, `s` for
    those of its server. `file` distinguishes flows without a number.
    """

    file: str
    flow: str
    number: str

    @property
    def name(self) -> str:
        """The flow, after its file if that is known."""
        return f"{self.file}: {self.flow}" if self.file else self.flow


def direction(value: Json) -> Direction:
    """The direction that a record's `source` names."""
    source = value.get("source") if isinstance(value, dict) else None
    flow = source.get("flow") if isinstance(source, dict) else None
    if not isinstance(source, dict) or not isinstance(flow, str):
        return Direction("", "", "")
    number = source.get("flow_number")
    if isinstance(number, int) and number > 0:  # several files may hold one flow
        sender = source.get("sender")
        client = sender == "client" if isinstance(sender, str) else higher_port_first(flow)
        return Direction("", flow, f"{int(number)}{'c' if client else 's'}")
    file = source.get("file")
    return Direction(file if isinstance(file, str) else "", flow, "")


def higher_port_first(flow: str) -> bool:
    """Whether the sender, which comes first in a flow's text, has the higher port."""
    sender, _, receiver = flow.partition(" > ")
    ports = [end.rpartition(":")[2] for end in (sender, receiver)]
    return all(port.isdecimal() for port in ports) and int(ports[0]) > int(ports[1])


def numbered(directions: dict[Direction, list[bytes]]) -> list[tuple[str, Direction]]:
    """The directions with the numbers that --flow takes; those of flows without a number are counted."""
    return [(direction.number or str(place), direction) for place, direction in enumerate(directions, 1)]


def chosen(directions: dict[Direction, list[bytes]], flow: str | None) -> Sequence[bytes]:
    """The bytes of the direction that --flow selects, by number or text; of the only one without --flow."""
    if flow is None:
        if len(directions) > 1:
            raise RefusedError(
                f"the records are of several directions; choose one with --flow{listed(directions)}"
            )
        return next(iter(directions.values()), [])
    matching = [
        direction
        for number, direction in numbered(directions)
        if flow in (number, number.rstrip("cs"), direction.name, direction.flow)
    ]
    if len(matching) == 1:
        return directions[matching[0]]
    problem = f"there is no {flow!r}"
    if matching:
        problem = f"{flow!r} is in several files"
        if flow.isdecimal():
            problem = f"flow {flow} has two directions, {flow}c and {flow}s"
        elif matching[0].number:
            problem = f"{flow!r} are several flows"
    raise RefusedError(f"--flow: {problem}{listed(directions)}")


def listed(directions: dict[Direction, list[bytes]]) -> str:
    """The directions as numbered lines."""
    rows = [
        f"\n  {number:>3}  {direction.name or 'not from a capture'}  "
        f"{count(len(directions[direction]), 'message')}, "
        f"{count(sum(map(len, directions[direction])), 'byte')}"
        for number, direction in numbered(directions)
    ]
    return "".join(rows)
