"""Several captures as one: packets, or runs of anything, in the order of their times.

Items are sorted by the running time of their file, which is the latest time in it so far, then by number; a
packet's number has that of its file in the bits above FILE_SHIFT. So the packets of a file keep their order
even where its clock goes back.
"""

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from wirelens.codecs.captures.containers import PacketReader
from wirelens.codecs.captures.flow import Piece
from wirelens.codecs.captures.packets import Dissector, Segment
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK, Packet
from wirelens.codecs.captures.reader import packet_notes
from wirelens.codecs.captures.streams import Assembler
from wirelens.codecs.codes import Note

PORTION: Final = 128  # pieces that are given out together
NO_START: Final = -(1 << 62)  # the first time of a file in which it is not known yet; before every time

Item = TypeVar("Item")

Key = tuple[int, int]  # running time in microseconds, and number with the file's


class Runs(Generic[Item]):
    """Runs of items, each sorted by its keys, merged.

    `turn`: whose run the last `take` was from; `keys`: those of that run; `start`: index of the first item
    that was taken.
    """

    def __init__(self) -> None:
        self.turn: int = -1
        self.keys: list[Key] = []
        self.start: int = 0
        self._heap: list[tuple[int, int, int]] = []  # the key of each run's next item, and its turn
        self._runs: dict[int, tuple[list[Key], list[Item], int]] = {}  # by turn; the index of the next item

    def add(self, turn: int, keys: list[Key], items: list[Item]) -> None:
        """Add a run. A turn has one run at a time."""
        if not items:
            return
        self._runs[turn] = (keys, items, 0)
        heapq.heappush(self._heap, (*keys[0], turn))

    @property
    def first(self) -> Key | None:
        """The key of the next item; None if there is none."""
        if not self._heap:
            return None
        time, number, _ = self._heap[0]
        return time, number

    def holds(self, turn: int) -> bool:
        """Whether items of a turn are left."""
        return turn in self._runs

    def take(self, limit: Key | None) -> list[Item]:
        """The next items, all of one run: up to the first one of another run, or to the limit if given."""
        _, _, turn = heapq.heappop(self._heap)
        self.turn = turn
        keys, items, start = self._runs[turn]
        self.keys = keys
        self.start = start
        other = self.first
        if other is not None and (limit is None or other < limit):
            limit = other
        if limit is None or keys[-1] < limit:
            del self._runs[turn]
            return items[start:] if start else items
        stop = bisect_left(keys, limit, start + 1)
        if stop == len(keys):
            del self._runs[turn]
        else:
            self._runs[turn] = (keys, items, stop)
            heapq.heappush(self._heap, (*keys[stop], turn))
        return items[start:stop]


def in_order(
    rows: Iterable[tuple[int, int, tuple[list[Key], list[Item]]]],
) -> Iterator[tuple[list[Item], list[Key], int]]:
    """The items of rows (time, number, run), which are given sorted by their first item.

    Each list comes from one row; with it the keys of that row, and the index of the first item's. Buffers one
    row plus those that overlap it in time.
    """
    runs: Runs[Item] = Runs()
    for turn, (time, number, (keys, items)) in enumerate(rows):
        key = (time, number)
        first = runs.first
        while first is not None and first < key:  # items before the new row's first one are complete
            yield runs.take(key), runs.keys, runs.start
            first = runs.first
        runs.add(turn, keys, items)
    while runs.first is not None:
        yield runs.take(None), runs.keys, runs.start


def start_of(head: bytes, whole: bool) -> tuple[str, int]:
    """The container of a file that begins with these bytes, and the time of the first packet in them.

    `whole`: whether the file ends with them. NO_START if there is no packet.
    """
    reader = PacketReader()
    packets = [packet for portion in reader.steps(head) for packet in portion]
    if whole:
        packets += reader.close()
    return reader.container, int(packets[0].time_us) if packets else NO_START


class _File:
    """A capture that is merged."""

    def __init__(self, number: int, start_us: int, point: bytes) -> None:
        self.key: Final[Key] = (start_us, number << FILE_SHIFT)  # before that of its first packet
        self.point: Final = point
        self.reader: PacketReader | None = None
        self.portions: Iterator[list[Packet]] | None = None  # of the chunk that is being read
        self.time_us: int = 0  # the running time
        self.ended: bool = False
        self.packets: int = 0
        self.notes: list[Note] = []


class MergedReader:
    """Chunks of several captures in, pieces of their streams out, as if the packets were in one capture.

    `starts` has the time of each file's first packet in microseconds, NO_START where it is not known; the
    numbers of files are the indexes. `points`, if given, has the point where each was captured, as a text of
    up to 16 bytes: streams of different points are different, even with the same addresses.

    `wanted` is the file that has to go on: `feed` takes its next chunk, `end` takes note of its end, `skip`
    goes on without it for now. Those files are `skipped` until `resume`. `wanted` is -1 after the end of the
    last one, and where all others are skipped. A file is asked for only when its packets are due, so few are
    open at a time. Packets have their file's number in the bits above FILE_SHIFT. Memory is that of one
    capture, and a chunk for each file that has begun and not ended.
    """

    def __init__(self, starts: Sequence[int], points: Sequence[bytes] = ()) -> None:
        self.assembler: Final = Assembler()
        self.wanted: int = -1
        self.skipped: Final[list[int]] = []
        self._unread: Final[list[int]] = []  # files that have to go on after `wanted`
        self._files: Final = [
            _File(number, start, points[number] if points else b"") for number, start in enumerate(starts)
        ]
        self._dissectors: Final[dict[bytes, Dissector]] = {}  # by point
        self._runs: Final[Runs[Packet]] = Runs()
        # numbers of files that have not begun, the last of them first
        self._later: Final = [
            number
            for _, number in sorted([(file.key, n) for n, file in enumerate(self._files)], reverse=True)
        ]
        if self._later:
            self.wanted = self._later.pop()

    def feed(self, chunk: bytes) -> Iterator[list[Piece]]:
        """The pieces that the next chunk of `wanted` completes, in portions."""
        file = self._files[self.wanted]
        if file.reader is None:
            file.reader = PacketReader()
        file.portions = file.reader.steps(chunk)
        return self._advance()

    def end(self) -> Iterator[list[Piece]]:
        """The pieces that can be given out as `wanted` has ended; after the last file, all that are left."""
        file = self._files[self.wanted]
        file.ended = True
        reader = file.reader
        if reader is not None:
            file.portions = iter([reader.close()])
        return self._advance()

    def skip(self) -> Iterator[list[Piece]]:
        """The pieces that can be given out if nothing older comes from `wanted`, which has no packets now."""
        self.skipped.append(self.wanted)
        self.wanted = -1
        return self._advance()

    def resume(self, number: int) -> None:
        """Have a skipped file go on."""
        self.skipped.remove(number)
        if self.wanted >= 0:
            self._unread.append(self.wanted)
        self.wanted = number

    def time_us(self, number: int) -> int:
        """The latest time in a file so far; 0 before its first packet."""
        return self._files[number].time_us

    def overdue(self, idle: bool) -> list[Piece]:
        """See Assembler.overdue."""
        return self.assembler.overdue(idle)

    def _advance(self) -> Iterator[list[Piece]]:
        runs = self._runs
        later = self._later
        pieces: list[Piece] = []
        while True:
            if self.wanted >= 0:
                if not self._refill(self.wanted) and not self._files[self.wanted].ended:
                    break  # for its next chunk
                self.wanted = -1
            if self._unread:
                self.wanted = self._unread.pop()
                continue
            first = runs.first
            start = self._files[later[-1]].key if later else None
            if start is not None and (first is None or start < first):
                self.wanted = later.pop()
                continue
            if first is None and self.skipped:
                break
            if first is None:
                for point, dissector in self._dissectors.items():
                    self._extend(dissector.close(), point, pieces)
                pieces.extend(self.assembler.close())
                break
            packets = runs.take(start)
            number = runs.turn
            self._add(packets, self._files[number].point, pieces)
            if not runs.holds(number):
                self.wanted = number
            if len(pieces) >= PORTION:
                yield pieces
                pieces = []
        if pieces:
            yield pieces

    def _refill(self, number: int) -> bool:
        """Add the next packets of a file to the runs, of those that were fed; False if there are none."""
        file = self._files[number]
        if file.portions is not None:
            for packets in file.portions:
                if packets:
                    time_us = file.time_us
                    bits = number << FILE_SHIFT
                    keys: list[Key] = []
                    for packet in packets:
                        packet.number |= bits
                        if packet.time_us > time_us:
                            time_us = int(packet.time_us)
                        keys.append((time_us, int(packet.number)))
                    file.time_us = time_us
                    self._runs.add(number, keys, packets)
                    return True
            file.portions = None
        if file.ended:
            reader = file.reader
            if reader is not None:
                file.packets = reader.number
                file.notes = reader.notes
                file.reader = None
        return False

    def _add(self, packets: list[Packet], point: bytes, pieces: list[Piece]) -> None:
        dissector = self._dissectors.get(point)
        if dissector is None:
            dissector = self._dissectors[point] = Dissector()
        segments: list[Segment] = []
        observes = self.assembler.observes
        for packet in packets:
            dissector.add(packet, segments)
            if observes and segments and segments[-1].packet == packet.number:
                dissector.mark(segments[-1], packet)
        self._extend(segments, point, pieces)

    def _extend(self, segments: list[Segment], point: bytes, pieces: list[Piece]) -> None:
        if point:
            segments = [at_point(segment, point) for segment in segments]
        self.assembler.extend(segments, pieces)

    @property
    def packets(self) -> int:
        """Packets so far, of all files."""
        return sum([file.packets if file.reader is None else file.reader.number for file in self._files])

    @property
    def missing(self) -> int:
        """Bytes of streams that are known to be missing from the captures."""
        return self.assembler.missing

    @property
    def ignored(self) -> dict[str, int]:
        """Packets without a segment, by reason."""
        found: dict[str, int] = {}
        for dissector in self._dissectors.values():
            for reason, number in dissector.ignored.items():
                found[reason] = found.get(reason, 0) + number
        return found

    def damage(self, number: int) -> list[Note]:
        """What is wrong with a file and its packets; offsets in the unpacked file."""
        file = self._files[number]
        notes = list(file.notes if file.reader is None else file.reader.notes)
        dissector = self._dissectors.get(file.point)
        if dissector is not None:
            damaged = [row for row in dissector.damaged if row[1] >> FILE_SHIFT == number]
            notes += packet_notes(damaged, NUMBER_MASK)
        return notes


def at_point(segment: Segment, point: bytes) -> Segment:
    """The segment with a key that is only of streams that were captured at this point."""
    moved = Segment(
        segment.key + point,
        segment.forward,
        segment.sequence,
        segment.acknowledgement,
        segment.flags,
        segment.payload,
        segment.missing,
        segment.time_us,
        segment.packet,
        segment.file_offset,
        segment.fragments,
    )
    moved.mark = segment.mark
    return moved
