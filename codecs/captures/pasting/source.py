"""The pasted text as the readers see it: clean lines, and the way back to where a character stood."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.errors import WirelensError

MOST_BLOCKS: Final = 256  # fenced blocks in one text; a text with more is a document
LIMIT: Final = 64 << 20  # octets that squeezed rows (`*`) of one text may stand for


class PastedError(WirelensError):
    """A text that is a form, but damaged, cut or open to two readings.

    `line` and `column` are 1-based and count characters of the text as it was pasted; `head` holds
    the octets before the place when the form was sound up to there, else it is empty.
    """

    def __init__(self, code: str, line: int, column: int, text: str, head: bytes = b"") -> None:
        super().__init__(f"line {line}, column {column}: {text}")
        self.code = code
        self.line = line
        self.column = column
        self.text = text
        self.head = head

    def __reduce__(self) -> tuple[type["PastedError"], tuple[str, int, int, str, bytes]]:
        return PastedError, (self.code, self.line, self.column, self.text, self.head)


@dataclass(frozen=True, slots=True)
class Pasted:
    """The octets that a pasted text means, and the name of its form (`raw`: the text itself)."""

    data: bytes
    form: str
    note: str = ""  # which lines were taken; of a text that is mostly hex but `raw`, why it is not hex


_ANSI: Final = lazy_pattern(
    r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]"
)
_ZERO_WIDTH: Final = lazy_pattern("[\u200b\u200c\u200d\u200e\u200f\u2060\ufeff]")
_CONTROL: Final = lazy_pattern("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_QUOTE: Final = lazy_pattern(r"[ \t]*(?:>[ \t]?)+")
_COMMENT: Final = lazy_pattern(r"[ \t]*(?://+|#+|--|;+|\*(?=[ \t]+\S))[ \t]")
_FENCE: Final = lazy_pattern(r"[ \t]*+(?:`{3,}+|~{3,}+)[ \t]*+[\w+.-]*+[ \t]*+")
_TAG: Final = lazy_pattern(
    r"\{(?:code|noformat)(?::[^{}\n]{0,80})?\}|\[/?code(?:=\w{1,20})?\]|<pre[^<>\n]{0,80}>(?:<code[^<>\n]{0,80}>)?"
    r"|(?:</code>)?</pre>|</?code[^<>\n]{0,80}>"
)

# Look-alikes that text processors and Chinese keyboards put in place of ASCII, one character each.
_PLAIN: Final[dict[int, str]] = (
    {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys(
        [
            0xA0,
            0x1680,
            *range(0x2000, 0x200B),
            0x202F,
            0x205F,
            0x3000,
            *range(0x3008, 0x3012),
            0x3014,
            0x3015,
        ],
        " ",
    )
    | dict.fromkeys([0x2502, 0x250A, 0x2503, 0x2551, 0xA6], "|")
    | dict.fromkeys([0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212], "-")
    | {0x201C: '"', 0x201D: '"', 0x2018: "'", 0x2019: "'", 0x3001: ",", 0x0C: " ", 0x0B: " "}
)


class Source:
    """Lines without what mail, Markdown and terminals put around them.

    `text` keeps literals as they are; `plain` has the same length and holds ASCII for its
    look-alikes. Offsets into either are turned into places by `place`.
    """

    def __init__(self, lines: list[str], where: list[int], column: list[int], original: list[str]) -> None:
        self.lines = lines
        self.where = where  # 0-based number of each line in `original`
        self.column = column  # characters taken from its front
        self.original = original
        self.text = "\n".join(lines)
        self.plain = self.text if self.text.isascii() else self.text.translate(_PLAIN)
        self._starts: list[int] = []

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, 1-based, of the character at `offset` of `text`."""
        row = self._row(offset)
        return self.place_in(row, offset - self._starts[row])

    def _row(self, offset: int) -> int:
        """Index of the line that has the character at `offset` of `text`."""
        if not self._starts:
            self._starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        return max(0, min(bisect_right(self._starts, offset) - 1, len(self.lines) - 1))

    def place_in(self, row: int, index: int) -> tuple[int, int]:
        """Line and column, 1-based, of character `index` of `lines[row]`."""
        if not self.lines:
            return 1, 1
        original = self.original[self.where[row]]
        index += self.column[row]
        if "\x1b" in original or not original.isascii():
            for match in _ANSI.finditer(original):
                if match.start() <= index:
                    index += len(match[0])
        return self.where[row] + 1, index + 1

    def error(self, code: str, offset: int, text: str, head: bytes = b"") -> PastedError:
        """An error at an offset of the text, to be raised by the caller."""
        line, column = self.place(offset)
        return PastedError(code, line, column, text, head)

    def error_in(self, row: int, index: int, code: str, text: str, head: bytes = b"") -> PastedError:
        """An error at an index of a line, to be raised by the caller."""
        line, column = self.place_in(row, index)
        return PastedError(code, line, column, text, head)

    def part(self, first: int, last: int) -> "Source":
        """Lines first to last (excluded) as a source of their own."""
        return Source(self.lines[first:last], self.where[first:last], self.column[first:last], self.original)

    def sub(self, start: int, end: int) -> "Source":
        """Characters start to end (excluded) of `text` as a source of their own."""
        while start < end and self.text[start].isspace():
            start += 1
        first = self._row(start)
        lines = self.text[start:end].split("\n")
        column = list(self.column[first : first + len(lines)])
        column[0] += start - self._starts[first]
        return Source(lines, self.where[first : first + len(lines)], column, self.original)

    def kept(self, columns: list[int]) -> "Source":
        """The lines without this many characters at the front of each."""
        lines = [line[column:] for line, column in zip(self.lines, columns, strict=True)]
        column = [old + new for old, new in zip(self.column, columns, strict=True)]
        return Source(lines, self.where, column, self.original)

    def with_lines(self, lines: list[str]) -> "Source":
        """The same places with other text: each line as long as before, or cut at its end."""
        return Source(lines, self.where, self.column, self.original)

    def blocks(self) -> list["Source"]:
        """The text between the fences of Markdown, Jira or HTML; nothing if there is no fence.

        Of more than MOST_BLOCKS, one more than that.
        """
        most = 2 * (MOST_BLOCKS + 1)  # fences
        tags = list(_TAG.finditer(self.text))
        if tags:
            ends = [*(tag.start() for tag in tags[1:]), len(self.text)]
            return [
                self.sub(tag.end(), end)
                for tag, end in list(zip(tags, ends, strict=True))[:most:2]
                if self.text[tag.end() : end].strip()
            ]
        fences = [row for row, line in enumerate(self.lines) if "``" in line or "~~" in line]
        fences = [row for row in fences if _FENCE.fullmatch(self.lines[row])]
        if not fences:
            return []
        ends = [*fences[1:], len(self.lines)]
        return [self.part(a + 1, b) for a, b in list(zip(fences, ends, strict=True))[:most:2]]


def blanks(text: str) -> str:
    """Spaces in place of a text, its line ends kept."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def text_of(data: bytes | str) -> str | None:
    """The text in `data`, or None where it is binary: a control octet, or no known encoding."""
    if isinstance(data, str):
        text = data
    else:
        try:
            if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
                text = data.decode("utf-32")
            elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
                text = data.decode("utf-16")
            else:
                text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None
    text = text.removeprefix("\ufeff")
    return None if _CONTROL.search(text) else text


def source_of(text: str) -> Source | None:
    """The clean source of `text`; None where escape characters are left after terminal colours."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    original = text.split("\n")
    unchanged = text
    if "\x1b" in text:
        text = _ANSI.sub("", text)
        if "\x1b" in text:
            return None
    if not text.isascii() and not any(mark in text for mark in "\"'\\"):
        text = _ZERO_WIDTH.sub("", text)
    lines = original if unchanged is text else text.split("\n")  # twice the same lines are kept once
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    lines = lines[first:last]
    columns = [0] * len(lines)
    for pattern in (_QUOTE, _COMMENT, _QUOTE):
        if not lines or not pattern.match(lines[0]):
            continue
        cuts = [pattern.match(line) for line in lines]
        if all(cut or not line.strip() for cut, line in zip(cuts, lines, strict=True)):
            ends = [cut.end() if cut else 0 for cut in cuts]
            lines = [line[end:] for line, end in zip(lines, ends, strict=True)]
            columns = [column + end for column, end in zip(columns, ends, strict=True)]
    return Source(lines, list(range(first, last)), columns, original)
