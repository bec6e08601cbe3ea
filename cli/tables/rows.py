"""Messages, calls and flows to rows of the tables, each byte counted for its file.

This runs for every piece and every record, and is compiled as `codecs/` is. Rows of messages are written to
`record_columns`, those of calls to `call_columns`; those of connections are tuples of the values that
`columns` names.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Final

from mypy_extensions import i64

from wirelens.cli.tables.call_columns import CallColumns
from wirelens.cli.tables.columns import TABLES
from wirelens.cli.tables.counts import (
    DECODED,
    ERRORS,
    FILTERED,
    LATE,
    MESSAGES,
    QUARANTINED,
    UNRECOGNISED,
    Counters,
)
from wirelens.cli.tables.record_columns import NO_FACTS, NO_STREAM, Columns, Stream, clean
from wirelens.codecs.call import Call, facts_of
from wirelens.codecs.calls import Calls
from wirelens.codecs.captures.flow import Flow, Piece, State
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK
from wirelens.codecs.captures.streams import CLOSED_FLOWS
from wirelens.codecs.codec import CallFacts
from wirelens.codecs.conversations import Conversations, Message
from wirelens.codecs.decoder import TOO_MUCH
from wirelens.codecs.json_writers import tree_json
from wirelens.codecs.record import Record
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.words import shortened

HEAD_BYTES: Final = 4096  # kept of a stream of no known protocol
NAME: Final = 200  # letters of a method's name in the report
DAY_US: Final = 24 * 3600 * 1_000_000
NO_DAY: Final = -1  # of what has no time
ENDS: Final = {
    "fin": "half-closed",
    "reset": "reset",
    "reuse": "reused",
    "silent": "silent",
    "limit": "limit",
    "close": "open",
}


class Connection:
    """What the tables show of a flow besides what it counts itself; pairs have a value for each direction."""

    def __init__(self, flow: Flow) -> None:
        self.flow: Final = flow
        self.protocol = ""
        self.messages: Final = [0, 0]
        self.errors: Final = [0, 0]
        self.ends: Final[list[str]] = []  # why each of the directions ended

    def add(self, message: Message) -> None:
        """Count a record."""
        record = message.record
        if record.codec is None:
            if not self.protocol:
                self.protocol = UNKNOWN
            return
        if record.error is not None:
            self.errors[message.direction] += 1
        else:
            self.messages[message.direction] += 1
        if not self.protocol or self.protocol == UNKNOWN:
            self.protocol = record.codec.name

    @property
    def ended(self) -> str:
        """How it ended, as the column `ended`."""
        ends = self.ends
        if "reset" in ends:
            return "reset"
        if ends == ["fin", "fin"]:
            return "closed"
        if "fin" in ends:
            return "half-closed"
        return ENDS[ends[-1]]

    def save(self) -> State:
        """The counts as plain values."""
        return (self.flow.number, self.protocol, tuple(self.messages), tuple(self.errors), tuple(self.ends))

    @staticmethod
    def load(flow: Flow, state: State) -> "Connection":
        """What `save` gave, of a flow."""
        _, protocol, messages, errors, ends = state
        connection = Connection(flow)
        connection.protocol = protocol
        connection.messages[:] = messages
        connection.errors[:] = errors
        connection.ends[:] = ends
        return connection


class Decoding:
    """What goes with the decoding of pieces: `conversations`, which reports arrivals, `calls`, connections.

    `connections`: the flows that have not ended, by their numbers. `ended`: those that have, of which more
    packets may come; the oldest first.
    """

    def __init__(self, conversations: Conversations, calls: Calls) -> None:
        self.conversations: Final = conversations
        self.calls: Final = calls
        self.connections: Final[dict[int, Connection]] = {}
        self.ended: Final[dict[int, Connection]] = {}

    def connection(self, flow: Flow) -> Connection:
        """What is counted of a flow."""
        found = self.connections.get(flow.number)
        if found is None:
            found = self.ended.get(flow.number)
        if found is None:
            found = self.connections[flow.number] = Connection(flow)
        return found

    def files(self) -> set[int]:
        """The numbers of files that the rows of open calls and connections name."""
        packets = self.calls.open_packets()
        packets += [one.flow.opened for one in [*self.connections.values(), *self.ended.values()]]
        return {packet >> FILE_SHIFT for packet in packets}

    def save(self) -> State:
        """The state of calls and connections, for `load`."""
        connections = [*self.connections.values(), *self.ended.values()]
        return (self.calls.save(), tuple([one.save() for one in connections]))

    def load(self, state: State, flows: list[Flow]) -> None:
        """Continue what `save` gave; `flows` are those that the assembler has loaded."""
        calls, connections = state
        self.calls.load(calls, flows)
        by_number = {flow.number: flow for flow in flows}
        for plain in connections:
            flow = by_number.get(plain[0])
            if flow is not None:
                connection = Connection.load(flow, plain)
                both = self.ended if len(connection.ends) == 2 else self.connections
                both[flow.number] = connection


class RowMaker:
    """Messages in, rows of the tables out, each byte counted for its file.

    `columns` gives the columns for rows of `messages` (of a protocol and a day: days since 1970, or NO_DAY)
    or of `quarantine` (without both), `call_columns` those for rows of `calls` of a protocol and a day;
    `add_connection` takes the values of a row of `connections`. `tables`: those that are wanted. `matches`,
    if given, is asked about each record of a known protocol whether it gets a row: it gets the record, its
    message if it is of a capture, and the number of its file. `numbers`: the numbers of streams by those of
    their flows. A flow that is not in it has its own number, or is one of the new flows, if `new_flows` is
    set: how many there were before. `names` and `points` are those of files, by their numbers.
    """

    def __init__(
        self,
        quarantine: str,
        counters: Counters,
        columns: Callable[[str, str, int], Columns],
        call_columns: Callable[[str, int], CallColumns],
        add_connection: Callable[[tuple[Any, ...]], None],
        names: Mapping[int, str],
        points: Mapping[int, str],
        matches: Callable[[Record, Message | None, int], bool] | None = None,
        tables: Sequence[str] = tuple(TABLES),
    ) -> None:
        self._matches: Final = matches
        self._quarantine: Final = quarantine
        self._counters: Final = counters
        self._columns: Final = columns
        self._call_columns: Final = call_columns
        self._row: Final = add_connection
        self._names: Final = names
        self._points: Final = points
        self._records: Final = "messages" in tables or "quarantine" in tables
        self._calls: Final = "calls" in tables or "messages" in tables  # replies have names of requests
        self._call_rows: Final = "calls" in tables
        self._connections: Final = "connections" in tables
        self._last: Columns | None = None  # the columns that were looked up last, with protocol and day
        self._last_protocol = ""
        self._last_day: i64 = 0
        self._last_calls: CallColumns | None = None  # likewise
        self._last_calls_protocol = ""
        self._last_calls_day: i64 = 0
        self._streams: dict[int, Stream] = {}
        self.numbers: dict[int, int] = {}
        self.new_flows = -1

    def add_pieces(self, pieces: list[Piece], decoding: Decoding, unplaced: dict[int, int]) -> None:
        """Take pieces and the messages that are made of them.

        The bytes of the pieces are subtracted from those of their files in `unplaced`.
        """
        conversations = decoding.conversations
        for piece in pieces:
            size = len(piece.data)
            if size:
                file = piece.packets[-1] >> FILE_SHIFT
                unplaced[file] = unplaced.get(file, 0) - size
            self._add_messages(conversations.feed([piece]), [piece], decoding)
            if piece.end:
                self._end(piece, decoding)

    def close_decoding(self, decoding: Decoding) -> None:
        """Take what is left at the end of an input, or of a pair of endpoints."""
        messages = decoding.conversations.close()
        self._add_messages(messages, [], decoding)
        if self._calls:
            self._add_calls(decoding.calls.close([]))
        for connection in decoding.ended.values():
            self._add_connection(connection)
        decoding.ended.clear()
        self.close()

    def pause(self, decoding: Decoding, known: Set[int]) -> None:
        """Write the rows of what need not wait for another run; `known`: flows of which more may come."""
        if self._calls:
            self._add_calls(decoding.calls.settle())
        for connection in list(decoding.ended.values()):
            if connection.flow.number not in known:
                del decoding.ended[connection.flow.number]
                self._add_connection(connection)
        self.close()

    def _add_messages(self, messages: list[Message], pieces: list[Piece], decoding: Decoding) -> None:
        """Write the rows of messages; `pieces`: those that gave them."""
        calls = decoding.calls
        for message in messages:
            asked: Call | None = None
            if self._calls and message.pair_number:
                asked = calls.asked(message.flow, message.pair_number)
            if self._records:
                self.add_message(message, asked)
            if self._connections:
                decoding.connection(message.flow).add(message)
            if self._calls:
                self._add_calls(calls.feed([message], []))
        if self._calls:
            self._add_calls(calls.feed([], pieces))

    def _number(self, flow: int) -> int:
        """The number of a flow in the tables."""
        return self.numbers.get(flow, flow if self.new_flows < 0 else -self.new_flows - flow)

    def add_message(self, message: Message, asked: Call | None) -> None:
        """Write the row of a message; `asked`: the open call that it belongs to."""
        flow = message.flow
        key = 2 * flow.number + message.direction
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = Stream(flow, message.direction, self._number(flow.number))
        record = message.record
        packet = message.arrivals[-1].packets[-1]
        latency_us = -1 if message.latency_us is None else message.latency_us
        outcome = _outcome(record)
        try:
            if self._matches is not None and record.codec is not None:
                if not self._matches(record, message, packet >> FILE_SHIFT):
                    self._count(message, FILTERED)
                    return
            facts = NO_FACTS
            if record.codec is not None and record.root is not None:
                facts = message.facts = facts_of(message)  # which its call needs next
            self._record(
                stream, record, packet, message.time_us, message.pair_number, latency_us, facts, asked
            )
        except MemoryError:
            self._too_much(stream, record, packet, message.time_us, message.pair_number, latency_us)
            outcome = QUARANTINED
        self._count(message, outcome)

    def add_record(self, file: int, record: Record) -> None:
        """Write the row of a record of an input that is not a capture."""
        stream = self._streams.get(-1)
        if stream is None:
            stream = self._streams[-1] = Stream(None, 0)
        counts = self._counters.counts(file)
        outcome = _outcome(record)
        try:
            if self._matches is not None and record.codec is not None:
                if not self._matches(record, None, file):
                    counts[FILTERED] += record.length
                    return
            facts = NO_FACTS
            root = record.root
            if record.codec is not None and root is not None:
                facts = record.codec.call(root)
            self._record(stream, record, file << FILE_SHIFT, 0, 0, -1, facts, None)
        except MemoryError:
            self._too_much(stream, record, file << FILE_SHIFT, 0, 0, -1)
            outcome = QUARANTINED
        counts[outcome] += record.length

    def add_refused(self, file: int, text: str, head: bytes, size: int) -> None:
        """Write the row of an input that is not read at all."""
        code = "input-refused"
        columns = self._columns("quarantine", "", NO_DAY)
        columns.begin_row(NO_STREAM, file << FILE_SHIFT, 0, 0, size)
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

    def _end(self, piece: Piece, decoding: Decoding) -> None:
        """A direction has ended."""
        flow = piece.flow
        key = 2 * flow.number + int(piece.direction)
        stream = self._streams.get(key)
        if stream is not None:
            del self._streams[key]
            self._end_unknown(stream)
        if self._connections:
            connection = decoding.connection(flow)
            connection.ends.append(piece.end)
            if len(connection.ends) == 2:
                del decoding.connections[flow.number]
                ended = decoding.ended
                ended[flow.number] = connection
                if len(ended) > CLOSED_FLOWS:
                    self._add_connection(ended.pop(next(iter(ended))))

    def _add_connection(self, connection: Connection) -> None:
        """Write the row of a flow that has ended."""
        flow = connection.flow
        first, second = flow.directions
        file = flow.opened >> FILE_SHIFT
        opened: int | None = flow.opened & NUMBER_MASK
        row = (
            self._names.get(file),
            self._points.get(file) or None,
            opened,
            flow.transport,
            flow.address(0),
            flow.ports[0],
            flow.address(1),
            flow.ports[1],
            None if flow.packet < 0 else flow.packet,
            self._number(flow.number),
            connection.protocol or None,
            flow.first_us if flow.first_us > 0 else None,
            flow.last_us if flow.last_us > 0 else None,
            max(0, flow.last_us - flow.first_us),
            flow.syn,
            connection.ended,
            first.segments,
            second.segments,
            first.length - first.gap_bytes,
            second.length - second.gap_bytes,
            *connection.messages,
            *connection.errors,
            first.gap_count,
            second.gap_count,
            first.gap_bytes,
            second.gap_bytes,
            first.retransmitted,
            second.retransmitted,
            first.late,
            second.late,
            first.unanswered,
            second.unanswered,
        )
        self._row(row)

    def _add_calls(self, calls: list[Call]) -> None:
        """Write the rows of finished calls."""
        if not self._call_rows:
            return
        for call in calls:
            if call.latency_us is not None:
                name = f"{call.service}.{call.method}" if call.service else call.method
                self._counters.answered(call.protocol, clean(name[:NAME]), call.latency_us)
            day = _day(call.sent_us or 0)
            columns = self._last_calls
            if columns is None or day != self._last_calls_day or call.protocol != self._last_calls_protocol:
                columns = self._call_columns(call.protocol, int(day))
                self._last_calls, self._last_calls_day = columns, day
                self._last_calls_protocol = call.protocol
            columns.add(call, self._number(call.flow))

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
        self,
        stream: Stream,
        record: Record,
        packet: int,
        time: i64,
        pair: int,
        latency_us: int,
        facts: CallFacts,
        asked: Call | None,
    ) -> None:
        codec = record.codec
        if codec is None:
            self._add_unknown(stream, record, packet, time)
            return
        counters = self._counters
        error = record.error
        tape = record.tape
        if error is not None:
            columns = self._columns("quarantine", "", NO_DAY)
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
        day = _day(time)
        columns_of = self._last
        if columns_of is None or day != self._last_day or name != self._last_protocol:
            columns_of = self._columns("messages", name, int(day))
            self._last, self._last_day, self._last_protocol = columns_of, day, name
        columns_of.begin_row(stream, packet, time, record.offset, record.length)
        slow = latency_us >= 0 and counters.is_slow(latency_us)
        summary = shortened(clean(codec.summary(root))) if slow or columns_of.summaries else ""
        damaged = record.damaged
        size = columns_of.add_message(name, clean(codec.kind(root)), summary.encode(), tape, damaged)
        columns_of.add_pair(pair, latency_us)
        if asked is None:
            columns_of.add_call(facts.service, facts.method, facts)
        else:
            columns_of.add_call(asked.service, asked.method, facts)
        columns_of.add_notes(record.notes)
        columns_of.end_row(size + 192)
        if slow:
            counters.latency(latency_us, name, summary)
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

    def _too_much(
        self, stream: Stream, record: Record, packet: int, time: i64, pair: int, latency_us: int
    ) -> None:
        """Write the row of a record for whose own row the memory is not enough; its bytes, if they fit."""
        name = UNKNOWN
        if record.codec is not None:
            name = record.codec.name
            self._columns("messages", name, int(_day(time))).drop_row()
        columns = self._columns("quarantine", "", NO_DAY)
        columns.drop_row()
        for kept in (True, False):
            try:
                raw = record.raw if kept else None
                columns.begin_row(stream, packet, time, record.offset, record.length)
                columns.add_failure(name, "limit", record.offset, TOO_MUCH, None, raw, pair, latency_us)
                columns.end_row(256 + (0 if raw is None else len(raw)))
                break
            except MemoryError:
                columns.drop_row()
                if not kept:
                    raise
        self._counters.counts(packet >> FILE_SHIFT)[ERRORS] += 1
        self._counters.error("limit")

    def _add_unknown(self, stream: Stream, record: Record, packet: int, time: int) -> None:
        """Keep bytes of no known protocol for the stream's one row; with `full` each record has a row."""
        error = record.error
        if error is not None and error.code == "late":
            raw: bytes | None = record.raw
            if self._quarantine != "full":
                raw = record.raw[:HEAD_BYTES] if self._quarantine == "head" else None
            self._unknown_row(stream, record.offset, record.length, packet, time, raw, error.code, error.text)
            return
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
        self,
        stream: Stream,
        offset: int,
        length: int,
        packet: int,
        time: int,
        raw: bytes | None,
        code: str = "unknown-protocol",
        text: str = "no protocol has enough evidence",
    ) -> None:
        columns = self._columns("quarantine", "", NO_DAY)
        columns.begin_row(stream, packet, time, offset, length)
        columns.add_failure(UNKNOWN, code, offset, text, None, raw)
        columns.end_row(256 if raw is None else 256 + len(raw))


def _outcome(record: Record) -> i64:
    """Which count a record's bytes belong to."""
    error = record.error
    if error is None:
        return DECODED
    if error.code == "late":
        return LATE
    return UNRECOGNISED if record.codec is None else QUARANTINED


def _day(time: i64) -> i64:
    """The day of a time, as days since 1970; NO_DAY without a time."""
    return time // DAY_US if time > 0 else NO_DAY
