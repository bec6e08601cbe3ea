"""The two codecs: a message as entries up to an END, in the vocabulary of lines or of frames."""

from contextlib import suppress
from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.background import OTHER, proved
from wirelens.codecs.codec import Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.esnp.body import FRAME_FLAG, LINE_FLAG, Body
from wirelens.codecs.esnp.encoding import Encoder
from wirelens.codecs.esnp.evidence import evidence, size_fits
from wirelens.codecs.esnp.reading import (
    entries_of,
    entry_type,
    id_time,
    member_bytes,
    short_entry,
    target,
    url,
)
from wirelens.codecs.esnp.vocabulary import (
    ADDRESS,
    BODY_LINES,
    DATA,
    END,
    ERROR,
    FLAG,
    FRAME_FLAGS,
    HEADER,
    HEADER_LINES,
    LINE_FLAGS,
    MAX_SIZE,
    MESSAGE_ID,
    PAYLOAD,
    SEQ_NO,
    SESSION_INFO,
    SOURCE_ADDRESS,
    SOURCE_MESSAGE_ID,
    TYPES,
    VERSION,
)
from wirelens.codecs.node import Json, Node, field
from wirelens.codecs.tape import Tape
from wirelens.codecs.words import count

_TYPE: Final[i64] = t.head(t.NAMED, field("type", TYPES))
_SIZE: Final[i64] = t.head(t.LENGTH, field("size")) | t.HIDDEN
_ENTRY: Final[i64] = t.head(t.STRUCT)
_MESSAGE: Final[i64] = t.head(t.STRUCT)
_LINES: Final[i64] = t.head(t.ARRAY, field("lines"))
_FRAMES: Final[i64] = t.head(t.ARRAY, field("frames"))
_COUNTS: Final[i64] = t.head(t.NAMED, field("counts", {1: "unsigned"}))


class Esnp(Codec):
    """ESNP in one of its two vocabularies."""

    def __init__(self, name: str, lines: bool) -> None:
        super().__init__(name)
        self.lines = lines

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. Both rules for counts are tried, the specified one (zigzag) first."""
        start = cursor.pos
        flag = LINE_FLAG if self.lines else FRAME_FLAG
        body = Body(cursor, tape, False, flag)
        cut: DecodeError | None = None
        try:
            self._read(body, final)
        except DecodeError as error:
            if not final or body.problems == 0:
                raise
            cut = error
        if body.problems:
            end = cursor.pos
            cursor.pos = start
            other = Body(cursor, Tape(cursor.buffer), True, flag)
            with suppress(DecodeError):  # where the first rule found the input cut
                self._read(other, final)
            if other.problems < body.problems:
                tape.take(other.tape)
            cursor.pos = end
        if cut is not None:
            raise cut

    def _read(self, body: Body, final: bool) -> None:
        """Read a message under one rule for counts."""
        cursor = body.cursor
        tape = body.tape
        start = cursor.pos
        root = tape.open(_MESSAGE, start, 0)
        entries = tape.open(_LINES if self.lines else _FRAMES, start, 0)
        outer = cursor.end
        body_seen = False
        order_noted = False
        while True:
            at = cursor.pos
            if cursor.left() < 4:
                raise cursor.short(4, "a type and a size")
            kind = cursor.u8("a type")
            size = cursor.u8("a size") << 16
            size |= cursor.u16("a size")
            if size > cursor.left():
                cut = cursor.short(size, f"the body of {TYPES.get(kind, kind)}")
                tape.open(_ENTRY, at, 0)
                tape.leaf(_TYPE, at, at + 1, kind)
                tape.leaf(_SIZE, at + 1, at + 4, size)
                if final:
                    body.read_cut(kind)
                raise cut
            entry = tape.open(_ENTRY, at, 0)
            tape.leaf(_TYPE, at, at + 1, kind)
            tape.leaf(_SIZE, at + 1, at + 4, size)
            cursor.end = cursor.pos + size
            body.read_whole(kind)
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
        if body.unsigned and body.containers:
            tape.leaf(_COUNTS, cursor.pos, cursor.pos, 1)
        tape.close(root, cursor.pos)

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
                elif after < end and good[after - start] and size_fits(kind, length):
                    good[at - start] = 2 if length else good[after - start]
                    if good[at - start] == 2:
                        found = at
            at -= 1
        return found

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """Bits of the entries at the start: known types, sizes that chain to an END, bodies that decode."""
        found, era = evidence(data)
        if found.bits <= 0:
            return found
        bits = found.bits
        reasons = found.reasons
        if other:
            theirs, _ = evidence(other)
            if proved(theirs.bits, theirs.whole, theirs.at_end):
                bits += OTHER
                reasons = (*reasons, "the other direction is ESNP too")
        twin = "esnp-frame" if self.lines else "esnp-line"
        if (era < 0) == self.lines:
            bits -= 1.0
        if era != 0:
            reasons = (
                *reasons,
                "an entry of the line era" if era > 0 else "an entry or order of the frame era",
            )
        reasons = (*reasons, f"the bytes fit {twin} too")
        return found._replace(bits=bits, reasons=reasons, equal=(twin,))

    def kind(self, root: Node) -> str:
        """The message's FLAG or MESSAGE_KIND in a word: "request", "response", "event", …"""
        found = ""
        for entry in entries_of(root):
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
        for entry in entries_of(root):
            kind = entry_type(entry)
            if kind == ERROR:
                text = entry.member("text")
                error = f'ERROR "{text.shown}"' if text is not None and text.raw else "ERROR"
            elif kind in (DATA, HEADER):
                name = entry.member("name")
                if name is not None:
                    names.append(name.shown)
            elif kind == PAYLOAD:
                payload += len(member_bytes(entry, "data"))
            elif kind in (MESSAGE_ID, SOURCE_MESSAGE_ID, SEQ_NO, FLAG):
                numbers.append(short_entry(entry, kind))
        if error:
            parts.insert(0, error)
        where = target(root, ADDRESS)
        if where:
            parts.append(where)
        parts.extend(number for number in numbers if number)
        if names:
            shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
            parts.append(f"({shown})")
        if payload:
            parts.append(f"payload {count(payload, 'byte')}")
        return " ".join(parts)

    def annotate(self, node: Node) -> str:
        """The URL that address entries say, beside the first of them; the time that an id was made from."""
        parent = node.parent
        if parent is None or parent.field.name not in ("lines", "frames"):
            return ""
        kind = entry_type(node)
        if kind in (MESSAGE_ID, SOURCE_MESSAGE_ID):
            return id_time(node)
        if kind not in (ADDRESS, SOURCE_ADDRESS) or parent.parent is None:
            return ""
        for entry in entries_of(parent.parent):
            if entry_type(entry) == kind:
                return url(parent.parent, kind) if entry.index == node.index else ""
        return ""

    def exchange(self, root: Node) -> Exchange:
        """A reply names its request's MESSAGE_ID in SOURCE_MESSAGE_ID."""
        own = ""
        for entry in entries_of(root):
            kind = entry_type(entry)
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
            kind = Encoder(body, counts == "unsigned", LINE_FLAGS if self.lines else FRAME_FLAGS).entry(
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


CODECS: Final = (
    Esnp("esnp-line", True),
    Esnp("esnp-frame", False),
)
