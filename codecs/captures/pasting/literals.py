"""Literals of programming languages, shells and tools: arrays of numbers, and strings.

A literal is taken out of what may stand around it: an assignment, a type, one call (`Buffer.from(...)`,
`hex_decode('...')`), a `;` behind. Anything else around it makes the text prose.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from wirelens.codecs.captures.pasting.plain import (
    ambiguous,
    base64_bytes,
    read_base64,
    read_decimal,
    read_hex,
    read_prefixed,
    strong_base64,
    words_of,
)
from wirelens.codecs.captures.pasting.source import Pasted, PastedError, Source

_WORD: Final = r"[A-Za-z_$@][\w$]*"
_CHAIN: Final = rf"(?:new[ \t]+)?&?{_WORD}(?:(?:\.|::|!|->|\(\)\.)+(?:{_WORD})?)*(?:<[\w\s,:<>]*>)?"

# What may stand before a literal: an assignment or a label, then a type or a call.
_ASSIGN: Final = re.compile(
    r"\s*+(?:(?:[\w$@&*.\[\]<>:()?]++|,[ \t]*(?=[\w\[]+>))++[ \t\n]+){0,6}"
    r"[\w$@&*.<>-]+(?:[ \t]*\[[\w ]*\])*(?:[ \t]*:[ \t]*[\w&<>\[\]:;, ]+?)?"
    r"[ \t]*(?::=|=(?![=>]))[ \t]*\n?[ \t]*"
)
_LABEL: Final = re.compile(r"""\s*(?:["']?[A-Za-z][\w .()\[\]#/-]{0,40}["']?[ \t]*(?::|=>)[ \t\n]+)""")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/|(?m:(?<![^\s,;{\[(])#[ \t][^\n]*$)", re.S)
_CAST: Final = re.compile(
    r"\(\s*(?:(?:un)?signed\s+char|unsigned|s?byte|Byte|char|u?int8(?:_t)?|u8|BYTE|uchar)\s*\)"
    r"|\b(?:byte|uint8|int8|u8|Byte)(?=\()"
)
_BYTE_TYPES: Final = re.compile(
    r"(?i)byte|char|u?int8|u8|i8|buffer|bytes|array|vec|octet|as\.raw|data|payload|list|slice|blob|pack"
)
_NUMBER: Final = (
    r"(?:[-+]?(?:0[xX][0-9A-Fa-f]++|&[hH][0-9A-Fa-f]++|16#[0-9A-Fa-f]++|0[bB][01]++|0o[0-7]++|[0-9]++)"
    r"(?:[uU]?[lL]{1,2}|[uU]8?|i8|_u8|_i8|uy|y|\.toByte\(\)|\.toUByte\(\))?+"
    r"|\$[0-9A-Fa-f]{2}|(?:b|L)?'(?:[^'\\\n]|\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{4}|[0-7]{1,3}|.))')"
)
_ITEM: Final = re.compile(_NUMBER)
_ITEMS: Final = re.compile(rf"\s*+(?:{_NUMBER}(?:\s*+[,;]\s*+|\s++|(?=[\]}})>])))*+")
_PLAIN_ITEMS: Final = re.compile(r"\s*+(?:-?[0-9]{1,3}(?:\s*+,\s*+|\s*+(?=[\]})>])))*+")
_HEX_ITEMS: Final = re.compile(r"\s*+(?:0[xX][0-9A-Fa-f]{2}(?:\s*+,\s*+|\s*+(?=[\]})>])))*+")
_ELLIPSIS: Final = re.compile(r"(?:\.{2,}|…)\s*(?:(\d+) more (?:bytes?|items?))?")

_ESCAPE: Final = re.compile(
    r"\\(?:x\{(?P<brace>[0-9A-Fa-f]{1,2})\}|x(?P<hex>[0-9A-Fa-f]{2})|x(?P<one>[0-9A-Fa-f])(?![0-9A-Fa-f])"
    r"|u\{(?P<ubrace>[0-9A-Fa-f]{1,6})\}|u(?P<u>[0-9A-Fa-f]{4})|U(?P<U>[0-9A-Fa-f]{8})"
    r"|(?P<digits>[0-9]{1,3})|(?P<z>z)\s*|(?P<line>\n)[ \t]*"
    r"|(?P<simple>[abefnrtvs\\'\"?$`/#%&! |(){}\[\]*;<>~-]))"
)
_SIMPLE: Final = {"a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "s": 32}
_STRING: Final = re.compile(
    r"""(?P<prefix>\$|[A-Za-z]{1,2}(?=["'])|u8)?(?P<quote>"(?P<d>[^"\\]*+(?:\\.[^"\\]*+)*+)"|'(?P<s>[^'\\]*+(?:\\.[^'\\]*+)*+)'|`(?P<b>[^`]*+)`)""",
    re.S,
)


# ------------------------------------------------------------------------------------------ strings


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
            raise source.error("pasted-damaged", start + at, "this is no escape of a string", bytes(out))
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
                raise source.error("pasted-damaged", start + at, "this is no character", bytes(out))
            if latin and value <= 0xFF:
                out.append(value)
            else:
                out += chr(value).encode("utf-8", "surrogatepass")
            continue
        elif digits := escape["digits"]:
            if decimal:
                value = int(digits)
            else:
                # Octal ends at the first digit that is none, after three of them.
                short = re.match("0[0-7]{1,3}" if style == "echo" else "[0-7]{1,3}", body[at + 1 : at + 5])
                if not short:
                    raise source.error("pasted-damaged", start + at, "this is no octal escape", bytes(out))
                position = at + 1 + short.end()
                value = int(short[0], 8)
            if value > 255:
                raise source.error("pasted-damaged", start + at, "this escape is no byte", bytes(out))
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


def _escaped_enough(body: str) -> bool:
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
        cut = re.search(r"(?:\.{3,}|…)$", body)
        if cut:
            raise source.error("pasted-cut", start + cut.start(), "the text ends with an ellipsis")
        if "\n" in body and not re.fullmatch(r"(?:\\x[0-9A-Fa-f]{2}\s*+)++", body):
            return None
    if "\n" in body:
        body = re.sub(r"\n", " ", body)
        if forced or re.fullmatch(r"(?:\\x[0-9A-Fa-f]{2}\s*+)++", body):
            return Pasted(unescape(source, "".join(body.split()), start, style), "escapes")
    return Pasted(unescape(source, body, start, style), "escapes")


_HEX_CALL: Final = re.compile(r"(?i)hex|a2b_qp0")
_B64_CALL: Final = re.compile(r"(?i)b64|base64|atob")
_CODECS: Final = {
    "hex": "hex",
    "h*": "hex",
    "base64": "base64",
    "base64url": "base64",
    "m0": "base64",
    "m": "base64",
    "binary": "",
    "latin1": "",
    "ascii": "",
    "iso-8859-1": "",
    "iso_8859_1": "",
    "utf8": "",
    "utf-8": "",
    "escape": "",
}
_TAIL: Final = re.compile(
    r"(?s)[\s;,)\]}>]*(?:::\s*\w+)?(?:\.(?:getBytes|encode|toByteArray|pack|decode|buffer|as_bytes|to_vec|b|bytes"
    r"|unhex|fromhex|into|as_slice)(?:\([^()]{0,40}\))?)*(?:\s*(?:as|of)\s+[\w\[\]]+)?[\s;,)\]}>]*"
)
_STRACE: Final = re.compile(
    r"(?:\[pid\s+\d+\]\s+|\d+\s+)?(?:[\d:.]+\s+)?"
    r"(?:write|read|send|sendto|recv|recvfrom|pwrite64|pread64)\(\d+(?:<[^>]*>)?, "
)
_SHELL: Final = re.compile(r"(?:[$#%]\s+)?(?P<name>echo|printf)\b(?P<options>(?:\s+-[neE]+|\s+--)*)\s+")


def _content(source: Source, match: re.Match[str], codec: str, style: str, head: str) -> bytes | None:
    """Octets of one string literal under a codec; None if it holds plain words."""
    group = "d" if match["d"] is not None else "s" if match["s"] is not None else "b"
    body, start = match[group], match.start(group)
    prefix = match["prefix"] or ""
    inner = source.sub(start, match.end(group))
    if codec == "hex" or (prefix in ("x", "X", "H", "h") and not codec):
        if not body.strip():
            return b""
        result = read_hex(inner, forced=True)
        return result.data if result else None
    if codec == "base64":
        result = read_base64(inner, forced=True)
        return result.data if result else None
    if group == "b" or (prefix.lower().endswith("r") and prefix):
        return body.encode()
    postgres = re.fullmatch(r"\\{1,2}x((?:[0-9A-Fa-f]{2})*)", body)
    if postgres and group == "s" and (prefix in ("", "E", "e")) and "\\x" in body and len(postgres[1]) > 2:
        return bytes.fromhex(postgres[1])
    if postgres and group == "d" and len(postgres[1]) > 2 and not style:
        if body.startswith("\\\\"):
            return bytes.fromhex(postgres[1])
        raise ambiguous(source, start, "one escape and text", "hex after one \\x")
    if prefix.lower() in ("b", "c", "br", "rb", "u8", "l", "$") or _escaped_enough(body) or style:
        return unescape(source, body, start, style)
    return None


def read_strings(source: Source, style: str = "", forced: bool = False) -> Pasted | None:
    """One string literal, or several that the language joins, decoded by the call around if there is one."""
    text = source.text
    matches: list[re.Match[str]] = []
    between: list[tuple[int, int]] = []
    position = 0
    first = re.search(r"""["'`]""", text)
    if not first:
        return None
    while True:
        quote = re.compile(r"""["'`]""").search(text, position)
        if not quote:
            break
        comment = _COMMENT.search(text, position, quote.start() + 1)
        at = quote.start()
        # A prefix of letters belongs to the literal if nothing but a boundary is before it.
        prefix = re.search(r"(?:(?<![\w\])])(?:u8|[A-Za-z]{1,2}|\$))$", text[max(position, at - 3) : at])
        begin = at - (len(prefix[0]) if prefix else 0)
        match = _STRING.match(text, begin) or _STRING.match(text, at)
        if not match:
            if matches or not forced:
                body = text.strip()
                wrong = (
                    len(body) >= 8 and body[0] in "\"'" and len(re.findall(r"\\x[0-9A-Fa-f]{2}", body)) >= 3
                )
                if wrong or (matches and len(re.findall(r"\\x[0-9A-Fa-f]{2}", text)) >= 3):
                    raise source.error(
                        "pasted-cut", len(text.rstrip()) - 1, "the string has no closing quote"
                    )
            return None
        del comment
        between.append((position, match.start()))
        matches.append(match)
        position = match.end()
    head = text[between[0][0] : between[0][1]]
    tail = text[position:]
    strace = _STRACE.fullmatch(head.strip() + " ") or _STRACE.fullmatch(head)
    if strace and len(matches) == 1:
        return _strace(source, matches[0], tail, position)
    joins = [_COMMENT.sub("", text[a:b]) for a, b in between[1:]]
    words = [m["d"] if m["d"] is not None else m["s"] if m["s"] is not None else m["b"] for m in matches]
    codec = ""
    known = [word.lower() in _CODECS and len(matches) > 1 for word in words]
    if any(known):
        codec = next(_CODECS[word.lower()] for word, k in zip(words, known, strict=True) if k)
    data_matches = [m for m, k in zip(matches, known, strict=True) if not k]
    if not data_matches:
        return None
    for join, after in zip(joins, known[1:], strict=True):
        bare = join.strip(" \t\n\r\\")
        if bare not in ("", "+", ".", "..", "<<", "~") and not (
            (after or known[0]) and re.fullmatch(r"\)?\]?\s*(?:,|\.\w+\(|\.\w+)\s*\(?\s*", bare)
        ):
            return None
    clean_head = _COMMENT.sub("", head)
    rest = _after_assignment(clean_head)
    call = rest.strip().rstrip("([{<& \t\n")
    if (
        call
        and not re.fullmatch(_CHAIN + r"(?:\s*\(\s*(?:" + _CHAIN + r")?)*", call)
        and not re.fullmatch(
            r"(?:new\s+)?\[\]?(?:byte|u8)\]?|\[\]byte|\(?\[byte\[\]\]|\{\{\s*" + _CHAIN, call
        )
    ):
        return None
    if not codec and call:
        codec = "hex" if _HEX_CALL.search(call) else "base64" if _B64_CALL.search(call) else ""
    if not codec and _B64_CALL.search(tail) and len(tail) < 60:
        codec = "base64"
    if not codec and re.search(r"(?i)(?:un|from)hex|to_bytes", tail):
        codec = "hex"
    dots = _ELLIPSIS.match(tail.strip())
    if dots and tail.strip()[: dots.end()] == tail.strip().rstrip(");,"):
        raise source.error("pasted-cut", position + tail.find(dots[0]), "the string is cut here")
    trailing = _COMMENT.sub("", tail)
    if not _TAIL.fullmatch(trailing):
        return None
    if (
        call
        and not codec
        and len(call.split()) == 1
        and not (_BYTE_TYPES.search(call) or rest.rstrip().endswith(("(", "[", "{", "<<")) or forced)
    ):
        return None
    out: list[bytes] = []
    plain = 0
    for match in data_matches:
        data = _content(source, match, codec, style, call)
        if data is None:
            plain += 1
            data = unescape(source, match["d"] or match["s"] or match["b"] or "", match.start() + 1, style)
        out.append(data)
    if plain == len(data_matches) and not codec and not forced:
        if len(data_matches) == 1:
            return _quoted(source, data_matches[0])
        return None
    return Pasted(b"".join(out), codec or "escapes")


def _after_assignment(head: str) -> str:
    """What follows the assignment or the label in the text before a literal."""
    match = _ASSIGN.match(head)
    if match and match.end() > 0:
        return head[match.end() :]
    label = _LABEL.match(head)
    return head[label.end() :] if label else head


def _quoted(source: Source, match: re.Match[str]) -> Pasted | None:
    """A quoted text without escapes: hex or base64 if it is surely that."""
    group = "d" if match["d"] is not None else "s" if match["s"] is not None else "b"
    inner = source.sub(match.start(group), match.end(group))
    return strong_text(inner)


def strong_text(source: Source) -> Pasted | None:
    """Hex or base64 beside a label or between quotes, where only strong evidence counts."""
    body = source.plain.strip()
    digits = re.sub(r"[\s,:-]|0[xX]", "", body)
    if re.fullmatch("[0-9A-Fa-f]+", digits) and len(digits) >= 8:
        if not any(c.isdigit() for c in digits) or digits.isdigit():
            return None
        return read_prefixed(source) or read_hex(source)
    run = "".join(body.split())
    if re.fullmatch("[A-Za-z0-9+/_-]+={0,2}", run) and len(run) >= 16 and strong_base64(run):
        return read_base64(source)
    return None


def _strace(source: Source, match: re.Match[str], tail: str, position: int) -> Pasted | None:
    group = "d" if match["d"] is not None else "s"
    if tail.startswith(("...", "…")):
        raise source.error("pasted-cut", position, "strace has cut the string here (use -s)")
    rest = re.fullmatch(r",[^\n]*?(?:, )?(\d+)?[^\n=]*\)\s+=\s+(\d+)(?:\s+<[\d.]+>)?\s*", tail)
    data = unescape(source, match[group], match.start(group), "octal")
    if not rest:
        return None
    if int(rest[2]) != len(data) and str(len(data)) not in re.findall(r"\d+", tail):
        raise source.error(
            "pasted-damaged",
            match.start(group),
            f"the string has {len(data)} bytes and the call moved {rest[2]}",
        )
    return Pasted(data, "strace")


def read_shell(source: Source, forced: bool = False) -> Pasted | None:
    """`echo -ne "..."` and `printf '...'`, piped into something or not."""
    text = source.text
    command = _SHELL.match(text)
    if not command:
        return None
    start = command.end()
    match = _STRING.match(text, start)
    word = None if match else re.compile(r"[^\s|<>;&]+").match(text, start)
    found = match or word
    if not found:
        return None
    tail = text[found.end() :]
    if not re.fullmatch(r"\s*(?:(?:\||>>?|;|&&)[^\n]*)?\s*", tail):
        return None
    group = 0 if not match else "d" if match["d"] is not None else "s" if match["s"] is not None else "b"
    body, at = found[group], found.start(group)
    inner = source.sub(at, found.end(group))
    if re.search(r"\bxxd\s+(?:-\w+\s+)*-\w*r\w*|\bunhex\b", tail):
        result = read_hex(inner, forced=True)
        return Pasted(result.data, "shell") if result else None
    if re.search(r"\bbase64\s+(?:-d|-D|--decode)|\bbase64 -di\b", tail):
        result = read_base64(inner, forced=True)
        return Pasted(result.data, "shell") if result else None
    echo = command["name"] == "echo"
    if not echo and "%" in body.replace("%%", ""):
        return None
    if not forced and not _escaped_enough(body):
        return None
    body = body if echo else body.replace("%%", "%%".replace("%%", "%"))
    if match and match["d"] is not None:
        body = re.sub(r'\\([$`"])', r"\1", body)
    data = unescape(source, body, at, "echo" if echo and re.search(r"\\0[0-7]{3}", body) else "octal")
    if echo and "n" not in command["options"]:
        data += b"\n"
    return Pasted(data, "shell")


# ------------------------------------------------------------------------------------------- arrays

_INSPECT: Final = re.compile(
    r"(?s)(?:<(?:Slow)?Buffer(?P<body>[^<>]*)>|<(?P<ns>[0-9A-Fa-f]{2,8}(?: [0-9A-Fa-f]{2,8})*)>"
    r"|\{\s*length\s*=\s*(?P<length>\d+),\s*bytes\s*=\s*0x(?P<bytes>[0-9A-Fa-f .…]+)\})"
)


def read_inspected(source: Source, forced: bool = False) -> Pasted | None:
    """`<Buffer da bb ...>` of Node.js, NSData of Objective-C and Swift."""
    text = source.plain
    rest = _after_assignment(text)
    start = len(text) - len(rest)
    match = _INSPECT.fullmatch(rest.strip().rstrip(";,"))
    if not match:
        broken = re.match(r"\s*<(?:Slow)?Buffer (?:[0-9a-f]{2} ?){2}", rest)
        if broken:
            raise source.error("pasted-cut", len(text.rstrip()) - 1, "the buffer has no closing `>`")
        return None
    body = match["body"] if match["body"] is not None else match["ns"] or match["bytes"]
    at = text.find(body, start)
    cut = _ELLIPSIS.search(body)
    more = re.fullmatch(r"(?s)(.*?),? *(?:\w+: .*)", body)
    if cut:
        head = re.sub(r"\s", "", body[: cut.start()])
        sound = re.fullmatch("(?:[0-9A-Fa-f]{2})*", head)
        left = f" ({cut[1]} more bytes)" if cut[1] else ""
        raise source.error(
            "pasted-cut",
            at + cut.start(),
            f"the buffer is not whole{left}",
            bytes.fromhex(head) if sound else b"",
        )
    del more
    words = body.split()
    kind = match["body"] is not None
    for word in words:
        if not re.fullmatch("[0-9A-Fa-f]{2}" if kind else "(?:[0-9A-Fa-f]{2})+", word):
            offset = re.search(rf"(?<!\S){re.escape(word)}(?!\S)", text[at:])
            raise source.error(
                "pasted-damaged", at + (offset.start() if offset else 0), "this is no byte in hex"
            )
    data = bytes.fromhex("".join(words))
    if match["length"] and int(match["length"]) != len(data):
        raise source.error("pasted-damaged", at, f"{len(data)} bytes where the length says {match['length']}")
    return Pasted(data, "buffer")


def read_array(source: Source, forced: bool = False) -> Pasted | None:
    """An array of numbers between brackets, or a bare list whose items show that they are bytes."""
    text = source.plain
    if "(" in text or "/" in text or "#" in text:
        clean = _COMMENT.sub(_blanks, text)
        clean = _CAST.sub(_blanks, clean)
        clean = re.sub(r"\(\s*(-?(?:0[xX])?[0-9A-Fa-f]{1,3})\s*\)(?=\s*[,}\]])", r" \1 ", clean)
        if len(clean) != len(text):
            clean = text
    else:
        clean = text
    openers = list(re.compile(r"<<|[\[{(<]").finditer(clean[:4096]))[:48]
    best: tuple[int, int, int] | None = None
    for opener in openers:
        position = opener.end()
        for pattern in (_HEX_ITEMS, _PLAIN_ITEMS, _ITEMS):
            match = pattern.match(clean, position)
            end = match.end() if match else position
            if clean[end : end + 1] in ("]", "}", ")", ">"):
                break
        if end - position > (best[1] - best[0] if best else -1):
            best = (position, end, opener.start())
    if best is None:
        return _bare_list(source, clean, forced)
    start, end, opened = best
    head = clean[:opened]
    byte_type = bool(_BYTE_TYPES.search(head))
    if not _head_ok(head, clean[opened]):
        return None
    closer = clean[end : end + 1]
    body = clean[start:end]
    count = len(_ITEM.findall(body)) if len(body) < 4096 else 4096
    if closer not in ("]", "}", ")", ">") or not closer:
        return _broken(source, clean, start, end, opened, count, byte_type)
    tail = clean[end:]
    declared = re.search(r"(?:[\[(]\s*(\d+)\s*[\])])\s*(?::?=\s*)?(?:new\s+\w+\s*)?[\[{(]?\s*$", head)
    length = re.fullmatch(r"[\]})>;\s]*unsigned int \w+_len = (\d+);?\s*", tail)
    if not length and not _TAIL.fullmatch(tail):
        return None
    if not body.strip():
        return Pasted(b"", "array") if byte_type and clean[opened] != "<" else None
    if clean[opened] == "(" and not byte_type and not re.search(r"(?:^|=|\s)\s*[@#c]\s*$", head):
        return None
    return _finish_array(source, body, start, byte_type or forced, declared, length)


def _finish_array(
    source: Source,
    body: str,
    start: int,
    sure: bool,
    declared: re.Match[str] | None,
    length: re.Match[str] | None,
) -> Pasted | None:
    data = _numbers(source, body, start, sure)
    if data is None:
        return None
    for claim in (declared, length):
        if claim and int(claim[1]) != len(data):
            raise source.error(
                "pasted-damaged",
                claim.start(1) if claim is declared else start,
                f"{len(data)} bytes in the array where its length says {claim[1]}",
            )
    return Pasted(data, "array")


def _blanks(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _head_ok(head: str, opener: str) -> bool:
    """Whether what stands before an array is an assignment, a label, a type or a call."""
    if not head.strip():
        return True
    if len(head) > 400:
        return False
    rest = _after_assignment(head).strip()
    if not rest:
        return True
    outer = rest.rstrip("([{<& \t\n")
    if opener == "(" and rest in ("@", "#", "c"):
        return True
    bare = re.sub(r"\(\s*\d*\s*\)|\[[\w ]*\]|<[\w\s,:]*>|[&@#]", "", outer).strip()
    bare = bare.lstrip("([{").strip()
    if not bare:
        return True
    words = re.findall(r"[A-Za-z_][\w.:!$]*", bare)
    if len(words) == 1 or (len(words) == 2 and words[0] in ("new", "bytes", "vec", "slice")):
        return bool(_BYTE_TYPES.search(bare)) or opener != "("
    joined = " ".join(words)
    return (
        bool(re.fullmatch(r"(?:new |unsigned |const |static )*[\w.:!$]+(?: [\w.:!$]+)?", joined))
        and bool(_BYTE_TYPES.search(joined))
        and re.search(r"[\[({]", outer) is not None
    )


def _broken(
    source: Source, clean: str, start: int, end: int, opened: int, count: int, byte_type: bool
) -> Pasted | None:
    """An array whose items end in something else: hex without 0x, an ellipsis, damage."""
    tail = clean[end:]
    if tail[:1] in ('"', "'", "`"):
        return None  # a string: another reader's
    cut = _ELLIPSIS.match(tail)
    close = max(clean.rfind(mark) for mark in "]})>")
    if cut and count >= 2:
        raise source.error("pasted-cut", end, "the array leaves bytes out here")
    if close > start and _TAIL.fullmatch(clean[close:]) and clean[opened] in "[{<(":
        inner = source.sub(start, close)
        words = re.split(r"[\s,]+", inner.plain.strip())
        if len(words) >= 2 and all(re.fullmatch("[0-9A-Fa-f]{2}", word) for word in words):
            result = read_hex(inner)
            return Pasted(result.data, "array") if result else None
    everything = re.findall(r"[^\s,\]})>;]+", clean[start:])
    good = sum(1 for word in everything if _ITEM.fullmatch(word))
    if good >= 4 or (byte_type and good >= 2) or count >= 4:
        if good * 4 >= len(everything) * 3 or (close < start and good == len(everything)):
            if end >= len(clean.rstrip()):
                raise source.error("pasted-cut", len(clean.rstrip()) - 1, "the array has no closing bracket")
            raise source.error("pasted-damaged", end, "this is no number of the array")
    return None


def _numbers(source: Source, body: str, start: int, sure: bool) -> bytes | None:
    """Octets of the items of an array; None if they are numbers of another kind."""
    if re.fullmatch(r"(?:\s*+0[xX][0-9A-Fa-f]{2}\s*+,?+)*+", body):
        return bytes.fromhex(re.sub(r"[\s,]*0[xX]|[\s,]+", "", body))
    spaced = "," not in body and ";" not in body
    if spaced and re.fullmatch(r"[0-9\s]+", body) and len(body.split()) > 1:
        # Without commas hex pairs would look the same.
        inner = source.sub(start, start + len(body.rstrip()))
        words = body.split()
        if all(len(word) == 2 for word in words):
            result = read_hex(inner)
            return result.data if result else None
        if any(len(word) == 2 and word[0] == "0" for word in words):
            return None
    if re.fullmatch(r"(?:\s*+-?[0-9]{1,3}\s*+,?+)*+", body):
        items = re.split(r"[\s,]+", body.strip().strip(",").strip())
        if not any(len(item) > 1 and item[0] == "0" for item in items):
            values = [int(item) for item in items]
            return _bytes_of(source, values, body, start, sure)
    values = []
    wide: list[str] = []
    for match in _ITEM.finditer(body):
        item = match[0]
        if item.endswith("'"):
            inside = item[item.index("'") + 1 : -1]
            code = unescape(source, inside, start + match.start(), "octal")
            if len(code) != 1:
                raise source.error("pasted-damaged", start + match.start(), "this character is not one byte")
            values.append(code[0])
            continue
        digits = re.sub(r"\.to\w+\(\)", "", item)
        hexed = re.match(r"[-+]?(?:0[xX]|&[hH]|16#|\$)([0-9A-Fa-f]+)", digits)
        if hexed:
            if len(hexed[1]) > 2:
                wide.append(hexed[1])
            values.append(-int(hexed[1], 16) if digits[0] == "-" else int(hexed[1], 16))
            continue
        digits = re.sub(r"(?:[uU]?[lL]{1,2}|[uU]8?|i8|_u8|_i8|uy|y)$", "", digits)
        if digits[:2] in ("0b", "0B"):
            values.append(int(digits, 2))
        elif digits[:2] == "0o":
            values.append(int(digits, 8))
        elif re.fullmatch("[-+]?0[0-9]+", digits):
            if int(digits) > 7:
                raise ambiguous(source, start + match.start(), "octal numbers", "decimal numbers")
            values.append(int(digits))
        else:
            values.append(int(digits))
    if wide:
        return _wide_words(source, body, start, wide, len(values))
    return _bytes_of(source, values, body, start, sure) if values else None


def _wide_words(source: Source, body: str, start: int, wide: list[str], count: int) -> bytes | None:
    if len(wide) == count:
        result = words_of(source, wide, start)
        return result.data if result else None
    if count >= 4 and len(wide) * 4 <= count:
        at = body.find(wide[0])
        raise source.error("pasted-damaged", start + at, "this number does not fit a byte")
    return None


def _bytes_of(source: Source, values: list[int], body: str, start: int, sure: bool) -> bytes | None:
    low, high = min(values), max(values)
    if (low >= 0 and high <= 255) or (low >= -128 and high <= 127):
        return bytes(values) if low >= 0 else bytes(value & 255 for value in values)
    wrong = [i for i, value in enumerate(values) if not (-128 <= value <= (127 if low < 0 else 255))]
    # (byte) casts are blanked, so 0xDA beside -1 is legal where hex was written.
    if low >= -128 and high <= 255 and re.search("0[xX]", body):
        return bytes(value & 255 for value in values)
    if sure or (len(values) >= 8 and len(wrong) * 4 <= len(values)):
        items = [match.start() for match in _ITEM.finditer(body)]
        raise source.error(
            "pasted-damaged", start + items[wrong[0]], "this number does not fit a byte beside the others"
        )
    return None


def _bare_list(source: Source, clean: str, forced: bool) -> Pasted | None:
    """Items without brackets: `218, -69, b'N'` with characters or casts among them."""
    if not re.search(r"'|\(", source.plain):
        return None
    items = _ITEMS.fullmatch(clean.strip() + " ") or _ITEMS.fullmatch(clean.strip().rstrip(",;") + " ")
    if not items or len(_ITEM.findall(clean)) < 4:
        return None
    data = _numbers(source, clean, 0, False)
    return Pasted(data, "array") if data is not None else None


# ------------------------------------------------------------------------------------- JSON and YAML

_FIELDS: Final = (
    "data",
    "payload",
    "bytes",
    "body",
    "content",
    "hex",
    "base64",
    "value",
    "buffer",
    "raw",
    "message",
    "packet",
    "binary",
    "$binary",
    "blob",
    "request",
    "response",
)


def read_json(source: Source, forced: bool = False) -> Pasted | None:
    """A JSON object with one field of bytes: numbers, hex or base64; or with a number for each index."""
    text = source.text.strip()
    if not text.startswith("{") or not text.endswith("}"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for _ in range(4):
        if not isinstance(value, dict) or not value:
            return None
        keys = list(value)
        if all(key == str(index) for index, key in enumerate(keys)):
            numbers = list(value.values())
            if all(type(n) is int and -128 <= n <= 255 for n in numbers):
                return Pasted(bytes(n & 255 for n in numbers), "json")
            return None
        found = [(key, value[key]) for key in keys if key.lower() in _FIELDS]
        read = [(key, data) for key, item in found if (data := _json_bytes(key, item, value)) is not None]
        if len({data for _, data in read}) > 1:
            at = max(source.text.find(f'"{read[1][0]}"'), 0)
            raise ambiguous(source, at, f"the field {read[0][0]}", f"the field {read[1][0]}")
        if read:
            return Pasted(read[0][1], "json")
        inner = [item for _, item in found if isinstance(item, dict)]
        if len(inner) != 1:
            return None
        value = inner[0]
    return None


def _json_bytes(key: str, item: object, whole: dict[str, object]) -> bytes | None:
    if isinstance(item, list):
        if item and all(type(n) is int and -128 <= n <= 255 for n in item):
            return bytes(n & 255 for n in item)
        return b"" if not item and whole.get("type") == "Buffer" else None
    if not isinstance(item, str) or not item:
        return None
    if item.startswith("data:") and ";base64," in item:
        return base64_bytes(item.split(";base64,", 1)[1])
    codec = str(whole.get("encoding", whole.get("format", key))).lower()
    bare = "".join(item.split())
    digits = bare.removeprefix("0x")
    if re.fullmatch("(?:[0-9A-Fa-f]{2})+", digits) and (codec == "hex" or len(digits) >= 8):
        if codec not in ("base64", "binary", "$binary"):
            return bytes.fromhex(digits)
    if codec in ("base64", "binary", "$binary") or strong_base64(bare):
        return base64_bytes(bare)
    return None


def read_yaml(source: Source, forced: bool = False) -> Pasted | None:
    """YAML with one `!!binary` value, as Wireshark's follow dialog saves it; of several, one peer's only."""
    if "!!binary" not in source.text:
        return None
    rows = source.lines
    blocks: list[tuple[int, str, list[int]]] = []
    peer = ""
    row = 0
    while row < len(rows):
        line = rows[row]
        found = re.match(r"(\s*)(?:- )?(?:[\w-]+:\s*)?!!binary\s*(\|[-+]?|>[-+]?)?\s*(.*)$", line)
        if found:
            indent = len(found[1])
            body = [row] if found[3].strip() else []
            while (
                row + 1 < len(rows)
                and (not rows[row + 1].strip() or len(rows[row + 1]) - len(rows[row + 1].lstrip()) > indent)
                and not re.match(r"\s*[\w-]+:(?:\s|$)", rows[row + 1])
            ):
                row += 1
                if rows[row].strip():
                    body.append(row)
            blocks.append((row, peer, body))
        elif (
            re.match(r"\s*(?:-\s+)?[\w-]+:(?:\s.*)?$", line)
            or not line.strip()
            or line.lstrip().startswith(("#", "---"))
        ):
            match = re.match(r"\s*(?:-\s+)?peer:\s*(\S+)", line)
            peer = match[1] if match else peer
        else:
            if forced or blocks:
                raise source.error_in(
                    row, 0, "pasted-damaged", "this line does not belong to the YAML around it"
                )
            return None
        row += 1
    if not blocks:
        return None
    if len({peer for _, peer, _ in blocks}) > 1:
        raise source.error_in(
            blocks[1][0], 0, "pasted-several", "the text holds both directions of a conversation"
        )
    out: list[bytes] = []
    for _, _, body in blocks:
        encoded = "".join(re.sub(r"^.*!!binary\s*", "", rows[index]).strip().strip("\"'") for index in body)
        data = base64_bytes(encoded)
        if data is None:
            at = body[-1] if body else 0
            raise source.error_in(
                at, len(rows[at].rstrip()) - 1, "pasted-damaged", "the base64 is not whole here"
            )
        short = [index for index in body[1:-1] if len(rows[index].strip()) != len(rows[body[0]].strip())]
        if short and len(body) > 2:
            raise source.error_in(short[0], 0, "pasted-damaged", "a base64 line of another length")
        out.append(data)
    return Pasted(b"".join(out), "yaml")


def read_labelled(source: Source) -> Pasted | None:
    """`NAME: hex`, `NAME = base64`, `{{hex}}`: what is behind one short label, if it is surely bytes."""
    text = source.plain
    match = _LABEL.match(text) or _ASSIGN.match(text)
    if not match:
        return None
    rest = source.sub(match.end(), len(text.rstrip().rstrip(";,")))
    if not rest.text.strip():
        return None
    strong = strong_text(rest)
    if strong:
        return strong
    readers: list[Callable[[Source], Pasted | None]] = [read_prefixed, read_decimal]
    for reader in readers:
        try:
            result = reader(rest)
        except PastedError as error:
            if error.code == "pasted-ambiguous":
                raise
            return None
        if result and len(result.data) >= (2 if reader is read_prefixed and "," in rest.text else 4):
            return result
    return None
