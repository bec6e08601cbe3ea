"""Reading the bodies of entries: their members, and Vars with what is nested in them."""

from contextlib import suppress
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.esnp.vocabulary import (
    ADDRESS,
    ADDRESSES,
    DATA,
    END,
    ERROR,
    FLAG,
    FRAME_FLAGS,
    HEADER,
    KINDS,
    LINE_FLAGS,
    MESSAGE_ID,
    MESSAGE_KIND,
    PAYLOAD,
    SEQ_NO,
    SESSION_INFO,
    SOURCE_ADDRESS,
    SOURCE_MESSAGE_ID,
    TRACE,
    TRACE_RESP,
    VAR_KINDS,
    VERSION,
    XDATA,
)
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.tape import Fault, Tape


def _varint_bytes(node: Node) -> Json:
    """`$wire` of an overlong varint: how many bytes it takes."""
    kind = node.kind
    start = node.tape.start(node.index)
    data = node.buffer.data
    if kind >= t.NULL and not (kind == t.STRING and node.form == KEY_VARINT):
        start += 1  # the tag
    at = start
    while data[at] >= 0x80:
        at += 1
    return int(at + 1 - start)


def _bool_byte(node: Node) -> Json:
    """`$wire` of a true that is not 1: the byte."""
    return node.raw[-1]


def _version(node: Node) -> Json:
    return ".".join(str(byte) for byte in node.raw)


VARINT: Final = hint(_varint_bytes)
KEY_VARINT: Final = hint(_varint_bytes)
TRUE_BYTE: Final = hint(_bool_byte)

_VALUE_FIELD: Final[i64] = field("value")
_ID: Final[i64] = t.head(t.UNSIGNED, _VALUE_FIELD)
_NAME: Final[i64] = t.head(t.TEXT, field("name"))
_VALUE_TEXT: Final[i64] = t.head(t.TEXT, _VALUE_FIELD)
_DATA: Final[i64] = t.head(t.HEX, field("data"))
_EXTRA: Final[i64] = t.head(t.HEX, field("extra"))
_ERROR: Final[i64] = t.head(t.FAULT, field("error"))
_ADDRESS: Final[i64] = t.head(t.NAMED, field("address", ADDRESSES))
_CURRENT: Final[i64] = t.head(t.INTEGER, field("current"))
_LAST: Final[i64] = t.head(t.INTEGER, field("last"))
_XDATA_ID: Final[i64] = t.head(t.INTEGER, field("id"))
_TEXT: Final[i64] = t.head(t.TEXT, field("text"))
LINE_FLAG: Final[i64] = t.head(t.NAMED, field("flag", LINE_FLAGS))
FRAME_FLAG: Final[i64] = t.head(t.NAMED, field("flag", FRAME_FLAGS))
_KIND: Final[i64] = t.head(t.NAMED, field("kind", KINDS))
_VERSION: Final[i64] = t.head(t.COMPUTED, field("version", None, _version))


def varint_size(value: i64) -> i64:
    """How many bytes the shortest varint of a number (two's complement if over 63 bits) takes."""
    if value < 0:
        return 10
    size: i64 = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


def unzigzag(value: i64) -> i64:
    """The signed number of a zigzag varint: 0, 1, 2, 3 mean 0, -1, 1, -2."""
    return (value >> 1 & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1)


class Body:
    """Reads the bodies of one message's entries onto its tape, under one rule for counts."""

    def __init__(self, cursor: Cursor, tape: Tape, unsigned: bool, flags: i64) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.unsigned: Final = unsigned
        self.flag_head: Final[i64] = flags
        self.containers: i64 = 0  # Maps and Lists so far
        self.problems: i64 = 0  # bodies with a Map or List that did not fit the rule for counts

    def read_whole(self, kind: i64) -> None:
        """A body up to the cursor's end; one that does not decode stays as data beside its error."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        containers = self.containers
        fits = True
        try:
            self.read(kind)
            if cursor.pos < cursor.end:
                tape.leaf(_EXTRA, cursor.pos, cursor.end, cursor.pos)
                fits = False
        except DecodeError as error:
            tape.rollback(mark)
            tape.leaf(_DATA, start, cursor.end, start)
            tape.fault(_ERROR, cursor.end, Fault(error.code, error.offset, error.text))
            fits = False
        if not fits and self.containers > containers:
            self.problems += 1
        cursor.pos = cursor.end

    def read_cut(self, kind: i64) -> None:
        """What decodes of a body that the input cuts."""
        with suppress(DecodeError):
            self.read(kind)

    def read(self, kind: i64) -> None:
        """The body of an entry of a type, up to the cursor's end. Raises DecodeError."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        if kind == DATA or kind == HEADER or kind == SESSION_INFO:
            self.text(_NAME, "a name")
            self.var()
        elif kind == MESSAGE_ID or kind == SOURCE_MESSAGE_ID:
            number = cursor.int64("a message id")
            tape.leaf(_ID, start, cursor.pos, number)
        elif kind == ADDRESS or kind == SOURCE_ADDRESS:
            self.signed(_ADDRESS, "an address type", 32)
            self.text(_VALUE_TEXT, "an address")
        elif kind == FLAG:
            self.signed(self.flag_head, "a flag", 32)
        elif kind == PAYLOAD:
            cursor.pos = cursor.end
            tape.leaf(_DATA, start, cursor.end, start)
        elif kind == ERROR:
            cursor.pos = cursor.end
            tape.leaf(_TEXT, start, cursor.end, start)
        elif kind == SEQ_NO:
            self.signed(_CURRENT, "a sequence number", 32)
            self.signed(_LAST, "the last sequence number", 32)
        elif kind == XDATA:
            self.signed(_XDATA_ID, "an XDATA id", 32)
            self.xdata()
        elif kind == MESSAGE_KIND:
            number = cursor.u8("a message kind")
            tape.leaf(_KIND, start, cursor.pos, number)
        elif kind == VERSION:
            cursor.skip(4, "a version")
            tape.leaf(_VERSION, start, cursor.pos, 0)
        elif kind != TRACE and kind != TRACE_RESP and kind != END:
            cursor.pos = cursor.end
            tape.leaf(_DATA, start, cursor.end, start)

    def xdata(self) -> None:
        """The value behind an XDATA id: one Var if that is exactly what is there, else bytes."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        try:
            self.var()
            if cursor.pos == cursor.end:
                return
        except DecodeError:
            pass
        tape.rollback(mark)
        cursor.pos = cursor.end
        tape.leaf(_DATA, start, cursor.end, start)

    def signed(self, head: i64, what: str, width: i64) -> None:
        """A zigzag varint as a plain member."""
        cursor = self.cursor
        start = cursor.pos
        raw = cursor.varint(what)
        number = unzigzag(raw)
        if cursor.pos - start != varint_size(raw):
            head |= VARINT << t.FORM_SHIFT
        self.tape.leaf(head, start, cursor.pos, number)
        self.check_width(start, number, width, what)

    def check_width(self, start: i64, number: i64, width: i64, what: str) -> None:
        limit: i64 = 1  # a literal would be shifted in 32 bits when compiled
        limit <<= width - 1
        if width < 64 and (number < -limit or number >= limit):
            self.tape.note(
                "wide-varint", start, f"{what} takes more than {width} bits: {number}", self.cursor.buffer
            )

    def text(self, head: i64, what: str) -> None:
        """A LenString as a plain member."""
        cursor = self.cursor
        start = cursor.pos
        raw = cursor.varint(f"the length of {what}")
        if cursor.pos - start != varint_size(raw):
            head |= VARINT << t.FORM_SHIFT
        content = self.run(unzigzag(raw), what)
        self.tape.leaf(head, start, cursor.pos, content)

    def run(self, length: i64, what: str) -> i64:
        """Pass over a declared length; the position where the content starts."""
        cursor = self.cursor
        if length > cursor.end - cursor.pos:
            raise cursor.error(
                "bad-length",
                cursor.pos,
                f"{what} of {length} bytes does not fit in the {cursor.end - cursor.pos} that are left",
            )
        return cursor.skip(length, what)

    def var(self) -> None:
        """A Var as the entry's value; nested ones by an explicit stack."""
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        nodes: list[i64] = []  # open containers
        counts: list[i64] = []  # what each still expects
        wanted: i64 = 1
        in_map = False
        key = False
        place = _VALUE_FIELD << t.FIELD_SHIFT
        while True:
            if wanted == 0:
                if not nodes:
                    return
                tape.close(nodes.pop(), cursor.pos)
                wanted = counts.pop()
                if not nodes:
                    return
                in_map = tape.kind(nodes[len(nodes) - 1]) == t.MAP
                key = in_map
                continue
            start = cursor.pos
            if in_map and key:
                self.key(start)
                key = False
                continue
            key = in_map
            wanted -= 1
            tag = cursor.u8("a Var type")
            if tag == 24 or tag == 17:
                what = "a string" if tag == 24 else "bytes"
                length_at = cursor.pos
                raw = cursor.varint(f"the length of {what}")
                head = place | (t.STRING if tag == 24 else t.BYTES)
                if cursor.pos - length_at != varint_size(raw):
                    head |= VARINT << t.FORM_SHIFT
                content = self.run(unzigzag(raw), what)
                tape.leaf(head, start, cursor.pos, content)
            elif tag == 21 or tag == 23:
                self.containers += 1
                raw = cursor.varint("a count")
                overlong = cursor.pos - start - 1 != varint_size(raw)
                count = raw if self.unsigned else unzigzag(raw)
                if count < 0 or count > cursor.left():
                    raise cursor.error(
                        "bad-length",
                        start + 1,
                        f"a count of {count} does not fit in the {cursor.left()} bytes left",
                    )
                head = place | (t.MAP if tag == 21 else t.LIST)
                if overlong:
                    head |= VARINT << t.FORM_SHIFT
                nodes.append(tape.open(head, start, -1))
                counts.append(wanted)
                wanted = count
                in_map = tag == 21
                key = in_map
            elif tag == 5 or tag == 6 or tag == 2 or tag == 4:
                self.integer(place, tag, start, True)
            elif tag == 7 or (9 <= tag <= 11):
                self.integer(place, tag, start, False)
            elif tag == 0:
                tape.leaf(place | t.NULL, start, cursor.pos, 0)
            elif tag == 1:
                number = cursor.u8("a Bool")
                head = place | t.BOOL
                if number > 1:
                    head |= TRUE_BYTE << t.FORM_SHIFT
                tape.leaf(head, start, cursor.pos, 1 if number else 0)
            elif tag == 3:
                number = cursor.u8("an Int8")
                tape.leaf(place | t.INT8, start, cursor.pos, number - 256 if number >= 128 else number)
            elif tag == 8:
                number = cursor.u8("a UInt8")
                tape.leaf(place | t.UINT8, start, cursor.pos, number)
            elif tag == 13:
                number = cursor.u32("a Float32")
                tape.leaf(place | t.FLOAT32, start, cursor.pos, number)
            elif tag == 14:
                number = cursor.int64("a Float64")
                tape.leaf(place | t.DOUBLE, start, cursor.pos, number)
            else:
                raise cursor.error("unknown-type", start, f"{data[start]} is no type of a Var")
            place = 0

    def key(self, start: i64) -> None:
        """A Map's key: a LenString."""
        cursor = self.cursor
        raw = cursor.varint("the length of a key")
        head: i64 = t.STRING
        if cursor.pos - start != varint_size(raw):
            head |= KEY_VARINT << t.FORM_SHIFT
        content = self.run(unzigzag(raw), "a key")
        self.tape.leaf(head, start, cursor.pos, content)

    def integer(self, place: i64, tag: i64, start: i64, zigzag: bool) -> None:
        """A Var's varint behind its tag."""
        cursor = self.cursor
        at = cursor.pos
        raw = cursor.varint("an integer")
        number = unzigzag(raw) if zigzag else raw
        head = place | VAR_KINDS[tag]
        if cursor.pos - at != varint_size(raw):
            head |= VARINT << t.FORM_SHIFT
        self.tape.leaf(head, start, cursor.pos, number)
        if zigzag:
            if tag != 6:
                self.check_width(
                    start, number, 16 if tag == 4 else 32, "an Int16" if tag == 4 else "an Int32"
                )
        elif tag != 11:
            width: i64 = 16 if tag == 9 else 32
            if raw < 0 or raw >> width:
                self.tape.note(
                    "wide-varint", start, f"an unsigned integer takes more than {width} bits", cursor.buffer
                )
