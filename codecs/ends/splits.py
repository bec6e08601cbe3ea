"""Where the time of a call went: on the way there, in the server, on the way back; what was lost."""

from __future__ import annotations

from heapq import merge
from typing import TYPE_CHECKING, Final, NamedTuple

from wirelens.codecs.ends.table import BLIND, EARLY_COPY, MISSED_COPY, ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wirelens.codecs.call import Call
    from wirelens.codecs.ends.matching import Match
    from wirelens.codecs.ends.table import Connection, Table

BOTH: Final = "both"
CLIENT: Final = "client"
SERVER: Final = "server"
NOTHING: Final[Iterator[tuple[int, int]]] = iter(())
CLOCK_STEP: Final = "a clock was set near it: its times on the way are not known"


class Loss(NamedTuple):
    """How a message got to the other end.

    `lost`: copies sent less those that arrived, None if unknown. `first_us`, `last_us`: when the sender's end
    saw the first and the last copy, equal if it was sent once. `unseen`: "sender" or "receiver" if that end's
    capture lacks a copy. `resent_bytes`: what its sender sent more than once. `extra`: copies that arrived in
    addition.
    """

    lost: int | None
    first_us: int
    last_us: int
    unseen: str
    resent_bytes: int
    extra: int


class Split(NamedTuple):
    """What both ends show of a call; in microseconds, None if unknown.

    `answered_us`: when all bytes of the reply were at the client. `remarks`: what happened to its messages,
    for people.
    """

    seen: str
    request_transit_us: int | None = None
    server_time_us: int | None = None
    reply_transit_us: int | None = None
    uncertainty_us: int | None = None
    request_held_us: int | None = None
    reply_held_us: int | None = None
    request_lost: int | None = None
    reply_lost: int | None = None
    resent_bytes: int | None = None
    answered_us: int | None = None
    sent_us: int | None = None
    remarks: tuple[str, ...] = ()

    def put(self, call: Call) -> None:
        """Set the members of a call."""
        call.seen = self.seen
        call.remarks = "; ".join(self.remarks)
        call.request_transit_us = self.request_transit_us
        call.server_time_us = self.server_time_us
        call.reply_transit_us = self.reply_transit_us
        call.uncertainty_us = self.uncertainty_us
        call.request_held_us = self.request_held_us
        call.reply_held_us = self.reply_held_us
        call.request_lost = self.request_lost
        call.reply_lost = self.reply_lost
        if self.resent_bytes is not None:
            call.resent_bytes = self.resent_bytes
        if self.reply_held_us and self.answered_us is not None and self.sent_us is not None:
            call.answered_us = self.answered_us
            call.latency_us = self.answered_us - self.sent_us


class Splits:
    """The splits of the calls of two ends that were joined, by the number of their pair."""

    def __init__(self, match: Match) -> None:
        self.match: Final = match
        self._one_ways: Final = (OneWays(match.client), OneWays(match.server))
        self._server_end_us: Final = match.server.last_us
        self._joined: Final = {one.client.number: one.server for one in match.connections}

    def of_client(self, pair: int, flow: int, one_way: int = 0) -> Split:
        """The split of a client's call; `one_way`: which of its flow's one-way requests, if `pair` is 0."""
        client = self.match.client
        request = client.request_of(pair) if pair else self._one_ways[0].find(flow, one_way)
        reply = client.reply_of(pair) if pair else -1
        partners = client.partners
        asked = partners[request] if request >= 0 else -1
        answered = partners[reply] if reply >= 0 else -1
        if asked < 0 and answered < 0:
            return self._client_only(request, reply, flow)
        return self._split(request, reply, asked, answered)

    def is_joined(self, pair: int, flow: int, one_way: int = 0) -> bool:
        """Whether a server's call is one of the client's calls too."""
        server = self.match.server
        request = server.request_of(pair) if pair else self._one_ways[1].find(flow, one_way)
        reply = server.reply_of(pair) if pair else -1
        back = server.partners
        return (request >= 0 and back[request] >= 0) or (reply >= 0 and back[reply] >= 0)

    def _client_only(self, request: int, reply: int, flow: int) -> Split:
        """The split of a call whose messages the server's capture does not have."""
        server = self._joined.get(flow)
        if server is None or request < 0 or reply >= 0 or not self._is_lost(request, server):
            return Split(CLIENT)
        lost = self.match.client.copies_of(request).most()
        return Split(CLIENT, request_lost=lost, remarks=("the request never reached the server",))

    def _is_lost(self, request: int, server: Connection) -> bool:
        """Whether the server's capture went on without a request, although it has those before it."""
        match = self.match
        stream = server.streams[0]
        sent = match.client.firsts[request]
        if not stream or sent < 0 or server.datagrams:
            return False
        mine, other = match.server.partners[stream[-1]], stream[-1]
        if mine < 0 or match.client.orders[mine] > match.client.orders[request]:
            return False
        clocks = match.clocks.get(match.source((mine, other)))
        span = (
            None if clocks is None else clocks.span(match.client.orders[mine], match.client.orders[request])
        )
        estimate = None if clocks is None or span is None else clocks.estimate(span, sent)
        if estimate is None:
            return False
        return sent + estimate.theta_us + estimate.uncertainty_us <= self._server_end_us

    def _split(self, request: int, reply: int, asked: int, answered: int) -> Split:
        """The split of a call whose request or reply (at the client) both ends have."""
        client, server = self.match.client, self.match.server
        there = loss(client, request, server, asked) if request >= 0 <= asked else None
        back = loss(server, answered, client, reply) if reply >= 0 <= answered else None
        replied = answered
        if replied < 0 <= asked and server.pairs[asked] > 0:
            replied = server.reply_of(server.pairs[asked])
        remarks: list[str] = []
        if replied >= 0 > reply:
            remarks.append("answered, the reply never reached the client")
        elif replied < 0 and reply < 0 <= asked and server.pairs[asked] > 0:
            remarks.append("the server sent no reply")
        sent = client.firsts[request] if request >= 0 else -1
        arrived = server.readables[asked] if asked >= 0 else -1
        left = server.firsts[replied] if replied >= 0 else -1
        read = client.readables[reply] if reply >= 0 else -1
        if request >= 0 and client.flags[request] & EARLY_COPY:
            sent = -1
        if replied >= 0 and server.flags[replied] & EARLY_COPY:
            left = -1
        pairs = [(mine, other) for mine, other in ((request, asked), (reply, answered)) if mine >= 0 <= other]
        sources = {self.match.source(pair) for pair in pairs}
        clocks = self.match.clocks.get(sources.pop()) if len(sources) == 1 else None
        span = None
        estimate = None
        if clocks is not None:
            orders = [client.orders[mine] for mine, _ in pairs]
            span = clocks.span(min(orders), max(orders))
            times = [time for time in (sent, read) if time >= 0]
            if span is not None and times:
                estimate = clocks.estimate(span, sum(times) // len(times))
        if estimate is not None:
            theta, width = round(estimate.theta_us), -int(-estimate.uncertainty_us // 1)
            if there is not None and there.last_us > there.first_us:
                if server.flags[asked] & BLIND:
                    arrived = -1
                    there = there._replace(lost=None)
                elif there.last_us + theta + width > server.last_us:
                    there = there._replace(lost=None)
            if back is not None and back.last_us > back.first_us:
                if client.flags[reply] & BLIND:
                    read = -1
                    back = back._replace(lost=None)
                elif back.last_us - theta + width > client.last_us:
                    back = back._replace(lost=None)
        if back is not None:
            remarks[:0] = words(back, "back", SERVER, CLIENT)
        if there is not None:
            remarks[:0] = words(there, "there", CLIENT, SERVER)
        resent = None
        if there is not None:
            resent = there.resent_bytes + (0 if back is None else back.resent_bytes)
        split = Split(
            BOTH,
            server_time_us=left - arrived if left >= 0 and arrived >= 0 else None,
            request_held_us=None if arrived < 0 else _positive(arrived - server.owns[asked]),
            reply_held_us=None if read < 0 else _positive(read - client.owns[reply]),
            request_lost=None if there is None else there.lost,
            reply_lost=None if back is None else back.lost,
            resent_bytes=resent,
            answered_us=client.owns[reply] if reply >= 0 else None,
            sent_us=sent if sent >= 0 else None,
            remarks=tuple(remarks),
        )
        if clocks is not None and span is None:
            return split._replace(server_time_us=None, remarks=(*remarks, CLOCK_STEP))
        if estimate is None:
            return split
        return split._replace(
            request_transit_us=arrived - sent - theta if sent >= 0 and arrived >= 0 else None,
            reply_transit_us=read - left + theta if read >= 0 and left >= 0 else None,
            uncertainty_us=width,
        )


def loss(sender: Table, sent: int, receiver: Table, arrived: int) -> Loss:
    """How a message got from one end to the other."""
    start, end = sender.copies_of(sent), receiver.copies_of(arrived)
    resent = sum([last - first for first, last, _ in start.repeats])
    first_us = sender.firsts[sent]
    last_us = max([time for *_, time in start.repeats], default=first_us)
    if sender.flags[sent] & (EARLY_COPY | MISSED_COPY) or start.missing:
        return Loss(None, first_us, last_us, "sender", resent, 0)
    if (
        receiver.flags[arrived] & MISSED_COPY
        or end.missing
        or sender.lengths[sent] != receiver.lengths[arrived]
    ):
        return Loss(None, first_us, last_us, "receiver", resent, 0)
    if sender.flags[sent] & receiver.flags[arrived] & ONCE:
        return Loss(0, first_us, first_us, "", 0, 0)
    length = sender.lengths[sent]
    places = sorted({0, length, *start.cuts, *[first for first, _, _ in start.repeats]})
    lost = 0
    unseen = False
    extra = 0
    for index in range(len(places) - 1):
        first, last = places[index], places[index + 1]
        borders = {first, last}
        for one, other, _ in (*start.repeats, *end.repeats):
            borders |= {border for border in (one, other) if first < border < last}
        ordered = sorted(borders)
        most = 0
        for place in range(len(ordered) - 1):
            copies = start.at(ordered[place]) - end.at(ordered[place])
            most = max(most, copies)
            unseen = unseen or copies < 0
        extra = max(extra, max([end.at(border) for border in ordered[:-1]]) - 1)
        lost += most
    if unseen:
        return Loss(None, first_us, last_us, "sender", resent, extra)
    return Loss(lost, first_us, last_us, "", resent, extra)


def words(one: Loss, way: str, sender: str, receiver: str) -> list[str]:
    """What happened to a message on its way, for people."""
    found: list[str] = []
    if one.lost:
        again_us = one.last_us - one.first_us
        again = f", sent again after {again_us / 1000:.0f} ms" if again_us > 0 else ""
        number = "" if one.lost == 1 else f"{one.lost} copies "
        found.append(f"{number}lost on the way {way}{again}")
    if one.unseen:
        end = sender if one.unseen == "sender" else receiver
        found.append(
            f"the capture at the {end} lacks a copy of the {'request' if way == 'there' else 'reply'}"
        )
    if one.extra:
        found.append("arrived twice" if one.extra == 1 else f"arrived {one.extra + 1} times")
    return found


def _positive(duration: int) -> int | None:
    return duration if duration > 0 else None


class OneWays:
    """The requests of a table without a reply, by flow and from 0; those of a flow are asked for in order."""

    def __init__(self, table: Table) -> None:
        self._table: Final = table
        self._rest: Final = {
            one.number: merge(*map(self._numbered, one.streams)) for one in table.connections if one.one_ways
        }
        self._last: Final[dict[int, tuple[int, int]]] = {}

    def find(self, flow: int, number: int) -> int:
        """The index of a flow's request, -1 if there is none."""
        found = self._last.get(flow, (-1, -1))
        while found[0] < number:
            following = next(self._rest.get(flow, NOTHING), None)
            if following is None:
                return -1
            found = self._last[flow] = following
        return found[1] if found[0] == number else -1

    def _numbered(self, stream: range) -> Iterator[tuple[int, int]]:
        """The numbers of those in a stream, with their indexes."""
        for index in stream:
            number = -1 - self._table.pairs[index]
            if number >= 0:
                yield number, index
