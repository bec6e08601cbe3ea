"""The two ESNP codecs: the same bytes in the vocabulary of lines or of frames."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import CallFacts, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.esnp import decoding, evidence, reading
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


class Esnp(Codec):
    """ESNP in one of its two vocabularies."""

    kinds: tuple[str, ...] = ("request", "response", "info", "event", "message")
    looked_up: tuple[str, ...] = (reading.STATUS,)

    def __init__(self, name: str, lines: bool) -> None:
        super().__init__(name)
        self.lines = lines

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decoding.decode(cursor, tape, final, self.lines)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.esnp.encoding import encode  # not needed to decode

        encode(message, out, self.lines)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence.probe(data, other, self.lines)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync."""
        return evidence.resync(data, start, end)

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """See Codec.first."""
        return evidence.first_message(data, start, end, final)

    def kind(self, root: Node) -> str:
        """See Codec.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See Codec.summary."""
        return reading.summary(root)

    def annotate(self, node: Node) -> str:
        """See Codec.annotate."""
        return reading.annotate(node)

    def identifies(self, node: Node) -> bool:
        """See Codec.identifies."""
        return reading.identifies(node)

    def exchange(self, root: Node) -> Exchange:
        """See Codec.exchange."""
        return reading.exchange(root)

    def extent(self, data: bytes) -> i64:
        """See Codec.extent. There is no head: ids may come in any place, and no length is declared."""
        return len(data)

    def call(self, root: Node) -> CallFacts:
        """See Codec.call."""
        return reading.call(root)


CODECS: Final = (
    Esnp("esnp-line", True),
    Esnp("esnp-frame", False),
)
