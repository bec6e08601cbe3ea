"""Options whose help is as it stands, and the one of every command that shows its help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final

CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Option(click.Option):
    """An option whose help is its text as it is: a line.

    click's own removes indentation with `inspect`, whose import is a tenth of the start of a command.
    """

    def __init__(self, names: Sequence[str], help: str | None = None, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.help = help


class CommandWithHelp(click.Command):
    """A command whose help option has its text as it is.

    click's own asks gettext for a translation, which imports `locale`: 2 % of the start of a command.
    """

    own_help: Option | None = None

    def get_help_option(self, ctx: click.Context) -> Option | None:
        """The option that shows the help; always the same object, as click compares options by identity."""
        if self.own_help is None:
            self.own_help = Option(
                self.get_help_option_names(ctx),
                is_flag=True,
                is_eager=True,
                expose_value=False,
                help="Show this message and exit.",
                callback=_show_help,
            )
        return self.own_help


def _show_help(ctx: click.Context, _option: click.Parameter, requested: bool) -> None:
    if requested and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
