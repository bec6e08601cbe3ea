"""Comparing two sequences of messages: an added message is one change, and so is a moved one."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from wirelens.codecs import tape as t
from wirelens.codecs.comparing.alignment import Alignment, common_start
from wirelens.codecs.comparing.comparison import (
    ADDED,
    CHANGED,
    MOVED,
    REMOVED,
    Change,
    Differences,
    Place,
    compare,
)
from wirelens.codecs.comparing.graph import Graph, Ignored
from wirelens.codecs.comparing.likeness import MOST_CELLS, gaps, moved_items, pair_gap
from wirelens.codecs.node import Json
from wirelens.codecs.record import Record

SAME: Final = "same"
LEAST_LIKENESS: Final = 0.2  # of two messages that are shown as one that changed

NOTHING: Final = Differences([], 0, 0)


class MessagePair(NamedTuple):
    """Two messages that belong together, or one that is on one side only.

    `kind`: SAME, CHANGED, ADDED, REMOVED or MOVED. `old`, `new`: their numbers from 0, -1 if there is none.
    `differences` are empty unless it CHANGED.
    """

    kind: str
    old: int
    new: int
    differences: Differences


class MessageSequences:
    """Compares the messages of two inputs; with `wire` other forms of the same values count."""

    def __init__(
        self, old: Sequence[Record], new: Sequence[Record], ignored: Ignored, wire: bool = False
    ) -> None:
        self.old: Final = old
        self.new: Final = new
        self.ignored: Final = ignored
        self.wire: Final = wire

    def pairs(self) -> Iterator[MessagePair]:
        """All messages, in the order of the old ones, new ones where they were added."""
        old_raw = [bytes_key(record, self.ignored.ids) for record in self.old]
        new_raw = [bytes_key(record, self.ignored.ids) for record in self.new]
        start = common_start(old_raw, new_raw)
        end = common_start(old_raw[start:][::-1], new_raw[start:][::-1])
        for number in range(start):
            yield MessagePair(SAME, number, number, NOTHING)
        yield from self._middle(start, len(old_raw) - end, len(new_raw) - end)
        for number in range(end, 0, -1):
            yield MessagePair(SAME, len(old_raw) - number, len(new_raw) - number, NOTHING)

    def _middle(self, start: int, end: int, new_end: int) -> Iterator[MessagePair]:
        """What lies between the messages at the start and at the end that have the same bytes."""
        if end == new_end == start + 1:  # belong together whatever they mean
            yield self.pair(start, start)
            return
        old_keys = [meaning_key(record, self.ignored) for record in self.old[start:end]]
        new_keys = [meaning_key(record, self.ignored) for record in self.new[start:new_end]]
        matches = Alignment(old_keys, new_keys).matches
        moved = moved_items(old_keys, new_keys, matches)
        gone = set(moved.values())
        partners = dict(matches)
        for left, right in gaps(len(old_keys), len(new_keys), matches, moved, gone):
            partners.update(self._likest(left, right, start))
        taken = set(partners.values()) | gone
        at = 0
        for here in range(len(old_keys)):
            there = partners.get(here, -1)
            if there >= 0:
                while at < there:
                    if at not in taken:
                        yield MessagePair(ADDED, -1, start + at, NOTHING)
                    at += 1
                at = max(at, there + 1)
                yield self.pair(start + here, start + there)
            elif here in moved:
                yield MessagePair(MOVED, start + here, start + moved[here], NOTHING)
            else:
                yield MessagePair(REMOVED, start + here, -1, NOTHING)
        for there in range(at, len(new_keys)):
            if there not in taken:
                yield MessagePair(ADDED, -1, start + there, NOTHING)

    def pair(self, here: int, there: int) -> MessagePair:
        """Compare two messages."""
        differences = compare_records(self.old[here], self.new[there], self.ignored, self.wire)
        return MessagePair(CHANGED if differences.changes else SAME, here, there, differences)

    def _likest(self, left: list[int], right: list[int], start: int) -> list[tuple[int, int]]:
        """Pairs of messages that changed."""
        if len(left) == len(right) == 1:
            return [(left[0], right[0])]
        if len(left) * len(right) > MOST_CELLS:
            kinds = [_kind(self.old[start + number]) for number in left]
            matches = Alignment(kinds, [_kind(self.new[start + number]) for number in right]).matches
            return [(left[a], right[b]) for a, b in matches]
        old = {number: sketch(self.old[start + number], self.ignored) for number in left}
        new = {number: sketch(self.new[start + number], self.ignored) for number in right}
        return pair_gap(left, right, lambda a, b: shared(old[a], new[b]), LEAST_LIKENESS)


def compare_records(old: Record, new: Record, ignored: Ignored, wire: bool = False) -> Differences:
    """What differs between two records: protocol, error, the values that decoded, or the bytes."""
    changes: list[Change] = []
    if old.protocol != new.protocol:
        changes.append(_of_records("protocol", old, new, old.protocol, new.protocol))
    before, after = _error(old), _error(new)
    if before != after:
        changes.append(_of_records("error", old, new, before, after))
    root, other = old.partial, new.partial
    found = NOTHING
    if root is not None and other is not None:
        found = compare(Graph(root, old.codec, ignored), Graph(other, new.codec, ignored), wire)
        changes.extend(found.changes)
    if old.error is not None and new.error is not None and old.raw != new.raw and not found.changes:
        place = common_start(old.raw, new.raw)
        changes.append(_of_records("bytes", old, new, old.raw.hex(), new.raw.hex(), place))
    return Differences(changes, found.same, found.left_out)


def _of_records(part: str, old: Record, new: Record, before: Json, after: Json, place: int = 0) -> Change:
    return Change(
        CHANGED,
        Place([part], old.offset + place, None, part, before),
        Place([part], new.offset + place, None, part, after),
    )


def _error(record: Record) -> Json:
    """A record's error, without the place, which may differ where the error is the same."""
    error = record.error
    return None if error is None else {"code": error.code, "text": error.text}


def meaning_key(record: Record, ignored: Ignored) -> bytes:
    """A digest of what a record means: messages that differ in it differ; of a damaged one, of its bytes."""
    root = record.root
    if root is None:
        return bytes_key(record)
    return record.protocol.encode() + b"\0" + Graph(root, record.codec, ignored).keys[0]


def sketch(record: Record, ignored: Ignored) -> frozenset[bytes]:
    """What a record consists of, for `shared`."""
    root = record.partial
    own = frozenset([_kind(record).encode()])
    return own if root is None else own | Graph(root, record.codec, ignored).sketch(0)


def bytes_key(record: Record, without_ids: bool = False) -> bytes:
    """A digest of a record's bytes: messages of equal bytes are equal. `without_ids`: except its ids."""
    root = record.root
    codec = record.codec
    content = record.raw if root is None else root.raw
    if without_ids and root is not None and codec is not None:
        start = root.tape.start(root.index)
        for member in root.children:
            for node in [member] if member.kind != t.STRUCT else [member, *member.children]:
                if codec.identifies(node) and node.buffer is root.buffer:
                    at, end = node.tape.start(node.index) - start, node.tape.end(node.index) - start
                    content = content[:at] + bytes(end - at) + content[end:]
    return blake2b(content, digest_size=16, person=record.protocol.encode()[:16]).digest()


def _kind(record: Record) -> str:
    """What messages have in common that may be a changed pair, but hardly others."""
    return f"{record.protocol} {record.kind}"


def shared(first: frozenset[bytes], second: frozenset[bytes]) -> float:
    """The share of two sets that they have in common."""
    return len(first & second) / max(len(first | second), 1)


def compare_messages(
    old: Sequence[Record], new: Sequence[Record], ignored: Ignored | None = None, wire: bool = False
) -> Iterator[MessagePair]:
    """Compare the messages of two inputs, in order."""
    return MessageSequences(old, new, ignored if ignored is not None else Ignored(), wire).pairs()
