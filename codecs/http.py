"""HTTP/1.1 whose bodies carry Hessian: framing of our own that keeps every byte and its offset.

Sources: RFC 9112 (message syntax, chunks, body length), RFC 9110 (content codings, statuses without
content); the notes on deployed software, section 1.3, for what Hessian's clients and servers send.

A body that is Hessian is shown as the message it carries, other bodies as bytes. All values of `$wire`:

| where | `$wire` | meaning |
|---|---|---|
| message | `{"lines": {…}}` | lines that are not written as usual, each as it stands: of headers by position from 0, `"start"`, `"end"` (the empty line), `"before"` (empty lines before the start) |
| message | `{"trailer_lines": {…}}` | likewise of trailers |
| message | `{"chunks": [size, …]}` | cut otherwise than into one chunk; `[size, line]` or `[size, line, end]` where a chunk's line or the line end behind it is unusual |
| message | `{"last": line}` | an unusual line of the last chunk |
| message | `{"content_length": "as-is"}` | Content-Length is not the length of the body: it stays as it stands |
| message | `{"body": "absent"}` | chunked, but without the last chunk (the reply to a HEAD) |

A line of `$wire` counts as long as it says the same name and value as the message does; Content-Length is
computed.
"""  # noqa: E501 (rows of a table)

import re
import zlib
from functools import partial
from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs import payload
from wirelens.codecs import tape as t
from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.decoding import Messages
from wirelens.codecs.hessian.encoding import encode_message
from wirelens.codecs.hessian.gadgets import class_notes
from wirelens.codecs.hessian.reading import message_line
from wirelens.codecs.json_input import array_of, hex_bytes, object_of, only, text_bytes
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.payload import DATA, DIALECT, ERROR, PARTIAL
from wirelens.codecs.tape import Buffer, Fault, Tape
from wirelens.codecs.words import count

MAX_BEFORE: Final = 64  # bytes of empty lines before a start line
MAX_START_LINE: Final = 1 << 14  # bytes
MAX_HEAD: Final = 1 << 18  # bytes of start line and headers; the same of trailers
MAX_CHUNK_LINE: Final = 1 << 12  # bytes
MAX_BODY: Final = (1 << 28) - 2 * MAX_HEAD  # bytes
MAX_INFLATED: Final = 1 << 26  # bytes that a body may expand to
INFLATED_FREE: Final = 1 << 20  # bytes that any body may expand to
INFLATED_FACTOR: Final = 128  # bytes more for each byte of the body
PREFIX: Final = 256  # bytes of a body that tell whether it may be Hessian

_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_START: Final = re.compile(
    rb"(?:HTTP/1\.[0-9] ([1-5][0-9][0-9])(?:[ \t][^\n]*)?|(" + _TOKEN + rb"{1,32}) ([^\n]*[^\n ]) "
    rb"HTTP/1\.[0-9])\r?\n"
)
_BEGINS: Final = re.compile(rb"HTTP/1|" + _TOKEN + rb"{1,32}( |\Z)")
_RESPONSE: Final = re.compile(rb"HTTP/1\.[0-9] [1-5][0-9][0-9][ \r\n]")
_NEXT: Final = re.compile(
    rb"HTTP/1\.[01] [1-5][0-9][0-9][ \r]|"
    rb"(?:GET|POST|PUT|HEAD|DELETE|OPTIONS|PATCH|TRACE|CONNECT) [!-~]{1,8192} HTTP/1\.[01]\r?\n"
)
_NEXT_BYTES: Final = 8300  # that a match of `_NEXT` takes at most
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*)?\r?\n")
_JAVA_NAME: Final = re.compile(rb"[A-Za-z_$\[][A-Za-z0-9_$]*(?:\.[A-Za-z_$][A-Za-z0-9_$]*)+")

# Flags of a message's form.
_LINES: Final = 1
_CHUNKS: Final = 2
_LENGTH: Final = 4
_NO_BODY: Final = 8


class _Line:
    """Where the parts of a header line stand: name, value (-1: no colon), and what is behind the line."""

    def __init__(self, start: i64, name_end: i64, value: i64, value_end: i64, end: i64, usual: bool) -> None:
        self.start: Final[i64] = start
        self.name_end: Final[i64] = name_end
        self.value: Final[i64] = value
        self.value_end: Final[i64] = value_end
        self.end: Final[i64] = end
        self.usual: Final = usual


def _parse_line(data: bytes, start: i64, end: i64) -> _Line:
    """A header line with its folds and line end, data[start:end]."""
    content = end - 1
    usual = False
    if content > start and data[content - 1] == 0x0D:
        content -= 1
        usual = True
    colon: i64 = data.find(b":", start, content)
    if colon < 0:
        return _Line(start, content, -1, -1, end, usual)
    name_end = colon
    while name_end > start and _is_space(data[name_end - 1]):
        name_end -= 1
    value = colon + 1
    while value < content and _is_space(data[value]):
        value += 1
    value_end = content
    while value_end > value and _is_space(data[value_end - 1]):
        value_end -= 1
    usual = usual and name_end == colon and value == colon + 2 and data[colon + 1] == 0x20
    return _Line(start, name_end, value, value_end, end, usual and value_end == content)


def _is_space(byte: i64) -> bool:
    return byte == 0x20 or byte == 0x09


def _usual_line(name: bytes, value: bytes | None) -> bytes:
    return name + b"\r\n" if value is None else name + b": " + value + b"\r\n"


def _line_text(raw: bytes) -> Json:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"$raw": raw.hex()}


def _wire(flags: int, node: Node) -> Json:
    """`$wire` of a message, read off its bytes."""
    wire: dict[str, Json] = {}
    data = node.buffer.data
    tape = node.tape
    lines: dict[str, Json] = {}
    trailer_lines: dict[str, Json] = {}
    chunks: list[Json] = []
    marks: list[Node] = []
    for part in node.parts():
        name = part.field.name
        if name == "before":
            lines["before"] = _line_text(part.raw)
        elif name == "start_line":
            end = tape.end(part.index)
            behind: i64 = data.find(b"\n", end) + 1
            if data[end:behind] != b"\r\n":
                lines["start"] = _line_text(data[tape.start(part.index) : behind])
        elif name == "headers":
            _odd_lines(part, lines)
        elif name == "blank_line":
            if part.raw != b"\r\n":
                lines["end"] = _line_text(part.raw)
        elif name == "trailers":
            _odd_lines(part, trailer_lines)
        elif name == "trailer_end":
            if part.raw != b"\r\n":
                trailer_lines["end"] = _line_text(part.raw)
        elif name == "chunk":
            marks.append(part)
    if lines:
        wire["lines"] = lines
    if trailer_lines:
        wire["trailer_lines"] = trailer_lines
    if flags & _CHUNKS:
        for position, mark in enumerate(marks):
            size = mark.number
            line = mark.raw
            if position == len(marks) - 1:
                wire["chunks"] = chunks
                if line != b"0\r\n":
                    wire["last"] = _line_text(line)
                break
            behind = tape.end(mark.index) + size
            ending = data[behind : tape.start(marks[position + 1].index)]
            if ending != b"\r\n":
                chunks.append([size, _line_text(line), _line_text(ending)])
            elif line != b"%x\r\n" % size:
                chunks.append([size, _line_text(line)])
            else:
                chunks.append(size)
    if flags & _LENGTH:
        wire["content_length"] = "as-is"
    if flags & _NO_BODY:
        wire["body"] = "absent"
    return wire


def _odd_lines(headers: Node, lines: dict[str, Json]) -> None:
    """Put the lines of headers that are not written as usual under their positions."""
    for position, pair in enumerate(headers.children):
        raw = pair.raw
        parts = pair.children
        value = parts[1].content if parts[1].kind == t.TEXT else None
        if raw != _usual_line(parts[0].content, value):
            lines[str(position)] = _line_text(raw)


_FORMS: Final = [0, *[hint(partial(_wire, flags)) for flags in range(1, 16)]]

_ROOT: Final[i64] = t.head(t.STRUCT)
_BEFORE: Final[i64] = t.head(t.MARK, field("before")) | t.HIDDEN
_START_LINE: Final[i64] = t.head(t.TEXT, field("start_line"))
_HEADERS: Final[i64] = t.head(t.ARRAY, field("headers"))
_PAIR: Final[i64] = t.head(t.ARRAY)
_TEXT: Final[i64] = t.head(t.TEXT)
_NOTHING: Final[i64] = t.head(t.ABSENT)
_BLANK: Final[i64] = t.head(t.MARK, field("blank_line")) | t.HIDDEN
_CHUNK_MARK: Final[i64] = t.head(t.MARK, field("chunk")) | t.HIDDEN
_BODY: Final[i64] = t.head(t.STRUCT, field("body"))
_COMPRESSED: Final[i64] = t.head(t.HEX, field("compressed"))
_TRAILERS: Final[i64] = t.head(t.ARRAY, field("trailers"))
_TRAILER_END: Final[i64] = t.head(t.MARK, field("trailer_end")) | t.HIDDEN
_PIECE: Final[i64] = t.head(t.CHUNK) | t.HIDDEN


class _Head:
    """What start line and headers say of the body."""

    def __init__(self, start_line: bytes) -> None:
        match = _START.match(start_line)
        self.valid: Final = match is not None and match.end() == len(start_line)
        self.status = 0  # 0: a request
        self.method = b""
        self.target = b""
        if match is not None:
            if match[1] is not None:
                self.status = int(match[1])
            else:
                self.method = match[2]
                self.target = match[3]
        self.lengths: list[bytes] = []
        self.codings: list[bytes] = []
        self.transfer: list[bytes] = []
        self.content_type = b""

    def take(self, name: bytes, value: bytes) -> None:
        """Note a header."""
        lower = name.lower()
        if lower == b"content-length":
            self.lengths.append(value)
        elif lower == b"transfer-encoding":
            self.transfer.extend([one.strip().lower() for one in value.split(b",")])
        elif lower == b"content-encoding":
            self.codings.extend([one.strip().lower() for one in value.split(b",")])
        elif lower == b"content-type":
            self.content_type = value

    @property
    def has_no_body(self) -> bool:
        """True for statuses that never have a body."""
        return self.status == 204 or self.status == 304 or 100 <= self.status < 200

    @property
    def chunked(self) -> bool:
        return bool(self.transfer) and self.transfer[-1] == b"chunked"

    @property
    def length(self) -> int:
        """The length that Content-Length gives; -1 for none, -2 for what is no length."""
        found = -1
        for value in self.lengths:
            for one in value.split(b","):
                number = _decimal(one.strip())
                if number < 0 or (found >= 0 and found != number):
                    return -2
                found = number
        return found

    def length_is(self, length: int) -> bool:
        """True where every Content-Length says just that."""
        return all(_decimal(value) == length for value in self.lengths)

    @property
    def coding(self) -> bytes:
        """gzip or deflate, where that is the content's only coding."""
        if len(self.codings) != 1:
            return b""
        coding = self.codings[0]
        if coding == b"x-gzip":
            return b"gzip"
        return coding if coding == b"gzip" or coding == b"deflate" else b""

    @property
    def claims_hessian(self) -> bool:
        return b"hessian" in self.content_type.lower()


def _decimal(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) <= 18 else -1


class Http(Codec):
    """HTTP/1.1 and 1.0."""

    carries = payload.PROTOCOLS
    tunnelled = True
    says_kind = True

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. A body that ends with the connection ends with the input, when that is final."""
        reader = _Reader(cursor, tape, final)
        try:
            reader.read()
        finally:
            class_notes(tape)

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode. Content-Length is computed, and added to a request that needs one."""
        _encode(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """Bits of the start line and of the header lines behind it."""
        at = 0
        while at < 8 and data[at : at + 1] in (b"\r", b"\n"):
            at += 1
        match = _START.match(data, at, at + MAX_START_LINE)
        if match is None:
            return NO_EVIDENCE
        bits = 32.0
        lines = 0
        place = match.end()
        while lines < 4:
            end = data.find(b"\n", place, place + MAX_CHUNK_LINE)
            if end < 0:
                break
            line = _parse_line(data, place, end + 1)
            if line.value < 0 or line.name_end == line.start:
                break
            lines += 1
            bits += 4.0
            place = end + 1
        what = "a request line" if match[2] is not None else "a status line"
        reasons = [f"{what} of HTTP/1"]
        if lines:
            reasons.append("header lines behind it")
        return Evidence(bits=bits, reasons=tuple(reasons))

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The next status line, or request line of a usual method."""
        match = _NEXT.search(data, start, min(end + _NEXT_BYTES, len(data)))
        if match is None:
            return end
        found: i64 = match.start()
        return min(found, end)

    def kind(self, root: Node) -> str:
        """ "request" or "response"."""
        line = root.member("start_line")
        return "response" if line is not None and line.content.startswith(b"HTTP/") else "request"

    def summary(self, root: Node) -> str:
        """`POST /order call create(Order)`, `200 OK reply ok com.x.Result`, `200 OK text/html 512 bytes`."""
        line = root.member("start_line")
        if line is None:
            return "http"
        words = line.shown.split(" ")
        if words[0].startswith("HTTP/"):
            said = " ".join(words[1:]).strip()
        else:
            said = " ".join([word for word in words[:-1] if word])
        body = root.member("body")
        if body is None:
            return said
        data = body.member("data")
        if data is None:
            return f"{said} {message_line(body)}"
        partial = body.member("partial")
        if partial is not None and partial.children:
            said += f" {message_line(partial)}"
        head = _Head(line.content + b"\r\n")
        headers = root.member("headers")
        for pair in [] if headers is None else headers.children:
            parts = pair.children
            head.take(parts[0].content, parts[1].content if parts[1].kind == t.TEXT else b"")
        kind = head.content_type.partition(b";")[0].decode("utf-8", "replace").strip()
        size = len(data.content)
        return f"{said} {kind}{' ' if kind else ''}{count(size, 'byte')}"

    def annotate(self, node: Node) -> str:
        """What a value of a well-known Java class means."""
        return payload.annotate(node)

    def details(self, node: Node) -> list[str]:
        """The stack trace of an exception."""
        return payload.details(node)

    def exchange(self, root: Node) -> Exchange:
        """Requests are answered in order; an interim response (1xx) answers nothing."""
        line = root.member("start_line")
        if line is None:
            return Exchange("")
        status = _Head(line.content + b"\r\n").status
        if status == 0:
            return Exchange("request")
        return Exchange("" if status < 200 else "reply")


class _Reader:
    """Reads one message from a cursor onto a tape."""

    def __init__(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.final: Final = final
        self.data: Final = cursor.data
        self.end: Final[i64] = cursor.end
        self.flags = 0
        self.head = _Head(b"")
        # of the content on the wire: where its pieces start and end
        self.pieces: list[tuple[int, int]] = []
        self.length: i64 = 0

    def read(self) -> None:
        cursor = self.cursor
        tape = self.tape
        data = self.data
        start = cursor.pos
        at = start
        while at < self.end and at - start < MAX_BEFORE and (data[at] == 0x0A or data[at] == 0x0D):
            at += 1
        line_end = self._start_line(start, at)
        root = tape.open(_ROOT, start, 0)
        if at > start:
            tape.leaf(_BEFORE, start, at, 0)
            self.flags |= _LINES
        content = line_end - 1
        if data[content - 1] == 0x0D:
            content -= 1
        else:
            self.flags |= _LINES
        tape.leaf(_START_LINE, at, content, at)
        self.head = _Head(data[at:line_end])
        cursor.pos = line_end
        self._headers(_HEADERS, _BLANK, True)
        self._framing()
        length = int(self.length)
        if not self.head.length_is(length):
            self.flags |= _LENGTH
        if self.flags:
            tape.set_form(root, _FORMS[self.flags])
        tape.close(root, cursor.pos)

    def _start_line(self, start: i64, at: i64) -> i64:
        """Check the start line at a position; what is behind it."""
        cursor = self.cursor
        data = self.data
        until = min(self.end, at + MAX_START_LINE)
        newline: i64 = data.find(b"\n", at, until)
        if newline < 0:
            begins = at == self.end or _BEGINS.match(data[at : min(until, at + 40)]) is not None
            if begins and until == self.end:
                raise cursor.short(self.end - start + 1, "the end of a start line")
        elif _START.match(data, at, newline + 1) is not None:
            return newline + 1
        raise cursor.error("no-message", start, "expected a request line or a status line of HTTP/1")

    def _line_end(self, start: i64, at: i64, limit: i64, what: str) -> i64:
        """What is behind the line at a position; of lines that start at `start`, which has a limit."""
        newline: i64 = self.data.find(b"\n", at, min(self.end, start + limit))
        if newline < 0:
            self.cursor.pos = at
            if self.end - start >= limit:
                raise self.cursor.error("limit", at, f"more than {limit} bytes of {what}")
            raise self.cursor.short(self.end - at + 1, f"the end of {what}")
        return newline + 1

    def _headers(self, head: i64, blank: i64, of_message: bool) -> None:
        """Header lines up to an empty one."""
        cursor = self.cursor
        tape = self.tape
        data = self.data
        start = cursor.pos
        what = "the headers" if of_message else "the trailers"
        headers: i64 = -1
        at = start
        while True:
            behind = self._line_end(start, at, MAX_HEAD, what)
            if behind - at == 1 or (behind - at == 2 and data[at] == 0x0D):
                break
            if headers < 0:
                headers = tape.open(head, start, 0)
            while True:
                if behind >= self.end:
                    cursor.pos = behind
                    raise cursor.short(1, f"the end of {what}")
                if not _is_space(data[behind]):
                    break
                behind = self._line_end(start, behind, MAX_HEAD, what)
            self._header(_parse_line(data, at, behind), of_message)
            at = behind
            cursor.pos = at
        if headers < 0 and of_message:
            headers = tape.open(head, start, 0)
        if headers >= 0:
            tape.close(headers, at)
        tape.leaf(blank, at, behind, 0)
        if behind - at == 1:
            self.flags |= _LINES
        cursor.pos = behind

    def _header(self, line: _Line, of_message: bool) -> None:
        tape = self.tape
        data = self.data
        pair = tape.open(_PAIR, line.start, 0)
        tape.leaf(_TEXT, line.start, line.name_end, line.start)
        if line.value < 0:
            tape.leaf(_NOTHING, line.name_end, line.name_end, 0)
            tape.note("bad-header", line.start, "a header line without a colon", self.cursor.buffer)
        else:
            tape.leaf(_TEXT, line.value, line.value_end, line.value)
            if of_message:
                self.head.take(data[line.start : line.name_end], data[line.value : line.value_end])
        tape.close(pair, line.end)
        if not line.usual:
            self.flags |= _LINES

    def _framing(self) -> None:
        """The body, by the rules of RFC 9112 section 6.3 for what it is framed by."""
        head = self.head
        cursor = self.cursor
        response = head.status != 0
        if head.has_no_body:
            return
        start = cursor.pos
        length = head.length
        if head.chunked:
            if response and self._without_body("a chunked body"):
                self.flags |= _NO_BODY
                return
            self._chunked()
            return
        if length == -2:
            self._odd("Content-Length is no length")
        if head.transfer:
            self._odd("Transfer-Encoding does not end with chunked")
        if length >= 0 and not head.transfer:
            if length == 0 or (response and self._without_body(f"a body of {length} bytes")):
                return
            if length > MAX_BODY:
                raise cursor.error("limit", start, f"a body of {length} bytes; {MAX_BODY} are allowed")
            left = cursor.left()
            if length > left:
                if not self.final:
                    raise cursor.short(length, "the body")
                missing = length - left
                self._cut(f"{count(missing, 'byte')} of the body missing")
            self._take(start, start + length)
            cursor.pos = start + length
            self._body()
        elif response:
            if not self.final:
                raise cursor.short(cursor.left() + 1, "the rest of the body, up to the end of the stream")
            self._take(start, self.end)
            cursor.pos = self.end
            self._body()

    def _odd(self, text: str) -> None:
        self.tape.note("bad-header", self.tape.start(1), text, self.cursor.buffer)

    def _take(self, start: i64, end: i64) -> None:
        """Add a piece of the content."""
        if end > start:
            self.pieces.append((int(start), int(end)))
            self.length += end - start

    def _without_body(self, what: str) -> bool:
        """True where a response has no body although it announces one, as the reply to a HEAD has none.

        Known by what follows: the next response, or nothing more at all.
        """
        cursor = self.cursor
        if cursor.pos == self.end:
            if not self.final:
                return False
        elif _RESPONSE.match(self.data, cursor.pos, self.end) is None:
            return False
        self.tape.note("no-body", cursor.pos, f"{what} is announced, none is there", cursor.buffer)
        return True

    def _chunked(self) -> None:
        """Chunks up to the last one, and trailers."""
        cursor = self.cursor
        tape = self.tape
        data = self.data
        marks: list[tuple[int, int, int]] = []  # start and end of a chunk's line, size
        at = cursor.pos
        usual = True
        error: DecodeError | None = None
        while True:
            try:
                behind = self._line_end(at, at, MAX_CHUNK_LINE, "a chunk's size")
                match = _CHUNK.match(data, at, behind)
                if match is None or match.end() != behind:
                    raise cursor.error("bad-value", at, "expected a chunk's size in hex digits")
                size: i64 = min(int(match[1], 16), MAX_BODY + 1)
                if size + self.length > MAX_BODY:
                    raise cursor.error("limit", at, f"a body of more than {MAX_BODY} bytes")
                marks.append((int(at), int(behind), int(size)))
                usual = usual and data[at:behind] == b"%x\r\n" % int(size)
                if size == 0:
                    break
                cursor.pos = behind
                if size > cursor.left():
                    if self.final:
                        self._take(behind, self.end)
                    raise cursor.short(size, "a chunk")
                self._take(behind, behind + size)
                at = behind + size
                cursor.pos = at
                behind = self._line_end(at, at, 2, "a chunk")
                usual = usual and behind - at == 2
                if behind - at == 2 and data[at] != 0x0D:
                    raise cursor.error("bad-value", at, "expected a line end behind a chunk")
                at = behind
            except DecodeError as found:
                if found.needed and not self.final:
                    raise
                error = found
                break
        for start, end, number in marks:
            tape.leaf(_CHUNK_MARK, start, end, number)
        if error is not None:
            reached = cursor.pos
            self._clip(marks[0][1] if marks else at)
            self._cut_body()
            cursor.pos = reached
            raise error
        if not usual or len(marks) != (2 if self.length else 1):
            self.flags |= _CHUNKS
        cursor.pos = behind
        # trailers come behind the body in the bytes, and must be whole before it is written
        try:
            self._skip_trailers()
        except DecodeError as found:
            if found.needed and not self.final:
                raise
            self._body()
            raise
        cursor.pos = behind
        self._body()
        cursor.pos = behind
        self._headers(_TRAILERS, _TRAILER_END, False)

    def _clip(self, start: i64) -> None:
        """Leave of the content what stands before the next message, where decoding goes on."""
        match = _NEXT.search(self.data, start, self.end)
        if match is None:
            return
        until: i64 = match.start()
        pieces = self.pieces
        self.pieces = []
        for first, last in pieces:
            self._take(first, min(last, until))

    def _skip_trailers(self) -> None:
        """Raise where the trailers at the cursor are not all there."""
        start = self.cursor.pos
        at = start
        while True:
            behind = self._line_end(start, at, MAX_HEAD, "the trailers")
            if behind - at == 1 or (behind - at == 2 and self.data[at] == 0x0D):
                return
            at = behind

    # --- what a body carries ----------------------------------------------------------------------------

    def _joined(self) -> tuple[Buffer, i64, i64]:
        """The content on the wire: a buffer, and where in it the content starts and ends."""
        if len(self.pieces) == 1:
            start, end = self.pieces[0]
            return self.cursor.buffer, start, end
        buffer = self.cursor.buffer
        total = 0
        segments: list[tuple[int, int]] = []
        parts: list[bytes] = []
        for start, end in self.pieces:
            segments.append((total, int(buffer.absolute(start))))
            parts.append(self.data[start:end])
            total += end - start
        return Buffer(b"".join(parts), buffer.base, segments), 0, total

    def _body(self) -> None:
        """Write the body: the message of Hessian that it is, or its bytes."""
        if not self.pieces:
            return
        tape = self.tape
        head = self.head
        joined, start, end = self._joined()
        coding = head.coding
        prefix = joined.data[start : min(end, start + PREFIX)]
        if coding:
            prefix = _inflate(joined.data[start : min(end, start + 4 * PREFIX)], coding, PREFIX).content
        dialects = _candidates(prefix, head.claims_hessian)
        if not dialects:
            self._bytes(None)
            return
        content = joined
        first, last = start, end
        if coding:
            inflated = _inflate(joined.data[start:end], coding, _inflated_limit(end - start))
            if not inflated.whole:
                fault: Fault | None = None
                if inflated.over:
                    said = f"the content expands to more than {_inflated_limit(end - start)} bytes"
                    tape.note("limit", self.pieces[0][0], said, self.cursor.buffer)
                elif head.claims_hessian:
                    offset = self.cursor.buffer.absolute(self.pieces[0][0])
                    said = f"the content is no {coding.decode()} data, or not all of it"
                    fault = Fault("bad-value", offset, said)
                self._bytes(fault)
                return
            content = self._unpacked(inflated.content)
            first, last = 0, len(content.data)
        best, dialect = self._try(dialects, content, first, last)
        if best is None:
            if coding and _deflate(content.data, coding) != joined.data[start:end]:
                self._hex(_COMPRESSED)
            tape.leaf(DIALECT, self.cursor.pos, self.cursor.pos, dialect)
        elif head.claims_hessian:
            if _is_markup(prefix):
                said = "the content type says Hessian, the body is text"
                self._bytes(Fault("bad-value", best.offset, said))
                return
            body = tape.open(_BODY, self.pieces[0][0], 0)
            size = tape.size()
            self._read_as(dialect, content, first, last, PARTIAL)
            if tape.size() <= size + 2:
                tape.cut(size)
            self._hex(DATA)
            tape.fault(ERROR, self.pieces[-1][1], Fault(best.code, best.offset, best.text))
            tape.close(body, self.pieces[-1][1])
        else:
            self._bytes(None)

    def _unpacked(self, content: bytes) -> Buffer:
        return Buffer(content, self.cursor.buffer.absolute(self.pieces[0][0]), None, True)

    def _bytes(self, fault: Fault | None) -> None:
        """A body as bytes."""
        tape = self.tape
        body = tape.open(_BODY, self.pieces[0][0], 0)
        self._hex(DATA)
        if fault is not None:
            tape.fault(ERROR, self.pieces[-1][1], fault)
        tape.close(body, self.pieces[-1][1])

    def _hex(self, head: i64) -> None:
        """The content on the wire, as a member in hex."""
        tape = self.tape
        if len(self.pieces) == 1:
            start, end = self.pieces[0]
            tape.leaf(head, start, end, start)
            return
        whole = tape.open(head, self.pieces[0][0], -1)
        for start, end in self.pieces:
            tape.leaf(_PIECE, start, end, start)
        tape.close(whole, self.pieces[-1][1])

    def _try(
        self, dialects: list[int], content: Buffer, first: i64, last: i64
    ) -> tuple[DecodeError | None, int]:
        """Read content in the first dialect that it fits; the error of the one that got furthest."""
        tape = self.tape
        mark = tape.mark()
        best: DecodeError | None = None
        chosen = dialects[0]
        reached: i64 = -1
        for dialect in dialects:
            error, pos = self._read_as(dialect, content, first, last, _BODY)
            if error is None:
                return None, dialect
            tape.rollback(mark)
            if pos > reached:
                best = error
                chosen = dialect
                reached = pos
        return best, chosen

    def _read_as(
        self, dialect: int, content: Buffer, first: i64, last: i64, head: i64
    ) -> tuple[DecodeError | None, i64]:
        """Read content as one message of a dialect under a node of the given head; error, place reached."""
        tape = self.tape
        at = tape.size()
        number: i64 = 0
        if content is not self.cursor.buffer:
            number = len(tape.buffers)
            tape.buffers.append(content)
            head |= t.EMBEDDED
        inner = Cursor(content, first, last)
        error: DecodeError | None = None
        try:
            Messages(dialect, inner, tape, True).read(head, number)
            if inner.pos < last:
                left = last - inner.pos
                error = inner.error("extra-bytes", inner.pos, f"{left} bytes are left behind the message")
        except DecodeError as found:
            error = found
        if tape.size() > at:
            tape.close_from(at, inner.pos)
            tape.set_span(at, self.pieces[0][0], self.pieces[-1][1])
        return error, inner.pos

    # --- cut bodies -------------------------------------------------------------------------------------

    def _cut(self, text: str) -> None:
        """A body of known length that is not all there: write what is, and raise."""
        cursor = self.cursor
        start = cursor.pos
        # no further than to the next message: that is where decoding goes on
        until = self.end
        match = _NEXT.search(self.data, start, self.end)
        if match is not None:
            until = match.start()
        self._take(start, until)
        said = self._cut_body()
        cursor.pos = until
        raise DecodeError(
            "truncated", int(cursor.buffer.absolute(until)), text + (f": {said}" if said else "")
        )

    def _cut_body(self) -> str:
        """Write what there is of a body; what was expected where it breaks off."""
        if not self.pieces:
            return ""
        head = self.head
        joined, start, end = self._joined()
        content = joined
        first, last = start, end
        if head.coding:
            inflated = _inflate(joined.data[start:end], head.coding, _inflated_limit(end - start))
            content = self._unpacked(inflated.content)
            first, last = 0, len(content.data)
        dialects = _candidates(content.data[first : min(last, first + PREFIX)], head.claims_hessian)
        if dialects and last > first:
            best, dialect = self._try(dialects, content, first, last)
            if best is None:
                return ""
            size = self.tape.size()
            self._read_as(dialect, content, first, last, _BODY)
            if self.tape.size() > size + 2:
                return best.text
            self.tape.cut(size)
        self._bytes(None)
        return ""


def _candidates(prefix: bytes, claimed: bool) -> list[int]:
    """The dialects in which a body that starts so may be a message; none where it is no Hessian.

    `claimed`: the content type says Hessian. `c 02 00` mostly has values of 1.0 behind it.
    """
    opening = prefix[:1]
    version = prefix[1:3]
    found: list[int] = []
    if opening in (b"c", b"r") and version in (b"\1\0", b"\2\0", b"\0\1"):
        found = [d.V1, d.DRAFT]
    elif opening == b"H" and version == b"\2\0":
        found = [d.FINAL]
    elif opening in (b"p", b"E") and version == b"\2\0":
        found = [d.DRAFT, d.FINAL]
    elif opening == b"C" and _named(prefix, 2 if prefix[1:2] < b"\x20" else 3):
        found = [d.FINAL]
    elif opening == b"O" and (_named(prefix, 2) or _named(prefix, 3)):
        found = [d.DRAFT]
    elif opening in (b"M", b"V") and prefix[1:2] == b"t" and _named(prefix, 4):
        found = [d.V1, d.DRAFT]
    if claimed:
        found.extend([one for one in (d.FINAL, d.DRAFT, d.V1) if one not in found])
    return found


def _is_markup(prefix: bytes) -> bool:
    """True for the start of HTML, XML or JSON, as proxies and login pages answer."""
    return prefix.lstrip()[:1] in (b"<", b"{")


def _named(prefix: bytes, at: int) -> bool:
    """True where the name of a Java class in a package stands at a position."""
    return _JAVA_NAME.match(prefix, at) is not None


class _Inflated:
    """What content expands to: all of it (`whole`), or as far as it went; `over`: beyond the limit."""

    def __init__(self, content: bytes, whole: bool, over: bool) -> None:
        self.content: Final = content
        self.whole: Final = whole
        self.over: Final = over


def _inflated_limit(size: i64) -> i64:
    """How many bytes a body of a size may expand to."""
    return min(MAX_INFLATED, INFLATED_FREE + INFLATED_FACTOR * size)


def _inflate(content: bytes, coding: bytes, limit: i64) -> _Inflated:
    """Expand gzip or deflate content, the latter with zlib's header or without."""
    if coding == b"gzip":
        return _inflate_as(content, 31, limit)
    found = _inflate_as(content, 15, limit)
    return found if found.content else _inflate_as(content, -15, limit)


def _inflate_as(content: bytes, bits: int, limit: i64) -> _Inflated:
    inflater = zlib.decompressobj(bits)
    made = b""
    try:
        made = inflater.decompress(content, int(limit) + 1)
    except zlib.error:
        return _Inflated(made, False, False)
    if len(made) > limit:
        return _Inflated(made[:limit], False, True)
    return _Inflated(made, inflater.eof and not inflater.unused_data, False)


def _deflate(content: bytes, coding: bytes) -> bytes:
    """Compress content as Java's GZIPOutputStream and DeflaterOutputStream do."""
    if coding == b"deflate":
        return zlib.compress(content)
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = deflater.compress(content) + deflater.flush()
    sums = zlib.crc32(content).to_bytes(4, "little") + (len(content) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"\x1f\x8b\x08\0\0\0\0\0\0\0" + packed + sums


# --- encoding -------------------------------------------------------------------------------------------


def _encode(message: Json, out: BytesWriter) -> None:
    """Write one message of the notation."""
    given = object_of(message, "", "an HTTP message")
    only(given, ("start_line", "headers", "body", "compressed", "hessian", "trailers", "$wire"), "")
    wire = object_of(given.get("$wire", {}), "$wire", "forms by name")
    only(wire, ("lines", "trailer_lines", "chunks", "last", "content_length", "body"), "$wire")
    lines = object_of(wire.get("lines", {}), "$wire.lines", "lines by position")
    if "start_line" not in given:
        raise EncodeError("", 'a message needs its "start_line"')
    start_line = text_bytes(given["start_line"], "start_line")
    head = _Head(start_line + b"\r\n")
    if not head.valid:
        raise EncodeError("start_line", "expected a request line or a status line of HTTP/1")
    headers = _pairs(given.get("headers", []), "headers")
    for name, value in headers:
        if value is not None:
            head.take(name, value)
    content = _content(given, head)
    if content and head.has_no_body:
        raise EncodeError("body", f"a response of status {head.status} has no body")
    absent = wire.get("body") == "absent"
    chunked = head.chunked and not head.has_no_body and not absent
    if absent and content:
        raise EncodeError("$wire.body", "there is a body")
    if wire.get("content_length") != "as-is":
        for position, (name, value) in enumerate(headers):
            if value is not None and name.lower() == b"content-length" and _decimal(value) != len(content):
                headers[position] = (name, str(len(content)).encode())
        if content and head.status == 0 and not head.lengths and not head.transfer:
            headers.append((b"Content-Length", str(len(content)).encode()))
    before = _line_of(lines, "before", "$wire.lines")
    if before is not None:
        if before.strip(b"\r\n") or not before.endswith((b"\n", b"\r")):
            raise EncodeError("$wire.lines.before", "expected empty lines")
        out.write(before)
    raw = _line_of(lines, "start", "$wire.lines")
    if raw is None or not raw.endswith(b"\n") or _chomp(raw) != start_line:
        raw = start_line + b"\r\n"
    out.write(raw)
    _write_lines(headers, lines, "$wire.lines", "headers", out)
    if not chunked:
        out.write(content)
        if "trailers" in given:
            raise EncodeError("trailers", "only a chunked message has trailers")
        return
    _write_chunks(content, wire, out)
    trailer_lines = object_of(wire.get("trailer_lines", {}), "$wire.trailer_lines", "lines by position")
    _write_lines(
        _pairs(given.get("trailers", []), "trailers"), trailer_lines, "$wire.trailer_lines", "trailers", out
    )


def _chomp(line: bytes) -> bytes:
    """A line without its end."""
    return line[:-2] if line.endswith(b"\r\n") else line[:-1]


def _line_of(lines: dict[str, Json], name: str, path: str) -> bytes | None:
    """A line that `$wire` gives as it stands."""
    return text_bytes(lines[name], f"{path}.{name}") if name in lines else None


def _pairs(given: Json, path: str) -> list[tuple[bytes, bytes | None]]:
    """Headers or trailers: pairs [name, value]; null for a line without a colon."""
    pairs: list[tuple[bytes, bytes | None]] = []
    for position, pair in enumerate(array_of(given, path, "pairs [name, value]")):
        where = f"{path}[{position}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise EncodeError(where, "expected a pair [name, value]")
        name = text_bytes(pair[0], where + "[0]")
        pairs.append((name, None if pair[1] is None else text_bytes(pair[1], where + "[1]")))
    return pairs


def _says(line: bytes, name: bytes, value: bytes | None) -> bool:
    """True where a line is one header line that says a name and a value."""
    if not line.endswith(b"\n") or line in (b"\n", b"\r\n"):
        return False
    at = line.find(b"\n") + 1
    while at < len(line):
        if line[at] != 0x20 and line[at] != 0x09:
            return False
        at = line.find(b"\n", at) + 1
    parsed = _parse_line(line, 0, len(line))
    if line[: parsed.name_end] != name:
        return False
    if parsed.value < 0:
        return value is None
    return value == line[parsed.value : parsed.value_end]


def _write_lines(
    pairs: list[tuple[bytes, bytes | None]],
    lines: dict[str, Json],
    path: str,
    what: str,
    out: BytesWriter,
) -> None:
    """Write header lines and the empty line behind them."""
    for position, (name, value) in enumerate(pairs):
        raw = _line_of(lines, str(position), path)
        if raw is None or not _says(raw, name, value):
            raw = _usual_line(name, value)
            if not _says(raw, name, value):
                raise EncodeError(f"{what}[{position}]", "no header line can say this")
        if position and raw[:1] in (b" ", b"\t"):
            raise EncodeError(f"{what}[{position}]", "with a space before it, this continues the line before")
        out.write(raw)
    end = _line_of(lines, "end", path)
    if end is not None and end != b"\n" and end != b"\r\n":
        raise EncodeError(path + ".end", "expected a line end")
    out.write(b"\r\n" if end is None else end)


def _content(given: dict[str, Json], head: _Head) -> bytes:
    """The content of a message as it goes on the wire, before it is chunked."""
    if "body" not in given:
        for name in ("compressed", "hessian"):
            if name in given:
                raise EncodeError(name, "there is no body")
        return b""
    body = object_of(given["body"], "body", 'a message of Hessian, or with "data"')
    if "data" in body:
        only(body, ("data", "error", "partial"), "body")
        return hex_bytes(body["data"], "body.data")
    out = BytesWriter()
    dialect = payload.dialect_named(given.get("hessian"), d.FINAL, "hessian")
    encode_message(body, dialect, out, "body")
    content = out.getvalue()
    coding = head.coding
    if "compressed" in given:
        if not coding:
            raise EncodeError("compressed", "no Content-Encoding says that the content is compressed")
        packed = hex_bytes(given["compressed"], "compressed")
        inflated = _inflate(packed, coding, MAX_INFLATED)
        if inflated.whole and inflated.content == content:
            return packed
    return _deflate(content, coding) if coding else content


def _write_chunks(content: bytes, wire: dict[str, Json], out: BytesWriter) -> None:
    """Write content in chunks: one, or as `$wire` says."""
    given = wire.get("chunks")
    chunks: list[Json] = []
    if given is None:
        if content:
            chunks.append(len(content))
    else:
        chunks = array_of(given, "$wire.chunks", "sizes")
    at = 0
    for position, chunk in enumerate(chunks):
        path = f"$wire.chunks[{position}]"
        parts = chunk if isinstance(chunk, list) else [chunk]
        size = parts[0] if parts else None
        if isinstance(size, bool) or not isinstance(size, int) or size <= 0 or len(parts) > 3:
            raise EncodeError(path, "expected a size above 0, or [size, line, end]")
        line = text_bytes(parts[1], path + "[1]") if len(parts) > 1 else b"%x\r\n" % size
        match = _CHUNK.match(line)
        if match is None or match.end() != len(line) or int(match[1], 16) != size:
            raise EncodeError(path + "[1]", f"this line does not say the size {size}")
        ending = text_bytes(parts[2], path + "[2]") if len(parts) > 2 else b"\r\n"
        if ending not in (b"\r\n", b"\n"):
            raise EncodeError(path + "[2]", "expected a line end")
        out.write(line)
        out.write(content[at : at + size])
        out.write(ending)
        at += size
    if at != len(content):
        raise EncodeError("$wire.chunks", f"the chunks have {at} bytes, the content has {len(content)}")
    last = text_bytes(wire["last"], "$wire.last") if "last" in wire else b"0\r\n"
    match = _CHUNK.match(last)
    if match is None or match.end() != len(last) or int(match[1], 16) != 0:
        raise EncodeError("$wire.last", "this line does not say the size 0")
    out.write(last)


CODECS: Final = (Http("http"),)
