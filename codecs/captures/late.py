"""Bytes that come after their stream has moved on: sent again, or never seen before.

They are compared with the last pieces that were given out. What is equal to them is retransmitted; all else
is late, and is given out in runs of bytes that follow each other.
"""

from typing import Final

from wirelens.codecs.captures.flow import Part, Piece, State
from wirelens.codecs.captures.pcap import FILE_SHIFT

PAST: Final = 1 << 15  # bytes given out last, of a direction, that are compared with what comes again
PIECE_COST: Final = 256  # what a piece that is kept counts besides its bytes
PAST_SAVED: Final = 1 << 13  # of them go on to another process
HOLES_KEPT: Final = 1 << 10  # of a direction; then the oldest is forgotten
RUN: Final = 1 << 14  # bytes of one run at most

Hole = tuple[int, int]  # the positions of the first of the missing bytes, and after the last
Span = tuple[int, int, str]  # bytes from and to, and what they are: as in `Piece.late`, "" if equal


class LateRun:
    """Late bytes, each part after the one before, all of one file.

    `what` as in `Piece.late`; `parts` as there, with positions for offsets.
    """

    __slots__ = ("data", "end", "parts", "start", "what")

    def __init__(self, what: str, start: int) -> None:
        self.what: str = what
        self.start: int = start
        self.end: int = start
        self.data: list[bytes] = []
        self.parts: list[Part] = []

    def takes(self, what: str, position: int, size: int, packets: tuple[int, ...]) -> bool:
        """Whether such bytes continue the run."""
        if what != self.what or position != self.end or position + size - self.start > RUN:
            return False
        return packets[-1] >> FILE_SHIFT == self.parts[-1][2][-1] >> FILE_SHIFT

    def add(self, data: bytes, time_us: int, packets: tuple[int, ...]) -> None:
        """Take the bytes at `end`."""
        self.end += len(data)
        self.data.append(data)
        self.parts.append((self.end, time_us, packets))

    def waiting(self) -> list[tuple[int, int]]:
        """The sizes of the parts, and the number of the packet each came in."""
        return [(len(data), part[2][-1]) for data, part in zip(self.data, self.parts, strict=True)]

    def save(self) -> State:
        """The run as plain values."""
        return (self.what, self.start, tuple(self.data), tuple(self.parts))

    @staticmethod
    def load(state: State) -> "LateRun":
        """The run that `save` gave."""
        what, start, parts, places = state
        run = LateRun(what, start)
        for data, (_, time_us, packets) in zip(parts, places, strict=True):
            run.add(data, time_us, tuple(packets))
        return run


def compared(
    past: list[Piece], holes: list[Hole] | None, origin: int, position: int, data: bytes
) -> list[Span]:
    """What bytes at a position are, by the last pieces of a stream and its holes."""
    found: list[Span] = []
    open_parts = [(0, len(data))]
    for piece in reversed(past):
        at = piece.offset + origin - position  # of the piece, in data
        old = piece.data
        rest: list[tuple[int, int]] = []
        for start, end in open_parts:
            first, last = max(start, at), min(end, at + len(old))
            if first >= last:
                rest.append((start, end))
                continue
            equal = data[first:last] == old[first - at : last - at]
            found.append((first, last, "" if equal else "different"))
            rest += [part for part in ((start, first), (last, end)) if part[0] < part[1]]
        open_parts = rest
        if not open_parts:
            break
    before = origin - position  # what came before the stream began
    for hole in [(-1 << 62, origin), *(holes or ())] if before > 0 else holes or ():
        rest = []
        for start, end in open_parts:
            first, last = max(start, hole[0] - position), min(end, hole[1] - position)
            if first >= last:
                rest.append((start, end))
                continue
            found.append((first, last, "missed"))
            rest += [part for part in ((start, first), (last, end)) if part[0] < part[1]]
        open_parts = rest
    found += [(start, end, "old") for start, end in open_parts]
    found.sort()
    return found


def filled(holes: list[Hole], start: int, end: int) -> list[Hole]:
    """The holes without the positions from `start` to `end`."""
    left: list[Hole] = []
    for first, last in holes:
        left += [hole for hole in ((first, min(last, start)), (max(first, end), last)) if hole[0] < hole[1]]
    return left


def saved_past(past: list[Piece]) -> State:
    """The last of these pieces as plain values: at least one, then at most PAST_SAVED bytes."""
    saved: list[State] = []
    size = 0
    for piece in reversed(past):
        size += len(piece.data)
        if saved and size > PAST_SAVED:
            break
        saved.append(piece.save())
    saved.reverse()
    return tuple(saved)
