"""From segments to streams: TCP put in order by sequence number, UDP in order of arrival.

`Assembler.extend` takes segments in the order of the capture and gives pieces as soon as they are in order.
Memory is bounded by the constants here and in `sequencing`: what waits too long, or too much, is skipped, and
the gap is reported. Source: RFC 9293 (sequence numbers section 3.4, RST 3.5.3, keep-alives 3.8.4); RFC 2883
(duplicate SACK), RFC 7413 (data on a SYN).
"""

from bisect import bisect_left
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.flow import Flow, Piece, State
from wirelens.codecs.captures.ordering import SILENT_US, Ordering, needed
from wirelens.codecs.captures.packets import ACK, DUPLICATE, FIN, PSH, RST, SYN, TCP, Segment
from wirelens.codecs.captures.sequencing import IN_FLIGHT, Sequencer
from wirelens.codecs.captures.sides import NO_DOUBT, Side
from wirelens.codecs.captures.transmission import Acknowledgement, Sighting

FLOWS: Final = 1 << 15  # flows that may be open; then the quarter that was silent longest is ended
CLOSED_FLOWS: Final = 1 << 13  # finished flows that are kept, to recognise late retransmissions
ALL_SILENT: Final = 1 << 21  # bytes that may wait for the first ones of the other direction, of all flows
JOIN_DISTANCE: Final = 1 << 20  # a SYN belongs to bytes that begin at most this far after its number
GAP_TIME_US: Final = 1_000_000  # how long to wait for missing bytes that the other side acknowledged
SILENT_TIME_US: Final = 10_000_000  # the same where nothing is heard from the other side
PROBE_TIME_US: Final = 1_000_000  # keep-alives are at least this far apart
REUSE_TIME_US: Final = 1_000_000  # least silence of an open connection before its ports are reused
OUT_OF_STEP: Final = 1 << 28  # bytes that lie this far back belong to another connection
RESET_DISTANCE: Final = 1 << 20  # a reset counts if its number is at most this far from the expected one
KEY6: Final = 37  # bytes of the key of a flow over IPv6; those over IPv4 have 13
OVER_TIME_US: Final = 24 * 3600 * 1_000_000  # a flow silent for longer is over; what comes is another


class _Conversation:
    __slots__ = ("active", "closed", "first", "flow", "forward", "key", "ordering", "packet", "second")

    def __init__(self, key: bytes, flow: Flow, forward: i64, first: Side, second: Side) -> None:
        self.key: bytes = key
        self.flow: Flow = flow
        self.forward: i64 = forward  # the direction of `forward` segments
        self.first: Side = first
        self.second: Side = second
        self.closed: bool = False
        self.active: i64 = 0
        self.packet: i64 = 0  # the number of the last one
        self.ordering: Ordering | None = None  # pieces that wait for the other direction


class Assembler(Sequencer):
    """Segments in, pieces of streams out.

    `payload`: bytes of all segments that were added, without text on resets (`reset_text`). `delivered`:
    bytes in pieces; `retransmitted`: bytes that were left out as they had been delivered. Once closed,
    payload = delivered + retransmitted. `flows`: their number so far. `openings`, if it is a list, gets the
    number of the packet that opens a flow, for each.
    """

    def __init__(self) -> None:
        super().__init__()
        self.payload: int = 0
        self.reset_text: int = 0
        self.flows: int = 0
        self.openings: list[int] | None = None
        self.observes: bool = False
        self._logs: bool = False
        self._acknowledges: bool = False
        self._table: dict[bytes, _Conversation] = {}
        self._closed: dict[bytes, bool] = {}
        self._silent: dict[bytes, _Conversation] = {}  # those with bytes that wait so, the oldest first
        self._silent_bytes: i64 = 0
        self._clock: i64 = 0
        self._sides: int = 0

    @property
    def open_flows(self) -> int:
        """The number of flows that have not ended."""
        return len(self._table) - len(self._closed)

    def observe(self, log: bool = False, acknowledgements: bool = False) -> None:
        """Keep the `history` of each TCP direction from now on; with its last segments (`log`), or those
        that acknowledge its messages."""
        self.observes = True
        self._logs = log
        self._acknowledges = acknowledgements

    def extend(self, segments: list[Segment], pieces: list[Piece]) -> int:
        """As `add` for each; the payload bytes of the segments."""
        size: i64 = 0
        for segment in segments:
            size += len(segment.payload)
            self.add(segment, pieces)
        return int(size)

    def add(self, segment: Segment, pieces: list[Piece]) -> None:
        """Append the pieces that a segment completes."""
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
                conversation = self._reopen(conversation, segment, pieces)
        elif len(segment.payload) and self._elsewhere(conversation, segment):
            conversation = self._reopen(conversation, segment, pieces)
        count: i64 = len(pieces)
        self._segment(conversation, segment, pieces)
        more: i64 = len(pieces) - count
        if (
            conversation.ordering is not None
            or more > 1
            or (more and self.waiting_sides and (conversation.first.starts or conversation.second.starts))
        ):
            self._order(conversation, segment.time_us, count, pieces)

    def _order(self, conversation: _Conversation, time_us: i64, count: i64, pieces: list[Piece]) -> None:
        """Let the pieces after the first `count` wait for what the other direction has still to give out.

        Pieces of both directions are put in order.
        """
        first, second = conversation.first, conversation.second
        flow = conversation.flow
        new = [piece for piece in pieces[count:] if piece.flow is flow]
        ordering = conversation.ordering
        if ordering is None:
            ordering = conversation.ordering = needed(new, first, second)
            if ordering is None:
                return
        pieces[count:] = [piece for piece in pieces[count:] if piece.flow is not flow]
        before = int(ordering.size)
        ordering.add(new)
        waits = ordering.release(first, second, time_us, pieces)
        self.delivered += before - int(ordering.size)
        if ordering.silent:
            self._silent[conversation.key] = conversation
            self._silent_bytes += ordering.size - before
        if not waits:
            self._unsilence(conversation)
            conversation.ordering = None
        while self._silent_bytes > ALL_SILENT:
            oldest = self._silent[next(iter(self._silent))]
            self._unsilence(oldest)
            self._order(oldest, oldest.flow.last_us + SILENT_US + 1, len(pieces), pieces)

    def _unsilence(self, conversation: _Conversation) -> None:
        """Count what waits in a conversation no longer among `_silent`."""
        ordering = conversation.ordering
        if ordering is not None and ordering.silent:
            ordering.silent = False
            self._silent_bytes -= ordering.size
            del self._silent[conversation.key]

    def close(self) -> list[Piece]:
        """The end of the capture: waiting bytes are given out with their gaps, every stream ends."""
        pieces: list[Piece] = []
        for conversation in list(self._table.values()):
            self._finish(conversation, "close", pieces)
        self._table = {}
        self._closed = {}
        return pieces

    def overdue(self, idle: bool) -> list[Piece]:
        """The pieces that have waited long enough, for a capture that is read while it is made.

        `idle`: nothing has come for a while, so nothing older will. Otherwise the latest time of a flow
        shows; without this a flow's own next packet does.
        """
        pieces: list[Piece] = []
        now_us: i64 = 0
        waiting: list[_Conversation] = []
        for conversation in self._table.values():
            last_us: i64 = conversation.flow.last_us
            if last_us > now_us:
                now_us = last_us
            if conversation.ordering is not None or conversation.first.starts or conversation.second.starts:
                waiting.append(conversation)
        for conversation in waiting:
            count: i64 = len(pieces)
            first, second = conversation.first, conversation.second
            self._late(first, second, now_us, idle, pieces)
            self._late(second, first, now_us, idle, pieces)
            self._order(conversation, now_us + SILENT_US + 1 if idle else now_us, count, pieces)
        if idle:
            for side in list(self.late_sides.values()):
                self.give_late(side, pieces)
        return pieces

    def _late(self, side: Side, other: Side, now_us: i64, idle: bool, pieces: list[Piece]) -> None:
        """Give out what waits in a direction if nothing older is to be expected."""
        if not side.starts:
            return
        time_us = now_us
        if idle and time_us < side.waiting_since + GAP_TIME_US:
            time_us = side.waiting_since + GAP_TIME_US
        if side.started:
            self._overdue(side, other.begun, other.ended, time_us, pieces)
        elif self._is_confirmed(side) or (idle and not side.is_single()):
            if time_us - side.waiting_since >= GAP_TIME_US:
                self.give_up(side, pieces)
        if side.has_fin and side.started and side.next >= side.fin:
            self.end(side, "fin", pieces)

    def known_flows(self) -> list[tuple[Flow, bool]]:
        """The flows that are open or still known after their end, and whether each has ended."""
        return [(conversation.flow, conversation.closed) for conversation in self._table.values()]

    def waiting(self) -> list[tuple[int, int]]:
        """The bytes that wait for missing ones: how many, and the number of the packet they came in."""
        sizes: list[tuple[int, int]] = []
        for conversation in self._table.values():
            for side in (conversation.first, conversation.second):
                sizes.extend([(len(held.data), held.packets[-1]) for held in side.held if held.data])
                if side.late is not None:
                    sizes.extend(side.late.waiting())
            if conversation.ordering is not None:
                sizes.extend(conversation.ordering.waiting())
        return sizes

    def save(self) -> State:
        """The state of at most conversation flow, for `load` of another assembler; () without a flow.

        Raises ValueError for several flows.
        """
        if not self._table:
            return ()
        if len(self._table) > 1:
            raise ValueError("only the state of a single flow can be saved")
        conversation = next(iter(self._table.values()))
        return (
            (self.flows, int(self._clock), self._sides),
            conversation.flow.save(),
            (conversation.key, int(conversation.forward), conversation.closed, int(conversation.active)),
            (conversation.first.save(), conversation.second.save()),
            () if conversation.ordering is None else conversation.ordering.save(),
        )

    def load(self, state: State) -> None:
        """Continue, in a new assembler, what `save` gave; `payload` counts the bytes that wait."""
        (self.flows, self._clock, self._sides), saved, (key, forward, closed, active), sides, late = state
        flow = Flow.load(saved)
        first = Side.load(flow, 0, sides[0])
        second = Side.load(flow, 1, sides[1])
        conversation = _Conversation(key, flow, forward, first, second)
        conversation.closed = closed
        conversation.active = active
        if late:
            ordering = conversation.ordering = Ordering.load(flow, late)
            self._silent[key] = conversation
            self._silent_bytes += ordering.size
            self.payload += int(ordering.size)
        self._table[key] = conversation
        if closed:
            self._closed[key] = True
        for side in (first, second):
            for held in side.held:
                self.payload += len(held.data)
            if side.held:
                self.waiting_sides[side.number] = side
                self._waiting_bytes += side.waiting
            if side.past is not None:
                self.remembered_sides[side.number] = side
                self._history += side.past.size
            if side.late is not None:
                self.late_sides[side.number] = side
                self._late_bytes += side.late.end - side.late.start
                self.payload += side.late.end - side.late.start

    def _open(self, segment: Segment, pieces: list[Piece]) -> _Conversation:
        key = segment.key
        if self.open_flows >= FLOWS:
            self._make_room(pieces)
        half = 6 if len(key) < KEY6 else 18  # address and port; the point of the capture may follow
        low, high = key[1 : 1 + half], key[1 + half : 1 + 2 * half]
        flags = segment.flags
        # the answer to a SYN comes from the other side
        sender: i64 = 1 if flags & SYN and flags & ACK else 0
        forward: i64 = sender if segment.forward else 1 - sender
        if forward:
            low, high = high, low
        self.flows += 1
        if self.openings is not None:
            self.openings.append(int(segment.packet))
        flow = Flow(
            self.flows,
            "tcp" if key[0] == TCP else "udp",
            (low[:-2], high[:-2]),
            (low[-2] << 8 | low[-1], high[-2] << 8 | high[-1]),
        )
        flow.first_us = segment.time_us
        flow.opened = int(segment.packet)
        first = Side(self._sides, flow, 0)
        second = Side(self._sides + 1, flow, 1)
        self._sides += 2
        conversation = _Conversation(key, flow, forward, first, second)
        self._table[key] = conversation
        return conversation

    def _reopen(self, conversation: _Conversation, segment: Segment, pieces: list[Piece]) -> _Conversation:
        """End a connection, as its addresses and ports are used again; the new one."""
        if not conversation.closed and segment.time_us - conversation.flow.last_us < REUSE_TIME_US:
            self.contradict((int(conversation.packet),), (int(segment.packet),))
        self._retire(conversation, "reuse", pieces)
        return self._open(segment, pieces)

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
                side.note("capture-limit", side.next, f"more than {FLOWS} open flows: this one was ended")
        self._finish(conversation, reason, pieces)
        self._closed.pop(conversation.key, False)
        del self._table[conversation.key]

    def _finish(self, conversation: _Conversation, reason: str, pieces: list[Piece]) -> None:
        """End both sides; a side that a reset left open ended by that reset."""
        if conversation.closed:
            reason = "reset"
        ordering = conversation.ordering
        if ordering is None and conversation.first.starts and conversation.second.starts:
            ordering = Ordering()
        given: list[Piece] = []
        self.give_late(conversation.first, given)
        self.give_late(conversation.second, given)
        self.finish(conversation.first, reason, given)
        self.finish(conversation.second, reason, given)
        self.forget(conversation.first)
        self.forget(conversation.second)
        if ordering is not None:
            self._unsilence(conversation)
            self.delivered += int(ordering.size)
            ordering.add(given)
            given = []
            ordering.release(conversation.first, conversation.second, conversation.flow.last_us, given)
            conversation.ordering = None
        pieces += [piece for piece in given if not piece.end]
        pieces += [piece for piece in given if piece.end]  # neither is over before the bytes of the other

    def _belongs(self, conversation: _Conversation, segment: Segment) -> bool:
        """Whether a SYN belongs to this connection, not to a new one with the same addresses and ports."""
        forward = conversation.forward if segment.forward else 1 - conversation.forward
        side = conversation.second if forward else conversation.first
        other = conversation.first if forward else conversation.second
        start: i64 = (segment.sequence + 1) & 0xFFFFFFFF
        if side.known:
            return bool((side.base + side.origin) & 0xFFFFFFFF == start)
        acked: i64 = segment.acknowledgement if segment.flags & ACK else -1
        if conversation.closed or not side.may_begin_at(start, acked):
            return False
        if side.started:
            return side.place(start) == side.origin
        if not side.starts:  # nothing of it was captured, or only a keep-alive's byte
            return bool(segment.flags & ACK) or not (other.begun and len(other.starts) == 0 and other.started)
        distance: i64 = side.starts[0] - side.place(start)
        return 0 <= distance <= JOIN_DISTANCE

    def _elsewhere(self, conversation: _Conversation, segment: Segment) -> bool:
        """Whether bytes without a SYN cannot belong to this connection."""
        if segment.flags & RST:
            return False
        forward = conversation.forward if segment.forward else 1 - conversation.forward
        side = conversation.second if forward else conversation.first
        if not side.started:
            return side.ended
        position = side.place(segment.sequence)
        if position < side.next - OUT_OF_STEP:
            return True
        if side.ended:
            # one byte where the FIN was counted is a keep-alive
            return position + len(segment.payload) > side.next + 1
        return conversation.closed and position > side.next + IN_FLIGHT

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
        conversation.packet = segment.packet
        if flags & SYN:
            sequence = (sequence + 1) & 0xFFFFFFFF
            asked: i64 = 1 if flags & ACK else 0
            if direction != asked and not (flow.syn or side.started or other.started):
                # the sides were mixed up
                self._turn(conversation)
                direction = asked
            flow.syn = True
            self._synchronise(side, sequence, pieces)
            if flags & ACK:
                self._synchronise(other, segment.acknowledgement, pieces)
        flow.count(direction, int(time_us))
        if flags & RST:
            self._reset(conversation, side, other, segment, pieces)
            return
        if self.observes:
            self._observe(flow, direction, sequence, segment)
        if flags & ACK:
            other.acked = segment.acknowledgement
            side.confirmed = int(segment.acknowledgement)
            other.has_acked = True
            if len(other.starts):
                self._acknowledged(other, flags & DUPLICATE != 0, time_us, pieces)
        length: i64 = len(payload)
        self.payload += length
        if length or segment.missing:
            packets = segment.fragments or (int(segment.packet),)
            if side.ended:
                self._after_end(side, payload, segment, packets, pieces)
                return
            if not side.begun:
                side.begin(sequence)
            position: i64 = side.place(sequence)
            if side.has_fin and position + length > side.fin and (length > 1 or position != side.fin):
                # the FIN did not mark the end
                side.has_fin = False
            if side.started and position == side.next and not side.starts:
                if length:
                    if side.late is not None:
                        self.give_late(side, pieces)
                    self.deliver(side, payload, time_us, packets, pieces, True)
                if segment.missing:
                    self.cut(side, segment.missing)
                    self.drain(side, pieces)
            elif (
                (length == 1 or side.doubt != NO_DOUBT)
                and not side.is_next(sequence)
                and self._is_probe(side, position, segment, flow.sent_by(1 - direction).segments > 0)
            ):
                self.retransmitted += 1
                flow.sent_by(direction).retransmitted += 1
            else:
                self.place(side, position, payload, segment.missing, time_us, packets, pieces)
        elif flags & (SYN | FIN) == 0 and not side.started:
            side.hint = sequence
            side.has_hint = True
        if flags & FIN and not side.ended:
            if not side.begun:
                side.begin(sequence)
            if not side.started and (not side.starts or side.is_single()):
                side.start(self._start(side, sequence))
                self.drain(side, pieces)
            end: i64 = side.place(sequence) + length + segment.missing
            if len(side.starts) and side.starts[-1] + len(side.held[-1].data) > end:
                # bytes after it are waiting
                side.has_fin = False
            elif not side.has_fin or end > side.fin:
                side.fin = end
                side.has_fin = True
        if len(side.starts) and not side.started and self._is_confirmed(side):
            self._begin_late(side, time_us, pieces)
        if side.has_fin and side.started and side.next >= side.fin and not side.ended:
            side.last_time = time_us
            self.end(side, "fin", pieces)
        if len(side.starts) and side.started:
            self._overdue(side, other.begun, other.ended, time_us, pieces)
        if side.ended and other.ended and not conversation.closed:
            self._shut(conversation, pieces)

    def _after_end(
        self, side: Side, payload: bytes, segment: Segment, packets: tuple[int, ...], pieces: list[Piece]
    ) -> None:
        """Take bytes of a direction that has ended; one at its end is a keep-alive's."""
        position = side.place(segment.sequence)
        size: i64 = max(0, min(side.next - position, len(payload)))
        if side.started and size and (size > 1 or position + 1 != side.next):
            self.come_again(side, position, payload[:size], segment.time_us, packets, pieces)
            self.count_again(side, len(payload) - size)
        else:
            self.count_again(side, len(payload))

    def _observe(self, flow: Flow, direction: i64, sequence: i64, segment: Segment) -> None:
        """Add a segment to the histories of its flow; `sequence` is that of its first byte."""
        history = flow.sent_by(direction).observed(self._logs)
        length: i64 = len(segment.payload) + segment.missing
        acknowledgement: i64 = segment.acknowledgement if segment.flags & ACK else -1
        remark = ""
        if length:
            remark = history.add(
                sequence, length, segment.time_us, self._clock, segment.packet, acknowledgement, segment.mark
            )
        if acknowledgement >= 0:
            other = flow.sent_by(1 - direction).observed(self._logs)
            other.acknowledge(acknowledgement)
            if self._acknowledges and not length and not segment.flags & (SYN | FIN | RST):
                where = Acknowledgement(segment.time_us, self._clock, segment.packet, segment.mark)
                other.acknowledge_alone(acknowledgement, where)
        if history.logs:
            sighting = Sighting(
                int(segment.time_us),
                int(self._clock),
                int(segment.packet),
                int(segment.flags),
                int(sequence),
                int(length),
                int(acknowledgement),
                remark,
            )
            history.note(sighting)

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

    def _synchronise(self, side: Side, sequence: i64, pieces: list[Piece]) -> None:
        """Take the sequence number of a stream's first byte, which is certain."""
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
            side.doubt = NO_DOUBT
            side.start(position)
            side.known = True
            self.drain(side, pieces)
        elif side.place(sequence) == side.origin:
            side.known = True

    def _start(self, side: Side, sequence: i64) -> i64:
        """Where a stream begins by a segment that is next: with the bytes that wait and lead up to it."""
        position = side.place(sequence)
        if side.starts and side.starts[0] == side.doubt and self.is_doubtful(side):
            self.drop_probe(side)
        end: i64 = position
        if side.starts:
            end = side.starts[0]
            for index in range(len(side.starts)):
                if side.starts[index] != end or end >= position:
                    break
                end += len(side.held[index].data) + side.held[index].missing
        return side.starts[0] if side.starts and end == position else position

    def _is_probe(self, side: Side, position: i64, segment: Segment, heard: bool) -> bool:
        """Whether this segment is one more keep-alive; one that may be a keep-alive will be in doubt.

        A keep-alive may have one byte, before the next byte of its sender (RFC 9293 section 3.8.4). Where
        that position is not known: the byte was acknowledged before it came, or is one that its sender had
        sent; the same byte comes again though it is acknowledged, or nothing is heard of the other side (not
        `heard`); or it lacks PSH, which every byte written alone has, and is 0 or acknowledged alone.
        """
        acked = side.place(side.acked) if side.has_acked else min(position, side.doubt)  # none
        if side.doubt != NO_DOUBT:
            if position <= side.doubt < position + len(segment.payload):
                if len(segment.payload) > 1:
                    self.drop_probe(side)  # these bytes are the stream's
            elif acked <= side.doubt and not side.is_zero():
                side.doubt = NO_DOUBT
        if len(segment.payload) != 1 or segment.missing or (side.started and position <= side.next):
            return False
        at: i64 = bisect_left(side.starts, position)
        again = at < len(side.starts) and side.starts[at] == position and len(side.held[at].data) == 1
        if at and side.starts[at - 1] + len(side.held[at - 1].data) == position:
            return False  # it continues bytes that wait: it is one of them, perhaps sent again
        if not side.started and self.is_followed(side, at + 1 if again else at, position, segment.time_us):
            return False
        certain = acked > position
        doubtful = not again and segment.flags & PSH == 0
        if certain and again and segment.time_us - side.held[at].time_us < PROBE_TIME_US:
            certain = False  # perhaps one that was sent twice: the bytes around it will show
            doubtful = True
        elif side.started:
            certain = certain and again
        elif not certain:
            known = side.has_hint and side.place(side.hint) == position + 1
            alone = again and not heard
            certain = known or (alone and segment.time_us - side.held[at].time_us >= PROBE_TIME_US)
        if certain:
            if again:
                self.drop_byte(side, position)
            return True
        if doubtful and (side.doubt == NO_DOUBT or position < side.doubt):
            side.doubt = position
        return False

    def _acknowledged(self, side: Side, duplicate: bool, time_us: i64, pieces: list[Piece]) -> None:
        """The other side acknowledged bytes of a stream that waits; `duplicate`: the last one came again."""
        acked = side.place(side.acked)
        if duplicate:
            self.drop_byte(side, acked - 1)
        if not side.starts:
            return
        if side.started:
            self._overdue(side, True, False, time_us, pieces)
        elif self._is_confirmed(side):
            side.early += 1
            self._begin_late(side, time_us, pieces)
            if side.started and side.has_fin and side.next >= side.fin:
                self.end(side, "fin", pieces)

    def _is_confirmed(self, side: Side) -> bool:
        """Whether the other side has the bytes before the first that waits, so that they may be missing."""
        if not side.has_acked:
            return False
        acked = side.place(side.acked)
        first: i64 = side.starts[0]
        return acked >= first and (acked != first + 1 or not side.is_single())

    def _begin_late(self, side: Side, time_us: i64, pieces: list[Piece]) -> None:
        """Begin a confirmed stream whose start was missed, once its older bytes can no longer be expected."""
        over = side.has_fin and side.place(side.acked) > side.fin
        if over or self.may_begin(side) or time_us - side.waiting_since >= GAP_TIME_US:
            self.give_up(side, pieces)

    def _overdue(self, side: Side, heard: bool, gone: bool, time_us: i64, pieces: list[Piece]) -> None:
        """Skip missing bytes that can no longer be expected; `gone`: the other side has ended."""
        waited: i64 = time_us - side.waiting_since
        if waited < GAP_TIME_US:
            return
        if gone:
            self.give_up(side, pieces)
        elif side.has_acked and heard:
            if side.place(side.acked) >= side.starts[0]:
                self.give_up(side, pieces)
        elif waited >= SILENT_TIME_US and not side.has_acked:
            self.give_up(side, pieces)

    def _reset(
        self, conversation: _Conversation, side: Side, other: Side, segment: Segment, pieces: list[Piece]
    ) -> None:
        """Take a reset, RFC 9293 section 3.5.3; its text (RFC 1122 section 4.2.2.12) is not of the stream.

        It ends what its sender sends. The other side cannot know of it yet: its bytes in flight are still of
        this connection.
        """
        length: i64 = len(segment.payload)
        if side.ended:
            self.reset_text += length
            return
        flags = segment.flags
        near = not side.begun or (flags & ACK != 0 and segment.sequence == 0)
        if not near:
            distance: i64 = side.place(segment.sequence) - side.next
            near = -RESET_DISTANCE <= distance <= RESET_DISTANCE
        if length:
            self.reset_text += length
            side.note("reset-text", side.next, f"a reset carries {length} bytes of text, not of the stream")
        if not near:
            return
        side.last_time = segment.time_us
        self.finish(side, "reset", pieces)
        self._shut(conversation, pieces)

    def _shut(self, conversation: _Conversation, pieces: list[Piece]) -> None:
        """Count a connection as closed. The one closed first is forgotten when too many are kept."""
        conversation.closed = True
        self._closed[conversation.key] = True
        if len(self._closed) > CLOSED_FLOWS:
            oldest = next(iter(self._closed))
            del self._closed[oldest]
            self._finish(self._table.pop(oldest), "reset", pieces)

    def _datagram(self, conversation: _Conversation, segment: Segment, pieces: list[Piece]) -> None:
        flow = conversation.flow
        direction: i64 = conversation.forward if segment.forward else 1 - conversation.forward
        side = conversation.second if direction else conversation.first
        time_us = segment.time_us
        conversation.active = self._clock
        flow.count(direction, int(time_us))
        size: i64 = len(segment.payload)
        self.payload += size
        packets = segment.fragments or (int(segment.packet),)
        if segment.missing:
            side.note("snap-length", side.next + size, f"the capture cut off {segment.missing} bytes")
        if size:
            self.deliver(side, segment.payload, time_us, packets, pieces, False)
        if segment.missing:
            self.skip(side, segment.missing)
