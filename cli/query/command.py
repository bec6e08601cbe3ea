"""`wirelens query`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.errors import RefusedError

if TYPE_CHECKING:
    from typing import Final

    from wirelens.cli.input_options import CaptureOptions, InputOptions, OutputOptions

EPILOG: Final = """\b
Examples:
  wirelens query 'SELECT method, count(*), max(latency_us) FROM calls GROUP BY ALL' app.pcap
  wirelens query "SELECT sent, client, method FROM calls WHERE outcome = 'error'" captures/
  wirelens query 'FROM connections ORDER BY server_missing DESC LIMIT 5' --format csv app.pcap
  wirelens query "SELECT message->>'$.body.method' AS m, count(*) FROM messages GROUP BY m" app.pcap
  wirelens query 'FROM messages' --format parquet -o messages.parquet app.pcap
  wirelens query 'DESCRIBE calls' app.pcap               its columns

\b
Tables: messages, quarantine (what did not decode), calls, connections, with the columns of
`wirelens bulk`. --where selects rows of messages and quarantine; SQL selects among all.
The SQL is DuckDB's; it can read no file and change nothing."""


@options.command(EPILOG)
@click.argument("sql", metavar="SQL")
@options.captures
@options.where("messages", "kind=request and method~find, latency>100ms, message.body.arguments[0]=5, TEXT")
@options.style("text", "json", "csv", "parquet")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    sql: str,
    input_options: InputOptions,
    capture_options: CaptureOptions,
    where: tuple[str, ...],
    style: str,
    output_options: OutputOptions,
) -> None:
    """Ask SQL of the messages, calls and connections in INPUT, as tables."""
    check_installed()
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output
    from wirelens.cli.query.database import Database, QueryError
    from wirelens.cli.query.loading import Loading
    from wirelens.cli.query.writing import WRITERS

    if style == "parquet" and output_options.target in (None, "-") and sys.stdout.isatty():
        raise click.UsageError("--format parquet needs -o FILE, or a pipe")
    selection = capture_options.selection(where)
    with Database() as database:
        try:
            database.check(sql)
            inputs = Inputs(input_options, output_options.verbose)
            with Output(output_options, inputs.paths) as output:
                inputs.before_report = output.flush
                loading = Loading(database, inputs, capture_options, selection)
                loading.load()
                WRITERS[style](database, sql, output)
        except QueryError as error:
            raise RefusedError(str(error)) from None
    ctx.exit(2 if inputs.failed else 1 if loading.damaged or inputs.damaged else 0)


def check_installed() -> None:
    """Check that DuckDB and Arrow are installed. Raises RefusedError."""
    from importlib.util import find_spec

    missing = [name for name in ("duckdb", "pyarrow") if find_spec(name) is None]
    if missing:
        from wirelens.cli.version import install_command

        names = " and ".join(missing)
        raise RefusedError(f"wirelens query needs {names}. Install with:  {install_command('query')}")
