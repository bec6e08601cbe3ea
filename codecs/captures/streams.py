"""From segments to streams: TCP put in order by sequence number, UDP as it comes.

`Assembler.extend` takes segments in the order of the capture and gives pieces as soon as they are in order.
Memory is bounded by the constants below: what waits too long, or too much, is given up, and a gap is said.
Source: RFC 9293 (sequence numbers section 3.4, RST 3.5.3); RFC 7413 for data on a SYN.
"""

from bisect import bisect_right
from typing import Any, Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.captures.packets import ACK, FIN, RST, SYN, TCP, Segment
from wirelens.codecs.codes import Note

STREAM_WAITING: Final = 1 << 22
"""So many bytes of one stream may wait for missing ones."""
ALL_WAITING: Final = 1 << 26
"""So many bytes of all streams may wait; the stream that waits longest is given up first."""
WAITING_COST: Final = 200
"""What a waiting segment counts beside its bytes."""
FLOWS: Final = 1 << 15
"""So many flows may be open; then the quarter that was silent longest is ended."""
CLOSED_FLOWS: Final = 1 << 13
"""So many finished flows are remembered, to know late repetitions."""
HISTORY: Final = 1 << 23
"""So many delivered bytes, of all streams, are kept to compare repetitions with."""
JOIN_SEGMENTS: Final = 8
"""A stream whose start was missed begins after this many segments with new bytes, or when acknowledged."""
JOIN_DISTANCE: Final = 1 << 20
"""A SYN whose number lies at most so far before the first bytes belongs to them."""
GAP_TIME_US: Final = 1_000_000
"""Missing bytes that the other side confirmed are given up after this time, in microseconds."""
SILENT_TIME_US: Final = 10_000_000
"""The same where nothing is heard from the other side."""
OUT_OF_STEP: Final = 1 << 28
"""Bytes that lie so far behind are no repetition but another connection."""
RESET_DISTANCE: Final = 1 << 20
"""A reset counts if its number lies so close to what is expected."""
OVER_TIME_US: Final = 24 * 3600 * 1_000_000
"""A flow that was silent for longer, in microseconds of capture time, is over; what comes is another."""

_MODULUS: Final = 1 << 32
_HALF: Final = 1 << 31
_NO_NOTES: Final[tuple[Note, ...]] = ()


State = tuple[Any, ...]  # what `save` gives and `load` takes: nested tuples of numbers, text and bytes


class Direction:
    """One side's bytes: counted always, kept only by `flows`.

    length: bytes of the stream, gaps included. gap_bytes and gap_count: what is missing. segments: packets
    with or without payload. retransmitted: bytes that came again. first_us, last_us: microseconds of the
    first and the last packet, -1 without one. data: the bytes present, in order; gaps: (stream offset,
    bytes) of what is missing.
    """

    __slots__ = (
        "_gaps",
        "_parts",
        "first_us",
        "gap_bytes",
        "gap_count",
        "last_us",
        "length",
        "retransmitted",
        "segments",
    )

    def __init__(self) -> None:
        self.length: int = 0
        self.gap_bytes: int = 0
        self.gap_count: int = 0
        self.segments: int = 0
        self.retransmitted: int = 0
        self.first_us: int = -1
        self.last_us: int = -1
        self._gaps: list[tuple[int, int]] | None = None
        self._parts: list[bytes] | None = None

    @property
    def data(self) -> bytes:
        parts = self._parts
        if parts is None:
            return b""
        if len(parts) > 1:
            parts[:] = [b"".join(parts)]
        return parts[0]

    @property
    def gaps(self) -> list[tuple[int, int]]:
        gaps = self._gaps
        return [] if gaps is None else gaps

    def save(self) -> State:
        return (
            self.length,
            self.gap_bytes,
            self.gap_count,
            self.segments,
            self.retransmitted,
            self.first_us,
            self.last_us,
        )

    def load(self, state: State) -> None:
        self.length, self.gap_bytes, self.gap_count, self.segments = state[:4]
        self.retransmitted, self.first_us, self.last_us = state[4:]

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

    number: from 1, in order of appearance. transport: "tcp" or "udp". directions[d] are the bytes that
    endpoint(d) sent; 0 is the side that sent the SYN, without one the side of the first packet. syn:
    whether the start was seen. packet: the number of the one that gave the first bytes, -1 before there are
    any. first_us, last_us: microseconds since 1970.
    """

    __slots__ = (
        "directions",
        "first_us",
        "hosts",
        "last_us",
        "number",
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
        self.first_us: int = -1
        self.last_us: int = -1
        self.directions: tuple[Direction, Direction] = (Direction(), Direction())

    def save(self) -> State:
        """The flow and its counters as plain values, without `data` and `gaps`."""
        return (
            (self.number, self.transport, self.hosts, self.ports),
            (self.syn, self.packet, self.first_us, self.last_us),
            tuple([direction.save() for direction in self.directions]),
        )

    @staticmethod
    def load(state: State) -> "Flow":
        (number, transport, hosts, ports), numbers, directions = state
        flow = Flow(number, transport, (hosts[0], hosts[1]), (ports[0], ports[1]))
        flow.syn, flow.packet, flow.first_us, flow.last_us = numbers
        flow.directions[0].load(directions[0])
        flow.directions[1].load(directions[1])
        return flow

    def address(self, direction: int) -> str:
        """The address of a side as text."""
        from socket import AF_INET, AF_INET6, inet_ntop  # slow to import, and not always needed

        host = self.hosts[direction]
        return inet_ntop(AF_INET if len(host) == 4 else AF_INET6, host)

    def endpoint(self, direction: int) -> str:
        """Address and port of a side as text."""
        text = self.address(direction)
        return f"[{text}]:{self.ports[direction]}" if ":" in text else f"{text}:{self.ports[direction]}"


@mypyc_attr(acyclic=True)
class Piece:
    """Some bytes of a stream, in order; for UDP one datagram.

    direction: 0 or 1. offset: of data in the stream (gaps counted). time_us: of the packet they came in;
    packets: its number, several if it was fragmented. gap: so many bytes are missing before data. end: ""
    or why the stream ends behind these bytes ("fin", "reset", "reuse", "silent", "limit", "close"). Each
    direction ends once. notes: their offsets are stream offsets.
    """

    __slots__ = ("data", "direction", "end", "flow", "gap", "notes", "offset", "packets", "time_us")

    def __init__(
        self,
        flow: Flow,
        direction: i64,
        offset: i64,
        data: bytes,
        time_us: i64,
        packets: tuple[int, ...],
        gap: i64,
        notes: tuple[Note, ...],
        end: str,
    ) -> None:
        self.flow: Flow = flow
        self.direction: i64 = direction
        self.offset: i64 = offset
        self.data: bytes = data
        self.time_us: i64 = time_us
        self.packets: tuple[int, ...] = packets
        self.gap: i64 = gap
        self.notes: tuple[Note, ...] = notes
        self.end: str = end

    def save(self) -> State:
        """The piece as plain values, without its flow and direction."""
        notes = tuple([tuple(note) for note in self.notes])
        return (int(self.offset), self.data, int(self.time_us), self.packets, int(self.gap), notes, self.end)

    @staticmethod
    def load(flow: Flow, direction: i64, state: State) -> "Piece":
        offset, data, time_us, packets, gap, saved, end = state
        notes = tuple([Note(code, position, text) for code, position, text in saved])
        return Piece(flow, direction, offset, data, time_us, tuple(packets), gap, notes, end)


@mypyc_attr(acyclic=True)
class _Held:
    """A segment that waits for earlier bytes."""

    __slots__ = ("data", "missing", "packets", "time_us")

    def __init__(self, data: bytes, missing: i64, time_us: i64, packets: tuple[int, ...]) -> None:
        self.data: bytes = data
        self.missing: i64 = missing
        self.time_us: i64 = time_us
        self.packets: tuple[int, ...] = packets


# Most streams never wait: these stand in for their lists and are never changed.
_NO_STARTS: Final[list[int]] = []
_NO_HELD: Final[list[_Held]] = []


class _Side:
    """What is known of one direction. Positions are counted from `base`, the first number that was seen."""

    __slots__ = (
        "acked",
        "base",
        "begun",
        "direction",
        "early",
        "ended",
        "fin",
        "flow",
        "gap",
        "has_acked",
        "has_fin",
        "has_hint",
        "held",
        "hint",
        "hole_end",
        "known",
        "last",
        "last_at",
        "last_packets",
        "last_time",
        "next",
        "notes",
        "number",
        "origin",
        "started",
        "starts",
        "waiting",
        "waiting_since",
    )

    def __init__(self, number: int, flow: Flow, direction: i64) -> None:
        self.number: int = number
        self.flow: Flow = flow
        self.direction: i64 = direction
        self.begun: bool = False  # base is known
        self.started: bool = False  # origin is known, bytes are given out
        self.known: bool = False  # the start is certain, by SYN
        self.ended: bool = False
        self.has_fin: bool = False
        self.has_acked: bool = False
        self.has_hint: bool = False
        self.base: i64 = 0
        self.origin: i64 = 0
        self.next: i64 = 0
        self.fin: i64 = 0
        self.acked: i64 = 0  # sequence number the other side confirmed
        self.hint: i64 = 0  # sequence number of an empty segment
        self.early: i64 = 0  # segments with new bytes that came before the start was known
        self.hole_end: i64 = 0  # up to here the capture cut bytes off
        self.gap: i64 = 0  # bytes missing before the next piece
        self.starts: list[int] = _NO_STARTS
        self.held: list[_Held] = _NO_HELD
        self.waiting: i64 = 0
        self.waiting_since: i64 = 0
        self.last: bytes = b""
        self.last_at: i64 = 0
        self.notes: list[Note] | None = None
        self.last_time: i64 = 0
        self.last_packets: tuple[int, ...] = ()

    def place(self, sequence: i64) -> i64:
        """The position of a sequence number: the one nearest to what is expected."""
        distance: i64 = (sequence - self.base - self.next) & 0xFFFFFFFF
        if distance >= _HALF:
            distance -= _MODULUS
        return self.next + distance

    def begin(self, sequence: i64) -> None:
        self.base = sequence
        self.next = 0
        self.begun = True

    def start(self, position: i64) -> None:
        self.started = True
        self.origin = position
        self.next = position
        self.hole_end = position

    def note(self, code: str, position: i64, text: str) -> None:
        if self.notes is None:
            self.notes = []
        if len(self.notes) < 16:
            self.notes.append(Note(code, position - self.origin, text))

    def save(self) -> State:
        held = [(one.data, int(one.missing), int(one.time_us), one.packets) for one in self.held]
        return (
            self.number,
            (self.begun, self.started, self.known, self.ended, self.has_fin, self.has_acked, self.has_hint),
            (int(self.base), int(self.origin), int(self.next), int(self.fin), int(self.acked)),
            (int(self.hint), int(self.hole_end), int(self.gap)),
            (int(self.early), int(self.waiting), int(self.waiting_since)),
            tuple(self.starts),
            tuple(held),
            (self.last, int(self.last_at), int(self.last_time), self.last_packets),
            tuple([tuple(note) for note in self.notes or ()]),
        )

    @staticmethod
    def load(flow: Flow, direction: i64, state: State) -> "_Side":
        number, flags, positions, more, waits, starts, held, last, notes = state
        side = _Side(number, flow, direction)
        side.begun, side.started, side.known, side.ended, side.has_fin, side.has_acked, side.has_hint = flags
        side.base, side.origin, side.next, side.fin, side.acked = positions
        side.hint, side.hole_end, side.gap = more
        side.early, side.waiting, side.waiting_since = waits
        if starts:
            side.starts = list(starts)
            side.held = [_Held(data, missing, time, tuple(packets)) for data, missing, time, packets in held]
        side.last, side.last_at, side.last_time = last[0], last[1], last[2]
        side.last_packets = tuple(last[3])
        if notes:
            side.notes = [Note(code, position, text) for code, position, text in notes]
        return side


class _Conversation:
    __slots__ = ("active", "closed", "first", "flow", "forward", "key", "second")

    def __init__(self, key: bytes, flow: Flow, forward: i64, first: _Side, second: _Side) -> None:
        self.key: bytes = key
        self.flow: Flow = flow
        self.forward: i64 = forward  # the direction of `forward` segments
        self.first: _Side = first
        self.second: _Side = second
        self.closed: bool = False
        self.active: i64 = 0


class Assembler:
    """Segments in, pieces of streams out.

    delivered, retransmitted: bytes. payload: bytes of all segments that were added, without text on a RST
    (reset_text). Once closed, payload = delivered + retransmitted.
    """

    def __init__(self) -> None:
        self.payload: int = 0
        self.delivered: int = 0
        self.retransmitted: int = 0
        self.missing: int = 0
        self.reset_text: int = 0
        self.flows: int = 0
        self._table: dict[bytes, _Conversation] = {}
        self._closed: dict[bytes, bool] = {}
        self._waiting: dict[int, _Side] = {}
        self._waiting_bytes: i64 = 0
        self._remembered: dict[int, _Side] = {}
        self._history: i64 = 0
        self._clock: i64 = 0
        self._sides: int = 0

    @property
    def open_flows(self) -> int:
        return len(self._table) - len(self._closed)

    def extend(self, segments: list[Segment], pieces: list[Piece]) -> int:
        """Append the pieces that these segments complete; the payload bytes of the segments."""
        size: i64 = 0
        for segment in segments:
            size += len(segment.payload)
            self._add(segment, pieces)
        return int(size)

    def _add(self, segment: Segment, pieces: list[Piece]) -> None:
        self._clock += 1
        key = segment.key
        conversation = self._table.get(key)
        if conversation is not None and segment.time_us - conversation.flow.last_us > OVER_TIME_US:
            self._retire(conversation, "silent", pieces)
            conversation = None
        if key[0] != TCP:
            if conversation is None:
                conversation = self._open(segment, pieces)
            self._datagram(conversation, segment, pieces)
            return
        if conversation is None:
            conversation = self._open(segment, pieces)
        elif segment.flags & SYN:
            if not self._belongs(conversation, segment):
                self._retire(conversation, "reuse", pieces)
                conversation = self._open(segment, pieces)
        elif len(segment.payload) and self._elsewhere(conversation, segment):
            self._retire(conversation, "reuse", pieces)
            conversation = self._open(segment, pieces)
        self._segment(conversation, segment, pieces)

    def close(self) -> list[Piece]:
        """The end of the capture: what waits is given out with its gaps, every stream ends."""
        pieces: list[Piece] = []
        for conversation in list(self._table.values()):
            self._finish(conversation.first, "close", pieces)
            self._finish(conversation.second, "close", pieces)
        self._table = {}
        self._closed = {}
        return pieces

    def known_flows(self) -> list[tuple[Flow, bool]]:
        """The flows that are open or still known after their end, and whether each has ended."""
        return [(one.flow, one.closed) for one in self._table.values()]

    def waiting(self) -> list[tuple[int, int]]:
        """The bytes that wait for missing ones: how many, and the number of the packet they came in."""
        sizes: list[tuple[int, int]] = []
        for one in self._table.values():
            for side in (one.first, one.second):
                sizes.extend([(len(held.data), held.packets[-1]) for held in side.held if held.data])
        return sizes

    def save(self) -> State:
        """The state of at most one flow, for `load` of another assembler; () without a flow.

        Raises ValueError for several flows.
        """
        if not self._table:
            return ()
        if len(self._table) > 1:
            raise ValueError("only the state of a single flow can be saved")
        one = next(iter(self._table.values()))
        return (
            (self.flows, int(self._clock), self._sides),
            one.flow.save(),
            (one.key, int(one.forward), one.closed, int(one.active)),
            (one.first.save(), one.second.save()),
        )

    def load(self, state: State) -> None:
        """Continue, in a new assembler, what `save` gave; `payload` counts the bytes that wait."""
        (self.flows, self._clock, self._sides), saved, (key, forward, closed, active), sides = state
        flow = Flow.load(saved)
        first = _Side.load(flow, 0, sides[0])
        second = _Side.load(flow, 1, sides[1])
        one = _Conversation(key, flow, forward, first, second)
        one.closed = closed
        one.active = active
        self._table[key] = one
        if closed:
            self._closed[key] = True
        for side in (first, second):
            for held in side.held:
                self.payload += len(held.data)
            if side.held:
                self._waiting[side.number] = side
                self._waiting_bytes += side.waiting
            if side.last:
                self._remembered[side.number] = side
                self._history += len(side.last)

    def _open(self, segment: Segment, pieces: list[Piece]) -> _Conversation:
        key = segment.key
        if self.open_flows >= FLOWS:
            self._make_room(pieces)
        half = (len(key) - 1) // 2
        low, high = key[1 : 1 + half], key[1 + half :]
        flags = segment.flags
        # an answer to a SYN comes from the other side
        sender: i64 = 1 if flags & SYN and flags & ACK else 0
        forward: i64 = sender if segment.forward else 1 - sender
        if forward:
            low, high = high, low
        self.flows += 1
        flow = Flow(
            self.flows,
            "tcp" if key[0] == TCP else "udp",
            (low[:-2], high[:-2]),
            (low[-2] << 8 | low[-1], high[-2] << 8 | high[-1]),
        )
        flow.first_us = segment.time_us
        first = _Side(self._sides, flow, 0)
        second = _Side(self._sides + 1, flow, 1)
        self._sides += 2
        conversation = _Conversation(key, flow, forward, first, second)
        self._table[key] = conversation
        return conversation

    def _make_room(self, pieces: list[Piece]) -> None:
        """End the quarter of the open flows that was silent longest."""
        open_ones = [(int(c.active), key) for key, c in self._table.items() if not c.closed]
        open_ones.sort()
        for _, key in open_ones[: len(open_ones) // 4 + 1]:
            conversation = self._table[key]
            self._retire(conversation, "limit", pieces)

    def _retire(self, conversation: _Conversation, reason: str, pieces: list[Piece]) -> None:
        for side in (conversation.first, conversation.second):
            if reason == "limit" and not side.ended:
                side.note("capture-limit", side.next, f"more than {FLOWS} open flows: this one is ended")
            self._finish(side, reason, pieces)
        self._closed.pop(conversation.key, False)
        del self._table[conversation.key]

    def _finish(self, side: _Side, reason: str, pieces: list[Piece]) -> None:
        """Give out all that waits, then end."""
        while side.starts:
            self._give_up(side, pieces)
        self._end(side, reason, pieces)

    def _end(self, side: _Side, reason: str, pieces: list[Piece]) -> None:
        if side.ended:
            return
        side.ended = True
        gap: i64 = side.gap
        notes = _NO_NOTES
        if gap:
            side.note("missing-bytes", side.next, f"{gap} bytes are missing")
        if side.notes is not None:
            notes = tuple(side.notes)
            side.notes = None
        side.gap = 0
        pieces.append(
            Piece(
                side.flow,
                side.direction,
                side.next - side.origin,
                b"",
                side.last_time,
                side.last_packets,
                gap,
                notes,
                reason,
            )
        )
        if len(side.last):
            self._history -= len(side.last)
            side.last = b""
            del self._remembered[side.number]

    def _belongs(self, conversation: _Conversation, segment: Segment) -> bool:
        """Whether a SYN is of this connection or of a new one with the same addresses and ports."""
        forward = conversation.forward if segment.forward else 1 - conversation.forward
        side = conversation.second if forward else conversation.first
        other = conversation.first if forward else conversation.second
        start: i64 = (segment.sequence + 1) & 0xFFFFFFFF
        if side.known:
            return bool((side.base + side.origin) & 0xFFFFFFFF == start)
        if conversation.closed:
            return False
        if not side.begun:
            return bool(segment.flags & ACK) or not (other.begun and len(other.starts) == 0 and other.started)
        if side.started:
            return side.place(start) == side.origin
        distance: i64 = side.starts[0] - side.place(start)
        return 0 <= distance <= JOIN_DISTANCE

    def _elsewhere(self, conversation: _Conversation, segment: Segment) -> bool:
        """Whether bytes without a SYN cannot be of this connection."""
        if segment.flags & RST:
            return False
        forward = conversation.forward if segment.forward else 1 - conversation.forward
        side = conversation.second if forward else conversation.first
        if not side.started:
            return side.ended
        position = side.place(segment.sequence)
        if position < side.next - OUT_OF_STEP:
            return True
        # one byte where the FIN was counted is a keep-alive
        return side.ended and position + len(segment.payload) > side.next + 1

    def _segment(self, conversation: _Conversation, segment: Segment, pieces: list[Piece]) -> None:
        flow = conversation.flow
        direction: i64 = conversation.forward if segment.forward else 1 - conversation.forward
        side = conversation.second if direction else conversation.first
        other = conversation.first if direction else conversation.second
        flags = segment.flags
        time_us = segment.time_us
        sequence = segment.sequence
        payload = segment.payload
        conversation.active = self._clock
        if flags & SYN:
            sequence = (sequence + 1) & 0xFFFFFFFF
            asked: i64 = 1 if flags & ACK else 0
            if direction != asked and not (flow.syn or side.started or other.started):
                # the sides were taken for each other
                self._turn(conversation)
                direction = asked
            flow.syn = True
            self._synchronise(side, sequence, pieces)
            if flags & ACK:
                self._synchronise(other, segment.acknowledgement, pieces)
        flow.last_us = max(flow.last_us, int(time_us))
        flow.first_us = min(flow.first_us, int(time_us))
        counted = flow.directions[direction]
        counted.segments += 1
        counted.last_us = max(counted.last_us, int(time_us))
        counted.first_us = int(time_us) if counted.first_us < 0 else min(counted.first_us, int(time_us))
        if flags & RST:
            self._reset(conversation, side, other, segment, pieces)
            return
        if flags & ACK:
            other.acked = segment.acknowledgement
            other.has_acked = True
            if len(other.starts):
                self._confirm(other, time_us, pieces)
        length: i64 = len(payload)
        self.payload += length
        if length or segment.missing:
            if side.ended:
                self.retransmitted += length
                counted.retransmitted += length
                return
            packets: tuple[int, ...] = segment.fragments
            if not packets:
                packets = (int(segment.packet),)
            if not side.begun:
                side.begin(sequence)
            if not side.started and (
                (side.has_hint and side.hint == sequence) or (side.has_acked and side.acked == sequence)
            ):
                self._join(side, side.place(sequence), pieces)
            position: i64 = side.place(sequence)
            if side.has_fin and position + length > side.fin and (length > 1 or position != side.fin):
                # the FIN was not the end
                side.has_fin = False
            if side.started and position == side.next and not side.starts:
                if length:
                    self._deliver(side, payload, time_us, packets, pieces)
                if segment.missing:
                    self._cut(side, segment.missing)
                    self._drain(side, pieces)
            else:
                self._place(side, position, payload, segment.missing, time_us, packets, pieces)
        elif flags & (SYN | FIN) == 0 and not side.started:
            side.hint = sequence
            side.has_hint = True
        if flags & FIN and not side.ended:
            if not side.begun:
                side.begin(sequence)
            if not side.started and not side.starts:
                side.start(side.place(sequence))
            end: i64 = side.place(sequence) + length + segment.missing
            if len(side.starts) and side.starts[-1] + len(side.held[-1].data) > end:
                # bytes wait that lie behind it
                side.has_fin = False
            elif not side.has_fin or end > side.fin:
                side.fin = end
                side.has_fin = True
        if side.has_fin and side.started and side.next >= side.fin and not side.ended:
            side.last_time = time_us
            self._end(side, "fin", pieces)
        if len(side.starts) and side.started:
            self._overdue(side, other.begun, time_us, pieces)
        if side.ended and other.ended and not conversation.closed:
            self._shut(conversation)

    def _turn(self, conversation: _Conversation) -> None:
        flow = conversation.flow
        flow.hosts = (flow.hosts[1], flow.hosts[0])
        flow.ports = (flow.ports[1], flow.ports[0])
        flow.directions = (flow.directions[1], flow.directions[0])
        conversation.forward = 1 - conversation.forward
        first = conversation.first
        conversation.first = conversation.second
        conversation.second = first
        conversation.first.direction = 0
        conversation.second.direction = 1

    def _synchronise(self, side: _Side, sequence: i64, pieces: list[Piece]) -> None:
        """The stream's first number is certain."""
        if side.known:
            return
        if not side.begun:
            side.begin(sequence)
            side.start(0)
            side.known = True
        elif not side.started:
            position = side.place(sequence)
            if side.starts and position > side.starts[0]:
                return
            side.start(position)
            side.known = True
            self._drain(side, pieces)
        elif side.place(sequence) == side.origin:
            side.known = True

    def _join(self, side: _Side, position: i64, pieces: list[Piece]) -> None:
        """Begin in the middle of a connection."""
        side.start(position)
        side.note("joined-middle", position, "the capture does not have the beginning of this stream")
        self._drain(side, pieces)

    def _confirm(self, side: _Side, time_us: i64, pieces: list[Piece]) -> None:
        """The other side confirmed bytes of a stream that waits."""
        if not side.started:
            if side.place(side.acked) > side.starts[0]:
                self._join(side, side.starts[0], pieces)
        else:
            self._overdue(side, True, time_us, pieces)

    def _overdue(self, side: _Side, heard: bool, time_us: i64, pieces: list[Piece]) -> None:
        """Give up missing bytes that will not come any more."""
        waited: i64 = time_us - side.waiting_since
        if waited < GAP_TIME_US:
            return
        if side.has_acked and heard:
            if side.place(side.acked) >= side.starts[0]:
                self._give_up(side, pieces)
        elif waited >= SILENT_TIME_US and not side.has_acked:
            self._give_up(side, pieces)

    def _reset(
        self, conversation: _Conversation, side: _Side, other: _Side, segment: Segment, pieces: list[Piece]
    ) -> None:
        """RFC 9293 section 3.5.3; text on it (RFC 1122 section 4.2.2.12) is not of the stream."""
        length: i64 = len(segment.payload)
        if conversation.closed:
            self.reset_text += length
            return
        flags = segment.flags
        near = not side.begun or (flags & ACK != 0 and segment.sequence == 0)
        if not near:
            distance: i64 = side.place(segment.sequence) - side.next
            near = -RESET_DISTANCE <= distance <= RESET_DISTANCE
        if length:
            self.reset_text += length
            if not side.ended:
                side.note(
                    "reset-text", side.next, f"a reset carries {length} bytes of text, not of the stream"
                )
        if not near:
            return
        if not side.ended:
            side.last_time = segment.time_us
        self._finish(side, "reset", pieces)
        self._finish(other, "reset", pieces)
        self._shut(conversation)

    def _shut(self, conversation: _Conversation) -> None:
        conversation.closed = True
        self._closed[conversation.key] = True
        if len(self._closed) > CLOSED_FLOWS:
            oldest = next(iter(self._closed))
            del self._closed[oldest]
            del self._table[oldest]

    def _deliver(
        self, side: _Side, data: bytes, time_us: i64, packets: tuple[int, ...], pieces: list[Piece]
    ) -> None:
        """Give out bytes at side.next."""
        size: i64 = len(data)
        offset: i64 = side.next - side.origin
        gap: i64 = side.gap
        notes = _NO_NOTES
        if gap:
            side.gap = 0
            side.note("missing-bytes", side.next, f"{gap} bytes are missing before")
        if side.notes is not None:
            notes = tuple(side.notes)
            side.notes = None
        flow = side.flow
        pieces.append(Piece(flow, side.direction, offset, data, time_us, packets, gap, notes, ""))
        if flow.packet < 0:
            flow.packet = packets[-1]
        flow.directions[side.direction].length = offset + size
        self.delivered += size
        old: i64 = len(side.last)
        if size:
            if old == 0:
                self._remembered[side.number] = side
            self._history += size - old
            side.last = data
            side.last_at = side.next
            while self._history > HISTORY:
                number = next(iter(self._remembered))
                oldest = self._remembered.pop(number)
                self._history -= len(oldest.last)
                oldest.last = b""
        side.next += size
        if side.hole_end < side.next:
            side.hole_end = side.next
        side.last_time = time_us
        side.last_packets = packets

    def _skip(self, side: _Side, size: i64) -> None:
        """Bytes at side.next are missing."""
        direction = side.flow.directions[side.direction]
        if side.gap == 0:
            direction.gap_count += 1
        side.gap += size
        side.next += size
        direction.gap_bytes += size
        direction.length = side.next - side.origin
        self.missing += size

    def _cut(self, side: _Side, missing: i64) -> None:
        """The capture has not the last bytes of a packet."""
        side.note("snap-length", side.next, f"the capture cut off {missing} bytes")
        side.hole_end = max(side.hole_end, side.next + missing)

    def _compare(self, side: _Side, position: i64, data: bytes, start: i64, stop: i64) -> None:
        """Repeated bytes data[start:stop], which lie at `position`, against the last that were given out."""
        first: i64 = max(position, side.last_at)
        last: i64 = min(position + stop - start, side.last_at + len(side.last))
        if first >= last:
            return
        old = side.last[first - side.last_at : last - side.last_at]
        if old != data[start + first - position : start + last - position]:
            self._conflict(side, first)

    def _conflict(self, side: _Side, position: i64) -> None:
        side.note("overlap-conflict", position, "repeated bytes differ from the first, which are kept")

    def _again(self, side: _Side, size: i64) -> None:
        self.retransmitted += size
        side.flow.directions[side.direction].retransmitted += size

    def _place(
        self,
        side: _Side,
        position: i64,
        data: bytes,
        missing: i64,
        time_us: i64,
        packets: tuple[int, ...],
        pieces: list[Piece],
    ) -> None:
        """A segment that is not just the next: old bytes are left out, new ones wait for their turn."""
        begin: i64 = 0  # data[begin:] is still to be placed, at position
        size: i64 = len(data)
        end: i64 = position + size
        if side.started and position < side.next:
            begin = min(side.next - position, size)
            if size > 1 or end != side.next:
                self._compare(side, position, data, 0, begin)
            self._again(side, begin)
            position += begin
            if begin == size and (missing == 0 or end + missing <= side.next):
                return
        if side.held is _NO_HELD:
            side.starts = []
            side.held = []
        starts = side.starts
        held = side.held
        at: i64 = bisect_right(starts, position)
        if at and begin < size:
            before = held[at - 1].data
            start: i64 = starts[at - 1]
            known: i64 = min(start + len(before), end) - position
            if known > 0:
                if before[position - start : position - start + known] != data[begin : begin + known]:
                    self._conflict(side, position)
                self._again(side, known)
                begin += known
                position += known
        added: i64 = 0
        count: i64 = 0
        newest: _Held | None = None
        while begin < size:
            free: i64 = size - begin
            if at < len(starts) and starts[at] < end:
                free = starts[at] - position
            if free > 0:
                newest = _Held(data[begin : begin + free] if free < size else data, 0, time_us, packets)
                starts.insert(at, position)
                held.insert(at, newest)
                added += free
                count += 1
                at += 1
                begin += free
                position += free
            if begin < size:
                there = held[at].data
                known = min(len(there), size - begin)
                if there[:known] != data[begin : begin + known]:
                    self._conflict(side, position)
                self._again(side, known)
                begin += known
                position += known
                at += 1
        if missing:
            if newest is not None and begin == size and at and held[at - 1] is newest:
                newest.missing = missing
            elif side.started and end <= side.next:
                self._cut(side, missing - (side.next - end))
            elif size == 0:
                starts.insert(at, position)
                held.insert(at, _Held(b"", missing, time_us, packets))
                count += 1
        if count:
            cost: i64 = added + count * WAITING_COST
            if side.waiting == 0:
                side.waiting_since = time_us
                self._waiting[side.number] = side
            side.waiting += cost
            self._waiting_bytes += cost
        if side.started:
            self._drain(side, pieces)
        elif count:
            side.early += 1  # not len(starts): a segment that fills several holes is held in several parts
            if side.early >= JOIN_SEGMENTS:
                self._join(side, starts[0], pieces)
        while side.waiting > STREAM_WAITING:
            side.note("capture-limit", side.next, f"more than {STREAM_WAITING} bytes waited for missing ones")
            self._give_up(side, pieces)
        while self._waiting_bytes > ALL_WAITING:
            oldest = self._waiting[next(iter(self._waiting))]
            oldest.note("capture-limit", oldest.next, f"more than {ALL_WAITING} bytes of all streams waited")
            self._give_up(oldest, pieces)

    def _give_up(self, side: _Side, pieces: list[Piece]) -> None:
        """Go on behind the first gap."""
        if not side.started:
            self._join(side, side.starts[0], pieces)
            return
        distance: i64 = side.starts[0] - side.next
        if distance > 0:
            self._skip(side, distance)
        self._drain(side, pieces)

    def _drain(self, side: _Side, pieces: list[Piece]) -> None:
        """Give out what waits and is now in order."""
        starts = side.starts
        count: i64 = 0
        total: i64 = len(starts)
        freed: i64 = 0
        while True:
            if count < total and starts[count] <= side.next:
                waiting = side.held[count]
                count += 1
                freed += len(waiting.data) + WAITING_COST
                behind: i64 = side.next - starts[count - 1]
                if behind > 0:
                    # only bytes the capture cut off, and that came after all, lie behind
                    self._again(side, min(behind, len(waiting.data)))
                    data = waiting.data[behind:]
                else:
                    data = waiting.data
                if len(data):
                    self._deliver(side, data, waiting.time_us, waiting.packets, pieces)
                if waiting.missing:
                    self._cut(side, waiting.missing)
                continue
            if side.hole_end > side.next:
                limit: i64 = side.hole_end
                if count < total and starts[count] < limit:
                    limit = starts[count]
                self._skip(side, limit - side.next)
                continue
            break
        if count:
            del starts[:count]
            del side.held[:count]
            side.waiting -= freed
            self._waiting_bytes -= freed
            if total == count:
                self._waiting.pop(side.number, None)
                side.waiting = 0
                side.starts = _NO_STARTS
                side.held = _NO_HELD
            else:
                side.waiting_since = side.held[0].time_us

    def _datagram(self, conversation: _Conversation, segment: Segment, pieces: list[Piece]) -> None:
        flow = conversation.flow
        direction: i64 = conversation.forward if segment.forward else 1 - conversation.forward
        side = conversation.second if direction else conversation.first
        time_us = segment.time_us
        conversation.active = self._clock
        flow.last_us = max(flow.last_us, int(time_us))
        flow.first_us = min(flow.first_us, int(time_us))
        counted = flow.directions[direction]
        counted.segments += 1
        counted.last_us = max(counted.last_us, int(time_us))
        counted.first_us = int(time_us) if counted.first_us < 0 else min(counted.first_us, int(time_us))
        size: i64 = len(segment.payload)
        self.payload += size
        packets: tuple[int, ...] = segment.fragments
        if not packets:
            packets = (int(segment.packet),)
        if segment.missing:
            side.note("snap-length", side.next + size, f"the capture cut off {segment.missing} bytes")
        if size:
            self._deliver_datagram(side, segment.payload, time_us, packets, pieces)
        if segment.missing:
            self._skip(side, segment.missing)

    def _deliver_datagram(
        self, side: _Side, data: bytes, time_us: i64, packets: tuple[int, ...], pieces: list[Piece]
    ) -> None:
        gap: i64 = side.gap
        notes = _NO_NOTES
        if gap:
            side.gap = 0
            side.note("missing-bytes", side.next, f"{gap} bytes are missing before")
        if side.notes is not None:
            notes = tuple(side.notes)
            side.notes = None
        flow = side.flow
        pieces.append(Piece(flow, side.direction, side.next, data, time_us, packets, gap, notes, ""))
        if flow.packet < 0:
            flow.packet = packets[-1]
        side.next += len(data)
        flow.directions[side.direction].length = side.next
        self.delivered += len(data)
        side.last_time = time_us
        side.last_packets = packets
