"""A reading task: ranges of files in, rows of chunks.SCHEMA out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from wirelens.cli.bulk import plain_json
from wirelens.cli.bulk.accounts import Problem, RangeAccount
from wirelens.cli.bulk.chunks import (
    BUCKET,
    CHUNK,
    CHUNK_BYTES,
    FILE,
    RANGE,
    SCHEMA,
    STATE_TIME,
    TASK_BYTES,
    Row,
    bucket_of,
    key_suffix,
)
from wirelens.cli.bulk.files import MOVE_THREADS, Folder, Readers, below
from wirelens.cli.bulk.local_packets import PacketWriter
from wirelens.cli.bulk.plan import Range, load_range
from wirelens.cli.points import NONE
from wirelens.cli.tables.arrow import batch_of_rows
from wirelens.codecs.captures import Bundler, Dissector, FragmentRow, Packet, Segment, range_reader
from wirelens.codecs.captures.bundles import Bundle
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK
from wirelens.codecs.captures.reader import packet_notes

if TYPE_CHECKING:
    import pyarrow as pa

    from wirelens.cli.bulk.decoding import Config

PLAN = "plan"  # in the run's folder: a file for each task, with what it reads
BATCH_BYTES = 1 << 23  # rows are given out in batches of about this many bytes
BATCH_ROWS = 1024
PROBLEMS_KEPT = 100  # of one range


def write_plan(folder: Folder, run: str, tasks: Sequence[Sequence[Range]]) -> int:
    """Write what each task reads to the folder of a run; how many tasks there are, at least one."""
    tasks = tasks or [[]]
    folder.make(run, PLAN)

    def write(place: int) -> None:
        folder.write(plain_json.dumps(tasks[place]), run, PLAN, f"{place:06d}.json")

    with ThreadPoolExecutor(MOVE_THREADS) as pool:
        list(pool.map(write, range(len(tasks))))
    return len(tasks)


def read_tasks(config: Config, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of the tasks whose places are in `batches`."""
    folder = Folder(config.place)
    where = config.fragments, config.final, config.separate, config.packet_folder, config.point
    for batch in batches:
        for place in batch.column(0).to_pylist():
            if place == 0:
                yield row_batch(bucket_rows(config.buckets))
            plain = plain_json.loads(folder.read(config.run, PLAN, f"{place:06d}.json"))
            for rows in read_ranges([load_range(item) for item in plain], config.buckets, *where):
                yield row_batch(rows)


def row_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows for Arrow."""
    import pyarrow as pa

    types = {"int": pa.int32(), "bigint": pa.int64(), "binary": pa.binary()}
    pairs = (column.split(" ") for column in SCHEMA.split(", "))
    schema = pa.schema([(name, types[kind]) for name, kind in pairs])
    return batch_of_rows(rows, schema)


def bucket_rows(buckets: int) -> list[Row]:
    """One row per bucket, so that each bucket gets a task even when no flow hashes to it."""
    return [Row(bucket, BUCKET, b"", 0, 0, b"") for bucket in range(buckets)]


def read_ranges(
    ranges: Sequence[Range],
    buckets: int,
    fragments: str,
    final: bool,
    separate: bool,
    packet_folder: str = "",
    point: str = NONE,
) -> Iterator[list[Row]]:
    """The rows of each range, in batches. IP fragments left over at its end go to the folder `fragments`.

    Packets go to files in the folder `packet_folder`, if given (see local_packets.py). Unless `final`, a
    packet that is cut off at the end of a file is left to the next run. With `separate` no stream continues
    in another file; else `point` derives from the names of files which belong together (see cli/points.py).

    The same ranges give the same rows: when a worker is lost, Spark reads some ranges again, and fails if
    the rows differ from those that other tasks have used.
    """
    rows: list[Row] = []
    size = 0
    for row in _rows(ranges, buckets, fragments, final, separate, packet_folder, point):
        rows.append(row)
        size += len(row.data)
        if size >= BATCH_BYTES or len(rows) >= BATCH_ROWS:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _rows(
    ranges: Sequence[Range],
    buckets: int,
    fragments: str,
    final: bool,
    separate: bool,
    packet_folder: str,
    point: str,
) -> Iterator[Row]:
    readers = Readers()
    for item in ranges:
        if item.kind == "pending":
            for key, state, number in pending_rows(readers.head(item.root, item.path, -1)):
                yield Row(bucket_of(key, buckets), CHUNK, key, STATE_TIME, number, state)
        elif item.kind in ("payload", "unsupported"):
            key = item.name.encode()
            yield Row(bucket_of(key, buckets), FILE, key, 0, item.file << FILE_SHIFT, plain_json.dumps(item))
        else:
            suffix = key_suffix(item.file, item.name, separate, point)
            yield from _read_capture(readers, item, buckets, fragments, final, suffix, packet_folder)


def _read_capture(
    readers: Readers,
    source: Range,
    buckets: int,
    fragments: str,
    final: bool,
    suffix: bytes,
    packet_folder: str,
) -> Iterator[Row]:
    """The rows of a capture's range, and one with its account."""
    reader = range_reader(source.state, source.offset)
    bundler = Bundler(CHUNK_BYTES, TASK_BYTES, source.time, source.file << FILE_SHIFT)
    unreadable: list[Problem] = []
    writer = PacketWriter(packet_folder, source.place) if packet_folder else None

    def row(bundle: Bundle) -> Row:
        key, time, packet, data = bundle
        if writer is not None:
            data = writer.put(data)
        key += suffix
        return Row(bucket_of(key, buckets), CHUNK, key, time, packet, data)

    def batches() -> Iterator[list[Packet]]:
        try:
            for chunk in readers.chunks(source.root, source.path, source.offset, source.length):
                yield from reader.steps(chunk)
        except OSError as error:
            unreadable.append(Problem("unreadable", reader.position, str(error)))
        if final or not source.ends or not reader.splittable:
            yield reader.close()

    for packets in batches():
        yield from map(row, bundler.feed(packets))
    yield from map(row, bundler.flush())
    if writer is not None:
        writer.close()
    dissector = bundler.dissector
    waiting = dissector.state()
    if waiting:
        write_fragments(fragments, source.place, bundler.time, waiting)
    notes = reader.notes + packet_notes(dissector.damaged, NUMBER_MASK)
    if not unreadable and reader.bytes_fed != source.length:
        less = source.length - reader.bytes_fed
        unreadable.append(Problem("unreadable", reader.position, f"{less} bytes less than it had"))
    problems = unreadable + [Problem(note.code, int(note.offset), note.text) for note in notes]
    account = RangeAccount(
        file=source.file,
        place=source.place,
        read=reader.bytes_read if reader.compressed else reader.position - source.offset,
        raw=bundler.payload,
        end=reader.position,
        state=reader.state() if reader.splittable else None,
        time=bundler.time,
        packets=bundler.packets,
        first_us=bundler.first_us,
        last_us=bundler.last_us,
        compressed=reader.compressed,
        damages=reader.damages + len(dissector.damaged) + len(unreadable),
        problems=problems[:PROBLEMS_KEPT],
        ignored=dissector.ignored,
    )
    key = b"%d" % source.file
    yield Row(bucket_of(key, buckets), RANGE, key, source.place, 0, plain_json.dumps(account))


def write_fragments(folder: str, index: int, time: int, waiting: Sequence[FragmentRow]) -> None:
    """Keep a range's unfinished IP datagrams for the decoding tasks; doing it again changes nothing."""
    fragments = Folder(folder)
    fragments.make()
    fragments.write(plain_json.dumps((time, waiting)), f"{index + 1:012d}.json")


LateSegment = tuple[int, bytes, Segment]
"""A segment made of left-over fragments, its running time and the key of its row before it."""


def read_fragments(
    folder: str, final: bool, suffix_of: Callable[[int], bytes]
) -> tuple[list[LateSegment], list[FragmentRow], dict[str, int]]:
    """The segments of the fragments that all ranges left over, in order.

    `suffix_of` gives the suffix of keys for a file's number.

    Unless `final`, the fragments of datagrams that are still not complete are the second result; the third
    are those that are given up, by reason.
    """
    fragments = Folder(folder)
    dissectors: dict[bytes, Dissector] = {}
    late: list[LateSegment] = []
    time = 0

    def take(segments: Iterable[Segment], running_time: int) -> None:
        for segment in segments:
            key = segment.key + suffix_of(segment.packet >> FILE_SHIFT)
            late.append((running_time, key, segment))

    rows: list[FragmentRow] = []
    for name in fragments.names():
        if name.endswith(".json"):
            latest, waiting = plain_json.loads(fragments.read(name))
            time = max(time, latest)
            rows += [(key, *rest) for key, *rest in waiting]
    rows.sort(key=lambda row: row[4:6])  # by time and packet, as captures of the same time are merged
    for row in rows:
        time_us, number = row[4:6]
        dissector = dissectors.setdefault(suffix_of(number >> FILE_SHIFT), Dissector())
        segments: list[Segment] = []
        dissector.add_fragment(row, segments)
        take(segments, time_us)
    left: list[FragmentRow] = []
    ignored: dict[str, int] = {}
    for dissector in dissectors.values():
        if final:
            take(dissector.close(), time)
        else:
            left += dissector.state()
        for reason, number in dissector.ignored.items():
            ignored[reason] = ignored.get(reason, 0) + number
    return late, left, ignored


def pending_rows(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Keys, states and numbers of the flows in a file of pending ones."""
    from io import BytesIO

    from pyarrow import parquet

    for batch in parquet.ParquetFile(BytesIO(data)).iter_batches(1024):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def fragments_place(run: str) -> str:
    """The folder for left-over fragments of the run whose folder is `run`."""
    return below(run, "fragments")
