"""Differences of messages as text and as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wirelens.codecs import tape as t
from wirelens.codecs.comparing.alignment import common_start
from wirelens.codecs.comparing.comparison import ADDED, CHANGED, MOVED, REMOVED, WIRE
from wirelens.codecs.comparing.paths import path_text, step_text
from wirelens.codecs.words import clean, count, quote
from wirelens.formatters import layout as lay
from wirelens.formatters.layout import Layout
from wirelens.formatters.names import initials

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.codecs import Json, Record
    from wirelens.codecs.comparing.comparison import Change, Place
    from wirelens.codecs.node import Node
    from wirelens.formatters.layout import Line

SIGNS: Final = {CHANGED: "~", ADDED: "+", REMOVED: "-", MOVED: ">", WIRE: "="}
STYLES: Final = {
    CHANGED: lay.NOTE,
    ADDED: lay.STRING,
    REMOVED: lay.ERROR,
    MOVED: lay.REFERENCE,
    WIRE: lay.DIM,
}
WORDS: Final = {
    CHANGED: "changed",
    ADDED: "added",
    REMOVED: "removed",
    MOVED: "moved",
    WIRE: "in another form",
}
MOST_SHOWN: Final = 1000  # changes of a message, as text
MOST_CELLS: Final = 400  # of one value, even where lines have no width
KEPT: Final = 12  # characters kept before and after what differs in long texts
ARROW: Final = " → "
PACKAGE: Final = r"(?<![\w.])(?:[a-z_][a-z0-9_]*+\.)++(?=[A-Z])"  # of a class, with its dot


def changes(found: list[Change], layout: Layout) -> Iterator[Line]:
    """The changes of a message: offsets on both sides, sign, path, values."""
    shown = found[:MOST_SHOWN]
    old_width = max([len(str(change.old.offset)) for change in shown if change.old], default=1)
    new_width = max([len(str(change.new.offset)) for change in shown if change.new], default=1)
    for change in shown:
        old_offset = "" if change.old is None else str(change.old.offset)
        new_offset = "" if change.new is None else str(change.new.offset)
        head: Line = [
            (lay.DIM, f"{old_offset:>{old_width + 1}} {new_offset:>{new_width}}  "),
            (STYLES[change.kind], SIGNS[change.kind]),
            (lay.PLAIN, " "),
        ]
        yield from _change(change, head, layout)
    if len(found) > MOST_SHOWN:
        yield [(lay.DIM, f"… {count(len(found) - MOST_SHOWN, 'more change')}; --format json has all")]


def _change(change: Change, head: Line, layout: Layout) -> Iterator[Line]:
    """One change on a line, or on three if both values take too much room."""
    line = [*head, (lay.NAME, clean(both_paths(change)))]
    line.append((lay.PLAIN, ": "))
    room = min(layout.room(layout.cells(line)), MOST_CELLS)
    old, new = change.old, change.new
    if old is None or new is None or change.kind == MOVED:
        place = old or new
        assert place is not None
        yield line + value(place, room, layout)
        return
    before, after = contrast(old, new, max((room - len(ARROW)) // 2, lay.LEAST), layout)
    if (
        layout.width is None
        or layout.cells(line) + layout.cells(before) + layout.cells(after) + len(ARROW) <= layout.width
    ):
        yield [*line, *before, (lay.DIM, ARROW), *after]
        return
    line.pop()
    yield line
    indent = " " * layout.cells(head)
    room = min(layout.room(len(indent) + 2), MOST_CELLS)
    before, after = contrast(old, new, room, layout)
    yield [(lay.PLAIN, indent), (lay.ERROR, "- "), *before]
    yield [(lay.PLAIN, indent), (lay.STRING, "+ "), *after]


def both_paths(change: Change) -> str:
    """The path of a change; positions in lists that differ between both sides as `[2→3]`."""
    if change.old is None or change.new is None:
        place = change.old or change.new
        return "" if place is None else path_text(place.steps) or "message"
    old, new = change.old.steps, change.new.steps
    if old == new:
        return path_text(old) or "message"
    alike = len(old) == len(new) and all(
        one == other or (isinstance(one, int) and isinstance(other, int))
        for one, other in zip(old, new, strict=True)
    )
    if not alike:
        return f"{path_text(old)}{ARROW}{path_text(new)}"
    parts: list[str] = []
    for one, other in zip(old, new, strict=True):
        if isinstance(one, str):
            parts.append("." + step_text(one))
        else:
            parts.append(f"[{one}]" if one == other else f"[{one}→{other}]")
    return "".join(parts).removeprefix(".")


def contrast(old: Place, new: Place, room: int, layout: Layout) -> tuple[Line, Line]:
    """Two values, each in about `room` cells; of long texts the part that differs is kept."""
    before, after = _text(old), _text(new)
    if before is None or after is None:
        typed = old.node is not None and new.node is not None and old.node.kind != new.node.kind
        return value(old, room, layout, typed), value(new, room, layout, typed)
    start = common_start(before, after)
    most = min(len(before), len(after)) - start
    end = min(common_start(before[: -most - 1 : -1], after[: -most - 1 : -1]), most) if most else 0
    return (
        _marked(before, start, end, room, layout, lay.ERROR),
        _marked(after, start, end, room, layout, lay.STRING),
    )


def _marked(text: str, start: int, end: int, room: int, layout: Layout, style: str) -> Line:
    """A text in quotes, what differs in another style; its common start and end are cut first."""
    stop = len(text) - end
    before, middle, after = text[:start], text[start:stop], text[stop:]
    if len(text) > room or layout.measure(quote(text)) > room:
        if len(before) > KEPT:
            before = "…" + before[-KEPT:]
        if len(after) > KEPT:
            after = after[:KEPT] + "…"
        left = max(room - layout.measure(quote(before + after)), lay.LEAST)
        if len(middle) > left or layout.measure(quote(middle)) > left:
            length = f"… ({count(len(middle), 'character')})"
            middle = layout.cut(middle, max(left - len(length), lay.LEAST // 2))
            while len(middle) > lay.LEAST // 2 and layout.measure(quote(middle)) > left:
                middle = middle[: len(middle) * 3 // 4]
            middle += length
    inner: Line = [(lay.PLAIN, _escaped(before)), (style, _escaped(middle)), (lay.PLAIN, _escaped(after))]
    return [(lay.PLAIN, '"'), *[part for part in inner if part[1]], (lay.PLAIN, '"')]


def _escaped(text: str) -> str:
    return quote(text)[1:-1]


def _text(place: Place) -> str | None:
    """The text of a value that is one, of bytes the hex."""
    if place.part:
        return place.json if isinstance(place.json, str) else None
    node = place.node
    if node is None:
        return None
    if node.kind in (t.TEXT, t.STRING, t.STRING16, t.XML) or node.kind in t.ENCODINGS:
        return node.text
    return node.content.hex() if node.kind in (t.BYTES, t.HEX) else None


def value(place: Place, room: int, layout: Layout, typed: bool = False) -> Line:
    """A value on one line, in about `room` cells; with its type if `typed`."""
    if place.part or place.node is None:
        from wirelens.codecs.json_text import dumps

        text = clean(dumps(place.json))
        start = layout.cut(text, room - 1)
        return [(lay.WORD, text if len(start) == len(text) else start + "…")]
    return inline(place.node, room, Layout(layout.width, layout.measure, not typed))


def inline(node: Node, room: int, layout: Layout) -> Line:
    """A value with its members on one line, as far as they fit into `room` cells."""
    line: Line = []
    used = 0
    # views to write, with the segments before them; a text alone closes what was opened
    work: list[tuple[Line, Node | None, str]] = [([], node, "")]
    while work:
        before, item, closing = work.pop()
        parts = list(before)
        if item is None:
            parts.append((lay.PLAIN, closing))
        elif item.kind in (t.STRUCT, t.ARRAY, t.LIST, t.MAP, t.OBJECT):
            opening, closing = "[]" if item.kind in (t.ARRAY, t.LIST) else "{}"
            name = item.type_name
            if name:
                parts.append((lay.WORD, clean(name[name.rfind(".") + 1 :]) + " "))
            parts.append((lay.PLAIN, opening))
            members = _members(item)
            work.append(([], None, closing))
            work.extend(reversed(members))
        else:
            parts.extend(lay.value_segments(item, max(room - used, lay.LEAST), layout))
        cells = layout.cells(parts)
        if used + cells > room and (line or item is None or item.kind in t.CONTAINERS):
            left = max(room - used - 1, 0)
            for style, text in parts:
                start = layout.cut(text, left)
                line.append((style, start))
                left -= layout.measure(start)
                if len(start) < len(text):
                    break
            line.append((lay.DIM, "…"))
            return line
        line.extend(parts)
        used += cells
    return line


def _members(node: Node) -> list[tuple[Line, Node | None, str]]:
    """The members of a value for `inline`: no more than could ever fit."""
    found: list[tuple[Line, Node | None, str]] = []
    is_list = node.kind in (t.ARRAY, t.LIST)
    key = ""
    for child in node.parts():
        if len(found) > MOST_CELLS:
            break
        if child.hidden:
            continue
        comma: Line = [(lay.PLAIN, ", ")] if found else []
        if node.kind == t.MAP and not child.position & 1:
            key = child.shown
            continue
        if not is_list:
            name = key if node.kind == t.MAP else child.name
            comma.append((lay.NAME, clean(name[:MOST_CELLS])))
            comma.append((lay.PLAIN, ": "))
        found.append((comma, child, ""))
    return found


def message(record: Record, name: str, number: str, sign: str, layout: Layout) -> Line:
    """The line of a message or call: sign, input, number ("message 3"), protocol, summary, length."""
    style = lay.ERROR if sign == "-" else lay.STRING if sign == "+" else lay.REFERENCE
    line: Line = [(style, sign), (lay.HEADING, f" {clean(name)}")]
    if number:
        line.append((lay.DIM, f"  {number}"))
    line.append((lay.PROTOCOL, f"  {record.protocol}  "))
    tail = f"  {count(record.length, 'byte')}" + (f" at {record.offset}" if record.offset else "")
    text = clean(record.summary).removeprefix(record.protocol + " ")
    used = layout.cells(line)
    if layout.measure(text) > layout.room(used + len(tail)):
        text = re.sub(PACKAGE, lambda match: initials(match[0]), text)
    if layout.measure(text) > layout.room(used + len(tail)):
        tail = ""
    room = layout.room(used + len(tail))
    if layout.measure(text) > room:
        text = layout.cut(text, room - 1) + "…"
    return [*line, (lay.SUMMARY, text), (lay.TYPE, tail)]


def totals(counted: dict[str, int]) -> str:
    """Numbers of changes by kind, as in "3 changed, 1 added"; kinds that do not occur are left out."""
    return ", ".join([f"{counted[kind]:,} {WORDS[kind]}" for kind in WORDS if counted.get(kind)])


def change_json(change: Change) -> str:
    """One change as JSON."""
    from wirelens.codecs.json_text import dumps

    old, new = change.old, change.new
    parts: list[str] = [f'"change": {dumps(change.kind)}']
    first = old or new
    if first is not None:
        parts.append(f'"path": {dumps(path_text(first.steps))}')
    if old is not None and new is not None and old.steps != new.steps:
        parts.append(f'"new_path": {dumps(path_text(new.steps))}')
    for side, place in (("old", old), ("new", new)):
        if place is not None:
            parts.append(f'"{side}_offset": {place.offset}')
    for side, place in (("old", old), ("new", new)):
        if place is not None and change.kind != MOVED:
            parts.append(f'"{side}": {value_json(place)}')
    return "{" + ", ".join(parts) + "}"


def value_json(place: Place) -> str:
    """A value in the notation, on one line."""
    from wirelens.codecs.json_text import dumps
    from wirelens.codecs.json_writers import end_writing, start_writing

    if place.part or place.node is None:
        return dumps(place.json)
    writer = start_writing(False)
    writer.write(place.node.tape, place.node.index, place.node.buffer)
    return end_writing(writer).decode()


def message_json(record: Record, number: int) -> str:
    """Which message it is, as JSON."""
    from wirelens.codecs.json_text import dumps

    members: dict[str, Json] = {
        "message": number,
        "offset": record.offset,
        "length": record.length,
        "protocol": record.protocol,
        "summary": record.summary,
    }
    if record.source is not None:
        members["source"] = record.source
    return dumps(members)
