"""Arrays of numbers in any language, and buffers as Node.js, Objective-C and Swift print them."""

import re
from typing import Final

from wirelens.codecs.captures.pasting.context import (
    BYTE_TYPES,
    CHANGING,
    COMMENT,
    ELLIPSIS,
    HEAD_LIMIT,
    TAIL,
    after_assignment,
    expression_fits,
)
from wirelens.codecs.captures.pasting.escapes import unescape
from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.plain import ambiguous, read_hex, words_of
from wirelens.codecs.captures.pasting.source import Pasted, Source, blanks

_CAST: Final = lazy_pattern(
    r"\(\s*(?:(?:un)?signed\s+char|unsigned|s?byte|Byte|char|u?int8(?:_t)?|u8|BYTE|uchar)\s*\)"
    r"|\b(?:byte|uint8|int8|u8|Byte)(?=\()"
)
_NUMBER: Final = (
    r"(?:[-+]?(?:0[xX][0-9A-Fa-f]++|&[hH][0-9A-Fa-f]++|16#[0-9A-Fa-f]++|0[bB][01]++|0o[0-7]++|[0-9]++)"
    r"(?:[uU]?[lL]{1,2}|[uU]8?|i8|_u8|_i8|uy|y|\.toByte\(\)|\.toUByte\(\))?+"
    r"|\$[0-9A-Fa-f]{2}|(?:b|L)?'(?:[^'\\\n]|\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{4}|[0-7]{1,3}|.))')"
)
_ITEM: Final = lazy_pattern(_NUMBER)
# What is left of the last item of a list that is cut
_CUT_ITEM: Final = lazy_pattern(rf"{_NUMBER}?+\s*+|[-+]?0[xXbo]?\s*+|[-+$]\s*+|(?:b|L)?'[^'\n]{{0,5}}")
_ITEMS: Final = lazy_pattern(rf"\s*+(?:{_NUMBER}(?:\s*+[,;]\s*+|\s++|(?=[\]}})>])))*+")
_PLAIN_ITEMS: Final = lazy_pattern(r"\s*+(?:-?[0-9]{1,3}(?:\s*+,\s*+|\s*+(?=[\]})>])))*+")
_HEX_ITEMS: Final = lazy_pattern(r"\s*+(?:0[xX][0-9A-Fa-f]{2}(?:\s*+,\s*+|\s*+(?=[\]})>])))*+")
# The length in `[17]`, `(17)`, before the opening bracket
_DECLARED: Final = lazy_pattern(
    r"[\[(]\s*+(\d++)\s*+[\])]\s*+(?::?+=\s*+)?+(?:new\s++\w++\s*+)?+[\[{(]?+\s*+$"
)
_INSPECT: Final = lazy_pattern(
    r"(?s)(?:<(?:Slow)?Buffer(?P<body>[^<>]*)>|<(?P<ns>[0-9A-Fa-f]{2,8}(?: [0-9A-Fa-f]{2,8})*)>"
    r"|\{\s*length\s*=\s*(?P<length>\d+),\s*bytes\s*=\s*0x(?P<bytes>[0-9A-Fa-f .…]+)\})"
)


def read_inspected(source: Source) -> Pasted | None:
    """`<Buffer da bb ...>` of Node.js, NSData of Objective-C and Swift."""
    text = source.plain
    rest = after_assignment(text)
    start = len(text) - len(rest)
    match = _INSPECT.fullmatch(rest.strip().rstrip(";,"))
    if not match:
        broken = re.match(r"\s*<(?:Slow)?Buffer (?:[0-9a-f]{2} ?){2}", rest)
        if broken:
            raise source.error("pasted-cut", len(text.rstrip()) - 1, "the buffer has no closing `>`")
        return None
    body = match["body"] if match["body"] is not None else match["ns"] or match["bytes"]
    at = text.find(body, start)
    cut = ELLIPSIS.search(body)
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
    words = body.split()
    kind = match["body"] is not None
    for match_word in re.finditer(r"\S++", body):
        word = match_word[0]
        if not re.fullmatch("(?:[0-9A-Fa-f]{2})++", word) or (kind and len(word) > 2):
            raise source.error("pasted-damaged", at + match_word.start(), "not a byte in hex")
    data = bytes.fromhex("".join(words))
    if match["length"] and int(match["length"]) != len(data):
        raise source.error("pasted-damaged", at, f"{len(data)} bytes, but the length is {match['length']}")
    return Pasted(data, "buffer")


def read_array(source: Source, forced: bool = False) -> Pasted | None:
    """An array of numbers between brackets, or a bare list whose items show that they are bytes."""
    text = source.plain
    if "(" in text or "/" in text or "#" in text:
        clean = COMMENT.sub(_blanks, text)
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
    byte_type = bool(BYTE_TYPES.search(head))
    if not _head_ok(head, clean[opened]):
        return None
    closer = clean[end : end + 1]
    body = clean[start:end]
    count = len(_ITEM.findall(body)) if len(body) < 4096 else 4096
    if closer not in ("]", "}", ")", ">") or not closer:
        return _broken(source, clean, start, end, opened, count, byte_type)
    tail = clean[end:]
    declared = _DECLARED.search(head)
    length = re.fullmatch(r"[\]})>;\s]*unsigned int \w+_len = (\d+);?\s*", tail)
    if not length and not TAIL.fullmatch(tail):
        return None
    if not body.strip():
        return Pasted(b"", "array") if byte_type and clean[opened] != "<" else None
    if clean[opened] == "(" and not byte_type and not re.search(r"(?:^|[=\s])[@#c]$", head.rstrip()):
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
                f"{len(data)} bytes in the array, but its length is {claim[1]}",
            )
    return Pasted(data, "array")


def _blanks(match: re.Match[str]) -> str:
    return blanks(match[0])


def _head_ok(head: str, opener: str) -> bool:
    """Whether the text before an array is an assignment, a label, a type or a call."""
    if not head.strip():
        return True
    if len(head) > HEAD_LIMIT:
        return False
    rest = after_assignment(head).strip()
    if not rest:
        return True
    outer = rest.rstrip("([{<& \t\n")
    if opener == "(" and rest in ("@", "#", "c"):
        return True
    bare = re.sub(r"\(\s*+\d*+\s*+\)|\[[\w ]*+\]|<[\w\s,:]*+>|[&@#]", "", outer).strip()
    bare = bare.lstrip("([{").strip()
    if not bare:
        return True
    words = re.findall(r"[A-Za-z_][\w.:!$]*", bare)
    if len(words) == 1 or (len(words) == 2 and words[0] in ("new", "bytes", "vec", "slice")):
        return bool(BYTE_TYPES.search(bare)) or opener != "("
    joined = " ".join(words)
    if (BYTE_TYPES.search(rest) or "string" in rest) and expression_fits(rest):
        return not CHANGING.search(rest)
    return (
        bool(re.fullmatch(r"(?:new |unsigned |const |static )*[\w.:!$]+(?: [\w.:!$]+)?", joined))
        and bool(BYTE_TYPES.search(joined))
        and re.search(r"[\[({]", outer) is not None
    )


def _broken(
    source: Source, clean: str, start: int, end: int, opened: int, count: int, byte_type: bool
) -> Pasted | None:
    """An array whose items end in something else: hex without 0x, an ellipsis, damage."""
    tail = clean[end:]
    if tail[:1] in ('"', "'", "`"):
        return None  # a string: another reader's
    if _CUT_ITEM.fullmatch(tail) and count >= 2 and (byte_type or clean[opened] in "[{"):
        raise source.error("pasted-cut", len(clean.rstrip()) - 1, "the array has no closing bracket")
    cut = ELLIPSIS.match(tail)
    close = max(clean.rfind(mark) for mark in "]})>")
    if cut and count >= 2:
        raise source.error("pasted-cut", end, "the array omits bytes here")
    if close > start and TAIL.fullmatch(clean[close:]) and clean[opened] in "[{<(":
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
            raise source.error("pasted-damaged", end, "not a number of the array")
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
        raise source.error("pasted-damaged", start + at, "this number does not fit in a byte")
    return None


def _bytes_of(source: Source, values: list[int], body: str, start: int, sure: bool) -> bytes | None:
    low, high = min(values), max(values)
    if (low >= 0 and high <= 255) or (low >= -128 and high <= 127):
        return bytes(values) if low >= 0 else bytes(value & 255 for value in values)
    wrong = [i for i, value in enumerate(values) if not (-128 <= value <= (127 if low < 0 else 255))]
    # (byte) casts are blanked, so 0xDA next to -1 is valid in hex.
    if low >= -128 and high <= 255 and re.search("0[xX]", body):
        return bytes(value & 255 for value in values)
    if sure or (len(values) >= 8 and len(wrong) * 4 <= len(values)):
        items = [match.start() for match in _ITEM.finditer(body)]
        raise source.error(
            "pasted-damaged", start + items[wrong[0]], "this number does not fit in a byte like the others"
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
