"""Forms without structure: bare numbers in any radix, and the text encodings of octets.

Every reader takes a source and returns the octets (`Pasted`), or None if the text is not of its form at all;
it raises PastedError if the text clearly is and something in it is wrong.
"""

import binascii
import re
import urllib.parse
from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.quick import BLOCK
from wirelens.codecs.captures.pasting.source import Pasted, PastedError, Source

_HEX_PAIRS: Final = lazy_pattern(r"\s*+(?:[0-9A-Fa-f]{2}\s++)*+(?:[0-9A-Fa-f]{2})?")
_HEX_PAIRS_JOINED: Final = lazy_pattern(r"\s*+[0-9A-Fa-f]{2}([:,-])(?:[0-9A-Fa-f]{2}\1)*+[0-9A-Fa-f]{2}\s*+")
_HEX_OR_BLANK: Final = dict.fromkeys(map(ord, "0123456789abcdefABCDEF \t\n\r\v\f"))
_CLOCK: Final = lazy_pattern(r"\s*+[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\s(?!.{0,80}:)")
_LETTER: Final = lazy_pattern("[A-Fa-f]")
_SEPARATORS: Final = lazy_pattern(r"[\s,;:|_.-]+")
_WORD: Final = lazy_pattern(r"[^\s,;:|_]+")
_SIGNED: Final = lazy_pattern(r"[-+]?[0-9]{1,3}")
_ELLIPSIS: Final = lazy_pattern(r"\.\.+|…")
_HEX: Final = lazy_pattern(r"[0-9A-Fa-f]+")
_HEX_LETTERS: Final = dict.fromkeys(map(ord, "0123456789abcdefABCDEF \t\n\r\v\f,;:|_.-"))
# The offset of a dump's row before pairs, or before words of two bytes
_OFFSET_ROW: Final = lazy_pattern(
    r"\s*(?P<offset>[0-9A-Fa-f]{4,8}):?(?P<gap>[ \t]+)[0-9A-Fa-f]{2}(?:[ \t]{1,3}[0-9A-Fa-f]{2})*\s*"
)
_OFFSET_INSIDE: Final = lazy_pattern(
    r"(?<!\S)(?P<offset>[0-9A-Fa-f]{4,8}):?[ \t]++"
    r"(?P<pairs>(?:[0-9A-Fa-f]{2}[ \t]{1,3}){4,}?(?:[0-9A-Fa-f]{2})?[ \t]*)"
    r"(?P<next>[0-9A-Fa-f]{4,8}):?[ \t]{1,4}[0-9A-Fa-f]{2}(?![0-9A-Fa-f])"
)
_LINE_NUMBER: Final = lazy_pattern(r"[ \t]*+[1-9][0-9]*+(\t|  )")
_NO_BLANKS: Final = dict.fromkeys(map(ord, " \t\n\r\v\f"))


def ambiguous(source: Source, offset: int, one: str, other: str, head: bytes = b"") -> PastedError:
    """The error that a text reads in two ways with different bytes, to be raised by the caller."""
    return source.error(
        "pasted-ambiguous", offset, f"this reads both as {one} and as {other}, with different bytes", head
    )


# ---------------------------------------------------------------------------------------------- hex


def quick_hex(text: str) -> bytes | None:
    """Octets of a long run of hex pairs or of equal hex lines; None sends the text the careful way."""
    if text.isascii() and _HEX_PAIRS.fullmatch(text):
        if not _LETTER.search(text):
            return None
        rows = [len(row.translate(_NO_BLANKS)) // 2 for row in text.strip().split("\n")]
        # a list of the pairs would take twenty times the text
        return bytes.fromhex(text) if sum(rows) >= 32 and _even_rows(rows) is None else None
    joined = _HEX_PAIRS_JOINED.fullmatch(text)
    if joined:
        return bytes.fromhex(text.replace(joined[1], " ")) if _LETTER.search(text) else None
    rows = [len(row.strip()) for row in text.strip().split("\n")]
    if len(rows[0:1]) == 1 and rows[0] >= 32 and rows[0] % 2 == 0 and not text.translate(_HEX_OR_BLANK):
        if any(row != rows[0] for row in rows[:-1]) or rows[-1] > rows[0] or rows[-1] % 2:
            return None
        digits = text.translate(_NO_BLANKS)
        # Spaces inside the lines would make the groups a matter for the careful way.
        if len(digits) == sum(rows) and _LETTER.search(digits):
            return bytes.fromhex(digits)
    return None


def _even_rows(rows: list[int]) -> int | None:
    """Index of the one row before the last that is shorter or longer than all the others, else None."""
    if len(rows) < 4:
        return None
    usual = sorted(rows[:-1])[len(rows) // 2]
    odd = [index for index, row in enumerate(rows[:-1]) if row != usual]
    if rows[-1] > usual and not odd:
        return len(rows) - 1
    return odd[0] if len(odd) == 1 else None


def read_hex(source: Source, forced: bool = False) -> Pasted | None:
    """Bare hex digits: in one run, in equal groups, in pairs, with one kind of separator."""
    text = source.plain
    if len(text) > BLOCK and not forced and 5 * len(text.translate(_HEX_LETTERS)) > len(text):
        return None  # before a long text is cut into words
    words = [word for word in _SEPARATORS.split(text) if word]
    if not words:
        return Pasted(b"", "hex") if forced and not text.strip() else None
    if forced:
        words = [word[2:] if word[:2] in ("0x", "0X", "\\x") else word for word in words]
    bad = next((word for word in words if not _HEX.fullmatch(word)), None)
    if bad is not None:
        rest = "".join(word for word in words if word != "*")
        if "*" in words and _HEX.fullmatch(rest) and re.search(r"(?m)^\*$", text):
            raise source.error(
                "pasted-cut", _find(text, "*"), "a `*` row, but no offsets that give its number of rows"
            )
        fits = sum(1 for word in words if len(word) == 2 and _HEX.fullmatch(word))
        digits = sum(1 for word in words if len(word) == 2 and _HEX.fullmatch(word) and not word.isalpha())
        if forced or (len(words) >= 6 and fits * 4 >= len(words) * 3 and digits * 4 >= len(words)):
            cut = _ELLIPSIS.search(text)
            if cut:
                raise source.error("pasted-cut", cut.start(), "the dump leaves bytes out here")
            raise _no_digit(source, _find(text, bad), bad)
        run = "".join(words)
        good = sum(map(len, _HEX.findall(run)))
        if len(run) >= 32 and good * 20 >= len(run) * 19 and _looks_hex(run):
            label = re.match(r"\s*[A-Za-z][\w .-]{0,40}:\s", text)
            at = re.compile(r"[^\s0-9A-Fa-f,;:|_.-]").search(text, label.end() if label else 0)
            raise source.error("pasted-damaged", at.start() if at else 0, "not a hex digit")
        return None
    marks = set(re.sub(r"[0-9A-Fa-f\s]+", "", text))
    digits_only = not _LETTER.search(text)
    lengths = {len(word) for word in words}
    if not forced:
        if len(marks) > 1 or ("." in marks and (lengths != {4} or digits_only)):
            return None
        if marks & {":", "-"} and lengths == {2} and len(words) == 3 and digits_only:
            return None  # a time of day or a short date
        if ":" in marks and all(_CLOCK.match(line) for line in source.lines if line.strip()):
            return None  # a time of day before each line
        if "-" in marks and (len(lengths) > 1 or (digits_only and lengths != {2})):
            return None  # a date, a telephone number, a UUID
        if all(word.isalpha() for word in words) and not _same_case(words):
            return None
    if len(words) == 1:
        return _one_run(source, words[0], forced)
    return _many(source, words, lengths, digits_only, forced)


def _no_digit(source: Source, start: int, word: str) -> PastedError:
    """The error at the byte that has a wrong digit, in a word at `start`; it names the digit's own place."""
    wrong = re.search("[^0-9A-Fa-f]", word)
    at = start + (wrong.start() if wrong else 0)
    line, column = source.place(at)
    text = f"{source.plain[at]!r} at line {line}, column {column} is not a hex digit"
    return source.error("pasted-damaged", at - (at - start) % 2, text)


def _looks_hex(run: str) -> bool:
    cases = {letter.isupper() for letter in run if letter in "abcdefABCDEF"}
    return len(cases) == 1 and any(letter.isdigit() for letter in run)


def _same_case(words: list[str]) -> bool:
    run = "".join(words)
    return run.islower() or run.isupper()


def _find(text: str, word: str) -> int:
    """Offset of the first whole occurrence of `word` among the words of `text`."""
    for match in _WORD.finditer(text):
        if match[0] == word:
            return match.start()
    return max(text.find(word), 0)


def _one_run(source: Source, word: str, forced: bool) -> Pasted | None:
    if not forced and len(word) >= 8 and set(word) == {"A"}:
        raise ambiguous(source, 0, "hex", "base64")
    if not forced and len(word) >= 16 and len(word) % 8 == 0 and set(word) == {"7"}:
        raise ambiguous(source, 0, "hex", "base32")
    if (
        not forced
        and word.isdigit()
        and word[0] != "0"
        and re.fullmatch(r" {1,4}[0-9]{17,20}", source.lines[0])
    ):
        raise ambiguous(source, 0, "hex", "a decimal word of 8 bytes")
    if len(word) % 2 == 0:
        return Pasted(bytes.fromhex(word), "hex")
    if forced or len(word) >= 9 or (len(word) >= 5 and not word.isalpha() and not word.isdigit()):
        raise source.error(
            "pasted-damaged", len(source.text.rstrip()) - 1, f"an odd number of hex digits: {len(word)}"
        )
    return None


def _many(
    source: Source, words: list[str], lengths: set[int], digits_only: bool, forced: bool
) -> Pasted | None:
    text = source.plain
    numbered = _LINE_NUMBER.match(text) if not forced and len(words) == 2 and len(words[1]) >= 16 else None
    if numbered is not None:
        if numbered[1] == "\t":
            return None
        raise ambiguous(source, 0, "hex", "hex after the number of the line")
    rows = [len(_SEPARATORS.sub("", line)) for line in text.split("\n")]
    one_a_line = len(words) == sum(1 for row in rows if row)
    odd = [word for word in words if len(word) % 2]
    if lengths == {1} and not forced and re.search(r"\S   \S", text):
        raise ambiguous(source, 0, "hex", "characters")  # od -c without offsets
    if lengths <= {1, 2} and odd:
        if forced or any(len(word) == 2 and word[0] == "0" for word in words) or len(odd) == 1:
            if not forced and (len(words) < 6 or digits_only or len(odd) * 4 > len(words)):
                return None
            raise source.error(
                "pasted-damaged", _find(text, odd[0]), "a byte of one hex digit among bytes of two"
            )
        if digits_only:
            if len(words) < 4:
                return None
            raise ambiguous(source, 0, "hex", "decimal")
        if len(words) < 6 or sum(1 for word in words if word.isdigit()) * 4 < len(words):
            return None
        firsts = [line.split(None, 1)[0] for line in source.plain.split("\n") if line.strip()]
        if len(firsts) > 1 and all(len(first) == 1 for first in firsts):
            raise ambiguous(source, 0, "hex", "hex after the number of each line")
        if len(odd) == 2 and len(words) >= 8 and re.search(r"(?<!\S)\S\s+\S(?!\S)", text):
            raise ambiguous(source, 0, "bytes of one digit", "a byte with a blank in it")
        if 0 < text.count(":") <= len(odd):
            return None  # numbers of lines
        return Pasted(bytes(int(word, 16) for word in words), "hex")
    if odd:
        evens = len(words) - len(odd)
        if forced or (
            evens >= 2 and len(odd) == 1 and (max(lengths) >= 16 or len(words) >= 6) and not digits_only
        ):
            raise source.error(
                "pasted-damaged", _find(text, odd[0]), f"an odd number of hex digits: {len(odd[0])}"
            )
        return None
    usual = len(words[0])
    uniform = all(len(word) == usual for word in words[:-1]) and len(words[-1]) <= usual
    if one_a_line and not forced and usual >= 16 and len(set("".join(words))) == 1 and words[0][0] in "A7":
        raise ambiguous(source, 0, "hex", "base64" if words[0][0] == "A" else "base32")
    if digits_only and not forced:
        if lengths == {2} and not any(word[0] == "0" for word in words) and not (_marks(text) & {":", "-"}):
            raise ambiguous(source, 0, "hex", "decimal")
        if 17 <= usual <= 20 and not any(word[0] == "0" for word in words):
            raise ambiguous(source, 0, "hex", "decimal words of 8 bytes")
        if not uniform or (2 < usual <= 10 and not any(word[0] == "0" for word in words)):
            return None  # years, ports and other numbers
    if one_a_line and not uniform and len(words) > 2 and usual >= 16:
        row = next(index for index, word in enumerate(words) if len(word) != usual)
        if 2 * sum(1 for word in words if len(word) == usual) <= len(words):
            message = f"{len(words)} lines of hex of different lengths: if each is a payload, paste one"
            raise source.error("pasted-several", _find(text, words[row]), message)
        raise source.error(
            "pasted-damaged",
            _find(text, words[row]),
            f"a line of {len(words[row])} hex digits among lines of {usual}",
        )
    if not forced and 2 in lengths and len(lengths) > 1:
        _refuse_offsets(source)
    if not uniform and not forced:
        plain = _marks(text) == set() and len("".join(words)) >= 8
        if not plain or all(word.isalpha() for word in words):
            return None
    lines = source.lines
    if (
        not forced
        and len(words) > 1
        and usual in (4, 8, 16)
        and all(re.match(r" [0-9a-f]", line) for line in lines)
    ):
        # od without offsets prints its machine's numbers after one blank.
        raise ambiguous(source, 0, "hex", f"little-endian words of {usual // 2} bytes")
    bad = _even_rows([row for row in rows if row])
    if bad is not None and not forced:
        index = [index for index, row in enumerate(rows) if row][bad]
        raise source.error_in(
            index, 0, "pasted-damaged", f"a line of {rows[index] // 2} bytes among lines of another length"
        )
    return Pasted(bytes.fromhex("".join(words)), "hex")


def _refuse_offsets(source: Source) -> None:
    """Raise PastedError for rows of offset and pairs that are no dump: the offsets are no bytes."""
    lines = [(index, line) for index, line in enumerate(source.plain.split("\n")) if line.strip()]
    for index, line in lines:
        joined = _OFFSET_INSIDE.search(line)
        if joined is None:
            continue
        size = len(joined["pairs"].translate(_NO_BLANKS)) // 2
        if int(joined["next"], 16) - int(joined["offset"], 16) == size:
            text = f"an offset ({joined['next']}) among the bytes: a line must end before it"
            raise source.error_in(index, joined.start("next"), "pasted-damaged", text)
    rows = [(index, match) for index, line in lines if (match := _OFFSET_ROW.fullmatch(line))]
    if not rows:
        return
    offsets = [match["offset"] for _, match in rows]
    apart = [match for _, match in rows if len(match["gap"]) > 1]
    alone = any(
        match["offset"][0] == "0" or (int(match["offset"], 16) % 8 == 0 and len(match[0]) >= 24)
        for match in apart
    )
    every = len(rows) == len(lines) and (
        len(apart) > 0 or (len(rows) > 1 and any(o[0] == "0" for o in offsets))
    )
    if len(set(map(len, offsets))) == 1 and (alone or every):
        text = f"a row with an offset ({offsets[0]}), which the bytes around do not agree with"
        raise source.error_in(rows[0][0], 0, "pasted-damaged", text)


def _marks(text: str) -> set[str]:
    return set(re.sub(r"[0-9A-Za-z\s]+", "", text))


# ------------------------------------------------------------------------------- other bare numbers


_FIRST_NUMBER: Final = lazy_pattern(r"[\s,;]*[-+]?[0-9]{1,3}(?:[\s,;]|$)")


def read_decimal(source: Source, forced: bool = False) -> Pasted | None:
    """Decimal octets, signed or not, one of them at least with three digits or a sign."""
    text = source.plain
    if not forced and not _FIRST_NUMBER.match(text):
        return None
    words = [word for word in re.split(r"[\s,;]+", text) if word]
    if not words or (len(words) < 4 and not forced):
        return None
    numbers = [word for word in words if _SIGNED.fullmatch(word)]
    if len(numbers) != len(words):
        if forced:
            bad = next(word for word in words if not _SIGNED.fullmatch(word))
            raise source.error("pasted-damaged", _find(text, bad), "not a decimal byte")
        return None
    if not forced and not any(len(word) > 2 for word in words):
        return None  # hex fits as well; its reader reports it
    values = [int(word) for word in words]
    bad_value = _out_of_range(values)
    if bad_value is not None:
        inside = sum(1 for value in values if -128 <= value <= 255)
        if forced or (len(values) >= 12 and inside * 10 >= len(values) * 9):
            raise source.error(
                "pasted-damaged",
                _find(text, words[bad_value]),
                "this number is not a byte, unlike the others",
            )
        return None
    padded = any(len(word) > 1 and word[0] == "0" for word in words)
    if padded and not forced and all(re.fullmatch("[0-3][0-7]{2}", word) for word in words):
        raise ambiguous(source, 0, "decimal", "octal")
    return Pasted(bytes(value & 255 for value in values), "decimal")


def _out_of_range(values: list[int]) -> int | None:
    """Index of the first number that is not an octet; signed and unsigned do not mix."""
    signed = any(value < 0 for value in values)
    low, high = (-128, 127) if signed else (0, 255)
    if min(values) >= low and max(values) <= high:
        return None
    return next(index for index, value in enumerate(values) if not low <= value <= high)


# Digits of an octal number: its octets, and its pattern
_OCTAL: Final = {
    3: (1, lazy_pattern("[0-3][0-7]{2}")),
    6: (2, lazy_pattern("[01][0-7]{5}")),
    11: (4, lazy_pattern("[0-3][0-7]{10}")),
    22: (8, lazy_pattern("[01][0-7]{21}")),
}


def read_octal(source: Source, forced: bool = False) -> Pasted | None:
    """Octal without offsets (`od -An`): octets of three digits, or little-endian words of more."""
    words = source.plain.split(None, 1)
    size, look = _OCTAL.get(len(words[0]) if words else 0, (0, None))
    if not forced and (look is None or not look.fullmatch(words[0])):
        return None  # before a long text is cut into words
    words = source.plain.split()
    if look is None or not all(look.fullmatch(word) for word in words):
        if forced:
            bad = next((word for word in words if look is None or not look.fullmatch(word)), "")
            raise source.error("pasted-damaged", source.plain.find(bad), "not an octal byte or word")
        return None
    if size == 1:
        if not forced and (len(words) < 3 or not any(int(word) > 255 for word in words)):
            return None
        return Pasted(bytes(int(word, 8) for word in words), "octal")
    if not forced:
        if len(words) < 3 and not (size == 8 and len(words) == 2):
            if size == 2 or not source.lines[0].startswith(" "):
                return None
            raise ambiguous(source, 0, "hex", f"octal words of {size} bytes")
        if sum(1 for word in words if word.strip("0")) < (3 if size == 2 else 1):
            raise ambiguous(source, 0, "hex", f"octal words of {size} bytes")
        if int(words[-1], 8) >> 8 * (size - 1) == 0:
            raise source.error(
                "pasted-cut", source.plain.rfind(words[-1]), "without a length the last word may be padded"
            )
    return Pasted(b"".join(int(word, 8).to_bytes(size, "little") for word in words), "octal")


_FIRST_BITS: Final = lazy_pattern(r"[\s,_|]*(?:0b)?[01]{8}")


def read_bits(source: Source, forced: bool = False) -> Pasted | None:
    """Octets written as eight binary digits each."""
    text = source.plain
    if not forced and not _FIRST_BITS.match(text):
        return None  # before a long text is cut into words
    words = [word for word in re.split(r"[\s,_|]+", text) if word]
    if not words or not all(re.fullmatch("(?:0b)?[01]{8}", word) for word in words):
        if forced and words:
            bad = next(word for word in words if not re.fullmatch("(?:0b)?[01]{8}", word))
            raise source.error("pasted-damaged", _find(text, bad), "not a byte of eight binary digits")
        return None
    prefixed = any(word.startswith("0b") for word in words)
    if not forced and not prefixed and (len(words) < 2 or text.count("1") < 8):
        if len(words) < 2:
            return None
        raise ambiguous(source, 0, "hex", "binary digits")
    return Pasted(bytes(int(word.removeprefix("0b"), 2) for word in words), "bits")


_PREFIXED: Final = lazy_pattern(
    r"(?:0[xX](?P<x>[0-9A-Fa-f]+)|&[hH](?P<vb>[0-9A-Fa-f]{1,2})|\$(?P<d>[0-9A-Fa-f]{2})"
    r"|(?P<h>0?[0-9A-Fa-f]{1,2})[hH]|16#(?P<e>[0-9A-Fa-f]{1,2})#?|(?P<p>[0-9A-Fa-f]{2})(?=0[xX]))"
)
_PREFIX_LETTERS: Final = dict.fromkeys(map(ord, "xX \t\n\r\v\f,;|"))
_DIRECTIVE: Final = lazy_pattern(r"(?m)^[ \t]*(?:\.byte|db|DB|\.db|dc\.b|DCB|defb|fcb)(?=[ \t])")


def read_prefixed(source: Source, forced: bool = False) -> Pasted | None:
    """Numbers marked as hex: `0x` (each, or once before a run), `..h`, `$..`."""
    text = _DIRECTIVE.sub(lambda match: " " * len(match[0]), source.plain)
    body = text.strip()
    if body[:2] in ("0x", "0X") and _HEX.fullmatch(body[2:]):
        digits = body[2:]
        if len(digits) % 2 and (len(digits) > 1 or not forced):
            if len(digits) < 5 and not forced:
                return None
            raise source.error(
                "pasted-damaged", len(text.rstrip()) - 1, f"an odd number of hex digits: {len(digits)}"
            )
        if len(digits) == 2 and not forced:
            return Pasted(bytes.fromhex(digits), "hex-list")
        return Pasted(bytes.fromhex(digits.zfill(2)), "hex")
    if re.fullmatch(r"(?:0[xX][0-9A-Fa-f]{2}[\s,;|]*+)++", text.strip()):
        digits = text.translate(_PREFIX_LETTERS)  # 0da0bb
        pairs = bytearray(len(digits) // 3 * 2)
        pairs[0::2] = digits[1::3].encode()
        pairs[1::2] = digits[2::3].encode()
        return Pasted(bytes.fromhex(pairs.decode()), "hex-list")
    if len(text) > BLOCK and not forced:
        first = [word for word in re.split(r"[\s,;|]+", text[:1024]) if word]
        if not any(_PREFIXED.fullmatch(word) for word in first):
            return None  # before a long text is cut into words
    words = [word for word in re.split(r"[\s,;|]+", text) if word]
    if not words:
        return None
    matches = [_PREFIXED.fullmatch(word) for word in words]
    good = [match for match in matches if match]
    if len(good) < len(words):
        enough = len(words) >= 4 and len(good) * 4 >= len(words) * 3
        enough = enough or (len(good) == len(words) - 1 >= 2 and bool(_ELLIPSIS.fullmatch(words[-1])))
        if forced or enough:
            bad = words[matches.index(None)]
            at = _find(text, bad)
            if _ELLIPSIS.fullmatch(bad):
                raise source.error("pasted-cut", at, "the list leaves bytes out here")
            raise source.error("pasted-damaged", at, "not a hex number like the others")
        return None
    kinds = {match.lastgroup for match in good}
    digits_of = [str(match[match.lastgroup or 0]) for match in good]
    if len(kinds) > 1 or (len(words) < 2 and not forced):
        return None
    if kinds <= {"h"} and (len(words) < 2 or any(int(d, 16) > 255 for d in digits_of)):
        return None
    widest = max(map(len, digits_of))
    if widest <= 2 or kinds == {"h"}:
        return Pasted(bytes(int(digits, 16) for digits in digits_of), "hex-list")
    return words_of(source, digits_of, _find(text, words[0]))


def words_of(source: Source, digits: list[str], offset: int) -> Pasted | None:
    """Hex numbers of several octets each: their byte order is not in the text."""
    width = len(digits[0])
    if width not in (4, 8, 16) or any(len(word) != width for word in digits):
        bad = next((word for word in digits if len(word) % 2), None)
        if bad is not None and len(digits) >= 4:
            raise source.error("pasted-damaged", offset, f"a hex number of {len(bad)} digits among others")
        return None
    big = b"".join(bytes.fromhex(word) for word in digits)
    little = b"".join(bytes.fromhex(word)[::-1] for word in digits)
    if big != little:
        raise ambiguous(source, offset, f"big-endian words of {width // 2} bytes", "little-endian ones")
    return Pasted(big, "hex-list")


# ---------------------------------------------------------------------------------- text encodings

_B64: Final = lazy_pattern(r"[A-Za-z0-9+/_-]+={0,2}")
_B32: Final = lazy_pattern(r"[A-Z2-7]+={0,6}")
_PEM: Final = lazy_pattern(r"-----BEGIN ([A-Z0-9 ]+)-----\n(.*?)-----END \1-----", re.S)
_DATA_URL: Final = lazy_pattern(r"data:[\w.+/-]*(?:;[\w=.+-]+)*;base64,", re.I)


def base64_bytes(text: str) -> bytes | None:
    """Octets of base64 in either alphabet, padded or not; None if it is not well-formed throughout."""
    run = "".join(text.split())
    if not _B64.fullmatch(run):
        return None
    if "-" in run or "_" in run:
        if "+" in run or "/" in run:
            return None
        run = run.replace("-", "+").replace("_", "/")
    bare = run.rstrip("=")
    if len(bare) % 4 == 1 or ("=" in run and len(run) % 4):
        return None
    padding = "=" * (-len(bare) % 4)
    data = binascii.a2b_base64(bare + padding)
    # The bits after the last octet are zero in what an encoder wrote.
    last = binascii.b2a_base64(data[len(data) - (len(data) % 3 or 3) :], newline=False).decode()
    return data if last == (bare + padding)[-4:] else None


def strong_base64(run: str) -> bool:
    """Whether a text of base64 letters cannot well be words, a path or an identifier."""
    bare = run.rstrip("=")
    kinds = (
        any("A" <= c <= "Z" for c in bare)
        + any("a" <= c <= "z" for c in bare)
        + any(c.isdigit() or c in "+/-_" for c in bare)
    )
    padded = "=" in run
    if len(bare) < (6 if padded else 12) or kinds < 2 or (kinds < 3 and not padded and len(bare) < 48):
        return False
    if _HEX.fullmatch(bare) or re.fullmatch("[0-9]+", bare):
        return False
    bare = bare[:BLOCK]  # which decide as well as all
    runs = re.findall("[a-z]+", bare)
    # Letters of base64 change case all the time: a lower-case run is 1.7 letters long on average.
    letters = sum(map(len, runs))
    return letters * 3 < len(bare) or (
        letters < 3 * len(runs) and (len(bare) > 2048 or max(map(len, runs)) < 14)
    )


def read_base64(source: Source, forced: bool = False) -> Pasted | None:
    """Base64: standard or URL-safe, padded or not, in one line or wrapped, PEM, `data:` URL."""
    text = source.plain.strip()
    pem = _PEM.fullmatch(text)
    url = None if pem else _DATA_URL.match(text)
    if pem:
        body = re.sub(r"(?m)^[\w-]+: .*$", "", pem[2])
    elif url:
        body = urllib.parse.unquote(text[url.end() :])
    else:
        body = text
    marked = bool(pem or url) or forced
    lines = body.split()
    if not lines or (not marked and any(" " in line.strip() for line in body.split("\n"))):
        return Pasted(b"", "base64") if marked and not lines else None
    run = "".join(lines)
    wrapped = len(lines) > 1
    if (
        wrapped
        and not marked
        and (len(lines[0]) < 16 or any(len(line) != len(lines[0]) for line in lines[:-2]))
    ):
        return None
    if not marked and not strong_base64(run):
        return None
    if not marked and _B32.fullmatch(run) and sum(1 for c in run if c not in "A=") >= 12:
        return None
    if wrapped and (any(len(line) != len(lines[0]) for line in lines[:-1]) or len(lines[-1]) > len(lines[0])):
        odd = next(i for i, line in enumerate(lines) if len(line) != len(lines[0]))
        raise source.error("pasted-damaged", source.plain.find(lines[odd]), "a base64 line of another length")
    data = base64_bytes(run)
    if data is None:
        bad = re.search(r"[^A-Za-z0-9+/_=\s-]", body)
        if "=" in run.rstrip("=") and not marked:
            return None
        if marked or wrapped or (run.endswith("=") and len(run) >= 16 and not bad):
            at = source.plain.find(body) + (bad.start() if bad else max(len(body.rstrip()) - 1, 0))
            raise source.error("pasted-damaged", max(at, 0), "the base64 is not whole here")
        return None
    return Pasted(data, "base64")


def read_base32(source: Source, forced: bool = False) -> Pasted | None:
    """Base32 with its padding (RFC 4648), in one line or wrapped."""
    run = "".join(source.plain.split())
    bare = run.rstrip("=")
    sound = bool(_B32.fullmatch(run)) and len(run) % 8 == 0 and len(run) - len(bare) in (0, 1, 3, 4, 6)
    if not forced:
        lines = source.plain.strip().split("\n")
        if not sound or any(" " in line.strip() for line in lines):
            return None
        evidence = sum(1 for c in bare if c != "A")
        digits = any(c.isdigit() for c in bare)
        if len(run) - len(bare) < 3 and (evidence < 12 or not digits):
            return None
        if len(bare) < 8:
            return None
    if not sound:
        bad = re.search(r"[^A-Z2-7=\s]", source.plain)
        at = bad.start() if bad else max(len(source.plain.rstrip()) - 1, 0)
        raise source.error("pasted-damaged", at, "the base32 is not whole here")
    import base64 as codec

    data = codec.b32decode(run)
    if codec.b32encode(data).decode() != run:
        raise source.error(
            "pasted-damaged", len(source.plain.rstrip()) - 1, "bits are left over in the base32"
        )
    return Pasted(data, "base32")


_PERCENT: Final = lazy_pattern(r"(?:[A-Za-z0-9._~*!'()-]++|%[0-9A-Fa-f]{2})++")
_QUOTED: Final = lazy_pattern(r"(?:[!-<>-~]++|=[0-9A-F]{2}|=\n)++")


def read_percent(source: Source, forced: bool = False) -> Pasted | None:
    """URL percent-encoding of the whole text; `+` would be two things, so it is not taken."""
    text = source.plain.strip()
    escapes = text.count("%")
    if not _PERCENT.fullmatch(text) or (escapes < 3 and not forced):
        almost = re.fullmatch(r"[A-Za-z0-9._~*!'()%-]+", text) and escapes >= 4
        if forced or (almost and len(re.findall("%[0-9A-Fa-f]{2}", text)) * 4 >= escapes * 3):
            bad = re.search(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~*!'()%-]", source.plain)
            raise source.error(
                "pasted-damaged", bad.start() if bad else 0, "this does not fit percent-encoding"
            )
        return None
    parts: list[bytes] = []  # at once it would take many times the text
    start = 0
    while start < len(text):
        end = start + BLOCK
        if end < len(text):  # not within an escape
            end -= 1 if text[end - 1] == "%" else 2 if text[end - 2] == "%" else 0
        parts.append(urllib.parse.unquote_to_bytes(text[start:end]))
        start = end
    return Pasted(b"".join(parts), "percent")


def read_quoted_printable(source: Source, forced: bool = False) -> Pasted | None:
    """Quoted-printable without spaces, as mail and some logs write octets."""
    text = source.plain.strip()
    escapes = len(re.findall("=[0-9A-F]{2}", text))
    if not (forced and not text) and (not _QUOTED.fullmatch(text) or (escapes < 4 and not forced)):
        if forced:
            bad = re.search(r"=(?![0-9A-F]{2}|\n)|[^\n!-~]", source.plain)
            raise source.error(
                "pasted-damaged", bad.start() if bad else 0, "this does not fit quoted-printable"
            )
        return None
    return Pasted(binascii.a2b_qp(text), "quoted-printable")


def read_uuencode(source: Source, forced: bool = False) -> Pasted | None:
    """uuencode, from `begin MODE NAME` to `end`."""
    lines = source.lines
    if not lines or not re.fullmatch(r"begin [0-7]{3,4} \S.*", lines[0].rstrip()):
        if forced:
            raise source.error("pasted-damaged", 0, "no `begin MODE NAME` line")
        return None
    if lines[-1].strip() != "end":
        raise source.error_in(len(lines) - 1, 0, "pasted-cut", "uuencoded text without its `end` line")
    data = bytearray()
    sizes: list[int] = []
    for row, line in enumerate(lines[1:-1], 1):
        if not line.strip("` "):
            sizes.append(0)
            continue
        size = (ord(line[0]) - 32) & 63
        need = (size + 2) // 3 * 4
        try:
            # The octets that the line has room for must be those that it claims.
            if len(line.rstrip()) - 1 > need + 1 or len(line) - 1 < need:
                raise binascii.Error
            data += binascii.a2b_uu(line)
        except (binascii.Error, ValueError):
            raise source.error_in(row, 0, "pasted-damaged", "not a whole uuencoded line") from None
        if sizes and sizes[-1] < 45:
            raise source.error_in(row, 0, "pasted-damaged", "a full uuencoded line after a short one")
        sizes.append(size)
    return Pasted(bytes(data), "uuencode")
