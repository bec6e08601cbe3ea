"""JSON text of usual values to the bytes of Hessian 2.0, in one pass without objects for the values.

It takes what `decode` prints of most messages, and text written by hand with its members in the same order.
Everything else, mistakes included, is left to value_encoding.py, which writes the message from its objects:
errors, `$wire`, and each `$id` that is not the index on the wire are handled only there. An order of bench/
takes 62,000 instructions rather than 216,000.
"""

from typing import Final

from librt.strings import BytesWriter, read_i32_le, read_i64_le
from librt.vecs import append, vec
from mypy_extensions import i32, i64, mypyc_attr, u8

from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.class_encoding import KnownClass, find_by_text
from wirelens.codecs.hessian.forms import CHUNK_UNITS
from wirelens.codecs.hessian.texts import write_cesu8
from wirelens.codecs.hessian.value_encoding import Encoder
from wirelens.codecs.json_text import JsonTextError, loads
from wirelens.codecs.numbers import DATE_LENGTH, NO_DATE, fits32, read_date
from wirelens.codecs.scan import past_space, plain_end, slot_of, starts_with, write_part

# Words that values start with.
_CLASS: Final[i64] = read_i64_le(b'"$class"', 0)
_LONG: Final[i64] = read_i64_le(b'"$long":', 0)
_DATE: Final[i64] = read_i64_le(b'"$date":', 0)
_NULL: Final[i32] = read_i32_le(b"null", 0)
_TRUE: Final[i32] = read_i32_le(b"true", 0)
_FALSE: Final[i32] = read_i32_le(b"alse", 0)

# Kinds of open containers. Tagged ones are members of an object, whose brace follows them.
_VALUES: Final = 0
_OBJECT: Final = 1
_ITEMS: Final = 2
_TAGGED_ITEMS: Final = 3
_ENTRIES: Final = 4
_TAGGED_ENTRIES: Final = 5

_MOST_LEVELS: Final = 100
_MOST_DIGITS: Final = 18  # of an integer that is read as 64 bits
_EXACT_DIGITS: Final = 15  # of a decimal whose digits and power of ten are both exact as doubles
_TENS: Final[list[float]] = [float(10**places) for places in range(_EXACT_DIGITS + 1)]
_NO_CLASS: Final = KnownClass("", [""])


class UnusualError(Exception):
    """The text is for the encoder of objects, which writes it or reports a mistake."""


@mypyc_attr(acyclic=True)
class _Container:
    """A list, map or object that is being written."""

    def __init__(self) -> None:
        self.kind: i64 = _VALUES
        self.closer: i64 = 0x5D
        self.count: i64 = 0  # members so far; of an object with its class
        self.opcode: i64 = 0  # of a list: where it is in the output
        self.length: i64 = 0  # where the length goes that an opcode does not hold
        self.known = _NO_CLASS  # of an object
        self.seen: i64 = 0  # of a map: a bit for each key, by its hash
        self.first_key: i64 = 0  # in `keys`
        self.names: set[bytes] | None = None  # all keys, once two of them have the same bit


@mypyc_attr(acyclic=True)
class TextEncoder(Encoder):
    """Writes the values of one message, given as JSON text in UTF-8.

    The methods take a position in the text and return that after what they read. They raise UnusualError, or
    IndexError where the text ends too early.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(BytesWriter(), d.FINAL)
        self.data: Final = data
        self.inside = _Container()
        self.containers: list[_Container] = [self.inside]  # kept when they end, to be used again
        self.level: i64 = 0
        self.number: i64 = 0  # the integer that was read last
        self.keys: vec[i64] = vec[i64]()  # where the keys of open maps start and end
        self.key_count: i64 = 0
        self.lengths: list[int] = []  # of long lists: 32 bits where it goes in the output, 32 bits what it is

    def message(self, at: i64) -> i64:
        """Write a message: values, a call or a reply."""
        data = self.data
        out = self.out
        at = self._mark(at, 0x7B)
        if starts_with(data, at, b'"version":'):
            at = self._mark(self._name(self._name(at, b'"version":'), b'"2.0"'), 0x2C)
        elif starts_with(data, at, b'"values":'):
            return self.brace(self._array(self._name(at, b'"values":')))
        out.write(b"H\2\0")
        if starts_with(data, at, b'"call":'):
            at = self._name(self._mark(self._name(at, b'"call":'), 0x7B), b'"method":')
            out.append(0x43)
            if data[at] != 0x22:
                raise UnusualError
            at = self._name(self._mark(self._string(at + 1), 0x2C), b'"arguments":')
            length: i64 = len(out)
            at = self._array(at)
            self.lengths.append(length << 32 | self.inside.count)
            return self.brace(self.brace(at))
        at = self._name(self._mark(self._name(at, b'"reply":'), 0x7B), b'"value":')
        out.append(0x52)
        self.inside.closer = 0x7D
        self.inside.count = 1
        at = self._values(at)
        if self.inside.count != 1:
            raise UnusualError
        return self.brace(at)

    def _array(self, at: i64) -> i64:
        """Write the values of an array."""
        at = self._mark(at, 0x5B)
        if self.data[at] == 0x5D:
            return at + 1
        self.inside.count = 1
        return self._values(at)

    def written(self) -> bytes:
        """The bytes, with the lengths of long lists put in."""
        out = self.out
        data = out.getvalue()
        if not self.lengths:
            return data
        out.truncate(0)
        done: i64 = 0
        for entry in sorted(self.lengths):
            at: i64 = entry >> 32
            out.write(data[done:at])
            self.write_int(entry & 0xFFFFFFFF)
            done = at
        out.write(data[done:])
        return out.getvalue()

    # --- the text ---------------------------------------------------------------------------------------

    def brace(self, at: i64) -> i64:
        """Pass the brace at the end of an object, and space before it."""
        at = past_space(self.data, at)
        if self.data[at] != 0x7D:
            raise UnusualError
        return at + 1

    def _mark(self, at: i64, mark: i64) -> i64:
        """Pass a character, and space around it."""
        at = past_space(self.data, at)
        if self.data[at] != mark:
            raise UnusualError
        return past_space(self.data, at + 1)

    def _name(self, at: i64, name: bytes) -> i64:
        """Pass the name of the member that must come next, with quotes and colon, and space after it."""
        if not starts_with(self.data, at, name):
            raise UnusualError
        return past_space(self.data, at + len(name))

    def _integer(self, at: i64) -> i64:
        """Read an integer into `number`."""
        data = self.data
        negative = data[at] == 0x2D
        if negative:
            at += 1
        first = at
        number: i64 = 0
        while True:
            byte: i64 = data[at]
            if byte < 0x30 or byte > 0x39:
                break
            number = number * 10 + byte - 0x30
            at += 1
        size = at - first
        if size == 0 or size > _MOST_DIGITS or (size > 1 and data[first] == 0x30):
            raise UnusualError
        self.number = -number if negative else number
        return at

    # --- values -----------------------------------------------------------------------------------------

    def _values(self, at: i64) -> i64:
        """Write the values of an array, from the first one at the position to its end."""
        data = self.data
        out = self.out
        while True:
            byte: i64 = data[at]
            if byte == 0x22:
                at = self._string(at + 1)
            elif byte == 0x7B:
                at = self._braces(past_space(data, at + 1))
            elif byte == 0x5B:
                at = self._enter_list(at, _ITEMS, 0, 0)
            elif byte == 0x6E and read_i32_le(data, at) == _NULL:
                out.append(0x4E)
                at += 4
            elif byte == 0x74 and read_i32_le(data, at) == _TRUE:
                out.append(0x54)
                at += 4
            elif byte == 0x66 and read_i32_le(data, at + 1) == _FALSE:
                out.append(0x46)
                at += 5
            else:
                at = self._number(at)
            while True:  # to the next value, out of the containers that end before it
                at = past_space(data, at)
                byte = data[at]
                inside = self.inside
                if byte == 0x2C and inside.count > 0:
                    at = past_space(data, at + 1)
                elif byte == inside.closer:
                    if inside.kind == _VALUES:
                        return at + 1
                    at = self._leave(inside, at + 1)
                    continue
                elif inside.count > 0:
                    raise UnusualError
                if inside.kind == _OBJECT:
                    at = self._name(at, inside.known.text_keys[inside.count])
                elif inside.closer == 0x7D:
                    at = self._key(inside, at)
                inside.count += 1
                break

    def _number(self, at: i64) -> i64:
        """Write an int, a long that has no tag, or a double."""
        start = at
        data = self.data
        at = self._integer(at)
        byte: i64 = data[at]
        if byte != 0x2E and byte | 0x20 != 0x65:
            if fits32(self.number):
                self.write_int(self.number)
            else:
                self.write_i64(self.number)
            return at
        number = -self.number if self.number < 0 else self.number
        places: i64 = 0
        if byte == 0x2E:
            first = at + 1
            while True:
                at += 1
                byte = data[at]
                if byte < 0x30 or byte > 0x39:
                    break
                number = number * 10 + byte - 0x30
            places = at - first
            if places == 0:
                raise UnusualError
        if byte | 0x20 != 0x65 and at - start <= _EXACT_DIGITS + 1:  # with the point
            value = float(number) / _TENS[places]
            self.write_double(-value if data[start] == 0x2D else value)
            return at
        if byte | 0x20 == 0x65:
            at += 1
            if data[at] == 0x2B or data[at] == 0x2D:
                at += 1
            first = at
            while 0x30 <= data[at] <= 0x39:
                at += 1
            if at == first:
                raise UnusualError
        value = float(data[start:at])
        if value - value != 0.0:
            raise UnusualError
        self.write_double(value)
        return at

    def _string(self, at: i64, escapes: bool = True) -> i64:
        """Write the string whose opening quote is before the position."""
        data = self.data
        out = self.out
        end = plain_end(data, at, len(data))
        units = end - at
        wide = False
        while True:
            byte: i64 = data[end]
            if byte == 0x22:
                break
            if byte == 0x5C and escapes:
                return self._escaped(at, end)
            if byte < 0x20 or byte == 0x5C:
                raise UnusualError
            if byte < 0x80:
                end += 1
            elif byte < 0xE0:
                end += 2
            elif byte < 0xF0:
                end += 3
            else:
                end += 4
                units += 1
                wide = True
            units += 1
        if units <= 31:
            out.append(u8(units))
        elif units <= 1023:
            out.append(u8(0x30 + (units >> 8)))
            out.append(u8(units & 0xFF))
        elif units <= CHUNK_UNITS:
            out.append(0x53)
            self.write_u16(units)
        else:
            self.write_text(data[at:end].decode())
            return end + 1
        if wide:
            write_cesu8(out, data, at, end)
        else:
            write_part(out, data, at, end)
        return end + 1

    def _escaped(self, at: i64, end: i64) -> i64:
        """Write a string with escapes; there is none before `end`."""
        data = self.data
        while data[end] != 0x22:
            end += 2 if data[end] == 0x5C else 1
        try:
            text = loads(data[at - 1 : end + 1].decode())
        except JsonTextError:
            raise UnusualError from None
        if not isinstance(text, str):
            raise UnusualError
        self.write_text(text)
        return end + 1

    # --- containers -------------------------------------------------------------------------------------

    def _enter(self, kind: i64, closer: i64) -> _Container:
        """A new innermost container."""
        self.count += 1
        self.level += 1
        if self.level == len(self.containers):
            if self.level > _MOST_LEVELS:
                raise UnusualError
            self.containers.append(_Container())
        inside = self.containers[self.level]
        inside.kind = kind
        inside.closer = closer
        inside.count = 0
        self.inside = inside
        return inside

    def _leave(self, inside: _Container, at: i64) -> i64:
        """End the innermost container, after its bracket or brace."""
        out = self.out
        kind = inside.kind
        if kind == _OBJECT:
            if inside.count != len(inside.known.text_keys):
                raise UnusualError
        elif inside.closer == 0x5D:
            opcode = i64(out[inside.opcode])
            if inside.count <= 7:
                out[inside.opcode] = u8(opcode + inside.count)
            else:
                out[inside.opcode] = u8(0x58 if opcode == 0x78 else 0x56)
                self.lengths.append(inside.length << 32 | inside.count)
        else:
            out.append(0x5A)
            self.key_count = inside.first_key
        self.level -= 1
        self.inside = self.containers[self.level]
        if kind == _TAGGED_ITEMS or kind == _TAGGED_ENTRIES:
            return self.brace(at)
        return at

    def _enter_list(self, at: i64, kind: i64, type_start: i64, type_end: i64) -> i64:
        """Begin a list, at its bracket; the range of its type in the text is empty if it has none."""
        out = self.out
        at = self._mark(at, 0x5B)
        inside = self._enter(kind, 0x5D)
        inside.opcode = len(out)
        out.append(0x78 if type_start == type_end else 0x70)
        self._type(type_start, type_end)
        inside.length = len(out)
        return at

    def _enter_map(self, at: i64, kind: i64, type_start: i64, type_end: i64) -> i64:
        """Begin a map, after its brace; the range of its type in the text is empty if it has none."""
        inside = self._enter(kind, 0x7D)
        inside.seen = 0
        inside.first_key = self.key_count
        inside.names = None
        self.out.append(0x48 if type_start == type_end else 0x4D)
        self._type(type_start, type_end)
        return at

    def _type(self, start: i64, end: i64) -> None:
        """Write the type of a list or map."""
        if start == end:
            return
        name = self.data[start:end]
        number = self.types.find(name)
        if number >= 0:
            self.write_int(number)
            return
        self._string(start)
        self.types.add(name)

    def _braces(self, at: i64) -> i64:
        """Write the JSON object whose opening brace is before the position, or begin its container."""
        data = self.data
        if data[at] == 0x7D or data[at + 1] != 0x24:  # $
            return self._enter_map(at, _ENTRIES, 0, 0)
        word = read_i64_le(data, at)
        if word == _CLASS:
            return self._enter_object(self._mark(at + 8, 0x3A))
        if word == _LONG:
            at = self._integer(past_space(data, at + 8))
            self.write_i64(self.number)
        elif word == _DATE:
            at = past_space(data, at + 8)
            if data[at] == 0x22:
                moment = read_date(data, at + 1)
                at += DATE_LENGTH + 1
                if moment == NO_DATE or data[at] != 0x22:
                    raise UnusualError
                at += 1
            else:
                at = self._integer(at)
                moment = self.number
            self.write_moment(moment, None)
        elif starts_with(data, at, b'"$ref":'):
            at = self._integer(self._name(at, b'"$ref":'))
            if self.number < 0 or not fits32(self.number):
                raise UnusualError
            self.out.append(0x51)
            self.write_int(self.number)
        else:
            return self._enter_tagged(at)
        return self.brace(at)

    def _enter_tagged(self, at: i64) -> i64:
        """Begin a list or map under a tag, perhaps with a type and a label."""
        data = self.data
        start: i64 = 0
        end: i64 = 0
        if starts_with(data, at, b'"$type":'):
            start = self._name(at, b'"$type":') + 1
            end = plain_end(data, start, len(data))
            if data[start - 1] != 0x22 or data[end] != 0x22 or start == end:
                raise UnusualError
            at = self._mark(end + 1, 0x2C)
        if starts_with(data, at, b'"$id":'):
            at = self._mark(self._label_here(at), 0x2C)
        if starts_with(data, at, b'"$list":'):
            return self._enter_list(self._name(at, b'"$list":'), _TAGGED_ITEMS, start, end)
        at = self._mark(self._name(at, b'"$map":'), 0x7B)
        return self._enter_map(at, _TAGGED_ENTRIES, start, end)

    def _label_here(self, at: i64) -> i64:
        """Pass an `$id`, which must be the index on the wire: then each `$ref` is one, too."""
        at = self._integer(self._name(at, b'"$id":'))
        if self.number != self.count:
            raise UnusualError
        return at

    def _enter_object(self, at: i64) -> i64:
        """Begin an object of a class that was written before, at the name of the class."""
        data = self.data
        end = plain_end(data, at + 1, len(data))
        if data[at] != 0x22 or data[end] != 0x22 or end == at + 1:
            raise UnusualError
        known = find_by_text(data, at + 1, end)
        if known is None:
            raise UnusualError
        at = past_space(data, end + 1)
        if data[at] == 0x2C:
            after = past_space(data, at + 1)
            if data[after + 1] == 0x24:  # $
                at = self._label_here(after)
        self.open_object(known)
        inside = self._enter(_OBJECT, 0x7D)
        inside.known = known
        inside.count = 1
        return at

    def _key(self, inside: _Container, at: i64) -> i64:
        """Write the key of a map's entry. One that starts with $ or occurs twice is a mistake."""
        data = self.data
        start = at + 1
        if data[at] != 0x22 or data[start] == 0x24:
            raise UnusualError
        at = self._string(start, False)
        end = at - 1
        one: i64 = 1
        bit = one << (slot_of(data, start, end - start) & 63)
        names = inside.names
        if names is None and inside.seen & bit == 0:
            inside.seen |= bit
            if self.key_count == len(self.keys):
                self.keys = append(append(self.keys, 0), 0)
            self.keys[self.key_count] = start
            self.keys[self.key_count + 1] = end
            self.key_count += 2
        else:
            if names is None:
                names = set()
                place = inside.first_key
                while place < self.key_count:
                    names.add(data[self.keys[place] : self.keys[place + 1]])
                    place += 2
                inside.names = names
            name = data[start:end]
            if name in names:
                raise UnusualError
            names.add(name)
        return self._mark(at, 0x3A)


def encode_text(data: bytes, at: i64, braces: i64) -> bytes | None:
    """The bytes of the message at a position of JSON text; None if it is not a usual one.

    `braces` follow the message, of what it is in, and nothing else.
    """
    encoder = TextEncoder(data)
    try:
        at = encoder.message(at)
        while braces > 0:
            braces -= 1
            at = encoder.brace(at)
    except (UnusualError, IndexError):
        return None
    if at < len(data) and data[at:].strip(b" \t\r\n"):
        return None
    return encoder.written()
