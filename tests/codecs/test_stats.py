"""Statistics of calls: percentiles by their definition, sketches within their error, groups and bounds."""

import math
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.call import Call
from wirelens.codecs.latencies import ALPHA, Latencies, bin_of
from wirelens.codecs.stats import DIMENSIONS, REST, Group, Statistics

PERCENTS = (1, 50, 90, 95, 99, 100)
MICROSECONDS = st.integers(0, 1 << 50)


def by_definition(values: list[int], percent: int) -> int:
    """The smallest value that at least this percent of the values do not exceed."""
    for value in sorted(values):
        if 100 * sum(other <= value for other in values) >= percent * len(values):
            return value
    raise AssertionError


def counted(values: list[int], sketch: bool = False) -> Latencies:
    latencies = Latencies()
    if sketch:
        latencies.sketch()
    for value in values:
        latencies.add(value)
    return latencies


@given(st.lists(MICROSECONDS | st.integers(0, 5), min_size=1, max_size=60))
def test_percentiles_are_those_of_the_definition(values: list[int]) -> None:
    latencies = counted(values)
    assert latencies.percentiles(PERCENTS) == [by_definition(values, percent) for percent in PERCENTS]
    assert (latencies.count, latencies.most, latencies.least) == (len(values), max(values), min(values))
    assert latencies.mean_seconds == sum(values) / (len(values) * 1_000_000)
    assert latencies.exact


def test_rank_of_every_number_of_values() -> None:
    for number in range(1, 400):
        latencies = counted(list(range(1, number + 1)))
        assert latencies.percentiles(PERCENTS) == [
            max(1, -(-percent * number // 100)) for percent in PERCENTS
        ]


@given(st.lists(MICROSECONDS, min_size=1, max_size=60))
def test_a_sketch_is_within_its_error(values: list[int]) -> None:
    exact = counted(values).percentiles(PERCENTS)
    before = counted(values, sketch=True)
    after = counted(values)
    after.sketch()
    assert not before.exact
    assert before.percentiles(PERCENTS) == after.percentiles(PERCENTS)
    for found, wanted in zip(before.percentiles(PERCENTS), exact, strict=True):
        assert abs(found - wanted) <= ALPHA * wanted * (1 + 1e-9) + 0.5
    assert before.most == max(values)
    assert before.mean_seconds == counted(values).mean_seconds


@given(st.lists(MICROSECONDS, max_size=30), st.lists(MICROSECONDS, max_size=30), st.booleans(), st.booleans())
def test_parts_add_up(first: list[int], second: list[int], sketched: bool, other: bool) -> None:
    whole = counted(first, sketched)
    whole.merge(counted(second, other))
    if not first + second:
        with pytest.raises(ValueError, match="no latencies"):
            whole.percentiles(PERCENTS)
        return
    together = counted(first + second)
    if not whole.exact:
        together.sketch()
    assert whole.percentiles(PERCENTS) == together.percentiles(PERCENTS)
    assert (whole.count, whole.total, whole.most, whole.least) == (
        together.count,
        together.total,
        together.most,
        together.least,
    )


def test_a_sketch_of_many_shapes_is_small_and_right() -> None:
    chance = random.Random(5)
    shapes = {
        "log-normal": [int(math.exp(chance.gauss(9, 1.5))) for _ in range(20_000)],
        "bimodal": [int(abs(chance.gauss(chance.choice((800, 400_000)), 90))) for _ in range(20_000)],
        "Pareto": [int(100 * chance.paretovariate(0.7)) for _ in range(20_000)],
    }
    for values in shapes.values():
        latencies = counted(values, sketch=True)
        assert latencies.entries <= 2048
        values.sort()
        for percent, found in zip(PERCENTS, latencies.percentiles(PERCENTS), strict=True):
            wanted = values[-(-percent * len(values) // 100) - 1]
            assert abs(found - wanted) <= ALPHA * wanted + 0.5


@given(st.integers(1, 1 << 50))
def test_bins_ascend(value: int) -> None:
    assert bin_of(value) <= bin_of(value + 1)
    assert bin_of(0) < bin_of(1) == 0


# --- groups -----------------------------------------------------------------------------------------------


def call(**members: Any) -> Call:
    made = Call()
    for name, value in members.items():
        setattr(made, name, value)
    return made


CALLS = st.builds(
    call,
    service=st.sampled_from(["a.A", "b.B", ""]),
    method=st.sampled_from(["x", "y"]),
    client=st.sampled_from(["10.0.0.1:1", "10.0.0.2:1"]),
    server=st.sampled_from(["10.0.0.3:1", "10.0.0.4:1"]),
    outcome=st.sampled_from(["ok", "error", "unanswered", "one-way", "cancelled"]),
    exception=st.sampled_from(["", "x.E"]),
    protocol=st.sampled_from(["dubbo", "bolt"]),
    late=st.sampled_from([None, True, False]),
    latency_us=st.none() | st.integers(0, 5000),
    sent_us=st.integers(1_700_000_000_000_000, 1_700_000_180_000_000),
    request_bytes=st.integers(1, 99),
    response_bytes=st.none() | st.integers(1, 99),
    resent_bytes=st.none() | st.integers(0, 9),
)


@given(
    st.lists(CALLS, max_size=40), st.lists(st.sampled_from(DIMENSIONS), min_size=1, max_size=3, unique=True)
)
def test_groups_are_those_of_the_calls(calls: list[Call], by: list[str]) -> None:
    statistics = Statistics(tuple(by))
    for one in calls:
        statistics.add(one)
    groups = statistics.all_groups()
    assert sum(group.calls for group in groups) == len(calls)
    assert [(-group.calls, group.key) for group in groups] == sorted(
        (-group.calls, group.key) for group in groups
    )
    for group in groups:
        own = [one for one in calls if names(one, by) == group.key]
        outcomes = Counter(one.outcome for one in own)
        assert (
            group.calls
            == len(own)
            == group.ok + group.error + group.unanswered + group.one_way + group.cancelled
        )
        assert (group.ok, group.error) == (outcomes["ok"], outcomes["error"])
        assert (group.unanswered, group.one_way) == (outcomes["unanswered"], outcomes["one-way"])
        assert group.late == sum(one.late is True for one in own)
        assert group.request_bytes == sum(one.request_bytes or 0 for one in own)
        assert group.response_bytes == sum(one.response_bytes or 0 for one in own)
        assert group.resent_bytes == sum(one.resent_bytes or 0 for one in own)
        latencies = [one.latency_us for one in own if one.latency_us is not None]
        assert group.latencies.count == len(latencies)
        if latencies:
            assert group.latencies.percentiles((50,)) == [by_definition(latencies, 50)]
    whole = statistics.whole()
    assert (whole.calls, whole.late) == (len(calls), sum(one.late is True for one in calls))


def names(one: Call, by: list[str]) -> tuple[str, ...]:
    minutes = {0: "2023-11-14T22:13Z", 1: "2023-11-14T22:14Z", 2: "2023-11-14T22:15Z", 3: "2023-11-14T22:16Z"}
    first = 1_699_999_980_000_000  # 22:13:00
    minute = minutes[((one.sent_us or 0) - first) // 60_000_000]
    return tuple(minute if name == "minute" else getattr(one, name) for name in by)


def test_groups_beyond_the_bound_are_one() -> None:
    statistics = Statistics(("method",), most_groups=3)
    for number in range(10):
        for _ in range(10 - number):
            statistics.add(call(method=f"m{number}", outcome="ok", latency_us=number))
    assert [(group.key, group.calls) for group in statistics.all_groups()] == [
        (("m0",), 10),
        (("m1",), 9),
        (("m2",), 8),
        ((REST,), 28),
    ]


def test_the_largest_group_becomes_a_sketch_beyond_the_bound() -> None:
    statistics = Statistics(("method",), most_values=3000)
    for number in range(9000):
        statistics.add(
            call(method="few" if number % 9 == 0 else "many", outcome="ok", latency_us=1000 + number)
        )
    many, few = statistics.all_groups()
    assert (many.latencies.exact, few.latencies.exact) == (False, True)
    assert many.latencies.most == 9999
    whole = statistics.whole()
    assert not whole.latencies.exact
    assert abs(whole.latencies.percentiles((50,))[0] - 5500) <= ALPHA * 5500 + 1


def test_an_empty_group_has_no_latencies() -> None:
    group = Group(("x",))
    group.add(call(outcome="unanswered"))
    assert (group.latencies.count, group.latencies.most, group.latencies.mean_seconds) == (0, -1, 0.0)
