"""A decoding task: rows of chunks.SCHEMA, sorted, in; part files, and one account for each bucket, out.

One pair of endpoints is worked on at a time, so a task holds its unfinished bytes only, whatever the size of
the input.
"""

from __future__ import annotations

import gc
import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

from wirelens.cli.bulk import plain_json
from wirelens.cli.bulk.beside import PacketFiles
from wirelens.cli.bulk.chunks import (
    CHUNK,
    FILE,
    FILE_SHIFT,
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
from wirelens.cli.bulk.reading import Fault, Late, read_fragments
from wirelens.cli.bulk.rows import (
    AGAIN,
    CARRIED,
    ERRORS,
    HEAD_BYTES,
    MESSAGES,
    PAYLOAD,
    PENDING,
    RAW,
    Account,
    Columns,
    RowMaker,
    clean,
)
from wirelens.cli.bulk.table import PartWriter, PendingWriter, RecordWriter
from wirelens.codecs import checkpoint
from wirelens.codecs.captures import (
    Assembler,
    FragmentRow,
    Piece,
    Reader,
    Segment,
    unbundle,
)
from wirelens.codecs.captures.streams import OVER_TIME_US
from wirelens.codecs.conversations import Conversations
from wirelens.codecs.decoder import Decoder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.accumulators import Accumulator

RESULT = "result binary"
REFUSED_BYTES = 1 << 20
"""So many bytes of an input that was refused are kept."""
GC_OBJECTS = 100_000


class Config(NamedTuple):
    """What a decoding task has to know; plain values, for it crosses processes."""

    place: str  # the folder that is written to
    run: str  # the run's folder, relative to it
    side: str  # where left-over fragments lie
    beside: str  # where packets lie; "" in the rows themselves
    buckets: int
    protocol: str  # "" detects
    jsonl: bool
    quarantine: str  # "full", "head" or "none": what is kept of unrecognised bytes
    final: bool  # whether streams end with the input, or are kept for the next run
    separate: bool  # whether each file is for itself
    horizon: int  # µs: what ended before that will not be heard of again
    names: tuple[tuple[int, str], ...]  # the input files' numbers and names


class Tables:
    """The part files of one bucket."""

    def __init__(self, config: Config, bucket: int, names: Mapping[int, str]) -> None:
        self._folder = Folder(config.place)
        self._stage = f"{config.run}/stage"
        self._stem = f"{bucket:05d}"
        self._jsonl = config.jsonl
        self._names = names
        self._records: dict[tuple[str, str], RecordWriter] = {}
        self._pending: PendingWriter | None = None

    def columns(self, table: str, protocol: str) -> Columns:
        """What takes the rows of `messages` of a protocol, or those of `quarantine`."""
        writer = self._records.get((table, protocol))
        if writer is None:
            parts = [self._stage, table]
            if protocol:
                parts.append(f"protocol={protocol}")
            writer = RecordWriter(self._folder, table, tuple(parts), self._stem, self._jsonl, self._names)
            self._records[table, protocol] = writer
        return writer.columns

    def keep(self, key: bytes, state: bytes) -> None:
        """Take what another run needs to go on with a pair of endpoints."""
        if self._pending is None:
            parts = (self._stage, "_ledger/_pending")
            self._pending = PendingWriter(self._folder, "pending", parts, self._stem)
        self._pending.add(key, state)

    def close(self) -> list[tuple[str, str, str, int, int]]:
        """Table, protocol, path, rows and bytes of each part."""
        writers: dict[tuple[str, str], PartWriter] = dict(self._records)
        if self._pending is not None:
            writers["pending", ""] = self._pending
        parts: list[tuple[str, str, str, int, int]] = []
        for (table, protocol), writer in writers.items():
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
        self.tables = Tables(config, bucket, names)
        self.packets = PacketFiles(config.beside)
        self.maker = RowMaker(config.quarantine, self.account, self.tables.columns)

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
                chunks = ((row.time, row.packet, unbundle(flow_key(key), self._data(row))) for row in rest)
                more = sorted(waiting.pop(key, ()), key=_first)
                self._flow(key, state, heapq.merge(chunks, more, key=_first) if more else chunks)
            elif kind == FILE:
                for row in group:
                    self._file(row)
            elif kind == RANGE:
                self.account.ranges.extend(json.loads(row.data) for row in group)
        for key, more in waiting.items():
            self._flow(key, b"", sorted(more, key=_first))

    def _data(self, row: Row) -> bytes:
        """The packets of a row."""
        return self.packets.get(row.data) if self.config.beside else row.data

    def _flow(self, key: bytes, state: bytes, chunks: Iterable[tuple[int, int, Run]]) -> None:
        """All connections of one pair of endpoints, from where an earlier run left them."""
        pair = Endpoints(self.config.protocol, self.account, self.maker)
        if state:
            pair.load(state)
        for segments in in_order(chunks):
            pair.add(segments)
        if not self.config.final and pair.goes_on(self.config.horizon):
            self.tables.keep(key, pair.keep())
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
        self.packets.close()
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
        waiting = assembler.waiting()
        for size, packet in waiting:
            self._came[packet >> FILE_SHIFT] = self._came.get(packet >> FILE_SHIFT, 0) + size
        flows = {flow.number: flow for flow, _ in assembler.known_flows()}
        for size, packet in chain(waiting, self._maker.load(streams, flows)):
            self._account.counts(packet >> FILE_SHIFT)[CARRIED] += size

    def add(self, segments: list[Segment]) -> None:
        """Take the next segments, which are of one file."""
        pieces: list[Piece] = []
        assembler = self._assembler
        size = assembler.extend(segments, pieces)
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
            self._maker.pieces(pieces, self._conversations, self._came)

    def close(self) -> None:
        """The end: nothing more will come."""
        self._maker.pieces(self._assembler.close(), self._conversations, self._came)
        for said in self._conversations.close():
            self._maker.said(said)
        self._maker.close()
        self._settle(0)

    def goes_on(self, horizon: int) -> bool:
        """Whether it is worth keeping: a connection is open, or ended so lately that more may come."""
        for flow, ended in self._assembler.known_flows():
            return flow.last_us >= (horizon if ended else horizon - OVER_TIME_US)
        return False

    def keep(self) -> bytes:
        """What another run needs to go on."""
        waiting = self._assembler.waiting()
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
    said["notes"] += [(note.code, int(note.offset), note.text) for note in source.notes]
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
    reader = Reader(file_bits=file << FILE_SHIFT)
    conversations = Conversations(protocol or None, sources=False)
    came: dict[int, int] = {}
    broken: list[Fault] = []

    def portions() -> Iterator[list[Piece]]:
        try:
            for chunk in chunks:
                yield from reader.steps(chunk)
        except OSError as error:
            broken.append(("unreadable", reader.position, str(error)))
        yield reader.close()

    for pieces in portions():
        maker.pieces(pieces, conversations, came)
        yield None
    for each in conversations.close():
        maker.said(each)
    maker.close()
    said |= {
        "read": reader.bytes_read,
        "payload": reader.payload,
        "retransmitted": reader.retransmitted,
        "flows": reader.flows,
        "packets": reader.packets,
        "container": reader.container,
        "compressed": reader.compressed,
        "notes": broken + [(note.code, int(note.offset), note.text) for note in reader.damage],
    }
    yield None


def _first(row: tuple[int, int, Run]) -> tuple[int, int]:
    return row[:2]


def damaged_bytes(readers: Readers, root: str, path: str, fault: Fault) -> bytes | None:
    """The first bytes of what is wrong with a file that is not packed; None where they cannot be read."""
    code, offset, _ = fault
    if code == "unreadable":
        return None
    try:
        return b"".join(readers.chunks(root, path, offset, HEAD_BYTES))
    except OSError:  # it may be gone since
        return None
