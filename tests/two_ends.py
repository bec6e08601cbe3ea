"""Pairs of captures of the same connections, one at each end, whose calls are known.

    PYTHONPATH=build/stage python tests/two_ends.py [pairs] [first seed] [kind]

simulates clients, servers, TCP and the network between them, and two captures with clocks of their own; it
prints how many calls are matched, how many splits are inside their uncertainty, and so on.
"""

from __future__ import annotations

import heapq
import math
import random
import struct
import sys
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

import building
from traffic import bolt, dubbo, entry, esnp_address, esnp_flag, esnp_id, text

from wirelens.codecs.calls import Calls
from wirelens.codecs.captures import Reader
from wirelens.codecs.conversations import Conversations
from wirelens.codecs.ends.matching import Match
from wirelens.codecs.ends.splits import Splits
from wirelens.codecs.ends.table import Table, series_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wirelens.codecs.call import Call
    from wirelens.codecs.captures import Piece
    from wirelens.codecs.conversations import Message
    from wirelens.codecs.ends.splits import Split

MSS: Final = 1448
RTO_US: Final = 200_000.0
SECOND: Final = 1_000_000.0
LARGEST: Final = 1 << 16  # bytes of a packet
ACK, PSH, SYN = building.ACK, building.PSH, building.SYN


@dataclass
class Plan:
    """How a pair of captures is made; times in microseconds."""

    seed: int = 0
    protocol: str = "dubbo"
    connections: int = 2
    calls: int = 40  # of each connection
    apart: float = 30_000.0  # between requests of a connection, on average
    loss: float = 0.0
    one_way: float = 1000.0  # the faster direction, without queues
    asymmetry: float = 1.0  # how many times as long the slower one takes
    jitter: float = 200.0
    heavy: bool = False
    reorder: bool = False
    width: int = 4
    large: float = 0.1  # of the messages have many packets
    offload: bool = False
    offset: float = 37.5 * SECOND
    ppm: float = 20.0
    wander: float = 0.0
    steps: list[tuple[float, float]] = field(default_factory=list)  # of the server's clock: when, how much
    late: tuple[float, float] = (0.0, 0.0)  # how much of the time is missing at the start, of each capture
    early: tuple[float, float] = (0.0, 0.0)  # and at the end
    translated: bool = False
    rewritten: bool = False
    twice: float = 0.0  # of the packets are captured twice
    missed: float = 0.0  # or not at all
    snap: int = 0
    strangers: bool = False  # a connection with the same bytes at each end that the other does not have
    twins: bool = False  # all connections have the same bytes
    unanswered: float = 0.01


@dataclass
class Truth:
    """What happened to a call; times on the true clock, -1 if it did not happen."""

    number: int
    sent: float = -1.0
    arrived: float = -1.0
    replied: float = -1.0
    read: float = -1.0
    request: tuple[int, int] = (0, 0)  # where the request is in its stream
    reply: tuple[int, int] = (0, 0)
    lost: list[int] = field(default_factory=lambda: [0, 0])  # packets of both that the network lost
    unseen: list[bool] = field(default_factory=lambda: [False, False])  # whether a capture lacks a packet


# --- messages ---------------------------------------------------------------------------------------------


def long_text(size: int, mark: bytes) -> bytes:
    content = (mark * (size // len(mark) + 1))[:size]
    return b"S" + struct.pack(">H", size) + content


def messages(protocol: str, number: int, sizes: tuple[int, int]) -> tuple[bytes, bytes]:
    mark = b"<%06d>" % number
    if protocol == "dubbo":
        names = (b"2.0.2", b"com.example.OrderService", b"1.0.0", b"create", b"Ljava/lang/String;")
        attachments = b"H" + text(b"path") + text(b"com.example.OrderService") + b"Z"
        body = b"".join(map(text, names)) + long_text(sizes[0], mark) + attachments
        return dubbo(0xC2, 0, number, body), dubbo(0x02, 20, number, b"\x91" + long_text(sizes[1], mark))
    if protocol == "bolt":
        return bolt(1, 1, number, mark * 3), bolt(0, 2, number, mark * 3)
    if protocol == "esnp":
        data = [entry(0x15, b"\x02m\x18" + bytes([2 * len(mark)]) + mark) + entry(0)] * 2
        head = esnp_flag(4) + esnp_id(number) + esnp_address()
        return head + data[0], esnp_flag(3) + esnp_id(number, 0x12) + data[1]
    content = b"c\x01\x00m\x00\x04echo" + long_text(sizes[0], mark) + b"z"
    head = b"POST /call%06d HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (number, len(content))
    back = b"r\x01\x00" + long_text(sizes[1], mark) + b"z"
    return head + content, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(back) + back


# --- clocks, captures, the network -------------------------------------------------------------------------


class Clock:
    """A clock as a function of the true time."""

    def __init__(self, offset: float, ppm: float, wander: float, steps: list[tuple[float, float]]) -> None:
        self.offset = offset
        self.ppm = ppm
        self.steps = steps
        self.rates: list[float] = [0.0]  # microseconds that the wander adds, by second
        self.wander = wander
        self.chance = random.Random(round(ppm * 1000) + round(wander * 1000))
        self.rate = 0.0

    def __call__(self, time: float) -> float:
        result = time + self.offset + time * self.ppm / 1e6
        result += sum([size for at, size in self.steps if time >= at])
        if self.wander:
            second = int(time // SECOND)
            while len(self.rates) < second + 2:
                move = self.chance.uniform(-self.wander, self.wander) / 10
                self.rate = max(-self.wander, min(self.wander, self.rate + move))
                self.rates.append(self.rates[-1] + self.rate)
            part = time / SECOND - second
            result += self.rates[second] + (self.rates[second + 1] - self.rates[second]) * part
        return result


@dataclass(order=True)
class Frame:
    time: float
    order: int
    connection: Line = field(compare=False)
    side: int = field(compare=False)
    start: int = field(compare=False)
    end: int = field(compare=False)
    acked: int = field(compare=False)
    flags: int = field(compare=False)
    ident: int = field(compare=False)


class Line:
    """A connection: both sides' TCP, and what each capture sees of it. Side 0 is the client's."""

    def __init__(self, world: World, number: int, ends: tuple[bool, bool]) -> None:
        plan = world.plan
        chance = world.chance
        self.world = world
        self.number = number
        self.ends = ends
        self.address = struct.pack(">I", 0x0A000001 + number), struct.pack(">I", 0x0AF00001 + number % 3)
        self.ports = (40000 + number, {"dubbo": 20880, "bolt": 12200, "esnp": 1080}.get(plan.protocol, 8080))
        self.isn = (chance.randrange(1 << 32), chance.randrange(1 << 32))
        self.shift = (chance.randrange(1 << 32), chance.randrange(1 << 32)) if plan.rewritten else (0, 0)
        self.data: list[bytearray] = [bytearray(), bytearray()]
        self.acked = [0, 0]
        self.received = [0, 0]  # of the other side's bytes
        self.parts: list[list[tuple[int, int]]] = [[], []]  # out of order
        self.timer = [0, 0]  # the number of the timer that runs, 0 if none does
        self.timers = 0
        self.backoff = [1.0, 1.0]
        self.duplicates = [0, 0]
        self.recover = [0, 0]
        self.segments: list[list[tuple[int, int]]] = [[], []]
        self.waiting: list[list[tuple[int, Callable[[float], None]]]] = [[], []]
        self.latest = [0.0, 0.0]
        self.free = [0.0, 0.0]  # when the next packet may leave
        self.ident = chance.randrange(1 << 16)
        self.losses: list[tuple[int, int, int]] = []
        self.gaps: list[tuple[int, int, int]] = []  # (side, start, end) of packets that a capture missed
        self.calls: dict[int, Truth] = {}
        self.open = 0
        self.todo: list[tuple[int, float]] = []

    def name(self) -> int:
        self.ident = (self.ident + 1) % (1 << 16) or 1
        return self.ident

    def see(self, end: int, time: float, frame: tuple[int, int, int, int, int, int]) -> None:
        """Capture a packet at an end."""
        world = self.world
        plan = world.plan
        if not self.ends[end]:
            return
        if world.chance.random() < plan.missed:
            self.gaps.append((frame[0], frame[1], frame[2]))
            return
        for _ in range(2 if world.chance.random() < plan.twice else 1):
            world.order += 1
            world.frames[end].append(Frame(time, world.order, self, *frame))
            time += world.chance.uniform(1, 30)

    def write(self, time: float, side: int, data: bytes) -> tuple[tuple[int, int], float]:
        """Send a message: where it is in its stream, and when its last packet leaves."""
        time = max(time, self.free[side])
        start = len(self.data[side])
        self.data[side] += data
        end = len(self.data[side])
        offload = self.world.plan.offload and end - start > MSS
        first = last = time
        if offload:
            self.see(side, time, (side, start, end, self.received[side], ACK | PSH, self.name()))
        for at in range(start, end, MSS):
            until = min(at + MSS, end)
            self.segments[side].append((at, until))
            self.send(time, side, at, until, not offload)
            last = time
            time += 2.0
        self.free[side] = time
        return (start, end), last if not offload else first

    def send(self, time: float, side: int, start: int, end: int, seen: bool = True) -> None:
        world = self.world
        frame = (side, start, end, self.received[side], ACK | (PSH if end > start else 0), self.name())
        if seen:
            self.see(side, time, frame)
        if end > start and not self.timer[side]:
            self.arm(time, side)
        if world.chance.random() < world.plan.loss:
            if end > start:
                self.losses.append((side, start, end))
            return
        arrival = time + world.delay(side)
        if not world.plan.reorder:
            arrival = max(arrival, self.latest[side] + 0.5)
            self.latest[side] = arrival
        world.at(arrival, lambda now: self.arrive(now, frame))

    def arm(self, time: float, side: int) -> None:
        world = self.world
        self.timers += 1
        mine = self.timer[side] = self.timers
        wait = (RTO_US + 2 * world.trip) * self.backoff[side]

        def fire(now: float) -> None:
            if self.timer[side] != mine or self.acked[side] >= len(self.data[side]):
                return
            self.backoff[side] = min(16.0, 2 * self.backoff[side])
            self.recover[side] = len(self.data[side])
            self.again(now, side)
            self.arm(now, side)

        world.at(time + wait, fire)

    def again(self, time: float, side: int) -> None:
        """Send the first segment again that is not acknowledged."""
        while self.segments[side] and self.segments[side][0][1] <= self.acked[side]:
            self.segments[side].pop(0)
        if self.segments[side]:
            start, end = self.segments[side][0]
            self.send(time, side, start, end)

    def arrive(self, time: float, frame: tuple[int, int, int, int, int, int]) -> None:
        side, start, end, acked, *_ = frame
        other = 1 - side
        self.see(other, time, frame)
        self.acknowledge(time, other, acked, end > start)
        if end == start:
            return
        if end > self.received[other]:
            self.parts[other].append((start, end))
            self.parts[other].sort()
            while self.parts[other] and self.parts[other][0][0] <= self.received[other]:
                self.received[other] = max(self.received[other], self.parts[other].pop(0)[1])
        self.send(time + 1.0, other, len(self.data[other]), len(self.data[other]))
        while self.waiting[side] and self.waiting[side][0][0] <= self.received[other]:
            self.waiting[side].pop(0)[1](time)

    def acknowledge(self, time: float, side: int, acked: int, with_data: bool) -> None:
        if acked > self.acked[side]:
            self.acked[side] = acked
            self.duplicates[side] = 0
            self.backoff[side] = 1.0
            if acked >= len(self.data[side]):
                self.timer[side] = 0
                self.recover[side] = 0
            else:
                self.arm(time, side)
                if acked < self.recover[side]:
                    self.again(time, side)
        elif acked == self.acked[side] < len(self.data[side]) and not with_data:
            self.duplicates[side] += 1
            if self.duplicates[side] == 3 and acked >= self.recover[side]:
                self.recover[side] = len(self.data[side])
                self.again(time, side)

    # --- calls

    def begin(self, number: int, time: float) -> None:
        world = self.world
        if self.open >= world.plan.width:
            self.todo.append((number, time))
            return
        self.open += 1
        truth = self.calls[number] = Truth(number, sent=time)
        chance = random.Random(number) if world.plan.twins or world.plan.strangers else world.chance
        sizes = [10 + chance.randrange(60), 10 + chance.randrange(60)]
        for side in (0, 1):
            if chance.random() < world.plan.large:
                sizes[side] = chance.randrange(2000, 30_000)
        asked, answered = messages(world.plan.protocol, number, (sizes[0], sizes[1]))
        answers = world.plan.protocol == "http" or chance.random() >= world.plan.unanswered

        def reply(now: float) -> None:
            truth.reply, truth.replied = self.write(now, 1, answered)
            self.waiting[1].append((truth.reply[1], read))

        def read(now: float) -> None:
            truth.read = now
            self.done(now)

        def arrived(now: float) -> None:
            truth.arrived = now
            work = 1.4 * SECOND if world.chance.random() < 0.005 else world.chance.expovariate(1 / 5000)
            if answers:
                world.at(now + 50 + work, reply)
            else:
                world.at(now + 3 * SECOND, self.done)

        truth.request, truth.sent = self.write(time, 0, asked)
        self.waiting[0].append((truth.request[1], arrived))

    def done(self, now: float) -> None:
        self.open -= 1
        if self.todo:
            number, _ = self.todo.pop(0)
            self.begin(number, now + 20.0)


class World:
    """Everything of one pair of captures."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.counter = 0
        self.order = 0
        self.frames: tuple[list[Frame], list[Frame]] = ([], [])
        slow = plan.one_way * plan.asymmetry
        ways = [plan.one_way, slow]
        if plan.seed % 2:
            ways.reverse()
        self.ways = ways
        self.trip = plan.one_way + slow
        self.clocks = (
            Clock(0.0, 0.0, 0.0, []),
            Clock(plan.offset, plan.ppm, plan.wander, plan.steps),
        )
        self.lines = [Line(self, number, (True, True)) for number in range(plan.connections)]
        if plan.strangers:
            self.lines.append(Line(self, 500, (True, False)))
            self.lines.append(Line(self, 501, (False, True)))
        same = plan.twins or plan.strangers
        for index, line in enumerate(self.lines):
            time = self.chance.uniform(0, 50_000)
            first = 1 if same else 1 + 10_000 * index
            for number in range(first, first + plan.calls):
                time += self.chance.expovariate(1 / plan.apart)
                self.at(time, self.starter(line, number))
            self.at(0.0, self.opener(line))
        self.end = 0.0
        while self.events:
            time, _, call = heapq.heappop(self.events)
            self.end = max(self.end, time)
            call(time)

    def starter(self, line: Line, number: int) -> Callable[[float], None]:
        return lambda now: line.begin(number, now)

    def opener(self, line: Line) -> Callable[[float], None]:
        """The handshake, which is not lost."""

        def run(now: float) -> None:
            if line.world.plan.missed:
                return
            for end in (0, 1):
                there = now - 1e5 + (self.ways[0] if end else 0.0)
                line.see(end, there, (0, -1, -1, 0, SYN, 1))
                back = now - 1e5 + self.ways[0] + 5 + (0.0 if end else self.ways[1])
                line.see(end, back, (1, -1, -1, 0, SYN | ACK, 1))

        return run

    def at(self, time: float, call: Callable[[float], None]) -> None:
        self.counter += 1
        heapq.heappush(self.events, (time, self.counter, call))

    def delay(self, side: int) -> float:
        plan = self.plan
        queue = self.chance.expovariate(1 / plan.jitter) if plan.jitter else 0.0
        if plan.heavy and self.chance.random() < 0.05:
            queue += plan.jitter * min(500.0, self.chance.paretovariate(1.1))
        return self.ways[side] + queue

    def window(self, end: int) -> tuple[float, float]:
        length = max([frame.time for frame in self.frames[end]], default=0.0)
        first = length * self.plan.late[end] if self.plan.late[end] else -1e9
        return first, length * (1 - self.plan.early[end])

    def capture(self, end: int) -> bytes:
        """The capture at an end, as a file."""
        plan = self.plan
        first, last = self.window(end)
        frames: list[bytes] = []
        times: list[int] = []
        lengths: list[int] = []
        for one in sorted(self.frames[end]):
            if not first <= one.time <= last:
                continue
            line = one.connection
            addresses, ports = list(line.address), list(line.ports)
            if end and plan.translated:
                addresses[0], ports[0] = b"\xc0\xa8\x00\x09", 50_000 + line.number
            shift = line.shift if end else (0, 0)
            side = one.side
            start = 1 + one.start
            seq = line.isn[side] + start + shift[side]
            ack = line.isn[1 - side] + 1 + one.acked + shift[1 - side]
            body = bytes(line.data[side][max(one.start, 0) : max(one.end, 0)])
            segment = building.tcp(ports[side], ports[1 - side], seq, ack, one.flags, body)
            packet = building.ipv4(segment, 6, addresses[side], addresses[1 - side], ident=one.ident)
            frame = building.ethernet(packet)
            lengths.append(len(frame))
            frames.append(frame[: plan.snap] if plan.snap else frame)
            times.append(round(self.clocks[end](one.time)) + 20_000_000_000)
        return building.pcap(frames, times=times, lengths=lengths)

    def is_seen(self, line: Line, end: int, span: tuple[int, int], side: int) -> bool:
        """Whether a capture has all bytes of a message."""
        parts = self.seen[end].get((line.number, side), [])
        reach = span[0]
        for start, stop in parts[bisect_left(parts, (span[0] - LARGEST, 0)) :]:
            if start > reach or start >= span[1]:
                break
            reach = max(reach, stop)
        return reach >= span[1]

    def index(self) -> None:
        """Sort the frames by stream, for `is_seen`."""
        self.seen: tuple[dict[tuple[int, int], list[tuple[int, int]]], ...] = ({}, {})
        for end in (0, 1):
            first, last = self.window(end)
            for one in self.frames[end]:
                if one.end > one.start and first <= one.time <= last:
                    parts = self.seen[end].setdefault((one.connection.number, one.side), [])
                    parts.append((one.start, one.end))
            for parts in self.seen[end].values():
                parts.sort()


# --- measuring ----------------------------------------------------------------------------------------------


def messages_of(data: bytes) -> Iterator[tuple[list[Message], list[Piece]]]:
    """The messages of a capture with the pieces that gave them."""
    reader = Reader()
    reader.assembler.observe(acknowledgements=True)
    conversations = Conversations()
    for at in range(0, len(data), 1 << 16):
        for pieces in reader.steps(data[at : at + (1 << 16)]):
            yield conversations.feed(pieces), pieces
    pieces = reader.close()
    yield conversations.feed(pieces), pieces
    yield conversations.close(), []


def table_of(data: bytes, limit: int = 0) -> Table:
    """The messages of a capture; with a limit the rest is in temporary files."""
    table = Table(limit, TemporaryFile) if limit else Table()
    for messages, _ in messages_of(data):
        for message in messages:
            table.add(message)
    table.close()
    return table


def calls_of(data: bytes) -> list[Call]:
    """The calls of a capture."""
    calls = Calls()
    found: list[Call] = []
    for messages, pieces in messages_of(data):
        found += calls.feed(messages, pieces)
    return found + calls.close([])


def joined(client: bytes, server: bytes, limit: int = 0) -> tuple[Match, Splits, list[Call]]:
    there = table_of(server, limit)
    here = table_of(client, limit)
    match = Match(here, there, (series_of(here, ["c"]), series_of(there, ["s"])))
    return match, Splits(match), calls_of(client)


@dataclass
class Figures:
    """Counts over pairs."""

    counts: Counter[str] = field(default_factory=Counter)
    ratios: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def share(self, name: str, of: str) -> str:
        return f"{name} {100 * self.counts[name] / max(self.counts[of], 1):.3f} % of {self.counts[of]:,}"


def measure(plan: Plan, figures: Figures, verbose: bool = False) -> None:
    """Add a pair to the figures."""
    world = World(plan)
    world.index()
    client, server = world.capture(0), world.capture(1)
    match, splits, calls = joined(client, server)
    counts = figures.counts
    counts["pairs"] += 1
    lines = {f"{40000 + line.number}": line for line in world.lines}
    offset = 20_000_000_000 + building.START * 1_000_000
    for one in match.connections:
        mine = one.client.text.split(" > ")[0].rpartition(":")[2]
        others = one.server.text.split(" > ")[0].rpartition(":")[2]
        expected = str(50_000 + int(mine) - 40_000) if plan.translated else mine
        counts["joined"] += 1
        if others != expected:
            counts["wrong joins"] += 1
            if verbose:
                print("wrong", plan, one.client.text, one.server.text, one.rank)
    half = world.trip / 2
    by_key: dict[tuple[str, int], Call] = {}
    for call in calls:
        port = call.client.rpartition(":")[2]
        number = call.method[-6:] if plan.protocol == "http" else call.id
        if number.isdigit():
            by_key[port, int(number)] = call
    for port, line in lines.items():
        if line.ends != (True, True):
            continue
        for truth in line.calls.values():
            if not all(world.is_seen(line, end, truth.request, 0) for end in (0, 1)):
                continue
            found = by_key.get((port, truth.number))
            counts["calls"] += 1
            if found is None:
                counts["no call"] += 1
                continue
            split = splits.of_client(found.pair, found.flow)
            if split.seen == "both":
                counts["matched"] += 1
            elif verbose:
                print("unmatched", plan.seed, port, truth.number, match.unjoined)
            whole = truth.read >= 0 and all(world.is_seen(line, end, truth.reply, 1) for end in (0, 1))
            if not whole or split.seen != "both":
                continue
            counts["whole"] += 1
            check(world, line, truth, split, figures, half, offset, verbose)


def check(
    world: World,
    line: Line,
    truth: Truth,
    split: Split,
    figures: Figures,
    half: float,
    offset: int,
    verbose: bool,
) -> None:
    counts = figures.counts
    plan = world.plan
    clock = world.clocks[1]
    there, work, back = truth.arrived - truth.sent, clock(truth.replied) - clock(truth.arrived), 0.0
    back = truth.read - truth.replied
    if split.server_time_us is not None:
        counts["timed"] += 1
        limit = 10 + 200e-6 * work
        right = abs(split.server_time_us - work) <= limit
        counts["server right"] += right
        if verbose and not right:
            print("server time", plan.seed, truth, split.server_time_us, work)
    if split.request_transit_us is not None and split.reply_transit_us is not None:
        assert split.uncertainty_us is not None
        counts["split"] += 1
        limit = split.uncertainty_us + 1
        errors = (split.request_transit_us - there, split.reply_transit_us - back)
        right = max(map(abs, errors)) <= limit
        counts["inside"] += right
        figures.ratios.append((split.uncertainty_us - 5) / half)
        figures.errors.append(max(map(abs, errors)) / split.uncertainty_us)
        if verbose and not right:
            print("outside", plan.seed, plan.steps, truth, split, errors)
    elif verbose:
        print("no split", plan.seed, truth, split)
    for side, span, told in ((0, truth.request, split.request_lost), (1, truth.reply, split.reply_lost)):
        lost = sum(
            [1 for one, start, end in line.losses if one == side and end > span[0] and start < span[1]]
        )
        if told is not None:
            counts["told"] += 1
            counts["lossy"] += lost > 0
            missed = any(one == side and end > span[0] and start < span[1] for one, start, end in line.gaps)
            right = lost == told or missed
            counts["told right"] += right
            if verbose and not right:
                print(
                    "lost", plan.seed, side, span, lost, told, [one for one in line.losses if one[0] == side]
                )


def plan_of(seed: int, kind: str = "") -> Plan:
    """A plan with everything that may happen, each with some probability."""
    chance = random.Random(seed * 7919 + 1)
    protocol = kind or chance.choice(["dubbo"] * 5 + ["bolt", "esnp", "http"])
    plan = Plan(seed=seed, protocol=protocol)
    plan.connections = chance.randint(1, 4)
    plan.calls = chance.randint(20, 60)
    plan.apart = math.exp(chance.uniform(math.log(3_000), math.log(300_000)))
    plan.loss = chance.choice([0, 0, 0.001, 0.01, 0.02, 0.05])
    plan.one_way = math.exp(chance.uniform(math.log(50), math.log(16_000)))
    plan.asymmetry = chance.choice([1, 1, 1, 2, 4])
    plan.jitter = plan.one_way * chance.choice([0, 0.02, 0.1, 0.5])
    plan.heavy = chance.random() < 0.3
    plan.reorder = chance.random() < 0.2
    plan.width = 1 if protocol == "http" else chance.choice([1, 4, 16])
    plan.offload = chance.random() < 0.5
    plan.offset = chance.uniform(-4, 4) * 3600 * SECOND
    plan.ppm = chance.uniform(-100, 100)
    plan.wander = chance.choice([0, 1])
    plan.late = chance.choice([(0, 0), (0, 0), (0.2, 0), (0, 0.3)])
    plan.early = chance.choice([(0, 0), (0, 0), (0.2, 0), (0, 0.3)])
    plan.translated = chance.random() < 0.4
    plan.rewritten = chance.random() < 0.25
    plan.twice = chance.choice([0, 0, 0.02, 1.0])
    plan.missed = chance.choice([0, 0, 0, 0.002])
    plan.strangers = chance.random() < 0.25
    plan.twins = chance.random() < 0.15
    if plan.wander == 0 and chance.random() < 0.2:
        length = plan.calls * plan.apart
        size = (2 * plan.one_way * (1 + plan.asymmetry) + 4 * plan.jitter) * chance.choice([1, 2, 10, 1000])
        plan.steps = [(length * chance.uniform(0.2, 0.8), size * chance.choice([-1, 1]))]
    return plan


def main() -> None:
    arguments = sys.argv[1:]
    pairs = int(arguments[0]) if arguments else 20
    first = int(arguments[1]) if len(arguments) > 1 else 0
    kind = arguments[2] if len(arguments) > 2 else ""
    verbose = len(arguments) > 3
    plain, stepped = Figures(), Figures()
    for seed in range(first, first + pairs):
        plan = plan_of(seed, kind)
        measure(plan, stepped if plan.steps else plain, verbose)
    for title, figures in (("clocks that do not step", plain), ("clocks that step", stepped)):
        if not figures.counts["pairs"]:
            continue
        print(f"{title}: {figures.counts['pairs']} pairs, {figures.counts['calls']:,} calls")
        print("  " + figures.share("matched", "calls"))
        print("  " + figures.share("split", "whole"))
        print("  " + figures.share("inside", "split"))
        print("  " + figures.share("server right", "timed"))
        print("  " + figures.share("told right", "told") + f", {figures.counts['lossy']:,} lost")
        ratios = sorted(figures.ratios)
        if ratios:
            places = [ratios[int(part * (len(ratios) - 1))] for part in (0.1, 0.5, 0.9, 0.999, 1)]
            print("  (u - 5 us) / half the round trip: " + ", ".join(f"{one:.2f}" for one in places))
        print(f"  wrong joins {figures.counts['wrong joins']} of {figures.counts['joined']:,}")


if __name__ == "__main__":
    main()
