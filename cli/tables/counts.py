"""What is counted while rows are made: bytes of files, messages of protocols, the slowest replies."""

import heapq
from typing import Final

SLOWEST: Final = 10
METHODS: Final = 1000  # of which calls are counted; then the half that is not among the slowest is left out

# What is counted of each file. RAW: bytes of all segments; PAYLOAD: without text on resets. RESUMED: bytes
# that an earlier run left pending. RETRANSMITTED: equal to those that came before. LATE: of records with the
# error "late". FILTERED: of messages that do not match --where. PAYLOAD + RESUMED is
# DECODED + QUARANTINED + UNRECOGNISED + RETRANSMITTED + LATE + FILTERED + PENDING.
RAW: Final = 0
PAYLOAD: Final = 1
RESUMED: Final = 2
DECODED: Final = 3
QUARANTINED: Final = 4
UNRECOGNISED: Final = 5
RETRANSMITTED: Final = 6
LATE: Final = 7
FILTERED: Final = 8
PENDING: Final = 9
MESSAGES: Final = 10
ERRORS: Final = 11
COUNTS: Final = 12


class Counters:
    """What one bucket came to: `files` by the counts above, `protocols` by messages and bytes."""

    def __init__(self) -> None:
        self.files: dict[int, list[int]] = {}
        self.protocols: dict[str, list[int]] = {}
        self.errors: dict[str, int] = {}
        self.slowest: list[tuple[int, str, str]] = []  # latency in microseconds, protocol, summary
        self.methods: dict[
            tuple[str, str], list[int]
        ] = {}  # by protocol and name: calls, their µs, the longest
        self.flows = 0

    def counts(self, file: int) -> list[int]:
        """The counters of a file."""
        counts = self.files.get(file)
        if counts is None:
            counts = self.files[file] = [0] * COUNTS
        return counts

    def error(self, code: str) -> None:
        """Count an error by its code."""
        self.errors[code] = self.errors.get(code, 0) + 1

    def answered(self, protocol: str, name: str, latency_us: int) -> None:
        """Count a call that was answered."""
        found = self.methods.get((protocol, name))
        if found is None:
            if len(self.methods) >= METHODS:
                self.methods = dict(slowest_methods(self.methods, METHODS // 2))
            found = self.methods[protocol, name] = [0, 0, 0]
        found[0] += 1
        found[1] += latency_us
        found[2] = max(found[2], latency_us)

    def is_slow(self, latency_us: int) -> bool:
        """Whether a latency is one of the longest so far."""
        return len(self.slowest) < SLOWEST or latency_us > self.slowest[0][0]

    def latency(self, latency_us: int, protocol: str, summary: str) -> None:
        """Keep a latency if it is one of the longest."""
        if len(self.slowest) < SLOWEST:
            heapq.heappush(self.slowest, (latency_us, protocol, summary[:200]))
        elif latency_us > self.slowest[0][0]:
            heapq.heapreplace(self.slowest, (latency_us, protocol, summary[:200]))


def slowest_methods(
    methods: dict[tuple[str, str], list[int]], count: int
) -> list[tuple[tuple[str, str], list[int]]]:
    """The methods whose longest call took longest."""
    return heapq.nsmallest(count, methods.items(), key=_by_latency)


def _by_latency(item: tuple[tuple[str, str], list[int]]) -> tuple[int, tuple[str, str]]:
    return -item[1][2], item[0]
