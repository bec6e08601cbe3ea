"""Messages made of the records of a direction: where their bytes came from, their notes, their pairs."""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.captures.flow import Flow, Piece
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.codes import Note
from wirelens.codecs.late_records import late_records
from wirelens.codecs.pairing import Pairs
from wirelens.codecs.record import Record
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.sides import ARRIVAL_COST, PACKETS, Arrival, Side

NOTES_KEPT: Final = 1000  # notes that no record carries

_COUNTERPARTS: Final = {"request": "reply", "reply": "request"}
_NO_ARRIVALS: Final[tuple[Arrival, ...]] = ()


@mypyc_attr(acyclic=True, free_list_len=1)
class Message:
    """A message of a conversation: its record, and where it came from.

    `direction` is its flow's: 0 or 1. `time_us`: capture time of the packet that completed it, microseconds
    since 1970. `pair_number` is that of a request and its replies, 0 without a counterpart; `latency_us` is
    the time from the request to this reply, None for everything else and where the capture does not show it.
    `arrivals`: those that have bytes of the record, in order, if `Conversations` was asked for them; the
    first may begin before the record and the last end after it. `exchange`: its part in the conversation,
    None for what is not a message. `facts`: what it states of its call, if it is kept for later.
    """

    def __init__(
        self,
        flow: Flow,
        direction: int,
        record: Record,
        time_us: int,
        packets: tuple[int, ...],
        pair_number: int,
        latency_us: int | None,
        arrivals: tuple[Arrival, ...] = _NO_ARRIVALS,
        exchange: Exchange | None = None,
    ) -> None:
        self.flow: Final = flow
        self.direction: Final = direction
        self.record: Final = record
        self.time_us: Final = time_us
        self.packets: Final = packets
        self.pair_number: Final = pair_number
        self.latency_us: Final = latency_us
        self.arrivals: Final = arrivals
        self.exchange: Final = exchange
        self.facts: CallFacts | None = None

    @property
    def pair(self) -> str:
        """The pair's name among those of all flows, "" for none."""
        return f"{self.flow.number}.{self.pair_number}" if self.pair_number else ""


class Messages:
    """Makes the messages of all flows; which records they are made of, `Conversations` finds.

    `sides`: all directions, by `key_of`. `held`: the bytes of incomplete messages, and the cost of arrivals.
    The other attributes are as in `Conversations`.
    """

    def __init__(
        self, protocol: str | None, sources: bool, file: str, arrivals: bool, files: tuple[str, ...]
    ) -> None:
        self.protocol: Final = protocol
        self.sources: Final = sources
        self.file: Final = file
        self.files: Final = files
        self.arrivals: Final = arrivals
        self.foreign = 0
        self.foreign_flows = 0
        self.unattached_notes: list[tuple[str, Note]] = []
        self.sides: dict[int, Side] = {}
        self.held: i64 = 0
        self.pairs: Final = Pairs()

    def begin(self, flow: Flow, direction: int) -> Side:
        """The state of a direction that had none."""
        raise NotImplementedError

    def watch(self, side: Side, messages: list[Message] | None = None) -> None:
        """Let a direction's decoder know which request the next reply is to, if its framing depends on it."""
        raise NotImplementedError

    def undecoded(self) -> list[tuple[int, int]]:
        """The bytes that are in no record yet: how many, and the number of the packet they came in."""
        return [part for side in self.sides.values() for part in side.undecoded()]

    def put(self, side: Side) -> None:
        """Have a direction among all, and know the other one of its flow."""
        key = key_of(side.flow, side.direction)
        self.sides[key] = side
        other = self.sides.get(key ^ 1)
        if other is not None:
            side.other = other
            other.other = side

    def role_of(self, side: Side) -> str:
        """Whether a direction has only requests or only replies, "" if that is not known."""
        other = side.other
        role = side.role
        if not role and other is not None:
            role = _COUNTERPARTS.get(other.role, "")
        return "" if role == "both" else role

    def keep_notes(self, side: Side) -> None:
        """Keep the notes that no record carries."""
        notes = side.notes
        if notes is not None:
            for note in notes:
                if note.code != "joined-middle" and len(self.unattached_notes) < NOTES_KEPT:
                    self.unattached_notes.append((side.located(self.file).flow, note))

    def give_message(self, side: Side, record: Record, messages: list[Message]) -> None:
        """Append a record's message: where its bytes came from, its notes, its pair."""
        end: i64 = record.offset + record.length
        freed: i64 = record.length
        time_us: i64 = side.flow.last_us
        packets: tuple[int, ...] = ()
        arrivals = side.arrivals
        first: i64 = side.arrival
        at = first
        count: i64 = len(arrivals)
        after: i64 = first  # of the last arrival that has bytes of the record
        if first < count:
            side.began_us = arrivals[first].time_us
            side.acked_before = arrivals[first].acked
        while at < count:
            arrival = arrivals[at]
            time_us = arrival.time_us
            if len(packets) < PACKETS:
                packets = packets + arrival.packets if packets else arrival.packets
            else:
                packets = packets[: PACKETS - 1] + arrival.packets
            after = at + 1
            if arrival.end > end:
                break
            at += 1
            freed += ARRIVAL_COST
            if arrival.end == end:
                break
        sources = tuple(arrivals[first:after]) if self.arrivals else _NO_ARRIVALS
        if at == count:
            arrivals.clear()
            at = 0
        elif 2 * at > count:
            del arrivals[:at]
            at = 0
        side.arrival = at
        side.taken = end
        side.held -= freed
        self.held -= freed
        notes = side.notes
        if notes is not None:
            attached = [note for note in notes if note.offset <= end]
            if attached:
                rest = [note for note in notes if note.offset > end]
                side.notes = rest or None
                record.extra_notes = [*(record.extra_notes or ()), *attached]
        pair: i64 = 0
        latency: int | None = None
        exchange: Exchange | None = None
        watched: Side | None = None
        root = record.root
        if record.codec is None:
            self._count_foreign(side, record)
        elif root is None:
            side.damaged = side.broken = True
            root = record.headed  # half of a call
        if root is not None and record.codec is not None:
            exchange = record.codec.exchange(root)
            role = exchange.role
            if role:
                if role != side.role:
                    side.role = role if not side.role else "both"
                other = side.other
                if other is None:
                    other = self.begin(side.flow, 1 - side.direction)
                if role == "reply":
                    pair, asked_us = self.pairs.answered(side, other, exchange, record, time_us)
                    if 0 < asked_us <= time_us:
                        latency = int(time_us - asked_us)
                else:
                    pair = self.pairs.requested(side, exchange, record, time_us)
                if record.codec.may_leave:
                    watched = side if role == "reply" else other
            if record.codec.contextual:
                before = None if side.incomplete and not side.context else side.context
                record.context = record.codec.context(root, before, self.pairs.key if role == "reply" else "")
                side.context = record.context or side.context
        if self.sources:
            latency_us: i64 = -1 if latency is None else latency
            record.origin = side.origin(self.file, self.files, packets, time_us, pair, latency_us)
        messages.append(
            Message(
                side.flow,
                side.direction,
                record,
                int(time_us),
                packets,
                int(pair),
                latency,
                sources,
                exchange,
            )
        )
        if watched is not None:
            self.watch(watched, messages)

    def give_late(self, side: Side, piece: Piece, messages: list[Message]) -> None:
        """Append what late bytes hold: messages in no pair, and errors."""
        protocol = side.protocol
        if protocol == UNKNOWN and self.protocol is not None:
            protocol = self.protocol
        for record, arrivals, packets in late_records(piece, protocol, self.role_of(side)):
            if record.codec is None:
                self._count_foreign(side, record)
            time_us = arrivals[-1].time_us
            if self.sources:
                record.origin = side.origin(self.file, self.files, packets, time_us, 0, -1)
            sources = arrivals if self.arrivals else _NO_ARRIVALS
            messages.append(
                Message(side.flow, side.direction, record, int(time_us), packets, 0, None, sources)
            )

    def _count_foreign(self, side: Side, record: Record) -> None:
        self.foreign += record.length
        if not side.foreign:
            side.foreign = True
            other = side.other
            if other is None or not other.foreign:
                self.foreign_flows += 1

    def begin_afresh(self, side: Side, rest: bytes, phase: i64) -> list[Piece]:
        """Forget a direction's protocol; the pieces of the rest of its bytes."""
        self.held -= side.held
        return side.begin_afresh(rest, phase)


def accepts(side: Side, messages: list[Message]) -> bool:
    """Whether the last message of a direction is none that only asks to leave the protocol."""
    for message in reversed(messages):
        if message.flow is side.flow and message.direction == side.direction:
            return message.exchange is None or message.exchange.role != "request"
    return False


def key_of(flow: Flow, direction: int) -> int:
    """The key of a direction in `Messages.sides`; that of the opposite one differs in the last bit."""
    return 2 * flow.number + direction


def completed_us(message: Message) -> int:
    """The time of a message, to sort by."""
    return message.time_us


def known_messages(messages: list[Message]) -> list[Message]:
    """The messages of known protocols."""
    return [message for message in messages if message.record.codec is not None]
