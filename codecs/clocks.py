"""Two clocks, compared by messages that passed between them: how far one is ahead, and how sure that is.

A message sent at c by the one clock and received at s by the other proves that the difference of the clocks,
theta = the other one's time - this one's, was at most s - c; one sent back at s and received at c proves that
it was at least s - c. Nothing else is known without assuming something, and nothing else is used. Lines
a + b * time that keep to all such bounds are a convex polygon in (a, b); theta lies between the least and the
greatest line. Sources: Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew from Network Delay
Measurements" (1999); Zhang, Liu, Xia, "Clock Synchronization Algorithms for Network Measurements" (2002).
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import deque
from heapq import merge
from itertools import chain, islice
from operator import itemgetter
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    Spill = Callable[[], BinaryIO]  # makes a temporary file
    Bound = tuple[int, int, int, int]  # order, time, value, upper

RATE: Final = 500e-6  # clocks differ in rate by at most this
SLACK_US: Final = 2.0  # of a bound, as times are rounded
REACH_US: Final = 1e9  # bounds of one window differ by less than this
WINDOW_US: Final = 10_000_000  # one line holds for this long; bounds are taken from twice as long
LEAST: Final = 8  # bounds of each direction that a window takes at least, if there are as many
RECENT: Final = 12  # if STEP of this many bounds in a row contradict those before, a clock was set
STEP: Final = 4
ROUNDING_US: Final = 1.0  # part of every uncertainty
IN_MEMORY: Final = 1 << 18  # bounds that are sorted in memory, 25 bytes each
READ: Final = 1 << 10  # bounds of a file that are read at a time
BOUND: Final = Struct("<qqqB")
UNSORTED: Final = 128  # numbers of a slot; then those that are implied are dropped
WINDOWS: Final = 64  # polygons that are kept


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
    """Bounds of theta, each with a number that gives their order in the first clock's captures.

    In columns: `orders` (the numbers of packets, or anything that grows with them), `times` on the first
    clock, `values`: s - c (both microseconds), `uppers`: 1 if theta is at most this, 0 if it is at least.
    If there are many, they go to a file that `spill` makes, if it is given.
    """

    def __init__(self, spill: "Spill | None" = None) -> None:
        self.orders = array("q")
        self.times = array("q")
        self.values = array("q")
        self.uppers = bytearray()
        self._spill: Final = spill
        self._file: BinaryIO | None = None
        self._runs: list[tuple[int, int]] = []  # of the file: where they start and end

    def __len__(self) -> int:
        stored = self._runs[-1][1] // BOUND.size if self._runs else 0
        return stored + len(self.orders)

    def add(self, order: int, time_us: int, value_us: int, upper: bool) -> None:
        """Add a bound."""
        self.orders.append(order)
        self.times.append(time_us)
        self.values.append(value_us)
        self.uppers.append(upper)
        if self._spill is not None and len(self.orders) >= IN_MEMORY:
            self._store(self._spill)

    def extend(self, others: "Bounds") -> None:
        """Add all those of another."""
        for order, time_us, value_us, upper in others.ordered():
            self.add(order, time_us, value_us, upper != 0)

    def ordered(self) -> "Iterator[Bound]":
        """All of them, in order; until the end no others are added."""
        columns = (self.orders, self.times, self.values, self.uppers)
        orders = self.orders
        if any(orders[index - 1] > orders[index] for index in range(1, len(orders))):
            places = sorted(range(len(orders)), key=orders.__getitem__)
            rest = zip(*[map(column.__getitem__, places) for column in columns], strict=True)
        else:
            rest = zip(*columns, strict=True)
        if not self._runs:
            return rest
        return merge(*[self._read(start, end) for start, end in self._runs], rest, key=itemgetter(0))

    def _store(self, spill: "Spill") -> None:
        """Write those in memory to the file, in order."""
        if self._file is None:
            self._file = spill()
        runs, self._runs = self._runs, []
        ordered = self.ordered()
        self._runs = runs
        start = runs[-1][1] if runs else 0
        self._file.seek(start)
        for bound in ordered:
            self._file.write(BOUND.pack(*bound))
        runs.append((start, self._file.tell()))
        del self.orders[:], self.times[:], self.values[:], self.uppers[:]

    def _read(self, start: int, end: int) -> "Iterator[Bound]":
        """The bounds of a run."""
        assert self._file is not None
        for at in range(start, end, READ * BOUND.size):
            self._file.seek(at)
            yield from BOUND.iter_unpack(self._file.read(min(READ * BOUND.size, end - at)))


class Slot:
    """The bounds of a time: those that no others of it imply, as time and value; how many there were."""

    def __init__(self) -> None:
        self.uppers = array("q")
        self.lowers = array("q")
        self.upper_count = 0
        self.lower_count = 0

    def add(self, time_us: int, value: int, upper: bool) -> None:
        """Add a bound."""
        if upper:
            self.upper_count += 1
            self.uppers.extend((time_us, value))
            if len(self.uppers) > UNSORTED:
                self.uppers = _hull(self.uppers, 1)
        else:
            self.lower_count += 1
            self.lowers.extend((time_us, value))
            if len(self.lowers) > UNSORTED:
                self.lowers = _hull(self.lowers, -1)

    def points(self) -> list[tuple[int, int, bool]]:
        """What they are, by time."""
        self.settle()
        uppers = [
            (time, value, True) for time, value in zip(self.uppers[::2], self.uppers[1::2], strict=True)
        ]
        lowers = [
            (time, value, False) for time, value in zip(self.lowers[::2], self.lowers[1::2], strict=True)
        ]
        return sorted(uppers + lowers)

    def settle(self) -> None:
        """Keep no more than what is needed."""
        self.uppers = _hull(self.uppers, 1)
        self.lowers = _hull(self.lowers, -1)


def _hull(points: "array[int]", sign: int) -> "array[int]":
    """Of points, those that a line must keep below (sign 1) or above to keep below or above all of them."""
    found: list[tuple[int, int]] = []
    for time, value in sorted(zip(points[::2], [sign * one for one in points[1::2]], strict=True)):
        if found and found[-1][0] == time:
            continue
        while len(found) > 1:
            (before, low), (last, high) = found[-2:]
            if (last - before) * (value - low) > (high - low) * (time - before):
                break
            found.pop()
        found.append((time, value))
    return array("q", chain.from_iterable([(time, sign * value) for time, value in found]))


class Span:
    """Bounds between two steps of a clock, as many as `count`, `outside` of which contradict the others.

    `first_order`, `last_order`: the orders of the first and the last one.
    """

    def __init__(self) -> None:
        self.count = 0
        self.outside = 0
        self.first_order = 0
        self.last_order = 0
        self._first_us = 0
        self._last_us = 0
        self._base = 0
        self._uppers = self._lowers = 0  # of those inside
        self._slots: dict[int, Slot] = {}
        self._slot: Slot | None = None  # of the last bound
        self._number = 0
        self._numbers: list[int] = []  # sorted
        self._windows: dict[int, tuple[int, Polygon]] = {}

    def add(self, bound: "Bound", outside: bool) -> None:
        """Add the next bound."""
        order, time_us, value, upper = bound
        inside = self.count - self.outside
        if not self.count:
            self.first_order = order
        self.last_order = order
        self.count += 1
        if outside:
            self.outside += 1
            return
        if not inside:
            self._base = value
            self._first_us = self._last_us = time_us
        self._first_us = min(self._first_us, time_us)
        self._last_us = max(self._last_us, time_us)
        number = (time_us + WINDOW_US // 2) // WINDOW_US
        slot = self._slot
        if slot is None or number != self._number:
            if slot is not None:
                slot.settle()
            slot = self._slots.get(number)
            if slot is None:
                slot = self._slots[number] = Slot()
                insort(self._numbers, number)
            self._slot = slot
            self._number = number
        if upper:
            self._uppers += 1
        else:
            self._lowers += 1
        slot.add(time_us, value - self._base, upper != 0)

    @property
    def times(self) -> tuple[int, int]:
        """The first and the last time of its bounds, on the first clock."""
        return self._first_us, self._last_us

    def between(self, time_us: int) -> tuple[float, float] | None:
        """The least and the greatest theta at a time on the first clock; None if it has no such limits."""
        if not self._slots or not self._uppers or not self._lowers:
            return None
        number = time_us // WINDOW_US
        window = self._windows.get(number)
        if window is None:
            if len(self._windows) >= WINDOWS:
                self._windows.pop(next(iter(self._windows)))
            window = self._windows[number] = self._window(number)
        middle, polygon = window
        low, high = polygon.between((time_us - middle) / 1e6)
        return self._base + low, self._base + high

    def _window(self, number: int) -> tuple[int, Polygon]:
        """The middle of a window and its polygon."""
        middle = number * WINDOW_US + WINDOW_US // 2
        numbers = self._numbers
        reach = 1
        while True:
            first, last = bisect_left(numbers, number + 1 - reach), bisect_right(numbers, number + reach)
            slots = [self._slots[one] for one in numbers[first:last]]
            upper = sum([slot.upper_count for slot in slots])
            lower = sum([slot.lower_count for slot in slots])
            if (upper >= LEAST and lower >= LEAST) or len(slots) == len(numbers):
                break
            reach *= 2
        polygon = Polygon()
        for slot in slots:
            for time, value, is_upper in slot.points():
                polygon.cut((time - middle) / 1e6, float(value), is_upper)
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


def spans(bounds: "Iterator[Bound]") -> list[Span]:
    """Bounds in order, cut where a clock was set."""
    found: list[Span] = []
    again: deque[Bound] = deque()  # those from a step on
    while again or (again := deque(islice(bounds, 1))):
        found.append(_until_step(again, bounds))
    return found


def _until_step(again: "deque[Bound]", bounds: "Iterator[Bound]") -> Span:
    """The bounds that fit together, up to a step; those from there on are left in `again`."""
    span = Span()
    _, zero, base, _ = again[0]
    older = Polygon()
    newer = Polygon()
    since = zero  # when the newer one began
    uppers = lowers = 0  # in the newer one
    recent: deque[tuple[Bound, bool]] = deque()  # the last ones, and whether they are outside
    while True:
        if again:
            bound = again.popleft()
        elif (following := next(bounds, None)) is not None:
            bound = following
        else:
            break
        _, now, value_us, is_upper = bound
        upper = is_upper != 0
        value = float(value_us - base)
        if now - since >= WINDOW_US and uppers >= LEAST and lowers >= LEAST:
            older = newer
            newer = Polygon()
            since = now
            uppers = lowers = 0
        time = (now - zero) / 1e6
        if len(recent) == RECENT:
            span.add(*recent.popleft())
        if older.cut(time, value, upper):
            newer.cut(time, value, upper)
            if upper:
                uppers += 1
            else:
                lowers += 1
            recent.append((bound, False))
            continue
        recent.append((bound, True))
        outside = [place for place, (_, is_outside) in enumerate(recent) if is_outside]
        if len(outside) >= STEP:
            again.extendleft([recent.pop()[0] for _ in range(len(recent) - outside[-STEP])])
            break
    for one, is_outside in recent:
        span.add(one, is_outside)
    return span


class Clocks:
    """Two clocks, by all bounds on them.

    `least_us`: the least time that a request and its reply took on the way together.
    """

    def __init__(self, bounds: Bounds, least_us: int) -> None:
        self.count: Final = len(bounds)
        self.least_us: Final = least_us
        self.spans: Final = spans(bounds.ordered())
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
        return sum([span.outside for span in self.spans])

    def rates(self) -> tuple[float, float]:
        """The least and the greatest difference in rate between steps, in millionths."""
        found = [span.rates() for span in self.spans]
        return min([low for low, _ in found]), max([high for _, high in found])

    def contradicted(self, bounds: Bounds) -> tuple[int, int]:
        """How many of other bounds these clocks contradict, and how many are from times that they know."""
        count = 0
        known = 0
        for order, time_us, value, upper in bounds.ordered():
            span = self.span(order, order)
            limits = None if span is None else span.between(time_us)
            if span is None or limits is None or not span.first_order <= order <= span.last_order:
                continue
            known += 1
            low, high = limits
            if (upper and value + SLACK_US < low) or (not upper and value - SLACK_US > high):
                count += 1
        return count, known
