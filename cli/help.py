"""`wirelens help`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli.help_option import CommandWithHelp

if TYPE_CHECKING:
    from wirelens.cli.main import Commands


def _group(ctx: click.Context) -> Commands:
    """What has all the commands."""
    group: Commands = ctx.find_root().command  # type: ignore[assignment]
    return group


def _names(ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    """What completes the name of a command."""
    return [name for name in _group(ctx).list_commands(ctx) if name.startswith(typed)]


@click.command("help", cls=CommandWithHelp)
@click.argument("name", required=False, metavar="[COMMAND]", shell_complete=_names)
@click.pass_context
def command(ctx: click.Context, name: str | None) -> None:
    """Show the help of a command."""
    root = ctx.find_root()
    group = _group(ctx)
    named = group if name is None else group.get_command(root, name)
    if named is None:
        raise group.unknown(name or "", root)
    inner = root if name is None else click.Context(named, info_name=name, parent=root)
    click.echo(named.get_help(inner))
