"""Decoding HTTP/2: one frame, or the preface of the client."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.cursor import Cursor
from wirelens.codecs.fields import read_rest
from wirelens.codecs.http2 import vocabulary as v
from wirelens.codecs.tape import Tape
from wirelens.codecs.words import count

_BIT: Final = 1 << 31


def decode_message(cursor: Cursor, tape: Tape, final: bool) -> None:
    """See Codec.decode."""
    start = cursor.pos
    data = cursor.data
    head = data[start : min(cursor.end, start + len(v.PREFACE))]
    if v.PREFACE.startswith(head):
        cursor.need(len(v.PREFACE), "the preface of a connection")
        cursor.pos = start + len(v.PREFACE)
        root = tape.open(v.ROOT, start, 0)
        tape.leaf(v.PREFACE_NODE, start, cursor.pos, 1)
        tape.close(root, cursor.pos)
        return
    if cursor.left() < v.HEAD:
        raise cursor.short(v.HEAD, "the head of a frame")
    _Frame(cursor, tape).read()


def head_error(data: bytes, at: i64) -> tuple[str, str] | None:
    """Code and text of why the nine bytes at a position are not the head of a frame; None if they are."""
    length: i64 = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
    frame_type: i64 = data[at + 3]
    flags: i64 = data[at + 4]
    stream: i64 = (data[at + 5] & 0x7F) << 24 | data[at + 6] << 16 | data[at + 7] << 8 | data[at + 8]
    if frame_type > v.CONTINUATION:
        if length > v.MAX_OTHER:
            return "bad-length", f"a frame of the unknown type {frame_type} with {length} bytes"
        return None
    name = v.TYPES[int(frame_type)]
    if stream == 0 and int(frame_type) in v.OF_STREAMS:
        return "bad-value", f"{name} without a stream"
    if stream and int(frame_type) in v.OF_CONNECTIONS:
        return "bad-value", f"{name} of stream {stream}; it belongs to the connection"
    size = count(length, "byte")
    fixed = v.LENGTHS.get(int(frame_type))
    if fixed is not None:
        return None if length == fixed else ("bad-length", f"{name} of {size}; it has {fixed}")
    least: i64 = 0
    if frame_type == v.SETTINGS:
        if length % v.SETTING or (flags & v.ACK and length):
            return "bad-length", f"SETTINGS of {size}"
    elif frame_type == v.GOAWAY:
        least = v.LEAST_GOAWAY
    elif frame_type == v.PUSH_PROMISE:
        least = 4
    elif frame_type == v.HEADERS and flags & v.HAS_PRIORITY:
        least = v.PRIORITY_SIZE
    if flags & v.PADDED and int(frame_type) in (v.DATA, v.HEADERS, v.PUSH_PROMISE):
        least += 1
    return ("bad-length", f"{name} of {size}; it has at least {least}") if length < least else None


class _Frame:
    """Reads one frame from a cursor onto a tape."""

    def __init__(self, cursor: Cursor, tape: Tape) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.flags: i64 = 0
        self.unusual = 0

    def read(self) -> None:
        """Read the frame. Of one that is cut the head is written before the error."""
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        start = cursor.pos
        wrong = head_error(data, start)
        if wrong is not None:
            code, text = wrong
            raise cursor.error(code, start, text)
        length: i64 = data[start] << 16 | data[start + 1] << 8 | data[start + 2]
        if length > cursor.left() - v.HEAD:
            short = cursor.short(v.HEAD + length, "a frame")
            self._head(start, length)
            self._cut(start)
            raise short
        outer = cursor.end
        root = self._head(start, length)
        cursor.end = cursor.pos + length
        self._payload(data[start + 3])
        cursor.end = outer
        if self.unusual:
            tape.set_form(root, v.FORMS[self.unusual])
        tape.close(root, cursor.pos)

    def _head(self, start: i64, length: i64) -> i64:
        """Write the head of a frame; returns its node."""
        tape = self.tape
        data = self.cursor.data
        root = tape.open(v.ROOT, start, 0)
        tape.leaf(v.LENGTH, start, start + 3, length)
        tape.leaf(v.TYPE, start + 3, start + 4, data[start + 3])
        self.flags = data[start + 4]
        flags = self.flags
        if flags & v.ACK and int(data[start + 3]) in v.ACKNOWLEDGED:
            tape.leaf(v.ACK_NODE, start + 4, start + 5, 1)
            flags &= ~v.ACK
        if flags:
            tape.leaf(v.FLAGS_NODE, start + 4, start + 5, flags)
        self.cursor.pos = start + 5
        self._stream(v.STREAM, v.RESERVED)
        return root

    def _cut(self, start: i64) -> None:
        """Write what is there of data or a header block without padding."""
        frame_type = self.cursor.data[start + 3]
        if self.flags & (v.PADDED | v.HAS_PRIORITY) == 0 and self.cursor.left():
            if frame_type == v.DATA:
                read_rest(self.cursor, self.tape, v.DATA_NODE)
            elif frame_type == v.HEADERS or frame_type == v.CONTINUATION:
                read_rest(self.cursor, self.tape, v.FRAGMENT)

    def _stream(self, head: i64, reserved: int) -> None:
        """Read 31 bits after a reserved one."""
        start = self.cursor.pos
        number = self.cursor.u32("a number of 31 bits")
        if number & _BIT:
            self.unusual |= reserved
        self.tape.leaf(head, start, start + 4, number & ~_BIT)

    def _payload(self, frame_type: i64) -> None:
        cursor = self.cursor
        tape = self.tape
        if frame_type == v.DATA:
            self._padded(v.DATA_NODE, frame_type)
        elif frame_type == v.HEADERS:
            self._padded(v.FRAGMENT, frame_type)
        elif frame_type == v.PRIORITY:
            self._priority()
        elif frame_type == v.RST_STREAM:
            self._error_code()
        elif frame_type == v.SETTINGS:
            self._settings()
        elif frame_type == v.PUSH_PROMISE:
            self._padded(v.FRAGMENT, frame_type)
        elif frame_type == v.GOAWAY:
            self._stream(v.LAST_STREAM_NODE, v.RESERVED_PAYLOAD)
            self._error_code()
            read_rest(cursor, tape, v.DEBUG)
        elif frame_type == v.WINDOW_UPDATE:
            self._stream(v.INCREMENT, v.RESERVED_PAYLOAD)
        elif frame_type == v.CONTINUATION:
            read_rest(cursor, tape, v.FRAGMENT)
        else:
            read_rest(cursor, tape, v.DATA_NODE)

    def _padded(self, content: i64, frame_type: i64) -> None:
        """Read content that may have padding, with what HEADERS and PUSH_PROMISE have before it."""
        cursor = self.cursor
        tape = self.tape
        outer = cursor.end
        padding: i64 = -1
        if self.flags & v.PADDED:
            start = cursor.pos
            padding = cursor.u8("the length of the padding")
            tape.leaf(v.PAD_LENGTH, start, cursor.pos, padding)
            if padding > cursor.left():
                text = f"{count(padding, 'byte')} of padding; {cursor.left()} are left"
                raise cursor.error("bad-length", start, text)
            cursor.end = outer - padding
        if frame_type == v.HEADERS and self.flags & v.HAS_PRIORITY:
            self._priority()
        elif frame_type == v.PUSH_PROMISE:
            self._stream(v.PROMISED, v.RESERVED_PAYLOAD)
        read_rest(cursor, tape, content)
        cursor.end = outer
        if padding >= 0:
            read_rest(cursor, tape, v.PADDING)

    def _priority(self) -> None:
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        number = cursor.u32("the stream that this one depends on")
        tape.leaf(v.EXCLUSIVE, start, start + 1, 1 if number & _BIT else 0)
        tape.leaf(v.DEPENDS_ON, start, start + 4, number & ~_BIT)
        weight = cursor.u8("a weight")
        tape.leaf(v.WEIGHT, start + 4, start + 5, weight + 1)

    def _error_code(self) -> None:
        start = self.cursor.pos
        self.tape.leaf(v.ERROR_CODE, start, start + 4, self.cursor.u32("an error code"))

    def _settings(self) -> None:
        cursor = self.cursor
        tape = self.tape
        settings = tape.open(v.SETTINGS_NODE, cursor.pos, 0)
        while cursor.pos < cursor.end:
            start = cursor.pos
            setting = tape.open(v.SETTING_NODE, start, 0)
            tape.leaf(v.SETTING_ID, start, start + 2, cursor.u16("the number of a setting"))
            tape.leaf(v.SETTING_VALUE, start + 2, start + 6, cursor.u32("the value of a setting"))
            tape.close(setting, cursor.pos)
        tape.close(settings, cursor.pos)
