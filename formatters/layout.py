"""Lines of styled segments, and the texts of values that all views share.

Text from the wire is untrusted: whatever is not printable (control characters, escape sequences,
direction overrides, lone surrogates) is shown escaped, never sent to a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs import tape as t

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, TypeAlias

    from wirelens.codecs.node import Node

    Segment: TypeAlias = tuple[str, str]
    Line: TypeAlias = list[Segment]

# Styles, by what a segment is. `terminal.STYLES` gives each its look.
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
ANNOTATION: Final = "annotation"
DIM: Final = "dim"
NOTE: Final = "note"
ERROR: Final = "error"
HEADING: Final = "heading"

UNLIMITED: Final = 1 << 60
LEAST: Final = 16  # cells of a value that are shown however narrow the terminal is

_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # as the notation has them
_BREAKS: Final = dict.fromkeys(b"\n\r\t")
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


class Layout:
    """How much room there is: `width` in cells (None: no limit, nothing is shortened).

    `measure` gives the cells that a text takes; `plain` leaves out types, wire forms and offsets.
    """

    def __init__(
        self, width: int | None = None, measure: Callable[[str], int] = len, plain: bool = False
    ) -> None:
        self.width: Final = width
        self.measure: Final = measure
        self.plain: Final = plain

    def room(self, used: int) -> int:
        """Cells left for a value on a line of which `used` are taken."""
        return UNLIMITED if self.width is None else max(self.width - used, LEAST)

    def cells(self, line: Line) -> int:
        """Cells that a line takes."""
        measure = self.measure
        return sum([measure(text) for _, text in line])

    def fit(self, line: Line) -> Line:
        """A line cut to the width; one with an error stays whole."""
        width = self.width
        if width is None or self.cells(line) <= width or any(style == ERROR for style, _ in line):
            return line
        fitted: Line = []
        for style, text in line:
            cells = self.measure(text)
            if cells >= width:
                fitted.append((style, self.cut(text, width - 1) + "…"))
                break
            fitted.append((style, text))
            width -= cells
        return fitted

    def cut(self, text: str, room: int) -> str:
        """The start of a text that takes at most `room` cells."""
        if len(text) * 2 <= room or (self.measure(text[: room + 1]) <= room and len(text) <= room):
            return text
        low, high = 0, min(len(text), room)
        while low < high:
            middle = (low + high + 1) // 2
            if self.measure(text[:middle]) <= room:
                low = middle
            else:
                high = middle - 1
        return text[:low]


def plain(line: Line) -> str:
    """A line as plain text."""
    return "".join([text for _, text in line])


def clean(text: str) -> str:
    """Text with whatever is not printable as an escape."""
    if text.isprintable():
        return text
    return "".join([char if char.isprintable() or char == "\u3000" else _escape(char) for char in text])


def _escape(char: str) -> str:
    code = ord(char)
    return _ESCAPES.get(char) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def quote(text: str) -> str:
    """Text in double quotes, escaped."""
    return '"' + clean(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def count(number: int, what: str, several: str = "") -> str:
    """A number of things: "1 byte", "2,000 bytes"."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def text_segments(text: str, room: int, layout: Layout, style: str = STRING) -> Line:
    """A quoted text, shortened to `room` cells with its full length said."""
    short = layout.cut(text, room)
    shown = quote(short)
    if len(short) == len(text) and layout.measure(shown) <= room:
        return [(style, shown)]
    said = f" {count(len(text), 'character')}"
    short = layout.cut(short, max(room - len(said) - 3, LEAST // 2))
    while len(short) > 1 and layout.measure(quote(short)) + len(said) + 1 > room and len(short) > LEAST // 2:
        short = short[: len(short) * 3 // 4]
    return [(style, quote(short)[:-1] + '…"'), (TYPE, said)]


def bytes_segments(content: bytes, room: int, layout: Layout, digits: bool = True) -> Line:
    """Bytes as their number, hex, and text where they read as text; shortened to `room` cells.

    `digits` False leaves out the hex: it stands beside.
    """
    size = len(content)
    said = count(size, "byte")
    line: Line = [(TYPE, said)]
    room -= len(said) + 1
    text = _readable(content, room * 2) if size > 3 else None
    if not size or (text is None and not digits):
        return line
    if digits and size * 2 <= (room if text is None else room // 2):
        line.append((BYTES, " " + content.hex()))
        if text is not None:
            line.append((PLAIN, " "))
            line.extend(text_segments(text, max(room - size * 2 - 1, LEAST), layout))
    elif text is not None:
        short = layout.cut(text, max(room - 4, LEAST))
        whole = len(short) == len(text) and len(content) <= room * 2
        line.append((STRING, " " + quote(short)[:-1] + ('"' if whole else '…"')))
    else:
        line.append((BYTES, " " + content[: max((room - 2) // 2, 4)].hex() + "…"))
    return line


def _readable(content: bytes, most: int) -> str | None:
    """The text, of the first `most` bytes, where they are one; None for others."""
    head = content[:most]
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if len(content) <= most or error.start < most - 3:
            return None
        text = head[: error.start].decode()
    return text if text.translate(_BREAKS).isprintable() else None


def reference_name(node: Node) -> str:
    """`#n` of a list, map or object that something refers to."""
    return f"#{node.reference}"


def title(node: Node, names: list[str] | None = None) -> Line:
    """What a container is, in a few words: class or type, how many there are in it, `#n`."""
    kind = node.kind
    line: Line = []
    if kind == t.STRUCT:
        return line
    number = shown_children(node)
    if kind == t.ARRAY:
        return [(TYPE, f"({number:,})")]
    if kind == t.OBJECT:
        name = names[0] if names else node.type_name
        line.append((WORD, clean(name or '""')))
    elif kind == t.REMOTE:
        line.append((WORD, "remote " + clean(node.type_name or "")))
    else:
        name = node.type_name
        line.append((WORD if name else TYPE, clean(name) if name else node.kind_name))
        line.append((TYPE, f" ({number // 2 if kind == t.MAP else number:,})"))
    if node.referred:
        line.append((REFERENCE, " " + reference_name(node)))
    return line


def shown_children(node: Node) -> int:
    """How many children show; counts without making views of them."""
    tape = node.tape
    end = tape.next(node.index)
    index = node.index + 1
    number = 0
    while index < end:
        if not tape.head(index) & t.HIDDEN:
            number += 1
        index = tape.next(index)
    return number


def target_name(node: Node) -> str:
    """The class or type of what a REF means, or what it is."""
    from wirelens.codecs.node import Node as View

    target = node.target
    if target < 0:
        return "nothing"
    view = View(node.tape, target, node.buffer)
    return view.type_name or view.kind_name


def value_segments(node: Node, room: int, layout: Layout) -> Line:
    """The value of a node without children, with its type where the value alone does not tell it."""
    kind = node.kind
    if kind == t.NAMED:
        names = node.field.names
        number = node.number
        name = None if names is None else names.get(number)
        if name is None:
            return [(NUMBER, str(number))]
        return [(WORD, name)] if layout.plain else [(WORD, name), (TYPE, f" ({number})")]
    if kind in (t.TEXT, t.STRING, t.STRING16, t.XML):
        text = node.text
        if text is None:
            return [(TYPE, "malformed text, "), *bytes_segments(node.content, room - 16, layout)]
        return text_segments(text, room, layout)
    if kind in (t.HEX, t.BYTES):
        return bytes_segments(node.content, room, layout)
    if kind == t.REF:
        dangling = node.target < 0
        return [(ERROR if dangling else REFERENCE, f"→ #{node.reference} {clean(target_name(node))}")]
    if kind == t.FAULT:
        fault = node.tape.faults[node.number]
        return [(ERROR, f"{fault.code} at {fault.offset}: {clean(fault.text)}")]
    if kind in (t.NULL, t.ABSENT):
        return [(WORD, "null")]
    if kind in (t.BOOL, t.BOOLEAN):
        return [(WORD, "true" if node.number else "false")]
    if kind == t.DATE:
        from wirelens.codecs.numbers import FIRST_MILLISECOND, LAST_MILLISECOND, date_text

        number = node.number
        known = FIRST_MILLISECOND <= number <= LAST_MILLISECOND
        return typed((NUMBER, date_text(number) if known else f"{number} ms"), "date", layout)
    if kind == t.COMPUTED:
        render = node.field.render
        shown = None if render is None else render(node)
        if isinstance(shown, str):
            return text_segments(shown, room, layout, WORD)
        from wirelens.codecs.json_text import dumps

        return [(NUMBER, layout.cut(dumps(shown), room))]
    value = node.value
    if kind >= t.NULL and kind < t.TYPE:
        said = _NOT_FINITE.get(str(value)) or str(value)
        return typed((NUMBER, said), node.kind_name, layout)
    if isinstance(value, str):
        return text_segments(value, room, layout)
    if isinstance(value, bytes):
        return bytes_segments(value, room, layout)
    return [(NUMBER, str(value))]


def typed(value: Segment, kind: str, layout: Layout) -> Line:
    """A value with its type behind it."""
    return [value] if layout.plain else [value, (TYPE, " " + kind)]


def wire_segments(node: Node) -> Line:
    """The wire form of a node that has an unusual one."""
    if node.form == 0:
        return []
    from wirelens.codecs.json_text import dumps

    return [(DIM, f"  wire {clean(dumps(node.wire))}")]
