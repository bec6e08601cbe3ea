"""The fields of messages, for decode, flows and bulk. A row is a message of a capture, or a record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.cli.points import NONE, point_of
from wirelens.cli.where.fields import (
    ADDRESSES,
    DURATIONS,
    FLOW_TEXTS,
    FLOWS,
    IDS,
    MESSAGE,
    NUMBERS,
    SIZES,
    TEXT,
    TEXTS,
    TIMES,
    Field,
    Fields,
)
from wirelens.codecs import registry
from wirelens.codecs.codec import CallFacts

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, TypeAlias

    from wirelens.codecs import Json, Record
    from wirelens.codecs.conversations import Message

    Row: TypeAlias = "Message | LoneRecord"

NO_FACTS: Final = CallFacts()
OF_CALLS: Final = "of calls: wirelens calls"
CALL_FIELDS: Final = (
    "outcome",
    "late",
    "timed_out",
    "waited",
    "call",
    "open_calls",
    "request_bytes",
    "response_bytes",
    "request_messages",
    "response_messages",
    "resent_bytes",
    "request_packets",
    "response_packets",
    "request_transit",
    "server_time",
    "reply_transit",
    "uncertainty",
    "request_held",
    "reply_held",
    "request_lost",
    "reply_lost",
    "sent",
    "answered",
    "seen",
    "request",
    "reply",
)


class LoneRecord:
    """A record that is not from a capture, with what else `Message` has.

    `packets` has at most the number of its file, as numbers of packets have it.
    """

    __slots__ = ("packets", "record")

    flow = None
    direction = 0
    time_us = 0
    latency_us = None

    def __init__(self, record: Record, packets: tuple[int, ...] = ()) -> None:
        self.record = record
        self.packets = packets


class _Facts:
    """What a message states of its call, and its JSON; kept of the latest for the next condition."""

    def __init__(self) -> None:
        self._record: Record | None = None
        self._facts = NO_FACTS
        self._parsed: Record | None = None
        self._tree: Json = None

    def of(self, row: Row) -> CallFacts:
        """What a row's message states of its call."""
        record = row.record
        if record is not self._record:
            self._record = record
            root = record.root
            codec = record.codec
            self._facts = NO_FACTS if root is None or codec is None else codec.call(root)
        return self._facts

    def text(self, name: str) -> Callable[[Row], str | None]:
        """What gives one of the facts that are texts, None where it is empty."""
        of = self.of
        return lambda row: getattr(of(row), name) or None

    def timeout(self, row: Row) -> int | None:
        """The client's timeout in microseconds."""
        return self.of(row).timeout_us

    def trees(self, row: Row) -> tuple[Json]:
        """The message in the notation."""
        from wirelens.codecs import loads

        record = row.record
        if record is not self._parsed:
            self._parsed = record
            json = loads(record.json_text())
            self._tree = json.get("message") if isinstance(json, dict) else None
        return (self._tree,)


def message_fields(file_of: Callable[[Row], str], point: str = NONE, numbered: bool = True) -> Fields[Row]:
    """The fields of messages.

    `file_of` gives the name of the file with a message's last byte, "" for none; `point` is that of --point.
    `numbered`: whether flows have the numbers that `flows` shows.
    """
    facts = _Facts()
    points: dict[str, str] = {}

    def point_name(row: Row) -> str | None:
        file = file_of(row)
        name = points.get(file)
        if name is None:
            name = points[file] = point_of(file, point)
        return name or None

    summary = Field(TEXTS, _summary, TEXT)
    named: dict[str, Field[Row]] = {
        "protocol": Field(TEXTS, _protocol, words=_protocols),
        "kind": Field(TEXTS, _kind, MESSAGE, words=_kinds),
        "summary": summary,
        "service": Field(TEXTS, facts.text("service"), MESSAGE),
        "method": Field(TEXTS, facts.text("method"), MESSAGE),
        "status": Field(TEXTS, facts.text("status"), MESSAGE),
        "exception": Field(TEXTS, facts.text("exception"), MESSAGE),
        "trace": Field(TEXTS, facts.text("trace"), MESSAGE),
        "id": Field(IDS, facts.text("id"), MESSAGE),
        "timeout": Field(DURATIONS, facts.timeout, MESSAGE),
        "file": Field(TEXTS, lambda row: file_of(row) or None),
        "point": Field(TEXTS, point_name),
        "note": Field(TEXTS, _notes, MESSAGE, listed=True, words=registry.codes),
        "error": Field(TEXTS, _errors, MESSAGE, listed=True, words=registry.codes),
        "latency": Field(DURATIONS, lambda row: row.latency_us),
        "length": Field(SIZES, lambda row: row.record.length),
        "time": Field(TIMES, lambda row: row.time_us or None),
        "packets": Field(NUMBERS, _packets),
        "port": Field(NUMBERS, _ports, several=True),
        "client": Field(ADDRESSES, _client),
        "server": Field(ADDRESSES, _server),
        "flow": Field(FLOWS, _flow) if numbered else Field(FLOW_TEXTS, _flow_text),
    }
    elsewhere = dict.fromkeys(CALL_FIELDS, OF_CALLS)
    return Fields(named, summary, {"message": facts.trees}, "message", elsewhere)


def file_of_source(row: Row) -> str:
    """The file in the source of a row's record, "" if it has none."""
    origin = row.record.origin
    return "" if origin is None else origin.place.file


def _protocols() -> list[str]:
    return [*registry.names(), registry.UNKNOWN]


def _kinds() -> set[str]:
    """The kinds of messages of all protocols, and those of what did not decode."""
    return {"error", "opaque", *(kind for codec in registry.codecs() for kind in codec.kinds)}


def _packets(row: Row) -> int | None:
    return None if row.flow is None else len(row.packets)


def _protocol(row: Row) -> str:
    return row.record.protocol


def _kind(row: Row) -> str:
    return row.record.kind


def _summary(row: Row) -> str:
    return row.record.summary


def _notes(row: Row) -> list[str]:
    return [note.code for note in row.record.notes]


def _errors(row: Row) -> list[str]:
    record = row.record
    codes = [] if record.error is None else [record.error.code]
    if record.tape is not None and record.tape.fault_count():
        codes += [fault.code for fault in record.tape.faults]
    return codes


def _ports(row: Row) -> tuple[int, ...]:
    flow = row.flow
    return () if flow is None else flow.ports


def _client(row: Row) -> tuple[bytes, int] | None:
    flow = row.flow
    return None if flow is None else (flow.hosts[0], flow.ports[0])


def _server(row: Row) -> tuple[bytes, int] | None:
    flow = row.flow
    return None if flow is None else (flow.hosts[1], flow.ports[1])


def _flow_text(row: Row) -> str | None:
    flow = row.flow
    if flow is None:
        return None
    origin = row.record.origin
    if origin is not None:
        return origin.place.flow
    return f"{flow.transport} {flow.endpoint(row.direction)} > {flow.endpoint(1 - row.direction)}"


def _flow(row: Row) -> tuple[int, str] | None:
    flow = row.flow
    return None if flow is None else (flow.number, _flow_text(row) or "")
