"""Decoding HTTP/1.1: start line, headers, the body's framing, chunks and trailers."""

import re
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian.class_notes import class_notes
from wirelens.codecs.http.bodies import Body
from wirelens.codecs.http.lines import (
    CHUNK_LINE,
    NEXT_START,
    START_LINE,
    START_PREFIX,
    STATUS_LINE,
    Head,
    Line,
    is_space,
    parse_line,
)
from wirelens.codecs.http.vocabulary import (
    ABSENT_BODY,
    BEFORE,
    BLANK,
    CHUNK,
    FORMS,
    HEADERS,
    MAX_BEFORE,
    MAX_BODY,
    MAX_CHUNK_LINE,
    MAX_HEAD,
    MAX_START_LINE,
    NO_VALUE,
    OTHER_LENGTH,
    PAIR,
    ROOT,
    START,
    TEXT,
    TRAILER_END,
    TRAILERS,
    UNUSUAL_CHUNKS,
    UNUSUAL_LINES,
)
from wirelens.codecs.tape import Tape
from wirelens.codecs.words import count


def decode_message(
    cursor: Cursor, tape: Tape, final: bool, tunnel: bool = False, perhaps: bool = False, cut: bool = False
) -> None:
    """See Codec.decode. A body that ends with the connection ends with the input, if that is final.

    `tunnel`: a response is to CONNECT, so one of status 2xx has no body whatever its headers state;
    `perhaps`: it may be, so one that does not state how long its body is has none. `cut`: bytes are missing
    after the input.
    """
    try:
        _Reader(cursor, tape, final, tunnel, perhaps, cut).read()
    finally:
        class_notes(tape)


class _Reader:
    """Reads one message from a cursor onto a tape."""

    def __init__(
        self, cursor: Cursor, tape: Tape, final: bool, tunnel: bool, perhaps: bool, cut: bool
    ) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.final: Final = final
        self.tunnel: Final = tunnel
        self.perhaps: Final = perhaps
        self.cut: Final = cut
        self.data: Final = cursor.data
        self.end: Final[i64] = cursor.end
        self.body: Final = Body(cursor, tape)
        self.head = Head(b"")
        self.flags = 0  # what is unusual

    def read(self) -> None:
        cursor = self.cursor
        tape = self.tape
        data = self.data
        start = cursor.pos
        at = start
        while at < self.end and at - start < MAX_BEFORE and (data[at] == 0x0A or data[at] == 0x0D):
            at += 1
        line_end = self._start_line_end(start, at)
        root = tape.open(ROOT, start, 0)
        if at > start:
            tape.leaf(BEFORE, start, at, 0)
            self.flags |= UNUSUAL_LINES
        content = line_end - 1
        if data[content - 1] == 0x0D:
            content -= 1
        else:
            self.flags |= UNUSUAL_LINES
        tape.leaf(START, at, content, at)
        self.head = Head(data[at:line_end])
        cursor.pos = line_end
        self._headers(HEADERS, BLANK, True)
        self._framing()
        if not self.head.states_length(int(self.body.length)):
            self.flags |= OTHER_LENGTH
        if self.flags:
            tape.set_form(root, FORMS[self.flags])
        tape.close(root, cursor.pos)

    # --- lines ------------------------------------------------------------------------------------------

    def _start_line_end(self, start: i64, at: i64) -> i64:
        """Check the start line at a position; returns the position after it."""
        cursor = self.cursor
        data = self.data
        until = min(self.end, at + MAX_START_LINE)
        newline: i64 = data.find(b"\n", at, until)
        if newline < 0:
            begins = at == self.end or START_PREFIX.match(data[at : min(until, at + 40)]) is not None
            if begins and until == self.end:
                raise cursor.short(self.end - start + 1, "the end of a start line")
        elif START_LINE.match(data, at, newline + 1) is not None:
            return newline + 1
        raise cursor.error("no-message", start, "expected a request line or a status line of HTTP/1")

    def _line_end(self, start: i64, at: i64, limit: i64, what: str) -> i64:
        """The position after the line at `at`; at most `limit` bytes after `start`."""
        newline: i64 = self.data.find(b"\n", at, min(self.end, start + limit))
        if newline < 0:
            self.cursor.pos = at
            if self.end - start >= limit:
                raise self.cursor.error("limit", at, f"more than {limit} bytes of {what}")
            raise self.cursor.short(self.end - at + 1, f"the end of {what}")
        return newline + 1

    def _is_empty_line(self, at: i64, after: i64) -> bool:
        return after - at == 1 or (after - at == 2 and self.data[at] == 0x0D)

    def _headers(self, head: i64, blank: i64, of_message: bool) -> None:
        """Read header lines, or trailers, up to an empty line."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        what = "the headers" if of_message else "the trailers"
        headers: i64 = -1
        at = start
        while True:
            after = self._line_end(start, at, MAX_HEAD, what)
            if self._is_empty_line(at, after):
                break
            if headers < 0:
                headers = tape.open(head, start, 0)
            while True:
                if after >= self.end:
                    cursor.pos = after
                    raise cursor.short(1, f"the end of {what}")
                if not is_space(self.data[after]):
                    break
                after = self._line_end(start, after, MAX_HEAD, what)
                text = "a header's value goes on in the next line"
                tape.note("bad-header", at, text, cursor.buffer)
            self._header(parse_line(self.data, at, after), of_message)
            at = after
            cursor.pos = at
        data = self.data
        nul: i64 = data.find(b"\0", start, after)
        if nul >= 0:
            tape.note("bad-header", nul, "a NUL in a header line", cursor.buffer)
        if data.count(b"\r", start, after) != data.count(b"\r\n", start, after):
            tape.note("bad-header", start, "a CR without LF in a header line", cursor.buffer)
        if headers < 0 and of_message:
            headers = tape.open(head, start, 0)
        if headers >= 0:
            tape.close(headers, at)
        tape.leaf(blank, at, after, 0)
        if after - at == 1:
            self.flags |= UNUSUAL_LINES
        cursor.pos = after

    def _header(self, line: Line, of_message: bool) -> None:
        """Write a header line."""
        tape = self.tape
        data = self.data
        pair = tape.open(PAIR, line.start, 0)
        tape.leaf(TEXT, line.start, line.name_end, line.start)
        if line.value < 0:
            tape.leaf(NO_VALUE, line.name_end, line.name_end, 0)
            tape.note("bad-header", line.start, "a header line without a colon", self.cursor.buffer)
        else:
            tape.leaf(TEXT, line.value, line.value_end, line.value)
            if of_message:
                self.head.add(data[line.start : line.name_end], data[line.value : line.value_end])
        tape.close(pair, line.end)
        if not line.usual:
            self.flags |= UNUSUAL_LINES
            if line.value >= 0 and data[line.name_end] != 0x3A:
                text = "space between a header's name and its colon"
                tape.note("bad-header", line.start, text, self.cursor.buffer)

    # --- the body's framing -----------------------------------------------------------------------------

    def _framing(self) -> None:
        """Read the body, framed by the rules of RFC 9112, section 6.3."""
        head = self.head
        cursor = self.cursor
        response = head.status != 0
        if head.has_no_body:
            return
        if head.connected or (self.tunnel and 200 <= head.status < 300):
            if head.chunked:
                self.flags |= ABSENT_BODY
            return
        start = cursor.pos
        length = head.length
        self._note_smuggling()
        if head.chunked:
            if response and self._lacks_body("a chunked body"):
                self.flags |= ABSENT_BODY
                return
            self._chunked()
            return
        if length == -2:
            self._note_header("Content-Length is not a length")
        if head.transfer:
            self._note_header("Transfer-Encoding does not end with chunked")
        if length >= 0 and not head.transfer:
            if length == 0 or (response and self._lacks_body(f"a body of {length} bytes")):
                return
            if length > MAX_BODY:
                raise cursor.error("limit", start, f"a body of {length} bytes; {MAX_BODY} are allowed")
            left = cursor.left()
            if length > left:
                if not self.final:
                    raise cursor.short(length, "the body")
                missing = length - left
                self._cut(f"{count(missing, 'byte')} of the body missing")
            self._body_to(start + length)
        elif response:
            if 200 <= head.status < 300:
                if self.perhaps or STATUS_LINE.match(self.data, start, self.end) is not None:
                    return
            if not self.final:
                raise cursor.short(cursor.left() + 1, "the rest of the body, up to the end of the stream")
            self._body_to(self.end)

    def _body_to(self, end: i64) -> None:
        """Read the body from the cursor up to `end`."""
        self.body.add(self.cursor.pos, end)
        self.cursor.pos = end
        self.body.write(self.head)

    def _note_smuggling(self) -> None:
        """Note what readers in a row may frame differently, so that they see different messages."""
        head = self.head
        if head.transfer:
            if head.lengths:
                self._note_header("Content-Length together with Transfer-Encoding; the latter counts")
            if head.transfer.count(b"chunked") > 1:
                self._note_header("Transfer-Encoding has chunked more than once")
            if head.minor == 0:
                self._note_header("Transfer-Encoding in HTTP/1.0, where many readers ignore it")
        if head.length >= 0 and (len(head.lengths) > 1 or b"," in head.lengths[0]):
            self._note_header("Content-Length more than once")

    def _note_header(self, text: str) -> None:
        self.tape.note("bad-header", self.tape.start(self.tape.following(0)), text, self.cursor.buffer)

    def _lacks_body(self, what: str) -> bool:
        """Whether a response has no body although it announces one, as the reply to a HEAD.

        Known by what follows: the next response, or nothing more at all.
        """
        cursor = self.cursor
        if cursor.pos == self.end:
            if not self.final or self.cut:
                return False
        elif STATUS_LINE.match(self.data, cursor.pos, self.end) is None:
            return False
        self.tape.note("no-body", cursor.pos, f"{what} is announced but absent", cursor.buffer)
        return True

    def _cut(self, text: str) -> None:
        """Write what is there of a body of known length that is cut, and raise."""
        cursor = self.cursor
        # no further than to the next message, where decoding goes on
        until = self.end
        match = re.compile(NEXT_START).search(self.data, cursor.pos, self.end)
        if match is not None:
            until = match.start()
        self.body.add(cursor.pos, until)
        expected = self.body.write_cut(self.head)
        cursor.pos = until
        if expected:
            text = f"{text}: {expected}"
        raise DecodeError("truncated", int(cursor.buffer.absolute(until)), text)

    # --- chunks -----------------------------------------------------------------------------------------

    def _chunked(self) -> None:
        """Read chunks up to the last one, and trailers."""
        cursor = self.cursor
        tape = self.tape
        body = self.body
        start = cursor.pos
        chunks: list[tuple[int, int, int]] = []  # start and end of a chunk's line, size
        error: DecodeError | None = None
        usual = True
        try:
            usual = self._read_chunks(chunks)
        except DecodeError as failure:
            if failure.incomplete and not self.final:
                raise
            error = failure
        for line, content, size in chunks:
            tape.leaf(CHUNK, line, content, size)
        after = cursor.pos
        if error is not None:
            body.clip(chunks[0][1] if chunks else start)
            body.write_cut(self.head)
            cursor.pos = after
            raise error
        if not usual or len(chunks) != (2 if body.length else 1):
            self.flags |= UNUSUAL_CHUNKS
        # Trailers follow the body in the bytes, and must be whole before it is written.
        try:
            self._skip_trailers()
        except DecodeError as failure:
            if not failure.incomplete or self.final:
                body.write(self.head)
            raise
        body.write(self.head)
        cursor.pos = after
        self._headers(TRAILERS, TRAILER_END, False)

    def _read_chunks(self, chunks: list[tuple[int, int, int]]) -> bool:
        """Read chunks up to the last one and add them to `chunks`; whether all are written as usual."""
        cursor = self.cursor
        data = self.data
        body = self.body
        usual = True
        at = cursor.pos
        while True:
            after = self._line_end(at, at, MAX_CHUNK_LINE, "a chunk's size")
            match = CHUNK_LINE.match(data, at, after)
            if match is None or match.end() != after:
                raise cursor.error("bad-value", at, "expected a chunk's size in hex digits")
            size: i64 = min(int(match[1], 16), MAX_BODY + 1)
            if size + body.length > MAX_BODY:
                raise cursor.error("limit", at, f"a body of more than {MAX_BODY} bytes")
            chunks.append((int(at), int(after), int(size)))
            usual = usual and data[at:after] == b"%x\r\n" % int(size)
            cursor.pos = after
            if size == 0:
                return usual
            if size > cursor.left():
                if self.final:
                    body.add(after, self.end)
                raise cursor.short(size, "a chunk")
            body.add(after, after + size)
            at = after + size
            cursor.pos = at
            after = self._line_end(at, at, 2, "a chunk")
            usual = usual and after - at == 2
            if after - at == 2 and data[at] != 0x0D:
                raise cursor.error("bad-value", at, "expected a line end after a chunk")
            at = after

    def _skip_trailers(self) -> None:
        """Raise if the trailers at the cursor are not all there."""
        start = self.cursor.pos
        at = start
        while True:
            after = self._line_end(start, at, MAX_HEAD, "the trailers")
            if self._is_empty_line(at, after):
                return
            at = after
