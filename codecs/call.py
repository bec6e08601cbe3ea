"""A call: a request and what came of it, as JSON and as plain values."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.conversations import Message
from wirelens.codecs.json_text import loads, quoted
from wirelens.codecs.node import Json
from wirelens.codecs.numbers import LAST_MICROSECOND, time_text, write_int, write_seconds, write_time

OK: Final = "ok"
ERROR: Final = "error"
UNANSWERED: Final = "unanswered"
ONE_WAY: Final = "one-way"
OUTCOMES: Final = (OK, ERROR, UNANSWERED, ONE_WAY)

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
)
_KEYS: Final = [b'"' + name.encode() + b'": ' for name, _ in MEMBERS]

NO_MESSAGES: Final[list[Message]] = []  # never changed

Value = None | bool | int | str


_KINDS: Final = [kind for _, kind in MEMBERS]
# Texts that many calls have; in JSON they are quoted once.
_REPEATS: Final = [
    name in ("protocol", "service", "method", "outcome", "status", "client", "server", "file", "point")
    for name, _ in MEMBERS
]
QUOTED: Final = 1 << 12  # texts of which the JSON is kept
_known: Final[dict[str, bytes]] = {}


@mypyc_attr(acyclic=True)
class Call:
    """A request and what came of it; "" or None where something is unknown.

    `call`: its number, from 1, in the order of requests. `outcome`: one of OUTCOMES. Times (`sent_us`,
    `answered_us`) are microseconds since 1970, all other members that end in `_us` durations in microseconds.
    `late`: answered after the client's timeout; `timed_out`: unanswered for longer than that; None without a
    timeout. `waited_us`: how long an unanswered request was waited for. `open_calls`: the other calls that
    were open on the connection when this one was sent. `resent_bytes`: bytes sent more than once.
    `transport`: "tcp" or "udp". `direction`: that of the request, 0 from the flow's client. `pair`: number
    that its messages have in common, 0 if it is one-way. `messages`: they, if they were asked for.

    Of calls that were captured at both ends: the times on the way and in the server (`request_transit_us`,
    `server_time_us`, `reply_transit_us`, `uncertainty_us`, `request_held_us`, `reply_held_us`), copies that
    did not arrive (`request_lost`, `reply_lost`), and `seen`: "both", "client" or "server". `remarks`: what
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
        self.remarks = ""
        self.transport = ""
        self.direction = 0
        self.pair = 0
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
            self.transport,
            self.direction,
            self.pair,
            self.remarks,
        )

    def write(self, out: BytesWriter) -> None:
        """Write the call as a JSON object on one line, without what is unknown."""
        mark = b"{"
        values = self.values()
        count: i64 = len(_KEYS)
        place: i64 = 0
        while place < count:
            value = values[place]
            if value is None or value == "":
                place += 1
                continue
            out.write(mark)
            mark = b", "
            out.write(_KEYS[place])
            if isinstance(value, str):
                out.write(_quoted(value) if _REPEATS[place] else quoted(value))
            elif isinstance(value, bool):
                out.write(b"true" if value else b"false")
            else:
                _write_number(out, _KINDS[place], value)
            place += 1
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


def json_lines(calls: list[Call]) -> bytes:
    """Calls as JSON objects, each on a line of its own, in UTF-8."""
    out = BytesWriter()
    for call in calls:
        call.write(out)
        out.append(0x0A)
    return out.getvalue()


def _quoted(text: str) -> bytes:
    """A text in JSON, from those that were quoted before."""
    found = _known.get(text)
    if found is None:
        if len(_known) >= QUOTED:
            _known.clear()
        found = _known[text] = quoted(text)
    return found


def _write_number(out: BytesWriter, kind: str, number: int) -> None:
    if kind == DURATION:
        if number < 0:
            out.append(0x2D)
        write_seconds(out, abs(number))
    elif kind == TIME and 0 <= number <= LAST_MICROSECOND:
        out.append(0x22)
        write_time(out, number)
        out.append(0x22)
    else:
        write_int(out, number)


def seconds_text(microseconds: int) -> str:
    """A duration in seconds, as in JSON."""
    out = BytesWriter()
    if microseconds < 0:
        out.append(0x2D)
    write_seconds(out, abs(microseconds))
    return out.getvalue().decode()


def call_of(values: tuple[Value, ...]) -> Call:
    """The call that has these `Call.values`, without its messages."""
    call = Call()
    for (name, kind), value in zip(MEMBERS, values, strict=False):
        setattr(call, name + "_us" if kind == TIME or kind == DURATION else name, value)
    transport, direction, pair, remarks = values[len(MEMBERS) :]
    call.transport = str(transport)
    call.remarks = str(remarks)
    call.direction = direction if isinstance(direction, int) else 0
    call.pair = pair if isinstance(pair, int) else 0
    return call
