"""Magline, a gateway's frames: the specified 16-byte head (`magline`), the deployed 12-byte one.

Source of `magline`: the Magline protocol text, which nobody is known to have implemented. It leaves open
the byte order, the values of magic and version, and how wide the randoms are, so these are read by what
the bytes allow:

- Byte order is the one under which CMD is a command; failing that, the one under which Head Length is 16.
- A Head Length of 16 or more is the length of the head with what was added to it; below 16 it is the
  length of the message header alone, which lies inside Message Length where it fits there.
- A public key is 32 bytes (X25519). SYN's random is what is left before it; ACK's is the shortest of 4, 8,
  12 and 16 bytes that leaves whole AES blocks, else 4.
- H, M, A, C are the four words of one 16-byte code.

`magline-old` is little-endian: magic 0x7f, version 101 (Go) or 1 (C), command, sequence number, length.
Commands from 0x1001 on are the knot's side, with protobuf bodies.

Every `$wire` of `magline-old`: beside a protobuf field whose varints are not the shortest, {field: the
hex of the whole field, key included}. `magline` has none.
"""

from typing import Final

from librt.strings import BytesWriter, read_i16_be, read_i16_le, read_i32_be, read_i32_le, read_i64_le
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.background import MEETS, OTHER, prices, proved
from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import Path, array_of, hex_bytes, number_of, object_of, only
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.tape import Buffer, Fault, Tape
from wirelens.codecs.words import count

# --- the specified head -------------------------------------------------------------------------------

HEAD: Final = 16
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
MAX_FRAME: Final = 1 << 26  # bytes that a frame of either generation may claim
MAX_RESYNC: Final = 1 << 20  # bytes of a frame that is looked for behind damage
KEY: Final = 32  # bytes of a public key
CODE: Final = 16  # bytes of H, M, A, C
BLOCK: Final = 16  # bytes of an AES block
WORD: Final = 4

# --- the deployed head --------------------------------------------------------------------------------

OLD_HEAD: Final = 12
MAGIC: Final = 0x7F
GO_VERSION: Final = 101
C_VERSION: Final = 1
OLD_COMMANDS: Final[dict[int, str]] = {
    0x0001: "SYN",
    0x0002: "ACK",
    0x0003: "SESSION_REQ",
    0x0004: "SESSION_RSP",
    0x0006: "CONFIRM",
    0x0009: "NODE_MSG",
    0x000A: "KNOT_MSG",
    0x000D: "ERROR_MSG",
    0x000E: "DISCONN_REQ",
    0x000F: "DISCARD",
    0x1001: "KNOT_CONN_REQ",
    0x1002: "KNOT_CONN_RSP",
    0x1003: "KNOT_AGENT_ARRIVE_REQ",
    0x1004: "KNOT_AGENT_ARRIVE_RSP",
    0x1009: "KNOT_NODE_MSG",
    0x100A: "KNOT_KNOT_MSG",
    0x100C: "KNOT_AGENT_QUIT",
    0x100E: "KNOT_DISCARD_AGENT",
}
_OLD_NUMBERS: Final[dict[str, int]] = {name: number for number, name in OLD_COMMANDS.items()}
STATUSES: Final[dict[int, str]] = {1: "SYN", 2: "session", 3: "node message", 4: "knot message"}
CUT: Final = 1 << 16  # what the length of a frame lacks where its writer kept 16 bits of it


def _order(node: Node) -> Json:
    return "little" if node.number else "big"


_ROOT: Final[i64] = t.head(t.STRUCT)
_MAGIC: Final[i64] = t.head(t.INTEGER, field("magic"))
_VERSION: Final[i64] = t.head(t.INTEGER, field("version"))
_CMD: Final[i64] = t.head(t.NAMED, field("cmd", COMMANDS))
_OLD_CMD: Final[i64] = t.head(t.NAMED, field("cmd", OLD_COMMANDS))
_OPTIONAL: Final[i64] = t.head(t.INTEGER, field("head_optional"))
_HEAD_LENGTH: Final[i64] = t.head(t.INTEGER, field("head_length"))
_SEQ: Final[i64] = t.head(t.INTEGER, field("seq"))
_MESSAGE_LENGTH: Final[i64] = t.head(t.INTEGER, field("message_length"))
_LENGTH: Final[i64] = t.head(t.INTEGER, field("length"))
_ORDER: Final[i64] = t.head(t.COMPUTED, field("byte_order", None, _order))
_HEAD_BYTES: Final[i64] = t.head(t.HEX, field("head"))
_BODY: Final[i64] = t.head(t.STRUCT, field("body"))
_RANDOM: Final[i64] = t.head(t.HEX, field("random"))
_PUBLIC_KEY: Final[i64] = t.head(t.HEX, field("public_key"))
_SEALED: Final[i64] = t.head(t.HEX, field("sealed"))
_BUSINESS_CMD: Final[i64] = t.head(t.INTEGER, field("business_cmd"))
_ERROR_NUMBER: Final[i64] = t.head(t.INTEGER, field("error"))
_PING: Final[i64] = t.head(t.INTEGER, field("ping"))
_REASON: Final[i64] = t.head(t.INTEGER, field("reason"))
_HMAC: Final[i64] = t.head(t.HEX, field("hmac"))
_DATA: Final[i64] = t.head(t.HEX, field("data"))
_EXTRA: Final[i64] = t.head(t.HEX, field("extra"))
_FAULT: Final[i64] = t.head(t.FAULT, field("error"))
_FIELD_PROTOBUF: Final = field("protobuf")
_PROTOBUF: Final[i64] = t.head(t.INTEGER, _FIELD_PROTOBUF)
_CHANNEL: Final[i64] = t.head(t.INTEGER, field("channel"))
_CRYPTO: Final[i64] = t.head(t.INTEGER, field("crypto"))
_AGENT: Final[i64] = t.head(t.INTEGER, field("agent_id"))
_ERRNO_FIELD: Final[i64] = field("errno")
_ERRNO: Final[i64] = t.head(t.INTEGER, _ERRNO_FIELD)
_STATUS: Final[i64] = t.head(t.INTEGER, field("status"))
_PAYLOAD_FIELD: Final[i64] = field("payload")
_PAYLOAD: Final[i64] = t.head(t.HEX, _PAYLOAD_FIELD)

# The members of the bodies of fixed layout: name, bytes, signed.
_OLD_MEMBERS: Final[dict[int, tuple[tuple[str, int, bool], ...]]] = {
    0x0001: (("protobuf", 2, False), ("channel", 2, False), ("crypto", 2, False)),
    0x0002: (("channel", 2, False), ("crypto", 2, False)),
    0x0003: (),
    0x0004: (("agent_id", 4, False),),
    0x0006: (("errno", 4, True),),
    0x000D: (("status", 4, True), ("errno", 4, True)),
    0x000E: (),
    0x000F: (),
}
_OLD_HEADS: Final[dict[str, int]] = {
    "protobuf": _PROTOBUF,
    "channel": _CHANNEL,
    "crypto": _CRYPTO,
    "agent_id": _AGENT,
    "errno": _ERRNO,
    "status": _STATUS,
}

# Protobuf: the wire types, and the fields that the knot's commands have.
VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
WIRE_TYPES: Final[dict[int, str]] = {VARINT: "varint", FIXED64: "fixed64", BYTES: "bytes", FIXED32: "fixed32"}
_AGENT_ID: Final = ("AgentID", VARINT)
_KNOT_FIELDS: Final[dict[int, dict[int, tuple[str, int]]]] = {
    0x1001: {1: ("AccessKey", BYTES)},
    0x1002: {},
    0x1003: {1: _AGENT_ID},
    0x1004: {1: _AGENT_ID, 2: ("errno", VARINT)},
    0x1009: {1: _AGENT_ID, 2: ("payload", BYTES)},
    0x100A: {1: _AGENT_ID, 2: ("payload", BYTES)},
    0x100C: {1: _AGENT_ID},
    0x100E: {1: _AGENT_ID},
}
_SIGNED: Final = frozenset(("errno",))


def _field_bytes(node: Node) -> Json:
    """`$wire` of a protobuf field with an overlong varint: the bytes of the field, its key included."""
    return node.raw.hex()


OVERLONG: Final = hint(_field_bytes)

_NAMED_FIELDS: Final[dict[str, int]] = {
    "AccessKey": field("AccessKey"),
    "AgentID": field("AgentID"),
    "errno": _ERRNO_FIELD,
    "payload": _PAYLOAD_FIELD,
}
_UNKNOWN: Final[i64] = t.head(t.ARRAY, field("unknown"))
_FIELDS: Final[i64] = t.head(t.ARRAY, field("fields"))
_FIELD_ITEM: Final[i64] = t.head(t.STRUCT)
_FIELD_NUMBER: Final[i64] = t.head(t.INTEGER, field("field"))
_FIELD_TYPE: Final[i64] = t.head(t.NAMED, field("type", WIRE_TYPES))
_FIELD_VALUE: Final[i64] = field("value")


def _u16(data: bytes, at: i64, little: bool) -> i64:
    if little:
        return i64(read_i16_le(data, at)) & 0xFFFF
    return i64(read_i16_be(data, at)) & 0xFFFF


def _u32(data: bytes, at: i64, little: bool) -> i64:
    if little:
        return i64(read_i32_le(data, at)) & 0xFFFFFFFF
    return i64(read_i32_be(data, at)) & 0xFFFFFFFF


@mypyc_attr(acyclic=True)  # nothing refers back to it: not for the garbage collector
class _Head:
    """The 16 bytes of a specified head at `at`, in the byte order that makes sense of them."""

    def __init__(self, data: bytes, at: i64) -> None:
        little = False
        big_cmd = _u16(data, at + 2, False)
        little_cmd = _u16(data, at + 2, True)
        if not 1 <= big_cmd <= FIN:
            little = 1 <= little_cmd <= FIN or (
                _u16(data, at + 6, True) == HEAD and _u16(data, at + 6, False) != HEAD
            )
        self.little: Final = little
        self.cmd: Final[i64] = little_cmd if little else big_cmd
        self.known: Final = 1 <= self.cmd <= FIN
        self.head_length: Final[i64] = _u16(data, at + 6, little)
        self.seq: Final[i64] = _u32(data, at + 8, little)
        self.message_length: Final[i64] = _u32(data, at + 12, little)
        added: i64 = 0  # bytes of the head behind the 16
        inside: i64 = 0  # bytes of a message header within the message
        if self.head_length >= HEAD:
            added = self.head_length - HEAD
        elif self.head_length <= self.message_length:
            inside = self.head_length
        else:
            added = self.head_length
        self.header: Final[i64] = added + inside
        self.body: Final[i64] = self.message_length - inside
        self.total: Final[i64] = HEAD + added + self.message_length

    def fits(self) -> bool:
        """True where the body has a size that its command can have."""
        cmd = self.cmd
        size = self.body
        if cmd == PIN or cmd == PON or cmd == FIN:
            return size == WORD
        if cmd == ERR:
            return size == 2 * WORD
        if cmd == SYN:
            return 2 * WORD <= size <= 256
        if cmd == ACK:
            return 3 * WORD <= size <= 4096
        return size >= WORD + CODE


class Magline(Codec):
    """The specified frame: a 16-byte head, a message header, a body by command."""

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        start = cursor.pos
        if cursor.left() < HEAD:
            raise cursor.short(HEAD, "the head of a frame")
        head = _Head(cursor.data, start)
        if not head.known and head.head_length != HEAD:
            raise cursor.error("no-message", start, f"no frame starts here: {head.cmd} is no command")
        if head.total > MAX_FRAME:
            raise cursor.error("limit", start, f"the frame claims {head.total} bytes, {MAX_FRAME} at most")
        if head.total > cursor.left() and not final:
            raise cursor.short(head.total, "a frame")
        root = tape.open(_ROOT, start, 0)
        little = head.little
        tape.leaf(_MAGIC, start, start + 1, cursor.data[start])
        tape.leaf(_VERSION, start + 1, start + 2, cursor.data[start + 1])
        tape.leaf(_CMD, start + 2, start + 4, head.cmd)
        optional = _u16(cursor.data, start + 4, little)
        tape.leaf(_OPTIONAL, start + 4, start + 6, optional)
        tape.leaf(_HEAD_LENGTH, start + 6, start + 8, head.head_length)
        tape.leaf(_SEQ, start + 8, start + 12, head.seq)
        tape.leaf(_MESSAGE_LENGTH, start + 12, start + 16, head.message_length)
        tape.leaf(_ORDER, start + 16, start + 16, 1 if little else 0)
        cursor.pos = start + HEAD
        header = cursor.skip(head.header, "the message header")
        tape.leaf(_HEAD_BYTES, header, cursor.pos, header)
        outer = cursor.end
        cut = head.body > cursor.left()
        if not cut:
            cursor.end = cursor.pos + head.body
        body = tape.open(_BODY, cursor.pos, 0)
        self.body(cursor, tape, head)
        tape.close(body, cursor.pos)
        if cut:
            raise DecodeError(
                "truncated",
                int(cursor.buffer.absolute(start + 12)),
                f"the frame has {head.total} bytes, {outer - start} are there",
                int(start + head.total),
            )
        cursor.pos = cursor.end
        cursor.end = outer
        tape.close(root, cursor.pos)
        if not head.known:
            tape.note("unknown-command", start + 2, f"{head.cmd} is no command of the text", cursor.buffer)

    def body(self, cursor: Cursor, tape: Tape, head: _Head) -> None:
        """The body up to the cursor's end."""
        cmd = head.cmd
        if cmd == SYN or cmd == ACK:
            self.keys(cursor, tape, cmd == ACK)
            return
        if not head.known:
            self.rest(cursor, tape, _DATA)
            return
        words: i64 = 2 if cmd == ERR else 1
        if cursor.left() < words * WORD:
            at = cursor.pos
            left = cursor.left()
            self.rest(cursor, tape, _DATA)
            text = f"{COMMANDS[int(cmd)]} needs {words * WORD} bytes, {left} are there"
            tape.fault(_FAULT, cursor.end, Fault("truncated", cursor.buffer.absolute(at), text))
            return
        first: i64 = _BUSINESS_CMD
        if cmd == PIN or cmd == PON:
            first = _PING
        elif cmd == FIN:
            first = _REASON
        self.word(cursor, tape, first, head.little)
        if cmd == ERR:
            self.word(cursor, tape, _ERROR_NUMBER, head.little)
        if REQ <= cmd <= PSH:
            at = cursor.pos
            cursor.pos = min(at + CODE, cursor.end)
            tape.leaf(_HMAC, at, cursor.pos, at)
            self.rest(cursor, tape, _DATA)
        elif cursor.pos < cursor.end:
            left = cursor.left()
            text = f"{count(left, 'byte')} behind the body of {COMMANDS[int(cmd)]}"
            tape.note("extra-bytes", cursor.pos, text, cursor.buffer)
            self.rest(cursor, tape, _EXTRA)

    def keys(self, cursor: Cursor, tape: Tape, sealed: bool) -> None:
        """A random, a public key and, in ACK, the sealed part."""
        start = cursor.pos
        size = cursor.left()
        random: i64 = WORD
        if sealed:
            for width in (4, 8, 12, 16):
                if size >= width + KEY + BLOCK and (size - width - KEY) % BLOCK == 0:
                    random = width
                    break
        elif size > WORD + KEY:
            random = size - KEY
        random = min(random, size)
        key = min(KEY, size - random)
        tape.leaf(_RANDOM, start, start + random, start)
        tape.leaf(_PUBLIC_KEY, start + random, start + random + key, start + random)
        cursor.pos = start + random + key
        if sealed:
            self.rest(cursor, tape, _SEALED)

    def word(self, cursor: Cursor, tape: Tape, head: i64, little: bool) -> None:
        at = cursor.pos
        cursor.pos = at + WORD
        tape.leaf(head, at, at + WORD, _u32(cursor.data, at, little))

    def rest(self, cursor: Cursor, tape: Tape, head: i64) -> None:
        at = cursor.pos
        cursor.pos = cursor.end
        tape.leaf(head, at, cursor.end, at)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The next head of a known command with a head length of 16 and a message length that the command
        can have; linear in the bytes."""
        at = start
        while at + HEAD <= end:
            if data[at + 6] == HEAD or data[at + 7] == HEAD:
                head = _Head(data, at)
                if head.known and head.head_length == HEAD and head.fits() and head.total <= MAX_RESYNC:
                    return at
            at += 1
        return end

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """Bits of the frames at the start: command, head length, sizes that fit and chain."""
        found = self.evidence(data)
        if found.bits <= 0:
            return found
        bits = found.bits
        reasons = found.reasons
        if other:
            theirs = self.evidence(other)
            if proved(theirs.bits, theirs.whole, theirs.at_end):
                bits += OTHER
                reasons = (*reasons, "the other direction is Magline too")
        if _old_evidence(data).bits > 0:
            reasons = (*reasons, "the bytes also fit the deployed 12-byte head (magline-old)")
        return found._replace(bits=bits, reasons=reasons)

    def evidence(self, data: bytes) -> Evidence:
        """Evidence of the frames at the start.

        A head fixes the command's high byte and the head's length; the message's length is the one that
        its command has, or leads to the next head or the end.
        """
        end: i64 = len(data)
        if end < HEAD:
            return NO_EVIDENCE
        at: i64 = 0
        bits = 0.0
        frames = 0
        little = False
        settle = ""
        fixed = False
        while at + HEAD <= end and frames < 16:
            head = _Head(data, at)
            if not head.known or head.head_length != HEAD or not head.fits():
                break
            if frames and (head.little != little or data[at + 1] != data[1]):
                break
            little = head.little
            gained = prices(data, at + 2, 2) - 2.0 + prices(data, at + 6, 2)
            if frames:
                gained += prices(data, at, 2) / frames
            fixed = ERR <= head.cmd <= PON or head.cmd == FIN
            if fixed:
                gained += prices(data, at + 12, 4)
            elif frames:
                gained += MEETS  # of the length before
            frames += 1
            bits += gained
            at += head.total
            if at > end:
                settle = f"{at - end} more bytes"
                break
        if frames == 0:
            return NO_EVIDENCE
        whole = at == end
        if not settle and at < end and frames < 16 and end - at >= HEAD:
            bits -= 8.0  # the last frame led to no head
        order = "little" if little else "big"
        reasons = [
            f"{count(frames, order + '-endian head')}: a command, a head length of 16",
            "each message has a length that its command can have",
        ]
        if whole:
            reasons.append("the lengths lead to the end of the bytes")
        at_end = 0.0
        if whole:
            at_end = 4.0 if fixed else 4.0 + MEETS
        return Evidence(
            bits=max(bits, 0.0),
            reasons=tuple(reasons),
            settle=settle,
            whole=whole,
            one=frames == 1,
            at_end=at_end,
        )

    def kind(self, root: Node) -> str:
        """The command's name."""
        cmd = root.member("cmd")
        return "frame" if cmd is None else cmd.shown

    def summary(self, root: Node) -> str:
        """The command, its number, and its part in the connection's story."""
        cmd = _number(root, "cmd")
        seq = _number(root, "seq")
        body = root.member("body")
        if body is None:
            return self.kind(root)
        said = f"{self.kind(root)} seq {seq}"
        if cmd == SYN:
            widths = f"random {_size(body, 'random')}, key {_size(body, 'public_key')}"
            return f"{said}: the client opens ({widths}); ACK answers, or ERR and FIN"
        if cmd == ACK:
            return f"{said}: the server accepts the SYN (sealed session id, {_size(body, 'sealed')})"
        if cmd == ERR:
            numbers = f"business {_number(body, 'business_cmd')}, error {_number(body, 'error')}"
            return f"{said}: refused, {numbers}; FIN follows"
        if cmd == PIN:
            return f"{said}: ping {_number(body, 'ping')}; PON answers"
        if cmd == PON:
            return f"{said}: pong {_number(body, 'ping')}"
        if cmd == FIN:
            return f"{said}: the connection ends, reason {_number(body, 'reason')}"
        if REQ <= cmd <= PSH:
            said += f": business {_number(body, 'business_cmd')}, {_size(body, 'data')}"
            if cmd == REQ:
                return f"{said}; REP with seq {seq} answers"
            return f"{said}; answers REQ with seq {seq}" if cmd == REP else f"{said}; pushed, no answer"
        return f"{said}: {_size(body, 'data')}"

    def annotate(self, node: Node) -> str:
        """What is behind widths and sealed parts."""
        name = node.field.name
        if name == "sealed":
            return "AES(K + session id)"
        if name == "hmac":
            size = len(node.content)
            return "" if size == CODE else f"{size} of 16 bytes"
        if name == "public_key" and len(node.content) == KEY:
            return "X25519"
        if name == "byte_order":
            return "by evidence: the text leaves it open"
        return ""

    def exchange(self, root: Node) -> Exchange:
        """SYN opens and ACK or ERR answers it; REP answers the REQ of its Seq; PON the PIN of its number."""
        cmd = _number(root, "cmd")
        body = root.member("body")
        if cmd == SYN:
            return Exchange("request", "connection")
        if cmd == ACK or cmd == ERR:
            return Exchange("reply", "connection")
        if cmd == REQ or cmd == REP:
            return Exchange("request" if cmd == REQ else "reply", f"seq {_number(root, 'seq')}")
        if (cmd == PIN or cmd == PON) and body is not None:
            return Exchange("request" if cmd == PIN else "reply", f"ping {_number(body, 'ping')}")
        return Exchange("")

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode. Absent are taken: magic 127, version 1, head_optional 0, seq 0, byte_order
        "big", an empty head, the lengths as they are."""
        frame = object_of(message, "", "a frame with cmd and body")
        only(
            frame,
            (
                "magic",
                "version",
                "cmd",
                "head_optional",
                "head_length",
                "seq",
                "message_length",
                "byte_order",
                "head",
                "body",
            ),
            "",
        )
        if "cmd" not in frame:
            raise EncodeError("", 'a frame needs the member "cmd"')
        cmd = number_of(frame["cmd"], COMMANDS, "cmd", 0, 0xFFFF)
        order = frame.get("byte_order", "big")
        if order not in ("big", "little"):
            raise EncodeError("byte_order", 'expected "big" or "little"')
        little = order == "little"
        head = hex_bytes(frame.get("head", ""), "head")
        body = _spec_body(cmd, object_of(frame.get("body", {}), "body", "the body's members"), little)
        head_length = number_of(frame.get("head_length", HEAD + len(head)), {}, "head_length", 0, 0xFFFF)
        inside = head_length < HEAD and head_length == len(head)
        message_length = number_of(
            frame.get("message_length", len(body) + (len(head) if inside else 0)),
            {},
            "message_length",
            0,
            0xFFFFFFFF,
        )
        if head_length >= HEAD and head_length != HEAD + len(head):
            raise EncodeError(
                "head_length", f"it is {HEAD + len(head)} with this head; leave it out to have it computed"
            )
        if head_length < HEAD and head_length != len(head):
            raise EncodeError("head_length", f"below 16 it is the length of the head, {len(head)}")
        if message_length != len(body) + (len(head) if inside else 0) and not (
            inside and message_length == len(body) and message_length < len(head)
        ):
            raise EncodeError(
                "message_length", f"the message has {len(body)} bytes; leave it out to have it computed"
            )
        out.append(number_of(frame.get("magic", MAGIC), {}, "magic", 0, 255))
        out.append(number_of(frame.get("version", C_VERSION), {}, "version", 0, 255))
        _write(out, cmd, 2, little)
        _write(out, number_of(frame.get("head_optional", 0), {}, "head_optional", 0, 0xFFFF), 2, little)
        _write(out, head_length, 2, little)
        _write(out, number_of(frame.get("seq", 0), {}, "seq", 0, 0xFFFFFFFF), 4, little)
        _write(out, message_length, 4, little)
        out.write(head)
        out.write(body)


class _Field:
    """One field of a protobuf message: where it lies and what it is."""

    def __init__(self, start: i64, end: i64, number: i64, kind: i64, value: i64, overlong: bool) -> None:
        self.start: Final[i64] = start
        self.end: Final[i64] = end
        self.number: Final[i64] = number
        self.kind: Final[i64] = kind
        self.value: Final[i64] = value  # a number, or where bytes start
        self.overlong: Final = overlong


class MaglineOld(Codec):
    """The deployed frame: a 12-byte little-endian head and a body by command."""

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        start = cursor.pos
        data = cursor.data
        if data[start] != MAGIC:
            self.behind_cut(cursor, tape, start)
            raise cursor.error("no-message", start, "no frame starts here: its magic would be 0x7f")
        if cursor.left() < OLD_HEAD:
            raise cursor.short(OLD_HEAD, "the head of a frame")
        length = _u32(data, start + 8, True)
        if length > MAX_FRAME:
            raise cursor.error("limit", start + 8, f"the frame claims {length} bytes, {MAX_FRAME} at most")
        if OLD_HEAD + length > cursor.left() and not final:
            raise cursor.short(OLD_HEAD + length, "a frame")
        root = tape.open(_ROOT, start, 0)
        version: i64 = data[start + 1]
        cmd = _u16(data, start + 2, True)
        tape.leaf(_MAGIC, start, start + 1, MAGIC)
        tape.leaf(_VERSION, start + 1, start + 2, version)
        tape.leaf(_OLD_CMD, start + 2, start + 4, cmd)
        tape.leaf(_SEQ, start + 4, start + 8, _u32(data, start + 4, True))
        tape.leaf(_LENGTH, start + 8, start + 12, length)
        cursor.pos = start + OLD_HEAD
        cursor.need(length, "the body")
        outer = cursor.end
        cursor.end = cursor.pos + length
        body = tape.open(_BODY, cursor.pos, 0)
        self.body(cursor, tape, cmd)
        cursor.pos = cursor.end
        cursor.end = outer
        tape.close(body, cursor.pos)
        tape.close(root, cursor.pos)
        if version != GO_VERSION and version != C_VERSION:
            text = f"version {version}; writers send 101 (Go) or 1 (C)"
            tape.note("other-version", start + 1, text, cursor.buffer)
        if int(cmd) not in OLD_COMMANDS:
            tape.note("unknown-command", start + 2, f"0x{cmd:04x} is no known command", cursor.buffer)

    def behind_cut(self, cursor: Cursor, tape: Tape, start: i64) -> None:
        """Note that the frame before goes on here, if a head stands where its whole length would lead."""
        at = start + CUT
        if at + OLD_HEAD <= cursor.end and _old_head(cursor.data, at):
            text = "the next head stands 65536 bytes on: the frame before is that much longer than it says"
            tape.note("length-cut", start, text, cursor.buffer)

    def body(self, cursor: Cursor, tape: Tape, cmd: i64) -> None:
        """The body up to the cursor's end."""
        start = cursor.pos
        end = cursor.end
        number = int(cmd)
        if number in _KNOT_FIELDS:
            self.protobuf(cursor, tape, number)
            return
        if number == 0x0009 or number == 0x000A:
            tape.leaf(_PAYLOAD, start, end, start)
            return
        members = _OLD_MEMBERS.get(number)
        if members is None:
            tape.leaf(_DATA, start, end, start)
            return
        wanted: i64 = sum(member[1] for member in members)
        if number == 0x0001 and start == end:
            return  # the Go writer's SYN
        if end - start < wanted:
            tape.leaf(_DATA, start, end, start)
            text = f"{OLD_COMMANDS[number]} has {wanted} bytes, {end - start} are there"
            tape.fault(_FAULT, end, Fault("truncated", cursor.buffer.absolute(start), text))
            return
        at = start
        for name, width, signed in members:
            value = _u16(cursor.data, at, True) if width == 2 else _u32(cursor.data, at, True)
            if signed and value >> 31:
                value -= 1 << 32
            tape.leaf(_OLD_HEADS[name], at, at + width, value)
            at += width
        if at < end:
            tape.leaf(_EXTRA, at, end, at)
            left = end - at
            text = f"{count(left, 'byte')} behind the body of {OLD_COMMANDS[number]}"
            tape.note("extra-bytes", at, text, cursor.buffer)

    def protobuf(self, cursor: Cursor, tape: Tape, cmd: int) -> None:
        """A protobuf body: its fields by name, where they come as writers send them; else in order."""
        start = cursor.pos
        end = cursor.end
        try:
            fields = _fields(cursor)
        except DecodeError as error:
            tape.leaf(_DATA, start, end, start)
            text = f"the body is no protobuf: {error.text}"
            tape.fault(_FAULT, end, Fault("bad-protobuf", error.offset, text))
            return
        names = _KNOT_FIELDS[cmd]
        last: i64 = 0
        unknown = False
        plain = True
        for one in fields:
            known = names.get(int(one.number))
            if known is not None and known[1] == one.kind:
                if unknown or one.number <= last:
                    plain = False
                last = one.number
            else:
                unknown = True
        rest: i64 = -1
        listed: i64 = -1
        if not plain:
            listed = tape.open(_FIELDS, start, 0)
        for one in fields:
            known = names.get(int(one.number))
            if plain and known is not None and known[1] == one.kind:
                _leaf(tape, one, _NAMED_FIELDS[known[0]], known[0] in _SIGNED)
                continue
            if plain and rest < 0:
                rest = tape.open(_UNKNOWN, one.start, 0)
            item = tape.open(_FIELD_ITEM, one.start, 0)
            tape.leaf(_FIELD_NUMBER, one.start, one.start, one.number)
            tape.leaf(_FIELD_TYPE, one.start, one.start, one.kind)
            _leaf(tape, one, _FIELD_VALUE, False)
            tape.close(item, one.end)
        if rest >= 0:
            tape.close(rest, end)
        if listed >= 0:
            tape.close(listed, end)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The next head with a known version and command and a length that the command can have; linear."""
        at = start
        while at + OLD_HEAD <= end:
            if data[at] == MAGIC and _old_head(data, at):
                return at
            at += 1
        return end

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """Bits of the frames at the start: magic, version, command, lengths that fit and chain."""
        found = _old_evidence(data)
        if found.bits <= 0:
            return found
        bits = found.bits
        reasons = found.reasons
        if other:
            theirs = _old_evidence(other)
            if proved(theirs.bits, theirs.whole, theirs.at_end):
                bits += OTHER
                reasons = (*reasons, "the other direction is the old Magline too")
        if len(data) >= HEAD:
            head = _Head(data, 0)
            if head.known and head.head_length == HEAD and head.fits():
                reasons = (*reasons, "the bytes also fit the specified 16-byte head (magline)")
        return found._replace(bits=bits, reasons=reasons)

    def kind(self, root: Node) -> str:
        """The command's name."""
        cmd = root.member("cmd")
        return "frame" if cmd is None else cmd.shown

    def summary(self, root: Node) -> str:
        """The command, its number, and its part in the connection's story."""
        cmd = _number(root, "cmd")
        body = root.member("body")
        said = f"{self.kind(root)} seq {_number(root, 'seq')}"
        if body is None:
            return said
        story = _STORY.get(cmd, "")
        agent = body.member("agent_id") or body.member("AgentID")
        if agent is not None:
            story += f", agent 0x{agent.number:08x}"
        errno = body.member("errno")
        if errno is not None and errno.kind == t.INTEGER:
            story += f", errno {errno.number}"
        status = body.member("status")
        if status is not None:
            story += f" ({STATUSES.get(status.number, f'status {status.number}')})"
        if body.member("payload") is not None:
            story += f", {_size(body, 'payload')}"
        return f"{said}: {story.removeprefix(', ')}" if story else said

    def annotate(self, node: Node) -> str:
        """Who writes a version, what a status is of, an agent's id in hex, a text payload as text."""
        name = node.field.name
        if name == "version" and node.parent is not None and node.parent.parent is None:
            return {GO_VERSION: "Go", C_VERSION: "C client"}.get(node.number, "")
        if name == "status":
            return STATUSES.get(node.number, "")
        if name in ("agent_id", "AgentID"):
            return f"0x{node.number:08x}"
        return ""

    def exchange(self, root: Node) -> Exchange:
        """SYN and ACK, session request and response, the knot's requests and responses."""
        cmd = _number(root, "cmd")
        body = root.member("body")
        role, key = _ROLES.get(cmd, ("", ""))
        if body is None:
            return Exchange(role, key)
        if key == "agent":
            agent = body.member("AgentID")
            key = f"agent {0 if agent is None else agent.number}"
        elif cmd == 0x000D:
            status = _number(body, "status")
            return (
                Exchange("reply", "connection" if status == 1 else "session")
                if status in (1, 2)
                else Exchange("")
            )
        return Exchange(role, key)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode. Absent are taken: magic 127, version 101, seq 0, the length as it is."""
        frame = object_of(message, "", "a frame with cmd and body")
        only(frame, ("magic", "version", "cmd", "seq", "length", "body"), "")
        if "cmd" not in frame:
            raise EncodeError("", 'a frame needs the member "cmd"')
        cmd = number_of(frame["cmd"], OLD_COMMANDS, "cmd", 0, 0xFFFF)
        body = _old_body(cmd, object_of(frame.get("body", {}), "body", "the body's members"))
        length = number_of(frame.get("length", len(body)), {}, "length", 0, 0xFFFFFFFF)
        if length != len(body):
            raise EncodeError("length", f"the body has {len(body)} bytes; leave it out to have it computed")
        out.append(number_of(frame.get("magic", MAGIC), {}, "magic", MAGIC, MAGIC))
        out.append(number_of(frame.get("version", GO_VERSION), {}, "version", 0, 255))
        _write(out, cmd, 2, True)
        _write(out, number_of(frame.get("seq", 0), {}, "seq", 0, 0xFFFFFFFF), 4, True)
        _write(out, length, 4, True)
        out.write(body)


_STORY: Final[dict[int, str]] = {
    0x0001: "the client opens; ACK answers",
    0x0002: "the server accepts the SYN",
    0x0003: "the client asks for a session",
    0x0004: "the server gives a session",
    0x0006: "confirmed",
    0x000D: "error",
    0x000E: "the client asks to disconnect",
    0x000F: "the server discards the session",
    0x1001: "the knot connects with its access key",
    0x1002: "the knot is accepted",
    0x1003: "an agent arrives",
    0x1004: "the knot takes the agent",
    0x100C: "the agent quits",
    0x100E: "the knot discards the agent",
}
_ROLES: Final[dict[int, tuple[str, str]]] = {
    0x0001: ("request", "connection"),
    0x0002: ("reply", "connection"),
    0x0003: ("request", "session"),
    0x0004: ("reply", "session"),
    0x1001: ("request", "knot"),
    0x1002: ("reply", "knot"),
    0x1003: ("request", "agent"),
    0x1004: ("reply", "agent"),
}


def _number(part: Node, name: str) -> int:
    member = part.member(name)
    return 0 if member is None or member.kind == t.FAULT else member.number


def _size(part: Node, name: str) -> str:
    member = part.member(name)
    size = 0 if member is None else len(member.content)
    return f"{count(size, 'byte')}"


def _old_head(data: bytes, at: i64) -> bool:
    """True where a whole head of the old generation stands: version, command and length fit."""
    if data[at] != MAGIC or (data[at + 1] != GO_VERSION and data[at + 1] != C_VERSION):
        return False
    return _old_fits(_u16(data, at + 2, True), _u32(data, at + 8, True))


def _old_fits(cmd: i64, length: i64) -> bool:
    """True where a body of a known command can have that length."""
    number = int(cmd)
    members = _OLD_MEMBERS.get(number)
    if members is not None:
        return length == sum(member[1] for member in members) or (number == 1 and length == 0)
    if number == 0x1002:
        return length == 0
    return number in OLD_COMMANDS and length <= MAX_FRAME


def _old_evidence(data: bytes) -> Evidence:
    """Evidence of the old frames at the start: magic, version, a command, the length that it has."""
    end: i64 = len(data)
    at: i64 = 0
    bits = 0.0
    frames = 0
    settle = ""
    fixed = False
    while at + OLD_HEAD <= end and frames < 16 and _old_head(data, at):
        cmd = int(_u16(data, at + 2, True))
        length = _u32(data, at + 8, True)
        gained = (prices(data, at, 2) - 1.0) / (frames + 1) + prices(data, at + 2, 2) - 2.0
        fixed = cmd in _OLD_MEMBERS or cmd == 0x1002
        if fixed:
            gained += prices(data, at + 8, 4)
        elif frames:
            gained += MEETS
        frames += 1
        bits += gained
        at += OLD_HEAD + length
        if at > end:
            settle = f"{at - end} more bytes"
            break
        if not fixed and at + OLD_HEAD <= end and not _old_head(data, at):
            behind = _behind_cut_length(data, at)
            if behind >= 0:
                at = behind
                continue
        if cmd in _KNOT_FIELDS and length:
            buffer = Buffer(data)
            try:
                first = _fields(Cursor(buffer, at - length, at))[0]
            except DecodeError:
                return NO_EVIDENCE
            if int(first.number) not in _KNOT_FIELDS[cmd]:
                return NO_EVIDENCE
            bits += 8.0
    if frames == 0:
        return NO_EVIDENCE
    whole = at == end
    if not settle and at < end and frames < 16 and end - at >= OLD_HEAD:
        if (end - at) & 0xFFFF == 0 and not fixed:
            whole = True  # the Go server writes 16 bits of a length
        else:
            bits -= 8.0  # the last frame led to no head
    reasons = [f"{count(frames, 'head')} with magic 0x7f, version {data[1]} and a command"]
    if whole:
        reasons.append("the lengths lead to the end of the bytes")
    at_end = 0.0
    if whole:
        at_end = 4.0 if fixed else 4.0 + MEETS
    return Evidence(
        bits=max(bits, 0.0),
        reasons=tuple(reasons),
        settle=settle,
        whole=whole,
        one=frames == 1,
        at_end=at_end,
    )


def _behind_cut_length(data: bytes, at: i64) -> i64:
    """Where a frame ends whose length lost its upper 16 bits, as a head or the end there tells; or -1."""
    end: i64 = len(data)
    for _ in range(15):
        at += 0x10000
        if at == end or (at + OLD_HEAD <= end and _old_head(data, at)):
            return at
    return -1


def _fields(cursor: Cursor) -> list[_Field]:
    """The fields of the protobuf message that fills the cursor's range. Raises DecodeError."""
    found: list[_Field] = []
    data = cursor.data
    while cursor.pos < cursor.end:
        start = cursor.pos
        key = cursor.varint("the key of a field")
        overlong = cursor.pos - start > 1 and data[cursor.pos - 1] == 0
        number = key >> 3
        kind = key & 7
        if number < 1 or number >= 1 << 29:
            raise cursor.error("bad-value", start, f"{number} is no number of a field")
        value: i64 = 0
        at = cursor.pos
        if kind == VARINT:
            value = cursor.varint("a varint")
            overlong = overlong or (cursor.pos - at > 1 and data[cursor.pos - 1] == 0)
        elif kind == BYTES:
            size = cursor.varint("a length")
            overlong = overlong or (cursor.pos - at > 1 and data[cursor.pos - 1] == 0)
            if size < 0 or size > cursor.left():
                raise cursor.error(
                    "bad-length", at, f"bytes of length {size} do not fit in the {cursor.left()} left"
                )
            value = cursor.skip(size, "bytes")
        elif kind == FIXED64:
            cursor.skip(8, "a 64-bit number")
            value = read_i64_le(data, at)
        elif kind == FIXED32:
            cursor.skip(4, "a 32-bit number")
            value = _u32(data, at, True)
        else:
            raise cursor.error("unknown-type", start, f"{kind} is no wire type")
        found.append(_Field(start, cursor.pos, number, kind, value, overlong))
    return found


def _leaf(tape: Tape, one: _Field, member: i64, signed: bool) -> None:
    """Write a field's value."""
    kind: i64 = t.UNSIGNED
    if one.kind == BYTES:
        kind = t.HEX
    elif signed:
        kind = t.INTEGER
    tape.leaf(t.head(kind, member, OVERLONG if one.overlong else 0), one.start, one.end, one.value)


def _write(out: BytesWriter, number: int, width: int, little: bool) -> None:
    out.write(number.to_bytes(width, "little" if little else "big"))


def _spec_body(cmd: int, body: dict[str, Json], little: bool) -> bytes:
    """The bytes of a specified frame's body."""
    out = BytesWriter()
    if "data" in body and (cmd not in COMMANDS or "business_cmd" not in body):
        only(body, ("data", "error"), "body")
        return hex_bytes(body["data"], "body.data")
    if cmd not in COMMANDS:
        only(body, ("data",), "body")
        return b""
    if cmd == SYN or cmd == ACK:
        names = ["random", "public_key", "sealed"] if cmd == ACK else ["random", "public_key"]
        only(body, names, "body")
        for name in names:
            if name not in body:
                raise EncodeError("body", f'{COMMANDS[cmd]} needs the member "{name}"')
            out.write(hex_bytes(body[name], f"body.{name}"))
        return out.getvalue()
    if REQ <= cmd <= PSH:
        only(body, ("business_cmd", "hmac", "data"), "body")
        for name in ("business_cmd", "hmac"):
            if name not in body:
                raise EncodeError("body", f'{COMMANDS[cmd]} needs the member "{name}"')
        code = hex_bytes(body["hmac"], "body.hmac")
        data = hex_bytes(body.get("data", ""), "body.data")
        if len(code) > CODE or (data and len(code) != CODE):
            raise EncodeError("body.hmac", f"expected {CODE} bytes, got {len(code)}")
        _write(out, number_of(body["business_cmd"], {}, "body.business_cmd", 0, 0xFFFFFFFF), WORD, little)
        out.write(code)
        out.write(data)
        return out.getvalue()
    words = ["business_cmd", "error"] if cmd == ERR else ["reason"] if cmd == FIN else ["ping"]
    only(body, [*words, "extra"], "body")
    for name in words:
        if name not in body:
            raise EncodeError("body", f'{COMMANDS[cmd]} needs the member "{name}"')
        _write(out, number_of(body[name], {}, f"body.{name}", 0, 0xFFFFFFFF), WORD, little)
    out.write(hex_bytes(body.get("extra", ""), "body.extra"))
    return out.getvalue()


def _old_body(cmd: int, body: dict[str, Json]) -> bytes:
    """The bytes of an old frame's body."""
    if "data" in body:
        only(body, ("data", "error"), "body")
        return hex_bytes(body["data"], "body.data")
    if cmd in _KNOT_FIELDS:
        return _knot_body(cmd, body)
    if cmd not in OLD_COMMANDS:
        only(body, ("data",), "body")
        return b""
    if cmd == 0x0009 or cmd == 0x000A:
        only(body, ("payload",), "body")
        return hex_bytes(body.get("payload", ""), "body.payload")
    out = BytesWriter()
    members = _OLD_MEMBERS[cmd]
    only(body, [*(member[0] for member in members), "extra"], "body")
    if cmd == 0x0001 and not body:
        return b""
    for name, width, signed in members:
        if name not in body:
            raise EncodeError("body", f'{OLD_COMMANDS[cmd]} needs the member "{name}"')
        bits = 8 * width
        low = -1 << (bits - 1) if signed else 0
        high = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
        number = number_of(body[name], {}, f"body.{name}", low, high)
        _write(out, number & ((1 << bits) - 1), width, True)
    out.write(hex_bytes(body.get("extra", ""), "body.extra"))
    return out.getvalue()


def _knot_body(cmd: int, body: dict[str, Json]) -> bytes:
    """The bytes of a protobuf body: named fields, unknown ones behind them; or all fields in order."""
    out = BytesWriter()
    names = _KNOT_FIELDS[cmd]
    if "fields" in body:
        only(body, ("fields",), "body")
        _write_fields(body["fields"], Path(None, "body.fields"), out)
        return out.getvalue()
    only(body, [*(known[0] for known in names.values()), "unknown", "$wire"], "body")
    wire = object_of(body.get("$wire", {}), "body.$wire", "fields with the hex of their bytes")
    for number, (name, kind) in names.items():
        if name in body:
            _write_field(
                number, kind, body[name], wire.get(name), Path(None, f"body.{name}"), name in _SIGNED, out
            )
    if "unknown" in body:
        _write_fields(body["unknown"], Path(None, "body.unknown"), out)
    return out.getvalue()


def _write_fields(items: Json, place: Path, out: BytesWriter) -> None:
    kinds = {name: number for number, name in WIRE_TYPES.items()}
    for position, item in enumerate(array_of(items, place, "fields")):
        here = Path(place, f"[{position}]")
        members = object_of(item, here, "a field")
        only(members, ("field", "type", "value", "$wire"), here)
        for name in ("field", "type", "value"):
            if name not in members:
                raise here.error(f'a field needs the member "{name}"')
        number = number_of(members["field"], {}, Path(here, ".field"), 1, (1 << 29) - 1)
        kind = members["type"]
        if not isinstance(kind, str) or kind not in kinds:
            raise Path(here, ".type").error("expected one of " + ", ".join(kinds))
        wire = object_of(members.get("$wire", {}), Path(here, ".$wire"), '"value" with the hex of the field')
        _write_field(
            number, kinds[kind], members["value"], wire.get("value"), Path(here, ".value"), False, out
        )


def _write_field(
    number: int, kind: int, value: Json, wire: Json, place: Path, signed: bool, out: BytesWriter
) -> None:
    """Write one field of a protobuf message; over the bytes of `wire` where these mean the same."""
    content = b""
    if kind == BYTES:
        content = hex_bytes(value, place)
        amount = len(content)
    else:
        bits = 32 if kind == FIXED32 else 64
        low = -1 << 63 if signed else 0
        high = (1 << 63) - 1 if signed else (1 << bits) - 1
        amount = number_of(value, {}, place, low, high) & ((1 << bits) - 1)
    if wire is not None:
        raw = hex_bytes(wire, place)
        buffer = Buffer(raw)
        try:
            fields = _fields(Cursor(buffer, 0, len(raw)))
        except DecodeError:
            fields = []
        if len(fields) == 1 and fields[0].number == number and fields[0].kind == kind:
            one = fields[0]
            said = int(one.value) & 0xFFFFFFFFFFFFFFFF
            if raw[one.value :] == content if kind == BYTES else said == amount:
                out.write(raw)
                return
        raise place.error("its $wire is not the bytes of this field with this value")
    _write_varint(out, number << 3 | kind)
    if kind == VARINT:
        _write_varint(out, amount)
    elif kind == BYTES:
        _write_varint(out, amount)
        out.write(content)
    else:
        _write(out, amount, 8 if kind == FIXED64 else 4, True)


def _write_varint(out: BytesWriter, number: int) -> None:
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


CODECS: Final = (
    Magline("magline"),
    MaglineOld("magline-old"),
)
