"""What a run reads: which files, in which order, and how they are split into ranges and tasks."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from wirelens.cli.bulk.files import File, Readers
from wirelens.cli.bulk.ledger import LedgerRow
from wirelens.codecs.captures import FRESH, READABLE, Part, State
from wirelens.codecs.captures import split as split_capture
from wirelens.codecs.captures.magic import SNIFF_LENGTH, head_size, sniff, unsupported
from wirelens.codecs.captures.merge import NO_START, start_of

HEAD_BYTES = 1 << 16  # of each file, inspected before the run
TASK_BYTES = 1 << 26  # a task gets small files of about this many bytes together, fewer in small runs
LEAST_BYTES = 1 << 22  # the same in the smallest runs
SPLIT_BYTES = 1 << 26  # captures of less than twice this are not split
TASK_FILES = 4096
INSPECT_THREADS = 16

NO_TIME = 1 << 62  # sorts after every time


class Input(NamedTuple):
    """An input file.

    number: unique, never reused. kind: "capture", "payload", "unsupported", "unreadable", or, compared with
    its row of the ledger, "done", "grown", "changed". first_us: time of the first packet. detail: the
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
    ledger_row: LedgerRow | None = None


class Range(NamedTuple):
    """A stretch of an input that one task reads.

    place: its position among all ranges of a run, in the order of the merged captures. state: the reader's,
    at `offset`; time: the latest before it, in microseconds. ends: whether the file ends with it.
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
    item = Range(*plain)
    return item._replace(state=load_state(item.state))


def load_state(plain: Any) -> State:
    """A reader's state from its plain form."""
    container, numbers, interfaces = plain
    return (container, tuple(numbers), tuple(tuple(interface) for interface in interfaces))


class Tail(NamedTuple):
    """Where reading a capture stopped, for the run that finds it grown: offset, reader's state, time."""

    offset: int
    state: State
    time: int


def is_settled(file: File, latest_us: int) -> bool:
    """Whether a file may be read: last written by `latest_us`, or a capture, which is read as it grows."""
    if file.modified_us <= latest_us:
        return True
    try:
        return sniff(Readers().head(file.root, file.path, SNIFF_LENGTH)) in READABLE
    except OSError:
        return False


def inspect_files(files: Sequence[File], ledger: Sequence[LedgerRow], first_number: int) -> list[Input]:
    """Read the start of each file, and compare it with its row of the ledger.

    A file whose size and time are those of its row is not read. Captures come first, in the order of their
    first packets, then all others by name. New ones are numbered.
    """
    readers = Readers()
    names = {file.name for file in files}
    by_name: dict[str, list[LedgerRow]] = {}
    by_digest: dict[str, LedgerRow] = {}
    for row in ledger:
        by_name.setdefault(row.file, []).append(row)
        if row.file not in names:  # perhaps it was renamed
            by_digest[row.digest] = row

    def inspect(file: File) -> Input:
        return _inspect(readers, file, by_name.get(file.name, [])[::-1], by_digest)

    with ThreadPoolExecutor(INSPECT_THREADS) as pool:
        inputs = list(pool.map(inspect, files))
    inputs.sort(key=lambda item: (item.first_us, item.name))
    numbered = []
    for item in inputs:
        if item.ledger_row is not None:
            numbered.append(item._replace(number=item.ledger_row.number))
        else:
            numbered.append(item._replace(number=first_number))
            first_number += 1
    return numbered


def _inspect(
    readers: Readers, file: File, rows: Sequence[LedgerRow], by_digest: Mapping[str, LedgerRow]
) -> Input:
    for row in rows:
        if row.digest and row.size == file.size and row.modified == file.modified_us:
            # Not read again: a folder of a million files would take an hour on S3.
            first_us = NO_TIME - 1 if row.first_time is None else row.first_time
            return Input(0, *file, "done", first_us, row.container, row.digest, row)
    try:
        head = readers.head(file.root, file.path, HEAD_BYTES)
        size = head_size(head, HEAD_BYTES)
        packed = readers.head(file.root, file.path, size) if size > HEAD_BYTES else head
    except OSError as error:
        return Input(0, *file, "unreadable", NO_TIME, str(error), "")
    head_digest = digest(head)
    container, first_us = start_of(packed, len(packed) < size)
    if first_us == NO_START:
        first_us = NO_TIME - 1
    if container in READABLE:
        new = Input(0, *file, "capture", first_us, container, head_digest)
    elif container:
        new = Input(0, *file, "unsupported", NO_TIME, unsupported(container), head_digest)
    else:
        new = Input(0, *file, "payload", NO_TIME, "", head_digest)
    for row in rows:
        if not row.digest:
            continue  # it could not be read then
        if row.digest != digest(head[: row.size]) or row.size > file.size:
            continue  # other bytes under the same name, as in a ring of files
        kind = "done" if row.size == file.size else "grown"
        return new._replace(kind=kind, ledger_row=row)
    same = by_digest.get(head_digest)
    if same is not None and same.size == file.size and file.size:
        return new._replace(kind="done", ledger_row=same)
    return new


def digest(head: bytes) -> str:
    """Identifies a file by its first bytes."""
    return hashlib.blake2b(head[:HEAD_BYTES], digest_size=16).hexdigest()


def split(inputs: Iterable[Input], tails: Mapping[int, Tail], parallel: int) -> list[Range]:
    """The ranges of all inputs to be read, those that have grown from where reading stopped.

    Large captures are split where that gives `parallel` tasks work.
    """
    inputs = [item for item in inputs if item.kind in ("capture", "payload", "unsupported", "grown")]
    total = sum(item.size for item in inputs if item.kind in ("capture", "grown"))
    target = max(SPLIT_BYTES, total // (3 * max(parallel, 1)))
    readers = Readers()
    ranges: list[Range] = []
    for item in inputs:
        kind = "capture" if item.kind == "grown" else item.kind
        source = (item.number, item.root, item.path, item.name, kind)
        offset, state, time = tails[item.number] if item.kind == "grown" else Tail(0, FRESH, 0)
        parts = [Part(offset, item.size - offset, state, time)]
        if kind == "capture" and item.size - offset >= 2 * target:
            parts = _split_capture(readers, item, parts[0], target)
        for part in parts:
            ranges.append(Range(len(ranges), *source, *part, part is parts[-1]))
    return ranges


def _split_capture(readers: Readers, file: Input, whole: Part, target: int) -> list[Part]:
    chunks = readers.chunks(file.root, file.path, whole.offset, whole.length)
    try:
        return split_capture(chunks, whole, target)
    except OSError:
        return [whole]  # the task meets it again and reports it


def group(ranges: Sequence[Range], parallel: int = 16) -> list[list[Range]]:
    """The ranges of each task, in order: small ones together, yet some for each of `parallel` cores."""
    total = sum(item.length for item in ranges)
    limit = min(TASK_BYTES, max(LEAST_BYTES, total // (3 * max(parallel, 1))))
    tasks: list[list[Range]] = []
    size = 0
    for item in ranges:
        if not tasks or size + item.length > limit or len(tasks[-1]) >= TASK_FILES:
            tasks.append([])
            size = 0
        tasks[-1].append(item)
        size += item.length
    return tasks
