"""Numbers of things and untrusted text, as words for people.

Text from input is untrusted: whatever is not printable (control characters, escape sequences, direction
overrides, lone surrogates) is shown escaped and never sent to a terminal.
"""

import re
from typing import Final

from mypy_extensions import i64

SUMMARY_CELLS: Final = 200  # cells of a message's summary
MOST_MARKS: Final = 4  # combining marks in a row; more of them pile up over other lines
_BLANK: Final = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters and marks that show nothing
_KEYCAPS: Final = "#*0123456789"
_SELECTOR: Final = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"  # compiled when it is first used
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def count(number: i64, noun: str, plural: str = "") -> str:
    """A number of things: "1 byte", "2,000 bytes"."""
    if number == 1:
        return f"1 {noun}"
    return f"{int(number):,} {plural or noun + 's'}"


def clean(text: str) -> str:
    """Text with every character that is not printable, or prints nothing, as an escape.

    Of combining marks in a row, those after the first `MOST_MARKS` are escaped too. Selectors of an emoji's
    look stay.
    """
    if text.isascii() or not _is_odd(text):
        if text.isprintable():
            return text
        return "".join([char if char.isprintable() or char == "\u3000" else escape(char) for char in text])
    from unicodedata import category

    parts: list[str] = []
    marks = 0
    before = ""
    for char in text:
        kind = category(char)
        marks = marks + 1 if kind == "Mn" or kind == "Me" else 0
        unseen = char in _BLANK or marks > MOST_MARKS or not (char.isprintable() or char == "\u3000")
        if not unseen and re.match(_SELECTOR, char):
            unseen = not _is_of_emoji(char, before)
        parts.append(escape(char) if unseen else char)
        before = char
    return "".join(parts)


def _is_odd(text: str) -> bool:
    """Whether some character has to be looked at closely: of a script with combining marks, or unseen.

    Written as a loop: compiling a regular expression of these ranges takes 4 % of the start of a command.
    """
    for char in text:
        code = ord(char)
        if code < 0x300 or 0x3165 <= code <= 0xA66E or 0x2100 <= code <= 0x3098:  # nearly all
            continue
        if code <= 0x36F or 0x483 <= code <= 0x489 or 0x591 <= code <= 0x1AFF or 0x1DC0 <= code <= 0x1DFF:
            return True
        if 0x20D0 <= code <= 0x20FF or code == 0x3099 or code == 0x309A or code == 0x3164:
            return True
        if 0xA66F <= code <= 0xABED or code == 0xFB1E or 0xFE00 <= code <= 0xFE2F or code == 0xFFA0:
            return True
        if 0x101FD <= code <= 0x1E94A or 0xE0100 <= code <= 0xE01EF:
            return True
    return False


def _is_of_emoji(selector: str, before: str) -> bool:
    """Whether a variation selector chooses the look of the symbol before it."""
    from unicodedata import category

    if selector not in "\ufe0e\ufe0f" or not before:
        return False
    return before in _KEYCAPS or category(before)[0] in "SP"


def shortened(text: str, most: int = SUMMARY_CELLS) -> str:
    """Text cut to at most `most` cells of a terminal, with an ellipsis if it is."""
    if len(text) * 2 <= most or (text.isascii() and len(text) <= most):
        return text
    if text.isascii():
        return text[: most - 1] + "…"
    from unicodedata import east_asian_width

    cells = 0
    end = 0  # of what leaves room for the ellipsis
    for place, char in enumerate(text[: most + 1]):
        cells += 2 if east_asian_width(char) in "WF" else 1
        if cells < most:
            end = place + 1
        elif cells > most:
            return text[:end] + "…"
    return text


def elided(text: str, most: int = SUMMARY_CELLS) -> str:
    """Text cut to at most `most` characters, with an ellipsis in its middle if it is."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def escape(char: str) -> str:
    r"""One character as an escape: `\n`, `\u001b`, `\U000e0001`."""
    code = ord(char)
    return _ESCAPES.get(char) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def quote(text: str) -> str:
    """Text in double quotes, escaped."""
    return '"' + clean(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'
