"""String literals of languages, shells and tools, decoded by the call around them if there is one.

A literal is taken out of what may surround it: an assignment, a type, one call (`Buffer.from(...)`,
`hex_decode('...')`), a `;`. Anything else around it makes the text prose.
"""

import re
from typing import Final

from wirelens.codecs.captures.pasting.context import (
    BYTE_TYPES,
    CHANGING,
    COMMENT,
    ELLIPSIS,
    TAIL,
    after_assignment,
    expression_fits,
)
from wirelens.codecs.captures.pasting.escapes import escaped_enough, unescape
from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.plain import (
    ambiguous,
    base64_bytes,
    read_base64,
    read_hex,
    read_prefixed,
    strong_base64,
)
from wirelens.codecs.captures.pasting.source import Pasted, Source

MOST_LITERALS: Final = 1 << 16  # string literals in one text; a text with more is a document
_STRING: Final = lazy_pattern(
    r"""(?P<prefix>\$|[A-Za-z]{1,2}(?=["'])|u8)?(?P<quote>"(?P<d>[^"\\]*+(?:\\.[^"\\]*+)*+)"|'(?P<s>[^'\\]*+(?:\\.[^'\\]*+)*+)'|`(?P<b>[^`]*+)`)""",
    re.S,
)
# Between a literal and the name of its codec, another literal
_CODEC_JOIN: Final = lazy_pattern(r"\)?\]?\s*+(?:,|\.\w++\(?)\s*+\(?\s*+")
_TEXT_PREFIXES: Final = ("", "b", "B", "u", "U", "L", "r", "R", "u8", "c", "$", "s", "f")
_HEX_TEXT: Final = lazy_pattern(r"\s*+(?:[0-9A-Fa-f]++[\s:,-]*+)++")
# A literal that is the message of an error
_MESSAGE: Final = lazy_pattern(r"\.(?:expect|context|with_context|orElseThrow|getOrElse)\($")
# What joins strings: as a function before them, as a method between or after them
_JOINING: Final = lazy_pattern(r"(?i)\b(?:join|joinToString|mkString|concat|implode|append)\b")
_JOIN_HEAD: Final = lazy_pattern(
    r"(?i)(?:new\s+StringBuilder\s*+\(\s*+\)\s*+)?+(?:\b[a-z]{1,40}+(?=\.))?+\.?+(?<!\w)"
    r"(?:join|concat|implode|append)!?+\s*+\([\s,]*+(?:(?:\[\]string|new\s++String\[\])\s*+)?+[\[({]?+\s*+\Z"
)
_JOIN_TAIL: Final = lazy_pattern(
    r"(?i)(?:[\])}]|(?<!\s))\s*+\.\s*+(?:join|joinToString|mkString)\b(?:\s*+\(\s*+\))?+"
    r"|,\s*+(?=\)\s*+[;)]*+\s*+\Z)"
)
_LIST_MARK: Final = lazy_pattern(r"(?i)\s*+(?:,|\)?+\s*+\.\s*+(?:concat|append)\s*+\()\s*+")
_BETWEEN: Final = lazy_pattern(r"[\s:,-]*+")  # a string that separates the joined ones, if it is not empty
_RAW_MARK: Final = lazy_pattern(r"\b[bc]?r(#{1,8})\Z")
_HEX_CALL: Final = lazy_pattern(r"(?i)hex|a2b_qp0")
_B64_CALL: Final = lazy_pattern(r"(?i)b64|base64|atob")
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
_STRACE: Final = lazy_pattern(
    r"(?:\[pid\s+\d+\]\s+|\d+\s+)?(?:[\d:.]+\s+)?"
    r"(?:write|read|send|sendto|recv|recvfrom|pwrite64|pread64)\(\d+(?:<[^>]*>)?, "
)
_SHELL: Final = lazy_pattern(r"(?:[$#%]\s+)?(?P<name>echo|printf)\b(?P<options>(?:\s+-[neE]+|\s+--)*)\s+")


def read_strings(source: Source, style: str = "", forced: bool = False) -> Pasted | None:
    """One string literal, or several that the language joins, decoded by the call around if there is one."""
    text = source.text
    found = _literals(source, forced)
    if not found:
        return None
    matches, between = found
    position = matches[-1].end()
    head = text[between[0][0] : between[0][1]]
    tail = text[position:]
    strace = _STRACE.fullmatch(head.strip() + " ") or _STRACE.fullmatch(head)
    if strace and len(matches) == 1:
        return _strace(source, matches[0], tail, position)
    raw_mark = _RAW_MARK.search(head)  # Rust: r#"..."#
    if raw_mark and len(matches) == 1 and tail.startswith(raw_mark[1]):
        head, tail = head[: raw_mark.start()], tail[len(raw_mark[1]) :]
    joins = [COMMENT.sub("", text[a:b]) for a, b in between[1:]]
    words = [_inside(match) for match in matches]
    tail = COMMENT.sub("", tail)
    while len(matches) > 1 and (message := _MESSAGE.search(joins[-1])):  # `.expect("valid hex")`
        tail = joins.pop()[: message.start()] + tail
        matches, words = matches[:-1], words[:-1]
    clean_head = COMMENT.sub("", head)
    if len(matches) > 1 and re.fullmatch(r"\s*+(?::|=>)\s*+[\[({]?\s*+", joins[0]):
        # a key and its value: `"payload": "..."`
        if clean_head.strip(" \t\n{,"):
            return None
        clean_head = words[0] + ": " + joins[0].lstrip(" \t:=>")
        matches, words, joins = matches[1:], words[1:], joins[1:]
    if len(matches) > 1:
        matches, clean_head, joins, tail = _without_joining(matches, clean_head, joins, tail)
        words = [_inside(match) for match in matches]
    codec = ""
    known = [word.lower() in _CODECS and len(matches) > 1 for word in words]
    if any(known):
        codec = next(_CODECS[word.lower()] for word, k in zip(words, known, strict=True) if k)
    data_matches = [m for m, k in zip(matches, known, strict=True) if not k]
    if not data_matches:
        return None
    for join, after in zip(joins, known[1:], strict=True):
        bare = join.strip(" \t\n\r\\()")
        if bare not in ("", "+", ".", "..", "<<", "~", "&", "++", "<>", "||") and not (
            (after or known[0]) and _CODEC_JOIN.fullmatch(join.strip(" \t\n\r\\"))
        ):
            return None
    rest = after_assignment(clean_head)
    call = rest.strip().rstrip("([{<& \t\n")
    if call and (not expression_fits(rest) or CHANGING.search(rest)):
        return None
    if not codec and call:
        codec = "hex" if _HEX_CALL.search(call) else "base64" if _B64_CALL.search(call) else ""
    if not codec and _B64_CALL.search(tail) and len(tail) < 60:
        codec = "base64"
    if not codec and re.search(r"(?i)(?:un|from)hex|to_bytes", tail):
        codec = "hex"
    dots = ELLIPSIS.match(tail.strip())
    if dots and tail.strip()[: dots.end()] == tail.strip().rstrip(");,"):
        raise source.error("pasted-cut", position + tail.find(dots[0]), "the string is cut here")
    if not TAIL.fullmatch(tail):
        return None
    if (
        call
        and not codec
        and len(call.split()) == 1
        and not (BYTE_TYPES.search(call) or rest.rstrip().endswith(("(", "[", "{", "<<")) or forced)
    ):
        return None
    joined = _joined(source, data_matches, codec)
    if joined is not None:
        return joined
    out: list[bytes] = []
    plain = 0
    for match in data_matches:
        data = _content(source, match, codec, style, call)
        if data is None:
            plain += 1
            data = unescape(source, _inside(match), match.start() + 1, style)
        out.append(data)
    if plain == len(data_matches) and not codec and not forced:
        if len(data_matches) == 1:
            return _quoted(source, data_matches[0])
        return None
    return Pasted(b"".join(out), codec or "escapes")


def _without_joining(
    matches: list[re.Match[str]], head: str, joins: list[str], tail: str
) -> tuple[list[re.Match[str]], str, list[str], str]:
    """Literals, and the texts around them, without what joins the literals: `[...].join('')`, `concat!`."""
    texts = [head, *joins, tail]
    if not any(map(_JOINING.search, texts)):
        return matches, head, joins, tail
    kept: list[re.Match[str]] = []
    around = [texts[0]]
    for match, after in zip(matches, texts[1:], strict=True):
        if _BETWEEN.fullmatch(_inside(match)):
            around[-1] += after
        else:
            kept.append(match)
            around.append(after)
    if not kept:
        return matches, head, joins, tail
    first = _JOIN_HEAD.sub("", around[0])
    rest = [_JOIN_TAIL.sub("", text) for text in around[1:]]
    between = ["+" if _LIST_MARK.fullmatch(text) else text for text in rest[:-1]]
    return kept, first, between, rest[-1]


def _inside(match: re.Match[str]) -> str:
    """The text between the quotes of a literal."""
    return str(next(text for text in (match["d"], match["s"], match["b"]) if text is not None))


def _joined(source: Source, matches: list[re.Match[str]], codec: str) -> Pasted | None:
    """Hex or base64 in several literals that the language joins; None for anything else.

    A byte may be split between two literals.
    """
    if len(matches) < 2 or any((match["prefix"] or "") not in _TEXT_PREFIXES for match in matches):
        return None
    parts = [_inside(match) for match in matches]
    text = "".join(parts)
    if codec == "hex" or (not codec and _HEX_TEXT.fullmatch(text)):
        if not _HEX_TEXT.fullmatch(text):
            return None
        digits = re.sub(r"[\s:,-]++", "", text)
        if not codec and (len(digits) < 8 or digits.isdigit() or digits.isalpha()):
            return None
        if len(digits) % 2:
            at = matches[-1].end() - 1
            raise source.error(
                "pasted-damaged", at, f"an odd number of hex digits in these strings: {len(digits)}"
            )
        return Pasted(bytes.fromhex(digits), "hex")
    if codec == "hex" or any("=" in part for part in parts[:-1]):
        return None
    if codec == "base64" or (len(text) >= 16 and not re.search(r"\s", text) and strong_base64(text)):
        data = base64_bytes(text)
        return None if data is None else Pasted(data, "base64")
    return None


def _literals(source: Source, forced: bool) -> tuple[list[re.Match[str]], list[tuple[int, int]]] | None:
    """The literals of a text, and the ranges before each; None without any, with too many, or for prose."""
    text = source.text
    matches: list[re.Match[str]] = []
    between: list[tuple[int, int]] = []
    position = 0
    while True:
        quote = re.compile(r"""["'`]""").search(text, position)
        if not quote:
            break
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
        if len(matches) == MOST_LITERALS:
            return None
        between.append((position, match.start()))
        matches.append(match)
        position = match.end()
    return (matches, between) if matches else None


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
    if prefix.lower() in ("b", "c", "br", "rb", "u8", "l", "$") or escaped_enough(body) or style:
        return unescape(source, body, start, style)
    return None


def _quoted(source: Source, match: re.Match[str]) -> Pasted | None:
    """A quoted text without escapes: hex or base64 if it is surely that."""
    group = "d" if match["d"] is not None else "s" if match["s"] is not None else "b"
    inner = source.sub(match.start(group), match.end(group))
    return strong_text(inner)


def strong_text(source: Source) -> Pasted | None:
    """Hex or base64 after a label or between quotes, where only strong evidence counts."""
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
    rest = re.fullmatch(r",[^\n]*\)\s++=\s++(\d++)(?:\s++<[\d.]++>)?+\s*+", tail)
    data = unescape(source, match[group], match.start(group), "octal")
    if not rest:
        return None
    if int(rest[1]) != len(data) and str(len(data)) not in re.findall(r"\d+", tail):
        raise source.error(
            "pasted-damaged",
            match.start(group),
            f"the string has {len(data)} bytes and the call moved {rest[1]}",
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
    if not re.fullmatch(r"\s*+(?:(?:\||>>?|;|&&)[^\n]*+)?+\s*+", tail):
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
    if not forced and not escaped_enough(body):
        return None
    body = body if echo else body.replace("%%", "%")
    if match and match["d"] is not None:
        body = re.sub(r'\\([$`"])', r"\1", body)
    data = unescape(source, body, at, "echo" if echo and re.search(r"\\0[0-7]{3}", body) else "octal")
    if echo and "n" not in command["options"]:
        data += b"\n"
    return Pasted(data, "shell")
