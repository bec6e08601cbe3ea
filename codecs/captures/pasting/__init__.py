"""Pasted text to bytes, by recognising the form of the text.

A text is of a form only if the whole of it fits. If it clearly is of a form but damaged, cut, or open to
two readings with different bytes, `PastedError` gives the place; if none fits, the text itself is the bytes
(`raw`). The readers are tried from the most specific form to the least:

1. a dump in rows: its offsets, and its text column, prove the bytes;
2. what a tool or language prints around bytes: buffers, shell commands, JSON, YAML, arrays, strings;
3. bare numbers: prefixed hex, bits, octal, decimal, hex;
4. text encodings: base32, base64, percent, quoted-printable, uuencode.

Rules where two of them touch: an even number of hex digits is hex, never base64. Two-digit numbers
without a letter, a leading zero or a colon between are refused, being hex as well as decimal. Base64
without padding needs 12 letters of three classes (or 48) that do not look like words. Words of more
than one byte in an unknown byte order are refused.
"""

from collections.abc import Callable
from typing import Final

from wirelens.codecs.captures.pasting.arrays import read_array, read_inspected
from wirelens.codecs.captures.pasting.column import read_block_and_text, read_text_column
from wirelens.codecs.captures.pasting.escapes import read_bare_escapes
from wirelens.codecs.captures.pasting.exports import read_export, refuse_listing
from wirelens.codecs.captures.pasting.labels import read_json, read_labelled, read_yaml
from wirelens.codecs.captures.pasting.plain import (
    ambiguous,
    quick_hex,
    read_base32,
    read_base64,
    read_bits,
    read_decimal,
    read_hex,
    read_octal,
    read_percent,
    read_prefixed,
    read_quoted_printable,
    read_uuencode,
)
from wirelens.codecs.captures.pasting.quick import BLOCK, quick
from wirelens.codecs.captures.pasting.rows import PACKETS, iter_forms, read_rows
from wirelens.codecs.captures.pasting.source import (
    MOST_BLOCKS,
    Pasted,
    PastedError,
    Source,
    source_of,
    text_of,
)
from wirelens.codecs.captures.pasting.strings import read_shell, read_strings
from wirelens.codecs.captures.pasting.surroundings import (
    frame_around,
    groups_in_prose,
    hint,
    iter_unprefixed,
    taken,
    uncommented,
)

__all__ = ["FORMS", "PACKETS", "Pasted", "PastedError", "pasted"]

# The forms that `form` in `pasted` may name, besides `auto`, each with one line of help
FORMS: Final[dict[str, str]] = {
    "raw": "the bytes themselves",
    "hex": "bare hex digits, in one run, groups, lines or pairs; 0x or \\x once at the start",
    "hex-list": "0xda, 0xbb: every byte marked as hex; also DAh and $DA",
    "bits": "11011010 10111011: eight binary digits a byte",
    "octal": "332 273, or words of two bytes as od -An prints",
    "decimal": "218 187, or signed: -38 -69",
    **dict(iter_forms()),
    "array": "arrays of C, Go, Java, Rust, C#, Python, JavaScript, Erlang, JSON; signed bytes too",
    "buffer": "<Buffer da bb> of Node.js, NSData",
    "escapes": '"\\xda\\xbb" string literals of any language, or their inside without quotes',
    "escapes-octal": "the same, \\332 being octal",
    "escapes-decimal": "the same, \\218 being decimal (Lua)",
    "escapes-latin1": "the same, \\u00da being the byte da",
    "escapes-utf8": "the same, \\u00da being a character in UTF-8",
    "shell": "echo -ne '...' and printf '...'",
    "strace": "a call as strace prints it",
    "json": "a JSON object with one field of bytes",
    "yaml": "YAML with a !!binary value",
    "base64": "base64 in either alphabet, PEM, data: URL",
    "base32": "base32",
    "percent": "%DA%BB: URL encoding",
    "quoted-printable": "=DA=BB: as in mail",
    "uuencode": "begin 644 NAME ... end",
}

LEAST: Final = 8  # bytes that are enough to be taken out of other text
MOST_GROUPS: Final = 16  # runs of bytes in prose that are tried
MOST_SHORT: Final = 1 << 18  # lines, if they are shorter than this:
SHORT: Final = 12  # characters, on average, for each line takes some hundred bytes
TOO_SHORT: Final = f"more than {MOST_SHORT:,} lines of less than {SHORT} characters on average"

_Reader = Callable[[Source], Pasted | None]

_READERS: Final[tuple[_Reader, ...]] = (
    read_uuencode,
    read_export,
    read_rows,
    refuse_listing,
    read_yaml,
    read_inspected,
    read_shell,
    read_json,
    read_array,
    read_strings,
    read_bare_escapes,
    read_bits,
    read_octal,
    read_prefixed,
    read_text_column,
    read_block_and_text,
    read_labelled,
    read_decimal,
    read_hex,
    read_base32,
    read_base64,
    read_percent,
    read_quoted_printable,
)


def _escapes(source: Source, style: str) -> Pasted | None:
    found = read_strings(source, style, forced=True)
    return found or read_bare_escapes(source, style, forced=True)


_FORCED: Final[dict[str, _Reader]] = {
    "hex": lambda source: read_hex(source, forced=True),
    "hex-list": lambda source: read_prefixed(source, forced=True),
    "bits": lambda source: read_bits(source, forced=True),
    "octal": lambda source: read_octal(source, forced=True),
    "decimal": lambda source: read_decimal(source, forced=True),
    "dump": lambda source: read_rows(source, "dump"),
    "dump-le": lambda source: read_rows(source, "dump-le"),
    PACKETS: lambda source: read_export(source) or read_rows(source, PACKETS),
    "client": lambda source: read_rows(source, "client"),
    "server": lambda source: read_rows(source, "server"),
    "text-column": lambda source: read_text_column(source) or read_block_and_text(source),
    "array": lambda source: read_array(source, forced=True),
    "buffer": read_inspected,
    "escapes": lambda source: _escapes(source, ""),
    "escapes-octal": lambda source: _escapes(source, "octal"),
    "escapes-decimal": lambda source: _escapes(source, "decimal"),
    "escapes-latin1": lambda source: _escapes(source, "latin1"),
    "escapes-utf8": lambda source: _escapes(source, "utf8"),
    "shell": lambda source: read_shell(source, forced=True),
    "strace": lambda source: read_strings(source),
    "json": read_json,
    "yaml": read_yaml,
    "base64": lambda source: read_base64(source, forced=True),
    "base32": lambda source: read_base32(source, forced=True),
    "percent": lambda source: read_percent(source, forced=True),
    "quoted-printable": lambda source: read_quoted_printable(source, forced=True),
    "uuencode": lambda source: read_uuencode(source, forced=True),
}


def _raw(data: bytes | str) -> Pasted:
    octets = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    return Pasted(octets, "raw")


def pasted(data: bytes | str, form: str = "auto") -> Pasted:
    """The octets that a pasted text stands for.

    `data` is the text, or its octets in UTF-8 or with a byte-order mark; `form` one of `FORMS`, or
    `auto` to recognise it. Raises PastedError if the text is damaged, cut or ambiguous, or not of the
    form that was asked for; ValueError for a form that does not exist.
    """
    if form != "auto" and form not in FORMS:
        raise ValueError(f"no such form: {form}")
    if form == "raw":
        return _raw(data)
    text = text_of(data)
    source = None
    if text is not None:
        if form == "auto" and len(text) > 4096:
            pairs = quick_hex(text)
            if pairs is not None:
                return Pasted(pairs, "hex")
            if len(text) > BLOCK:
                found = quick(text, _short)
                if found is not None:
                    return found
        if text.count("\n") > max(MOST_SHORT, len(text) // SHORT):
            if form != "auto":
                raise PastedError("pasted-limit", 1, 1, TOO_SHORT)
            return Pasted(_raw(data).data, "raw", TOO_SHORT)
        source = source_of(text)
    if form != "auto":
        return _forced(source, form)
    if source is None or not source.text.strip():
        return _raw(data)
    found = _recognise(source)
    return found if found is not None else Pasted(_raw(data).data, "raw", hint(source, _fits))


def _short(text: str) -> Pasted | None:
    source = source_of(text)
    return None if source is None or not source.text.strip() else _recognise(source)


def _forced(source: Source | None, form: str) -> Pasted:
    if source is None:
        raise PastedError("pasted-mismatch", 1, 1, f"binary data, not {form}")
    blocks = source.blocks()
    if len(blocks) == 1:
        source = blocks[0]
    found = _FORCED[form](source) if source.text.strip() else Pasted(b"", form)
    if found is None:
        raise source.error("pasted-mismatch", 0, f"the text is not of the form {form}")
    return Pasted(found.data, form)


def _recognise(source: Source) -> Pasted | None:
    """The one reading of a text; of fenced blocks, prose does not count."""
    blocks = source.blocks()
    if not blocks:
        return _read(source)
    if len(blocks) > MOST_BLOCKS:
        return None
    found: list[tuple[Source, Pasted]] = []
    for block in blocks:
        result = _read(block) if block.text.strip() else None
        if result:
            found.append((block, result))
    if len({result.data for _, result in found}) > 1:
        raise found[1][0].error(
            "pasted-several", 0, f"the text holds {len(found)} blocks of bytes: paste one"
        )
    return found[0][1] if found else None


def _read(source: Source) -> Pasted | None:
    body = source.text.strip()
    if len(body) > 2 and body[0] == body[-1] == "`" and "`" not in body[1:-1]:
        start = source.text.index("`")
        source = source.sub(start + 1, start + len(body) - 1)
    failure: PastedError | None = None
    try:
        found = _whole(source)
    except PastedError as error:
        if error.code not in ("pasted-damaged", "pasted-cut"):
            raise
        failure, found = error, None
    if found is not None and found.form != "hex":
        return found
    bare = uncommented(source)
    if found is not None:
        other = None if bare is None else _quiet(bare)
        if other is not None and other.data != found.data and other.form == "hex":
            raise ambiguous(source, 0, "hex", "hex with comments")
        return found
    found = _loosened(source, bare, failure is not None and failure.code == "pasted-cut")
    if found is not None:
        return found
    if failure is not None:
        raise failure
    return None


def _whole(source: Source) -> Pasted | None:
    """The bytes of a text of which all is of one form."""
    for reader in _READERS:
        found = reader(source)
        if found is not None:
            return found
    return None


def _quiet(source: Source) -> Pasted | None:
    """The same, or None if the text is damaged."""
    try:
        return _whole(source) if source.text.strip() else None
    except PastedError:
        return None


def _fits(source: Source) -> bool:
    """Whether a text is surely of a form, comments and prefixes aside."""
    filled = [row for row, line in enumerate(source.lines) if line.strip()]
    found = _part(source.part(filled[0], filled[-1] + 1)) if filled else None
    return found is not None and _sure(found)


def _loosened(source: Source, bare: Source | None, cut: bool) -> Pasted | None:
    """The bytes of a text without comments, prefixes of lines, or prose around one dump.

    Of a text that seems cut only prefixes are taken away.
    """
    if bare is not None and not cut:
        found = _quiet(bare)
        if found is not None and len(found.data) >= 2:
            return found
    read = map(_quiet, iter_unprefixed(source))
    results = [found for found in read if found is not None and _sure(found)]
    if len({found.data for found in results}) > 1:
        raise ambiguous(source, 0, results[0].form, f"{results[-1].form} after another prefix of each line")
    if results:
        return results[0]
    return None if cut else _in_prose(source)


def _sure(found: Pasted) -> bool:
    """Whether what was taken out of other text is there by intent."""
    return len(found.data) >= LEAST and found.form not in ("decimal", "octal", "bits", "raw")


def _in_prose(source: Source) -> Pasted | None:
    """The one dump in a text of prose; its lines are stated in the note."""
    read: list[tuple[int, Pasted]] = []
    groups = groups_in_prose(source)
    for first, last in groups[:MOST_GROUPS]:
        ranges = dict.fromkeys(
            [(first, last), frame_around(source, first, last), (first - 1, last), (first - 1, last + 1)]
        )
        for start, end in ranges:
            if start < 0 or end > len(source.lines):
                continue
            found = _part(source.part(start, end))
            if found is not None and _sure(found):
                read.append((start, Pasted(found.data, found.form, taken(source, start, end))))
                break
    if len(read) > 1 and len({found.data for _, found in read}) > 1:
        text = f"the text holds {len(read)} runs of bytes: paste one"
        raise source.error_in(read[1][0], 0, "pasted-several", text)
    return read[0][1] if read and len(read) == len(groups) else None


def _part(source: Source) -> Pasted | None:
    """The bytes of some lines, comments and prefixes aside."""
    found = _quiet(source)
    bare = None if found is not None else uncommented(source)
    if bare is not None:
        found = _quiet(bare)
    if found is None:
        found = next(filter(None, map(_quiet, iter_unprefixed(source))), None)
    return found
