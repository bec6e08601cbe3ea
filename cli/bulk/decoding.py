"""A decoding task: rows of chunks.SCHEMA, sorted, in; part files, and one account for each bucket, out.

One pair of endpoints is worked on at a time, so a task holds its unfinished bytes only, whatever the size of
the input.
"""

from __future__ import annotations

import gc
import heapq
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

from wirelens.cli.bulk import plain_json
from wirelens.cli.bulk.chunks import (
    CHUNK,
    FILE,
    FILE_SHIFT,
    NUMBER_MASK,
    RANGE,
    STATE_TIME,
    Row,
    Run,
    bucket_of,
    flow_key,
    in_order,
)
from wirelens.cli.bulk.files import Folder, Readers
from wirelens.cli.bulk.plan import Range, load_range
from wirelens.cli.bulk.reading import Fault, Late, capture_notes, read_fragments
from wirelens.cli.bulk.table import PartWriter
from wirelens.codecs import checkpoint
from wirelens.codecs.captures import (
    Assembler,
    Dissector,
    Flow,
    FragmentRow,
    Packet,
    PacketReader,
    Piece,
    Segment,
    unbundle,
)
from wirelens.codecs.captures.streams import OVER_TIME_US
from wirelens.codecs.conversations import Conversations, Said
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.notation import tree_json
from wirelens.codecs.record import Record

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.accumulators import Accumulator

RESULT = "result binary"
HEAD_BYTES = 4096
"""So many bytes of a stream that nobody recognised are kept."""
REFUSED_BYTES = 1 << 20
"""So many bytes of an input that was refused are kept."""
SLOWEST = 10
GC_OBJECTS = 100_000

# What is counted of each file. RAW: bytes of all segments; PAYLOAD: without text on resets. CARRIED: bytes
# that an earlier run left pending; AGAIN: bytes that came more than once. PAYLOAD + CARRIED is DECODED +
# QUARANTINED + UNRECOGNISED + AGAIN + PENDING.
RAW, PAYLOAD, CARRIED, DECODED, QUARANTINED, UNRECOGNISED, AGAIN, PENDING, MESSAGES, ERRORS = range(10)
COUNTS = 10

Origin = tuple[int, int, int, int]
"""Where bytes of a stream came from: start and end in the stream, packet, time."""


class Config(NamedTuple):
    """What a decoding task has to know; plain values, for it crosses processes."""

    place: str  # the folder that is written to
    run: str  # the run's folder, relative to it
    side: str  # where left-over fragments lie
    buckets: int
    protocol: str  # "" detects
    jsonl: bool
    quarantine: str  # "full", "head" or "none": what is kept of unrecognised bytes
    final: bool  # whether streams end with the input, or are kept for the next run
    separate: bool  # whether each file is for itself
    horizon: int  # µs: what ended before that will not be heard of again
    names: tuple[tuple[int, str], ...]  # the input files' numbers and names


class Account:
    """What one bucket came to."""

    def __init__(self) -> None:
        self.files: dict[int, list[int]] = {}
        self.ranges: list[dict[str, Any]] = []
        self.inputs: list[dict[str, Any]] = []
        self.protocols: dict[str, list[int]] = {}
        self.errors: dict[str, int] = {}
        self.slow: list[tuple[int, str, str]] = []
        self.flows = 0

    def counts(self, file: int) -> list[int]:
        counts = self.files.get(file)
        if counts is None:
            counts = self.files[file] = [0] * COUNTS
        return counts

    def error(self, code: str) -> None:
        self.errors[code] = self.errors.get(code, 0) + 1

    def latency(self, latency_us: int, protocol: str, summary: str) -> None:
        if len(self.slow) < SLOWEST:
            heapq.heappush(self.slow, (latency_us, protocol, summary[:200]))
        elif latency_us > self.slow[0][0]:
            heapq.heapreplace(self.slow, (latency_us, protocol, summary[:200]))


class Tables:
    """The part files of one bucket."""

    def __init__(self, config: Config, bucket: int) -> None:
        self._folder = Folder(config.place)
        self._stage = f"{config.run}/stage"
        self._stem = f"{bucket:05d}"
        self._jsonl = config.jsonl
        self._writers: dict[tuple[str, str], PartWriter] = {}

    def add(self, table: str, protocol: str, row: tuple[Any, ...], size: int) -> None:
        """Take a row, its values in the order of the table's columns."""
        writer = self._writers.get((table, protocol))
        if writer is None:
            parts = [self._stage, "_ledger/_pending" if table == "pending" else table]
            if protocol:
                parts.append(f"protocol={protocol}")
            jsonl = self._jsonl and table != "pending"
            writer = PartWriter(self._folder, table, tuple(parts), self._stem, jsonl)
            self._writers[table, protocol] = writer
        writer.add(row, size)

    def close(self) -> list[tuple[str, str, str, int, int]]:
        """Table, protocol, path, rows and bytes of each part."""
        parts: list[tuple[str, str, str, int, int]] = []
        for (table, protocol), writer in self._writers.items():
            writer.close()
            parts.extend((table, protocol, *file) for file in writer.files)
        return parts


def decode_rows(
    config: Config, counters: tuple[Accumulator[int], ...], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The accounts of the buckets in these batches. `counters` take messages and errors, if given."""
    import pyarrow as pa

    # Rows wait by the ten thousand, and looking for cycles among them again and again takes its time.
    gc.set_threshold(GC_OBJECTS)
    schema = pa.schema([("result", pa.binary())])
    names = dict(config.names)
    late, left = read_fragments(config.side, config.final, config.separate)
    for bucket, rows in groupby(_rows(batches), key=lambda row: row.bucket):
        work = Bucket(config, bucket, names)
        work.run(rows, [each for each in late if bucket_of(each[1], config.buckets) == bucket])
        result = work.result(left)
        for counter, what in zip(counters, (MESSAGES, ERRORS), strict=False):
            counter.add(sum(counts[what] for counts in work.account.files.values()))
        yield pa.RecordBatch.from_arrays([pa.array([plain_json.dumps(result)], pa.binary())], schema=schema)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


class Bucket:
    """The work on one bucket."""

    def __init__(self, config: Config, bucket: int, names: Mapping[int, str]) -> None:
        self.config = config
        self.bucket = bucket
        self.began = process_time()
        self.account = Account()
        self.tables = Tables(config, bucket)
        self.maker = RowMaker(config.quarantine, self.account, self.tables, names)

    def run(self, rows: Iterable[Row], late: list[Late]) -> None:
        """Work through the bucket's rows; `late` are segments that came of left-over fragments."""
        waiting: dict[bytes, list[tuple[int, int, Run]]] = {}
        for time, key, segment in late:
            packet = segment.packet
            # RAW counts what the reading tasks gave.
            self.account.counts(packet >> FILE_SHIFT)[RAW] -= len(segment.payload)
            waiting.setdefault(key, []).append((time, packet, ([(time, packet)], [segment])))
        for (kind, key), group in groupby(rows, key=lambda row: (row.kind, row.key)):
            if kind == CHUNK:
                whole = iter(group)
                first = next(whole)
                state = first.data if first.time == STATE_TIME else b""
                rest = whole if state else chain((first,), whole)
                chunks = ((row.time, row.packet, unbundle(flow_key(key), row.data)) for row in rest)
                more = sorted(waiting.pop(key, ()), key=_first)
                self._flow(key, state, heapq.merge(chunks, more, key=_first) if more else chunks)
            elif kind == FILE:
                for row in group:
                    self._file(row)
            elif kind == RANGE:
                self.account.ranges.extend(json.loads(row.data) for row in group)
        for key, more in waiting.items():
            self._flow(key, b"", sorted(more, key=_first))

    def _flow(self, key: bytes, state: bytes, chunks: Iterable[tuple[int, int, Run]]) -> None:
        """All connections of one pair of endpoints, from where an earlier run left them."""
        pair = Endpoints(self.config.protocol, self.account, self.maker)
        if state:
            pair.load(state)
        for segments in in_order(chunks):
            pair.add(segments)
        if not self.config.final and pair.goes_on(self.config.horizon):
            data = pair.keep()
            self.tables.add("pending", "", (key, data), len(data))
        else:
            pair.close()

    def _file(self, row: Row) -> None:
        """An input that is no capture."""
        file = row.packet >> FILE_SHIFT
        said: dict[str, Any] = {"file": file}
        for _ in decode_plain(load_range(json.loads(row.data)), file, self.config.protocol, self.maker, said):
            pass
        counts = self.account.counts(file)
        counts[PAYLOAD] += said["payload"]
        counts[AGAIN] += said["retransmitted"]
        self.account.flows += said["flows"]
        self.account.inputs.append(said)

    def result(self, left: list[FragmentRow]) -> dict[str, Any]:
        """The account as plain values. The first bucket tells which fragments are kept for the next run."""
        account = self.account
        parts = self.tables.close()
        return {
            "bucket": self.bucket,
            "busy": process_time() - self.began,
            "parts": parts,
            "files": list(account.files.items()),
            "ranges": account.ranges,
            "inputs": account.inputs,
            "protocols": account.protocols,
            "errors": account.errors,
            "slow": sorted(account.slow, reverse=True),
            "flows": account.flows,
            "fragments": left if self.bucket == 0 else [],
        }


class Endpoints:
    """The work on one pair of endpoints."""

    def __init__(self, protocol: str, account: Account, maker: RowMaker) -> None:
        self._protocol = protocol or None
        self._account = account
        self._maker = maker
        self._begin(Assembler(), Conversations(self._protocol, sources=False))

    def _begin(self, assembler: Assembler, conversations: Conversations) -> None:
        self._assembler = assembler
        self._conversations = conversations
        self._flows = assembler.flows
        self._payload = assembler.payload
        # Bytes of each file that are to be put in order, less those that were.
        self._came: dict[int, int] = {}

    def load(self, state: bytes) -> None:
        """Go on where `keep` left off."""
        streams, plain = plain_json.loads(state)
        assembler, conversations = checkpoint.load(plain_json.tuples(plain), self._protocol, False)
        self._begin(assembler, conversations)
        waiting = checkpoint.waiting(assembler)
        for size, packet in waiting:
            self._came[packet >> FILE_SHIFT] = self._came.get(packet >> FILE_SHIFT, 0) + size
        flows = {flow.number: flow for flow, _ in checkpoint.flows(assembler)}
        for size, packet in chain(waiting, self._maker.load(streams, flows)):
            self._account.counts(packet >> FILE_SHIFT)[CARRIED] += size

    def add(self, segments: list[Segment]) -> None:
        """Take the next segments, which are of one file."""
        pieces: list[Piece] = []
        assembler = self._assembler
        size = assembler.extend_all(segments, pieces)
        if size:
            file = segments[0].packet >> FILE_SHIFT
            counts = self._account.counts(file)
            counts[RAW] += size
            payload = assembler.payload
            if payload != self._payload:
                size = payload - self._payload
                counts[PAYLOAD] += size
                self._came[file] = self._came.get(file, 0) + size
                self._payload = payload
        if pieces:
            self._pieces(pieces)

    def close(self) -> None:
        """The end: nothing more will come."""
        self._pieces(self._assembler.close())
        for said in self._conversations.close():
            self._maker.said(said)
        self._maker.close()
        self._settle(0)

    def goes_on(self, horizon: int) -> bool:
        """Whether it is worth keeping: a connection is open, or ended so lately that more may come."""
        for flow, ended in checkpoint.flows(self._assembler):
            return flow.last_us >= (horizon if ended else horizon - OVER_TIME_US)
        return False

    def keep(self) -> bytes:
        """What another run needs to go on."""
        waiting = checkpoint.waiting(self._assembler)
        streams, undecoded = self._maker.save()
        for size, packet in chain(waiting, undecoded):
            self._account.counts(packet >> FILE_SHIFT)[PENDING] += size
        for size, packet in waiting:
            self._came[packet >> FILE_SHIFT] -= size
        self._settle(sum(size for size, _ in waiting))
        return plain_json.dumps((streams, checkpoint.save(self._assembler, self._conversations)))

    def _settle(self, waiting: int) -> None:
        """Count what came more than once; `waiting` bytes are not placed yet. All must add up."""
        assembler = self._assembler
        if assembler.payload != assembler.delivered + assembler.retransmitted + waiting:
            raise AssertionError("a flow's bytes do not add up")
        if sum(self._came.values()) != assembler.retransmitted:
            raise AssertionError("a flow's repeated bytes do not add up")
        for file, size in self._came.items():
            self._account.counts(file)[AGAIN] += size
        self._account.flows += assembler.flows - self._flows

    def _pieces(self, pieces: list[Piece]) -> None:
        maker, came = self._maker, self._came
        feed = self._conversations.feed
        for piece in pieces:
            if piece.data:
                came[piece.packets[-1] >> FILE_SHIFT] -= len(piece.data)
            maker.piece(piece)
            for said in feed(piece):
                maker.said(said)
            if piece.end:
                maker.end(piece)


def decode_plain(
    each: Range, file: int, protocol: str, maker: RowMaker, said: dict[str, Any]
) -> Iterator[None]:
    """Give the records of an input that is no capture, or one that is printed, to `maker`; in small steps.

    `said` gets the bytes read after unpacking, and how the input is packed and damaged.
    """
    from wirelens.cli.inputs import Input, InputError

    readers = Readers()

    class Remote(Input):
        def _read(self) -> Iterator[bytes]:
            return readers.chunks(each.root, each.path, 0, each.length)

    source = Remote(each.name)
    decoder = Decoder(protocol or None)
    read, status, refused = 0, "done", ""
    try:
        source.open()
        if source.capture:
            yield from decode_capture(source.chunks, file, protocol, maker, said)
        else:
            for chunk in source.chunks:
                read += len(chunk)
                for record in decoder.feed(chunk):
                    maker.plain(file, record)
                yield None
    except InputError as error:
        read, refused = each.length, clean(error.reason)
        maker.refused(file, refused, readers.head(each.root, each.path, REFUSED_BYTES), each.length)
    except OSError as error:
        status = str(error)
    for record in decoder.close():
        maker.plain(file, record)
    maker.close()
    whole: dict[str, Any] = {
        "read": read,
        "payload": read,
        "retransmitted": 0,
        "flows": 0,
        "packets": None,
        "notes": [],
    }
    for key, value in whole.items():
        said.setdefault(key, value)
    said["notes"] += [("truncated", said["read"], note) for note in source.notes]
    if status != "done":
        said["notes"].append(("unreadable", said["read"], status))
    said |= {
        "file": file,
        "status": status,
        "refused": refused,
        "container": source.form or "text",
        "compressed": source.gzipped,
    }
    yield None


def decode_capture(
    chunks: Iterable[bytes], file: int, protocol: str, maker: RowMaker, said: dict[str, Any]
) -> Iterator[None]:
    """Give the records of a capture that is for itself to `maker`; a step for each portion of its packets.

    `said` gets what was read of it. An OSError of `chunks` is the end; `said` tells it among the notes.
    """
    packets = PacketReader()
    dissector, assembler = Dissector(), Assembler()
    conversations = Conversations(protocol or None, sources=False)
    shift = file << FILE_SHIFT
    broken: list[Fault] = []

    def portions() -> Iterator[list[Packet]]:
        try:
            for chunk in chunks:
                yield from packets.steps(chunk)
        except OSError as error:
            broken.append(("unreadable", packets.position, str(error)))
        yield packets.close()

    def take(pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            maker.piece(piece)
            for each in conversations.feed(piece):
                maker.said(each)
            if piece.end:
                maker.end(piece)

    for portion in portions():
        pieces: list[Piece] = []
        for packet in portion:
            packet.number |= shift
            segment = dissector.dissect(packet)
            for late in dissector.given_up:
                assembler.extend(late, pieces)
            dissector.given_up = []
            if segment is not None:
                assembler.extend(segment, pieces)
        take(pieces)
        yield None
    pieces = []
    for segment in dissector.close():
        assembler.extend(segment, pieces)
    take(pieces)
    take(assembler.close())
    for each in conversations.close():
        maker.said(each)
    maker.close()
    said |= {
        "read": packets.bytes_read,
        "payload": assembler.payload,
        "retransmitted": assembler.retransmitted,
        "flows": assembler.flows,
        "packets": packets.number,
        "container": packets.container,
        "compressed": packets.compressed,
        "notes": broken + capture_notes(packets, dissector),
    }
    yield None


def _first(row: tuple[int, int, Run]) -> tuple[int, int]:
    return row[:2]


class _Stream:
    """Where the bytes of one direction came from, and what of them nobody recognised."""

    __slots__ = (
        "columns",
        "connection",
        "direction",
        "flow",
        "head",
        "origins",
        "position",
        "unknown",
        "where",
    )

    def __init__(self, flow: Flow | None, direction: int, connection: int | None) -> None:
        self.flow = flow
        self.direction = direction
        self.connection = connection
        self.columns: tuple[Any, ...] | None = None
        self.origins: deque[Origin] = deque()
        self.position = 0  # behind the last record
        self.unknown = 0
        self.head = b""
        self.where = (0, 0, 0)  # offset of the first unknown bytes, packet and time of the last

    def take(self, offset: int, length: int) -> list[tuple[int, int, int, int]]:
        """What of this stretch came from where: bytes, file, packet, time; older origins are forgotten."""
        origins = self.origins
        while origins and origins[0][1] <= offset:
            origins.popleft()
        end = offset + length
        self.position = end
        start, stop, packet, time = origins[0]
        if start <= offset and end <= stop:
            return [(length, packet >> FILE_SHIFT, packet, time)]
        found = []
        for start, stop, packet, time in origins:
            if start >= end:
                break
            found.append((min(stop, end) - max(start, offset), packet >> FILE_SHIFT, packet, time))
        return found

    def source(self) -> tuple[Any, ...]:
        """The columns from `transport` to `direction`."""
        if self.columns is None:
            flow, side = self.flow, self.direction
            if flow is None:
                self.columns = (None,) * 7
            else:
                here = (flow.address(side), flow.ports[side])
                there = (flow.address(1 - side), flow.ports[1 - side])
                self.columns = (flow.transport, *here, *there, self.connection, side)
        return self.columns


class RowMaker:
    """Records in, rows of the tables out, each byte counted for its file."""

    def __init__(self, quarantine: str, account: Account, tables: Any, names: Mapping[int, str]) -> None:
        self._quarantine = quarantine
        self._account = account
        self._tables = tables
        self._names = names
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._connections: dict[int, int] = {}

    def piece(self, piece: Piece) -> None:
        """Remember where bytes came from; a connection is named after the packet that first gave some."""
        if not piece.data:
            return
        flow = piece.flow
        key = (flow.number, piece.direction)
        stream = self._streams.get(key)
        if stream is None:
            connection = self._connections.setdefault(flow.number, piece.packets[-1])
            stream = self._streams[key] = _Stream(flow, piece.direction, connection)
        end = piece.offset + len(piece.data)
        stream.origins.append((piece.offset, end, piece.packets[-1], piece.time_us))

    def said(self, said: Said) -> None:
        """A record of a conversation."""
        stream = self._streams[said.flow.number, said.direction]
        record = said.record
        self._record(stream, record, stream.take(record.offset, record.length), said)

    def end(self, piece: Piece) -> None:
        """A direction has ended."""
        stream = self._streams.pop((piece.flow.number, piece.direction), None)
        if stream is not None:
            self._unrecognised(stream)

    def close(self) -> None:
        """The end of a pair of endpoints, or of an input."""
        for stream in self._streams.values():
            self._unrecognised(stream)
        self._streams = {}
        self._connections = {}

    def save(self) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]]]:
        """The streams as plain values; and what of them is in no record: bytes and their packet."""
        plain, undecoded = [], []
        for (number, direction), stream in self._streams.items():
            self._unrecognised(stream)
            left = [origin for origin in stream.origins if origin[1] > stream.position]
            undecoded += [(end - max(start, stream.position), packet) for start, end, packet, _ in left]
            plain.append((number, direction, stream.connection, stream.position, left))
        self._streams = {}
        self._connections = {}
        return plain, undecoded

    def load(self, plain: Iterable[tuple[Any, ...]], flows: Mapping[int, Flow]) -> list[tuple[int, int]]:
        """Go on with streams that `save` gave; what of them is in no record: bytes and their packet."""
        undecoded = []
        for number, direction, connection, position, left in plain:
            stream = _Stream(flows[number], direction, connection)
            stream.position = position
            stream.origins.extend(tuple(origin) for origin in left)
            self._streams[number, direction] = stream
            self._connections[number] = connection
            undecoded += [(end - max(start, position), packet) for start, end, packet, _ in left]
        return undecoded

    def plain(self, file: int, record: Record) -> None:
        """A record of an input that is no capture."""
        stream = self._streams.get((-1, 0))
        if stream is None:
            stream = self._streams[-1, 0] = _Stream(None, 0, None)
        self._record(stream, record, [(record.length, file, file << FILE_SHIFT, 0)], None)

    def refused(self, file: int, text: str, head: bytes, size: int) -> None:
        """An input that is not read at all."""
        code = "input-refused"
        source = self._source(_Stream(None, 0, None), 0, size, file << FILE_SHIFT, 0)
        row = (*source, "unknown", code, 0, clean(text), None, head, None)
        self._tables.add("quarantine", "", row, len(head) + 256)
        counts = self._account.counts(file)
        counts[QUARANTINED] += size
        counts[ERRORS] += 1
        self._account.error(code)

    def _record(
        self, stream: _Stream, record: Record, origins: list[tuple[int, int, int, int]], said: Said | None
    ) -> None:
        length = record.length
        size, file, packet, time = origins[-1]
        if size != length and sum(origin[0] for origin in origins) != length:
            raise AssertionError("a record's bytes are not those that came")
        codec = record.codec
        if codec is None:
            self._unknown(stream, record, origins)
            return
        account = self._account
        error = record.error
        what = DECODED if error is None else QUARANTINED
        counts = account.counts(file)
        counts[what] += size
        for size, before, _, _ in origins[:-1]:
            account.counts(before)[what] += size
        source = self._source(stream, record.offset, length, packet, time)
        said_notes = record.notes
        notes = None
        if said_notes:
            notes = [{"code": n.code, "offset": n.offset, "text": clean(n.text)} for n in said_notes]
        if error is None:
            message = document(record)
            summary = record.summary
            if not summary.isascii():
                summary = clean(summary)
            pair = latency = None
            if said is not None and said.pair:
                pair = f"{stream.connection}.{said.pair.rpartition('.')[2]}"
                latency = said.latency_us
                if latency is not None:
                    account.latency(latency, codec.name, summary)
            damaged = record.damaged
            row = (*source, clean(record.kind), summary, pair, latency, message, damaged, notes)
            self._tables.add("messages", codec.name, row, len(message) + len(summary) + 128)
            counts[MESSAGES] += 1
            counted = account.protocols.get(codec.name)
            if counted is None:
                counted = account.protocols[codec.name] = [0, 0]
            counted[0] += 1
            counted[1] += length
            if damaged:
                counts[ERRORS] += 1
                account.error("inner-error")
            return
        partial = document(record) if record.partial is not None else None
        row = (*source, codec.name, error.code, error.offset, clean(error.text), partial, record.raw, notes)
        self._tables.add("quarantine", "", row, len(record.raw) + len(partial or b"") + 256)
        counts[ERRORS] += 1
        account.error(error.code)

    def _unknown(self, stream: _Stream, record: Record, origins: list[tuple[int, int, int, int]]) -> None:
        for size, file, _, _ in origins:
            self._account.counts(file)[UNRECOGNISED] += size
        _, _, packet, time = origins[-1]
        if self._quarantine == "full":
            self._opaque(stream, record.offset, record.length, packet, time, record.raw)
            return
        offset = stream.where[0] if stream.unknown else record.offset
        if len(stream.head) < HEAD_BYTES:
            stream.head += record.raw[: HEAD_BYTES - len(stream.head)]
        stream.unknown += record.length
        stream.where = (offset, packet, time)

    def _unrecognised(self, stream: _Stream) -> None:
        """The row of a stream that nobody recognised."""
        if stream.unknown:
            offset, packet, time = stream.where
            raw = stream.head if self._quarantine == "head" else None
            self._opaque(stream, offset, stream.unknown, packet, time, raw)
            stream.unknown, stream.head = 0, b""

    def _opaque(
        self, stream: _Stream, offset: int, length: int, packet: int, time: int, raw: bytes | None
    ) -> None:
        source = self._source(stream, offset, length, packet, time)
        said = ("unknown", "unknown-protocol", offset, "no protocol has enough evidence", None, raw, None)
        self._tables.add("quarantine", "", (*source, *said), len(raw or b"") + 256)

    def _source(self, stream: _Stream, offset: int, length: int, packet: int, time: int) -> tuple[Any, ...]:
        """The columns that say where a record came from."""
        name = self._names[packet >> FILE_SHIFT]
        if stream.flow is None:
            return (name, *stream.source(), None, None, offset, length)
        # A capture without times has them at nought.
        return (name, *stream.source(), time or None, packet & NUMBER_MASK, offset, length)


def document(record: Record) -> bytes:
    """The message, or the part of it that decoded, in the JSON notation, as UTF-8."""
    tape = record.tape
    assert tape is not None
    return tree_json(tape)


def damage_row(name: str, container: str, fault: Fault, raw: bytes | None) -> tuple[Any, ...]:
    """The quarantine's row of what is wrong with a file itself, and `raw`, the bytes there."""
    code, offset, text = fault
    return (name, *(None,) * 11, container or "unknown", code, offset, clean(text), None, raw, None)


def damaged_bytes(readers: Readers, root: str, path: str, fault: Fault) -> bytes | None:
    """The first bytes of what is wrong with a file that is not packed; None where they cannot be read."""
    code, offset, _ = fault
    if code == "unreadable":
        return None
    try:
        return b"".join(readers.chunks(root, path, offset, HEAD_BYTES))
    except OSError:  # it may be gone since
        return None


def clean(text: str) -> str:
    """Text that every reader of the tables can take: no lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
