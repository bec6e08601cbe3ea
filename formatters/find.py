"""Nodes that match a text, a regular expression or a path: with their ancestors, places and bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node, root_of
from wirelens.codecs.tape import CONTAINERS
from wirelens.codecs.words import clean, quote
from wirelens.formatters import layout as lay
from wirelens.formatters.tree import Walk, headline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.codecs import Record
    from wirelens.formatters.layout import Layout, Line
    from wirelens.formatters.tree import Opened

BYTES_SHOWN: Final = 16  # of a value that matches
_TEXTS: Final = (t.TEXT, t.STRING, t.STRING16, t.XML, *t.ENCODINGS)
_MEMBER: Final = re.compile(r"[\w$-]++", re.ASCII)


class SearchError(ValueError):
    """A search that cannot be."""


class Search:
    """What is looked for: /REGEX/ in names and values; or TEXT, which may be the path of a node.

    Text is found without regard to case. In paths `[*]` is any item, `..name` a member at any depth.
    """

    def __init__(self, text: str) -> None:
        self.path: re.Pattern[str] | None = None
        if len(text) > 2 and text[0] == text[-1] == "/":
            try:
                self.part = re.compile(text[1:-1])
            except re.error as error:
                raise SearchError(f"{quote(text)} is not a regular expression: {error}") from None
            return
        if not text:
            raise SearchError("nothing to look for")
        self.part = re.compile(re.escape(text), re.IGNORECASE)
        path = re.escape(text.removeprefix("message."))
        path = path.replace(r"\[\*\]", r"\[\d+\]")
        inner = r"(?:.*[.\]])?+" if path.startswith(r"\.\.") else ""
        self.path = re.compile(inner + path.removeprefix(r"\.\."))

    def is_in(self, text: str) -> bool:
        """Whether the text or expression is in a name or value."""
        return self.part.search(text) is not None

    def is_path(self, path: str) -> bool:
        """Whether it is this path."""
        return self.path is not None and self.path.fullmatch(path) is not None


class Hit(NamedTuple):
    """A node that matches, and its path."""

    node: Node
    path: str


class Found:
    """The nodes of a message that match."""

    def __init__(self, record: Record, search: Search) -> None:
        self.record = record
        self.search = search
        self.hits: list[Hit] = []
        self.shown: set[int] = set()  # nodes that match, and their ancestors
        tape = record.tape
        if record.codec is not None and tape is not None and tape.size():
            self._walk(root_of(tape), Walk(record.codec, lay.Layout(), 0))

    def _walk(self, root: Node, walk: Walk) -> None:
        stack: list[tuple[Node, str, str]] = [(root, "", "")]
        while stack:
            node, name, path = stack.pop()
            if self._matches(node, name, path, walk):
                self.hits.append(Hit(node, path))
                self._show(node)
            if node.kind in CONTAINERS:
                stack.extend(reversed(list(_children(node, path, walk))))

    def _matches(self, node: Node, name: str, path: str, walk: Walk) -> bool:
        search = self.search
        if name and search.is_in(name):
            return True
        if path and search.is_path(path):
            return True
        return any(search.is_in(text) for text in _texts(node, walk))

    def _show(self, node: Node) -> None:
        place: Node | None = node
        while place is not None and int(place.index) not in self.shown:
            self.shown.add(int(place.index))
            place = place.parent
            if place is not None and place.kind == t.MAP:
                self._show_pairs(place)

    def _show_pairs(self, node: Node) -> None:
        """Of a map show both key and value where one of them is shown."""
        parts = [int(part.index) for part in node.parts() if not part.hidden]
        for key, value in zip(parts[::2], parts[1::2], strict=False):
            if key in self.shown or value in self.shown:
                self.shown.update((key, value))

    def lines(self, layout: Layout) -> Iterator[Line]:
        """The message's headline, the nodes with their ancestors, and a line for each with its path."""
        record = self.record
        tape = record.tape
        if tape is None or record.codec is None:
            return
        gutter = len(str(record.offset + record.length))
        yield headline(record, layout, gutter)
        walk = _FoundWalk(self, layout, gutter)
        for line in walk.lines(root_of(tape)):
            yield layout.fit(line)
        yield []
        for node, path in self.hits:
            at = int(node.buffer.absolute(node.tape.start(node.index)))
            yield layout.fit(
                [(lay.DIM, f"{at:>{gutter}}  {at:#06x}  "), (lay.NAME, clean(path) or "(the message)")]
            )


class _FoundWalk(Walk):
    """Draws only what was found, with its ancestors; the bytes of values after them."""

    def __init__(self, found: Found, layout: Layout, gutter: int) -> None:
        codec = found.record.codec
        assert codec is not None
        super().__init__(codec, layout, gutter)
        self.found = found
        self.hits = {int(hit.node.index) for hit in found.hits}

    def skip_hidden(self, frame: Opened) -> None:
        tape = frame.node.tape
        while frame.where < frame.until and frame.where not in self.found.shown:
            if not tape.head(frame.where) & t.HIDDEN:
                frame.position += 1
            frame.where = int(tape.next(frame.where))

    def leaf(self, line: Line, node: Node) -> Line:
        if int(node.index) not in self.hits:
            return super().leaf(line, node)
        tape = node.tape
        data = node.buffer.data[int(tape.start(node.index)) : int(tape.end(node.index))]
        more = "…" if len(data) > BYTES_SHOWN else ""
        tail = (lay.DIM, f"  {data[:BYTES_SHOWN].hex(' ')}{more}")
        extra: Line = []
        self.finish(extra, node)
        used = self.layout.cells(line) + self.layout.cells([*extra, tail])
        line.extend(self.value(node, self.layout.room(used)))
        line.extend(extra)
        return [*self.marked(line), tail] if data else self.marked(line)

    def marked(self, line: Line) -> Line:
        """A line with what matches in names and values marked."""
        marked: Line = []
        for style, text in line:
            if style not in (lay.NAME, lay.STRING, lay.WORD, lay.NUMBER, lay.ANNOTATION):
                marked.append((style, text))
                continue
            at = 0
            for match in self.found.search.part.finditer(text):
                start, end = match.span()
                if end > start:
                    marked.extend([(style, text[at:start]), (lay.MATCH, text[start:end])])
                    at = end
            marked.append((style, text[at:]))
        return [(style, text) for style, text in marked if text]


def _texts(node: Node, walk: Walk) -> Iterator[str]:
    """A node's value, or its class or type, as text; its annotation."""
    kind = node.kind
    if kind in CONTAINERS:
        yield node.type_name or ""
    elif kind in _TEXTS:
        yield node.text or ""
    elif kind in (t.HEX, t.BYTES):
        content = node.content
        yield content.hex()
        yield content.decode("latin-1")
    elif kind != t.FAULT:
        yield lay.value_text(node, lay.UNLIMITED)
    yield walk.codec.annotate(node)


def _children(node: Node, path: str, walk: Walk) -> Iterator[tuple[Node, str, str]]:
    """The children that are shown, with their names and paths."""
    names = walk.names_of(node) if node.kind == t.OBJECT else None
    dot = "." if path else ""
    position = 0
    key = ""
    for part in node.parts():
        if part.hidden:
            continue
        name = part.field.name
        if name:
            yield part, name, f"{path}{dot}{name}"
        elif names is not None:
            name = names[position + 1] if position + 1 < len(names) else ""
            yield part, name, f"{path}{dot}{_member(name)}" if name else f"{path}.$fields[{position}]"
        elif node.kind == t.MAP:
            if position % 2 == 0:
                key = _key(part)
                if not key:
                    yield part, "", f"{path}.$map[{position // 2}][0]"
            else:
                step = f"{dot}{_member(key)}" if key else f".$map[{position // 2}][1]"
                yield part, key, path + step
        elif node.kind == t.TYPED:
            yield part, "", path
        else:
            yield part, "", f"{path}[{position}]"
        position += 1


def _key(node: Node) -> str:
    """A map's key as a step of a path; "" if it is neither text nor a whole number."""
    if node.kind in _TEXTS or node.kind == t.SYMBOL:
        return node.text or ""
    return str(node.number) if node.kind in (t.INT, t.LONG) else ""


def _member(name: str) -> str:
    return name if _MEMBER.fullmatch(name) else quote(name)
