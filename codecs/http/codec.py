"""The codec of HTTP."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import UNKNOWN_METHOD, CallFacts, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.http import reading
from wirelens.codecs.http.decoding import decode_message
from wirelens.codecs.http.evidence import evidence, first_start, next_start
from wirelens.codecs.http.lines import HEAD_END
from wirelens.codecs.node import Json, Node
from wirelens.codecs.payload import Envelope
from wirelens.codecs.tape import Tape


class Http(Envelope):
    """HTTP/1.1 and 1.0."""

    tunnelled = True
    kinds: tuple[str, ...] = ("request", "response")
    may_leave = True

    def __init__(
        self, name: str, tunnel: bool = False, perhaps: bool = False, head: bool = False, cut: bool = False
    ) -> None:
        super().__init__(name)
        self.tunnel: Final = tunnel  # whether what it decodes replies to CONNECT,
        self.perhaps: Final = perhaps  # or may do so,
        self.head: Final = head  # or replies to HEAD
        self.cut: Final = cut  # whether bytes are missing after what it decodes

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decode_message(cursor, tape, final, self.tunnel, self.perhaps, self.cut)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.http.encoding import encode_message  # not needed to decode

        encode_message(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence(data)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync."""
        return next_start(data, start, end)

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """See Codec.first."""
        return first_start(data, start, end, final)

    def leaves(self, root: Node) -> bool:
        """See Codec.leaves: after CONNECT and its acceptance, after an upgrade and its acceptance."""
        return reading.leaves(root, self.tunnel, self.perhaps)

    def left_by(self, head: bytes) -> int:
        """See Codec.left_by."""
        return reading.left_by(head, self.tunnel, self.perhaps)

    def after_head(self, data: bytes) -> i64:
        """See Codec.after_head."""
        match = HEAD_END.match(data)
        return 0 if match is None else match.end()

    def replying_to(self, method: str) -> Codec:
        """See Codec.replying_to."""
        if method == UNKNOWN_METHOD:
            return _PERHAPS_AFTER_CONNECT
        if method == "HEAD":
            return _AFTER_HEAD
        return _AFTER_CONNECT if method == "CONNECT" else CODECS[0]

    def before_gap(self) -> Codec:
        """See Codec.before_gap."""
        return self if self.tunnel or self.perhaps or self.head else _BEFORE_GAP

    def opens(self, head: bytes) -> i64:
        """See Codec.opens."""
        return reading.opens(head)

    def kind(self, root: Node) -> str:
        """See reading.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See reading.summary."""
        return reading.summary(root)

    def derives(self, node: Node) -> bool:
        """See Codec.derives."""
        return super().derives(node) or reading.is_length(node)

    def extent(self, data: bytes) -> i64:
        """See Codec.extent."""
        end = data.find(b"\r\n\r\n")
        if end < 0:
            # what opens a tunnel has its part in the conversation without its other headers
            opens = data.startswith(b"CONNECT ") or self.left_by(data) > 0
            return len(data) if opens else 0
        head = data[:end].lower()
        at = head.find(b"\r\ncontent-length:")
        if at < 0:
            return len(data)
        text = head[at + 17 :].partition(b"\r\n")[0].strip()
        return end + 4 + int(text) if text.isdigit() and len(text) <= 12 else len(data)

    def exchange(self, root: Node) -> Exchange:
        """See reading.exchange."""
        return reading.exchange(root)

    def call(self, root: Node) -> CallFacts:
        """See reading.call."""
        return reading.call(root)


CODECS: Final = (Http("http"),)
_AFTER_CONNECT: Final = Http("http", tunnel=True)
_PERHAPS_AFTER_CONNECT: Final = Http("http", perhaps=True)
_AFTER_HEAD: Final = Http("http", head=True)
_BEFORE_GAP: Final = Http("http", cut=True)
