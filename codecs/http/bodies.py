"""Bodies of HTTP: joined from pieces, unpacked, and read as the message of Hessian that they may be."""

import re
from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.decoding import Messages
from wirelens.codecs.http.codings import pack, unpack, unpacked_limit
from wirelens.codecs.http.lines import NEXT_START, Head
from wirelens.codecs.http.vocabulary import BODY, COMPRESSED, PIECE
from wirelens.codecs.payload import DATA, DIALECT, ERROR, PARTIAL, HessianContent
from wirelens.codecs.tape import Buffer, Fault, Tape
from wirelens.codecs.words import count

PREFIX: Final = 256  # bytes of a body that decide whether it may be Hessian

_JAVA_NAME: Final = rb"[A-Za-z_$\[][A-Za-z0-9_$]*(?:\.[A-Za-z_$][A-Za-z0-9_$]*)+"


class Body:
    """Gathers the pieces of a message's body and writes it onto the tape."""

    def __init__(self, cursor: Cursor, tape: Tape) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.buffer: Final = cursor.buffer
        self.pieces: list[tuple[int, int]] = []  # where pieces of the content start and end in the buffer
        self.length: i64 = 0  # bytes of all pieces

    def add(self, start: i64, end: i64) -> None:
        """Add a piece of the content."""
        if end > start:
            self.pieces.append((int(start), int(end)))
            self.length += end - start

    def clip(self, start: i64) -> None:
        """Drop what is not before the next message after `start`: there decoding goes on."""
        match = re.compile(NEXT_START).search(self.buffer.data, start, self.cursor.end)
        if match is None:
            return
        until: i64 = match.start()
        pieces = self.pieces
        self.pieces = []
        self.length = 0
        for first, last in pieces:
            self.add(first, min(last, until))

    def start(self) -> i64:
        """Where the content starts in the buffer."""
        return self.pieces[0][0]

    def end(self) -> i64:
        """Where the content ends in the buffer."""
        return self.pieces[-1][1]

    def write(self, head: Head) -> None:
        """Write the body: the message of Hessian that it is, or its bytes."""
        if not self.pieces:
            return
        tape = self.tape
        joined, start, end = self._joined()
        coding = head.coding
        prefix = joined.data[start : min(end, start + PREFIX)]
        if coding:
            prefix = unpack(joined.data[start : min(end, start + 4 * PREFIX)], coding, PREFIX).content
        dialects = _candidates(prefix, head.claims_hessian)
        if not dialects:
            self._write_bytes(None)
            return
        content = MessageContent(Cursor(joined, start, end), tape, self)
        if coding:
            limit = unpacked_limit(end - start)
            unpacked = unpack(joined.data[start:end], coding, limit)
            if not unpacked.whole:
                fault: Fault | None = None
                if unpacked.over:
                    tape.note("limit", start, f"the content expands to more than {limit} bytes", joined)
                elif head.claims_hessian:
                    text = f"the content is not {coding.decode()} data, or is incomplete"
                    fault = Fault("bad-value", self.buffer.absolute(self.start()), text)
                self._write_bytes(fault)
                return
            content = self._unpacked_content(unpacked.content)
        if content.fit(dialects, True):
            if coding and pack(content.cursor.data, coding) != joined.data[start:end]:
                self.write_hex(COMPRESSED)
            tape.leaf(DIALECT, self.cursor.pos, self.cursor.pos, content.way)
            return
        error = content.error
        if error is None or not head.claims_hessian:
            self._write_bytes(None)
        elif _is_markup(prefix):
            text = "the content type is Hessian, but the body is text"
            self._write_bytes(Fault("bad-value", error.offset, text))
        else:
            body = tape.open(BODY, self.start(), 0)
            content.write_damaged(error)
            tape.close(body, self.end())

    def write_cut(self, head: Head) -> str:
        """Write a body that is not all there; returns what was expected where it breaks off, if known."""
        if not self.pieces:
            return ""
        tape = self.tape
        joined, start, end = self._joined()
        content = MessageContent(Cursor(joined, start, end), tape, self)
        if head.coding:
            unpacked = unpack(joined.data[start:end], head.coding, unpacked_limit(end - start))
            content = self._unpacked_content(unpacked.content)
        first = content.start
        last = content.end
        prefix = content.cursor.data[first : min(last, first + PREFIX)]
        dialects = _candidates(prefix, head.claims_hessian)
        if dialects and last > first:
            if content.fit(dialects, True):
                return ""
            error = content.error
            size = tape.size()
            content.read(content.way)
            if error is not None and not content.is_empty(size):
                return error.text
            tape.cut(size)
        self._write_bytes(None)
        return ""

    def write_hex(self, head: i64) -> None:
        """Write the content, as it is on the wire, as a member in hex."""
        tape = self.tape
        if len(self.pieces) == 1:
            tape.leaf(head, self.start(), self.end(), self.start())
            return
        member = tape.open(head, self.start(), -1)
        for start, end in self.pieces:
            tape.leaf(PIECE, start, end, start)
        tape.close(member, self.end())

    def _write_bytes(self, fault: Fault | None) -> None:
        """Write a body as bytes."""
        tape = self.tape
        body = tape.open(BODY, self.start(), 0)
        self.write_hex(DATA)
        if fault is not None:
            tape.fault(ERROR, self.end(), fault)
        tape.close(body, self.end())

    def _joined(self) -> tuple[Buffer, i64, i64]:
        """The content as it is on the wire: a buffer, and where in it the content starts and ends."""
        buffer = self.buffer
        if len(self.pieces) == 1:
            return buffer, self.start(), self.end()
        total = 0
        segments: list[tuple[int, int]] = []
        parts: list[bytes] = []
        for start, end in self.pieces:
            segments.append((total, int(buffer.absolute(start))))
            parts.append(buffer.data[start:end])
            total += end - start
        return Buffer(b"".join(parts), buffer.base, segments), 0, total

    def _unpacked_content(self, unpacked: bytes) -> "MessageContent":
        buffer = Buffer(unpacked, self.buffer.absolute(self.start()), None, True)
        return MessageContent(Cursor(buffer, 0, len(unpacked)), self.tape, self)


@mypyc_attr(acyclic=True)
class MessageContent(HessianContent):
    """Reads a body as one message of Hessian, in the body's own buffer or another. A way is a dialect."""

    def __init__(self, cursor: Cursor, tape: Tape, body: Body) -> None:
        super().__init__(cursor, tape, -1, 0)
        self.body: Final = body
        self.head: i64 = BODY  # of the node that the message becomes

    def read(self, way: i64) -> DecodeError | None:
        """See HessianContent.read."""
        tape = self.tape
        cursor = self.cursor
        index = tape.size()
        head = self.head
        number: i64 = 0
        if cursor.buffer is not self.body.buffer:
            number = len(tape.buffers)
            tape.buffers.append(cursor.buffer)
            head |= t.EMBEDDED
        failure: DecodeError | None = None
        try:
            Messages(way, cursor, tape, True).read(head, number)
            if cursor.pos < self.end:
                text = f"{count(self.end - cursor.pos, 'byte')} left after the message"
                failure = cursor.error("extra-bytes", cursor.pos, text)
        except DecodeError as error:
            failure = error
        if tape.size() > index:
            tape.close_from(index, cursor.pos)
            tape.set_span(index, self.body.start(), self.body.end())
        return failure

    def write_partial(self) -> None:
        """See HessianContent.write_partial."""
        size = self.tape.size()
        self.head = PARTIAL
        self.read(self.way)
        if self.is_empty(size):
            self.tape.cut(size)

    def is_empty(self, partial: i64) -> bool:
        """See HessianContent.is_empty. One node below the message is its opcode or version."""
        return self.tape.nodes(partial, self.tape.size()) <= 2

    def write_data(self) -> i64:
        """See HessianContent.write_data."""
        self.body.write_hex(DATA)
        return self.body.end()


def _candidates(prefix: bytes, claimed: bool) -> tuple[int, ...]:
    """The dialects in which a body that starts like this may be a message; empty if it is not Hessian.

    `claimed`: the content type is Hessian. A body that starts `c 02 00` mostly has values of 1.0.
    """
    opening = prefix[:1]
    version = prefix[1:3]
    dialects: tuple[int, ...] = ()
    if opening in (b"c", b"r") and version in (b"\1\0", b"\2\0", b"\0\1"):
        dialects = (d.V1, d.DRAFT)
    elif opening == b"H" and version == b"\2\0":
        dialects = (d.FINAL,)
    elif opening in (b"p", b"E") and version == b"\2\0":
        dialects = (d.DRAFT, d.FINAL)
    elif opening == b"C" and _has_java_name(prefix, 2 if prefix[1:2] < b"\x20" else 3):
        dialects = (d.FINAL,)
    elif opening == b"O" and (_has_java_name(prefix, 2) or _has_java_name(prefix, 3)):
        dialects = (d.DRAFT,)
    elif opening in (b"M", b"V") and prefix[1:2] == b"t" and _has_java_name(prefix, 4):
        dialects = (d.V1, d.DRAFT)
    if claimed:
        dialects += tuple([dialect for dialect in (d.FINAL, d.DRAFT, d.V1) if dialect not in dialects])
    return dialects


def _is_markup(prefix: bytes) -> bool:
    """Whether a body starts like HTML, XML or JSON, as proxies and login pages answer."""
    return prefix.lstrip()[:1] in (b"<", b"{")


def _has_java_name(prefix: bytes, at: int) -> bool:
    """Whether the name of a Java class in a package is at a position."""
    return re.compile(_JAVA_NAME).match(prefix, at) is not None
