"""Magline's numbers and names: commands of both heads, bodies of fixed layout, protobuf members, nodes.

`magline` has no `$wire`; the only ones of `magline-old` are those of protobuf.py.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Json, Node, field
from wirelens.codecs.protobuf import BYTES, VARINT, Member

MAX_FRAME: Final = 1 << 26  # bytes that a frame of either head may claim
MAGIC: Final = 0x7F  # of the deployed head; the specified one leaves it open
GO_VERSION: Final = 101  # of the deployed head, by writer
C_VERSION: Final = 1

# Sizes in bytes.
SPECIFIED_SIZE: Final = 16  # of the specified head
DEPLOYED_SIZE: Final = 12  # of the deployed head
KEY_SIZE: Final = 32  # of a public key (X25519)
CODE_SIZE: Final = 16  # of H, M, A, C
BLOCK: Final = 16  # of AES
WORD: Final = 4

# Commands of the specified head.
SYN: Final = 1
ACK: Final = 2
ERR: Final = 3
PIN: Final = 4
PON: Final = 5
REQ: Final = 6
REP: Final = 7
PSH: Final = 8
FIN: Final = 9
COMMANDS: Final[dict[int, str]] = {
    SYN: "SYN",
    ACK: "ACK",
    ERR: "ERR",
    PIN: "PIN",
    PON: "PON",
    REQ: "REQ",
    REP: "REP",
    PSH: "PSH",
    FIN: "FIN",
}
HEADINGS: Final = {"PING": "PIN", "PONG": "PON"}  # the names in the specification's headings

# Commands of the deployed head.
OLD_SYN: Final = 0x0001
OLD_ACK: Final = 0x0002
SESSION_REQ: Final = 0x0003
SESSION_RSP: Final = 0x0004
CONFIRM: Final = 0x0006
NODE_MSG: Final = 0x0009
KNOT_MSG: Final = 0x000A
ERROR_MSG: Final = 0x000D
DISCONN_REQ: Final = 0x000E
DISCARD: Final = 0x000F
KNOT_CONN_REQ: Final = 0x1001
KNOT_CONN_RSP: Final = 0x1002
KNOT_AGENT_ARRIVE_REQ: Final = 0x1003
KNOT_AGENT_ARRIVE_RSP: Final = 0x1004
KNOT_NODE_MSG: Final = 0x1009
KNOT_KNOT_MSG: Final = 0x100A
KNOT_AGENT_QUIT: Final = 0x100C
KNOT_DISCARD_AGENT: Final = 0x100E
DEPLOYED_COMMANDS: Final[dict[int, str]] = {
    OLD_SYN: "SYN",
    OLD_ACK: "ACK",
    SESSION_REQ: "SESSION_REQ",
    SESSION_RSP: "SESSION_RSP",
    CONFIRM: "CONFIRM",
    NODE_MSG: "NODE_MSG",
    KNOT_MSG: "KNOT_MSG",
    ERROR_MSG: "ERROR_MSG",
    DISCONN_REQ: "DISCONN_REQ",
    DISCARD: "DISCARD",
    KNOT_CONN_REQ: "KNOT_CONN_REQ",
    KNOT_CONN_RSP: "KNOT_CONN_RSP",
    KNOT_AGENT_ARRIVE_REQ: "KNOT_AGENT_ARRIVE_REQ",
    KNOT_AGENT_ARRIVE_RSP: "KNOT_AGENT_ARRIVE_RSP",
    KNOT_NODE_MSG: "KNOT_NODE_MSG",
    KNOT_KNOT_MSG: "KNOT_KNOT_MSG",
    KNOT_AGENT_QUIT: "KNOT_AGENT_QUIT",
    KNOT_DISCARD_AGENT: "KNOT_DISCARD_AGENT",
}
STATUSES: Final[dict[int, str]] = {1: "SYN", 2: "session", 3: "node message", 4: "knot message"}


def _order(node: Node) -> Json:
    return "little" if node.number else "big"


# HEAD words of the nodes.
ROOT_HEAD: Final[i64] = t.head(t.STRUCT)
MAGIC_HEAD: Final[i64] = t.head(t.INTEGER, field("magic"))
VERSION_HEAD: Final[i64] = t.head(t.INTEGER, field("version"))
CMD_HEAD: Final[i64] = t.head(t.NAMED, field("cmd", COMMANDS))
DEPLOYED_CMD_HEAD: Final[i64] = t.head(t.NAMED, field("cmd", DEPLOYED_COMMANDS))
OPTIONAL_HEAD: Final[i64] = t.head(t.INTEGER, field("head_optional"))
HEAD_LENGTH_HEAD: Final[i64] = t.head(t.INTEGER, field("head_length"))
SEQ_HEAD: Final[i64] = t.head(t.INTEGER, field("seq"))
MESSAGE_LENGTH_HEAD: Final[i64] = t.head(t.INTEGER, field("message_length"))
LENGTH_HEAD: Final[i64] = t.head(t.INTEGER, field("length"))
ORDER_HEAD: Final[i64] = t.head(t.COMPUTED, field("byte_order", None, _order))
HEAD_BYTES_HEAD: Final[i64] = t.head(t.HEX, field("head"))
BODY_HEAD: Final[i64] = t.head(t.STRUCT, field("body"))
RANDOM_HEAD: Final[i64] = t.head(t.HEX, field("random"))
PUBLIC_KEY_HEAD: Final[i64] = t.head(t.HEX, field("public_key"))
SEALED_HEAD: Final[i64] = t.head(t.HEX, field("sealed"))
BUSINESS_CMD_HEAD: Final[i64] = t.head(t.INTEGER, field("business_cmd"))
ERROR_NUMBER_HEAD: Final[i64] = t.head(t.INTEGER, field("error"))
PING_HEAD: Final[i64] = t.head(t.INTEGER, field("ping"))
REASON_HEAD: Final[i64] = t.head(t.INTEGER, field("reason"))
HMAC_HEAD: Final[i64] = t.head(t.HEX, field("hmac"))
DATA_HEAD: Final[i64] = t.head(t.HEX, field("data"))
EXTRA_HEAD: Final[i64] = t.head(t.HEX, field("extra"))
FAULT_HEAD: Final[i64] = t.head(t.FAULT, field("error"))
_ERRNO_FIELD: Final[i64] = field("errno")
_PAYLOAD_FIELD: Final[i64] = field("payload")
PAYLOAD_HEAD: Final[i64] = t.head(t.HEX, _PAYLOAD_FIELD)


class Part:
    """A member of a body of fixed layout: its name, size in bytes, and whether it is signed."""

    def __init__(self, name: str, width: i64, member: i64, signed: bool = False) -> None:
        self.name: Final = name
        self.width: Final[i64] = width
        self.signed: Final = signed
        self.head: Final[i64] = t.head(t.INTEGER, member)


class Layout:
    """A body of fixed layout: its parts, and their size in bytes."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts: Final = parts
        size: i64 = 0
        for part in parts:
            size += part.width
        self.size: Final[i64] = size


_CHANNEL: Final = Part("channel", 2, field("channel"))
_CRYPTO: Final = Part("crypto", 2, field("crypto"))
_ERRNO: Final = Part("errno", 4, _ERRNO_FIELD, True)

# The bodies of fixed layout that follow the deployed head.
LAYOUTS: Final[dict[int, Layout]] = {
    OLD_SYN: Layout([Part("protobuf", 2, field("protobuf")), _CHANNEL, _CRYPTO]),
    OLD_ACK: Layout([_CHANNEL, _CRYPTO]),
    SESSION_REQ: Layout([]),
    SESSION_RSP: Layout([Part("agent_id", 4, field("agent_id"))]),
    CONFIRM: Layout([_ERRNO]),
    ERROR_MSG: Layout([Part("status", 4, field("status"), True), _ERRNO]),
    DISCONN_REQ: Layout([]),
    DISCARD: Layout([]),
}

_AGENT_ID: Final = Member("AgentID", VARINT, field("AgentID"))
_PAYLOAD: Final = Member("payload", BYTES, _PAYLOAD_FIELD)

# The protobuf bodies that follow the deployed head: members by field number.
PROTOBUF_MEMBERS: Final[dict[int, dict[int, Member]]] = {
    KNOT_CONN_REQ: {1: Member("AccessKey", BYTES, field("AccessKey"))},
    KNOT_CONN_RSP: {},
    KNOT_AGENT_ARRIVE_REQ: {1: _AGENT_ID},
    KNOT_AGENT_ARRIVE_RSP: {1: _AGENT_ID, 2: Member("errno", VARINT, _ERRNO_FIELD, True)},
    KNOT_NODE_MSG: {1: _AGENT_ID, 2: _PAYLOAD},
    KNOT_KNOT_MSG: {1: _AGENT_ID, 2: _PAYLOAD},
    KNOT_AGENT_QUIT: {1: _AGENT_ID},
    KNOT_DISCARD_AGENT: {1: _AGENT_ID},
}
