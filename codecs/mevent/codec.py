"""The mevent codec: both numberings of types, with and without the prefix of TCP."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs.codec import CallFacts, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.mevent import decoding, evidence, reading
from wirelens.codecs.mevent.vocabulary import REQUEST_HEAD
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape

PREFIXED: Final = "prefixed"  # forms: each message of a connection has the prefix of TCP,
BARE: Final = "bare"  # or none has


class Mevent(Codec):
    """mevent in both numberings, with and without the prefix of TCP."""

    kinds: tuple[str, ...] = ("request", "reply")

    def __init__(self, name: str, form: str = "") -> None:
        super().__init__(name)
        self.form = form
        self.has_forms = not form
        self.prefixed: Final = form == PREFIXED

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        decoding.decode(cursor, tape, final, self.prefixed)

    def after(self, root: Node) -> Codec:
        """See Codec.after."""
        return self.in_form(BARE if root.member("prefix") is None else PREFIXED)

    def in_form(self, form: str) -> Codec:
        """See Codec.in_form."""
        return _FORMS.get(form, self)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode."""
        from wirelens.codecs.mevent.encoding import encode  # not needed to decode

        encode(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """See Codec.probe."""
        return evidence.probe(data, other)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """See Codec.resync."""
        return evidence.resync(data, start, end)

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """See Codec.first."""
        return evidence.first_message(data, start, end, final, role)

    def kind(self, root: Node) -> str:
        """See Codec.kind."""
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        """See Codec.summary."""
        return reading.summary(root)

    def annotate(self, node: Node) -> str:
        """See Codec.annotate."""
        return reading.annotate(node)

    def exchange(self, root: Node) -> Exchange:
        """See Codec.exchange."""
        return reading.exchange(root)

    def extent(self, data: bytes) -> i64:
        """See Codec.extent."""
        return decoding.prefix_length(data, 0, len(data), True) if len(data) >= 4 + REQUEST_HEAD else 0

    def call(self, root: Node) -> CallFacts:
        """See Codec.call."""
        return reading.call(root)


CODECS: Final = (Mevent("mevent"),)
_FORMS: Final[dict[str, Codec]] = {form: Mevent("mevent", form) for form in (PREFIXED, BARE)}
