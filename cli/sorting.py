"""Calls in an order: as they were numbered, or by a key; in memory, and on disk where they are many."""

from __future__ import annotations

import marshal
from heapq import heappop, heappush, heappushpop, merge
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

from wirelens.cli.temporary import temporary_file
from wirelens.codecs.call import Call, call_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO, Final, TypeAlias

    from wirelens.codecs.call import Value

    Key: TypeAlias = tuple[int, int]  # what is sorted by, then the call's number
    Entry: TypeAlias = tuple[Key, tuple[Value, ...] | None]

IN_MEMORY: Final = 20_000  # calls that wait in memory for older ones; then they go to disk
SORTED_IN_MEMORY: Final = 1_000_000  # calls that are sorted in memory; beyond, parts are sorted on disk
PORTION: Final = 4096  # calls that are given out together
RUNS: Final = 64  # sorted parts on disk; then they become one
BLOCK: Final = 64  # calls of a part that are read together: one by one takes ten times as long

_SIZE: Final = 8  # bytes of the size of a block

_KEY: Final = itemgetter(0)


class InOrder:
    """Calls in the order of their numbers, which are those from `first` on, each exactly once.

    A call may be None: then its number is passed over.
    """

    def __init__(self, first: int, in_memory: int = IN_MEMORY) -> None:
        self.next = first
        self.in_memory: Final = in_memory
        self._waiting: dict[int, Call | None] = {}
        self._runs: list[Iterator[Entry]] = []
        self._heads: list[tuple[int, int, tuple[Value, ...] | None]] = []  # a heap: number, run, values

    def add(self, entries: Iterable[tuple[int, Call | None]]) -> Iterator[list[Call]]:
        """Add calls by their numbers; those that can be given out now, in portions."""
        waiting = self._waiting
        waiting.update(entries)
        ready: list[Call] = []
        number = self.next
        while True:
            if number in waiting:
                call = waiting.pop(number)
            elif self._heads and self._heads[0][0] == number:
                _, run, values = heappop(self._heads)
                self._advance(run)
                call = None if values is None else call_of(values)
            else:
                break
            number += 1
            if call is not None:
                ready.append(call)
                if len(ready) == PORTION:
                    yield ready
                    ready = []
        self.next = number
        if len(waiting) > self.in_memory:
            self._store()
        if ready:
            yield ready

    def add_all(self, calls: list[Call]) -> Iterator[list[Call]]:
        """Add calls; those that can be given out now, in portions."""
        numbers = [call.call for call in calls]
        if self._waiting or self._heads or numbers != list(range(self.next, self.next + len(calls))):
            yield from self.add(zip(numbers, calls, strict=True))
            return
        self.next += len(calls)  # nothing has to wait
        for at in range(0, len(calls), PORTION):
            yield calls[at : at + PORTION]

    def _store(self) -> None:
        """Write those that wait to disk."""
        if len(self._runs) >= RUNS:
            rest = merge(*[self._rest_of(run) for run in range(len(self._runs))], key=_KEY)
            whole = stored(rest)
            self._runs.clear()
            self._heads.clear()
            self._begin(whole)
        waiting = sorted(self._waiting)
        self._begin(
            stored(
                ((number, number), None if (call := self._waiting[number]) is None else call.values())
                for number in waiting
            )
        )
        self._waiting.clear()

    def _rest_of(self, run: int) -> Iterator[Entry]:
        """What is left of a run, its head first."""
        for number, of, values in self._heads:
            if of == run:
                yield (number, number), values
        yield from self._runs[run]

    def _begin(self, entries: Iterator[Entry]) -> None:
        self._runs.append(entries)
        self._advance(len(self._runs) - 1)

    def _advance(self, run: int) -> None:
        for (number, _), values in self._runs[run]:
            heappush(self._heads, (number, run, values))
            return


class Sorted:
    """Calls sorted by a key, the lowest first; with `limit`, as many of them."""

    def __init__(self, limit: int | None, in_memory: int = SORTED_IN_MEMORY) -> None:
        self.limit: Final = limit
        self.in_memory: Final = in_memory
        self._rows: list[tuple[int, int, Call]] = []
        self._runs: list[Iterator[Entry]] = []

    def add(self, key: int, call: Call) -> None:
        """Add a call; those with the same key stay in the order of their numbers."""
        if self.limit is not None:
            # a heap whose root is the last of those that are kept
            entry = (-key, -call.call, call)
            if len(self._rows) < self.limit:
                heappush(self._rows, entry)
            elif self.limit:
                heappushpop(self._rows, entry)
            return
        self._rows.append((key, call.call, call))
        if len(self._rows) >= self.in_memory:
            self._rows.sort(key=_order)
            self._runs.append(stored(((key, number), call.values()) for key, number, call in self._rows))
            self._rows.clear()
            if len(self._runs) >= RUNS:
                self._runs = [stored(merge(*self._runs, key=_KEY))]

    def __iter__(self) -> Iterator[Call]:
        """The calls in order, once."""
        rows = self._rows
        if self.limit is not None:
            rows.sort(key=_order, reverse=True)
            yield from [call for _, _, call in rows]
            return
        rows.sort(key=_order)
        if not self._runs:
            yield from [call for _, _, call in rows]
            return
        last = (((key, number), call.values()) for key, number, call in rows)
        for _, values in merge(*self._runs, last, key=_KEY):
            assert values is not None
            yield call_of(values)


def _order(row: tuple[int, int, Call]) -> Key:
    return row[:2]


def stored(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Write entries to a temporary file, at once; reads them again."""
    file = temporary_file()
    rest = iter(entries)
    while block := list(islice(rest, BLOCK)):
        data = marshal.dumps(block)
        file.write(len(data).to_bytes(_SIZE, "big"))
        file.write(data)
    file.seek(0)
    return _read(file)


def _read(file: BinaryIO) -> Iterator[Entry]:
    with file:
        while size := file.read(_SIZE):
            yield from marshal.loads(file.read(int.from_bytes(size, "big")))
