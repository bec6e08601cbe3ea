"""How the bytes of messages were transmitted: when they were first captured, and how often they were sent.

A `History` follows one direction of a TCP connection, segment by segment, and gives a `Transmission` for
each message of it, or only counts its packets and what is sent of it again. "Before" is decided by the order
of packets, never by their times: a clock that was set back does not make a later packet the earlier one.
Source: RFC 9293 (acknowledgments section 3.4, keep-alives section 3.8.4).
"""

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

EARLY_US: Final = 1000  # new bytes that follow higher ones by more than this were sent before
SAME_PACKET_US: Final = 10_000  # a packet is captured twice within this time, if it has an identification,
SAME_UNNAMED_US: Final = 100  # or within this, if its identification is 0
IDENTIFICATION: Final = 0xFFFF  # the bits of a packet's mark that hold its IP identification
STRETCHES: Final = 1 << 15  # stretches that may wait for their message; then half are dropped
STRETCHES_KEPT: Final = 64  # stretches kept after their message, to recognise a packet captured twice
ALWAYS_KEPT: Final = 8  # those of them that are kept however old they are
KEPT_US: Final = 1_000_000  # how long a message counts what is sent of it again
KEPT: Final = 1 << 12  # messages of a direction that do
PRUNED: Final = 32  # messages of a direction between looks at what can be dropped
RESENT: Final = 1 << 16  # messages whose copies wait to be asked for
LOGGED: Final = 1 << 10  # segments of a direction that are kept for `History.log`

NO_ACKNOWLEDGEMENT: Final = -(1 << 40)  # before every position

_MODULUS: Final = 1 << 32
_HALF: Final = 1 << 31


@mypyc_attr(acyclic=True)
class Stretch:
    """New bytes that a packet brought, at the positions `start` to `end`.

    `first` and `last`: where the packet's own bytes begin and end. `needless`: acknowledged before they were
    captured. `late`: they followed higher ones, so if this is the sender's end, the first copy was missed.
    `blind`: captured before any acknowledgment, so they may have been received before the capture began.
    """

    __slots__ = (
        "acknowledgement",
        "blind",
        "end",
        "first",
        "last",
        "late",
        "mark",
        "needless",
        "order",
        "packet",
        "start",
        "time_us",
    )

    def __init__(
        self,
        start: i64,
        end: i64,
        time_us: i64,
        order: i64,
        packet: i64,
        acknowledgement: i64,
        mark: i64,
    ) -> None:
        self.start: i64 = start
        self.end: i64 = end
        self.first: i64 = start
        self.last: i64 = end
        self.time_us: i64 = time_us
        self.order: i64 = order
        self.packet: i64 = packet
        self.acknowledgement: i64 = acknowledgement
        self.mark: i64 = mark
        self.needless: bool = False
        self.late: bool = False
        self.blind: bool = False


@mypyc_attr(acyclic=True)
class Acknowledgement:
    """A segment without bytes that acknowledges those up to a position; `again`: it is not the only one."""

    __slots__ = ("again", "mark", "order", "packet", "position", "time_us")

    def __init__(self, time_us: i64, order: i64, packet: i64, mark: i64) -> None:
        self.position: i64 = 0
        self.time_us: i64 = time_us
        self.order: i64 = order
        self.packet: i64 = packet
        self.mark: i64 = mark
        self.again: bool = False


@mypyc_attr(acyclic=True)
class Sighting:
    """A segment as it was captured: for people who look at what happened between a request and its reply.

    `sequence` and `length` are of its bytes, `acknowledgement` is -1 without one. `remark`: "", "again"
    (bytes that had been captured), "late" (new bytes that follow higher ones), "acknowledged" (the same, but
    received before), "captured twice", "keep-alive".
    """

    __slots__ = (
        "acknowledgement",
        "flags",
        "length",
        "order",
        "packet",
        "remark",
        "sequence",
        "time_us",
    )

    def __init__(
        self,
        time_us: int,
        order: int,
        packet: int,
        flags: int,
        sequence: int,
        length: int,
        acknowledgement: int,
        remark: str,
    ) -> None:
        self.time_us: Final = time_us
        self.order: Final = order
        self.packet: Final = packet
        self.flags: Final = flags
        self.sequence: Final = sequence
        self.length: Final = length
        self.acknowledgement: Final = acknowledgement
        self.remark: Final = remark


@mypyc_attr(acyclic=True)
class Transmission:
    """How one message was transmitted, as far as this capture shows it. Times in microseconds since 1970.

    `sequence`: the TCP sequence number of its first byte. `packets`: those with bytes of it; `resent_bytes`:
    bytes of it that were sent more than once; both grow while it is sent again. `first_us`: the first copy of
    its last byte; `own_us`: when all its own bytes had been captured; `readable_us`: when all bytes of the
    stream up to its end had been, which is when its receiver can read it; each -1 if unknown. `order` and
    `packet`: those of the packet of `first_us`. `mark`: as of the segment. `missing`: bytes of it that were
    not captured. `early_copy`: whether a copy was sent before those that were captured, if this is the
    sender's end; `missed_copy`: whether some of its bytes were acknowledged before they were captured;
    `blind`: whether some were captured before any acknowledgment, so that copies may have been received
    before the capture began. `cuts` and `repeats`: places in it where a packet begins, and (start, end, time)
    of what was sent again. `acknowledgement`: the segment without bytes that acknowledges its end, if asked
    for.
    """

    __slots__ = (
        "acknowledgement",
        "blind",
        "cuts",
        "early_copy",
        "end",
        "first_us",
        "mark",
        "missed_copy",
        "missing",
        "order",
        "own_us",
        "packet",
        "packets",
        "readable_us",
        "repeats",
        "resent_bytes",
        "sequence",
        "start",
    )

    def __init__(self, start: i64, end: i64, sequence: i64) -> None:
        self.start: i64 = start
        self.end: i64 = end
        self.sequence: i64 = sequence
        self.packets: i64 = 0
        self.resent_bytes: i64 = 0
        self.first_us: i64 = -1
        self.own_us: i64 = -1
        self.readable_us: i64 = -1
        self.order: i64 = -1
        self.packet: i64 = -1
        self.mark: i64 = 0
        self.missing: i64 = 0
        self.early_copy: bool = False
        self.missed_copy: bool = False
        self.blind: bool = False
        self.cuts: list[int] = NO_CUTS
        self.repeats: list[tuple[int, int, int]] = NO_REPEATS
        self.acknowledgement: Acknowledgement | None = None

    @property
    def once(self) -> bool:
        """Whether each of its bytes was captured exactly once."""
        return not (self.repeats or self.missing or self.early_copy or self.missed_copy)

    @property
    def interface(self) -> int:
        """The index of the interface that captured its last byte."""
        return int(self.mark >> 16)

    def repeat(self, start: i64, end: i64, time_us: i64) -> None:
        """Count a packet that sends the positions `start` to `end` again, if any of them are its own."""
        first: i64 = max(start, self.start) - self.start
        last: i64 = min(end, self.end) - self.start
        if first >= last:
            return
        if self.repeats is NO_REPEATS:
            self.repeats = []
        self.repeats.append((int(first), int(last), int(time_us)))
        self.packets += 1
        self.resent_bytes += last - first


# Most messages are sent once, in a packet: these are their lists then, and never changed.
NO_CUTS: Final[list[int]] = []
NO_REPEATS: Final[list[tuple[int, int, int]]] = []


class Resent:
    """What was sent again of messages that are counted: (packets, bytes) by the number of each."""

    def __init__(self) -> None:
        self.copies: Final[dict[int, tuple[int, int]]] = {}

    def add(self, number: i64, size: i64) -> None:
        """Count a packet with bytes of a message."""
        copies = self.copies
        packets, before = copies.get(number, (0, 0))
        copies[number] = (packets + 1, before + size)
        if len(copies) > RESENT:
            for old in list(copies)[: RESENT // 2]:
                del copies[old]

    def take(self, number: int) -> tuple[int, int]:
        """The packets and bytes of a message, which are forgotten."""
        return self.copies.pop(number, (0, 0))


# What is kept of a message that is counted: its positions, when it was captured, its number.
_START: Final = 0
_END: Final = 1
_TIME: Final = 2
_NUMBER: Final = 3
_COUNTED: Final = 4  # words of each


class History:
    """One direction of a connection. Positions count from the first sequence number that was seen.

    `log`: the last segments, if it was asked for (`logs`).
    """

    def __init__(self, logs: bool) -> None:
        # what every packet needs comes first, so that it is in few lines of the processor's cache
        self._begun: bool = False
        self._base: i64 = 0
        self._high: i64 = 0  # end of the highest bytes
        self._acked: i64 = NO_ACKNOWLEDGEMENT  # the position up to which the other side has acknowledged
        self._stretches: list[Stretch] = []  # in order of position, none overlaps another
        self._head: i64 = 0  # the first stretch that is not wholly before the next message
        self._logs: Final = logs
        self._repeats: list[Stretch] = []  # what was sent again, since the last message
        self._counted: vec[i64] = vec[i64]()  # as `_recent` of those that are counted, _COUNTED words each
        self._resent: Resent | None = None
        self._unpruned: i64 = 0
        self._recent: list[Transmission] = []  # messages of which more may be sent again
        self._floor: i64 = -_MODULUS  # bytes below this are no longer in it
        self._reach: i64 = 0  # end of what the messages so far have looked at
        self._looked: bool = False
        self._latest_order: i64 = -1  # of the packets up to there, the last one; and its time
        self._latest_us: i64 = -1
        self._hole_end: i64 = NO_ACKNOWLEDGEMENT  # of the last hole that was neither filled nor acknowledged
        self._alone: list[Acknowledgement] = []  # those that no message took, in order of position
        self.log: list[Sighting] = []

    def acknowledge(self, number: i64) -> None:
        """Take an acknowledgment number of the other side."""
        if not self._begun:
            self._begun = True
            self._base = number
        position = self._place(number)
        if position > self._acked:
            self._acked = position

    def acknowledge_alone(self, number: i64, new: Acknowledgement) -> None:
        """Take the acknowledgment number of a segment without bytes, which sets its position."""
        position = self._place(number)
        new.position = position
        recent = self._recent
        index: i64 = len(recent) - 1
        while index >= 0 and recent[index].end >= position:
            message = recent[index]
            if message.end == position:
                if message.acknowledgement is None:
                    message.acknowledgement = new
                else:
                    _repeat_of(message.acknowledgement, new)
                return
            index -= 1
        alone = self._alone
        index = len(alone) - 1
        while index >= 0 and alone[index].position > position:
            index -= 1
        if index >= 0 and alone[index].position == position:
            _repeat_of(alone[index], new)
            return
        alone.insert(index + 1, new)
        if len(alone) > STRETCHES:
            del alone[: STRETCHES // 2]

    def add(
        self,
        sequence: i64,
        length: i64,
        time_us: i64,
        order: i64,
        packet: i64,
        acknowledgement: i64,
        mark: i64,
    ) -> str:
        """Take a segment with bytes; the remark of its `Sighting`."""
        if not self._begun:
            self._begun = True
            self._base = sequence
        start = self._place(sequence)
        end: i64 = start + length
        stretch = Stretch(start, end, time_us, order, packet, acknowledgement, mark)
        if self._acked == NO_ACKNOWLEDGEMENT:
            stretch.blind = True
        if start >= self._high:
            self._stretches.append(stretch)
            self._high = end
            if len(self._stretches) - self._head > STRETCHES:
                self._forget()
            return ""
        if length == 1 and end == self._high and self._acked >= end:
            return "keep-alive"
        if self._is_captured(stretch):
            return "captured twice"
        return self._fill(stretch)

    def note(self, sighting: Sighting) -> None:
        """Keep a segment in `log`, if it was asked for."""
        if len(self.log) >= 2 * LOGGED:
            del self.log[:LOGGED]
        self.log.append(sighting)

    @property
    def logs(self) -> bool:
        """Whether segments are kept in `log`."""
        return self._logs

    def take(self, first_sequence: i64, offset: i64, length: i64) -> Transmission:
        """The transmission of the stream's next message, at an offset from the byte with `first_sequence`.

        Messages are asked for in the order of the stream; those left out are passed over.
        """
        start = self._start_of(first_sequence, offset)
        end: i64 = start + length
        message = Transmission(start, end, (first_sequence + offset) & 0xFFFFFFFF)
        stretches = self._stretches
        if not self._looked:
            self._looked = True
            self._reach = start
        index = self._head
        count: i64 = len(stretches)
        own: i64 = -1
        while index < count:
            stretch = stretches[index]
            if stretch.start >= end:
                break
            self._hole(stretch.start, message)
            if stretch.end > self._reach:
                self._reach = stretch.end
            if not stretch.needless and stretch.order > self._latest_order:
                self._latest_order = stretch.order
                self._latest_us = stretch.time_us
            if stretch.end > start:
                message.packets += 1
                if stretch.start > start:
                    if message.cuts is NO_CUTS:
                        message.cuts = []
                    message.cuts.append(int(stretch.start - start))
                if stretch.late:
                    message.early_copy = True
                if stretch.needless:
                    message.missed_copy = True
                if stretch.blind:
                    message.blind = True
                if not stretch.needless and stretch.order > own:
                    own = stretch.order
                    message.own_us = stretch.time_us
                if stretch.end >= end:
                    message.packet = stretch.packet
                    message.mark = stretch.mark
                    message.order = stretch.order
                    if not stretch.needless:
                        message.first_us = stretch.time_us
            if stretch.end > end:
                break
            index += 1
        self._hole(end, message)
        if message.first_us >= 0 and self._acked >= self._hole_end:
            message.readable_us = self._latest_us
        if message.missing:
            message.own_us = message.readable_us = -1
        for repeat in self._repeats:
            message.repeat(repeat.start, repeat.end, repeat.time_us)
        if self._alone:
            self._take_acknowledgement(message)
        self._head = index
        self._recent.append(message)
        self._age(end)
        return message

    def count(self, first_sequence: i64, offset: i64, length: i64, number: i64, resent: Resent) -> i64:
        """The packets of the stream's next message; what is sent of it again is added to `resent`.

        As `take`, for those who need no more of it: all messages of a direction are taken, or all counted.
        """
        start = self._start_of(first_sequence, offset)
        end: i64 = start + length
        stretches = self._stretches
        index = self._head
        count: i64 = len(stretches)
        packets: i64 = 0
        time_us: i64 = 0
        while index < count:
            stretch = stretches[index]
            if stretch.start >= end:
                break
            if stretch.end > start:
                packets += 1
                time_us = stretch.time_us
            if stretch.end > end:
                break
            index += 1
        self._head = index
        self._resent = resent
        for repeat in self._repeats:
            again: i64 = min(repeat.end, end) - max(repeat.start, start)
            if again > 0:
                resent.add(number, again)
        counted = append(append(self._counted, start), end)
        self._counted = append(append(counted, time_us), number)
        self._age(end)
        return packets

    def _start_of(self, first_sequence: i64, offset: i64) -> i64:
        """The position at an offset from the byte with a sequence number."""
        distance: i64 = (first_sequence - self._base) & 0xFFFFFFFF
        if distance >= _HALF:
            distance -= _MODULUS
        return distance + offset

    def _age(self, end: i64) -> None:
        """Look now and then at what can be dropped, after a message that ends at a position."""
        self._unpruned += 1
        if self._unpruned >= PRUNED:
            self._unpruned = 0
            self._prune(end)

    def _take_acknowledgement(self, message: Transmission) -> None:
        """Give a message its acknowledgement, and drop those before it."""
        alone = self._alone
        passed: i64 = 0
        while passed < len(alone) and alone[passed].position < message.end:
            passed += 1
        if passed < len(alone) and alone[passed].position == message.end:
            message.acknowledgement = alone[passed]
            passed += 1
        del alone[:passed]

    def _hole(self, until: i64, message: Transmission) -> None:
        """Take note of a hole between what has been looked at and a position."""
        if until <= self._reach:
            return
        lost: i64 = until - max(self._reach, message.start)
        if lost > 0:
            message.missing += lost
        if until > self._acked:
            self._hole_end = until
        self._reach = until

    def _place(self, sequence: i64) -> i64:
        """The position of a sequence number: the one nearest to the highest."""
        distance: i64 = (sequence - self._base - self._high) & 0xFFFFFFFF
        if distance >= _HALF:
            distance -= _MODULUS
        return self._high + distance

    def _after(self, position: i64) -> i64:
        """The index of the first stretch that ends after a position."""
        low: i64 = 0
        high: i64 = len(self._stretches)
        while low < high:
            middle = (low + high) // 2
            if self._stretches[middle].end <= position:
                low = middle + 1
            else:
                high = middle
        return low

    def _is_captured(self, new: Stretch) -> bool:
        """Whether a packet is one that was captured before, not a copy that was sent again."""
        for repeat in self._repeats:
            if _is_same(repeat, new):
                return True
        at = self._after(new.start)
        return at < len(self._stretches) and _is_same(self._stretches[at], new)

    def _fill(self, new: Stretch) -> str:
        """Take a segment that begins below the highest bytes: what is new in it, and what was sent again."""
        position: i64 = max(new.start, self._floor)
        if new.start < position:
            self._repeat(new, new.start, min(position, new.end))
        at = self._after(position)
        remark = "again"
        while position < new.end:
            stretches = self._stretches
            if at < len(stretches) and stretches[at].start <= position:
                until: i64 = min(stretches[at].end, new.end)
                self._repeat(new, position, until)
                position = until
                at += 1
                continue
            stop: i64 = new.end
            if at < len(stretches) and stretches[at].start < stop:
                stop = stretches[at].start
            part = Stretch(position, stop, new.time_us, new.order, new.packet, new.acknowledgement, new.mark)
            part.first = new.first
            part.last = new.last
            part.blind = new.blind
            part.needless = self._acked >= stop
            part.late = at < len(stretches) and new.time_us - stretches[at].time_us > EARLY_US
            remark = "acknowledged" if part.needless else "late"
            stretches.insert(at, part)
            if at < self._head:
                self._head += 1
                if not part.needless:
                    self._latest_order = part.order
                    self._latest_us = part.time_us
            at += 1
            if stop > self._high:
                self._high = stop
            position = stop
        return remark

    def _repeat(self, new: Stretch, start: i64, end: i64) -> None:
        """Count bytes that were sent again."""
        part = Stretch(start, end, new.time_us, new.order, new.packet, new.acknowledgement, new.mark)
        part.first = new.first
        part.last = new.last
        self._repeats.append(part)
        recent = self._recent
        index: i64 = len(recent) - 1
        while index >= 0 and recent[index].end > start:
            recent[index].repeat(start, end, new.time_us)
            index -= 1
        counted = self._counted
        index = len(counted) - _COUNTED
        resent = self._resent
        while index >= 0 and counted[index + _END] > start and resent is not None:
            size: i64 = min(end, counted[index + _END]) - max(start, counted[index + _START])
            if size > 0:
                resent.add(counted[index + _NUMBER], size)
            index -= _COUNTED
        if len(self._repeats) > STRETCHES:
            del self._repeats[: STRETCHES // 2]

    def _prune(self, end: i64) -> None:
        """Drop what no later segment can concern, after a message that ends at a position."""
        newest: i64 = self._stretches[len(self._stretches) - 1].time_us if self._stretches else 0
        head = self._head
        if head > ALWAYS_KEPT:
            drop: i64 = max(0, head - STRETCHES_KEPT)
            while drop < head - ALWAYS_KEPT and self._stretches[drop].time_us < newest - SAME_PACKET_US:
                drop += 1
            if drop >= STRETCHES_KEPT // 4 or drop > head // 2:
                self._drop(drop)
        if self._repeats:
            self._repeats = [
                one for one in self._repeats if one.end > end or one.time_us > newest - SAME_PACKET_US
            ]
        recent = self._recent
        count: i64 = len(recent)
        old: i64 = max(0, count - KEPT)
        while old < count - 1 and recent[old].end <= self._acked and recent[old].own_us < newest - KEPT_US:
            old += 1
        if old > count // 2 or old > KEPT // 4:
            del recent[:old]
        counted = self._counted
        count = len(counted) // _COUNTED
        old = max(0, count - KEPT)
        while old < count - 1:
            at = old * _COUNTED
            if counted[at + _END] > self._acked or counted[at + _TIME] >= newest - KEPT_US:
                break
            old += 1
        if old > count // 2 or old > KEPT // 4:
            self._counted = counted[old * _COUNTED :]

    def _forget(self) -> None:
        """Drop half of the stretches that wait, as no message takes them."""
        self._drop(self._head + STRETCHES // 2)

    def _drop(self, number: i64) -> None:
        self._floor = self._stretches[number - 1].end
        del self._stretches[:number]
        self._head = max(0, self._head - number)


def _is_same(old: Stretch, new: Stretch) -> bool:
    """Whether two captured packets with the same bytes are one."""
    if old.first != new.first or old.last != new.last or old.acknowledgement != new.acknowledgement:
        return False
    return _is_one(old.mark, new.mark, new.time_us - old.time_us)


def _repeat_of(old: Acknowledgement, new: Acknowledgement) -> None:
    """Take note of another segment that acknowledges the same, if it is not the same captured twice."""
    if not _is_one(old.mark, new.mark, new.time_us - old.time_us):
        old.again = True


def _is_one(old: i64, new: i64, passed: i64) -> bool:
    """Whether packets that agree otherwise are one, by their marks and the time between them."""
    named: i64 = old & IDENTIFICATION
    if named != new & IDENTIFICATION:
        return False
    limit: i64 = SAME_PACKET_US if named else SAME_UNNAMED_US
    return -limit <= passed <= limit
