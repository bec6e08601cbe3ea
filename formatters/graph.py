"""Drawings of messages: Graphviz and Mermaid text, shared things as shared nodes.

Lists, maps, objects and the parts of a message's layout are boxes with their scalars as rows; what they
hold are edges. A back reference is an edge to the one box of the thing it means, so that cycles are drawn
as cycles. Small things without a life of their own (lists of scalars, values that read as one) are rows.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node
from wirelens.codecs.numbers import date_text
from wirelens.codecs.record import Record
from wirelens.codecs.tape import Tape

# What one drawing holds; what is left out is counted and said.
DOT_BOXES: Final = 1000
DOT_CURVED: Final = 150  # with more, arrows are straight: a curve across a few hundred boxes crashes Graphviz
MERMAID_BOXES: Final = 250
MERMAID_EDGES: Final = 480  # Mermaid's own default limit is 500
MERMAID_CHARACTERS: Final = 45_000  # Mermaid's own default limit is 50,000
RECORDS: Final = 200  # records drawn; further ones are counted

MAX_ROWS: Final = 24  # of one box
MAX_VALUE: Final = 60  # characters of a value
MAX_NAME: Final = 48  # characters of a field's name or a key
MAX_TITLE: Final = 90  # characters of a class's name or a record's summary
MAX_SCALARS: Final = 8  # items of a list of scalars that are shown
MAX_REFERENCES: Final = 4  # arrows of back references, for each box that may be drawn
SMALL: Final = 48  # nodes of a value that may be a row

_CONTAINERS: Final = frozenset((t.STRUCT, t.ARRAY, t.LIST, t.MAP, t.OBJECT, t.REMOTE))


class Box:
    """A box: its name in the drawing, title, what it means, and rows of a name and a value each."""

    def __init__(self, name: str, title: str, meaning: str, style: str) -> None:
        self.name: Final = name
        self.title: Final = title
        self.meaning: Final = meaning
        self.style: Final = style  # "", "error", "missing", "more"
        self.rows: Final[list[tuple[str, str]]] = []


class Edge:
    """An arrow between two boxes by their names; `back` where it stands for a back reference to a box."""

    def __init__(self, start: str, end: str, label: str, style: str) -> None:
        self.start: Final = start
        self.end: Final = end
        self.label: Final = shortened(label, MAX_NAME)
        self.style: Final = style  # "", "back", "missing"


class Drawing:
    """The boxes and edges of one record, and how many lists, maps and objects did not get one."""

    def __init__(self) -> None:
        self.boxes: Final[list[Box]] = []
        self.edges: Final[list[Edge]] = []
        self.left_out = 0


class _Pending:
    """A container still to be drawn, and the box that holds it (None for a root)."""

    def __init__(self, node: Node, holder: Box | None, label: str) -> None:
        self.node: Final = node
        self.holder: Final = holder
        self.label: Final = label


class _Painter:
    """Makes one record's drawing of at most `limit` boxes."""

    def __init__(self, record: Record, place: int, limit: int) -> None:
        self.record: Final = record
        self.prefix: Final = f"r{place}"
        self.limit: Final = limit
        self.drawing: Final = Drawing()
        self.pending: Final[list[_Pending]] = []
        self.drawn: Final[set[int]] = set()
        self.references: Final[list[tuple[str, int, int, str]]] = []  # source, target, number, label
        self.names: Final[dict[int, list[str]]] = {}
        self.missing: Final[dict[int, str]] = {}

    def paint(self) -> Drawing:
        record = self.record
        root = record.partial
        if root is None:
            self._raw()
            return self.drawing
        self.pending.append(_Pending(root, None, ""))
        while self.pending:
            one = self.pending.pop()
            if len(self.drawing.boxes) >= self.limit:
                self.drawing.left_out += containers(root.tape, int(one.node.index))
            elif one.node.kind == t.ARRAY and one.holder is not None:
                self._items(one, one.holder)
            else:
                self._box(one)
        for source, target, number, label in self.references:
            if target in self.drawn:
                self.drawing.edges.append(Edge(source, f"{self.prefix}n{target}", label, "back"))
            else:
                self._missing(source, number, label, target < 0)
        return self.drawing

    def _raw(self) -> None:
        record = self.record
        box = Box(f"{self.prefix}raw", f"{record.length} bytes", "", "error")
        error = record.error
        if error is not None:
            box.rows.append(("error", f"{error.code}: {shortened(error.text, MAX_TITLE)}"))
        if record.raw:
            box.rows.append(("bytes", hex_text(record.raw)))
        self.drawing.boxes.append(box)

    def _missing(self, source: str, number: int, label: str, dangling: bool) -> None:
        """A dashed box for what references of one number mean but no box stands for."""
        name = self.missing.get(number)
        if name is None:
            if len(self.drawing.boxes) >= self.limit:
                self.drawing.left_out += 1
                return
            name = self.missing[number] = f"{self.prefix}m{len(self.missing)}"
            meaning = "nothing has this number" if dangling else ""
            self.drawing.boxes.append(Box(name, f"→ #{number}", meaning, "missing"))
        self.drawing.edges.append(Edge(source, name, label, "missing"))

    def _box(self, one: _Pending) -> None:
        node = one.node
        name = f"{self.prefix}n{int(node.index)}"
        self.drawn.add(int(node.index))
        codec = self.record.codec
        meaning = "" if codec is None else shortened(codec.annotate(node), MAX_TITLE)
        box = Box(name, self._title(node, one.label), meaning, "")
        self.drawing.boxes.append(box)
        if one.holder is not None:
            self.drawing.edges.append(Edge(one.holder.name, name, one.label, ""))
        below: list[_Pending] = []
        if node.kind == t.MAP:
            self._entries(node, box, below)
        elif node.kind in _CONTAINERS:
            names = self._names(node)
            for part in node.parts():
                if not part.hidden:
                    self._part(part, _member_name(part, names), box, below)
        else:
            box.rows.append(("", self._value(node)))
        below.reverse()
        self.pending.extend(below)

    def _items(self, one: _Pending, holder: Box) -> None:
        """The items of an array of the message's layout: they hang on what holds the array."""
        below: list[_Pending] = []
        for part in one.node.parts():
            if not part.hidden:
                self._part(part, f"{one.label}[{int(part.position)}]", holder, below)
        below.reverse()
        self.pending.extend(below)

    def _entries(self, node: Node, box: Box, below: list[_Pending]) -> None:
        """The entries of a map: a scalar key names its value, any other gets a box of its own."""
        label = ""
        for part in node.parts():
            if part.hidden:
                continue
            entry, value = divmod(int(part.position), 2)
            if value:
                self._part(part, label, box, below)
            elif part.kind == t.REF or (part.kind in _CONTAINERS and self._row(part) is None):
                self._part(part, f"key {entry}", box, below)
                label = f"value {entry}"
            else:
                label = self._row(part) or ""
                text = part.value
                if isinstance(text, str):
                    label = shortened(text, MAX_NAME)

    def _part(self, part: Node, name: str, box: Box, below: list[_Pending]) -> None:
        """A member, item or value: a row, an edge to come, or a reference."""
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
        """The text of what is drawn as a row; None for what gets a box."""
        kind = node.kind
        if kind not in _CONTAINERS:
            return self._value(node)
        if node.referred:
            return None
        if kind == t.LIST or kind == t.ARRAY:
            return self._scalars(node)
        if kind == t.MAP or kind == t.OBJECT:
            return self._small(node)
        return None

    def _value(self, node: Node) -> str:
        text = value_text(node)
        codec = self.record.codec
        meaning = "" if codec is None else codec.annotate(node)
        return f"{text} ({shortened(meaning, MAX_VALUE)})" if meaning else text

    def _scalars(self, node: Node) -> str | None:
        """A list of nothing but scalars in brackets, its first items shown."""
        texts: list[str] = []
        count = 0
        for part in node.parts():
            if part.hidden:
                continue
            if part.kind in _CONTAINERS or part.kind == t.REF or part.kind == t.FAULT:
                return None
            if count < MAX_SCALARS:
                texts.append(shortened(value_text(part), MAX_VALUE // 2))
            count += 1
        more = f", … {count} items" if count > MAX_SCALARS else ""
        kind = node.type_name
        return f"{shortened(kind, MAX_NAME) + ' ' if kind else ''}[{', '.join(texts)}{more}]"

    def _small(self, node: Node) -> str | None:
        """An object that reads as one value, by what its codec says it means."""
        tape = node.tape
        index = int(node.index)
        end = int(tape.next(index))
        if end - index > SMALL:
            return None
        if node.kind == t.MAP and node.type_name is None:
            return "{}" if not node.children else None
        while index + 1 < end:
            index += 1
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
        """The names of an object's fields, class first; each class is read once."""
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
        elif kind in (t.LIST, t.MAP, t.OBJECT, t.REMOTE):
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
    """How many lists, maps, objects and parts of the layout the subtree at `index` has, itself included."""
    count = 0
    end = int(tape.next(index))
    while index < end:
        if tape.kind(index) in _CONTAINERS:
            count += 1
        index += 1
    return count


def shortened(text: str, limit: int) -> str:
    """The text, cut to `limit` characters with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def hex_text(content: bytes) -> str:
    """Bytes as hex, the first of them where there are many, then with their number."""
    shown = MAX_VALUE // 4
    if len(content) <= shown:
        return content.hex(" ")
    return f"{content[:shown].hex(' ')} … {len(content)} bytes"


def value_text(node: Node) -> str:
    """A scalar in at most about `MAX_VALUE` characters: strings in quotes, bytes as hex."""
    kind = node.kind
    if kind in (t.NULL, t.ABSENT):
        return "null"
    if kind in (t.BOOL, t.BOOLEAN):
        return "true" if node.number else "false"
    if kind == t.DATE:
        try:
            return date_text(node.number)
        except (OverflowError, ValueError):
            return f"{node.number} ms"
    value = node.value
    if isinstance(value, bytes):
        if kind in (t.BYTES, t.HEX, t.CHUNK):
            return hex_text(value)
        return '"' + shortened(value[: 4 * MAX_VALUE].decode("utf-8", "replace"), MAX_VALUE) + '"'
    if isinstance(value, str):
        quoted = kind in (t.STRING, t.STRING16, t.TEXT, t.XML)
        return f'"{shortened(value, MAX_VALUE)}"' if quoted else shortened(value, MAX_VALUE)
    if kind == t.FAULT:
        fault = node.tape.faults[node.number]
        return f"error {fault.code}: {shortened(fault.text, MAX_TITLE)}"
    if kind == t.REF:
        return f"→ #{node.reference}"
    return node.kind_name if value is None else str(value)


def _heading(record: Record) -> list[str]:
    """The lines above a record's drawing: what it is, its error, its worst notes."""
    lines = [f"{record.offset}: {record.protocol} {shortened(record.summary, MAX_TITLE)}"]
    error = record.error
    if error is not None and record.partial is not None:
        lines.append(f"{error.code} at {error.offset}: {shortened(error.text, MAX_TITLE)}")
    notes = record.notes
    lines.extend([f"note {code} at {at}: {shortened(text, 2 * MAX_TITLE)}" for code, at, text in notes[:3]])
    if len(notes) > 3:
        lines.append(f"{len(notes) - 3} more note{'' if len(notes) == 4 else 's'}")
    return lines


def _left_out(count: int, limit: int) -> str:
    return f"{count} more left out, of lists, maps, objects and arrows: at most {limit} boxes are drawn"


def visible(text: str) -> str:
    """The text with what does not print as an escape: control characters, lone surrogates, overrides."""
    if text.isprintable():
        return text
    return "".join([one if one.isprintable() or one == "\u3000" else _escape(one) for one in text])


def _escape(one: str) -> str:
    code = ord(one)
    plain = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if plain is not None:
        return plain
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# --- Graphviz -----------------------------------------------------------------------------------

_ARROWS: Final = {"": "", "back": ", style=dashed, constraint=false", "missing": ", style=dashed"}
_FILLS: Final = {"": "#e3ecf7", "error": "#f8d7d7", "missing": "#ffffff", "more": "#ffffff"}


def dot(records: Iterable[Record]) -> Iterator[str]:
    """The text of a Graphviz digraph of the records, line by line, each record a cluster.

    At most `DOT_BOXES` boxes and `RECORDS` records; a note in the drawing says how much is left out.
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
    # Graphviz stacks from the bottom what it lays out from left to right.
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
    return f"{skipped} more record{'' if skipped == 1 else 's'} left out"


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
    """Text for a cell of a label like HTML; an empty cell holds a space."""
    return visible(text).translate(_HTML) or " "


_DOT: Final = {ord('"'): '\\"', ord("\\"): "\\\\", ord("&"): "&amp;"}


def dot_string(*lines: str) -> str:
    """Lines as one quoted string of Graphviz, to the left where they are several."""
    quoted = [visible(line).translate(_DOT) for line in lines]
    return '"' + "\\l".join(quoted) + ('\\l"' if len(lines) > 1 else '"')


# --- Mermaid ------------------------------------------------------------------------------------


def mermaid(records: Iterable[Record]) -> Iterator[str]:
    """The text of a Mermaid flowchart of the records, line by line, each record a subgraph.

    At most `MERMAID_BOXES` boxes, `MERMAID_EDGES` edges and `MERMAID_CHARACTERS` characters, since Mermaid
    itself refuses larger ones; a note in the drawing says how much is left out.
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

    What Mermaid, Markdown or HTML could read is written as Mermaid's entities, such as `#34;`.
    """
    return "<br/>".join([_entities(visible(line)) for line in lines])


_PLAIN: Final = frozenset(" ,/()=…→")  # beside letters, digits and all from U+0300 on
_BETWEEN: Final = frozenset(".-_")  # plain between letters and digits


def _entities(line: str) -> str:
    parts: list[str] = []
    last = len(line) - 1
    for at, one in enumerate(line):
        if one.isalnum() or ord(one) >= 0x300:
            plain = True
        elif one in _BETWEEN:
            plain = 0 < at < last and line[at - 1].isalnum() and line[at + 1].isalnum()
        elif one == " ":
            plain = 0 < at < last and line[at - 1] != " "
        elif one == ")":
            plain = at == last or line[at + 1] != " "
        else:
            plain = one in _PLAIN
        parts.append(one if plain else f"#{ord(one)};")
    return "".join(parts)
