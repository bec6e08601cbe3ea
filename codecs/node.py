"""The view of a tape's nodes for people and formatters, and the tables of names that it needs."""

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from librt.strings import read_f32_be, read_f64_be
from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.tape import Buffer, Fault, Tape
from wirelens.codecs.words import clean

REPR_SHOWN: Final = 60  # characters of a value in a node's repr

Json: TypeAlias = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Value: TypeAlias = None | bool | int | float | str | bytes | Fault

_OVERLONG: Final = rb"[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]"


class Field:
    """A named member of a protocol's messages.

    `names` maps the numbers of a NAMED member to the words of the specification; `render` makes the
    JSON of a COMPUTED member from its node.
    """

    def __init__(
        self, name: str, names: dict[int, str] | None = None, render: Callable[["Node"], Json] | None = None
    ) -> None:
        self.name: Final = name
        self.names: Final = names
        self.render: Final = render
        self.key: Final = b'"' + name.encode() + b'": '
        self.next_key: Final = b", " + self.key
        self.quoted_names: Final[dict[int, bytes]] = {}
        if names is not None:
            for number, word in names.items():
                self.quoted_names[number] = b'"' + word.encode() + b'"'


class Hint:
    """A wire form other than the protocol's usual one, and its `$wire`.

    The JSON is fixed, or made by `render` from the node. Hints lose nothing: given the JSON with
    its `$wire`, `encode` writes the same bytes again.
    """

    def __init__(self, fixed: Json, render: Callable[["Node"], Json] | None) -> None:
        self.fixed: Final = fixed
        self.render: Final = render

    def json(self, node: "Node") -> Json:
        """The `$wire` of a node with this hint."""
        return self.fixed if self.render is None else self.render(node)


class Scalar:
    """A sort of scalar that only one protocol has: its tag in the notation, and what makes its JSON."""

    def __init__(self, tag: str, render: Callable[["Node"], Json]) -> None:
        self.tag: Final = tag
        self.render: Final = render


SCALARS: Final[list[Scalar]] = []
FIELDS: Final[list[Field]] = [Field("")]
HINTS: Final[list[Hint]] = [Hint(None, None)]


def field(
    name: str, names: dict[int, str] | None = None, render: Callable[["Node"], Json] | None = None
) -> int:
    """Register a member; returns its number for `tape.head`. Called when a codec module loads."""
    FIELDS.append(Field(name, names, render))
    assert len(FIELDS) <= t.FIELD_MASK
    return len(FIELDS) - 1


def scalar(tag: str, render: Callable[["Node"], Json]) -> int:
    """Register a sort of SCALAR; returns its number. Called when a codec module loads."""
    SCALARS.append(Scalar(tag, render))
    return len(SCALARS) - 1


def hint(json: Json | Callable[["Node"], Json]) -> int:
    """Register a wire form by its `$wire` JSON, or what makes it from the node; returns its number."""
    if callable(json):
        HINTS.append(Hint(None, json))
    else:
        HINTS.append(Hint(json, None))
    assert len(HINTS) <= t.FORM_MASK
    return len(HINTS) - 1


# The notation's tags of integers that are not plain.
TAGS: Final[dict[int, str]] = {
    t.LONG: "$long",
    t.INT8: "$int8",
    t.INT16: "$int16",
    t.INT64: "$int64",
    t.VAR_INT: "$int",
    t.VAR_UINT: "$uint",
    t.UINT8: "$uint8",
    t.UINT16: "$uint16",
    t.UINT32: "$uint32",
    t.UINT64: "$uint64",
}

ONLY_VALUE: Final = "$value"  # in place of a field's name, where objects of a class have one value

KIND_NAMES: Final[dict[int, str]] = {
    t.STRUCT: "struct",
    t.ARRAY: "array",
    t.INTEGER: "integer",
    t.UNSIGNED: "integer",
    t.BOOLEAN: "boolean",
    t.NAMED: "name",
    t.TEXT: "text",
    t.HEX: "bytes",
    t.COMPUTED: "text",
    t.ABSENT: "absent",
    t.FAULT: "error",
    t.NULL: "null",
    t.BOOL: "bool",
    t.INT: "int",
    t.INT32: "Int32",
    t.LONG: "long",
    t.INT8: "Int8",
    t.INT16: "Int16",
    t.INT64: "Int64",
    t.VAR_INT: "Int",
    t.VAR_UINT: "UInt",
    t.UINT8: "UInt8",
    t.UINT16: "UInt16",
    t.UINT32: "UInt32",
    t.UINT64: "UInt64",
    t.DOUBLE: "double",
    t.FLOAT32: "Float32",
    t.STRING: "string",
    t.STRING16: "string",
    t.BYTES: "binary",
    t.DATE: "date",
    t.LIST: "list",
    t.MAP: "map",
    t.OBJECT: "object",
    t.REF: "ref",
    t.XML: "xml",
    t.REMOTE: "remote",
    t.TYPED: "typed",
    t.SYMBOL: "name",
    t.SCALAR: "scalar",
    **dict.fromkeys(t.ENCODINGS, "string"),
    t.TYPE: "type",
    t.CLASS: "class",
    t.CHUNK: "chunk",
    t.LENGTH: "length",
    t.MARK: "mark",
}


def double_of(bits: int) -> float:
    """The double of 64 bits given as a signed integer."""
    return read_f64_be(bits.to_bytes(8, "big", signed=True), 0)


def single_of(bits: int) -> float:
    """The double that equals the IEEE 754 single of 32 bits."""
    return read_f32_be((bits & 0xFFFFFFFF).to_bytes(4, "big"), 0)


def utf8(content: bytes) -> str | None:
    """Text of well-formed UTF-8, or None."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def encoded_text(content: bytes, kind: i64) -> str | None:
    """Text in one of tape.ENCODINGS, by its kind, or None where it is malformed."""
    encoding = t.ENCODINGS[int(kind)]
    if kind == t.UTF16 and content[:2] not in (b"\xfe\xff", b"\xff\xfe"):
        encoding = "utf-16-be"
    errors = "strict" if kind == t.GB18030 or kind == t.LATIN1 else "surrogatepass"
    try:
        return content.decode(encoding, errors)
    except UnicodeDecodeError:
        return None


def utf16_text(content: bytes) -> str | None:
    """Text of UTF-16 units each in UTF-8 by itself (CESU-8), or None where a sequence is malformed.

    Surrogate pairs are joined, lone surrogates kept; four-byte UTF-8 reads as itself, a character in more
    bytes than it needs as that character, as every reader in Java has it.
    """
    try:
        return content.decode()
    except UnicodeDecodeError:
        pass
    try:
        units = content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        try:
            units = shortest_utf8(content).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def shortest_utf8(content: bytes) -> bytes:
    """UTF-8 with each overlong sequence of two or three bytes in the shortest form of its character."""
    return re.sub(_OVERLONG, _shortest, content)


def _shortest(match: re.Match[bytes]) -> bytes:
    sequence = match[0]
    return chr((sequence[-2] & 0x3F) << 6 | sequence[-1] & 0x3F).encode()


class Node:
    """One node of a message: a light view that holds no data of its own.

    `parent` is None for the root. `position` counts the shown children of the parent, from 0. Iterating gives
    the children; `node["name"]` is a member, of a map the value under that key; `node[3]` is a child.
    """

    def __init__(
        self, tape: Tape, index: int, buffer: Buffer, parent: "Node | None" = None, position: int = 0
    ) -> None:
        self.tape: Final = tape
        self.index: Final = index
        self.buffer: Final = buffer
        self.parent: Final = parent
        self.position: Final = position

    def __repr__(self) -> str:
        start, end = self.span
        value = ""
        if self.kind not in t.CONTAINERS:
            shown = self.shown
            value = " " + clean(shown if len(shown) <= REPR_SHOWN else shown[:REPR_SHOWN] + "…")
        kind = self.type_name or self.kind_name
        return f"<Node {clean(self.path) or 'root'}: {clean(kind)}{value} at {start}-{end}>"

    def __iter__(self) -> Iterator["Node"]:
        for part in self.parts():
            if not part.hidden:
                yield part

    def __len__(self) -> int:
        tape = self.tape
        end = tape.next(self.index)
        index = tape.following(self.index)
        number = 0
        while index < end:
            if tape.head(index) & t.HIDDEN == 0:
                number += 1
            index = tape.next(index)
        return number

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: int | str) -> "Node":
        if isinstance(key, int):
            found = self.first(key + 1) if key >= 0 else self.children
            return found[key]
        node = self.get(key)
        if node is None:
            raise KeyError(key)
        return node

    def get(self, name: str, default: "Node | None" = None) -> "Node | None":
        """The child with that name, of a map the value under that key; `default` if there is none."""
        if self.kind != t.MAP:
            node = self.member(name)
            return default if node is None else node
        members = iter(self)
        for key, value in zip(members, members, strict=False):
            if key.value == name:
                return value
        return default

    @property
    def kind(self) -> int:
        """One of the kinds of tape.py."""
        return int(self.tape.kind(self.index))

    @property
    def kind_name(self) -> str:
        """The kind in a word."""
        if self.kind == t.SCALAR:
            return self.tagged()[0].removeprefix("$")
        return KIND_NAMES[self.kind]

    @property
    def number(self) -> int:
        """The kind's number; see tape.py."""
        return int(self.tape.number(self.index))

    @property
    def field(self) -> Field:
        """Which member of its message's layout this node is; the name is empty if it is none."""
        return FIELDS[int(self.tape.head(self.index) >> t.FIELD_SHIFT)]

    @property
    def form(self) -> int:
        """Wire form: 0, or a number that `hint` returned."""
        return int(self.tape.head(self.index) >> t.FORM_SHIFT & t.FORM_MASK)

    @property
    def wire(self) -> Json:
        """The `$wire` of the notation: None for the protocol's usual form."""
        form = self.form
        return None if form == 0 else HINTS[form].json(self)

    @property
    def hidden(self) -> bool:
        """Whether it is a part of the layout that is not in the message's JSON."""
        return self.tape.head(self.index) & t.HIDDEN != 0

    @property
    def referred(self) -> bool:
        """Whether a back reference points to this list, map or object."""
        return self.tape.head(self.index) & t.REFERRED != 0

    @property
    def span(self) -> tuple[int, int]:
        """[start, end) in the input, absolute, in bytes."""
        buffer = self.buffer
        return (
            int(buffer.absolute(self.tape.start(self.index))),
            int(buffer.absolute(self.tape.end(self.index))),
        )

    @property
    def raw(self) -> bytes:
        """The node's bytes."""
        return self.buffer.data[self.tape.start(self.index) : self.tape.end(self.index)]

    @property
    def content(self) -> bytes:
        """The content of text or bytes, without the length before it; of chunks, joined."""
        number = self.tape.number(self.index)
        if number >= 0:
            return self.buffer.data[number : self.tape.end(self.index)]
        return b"".join([chunk.content for chunk in self.parts() if chunk.kind == t.CHUNK])

    @property
    def reference(self) -> int:
        """A list's, map's or object's number in the reference table, or the one a REF names; -1: none."""
        number = self.number
        kind = self.kind
        if kind == t.OBJECT:
            return number >> 32
        if kind == t.REF:
            low = number & t.LOW_HALF
            return low - (1 << 32) if low >> 31 else low
        return number

    @property
    def target(self) -> int:
        """The index of the node that a REF points to; -1 if it dangles."""
        return (self.number >> 32) - 1

    @property
    def type_name(self) -> str | None:
        """The class of an object, the type of a list or map; None if it has none."""
        kind = self.kind
        if kind == t.OBJECT:
            names = self.class_names()
            return names[0] if names else None
        if kind in (t.LIST, t.MAP, t.REMOTE, t.TYPED):
            for part in self.parts():
                if part.kind == t.TYPE:
                    return part.text
                break
        return None

    @property
    def text(self) -> str | None:
        """Text of a text node, a class or a type; None if its bytes are not well-formed."""
        kind = self.kind
        if kind in (t.TEXT, t.STRING):
            return utf8(self.content)
        if kind in (t.STRING16, t.XML):
            return utf16_text(self.content)
        if kind in t.ENCODINGS:
            return encoded_text(self.content, kind)
        if kind == t.TYPE or kind == t.SYMBOL:
            defined = self.number
            if defined < 0:
                return None
            text = int(self.tape.following(defined))
            if self.tape.next(defined) == text:  # cut off before its text
                return None
            return Node(self.tape, text, self.buffer).text
        if kind == t.CLASS:
            names = self.names_of_class(self.index)
            return names[0] if names else None
        return None

    def tagged(self) -> tuple[str, Json]:
        """The tag of a SCALAR, and its value."""
        scalar = SCALARS[self.number]
        return scalar.tag, scalar.render(self)

    @property
    def value(self) -> Value:
        """The value in Python: None, bool, int, float, str, bytes; a Fault; None for containers.

        Malformed text is given as its bytes, a NAMED member as its name if it has one, a date in
        milliseconds, a reference as its number.
        """
        kind = self.kind
        if kind == t.UNSIGNED or t.VAR_UINT <= kind <= t.UINT64:
            return self.number & 0xFFFFFFFFFFFFFFFF
        if kind in (t.INTEGER, t.DATE, t.LENGTH) or t.INT <= kind <= t.INT32:
            return self.number
        if kind == t.NAMED:
            names = self.field.names
            return self.number if names is None else names.get(self.number, self.number)
        if kind in (t.TEXT, t.STRING, t.STRING16, t.XML) or kind in t.ENCODINGS:
            text = self.text
            return self.content if text is None else text
        if kind == t.SCALAR:
            value = self.tagged()[1]
            return str(value) if isinstance(value, (list, dict)) else value
        if kind in (t.BOOLEAN, t.BOOL):
            return self.number != 0
        if kind in (t.BYTES, t.HEX, t.CHUNK):
            return self.content
        if kind == t.DOUBLE:
            return double_of(self.number)
        if kind == t.FLOAT32:
            return single_of(self.number)
        if kind == t.REF:
            return self.reference
        if kind == t.FAULT:
            return self.tape.faults[self.number]
        if kind in (t.TYPE, t.CLASS, t.SYMBOL):
            return self.number if kind == t.SYMBOL and self.number < 0 else self.text
        if kind == t.COMPUTED:
            render = self.field.render
            shown = None if render is None else render(self)
            return None if isinstance(shown, (list, dict)) else shown
        return None

    @property
    def shown(self) -> str:
        """The value as text for a summary: malformed text with U+FFFD, bytes as hex, a container's type."""
        value = self.value
        if value is None:
            return (self.type_name or self.kind_name) if self.kind in t.CONTAINERS else "null"
        if isinstance(value, bytes):
            return value.hex() if self.kind in (t.BYTES, t.HEX, t.CHUNK) else value.decode("utf-8", "replace")
        return str(value)

    @property
    def name(self) -> str:
        """The member's, field's or item's name: text, or the position as digits; empty for a root."""
        name = self.field.name
        parent = self.parent
        if name or parent is None or self.hidden:
            return name
        if parent.kind == t.OBJECT:
            names = parent.class_names()
            if self.position + 1 < len(names):
                return names[self.position + 1]
        return str(self.position)

    @property
    def path(self) -> str:
        """The node's place, as in `lines[2].value`."""
        names: list[str] = []
        node: Node | None = self
        while node is not None and node.parent is not None:
            plain = node.parent.kind in (t.ARRAY, t.LIST, t.MAP, t.TYPED)
            names.append(f"[{node.name}]" if plain else "." + node.name)
            node = node.parent
        return "".join(reversed(names)).removeprefix(".")

    @property
    def inner(self) -> Buffer:
        """The buffer that the children's offsets point into."""
        if self.tape.head(self.index) & t.EMBEDDED:
            return self.tape.buffers[self.number]
        return self.buffer

    def parts(self) -> Iterator["Node"]:
        """All children, the hidden parts of the layout included, in stream order."""
        tape = self.tape
        inner = self.inner
        end = tape.next(self.index)
        index = tape.following(self.index)
        position: i64 = 0
        while index < end:
            yield Node(tape, index, inner, self, position)
            if tape.head(index) & t.HIDDEN == 0:
                position += 1
            index = tape.next(index)

    def first(self, most: int) -> list["Node"]:
        """The first children, at most `most`."""
        tape = self.tape
        inner = self.inner
        found: list[Node] = []
        end = tape.next(self.index)
        index = tape.following(self.index)
        while index < end and len(found) < most:
            if tape.head(index) & t.HIDDEN == 0:
                found.append(Node(tape, index, inner, self, len(found)))
            index = tape.next(index)
        return found

    @property
    def children(self) -> list["Node"]:
        """The children that are part of the message; of a map, keys and values alternate."""
        return self.first(t.MOST_WORDS)

    def member(self, name: str) -> "Node | None":
        """The child with that name, or None."""
        tape = self.tape
        if tape.kind(self.index) == t.STRUCT:  # its members' names are those of their fields
            end = tape.next(self.index)
            index = tape.following(self.index)
            position: i64 = 0
            while index < end:
                head = tape.head(index)
                if FIELDS[head >> t.FIELD_SHIFT].name == name:
                    return Node(tape, index, self.inner, self, position)
                if head & t.HIDDEN == 0:
                    position += 1
                index = tape.next(index)
            if not name.isdecimal():
                return None
        for part in self.parts():
            if part.name == name:
                return part
        return None

    def number_of(self, name: str, default: int = 0) -> int:
        """The number of the child with that name, or `default`; an error in its place has no number."""
        node = self.member(name)
        return default if node is None or node.kind == t.FAULT else node.number

    def text_of(self, name: str, default: str = "") -> str:
        """The text of the child with that name, or `default` where it has none."""
        node = self.member(name)
        return default if node is None else node.text or default

    def shown_of(self, name: str) -> str:
        """The child with that name as `shown` gives it; empty if there is none."""
        node = self.member(name)
        return "" if node is None else node.shown

    def content_of(self, name: str) -> bytes:
        """The content of the child with that name; empty if there is none."""
        node = self.member(name)
        return b"" if node is None else node.content

    def class_names(self) -> list[str]:
        """An object's class and the names of its fields, in order."""
        return self.names_of_class(self.number & t.LOW_HALF)

    def names_of_class(self, index: int) -> list[str]:
        """The texts below the CLASS node at `index`; malformed ones with U+FFFD. VALUED adds ONLY_VALUE."""
        names: list[str] = []
        for part in Node(self.tape, index, self.buffer).parts():
            kind = part.kind
            if kind in (t.TEXT, t.STRING, t.STRING16):
                text = part.text
                names.append(part.content.decode("utf-8", "replace") if text is None else text)
        if self.tape.head(index) & t.VALUED:
            names.append(ONLY_VALUE)
        return names


def root_of(tape: Tape) -> Node:
    """The root of a tape with at least one node."""
    return Node(tape, 0, tape.buffer)
