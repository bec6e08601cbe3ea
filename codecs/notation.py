"""The notation: JSON text from a tape, and JSON text to and from Python objects.

The writer walks the tape once, with an explicit stack, and writes UTF-8 straight from it; no object is
made for a node. The encoders of the codecs read the objects that `loads` gives. Neither direction
recurses, so nesting is bounded by memory alone. The form itself is described in the README's reference.
"""

import json
import re
from datetime import UTC, datetime
from json.encoder import encode_basestring
from typing import Final

from librt.strings import BytesWriter, read_f64_le, write_i64_le
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.errors import WirelensError
from wirelens.codecs.node import FIELDS, HINTS, TAGS, Json, Node, single_of, utf8, utf16_text
from wirelens.codecs.scan import (
    SLOTS,
    joined_pair,
    json_end,
    slot_of,
    starts_with,
    write_part,
)
from wirelens.codecs.tape import Buffer, Tape

PLAIN_NAN: Final = 0x7FF8000000000000
PLAIN_SINGLE_NAN: Final = 0x7FC00000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY: Final = 86_400_000  # milliseconds
MARCH_DAYS: Final = 719468  # from the first of March of the year 0 to 1970
DATE_LENGTH: Final = 24
NO_DATE: Final = -1 << 62
_DATE_SIGNS: Final = b"0000-00-00T00:00:00.000Z"
FIRST_MILLISECOND: Final = -62135596800000  # 0001-01-01T00:00:00.000Z
LAST_MILLISECOND: Final = 253402300799999  # 9999-12-31T23:59:59.999Z
LAST_MICROSECOND: Final = LAST_MILLISECOND * 1000 + 999

# Powers of two for the doubles from 2^-10 to 2^39, by their exponent on the wire from the least on.
_LEAST_EXPONENT: Final = 1013
_POWERS: Final[list[float]] = [2.0 ** (exponent - 1075) for exponent in range(_LEAST_EXPONENT, 1062)]

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


class EncodeError(WirelensError):
    """JSON that does not say a message: `path` is where in it, `text` what was expected there."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(path, text)
        self.path = path
        self.text = text

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text

    def __reduce__(self) -> tuple[type["EncodeError"], tuple[str, str]]:
        return (EncodeError, (self.path, self.text))


# How the members of an open container are written.
_STRUCT: Final = 0  # "name": value
_ITEMS: Final = 1  # value
_KEYED: Final = 2  # map: "key": value
_PAIRS: Final = 3  # map: [key, value]
_FIELDS: Final = 4  # object: "field": value
_FIELD_PAIRS: Final = 5  # object: ["field", value]


_LONGEST_DEFINITION: Final = 1 << 13  # bytes of a class definition that is kept for other messages
_FORMS: Final = t.FORM_MASK << t.FORM_SHIFT
_SIMPLE_USUAL: Final = t.SIMPLE | _FORMS  # a simple text in its usual form
_NO_KEYS: Final[list[bytes]] = []
_NOTHING: Final = Buffer(b"")


@mypyc_attr(acyclic=True)
class _Frame:
    """A container being written: how its members are, up to which node; what ends it; members so far."""

    def __init__(self) -> None:
        self.mode: i64 = _ITEMS
        self.until: i64 = 0
        self.buffer = _NOTHING
        self.closer = b""
        self.keys = _NO_KEYS
        self.count: i64 = 0
        self.hints: dict[str, Json] | None = None


@mypyc_attr(acyclic=True)
class _ClassKeys:
    """How objects of one class start, up to the class's name, and what stands before each field's value.

    `definition`: the bytes that define the class, empty where they may mean another in another message.
    """

    def __init__(self, definition: bytes, name: bytes, keys: list[bytes], pairs: bool) -> None:
        self.definition: Final = definition
        self.name: Final = name
        self.keys: Final = keys
        self.pairs: Final = pairs


_NO_CLASS: Final = _ClassKeys(b"", b"", [], False)


@mypyc_attr(acyclic=True)
class Writer:
    """Writes the notation of trees into `out`; with `plain` the reading form, without tags."""

    def __init__(self, plain: bool = False) -> None:
        self.out: Final = BytesWriter()
        self.plain = plain
        self.frame = _Frame()  # that is being written
        self.frames: list[_Frame] = [self.frame]  # it, those around it, and behind it what others may use
        self.depth: i64 = 0
        self.class_index: i64 = -1  # of the class written last, and how its objects are written
        self.class_keys = _NO_CLASS
        self.odd_classes: dict[int, _ClassKeys] | None = None  # of this tape, which are not kept for others

    def write(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Write the tree at `index`, whose offsets point into `buffer`."""
        out = self.out
        words = tape.words
        i = index
        self.class_index = -1
        self.odd_classes = None
        self.depth = -1
        self._push(_ITEMS, tape.next(index), buffer, b"")
        while self.depth >= 0:
            frame = self.frame
            mode = frame.mode
            until = frame.until
            buffer = frame.buffer
            data = buffer.data
            keys = frame.keys
            count = frame.count
            while i < until:
                at = i * t.WIDTH
                head = words[at + t.HEAD]
                kind = head & t.KIND_MASK
                if head & t.HIDDEN != 0 and i != index:
                    if head & _FORMS and mode == _STRUCT:
                        self._keep_hint(frame, tape, i)
                    i = words[at + t.NEXT]
                    continue
                if mode == _FIELDS:
                    out.write(keys[count] if count < len(keys) else b", ")
                elif mode == _STRUCT:
                    if count:
                        out.write(b", ")
                    out.write(FIELDS[head >> t.FIELD_SHIFT].key)
                    if head & _FORMS and t.STRUCT < kind < t.NULL:
                        self._keep_hint(frame, tape, i)
                elif mode == _ITEMS:
                    if count:
                        out.write(b", ")
                elif mode == _KEYED:
                    if count & 1:
                        out.write(b": ")
                    else:
                        if count:
                            out.write(b", ")
                        if kind != t.STRING16:
                            self._key(tape, i, buffer)
                            count += 1
                            i = words[at + t.NEXT]
                            continue
                elif mode == _PAIRS and count & 1:
                    out.write(b", ")
                else:
                    out.write(b"], [" if count else b"[")
                    if mode == _FIELD_PAIRS and count < len(keys):
                        out.write(keys[count])
                count += 1
                if kind == t.STRING16 and head & _SIMPLE_USUAL == t.SIMPLE:
                    out.append(0x22)
                    write_part(out, data, words[at + t.NUMBER], words[at + t.END])
                    out.append(0x22)
                    i += 1
                elif kind == t.INT and head & _FORMS == 0:
                    write_int(out, words[at + t.NUMBER])
                    i += 1
                elif kind == t.OBJECT:
                    frame.count = count
                    self._open_object(tape, i, buffer, head, words[at + t.NUMBER], words[at + t.NEXT])
                    i += 1
                    break
                elif kind == t.STRUCT or kind == t.ARRAY or kind == t.LIST or kind == t.MAP:
                    frame.count = count
                    self._open(tape, i, buffer, head, kind, words[at + t.NEXT])
                    i += 1
                    break
                else:
                    self._leaf(tape, i, buffer, head, kind, words[at + t.NUMBER])
                    i = words[at + t.NEXT]
            else:
                frame.count = count
                self._close(frame)

    def _push(
        self, mode: i64, until: i64, buffer: Buffer, closer: bytes, keys: list[bytes] = _NO_KEYS
    ) -> None:
        """Go on with the members of a container, in a frame that is there already where there is one."""
        self.depth += 1
        if self.depth == len(self.frames):
            self.frames.append(_Frame())
        frame = self.frames[self.depth]
        frame.mode = mode
        frame.until = until
        frame.buffer = buffer
        frame.closer = closer
        frame.keys = keys
        frame.count = 0
        self.frame = frame

    def _close(self, frame: _Frame) -> None:
        """End the container of a frame, and go on with the one around it."""
        out = self.out
        if frame.count and (frame.mode == _PAIRS or frame.mode == _FIELD_PAIRS):
            out.write(b"]")
        elif frame.mode == _KEYED and frame.count & 1:
            out.write(b": null")
        if frame.hints is not None and not self.plain:
            out.write(b', "$wire": ' if frame.count else b'"$wire": ')
            out.write(dumps(frame.hints).encode())
            frame.hints = None
        out.write(frame.closer)
        frame.buffer = _NOTHING  # which may be large, and this frame is kept
        self.depth -= 1
        self.frame = self.frames[max(self.depth, 0)]

    def _keep_hint(self, frame: _Frame, tape: Tape, index: i64) -> None:
        """Keep a plain member's wire form for the `$wire` of its message or entry."""
        if frame.hints is None:
            frame.hints = {}
        node = Node(tape, index, frame.buffer)
        frame.hints[node.field.name] = node.wire

    def _open(self, tape: Tape, index: i64, buffer: Buffer, head: i64, kind: i64, until: i64) -> None:
        out = self.out
        if head & t.EMBEDDED:
            buffer = tape.buffers[tape.number(index)]
        if kind == t.STRUCT:
            out.write(b"{")
            self._push(_STRUCT, until, buffer, b"}")
            form = head >> t.FORM_SHIFT & t.FORM_MASK
            if form:
                own = HINTS[form].json(Node(tape, index, buffer))
                self.frame.hints = dict(own) if isinstance(own, dict) else {"": own}
            return
        if kind == t.ARRAY:
            out.write(b"[")
            self._push(_ITEMS, until, buffer, b"]")
            return
        tagged = False
        if not self.plain:
            tagged = self._open_tags(tape, index, buffer, head)
        if kind == t.LIST:
            out.write(b'"$list": [' if tagged else b"[")
            self._push(_ITEMS, until, buffer, b"]}" if tagged else b"]")
        elif self._keyed(tape, index, buffer):
            out.write(b'"$map": {' if tagged else b"{")
            self._push(_KEYED, until, buffer, b"}}" if tagged else b"}")
        elif self.plain:
            out.write(b"[")
            self._push(_PAIRS, until, buffer, b"]")
        else:
            out.write(b'"$map": [' if tagged else b'{"$map": [')
            self._push(_PAIRS, until, buffer, b"]}")

    def _open_tags(self, tape: Tape, index: i64, buffer: Buffer, head: i64) -> bool:
        """Write the opening brace and `$type`, `$id`, `$wire` of a list or map that has any of them."""
        out = self.out
        first = index + 1
        tagged = (
            first < tape.next(index)
            and tape.kind(first) == t.TYPE
            and self._type(tape, first, buffer, b'{"$type": ')
        )
        if head & t.REFERRED:
            out.write(b', "$id": ' if tagged else b'{"$id": ')
            write_int(out, tape.number(index))
            tagged = True
        form = head >> t.FORM_SHIFT & t.FORM_MASK
        if form:
            out.write(b', "$wire": ' if tagged else b'{"$wire": ')
            out.write(dumps(HINTS[form].json(Node(tape, index, buffer))).encode())
            tagged = True
        if tagged:
            out.write(b", ")
        return tagged

    def _type(self, tape: Tape, index: i64, buffer: Buffer, before: bytes) -> bool:
        """Write `before` and the text of a TYPE node; False, and nothing written, for an empty or no type."""
        out = self.out
        defined = tape.number(index)
        text = defined + 1
        if defined < 0 or tape.next(defined) == text:  # none, or cut off before its text
            return False
        head = tape.head(text)
        number = tape.number(text)
        if number == tape.end(text) or (number < 0 and not _content(tape, text, buffer, number)):
            return False
        out.write(before)
        self._string(tape, text, buffer, head, head & t.KIND_MASK, number)
        return True

    def _keyed(self, tape: Tape, index: i64, buffer: Buffer) -> bool:
        """True where a map's keys can be the keys of a JSON object."""
        words = tape.words
        data = buffer.data
        end = words[index * t.WIDTH + t.NEXT]
        i = index + 1
        is_key = True
        alike = False  # whether two keys may be the same
        seen: i64 = 0  # two bits for each key, by its text
        others: i64 = 0
        one: i64 = 1
        while i < end:
            at = i * t.WIDTH
            head = words[at + t.HEAD]
            if head & t.HIDDEN == 0:
                if is_key:
                    kind = head & t.KIND_MASK
                    if self.plain:
                        if kind == t.LIST or kind == t.MAP or kind == t.OBJECT or kind == t.REMOTE:
                            return False
                    else:
                        if kind != t.STRING and kind != t.STRING16:
                            return False
                        if head >> t.FORM_SHIFT & t.FORM_MASK:
                            return False
                        number = words[at + t.NUMBER]
                        if head & t.SIMPLE == 0 or number < 0:
                            content = _content(tape, i, buffer, number)
                            if content.startswith(b"$") or _text_of(content, kind) is None:
                                return False
                        elif number < words[at + t.END] and data[number] == 0x24:  # $
                            return False
                        if number < 0:
                            alike = True
                        else:
                            slot = slot_of(data, number, words[at + t.END] - number)
                            bit = one << (slot & 63)
                            other = one << (slot >> 4)
                            alike = alike or (seen & bit != 0 and others & other != 0)
                            seen |= bit
                            others |= other
                is_key = not is_key
            i = words[at + t.NEXT]
        return not alike or _all_differ(tape, index, buffer)

    def _key(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Write a map's key as the key of a JSON object."""
        head = tape.head(index)
        kind = head & t.KIND_MASK
        number = tape.number(index)
        if kind == t.STRING:
            self._leaf(tape, index, buffer, head, kind, number)
            return
        inner = Writer(True)
        inner._leaf(tape, index, buffer, head, kind, number)
        text = inner.out.getvalue()
        self.out.write(text if text.startswith(b'"') else quoted(text.decode()))

    def _class_keys(self, tape: Tape, index: i64, buffer: Buffer) -> _ClassKeys:
        """How objects of the class at `index` are written."""
        if index == self.class_index:
            return self.class_keys
        data = buffer.data
        start = tape.start(index)
        size = tape.end(index) - start
        slot = slot_of(data, start, size)
        keys = _known_classes[slot]
        if size == 0 or len(keys.definition) != size or not starts_with(data, start, keys.definition):
            odd = None if self.odd_classes is None else self.odd_classes.get(int(index))
            keys = _read_class_keys(tape, index, buffer) if odd is None else odd
            if len(keys.definition):
                _known_classes[slot] = keys
            elif odd is None:
                if self.odd_classes is None:
                    self.odd_classes = {}
                self.odd_classes[int(index)] = keys
        self.class_index = index
        self.class_keys = keys
        return keys

    def _open_object(
        self, tape: Tape, index: i64, buffer: Buffer, head: i64, number: i64, until: i64
    ) -> None:
        out = self.out
        keys = self._class_keys(tape, number & t.LOW_HALF, buffer)
        out.write(keys.name)
        if not self.plain:
            if head & t.REFERRED:
                out.write(b', "$id": ')
                write_int(out, number >> 32)
            form = head >> t.FORM_SHIFT & t.FORM_MASK
            if form:
                out.write(b', "$wire": ')
                out.write(dumps(HINTS[form].json(Node(tape, index, buffer))).encode())
        if keys.pairs:
            out.write(b', "$fields": [')
            self._push(_FIELD_PAIRS, until, buffer, b"]}", keys.keys)
        else:
            self._push(_FIELDS, until, buffer, b"}", keys.keys)

    def _leaf(self, tape: Tape, index: i64, buffer: Buffer, head: i64, kind: i64, number: i64) -> None:
        """Write a node without members."""
        out = self.out
        form = head >> t.FORM_SHIFT & t.FORM_MASK
        if kind < t.NULL:
            self._plain_leaf(tape, index, buffer, head, kind, number)
            return
        if kind == t.REF:
            out.write(b'{"$ref": ')
            write_int(out, Node(tape, index, buffer).reference)
            if form and not self.plain:
                self._tag_wire(tape, index, buffer, form)
            out.write(b"}")
            return
        if kind == t.REMOTE:
            self._remote(tape, index, buffer, form)
            return
        if self.plain:
            self._untagged(tape, index, buffer, head, kind, number)
            return
        if form == 0:
            if kind == t.LONG:
                out.write(_LONG)
                write_int(out, number)
                out.append(0x7D)  # }
                return
            if kind == t.STRING or kind == t.STRING16:
                self._string(tape, index, buffer, head, kind, number)
                return
            if kind == t.NULL or kind == t.BOOL or kind == t.INT or (kind == t.INT32 and fits32(number)):
                self._untagged(tape, index, buffer, head, kind, number)
                return
            if kind == t.DOUBLE and number >> 52 & 0x7FF != 0x7FF:  # finite
                self._double(number)
                return
        if kind == t.DOUBLE:
            out.write(b'{"$double": ')
            self._untagged(tape, index, buffer, head, kind, number)
            if form == 0 and number & 0x7FFFFFFFFFFFFFFF > 0x7FF0000000000000 and number != PLAIN_NAN:
                out.write(b', "$wire": "')
                out.write(f"{int(number) & 0xFFFFFFFFFFFFFFFF:016x}".encode())
                out.write(b'"')
        elif kind == t.FLOAT32:
            out.write(b'{"$float32": ')
            self._untagged(tape, index, buffer, head, kind, number)
            if form == 0 and number & 0x7FFFFFFF > 0x7F800000 and number != PLAIN_SINGLE_NAN:
                out.write(b', "$wire": "')
                out.write(f"{int(number) & 0xFFFFFFFF:08x}".encode())
                out.write(b'"')
        elif kind == t.STRING or kind == t.STRING16:
            content = _content(tape, index, buffer, number)
            text = _text_of(content, kind)
            if text is None:
                out.write(b'{"$raw": "')
                out.write(content.hex().encode())
                out.write(b'"')
            else:
                out.write(b'{"$string": ')
                out.write(quoted(text))
        else:
            out.write(_OPENINGS[kind])
            self._untagged(tape, index, buffer, head, kind, number)
        if form:
            self._tag_wire(tape, index, buffer, form)
        out.write(b"}")

    def _tag_wire(self, tape: Tape, index: i64, buffer: Buffer, form: i64) -> None:
        self.out.write(b', "$wire": ')
        self.out.write(dumps(HINTS[form].json(Node(tape, index, buffer))).encode())

    def _plain_leaf(self, tape: Tape, index: i64, buffer: Buffer, head: i64, kind: i64, number: i64) -> None:
        """Write a member of the message's own layout."""
        out = self.out
        if kind == t.INTEGER:
            write_int(out, number)
        elif kind == t.NAMED:
            name = FIELDS[head >> t.FIELD_SHIFT].quoted_names.get(number)
            if name is None:
                write_int(out, number)
            else:
                out.write(name)
        elif kind == t.TEXT:
            self._string(tape, index, buffer, head, t.STRING, number)
        elif kind == t.HEX:
            out.append(0x22)
            out.write(_content(tape, index, buffer, number).hex().encode())
            out.append(0x22)
        elif kind == t.UNSIGNED and number >= 0:
            write_int(out, number)
        elif kind == t.UNSIGNED:
            out.write(str(int(number) & 0xFFFFFFFFFFFFFFFF).encode())
        elif kind == t.BOOLEAN:
            out.write(b"true" if number else b"false")
        elif kind == t.COMPUTED:
            render = FIELDS[head >> t.FIELD_SHIFT].render
            out.write(b"null" if render is None else dumps(render(Node(tape, index, buffer))).encode())
        elif kind == t.FAULT:
            fault = tape.faults[number]
            out.write(fault_json(fault.code, fault.offset, fault.text))
        else:
            out.write(b"null")

    def _string(self, tape: Tape, index: i64, buffer: Buffer, head: i64, kind: i64, number: i64) -> None:
        """Write a string, or its bytes where they are no text."""
        out = self.out
        if head & t.SIMPLE:
            out.append(0x22)
            write_part(out, buffer.data, number, tape.end(index))
            out.append(0x22)
            return
        if number >= 0 and self._text(buffer.data, number, tape.end(index), kind):
            return
        content = _content(tape, index, buffer, number)
        text = _text_of(content, kind)
        if text is None:
            raw = content.hex().encode()
            out.write(b'"' + raw + b'"' if self.plain else b'{"$raw": "' + raw + b'"}')
        else:
            out.write(quoted(text))

    def _text(self, data: bytes, at: i64, end: i64, kind: i64) -> bool:
        """Write text that is JSON as it stands, but for surrogate pairs, which are joined in UTF-16.

        False, and nothing written, where there is anything else to do.
        """
        out = self.out
        size = len(out)
        out.append(0x22)
        while True:
            ready = json_end(data, at, end)
            write_part(out, data, at, ready)
            if ready == end:
                out.append(0x22)
                return True
            joined = b"" if kind == t.STRING else joined_pair(data, ready, end)
            if not joined:
                out.truncate(size)
                return False
            out.write(joined)
            at = ready + 6

    def _remote(self, tape: Tape, index: i64, buffer: Buffer, form: i64) -> None:
        out = self.out
        out.write(b'{"$remote": ')
        first = index + 1
        end = tape.next(index)
        typed = False
        if first < end and tape.kind(first) == t.TYPE:
            typed = self._type(tape, first, buffer, b"")
            first = tape.next(first)
        if not typed:
            out.write(b"null")
        while first < end and tape.kind(first) != t.STRING16:
            first = tape.next(first)
        if first < end:
            out.write(b', "url": ')
            self._leaf(tape, first, buffer, tape.head(first), t.STRING16, tape.number(first))
        if form and not self.plain:
            self._tag_wire(tape, index, buffer, form)
        out.write(b"}")

    def _untagged(self, tape: Tape, index: i64, buffer: Buffer, head: i64, kind: i64, number: i64) -> None:
        """Write a value without its tag."""
        out = self.out
        if kind == t.NULL:
            out.write(b"null")
        elif kind == t.BOOL:
            out.write(b"true" if number else b"false")
        elif t.VAR_UINT <= kind <= t.UINT64:
            out.write(str(int(number) & 0xFFFFFFFFFFFFFFFF).encode())
        elif kind == t.DOUBLE:
            special = not_finite(number)
            if special is None:
                self._double(number)
            else:
                out.write(quoted(special))
        elif kind == t.FLOAT32:
            value = single_of(number)
            if number & 0x7F800000 == 0x7F800000:
                out.write(b'"NaN"' if value != value else b'"Infinity"' if value > 0 else b'"-Infinity"')
            else:
                out.write(repr(value).encode())
        elif kind == t.STRING or kind == t.STRING16 or kind == t.XML:
            self._string(tape, index, buffer, head, kind, number)
        elif kind == t.BYTES:
            out.append(0x22)
            out.write(_content(tape, index, buffer, number).hex().encode())
            out.append(0x22)
        elif kind == t.DATE:
            if FIRST_MILLISECOND <= number <= LAST_MILLISECOND:
                out.append(0x22)
                write_date(out, number)
                out.append(0x22)
            else:
                write_int(out, number)
        else:
            write_int(out, number)

    def _double(self, bits: i64) -> None:
        """Write the shortest decimal that reads back as a finite double, as Python has it."""
        out = self.out
        if bits == 0:
            out.write(b"0.0")
            return
        exponent = bits >> 52 & 0x7FF
        if _LEAST_EXPONENT <= exponent < _LEAST_EXPONENT + len(_POWERS):
            value = float(bits & 0xFFFFFFFFFFFFF | 0x10000000000000) * _POWERS[exponent - _LEAST_EXPONENT]
            # no other decimal of at most 15 digits is the same double
            thousandths = i64(value * 1000.0 + 0.5)
            if float(thousandths) / 1000.0 == value:
                if bits < 0:
                    out.append(0x2D)
                write_int(out, thousandths // 1000)
                out.append(0x2E)
                _write_fraction(out, thousandths % 1000)
                return
        scratch = BytesWriter()
        write_i64_le(scratch, bits)
        out.write(repr(read_f64_le(scratch.getvalue(), 0)).encode())


def fits32(number: i64) -> bool:
    """True for a number that 32 signed bits hold."""
    return -0x80000000 <= number <= 0x7FFFFFFF


def not_finite(bits: i64) -> str | None:
    """The notation's word for a double that is no number; None for the others."""
    if bits >> 52 & 0x7FF != 0x7FF:
        return None
    if bits & 0x000FFFFFFFFFFFFF:
        return "NaN"
    return "-Infinity" if bits < 0 else "Infinity"


def _opening(kind: int) -> bytes:
    """What stands before the value of a kind that is tagged by one word."""
    words = {
        t.NULL: "$null",
        t.BOOL: "$bool",
        t.INT: "$int",
        t.INT32: "$int32",
        t.BYTES: "$bytes",
        t.DATE: "$date",
        t.XML: "$xml",
        **TAGS,
    }
    return b'{"' + words.get(kind, "").encode() + b'": '


_LONG: Final = _opening(t.LONG)
_OPENINGS: Final[list[bytes]] = [_opening(kind) for kind in range(t.REMOTE + 1)]


def _content(tape: Tape, index: i64, buffer: Buffer, number: i64) -> bytes:
    """The content of text or bytes: in one piece, or of chunks."""
    if number >= 0:
        return buffer.data[number : tape.end(index)]
    return Node(tape, index, buffer).content


def _all_differ(tape: Tape, index: i64, buffer: Buffer) -> bool:
    """True where no two of a map's keys, texts all of them, are the same."""
    seen: set[bytes] = set()
    count: i64 = 0
    is_key = True
    end = tape.next(index)
    i = index + 1
    while i < end:
        if tape.head(i) & t.HIDDEN == 0:
            if is_key:
                seen.add(_content(tape, i, buffer, tape.number(i)))
                count += 1
            is_key = not is_key
        i = tape.next(i)
    return len(seen) == count


def _text_of(content: bytes, kind: i64) -> str | None:
    return utf8(content) if kind == t.STRING else utf16_text(content)


# Classes by the bytes of their definitions: a stream says the same ones in each message.
_known_classes: Final[list[_ClassKeys]] = [_NO_CLASS] * SLOTS


def _read_class_keys(tape: Tape, index: i64, buffer: Buffer) -> _ClassKeys:
    name = b'""'
    texts: list[bytes] = []
    plain = True
    first = True
    simple = True  # how other texts are counted is for each stream to say
    end = tape.next(index)
    i = index + 1
    while i < end:
        kind = tape.kind(i)
        if kind == t.TEXT or kind == t.STRING or kind == t.STRING16:
            simple = simple and tape.head(i) & t.SIMPLE != 0
            content = Node(tape, i, buffer).content
            text = _text_of(content, t.STRING if kind == t.TEXT else kind)
            if text is None:
                as_json = b'{"$raw": "' + content.hex().encode() + b'"}'
                plain = plain and first
            else:
                as_json = quoted(text)
                if not first and text.startswith("$"):
                    plain = False
            if first:
                name = as_json
                first = False
            else:
                texts.append(as_json)
        i = tape.next(i)
    if len(set(texts)) != len(texts):
        plain = False
    start = tape.start(index)
    definition = b""
    if simple and tape.end(index) - start <= _LONGEST_DEFINITION:
        definition = buffer.data[start : tape.end(index)]
    name = b'{"$class": ' + name
    if not plain:
        return _ClassKeys(definition, name, [text + b", " for text in texts], True)
    return _ClassKeys(definition, name, [b", " + text + b": " for text in texts], False)


_LEAST: Final = -1 << 63
_EXACT: Final = 10**15  # integers below have a double for each of their thousandths and millionths
_PLAIN: Final[list[bytes]] = [b"%d" % number for number in range(1000)]
_TWO: Final[list[bytes]] = [b"%02d" % number for number in range(100)]
_PADDED: Final[list[bytes]] = [b"%03d" % number for number in range(1000)]


def write_int(out: BytesWriter, number: i64) -> None:
    """Write a decimal integer."""
    if number < 0:
        if number == _LEAST:
            out.write(b"-9223372036854775808")
            return
        out.append(0x2D)
        number = -number
    if number < 1000:
        out.write(_PLAIN[number])
    elif number < 1_000_000:
        out.write(_PLAIN[number // 1000])
        out.write(_PADDED[number % 1000])
    elif number < 100_000_000:
        out.write(_PLAIN[number // 1_000_000])
        rest = number % 1_000_000
        out.write(_PADDED[rest // 1000])
        out.write(_PADDED[rest % 1000])
    else:
        write_int(out, number // 100_000_000)
        write_i64_le(out, eight_digits(number % 100_000_000))


def eight_digits(number: i64) -> i64:
    """The eight decimal digits of a number below 10^8, in ASCII, the first in the lowest byte.

    Halved three times: into fours, twos and single digits, all parts at once, by fixed-point multiplication.
    """
    fours = number // 10000 | number % 10000 << 32
    tops = fours * 10486 >> 20 & 0x7F_0000007F  # hundreds of each
    twos = tops | (fours - tops * 100) << 16
    tens = twos * 103 >> 10 & 0x000F_000F_000F_000F
    return (tens | (twos - tens * 10) << 8) + 0x3030_3030_3030_3030


def write_date(out: BytesWriter, milliseconds: i64) -> None:
    """Write the ISO 8601 text of `date_text`."""
    days = milliseconds // DAY
    rest = milliseconds % DAY
    # years from March on, in cycles of 400 years: the leap day comes last
    days += MARCH_DAYS
    cycle = days // 146097
    day = days % 146097
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    year += 400 * cycle
    if month < 10:
        month += 3
    else:
        month -= 9
        year += 1
    date = eight_digits((year * 100 + month) * 100 + day + 1)
    time = eight_digits((rest // 3_600_000 * 100 + rest // 60_000 % 60) * 10000 + rest // 1000 % 60 * 100)
    thousandths = eight_digits(rest % 1000)
    # yyyy-mm-, ddThh:mm, :ss.fffZ
    write_i64_le(out, date & 0xFFFF_FFFF | (date >> 32 & 0xFFFF) << 40 | 0x2D00_002D_0000_0000)
    write_i64_le(out, date >> 48 | (time & 0xFFFF) << 24 | (time >> 16 & 0xFFFF) << 48 | 0x3A00_0054_0000)
    write_i64_le(out, (time >> 32 & 0xFFFF) << 8 | thousandths >> 40 << 32 | 0x5A00_0000_2E00_003A)


def read_date(text: bytes) -> i64:
    """The milliseconds of a text that `write_date` writes, NO_DATE for any other of DATE_LENGTH bytes."""
    for at in range(DATE_LENGTH):
        byte: i64 = text[at]
        sign: i64 = _DATE_SIGNS[at]
        if byte != sign and (sign != 0x30 or byte < 0x30 or byte > 0x39):
            return NO_DATE
    year = _two(text, 0) * 100 + _two(text, 2)
    month = _two(text, 5)
    day = _two(text, 8)
    hour = _two(text, 11)
    minute = _two(text, 14)
    second = _two(text, 17)
    if year < 1 or month < 1 or month > 12 or day < 1 or hour > 23 or minute > 59 or second > 59:
        return NO_DATE
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    last: i64 = 31
    if month == 2:
        last = 29 if leap else 28
    elif month == 4 or month == 6 or month == 9 or month == 11:
        last = 30
    if day > last:
        return NO_DATE
    if month > 2:
        month -= 3
    else:
        month += 9
        year -= 1
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - MARCH_DAYS
    seconds = hour * 3600 + minute * 60 + second
    return days * DAY + seconds * 1000 + (text[20] - 48) * 100 + _two(text, 21)


def _two(text: bytes, at: i64) -> i64:
    """The number of two digits."""
    tens: i64 = text[at]
    ones: i64 = text[at + 1]
    return tens * 10 + ones - 528


def quoted(text: str) -> bytes:
    """A JSON string, in UTF-8; a lone surrogate as its escape."""
    return _escape_surrogates(encode_basestring(text)).encode()


def _escape_surrogates(text: str) -> str:
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return _SURROGATE.sub(_surrogate_escape, text)


def _surrogate_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def fault_json(code: str, offset: int, text: str) -> bytes:
    """The JSON of an error or a note."""
    return b'{"code": "%b", "offset": %d, "text": %b}' % (code.encode(), offset, quoted(text))


def write_time(out: BytesWriter, microseconds: i64) -> None:
    """Write the ISO 8601 text, in UTC and to the microsecond, of microseconds since 1970 up to 9999."""
    write_date(out, microseconds // 1000)
    out.truncate(len(out) - 1)
    out.write(_PADDED[microseconds % 1000])
    out.append(0x5A)


def time_text(microseconds: i64) -> str:
    """The text of `write_time`; empty outside 1970 to 9999."""
    if microseconds < 0 or microseconds > LAST_MICROSECOND:
        return ""
    out = BytesWriter()
    write_time(out, microseconds)
    return out.getvalue().decode()


def write_seconds(out: BytesWriter, microseconds: i64) -> None:
    """Write a number of microseconds from 0 on in seconds, as Python writes the double."""
    rest = microseconds % 1_000_000
    if (microseconds < 100 and rest) or microseconds >= _EXACT:
        out.write(repr(int(microseconds) / 1_000_000).encode())
        return
    write_int(out, microseconds // 1_000_000)
    out.append(0x2E)
    if rest % 1000 == 0:
        _write_fraction(out, rest // 1000)
    else:
        out.write(_PADDED[rest // 1000])
        _write_fraction(out, rest % 1000)


def _write_fraction(out: BytesWriter, thousandths: i64) -> None:
    """Write digits behind the point, without noughts at the end but for a single one."""
    if thousandths % 100 == 0:
        out.write(_PLAIN[thousandths // 100])
    elif thousandths % 10 == 0:
        out.write(_TWO[thousandths // 10])
    else:
        out.write(_PADDED[thousandths])


def date_text(milliseconds: int) -> str:
    """ISO 8601 in UTC of milliseconds since 1970. Raises OverflowError outside the years 1 to 9999."""
    if not FIRST_MILLISECOND <= milliseconds <= LAST_MILLISECOND:
        raise OverflowError(f"{milliseconds} milliseconds are outside the years 1 to 9999")
    out = BytesWriter()
    write_date(out, milliseconds)
    return out.getvalue().decode()


# Writers that nobody uses: a message is written in less time than it takes to make one.
_idle: Final[list[Writer]] = []
_KEPT: Final = 1 << 16  # bytes of room that an idle writer keeps, about


def start_writing(plain: bool) -> Writer:
    """A writer with nothing in it."""
    try:
        writer = _idle.pop()
    except IndexError:
        return Writer(plain)
    writer.plain = plain
    return writer


def end_writing(writer: Writer) -> bytes:
    """What was written; the writer is not to be used any more."""
    text = writer.out.getvalue()
    if len(text) <= _KEPT:
        writer.out.truncate(0)
        _idle.append(writer)
    return text


def tree_json(tape: Tape, plain: bool = False) -> bytes:
    """The JSON, in UTF-8, of a tape's root."""
    writer = start_writing(plain)
    writer.write(tape, 0, tape.buffer)
    return end_writing(writer)


# --- JSON text and Python objects ---------------------------------------------------------------------

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def dumps(value: Json) -> str:
    """JSON text on one line, of any nesting; lone surrogates as escapes."""
    try:
        return _escape_surrogates(_ENCODER.encode(value))
    except RecursionError:
        return _deep_dumps(value)


def _deep_dumps(value: Json) -> str:
    parts: list[str] = []
    # each entry is text to write, or a value to take apart
    work: list[tuple[bool, Json]] = [(False, value)]
    while work:
        done, item = work.pop()
        if done and isinstance(item, str):
            parts.append(item)
        elif isinstance(item, dict):
            opened = "{"
            entries: list[tuple[bool, Json]] = []
            for key, member in item.items():
                entries.append((True, opened + dumps(key) + ": "))
                entries.append((False, member))
                opened = ", "
            entries.append((True, "}" if item else "{}"))
            work.extend(reversed(entries))
        elif isinstance(item, list):
            opened = "["
            entries = []
            for member in item:
                entries.append((True, opened))
                entries.append((False, member))
                opened = ", "
            entries.append((True, "]" if item else "[]"))
            work.extend(reversed(entries))
        else:
            parts.append(_escape_surrogates(_ENCODER.encode(item)))
    return "".join(parts)


class JsonTextError(WirelensError):
    """Text that is not JSON: what was expected, and where (line and column from 1, offset from 0)."""

    def __init__(self, text: str, line: int, column: int, offset: int) -> None:
        super().__init__(text, line, column, offset)
        self.text = text
        self.line = line
        self.column = column
        self.offset = offset

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.text}"

    def __reduce__(self) -> tuple[type["JsonTextError"], tuple[str, int, int, int]]:
        return (JsonTextError, (self.text, self.line, self.column, self.offset))


def loads(text: str) -> Json:
    """The Python objects of one JSON text, of any nesting. Raises JsonTextError.

    A name that comes twice in one object is refused: one of its values would be lost.
    """
    try:
        value: Json = _WHOLE.decode(text)
        return value
    except json.JSONDecodeError as error:
        raise JsonTextError(_json_sentence(error.msg), error.lineno, error.colno, error.pos) from None
    except (RecursionError, _TwiceError, ValueError):
        # nested deeply; or a name twice, NaN, a number too large: the slower parser knows where
        value, place = _deep_loads(text, 0)
        rest = _skip_space(text, place)
        if rest < len(text):
            raise _json_error(text, rest, "expected the end of the text") from None
        return value


class _TwiceError(Exception):
    """A name comes twice in one object; where, the slower parser knows."""


def _object(members: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(members)
    if len(found) != len(members):
        raise _TwiceError
    return found


def _json_sentence(message: str) -> str:
    return message[:1].lower() + message[1:]


def _no_constant(word: str) -> Json:
    raise ValueError(f'{word} is no JSON number; the notation has {{"$double": "NaN"}} and the like')


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0.0:
        raise ValueError(f'{digits} is too large for a double; the notation has {{"$double": "Infinity"}}')
    return number


def _json_error(text: str, at: int, message: str) -> JsonTextError:
    line = text.count("\n", 0, at) + 1
    return JsonTextError(message, line, at - text.rfind("\n", 0, at), at)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


_WHOLE: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite)
_SCALARS: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


def _deep_loads(text: str, at: int) -> tuple[Json, int]:
    """Parse one value without recursion: what the decoder refuses for its nesting."""
    stack: list[Json] = []
    keys: list[str | None] = []
    while True:
        at = _skip_space(text, at)
        opening = text[at : at + 1]
        value: Json
        if opening == "{":
            after = _skip_space(text, at + 1)
            if text[after : after + 1] != "}":
                key, at = _deep_key(text, after)
                stack.append({})
                keys.append(key)
                continue
            value, at = {}, after + 1
        elif opening == "[":
            after = _skip_space(text, at + 1)
            if text[after : after + 1] != "]":
                stack.append([])
                keys.append(None)
                at = after
                continue
            value, at = [], after + 1
        else:
            value, at = _scalar(text, at)
        while stack:
            into = stack[-1]
            key_now = keys[-1]
            closing = "]"
            if isinstance(into, dict) and key_now is not None:
                into[key_now] = value
                closing = "}"
            elif isinstance(into, list):
                into.append(value)
            at = _skip_space(text, at)
            mark = text[at : at + 1]
            if mark == ",":
                at = _skip_space(text, at + 1)
                if isinstance(into, dict):
                    place = at
                    key, at = _deep_key(text, at)
                    if key in into:
                        raise _json_error(text, place, f"the name {dumps(key)} comes twice in one object")
                    keys[-1] = key
                break
            if mark != closing:
                raise _json_error(text, at, f"expected ',' or '{closing}'")
            at += 1
            value = stack.pop()
            keys.pop()
        else:
            return value, at


def _deep_key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise _json_error(text, at, "expected a property name in double quotes")
    key, at = _scalar(text, at)
    at = _skip_space(text, at)
    if text[at : at + 1] != ":":
        raise _json_error(text, at, "expected ':'")
    return str(key), at + 1


def _scalar(text: str, at: int) -> tuple[Json, int]:
    try:
        value, end = _SCALARS.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _json_error(text, error.pos, _json_sentence(error.msg)) from None
    except ValueError as error:
        raise _json_error(text, at, str(error)) from None
    return value, int(end)
