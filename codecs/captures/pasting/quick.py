"""Long texts of the usual forms, in little more room than they take themselves.

Each reader here gives what the careful ones would, or None, which sends the text their way: also if
anything in it is odd, so that they report it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.source import LIMIT, Pasted, PastedError

BLOCK: Final = 1 << 16  # characters: longer texts are long, and are read in blocks of this size
SAMPLE: Final = 200  # items that stand for all of a list

_ROW: Final = 16
_DOTS: Final = bytes(byte if 0x20 <= byte < 0x7F else 0x2E for byte in range(256))
# Of the usual dumps: a full row, a last one that is shorter, and a closing one with the length
_STYLES: Final = (
    # hexdump -C
    (
        lazy_pattern(r"([0-9a-f]{8})  ((?:[0-9a-f]{2} ){8} (?:[0-9a-f]{2} ){8}) \|(.{16})\|\n"),
        lazy_pattern(r"([0-9a-f]{8})  ((?:[0-9a-f]{2} {1,2}){1,15}) *\|(.{1,15})\|\n"),
        lazy_pattern(r"([0-9a-f]{8})\n?"),
    ),
    # xxd
    (
        lazy_pattern(r"([0-9a-f]{8}): ((?:[0-9a-f]{4} ){8}) (.{16})\n"),
        lazy_pattern(r"([0-9a-f]{8}): ((?:[0-9a-f]{4} ){0,7}(?:[0-9a-f]{2,4} )) +(.{1,15})\n?"),
        None,
    ),
    # od -A x -t x1z
    (
        lazy_pattern(r"([0-9a-f]{6,7})((?: [0-9a-f]{2}){16})  >(.{16})<\n"),
        lazy_pattern(r"([0-9a-f]{6,7})((?: [0-9a-f]{2}){1,15}) +>(.{1,15})<\n"),
        lazy_pattern(r"([0-9a-f]{6,7})\n?"),
    ),
)

_ITEM: Final = r"(?:0[xX][0-9A-Fa-f]{1,2}|-?[0-9]{1,3})"
_LIST_START: Final = lazy_pattern(rf"[\[{{(]\s*(?={_ITEM}\s*,)")
_LIST: Final = lazy_pattern(rf"\s*+(?:{_ITEM}\s*+,\s*+)*+(?:{_ITEM}\s*+)?")
_NUMBER_LETTERS: Final = dict.fromkeys(map(ord, "0123456789-,; \t\n\v\f"))
_LENGTH: Final = lazy_pattern(r"_len = ([0-9]{1,12});\s*$")

Careful = Callable[[str], Pasted | None]


def quick(text: str, careful: Careful) -> Pasted | None:
    """What a long text means; `careful` reads a short text. None sends it the careful way."""
    if not text.isascii() or "\r" in text or "\x1b" in text:
        return None
    for row, last, closing in _STYLES:
        if row.match(text):
            return _dump(text, row, last, closing)
    start = _LIST_START.search(text, 0, 4096)
    if start:
        end = max(text.rfind(mark) for mark in "]})")
        if end > start.end() and len(text) - end < 4096:
            return _list(text, start.end(), end, careful)
    return None if text.translate(_NUMBER_LETTERS) else _list(text, 0, len(text), careful)


def _dump(
    text: str, row: re.Pattern[str], last: re.Pattern[str], closing: re.Pattern[str] | None
) -> Pasted | None:
    out = bytearray()
    position = 0
    previous = b""
    starred = False
    while True:
        match = row.match(text, position)
        short = match is None
        if match is None:
            match = last.match(text, position)
            if match is None:
                break
        digits = match[2].replace(" ", "")
        if len(digits) % 2:
            return None
        data = bytes.fromhex(digits)
        place = int(match[1], 16)
        if starred:
            gap = place - len(out)
            if gap <= 0 or gap % _ROW or place > LIMIT:
                return None
            out += previous * (gap // _ROW)
            starred = False
        if place != len(out) or match[3] != data.translate(_DOTS).decode():
            return None
        out += data
        previous = data
        position = match.end()
        if short:
            break
        if text.startswith("*\n", position):
            position += 2
            starred = True
    if closing is not None:
        match = closing.fullmatch(text, position)
        if match is None:
            return None
        if starred:
            gap = int(match[1], 16) - len(out)
            if gap <= 0 or gap % _ROW or gap + len(out) > LIMIT:
                return None
            out += previous * (gap // _ROW)
        return Pasted(bytes(out), "dump") if int(match[1], 16) == len(out) else None
    return Pasted(bytes(out), "dump") if position == len(text) and not starred else None


def _list(text: str, start: int, end: int, careful: Careful) -> Pasted | None:
    """Numbers in text[start:end]: the careful way reads some, the least and the most among them."""
    whole = start == 0 and end == len(text)
    if not whole and not _LIST.fullmatch(text, start, end):
        return None
    out = bytearray()
    least, most = 255, -128
    longest = ""
    sample: list[str] = []
    for block in _blocks(text, start, end):
        items = block.replace(",", " ").replace(";", " ").split()
        try:
            values = [int(item, 0) for item in items]
        except ValueError:  # zeros in front
            return None
        if not values:
            continue
        low, high = min(values), max(values)
        if low < -128 or high > 255:
            return None
        if not sample:
            sample = items[:SAMPLE]
            longest = max(items, key=len)
        if low < least:
            least = low
            sample.append(items[values.index(low)])
        if high > most:
            most = high
            sample.append(items[values.index(high)])
        out += bytes(values) if low >= 0 else bytes(value & 255 for value in values)
    sample.append(longest)
    tail = text[end:]
    length = _LENGTH.search(tail)
    if length:
        if int(length[1]) != len(out):
            return None
        tail = tail[: length.start(1)] + str(len(sample)) + tail[length.end(1) :]
    try:
        found = careful(text[:start] + (" " if whole else ", ").join(sample) + tail)
    except PastedError:
        return None
    if found is None or found.data != bytes(int(item, 0) & 255 for item in sample):
        return None
    return Pasted(bytes(out), found.form)


def _blocks(text: str, start: int, end: int) -> Iterator[str]:
    """A list of numbers in parts that end after a separator."""
    while start < end:
        stop = min(start + BLOCK, end)
        while stop < end and text[stop - 1] not in ", \n\t;":
            stop += 1
        yield text[start:stop]
        start = stop
