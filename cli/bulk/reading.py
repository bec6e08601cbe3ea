"""A reading task: ranges of files in, rows of chunks.SCHEMA out."""

import json
from collections.abc import Iterable, Iterator, Sequence

from wirelens.cli.bulk import plain_json
from wirelens.cli.bulk.beside import PacketWriter
from wirelens.cli.bulk.chunks import (
    CHUNK,
    CHUNK_BYTES,
    FILE,
    FILE_SHIFT,
    MARK,
    NUMBER_MASK,
    RANGE,
    STATE_TIME,
    TASK_BYTES,
    Row,
    bucket_of,
    row_key,
)
from wirelens.cli.bulk.files import Folder, Readers, below
from wirelens.cli.bulk.plan import Range
from wirelens.codecs.captures import (
    Bundler,
    Dissector,
    FragmentRow,
    Packet,
    PacketReader,
    Segment,
    range_reader,
)
from wirelens.codecs.captures.bundles import Bundle
from wirelens.codecs.captures.reader import packet_notes

BATCH_BYTES = 1 << 23
"""Rows are given out in batches of about so many bytes."""
BATCH_ROWS = 1024
NOTES_KEPT = 100

Fault = tuple[str, int, str]
"""Code, offset in bytes, text."""


def marks(buckets: int) -> list[Row]:
    """A row for each bucket, so that each is somebody's work even where no flow falls into it."""
    return [Row(bucket, MARK, b"", 0, 0, b"") for bucket in range(buckets)]


def read_ranges(
    ranges: Sequence[Range], buckets: int, side: str, final: bool, separate: bool, beside: str = ""
) -> Iterator[list[Row]]:
    """The rows of each range, in batches. IP fragments that an end leaves over go to the place `side`.

    Packets go to files in the folder `beside`, if one is given, and the rows only say where (see beside.py).
    Unless `final`, a packet that is cut off at the end of a file is left for the next run. With `separate`
    no stream goes on in another file.

    The same ranges give the same rows: when a worker is lost, Spark reads some ranges again, and gives up
    where what it gets differs from what other tasks have worked on.
    """
    rows: list[Row] = []
    size = 0
    for row in _rows(ranges, buckets, side, final, separate, beside):
        rows.append(row)
        size += len(row.data)
        if size >= BATCH_BYTES or len(rows) >= BATCH_ROWS:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _rows(
    ranges: Sequence[Range], buckets: int, side: str, final: bool, separate: bool, beside: str
) -> Iterator[Row]:
    readers = Readers()
    for each in ranges:
        if each.kind == "pending":
            for key, state in pending_rows(readers.head(each.root, each.path, -1)):
                yield Row(bucket_of(key, buckets), CHUNK, key, STATE_TIME, 0, state)
        elif each.kind in ("payload", "unsupported"):
            key = each.name.encode()
            what = json.dumps(each).encode()
            yield Row(bucket_of(key, buckets), FILE, key, 0, each.file << FILE_SHIFT, what)
        else:
            yield from _read_capture(readers, each, buckets, side, final, separate, beside)


def _read_capture(
    readers: Readers, each: Range, buckets: int, side: str, final: bool, separate: bool, beside: str
) -> Iterator[Row]:
    """The rows of a capture's range, and one that says what was read."""
    reader = range_reader(each.state, each.offset)
    bundler = Bundler(CHUNK_BYTES, TASK_BYTES, each.time, each.file << FILE_SHIFT)
    broken: list[Fault] = []
    writer = PacketWriter(beside, each.place) if beside else None

    def row(bundle: Bundle) -> Row:
        key, time, packet, data = bundle
        if writer is not None:
            data = writer.put(data)
        key = row_key(key, each.file, separate)
        return Row(bucket_of(key, buckets), CHUNK, key, time, packet, data)

    def batches() -> Iterator[list[Packet]]:
        try:
            for chunk in readers.chunks(each.root, each.path, each.offset, each.length):
                yield from reader.steps(chunk)
        except OSError as error:
            broken.append(("unreadable", reader.position, str(error)))
        if final or not each.ends or not reader.splittable:
            yield reader.close()

    for packets in batches():
        yield from map(row, bundler.feed(packets))
    yield from map(row, bundler.flush())
    if writer is not None:
        writer.close()
    dissector = bundler.dissector
    waiting = dissector.state()
    if waiting:
        write_fragments(side, each.place, bundler.time, waiting)
    notes = capture_notes(reader, dissector)
    if not broken and reader.bytes_fed != each.length:
        less = each.length - reader.bytes_fed
        broken.append(("unreadable", reader.position, f"{less} bytes less than it had"))
    summary = {
        "file": each.file,
        "place": each.place,
        "fed": reader.bytes_fed,
        "read": reader.bytes_read if reader.compressed else reader.position - each.offset,
        "end": reader.position,
        "state": reader.state() if reader.splittable else None,
        "time": bundler.time,
        "raw": bundler.payload,
        "packets": bundler.packets,
        "first_us": bundler.first_us,
        "last_us": bundler.last_us,
        "container": reader.container,
        "compressed": reader.compressed,
        "ignored": dissector.ignored,
        "damages": reader.damages + len(dissector.damaged) + len(broken),
        "notes": (broken + notes)[:NOTES_KEPT],
    }
    key = b"%d" % each.file
    yield Row(bucket_of(key, buckets), RANGE, key, each.place, 0, json.dumps(summary).encode())


def capture_notes(reader: PacketReader, dissector: Dissector) -> list[Fault]:
    """What is wrong with a capture and its packets."""
    notes = reader.notes + packet_notes(dissector, NUMBER_MASK)
    return [(note.code, int(note.offset), note.text) for note in notes]


def write_fragments(side: str, index: int, time: int, waiting: Sequence[FragmentRow]) -> None:
    """Leave a range's unfinished IP datagrams where the decoding tasks find them; again is the same."""
    folder = Folder(side)
    folder.make()
    folder.write(plain_json.dumps((time, waiting)), f"{index + 1:012d}.json")


Late = tuple[int, bytes, Segment]
"""A segment behind its running time and the key of its row."""


def read_fragments(side: str, final: bool, separate: bool) -> tuple[list[Late], list[FragmentRow]]:
    """What comes of the fragments that all ranges left, in order.

    Unless `final`, what is still not whole is the second result.
    """
    folder = Folder(side)
    dissectors: dict[int, Dissector] = {}
    found: list[Late] = []
    time = 0

    def take(segments: Iterable[Segment], at: int) -> None:
        keys = ((row_key(one.key, one.packet >> FILE_SHIFT, separate), one) for one in segments)
        found.extend((at, key, one) for key, one in keys)

    for name in folder.names():
        if not name.endswith(".json"):
            continue
        time, plain = plain_json.loads(folder.read(name))
        for key, offset, more, data, time_us, number, file_offset in plain:
            dissector = dissectors.setdefault(number >> FILE_SHIFT if separate else 0, Dissector())
            segments: list[Segment] = []
            dissector.add_fragment((key, offset, more, data, time_us, number, file_offset), segments)
            take(segments, time_us)
    left: list[FragmentRow] = []
    for dissector in dissectors.values():
        if final:
            take(dissector.close(), time)
        else:
            left += dissector.state()
    return found, left


def pending_rows(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and states of the flows in a file of pending ones."""
    from io import BytesIO

    from pyarrow import parquet

    for batch in parquet.ParquetFile(BytesIO(data)).iter_batches(1024):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def side_place(run: str) -> str:
    """The place for left-over fragments of the run whose folder is `run`."""
    return below(run, "fragments")
