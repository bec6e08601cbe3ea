"""Reading Hessian values of any dialect onto a tape: one loop, one stack, a table of opcodes a dialect.

Sources: the draft text section 4 (values) and 5 (reference maps); the notes on deployed software,
section 1 for the final and the first dialect, 1.2 for what readers of the draft really do.
"""

from typing import Final

from librt.strings import read_f32_be, read_f64_be, read_i16_be, read_i32_be, read_i64_be
from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import forms
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.well_known_classes import (
    Definition,
    find_definition,
    harmless,
    learn_definition,
    names_number,
)
from wirelens.codecs.scan import plain_end, same_bytes
from wirelens.codecs.tape import FORM_SHIFT, HIDDEN, REFERRED, SIMPLE, Tape

# How many values `Values.read` reads, beside a plain count.
TO_END: Final = -1  # up to the cursor's end
TO_MARK: Final = -2  # up to the z or Z that closes what stands around, which stays unread

# What is open: how its end is known.
_COUNTED: Final = 0  # so many values are left
_ENDED: Final = 1  # a list up to its z or Z
_PAIRS: Final = 2  # a map up to its z or Z
_UNENDED: Final = 3  # a list of the draft with neither a length nor an end
_FRAME: Final = 4  # words of an open container: node, how it ends, counter, declared length

_STACK: Final[vec[i64]] = vec[i64]([0] * 32)  # room for eight open containers, to start with

_CLASS_WORDS: Final = 5  # of a class in the table: node, fields, where name and fields start, end, flags
_SAME: Final = 1  # flag of a class: an earlier one has the same name and fields
_NAMED: Final = 2  # its name is in an unusual form
_ODD: Final = 4  # something else about its bytes is unusual
_TYPE_WORDS: Final = 4  # of a type: node, content start, content end, number of the first with that text
_FEW: Final = 12  # entries compared one by one before a dictionary is made

# Flags in the result of `measure`.
NOT_SIMPLE: Final = 1
BROKEN: Final = 2
WIDE: Final = 4
MEASURE_SHIFT: Final = 3


# First bytes that may open something other than a value, by dialect.
OPENERS: Final = (b"cr", b"crpPECRH", b"HCEPp", b"cr")


def opens_message(dialect: i64, data: bytes, pos: i64, end: i64) -> bool:
    """True where a message, not a value, starts at a position: what no value of the dialect can be."""
    byte: i64 = data[pos]
    if byte not in OPENERS[dialect]:
        return False
    if dialect == d.FINAL:
        if byte == 0x48:
            return end - pos >= 4 and data[pos + 1 : pos + 3] == b"\2\0" and data[pos + 3] in b"CRF"
        return byte == 0x45 or byte == 0x50
    if byte == 0x72 or byte == 0x52:  # r, R: a version, where a value has a type or a number
        return (
            end - pos >= 3
            and data[pos + 1] <= 2
            and data[pos + 2] <= 1
            and (byte == 0x72 or data[pos + 1] == 2)
        )
    return True


@mypyc_attr(acyclic=True, free_list_len=1)
class Tables:
    """What the values of one scope share: references, class definitions, types.

    A scope is a stream of values, or the content of one call, reply, message or envelope. `units` says
    how the writer counted a character in four-byte UTF-8: 1 or 2, or 0 while it is not settled.
    """

    def __init__(self, dialect: i64) -> None:
        self.dialect: Final[i64] = dialect
        self.references: vec[i64] = vec[i64](capacity=16)
        self.classes: vec[i64] = vec[i64](capacity=8 * _CLASS_WORDS)
        self.types: vec[i64] = vec[i64](capacity=4 * _TYPE_WORDS)
        self.units: i64 = 0
        self.class_keys: dict[bytes, int] | None = None
        self.type_keys: dict[bytes, int] | None = None

    def clear_references(self) -> None:
        """Forget the value references, as a writer does between packets; classes and types stay."""
        self.references = vec[i64]()

    def class_count(self) -> i64:
        """How many class definitions there are."""
        return len(self.classes) // _CLASS_WORDS


def measure(data: bytes, at: i64, end: i64, units: i64, wide: i64) -> i64:
    """Where text of so many UTF-16 units ends, and what it is like.

    `wide` is how many units a four-byte character counts. The result is the position behind the text
    shifted by MEASURE_SHIFT, with NOT_SIMPLE, BROKEN (not well-formed), WIDE (a four-byte character in
    it); -1 where the data ends before, or -2 - position of a byte that starts no character.
    """
    stop = at + units
    if stop <= end:  # most texts are simple throughout
        at = plain_end(data, at, stop)
        if at == stop:
            return stop << MEASURE_SHIFT
    flags: i64 = 0
    left = stop - at
    while left > 0:
        if at >= end:
            return -1
        byte: i64 = data[at]
        if byte < 0x80:
            if byte < 0x20 or byte == 0x22 or byte == 0x5C or byte == 0x7F:
                flags |= NOT_SIMPLE
            at += 1
            left -= 1
            continue
        flags |= NOT_SIMPLE
        if 0xC0 <= byte < 0xE0:
            if at + 2 > end:
                return -1
            if data[at + 1] & 0xC0 != 0x80 or byte < 0xC2:
                flags |= BROKEN
            at += 2
            left -= 1
        elif 0xE0 <= byte < 0xF0:
            if at + 3 > end:
                return -1
            second: i64 = data[at + 1]
            if second & 0xC0 != 0x80 or data[at + 2] & 0xC0 != 0x80 or (byte == 0xE0 and second < 0xA0):
                flags |= BROKEN
            at += 3
            left -= 1
        elif 0xF0 <= byte < 0xF8:
            if at + 4 > end:
                return -1
            second = data[at + 1]
            flags |= WIDE
            if (
                second & 0xC0 != 0x80
                or data[at + 2] & 0xC0 != 0x80
                or data[at + 3] & 0xC0 != 0x80
                or byte > 0xF4
                or (byte == 0xF0 and second < 0x90)
                or (byte == 0xF4 and second >= 0x90)
            ):
                flags |= BROKEN
            if left < wide:
                return -2 - at
            at += 4
            left -= wide
        else:
            return -2 - at
    return at << MEASURE_SHIFT | flags


def known_definition(dialect: i64, data: bytes, start: i64, end: i64) -> Definition | None:
    """The class definition that starts at a position, where one of the same bytes was read before."""
    name = start + 2
    if name >= end:
        return None
    size: i64 = data[start + 1]
    action: i64 = d.TABLES[dialect][size]
    if dialect == d.FINAL:
        if action == d.STRING_MEDIUM:
            size = (size & 3) << 8 | data[name]
            name += 1
        elif action != d.STRING_SHORT:
            return None
    elif action == d.INT_1:
        size -= 0x90
    elif action == d.INT_2:
        size = ((size - 0xC8) << 8) + data[name]
        name += 1
    else:
        return None
    if size <= 0 or name + size > end:
        return None
    known = find_definition(data, start, name, size)
    return None if known is None or start + len(known.data) > end else known


def skip_plain_class(data: bytes, pos: i64, end: i64) -> i64:
    """The position behind a class definition of final, from behind its C; -1 where it is not an everyday one.

    Everyday are short strings in printable ASCII, and a number of fields in one byte.
    """
    left: i64 = -1  # fields, behind the name
    while left != 0:
        if pos >= end:
            return -1
        size: i64 = data[pos]
        if size >= 0x30 and size < 0x34 and pos + 1 < end:
            size = (size & 3) << 8 | data[pos + 1]
            pos += 1
        elif size >= 0x20:
            return -1
        pos += 1
        if pos + size >= end or plain_end(data, pos, pos + size) != pos + size:
            return -1
        pos += size
        if left < 0:
            left = data[pos] - 0x90
            if left < 0 or left > 0x2F:
                return -1
            pos += 1
        else:
            left -= 1
    return pos


def int_bits(value: i64) -> i64:
    """The 64 bits of the double that equals an integer below 2^53."""
    if value == 0:
        return 0
    sign: i64 = 0
    if value < 0:
        sign = -1 << 63
        value = -value
    exponent: i64 = 0
    probe = value
    while probe >= 0x10000:
        probe >>= 16
        exponent += 16
    while probe > 1:
        probe >>= 1
        exponent += 1
    return sign | (1023 + exponent) << 52 | (value << (52 - exponent)) & 0xFFFFFFFFFFFFF


def mill_bits(value: i64) -> i64:
    """The 64 bits of the double that value × 0.001 gives, for 32-bit values."""
    product = float(value) * 0.001
    sign: i64 = 0
    if product < 0.0:
        sign = -1 << 63
        product = -product
    if product == 0.0:
        return 0
    exponent: i64 = 0
    while product >= 256.0:
        product *= 0.00390625
        exponent += 8
    while product >= 2.0:
        product *= 0.5
        exponent += 1
    while product < 1.0:
        product *= 2.0
        exponent -= 1
    mantissa = i64(product * 4503599627370496.0)
    return sign | (1023 + exponent) << 52 | mantissa & 0xFFFFFFFFFFFFF


def single_bits(bits: i64) -> i64:
    """The 64 bits of the double that equals a single given by its 32 bits; a NaN keeps its payload."""
    sign = -(bits >> 31 & 1) << 63
    exponent = bits >> 23 & 0xFF
    mantissa = bits & 0x7FFFFF
    if exponent == 0xFF:
        return sign | 0x7FF << 52 | mantissa << 29
    if exponent == 0:
        if mantissa == 0:
            return sign
        exponent = 1
        while mantissa & 0x800000 == 0:
            mantissa <<= 1
            exponent -= 1
        mantissa &= 0x7FFFFF
    return sign | (exponent + 896) << 52 | mantissa << 29


def single_fits(bits: i64) -> bool:
    """True where a double, given by its bits, is exactly a single and no NaN."""
    exponent = bits >> 52 & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:
        return mantissa == 0
    if exponent == 0:
        return mantissa == 0
    if exponent > 1150:
        return False
    if exponent >= 897:
        return mantissa & 0x1FFFFFFF == 0
    shift = 29 + 897 - exponent
    if shift > 52:
        return False
    # no `1 << shift`: the compiler shifts a literal, or a name for one, in 32 bits
    mantissa |= 0x10000000000000
    return mantissa >> shift << shift == mantissa


def content_of(tape: Tape, index: i64, data: bytes) -> bytes:
    """The content of a text node whose buffer has `data`, its chunks joined."""
    number = tape.number(index)
    if number >= 0:
        return data[number : tape.end(index)]
    parts: list[bytes] = []
    at = index + 1
    while at < tape.next(index):
        parts.append(data[tape.number(at) : tape.end(at)])
        at = tape.next(at)
    return b"".join(parts)


def class_key(tape: Tape, node: i64, data: bytes) -> bytes:
    """What tells a class from others: its name and its fields' names. No text has the byte ff."""
    names: list[bytes] = []
    at = node + 1
    end = tape.next(node)
    while at < end:
        if tape.kind(at) == t.STRING16:
            names.append(content_of(tape, at, data))
        at = tape.next(at)
    return b"\xff".join(names)


def short_double(value: float) -> bool:
    """True for the doubles that the short forms of both dialects have as integers."""
    if value < -32768.0 or value > 32767.0 or value != value:
        return False
    return float(i64(value)) == value


def mill_usual(bits: i64, value: i64) -> bool:
    """True where a writer of the final dialect sends value × 0.001 in thousandths."""
    product = float(value) * 0.001
    if short_double(product):
        return False
    return i64(product * 1000.0) == value


def double_shorter(value: float, bits: i64, dialect: i64) -> bool:
    """True where a writer would send fewer than eight bytes for a double."""
    if bits == -1 << 63:
        return False
    if short_double(value):
        return True
    if dialect == d.FINAL:
        if value < -2147483.648 or value > 2147483.647 or value != value:
            return False
        return float(i64(value * 1000.0)) * 0.001 == value
    return single_fits(bits)


@mypyc_attr(acyclic=True, free_list_len=1)
class Values:
    """Reads values of one dialect from a cursor onto a tape, into the tables of one scope."""

    def __init__(self, cursor: Cursor, tape: Tape, tables: Tables) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.tables: Final = tables
        self.data: Final = cursor.data
        self.actions: Final = d.TABLES[tables.dialect]
        self.dialect: Final[i64] = tables.dialect
        self.wide: i64 = tables.units or 2  # units that a four-byte character counts
        self.wide_seen = False
        self.usual = True  # whether the part of a layout just read was in its usual form
        self.early: vec[i64] = vec[i64]()
        self.stack: vec[i64] = _STACK[:]

    def read(self, count: i64, field: i64 = 0) -> None:
        """Read `count` values, or up to TO_END or TO_MARK, as siblings; `field` is their member number.

        Raises DecodeError. Where a text in four-byte UTF-8 can be counted in two ways, both are tried.
        """
        tables = self.tables
        if tables.units:
            self.wide = tables.units
            self._read(count, field)
            return
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        references = tables.references
        classes = tables.classes
        types = tables.types
        self.wide_seen = False
        try:
            self.wide = 2
            self._read(count, field)
            if self.wide_seen:
                tables.units = 2
            return
        except DecodeError as error:
            if not self.wide_seen:
                raise
            first = error
        reached = first.offset
        cursor.pos = start
        tape.rollback(mark)
        tables.references = references
        tables.classes = classes
        tables.types = types
        tables.class_keys = None
        tables.type_keys = None
        self.early = vec[i64]()
        try:
            self.wide = 1
            self._read(count, field)
            tables.units = 1
        except DecodeError as error:
            if error.offset >= reached or error.needed:
                raise
            raise first from None

    def _fail(self, pos: i64, code: str, at: i64, text: str) -> DecodeError:
        self.cursor.pos = pos
        return self.cursor.error(code, at, text)

    def _cut(self, pos: i64, count: i64, what: str) -> DecodeError:
        """The error that the data ends before `count` bytes from `pos`."""
        self.cursor.pos = pos
        return self.cursor.short(count, what)

    def _read(self, count: i64, field: i64) -> None:
        cursor = self.cursor
        tape = self.tape
        tables = self.tables
        data = self.data
        actions = self.actions
        dialect = self.dialect
        final = dialect == d.FINAL
        wide = self.wide
        end = cursor.end
        pos = cursor.pos
        place = field << t.FIELD_SHIFT
        stack = self.stack
        depth: i64 = 0
        definitions: i64 = 0  # class definitions since the last value
        behind: i64 = 0  # index of the node behind them
        node: i64 = -1
        how: i64 = _COUNTED
        declared: i64 = -1
        left = count
        if count < 0:
            how = _ENDED
            left = 0
        while True:
            if how == _COUNTED and left == 0:
                if depth == 0:
                    break
                tape.close(node, pos)
                depth -= 1
                base = depth * _FRAME
                node = stack[base]
                how = stack[base + 1]
                left = stack[base + 2]
                declared = stack[base + 3]
                continue
            start = pos
            if pos >= end:
                if how == _UNENDED and definitions == 0:
                    tape.close(node, pos)
                    depth -= 1
                    base = depth * _FRAME
                    node = stack[base]
                    how = stack[base + 1]
                    left = stack[base + 2]
                    declared = stack[base + 3]
                    continue
                if depth == 0 and count == TO_END and definitions == 0:
                    break
                raise self._cut(pos, 1, "a value")
            byte: i64 = data[pos]
            action: i64 = actions[byte]
            pos += 1
            head = place
            if depth:
                head = 0
            elif count == TO_END and left < 0 and definitions == 0 and self.stops(pos - 1):
                pos = start
                break
            if definitions:
                behind = tape.size()
            if action == d.STRING_SHORT:
                content = pos
                pos += byte
                head |= t.STRING16
                if pos <= end and plain_end(data, content, pos) == pos:  # most texts
                    head |= SIMPLE
                else:
                    measured = measure(data, content, end, byte, wide)
                    if measured < 0:
                        raise self._bad_text(content, measured, byte)
                    flags = measured & 7
                    if flags != NOT_SIMPLE:
                        head |= self._odd_text(flags, start) << FORM_SHIFT
                    pos = measured >> MEASURE_SHIFT
                tape.leaf(head, start, pos, content)
            elif action == d.INT_1:
                tape.leaf(head | t.INT, start, pos, byte - 0x90)
            elif action == d.INT_2:
                if pos >= end:
                    raise self._cut(start, 2, "an int")
                value = ((byte - 0xC8) << 8) + data[pos]
                pos += 1
                head |= t.INT
                if -16 <= value <= 47:
                    head |= forms.TWO_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.OBJECT_SHORT:
                index = byte - 0x60
                place_in = index * _CLASS_WORDS
                classes = tables.classes
                if place_in >= len(classes):
                    raise self._fail(start, "bad-value", start, self._no_class(index))
                number = classes[place_in]
                if definitions or classes[place_in + 4] & _SAME:
                    head |= self._object_form(index, 0, definitions) << FORM_SHIFT
                    definitions = 0
                left -= 1
                references = tables.references
                if depth * _FRAME >= len(stack):
                    stack = append(append(append(append(stack, 0), 0), 0), 0)
                base = depth * _FRAME
                stack[base] = node
                stack[base + 1] = how
                stack[base + 2] = left
                stack[base + 3] = declared
                depth += 1
                node = tape.open(head | t.OBJECT, start, number | len(references) << 32)
                tables.references = append(references, node)
                how = _COUNTED
                left = classes[place_in + 1]
                continue
            elif action == d.NULL:
                tape.leaf(head | t.NULL, start, pos, 0)
            elif action == d.TRUE:
                tape.leaf(head | t.BOOL, start, pos, 1)
            elif action == d.FALSE:
                tape.leaf(head | t.BOOL, start, pos, 0)
            elif action == d.LONG_8:
                if end - pos < 8:
                    raise self._cut(start, 9, "a long")
                value = read_i64_be(data, pos)
                pos += 8
                head |= t.LONG
                if dialect != d.V1 and -0x80000000 <= value <= 0x7FFFFFFF:
                    head |= forms.LONG_L << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.INT_4:
                if end - pos < 4:
                    raise self._cut(start, 5, "an int")
                value = i64(read_i32_be(data, pos))
                pos += 4
                head |= t.INT
                if dialect != d.V1 and -0x40000 <= value <= 0x3FFFF:
                    head |= forms.INT_I << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.STRING_LAST or action == d.STRING_MEDIUM:
                if action == d.STRING_LAST:
                    if end - pos < 2:
                        raise self._cut(start, 3, "a string's length")
                    units = i64(read_i16_be(data, pos)) & 0xFFFF
                    pos += 2
                else:
                    if pos >= end:
                        raise self._cut(start, 2, "a string's length")
                    units = (byte & 3) << 8 | data[pos]
                    pos += 1
                content = pos
                pos += units
                head |= t.STRING16
                form: i64 = 0
                if pos <= end and plain_end(data, content, pos) == pos:
                    head |= SIMPLE
                else:
                    measured = measure(data, content, end, units, wide)
                    if measured < 0:
                        raise self._bad_text(content, measured, units)
                    flags = measured & 7
                    if flags != NOT_SIMPLE:
                        form = self._odd_text(flags, start)
                    pos = measured >> MEASURE_SHIFT
                if action == d.STRING_LAST:
                    if units > forms.CHUNK_UNITS or (dialect != d.V1 and units <= (1023 if final else 31)):
                        form = forms.STRINGS[dialect]
                elif units <= 31:
                    form = forms.STRINGS[dialect]
                tape.leaf(head | form << FORM_SHIFT, start, pos, content)
            elif action == d.INT_3:
                if end - pos < 2:
                    raise self._cut(start, 3, "an int")
                value = ((byte - 0xD4) << 16) + (i64(read_i16_be(data, pos)) & 0xFFFF)
                pos += 2
                head |= t.INT
                if -0x800 <= value <= 0x7FF:
                    head |= forms.THREE_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.LONG_1:
                tape.leaf(head | t.LONG, start, pos, byte - 0xE0)
            elif action == d.LONG_2:
                if pos >= end:
                    raise self._cut(start, 2, "a long")
                value = ((byte - 0xF8) << 8) + data[pos]
                pos += 1
                head |= t.LONG
                if -8 <= value <= 15:
                    head |= forms.TWO_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.LONG_3:
                if end - pos < 2:
                    raise self._cut(start, 3, "a long")
                value = ((byte - 0x3C) << 16) + (i64(read_i16_be(data, pos)) & 0xFFFF)
                pos += 2
                head |= t.LONG
                if -0x800 <= value <= 0x7FF:
                    head |= forms.THREE_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.LONG_4:
                if end - pos < 4:
                    raise self._cut(start, 5, "a long")
                value = i64(read_i32_be(data, pos))
                pos += 4
                head |= t.LONG
                if -0x40000 <= value <= 0x3FFFF:
                    head |= forms.FOUR_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.DOUBLE_MILL:
                if end - pos < 4:
                    raise self._cut(start, 5, "a double")
                value = i64(read_i32_be(data, pos))
                pos += 4
                head |= t.DOUBLE
                bits = mill_bits(value)
                if not mill_usual(bits, value):
                    head |= forms.MILL << FORM_SHIFT
                tape.leaf(head, start, pos, bits)
            elif action == d.DOUBLE_8:
                if end - pos < 8:
                    raise self._cut(start, 9, "a double")
                bits = read_i64_be(data, pos)
                head |= t.DOUBLE
                if dialect != d.V1 and double_shorter(read_f64_be(data, pos), bits, dialect):
                    head |= forms.DOUBLE_D << FORM_SHIFT
                pos += 8
                tape.leaf(head, start, pos, bits)
            elif action == d.DATE_8:
                if end - pos < 8:
                    raise self._cut(start, 9, "a date")
                value = read_i64_be(data, pos)
                pos += 8
                head |= t.DATE
                if final and value % 60000 == 0 and -0x80000000 <= value // 60000 <= 0x7FFFFFFF:
                    head |= forms.DATE_LONG << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.DATE_4:
                if end - pos < 4:
                    raise self._cut(start, 5, "a date")
                value = i64(read_i32_be(data, pos))
                pos += 4
                tape.leaf(head | t.DATE, start, pos, value * 60000)
            elif action == d.END:
                if how == _COUNTED or definitions:
                    raise self._fail(start, "bad-value", start, f"expected a value, not the end {byte:02x}")
                if depth == 0:
                    if count != TO_MARK:
                        raise self._fail(
                            start, "bad-value", start, f"the end {byte:02x} of nothing that is open"
                        )
                    pos = start
                    break
                if how == _PAIRS and left & 1:
                    raise self._fail(start, "bad-value", start, "a map's key has no value")
                if how == _UNENDED:
                    pos = start
                elif declared >= 0 and declared != -left:
                    self._flag_list(node, forms.LENGTH)
                    tape.note(
                        "list-length",
                        tape.start(node),
                        f"a list of {-left} says it has {declared}",
                        cursor.buffer,
                    )
                tape.close(node, pos)
                depth -= 1
                base = depth * _FRAME
                node = stack[base]
                how = stack[base + 1]
                left = stack[base + 2]
                declared = stack[base + 3]
                continue
            elif d.LIST_ENDED <= action <= d.MAP_UNTYPED or action == d.OBJECT_INT:
                # a container whose head is more than its opcode
                left -= 1
                if depth * _FRAME >= len(stack):
                    stack = append(append(append(append(stack, 0), 0), 0), 0)
                base = depth * _FRAME
                stack[base] = node
                stack[base + 1] = how
                stack[base + 2] = left
                stack[base + 3] = declared
                depth += 1
                cursor.pos = pos
                node = tape.size()
                declared = -1
                if action == d.OBJECT_INT:
                    how = _COUNTED
                    left = self._object(head, start, definitions)
                    definitions = 0
                else:
                    if definitions:
                        self.early = append(self.early, behind)
                        definitions = 0
                    if action >= d.MAP_ENDED:
                        self._map(head, start, action)
                        how = _PAIRS
                        left = 0
                    else:
                        declared = self._list(head, start, action, byte)
                        how = _COUNTED
                        left = declared
                        if action == d.LIST_ENDED or action == d.LIST_OPEN or action == d.LIST_TYPED_OPEN:
                            how = _ENDED
                            left = 0
                        elif declared < 0:
                            how = _UNENDED
                            left = 0
                pos = cursor.pos
                continue
            elif d.CLASS_DRAFT <= action <= d.CLASS_FINAL or action == d.CLASS_2006:
                cursor.pos = pos
                self.define_class(start, action, definitions)
                pos = cursor.pos
                definitions += 1
                if action == d.CLASS_2006:
                    definitions = 0
                    left -= 1
                    if depth * _FRAME >= len(stack):
                        stack = append(append(append(append(stack, 0), 0), 0), 0)
                    base = depth * _FRAME
                    stack[base] = node
                    stack[base + 1] = how
                    stack[base + 2] = left
                    stack[base + 3] = declared
                    depth += 1
                    how = _COUNTED
                    place_in = len(tables.classes) - _CLASS_WORDS
                    left = tables.classes[place_in + 1]
                    references = tables.references
                    node = tape.open(
                        head | t.OBJECT, pos, t.object_number(tables.classes[place_in], len(references))
                    )
                    tables.references = append(references, node)
                continue
            else:
                cursor.pos = pos
                self._other(head, start, action, byte)
                pos = cursor.pos
            left -= 1
            if definitions:
                definitions = 0
                self.early = append(self.early, behind)
        cursor.pos = pos
        if len(self.early):
            self._mark_early()

    # --- what is too long or too rare for the loop -----------------------------------------------------

    def _mark_early(self) -> None:
        """Give the values behind unusual class definitions the form that lists these."""
        tape = self.tape
        for index in self.early:
            form = tape.head(index) >> FORM_SHIFT & t.FORM_MASK
            tape.set_form(index, forms.defining(int(form)))
        self.early = vec[i64]()

    def stops(self, pos: i64) -> bool:
        """True where the values of a stream end before a position, because a message starts there."""
        return opens_message(self.dialect, self.data, pos, self.cursor.end)

    def _no_class(self, index: i64) -> str:
        count = self.tables.class_count()
        return f"the class number {index} is not defined; there {'is' if count == 1 else 'are'} {count}"

    def _bad_text(self, pos: i64, measured: i64, units: i64) -> DecodeError:
        """The error of `measure` for text at `pos`."""
        if measured == -1:
            self.cursor.pos = pos
            left = self.cursor.end - pos
            if left < units:
                return self.cursor.short(units, f"a text of {units} units")
            return self.cursor.short(left + 1, f"the rest of a text of {units} units")
        at = -2 - measured
        byte: i64 = self.data[at]
        if 0xF0 <= byte < 0xF8:
            self.wide_seen = True
            return self._fail(pos, "bad-text", at, "a four-byte character counts more units than are left")
        return self._fail(pos, "bad-text", at, f"{byte:02x} starts no character of a text")

    def _odd_text(self, flags: i64, start: i64) -> i64:
        """Note what is odd about a text; the form that it takes in place of the usual one."""
        if flags & WIDE:
            self.wide_seen = True
            self.tape.note(
                "four-byte-utf8",
                start,
                "a character in four-byte UTF-8, where Hessian has two of three bytes",
                self.cursor.buffer,
            )
        if flags & BROKEN:
            self.tape.note("bad-text", start, "the text is not well-formed", self.cursor.buffer)
        return forms.STRINGS[self.dialect]

    def integer(self, what: str) -> i64:
        """An int that is part of a layout; `usual` tells whether in its shortest form."""
        cursor = self.cursor
        pos = cursor.pos
        if pos >= cursor.end:
            raise cursor.short(1, what)
        byte: i64 = self.data[pos]
        action: i64 = self.actions[byte]
        if action == d.INT_1:
            cursor.pos = pos + 1
            self.usual = True
            return byte - 0x90
        size: i64 = 5
        if action == d.INT_2:
            size = 2
        elif action == d.INT_3:
            size = 3
        elif action != d.INT_4:
            raise cursor.error("bad-value", pos, f"expected {what}, an int; {byte:02x} opens none")
        if cursor.end - pos < size:
            raise cursor.short(size, what)
        cursor.pos = pos + size
        self.usual = forms.int_form(self.data, pos) is None
        return forms.int_value(self.data, pos)

    def _run(self, start: i64, head: i64, units: i64, form: i64) -> None:
        """Text of a known count at the cursor, as a node that starts at `start`."""
        cursor = self.cursor
        pos = cursor.pos
        measured = measure(self.data, pos, cursor.end, units, self.wide)
        if measured < 0:
            raise self._bad_text(pos, measured, units)
        flags = measured & 7
        self.usual = True
        if flags == 0:
            head |= SIMPLE
        elif flags != NOT_SIMPLE:
            self._odd_text(flags, start)
            head |= form << FORM_SHIFT
            self.usual = False
        cursor.pos = measured >> MEASURE_SHIFT
        self.tape.leaf(head, start, cursor.pos, pos)

    def text(self, head: i64, what: str) -> None:
        """Text behind a 16-bit count of units: types, methods and header names of 1.0 and the draft."""
        if self.cursor.left() < 2:
            raise self.cursor.short(2, f"the length of {what}")
        units = self.cursor.u16(what)
        self._run(self.cursor.pos, head | t.STRING16, units, forms.COUNTED)

    def string(self, head: i64, what: str) -> None:
        """A string that is part of a layout, as a node of kind STRING16."""
        cursor = self.cursor
        pos = cursor.pos
        if pos >= cursor.end:
            raise cursor.short(1, what)
        byte: i64 = self.data[pos]
        action: i64 = self.actions[byte]
        if action == d.STRING_SHORT:
            cursor.pos = pos + 1
            self._run(pos, head | t.STRING16, byte, forms.STRINGS[self.dialect])
        elif action == d.STRING_MEDIUM or action == d.STRING_LAST or action == d.STRING_CHUNK:
            cursor.pos = pos + 1
            self._chunked(head | t.STRING16, pos, action, byte)
        else:
            raise cursor.error("bad-value", pos, f"expected {what}, a string; {byte:02x} opens none")

    def _chunk_size(self, action: i64, byte: i64, what: str) -> i64:
        """The length in the opcode of a chunk, behind that opcode's first byte."""
        if action == d.STRING_SHORT:
            return byte
        if action == d.BINARY_SHORT:
            return byte - 0x20
        if action == d.STRING_MEDIUM or action == d.BINARY_MEDIUM:
            return (byte & 3) << 8 | self.cursor.u8(f"the length of {what}")
        return self.cursor.u16(f"the length of {what}")

    def _chunked(self, head: i64, start: i64, action: i64, byte: i64) -> None:
        """A string or XML in one or more chunks, behind its first byte."""
        cursor = self.cursor
        tape = self.tape
        data = self.data
        dialect = self.dialect
        more: i64 = d.XML_CHUNK if head & t.KIND_MASK == t.XML else d.STRING_CHUNK
        last: i64 = d.XML_LAST if more == d.XML_CHUNK else d.STRING_LAST
        what = "XML" if more == d.XML_CHUNK else "a string"
        if action != more:
            units = self._chunk_size(action, byte, what)
            at = tape.size()
            self._run(start, head, units, forms.STRINGS[dialect])
            if units > forms.CHUNK_UNITS or (last != d.XML_LAST and not self._usual_last(action, units)):
                tape.set_form(at, forms.STRINGS[dialect])
                self.usual = False
            return
        whole = tape.open(head, start, -1)
        usual = True
        short_by_one = False
        position = start
        while True:
            units = self._chunk_size(action, byte, what)
            content = cursor.pos
            if short_by_one and not (
                data[content : content + 1] == b"\xed" and 0xA0 <= data[content + 1] < 0xB0
            ):
                usual = False
            self._run(position, t.CHUNK | HIDDEN, units, 0)
            usual = usual and self.usual
            behind = cursor.pos
            if action != more:
                if (
                    units == 0
                    or units > forms.CHUNK_UNITS
                    or (short_by_one and units < 2)
                    or (last != d.XML_LAST and not self._usual_last(action, units))
                ):
                    usual = False
                break
            short_by_one = units == forms.CHUNK_UNITS - 1
            high = behind - content >= 3 and data[behind - 3] == 0xED and 0xA0 <= data[behind - 2] < 0xB0
            if high or not (short_by_one or units == forms.CHUNK_UNITS):
                usual = False
            position = behind
            if position >= cursor.end:
                raise cursor.short(1, f"the next chunk of {what}")
            byte = data[position]
            action = self.actions[byte]
            if action != more and action != last:
                if last == d.XML_LAST or (action != d.STRING_SHORT and action != d.STRING_MEDIUM):
                    raise cursor.error(
                        "bad-value", position, f"expected the next chunk of {what}, not {byte:02x}"
                    )
            cursor.pos = position + 1
        tape.close(whole, cursor.pos)
        if not usual:
            tape.set_form(whole, forms.STRINGS[dialect])
        self.usual = usual

    def _usual_last(self, action: i64, units: i64) -> bool:
        """True where a string's last chunk has the opcode that a writer takes for so many units."""
        if self.dialect == d.V1:
            return True
        if units <= (15 if self.dialect == d.LAYOUT_2006 else 31):
            return action == d.STRING_SHORT
        if self.dialect == d.FINAL and units <= 1023:
            return action == d.STRING_MEDIUM
        return action == d.STRING_LAST

    def binary(self, head: i64, start: i64, action: i64, byte: i64) -> None:
        """Bytes in one or more chunks, behind their first opcode byte."""
        cursor = self.cursor
        tape = self.tape
        dialect = self.dialect
        usual_size = forms.CHUNK_BYTES[dialect]
        head |= t.BYTES
        if action != d.BINARY_CHUNK:
            size = self._chunk_size(action, byte, "bytes")
            content = cursor.skip(size, f"{size} bytes")
            if size > usual_size or not self._usual_last_binary(action, size):
                head |= forms.BINARIES[dialect] << FORM_SHIFT
            tape.leaf(head, start, cursor.pos, content)
            return
        whole = tape.open(head, start, -1)
        usual = True
        position = start
        while True:
            size = self._chunk_size(action, byte, "bytes")
            content = cursor.skip(size, f"{size} bytes")
            tape.leaf(t.CHUNK | HIDDEN, position, cursor.pos, content)
            if action != d.BINARY_CHUNK:
                if size == 0 or size > usual_size or not self._usual_last_binary(action, size):
                    usual = False
                break
            if size != usual_size:
                usual = False
            position = cursor.pos
            if position >= cursor.end:
                raise cursor.short(1, "the next chunk of bytes")
            byte = self.data[position]
            action = self.actions[byte]
            if action < d.BINARY_SHORT or action > d.BINARY_CHUNK:
                raise cursor.error("bad-value", position, f"expected the next chunk of bytes, not {byte:02x}")
            cursor.pos = position + 1
        tape.close(whole, cursor.pos)
        if not usual:
            tape.set_form(whole, forms.BINARIES[dialect])

    def _usual_last_binary(self, action: i64, size: i64) -> bool:
        """True where the last chunk of bytes has the opcode that a writer takes for that size."""
        if self.dialect == d.V1:
            return True
        if size <= 15:
            return action == d.BINARY_SHORT
        if self.dialect == d.FINAL and size <= 1023:
            return action == d.BINARY_MEDIUM
        return action == d.BINARY_LAST

    # --- types and classes -----------------------------------------------------------------------------

    def _type_text(self, start: i64, what: str) -> i64:
        """A type as text, at the cursor; the flags of forms.py that it needs."""
        tape = self.tape
        tables = self.tables
        wide_before = self.wide_seen
        self.wide_seen = False
        node = tape.open(t.TYPE | HIDDEN, start, -1)
        if self.dialect == d.FINAL:
            self.string(0, what)
        else:
            self.text(0, what)
        tape.close(node, self.cursor.pos)
        tape.set_number(node, node)
        content = tape.number(node + 1)
        end = self.cursor.pos
        if content < 0 or not harmless(self.data, content, end):
            tape.unchecked_names = True
        flags: i64 = 0
        if not self.usual:
            flags = forms.TYPE
        if self.dialect == d.V1:
            self.wide_seen = self.wide_seen or wide_before
            return flags
        count = len(tables.types) // _TYPE_WORDS
        first = self._find_type(content, end, node)
        if first < 0:
            first = count
        else:
            flags = forms.TYPE
        if self.wide_seen:
            first = -2
        self.wide_seen = self.wide_seen or wide_before
        types = append(append(tables.types, node), content)
        tables.types = append(append(types, end), first)
        return flags

    def _find_type(self, content: i64, end: i64, node: i64) -> i64:
        """The number of the first type with the text of TYPE node `node`; -1 where it is new."""
        tables = self.tables
        types = tables.types
        count = len(types) // _TYPE_WORDS
        keys = tables.type_keys
        data = self.data
        if keys is None and content >= 0 and count <= _FEW:
            size = end - content
            at: i64 = 0
            while at < len(types):
                other = types[at + 1]
                if types[at + 2] - other == size and same_bytes(data, other, content, size):
                    return at // _TYPE_WORDS
                at += _TYPE_WORDS
            return -1
        if keys is None:
            keys = {}
            tables.type_keys = keys
            at = 0
            while at < len(types):
                keys.setdefault(content_of(self.tape, types[at] + 1, data), int(at // _TYPE_WORDS))
                at += _TYPE_WORDS
        found = keys.setdefault(content_of(self.tape, node + 1, data), int(count))
        return -1 if found == count else found

    def _type_number(self, start: i64) -> i64:
        """A type as its number in the table, at the cursor; the flags of forms.py that it needs."""
        cursor = self.cursor
        types = self.tables.types
        number = self.integer("the number of a type")
        flags: i64 = 0
        if not self.usual:
            flags = forms.TYPE
        defined: i64 = -1
        place = number * _TYPE_WORDS
        if number < 0 or place >= len(types):
            flags = forms.TYPE | forms.NUMBERED
            self.tape.note(
                "dangling-type",
                start,
                f"the type number {number} is not defined; there are {len(types) // _TYPE_WORDS}",
                cursor.buffer,
            )
        else:
            defined = types[place]
            if types[place + 3] != number or (types[place + 1] >= 0 and types[place + 1] == types[place + 2]):
                flags = forms.TYPE | forms.NUMBERED
        self.tape.leaf(t.TYPE | HIDDEN, start, cursor.pos, defined)
        return flags

    def _type_final(self) -> i64:
        """A type of the final dialect, text or number; its flags."""
        cursor = self.cursor
        start = cursor.pos
        if start >= cursor.end:
            raise cursor.short(1, "a type")
        action: i64 = self.actions[self.data[start]]
        if d.STRING_SHORT <= action <= d.STRING_CHUNK:
            flags = self._type_text(start, "a type")
            if self.data[start] == 0:
                flags |= forms.TYPE
            return flags
        return self._type_number(start)

    def _open(self, head: i64, start: i64) -> i64:
        """Write the node of a list or map and give it the next reference number."""
        tables = self.tables
        references = tables.references
        node = self.tape.open(head, start, len(references))
        tables.references = append(references, node)
        return node

    def _length(self, start: i64, number: i64, form: i64) -> None:
        """A declared length as a node."""
        self.tape.leaf(t.LENGTH | HIDDEN | form << FORM_SHIFT, start, self.cursor.pos, number)

    def _flag_list(self, node: i64, flags: i64) -> None:
        """Add flags to the form of a list."""
        first: i64 = forms.LISTS[self.dialect]
        form = self.tape.head(node) >> FORM_SHIFT & t.FORM_MASK
        had: i64 = 0
        if form:
            had = form - first
        self.tape.set_form(node, first + (had | flags))

    def _list(self, head: i64, start: i64, action: i64, byte: i64) -> i64:
        """The head of a list behind its opcode; its declared length, -1 where there is none."""
        cursor = self.cursor
        node = self._open(head | t.LIST, start)
        flags: i64 = 0
        declared: i64 = -1
        if action == d.LIST_ENDED:
            flags, declared = self._list_ended()
        elif action == d.LIST_AGAIN:
            flags = self._type_number(cursor.pos)
            at = cursor.pos
            declared = self.integer("the length of a list")
            form = 0 if self.usual else forms.int_form_number(self.data, at)
            self._length(at, declared, form)
            if declared < 0:
                flags |= forms.LENGTH
                declared = -1
                self.tape.note(
                    "unended-list", start, "a list with neither a length nor an end", cursor.buffer
                )
            elif form:
                flags |= forms.LENGTH
        elif action == d.LIST_SHORT:
            return byte - 0x78
        elif action == d.LIST_TYPED_SHORT:
            flags = self._type_final()
            declared = byte - 0x70
        else:
            if action == d.LIST_TYPED or action == d.LIST_TYPED_OPEN:
                flags = self._type_final()
            if action == d.LIST_TYPED or action == d.LIST_UNTYPED:
                at = cursor.pos
                declared = self.integer("the length of a list")
                if declared < 0:
                    raise cursor.error("bad-length", at, f"a list has the negative length {declared}")
                form = 0 if self.usual else forms.int_form_number(self.data, at)
                self._length(at, declared, form)
                if form:
                    flags |= forms.LENGTH
                if declared <= 7:
                    flags |= forms.OPCODE
            else:
                flags |= forms.OPEN
        if flags:
            self.tape.set_form(node, forms.LISTS[self.dialect] + flags)
        return declared

    def _list_ended(self) -> tuple[i64, i64]:
        """Type and length of a V of 1.0 and the draft; flags, and the length (-1: none to check)."""
        cursor = self.cursor
        flags = self._type_ended()
        mark = cursor.peek()
        at = cursor.pos
        if mark == 0x6C:  # l
            cursor.pos += 1
            declared = cursor.int32("the length of a list")
            form: i64 = 0
            if declared < 0:
                flags |= forms.LENGTH
            elif self.dialect != d.V1 and declared < 256:
                flags |= forms.LENGTH
                form = forms.LENGTH_L
            self._length(at, declared, form)
            return flags, declared
        if (mark == 0x6E and self.dialect == d.DRAFT) or (mark == 0x75 and self.dialect == d.LAYOUT_2006):
            cursor.pos += 1
            declared = cursor.u8("the length of a list")
            self._length(at, declared, 0)
            return flags, declared
        return flags | forms.OPEN, -1

    def _type_ended(self) -> i64:
        """The type, if any, behind V, M or r of 1.0 and the draft; its flags, OPCODE for a number."""
        cursor = self.cursor
        start = cursor.pos
        mark = cursor.peek()
        if mark == 0x74:  # t
            cursor.pos = start + 1
            flags = self._type_text(start, "a type")
            if cursor.pos == start + 3:
                flags |= forms.TYPE
            return flags
        if mark == 0x75 and self.dialect == d.DRAFT:  # u
            cursor.pos = start + 1
            return self._type_number(start) | forms.OPCODE
        if mark == 0x54 and self.dialect == d.LAYOUT_2006:  # T
            cursor.pos = start + 1
            return self._type_number(start)
        return 0

    def _map(self, head: i64, start: i64, action: i64) -> None:
        """The head of a map behind its opcode."""
        node = self._open(head | t.MAP, start)
        flags: i64 = 0
        if action == d.MAP_TYPED:
            flags = self._type_final()
        elif action == d.MAP_ENDED:
            flags = self._type_ended() & ~forms.OPCODE
            if self.dialect == d.V1:
                # the writer of 1.0 sends an empty type for none
                size = self.cursor.pos - start
                if size == 1:
                    flags = forms.TYPE
                elif size == 4:
                    flags = 0
        if flags:
            self.tape.set_form(node, forms.MAPS[self.dialect] + flags)

    def _object(self, head: i64, start: i64, definitions: i64) -> i64:
        """The head of an object behind its opcode o or O; how many fields it has."""
        tables = self.tables
        index = self.integer("the number of a class")
        usual = self.usual
        if self.dialect == d.LAYOUT_2006:
            index -= 1
        place = index * _CLASS_WORDS
        if index < 0 or place >= len(tables.classes):
            raise self.cursor.error("bad-value", start, self._no_class(index))
        flags: i64 = 0
        if not usual or (self.dialect == d.FINAL and index <= 15):
            flags = forms.OPCODE
        if flags or definitions or tables.classes[place + 4] & _SAME:
            head |= self._object_form(index, flags, definitions) << FORM_SHIFT
        references = tables.references
        node = self.tape.open(head | t.OBJECT, start, t.object_number(tables.classes[place], len(references)))
        tables.references = append(references, node)
        return tables.classes[place + 1]

    def _object_form(self, index: i64, flags: i64, definitions: i64) -> i64:
        """The form of an object that has flags, a class like another, or definitions before it."""
        classes = self.tables.classes
        place = index * _CLASS_WORDS
        about = classes[place + 4]
        if about & _SAME:
            flags |= forms.NUMBERED
        usual = definitions == 1 and place + _CLASS_WORDS == len(classes) and about & (_SAME | _ODD) == 0
        if usual and about & _NAMED:
            flags |= forms.NAME
        form: i64 = 0
        if flags:
            form = forms.OBJECTS[self.dialect] + flags
        if definitions and not usual:
            form = forms.defining(int(form))
        return form

    def define_class(self, start: i64, action: i64, before: i64) -> None:
        """A class definition behind its opcode; `before`: how many stand directly before it."""
        cursor = self.cursor
        tape = self.tape
        data = self.data
        at = cursor.pos
        if action != d.CLASS_2006 and self._known_class(start, before):
            return
        about: i64 = 0
        wide_before = self.wide_seen
        self.wide_seen = False
        node = tape.open(t.CLASS | HIDDEN, start, before)
        plain = True
        if action == d.CLASS_FINAL:
            self.string(0, "the name of a class")
            if not self.usual:
                about = _ODD
        else:
            if at >= cursor.end:
                raise cursor.short(1, "the name of a class")
            byte: i64 = data[at]
            opens: i64 = self.actions[byte]
            if byte == 0x74 and action == d.CLASS_DRAFT:  # t
                about = _NAMED
                cursor.pos = at + 1
                self.text(0, "the name of a class")
                if not self.usual:
                    about = _ODD
            elif d.STRING_SHORT <= opens <= d.STRING_CHUNK and action == d.CLASS_DRAFT:
                about = _NAMED
                self.string(0, "the name of a class")
                if not self.usual:
                    about = _ODD
            else:
                units = self.integer("the length of a class name")
                if units < 0:
                    raise cursor.error("bad-length", at, f"a class name has the negative length {units}")
                usual = self.usual
                self._run(at, t.STRING16, units, forms.NAMED)
                if not usual or not self.usual:
                    about = _ODD
        name = tape.number(node + 1)
        at = cursor.pos
        fields = self.integer("the number of fields")
        if fields < 0:
            raise cursor.error("bad-length", at, f"a class has the negative number of fields {fields}")
        form: i64 = 0
        if not self.usual:
            about |= _ODD
            form = forms.int_form_number(data, at)
        tape.leaf(t.LENGTH | HIDDEN | form << FORM_SHIFT, at, cursor.pos, fields)
        left = fields
        pos = cursor.pos
        end = cursor.end
        while left > 0:
            if pos < end and data[pos] < 0x20:  # a short string, most often in plain ASCII
                behind = pos + 1 + data[pos]
                if behind <= end and plain_end(data, pos + 1, behind) == behind:
                    tape.leaf(t.STRING16 | SIMPLE, pos, behind, pos + 1)
                    pos = behind
                    left -= 1
                    continue
            cursor.pos = pos
            self.string(0, "the name of a field")
            if not self.usual:
                about |= _ODD
            plain = plain and tape.head(tape.size() - 1) & SIMPLE != 0
            pos = cursor.pos
            left -= 1
        cursor.pos = pos
        tape.close(node, pos)
        name_end = tape.end(node + 1)
        if name < 0 or not harmless(data, name, name_end):
            if name < 0 or fields != 1 or not names_number(data, name, name_end):
                tape.unchecked_names = True
        elif about == 0 and plain and before == 0 and action != d.CLASS_2006 and tape.head(node + 1) & SIMPLE:
            learn_definition(tape, node, data)
        if self._find_class(node, name, pos, about) >= 0 or self.wide_seen:
            about |= _SAME
        self.wide_seen = self.wide_seen or wide_before
        self._add_class(node, fields, name, pos, about)

    def _add_class(self, node: i64, fields: i64, name: i64, end: i64, about: i64) -> None:
        """Give a definition the next number."""
        tables = self.tables
        classes = append(append(tables.classes, node), fields)
        tables.classes = append(append(append(classes, name), end), about)

    def _known_class(self, start: i64, before: i64) -> bool:
        """Write the class definition at `start` as it was read before; False where it was not."""
        cursor = self.cursor
        known = known_definition(self.dialect, self.data, start, cursor.end)
        if known is None:
            return False
        tape = self.tape
        node = tape.paste(known.nodes, start)
        if before:
            tape.set_number(node, before)
        name = tape.number(node + 1)
        end = tape.end(node)
        about: i64 = 0
        if self._find_class(node, name, end, 0) >= 0:
            about = _SAME
        cursor.pos = end
        self._add_class(node, known.fields, name, end, about)
        return True

    def _find_class(self, node: i64, name: i64, end: i64, about: i64) -> i64:
        """The number of the first class with the same name and fields; -1 where it is new."""
        tables = self.tables
        tape = self.tape
        classes = tables.classes
        count = len(classes) // _CLASS_WORDS
        data = self.data
        keys = tables.class_keys
        if keys is None and about & _ODD == 0 and count <= _FEW:
            size = end - name
            name_size = tape.end(node + 1) - name
            at: i64 = 0
            while at < len(classes):
                other = classes[at + 2]
                if classes[at + 3] - other == size and tape.end(classes[at] + 1) - other == name_size:
                    if same_bytes(data, other, name, size):
                        return at // _CLASS_WORDS
                at += _CLASS_WORDS
            return -1
        if keys is None:
            keys = {}
            tables.class_keys = keys
            at = 0
            while at < len(classes):
                keys.setdefault(class_key(tape, classes[at], data), int(at // _CLASS_WORDS))
                at += _CLASS_WORDS
        found = keys.setdefault(class_key(tape, node, data), int(count))
        return -1 if found == count else found

    # --- other values ----------------------------------------------------------------------------------

    def _other(self, head: i64, start: i64, action: i64, byte: i64) -> None:
        """A value that the loop does not read itself, behind its first byte."""
        cursor = self.cursor
        if d.BINARY_SHORT <= action <= d.BINARY_CHUNK:
            self.binary(head, start, action, byte)
        elif d.DOUBLE_0 <= action <= d.DOUBLE_FLOAT or action == d.DOUBLE_INT or action == d.DOUBLE_FIXED:
            self._double(head | t.DOUBLE, start, action)
        elif action == d.REF_INT:
            number = self.integer("a reference number")
            form: i64 = 0
            if not self.usual:
                form = forms.REF_INT
            self._reference(head, start, number, form)
        elif action == d.REF_1:
            self._reference(head, start, cursor.u8("a reference number"), 0)
        elif action == d.REF_2:
            number = cursor.u16("a reference number")
            self._reference(head, start, number, 0 if number > 255 else forms.SHORT)
        elif action == d.REF_4:
            number = cursor.int32("a reference number")
            wide = self.dialect == d.V1 or number > 65535 or number < 0
            self._reference(head, start, number, 0 if wide else forms.REF_WIDE)
        elif action == d.STRING_CHUNK:
            self._chunked(head | t.STRING16, start, action, byte)
        elif action == d.XML_LAST or action == d.XML_CHUNK:
            self._chunked(head | t.XML, start, action, byte)
        elif action == d.REMOTE:
            self._remote(head, start)
        else:
            name = d.NAMES[self.dialect]
            raise self._fail(start, "bad-value", start, f"{byte:02x} opens no value of {name}")

    def _double(self, head: i64, start: i64, action: i64) -> None:
        """A double in one of its short forms."""
        cursor = self.cursor
        form: i64 = 0
        if action == d.DOUBLE_0:
            bits: i64 = 0
        elif action == d.DOUBLE_1:
            bits = int_bits(1)
        elif action == d.DOUBLE_BYTE:
            value = cursor.u8("a double")
            if value >= 128:
                value -= 256
            bits = int_bits(value)
            if value == 0 or value == 1:
                form = forms.BYTE
        elif action == d.DOUBLE_SHORT:
            value = cursor.u16("a double")
            if value >= 0x8000:
                value -= 0x10000
            bits = int_bits(value)
            if -128 <= value <= 127:
                form = forms.SHORT
        elif action == d.DOUBLE_FLOAT:
            single = cursor.u32("a double")
            bits = single_bits(single)
            if not single_fits(bits):
                form = forms.FLOAT_NAN
            elif short_double(read_f32_be(self.data, cursor.pos - 4)) or bits == -1 << 63:
                form = forms.FLOAT
        else:
            value = cursor.int32("a double") if action == d.DOUBLE_INT else cursor.u16("a double")
            bits = int_bits(value)
        self.tape.leaf(head | form << FORM_SHIFT, start, cursor.pos, bits)

    def _reference(self, head: i64, start: i64, number: i64, form: i64) -> None:
        """A back reference; the thing meant is marked, a dangling one noted."""
        tape = self.tape
        references = self.tables.references
        target: i64 = -1
        if 0 <= number < len(references):
            target = references[number]
            tape.set_flags(target, REFERRED)
        else:
            tape.note(
                "dangling-ref",
                start,
                f"the reference {number} means nothing; there are {len(references)} before it",
                self.cursor.buffer,
            )
        tape.leaf(
            head | t.REF | form << FORM_SHIFT, start, self.cursor.pos, t.reference_number(number, target)
        )

    def _remote(self, head: i64, start: i64) -> None:
        """A remote object: a type and the string of its address."""
        cursor = self.cursor
        tape = self.tape
        node = tape.open(head | t.REMOTE, start, 0)
        flags = self._type_ended()
        if cursor.pos == start + 1:
            if cursor.pos >= cursor.end:
                raise cursor.short(1, "the type of a remote object")
            raise cursor.error("bad-value", start, "a remote object has no type, where every writer puts one")
        self.string(0, "the address of a remote object")
        tape.close(node, cursor.pos)
        if flags & forms.OPCODE:
            flags = forms.TYPE | forms.NUMBERED
        elif tape.head(node + 2) >> FORM_SHIFT & t.FORM_MASK or tape.number(node + 2) == tape.end(node + 2):
            flags = forms.TYPE
        else:
            flags = 0
        if flags:
            tape.set_form(node, forms.MAPS[self.dialect] + flags)
