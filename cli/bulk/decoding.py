"""A decoding task: rows of chunks.SCHEMA, sorted, in; part files, and one account for each bucket, out.

One flow is worked on at a time, so a task holds one flow's unfinished bytes whatever the size of its input.
"""

from __future__ import annotations

import heapq
import json
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from librt.strings import BytesWriter
from wirelens.cli.bulk.chunks import (
    CHUNK,
    FILE,
    FILE_SHIFT,
    NUMBER_MASK,
    RANGE,
    Ordered,
    Row,
    bucket_of,
    in_order,
    unpack,
)
from wirelens.cli.bulk.conversation import Conversation, Said
from wirelens.cli.bulk.files import Folder, Readers
from wirelens.cli.bulk.reading import read_fragments
from wirelens.cli.bulk.table import PartWriter
from wirelens.codecs.captures import Assembler, Flow, Piece, Segment
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.notation import Writer
from wirelens.codecs.record import Record

if TYPE_CHECKING:
    import pyarrow as pa

RESULT = "result binary"
HEAD_BYTES = 4096
"""So many bytes of a stream that nobody recognised are kept."""
REFUSED_BYTES = 1 << 20
"""So many bytes of an input that was refused are kept."""
SLOWEST = 10

# What is counted of each file.
RAW, PAYLOAD, DELIVERED, DECODED, QUARANTINED, UNRECOGNISED, PENDING, MESSAGES, ERRORS = range(9)
COUNTS = 9


class Config(NamedTuple):
    """What a decoding task has to know; plain values, for it crosses processes."""

    place: str  # the folder that is written to
    run: str  # the run's folder, relative to it
    side: str  # where left-over fragments lie
    buckets: int
    protocol: str  # "" detects
    jsonl: bool
    quarantine: str  # "full", "head" or "none": what is kept of unrecognised bytes
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

    def add(self, file: int, what: int, amount: int) -> None:
        counts = self.files.get(file)
        if counts is None:
            counts = self.files[file] = [0] * COUNTS
        counts[what] += amount

    def error(self, code: str) -> None:
        self.errors[code] = self.errors.get(code, 0) + 1

    def latency(self, latency_us: int, protocol: str, summary: str) -> None:
        item = (latency_us, protocol, summary[:200])
        if len(self.slow) < SLOWEST:
            heapq.heappush(self.slow, item)
        elif item > self.slow[0]:
            heapq.heapreplace(self.slow, item)


class Tables:
    """The part files of one bucket."""

    def __init__(self, config: Config, bucket: int) -> None:
        self._folder = Folder(config.place)
        self._stage = f"{config.run}/stage"
        self._stem = f"{bucket:05d}"
        self._jsonl = config.jsonl
        self._writers: dict[tuple[str, str], PartWriter] = {}

    def add(self, table: str, protocol: str, row: dict[str, Any], size: int) -> None:
        writer = self._writers.get((table, protocol))
        if writer is None:
            parts = [self._stage, table]
            if protocol:
                parts.append(f"protocol={protocol}")
            writer = PartWriter(self._folder, table, tuple(parts), self._stem, self._jsonl)
            self._writers[table, protocol] = writer
        writer.add(row, size)

    def close(self) -> list[tuple[str, str, str, int, int]]:
        """Table, protocol, path, rows and bytes of each part."""
        parts: list[tuple[str, str, str, int, int]] = []
        for (table, protocol), writer in self._writers.items():
            writer.close()
            parts.extend((table, protocol, *file) for file in writer.files)
        return parts


def decode_rows(config: Config, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The accounts of the buckets in these batches, as JSON."""
    import pyarrow as pa

    names = dict(config.names)
    late = read_fragments(config.side) if config.side else []
    for bucket, rows in groupby(_rows(batches), key=lambda row: row.bucket):
        work = Bucket(config, bucket, names)
        work.run(rows, [each for each in late if bucket_of(each[1].key, config.buckets) == bucket])
        yield pa.RecordBatch.from_pydict(
            {"result": [json.dumps(work.result()).encode()]}, schema=pa.schema([("result", pa.binary())])
        )


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


class Bucket:
    """The work on one bucket."""

    def __init__(self, config: Config, bucket: int, names: dict[int, str]) -> None:
        self.config = config
        self.bucket = bucket
        self.account = Account()
        self.tables = Tables(config, bucket)
        self.rows = RowMaker(config, self.account, self.tables, names)

    def run(self, rows: Iterable[Row], late: list[tuple[int, Segment]]) -> None:
        """Work through the bucket's rows; `late` are segments that came of left-over fragments."""
        waiting: dict[bytes, list[tuple[int, int, list[Ordered]]]] = {}
        for time, segment in late:
            packet = segment.packet
            waiting.setdefault(segment.key, []).append((time, packet, [(time, packet, segment)]))
        for (kind, key), group in groupby(rows, key=lambda row: (row.kind, row.key)):
            if kind == CHUNK:
                chunks = ((row.time, row.packet, unpack(key, row.data)) for row in group)
                more = waiting.pop(key, None)
                self._flow(heapq.merge(chunks, sorted(more, key=_first), key=_first) if more else chunks)
            elif kind == FILE:
                for row in group:
                    self._file(row)
            elif kind == RANGE:
                self.account.ranges.extend(json.loads(row.data) for row in group)
        for more in waiting.values():
            self._flow(sorted(more, key=_first))

    def _flow(self, chunks: Iterable[tuple[int, int, list[Ordered]]]) -> None:
        """All connections of one pair of endpoints."""
        assembler = Assembler()
        conversation = Conversation(self.config.protocol)
        account, maker = self.account, self.rows
        payload: dict[int, int] = {}
        delivered: dict[int, int] = {}
        pieces: list[Piece] = []
        before = 0
        for segment in in_order(chunks):
            file = segment.packet >> FILE_SHIFT
            size = len(segment.payload)
            maker.segment(segment)
            assembler.extend(segment, pieces)
            if size:
                account.add(file, RAW, size)
                now = assembler.payload
                if now != before:
                    payload[file] = payload.get(file, 0) + now - before
                    before = now
            if pieces:
                for piece in pieces:
                    if piece.data:
                        file = piece.packets[-1] >> FILE_SHIFT
                        delivered[file] = delivered.get(file, 0) + len(piece.data)
                    maker.piece(piece)
                    for said in conversation.feed(piece):
                        maker.said(said)
                    if piece.end:
                        maker.end(piece)
                pieces = []
        for piece in assembler.close():
            if piece.data:
                file = piece.packets[-1] >> FILE_SHIFT
                delivered[file] = delivered.get(file, 0) + len(piece.data)
            maker.piece(piece)
            for said in conversation.feed(piece):
                maker.said(said)
            if piece.end:
                maker.end(piece)
        maker.close()
        if assembler.payload != assembler.delivered + assembler.retransmitted:
            raise AssertionError("a flow's bytes do not add up")
        account.flows += assembler.flows
        for file, size in payload.items():
            account.add(file, PAYLOAD, size)
        for file, size in delivered.items():
            account.add(file, DELIVERED, size)

    def _file(self, row: Row) -> None:
        """An input that is no capture."""
        from wirelens.cli.inputs import Input, InputError

        root, path, name, length = json.loads(row.data)
        file = row.packet >> FILE_SHIFT
        readers = Readers()

        class Remote(Input):
            def _read(self) -> Iterator[bytes]:
                return readers.chunks(root, path, 0, length)

        source = Remote(name)
        said: dict[str, Any] = {
            "file": file,
            "container": "",
            "compressed": False,
            "read": 0,
            "status": "done",
            "notes": [],
        }
        maker = self.rows
        try:
            source.open()
            decoder = Decoder(self.config.protocol or None)
            for chunk in source.chunks:
                said["read"] += len(chunk)
                for record in decoder.feed(chunk):
                    maker.plain(file, record)
            for record in decoder.close():
                maker.plain(file, record)
            maker.end_plain(file)
            said["container"] = source.form
            said["compressed"] = source.gzipped
            said["notes"] = [("truncated", said["read"], note) for note in source.notes]
        except InputError as error:
            said["container"] = "text"
            said["read"] = length
            maker.refused(file, str(error), readers.head(root, path, REFUSED_BYTES), length)
        except OSError as error:
            maker.plain_gone(file)
            said["status"] = str(error)
        self.account.add(file, PAYLOAD, said["read"])
        self.account.add(file, DELIVERED, said["read"])
        self.account.inputs.append(said)

    def result(self) -> dict[str, Any]:
        account = self.account
        return {
            "bucket": self.bucket,
            "parts": self.tables.close(),
            "files": account.files,
            "ranges": account.ranges,
            "inputs": account.inputs,
            "protocols": account.protocols,
            "errors": account.errors,
            "slow": sorted(account.slow, reverse=True),
            "flows": account.flows,
        }


def _first(row: tuple[int, int, list[Ordered]]) -> tuple[int, int]:
    return row[:2]


class _Stream:
    """Where the bytes of one direction came from, and what of them nobody recognised."""

    __slots__ = ("connection", "direction", "flow", "head", "head_offset", "head_place", "origins", "unknown")

    def __init__(self, flow: Flow | None, direction: int, connection: int | None) -> None:
        self.flow = flow
        self.direction = direction
        self.connection = connection
        self.origins: deque[tuple[int, int, int, int]] = deque()  # start, end, packet, time
        self.unknown = 0
        self.head = b""
        self.head_offset = 0
        self.head_place: tuple[int, int] = (0, 0)

    def take(self, offset: int, length: int) -> list[tuple[int, int, int, int]]:
        """What of this stretch came from where: bytes, file, packet, time; older origins are forgotten."""
        origins = self.origins
        while origins and origins[0][1] <= offset:
            origins.popleft()
        end = offset + length
        found = []
        for start, stop, packet, time in origins:
            if start >= end:
                break
            found.append((min(stop, end) - max(start, offset), packet >> FILE_SHIFT, packet, time))
        return found


class RowMaker:
    """Records in, rows of the tables out, each byte counted for its file."""

    def __init__(self, config: Config, account: Account, tables: Tables, names: dict[int, str]) -> None:
        self._config = config
        self._account = account
        self._tables = tables
        self._names = names
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._connections: dict[int, int] = {}
        self._packet = 0

    def segment(self, segment: Segment) -> None:
        """Say which packet is being worked on."""
        self._packet = segment.packet

    def piece(self, piece: Piece) -> None:
        """Remember where bytes came from; a connection is named after the packet with its first bytes."""
        flow = piece.flow
        key = (flow.number, piece.direction)
        stream = self._streams.get(key)
        if stream is None:
            connection = self._connections.setdefault(
                flow.number, piece.packets[-1] if piece.packets else self._packet
            )
            stream = self._streams[key] = _Stream(flow, piece.direction, connection)
        if piece.data:
            stream.origins.append(
                (piece.offset, piece.offset + len(piece.data), piece.packets[-1], piece.time_us)
            )

    def said(self, said: Said) -> None:
        """A record of a conversation."""
        stream = self._streams[said.flow.number, said.direction]
        origins = stream.take(said.record.offset, said.record.length)
        self._record(stream, said.record, origins, said)

    def end(self, piece: Piece) -> None:
        """A direction has ended."""
        stream = self._streams.pop((piece.flow.number, piece.direction), None)
        if stream is not None:
            self._unrecognised(stream)

    def close(self) -> None:
        """The end of a pair of endpoints."""
        for stream in self._streams.values():
            self._unrecognised(stream)
        self._streams = {}
        self._connections = {}

    def plain(self, file: int, record: Record) -> None:
        """A record of an input that is no capture."""
        stream = self._streams.setdefault((-1, 0), _Stream(None, 0, None))
        self._record(stream, record, [(record.length, file, file << FILE_SHIFT, 0)], None)

    def end_plain(self, file: int) -> None:
        self.close()

    def plain_gone(self, file: int) -> None:
        """An input that could not be read to its end: what was read of it counts, and is over."""
        self.close()

    def refused(self, file: int, text: str, head: bytes, size: int) -> None:
        """An input that is not read at all."""
        place = file << FILE_SHIFT
        row = self._source(_Stream(None, 0, None), 0, size, place, 0)
        code = "pasted-refused"
        row |= {
            "protocol": "unknown",
            "error_code": code,
            "error_offset": 0,
            "error_text": text,
            "partial": None,
            "raw": head,
            "notes": None,
        }
        self._tables.add("quarantine", "", row, len(head))
        self._account.add(file, QUARANTINED, size)
        self._account.add(file, ERRORS, 1)
        self._account.error(code)

    def _record(
        self, stream: _Stream, record: Record, origins: list[tuple[int, int, int, int]], said: Said | None
    ) -> None:
        account = self._account
        if sum(origin[0] for origin in origins) != record.length:
            raise AssertionError("a record's bytes are not those that came")
        codec = record.codec
        if codec is None:
            self._unknown(stream, record, origins)
            return
        error = record.error
        what = DECODED if error is None else QUARANTINED
        for size, file, _, _ in origins:
            account.add(file, what, size)
        _, file, packet, time = origins[-1]
        row = self._source(stream, record.offset, record.length, packet, time)
        notes = [{"code": n.code, "offset": n.offset, "text": clean(n.text)} for n in record.notes] or None
        row["notes"] = notes
        if error is None:
            message = document(record)
            summary = clean(record.summary)
            row["kind"] = clean(record.kind)
            row["summary"] = summary
            row["message"] = message
            row["damaged"] = record.damaged
            row["pair_id"] = row["latency_us"] = None
            if said is not None:
                row["pair_id"] = said.pair
                row["latency_us"] = said.latency_us
                if said.latency_us is not None:
                    account.latency(said.latency_us, codec.name, summary)
            self._tables.add("messages", codec.name, row, len(message) + len(summary) + 128)
            account.add(file, MESSAGES, 1)
            counted = account.protocols.setdefault(codec.name, [0, 0])
            counted[0] += 1
            counted[1] += record.length
            if record.damaged:
                account.add(file, ERRORS, 1)
                account.error("inner-error")
            return
        partial = document(record) if record.partial is not None else None
        row["protocol"] = codec.name
        row["error_code"] = error.code
        row["error_offset"] = error.offset
        row["error_text"] = clean(error.text)
        row["partial"] = partial
        row["raw"] = record.raw
        self._tables.add("quarantine", "", row, len(record.raw) + len(partial or "") + 128)
        account.add(file, ERRORS, 1)
        account.error(error.code)

    def _unknown(self, stream: _Stream, record: Record, origins: list[tuple[int, int, int, int]]) -> None:
        for size, file, _, _ in origins:
            self._account.add(file, UNRECOGNISED, size)
        _, _, packet, time = origins[-1]
        if self._config.quarantine == "full":
            self._opaque(stream, record.offset, record.length, packet, time, record.raw)
            return
        if not stream.unknown:
            stream.head_offset = record.offset
        if len(stream.head) < HEAD_BYTES:
            stream.head += record.raw[: HEAD_BYTES - len(stream.head)]
        stream.unknown += record.length
        stream.head_place = (packet, time)

    def _unrecognised(self, stream: _Stream) -> None:
        """The row of a stream that nobody recognised."""
        if stream.unknown:
            raw = stream.head if self._config.quarantine == "head" else None
            self._opaque(stream, stream.head_offset, stream.unknown, *stream.head_place, raw)

    def _opaque(
        self, stream: _Stream, offset: int, length: int, packet: int, time: int, raw: bytes | None
    ) -> None:
        row = self._source(stream, offset, length, packet, time)
        row |= {
            "protocol": "unknown",
            "error_code": "unknown-protocol",
            "error_offset": offset,
            "error_text": "no protocol has enough evidence",
            "partial": None,
            "raw": raw,
            "notes": None,
        }
        self._tables.add("quarantine", "", row, len(raw or b"") + 128)

    def _source(self, stream: _Stream, offset: int, length: int, packet: int, time: int) -> dict[str, Any]:
        """The columns that say where a record came from."""
        flow = stream.flow
        row: dict[str, Any] = {"file": self._names[packet >> FILE_SHIFT], "offset": offset, "length": length}
        if flow is None:
            row |= dict.fromkeys(("transport", "source_address", "source_port", "destination_address"))
            row |= dict.fromkeys(("destination_port", "connection", "direction", "time", "packet"))
            return row
        side = stream.direction
        row["transport"] = flow.transport
        row["source_address"] = flow.address(side)
        row["source_port"] = flow.ports[side]
        row["destination_address"] = flow.address(1 - side)
        row["destination_port"] = flow.ports[1 - side]
        row["connection"] = stream.connection
        row["direction"] = side
        row["time"] = time
        row["packet"] = packet & NUMBER_MASK
        return row


def document(record: Record) -> str:
    """The message, or the part of it that decoded, in the JSON notation."""
    tape = record.tape
    assert tape is not None
    out = BytesWriter()
    Writer(out, False).write(tape, 0, tape.buffers[0])
    return out.getvalue().decode()


def clean(text: str) -> str:
    """Text that every reader of the tables can take: no lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
