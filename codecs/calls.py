"""Messages to calls: each request with what came of it.

`Calls.feed` takes messages as `Conversations` gives them and returns the calls that they finish. Which reply
belongs to which request is decided there (`pairing`); what a message states of its call is its protocol's
(`Codec.call`). Memory is bounded by the constants below; what is given up is counted.
"""

from collections import deque
from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.call import CANCELLED, ERROR, OK, ONE_WAY, UNANSWERED, Call, call_of, facts_of
from wirelens.codecs.captures.flow import Flow, Piece, State
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.captures.transmission import KEPT_US, Resent
from wirelens.codecs.codec import CallFacts, Exchange
from wirelens.codecs.conversations import Message
from wirelens.codecs.open_requests import EARLY_REPLIES

ALL_CALLS: Final = -1
OPEN_CALLS: Final = 1 << 17  # calls that wait for replies; then the oldest is given up
GIVEN_UP: Final = 1 << 17  # calls given up whose replies are still recognised
DONE_KEPT: Final = 1 << 8  # finished calls in the list of the open ones, before it is cleared of them
REMOVED_KEPT: Final = 1 << 12  # places of calls that were given out in the list of the finished ones
SETTLING: Final = 1 << 14  # finished calls of which more may be sent again; then the oldest is given out
RECENT: Final = 64  # connections that are found without a table
NAMES_KEPT: Final = 1 << 14  # services and methods, each of which is kept once
LIVE_WAIT_US: Final = 60_000_000  # how long a live call holds back those after it, in time of the capture
LIVE_ROWS: Final = 100_000  # how many calls it holds back at most


@mypyc_attr(acyclic=True)
class OpenCall:
    """A call that may still be answered, or whose replies may go on.

    `requested`: whether its request came; a reply may be captured first. `optional`: whether a reply need not
    come. `replies`: how many parts of it came, `whole`: whether that is all; `failed`: whether one of them
    reports an error. `done`: whether it is finished; `call` is that of no message then.
    """

    def __init__(self, pair: int, call: Call | None = None) -> None:
        self.call: Call = Call() if call is None else call
        self.call.pair = pair
        self.sent_us: i64 = 0
        self.replies: i64 = 0
        self.requested = False
        self.optional = False
        self.whole = False
        self.failed = False
        self.done = False

    def save(self) -> State:
        """The call as plain values, without its messages."""
        flags = (self.requested, self.optional, self.whole, self.failed)
        call = self.call
        packets = (call.packet, call.connection)
        return (call.values(), packets, int(self.sent_us), int(self.replies), flags)

    @staticmethod
    def load(state: State) -> "OpenCall":
        """The call that `save` gave."""
        values, packets, sent_us, replies, flags = state
        call = call_of(tuple(values))
        one = OpenCall(call.pair, call)
        call.packet, call.connection = packets
        one.sent_us = sent_us
        one.replies = replies
        one.requested, one.optional, one.whole, one.failed = flags
        return one


class Connection:
    """A flow that has calls, by the number of their pair: those that are open, and replies without a request.

    `waiting`: calls without a reply. `ends`: both endpoints as text. `ended`: directions that have ended.
    `closed`: whether a side closed it; else only the capture's view of it ends. `over_us`: when all its calls
    were finished.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow: Final = flow
        self.ends: Final = (flow.endpoint(0), flow.endpoint(1))
        self.open: dict[int, OpenCall] = {}
        self.early: dict[int, OpenCall] = {}
        self.waiting: i64 = 0
        self.ended: i64 = 0
        self.closed = False
        self.over_us: i64 = 0


class Calls:
    """Follows the calls of all flows.

    `file`, `files`: names of files as `Conversations` has them; `points`: where each of `files` was captured.
    With `live`, a call that holds back the order of those after it for too long is given up. `first` is the
    number of the first call. The messages of call `kept` are kept, of all if that is ALL_CALLS. A finished
    call waits for what may be sent of it again, so that it is counted, unless `prompt` or `live`.

    `number`: that of the last call. `given_up`: calls that were given up while their connection was open, of
    which `late_replies` were answered afterwards. `orphans`: replies to no captured request, of connections
    that have ended. `undecoded`: messages of known protocols that did not decode.
    """

    def __init__(
        self,
        file: str = "",
        files: tuple[str, ...] = (),
        points: tuple[str, ...] = (),
        live: bool = False,
        most_open: int = OPEN_CALLS,
        first: int = 1,
        kept: int = 0,
        prompt: bool = False,
    ) -> None:
        self.file: Final = file
        self.files: Final = files
        self.points: Final = points
        self.live: Final = live
        self.prompt: Final = prompt or live
        self.most_open: Final[i64] = most_open
        self.kept: Final = kept
        self.number = first - 1
        self.given_up = 0
        self.late_replies = 0
        self.orphans = 0
        self.undecoded = 0
        self._connections: dict[int, Connection] = {}
        self._order: list[OpenCall] = []  # those with a request, oldest first, and some that are done
        self._oldest: i64 = 0  # index of the first of them that is not done
        self._open: i64 = 0  # of them that are not done
        self._highest: i64 = 0  # number of the last pair that was begun
        self._abandoned: dict[int, None] = {}  # pairs of calls given up, oldest first
        self._names: dict[str, str] = {}
        self._service = ""  # of the last request, and its method
        self._method = ""
        self._now_us: i64 = 0
        self._settling: list[Call] = []  # in the order in which they were finished
        self._settled_to: i64 = 0  # index of the first of them that was not given out
        self._settling_pairs: dict[int, Call] = {}  # those of datagrams
        self._over: deque[Connection] = deque()  # those that have ended, of which more may be sent again
        self._sent_again: Final = Resent()  # by `_copies_of`
        self._recent: list[Connection | None] = [None] * RECENT  # by number of the flow, those looked up last

    @property
    def open_calls(self) -> int:
        """How many calls wait for replies."""
        return int(self._open)

    def feed(self, messages: list[Message], pieces: list[Piece]) -> list[Call]:
        """The calls that these messages finish, those of connections that end with `pieces` too.

        `pieces`: those that gave the messages.
        """
        for message in messages:
            self._add(message)
        for piece in pieces:
            if piece.time_us > self._now_us:
                self._now_us = piece.time_us
            if piece.end:
                self._end(piece)
        if self._open and (self.live or self._open > self.most_open):
            self._give_up()
        if len(self._order) > self._open + self._open // 4 + DONE_KEPT:
            self._order = [one for one in self._order if not one.done]
            self._oldest = 0
        return self._settled(False)

    def close(self, messages: list[Message]) -> list[Call]:
        """Take the last messages; the calls that are still open, at the capture's end."""
        for message in messages:
            self._add(message)
        for connection in self._connections.values():
            self._now_us = max(self._now_us, connection.flow.last_us)
        for connection in list(self._connections.values()):
            self._close(connection)
        return self._settled(True)

    def asked(self, flow: Flow, pair: int) -> Call | None:
        """The call of a pair whose request came, as long as it is open."""
        connection = self._connections.get(flow.number)
        one = None if connection is None else connection.open.get(pair)
        return None if one is None else one.call

    def settle(self) -> list[Call]:
        """The finished calls of which more might be sent again, before `save`."""
        return self._settled(True)

    def open_packets(self) -> list[int]:
        """The numbers of the packets with the last bytes of the requests of all open calls."""
        return [one.call.packet for each in self._connections.values() for one in each.open.values()]

    def save(self) -> State:
        """The state of all open calls, for `load` of another `Calls`."""
        connections: list[State] = []
        for number, connection in self._connections.items():
            calls = tuple([one.save() for one in connection.open.values()])
            early = tuple([one.save() for one in connection.early.values()])
            ends = (int(connection.waiting), int(connection.ended), connection.closed)
            connections.append((number, ends, calls, early))
        return (int(self._highest), int(self._now_us), tuple(connections))

    def load(self, state: State, flows: list[Flow]) -> None:
        """Continue what `save` gave; `flows` are those that the assembler has loaded."""
        by_number = {flow.number: flow for flow in flows}
        self._highest, self._now_us, connections = state
        for number, (waiting, ended, closed), calls, early in connections:
            flow = by_number.get(number)
            if flow is None:
                continue
            connection = self._connections[number] = Connection(flow)
            connection.waiting, connection.ended, connection.closed = waiting, ended, closed
            for plain in calls:
                one = OpenCall.load(plain)
                connection.open[one.call.pair] = one
                self._order.append(one)
                self._open += 1
            for plain in early:
                one = OpenCall.load(plain)
                connection.early[one.call.pair] = one

    # --- messages ---------------------------------------------------------------------------------------

    def _add(self, message: Message) -> None:
        exchange = message.exchange
        if message.record.error is not None and message.record.codec is not None:
            self.undecoded += 1
        if exchange is None:
            return
        if message.time_us > self._now_us:
            self._now_us = message.time_us
        if exchange.role == "reply":
            self._reply(message, exchange)
        elif message.pair_number:
            self._request(message, exchange)
        else:
            self._one_way(message)

    def _one_way(self, message: Message) -> None:
        """Add a call of a message without a counterpart, if it is a request."""
        facts = facts_of(message)
        if not facts.oneway:
            return
        connection = self._connection(message.flow)
        call = Call()
        self._begin(call, message, facts, connection)
        call.outcome = ONE_WAY
        self._settle(call)

    def _request(self, message: Message, exchange: Exchange) -> None:
        pair = message.pair_number
        connection = self._connection(message.flow)
        one = connection.open.get(pair)
        if one is not None:
            self._repeat(one, message, exchange)
            return
        if pair > self._highest:
            self._highest = pair
            one = OpenCall(pair)
        else:
            one = connection.early.pop(pair, None)
            if one is None:
                self._resent(message)  # after it was answered
                return
        one.requested = True
        one.optional = exchange.optional
        one.sent_us = message.time_us
        self._begin(one.call, message, facts_of(message), connection)
        connection.open[pair] = one
        self._order.append(one)
        self._open += 1
        answered = one.call.answered_us
        if message.record.error is not None and answered is not None and answered > message.time_us:
            one.call.latency_us = answered - message.time_us  # its end was found missing after the reply came
        if one.whole:
            self._finish(connection, one)
        elif one.replies == 0:
            connection.waiting += 1

    def _repeat(self, one: OpenCall, message: Message, exchange: Exchange) -> None:
        """Add to an open call the next part of its request, or its request sent again."""
        call = one.call
        length = message.record.full_length
        if exchange.part > 1:
            call.request_bytes = (call.request_bytes or 0) + length
            packets = self._packets(message, _copies_of(call))
        else:
            call.resent_bytes = (call.resent_bytes or 0) + length
            packets = len(message.packets)
        call.request_packets = (call.request_packets or 0) + packets
        if call.request_messages is not None:
            call.request_messages += facts_of(message).messages or 0
        self._keep(call, message)
        if exchange.cancels:
            call.outcome = CANCELLED
            self._finish(self._connection(message.flow), one)
            return
        call.sent_us = message.time_us
        one.sent_us = message.time_us

    def _begin(self, call: Call, message: Message, facts: CallFacts, connection: Connection) -> None:
        """Fill in what a request states."""
        self.number += 1
        flow = message.flow
        direction = message.direction
        record = message.record
        packets = message.packets
        call.call = self.number
        call.packet = packets[-1] if packets else 0
        call.connection = flow.packet
        call.protocol = record.protocol
        if facts.service != self._service or facts.method != self._method:
            self._service = self._name(facts.service)
            self._method = self._name(facts.method)
        call.service = self._service
        call.method = self._method
        call.timeout_us = facts.timeout_us
        call.client = connection.ends[direction]
        call.server = connection.ends[1 - direction]
        call.flow = flow.number
        call.transport = flow.transport
        call.direction = direction
        if self.files:
            file = packets[-1] >> FILE_SHIFT if packets else 0
            call.file = self.files[file]
            if self.points:
                call.point = self.points[file]
        else:
            call.file = self.file
            if self.points:
                call.point = self.points[0]
        call.id = facts.id
        call.trace = facts.trace
        call.sent_us = message.time_us
        call.request_messages = facts.messages
        call.request_bytes = record.full_length
        counted = self._count(message, _copies_of(call))
        if counted >= 0:
            call.resent_bytes = 0
        call.request_packets = len(packets) if counted < 0 else int(counted)
        call.open_calls = int(connection.waiting)
        if self.kept == self.number or self.kept == ALL_CALLS:
            call.messages = [message, *call.messages]

    def _reply(self, message: Message, exchange: Exchange) -> None:
        pair = message.pair_number
        if pair == 0:
            return  # counted with its flow, or one that confirms a one-way request
        connection = self._connection(message.flow)
        one = connection.open.get(pair)
        if one is None:
            if pair > self._highest:
                self._highest = pair
                one = connection.early[pair] = OpenCall(pair)
                if len(connection.early) > 2 * EARLY_REPLIES:
                    del connection.early[next(iter(connection.early))]
            else:
                one = connection.early.get(pair)
                if one is None:
                    if pair in self._abandoned:
                        del self._abandoned[pair]
                        self.late_replies += 1
                    else:
                        self._resent(message)
                    return
        call = one.call
        facts = facts_of(message)
        if one.requested and one.replies == 0:
            connection.waiting -= 1
        one.replies += 1
        one.whole = exchange.part == 0 or one.replies == exchange.parts
        one.failed = one.failed or facts.failed
        if facts.messages is not None:
            call.response_messages = (call.response_messages or 0) + facts.messages
        call.status = facts.status or call.status
        call.exception = facts.exception or call.exception
        call.answered_us = message.time_us
        if message.latency_us is not None:
            call.latency_us = message.latency_us
        call.response_bytes = (call.response_bytes or 0) + message.record.full_length
        packets = self._packets(message, _copies_of(call) + 1)
        call.response_packets = (call.response_packets or 0) + packets
        self._keep(call, message)
        if one.requested and one.whole:
            self._finish(connection, one)

    def _keep(self, call: Call, message: Message) -> None:
        """Keep a message that is not the first of its call, if that is wanted."""
        if self.kept == ALL_CALLS or (self.kept and (call.call == self.kept or call.call == 0)):
            call.messages = [*call.messages, message]

    # --- ends -------------------------------------------------------------------------------------------

    def _finish(self, connection: Connection, one: OpenCall) -> None:
        """Settle what came of a call."""
        one.done = True
        self._open -= 1
        call = one.call
        one.call = _NO_CALL
        del connection.open[call.pair]
        timeout = call.timeout_us
        if call.outcome == CANCELLED:
            if one.replies == 0:
                connection.waiting -= 1
            self._settle(call)
            return
        if one.replies:
            call.outcome = ERROR if one.failed else OK
            latency = call.latency_us
            if timeout is not None and latency is not None:
                call.late = latency > timeout
            self._settle(call)
            return
        connection.waiting -= 1
        if one.optional:
            call.outcome = ONE_WAY
        else:
            call.outcome = UNANSWERED
            end: i64 = connection.flow.last_us if connection.closed else self._now_us
            waited: i64 = max(0, end - one.sent_us)
            call.waited_us = int(waited)
            if timeout is not None:
                call.timed_out = waited > timeout
        self._settle(call)

    def _settle(self, call: Call) -> None:
        """Keep a finished call for as long as more of it may be sent again; what is live does not wait."""
        call.finished_us = self._now_us
        self._settling.append(call)
        if call.transport == "udp" and call.pair:
            self._settling_pairs[call.pair] = call

    def _settled(self, every: bool) -> list[Call]:
        """The finished calls that are given out now."""
        settling = self._settling
        calls: list[Call] = []
        until: i64 = self._now_us - KEPT_US
        count: i64 = len(settling)
        at = self._settled_to
        while at < count:
            call = settling[at]
            if not every and not self.prompt and call.finished_us > until and count - at <= SETTLING:
                break
            settling[at] = _NO_CALL
            at += 1
            if call.transport == "udp" and call.pair:
                del self._settling_pairs[call.pair]
            if self._sent_again.copies:
                self._add_copies(call)
            calls.append(call)
        if at > REMOVED_KEPT or at == count:
            del settling[:at]
            at = 0
        self._settled_to = at
        over = self._over
        while over and (self.prompt or over[0].over_us <= until or len(over) > SETTLING):
            for side in over.popleft().flow.directions:
                side.forget_history()
        return calls

    def _add_copies(self, call: Call) -> None:
        """Count what was sent again of a finished call."""
        number = _copies_of(call)
        packets, size = self._sent_again.take(number)
        replied, more = self._sent_again.take(number + 1)
        if call.resent_bytes is not None:
            call.request_packets = (call.request_packets or 0) + packets
            call.resent_bytes += size + more
            if call.response_packets is not None:
                call.response_packets += replied

    def _packets(self, message: Message, number: int) -> int:
        """How many packets brought a further message; `number` as for `_count`."""
        counted = self._count(message, number)
        return len(message.packets) if counted < 0 else int(counted)

    def _count(self, message: Message, number: int) -> i64:
        """The packets of a message whose copies are counted under a number, that of `_copies_of`.

        -1 if the packets of its sender are not followed.
        """
        sender = message.flow.sent_by(message.direction)
        history = sender.history
        if history is None or sender.sequence < 0:
            return -1
        record = message.record
        length: i64 = record.full_length
        return history.count(sender.sequence, record.offset, length, number, self._sent_again)

    def _resent(self, message: Message) -> None:
        """Count a datagram that was sent again when its call was finished."""
        call = self._settling_pairs.get(message.pair_number)
        if call is not None:
            call.resent_bytes = (call.resent_bytes or 0) + message.record.full_length

    def _end(self, piece: Piece) -> None:
        """Count a direction that ended; after both, the connection's calls are over."""
        connection = self._connections.get(piece.flow.number)
        if connection is None:
            return
        connection.ended += 1
        if piece.end == "fin" or piece.end == "reset" or piece.end == "reuse":
            connection.closed = True
        if connection.ended == 2:
            self._close(connection)

    def _close(self, connection: Connection) -> None:
        for one in list(connection.open.values()):
            self._finish(connection, one)
        for side in connection.flow.directions:
            self.orphans += side.orphaned
        del self._connections[connection.flow.number]
        self._recent[connection.flow.number % RECENT] = None
        connection.over_us = self._now_us
        self._over.append(connection)

    def _give_up(self) -> None:
        """Give up the oldest calls while too many are open, or too many of a live capture wait for them."""
        order = self._order
        while self._open:
            while order[self._oldest].done:
                self._oldest += 1
            one = order[self._oldest]
            if self._open <= self.most_open:
                held: i64 = self.number - one.call.call - (self._open - 1)
                if not self.live or (self._now_us - one.sent_us <= LIVE_WAIT_US and held <= LIVE_ROWS):
                    break
            self.given_up += 1
            self._abandoned[one.call.pair] = None
            if len(self._abandoned) > GIVEN_UP:
                self._abandoned = dict.fromkeys(list(self._abandoned)[GIVEN_UP // 2 :])
            self._finish(self._connections[one.call.flow], one)

    def _connection(self, flow: Flow) -> Connection:
        number: i64 = flow.number
        place = number % RECENT  # most flows are found here, with a quarter of a table's instructions
        recent = self._recent[place]
        if recent is not None and recent.flow is flow:
            return recent
        connection = self._connections.get(flow.number)
        if connection is None:
            connection = self._connections[flow.number] = Connection(flow)
        self._recent[place] = connection
        return connection

    def _name(self, text: str) -> str:
        """A service or method, the same object for the same text."""
        known = self._names.get(text)
        if known is not None:
            return known
        if len(self._names) < NAMES_KEPT:
            self._names[text] = text
        return text


def _copies_of(call: Call) -> int:
    """The number under which copies of a call's request are counted; those of its reply under the next."""
    return 2 * call.pair if call.pair else -2 * call.call


_NO_CALL: Final = Call()  # in the place of a finished call
