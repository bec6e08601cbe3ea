"""`wirelens stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.stats_output import NAMES, SIZES, TIMES, collect, write
from wirelens.codecs.stats import DIMENSIONS

if TYPE_CHECKING:
    from typing import Any, Final

    from wirelens.cli.input_options import CaptureOptions, InputOptions, OutputOptions

EPILOG: Final = """\b
Examples:
  wirelens stats app.pcap
  wirelens stats --by server,outcome --sort p99 app.pcap
  wirelens stats --by minute --format csv captures/
  wirelens stats --where 'service~Order' --sizes app.pcap   which fields carry the bytes
  tcpdump -U -w - --immediate-mode port 20880 | wirelens stats --every 5s -

\b
Percentiles are those of the latencies of all answered calls, errors too: the value of rank ⌈q·n/100⌉.
With more than a million calls of too many different latencies they are within 0.5 % (~)."""

LEAST_EVERY_US: Final = 100_000


class Dimensions(options.Parameter):
    """What calls are grouped by: names, separated by commas."""

    name = "dimensions"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The names as a tuple."""
        if isinstance(value, tuple):
            return value
        names = tuple([name.strip() for name in value.split(",")])
        for name in names:
            if name not in DIMENSIONS:
                self.fail(f"{name!r} is not one of {', '.join(DIMENSIONS)}", param, ctx)
        return names


class Every(options.Parameter):
    """A time between tables, in microseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The microseconds."""
        if isinstance(value, int):
            return value
        from wirelens.cli.where.values import duration

        found = duration(value)
        if found is None:
            self.fail(f"{value!r} is not a duration; as 500ms, 5s, 1min", param, ctx)
        if found.first < LEAST_EVERY_US:
            self.fail("at least 100ms", param, ctx)
        return found.first


def _dimensions(_ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    """What completes the last of the names."""
    before, comma, last = typed.rpartition(",")
    return [f"{before}{comma}{name}" for name in DIMENSIONS if name.startswith(last)]


@options.command(EPILOG)
@options.captures
@options.where("calls", "service~Order, outcome=error, latency>100ms, TEXT")
@options.option(
    "--by",
    multiple=True,
    type=Dimensions(),
    shell_complete=_dimensions,
    metavar="NAME[,NAME]...",
    help=f"Group by these: {', '.join(DIMENSIONS)}; by service and method if not given.",
)
@options.option(
    "--sort",
    type=click.Choice((*NAMES, *TIMES, *SIZES, "name")),
    default="calls",
    metavar="COLUMN",
    help=f"The column to sort by, largest first: {', '.join((*NAMES, *TIMES, *SIZES))}; or name, in order. "
    "Default: calls.",
)
@options.option(
    "--every",
    "every_us",
    type=Every(),
    metavar="DURATION",
    help="Of a pipe: show the table each time this has passed, as 5s.",
)
@options.option("--sizes", is_flag=True, help="Show which fields of the messages carry the bytes.")
@options.style("text", "json", "csv")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    input_options: InputOptions,
    capture_options: CaptureOptions,
    where: tuple[str, ...],
    by: tuple[tuple[str, ...], ...],
    sort: str,
    every_us: int | None,
    sizes: bool,
    style: str,
    output_options: OutputOptions,
) -> None:
    """Show statistics of the calls in captures: outcomes, latencies, bytes, in groups."""
    from wirelens.cli.call_reading import CallReading
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.output import Output
    from wirelens.cli.select import call_filter
    from wirelens.codecs.calls import ALL_CALLS

    protocol, merge_options = capture_options.protocol, capture_options.merge_options
    names = tuple(dict.fromkeys(name for group in by for name in group)) or ("service", "method")
    selected = call_filter(where)
    if every_us is not None and (style == "csv" or sizes):
        raise click.UsageError(f"--every shows tables: not with {'--sizes' if sizes else '--format csv'}")
    inputs = Inputs(input_options, output_options.verbose)
    if every_us is not None and (inputs.texts or not all(_is_pipe(path) for path in inputs.paths)):
        raise click.UsageError("--every is for a pipe: give - as the input")
    reading = CallReading(
        inputs, merge_options, protocol, capture_options.selecting(), ALL_CALLS if sizes else 0
    )
    if selected is not None:
        reading.select(selected)
    with Output(output_options, inputs.paths) as output:
        reading.progress = not output.terminal or every_us is None
        inputs.before_report = output.flush
        if sizes:
            from wirelens.cli.sizes import write_sizes

            write_sizes(reading, names, style, output)
        elif every_us is not None:
            from wirelens.cli.repeating import Repeating

            Repeating(reading, names, sort, style, output).run(every_us)
        else:
            write(collect(reading, names), sort, style, output)
    reading.report()
    ctx.exit(2 if inputs.failed else 1 if reading.damaged or inputs.damaged else 0)


def _is_pipe(path: str) -> bool:
    """Whether a path can be read only once."""
    import os

    return path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))
