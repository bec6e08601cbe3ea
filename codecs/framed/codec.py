"""The codec of frames."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs import payload
from wirelens.codecs.codec import CallFacts, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.framed import reading
from wirelens.codecs.framed.decoding import decode_frame
from wirelens.codecs.framed.encoding import encode_frame
from wirelens.codecs.framed.evidence import evidence
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


class Framed(Codec):
    """Hessian after its length in four bytes."""

    carries = payload.PROTOCOLS
    contained = True
    summary_has_kind = True
    kinds: tuple[str, ...] = reading.KINDS

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decode_frame(cursor, tape, final)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        encode_frame(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence(data)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync. A length alone proves nothing."""
        return end

    def kind(self, root: Node) -> str:
        """See reading.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See reading.summary."""
        return reading.summary(root)

    def annotate(self, node: Node) -> str:
        """The meaning of a value of a well-known Java class."""
        return payload.annotate(node)

    def details(self, node: Node) -> list[str]:
        """The stack trace of an exception."""
        return payload.details(node)

    def exchange(self, root: Node) -> Exchange:
        """See reading.exchange."""
        return reading.exchange(root)

    def call(self, root: Node) -> CallFacts:
        """See reading.call."""
        return reading.call(root)


CODECS: Final = (Framed("framed-hessian"),)
