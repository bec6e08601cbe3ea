"""The codec of Dubbo."""

from typing import Final

from librt.strings import BytesWriter, read_i32_be
from mypy_extensions import i64

from wirelens.codecs.codec import CallFacts, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.dubbo import reading
from wirelens.codecs.dubbo.decoding import decode_message
from wirelens.codecs.dubbo.evidence import evidence, next_header
from wirelens.codecs.dubbo.vocabulary import HEADER_SIZE
from wirelens.codecs.node import Json, Node
from wirelens.codecs.payload import PROTOCOLS, Envelope
from wirelens.codecs.tape import Tape


class Dubbo(Envelope):
    """Dubbo's own protocol, as servers of Apache Dubbo and dubbox implement it."""

    carries: tuple[str, ...] = (*PROTOCOLS, "jsonb")
    kinds: tuple[str, ...] = ("request", "oneway", "response", "heartbeat", "event")

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decode_message(cursor, tape, final)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.dubbo.encoding import encode_message  # not needed to decode

        encode_message(message, out)

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
        if len(data) < HEADER_SIZE:
            return 0
        return HEADER_SIZE + (i64(read_i32_be(data, 12)) & 0xFFFFFFFF)

    def call(self, root: Node) -> CallFacts:
        """See reading.call."""
        return reading.call(root)


CODECS: Final = (Dubbo("dubbo"),)
