"""Reading Hessian values of any dialect onto a tape: one loop, one stack, a table of opcodes a dialect.

Sources: the draft text section 4 (values) and 5 (reference maps); the notes on deployed software,
section 1 for the final and the first dialect, 1.2 for the behaviour of readers of the draft.
"""

from typing import Final

from librt.strings import read_f32_be, read_f64_be, read_i16_be, read_i32_be, read_i64_be
from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import forms
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.doubles import (
    NEGATIVE_ZERO,
    double_shorter,
    int_bits,
    mill_bits,
    mill_usual,
    short_double,
    single_bits,
    single_fits,
)
from wirelens.codecs.hessian.heads import Heads
from wirelens.codecs.hessian.tables import (
    CLASS_NODE,
    COSTLY,
    FIELDS_SHIFT,
    FLAGS_MASK,
    FLAGS_SHIFT,
    SAME,
    Tables,
)
from wirelens.codecs.hessian.texts import MEASURE_FLAGS, MEASURE_SHIFT, NOT_SIMPLE, measure
from wirelens.codecs.numbers import date_text
from wirelens.codecs.scan import plain_end
from wirelens.codecs.tape import FORM_SHIFT, REFERRED, SIMPLE, Tape
from wirelens.codecs.words import count as counted

# How many values `Values.read` reads, other than a plain count.
TO_END: Final = -1  # up to the cursor's end
TO_MARK: Final = -2  # up to the z or Z that closes the enclosing message, which is not read

MISPLACED: Final = "misplaced-object"
MISPLACED_TEXT: Final = "it stands where a string or int belongs; receivers in Java read it (CVE-2021-43297)"
MOST_MISPLACED: Final = 4  # values in the place of strings or ints that are read, each inside the one before

# How the end of an open container is known.
_COUNTED: Final = 0  # by the number of values left
_ENDED: Final = 1  # a list: by its z or Z
_PAIRS: Final = 2  # a map: by its z or Z
_UNENDED: Final = 3  # a list of the draft with neither a length nor an end: by the end of what encloses it
_FRAME: Final = 4  # words of an open container on the stack: node, how it ends, values left, declared length

_RUNS: Final = False  # whether `read_run` is in use: uncompiled it is
_NONE: Final[vec[i64]] = vec[i64]()
_STACK: Final[vec[i64]] = vec[i64]([0] * 32)  # initial room: eight open containers


@mypyc_attr(acyclic=True, free_list_len=1)
class Values(Heads):
    """Reads values of one dialect from a cursor onto a tape, into the tables of one scope."""

    def __init__(self, cursor: Cursor, tape: Tape, tables: Tables) -> None:
        super().__init__(cursor, tape, tables)
        self.early: vec[i64] = _NONE  # nodes after class definitions that are not followed by an object
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
        repeated = tables.repeated
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
        tables.repeated = repeated
        tables.class_keys = None
        tables.type_keys = None
        self.early = _NONE
        self.misplaced = -1
        try:
            self.wide = 1
            self._read(count, field)
            tables.units = 1
        except DecodeError as error:
            if error.offset >= reached or error.needed:
                raise
            raise first from None

    def read_misplaced(self) -> None:
        """After an error, read the value that stands in place of a string or an int, if that is the error.

        Receivers in Java read it to name it in their own error, and so make its objects (CVE-2021-43297).
        """
        tape = self.tape
        tries: i64 = 0
        while self.misplaced >= 0 and tries < MOST_MISPLACED:
            at = self.misplaced
            self.misplaced = -1
            tries += 1
            action: i64 = self.actions[self.data[at]]
            if not (d.LIST_ENDED <= action < d.END or action == d.CLASS_FINAL or action == d.CLASS_DRAFT):
                return
            tape.close_hidden(at)
            self.cursor.pos = at
            self.early = _NONE
            if self._reads_one():
                tape.note(MISPLACED, at, MISPLACED_TEXT, self.cursor.buffer)

    def _reads_one(self) -> bool:
        """Read a value; False if that fails."""
        try:
            self.read(1)
        except DecodeError:
            return False
        return True

    def _read(self, count: i64, field: i64) -> None:
        """The loop over values.

        Numbers and texts are read in the loop itself: a method call for each costs 1.7 ns more, of some 14 ns
        that a value takes. The state of a container is in local variables and, while an inner one is read, on
        the stack, which is written where a container opens and read where one is complete.
        """
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
        after: i64 = 0  # index of the node after them
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
                tape.complete(node, pos)
                depth -= 1
                base = depth * _FRAME
                node = stack[base]
                how = stack[base + 1]
                left = stack[base + 2]
                declared = stack[base + 3]
                continue
            if _RUNS and depth and definitions == 0 and pos < end and actions[data[pos]] <= d.DATE_4:
                pos, left = read_run(dialect, tape, data, pos, end, left)
                if left == 0 and how == _COUNTED:
                    continue
            start = pos
            if pos >= end:
                if how == _UNENDED and definitions == 0:
                    how = _COUNTED  # complete
                    left = 0
                    continue
                if depth == 0 and count == TO_END and definitions == 0:
                    break
                raise self.cut(pos, 1, "a value")
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
                after = tape.size()
            if action == d.STRING_SHORT:
                content = pos
                pos += byte
                head |= t.STRING16
                if pos <= end and plain_end(data, content, pos) == pos:  # most texts are plain
                    head |= SIMPLE
                else:
                    measured = measure(data, content, end, byte, wide)
                    if measured < 0:
                        raise self.bad_text(content, measured, byte)
                    flags = measured & MEASURE_FLAGS
                    if flags != NOT_SIMPLE:
                        head |= self.odd_text(flags, start) << FORM_SHIFT
                    pos = measured >> MEASURE_SHIFT
                tape.leaf(head, start, pos, content)
            elif action == d.INT_1:
                tape.leaf(head | t.INT, start, pos, byte - 0x90)
            elif action == d.INT_2:
                if pos >= end:
                    raise self.cut(start, 2, "an int")
                value = ((byte - 0xC8) << 8) + data[pos]
                pos += 1
                head |= t.INT
                if -16 <= value <= 47:
                    head |= forms.TWO_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif d.LIST_ENDED <= action <= d.CLASS_2006:  # a container
                left -= 1
                base = depth * _FRAME
                if base >= len(stack):
                    tape.check_level(depth, start)
                    stack = deeper(stack)
                stack[base] = node
                stack[base + 1] = how
                stack[base + 2] = left
                stack[base + 3] = declared
                depth += 1
                how = _COUNTED
                if action == d.OBJECT_SHORT:
                    index = byte - 0x60
                    classes = tables.classes
                    if index >= len(classes):
                        raise self.fail(start, "bad-value", start, self.no_class(index))
                    word = classes[index]
                    class_flags = word >> FLAGS_SHIFT & FLAGS_MASK
                    if definitions == 1 and class_flags == 0 and index + 1 == len(classes):
                        definitions = 0  # an object after its class definition, as is usual
                    elif definitions or class_flags & (SAME | COSTLY):
                        head |= self.object_form(index, start, 0, definitions) << FORM_SHIFT
                        definitions = 0
                    references = tables.references
                    number = word & CLASS_NODE | len(references) << 32  # as t.object_number
                    node = tape.open(head | t.OBJECT, start, number)
                    tables.references = append(references, node)
                    left = word >> FIELDS_SHIFT
                    continue
                cursor.pos = pos
                node = tape.size()
                declared = -1
                if action == d.OBJECT_INT:
                    left = self.object_head(head, start, definitions)
                    definitions = 0
                elif action == d.CLASS_2006:
                    self.define_class(start, action, definitions)
                    definitions = 0
                    node = tape.size()
                    left = self.object_2006(head)
                else:
                    if definitions:
                        self.early = append(self.early, after)
                        definitions = 0
                    if action >= d.MAP_ENDED:
                        self.map_head(head, start, action)
                        how = _PAIRS
                        left = 0
                    else:
                        declared = self.list_head(head, start, action, byte)
                        left = declared
                        if action == d.LIST_ENDED or action == d.LIST_OPEN or action == d.LIST_TYPED_OPEN:
                            how = _ENDED
                            left = 0
                        elif declared < 0:
                            how = _UNENDED
                            left = 0
                pos = cursor.pos
                continue
            elif d.CLASS_DRAFT <= action <= d.CLASS_FINAL:
                cursor.pos = pos
                self.define_class(start, action, definitions)
                pos = cursor.pos
                definitions += 1
                continue
            elif action == d.NULL:
                tape.leaf(head | t.NULL, start, pos, 0)
            elif d.TRUE <= action <= d.FALSE:
                tape.leaf(head | t.BOOL, start, pos, d.FALSE - action)
            elif action == d.LONG_8:
                if end - pos < 8:
                    raise self.cut(start, 9, "a long")
                value = read_i64_be(data, pos)
                pos += 8
                head |= t.LONG
                if dialect != d.V1 and -0x80000000 <= value <= 0x7FFFFFFF:
                    head |= forms.LONG_L << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.INT_4:
                if end - pos < 4:
                    raise self.cut(start, 5, "an int")
                value = i64(read_i32_be(data, pos))
                pos += 4
                head |= t.INT
                if dialect != d.V1 and -0x40000 <= value <= 0x3FFFF:
                    head |= forms.INT_I << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.STRING_LAST or action == d.STRING_MEDIUM:
                if action == d.STRING_LAST:
                    if end - pos < 2:
                        raise self.cut(start, 3, "a string's length")
                    units = i64(read_i16_be(data, pos)) & 0xFFFF
                    pos += 2
                else:
                    if pos >= end:
                        raise self.cut(start, 2, "a string's length")
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
                        raise self.bad_text(content, measured, units)
                    flags = measured & MEASURE_FLAGS
                    if flags != NOT_SIMPLE:
                        form = self.odd_text(flags, start)
                    pos = measured >> MEASURE_SHIFT
                if action == d.STRING_LAST:
                    if units > forms.CHUNK_UNITS or (dialect != d.V1 and units <= (1023 if final else 31)):
                        form = forms.STRINGS[dialect]
                elif units <= 31:
                    form = forms.STRINGS[dialect]
                tape.leaf(head | form << FORM_SHIFT, start, pos, content)
            elif action == d.INT_3:
                if end - pos < 2:
                    raise self.cut(start, 3, "an int")
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
                    raise self.cut(start, 2, "a long")
                value = ((byte - 0xF8) << 8) + data[pos]
                pos += 1
                head |= t.LONG
                if -8 <= value <= 15:
                    head |= forms.TWO_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.LONG_3:
                if end - pos < 2:
                    raise self.cut(start, 3, "a long")
                value = ((byte - 0x3C) << 16) + (i64(read_i16_be(data, pos)) & 0xFFFF)
                pos += 2
                head |= t.LONG
                if -0x800 <= value <= 0x7FF:
                    head |= forms.THREE_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.LONG_4:
                if end - pos < 4:
                    raise self.cut(start, 5, "a long")
                value = i64(read_i32_be(data, pos))
                pos += 4
                head |= t.LONG
                if -0x40000 <= value <= 0x3FFFF:
                    head |= forms.FOUR_BYTE << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.DOUBLE_MILL:
                if end - pos < 4:
                    raise self.cut(start, 5, "a double")
                value = i64(read_i32_be(data, pos))
                pos += 4
                head |= t.DOUBLE
                bits = mill_bits(value)
                if not mill_usual(value):
                    head |= forms.MILL << FORM_SHIFT
                tape.leaf(head, start, pos, bits)
            elif action == d.DOUBLE_8:
                if end - pos < 8:
                    raise self.cut(start, 9, "a double")
                bits = read_i64_be(data, pos)
                head |= t.DOUBLE
                if dialect != d.V1 and double_shorter(read_f64_be(data, pos), bits, dialect):
                    head |= forms.DOUBLE_D << FORM_SHIFT
                pos += 8
                tape.leaf(head, start, pos, bits)
            elif action == d.DATE_8:
                if end - pos < 8:
                    raise self.cut(start, 9, "a date")
                value = read_i64_be(data, pos)
                pos += 8
                head |= t.DATE
                if final and value % 60000 == 0 and -0x80000000 <= value // 60000 <= 0x7FFFFFFF:
                    head |= forms.DATE_LONG << FORM_SHIFT
                tape.leaf(head, start, pos, value)
            elif action == d.DATE_4:
                if end - pos < 4:
                    raise self.cut(start, 5, "a date")
                value = i64(read_i32_be(data, pos))
                pos += 4
                if value >= d.LEAST_SECONDS:
                    self.note_seconds(start, value)
                tape.leaf(head | t.DATE, start, pos, value * 60000)
            elif action == d.END:
                if how == _COUNTED or definitions:
                    raise self.fail(start, "bad-value", start, f"expected a value, not the end {byte:02x}")
                if depth == 0:
                    if count != TO_MARK:
                        raise self.no_open(start, byte)
                    pos = start
                    break
                if how == _PAIRS and left & 1:
                    raise self.fail(start, "bad-value", start, "a map's key has no value")
                if how == _UNENDED:
                    pos = start
                elif declared >= 0 and declared != -left:
                    self.flag_list(node, forms.LENGTH)
                    self.note_length(tape.start(node), -left, declared)
                how = _COUNTED  # complete
                left = 0
                continue
            else:
                cursor.pos = pos
                self._other(head, start, action, byte)
                pos = cursor.pos
            left -= 1
            if definitions:
                definitions = 0
                self.early = append(self.early, after)
        cursor.pos = pos
        if len(self.early):
            self._mark_early()

    def note_length(self, start: i64, items: i64, declared: i64) -> None:
        """Note a list whose declared length is not its number of items."""
        text = f"a list of {counted(items, 'item')} declares {declared}"
        if declared == items + 0x90 and self.dialect == d.DRAFT:
            text += f"; the byte {declared:02x} as an int is {items}"
        self.tape.note("list-length", start, text, self.cursor.buffer)

    def note_seconds(self, start: i64, minutes: i64) -> None:
        """Note a date in minutes so far ahead that its writer may have sent seconds."""
        text = f"if {minutes} are seconds, as gohessian writes them, the date is {date_text(minutes * 1000)}"
        self.tape.note("date-unit", start, text, self.cursor.buffer)

    def no_open(self, start: i64, byte: i64) -> DecodeError:
        """The error for an end where nothing is open."""
        text = f"the end {byte:02x}, where nothing is open"
        if self.dialect == d.FINAL and self.cursor.end - start > 8:
            text += "; Hessian.NET writes doubles with this opcode"
        return self.fail(start, "bad-value", start, text)

    def _mark_early(self) -> None:
        """Give the values after unusual class definitions the form that lists the definitions."""
        tape = self.tape
        for index in self.early:
            form = tape.head(index) >> FORM_SHIFT & t.FORM_MASK
            tape.set_form(index, forms.defining(int(form)))
        self.early = _NONE

    def stops(self, pos: i64) -> bool:
        """True where the values of a stream end before a position, because a message starts there."""
        return d.opens_message(self.dialect, self.data, pos, self.cursor.end)

    # --- other values ----------------------------------------------------------------------------------

    def _other(self, head: i64, start: i64, action: i64, byte: i64) -> None:
        """Read a value that the loop does not read itself, after its first byte."""
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
            self.chunked(head | t.STRING16, start, action, byte)
        elif action == d.XML_LAST or action == d.XML_CHUNK:
            self.chunked(head | t.XML, start, action, byte)
        elif action == d.REMOTE:
            self._remote(head, start)
        else:
            name = d.NAMES[self.dialect]
            raise self.fail(start, "bad-value", start, f"{byte:02x} does not start a value of {name}")

    def _double(self, head: i64, start: i64, action: i64) -> None:
        """Read a double in one of its short forms."""
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
            elif short_double(read_f32_be(self.data, cursor.pos - 4)) or bits == NEGATIVE_ZERO:
                form = forms.FLOAT
        else:
            value = cursor.int32("a double") if action == d.DOUBLE_INT else cursor.u16("a double")
            bits = int_bits(value)
        self.tape.leaf(head | form << FORM_SHIFT, start, cursor.pos, bits)

    def _reference(self, head: i64, start: i64, number: i64, form: i64) -> None:
        """Write a back reference; its target is marked, a dangling one noted."""
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
                f"reference {number} has no target; {counted(len(references), 'value')} can be referred to",
                self.cursor.buffer,
            )
        tape.leaf(
            head | t.REF | form << FORM_SHIFT, start, self.cursor.pos, t.reference_number(number, target)
        )

    def _remote(self, head: i64, start: i64) -> None:
        """Read a remote object: a type and the string of its address."""
        cursor = self.cursor
        tape = self.tape
        node = tape.open(head | t.REMOTE, start, 0)
        flags = self.type_ended()
        if cursor.pos == start + 1:
            if cursor.pos >= cursor.end:
                raise cursor.short(1, "the type of a remote object")
            raise cursor.error("bad-value", start, "a remote object without a type, which every writer sends")
        self.string(0, "the address of a remote object")
        tape.close(node, cursor.pos)
        text = tape.following(node + t.WIDTH)  # of the type, if it is text
        if flags & forms.OPCODE:
            flags = forms.TYPE | forms.NUMBERED
        elif tape.head(text) >> FORM_SHIFT & t.FORM_MASK or tape.number(text) == tape.end(text):
            flags = forms.TYPE
        else:
            flags = 0
        if flags:
            tape.set_form(node, forms.MAPS + flags)


def deeper(stack: vec[i64]) -> vec[i64]:
    """The stack with room for another container."""
    return append(append(append(append(stack, 0), 0), 0), 0)


def read_run(dialect: i64, tape: Tape, data: bytes, pos: i64, end: i64, left: i64) -> tuple[i64, i64]:
    """Read values without parts, in the forms that the dialect's writer sends, as long as there are such.

    `left`: at most this many, if it is above 0. Returns the position after them, and `left` less their
    number. Compiled, the loop over values does this faster.
    """
    return pos, left


if __file__.endswith(".py"):
    from wirelens.codecs.hessian import value_decoding_uncompiled

    globals().update(
        _RUNS=True,
        _STACK=list(_STACK),
        deeper=value_decoding_uncompiled.deeper,
        read_run=value_decoding_uncompiled.read_run,
    )
