"""The codec of Bolt."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.bolt import reading
from wirelens.codecs.bolt.decoding import declared_length, decode_frame
from wirelens.codecs.bolt.evidence import evidence, next_header
from wirelens.codecs.codec import CallFacts, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.node import Json, Node
from wirelens.codecs.payload import Envelope
from wirelens.codecs.tape import Tape


class Bolt(Envelope):
    """Bolt, as SOFABolt and SOFA RPC implement it."""

    kinds: tuple[str, ...] = ("request", "oneway", "response", "heartbeat")

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decode_frame(cursor, tape, final)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.bolt.encoding import encode_frame  # not needed to decode

        encode_frame(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence(self, data)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync."""
        return next_header(data, start, end)

    def kind(self, root: Node) -> str:
        """See reading.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See reading.summary."""
        return reading.summary(root)

    def annotate(self, node: Node) -> str:
        """See reading.annotate."""
        return reading.annotate(node)

    def exchange(self, root: Node) -> Exchange:
        """See reading.exchange."""
        return reading.exchange(root)

    def extent(self, data: bytes) -> i64:
        """See Codec.extent."""
        return declared_length(data)

    def call(self, root: Node) -> CallFacts:
        """See reading.call."""
        return reading.call(root)


CODECS: Final = (Bolt("bolt"),)
