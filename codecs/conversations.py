"""From pieces of streams to messages: each direction of each flow decoded, requests and replies paired.

`Conversations.feed` takes the pieces that `captures.Reader` gives and returns the messages that they
complete, those of a flow in the order in which the capture completed them. A direction's protocol is
detected once, and afresh where a message ends the use of it (HTTP after CONNECT and upgrades);
the two directions help each other. Memory is bounded by the constants below and in `open_requests`.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import registry
from wirelens.codecs.captures.flow import Flow, Piece
from wirelens.codecs.codec import UNKNOWN_METHOD
from wirelens.codecs.codes import Note
from wirelens.codecs.decoder import Decoder, inside_message
from wirelens.codecs.detection import Detection, detect
from wirelens.codecs.joined import ALL_HEADS as ALL_HEADS
from wirelens.codecs.joined import Joined
from wirelens.codecs.messages import Message as Message
from wirelens.codecs.messages import accepts, completed_us, key_of
from wirelens.codecs.messages import known_messages as known_messages
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.sides import ARRIVAL_COST, Arrival, Side, State, in_order, placed
from wirelens.codecs.verdicts import Verdict, across_gaps, together, verdict_of

HEAD: Final = 1 << 14  # bytes of a direction that wait at most for its protocol to be detected
ALL_HELD: Final = 1 << 26  # bytes of incomplete messages that may wait; then the longest is cut off


class Conversations(Joined):
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
        super().__init__(protocol, sources, file, arrivals, files)
        self.verdicts: Final = verdicts
        self._undecided: dict[int, Side] = {}  # those with bytes waiting, oldest first
        self._order: i64 = 0  # number of pieces that had to wait
        self._left = False  # whether a direction just left its protocol

    def feed(self, pieces: list[Piece]) -> list[Message]:
        """The messages that these pieces complete."""
        messages: list[Message] = []
        for piece in pieces:
            self._add(piece, messages)
        return messages

    def _add(self, piece: Piece, messages: list[Message]) -> None:
        flow = piece.flow
        direction = piece.direction
        first: i64 = len(messages)
        key = key_of(flow, direction)
        side = self.sides.get(key)
        if piece.late:
            if side is None:
                side = Side(flow, direction)
                side.other = self.sides.get(key ^ 1)
            self.give_late(side, piece, messages)
            return
        if side is None:
            side = self.begin(flow, direction)
        if side.decoder is None:
            self._wait(key, side, piece, messages)
        elif self.unproved and key ^ 1 in self.unproved and key not in self.unproved:
            self.hold(key, side, piece, messages)
        else:
            if self._undecided and key ^ 1 in self._undecided:
                self._decide_older(side, messages)
            self._decode(side, piece, messages)
        if self.held > ALL_HELD:
            self._relieve(messages)
        if piece.end:
            self.end(side, messages)
        if self._left:
            self._in_order(first, messages)

    def _in_order(self, first: i64, messages: list[Message]) -> None:
        """Bring the last messages, of a flow that left a protocol, in the order of the capture."""
        self._left = False
        messages[first:] = sorted(messages[first:], key=completed_us)

    def begin(self, flow: Flow, direction: int) -> Side:
        """The state of a direction that had none."""
        side = Side(flow, direction)
        self.put(side)
        if self.protocol is not None:
            self._fix(side, Verdict(self.protocol, 0.0, ()))
        return side

    def idle(self) -> list[Message]:
        """The messages that only wait for what else may come, where nothing comes for a while."""
        messages: list[Message] = []
        for side in list(self.unproved.values()):
            other = side.other
            if other is not None and other.waits and other.decoder is not None:
                side.awaited = False
                self.give_between(side, [], messages)
        for side in list(self._undecided.values()):
            if side.contained:
                self.decide(side, True, messages)
        return messages

    def close(self) -> list[Message]:
        """End every flow that has not ended; the messages left."""
        messages: list[Message] = []
        for side in list(self.sides.values()):
            if not side.ended:
                first: i64 = len(messages)
                self.end(side, messages)
                if self._left:
                    self._in_order(first, messages)
        for side in list(self._undecided.values()):  # those whose other direction has nothing
            self.decide(side, True, messages)
        for side in self.sides.values():  # those whose other direction has nothing
            if side.named:
                self.keep_notes(side)
        return messages

    def save(self) -> State:
        """The state of all directions that have not ended, for `load` of another `Conversations`."""
        return (
            (int(self.pairs.number), int(self._order), tuple(self.unproved)),
            tuple([side.save() for side in self.sides.values()]),
        )

    def load(self, state: State, flows: list[Flow]) -> None:
        """Continue what `save` gave; `flows` are those that the assembler has loaded."""
        by_number = {flow.number: flow for flow in flows}
        (self.pairs.number, self._order, unproved), sides = state
        for plain in sides:
            number, direction = plain[0]
            flow = by_number.get(number)
            if flow is None:
                continue
            side = Side(flow, direction)
            side.load(plain, self.pairs.waiting)
            self.put(side)
            self.held += side.held
            self.heads += side.waiting_bytes
            if side.decoder is None and side.waiting_bytes:
                self._undecided[key_of(flow, direction)] = side
        for side in self.sides.values():
            side.share_track(side.other)
            self.watch(side)
        for key in unproved:
            if key in self.sides:
                self.unproved[key] = self.sides[key]

    def end(self, side: Side, messages: list[Message]) -> None:
        """End a direction; while its protocol is open, that of the other one may still name it."""
        if side.waits and side.decoder is not None:
            side.ending = True
            return
        if key_of(side.flow, side.direction) in self.unproved:
            codec = None if side.decoder is None else side.decoder.codec
            if side.decoder is None or (codec is not None and codec.may_leave):
                self.give_between(side, [], messages)
        side.ended = True
        other = side.other
        if side.decoder is None:
            self.decide(side, other is not None and other.ended, messages)
        self._finish(side, messages)
        if other is not None and other.ended and key_of(side.flow, side.direction) in self.sides:
            if other.decoder is None:
                self.decide(other, True, messages)
            if side.named or other.named:
                self.keep_notes(side)
                self.keep_notes(other)
            for one in (side, other):
                if one.requests is not None:
                    one.requests.leave()
                one.other = None
                del self.sides[key_of(one.flow, one.direction)]

    def _finish(self, side: Side, messages: list[Message]) -> None:
        """Give out what is left of a direction that has ended."""
        side.learn_form(side.other)
        while side.decoder is not None:
            decoder = side.decoder
            self.give(side, decoder.close(), messages)
            if not decoder.left:
                self.held -= side.held
                side.held = 0
                return
            self._leave(side, messages)

    # --- which protocol -------------------------------------------------------------------------------

    def _wait(self, key: int, side: Side, piece: Piece, messages: list[Message]) -> None:
        """Keep a piece until the direction's protocol is detected."""
        size: i64 = len(piece.data)
        if size or piece.gap or piece.notes:
            if side.next_phase > side.phase and side.follows(piece):
                if side.waiting is not None:
                    self.decide(side, True, messages)
                    self.take(side, piece, messages)
                    return
                side.phase = side.next_phase  # its request to leave the protocol came before
            if side.waiting is None:
                side.waiting = []
                side.order = []
            side.waiting.append(piece)
            self._order += 1
            assert side.order is not None
            side.order.append(int(self._order))
        side.waiting_bytes += size
        self.heads += size
        if side.waiting_bytes:
            self._undecided[key] = side
            if side.phase > 0 and side.awaited:
                other = side.other
                if other is not None and other.phase < side.phase:
                    self.unproved[key] = side  # what made it leave is younger
        if size and (side.waiting_bytes >= 2 * side.tried or side.waiting_bytes >= HEAD):
            self.decide(side, side.waiting_bytes >= HEAD, messages)
        while self.heads > ALL_HEADS and self._undecided:
            oldest = self._undecided[next(iter(self._undecided))]
            self.decide(oldest, True, messages)

    def decide(self, side: Side, final: bool, messages: list[Message]) -> None:
        """Detect the protocol; with `final` it becomes unknown where none is found."""
        data = side.head()
        side.tried = side.waiting_bytes
        other = side.other
        paired = other is not None and other.phase == side.phase
        opposite = b"" if other is None else other.head() if paired else other.beyond()
        verdict = Verdict(UNKNOWN, 0.0, ())
        detection: Detection | None = None
        if data:
            whole = side.datagrams or (side.ended and len(data) == side.waiting_bytes)
            detection = detect(data, opposite, whole, False, True, side.joined)
            verdict = verdict_of(detection, side.flow)
        if detection is not None and other is not None:
            verdict = together(detection, verdict, side, other.speaks_with(side), final)
        if verdict.protocol == UNKNOWN:
            if not final:
                return
            verdict = across_gaps(side, side.ended)
        if not final and side.joined and registry.get(verdict.protocol).contained:
            # perhaps the inside of a message: the other direction shows of which protocol
            side.contained = True
            if other is None or not (other.named or other.contained):
                return
        self._settle(side, verdict, messages)

    def _decide_older(self, side: Side, messages: list[Message]) -> None:
        """Let the other direction no longer wait, as its bytes are older than what comes now."""
        other = side.other
        if other is not None and other.waiting_bytes and other.decoder is None:
            if side.named and other.phase <= side.phase:
                self.decide(other, True, messages)

    def _settle(self, side: Side, verdict: Verdict, messages: list[Message]) -> None:
        """Fix a direction's protocol, and the other's if it waits; decode their pieces in capture order."""
        head = side.head()
        other = side.other
        held: list[Piece] = []
        if self.unproved.pop(key_of(side.flow, side.direction), None) is not None:
            held = self.held_pieces(other)
        waiting, order = self._fix(side, verdict)
        if other is not None and other.follow(side):
            if self.verdicts is not None:
                late = Verdict(side.protocol, 0.0, (f"the other direction is {side.protocol}",))
                self.verdicts[(side.flow.number, other.direction)] = late
            self.watch(other)
        asked = other is not None and other.next_phase > other.phase and not other.next_sure
        if other is not None and (asked or side.is_foreign(other)):
            late_ones = self._reconsider(other, messages)
            if self.afresh is not None and late_ones:  # those that are younger come in their turn
                last_us = waiting[-1].complete_us if waiting else -1
                self.afresh.extend([piece for piece in late_ones if piece.complete_us > last_us])
                late_ones = [piece for piece in late_ones if piece.complete_us <= last_us]
            if late_ones:
                other.waiting = late_ones
                other.order = placed(late_ones, waiting, order)
                other.waiting_bytes = sum([len(piece.data) for piece in late_ones])
                self.heads += other.waiting_bytes
                self._undecided[key_of(other.flow, other.direction)] = other
        if side.named and other is not None and other.decoder is not None:
            self.watch(other, messages)
        both = False
        if side.named and other is not None and other.decoder is None and other.waiting_bytes:
            if other.phase == side.phase:
                data = other.head()
                other.tried = other.waiting_bytes
                whole = other.datagrams or (other.ended and len(data) == other.waiting_bytes)
                detection = detect(data, head, whole, False, True, other.joined)
                found = verdict_of(detection, side.flow)
                verdict = together(detection, found, other, side.protocol, False)
                if verdict.protocol != UNKNOWN:
                    both = True
                    more, places = self._fix(other, verdict)
                    self.watch(side)
                    waiting, order = in_order(waiting, order, more, places)
        if held:
            waiting = sorted(waiting + held, key=_completed)
        for piece in waiting:
            self.take(side if piece.direction == side.direction else other, piece, messages)
        if held:
            self.end_held(other, messages)
        if side.ended:
            self._finish(side, messages)
        if both and other is not None and other.ended:
            self._finish(other, messages)

    def _fix(self, side: Side, verdict: Verdict) -> tuple[list[Piece], list[int]]:
        """Fix a direction's protocol; the pieces that waited for it, with their places in the capture."""
        side.protocol = verdict.protocol
        if self.verdicts is not None and (side.phase == 0 or side.named):
            self.verdicts[(side.flow.number, side.direction)] = verdict
        decoder = Decoder(verdict.protocol, int(side.position))
        decoder.stays_left = True
        decoder.joined = side.inside
        decoder.role = self.role_of(side) if side.inside else ""
        side.decoder = decoder
        side.share_track(side.other)
        self.watch(side)
        self._undecided.pop(key_of(side.flow, side.direction), None)
        self.heads -= side.waiting_bytes
        return side.release()

    def take(self, side: Side | None, piece: Piece, messages: list[Message]) -> None:
        """Decode a piece that waited, or let it wait again.

        Its stream may have left the protocol since, or the other direction be joined in the middle.
        """
        assert side is not None
        key = key_of(side.flow, side.direction)
        if side.decoder is None:
            self._wait(key, side, piece, messages)
        elif key ^ 1 in self.unproved and key not in self.unproved:
            self.hold(key, side, piece, messages)
        else:
            if key ^ 1 in self._undecided:
                self._decide_older(side, messages)
            self._decode(side, piece, messages)

    def _leave(self, side: Side, messages: list[Message]) -> None:
        """Detect afresh what follows a message after which the stream is of another protocol."""
        decoder = side.decoder
        assert decoder is not None
        other = side.other or self.begin(side.flow, 1 - side.direction)
        phase: i64 = max(side.phase + 1, other.phase)
        if other.decoder is not None and other.protocol == side.protocol:
            phase = max(phase, other.phase + 1)
        self._left = True
        pieces = self.begin_afresh(side, decoder.rest(), phase)
        if other.phase < phase:
            other.expect(side, accepts(side, messages))
            more = self._leave_unproved(other, side.began_us, messages)
            if self.afresh is not None:
                self.afresh.extend(more)
            else:
                pieces = sorted(more + pieces, key=_completed)
        for piece in pieces:
            self.take(side if piece.direction == side.direction else other, piece, messages)
        if side.ended and side.decoder is None:
            self.decide(side, True, messages)

    def _leave_unproved(self, side: Side, time_us: i64, messages: list[Message]) -> list[Piece]:
        """Have a direction leave a protocol in which its first message was not found, as the other one did.

        That message, whose beginning was not captured, may be what made the other direction leave it.
        Gives the pieces of what was sent since, as far as it has come.
        """
        decoder = side.decoder
        if decoder is None or not decoder.joined or not side.next_sure or side.next_phase <= side.phase:
            return []
        waiting = len(decoder.pending)
        size = side.unknowing(side.position - waiting, time_us)
        return self._part(side, size, side.next_phase, messages, size == 0) if size < waiting else []

    def _reconsider(self, side: Side, messages: list[Message]) -> list[Piece]:
        """Have a direction, in whose protocol nothing was found, leave it where another one is shown.

        By the other direction, which asked for that and went on in another one; or by its own bytes, if a
        head that was cut off may have asked for it. Gives the pieces of what is of another protocol.
        """
        decoder = side.decoder
        codec = None if decoder is None else decoder.codec
        if decoder is None or codec is None or not codec.may_leave or not decoder.joined:
            return []
        data = decoder.pending
        waiting = len(data)
        if waiting == 0 or codec.first(data, 0, waiting, False, "") != waiting:
            return []
        other = side.other
        if other is not None and side.next_phase > side.phase and other.went_on():
            size = side.unknowing(side.position - waiting, 0)
            head = codec.after_head(data[size:])
            return self._part(side, size + head, other.phase, messages, head == 0) if size < waiting else []
        if other is not None and other.is_foreign(side):
            head = codec.after_head(data)
            pieces = self._part(side, head, side.phase + 1, messages, head == 0)
            other.expect(side, False)
            return pieces
        if not side.doubtful or (other is not None and self._opens(other, side, messages)):
            return []
        if not max(1, 2 * side.tried) <= waiting <= HEAD:
            return []
        side.tried = waiting
        verdict = verdict_of(detect(data, b"", False, False, True), side.flow)
        if verdict.protocol in (UNKNOWN, codec.name) or registry.get(verdict.protocol).contained:
            return []
        self.give_older(side, messages)  # it may show where that begins
        if side.decoder is not decoder:
            return []
        phase = side.phase + 1 if other is None else max(side.phase + 1, other.phase)
        pieces = self._part(side, 0, phase, messages, True)
        if other is not None and other.phase < phase:
            other.expect(side, False)
        return pieces

    def _opens(self, side: Side, other: Side, messages: list[Message]) -> bool:
        """Whether what waits of a direction is a reply after which both left its protocol; if so, they do.

        Its request was not captured; what the other direction sent, knowing the reply, is no request.
        """
        size = 0 if side.datagrams or side.phase != other.phase else side.opening(HEAD)
        decoder = side.decoder
        if size == 0 or decoder is None or decoder.codec is None:
            return False
        if not other.knew(side.flow.sent_by(side.direction).sequence + size):
            return False
        decoder.codec = decoder.codec.replying_to(UNKNOWN_METHOD)
        self.give(side, decoder.again(), messages)
        if decoder.left and side.decoder is decoder:
            self._leave(side, messages)
        else:
            self.give_older(other, messages)
        return side.decoder is not decoder

    def _take_afresh(self, side: Side, pieces: list[Piece], messages: list[Message]) -> None:
        """Take the pieces of another protocol, and what waited of the other direction until one was found."""
        if not pieces:
            return
        other = side.other
        for piece in sorted(pieces + self.held_pieces(other), key=_completed):
            self.take(side if piece.direction == side.direction else other, piece, messages)
        self.end_held(other, messages)

    def _part(self, side: Side, size: i64, phase: i64, messages: list[Message], inside: bool) -> list[Piece]:
        """Leave a protocol before all but the first bytes of what waits; the pieces of these.

        `inside`: whether they may begin inside a message.
        """
        decoder = side.decoder
        assert decoder is not None
        assert decoder.codec is not None
        self._left = True
        self.unproved.pop(key_of(side.flow, side.direction), None)
        rest = decoder.rest()
        if size > 0:
            start = int(side.position - len(rest))
            self.give_message(side, inside_message(decoder.codec, start, rest[:size]), messages)
        pieces = self.begin_afresh(side, rest[size:], phase)
        side.inside = inside
        return pieces

    def _follow(self, side: Side, piece: Piece, messages: list[Message]) -> None:
        """Leave a protocol before a piece that was sent when the other direction had left it."""
        decoder = side.decoder
        assert decoder is not None
        waiting = len(decoder.pending)
        if waiting and not decoder.joined and side.unknowing(side.position - waiting, 0) == 0:
            side.phase = side.next_phase  # a message that begins after that is of the same protocol again
            self.take(side, piece, messages)
            return
        self.give(side, decoder.close(), messages)
        if side.decoder is decoder:
            self.begin_afresh(side, b"", max(side.next_phase, side.phase))
        self.take(side, piece, messages)

    def watch(self, side: Side, messages: list[Message] | None = None) -> None:
        """Let a direction's decoder know which request the next reply is to, if its framing depends on it.

        With `messages`, what waits is then read once more.
        """
        decoder = side.decoder
        if decoder is not None and decoder.codec is not None and decoder.codec.may_leave:
            other = side.other
            method = "" if other is None or other.requests is None else other.requests.method
            if other is not None and other.protocol != side.protocol and other.is_foreign(side):
                method = UNKNOWN_METHOD
            codec = decoder.codec
            decoder.codec = codec.replying_to(method)
            if method and messages is not None and decoder.codec is not codec and not decoder.left:
                self.give(side, decoder.again(), messages)
                if decoder.left and side.decoder is decoder:
                    self._leave(side, messages)

    # --- messages -------------------------------------------------------------------------------------

    def _decode(self, side: Side, piece: Piece, messages: list[Message]) -> None:
        if side.next_phase > side.phase and side.follows(piece):
            self._follow(side, piece, messages)
            return
        decoder = side.decoder
        assert decoder is not None
        if piece.gap and self.unproved and decoder.codec is not None and decoder.codec.may_leave:
            self.give_older(side, messages)
            if side.decoder is not decoder:
                self.take(side, piece, messages)
                return
        if piece.notes:
            side.note(piece.notes)
            for note in piece.notes:
                if note.code == "joined-middle":
                    side.incomplete = side.broken = side.doubtful = True
                    decoder.joined = True
                    decoder.role = self.role_of(side)
        if piece.gap:
            side.incomplete = side.broken = True
            side.cut_off(side.other)
            records = decoder.gap(piece.gap)
            if records:
                side.cut_at(records[-1])
            self.give(side, records, messages)
            followed = side.next_phase > side.phase and side.follows(piece)
            if side.decoder is decoder and (decoder.left or followed):
                if followed:
                    self.begin_afresh(side, b"", side.next_phase)
                else:
                    self._leave(side, messages)
                piece.notes = ()
                self.take(side, piece, messages)
                return
            side.awaited = True
            if side.datagrams:
                decoder.joined = False  # each datagram begins with a message
            decoder.role = self.role_of(side)
            if side.found is not None:
                side.passed = piece.gap
                piece.gap = 0
                piece.notes = ()
                self.hold(key_of(side.flow, side.direction), side, piece, messages)
                return
        size: i64 = len(piece.data)
        if size == 0:
            return
        start: i64 = piece.offset
        side.position = start + size
        if side.sequence < 0:
            side.sequence = piece.flow.sent_by(side.direction).sequence
        if side.acked < 0 or (piece.acked - side.acked) & 0xFFFFFFFF < 1 << 31:
            side.acked = piece.acked
        side.opposite = piece.opposite
        side.arrivals.append(Arrival(start, start + size, piece.complete_us, piece.packets, piece.acked))
        side.held += size + ARRIVAL_COST
        self.held += size + ARRIVAL_COST
        if side.datagrams:
            self.give(side, decoder.close(piece.data), messages)
        else:
            self.give(side, decoder.feed(piece.data), messages)
            if decoder.joined and side.held and side.awaited and side.found is None:
                self.unproved[key_of(side.flow, side.direction)] = side
            if decoder.joined and (side.doubtful or side.next_phase > side.phase):
                if side.decoder is decoder:
                    self._take_afresh(side, self._reconsider(side, messages), messages)
        if decoder.left and side.decoder is decoder:
            self._leave(side, messages)

    def _relieve(self, messages: list[Message]) -> None:
        """Cut off the longest message that waits for its end."""
        longest: Side | None = None
        for side in self.sides.values():
            if side.found is None and (longest is None or side.held > longest.held):
                longest = side
        if longest is not None and longest.decoder is not None:
            text = f"more than {ALL_HELD} bytes of messages waited"
            longest.note((Note("capture-limit", int(longest.position), text),))
            self.give(longest, longest.decoder.close(), messages)


def _completed(piece: Piece) -> int:
    return piece.complete_us
