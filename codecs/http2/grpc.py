"""gRPC over HTTP/2: messages with a flag and a length, statuses, timeouts, paths.

Source: gRPC over HTTP2 (grpc/grpc, PROTOCOL-HTTP2.md).
"""

import binascii
from typing import Any, Final

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.http.codings import unpack, unpacked_limit
from wirelens.codecs.http2 import triple
from wirelens.codecs.node import field
from wirelens.codecs.protobuf import read_message
from wirelens.codecs.tape import Buffer, Fault, Tape

PREFIX: Final = 5  # bytes before a message: whether it is compressed, and its length
MAX_MESSAGE: Final = 1 << 26  # bytes of a message that wait for its rest
CONTENT_TYPE: Final = b"application/grpc"
CODINGS: Final = (b"gzip", b"deflate")
STATUSES: Final[dict[str, str]] = {
    "0": "OK",
    "1": "CANCELLED",
    "2": "UNKNOWN",
    "3": "INVALID_ARGUMENT",
    "4": "DEADLINE_EXCEEDED",
    "5": "NOT_FOUND",
    "6": "ALREADY_EXISTS",
    "7": "PERMISSION_DENIED",
    "8": "RESOURCE_EXHAUSTED",
    "9": "FAILED_PRECONDITION",
    "10": "ABORTED",
    "11": "OUT_OF_RANGE",
    "12": "UNIMPLEMENTED",
    "13": "INTERNAL",
    "14": "UNAVAILABLE",
    "15": "DATA_LOSS",
    "16": "UNAUTHENTICATED",
}
_UNITS: Final[dict[str, int]] = {
    "u": 1,
    "m": 1_000,
    "S": 1_000_000,
    "M": 60_000_000,
    "H": 3_600_000_000,
}

MESSAGES: Final = t.head(t.ARRAY, field("messages"))
_MESSAGE: Final = t.head(t.STRUCT)
_FRAMES: Final = t.head(t.ARRAY, field("frames"))
_FRAME: Final = t.head(t.INTEGER)
_COMPRESSED: Final = t.head(t.BOOLEAN, field("compressed"))
_SIZE: Final = t.head(t.INTEGER, field("size"))
_BODY: Final = t.head(t.STRUCT, field("body"))
_DATA: Final = t.head(t.HEX, field("data"))
_ERROR: Final = t.head(t.FAULT, field("error"))


class Pieces:
    """Bytes of a direction of a stream, each piece with its place in the input and its frame's."""

    def __init__(self) -> None:
        self.pieces: list[tuple[bytes, int, int]] = []
        self.size = 0

    def add(self, data: bytes, offset: int, frame: int) -> None:
        """Add bytes that are at `offset`, in the frame at `frame`."""
        if data:
            self.pieces.append((data, offset, frame))
            self.size += len(data)

    def clear(self) -> None:
        """Drop all."""
        self.pieces.clear()
        self.size = 0

    def head(self) -> bytes:
        """The first bytes, as many as a message has before its content."""
        head = b""
        for data, _, _ in self.pieces:
            head += data[: PREFIX - len(head)]
            if len(head) == PREFIX:
                break
        return head

    def needed(self) -> int:
        """The bytes of the first message; of its head where that is not whole; -1 if it is not one."""
        head = self.head()
        if head and head[0] > 1:
            return -1
        return PREFIX if len(head) < PREFIX else PREFIX + int.from_bytes(head[1:], "big")

    def take(self, size: int) -> "Pieces":
        """Take the first bytes out."""
        taken = Pieces()
        used = 0
        for data, offset, frame in self.pieces:
            if taken.size == size:
                break
            part = data[: size - taken.size]
            taken.add(part, offset, frame)
            if len(part) < len(data):
                self.pieces[used] = (data[len(part) :], offset + len(part), frame)
                break
            used += 1
        del self.pieces[:used]
        self.size -= size
        return taken

    def joined(self) -> Buffer:
        """The bytes as one buffer that knows their places."""
        at = 0
        segments: list[tuple[int, int]] = []
        for data, offset, _ in self.pieces:
            segments.append((at, offset))
            at += len(data)
        first = self.pieces[0][1] if self.pieces else 0
        return Buffer(b"".join([data for data, _, _ in self.pieces]), first, segments)

    def save(self) -> tuple[Any, ...]:
        """The pieces as plain values."""
        return tuple(self.pieces)

    def load(self, state: tuple[Any, ...]) -> None:
        """Continue with what `save` gave."""
        for data, offset, frame in state:
            self.add(data, offset, frame)


def write_message(
    tape: Tape, message: Pieces, frame: int, coding: bytes | None, role: int, span: tuple[int, int]
) -> None:
    """Write a whole message with its head, as an item; its last bytes are in the frame at `frame`.

    `coding`: the header grpc-encoding, empty if there is none, None if that is not known. `role`: as ROLE.
    `span`: of the data in this frame.
    """
    buffer = message.joined()
    compressed = buffer.data[0]
    number = len(tape.buffers)
    tape.buffers.append(buffer)
    item = tape.open(_MESSAGE | t.EMBEDDED, span[0], number)
    frames = sorted({place for _, _, place in message.pieces} | {frame})
    if len(frames) > 1:
        array = tape.open(_FRAMES, 0, 0)
        for place in frames:
            tape.leaf(_FRAME, 0, 0, place)
        tape.close(array, 0)
    if compressed:
        tape.leaf(_COMPRESSED, 0, 1, 1)
    size = len(buffer.data) - PREFIX
    tape.leaf(_SIZE, 1, PREFIX, size)
    if compressed:
        _write_unpacked(tape, buffer, coding, role)
    elif size:
        body = tape.open(_BODY, PREFIX, 0)
        write_content(tape, Cursor(buffer, PREFIX, PREFIX + size), role)
        tape.close(body, PREFIX + size)
    tape.close(item, span[1])


def _write_unpacked(tape: Tape, buffer: Buffer, coding: bytes | None, role: int) -> None:
    """Write the content of a compressed message."""
    packed = buffer.data[PREFIX:]
    end = len(buffer.data)
    if coding is None:
        coding = b"gzip" if packed.startswith(b"\x1f\x8b") else b"deflate"
    text = ""
    code = "bad-value"
    content = b""
    if not coding:
        text = "the message is compressed, but grpc-encoding is not stated"
    elif coding not in CODINGS:
        text = f"messages compressed by {coding.decode('utf-8', 'replace')} are not unpacked"
    else:
        limit = unpacked_limit(len(packed))
        unpacked = unpack(packed, coding, limit)
        content = unpacked.content
        if unpacked.over:
            code = "limit"
            text = f"the message expands to more than {limit} bytes"
        elif not unpacked.whole:
            text = f"the message is not {coding.decode()} data, or is incomplete"
    if text:
        tape.leaf(_DATA, PREFIX, end, PREFIX)
        tape.fault(_ERROR, end, Fault(code, buffer.absolute(PREFIX), text))
        return
    inner = Buffer(content, buffer.absolute(PREFIX), None, True)
    number = len(tape.buffers)
    tape.buffers.append(inner)
    body = tape.open(_BODY | t.EMBEDDED, PREFIX, number)
    write_content(tape, Cursor(inner, 0, len(content)), role)
    tape.close(body, end)


def write_content(tape: Tape, cursor: Cursor, role: int) -> None:
    """Write the members of a message: those of Triple's wrappers, or protobuf fields by number."""
    start = cursor.pos
    mark = tape.mark()
    if triple.write_wrapper(tape, cursor, role):
        return
    cursor.pos = start
    try:
        read_message(cursor, tape, {})
    except DecodeError as error:
        tape.rollback(mark)
        tape.leaf(_DATA, start, cursor.end, start)
        text = f"the message is not protobuf: {error.text}"
        tape.note("bad-protobuf", start, text, cursor.buffer)


def path_parts(path: str) -> tuple[str, str]:
    """Service and method of a path; the method is the whole path where it has no such parts."""
    service, slash, method = path.lstrip("/").rpartition("/")
    return (service, method) if slash and method else ("", path)


def timeout_us(text: str) -> int | None:
    """The microseconds of a header grpc-timeout; None if it is not one."""
    digits, unit = text[:-1], text[-1:]
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 8:
        return None
    if unit == "n":
        return max(int(digits) // 1000, 1) if int(digits) else None
    return int(digits) * _UNITS[unit] or None if unit in _UNITS else None


def percent_decoded(value: bytes) -> str:
    """A grpc-message as text: UTF-8 in which some bytes are written as % and two hex digits."""
    parts = value.split(b"%")
    out = bytearray(parts[0])
    for part in parts[1:]:
        try:
            out += bytes.fromhex(part[:2].decode("ascii")) if len(part) >= 2 else b"%"
            out += part[2:] if len(part) >= 2 else part
        except ValueError:
            out += b"%" + part
    return out.decode("utf-8", "replace")


def binary_value(value: bytes) -> bytes | None:
    """The bytes that a header whose name ends in -bin stands for; None if it is not written as one."""
    if value.startswith(b"\0"):
        return value[1:]
    try:
        return binascii.a2b_base64(value + b"=" * (-len(value) % 4), strict_mode=True)
    except binascii.Error:
        return None
