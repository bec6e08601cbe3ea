"""One direction of a flow while its messages are put together: what waits, what was decoded, what is open."""

from typing import Any, Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import registry
from wirelens.codecs.captures.flow import Flow, Piece
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK
from wirelens.codecs.codes import Note
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.open_requests import Requests, Waiting
from wirelens.codecs.record import Origin, Place, Record
from wirelens.codecs.registry import UNKNOWN

PACKETS: Final = 64  # packet numbers in a record at most: its first ones and its last

ARRIVAL_COST: Final = 128  # what a piece counts besides its bytes until a record has taken them

State = tuple[Any, ...]  # nested tuples of numbers, text and bytes


@mypyc_attr(acyclic=True, free_list_len=1)
class Arrival:
    """Where the bytes `start` to `end` of a stream came from: the number of the packet, and its time.

    `packets` are several if the packet was fragmented. `time_us`: microseconds since 1970, of the packet that
    completed the stream up to `end`. `acked`: the acknowledgment number that came with them, -1 if unknown.
    """

    def __init__(self, start: i64, end: i64, time_us: i64, packets: tuple[int, ...], acked: i64 = -1) -> None:
        self.start: Final[i64] = start
        self.end: Final[i64] = end
        self.time_us: Final[i64] = time_us
        self.packets: Final = packets
        self.acked: Final = acked


class Side:
    """One direction. Tens of thousands may be open at once, so it holds nothing that it does not need."""

    def __init__(self, flow: Flow, direction: int) -> None:
        self.flow: Final = flow
        self.direction: Final = direction
        self.datagrams: Final = flow.transport == "udp"
        self.decoder: Decoder | None = None
        # until the protocol is detected, or until the other direction's first message is found
        self.waiting: list[Piece] | None = None
        self.order: list[int] | None = None  # their places among the pieces of all flows
        self.waiting_bytes: i64 = 0
        self.tried: i64 = 0  # bytes at the last attempt
        self.protocol = UNKNOWN
        self.arrivals: list[Arrival] = []
        self.arrival: i64 = 0  # index of the first of them with bytes in no record yet
        self.notes: list[Note] | None = None
        self.held: i64 = 0  # what is in the decoder and in no record yet: bytes, and the cost of arrivals
        self.position: i64 = 0  # end of what was given to the decoder
        self.taken: i64 = 0  # end of the last record
        self.began_us: i64 = 0  # when the first bytes of that came
        self.found: list[Record] | None = None  # the first ones, while the other direction may have older
        self.passed: i64 = 0  # bytes that are missing after those
        self.requests: Requests | None = None
        self.place: Place | None = None
        self.other: Side | None = None  # the other direction of its flow, if it has given anything
        self.ended = False
        self.ending = False  # whether it ends with the pieces that wait
        self.foreign = False  # whether bytes of no known protocol came
        self.phase: i64 = 0  # how often its stream left a protocol
        self.left = UNKNOWN  # the last one that it left
        # that of the other direction which this one has to follow, if that is more: what was sent when the
        # other one's bytes were known up to a TCP sequence number, -1 if that does not tell
        self.next_phase: i64 = 0
        self.next_from: i64 = -1
        self.next_sure = False  # whether the other one accepted it, rather than asked for it
        self.doubtful = False  # whether the head that was cut off last may have asked for it
        self.inside = False  # whether its protocol may begin inside a message
        self.context = ""  # the last one of its messages: see Codec.context
        self.role = ""  # of its messages with a counterpart, "both" if there are two
        self.sequence: i64 = -1  # TCP sequence number of its first byte
        self.acked: i64 = -1  # the highest acknowledgment number that it had sent with data
        self.acked_before: i64 = -1  # that sent with the first byte of the last record
        self.opposite: i64 = -1  # that of the first byte of the other side which had come then
        self.damaged = False  # whether bytes of a known protocol did not decode
        self.incomplete = False  # whether its beginning is missing, or bytes between
        self.broken = False  # whether messages may be missing since the last one
        self.contained = False  # whether what waits looks like the inside of another protocol's message
        self.awaited = True  # whether the other direction may wait for its first message to be found

    @property
    def named(self) -> bool:
        """Whether its protocol is known."""
        return self.protocol != UNKNOWN

    @property
    def waits(self) -> bool:
        """Whether pieces or records of it wait."""
        return self.found is not None or bool(self.waiting)

    def speaks_with(self, other: "Side") -> str:
        """The protocol that this direction had where the other one is, as far as that is known."""
        if self.phase == other.phase:
            return self.protocol
        return self.left if self.phase == other.phase + 1 else UNKNOWN

    @property
    def received(self) -> i64:
        """The end of what came, whether it was decoded or waits for its protocol."""
        waiting = self.waiting
        if not waiting:
            return self.position
        last = waiting[-1]
        return last.offset + len(last.data)

    @property
    def joined(self) -> bool:
        """Whether what waits is the start of a stream whose beginning is missing."""
        waiting = self.waiting
        if not waiting:
            return False
        return joins(waiting[0])

    def complete_us(self, end: i64) -> i64:
        """When the stream was complete up to a position, microseconds since 1970; of what is in no record."""
        time_us: i64 = 0
        for arrival in self.arrivals[self.arrival :]:
            time_us = arrival.time_us
            if arrival.end >= end:
                break
        return time_us

    def reached(self, time_us: i64) -> i64:
        """The end of what had come by a time, of what is in no record."""
        end: i64 = self.taken
        for arrival in self.arrivals[self.arrival :]:
            if arrival.time_us > time_us:
                break
            end = arrival.end
        return end

    def located(self, file: str) -> Place:
        """The place of its messages, in a file."""
        place = self.place
        if place is None:
            flow = self.flow
            text = f"{flow.transport} {flow.endpoint(self.direction)} > {flow.endpoint(1 - self.direction)}"
            ends = ("client", "server")
            usual = flow.ports[self.direction] > flow.ports[1 - self.direction]
            sender = "" if usual == (self.direction == 0) else ends[self.direction]
            place = self.place = Place(file, text, flow.number, sender, self.direction)
        elif place.file != file:
            place = Place(file, place.flow, place.number, place.sender, place.direction)
            self.place = place
        return place

    def origin(
        self,
        file: str,
        files: tuple[str, ...],
        packets: tuple[int, ...],
        time_us: i64,
        pair: i64,
        latency_us: i64,
    ) -> Origin:
        """Where a record comes from: a file, or that of `files` which has its last packet."""
        if not files:
            return Origin(self.located(file), time_us, packets, pair, latency_us)
        last = packets[-1] >> FILE_SHIFT if packets else 0
        shown = tuple([number & NUMBER_MASK for number in packets if number >> FILE_SHIFT == last])
        return Origin(self.located(files[last]), time_us, shown, pair, latency_us)

    def head(self) -> bytes:
        """The bytes that wait; if some between them are missing, the longest part without a gap."""
        waiting = self.waiting
        if waiting is None:
            return b""
        longest = b""
        part: list[bytes] = []
        for piece in waiting:
            if piece.gap and part:
                longest = max(longest, b"".join(part), key=len)
                part = []
            part.append(piece.data)
        return max(longest, b"".join(part), key=len)

    def spanned(self, filler: bytes, most: int) -> bytes:
        """As `head`, but with all parts and a byte in place of each missing one; empty if none are missing.

        Empty too with more than `most` bytes.
        """
        parts: list[bytes] = []
        size = 0
        missing = 0
        for piece in self.waiting or ():
            gap = piece.gap if parts else 0
            missing += gap
            size += gap + len(piece.data)
            if size > most:
                return b""
            parts.append(filler * gap)
            parts.append(piece.data)
        return b"".join(parts) if missing else b""

    def release(self) -> tuple[list[Piece], list[int]]:
        """The pieces that waited, and their places; they no longer do."""
        waiting = self.waiting or []
        order = self.order or []
        self.waiting = None
        self.order = None
        self.waiting_bytes = 0
        return waiting, order

    def beyond(self) -> bytes:
        """The bytes that wait, after the message by which it leaves its protocol; none without that."""
        decoder = self.decoder
        if decoder is None or decoder.codec is None or not self.waiting:
            return b""
        trial = Decoder(decoder.protocol)
        trial.codec = decoder.codec
        trial.stays_left = True
        trial.feed(decoder.pending + b"".join([piece.data for piece in self.waiting]))
        return trial.rest() if trial.left else b""

    def follow(self, other: "Side") -> bool:
        """Go on in the protocol of the other direction, if this one is unknown and was joined in the middle.

        One that begins inside a long message has no evidence of its own until that has ended.
        """
        decoder = self.decoder
        if (
            decoder is None
            or self.named
            or not self.incomplete
            or not other.named
            or self.phase != other.phase
        ):
            return False
        codec = registry.get(other.protocol)
        if codec.answers:
            return False
        self.protocol = other.protocol
        decoder.codec = codec
        decoder.track = codec.track()
        self.share_track(other)
        decoder.joined = True
        return True

    def share_track(self, other: "Side | None") -> None:
        """Let the decoder use what the other direction's keeps of their flow, if they are of one protocol."""
        decoder = self.decoder
        if decoder is None or decoder.track is None:
            return
        decoder.direction = self.direction
        if other is not None and other.protocol == self.protocol and other.decoder is not None:
            decoder.track = other.decoder.track

    def expect(self, other: "Side", sure: bool) -> None:
        """Have this direction leave its protocol as the other one just did; `sure`: it accepted that."""
        if self.named and self.protocol != other.left:
            self.phase = other.phase  # it was found to be of another one already
            return
        self.next_phase = other.phase
        self.next_sure = sure
        self.next_from = -1
        if other.sequence >= 0 and not self.datagrams:
            self.next_from = (other.sequence + other.position) & 0xFFFFFFFF

    def knows(self, acked: i64) -> bool:
        """Whether what was sent with an acknowledgment number was sent knowing that the other one left."""
        return self.next_from < 0 or acked < 0 or (acked - self.next_from) & 0xFFFFFFFF < 1 << 31

    def knew(self, number: i64) -> bool:
        """Whether the last bytes that came were sent when the other direction's were known up to a number."""
        acked: i64 = self.arrivals[-1].acked if self.arrivals else -1
        return acked >= 0 and (acked - number) & 0xFFFFFFFF < 1 << 31

    def opening(self, most: int) -> i64:
        """The end of the next message, if the stream may be of another protocol after it; or 0.

        `most` bytes are looked at, of it and of the pieces that wait.
        """
        decoder = self.decoder
        if decoder is None or decoder.codec is None:
            return 0
        head = decoder.peek(most)
        for piece in self.waiting or ():
            if piece.gap or len(head) >= most:
                break
            head += piece.data
        size = decoder.codec.opens(head)
        return self.taken + size if size else 0

    def unknowing(self, start: i64, time_us: i64) -> i64:
        """How many bytes from `start` on, in no record yet, were sent before it knew that the other one left.

        Without acknowledgment numbers, those that came by a time.
        """
        end: i64 = start
        for arrival in self.arrivals[self.arrival :]:
            if self.next_from < 0 or arrival.acked < 0:
                if arrival.time_us > time_us:
                    break
            elif self.knows(arrival.acked):
                break
            end = arrival.end
        return max(0, end - start)

    def follows(self, piece: Piece) -> bool:
        """Whether a piece was sent when the other direction, which accepted that, had left its protocol."""
        if self.next_phase <= self.phase or not self.next_sure:
            return False
        known = self.next_from >= 0 and piece.acked >= 0
        decoder = self.decoder
        joined = joins(piece) if decoder is None else piece.gap > 0 or decoder.joined
        return self.knows(piece.acked) if known else joined

    def cut_off(self, other: "Side | None") -> None:
        """Take in that bytes are missing here."""
        self.learn_form(other)
        self.doubtful = self.doubtful and self.decoder is not None and self.decoder.joined
        if other is not None and other.is_foreign(self):
            self.doubtful = True

    def learn_form(self, other: "Side | None") -> None:
        """Take in which form the messages of the other direction have, as those of a connection have one."""
        decoder = self.decoder
        if decoder is None or decoder.codec is None or not decoder.codec.has_forms or other is None:
            return
        if other.protocol == self.protocol and other.decoder is not None and other.decoder.codec is not None:
            decoder.codec = decoder.codec.in_form(other.decoder.codec.form)

    def cut_at(self, record: Record) -> None:
        """Take in the last record before missing bytes, whose head may have been cut."""
        error = record.error
        if error is not None and error.code == "truncated" and record.codec is not None:
            self.doubtful = self.doubtful or (
                record.codec.may_leave and record.codec.left_by(record.raw) == 0
            )
            self.tried = 0

    def is_foreign(self, other: "Side") -> bool:
        """Whether its protocol shows that the other direction, too, must have left the one it had."""
        if not self.named or not other.named or self.protocol == other.protocol or self.phase < other.phase:
            return False
        codec = registry.get(other.protocol)
        return codec.may_leave and not registry.get(self.protocol).contained

    def went_on(self) -> bool:
        """Whether it left a protocol and is known to speak another one."""
        return self.decoder is not None and self.phase > 0 and self.protocol != self.left

    def undecoded(self) -> list[tuple[int, int]]:
        """The bytes that are in no record yet: how many, and the number of the packet they came in."""
        left: list[tuple[int, int]] = []
        for arrival in self.arrivals[self.arrival :]:
            size = arrival.end - max(arrival.start, self.taken)
            if size > 0:
                left.append((int(size), arrival.packets[-1]))
        if self.waiting is not None:
            left.extend([(len(piece.data), piece.packets[-1]) for piece in self.waiting if piece.data])
        return left

    def begin_afresh(self, rest: bytes, phase: i64) -> list[Piece]:
        """Leave its protocol, before the rest of its bytes; the pieces of these."""
        start: i64 = self.position - len(rest)
        pieces: list[Piece] = []
        for arrival in self.arrivals[self.arrival :]:
            first = max(arrival.start, start)
            if first < arrival.end:
                data = rest[first - start : arrival.end - start]
                again = Piece(
                    self.flow,
                    self.direction,
                    int(first),
                    data,
                    int(arrival.time_us),
                    arrival.packets,
                    0,
                    (),
                    "",
                    -1,
                    arrival.acked,
                    int(self.opposite),
                )
                pieces.append(again)
        self.arrivals.clear()
        self.arrival = 0
        self.held = 0
        self.position = start
        self.decoder = None
        self.left = self.protocol
        self.protocol = UNKNOWN
        self.tried = 0
        self.role = ""
        self.phase = phase
        self.doubtful = False
        self.inside = False
        return pieces

    def note(self, notes: tuple[Note, ...]) -> None:
        """Keep notes for the record at their place."""
        if self.notes is None:
            self.notes = []
        self.notes.extend(notes)

    def save(self) -> State:
        """The state as plain values."""
        decoder = self.decoder
        arrivals = [
            (
                int(arrival.start),
                int(arrival.end),
                int(arrival.time_us),
                arrival.packets,
                arrival.acked,
            )
            for arrival in self.arrivals[self.arrival :]
        ]
        return (
            (self.flow.number, self.direction),
            None if decoder is None else self._save_decoder(decoder),
            tuple([piece.save() for piece in self.waiting or ()]),
            tuple(self.order or ()),
            (int(self.waiting_bytes), int(self.tried), int(self.held), int(self.position), int(self.taken)),
            self.protocol,
            tuple(arrivals),
            tuple([tuple(note) for note in self.notes or ()]),
            () if self.requests is None else self.requests.save(),
            (self.ended, self.foreign, int(self.phase), self.role, self.context, self.left),
            (self.damaged, self.incomplete, self.broken, self.ending, self.contained, self.awaited),
            (self.found is not None, int(self.passed)),
            (int(self.sequence), int(self.acked), int(self.acked_before), int(self.opposite)),
            (int(self.next_phase), int(self.next_from), self.next_sure, self.doubtful, self.inside),
        )

    def _save_decoder(self, decoder: Decoder) -> State:
        """The decoder's state, as it was before it found the records that wait."""
        state = decoder.save()
        if not self.found:
            return state
        parts = [record.raw if record.root is None else record.root.raw for record in self.found]
        protocol, _, rest, _, *others = state
        return (protocol, self.found[0].offset, b"".join(parts) + rest, True, *others)

    def load(self, state: State, waiting: Waiting) -> None:
        """Continue with what `save` gave; `waiting`: the requests of all directions."""
        (
            _,
            decoder,
            pieces,
            order,
            numbers,
            protocol,
            arrivals,
            notes,
            requests,
            flags,
            losses,
            (found, self.passed),
            tcp,
            following,
        ) = state
        if decoder is not None:
            self.decoder = Decoder.load(decoder)
            self.decoder.stays_left = True
            if found:
                self.found = self.decoder.gap(self.passed) if self.passed else self.decoder.again()
        self.waiting = [Piece.load(self.flow, self.direction, piece) for piece in pieces] or None
        self.order = list(order) or None
        self.waiting_bytes, self.tried, self.held, self.position, self.taken = numbers
        self.protocol = protocol
        for start, end, time_us, packets, acked in arrivals:
            self.arrivals.append(Arrival(start, end, time_us, tuple(packets), acked))
        self.notes = [Note(code, offset, text) for code, offset, text in notes] or None
        if requests:
            self.requests = Requests(waiting)
            self.requests.load(requests)
        self.ended, self.foreign, self.phase, self.role, self.context, self.left = flags
        self.damaged, self.incomplete, self.broken, self.ending, self.contained, self.awaited = losses
        self.sequence, self.acked, self.acked_before, self.opposite = tcp
        self.next_phase, self.next_from, self.next_sure, self.doubtful, self.inside = following


def joins(piece: Piece) -> bool:
    """Whether a stream begins with a piece, but not with its first byte."""
    return "joined-middle" in [note.code for note in piece.notes]


def placed(pieces: list[Piece], others: list[Piece], order: list[int]) -> list[int]:
    """The places of pieces after those of the other direction that were complete before them."""
    places: list[int] = []
    at: i64 = 0
    place = 0
    for piece in pieces:
        while at < len(others) and others[at].complete_us <= piece.complete_us:
            place = order[at]
            at += 1
        places.append(place)
    return places


def in_order(
    first: list[Piece], first_order: list[int], second: list[Piece], second_order: list[int]
) -> tuple[list[Piece], list[int]]:
    """The waiting pieces of both directions in the order of the capture."""
    places = [*zip(first_order, first), *zip(second_order, second)]  # noqa: B905
    places.sort(key=_place_of)
    return [piece for _, piece in places], [place for place, _ in places]


def _place_of(entry: tuple[int, Piece]) -> int:
    return entry[0]
