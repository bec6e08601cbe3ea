"""Measures the reading of captures: packets and bytes a second for each layer, beside TShark if it is there.

    python -m bench.captures [--packets N] [--flows N] [--keep FILE]

The captures are made. Of reading and of streams: TCP over IPv4 over Ethernet, payloads of 20 to 700 bytes,
flows interleaved, one segment in fifty repeated and one in fifty swapped with the next. Of decoding: Dubbo
requests and responses, many connections at a time. Figures are the best of three runs, one thread.
"""

import argparse
import random
import resource
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import wirelens.codecs.captures.streams as module
from bench import bulk
from wirelens.codecs.captures import Assembler, Dissector, Piece, Reader, Segment, flows, read_packets
from wirelens.codecs.conversations import Conversations

CHUNK = 1 << 18
RUNS = 3


def frames(packets: int, flows: int) -> Iterator[bytes]:
    """Records of a little-endian pcap file."""
    chooser = random.Random(1)
    payloads = [chooser.randbytes(700) for _ in range(16)]
    sequences = [[1000, 5000] for _ in range(flows)]
    for index in range(packets):
        flow, side = index % flows, (index // flows) & 1
        data = payloads[index & 15][: 20 + index * 37 % 680]
        client = struct.pack(">IH", 0x0A000000 + flow, 40000)
        server = struct.pack(">IH", 0x0AF00000, 1080)
        source, target = (client, server) if side == 0 else (server, client)
        sequence = sequences[flow][side]
        sequences[flow][side] = sequence + len(data) & 0xFFFFFFFF
        flags = 0x5018
        head = struct.pack(">IIHHHH", sequence, sequences[flow][1 - side], flags, 8192, 0, 0)
        segment = source[4:] + target[4:] + head + data
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), index & 0xFFFF, 0, 64, 6, 0)
        frame = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + source[:4] + target[:4] + segment
        seconds, micros = divmod(index * 100, 1_000_000)
        yield struct.pack("<IIII", 1_700_000_000 + seconds, micros, len(frame), len(frame)) + frame


def disturbed(records: Iterator[bytes]) -> Iterator[bytes]:
    held = b""
    for index, record in enumerate(records):
        if index % 50 == 20:
            held = record
            continue
        yield record
        if held:
            yield held
            held = b""
        if index % 50 == 40:
            yield record
    if held:
        yield held


def make(path: Path, packets: int, flows: int) -> int:
    """Write the capture; the number of packets."""
    count = 0
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for record in disturbed(frames(packets, flows)):
            file.write(record)
            count += 1
    return count


def chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def read(path: Path) -> int:
    return sum(1 for _ in read_packets(chunks(path)))


def dissect(path: Path) -> int:
    dissector = Dissector()
    segments: list[Segment] = []
    count = 0
    for packet in read_packets(chunks(path)):
        dissector.add(packet, segments)
        segments.clear()
        count += 1
    return count


def assemble(path: Path) -> int:
    dissector, assembler = Dissector(), Assembler()
    segments: list[Segment] = []
    pieces: list[Piece] = []
    count = 0
    for packet in read_packets(chunks(path)):
        dissector.add(packet, segments)
        assembler.extend(segments, pieces)
        segments.clear()
        pieces.clear()
        count += 1
    assembler.close()
    return count


def whole(path: Path) -> int:
    reader = Reader()
    for chunk in chunks(path):
        for _ in reader.steps(chunk):
            pass
    reader.close()
    assert reader.payload == reader.delivered + reader.retransmitted
    return reader.packets


def collect(path: Path) -> int:
    return sum(direction.segments for flow in flows(chunks(path)) for direction in flow.directions)


def make_messages(path: Path, size: int) -> int:
    """Write a capture of about `size` bytes of Dubbo traffic; the number of packets."""
    count = 0
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for record in bulk.records(size):
            file.write(record)
            count += 1
    return count


def decode(path: Path, written: bool = False) -> int:
    """The number of a capture's messages; `written`: each is made JSON objects."""
    reader = Reader()
    conversations = Conversations()
    count = 0
    for chunk in (*chunks(path), b""):
        for pieces in reader.steps(chunk) if chunk else [reader.close()]:
            for message in conversations.feed(pieces):
                count += 1
                if written:
                    message.record.to_json()
    return count + len(conversations.close())


def tshark(arguments: list[str]) -> Callable[[Path], int]:
    def run(path: Path) -> int:
        command = ["tshark", "-n", "-r", str(path), *arguments]
        done = subprocess.run(command, check=True, capture_output=True)
        return max(done.stdout.count(b"\n"), 1)

    return run


def timed(run: Callable[[Path], int], path: Path, packets: int) -> float:
    """Packets a second of one run."""
    start = time.perf_counter()
    run(path)
    return packets / (time.perf_counter() - start)


def measure(name: str, run: Callable[[Path], int], path: Path, packets: int, runs: int = RUNS) -> None:
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        run(path)
        best = min(best, time.perf_counter() - start)
    size = path.stat().st_size
    print(f"{name:34} {packets / best:12,.0f} packets/s {size / best / 1e6:10,.1f} MB/s {best:8.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--packets", type=int, default=200_000)
    parser.add_argument("--flows", type=int, default=500)
    parser.add_argument("--keep", type=Path, help="write the capture here and leave it")
    options = parser.parse_args()
    form = "interpreted" if str(module.__file__).endswith(".py") else "compiled"
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder, "made.pcap")
        packets = make(path, options.packets, options.flows)
        print(f"{packets:,} packets, {path.stat().st_size:,} bytes, {options.flows:,} flows; {form}")
        measure("Reader (all layers)", whole, path, packets)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"{'':34} {peak // 1024:12,} MiB at most")
        measure("packets", read, path, packets)
        measure("packets, segments", dissect, path, packets)
        measure("packets, segments, streams", assemble, path, packets)
        measure("flows (bytes kept)", collect, path, packets)
        if shutil.which("tshark"):
            measure("tshark, streams", tshark(["-q", "-z", "conv,tcp"]), path, packets, 1)
        else:
            print("tshark is not installed")
        path = Path(folder, "messages.pcap")
        packets = make_messages(path, options.packets * 300)
        print(f"{packets:,} packets, {path.stat().st_size:,} bytes of Dubbo: {decode(path):,} messages")
        measure("messages", decode, path, packets)
        measure("messages, as JSON objects", partial(decode, written=True), path, packets)
        if shutil.which("tshark"):
            measure("tshark, -T ek", tshark(["-T", "ek"]), path, packets, 1)


if __name__ == "__main__":
    main()
