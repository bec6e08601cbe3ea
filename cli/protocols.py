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
  wirelens protocols --codes                the meaning of the codes of notes and errors
  wirelens protocols --forms                the forms of input that --input takes
  wirelens protocols --format json | jq -r '.[].protocol'"""


@click.command(context_settings=options.CONTEXT, epilog=EPILOG)
@click.option("--codes", is_flag=True, help="List the codes of notes and errors instead.")
@click.option("--forms", is_flag=True, help="List the forms of input, for --input, instead.")
@options.style("text", "json")
@options.output
def command(codes: bool, forms: bool, style: str, output_options: OutputOptions) -> None:
    """List the protocols that wirelens decodes and encodes: id, title and specification."""
    from wirelens.cli.output import Output
    from wirelens.codecs import registry
    from wirelens.formatters import layout as lay

    keys: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]
    if codes and forms:
        raise click.UsageError("--codes or --forms, not both")
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
