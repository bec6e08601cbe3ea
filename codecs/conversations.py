"""From pieces of streams to messages: each direction of each flow decoded, requests and replies paired.

`Conversations.feed` takes the pieces that `captures.Reader` gives and returns the messages that they
complete. A direction's protocol is found once and stays; the two directions help each other. Memory is
bounded by the constants below.
"""

from typing import Final, NamedTuple

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import registry
from wirelens.codecs.captures.streams import Flow, Piece
from wirelens.codecs.codes import Note
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.detect import MARGIN, Detection, detect
from wirelens.codecs.record import UNKNOWN, Origin, Place, Record

HEAD: Final = 1 << 14
"""So many bytes of a direction may wait for its protocol to be found."""
ALL_HEADS: Final = 1 << 25
"""The same of all directions together; then those that wait longest are given up as unknown."""
ALL_HELD: Final = 1 << 26
"""So many bytes of messages that are not complete may wait; then the longest is given up as truncated."""
MARK_COST: Final = 128
"""What a piece counts beside its bytes as long as no record has taken them."""
OPEN_REQUESTS: Final = 1 << 10
"""So many requests of one direction may wait for their replies; the oldest are forgotten."""
PACKETS: Final = 64
"""So many packet numbers a record names at most: its first ones and its last."""
ANSWER_HEAD: Final = 4
"""Bytes that tell which of several protocols answers another."""
NOTES_KEPT: Final = 1000
"""So many notes that no record has are kept."""
PORT_BITS: Final = 4.0
"""What a protocol's usual port adds to the evidence of its bytes."""


@mypyc_attr(acyclic=True, free_list_len=1)
class Said:
    """A message of a conversation.

    `direction` is its flow's: 0 or 1. `time_us`: capture time of its last byte, microseconds since 1970.
    `pair_number` is that of a request and its reply, 0 for what has no counterpart; `latency_us` is a reply's
    time after its request, None where the capture's clock does not tell it, and for all else.
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
    ) -> None:
        self.flow: Final = flow
        self.direction: Final = direction
        self.record: Final = record
        self.time_us: Final = time_us
        self.packets: Final = packets
        self.pair_number: Final = pair_number
        self.latency_us: Final = latency_us

    @property
    def pair(self) -> str:
        """The pair's name among those of all flows, "" for none."""
        return f"{self.flow.number}.{self.pair_number}" if self.pair_number else ""


class Verdict(NamedTuple):
    """How a direction's protocol was found: `bits` and `reasons` as in detection, none if it was given."""

    protocol: str
    bits: float
    reasons: tuple[str, ...]


@mypyc_attr(acyclic=True, free_list_len=1)
class _Mark:
    """Where bytes of a stream came in: those before `end` that no earlier mark has."""

    def __init__(self, end: i64, time_us: i64, packets: tuple[int, ...]) -> None:
        self.end: Final[i64] = end
        self.time_us: Final[i64] = time_us
        self.packets: Final = packets


@mypyc_attr(acyclic=True, free_list_len=1)
class _Request:
    def __init__(self, pair: i64, time_us: i64) -> None:
        self.pair: Final[i64] = pair
        self.time_us: Final[i64] = time_us


class _Open:
    """The requests of one direction that wait for their replies: by key, and those without one in order."""

    def __init__(self) -> None:
        self.keyed: dict[str, list[_Request]] = {}
        self.count: i64 = 0  # of those with a key
        self.queue: list[_Request] = []

    def add(self, key: str, request: _Request) -> None:
        if not key:
            self.queue.append(request)
            if len(self.queue) > OPEN_REQUESTS:
                del self.queue[0]
            return
        self.keyed.setdefault(key, []).append(request)
        self.count += 1
        if self.count > OPEN_REQUESTS:
            oldest = next(iter(self.keyed))
            self.count -= len(self.keyed.pop(oldest))

    def take(self, key: str) -> _Request | None:
        """The request that a reply belongs to; it is no longer open."""
        if not key:
            return self.queue.pop(0) if self.queue else None
        requests = self.keyed.get(key)
        if requests is None:
            return None
        self.count -= 1
        request = requests.pop()
        if not requests:
            del self.keyed[key]
        return request


class _Side:
    """One direction. Tens of thousands may be open at once, so it holds nothing that it does not need."""

    def __init__(self, flow: Flow, direction: int) -> None:
        self.flow: Final = flow
        self.direction: Final = direction
        self.decoder: Decoder | None = None
        self.waiting: list[Piece] | None = None  # until the protocol is found
        self.waiting_bytes: i64 = 0
        self.tried: i64 = 0  # bytes at the last attempt to find it
        self.protocol = UNKNOWN
        self.marks: list[_Mark] = []
        self.mark: i64 = 0  # the first of them that some byte still needs
        self.notes: list[Note] | None = None
        self.held: i64 = 0  # what is in the decoder and in no record yet: bytes, and the cost of marks
        self.position: i64 = 0
        self.requests: _Open | None = None
        self.place: Place | None = None
        self.ended = False
        self.foreign = False  # whether bytes of no known protocol came

    @property
    def named(self) -> bool:
        return self.protocol != UNKNOWN

    def head(self) -> bytes:
        waiting = self.waiting
        return b"" if waiting is None else b"".join([piece.data for piece in waiting])

    def note(self, notes: tuple[Note, ...]) -> None:
        if self.notes is None:
            self.notes = []
        self.notes.extend(notes)


class Conversations:
    """Decodes all flows of a capture.

    `protocol` None finds each flow's. `verdicts`, where given, gets the verdict on each direction under
    (flow number, direction) when it is found. Without `sources` the records get no `source`; `file` is the
    file's name in it. `foreign` counts bytes of no known protocol, `foreign_flows` the flows that have such.
    `unsaid` has the first notes on flows of known protocols that no record has, each behind its direction as
    text.
    """

    def __init__(
        self,
        protocol: str | None = None,
        verdicts: dict[tuple[int, int], Verdict] | None = None,
        sources: bool = True,
        file: str = "",
    ) -> None:
        self.protocol: Final = protocol
        self.verdicts: Final = verdicts
        self.sources: Final = sources
        self.file: Final = file
        self.foreign = 0
        self.foreign_flows = 0
        self.unsaid: list[tuple[str, Note]] = []
        self._sides: dict[int, _Side] = {}  # by `_key`
        self._undecided: dict[int, _Side] = {}  # those with bytes waiting, oldest first
        self._heads: i64 = 0
        self._held: i64 = 0
        self._pairs: i64 = 0

    def feed(self, piece: Piece) -> list[Said]:
        """The messages that a piece completes."""
        said: list[Said] = []
        self._feed(piece, said)
        return said

    def feed_all(self, pieces: list[Piece]) -> list[Said]:
        """The messages that pieces complete."""
        said: list[Said] = []
        for piece in pieces:
            self._feed(piece, said)
        return said

    def _feed(self, piece: Piece, said: list[Said]) -> None:
        flow = piece.flow
        direction = piece.direction
        key = _key(flow, direction)
        side = self._sides.get(key)
        if side is None:
            side = _Side(flow, direction)
            self._sides[key] = side
            if self.protocol is not None:
                self._settle(side, Verdict(self.protocol, 0.0, ()), said)
        if side.decoder is None:
            self._wait(key, side, piece, said)
        else:
            self._decode(side, piece, said)
        if self._held > ALL_HELD:
            self._relieve(said)
        if piece.end:
            self._end(side, said)

    def close(self) -> list[Said]:
        """End every flow that has not ended: the messages left."""
        said: list[Said] = []
        for side in list(self._sides.values()):
            if not side.ended:
                self._end(side, said)
        for side in self._sides.values():  # of which the other direction has nothing
            if side.named:
                self._leave(side)
        return said

    def _end(self, side: _Side, said: list[Said]) -> None:
        if side.decoder is None:
            side.ended = True
            self._decide(side, True, said)
        if side.decoder is not None:
            self._give(side, side.decoder.close(), said)
        side.ended = True
        self._held -= side.held
        side.held = 0
        other = self._opposite(side)
        if other is not None and other.ended:
            if side.named or other.named:
                self._leave(side)
                self._leave(other)
            del self._sides[_key(side.flow, side.direction)]
            del self._sides[_key(side.flow, other.direction)]

    def _opposite(self, side: _Side) -> _Side | None:
        """The other direction of its flow, where anything is known of it."""
        return self._sides.get(_key(side.flow, 1 - side.direction))

    def _leave(self, side: _Side) -> None:
        """Keep the notes that have come to no record."""
        notes = side.notes
        if notes is not None:
            for note in notes:
                if note.code != "joined-middle" and len(self.unsaid) < NOTES_KEPT:
                    self.unsaid.append((self._place(side).flow, note))

    # --- which protocol -------------------------------------------------------------------------------

    def _wait(self, key: int, side: _Side, piece: Piece, said: list[Said]) -> None:
        """Keep a piece until the direction's protocol is found."""
        size: i64 = len(piece.data)
        if size or piece.gap or piece.notes:
            if side.waiting is None:
                side.waiting = []
            side.waiting.append(piece)
        side.waiting_bytes += size
        self._heads += size
        if side.waiting_bytes:
            self._undecided[key] = side
        if size and (side.waiting_bytes >= 2 * side.tried or side.waiting_bytes >= HEAD):
            self._decide(side, side.waiting_bytes >= HEAD, said)
        while self._heads > ALL_HEADS and self._undecided:
            oldest = self._undecided[next(iter(self._undecided))]
            self._decide(oldest, True, said)

    def _decide(self, side: _Side, final: bool, said: list[Said]) -> None:
        """Look for the protocol; with `final` it is unknown where none is found."""
        data = side.head()
        side.tried = len(data)
        other = self._opposite(side)
        opposite = b"" if other is None else other.head()
        verdict = Verdict(UNKNOWN, 0.0, ())
        found: Detection | None = None
        if data:
            whole = side.ended or side.flow.transport == "udp"
            found = detect(data, opposite, whole, False)
            verdict = _verdict(found, side.flow)
        if found is not None and verdict.protocol == UNKNOWN:
            if other is not None and other.named and other.decoder is not None:
                # both sides of a conversation speak the same protocol, or one that answers it
                answers = registry.get(other.protocol).answers
                if answers and len(data) < ANSWER_HEAD and not final:
                    return
                verdict = _answer(found, other.protocol, answers)
        if verdict.protocol == UNKNOWN and not final:
            return
        self._settle(side, verdict, said)
        if side.named and other is not None and other.decoder is None and other.waiting_bytes:
            self._decide(other, False, said)

    def _settle(self, side: _Side, verdict: Verdict, said: list[Said]) -> None:
        """Take a protocol for a direction and decode what waited for it."""
        side.protocol = verdict.protocol
        if self.verdicts is not None:
            self.verdicts[(side.flow.number, side.direction)] = verdict
        side.decoder = Decoder(verdict.protocol)
        self._undecided.pop(_key(side.flow, side.direction), None)
        self._heads -= side.waiting_bytes
        side.waiting_bytes = 0
        waiting = side.waiting
        side.waiting = None
        if waiting is not None:
            for piece in waiting:
                self._decode(side, piece, said)

    # --- messages -------------------------------------------------------------------------------------

    def _decode(self, side: _Side, piece: Piece, said: list[Said]) -> None:
        decoder = side.decoder
        assert decoder is not None
        if piece.notes:
            side.note(piece.notes)
        if piece.gap:
            self._give(side, decoder.gap(piece.gap), said)
        size: i64 = len(piece.data)
        if size == 0:
            return
        side.position = piece.offset + size
        side.marks.append(_Mark(side.position, piece.time_us, piece.packets))
        side.held += size + MARK_COST
        self._held += size + MARK_COST
        if piece.flow.transport == "udp":
            self._give(side, decoder.close(piece.data), said)
        else:
            self._give(side, decoder.feed(piece.data), said)

    def _relieve(self, said: list[Said]) -> None:
        """Give up the longest message that waits for its end."""
        longest: _Side | None = None
        for side in self._sides.values():
            if longest is None or side.held > longest.held:
                longest = side
        if longest is not None and longest.decoder is not None:
            text = f"more than {ALL_HELD} bytes of messages waited"
            longest.note((Note("capture-limit", int(longest.position), text),))
            self._give(longest, longest.decoder.close(), said)

    def _give(self, side: _Side, records: list[Record], said: list[Said]) -> None:
        """Say where records come from, and pair them."""
        for record in records:
            self._say(side, record, said)

    def _say(self, side: _Side, record: Record, said: list[Said]) -> None:
        end: i64 = record.offset + record.length
        freed: i64 = record.length
        time_us: i64 = side.flow.last_us
        packets: tuple[int, ...] = ()
        marks = side.marks
        at: i64 = side.mark
        count: i64 = len(marks)
        while at < count:
            mark = marks[at]
            time_us = mark.time_us
            if len(packets) < PACKETS:
                packets = packets + mark.packets if packets else mark.packets
            else:
                packets = packets[: PACKETS - 1] + mark.packets
            if mark.end > end:
                break
            at += 1
            freed += MARK_COST
            if mark.end == end:
                break
        if at == count:
            marks.clear()
            at = 0
        elif 2 * at > count:
            del marks[:at]
            at = 0
        side.mark = at
        side.held -= freed
        self._held -= freed
        notes = side.notes
        if notes is not None:
            mine = [note for note in notes if note.offset <= end]
            if mine:
                rest = [note for note in notes if note.offset > end]
                side.notes = rest or None
                record.extra_notes = [*(record.extra_notes or ()), *mine]
        pair: i64 = 0
        latency: int | None = None
        root = record.root
        if record.codec is None:
            self._count_foreign(side, record)
        elif root is not None:
            exchange = record.codec.exchange(root)
            if exchange.role == "request":
                pair = self._ask(side, exchange.key, time_us)
            elif exchange.role == "reply":
                request = self._answered(side, exchange.key)
                if request is not None:
                    pair = request.pair
                    if 0 < request.time_us <= time_us:
                        latency = int(time_us - request.time_us)
        if self.sources:
            after: i64 = -1 if latency is None else latency
            record.origin = Origin(self._place(side), time_us, packets, pair, after)
        said.append(Said(side.flow, side.direction, record, int(time_us), packets, int(pair), latency))

    def _count_foreign(self, side: _Side, record: Record) -> None:
        self.foreign += record.length
        if not side.foreign:
            side.foreign = True
            other = self._opposite(side)
            if other is None or not other.foreign:
                self.foreign_flows += 1

    def _place(self, side: _Side) -> Place:
        if side.place is None:
            flow = side.flow
            there = flow.endpoint(1 - side.direction)
            text = f"{flow.transport} {flow.endpoint(side.direction)} > {there}"
            side.place = Place(self.file, text, flow.number)
        return side.place

    def _ask(self, side: _Side, key: str, time_us: i64) -> i64:
        """Remember a request; the number of its pair."""
        self._pairs += 1
        if side.requests is None:
            side.requests = _Open()
        side.requests.add(key, _Request(self._pairs, time_us))
        return self._pairs

    def _answered(self, side: _Side, key: str) -> _Request | None:
        """The open request of the other direction that a reply belongs to; it is no longer open."""
        other = self._opposite(side)
        return None if other is None or other.requests is None else other.requests.take(key)


def _key(flow: Flow, direction: int) -> int:
    return 2 * flow.number + direction


def known(said: list[Said]) -> list[Record]:
    """The records of known protocols."""
    return [one.record for one in said if one.record.codec is not None]


def _verdict(found: Detection, flow: Flow) -> Verdict:
    """The protocol of a detection; one that lacks few bits is helped by its usual port."""
    for candidate in found.candidates:
        if candidate.protocol == found.protocol:
            return Verdict(candidate.protocol, candidate.bits, candidate.reasons)
    for port in flow.ports:
        usual = registry.PORTS.get(port)
        if usual is not None:
            for candidate in found.candidates:
                if candidate.protocol in usual and candidate.bits + PORT_BITS >= candidate.asked:
                    reasons = (*candidate.reasons, f"port {port}")
                    return Verdict(candidate.protocol, candidate.bits + PORT_BITS, reasons)
    return Verdict(UNKNOWN, 0.0, ())


def _answer(found: Detection, other: str, answers: tuple[str, ...]) -> Verdict:
    """The protocol of a direction that lacks bits, where the opposite one speaks `other`."""
    said = f"the other direction is {other}"
    best = Verdict(other, 0.0, (said,))
    most = 0.0
    for candidate in found.candidates:
        if candidate.protocol == other or candidate.protocol in answers:
            bits = candidate.bits + (MARGIN if candidate.protocol == other else 0.0)
            if bits > most:
                most = bits
                best = Verdict(candidate.protocol, bits, (*candidate.reasons, said))
    return best
