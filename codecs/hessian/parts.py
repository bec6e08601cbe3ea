"""Reading what the layouts of Hessian values are made of: ints, texts and bytes, onto a tape."""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import forms
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.tables import Tables
from wirelens.codecs.hessian.texts import (
    BROKEN,
    MEASURE_FLAGS,
    MEASURE_SHIFT,
    NOT_SIMPLE,
    OVERLONG,
    WIDE,
    measure,
)
from wirelens.codecs.scan import plain_end
from wirelens.codecs.tape import FORM_SHIFT, HIDDEN, SIMPLE, Tape
from wirelens.codecs.words import count


@mypyc_attr(acyclic=True)
class Parts:
    """Reads parts of values from a cursor onto a tape. Base of `Heads` and so of `Values`."""

    def __init__(self, cursor: Cursor, tape: Tape, tables: Tables) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.tables: Final = tables
        self.data: Final = cursor.data
        self.actions: Final = d.TABLES[tables.dialect]
        self.dialect: Final[i64] = tables.dialect
        self.first: Final[i64] = cursor.pos  # where the scope starts
        self.wide: i64 = tables.units or 2  # units that a four-byte character counts
        self.wide_seen = False
        self.overlong_seen = False
        self.misplaced: i64 = -1  # where another value stands in the place of a string or an int
        self.usual = True  # whether the part just read is in the form that the dialect's writer uses

    def fail(self, pos: i64, code: str, at: i64, text: str) -> DecodeError:
        """An error at `at`, where the cursor stays at `pos`."""
        self.cursor.pos = pos
        return self.cursor.error(code, at, text)

    def cut(self, pos: i64, size: i64, noun: str) -> DecodeError:
        """The error where the data ends less than `size` bytes after `pos`; `noun`: what they are."""
        self.cursor.pos = pos
        return self.cursor.short(size, noun)

    def bad_text(self, pos: i64, measured: i64, units: i64) -> DecodeError:
        """The error for text at `pos`, from the negative result of `measure`."""
        if measured == -1:
            self.cursor.pos = pos
            left = self.cursor.end - pos
            if left < units:
                return self.cursor.short(units, f"a text of {count(units, 'unit')}")
            return self.cursor.short(left + 1, f"the rest of a text of {count(units, 'unit')}")
        at = -2 - measured
        byte: i64 = self.data[at]
        if 0xF0 <= byte < 0xF8:
            self.wide_seen = True
            return self.fail(pos, "bad-text", at, "a four-byte character counts more units than are left")
        return self.fail(pos, "bad-text", at, f"{byte:02x} does not start a character")

    def odd_text(self, flags: i64, start: i64) -> i64:
        """Note what is unusual about a text, by the flags of `measure`; the form that it gets."""
        if flags & WIDE:
            self.wide_seen = True
            self.tape.note(
                "four-byte-utf8",
                start,
                "a character in four-byte UTF-8, where Hessian has two of three bytes",
                self.cursor.buffer,
            )
        if flags & OVERLONG:
            self.overlong_seen = True
            self.tape.note(
                "overlong-utf8",
                start,
                "a character in more bytes than UTF-8 allows; readers in Java take it for that character",
                self.cursor.buffer,
            )
        if flags & BROKEN:
            self.tape.note("bad-text", start, "the text is not well-formed", self.cursor.buffer)
        return forms.STRINGS[self.dialect]

    def integer(self, noun: str) -> i64:
        """Read an int that is part of a layout; `usual` becomes false if it is longer than needed."""
        cursor = self.cursor
        pos = cursor.pos
        if pos >= cursor.end:
            raise cursor.short(1, noun)
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
            self.misplaced = pos
            raise cursor.error("bad-value", pos, f"expected {noun}, an int, not {byte:02x}")
        if cursor.end - pos < size:
            raise cursor.short(size, noun)
        cursor.pos = pos + size
        self.usual = forms.int_form(self.data, pos) is None
        return forms.int_value(self.data, pos)

    def run(self, start: i64, head: i64, units: i64, form: i64) -> None:
        """Read text of `units` at the cursor; its node starts at `start`, and gets `form` if it is odd."""
        cursor = self.cursor
        pos = cursor.pos
        measured = measure(self.data, pos, cursor.end, units, self.wide)
        if measured < 0:
            raise self.bad_text(pos, measured, units)
        flags = measured & MEASURE_FLAGS
        self.usual = True
        if flags == 0:
            head |= SIMPLE
        elif flags != NOT_SIMPLE:
            self.odd_text(flags, start)
            head |= form << FORM_SHIFT
            self.usual = False
        cursor.pos = measured >> MEASURE_SHIFT
        self.tape.leaf(head, start, cursor.pos, pos)

    def text(self, head: i64, noun: str) -> None:
        """Read text after a 16-bit count of units: types, methods, header names of 1.0 and the draft."""
        if self.cursor.left() < 2:
            raise self.cursor.short(2, f"the length of {noun}")
        units = self.cursor.u16(noun)
        self.run(self.cursor.pos, head | t.STRING16, units, forms.COUNTED)

    def string(self, head: i64, noun: str) -> None:
        """Read a string that is part of a layout, as a node of kind STRING16."""
        cursor = self.cursor
        pos = cursor.pos
        if pos >= cursor.end:
            raise cursor.short(1, noun)
        byte: i64 = self.data[pos]
        action: i64 = self.actions[byte]
        if action == d.STRING_SHORT:
            cursor.pos = pos + 1
            self.run(pos, head | t.STRING16, byte, forms.STRINGS[self.dialect])
        elif action == d.STRING_MEDIUM or action == d.STRING_LAST or action == d.STRING_CHUNK:
            cursor.pos = pos + 1
            self.chunked(head | t.STRING16, pos, action, byte)
        else:
            self.misplaced = pos
            raise cursor.error("bad-value", pos, f"expected {noun}, a string, not {byte:02x}")

    def plain_text(self, field: i64) -> bool:
        """Read a short string of printable ASCII as a member of that number; False if there is none here.

        A fourth of the time that `Values.read` takes for one value: 2 % of a message of Dubbo.
        """
        cursor = self.cursor
        data = self.data
        start = cursor.pos
        if start >= cursor.end:
            return False
        byte: i64 = data[start]
        content = start + 1
        after = content + byte
        if (
            self.actions[byte] != d.STRING_SHORT
            or after > cursor.end
            or plain_end(data, content, after) != after
        ):
            return False
        self.tape.leaf(t.STRING16 | SIMPLE | field << t.FIELD_SHIFT, start, after, content)
        cursor.pos = after
        return True

    def _chunk_size(self, action: i64, byte: i64, noun: str) -> i64:
        """Read the length in the opcode of a chunk, after that opcode's first byte."""
        if action == d.STRING_SHORT:
            return byte
        if action == d.BINARY_SHORT:
            return byte - 0x20
        if action == d.STRING_MEDIUM or action == d.BINARY_MEDIUM:
            return (byte & 3) << 8 | self.cursor.u8(f"the length of {noun}")
        return self.cursor.u16(f"the length of {noun}")

    def chunked(self, head: i64, start: i64, action: i64, byte: i64) -> None:
        """Read a string or XML in one or more chunks, after its first byte."""
        cursor = self.cursor
        tape = self.tape
        data = self.data
        dialect = self.dialect
        xml = head & t.KIND_MASK == t.XML
        chunk: i64 = d.XML_CHUNK if xml else d.STRING_CHUNK  # the opcode of all chunks but the last
        last: i64 = d.XML_LAST if xml else d.STRING_LAST
        noun = "XML" if xml else "a string"
        if action != chunk:
            units = self._chunk_size(action, byte, noun)
            at = tape.size()
            self.run(start, head, units, forms.STRINGS[dialect])
            if units > forms.CHUNK_UNITS or (not xml and not self._usual_last(action, units)):
                tape.set_form(at, forms.STRINGS[dialect])
                self.usual = False
            return
        whole = tape.open(head, start, -1)
        usual = True
        short_by_one = False
        split = False
        position = start
        while True:
            units = self._chunk_size(action, byte, noun)
            content = cursor.pos
            if short_by_one and not (
                data[content : content + 1] == b"\xed" and 0xA0 <= data[content + 1] < 0xB0
            ):
                usual = False
            self.run(position, t.CHUNK | HIDDEN, units, 0)
            usual = usual and self.usual
            after = cursor.pos
            if action != chunk:
                if (
                    units == 0
                    or units > forms.CHUNK_UNITS
                    or (short_by_one and units < 2)
                    or (not xml and not self._usual_last(action, units))
                ):
                    usual = False
                break
            # a writer that would cut a surrogate pair leaves the first half to the next chunk
            short_by_one = units == forms.CHUNK_UNITS - 1
            high = after - content >= 3 and data[after - 3] == 0xED and 0xA0 <= data[after - 2] < 0xB0
            if high or not (short_by_one or units == forms.CHUNK_UNITS):
                usual = False
            if high and not split:
                split = True
                text = "the chunk ends between the surrogates of a character"
                tape.note("split-surrogates", after - 3, text, cursor.buffer)
            position = after
            if position >= cursor.end:
                raise cursor.short(1, f"the next chunk of {noun}")
            byte = data[position]
            action = self.actions[byte]
            if action != chunk and action != last:
                if xml or (action != d.STRING_SHORT and action != d.STRING_MEDIUM):
                    raise cursor.error(
                        "bad-value", position, f"expected the next chunk of {noun}, not {byte:02x}"
                    )
            cursor.pos = position + 1
        tape.close(whole, cursor.pos)
        if not usual:
            tape.set_form(whole, forms.STRINGS[dialect])
        self.usual = usual

    def _usual_last(self, action: i64, units: i64) -> bool:
        """True where a string's last chunk has the opcode that a writer uses for that number of units."""
        if self.dialect == d.V1:
            return True
        if units <= (15 if self.dialect == d.LAYOUT_2006 else 31):
            return action == d.STRING_SHORT
        if self.dialect == d.FINAL and units <= 1023:
            return action == d.STRING_MEDIUM
        return action == d.STRING_LAST

    def binary(self, head: i64, start: i64, action: i64, byte: i64) -> None:
        """Read bytes in one or more chunks, after their first opcode byte."""
        cursor = self.cursor
        tape = self.tape
        dialect = self.dialect
        usual_size = forms.CHUNK_BYTES[dialect]
        head |= t.BYTES
        if action != d.BINARY_CHUNK:
            size = self._chunk_size(action, byte, "bytes")
            content = cursor.skip(size, "a chunk of bytes")
            if size > usual_size or not self._usual_last_binary(action, size):
                head |= forms.BINARIES[dialect] << FORM_SHIFT
            tape.leaf(head, start, cursor.pos, content)
            return
        whole = tape.open(head, start, -1)
        usual = True
        position = start
        while True:
            size = self._chunk_size(action, byte, "bytes")
            content = cursor.skip(size, "a chunk of bytes")
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
        """True where the last chunk of bytes has the opcode that a writer uses for that size."""
        if self.dialect == d.V1:
            return True
        if size <= 15:
            return action == d.BINARY_SHORT
        if self.dialect == d.FINAL and size <= 1023:
            return action == d.BINARY_MEDIUM
        return action == d.BINARY_LAST
