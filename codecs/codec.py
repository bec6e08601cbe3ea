"""What a protocol provides: the base class of every codec."""

from typing import Any, Final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.codes import Code
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape


@mypyc_attr(acyclic=True)
class Evidence:
    """How strongly bytes indicate a protocol.

    `bits` is the constraint that the bytes satisfied, in bits, less what chance would give (detection.py has
    the theory); `reasons` list what it consists of; `settle` states what more input would settle, or is
    empty. `equal` names protocols under which the bytes have the same meaning. `whole`: the bytes are
    messages up to the last byte; `one`: they are exactly one message or value. `at_end` are bits to add
    where nothing follows (negative where something should). `refused` is the code of a layout that is
    recognised but not supported, when the bytes belong to that rather than this protocol. `unfinished`: the
    bytes are the start of one value, whose rest may prove it.
    """

    def __init__(
        self,
        bits: float,
        reasons: tuple[str, ...],
        settle: str = "",
        equal: tuple[str, ...] = (),
        whole: bool = False,
        one: bool = False,
        at_end: float = 0.0,
        refused: str = "",
        unfinished: bool = False,
    ) -> None:
        self.bits: Final = bits
        self.reasons: Final = reasons
        self.settle: Final = settle
        self.equal: Final = equal
        self.whole: Final = whole
        self.one: Final = one
        self.at_end: Final = at_end
        self.refused: Final = refused
        self.unfinished: Final = unfinished

    def changed(
        self, bits: float, reasons: tuple[str, ...] | None = None, equal: tuple[str, ...] | None = None
    ) -> "Evidence":
        """The same with other bits, and other reasons or equal protocols if they are given."""
        return Evidence(
            bits,
            self.reasons if reasons is None else reasons,
            self.settle,
            self.equal if equal is None else equal,
            self.whole,
            self.one,
            self.at_end,
            self.refused,
            self.unfinished,
        )


UNKNOWN_METHOD: Final = "?"  # see Codec.replying_to
NO_EVIDENCE: Final = Evidence(bits=0.0, reasons=())


def messages_evidence(
    bits: float, reasons: list[str], messages: i64, whole: bool, at_end: float, settle: str = ""
) -> Evidence:
    """The evidence of messages that follow one another; `at_end` counts if the bytes end with the last."""
    return Evidence(
        bits=bits,
        reasons=tuple(reasons),
        settle=settle,
        whole=whole,
        one=whole and messages == 1,
        at_end=at_end if whole else 0.0,
    )


@mypyc_attr(acyclic=True, free_list_len=1)
class Exchange:
    """A message's part in a conversation.

    `role` is "request", "reply", or "" for a message without a counterpart. A reply belongs to the latest
    open request of the other direction with the same `key` (empty: to the oldest open one).

    Of a request: `optional` if a reply may come but need not; `oneway` if none comes of its own; `method` if
    its reply's framing depends on it; `session` are digests of what the reply must repeat; `part` above 1 if
    it goes on with an open request; `cancels` if it gives that one up. Of a reply: `first_key` is tried
    before `key`; `part` of `parts` in a series (0: unknown); `answers_all` if one-way requests are answered
    too.
    """

    def __init__(
        self,
        role: str,
        key: str = "",
        first_key: str = "",
        optional: bool = False,
        oneway: bool = False,
        part: int = 0,
        parts: int = 0,
        method: str = "",
        session: tuple[int, ...] = (),
        answers_all: bool = False,
        cancels: bool = False,
    ) -> None:
        self.role: Final = role
        self.key: Final = key
        self.first_key: Final = first_key
        self.optional: Final = optional
        self.oneway: Final = oneway
        self.part: Final = part
        self.parts: Final = parts
        self.method: Final = method
        self.session: Final = session
        self.answers_all: Final = answers_all
        self.cancels: Final = cancels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exchange) and (self.role, self.key) == (other.role, other.key)

    def __hash__(self) -> int:
        return hash((self.role, self.key))


@mypyc_attr(acyclic=True, free_list_len=1)
class CallFacts:
    """What a message states of its call; "" or None where it states nothing.

    `service` and `method` are those of a request, `status` (the protocol's name of it) and `exception` (its
    class, or the text of the error) those of a reply; `failed`: whether the reply reports an error.
    `timeout_us`: the client's timeout in microseconds. `trace`: the id of a distributed trace, as its
    carrier has it. `id`: what the protocol pairs by. `oneway`: whether it is a request that asks for none.
    `messages`: how many of a stream's messages end in it, None in protocols whose calls are no streams.
    """

    def __init__(
        self,
        service: str = "",
        method: str = "",
        status: str = "",
        exception: str = "",
        failed: bool = False,
        timeout_us: int | None = None,
        trace: str = "",
        id: str = "",
        oneway: bool = False,
        messages: int | None = None,
    ) -> None:
        self.service: Final = service
        self.method: Final = method
        self.status: Final = status
        self.exception: Final = exception
        self.failed: Final = failed
        self.timeout_us: Final = timeout_us
        self.trace: Final = trace
        self.id: Final = id
        self.oneway: Final = oneway
        self.messages: Final = messages


@mypyc_attr(allow_interpreted_subclasses=True)
class Track:
    """What a codec keeps of a flow from message to message; one for both of its directions, 0 and 1.

    A message decodes by itself; what others make of it is added to its tape afterwards, as members that are
    not encoded.
    """

    def add(self, direction: int, tape: Tape) -> None:
        """Take in the next message of a direction, and add to it what the ones before it make of it."""

    def lost(self, direction: int) -> None:
        """Bytes of a direction are missing here, or did not decode."""

    def save(self) -> tuple[Any, ...]:
        """The state as nested tuples of plain values."""
        return ()

    def load(self, state: tuple[Any, ...]) -> None:
        """Continue with what `save` gave."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Codec:
    """One protocol: bytes to a tape, JSON to bytes, and what only the protocol knows for showing it.

    A codec has no state; one instance serves every stream, and gives each flow that needs it a Track.
    `decode` reads exactly one message. Title, source and usual ports of a protocol are in registry.py.
    """

    name: str  # the protocol's id, as in "esnp-line"
    json_opening: bytes  # how a record's JSON starts
    carries: tuple[str, ...] = ()  # protocols that its bodies contain; it is probed before them
    answers: tuple[str, ...] = ()  # other protocols that the opposite direction of a stream may use
    contained: bool = False  # whether what is inside messages of other protocols looks like it
    tunnelled: bool = False  # whether other protocols often contain it: found mid-stream, it proves nothing
    summary_has_kind: bool = False  # whether its summaries already state the kind of message
    proves_ahead: int = (
        0  # bytes after damage that have to be there, or the end, for the result of `resync` to stand
    )
    may_leave: bool = False  # whether after some messages the stream is of another protocol
    form: str = ""  # the one of its forms that all messages of a connection have, once one of them showed it
    has_forms: bool = False  # whether the next message may show that
    kinds: tuple[str, ...] = ()  # the words of `kind`; it may also give numbers that have no word
    contextual: bool = False  # whether its summaries depend on the messages before
    looked_up: tuple[str, ...] = ()  # short names in messages that the meaning of a call depends on
    codes: dict[str, Code] = {}  # noqa: RUF012  # codes of its notes and errors that codes.py does not have

    def __init__(self, name: str) -> None:
        self.name = name
        self.json_opening = b'{"protocol": "' + name.encode() + b'", "offset": '

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """Decode the message at the cursor onto an empty tape, its root first; leave the cursor after it.

        `final`: no input follows the cursor's end. Raises DecodeError; if it is `incomplete`, the message
        may continue after the buffer's end. What was written before the error stays on the tape.
        """
        raise NotImplementedError

    def track(self) -> Track | None:
        """What is kept of a new flow from message to message."""
        return None

    def encode_text(self, data: bytes, at: i64, braces: i64) -> bytes | None:
        """The bytes of the message at a position of JSON text in UTF-8, which `braces` end, or None.

        None leaves it to `encode`, so a protocol without a faster way has none, and mistakes are found there.
        """
        return None

    def encode(self, message: Json, out: BytesWriter) -> None:
        """Write the bytes of one message of the notation. Raises EncodeError with the path."""
        raise NotImplementedError

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """The evidence that a stream starting with `data` is of this protocol.

        `other` is the start of the opposite direction.

        Bounded work: at most a few passes over the first 64 KiB, however long the data is.
        """
        raise NotImplementedError

    def same_meaning(self, name: str, data: bytes) -> bool:
        """Whether bytes that fit this protocol mean the same under the one called `name`."""
        return False

    def unusual_forms(self, data: bytes) -> i64:
        """How many parts of bytes that fit this protocol need a `$wire`; of protocols with one meaning."""
        return 0

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The position of the next message that can be proved in data[start:end], or `end`."""
        return end

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """Where decoding starts in data[start:end], of a stream whose beginning was not captured.

        The position of the first message that can be proved; `end` if there is none; -1 if that takes more
        bytes (never if `final`). `role`: "request" or "reply" if the direction has no other messages.
        """
        return start

    def leaves(self, root: Node) -> bool:
        """Whether what follows this message in its direction may be of another protocol."""
        return False

    def left_by(self, head: bytes) -> int:
        """What is known of `leaves` if the rest of a message's head is missing: 1 yes, 0 perhaps, -1 no."""
        return -1

    def after_head(self, data: bytes) -> i64:
        """Where a head ends whose beginning is missing and that made the stream leave the protocol; or 0."""
        return 0

    def replying_to(self, method: str) -> "Codec":
        """The codec of replies to a request whose exchange has this `method`.

        UNKNOWN_METHOD: to one that was not captured, before what is of another protocol.
        """
        return self

    def before_gap(self) -> "Codec":
        """The codec of bytes after which some are missing: their end is not that of the stream."""
        return self

    def after(self, root: Node) -> "Codec":
        """The codec of a connection after one of its messages, which may show the form of the others."""
        return self

    def in_form(self, form: str) -> "Codec":
        """The codec of a connection whose messages have this form, as `form` has it."""
        return self

    def opens(self, head: bytes) -> i64:
        """The length of a message, if it may be a reply after which the stream is of another protocol; or 0.

        `head`: its first bytes. It is one if its request was not captured and something else follows that.
        """
        return 0

    def kind(self, root: Node) -> str:
        """What sort of message this is, in a word of the protocol ("request")."""
        return root.name or "message"

    def summary(self, root: Node) -> str:
        """The message in one line, in the protocol's own terms."""
        return self.kind(root)

    def context(self, root: Node, before: str | None, answered: str) -> str:
        """What the conversation makes of this message, in a word for `summary_in`; empty if nothing.

        `before`: the last such word of its direction, None if its start was not captured; `answered`: the key
        of the request that it answers.
        """
        return ""

    def summary_in(self, root: Node, context: str) -> str:
        """As `summary`, of a message in a conversation; `context` is not empty."""
        return self.summary(root)

    def annotate(self, node: Node) -> str:
        """What a node means beyond its value, for people; usually empty."""
        return ""

    def details(self, node: Node) -> list[str]:
        """Lines to show under a node, such as an exception's stack trace; usually none."""
        return []

    def identifies(self, node: Node) -> bool:
        """Whether a member of the message's layout merely numbers messages: an id, a sequence number."""
        parent = node.parent
        return (
            node.field.name in ("id", "seq")
            and parent is not None
            and (parent.parent is None or parent.parent.parent is None)
        )

    def derives(self, node: Node) -> bool:
        """Whether a member of the message's layout follows from others: a length, a checksum."""
        return node.field.name in ("length", "message_length", "head_length", "crc", "compressed")

    def exchange(self, root: Node) -> Exchange:
        """The message's part in a conversation."""
        return Exchange("")

    def extent(self, data: bytes) -> i64:
        """The length that the head of a message declares whose last bytes are missing; 0 if the head is cut.

        The head has what `exchange` needs. The length is at least that of `data` if it declares none.
        """
        return 0

    def call(self, root: Node) -> CallFacts:
        """What the message states of its call. By default its kind is the method, and its key the id."""
        exchange = self.exchange(root)
        method = self.kind(root) if exchange.role == "request" else ""
        return CallFacts(method=method, id=exchange.key, oneway=exchange.oneway)
