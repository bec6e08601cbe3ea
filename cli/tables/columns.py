"""The columns of the tables `messages`, `quarantine`, `calls` and `connections`.

Those of `calls` are the members of `codecs.call.Call`, with `_us` after the names of durations.
"""

from wirelens.codecs.call import DURATION, MEMBERS, NUMBER, SIZE, TEXT, TIME, TRUTH

ColumnList = tuple[tuple[str, str, str], ...]

# Name, Arrow type, comment. The comments go into the Parquet fields and are the reference in the README.
SOURCE = (
    ("file", "string", "input file that holds the last byte of the record"),
    ("point", "string", "where the file was captured, by --point; null without it"),
    ("transport", "string", "tcp or udp; null if the input is not a capture"),
    ("source_address", "string", "address of the sender"),
    ("source_port", "int32", "port of the sender"),
    ("destination_address", "string", "address of the receiver"),
    ("destination_port", "int32", "port of the receiver"),
    ("connection", "int64", "the same for both directions of one conversation, different for all others"),
    (
        "flow_number",
        "int64",
        "as `wirelens flows` numbers the flows of the same inputs",
    ),
    (
        "direction",
        "int8",
        "0: from the side that sent the SYN (without one, the first packet); 1: from the other",
    ),
    ("time", "timestamp", "capture time of the last byte, UTC, microseconds"),
    ("packet", "int64", "number, in `file`, of the packet that holds the last byte"),
    (
        "offset",
        "int64",
        "of the first byte in this direction's stream, or in an input that is not a capture",
    ),
    ("length", "int64", "bytes"),
)
MESSAGES = (
    *SOURCE,
    ("kind", "string", "the kind of message, as the protocol names it"),
    ("summary", "string", "the message in one line"),
    ("service", "string", "the service that is called; a reply has that of its request"),
    ("method", "string", "the method that is called; a reply has that of its request"),
    ("status", "string", "a reply's status, as the protocol names it"),
    ("request_id", "string", "the id by which the protocol pairs requests and replies"),
    ("pair_id", "string", "the same for a request and its reply; null if there is no counterpart so far"),
    ("latency_us", "int64", "microseconds from a request to its reply; on the reply"),
    ("message", "string", "the message in the JSON notation"),
    ("damaged", "bool", "whether something inside did not decode"),
    ("notes", "notes", "legal or tolerated oddities, worst first"),
)
QUARANTINE = (
    *SOURCE,
    (
        "protocol",
        "string",
        "protocol that was recognised or asked for, or unknown; for a damaged file its container",
    ),
    ("error_code", "string", "why it did not decode"),
    ("error_offset", "int64", "where, counted as `offset`; for a damaged file, in the file"),
    ("error_text", "string", "why, in words"),
    ("partial", "string", "the part that decoded, in the JSON notation"),
    ("pair_id", "string", "as in `messages`, of a message that the capture cut off"),
    ("latency_us", "int64", "as in `messages`"),
    (
        "raw",
        "binary",
        "the bytes; for a stream of no known protocol as --quarantine sets, for a damaged file 4 KiB",
    ),
    ("notes", "notes", "oddities, worst first"),
)
_TYPES = {
    TEXT: "string",
    NUMBER: "int64",
    SIZE: "int64",
    TRUTH: "bool",
    TIME: "timestamp",
    DURATION: "int64",
}
_CALL_COMMENTS = {
    "service": "the service, as the protocol names it; of HTTP the host",
    "method": "the method, as the protocol names it",
    "outcome": "ok, error, unanswered, one-way or cancelled",
    "status": "the status of the reply, as the protocol names it",
    "exception": "the class of the exception, or the text of the error",
    "late": "whether it was answered after the client's timeout; null without one",
    "timed_out": "whether it was unanswered for longer than the client's timeout; null without one",
    "timeout": "the client's timeout, microseconds",
    "waited": "microseconds for which an unanswered request was waited for",
    "client": "address and port of the side that sent the request",
    "server": "address and port of the other side",
    "file": "input file that holds the last byte of the request",
    "point": "where that file was captured, by --point; null without it",
    "id": "the id by which the protocol pairs requests and replies",
    "trace": "the id of a distributed trace, as the request has it",
    "sent": "capture time of the last byte of the request, UTC, microseconds",
    "answered": "capture time of the last byte of the reply, UTC, microseconds",
    "latency": "microseconds from request to reply",
    "request_bytes": "bytes of the request",
    "response_bytes": "bytes of the reply",
    "request_messages": "of calls that are streams: how many messages the client sent",
    "response_messages": "likewise the server",
    "open_calls": "other calls that were open on the connection when it was sent",
}


def _call_columns() -> ColumnList:
    columns: list[tuple[str, str, str]] = []
    for name, kind in MEMBERS:
        if name in _CALL_COMMENTS:
            title = name + "_us" if kind == DURATION else name
            columns.append((title, _TYPES[kind], _CALL_COMMENTS[name]))
    return tuple(columns)


CALLS = (
    *_call_columns(),
    ("transport", "string", "tcp or udp"),
    ("connection", "int64", "as in `messages`"),
    ("flow_number", "int64", "as in `messages`"),
    ("direction", "int8", "that of the request, as in `messages`"),
    ("packet", "int64", "number, in `file`, of the packet that holds the last byte of the request"),
    ("pair_id", "string", "as in `messages`; null for one-way calls"),
)


def _both(name: str, kind: str, comment: str) -> ColumnList:
    """A column for each side of a connection."""
    return (
        (f"client_{name}", kind, comment.format("client")),
        (f"server_{name}", kind, comment.format("server")),
    )


CONNECTIONS = (
    ("file", "string", "input file that holds its first packet"),
    ("point", "string", "where the file was captured, by --point; null without it"),
    ("packet", "int64", "number, in `file`, of its first packet"),
    ("transport", "string", "tcp or udp"),
    ("client_address", "string", "address of the side that sent the SYN; without one, the first packet"),
    ("client_port", "int32", "its port"),
    ("server_address", "string", "address of the other side"),
    ("server_port", "int32", "its port"),
    ("connection", "int64", "as in `messages`; null if neither side sent bytes"),
    ("flow_number", "int64", "as `wirelens flows` numbers the flows of the same inputs"),
    ("protocol", "string", "that of its messages; unknown if there are only bytes of no known protocol"),
    ("first_time", "timestamp", "time of its first packet"),
    ("last_time", "timestamp", "time of its last packet"),
    ("duration_us", "int64", "microseconds between them"),
    ("begun", "bool", "whether the capture has its SYN"),
    (
        "ended",
        "string",
        "closed: by both sides; half-closed: by one; reset; open: at the end of the capture; silent: for a "
        "day; reused: its ports by another; limit: more flows were open than are followed",
    ),
    *_both("packets", "int64", "packets that the {} sent"),
    *_both("bytes", "int64", "bytes of the stream that the {} sent, as far as they were captured"),
    *_both("messages", "int64", "messages that the {} sent"),
    *_both("errors", "int64", "messages of the {} that did not decode"),
    *_both("gaps", "int64", "holes in the stream of the {}"),
    *_both("missing", "int64", "bytes that are missing in them"),
    *_both("retransmitted", "int64", "bytes of the {} that were retransmitted, equal to the first"),
    *_both("late", "int64", "bytes of the {} that came after the stream had moved on"),
    *_both("unanswered", "int64", "requests of the {} without a reply"),
)
RECORD_TABLES = ("messages", "quarantine")
TABLES: dict[str, ColumnList] = {
    "messages": MESSAGES,
    "quarantine": QUARANTINE,
    "calls": CALLS,
    "connections": CONNECTIONS,
}
PARTITIONED = ("messages", "calls")  # by `protocol` and `day`, which are not among their columns
TIMES = {"messages": "time", "quarantine": "time", "calls": "sent", "connections": "first_time"}

STREAM_COLUMNS = (
    "transport",
    "source_address",
    "source_port",
    "destination_address",
    "destination_port",
    "connection",
    "flow_number",
    "direction",
)  # the columns that `Stream.source` gives
FLOW_NUMBER = "flow_number"
FAILURE_COLUMNS = ("error_code", "error_offset", "error_text", "partial", "raw")
