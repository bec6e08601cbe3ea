"""What `wirelens protocols PROTOCOL` shows: the members of a protocol's messages, and examples of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wirelens.codecs import dumps, registry
from wirelens.codecs.schema import FLAGS, INTEGER, LARGEST
from wirelens.formatters import layout as lay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wirelens.codecs.node import Json
    from wirelens.codecs.schema import Member, Notation
    from wirelens.formatters.layout import Layout, Line

LONG = 60  # characters of a description that is not repeated


def example(protocol: str, kind: str) -> str:
    """An example of a message as a record in JSON; `kind` is which, the first if it is empty.

    Raises LookupError with a text if there is no such example.
    """
    examples = registry.notation(protocol).examples
    if kind and kind not in examples:
        raise LookupError(f"{protocol} has no example {kind!r}; there are {', '.join(examples)}")
    message = examples[kind] if kind else next(iter(examples.values()))
    return json.dumps({"protocol": protocol, "message": message}, indent=2) + "\n"


def as_json(protocol: str) -> Json:
    """All that is known of a protocol's messages, as JSON."""
    entry = registry.entry(protocol)
    codec = registry.get(protocol)
    notation = registry.notation(protocol)
    return {
        "protocol": entry.id,
        "title": entry.title,
        "specification": entry.source,
        "ports": list(entry.ports),
        "kinds": list(codec.kinds),
        "contains": list(codec.carries),
        "objects": [
            {"object": schema.title, "members": [_member(member) for member in schema.members.values()]}
            for schema in notation.objects
        ],
        "values": dict(notation.values),
        "examples": dict(notation.examples),
    }


def _member(member: Member) -> Json:
    """A member as JSON; what it does not have is left out."""
    given: dict[str, Json] = {"name": member.name, "type": member.type_words() or None}
    given["description"] = member.words or None
    given["needed"] = True if member.needed else None
    given["default"] = member.default
    given["usual"] = member.usual or None
    given["names"] = {str(number): name for number, name in member.names.items()} or None
    given["choices"] = list(member.choices) or None
    if member.kind in (INTEGER, FLAGS) and member.high < LARGEST:
        given["low"], given["high"] = member.low, member.high
    return {name: value for name, value in given.items() if value is not None}


def description(member: Member) -> str:
    """A member in words: its type, what it means, its default."""
    words = ": ".join(filter(None, (member.type_words(), member.words)))
    if member.default is not None:
        return f"{words}; by default {dumps(member.default)}"
    return f"{words}; by default {member.usual}" if member.usual else words


def lines(protocol: str, layout: Layout) -> Iterator[Line]:
    """The members of a protocol's messages, for people."""
    entry = registry.entry(protocol)
    codec = registry.get(protocol)
    notation = registry.notation(protocol)
    yield layout.fit([(lay.NAME, entry.id), (lay.PLAIN, f"  {entry.title}")])
    facts = {
        "source": entry.source,
        "ports": ", ".join(map(str, entry.ports)),
        "kinds": ", ".join(codec.kinds),
        "contains": ", ".join(codec.carries),
        "examples": f"{', '.join(notation.examples)}  (wirelens protocols {protocol} --example NAME)",
    }
    facts["*"] = "cannot be left out"
    yield from _rows([(name, text) for name, text in facts.items() if text], layout)
    for title, rows in sections(notation):
        yield []
        yield [(lay.WORD, title)]
        yield from _rows(rows, layout)


def sections(notation: Notation) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Titles, each with the names and descriptions of its members; unusual wire forms come last."""
    described: set[Member] = set()
    for schema in sorted(notation.objects, key=lambda one: one.title.startswith("$wire")):
        rows = []
        for member in schema.members.values():
            words = description(member)
            again = member in described and len(words) > LONG
            described.add(member)
            rows.append((member.name + (" *" if member.needed else ""), "as above" if again else words))
        if rows:
            yield schema.title, rows
    if notation.values:
        yield "values: JSON's own, or objects with one of these tags", list(notation.values.items())


def _rows(rows: list[tuple[str, str]], layout: Layout) -> Iterator[Line]:
    """A line for each name and its description, which goes on below itself."""
    margin = max(len(name) for name, _ in rows) + 4
    for name, text in rows:
        first = True
        for line in lay.wrapped(f"  {name}".ljust(margin), lay.PLAIN, text, layout):
            yield [(lay.NAME, line[0][1]), *line[1:]] if first else line
            first = False
