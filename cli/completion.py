"""`wirelens completion`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from typing import Final

VARIABLE: Final = "_WIRELENS_COMPLETE"  # how the script asks for what completes a line
SHELLS: Final = ("bash", "zsh", "fish")

EPILOG: Final = """\b
Examples:
  wirelens completion bash >> ~/.bashrc
  wirelens completion zsh >> ~/.zshrc
  wirelens completion fish > ~/.config/fish/completions/wirelens.fish

\b
Then, in a new shell: commands, options, protocols and forms of input complete with the Tab key, and so do the
fields, operators and known values of --where."""

# bash takes = for the end of a word, and expressions are full of it.
_WHOLE_EXPRESSIONS: Final = "COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}\n"


@options.command(EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete the commands of wirelens."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    root = ctx.find_root()
    click.echo(kind(root.command, {}, "wirelens", VARIABLE).source())
    if shell == "bash":
        click.echo(_WHOLE_EXPRESSIONS, nl=False)
