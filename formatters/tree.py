"""The tree view: a headline for each message, then its members with names, types and values.

Lines are generated while the tape is walked, with an explicit stack, in time linear in the nodes. The short
scalars of an item stand on its line. An item whose first member is its type or name has that instead of its
position.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from wirelens.codecs import tape as t
from wirelens.codecs.json_text import dumps
from wirelens.codecs.node import Node, root_of
from wirelens.codecs.tape import CONTAINERS, Buffer, Fault
from wirelens.codecs.words import clean, count, quote, shortened
from wirelens.formatters import layout as lay
from wirelens.formatters.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.codecs import Json, Record
    from wirelens.codecs.codec import Codec
    from wirelens.formatters.layout import Line

DEEPEST_GUIDES: Final = 24  # levels with guides, if the width is unlimited; deeper ones show their level
GUIDE: Final = 3  # cells of a level's guide
ROW: Final = 16  # bytes in a row
ALL_BYTES: Final = "--format hex shows all"
LEAST_GUIDES: Final = 4  # levels with guides on the narrowest terminal
ROW_WIDTH: Final = 100  # cells of members that share a line, if the width is unlimited
ROW_PARTS: Final = 8  # members that may share a line
DUMP_ROWS: Final = 16  # rows of bytes that were not decoded
ROWS_BEFORE: Final = 2  # rows of bytes before the one with the error,
ROWS_AFTER: Final = 3  # and after it


def tree(record: Record, layout: Layout) -> Iterator[Line]:
    """The lines of one record."""
    gutter = 0 if layout.plain else len(str(record.offset + record.length))
    yield headline(record, layout, gutter)
    indent: Line = [(lay.PLAIN, " " * (gutter + 1 if gutter else 0))]
    for note in record.notes:
        margin = f"{note.offset:>{gutter}} " if gutter else ""
        yield from lay.wrapped(margin, lay.NOTE, f"note {note.code}: {clean(note.text)}", layout)
    tape = record.tape
    error = record.error
    placed = False
    if tape is not None and tape.size() and record.codec is not None:
        walk = Walk(record.codec, layout, gutter)
        root = root_of(tape)
        placed = (
            error is not None
            and bool(error.text)
            and walk.place(root, Fault(error.code, error.offset, error.text))
        )
        lines = walk.lines(root)
        if error is not None:
            first = list(islice(lines, 2))
            defined = [] if len(first) > placed else list(walk.definitions(root))
            if defined:  # nothing else but what is hidden in trees
                placed = False
                first = defined
            if first:
                what = "defined" if defined else "decoded"
                yield [*indent, (lay.DIM, f"{what} so far:")]
            lines = chain(first, lines)
            placed = placed and bool(first)
        for line in lines:
            yield layout.fit(line)
        if error is None and walk.undecoded:
            for part in walk.undecoded:
                yield []
                yield from around(part.buffer, part.start, part.end, part.fault, indent)
            return
    if error is None:
        return
    fault = Fault(error.code, error.offset, error.text)
    if error.text and not placed:
        yield [(lay.DIM, f"{error.offset:>{gutter}} " if gutter else ""), *lay.fault_words(fault)]
    if not record.raw:
        return
    buffer = Buffer(record.raw, record.offset)
    if record.offset <= error.offset <= record.offset + record.length and record.codec is not None:
        yield from around(buffer, 0, record.length, fault, indent)
    else:
        yield from dump(buffer, 0, record.length, indent)


def headline(record: Record, layout: Layout, gutter: int) -> Line:
    """Protocol, summary, size and errors; `gutter` is the width of the offset column, 0 for none."""
    tail: Line = [(lay.DIM, f"  {count(record.length, 'byte')}")]
    line: Line = [(lay.DIM, f"{record.offset:>{gutter}} ")] if gutter else []
    line.append((lay.PROTOCOL, record.protocol))
    if record.error is not None:
        code, offset = record.error.code, record.error.offset
        if record.codec is not None:
            line.append((lay.ERROR, f"  ✕ {code} at {offset}"))
            return line + tail
        line.append((lay.ERROR, "  ✕ not decoded"))
        from wirelens.codecs.file_kinds import looks_like

        looks = "" if record.offset else looks_like(record.raw)
        return [*line, *tail, (lay.ANNOTATION, f"  looks like {looks}" if looks else "")]
    line.append((lay.PLAIN, "  "))
    if record.tape is not None and record.tape.fault_count():
        faults = record.tape.faults
        first = min([fault.offset for fault in faults])
        tail.append((lay.ERROR, f"  ✕ {count(len(faults), 'error')} inside, at {first}"))
    summary = shortened(clean(record.summary)).removeprefix(record.protocol + " ")
    start = layout.cut(summary, layout.room(layout.cells(line) + layout.cells(tail) + 1))
    line.append((lay.SUMMARY, start if len(start) == len(summary) else start + "…"))
    return line + tail


def dump(buffer: Buffer, start: int, end: int, indent: Line) -> Iterator[Line]:
    """Bytes that were not decoded: rows of offset, hex and text, and how many more there are."""
    shown = min(end, start + DUMP_ROWS * ROW)
    yield from byte_rows(buffer, start, shown, end, indent)
    if shown < end:
        digits = offset_digits(buffer, end)
        yield [*indent, (lay.DIM, f"{'…':<{digits}}  {count(end - shown, 'more byte')} ({ALL_BYTES})")]


def around(buffer: Buffer, start: int, end: int, fault: Fault, indent: Line) -> Iterator[Line]:
    """The rows of bytes around an error, the wrong byte marked, and how many follow that were not decoded."""
    at = min(max(int(fault.offset - buffer.base), start), end)
    row = start + max(min(at, end - 1) - start, 0) // ROW * ROW
    first = max(row - ROWS_BEFORE * ROW, start)
    last = min(row + (1 + ROWS_AFTER) * ROW, end)
    yield from byte_rows(buffer, first, min(row + ROW, end), end, indent)
    digits = offset_digits(buffer, end)
    place = digits + 2 + (at - row) * 3 + (at - row) // 8
    offset = f"{int(buffer.absolute(at)):#x}"
    yield [*indent, (lay.PLAIN, " " * place), (lay.ERROR, "^^"), (lay.DIM, f" {offset}")]
    yield from byte_rows(buffer, row + ROW, last, end, indent)
    if last < end:
        more = count(end - at, "byte")
        yield [*indent, (lay.DIM, f"{more} from there on not decoded ({ALL_BYTES})")]


def byte_rows(buffer: Buffer, start: int, end: int, last: int, indent: Line) -> Iterator[Line]:
    """Rows of offset, hex and text; the offsets have the digits that `last` needs."""
    digits = offset_digits(buffer, last)
    for at in range(start, end, ROW):
        offset = f"{int(buffer.absolute(at)):0{digits}x}  "
        yield [*indent, (lay.DIM, offset), *hex_row(buffer.data[at : min(at + ROW, end)], ROW)]


def offset_digits(buffer: Buffer, end: int) -> int:
    """The hexadecimal digits of the offsets up to a position."""
    return max(len(f"{int(buffer.absolute(end)):x}"), 4)


def hex_row(data: bytes, width: int, style: str = lay.BYTES) -> Line:
    """Hex in groups of eight, and the printable ASCII, of at most `width` bytes."""
    groups = [data[at : at + 8].hex(" ") for at in range(0, len(data), 8)]
    text = "".join([chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data])
    cells = width * 3 + (width - 1) // 8
    digits = f"{'  '.join(groups):<{cells}}"
    return [(style, digits), (lay.DIM, " |"), (style, text), (lay.DIM, "|")]


class Opened:
    """A container whose children are being drawn."""

    __slots__ = ("line", "more", "names", "node", "position", "prefix", "until", "where")

    def __init__(self, node: Node, where: int, until: int, prefix: str, names: list[str] | None) -> None:
        self.node = node
        self.where = where  # the next child's index
        self.until = until
        self.position = 0  # of the next child that shows
        self.prefix = prefix
        self.names = names  # of an object's fields
        self.line: Line | None = None  # to be drawn before the first child
        self.more = False  # more lines of the same level follow the last child


class Undecoded:
    """Bytes that did not decode, at positions of a buffer, and the error in them."""

    def __init__(self, buffer: Buffer, start: int, end: int, fault: Fault) -> None:
        self.buffer = buffer
        self.start = start
        self.end = end
        self.fault = fault


class Walk:
    """Draws one message; `gutter` is the width of the offset column, 0 for none."""

    def __init__(self, codec: Codec, layout: Layout, gutter: int) -> None:
        self.codec = codec
        self.layout = layout
        self.gutter = gutter
        self.classes: dict[int, list[str]] = {}
        self.row = ROW_WIDTH if layout.width is None else layout.width
        self.guides = DEEPEST_GUIDES
        if layout.width is not None:
            self.guides = min(max(layout.width // 3 // GUIDE, LEAST_GUIDES), DEEPEST_GUIDES)
        self.faults: dict[int, Fault] = {}  # by the container that each one ended
        self.left_out: set[int] = set()  # nodes that are drawn elsewhere
        self.undecoded: list[Undecoded] = []  # bodies that broke
        self.undecoded_at: set[int] = set()  # the nodes of their bytes

    def lines(self, root: Node) -> Iterator[Line]:
        """The lines below the headline."""
        root = self.folded(root)
        stack = [self.open(root, "")]
        spliced = self.entries(root)
        while stack:
            frame = stack[-1]
            if frame.line is not None:
                yield frame.line
                frame.line = None
            node = self.take(frame)
            if node is None:
                stack.pop()
                fault = self.faults.get(int(frame.node.index))
                if fault is not None:
                    yield [
                        (lay.DIM, self.offset(fault.offset) + frame.prefix + "└─ "),
                        *lay.fault_words(fault),
                    ]
                continue
            if node.index == spliced:
                frame = self.open(node, frame.prefix)
                frame.more = stack[-1].where < stack[-1].until
                stack.append(frame)
                continue
            deep = len(stack) > self.guides
            last = self.ends(frame)
            guide = frame.prefix + ("└─ " if last else "├─ ")
            below = frame.prefix if deep else frame.prefix + ("   " if last else "│  ")
            line: Line = self.margin(node)
            line.append((lay.DIM, guide + (f"{len(stack)}· " if deep else "")))
            if frame.node.kind == t.MAP:
                value = self.take(frame)
                if self.ends(frame) and not last:
                    line[-1] = (lay.DIM, line[-1][1].replace("├", "└"))
                    below = frame.prefix if deep else frame.prefix + "   "
                if value is None:
                    line.append((lay.ERROR, "key without a value: "))
                    if node.kind not in CONTAINERS:
                        yield self.leaf(line, node)
                        continue
                    line.extend(self.title(node))
                    yield from self.container(line, node, below, stack)
                    continue
                if node.kind in CONTAINERS:
                    stack.append(self.part("value", value, line, below))
                    stack.append(self.part("key", node, line, below))
                    continue
                line.extend(self.key(node))
                node = value
            else:
                name = self.name(frame, node)
                if node.kind == t.STRUCT and frame.node.kind == t.ARRAY:
                    yield from self.entry(line, node, name, below, stack)
                    continue
                pair = self.pair(frame, node)
                if pair is not None:
                    line.extend(self.key(pair[0]))
                    node = pair[1]
                elif name:
                    line.append((lay.NAME, name))
                    line.append((lay.PLAIN, ": "))
            if node.kind in CONTAINERS:
                line.extend(self.title(node))
                if line[-1] == (lay.PLAIN, ": "):
                    line.pop()
                yield from self.container(line, node, below, stack)
                continue
            shown = None
            if node.kind == t.COMPUTED:
                render = node.field.render
                shown = None if render is None else render(node)
            folded = isinstance(shown, (list, dict)) and self.too_deep(len(stack))
            yield self.leaf(line, node)
            yield from self.details(node, below)
            if isinstance(shown, (list, dict)) and not folded:
                yield from self.json_lines(shown, below)

    def ends(self, frame: Opened) -> bool:
        """Whether nothing follows the child that was taken last, on its level."""
        return frame.where >= frame.until and not frame.more and int(frame.node.index) not in self.faults

    def container(self, line: Line, node: Node, below: str, stack: list[Opened]) -> Iterator[Line]:
        """A container's line; what is in it is drawn next, unless it is too deep."""
        self.finish(line, node)
        if self.too_deep(len(stack)):
            more = self.more(node)
            yield [*line, (lay.DIM, f"  … {more:,} more")] if more else line
            return
        yield line
        yield from self.details(node, below)
        stack.append(self.open(node, below))

    def too_deep(self, level: int) -> bool:
        """Whether what is inside a node of a level is folded."""
        return self.layout.depth is not None and level >= self.layout.depth

    def more(self, node: Node) -> int:
        """The number of nodes in a container, a map's keys aside."""
        tape = node.tape
        index, end = int(node.index), int(tape.next(node.index))
        number = -1
        while index < end:
            if tape.head(index) & t.HIDDEN:
                index = int(tape.next(index))
                continue
            number += 1
            if tape.kind(index) == t.MAP:
                number -= len(Node(tape, index, node.buffer)) // 2
            index = int(tape.following(index))
        return number

    def place(self, node: Node, fault: Fault) -> bool:
        """Keep an error for the innermost container below `node` that it ended; False if it ended none."""
        tape = node.tape
        index, broken = int(node.index), -1
        while index >= 0 and tape.head(index) & t.BROKEN:
            broken = index
            child, end, index = int(tape.following(index)), int(tape.next(index)), -1
            while child < end:
                if not tape.head(child) & t.HIDDEN:
                    index = child if tape.kind(child) in CONTAINERS else -1
                child = int(tape.next(child))
        if broken < 0:
            return False
        self.faults[broken] = fault
        return True

    def look_for_fault(self, node: Node) -> None:
        """Find an error among a struct's members, and what decoded before it."""
        partial = data = found = None
        for part in node.parts():
            if part.kind == t.FAULT:
                found = part
            elif part.field.name == "partial":
                partial = part
            elif part.field.name == "data":
                data = part
        if found is None:
            return
        fault = node.tape.faults[found.number]
        if partial is not None and self.place(partial, fault):
            self.left_out.add(int(found.index))
        if data is not None and not (data.buffer.collapsed or data.buffer.segments):
            start, end = int(data.number), int(data.tape.end(data.index))
            self.undecoded.append(Undecoded(data.buffer, start, end, fault))
            self.undecoded_at.add(int(data.index))

    def definitions(self, root: Node) -> Iterator[Line]:
        """A line for each class that is defined, in a message that breaks off before its first object."""
        tape = root.tape
        for index in tape.definitions():
            node = Node(tape, index, root.buffer)
            names = [clean(name) or '""' for name in node.names_of_class(index)] or ["?"]
            fields = ", ".join(names[1:]) or "no fields"
            yield [
                *self.margin(node),
                (lay.DIM, "class "),
                (lay.WORD, names[0]),
                (lay.PLAIN, f": {fields}"),
            ]

    def part(self, name: str, node: Node, line: Line, below: str) -> Opened:
        """A key or value that takes more than one line, opened to be drawn later."""
        frame = self.open(node, below)
        frame.line = [*self.margin(node), line[-1], (lay.NAME, name), (lay.PLAIN, ": ")]
        if node.kind in CONTAINERS:
            frame.line.extend(self.title(node))
            self.finish(frame.line, node)
        else:
            self.leaf(frame.line, node)
        return frame

    def pair(self, frame: Opened, node: Node) -> tuple[Node, Node] | None:
        """Name and value of an item that is an array [name, value], as of a header; None for any other."""
        if node.kind != t.ARRAY or frame.node.kind != t.ARRAY or int(node.index) in self.faults:
            return None
        items: list[Node] = []
        for part in node.parts():
            if not part.hidden:
                items.append(part)
                if len(items) > 2:
                    return None
        if len(items) != 2 or items[0].kind not in (t.TEXT, t.STRING, t.STRING16):
            return None
        return items[0], items[1]

    def folded(self, root: Node) -> Node:
        """The node whose children follow the headline: structs with a single member are skipped."""
        node = root
        while node.kind == t.STRUCT and int(node.index) not in self.faults:
            parts = node.first(2)
            if len(parts) != 1 or parts[0].kind not in (t.STRUCT, t.ARRAY):
                return node
            node = parts[0]
        return node

    def entries(self, root: Node) -> int:
        """The index of an array whose items are drawn as the root's: its only container; -1 for none."""
        if root.kind != t.STRUCT:
            return -1
        index = -1
        for part in root:
            if part.kind in CONTAINERS:
                if index >= 0 or part.kind != t.ARRAY:
                    return -1
                index = int(part.index)
        return index

    def open(self, node: Node, prefix: str) -> Opened:
        """A container at its first shown child; `prefix` holds the guides of its children's lines."""
        tape = node.tape
        if node.kind == t.STRUCT and tape.fault_count():
            self.look_for_fault(node)
        names = self.names_of(node) if node.kind == t.OBJECT else None
        frame = Opened(node, int(tape.following(node.index)), int(tape.next(node.index)), prefix, names)
        self.skip_hidden(frame)
        return frame

    def skip_hidden(self, frame: Opened) -> None:
        """Move to the next child that is not hidden."""
        tape = frame.node.tape
        while frame.where < frame.until and (
            tape.head(frame.where) & t.HIDDEN or (self.left_out and frame.where in self.left_out)
        ):
            frame.where = int(tape.next(frame.where))

    def take(self, frame: Opened) -> Node | None:
        """The next child that is not hidden; None at the end."""
        if frame.where >= frame.until:
            return None
        parent = frame.node
        node = Node(parent.tape, frame.where, parent.inner, parent, frame.position)
        frame.position += 1
        frame.where = int(parent.tape.next(frame.where))
        self.skip_hidden(frame)
        return node

    def names_of(self, node: Node) -> list[str]:
        """An object's class and the names of its fields, escaped; each class is read once."""
        index = node.number & t.LOW_HALF
        names = self.classes.get(index)
        if names is None:
            names = [clean(name) for name in node.class_names()]
            names[1:] = [name or '""' for name in names[1:]]
            self.classes[index] = names
        return names

    def name(self, frame: Opened, node: Node) -> str:
        """The name of a child: its member's or field's, else its position in brackets."""
        name = node.field.name
        if name:
            return name
        if frame.names is not None:
            position = int(node.position) + 1
            return frame.names[position] if position < len(frame.names) else f"[{position - 1}]"
        return f"[{node.position}]"

    def margin(self, node: Node) -> Line:
        """The node's offset, right-aligned."""
        if not self.gutter:
            return []
        return [(lay.DIM, self.offset(int(node.buffer.absolute(node.tape.start(node.index)))))]

    def offset(self, offset: int) -> str:
        """An offset in its column."""
        return f"{offset:>{self.gutter}} " if self.gutter else ""

    def title(self, node: Node) -> Line:
        """A container's class or type and size; of any other node its value."""
        if node.kind not in CONTAINERS:
            return self.value(node, 40)
        return lay.title(node, self.names_of(node) if node.kind == t.OBJECT else None)

    def value(self, node: Node, room: int) -> Line:
        """The value of a node without children."""
        if int(node.index) in self.undecoded_at:  # its bytes are drawn in rows
            return [(lay.TYPE, count(int(node.tape.end(node.index)) - node.number, "byte"))]
        return lay.value_segments(node, room, self.layout)

    def key(self, node: Node) -> Line:
        """A map's scalar key, with its colon."""
        text = node.text if node.kind in lay.TEXTS or node.kind == t.SYMBOL else None
        line: Line
        if text is None:
            line = self.value(node, 40)
        else:
            start = self.layout.cut(text, self.layout.room(0) // 2)
            quoted = quote(start) if len(start) == len(text) else quote(start)[:-1] + '…"'
            line = [(lay.NAME, quoted.strip('"') if node.kind == t.SYMBOL else quoted)]
        if not self.layout.plain:
            line.extend(lay.wire_segments(node))
        return [*line, (lay.PLAIN, ": ")]

    def leaf(self, line: Line, node: Node) -> Line:
        """Add a scalar's value to its line; returns the line."""
        extra: Line = []
        self.finish(extra, node)
        room = self.layout.room(self.layout.cells(line) + self.layout.cells(extra))
        line.extend(self.value(node, room))
        line.extend(extra)
        return line

    def finish(self, line: Line, node: Node) -> None:
        """Add what follows a value: an unusual wire form, and the protocol's annotation."""
        if self.layout.plain:
            return
        line.extend(lay.wire_segments(node))
        annotation = self.codec.annotate(node)
        if annotation and annotation != node.type_name:
            line.append((lay.ANNOTATION, f"  ← {clean(annotation)}"))

    def details(self, node: Node, below: str) -> Iterator[Line]:
        """The protocol's details of a node, on lines of their own."""
        if not self.layout.plain:
            for text in self.codec.details(node):
                margin = " " * (self.gutter + 1 if self.gutter else 0)
                line: Line = [(lay.DIM, margin + below + "· ")]
                detail = clean(text.expandtabs(4))
                start = self.layout.cut(detail, self.layout.room(self.layout.cells(line) + 1))
                line.append((lay.ANNOTATION, start if len(start) == len(detail) else start + "…"))
                yield line

    def entry(self, line: Line, node: Node, name: str, below: str, stack: list[Opened]) -> Iterator[Line]:
        """An item with members: on one line if its scalars fit; its last member may continue below."""
        parts: list[Node] = []
        for part in node.parts():
            if not part.hidden:
                parts.append(part)
                if len(parts) > ROW_PARTS:
                    break
        first = parts[0] if parts else None
        typed = first is not None and first.kind == t.NAMED and first.field.name == "type"
        named = first is not None and first.kind == t.TEXT and first.field.name == "name"
        titled = typed or named  # the first member replaces the position
        unnamed = ""  # the member whose value needs no name
        if first is not None and typed:
            line.append((lay.WORD, clean(first.shown)))
            unnamed = clean(first.shown).lower()
        elif first is not None and named:
            line.append((lay.NAME, clean(self.layout.cut(first.shown, self.layout.room(0) // 2))))
            unnamed = "value"
        else:
            line.append((lay.NAME, name))
        last = parts[-1] if parts else None
        below_last = last is not None and last.kind in CONTAINERS
        tail: Line = []
        self.finish(tail, node)
        whole = int(node.index) not in self.faults and not node.tape.head(node.index) & t.BROKEN
        if whole and len(parts) <= ROW_PARTS and not any(map(self.tall, parts[:-1])):
            row = list(line)
            for part in parts[1:] if titled else parts:
                if titled and part.field.name == unnamed:
                    row.append((lay.PLAIN, ": " if named else "  "))
                else:
                    row.extend([(lay.PLAIN, "  "), (lay.NAME, part.field.name), (lay.PLAIN, ": ")])
                if part.kind in CONTAINERS:
                    row.extend(self.title(part))
                    self.finish(row, part)
                else:
                    self.leaf(row, part)
            row.extend(tail)
            if self.layout.cells(row) <= self.row or len(parts) == titled or (named and len(parts) == 2):
                folded = below_last and last is not None and self.too_deep(len(stack) + 1)
                if folded and last is not None and self.more(last):
                    row.append((lay.DIM, f"  … {self.more(last):,} more"))
                yield row
                yield from self.details(node, below)
                if below_last and last is not None and not folded:
                    yield from self.details(last, below)
                    stack.append(self.open(last, below))
                return
        if self.too_deep(len(stack)):
            more = self.more(node)
            yield [*line, *tail, (lay.DIM, f"  … {more:,} more")] if more else line + tail
            return
        yield line + tail
        yield from self.details(node, below)
        frame = self.open(node, below)
        if titled:
            self.take(frame)
        stack.append(frame)

    def tall(self, node: Node) -> bool:
        """Whether a node needs lines of its own."""
        if node.kind == t.COMPUTED:
            render = node.field.render
            return render is not None and isinstance(render(node), (list, dict))
        return node.kind in CONTAINERS

    def json_lines(self, value: Json, prefix: str) -> Iterator[Line]:
        """The lines of a computed member that is an object or array."""
        margin = " " * (self.gutter + 1 if self.gutter else 0)
        stack = [(_members(value), prefix)]
        while stack:
            members, before = stack[-1]
            if not members:
                stack.pop()
                continue
            name, member = members.pop()
            guide = before + ("├─ " if members else "└─ ")
            below = before if len(stack) > self.guides else before + ("│  " if members else "   ")
            line: Line = [(lay.DIM, margin + guide)]
            nested: list[tuple[str, Json]] = []
            if isinstance(member, dict):
                # scalars stand on the line, containers below it
                for key, item in member.items():
                    if isinstance(item, (list, dict)):
                        nested.append((key, item))
                    else:
                        line.extend([(lay.NAME, clean(key)), (lay.PLAIN, ": ")])
                        line.extend([*self.json_value(item, line), (lay.PLAIN, "  ")])
                line.pop()
                if len(nested) == 1 and isinstance(nested[0][1], list):
                    nested = _members(nested[0][1])
                else:
                    nested.reverse()
            else:
                line.append((lay.NAME, clean(name)))
                if isinstance(member, list):
                    nested = _members(member)
                else:
                    line.extend([(lay.PLAIN, ": "), *self.json_value(member, line)])
            yield line
            stack.append((nested, below))

    def json_value(self, member: Json, line: Line) -> Line:
        """A scalar in the room that is left on its line."""
        room = self.layout.room(self.layout.cells(line))
        if isinstance(member, str):
            return lay.text_segments(member, room, self.layout)
        return [(lay.NUMBER, self.layout.cut(dumps(member), room))]


def _members(value: Json) -> list[tuple[str, Json]]:
    """An object's or array's members with their names, in reverse order."""
    if isinstance(value, dict):
        return list(value.items())[::-1]
    if isinstance(value, list):
        return [(f"[{position}]", item) for position, item in enumerate(value)][::-1]
    return []
