"""Triple of Dubbo 3: wrappers of values in Hessian or fastjson2, and the details of a status.

Sources: triple_wrapper.proto and DefaultMultipleSerialization of Apache Dubbo, google/rpc/status.proto.
"""

from typing import Final

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.class_notes import class_notes
from wirelens.codecs.hessian.tables import Tables
from wirelens.codecs.hessian.value_decoding import Values
from wirelens.codecs.http2 import vocabulary as v
from wirelens.codecs.jsonb.decoding import Document
from wirelens.codecs.node import field
from wirelens.codecs.protobuf import BYTES, VARINT, ProtobufField, read_fields, read_message
from wirelens.codecs.tape import Fault, Tape

HESSIAN: Final = (b"hessian4", b"hessian2", b"hessian3")
FASTJSON2: Final = b"fastjson2"
SERIALIZATIONS: Final = (  # names of Dubbo's extensions; their values are shown as bytes
    *HESSIAN,
    FASTJSON2,
    b"avro",
    b"fastjson",
    b"fst",
    b"fury",
    b"gson",
    b"java",
    b"jackson",
    b"compactedjava",
    b"nativejava",
    b"kryo",
    b"kryo2",
    b"msgpack",
    b"protobuf",
    b"protobuf-json",
    b"protostuff",
)
LENGTH_SIZE: Final = 4  # bytes before a value in fastjson2

_SERIALIZE_TYPE: Final = t.head(t.TEXT, field("serialize_type"))
_ARGUMENTS: Final = t.head(t.ARRAY, field("arguments"))
_ARGUMENT_TYPES: Final = t.head(t.ARRAY, field("argument_types"))
_TEXT: Final = t.head(t.TEXT)
_RESULT: Final = field("result")
_RESULT_TYPE: Final = t.head(t.TEXT, field("result_type"))
_HEX_ITEM: Final = t.head(t.HEX)
_CODE: Final = t.head(t.INTEGER, field("code"))
_MESSAGE: Final = t.head(t.TEXT, field("message"))
_DETAILS: Final = t.head(t.ARRAY, field("details"))
_DETAIL: Final = t.head(t.STRUCT)
_TYPE_URL: Final = t.head(t.TEXT, field("type_url"))
_STACK: Final = t.head(t.ARRAY, field("stack_entries"))
_DETAIL_TEXT: Final = t.head(t.TEXT, field("detail"))
_ANY_VALUE: Final = t.head(t.STRUCT, field("value"))
_ANY_BYTES: Final = t.head(t.HEX, field("data"))
_ITEM_ERROR: Final = t.head(t.STRUCT)
_DATA: Final = t.head(t.HEX, field("data"))
_ERROR: Final = t.head(t.FAULT, field("error"))


def write_wrapper(tape: Tape, cursor: Cursor, role: int) -> bool:
    """Write the members of a wrapper, of requests or of responses by `role`; False if it is not one."""
    try:
        fields = read_fields(cursor)
    except DecodeError:
        return False
    data = cursor.data
    if not fields or fields[0].number != 1:
        return False
    last = 0
    texts = [0, 0, 0, 0]
    for one in fields:
        number = int(one.number)
        if number > 3 or number < last or one.wire_type != BYTES or one.overlong:
            return False
        last = number
        texts[number] += 1
    kind = data[fields[0].value : fields[0].end]
    if texts[1] != 1 or kind not in SERIALIZATIONS:
        return False
    request = role & ~v.UPGRADED == v.REQUEST
    if not request and (texts[2] > 1 or texts[3] > 1):
        if role:
            return False
        request = True
    _text(tape, _SERIALIZE_TYPE, fields[0])
    values = [one for one in fields if one.number == 2]
    types = [one for one in fields if one.number == 3]
    if request:
        arguments = tape.open(_ARGUMENTS, fields[0].end, 0)
        for one in values:
            _value(tape, cursor, kind, one, 0)
        tape.close(arguments, values[-1].end if values else fields[0].end)
        names = tape.open(_ARGUMENT_TYPES, types[0].start if types else cursor.end, 0)
        for one in types:
            _text(tape, _TEXT, one)
        tape.close(names, cursor.end)
    else:
        for one in values:
            _value(tape, cursor, kind, one, _RESULT)
        for one in types:
            _text(tape, _RESULT_TYPE, one)
    class_notes(tape)
    return True


def _text(tape: Tape, head: int, one: ProtobufField) -> None:
    tape.leaf(head, one.start, one.end, one.value)


def _value(tape: Tape, cursor: Cursor, kind: bytes, one: ProtobufField, member: int) -> None:
    """Write a value in a serialization, or its bytes where it does not decode."""
    mark = tape.mark()
    inner = Cursor(cursor.buffer, one.value, one.end)
    failure: DecodeError | None = None
    if kind in HESSIAN or kind == FASTJSON2:
        try:
            if kind == FASTJSON2:
                start = inner.pos
                length = inner.int32("the length of a value")
                if length != inner.left():
                    text = f"a value of {length} bytes; there are {inner.left()}"
                    raise inner.error("bad-length", start, text)
                Document(inner, tape).read(member)
            else:
                Values(inner, tape, Tables(d.FINAL)).read(1, member)
            if inner.pos < inner.end:
                raise inner.error("extra-bytes", inner.pos, "bytes are left over after the value")
            return
        except DecodeError as error:
            tape.rollback(mark)
            failure = error
    if failure is None:
        tape.leaf(t.head(t.HEX, member), one.start, one.end, one.value)
        return
    damaged = tape.open(t.head(t.STRUCT, member), one.start, 0)
    tape.leaf(_DATA, one.value, one.end, one.value)
    tape.fault(_ERROR, one.end, Fault(failure.code, failure.offset, failure.text))
    tape.close(damaged, one.end)


def write_status(tape: Tape, cursor: Cursor) -> None:
    """Write the members of a google.rpc.Status; its details too where they are DebugInfo.

    Raises DecodeError before anything is written.
    """
    fields = read_fields(cursor)
    details = [one for one in fields if one.number == 3 and one.wire_type == BYTES]
    for one in fields:
        if one.number == 1 and one.wire_type == VARINT:
            tape.leaf(_CODE, one.start, one.end, one.value)
        elif one.number == 2 and one.wire_type == BYTES:
            _text(tape, _MESSAGE, one)
    if not details:
        return
    array = tape.open(_DETAILS, details[0].start, 0)
    for one in details:
        item = tape.open(_DETAIL, one.start, 0)
        try:
            _any(tape, Cursor(cursor.buffer, one.value, one.end))
        except DecodeError:
            tape.leaf(_ANY_BYTES, one.start, one.end, one.value)
        tape.close(item, one.end)
    tape.close(array, details[-1].end)


def _any(tape: Tape, cursor: Cursor) -> None:
    """Write the members of a google.protobuf.Any. Raises DecodeError before anything is written."""
    url = b""
    for one in read_fields(cursor):
        if one.wire_type != BYTES:
            continue
        if one.number == 1:
            url = cursor.data[one.value : one.end]
            _text(tape, _TYPE_URL, one)
        elif one.number == 2:
            inner = Cursor(cursor.buffer, one.value, one.end)
            mark = tape.mark()
            value = tape.open(_ANY_VALUE, one.start, 0)
            try:
                if url.endswith(b"google.rpc.DebugInfo"):
                    _debug_info(tape, inner)
                else:
                    read_message(inner, tape, {})
                tape.close(value, one.end)
            except DecodeError:
                tape.rollback(mark)
                tape.leaf(_ANY_BYTES, one.start, one.end, one.value)


def _debug_info(tape: Tape, cursor: Cursor) -> None:
    fields = read_fields(cursor)
    entries = [one for one in fields if one.number == 1 and one.wire_type == BYTES]
    if entries:
        array = tape.open(_STACK, entries[0].start, 0)
        for one in entries:
            _text(tape, _TEXT, one)
        tape.close(array, entries[-1].end)
    for one in fields:
        if one.number == 2 and one.wire_type == BYTES:
            _text(tape, _DETAIL_TEXT, one)
