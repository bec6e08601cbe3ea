"""`--server-side FILE…`: captures of the same connections that were made at their other end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.help_option import CommandWithHelp

if TYPE_CHECKING:
    from typing import Final

    from wirelens.cli.options import Command

OPTION: Final = "--server-side"


def server_side(function: Command) -> Command:
    """--server-side; its command is a `ManyValues`."""
    decorate = options.option(
        OPTION,
        "server_paths",
        multiple=True,
        type=click.Path(),
        metavar="FILE...",
        help="Captures of the same connections at the server's end, up to the next option: splits each call "
        "into the way there, the server and the way back. Beyond 1.5 million messages it uses temporary "
        "files.",
    )
    return decorate(function)


class ManyValues(CommandWithHelp):
    """A command whose --server-side takes every argument up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give each of the arguments after the option an option of its own."""
        return super().parse_args(ctx, spread(args))


def spread(arguments: list[str]) -> list[str]:
    """Arguments with the option before each of its values. Raises click.UsageError where it has none."""
    found: list[str] = []
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        if argument == "--":
            return [*found, argument, *arguments[at:]]
        if argument != OPTION:
            found.append(argument)
            continue
        first = at
        while at < len(arguments) and not (arguments[at].startswith("-") and arguments[at] != "-"):
            found += [OPTION, arguments[at]]
            at += 1
        if at == first:
            raise click.UsageError(f"{OPTION} has no captures: give those of the server's end after it")
    return found
