"""Bounds on the difference of two clocks: what is true stays inside, drift and steps are followed."""

import random
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.clocks import WINDOW_US, Bounds, Clocks, Polygon

SECOND = 1_000_000


class World:
    """Calls between two clocks; `theta` is the true difference at a time on the first clock."""

    def __init__(self, seed: int, offset: int, ppm: float, trip: int, queue: int) -> None:
        self.chooser = random.Random(seed)
        self.offset = offset
        self.ppm = ppm
        self.trip = trip
        self.queue = queue
        self.steps: list[tuple[int, int]] = []
        self.bounds = Bounds()
        self.least = 1 << 60
        self.order = 0

    def theta(self, time_us: float) -> float:
        stepped = sum([size for at, size in self.steps if time_us >= at])
        return self.offset + stepped + time_us * self.ppm / 1e6

    def call(self, time_us: int) -> None:
        there = self.trip // 2 + self.chooser.randint(0, self.queue)
        back = self.trip // 2 + self.chooser.randint(0, self.queue)
        work = self.chooser.randint(100, 5000)
        self.bounds.add(self.order, time_us, round(there + self.theta(time_us + there)), True)
        replied = time_us + there + work + back
        self.bounds.add(self.order + 1, replied, round(self.theta(time_us + there + work) - back), False)
        self.order += 2
        self.least = min(self.least, there + back)

    def run(self, calls: int, apart: int) -> Clocks:
        for number in range(calls):
            self.call(number * apart)
        return Clocks(self.bounds, self.least)


def inside(world: World, clocks: Clocks, calls: int, apart: int) -> float:
    right = 0
    given_ones = 0
    for number in range(calls):
        span = clocks.span(2 * number, 2 * number + 1)
        found = None if span is None else clocks.estimate(span, number * apart)
        if found is not None:
            given_ones += 1
            right += abs(found.theta_us - world.theta(number * apart)) <= found.uncertainty_us
    assert given_ones >= 0.9 * calls
    return right / given_ones


def test_a_polygon_is_cut() -> None:
    polygon = Polygon()
    assert polygon.cut(0.0, 100.0, True)
    assert polygon.cut(0.0, 40.0, False)
    low, high = polygon.between(0.0)
    assert (round(low), round(high)) == (38, 102)  # with the slack
    corners = list(polygon.corners)
    assert not polygon.cut(0.0, 20.0, True)
    assert polygon.corners == corners
    assert polygon.cut(10.0, 100.0, True)
    assert polygon.rates()[1] < 10


@given(
    st.integers(0, 1 << 30),
    st.integers(-4 * 3600 * SECOND, 4 * 3600 * SECOND),
    st.floats(-100, 100),
    st.integers(100, 80_000),
    st.integers(0, 20_000),
)
def test_the_truth_is_inside(seed: int, offset: int, ppm: float, trip: int, queue: int) -> None:
    world = World(seed, offset, ppm, trip, queue)
    clocks = world.run(60, 700_000)
    assert len(clocks.spans) == 1
    assert clocks.outside == 0
    low, high = clocks.rates()
    assert low - 0.2 <= ppm <= high + 0.2
    span = clocks.spans[0]
    for number in range(60):
        at = number * 700_000
        limits = span.between(at)
        assert limits is not None
        slack = 3 + abs(ppm) * 0.1  # theta is bounded where the other clock read it, some ms later
        assert limits[0] - slack <= world.theta(at) <= limits[1] + slack


def test_uncertainty_is_half_the_round_trip_of_the_path() -> None:
    world = World(1, 37_500_000, 0.0, 4000, 3000)
    clocks = world.run(500, 100_000)
    found = clocks.estimate(clocks.spans[0], 25 * SECOND)
    assert found is not None
    assert abs(found.theta_us - 37_500_000) < 300
    assert 2000 <= found.uncertainty_us <= 2500


@pytest.mark.parametrize("step", [30_000, -30_000, 5_000_000])
def test_a_clock_that_is_set(step: int) -> None:
    world = World(2, 0, 20.0, 2000, 1000)
    world.steps = [(20 * SECOND + 1234, step)]
    clocks = world.run(400, 100_000)
    assert len(clocks.spans) == 2
    assert inside(world, clocks, 400, 100_000) > 0.995
    first, second = clocks.spans
    assert first.times[1] <= 20 * SECOND + 20_000 <= second.times[0] + 120_000
    assert clocks.span(first.last_order - 1, second.first_order + 1) is None


def test_a_bound_that_contradicts_the_others_is_left_out() -> None:
    world = World(3, 1000, 0.0, 2000, 100)
    for number in range(50):
        world.call(number * 100_000)
    world.bounds.add(41, 2_050_000, 1000 - 500_000, True)
    clocks = Clocks(world.bounds, world.least)
    assert len(clocks.spans) == 1
    assert clocks.outside == 1
    found = clocks.estimate(clocks.spans[0], 2_050_000)
    assert found is not None
    assert abs(found.theta_us - 1000) < 200


def test_a_rate_that_wanders_is_followed() -> None:
    world = World(4, 0, 0.0, 300, 200)
    chooser = random.Random(5)
    drift = [0.0]
    rate = 0.0
    for _ in range(3600):
        rate = min(1.0, max(-1.0, rate + chooser.uniform(-0.1, 0.1)))
        drift.append(drift[-1] + rate)

    def theta(time_us: float) -> float:
        second, part = divmod(time_us / 1e6, 1)
        at = int(second)
        return drift[at] + (drift[min(at + 1, 3600)] - drift[at]) * part

    world.theta = theta  # type: ignore[method-assign]
    calls = 3500 * 4
    clocks = world.run(calls, 250_000)
    assert len(clocks.spans) == 1
    assert inside(world, clocks, calls, 250_000) == 1.0


def test_bounds_of_one_direction_say_nothing() -> None:
    bounds = Bounds()
    for number in range(20):
        bounds.add(number, number * 1000, 500, True)
    clocks = Clocks(bounds, 1000)
    assert clocks.estimate(clocks.spans[0], 5000) is None
    assert Clocks(Bounds(), 0).span(0, 1) is None


def test_windows_are_widened_until_there_are_enough_bounds() -> None:
    world = World(6, 500, 0.0, 2000, 1000)
    clocks = world.run(40, 7 * WINDOW_US)
    found = clocks.estimate(clocks.spans[0], 100 * WINDOW_US)
    assert found is not None
    assert found.uncertainty_us < 2500


def test_contradictions_of_other_bounds() -> None:
    clocks = World(7, 9000, 0.0, 2000, 300).run(50, 100_000)
    same = World(8, 9000, 0.0, 2000, 300)
    other = World(9, 99_000, 0.0, 2000, 300)
    same.run(50, 100_000)
    other.run(50, 100_000)
    assert clocks.contradicted(same.bounds) == (0, 100)
    assert clocks.contradicted(other.bounds) == (50, 100)
    other.bounds.orders = array("q", range(1000, 1100))
    assert clocks.contradicted(other.bounds) == (0, 0)


def test_bounds_are_put_in_order() -> None:
    world = World(10, 0, 0.0, 2000, 300)
    world.run(20, 100_000)
    mixed = Bounds()
    indexes = list(range(len(world.bounds)))
    random.Random(1).shuffle(indexes)
    for index in indexes:
        bounds = world.bounds
        mixed.add(bounds.orders[index], bounds.times[index], bounds.values[index], bool(bounds.uppers[index]))
    assert list(mixed.ordered()) == list(world.bounds.ordered())
    both = Bounds()
    both.extend(mixed)
    assert len(both) == 40
