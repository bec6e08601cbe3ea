"""Escapes of strings: `\\xda`, `\\332`, `\\u00da` to octets, and texts of nothing but them."""

import re
from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.plain import ambiguous
from wirelens.codecs.captures.pasting.source import Pasted, Source

_ESCAPE: Final = lazy_pattern(
    r"\\(?:x\{(?P<brace>[0-9A-Fa-f]{1,2})\}|x(?P<hex>[0-9A-Fa-f]{2})|x(?P<one>[0-9A-Fa-f])(?![0-9A-Fa-f])"
    r"|u\{(?P<ubrace>[0-9A-Fa-f]{1,6})\}|u(?P<u>[0-9A-Fa-f]{4})|U(?P<U>[0-9A-Fa-f]{8})"
    r"|(?P<digits>[0-9]{1,3})|(?P<z>z)\s*|(?P<line>\n)[ \t]*"
    r"|(?P<simple>[abefnrtvs\\'\"?$`/#%&! |(){}\[\]*;<>~-]))"
)
_OCTAL: Final = lazy_pattern("[0-7]{1,3}")
_ECHO_OCTAL: Final = lazy_pattern("0[0-7]{1,3}")
_SIMPLE: Final = {"a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "s": 32}


def unescape(source: Source, body: str, start: int, style: str = "") -> bytes:
    """Octets of the inside of a string, `start` being its offset in the source.

    `style`: "octal" or "decimal" settles escapes of digits, "latin1" or "utf8" those of characters
    (`\\u00da`), "echo" takes `\\0ooo` as the shell's echo does; "" decides on evidence.
    """
    if "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    numbers = [match["digits"] for match in _ESCAPE.finditer(body) if match["digits"]]
    decimal = style == "decimal"
    if numbers and style in ("", "latin1", "utf8"):
        decimal = _decimal_escapes(source, body, start, numbers)
    latin = style == "latin1"
    if style != "utf8" and not latin:
        wide = [
            int(m["u"] or m["ubrace"] or m["U"], 16)
            for m in _ESCAPE.finditer(body)
            if m["u"] or m["ubrace"] or m["U"]
        ]
        if (
            any(0x80 <= code <= 0xFF for code in wide)
            and all(code <= 0xFF for code in wide)
            and body.isascii()
        ):
            raise ambiguous(
                source, start, "characters in UTF-8 (escapes-utf8)", "Latin-1 octets (escapes-latin1)"
            )
    out = bytearray()
    position = 0
    high = 0
    for match in re.finditer(r"\\", body):
        at = match.start()
        if at < position:
            continue
        out += body[position:at].encode("utf-8", "surrogatepass")
        escape = _ESCAPE.match(body, at)
        if not escape:
            raise source.error("pasted-damaged", start + at, "not an escape of a string", bytes(out))
        position = escape.end()
        if code := escape["hex"] or escape["brace"] or escape["one"]:
            out.append(int(code, 16))
        elif code := escape["u"] or escape["ubrace"] or escape["U"]:
            value = int(code, 16)
            if 0xDC00 <= value < 0xE000 and high:
                value = 0x10000 + ((high - 0xD800) << 10) + (value - 0xDC00)
                del out[-3:]
            high = value if 0xD800 <= value < 0xDC00 else 0
            if value > 0x10FFFF:
                raise source.error("pasted-damaged", start + at, "not a character", bytes(out))
            if latin and value <= 0xFF:
                out.append(value)
            else:
                out += chr(value).encode("utf-8", "surrogatepass")
            continue
        elif digits := escape["digits"]:
            if decimal:
                value = int(digits)
            else:
                # Octal ends at the first other digit, or after three.
                short = (_ECHO_OCTAL if style == "echo" else _OCTAL).match(body, at + 1)
                if not short:
                    raise source.error("pasted-damaged", start + at, "not an octal escape", bytes(out))
                position = short.end()
                value = int(short[0], 8)
            if value > 255:
                raise source.error("pasted-damaged", start + at, "this escape exceeds a byte", bytes(out))
            out.append(value)
        elif simple := escape["simple"]:
            out += bytes([_SIMPLE[simple]]) if simple in _SIMPLE else simple.encode()
        high = 0
    out += body[position:].encode("utf-8", "surrogatepass")
    return bytes(out)


def _decimal_escapes(source: Source, body: str, start: int, numbers: list[str]) -> bool:
    """Whether `\\ddd` are decimal (Lua) and not octal (C, Go, strace)."""
    if all(len(n) < 2 and n < "8" for n in numbers):
        return False
    octal_fits = all(
        octal is not None and int(octal[0], 8) < 256
        for octal in [re.match("[0-7]+", number) for number in numbers]
    )
    decimal_fits = all(int(n) < 256 for n in numbers)
    if not decimal_fits:
        return False
    if not octal_fits or any(set(n) & {"8", "9"} for n in numbers if len(n) == 3 or n[0] in "89"):
        return True
    if all(len(n) == 3 for n in numbers) or any(len(n) > 1 and n[0] == "0" for n in numbers):
        return False  # padding to three digits is how octal is written
    if any(set(n) & {"8", "9"} for n in numbers):
        return True
    if all(len(n) == 1 for n in numbers) or all(int(n) == int(n, 8) for n in numbers):
        return False
    # Writers of octal leave printable characters as they are; a string of nothing but escapes of
    # any length, printable ones among them, is a list of decimal numbers.
    needless = any(0x20 <= int(n, 8) < 0x7F for n in numbers)
    bare = re.sub(r"\\[0-9]{1,3}", "", body)
    if needless and not bare:
        return True
    needless_decimal = any(0x20 <= int(n) < 0x7F for n in numbers)
    if needless_decimal and not needless:
        return False
    raise ambiguous(source, start, "octal escapes (escapes-octal)", "decimal escapes (escapes-decimal)")


def escaped_enough(body: str) -> bool:
    """Whether a quoted text shows octets by escapes, and not just quotes or line ends."""
    return bool(re.search(r"\\(?:x[0-9A-Fa-f]|[0-7]{1,3}|u\{?[0-9A-Fa-f]{2}|[abefnrtv])", body))


def read_bare_escapes(source: Source, style: str = "", forced: bool = False) -> Pasted | None:
    """A string's inside without quotes: `\\xda\\xbb` with printable characters between."""
    body = source.text.strip()
    start = len(source.text) - len(source.text.lstrip())
    numeric = len(re.findall(r"\\(?:x[0-9A-Fa-f]{2}|[0-3][0-7]{2}|u[0-9A-Fa-f]{4})", body))
    whole = re.fullmatch(r"\\x((?:[0-9A-Fa-f]{2}){2,})", body)
    if whole:
        return Pasted(bytes.fromhex(whole[1]), "hex")  # PostgreSQL's bytea
    if re.fullmatch(r"\\x[0-9A-Fa-f]{6,}", body):
        raise source.error("pasted-damaged", len(source.text.rstrip()) - 1, "an odd number of hex digits")
    if not forced:
        if numeric < 1 or (numeric < 3 and not body.startswith("\\")):
            return None
        if re.fullmatch(r"(?:\\x[0-9A-Fa-f]{2}[\s,]++)++(?:\\x[0-9A-Fa-f]{2})?", body):
            return Pasted(bytes.fromhex("".join(re.split(r"[\s,]*\\x|[\s,]+", body))), "escapes")
        if any(
            _ESCAPE.match(body, m.start()) is None for m in re.finditer(r"(?:\\\\)|\\", body) if m[0] == "\\"
        ):
            almost = len(re.findall(r"\\x[0-9A-Fa-f]{2}", body)) >= 4 and body.startswith("\\")
            if not almost:
                return None
        cut = re.search(r"(?<!\.)\.{3,}+$|…$", body)
        if cut:
            raise source.error("pasted-cut", start + cut.start(), "the text ends with an ellipsis")
        if "\n" in body and not re.fullmatch(r"(?:\\x[0-9A-Fa-f]{2}\s*+)++", body):
            return None
    if "\n" in body:
        body = re.sub(r"\n", " ", body)
        if forced or re.fullmatch(r"(?:\\x[0-9A-Fa-f]{2}\s*+)++", body):
            return Pasted(unescape(source, "".join(body.split()), start, style), "escapes")
    return Pasted(unescape(source, body, start, style), "escapes")
