"""Decoding Dubbo: the header, and bodies in Hessian in one dialect or another."""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.dubbo.fastjson2 import Fastjson2Body
from wirelens.codecs.dubbo.vocabulary import (
    ARGUMENT_COUNT,
    ARGUMENTS,
    ATTACHMENTS,
    BODY,
    DUBBO_VERSION,
    ERROR_VALUE,
    EVENT,
    EVENT_FLAG,
    EVENT_VALUE,
    FASTJSON2,
    HEADER_SIZE,
    HESSIAN,
    ID,
    JAVA,
    JAVA_HEADER,
    JSON_TEXTS,
    LENGTH,
    MAGIC,
    MAGIC_MARK,
    MAX_BODY,
    METHOD,
    NO_ATTACHMENTS_FORM,
    OK,
    PARAMETER_TYPES,
    PATH,
    REQUEST_FLAG,
    RESULT,
    ROOT,
    SERIALIZATION,
    SERIALIZATION_MASK,
    STATUS,
    TWO_WAY,
    TWO_WAY_FLAG,
    TYPE,
    UNUSED_STATUS,
    VALUE,
    VERSION,
    WITH_ATTACHMENTS,
)
from wirelens.codecs.fields import read_int32, read_int64, read_u8
from wirelens.codecs.hessian import forms
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.class_notes import class_notes, is_generic
from wirelens.codecs.hessian.descriptors import descriptor_count
from wirelens.codecs.hessian.tables import Tables
from wirelens.codecs.hessian.value_decoding import MISPLACED, MISPLACED_TEXT, Values
from wirelens.codecs.node import Node
from wirelens.codecs.payload import (
    DATA,
    DIALECT,
    ERROR,
    EXTRA,
    JSON_LINES,
    HessianContent,
    has_dangling_notes,
    json_lines,
    missing_error,
    read_hessian,
)
from wirelens.codecs.tape import Fault, Tape
from wirelens.codecs.words import count

# Ways to read a body: a dialect, with this bit if the arguments are not counted by the descriptor.
_UNCOUNTED: Final = 16
_WAYS: Final[tuple[int, ...]] = (d.FINAL, d.DRAFT)
_REQUEST_WAYS: Final[tuple[int, ...]] = (*_WAYS, d.FINAL | _UNCOUNTED, d.DRAFT | _UNCOUNTED)


def decode_message(cursor: Cursor, tape: Tape, final: bool) -> None:
    """See Codec.decode. A body that does not decode is an inner error, with its bytes."""
    data = cursor.data
    start = cursor.pos
    left = cursor.left()
    if data[start : start + 2] != MAGIC[:left]:
        raise cursor.error("no-message", start, "expected da bb, the magic of Dubbo")
    if left < HEADER_SIZE and not final:
        raise cursor.short(HEADER_SIZE, "a header")
    root = tape.open(ROOT, start, 0)
    cursor.skip(2, "the magic")
    tape.leaf(MAGIC_MARK, start, start + 2, 0)
    at = cursor.pos
    flags = cursor.u8("the flags")
    request = flags & REQUEST_FLAG != 0
    event = flags & EVENT_FLAG != 0
    serialization = flags & SERIALIZATION_MASK
    tape.leaf(TYPE, at, at + 1, 1 if request else 0)
    tape.leaf(TWO_WAY, at, at + 1, 1 if flags & TWO_WAY_FLAG else 0)
    tape.leaf(EVENT, at, at + 1, 1 if event else 0)
    tape.leaf(SERIALIZATION, at, at + 1, serialization)
    status: i64 = OK
    if not request:
        status = read_u8(cursor, tape, STATUS, "the status")
    elif cursor.u8("the status"):
        tape.leaf(UNUSED_STATUS, cursor.pos - 1, cursor.pos, 0)
    read_int64(cursor, tape, ID, "the id")
    length = read_int32(cursor, tape, LENGTH, "the length of the body")
    content = cursor.pos
    if length < 0:
        raise cursor.error("bad-length", content - 4, f"the body has the negative length {length}")
    if length > MAX_BODY:
        raise cursor.error("limit", content - 4, f"a body of {length} bytes; {MAX_BODY} are allowed")
    outer = cursor.end
    missing = length - cursor.left()
    if missing > 0 and not final:
        raise cursor.short(length, "the body")
    body = tape.open(BODY, content, 0)
    if missing <= 0:
        missing = 0
        cursor.end = content + length
    dialect: i64 = d.FINAL
    if length > 0 and serialization in HESSIAN:
        reader = BodyReader(cursor, tape, body, missing, request, event, status)
        ways = _REQUEST_WAYS if request and missing == 0 else _WAYS
        dialect = read_hessian(reader, ways, "the body") & ~_UNCOUNTED
    elif length > 0 and serialization == FASTJSON2:
        read_hessian(Fastjson2Body(cursor, tape, body, missing, request, event, status), (0,), "the body")
    else:
        cursor.pos = cursor.end
        tape.leaf(DATA, content, cursor.end, content)
        if missing > 0:
            raise missing_error(cursor, missing, "the body", None)
        if serialization in JAVA and length > 0 and data[content : content + 4] != JAVA_HEADER[:length]:
            text = f"Java serialization starts with {JAVA_HEADER.hex()}, this body with "
            start_of = data[content : content + 4].hex()
            tape.note("no-java-header", content, text + start_of, cursor.buffer)
        if serialization in JSON_TEXTS and json_lines(data[content : cursor.end]) is not None:
            tape.leaf(JSON_LINES, content, cursor.end, content)
            tape.unchecked_names = True  # JSON may name classes
        if length == 0 and not event and (serialization in HESSIAN or serialization == FASTJSON2):
            offset = cursor.buffer.absolute(content)
            tape.fault(ERROR, content, Fault("truncated", offset, "the body is empty"))
    tape.close(body, cursor.pos)
    cursor.end = outer
    if dialect != d.FINAL:
        tape.leaf(DIALECT, cursor.pos, cursor.pos, dialect)
    tape.close(root, cursor.pos)
    class_notes(tape)


@mypyc_attr(acyclic=True, free_list_len=1)
class BodyReader(HessianContent):
    """Reads the body of one message. A way is a dialect, or a dialect with `_UNCOUNTED`."""

    values: Values  # of the current reading

    def __init__(
        self,
        cursor: Cursor,
        tape: Tape,
        body: i64,
        missing: i64,
        request: bool,
        event: bool,
        status: i64,
    ) -> None:
        super().__init__(cursor, tape, body, missing)
        self.request: Final = request
        self.event: Final = event
        self.status: Final[i64] = status
        self.misplaced: DecodeError | None = None  # the first value in the place of a string

    def read(self, way: i64) -> DecodeError | None:
        """See HessianContent.read."""
        cursor = self.cursor
        tape = self.tape
        self._begin(way)
        notes = tape.note_count()
        try:
            if not self.request and self.status != OK:
                self.values.read(1, ERROR_VALUE)
            elif self.event:
                self.values.read(1, EVENT_VALUE)
            elif self.request:
                self._request(way & _UNCOUNTED == 0)
            else:
                self._response()
        except DecodeError as error:
            self.values.read_misplaced()
            return self.misplaced or error
        if cursor.pos < cursor.end:
            self.clean = False
            tape.leaf(EXTRA, cursor.pos, cursor.end, cursor.pos)
            cursor.pos = cursor.end
        if has_dangling_notes(tape, notes):
            self.clean = False
        return self.misplaced

    def _begin(self, way: i64) -> None:
        # apart from `read`: there the type checker, and so the compiler, would take `misplaced` for None
        self.values = Values(self.cursor, self.tape, Tables(way & ~_UNCOUNTED))
        self.clean = True
        self.misplaced = None

    def _text(self, member: i64, what: str) -> i64:
        """Read a string or null as a member; returns its node. Another value is an error, after which reading
        goes on, for receivers make the object that it may be.
        """
        tape = self.tape
        cursor = self.cursor
        start = cursor.pos
        first = tape.size()
        if self.values.plain_text(member):
            return first
        self.values.read(1, member)
        node = tape.last_from(first)
        kind = tape.kind(node)
        if kind != t.STRING16 and kind != t.NULL and self.misplaced is None:
            self.misplaced = cursor.error("bad-value", start, f"expected {what}, a string or null")
            if kind == t.OBJECT or kind == t.MAP or kind == t.LIST:
                tape.note(MISPLACED, start, MISPLACED_TEXT, cursor.buffer)
        return node

    def _request(self, counted: bool) -> None:
        """Read the body of a request; `counted`: the descriptor gives the number of arguments."""
        cursor = self.cursor
        tape = self.tape
        self._text(DUBBO_VERSION, "the version of Dubbo")
        self._text(PATH, "the path of the service")
        self._text(VERSION, "the version of the service")
        method = self._text(METHOD, "the name of the method")
        if tape.kind(method) == t.STRING16 and is_generic(tape, method, cursor.data):
            tape.unchecked_names = True
        arity: i64 = -1
        if cursor.pos < cursor.end:
            action: i64 = self.values.actions[cursor.data[cursor.pos]]
            if d.INT_1 <= action <= d.INT_4:
                start = cursor.pos
                arity = self.values.integer("the number of arguments")
                if arity < -1:
                    raise cursor.error("bad-length", start, f"the number of arguments is negative: {arity}")
                tape.leaf(ARGUMENT_COUNT, start, cursor.pos, arity)
        if arity < 0:
            node = self._text(PARAMETER_TYPES, "the descriptor of the parameters")
            if counted:
                arity = self._parameters(node)
            if arity < 0:
                self._arguments_to_end()
                return
        arguments = tape.open(ARGUMENTS, cursor.pos, 0)
        self.values.read(arity)
        tape.close(arguments, cursor.pos)
        if cursor.pos == cursor.end:
            tape.set_form(self.parent, NO_ATTACHMENTS_FORM)
            return
        start = cursor.pos
        first = tape.size()
        self.values.read(1, ATTACHMENTS)
        kind = tape.kind(tape.last_from(first))
        if kind != t.MAP and kind != t.NULL:
            self.clean = False
            tape.note("bad-value", start, "the attachments are not a map", cursor.buffer)

    def _parameters(self, node: i64) -> i64:
        """The number of parameters in a descriptor; -1 if the text is not a descriptor."""
        tape = self.tape
        if tape.head(node) & t.SIMPLE:
            return descriptor_count(self.cursor.data, tape.number(node), tape.end(node))
        text = Node(tape, node, self.cursor.buffer).text
        if text is None:
            return -1
        data = text.encode("utf-8", "surrogatepass")
        return descriptor_count(data, 0, len(data))

    def _arguments_to_end(self) -> None:
        """Read arguments of unknown number: all values, except that a last map is the attachments."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        arguments = tape.open(ARGUMENTS, start, 0)
        last: i64 = -1
        arity: i64 = 0
        while cursor.pos < cursor.end:
            first = tape.size()
            self.values.read(1)
            last = tape.last_from(first)
            arity += 1
        tape.close(arguments, cursor.pos)
        if last >= 0 and tape.kind(last) == t.MAP:
            tape.shrink(arguments, last, tape.start(last))
            tape.set_flags(last, ATTACHMENTS << t.FIELD_SHIFT)
            arity -= 1
        else:
            self.clean = False
            tape.set_form(self.parent, NO_ATTACHMENTS_FORM)
        tape.note(
            "argument-count",
            start,
            f"{count(arity, 'argument')}; the descriptor of the parameters does not state this number",
            cursor.buffer,
        )

    def _response(self) -> None:
        """Read the body of a response: the kind of its result, a value, attachments."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        result = self.values.integer("the kind of result")
        if result < 0 or result > 5:
            raise cursor.error("bad-value", start, f"{result} is not a kind of result; they are 0 to 5")
        form: i64 = 0
        if not self.values.usual:
            form = forms.int_form_number(cursor.data, start)
        tape.leaf(RESULT | form << t.FORM_SHIFT, start, cursor.pos, result)
        if result != 2 and result != 5:
            self.values.read(1, VALUE)
        if result >= WITH_ATTACHMENTS:
            self.values.read(1, ATTACHMENTS)
