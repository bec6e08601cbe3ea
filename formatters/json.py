"""Records as JSON text: an indented array, or one record per line."""

from __future__ import annotations

import re
from array import array as integers
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from wirelens.codecs import Record
    from wirelens.formatters.members import Members

LINES: Final = 32  # records per chunk of text
PIECES: Final = 1000  # lines per chunk of indented text
DEEPEST: Final = 64  # levels; deeper ones are indented like this one
LINE: Final = 100  # characters; longer objects and arrays are broken into lines
STEP: Final = "  "

_TOKEN: Final = re.compile(r'[\[{]|[\]}]|, |"[^"\\]*(?:\\.[^"\\]*)*"')


def jsonl(
    batches: Iterable[list[Record]], plain: bool = False, places: bool = True, members: Members | None = None
) -> Iterator[bytes]:
    """One record per line, in UTF-8, in chunks of at most LINES lines, or of a part of a large message.

    Without `places` records have no offsets; `members` adds some to them.
    """
    from wirelens.codecs.record import any_large, json_lines

    for records in batches:
        for at in range(0, len(records), LINES):
            some = records[at : at + LINES]
            if any_large(some):
                for record in some:
                    parts = record.json_parts(plain, places)
                    yield from parts if members is None else members.added(record, parts)
                    yield b"\n"
            elif members is not None:
                yield b"".join([members.line(record, plain, places) + b"\n" for record in some])
            else:
                yield json_lines(some, plain, places)


def json(
    records: Iterable[Record], plain: bool = False, places: bool = True, members: Members | None = None
) -> Iterator[str]:
    """An array of records, indented; `places` and `members` as of `jsonl`."""
    if members is None:
        return array(record.json_text(plain, places) for record in records)
    return array(members.line(record, plain, places).decode() for record in records)


def array(items: Iterable[str]) -> Iterator[str]:
    """An array of JSON texts of one line each, indented, in chunks of at most PIECES lines."""
    opening = "[\n"
    for item in items:
        pieces = indented(item, 1)
        opening += STEP
        while piece := "".join(islice(pieces, PIECES)):
            yield opening + piece
            opening = ""
        opening = ",\n"
    yield "[]\n" if opening == "[\n" else "\n]\n"


def indented(text: str, level: int = 0) -> Iterator[str]:
    """JSON text of one line, with ", " and ": ", broken into lines; objects and arrays that fit stay on one.

    The first line is not indented. The indentation stops growing at DEEPEST levels.
    """
    ends = integers("q")  # of each object or array: the position after it
    following = integers("q")  # and the number of the first one after it
    opened: list[int] = []
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if mark in "[{":
            opened.append(len(ends))
            ends.append(0)
            following.append(0)
        elif mark in "]}":
            number = opened.pop()
            ends[number] = token.end()
            following[number] = len(ends)
    position = written = number = 0
    end = len(text)
    while position < end:
        match = _TOKEN.search(text, position)
        if match is None:
            break
        start, position = match.span()
        mark = match[0][0]
        room = LINE - len(STEP) * min(level, DEEPEST)
        if mark in "[{":
            after = ends[number]
            if after - start <= max(room, 2):
                position = after
                number = following[number]
                continue
            number += 1
            level += 1
            yield text[written:position] + "\n" + STEP * min(level, DEEPEST)
        elif mark in "]}":
            level -= 1
            yield text[written:start] + "\n" + STEP * min(level, DEEPEST) + mark
        elif mark == ",":
            yield text[written:start] + ",\n" + STEP * min(level, DEEPEST)
        else:
            continue
        written = position
    yield text[written:]
