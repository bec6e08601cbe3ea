"""The messages of one end: what is kept of each until the two ends are joined, some 80 bytes."""

from __future__ import annotations

from array import array
from collections import deque
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from wirelens.codecs.captures.flow import Flow
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.captures.transmission import Transmission
from wirelens.codecs.conversations import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_MESSAGES: Final = 2_000_000  # of an end, which are held in memory
HEAD: Final = 16  # bytes of a message that are compared where the rest was not captured
WAITING: Final = 1 << 14  # messages that may still be sent again; then they are packed

ONCE: Final = 1  # flags of a message: captured once
EARLY_COPY: Final = 2  # a copy was sent before those that were captured
MISSED_COPY: Final = 4  # some bytes were acknowledged before they were captured
CUT: Final = 8  # not all its bytes were captured
REQUEST: Final = 16
REPLY: Final = 32
ONE_WAY: Final = 64
BLIND: Final = 128  # copies may have come before the capture began


class Copies(NamedTuple):
    """Of a message that was not captured exactly once: places in it where a packet begins, and (start, end,
    time) of what was sent again; bytes that were not captured."""

    cuts: tuple[int, ...]
    repeats: tuple[tuple[int, int, int], ...]
    missing: int

    def at(self, place: int) -> int:
        """How many copies were captured of the byte at a place."""
        return 1 + sum([1 for first, last, _ in self.repeats if first <= place < last])

    def most(self) -> int:
        """How many copies were captured of the byte that was sent most often."""
        return max([self.at(first) for first, _, _ in self.repeats], default=1)


PLAIN: Final = Copies((), (), 0)


class Connection:
    """A flow with messages; `streams`: the indexes of the messages of its client, and of its server.

    `sequences`: the sequence numbers of the first bytes of both, -1 if unknown. `text`: client and server.
    `datagrams`: whether each message is a packet of its own, and none has a position in a stream.
    """

    def __init__(self, flow: Flow) -> None:
        self.number: Final = flow.number
        self.datagrams: Final = flow.transport == "udp"
        self.text = ""
        self._flow: Flow | None = flow
        self.streams: tuple[array[int], array[int]] = (array("q"), array("q"))
        self.sequences: tuple[int, int] = (-1, -1)
        self.requests = [0, 0]  # by the flow's direction

    def settle(self) -> None:
        """Decide which side is the client: who opened the connection, or else who asks more."""
        flow = self._flow
        if flow is None:
            return
        first, second = flow.directions
        self.sequences = (first.sequence, second.sequence)
        asked, answered = self.requests
        higher = flow.ports[0] > flow.ports[1]
        client = 0
        if not flow.syn and (asked < answered or (asked == answered and not higher)):
            client = 1
            self.streams = self.streams[::-1]
            self.sequences = self.sequences[::-1]
        self.text = f"{flow.endpoint(client)} > {flow.endpoint(1 - client)}"
        self._flow = None  # with the histories of its directions


class Table:
    """The messages of one end, in columns; `count` of them. Times in microseconds, -1 if unknown.

    `connections`, each with its messages. Of each message: `starts` (offset in its stream; of datagrams a
    hash, which orders them alike at both ends), `lengths`, `keys` (a hash of its bytes, 0 if they were cut),
    `heads` (a hash of the first bytes), `firsts`, `owns`, `readables` and `orders` as in `Transmission`,
    `pairs` (0 for none), `flags`, and `sources`: the index in `clocks` of the file and interface that
    captured its last byte. `copies`: of those not captured once.
    `requests` and `replies`: the index of the last request and reply by the number of the pair, or -1.
    `last_us`: the time of the last message of all.
    """

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.starts = array("q")
        self.lengths = array("q")
        self.keys = array("q")
        self.heads = array("q")
        self.firsts = array("q")
        self.owns = array("q")
        self.readables = array("q")
        self.orders = array("q")
        self.pairs = array("i")
        self.flags = array("B")
        self.sources = array("H")
        self.copies: dict[int, Copies] = {}
        self.clocks: list[tuple[int, int]] = []
        self.times: list[tuple[int, int]] = []  # of the clocks: of the first and the last message
        self.requests = array("q", [-1])
        self.replies = array("q", [-1])
        self.last_us = -1
        self._numbers: dict[int, int] = {}  # indexes of connections, by the numbers of flows
        self._clock_numbers: dict[tuple[int, int], int] = {}
        self._waiting: deque[tuple[int, Transmission]] = deque()

    @property
    def count(self) -> int:
        """The number of messages."""
        return len(self.starts)

    def add(self, message: Message) -> None:
        """Add a message of a capture whose reader was asked to keep histories."""
        record = message.record
        flow = message.flow
        sender = flow.directions[message.direction]
        history = sender.history
        length = record.full_length
        if history is None:
            transmission = _of_datagram(message)
        else:
            transmission = history.take(sender.sequence, record.offset, length)
        if record.codec is None:
            return
        number = self._numbers.get(flow.number)
        if number is None:
            number = self._numbers[flow.number] = len(self.connections)
            self.connections.append(Connection(flow))
        connection = self.connections[number]
        index = self.count
        root = record.root
        raw = record.raw if root is None else root.raw
        whole = root is not None and len(raw) == record.length
        flags = 0 if whole else CUT
        exchange = message.exchange
        if exchange is not None and exchange.role == "request":
            connection.requests[message.direction] += 1
            flags |= REQUEST
            if message.pair_number:
                _put(self.requests, message.pair_number, index)
            else:
                flags |= ONE_WAY
        elif exchange is not None and exchange.role == "reply":
            flags |= REPLY
            if message.pair_number:
                _put(self.replies, message.pair_number, index)
        connection.streams[message.direction].append(index)
        key = _digest(raw) if whole else 0
        head = _digest(raw[:HEAD]) if len(raw) >= HEAD else 0
        self.starts.append(record.offset if history is not None else key or head)
        self.lengths.append(length)
        self.keys.append(key)
        self.heads.append(head)
        self.pairs.append(message.pair_number)
        self.firsts.append(-1)
        self.owns.append(-1)
        self.readables.append(-1)
        self.orders.append(-1)
        self.flags.append(flags)
        self.sources.append(self._clock(transmission))
        self._waiting.append((index, transmission))
        if len(self._waiting) > WAITING:
            self._pack(*self._waiting.popleft())

    def request_of(self, pair: int) -> int:
        """The index of the last request of a pair, -1 if there is none."""
        return self.requests[pair] if pair < len(self.requests) else -1

    def reply_of(self, pair: int) -> int:
        """The index of the last reply of a pair, -1 if there is none."""
        return self.replies[pair] if pair < len(self.replies) else -1

    def close(self) -> None:
        """Take note of the end of the captures."""
        while self._waiting:
            self._pack(*self._waiting.popleft())
        for connection in self.connections:
            if connection.datagrams:
                for stream in connection.streams:
                    self._sort(stream)
            connection.settle()

    def _sort(self, stream: array[int]) -> None:
        """Sort datagrams by their bytes; duplicates are marked so that none of them is matched."""
        ordered = sorted(stream, key=self.starts.__getitem__)
        for place, index in enumerate(ordered):
            stream[place] = index
            start = self.starts[index]
            same = place > 0 and self.starts[ordered[place - 1]] == start
            if same or (place + 1 < len(ordered) and self.starts[ordered[place + 1]] == start):
                self.flags[index] |= CUT
                self.keys[index] = self.heads[index] = 0

    def _clock(self, transmission: Transmission) -> int:
        """The index of the clock that a message was captured by."""
        key = (transmission.packet >> FILE_SHIFT, transmission.interface)
        number = self._clock_numbers.get(key)
        if number is None:
            number = self._clock_numbers[key] = len(self.clocks)
            self.clocks.append(key)
            self.times.append((1 << 62, -1))
        time_us = transmission.first_us
        if time_us >= 0:
            first, last = self.times[number]
            self.times[number] = (min(first, time_us), max(last, time_us))
            self.last_us = max(self.last_us, time_us)
        return number

    def _pack(self, index: int, transmission: Transmission) -> None:
        """Keep what is known of a message's transmission by now."""
        self.firsts[index] = transmission.first_us
        self.owns[index] = transmission.own_us
        self.readables[index] = transmission.readable_us
        self.orders[index] = transmission.order
        if transmission.blind:
            self.flags[index] |= BLIND
        if transmission.once:
            self.flags[index] |= ONCE
            return
        if transmission.early_copy:
            self.flags[index] |= EARLY_COPY
        if transmission.missed_copy:
            self.flags[index] |= MISSED_COPY
        self.copies[index] = Copies(
            tuple(transmission.cuts), tuple(transmission.repeats), int(transmission.missing)
        )


def series_of(table: Table, names: Sequence[str]) -> list[int]:
    """The number of its series for each of a table's `clocks`; `names` are those of the files.

    A series is what one capture wrote, so it has one clock: one interface, in files whose names differ in
    digits only and which follow one another. Files that overlap were captured at the same time, so by two.
    """
    numbers = [-1] * len(table.clocks)
    last: dict[tuple[str, int], tuple[int, int]] = {}  # the series of each name so far, and its last time
    count = 0
    for clock in sorted(range(len(table.clocks)), key=table.times.__getitem__):
        file, interface = table.clocks[clock]
        name = "".join([letter for letter in names[file] if not letter.isdigit()])
        first_us, last_us = table.times[clock]
        before = last.get((name, interface))
        if before is not None and before[1] <= first_us:
            numbers[clock] = before[0]
        else:
            numbers[clock] = count
            count += 1
        last[name, interface] = (numbers[clock], last_us)
    return numbers


def _of_datagram(message: Message) -> Transmission:
    """The transmission of a datagram; their clocks are others than those of TCP, as is their order."""
    found = Transmission(0, message.record.full_length, 0)
    found.first_us = found.own_us = found.readable_us = message.time_us
    found.packet = found.order = message.packets[-1] if message.packets else 0
    found.mark = -1 << 16
    return found


def _put(column: array[int], place: int, value: int) -> None:
    """Set a place of a column, which is made longer if need be."""
    missing = place + 1 - len(column)
    if missing > 0:
        column.extend([-1] * missing)
    column[place] = value


def _digest(data: bytes) -> int:
    """A hash of bytes as a signed number of 64 bits, not 0."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True) or 1
