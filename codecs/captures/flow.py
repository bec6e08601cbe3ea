"""What the streams of a capture are given out as: flows, their directions, and pieces of their bytes."""

from typing import Any, Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.captures.transmission import History
from wirelens.codecs.codes import Note
from wirelens.codecs.words import count

State = tuple[Any, ...]  # what `save` gives and `load` takes: nested tuples of numbers, text and bytes

Part = tuple[int, int, tuple[int, ...]]  # of a late piece
NO_NOTES: Final[tuple[Note, ...]] = ()
NO_PARTS: Final[tuple[Part, ...]] = ()


class Direction:
    """One side's bytes: always counted, kept only by `flows`.

    `length`: bytes of the stream with its gaps. `gap_bytes` and `gap_count`: what is missing. `segments`:
    packets with or without payload. `retransmitted`: bytes that came again and were equal; `late`: those of
    late pieces. `first_us`, `last_us`: times of the first and the last packet in microseconds, or -1.
    `data`: the bytes present, in order; `gaps`: (stream offset, bytes) of those missing. `sequence`: TCP
    sequence number of the first byte (so far, while the start is not known), -1 while unknown. `unanswered`:
    requests that this side sent and that have no reply so far; `orphaned`: replies that it sent to no known
    request (`Conversations` counts both). `history`: how its bytes were transmitted, if the assembler was
    asked for it (`Assembler.observe`).
    """

    __slots__ = (
        "_gaps",
        "_parts",
        "first_us",
        "gap_bytes",
        "gap_count",
        "history",
        "last_us",
        "late",
        "length",
        "orphaned",
        "retransmitted",
        "segments",
        "sequence",
        "unanswered",
    )

    def __init__(self) -> None:
        self.length: int = 0
        self.gap_bytes: int = 0
        self.gap_count: int = 0
        self.segments: int = 0
        self.retransmitted: int = 0
        self.late: int = 0
        self.first_us: int = -1
        self.last_us: int = -1
        self.sequence: int = -1
        self.unanswered: int = 0
        self.orphaned: int = 0
        self.history: History | None = None
        self._gaps: list[tuple[int, int]] | None = None
        self._parts: list[bytes] | None = None

    @property
    def data(self) -> bytes:
        """The bytes kept, without those of gaps."""
        parts = self._parts
        if parts is None:
            return b""
        if len(parts) > 1:
            parts[:] = [b"".join(parts)]
        return parts[0]

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The gaps before pieces, as (stream offset, size), in bytes."""
        gaps = self._gaps
        return [] if gaps is None else gaps

    def observed(self, logs: bool) -> History:
        """Its history, which begins now if it has none."""
        history = self.history
        if history is None:
            history = self.history = History(logs)
        return history

    def forget_history(self) -> None:
        """Drop its history, unless people look at its log."""
        history = self.history
        if history is not None and not history.logs:
            self.history = None

    def save(self) -> State:
        """The counters as plain values."""
        return (
            self.length,
            self.gap_bytes,
            self.gap_count,
            self.segments,
            self.retransmitted,
            self.first_us,
            self.last_us,
            self.sequence,
            self.unanswered,
            self.orphaned,
            self.late,
        )

    def load(self, state: State) -> None:
        """Continue with the counters that `save` gave."""
        self.length, self.gap_bytes, self.gap_count, self.segments = state[:4]
        self.retransmitted, self.first_us, self.last_us = state[4:7]
        self.sequence, self.unanswered, self.orphaned, self.late = state[7:]

    def keep(self, offset: int, data: bytes, gap: int) -> None:
        """Keep a piece's bytes at a stream offset, and the size of the gap before them."""
        if gap:
            if self._gaps is None:
                self._gaps = []
            self._gaps.append((offset - gap, gap))
        if data:
            if self._parts is None:
                self._parts = []
            self._parts.append(data)


class Flow:
    """One conversation.

    `number`: from 1, in order of appearance. `transport`: "tcp" or "udp". `directions[d]` are the bytes that
    `endpoint(d)` sent; 0 is the side that sent the SYN, or without a SYN the first packet. `syn`: whether the
    start was seen. `packet`: the number of the packet with the first payload, -1 before it; `opened`: that of
    its first packet. `first_us`, `last_us`: microseconds since 1970.
    """

    __slots__ = (
        "directions",
        "first_us",
        "hosts",
        "last_us",
        "number",
        "opened",
        "packet",
        "ports",
        "syn",
        "transport",
    )

    def __init__(
        self, number: int, transport: str, hosts: tuple[bytes, bytes], ports: tuple[int, int]
    ) -> None:
        self.number: int = number
        self.transport: str = transport
        self.hosts: tuple[bytes, bytes] = hosts
        self.ports: tuple[int, int] = ports
        self.syn: bool = False
        self.packet: int = -1
        self.opened: int = 0
        self.first_us: int = -1
        self.last_us: int = -1
        self.directions: tuple[Direction, Direction] = (Direction(), Direction())

    def sent_by(self, direction: i64) -> Direction:
        """One of `directions`; an index that is not constant would make an object of the pair each time."""
        return self.directions[1] if direction else self.directions[0]

    def count(self, direction: i64, time_us: int) -> None:
        """Count a segment of a direction, and its time."""
        side = self.sent_by(direction)
        side.segments += 1
        if time_us > self.last_us:
            self.last_us = time_us
        if time_us < self.first_us:
            self.first_us = time_us
        if time_us > side.last_us:
            side.last_us = time_us
        if side.first_us < 0 or time_us < side.first_us:
            side.first_us = time_us

    def __repr__(self) -> str:
        return f"<Flow {self.number} {self.transport} {self.endpoint(0)} > {self.endpoint(1)}>"

    def save(self) -> State:
        """The flow and its counters as plain values, without `data` and `gaps`."""
        return (
            (self.number, self.transport, self.hosts, self.ports),
            (self.syn, self.packet, self.opened, self.first_us, self.last_us),
            tuple([direction.save() for direction in self.directions]),
        )

    @staticmethod
    def load(state: State) -> "Flow":
        """The flow that `save` gave."""
        (number, transport, hosts, ports), numbers, directions = state
        flow = Flow(number, transport, (hosts[0], hosts[1]), (ports[0], ports[1]))
        flow.syn, flow.packet, flow.opened, flow.first_us, flow.last_us = numbers
        flow.directions[0].load(directions[0])
        flow.directions[1].load(directions[1])
        return flow

    def address(self, direction: int) -> str:
        """The address of a side as text."""
        host = self.hosts[direction]
        if len(host) == 4:
            return f"{host[0]}.{host[1]}.{host[2]}.{host[3]}"
        from socket import AF_INET6, inet_ntop  # slow to import, and not always needed

        return inet_ntop(AF_INET6, host)

    def endpoint(self, direction: int) -> str:
        """Address and port of a side as text."""
        text = self.address(direction)
        return f"[{text}]:{self.ports[direction]}" if ":" in text else f"{text}:{self.ports[direction]}"


@mypyc_attr(acyclic=True)
class Piece:
    """Some bytes of a stream, in order; for UDP one datagram.

    `direction`: 0 or 1. `offset`: of `data` in the stream, gaps counted. `time_us`: of the packet they came
    in; `packets`: its number, several if it was fragmented. `gap`: number of bytes missing before `data`.
    `end`: "", or why the stream ends after these bytes ("fin", "reset", "reuse", "silent", "limit", "close");
    each direction ends once. `notes`: their offsets are stream offsets. `complete_us`: when the stream was
    complete up to the end of the piece: `time_us`, or the later time of the packet that filled a hole.
    `acked`: the acknowledgment number that came with them, `opposite`: the sequence number of the first byte
    of the other side that had come, -1 if unknown.

    `late`: "", or what the bytes are that came after the stream had moved on: "missed" if they were given up
    as missing, "different" from those that were given out at their place, "old" if those are no longer kept
    to be compared. `parts` then has their packets: (end in the stream, time, packet numbers) of each.
    """

    __slots__ = (
        "acked",
        "complete_us",
        "data",
        "direction",
        "end",
        "flow",
        "gap",
        "late",
        "notes",
        "offset",
        "opposite",
        "packets",
        "parts",
        "time_us",
    )

    def __init__(
        self,
        flow: Flow,
        direction: int,
        offset: int,
        data: bytes,
        time_us: int,
        packets: tuple[int, ...],
        gap: int,
        notes: tuple[Note, ...],
        end: str,
        complete_us: int = -1,
        acked: int = -1,
        opposite: int = -1,
        late: str = "",
        parts: tuple[Part, ...] = NO_PARTS,
    ) -> None:
        self.flow: Flow = flow
        self.direction: int = direction
        self.offset: int = offset
        self.data: bytes = data
        self.time_us: int = time_us
        self.packets: tuple[int, ...] = packets
        self.gap: int = gap
        self.notes: tuple[Note, ...] = notes
        self.end: str = end
        self.complete_us: int = time_us if complete_us < 0 else complete_us
        self.acked: int = acked
        self.opposite: int = opposite
        self.late: str = late
        self.parts: tuple[Part, ...] = parts

    def __repr__(self) -> str:
        size = count(len(self.data), "byte")
        gap = f", {count(self.gap, 'byte')} missing before" if self.gap else ""
        end = f", ends: {self.end}" if self.end else ""
        place = f"flow {self.flow.number} {'client' if self.direction == 0 else 'server'}"
        return f"<Piece {place} at {self.offset}, {size}{gap}{end}>"

    def save(self) -> State:
        """The piece as plain values, without its flow and direction."""
        notes = tuple([tuple(note) for note in self.notes])
        times = (self.time_us, self.complete_us, self.acked, self.opposite)
        late = (self.late, self.parts)
        return (self.offset, self.data, times, self.packets, self.gap, notes, self.end, late)

    @staticmethod
    def load(flow: Flow, direction: int, state: State) -> "Piece":
        """The piece that `save` gave, of a flow and direction."""
        offset, data, (time_us, complete_us, acked, opposite), packets, gap, saved, end, late = state
        notes = tuple([Note(code, position, text) for code, position, text in saved])
        return Piece(
            flow,
            direction,
            offset,
            data,
            time_us,
            tuple(packets),
            gap,
            notes,
            end,
            complete_us,
            acked,
            opposite,
            late[0],
            tuple([(part[0], part[1], tuple(part[2])) for part in late[1]]),
        )
