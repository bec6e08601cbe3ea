"""HTTP's limits, and the parts of its messages with their unusual forms.

A body that is Hessian is shown as the message in it, other bodies as bytes. All values of `$wire`:

| where | `$wire` | meaning |
|---|---|---|
| message | `{"lines": {…}}` | lines not written as usual, each as it is: of headers by position from 0, `"start"`, `"end"` (the empty line), `"before"` (empty lines before the start) |
| message | `{"trailer_lines": {…}}` | likewise of trailers |
| message | `{"chunks": [size, …]}` | not in exactly one chunk; `[size, line]` or `[size, line, end]` if a chunk's line or the line end after it is unusual |
| message | `{"last": line}` | an unusual line of the last chunk |
| message | `{"content_length": "as-is"}` | Content-Length is not the length of the body: it is written as given |
| message | `{"body": "absent"}` | chunked, but without the last chunk (the reply to a HEAD) |

A line of `$wire` is used only if it has the same name and value as the message; Content-Length is computed.
"""  # noqa: E501 (rows of a table)

from functools import partial
from itertools import pairwise
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.http.lines import usual_line
from wirelens.codecs.node import Json, Node, field, hint

MAX_BEFORE: Final = 64  # bytes of empty lines before a start line
MAX_START_LINE: Final = 1 << 14  # bytes
MAX_HEAD: Final = 1 << 18  # bytes of start line and headers; the same of trailers
MAX_CHUNK_LINE: Final = 1 << 12  # bytes
MAX_BODY: Final = (1 << 28) - 2 * MAX_HEAD  # bytes

# Flags of a message's form: what is unusual.
UNUSUAL_LINES: Final = 1
UNUSUAL_CHUNKS: Final = 2
OTHER_LENGTH: Final = 4
ABSENT_BODY: Final = 8


def _line_text(raw: bytes) -> Json:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"$raw": raw.hex()}


def _wire(flags: int, node: Node) -> Json:
    """`$wire` of a message, from its bytes."""
    wire: dict[str, Json] = {}
    data = node.buffer.data
    tape = node.tape
    lines: dict[str, Json] = {}
    trailer_lines: dict[str, Json] = {}
    chunks: list[Node] = []
    for part in node.parts():
        name = part.field.name
        if name == "before":
            lines["before"] = _line_text(part.raw)
        elif name == "start_line":
            end = tape.end(part.index)
            after: i64 = data.find(b"\n", end) + 1
            if data[end:after] != b"\r\n":
                lines["start"] = _line_text(data[tape.start(part.index) : after])
        elif name == "headers":
            _unusual_lines(part, lines)
        elif name == "blank_line":
            if part.raw != b"\r\n":
                lines["end"] = _line_text(part.raw)
        elif name == "trailers":
            _unusual_lines(part, trailer_lines)
        elif name == "trailer_end":
            if part.raw != b"\r\n":
                trailer_lines["end"] = _line_text(part.raw)
        elif name == "chunk":
            chunks.append(part)
    if lines:
        wire["lines"] = lines
    if trailer_lines:
        wire["trailer_lines"] = trailer_lines
    if flags & UNUSUAL_CHUNKS and chunks:
        wire["chunks"] = [_chunk_json(chunk, following) for chunk, following in pairwise(chunks)]
        last = chunks[-1].raw
        if last != b"0\r\n":
            wire["last"] = _line_text(last)
    if flags & OTHER_LENGTH:
        wire["content_length"] = "as-is"
    if flags & ABSENT_BODY:
        wire["body"] = "absent"
    return wire


def _unusual_lines(headers: Node, lines: dict[str, Json]) -> None:
    """Add the lines of headers that are not written as usual to `lines`, by position."""
    for position, pair in enumerate(headers):
        raw = pair.raw
        parts = pair.children
        value = parts[1].content if parts[1].kind == t.TEXT else None
        if raw != usual_line(parts[0].content, value):
            lines[str(position)] = _line_text(raw)


def _chunk_json(chunk: Node, following: Node) -> Json:
    """A chunk in `$wire`: its size, with its line and the line end after it if they are unusual."""
    size = chunk.number
    line = chunk.raw
    tape = chunk.tape
    line_end = chunk.buffer.data[tape.end(chunk.index) + size : tape.start(following.index)]
    if line_end != b"\r\n":
        return [size, _line_text(line), _line_text(line_end)]
    return size if line == b"%x\r\n" % size else [size, _line_text(line)]


# The wire form of each set of flags.
FORMS: Final = (0, *[hint(partial(_wire, flags)) for flags in range(1, 16)])

ROOT: Final[i64] = t.head(t.STRUCT)
BEFORE: Final[i64] = t.head(t.MARK, field("before")) | t.HIDDEN
START: Final[i64] = t.head(t.TEXT, field("start_line"))
HEADERS: Final[i64] = t.head(t.ARRAY, field("headers"))
PAIR: Final[i64] = t.head(t.ARRAY)
TEXT: Final[i64] = t.head(t.TEXT)
NO_VALUE: Final[i64] = t.head(t.ABSENT)
BLANK: Final[i64] = t.head(t.MARK, field("blank_line")) | t.HIDDEN
CHUNK: Final[i64] = t.head(t.MARK, field("chunk")) | t.HIDDEN
BODY: Final[i64] = t.head(t.STRUCT, field("body"))
COMPRESSED: Final[i64] = t.head(t.HEX, field("compressed"))
TRAILERS: Final[i64] = t.head(t.ARRAY, field("trailers"))
TRAILER_END: Final[i64] = t.head(t.MARK, field("trailer_end")) | t.HIDDEN
PIECE: Final[i64] = t.head(t.CHUNK) | t.HIDDEN
