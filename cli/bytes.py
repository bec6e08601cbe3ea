"""`wirelens bytes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from wirelens.cli.input_options import InputOptions, OutputOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output

EPILOG: Final = """\b
Examples:
  wirelens bytes ticket.txt                    a dump of the bytes in the text
  wirelens bytes ticket.txt -o payload.bin
  wirelens bytes --hex '\\xca\\xfe' | xxd
  wirelens bytes --to c payload.bin"""


@options.command(EPILOG)
@options.inputs
@options.kind
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    kind: str | None,
    output_options: OutputOptions,
) -> None:
    """Write the bytes of all INPUTs, one after the other.

    Raw into a pipe or a file; a dump of offset, hex and text on a terminal.
    """
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output

    inputs = Inputs(input_options, output_options.verbose)
    with Output(output_options, inputs.paths) as output:
        write(read(inputs), output, kind)
        if inputs.failed or inputs.damaged:
            ctx.exit(2 if inputs.failed else 1)


def read(inputs: Inputs) -> Iterator[bytes]:
    """The bytes of all inputs, in chunks."""
    from wirelens.cli.input import InputError

    for item in inputs:
        if item.capture:
            inputs.fail(
                f"{item.name}: this is a capture; for the bytes of a flow use "
                "`wirelens decode --flow N --format jsonl | wirelens encode`"
            )
            continue
        try:
            yield from item.chunks
        except (InputError, MemoryError) as error:
            inputs.fail_on(item, error)


def write(chunks: Iterable[bytes], output: Output, kind: str | None) -> None:
    """Write bytes; `kind` is "raw", "hex", "dump", "c", or None: "dump" on a terminal, else "raw"."""
    from wirelens.formatters import octets

    if kind is None:
        kind = "dump" if output.terminal else "raw"
    if kind == "raw":
        for chunk in chunks:
            output.data(chunk)
    elif kind == "dump":
        output.lines(octets.dump(chunks))
    else:
        for text in octets.c_array(chunks) if kind == "c" else octets.hex_digits(chunks):
            output.text(text)
