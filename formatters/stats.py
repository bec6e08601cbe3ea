"""Statistics of calls as a table: the columns for which there is room, a bar for each row's latencies."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from wirelens.codecs.numbers import duration
from wirelens.codecs.stats import PERCENTS, REST
from wirelens.codecs.words import clean
from wirelens.formatters import layout as lay
from wirelens.formatters.names import shortened_packages, split_package

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from wirelens.codecs.stats import Group, Statistics
    from wirelens.formatters.layout import Layout, Line

GAP: Final = "  "
NONE: Final = "–"
LEAST_BAR: Final = 12  # cells
MOST_BAR: Final = 40
LEGEND: Final = "┃ half are faster  █ up to 95 %  ● slowest"
WHOLE: Final = "all"
MERGED_VALUES: Final = 500_000  # different latencies of all rows; with more the last row has none

HEADINGS: Final = (
    "calls",
    "ok",
    "error",
    "unanswered",
    "failed",
    "late",
    "one-way",
    "cancelled",
    "p50",
    "p90",
    "p95",
    "p99",
    "max",
    "mean",
    "request",
    "response",
    "resent",
)
IF_ANY: Final = (
    "unanswered",
    "late",
    "one-way",
    "cancelled",
    "resent",
)  # columns that are left out if all is 0
# The width from which a column is shown on a terminal; the others always are.
WIDE: Final = {
    "late": 70,
    "error": 120,
    "unanswered": 120,
    "one-way": 140,
    "cancelled": 120,
    "resent": 140,
    "p99": 140,
    "p90": 160,
    "ok": 160,
    "mean": 160,
    "request": 180,
    "response": 180,
}
MARGIN: Final = "  "  # before numbers below their names
SPARE: Final = ("p50", "p95")  # what is left out, the last one first, where not even names fit
NARROW: Final = ("failed",)  # what stands for errors and unanswered calls below that


def table(statistics: Statistics, layout: Layout, order: Sequence[Group] | None = None) -> list[Line]:
    """The lines of a table: a row for each group, one for all, what the bars mean."""
    groups = list(statistics.all_groups() if order is None else order)
    if not groups:
        return []
    rows = groups
    if len(groups) > 1 and sum(group.latencies.entries for group in groups) <= MERGED_VALUES:
        rows = [*groups, statistics.whole()]
    numbers = [_numbers(group) for group in rows]
    used = _columns(numbers, layout.width)
    widths = [
        max(len(heading), *[len(row[place]) for row in numbers]) for place, heading in enumerate(HEADINGS)
    ]
    while True:
        left = sum([widths[place] + len(GAP) for place in used])
        heads, names, name_widths = _fitting(statistics.by, rows, layout, left)
        left += sum(name_widths) + len(GAP) * len(name_widths)
        spare = [place for place in used if HEADINGS[place] in SPARE]
        if layout.width is None or left - len(GAP) <= layout.width or not spare:
            break
        used.remove(spare[-1])
    below = layout.width is not None and left - len(GAP) > layout.width
    if below and layout.width is not None:  # names have a line of their own, and numbers the next
        used = _columns(numbers, layout.width)
        heads, names, _ = _fitting(statistics.by, rows, layout, 0)
        left = len(MARGIN) + sum([widths[place] + len(GAP) for place in used])
        while left - len(GAP) > layout.width and len(used) > 1:
            spare = [place for place in used if HEADINGS[place] in SPARE] or used
            left -= widths[spare[-1]] + len(GAP)
            used.remove(spare[-1])
    scale = _scale(rows)
    cells = 0
    if layout.width is not None and scale is not None and layout.width - left >= LEAST_BAR:
        cells = min(layout.width - left, MOST_BAR)
    if below:
        lines = list(lay.wrapped("", lay.DIM, GAP.join(heads), layout))
        heading = _heading([], [], used, widths, scale, cells)
        lines.append(layout.fit([(lay.PLAIN, MARGIN), *heading]))
    else:
        lines = [layout.fit(_heading(heads, name_widths, used, widths, scale, cells))]
    for group, parts, row in zip(rows, names, numbers, strict=True):
        line: Line = []
        if below:
            shown = GAP.join([package + last for package, last in parts])
            lines += lay.wrapped("", lay.PLAIN if NONE in shown else lay.WORD, shown, layout)
            line = [(lay.PLAIN, MARGIN)]
        else:
            for (package, last), width in zip(parts, name_widths, strict=True):
                blank = " " * (width - layout.measure(package + last))
                style = lay.PLAIN if last == NONE else lay.WORD
                line += [(lay.TYPE, package), (style, last + blank + GAP)]
        for place in used:
            gap = GAP if cells or place != used[-1] else ""
            line.append((_style(HEADINGS[place], row[place]), f"{row[place]:>{widths[place]}}{gap}"))
        if cells and scale is not None:
            line.append((lay.BAR, _bar(group, scale, cells)))
        lines.append(layout.fit(line))
    if cells:
        lines += lay.wrapped("", lay.DIM, LEGEND, layout)
    return lines


def _columns(numbers: list[list[str]], width: int | None) -> list[int]:
    """The columns that are shown."""
    used: list[int] = []
    for place, heading in enumerate(HEADINGS):
        if heading in IF_ANY and all(row[place] in ("0", NONE) for row in numbers):
            continue
        if heading in NARROW:
            if width is not None and width < WIDE["error"]:
                used.append(place)
        elif width is None or width >= WIDE.get(heading, 0):
            used.append(place)
    return used


def _numbers(group: Group) -> list[str]:
    """The columns of a row."""
    latencies = group.latencies
    times = [NONE] * 6
    if latencies.count:
        sign = "" if latencies.exact else "~"
        found = latencies.percentiles(PERCENTS)
        times = [
            *[sign + duration(value / 1e6) for value in found],
            duration(int(latencies.most) / 1e6),
            duration(latencies.mean_seconds),
        ]
    failed = group.error + group.unanswered
    counts = (
        group.calls,
        group.ok,
        group.error,
        group.unanswered,
        failed,
        group.late,
        group.one_way,
        group.cancelled,
    )
    sizes = (group.request_bytes, group.response_bytes, group.resent_bytes)
    return [*[f"{int(number):,}" for number in counts], *times, *[_size(int(size)) for size in sizes]]


def _size(size: int) -> str:
    """A number of bytes with three digits and a unit."""
    if size < 1000:
        return f"{size} B" if size else "0"
    for unit in ("kB", "MB", "GB", "TB"):
        value = int(size) / 1000
        size = size // 1000
        if value < 999.5 or unit == "TB":
            break
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value:,.0f} {unit}"


def _fitting(
    by: tuple[str, ...], rows: Sequence[Group], layout: Layout, used: int
) -> tuple[list[str], list[list[tuple[str, str]]], list[int]]:
    """Headings, names of rows and their widths, in the longest form that leaves room; `used`: other cells.

    On a terminal with room for a bar, if its names then have packages at least as initials.
    """
    width = layout.width
    forms = (0,) if width is None else (0, 1, 0, 1, 2)
    found: tuple[list[str], list[list[tuple[str, str]]], list[int]] = ([], [], [])
    for turn, form in enumerate(forms):
        heads, names = _joined(by, _names(by, rows, form))
        widths = [
            max(len(head), *[layout.measure("".join(parts[place])) for parts in names])
            for place, head in enumerate(heads)
        ]
        found = heads, names, widths
        bar = LEAST_BAR if turn < 2 else -len(GAP)
        if width is None or used + sum(widths) + len(GAP) * len(widths) + bar <= width:
            break
    return found


def _joined(
    by: tuple[str, ...], names: list[list[tuple[str, str]]]
) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """Service and method in one column, if one follows the other."""
    heads = list(by)
    at = heads.index("service") if "service" in heads else len(heads)
    if heads[at + 1 : at + 2] != ["method"]:
        return heads, names
    joined: list[list[tuple[str, str]]] = []
    for parts in names:
        (package, last), (_, method) = parts[at], parts[at + 1]
        dot = "." if last and method and last != NONE and not method.startswith("/") else ""
        name = method if last == NONE else last + dot + method
        joined.append([*parts[:at], (package, name), *parts[at + 2 :]])
    return [*heads[:at], *heads[at + 1 :]], joined


def _names(by: tuple[str, ...], rows: Sequence[Group], form: int) -> list[list[tuple[str, str]]]:
    """The names of rows as (package, rest): 0 whole, 1 packages as initials, 2 without packages."""
    short: dict[str, str] = {}
    if form == 1:
        services = {
            name
            for group in rows
            for dimension, name in zip(by, group.key, strict=False)
            if dimension in ("service", "exception") and " " not in name
        }
        short = shortened_packages(services)
    found: list[list[tuple[str, str]]] = []
    for group in rows:
        if not group.key:
            found.append([("", WHOLE), *[("", "")] * (len(by) - 1)])
            continue
        parts: list[tuple[str, str]] = []
        for dimension, name in zip(by, group.key, strict=True):
            if dimension in ("service", "exception") and " " not in name and name != REST:
                package, last = split_package(short.get(name, name))
                if not last[:1].isalpha() or ":" in name:  # an address, rather than a class
                    package, last = "", name
                parts.append(("" if form == 2 else clean(package), clean(last) or NONE))
            else:
                parts.append(("", clean(name) or NONE))
        found.append(parts)
    return found


def _style(heading: str, text: str) -> str:
    if text in ("0", NONE):
        return lay.DIM
    if heading in ("error", "unanswered", "failed"):
        return lay.ERROR
    if heading == "late":
        return lay.NOTE
    return lay.NUMBER if heading in ("p50", "p90", "p95", "p99", "max", "mean") else lay.PLAIN


def _heading(
    heads: list[str],
    name_widths: list[int],
    used: list[int],
    widths: list[int],
    scale: tuple[int, int] | None,
    cells: int,
) -> Line:
    text = "".join([f"{name:<{width}}{GAP}" for name, width in zip(heads, name_widths, strict=True)])
    text += "".join([f"{HEADINGS[place]:>{widths[place]}}{GAP}" for place in used])
    if cells and scale is not None:
        first, last = (_decade(10**exponent) for exponent in scale)
        text += first + last.rjust(cells - len(first))
    return [(lay.DIM, text.rstrip())]


def _decade(microseconds: int) -> str:
    """A power of ten: `100 µs`, `10 s`."""
    for unit, size in (("s", 1_000_000), ("ms", 1000)):
        if microseconds >= size:
            return f"{microseconds // size:,} {unit}"
    return f"{microseconds} µs"


def _scale(rows: Sequence[Group]) -> tuple[int, int] | None:
    """The decades that occur, as exponents of ten of microseconds."""
    times = [group.latencies for group in rows if group.latencies.count]
    if not times:
        return None
    first = floor(log10(max(1, min(int(one.least) for one in times))))
    last = ceil(log10(max(1, *[int(one.most) for one in times])))
    return first, max(last, first + 1)


def _bar(group: Group, scale: tuple[int, int], cells: int) -> str:
    """`   ──────┃███●`: from the fastest to the slowest, on a logarithmic scale."""
    latencies = group.latencies
    if not latencies.count:
        return ""
    middle, high = latencies.percentiles((50, 95))
    first, last = scale

    def place(microseconds: int) -> int:
        share = (log10(max(1, microseconds)) - first) / (last - first)
        return min(cells - 1, max(0, round(share * (cells - 1))))

    drawn = [" "] * cells
    for cell in range(place(int(latencies.least)), place(int(latencies.most)) + 1):
        drawn[cell] = "─"
    for cell in range(place(middle), place(high) + 1):
        drawn[cell] = "█"
    drawn[place(middle)] = "┃"
    drawn[place(int(latencies.most))] = "●"
    return "".join(drawn).rstrip()
