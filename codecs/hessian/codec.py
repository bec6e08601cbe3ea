"""The three codecs of Hessian."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.decoding import Messages
from wirelens.codecs.hessian.encoding import encode_message
from wirelens.codecs.hessian.evidence import evidence, same_meaning
from wirelens.codecs.hessian.gadgets import class_notes
from wirelens.codecs.hessian.java import annotate
from wirelens.codecs.hessian.reading import body_of, message_line
from wirelens.codecs.hessian.throwable import stack_trace
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Buffer, Tape

RESYNC_FREE: Final = 1 << 16  # bytes of failed candidates that cost nothing
RESYNC_FACTOR: Final = 8  # bytes of failed candidates for each byte passed over
RESYNC_CUT: Final = 1 << 14  # bytes of a last message that may be cut


class Hessian(Codec):
    """Hessian in one of its dialects."""

    def __init__(self, dialect: int) -> None:
        super().__init__(d.NAMES[dialect])
        self.dialect = dialect
        # c 02 00 and 1.0 values ask for a reply in final 2.0
        self.answers = tuple(
            [name for name in (d.NAMES[d.V1], d.NAMES[d.DRAFT], d.NAMES[d.FINAL]) if name != self.name]
        )

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. Classes known from attacks are noted, in what decoded of damaged messages too."""
        try:
            self._decode(cursor, tape, final)
        finally:
            class_notes(tape)

    def _decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """What does not read as values may be packets, or the layout of 2006."""
        start = cursor.pos
        try:
            Messages(self.dialect, cursor, tape, final).read()
            return
        except DecodeError as error:
            if error.needed and not final:
                raise
            first = error
        reached = cursor.pos
        if start == 0 and tape.buffer.base == 0:
            # only for a whole stream: tried at each damaged place, this would not be linear
            if self.dialect == d.FINAL and cursor.data[0] < 0x90:
                trial = Tape(tape.buffer)
                cursor.pos = 0
                if Messages(self.dialect, cursor, trial, final).packets():
                    tape.take(trial)
                    return
            _refuse_2006(self.dialect, cursor, 0, final)
        cursor.pos = reached
        raise first

    def annotate(self, node: Node) -> str:
        """What a value of a well-known Java class means."""
        return annotate(node)

    def details(self, node: Node) -> list[str]:
        """An exception's stack trace."""
        return stack_trace(node)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        encode_message(message, self.dialect, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence(self.dialect, data, other)

    def same_meaning(self, name: str, data: bytes) -> bool:
        """See Codec.same_meaning."""
        return name in d.NAMES and same_meaning(self.dialect, d.NAMES.index(name), data)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The next call, reply or message that decodes whole; values alone prove nothing.

        The work on candidates that fail is bounded by the distance, so that it stays linear.
        """
        spent: i64 = 0
        at = start
        while at < end:
            if signed(self.dialect, data, at, end) and spent <= RESYNC_FREE + RESYNC_FACTOR * (at - start):
                buffer = Buffer(data)
                cursor = Cursor(buffer, at, end)
                try:
                    Messages(self.dialect, cursor, Tape(buffer), False).read()
                    return at
                except DecodeError as error:
                    if error.needed and end - at <= RESYNC_CUT:
                        return at
                    spent += end - at if error.needed else cursor.pos - at
            at += 1
        return end

    def kind(self, root: Node) -> str:
        """The message's only member but its version: "call", "reply", "values", …"""
        body = body_of(root)
        if body is None:
            return "message"
        name = body.field.name
        if name == "reply" and body.member("fault") is not None:
            return "fault"
        return name

    def summary(self, root: Node) -> str:
        """What it is, with the method, the types of the arguments, the class of a result."""
        return message_line(root)

    def exchange(self, root: Node) -> Exchange:
        """A call is answered in order, by a reply or a fault."""
        kind = self.kind(root)
        if kind == "call":
            return Exchange("request")
        return Exchange("reply" if kind in ("reply", "fault") else "")


def signed(dialect: i64, data: bytes, at: i64, end: i64) -> bool:
    """True where a position has the first bytes of a call, reply, message or envelope with a version."""
    if end - at < 5:
        return False
    byte: i64 = data[at]
    if dialect == d.FINAL:
        if byte == 0x48:
            return data[at + 1 : at + 3] == b"\2\0" and data[at + 3] in b"CRF"
        return byte == 0x70 and data[at + 1 : at + 3] == b"\2\0"
    if data[at + 1] > 2 or data[at + 2] > 1:
        return False
    if byte == 0x63:
        return data[at + 3] in b"mH"
    if byte == 0x72:
        return True
    return dialect == d.DRAFT and (byte == 0x70 or (byte == 0x45 and data[at + 3] == 0x6D))


def _reads(dialect: int, cursor: Cursor, start: i64, final: bool) -> bool:
    """True where everything from `start` on is messages of a dialect, as far as there are bytes."""
    ahead = Cursor(cursor.buffer, start, cursor.end)
    try:
        while ahead.pos < ahead.end:
            Messages(dialect, ahead, Tape(cursor.buffer), True).read()
    except DecodeError as error:
        return error.needed != 0 and not final
    return True


def _refuse_2006(dialect: int, cursor: Cursor, start: i64, final: bool) -> None:
    """Raise `hessian-2006` where what is left is in that layout and in none that lives."""
    if not _reads(d.LAYOUT_2006, cursor, start, final):
        return
    for other in (d.V1, d.DRAFT, d.FINAL):
        if other != dialect and _reads(other, cursor, start, final):
            return
    if not final:
        cursor.pos = start
        raise cursor.short(cursor.end - start + 1, "the rest of a message in the layout of 2006")
    raise cursor.error(
        "hessian-2006",
        start,
        "Hessian in the layout of 2006 (Resin 3.0.22 to 3.1.1), which is recognised but not supported",
    )


CODECS: Final = (
    Hessian(d.V1),
    Hessian(d.DRAFT),
    Hessian(d.FINAL),
)
