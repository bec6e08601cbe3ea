"""Decoding Bolt: the header, the header map, and content in Hessian in one dialect or another."""

import zlib
from typing import Final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.bolt.vocabulary import (
    CHECKED,
    CLASS,
    CODEC,
    COMMAND,
    COMMAND_VERSION,
    CONTENT,
    CRC,
    DAMAGED_HEADERS,
    HEADER_SIZE,
    HEADERS,
    HEARTBEAT,
    HESSIAN,
    ID,
    JSON_TEXT,
    LENGTH,
    MAX_CONTENT,
    NO_CLASS_FORM,
    NULL_TEXT,
    PAIR,
    PROTOCOL_VERSION,
    REQUEST_SIZE,
    RESPONSE,
    ROOT,
    STATUS,
    SWITCH,
    SWITCH_CHECKSUM,
    TEXT,
    TIMEOUT,
    TYPE,
    VALUES,
    VERSION,
    VERSION_FORM,
    WRONG_FORM,
)
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.fields import read_int32, read_u8, read_u16, read_u32
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.class_notes import class_notes
from wirelens.codecs.hessian.tables import Tables
from wirelens.codecs.hessian.value_decoding import Values
from wirelens.codecs.payload import (
    DATA,
    DIALECT,
    ERROR,
    JSON_VALUE,
    HessianContent,
    has_dangling_notes,
    json_value,
    missing_error,
    read_hessian,
)
from wirelens.codecs.tape import Fault, Tape

_WAYS: Final[tuple[int, ...]] = (d.DRAFT, d.FINAL)  # dialects, in the order in which they are tried


def decode_frame(cursor: Cursor, tape: Tape, final: bool) -> None:
    """See Codec.decode. Content that does not decode is an inner error, with its bytes."""
    data = cursor.data
    start = cursor.pos
    second = _check_start(cursor, final)
    root = tape.open(ROOT, start, 0)
    read_u8(cursor, tape, VERSION, "the version")
    protocol_version: i64 = 1
    version_node = tape.size()
    if second:
        protocol_version = read_u8(cursor, tape, PROTOCOL_VERSION, "the protocol's version")
    frame_type = read_u8(cursor, tape, TYPE, "the type")
    command = read_u16(cursor, tape, COMMAND, "the command")
    read_u8(cursor, tape, COMMAND_VERSION, "the command's version")
    read_u32(cursor, tape, ID, "the id")
    codec = read_u8(cursor, tape, CODEC, "the codec")
    switch: i64 = 0
    if second:
        switch = read_u8(cursor, tape, SWITCH, "the switch")
    if frame_type == RESPONSE:
        read_u16(cursor, tape, STATUS, "the status")
    else:
        read_int32(cursor, tape, TIMEOUT, "the timeout")
    class_length = read_u16(cursor, tape, LENGTH, "the length of the class")
    header_length = read_u16(cursor, tape, LENGTH, "the length of the header map")
    content_length = read_u32(cursor, tape, LENGTH, "the length of the content")
    if content_length > MAX_CONTENT:
        text = f"content of {content_length} bytes; {MAX_CONTENT} are allowed"
        raise cursor.error("limit", cursor.pos - 4, text)
    checked = second and protocol_version == CHECKED and switch & SWITCH_CHECKSUM != 0
    if second and protocol_version != (CHECKED if switch & SWITCH_CHECKSUM else 1):
        tape.set_form(version_node, VERSION_FORM)
    rest = class_length + header_length + content_length + (4 if checked else 0)
    if rest > cursor.left() and not final:
        raise cursor.short(rest, "the rest of a frame")
    if class_length:
        at = cursor.skip(class_length, "the class")
        tape.leaf(CLASS, at, cursor.pos, at)
    elif content_length and codec == HESSIAN and command != HEARTBEAT:
        tape.set_form(root, NO_CLASS_FORM)
    if header_length:
        _read_headers(cursor, tape, header_length)
    dialect: i64 = d.DRAFT
    if content_length:
        dialect = _read_content(cursor, tape, codec, content_length)
    if dialect != d.DRAFT:
        tape.leaf(DIALECT, cursor.pos, cursor.pos, dialect)
    if checked:
        _read_checksum(cursor, tape, zlib.crc32(data[start : cursor.pos]))
    tape.close(root, cursor.pos)
    class_notes(tape)


def _check_start(cursor: Cursor, final: bool) -> bool:
    """Check the version and type of the frame at the cursor and that its header is there.

    Returns whether it is of version 2.
    """
    data = cursor.data
    start = cursor.pos
    end = cursor.end
    if start < end and (data[start] < 1 or data[start] > 2):
        raise cursor.error("no-message", start, "expected 01 or 02, a version of Bolt")
    second = data[start] == 2
    type_at = start + (2 if second else 1)
    if type_at < end and data[type_at] > 2:
        raise cursor.error("no-message", type_at, f"{data[type_at]} is not a type of Bolt frame")
    response = type_at < end and data[type_at] == RESPONSE
    size: i64 = HEADER_SIZE if response else REQUEST_SIZE
    if second:
        size += 2
    if cursor.left() < size and not final:
        raise cursor.short(size, "a header")
    return second


def declared_length(data: bytes) -> i64:
    """The length of the frame whose header begins these bytes; 0 if the header is cut."""
    if len(data) < HEADER_SIZE:
        return 0
    second = data[0] == 2
    response = data[2 if second else 1] == RESPONSE
    size: i64 = HEADER_SIZE if response else REQUEST_SIZE
    if second:
        size += 2
    if len(data) < size:
        return 0
    at: i64 = size - 8  # the lengths of class, headers and content
    words = i64(read_i16_be(data, at)) & 0xFFFF
    words += i64(read_i16_be(data, at + 2)) & 0xFFFF
    words += i64(read_i32_be(data, at + 4)) & 0xFFFFFFFF
    checked = second and data[1] == CHECKED and data[11] & SWITCH_CHECKSUM != 0
    return size + words + (4 if checked else 0)


def _read_checksum(cursor: Cursor, tape: Tape, crc: int) -> None:
    """Read the checksum of a frame and compare it with that of the bytes."""
    at = cursor.skip(4, "the checksum")
    head = CRC
    if crc.to_bytes(4, "big") != cursor.data[at : at + 4]:
        head |= WRONG_FORM << t.FORM_SHIFT
        tape.note("bad-checksum", at, f"the checksum of these bytes is {crc:08x}", cursor.buffer)
    tape.leaf(head, at, at + 4, at)


def _read_headers(cursor: Cursor, tape: Tape, length: i64) -> None:
    """Read the header map: keys and values alternately, each after its length in 32 bits; -1 is null."""
    start = cursor.pos
    outer = cursor.end
    cut = length > cursor.left()
    if not cut:
        cursor.end = start + length
    mark = tape.mark()
    headers = tape.open(HEADERS, start, 0)
    try:
        while cursor.pos < cursor.end:
            pair = tape.open(PAIR, cursor.pos, 0)
            _read_text(cursor, tape, "a header's name")
            _read_text(cursor, tape, "a header's value")
            tape.close(pair, cursor.pos)
        if cut:
            raise cursor.short(length - (cursor.pos - start), "the rest of the header map")
        tape.close(headers, cursor.pos)
    except DecodeError as error:
        if cut:
            raise
        tape.rollback(mark)
        damaged = tape.open(DAMAGED_HEADERS, start, 0)
        tape.leaf(DATA, start, cursor.end, start)
        tape.fault(ERROR, cursor.end, Fault(error.code, error.offset, error.text))
        tape.close(damaged, cursor.end)
        cursor.pos = cursor.end
    cursor.end = outer


def _read_text(cursor: Cursor, tape: Tape, what: str) -> None:
    start = cursor.pos
    length = cursor.int32(f"the length of {what}")
    if length == -1:
        tape.leaf(NULL_TEXT, start, cursor.pos, 0)
        return
    content = cursor.skip(length, what)
    tape.leaf(TEXT, start, cursor.pos, content)


def _read_content(cursor: Cursor, tape: Tape, codec: i64, length: i64) -> i64:
    """Read the content; returns its dialect: the draft, unless the bytes show final 2.0."""
    start = cursor.pos
    outer = cursor.end
    missing = length - cursor.left()
    if missing < 0:
        cursor.end = start + length
        missing = 0
    content = tape.open(CONTENT, start, 0)
    dialect: i64 = d.DRAFT
    if codec == HESSIAN:
        dialect = read_hessian(ValuesReader(cursor, tape, content, missing), _WAYS, "the content")
    else:
        cursor.pos = cursor.end
        tape.leaf(DATA, start, cursor.end, start)
        if codec == JSON_TEXT and json_value(cursor.data[start : cursor.end]) is not None:
            tape.leaf(JSON_VALUE, start, cursor.end, start)
        if missing > 0:
            raise missing_error(cursor, missing, "the content", None)
    tape.close(content, cursor.pos)
    cursor.end = outer
    return dialect


@mypyc_attr(acyclic=True, free_list_len=1)
class ValuesReader(HessianContent):
    """Reads the values of a frame's content, which share their tables. A way is a dialect."""

    def read(self, way: i64) -> DecodeError | None:
        """See HessianContent.read."""
        cursor = self.cursor
        tape = self.tape
        notes = tape.note_count()
        values = Values(cursor, tape, Tables(way))
        items = tape.open(VALUES, cursor.pos, 0)
        failure: DecodeError | None = None
        try:
            while cursor.pos < cursor.end:
                values.read(1)
            tape.close(items, cursor.pos)
        except DecodeError as error:
            failure = error
            values.read_misplaced()
        self.clean = not has_dangling_notes(tape, notes)
        return failure

    def is_empty(self, partial: i64) -> bool:
        """See HessianContent.is_empty. The array of values alone is not content."""
        return self.tape.nodes(partial, self.tape.size()) == 2
