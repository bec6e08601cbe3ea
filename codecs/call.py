"""A call: a request and what came of it, as JSON and as plain values."""

from typing import Any, Final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.codec import CallFacts
from wirelens.codecs.conversations import Message
from wirelens.codecs.json_text import loads, quoted
from wirelens.codecs.node import Json
from wirelens.codecs.numbers import (
    LAST_MICROSECOND,
    duration,
    time_text,
    write_int,
    write_seconds,
    write_time,
)

OK: Final = "ok"
ERROR: Final = "error"
UNANSWERED: Final = "unanswered"
ONE_WAY: Final = "one-way"
CANCELLED: Final = "cancelled"  # by the client
OUTCOMES: Final = (OK, ERROR, UNANSWERED, ONE_WAY, CANCELLED)

# Types of a call's members.
TEXT: Final = "text"
NUMBER: Final = "number"
SIZE: Final = "size"
TRUTH: Final = "truth"
TIME: Final = "time"  # microseconds since 1970; in JSON as text
DURATION: Final = "duration"  # microseconds; in JSON seconds

# The members of a call, in the order of JSON, CSV and `Call.values`.
MEMBERS: Final[tuple[tuple[str, str], ...]] = (
    ("call", NUMBER),
    ("protocol", TEXT),
    ("service", TEXT),
    ("method", TEXT),
    ("outcome", TEXT),
    ("status", TEXT),
    ("exception", TEXT),
    ("late", TRUTH),
    ("timed_out", TRUTH),
    ("timeout", DURATION),
    ("waited", DURATION),
    ("client", TEXT),
    ("server", TEXT),
    ("flow", NUMBER),
    ("file", TEXT),
    ("point", TEXT),
    ("id", TEXT),
    ("trace", TEXT),
    ("sent", TIME),
    ("answered", TIME),
    ("latency", DURATION),
    ("request_bytes", SIZE),
    ("response_bytes", SIZE),
    ("request_packets", NUMBER),
    ("response_packets", NUMBER),
    ("resent_bytes", SIZE),
    ("open_calls", NUMBER),
    ("request_transit", DURATION),
    ("server_time", DURATION),
    ("reply_transit", DURATION),
    ("uncertainty", DURATION),
    ("request_held", DURATION),
    ("reply_held", DURATION),
    ("request_lost", NUMBER),
    ("reply_lost", NUMBER),
    ("seen", TEXT),
    ("request_messages", NUMBER),
    ("response_messages", NUMBER),
)

NO_MESSAGES: Final[list[Message]] = []  # never changed

Value = None | bool | int | str

QUOTED: Final = 1 << 12  # texts of which the JSON is kept
ENDS: Final = 1 << 12  # flows and directions of which what is written of all calls is kept
TIME_CELLS: Final = 27  # of a time as text
_known: Final[dict[str, bytes]] = {}
_durations: Final[dict[int, str]] = {}
_BLANKS: Final = [b" " * cells for cells in range(64)]


@mypyc_attr(acyclic=True)
class Call:
    """A request and what came of it; "" or None where something is unknown.

    `call`: its number, from 1, in the order of requests. `outcome`: one of OUTCOMES. Times (`sent_us`,
    `answered_us`) are microseconds since 1970, all other members that end in `_us` durations in microseconds.
    `late`: answered after the client's timeout; `timed_out`: unanswered for longer than that; None without a
    timeout. `waited_us`: how long an unanswered request was waited for. `open_calls`: the other calls that
    were open on the connection when this one was sent. `resent_bytes`: bytes sent more than once.
    `transport`: "tcp" or "udp". `direction`: that of the request, 0 from the flow's client.
    `packet`: the number of the packet that holds the request's last byte; `connection`: that of the flow's
    first payload. `pair`: number that its messages have in common, 0 if it is one-way. `finished_us`: the
    time in the capture when it was finished. `messages`: they, if they were asked for.

    Of calls that were captured at both ends: the times on the way and in the server (`request_transit_us`,
    `server_time_us`, `reply_transit_us`, `uncertainty_us`, `request_held_us`, `reply_held_us`), copies that
    did not arrive (`request_lost`, `reply_lost`), and `seen`: "both", "client" or "server". Of calls that are
    streams: how many messages went each way (`request_messages`, `response_messages`). `remarks`: what
    happened to its messages on the way, for people.
    """

    def __init__(self) -> None:
        self.call = 0
        self.protocol = ""
        self.service = ""
        self.method = ""
        self.outcome = ""
        self.status = ""
        self.exception = ""
        self.late: bool | None = None
        self.timed_out: bool | None = None
        self.timeout_us: int | None = None
        self.waited_us: int | None = None
        self.client = ""
        self.server = ""
        self.flow = 0
        self.file = ""
        self.point = ""
        self.id = ""
        self.trace = ""
        self.sent_us: int | None = None
        self.answered_us: int | None = None
        self.latency_us: int | None = None
        self.request_bytes: int | None = None
        self.response_bytes: int | None = None
        self.request_packets: int | None = None
        self.response_packets: int | None = None
        self.resent_bytes: int | None = None
        self.open_calls: int | None = None
        self.request_transit_us: int | None = None
        self.server_time_us: int | None = None
        self.reply_transit_us: int | None = None
        self.uncertainty_us: int | None = None
        self.request_held_us: int | None = None
        self.reply_held_us: int | None = None
        self.request_lost: int | None = None
        self.reply_lost: int | None = None
        self.seen = ""
        self.request_messages: int | None = None
        self.response_messages: int | None = None
        self.remarks = ""
        self.transport = ""
        self.direction = 0
        self.pair = 0
        self.packet = 0
        self.connection = 0
        self.finished_us: i64 = 0
        self.messages: list[Message] = NO_MESSAGES

    def __repr__(self) -> str:
        name = f"{self.service}.{self.method}" if self.service else self.method
        return f"<Call {self.call} {self.protocol} {name} {self.outcome}>"

    def values(self) -> tuple[Value, ...]:
        """The values of MEMBERS; then those of `transport`, `direction`, `pair` and `remarks`."""
        return (
            self.call,
            self.protocol,
            self.service,
            self.method,
            self.outcome,
            self.status,
            self.exception,
            self.late,
            self.timed_out,
            self.timeout_us,
            self.waited_us,
            self.client,
            self.server,
            self.flow,
            self.file,
            self.point,
            self.id,
            self.trace,
            self.sent_us,
            self.answered_us,
            self.latency_us,
            self.request_bytes,
            self.response_bytes,
            self.request_packets,
            self.response_packets,
            self.resent_bytes,
            self.open_calls,
            self.request_transit_us,
            self.server_time_us,
            self.reply_transit_us,
            self.uncertainty_us,
            self.request_held_us,
            self.reply_held_us,
            self.request_lost,
            self.reply_lost,
            self.seen,
            self.request_messages,
            self.response_messages,
            self.transport,
            self.direction,
            self.pair,
            self.remarks,
        )

    def write(self, out: BytesWriter) -> None:
        """Write the call as a JSON object on one line, without what is unknown."""
        out.write(b'{"call": ')
        write_int(out, self.call)
        members = _last_members[0]
        if members.fit(self):
            out.write(members.json)
        elif _is_common(self):
            members = _last_members[0] = _members_of(self)
            out.write(members.json)
        else:
            _write_members(out, self)
        out.write(_ends_of(self).json)
        if self.id:
            out.write(b', "id": ')
            _write_id(out, self.id)
        if self.trace:
            out.write(b', "trace": ')
            out.write(quoted(self.trace))
        _write_time(out, b', "sent": ', self.sent_us)
        _write_time(out, b', "answered": ', self.answered_us)
        _write_duration(out, b', "latency": ', self.latency_us)
        _write_number(out, b', "request_bytes": ', self.request_bytes)
        _write_number(out, b', "response_bytes": ', self.response_bytes)
        _write_number(out, b', "request_packets": ', self.request_packets)
        _write_number(out, b', "response_packets": ', self.response_packets)
        _write_number(out, b', "resent_bytes": ', self.resent_bytes)
        _write_number(out, b', "open_calls": ', self.open_calls)
        _write_duration(out, b', "request_transit": ', self.request_transit_us)
        _write_duration(out, b', "server_time": ', self.server_time_us)
        _write_duration(out, b', "reply_transit": ', self.reply_transit_us)
        _write_duration(out, b', "uncertainty": ', self.uncertainty_us)
        _write_duration(out, b', "request_held": ', self.request_held_us)
        _write_duration(out, b', "reply_held": ', self.reply_held_us)
        _write_number(out, b', "request_lost": ', self.request_lost)
        _write_number(out, b', "reply_lost": ', self.reply_lost)
        _write_name(out, b', "seen": ', self.seen)
        _write_number(out, b', "request_messages": ', self.request_messages)
        _write_number(out, b', "response_messages": ', self.response_messages)
        out.append(0x7D)

    def json_bytes(self) -> bytes:
        """The call as a JSON object on one line, in UTF-8."""
        out = BytesWriter()
        self.write(out)
        return out.getvalue()

    def texts(self) -> list[str]:
        """The values of MEMBERS as in JSON, as texts; "" for what is unknown."""
        texts: list[str] = []
        for place, value in enumerate(self.values()[: len(MEMBERS)]):
            if value is None:
                texts.append("")
            elif isinstance(value, str):
                texts.append(value)
            elif isinstance(value, bool):
                texts.append("true" if value else "false")
            else:
                kind = MEMBERS[place][1]
                if kind == TIME:
                    texts.append(time_text(value))
                elif kind == DURATION:
                    texts.append(seconds_text(value))
                else:
                    texts.append(str(value))
        return texts

    def to_json(self) -> Json:
        """The call as Python objects, as in JSON: times as text, durations in seconds."""
        return loads(self.json_bytes().decode())


def facts_of(message: Message) -> CallFacts:
    """What a message of a known protocol, or the head of one, states of its call."""
    facts = message.facts
    if facts is not None:
        return facts
    record = message.record
    codec = record.codec
    root = record.headed
    assert codec is not None
    assert root is not None
    return codec.call(root)


def json_lines(calls: list[Call]) -> bytes:
    """Calls as JSON objects, each on a line of its own, in UTF-8."""
    out = BytesWriter()
    for call in calls:
        call.write(out)
        out.append(0x0A)
    return out.getvalue()


class Lines:
    """Calls as lines of plain text in columns that are as wide as they need.

    `names`: service and method of all calls, as they are to be written; `remarkable`: the places of the calls
    of which there is more to show than that they are ok, with that: the outcome, and what follows the ends.
    `latencies`: a text for each call.
    """

    def __init__(self, calls: list[Call]) -> None:
        self.calls: Final = calls
        self.names: dict[tuple[str, str], bytes] = {}
        self.remarkable: dict[int, tuple[bytes, bytes]] = {}
        self.latencies: Final[list[str]] = []
        service = method = ""
        for place, call in enumerate(calls):
            if place == 0 or call.method != method or call.service != service:
                service = call.service
                method = call.method
                self.names[service, method] = b""
            latency_us = call.latency_us
            self.latencies.append("" if latency_us is None else _duration_of(latency_us))
            if not _is_usual(call):
                self.remarkable[place] = (b"", b"")

    def widths(self) -> tuple[int, int, int, int]:
        """The cells of numbers, times, flows and latencies."""
        number: i64 = 0
        time: i64 = 0
        flow: i64 = 0
        latency: i64 = 0
        for call in self.calls:
            number = max(number, call.call)
            flow = max(flow, call.flow)
            if _is_time(0 if call.sent_us is None else call.sent_us):
                time = TIME_CELLS
        for text in self.latencies:
            latency = max(latency, len(text))
        return len(str(number)), int(time), len(str(flow)), int(latency)

    def text(self, widths: tuple[int, int, int, int], ok: bytes) -> bytes:
        """The lines, in UTF-8; `ok` is the outcome of those that are not remarkable."""
        out = BytesWriter()
        numbers: i64 = widths[0]
        times: i64 = widths[1]
        flows: i64 = widths[2]
        latencies: i64 = widths[3]
        service = method = ""
        name = b""
        remarkable = self.remarkable
        for place, call in enumerate(self.calls):
            if place == 0 or call.method != method or call.service != service:
                service = call.service
                method = call.method
                name = self.names[service, method]
            _write_right(out, call.call, numbers)
            out.write(b"  ")
            sent_us = 0 if call.sent_us is None else call.sent_us
            if _is_time(sent_us):
                write_time(out, sent_us)
                _write_blanks(out, times - TIME_CELLS)
            else:
                _write_blanks(out, times)
            out.write(b"  ")
            _write_right(out, call.flow, flows)
            out.write(b"  ")
            out.write(name)
            out.write(b"  ")
            outcome = ok
            latency = self.latencies[place]
            rest = b""
            if remarkable and not _is_usual(call):
                outcome, rest = remarkable[place]
            out.write(outcome)
            _write_blanks(out, latencies - len(latency) + 2)
            out.write(latency.encode())
            out.write(b"  ")
            out.write(_ends_of(call).text)
            out.write(rest)
            out.append(0x0A)
        return out.getvalue()


def _is_usual(call: Call) -> bool:
    """Whether there is no more to show of a call than that it is ok, and its latency."""
    if call.outcome != OK or call.latency_us is None or call.late or call.exception or call.seen:
        return False
    return (call.request_messages or 0) <= 1 and (call.response_messages or 0) <= 1


def _is_time(time_us: i64) -> bool:
    """Whether a time is written as text: between 1970 and 9999."""
    return 0 <= time_us <= LAST_MICROSECOND


def _duration_of(microseconds: int) -> str:
    """A duration for people; many calls take equally long."""
    found = _durations.get(microseconds)
    if found is None:
        if len(_durations) >= QUOTED:
            _durations.clear()
        found = _durations[microseconds] = duration(microseconds / 1e6)
    return found


def _write_right(out: BytesWriter, number: i64, cells: i64) -> None:
    """Write a number from 0 on at the right of its column."""
    digits: i64 = 1
    limit: i64 = 10
    while number >= limit and digits < 18:
        limit *= 10
        digits += 1
    _write_blanks(out, cells - digits)
    write_int(out, number)


def _write_blanks(out: BytesWriter, number: i64) -> None:
    while number >= len(_BLANKS):
        out.append(0x20)
        number -= 1
    if number > 0:
        out.write(_BLANKS[number])


def _is_common(call: Call) -> bool:
    """Whether other calls may have the same members from protocol to waited."""
    return not call.exception and call.timed_out is None and call.waited_us is None


def _write_members(out: BytesWriter, call: Call) -> None:
    """Write the members from protocol to waited."""
    _write_name(out, b', "protocol": ', call.protocol)
    _write_name(out, b', "service": ', call.service)
    _write_name(out, b', "method": ', call.method)
    _write_name(out, b', "outcome": ', call.outcome)
    _write_name(out, b', "status": ', call.status)
    if call.exception:
        out.write(b', "exception": ')
        out.write(quoted(call.exception))
    if call.late is not None:
        out.write(b', "late": true' if call.late else b', "late": false')
    if call.timed_out is not None:
        out.write(b', "timed_out": true' if call.timed_out else b', "timed_out": false')
    _write_duration(out, b', "timeout": ', call.timeout_us)
    _write_duration(out, b', "waited": ', call.waited_us)


@mypyc_attr(acyclic=True)
class _MethodMembers:
    """The JSON members from protocol to waited of calls that have them in common."""

    def __init__(self, call: Call) -> None:
        self.protocol: Final = call.protocol
        self.service: Final = call.service
        self.method: Final = call.method
        self.outcome: Final = call.outcome
        self.status: Final = call.status
        self.late: Final = call.late
        self.timeout_us: Final = call.timeout_us
        out = BytesWriter()
        _write_members(out, call)
        self.json: Final = out.getvalue()

    def fit(self, call: Call) -> bool:
        """Whether they are those of a call."""
        if self.method != call.method or self.service != call.service or self.protocol != call.protocol:
            return False
        if self.outcome != call.outcome or self.status != call.status or self.late is not call.late:
            return False
        return self.timeout_us == call.timeout_us and _is_common(call)


_members: Final[dict[tuple[Value, ...], _MethodMembers]] = {}


def _members_of(call: Call) -> _MethodMembers:
    """These members of a call, made once for all that have the same."""
    key = (call.protocol, call.service, call.method, call.outcome, call.status, call.late, call.timeout_us)
    found = _members.get(key)
    if found is None:
        if len(_members) >= QUOTED:
            _members.clear()
        found = _members[key] = _MethodMembers(call)
    return found


@mypyc_attr(acyclic=True)
class _Ends:
    """The ends of a flow, its number and its file, as they are written of each of its calls."""

    def __init__(self, call: Call) -> None:
        self.client: Final = call.client
        self.server: Final = call.server
        self.flow: Final[i64] = call.flow
        self.file: Final = call.file
        self.point: Final = call.point
        self.text: Final = f"{call.client} > {call.server}".encode("utf-8", "backslashreplace")
        out = BytesWriter()
        _write_name(out, b', "client": ', call.client)
        _write_name(out, b', "server": ', call.server)
        out.write(b', "flow": ')
        write_int(out, call.flow)
        _write_name(out, b', "file": ', call.file)
        _write_name(out, b', "point": ', call.point)
        self.json: Final = out.getvalue()


def _ends_of(call: Call) -> _Ends:
    """The ends of a call, made once for all those of its flow."""
    flow: i64 = call.flow
    place = (2 * flow + call.direction) % ENDS
    found = _ends[place]
    if found.client == call.client and found.server == call.server:
        if found.flow == flow and found.file == call.file and found.point == call.point:
            return found
    found = _ends[place] = _Ends(call)
    return found


def _write_name(out: BytesWriter, key: bytes, text: str) -> None:
    """Write a member whose text many calls have: its JSON is made once."""
    if not text:
        return
    out.write(key)
    found = _known.get(text)
    if found is None:
        if len(_known) >= QUOTED:
            _known.clear()
        found = _known[text] = quoted(text)
    out.write(found)


def _write_id(out: BytesWriter, text: str) -> None:
    """Write an id, most of which are numbers, that need no escapes."""
    for at in range(len(text)):
        code: i64 = ord(text[at])
        if code < 0x30 or code > 0x39:
            out.write(quoted(text))
            return
    out.append(0x22)
    out.write(text.encode())
    out.append(0x22)


def _write_number(out: BytesWriter, key: bytes, number: int | None) -> None:
    if number is not None:
        out.write(key)
        write_int(out, number)


def _write_duration(out: BytesWriter, key: bytes, microseconds: int | None) -> None:
    if microseconds is not None:
        out.write(key)
        _write_seconds(out, microseconds)


def _write_time(out: BytesWriter, key: bytes, time_us: int | None) -> None:
    if time_us is None:
        return
    out.write(key)
    if 0 <= time_us <= LAST_MICROSECOND:
        out.append(0x22)
        write_time(out, time_us)
        out.append(0x22)
    else:
        write_int(out, time_us)


def _write_seconds(out: BytesWriter, microseconds: i64) -> None:
    """Write a duration that may be negative, in seconds."""
    if microseconds < 0:
        out.append(0x2D)
        microseconds = -microseconds
    write_seconds(out, microseconds)


def seconds_text(microseconds: int) -> str:
    """A duration in seconds, as in JSON."""
    out = BytesWriter()
    _write_seconds(out, microseconds)
    return out.getvalue().decode()


def call_of(values: tuple[Any, ...]) -> Call:
    """The call that has these `Call.values`, without its messages."""
    call = Call()
    (
        call.call,
        call.protocol,
        call.service,
        call.method,
        call.outcome,
        call.status,
        call.exception,
        call.late,
        call.timed_out,
        call.timeout_us,
        call.waited_us,
        call.client,
        call.server,
        call.flow,
        call.file,
        call.point,
        call.id,
        call.trace,
        call.sent_us,
        call.answered_us,
        call.latency_us,
        call.request_bytes,
        call.response_bytes,
        call.request_packets,
        call.response_packets,
        call.resent_bytes,
        call.open_calls,
        call.request_transit_us,
        call.server_time_us,
        call.reply_transit_us,
        call.uncertainty_us,
        call.request_held_us,
        call.reply_held_us,
        call.request_lost,
        call.reply_lost,
        call.seen,
        call.request_messages,
        call.response_messages,
        call.transport,
        call.direction,
        call.pair,
        call.remarks,
    ) = values
    return call


_ends: Final = [_Ends(Call())] * ENDS  # by flow and direction
_last_members: Final = [_MethodMembers(Call())]  # most calls have the same as the one before
