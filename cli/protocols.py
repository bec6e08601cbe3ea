"""`wirelens protocols`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from wirelens.cli import options

if TYPE_CHECKING:
    from typing import Final

EPILOG: Final = """\b
Examples:
  wirelens protocols
  wirelens protocols --codes                what the codes of notes and errors mean
  wirelens protocols --format json | jq -r '.[].protocol'"""


@click.command(
    context_settings=options.CONTEXT,
    epilog=EPILOG,
    short_help="List the protocols, or the codes of notes and errors.",
)
@click.option("--codes", is_flag=True, help="List the codes of notes and errors instead.")
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", help="text by default."
)
@options.output
def command(
    codes: bool, style: str, target: str | None, color: str, width: int | None, pager: bool, verbose: bool
) -> None:
    """List the protocols that wirelens reads and writes: the id for --as, and what it is."""
    from wirelens.cli.output import Output
    from wirelens.codecs import CODES, registry

    rows = dict(CODES) if codes else {name: registry.get(name).title for name in registry.names()}
    with Output(target, color, width, pager) as output:
        if style == "json":
            from wirelens.codecs import dumps

            keys = ("code", "text") if codes else ("protocol", "title")
            lines = [f"  {dumps(dict(zip(keys, row, strict=True)))}" for row in rows.items()]
            output.text("[\n" + ",\n".join(lines) + "\n]\n")
            return
        widest = max(map(len, rows))
        for name, text in rows.items():
            output.line([("name", f"{name:<{widest}}"), ("", f"  {text}")])
