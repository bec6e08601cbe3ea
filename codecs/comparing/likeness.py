"""Pairing what is left of two lists when equal items are matched: a changed item with what it was."""

from collections.abc import Callable, Container, Iterator
from typing import Final

from wirelens.codecs.comparing.alignment import Alignment, common_start
from wirelens.codecs.comparing.graph import SCALAR, Graph

MOST_CELLS: Final = 1 << 12  # pairs of a gap that are weighed; larger gaps are paired by what is plain
MOST_LETTERS: Final = 256  # bytes of texts that are compared, from each end
ALIKE: Final = 0.5  # of pairs of one sort, on top of which comes their likeness, up to 1
UNLIKE: Final = 0.01  # of pairs of different sorts: better than none

Weight = Callable[[int, int], float]


def likeness(old: Graph, a: int, new: Graph, b: int) -> float:
    """How alike two values are: 0 of different sorts, else more than 0 and up to 1."""
    if old.sorts[a] != new.sorts[b]:
        return 0.0
    first, second = old.labels[a], new.labels[b]
    if old.sorts[a] == SCALAR:
        if first[:1] != second[:1]:
            return 0.0
        return 0.1 + 0.9 * _text_likeness(first, second) if first[:1] in b"srxyh" else 0.1
    if first[:1] != second[:1]:
        return 0.0
    one, other = old.sketch(a), new.sketch(b)
    share = len(one & other) / max(len(one | other), 1)
    return (0.1 if first == second else 0.05) + 0.9 * share


def _text_likeness(first: bytes, second: bytes) -> float:
    """The share of two texts that is a common start or end."""
    most = min(len(first), len(second), MOST_LETTERS)
    start = common_start(first[:most], second[:most])
    rest = most - start
    end = common_start(first[: -rest - 1 : -1], second[: -rest - 1 : -1]) if rest else 0
    return (start + end) / max(len(first), len(second), 1)


def pair_items(
    old: Graph,
    new: Graph,
    before: list[int],
    after: list[int],
    matches: list[tuple[int, int]],
    moved: dict[int, int],
) -> list[tuple[int, int]]:
    """Pairs of positions, between the matches, of items that belong together without being equal."""
    gone = set(moved.values())
    pairs: list[tuple[int, int]] = []
    for left, right in gaps(len(before), len(after), matches, moved, gone):
        if len(left) * len(right) <= MOST_CELLS:
            pairs.extend(pair_gap(left, right, lambda a, b: likeness(old, before[a], new, after[b])))
            continue
        first = [_weak_key(old, before[a]) for a in left]
        second = [_weak_key(new, after[b]) for b in right]
        weak = Alignment(first, second).matches
        pairs.extend([(left[a], right[b]) for a, b in weak])
        for rest, other in gaps(len(left), len(right), weak):
            pairs.extend([(left[a], right[b]) for a, b in zip(rest, other, strict=False)])
    return pairs


def moved_items(keys: list[bytes], new_keys: list[bytes], matches: list[tuple[int, int]]) -> dict[int, int]:
    """Equal items at places that do not match: positions in the old list, with those in the new."""
    here = {at for at, _ in matches}
    there = {at for _, at in matches}
    places: dict[bytes, list[int]] = {}
    for at in range(len(new_keys) - 1, -1, -1):
        if at not in there:
            places.setdefault(new_keys[at], []).append(at)
    moved: dict[int, int] = {}
    for at, key in enumerate(keys):
        found = places.get(key) if at not in here else None
        if found:
            moved[at] = found.pop()
    return moved


def gaps(
    length: int,
    new_length: int,
    matches: list[tuple[int, int]],
    moved: Container[int] = (),
    gone: Container[int] = (),
) -> Iterator[tuple[list[int], list[int]]]:
    """The positions between matches, on both sides, without those that moved away (`gone`: to there)."""
    at = new_at = 0
    for end, new_end in [*matches, (length, new_length)]:
        left = [place for place in range(at, end) if place not in moved]
        right = [place for place in range(new_at, new_end) if place not in gone]
        if left and right:
            yield left, right
        at, new_at = end + 1, new_end + 1


def _weak_key(graph: Graph, number: int) -> bytes:
    """What a changed item probably has in common with what it was: its class and its first plain value."""
    if graph.sorts[number] == SCALAR:
        return graph.labels[number][:1]
    inner = number + 1
    plain = inner < graph.ends[number] and graph.sorts[inner] == SCALAR
    return graph.labels[number] + b"\0" + (graph.keys[inner] if plain else b"")


def pair_gap(left: list[int], right: list[int], weight: Weight, least: float = 0.0) -> list[tuple[int, int]]:
    """The pairs, in order, whose likeness is greatest in all; pairs at or below `least` are none.

    `left` times `right` should be at most MOST_CELLS.
    """
    same_length = len(left) == len(right)
    gains = [[_gain(weight(a, b), least, same_length) for b in right] for a in left]
    sums: list[list[float]] = [[0.0] * (len(right) + 1)]
    for gain in gains:
        above = sums[-1]
        row = [0.0]
        for place, value in enumerate(gain):
            row.append(max(above[place] + value, above[place + 1], row[place]))
        sums.append(row)
    found: list[tuple[int, int]] = []
    x, y = len(left), len(right)
    while x and y:
        gained = gains[x - 1][y - 1]
        if gained and sums[x][y] == sums[x - 1][y - 1] + gained:
            x -= 1
            y -= 1
            found.append((left[x], right[y]))
        elif sums[x][y] == sums[x][y - 1]:
            y -= 1
        else:
            x -= 1
    found.reverse()
    return found


def _gain(likeness: float, least: float, same_length: bool) -> float:
    """What a pair adds to the sum."""
    if likeness > least:
        return ALIKE + likeness
    return UNLIKE if same_length and not least else 0.0
