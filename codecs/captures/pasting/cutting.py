"""A text cut into rows of offset and body, and these into the dumps that they make up."""

import itertools
import re
from dataclasses import dataclass, field
from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.source import PastedError, Source

_ROW: Final = lazy_pattern(
    r"""(?P<indent>[ \t]*+)(?:\|[ \t]*+)?+
    (?P<zero>0[xX])?(?:(?P<high>[0-9A-Fa-f]{4,8})(?P<join>[:`]))?(?P<offset>[0-9A-Fa-f]{1,16})h?
    (?:[ \t]?<[^<>\n]{1,200}>)?
    (?P<gap>[ \t]?(?P<mark>:|\||(?:-+>|=>|[->)])(?=[ \t]))?[ \t]*+)
    (?P<body>.*+)""",
    re.X,
)
_BORDER: Final = lazy_pattern(r"[\s+|=_\u2500-\u257f-]*")
_TITLE: Final = lazy_pattern(
    r"(?i)offset\s*\(?[hd]?\)?|address|bytes|ascii|decoded text|text|hex\w*|0123456789abcdef"
)
# Netty's helpers, Go's spew and the bracket that closes it
_TITLE_LINE: Final = lazy_pattern(
    r"read index: ?\d++ write index: ?\d++ capacity: ?\d++\s*+|\s*+[)\]}]{1,4}[;,]?\s*+"
    r"|\s*+(?:\w++: )?\(\[\](?:uint8|byte)\) (?:\(0x[0-9a-f]++\) )?\(len=\d++(?: cap=\d++)?\) \{\s*+"
)
_CLAIM: Final = lazy_pattern(
    r"(?<!\d)(\d{1,12}) ?(?:B|bytes)\b\W{0,20}$|\(\[\](?:uint8|byte)\) .{0,40}\(len=(\d{1,12})"
)
_PACKET: Final = lazy_pattern(
    r"\s*(?:\d{1,9} +)?(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d+ .*"
    r"|\s*(?:\d{1,9} +)?\d{9,10}\.\d{6,9} .*"
    r"|(?:IP6? \S+ > \S+: |IP6? \(|ARP, |(?:[0-9a-f]{2}:){5}[0-9a-f]{2} > ).*"
    r"|(?:Frame|Packet|Reassembled|Decrypted|Uncompressed|De-chunked|Entire|Segment)\b.*:"
    r"|\s*\d+ +\d+\.\d+ +\S+ +(?:→|->) .*"
)
_TIMED: Final = lazy_pattern(r"\s*(?:\d{1,9} +)?(?:\d{4}-\d\d-\d\d )?[\d:]{1,10}\.\d+ ")
_CURL: Final = lazy_pattern(
    r"(?P<side>=>|<=|==) (?:Send|Recv|Info)\b.*?(?:, (?P<size>\d+) bytes \(0x[0-9a-f]+\))?"
)
OMISSION: Final = lazy_pattern(r"\s*+(?:\.{2,}+|…++)\s*+")  # what a tool or a person put in place of rows


@dataclass(slots=True)
class Row:
    """A row of a dump: its line, its offset as text, and what follows."""

    index: int
    offset: str
    high: str
    mark: str
    zero: bool
    gap: int
    body: str
    start: int
    indent: int

    def at(self, radix: int) -> int:
        """The row's offset, read with the given radix."""
        return int(self.high + self.offset, radix)


def row_of(index: int, line: str) -> Row | None:
    """The row that a line is; None if it is not one."""
    match = _ROW.fullmatch(line)
    if not match:
        return None
    mark, gap, body, offset = match["mark"] or "", match["gap"], match["body"].rstrip(), match["offset"]
    if body and not gap:
        return None
    framed = "|" in line[: match.start("offset")] and len(offset) >= 4
    if (
        not mark
        and not framed
        and (len(offset) < 4 or (len(offset) % 2 and len(offset) not in (7, 9, 11, 13)))
    ):
        return None
    high = match["high"] if match["join"] == "`" else ""
    if framed and mark in ("", "|"):
        mark = "||"  # a framed table
    return Row(
        index,
        offset,
        high or "",
        mark,
        bool(match["zero"]),
        len(gap.replace("\t", "  ")),
        body,
        match.start("body"),
        len(match["indent"].expandtabs(4)),
    )


def is_frame(line: str) -> bool:
    """Whether a line belongs to a dump without having bytes: a border, a header, a title of a known tool."""
    return bool(_BORDER.fullmatch(line) or _TITLE_LINE.fullmatch(line)) or _header(line)


def _header(line: str) -> bool:
    """A line that numbers the columns: 0 1 2 ... f."""
    if len(line) > 512:
        return False
    words = [word for word in re.split(r"[\s|+:-]+", _TITLE.sub(" ", line)) if word]
    if not words:
        return bool(line.strip()) and bool(_TITLE.search(line)) and len(line) < 120
    for radix in (16, 10):
        try:
            numbers = [int(word, radix) for word in words]
        except ValueError:
            continue
        if len(numbers) >= 4 and all(n == i % 16 or n == i for i, n in enumerate(numbers)):
            return True
        if (
            len(numbers) >= 2
            and numbers[0] == 0
            and {b - a for a, b in itertools.pairwise(numbers)} in ({1}, {2}, {4}, {8}, {16})
        ):
            return True
    return False


@dataclass(slots=True)
class Part:
    """One dump within the text: rows whose offsets follow one another."""

    rows: list[Row] = field(default_factory=list)
    stars: set[int] = field(default_factory=set)  # numbers of rows before which a `*` stands
    side: str = ""
    claimed: int = -1
    claimed_at: int = 0
    title: str = ""  # what stands before it, in a text of packets
    head: str = ""  # the line, at its title or before, that may have a packet's time


def _claims(rows: list[Row], others: int, star: bool) -> bool:
    """Whether rows of this shape make the text a dump, sound or not; `star`: repeated rows among them."""
    full = [row for row in rows if row.body]
    if not full:
        # Nothing but blanks: characters in cells (od -c).
        return len(rows) >= 2 and not others and is_zero(rows[0]) and len(rows[0].offset) in (6, 7)
    if others > len(rows):
        return False
    if star and len(rows) > 1 and not others:
        return True
    if len(rows) == 1:
        row = rows[0]
        if row.high or (row.mark == ":" and len(row.offset) >= 8 and row.offset.endswith("0")):
            return True
        if row.zero and row.mark == ":" and len(row.offset) >= 5 and row.body.startswith("0x"):
            return True
        return bool(set(row.offset) == {"0"} and (row.mark or row.gap >= 2 or row.zero or _tight(row)))
    for radix in (16, 8, 10):
        try:
            places = [row.at(radix) for row in rows]
        except ValueError:
            continue
        steps = [b - a for a, b in itertools.pairwise(places)]
        good = sorted(step for step in steps if 0 < step <= 4096)
        if good:
            usual = good[len(good) // 2]
            near = sum(1 for step in good if step <= usual)
            if near * 2 >= len(steps):
                return True
    return False


def _tight(row: Row) -> bool:
    """An offset of zeros, one blank, then words of another width."""
    words = row.body.split()
    return len(words) >= 2 and len(row.offset) != len(words[0]) and len(words[0]) == len(words[1])


def split_parts(source: Source) -> list[Part] | None:
    """The text cut into dumps; None if it is not in rows."""
    lines = source.plain.split("\n")
    rows: list[Row] = []
    others: list[int] = []
    kinds: dict[int, str] = {}
    curl: dict[int, re.Match[str]] = {}
    for index, line in enumerate(lines):
        row = row_of(index, line)
        first = row.body.split(None, 1)[0] if row and row.body else ""
        packet = bool(_PACKET.fullmatch(line))
        if (
            row
            and not packet
            and (not first or (_looks_word(first) or (row.mark == "" and len(row.offset) in (6, 7))))
        ):
            rows.append(row)
        elif not line.strip():
            kinds[index] = "blank"
        elif line.strip() == "*":
            kinds[index] = "star"
        elif OMISSION.fullmatch(line):
            kinds[index] = "cut"
        elif packet:
            kinds[index] = "packet"
        elif match := _CURL.fullmatch(line):
            kinds[index], curl[index] = "curl", match
        elif is_frame(line):
            kinds[index] = "frame"
        elif kinds.get(index - 1) == "packet":
            kinds[index] = "packet"  # tcpdump -v prints more in further lines
        else:
            kinds[index] = "other"
            others.append(index)
    if not rows:
        return None
    if others and others[0] < rows[0].index and all(i < rows[0].index for i in others) and len(others) <= 2:
        label = lines[others[-1]].strip()
        if label.endswith((":", "B", "bytes", "{")) and len(label) < 200:
            kinds.update(dict.fromkeys(others, "label"))
            others = []
    if not _claims(rows, len(others), "star" in kinds.values()):
        return None
    if others:
        row_near = others[0]
        raise source.error_in(
            row_near, 0, "pasted-damaged", "this line does not belong to the dump around it"
        )
    return _parts(source, lines, rows, kinds, curl)


def _looks_word(word: str) -> bool:
    return bool(re.match(r"(?:0[xX])?[0-9A-Fa-f]{2,}(?![G-Zg-z])|[-+]?[0-9]{1,20}(?![0-9A-Za-z])|\|", word))


def _parts(
    source: Source, lines: list[str], rows: list[Row], kinds: dict[int, str], curl: dict[int, re.Match[str]]
) -> list[Part]:
    by_index = {row.index: row for row in rows}
    indents = sorted({row.indent for row in rows})
    two_sided = len(indents) == 2 and indents[1] - indents[0] >= 3
    parts: list[Part] = []
    sides: dict[str, Part] = {}
    part = Part()
    star = False
    pending: tuple[int, int] | None = None
    side = title = head = ""
    for index in range(len(lines)):
        row = by_index.get(index)
        if row is None:
            kind = kinds[index]
            if kind == "cut":
                raise source.error_in(index, 0, "pasted-cut", "the dump leaves rows out here")
            if kind == "star":
                if not part.rows:
                    raise source.error_in(index, 0, "pasted-damaged", "a `*` with no row before it")
                star = True
                continue
            if kind in ("curl", "packet", "label") or (kind == "frame" and "(len=" in lines[index]):
                match = curl.get(index)
                if match:
                    side = match["side"]
                size = match["size"] if match else None
                if not match:
                    found = _CLAIM.search(lines[index])
                    size = (found[1] or found[2]) if found else None
                pending = (int(size), index) if size else None
                if kind == "packet":
                    title = lines[index]
                    head = title if _TIMED.match(title) else head
                if part.rows and kind not in ("label", "frame"):
                    part = Part()
            continue
        if two_sided:
            side = "=>" if row.indent == indents[0] else "<="
            part = sides.get(side, part if not part.rows else Part())
            sides[side] = part
        elif part.rows and row.body and is_zero(row) and not is_zero(part.rows[-1]):
            part = Part()
        if not part.rows:
            part.side, part.title, part.head = side, title, head
            title = ""
            parts.append(part)
            if pending:
                part.claimed, part.claimed_at = pending
                pending = None
        if star:
            part.stars.add(len(part.rows))
            star = False
        part.rows.append(row)
    if star:
        raise source.error_in(
            len(lines) - 1, 0, "pasted-cut", "repeated rows (`*`) with no offset after them"
        )
    return parts


def is_zero(row: Row) -> bool:
    """Whether a row's offset is 0."""
    return not (row.high + row.offset).strip("0")


class PartReader:
    """What the readers of one part share."""

    def __init__(self, source: Source, part: Part) -> None:
        self.source = source
        self.part = part
        self.rows = part.rows

    def error(
        self, row: Row, index: int, text: str, head: bytes = b"", code: str = "pasted-damaged"
    ) -> PastedError:
        """An error at a column of a row, to be raised by the caller."""
        return self.source.error_in(row.index, index, code, text, head)

    def source_offset(self, row: Row) -> int:
        """The position of a row's line in the text."""
        return sum(len(line) + 1 for line in self.source.lines[: row.index])
