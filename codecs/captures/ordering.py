"""The pieces of both directions of a connection in the order in which they were complete.

Bytes after a hole wait until it is filled or given up. What the other side sent meanwhile, knowing them, is
younger: its pieces wait too, so that a reply does not come out before its request. In a connection joined in
the middle the first pieces of one direction wait a short time for the first bytes of the other one, as these
show which of them answer a request that is captured later.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.flow import Flow, Piece, State
from wirelens.codecs.captures.sides import Side

WAITING_PIECES: Final = 1 << 10  # pieces of a connection that may wait for the other direction
WAITING_BYTES: Final = 1 << 20  # their bytes
WAITING_TIME_US: Final = 1_500_000  # how long they may wait; longer than it takes to give up a hole
SILENT_US: Final = 100_000  # how long they may wait for a direction of which nothing came yet
SILENT_BYTES: Final = 1 << 16  # and their bytes


def must_wait(piece: Piece, other: Side) -> bool:
    """Whether earlier bytes of the other direction are still to be given out, or may come."""
    if not other.starts:
        return False
    if not other.started:
        return True
    if piece.complete_us < other.waiting_since:
        return False
    return piece.acked < 0 or other.place(piece.acked) > other.next


def may_answer(piece: Piece, other: Side) -> bool:
    """Whether a piece was sent knowing bytes of the other direction, of which none came yet but may."""
    if other.begun or other.ended or piece.acked < 0:
        return False
    return not other.has_hint or 0 < (piece.acked - other.hint) & 0xFFFFFFFF < 1 << 31


class Ordering:
    """The pieces of one connection that wait, by direction; `silent`: for the first bytes of one of them."""

    __slots__ = ("first", "second", "silent", "size")

    def __init__(self, silent: bool = False) -> None:
        self.silent: bool = silent
        self.first: list[Piece] = []
        self.second: list[Piece] = []
        self.size: i64 = 0

    def add(self, pieces: list[Piece]) -> None:
        """Let pieces wait."""
        for piece in pieces:
            (self.second if piece.direction else self.first).append(piece)
            self.size += len(piece.data)

    def release(self, first: Side, second: Side, time_us: i64, pieces: list[Piece]) -> bool:
        """Append the pieces that no longer wait; whether others still do."""
        full = self.size > WAITING_BYTES or len(self.first) + len(self.second) > WAITING_PIECES
        patient = not full and self.size <= SILENT_BYTES and time_us - self._oldest_us() <= SILENT_US
        while self.first or self.second:
            direction: i64 = 0
            if not self.first or (self.second and self.second[0].complete_us < self.first[0].complete_us):
                direction = 1
            queue, opposite = (self.second, self.first) if direction else (self.first, self.second)
            piece = queue[0]
            late = full or time_us - piece.complete_us > WAITING_TIME_US
            other = first if direction else second
            if not opposite and not late:
                if must_wait(piece, other) or (patient and may_answer(piece, other)):
                    return True
            self.size -= len(piece.data)
            piece.opposite = piece.flow.sent_by(1 - piece.direction).sequence
            pieces.append(queue.pop(0))
        return False

    def waiting(self) -> list[tuple[int, int]]:
        """The bytes that wait: how many, and the number of the packet they came in."""
        late = [*self.first, *self.second]
        return [(len(piece.data), piece.packets[-1]) for piece in late if piece.data]

    def _oldest_us(self) -> i64:
        """When the first of the pieces was complete."""
        queue = self.first or self.second
        return queue[0].complete_us if queue else 0

    def save(self) -> State:
        """The pieces as plain values."""
        return (tuple([piece.save() for piece in self.first]), tuple([piece.save() for piece in self.second]))

    @staticmethod
    def load(flow: Flow, state: State) -> "Ordering":
        """What `save` gave, of a flow."""
        ordering = Ordering(True)
        for direction in (0, 1):
            ordering.add([Piece.load(flow, direction, piece) for piece in state[direction]])
        return ordering


def needed(new: list[Piece], first: Side, second: Side) -> Ordering | None:
    """Where the next pieces of a connection wait, if they have to; none have waited so far.

    Those of a direction joined in the middle may wait for the first of the other one.
    """
    if not new:
        return None
    direction = new[0].direction
    side, other = (second, first) if direction else (first, second)
    for piece in new:
        if piece.direction != direction or must_wait(piece, other):
            return Ordering()
    if side.known or new[0].offset:
        return None
    return Ordering(True) if any(may_answer(piece, other) for piece in new) else None
