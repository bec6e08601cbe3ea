"""Which reply answers which request: numbers of pairs, and notes where a flow breaks its rules.

A codec's `exchange` gives a message's role and key. A reply belongs to the latest open request with its key;
replies without a key answer in order. Of a reply that was captured before its request that is known where its
side had already acknowledged bytes that were not captured yet; a datagram's reply waits by its key.
"""

from typing import Final
from zlib import crc32

from mypy_extensions import i64

from wirelens.codecs.codec import Exchange
from wirelens.codecs.codes import Note
from wirelens.codecs.open_requests import WINDOW, Early, Request, Requests, Waiting
from wirelens.codecs.record import Record
from wirelens.codecs.sides import Side

LEAST_REPEATED: Final = 32  # bytes of a reply without an id, beyond which an equal one repeats it


class Pairs:
    """Pairs the messages of all flows.

    `number`: that of the last pair; `waiting`: of all requests; `key`: that of the request which the last
    reply answers, empty if that is not known.
    """

    def __init__(self) -> None:
        self.number: i64 = 0
        self.key = ""
        self.waiting: Final = Waiting()

    def requested(self, side: Side, exchange: Exchange, record: Record, time_us: i64) -> i64:
        """Keep a request until its reply; the number of their pair."""
        requests = side.requests
        if requests is None:
            requests = side.requests = Requests(self.waiting)
        key = exchange.key
        flow = side.flow
        direction = flow.sent_by(side.direction)
        end: i64 = -1
        received: i64 = -1
        if not side.datagrams and side.sequence >= 0:
            end = (side.sequence + record.offset + record.length) & 0xFFFFFFFF
            received = side.acked_before
        if exchange.oneway:
            if not key:  # one that is confirmed in order
                requests.add(key, Request(0, time_us, exchange, end, received))
            return 0
        pair: i64 = 0
        if side.datagrams:
            pair = requests.repetition(_digest(exchange, record), time_us)
            if pair:
                _note(record, "duplicate-id", "this request was sent before")
                requests.renew(key, pair, time_us)
                return pair
        first = not requests.begun
        requests.begun = True
        if requests.early:
            reply = requests.take_early(key, time_us, end, received)
            if reply is not None:
                flow.sent_by(1 - side.direction).orphaned -= 1
                _note(record, "reply-first", "its reply was captured before it")
                request = Request(reply.pair, time_us, exchange, end, received)
                if reply.start >= 0:
                    requests.queue.clear()  # replies come in order: those to earlier ones are lost
                request.answered = True
                request.part = reply.part
                request.parts = reply.parts
                if not reply.last:
                    requests.add(key, request)
                if end < 0:
                    requests.repeat(_digest(exchange, record), reply.pair, time_us)
                requests.taken = request if first and end < 0 and not key else None
                return reply.pair
        requests.taken = None
        if key:
            open_one = requests.latest(key)
            if open_one is not None:
                if exchange.cancels:
                    requests.close(key, open_one)
                    if not open_one.answered and open_one.expected:
                        direction.unanswered -= 1
                    return open_one.pair
                if exchange.part > 1:  # a request in several messages
                    open_one.time_us = time_us
                    return open_one.pair
                _note(
                    record,
                    "duplicate-id",
                    f"another request with {key} is open; replies go to this one first",
                )
        if exchange.cancels:
            return 0
        self.number += 1
        pair = self.number
        requests.add(key, Request(pair, time_us, exchange, end, received))
        if side.datagrams:
            requests.repeat(_digest(exchange, record), pair, time_us)
        if not exchange.optional:
            direction.unanswered += 1
        return pair

    def answered(
        self, side: Side, other: Side, exchange: Exchange, record: Record, time_us: i64
    ) -> tuple[i64, i64]:
        """The pair of a reply of `side`, and the time of its request; 0 for what is unknown."""
        flow = side.flow
        requests = other.requests
        self.key = ""
        end: i64 = -1
        start: i64 = -1
        if side.sequence >= 0 and not exchange.key:
            end = (side.sequence + record.offset + record.length) & 0xFFFFFFFF
            if side.broken:
                start = (end - record.length) & 0xFFFFFFFF
        if requests is None:
            return self._unasked(side, other, exchange, record, time_us, start)
        if side.datagrams and not exchange.key:
            pair = self._repeated(requests, exchange, record, time_us)
            if pair:
                return pair, 0
        if start >= 0:
            requests.pass_over(start, record.length)
            if requests.before(start) and _acked_more(side, other):
                requests.queue.clear()
                return self._unasked(side, other, exchange, record, time_us, start)
        key, request = requests.answer(exchange, _received(side, other), end)
        if request is None:
            return self._unasked(side, other, exchange, record, time_us, start)
        if start >= 0:
            side.broken = False
        self.key = key
        if not request.answered:
            request.answered = True
            if request.expected:
                flow.sent_by(1 - side.direction).unanswered -= 1
        if request.session and not set(request.session) <= set(exchange.session):
            _note(record, "session-info", "the request's SESSION_INFO is not repeated")
        done = True
        if exchange.part > 0:
            if exchange.part != request.part + 1:
                _note(record, "series-gap", f"part {exchange.part} follows part {request.part}")
            request.part = exchange.part
            request.parts += 1
            done = request.parts == exchange.parts
        if done:
            requests.close(key, request)
        if not request.numbered:
            return 0, 0
        if side.datagrams:
            requests.repeat(_digest(exchange, record), request.pair, time_us)
        return request.pair, request.time_us

    def _repeated(self, requests: Requests, exchange: Exchange, record: Record, time_us: i64) -> i64:
        """The pair of a datagram without an id that came before; 0 if it did not, or is too short."""
        if record.length <= LEAST_REPEATED:
            return 0
        return requests.repetition(_digest(exchange, record), time_us)

    def _confirmed(
        self, requests: Requests, exchange: Exchange, record: Record, time_us: i64
    ) -> tuple[i64, i64]:
        """As `answered`, of a datagram that is the reply to the last request after all.

        The one captured before that request was the reply to an earlier one that was not captured.
        """
        taken = requests.taken
        assert taken is not None
        requests.taken = None
        requests.repeat(_digest(exchange, record), taken.pair, time_us)
        return taken.pair, taken.time_us

    def _unasked(
        self, side: Side, other: Side, exchange: Exchange, record: Record, time_us: i64, start: i64 = -1
    ) -> tuple[i64, i64]:
        """As `answered`, of a reply without an open request: it may be captured later."""
        flow = side.flow
        requests = other.requests
        acked: i64 = -1
        if side.datagrams:
            if requests is not None:
                pair = requests.repetition(_digest(exchange, record), time_us)
                if pair:
                    return pair, 0
            if requests is not None and requests.taken is not None and not exchange.key:
                return self._confirmed(requests, exchange, record, time_us)
            early = True
            sure = requests is not None
        else:
            acked = side.acked
            early = _acked_more(side, other)
            whole = not (side.incomplete or other.incomplete)
            sure = whole and other.named and not other.damaged
        key = exchange.first_key or exchange.key
        if exchange.part and requests is not None:
            series = requests.series(key)
            if series is not None:
                series.part = exchange.part
                series.parts += 1
                series.last = series.parts == exchange.parts
                return series.pair, 0
        flow.sent_by(side.direction).orphaned += 1
        if not early:
            if sure:
                text = f"no open request with {key}" if key else "no open request"
                _note(record, "no-request", text)
            return 0, 0
        if requests is None:
            requests = other.requests = Requests(self.waiting)
        self.number += 1
        reply = Early(key, self.number, time_us, acked, start)
        if exchange.part:
            reply.part = exchange.part
            reply.parts = 1
            reply.last = exchange.parts == 1
        requests.expect(reply)
        if acked < 0:
            requests.repeat(_digest(exchange, record), self.number, time_us)
        _note(record, "reply-first", "captured before its request")
        return self.number, 0


def _acked_more(side: Side, other: Side) -> bool:
    """Whether a side had received bytes of the other one that are not read yet: they may be captured yet."""
    if other.ended and other.received >= side.flow.sent_by(other.direction).length:
        return False
    first = other.sequence if other.sequence >= 0 else side.opposite
    ahead: i64 = (side.acked - first - other.received) & 0xFFFFFFFF
    return side.acked >= 0 and first >= 0 and 0 < ahead < WINDOW


def _received(side: Side, other: Side) -> i64:
    """The sequence number up to which a side had received the other's bytes; -1 if it does not keep count."""
    if side.acked < 0 or other.sequence < 0:
        return -1
    if 0 < (side.acked - other.sequence) & 0xFFFFFFFF <= other.position:
        return side.acked
    return -1


def _note(record: Record, code: str, text: str) -> None:
    """Note what a message breaks in its conversation."""
    note = Note(code, record.offset, text)
    record.extra_notes = [*(record.extra_notes or ()), note]


def _digest(exchange: Exchange, record: Record) -> str:
    """What distinguishes a datagram from all but its repetitions."""
    root = record.root
    raw = b"" if root is None else root.raw
    return f"{exchange.role} {exchange.key} {len(raw)} {crc32(raw)}"
