"""Hessian inside an envelope (Dubbo, Bolt, HTTP): the trial of its dialects, damage, bodies in JSON."""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.codec import Codec
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import java, throwable
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.members import Members
from wirelens.codecs.hessian.reading import cut, value_words
from wirelens.codecs.json_input import one_of
from wirelens.codecs.json_text import JsonTextError, dumps, loads
from wirelens.codecs.node import Json, Node, field
from wirelens.codecs.tape import Buffer, Fault, Tape
from wirelens.codecs.words import count

DIALECTS: Final[dict[int, str]] = {dialect: d.NAMES[dialect] for dialect in (d.V1, d.DRAFT, d.FINAL)}
PROTOCOLS: Final = tuple(DIALECTS.values())

# Members that every envelope has: the dialect, unless it is the envelope's usual one; bytes that did not
# decode, whatever decoded of them, and the error.
DIALECT: Final[i64] = t.head(t.NAMED, field("hessian", DIALECTS))
DATA: Final[i64] = t.head(t.HEX, field("data"))
EXTRA: Final[i64] = t.head(t.HEX, field("extra"))
PARTIAL: Final[i64] = t.head(t.STRUCT, field("partial"))
ERROR: Final[i64] = t.head(t.FAULT, field("error"))


def dialect_named(value: Json, usual: int, path: str) -> int:
    """The dialect that the member "hessian" names; `usual` if there is no such member."""
    if value is None:
        return usual
    named = one_of(value, DIALECTS.values(), path)
    return next(dialect for dialect, name in DIALECTS.items() if name == named)


class Envelope(Codec):
    """An envelope of Hessian, whose messages contain Java values."""

    carries = PROTOCOLS
    summary_has_kind = True

    def first(self, data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
        """See Codec.first."""
        return self.resync(data, start, end)

    def annotate(self, node: Node) -> str:
        """The meaning of a value of a well-known Java class."""
        return java.annotate(node)

    def details(self, node: Node) -> list[str]:
        """The stack trace of an exception."""
        return throwable.stack_trace(node)


def decoded(codec: Codec, data: bytes) -> Tape | None:
    """The tape of the frame that `data` is; None if it does not decode."""
    buffer = Buffer(data)
    tape = Tape(buffer)
    try:
        codec.decode(Cursor(buffer, 0, len(data)), tape, True)
    except DecodeError:
        return None
    return tape


# --- the trial of dialects ------------------------------------------------------------------------------


@mypyc_attr(acyclic=True)
class HessianContent:
    """Content in Hessian that can be read in several ways; each envelope derives its reader.

    The content is cursor.data[cursor.pos:cursor.end]; `missing` is how many more bytes it should have, if
    the input ends before it. What is read becomes children of the open node `parent` (-1 if the reader
    writes a node of its own). A *way* is a number whose meaning only the reader knows, such as a dialect.
    """

    def __init__(self, cursor: Cursor, tape: Tape, parent: i64, missing: i64) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.parent: i64 = parent
        self.missing: Final[i64] = missing
        self.start: Final[i64] = cursor.pos
        self.end: Final[i64] = cursor.end
        self.clean = True  # whether the last reading found the content as writers send it
        self.way: i64 = 0  # the way that `fit` chose,
        self.error: DecodeError | None = None  # and its error

    def read(self, way: i64) -> DecodeError | None:
        """Read the content in one way; returns the error at which it stopped."""
        raise NotImplementedError

    def fit(self, ways: tuple[int, ...], furthest: bool = False) -> bool:
        """Read the content in the first way that fits; sets `way` and `error`.

        A way fits if it reads clean content to its end, or up to where bytes are missing. If none fits, the
        tape is as before, and `way` is the first, or, with `furthest`, the one that read most.
        """
        cursor = self.cursor
        mark = self.tape.mark()
        reached: i64 = -1
        for number in ways:
            way: i64 = number
            error = self.read(way)
            fits = error is None and self.clean
            if error is not None and self.missing > 0 and error.code == "truncated":
                fits = self.clean or reached >= 0
            if fits or reached < 0 or (furthest and cursor.pos > reached):
                reached = cursor.pos
                self.way = way
                self.error = error
            if fits:
                return True
            self.tape.rollback(mark)
            self.rewind()
        return False

    def rewind(self) -> None:
        """Go back to the start of the content, for another reading."""
        self.cursor.pos = self.start
        self.cursor.end = self.end
        if self.parent >= 0:
            self.tape.set_form(self.parent, 0)

    def write_damaged(self, error: DecodeError) -> None:
        """Write content that does not decode: what does decode in `way`, the bytes, and the error."""
        self.write_partial()
        end = self.write_data()
        self.tape.fault(ERROR, end, Fault(error.code, error.offset, error.text))

    def write_partial(self) -> None:
        """Write what decodes in `way` under PARTIAL, unless that is nothing."""
        tape = self.tape
        partial = tape.open(PARTIAL, self.start, 0)
        self.parent = partial
        self.read(self.way)
        tape.close_from(partial, self.cursor.pos)
        if self.is_empty(partial):
            tape.cut(partial)

    def is_empty(self, partial: i64) -> bool:
        """Whether a PARTIAL, the last node written with its subtree, has no content."""
        return self.tape.nodes(partial, self.tape.size()) == 1

    def write_data(self) -> i64:
        """Write the bytes of the content and leave the cursor after them; returns their end."""
        self.cursor.pos = self.end
        self.tape.leaf(DATA, self.start, self.end, self.start)
        return self.end


def read_hessian(content: HessianContent, ways: tuple[int, ...], part: str) -> i64:
    """Read content in the first way that fits, else as damaged content in the first; returns the way.

    Raises `truncated` if bytes are missing; `part` then names the content ("the body").
    """
    if not content.fit(ways):
        error = content.error
        if error is None or content.missing > 0:
            content.error = content.read(content.way)
        else:
            content.write_damaged(error)
    if content.missing > 0:
        raise missing_error(content.cursor, content.missing, part, content.error)
    return content.way


def missing_error(cursor: Cursor, missing: i64, part: str, error: DecodeError | None) -> DecodeError:
    """The error that the input ends before a part does, to be raised by the caller.

    `error` states what was expected where the part breaks off.
    """
    expected = "" if error is None else f": {error.text}"
    return DecodeError(
        "truncated",
        int(cursor.buffer.absolute(cursor.end)),
        f"{count(missing, 'byte')} of {part} missing{expected}",
        int(cursor.end + missing),
    )


def has_dangling_notes(tape: Tape, first: i64) -> bool:
    """Whether a note from number `first` on reports a reference to nothing."""
    return tape.note_count() > first and any(note.code.startswith("dangling") for note in tape.notes[first:])


# --- bodies in JSON -------------------------------------------------------------------------------------


def json_value(content: bytes) -> Json:
    """The JSON text that a body is; None if it is not JSON."""
    try:
        return loads(content.decode())
    except (UnicodeDecodeError, JsonTextError):
        return None


def json_lines(content: bytes) -> list[Json] | None:
    """The JSON texts of a body that has one on each line; None for any other body."""
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    values: list[Json] = []
    for line in lines:
        if line.strip():
            try:
                values.append(loads(line))
            except JsonTextError:
                return None
    return values or None


def json_lines_bytes(value: Json, path: str) -> bytes:
    """A body of JSON texts, one on each line."""
    if not isinstance(value, list):
        raise EncodeError(path, "expected an array: the JSON value of each line")
    return "".join([dumps(item) + "\n" for item in value]).encode()


def _value_of(node: Node) -> Json:
    return json_value(node.raw)


def _lines_of(node: Node) -> Json:
    return json_lines(node.raw)


# Members for a body in JSON, in addition to its bytes.
JSON_VALUE: Final[i64] = t.head(t.COMPUTED, field("json", None, _value_of))
JSON_LINES: Final[i64] = t.head(t.COMPUTED, field("json", None, _lines_of))


# --- for people -----------------------------------------------------------------------------------------


def annotate_argument(node: Node, declared: str) -> str:
    """What an argument means, after its declared type; `declared` may be empty."""
    meaning = java.annotate(node)
    return f"{declared}; {meaning}" if declared and meaning else declared or meaning


def exception_words(value: Node) -> str:
    """An exception with its message; empty for other values."""
    if value.kind != t.OBJECT and value.kind != t.MAP:
        return ""
    members = Members(value)
    return cut(throwable.heading(members)) if throwable.is_exception(members) else ""


def exception_class(value: Node) -> str:
    """The class of an exception; empty for other values."""
    if value.kind != t.OBJECT and value.kind != t.MAP:
        return ""
    members = Members(value)
    return members.type if throwable.is_exception(members) else ""


def result_words(value: Node) -> str:
    """A result in a few words: an exception with its message, an object's class, a scalar's value."""
    return exception_words(value) or value_words(value)
