"""The summary: one line a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs.numbers import time_text
from wirelens.formatters import layout as lay
from wirelens.formatters.layout import Layout, clean

if TYPE_CHECKING:
    from typing import Final

    from wirelens.codecs import Record
    from wirelens.formatters.layout import Line

NARROW: Final = 110  # cells below which a line of a capture leaves out what is the same nearly always


def summary(record: Record, layout: Layout) -> Line:
    """Where the message stands (file and offset, or time and flow), its protocol, and what it says."""
    narrow = layout.width is not None and layout.width < NARROW
    flow = origin(record, narrow)
    line = flow or [*_file(record), (lay.DIM, f"{record.offset:>8}  ")]
    if not narrow or not flow:
        line.append((lay.PROTOCOL, f"{record.protocol:<10}  "))
    damaged = record.error is not None
    said = clean(record.summary)
    tail: Line = []
    if not damaged:
        if record.damaged and record.tape is not None:
            tail.append((lay.ERROR, f"  {lay.count(len(record.tape.faults), 'error')} inside"))
        kind = record.kind
        if kind.lower() not in said.lower() and not (record.codec is not None and record.codec.says_kind):
            said = f"{kind} {said}"
    if record.notes:
        tail.append((lay.NOTE, "  " + ", ".join(dict.fromkeys(note.code for note in record.notes))))
    latency = _latency(record)
    if latency:
        tail.append((lay.NUMBER, f"  {latency}"))
    short = layout.cut(said, layout.room(layout.cells(line) + layout.cells(tail) + 1))
    line.append((lay.ERROR if damaged else lay.SUMMARY, short if len(short) == len(said) else short + "…"))
    return line + tail


def origin(record: Record, narrow: bool = False) -> Line:
    """Time and flow of a message from a capture; empty for others. `narrow`: no day and no transport."""
    found = record.origin
    if found is None or not found.place.flow:
        return []
    time, flow = time_text(found.time_us) if found.time_us else "", clean(found.place.flow)
    if narrow:
        time, flow = time[time.find("T") + 1 :], flow.partition(" ")[2]
    return [(lay.DIM, f"{time}  " if time else ""), (lay.HEADING, flow), (lay.PLAIN, "  ")]


def _file(record: Record) -> Line:
    """The file of a message that is of one of several, and of no capture."""
    found = record.origin
    return [] if found is None or not found.place.file else [(lay.HEADING, clean(found.place.file) + " ")]


def _latency(record: Record) -> str:
    """The time between request and reply, where the record says it in seconds."""
    found = record.origin
    return "" if found is None or found.latency_us < 0 else duration(found.latency_us / 1_000_000)


def duration(seconds: float) -> str:
    """A duration in its unit, with three digits."""
    factor, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    value = seconds * factor
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def heading(record: Record, layout: Layout) -> Line:
    """What stands above a message where the input is a capture or one of several files."""
    found = record.origin
    if found is None:
        return []
    if not found.place.flow:
        return [(lay.HEADING, clean(found.place.file))]
    line = origin(record)
    packets = found.packets
    if packets:
        numbers = ", ".join([str(number) for number in packets[:8]])
        line.append((lay.DIM, f"packet {numbers}{', …' if len(packets) > 8 else ''}"))
    latency = _latency(record)
    if latency:
        line.append((lay.NUMBER, f"  after {latency}"))
    if layout.width is not None and layout.cells(line) > layout.width:
        style, time = line[0]
        line[0] = (style, time[time.find("T") + 1 :])  # the day is the same nearly always
    return line
