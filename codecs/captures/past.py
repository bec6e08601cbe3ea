"""The last bytes that a stream gave out, which those that come again are compared with."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.captures.flow import State

PAST: Final = 1 << 15  # bytes of a direction
LAST: Final = 1 << 11  # of them, where those of all streams are too many
PAST_SAVED: Final = 1 << 13  # of them go on to another process
PART_COST: Final = 64  # what a part counts besides its bytes


class Past:
    """The last bytes of a direction that were given out; `size`: what they count.

    `data` came in its order and ends at the position `end`. It is a copy, since payloads that stay where they
    are would be spread over memory, with that of their packets between them. `others` do not follow each
    other: each has its position, the newest is the last.
    """

    __slots__ = ("data", "end", "others", "size")

    def __init__(self) -> None:
        self.data: BytesWriter = BytesWriter()
        self.end: i64 = 0
        self.others: list[tuple[int, bytes]] = []
        self.size: i64 = PART_COST

    def add(self, position: i64, data: bytes) -> i64:
        """Keep bytes that were given out in their order; by how much `size` grew."""
        before = self.size
        if position != self.end and len(self.data):
            self.others.append((int(self.end) - len(self.data), self.data.getvalue()))
            self.size += PART_COST
            self.data = BytesWriter()
        self.data.write(data)
        self.end = position + len(data)
        self.size += len(data)
        if self.size > 2 * PAST:  # seldom, so that what is left is seldom moved
            self._trim(PAST)
        return self.size - before

    def add_late(self, position: int, data: bytes) -> i64:
        """Keep bytes that came late; by how much `size` grew."""
        before = self.size
        self.others.append((position, data))
        self.size += len(data) + PART_COST
        if self.size > 2 * PAST:
            self._trim(PAST)
        return self.size - before

    def newest_first(self) -> list[tuple[int, bytes]]:
        """All that is kept, with positions; where some overlap, the first was given out last."""
        found = self.others[::-1]
        found.append((int(self.end) - len(self.data), self.data.getvalue()))
        return found

    def shorten(self) -> bool:
        """Keep only the last bytes of those that came in their order; whether that is less than before."""
        before = self.size
        self._trim(LAST)
        return self.size < before

    def _trim(self, size: i64) -> None:
        """Drop the oldest, what does not follow first, down to a size."""
        count: i64 = 0
        total: i64 = len(self.others)
        while self.size > size and count < total:
            self.size -= len(self.others[count][1]) + PART_COST
            count += 1
        del self.others[:count]
        extra: i64 = self.size - size
        if extra > 0:
            data = self.data.getvalue()
            self.data = BytesWriter()
            self.data.write(data[extra:])
            self.size -= extra

    def save(self) -> State:
        """The newest of it as plain values, PAST_SAVED bytes or one part."""
        data = self.data.getvalue()[-PAST_SAVED:]
        room = PAST_SAVED - len(data)
        others: list[tuple[int, bytes]] = []
        for position, part in reversed(self.others):
            room -= len(part)
            if others and room < 0:
                break
            others.append((position, part))
        return (int(self.end), data, tuple(reversed(others)))

    @staticmethod
    def load(state: State) -> "Past":
        """What `save` gave."""
        past = Past()
        end, data, others = state
        past.end = end
        past.data.write(data)
        past.others = [(position, part) for position, part in others]
        past.size += len(data) + sum([len(part) + PART_COST for _, part in past.others])
        return past
