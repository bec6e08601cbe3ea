"""The state of one direction of a connection while its bytes are put in order."""

from bisect import bisect_left
from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.captures.flow import Flow, State
from wirelens.codecs.captures.late import Hole, LateRun
from wirelens.codecs.captures.past import Past
from wirelens.codecs.codes import Note

NOTES_KEPT: Final = 16  # notes that wait for the next piece of a direction

_MODULUS: Final = 1 << 32
_HALF: Final = 1 << 31


@mypyc_attr(acyclic=True)
class Held:
    """A segment that waits for earlier bytes. `acked` as in a piece."""

    __slots__ = ("acked", "data", "missing", "packets", "time_us")

    def __init__(self, data: bytes, missing: i64, time_us: i64, packets: tuple[int, ...], acked: int) -> None:
        self.data: bytes = data
        self.missing: i64 = missing
        self.time_us: i64 = time_us
        self.packets: tuple[int, ...] = packets
        self.acked: int = acked


# Most streams never wait: these are their lists then, and never changed.
NO_STARTS: Final[list[int]] = []
NO_HELD: Final[list[Held]] = []

NO_DOUBT: Final = -(1 << 62)  # no position
NO_FLOOR: Final = 1 << 62  # not known


class Side:
    """The state of one direction. Positions count from `base`, the first sequence number that was seen."""

    __slots__ = (
        "acked",
        "base",
        "begun",
        "confirmed",
        "direction",
        "doubt",
        "early",
        "ended",
        "fin",
        "floor",
        "flow",
        "gap",
        "has_acked",
        "has_fin",
        "has_hint",
        "held",
        "hint",
        "hole_end",
        "holes",
        "known",
        "last_packets",
        "last_time",
        "late",
        "next",
        "notes",
        "number",
        "origin",
        "past",
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
        self.acked: i64 = 0  # sequence number that the other side acknowledged
        self.confirmed: int = -1  # acknowledgment number of its last segment
        self.hint: i64 = 0  # sequence number of an empty segment
        self.floor: i64 = NO_FLOOR  # position that the other side had acknowledged when the first bytes came
        self.doubt: i64 = NO_DOUBT  # position of a waiting byte that may be a keep-alive's
        # segments before the start was known: those with new bytes, and those of the other side that confirm
        # the first of them
        self.early: i64 = 0
        self.hole_end: i64 = 0  # end of the bytes that the capture cut off
        self.gap: i64 = 0  # bytes missing before the next piece
        self.starts: list[int] = NO_STARTS
        self.held: list[Held] = NO_HELD
        self.waiting: i64 = 0
        self.waiting_since: i64 = 0
        self.past: Past | None = None  # what was given out last, to compare what comes again with it
        self.holes: list[Hole] | None = None  # missing bytes that were given up
        self.late: LateRun | None = None  # what came last, if it came after the stream had moved on
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
        """Fix the sequence number that counts as position 0."""
        self.base = sequence
        self.next = 0
        self.begun = True
        if self.has_acked:
            self.floor = self.place(self.acked)

    def start(self, position: i64) -> None:
        """Start the stream at a position."""
        self.started = True
        self.origin = position
        self.next = position
        self.hole_end = position
        self.flow.sent_by(self.direction).sequence = int((self.base + position) & 0xFFFFFFFF)

    def expect(self) -> None:
        """Take the first byte that waits for that of the stream as long as the start is not known."""
        self.flow.sent_by(self.direction).sequence = int((self.base + self.starts[0]) & 0xFFFFFFFF)

    def may_begin_at(self, sequence: i64, acked: i64) -> bool:
        """Whether the first byte may have a sequence number, by the acknowledgments of both directions.

        `acked`: the number that its SYN acknowledges, -1 if none; those that come later are not less.
        """
        if acked >= 0 and self.confirmed >= 0 and (self.confirmed - acked) & 0xFFFFFFFF >= _HALF:
            return False
        return not self.has_acked or (self.acked - sequence) & 0xFFFFFFFF < _HALF

    def is_single(self) -> bool:
        """Whether the first byte that waits came alone, with none waiting after it."""
        if not self.starts or len(self.held[0].data) != 1 or self.held[0].missing:
            return False
        return len(self.starts) == 1 or self.starts[1] != self.starts[0] + 1

    def is_zero(self) -> bool:
        """Whether the waiting byte in doubt is 0."""
        at: i64 = bisect_left(self.starts, self.doubt)
        return at < len(self.starts) and self.starts[at] == self.doubt and self.held[at].data == b"\0"

    def is_next(self, sequence: i64) -> bool:
        """Whether a segment of a stream without a start is the next one, from what both sides sent."""
        if self.started:
            return False
        return (self.has_hint and self.hint == sequence) or (self.has_acked and self.acked == sequence)

    def note(self, code: str, position: i64, text: str) -> None:
        """Add a note at a position of the stream."""
        if self.notes is None:
            self.notes = []
        if len(self.notes) < NOTES_KEPT:
            self.notes.append(Note(code, position - self.origin, text))

    def save(self) -> State:
        """The side as plain values."""
        held = [
            (part.data, int(part.missing), int(part.time_us), part.packets, part.acked) for part in self.held
        ]
        late = self.late
        past = () if self.past is None else self.past.save()
        return (
            self.number,
            (self.begun, self.started, self.known, self.ended, self.has_fin, self.has_acked, self.has_hint),
            (int(self.base), int(self.origin), int(self.next), int(self.fin), int(self.acked)),
            (int(self.hint), int(self.doubt), int(self.hole_end), int(self.gap), self.confirmed),
            int(self.floor),
            (int(self.early), int(self.waiting), int(self.waiting_since)),
            tuple(self.starts),
            tuple(held),
            (int(self.last_time), self.last_packets, past, tuple(self.holes or ())),
            () if late is None else late.save(),
            tuple([tuple(note) for note in self.notes or ()]),
        )

    @staticmethod
    def load(flow: Flow, direction: i64, state: State) -> "Side":
        """The side that `save` gave, of a flow and direction."""
        number, flags, positions, more, floor, waits, starts, held, last, late, notes = state
        side = Side(number, flow, direction)
        side.floor = floor
        side.begun, side.started, side.known, side.ended, side.has_fin, side.has_acked, side.has_hint = flags
        side.base, side.origin, side.next, side.fin, side.acked = positions
        side.hint, side.doubt, side.hole_end, side.gap, side.confirmed = more
        side.early, side.waiting, side.waiting_since = waits
        if starts:
            side.starts = list(starts)
            side.held = [Held(part[0], part[1], part[2], tuple(part[3]), part[4]) for part in held]
        side.last_time, side.last_packets = last[0], tuple(last[1])
        if last[2]:
            side.past = Past.load(last[2])
        if last[3]:
            side.holes = [(hole[0], hole[1]) for hole in last[3]]
        if late:
            side.late = LateRun.load(late)
        if notes:
            side.notes = [Note(code, position, text) for code, position, text in notes]
        return side
