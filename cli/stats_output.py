"""Statistics of calls: collected, sorted, and written in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.cli.stderr import warn
from wirelens.codecs.stats import PERCENTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from wirelens.cli.call_reading import CallReading
    from wirelens.cli.output import Output
    from wirelens.codecs import Json
    from wirelens.codecs.stats import Group, Statistics

NAMES: Final = ("calls", "ok", "error", "unanswered", "late", "one_way", "cancelled")
TIMES: Final = (*[f"p{percent}" for percent in PERCENTS], "max", "mean")
SIZES: Final = ("request_bytes", "response_bytes", "resent_bytes")


def collect(reading: CallReading, by: tuple[str, ...]) -> Statistics:
    """Read all calls."""
    from wirelens.codecs.stats import Statistics

    statistics = Statistics(by)
    add = statistics.add
    takes = reading.takes
    if reading.takes_all:
        for calls in reading.batches():
            reading.read += len(calls)
            reading.selected += len(calls)
            statistics.add_all(calls)
        return statistics
    for calls in reading.batches():
        for call in calls:
            if takes(call):
                add(call)
    return statistics


def write(statistics: Statistics, sort: str, style: str, output: Output) -> None:
    """Write the table, and report what it leaves out."""
    WRITERS[style](statistics, ordered(statistics, sort), output)
    if statistics.rest is not None:
        groups = f"{len(statistics.groups):,}"
        calls = f"{int(statistics.rest.calls):,}"
        output.flush()
        warn(f"more than {groups} groups: the {calls} calls of all others are in the row …")


def ordered(statistics: Statistics, sort: str) -> list[Group]:
    """The groups sorted by a column, largest first; those without a value last; then by calls and name."""
    groups = statistics.all_groups()
    if sort == "calls":
        return groups
    if sort == "name":
        return sorted(groups, key=lambda group: group.key)
    if sort in NAMES or sort in SIZES:
        return sorted(groups, key=lambda group: -int(getattr(group, sort)))

    def slowest(group: Group) -> float:
        latencies = group.latencies
        if not latencies.count:
            return 1.0
        if sort == "max":
            return -float(latencies.most)
        if sort == "mean":
            return -latencies.mean_seconds
        return -float(latencies.percentiles((int(sort[1:]),))[0])

    return sorted(groups, key=slowest)


def as_json(by: tuple[str, ...], group: Group) -> dict[str, Json]:
    """A row as JSON: durations in seconds, without what is unknown."""
    row: dict[str, Json] = {name: value for name, value in zip(by, group.key, strict=True) if value}
    row |= {name: int(getattr(group, name)) for name in NAMES}
    latencies = group.latencies
    if latencies.count:
        for name, value in zip(TIMES, latencies.percentiles(PERCENTS), strict=False):
            row[name] = value / 1_000_000
        row["max"] = int(latencies.most) / 1_000_000
        row["mean"] = latencies.mean_seconds
        if not latencies.exact:
            row["exact"] = False
    row |= {name: int(getattr(group, name)) for name in SIZES}
    return row


def write_text(statistics: Statistics, groups: list[Group], output: Output) -> None:
    """A table for people."""
    from wirelens.formatters.stats import table

    output.lines(table(statistics, output.layout, groups))


def write_json(statistics: Statistics, groups: list[Group], output: Output) -> None:
    """An array of rows."""
    from wirelens.codecs import dumps
    from wirelens.formatters.json import array

    for text in array(dumps(as_json(statistics.by, group)) for group in groups):
        output.text(text)


def write_csv(statistics: Statistics, groups: list[Group], output: Output) -> None:
    """Comma-separated values, with a line of names."""
    write_rows(
        [*statistics.by, *NAMES, *TIMES, *SIZES], [as_json(statistics.by, group) for group in groups], output
    )


def write_rows(names: list[str], rows: list[dict[str, Json]], output: Output) -> None:
    """Rows of these members as comma-separated values; what a row has not is empty."""
    from wirelens.cli.csv_text import csv_text

    output.text(csv_text([names, *([row.get(name) for name in names] for row in rows)]))


WRITERS: Final[dict[str, Callable[[Statistics, list[Group], Output], None]]] = {
    "text": write_text,
    "json": write_json,
    "csv": write_csv,
}
