"""`wirelens protocols`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from typing import Final

    from wirelens.cli.input_options import OutputOptions
    from wirelens.formatters.layout import Line

EPILOG: Final = """\b
Examples:
  wirelens protocols
  wirelens protocols dubbo                  the members of its messages, with types and defaults
  wirelens protocols dubbo --example > request.json
  wirelens protocols dubbo --example exception | wirelens encode | wirelens decode -
  wirelens protocols --codes                the meaning of the codes of notes and errors
  wirelens protocols --forms                the forms of input that --input takes
  wirelens protocols --format json | jq -r '.[].protocol'"""


@options.command(EPILOG)
@click.argument("protocol", type=options.PROTOCOL, required=False)
@options.option(
    "--example",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Print a message of PROTOCOL in JSON, which `wirelens encode` takes.",
)
@options.option("--codes", is_flag=True, help="List the codes of notes and errors instead.")
@options.option("--forms", is_flag=True, help="List the forms of input, for --input, instead.")
@options.style("text", "json")
@options.output
def command(
    protocol: str | None,
    example: str | None,
    codes: bool,
    forms: bool,
    style: str,
    output_options: OutputOptions,
) -> None:
    """List the protocols that wirelens decodes and encodes; of PROTOCOL, the members of its messages in JSON.

    Each member has its type, the words for its numbers and its default.
    """
    from wirelens.cli.output import Output
    from wirelens.codecs import registry
    from wirelens.formatters import layout as lay

    keys: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]
    if codes and forms:
        raise click.UsageError("--codes or --forms, not both")
    if example is not None and protocol is None and example in registry.names():
        protocol, example = example, ""  # the option came first
    if protocol is not None and (codes or forms):
        raise click.UsageError("--codes and --forms are not of one protocol")
    if protocol is not None or example is not None:
        _show(protocol, example, style, output_options)
        return
    if forms:
        keys = ("form", "text")
        rows = {name: (text,) for name, text in options.FORM.words().items()}
    elif codes:
        keys = ("code", "text")
        rows = {name: (code.text,) for name, code in registry.codes().items()}
    else:
        keys = ("protocol", "title", "specification")
        rows = {protocol.id: (protocol.title, protocol.source) for protocol in registry.PROTOCOLS}
    with Output(output_options) as output:
        if style == "json":
            from wirelens.codecs import dumps

            lines = [f"  {dumps(dict(zip(keys, (name, *row), strict=True)))}" for name, row in rows.items()]
            output.json("[\n" + ",\n".join(lines) + "\n]\n")
            return
        widths = [max(map(len, rows)), max(len(row[0]) for row in rows.values())]
        room = output.layout.room(sum(widths) + 4)
        fits = all(len(text) <= room for row in rows.values() for text in row[1:])
        for name, row in rows.items():
            line: Line = [(lay.NAME, f"{name:<{widths[0]}}  "), (lay.PLAIN, row[0])]
            if fits:
                gap = " " * (widths[1] - len(row[0]) + 2)
                line.extend([(lay.DIM, gap + text) for text in row[1:]])
            output.line(output.layout.fit(line))


def _show(protocol: str | None, example: str | None, style: str, output_options: OutputOptions) -> None:
    """Show the members of a protocol's messages, or an example of one."""
    from wirelens.cli import protocol_members
    from wirelens.cli.output import Output
    from wirelens.codecs import dumps

    if protocol is None:
        raise click.UsageError("--example needs a protocol: wirelens protocols dubbo --example")
    with Output(output_options) as output:
        if example is not None:
            try:
                output.json(protocol_members.example(protocol, example))
            except LookupError as error:
                raise click.UsageError(str(error.args[0])) from None
        elif style == "json":
            output.json(dumps(protocol_members.as_json(protocol)) + "\n")
        else:
            for line in protocol_members.lines(protocol, output.layout):
                output.line(line)
