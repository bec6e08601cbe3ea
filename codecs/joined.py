"""Directions joined in the middle: what the other one sent waits until the first message is found.

So the messages of a flow come out in the order in which the capture completed them. Both directions may be
joined: then the messages that are found first wait too.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.flow import Piece
from wirelens.codecs.messages import Message, Messages, key_of
from wirelens.codecs.record import Record
from wirelens.codecs.sides import Side

ALL_HEADS: Final = 1 << 25  # bytes of all directions that wait for their protocol or for the other one
HELD: Final = 1 << 16  # bytes of a direction that wait at most for the first message of the other one
HELD_PIECES: Final = 1 << 10  # pieces of it
HELD_US: Final = 1_500_000  # how long they wait at most


class Joined(Messages):
    """Puts the messages of directions in order whose first message is found late.

    The attributes are as in `Conversations`.
    """

    def __init__(
        self, protocol: str | None, sources: bool, file: str, arrivals: bool, files: tuple[str, ...]
    ) -> None:
        super().__init__(protocol, sources, file, arrivals, files)
        self.unproved: dict[int, Side] = {}  # joined in the middle, with bytes before the first message
        self.heads: i64 = 0
        self.afresh: list[Piece] | None = None  # what `take_held` takes in their turn

    def take(self, side: Side | None, piece: Piece, messages: list[Message]) -> None:
        """Decode a piece that waited, or let it wait again."""
        raise NotImplementedError

    def decide(self, side: Side, final: bool, messages: list[Message]) -> None:
        """Detect the protocol; with `final` it becomes unknown where none is found."""
        raise NotImplementedError

    def end(self, side: Side, messages: list[Message]) -> None:
        """End a direction; while its protocol is open, that of the other one may still name it."""
        raise NotImplementedError

    def give(self, side: Side, records: list[Record], messages: list[Message]) -> None:
        """Give the records of a direction; those with its first message with what waited for that."""
        if self.unproved and records and key_of(side.flow, side.direction) in self.unproved:
            if not self._keep(side, records):
                self.give_between(side, records, messages)
            return
        for record in records:
            self.give_message(side, record, messages)

    def _keep(self, side: Side, records: list[Record]) -> bool:
        """Keep the records with a direction's first message if the other one, joined too, may have older."""
        key = key_of(side.flow, side.direction)
        other = self.unproved.get(key ^ 1)
        decoder = side.decoder
        if other is None or other.decoder is None or decoder is None or decoder.track is not None:
            return False
        if decoder.codec is None or decoder.codec.may_leave:  # they show of what protocol the other one is
            return False
        last = records[len(records) - 1]
        if other.arrivals[other.arrival].time_us >= side.complete_us(last.offset + last.length):
            return False
        del self.unproved[key]
        side.found = records
        return True

    def hold(self, key: int, side: Side, piece: Piece, messages: list[Message]) -> None:
        """Keep a piece while the other direction, whose bytes may be older, has no message yet."""
        if side.waiting is None:
            side.waiting = []
        side.waiting.append(piece)
        size: i64 = len(piece.data)
        side.waiting_bytes += size
        self.heads += size
        if (
            side.waiting_bytes > HELD
            or len(side.waiting) > HELD_PIECES
            or piece.complete_us - side.waiting[0].complete_us > HELD_US
            or self.heads > ALL_HEADS
        ):
            other = self.unproved[key ^ 1]
            other.awaited = False
            self.give_between(other, [], messages)
        elif self.unproved[key ^ 1].decoder is None and side.waiting_bytes >= 2 * side.tried:
            side.tried = side.waiting_bytes
            self.decide(self.unproved[key ^ 1], False, messages)

    def held_pieces(self, side: Side | None) -> list[Piece]:
        """The pieces of a direction that `hold` kept, which it no longer does."""
        if side is None or side.decoder is None or not side.waiting:
            return []
        self.heads -= side.waiting_bytes
        return side.release()[0]

    def end_held(self, side: Side | None, messages: list[Message]) -> None:
        """End a direction whose end waited with its pieces."""
        if side is not None and side.ending and not side.waits:
            side.ending = False
            self.end(side, messages)

    def give_between(self, side: Side, records: list[Record], messages: list[Message]) -> None:
        """Give the records of a direction in which the first message was found, and what waited for that."""
        del self.unproved[key_of(side.flow, side.direction)]
        other = side.other
        held = self.held_pieces(other)
        at = 0
        position = side.position
        last: i64 = 0 if other is None else other.position
        for record in records:
            complete_us = side.complete_us(record.offset + record.length)
            if other is not None and other.found is not None:
                some_left = self._give_found(other, side, complete_us, messages)
                other.position = other.reached(complete_us) if some_left else last
            while at < len(held) and held[at].complete_us < complete_us:
                side.position = side.reached(held[at].complete_us)
                self.take(other, held[at], messages)
                at += 1
            self.give_message(side, record, messages)
        side.position = position
        if other is not None and other.found is not None:
            other.position = last
            self._give_found(other, side, -1, messages)
        self.take_held(side, held[at:], messages)
        self.end_held(other, messages)

    def _give_found(self, side: Side, other: Side, before_us: i64, messages: list[Message]) -> bool:
        """Give the records that `_keep` kept, those that were complete before a time; -1: all.

        Whether some are left.
        """
        records = side.found
        assert records is not None
        while records:
            record = records[0]
            complete_us = side.complete_us(record.offset + record.length)
            if before_us >= 0:
                if complete_us >= before_us:
                    return True
                other.position = other.reached(complete_us)
            self.give_message(side, record, messages)
            del records[0]
        side.found = None
        if side.passed:
            side.passed = 0
            side.broken = True
        return False

    def give_older(self, side: Side, messages: list[Message]) -> None:
        """Give what waits of the other direction and is older than the last bytes of this one.

        It may show of what protocol they are.
        """
        key = key_of(side.flow, side.direction)
        other = side.other
        if key not in self.unproved or other is None or other.decoder is None or not other.waiting:
            return
        del self.unproved[key]
        held = self.held_pieces(other)
        decoder = side.decoder
        self.take_held(side, held, messages, side.complete_us(side.position))
        if side.decoder is decoder:
            self.unproved[key] = side

    def take_held(self, side: Side, held: list[Piece], messages: list[Message], last_us: i64 = -1) -> None:
        """Take what waited of the other direction, and in its turn what this one begins afresh.

        With `last_us` only what is older, if this direction is still of its protocol then.
        """
        key = key_of(side.flow, side.direction)
        other = side.other
        decoder = side.decoder
        afresh: list[Piece] = []
        before = self.afresh  # of the other direction, if its first message was found just now too
        self.afresh = afresh
        for piece in held:
            while afresh and afresh[0].complete_us <= piece.complete_us:
                again = afresh.pop(0)
                self.take(side if again.direction == side.direction else other, again, messages)
            if 0 <= last_us <= piece.complete_us and side.decoder is decoder:
                self.unproved[key] = side  # so that it waits again
            self.take(other, piece, messages)
        self.afresh = before
        for piece in afresh:
            self.take(side if piece.direction == side.direction else other, piece, messages)
