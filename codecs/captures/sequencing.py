"""Bytes of streams put in order: what is next is given out, what is early waits for it, in bounded memory.

Source: RFC 9293 (sequence numbers section 3.4, keep-alives 3.8.4).
"""

from bisect import bisect_left, bisect_right
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.flow import NO_NOTES, Piece
from wirelens.codecs.captures.late import HOLES_KEPT, LateRun, compared, filled
from wirelens.codecs.captures.past import Past
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.captures.sides import NO_DOUBT, NO_HELD, NO_STARTS, Held, Side

STREAM_WAITING: Final = 1 << 22  # bytes of one stream that may wait for missing ones
ALL_WAITING: Final = 1 << 26  # bytes of all streams that may wait; then the one waiting longest goes on
WAITING_COST: Final = 200  # what a waiting segment counts besides its bytes
HISTORY: Final = 1 << 23  # delivered bytes, of all streams, that are kept to compare retransmissions with
ALL_LATE: Final = 1 << 22  # late bytes, of all streams, that wait for those that follow them
CONTRADICTIONS_KEPT: Final = 1 << 10
TOGETHER_US: Final = 20_000  # a byte this near in time to the next was written with it
JOIN_SEGMENTS: Final = 8  # segments after which a stream begins whose start was missed,
JOIN_LONGER: Final = 32  # or this many, if bytes before its first one were sent and had not arrived
IN_FLIGHT: Final = 1 << 16  # bytes at most that were sent and have not arrived


class Sequencer:
    """Places bytes in their streams. `delivered`, `retransmitted`, `missing`: bytes of all streams.

    `contradictions`: the numbers of two files, for packets in them whose bytes differ at the same position.
    """

    def __init__(self) -> None:
        self.delivered: int = 0
        self.retransmitted: int = 0
        self.missing: int = 0
        self.contradictions: dict[tuple[int, int], bool] = {}
        self.waiting_sides: dict[int, Side] = {}
        self._waiting_bytes: i64 = 0
        self.remembered_sides: dict[int, Side] = {}
        self._history: i64 = 0
        self.late_sides: dict[int, Side] = {}  # those with late bytes, the oldest first
        self._late_bytes: i64 = 0

    def finish(self, side: Side, reason: str, pieces: list[Piece]) -> None:
        """Give out everything that waits, with its gaps, then end the direction."""
        while side.starts:
            self.give_up(side, pieces)
        self.end(side, reason, pieces)

    def end(self, side: Side, reason: str, pieces: list[Piece]) -> None:
        """Give out the piece that ends a direction, if it has not ended."""
        if side.ended:
            return
        self.give_late(side, pieces)
        side.ended = True
        gap: i64 = side.gap
        notes = NO_NOTES
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

    def join(self, side: Side, position: i64, pieces: list[Piece]) -> None:
        """Begin a stream in the middle of its connection."""
        side.start(position)
        side.note("joined-middle", position, "the capture does not have the beginning of this stream")
        self.drain(side, pieces)

    def deliver(
        self,
        side: Side,
        data: bytes,
        time_us: i64,
        packets: tuple[int, ...],
        pieces: list[Piece],
        remember: bool,
        complete_us: i64 = -1,
        acked: int = -2,
    ) -> None:
        """Give out bytes at side.next; `remember`: keep them, to compare retransmissions with.

        `acked`: the acknowledgment number that came with them; -2 if they came just now.
        """
        size: i64 = len(data)
        offset: i64 = side.next - side.origin
        gap: i64 = side.gap
        notes = NO_NOTES
        if gap:
            side.gap = 0
            side.note("missing-bytes", side.next, f"{gap} bytes are missing before")
        if side.notes is not None:
            notes = tuple(side.notes)
            side.notes = None
        flow = side.flow
        piece = Piece(
            flow,
            side.direction,
            offset,
            data,
            time_us,
            packets,
            gap,
            notes,
            "",
            complete_us,
            side.confirmed if acked == -2 else acked,
            flow.sent_by(1 - side.direction).sequence,
        )
        pieces.append(piece)
        if flow.packet < 0:
            flow.packet = packets[-1]
        flow.sent_by(side.direction).length = offset + size
        self.delivered += size
        if size and remember:
            past = side.past
            if past is None:
                past = self._remember(side)
            self._history += past.add(side.next, data)
            if self._history > HISTORY:
                self._forget_oldest()
        side.next += size
        if side.hole_end < side.next:
            side.hole_end = side.next
        side.last_time = complete_us if complete_us > time_us else time_us
        side.last_packets = packets

    def _remember(self, side: Side) -> Past:
        """Begin to keep what a direction gives out, to compare what comes again with it."""
        past = side.past = Past()
        self.remembered_sides[side.number] = side
        return past

    def _forget_oldest(self) -> None:
        """Keep only the last bytes of the directions whose first ones were given out before all others."""
        while self._history > HISTORY:
            oldest = self.remembered_sides[next(iter(self.remembered_sides))]
            past = oldest.past
            self.forget(oldest)
            if past is not None and past.shorten():
                oldest.past = past
                self._history += past.size
                self.remembered_sides[oldest.number] = oldest

    def forget(self, side: Side) -> None:
        """Keep no bytes of a direction any more."""
        if side.past is not None:
            self._history -= side.past.size
            side.past = None
            del self.remembered_sides[side.number]

    def skip(self, side: Side, size: i64) -> None:
        """Count bytes at side.next as missing."""
        if side.started:  # datagrams have no positions
            if side.holes is None:
                side.holes = []
            side.holes.append((side.next, side.next + size))
            if len(side.holes) > HOLES_KEPT:
                del side.holes[0]
        direction = side.flow.sent_by(side.direction)
        if side.gap == 0:
            direction.gap_count += 1
        side.gap += size
        side.next += size
        direction.gap_bytes += size
        direction.length = side.next - side.origin
        self.missing += size

    def cut(self, side: Side, missing: i64) -> None:
        """The capture lacks the last bytes of a packet."""
        side.note("snap-length", side.next, f"the capture cut off {missing} bytes")
        side.hole_end = max(side.hole_end, side.next + missing)

    def come_again(
        self,
        side: Side,
        position: i64,
        data: bytes,
        time_us: i64,
        packets: tuple[int, ...],
        pieces: list[Piece],
    ) -> None:
        """Take bytes of positions that were given out or given up: those that are not equal are late."""
        past = [] if side.past is None else side.past.newest_first()
        run = side.late
        if run is not None:
            past.insert(0, (run.start, b"".join(run.data)))
        for start, end, what in compared(past, side.holes, int(side.origin), int(position), data):
            if not what:
                self.count_again(side, end - start)
                continue
            if what == "different":
                self._conflict(side, position + start, side.last_packets, packets)
            elif what == "missed" and side.holes is not None:
                side.holes = filled(side.holes, int(position) + start, int(position) + end)
            self._add_late(side, what, int(position) + start, data[start:end], int(time_us), packets, pieces)

    def _add_late(
        self,
        side: Side,
        what: str,
        position: int,
        data: bytes,
        time_us: int,
        packets: tuple[int, ...],
        pieces: list[Piece],
    ) -> None:
        """Add late bytes to those that came last, or give these out before."""
        run = side.late
        if run is not None and not run.takes(what, position, len(data), packets):
            self.give_late(side, pieces)
            run = None
        if run is None:
            run = side.late = LateRun(what, position)
            self.late_sides[side.number] = side
        run.add(data, time_us, packets)
        self._late_bytes += len(data)
        while self._late_bytes > ALL_LATE:
            self.give_late(self.late_sides[next(iter(self.late_sides))], pieces)

    def give_late(self, side: Side, pieces: list[Piece]) -> None:
        """Give out the late bytes that came last."""
        run = side.late
        if run is None:
            return
        side.late = None
        del self.late_sides[side.number]
        piece = self._late_piece(side, run)
        size = len(piece.data)
        self._late_bytes -= size
        self.delivered += size
        side.flow.sent_by(side.direction).late += size
        pieces.append(piece)
        past = side.past
        if past is None:
            past = self._remember(side)
        self._history += past.add_late(run.start, piece.data)
        self._forget_oldest()

    def _late_piece(self, side: Side, run: LateRun) -> Piece:
        origin = int(side.origin)
        _, time_us, packets = run.parts[-1]
        return Piece(
            side.flow,
            int(side.direction),
            run.start - origin,
            b"".join(run.data),
            time_us,
            packets,
            0,
            NO_NOTES,
            "",
            late=run.what,
            parts=tuple([(end - origin, at, numbers) for end, at, numbers in run.parts]),
        )

    def _conflict(self, side: Side, position: i64, packets: tuple[int, ...], later: tuple[int, ...]) -> None:
        """Note that bytes of `later` packets differ from those of `packets`, at the same position."""
        self.contradict(packets, later)
        side.note("overlap-conflict", position, "retransmitted bytes differ from the first, which are kept")

    def contradict(self, packets: tuple[int, ...], later: tuple[int, ...]) -> None:
        """Keep the numbers of the files of two packets that cannot be of one connection."""
        if packets and later:
            files = (packets[-1] >> FILE_SHIFT, later[-1] >> FILE_SHIFT)
            if files[0] != files[1] and len(self.contradictions) < CONTRADICTIONS_KEPT:
                self.contradictions[files] = True

    def count_again(self, side: Side, size: i64) -> None:
        """Count bytes that came again."""
        self.retransmitted += size
        side.flow.sent_by(side.direction).retransmitted += size

    def place(
        self,
        side: Side,
        position: i64,
        data: bytes,
        missing: i64,
        time_us: i64,
        packets: tuple[int, ...],
        pieces: list[Piece],
    ) -> None:
        """Place a segment that is not the next: old bytes are left out, new ones wait for their turn."""
        begin: i64 = 0  # data[begin:] is still to be placed, at position
        size: i64 = len(data)
        end: i64 = position + size
        if side.started and position < side.next:
            begin = min(side.next - position, size)
            if side.known and position < side.origin - 1:  # one byte before may be a keep-alive's
                self.contradict(side.last_packets, packets)
            if size > 1 or end != side.next:
                self.come_again(side, position, data[:begin], time_us, packets, pieces)
            else:
                self.count_again(side, begin)
            position += begin
            if begin == size and (missing == 0 or end + missing <= side.next):
                return
        if side.held is NO_HELD:
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
                again = data[begin : begin + known]
                if before[position - start : position - start + known] == again:
                    self.count_again(side, known)
                else:
                    self._differ(side, position, again, held[at - 1], time_us, packets, pieces)
                begin += known
                position += known
        added: i64 = 0
        count: i64 = 0
        acked = side.confirmed
        newest: Held | None = None
        while begin < size:
            free: i64 = size - begin
            if at < len(starts) and starts[at] < end:
                free = starts[at] - position
            if free > 0:
                part = data[begin : begin + free] if free < size else data
                newest = Held(part, 0, time_us, packets, acked)
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
                again = data[begin : begin + known]
                if there[:known] == again:
                    self.count_again(side, known)
                else:
                    self._differ(side, position, again, held[at], time_us, packets, pieces)
                begin += known
                position += known
                at += 1
        if missing:
            if newest is not None and begin == size and at and held[at - 1] is newest:
                newest.missing = missing
            elif side.started and end <= side.next:
                self.cut(side, missing - (side.next - end))
            elif size == 0:
                starts.insert(at, position)
                held.insert(at, Held(b"", missing, time_us, packets, acked))
                count += 1
        if count:
            cost: i64 = added + count * WAITING_COST
            if side.waiting == 0:
                side.waiting_since = time_us
                self.waiting_sides[side.number] = side
            side.waiting += cost
            self._waiting_bytes += cost
        if side.started:
            self.drain(side, pieces)
        elif count:
            side.expect()
            side.early += 1  # not len(starts): a segment that fills several holes is held in several parts
            if self.may_begin(side):
                self.give_up(side, pieces)
        while side.waiting > STREAM_WAITING:
            side.note("capture-limit", side.next, f"more than {STREAM_WAITING} bytes waited for missing ones")
            self.give_up(side, pieces)
        while self._waiting_bytes > ALL_WAITING:
            oldest = self.waiting_sides[next(iter(self.waiting_sides))]
            oldest.note("capture-limit", oldest.next, f"more than {ALL_WAITING} bytes of all streams waited")
            self.give_up(oldest, pieces)

    def _differ(
        self,
        side: Side,
        position: i64,
        data: bytes,
        held: Held,
        time_us: i64,
        packets: tuple[int, ...],
        pieces: list[Piece],
    ) -> None:
        """Take bytes that differ from those that wait at their position."""
        self._conflict(side, position, held.packets, packets)
        self._add_late(side, "different", int(position), data, int(time_us), packets, pieces)

    def give_up(self, side: Side, pieces: list[Piece]) -> None:
        """Continue after the first gap; without a start, begin with the first byte that waits."""
        if side.doubt == side.starts[0] and self.is_doubtful(side):
            self.drop_probe(side)
            if not side.starts:
                return
        if not side.started:
            self.join(side, side.starts[0], pieces)
            return
        distance: i64 = side.starts[0] - side.next
        if distance > 0:
            self.skip(side, distance)
        self.drain(side, pieces)

    def may_begin(self, side: Side) -> bool:
        """Whether a stream whose start was missed begins, as enough came that is not older."""
        sent = side.starts[0] - side.floor  # but had not arrived
        return side.early >= (JOIN_LONGER if 0 < sent <= IN_FLIGHT else JOIN_SEGMENTS)

    def drop_probe(self, side: Side) -> None:
        """Leave out the waiting byte in doubt: it was a keep-alive's, and not of the stream."""
        position = side.doubt
        side.doubt = NO_DOUBT
        self.drop_byte(side, position)

    def drop_byte(self, side: Side, position: i64) -> None:
        """Leave out the one byte that waits at a position, if there is one."""
        at: i64 = bisect_left(side.starts, position)
        if at == len(side.starts) or side.starts[at] != position or len(side.held[at].data) != 1:
            return
        del side.starts[at]
        del side.held[at]
        side.waiting -= 1 + WAITING_COST
        self._waiting_bytes -= 1 + WAITING_COST
        self.count_again(side, 1)
        if side.starts:
            side.waiting_since = side.held[0].time_us
        else:
            self._none_waits(side)

    def is_doubtful(self, side: Side) -> bool:
        """Whether the byte in doubt, the first that waits, is taken for a keep-alive's."""
        if not side.started and self.is_followed(side, 1, side.doubt, side.held[0].time_us):
            return False
        if side.has_acked and side.place(side.acked) > side.doubt:
            return True
        return not side.started and side.held[0].data == b"\0"

    def is_followed(self, side: Side, at: i64, position: i64, time_us: i64) -> bool:
        """Whether held[at] follows a byte at a position, and was sent at about the same time."""
        if at >= len(side.starts) or side.starts[at] != position + 1:
            return False
        return -TOGETHER_US < side.held[at].time_us - time_us < TOGETHER_US

    def _none_waits(self, side: Side) -> None:
        self.waiting_sides.pop(side.number, None)
        side.waiting = 0
        side.starts = NO_STARTS
        side.held = NO_HELD

    def drain(self, side: Side, pieces: list[Piece]) -> None:
        """Give out the waiting bytes that are now in order."""
        starts = side.starts
        count: i64 = 0
        total: i64 = len(starts)
        freed: i64 = 0
        latest_us: i64 = side.last_time  # of the packets so far that one captured last
        while True:
            if count < total and starts[count] <= side.next:
                waiting = side.held[count]
                count += 1
                freed += len(waiting.data) + WAITING_COST
                before: i64 = side.next - starts[count - 1]
                if before > 0:
                    # only bytes that the capture cut off, and that arrived after all, lie before
                    again = waiting.data[:before]
                    at = starts[count - 1]
                    if again:
                        self.come_again(side, at, again, waiting.time_us, waiting.packets, pieces)
                    data = waiting.data[before:]
                else:
                    data = waiting.data
                if len(data):
                    latest_us = max(latest_us, waiting.time_us)
                    self.deliver(
                        side, data, waiting.time_us, waiting.packets, pieces, True, latest_us, waiting.acked
                    )
                if waiting.missing:
                    self.cut(side, waiting.missing)
                continue
            if side.hole_end > side.next:
                limit: i64 = side.hole_end
                if count < total and starts[count] < limit:
                    limit = starts[count]
                self.skip(side, limit - side.next)
                continue
            break
        if count:
            del starts[:count]
            del side.held[:count]
            side.waiting -= freed
            self._waiting_bytes -= freed
            if total == count:
                self._none_waits(side)
            else:
                side.waiting_since = side.held[0].time_us
