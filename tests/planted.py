"""Captures of calls whose fate is known: answered, failed, late, unanswered, repeated, one-way.

    PYTHONPATH=build/stage python tests/planted.py [calls] [seed] [protocol]

prints how many calls of each fate were planted, found and reported wrongly; of all protocols without one.
"""

from __future__ import annotations

import random
import struct
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import building
import traffic

from wirelens.codecs.calls import Calls
from wirelens.codecs.captures import Reader
from wirelens.codecs.conversations import Conversations

if TYPE_CHECKING:
    from collections.abc import Callable

    from wirelens.codecs.call import Call

SERVICES: Final = ("com.example.shop.OrderService", "com.example.user.UserService")
METHODS: Final = ("find", "place", "cancel", "login")
TIMEOUT_MS: Final = 300
START_US: Final = 1_000_000  # microseconds since building.START
FATES: Final = ("ok", "error", "late", "unanswered", "repeated", "one-way", "late error", "repeated late")


@dataclass
class Planted:
    """A call: its fate, and what a row about it has to have."""

    number: int
    fate: str
    service: str
    method: str
    sent_us: int = 0
    latency_us: int = 0


@dataclass
class Packet:
    """A packet of a connection: its time, direction, place in the stream, bytes."""

    time_us: int
    direction: int
    data: bytes
    again: bool = False
    start: int = 0


@dataclass
class Connection:
    """Packets between one client and the server."""

    port: int
    packets: list[Packet] = field(default_factory=list)


def text(value: str) -> bytes:
    """A string of final Hessian 2.0 of less than 1024 characters."""
    content = value.encode()
    size = len(content)
    return bytes([size] if size < 32 else [0x30 + (size >> 8), size & 0xFF]) + content


def frame(flags: int, status: int, number: int, body: bytes) -> bytes:
    """A message of Dubbo."""
    head = b"\xda\xbb" + bytes([flags, status]) + number.to_bytes(8, "big")
    return head + len(body).to_bytes(4, "big") + body


def request(call: Planted) -> bytes:
    """A request that states the client's timeout."""
    body = text("2.0.2") + text(call.service) + text("1.0") + text(call.method) + text("")
    body += b"H" + text("timeout") + text(str(TIMEOUT_MS)) + b"Z"
    return frame(0x82 if call.fate == "one-way" else 0xC2, 0, call.number, body)


def reply(call: Planted) -> bytes:
    """Its reply: a value, or an error with a status."""
    if "error" in call.fate:
        return frame(0x02, 70, call.number, text(f"failed {call.method}"))
    return frame(0x02, 20, call.number, b"\x91" + text(call.method))


def bolt_request(call: Planted) -> bytes:
    message = traffic.bolt(2 if call.fate == "one-way" else 1, 1, call.number, b"<q%06d>" % call.number)
    return message[:10] + struct.pack(">i", TIMEOUT_MS) + message[14:]


def bolt_reply(call: Planted) -> bytes:
    message = traffic.bolt(0, 2, call.number, b"<r%06d>" % call.number)
    return message[:10] + struct.pack(">H", "error" in call.fate) + message[12:]


def esnp_request(call: Planted) -> bytes:
    flag = b"" if call.fate == "one-way" else traffic.esnp_flag(4)  # without it a reply need not come
    service = traffic.esnp_address(30, call.service.encode())
    method = traffic.esnp_address(20, call.method.encode())
    return traffic.esnp(flag, traffic.esnp_id(call.number), service, method, marker=b"<q%06d>" % call.number)


def esnp_reply(call: Planted) -> bytes:
    parts = [traffic.esnp_flag(3), traffic.esnp_id(call.number, 0x12)]
    if "error" in call.fate:
        parts.append(traffic.entry(0x1D, b"failed"))
    return traffic.esnp(*parts, marker=b"<r%06d>" % call.number)


def mevent_request(call: Planted) -> bytes:
    flags = 0 if call.fate == "one-way" else 2
    return traffic.mevent_request(call.number, b"<q%06d>" % call.number, flags, True)


def mevent_reply(call: Planted) -> bytes:
    message = traffic.mevent_reply(call.number, b"<r%06d>" % call.number, True)
    return message[:8] + struct.pack(">I", 15 if "error" in call.fate else 1000) + message[12:]


def magline_request(call: Planted) -> bytes:
    body = struct.pack(">I", 7) + bytes(range(200, 216)) + b"<q%06d>" % call.number
    return traffic.magline(6, call.number, body)


def magline_reply(call: Planted) -> bytes:
    if "error" in call.fate:
        return traffic.magline(3, call.number, struct.pack(">I", 4))
    body = struct.pack(">I", 7) + bytes(range(200, 216)) + b"<r%06d>" % call.number
    return traffic.magline(7, call.number, body)


def http_request(call: Planted) -> bytes:
    return b"POST /%s/%d HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" % (
        call.method.encode(),
        call.number,
    )


def http_reply(call: Planted) -> bytes:
    status = b"500 Failed" if "error" in call.fate else b"200 OK"
    return b"HTTP/1.1 %s\r\nContent-Length: 8\r\n\r\n%08d" % (status, call.number)


class Wire(NamedTuple):
    """How calls of a protocol are written; `alone`: whether each has a connection of its own."""

    port: int
    request: Callable[[Planted], bytes]
    reply: Callable[[Planted], bytes]
    fates: tuple[str, ...]
    alone: bool = False


UNTIMED: Final = ("ok", "error", "unanswered", "repeated", "one-way")
WIRES: Final = {
    "dubbo": Wire(20880, request, reply, FATES),
    "bolt": Wire(12200, bolt_request, bolt_reply, FATES),
    "esnp": Wire(1080, esnp_request, esnp_reply, UNTIMED),
    "mevent": Wire(5555, mevent_request, mevent_reply, UNTIMED),
    "magline": Wire(9757, magline_request, magline_reply, UNTIMED[:-1]),
    "http": Wire(8080, http_request, http_reply, UNTIMED[:-1], True),
}


def planted(
    count: int, seed: int, each: int = 0, connections: int = 40, protocol: str = "dubbo"
) -> tuple[bytes, list[Planted]]:
    """A capture with calls, of which `each` have each unusual fate (0: some), and the calls."""
    chance = random.Random(seed)
    wire = WIRES[protocol]
    if wire.alone:
        connections = count
    unusual = [fate for fate in wire.fates[1:] for _ in range(each or max(1, count // 40))]
    fates = [*unusual, *["ok"] * (count - len(unusual))]
    chance.shuffle(fates)
    flows = [Connection(30000 + number) for number in range(connections)]
    calls: list[Planted] = []
    now = START_US
    for number, fate in enumerate(fates, 1):
        now += chance.randint(100, 3000)
        call = Planted(number, fate, chance.choice(SERVICES), chance.choice(METHODS), now)
        calls.append(call)
        flow = flows[number - 1] if wire.alone else chance.choice(flows)
        data = wire.request(call)
        flow.packets.append(Packet(now, 0, data))
        if "repeated" in fate:
            flow.packets.append(Packet(now + chance.randint(20_000, 60_000), 0, data, True))
        if fate in ("one-way", "unanswered"):
            continue
        limit = 1000 * TIMEOUT_MS
        late = "late" in fate
        call.latency_us = chance.randint(limit + 1, 3 * limit) if late else chance.randint(65_000, limit)
        flow.packets.append(Packet(now + call.latency_us, 1, wire.reply(call)))
    return capture(flows, now + 5_000_000, wire.port), calls


def capture(flows: list[Connection], end_us: int, server: int = 20880) -> bytes:
    """The packets of all connections as a pcap, in order of time; the last packet is an empty one."""
    rows: list[tuple[int, bytes]] = []
    for flow in flows:
        flow.packets.sort(key=lambda packet: packet.time_us)
        ends = [0, 0]
        places: dict[bytes, int] = {}
        ports = (flow.port, server)
        rows.append((START_US - 20, segment(ports, 0, 999, b"", 0, building.SYN)))
        rows.append((START_US - 10, segment(ports, 1, 999, b"", 1000, building.SYN | building.ACK)))
        for packet in flow.packets:
            direction = packet.direction
            if packet.again:
                start = places[packet.data]
            else:
                start = places[packet.data] = ends[direction]
                ends[direction] += len(packet.data)
            acked = 1000 + ends[1 - direction]
            rows.append((packet.time_us, segment(ports, direction, 1000 + start, packet.data, acked)))
        rows.append((end_us, segment(ports, 0, 1000 + ends[0], b"", 1000 + ends[1])))
    rows.sort(key=lambda row: row[0])
    return building.pcap([data for _, data in rows], times=[time_us for time_us, _ in rows])


def segment(
    ports: tuple[int, int], direction: int, sequence: int, data: bytes, acked: int, flags: int = building.ACK
) -> bytes:
    """An Ethernet frame from the client (0) or the server (1)."""
    hosts = (building.CLIENT, building.SERVER)
    body = building.tcp(ports[direction], ports[1 - direction], sequence, acked, flags, data)
    ident = (sequence + len(data) + acked) & 0xFFFF or 1
    return building.ethernet(building.ipv4(body, 6, hosts[direction], hosts[1 - direction], ident=ident))


def calls_of(data: bytes, size: int = 1 << 16, live: bool = False) -> list[Call]:
    """The calls of a capture, fed in chunks of a size, by their numbers."""
    reader = Reader()
    reader.assembler.observe()
    conversations = Conversations(sources=False)
    calls = Calls(live=live)
    found: list[Call] = []
    for at in range(0, len(data), size):
        for pieces in reader.steps(data[at : at + size]):
            found += calls.feed(conversations.feed(pieces), pieces)
    pieces = reader.close()
    found += calls.feed(conversations.feed(pieces), pieces)
    found += calls.close(conversations.close())
    return sorted(found, key=lambda call: call.call)


def fate_of(call: Call) -> str:
    """The fate that a row reports."""
    words = ["repeated"] if call.resent_bytes else []
    words += ["late"] if call.late else []
    if call.outcome != "ok" or not words:
        words.append(call.outcome)
    return " ".join(words)


def number_of(call: Call) -> str:
    """The number under which a call was planted; HTTP has it in the path."""
    return call.id or call.method.rpartition("/")[2]


def main() -> None:
    """Print what was planted and what was found."""
    words = sys.argv[1:]
    count = int(words[0]) if words else 20_000
    seed = int(words[1]) if len(words) > 1 else 1
    for protocol in words[2:] or WIRES:
        data, calls = planted(count, seed, protocol=protocol)
        wanted = Counter((str(call.number), call.fate) for call in calls)
        found = Counter((number_of(call), fate_of(call)) for call in calls_of(data))
        print(f"{protocol}: planted {dict(Counter(call.fate for call in calls))}")
        print(f"{(wanted - found).total()} not found so, {(found - wanted).total()} others found")


if __name__ == "__main__":
    main()
