"""The summary view: one line per message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs.numbers import time_text
from wirelens.codecs.words import clean, count, shortened
from wirelens.formatters import layout as lay
from wirelens.formatters.layout import Layout

if TYPE_CHECKING:
    from typing import Final

    from wirelens.codecs import Record
    from wirelens.formatters.layout import Line

NARROW: Final = 110  # cells below which lines of a capture leave out day, transport and protocol


def summary(record: Record, layout: Layout) -> Line:
    """The message's place (file and offset, or time and flow), protocol and summary."""
    narrow = layout.width is not None and layout.width < NARROW
    flow = origin(record, narrow)
    line = flow or [*_file(record), (lay.DIM, f"{record.offset:>8}  ")]
    if not narrow or not flow:
        line.append((lay.PROTOCOL, f"{record.protocol:<10}  "))
    damaged = record.error is not None
    text = shortened(clean(record.summary))
    tail: Line = []
    if not damaged:
        if record.damaged and record.tape is not None:
            tail.append((lay.ERROR, f"  {count(len(record.tape.faults), 'error')} inside"))
        kind = record.kind
        codec = record.codec
        if kind.lower() not in text.lower() and (codec is None or not codec.summary_has_kind):
            text = f"{kind} {text}"
    if record.notes:
        tail.append((lay.NOTE, "  " + ", ".join(dict.fromkeys(note.code for note in record.notes))))
    latency = _latency(record)
    if latency:
        tail.append((lay.NUMBER, f"  {latency}"))
    start = layout.cut(text, layout.room(layout.cells(line) + layout.cells(tail) + 1))
    line.append((lay.ERROR if damaged else lay.SUMMARY, start if len(start) == len(text) else start + "…"))
    return line + tail


def origin(record: Record, narrow: bool = False) -> Line:
    """Time and flow of a message from a capture; empty for others. `narrow` leaves out day and transport."""
    source = record.origin
    if source is None or not source.place.flow:
        return []
    time, flow = time_text(source.time_us) if source.time_us else "", clean(source.place.flow)
    if narrow:
        time, flow = time[time.find("T") + 1 :], flow.partition(" ")[2]
    return [(lay.DIM, f"{time}  " if time else ""), (lay.HEADING, flow), (lay.PLAIN, "  ")]


def _file(record: Record) -> Line:
    """The file of a message that is from one of several files and not from a capture."""
    source = record.origin
    return [] if source is None or not source.place.file else [(lay.HEADING, clean(source.place.file) + " ")]


def _latency(record: Record) -> str:
    """The time between request and reply; empty if unknown."""
    source = record.origin
    return "" if source is None or source.latency_us < 0 else duration(source.latency_us / 1_000_000)


def duration(seconds: float) -> str:
    """A duration in s, ms or µs with three significant digits."""
    factor, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    value = seconds * factor
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def heading(record: Record, layout: Layout) -> Line:
    """The line above a message from a capture or from one of several files: its place; empty for others."""
    source = record.origin
    if source is None:
        return []
    if not source.place.flow:
        return [(lay.HEADING, clean(source.place.file))]
    line = origin(record)
    packets = source.packets
    if packets:
        numbers = ", ".join([str(number) for number in packets[:8]])
        line.append((lay.DIM, f"packet {numbers}{', …' if len(packets) > 8 else ''}"))
    latency = _latency(record)
    if latency:
        line.append((lay.NUMBER, f"  after {latency}"))
    if layout.width is not None and layout.cells(line) > layout.width:
        style, time = line[0]
        line[0] = (style, time[time.find("T") + 1 :])  # nearly always the same day
    return line
