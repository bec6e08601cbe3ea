"""A capture in which many calls are open at all times, written to standard output.

    python -m bench.calls BYTES OPEN | wirelens stats -

Requests of Dubbo on some connections; once OPEN wait for their replies, each next one comes after the oldest
is answered. A call in a thousand is never answered.
"""

from __future__ import annotations

import struct
import sys
from collections import deque
from collections.abc import Iterator

HOSTS = (b"\x0a\0\0\1", b"\x0a\0\0\2")
PORT = 20880
NAMES = ("find", "place", "cancel", "login")
CONNECTIONS = 100
STEP_US = 20  # between packets
LOST = 1000  # one call in this many is never answered
START_US = 1_700_000_000_000_000


def text(value: str) -> bytes:
    """A string of final Hessian 2.0 of less than 32 characters."""
    return bytes([len(value)]) + value.encode()


def message(flags: int, status: int, number: int, body: bytes) -> bytes:
    """A message of Dubbo."""
    return b"\xda\xbb" + struct.pack(">BBQI", flags, status, number, len(body)) + body


def records(size: int, open_calls: int) -> Iterator[bytes]:
    """Records of a pcap file, about `size` bytes."""
    call = text("2.0.2") + text("com.example.UserService") + text("1.0")
    carried = text("") + b"H" + text("timeout") + text("9000") + b"Z"
    calls = [call + text(method) + carried for method in NAMES]
    answer = b"\x91" + text("done")
    sent = [[1000, 1000] for _ in range(CONNECTIONS)]
    waiting: deque[int] = deque()
    written = number = 0
    now_us = START_US
    while written < size:
        number += 1
        steps = [(number, 0, message(0xC2, 0, number, calls[number % len(calls)]))]
        if number % LOST:
            waiting.append(number)
        if len(waiting) > open_calls:
            oldest = waiting.popleft()
            steps.append((oldest, 1, message(0x02, 20, oldest, answer)))
        for owner, direction, data in steps:
            place = owner % CONNECTIONS
            sequences = sent[place]
            frame = frame_of(40000 + place, direction, sequences[direction], sequences[1 - direction], data)
            sequences[direction] = (sequences[direction] + len(data)) & 0xFFFFFFFF
            now_us += STEP_US
            seconds, fraction = divmod(now_us, 1_000_000)
            yield struct.pack("<IIII", seconds, fraction, len(frame), len(frame)) + frame
            written += 16 + len(frame)


def frame_of(port: int, direction: int, sequence: int, acknowledgment: int, data: bytes) -> bytes:
    """An Ethernet frame from the client (0) or the server (1)."""
    ports = (port, PORT) if direction == 0 else (PORT, port)
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledgment, 0x50, 0x18, 8192, 0, 0)
    size = 20 + len(tcp) + len(data)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, size, sequence & 0xFFFF, 0, 64, 6, 0)
    hosts = HOSTS[direction] + HOSTS[1 - direction]
    return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + hosts + tcp + data


def main() -> None:
    """Write the capture."""
    size, open_calls = (int(word) for word in sys.argv[1:3])
    out = sys.stdout.buffer
    out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
    part: list[bytes] = []
    for record in records(size, open_calls):
        part.append(record)
        if len(part) == 1000:
            out.write(b"".join(part))
            part.clear()
    out.write(b"".join(part))


if __name__ == "__main__":
    main()
