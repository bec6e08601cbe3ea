"""What tasks report to the driver: accounts of ranges, inputs and buckets.

They cross processes as JSON (`plain_json.dumps`); the `load_…` functions make them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wirelens.cli.bulk.plan import load_state
from wirelens.codecs.captures import State


class Problem(NamedTuple):
    """Something wrong with a file or its packets; `offset` in bytes of the file."""

    code: str
    offset: int
    text: str


@dataclass
class RangeAccount:
    """What was read of one range of a capture.

    read, raw: bytes in the range, and those of all its segments. end, state: where reading stopped, and the
    reader's state there (None if no other reader can continue). time, first_us, last_us: microseconds; the
    latest time of the file so far, the first and the latest of the range, -1 without packets.
    ignored: packets without a segment, by reason.
    """

    file: int
    place: int
    read: int
    raw: int
    end: int
    state: State | None
    time: int
    packets: int
    first_us: int
    last_us: int
    compressed: bool
    damages: int
    problems: list[Problem] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)


@dataclass
class InputAccount:
    """What was read of an input that one task reads whole. Sizes in bytes, after unpacking.

    status: "done", or why reading stopped. refused: why nothing was decoded, or "". container: as in the
    ledger. packets: None if the input is not a capture. ignored: as of a range.
    """

    file: int
    read: int = 0
    payload: int = 0
    retransmitted: int = 0
    flows: int = 0
    packets: int | None = None
    container: str = ""
    compressed: bool = False
    status: str = "done"
    refused: str = ""
    problems: list[Problem] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)


class Part(NamedTuple):
    """A file that a task wrote: the table it belongs to, its path in the target folder, rows, bytes on disk.

    first_time, last_time: of its rows, microseconds, -1 without any.
    """

    table: str
    path: str
    rows: int
    size: int = 0
    first_time: int = -1
    last_time: int = -1


@dataclass
class BucketAccount:
    """What became of the flows and inputs of one bucket.

    seconds: of the processor. counted: files that the bucket has counts of, see counting.py. protocols:
    messages and bytes. slowest: latency (µs), protocol and summary. methods: protocol, name, then calls that
    were answered, the sum of their latencies and the longest. fragments: IP fragments kept for the next run.
    contradictions: the numbers of two files with different bytes at the same place of a stream.
    ignored: packets of datagrams that stayed incomplete over all ranges, by reason.
    """

    bucket: int
    seconds: float
    flows: int
    parts: list[Part]
    counted: int
    ranges: list[RangeAccount]
    inputs: list[InputAccount]
    protocols: dict[str, list[int]]
    errors: dict[str, int]
    slowest: list[tuple[int, str, str]]
    methods: list[tuple[str, str, list[int]]]
    fragments: list[Any]
    contradictions: list[tuple[int, int]] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)


def load_range_account(plain: dict[str, Any]) -> RangeAccount:
    """The account that became `plain` in JSON."""
    account = RangeAccount(**plain)
    if account.state is not None:
        account.state = load_state(account.state)
    account.problems = [Problem(*values) for values in account.problems]
    return account


def load_input_account(plain: dict[str, Any]) -> InputAccount:
    """The account that became `plain` in JSON."""
    account = InputAccount(**plain)
    account.problems = [Problem(*values) for values in account.problems]
    return account


def load_bucket_account(plain: dict[str, Any]) -> BucketAccount:
    """The account that became `plain` in JSON."""
    account = BucketAccount(**plain)
    account.parts = [Part(*values) for values in account.parts]
    account.ranges = [load_range_account(values) for values in plain["ranges"]]
    account.inputs = [load_input_account(values) for values in plain["inputs"]]
    account.methods = [(protocol, name, list(sums)) for protocol, name, sums in account.methods]
    account.contradictions = [(first, second) for first, second in account.contradictions]
    account.slowest = [(latency_us, protocol, summary) for latency_us, protocol, summary in account.slowest]
    return account
