"""Rows between reading and decoding: packets of one flow, many in a row, so that Spark moves few large rows.

A row's `data` is a run of segments in the order of the capture. The rows of a flow, sorted by ORDER, give
its segments in the order of the merged captures; rows of captures that overlap in time are interleaved
segment by segment.
"""

import heapq
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wirelens.codecs.captures import Segment

# Kinds of rows, in the order in which one task gets them.
MARK, CHUNK, FILE, RANGE = range(4)
STATE_TIME = -(1 << 62)
"""The time of a CHUNK row that holds what an earlier run knew of the flow; sorts before all packets."""

SCHEMA = "bucket int, kind int, key binary, time bigint, packet bigint, data binary"
SORT = ("bucket", "kind", "key", "time", "packet")

FILE_SHIFT = 40
"""A packet's number in its file lies below this bit, the file's number above it."""
NUMBER_MASK = (1 << FILE_SHIFT) - 1

CHUNK_BYTES = 1 << 18
"""One row holds about so many bytes of one flow."""
TASK_BYTES = 1 << 25
"""A reading task holds about so many bytes before it gives out rows of all its flows."""

_FILE = struct.Struct(">Q")
_HEADER = struct.Struct("<IIIHIqqqq")
_COUNT = struct.Struct("<H")
_FORWARD = 0x100
_FRAGMENTS = 0x200

Ordered = tuple[int, int, Segment]
"""A segment behind what it is sorted by: running time, packet."""


class Row(NamedTuple):
    """A row of SCHEMA. time: the latest time in the file so far (µs); packet: file and packet number."""

    bucket: int
    kind: int
    key: bytes
    time: int
    packet: int
    data: bytes


def row_key(key: bytes, file: int, separate: bool) -> bytes:
    """The key of a row: a flow's, and with `separate` the file's number behind it."""
    return key + _FILE.pack(file) if separate else key


def flow_key(key: bytes) -> bytes:
    """The flow's key in that of a row."""
    return key[: 13 if len(key) < 37 else 37]  # transport, and twice address and port


def bucket_of(key: bytes, buckets: int) -> int:
    """Which task gets the rows of this key."""
    return zlib.crc32(key) % buckets


class Packer:
    """Segments in, rows out."""

    def __init__(self, buckets: int, file: int, separate: bool) -> None:
        self._buckets = buckets
        self._file = file
        self._separate = separate
        self._open: dict[bytes, tuple[int, int, bytearray]] = {}
        self._bytes = 0

    def add(self, segment: Segment, time: int, rows: list[Row]) -> None:
        """Take the next segment of the file; `time` is the running time at its packet."""
        key = segment.key
        one = self._open.get(key)
        if one is None:
            one = self._open[key] = (time, segment.packet, bytearray())
        data = one[2]
        before = len(data)
        flags = segment.flags
        if segment.forward:
            flags |= _FORWARD
        payload = segment.payload
        if segment.fragments:
            flags |= _FRAGMENTS
        data += _HEADER.pack(
            len(payload),
            segment.sequence,
            segment.acknowledgement,
            flags,
            segment.missing,
            segment.time_us,
            time,
            segment.packet,
            segment.file_offset,
        )
        if segment.fragments:
            data += _COUNT.pack(len(segment.fragments))
            data += struct.pack(f"<{len(segment.fragments)}q", *segment.fragments)
        data += payload
        self._bytes += len(data) - before
        if len(data) >= CHUNK_BYTES:
            del self._open[key]
            self._bytes -= len(data)
            rows.append(self._row(key, *one))
        if self._bytes >= TASK_BYTES:
            self.flush(rows)

    def flush(self, rows: list[Row]) -> None:
        """Give out all that is there."""
        for key, (time, packet, data) in self._open.items():
            rows.append(self._row(key, time, packet, data))
        self._open = {}
        self._bytes = 0

    def _row(self, key: bytes, time: int, packet: int, data: bytearray) -> Row:
        key = row_key(key, self._file, self._separate)
        return Row(bucket_of(key, self._buckets), CHUNK, key, time, packet, bytes(data))


def unpack(key: bytes, data: bytes) -> list[Ordered]:
    """The segments of a row."""
    found: list[Ordered] = []
    position, size = 0, len(data)
    header, length_of = _HEADER.unpack_from, _HEADER.size
    while position < size:
        length, sequence, acknowledgement, flags, missing, time_us, time, packet, offset = header(
            data, position
        )
        position += length_of
        fragments: tuple[int, ...] = ()
        if flags & _FRAGMENTS:
            (count,) = _COUNT.unpack_from(data, position)
            fragments = struct.unpack_from(f"<{count}q", data, position + _COUNT.size)
            position += _COUNT.size + 8 * count
        found.append(
            (
                time,
                packet,
                Segment(
                    key,
                    flags & _FORWARD != 0,
                    sequence,
                    acknowledgement,
                    flags & 0xFF,
                    data[position : position + length],
                    missing,
                    time_us,
                    packet,
                    offset,
                    fragments,
                ),
            )
        )
        position += length
    return found


def in_order(rows: Iterable[tuple[int, int, list[Ordered]]]) -> Iterator[Segment]:
    """The segments of a flow's rows (time, packet, segments), which come sorted by their first segment.

    Holds one row, and as many more as overlap in time.
    """
    heap: list[tuple[int, int, int, list[Ordered], int]] = []
    for turn, (time, packet, segments) in enumerate(rows):
        # What lies before the new row's first segment can go.
        while heap and heap[0][:2] < (time, packet):
            yield from _take(heap, (time, packet))
        heapq.heappush(heap, (time, packet, turn, segments, 0))
    while heap:
        yield from _take(heap, None)


def _take(
    heap: list[tuple[int, int, int, list[Ordered], int]], limit: tuple[int, int] | None
) -> Iterator[Segment]:
    """Segments of the first row, up to the next row's or the limit."""
    _, _, turn, segments, at = heapq.heappop(heap)
    if heap and (limit is None or heap[0][:2] < limit):
        limit = heap[0][:2]
    size = len(segments)
    while at < size:
        time, packet, segment = segments[at]
        if limit is not None and (time, packet) >= limit:
            heapq.heappush(heap, (time, packet, turn, segments, at))
            return
        yield segment
        at += 1
