"""Captures whose calls are known: protocols over TCP and UDP, and what networks and captures do to them.

    PYTHONPATH=build/stage python tests/traffic.py [calls] [seed]

prints how many calls come out unpaired, paired wrongly or not shown, and how many messages are invented, out
of order or at a wrong time. Every message carries a marker, by which it is found again.
"""

from __future__ import annotations

import random
import re
import struct
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import building

from wirelens.codecs.captures import Reader
from wirelens.codecs.conversations import Conversations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wirelens.codecs.conversations import Message

MARKER: Final = re.compile(rb"<[a-z]\d{6}>")
FOREIGN: Final = b"-"  # the marker of bytes that are no message
START_US: Final = building.START * 1_000_000
FIRST_PORT: Final = 30000  # of the clients
STEP_US: Final = 400  # between packets
FEW: Final = 12  # messages that may not be evidence of their protocol


class Sent(NamedTuple):
    """A message that a side writes: the marker in it, and the call it belongs to (-1: none)."""

    direction: int
    data: bytes
    marker: bytes
    call: int = -1
    answers: bool = False


@dataclass
class Packet:
    """A segment or datagram: the bytes `start` to `start + len(data)` of a direction's stream.

    The capture has `captured` bytes of them at most.
    """

    direction: int
    start: int
    data: bytes
    acked: int
    flags: int = building.ACK
    time_us: int = 0
    captured: int = 1 << 30

    @property
    def seen(self) -> range:
        """The places in its stream of the bytes that the capture has."""
        return range(self.start, self.start + min(len(self.data), self.captured))


@dataclass
class Connection:
    """One flow: what was sent, as packets in the order of the capture.

    `client`: its port; `number`: its own, for its sequence numbers. `joined`: whether bytes are missing, so
    that times may be later. `tags`: of VLANs.
    """

    protocol: str
    transport: str
    port: int
    script: list[Sent]
    joined: bool = False
    lonely: bool = False  # whether only one direction was captured
    ipv6: bool = False
    tags: int = 0
    client: int = 0
    number: int = 0
    packets: list[Packet] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)  # of each message in its stream


# --- messages of the protocols --------------------------------------------------------------------------


def text(value: bytes) -> bytes:
    """A short string of Hessian 2."""
    return struct.pack("B", len(value)) + value if len(value) < 32 else b"\x30" + bytes([len(value)]) + value


def dubbo(flags: int, status: int, number: int, body: bytes) -> bytes:
    return struct.pack(">HBBQI", 0xDABB, flags, status, number, len(body)) + body


def dubbo_request(number: int, marker: bytes, flags: int = 0xC2) -> bytes:
    names = (b"2.0.2", b"com.example.OrderService", b"1.0.0", b"create", b"Ljava/lang/String;", marker)
    return dubbo(flags, 0, number, b"".join(map(text, names)) + b"H" + text(b"path") + text(b"x") + b"Z")


def bolt(kind: int, command: int, number: int, marker: bytes) -> bytes:
    name = b"com.alipay.sofa.rpc.core.request.SofaRequest" if kind else b"com.example.Result"
    head = struct.pack(">BBHBIB", 1, kind, command, 1, number, 1)
    head += struct.pack(">i", 3000) if kind else struct.pack(">H", 0)
    content = text(marker)
    return head + struct.pack(">HHI", len(name), 0, len(content)) + name + content


def entry(kind: int, body: bytes = b"") -> bytes:
    return struct.pack(">I", kind << 24 | len(body)) + body


def esnp(*entries: bytes, marker: bytes) -> bytes:
    data = b"\x02m" + b"\x18" + bytes([2 * len(marker)]) + marker
    return b"".join(entries) + entry(0x15, data) + entry(0)


def esnp_flag(flag: int) -> bytes:
    return entry(0x1E, bytes([2 * flag]))


def esnp_id(number: int, kind: int = 0x11) -> bytes:
    return entry(kind, struct.pack(">Q", number))


def esnp_address(kind: int = 30, value: bytes = b"svc") -> bytes:
    return entry(0x17, bytes([2 * kind, 2 * len(value)]) + value)


def esnp_part(part: int, parts: int) -> bytes:
    return entry(0x1B, bytes([2 * part, 2 * parts]))


def mevent_value(marker: bytes) -> bytes:
    name = b"marker"
    return struct.pack(">II", 2, len(name)) + name + struct.pack(">I", len(marker)) + marker + bytes(4)


def mevent_request(number: int, marker: bytes, flags: int, prefix: bool) -> bytes:
    data = struct.pack(">IHHI", 0x1000_0000 | number, 100, flags, 4) + b"plug" + mevent_value(marker)
    return struct.pack(">I", len(data) + 4) + data if prefix else data


def mevent_reply(number: int, marker: bytes, prefix: bool) -> bytes:
    value = mevent_value(marker)
    data = struct.pack(">III", number, 1000, len(value)) + value
    return struct.pack(">I", len(data) + 4) + data if prefix else data


def magline(command: int, seq: int, body: bytes) -> bytes:
    return struct.pack(">BBHHHII", 1, 1, command, 0, 16, seq, len(body)) + body


def http_request(marker: bytes) -> bytes:
    body = b"c\x01\x00m\x00\x04echoS" + struct.pack(">H", len(marker)) + marker + b"z"
    return b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def http_reply(marker: bytes) -> bytes:
    body = b"r\x01\x00S" + struct.pack(">H", len(marker)) + marker + b"z"
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


# --- scripts: who writes what, in the order of the network ----------------------------------------------


class Script:
    """Writes the messages of one connection: calls open at once, answered in any order or in theirs."""

    def __init__(self, chance: random.Random, first: int, count: int, ordered: bool, width: int) -> None:
        self.chance = chance
        self.calls = range(first, first + count)
        self.ordered = ordered
        self.width = width
        self.sent: list[Sent] = []

    def run(
        self, ask: Callable[[int, bytes], bytes], answer: Callable[[int, bytes], list[bytes]]
    ) -> list[Sent]:
        """All calls; `answer` gives the messages of a reply, each with the marker."""
        waiting: list[int] = []
        calls = list(self.calls)
        while calls or waiting:
            if calls and (not waiting or (len(waiting) < self.width and self.chance.random() < 0.6)):
                call = calls.pop(0)
                marker = b"<q%06d>" % call
                self.sent.append(Sent(0, ask(call, marker), marker, call))
                waiting.append(call)
                continue
            call = waiting.pop(0 if self.ordered else self.chance.randrange(len(waiting)))
            marker = b"<r%06d>" % call
            for data in answer(call, marker):
                self.sent.append(Sent(1, data, marker, call, True))
        return self.sent

    def tell(self, direction: int, data: bytes, marker: bytes) -> None:
        """A message that no call has."""
        self.sent.append(Sent(direction, data, marker))


def dubbo_script(script: Script) -> list[Sent]:
    def ask(call: int, marker: bytes) -> bytes:
        if script.chance.random() < 0.1:
            script.tell(0, dubbo_request(10**6 + call, b"<o%06d>" % call, 0x82), b"<o%06d>" % call)
        if script.chance.random() < 0.1:
            script.tell(0, dubbo(0xE2, 0, 2 * 10**6 + call, b"N"), b"")
            script.tell(1, dubbo(0x22, 20, 2 * 10**6 + call, b"N"), b"")
        return dubbo_request(call, marker)

    return script.run(ask, lambda call, marker: [dubbo(0x02, 20, call, b"\x91" + text(marker))])


def bolt_script(script: Script) -> list[Sent]:
    def ask(call: int, marker: bytes) -> bytes:
        if script.chance.random() < 0.1:
            script.tell(0, bolt(2, 1, 10**6 + call, b"<o%06d>" % call), b"<o%06d>" % call)
        return bolt(1, 1, call, marker)

    return script.run(ask, lambda call, marker: [bolt(0, 2, call, marker)])


def esnp_script(script: Script) -> list[Sent]:
    def ask(call: int, marker: bytes) -> bytes:
        kind = script.chance.randrange(6)
        if kind == 0:
            return esnp(esnp_address(), esnp_address(20, b"op"), esnp_id(call), marker=marker)
        if kind == 1:
            return esnp(esnp_flag(5), esnp_id(call), esnp_address(), marker=marker)
        if script.chance.random() < 0.1:
            lone = b"<o%06d>" % call
            script.tell(script.chance.randrange(2), esnp(esnp_flag(6), esnp_address(), marker=lone), lone)
        flags = esnp_flag(4) + (esnp_flag(1) if kind == 2 else b"")
        return esnp(flags, esnp_id(call), esnp_address(), marker=marker)

    def answer(call: int, marker: bytes) -> list[bytes]:
        source = esnp_id(call, 0x12)
        if script.chance.random() < 0.2:
            lone = b"<t%06d>" % call
            script.tell(1, esnp(esnp_flag(3), esnp_flag(2), source, marker=lone), lone)
        if script.chance.random() < 0.2:
            return [esnp(esnp_flag(3), source, esnp_part(part, 3), marker=marker) for part in (1, 2, 3)]
        return [esnp(esnp_flag(3), source, marker=marker)]

    return script.run(ask, answer)


def mevent_script(script: Script, prefix: bool = True) -> list[Sent]:
    def number(call: int) -> int:
        return 1 if script.ordered else 2 + call

    def ask(call: int, marker: bytes) -> bytes:
        if script.chance.random() < 0.1:
            lone = b"<o%06d>" % call
            script.tell(0, mevent_request(1 if script.ordered else 10**6 + call, lone, 0, prefix), lone)
        return mevent_request(number(call), marker, 2, prefix)

    return script.run(ask, lambda call, marker: [mevent_reply(number(call), marker, prefix)])


def magline_script(script: Script) -> list[Sent]:
    script.tell(0, magline(1, 1, bytes(range(1, 37))), b"")
    script.tell(1, magline(2, 1, bytes(range(100, 168))), b"")

    def ask(call: int, marker: bytes) -> bytes:
        if script.chance.random() < 0.1:
            script.tell(0, magline(4, call, struct.pack(">I", call)), b"")
            script.tell(1, magline(5, call, struct.pack(">I", call)), b"")
        if script.chance.random() < 0.05:
            script.tell(0, magline(1, call, bytes(range(1, 37))), b"")
            script.tell(1, magline(2, call, bytes(range(100, 168))), b"")
        return magline(6, call, struct.pack(">I", 7) + bytes(range(200, 216)) + marker)

    def answer(call: int, marker: bytes) -> list[bytes]:
        return [magline(7, call, struct.pack(">I", 7) + bytes(range(200, 216)) + marker)]

    return script.run(ask, answer)


def http_script(script: Script) -> list[Sent]:
    return script.run(lambda _, marker: http_request(marker), lambda _, marker: [http_reply(marker)])


def connect_script(script: Script) -> list[Sent]:
    script.tell(0, b"CONNECT 10.0.0.9:20880 HTTP/1.1\r\nHost: 10.0.0.9:20880\r\n\r\n", b"")
    script.tell(1, b"HTTP/1.1 200 Connection established\r\n\r\n", b"")
    return dubbo_script(script)


def upgrade_script(script: Script) -> list[Sent]:
    script.tell(0, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: bolt\r\n\r\n", b"")
    script.tell(1, b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: bolt\r\n\r\n", b"")
    return bolt_script(script)


def http2_frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


def h2c_script(script: Script) -> list[Sent]:
    """Calls over HTTP/1.1, then HTTP/2, whose messages are not counted."""
    http_script(script)
    ask = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    script.tell(0, ask + b"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n", b"")
    script.tell(1, b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"")
    frames = [
        (1, http2_frame(4, 0, 0, b"")),
        (0, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(4, 0, 0, b"")),
        (1, http2_frame(1, 4, 1, b"\x88") + http2_frame(0, 1, 1, b"hello")),
        (0, http2_frame(6, 0, 0, b"12345678")),
        (1, http2_frame(6, 1, 0, b"12345678")),
    ]
    for direction, data in frames:
        script.tell(direction, data, FOREIGN)
    return script.sent


KINDS: Final = (
    # name, script, usual port, transport, answered in order, requests open at once
    ("dubbo", dubbo_script, 20880, "tcp", False, 6),
    ("bolt", bolt_script, 12200, "tcp", False, 6),
    ("esnp", esnp_script, 1080, "tcp", False, 6),
    ("mevent", mevent_script, 5555, "tcp", False, 6),
    ("mevent-1", mevent_script, 5555, "tcp", True, 1),
    ("magline", magline_script, 9757, "tcp", False, 6),
    ("http", http_script, 8080, "tcp", True, 1),
    ("mevent-udp", lambda script: mevent_script(script, False), 5555, "udp", False, 6),
    ("http-udp", http_script, 8080, "udp", True, 1),
)
TUNNELS: Final = (
    ("connect", connect_script, 3128, "tcp", False, 6),
    ("upgrade", upgrade_script, 8080, "tcp", False, 6),
    ("h2c", h2c_script, 8080, "tcp", True, 1),
)
CONDITIONS: Final = ("plain", "cut", "out of order", "sent twice", "joined", "rotated", "all")
MORE_CONDITIONS: Final = ("tagged", "one way", "ports again", "snapped", "everything")


# --- from scripts to packets ----------------------------------------------------------------------------


def connection(
    kind: tuple[object, ...], chance: random.Random, first: int, count: int, cut: bool
) -> Connection:
    """The packets of one connection, as a perfect capture has them."""
    name, make, port, transport, ordered, width = kind
    sent = make(Script(chance, first, count, bool(ordered), int(width)))  # type: ignore[operator,call-overload]
    made = Connection(str(name), str(transport), int(port), sent)  # type: ignore[call-overload]
    if transport == "udp":
        for message in sent:
            made.packets.append(Packet(message.direction, len(made.packets), message.data, 0))
        return made
    lengths = [0, 0]
    pending: list[bytes] = [b"", b""]
    flushed = [0, 0]

    def flush(direction: int) -> None:
        data = pending[direction]
        pending[direction] = b""
        while data:
            size = chance.randint(1, 40) if cut and chance.random() < 0.6 else len(data)
            part, data = data[:size], data[size:]
            made.packets.append(Packet(direction, flushed[direction], part, flushed[1 - direction]))
            flushed[direction] += len(part)

    made.packets.append(Packet(0, -1, b"", 0, building.SYN))
    made.packets.append(Packet(1, -1, b"", 0, building.SYN | building.ACK))
    for message in sent:
        direction = message.direction
        if pending[1 - direction]:
            flush(1 - direction)
        made.spans.append((lengths[direction], lengths[direction] + len(message.data)))
        lengths[direction] += len(message.data)
        pending[direction] += message.data
        if not cut or chance.random() < 0.7:
            flush(direction)
    flush(0)
    flush(1)
    return made


def disturb(made: Connection, chance: random.Random, condition: str) -> None:
    """Do to the packets what the condition names."""
    packets = made.packets
    every = condition.startswith("all")
    opening = 2 if made.transport == "tcp" else 0
    if every or condition == "sent twice":
        at = opening
        while at < len(packets):
            if chance.random() < 0.1:
                old = packets[at]
                again = Packet(old.direction, old.start, old.data, old.acked)
                packets.insert(min(len(packets), at + chance.randint(1, 5)), again)
                at += 1
            at += 1
    if every or condition == "out of order":
        # datagrams without ids cannot be distinguished if more than neighbours change places
        farthest = 1 if made.transport == "udp" and made.protocol.startswith("http") else 3
        # and a flow that begins with a reply may be one whose beginning was not captured
        at = opening if farthest > 1 else 1
        while at < len(packets):
            if chance.random() < 0.1:
                packets.insert(min(len(packets), at + chance.randint(1, farthest)), packets.pop(at))
                at += 1 if farthest == 1 else 0
            at += 1
    if made.transport == "tcp" and (condition == "joined" or (condition == "all" and chance.random() < 0.5)):
        made.joined = True
        del packets[: chance.randint(2, max(3, len(packets) // 3))]


def close(made: Connection, chance: random.Random) -> None:
    """End a connection as connections end, or not at all."""
    ends = [0, 0]
    for packet in made.packets:
        ends[packet.direction] = max(ends[packet.direction], packet.start + len(packet.data))
    way = chance.choice(("fin", "reset", ""))
    if way == "fin":
        for direction in chance.sample((0, 1), 2):
            flags = building.FIN | building.ACK
            made.packets.append(Packet(direction, ends[direction], b"", ends[1 - direction], flags))
    elif way:
        direction = chance.randrange(2)
        made.packets.append(Packet(direction, ends[direction], b"", 0, building.RST))


def leave_one_way(connections: list[Connection], chance: random.Random, share: float) -> None:
    """Keep only one direction of the connections of some clients."""
    lanes: dict[int, list[Connection]] = {}
    for made in connections:
        lanes.setdefault(made.client, []).append(made)
    for lane in lanes.values():
        if chance.random() < share:
            direction = chance.randrange(2)
            for made in lane:
                made.lonely = True
                made.packets = [packet for packet in made.packets if packet.direction == direction]


def snap(connections: list[Connection], length: int) -> None:
    """Capture at most this many bytes of each payload."""
    for made in connections:
        made.joined = True
        for packet in made.packets:
            packet.captured = length


def interleave(connections: list[Connection], chance: random.Random) -> list[tuple[Connection, Packet]]:
    """The packets of all connections in one capture, with their times; those of one client in order."""
    lanes: dict[int, list[tuple[Connection, Packet]]] = {}
    for made in connections:
        lanes.setdefault(made.client, []).extend((made, packet) for packet in made.packets)
    left = list(lanes.values())
    merged: list[tuple[Connection, Packet]] = []
    open_ones = [at for at in range(len(left)) if left[at]]
    while open_ones:
        at = chance.choice(open_ones[:4])
        made, packet = left[at].pop(0)
        packet.time_us = START_US + STEP_US * len(merged)
        merged.append((made, packet))
        if not left[at]:
            open_ones.remove(at)
    return merged


def frame(made: Connection, packet: Packet) -> bytes:
    number = made.number
    client, server = made.client, made.port
    ports = (client, server) if packet.direction == 0 else (server, client)
    ends = (building.CLIENT6, building.SERVER6) if made.ipv6 else (building.CLIENT, building.SERVER)
    source, target = ends[:: 1 if packet.direction == 0 else -1]
    if made.transport == "udp":
        body, protocol = building.udp(*ports, packet.data), 17
    else:
        bases = (1000 + 7919 * number, 2_000_000_000 + number)
        ack = bases[1 - packet.direction] + 1 + packet.acked
        sequence = bases[packet.direction] + 1 + packet.start
        body = building.tcp(*ports, sequence, ack, packet.flags, packet.data)
        protocol = 6
    wrap, kind = (building.ipv6, 0x86DD) if made.ipv6 else (building.ipv4, 0x0800)
    data = wrap(body, protocol, source, target)
    for tag in range(made.tags):
        data, kind = struct.pack(">HH", 100 + tag, kind) + data, 0x88A8 if tag else 0x8100
    return building.ethernet(data, kind)


def files(merged: list[tuple[Connection, Packet]], count: int) -> list[bytes]:
    """The capture, in as many files."""
    size = -(-len(merged) // count)
    written: list[bytes] = []
    for start in range(0, len(merged), size):
        part = merged[start : start + size]
        data = bytearray(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for made, packet in part:
            content = frame(made, packet)
            seconds, fraction = divmod(packet.time_us, 1_000_000)
            kept = content[: len(content) - max(0, len(packet.data) - packet.captured)]
            data += struct.pack("<IIII", seconds, fraction, len(kept), len(content)) + kept
        written.append(bytes(data))
    return written


# --- what comes out -------------------------------------------------------------------------------------


@dataclass
class Figures:
    """Counts over the calls whose request and reply are both in the capture."""

    calls: int = 0
    unpaired: int = 0
    wrong: int = 0
    hidden: int = 0
    invented: int = 0
    misplaced: int = 0  # messages out of order
    mistimed: int = 0  # messages or latencies

    @property
    def faults(self) -> int:
        return self.unpaired + self.wrong + self.hidden + self.invented + self.misplaced + self.mistimed

    def add(self, other: Figures) -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def complete(made: Connection) -> list[int]:
    """When each message of the script was complete: the packet's time, -1 if it is not in the capture."""
    if made.transport == "udp":
        first: dict[int, int] = {}
        for packet in made.packets:
            if packet.captured >= len(packet.data):
                first.setdefault(packet.start, packet.time_us)
        return [first.get(place, -1) for place in range(len(made.script))]
    seen: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for packet in made.packets:
        for at in packet.seen:
            seen[packet.direction].setdefault(at, packet.time_us)
    times: list[int] = []
    for message, (start, end) in zip(made.script, made.spans, strict=True):
        bytes_seen = seen[message.direction]
        if not all(at in bytes_seen for at in range(start, end)):
            times.append(-1)
            continue
        at, latest = end, 0  # the stream is complete up to here only when all before it is
        while at - 1 in bytes_seen:
            at -= 1
            latest = max(latest, bytes_seen[at])
        times.append(latest)
    return times


def messages_of(parts: list[bytes]) -> list[Message]:
    """The messages of a capture in several files."""
    reader = Reader()
    conversations = Conversations()
    found: list[Message] = []
    for part in parts:
        for pieces in reader.steps(part):
            found += conversations.feed(pieces)
    return found + conversations.feed(reader.close()) + conversations.close()


def judge(connections: list[Connection], found: list[Message]) -> Figures:
    """Compare messages with what was sent."""
    figures = Figures()
    by_client: dict[int, list[Message]] = {}
    for message in found:
        if message.record.root is not None and message.record.protocol != "http2":
            client = next(port for port in message.flow.ports if port >= FIRST_PORT)
            by_client.setdefault(client, []).append(message)
    lanes: dict[int, list[Connection]] = {}
    for made in connections:
        lanes.setdefault(made.client, []).append(made)
    for client, lane in lanes.items():
        figures.add(judge_lane(lane, by_client.get(client, [])))
    return figures


def is_rest(lane: list[Connection], message: Message) -> bool:
    """Whether it is an ESNP message without its first entries, which were sent before the capture began.

    FLAG stands first and may be absent: the other entries are a whole message, too, and no reader can know.
    """
    assert message.record.root is not None
    raw = message.record.root.raw
    sent = [one.data for made in lane if made.joined and made.protocol == "esnp" for one in made.script]
    return raw not in sent and any(data.endswith(raw) for data in sent)


def judge_lane(lane: list[Connection], found: list[Message]) -> Figures:
    """Compare what was found of a client's port with the connections that it had, one after the other."""
    figures = Figures()
    made = Connection(lane[0].protocol, lane[0].transport, lane[0].port, [])
    times: list[int] = []
    for one in lane:
        made.script += one.script
        made.joined = made.joined or one.joined
        made.lonely = made.lonely or one.lonely
        times += complete(one)
    shown: dict[bytes, list[Message]] = {}
    unmarked = 0
    for message in found:
        assert message.record.root is not None
        match = MARKER.search(message.record.root.raw)
        marker = b"" if match is None else match[0]
        unmarked += not marker
        shown.setdefault(marker, []).append(message)
    sent_unmarked = sum(
        1 for message, time in zip(made.script, times, strict=True) if not message.marker and time >= 0
    )
    figures.invented += max(0, unmarked - sent_unmarked) if made.transport == "tcp" else 0
    sent: dict[bytes, list[int]] = {}
    for planned, time in zip(made.script, times, strict=True):
        sent.setdefault(planned.marker, []).append(time)
    for marker, messages in shown.items():
        if marker and made.transport == "tcp":
            whole = [time for time in sent.get(marker, []) if time >= 0]
            rests = sum(is_rest(lane, message) for message in messages)
            figures.invented += max(0, len(messages) - len(whole) - rests)
            for message, time in zip(messages, whole, strict=False):
                figures.mistimed += not made.joined and message.time_us != time
    flows: dict[int, list[Message]] = {}
    for message in found:
        flows.setdefault(message.flow.number, []).append(message)
    for messages in flows.values():
        figures.misplaced += sum(after.time_us < before.time_us for before, after in pairwise(messages))
    figures.hidden += sum(
        1
        for one in lane
        if one.lonely and len(one.script) > FEW
        for message, time in zip(one.script, complete(one), strict=True)
        if time >= 0 and message.marker and message.marker != FOREIGN and message.marker not in shown
    )
    asked = {b"<q%06d>" % message.call: message.call for message in made.script if message.call >= 0}
    pairs: dict[int, bytes] = {}
    for marker in asked:
        for message in shown.get(marker, []):
            if message.pair_number:
                pairs[message.pair_number] = marker
    for marker, call in asked.items():
        reply = b"<r%06d>" % call
        if min(sent[marker]) < 0 or min(sent[reply]) < 0:
            continue
        figures.calls += 1
        questions, answers = shown.get(marker, []), shown.get(reply, [])
        if not questions or len(answers) < len(sent[reply]):
            figures.hidden += 1
            continue
        owners = {pairs.get(answer.pair_number, b"") for answer in answers}
        if owners - {marker, b""}:
            figures.wrong += 1
        elif owners != {marker}:
            figures.unpaired += 1
        elif made.transport == "tcp" and not made.joined:
            for answer, time in zip(answers, sent[reply], strict=False):
                latency = time - sent[marker][0]
                figures.mistimed += answer.latency_us not in ((latency,) if latency >= 0 else (None,))
    return figures


def capture(
    kind: tuple[object, ...], condition: str, calls: int, seed: int
) -> tuple[list[Connection], list[bytes]]:
    """A capture of several connections of a kind, with `calls` calls in all."""
    chance = random.Random(f"{kind[0]} {condition} {seed}")
    everything = condition == "everything"
    connections: list[Connection] = []
    first = 1
    client = FIRST_PORT - 1
    while first <= calls:
        count = min(chance.choice((1, 2, 5, 20, 40)), calls - first + 1)
        made = connection(kind, chance, first, count, condition not in ("plain", "sent twice"))
        again = connections and (condition == "ports again" or (everything and chance.random() < 0.3))
        client += not again or connections[-1].transport == "udp"
        made.client, made.number = client, len(connections)
        if again and connections[-1].client == client:
            close(connections[-1], chance)
            disturb(made, chance, "all but joined" if everything else condition)
            made.tags, made.ipv6 = connections[-1].tags, connections[-1].ipv6
        else:
            disturb(made, chance, "all" if everything else condition)
            if everything or condition == "tagged":
                made.tags, made.ipv6 = chance.randrange(3), chance.random() < 0.5
        connections.append(made)
        first += count
    if everything or condition == "one way":
        leave_one_way(connections, chance, 0.2 if everything else 1.0)
    if condition == "snapped" or (everything and chance.random() < 0.3):
        snap(connections, chance.choice((40, 70, 100, 200)))
    merged = interleave(connections, chance)
    return connections, files(merged, 5 if everything or condition in ("rotated", "all") else 1)


def figures_of(kind: tuple[object, ...], condition: str, calls: int, seed: int) -> Figures:
    connections, parts = capture(kind, condition, calls, seed)
    return judge(connections, messages_of(parts))


def every(calls: int, seed: int) -> Iterator[tuple[str, str, Figures]]:
    for kind in (*KINDS, *TUNNELS):
        for condition in (*CONDITIONS, *MORE_CONDITIONS):
            yield str(kind[0]), condition, figures_of(kind, condition, calls, seed)


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    total = Figures()
    print(f"{'protocol':12} {'condition':14} {' '.join(f'{name:>9}' for name in vars(total))}")
    for name, condition, figures in every(calls, seed):
        total.add(figures)
        print(f"{name:12} {condition:14} {' '.join(f'{number:>9}' for number in vars(figures).values())}")
    print(f"{'all':27} {' '.join(f'{number:>9}' for number in vars(total).values())}")


if __name__ == "__main__":
    main()
