"""Which fields of messages carry the bytes, by their paths."""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.node import FIELDS, Node
from wirelens.codecs.record import Record

PATHS: Final = 10_000  # different paths; the bytes of others are in one, REST
REST: Final = "…"
LAYOUT: Final = "(layout)"  # bytes of a container that are in none of its members: tags, lengths, names
DEEPEST: Final = 24  # parts of a path; what lies deeper counts for the place there


class FieldSizes:
    """Bytes by path, of many messages. `sizes`: [bytes, messages] by path; `total`: bytes of all messages."""

    def __init__(self) -> None:
        self.sizes: Final[dict[str, list[int]]] = {}
        self.messages = 0
        self.total = 0

    def add(self, record: Record) -> None:
        """Count the bytes of a message, each for the deepest field that has it."""
        self.messages += 1
        self.total += record.length
        found: dict[str, int] = {}
        root = record.partial
        counted = 0
        if root is not None:
            counted = _walk(root, found)
        rest = record.length - counted
        if rest > 0:
            found[LAYOUT] = found.get(LAYOUT, 0) + rest
        sizes = self.sizes
        for path, size in found.items():
            entry = sizes.get(path)
            if entry is None:
                if len(sizes) >= PATHS:
                    path = REST
                entry = sizes.setdefault(path, [0, 0])
            entry[0] += size
            entry[1] += 1

    def rows(self) -> list[tuple[str, int, int]]:
        """(path, bytes, messages that have it), most bytes first."""
        rows = [(path, entry[0], entry[1]) for path, entry in self.sizes.items()]
        rows.sort(key=_order)
        return rows


def _order(row: tuple[str, int, int]) -> tuple[int, str]:
    return -row[1], row[0]


class _Open:
    """A container that is being walked: its path, where it and its children end, bytes of its own."""

    def __init__(self, path: str, node: Node, depth: int) -> None:
        self.path: Final = path
        self.node: Final = node
        self.depth: Final = depth


def _walk(root: Node, found: dict[str, int]) -> int:
    """Add the sizes of all fields of a message; the bytes that its root has."""
    stack = [_Open("", root, 0)]
    start, end = root.span
    while stack:
        one = stack.pop()
        node = one.node
        first, last = node.span
        own = last - first
        embedded = node.tape.head(node.index) & t.EMBEDDED != 0
        names = node.class_names() if node.kind == t.OBJECT else []
        place = 0
        key = ""
        reached = first  # several members may lie in the same byte: it counts for the first of them
        for part in node.parts():
            part_first, part_last = part.span
            if embedded or part_first < first or part_last > last or part_last <= part_first:
                if not part.hidden:
                    place += 1
                continue
            if part.hidden:
                continue  # the container's own
            size = max(0, part_last - max(part_first, reached))
            reached = max(reached, part_last)
            path = _path(one.path, node, part, names, place, key)
            if node.kind == t.MAP and place % 2 == 0:
                key = part.text or part.shown
            place += 1
            own -= size
            if size == 0:
                continue
            if part.kind in t.CONTAINERS and one.depth < DEEPEST:
                stack.append(_Open(path, part, one.depth + 1))
            else:
                found[path] = found.get(path, 0) + size
        if own > 0:
            path = f"{one.path} {LAYOUT}".strip()
            found[path] = found.get(path, 0) + own
    return end - start


def _path(above: str, node: Node, part: Node, names: list[str], place: int, key: str) -> str:
    """The path of a member, with [*] for every item of a list."""
    kind = node.kind
    if kind == t.ARRAY or kind == t.LIST:
        return f"{above}[*]"
    if kind == t.OBJECT:
        name = names[place + 1] if place + 1 < len(names) else "?"
    elif kind == t.MAP:
        name = f"{key}" if place % 2 else "(keys)"
    else:
        name = FIELDS[int(part.tape.head(part.index) >> t.FIELD_SHIFT)].name or "?"
    return f"{above}.{name}" if above else name
