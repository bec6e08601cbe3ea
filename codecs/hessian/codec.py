"""The three codecs of Hessian."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import dialects as d
from wirelens.codecs.hessian.envelopes import Messages
from wirelens.codecs.hessian.gadgets import gadget_notes
from wirelens.codecs.hessian.java import annotate
from wirelens.codecs.hessian.message_encoder import encode_message
from wirelens.codecs.hessian.throwable import stack_trace
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


class Hessian(Codec):
    """Hessian in one of its dialects."""

    def __init__(self, dialect: int, title: str) -> None:
        super().__init__(d.NAMES[dialect], title)
        self.dialect = dialect

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. Classes known from attacks are noted, in what decoded of damaged messages too."""
        try:
            self._decode(cursor, tape, final)
        finally:
            gadget_notes(tape)

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
        words = tape.words
        notes = list(tape.notes)
        buffers = list(tape.buffers)
        if self.dialect == d.FINAL and cursor.data[start] < 0x90:
            cursor.pos = start
            tape.cut(0)
            if Messages(self.dialect, cursor, tape, final).packets():
                return
        _refuse_2006(self.dialect, cursor, start, final)
        cursor.pos = reached
        tape.words = words
        tape.notes[:] = notes
        tape.buffers[:] = buffers
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
        return NO_EVIDENCE

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        return end

    def kind(self, root: Node) -> str:
        """The message's only member but its version: "call", "reply", "values", …"""
        for part in root.parts():
            name = part.field.name
            if name and name != "version":
                return name
        return "message"


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
    Hessian(d.V1, "Hessian 1.0"),
    Hessian(d.DRAFT, "Hessian 2.0, first draft (SOFA RPC, Caucho 3.1.2 to 3.2.0)"),
    Hessian(d.FINAL, "Hessian 2.0 as published (Dubbo, XXL-JOB, Caucho 3.2.1 and later)"),
)
