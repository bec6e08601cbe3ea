"""What people and tools leave around bytes: comments, prefixes of log lines, prose around a dump."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from wirelens.codecs.captures.pasting.cutting import is_frame, row_of
from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.plain import strong_base64
from wirelens.codecs.captures.pasting.source import Source, blanks

# A quoted text, or a comment: to the end of the line, or between marks
_QUOTED_OR_COMMENT: Final = lazy_pattern(
    r"(?P<quoted>\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+')"
    r"|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|(?<![^\s,;{}()\[\]\"'])(?://|#|--|;(?=[ \t]))[^\n]*+"
)
_TIME: Final = lazy_pattern(
    r"[\[(<]?(?:[IWEFDV]\d{4} )?"
    r"(?:(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d[-/.]\d\d(?:[-/.]\d{4})?|[A-Z][a-z]{2} [ \d]\d)[T ,]{1,2})?"
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?Z| ?[+-]\d\d:?\d\d| [A-Z]{3,4}(?= ))?[\])>]?[:,]?[ \t]{1,8}"
    r"|\[[ \d]{1,8}\.\d{3,9}\][ \t]{1,8}"
)
# Parts of a log line before its message; none of them can be hex
_LOG_PARTS: Final = lazy_pattern(
    r"(?:(?:\[[^\]\n]{0,80}\]|\([^)\n]{0,80}\)"
    r"|[\dA-Fa-f$./:@-]{0,80}[g-zG-Z_][\w$./@:-]{0,80}(?:\[\d{1,9}\])?|-->|[|:>-])[:,]?[ \t]{1,8}){1,12}+"
)
_NUMBERED: Final = lazy_pattern(
    r"[ \t]*+(\d{1,6})(?:[.):|][ \t]|:(?=[0-9A-Fa-f]{4})|[ \t]*+\|[ \t]|\t|  )[ \t]*+"
)
_SEPARATORS: Final = (" - ", ": ", "] ", " | ", "\t")
_WORDS: Final = lazy_pattern(r"[^\s,;:|(){}\[\]<>\"'.=_?!-]+")
_BYTES: Final = lazy_pattern(
    r"0[xX][0-9A-Fa-f]{1,16}|[0-9A-Fa-f]{2}|(?=[A-Fa-f]{0,7}[0-9])[0-9A-Fa-f]{4}|[0-9]{1,3}|[0-9]{5}|[0-7]{6}"
    r"|[0-9A-Fa-f]{8,}|(?:\\x[0-9A-Fa-f]{2})++"
)
_MOST_TRIED: Final = 1 << 14  # characters of a text in which words are left out by way of trial
_MOST_WORDS: Final = 16  # words, and lines, that are tried
_PLAIN_WORD: Final = lazy_pattern("[A-Za-z]{2,30}")
_ALIKE: Final = 6  # characters at the start of two lines that show the same writer
_HEXISH: Final = lazy_pattern("(?:0?[xX])?[0-9A-Fa-f]{2,}")
_PAIRS: Final = lazy_pattern(r"(?<![^\s:])[0-9A-Fa-f]{2}(?:[ :,-]{1,2}[0-9A-Fa-f]{2}){2,}+(?!\w)")
_BARE_HEX: Final = lazy_pattern(r"(?<![^\s|])(?=[A-Fa-f]{0,20}[0-9])[0-9A-Fa-f]{16}")
_NUMBER: Final = lazy_pattern("0[xX][0-9A-Fa-f]+")
_OD_OFFSET: Final = lazy_pattern(r"[#/;*-]{1,2}[ \t]{0,8}[0-7]{7}(?=[ \t])")
_MANY: Final = 8  # bytes after others on a line that are no comment
# What ends with the offset of a dump's row
_OFFSET_END: Final = lazy_pattern(r"(?:^|[\s|])((?:0[xX])?[0-9A-Fa-f]{4,16})[:|>-]?\s*$")
_CLOCK: Final = lazy_pattern(r"\d\d:\d\d:\d\d")
_LONG_HEX: Final = lazy_pattern(r"(?<![0-9A-Za-z])(?=[A-Fa-f]{0,20}[0-9])[0-9A-Fa-f]{16,}+(?![0-9A-Za-z])")
_WHOLE_HEX: Final = lazy_pattern(r"(?:[0-9A-Fa-f]{2}){8,}+")
_SHORT_HEX: Final = lazy_pattern(r"(?=[A-Fa-f]*+[0-9])(?:[0-9A-Fa-f]{2}){1,7}+")


def uncommented(source: Source) -> Source | None:
    """The source without its comments (`#`, `//`, `;`, `--`, `/* */`); None if it has none."""
    text = source.plain
    out: list[str] = []
    position = 0
    for match in _QUOTED_OR_COMMENT.finditer(text):
        if match["quoted"] is None:
            if "..." in match[0] or "…" in match[0]:
                return None  # it may stand for bytes that were left out
            first = text.rfind("\n", 0, match.start()) + 1
            least = _MANY if text[first : match.start()].strip() else 3
            if _size(match[0]) >= least:
                return None  # a row of bytes: its mark stood before each row
            out.append(text[position : match.start()])
            out.append(blanks(match[0]))
            position = match.end()
    if not position:
        return None
    out.append(text[position:])
    return source.with_lines([line.rstrip() for line in "".join(out).split("\n")])


def iter_unprefixed(source: Source) -> Iterator[Source]:
    """The source without what a log, an editor or a tool put before each line, cut in several ways."""
    for cuts in _iter_cuts(source):
        if _spare_bytes([line[:cut] for line, cut in zip(source.lines, cuts, strict=True)]):
            yield source.kept(cuts)
    numbers = [_NUMBERED.match(line) for line in source.lines]
    if all(match or not line.strip() for match, line in zip(numbers, source.lines, strict=True)):
        values = [int(match[1]) for match in numbers if match]
        padded = any(match[1][0] == "0" and match[1] != "0" for match in numbers if match)
        if values == list(range(values[0], values[0] + len(values))) and (len(values) > 1 or not padded):
            yield source.kept([match.end() if match else 0 for match in numbers])


def _iter_cuts(source: Source) -> Iterator[list[int]]:
    """The lengths of what may stand before the bytes in each line."""
    times = [_TIME.match(line) for line in source.lines]
    timed = [match.end() if match else 0 for match in times]
    if all(match or not line.strip() for match, line in zip(times, source.lines, strict=True)):
        yield timed
        parts = [_LOG_PARTS.match(line, end) for line, end in zip(source.lines, timed, strict=True)]
        if any(parts):
            cuts = [part.end() if part else end for part, end in zip(parts, timed, strict=True)]
            if _alike(source, timed, cuts):
                yield cuts
        for mark in _SEPARATORS:
            places = [line.find(mark, end) for line, end in zip(source.lines, timed, strict=True)]
            if all(at >= 0 or not line.strip() for at, line in zip(places, source.lines, strict=True)):
                cuts = [at + len(mark) if at >= 0 else 0 for at in places]
                if _alike(source, timed, cuts):
                    yield cuts
    elif all((part := _LOG_PARTS.match(line)) and part[0].rstrip()[-1] in ":|>]" for line in source.lines):
        yield [part.end() for line in source.lines if (part := _LOG_PARTS.match(line))]
    rows = [line for line in source.lines if line.strip()]
    if len(rows) < 2:
        return
    common = _common_start(min(rows), max(rows))
    for mark in ("| ", ": ", "] ", "> ", " "):
        cut = common.rfind(mark) + len(mark)
        if cut >= len(mark) and re.search("[G-Zg-z]", common[:cut]):
            if mark != " " or not any(row[cut:].startswith("|") for row in rows):
                yield [cut if line.strip() else 0 for line in source.lines]
            break


def _size(text: str) -> int:
    """How many bytes a comment has, if it is a row of them; 0 for others."""
    text = _OD_OFFSET.sub("", _CLOCK.sub("", text), 1)
    if byte_share(text) < 0.6 or is_frame(text.strip("#/;-* \t")):
        return 0
    return sum(max(1, len(word) // 2) for word in _WORDS.findall(text) if _BYTES.fullmatch(word))


def _spare_bytes(prefixes: list[str]) -> bool:
    """Whether what stands before the bytes in each line has neither bytes nor the offsets of rows."""
    if any(_PAIRS.search(_CLOCK.sub("", prefix)) or _BARE_HEX.search(prefix) for prefix in prefixes):
        return False
    if len({tuple(_NUMBER.findall(prefix)) for prefix in prefixes if prefix.strip()}) > 1:
        return False
    ends = {match[1] for prefix in prefixes if (match := _OFFSET_END.search(prefix))}
    return len(ends) < 2 and not any(end[:2] in ("0x", "0X") for end in ends)


def _alike(source: Source, starts: list[int], ends: list[int]) -> bool:
    """Whether the same stands before the bytes in each line, numbers aside: else it may be part of a dump."""
    prefixes = {
        re.sub("[0-9]+", "0", line[start:end])
        for line, start, end in zip(source.lines, starts, ends, strict=True)
        if line.strip()
    }
    return len(prefixes) == 1


def _common_start(one: str, other: str) -> str:
    """What two texts begin with alike."""
    size = 0
    while size < min(len(one), len(other)) and one[size] == other[size]:
        size += 1
    return one[:size]


def byte_share(line: str) -> float:
    """The part of a line's letters and digits that stands in numbers of bytes."""
    words = _WORDS.findall(line)
    total = sum(map(len, words))
    if len(words) == 1 and len(words[0]) >= 24 and strong_base64(words[0]):
        return 1.0
    return sum(len(word) for word in words if _BYTES.fullmatch(word)) / total if total else 0.0


def kinds_of(source: Source) -> str:
    """A letter for each line: `b` bytes, `p` prose, `m` neither surely, ` ` nothing that counts."""
    kinds: list[str] = []
    above = line = ""
    for following in source.plain.split("\n"):
        above, line = line, following
        if not re.search(r"\w", line) or is_frame(line):
            kinds.append(" " if line.strip() not in ("*", "...", "…") else "b")
            continue
        share = byte_share(line)
        if share >= 0.6 or _LONG_HEX.search(line):
            kinds.append("b")
            continue
        time = _TIME.match(line)
        if kinds[-1:] == ["b"] and _SHORT_HEX.fullmatch(line.strip()) and _WHOLE_HEX.fullmatch(above.strip()):
            kinds.append("b")  # the last line of wrapped hex
            continue
        kinds.append("p" if _is_prose(line[time.end() :] if time else line) else "m")
    return "".join(kinds)


def _is_prose(line: str) -> bool:
    """Whether a line is surely text, and no damaged line of bytes."""
    if _PAIRS.search(line) or _is_row(line):
        return False
    words = _WORDS.findall(line)
    hexes = sum(len(word) for word in words if _HEXISH.fullmatch(word))
    plain = sum(1 for word in words if _PLAIN_WORD.fullmatch(word) and not _HEXISH.fullmatch(word))
    share = hexes / max(1, sum(map(len, words)))
    if line.strip() and plain < 2 and (not plain or re.match(r"\W*+[A-Za-z_]*+[0-9]", line)):
        return False  # it may be a row whose offset is damaged
    return share < 0.35 or (plain >= 3 and share < 0.6)


def _is_row(line: str) -> bool:
    """Whether a line may be a damaged row of a dump."""
    row = row_of(0, line)
    if row is None or not row.body:
        return False
    has_digit = any(character.isdigit() for character in row.offset)
    return len(row.offset) >= 4 and has_digit and bool(_HEXISH.fullmatch(row.body.split(None, 1)[0]))


def groups_in_prose(source: Source) -> list[tuple[int, int]]:
    """Ranges of lines that have bytes, in a text whose other lines are prose or frames; else empty."""
    kinds = kinds_of(source)
    if "m" in kinds:
        return []
    first = next((line for kind, line in zip(kinds, source.lines, strict=True) if kind == "b"), "")
    for kind, line in zip(kinds, source.lines, strict=True):
        if kind == "p" and len(_common_start(first.strip(), line.strip())) >= _ALIKE:
            return []  # a log, whose line may be a damaged row
    framed = any(kind == " " and line.strip() for kind, line in zip(kinds, source.lines, strict=True))
    if "p" not in kinds and not framed:
        return []
    return [(match.start(), match.start() + len(match[0].rstrip())) for match in re.finditer("b[b ]*", kinds)]


def frame_around(source: Source, first: int, last: int) -> tuple[int, int]:
    """The range of lines with the borders and headers of a dump before and after it."""
    while first > 0 and (is_frame(source.lines[first - 1]) or not source.lines[first - 1].strip()):
        first -= 1
    while last < len(source.lines) and (is_frame(source.lines[last]) or not source.lines[last].strip()):
        last += 1
    return first, last


def hint(source: Source, fits: Callable[[Source], bool]) -> str:
    """Why a text that is mostly hex is not a form of bytes: what stands in the way; empty for others.

    `fits`: whether a text is of a form. The word, or else the line, without which the text would be.
    """
    lines = source.plain.split("\n")
    digits = whole = 0
    letters = long = False
    others: list[tuple[int, re.Match[str]]] = []
    found = 0  # of the others, before the first bytes
    for row, line in enumerate(lines):
        for match in _WORDS.finditer(line):
            whole += len(match[0])
            if _BYTES.fullmatch(match[0]) or _LONG_HEX.fullmatch(match[0]):
                digits += len(match[0])
                letters = letters or not match[0].isdigit()
                long = long or len(match[0]) >= 16
                found = found if digits > len(match[0]) else len(others)
            else:
                others.append((row, match))
    if digits < 16 or digits * (3 if long else 2) < whole or not letters or not others:
        return ""
    row, word = others[found if found < len(others) else -1]
    if len(source.text) <= _MOST_TRIED:
        for number, other in others[:_MOST_WORDS]:
            line = lines[number]
            clean = line[: other.start()] + " " * len(other[0]) + line[other.end() :]
            if fits(source.with_lines([*lines[:number], clean, *lines[number + 1 :]])):
                row, word = number, other
                break
        else:
            for number in list(dict.fromkeys(number for number, _ in others))[:_MOST_WORDS]:
                if fits(source.with_lines([*lines[:number], "", *lines[number + 1 :]])):
                    row, word = next(other for other in others if other[0] == number)
                    break
    place, column = source.place_in(row, word.start())
    shown = word[0] if len(word[0]) <= 20 else word[0][:19] + "…"
    return f"mostly hex, but at line {place}, column {column} {shown!r} fits no form of bytes"


def taken(source: Source, first: int, last: int) -> str:
    """Which lines of a text were read: `first` to `last` (excluded) of the source."""
    start, end = source.where[first] + 1, source.where[last - 1] + 1
    what = f"line {start} was" if start == end else f"lines {start} to {end} were"
    return f"{what} taken as the bytes; the text around was left out"
