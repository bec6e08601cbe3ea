"""`wirelens encode`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

    from wirelens.cli.input_options import OutputOptions
    from wirelens.codecs import Json

EPILOG: Final = """\b
Examples:
  wirelens encode message.json -o message.bin
  wirelens encode --as hessian2 --json '{"values": [{"$long": 5}]}'
  wirelens decode --format jsonl x.bin | jq -c … | wirelens encode > y.bin

\b
JSON is what `decode --format json` or `jsonl` writes: a record, an array of them, one a line; or, with
--as, a message written by hand. What came from a capture needs --flow where it has several directions."""


@click.command(
    context_settings=options.CONTEXT, epilog=EPILOG, short_help="Turn the JSON of messages into bytes."
)
@click.argument("paths", nargs=-1, type=options.PATH, metavar="[FILE]...")
@click.option("--json", "texts", multiple=True, metavar="TEXT", help="JSON on the command line.")
@options.protocol
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
    """Write the bytes of the messages in FILE (- or nothing: standard input), which holds JSON.

    Raw into a pipe or a file, a dump of offset, hex and text on a terminal.
    """
    from wirelens.cli.bytes import write
    from wirelens.cli.input import RAW, InputError
    from wirelens.cli.input_options import InputOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output
    from wirelens.codecs import EncodeError, encode

    inputs = Inputs(InputOptions(paths, texts, RAW), output_options.verbose, "--json")
    found: dict[str, list[bytes]] = {}
    with Output(output_options, inputs.paths) as output:
        for item in inputs:
            place = ""
            try:
                for place, value in values(item.chunks, item.name):
                    for step, one in enumerate(value) if isinstance(value, list) else ((-1, value),):
                        path = "" if step < 0 else f"[{step}]"
                        try:
                            found.setdefault(direction(one), []).append(encode(one, protocol))
                        except EncodeError as error:
                            where = path + ("." if path and error.path else "") + error.path
                            said = f"{where}: {error.text}" if where else error.text
                            raise InputError(f"{place}{said}") from None
                        except LookupError as error:
                            raise InputError(f"{place}{path}{': ' if path else ''}{error.args[0]}") from None
            except InputError as error:
                raise RefusedError("; ".join([str(error), *[note.text for note in item.notes]])) from None
        write(chosen(found, flow), output, kind)
        if inputs.failed or inputs.damaged:
            ctx.exit(2 if inputs.failed else 1)


def values(chunks: Iterator[bytes], name: str) -> Iterator[tuple[str, Json]]:
    """The JSON values of an input with what says where they stand: one, or one a line."""
    from wirelens.cli.input import InputError
    from wirelens.codecs import JsonTextError, loads

    whole = b"".join(chunks)
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 at byte {error.start}") from None
    if not text.strip():
        raise InputError(f"{name}: no JSON in it")
    first, _, more = text.lstrip().partition("\n")
    if more.strip():
        try:
            loads(first)
        except JsonTextError:
            pass
        else:
            yield from lines(text, name)
            return
    try:
        yield f"{name}: ", loads(text)
    except JsonTextError as error:
        raise InputError(f"{name}:{error.line}:{error.column}: {error.text}") from None


def lines(text: str, name: str) -> Iterator[tuple[str, Json]]:
    """The values of JSON lines."""
    from wirelens.cli.input import InputError
    from wirelens.codecs import JsonTextError, loads

    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = loads(line)
            except JsonTextError as error:
                raise InputError(f"{name}:{number}:{error.column}: {error.text}") from None
            yield f"{name}: line {number}: ", value


def direction(value: Json) -> str:
    """The flow and direction that a record comes from; empty for what is from no capture."""
    source = value.get("source") if isinstance(value, dict) else None
    flow = source.get("flow") if isinstance(source, dict) else None
    if not isinstance(source, dict) or not isinstance(flow, str):
        return ""
    file = source.get("file")
    return f"{file}: {flow}" if isinstance(file, str) else flow


def chosen(found: dict[str, list[bytes]], flow: str | None) -> Sequence[bytes]:
    """The bytes of one direction of one flow."""
    names = list(found)
    if flow is not None:
        if flow.isdecimal() and 1 <= int(flow) <= len(names):
            return found[names[int(flow) - 1]]
        fitting = [name for name in names if flow in (name, name.rpartition(": ")[2])]
        if len(fitting) == 1:
            return found[fitting[0]]
        raise RefusedError(
            "--flow: " + (f"{flow!r} is in several files" if fitting else f"no {flow!r} here") + listed(found)
        )
    if len(names) > 1:
        raise RefusedError(
            "the records come from several directions; --flow says which of them to write" + listed(found)
        )
    return found[names[0]] if names else []


def listed(found: dict[str, list[bytes]]) -> str:
    """The directions, numbered."""
    rows = [
        f"\n  {number:>3}  {name or 'no capture'}  {len(parts):,} messages, {sum(map(len, parts)):,} bytes"
        for number, (name, parts) in enumerate(found.items(), 1)
    ]
    return "".join(rows)
