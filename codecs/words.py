"""Numbers of things and untrusted text, as words for people.

Text from input is untrusted: whatever is not printable (control characters, escape sequences, direction
overrides, lone surrogates) is shown escaped and never sent to a terminal.
"""

from typing import Final

from mypy_extensions import i64

_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def count(number: i64, noun: str, plural: str = "") -> str:
    """A number of things: "1 byte", "2,000 bytes"."""
    if number == 1:
        return f"1 {noun}"
    return f"{int(number):,} {plural or noun + 's'}"


def clean(text: str) -> str:
    """Text with every character that is not printable as an escape."""
    if text.isprintable():
        return text
    return "".join([char if char.isprintable() or char == "\u3000" else escape(char) for char in text])


def escape(char: str) -> str:
    r"""One character as an escape: `\n`, `\u001b`, `\U000e0001`."""
    code = ord(char)
    return _ESCAPES.get(char) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def quote(text: str) -> str:
    """Text in double quotes, escaped."""
    return '"' + clean(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'
