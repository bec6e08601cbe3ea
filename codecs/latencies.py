"""Latencies of many calls: exact percentiles, and beyond a bound those of a sketch with a known error.

Counts of values are kept, not values. Once there are too many different ones they become a DDSketch (Masson,
Rim and Lee, 2019, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees"):
counts of bins whose bounds grow by a constant factor, so that a value read back is wrong by at most ALPHA of
itself. Sketches of parts add up to that of the whole.
"""

from math import ceil, log
from typing import Final

from mypy_extensions import i64

ALPHA: Final = 0.005  # the largest relative error of a value that the sketch gives
GAMMA: Final = (1 + ALPHA) / (1 - ALPHA)  # the factor between the bounds of bins
LOG_GAMMA: Final = log(GAMMA)


class Latencies:
    """Latencies in whole microseconds.

    `count`: how many; `total`: their sum; `most` and `least`: the extremes, -1 without any. `exact`: whether
    percentiles are.
    """

    def __init__(self) -> None:
        self.count: i64 = 0
        self.total: int = 0
        self.most: i64 = -1
        self.least: i64 = -1
        self.exact = True
        self._counts: dict[int, int] = {}  # by value; of a sketch by bin

    @property
    def entries(self) -> int:
        """How many counts are kept."""
        return len(self._counts)

    def add(self, microseconds: int) -> None:
        """Count a latency."""
        self.count += 1
        self.total += microseconds
        value: i64 = microseconds
        if value > self.most:
            self.most = value
        if value < self.least or self.least < 0:
            self.least = value
        place = microseconds if self.exact else bin_of(microseconds)
        counts = self._counts
        counts[place] = counts.get(place, 0) + 1

    def sketch(self) -> None:
        """Keep counts of bins from now on, in little memory."""
        if self.exact:
            bins: dict[int, int] = {}
            for value, number in self._counts.items():
                place = bin_of(value)
                bins[place] = bins.get(place, 0) + number
            self._counts = bins
            self.exact = False

    def merge(self, other: "Latencies") -> None:
        """Add all of another."""
        if not other.count:
            return
        if not other.exact:
            self.sketch()
        self.count += other.count
        self.total += other.total
        self.most = max(self.most, other.most)
        self.least = other.least if self.least < 0 else min(self.least, other.least)
        counts = self._counts
        for place, number in other._counts.items():
            if other.exact and not self.exact:
                place = bin_of(place)
            counts[place] = counts.get(place, 0) + number

    def percentiles(self, percents: tuple[int, ...]) -> list[int]:
        """The values at these percents, which ascend: that of rank max(1, ⌈percent · count / 100⌉).

        In microseconds; those of a sketch are wrong by at most ALPHA. Raises ValueError if there are none.
        """
        if not self.count:
            raise ValueError("no latencies")
        found: list[int] = []
        wanted: i64 = 0
        passed: i64 = 0
        value = 0
        places = sorted(self._counts)
        at: i64 = 0
        for percent in percents:
            wanted = max(1, -(-percent * self.count // 100))
            while passed < wanted:
                value = places[at]
                passed += self._counts[value]
                at += 1
            found.append(value if self.exact else self._value_of(value))
        return found

    @property
    def mean_seconds(self) -> float:
        """The mean in seconds, correctly rounded; 0 without any."""
        return self.total / (int(self.count) * 1_000_000) if self.count else 0.0

    def _value_of(self, place: int) -> int:
        """The value that stands for a bin, within what there was."""
        value = 0 if place < 0 else round(2 * GAMMA**place / (GAMMA + 1))
        return min(max(value, int(self.least)), int(self.most))


def bin_of(microseconds: int) -> int:
    """The bin of a latency: ⌈log of it to the base GAMMA⌉; -1 of 0."""
    return -1 if microseconds <= 0 else ceil(log(microseconds) / LOG_GAMMA)
