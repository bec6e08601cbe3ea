"""The hex view: every byte of a message once, next to its field.

Rows start where fields start. A field whose bytes were shown already (a flag in a byte of flags) has a row
without bytes; bytes of no field are shown as a gap; a container's own bytes (tags, counts, ends) are on rows
of the container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node, root_of
from wirelens.codecs.tape import CONTAINERS, Buffer, Fault
from wirelens.codecs.words import clean, count
from wirelens.formatters import layout as lay
from wirelens.formatters.layout import Layout
from wirelens.formatters.tree import Walk, headline, hex_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.codecs import Record
    from wirelens.formatters.layout import Line

WIDE: Final = 132  # cells from which on a row has sixteen bytes instead of eight
DEEPEST_INDENT: Final = 16  # levels
VALUES: Final = (lay.STRING, lay.NUMBER, lay.WORD, lay.REFERENCE, lay.BYTES, lay.ERROR)  # styles
ROWS: Final = 6  # rows of one field, if the width is limited


def hexview(record: Record, layout: Layout) -> Iterator[Line]:
    """The lines of one record."""
    yield headline(record, layout, 0)
    for note in record.notes:
        text = f"note {note.code} at {note.offset:#x}: {clean(note.text)}"
        yield from lay.wrapped("", lay.NOTE, text, layout)
    for line in _Hex(record, layout).lines():
        yield layout.fit(line)


def _tone(label: Line) -> str:
    """The style of a field's bytes: that of its value; bytes of the layout are in the background."""
    if not label or label[0][0] == lay.DIM:
        return lay.DIM
    return next((style for style, _ in label if style in VALUES), lay.DIM)


class _Level:
    """A container whose parts are being drawn."""

    __slots__ = ("buffer", "end", "name", "names", "node", "outer", "position", "until", "where")

    def __init__(self, node: Node, name: str, names: list[str] | None, outer: int) -> None:
        tape = node.tape
        self.node = node
        self.name = name
        self.names = names
        self.buffer = node.inner
        self.where = int(tape.following(node.index))
        self.until = int(tape.next(node.index))
        self.end = int(tape.end(node.index)) if self.buffer is node.buffer else len(self.buffer.data)
        self.outer = outer  # where the enclosing buffer continues; -1 if it is the same buffer
        self.position = 0


class _Hex:
    """Draws one record."""

    def __init__(self, record: Record, layout: Layout) -> None:
        self.record = record
        self.layout = layout
        self.row = 16 if layout.width is not None and layout.width >= WIDE else 8
        self.cells = self.row * 3 + (self.row - 1) // 8  # of a row's hex
        self.digits = max(len(f"{record.offset + record.length:x}"), 4)  # of an offset
        self.position = 0  # of the first byte in the current buffer that is not drawn yet

    def lines(self) -> Iterator[Line]:
        """The lines below the headline and the notes."""
        record = self.record
        tape = record.tape
        if tape is None or record.codec is None or not tape.size():
            yield from self.rest(Buffer(record.raw, record.offset), 0, len(record.raw))
            return
        buffer = tape.buffer
        self.position = record.offset - int(buffer.base)
        end = self.position + record.length
        yield from self.tree(root_of(tape), Walk(record.codec, self.layout, 0))
        yield from self.rest(buffer, self.position, end)

    def rest(self, buffer: Buffer, start: int, end: int) -> Iterator[Line]:
        """The bytes after the last field, which did not decode."""
        error = self.record.error
        if error is None:
            if start < end:
                yield from self.rows(buffer, start, end, 0, [(lay.DIM, f"gap, {count(end - start, 'byte')}")])
            return
        yield from self.undecoded(buffer, start, end, 0, Fault(error.code, error.offset, error.text))

    def undecoded(self, buffer: Buffer, start: int, end: int, depth: int, fault: Fault) -> Iterator[Line]:
        """All bytes that did not decode, the error at its row."""
        at = min(max(int(fault.offset - buffer.base), start), end)
        if start < at:
            yield from self.rows(buffer, start, at, depth, [(lay.ERROR, "not decoded")], whole=True)
        yield from self.rows(buffer, at, end, depth, lay.fault_words(fault), whole=True)

    def tree(self, root: Node, walk: Walk) -> Iterator[Line]:
        """The rows of all nodes."""
        stack: list[_Level] = []
        node: Node | None = root
        name = ""
        while True:
            if node is not None:
                yield from self.node(node, name, stack, walk)
            if not stack:
                return
            level = stack[-1]
            if level.where >= level.until:
                stack.pop()
                yield from self.leave(level, len(stack))
                node = None
                continue
            parent = level.node
            node = Node(parent.tape, level.where, level.buffer, parent, level.position)
            level.where = int(parent.tape.next(level.where))
            yield from self.gap(level, node, len(stack))
            name = self.name(level, node)
            if not node.hidden:
                level.position += 1

    def name(self, level: _Level, node: Node) -> str:
        """A node's name in its container."""
        name = node.field.name
        if name or node.hidden:
            return name or node.kind_name
        if level.names is not None:
            place = int(node.position) + 1
            if place < len(level.names):
                return level.names[place]
        if level.node.kind == t.CLASS:
            return "field" if node.position else "name"
        if level.node.kind == t.MAP:
            return "value" if node.position & 1 else "key"
        return f"[{node.position}]"

    def node(self, node: Node, name: str, stack: list[_Level], walk: Walk) -> Iterator[Line]:
        """A node's own rows; a container is put on the stack."""
        tape = node.tape
        depth = len(stack)
        start, end = int(tape.start(node.index)), int(tape.end(node.index))
        if int(node.index) in walk.left_out:
            return
        if node.kind == t.STRUCT and tape.fault_count():
            walk.look_for_fault(node)
        for part in walk.undecoded[-1:]:
            if int(node.index) in walk.undecoded_at and self.position > start:
                yield from self.undecoded(node.buffer, self.position, end, depth - 1, part.fault)
                self.position = end
                return
        following = int(tape.following(node.index))
        inner = int(tape.next(node.index)) > following
        own = end
        embedded = node.inner is not node.buffer
        if inner and not embedded:
            own = min(max(int(tape.start(following)), start), end)
        label: Line = []
        if name:
            label = [(lay.DIM if node.hidden else lay.NAME, name)]
        label.extend(self.value(node, name, walk, depth))
        if embedded:
            size = len(node.inner.data)
            label.append((lay.TYPE, f"  ({count(size, 'byte')} joined, with offsets of their own below)"))
        if label:
            yield from self.rows(node.buffer, max(start, self.position), own, depth - 1, label, start)
        else:
            own = min(own, self.position)
        self.position = max(self.position, own)
        if inner:
            outer = -1
            if embedded:
                outer, self.position = max(self.position, end), 0
            names = walk.names_of(node) if node.kind == t.OBJECT else None
            stack.append(_Level(node, name, names, outer))

    def value(self, node: Node, name: str, walk: Walk, depth: int) -> Line:
        """The segments after a node's name: its value, annotated if it has a name."""
        kind = node.kind
        used = self.digits + self.cells + self.row + 6 + min(depth - 1, DEEPEST_INDENT) * 2
        room = self.layout.room(used + self.layout.measure(name) + 2)
        segments: Line = []
        if kind in CONTAINERS:
            segments = walk.title(node)
            if kind == t.STRUCT:
                first = next(iter(node.parts()), None)
                if first is not None and first.kind == t.NAMED and first.field.name == "type":
                    segments = [(lay.WORD, clean(first.shown))]
                elif first is not None and first.field.name == "name" and name.startswith("["):
                    segments = walk.value(first, room)
        elif kind == t.LENGTH or (kind == t.MARK and node.number):
            segments = [(lay.NUMBER, str(node.number))]
        elif kind in (t.TYPE, t.CLASS):
            segments = [(lay.WORD, clean(node.text or ""))]
        elif kind == t.CHUNK:
            segments = [(lay.TYPE, count(len(node.content), "byte"))]
        elif kind != t.MARK:
            if kind in (t.HEX, t.BYTES):
                segments = lay.bytes_segments(node.content, room, self.layout, digits=False)
            else:
                segments = walk.value(node, room)
        if segments and name:
            segments.insert(0, (lay.PLAIN, ": "))
        if name:
            walk.finish(segments, node)
        return segments

    def gap(self, level: _Level, node: Node, depth: int) -> Iterator[Line]:
        """Bytes before a part that belong to no part."""
        start = int(node.tape.start(node.index))
        if start > self.position:
            yield from self.own(level, start, depth, "")

    def leave(self, level: _Level, depth: int) -> Iterator[Line]:
        """The end of a container: bytes after its last part."""
        if level.end > self.position:
            yield from self.own(level, level.end, depth, "end of ")
        if level.outer >= 0:
            self.position = level.outer

    def own(self, level: _Level, until: int, depth: int, where: str) -> Iterator[Line]:
        """Bytes of a container that belong to none of its parts."""
        kind = level.node.kind
        if kind in (t.STRUCT, t.ARRAY):
            label = [(lay.DIM, f"gap, {count(until - self.position, 'byte')}")]
        else:
            label = [(lay.DIM, where + level.node.kind_name)]
        yield from self.rows(level.buffer, self.position, until, depth, label)
        self.position = until

    def rows(
        self,
        buffer: Buffer,
        start: int,
        end: int,
        depth: int,
        label: Line,
        at: int | None = None,
        whole: bool = False,
    ) -> Iterator[Line]:
        """Rows of bytes, the first with the label; without bytes, one row with the label alone.

        On a limited width at most ROWS of them, unless `whole`.
        """
        indent = "  " * min(max(depth, 0), DEEPEST_INDENT)
        if depth > DEEPEST_INDENT:
            indent += f"(level {depth}) "
        size = max(end - start, 0)
        shown = size
        if self.layout.width is not None and size > ROWS * self.row and not whole:
            shown = (ROWS - 1) * self.row
        style = _tone(label)
        for place in range(0, max(shown, 1), self.row):
            piece = buffer.data[start + place : min(start + place + self.row, start + shown)]
            if size:
                line: Line = [(lay.DIM, self.offset(buffer, start + place)), *hex_row(piece, self.row, style)]
                blank = self.row - len(piece)
            else:
                line = [(lay.DIM, self.offset(buffer, start if at is None else at))]
                line.append((lay.PLAIN, " " * (self.cells + 3)))
                blank = self.row
            if place == 0:
                line.append((lay.PLAIN, " " * (blank + 2)))
                line.append((lay.DIM, indent))
                line.extend(label)
            yield line
        if shown < size:
            yield [(lay.DIM, f"{'…':>{self.digits}}  {count(size - shown, 'more byte')}")]

    def offset(self, buffer: Buffer, position: int) -> str:
        """The offset column: in the input or, with +, in content joined from several places."""
        if buffer.collapsed or buffer.segments:
            return f"+{position:0{self.digits - 1}x}  "
        return f"{int(buffer.absolute(position)):0{self.digits}x}  "
