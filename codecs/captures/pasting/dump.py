"""One dump in rows: the kind of its words, the radix of its offsets and the byte order that prove its bytes.

Nothing here knows a tool by name. A row is cut into offset and body; the kind of the words (radix and
size) and the radix of the offsets are those under which the offsets agree with the number of words; the
byte order of longer words is the one that agrees with the text column. So the offsets prove the bytes
of each row but the last, and a text column must agree with the bytes next to it.
"""

import re
from typing import Final

from wirelens.codecs.captures.pasting.cells import Cells
from wirelens.codecs.captures.pasting.column import is_blank, text_fits
from wirelens.codecs.captures.pasting.cutting import OMISSION, Part, PartReader, Row
from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.plain import ambiguous
from wirelens.codecs.captures.pasting.source import LIMIT, PastedError, Source
from wirelens.codecs.captures.pasting.words import (
    NUMBERS,
    Kind,
    hex_kind,
    octets_of,
    values_fit,
    words_for,
    words_of,
)

_COMMENT: Final = lazy_pattern(r"\s++(?://|#|;|--|/\*) ")  # after the words of a row


class Dump(PartReader):
    """Reads one part: finds kind, radix and byte order, then the octets."""

    def __init__(self, source: Source, part: Part, forced: str) -> None:
        super().__init__(source, part)
        self.forced = forced
        self.cells = Cells(source, part)
        self.weak = all(not row.mark and not row.zero and row.gap == 1 for row in self.rows)

    def read(self) -> tuple[bytes, str] | None:
        """Octets and form name; None if only the shape of the rows was alike."""
        body_rows = [row for row in self.rows if row.body]
        if not body_rows:
            return self.cells.read()
        for row in self.rows[:-1]:
            if not row.body:
                cells = self.cells.quiet()
                if cells:
                    return cells
                raise self.error(row, row.start, "a row without bytes")
        results = self._choices()
        if not results:
            return self.cells.read()
        best = results[0][0]
        found: list[tuple[bytes, str]] = []
        failure: PastedError | None = None
        for score, kind, radix in results:
            if score < best:
                break
            try:
                data, order = self._decoded(kind, radix)
            except PastedError as error:
                failure = failure or error
                continue
            if all(data != other for other, _ in found):
                found.append((data, kind.name + order))
        if len(found) > 1:
            raise ambiguous(self.source, self.source_offset(self.rows[0]), found[0][1], found[1][1])
        if not found:
            cells = self.cells.quiet()
            if cells:
                return cells
            if failure is None or (self.weak and not self._different_widths()):
                return None
            raise failure
        data, name = found[0]
        cells = self.cells.quiet() if name.startswith(("decimal", "signed", "octal")) else None
        if cells and cells[0] != data:
            raise ambiguous(self.source, self.source_offset(self.rows[0]), name, "characters (od -c)")
        return data, "dump-le" if name.endswith("little-endian") else "dump"

    def _different_widths(self) -> bool:
        first = self.rows[0]
        return len(first.offset) != len((first.body.split() or [""])[0])

    def _choices(self) -> list[tuple[int, Kind, int]]:
        """Kinds and radices that the first rows allow, the best agreeing with the offsets first."""
        sample = [i for i in range(min(len(self.rows) - 1, 48)) if i + 1 not in self.part.stars]
        first = (self.rows[0].body.lstrip("|").split() or [""])[0]
        bare = first[2:] if first[:2] in ("0x", "0X") else first
        kinds: list[Kind] = []
        width = max(len(word.removeprefix("0x")) for word in self._first_words())
        marked = bool(self.rows[0].mark)
        if width % 2 == 0 and (marked or width in (2, 4, 8, 16)) and re.fullmatch("[0-9A-Fa-f]+", bare):
            kinds.append(hex_kind(width))
        kinds += NUMBERS
        results: list[tuple[int, Kind, int]] = []
        for kind in kinds:
            words = [words_of(row.body, kind) for row in self.rows[:48] if row.body]
            # A kind must read the first row at least; a row that it cannot read is damage.
            if not words[0] or not values_fit(kind, words[0]):
                continue
            if not kind.width and any(not row or not values_fit(kind, row) for row in words[:3]):
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

    def _radices(self, kind: Kind) -> tuple[int, ...]:
        """Radices of the offsets that go with this kind, the likelier first."""
        if any(row.zero for row in self.rows):
            return (16,)
        if any(row.mark or len(row.offset) != 7 for row in self.rows):
            return (16, 10)
        # Seven digits are od's octal or decimal, or hexdump's hex, which prints no bytes but octal ones.
        return (8, 10) if kind.size == 1 and kind.name != "octal" else (16, 8, 10)

    def _prints_numbers(self, kind: Kind) -> bool:
        """Whether rows of this look may hold other numbers than hex: those of od, hexdump, gdb; bits."""
        first = self.rows[0]
        if kind.name == "binary digits":
            return first.mark == ":"
        return (
            (not first.mark and len(first.offset) in (6, 7))
            or "\t" in first.body
            or (first.zero and first.mark == ":" and not re.match("[0-9A-Fa-f]{4}", first.body))
        )

    def _in_fields(self, kind: Kind, words: list[list[tuple[str, int, int]]]) -> bool:
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
        found = re.split(r"[ \t-]+", words[0].strip("- ")) if words else (body.split() or [""])[:1]
        size = len(found[0])
        return [word for word in found if len(word) <= size] or found[:1]

    def _row_text(self, row: Row, kind: Kind, words: list[tuple[str, int, int]], size: int) -> bool:
        """Whether `size` octets of this row leave a text column that fits them, in either order."""
        used = words_for(kind, words, size)
        if used is None:
            return False
        rest = row.body[words[used - 1][2] :]
        return any(text_fits(rest, octets_of(kind, words[:used], little)[:size]) for little in (False, True))

    def _decoded(self, kind: Kind, radix: int) -> tuple[bytes, str]:
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
            orders = [True]  # numbers are printed in the machine's own order
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
        data, little, texts = results[0]
        last = rows[-1]
        if last.body and little and kind.size > 1 and not texts and not self.forced and data.endswith(b"\0"):
            if not rows[0].mark and len(words_of(last.body, kind)[-1][0]) == kind.width:
                end = len(self.source.lines[last.index].rstrip()) - 1
                text = "the closing line with the length is missing: the last word may be padded"
                raise self.error(last, end, text, code="pasted-cut")
        return data, ", little-endian" if little and kind.size > 1 else ""

    def _address(self) -> bool:
        """Offsets that are addresses of memory, as debuggers print them."""
        first = self.rows[0]
        return bool(first.high) or any(
            "<" in self.source.lines[row.index][: row.start] for row in self.rows[:1]
        )

    def _order(self, kind: Kind) -> bool | None:
        """Byte order of hex words by the layout alone: True little, False big, None unknown."""
        first, last = self.rows[0], next(row for row in reversed(self.rows) if row.body)
        words = words_of(last.body, kind)
        if words and len(words[-1][0]) < kind.width and first.mark == ":":
            # A short last word stands on the left in byte order, on the right in a number.
            if last is first and len(words) > 1:
                return False
            places = words_of(first.body, kind)
            if last.start + words[-1][1] in [first.start + start for _, start, _ in places]:
                return False
            return True if last.start + words[-1][2] in [first.start + end for _, _, end in places] else None
        if first.body[:2] in ("0x", "0X"):
            return True
        if first.mark:
            return False if kind.size == 2 else None
        if len(first.offset) in (6, 7) or int(first.offset, 16) >= 0x1000:
            return True
        return None

    def _read_rows(self, kind: Kind, places: list[int], little: bool) -> tuple[bytes, bool]:
        """All octets, and whether a text column was there."""
        rows, stars = self.rows, self.part.stars
        out: list[bytes] = []
        total = 0
        fast_end = fast_size = -1
        texts = False
        bare: Row | None = None  # the first row that lacks the text of its bytes
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
                        if (texts or bare is None) and not rest.strip() and not all(map(is_blank, quick)):
                            if texts:
                                raise self.error(row, row.start + fast_end, "the text column is missing here")
                            bare = row
                        out.append(quick)
                        total += len(quick)
                        previous = quick
                        continue
            data, end, had_text = self._row(row, kind, little, size, texts)
            if had_text and bare is not None:
                at = len(self.source.lines[bare.index].rstrip())
                raise self.error(bare, at, "the text column is missing here")
            if bare is None and not had_text and not all(map(is_blank, data)):
                bare = row
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
                f"{self.part.claimed} bytes by this line, but {len(data)} in the dump",
            )
        return data, texts

    def _row(self, row: Row, kind: Kind, little: bool, size: int, texts: bool) -> tuple[bytes, int, bool]:
        """Octets of one row, where its words end in the body, and whether text follows."""
        words = words_of(row.body, kind)
        if kind.signed or not kind.width:
            good = 0
            while good < len(words) and values_fit(kind, words[good : good + 1]):
                good += 1
            words = words[:good]
        end = words[-1][2] if words else 0
        if size >= 0:
            used = words_for(kind, words, size)
            if used is None:
                found = len(octets_of(kind, words, little))
                if found < size:
                    raise self.error(
                        row,
                        row.start + end,
                        f"{found} bytes can be read in this row, but {size} by the dump",
                    )
                raise self.error(row, row.start + end, f"this row has {size} bytes by the offsets")
            data = octets_of(kind, words[:used], little)
            if len(data) > size:
                # Words of a closing odd length are padded.
                padding = data[size:]
                if padding.strip(b"\0"):
                    raise self.error(row, row.start + end, "the last word is longer than the offsets allow")
                data = data[:size]
            end = words[used - 1][2]
            had = self._check(row, end, data, texts)
            return data, end, had
        plain: tuple[bytes, int, bool] | None = None
        for used in range(len(words), 0, -1):
            data = octets_of(kind, words[:used], little)
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
        if plain is not None and (not texts or all(map(is_blank, plain[0]))):
            return plain
        end = words[-1][2] if words else 0
        if words and not texts and _COMMENT.match(row.body, end):
            return octets_of(kind, words, little), end, False
        rest = row.body[end:].lstrip()
        at = len(row.body) - len(rest)
        if OMISSION.match(rest) and not texts:
            raise self.error(row, row.start + at, "the row leaves bytes out here", code="pasted-cut")
        raise self.error(
            row,
            row.start + min(at, max(len(row.body) - 1, 0)),
            "this does not agree with the bytes of the row" if rest else "the text column is missing here",
        )

    def _check(self, row: Row, end: int, data: bytes, texts: bool) -> bool:
        rest = row.body[end:]
        if not rest.strip():
            if texts and not all(map(is_blank, data)):
                raise self.error(row, row.start + end, "the text column is missing here")
            return False
        if rest.strip() == "|":
            return False
        if rest[0] in " \t|>" and text_fits(rest, data):
            return True
        if _COMMENT.match(rest) and not texts:
            return False
        at = end + len(rest) - len(rest.lstrip())
        raise self.error(row, row.start + at, "this does not agree with the bytes of the row")


def _is_number(text: str, radix: int) -> bool:
    try:
        int(text, radix)
    except ValueError:
        return False
    return True


def _show(value: int, row: Row) -> str:
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
