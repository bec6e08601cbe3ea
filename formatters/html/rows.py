"""The nodes of messages as the columns of a table, for the page's trees, bytes and drawings.

A row is a node, or a line without bytes of its own: a detail of a node, a member of a computed value, an
error where decoding stopped. Positions are counted in the space of a message: its own bytes, then the content
of each buffer that was joined or unpacked from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wirelens.codecs import tape as t
from wirelens.codecs.json_text import dumps
from wirelens.codecs.node import Node
from wirelens.codecs.tape import CONTAINERS, Fault
from wirelens.codecs.words import clean, count
from wirelens.formatters import layout as lay
from wirelens.formatters.layout import Layout
from wirelens.formatters.tree import Walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.codecs import Json, Record
    from wirelens.codecs.tape import Buffer

MOST_ROWS: Final = 20_000  # rows of one message
MOST_BYTES: Final = 1 << 16  # bytes of one message that are shown, and of each buffer unpacked from it
MOST_TEXT: Final = 4_000  # characters of a value
LONG_TEXT: Final = 24  # bytes of a text that the page reads from the message's bytes

IN_BYTES: Final = -1  # the value of a number

# Flags of a row.
LAYOUT: Final = 1  # a part of the layout, or a map's key, which its value's row shows
MADE: Final = 2  # a line without bytes of its own

# Letters of kinds, by which the page colours values.
OBJECT: Final = "o"
STRUCT: Final = "{"
LIST: Final = "["
MAP: Final = "m"
TEXT: Final = "s"
NUMBER: Final = "n"
NAME: Final = "e"
WORD: Final = "k"
BYTES: Final = "b"
REFERENCE: Final = "r"
ERROR: Final = "x"
CLASS: Final = "c"
PART: Final = "l"
DETAIL: Final = "d"
_LETTERS: Final[dict[int, str]] = {
    t.STRUCT: STRUCT,
    t.ARRAY: LIST,
    t.LIST: LIST,
    t.MAP: MAP,
    t.OBJECT: OBJECT,
    t.TYPED: OBJECT,
    t.REMOTE: OBJECT,
    t.NAMED: NAME,
    t.HEX: BYTES,
    t.BYTES: BYTES,
    t.CHUNK: PART,
    t.LENGTH: PART,
    t.MARK: PART,
    t.NULL: WORD,
    t.ABSENT: WORD,
    t.BOOL: WORD,
    t.BOOLEAN: WORD,
    t.REF: REFERENCE,
    t.FAULT: ERROR,
    t.CLASS: CLASS,
    t.TYPE: CLASS,
    t.SYMBOL: CLASS,
    **dict.fromkeys(lay.TEXTS, TEXT),
}
_CLASSES: Final = (t.OBJECT, t.REMOTE)
_WORDS: Final = {lay.TYPE, lay.DIM}


class Section(NamedTuple):
    """Bytes that the page shows: where they start in the message's space, what there is of them."""

    start: int
    length: int
    shown: bytes


class MessageRows(NamedTuple):
    """A message's rows: how many there are and what they leave out, its sections, what references mean."""

    rows: int
    left_out: int
    sections: list[Section]
    references: list[int]  # pairs: a row, and the row that it means


class Strings:
    """Texts by their number; number 0 is the empty one."""

    def __init__(self) -> None:
        self.texts: list[str] = [""]
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        """The number of a text."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


class Table:
    """The rows of all messages, a list for each column.

    `starts` are relative to the row before, within a message. A value below 0 is not repeated here: the page
    reads a text, or bytes, from -1 - value bytes after the row's start to its end, a number from the last
    eight bytes.
    """

    def __init__(self, strings: Strings) -> None:
        self.strings: Final = strings
        self.levels: list[int] = []
        self.kinds: list[str] = []
        self.names: list[int] = []
        self.starts: list[int] = []
        self.lengths: list[int] = []
        self.values: list[int] = []
        self.types: list[int] = []
        self.notes: list[int] = []
        self.flags: list[int] = []

    def __len__(self) -> int:
        return len(self.levels)

    def columns(self) -> dict[str, Json]:
        """The columns, as the page has them."""
        return {
            "levels": list(self.levels),
            "kinds": "".join(self.kinds),
            "names": list(self.names),
            "starts": list(self.starts),
            "lengths": list(self.lengths),
            "values": list(self.values),
            "types": list(self.types),
            "notes": list(self.notes),
            "flags": list(self.flags),
        }

    def add(self, record: Record) -> MessageRows:
        """Add the rows of a message."""
        return _Message(self, record).add()


class _Open:
    """A container whose parts are being added."""

    __slots__ = ("flags", "key", "level", "names", "node", "parts", "shift")

    def __init__(self, node: Node, level: int, shift: int, names: list[str] | None, flags: int = 0) -> None:
        self.node = node
        self.level = level  # of its parts
        self.flags = flags  # LAYOUT: all parts are of the layout
        self.shift = shift  # from positions in its inner buffer to those in the message's space
        self.names = names
        self.parts: Iterator[Node] = node.parts()
        self.key = ""  # the last key of a map


class _Message:
    """Adds the rows of one message."""

    def __init__(self, table: Table, record: Record) -> None:
        self.table = table
        self.record = record
        self.first = len(table)
        self.before = 0  # where the row before starts
        self.layout = Layout()
        self.sections: list[Section] = []
        self.shifts: dict[int, int] = {}  # of inner buffers, by their numbers
        self.space = record.length
        self.rows_of: dict[int, int] = {}  # rows by their nodes
        self.references: list[tuple[int, int]] = []  # rows, and the nodes that they mean

    def add(self) -> MessageRows:
        record = self.record
        tape = record.tape
        buffer = None if tape is None else tape.buffer
        if record.error is not None or buffer is None:
            data = record.raw
        else:
            at = record.offset - int(buffer.base)
            data = buffer.data[at : at + min(record.length, MOST_BYTES)]
        self.sections.append(Section(0, record.length, data[:MOST_BYTES]))
        left_out = 0
        if record.codec is not None and tape is not None and tape.size():
            left_out = self._tree(Node(tape, 0, tape.buffer), Walk(record.codec, self.layout, 0))
        else:
            self._row(0, STRUCT, "", 0, record.length)
            self._row(1, BYTES, "not decoded", 0, record.length, "", count(record.length, "byte"))
            self._error(1)
        references = [
            number
            for row, node in self.references
            if node in self.rows_of
            for number in (row, self.rows_of[node])
        ]
        return MessageRows(len(self.table) - self.first, left_out, self.sections, references)

    def _tree(self, root: Node, walk: Walk) -> int:
        """Add all rows of a message; the number of nodes that are left out."""
        record = self.record
        error = record.error
        placed = error is not None and walk.place(root, Fault(error.code, error.offset, error.text))
        shift = int(root.buffer.base) - record.offset
        end = int(root.tape.end(0)) + shift
        self._row(
            0,
            STRUCT if root.kind == t.STRUCT else _letter(root),
            "",
            0,
            record.length,
            *self._title(root, walk),
        )
        self.rows_of[0] = 0
        if root.kind not in CONTAINERS and root.tape.next(0) == root.tape.following(
            0
        ):  # a message that is one value
            self._node(root, walk, 1, shift, "value", 0)
        stack = [self._open(root, walk, 1, shift)]
        while stack:
            frame = stack[-1]
            node = next(frame.parts, None)
            if node is None:
                stack.pop()
                fault = walk.faults.get(int(frame.node.index))
                if fault is not None:
                    self._fault(frame.level, fault)
                continue
            if len(self.table) - self.first >= MOST_ROWS:
                self._error(1)
                return int(root.tape.nodes(node.index, root.tape.size()))
            if int(node.index) in walk.left_out:
                continue
            inside = (
                root.tape.next(node.index) > root.tape.following(node.index) or int(node.index) in walk.faults
            )
            name, flags = self._name(frame, node)
            flags |= frame.flags
            self._node(node, walk, frame.level, frame.shift, name, flags)
            if inside:
                stack.append(self._open(node, walk, frame.level + 1, frame.shift, flags & LAYOUT))
        if error is not None:
            if end < record.length:
                rest = record.length - end
                self._row(1, BYTES, "not decoded", end, rest, "", count(rest, "byte"))
            if not placed:
                self._error(1)
        return 0

    def _open(self, node: Node, walk: Walk, level: int, shift: int, flags: int = 0) -> _Open:
        tape = node.tape
        if node.kind == t.STRUCT and tape.fault_count():
            walk.look_for_fault(node)
        if tape.head(node.index) & t.EMBEDDED:
            shift = self._inner(int(node.number), node.inner)
        names = walk.names_of(node) if node.kind == t.OBJECT else None
        return _Open(node, level, shift, names, flags)

    def _inner(self, number: int, buffer: Buffer) -> int:
        """Where an inner buffer starts in the message's space; it gets a section of its own."""
        found = self.shifts.get(number)
        if found is None:
            found = self.shifts[number] = self.space
            size = len(buffer.data)
            self.sections.append(Section(found, size, buffer.data[:MOST_BYTES]))
            self.space += size
        return found

    def _name(self, frame: _Open, node: Node) -> tuple[str, int]:
        """A part's name, and its flags."""
        if node.hidden:
            return node.field.name or _part_name(frame.node, node), LAYOUT
        kind = frame.node.kind
        if kind == t.MAP:
            if int(node.position) % 2 == 0:
                simple = node.kind not in CONTAINERS
                frame.key = self._key(node) if simple else "value"
                return "key", LAYOUT if simple else 0
            return frame.key, 0
        name = node.field.name
        if name:
            return name, 0
        if kind == t.CLASS:
            return "field" if node.position else "name", 0
        position = int(node.position) + 1
        if frame.names is not None and position < len(frame.names):
            return frame.names[position], 0
        return f"[{node.position}]", 0

    def _key(self, node: Node) -> str:
        if node.kind == t.SYMBOL:
            return f"[{clean(node.shown[:80])}]"
        return f"[{lay.value_text(node, 80)}]"

    def _node(self, node: Node, walk: Walk, level: int, shift: int, name: str, flags: int) -> None:
        """Add the row of a node, and the lines below it that are no nodes."""
        tape = node.tape
        index = int(node.index)
        start = int(tape.start(index)) + shift
        length = int(tape.end(index) - tape.start(index))
        self.rows_of.setdefault(index, len(self.table) - self.first)
        kind = node.kind
        note = self._note(node, walk)
        if kind in CONTAINERS:
            self._row(level, _letter(node), name, start, length, *self._title(node, walk), note, flags)
        else:
            value, kind_words = self._value(node, walk)
            if kind == t.REF and node.target >= 0:
                self.references.append((len(self.table) - self.first, int(node.target)))
            self._row(level, _letter(node), name, start, length, value, kind_words, note, flags)
            if kind == t.COMPUTED:
                self._computed(node, level + 1, start, length)
        if not node.hidden:
            for detail in walk.codec.details(node):
                text = clean(detail.expandtabs(4))[:MOST_TEXT]
                self._row(level + 1, DETAIL, "", start, length, text, "", "", MADE)

    def _note(self, node: Node, walk: Walk) -> str:
        """What the protocol says of a node, and its unusual wire form."""
        if node.hidden:
            return ""
        words = lay.plain(lay.wire_segments(node)).strip()
        annotation = walk.codec.annotate(node)
        if annotation and annotation != node.type_name:
            words = f"{clean(annotation)}  {words}".strip()
        return words[:MOST_TEXT]

    def _title(self, node: Node, walk: Walk) -> tuple[str, str]:
        """A container's value and type; the value of an object is its number, if it is referred to."""
        if node.kind not in CONTAINERS:
            return "", ""
        names = walk.names_of(node) if node.kind == t.OBJECT else None
        line = lay.title(node, names)
        if node.kind in _CLASSES:
            number = lay.reference_name(node) if node.referred else ""
            return number, lay.plain([part for part in line if part[0] in (lay.TYPE, lay.WORD)])
        return "", lay.plain(line)

    def _value(self, node: Node, walk: Walk) -> tuple[str | int, str]:
        """A value, and its type. A number is as of Table."""
        kind = node.kind
        tape = node.tape
        start, end = int(tape.start(node.index)), int(tape.end(node.index))
        if kind in lay.TEXTS and node.number >= 0:
            size = end - node.number
            if size >= LONG_TEXT and kind in (t.TEXT, t.STRING, t.STRING16, t.XML):
                try:
                    node.buffer.data[node.number : end].decode()
                except UnicodeDecodeError:
                    pass
                else:
                    return start - 1 - node.number, ""
        if kind in (t.LONG, t.DOUBLE) and node.form == 0:
            data = node.buffer.data[max(end - 8, start) : end]
            whole = (node.number & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "big")
            if data == whole:
                return IN_BYTES, node.kind_name
        if kind in (t.BYTES, t.HEX) and node.number >= 0 and int(node.index) not in walk.undecoded_at:
            return start - 1 - node.number, count(end - node.number, "byte")
        if kind in (t.TYPE, t.CLASS):
            return clean(node.text or "")[:MOST_TEXT], ""
        if kind == t.CHUNK:
            return "", count(len(node.content), "byte")
        if kind == t.MARK and not node.number:
            return "", ""
        if int(node.index) in walk.undecoded_at:
            return "", f"{count(end - node.number, 'byte')} not decoded"
        if kind == t.COMPUTED:
            render = node.field.render
            shown = None if render is None else render(node)
            if isinstance(shown, (dict, list)):
                return "", f"({len(shown):,})"
        line = lay.value_segments(node, MOST_TEXT, self.layout)
        value = "".join([text for style, text in line if style not in _WORDS]).strip()
        return value, "".join([text for style, text in line if style in _WORDS]).strip()

    def _computed(self, node: Node, level: int, start: int, length: int) -> None:
        """Add the members of a computed value."""
        render = node.field.render
        shown = None if render is None else render(node)
        stack = [(level, name, member) for name, member in _members(shown)]
        while stack and len(self.table) - self.first < MOST_ROWS:
            level, name, member = stack.pop()
            if isinstance(member, (dict, list)):
                kind = MAP if isinstance(member, dict) else LIST
                self._row(level, kind, name, start, length, "", f"({len(member):,})", "", MADE)
                stack.extend([(level + 1, inner, item) for inner, item in _members(member)])
                continue
            text = (
                lay.plain(lay.text_segments(member, MOST_TEXT, self.layout))
                if isinstance(member, str)
                else dumps(member)
            )
            kind = (
                TEXT
                if isinstance(member, str)
                else WORD
                if member is None or isinstance(member, bool)
                else NUMBER
            )
            self._row(level, kind, name, start, length, text, "", "", MADE)

    def _error(self, level: int) -> None:
        error = self.record.error
        if error is not None:
            self._fault(level, Fault(error.code, error.offset, error.text))

    def _fault(self, level: int, fault: Fault) -> None:
        """Add an error where decoding stopped."""
        at = min(max(int(fault.offset) - self.record.offset, 0), self.record.length)
        words = f"{fault.code}: {clean(fault.text)}" if fault.text else fault.code
        self._row(level, ERROR, "", at, 0, words[:MOST_TEXT])

    def _row(
        self,
        level: int,
        kind: str,
        name: str,
        start: int,
        length: int,
        value: str | int = "",
        kind_words: str = "",
        note: str = "",
        flags: int = 0,
    ) -> None:
        table = self.table
        number = table.strings.number
        table.levels.append(level)
        table.kinds.append(kind)
        table.names.append(number(name))
        table.starts.append(start - self.before)
        table.lengths.append(length)
        table.values.append(value if isinstance(value, int) else number(value))
        table.types.append(number(kind_words))
        table.notes.append(number(note))
        table.flags.append(flags)
        self.before = start


def _letter(node: Node) -> str:
    return _LETTERS.get(node.kind, NUMBER)


def _part_name(parent: Node, node: Node) -> str:
    """The name of a part of the layout without a field."""
    if parent.kind == t.CLASS:
        return "field" if node.position else "name"
    return node.kind_name


def _members(value: Json) -> list[tuple[str, Json]]:
    """The members of an object or a list with their names, the last one first."""
    if isinstance(value, dict):
        return [(clean(name) or '""', member) for name, member in value.items()][::-1]
    if isinstance(value, list):
        return [(f"[{place}]", member) for place, member in enumerate(value)][::-1]
    return []
