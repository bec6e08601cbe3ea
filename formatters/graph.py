"""Graphs of messages as Graphviz or Mermaid text; a shared object is one box.

Lists, maps, objects and the parts of a message's layout are boxes with their scalars as rows; edges lead to
the boxes they contain. A back reference is an edge to the box of its target, so cycles are drawn as cycles.
Lists of scalars and small objects that the protocol describes as one value are rows.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node
from wirelens.codecs.record import Record
from wirelens.codecs.tape import CONTAINERS, Tape
from wirelens.codecs.words import clean, count
from wirelens.formatters.layout import value_text

# Limits of one graph; the graph states how much is left out.
DOT_BOXES: Final = 1000
DOT_CURVED: Final = (
    150  # above this, arrows are straight: a curve across a few hundred boxes crashes Graphviz
)
MERMAID_BOXES: Final = 250
MERMAID_EDGES: Final = 480  # Mermaid's own default limit is 500
MERMAID_CHARACTERS: Final = 45_000  # Mermaid's own default limit is 50,000
RECORDS: Final = 200  # records drawn

MAX_ROWS: Final = 24  # of one box
MAX_VALUE: Final = 60  # characters of a value, about
MAX_NAME: Final = 48  # characters of a field's name or a key
MAX_TITLE: Final = 90  # characters of a class's name or a record's summary
MAX_SCALARS: Final = 8  # items of a list of scalars that are shown
MAX_REFERENCES: Final = 4  # arrows of back references, times the limit of boxes
SMALL: Final = 48  # nodes of an object that may be a row


class Box:
    """A box: its identifier in the graph, title, the protocol's description, and rows (name, value)."""

    def __init__(self, name: str, title: str, meaning: str, style: str) -> None:
        self.name: Final = name
        self.title: Final = title
        self.meaning: Final = meaning
        self.style: Final = style  # "", "error", "missing", "more"
        self.rows: Final[list[tuple[str, str]]] = []


class Edge:
    """An arrow between two boxes, given by their identifiers."""

    def __init__(self, start: str, end: str, label: str, style: str) -> None:
        self.start: Final = start
        self.end: Final = end
        self.label: Final = shortened(label, MAX_NAME)
        self.style: Final = style  # "", "back" (a back reference), "missing" (one without a box)


class Drawing:
    """The boxes and edges of one record, and how many lists, maps, objects and arrows are left out."""

    def __init__(self) -> None:
        self.boxes: Final[list[Box]] = []
        self.edges: Final[list[Edge]] = []
        self.left_out = 0


class _Pending:
    """A container still to be drawn, and the box that contains it (None for a root)."""

    def __init__(self, node: Node, holder: Box | None, label: str) -> None:
        self.node: Final = node
        self.holder: Final = holder
        self.label: Final = label


class _Painter:
    """Draws one record with at most `limit` boxes."""

    def __init__(self, record: Record, place: int, limit: int) -> None:
        self.record: Final = record
        self.prefix: Final = f"r{place}"
        self.limit: Final = limit
        self.drawing: Final = Drawing()
        self.pending: Final[list[_Pending]] = []
        self.drawn: Final[set[int]] = set()
        self.references: Final[list[tuple[str, int, int, str]]] = []  # source, target, number, label
        self.names: Final[dict[int, list[str]]] = {}  # class and fields, by the index of the class
        self.missing: Final[dict[int, str]] = {}

    def paint(self) -> Drawing:
        """The record's boxes and edges."""
        record = self.record
        root = record.partial
        if root is None:
            self._raw()
            return self.drawing
        self.pending.append(_Pending(root, None, ""))
        while self.pending:
            pending = self.pending.pop()
            if len(self.drawing.boxes) >= self.limit:
                self.drawing.left_out += containers(root.tape, int(pending.node.index))
            elif pending.node.kind == t.ARRAY and pending.holder is not None:
                self._items(pending, pending.holder)
            else:
                self._box(pending)
        for source, target, number, label in self.references:
            if target in self.drawn:
                self.drawing.edges.append(Edge(source, f"{self.prefix}n{target}", label, "back"))
            else:
                self._missing(source, number, label, target < 0)
        return self.drawing

    def _raw(self) -> None:
        record = self.record
        box = Box(f"{self.prefix}raw", count(record.length, "byte"), "", "error")
        error = record.error
        if error is not None:
            box.rows.append(("error", f"{error.code}: {shortened(error.text, MAX_TITLE)}"))
        if record.raw:
            start = record.raw[: MAX_VALUE // 4]
            box.rows.append(("bytes", start.hex(" ") + (" …" if len(start) < len(record.raw) else "")))
        self.drawing.boxes.append(box)

    def _missing(self, source: str, number: int, label: str, dangling: bool) -> None:
        """A dashed box for all references of one number whose target has no box."""
        name = self.missing.get(number)
        if name is None:
            if len(self.drawing.boxes) >= self.limit:
                self.drawing.left_out += 1
                return
            name = self.missing[number] = f"{self.prefix}m{len(self.missing)}"
            meaning = "no object has this number" if dangling else ""
            self.drawing.boxes.append(Box(name, f"→ #{number}", meaning, "missing"))
        self.drawing.edges.append(Edge(source, name, label, "missing"))

    def _box(self, pending: _Pending) -> None:
        node = pending.node
        name = f"{self.prefix}n{int(node.index)}"
        self.drawn.add(int(node.index))
        codec = self.record.codec
        meaning = "" if codec is None else shortened(codec.annotate(node), MAX_TITLE)
        box = Box(name, self._title(node, pending.label), meaning, "")
        self.drawing.boxes.append(box)
        if pending.holder is not None:
            self.drawing.edges.append(Edge(pending.holder.name, name, pending.label, ""))
        below: list[_Pending] = []
        if node.kind == t.MAP:
            self._entries(node, box, below)
        elif node.kind in CONTAINERS:
            names = self._names(node)
            for part in node.parts():
                if not part.hidden:
                    self._part(part, _member_name(part, names), box, below)
        else:
            box.rows.append(("", self._value(node)))
        below.reverse()
        self.pending.extend(below)

    def _items(self, pending: _Pending, holder: Box) -> None:
        """The items of an array of the message's layout: they are attached to the box that contains it."""
        below: list[_Pending] = []
        for part in pending.node.parts():
            if not part.hidden:
                self._part(part, f"{pending.label}[{int(part.position)}]", holder, below)
        below.reverse()
        self.pending.extend(below)

    def _entries(self, node: Node, box: Box, below: list[_Pending]) -> None:
        """The entries of a map: a scalar key is the name of its value; other keys get boxes of their own."""
        label = ""
        for part in node.parts():
            if part.hidden:
                continue
            entry, value = divmod(int(part.position), 2)
            if value:
                self._part(part, label, box, below)
            elif part.kind == t.REF or (part.kind in CONTAINERS and self._row(part) is None):
                self._part(part, f"key {entry}", box, below)
                label = f"value {entry}"
            else:
                label = self._row(part) or ""
                text = part.value
                if isinstance(text, str):
                    label = shortened(text, MAX_NAME)

    def _part(self, part: Node, name: str, box: Box, below: list[_Pending]) -> None:
        """A member, item or value: a row, a box to be drawn later, or a reference."""
        if part.kind == t.REF:
            if len(self.references) < MAX_REFERENCES * self.limit:
                self.references.append((box.name, part.target, part.reference, name))
            else:
                self.drawing.left_out += 1
            return
        text = self._row(part)
        if text is not None:
            if len(box.rows) < MAX_ROWS:
                box.rows.append((shortened(name, MAX_NAME), text))
            elif len(box.rows) == MAX_ROWS:
                box.rows.append(("…", "and more"))
        elif len(self.pending) + len(below) + len(self.drawing.boxes) < self.limit:
            below.append(_Pending(part, box, name))
        else:
            self.drawing.left_out += containers(part.tape, int(part.index))

    def _row(self, node: Node) -> str | None:
        """The text of a node that is drawn as a row; None for one that gets a box."""
        kind = node.kind
        if kind not in CONTAINERS:
            return self._value(node)
        if node.referred:
            return None
        if kind == t.LIST or kind == t.ARRAY:
            return self._scalars(node)
        if kind == t.MAP or kind == t.OBJECT:
            return self._small(node)
        return None

    def _value(self, node: Node) -> str:
        text = shortened(value_text(node, MAX_VALUE), 2 * MAX_TITLE)
        codec = self.record.codec
        meaning = "" if codec is None else codec.annotate(node)
        return f"{text} ({shortened(meaning, MAX_VALUE)})" if meaning else text

    def _scalars(self, node: Node) -> str | None:
        """A list that has only scalars: its first items in brackets; None for any other."""
        texts: list[str] = []
        size = 0
        for part in node.parts():
            if part.hidden:
                continue
            if part.kind in CONTAINERS or part.kind == t.REF or part.kind == t.FAULT:
                return None
            if size < MAX_SCALARS:
                texts.append(value_text(part, MAX_VALUE // 2))
            size += 1
        more = f", … {size} items" if size > MAX_SCALARS else ""
        kind = node.type_name
        return f"{shortened(kind, MAX_NAME) + ' ' if kind else ''}[{', '.join(texts)}{more}]"

    def _small(self, node: Node) -> str | None:
        """A small object that the protocol describes as one value; None for any other."""
        tape = node.tape
        index = int(node.index)
        end = int(tape.next(index))
        if int(tape.nodes(index, end)) > SMALL:
            return None
        if node.kind == t.MAP and node.type_name is None:
            return "{}" if not len(node) else None
        while (index := int(tape.following(index))) < end:
            kind = tape.kind(index)
            if kind in (t.REF, t.FAULT) or tape.head(index) & t.REFERRED:
                return None
            if kind == t.MAP and Node(tape, index, node.buffer).type_name is None:
                return None
        codec = self.record.codec
        meaning = "" if codec is None else codec.annotate(node)
        if not meaning:
            return None
        name = node.type_name or ""
        simple = name[name.rfind(".") + 1 :]
        return f"{shortened(meaning, MAX_TITLE)} ({shortened(simple, MAX_NAME)})"

    def _names(self, node: Node) -> list[str]:
        """An object's class and the names of its fields; each class is read once."""
        if node.kind != t.OBJECT:
            return []
        number = node.number & t.LOW_HALF
        names = self.names.get(number)
        if names is None:
            names = self.names[number] = node.class_names()
        return names

    def _title(self, node: Node, label: str) -> str:
        kind = node.kind
        if node.parent is None and kind == t.STRUCT:
            title = f"{self.record.protocol} {self.record.kind}"
        elif kind in (t.LIST, t.MAP, t.OBJECT, t.REMOTE, t.TYPED):
            names = self._names(node)
            name = names[0] if names else node.type_name
            title = shortened(name, MAX_TITLE) if name else node.kind_name
        else:
            title = shortened(label, MAX_TITLE) or node.kind_name
        return f"{title} #{node.reference}" if node.referred else title


def _member_name(part: Node, names: list[str]) -> str:
    field = part.field.name
    if field:
        return field
    place = int(part.position)
    return names[place + 1] if place + 1 < len(names) else str(place)


def containers(tape: Tape, index: int) -> int:
    """The number of containers in the subtree at `index`, itself included."""
    number = 0
    end = int(tape.next(index))
    while index < end:
        if tape.kind(index) in CONTAINERS:
            number += 1
        index = int(tape.following(index))
    return number


def shortened(text: str, limit: int) -> str:
    """The text, cut to `limit` characters, the last of them an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _heading(record: Record) -> list[str]:
    """The lines above a record's graph: protocol, summary, error and its worst notes."""
    lines = [f"{record.offset}: {record.protocol} {shortened(record.summary, MAX_TITLE)}"]
    error = record.error
    if error is not None and record.partial is not None:
        lines.append(f"{error.code} at {error.offset}: {shortened(error.text, MAX_TITLE)}")
    notes = record.notes
    lines.extend([f"note {code} at {at}: {shortened(text, 2 * MAX_TITLE)}" for code, at, text in notes[:3]])
    if len(notes) > 3:
        lines.append(count(len(notes) - 3, "more note"))
    return lines


def _left_out(number: int, limit: int) -> str:
    return f"{number} lists, maps, objects and arrows left out: at most {limit} boxes are drawn"


# --- Graphviz -----------------------------------------------------------------------------------

_ARROWS: Final = {"": "", "back": ", style=dashed, constraint=false", "missing": ", style=dashed"}
_FILLS: Final = {"": "#e3ecf7", "error": "#f8d7d7", "missing": "#ffffff", "more": "#ffffff"}


def dot(records: Iterable[Record]) -> Iterator[str]:
    """The text of a Graphviz digraph of the records, line by line, each record a cluster.

    At most `DOT_BOXES` boxes and `RECORDS` records; a note in the graph states how much is left out.
    """
    for line in _dot_lines(records):
        yield line + "\n"


def _dot_lines(records: Iterable[Record]) -> Iterator[str]:
    room = DOT_BOXES
    left_out = 0
    skipped = 0
    drawings: list[tuple[int, list[str], Drawing]] = []
    for place, record in enumerate(records):
        if room <= 0 or place >= RECORDS:
            skipped += 1
            continue
        drawing = _Painter(record, place, room).paint()
        room -= len(drawing.boxes)
        left_out += drawing.left_out
        drawings.append((place, _heading(record), drawing))
    straight = ", splines=line" if DOT_BOXES - room > DOT_CURVED else ""
    graph = "rankdir=LR, fontname=Helvetica, fontsize=11, labeljust=l, style=rounded, color=gray60"
    yield "digraph messages {"
    yield f"  graph [{graph}{straight}];"
    yield "  node [shape=plain, fontname=Helvetica, fontsize=10];"
    yield "  edge [fontname=Helvetica, fontsize=9, color=gray35];"
    yield from _dot_more(left_out, skipped)
    # With rankdir=LR Graphviz stacks clusters from the bottom up.
    for place, lines, drawing in reversed(drawings):
        yield f"  subgraph cluster_{place} {{"
        yield f"    label={dot_string(*lines)};"
        for box in reversed(drawing.boxes):
            yield from _dot_box(box)
        for edge in reversed(drawing.edges):
            yield f"    {edge.start} -> {edge.end} [label={dot_string(edge.label)}{_ARROWS[edge.style]}];"
        yield "  }"
    yield "}"


def _dot_more(left_out: int, skipped: int) -> Iterator[str]:
    if left_out:
        text = dot_string(_left_out(left_out, DOT_BOXES))
        yield f"  more [shape=note, style=dashed, label={text}];"
    if skipped:
        yield f"  further [shape=note, style=dashed, label={dot_string(_further(skipped))}];"


def _further(skipped: int) -> str:
    return f"{count(skipped, 'more record')} left out"


def _dot_box(box: Box) -> Iterator[str]:
    border = ' STYLE="DASHED"' if box.style == "missing" else ""
    yield f'    {box.name} [label=<<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="3"{border}>'
    title = f"<B>{_html(box.title)}</B>"
    if box.meaning:
        title += f"<BR/><I>{_html(box.meaning)}</I>"
    fill = _FILLS[box.style]
    yield f'      <TR><TD COLSPAN="2" BGCOLOR="{fill}"{border}>{title}</TD></TR>'
    for name, value in box.rows:
        yield f'      <TR><TD ALIGN="LEFT">{_html(name)}</TD><TD ALIGN="LEFT">{_html(value)}</TD></TR>'
    yield "    </TABLE>>];"


_HTML: Final = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;", ord("]"): "&#93;"}


def _html(text: str) -> str:
    """Text for a cell of an HTML-like label; an empty cell holds a space."""
    return clean(text).translate(_HTML) or " "


_DOT: Final = {ord('"'): '\\"', ord("\\"): "\\\\", ord("&"): "&amp;"}


def dot_string(*lines: str) -> str:
    """Lines as one quoted Graphviz string; several are aligned to the left."""
    quoted = [clean(line).translate(_DOT) for line in lines]
    return '"' + "\\l".join(quoted) + ('\\l"' if len(lines) > 1 else '"')


# --- Mermaid ------------------------------------------------------------------------------------


def mermaid(records: Iterable[Record]) -> Iterator[str]:
    """The text of a Mermaid flowchart of the records, line by line, each record a subgraph.

    At most `MERMAID_BOXES` boxes, `MERMAID_EDGES` edges and `MERMAID_CHARACTERS` characters, since Mermaid
    refuses larger ones; a note in the graph states how much is left out.
    """
    for line in _mermaid_lines(records):
        yield line + "\n"


def _mermaid_lines(records: Iterable[Record]) -> Iterator[str]:
    yield "flowchart LR"
    room = MERMAID_BOXES
    edges = MERMAID_EDGES
    characters = MERMAID_CHARACTERS
    left_out = 0
    skipped = 0
    styles: dict[str, list[str]] = {}
    for place, record in enumerate(records):
        if room <= 0 or edges <= 0 or characters <= 0 or place >= RECORDS:
            skipped += 1
            continue
        drawing = _Painter(record, place, room).paint()
        left_out += drawing.left_out
        lines = [f'  subgraph r{place}["{mermaid_text(*_heading(record))}"]', "    direction LR"]
        characters -= sum(map(len, lines)) + 8
        drawn: set[str] = set()
        for box in drawing.boxes:
            line = _mermaid_box(box)
            if len(line) > characters:
                characters = 0
                left_out += 1
                continue
            characters -= len(line)
            room -= 1
            drawn.add(box.name)
            lines.append(line)
            if box.style:
                styles.setdefault(box.style, []).append(box.name)
        for edge in drawing.edges:
            line = _mermaid_edge(edge)
            if edge.start not in drawn or edge.end not in drawn:
                continue
            if edges <= 0 or len(line) > characters:
                left_out += 1
                continue
            characters -= len(line)
            edges -= 1
            lines.append(line)
        yield from chain(lines, ["  end"])
    if left_out:
        yield f'  more["{mermaid_text(_left_out(left_out, MERMAID_BOXES))}"]'
        styles.setdefault("more", []).append("more")
    if skipped:
        yield f'  further["{mermaid_text(_further(skipped))}"]'
        styles.setdefault("more", []).append("further")
    yield "  classDef default text-align:left"
    for style, looks in _LOOKS.items():
        if style in styles:
            yield f"  classDef {style} {looks}"
            yield f"  class {','.join(styles[style])} {style}"


_LOOKS: Final = {
    "error": "fill:#f8d7d7,stroke:#b03030",
    "missing": "stroke-dasharray:4 3",
    "more": "stroke-dasharray:4 3",
}


def _mermaid_box(box: Box) -> str:
    parts = [f"<b>{mermaid_text(box.title)}</b>"]
    if box.meaning:
        parts.append(f"<i>{mermaid_text(box.meaning)}</i>")
    parts.extend([mermaid_text(f"{name} = {value}" if name else value) for name, value in box.rows])
    return f'    {box.name}["{"<br/>".join(parts)}"]'


def _mermaid_edge(edge: Edge) -> str:
    arrow = "-.->" if edge.style else "-->"
    label = f'|"{mermaid_text(edge.label)}"|' if edge.label else ""
    return f"    {edge.start} {arrow}{label} {edge.end}"


def mermaid_text(*lines: str) -> str:
    """Lines for a quoted Mermaid label.

    Characters that Mermaid, Markdown or HTML would interpret become Mermaid's entities, such as `#34;`.
    """
    return "<br/>".join([_entities(clean(line)) for line in lines])


_PLAIN: Final = frozenset(" ,/()=…→")  # besides letters, digits and everything from U+0300 on
_BETWEEN: Final = frozenset(".-_")  # plain between letters and digits


def _entities(line: str) -> str:
    parts: list[str] = []
    last = len(line) - 1
    for at, char in enumerate(line):
        if char.isalnum() or ord(char) >= 0x300:
            plain = True
        elif char in _BETWEEN:
            plain = 0 < at < last and line[at - 1].isalnum() and line[at + 1].isalnum()
        elif char == " ":
            plain = 0 < at < last and line[at - 1] != " "
        elif char == ")":
            plain = at == last or line[at + 1] != " "
        else:
            plain = char in _PLAIN
        parts.append(char if plain else f"#{ord(char)};")
    return "".join(parts)
