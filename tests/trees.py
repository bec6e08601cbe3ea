"""Tapes of Hessian values built by hand, from the neutral trees that vectors hold."""

import struct
from typing import Any

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node, field
from wirelens.codecs.tape import Buffer, Tape, head, object_number, reference_number

Tree = dict[str, Any]

VALUES = field("values")


class Builder:
    """Writes trees on one tape; objects, lists and maps are numbered in order of opening.

    A tree: `kind` null, bool, int, long, double (`number` or `bits`), date (`ms`), string (`value`), binary
    (`hex`), list (`type`, `items`), map (`type`, `entries`), object (`type`, `fields`), ref (`id`).
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.places: list[int] = []
        self.classes: dict[tuple[str, ...], int] = {}
        self.tape = Tape(Buffer(b""))

    def text(self, text: str, flags: int = 0) -> None:
        content = text.encode("utf-8", "surrogatepass")
        start = len(self.data)
        self.data += b"S" + content
        self.tape.leaf(head(t.STRING16) | flags, start, len(self.data), start + 1)

    def leaf(self, kind: int, number: int) -> None:
        self.data += b"?"
        self.tape.leaf(head(kind), len(self.data) - 1, len(self.data), number)

    def type(self, name: str | None) -> None:
        if name is not None:
            index = self.tape.open(head(t.TYPE) | t.HIDDEN, len(self.data), self.tape.size())
            self.text(name, t.HIDDEN)
            self.tape.close(index, len(self.data))

    def define(self, names: tuple[str, ...]) -> int:
        if names not in self.classes:
            index = self.classes[names] = int(self.tape.open(head(t.CLASS) | t.HIDDEN, len(self.data), 0))
            for name in names:
                self.text(name, t.HIDDEN)
            self.tape.close(index, len(self.data))
        return self.classes[names]

    def opened(self, kind: int, number: int) -> int:
        self.data += b"("
        index = int(self.tape.open(head(kind), len(self.data) - 1, number))
        self.places.append(index)
        return index

    def add(self, tree: Tree) -> None:
        kind = tree["kind"]
        tape = self.tape
        if kind == "null":
            self.leaf(t.NULL, 0)
        elif kind == "bool":
            self.leaf(t.BOOL, int(tree["value"]))
        elif kind in ("int", "long"):
            self.leaf(t.INT if kind == "int" else t.LONG, int(tree["value"]))
        elif kind == "double":
            bits = bytes.fromhex(tree["bits"]) if "bits" in tree else struct.pack(">d", tree["number"])
            self.leaf(t.DOUBLE, struct.unpack(">q", bits)[0])
        elif kind == "date":
            self.leaf(t.DATE, int(tree["ms"]))
        elif kind == "string":
            self.text(str(tree.get("value", tree.get("head"))))
        elif kind == "binary":
            start = len(self.data)
            self.data += b"B" + bytes.fromhex(tree.get("hex", ""))
            tape.leaf(head(t.BYTES), start, len(self.data), start + 1)
        elif kind == "ref":
            number = int(tree["id"])
            target = self.places[number] if 0 <= number < len(self.places) else -1
            self.leaf(t.REF, reference_number(number, target))
            if target >= 0:
                tape.set_flags(target, t.REFERRED)
        elif kind == "object":
            names = (tree["type"], *[name for name, _ in tree["fields"]])
            number = object_number(self.define(names), len(self.places))
            index = self.opened(t.OBJECT, number)
            for _, value in tree["fields"]:
                self.add(value)
            tape.close(index, len(self.data))
        else:
            index = self.opened(t.LIST if kind == "list" else t.MAP, len(self.places))
            self.type(tree.get("type"))
            for item in tree.get("items", ()):
                self.add(item)
            for key, value in tree.get("entries", ()):
                self.add(key)
                self.add(value)
            tape.close(index, len(self.data))

    def build(self, trees: list[Tree]) -> Tape:
        """The tape of a message `{"values": [...]}`."""
        root = self.tape.open(head(t.STRUCT), 0, 0)
        values = self.tape.open(head(t.ARRAY, VALUES), 0, 0)
        for tree in trees:
            self.add(tree)
        self.tape.close(values, len(self.data))
        self.tape.close(root, len(self.data))
        tape = Tape(Buffer(bytes(self.data)))
        tape.take(self.tape)
        tape.unchecked_names = True  # nobody has looked at the names
        return tape


def build(trees: list[Tree]) -> Tape:
    return Builder().build(trees)


def value(tape: Tape, position: int = 0) -> Node:
    """A top-level value of a built tape."""
    return Node(tape, 0, tape.buffers[0]).children[0].children[position]


def every(tape: Tape) -> list[Node]:
    """All nodes that show, in order."""
    found: list[Node] = []
    stack = [Node(tape, 0, tape.buffers[0])]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(reversed(node.children))
    return found


# Short ways to write trees.
NULL: Tree = {"kind": "null"}


def text(content: str) -> Tree:
    return {"kind": "string", "value": content}


def whole(number: int) -> Tree:
    return {"kind": "int", "value": number}


def long(number: int) -> Tree:
    return {"kind": "long", "value": number}


def double(number: float) -> Tree:
    return {"kind": "double", "number": number}


def date(milliseconds: int) -> Tree:
    return {"kind": "date", "ms": milliseconds}


def binary(content: bytes) -> Tree:
    return {"kind": "binary", "hex": content.hex()}


def ref(number: int) -> Tree:
    return {"kind": "ref", "id": number}


def flag(on: bool) -> Tree:
    return {"kind": "bool", "value": on}


def items(*content: Tree, of: str | None = None) -> Tree:
    return {"kind": "list", "type": of, "items": list(content)}


def entries(*pairs: tuple[Tree, Tree], of: str | None = None) -> Tree:
    return {"kind": "map", "type": of, "entries": [list(pair) for pair in pairs]}


def bean(name: str, /, **fields: Tree) -> Tree:
    return {"kind": "object", "type": name, "fields": [[key, inner] for key, inner in fields.items()]}


def as_map(tree: Tree) -> Tree:
    """The same with objects as Hessian 1.0 has them: typed maps."""
    if tree["kind"] == "object":
        pairs = [(text(name), as_map(inner)) for name, inner in tree["fields"]]
        return entries(*pairs, of=tree["type"])
    if tree["kind"] == "list":
        return {**tree, "items": [as_map(item) for item in tree["items"]]}
    if tree["kind"] == "map":
        return {**tree, "entries": [[as_map(key), as_map(inner)] for key, inner in tree["entries"]]}
    return tree
