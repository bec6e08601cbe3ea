"""The messages of one end: what is kept of each until the two ends are joined, some 100 bytes.

They are in the order of their streams. Beyond a bound they are in files, of which some pages are in memory.
"""

from __future__ import annotations

import marshal
from array import array
from bisect import bisect_right
from collections import deque
from hashlib import blake2b
from heapq import merge
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from wirelens.codecs.call import facts_of
from wirelens.codecs.captures.flow import Flow
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.captures.transmission import IDENTIFICATION, Transmission
from wirelens.codecs.conversations import Message
from wirelens.codecs.ends.columns import NUMBER, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    from wirelens.codecs.ends.columns import Numbers

    Spill: TypeAlias = Callable[[], BinaryIO]  # makes a temporary file

MOST_MESSAGES: Final = 1_500_000  # of both ends together, which are held in memory: 250 MB
BLOCK: Final = 1 << 18  # messages that are sorted in memory if there are more
HEAD: Final = 16  # bytes of a message that are compared where the rest was not captured
WAITING: Final = 1 << 14  # messages that may still be sent again; then they are packed
COPIES: Final = 1 << 16  # messages that were not captured once whose `Copies` are in memory
TYPES: Final = "qIqqqqqqiBHiiHqi"  # of the columns, in memory
PAGE_ROWS: Final = 64
MOST: Final = 1 << 31
NEVER: Final = (0, 0, 0)
LONGEST: Final = (1 << 32) - 1  # longer messages (bodies of HTTP) count as this long

ONCE: Final = 1  # flags of a message: captured once
EARLY_COPY: Final = 2  # a copy was sent before those that were captured
MISSED_COPY: Final = 4  # some bytes were acknowledged before they were captured
CUT: Final = 8  # not all its bytes were captured
REQUEST: Final = 16
REPLY: Final = 32
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
    `counts`: of messages, `requests`: of those that are requests, by the flow's direction; `one_ways`: of
    requests without a reply.
    """

    def __init__(self, flow: Flow) -> None:
        self.number: Final = flow.number
        self.datagrams: Final = flow.transport == "udp"
        self.text = ""
        self.streams: tuple[range, range] = (range(0), range(0))
        self.sequences: tuple[int, int] = (-1, -1)
        self.counts = [0, 0]
        self.requests = [0, 0]
        self.one_ways = 0
        self.client = 0  # the flow's direction
        self._texts: Final = (flow.endpoint(0), flow.endpoint(1))
        self._higher: Final = flow.ports[0] > flow.ports[1]
        self._syn = flow.syn

    def observe(self, flow: Flow, direction: int) -> None:
        """Count a message, and take what is known of its flow by now."""
        self.counts[direction] += 1
        first, second = flow.directions
        self.sequences = (first.sequence, second.sequence)
        self._syn = flow.syn

    def settle(self) -> None:
        """Decide which side is the client: who opened the connection, or else who asks more."""
        asked, answered = self.requests
        if not self._syn and (asked < answered or (asked == answered and not self._higher)):
            self.client = 1
            self.sequences = self.sequences[::-1]
        self.text = f"{self._texts[self.client]} > {self._texts[1 - self.client]}"


class Table:
    """The messages of one end, in columns; `count` of them. Times in microseconds, -1 if unknown.

    `connections`, each with its messages, which follow one another. Of each message: `starts` (offset in its
    stream; of datagrams a hash, which orders them alike at both ends), `lengths`, `keys` (a hash of its
    bytes, 0 if they were cut), `heads` (a hash of the first bytes), `firsts`, `owns`, `readables` and
    `orders` as in `Transmission`, `pairs` (0 for none; of a request without a reply its number in its
    connection, from -1 down), `flags`, `sources`: the index in `clocks` of the file and interface that
    captured its last byte, `delays` and `places`: how much later and how many packets further the segment
    without bytes was captured that acknowledges it, 0 if that is unknown, `names`: the IP identification of
    that, and `partners`: the index of the other end's message, -1 without one.
    `last_us`: the time of the last message of all.
    `limit`: the number of messages in memory; beyond it they are in files that `spill` makes, if it is given.
    """

    def __init__(self, limit: int = MOST_MESSAGES, spill: Spill | None = None) -> None:
        self.connections: list[Connection] = []
        self.count = 0
        self.spill: Final = spill
        self.clocks: list[tuple[int, int]] = []
        self.times: list[tuple[int, int]] = []  # of the clocks: of the first and the last message
        self.last_us = -1
        self._limit: Final = limit
        self._arrays = [array(code) for code in TYPES]
        self._held: list[list[array[int]]] = []  # full ones, which never grow: that would scatter memory
        self._block = BLOCK if spill is None else max(1, min(BLOCK, limit))
        self._pairs = 0  # the highest number of one
        self._requests: Numbers = array("q")
        self._replies: Numbers = array("q")
        self._numbers: dict[int, int] = {}  # indexes of connections, by the numbers of flows
        self._clock_numbers: dict[tuple[int, int], int] = {}
        self._waiting: deque[tuple[tuple[int, ...], Transmission]] = deque()
        self._blocks: BinaryIO | None = None  # what was too much, in the order of capture
        self._sizes: list[int] = []  # of the blocks
        self._begins = array("q")  # the index of the first message of each stream
        self._copies: list[Copies] = []
        self._more_copies: BinaryIO | None = None
        self._assign(self._arrays)

    def _assign(self, columns: Sequence[Numbers]) -> None:
        self.starts, self.lengths, self.keys, self.heads = columns[:4]
        self.firsts, self.owns, self.readables, self.orders = columns[4:8]
        self.pairs, self.flags, self.sources = columns[8:11]
        self.delays, self.places, self.names, self._copied, self.partners = columns[11:]

    @property
    def is_spilled(self) -> bool:
        """Whether it is in files."""
        return self._blocks is not None

    def add(self, message: Message) -> None:
        """Add a message of a capture whose reader was asked to keep histories."""
        record = message.record
        flow = message.flow
        direction = message.direction
        sender = flow.directions[direction]
        history = sender.history
        length = record.full_length
        if history is None:
            transmission = _of_datagram(message)
        else:
            transmission = history.take(sender.sequence, record.offset, length)
        length = min(length, LONGEST)
        if record.codec is None:
            return
        number = self._numbers.get(flow.number)
        if number is None:
            number = self._numbers[flow.number] = len(self.connections)
            self.connections.append(Connection(flow))
        connection = self.connections[number]
        connection.observe(flow, direction)
        root = record.root
        raw = record.raw if root is None else root.raw
        whole = root is not None and len(raw) == record.length
        flags = 0 if whole else CUT
        pair = message.pair_number
        exchange = message.exchange
        if exchange is not None:
            if exchange.role == "reply":
                flags |= REPLY
            elif pair:
                flags |= REQUEST
            elif facts_of(message).oneway:
                flags |= REQUEST
                connection.one_ways += 1
                pair = -connection.one_ways
            if flags & REQUEST:
                connection.requests[direction] += 1
        self._pairs = max(self._pairs, pair)
        key = _digest(raw) if whole else 0
        head = _digest(raw[:HEAD]) if len(raw) >= HEAD else 0
        start = record.offset if history is not None else key or head
        clock = self._clock(transmission)
        stream = 2 * number + direction
        self._waiting.append(((start, length, key, head, pair, flags, clock, stream), transmission))
        self.count += 1
        if len(self._waiting) > WAITING:
            self._pack(*self._waiting.popleft())

    def request_of(self, pair: int) -> int:
        """The index of the last request of a pair, -1 if there is none."""
        return self._requests[pair] if 0 < pair <= self._pairs else -1

    def reply_of(self, pair: int) -> int:
        """The index of the last reply of a pair, -1 if there is none."""
        return self._replies[pair] if 0 < pair <= self._pairs else -1

    def copies_of(self, index: int) -> Copies:
        """What is known of the copies of a message."""
        place = self._copied[index] if index >= 0 else 0
        if place >= 0:
            return self._copies[place - 1] if place else PLAIN
        assert self._more_copies is not None
        self._more_copies.seek(-place)
        cuts, repeats, missing = marshal.load(self._more_copies)
        return Copies(cuts, repeats, missing)

    def place_of(self, index: int) -> tuple[int, int]:
        """The index of a message's connection, and its side: 0 is the client's."""
        return divmod(bisect_right(self._begins, index) - 1, 2)

    def close(self) -> None:
        """Take note of the end of the captures."""
        while self._waiting:
            self._pack(*self._waiting.popleft())
        begins = array("q")  # of streams, by connection and the flow's direction
        at = 0
        for connection in self.connections:
            connection.settle()
            client = connection.client
            mine, others = connection.counts[client], connection.counts[1 - client]
            connection.streams = range(at, at + mine), range(at + mine, at + mine + others)
            self._begins.extend([at, at + mine])
            begins.extend([at + mine, at] if client else [at, at + mine])
            at += mine + others
        if self._blocks is None or self.spill is None:
            self._sort(begins)
        else:
            self._flush(self.spill)
            self._sort_blocks(self._blocks, self.spill, begins)
        for one in self._datagrams():
            self._mark_duplicates(one)
        for connection in self.connections:
            for stream in connection.streams:
                self._put_pairs(stream, connection.datagrams)

    def _datagrams(self) -> Iterator[range]:
        """The streams of datagrams, which are sorted by their bytes."""
        for connection in self.connections:
            if connection.datagrams:
                yield from connection.streams

    def _sort(self, places: array[int]) -> None:
        """Put the messages of each stream together; `places` is where it begins, and is used up."""
        self._hold()
        order = array("q", bytes(NUMBER * self.count))
        for index, stream in enumerate(chain.from_iterable([block[-1] for block in self._held])):
            order[places[stream]] = index
            places[stream] += 1
        arrays: list[array[int]] = []
        for number, code in enumerate(TYPES):
            column = array(code)
            for block in self._held:
                column.extend(block[number])
                del block[number][:]
            if not number:
                for one in self._datagrams():
                    datagrams = sorted(order[one.start : one.stop], key=column.__getitem__)
                    order[one.start : one.stop] = array("q", datagrams)
            arrays.append(array(code, map(column.__getitem__, order)))
        arrays[-1] = array("i", [-1]) * self.count
        self._held.clear()
        self._assign(arrays)
        self._requests = array("i", [-1]) * (self._pairs + 1)
        self._replies = array("i", [-1]) * (self._pairs + 1)

    def _hold(self) -> None:
        """End a block."""
        self._held.append([column[:] for column in self._arrays])
        for column in self._arrays:
            del column[:]

    def _flush(self, spill: Spill) -> None:
        """Write messages to a file, in the order of capture."""
        self._hold()
        if self._blocks is None:
            self._blocks = spill()
            self._block = BLOCK
        for block in self._held:
            for column in block:
                self._blocks.write(column)
            self._sizes.append(len(block[0]))
        self._held.clear()

    def _sort_blocks(self, blocks: BinaryIO, spill: Spill, places: array[int]) -> None:
        """The same with those that were written, in other files."""
        width = len(TYPES)
        rows = Rows(spill(), width, PAGE_ROWS, self.count)
        blocks.seek(0)
        for size in self._sizes:
            columns = [array(code) for code in TYPES]
            for column in columns:
                column.frombytes(blocks.read(size * column.itemsize))
            streams = columns[-1]
            columns[-1] = array("i", [-1]) * size
            order = sorted(range(size), key=streams.__getitem__)
            ordered = [map(column.__getitem__, order) for column in columns]
            values = array("q", chain.from_iterable(zip(*ordered, strict=True)))
            at = 0
            for stream, group in groupby(map(streams.__getitem__, order)):
                number = sum(1 for _ in group)
                rows.write(places[stream], values[at * width : (at + number) * width])
                places[stream] += number
                at += number
        blocks.close()
        for one in self._datagrams():
            _sort_rows(rows, one, spill)
        self._assign([rows.column(place) for place in range(width)])
        pairs = Rows(spill(), 2, PAGE_ROWS, self._pairs + 1)
        pairs.fill(-1)
        self._requests, self._replies = pairs.column(0), pairs.column(1)

    def _mark_duplicates(self, stream: range) -> None:
        """Mark datagrams with the same bytes so that none of them is matched."""
        before = None
        for index in stream:
            start = self.starts[index]
            if start == before:
                for one in (index - 1, index):
                    self.flags[one] |= CUT
                    self.keys[one] = self.heads[one] = 0
            before = start

    def _put_pairs(self, stream: range, by_order: bool) -> None:
        """Take note of the last request and reply of each pair; streams are in order, datagrams are not."""
        for index in stream:
            pair = self.pairs[index]
            flags = self.flags[index]
            if pair <= 0 or not flags & (REQUEST | REPLY):
                continue
            column = self._requests if flags & REQUEST else self._replies
            before = column[pair] if by_order else -1
            if before < 0 or self.orders[before] <= self.orders[index]:
                column[pair] = index

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

    def _pack(self, row: tuple[int, ...], transmission: Transmission) -> None:
        """Keep what is known of a message and its transmission by now."""
        start, length, key, head, pair, flags, clock, stream = row
        if transmission.blind:
            flags |= BLIND
        copies = 0
        if transmission.once:
            flags |= ONCE
        else:
            if transmission.early_copy:
                flags |= EARLY_COPY
            if transmission.missed_copy:
                flags |= MISSED_COPY
            copies = self._keep(
                Copies(tuple(transmission.cuts), tuple(transmission.repeats), int(transmission.missing))
            )
        values = (
            *(start, length, key, head),
            *(transmission.first_us, transmission.own_us, transmission.readable_us, transmission.order),
            *(pair, flags, clock, *_acknowledgement(transmission), copies, stream),
        )
        for column, value in zip(self._arrays, values, strict=True):
            column.append(value)
        if len(self._arrays[0]) < self._block:
            return
        held = self._block * (len(self._held) + 1)
        if self.spill is not None and (self._blocks is not None or held >= self._limit):
            self._flush(self.spill)
        else:
            self._hold()

    def _keep(self, copies: Copies) -> int:
        """Keep copies; a number that `copies_of` finds them by."""
        if len(self._copies) < COPIES or self.spill is None:
            self._copies.append(copies)
            return len(self._copies)
        file = self._more_copies
        if file is None:
            file = self._more_copies = self.spill()
            file.write(b"\0")  # so that no place is 0
        place = file.tell()
        marshal.dump(tuple(copies), file)
        return -place


def _sort_rows(rows: Rows, stream: range, spill: Spill) -> None:
    """Sort the rows of datagrams by their bytes: parts of them, which are then merged."""
    width = rows.width
    for at in range(stream.start, stream.stop, BLOCK):
        part = sorted(_read(rows, at, min(BLOCK, stream.stop - at)), key=itemgetter(0))
        rows.write(at, array("q", chain.from_iterable(part)))
    if len(stream) <= BLOCK:
        return
    parts = [_read(rows, at, min(BLOCK, stream.stop - at)) for at in range(stream.start, stream.stop, BLOCK)]
    with spill() as file:
        for row in merge(*parts, key=itemgetter(0)):
            file.write(array("q", row))
        file.seek(0)
        for at in range(stream.start, stream.stop, PAGE_ROWS):
            values = array("q")
            values.frombytes(file.read(PAGE_ROWS * width * NUMBER))
            rows.write(at, values)


def _read(rows: Rows, index: int, count: int) -> Iterator[tuple[int, ...]]:
    """Rows from an index on."""
    for at in range(index, index + count, PAGE_ROWS):
        values = rows.read(at, min(PAGE_ROWS, index + count - at))
        for start in range(0, len(values), rows.width):
            yield tuple(values[start : start + rows.width])


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


def _acknowledgement(sent: Transmission) -> tuple[int, int, int]:
    """How much later and how many packets further a message was acknowledged, and in which packet."""
    found = sent.acknowledgement
    if found is None or found.again or sent.first_us < 0:
        return NEVER
    if (found.packet ^ sent.packet) >> FILE_SHIFT or (found.mark ^ sent.mark) & ~IDENTIFICATION:
        return NEVER  # by another clock
    delay, place = int(found.time_us - sent.first_us), int(found.order - sent.order)
    return (
        (delay, place, int(found.mark & IDENTIFICATION)) if 0 < delay < MOST and 0 < place < MOST else NEVER
    )


def _of_datagram(message: Message) -> Transmission:
    """The transmission of a datagram; their clocks are others than those of TCP, as is their order."""
    found = Transmission(0, message.record.full_length, 0)
    found.first_us = found.own_us = found.readable_us = message.time_us
    found.packet = found.order = message.packets[-1] if message.packets else 0
    found.mark = -1 << 16
    return found


def _digest(data: bytes) -> int:
    """A hash of bytes as a signed number of 64 bits, not 0."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True) or 1
