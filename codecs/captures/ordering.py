"""The pieces of both directions of a connection in the order in which they were complete.

Bytes after a hole wait until it is filled or given up. What the other side sent meanwhile, knowing them, is
younger: its pieces wait too, so that a reply does not come out before its request.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.flow import Flow, Piece, State
from wirelens.codecs.captures.sides import Side

WAITING_PIECES: Final = 1 << 10  # pieces of a connection that may wait for the other direction
WAITING_BYTES: Final = 1 << 20  # their bytes
WAITING_TIME_US: Final = 1_500_000  # how long they may wait; longer than it takes to give up a hole


def must_wait(piece: Piece, other: Side) -> bool:
    """Whether earlier bytes of the other direction are still to be given out, or may come."""
    if not other.starts:
        return False
    if not other.started:
        return True
    if piece.complete_us < other.waiting_since:
        return False
    return piece.acked < 0 or other.place(piece.acked) > other.next


class Ordering:
    """The pieces of one connection that wait, by direction."""

    __slots__ = ("first", "second", "size")

    def __init__(self) -> None:
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
        while self.first or self.second:
            direction: i64 = 0
            if not self.first or (self.second and self.second[0].complete_us < self.first[0].complete_us):
                direction = 1
            queue, opposite = (self.second, self.first) if direction else (self.first, self.second)
            piece = queue[0]
            late = full or time_us - piece.complete_us > WAITING_TIME_US
            if not opposite and not late and must_wait(piece, first if direction else second):
                return True
            self.size -= len(piece.data)
            piece.opposite = piece.flow.sent_by(1 - piece.direction).sequence
            pieces.append(queue.pop(0))
        return False

    def save(self) -> State:
        """The pieces as plain values."""
        return (tuple([piece.save() for piece in self.first]), tuple([piece.save() for piece in self.second]))

    @staticmethod
    def load(flow: Flow, state: State) -> "Ordering":
        """What `save` gave, of a flow."""
        ordering = Ordering()
        for direction in (0, 1):
            ordering.add([Piece.load(flow, direction, piece) for piece in state[direction]])
        return ordering
