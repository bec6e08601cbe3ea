"""Decoding JSONB: one value, with a table of names of its own, onto a tape."""

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian.well_known_classes import harmless
from wirelens.codecs.jsonb import vocabulary as v
from wirelens.codecs.jsonb.names import Names
from wirelens.codecs.jsonb.references import References
from wirelens.codecs.node import Node, double_of, single_of
from wirelens.codecs.scan import plain_end
from wirelens.codecs.tape import FORM_SHIFT, Tape

# What an open container takes next, in place of the number of its items.
_KEY: Final = -1
_VALUE: Final = -2

_FRAME: Final = 2  # words of an open container on the stack: its node, what it takes next


def decode_message(cursor: Cursor, tape: Tape, final: bool) -> None:
    """See Codec.decode: one value is a message."""
    root = tape.open(v.ROOT, cursor.pos, 0)
    Document(cursor, tape).read(v.VALUE)
    tape.close(root, cursor.pos)


def int_size(value: i64) -> i64:
    """The bytes of the shortest form of an int."""
    if -16 <= value <= 47:
        return 1
    if -0x800 <= value <= 0x7FF:
        return 2
    return 3 if -0x40000 <= value <= 0x3FFFF else 5


def long_size(value: i64) -> i64:
    """The bytes of the shortest form of a long."""
    if -8 <= value <= 15:
        return 1
    if -0x800 <= value <= 0x7FF:
        return 2
    if -0x40000 <= value <= 0x3FFFF:
        return 3
    return 5 if -0x80000000 <= value <= 0x7FFFFFFF else 9


def is_int(byte: i64) -> bool:
    """Whether a byte starts an int."""
    return byte <= v.INT_5 or byte >= 0xF0


@mypyc_attr(acyclic=True)
class Document:
    """Reads JSONB documents, one after the other, from a cursor onto a tape."""

    def __init__(self, cursor: Cursor, tape: Tape) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.usual = True  # whether the numbers read since this was set were in their shortest forms
        self.names: Final = Names(tape, cursor.buffer)
        self.stack: vec[i64] = vec[i64]()
        self.containers: i64 = 0
        self.references: References | None = None

    def read(self, field: i64) -> None:
        """Read a document as the member `field` of the open node. Raises DecodeError."""
        tape = self.tape
        first = tape.size()
        self._clear()
        try:
            self._read(field)
        except DecodeError:
            if self.references is not None:
                tape.close_from(first, self.cursor.pos)
                self.references.resolve(first)
            raise
        if self.references is not None:
            self.references.resolve(first)

    def _clear(self) -> None:
        self.names.clear()
        self.containers = 0
        self.references = None

    def _read(self, field: i64) -> None:
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        stack = self.stack
        depth: i64 = 0  # words of the stack that are used
        head = field << t.FIELD_SHIFT
        while True:
            start = cursor.pos
            byte = cursor.u8("a value")
            if byte == v.TYPED or v.LIST_SHORT <= byte <= v.LIST or byte == v.MAP:
                if depth >= v.MOST_LEVELS * _FRAME:
                    text = f"more than {v.MOST_LEVELS:,} containers inside one another"
                    raise cursor.error("limit", start, text)
                if depth == len(stack):
                    stack = append(append(stack, 0), 0)
                    self.stack = stack
                stack[depth] = tape.size()
                stack[depth + 1] = self._open(head, start, byte)
                depth += _FRAME
            else:
                self._leaf(head, start, byte, stack, depth)
            head = 0
            while depth > 0:
                left = stack[depth - 1]
                if left > 0:
                    stack[depth - 1] = left - 1
                    break
                if left == _VALUE:
                    stack[depth - 1] = _KEY
                    break
                if left == _KEY:
                    if cursor.pos >= cursor.end or data[cursor.pos] != v.MAP_END:
                        stack[depth - 1] = _VALUE
                        break
                    cursor.pos += 1
                depth -= _FRAME
                tape.close(stack[depth], cursor.pos)
            if depth == 0:
                return

    def _leaf(self, head: i64, start: i64, byte: i64, stack: vec[i64], depth: i64) -> None:
        """Read a value that is not a container, whose first byte was read."""
        cursor = self.cursor
        if v.TEXT_SHORT <= byte < v.SYMBOL:
            self._text(head, start, byte)
        elif byte < v.TEXT_SHORT or byte >= 0xF0:
            value = self._int_after(byte, "an int")
            if cursor.pos - start != int_size(value):
                head |= v.EXACT << FORM_SHIFT
            self.tape.leaf(head | t.INT, start, cursor.pos, value)
        elif byte == v.SYMBOL:
            self._symbol(head | t.SYMBOL, start)
        elif byte >= v.NULL:
            self._scalar(head, start, byte)
        elif byte == v.REFERENCE:
            self._reference(head, start, stack[depth - _FRAME] if depth else -1)
        elif byte == v.MAP_END:
            in_map = depth > 0 and stack[depth - 1] == _KEY
            what = "a map's key has no value" if in_map else "the end of no map"
            cursor.pos = start
            raise cursor.error("bad-value", start, f"{what}: {byte:02x}")
        elif byte < v.CHAR:
            cursor.pos = start
            raise cursor.error("bad-value", start, f"{byte:02x} does not start a value of JSONB")
        else:
            self._compound(head, start, byte)

    # --- containers -------------------------------------------------------------------------------------

    def _open(self, head: i64, start: i64, byte: i64) -> i64:
        """Open a list, a map or a typed value, whose first byte was read; returns what it takes next."""
        cursor = self.cursor
        tape = self.tape
        number = self.containers
        self.containers += 1
        node = tape.open(head | t.TYPED, start, number)
        unusual = False
        if byte == v.TYPED:
            unusual = self._type(start)
            byte = cursor.peek()
            if byte != v.MAP and (byte < v.LIST_SHORT or byte > v.LIST):
                if unusual:
                    tape.set_form(node, v.CONTAINER)
                return 1
            cursor.pos += 1
        left: i64 = _KEY
        if byte == v.MAP:
            tape.set_kind(node, t.MAP)
        else:
            tape.set_kind(node, t.LIST)
            left = byte - v.LIST_SHORT
            if byte == v.LIST:
                at = cursor.pos - 1
                left = self._int("the length of a list")
                form: i64 = 0
                if left <= 15 or cursor.pos - at - 1 != int_size(left):
                    form = v.EXACT
                    unusual = True
                if left < 0:
                    raise cursor.error("bad-length", at + 1, f"a list has the negative length {left}")
                if left > cursor.left():
                    raise cursor.short(left, f"a list of {left} items")
                tape.leaf(t.head(t.LENGTH, 0, form) | t.HIDDEN, at, cursor.pos, left)
        if unusual:
            tape.set_form(node, v.CONTAINER)
        return left

    def _type(self, start: i64) -> bool:
        """Read a type after its byte; whether it is not as the usual writer sends it."""
        node = self._symbol(t.TYPE | t.HIDDEN, start)
        tape = self.tape
        definer = tape.number(node)
        if definer < 0:  # unknown
            return True
        text = tape.following(definer)
        if tape.number(text) == tape.end(text):  # empty
            return True
        return tape.head(node) >> FORM_SHIFT & t.FORM_MASK != 0

    def _symbol(self, head: i64, start: i64) -> i64:
        """Read a name or a type with a number, after its byte; returns its node."""
        cursor = self.cursor
        tape = self.tape
        node = tape.open(head, start, -1)
        usual = True
        byte = cursor.peek()
        if byte == v.SYMBOL and head & t.KIND_MASK == t.TYPE:
            usual = False
            cursor.pos += 1
            byte = cursor.peek()
        if byte < 0 or is_int(byte):
            at = cursor.pos
            number = self._int("the number of a name")
            usual = usual and cursor.pos - at == int_size(number)
            definer = self.names.find(number)
            if definer >= 0:
                tape.set_number(node, definer)
                usual = usual and not self.names.is_odd(number)
            elif number >= 0:
                cursor.pos = at
                raise cursor.error("bad-value", at, f"the name with the number {number} was never defined")
            else:
                tape.set_number(node, number)
                text = f"the name is entry {-number} of a table outside the data"
                tape.note("unknown-name", at, text, cursor.buffer)
        elif v.TEXT_SHORT <= byte < v.SYMBOL:
            at = cursor.pos
            cursor.pos += 1
            text_node = self._text(t.HIDDEN, at, byte)
            if tape.kind(text_node) == t.SCALAR:
                raise cursor.error("bad-value", at, "a name is defined by an index outside the data")
            usual = usual and tape.head(text_node) >> FORM_SHIFT & t.FORM_MASK == 0
            at = cursor.pos
            number = self._int("the number of a name")
            usual = usual and cursor.pos - at == int_size(number)
            usual = self.names.define(number, node, text_node) and usual
            tape.set_number(node, node)
            if head & t.KIND_MASK == t.TYPE and not tape.unchecked_names:
                plain = tape.kind(text_node) == t.STRING16
                start_of = tape.number(text_node)
                if not plain or not harmless(cursor.data, start_of, tape.end(text_node)):
                    tape.unchecked_names = True
        else:
            raise cursor.error("bad-value", cursor.pos, f"expected a name or its number, not {byte:02x}")
        tape.close(node, cursor.pos)
        if not usual:
            tape.set_form(node, v.EXACT)
        return node

    def _reference(self, head: i64, start: i64, holder: i64) -> None:
        """Read a reference after its byte; `holder`: the container around it, -1 if there is none."""
        cursor = self.cursor
        tape = self.tape
        byte = cursor.peek()
        if byte >= 0 and (byte < v.TEXT_SHORT or byte >= v.SYMBOL):
            text = f"a reference takes a text, not {byte:02x}"
            raise cursor.error("bad-value", cursor.pos, text)
        at = cursor.pos
        byte = cursor.u8("the path of a reference")
        node = tape.open(head | t.REF, start, t.reference_number(-1, -1))
        text_node = self._text(t.HIDDEN, at, byte)
        tape.close(node, cursor.pos)
        if tape.kind(text_node) == t.SCALAR:
            raise cursor.error("bad-value", at, "a reference takes a text, not an index outside the data")
        if tape.head(text_node) >> FORM_SHIFT & t.FORM_MASK:
            tape.set_form(node, v.EXACT)
        if self.references is None:
            self.references = References(tape, cursor.buffer)
        self.references.add(node, holder)

    # --- numbers ----------------------------------------------------------------------------------------

    def _int(self, what: str) -> i64:
        """Read an int in any of its forms."""
        cursor = self.cursor
        byte = cursor.peek()
        if 0 <= byte < 0x30:
            cursor.pos += 1
            return byte
        if byte >= 0 and not is_int(byte):
            raise cursor.error("bad-value", cursor.pos, f"expected {what}, an int, not {byte:02x}")
        byte = cursor.u8(what)
        return self._int_after(byte, what)

    def _int_after(self, byte: i64, what: str) -> i64:
        """Read an int after its first byte."""
        if byte >= 0xF0:
            return byte - 256
        if byte < 0x30:
            return byte
        cursor = self.cursor
        if byte < 0x40:
            return ((byte - 0x38) << 8) + cursor.u8(what)
        if byte < 0x48:
            return ((byte - 0x44) << 16) + cursor.u16(what)
        return cursor.int32(what)

    def _usual_int(self, what: str) -> i64:
        """As `_int`; `usual` becomes False if it is not in its shortest form."""
        start = self.cursor.pos
        value = self._int(what)
        if self.cursor.pos - start != int_size(value):
            self.usual = False
        return value

    def _long(self, what: str) -> i64:
        """Read a long, or an int, short or byte in place of one; `usual` as of `_usual_int`."""
        cursor = self.cursor
        start = cursor.pos
        byte = cursor.peek()
        if byte >= 0 and is_int(byte):
            self.usual = False
            return self._int(what)
        if byte >= 0 and byte < v.SHORT:
            raise cursor.error("bad-value", start, f"expected {what}, a long, not {byte:02x}")
        byte = cursor.u8(what)
        value = self._long_after(byte, what)
        if byte < v.LONG_8 or cursor.pos - start != long_size(value):
            self.usual = False
        return value

    def _long_after(self, byte: i64, what: str) -> i64:
        """Read a long, a short or a byte after its first byte."""
        cursor = self.cursor
        if byte >= 0xD8:
            return byte - 0xE0
        if byte >= 0xC8:
            return ((byte - 0xD0) << 8) + cursor.u8(what)
        if byte >= 0xC0:
            return ((byte - 0xC4) << 16) + cursor.u16(what)
        if byte == v.LONG_4:
            return cursor.int32(what)
        if byte == v.LONG_8:
            return cursor.int64(what)
        if byte == v.SHORT:
            value = cursor.u16(what)
            return value - 0x10000 if value >= 0x8000 else value
        value = cursor.u8(what)
        return value - 256 if value >= 128 else value

    # --- scalars ----------------------------------------------------------------------------------------

    def _scalar(self, head: i64, start: i64, byte: i64) -> None:
        """Read a constant or a number of the bytes from NULL on, but ints."""
        cursor = self.cursor
        tape = self.tape
        self.usual = True
        number: i64 = 0
        if byte >= v.SHORT:
            number = self._long_after(byte, "a number")
            if byte >= v.LONG_8:
                head |= t.LONG
                self.usual = cursor.pos - start == long_size(number)
            else:
                head |= t.INT16 if byte == v.SHORT else t.INT8
        elif byte == v.NULL:
            head |= t.NULL
        elif byte <= v.TRUE:
            head |= t.BOOL
            number = byte - v.FALSE
        elif byte <= v.DOUBLE_8:
            head |= t.DOUBLE
            number = self._double(byte)
        elif byte <= v.FLOAT_4:
            head |= t.FLOAT32
            number = self._float(byte)
        else:
            head |= t.SCALAR
            if byte >= v.BIG_LONG:
                number = v.BIG_SORT
                self._big(byte)
            else:
                number = v.DECIMAL_SORT
                self._decimal(byte)
        if not self.usual:
            head |= v.EXACT << FORM_SHIFT
        tape.leaf(head, start, cursor.pos, number)

    def _double(self, byte: i64) -> i64:
        """Read a double after its first byte; its bits."""
        if byte == v.DOUBLE_0:
            return 0
        if byte == v.DOUBLE_1:
            return v.DOUBLE_1_BITS
        if byte == v.DOUBLE_LONG:
            value = self._long("a double")
            if value == 0 or value == 1 or not -0x80000000 <= value <= 0x7FFFFFFF:
                self.usual = False
            return v.double_bits(float(value))
        bits = self.cursor.int64("a double")
        if bits >> 52 & 0x7FF != 0x7FF:
            number = double_of(int(bits))
            if number.is_integer() and -0x80000000 <= number <= 0x7FFFFFFF and bits != -1 << 63:
                self.usual = False
        return bits

    def _float(self, byte: i64) -> i64:
        """Read a float after its first byte; its bits."""
        if byte == v.FLOAT_INT:
            value = self._usual_int("a float")
            if not -0x40000 <= value <= 0x3FFFF:
                self.usual = False
            return v.single_bits(float(value))
        bits = self.cursor.int32("a float")
        if bits & 0x7F800000 != 0x7F800000:
            number = single_of(int(bits))
            if number.is_integer() and -0x40000 <= number <= 0x3FFFF and bits != -0x80000000:
                self.usual = False
        return bits & 0xFFFFFFFF

    def _big(self, byte: i64) -> None:
        """Pass over a big integer after its first byte."""
        if byte == v.BIG_LONG:
            self._long("a big integer")
            return
        cursor = self.cursor
        size = self._usual_int("the length of a big integer")
        if size == 0:
            raise cursor.error("bad-length", cursor.pos - 1, "a big integer without bytes")
        at = cursor.skip(size, "a big integer")
        if size <= 8:
            self.usual = False
            return
        first: i64 = cursor.data[at]
        second: i64 = cursor.data[at + 1]
        if (first == 0 and second < 128) or (first == 255 and second >= 128):
            self.usual = False

    def _decimal(self, byte: i64) -> None:
        """Pass over a decimal after its first byte."""
        if byte == v.DECIMAL_LONG:
            self._long("a decimal")
            return
        cursor = self.cursor
        scale = self._usual_int("the scale of a decimal")
        inner = cursor.peek()
        if inner == v.BIG or inner == v.BIG_LONG:
            cursor.pos += 1
            self._big(inner)
            if inner == v.BIG_LONG:
                self.usual = False
            return
        at = cursor.pos
        if inner >= 0 and is_int(inner):
            self._usual_int("a decimal")
        else:
            value = self._long("a decimal")
            if -0x80000000 <= value <= 0x7FFFFFFF:
                self.usual = False
            if scale == 0 and cursor.pos > at:
                self.usual = False
        if scale == 0:
            self.usual = False

    def _compound(self, head: i64, start: i64, byte: i64) -> None:
        """Read a char, bytes, or a date or time."""
        cursor = self.cursor
        tape = self.tape
        self.usual = True
        number: i64 = 0
        if byte == v.BINARY:
            size = self._usual_int("the length of bytes")
            number = cursor.skip(size, "bytes")
            head |= t.BYTES
        elif v.MILLIS <= byte <= v.MINUTES:
            head |= t.DATE
            if byte == v.MILLIS:
                number = cursor.int64("a date")
                self.usual = v.date_byte(int(number)) == v.MILLIS
            elif byte == v.SECONDS:
                number = cursor.int32("a date") * 1000
            else:
                number = cursor.int32("a date") * 60000
                self.usual = v.date_byte(int(number)) == v.MINUTES
        else:
            head |= t.SCALAR
            if byte == v.CHAR:
                number = v.CHAR_SORT
                code = self._usual_int("a char")
                if code < 0 or code > 0xFFFF:
                    raise cursor.error("bad-value", start + 1, f"{code} is not a UTF-16 unit")
            elif byte == v.TIME:
                number = v.TIME_SORT
                self._clock()
            elif byte == v.DATE_TIME:
                number = v.DATE_TIME_SORT
                self._day()
                self._clock()
            elif byte == v.DATE:
                number = v.DATE_SORT
                self._day()
            elif byte == v.INSTANT:
                number = v.INSTANT_SORT
                self._long("the seconds of an instant")
                self._nanos()
            else:
                number = v.ZONED_SORT
                self._day()
                self._clock()
                self._zone()
        if not self.usual:
            head |= v.EXACT << FORM_SHIFT
        tape.leaf(head, start, cursor.pos, number)

    def _day(self) -> None:
        """Pass over a year, a month and a day."""
        cursor = self.cursor
        at = cursor.skip(4, "a date")
        month: i64 = cursor.data[at + 2]
        day: i64 = cursor.data[at + 3]
        if not 1 <= month <= 12 or not 1 <= day <= 31:
            raise cursor.error("bad-value", at, f"no date has the month {month} and the day {day}")

    def _clock(self) -> None:
        """Pass over hours, minutes, seconds and nanoseconds."""
        cursor = self.cursor
        at = cursor.skip(3, "a time of day")
        data = cursor.data
        if data[at] > 23 or data[at + 1] > 59 or data[at + 2] > 59:
            text = f"no time of day is {data[at]}:{data[at + 1]}:{data[at + 2]}"
            raise cursor.error("bad-value", at, text)
        self._nanos()

    def _nanos(self) -> None:
        cursor = self.cursor
        at = cursor.pos
        nanos = self._usual_int("nanoseconds")
        if not 0 <= nanos <= 999_999_999:
            raise cursor.error("bad-value", at, f"{nanos} nanoseconds are not part of a second")

    def _zone(self) -> None:
        """Pass over the text of a zone."""
        cursor = self.cursor
        tape = self.tape
        at = cursor.pos
        byte = cursor.peek()
        if byte >= 0 and (byte < v.TEXT_SHORT or byte >= v.SYMBOL):
            raise cursor.error("bad-value", at, f"expected the name of a zone, a text, not {byte:02x}")
        byte = cursor.u8("the name of a zone")
        usual = self.usual
        text = self._text(0, at, byte)
        outer = tape.kind(text) == t.SCALAR
        self.usual = usual and tape.head(text) >> FORM_SHIFT & t.FORM_MASK == 0
        tape.cut(text)
        if outer:
            raise cursor.error("bad-value", at, "the name of a zone is an index outside the data")

    def _text(self, head: i64, start: i64, byte: i64) -> i64:
        """Read a text after its first byte; returns its node."""
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        size = byte - v.TEXT_SHORT
        shortest = True
        if byte >= v.LATIN1:
            at = cursor.pos
            size = self._int("the length of a text")
            shortest = cursor.pos - at == int_size(size)
            if size < 0 and byte == v.LATIN1:
                note = f"the text is entry {-size} of a table outside the data"
                tape.note("unknown-name", at, note, cursor.buffer)
                if not shortest:
                    head |= v.EXACT << FORM_SHIFT
                return tape.leaf(head | t.SCALAR, start, cursor.pos, v.OUTER_SORT)
        content = cursor.skip(size, "a text")
        end = cursor.pos
        if byte <= v.UTF8:
            if plain_end(data, content, end) == end:
                head |= t.STRING16 | t.SIMPLE
            elif data[content:end].isascii():
                head |= t.STRING16
            if head & t.KIND_MASK:
                if byte == v.UTF8:
                    form: i64 = v.ENCODING_FORMS[v.UTF8] if shortest else v.EXACT
                    head |= form << FORM_SHIFT
                elif byte == v.LATIN1 and (size <= v.LONGEST_SHORT or not shortest):
                    head |= v.EXACT << FORM_SHIFT
                return tape.leaf(head, start, end, content)
        if byte == v.UTF16LE and shortest and v.is_usual_utf16(data, content, end):
            return tape.leaf(head | t.UTF16LE, start, end, content)
        kind = v.TEXT_KINDS[int(max(byte, v.LATIN1))]
        node = tape.leaf(head | kind, start, end, content)
        text = Node(tape, int(node), cursor.buffer).text
        if text is None:
            name = v.ENCODING_NAMES[int(byte)]
            raise cursor.error("bad-text", content, f"a text that is not well-formed in {name}")
        if byte < v.LATIN1:
            return node
        if byte == v.LATIN1:
            if size <= v.LONGEST_SHORT or not shortest:
                tape.set_form(node, v.EXACT)
            return node
        if not shortest or v.encoded(text, int(byte)) != data[content:end]:
            tape.set_form(node, v.EXACT)
        elif v.usual_encoding(text) != byte:
            tape.set_form(node, v.ENCODING_FORMS[int(byte)])
        return node
