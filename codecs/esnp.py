"""ESNP: messages made of lines (`esnp-line`) or, in the older text, of frames (`esnp-frame`).

The two texts lay out the same bytes: entries of a type byte, a 24-bit big-endian size and a body, up to
an END entry. One implementation serves both with two vocabularies. Sources: the ESNP line text and the
ESNP frame text (message structure, basic types, entry types).
"""

from typing import Final

from librt.strings import BytesWriter, write_f32_be, write_f64_be, write_i64_be
from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.background import CHANGE, MEETS, OTHER, prices, proved
from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.expect import NOT_FINITE, Path, hex_bytes, number_of, text_bytes, wrong
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.notation import EncodeError, date_text
from wirelens.codecs.tape import Fault, Tape

END: Final = 0x00
SESSION_INFO: Final = 0x10
MESSAGE_ID: Final = 0x11
SOURCE_MESSAGE_ID: Final = 0x12
MESSAGE_KIND: Final = 0x13
HEADER: Final = 0x14
DATA: Final = 0x15
PAYLOAD: Final = 0x16
ADDRESS: Final = 0x17
SOURCE_ADDRESS: Final = 0x18
TRACE: Final = 0x19
TRACE_RESP: Final = 0x1A
SEQ_NO: Final = 0x1B
XDATA: Final = 0x1C
ERROR: Final = 0x1D
FLAG: Final = 0x1E
VERSION: Final = 0x1F

TYPES: Final[dict[int, str]] = {
    END: "END",
    SESSION_INFO: "SESSION_INFO",
    MESSAGE_ID: "MESSAGE_ID",
    SOURCE_MESSAGE_ID: "SOURCE_MESSAGE_ID",
    MESSAGE_KIND: "MESSAGE_KIND",
    HEADER: "HEADER",
    DATA: "DATA",
    PAYLOAD: "PAYLOAD",
    ADDRESS: "ADDRESS",
    SOURCE_ADDRESS: "SOURCE_ADDRESS",
    TRACE: "TRACE",
    TRACE_RESP: "TRACE_RESP",
    SEQ_NO: "SEQ_NO",
    XDATA: "XDATA",
    ERROR: "ERROR",
    FLAG: "FLAG",
    VERSION: "VERSION",
}
# "Header line" and "body line" in the line text; the frame text has no such order.
HEADER_LINES: Final = frozenset(
    (MESSAGE_ID, SOURCE_MESSAGE_ID, ADDRESS, SOURCE_ADDRESS, SEQ_NO, ERROR, FLAG, VERSION)
)
BODY_LINES: Final = frozenset((SESSION_INFO, HEADER, DATA, PAYLOAD, XDATA))

ADDRESSES: Final[dict[int, str]] = {50: "GROUP", 40: "HOST", 30: "SERVICE", 20: "OP", 10: "OBJECT"}
FRAME_FLAGS: Final[dict[int, str]] = {
    1: "TRACE",
    2: "TRACE_INFO",
    3: "RESP",
    4: "REQUEST",
    5: "INFO",
    6: "EVENT",
}
LINE_FLAGS: Final[dict[int, str]] = {**FRAME_FLAGS, 7: "ASYNC"}
KINDS: Final[dict[int, str]] = {0: "UNKNOW", 1: "REQUEST", 2: "RESPONSE", 3: "INFO", 4: "EVENT"}

# Var: type numbers of the value that follows the tag byte.
VAR_KINDS: Final[dict[int, int]] = {
    0: t.NULL,
    1: t.BOOL,
    2: t.VAR_INT,
    3: t.INT8,
    4: t.INT16,
    5: t.INT32,
    6: t.INT64,
    7: t.VAR_UINT,
    8: t.UINT8,
    9: t.UINT16,
    10: t.UINT32,
    11: t.UINT64,
    13: t.FLOAT32,
    14: t.DOUBLE,
    17: t.BYTES,
    21: t.MAP,
    23: t.LIST,
    24: t.STRING,
}
VAR_TAGS: Final[dict[str, int]] = {
    "$null": 0,
    "$bool": 1,
    "$int": 2,
    "$int8": 3,
    "$int16": 4,
    "$int32": 5,
    "$int64": 6,
    "$uint": 7,
    "$uint8": 8,
    "$uint16": 9,
    "$uint32": 10,
    "$uint64": 11,
    "$float32": 13,
    "$double": 14,
    "$bytes": 17,
    "$map": 21,
    "$list": 23,
    "$string": 24,
    "$raw": 24,
}
MAX_SIZE: Final = 0xFFFFFF
FIRST_ID_TIME: Final = 1_262_304_000_000_000_000  # 2010, in nanoseconds since 1970
LAST_ID_TIME: Final = 4_102_444_800_000_000_000  # 2100
LOOKED_AT: Final = 4096  # entries that detection walks over
SINGLE_MAX: Final = float.fromhex("0x1.ffffffp127")  # what rounds to more is infinite as a single


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

_TYPE: Final[i64] = t.head(t.NAMED, field("type", TYPES))
_SIZE: Final[i64] = t.head(t.LENGTH, field("size")) | t.HIDDEN
_ENTRY: Final[i64] = t.head(t.STRUCT)
_MESSAGE: Final[i64] = t.head(t.STRUCT)
_LINES: Final[i64] = t.head(t.ARRAY, field("lines"))
_FRAMES: Final[i64] = t.head(t.ARRAY, field("frames"))
_COUNTS: Final[i64] = t.head(t.NAMED, field("counts", {1: "unsigned"}))
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
_LINE_FLAG: Final[i64] = t.head(t.NAMED, field("flag", LINE_FLAGS))
_FRAME_FLAG: Final[i64] = t.head(t.NAMED, field("flag", FRAME_FLAGS))
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


class _Body:
    """Reads the bodies of one message's entries onto its tape, under one rule for counts."""

    def __init__(self, cursor: Cursor, tape: Tape, unsigned: bool, flags: i64) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.unsigned: Final = unsigned
        self.flag_head: Final[i64] = flags
        self.containers: i64 = 0

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
        size = tape.size()
        notes = tape.note_count()
        try:
            self.var()
            if cursor.pos == cursor.end:
                return
        except DecodeError:
            pass
        tape.cut(size)
        tape.cut_notes(notes)
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


class Esnp(Codec):
    """ESNP in one of its two vocabularies."""

    def __init__(self, name: str, title: str, lines: bool) -> None:
        super().__init__(name, title)
        self.lines = lines

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. Both rules for counts are tried, the specified one (zigzag) first."""
        start = cursor.pos
        problems = self._decode_as(cursor, tape, False)
        if problems == 0:
            return
        end = cursor.pos
        cursor.pos = start
        other = Tape(cursor.buffer)
        if self._decode_as(cursor, other, True) < problems:
            tape.take(other)
        cursor.pos = end

    def _decode_as(self, cursor: Cursor, tape: Tape, unsigned: bool) -> i64:
        """Decode under one rule for counts; how many bodies with a Map or List did not fit it."""
        start = cursor.pos
        root = tape.open(_MESSAGE, start, 0)
        entries = tape.open(_LINES if self.lines else _FRAMES, start, 0)
        outer = cursor.end
        body = _Body(cursor, tape, unsigned, _LINE_FLAG if self.lines else _FRAME_FLAG)
        body_seen = False
        order_noted = False
        problems: i64 = 0
        used = False
        while True:
            at = cursor.pos
            if cursor.left() < 4:
                raise cursor.short(4, "a type and a size")
            kind = cursor.u8("a type")
            size = cursor.u8("a size") << 16
            size |= cursor.u16("a size")
            if size > cursor.left():
                what = f"the body of {TYPES.get(kind, kind)}"
                entry = tape.open(_ENTRY, at, 0)
                tape.leaf(_TYPE, at, at + 1, kind)
                tape.leaf(_SIZE, at + 1, at + 4, size)
                raise cursor.short(size, what)
            entry = tape.open(_ENTRY, at, 0)
            tape.leaf(_TYPE, at, at + 1, kind)
            tape.leaf(_SIZE, at + 1, at + 4, size)
            content = cursor.pos
            cursor.end = content + size
            keep = tape.size()
            notes = tape.note_count()
            containers = body.containers
            try:
                body.read(kind)
                if cursor.pos < cursor.end:
                    tape.leaf(_EXTRA, cursor.pos, cursor.end, cursor.pos)
                    if body.containers > containers:
                        problems += 1
            except DecodeError as error:
                tape.cut(keep)
                tape.cut_notes(notes)
                tape.leaf(_DATA, content, cursor.end, content)
                tape.fault(_ERROR, cursor.end, Fault(error.code, error.offset, error.text))
                if body.containers > containers:
                    problems += 1
            if body.containers > containers:
                used = True
            cursor.pos = cursor.end
            cursor.end = outer
            tape.close(entry, cursor.pos)
            if kind == END:
                break
            if self.lines:
                if kind in BODY_LINES:
                    body_seen = True
                elif body_seen and not order_noted and kind in HEADER_LINES:
                    order_noted = True
                    tape.note(
                        "header-after-body",
                        at,
                        f"the header line {TYPES[kind]} comes after a body line",
                        cursor.buffer,
                    )
        tape.close(entries, cursor.pos)
        if unsigned and used:
            tape.leaf(_COUNTS, cursor.pos, cursor.pos, 1)
        tape.close(root, cursor.pos)
        return problems

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The next entry from which known types with fitting sizes lead to an END.

        Worked from the right, each position once: linear in the bytes.
        """
        size = end - start
        good = bytearray(size + 1)  # 1: leads to an END, 2: over an entry with a body
        at = end - 4
        found = end
        while at >= start:
            kind: i64 = data[at]
            if kind <= VERSION and (kind >= SESSION_INFO or kind == END):
                length: i64 = data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
                after = at + 4 + length
                if kind == END:
                    if length == 0:
                        good[at - start] = 1
                elif after < end and good[after - start] and _size_fits(kind, length):
                    good[at - start] = 2 if length else good[after - start]
                    if good[at - start] == 2:
                        found = at
            at -= 1
        return found

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """Bits of the entries at the start: known types, sizes that chain to an END, bodies that decode."""
        found, era = _evidence(data)
        if found.bits <= 0:
            return found
        bits = found.bits
        reasons = found.reasons
        if other:
            theirs, _ = _evidence(other)
            if proved(theirs.bits, theirs.whole, theirs.at_end):
                bits += OTHER
                reasons = (*reasons, "the other direction is ESNP too")
        twin = "esnp-frame" if self.lines else "esnp-line"
        if (era < 0) == self.lines:
            bits -= 1.0
        if era != 0:
            reasons = (
                *reasons, "an entry of the line era" if era > 0 else "an entry or order of the frame era"
            )
        reasons = (*reasons, f"the bytes fit {twin} too")
        return found._replace(bits=bits, reasons=reasons, equal=(twin,))

    def kind(self, root: Node) -> str:
        """The message's FLAG or MESSAGE_KIND in a word: "request", "response", "event", …"""
        found = ""
        for entry in _entries(root):
            value = entry.member("flag") or entry.member("kind")
            if value is not None:
                said = value.shown
                if said in ("RESP", "RESPONSE"):
                    return "response"
                if said in ("REQUEST", "INFO", "EVENT") and not found:
                    found = said.lower()
        return found or "message"

    def summary(self, root: Node) -> str:
        """FLAG, service.op@host, ids, names: what a person wants first."""
        parts = [self.kind(root).upper()]
        error = ""
        names: list[str] = []
        numbers: list[str] = []
        payload = 0
        for entry in _entries(root):
            kind = _entry_type(entry)
            if kind == ERROR:
                text = entry.member("text")
                error = f'ERROR "{text.shown}"' if text is not None and text.raw else "ERROR"
            elif kind in (DATA, HEADER):
                name = entry.member("name")
                if name is not None:
                    names.append(name.shown)
            elif kind == PAYLOAD:
                payload += len(_member_bytes(entry, "data"))
            elif kind in (MESSAGE_ID, SOURCE_MESSAGE_ID, SEQ_NO, FLAG):
                numbers.append(_short_entry(entry, kind))
        if error:
            parts.insert(0, error)
        where = _target(root, ADDRESS)
        if where:
            parts.append(where)
        parts.extend(number for number in numbers if number)
        if names:
            shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
            parts.append(f"({shown})")
        if payload:
            parts.append(f"payload {payload} byte{'' if payload == 1 else 's'}")
        return " ".join(parts)

    def annotate(self, node: Node) -> str:
        """The URL that address entries say, beside the first of them; the time that an id was made from."""
        parent = node.parent
        if parent is None or parent.field.name not in ("lines", "frames"):
            return ""
        kind = _entry_type(node)
        if kind in (MESSAGE_ID, SOURCE_MESSAGE_ID):
            return _id_time(node)
        if kind not in (ADDRESS, SOURCE_ADDRESS) or parent.parent is None:
            return ""
        for entry in _entries(parent.parent):
            if _entry_type(entry) == kind:
                return url(parent.parent, kind) if entry.index == node.index else ""
        return ""

    def exchange(self, root: Node) -> Exchange:
        """A reply names its request's MESSAGE_ID in SOURCE_MESSAGE_ID."""
        own = ""
        for entry in _entries(root):
            kind = _entry_type(entry)
            value = entry.member("value")
            if value is None:
                continue
            if kind == SOURCE_MESSAGE_ID:
                return Exchange("reply", value.shown)
            if kind == MESSAGE_ID:
                own = value.shown
        if own and self.kind(root) == "request":
            return Exchange("request", own)
        return Exchange("")

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode. An END is added where the entries do not end with one."""
        member = "lines" if self.lines else "frames"
        if not isinstance(message, dict) or not isinstance(message.get(member), list):
            raise EncodeError("", f'expected an object with the array "{member}"')
        for name in message:
            if name not in (member, "counts"):
                raise EncodeError(name, f'no member of the message; there are "{member}" and "counts"')
        counts = message.get("counts", "zigzag")
        if counts not in ("zigzag", "unsigned"):
            raise EncodeError("counts", 'expected "unsigned", or nothing for zigzag')
        entries = message[member]
        assert isinstance(entries, list)
        ended = False
        for position, entry in enumerate(entries):
            path = f"{member}[{position}]"
            if ended:
                raise EncodeError(path, "nothing may follow END in a message")
            body = BytesWriter()
            kind = _Encoder(body, counts == "unsigned", LINE_FLAGS if self.lines else FRAME_FLAGS).entry(
                entry, path
            )
            size = len(body)
            if size > MAX_SIZE:
                raise EncodeError(path, f"its body has {size} bytes, {MAX_SIZE} at most")
            out.append(kind)
            out.append(size >> 16)
            out.append(size >> 8 & 0xFF)
            out.append(size & 0xFF)
            out.write(body.getvalue())
            ended = kind == END
        if not ended:
            out.write(b"\0\0\0\0")


def _size_fits(kind: i64, length: i64) -> bool:
    """True where a body of the type can have that length."""
    if kind == MESSAGE_ID or kind == SOURCE_MESSAGE_ID:
        return length == 8
    if kind == VERSION:
        return length == 4
    if kind == FLAG:
        return 1 <= length <= 10
    if kind == MESSAGE_KIND:
        return 1 <= length <= 5
    if kind == TRACE or kind == TRACE_RESP:
        return length == 0
    if kind == PAYLOAD or kind == ERROR:
        return True
    return length >= 2


def _evidence(data: bytes) -> tuple[Evidence, int]:
    """Evidence of a stream's start, and the era that entries name (1 line, -1 frame, 0 neither).

    A known type is one of 17 small numbers. A body that its own lengths fill, or that has the one size of
    its type, foretells the size before it, and its inner lengths one another. An END counts only where a
    size other than zero led to it: foreign data has zeros often. Entries of numbers that the texts leave
    open, and bodies without inner structure, say nothing by themselves; bodies that do not decode speak
    against.
    """
    end: i64 = len(data)
    at: i64 = 0
    bits = 0.0
    era = 0
    entries = 0
    messages = 0
    bodies = 0
    body_seen = False
    since_end = 0
    solid = False  # a size that is not zero has led here
    settle = "the rest of the message, up to its END"
    met: list[int] = [0] * 32
    for _ in range(LOOKED_AT):
        if at + 4 > end:
            break
        kind: i64 = data[at]
        length: i64 = data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
        after = at + 4 + length
        if kind == END:
            if not since_end or (length and after > end):
                break
            if solid and length == 0:
                bits += MEETS / min(messages + 1, 4)
            messages += 1
            since_end = 0
            solid = False
            body_seen = False
        elif kind not in TYPES:
            if not (kind <= 15 or kind >= 0x80) or after > end:
                return NO_EVIDENCE, 0
            since_end += 1
            if kind == 9 and length == 0:
                era = -1
        else:
            entries += 1
            since_end += 1
            if length:
                solid = True
            if kind in (MESSAGE_KIND, TRACE, TRACE_RESP):
                era = -1
            elif kind in BODY_LINES:
                body_seen = True
            elif body_seen and era == 0:
                era = -1
            if after > end:
                settle = f"{after - end} more bytes"
                bits += _cut_bits(data, at + 4, after, kind) + prices(data, at, 1) - 2.5
                break
            gained = _body_bits(data, at + 4, length, kind) if _size_fits(kind, length) else -8.0
            if gained > 0:
                bodies += 1
            if kind == FLAG and data[at + 4] == 14:
                era = 1
            met[kind] += 1
            gained += prices(data, at, 1) - 2.5
            bits += gained / min(met[kind], 8) if gained > 0.0 else gained
        at = after
    if messages == 0 and since_end and bodies == 0:
        return NO_EVIDENCE, 0
    whole = at == end and since_end == 0 and messages > 0
    reasons = _reasons(entries, messages, bodies)
    if whole:
        reasons.append("the last END is the end of the bytes")
    return Evidence(bits, tuple(reasons), settle, (), whole, messages == 1, MEETS if whole else 0.0), era


def _reasons(entries: int, messages: int, bodies: int) -> list[str]:
    reasons = [f"{entries} entr{'y' if entries == 1 else 'ies'} of known types"]
    if bodies:
        reasons.append(f"{bodies} bod{'y' if bodies == 1 else 'ies'} of the size that the type needs")
    if messages:
        reasons.append(f"sizes chain to {messages} END{'' if messages == 1 else 's'}")
    return reasons


def _body_bits(data: bytes, start: i64, length: i64, kind: i64) -> float:
    """Bits that a body's inner lengths satisfy; negative where it does not decode."""
    if kind == PAYLOAD or kind == ERROR:
        return 0.0
    if kind == MESSAGE_ID or kind == SOURCE_MESSAGE_ID or kind == VERSION:
        return prices(data, start - 3, 3)
    buffer = t.Buffer(data)
    tape = Tape(buffer)
    cursor = Cursor(buffer, start, start + length)
    best = -1.0
    for unsigned in (False, True):
        tape.cut(0)
        cursor.pos = start
        body = _Body(cursor, tape, unsigned, _LINE_FLAG)
        try:
            body.read(kind)
        except DecodeError:
            continue
        if cursor.pos == cursor.end:
            best = prices(data, start - 3, 3) + _inner_bits(data, tape, kind)
            break
        best = max(best, 0.0)
    if best < 0:
        return 0.0 if kind in (DATA, HEADER, SESSION_INFO) else -8.0  # deployed writers leave values out
    return best


def _cut_bits(data: bytes, start: i64, after: i64, kind: i64) -> float:
    """Bits of a body that the input cuts: a name, and a text or bytes that end where the body will."""
    if kind != DATA and kind != HEADER and kind != SESSION_INFO:
        return 0.0
    cursor = Cursor(t.Buffer(data), start, len(data))
    try:
        cursor.skip(unzigzag(cursor.varint("a length")), "a name")
        tag = cursor.u8("a tag")
        if tag != 24 and tag != 17:
            return 0.0
        length = unzigzag(cursor.varint("a length"))
    except DecodeError:
        return 0.0
    if length < 0 or length != after - cursor.pos:
        return 0.0
    return prices(data, start - 3, 3) + MEETS + CHANGE


def _inner_bits(data: bytes, tape: Tape, kind: i64) -> float:
    """Bits of what a body that fills its size holds: known numbers, names, the tags of values."""
    bits = 0.0
    first = tape.number(0)
    if kind == FLAG:
        bits += 2.0 if 1 <= first <= 7 else 0.0
    elif kind == ADDRESS or kind == SOURCE_ADDRESS:
        bits += (MEETS + CHANGE if int(first) in ADDRESSES else 0.0) + CHANGE
    elif kind == DATA or kind == HEADER or kind == SESSION_INFO:
        bits += CHANGE  # the length of a name
        if tape.size() > 1:
            tag = tape.kind(1)
            bits += CHANGE
            if tag == t.STRING or tag == t.BYTES or tag == t.MAP or tag == t.LIST:
                bits += CHANGE + 1.0  # a tag, and lengths that end where the body does
    return bits


def _entries(root: Node) -> list[Node]:
    for part in root.parts():
        if part.field.name in ("lines", "frames"):
            return part.children
    return []


def _entry_type(entry: Node) -> int:
    return int(entry.tape.number(entry.index + 1))


def _member_bytes(entry: Node, name: str) -> bytes:
    member = entry.member(name)
    return b"" if member is None else member.content


def _short_entry(entry: Node, kind: int) -> str:
    if kind == FLAG:
        flag = entry.member("flag")
        said = "" if flag is None else str(flag.value)
        return "" if said in ("REQUEST", "RESP", "INFO", "EVENT", "") else f"flag {said}"
    if kind == SEQ_NO:
        current = entry.member("current")
        last = entry.member("last")
        return (
            f"seq {current.number}/{last.number or '?'}" if current is not None and last is not None else ""
        )
    value = entry.member("value")
    if value is None:
        return ""
    return f"#{value.shown}" if kind == MESSAGE_ID else f"re #{value.shown}"


def _id_time(entry: Node) -> str:
    """The time of an id that can be one: deployed clients start from Unix nanoseconds."""
    value = entry.member("value")
    if value is None or not FIRST_ID_TIME <= value.number < LAST_ID_TIME:
        return ""
    return "made " + date_text(value.number // 1_000_000)


def _addresses(root: Node, kind: int) -> dict[str, str]:
    """The address entries of a type: names (or numbers) of their address types to texts."""
    found: dict[str, str] = {}
    for entry in _entries(root):
        if _entry_type(entry) == kind:
            address = entry.member("address")
            value = entry.member("value")
            if address is not None and value is not None:
                found.setdefault(address.shown, value.shown)
    return found


def _target(root: Node, kind: int) -> str:
    """service.op@host of the addresses that are there."""
    found = _addresses(root, kind)
    service = found.get("SERVICE", "")
    operation = found.get("OP", "")
    said = f"{service}.{operation}" if service and operation else service or operation
    if "HOST" in found:
        said += f"@{found['HOST']}"
    if not said and found:
        said = " ".join(f"{name}={value}" for name, value in found.items())
    return said


def url(root: Node, kind: int = ADDRESS) -> str:
    """The URL form of a message's addresses: esnp://HOST/SERVICE/OP?o=OBJECT&g=GROUP, `_` for none.

    Source: the ESNP line text, MT_ADDRESS. Empty where there are no addresses of that type.
    """
    found = _addresses(root, kind)
    if not found:
        return ""
    said = f"esnp://{found.get('HOST') or '_'}/{found.get('SERVICE') or '_'}/{found.get('OP') or '_'}"
    query = [f"{letter}={found[name]}" for letter, name in (("o", "OBJECT"), ("g", "GROUP")) if name in found]
    return said + ("?" + "&".join(query) if query else "")


class _Encoder:
    """Writes the bodies of entries."""

    def __init__(self, out: BytesWriter, unsigned: bool, flags: dict[int, str]) -> None:
        self.out: Final = out
        self.unsigned: Final = unsigned
        self.flags: Final = flags

    def entry(self, entry: Json, path: str) -> int:
        """Write an entry's body; its type number."""
        if not isinstance(entry, dict):
            raise EncodeError(path, 'expected an object with a "type"')
        kind = number_of(entry.get("type"), TYPES, path + ".type", 0, 255)
        wire = entry.get("$wire", {})
        if not isinstance(wire, dict):
            raise EncodeError(path + ".$wire", "expected an object: member names to bytes of their varints")
        members = _MEMBERS.get(kind, ("data",))
        if "data" in entry and (
            kind not in _MEMBERS or "error" in entry or not any(m in entry for m in members)
        ):
            members = ("data",)
        for name in entry:
            if name not in members and name not in ("type", "extra", "error", "$wire"):
                raise EncodeError(f"{path}.{name}", f"no member of {TYPES.get(kind, kind)}")
        for name in members:
            if name == "data" and kind == XDATA and "data" not in entry:
                continue
            if name == "value" and kind == XDATA and "value" not in entry and "data" in entry:
                continue
            if name not in entry:
                raise EncodeError(path, f'{TYPES.get(kind, kind)} needs the member "{name}"')
            self.member(kind, name, entry[name], wire.get(name), f"{path}.{name}")
        if "extra" in entry:
            self.out.write(hex_bytes(entry["extra"], path + ".extra"))
        return kind

    def member(self, kind: int, name: str, value: Json, wire: Json, path: str) -> None:
        out = self.out
        if name == "data":
            out.write(hex_bytes(value, path))
        elif name == "text":
            out.write(text_bytes(value, path))
        elif name == "version":
            out.write(_version_bytes(value, path))
        elif name == "kind":
            out.append(number_of(value, KINDS, path, 0, 255))
        elif name == "flag":
            self.zigzag(number_of(value, self.flags, path, -1 << 63, (1 << 63) - 1), wire, path)
        elif name == "address":
            self.zigzag(number_of(value, ADDRESSES, path, -1 << 63, (1 << 63) - 1), wire, path)
        elif name in ("current", "last", "id"):
            self.zigzag(number_of(value, {}, path, -1 << 63, (1 << 63) - 1), wire, path)
        elif name == "name" or kind in (ADDRESS, SOURCE_ADDRESS):
            self.sized(text_bytes(value, path), wire, path)
        elif kind in (MESSAGE_ID, SOURCE_MESSAGE_ID):
            number = number_of(value, {}, path, 0, (1 << 64) - 1)
            write_i64_be(out, number - (1 << 64) if number >> 63 else number)
        else:
            self.var(value, path)

    def varint(self, number: int, wire: Json, where: Path | str) -> None:
        """Write an unsigned varint, over `wire` bytes where that is given."""
        size = 0
        if wire is not None:
            if isinstance(wire, bool) or not isinstance(wire, int) or not 1 <= wire <= 10:
                raise wrong(where, "expected as $wire the bytes of the varint, 1 to 10")
            size = wire
            if number >> (7 * size):
                raise wrong(where, f"{number} does not fit in a varint of {size} bytes")
        while number >= 0x80 or size > 1:
            self.out.append(number & 0x7F | 0x80)
            number >>= 7
            size -= 1
        self.out.append(number)

    def zigzag(self, number: int, wire: Json, where: Path | str) -> None:
        self.varint((number << 1) ^ -(number < 0), wire, where)

    def sized(self, content: bytes, wire: Json, where: Path | str) -> None:
        """Write a LenString or LenBytes."""
        self.zigzag(len(content), wire, where)
        self.out.write(content)

    def var(self, value: Json, path: str) -> None:
        """Write a Var; nested ones by an explicit stack."""
        work: list[tuple[Json, Path, bool]] = [(value, Path(None, path), False)]
        while work:
            item, where, is_key = work.pop()
            if is_key:
                self.key(item, where)
                continue
            wire: Json = None
            tag = -1
            if isinstance(item, dict):
                tagged = _tagged(item, where)
                if tagged:
                    tag = VAR_TAGS[tagged]
                    wire = item.get("$wire")
                    item = item[tagged]
                    if tagged == "$raw":
                        item = {"$raw": item}
                else:
                    tag = 21
            elif item is None:
                tag = 0
            elif isinstance(item, bool):
                tag = 1
            elif isinstance(item, int):
                tag = 5 if -1 << 31 <= item < 1 << 31 else 6 if -1 << 63 <= item < 1 << 63 else 11
            elif isinstance(item, float):
                tag = 14
            elif isinstance(item, str):
                tag = 24
            else:
                tag = 23
            self.out.append(tag)
            if tag == 21:
                work.extend(reversed(self.map_items(item, wire, where)))
            elif tag == 23:
                if not isinstance(item, list):
                    raise wrong(where, "expected an array")
                self.count(len(item), wire, where)
                work.extend(
                    (item[position], Path(where, f"[{position}]"), False)
                    for position in range(len(item) - 1, -1, -1)
                )
            else:
                self.scalar(tag, item, wire, where)

    def count(self, number: int, wire: Json, where: Path) -> None:
        if self.unsigned:
            self.varint(number, wire, where)
        else:
            self.zigzag(number, wire, where)

    def map_items(self, item: Json, wire: Json, where: Path) -> list[tuple[Json, Path, bool]]:
        items: list[tuple[Json, Path, bool]] = []
        if isinstance(item, dict):
            self.count(len(item), wire, where)
            for key, value in item.items():
                items.append((key, where, True))
                items.append((value, Path(where, "." + key), False))
        elif isinstance(item, list):
            self.count(len(item), wire, where)
            for position, pair in enumerate(item):
                step = Path(where, f"[{position}]")
                if not isinstance(pair, list) or len(pair) != 2:
                    raise wrong(step, "expected a pair [key, value]")
                items.append((pair[0], Path(step, "[0]"), True))
                items.append((pair[1], Path(step, "[1]"), False))
        else:
            raise wrong(where, "expected an object, or an array of pairs [key, value]")
        return items

    def key(self, item: Json, where: Path) -> None:
        wire: Json = None
        if isinstance(item, dict):
            wire = item.get("$wire")
            if "$string" in item:
                item = item["$string"]
        self.sized(text_bytes(item, where), wire, where)

    def scalar(self, tag: int, item: Json, wire: Json, where: Path | str) -> None:
        out = self.out
        if tag == 0:
            if item is not None:
                raise wrong(where, "expected null")
        elif tag == 1:
            if not isinstance(item, bool):
                raise wrong(where, "expected true or false")
            if wire is None:
                out.append(1 if item else 0)
            else:
                byte = number_of(wire, {}, where, 0, 255)
                if (byte != 0) != item:
                    raise wrong(where, f"{byte} does not say {'true' if item else 'false'}")
                out.append(byte)
        elif tag in (13, 14):
            self.real(tag, item, wire, where)
        elif tag == 17:
            self.sized(hex_bytes(item, where), wire, where)
        elif tag == 24:
            self.sized(text_bytes(item, where), wire, where)
        elif tag == 3:
            out.append(number_of(item, {}, where, -128, 127) & 0xFF)
        elif tag == 8:
            out.append(number_of(item, {}, where, 0, 255))
        elif tag in (2, 4, 5, 6):
            self.zigzag(number_of(item, {}, where, -1 << 63, (1 << 63) - 1), wire, where)
        else:
            self.varint(number_of(item, {}, where, 0, (1 << 64) - 1), wire, where)

    def real(self, tag: int, item: Json, wire: Json, where: Path | str) -> None:
        """Write a Float32 or Float64."""
        digits = 8 if tag == 13 else 16
        if wire is not None:
            raw = hex_bytes(wire, where)
            if len(raw) * 2 != digits:
                raise wrong(where, f"expected the {digits} hex digits of a NaN")
            self.out.write(raw)
            return
        number = NOT_FINITE.get(item) if isinstance(item, str) else item
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise wrong(where, 'expected a number, "NaN", "Infinity" or "-Infinity"')
        try:
            value = float(number)
        except OverflowError:
            raise wrong(where, "the number is too large for a float") from None
        if value != value:
            self.out.write(b"\x7f\xc0\0\0" if tag == 13 else b"\x7f\xf8\0\0\0\0\0\0")
        elif tag == 14:
            write_f64_be(self.out, value)
        elif SINGLE_MAX < abs(value) < float("inf"):
            raise wrong(where, f"{value} is too large for Float32")
        else:
            write_f32_be(self.out, value)


_MEMBERS: Final[dict[int, tuple[str, ...]]] = {
    END: (),
    SESSION_INFO: ("name", "value"),
    HEADER: ("name", "value"),
    DATA: ("name", "value"),
    MESSAGE_ID: ("value",),
    SOURCE_MESSAGE_ID: ("value",),
    MESSAGE_KIND: ("kind",),
    PAYLOAD: ("data",),
    ADDRESS: ("address", "value"),
    SOURCE_ADDRESS: ("address", "value"),
    TRACE: (),
    TRACE_RESP: (),
    SEQ_NO: ("current", "last"),
    XDATA: ("id", "value", "data"),
    ERROR: ("text",),
    FLAG: ("flag",),
    VERSION: ("version",),
}


def _tagged(item: dict[str, Json], where: Path) -> str:
    """The tag of a tagged value; empty for a plain Map."""
    found = ""
    for key in item:
        if key.startswith("$"):
            if key == "$wire":
                continue
            if key not in VAR_TAGS or found:
                raise wrong(where, f"{key} is no tag of an ESNP value here; keys with $ need the form $map")
            found = key
    if "$wire" in item and not found:
        raise wrong(where, "$wire stands only beside a tag")
    if found and len(item) > (2 if "$wire" in item else 1):
        raise wrong(where, f"nothing but $wire may stand beside {found}")
    return found


def _version_bytes(value: Json, path: str) -> bytes:
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) != 4 or not all(
        part.isascii() and part.isdigit() and len(part) <= 3 and int(part) < 256 for part in parts
    ):
        raise EncodeError(path, 'expected four numbers up to 255, as "1.2.3.4"')
    return bytes(int(part) for part in parts)


CODECS: Final = (
    Esnp("esnp-line", "ESNP messages made of lines", True),
    Esnp("esnp-frame", "ESNP messages made of frames, the older text", False),
)
