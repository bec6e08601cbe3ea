"""Records to rows of the tables, column by column, each byte counted for its file.

This runs for every piece and every record, and is compiled as `codecs/` is. table.py gives the columns to
Arrow.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64, mypyc_attr

from wirelens.cli.bulk.chunks import FILE_SHIFT
from wirelens.codecs.captures.flow import Flow, Piece
from wirelens.codecs.codes import Note
from wirelens.codecs.conversations import Conversations, Message
from wirelens.codecs.notation import Writer, tree_json
from wirelens.codecs.record import Record
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.tape import Tape

HEAD_BYTES: Final = 4096
"""So many bytes of a stream that nobody recognised are kept."""
SLOWEST: Final = 10
MOST_TEXT: Final = (1 << 31) - 1
"""So many bytes the texts of one column may have in a row group: Arrow counts them in 32 bits."""

# What is counted of each file. RAW: bytes of all segments; PAYLOAD: without text on resets. CARRIED: bytes
# that an earlier run left pending; AGAIN: bytes that came more than once. PAYLOAD + CARRIED is DECODED +
# QUARANTINED + UNRECOGNISED + AGAIN + PENDING.
RAW: Final = 0
PAYLOAD: Final = 1
CARRIED: Final = 2
DECODED: Final = 3
QUARANTINED: Final = 4
UNRECOGNISED: Final = 5
AGAIN: Final = 6
PENDING: Final = 7
MESSAGES: Final = 8
ERRORS: Final = 9
COUNTS: Final = 10

Failure = tuple[str, int, str, bytes | None, bytes | None]
"""Code, offset, text; the part that decoded, and the bytes."""


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


@mypyc_attr(acyclic=True)
class _Origin:
    """Where bytes of a stream came from: start and end in the stream, packet, time."""

    def __init__(self, start: i64, end: i64, packet: i64, time: i64) -> None:
        self.start: Final[i64] = start
        self.end: Final[i64] = end
        self.packet: Final[i64] = packet
        self.time: Final[i64] = time


class Stream:
    """Where the bytes of one direction came from, and what of them nobody recognised."""

    def __init__(self, flow: Flow | None, direction: int, connection: int | None) -> None:
        self.flow: Final = flow
        self.direction: Final = direction
        self.connection: Final = connection
        self.origins: list[_Origin] = []
        self.first: i64 = 0  # the first of them that some byte still needs
        self.position = 0  # behind the last record
        self.unknown = 0
        self.head = b""
        self.where = (0, 0, 0)  # offset of the first unknown bytes, packet and time of the last

    def came(self, offset: i64, size: i64, packet: i64, time: i64) -> None:
        self.origins.append(_Origin(offset, offset + size, packet, time))

    def source(self) -> tuple[Any, ...]:
        """The columns from `transport` to `direction`."""
        flow, side = self.flow, self.direction
        if flow is None:
            return (None,) * 7
        here = (flow.address(side), flow.ports[side])
        there = (flow.address(1 - side), flow.ports[1 - side])
        return (flow.transport, *here, *there, self.connection, side)


_NOWHERE: Final = Stream(None, 0, None)


class Texts:
    """A column of texts: their UTF-8 one behind the other, and where each begins and ends, in 32 bits."""

    def __init__(self, data: BytesWriter) -> None:
        self.data: Final = data
        self.ends: Final = BytesWriter()
        self.begin()

    def begin(self) -> None:
        """Start over, without texts."""
        self.data.truncate(0)
        self.ends.truncate(0)
        write_i32_le(self.ends, 0)

    def add(self, text: bytes) -> None:
        self.data.write(text)
        self.end()

    def end(self) -> None:
        """What was written since the last text is one."""
        size: i64 = len(self.data)
        if size > MOST_TEXT:
            raise OverflowError(f"more than {MOST_TEXT} bytes of text in one column")
        write_i32_le(self.ends, i32(size))


class Columns:
    """Rows of `messages`, of `quarantine`, or of both, column by column, until they are a row group.

    `full` is called when there are `most_rows`, or about `most_bytes`; it takes them and calls `begin`.
    Numbers are little-endian: 64 bits, where a number names an entry of a list 32.
    """

    def __init__(
        self, names: Mapping[int, str], most_rows: int, most_bytes: int, full: Callable[[], None]
    ) -> None:
        self.names: Final = names  # of files, by their numbers
        self.most_rows: Final[i64] = most_rows
        self.most_bytes: Final[i64] = most_bytes
        self.full: Final = full
        self.rows: i64 = 0
        self.size: i64 = 0
        self.streams: Final[dict[Stream, int]] = {}  # with their places
        self.stream: Final = BytesWriter()  # which of `streams`
        self.packet: Final = BytesWriter()  # with the file's number
        self.time: Final = BytesWriter()  # 0: none
        self.offset: Final = BytesWriter()  # -1: none, as for those that follow
        self.length: Final = BytesWriter()
        self.words: Final[dict[str, int]] = {}  # with their places
        self.protocol: Final = BytesWriter()  # which of `words`
        self.kind: Final = BytesWriter()  # which of `words`; -1: the row is of no message
        self.summary: Final = Texts(BytesWriter())
        self.pair: Final = BytesWriter()  # its number in the connection; 0: none
        self.latency: Final = BytesWriter()
        self.writer: Final = Writer()
        self.message: Final = Texts(self.writer.out)
        self.damaged: Final = BytesWriter()  # a byte
        self.notes: Final[dict[int, list[dict[str, Any]]]] = {}  # by row
        self.failures: Final[dict[int, Failure]] = {}  # by row

    def begin(self) -> None:
        """Start over, without rows, in the same room."""
        self.rows = 0
        self.size = 0
        for out in (self.stream, self.packet, self.time, self.offset, self.length):
            out.truncate(0)
        for out in (self.protocol, self.kind, self.pair, self.latency, self.damaged):
            out.truncate(0)
        self.summary.begin()
        self.message.begin()
        self.streams.clear()
        self.words.clear()
        self.notes.clear()
        self.failures.clear()

    def place(self, stream: Stream, packet: i64, time: i64, offset: i64, length: i64) -> None:
        """Begin a row: where its bytes came from."""
        slot = self.streams.get(stream)
        if slot is None:
            slot = len(self.streams)
            self.streams[stream] = slot
        write_i32_le(self.stream, i32(slot))
        write_i64_le(self.packet, packet)
        write_i64_le(self.time, time)
        write_i64_le(self.offset, offset)
        write_i64_le(self.length, length)

    def word(self, out: BytesWriter, word: str) -> None:
        """Write one of few different words."""
        slot = self.words.get(word)
        if slot is None:
            slot = len(self.words)
            self.words[word] = slot
        write_i32_le(out, i32(slot))

    def noted(self, notes: list[Note]) -> None:
        """Keep the notes of the row that is being written."""
        if notes:
            self.notes[int(self.rows)] = [
                {"code": note.code, "offset": note.offset, "text": clean(note.text)} for note in notes
            ]

    def end(self, size: i64) -> None:
        """End a row of about so many bytes."""
        self.rows += 1
        self.size += size
        if self.rows >= self.most_rows or self.size >= self.most_bytes:
            self.full()

    def said(self, protocol: str, kind: str, summary: bytes, tape: Tape, damaged: bool) -> i64:
        """What a message says; about so many bytes it takes."""
        self.word(self.protocol, protocol)
        self.word(self.kind, kind)
        self.summary.add(summary)
        before: i64 = len(self.message.data)
        self.writer.write(tape, 0, tape.buffer)
        self.message.end()
        self.damaged.append(1 if damaged else 0)
        return len(self.message.data) - before + len(summary)

    def paired(self, pair: i64, latency_us: i64) -> None:
        """What pair a row belongs to; 0 for none."""
        write_i64_le(self.pair, pair)
        write_i64_le(self.latency, latency_us)

    def failed(
        self, protocol: str, code: str, offset: int, text: str, partial: bytes | None, raw: bytes | None
    ) -> None:
        """Why a row is of no message."""
        self.word(self.protocol, protocol)
        write_i32_le(self.kind, -1)
        self.summary.end()
        self.message.end()
        self.damaged.append(0)
        self.paired(0, -1)
        self.failures[int(self.rows)] = (code, offset, clean(text), partial, raw)

    def damage(self, file: int, container: str, code: str, offset: int, text: str, raw: bytes | None) -> None:
        """A row of what is wrong with a file itself, and `raw`, the bytes there."""
        self.place(_NOWHERE, file << FILE_SHIFT, 0, -1, -1)
        self.failed(container or UNKNOWN, code, offset, text, None, raw)
        self.end(256 if raw is None else 256 + len(raw))


class RowMaker:
    """Records in, rows of the tables out, each byte counted for its file.

    `columns` gives the columns of a table; those of `messages` are a protocol's own.
    """

    def __init__(self, quarantine: str, account: Account, columns: Callable[[str, str], Columns]) -> None:
        self._quarantine: Final = quarantine
        self._account: Final = account
        self._columns: Final = columns
        self._messages: dict[str, Columns] = {}
        self._streams: dict[tuple[int, int], Stream] = {}
        self._connections: dict[int, int] = {}

    def pieces(self, pieces: Iterable[Piece], conversations: Conversations, came: dict[int, int]) -> None:
        """Take pieces, and the records that `conversations` makes of them.

        What each file gives of them is taken off its bytes in `came`.
        """
        for piece in pieces:
            size = len(piece.data)
            if size:
                packet = piece.packets[-1]
                self._piece(piece, size, packet)
                file = packet >> FILE_SHIFT
                came[file] = came.get(file, 0) - size
            for said in conversations.feed([piece]):
                self.said(said)
            if piece.end:
                self._end(piece)

    def said(self, said: Message) -> None:
        """A record of a conversation."""
        self._record(self._streams[said.flow.number, said.direction], said.record, said)

    def close(self) -> None:
        """The end of a pair of endpoints, or of an input."""
        for stream in self._streams.values():
            self._unrecognised(stream)
        self._streams = {}
        self._connections = {}

    def save(self) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]]]:
        """The streams as plain values; and what of them is in no record: bytes and their packet."""
        plain: list[tuple[Any, ...]] = []
        undecoded: list[tuple[int, int]] = []
        for (number, direction), stream in self._streams.items():
            self._unrecognised(stream)
            position = stream.position
            left: list[tuple[int, int, int, int]] = []
            for origin in stream.origins:
                start, end, packet = int(origin.start), int(origin.end), int(origin.packet)
                if end > position:
                    left.append((start, end, packet, int(origin.time)))
                    undecoded.append((end - max(start, position), packet))
            plain.append((number, direction, stream.connection, position, left))
        self._streams = {}
        self._connections = {}
        return plain, undecoded

    def load(self, plain: Iterable[Any], flows: Mapping[int, Flow]) -> list[tuple[int, int]]:
        """Go on with streams that `save` gave, tuples or lists; as there, what of them is in no record."""
        undecoded: list[tuple[int, int]] = []
        for number, direction, connection, position, left in plain:
            stream = Stream(flows[number], direction, connection)
            stream.position = position
            self._streams[number, direction] = stream
            self._connections[number] = connection
            for start, end, packet, time in left:
                stream.origins.append(_Origin(start, end, packet, time))
                undecoded.append((end - max(start, position), packet))
        return undecoded

    def plain(self, file: int, record: Record) -> None:
        """A record of an input that is no capture."""
        stream = self._streams.get((-1, 0))
        if stream is None:
            stream = self._streams[-1, 0] = Stream(None, 0, None)
        stream.came(record.offset, record.length, file << FILE_SHIFT, 0)
        self._record(stream, record, None)

    def refused(self, file: int, text: str, head: bytes, size: int) -> None:
        """An input that is not read at all."""
        code = "input-refused"
        columns = self._columns("quarantine", "")
        columns.place(_NOWHERE, file << FILE_SHIFT, 0, 0, size)
        columns.failed(UNKNOWN, code, 0, text, None, head)
        columns.end(len(head) + 256)
        counts = self._account.counts(file)
        counts[QUARANTINED] += size
        counts[ERRORS] += 1
        self._account.error(code)

    def _piece(self, piece: Piece, size: int, packet: int) -> None:
        """Remember where bytes came from; a connection is named after the packet that first gave some."""
        flow = piece.flow
        key = (flow.number, int(piece.direction))
        stream = self._streams.get(key)
        if stream is None:
            connection = self._connections.setdefault(flow.number, packet)
            stream = self._streams[key] = Stream(flow, int(piece.direction), connection)
        stream.came(piece.offset, size, packet, piece.time_us)

    def _end(self, piece: Piece) -> None:
        """A direction has ended."""
        key = (piece.flow.number, int(piece.direction))
        stream = self._streams.get(key)
        if stream is not None:
            del self._streams[key]
            self._unrecognised(stream)

    def _count(self, stream: Stream, record: Record, what: int) -> _Origin:
        """Count a record's bytes for the files they came from; where the last of them came from."""
        start: i64 = record.offset
        end: i64 = start + record.length
        origins = stream.origins
        count: i64 = len(origins)
        at = stream.first
        while at < count and origins[at].end <= start:
            at += 1
        last = origins[at]
        counted: i64 = 0
        place = at
        while place < count:
            origin = origins[place]
            if origin.start >= end:
                break
            size = min(origin.end, end) - max(origin.start, start)
            self._account.counts(int(origin.packet >> FILE_SHIFT))[what] += int(size)
            counted += size
            last = origin
            place += 1
            if origin.end <= end:
                at = place
        if counted != record.length:
            raise AssertionError("a record's bytes are not those that came")
        if at == count:
            origins.clear()
            at = 0
        elif 2 * at > count:  # those before are needed no more
            del origins[:at]
            at = 0
        stream.first = at
        stream.position = int(end)
        return last

    def _record(self, stream: Stream, record: Record, said: Message | None) -> None:
        codec = record.codec
        if codec is None:
            self._unknown(stream, record, self._count(stream, record, UNRECOGNISED))
            return
        account = self._account
        error = record.error
        tape = record.tape
        if error is not None:
            origin = self._count(stream, record, QUARANTINED)
            columns = self._columns("quarantine", "")
            columns.place(stream, origin.packet, origin.time, record.offset, record.length)
            partial = None if record.partial is None or tape is None else tree_json(tape)
            columns.failed(codec.name, error.code, error.offset, error.text, partial, record.raw)
            columns.noted(record.notes)
            columns.end(len(record.raw) + (0 if partial is None else len(partial)) + 256)
            account.counts(int(origin.packet >> FILE_SHIFT))[ERRORS] += 1
            account.error(error.code)
            return
        root = record.root
        assert tape is not None
        assert root is not None
        name = codec.name
        columns_of = self._messages.get(name)
        if columns_of is None:
            columns_of = self._messages[name] = self._columns("messages", name)
        origin = self._count(stream, record, DECODED)
        columns_of.place(stream, origin.packet, origin.time, record.offset, record.length)
        summary = clean(codec.summary(root))
        damaged = record.damaged
        size = columns_of.said(name, clean(codec.kind(root)), summary.encode(), tape, damaged)
        pair = 0 if said is None else said.pair_number
        latency = None if said is None else said.latency_us
        columns_of.paired(pair, -1 if latency is None else latency)
        if latency is not None:
            account.latency(latency, name, summary)
        columns_of.noted(record.notes)
        counts = account.counts(int(origin.packet >> FILE_SHIFT))
        counts[MESSAGES] += 1
        counted = account.protocols.get(name)
        if counted is None:
            counted = account.protocols[name] = [0, 0]
        counted[0] += 1
        counted[1] += record.length
        if damaged:
            counts[ERRORS] += 1
            account.error("inner-error")
        columns_of.end(size + 192)

    def _unknown(self, stream: Stream, record: Record, origin: _Origin) -> None:
        packet, time = int(origin.packet), int(origin.time)
        if self._quarantine == "full":
            self._opaque(stream, record.offset, record.length, packet, time, record.raw)
            return
        offset = stream.where[0] if stream.unknown else record.offset
        if len(stream.head) < HEAD_BYTES:
            stream.head += record.raw[: HEAD_BYTES - len(stream.head)]
        stream.unknown += record.length
        stream.where = (offset, packet, time)

    def _unrecognised(self, stream: Stream) -> None:
        """The row of a stream that nobody recognised."""
        if stream.unknown:
            offset, packet, time = stream.where
            raw = stream.head if self._quarantine == "head" else None
            self._opaque(stream, offset, stream.unknown, packet, time, raw)
            stream.unknown, stream.head = 0, b""

    def _opaque(
        self, stream: Stream, offset: int, length: int, packet: int, time: int, raw: bytes | None
    ) -> None:
        columns = self._columns("quarantine", "")
        columns.place(stream, packet, time, offset, length)
        columns.failed(UNKNOWN, "unknown-protocol", offset, "no protocol has enough evidence", None, raw)
        columns.end(256 if raw is None else 256 + len(raw))


def clean(text: str) -> str:
    """Text that every reader of the tables can take: no lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
