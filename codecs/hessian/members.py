"""The members of an object or map on the tape by name, for reading well-known classes."""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.node import ONLY_VALUE, Node

# Limits, so that values reached repeatedly through references cost little each time.
MAX_FIELDS: Final = 64  # members of one object
MAX_TEXT: Final = 4096  # bytes of one text
MAX_ITEMS: Final = 64  # items of one array of numbers or names

_WHOLE: Final = (t.INT, t.LONG, t.INT8, t.INT16, t.INT32, t.INT64)
TEXTS: Final = (t.STRING, t.STRING16, t.TEXT, t.SYMBOL, *t.ENCODINGS)


class Members:
    """The first `MAX_FIELDS` members of an object or map, by name, and its class.

    Of members with the same name the first counts. `get` and the methods after it follow references.
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
        """The value of a member; the target of a reference."""
        value = self.values.get(name)
        return None if value is None else follow(value)

    def text(self, name: str) -> str | None:
        """The text of a member; None if it is not a text."""
        return text_of(self.get(name))

    def whole(self, name: str) -> int | None:
        """The integer of a member; None if it is not an integer."""
        return whole_of(self.get(name))

    def null(self, name: str) -> bool:
        """True if the member exists and is null."""
        value = self.values.get(name)
        return value is not None and value.kind == t.NULL


def follow(node: Node) -> Node | None:
    """The node itself, or the target of a reference; None for a dangling reference."""
    if node.kind != t.REF:
        return node
    target = node.target
    if not 0 <= target < node.tape.size():
        return None
    value = Node(node.tape, target, node.buffer)
    return None if value.kind == t.REF else value


def text_of(node: Node | None) -> str | None:
    """The text of a well-formed string of at most `MAX_TEXT` bytes; None for any other value."""
    if node is None or node.kind not in TEXTS:
        return None
    size = node.tape.end(node.index) - node.tape.start(node.index)
    return None if size > MAX_TEXT + 64 else node.text


def whole_of(node: Node | None) -> int | None:
    """The number of an integer; None for any other value."""
    return None if node is None or node.kind not in _WHOLE else node.number


def class_name(node: Node) -> str:
    """The class of an object, the type of a list or map; empty if it has none."""
    if node.kind == t.OBJECT:
        for part in Node(node.tape, node.number & t.LOW_HALF, node.buffer).parts():
            if part.kind in TEXTS:
                return text_of(part) or ""
        return ""
    if node.kind in (t.MAP, t.LIST):
        for part in node.parts():
            if part.kind == t.TYPE and part.number >= 0:
                text = int(node.tape.following(part.number))
                if text < node.tape.next(part.number):
                    return text_of(Node(node.tape, text, node.buffer)) or ""
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
    if node.tape.head(node.number & t.LOW_HALF) & t.VALUED:
        names.append(ONLY_VALUE)
    return names[1:]


def numbers_of(node: Node | None) -> list[int] | None:
    """The items of a list of at most `MAX_ITEMS` integers; None for any other value."""
    if node is None or node.kind != t.LIST:
        return None
    numbers: list[int] = []
    for part in node.parts():
        if part.hidden:
            continue
        number = whole_of(part)
        if number is None or len(numbers) == MAX_ITEMS:
            return None
        numbers.append(number)
    return numbers


def names_of(node: Node | None) -> list[str] | None:
    """The strings, or the names of the classes, in a list; "…" after the first `MAX_ITEMS`."""
    if node is None or node.kind != t.LIST:
        return None
    names: list[str] = []
    for part in node.parts():
        if part.hidden:
            continue
        if len(names) == MAX_ITEMS:
            names.append("…")
            break
        value = follow(part)
        if value is not None and value.kind in (t.OBJECT, t.MAP):
            names.append(Members(value).text("name") or "?")
        else:
            names.append(text_of(value) or "?")
    return names
