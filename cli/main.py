"""The command `wirelens`: a group whose commands load when they are called."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from typing import Any, Final

# Each command's module, which holds it as `command`, and its line in the list.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "decode": ("wirelens.cli.decode", "Show the messages in files, captures or pasted bytes."),
    "detect": ("wirelens.cli.detect", "Name the protocol that bytes speak, with the evidence."),
    "encode": ("wirelens.cli.encode", "Turn the JSON of messages into bytes."),
    "bytes": ("wirelens.cli.bytes", "Turn whatever was pasted into bytes."),
    "flows": ("wirelens.cli.flows", "List the conversations of a capture."),
    "bulk": ("wirelens.cli.bulk.command", "Turn folders of captures into a table, with Spark."),
    "protocols": ("wirelens.cli.protocols", "List the protocols, or the codes of notes and errors."),
    "doctor": ("wirelens.cli.doctor", "Say what is installed, and what bulk lacks."),
}

DEBUG: Final = "WIRELENS_DEBUG"
INTERRUPTED: Final = 130  # as a shell says of a command that SIGINT ended
FAILED: Final = 70  # EX_SOFTWARE of sysexits.h: a mistake of wirelens itself

EPILOG: Final = """\b
Examples:
  wirelens decode payload.hex                what is in it, as a tree
  wirelens decode --hex '1e0000010800000000'
  wirelens decode --format jsonl app.pcap | jq .message
  wirelens detect dump.txt                   which protocol, and why
  wirelens encode message.json -o out.bin

\b
Exit status: 0 all well; 1 something did not decode, which the output says;
2 the command, or an input that it names, was wrong."""


class Commands(click.Group):
    """Loads a command's module when the command is called or helped."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        known = COMMANDS.get(name)
        if known is None:
            return None
        command = import_module(known[0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(_unknown(name), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=line)
            for name, (_, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found or click.Command.shell_complete(self, ctx, incomplete)

    def main(self, *args: Any, **extra: Any) -> Any:
        """As click has it, but with the exit status of the README, and never a traceback."""
        alone = extra.get("standalone_mode", True)
        extra["standalone_mode"] = False
        if not alone:
            return super().main(*args, **extra)
        try:
            status = super().main(*args, **extra)
        except click.ClickException as error:
            error.show()
            status = error.exit_code
        except click.Abort:
            status = INTERRUPTED
        except Exception as error:
            status = _trouble(error)
        sys.exit(status if isinstance(status, int) else 0)


def _unknown(name: str) -> str:
    """What is said of a command that does not exist."""
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, 1, 0.5)
    if close:
        return f"No such command {name!r}. Did you mean {close[0]!r}?"
    if os.path.exists(name):
        return f"No such command {name!r}. It is a file: wirelens decode {name}"
    return f"No such command {name!r}."


def _trouble(error: Exception) -> int:
    """Say in a line what went wrong outside of what commands expect; the exit status."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
        return FAILED
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        click.echo(f"Error: {where}{error.strerror}", err=True)
        return 2
    if isinstance(error, MemoryError):
        click.echo("Error: not enough memory", err=True)
        return FAILED
    said = " ".join(str(error).split())
    click.echo(f"Error: {type(error).__name__}{': ' if said else ''}{said[:300]}", err=True)
    click.echo(f"This is a mistake in wirelens; {DEBUG}=1 shows where.", err=True)
    return FAILED


def _version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from wirelens.cli.version import describe

        click.echo(describe())
        ctx.exit()


def _debug(_ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        os.environ[DEBUG] = "1"


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Say what is installed.",
)
@click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_debug,
    help="Show where an unexpected error comes from.",
)
@click.pass_context
def group(ctx: click.Context) -> None:
    """Look into the bytes of binary RPC protocols: which protocol, which messages, where they break."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """The console script."""
    gc.set_threshold(50_000, 20, 50)  # trees have no cycles: looking for them often is time lost
    atexit.register(gc.freeze)  # nor at the end, when the interpreter would
    group(prog_name="wirelens")


if __name__ == "__main__":
    main()
