"""A decoding task: rows of chunks.SCHEMA, sorted, in; part files, and one account for each bucket, out.

One pair of endpoints is decoded at a time, so a task holds only its unfinished bytes, whatever the size of
the input.
"""

from __future__ import annotations

import gc
import heapq
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain, groupby
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from wirelens.cli.bulk import plain_json
from wirelens.cli.bulk.accounts import (
    BucketAccount,
    InputAccount,
    Part,
    Problem,
    RangeAccount,
    load_range_account,
)
from wirelens.cli.bulk.chunks import (
    CHUNK,
    FILE,
    RANGE,
    STATE_TIME,
    Row,
    SegmentRun,
    bucket_of,
    flow_key,
    key_suffix,
)
from wirelens.cli.bulk.counting import write_counts
from wirelens.cli.bulk.files import Folder, Readers
from wirelens.cli.bulk.local_packets import PacketFiles
from wirelens.cli.bulk.numbering import ALL_CAPTURES, UNNUMBERED
from wirelens.cli.bulk.plan import Range, load_range
from wirelens.cli.bulk.reading import LateSegment, read_fragments
from wirelens.cli.bulk.selecting import matches
from wirelens.cli.bulk.table import CallWriter, PartWriter, RecordWriter, RowWriter
from wirelens.cli.points import NONE, points_of
from wirelens.cli.tables.arrow import day_text
from wirelens.cli.tables.call_columns import CallColumns
from wirelens.cli.tables.columns import PARTITIONED
from wirelens.cli.tables.counts import (
    ERRORS,
    MESSAGES,
    PAYLOAD,
    PENDING,
    RAW,
    RESUMED,
    RETRANSMITTED,
    Counters,
)
from wirelens.cli.tables.record_columns import Columns, clean
from wirelens.cli.tables.rows import HEAD_BYTES, NO_DAY, Decoding, RowMaker
from wirelens.codecs import checkpoint
from wirelens.codecs.calls import Calls
from wirelens.codecs.captures import Assembler, FragmentRow, Piece, Reader, Segment, unbundle
from wirelens.codecs.captures.merge import Key, in_order
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.captures.sequencing import CONTRADICTIONS_KEPT
from wirelens.codecs.captures.streams import OVER_TIME_US
from wirelens.codecs.conversations import Conversations
from wirelens.codecs.decoder import Decoder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.accumulators import Accumulator

RESULT = "result binary"
REFUSED_BYTES = 1 << 20  # kept of an input that was refused
GC_OBJECTS = 100_000
OPEN_PARTS = 64  # at most; then all are ended
ROW_COST = 320  # bytes of a row of connections, about
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"  # what Hive, Spark and DuckDB call a folder for null

Steps = Generator[None, None, InputAccount]
"""Decoding in small steps, so that its rows can be taken in between; ends with the input's account."""


class Config(NamedTuple):
    """The settings of a decoding task; plain values, because it crosses processes."""

    place: str  # the target folder
    run: str  # the run's folder, relative to it
    fragments: str  # the folder of left-over fragments
    packet_folder: str  # of packets, see local_packets.py; "" if they are in the rows
    buckets: int
    protocol: str  # "" detects
    quarantine: str  # "full", "head" or "none": what is kept of unrecognised bytes
    final: bool  # whether streams end with the input, or are kept for the next run
    separate: bool  # whether streams end with their file
    horizon: int  # µs: a flow that ended before it is complete
    names: tuple[tuple[int, str], ...]  # the input files' numbers and names
    point: str = NONE  # how the names show where a capture was made, see cli/points.py
    where: tuple[str, ...] = ()  # expressions that messages have to match


def partition(table: str, protocol: str, day: int) -> tuple[str, ...]:
    """The folders of a table, in the target folder, for rows of a protocol and of a day (since 1970)."""
    if table not in PARTITIONED:
        return (table,)
    return (table, f"protocol={protocol}", f"day={day_text(day) or NO_PARTITION}")


class Tables:
    """The part files of one bucket."""

    def __init__(self, config: Config, bucket: int, names: Mapping[int, str]) -> None:
        self._folder = Folder(config.place)
        self._stage = f"{config.run}/{UNNUMBERED}"
        self._stem = f"{bucket:05d}"
        self._point = config.point
        self.names = dict(names)
        self.points = points_of(names, config.point)
        self._records: dict[tuple[str, str, int], RecordWriter] = {}
        self._calls: dict[tuple[str, int], CallWriter] = {}
        self._connections: RowWriter | None = None
        self._pending: RowWriter | None = None
        self._new_flow_rows: RowWriter | None = None
        self.new_flows = 0  # how many there are

    def columns(self, table: str, protocol: str, day: int) -> Columns:
        """The columns for rows of `messages` of a protocol and a day, or of `quarantine`."""
        writer = self._records.get((table, protocol, day))
        if writer is None:
            self._end_parts()
            parts = (self._stage, *partition(table, protocol, day))
            writer = RecordWriter(self._folder, table, parts, self._stem, "arrow", self.names, self.points)
            self._records[table, protocol, day] = writer
        return writer.columns

    def call_columns(self, protocol: str, day: int) -> CallColumns:
        """The columns for rows of `calls` of a protocol and a day."""
        writer = self._calls.get((protocol, day))
        if writer is None:
            self._end_parts()
            parts = (self._stage, *partition("calls", protocol, day))
            writer = CallWriter(self._folder, parts, self._stem, self.names, self.points)
            self._calls[protocol, day] = writer
        return writer.columns

    def add_connection(self, row: tuple[Any, ...]) -> None:
        """Add a row of `connections`."""
        if self._connections is None:
            parts = (self._stage, *partition("connections", "", NO_DAY))
            self._connections = RowWriter(self._folder, "connections", parts, self._stem, "arrow")
        self._connections.add(row, ROW_COST)

    def _end_parts(self) -> None:
        """End all parts if there are many, as for captures of many days."""
        if len(self._records) + len(self._calls) >= OPEN_PARTS:
            writers: list[PartWriter] = [*self._records.values(), *self._calls.values()]
            if sum(writer.is_open for writer in writers) >= OPEN_PARTS:
                for writer in writers:
                    writer.end_part()

    def keep(self, key: bytes, state: bytes, number: int) -> None:
        """Keep the state of a pair of endpoints for the next run; `number` as of `Stream`."""
        if self._pending is None:
            parts = (self._stage, "_ledger/_pending")
            self._pending = RowWriter(self._folder, "pending", parts, self._stem, "arrow")
        self._pending.add((key, state, number), len(state) + 64)

    def add_names(self, names: Iterable[tuple[int, str]]) -> None:
        """Add the names of files that rows of calls and connections of earlier runs need."""
        for number, name in names:
            if number not in self.names:
                self.names[number] = name
                self.points.update(points_of({number: name}, self._point))

    def new_flow(self, scope: int, time: int, packet: int, tie: int) -> int:
        """Add a row to the new flows, with the values of table.NEW_FLOWS; its number as of `Stream`."""
        if self._new_flow_rows is None:
            self._new_flow_rows = RowWriter(self._folder, "new_flows", (self._stage,), self._stem, "arrow")
        self._new_flow_rows.add((scope, time, packet, tie), 32)
        self.new_flows += 1
        return -self.new_flows

    def close(self) -> list[Part]:
        """The parts that were written."""
        writers: list[PartWriter] = [*self._records.values(), *self._calls.values()]
        writers += filter(None, (self._connections, self._pending, self._new_flow_rows))
        parts: list[Part] = []
        for writer in writers:
            writer.close()
            parts.extend(Part(writer.table, *file) for file in writer.files)
        return parts


def decode_rows(
    config: Config, accumulators: tuple[Accumulator[int], ...], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The accounts of the buckets in these batches. `accumulators`, if given, add up messages and errors."""
    import pyarrow as pa

    # Tens of thousands of rows wait at a time; searching them for cycles again and again takes long.
    gc.set_threshold(GC_OBJECTS)
    schema = pa.schema([("result", pa.binary())])
    names = dict(config.names)

    def suffix_of(file: int) -> bytes:
        return key_suffix(file, names.get(file, ""), config.separate, config.point)

    late, left, ignored = read_fragments(config.fragments, config.final, suffix_of)
    for number, rows in groupby(_rows(batches), key=lambda row: row.bucket):
        bucket = Bucket(config, number, names)
        bucket.decode(rows, [item for item in late if bucket_of(item[1], config.buckets) == number])
        # The first bucket reports the fragments that are kept for the next run, or given up.
        account = bucket.close(left, ignored) if number == 0 else bucket.close([], {})
        for accumulator, what in zip(accumulators, (MESSAGES, ERRORS), strict=False):
            accumulator.add(bucket.total(what))
        yield pa.RecordBatch.from_arrays([pa.array([plain_json.dumps(account)], pa.binary())], schema=schema)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


class Bucket:
    """Decodes one bucket."""

    def __init__(self, config: Config, number: int, names: Mapping[int, str]) -> None:
        self._config = config
        self._number = number
        self._started = process_time()
        self._counters = Counters()
        self._ranges: list[RangeAccount] = []
        self._inputs: list[InputAccount] = []
        self._tables = Tables(config, number, names)
        self._packets = PacketFiles(config.packet_folder)
        matching = matches(config.where, config.point, names) if config.where else None
        tables = self._tables
        self._maker = RowMaker(
            config.quarantine,
            self._counters,
            tables.columns,
            tables.call_columns,
            tables.add_connection,
            tables.names,
            tables.points,
            matching,
        )
        self._contradictions: set[tuple[int, int]] = set()  # numbers of two files

    def decode(self, rows: Iterable[Row], late: list[LateSegment]) -> None:
        """Decode the bucket's rows; `late` are the segments made of left-over fragments."""
        late_runs: dict[bytes, list[tuple[int, int, SegmentRun]]] = {}
        for time, key, segment in late:
            packet = segment.packet
            # RAW counts what the reading tasks gave.
            self._counters.counts(packet >> FILE_SHIFT)[RAW] -= len(segment.payload)
            late_runs.setdefault(key, []).append((time, packet, ([(time, packet)], [segment])))
        for (kind, key), group in groupby(rows, key=lambda row: (row.kind, row.key)):
            if kind == CHUNK:
                chunks = iter(group)
                first = next(chunks)
                state, number = b"", 0
                if first.time == STATE_TIME:
                    state, number = first.data, first.packet
                else:
                    chunks = chain((first,), chunks)
                runs = ((row.time, row.packet, unbundle(flow_key(key), self._data(row))) for row in chunks)
                more = sorted(late_runs.pop(key, ()), key=_start)
                self._decode_flows(key, state, number, heapq.merge(runs, more, key=_start) if more else runs)
            elif kind == FILE:
                for row in group:
                    self._decode_file(row)
            elif kind == RANGE:
                self._ranges.extend(load_range_account(plain_json.loads(row.data)) for row in group)
        for key, more in late_runs.items():
            self._decode_flows(key, b"", 0, sorted(more, key=_start))

    def _data(self, row: Row) -> bytes:
        """The packets of a row."""
        return self._packets.get(row.data) if self._config.packet_folder else row.data

    def _decode_flows(
        self, key: bytes, state: bytes, number: int, runs: Iterable[tuple[int, int, SegmentRun]]
    ) -> None:
        """Decode all flows of one pair of endpoints, from where an earlier run stopped with flow `number`."""
        separate = self._config.separate
        endpoints = Endpoints(self._config.protocol, self._counters, self._maker, self._tables, key, separate)
        if state:
            endpoints.load(state, number)
        for segments, keys, start in in_order(runs):
            endpoints.add(segments, keys, start)
        if len(self._contradictions) < CONTRADICTIONS_KEPT:
            self._contradictions |= endpoints.contradictions
        if not self._config.final and endpoints.may_continue(self._config.horizon):
            self._tables.keep(key, endpoints.save(), endpoints.number)
        else:
            endpoints.close()

    def _decode_file(self, row: Row) -> None:
        """Decode an input that one task reads whole."""
        file = row.packet >> FILE_SHIFT
        source = load_range(plain_json.loads(row.data))
        self._maker.numbers = {}
        self._maker.new_flows = self._tables.new_flows
        account = finished(decode_input(source, file, self._config.protocol, self._maker))
        self._maker.new_flows = -1
        for number in range(account.flows):
            self._tables.new_flow(file, 0, file << FILE_SHIFT | number, 0)
        counts = self._counters.counts(file)
        counts[PAYLOAD] += account.payload
        counts[RETRANSMITTED] += account.retransmitted
        self._counters.flows += account.flows
        self._inputs.append(account)

    def total(self, what: int) -> int:
        """One of the counts of `counts`, of all files."""
        return sum(counts[what] for counts in self._counters.files.values())

    def close(self, fragments: list[FragmentRow], ignored: dict[str, int]) -> BucketAccount:
        """End the parts; the bucket's account, with `fragments` and what was `ignored` in it."""
        counters = self._counters
        self._packets.close()
        parts = self._tables.close()
        if counters.files:
            write_counts(Folder(self._config.place), self._config.run, self._number, counters.files)
        return BucketAccount(
            bucket=self._number,
            seconds=process_time() - self._started,
            flows=counters.flows,
            parts=parts,
            counted=len(counters.files),
            ranges=self._ranges,
            inputs=self._inputs,
            protocols=counters.protocols,
            errors=counters.errors,
            slowest=sorted(counters.slowest, reverse=True),
            methods=[(*key, sums) for key, sums in sorted(counters.methods.items())],
            fragments=fragments,
            contradictions=sorted(self._contradictions),
            ignored=ignored,
        )


class Endpoints:
    """Decodes the flows of one pair of endpoints."""

    def __init__(
        self, protocol: str, counters: Counters, maker: RowMaker, tables: Tables, key: bytes, separate: bool
    ) -> None:
        self._protocol = protocol or None
        self._counters = counters
        self._maker = maker
        self._tables = tables
        self._tie = crc32(key)
        self._separate = separate
        self._numbers: dict[int, int] = {}  # of `Stream`, by those of flows
        maker.numbers = self._numbers
        self._begin(Assembler(), Conversations(self._protocol, sources=False, arrivals=True))

    def _begin(self, assembler: Assembler, conversations: Conversations) -> None:
        assembler.openings = []
        self._assembler = assembler
        self._conversations = conversations
        self._decoding = Decoding(conversations, Calls())
        self._flows = assembler.flows
        self._payload = assembler.payload
        self._unplaced: dict[int, int] = {}  # by file: payload bytes that are in no piece yet

    def load(self, state: bytes, number: int) -> None:
        """Continue what `save` gave; `number` is that of the flow."""
        streams, tables, names = plain_json.tuples(plain_json.loads(state))
        self._tables.add_names(names)
        assembler, conversations = checkpoint.load(streams, self._protocol, sources=False, arrivals=True)
        self._begin(assembler, conversations)
        self._decoding.load(tables, [flow for flow, _ in assembler.known_flows()])
        for flow, _ in assembler.known_flows():
            self._numbers[flow.number] = number
        waiting = assembler.waiting()
        for size, packet in waiting:
            file = packet >> FILE_SHIFT
            self._unplaced[file] = self._unplaced.get(file, 0) + size
        for size, packet in chain(waiting, conversations.undecoded()):
            self._counters.counts(packet >> FILE_SHIFT)[RESUMED] += size

    def add(self, segments: list[Segment], keys: list[Key], start: int) -> None:
        """Take the next segments, which are of one file; keys[start] is that of the first."""
        pieces: list[Piece] = []
        assembler = self._assembler
        size = assembler.extend(segments, pieces)
        if assembler.openings:
            self._open(assembler.openings, segments, keys, start)
        if size:
            file = segments[0].packet >> FILE_SHIFT
            counts = self._counters.counts(file)
            counts[RAW] += size
            payload = assembler.payload
            if payload != self._payload:
                size = payload - self._payload
                counts[PAYLOAD] += size
                self._unplaced[file] = self._unplaced.get(file, 0) + size
                self._payload = payload
        if pieces:
            self._maker.add_pieces(pieces, self._decoding, self._unplaced)

    def _open(self, openings: list[int], segments: list[Segment], keys: list[Key], start: int) -> None:
        """Add the flows that segments opened to the new ones."""
        number = self._assembler.flows - len(openings)
        place = 0
        for packet in openings:
            while segments[place].packet != packet:
                place += 1
            scope = packet >> FILE_SHIFT if self._separate else ALL_CAPTURES
            number += 1
            time = keys[start + place][0]
            self._numbers[number] = self._tables.new_flow(scope, time, packet, self._tie)
        openings.clear()

    @property
    def number(self) -> int:
        """The number of the flow that goes on, as of `Stream`."""
        return next((self._numbers[flow.number] for flow, _ in self._assembler.known_flows()), 0)

    @property
    def contradictions(self) -> set[tuple[int, int]]:
        """The numbers of two files with different bytes at the same place of a stream, for all such files."""
        return set(self._assembler.contradictions)

    def close(self) -> None:
        """End all flows."""
        self._maker.add_pieces(self._assembler.close(), self._decoding, self._unplaced)
        self._maker.close_decoding(self._decoding)
        self._count_retransmitted(0)

    def may_continue(self, horizon: int) -> bool:
        """Whether more may follow in the next run: a flow is open, or ended only recently."""
        for flow, ended in self._assembler.known_flows():
            return flow.last_us >= (horizon if ended else horizon - OVER_TIME_US)
        return False

    def save(self) -> bytes:
        """The state for the next run."""
        waiting = self._assembler.waiting()
        self._maker.pause(self._decoding, {flow.number for flow, _ in self._assembler.known_flows()})
        for size, packet in chain(waiting, self._conversations.undecoded()):
            self._counters.counts(packet >> FILE_SHIFT)[PENDING] += size
        for size, packet in waiting:
            self._unplaced[packet >> FILE_SHIFT] -= size
        self._count_retransmitted(sum(size for size, _ in waiting))
        streams = checkpoint.save(self._assembler, self._conversations)
        names = self._tables.names
        files = [(file, names[file]) for file in sorted(self._decoding.files()) if file in names]
        return plain_json.dumps((streams, self._decoding.save(), files))

    def _count_retransmitted(self, waiting: int) -> None:
        """Count the bytes that no piece holds, except `waiting`. Raises AssertionError if sums differ."""
        assembler = self._assembler
        if assembler.payload != assembler.delivered + assembler.retransmitted + waiting:
            raise AssertionError("a flow's bytes do not add up")
        if sum(self._unplaced.values()) != assembler.retransmitted:
            raise AssertionError("a flow's retransmitted bytes do not add up")
        for file, size in self._unplaced.items():
            self._counters.counts(file)[RETRANSMITTED] += size
        self._counters.flows += assembler.flows - self._flows


def finished(steps: Steps) -> InputAccount:
    """Take all steps of decoding; the account at their end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            account: InputAccount = end.value
            return account


def decode_input(source: Range, file: int, protocol: str, maker: RowMaker) -> Steps:
    """Decode a file that is not a capture, or a capture as text, into rows of `maker`."""
    from wirelens.cli.input import TOO_MUCH, Input, InputError

    readers = Readers()
    item = Input(source.name, data=readers.chunks(source.root, source.path, 0, source.length))
    account = InputAccount(file)
    errors: list[str] = []
    try:
        item.open()
    except MemoryError:
        errors.append(TOO_MUCH)
    except InputError as error:
        account.read = account.payload = source.length
        account.refused = clean(error.reason)
        head = readers.head(source.root, source.path, REFUSED_BYTES)
        maker.add_refused(file, account.refused, head, source.length)
    except OSError as error:
        errors.append(str(error))
    else:
        if item.capture:
            account = yield from decode_capture(item.chunks, file, protocol, maker)
        else:
            size = yield from _decode_bytes(item.chunks, file, protocol, maker, errors)
            account.read = account.payload = size
    account.problems += [Problem(note.code, int(note.offset), note.text) for note in item.notes]
    if errors:
        account.status = errors[0]
        account.problems.append(Problem("unreadable", account.read, errors[0]))
    account.container = item.form or "text"
    account.compressed = item.compression != ""
    return account


def _decode_bytes(
    chunks: Iterable[bytes], file: int, protocol: str, maker: RowMaker, errors: list[str]
) -> Generator[None, None, int]:
    """Decode bytes of one stream; how many they were, or as many as fit into memory."""
    from wirelens.cli.input import TOO_MUCH

    decoder = Decoder(protocol or None)
    size = 0
    last = b""
    try:
        for chunk in _readable(chunks, errors):  # one chunk late: what is known to be the end decodes better
            for record in decoder.feed(last):
                maker.add_record(file, record)
                size += record.length
            last = chunk
            yield
        for record in decoder.close(last):
            maker.add_record(file, record)
            size += record.length
    except MemoryError:
        errors.append(TOO_MUCH)
    maker.close()
    yield
    return size


def decode_capture(chunks: Iterable[bytes], file: int, protocol: str, maker: RowMaker) -> Steps:
    """Decode a capture, apart from all others, into rows of `maker`; an OSError of `chunks` ends it."""
    reader = Reader(file_bits=file << FILE_SHIFT)
    decoding = Decoding(Conversations(protocol or None, sources=False, arrivals=True), Calls())
    unplaced: dict[int, int] = {}
    errors: list[str] = []
    for chunk in _readable(chunks, errors):
        for pieces in reader.steps(chunk):
            maker.add_pieces(pieces, decoding, unplaced)
            yield
    problems = [Problem("unreadable", reader.position, error) for error in errors]
    maker.add_pieces(reader.close(), decoding, unplaced)
    maker.close_decoding(decoding)
    problems += [Problem(note.code, int(note.offset), note.text) for note in reader.damage]
    yield
    return InputAccount(
        file,
        read=reader.bytes_read,
        payload=reader.payload,
        retransmitted=reader.retransmitted,
        flows=reader.flows,
        packets=reader.packets,
        container=reader.container,
        compressed=reader.compressed,
        problems=problems,
        ignored=reader.ignored,
    )


def _readable(chunks: Iterable[bytes], errors: list[str]) -> Iterator[bytes]:
    """The chunks up to the first that cannot be read, which `errors` then explains.

    Errors of writing, raised where the chunks are consumed, are not caught here.
    """
    try:
        yield from chunks
    except OSError as error:
        errors.append(str(error))


def _start(run: tuple[int, int, SegmentRun]) -> tuple[int, int]:
    """The time and packet of a run's first segment."""
    return run[:2]


def damaged_bytes(readers: Readers, root: str, path: str, problem: Problem) -> bytes | None:
    """The bytes at a problem of a file that is not compressed, at most HEAD_BYTES; None if unreadable."""
    if problem.code == "unreadable":
        return None
    try:
        return b"".join(readers.chunks(root, path, problem.offset, HEAD_BYTES))
    except OSError:  # the file may be gone by now
        return None
