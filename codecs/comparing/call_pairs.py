"""Comparing the calls of two captures: paired by service, method and arguments, whenever they were made.

The ids of messages and traces are never compared, nor are times, addresses and sizes.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from wirelens.codecs.call import Call
from wirelens.codecs.comparing.alignment import Alignment
from wirelens.codecs.comparing.comparison import ADDED, CHANGED, MOVED, REMOVED, Change, Differences, Place
from wirelens.codecs.comparing.graph import Ignored
from wirelens.codecs.comparing.likeness import MOST_CELLS, gaps, pair_gap
from wirelens.codecs.comparing.sequences import (
    LEAST_LIKENESS,
    NOTHING,
    SAME,
    bytes_key,
    compare_messages,
    meaning_key,
    shared,
    sketch,
)
from wirelens.codecs.record import Record

REQUEST: Final = "request"
REPLY: Final = "reply"


class CallPair(NamedTuple):
    """Two calls that belong together, or one that is on one side only.

    `kind`: SAME, CHANGED, ADDED or REMOVED. `old`, `new`: their numbers from 0, -1 if there is none. The
    paths of the differences begin with `request` or `reply`, or are `outcome`.
    """

    kind: str
    old: int
    new: int
    differences: Differences


class Side:
    """The calls of one capture, by what they are paired by."""

    def __init__(self, calls: Sequence[Call], ignored: Ignored, known: dict[bytes, bytes]) -> None:
        self.calls: Final = calls
        self.requests: Final = [_records(call, False) for call in calls]
        self.replies: Final = [_records(call, True) for call in calls]
        self.ignored: Final = ignored
        self._known: Final = known  # digests of meaning by those of bytes
        self.asked: Final[list[Hashable]] = [
            (*method_of(call), self._keys(records))
            for call, records in zip(calls, self.requests, strict=True)
        ]

    def answered(self, number: int) -> Hashable:
        """What came of a call, as a key."""
        return (self.calls[number].outcome, self._keys(self.replies[number]))

    def _keys(self, records: list[Record]) -> bytes:
        keys: list[bytes] = []
        for record in records:
            raw = bytes_key(record, True)
            key = self._known.get(raw)
            if key is None:
                key = self._known[raw] = meaning_key(record, self.ignored)
            keys.append(key)
        return b"\0".join(keys)

    def sketch(self, number: int) -> frozenset[bytes]:
        """What a call's request consists of, for `shared`."""
        records = self.requests[number]
        return sketch(records[0], self.ignored) if records else frozenset()


class CallComparison:
    """Compares the calls of two captures."""

    def __init__(
        self, old: Sequence[Call], new: Sequence[Call], ignored: Ignored, wire: bool = False
    ) -> None:
        known: dict[bytes, bytes] = {}
        everywhere = Ignored(ignored.patterns, ignored.dates, True, ignored.derived)
        self.of_requests: Final = _within(everywhere, REQUEST)
        self.of_replies: Final = _within(everywhere, REPLY)
        either = Ignored(
            tuple(dict.fromkeys([*self.of_requests.patterns, *self.of_replies.patterns])),
            ignored.dates,
            True,
            ignored.derived,
        )
        self.old: Final = Side(old, either, known)
        self.new: Final = Side(new, either, known)
        self.wire: Final = wire

    def pairs(self) -> Iterator[CallPair]:
        """All calls, in the order of the old ones; those that are only in the new capture come last."""
        partners: dict[int, int] = {}
        for left, right in _together(self.old.asked, self.new.asked):
            partners.update(self._same_request(left, right))
        taken = set(partners.values())
        rest = [number for number in range(len(self.old.calls)) if number not in partners]
        others = [number for number in range(len(self.new.calls)) if number not in taken]
        methods = [method_of(self.old.calls[number]) for number in rest]
        new_methods = [method_of(self.new.calls[number]) for number in others]
        for left, right in _together(methods, new_methods):
            found = self._same_method([rest[at] for at in left], [others[at] for at in right])
            partners.update(found)
        taken = set(partners.values())
        for number in range(len(self.old.calls)):
            there = partners.get(number, -1)
            yield CallPair(REMOVED, number, -1, NOTHING) if there < 0 else self.pair(number, there)
        for number in range(len(self.new.calls)):
            if number not in taken:
                yield CallPair(ADDED, -1, number, NOTHING)

    def _same_request(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """Pairs among calls of the same request: in order; if some are missing, by what came of them."""
        if len(left) == len(right):
            return list(zip(left, right, strict=True))
        matches = Alignment(
            [self.old.answered(number) for number in left], [self.new.answered(number) for number in right]
        ).matches
        pairs = [(left[a], right[b]) for a, b in matches]
        for first, second in gaps(len(left), len(right), matches):
            pairs.extend([(left[a], right[b]) for a, b in zip(first, second, strict=False)])
        return pairs

    def _same_method(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """Pairs among calls of the same method whose arguments differ: the likest, in order."""
        if len(left) == len(right) == 1:
            return [(left[0], right[0])]
        if len(left) * len(right) > MOST_CELLS:
            return list(zip(left, right, strict=False))
        old = {number: self.old.sketch(number) for number in left}
        new = {number: self.new.sketch(number) for number in right}
        return pair_gap(left, right, lambda a, b: shared(old[a], new[b]), LEAST_LIKENESS)

    def pair(self, here: int, there: int) -> CallPair:
        """Compare two calls."""
        changes: list[Change] = []
        same = left_out = 0
        old, new = self.old, self.new
        before, after = old.calls[here].outcome, new.calls[there].outcome
        for name, ignored, first, second in (
            (REQUEST, self.of_requests, old.requests[here], new.requests[there]),
            (REPLY, self.of_replies, old.replies[here], new.replies[there]),
        ):
            if name == REPLY and before != after:
                changes.append(_outcome(first, before, second, after))
            if not first or not second:
                continue
            for pair in compare_messages(first, second, ignored, self.wire):
                same += pair.differences.same
                left_out += pair.differences.left_out
                changes.extend([_prefixed(name, change) for change in pair.differences.changes])
                if pair.kind in (ADDED, REMOVED, MOVED):  # of several messages
                    changes.append(
                        Change(pair.kind, _part(name, first, pair.old), _part(name, second, pair.new))
                    )
        kind = CHANGED if changes else SAME
        return CallPair(kind, here, there, Differences(changes, same, left_out))


def compare_calls(
    old: Sequence[Call], new: Sequence[Call], ignored: Ignored | None = None, wire: bool = False
) -> Iterator[CallPair]:
    """Compare the calls of two captures, which must have their messages."""
    return CallComparison(old, new, ignored if ignored is not None else Ignored(), wire).pairs()


def method_of(call: Call) -> tuple[str, str, str]:
    """The protocol, service and method of a call."""
    return (call.protocol, call.service, call.method)


def _records(call: Call, replies: bool) -> list[Record]:
    """The messages of a call's request, or of its reply; those sent again once."""
    records: dict[bytes, Record] = {}
    for message in call.messages:
        exchange = message.exchange
        if (exchange is not None and exchange.role == "reply") == replies:
            records.setdefault(bytes_key(message.record), message.record)
    return list(records.values())


def _together(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[tuple[list[int], list[int]]]:
    """The positions on both sides of each key that is on both."""
    places: dict[Hashable, list[int]] = {}
    for number, key in enumerate(new):
        places.setdefault(key, []).append(number)
    here: dict[Hashable, list[int]] = {}
    for number, key in enumerate(old):
        if key in places:
            here.setdefault(key, []).append(number)
    for key, numbers in here.items():
        yield numbers, places[key]


def _within(ignored: Ignored, name: str) -> Ignored:
    """What is ignored in requests, or in replies."""
    inner = [pattern.within(name) for pattern in ignored.patterns]
    patterns = [*ignored.patterns, *[pattern for pattern in inner if pattern is not None]]
    return Ignored(tuple(patterns), ignored.dates, ignored.ids, ignored.derived)


def _prefixed(name: str, change: Change) -> Change:
    """A change of a message as one of a call."""
    old, new = change.old, change.new
    return Change(
        change.kind,
        None if old is None else old._replace(steps=[name, *old.steps]),
        None if new is None else new._replace(steps=[name, *new.steps]),
    )


def _part(name: str, records: list[Record], number: int) -> Place | None:
    """A message of several that are a request, or a reply."""
    if number < 0:
        return None
    record = records[number]
    return Place([name, number], record.offset, record.partial, "", None)


def _outcome(first: list[Record], before: str, second: list[Record], after: str) -> Change:
    """The change of what came of a call."""
    return Change(
        CHANGED,
        Place(["outcome"], first[0].offset if first else 0, None, "outcome", before),
        Place(["outcome"], second[0].offset if second else 0, None, "outcome", after),
    )
