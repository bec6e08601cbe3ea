"""Lines of styled segments, and values as text, for all views.

A line is a list of segments (style, text). Text from the wire is untrusted and always escaped, by
`codecs.words`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs import tape as t
from wirelens.codecs.words import clean, count, escape, quote
from wirelens.formatters.names import split_package

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import Final, TypeAlias

    from wirelens.codecs.node import Node
    from wirelens.codecs.tape import Fault

    Segment: TypeAlias = tuple[str, str]
    Line: TypeAlias = list[Segment]

# Styles, named after what a segment holds. `palettes.LOOKS` has the look of each.
PLAIN: Final = ""
PROTOCOL: Final = "protocol"
SUMMARY: Final = "summary"
NAME: Final = "name"
TYPE: Final = "type"
NUMBER: Final = "number"
STRING: Final = "string"
BYTES: Final = "bytes"
WORD: Final = "word"
REFERENCE: Final = "reference"

TEXTS: Final = (t.TEXT, t.STRING, t.STRING16, t.XML, *t.ENCODINGS)  # kinds
ANNOTATION: Final = "annotation"
DIM: Final = "dim"
NOTE: Final = "note"
ERROR: Final = "error"
HEADING: Final = "heading"
BAR: Final = "bar"
ADDED: Final = "added"
REMOVED: Final = "removed"
MATCH: Final = "match"

UNLIMITED: Final = 1 << 60
LEAST: Final = 16  # cells that a value always gets, even on a narrower terminal

_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # as in JSON of the notation
_BREAKS: Final = dict.fromkeys(b"\n\r\t")


class Layout:
    """The room for lines: `width` in cells; None: unlimited, nothing is shortened.

    `measure` gives the cells that a text takes. `plain` leaves out types, wire forms and offsets. `whole`:
    lines are laid out for the width but not shortened, so that a search in a pager finds what is in them.
    `depth`: levels of a tree that are shown; deeper ones are folded.
    """

    def __init__(
        self,
        width: int | None = None,
        measure: Callable[[str], int] = len,
        plain: bool = False,
        whole: bool = False,
        depth: int | None = None,
    ) -> None:
        self.width: Final = width
        self.measure: Final = measure
        self.plain: Final = plain
        self.depth: Final = depth
        self.limit: Final = None if whole else width  # cells to which a line is shortened

    def uncut(self) -> Layout:
        """The same for a pager."""
        return Layout(self.width, self.measure, self.plain, True, self.depth)

    def room(self, used: int) -> int:
        """Cells left on a line after `used` cells, at least LEAST."""
        return UNLIMITED if self.limit is None else max(self.limit - used, LEAST)

    def cells(self, line: Line) -> int:
        """Cells that a line takes."""
        measure = self.measure
        return sum([measure(text) for _, text in line])

    def fit(self, line: Line) -> Line:
        """The line cut to the width; a line with an error stays whole."""
        width = self.limit
        if width is None or self.cells(line) <= width or any(style == ERROR for style, _ in line):
            return line
        fitted: Line = []
        room = width - self.measure("…")
        for style, text in line:
            cells = self.measure(text)
            if cells > room:
                fitted.append((style, self.cut(text, room) + "…"))
                break
            fitted.append((style, text))
            room -= cells
        return fitted

    def shortened(self, text: str, room: int) -> str:
        """The start of a text with a mark that there was more, in at most `room` cells."""
        return self.cut(text, room - self.measure("…")) + "…"

    def cut(self, text: str, room: int) -> str:
        """The longest start of the text that takes at most `room` cells."""
        if len(text) <= room and (text.isascii() or self.measure(text) <= room):
            return text
        low, high = 0, min(len(text), room)
        while low < high:
            middle = (low + high + 1) // 2
            if self.measure(text[:middle]) <= room:
                low = middle
            else:
                high = middle - 1
        return text[:low]


_PLAIN_LAYOUT: Final = Layout(plain=True)


def plain(line: Line) -> str:
    """A line as plain text."""
    return "".join([text for _, text in line])


_DRAWN: Final = {
    "─": "-",
    "│": "|",
    "├": "|",
    "└": "`",
    "…": "...",
    "→": "->",
    "←": "<-",
    "✕": "x",
    "◆": "*",
    "·": ".",
    "↳": ">",
    "┃": "|",
    "█": "=",
    "▉": "=",
    "▊": "=",
    "▋": "=",
    "▌": "=",
    "▍": "-",
    "▎": "-",
    "▏": "-",
    "●": "o",
    "–": "-",
    "−": "-",
    "±": "+-",
    "µ": "u",
}
_CONTENT: Final = {NAME, STRING, WORD, SUMMARY, ANNOTATION}  # text from the input


def in_ascii(line: Line) -> Line:
    """A line with ASCII only: the marks of the drawing as their like, other characters escaped."""
    if all(text.isascii() for _, text in line):
        return line
    return [(style, _ascii(text, "…←" if style in _CONTENT else _DRAWN)) for style, text in line]


def ascii_cells(text: str) -> int:
    """The cells that a text takes with ASCII only."""
    return len(text if text.isascii() else _ascii(text, _DRAWN))


def _ascii(text: str, marks: Container[str]) -> str:
    if text.isascii():
        return text
    return "".join(
        [char if char.isascii() else _DRAWN[char] if char in marks else escape(char) for char in text]
    )


def text_segments(text: str, room: int, layout: Layout, style: str = STRING) -> Line:
    """A text in quotes; if it takes more than `room` cells, its start and its length."""
    start = layout.cut(text, room)
    quoted = quote(start)
    if len(start) == len(text) and layout.measure(quoted) <= room:
        return [(style, quoted)]
    length = f" {count(len(text), 'character')}"
    start = layout.cut(start, max(room - len(length) - 3, LEAST // 2))
    while len(start) > LEAST // 2 and layout.measure(quote(start)) + len(length) + 1 > room:
        start = start[: len(start) * 3 // 4]
    return [(style, quote(start)[:-1] + '…"'), (TYPE, length)]


def bytes_segments(content: bytes, room: int, layout: Layout, digits: bool = True) -> Line:
    """Bytes as their number, hex, and text if they are readable as text; shortened to `room` cells.

    `digits` False leaves out the hex, for views that show it elsewhere on the line.
    """
    length = count(len(content), "byte")
    line: Line = [(TYPE, length)]
    room -= len(length) + 1
    text = _readable(content, room * 2) if len(content) > 3 else None
    if not content or (text is None and not digits):
        return line
    hex_cells = len(content) * 2
    if digits and hex_cells <= (room if text is None else room // 2):
        line.append((BYTES, " " + content.hex()))
        if text is not None:
            line.append((PLAIN, " "))
            line.extend(text_segments(text, max(room - hex_cells - 1, LEAST), layout))
    elif text is not None:
        start = layout.cut(text, max(room - 4, LEAST))
        whole = len(start) == len(text) and len(content) <= room * 2
        line.append((STRING, " " + quote(start)[:-1] + ('"' if whole else '…"')))
    else:
        line.append((BYTES, " " + content[: max((room - 2) // 2, 4)].hex() + "…"))
    return line


def _readable(content: bytes, limit: int) -> str | None:
    """The first `limit` bytes as text if they are printable UTF-8; else None."""
    head = content[:limit]
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if len(content) <= limit or error.start < limit - 3:
            return None
        text = head[: error.start].decode()
    return text if text.translate(_BREAKS).isprintable() else None


def reference_name(node: Node) -> str:
    """`#n` of a list, map or object that a back reference points to."""
    return f"#{node.reference}"


def title(node: Node, names: list[str] | None = None) -> Line:
    """A container's class or type, number of items, and `#n`; `names` are an object's class and fields."""
    kind = node.kind
    line: Line = []
    if kind == t.STRUCT:
        return line
    number = len(node)
    if kind == t.ARRAY:
        return [(TYPE, f"({number:,})")]
    if kind == t.OBJECT:
        name = names[0] if names else node.type_name
        line.extend(class_words(clean(name)) if name else [(WORD, 'object of class ""')])
    elif kind == t.REMOTE:
        line.append((WORD, "remote " + clean(node.type_name or "")))
    else:
        name = node.type_name
        line.extend(class_words(clean(name)) if name else [(TYPE, node.kind_name)])
        if kind != t.TYPED:
            line.append((TYPE, f" ({_size(node, number // 2 if kind == t.MAP else number)})"))
    if node.referred:
        line.extend([(PLAIN, " "), (REFERENCE, reference_name(node))])
    return line


def class_words(name: str) -> Line:
    """A class or type, its package in the background."""
    package, last = split_package(name)
    return [(TYPE, package), (WORD, last)] if package and last else [(WORD, name)]


def _size(node: Node, number: int) -> str:
    """The number of a list's items or a map's entries, and of how many where an error ended it."""
    tape = node.tape
    if tape.head(node.index) & t.BROKEN:
        end = tape.next(node.index)
        index = tape.following(node.index)
        while index < end and tape.head(index) & t.HIDDEN:
            if tape.kind(index) == t.LENGTH and tape.number(index) > number:
                return f"{number:,} of {int(tape.number(index)):,}"
            index = tape.next(index)
    return f"{number:,}"


def target_words(node: Node, layout: Layout) -> Line:
    """What a REF points to: its number, its class or type without the package, and its offset."""
    from wirelens.codecs.node import Node as View

    target = node.target
    number = f"#{node.reference} " if node.reference >= 0 or target < 0 else ""
    if target < 0:
        path = next((part.text for part in node.parts()), None)
        shown = number if path is None else f"{clean(path)} "
        return [(ERROR, f"→ {shown}nothing")]
    view = View(node.tape, target, node.buffer)
    name = view.type_name or view.kind_name
    at = int(node.buffer.absolute(node.tape.start(target)))
    line: Line = [(REFERENCE, f"→ {number}{clean(name.rpartition('.')[2] or name)}")]
    return line if layout.plain else [*line, (DIM, f" at {at}")]


def value_segments(node: Node, room: int, layout: Layout) -> Line:
    """The value of a node without children in about `room` cells, with its type if that is not obvious."""
    kind = node.kind
    if kind == t.NAMED:
        names = node.field.names
        number = node.number
        name = None if names is None else names.get(number)
        if name is None:
            return [(NUMBER, str(number))]
        return [(WORD, name)] if layout.plain else [(WORD, name), (TYPE, f" ({number})")]
    if kind in TEXTS:
        text = node.text
        if text is None:
            return [(TYPE, "malformed text, "), *bytes_segments(node.content, room - 16, layout)]
        return text_segments(text, room, layout)
    if kind in (t.HEX, t.BYTES):
        return bytes_segments(node.content, room, layout)
    if kind == t.REF:
        return target_words(node, layout)
    if kind == t.FAULT:
        fault = node.tape.faults[node.number]
        return [(ERROR, f"✕ {fault.code} at {fault.offset}: {clean(fault.text)}")]
    if kind in (t.NULL, t.ABSENT):
        return [(WORD, "null")]
    if kind in (t.BOOL, t.BOOLEAN):
        return [(WORD, "true" if node.number else "false")]
    if kind == t.DATE:
        from wirelens.codecs.numbers import FIRST_MILLISECOND, LAST_MILLISECOND, date_text

        number = node.number
        dated = FIRST_MILLISECOND <= number <= LAST_MILLISECOND
        return typed((NUMBER, date_text(number) if dated else f"{number} ms"), "date", layout)
    if kind == t.COMPUTED:
        render = node.field.render
        shown = None if render is None else render(node)
        if isinstance(shown, str):
            return text_segments(shown, room, layout, WORD)
        from wirelens.codecs.json_text import dumps

        return [(NUMBER, layout.cut(dumps(shown), room))]
    value = node.value
    if t.NULL <= kind < t.TYPE:
        text = str(value)
        return typed((NUMBER, _NOT_FINITE.get(text, text)), node.kind_name, layout)
    if isinstance(value, str):
        return text_segments(value, room, layout)
    if isinstance(value, bytes):
        return bytes_segments(value, room, layout)
    return [(NUMBER, str(value))]


def value_text(node: Node, room: int) -> str:
    """The value of a node without children as plain text in at most about `room` characters."""
    return plain(value_segments(node, room, _PLAIN_LAYOUT))


def wrapped(margin: str, style: str, text: str, layout: Layout) -> Iterator[Line]:
    """A sentence after a margin, on as many lines as it needs."""
    room = layout.room(layout.measure(margin))
    rest = text
    while layout.measure(rest) > room:
        start = layout.cut(rest, room)
        blank = start.rfind(" ", len(start) // 2)
        end = len(start) if blank < 0 or rest[len(start) : len(start) + 1] == " " else blank
        yield [(DIM, margin), (style, rest[:end])]
        margin = " " * layout.measure(margin)
        rest = rest[end:].lstrip(" ")
    yield [(DIM, margin), (style, rest)]


def after_title(style: str, title: str, rest: Line, layout: Layout) -> Iterator[Line]:
    """A title with what stands after it; that follows on lines of its own where there is no room."""
    line: Line = [(style, title), (PLAIN, "  "), *rest]
    if layout.limit is None or layout.cells(line) <= layout.limit:
        yield line
        return
    yield from wrapped("", style, title, layout)
    yield from wrapped("  ", DIM, plain(rest), layout)


def fault_words(fault: Fault) -> Line:
    """An error, whose offset stands next to it."""
    return [(ERROR, f"✕ {fault.code}: {clean(fault.text)}" if fault.text else f"✕ {fault.code}")]


def typed(value: Segment, kind: str, layout: Layout) -> Line:
    """A value followed by its type."""
    return [value] if layout.plain else [value, (TYPE, " " + kind)]


def wire_segments(node: Node) -> Line:
    """The node's wire form if it is not the usual one."""
    if node.form == 0:
        return []
    from wirelens.codecs.json_text import dumps

    return [(DIM, f"  wire {clean(dumps(node.wire))}")]
