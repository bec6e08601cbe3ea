"""Measures `wirelens calls CLIENT --server-side SERVER`: time and memory on large captures of both ends.

    python -m bench.ends [--calls N] [--connections N] [--keep FOLDER]

The captures are made: Dubbo requests and responses, one packet each, on many connections at a time; the
server's clock is 37.5 s ahead and 20 ppm fast, one packet in a thousand is lost and sent again 200 ms later.
For comparison the client's capture alone, by `calls` and by `flows`. (`tests/two_ends.py` measures how often
the results are right.)
"""

import argparse
import heapq
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import bulk

START_US = 1_700_000_000_000_000
OFFSET_US = 37_500_000
RATE = 20e-6
LOST = 0.001
RTO_US = 200_000
ACK_PSH = 0x18

Event = tuple[int, int, bytes]  # time, end (0: client), frame


def connection(number: int, calls: int, messages: list[tuple[bytes, bytes]]) -> Iterator[Event]:
    """The frames of a connection at both ends, on the true clock, by time within some seconds."""
    chance = random.Random(number)
    ends = (struct.pack(">I", 0x0A000000 + number), b"\x0a\xf0\0\1")
    ports = (40000 + number % 20_000, 20880)
    sequence = [chance.randrange(1 << 32), chance.randrange(1 << 32)]
    now = chance.randrange(1_000_000)

    def frame(side: int, data: bytes, at: int) -> bytes:
        words = (at & 0xFFFFFFFF, sequence[1 - side] & 0xFFFFFFFF)
        segment = struct.pack(">HHIIHHHH", ports[side], ports[1 - side], *words, 0x5000 | ACK_PSH, 8192, 0, 0)
        size = 20 + len(segment) + len(data)
        name = chance.randrange(1, 1 << 16)
        head = struct.pack(">BBHHHBBH", 0x45, 0, size, name, 0, 64, 6, 0) + ends[side] + ends[1 - side]
        return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + head + segment + data

    def send(side: int, data: bytes, at: int) -> Iterator[Event]:
        nonlocal now
        start = sequence[side]
        if chance.random() < LOST:
            yield at, side, frame(side, data, start)
            at += RTO_US
        yield at, side, frame(side, data, start)
        now = at + 1000 + int(chance.expovariate(1 / 100))
        yield now, 1 - side, frame(side, data, start)
        sequence[side] += len(data)

    for call in range(calls):
        request, response = messages[call % len(messages)]
        yield from send(0, request, now)
        yield from send(1, response, now + chance.randrange(200, 3000))
        now += chance.randrange(1000, 20_000)


def make(folder: Path, calls: int, connections: int) -> tuple[Path, Path]:
    """Write the captures of both ends."""
    messages = bulk.calls()
    paths = folder / "client.pcap", folder / "server.pcap"
    each = max(1, calls // connections)
    with paths[0].open("wb") as client, paths[1].open("wb") as server:
        files = (client, server)
        for file in files:
            file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        events = [connection(number, each, messages) for number in range(connections)]
        for at, end, frame in heapq.merge(*events, key=lambda event: event[0]):
            clock = at + START_US + (OFFSET_US + int(at * RATE) if end else 0)
            seconds, micros = divmod(clock, 1_000_000)
            files[end].write(struct.pack("<IIII", seconds, micros, len(frame), len(frame)) + frame)
    return paths


def measure(words: list[str], calls: int) -> None:
    """Run a command, and print what it took."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "wirelens.cli.main", *words]
    done = subprocess.run(command, check=True, capture_output=True)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024  # of the largest so far
    rows = done.stdout.count(b"\n")
    both = done.stdout.count(b'"reply_transit"')
    named = " ".join([word if "/" not in word else Path(word).name for word in words])
    print(
        f"{named:70} {took:7.2f} s {calls / took:10,.0f} calls/s {peak:6,} MiB {rows:9,} rows {both:9,} split"
    )
    for line in done.stderr.decode().splitlines():
        print(f"    {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--keep", type=Path, help="write the captures into this folder and leave them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        client, server = make(options.keep or Path(folder), options.calls, options.connections)
        sizes = [path.stat().st_size / 1e6 for path in (client, server)]
        print(
            f"{options.calls:,} calls, {options.connections:,} connections, "
            f"{sizes[0]:.1f} and {sizes[1]:.1f} MB"
        )
        measure(["flows", "--format", "json", str(client)], options.calls)
        measure(["calls", "--format", "jsonl", str(client)], options.calls)
        measure(["calls", "--format", "jsonl", str(client), "--server-side", str(server)], options.calls)


if __name__ == "__main__":
    main()
