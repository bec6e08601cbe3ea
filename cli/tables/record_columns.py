"""Rows of `messages` and `quarantine`, column by column, as `arrow` gives them to Arrow.

This runs for every record, and is compiled as `codecs/` is.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from librt.strings import BytesWriter, read_i32_le, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from wirelens.codecs.captures.flow import Flow
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.codec import CallFacts
from wirelens.codecs.codes import Note
from wirelens.codecs.notation import Writer
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.tape import Tape
from wirelens.codecs.words import shortened

MOST_TEXT: Final = (1 << 31) - 1  # bytes of one text column in a row group: Arrow counts them in 32 bits
MOST_WORD: Final = 256  # characters of a text that is kept once for all rows that have it
NO_FACTS: Final = CallFacts()

Failure = tuple[str, int, str, bytes | None, bytes | None]
"""Code, offset, text; the part that decoded, and the bytes."""


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


NO_STREAM: Final = Stream(None, 0)


class Texts:
    """A column of texts: their UTF-8 one after the other, and where each begins and ends, in 32 bits."""

    def __init__(self, data: BytesWriter) -> None:
        self.data = data
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

    def keep(self, count: i64) -> None:
        """Remove all but the first `count` texts, and what was written of another."""
        self.ends.truncate(4 * (count + 1))
        self.data.truncate(i64(read_i32_le(self.ends.getvalue(), 4 * count)))

    def end(self) -> None:
        """End a text: what was written since the last one."""
        size: i64 = len(self.data)
        if size > MOST_TEXT:
            raise OverflowError(f"more than {MOST_TEXT} bytes of text in one column")
        write_i32_le(self.ends, i32(size))


class Columns:
    """Rows of `messages`, of `quarantine`, or of both, column by column, until they are a row group.

    `full` is called when there are `most_rows`, or about `most_bytes`; it takes them and then calls `clear`.
    Numbers are little-endian, of 64 bits; those that name an entry of a list have 32. Without `trees` and
    `summaries` these columns stay empty.
    """

    def __init__(
        self,
        names: Mapping[int, str],
        most_rows: int,
        most_bytes: int,
        full: Callable[[], None],
        points: Mapping[int, str] | None = None,
        trees: bool = True,
        summaries: bool = True,
    ) -> None:
        self.names: Final = names  # of files, by their numbers
        self.points: Final[Mapping[int, str]] = {} if points is None else points  # where they were captured
        self.trees: Final = trees
        self.summaries: Final = summaries
        self.most_rows: Final[i64] = most_rows
        self.most_bytes: Final[i64] = most_bytes
        self.full: Final = full
        self.rows: i64 = 0
        self.size: i64 = 0
        self.streams: Final[dict[Stream, int]] = {}  # and their indexes
        self.stream: Final = BytesWriter()  # index in `streams`
        self.packet: Final = BytesWriter()  # with the file's number
        self.time: Final = BytesWriter()  # 0: none
        self.offset: Final = BytesWriter()  # less than 0 before a stream that was joined in the middle
        self.length: Final = BytesWriter()
        self.words: Final[dict[str, int]] = {}  # and their indexes
        self.protocol: Final = BytesWriter()  # index in `words`
        self.kind: Final = BytesWriter()  # index in `words`; -1: the row is not a message
        self.service: Final = BytesWriter()  # index in `words`, -1: none; as in `method` and `status`
        self.method: Final = BytesWriter()
        self.status: Final = BytesWriter()
        self.summary: Final = Texts(BytesWriter())
        self.request: Final = Texts(BytesWriter())  # "": none
        self.pair: Final = BytesWriter()  # its number in the connection; 0: none
        self.latency: Final = BytesWriter()
        self.writer = Writer()
        self.message: Final = Texts(self.writer.out)
        self.damaged: Final = BytesWriter()  # a byte
        self.notes: Final[dict[int, list[dict[str, Any]]]] = {}  # by row
        self.failures: Final[dict[int, Failure]] = {}  # by row

    def clear(self) -> None:
        """Remove all rows; the memory stays, unless it is much."""
        if self.size > 4 * self.most_bytes:
            self.writer = Writer()
            self.message.data = self.writer.out
        self.rows = 0
        self.size = 0
        for out in (self.stream, self.packet, self.time, self.offset, self.length):
            out.truncate(0)
        for out in (self.protocol, self.kind, self.pair, self.latency, self.damaged):
            out.truncate(0)
        for out in (self.service, self.method, self.status):
            out.truncate(0)
        self.summary.clear()
        self.request.clear()
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

    def drop_row(self) -> None:
        """Remove what was written of a row that is not ended, and the memory that its tree took."""
        rows = self.rows
        for out in (self.packet, self.time, self.offset, self.length, self.pair, self.latency):
            out.truncate(8 * rows)
        for out in (self.stream, self.protocol, self.kind, self.service, self.method, self.status):
            out.truncate(4 * rows)
        self.damaged.truncate(rows)
        self.summary.keep(rows)
        self.request.keep(rows)
        self.message.keep(rows)
        kept = self.message.data.getvalue()
        self.writer = Writer()
        self.message.data = self.writer.out
        self.message.data.write(kept)
        self.notes.pop(int(rows), None)
        self.failures.pop(int(rows), None)

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
        """End a row of about `size` bytes; MemoryError if that leaves the rows unwritten."""
        self.rows += 1
        self.size += size
        if self.rows >= self.most_rows or self.size >= self.most_bytes:
            try:
                self.full()
            except MemoryError:
                self.rows -= 1  # the row is not ended
                self.size -= size
                raise

    def add_name(self, out: BytesWriter, name: str) -> None:
        """Write a name of a column that has few different ones, or none of it for ""."""
        if not name:
            write_i32_le(out, -1)
        else:
            self.add_word(out, name if name.isascii() and len(name) <= MOST_WORD else shortened(clean(name)))

    def add_call(self, service: str, method: str, facts: CallFacts) -> None:
        """What a row states of its call."""
        self.add_name(self.service, service)
        self.add_name(self.method, method)
        self.add_name(self.status, facts.status)
        if facts.id:
            self.request.data.write(clean(facts.id).encode())
        self.request.end()

    def add_message(self, protocol: str, kind: str, summary: bytes, tape: Tape, damaged: bool) -> i64:
        """The columns of a decoded message; about how many bytes they take."""
        self.add_word(self.protocol, protocol)
        self.add_word(self.kind, kind)
        self.summary.add(summary)
        before: i64 = len(self.message.data)
        if self.trees:
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
        self.add_call("", "", NO_FACTS)
        self.damaged.append(0)
        self.add_pair(pair, latency_us)
        self.failures[int(self.rows)] = (code, offset, clean(text), partial, raw)

    def add_problem(
        self, file: int, container: str, code: str, offset: int, text: str, raw: bytes | None
    ) -> None:
        """A row about a file itself, with `raw`, the bytes at that offset."""
        self.begin_row(NO_STREAM, file << FILE_SHIFT, 0, -1, -1)
        self.add_failure(container or UNKNOWN, code, offset, text, None, raw)
        self.end_row(256 if raw is None else 256 + len(raw))


def clean(text: str) -> str:
    """Text that every reader of the tables accepts: without lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
