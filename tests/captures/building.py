"""Writes packets and capture files for the tests: only what they need, every field overridable."""

import struct
from collections.abc import Iterable, Sequence

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
CLIENT6, SERVER6 = bytes(15) + b"\1", bytes(15) + b"\2"
START = 1_700_000_000


def tcp(
    sport: int = 40000, dport: int = 1080, seq: int = 0, ack: int = 0, flags: int = ACK, data: bytes = b""
) -> bytes:
    words = (seq & 0xFFFFFFFF, ack & 0xFFFFFFFF)
    return struct.pack(">HHIIBBHHH", sport, dport, *words, 0x50, flags, 8192, 0, 0) + data


def udp(sport: int = 40000, dport: int = 26000, data: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack(">HHHH", sport, dport, 8 + len(data) if length is None else length, 0) + data


def ipv4(
    body: bytes,
    protocol: int = 6,
    source: bytes = CLIENT,
    destination: bytes = SERVER,
    *,
    total: int | None = None,
    ident: int = 1,
    fragment: int = 0,
    options: bytes = b"",
) -> bytes:
    size = 20 + len(options)
    total = size + len(body) if total is None else total
    first = 0x40 | size // 4
    head = struct.pack(">BBHHHBBH", first, 0, total & 0xFFFF, ident, fragment, 64, protocol, 0)
    return head + source + destination + options + body


def ipv6(
    body: bytes,
    following: int = 6,
    source: bytes = CLIENT6,
    destination: bytes = SERVER6,
    length: int | None = None,
) -> bytes:
    length = len(body) if length is None else length
    return struct.pack(">IHBB", 0x60000000, length & 0xFFFF, following, 64) + source + destination + body


def ethernet(body: bytes, kind: int = 0x0800) -> bytes:
    return b"\2\0\0\0\0\1\2\0\0\0\0\2" + struct.pack(">H", kind) + body


def pcap(
    frames: Iterable[bytes],
    link_type: int = 1,
    *,
    order: str = "<",
    magic: int = 0xA1B2C3D4,
    version: tuple[int, int] = (2, 4),
    extra: bytes = b"",
    header: bytes = b"",
    times: Sequence[int] | None = None,
    lengths: Sequence[int] | None = None,
    snap: int = 262144,
) -> bytes:
    """times: microseconds since START; lengths: original lengths; extra: more bytes in each record header."""
    out = [struct.pack(order + "IHHIIII", magic, *version, 0, 0, snap, link_type), header]
    nanoseconds = magic in (0xA1B23C4D, 0x1C0001AC, 0x1C0001AB)
    for index, frame in enumerate(frames):
        time = START * 1_000_000 + (index * 1000 if times is None else times[index])
        seconds, fraction = divmod(time, 1_000_000)
        original = len(frame) if lengths is None else lengths[index]
        fraction *= 1000 if nanoseconds else 1
        out.append(struct.pack(order + "IIII", seconds, fraction, len(frame), original) + extra + frame)
    return b"".join(out)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(link_type: int = 1, options: bytes = b"", order: str = "<", snap: int = 0) -> bytes:
    return block(1, struct.pack(order + "HHI", link_type, 0, snap) + options, order)


def enhanced(
    frame: bytes, ticks: int = 0, number: int = 0, order: str = "<", options: bytes = b"", original: int = -1
) -> bytes:
    original = len(frame) if original < 0 else original
    words = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), original)
    return block(6, words + frame + bytes(-len(frame) % 4) + options, order)


class Talk:
    """A TCP connection: each call gives the next frame."""

    def __init__(self, client: int = 1000, server: int = 5000, port: int = 40000, peer: int = 1080) -> None:
        self.next = [client, server]
        self.ports = (port, peer)

    def frame(self, side: int, flags: int, data: bytes = b"", seq: int | None = None) -> bytes:
        seq = self.next[side] if seq is None else seq
        source, destination = (CLIENT, SERVER) if side == 0 else (SERVER, CLIENT)
        ports = self.ports if side == 0 else self.ports[::-1]
        ack = self.next[1 - side] if flags & ACK else 0
        return ethernet(ipv4(tcp(*ports, seq, ack, flags, data), 6, source, destination))

    def send(self, side: int, data: bytes, flags: int = PSH | ACK) -> bytes:
        frame = self.frame(side, flags, data)
        self.next[side] += len(data) + bool(flags & SYN) + bool(flags & FIN)
        return frame

    def hello(self) -> list[bytes]:
        return [self.send(0, b"", SYN), self.send(1, b"", SYN | ACK), self.send(0, b"", ACK)]

    def goodbye(self) -> list[bytes]:
        return [self.send(0, b"", FIN | ACK), self.send(1, b"", FIN | ACK), self.send(0, b"", ACK)]
