"""Statistics of calls in groups: counts, latencies, bytes."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.call import CANCELLED, ERROR, OK, UNANSWERED, Call
from wirelens.codecs.latencies import Latencies
from wirelens.codecs.numbers import time_text

DIMENSIONS: Final = ("service", "method", "client", "server", "outcome", "exception", "protocol", "minute")
GROUPS: Final = 100_000  # groups; the calls of others are in one, REST
REST: Final = "…"
VALUES_OF_GROUP: Final = 100_000  # different latencies of a group that are counted exactly,
CALLS_OF_GROUP: Final = 1_000_000  # or latencies, even if more of them differ
ALL_VALUES: Final = 4_000_000  # those of all groups; then the largest becomes a sketch
CHECKED: Final = 1 << 12  # calls between looks at these bounds
MINUTE_US: Final = 60_000_000
PERCENTS: Final = (50, 90, 95, 99)

Key = tuple[str, ...]


class Group:
    """The calls of a group: how many of each outcome, their latencies, their bytes."""

    def __init__(self, key: Key) -> None:
        self.key: Final = key
        self.calls: i64 = 0
        self.ok: i64 = 0
        self.error: i64 = 0
        self.unanswered: i64 = 0
        self.late: i64 = 0
        self.one_way: i64 = 0
        self.cancelled: i64 = 0
        self.request_bytes: i64 = 0
        self.response_bytes: i64 = 0
        self.resent_bytes: i64 = 0
        self.latencies: Final = Latencies()

    def add(self, call: Call) -> None:
        """Count a call."""
        self.calls += 1
        outcome = call.outcome
        if outcome == OK:
            self.ok += 1
        elif outcome == ERROR:
            self.error += 1
        elif outcome == UNANSWERED:
            self.unanswered += 1
        elif outcome == CANCELLED:
            self.cancelled += 1
        else:
            self.one_way += 1
        if call.late:
            self.late += 1
        latency = call.latency_us
        if latency is not None:
            self.latencies.add(latency)
        size = call.request_bytes
        if size is not None:
            self.request_bytes += size
        size = call.response_bytes
        if size is not None:
            self.response_bytes += size
        size = call.resent_bytes
        if size is not None:
            self.resent_bytes += size

    def merge(self, other: "Group") -> None:
        """Add all calls of another."""
        self.calls += other.calls
        self.ok += other.ok
        self.error += other.error
        self.unanswered += other.unanswered
        self.late += other.late
        self.one_way += other.one_way
        self.cancelled += other.cancelled
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.resent_bytes += other.resent_bytes
        self.latencies.merge(other.latencies)


class Statistics:
    """Groups of calls by DIMENSIONS. `rest`: the calls of groups beyond the bound, None without any."""

    def __init__(self, by: tuple[str, ...], most_groups: int = GROUPS, most_values: int = ALL_VALUES) -> None:
        self.by: Final = by
        self.groups: Final[dict[Key, Group]] = {}
        self.rest: Group | None = None
        self.calls: i64 = 0
        self._most_groups: Final[i64] = most_groups
        self._most_values: Final[i64] = most_values
        self._unchecked: i64 = 0
        self._usual: Final = by == ("service", "method")

    def add(self, call: Call) -> None:
        """Count a call in its group."""
        self.calls += 1
        key = self._key(call)
        group = self.groups.get(key)
        if group is None:
            group = self._begin(key)
        group.add(call)
        self._unchecked += 1
        if self._unchecked >= CHECKED and self._unchecked >= len(self.groups):
            self._unchecked = 0
            self._check()

    def add_all(self, calls: list[Call]) -> None:
        """Count calls, each in its group."""
        for call in calls:
            self.add(call)

    def all_groups(self) -> list[Group]:
        """All groups: most calls first, then by name; `rest` last."""
        groups = sorted(self.groups.values(), key=_order)
        return groups if self.rest is None else [*groups, self.rest]

    def whole(self) -> Group:
        """All calls in one group."""
        whole = Group(())
        for group in self.all_groups():
            whole.merge(group)
        return whole

    def _key(self, call: Call) -> Key:
        """The names of a call's group."""
        if self._usual:
            return (call.service, call.method)
        return group_names(call, self.by)

    def _begin(self, key: Key) -> Group:
        if len(self.groups) < self._most_groups:
            group = self.groups[key] = Group(key)
            return group
        if self.rest is None:
            self.rest = Group(tuple([REST for _ in self.by]))
        return self.rest

    def _check(self) -> None:
        """Let groups with too many different latencies become sketches."""
        entries: i64 = 0
        exact: list[Latencies] = []
        for group in self.all_groups() if self.rest is not None else self.groups.values():
            latencies = group.latencies
            if latencies.exact:
                size: i64 = latencies.entries
                if size > VALUES_OF_GROUP and latencies.count > CALLS_OF_GROUP:
                    latencies.sketch()
                else:
                    exact.append(latencies)
            entries += latencies.entries
        while entries > self._most_values and exact:
            largest = exact[0]
            for latencies in exact:
                if latencies.entries > largest.entries:
                    largest = latencies
            entries -= largest.entries
            largest.sketch()
            entries += largest.entries
            exact.remove(largest)


def group_names(call: Call, by: tuple[str, ...]) -> Key:
    """The names of a call's group; "" for what it has not."""
    return tuple([_name(call, dimension) for dimension in by])


def _name(call: Call, dimension: str) -> str:
    """A call's value of a dimension; "" if it has none."""
    if dimension == "service":
        return call.service
    if dimension == "method":
        return call.method
    if dimension == "client":
        return call.client
    if dimension == "server":
        return call.server
    if dimension == "outcome":
        return call.outcome
    if dimension == "exception":
        return call.exception
    if dimension == "protocol":
        return call.protocol
    sent = call.sent_us
    return "" if sent is None else time_text(sent - sent % MINUTE_US)[:16] + "Z"


def _order(group: Group) -> tuple[int, Key]:
    return -int(group.calls), group.key
