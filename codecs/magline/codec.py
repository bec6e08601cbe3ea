"""The two Magline codecs: frames with the specified head, and with the deployed one."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import CallFacts, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.magline import decoding, evidence, reading
from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.magline.fields import u32_at
from wirelens.codecs.magline.specified import SpecifiedHead
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


class SpecifiedMagline(Codec):
    """Frames with the specified 16-byte head."""

    kinds: tuple[str, ...] = reading.SPECIFIED_KINDS
    contextual = True

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decoding.decode_specified(cursor, tape, final)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.magline.encoding import encode_specified  # not needed to decode

        encode_specified(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence.probe_specified(data, other)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync."""
        return evidence.resync_specified(data, start, end)

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """See Codec.first."""
        return evidence.first_specified(data, start, end, final)

    def kind(self, root: Node) -> str:
        """See Codec.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See Codec.summary."""
        return reading.specified_summary(root)

    def context(self, root: Node, before: str | None, answered: str) -> str:
        """See Codec.context."""
        return reading.specified_context(root, before, answered)

    def summary_in(self, root: Node, context: str) -> str:
        """See Codec.summary_in."""
        return reading.specified_summary(root, context)

    def annotate(self, node: Node) -> str:
        """See Codec.annotate."""
        return reading.specified_annotation(node)

    def exchange(self, root: Node) -> Exchange:
        """See Codec.exchange."""
        return reading.specified_exchange(root)

    def extent(self, data: bytes) -> i64:
        """See Codec.extent."""
        return SpecifiedHead(data, 0).total if len(data) >= v.SPECIFIED_SIZE else 0

    def call(self, root: Node) -> CallFacts:
        """See Codec.call."""
        return reading.specified_call(root)


class DeployedMagline(Codec):
    """Frames with the deployed 12-byte head."""

    kinds: tuple[str, ...] = reading.DEPLOYED_KINDS

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decoding.decode_deployed(cursor, tape, final)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.magline.encoding import encode_deployed  # not needed to decode

        encode_deployed(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence.probe_deployed(data, other)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync."""
        return evidence.resync_deployed(data, start, end)

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """See Codec.first."""
        return evidence.first_deployed(data, start, end, final)

    def kind(self, root: Node) -> str:
        """See Codec.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See Codec.summary."""
        return reading.deployed_summary(root)

    def annotate(self, node: Node) -> str:
        """See Codec.annotate."""
        return reading.deployed_annotation(node)

    def exchange(self, root: Node) -> Exchange:
        """See Codec.exchange."""
        return reading.deployed_exchange(root)

    def extent(self, data: bytes) -> i64:
        """See Codec.extent."""
        return v.DEPLOYED_SIZE + u32_at(data, 8, True) if len(data) >= v.DEPLOYED_SIZE else 0

    def call(self, root: Node) -> CallFacts:
        """See Codec.call."""
        return reading.deployed_call(root)


CODECS: Final = (
    SpecifiedMagline("magline"),
    DeployedMagline("magline-old"),
)
