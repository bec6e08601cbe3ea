"""Messages to rows of the tables, column by column, each byte counted for its file.

This runs for every piece and every record, and is compiled as `codecs/` is. table.py gives the columns to
Arrow.
"""

import heapq
from collections.abc import Callable, Mapping
from typing import Any, Final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from wirelens.codecs.captures.flow import Flow, Piece
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.codes import Note
from wirelens.codecs.conversations import Conversations, Message
from wirelens.codecs.notation import Writer, tree_json
from wirelens.codecs.record import Record
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.tape import Tape
from wirelens.codecs.words import shortened

HEAD_BYTES: Final = 4096  # kept of a stream of no known protocol
SLOWEST: Final = 10
MOST_TEXT: Final = (1 << 31) - 1  # bytes of one text column in a row group: Arrow counts them in 32 bits

# What is counted of each file. RAW: bytes of all segments; PAYLOAD: without text on resets. RESUMED: bytes
# that an earlier run left pending. FILTERED: of messages that do not match --where. PAYLOAD + RESUMED is
# DECODED + QUARANTINED + UNRECOGNISED + RETRANSMITTED + FILTERED + PENDING.
RAW: Final = 0
PAYLOAD: Final = 1
RESUMED: Final = 2
DECODED: Final = 3
QUARANTINED: Final = 4
UNRECOGNISED: Final = 5
RETRANSMITTED: Final = 6
FILTERED: Final = 7
PENDING: Final = 8
MESSAGES: Final = 9
ERRORS: Final = 10
COUNTS: Final = 11

Failure = tuple[str, int, str, bytes | None, bytes | None]
"""Code, offset, text; the part that decoded, and the bytes."""


class Counters:
    """What one bucket came to: `files` by the counts above, `protocols` by messages and bytes."""

    def __init__(self) -> None:
        self.files: dict[int, list[int]] = {}
        self.protocols: dict[str, list[int]] = {}
        self.errors: dict[str, int] = {}
        self.slowest: list[tuple[int, str, str]] = []  # latency in microseconds, protocol, summary
        self.flows = 0

    def counts(self, file: int) -> list[int]:
        """The counters of a file."""
        counts = self.files.get(file)
        if counts is None:
            counts = self.files[file] = [0] * COUNTS
        return counts

    def error(self, code: str) -> None:
        """Count an error by its code."""
        self.errors[code] = self.errors.get(code, 0) + 1

    def latency(self, latency_us: int, protocol: str, summary: str) -> None:
        """Keep a latency if it is one of the longest."""
        if len(self.slowest) < SLOWEST:
            heapq.heappush(self.slowest, (latency_us, protocol, summary[:200]))
        elif latency_us > self.slowest[0][0]:
            heapq.heapreplace(self.slowest, (latency_us, protocol, summary[:200]))


class Stream:
    """One direction of a flow, and its bytes of no known protocol.

    `number`: the flow's; or -1 - n for the n-th of the bucket's new flows, as long as their numbers are not
    known (see numbering.py).
    """

    def __init__(self, flow: Flow | None, direction: int, number: int = 0) -> None:
        self.flow: Final = flow
        self.direction: Final = direction
        self.number: Final = number
        self.unknown = 0  # bytes
        self.head = b""
        self.unknown_offset = 0  # of the first unknown bytes
        self.unknown_packet = 0  # the packet of the last, and its time
        self.unknown_time = 0

    def source(self) -> tuple[Any, ...]:
        """The columns from `transport` to `direction`; `connection` is the packet of the first bytes."""
        flow, side = self.flow, self.direction
        if flow is None:
            return (None,) * 8
        source = (flow.address(side), flow.ports[side])
        destination = (flow.address(1 - side), flow.ports[1 - side])
        return (flow.transport, *source, *destination, flow.packet, self.number, side)


_NO_STREAM: Final = Stream(None, 0)


class Texts:
    """A column of texts: their UTF-8 one after the other, and where each begins and ends, in 32 bits."""

    def __init__(self, data: BytesWriter) -> None:
        self.data: Final = data
        self.ends: Final = BytesWriter()
        self.clear()

    def clear(self) -> None:
        """Start again, keeping the room."""
        self.data.truncate(0)
        self.ends.truncate(0)
        write_i32_le(self.ends, 0)

    def add(self, text: bytes) -> None:
        """Add a text."""
        self.data.write(text)
        self.end()

    def end(self) -> None:
        """End a text: what was written since the last one."""
        size: i64 = len(self.data)
        if size > MOST_TEXT:
            raise OverflowError(f"more than {MOST_TEXT} bytes of text in one column")
        write_i32_le(self.ends, i32(size))


class Columns:
    """Rows of `messages`, of `quarantine`, or of both, column by column, until they are a row group.

    `full` is called when there are `most_rows`, or about `most_bytes`; it takes them and calls `clear`.
    Numbers are little-endian, of 64 bits; those that name an entry of a list have 32.
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
        self.streams: Final[dict[Stream, int]] = {}  # and their indexes
        self.stream: Final = BytesWriter()  # index in `streams`
        self.packet: Final = BytesWriter()  # with the file's number
        self.time: Final = BytesWriter()  # 0: none
        self.offset: Final = BytesWriter()  # -1: none, as in `length` and `latency`
        self.length: Final = BytesWriter()
        self.words: Final[dict[str, int]] = {}  # and their indexes
        self.protocol: Final = BytesWriter()  # index in `words`
        self.kind: Final = BytesWriter()  # index in `words`; -1: the row is not a message
        self.summary: Final = Texts(BytesWriter())
        self.pair: Final = BytesWriter()  # its number in the connection; 0: none
        self.latency: Final = BytesWriter()
        self.writer: Final = Writer()
        self.message: Final = Texts(self.writer.out)
        self.damaged: Final = BytesWriter()  # a byte
        self.notes: Final[dict[int, list[dict[str, Any]]]] = {}  # by row
        self.failures: Final[dict[int, Failure]] = {}  # by row

    def clear(self) -> None:
        """Remove all rows; the memory stays."""
        self.rows = 0
        self.size = 0
        for out in (self.stream, self.packet, self.time, self.offset, self.length):
            out.truncate(0)
        for out in (self.protocol, self.kind, self.pair, self.latency, self.damaged):
            out.truncate(0)
        self.summary.clear()
        self.message.clear()
        self.streams.clear()
        self.words.clear()
        self.notes.clear()
        self.failures.clear()

    def begin_row(self, stream: Stream, packet: i64, time: i64, offset: i64, length: i64) -> None:
        """Begin a row with where its bytes came from."""
        slot = self.streams.get(stream)
        if slot is None:
            slot = len(self.streams)
            self.streams[stream] = slot
        write_i32_le(self.stream, i32(slot))
        write_i64_le(self.packet, packet)
        write_i64_le(self.time, time)
        write_i64_le(self.offset, offset)
        write_i64_le(self.length, length)

    def add_word(self, out: BytesWriter, word: str) -> None:
        """Write a word of a column that has few different ones."""
        slot = self.words.get(word)
        if slot is None:
            slot = len(self.words)
            self.words[word] = slot
        write_i32_le(out, i32(slot))

    def add_notes(self, notes: list[Note]) -> None:
        """Add the notes of the row that is being written."""
        if notes:
            self.notes[int(self.rows)] = [
                {"code": note.code, "offset": note.offset, "text": clean(note.text)} for note in notes
            ]

    def end_row(self, size: i64) -> None:
        """End a row of about `size` bytes."""
        self.rows += 1
        self.size += size
        if self.rows >= self.most_rows or self.size >= self.most_bytes:
            self.full()

    def add_message(self, protocol: str, kind: str, summary: bytes, tape: Tape, damaged: bool) -> i64:
        """The columns of a decoded message; about how many bytes they take."""
        self.add_word(self.protocol, protocol)
        self.add_word(self.kind, kind)
        self.summary.add(summary)
        before: i64 = len(self.message.data)
        self.writer.write(tape, 0, tape.buffer)
        self.message.end()
        self.damaged.append(1 if damaged else 0)
        return len(self.message.data) - before + len(summary)

    def add_pair(self, pair: i64, latency_us: i64) -> None:
        """The number of the row's pair, 0 for none; the latency, -1 for none."""
        write_i64_le(self.pair, pair)
        write_i64_le(self.latency, latency_us)

    def add_failure(
        self,
        protocol: str,
        code: str,
        offset: int,
        text: str,
        partial: bytes | None,
        raw: bytes | None,
        pair: i64 = 0,
        latency_us: i64 = -1,
    ) -> None:
        """The columns of a row that is not a message; `pair` and `latency_us` as of `add_pair`."""
        self.add_word(self.protocol, protocol)
        write_i32_le(self.kind, -1)
        self.summary.end()
        self.message.end()
        self.damaged.append(0)
        self.add_pair(pair, latency_us)
        self.failures[int(self.rows)] = (code, offset, clean(text), partial, raw)

    def add_problem(
        self, file: int, container: str, code: str, offset: int, text: str, raw: bytes | None
    ) -> None:
        """A row about a file itself, with `raw`, the bytes at that offset."""
        self.begin_row(_NO_STREAM, file << FILE_SHIFT, 0, -1, -1)
        self.add_failure(container or UNKNOWN, code, offset, text, None, raw)
        self.end_row(256 if raw is None else 256 + len(raw))


class RowMaker:
    """Messages in, rows of the tables out, each byte counted for its file.

    `columns` gives the columns of a table; those of `messages` are separate for each protocol. `matches`,
    if given, is asked about each record of a known protocol whether it gets a row: it gets the record, its
    message if it is of a capture, and the number of its file. `numbers`: the numbers of streams by those of
    their flows. A flow that is not in it has its own number, or is one of the new flows, if `new_flows` is
    set: how many there were before.
    """

    def __init__(
        self,
        quarantine: str,
        counters: Counters,
        columns: Callable[[str, str], Columns],
        matches: Callable[[Record, Message | None, int], bool] | None = None,
    ) -> None:
        self._matches: Final = matches
        self._quarantine: Final = quarantine
        self._counters: Final = counters
        self._columns: Final = columns
        self._messages: dict[str, Columns] = {}
        self._streams: dict[int, Stream] = {}
        self.numbers: dict[int, int] = {}
        self.new_flows = -1

    def add_pieces(self, pieces: list[Piece], conversations: Conversations, unplaced: dict[int, int]) -> None:
        """Take pieces and the messages that `conversations`, which reports arrivals, makes of them.

        The bytes of the pieces are subtracted from those of their files in `unplaced`.
        """
        for piece in pieces:
            size = len(piece.data)
            if size:
                file = piece.packets[-1] >> FILE_SHIFT
                unplaced[file] = unplaced.get(file, 0) - size
            for message in conversations.feed([piece]):
                self.add_message(message)
            if piece.end:
                self._end(piece)

    def add_message(self, message: Message) -> None:
        """Write the row of a message."""
        flow = message.flow
        key = 2 * flow.number + message.direction
        stream = self._streams.get(key)
        if stream is None:
            own = flow.number if self.new_flows < 0 else -self.new_flows - flow.number
            number = self.numbers.get(flow.number, own)
            stream = self._streams[key] = Stream(flow, message.direction, number)
        record = message.record
        packet = message.arrivals[-1].packets[-1]
        if self._matches is not None and record.codec is not None:
            if not self._matches(record, message, packet >> FILE_SHIFT):
                self._count(message, FILTERED)
                return
        self._count(message, _outcome(record))
        latency_us = message.latency_us
        if latency_us is None:
            latency_us = -1
        self._record(stream, record, packet, message.time_us, message.pair_number, latency_us)

    def add_record(self, file: int, record: Record) -> None:
        """Write the row of a record of an input that is not a capture."""
        if self._matches is not None and record.codec is not None and not self._matches(record, None, file):
            self._counters.counts(file)[FILTERED] += record.length
            return
        stream = self._streams.get(-1)
        if stream is None:
            stream = self._streams[-1] = Stream(None, 0)
        self._counters.counts(file)[_outcome(record)] += record.length
        self._record(stream, record, file << FILE_SHIFT, 0, 0, -1)

    def add_refused(self, file: int, text: str, head: bytes, size: int) -> None:
        """Write the row of an input that is not read at all."""
        code = "input-refused"
        columns = self._columns("quarantine", "")
        columns.begin_row(_NO_STREAM, file << FILE_SHIFT, 0, 0, size)
        columns.add_failure(UNKNOWN, code, 0, text, None, head)
        columns.end_row(len(head) + 256)
        counts = self._counters.counts(file)
        counts[QUARANTINED] += size
        counts[ERRORS] += 1
        self._counters.error(code)

    def close(self) -> None:
        """Write the rows of unknown bytes at the end of a pair of endpoints, or of an input."""
        for stream in self._streams.values():
            self._end_unknown(stream)
        self._streams = {}

    def _end(self, piece: Piece) -> None:
        """A direction has ended."""
        key = 2 * piece.flow.number + int(piece.direction)
        stream = self._streams.get(key)
        if stream is not None:
            del self._streams[key]
            self._end_unknown(stream)

    def _count(self, message: Message, what: i64) -> None:
        """Count a record's bytes for the files they came from. Raises AssertionError if some are missing."""
        record = message.record
        start: i64 = record.offset
        end: i64 = start + record.length
        counted: i64 = 0
        for arrival in message.arrivals:
            size = min(arrival.end, end) - max(arrival.start, start)
            self._counters.counts(arrival.packets[-1] >> FILE_SHIFT)[what] += int(size)
            counted += size
        if counted != record.length:
            raise AssertionError("a record's bytes are not those of its packets")

    def _record(
        self, stream: Stream, record: Record, packet: int, time: int, pair: int, latency_us: int
    ) -> None:
        codec = record.codec
        if codec is None:
            self._add_unknown(stream, record, packet, time)
            return
        counters = self._counters
        error = record.error
        tape = record.tape
        if error is not None:
            columns = self._columns("quarantine", "")
            columns.begin_row(stream, packet, time, record.offset, record.length)
            partial = None if record.partial is None or tape is None else tree_json(tape)
            columns.add_failure(
                codec.name, error.code, error.offset, error.text, partial, record.raw, pair, latency_us
            )
            columns.add_notes(record.notes)
            columns.end_row(len(record.raw) + (0 if partial is None else len(partial)) + 256)
            counters.counts(packet >> FILE_SHIFT)[ERRORS] += 1
            counters.error(error.code)
            return
        root = record.root
        assert tape is not None
        assert root is not None
        name = codec.name
        columns_of = self._messages.get(name)
        if columns_of is None:
            columns_of = self._messages[name] = self._columns("messages", name)
        columns_of.begin_row(stream, packet, time, record.offset, record.length)
        summary = shortened(clean(codec.summary(root)))
        damaged = record.damaged
        size = columns_of.add_message(name, clean(codec.kind(root)), summary.encode(), tape, damaged)
        columns_of.add_pair(pair, latency_us)
        if latency_us >= 0:
            counters.latency(latency_us, name, summary)
        columns_of.add_notes(record.notes)
        counts = counters.counts(packet >> FILE_SHIFT)
        counts[MESSAGES] += 1
        counted = counters.protocols.get(name)
        if counted is None:
            counted = counters.protocols[name] = [0, 0]
        counted[0] += 1
        counted[1] += record.length
        if damaged:
            counts[ERRORS] += 1
            counters.error("inner-error")
        columns_of.end_row(size + 192)

    def _add_unknown(self, stream: Stream, record: Record, packet: int, time: int) -> None:
        """Keep bytes of no known protocol for the stream's one row; with `full` each record has a row."""
        if self._quarantine == "full":
            self._unknown_row(stream, record.offset, record.length, packet, time, record.raw)
            return
        if not stream.unknown:
            stream.unknown_offset = record.offset
        if len(stream.head) < HEAD_BYTES:
            stream.head += record.raw[: HEAD_BYTES - len(stream.head)]
        stream.unknown += record.length
        stream.unknown_packet = packet
        stream.unknown_time = time

    def _end_unknown(self, stream: Stream) -> None:
        """Write the row of a stream's bytes of no known protocol."""
        if stream.unknown:
            raw = stream.head if self._quarantine == "head" else None
            packet, time = stream.unknown_packet, stream.unknown_time
            self._unknown_row(stream, stream.unknown_offset, stream.unknown, packet, time, raw)
            stream.unknown, stream.head = 0, b""

    def _unknown_row(
        self, stream: Stream, offset: int, length: int, packet: int, time: int, raw: bytes | None
    ) -> None:
        columns = self._columns("quarantine", "")
        columns.begin_row(stream, packet, time, offset, length)
        columns.add_failure(UNKNOWN, "unknown-protocol", offset, "no protocol has enough evidence", None, raw)
        columns.end_row(256 if raw is None else 256 + len(raw))


def _outcome(record: Record) -> i64:
    """Which count a record's bytes belong to."""
    if record.codec is None:
        return UNRECOGNISED
    return DECODED if record.error is None else QUARANTINED


def clean(text: str) -> str:
    """Text that every reader of the tables accepts: without lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
