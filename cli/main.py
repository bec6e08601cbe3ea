"""The command `wirelens`: a group whose commands are imported when they are called."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

# Before the imports: neither what modules make nor trees have cycles, so collecting often only costs time.
gc.set_threshold(50_000, 20, 50)

from wirelens.cli.later import Later  # noqa: E402

# What no command uses until it shows help or an error is a seventh of `import click`.
with Later("inspect"), Later("gettext", "gettext", "ngettext"):
    import click

from wirelens.cli.help_option import CONTEXT, CommandWithHelp, Option  # noqa: E402
from wirelens.cli.stderr import warn  # noqa: E402

if TYPE_CHECKING:
    from typing import Any, Final

# The module of each command, which has it as `command`, and its title in the list.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "decode": ("wirelens.cli.decode", "Show the messages in files, captures or pasted bytes."),
    "detect": ("wirelens.cli.detect", "Name the protocol of the input, with the evidence."),
    "encode": ("wirelens.cli.encode", "Convert the JSON of messages to bytes."),
    "bytes": ("wirelens.cli.bytes", "Convert pasted text in any form to bytes."),
    "flows": ("wirelens.cli.flows", "List the conversations of a capture."),
    "calls": ("wirelens.cli.calls", "List the calls of a capture: outcome and latency of each."),
    "stats": ("wirelens.cli.stats", "Show statistics of calls: outcomes, latencies, bytes."),
    "query": ("wirelens.cli.query.command", "Ask SQL of messages, calls and connections."),
    "diff": ("wirelens.cli.diff", "Compare messages, files or captures by what they mean."),
    "report": ("wirelens.cli.report", "Write messages and calls as one page of HTML."),
    "annotate": ("wirelens.cli.annotate", "Copy a capture with its messages as comments on packets."),
    "wireshark": ("wirelens.cli.wireshark", "Make these comments fields of Wireshark and TShark."),
    "bulk": ("wirelens.cli.bulk.command", "Convert folders of captures to tables, with Spark."),
    "protocols": (
        "wirelens.cli.protocols",
        "List the protocols, the codes of notes, or the forms of input.",
    ),
    "completion": ("wirelens.cli.completion", "Print what makes a shell complete these commands."),
    "doctor": ("wirelens.cli.doctor", "Report what is installed, what is not, and what to do."),
}

DEBUG: Final = "WIRELENS_DEBUG"
HELP: Final = "help"
INTERRUPTED: Final = 130  # exit status in a shell of a command that SIGINT ended
FAILED: Final = 70  # EX_SOFTWARE of sysexits.h: an internal error

EPILOG: Final = """\b
Examples:
  wirelens decode payload.hex                its messages, as trees
  wirelens decode --hex '1e0000010800000000'
  wirelens decode --format jsonl app.pcap | jq .message
  wirelens detect dump.txt                   which protocol, and why
  wirelens encode message.json -o out.bin

\b
Exit status: 0: success; 1: something did not decode, as the output reports;
2: the command or one of its inputs is wrong. diff: 1: a difference.

\b
Environment: WIRELENS_PAGER or PAGER, WIRELENS_THEME (dark, light, either), COLUMNS, NO_COLOR, FORCE_COLOR."""


class Commands(CommandWithHelp, click.Group):
    """Imports a command's module when the command is called or its help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name, imported; None if there is none."""
        if name != HELP and name not in COMMANDS:
            return None
        module = "wirelens.cli.help" if name == HELP else COMMANDS[name][0]
        command = import_module(module).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name, command and arguments; suggests a name for an unknown command."""
        name = args[0]
        if name not in COMMANDS and name != HELP and not name.startswith("-") and not ctx.resilient_parsing:
            raise self.unknown(name, ctx)
        return super().resolve_command(ctx, args)

    def unknown(self, name: str, ctx: click.Context) -> click.UsageError:
        """The error for a command that does not exist."""
        from wirelens.cli.suggestions import unknown

        return click.UsageError(unknown(name, [*COMMANDS, HELP]), ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, title) for name, (_, title) in COMMANDS.items()])

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Commands that start with the incomplete word, else options."""
        from click.shell_completion import CompletionItem

        items = [
            CompletionItem(name, help=title)
            for name, (_, title) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return items or click.Command.shell_complete(self, ctx, incomplete)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run like click's, but with the exit statuses of the README, and without tracebacks."""
        standalone = extra.get("standalone_mode", True)
        extra["standalone_mode"] = False
        if not standalone:
            return super().main(*args, **extra)
        try:
            status = super().main(*args, **extra)
        except click.ClickException as error:
            if isinstance(error, click.NoSuchOption):
                from wirelens.cli.suggestions import suggesting

                error = suggesting(error)
            import io

            text = io.StringIO()
            error.show(text)
            for line in text.getvalue().rstrip("\n").split("\n"):
                warn(line)
            status = error.exit_code
        except click.Abort:
            status = INTERRUPTED
        except Exception as error:
            status = _report_error(error)
        sys.exit(status if isinstance(status, int) else 0)


def _report_error(error: Exception) -> int:
    """Report an error that no command expects, in one line; returns the exit status."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
        return FAILED
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        warn(f"Error: {where}{error.strerror}")
        return 2
    if isinstance(error, MemoryError):
        warn("Error: not enough memory")
        return FAILED
    text = " ".join(str(error).split())
    warn(f"Error: {type(error).__name__}{': ' if text else ''}{text[:300]}")
    warn(f"This is an error in wirelens; {DEBUG}=1 shows the traceback.")
    return FAILED


def _version(ctx: click.Context, _option: click.Parameter, requested: bool) -> None:
    if requested and not ctx.resilient_parsing:
        from wirelens.cli.version import describe

        click.echo(describe())
        ctx.exit()


def _debug(_ctx: click.Context, _option: click.Parameter, requested: bool) -> None:
    if requested:
        os.environ[DEBUG] = "1"


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings=CONTEXT,
    epilog=EPILOG,
)
@click.option(
    "-V",
    "--version",
    cls=Option,
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Show the installed version and form.",
)
@click.option(
    "--debug",
    cls=Option,
    is_flag=True,
    expose_value=False,
    callback=_debug,
    help="Show tracebacks of unexpected errors.",
)
@click.pass_context
def group(ctx: click.Context) -> None:
    """Inspect the bytes of binary RPC protocols: which protocol, which messages, where they are damaged."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """The console script."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by `>&-`: what is written goes nowhere
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    atexit.register(gc.freeze)  # spares the interpreter's last collection
    group(prog_name="wirelens")


if __name__ == "__main__":
    main()
