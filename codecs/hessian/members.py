"""The named values of an object on the tape, for reading classes that are known."""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node

# Limits, so that values reached again and again through references cost little each time.
MAX_FIELDS: Final = 64  # named values of one object looked at
MAX_TEXT: Final = 4096  # bytes of one text read
MAX_ITEMS: Final = 64  # items of one array of numbers or of names

_WHOLE: Final = (t.INT, t.LONG, t.INT8, t.INT16, t.INT32, t.INT64)
TEXTS: Final = (t.STRING, t.STRING16, t.TEXT)


class Members:
    """The first `MAX_FIELDS` values of an object or a map, by name, and its class.

    Of fields with one name the first counts. References are followed when a value is asked for.
    """

    def __init__(self, node: Node) -> None:
        self.node: Final = node
        self.type: Final = class_name(node)
        self.values: Final[dict[str, Node]] = {}
        names = field_names(node) if node.kind == t.OBJECT else []
        key: str | None = None
        for count, part in enumerate(part for part in node.parts() if not part.hidden):
            if count >= 2 * MAX_FIELDS:
                break
            if node.kind == t.OBJECT:
                if count >= len(names):
                    break
                self.values.setdefault(names[count], part)
            elif count % 2 == 0:
                key = text_of(part)
            elif key is not None:
                self.values.setdefault(key, part)

    def get(self, name: str) -> Node | None:
        """The value of a field; what it refers to where it is a reference."""
        value = self.values.get(name)
        return None if value is None else follow(value)

    def text(self, name: str) -> str | None:
        return text_of(self.get(name))

    def whole(self, name: str) -> int | None:
        return whole_of(self.get(name))

    def null(self, name: str) -> bool:
        """True where the field is there and null."""
        value = self.values.get(name)
        return value is not None and value.kind == t.NULL


def follow(node: Node) -> Node | None:
    """The node itself, or the one that it refers to; None where the reference dangles."""
    if node.kind != t.REF:
        return node
    target = node.target
    if not 0 <= target < node.tape.size():
        return None
    found = Node(node.tape, target, node.buffer)
    return None if found.kind == t.REF else found


def text_of(node: Node | None) -> str | None:
    """The text of a string of at most `MAX_TEXT` bytes that is well-formed; None for anything else."""
    if node is None or node.kind not in TEXTS:
        return None
    size = node.tape.end(node.index) - node.tape.start(node.index)
    return None if size > MAX_TEXT + 64 else node.text


def whole_of(node: Node | None) -> int | None:
    """The number of an integer; None for anything else."""
    return None if node is None or node.kind not in _WHOLE else node.number


def class_name(node: Node) -> str:
    """The class of an object, the type of a list or map; empty where there is none."""
    if node.kind == t.OBJECT:
        for part in Node(node.tape, node.number & t.LOW_HALF, node.buffer).parts():
            if part.kind in TEXTS:
                return text_of(part) or ""
        return ""
    if node.kind in (t.MAP, t.LIST):
        for part in node.parts():
            if part.kind == t.TYPE and part.number >= 0 and node.tape.next(part.number) > part.number + 1:
                return text_of(Node(node.tape, part.number + 1, node.buffer)) or ""
            break
    return ""


def field_names(node: Node) -> list[str]:
    """The names of the first fields of an object, in the order of its class."""
    names: list[str] = []
    for part in Node(node.tape, node.number & t.LOW_HALF, node.buffer).parts():
        if part.kind in TEXTS:
            names.append(text_of(part) or "")
            if len(names) > MAX_FIELDS:
                break
    return names[1:]


def numbers_of(node: Node | None) -> list[int] | None:
    """The integers of a list of at most `MAX_ITEMS` that holds nothing else."""
    if node is None or node.kind != t.LIST:
        return None
    found: list[int] = []
    for part in node.parts():
        if part.hidden:
            continue
        number = whole_of(part)
        if number is None or len(found) == MAX_ITEMS:
            return None
        found.append(number)
    return found


def names_of(node: Node | None) -> list[str] | None:
    """The strings, or the names of the classes, of a list; the first ones where there are many."""
    if node is None or node.kind != t.LIST:
        return None
    found: list[str] = []
    for part in node.parts():
        if part.hidden:
            continue
        if len(found) == MAX_ITEMS:
            found.append("…")
            break
        value = follow(part)
        if value is not None and value.kind in (t.OBJECT, t.MAP):
            found.append(Members(value).text("name") or "?")
        else:
            found.append(text_of(value) or "?")
    return found
