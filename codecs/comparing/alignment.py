"""Aligning two sequences by keys: which items of the one are which of the other.

Common starts and ends are taken off; then items that occur once on both sides are anchors (patience), then
runs of items that occur once; what lies between is compared by Myers' algorithm as far as a bound on its work
allows. Work and memory grow nearly linearly with the length, whatever the sequences are.
"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import Final, TypeAlias

Match: TypeAlias = tuple[int, int]

RUNS: Final = (1, 4, 16)  # lengths of runs that are looked for as anchors
MOST_EDITS: Final = 256  # edits up to which Myers' algorithm looks for the shortest script
MOST_STEPS: Final = 1 << 20  # steps of Myers' algorithm in all of an alignment
STEPS_PER_ITEM: Final = 64  # steps for anchors, on average, after which no more are looked for


class Alignment:
    """The matching items of two sequences, ascending in both; `steps` counts the work done."""

    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> None:
        self.old: Final = old
        self.new: Final = new
        self.steps = 0
        self.myers_steps = 0
        self.most_steps: Final = STEPS_PER_ITEM * (len(old) + len(new))
        self.matches: list[Match] = []
        work = [(0, len(old), 0, len(new))]
        while work:
            self._region(work)
        self.matches.sort()

    def _region(self, work: list[tuple[int, int, int, int]]) -> None:
        """Match what is clear of a region; what lies between the matches becomes regions of its own."""
        old, new = self.old, self.new
        low, high, new_low, new_high = work.pop()
        while low < high and new_low < new_high and old[low] == new[new_low]:
            self.matches.append((low, new_low))
            low += 1
            new_low += 1
            self.steps += 1
        while low < high and new_low < new_high and old[high - 1] == new[new_high - 1]:
            high -= 1
            new_high -= 1
            self.matches.append((high, new_high))
            self.steps += 1
        if low == high or new_low == new_high:
            return
        for run in RUNS:
            if self.steps > self.most_steps:
                return
            anchors = self._anchors(low, high, new_low, new_high, run)
            if anchors:
                for at, new_at in anchors:
                    work.append((low, at, new_low, new_at))
                    low, new_low = at, new_at
                work.append((low, high, new_low, new_high))
                return
        self._myers(low, high, new_low, new_high)

    def _anchors(self, low: int, high: int, new_low: int, new_high: int, run: int) -> list[Match]:
        """Where runs of `run` items that occur once on both sides begin: the longest ascending chain."""
        old_places = self._once(self.old, low, high, run)
        if not old_places:
            return []
        new_places = self._once(self.new, new_low, new_high, run)
        pairs = [(at, new_places[key]) for key, at in old_places.items() if key in new_places]
        return _ascending(pairs)

    def _once(self, items: Sequence[Hashable], low: int, high: int, run: int) -> dict[Hashable, int]:
        """Where the runs begin that occur once."""
        places: dict[Hashable, int] = {}
        for at in range(low, high - run + 1):
            key: Hashable = items[at] if run == 1 else tuple(items[at : at + run])
            places[key] = -1 if key in places else at
        self.steps += max(high - low, 0) * run
        return {key: at for key, at in places.items() if at >= 0}

    def _myers(self, low: int, high: int, new_low: int, new_high: int) -> None:
        """The shortest edit script of a region, unless it takes too many steps: then nothing is matched."""
        old, new = self.old, self.new
        length, new_length = high - low, new_high - new_low
        furthest = {1: 0}
        trace: list[dict[int, int]] = []
        for edits in range(min(length + new_length, MOST_EDITS) + 1):
            trace.append(furthest)
            furthest = dict(furthest)
            for diagonal in range(-edits, edits + 1, 2):
                down = diagonal == -edits or (
                    diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
                )
                x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
                y = x - diagonal
                while x < length and y < new_length and old[low + x] == new[new_low + y]:
                    x += 1
                    y += 1
                    self.myers_steps += 1
                furthest[diagonal] = x
                self.myers_steps += 1
                if x >= length and y >= new_length:
                    self._trace_back(trace, low, new_low, length, new_length)
                    return
            if self.myers_steps > MOST_STEPS:
                return

    def _trace_back(self, trace: list[dict[int, int]], low: int, new_low: int, x: int, y: int) -> None:
        """Take the matches from the furthest points of each number of edits."""
        for edits in range(len(trace) - 1, -1, -1):
            furthest = trace[edits]
            diagonal = x - y
            down = diagonal == -edits or (
                diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
            )
            before = diagonal + 1 if down else diagonal - 1
            before_x = furthest[before] if edits else 0
            before_y = before_x - before if edits else 0
            while x > before_x and y > before_y:
                x -= 1
                y -= 1
                self.matches.append((low + x, new_low + y))
            x, y = before_x, before_y


def common_start(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """How many items two sequences (of the same type: texts, bytes, lists) have in common at the start."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _ascending(pairs: list[Match]) -> list[Match]:
    """The longest chain of pairs that ascend in both; `pairs` ascend in the first."""
    ends: list[int] = []  # the least end of a chain of each length
    places: list[int] = []  # the pair at that end
    before: list[int] = []  # the pair before each in its chain
    for number, (_, new_at) in enumerate(pairs):
        length = bisect_left(ends, new_at)
        before.append(places[length - 1] if length else -1)
        if length == len(ends):
            ends.append(new_at)
            places.append(number)
        else:
            ends[length] = new_at
            places[length] = number
    chain: list[Match] = []
    number = places[-1] if places else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    chain.reverse()
    return chain
