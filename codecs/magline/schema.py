"""The members of Magline's frames in JSON, of both heads."""

from typing import Final

from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.protobuf_encoding import FIELD, FIELDS, schema_of
from wirelens.codecs.schema import DAMAGED, Notation, Schema, hexadecimal, integer, other, word

U16: Final = 0xFFFF
U32: Final = 0xFFFFFFFF

_EXTRA: Final = hexadecimal("extra", "bytes after the members")
_BODY: Final = other("body", "an object, by cmd", usual="empty")

FRAME: Final = Schema(
    "message",
    integer("cmd", 0, U16, "the command", needed=True, names=v.COMMANDS),
    _BODY,
    integer("magic", 0, 255, default=v.MAGIC),
    integer("version", 0, 255, default=v.C_VERSION),
    integer("head_optional", 0, U16, default=0),
    integer("head_length", 0, U16, usual="computed"),
    integer("seq", 0, U32, "the number of the frame", 0),
    integer("message_length", 0, U32, usual="computed"),
    word("byte_order", ("big", "little"), default="big"),
    hexadecimal("head", "the optional part of the head", ""),
)
DATA: Final = Schema("body that is not decoded, or of another cmd", *DAMAGED)


def _word(name: str, words: str) -> Schema:
    command = "PIN, PON" if name == "ping" else "FIN"
    return Schema(f"body of {command}", integer(name, 0, U32, words, needed=True), _EXTRA)


_RANDOM: Final = hexadecimal("random", needed=True)
_KEY: Final = hexadecimal("public_key", needed=True)
_PING: Final = _word("ping", "the same in PIN and PON")
_MESSAGE: Final = Schema(
    "body of REQ, REP, PSH",
    integer("business_cmd", 0, U32, "the application's command", needed=True),
    hexadecimal("hmac", "16 bytes, or fewer without data", needed=True),
    hexadecimal("data", "the application's data", ""),
)
# Bodies by command.
SPECIFIED: Final[dict[int, Schema]] = {
    v.SYN: Schema("body of SYN", _RANDOM, _KEY),
    v.ACK: Schema("body of ACK", _RANDOM, _KEY, hexadecimal("sealed", needed=True)),
    v.ERR: Schema(
        "body of ERR",
        integer("business_cmd", 0, U32, "the command that failed", needed=True),
        integer("error", 0, U32, "the number of the error", needed=True),
        _EXTRA,
    ),
    v.PIN: _PING,
    v.PON: _PING,
    v.REQ: _MESSAGE,
    v.REP: _MESSAGE,
    v.PSH: _MESSAGE,
    v.FIN: _word("reason", "why the connection ends"),
}

OLD_FRAME: Final = Schema(
    "message",
    integer("cmd", 0, U16, "the command", needed=True, names=v.DEPLOYED_COMMANDS),
    _BODY,
    integer("magic", v.MAGIC, v.MAGIC, default=v.MAGIC),
    integer("version", 0, 255, default=v.GO_VERSION),
    integer("seq", 0, U32, "the number of the frame", 0),
    integer("length", 0, U32, usual="computed"),
)
PAYLOAD: Final = Schema("body of NODE_MSG, KNOT_MSG", hexadecimal("payload", "the application's data", ""))


def _fixed(cmd: int, layout: v.Layout) -> Schema:
    members = []
    for part in layout.parts:
        bits = 8 * int(part.width)
        low = -1 << (bits - 1) if part.signed else 0
        members.append(integer(part.name, low, low + (1 << bits) - 1, needed=True))
    words = ", or nothing" if cmd == v.OLD_SYN else ""
    return Schema(f"body of {v.DEPLOYED_COMMANDS[cmd]}{words}", *members, _EXTRA)


# Bodies by command: of fixed layout, and of protobuf.
FIXED: Final = {cmd: _fixed(cmd, layout) for cmd, layout in v.LAYOUTS.items()}
PROTOBUF: Final = {
    cmd: schema_of(f"body of {v.DEPLOYED_COMMANDS[cmd]}", members)
    for cmd, members in v.PROTOBUF_MEMBERS.items()
}

SCHEMAS: Final = {
    "magline": Notation(
        (FRAME, *dict.fromkeys(SPECIFIED.values()), DATA),
        {
            "request": {
                "cmd": "REQ",
                "seq": 7,
                "body": {"business_cmd": 1001, "hmac": "00" * 16, "data": "68656c6c6f"},
            },
            "ping": {"cmd": "PIN", "seq": 8, "body": {"ping": 1}},
        },
    ),
    "magline-old": Notation(
        (OLD_FRAME, *FIXED.values(), PAYLOAD, *PROTOBUF.values(), FIELDS, FIELD, DATA),
        {
            "syn": {"cmd": "SYN", "seq": 1, "body": {"protobuf": 1, "channel": 1, "crypto": 0}},
            "message": {"cmd": "NODE_MSG", "seq": 7, "body": {"payload": "68656c6c6f"}},
            "knot": {
                "cmd": "KNOT_NODE_MSG",
                "seq": 8,
                "body": {"AgentID": 1074790401, "payload": "68656c6c6f"},
            },
        },
    ),
}
