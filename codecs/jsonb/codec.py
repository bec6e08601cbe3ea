"""The codec of JSONB."""

from typing import Final

from librt.strings import BytesWriter

from wirelens.codecs.codec import Codec, Evidence
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.hessian.class_notes import class_notes
from wirelens.codecs.jsonb import reading
from wirelens.codecs.jsonb.decoding import decode_message
from wirelens.codecs.jsonb.evidence import evidence
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


class Jsonb(Codec):
    """JSONB, each value of which is a message."""

    kinds: tuple[str, ...] = reading.KINDS
    contained = True

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. Classes known from attacks are noted, also in damaged messages."""
        try:
            decode_message(cursor, tape, final)
        finally:
            class_notes(tape)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.jsonb.encoding import encode_message  # not needed to decode

        encode_message(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence(data)

    def kind(self, root: Node) -> str:
        """See reading.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See reading.summary."""
        return reading.summary(root)

    def annotate(self, node: Node) -> str:
        """See reading.annotate."""
        return reading.annotate(node)

    def details(self, node: Node) -> list[str]:
        """See reading.details."""
        return reading.details(node)


CODECS: Final = (Jsonb("jsonb"),)
