"""Bytes that come after their stream has moved on: sent again, or never seen before.

They are compared with the last bytes that were given out. What is equal to them is retransmitted; all else
is late, and is given out in runs of bytes that follow each other.
"""

from typing import Final

from wirelens.codecs.captures.flow import Part, State
from wirelens.codecs.captures.pcap import FILE_SHIFT

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
    past: list[tuple[int, bytes]], holes: list[Hole] | None, origin: int, position: int, data: bytes
) -> list[Span]:
    """What bytes at a position are, by what a stream gave out last, the newest first, and its holes."""
    found: list[Span] = []
    left = [(0, len(data))]
    for first, known in past:
        at = first - position  # of the known bytes, in data
        taken, left = _split(left, at, at + len(known))
        for start, end in taken:
            equal = data[start:end] == known[start - at : end - at]
            found.append((start, end, "" if equal else "different"))
        if not left:
            break
    if position < origin:  # the stream began after it
        taken, left = _split(left, 0, origin - position)
        found += [(start, end, "missed") for start, end in taken]
    for first, last in holes or ():
        taken, left = _split(left, first - position, last - position)
        found += [(start, end, "missed") for start, end in taken]
    found += [(start, end, "old") for start, end in left]
    found.sort()
    return found


def _split(
    spans: list[tuple[int, int]], first: int, last: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The parts of spans from `first` to `last`, and those outside."""
    if first >= last:
        return [], spans
    inside: list[tuple[int, int]] = []
    outside: list[tuple[int, int]] = []
    for start, end in spans:
        outside += [(start, min(end, first)), (max(start, last), end)]
        inside.append((max(start, first), min(end, last)))
    return [one for one in inside if one[0] < one[1]], [one for one in outside if one[0] < one[1]]


def filled(holes: list[Hole], start: int, end: int) -> list[Hole]:
    """The holes without the positions from `start` to `end`."""
    return _split(holes, start, end)[1]
