"""Measures bulk conversion: rows and bytes a second, and how much of the time is Spark's.

    python -m bench.bulk [--sizes 10 100 1000] [--files 10] [--master local[2]] [--alone] [--json FILE]

The captures are made: Dubbo requests and responses, many connections at a time, rotated into files of equal
size. All sizes go through one session, after a small first job. `decoding` is processor time of the Python
workers, `reading` that of the same reading done again in this process; Spark's share is what remains of the
time of all cores, waiting included. `processor` is what this process, Java and the workers take together.
With --alone the same files go through one process of `decode --format jsonl` for comparison, just before and
just after; its processor time is that of the faster one.
"""

import argparse
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.corpus import order
from wirelens import codecs
from wirelens.cli.bulk.plan import Range
from wirelens.cli.bulk.reading import read_ranges
from wirelens.codecs import Json

SEGMENT = 1448
ORDERS = 200
CALLS = 40
AT_A_TIME = 50


def calls() -> list[tuple[bytes, bytes]]:
    """Requests and their responses."""
    chooser = random.Random(5)
    found = []
    for number in range(ORDERS):
        head: dict[str, Json] = {
            "two_way": True,
            "event": False,
            "serialization": "hessian2",
            "id": number + 1,
        }
        made = order(chooser, number)
        request: dict[str, Json] = {
            "dubbo_version": "2.0.2",
            "path": "com.example.order.OrderService",
            "version": "1.0.0",
            "method": "create",
            "parameter_types": "Lcom/example/order/Order;",
            "arguments": [made],
            "attachments": {"interface": "com.example.order.OrderService", "timeout": "3000"},
        }
        response: dict[str, Json] = {
            "result": "value",
            "value": {"$long": number},
            "attachments": {"dubbo": "2.0.2"},
        }
        asked: dict[str, Json] = {"type": "request", **head, "body": request}
        said: dict[str, Json] = {"type": "response", **head, "two_way": False, "status": 20, "body": response}
        found.append((codecs.encode(asked, "dubbo"), codecs.encode(said, "dubbo")))
    return found


def connection(found: list[tuple[bytes, bytes]], seed: int) -> list[bytes]:
    """The frames of a connection; its client's address lies at 26 or 30, by the side that sends."""
    chooser = random.Random(seed)
    client, server = b"\x0a\0\0\1", b"\x0a\xf0\0\1"
    next_ = [chooser.randrange(1 << 32), chooser.randrange(1 << 32)]

    def frame(side: int, flags: int, data: bytes = b"") -> bytes:
        ports = (40000, 20880) if side == 0 else (20880, 40000)
        ends = client + server if side == 0 else server + client
        words = (next_[side] & 0xFFFFFFFF, next_[1 - side] & 0xFFFFFFFF)
        segment = struct.pack(">HHIIHHHH", *ports, *words, 0x5000 | flags, 8192, 0, 0) + data
        next_[side] += len(data) + (flags & 3 != 0)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 1, 0x4000, 64, 6, 0) + ends
        return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + segment

    frames = [frame(0, 2), frame(1, 0x12), frame(0, 0x10)]
    for request, response in chooser.choices(found, k=CALLS):
        for side, data in ((0, request), (1, response)):
            frames += [frame(side, 0x18, data[at : at + SEGMENT]) for at in range(0, len(data), SEGMENT)]
    return [*frames, frame(0, 0x11), frame(1, 0x11), frame(0, 0x10)]


def records(size: int) -> Iterator[bytes]:
    """Records of a pcap file, about `size` bytes: connections side by side, each of another client."""
    found = calls()
    templates = [connection(found, seed) for seed in range(20)]
    written = number = clock = 0
    while written < size:
        group = [
            (templates[(number + at) % 20], struct.pack(">I", 0x0A000001 + number + at))
            for at in range(AT_A_TIME)
        ]
        number += AT_A_TIME
        for place in range(max(len(template) for template, _ in group)):
            for template, address in group:
                if place < len(template):
                    frame = template[place]
                    at = 30 if frame[26:28] == b"\x0a\xf0" else 26
                    frame = frame[:at] + address + frame[at + 4 :]
                    clock += 50
                    head = struct.pack(
                        "<IIII", 1_700_000_000 + clock // 1_000_000, clock % 1_000_000, len(frame), len(frame)
                    )
                    written += 16 + len(frame)
                    yield head + frame


def make(folder: Path, size: int, files: int) -> int:
    """Write captures of together about `size` bytes; how many bytes they are."""
    folder.mkdir(parents=True)
    total = 0
    source = records(size)
    for number in range(files):
        with (folder / f"{number:03d}.pcap").open("wb") as file:
            file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
            while file.tell() < size // files or number == files - 1:
                record = next(source, b"")
                if not record:
                    break
                file.write(record)
            total += file.tell()
    return total


def convert(spark: Any, folder: Path, target: Path) -> dict[str, Any]:
    """Convert a folder; what it took."""
    from wirelens.cli.bulk.job import Job, JobOptions

    shutil.rmtree(target, ignore_errors=True)
    job = Job(JobOptions([str(folder)], str(target)))
    try:
        began, before = time.monotonic(), processor_time()
        job.inspect()
        report = job.work(spark)
        seconds, processor = time.monotonic() - began, processor_time() - before
    finally:
        job.run.end()
    cores = spark.sparkContext.defaultParallelism
    reading = read_again(job.ranges, target.parent / "side")
    return {
        "bytes": report.read,
        "packets": report.packets,
        "rows": report.messages,
        "seconds": round(seconds, 2),
        "processor": round(processor, 2),
        "reading": round(reading, 2),
        "decoding": round(report.decoding_seconds, 2),
        "spark_share": round(1 - (reading + report.decoding_seconds) / (cores * seconds), 3),
    }


def read_again(ranges: Sequence[Range], side: Path) -> float:
    """Seconds of the processor that reading takes, from files to the rows that Spark moves."""
    began = time.process_time()
    for _ in read_ranges(ranges, 8, str(side), final=True, separate=False):
        pass
    return time.process_time() - began


def processor_time() -> float:
    """Seconds of the processor that this process and all that it started have taken; 0 without /proc."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        number = int(stat.parent.name)
        parents[number] = int(fields[1])
        ticks[number] = sum(map(int, fields[11:15]))  # its own and those of children that ended

    def is_own(number: int) -> bool:
        while number > 1 and number != os.getpid():
            number = parents.get(number, 0)
        return number == os.getpid()

    return sum(ticks[number] for number in ticks if is_own(number)) / os.sysconf("SC_CLK_TCK")


def alone(folder: Path) -> tuple[float, float]:
    """Seconds of one process that decodes the files one by one, and those of the processor."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "wirelens.cli.main", "decode", "--format", "jsonl", str(folder)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(time.monotonic() - began, 2), round(processor, 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[10, 100, 1000], help="of the captures, in MB"
    )
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary one by default")
    options = parser.parse_args()
    from wirelens.cli.bulk import session

    work = Path(tempfile.mkdtemp(prefix="wirelens-bench-", dir=options.folder))
    results = []
    try:
        began = time.monotonic()
        spark = session.start(options.master, log=work / "spark.log")
        print(f"session: {time.monotonic() - began:.1f} s", flush=True)
        make(work / "warm", 1_000_000, 1)
        print(f"first job: {convert(spark, work / 'warm', work / 'out')['seconds']} s", flush=True)
        head = ["MB", "rows", "s", "rows/s", "MB/s", "reading s", "decoding s", "Spark", "processor s"]
        if options.alone:
            head += ["alone s", "ratio", "processor s"]
        print("  ".join(f"{name:>10}" for name in head), flush=True)
        for size in options.sizes:
            folder = work / f"in{size}"
            make(folder, size * 1_000_000, options.files)
            others = [alone(folder)] if options.alone else []
            found = convert(spark, folder, work / "out")
            others += [alone(folder)] if options.alone else []
            if others:
                found["alone"], found["alone_processor"] = map(min, zip(*others, strict=True))
            results.append(found)
            seconds, million = found["seconds"], found["bytes"] / 1e6
            cells: list[Any] = [f"{million:.0f}", found["rows"], seconds, f"{found['rows'] / seconds:.0f}"]
            cells += [f"{million / seconds:.1f}", found["reading"], found["decoding"]]
            cells += [f"{found['spark_share']:.0%}", found["processor"]]
            if options.alone:
                cells += [found["alone"], f"{found['alone'] / seconds:.2f}", found["alone_processor"]]
            print("  ".join(f"{cell!s:>10}" for cell in cells), flush=True)
            shutil.rmtree(folder)
        spark.stop()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
