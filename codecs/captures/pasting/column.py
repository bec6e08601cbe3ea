"""The text column of a dump: whether a text shows the bytes next to it; dumps that nothing else proves."""

import re
from collections.abc import Callable
from typing import Final

from wirelens.codecs.captures.pasting.patterns import lazy_pattern
from wirelens.codecs.captures.pasting.source import Pasted, Source
from wirelens.codecs.captures.pasting.words import Kind, hex_kind, octets_of, words_of

_DOTS: Final = bytes(c if 0x20 <= c < 0x7F else 0x2E for c in range(256))
_PAIR: Final = lazy_pattern(r"[0-9A-Fa-f]{2}(?![^\s-])")


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
        if aligned(option, data, zero):
            return True
        for cut in {8, len(data) // 2} - {0}:
            # Where blanks in front are gone, the gap between the halves is nearer.
            for place in range(cut, cut - min(lead, 8) - 1, -1):
                if option[place : place + 1] in (" ", "|", "-") and aligned(
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


def aligned(text: str, data: bytes, zero: bool = False) -> bool:
    """Whether a text can be the column of characters next to some bytes."""
    if len(text) > len(data):
        text = text.rstrip()
        if len(text) > len(data):
            text = text.lstrip()
    if text != text.strip() and aligned(text.strip(), data, zero):
        return True
    size, room = len(text), len(data)
    if size > room:
        return False
    # Ends that are missing were blanks: spaces, or any filler of a writer who fills with blanks.
    gone = is_blank if "." not in text else _space
    for lead in range(room - size + 1):
        if all(map(_shows, text, data[lead : lead + size], [zero] * size)) and all(
            map(gone, data[:lead] + data[lead + size :])
        ):
            return True
        if lead >= 64 or lead == room or not gone(data[lead]):
            return False
    return False


def is_blank(byte: int) -> bool:
    """Whether a dump shows a byte as a placeholder: it is not a visible ASCII character."""
    return not 0x21 <= byte < 0x7F


def _space(byte: int) -> bool:
    return byte == 0x20


def _shows(char: str, byte: int, zero: bool) -> bool:
    if 0x21 <= byte < 0x7F:
        return char == chr(byte)
    if byte == 0x20:
        return char in " ._\u00b7\u2423"
    return char in " .?_" or not char.isascii() or (zero and char == "0" and not byte)


def fits_loosely(text: str, data: bytes) -> bool:
    """The printable bytes in their order, fillers left out or collapsed."""
    shown = [char for char in text if not char.isspace() and char != "." and char.isascii()]
    return shown == [chr(byte) for byte in data if not is_blank(byte) and byte != 0x2E] and len(shown) > 1


def read_text_column(source: Source, forced: bool = False) -> Pasted | None:
    """Hex pairs without offsets, each line followed by its bytes as text."""
    lines = [(index, line) for index, line in enumerate(source.plain.split("\n")) if line.strip()]
    if not lines or (len(lines) > 1 and not _PAIR.match(lines[0][1].strip())):
        return None
    kind = hex_kind(2)
    strict = _columns(lines, kind, text_fits)
    result = strict or _columns(
        lines, kind, lambda text, data: text_fits(text, data) or fits_loosely(text, data)
    )
    if result is None:
        if forced:
            raise source.error("pasted-damaged", 0, "no hex pairs followed by the same bytes as text")
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
    lines: list[tuple[int, str]], kind: Kind, fits: Callable[[str, bytes], bool]
) -> list[bytes] | None:
    found: list[bytes] = []
    shown = framed = 0
    for _, line in lines:
        body = line.strip()
        words = words_of(body, kind, 257)
        if len(words) > 256:
            return None  # no tool prints lines so long
        for used in range(len(words), 0, -1):
            rest = body[words[used - 1][2] :]
            data = octets_of(kind, words[:used], False)
            blank = not rest.strip()
            if not blank and rest[0] in " \t|" and fits(rest, data):
                shown += 1
                framed += (rest.strip()[0], rest.strip()[-1]) in (("|", "|"), (">", "<"))
                found.append(data)
                break
            if blank and all(map(is_blank, data)) and used == len(words):
                found.append(data)
                break
        else:
            return None
    enough = any(any(not is_blank(byte) for byte in data) for data in found)
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
    if len(shown) < 4 or len(shown) > len(data) or not aligned(shown, data[: len(shown)]):
        return None
    return Pasted(data, "text-column") if any(not is_blank(b) for b in data[: len(shown)]) else None
