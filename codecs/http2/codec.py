"""The codec of HTTP/2."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import CallFacts, Codec, Evidence, Exchange, Track
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.hessian import throwable
from wirelens.codecs.http2 import reading
from wirelens.codecs.http2 import vocabulary as v
from wirelens.codecs.http2.decoding import decode_message
from wirelens.codecs.http2.evidence import WINDOW, evidence, first_start, next_start
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


class Http2(Codec):
    """HTTP/2, each frame of which is a message."""

    kinds: tuple[str, ...] = reading.KINDS
    summary_has_kind = True
    proves_ahead = 2 * WINDOW

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decode_message(cursor, tape, final)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.http2.encoding import encode_message  # not needed to decode

        encode_message(message, out)

    def track(self) -> Track | None:
        """See Codec.track."""
        from wirelens.codecs.http2.streams import Streams  # not needed to detect

        return Streams()

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence(data)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync."""
        return next_start(data, start, end)

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """See Codec.first."""
        return first_start(data, start, end, final)

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
        """The stack trace of an exception."""
        return throwable.stack_trace(node)

    def identifies(self, node: Node) -> bool:
        """See Codec.identifies: the number of a stream."""
        return node.field.name == "stream"

    def derives(self, node: Node) -> bool:
        """See Codec.derives."""
        return super().derives(node) or reading.derives(node)

    def extent(self, data: bytes) -> i64:
        """See Codec.extent."""
        return v.HEAD + int.from_bytes(data[:3], "big") if len(data) >= v.HEAD else 0

    def exchange(self, root: Node) -> Exchange:
        """See reading.exchange."""
        return reading.exchange(root)

    def call(self, root: Node) -> CallFacts:
        """See reading.call."""
        return reading.call(root)


CODECS: Final = (Http2("http2"),)
