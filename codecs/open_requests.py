"""The requests of one direction that wait for replies, in bounded memory: by key, or in order."""

from itertools import islice
from typing import Any, Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.codec import Exchange

ALL_REQUESTS: Final = 1 << 17  # requests with a key, of all directions, that wait for replies; beyond them
OPEN_REQUESTS: Final = 1 << 10  # a direction keeps this many and drops its oldest; of those without a key too
DROP_SHIFT: Final = 10  # a part of 1 in 1,024 is dropped at once, as finding the oldest takes long
EARLY_REPLIES: Final = 64  # replies that wait for requests captured after them; then the oldest is dropped
REPEATED: Final = 64  # datagrams of a direction that are remembered to recognise their repetition
REORDER_US: Final = 1_000_000  # how much later the request of a datagram may be captured
WINDOW: Final = 1 << 30  # bytes that an acknowledgment may be ahead of what was captured

State = tuple[Any, ...]  # nested tuples of numbers, text and bytes


@mypyc_attr(acyclic=True, free_list_len=1)
class Request:
    """An open request: its pair's number (0: replies are not paired with it) and its time.

    `part`: the last part of a series of replies, `parts`: how many of them came. `expected`: whether its role
    makes a reply certain. `end`: TCP sequence number of its end, -1 for a datagram. `received`: that up to
    which its side had the other's bytes when it began to send it, -1 if unknown.
    """

    def __init__(
        self, pair: i64, time_us: i64, exchange: Exchange, end: i64 = -1, received: i64 = -1
    ) -> None:
        self.pair: Final[i64] = pair
        self.time_us: i64 = time_us
        self.end: Final[i64] = end
        self.received: Final[i64] = received
        self.method: Final = exchange.method
        self.session: Final = exchange.session
        self.expected: Final = not exchange.optional and not exchange.oneway
        self.numbered: Final = not exchange.oneway
        self.answered = False
        self.part: i64 = 0
        self.parts: i64 = 0

    def save(self) -> State:
        """The request as plain values."""
        flags = (self.expected, self.numbered, self.answered)
        return (
            int(self.pair),
            int(self.time_us),
            (int(self.end), int(self.received)),
            self.method,
            self.session,
            flags,
            (int(self.part), int(self.parts)),
        )

    @staticmethod
    def load(state: State) -> "Request":
        """The request that `save` gave."""
        pair, time_us, (end, received), method, session, (expected, numbered, answered), (part, parts) = state
        exchange = Exchange(
            "request",
            optional=not expected,
            oneway=not numbered,
            method=method,
            session=tuple(session),
        )
        request = Request(pair, time_us, exchange, end, received)
        request.answered = answered
        request.part = part
        request.parts = parts
        return request


@mypyc_attr(acyclic=True)
class Early:
    """A reply, or the first of a series, that was captured before its request.

    `acked`: the acknowledgment number that its side had sent, -1 for a datagram. `start`: its TCP sequence
    number if it has no key and replies before it may be lost, else -1. `part`: the last part of the series,
    `parts`: how many of them came, `last`: whether that is all.
    """

    def __init__(self, key: str, pair: i64, time_us: i64, acked: i64, start: i64 = -1) -> None:
        self.key: Final = key
        self.pair: Final[i64] = pair
        self.time_us: Final[i64] = time_us
        self.acked: Final[i64] = acked
        self.start: Final[i64] = start
        self.part: i64 = 0
        self.parts: i64 = 0
        self.last = True

    def is_later(self, end: i64, received: i64) -> bool:
        """Whether it answers a later request than one with this end, before which so much was `received`.

        Its side had more requests, and it is not what came next after that one was sent.
        """
        if self.start < 0 or received < 0 or self.acked == end:
            return False
        return 0 < (self.start - received) & 0xFFFFFFFF < WINDOW


@mypyc_attr(acyclic=True)
class Waiting:
    """How many requests with a key, of all directions, wait for replies."""

    def __init__(self) -> None:
        self.number: i64 = 0


class Requests:
    """The requests of one direction that wait for replies: by key, and those without a key in order."""

    def __init__(self, waiting: Waiting) -> None:
        self.waiting: Final = waiting
        self.keyed: dict[str, list[Request]] = {}
        self.count: i64 = 0  # of those with a key
        self.queue: list[Request] = []
        self.early: list[Early] = []
        self.taken: Request | None = None  # the first one, if a datagram captured before it was its reply
        self.begun = False  # whether there was a request
        # digests of the last datagrams: the number of their pair, and their time
        self.repeated: dict[str, tuple[int, int]] = {}

    @property
    def method(self) -> str:
        """The method of the request that the next reply without a key answers."""
        return self.queue[0].method if self.queue else ""

    def latest(self, key: str) -> Request | None:
        """The request that a reply with this key belongs to; it stays open."""
        if not key:
            return self.queue[0] if self.queue else None
        requests = self.keyed.get(key)
        return None if requests is None else requests[-1]

    def add(self, key: str, request: Request) -> None:
        """Open a request."""
        if not key:
            self.queue.append(request)
            if len(self.queue) > OPEN_REQUESTS:
                del self.queue[0]
            return
        waiting = self.waiting
        waiting.number += 1
        requests = self.keyed.get(key)
        if requests is None:
            self.keyed[key] = [request]
        else:
            requests.append(request)
        self.count += 1
        if self.count > OPEN_REQUESTS and waiting.number > ALL_REQUESTS:
            for oldest in list(islice(self.keyed, int(self.count >> DROP_SHIFT))):
                dropped: i64 = len(self.keyed.pop(oldest))
                self.count -= dropped
                waiting.number -= dropped

    def close(self, key: str, request: Request) -> None:
        """Close an open request."""
        if not key:
            self.queue.remove(request)
            return
        requests = self.keyed[key]
        requests.remove(request)
        self.count -= 1
        self.waiting.number -= 1
        if not requests:
            del self.keyed[key]

    def leave(self) -> None:
        """Count its requests no longer, as their direction has ended."""
        self.waiting.number -= self.count

    def answer(self, exchange: Exchange, acked: i64, end: i64) -> tuple[str, Request | None]:
        """The open request that a reply belongs to, and the key that it was found under.

        `acked`: sequence number up to which its sender had received requests, `end`: that of the reply's end;
        -1 if that is not certain.
        """
        if exchange.first_key:
            request = self.latest(exchange.first_key)
            if request is not None:
                return exchange.first_key, request
        if exchange.key:
            return exchange.key, self.latest(exchange.key)
        for request in self.queue:
            if acked >= 0 and request.end >= 0 and 0 < (request.end - acked) & 0xFFFFFFFF < WINDOW:
                break  # the sender of the reply did not have this request yet
            if end >= 0 and request.received >= 0 and (request.received - end) & 0xFFFFFFFF < WINDOW:
                break  # the reply had come before this request was sent
            if request.numbered or exchange.answers_all:
                return "", request
        return "", None

    def pass_over(self, start: i64, length: i64) -> None:
        """Close what was answered by replies that are lost, before one at a sequence number.

        The next request was sent after more had come than before the first: everything up to `start`, but not
        this reply.
        """
        queue = self.queue
        for at in range(1, len(queue)):
            first, later = queue[0].received, queue[at].received
            if first < 0 or later < 0:
                break
            if (later - start) & 0xFFFFFFFF < length and 0 < (later - first) & 0xFFFFFFFF < WINDOW:
                del queue[:at]
                break

    def before(self, start: i64) -> bool:
        """Whether the first request was sent before all bytes up to a reply at a sequence number had come.

        Who waits for each reply before the next request has it answered by what came before that.
        """
        first: i64 = self.queue[0].received if self.queue else -1
        return first >= 0 and 0 < (start - first) & 0xFFFFFFFF < WINDOW

    def expect(self, reply: Early) -> None:
        """Keep a reply that was captured before its request."""
        self.early.append(reply)
        if len(self.early) > EARLY_REPLIES:
            del self.early[0]

    def series(self, key: str) -> Early | None:
        """The series of replies that waits for its request, if there is one."""
        for reply in self.early:
            if reply.key == key and not reply.last:
                return reply
        return None

    def take_early(self, key: str, time_us: i64, end: i64, received: i64) -> Early | None:
        """The reply captured before this request, if there is one.

        `end`, `received`: see Request.
        """
        for at, reply in enumerate(self.early):
            if reply.key != key:
                continue
            if end >= 0:
                fits = reply.acked >= 0 and (reply.acked - end) & 0xFFFFFFFF < WINDOW
                fits = fits and not reply.is_later(end, received)
            else:
                fits = reply.acked < 0 and time_us - reply.time_us <= REORDER_US
            if fits:
                del self.early[at]
                return reply
        return None

    def repetition(self, digest: str, time_us: i64) -> i64:
        """The pair of a datagram that was sent before, a short time ago; 0 if it was not."""
        pair, earlier_us = self.repeated.get(digest, (0, 0))
        return pair if time_us - earlier_us <= REORDER_US else 0

    def renew(self, key: str, pair: i64, time_us: i64) -> None:
        """Let an open request count from when it was sent again."""
        requests = self.keyed.get(key, []) if key else self.queue
        for request in requests:
            if request.pair == pair:
                request.time_us = time_us

    def repeat(self, digest: str, pair: i64, time_us: i64) -> None:
        """Remember the pair of a datagram."""
        self.repeated[digest] = (int(pair), int(time_us))
        if len(self.repeated) > REPEATED:
            del self.repeated[next(iter(self.repeated))]

    def save(self) -> State:
        """What is open, as plain values."""
        keyed = [(key, request.save()) for key, requests in self.keyed.items() for request in requests]
        queue = [request.save() for request in self.queue]
        early = [
            (
                (reply.key, int(reply.pair), int(reply.time_us), int(reply.acked), int(reply.start)),
                (int(reply.part), int(reply.parts), reply.last),
            )
            for reply in self.early
        ]
        repeated = [(digest, *pair) for digest, pair in self.repeated.items()]
        taken = () if self.taken is None else self.taken.save()
        return (tuple(keyed), tuple(queue), tuple(early), tuple(repeated), taken, self.begun)

    def load(self, state: State) -> None:
        """Continue with what `save` gave."""
        keyed, queue, early, repeated, taken, self.begun = state
        self.taken = Request.load(taken) if taken else None
        for key, saved in keyed:
            self.add(key, Request.load(saved))
        for saved in queue:
            self.add("", Request.load(saved))
        for first, series in early:
            reply = Early(*first)
            reply.part, reply.parts, reply.last = series
            self.expect(reply)
        for digest, pair, time_us in repeated:
            self.repeat(digest, pair, time_us)
