"""What a protocol gives to the rest: the base class of every codec."""

from typing import Final, NamedTuple

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.cursor import Cursor
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


class Evidence(NamedTuple):
    """How strongly bytes speak for a protocol.

    `bits` is the constraint that the bytes satisfied, in bits, less what chance would give (detect.py has
    the theory); `reasons` say what it consists of; `settle` says what more input would settle, or is
    empty. `equal` names protocols under which the bytes have the same meaning. `whole` says that the bytes
    are messages to the last one, `one` that they are exactly one message or value; `at_end` are the bits
    that are added where nothing follows (fewer than 0 where something should). `refused` is the code of
    what is recognised but not supported, where the bytes are that rather than this protocol.
    """

    bits: float
    reasons: tuple[str, ...]
    settle: str = ""
    equal: tuple[str, ...] = ()
    whole: bool = False
    one: bool = False
    at_end: float = 0.0
    refused: str = ""


NO_EVIDENCE: Final = Evidence(0.0, ())


@mypyc_attr(acyclic=True, free_list_len=1)
class Exchange:
    """A message's part in a conversation.

    `role` is "request", "reply", or "" for what has no counterpart; a reply belongs to the latest open
    request of the other direction with the same `key` (empty: the oldest open one).
    """

    def __init__(self, role: str, key: str = "") -> None:
        self.role: Final = role
        self.key: Final = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exchange) and (self.role, self.key) == (other.role, other.key)

    def __hash__(self) -> int:
        return hash((self.role, self.key))


@mypyc_attr(allow_interpreted_subclasses=True)
class Codec:
    """One protocol: bytes to a tape, JSON to bytes, and what only the protocol knows for showing it.

    A codec has no state; one instance serves every stream. `decode` reads exactly one message.
    """

    name: str  # the protocol's id, as in "esnp-line"
    title: str  # one line for lists
    json_opening: bytes  # how a record's JSON starts
    carries: tuple[str, ...] = ()  # protocols whose messages its bodies are, so that it is looked at first
    answers: tuple[str, ...] = ()  # other protocols that the opposite direction of a stream may speak
    tunnelled: bool = False  # whether others carry it often: found further on, it is not the stream's own
    says_kind: bool = False  # whether its summaries say the kind of message, in words of their own

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.json_opening = b'{"protocol": "' + name.encode() + b'", "offset": '

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """Decode the message at the cursor onto an empty tape, its root first; leave the cursor behind it.

        `final` says that no input follows the cursor's end. Raises DecodeError; one with `needed` says
        that the message may go on behind the buffer's end. What was written up to then stays.
        """
        raise NotImplementedError

    def encode(self, message: Json, out: BytesWriter) -> None:
        """Write the bytes of one message of the notation. Raises EncodeError with the path."""
        raise NotImplementedError

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """How strongly the start of a stream (`data`; `other`: the opposite direction's) is this protocol.

        The work is bounded: a few passes over the first 64 KiB at most, however long the data is.
        """
        raise NotImplementedError

    def same_meaning(self, name: str, data: bytes) -> bool:
        """True where bytes that fit this protocol mean the same under the one called `name`."""
        return False

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The position of the next message that can be proved in data[start:end], or `end`."""
        return end

    def kind(self, root: Node) -> str:
        """What sort of message this is, in a word of the protocol ("request")."""
        return root.name or "message"

    def summary(self, root: Node) -> str:
        """The message in one line, as an engineer of the protocol would say it."""
        return self.kind(root)

    def annotate(self, node: Node) -> str:
        """What a node means beyond its value, for people; mostly empty."""
        return ""

    def details(self, node: Node) -> list[str]:
        """Lines that belong under a node, for people: an exception's stack trace; mostly none."""
        return []

    def exchange(self, root: Node) -> Exchange:
        """The message's part in a conversation."""
        return Exchange("")
