"""The codecs of Hessian's three dialects."""

from collections.abc import Callable
from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.codec import CallFacts, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import decoding, evidence, reading
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.class_notes import class_notes
from wirelens.codecs.hessian.texts import note_overrun
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


class Hessian(Codec):
    """Hessian in one of its dialects."""

    proves_ahead = 1 << 20
    kinds: tuple[str, ...] = reading.KINDS
    contained = True

    def __init__(self, dialect: int) -> None:
        super().__init__(d.NAMES[dialect])
        self.dialect = dialect
        self.write: Callable[[Json, int, BytesWriter], None] | None = None  # once it is imported
        # c 02 00 and 1.0 values ask for a reply in final 2.0
        self.answers = tuple(
            [name for name in (d.NAMES[d.V1], d.NAMES[d.DRAFT], d.NAMES[d.FINAL]) if name != self.name]
        )

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. Classes known from attacks are noted, also in damaged messages."""
        try:
            decoding.decode(self.dialect, cursor, tape, final)
        except DecodeError as error:
            if not error.incomplete or final:
                note_overrun(tape)
            raise
        finally:
            class_notes(tape)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        if self.write is None:
            from wirelens.codecs.hessian.encoding import encode_message  # not needed to decode

            self.write = encode_message
        self.write(message, self.dialect, out)

    def encode_text(self, data: bytes, at: i64, braces: i64) -> bytes | None:
        """See Codec.encode_text. Only for the final dialect."""
        if self.dialect != d.FINAL:
            return None
        from wirelens.codecs.hessian.json_encoding import encode_text  # as above

        return encode_text(data, at, braces)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence.probe(self.dialect, data, other)

    def same_meaning(self, name: str, data: bytes) -> bool:
        """See Codec.same_meaning."""
        return name in d.NAMES and evidence.same_meaning(self.dialect, d.NAMES.index(name), data)

    def unusual_forms(self, data: bytes) -> i64:
        """See Codec.unusual_forms."""
        return evidence.unusual_forms(self.dialect, data)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync."""
        return evidence.resync(self.dialect, data, start, end)

    def kind(self, root: Node) -> str:
        """See Codec.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See Codec.summary."""
        return reading.message_line(root)

    def exchange(self, root: Node) -> Exchange:
        """See Codec.exchange."""
        return reading.exchange(root)

    def call(self, root: Node) -> CallFacts:
        """See Codec.call."""
        return reading.call(root)

    def annotate(self, node: Node) -> str:
        """The meaning of a value of a well-known Java class."""
        from wirelens.codecs.hessian import java  # only people see annotations and details

        return java.annotate(node)

    def details(self, node: Node) -> list[str]:
        """An exception's stack trace."""
        if node.kind != t.OBJECT and node.kind != t.MAP:
            return []
        from wirelens.codecs.hessian import throwable  # as above

        return throwable.stack_trace(node)


CODECS: Final = (
    Hessian(d.V1),
    Hessian(d.DRAFT),
    Hessian(d.FINAL),
)
