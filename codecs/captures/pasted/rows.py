"""Dumps in rows: an offset, words in some radix, perhaps the same bytes as text.

Nothing here knows a tool by name. A row is cut into offset and body; the kind of the words (radix and
size) and the radix of the offsets are those under which the offsets agree with the number of words; the
byte order of longer words is the one that agrees with the text column. So the offsets prove the bytes
of each row but the last, and where a text column stands it must agree with the bytes beside it.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from .plain import ambiguous
from .source import LIMIT, Pasted, PastedError, Source

_ROW: Final = re.compile(
    r"""(?P<indent>[ \t]*)(?:\|[ \t]*)?
    (?P<zero>0[xX])?(?:(?P<high>[0-9A-Fa-f]{4,8})(?P<join>[:`]))?(?P<offset>[0-9A-Fa-f]{1,16})h?
    (?:[ \t]?<[^<>\n]{1,200}>)?
    (?P<gap>[ \t]?(?P<mark>:|\||(?:-+>|=>|[->)])(?=[ \t]))?[ \t]*)
    (?P<body>.*)""",
    re.X,
)
_BORDER: Final = re.compile(r"[\s+|=_\u2500-\u257f-]*")
_TITLE: Final = re.compile(
    r"(?i)offset\s*\(?[hd]?\)?|address|bytes|ascii|decoded text|text|hex\w*|0123456789abcdef"
)
_PACKET: Final = re.compile(
    r"(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d+ .*"
    r"|(?:Frame|Packet|Reassembled|Decrypted|Uncompressed|De-chunked|Entire|Segment)\b.*:"
    r"|\s*\d+ +\d+\.\d+ +\S+ +(?:→|->) .*"
)
_CURL: Final = re.compile(
    r"(?P<side>=>|<=|==) (?:Send|Recv|Info)\b.*?(?:, (?P<size>\d+) bytes \(0x[0-9a-f]+\))?"
)
_LABEL: Final = re.compile(r"[^\n]{0,200}?(?:(?P<size>\d+) ?(?:B|bytes)\)?)?:?")
_WORD: Final = re.compile(r"[^\s|]+")
_ELLIPSIS: Final = re.compile(r"\s*(?:\.{2,}|…+)\s*")
_DOTS: Final = bytes(c if 0x20 <= c < 0x7F else 0x2E for c in range(256))


# --------------------------------------------------------------------------------- the text column


def text_fits(text: str, data: bytes) -> bool:
    """Whether `text` shows `data`: printable bytes as themselves, others as any filler.

    Spaces at either end may be missing, bars or angle brackets may stand around, and one blank or bar
    may part the halves.
    """
    bare = text.strip()
    dots = data.translate(_DOTS).decode("ascii")
    if bare == dots or bare[1:-1] == dots:
        return True
    options = [bare]
    if len(bare) >= 2 and (bare[0], bare[-1]) in (("|", "|"), (">", "<"), ('"', '"'), ("'", "'"), ("[", "]")):
        options.insert(0, bare[1:-1])
    if bare.startswith("|"):
        options.append(bare[1:])
    if bare.endswith("|"):
        options.append(bare[:-1])
    zero = False
    if "|" in bare:
        zero = bare.startswith("|")  # a framed table may show NUL as a zero
        cells = text.rstrip().rstrip("|").split("|")
        options += [
            "".join(cells[i:]) for i in range(1, min(len(cells), 5)) if not "".join(cells[:i]).strip()
        ]
        options += _cells_of(text.rstrip(), len(data))
    lead = len(data) - len(data.lstrip(b" "))
    for option in options:
        if _aligned(option, data, zero):
            return True
        for cut in {8, len(data) // 2} - {0}:
            # Where blanks in front are gone, the gap between the halves is nearer.
            for place in range(cut, cut - min(lead, 8) - 1, -1):
                if option[place : place + 1] in (" ", "|", "-") and _aligned(
                    option[:place] + option[place + 1 :], data, zero
                ):
                    return True
    return False


def _cells_of(text: str, size: int) -> list[str]:
    """The last cell of a framed row, or its last two taken together, `size` characters of it."""
    found = []
    for width in (8, 16, 32):
        cell, pair = text[-width - 1 : -1], text[-width - 2 : -1]
        if text[: -width - 3].strip(" |"):
            continue
        if text[-width - 2 : -width - 1] == "|":
            found.append(cell)
        if text[-width - 3 : -width - 2] == "|" and pair[width // 2 : width // 2 + 1] == "|":
            found.append(pair[: width // 2] + pair[width // 2 + 1 :])
    return [cell[:size] for cell in found if text.endswith("|") and not cell[size:].strip()]


def _aligned(text: str, data: bytes, zero: bool = False) -> bool:
    if len(text) > len(data):
        text = text.rstrip()
        if len(text) > len(data):
            text = text.lstrip()
    if text != text.strip() and _aligned(text.strip(), data, zero):
        return True
    size, room = len(text), len(data)
    if size > room:
        return False
    # Ends that are missing were blanks: spaces, or any filler of a writer who fills with blanks.
    gone = _blank if "." not in text else _space
    for lead in range(room - size + 1):
        if all(map(_shows, text, data[lead : lead + size], [zero] * size)) and all(
            map(gone, data[:lead] + data[lead + size :])
        ):
            return True
        if lead >= 64 or lead == room or not gone(data[lead]):
            return False
    return False


def _blank(byte: int) -> bool:
    return not 0x21 <= byte < 0x7F


def _space(byte: int) -> bool:
    return byte == 0x20


def _shows(char: str, byte: int, zero: bool) -> bool:
    if 0x21 <= byte < 0x7F:
        return char == chr(byte)
    if byte == 0x20:
        return char in " ._\u00b7\u2423"
    return char in " .?_" or not char.isascii() or (zero and char == "0" and not byte)


def _loose(text: str, data: bytes) -> bool:
    """The printable bytes in their order, fillers left out or collapsed."""
    shown = [char for char in text if not char.isspace() and char != "." and char.isascii()]
    return shown == [chr(byte) for byte in data if not _blank(byte) and byte != 0x2E] and len(shown) > 1


# ----------------------------------------------------------------------------------------- words


@dataclass(frozen=True, slots=True)
class _Kind:
    """How words are written: the octets of one, and its value."""

    name: str
    size: int
    word: re.Pattern[str]
    value: Callable[[str], int]
    signed: bool = False
    width: int = 0  # of a hex word in digits; 0 for other radices
    fields: tuple[int, ...] = ()  # columns that a number takes, in the tools that print such numbers


def _hex_kind(width: int) -> _Kind:
    size = width // 2
    # A last word may be shorter; a 0x may stand before each.
    word = re.compile(
        rf"(?:0[xX])?[0-9A-Fa-f]{{2,{width}}}(?![0-9A-Za-z])"
        if size > 1
        else r"(?:0[xX])?[0-9A-Fa-f]{2}(?![0-9A-Za-z])"
    )
    return _Kind(
        f"hex words of {size} bytes" if size > 1 else "hex", size, word, lambda s: int(s, 16), False, width
    )


def _number_kind(
    name: str, size: int, word: str, radix: int, fields: tuple[int, ...], signed: bool = False
) -> _Kind:
    return _Kind(
        name, size, re.compile(word + r"(?![0-9A-Za-z])"), lambda s: int(s, radix), signed, 0, fields
    )


_PLAIN: Final = "(?:0(?![0-9])|[1-9][0-9]"  # decimal numbers come without zeros in front
_OTHERS: Final = [
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
_NAMED: Final = {
    **{
        name: value
        for value, name in enumerate(
            [
                "nul",
                "soh",
                "stx",
                "etx",
                "eot",
                "enq",
                "ack",
                "bel",
                "bs",
                "ht",
                "nl",
                "vt",
                "ff",
                "cr",
                "so",
                "si",
                "dle",
                "dc1",
                "dc2",
                "dc3",
                "dc4",
                "nak",
                "syn",
                "etb",
                "can",
                "em",
                "sub",
                "esc",
                "fs",
                "gs",
                "rs",
                "us",
                "sp",
            ]
        )
    },
    "del": 127,
}
_CELL_ESCAPES: Final = {"0": 0, "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "\\": 92}
_SEPARATOR: Final = re.compile(r"[ \t]*(?:[:|,][ \t]*)?")


@dataclass(slots=True)
class _Row:
    index: int
    offset: str
    high: str
    mark: str
    zero: bool
    gap: int
    body: str
    start: int
    indent: int
    size: int = -1  # octets, where the offsets prove them
    words: list[tuple[str, int, int]] = field(default_factory=list)

    def at(self, radix: int) -> int:
        return int(self.high + self.offset, radix)


def _words(body: str, kind: _Kind, most: int = 1 << 30) -> list[tuple[str, int, int]]:
    """The words that `body` begins with, each with its start and end."""
    words: list[tuple[str, int, int]] = []
    position, short = 0, False
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
            digits = digits[2:] if digits[:2] in ("0x", "0X") and kind.width != len(digits) else digits
            if len(digits) % 2:
                break
            short = len(digits) < kind.width
            if wide and start - position + len(digits) != kind.width + 1:
                break
        words.append((digits, start, match.end()))
        position = match.end()
    return words


def _value_ok(kind: _Kind, words: list[tuple[str, int, int]]) -> bool:
    if kind.width:
        return True
    top = 1 << 8 * kind.size
    low, high = (-(top >> 1), (top >> 1) - 1) if kind.signed else (0, top - 1)
    return all(low <= kind.value(word) <= high for word, _, _ in words)


def _octets(kind: _Kind, words: list[tuple[str, int, int]], little: bool) -> bytes:
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


# ------------------------------------------------------------------------------- cutting into rows


def _row_of(index: int, line: str) -> _Row | None:
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
    return _Row(
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


def _header(line: str) -> bool:
    """A line that numbers the columns: 0 1 2 ... f."""
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
            and len({b - a for a, b in itertools.pairwise(numbers)}) == 1
        ):
            return True
    return False


@dataclass(slots=True)
class _Part:
    """One dump within the text: rows whose offsets follow one another."""

    rows: list[_Row] = field(default_factory=list)
    stars: set[int] = field(default_factory=set)  # numbers of rows before which a `*` stands
    side: str = ""
    claimed: int = -1
    claimed_at: int = 0


def _claims(rows: list[_Row], others: int, star: bool) -> bool:
    """Whether rows of this shape make the text a dump, sound or not; `star`: repeated rows among them."""
    full = [row for row in rows if row.body]
    if not full:
        # Nothing but blanks: characters in cells (od -c).
        return len(rows) >= 2 and not others and _zero(rows[0]) and len(rows[0].offset) in (6, 7)
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


def _tight(row: _Row) -> bool:
    """An offset of zeros, one blank, then words of another width."""
    words = row.body.split()
    return len(words) >= 2 and len(row.offset) != len(words[0]) and len(words[0]) == len(words[1])


def _split(source: Source) -> list[_Part] | None:
    """The text cut into dumps; None if it is no text in rows."""
    lines = source.plain.split("\n")
    rows: list[_Row] = []
    others: list[int] = []
    kinds: dict[int, str] = {}
    curl: dict[int, re.Match[str]] = {}
    for index, line in enumerate(lines):
        row = _row_of(index, line)
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
        elif _ELLIPSIS.fullmatch(line):
            kinds[index] = "cut"
        elif packet:
            kinds[index] = "packet"
        elif match := _CURL.fullmatch(line):
            kinds[index], curl[index] = "curl", match
        elif _BORDER.fullmatch(line) or _header(line):
            kinds[index] = "frame"
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
    source: Source, lines: list[str], rows: list[_Row], kinds: dict[int, str], curl: dict[int, re.Match[str]]
) -> list[_Part]:
    by_index = {row.index: row for row in rows}
    indents = sorted({row.indent for row in rows})
    two_sided = len(indents) == 2 and indents[1] - indents[0] >= 3
    parts: list[_Part] = []
    sides: dict[str, _Part] = {}
    part = _Part()
    star = False
    pending: tuple[int, int] | None = None
    side = ""
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
            if kind in ("curl", "packet", "label"):
                match = curl.get(index)
                if match:
                    side = match["side"]
                size = match["size"] if match else None
                if not match:
                    found = re.search(r"(\d+) ?(?:B|bytes)\b\W*$", lines[index])
                    size = found[1] if found else None
                pending = (int(size), index) if size else None
                if part.rows and kind != "label":
                    part = _Part()
            continue
        if two_sided:
            side = "=>" if row.indent == indents[0] else "<="
            part = sides.get(side, part if not part.rows else _Part())
            sides[side] = part
        elif part.rows and row.body and _zero(row) and not _zero(part.rows[-1]):
            part = _Part()
        if not part.rows:
            part.side = side
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


def _zero(row: _Row) -> bool:
    return not (row.high + row.offset).strip("0")


# ---------------------------------------------------------------------------------------- one dump


class _Dump:
    """Reads one part: finds kind, radix and byte order, then the octets."""

    def __init__(self, source: Source, part: _Part, forced: str) -> None:
        self.source = source
        self.part = part
        self.forced = forced
        self.rows = part.rows
        self.weak = all(not row.mark and not row.zero and row.gap == 1 for row in self.rows)

    def error(
        self, row: _Row, index: int, text: str, head: bytes = b"", code: str = "pasted-damaged"
    ) -> PastedError:
        return self.source.error_in(row.index, index, code, text, head)

    def read(self) -> tuple[bytes, str] | None:
        """Octets and form name; None if only the shape of the rows was alike."""
        body_rows = [row for row in self.rows if row.body]
        if not body_rows:
            return self._cells_or_none()
        for row in self.rows[:-1]:
            if not row.body:
                cells = self._cells_quiet()
                if cells:
                    return cells
                raise self.error(row, row.start, "a row without bytes")
        results = self._choices()
        if not results:
            return self._cells_or_none()
        best = results[0][0]
        found: list[tuple[bytes, str]] = []
        failure: PastedError | None = None
        for score, kind, radix in results:
            if score < best:
                break
            try:
                data, order = self._octets(kind, radix)
            except PastedError as error:
                failure = failure or error
                continue
            if all(data != other for other, _ in found):
                found.append((data, kind.name + order))
        if len(found) > 1:
            raise ambiguous(self.source, self.source_offset(self.rows[0]), found[0][1], found[1][1])
        if not found:
            cells = self._cells_quiet()
            if cells:
                return cells
            if failure is None or (self.weak and not self._different_widths()):
                return None
            raise failure
        data, name = found[0]
        cells = self._cells_quiet() if name.startswith(("decimal", "signed", "octal")) else None
        if cells and cells[0] != data:
            raise ambiguous(self.source, self.source_offset(self.rows[0]), name, "characters (od -c)")
        return data, "dump-le" if name.endswith("little-endian") else "dump"

    def source_offset(self, row: _Row) -> int:
        return sum(len(line) + 1 for line in self.source.lines[: row.index])

    def _different_widths(self) -> bool:
        first = self.rows[0]
        return len(first.offset) != len(first.body.split()[0])

    def _choices(self) -> list[tuple[int, _Kind, int]]:
        """Kinds and radices that the first rows allow, the best agreeing with the offsets first."""
        sample = [i for i in range(min(len(self.rows) - 1, 48)) if i + 1 not in self.part.stars]
        first = self.rows[0].body.lstrip("|").split()[0]
        bare = first[2:] if first[:2] in ("0x", "0X") else first
        kinds: list[_Kind] = []
        width = max(len(word.removeprefix("0x")) for word in self._first_words())
        marked = bool(self.rows[0].mark)
        if width % 2 == 0 and (marked or width in (2, 4, 8, 16)) and re.fullmatch("[0-9A-Fa-f]+", bare):
            kinds.append(_hex_kind(width))
        kinds += _OTHERS
        results: list[tuple[int, _Kind, int]] = []
        for kind in kinds:
            words = [_words(row.body, kind) for row in self.rows[:48] if row.body]
            # A kind must read the first row at least; a row that it cannot read is damage.
            if not words[0] or not _value_ok(kind, words[0]):
                continue
            if not kind.width and any(not row or not _value_ok(kind, row) for row in words[:3]):
                continue
            if not kind.width and not self._prints_numbers(kind):
                continue
            if not self._in_fields(kind, words):
                continue
            for radix in self._radices(kind):
                try:
                    places = [row.at(radix) for row in self.rows[:49]]
                except ValueError:
                    continue
                score = 0
                for i in sample:
                    step = places[i + 1] - places[i]
                    room = (
                        sum(len(word) for word, _, _ in words[i]) // 2
                        if kind.width
                        else len(words[i]) * kind.size
                    )
                    last = i + 2 == len(self.rows) and not self.rows[-1].body
                    if (
                        room == step
                        or (last and room - kind.size < step <= room)
                        or (room > step > 0 and self._row_text(self.rows[i], kind, words[i], step))
                    ):
                        score += 3
                results.append((score, kind, radix))
        results.sort(key=lambda result: -result[0])
        if results and results[0][0] == 0 and len(self.rows) > 1 and results[0][1].width:
            results = [result for result in results if result[1] is results[0][1]]
        if results and results[0][0] == 0 and len(self.rows) == 1:
            hexes = [r for r in results if r[1].width]
            others = [r for r in results if not r[1].width and not self._hexish()]
            results = [*hexes[:1], *others]
        return results

    def _radices(self, kind: _Kind) -> tuple[int, ...]:
        """Radices of the offsets that go with this kind, the likelier first."""
        if any(row.mark or row.zero or len(row.offset) != 7 for row in self.rows):
            return (16, 10)
        # Seven digits are od's octal or decimal, or hexdump's hex, which prints no bytes but octal ones.
        return (8, 10) if kind.size == 1 and kind.name != "octal" else (16, 8, 10)

    def _prints_numbers(self, kind: _Kind) -> bool:
        """Whether rows of this look may hold other numbers than hex: those of od, hexdump, gdb; bits."""
        first = self.rows[0]
        if kind.name == "binary digits":
            return first.mark == ":"
        return (
            (not first.mark and len(first.offset) in (6, 7))
            or "\t" in first.body
            or (first.zero and first.mark == ":" and not re.match("[0-9A-Fa-f]{4}", first.body))
        )

    def _in_fields(self, kind: _Kind, words: list[list[tuple[str, int, int]]]) -> bool:
        """Whether the numbers end at equal distances, each in the field that its kind needs."""
        full = [row for row in self.rows[:48] if row.body]
        if "\t" in full[0].body or full[0].zero:
            return True
        fields = kind.fields
        if kind.width:
            if full[0].mark or len(full[0].offset) not in (6, 7):
                return True
            full, words = full[:1], words[:1]
            fields = (kind.width + 1, 8) if kind.width == 4 else (kind.width + 1,)
            start = full[0].gap - len(full[0].mark)
            if len(words[0]) > 2 and words[0][1][1] - words[0][0][2] == 1 and start == 1:
                return True  # the second half may stand apart
        for field_size in fields:
            for row, found in zip(full, words, strict=True):
                lead = row.gap - len(row.mark)
                if any(lead + end != field_size * (i + 1) for i, (_, _, end) in enumerate(found)):
                    break
            else:
                return True
        return False

    def _hexish(self) -> bool:
        """Words that only hex writes: letters, or equal width with zeros in front."""
        words = self._first_words()
        return any(c in "abcdefABCDEF" for word in words for c in word.removeprefix("0x")) or (
            all(len(word) == 2 for word in words)
            and (any(word[0] == "0" for word in words) or bool(self.rows[0].mark))
        )

    def _first_words(self) -> list[str]:
        body = self.rows[0].body.lstrip("| ")
        words = re.match(r"(?:(?:0x)?[0-9A-Fa-f]+(?:[ \t]{1,3}|-|$))+", body)
        found = re.split(r"[ \t-]+", words[0].strip("- ")) if words else [body.split()[0]]
        size = len(found[0])
        return [word for word in found if len(word) <= size] or found[:1]

    def _row_text(self, row: _Row, kind: _Kind, words: list[tuple[str, int, int]], size: int) -> bool:
        """Whether `size` octets of this row leave a text column that fits them, in either order."""
        used = _take(kind, words, size)
        if used is None:
            return False
        rest = row.body[words[used - 1][2] :]
        return any(text_fits(rest, _octets(kind, words[:used], little)[:size]) for little in (False, True))

    def _octets(self, kind: _Kind, radix: int) -> tuple[bytes, str]:
        """The octets under one kind and radix, and the name of the byte order where it matters."""
        rows = self.rows
        try:
            places = [row.at(radix) for row in rows]
        except ValueError:
            bad = next(row for row in rows if not _is_number(row.high + row.offset, radix))
            raise self.error(bad, 0, "an offset unlike the others") from None
        if places[0] and places[0] < 0x1000 and not self.forced and not self._address():
            raise self.error(
                rows[0],
                0,
                f"the dump begins at offset {rows[0].offset}: the rows before it are missing",
                code="pasted-cut",
            )
        orders = [False] if kind.size == 1 else [False, True]
        if kind.size > 1 and not kind.width:
            orders = [True]  # whoever prints numbers prints the machine's own
        if kind.size in (2, 4, 8) and kind.width and self.forced in ("dump-le", "dump"):
            orders = [self.forced == "dump-le"]
        elif kind.size not in (2, 4, 8):
            orders = [False]
        results: list[tuple[bytes, bool, bool]] = []
        failure: PastedError | None = None
        for little in orders:
            try:
                data, texts = self._read_rows(kind, places, little)
            except PastedError as error:
                if failure is None or (error.line, error.column) > (failure.line, failure.column):
                    failure = error
                continue
            results.append((data, little, texts))
        if not results:
            assert failure is not None
            raise failure
        if len(results) == 2 and results[0][2] != results[1][2]:
            results = [result for result in results if result[2]]  # a text column that agrees decides
        if len(results) == 2 and results[0][0] != results[1][0]:
            order = self._order(kind)
            if order is None:
                raise ambiguous(
                    self.source, self.source_offset(rows[0]), "big-endian words", "little-endian words"
                )
            results = [results[int(order)]]
        data, little, _ = results[0]
        return data, ", little-endian" if little and kind.size > 1 else ""

    def _address(self) -> bool:
        """Offsets that are addresses of memory, as debuggers print them."""
        first = self.rows[0]
        return bool(first.high) or any(
            "<" in self.source.lines[row.index][: row.start] for row in self.rows[:1]
        )

    def _order(self, kind: _Kind) -> bool | None:
        """Byte order of hex words by the layout alone: True little, False big, None unknown."""
        first, last = self.rows[0], next(row for row in reversed(self.rows) if row.body)
        words = _words(last.body, kind)
        if words and len(words[-1][0]) < kind.width and first.mark == ":":
            # A short last word stands on the left in byte order, on the right in a number.
            start = last.start + words[-1][1]
            columns = [first.start + word[1] for word in _words(first.body, kind)]
            return not (start in columns or (last is first and len(words) > 1))
        if first.body[:2] in ("0x", "0X"):
            return True
        if first.mark:
            return False if kind.size == 2 else None
        if len(first.offset) in (6, 7) or int(first.offset, 16) >= 0x1000:
            return True
        return None

    def _read_rows(self, kind: _Kind, places: list[int], little: bool) -> tuple[bytes, bool]:
        """All octets, and whether a text column was there."""
        rows, stars = self.rows, self.part.stars
        out: list[bytes] = []
        total = 0
        fast_end = fast_size = -1
        texts = False
        usual = 0
        previous = b""
        for number, row in enumerate(rows):
            expected = places[0] + total
            if number in stars:
                gap = places[number] - expected
                if gap <= 0 or not previous or gap % len(previous):
                    raise self.error(row, 0, "the offset after `*` does not fit rows like the one before it")
                if total + gap > LIMIT:
                    raise self.error(
                        row, 0, f"the repeated rows stand for more than {LIMIT} bytes", code="pasted-limit"
                    )
                out.append(previous * (gap // len(previous)))
                total += gap
            elif places[number] != expected:
                head = b"".join(out)
                raise self.error(
                    row, 0, f"offset {row.offset} where the bytes before it make {_show(expected, row)}", head
                )
            if not row.body:
                break
            size = -1
            if number + 1 < len(rows) and number + 1 not in stars:
                size = places[number + 1] - places[number]
            elif number + 1 in stars:
                size = usual or -1
            elif self.part.claimed - total > 0 and kind.size == 1:
                size = self.part.claimed - total
            if size == fast_size and fast_end > 0 and kind.size == 1 and kind.width:
                quick = _quick(row.body, fast_end, size)
                if quick is not None:
                    rest = row.body[fast_end:]
                    if not rest or rest.isspace() or text_fits(rest, quick):
                        if texts and not rest.strip() and not all(map(_blank, quick)):
                            raise self.error(row, row.start + fast_end, "the text column is missing here")
                        out.append(quick)
                        total += len(quick)
                        previous = quick
                        continue
            data, end, had_text = self._row(row, kind, little, size, texts)
            texts = texts or had_text
            if number + 1 < len(rows) and rows[number + 1].body and kind.size == 1:
                fast_end, fast_size = end, len(data)
            usual = usual or len(data)
            out.append(data)
            total += len(data)
            previous = data
        data = b"".join(out)
        if self.part.claimed >= 0 and self.part.claimed != len(data) and kind.size == 1:
            raise self.source.error_in(
                self.part.claimed_at,
                0,
                "pasted-damaged",
                f"this line says {self.part.claimed} bytes and the dump holds {len(data)}",
            )
        if (
            rows[-1].body
            and little
            and kind.size > 1
            and not texts
            and not self.forced
            and data.endswith(b"\0")
        ):
            last = rows[-1]
            words = _words(last.body, kind)
            if not rows[0].mark and len(words[-1][0]) == kind.width:
                raise self.error(
                    last,
                    len(self.source.lines[last.index].rstrip()) - 1,
                    "the closing line with the length is missing: the last word may be padded",
                    code="pasted-cut",
                )
        return data, texts

    def _row(self, row: _Row, kind: _Kind, little: bool, size: int, texts: bool) -> tuple[bytes, int, bool]:
        """Octets of one row, where its words end in the body, and whether text follows."""
        words = _words(row.body, kind)
        if kind.signed or not kind.width:
            good = 0
            while good < len(words) and _value_ok(kind, words[good : good + 1]):
                good += 1
            words = words[:good]
        end = words[-1][2] if words else 0
        if size >= 0:
            used = _take(kind, words, size)
            if used is None:
                found = len(_octets(kind, words, little))
                if found < size:
                    raise self.error(
                        row,
                        row.start + end,
                        f"{found} bytes can be read in this row where the dump says {size}",
                    )
                raise self.error(row, row.start + end, f"the offsets say {size} bytes for this row")
            data = _octets(kind, words[:used], little)
            if len(data) > size:
                # Words of a closing odd length are padded.
                padding = data[size:]
                if padding.strip(b"\0"):
                    raise self.error(row, row.start + end, "the last word is longer than the offsets say")
                data = data[:size]
            end = words[used - 1][2]
            had = self._check(row, end, data, texts)
            return data, end, had
        plain: tuple[bytes, int, bool] | None = None
        for used in range(len(words), 0, -1):
            data = _octets(kind, words[:used], little)
            end = words[used - 1][2]
            rest = row.body[end:]
            if not rest.strip():
                plain = (data, end, False)
                if not texts:
                    continue
            apart = re.match(r"[|>]|  |\t| [|>]", rest)
            if (
                rest.strip()
                and (apart or ((texts or used >= 8) and rest[0] == " "))
                and text_fits(rest, data)
            ):
                return data, end, True
        if plain is not None and (not texts or all(map(_blank, plain[0]))):
            return plain
        end = words[-1][2] if words else 0
        rest = row.body[end:].lstrip()
        at = len(row.body) - len(rest)
        if _ELLIPSIS.match(rest) and not texts:
            raise self.error(row, row.start + at, "the row leaves bytes out here", code="pasted-cut")
        raise self.error(
            row,
            row.start + min(at, max(len(row.body) - 1, 0)),
            "this does not agree with the bytes of the row" if rest else "the text column is missing here",
        )

    def _check(self, row: _Row, end: int, data: bytes, texts: bool) -> bool:
        rest = row.body[end:]
        if not rest.strip():
            if texts and not all(map(_blank, data)):
                raise self.error(row, row.start + end, "the text column is missing here")
            return False
        if rest.strip() == "|":
            return False
        if rest[0] in " \t|>" and text_fits(rest, data):
            return True
        if re.match(r"\s+(?://|#|;)", rest) and not texts:
            return False
        at = end + len(rest) - len(rest.lstrip())
        raise self.error(row, row.start + at, "this does not agree with the bytes of the row")

    # Characters in cells (od -c, hexdump -c, od -a), whose width is fixed.

    def _cells_quiet(self) -> tuple[bytes, str] | None:
        if self._names():
            return None
        try:
            return self._cells_or_none()
        except PastedError:
            return None

    def _cells_or_none(self) -> tuple[bytes, str] | None:
        rows = self.rows
        lines = self.source.lines
        if any(row.mark or row.zero for row in rows) or len(rows) < 2:
            return None
        heads = [len(lines[row.index]) - len(lines[row.index].lstrip()) + len(row.offset) for row in rows]
        if self._names():
            raise self.error(
                rows[0], 0, "named characters (od -a) leave the top bit of each byte out", code="pasted-cut"
            )
        # Blanks at the ends of the lines are bytes here; only where none fits are they taken for lost.
        for exact in (True, False):
            found = {data for radix in (8, 16, 10) if (data := self._cells(radix, heads, exact)) is not None}
            if len(found) > 1:
                raise ambiguous(
                    self.source, self.source_offset(rows[0]), "characters at octal offsets", "others"
                )
            if found:
                return found.pop(), "dump"
        if self._look_like_cells():
            return self._cell_error()
        return None

    def _cells(self, radix: int, heads: list[int], exact: bool) -> bytes | None:
        """Octets of rows of cells whose offsets are of this radix; None if they do not fit."""
        rows, stars = self.rows, self.part.stars
        try:
            places = [row.at(radix) for row in rows]
        except ValueError:
            return None
        out: list[bytes] = []
        total = 0
        previous = b""
        for number, row in enumerate(rows):
            gap = places[number] - places[0] - total
            if number in stars:
                if gap <= 0 or not previous or gap % len(previous):
                    return None
                if total + gap > LIMIT:
                    raise self.error(
                        row, 0, f"the repeated rows stand for more than {LIMIT} bytes", code="pasted-limit"
                    )
                out.append(previous * (gap // len(previous)))
                total += gap
            elif gap:
                return None
            if number == len(rows) - 1 and not row.body:
                break
            size = -1
            if number + 1 in stars:
                size = len(previous) or 16
            elif number + 1 < len(rows):
                size = places[number + 1] - places[number]
            if size > 256:
                return None
            cells = _cell_bytes(self.source.lines[row.index][heads[number] :], size, exact)
            if cells is None:
                return None
            out.append(cells)
            total += len(cells)
            previous = cells
        return b"".join(out)

    def _names(self) -> bool:
        cells = [cell for row in self.rows for cell in row.body.split()]
        named = [cell for cell in cells if cell in _NAMED]
        return len(named) > 0 and all(cell in _NAMED or len(cell) == 1 for cell in cells)

    def _look_like_cells(self) -> bool:
        """Whether most rows have cells of one character or an escape, the mark of od -c."""
        good = 0
        for row in self.rows:
            cells = row.body.split()
            good += bool(cells) and all(re.fullmatch(r"[0-3][0-7]{2}|\\.|\S", cell) for cell in cells)
        return good * 2 >= len(self.rows) and good >= 1

    def _cell_error(self) -> tuple[bytes, str]:
        lines = self.source.lines
        for radix in (8, 16):
            for number, row in enumerate(self.rows[:-1]):
                try:
                    size = self.rows[number + 1].at(radix) - row.at(radix)
                except ValueError:
                    break
                head = lines[row.index].find(row.offset) + len(row.offset)
                if (
                    number + 1 not in self.part.stars
                    and 0 <= size <= 256
                    and _cell_bytes(lines[row.index][head:], size, False) is None
                ):
                    if number == 0 and radix == 8 and size != 16:
                        break
                    raise self.error(
                        row, head, f"the characters of this row are not the {size} bytes of the offsets"
                    )
        raise self.error(self.rows[0], 0, "the offsets and the characters do not agree")


def _is_number(text: str, radix: int) -> bool:
    try:
        int(text, radix)
    except ValueError:
        return False
    return True


def _show(value: int, row: _Row) -> str:
    return f"{value:0{len(row.offset)}x} (hex)"


def _quick(body: str, end: int, size: int) -> bytes | None:
    """Octets of a row laid out exactly like the one before it."""
    if body[end : end + 1] not in ("", " ", "|", "\t"):
        return None
    try:
        data = bytes.fromhex(body[:end])
    except ValueError:
        return None
    return data if len(data) == size else None


def _take(kind: _Kind, words: list[tuple[str, int, int]], size: int) -> int | None:
    """How many of `words` make `size` octets; None if no number of them does."""
    total = 0
    for used, (word, _, _) in enumerate(words, 1):
        total += len(word) // 2 if kind.width else kind.size
        if total >= size:
            return used if total - size < kind.size else None
    return None


def _cell_bytes(text: str, size: int, exact: bool) -> bytes | None:
    """Octets of a row of cells four characters wide; size -1 for an unknown number of them."""
    out = bytearray()
    count = size if size >= 0 else -(-len(text.rstrip()) // 4)
    if text[4 * count :].strip() or (exact and len(text) < 4 * count):
        return None
    for position in range(0, 4 * count, 4):
        cell = text[position : position + 4]
        bare = cell.strip()
        if not bare:
            out.append(0x20)
        elif len(cell) < 4 or cell[0] not in " \t":
            return None
        elif len(bare) == 1 and cell[3:] == bare and bare.isascii():
            out.append(ord(bare))
        elif len(bare) == 2 and bare[0] == "\\" and bare[1] in _CELL_ESCAPES and cell[2:] == bare:
            out.append(_CELL_ESCAPES[bare[1]])
        elif re.fullmatch("[0-3][0-7]{2}", bare):
            out.append(int(bare, 8))
        else:
            return None
    return bytes(out)


# ------------------------------------------------------------------------------------ the readers


def read_rows(source: Source, forced: str = "") -> Pasted | None:
    """A dump in rows with offsets. `forced`: "dump", "dump-le" (words little-endian), "client", "server"."""
    parts = _split(source)
    if parts is None:
        return None
    if not parts:
        return None
    if forced in ("client", "server"):
        side = "=>" if forced == "client" else "<="
        parts = [part for part in parts if part.side == side]
        if not parts:
            raise source.error("pasted-mismatch", 0, f"the text has no rows of the {forced}'s side")
    sides = {part.side for part in parts}
    if len(sides) > 1:
        other = next(part for part in parts if part.side != parts[0].side)
        raise source.error_in(
            other.rows[0].index,
            0,
            "pasted-several",
            "the text holds both directions of a conversation: choose the form `client` or `server`",
        )
    if len(parts) > 1 and not parts[0].side:
        raise source.error_in(
            parts[1].rows[0].index, 0, "pasted-several", f"the text holds {len(parts)} packets: paste one"
        )
    data = bytearray()
    form = "dump"
    for part in parts:
        result = _Dump(source, part, forced).read()
        if result is None:
            return None
        data += result[0]
        form = result[1] if form == "dump" else form
    return Pasted(bytes(data), forced or form)


_PAIR: Final = re.compile(r"[0-9A-Fa-f]{2}(?![^\s-])")


def read_text_column(source: Source, forced: bool = False) -> Pasted | None:
    """Hex pairs without offsets, each line with its bytes as text behind them."""
    lines = [(index, line) for index, line in enumerate(source.plain.split("\n")) if line.strip()]
    if not lines or (len(lines) > 1 and not _PAIR.match(lines[0][1].strip())):
        return None
    kind = _hex_kind(2)
    strict = _columns(lines, kind, text_fits)
    result = strict or _columns(lines, kind, lambda text, data: text_fits(text, data) or _loose(text, data))
    if result is None:
        if forced:
            raise source.error("pasted-damaged", 0, "no hex pairs with the same bytes as text behind them")
        return None
    sizes = [len(data) for data in result]
    usual = max(sizes)
    for (index, _), size in list(zip(lines, sizes, strict=True))[:-1]:
        if size != usual:
            raise source.error_in(
                index, 0, "pasted-damaged", f"{size} bytes in this line where others have {usual}"
            )
    return Pasted(b"".join(result), "text-column")


def _columns(
    lines: list[tuple[int, str]], kind: _Kind, fits: Callable[[str, bytes], bool]
) -> list[bytes] | None:
    found: list[bytes] = []
    shown = framed = 0
    for _, line in lines:
        body = line.strip()
        words = _words(body, kind, 257)
        if len(words) > 256:
            return None  # no tool prints lines so long
        for used in range(len(words), 0, -1):
            rest = body[words[used - 1][2] :]
            data = _octets(kind, words[:used], False)
            blank = not rest.strip()
            if not blank and rest[0] in " \t|" and fits(rest, data):
                shown += 1
                framed += (rest.strip()[0], rest.strip()[-1]) in (("|", "|"), (">", "<"))
                found.append(data)
                break
            if blank and all(map(_blank, data)) and used == len(words):
                found.append(data)
                break
        else:
            return None
    enough = any(any(not _blank(byte) for byte in data) for data in found)
    if framed == len(lines):
        return found
    return found if shown and enough and (shown > 1 or len(found[0]) >= 4) else None


def read_block_and_text(source: Source) -> Pasted | None:
    """Lines of hex digits, then the same bytes once more as text (perhaps only the first of them)."""
    lines = [(index, line.strip()) for index, line in enumerate(source.plain.split("\n")) if line.strip()]
    count = 0
    while count < len(lines) and re.fullmatch(r"[0-9A-Fa-f]+", lines[count][1]):
        count += 1
    if not 0 < count < len(lines) or len(lines[0][1]) < 8:
        return None
    width = len(lines[0][1])
    for index, line in lines[:count]:
        if len(line) % 2 or (len(line) != width and index != lines[count - 1][0]):
            return None
    data = bytes.fromhex("".join(line for _, line in lines[:count]))
    shown = "".join(line for _, line in lines[count:])
    if len(shown) < 4 or len(shown) > len(data) or not _aligned(shown, data[: len(shown)]):
        return None
    return Pasted(data, "text-column") if any(not _blank(b) for b in data[: len(shown)]) else None


def iter_forms() -> Iterator[tuple[str, str]]:
    """Names of the forms of this module, each with one line of help."""
    yield "dump", "rows of offset and words, as xxd, hexdump, od, tcpdump, Wireshark and debuggers print"
    yield "dump-le", "the same, words being little-endian numbers"
    yield "client", "a dump of both directions: the side without indent, or sent"
    yield "server", "a dump of both directions: the indented side, or received"
    yield "text-column", "hex without offsets, the same bytes as text beside or behind it"
