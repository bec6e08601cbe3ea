"""What a run reads: which files, in which order, and how they are cut into pieces for the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from wirelens.cli.bulk.files import Found, Readers
from wirelens.codecs.captures import READABLE, UNSUPPORTED, PacketReader, State

HEAD_BYTES = 1 << 16
"""So much of each file is looked at before the run."""
PACK_BYTES = 1 << 26
"""Small files are packed into tasks of about so many bytes."""
SPLIT_BYTES = 1 << 26
"""No capture smaller than twice this is cut."""
PACK_FILES = 4096
LOOKERS = 16

FRESH: State = ("", (), ())
NO_TIME = 1 << 62  # behind everything


class Input(NamedTuple):
    """An input file. number: its own, for ever; kind: "capture", "payload", "unsupported" or "unreadable"."""

    number: int
    root: str
    path: str
    name: str
    size: int
    modified_us: int
    kind: str
    first_us: int
    detail: str


class Range(NamedTuple):
    """A stretch of an input that one task reads.

    state: the reader's, at `offset`; time: the latest before it, in microseconds. `place` orders all
    ranges of a run: it is the order of the merged captures.
    """

    place: int
    file: int
    root: str
    path: str
    name: str
    kind: str
    offset: int
    length: int
    state: State
    time: int


def look(found: Sequence[Found], first_number: int) -> list[Input]:
    """Look into each file; captures come out in the order of their first packets, then all others by name."""
    readers = Readers()
    with ThreadPoolExecutor(LOOKERS) as pool:
        looked = list(pool.map(lambda each: _look(readers, each), found))
    looked.sort(key=lambda each: (each.first_us, each.name))
    return [each._replace(number=first_number + place) for place, each in enumerate(looked)]


def _look(readers: Readers, file: Found) -> Input:
    try:
        head = readers.head(file.root, file.path, HEAD_BYTES)
    except OSError as error:
        return Input(0, *file, "unreadable", NO_TIME, str(error))
    reader = PacketReader()
    packets = reader.feed(head)
    if len(head) < HEAD_BYTES:
        packets += reader.close()
    container = reader.container
    if container in READABLE:
        return Input(0, *file, "capture", packets[0].time_us if packets else NO_TIME - 1, container)
    if container in UNSUPPORTED:
        return Input(0, *file, "unsupported", NO_TIME, UNSUPPORTED[container])
    return Input(0, *file, "payload", NO_TIME, "")


def cut(inputs: Iterable[Input], parallel: int) -> list[Range]:
    """The ranges of all readable inputs. Large captures are cut where that gives `parallel` tasks work."""
    inputs = list(inputs)
    total = sum(each.size for each in inputs if each.kind == "capture")
    target = max(SPLIT_BYTES, total // (3 * max(parallel, 1)))
    readers = Readers()
    ranges: list[Range] = []
    for each in inputs:
        if each.kind in ("unreadable", "unsupported"):
            continue
        where = (each.number, each.root, each.path, each.name, each.kind)
        pieces = [(0, each.size, FRESH, 0)]
        if each.kind == "capture" and each.size >= 2 * target:
            pieces = _scan(readers, each, target)
        for offset, length, state, time in pieces:
            ranges.append(Range(len(ranges), *where, offset, length, state, time))
    return ranges


def _scan(readers: Readers, file: Input, target: int) -> list[tuple[int, int, State, int]]:
    """Offset, length, reader state and running time of stretches that begin and end between packets."""
    reader = PacketReader()
    pieces: list[tuple[int, int, State, int]] = []
    start, state, time, latest, total = 0, FRESH, 0, 0, 0
    try:
        for chunk in readers.chunks(file.root, file.path):
            total += len(chunk)
            for packets in reader.steps(chunk):
                for packet in packets:
                    if packet.time_us > latest:
                        latest = packet.time_us
            position = reader.position
            if position - start >= target and reader.splittable:
                pieces.append((start, position - start, state, time))
                start, state, time = position, reader.state(), latest
            elif reader.compressed:
                return [(0, file.size, FRESH, 0)]
    except OSError:
        return [(0, file.size, FRESH, 0)]  # the task will find and tell it
    pieces.append((start, max(total, file.size) - start, state, time))
    return pieces


def pack(ranges: Sequence[Range], target: int = PACK_BYTES) -> list[list[Range]]:
    """The ranges of each task, in order: small ones together."""
    tasks: list[list[Range]] = []
    size = target
    for each in ranges:
        if size + each.length > target or len(tasks[-1]) >= PACK_FILES:
            tasks.append([])
            size = 0
        tasks[-1].append(each)
        size += each.length
    return tasks
