"""The codec of frames."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import CallFacts, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.framed import reading
from wirelens.codecs.framed.decoding import decode_frame
from wirelens.codecs.framed.evidence import evidence
from wirelens.codecs.node import Json, Node
from wirelens.codecs.payload import Envelope
from wirelens.codecs.tape import Tape


class Framed(Envelope):
    """Hessian after its length in four bytes."""

    contained = True
    kinds: tuple[str, ...] = reading.KINDS

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decode_frame(cursor, tape, final)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.framed.encoding import encode_frame  # not needed to decode

        encode_frame(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence(data)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync. A length alone proves nothing."""
        return end

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """See Codec.first."""
        return start

    def kind(self, root: Node) -> str:
        """See reading.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See reading.summary."""
        return reading.summary(root)

    def exchange(self, root: Node) -> Exchange:
        """See reading.exchange."""
        return reading.exchange(root)

    def call(self, root: Node) -> CallFacts:
        """See reading.call."""
        return reading.call(root)


CODECS: Final = (Framed("framed-hessian"),)
