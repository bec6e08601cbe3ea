"""What a run reads: which files, in which order, and how they are cut into pieces for the tasks."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from wirelens.cli.bulk.files import Found, Readers
from wirelens.codecs.captures import READABLE, UNSUPPORTED, PacketReader, State

HEAD_BYTES = 1 << 16
"""So much of each file is looked at before the run."""
PACK_BYTES = 1 << 26
"""Small files are packed into tasks of about so many bytes, fewer where there are not many."""
LEAST_BYTES = 1 << 22
SPLIT_BYTES = 1 << 26
"""No capture smaller than twice this is cut."""
PACK_FILES = 4096
LOOKERS = 16

FRESH: State = ("", (), ())
NO_TIME = 1 << 62  # behind everything

Known = Mapping[str, Any]
"""A row of the ledger."""


class Input(NamedTuple):
    """An input file.

    number: its own, for ever. kind: "capture", "payload", "unsupported", "unreadable", or "done", "grown",
    "changed" against the row `known` of the ledger. first_us: time of the first packet. detail: the
    container, or what is wrong. digest: of the first HEAD_BYTES.
    """

    number: int
    root: str
    path: str
    name: str
    size: int
    modified_us: int
    kind: str
    first_us: int
    detail: str
    digest: str
    known: Known | None = None


class Range(NamedTuple):
    """A stretch of an input that one task reads.

    state: the reader's, at `offset`; time: the latest before it, in microseconds. ends: whether the file
    ends behind it. `place` orders all ranges of a run: it is the order of the merged captures.
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
    ends: bool


def load_range(plain: Any) -> Range:
    """A range from its plain form, whose tuples are lists."""
    each = Range(*plain)
    return each._replace(state=load_state(each.state))


def load_state(plain: Any) -> State:
    """A reader's state from its plain form."""
    container, numbers, interfaces = plain
    return (container, tuple(numbers), tuple(tuple(one) for one in interfaces))


class Tail(NamedTuple):
    """Where reading a capture stopped, for the run that finds it grown: offset, reader's state, time."""

    offset: int
    state: State
    time: int


def look(found: Sequence[Found], known: Sequence[Known], first_number: int) -> list[Input]:
    """Look into each file, and whether the ledger knows it.

    Captures come out in the order of their first packets, then all others by name. New ones are numbered.
    """
    readers = Readers()
    names = {each.name for each in found}
    of_name: dict[str, list[Known]] = {}
    of_digest: dict[str, Known] = {}
    for entry in known:
        of_name.setdefault(entry["file"], []).append(entry)
        if entry["file"] not in names:  # perhaps it was renamed
            of_digest[entry["digest"]] = entry

    def one(file: Found) -> Input:
        entries = of_name.get(file.name, [])[::-1]
        return _look(readers, file, entries, of_digest)

    with ThreadPoolExecutor(LOOKERS) as pool:
        looked = list(pool.map(one, found))
    looked.sort(key=lambda each: (each.first_us, each.name))
    numbered = []
    for each in looked:
        if each.known is not None:
            numbered.append(each._replace(number=each.known["number"]))
        else:
            numbered.append(each._replace(number=first_number))
            first_number += 1
    return numbered


def _look(readers: Readers, file: Found, entries: Sequence[Known], of_digest: Mapping[str, Known]) -> Input:
    try:
        head = readers.head(file.root, file.path, HEAD_BYTES)
    except OSError as error:
        return Input(0, *file, "unreadable", NO_TIME, str(error), "")
    sign = digest(head)
    reader = PacketReader()
    packets = [packet for portion in reader.steps(head) for packet in portion]
    if len(head) < HEAD_BYTES:
        packets += reader.close()
    container = reader.container
    first_us = packets[0].time_us if packets else NO_TIME - 1
    if container in READABLE:
        new = Input(0, *file, "capture", first_us, container, sign)
    elif container in UNSUPPORTED:
        new = Input(0, *file, "unsupported", NO_TIME, UNSUPPORTED[container], sign)
    else:
        new = Input(0, *file, "payload", NO_TIME, "", sign)
    for entry in entries:
        if not entry["digest"]:
            continue  # it could not be read then
        if entry["digest"] != digest(head[: entry["size"]]) or entry["size"] > file.size:
            continue  # other bytes under the same name, as in a ring of files
        kind = "done" if entry["size"] == file.size else "grown"
        return new._replace(kind=kind, known=entry)
    same = of_digest.get(sign)
    if same is not None and same["size"] == file.size and file.size:
        return new._replace(kind="done", known=same)
    return new


def digest(head: bytes) -> str:
    """What a file is known again by."""
    return hashlib.blake2b(head[:HEAD_BYTES], digest_size=16).hexdigest()


def cut(inputs: Iterable[Input], tails: Mapping[int, Tail], parallel: int) -> list[Range]:
    """The ranges of all inputs that are to be read, those that have grown from where reading stopped.

    Large captures are cut where that gives `parallel` tasks work.
    """
    inputs = [each for each in inputs if each.kind in ("capture", "payload", "unsupported", "grown")]
    total = sum(each.size for each in inputs if each.kind in ("capture", "grown"))
    target = max(SPLIT_BYTES, total // (3 * max(parallel, 1)))
    readers = Readers()
    ranges: list[Range] = []
    for each in inputs:
        kind = "capture" if each.kind == "grown" else each.kind
        where = (each.number, each.root, each.path, each.name, kind)
        offset, state, time = tails[each.number] if each.kind == "grown" else Tail(0, FRESH, 0)
        pieces = [(offset, each.size - offset, state, time)]
        if kind == "capture" and each.size - offset >= 2 * target:
            pieces = _scan(readers, each, pieces[0], target)
        for piece in pieces:
            ranges.append(Range(len(ranges), *where, *piece, piece is pieces[-1]))
    return ranges


Piece = tuple[int, int, State, int]
"""Offset, length, reader's state and running time."""


def _scan(readers: Readers, file: Input, whole: Piece, target: int) -> list[Piece]:
    """Cut a stretch of a capture between packets."""
    start, size, state, latest = whole
    end = start + size
    time = latest
    reader = PacketReader(state if state[0] else None, start)
    pieces: list[Piece] = []
    try:
        for chunk in readers.chunks(file.root, file.path, start, size):
            for packets in reader.steps(chunk):
                for packet in packets:
                    if packet.time_us > latest:
                        latest = packet.time_us
            position = reader.position
            if position - start >= target and reader.splittable:
                pieces.append((start, position - start, state, time))
                start, state, time = position, reader.state(), latest
            elif reader.compressed:
                return [whole]
    except OSError:
        return [whole]  # the task will find and tell it
    pieces.append((start, end - start, state, time))
    return pieces


def pack(ranges: Sequence[Range], parallel: int = 16) -> list[list[Range]]:
    """The ranges of each task, in order: small ones together, yet some for each of `parallel` cores."""
    total = sum(each.length for each in ranges)
    limit = min(PACK_BYTES, max(LEAST_BYTES, total // (3 * max(parallel, 1))))
    tasks: list[list[Range]] = []
    size = 0
    for each in ranges:
        if not tasks or size + each.length > limit or len(tasks[-1]) >= PACK_FILES:
            tasks.append([])
            size = 0
        tasks[-1].append(each)
        size += each.length
    return tasks
