"""One call: its request and its replies as trees, and between them what happened on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs.captures.packets import FIN, PSH, RST, SYN
from wirelens.codecs.captures.pcap import NUMBER_MASK
from wirelens.codecs.numbers import duration, time_text
from wirelens.codecs.words import clean, count
from wirelens.formatters import layout as lay
from wirelens.formatters.calls import detail, latency, name_of, outcome
from wirelens.formatters.tree import tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.codecs.call import Call
    from wirelens.codecs.captures.transmission import Sighting
    from wirelens.codecs.conversations import Message
    from wirelens.formatters.layout import Layout, Line

SHOWN: Final = 40  # segments between request and reply; of more, the middle is left out
FLAGS: Final = ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST"), (PSH, "PSH"))
REMARKS: Final = {
    "again": "sent again",
    "late": "late: its first copy was lost or not captured",
    "acknowledged": "needless: it had been acknowledged",
    "captured twice": "captured twice",
    "keep-alive": "keep-alive",
}


def call_view(call: Call, layout: Layout) -> Iterator[Line]:
    """The lines of a call that has its messages."""
    yield from _heading(call, layout)
    requests = [one for one in call.messages if one.exchange is not None and one.exchange.role != "reply"]
    replies = [one for one in call.messages if one.exchange is not None and one.exchange.role == "reply"]
    for message in requests:
        yield []
        yield from lay.after_title(lay.HEADING, "request", _place(message), layout)
        yield from map(layout.fit, tree(message.record, layout))
    wire = segments(call, requests, replies)
    if wire:
        yield []
        ends: Line = [(lay.DIM, f"{call.client} > {call.server}")]
        yield from lay.after_title(lay.HEADING, "on the wire", ends, layout)
        for line in wire:
            yield from _folded(line, layout)
    for message in replies:
        yield []
        after = "" if message.latency_us is None else f"  after {duration(message.latency_us / 1e6)}"
        place: Line = [*_place(message), (lay.NUMBER, after)]
        yield from lay.after_title(lay.HEADING, "reply", place, layout)
        yield from map(layout.fit, tree(message.record, layout))
    if not replies:
        yield []
        waited = "" if call.waited_us is None else f", waited for {duration(call.waited_us / 1e6)}"
        yield from lay.wrapped("", lay.ERROR if waited else lay.DIM, f"no reply{waited}", layout)


def _heading(call: Call, layout: Layout) -> Iterator[Line]:
    name = clean(name_of(call)) or call.protocol
    came: Line = [*outcome(call), (lay.PLAIN, "  "), latency(call)]
    title: Line = [(lay.DIM, f"call {call.call}  "), (lay.WORD, name), (lay.PLAIN, "  "), *came]
    if layout.limit is None or layout.cells(title) <= layout.limit:
        yield title
    else:
        yield from lay.after_title(lay.WORD, f"call {call.call}  {name}", came, layout)
    text = detail(call)
    if text:
        yield from lay.wrapped("", lay.ERROR if call.outcome == "error" else lay.NOTE, text, layout)
    parts = [f"{call.protocol}, flow {call.flow}: {call.client} > {call.server}"]
    if call.id:
        parts.append(f"id {clean(call.id)}")
    if call.trace:
        parts.append(f"trace {clean(call.trace)}")
    if call.file:
        parts.append(clean(call.file))
    if call.open_calls:
        parts.append(f"{count(call.open_calls, 'other call')} open on the connection")
    if call.resent_bytes:
        parts.append(f"{count(call.resent_bytes, 'byte')} sent again")
    yield from lay.wrapped("", lay.DIM, ", ".join(parts), layout)


def _place(message: Message) -> Line:
    packets = message.packets
    numbers = ", ".join([str(number & NUMBER_MASK) for number in packets[:8]])
    more = ", …" if len(packets) > 8 else ""
    size = count(message.record.length, "byte")
    return [(lay.DIM, f"{time_text(message.time_us)}  {size}, packet {numbers}{more}")]


def _folded(line: Line, layout: Layout) -> Iterator[Line]:
    """A segment's line; its remark follows where there is no room."""
    if layout.limit is None or layout.cells(line) <= layout.limit or line[-1][0] != lay.NOTE:
        yield layout.fit(line)
        return
    yield layout.fit(line[:-1])
    yield from lay.wrapped("  ↳ ", lay.NOTE, line[-1][1].strip(), layout)


def segments(call: Call, requests: list[Message], replies: list[Message]) -> list[Line]:
    """The segments from the request's first to the reply's last, with what was sent again and lost."""
    if not requests:
        return []
    flow = requests[0].flow
    seen: list[tuple[Sighting, int]] = []
    for direction, side in enumerate(flow.directions):
        if side.history is not None:
            seen += [(one, direction) for one in side.history.log]
    if not seen:
        return []
    seen.sort(key=lambda entry: entry[0].order)
    packets = [number for message in (*requests, *replies) for number in message.packets]
    orders = [one.order for one, _ in seen if one.packet in packets]
    if not orders:
        return []
    first = min(orders)
    last = max(orders) if replies else seen[-1][0].order
    between = [(one, direction) for one, direction in seen if first <= one.order <= last]
    bases = [side.sequence for side in flow.directions]
    start_us = between[0][0].time_us
    lines = [_segment(one, direction, call.direction, bases, start_us, packets) for one, direction in between]
    if len(lines) > SHOWN:
        left_out = len(lines) - SHOWN
        lines[SHOWN // 2 : len(lines) - SHOWN // 2] = [
            [(lay.DIM, f"{'':>12}… {count(left_out, 'more segment')}")]
        ]
    return lines


def _segment(
    one: Sighting, direction: int, asking: int, bases: list[int], start_us: int, packets: list[int]
) -> Line:
    """`    +1.23 ms  > packet 14  190 bytes at 1,204  sent again`."""
    arrow = ">" if direction == asking else "<"
    after = duration((one.time_us - start_us) / 1e6) if one.time_us >= start_us else "before"
    flags = [name for bit, name in FLAGS if one.flags & bit and name != "PSH"]
    if one.length:
        base = bases[direction]
        place = f" at {(one.sequence - base) & 0xFFFFFFFF:,}" if base >= 0 else ""
        flags.append(f"{count(one.length, 'byte')}{place}")
    elif not flags:
        flags.append("acknowledgment")
    style = lay.PLAIN if one.packet in packets else lay.DIM
    line: Line = [
        (lay.NUMBER, f"{'+' + after:>12}"),
        (style, f"  {arrow} packet {one.packet & NUMBER_MASK}  {' '.join(flags)}"),
    ]
    if one.acknowledgement >= 0 and not one.length and bases[1 - direction] >= 0:
        line.append((lay.DIM, f" of {(one.acknowledgement - bases[1 - direction]) & 0xFFFFFFFF:,}"))
    if one.remark:
        line.append((lay.NOTE, f"  {REMARKS.get(one.remark, one.remark)}"))
    return line
