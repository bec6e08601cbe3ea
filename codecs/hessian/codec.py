"""The codecs of Hessian's three dialects."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.decoding import Messages
from wirelens.codecs.hessian.encoding import encode_message
from wirelens.codecs.hessian.evidence import evidence, resync, same_meaning
from wirelens.codecs.hessian.gadgets import class_notes
from wirelens.codecs.hessian.java import annotate
from wirelens.codecs.hessian.reading import exchange, kind, message_line
from wirelens.codecs.hessian.throwable import stack_trace
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


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
        """See Codec.decode. Classes known from attacks are noted, also in damaged messages."""
        try:
            self._decode(cursor, tape, final)
        finally:
            class_notes(tape)

    def _decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """Decode a message; bytes that do not read as values may be packets, or the layout of 2006."""
        start = cursor.pos
        try:
            Messages(self.dialect, cursor, tape, final).read()
            return
        except DecodeError as error:
            if error.incomplete and not final:
                raise
            first = error
        reached = cursor.pos
        if start == 0 and tape.buffer.base == 0:
            # only for a whole stream: tried at each damaged place, this would not be linear
            if self.dialect == d.FINAL and cursor.data[0] < 0x90:
                trial = Tape(tape.buffer)
                cursor.pos = 0
                if Messages(self.dialect, cursor, trial, final).try_packets():
                    tape.take(trial)
                    return
            _refuse_2006(self.dialect, cursor, 0, final)
        cursor.pos = reached
        raise first

    def annotate(self, node: Node) -> str:
        """The meaning of a value of a well-known Java class."""
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
        """See Codec.resync."""
        return resync(self.dialect, data, start, end)

    def kind(self, root: Node) -> str:
        """The name of the message's body: "call", "reply", "values", …; "fault" for a reply with a fault."""
        return kind(root)

    def summary(self, root: Node) -> str:
        """The kind, with the method, the types of the arguments, the class of a result."""
        return message_line(root)

    def exchange(self, root: Node) -> Exchange:
        """A call is answered in order, by a reply or a fault."""
        return exchange(root)


def _reads(dialect: int, cursor: Cursor, start: i64, final: bool) -> bool:
    """True if everything from `start` on reads as messages of a dialect."""
    ahead = Cursor(cursor.buffer, start, cursor.end)
    try:
        while ahead.pos < ahead.end:
            Messages(dialect, ahead, Tape(cursor.buffer), True).read()
    except DecodeError as error:
        return error.incomplete and not final
    return True


def _refuse_2006(dialect: int, cursor: Cursor, start: i64, final: bool) -> None:
    """Raise `hessian-2006` if the bytes from `start` on read in that layout, and in none of the dialects."""
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
