"""Two clocks, compared by messages that passed between them: how far one is ahead, and how sure that is.

A message sent at c by the one clock and received at s by the other proves that the difference of the clocks,
theta = the other one's time - this one's, was at most s - c; one sent back at s and received at c proves that
it was at least s - c. Nothing else is known without assuming something, and nothing else is used. Lines
a + b * time that keep to all such bounds are a convex polygon in (a, b); theta lies between the least and the
greatest line. Sources: Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew from Network Delay
Measurements" (1999); Zhang, Liu, Xia, "Clock Synchronization Algorithms for Network Measurements" (2002).
"""

from array import array
from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

RATE: Final = 500e-6  # clocks differ in rate by at most this
SLACK_US: Final = 2.0  # of a bound, as times are rounded
REACH_US: Final = 1e9  # bounds of one window differ by less than this
WINDOW_US: Final = 10_000_000  # one line holds for this long; bounds are taken from twice as long
LEAST: Final = 8  # bounds of each direction that a window takes at least, if there are as many
RECENT: Final = 12  # if STEP of this many bounds in a row contradict those before, a clock was set
STEP: Final = 4
ROUNDING_US: Final = 1.0  # part of every uncertainty


class Estimate(NamedTuple):
    """How far the second clock is ahead of the first at some time, and how sure that is, in microseconds."""

    theta_us: float
    uncertainty_us: float


class Polygon:
    """The lines a + b * time that keep to the bounds so far; times in seconds, values in microseconds.

    `corners`: (a, b) of each, in order around it.
    """

    def __init__(self) -> None:
        self.corners: list[tuple[float, float]] = [
            (-REACH_US, -RATE * 1e6),
            (REACH_US, -RATE * 1e6),
            (REACH_US, RATE * 1e6),
            (-REACH_US, RATE * 1e6),
        ]

    def cut(self, time: float, value: float, upper: bool) -> bool:
        """Leave out the lines that break a bound; False, and nothing changes, if all of them do."""
        sign = 1.0 if upper else -1.0
        limit = sign * value + SLACK_US
        corners = self.corners
        over = [sign * (a + b * time) - limit for a, b in corners]
        if max(over) <= 0.0:
            return True
        if min(over) > 0.0:
            return False
        kept: list[tuple[float, float]] = []
        last = len(corners) - 1
        for index, corner in enumerate(corners):
            here, before = over[index], over[last]
            if (here > 0.0) != (before > 0.0):
                part = before / (before - here)
                a, b = corners[last]
                kept.append((a + part * (corner[0] - a), b + part * (corner[1] - b)))
            if here <= 0.0:
                kept.append(corner)
            last = index
        self.corners = kept
        return True

    def between(self, time: float) -> tuple[float, float]:
        """The least and the greatest value at a time."""
        values = [a + b * time for a, b in self.corners]
        return min(values), max(values)

    def rates(self) -> tuple[float, float]:
        """The least and the greatest rate, in millionths."""
        values = [b for _, b in self.corners]
        return min(values), max(values)


class Bounds:
    """Bounds of theta, in the order in which the first clock's side captured them.

    In columns: `orders` (the numbers of packets, or anything that grows with them), `times` on the first
    clock, `values`: s - c (both microseconds), `uppers`: 1 if theta is at most this, 0 if it is at least.
    """

    def __init__(self) -> None:
        self.orders = array("q")
        self.times = array("q")
        self.values = array("q")
        self.uppers = bytearray()

    def __len__(self) -> int:
        return len(self.orders)

    def add(self, order: int, time_us: int, value_us: int, upper: bool) -> None:
        """Add a bound; `sort` puts them in order."""
        self.orders.append(order)
        self.times.append(time_us)
        self.values.append(value_us)
        self.uppers.append(upper)

    def extend(self, others: "Bounds") -> None:
        """Add all those of another."""
        self.orders.extend(others.orders)
        self.times.extend(others.times)
        self.values.extend(others.values)
        self.uppers.extend(others.uppers)

    def sort(self) -> None:
        """Put them in order."""
        orders = self.orders
        if all(orders[index - 1] <= orders[index] for index in range(1, len(orders))):
            return
        places = sorted(range(len(orders)), key=orders.__getitem__)
        self.orders = array("q", [orders[place] for place in places])
        self.times = array("q", [self.times[place] for place in places])
        self.values = array("q", [self.values[place] for place in places])
        self.uppers = bytearray([self.uppers[place] for place in places])


class Span:
    """Bounds between two steps of a clock: those with the indexes `start` to `stop`.

    `outside`: the indexes of those that contradict the others.
    """

    def __init__(self, bounds: Bounds, start: int, stop: int, outside: list[int]) -> None:
        self.bounds: Final = bounds
        self.start: Final = start
        self.stop: Final = stop
        self.outside: Final = outside
        left_out = set(outside)
        self._indexes = [index for index in range(start, stop) if index not in left_out]
        self._indexes.sort(key=bounds.times.__getitem__)
        self._times = array("q", [bounds.times[index] for index in self._indexes])
        self._uppers = array("q", [0])  # how many of the first n are upper ones
        for index in self._indexes:
            self._uppers.append(self._uppers[-1] + bounds.uppers[index])
        self._base = bounds.values[self._indexes[0]] if self._indexes else 0
        self._windows: dict[int, tuple[int, Polygon]] = {}

    @property
    def first_order(self) -> int:
        """The order of its first bound."""
        return self.bounds.orders[self.start]

    @property
    def last_order(self) -> int:
        """The order of its last bound."""
        return self.bounds.orders[self.stop - 1]

    @property
    def times(self) -> tuple[int, int]:
        """The first and the last time of its bounds, on the first clock."""
        return self._times[0], self._times[-1]

    def between(self, time_us: int) -> tuple[float, float] | None:
        """The least and the greatest theta at a time on the first clock; None if it has no such limits."""
        if not self._times or not 0 < self._uppers[-1] < len(self._times):
            return None
        number = time_us // WINDOW_US
        window = self._windows.get(number)
        if window is None:
            window = self._windows[number] = self._window(number)
        middle, polygon = window
        low, high = polygon.between((time_us - middle) / 1e6)
        return self._base + low, self._base + high

    def _window(self, number: int) -> tuple[int, Polygon]:
        """The middle of a window and its polygon."""
        middle = number * WINDOW_US + WINDOW_US // 2
        half = WINDOW_US
        count = len(self._times)
        while True:
            first = bisect_left(self._times, middle - half)
            last = bisect_right(self._times, middle + half)
            upper = self._uppers[last] - self._uppers[first]
            if (upper >= LEAST and last - first - upper >= LEAST) or last - first == count:
                break
            half *= 2
        polygon = Polygon()
        bounds = self.bounds
        for index in self._indexes[first:last]:
            time = (bounds.times[index] - middle) / 1e6
            polygon.cut(time, float(bounds.values[index] - self._base), bounds.uppers[index] != 0)
        return middle, polygon

    def rates(self) -> tuple[float, float]:
        """The least and the greatest rate at which theta can have grown over the whole, in millionths."""
        start, end = self.times
        first, last = self.between(start), self.between(end)
        if first is None or last is None:
            return -RATE * 1e6, RATE * 1e6
        if end - start <= 2 * WINDOW_US:
            return self._window((start + end) // 2 // WINDOW_US)[1].rates()
        passed = (end - start) / 1e6
        return (last[0] - first[1]) / passed, (last[1] - first[0]) / passed


def spans(bounds: Bounds) -> list[Span]:
    """Sorted bounds, cut where a clock was set."""
    found: list[Span] = []
    start = 0
    while start < len(bounds):
        stop, outside = _until_step(bounds, start)
        found.append(Span(bounds, start, stop, outside))
        start = stop
    return found


def _until_step(bounds: Bounds, start: int) -> tuple[int, list[int]]:
    """Where the bounds from `start` on stop to fit together, and those before that do not fit."""
    base = bounds.values[start]
    zero = bounds.times[start]
    older = Polygon()
    newer = Polygon()
    since = zero  # when the newer one began
    uppers = lowers = 0  # in the newer one
    outside: list[int] = []
    for index in range(start, len(bounds)):
        now = bounds.times[index]
        upper = bounds.uppers[index] != 0
        value = float(bounds.values[index] - base)
        if now - since >= WINDOW_US and uppers >= LEAST and lowers >= LEAST:
            older = newer
            newer = Polygon()
            since = now
            uppers = lowers = 0
        time = (now - zero) / 1e6
        if older.cut(time, value, upper):
            newer.cut(time, value, upper)
            if upper:
                uppers += 1
            else:
                lowers += 1
            continue
        outside.append(index)
        recent = outside[-STEP:]
        if len(recent) == STEP and recent[0] > index - RECENT:
            return recent[0], outside[:-STEP]
    return len(bounds), outside


class Clocks:
    """Two clocks, by all bounds on them.

    `least_us`: the least time that a request and its reply took on the way together.
    """

    def __init__(self, bounds: Bounds, least_us: int) -> None:
        bounds.sort()
        self.bounds: Final = bounds
        self.least_us: Final = least_us
        self.spans: Final = spans(bounds)
        self._firsts: Final = [span.first_order for span in self.spans]

    def span(self, first_order: int, last_order: int) -> Span | None:
        """The span in which both orders lie; None where a clock was set between or near them."""
        if not self.spans:
            return None
        number = max(bisect_right(self._firsts, first_order) - 1, 0)
        span = self.spans[number]
        ends_later = number < len(self.spans) - 1
        return None if ends_later and last_order > span.last_order else span

    def estimate(self, span: Span, time_us: int) -> Estimate | None:
        """Theta at a time on the first clock."""
        limits = span.between(time_us)
        if limits is None:
            return None
        low, high = limits
        half = max((high - low) / 2, self.least_us / 2)
        return Estimate((low + high) / 2, ROUNDING_US + half)

    @property
    def outside(self) -> int:
        """How many bounds contradict those around them."""
        return sum([len(span.outside) for span in self.spans])

    def rates(self) -> tuple[float, float]:
        """The least and the greatest difference in rate between steps, in millionths."""
        found = [span.rates() for span in self.spans]
        return min([low for low, _ in found]), max([high for _, high in found])

    def contradicted(self, bounds: Bounds) -> tuple[int, int]:
        """How many of other bounds these clocks contradict, and how many are from times that they know."""
        count = 0
        known = 0
        for order, time_us, value, upper in zip(
            bounds.orders, bounds.times, bounds.values, bounds.uppers, strict=True
        ):
            span = self.span(order, order)
            limits = None if span is None else span.between(time_us)
            if span is None or limits is None or not span.first_order <= order <= span.last_order:
                continue
            known += 1
            low, high = limits
            if (upper and value + SLACK_US < low) or (not upper and value - SLACK_US > high):
                count += 1
        return count, known
