"""Rows between reading and decoding: packets of one flow, many in a row, so that Spark moves few large rows.

A row's `data` is a bundle of segments in the order of the capture, or where such a bundle is (see
local_packets.py). The rows of a flow, sorted by SORT, give its segments in the order of the merged captures;
rows of captures that overlap in time are interleaved segment by segment.
"""

import struct
import zlib
from typing import NamedTuple

from wirelens.cli.points import point_key
from wirelens.codecs.captures import Segment

# Kinds of rows, in the order in which one task gets them.
BUCKET, CHUNK, FILE, RANGE = range(4)
STATE_TIME = -(1 << 62)  # time of a CHUNK row with a flow's state from an earlier run; sorts before packets

SCHEMA = "bucket int, kind int, key binary, time bigint, packet bigint, data binary"
SORT = ("bucket", "kind", "key", "time", "packet")

CHUNK_BYTES = 1 << 18  # one row holds about this many bytes of one flow
TASK_BYTES = 1 << 25  # a reading task holds about this many bytes, then gives out rows of all its flows

_FILE = struct.Struct(">Q")

SegmentRun = tuple[list[tuple[int, int]], list[Segment]]
"""Segments, and the running time and packet of each, by which they are sorted."""


class Row(NamedTuple):
    """A row of SCHEMA. time: the latest time in the file so far (µs); packet: file and packet number.

    In a row with a flow's state `packet` is the flow's number.
    """

    bucket: int
    kind: int
    key: bytes
    time: int
    packet: int
    data: bytes


def key_suffix(file: int, name: str, separate: bool, point: str) -> bytes:
    """What follows a flow's key in the keys of a file's rows, so that rows with the same one are one network.

    The file's number with `separate`, else what stands for the point where it was captured, if any.
    """
    return _FILE.pack(file) if separate else point_key(name, point)


def flow_key(key: bytes) -> bytes:
    """The flow key contained in a row key."""
    return key[: 13 if len(key) < 37 else 37]  # transport, and twice address and port


def bucket_of(key: bytes, buckets: int) -> int:
    """The bucket, and so the task, of the rows with this key."""
    return zlib.crc32(key) % buckets
