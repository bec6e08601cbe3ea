"""What a large conversion would need, computed from constants that were measured on small ones.

    python -m bench.cluster [--terabytes 10] [--files 1e6] [--flows 1e8] [--executors 100] [--cores 4]

A projection, not a run: it shows what limits first. `docs/bulk.md` has its table.
"""

import argparse
from collections.abc import Iterator

MEASURED = {
    "reading": 3.0,  # processor seconds of a core for a GB of captures: packets found and passed on
    "decoding": 12.0,  # likewise, to rows and Parquet (python -m bench.bulk, 1 GB of Dubbo)
    "lz4": 0.9,  # bytes that pass between tasks for each byte of captures
    "file_python": 6800,  # bytes of the driver's Python process for each file (5,000 small files: 34 MB)
    "file_java": 180,  # bytes of results of tasks in the driver's JVM for each file
    "flow_python": 60,  # bytes of the driver's Python process for each new flow, while they are numbered
    "flow_sort": 0.5e-6,  # seconds of the driver for each of them
    "request": 0.03,  # seconds of a request to S3
    "heads": 16,  # files whose first bytes are read at a time
    "long": 50.0,  # seconds for a GB of one connection, which one task decodes (500 MB: 25 s)
}

BUCKET_BYTES = 1 << 26
MOST_BUCKETS = 4096
READ_BYTES = 1 << 20  # of a request when captures are read
PARTS = 8  # part files of a bucket: protocols and days of messages and calls, quarantine, connections
REQUESTS_OF_A_PART = 8  # written, read and written with the numbers of flows, moved


def projection(size: float, files: float, flows: float, executors: int, cores: int) -> dict[str, float]:
    """What a conversion of `size` bytes would take; seconds, bytes and numbers."""
    known = MEASURED
    gigabytes = size / 1e9
    slots = executors * cores
    buckets = min(MOST_BUCKETS, max(1, size / BUCKET_BYTES))
    waves = -(-buckets // slots)
    return {
        "tasks": buckets,
        "packets of a task": size / buckets,
        "longest ordinary task": gigabytes / buckets * known["decoding"],
        "reading": gigabytes * known["reading"] / slots,
        "decoding": waves * gigabytes / buckets * known["decoding"],
        "shuffle of an executor": size * known["lz4"] / executors,
        "looking at the files": 2 * files * known["request"] / known["heads"],
        "numbering flows": flows * known["flow_sort"],
        "driver, Python": files * known["file_python"] + flows * known["flow_python"],
        "driver, Java": files * known["file_java"],
        "requests for reading": 2 * files + size / READ_BYTES,
        "requests for writing": buckets * PARTS * REQUESTS_OF_A_PART,
        "a connection of 10 GB": 10 * known["long"],
    }


def shown(name: str, value: float) -> str:
    """A value with its unit."""
    if name in ("tasks", "requests for reading", "requests for writing"):
        return f"{value:,.0f}"
    if name in ("packets of a task", "shuffle of an executor", "driver, Python", "driver, Java"):
        return f"{value / 1e9:,.1f} GB"
    return f"{value / 60:,.1f} min" if value >= 60 else f"{value:,.0f} s"


def lines(found: dict[str, float]) -> Iterator[str]:
    """The table, in Markdown."""
    yield "| | |"
    yield "|---|---|"
    for name, value in found.items():
        yield f"| {name} | {shown(name, value)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--terabytes", type=float, default=10)
    parser.add_argument("--files", type=float, default=1e6)
    parser.add_argument("--flows", type=float, default=1e8)
    parser.add_argument("--executors", type=int, default=100)
    parser.add_argument("--cores", type=int, default=4)
    given = parser.parse_args()
    found = projection(given.terabytes * 1e12, given.files, given.flows, given.executors, given.cores)
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
