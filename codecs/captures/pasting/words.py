"""The words of a dump's rows: hex and other numbers, of one byte or more."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern

_SEPARATOR: Final = lazy_pattern(r"[ \t]*(?:[:|,][ \t]*)?")


@dataclass(frozen=True, slots=True)
class Kind:
    """How words are written: the octets of one, and its value."""

    name: str
    size: int
    word: re.Pattern[str]
    value: Callable[[str], int]
    signed: bool = False
    width: int = 0  # of a hex word in digits; 0 for other radices
    fields: tuple[int, ...] = ()  # columns that a number takes, in the tools that print such numbers


def hex_kind(width: int) -> Kind:
    """Words of hex digits, `width` digits each."""
    size = width // 2
    # A last word may be shorter; a 0x may stand before each.
    word = lazy_pattern(
        rf"(?:0[xX])?[0-9A-Fa-f]{{2,{width}}}(?![0-9A-Za-z])"
        if size > 1
        else r"(?:0[xX])?[0-9A-Fa-f]{2}(?![0-9A-Za-z])"
    )
    return Kind(
        f"hex words of {size} bytes" if size > 1 else "hex", size, word, lambda s: int(s, 16), False, width
    )


def _number_kind(
    name: str, size: int, word: str, radix: int, fields: tuple[int, ...], signed: bool = False
) -> Kind:
    pattern = lazy_pattern(word + r"(?![0-9A-Za-z])")
    return Kind(name, size, pattern, lambda s: int(s, radix), signed, 0, fields)


_PLAIN: Final = "(?:0(?![0-9])|[1-9][0-9]"  # decimal numbers come without zeros in front
NUMBERS: Final = [
    _number_kind("binary digits", 1, "[01]{8}", 2, (9,)),
    _number_kind("octal", 1, "0?[0-3][0-7]{2}", 8, (4,)),
    _number_kind("octal words of 2 bytes", 2, "[01][0-7]{5}", 8, (7, 8)),
    _number_kind("octal words of 4 bytes", 4, "[0-3][0-7]{10}", 8, (12,)),
    _number_kind("octal words of 8 bytes", 8, "[01][0-7]{21}", 8, (23,)),
    _number_kind("decimal", 1, _PLAIN + "{0,2})", 10, (4,)),
    _number_kind("signed decimal", 1, "[-+]?" + _PLAIN + "{0,2})", 10, (5,), True),
    _number_kind("decimal words of 2 bytes", 2, _PLAIN + "{0,4})", 10, (6,)),
    _number_kind("decimal words of 2 bytes", 2, "[0-9]{5}", 10, (8,)),
    _number_kind("signed decimal words of 2 bytes", 2, "-?" + _PLAIN + "{0,4})", 10, (7,), True),
    _number_kind("decimal words of 4 bytes", 4, _PLAIN + "{0,9})", 10, (11,)),
    _number_kind("signed decimal words of 4 bytes", 4, "-?" + _PLAIN + "{0,9})", 10, (12,), True),
    _number_kind("decimal words of 8 bytes", 8, _PLAIN + "{0,19})", 10, (21,)),
    _number_kind("signed decimal words of 8 bytes", 8, "-?" + _PLAIN + "{0,18})", 10, (21,), True),
]


def words_of(body: str, kind: Kind, most: int = 1 << 30) -> list[tuple[str, int, int]]:
    """The words that `body` begins with, each with its start and end."""
    words: list[tuple[str, int, int]] = []
    position, short, prefixed = 0, False, False
    while len(words) < most and not short:
        start = position
        if words and body[position : position + 1] == "-":
            start += 1  # some debuggers join the halves of a row so
        elif words and body[position : position + 3] == " - ":
            start += 3
        elif gap := _SEPARATOR.match(body, position):
            start = gap.end()
        if words and start == position:
            break
        wide = bool(words) and kind.width > 0 and start - position > 4
        match = kind.word.match(body, start)
        if not match:
            break
        digits = match[0]
        if kind.width:
            if words and (digits[1:2] in ("x", "X")) != prefixed:
                break  # an offset of a row that was joined to this one
            prefixed = digits[1:2] in ("x", "X")
            digits = digits[2:] if prefixed else digits
            if len(digits) % 2:
                break
            short = len(digits) < kind.width
            if wide and start - position + len(digits) != kind.width + 1:
                break
        words.append((digits, start, match.end()))
        position = match.end()
    return words


def values_fit(kind: Kind, words: list[tuple[str, int, int]]) -> bool:
    """Whether every word's value fits the kind's size."""
    if kind.width:
        return True
    top = 1 << 8 * kind.size
    low, high = (-(top >> 1), (top >> 1) - 1) if kind.signed else (0, top - 1)
    return all(low <= kind.value(word) <= high for word, _, _ in words)


def octets_of(kind: Kind, words: list[tuple[str, int, int]], little: bool) -> bytes:
    """The bytes of words, in the given byte order."""
    if kind.width:
        if not little:
            return bytes.fromhex("".join(word for word, _, _ in words))
        return b"".join(bytes.fromhex(word)[::-1] for word, _, _ in words)
    order = "little" if little else "big"
    mask = (1 << 8 * kind.size) - 1
    return b"".join(
        (kind.value(word) & mask).to_bytes(kind.size, "little" if order == "little" else "big")
        for word, _, _ in words
    )


def words_for(kind: Kind, words: list[tuple[str, int, int]], size: int) -> int | None:
    """How many of `words` make `size` octets; None if no number of them does."""
    total = 0
    for used, (word, _, _) in enumerate(words, 1):
        total += len(word) // 2 if kind.width else kind.size
        if total >= size:
            return used if total - size < kind.size else None
    return None
