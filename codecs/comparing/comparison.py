"""What differs between two messages: pairs of values that belong together are walked from the root down.

Back references are compared as what they refer to: after the walk, a pair of references is the same if their
targets were walked as a pair, or if no path from the one leads to another value than from the other.
"""

from typing import Final, NamedTuple

from wirelens.codecs.comparing.alignment import Alignment
from wirelens.codecs.comparing.graph import ITEMS, KEYED, REFERENCE, SCALAR, Graph
from wirelens.codecs.comparing.likeness import moved_items, pair_items
from wirelens.codecs.comparing.paths import Step
from wirelens.codecs.node import Json, Node

MOST_FOLLOWED: Final = 1 << 18  # pairs of values compared, in all, to find references to the same
EXPANDED: Final = 4  # a reference is compared with a value of at least 1/EXPANDED the size of its target,
EXPANDED_LEAST: Final = 64  # or with any if the target has at most this many values

CHANGED: Final = "changed"
ADDED: Final = "added"
REMOVED: Final = "removed"
MOVED: Final = "moved"
WIRE: Final = "wire"  # another form of the same value


class Place(NamedTuple):
    """A value on one side: its path, where its bytes begin in the input, and the view of it.

    With a `part`, its "$class", "$type", "$wire", "$ref" or "$order" is meant, or a member of the record;
    `json` is its value, and there may be no `node`.
    """

    steps: list[Step]
    offset: int
    node: Node | None
    part: str = ""
    json: Json = None


class Change(NamedTuple):
    """One difference: CHANGED, ADDED, REMOVED, MOVED or WIRE, with the places that there are."""

    kind: str
    old: Place | None
    new: Place | None


class Differences(NamedTuple):
    """The result: changes in the order of the message, values that are the same, values left out."""

    changes: list[Change]
    same: int
    left_out: int


class _Task(NamedTuple):
    """Two values to compare, or with one of them -1 a value that is on one side only.

    `aligned`: what is around the one belongs to what is around the other.
    """

    kind: str
    old: int
    new: int
    aligned: bool


class Comparison:
    """Compares two graphs; `changes` are found by `run`. With `wire`, other forms of equal values count."""

    def __init__(self, old: Graph, new: Graph, wire: bool = False) -> None:
        self.old: Final = old
        self.new: Final = new
        self.wire: Final = wire
        self.thorough: Final = wire or old.loose[0] or new.loose[0]
        self.changes: Final[list[Change]] = []
        self.same = 0
        self.walked: Final[set[tuple[int, int]]] = set()
        self.references: Final[list[tuple[int, int, int]]] = []  # old, new, how many changes came before
        self.followed = 0
        self._tasks: Final[list[_Task]] = []
        self._equal: Final[dict[tuple[int, int], bool]] = {}

    def run(self) -> None:
        """Walk all pairs, then decide about the references."""
        tasks = self._tasks
        tasks.append(_Task("", 0, 0, True))
        while tasks:
            task = tasks.pop()
            if task.kind:
                self._report(task.kind, task.old, task.new)
            else:
                self._pair(task.old, task.new, task.aligned)
        self._decide_references()

    def _report(self, kind: str, old: int, new: int) -> None:
        self.changes.append(
            Change(
                kind,
                None if old < 0 else place_of(self.old, old),
                None if new < 0 else place_of(self.new, new),
            )
        )

    def _report_part(self, kind: str, old: int, new: int, part: str, before: Json, after: Json) -> None:
        self.changes.append(
            Change(
                kind,
                place_of(self.old, old, part, before),
                place_of(self.new, new, part, after),
            )
        )

    def _pair(self, a: int, b: int, aligned: bool) -> None:
        """Compare two values that belong together."""
        old, new = self.old, self.new
        sort, other = old.sorts[a], new.sorts[b]
        if REFERENCE in (sort, other):
            self._reference(a, b, aligned)
            return
        equal = old.keys[a] == new.keys[b]
        if equal and not self.thorough and (aligned or (old.closed(a) and new.closed(b))):
            self.same += old.size(a)
            return
        if sort == SCALAR or sort != other:
            if not equal:
                self._report(CHANGED, a, b)
            else:
                self.same += 1
                self._wire(a, b)
            return
        if (a, b) in self.walked:
            return
        self.walked.add((a, b))
        if old.labels[a] != new.labels[b]:
            if not self._named(a, b):
                self._report(CHANGED, a, b)
                return
        self._wire(a, b)
        if sort == ITEMS:
            self._items(a, b, aligned)
        else:
            self._members(a, b, aligned)

    def _named(self, a: int, b: int) -> bool:
        """Report another class or type; False if the values have nothing else in common either."""
        old, new = self.old, self.new
        first, second = old.labels[a][:1], new.labels[b][:1]
        if first != second:
            return False
        if old.sorts[a] == KEYED and old.members[a] and not old.members[a].keys() & new.members[b].keys():
            return False
        part = "$class" if first == b"o" else "$type"
        self._report_part(CHANGED, a, b, part, old.nodes[a].type_name, new.nodes[b].type_name)
        return True

    def _members(self, a: int, b: int, aligned: bool) -> None:
        """Compare values with named members: those of the same name belong together."""
        before, after = self.old.members[a], self.new.members[b]
        tasks: list[_Task] = []
        for edge, inner in before.items():
            other = after.get(edge, -1)
            tasks.append(_Task("" if other >= 0 else REMOVED, inner, other, aligned))
        tasks.extend(
            [_Task(ADDED, -1, inner, aligned) for edge, inner in after.items() if edge not in before]
        )
        if self.wire:
            order = [edge for edge in before if edge in after]
            if order != [edge for edge in after if edge in before]:
                names: list[Json] = [str(self.old.steps[before[edge]]) for edge in order]
                others: list[Json] = [str(self.new.steps[after[edge]]) for edge in after if edge in before]
                self._report_part(WIRE, a, b, "$order", names, others)
        self._tasks.extend(reversed(tasks))

    def _items(self, a: int, b: int, aligned: bool) -> None:
        """Compare lists: equal items first, then moved ones, then the likest of the rest."""
        old, new = self.old, self.new
        before, after = old.items[a], new.items[b]
        keys, new_keys = [old.keys[inner] for inner in before], [new.keys[inner] for inner in after]
        matches = Alignment(keys, new_keys).matches
        partners = dict(matches)
        moved = moved_items(keys, new_keys, matches)
        pairs = pair_items(old, new, before, after, matches, moved)
        taken = {there for _, there in pairs} | set(moved.values())
        partners.update(pairs)
        # in the order of the old list, with what is new before the next item that belongs to another
        tasks: list[_Task] = []
        at = 0
        matched = {there for _, there in matches} | taken
        for here, inner in enumerate(before):
            there = partners.get(here, -1)
            if there >= 0:
                while at < there:
                    if at not in matched:
                        tasks.append(_Task(ADDED, -1, after[at], aligned))
                    at += 1
                at = max(at, there + 1)
                tasks.append(_Task("", inner, after[there], aligned))
            elif here in moved:
                tasks.append(_Task(MOVED, inner, after[moved[here]], aligned))
                if self.thorough:
                    tasks.append(_Task("", inner, after[moved[here]], aligned))
            else:
                tasks.append(_Task(REMOVED, inner, -1, aligned))
        tasks.extend(
            [
                _Task(ADDED, -1, after[there], aligned)
                for there in range(at, len(after))
                if there not in matched
            ]
        )
        self._tasks.extend(reversed(tasks))

    def _wire(self, a: int, b: int) -> None:
        """Report another form on the wire of two values that are the same besides their members."""
        if not self.wire:
            return
        before, after = self.old.nodes[a].wire, self.new.nodes[b].wire
        if before != after:
            self._report_part(WIRE, a, b, "$wire", before, after)

    def _reference(self, a: int, b: int, aligned: bool) -> None:
        """Compare two values of which at least one is a reference."""
        old, new = self.old, self.new
        target = old.targets[a] if old.sorts[a] == REFERENCE else a
        other = new.targets[b] if new.sorts[b] == REFERENCE else b
        if target < 0 or other < 0:
            if old.keys[a] == new.keys[b]:
                self.same += 1
            else:
                self._report(CHANGED, a, b)
            return
        if target != a and other != b:
            self.references.append((a, b, len(self.changes)))
            if self.wire and old.nodes[a].reference != new.nodes[b].reference:
                self._report_part(WIRE, a, b, "$ref", old.nodes[a].reference, new.nodes[b].reference)
            return
        # a copy in place of a reference, or the other way
        if self.wire:
            self._report(WIRE, a, b)
        size, other_size = old.ends[target] - target, new.ends[other] - other
        least, most = sorted((size, other_size))
        if most <= EXPANDED_LEAST or most <= EXPANDED * least:
            self._tasks.append(_Task("", target, other, False))
        elif old.keys[target] != new.keys[other] or not (old.closed(target) and new.closed(other)):
            self._report(CHANGED, a, b)

    def _decide_references(self) -> None:
        """Report the references that refer to something else, each at its place among the changes."""
        found: list[tuple[int, Change]] = []
        for a, b, place in self.references:
            target, other = self.old.targets[a], self.new.targets[b]
            if (target, other) in self.walked or self._equivalent(target, other):
                self.same += 1
                continue
            found.append((place, Change(CHANGED, place_of(self.old, a), place_of(self.new, b))))
        for place, change in reversed(found):
            self.changes.insert(place, change)

    def _equivalent(self, a: int, b: int) -> bool:
        """Whether two values are the same, wherever references lead (bisimilar).

        Pairs are taken for equal until one differs; at most MOST_FOLLOWED are looked at in all, after which
        targets count as different.
        """
        old, new = self.old, self.new
        if old.keys[a] == new.keys[b] and old.closed(a) and new.closed(b):
            if not old.loose[a] and not new.loose[b]:
                return True
        elif old.labels[a] != new.labels[b]:
            return False
        known = self._equal.get((a, b))
        if known is not None:
            return known
        assumed = {(a, b)}
        work = [(a, b)]
        while work:
            x, y = work.pop()
            self.followed += 1
            if self.followed > MOST_FOLLOWED:
                break
            pairs = self._corresponding(x, y)
            if pairs is None:
                break
            for one, other in pairs:
                one = old.targets[one] if old.targets[one] >= 0 else one
                other = new.targets[other] if new.targets[other] >= 0 else other
                if (one, other) not in assumed and not self._equal.get((one, other), False):
                    assumed.add((one, other))
                    work.append((one, other))
        else:
            self._equal.update(dict.fromkeys(assumed, True))
            return True
        self._equal[a, b] = False
        return False

    def _corresponding(self, a: int, b: int) -> list[tuple[int, int]] | None:
        """The pairs of members that must be equal if two values are; None if they differ already."""
        old, new = self.old, self.new
        sort = old.sorts[a]
        if sort != new.sorts[b] or old.labels[a] != new.labels[b]:
            return None
        if sort == ITEMS:
            before, after = old.items[a], new.items[b]
            return list(zip(before, after, strict=True)) if len(before) == len(after) else None
        if sort == KEYED:
            members, others = old.members[a], new.members[b]
            if members.keys() != others.keys():
                return None
            return [(inner, others[edge]) for edge, inner in members.items()]
        return [] if old.keys[a] == new.keys[b] else None


def place_of(graph: Graph, number: int, part: str = "", json: Json = None) -> Place:
    """The place of a value of a graph, or of a part of it."""
    steps = graph.path(number)
    if part:
        steps.append(part)
    node = graph.nodes[number]
    return Place(steps, node.span[0], node, part, json)


def compare(old: Graph, new: Graph, wire: bool = False) -> Differences:
    """What differs between two messages; with `wire` other forms of the same values too."""
    comparison = Comparison(old, new, wire)
    comparison.run()
    return Differences(comparison.changes, comparison.same, max(old.left_out, new.left_out))
