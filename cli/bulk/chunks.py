"""Rows between reading and decoding: packets of one flow, many in a row, so that Spark moves few large rows.

A row's `data` is a bundle of segments in the order of the capture, or where such a bundle is (see
local_packets.py). The rows of a flow, sorted by SORT, give its segments in the order of the merged captures;
rows of captures that overlap in time are interleaved segment by segment.
"""

import heapq
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from wirelens.codecs.captures import Segment

# Kinds of rows, in the order in which one task gets them.
BUCKET, CHUNK, FILE, RANGE = range(4)
STATE_TIME = -(1 << 62)  # time of a CHUNK row with a flow's state from an earlier run; sorts before packets

SCHEMA = "bucket int, kind int, key binary, time bigint, packet bigint, data binary"
SORT = ("bucket", "kind", "key", "time", "packet")

FILE_SHIFT: Final = 40  # a packet's number is in the bits below, its file's number in those above
NUMBER_MASK: Final = (1 << FILE_SHIFT) - 1

CHUNK_BYTES = 1 << 18  # one row holds about this many bytes of one flow
TASK_BYTES = 1 << 25  # a reading task holds about this many bytes, then gives out rows of all its flows

_FILE = struct.Struct(">Q")

SegmentRun = tuple[list[tuple[int, int]], list[Segment]]
"""Segments, and the running time and packet of each, by which they are sorted."""


class Row(NamedTuple):
    """A row of SCHEMA. time: the latest time in the file so far (µs); packet: file and packet number."""

    bucket: int
    kind: int
    key: bytes
    time: int
    packet: int
    data: bytes


def row_key(key: bytes, file: int, separate: bool) -> bytes:
    """The key of a row: a flow's, with `separate` followed by the file's number."""
    return key + _FILE.pack(file) if separate else key


def flow_key(key: bytes) -> bytes:
    """The flow key contained in a row key."""
    return key[: 13 if len(key) < 37 else 37]  # transport, and twice address and port


def bucket_of(key: bytes, buckets: int) -> int:
    """The bucket, and so the task, of the rows with this key."""
    return zlib.crc32(key) % buckets


def in_order(rows: Iterable[tuple[int, int, SegmentRun]]) -> Iterator[list[Segment]]:
    """The segments of a flow's rows (time, packet, run), which are given sorted by their first segment.

    Each list comes from one row. Buffers one row plus those that overlap it in time.
    """
    heap: list[tuple[int, int, int, SegmentRun, int]] = []
    for turn, (time, packet, run) in enumerate(rows):
        # Segments before the new row's first segment are complete.
        while heap and heap[0][:2] < (time, packet):
            yield _take(heap, (time, packet))
        heapq.heappush(heap, (time, packet, turn, run, 0))
    while heap:
        yield _take(heap, None)


def _take(heap: list[tuple[int, int, int, SegmentRun, int]], limit: tuple[int, int] | None) -> list[Segment]:
    """Segments of the first row, up to the next row's or the limit."""
    _, _, turn, run, start = heapq.heappop(heap)
    if heap and (limit is None or heap[0][:2] < limit):
        limit = heap[0][:2]
    keys, segments = run
    if limit is None:
        return segments[start:] if start else segments
    stop = start + 1
    while stop < len(keys) and keys[stop] < limit:
        stop += 1
    if stop < len(keys):
        heapq.heappush(heap, (*keys[stop], turn, run, stop))
    return segments[start:stop]
