"""Bodies of Dubbo in fastjson2: each value is four bytes of length and a document of JSONB of its own.

Source: FastJson2ObjectOutput and DubboCodec of Apache Dubbo 3.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.dubbo.vocabulary import (
    ARGUMENTS,
    ATTACHMENTS,
    DUBBO_VERSION,
    ERROR_VALUE,
    EVENT_VALUE,
    LENGTH,
    METHOD,
    NO_ATTACHMENTS_FORM,
    OK,
    PARAMETER_TYPES,
    PATH,
    RESULT,
    RESULT_BYTES,
    VALUE,
    VERSION,
    WITH_ATTACHMENTS,
)
from wirelens.codecs.hessian.descriptors import descriptor_count
from wirelens.codecs.jsonb.decoding import Document
from wirelens.codecs.node import Node
from wirelens.codecs.payload import EXTRA, HessianContent
from wirelens.codecs.scan import starts_with
from wirelens.codecs.tape import Tape
from wirelens.codecs.words import count

LENGTH_SIZE: Final = 4  # bytes


@mypyc_attr(acyclic=True)
class Fastjson2Body(HessianContent):
    """Reads the body of one message; there is one way to."""

    def __init__(
        self, cursor: Cursor, tape: Tape, body: i64, missing: i64, request: bool, event: bool, status: i64
    ) -> None:
        super().__init__(cursor, tape, body, missing)
        self.request: Final = request
        self.event: Final = event
        self.status: Final[i64] = status
        self.document: Final = Document(cursor, tape)

    def read(self, way: i64) -> DecodeError | None:
        """See HessianContent.read."""
        cursor = self.cursor
        self.clean = True
        try:
            if not self.request and self.status != OK:
                self._value(ERROR_VALUE)
            elif self.event:
                self._value(EVENT_VALUE)
            elif self.request:
                self._request()
            else:
                self._response()
        except DecodeError as error:
            return error
        if cursor.pos < cursor.end:
            self.tape.leaf(EXTRA, cursor.pos, cursor.end, cursor.pos)
            cursor.pos = cursor.end
        return None

    def _value(self, member: i64) -> i64:
        """Read a value as a member, 0 for an item; returns its node."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        length = cursor.int32("the length of a value")
        if length < 0:
            raise cursor.error("bad-length", start, f"a value has the negative length {length}")
        tape.leaf(LENGTH, start, cursor.pos, length)
        outer = cursor.end
        content = cursor.pos
        missing = length - cursor.left()
        if missing > 0 and self.missing == 0:
            text = f"a value of {count(length, 'byte')}; {outer - content} are left"
            raise cursor.error("bad-length", start, text)
        if missing <= 0:
            cursor.end = content + length
        node = tape.size()
        try:
            self.document.read(member)
            if cursor.pos < cursor.end:
                left = count(cursor.left(), "byte")
                text = f"{left} of a value of {count(length, 'byte')} are left over after it"
                raise cursor.error("bad-length", cursor.pos, text)
        finally:
            cursor.end = outer
        return node

    def _text(self, member: i64, what: str) -> i64:
        """Read a text or null as a member; returns its node."""
        start = self.cursor.pos
        node = self._value(member)
        kind = self.tape.kind(node)
        if kind != t.NULL and kind != t.STRING16 and kind != t.STRING and kind < t.LATIN1:
            raise self.cursor.error("bad-value", start + LENGTH_SIZE, f"expected {what}, a string or null")
        return node

    def _request(self) -> None:
        cursor = self.cursor
        tape = self.tape
        self._text(DUBBO_VERSION, "the version of Dubbo")
        self._text(PATH, "the path of the service")
        self._text(VERSION, "the version of the service")
        method = self._text(METHOD, "the name of the method")
        if starts_with(cursor.data, tape.number(method), b"$invoke"):
            tape.unchecked_names = True  # texts may name classes
        types = self._text(PARAMETER_TYPES, "the descriptor of the parameters")
        if tape.kind(types) == t.STRING16:  # in ASCII, as nearly all are
            arity = descriptor_count(cursor.data, tape.number(types), tape.end(types))
        else:
            text = (Node(tape, int(types), cursor.buffer).text or "").encode("utf-8", "surrogatepass")
            arity = descriptor_count(text, 0, len(text))
        start = cursor.pos
        arguments = tape.open(ARGUMENTS, start, 0)
        number: i64 = 0
        last: i64 = -1
        while number < arity or (arity < 0 and cursor.pos < cursor.end):
            last = tape.size()
            self._value(0)
            number += 1
        tape.close(arguments, cursor.pos)
        if arity < 0:
            text_of = f"{count(number, 'value')}; the descriptor of the parameters does not state this number"
            tape.note("argument-count", start, text_of, cursor.buffer)
            value: i64 = -1
            if last >= 0:
                value = tape.following(last)  # after its length
            if value >= 0 and tape.kind(value) == t.MAP:
                tape.shrink(arguments, last, tape.start(last))
                tape.set_flags(value, ATTACHMENTS << t.FIELD_SHIFT)
                return
        if cursor.pos == cursor.end:
            tape.set_form(self.parent, NO_ATTACHMENTS_FORM)
            return
        self._value(ATTACHMENTS)

    def _response(self) -> None:
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos + LENGTH_SIZE
        node = self._value(0)
        kind = tape.kind(node)
        result = tape.number(node)
        if kind != t.INT8 and kind != t.INT and kind != t.LONG and kind != t.INT16:
            raise cursor.error("bad-value", start, "expected the kind of result, a byte")
        if result < 0 or result > 5:
            raise cursor.error("bad-value", start, f"{result} is not a kind of result; they are 0 to 5")
        tape.cut(node)
        form: i64 = 0
        if kind != t.INT8:
            form = RESULT_BYTES
        tape.leaf(RESULT | form << t.FORM_SHIFT, start, cursor.pos, result)
        if result != 2 and result != 5:
            self._value(VALUE)
        if result >= WITH_ATTACHMENTS:
            self._value(ATTACHMENTS)
