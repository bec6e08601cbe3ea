"""From pieces of streams to messages: each direction of each flow decoded, requests and replies paired.

`Conversations.feed` takes the pieces that `captures.Reader` gives and returns the messages that they
complete. A direction's protocol is detected once and stays; the two directions help each other. Memory is
bounded by the constants below.
"""

from typing import Any, Final, NamedTuple

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import registry
from wirelens.codecs.captures.flow import Flow, Piece
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK
from wirelens.codecs.codes import Note
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.detection import MARGIN, Detection, detect
from wirelens.codecs.record import Origin, Place, Record
from wirelens.codecs.registry import UNKNOWN

HEAD: Final = 1 << 14  # bytes of a direction that wait at most for its protocol to be detected
ALL_HEADS: Final = 1 << 25  # the same of all directions; then those waiting longest become unknown
ALL_HELD: Final = 1 << 26  # bytes of incomplete messages that may wait; then the longest is cut off
ARRIVAL_COST: Final = 128  # what a piece counts besides its bytes until a record has taken them
OPEN_REQUESTS: Final = 1 << 10  # requests of a direction that wait for replies; then the oldest is dropped
PACKETS: Final = 64  # packet numbers in a record at most: its first ones and its last
ANSWER_HEAD: Final = 4  # bytes that distinguish the protocols that answer another
NOTES_KEPT: Final = 1000  # notes that no record carries
PORT_BITS: Final = 4.0  # what a protocol's usual port adds to the evidence of the bytes

State = tuple[Any, ...]  # nested tuples of numbers, text and bytes

_NO_ARRIVALS: Final[tuple["Arrival", ...]] = ()


@mypyc_attr(acyclic=True, free_list_len=1)
class Arrival:
    """Where the bytes `start` to `end` of a stream came from: the time of the packet and its number.

    `packets` are several if the packet was fragmented, `time_us` is in microseconds since 1970.
    """

    def __init__(self, start: i64, end: i64, time_us: i64, packets: tuple[int, ...]) -> None:
        self.start: Final[i64] = start
        self.end: Final[i64] = end
        self.time_us: Final[i64] = time_us
        self.packets: Final = packets


@mypyc_attr(acyclic=True, free_list_len=1)
class Message:
    """A message of a conversation: its record, and where it came from.

    `direction` is its flow's: 0 or 1. `time_us`: capture time of its last byte, microseconds since 1970.
    `pair_number` is that of a request and its reply, 0 without a counterpart; `latency_us` is the time from
    the request to this reply, None for everything else and where the capture's clock does not show it.
    `arrivals`: those that have bytes of the record, in order, if `Conversations` was asked for them; the
    first may begin before the record and the last end after it.
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
    ) -> None:
        self.flow: Final = flow
        self.direction: Final = direction
        self.record: Final = record
        self.time_us: Final = time_us
        self.packets: Final = packets
        self.pair_number: Final = pair_number
        self.latency_us: Final = latency_us
        self.arrivals: Final = arrivals

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
class _Request:
    def __init__(self, pair: i64, time_us: i64) -> None:
        self.pair: Final[i64] = pair
        self.time_us: Final[i64] = time_us


class _Open:
    """The requests of one direction that wait for replies: by key, and those without a key in order."""

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

    def save(self) -> State:
        keyed = [
            (key, int(request.pair), int(request.time_us))
            for key, requests in self.keyed.items()
            for request in requests
        ]
        queue = [(int(request.pair), int(request.time_us)) for request in self.queue]
        return (tuple(keyed), tuple(queue))

    def load(self, state: State) -> None:
        keyed, queue = state
        for key, pair, time_us in keyed:
            self.add(key, _Request(pair, time_us))
        for pair, time_us in queue:
            self.add("", _Request(pair, time_us))


class _Side:
    """One direction. Tens of thousands may be open at once, so it holds nothing that it does not need."""

    def __init__(self, flow: Flow, direction: int) -> None:
        self.flow: Final = flow
        self.direction: Final = direction
        self.decoder: Decoder | None = None
        self.waiting: list[Piece] | None = None  # until the protocol is detected
        self.waiting_bytes: i64 = 0
        self.tried: i64 = 0  # bytes at the last attempt
        self.protocol = UNKNOWN
        self.arrivals: list[Arrival] = []
        self.arrival: i64 = 0  # index of the first of them with bytes in no record yet
        self.notes: list[Note] | None = None
        self.held: i64 = 0  # what is in the decoder and in no record yet: bytes, and the cost of arrivals
        self.position: i64 = 0  # end of what was given to the decoder
        self.taken: i64 = 0  # end of the last record
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

    def save(self) -> State:
        decoder = self.decoder
        arrivals = [
            (int(arrival.start), int(arrival.end), int(arrival.time_us), arrival.packets)
            for arrival in self.arrivals[self.arrival :]
        ]
        return (
            (self.flow.number, self.direction),
            None if decoder is None else decoder.save(),
            tuple([piece.save() for piece in self.waiting or ()]),
            (int(self.waiting_bytes), int(self.tried), int(self.held), int(self.position), int(self.taken)),
            self.protocol,
            tuple(arrivals),
            tuple([tuple(note) for note in self.notes or ()]),
            () if self.requests is None else self.requests.save(),
            (self.ended, self.foreign),
        )

    def load(self, state: State) -> None:
        _, decoder, pieces, numbers, protocol, arrivals, notes, requests, flags = state
        self.decoder = None if decoder is None else Decoder.load(decoder)
        self.waiting = [Piece.load(self.flow, self.direction, piece) for piece in pieces] or None
        self.waiting_bytes, self.tried, self.held, self.position, self.taken = numbers
        self.protocol = protocol
        for start, end, time_us, packets in arrivals:
            self.arrivals.append(Arrival(start, end, time_us, tuple(packets)))
        self.notes = [Note(code, offset, text) for code, offset, text in notes] or None
        if requests:
            self.requests = _Open()
            self.requests.load(requests)
        self.ended, self.foreign = flags


class Conversations:
    """Decodes all flows of a capture.

    `protocol` None detects each flow's. `verdicts`, if given, gets the verdict on each direction under
    (flow number, direction) as soon as it stands. With `sources` records get their `source`; `file` is the
    file's name in it; of merged captures `files` has the names, by the numbers of files in those of packets.
    With `arrivals` messages get theirs. `foreign` counts bytes of no known protocol,
    `foreign_flows` the flows that have such. `unattached_notes`: notes on flows of known protocols that no
    record carries, as (direction as text, note), the first NOTES_KEPT.
    """

    def __init__(
        self,
        protocol: str | None = None,
        verdicts: dict[tuple[int, int], Verdict] | None = None,
        sources: bool = True,
        file: str = "",
        arrivals: bool = False,
        files: tuple[str, ...] = (),
    ) -> None:
        self.protocol: Final = protocol
        self.verdicts: Final = verdicts
        self.sources: Final = sources
        self.file: Final = file
        self.files: Final = files
        self.arrivals: Final = arrivals
        self.foreign = 0
        self.foreign_flows = 0
        self.unattached_notes: list[tuple[str, Note]] = []
        self._sides: dict[int, _Side] = {}  # by `_key`
        self._undecided: dict[int, _Side] = {}  # those with bytes waiting, oldest first
        self._heads: i64 = 0
        self._held: i64 = 0
        self._pairs: i64 = 0

    def feed(self, pieces: list[Piece]) -> list[Message]:
        """The messages that these pieces complete."""
        messages: list[Message] = []
        for piece in pieces:
            self._add(piece, messages)
        return messages

    def _add(self, piece: Piece, messages: list[Message]) -> None:
        flow = piece.flow
        direction = piece.direction
        key = _key(flow, direction)
        side = self._sides.get(key)
        if side is None:
            side = _Side(flow, direction)
            self._sides[key] = side
            if self.protocol is not None:
                self._settle(side, Verdict(self.protocol, 0.0, ()), messages)
        if side.decoder is None:
            self._wait(key, side, piece, messages)
        else:
            self._decode(side, piece, messages)
        if self._held > ALL_HELD:
            self._relieve(messages)
        if piece.end:
            self._end(side, messages)

    def close(self) -> list[Message]:
        """End every flow that has not ended; the messages left."""
        messages: list[Message] = []
        for side in list(self._sides.values()):
            if not side.ended:
                self._end(side, messages)
        for side in self._sides.values():  # those whose other direction has nothing
            if side.named:
                self._keep_notes(side)
        return messages

    def undecoded(self) -> list[tuple[int, int]]:
        """The bytes that are in no record yet: how many, and the number of the packet they came in."""
        left: list[tuple[int, int]] = []
        for side in self._sides.values():
            at: i64 = side.arrival
            count: i64 = len(side.arrivals)
            while at < count:
                arrival = side.arrivals[at]
                at += 1
                size = arrival.end - max(arrival.start, side.taken)
                if size > 0:
                    left.append((int(size), arrival.packets[-1]))
            if side.waiting is not None:
                left.extend([(len(piece.data), piece.packets[-1]) for piece in side.waiting if piece.data])
        return left

    def save(self) -> State:
        """The state of all directions that have not ended, for `load` of another `Conversations`."""
        return (int(self._pairs), tuple([side.save() for side in self._sides.values()]))

    def load(self, state: State, flows: list[Flow]) -> None:
        """Continue what `save` gave; `flows` are those that the assembler has loaded."""
        by_number = {flow.number: flow for flow in flows}
        self._pairs, sides = state
        for plain in sides:
            number, direction = plain[0]
            flow = by_number.get(number)
            if flow is None:
                continue
            side = _Side(flow, direction)
            side.load(plain)
            key = _key(flow, direction)
            self._sides[key] = side
            self._held += side.held
            self._heads += side.waiting_bytes
            if side.decoder is None and side.waiting_bytes:
                self._undecided[key] = side

    def _end(self, side: _Side, messages: list[Message]) -> None:
        if side.decoder is None:
            side.ended = True
            self._decide(side, True, messages)
        if side.decoder is not None:
            self._give(side, side.decoder.close(), messages)
        side.ended = True
        self._held -= side.held
        side.held = 0
        other = self._opposite(side)
        if other is not None and other.ended:
            if side.named or other.named:
                self._keep_notes(side)
                self._keep_notes(other)
            del self._sides[_key(side.flow, side.direction)]
            del self._sides[_key(side.flow, other.direction)]

    def _opposite(self, side: _Side) -> _Side | None:
        """The other direction of its flow, if it has given anything."""
        return self._sides.get(_key(side.flow, 1 - side.direction))

    def _keep_notes(self, side: _Side) -> None:
        """Keep the notes that no record carries."""
        notes = side.notes
        if notes is not None:
            for note in notes:
                if note.code != "joined-middle" and len(self.unattached_notes) < NOTES_KEPT:
                    self.unattached_notes.append((self._place(side).flow, note))

    # --- which protocol -------------------------------------------------------------------------------

    def _wait(self, key: int, side: _Side, piece: Piece, messages: list[Message]) -> None:
        """Keep a piece until the direction's protocol is detected."""
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
            self._decide(side, side.waiting_bytes >= HEAD, messages)
        while self._heads > ALL_HEADS and self._undecided:
            oldest = self._undecided[next(iter(self._undecided))]
            self._decide(oldest, True, messages)

    def _decide(self, side: _Side, final: bool, messages: list[Message]) -> None:
        """Detect the protocol; with `final` it becomes unknown where none is found."""
        data = side.head()
        side.tried = len(data)
        other = self._opposite(side)
        opposite = b"" if other is None else other.head()
        verdict = Verdict(UNKNOWN, 0.0, ())
        detection: Detection | None = None
        if data:
            whole = side.ended or side.flow.transport == "udp"
            detection = detect(data, opposite, whole, False)
            verdict = _verdict(detection, side.flow)
        if detection is not None and verdict.protocol == UNKNOWN:
            if other is not None and other.named and other.decoder is not None:
                # both sides of a conversation speak the same protocol, or one that answers it
                answers = registry.get(other.protocol).answers
                if answers and len(data) < ANSWER_HEAD and not final:
                    return
                verdict = _answer(detection, other.protocol, answers)
        if verdict.protocol == UNKNOWN and not final:
            return
        self._settle(side, verdict, messages)
        if side.named and other is not None and other.decoder is None and other.waiting_bytes:
            self._decide(other, False, messages)

    def _settle(self, side: _Side, verdict: Verdict, messages: list[Message]) -> None:
        """Fix a direction's protocol and decode the pieces that waited for it."""
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
                self._decode(side, piece, messages)

    # --- messages -------------------------------------------------------------------------------------

    def _decode(self, side: _Side, piece: Piece, messages: list[Message]) -> None:
        decoder = side.decoder
        assert decoder is not None
        if piece.notes:
            side.note(piece.notes)
        if piece.gap:
            self._give(side, decoder.gap(piece.gap), messages)
        size: i64 = len(piece.data)
        if size == 0:
            return
        start: i64 = piece.offset
        side.position = start + size
        side.arrivals.append(Arrival(start, start + size, piece.time_us, piece.packets))
        side.held += size + ARRIVAL_COST
        self._held += size + ARRIVAL_COST
        if piece.flow.transport == "udp":
            self._give(side, decoder.close(piece.data), messages)
        else:
            self._give(side, decoder.feed(piece.data), messages)

    def _relieve(self, messages: list[Message]) -> None:
        """Cut off the longest message that waits for its end."""
        longest: _Side | None = None
        for side in self._sides.values():
            if longest is None or side.held > longest.held:
                longest = side
        if longest is not None and longest.decoder is not None:
            text = f"more than {ALL_HELD} bytes of messages waited"
            longest.note((Note("capture-limit", int(longest.position), text),))
            self._give(longest, longest.decoder.close(), messages)

    def _give(self, side: _Side, records: list[Record], messages: list[Message]) -> None:
        for record in records:
            self._message(side, record, messages)

    def _message(self, side: _Side, record: Record, messages: list[Message]) -> None:
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
        self._held -= freed
        notes = side.notes
        if notes is not None:
            attached = [note for note in notes if note.offset <= end]
            if attached:
                rest = [note for note in notes if note.offset > end]
                side.notes = rest or None
                record.extra_notes = [*(record.extra_notes or ()), *attached]
        pair: i64 = 0
        latency: int | None = None
        root = record.root
        if record.codec is None:
            self._count_foreign(side, record)
        elif root is not None:
            exchange = record.codec.exchange(root)
            if exchange.role == "request":
                pair = self._requested(side, exchange.key, time_us)
            elif exchange.role == "reply":
                request = self._answered(side, exchange.key)
                if request is not None:
                    pair = request.pair
                    if 0 < request.time_us <= time_us:
                        latency = int(time_us - request.time_us)
        if self.sources:
            latency_us: i64 = -1 if latency is None else latency
            place = self._place(side)
            shown = packets
            if self.files:
                file = packets[-1] >> FILE_SHIFT if packets else 0
                place = self._place_in(side, self.files[file])
                shown = tuple([number & NUMBER_MASK for number in packets if number >> FILE_SHIFT == file])
            record.origin = Origin(place, time_us, shown, pair, latency_us)
        messages.append(
            Message(side.flow, side.direction, record, int(time_us), packets, int(pair), latency, sources)
        )

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
            ends = ("client", "server")
            usual = flow.ports[side.direction] > flow.ports[1 - side.direction]
            sender = "" if usual == (side.direction == 0) else ends[side.direction]
            side.place = Place(self.file, text, flow.number, sender)
        return side.place

    def _place_in(self, side: _Side, file: str) -> Place:
        """The place of messages of a direction whose last byte is in a file."""
        place = self._place(side)
        if place.file != file:
            place = side.place = Place(file, place.flow, place.number, place.sender)
        return place

    def _requested(self, side: _Side, key: str, time_us: i64) -> i64:
        """Keep a request until its reply; the number of their pair."""
        self._pairs += 1
        if side.requests is None:
            side.requests = _Open()
        side.requests.add(key, _Request(self._pairs, time_us))
        return self._pairs

    def _answered(self, side: _Side, key: str) -> _Request | None:
        """The open request of the other direction that this reply answers; it is no longer open."""
        other = self._opposite(side)
        return None if other is None or other.requests is None else other.requests.take(key)


def _key(flow: Flow, direction: int) -> int:
    return 2 * flow.number + direction


def known(messages: list[Message]) -> list[Record]:
    """The records of known protocols."""
    return [message.record for message in messages if message.record.codec is not None]


def _verdict(detection: Detection, flow: Flow) -> Verdict:
    """The protocol of a detection; one that lacks few bits is helped by its usual port."""
    for candidate in detection.candidates:
        if candidate.protocol == detection.protocol:
            return Verdict(candidate.protocol, candidate.bits, candidate.reasons)
    for port in flow.ports:
        usual = registry.usual_at(port)
        if usual:
            for candidate in detection.candidates:
                if candidate.protocol in usual and candidate.bits + PORT_BITS >= candidate.asked:
                    reasons = (*candidate.reasons, f"port {port}")
                    return Verdict(candidate.protocol, candidate.bits + PORT_BITS, reasons)
    return Verdict(UNKNOWN, 0.0, ())


def _answer(detection: Detection, other: str, answers: tuple[str, ...]) -> Verdict:
    """The protocol of a direction that lacks bits, where the opposite one speaks `other`."""
    reason = f"the other direction is {other}"
    best = Verdict(other, 0.0, (reason,))
    most = 0.0
    for candidate in detection.candidates:
        if candidate.protocol == other or candidate.protocol in answers:
            bits = candidate.bits + (MARGIN if candidate.protocol == other else 0.0)
            if bits > most:
                most = bits
                best = Verdict(candidate.protocol, bits, (*candidate.reasons, reason))
    return best
