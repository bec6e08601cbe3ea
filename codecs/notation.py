"""The notation: a tape as JSON text.

The writer walks the tape once, with an explicit stack, and writes UTF-8 straight from it; it makes no object
for a node and does not recurse, so nesting is bounded by memory alone. The README's reference describes the
form. json_text.py reads and writes JSON of Python objects, json_input.py is what encoders expect of it.
"""

from typing import Final

from librt.strings import BytesWriter, write_i16_le
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.class_keys import (
    NO_CLASS,
    ClassKeys,
    all_differ,
    decoded_text,
    is_bean,
    known_keys,
    read_keys,
)
from wirelens.codecs.json_text import dumps, fault_json, quoted
from wirelens.codecs.node import FIELDS, HINTS, TAGS, Json, Node, single_of
from wirelens.codecs.numbers import (
    FIRST_MILLISECOND,
    LAST_MILLISECOND,
    PLAIN_NAN,
    PLAIN_SINGLE_NAN,
    fits32,
    not_finite,
    write_date,
    write_double,
    write_hex,
    write_int,
)
from wirelens.codecs.scan import (
    joined_pair,
    json_end,
    slot_of,
    write_part,
)
from wirelens.codecs.tape import Buffer, Tape

# How the members of an open container are written.
_STRUCT: Final = 0  # "name": value
_ITEMS: Final = 1  # value
_KEYED: Final = 2  # map: "key": value
_PAIRS: Final = 3  # map: [key, value]
_FIELDS: Final = 4  # object: "field": value
_FIELD_PAIRS: Final = 5  # object: ["field", value]


NO_LIMIT: Final = 1 << 60  # bytes; compiled, a larger literal than 62 bits would be an object
PORTION: Final = 1 << 17  # words of nodes after which a container is looked at again
_COMMA: Final = 0x202C  # as two bytes: `, `
_COLON: Final = 0x203A
_NO_KEYS: Final[list[bytes]] = []
_NOTHING: Final = Buffer(b"")


@mypyc_attr(acyclic=True)
class _Frame:
    """A container being written: its members' form, where they end, the closing text, members so far."""

    def __init__(self) -> None:
        self.mode: i64 = _ITEMS
        self.until: i64 = 0
        self.buffer = _NOTHING
        self.closer = b""
        self.keys = _NO_KEYS
        self.count: i64 = 0
        self.hints: dict[str, Json] | None = None


@mypyc_attr(acyclic=True)
class Writer:
    """Writes the notation of trees into `out`.

    With `plain` the reading form, without tags; without `places` no offsets, lengths and sources.
    """

    def __init__(self, plain: bool = False, places: bool = True) -> None:
        self.out: Final = BytesWriter()
        self.plain = plain
        self.places = places
        self.frame = _Frame()  # of the container being written
        self.frames: list[_Frame] = [self.frame]  # those around it, itself, and unused ones after it
        self.depth: i64 = 0
        self.class_index: i64 = -1  # of the class written last, and how its objects are written
        self.class_keys = NO_CLASS
        self.odd_classes: dict[int, ClassKeys] | None = None  # of this tape only, not kept for others

    def write(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Write the tree at `index`, whose offsets point into `buffer`."""
        self.begin(tape, index, buffer)
        self.proceed(tape, index, index, NO_LIMIT)

    def begin(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Prepare to write the tree at `index` by `proceed`."""
        self.class_index = -1
        self.odd_classes = None
        self.depth = -1
        self._push(_ITEMS, tape.next(index), buffer, b"")

    def proceed(self, tape: Tape, index: i64, i: i64, limit: i64) -> i64:
        """Write the tree at `index` from node `i` on, until `out` has more than `limit` bytes.

        The node to proceed from once these are taken; -1 at the end. A node may be larger than the limit.
        """
        out = self.out
        words = tape.words
        while self.depth >= 0:
            if len(out) > limit:
                return i
            frame = self.frame
            mode = frame.mode
            until = min(frame.until, i + PORTION)
            buffer = frame.buffer
            data = buffer.data
            keys = frame.keys
            count = frame.count
            while i < until:
                head = words[i + t.HEAD]
                kind = head & t.KIND_MASK
                span = words[i + t.SPAN]
                after = i + t.SHORT_WIDTH
                number = span >> t.END_SHIFT
                if head & t.SHORT == 0:
                    after = head >> t.NEXT_SHIFT & t.NEXT_MASK
                    number = words[i + t.NUMBER]
                if head & t.HIDDEN != 0 and i != index:
                    if head & t.FORMS and mode == _STRUCT:
                        self._keep_hint(frame, tape, i)
                    i = after
                    continue
                if mode == _FIELDS:
                    out.write(keys[count] if count < len(keys) else b", ")
                elif mode == _STRUCT:
                    member = FIELDS[head >> t.FIELD_SHIFT]
                    out.write(member.next_key if count else member.key)
                    if head & t.FORMS and t.STRUCT < kind < t.NULL:
                        self._keep_hint(frame, tape, i)
                elif mode == _ITEMS:
                    if count:
                        write_i16_le(out, _COMMA)
                elif mode == _KEYED:
                    if count & 1:
                        write_i16_le(out, _COLON)
                    else:
                        if count:
                            write_i16_le(out, _COMMA)
                        if kind != t.STRING16:
                            self._key(tape, i, buffer)
                            count += 1
                            i = after
                            continue
                elif mode == _PAIRS and count & 1:
                    out.write(b", ")
                else:
                    out.write(b"], [" if count else b"[")
                    if mode == _FIELD_PAIRS and count < len(keys):
                        out.write(keys[count])
                count += 1
                if kind == t.STRING16 and head & t.SIMPLE_USUAL == t.SIMPLE_SHORT:
                    end = (span & t.LOW_HALF) + (head >> t.NEXT_SHIFT & t.SIZE_MASK)
                    out.append(0x22)
                    write_part(out, data, number, end)
                    out.append(0x22)
                    i = after
                elif kind == t.INT and head & t.FORMS_SHORT == t.SHORT:
                    write_int(out, number)
                    i = after
                elif kind == t.OBJECT:
                    frame.count = count
                    self._open_object(tape, i, buffer, head, number, after)
                    i += t.WIDTH
                    break
                elif (
                    kind == t.STRUCT or kind == t.ARRAY or kind == t.LIST or kind == t.MAP or kind == t.TYPED
                ):
                    frame.count = count
                    self._open(tape, i, buffer, head, kind, after)
                    i += t.WIDTH
                    break
                else:
                    self._leaf(tape, i, buffer, head, kind, number)
                    i = after
            else:
                frame.count = count
                if i >= frame.until:
                    self._close(frame)
        return -1

    def _push(
        self, mode: i64, until: i64, buffer: Buffer, closer: bytes, keys: list[bytes] = _NO_KEYS
    ) -> None:
        """Continue with the members of a container, in an unused frame if there is one."""
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
        """End the container of a frame and continue with the one around it."""
        out = self.out
        if frame.count and (frame.mode == _PAIRS or frame.mode == _FIELD_PAIRS):
            out.write(b"]")
        elif frame.mode == _KEYED and frame.count & 1:
            out.write(b": null")
        if self.plain:
            frame.hints = None  # this frame is used again
        elif frame.hints is not None:
            out.write(b', "$wire": ' if frame.count else b'"$wire": ')
            out.write(dumps(frame.hints).encode())
            frame.hints = None
        out.write(frame.closer)
        frame.buffer = _NOTHING  # the frame is kept, the buffer may be large
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
        if kind == t.MAP and not self.plain and is_bean(tape, index, buffer):
            self._open_bean(tape, index, buffer, head)
            self._push(_KEYED, until, buffer, b"}")
            self.frame.count = 2  # each name after a comma
            return
        tagged = False
        if not self.plain:
            tagged = self._open_tags(tape, index, buffer, head)
        if kind == t.TYPED:
            if not self.plain:
                out.write(b'"$value": ' if tagged else b'{"$type": null, "$value": ')
            if index + t.WIDTH == until or tape.next(index + t.WIDTH) == until:  # cut off before its value
                out.write(b"null")
            self._push(_ITEMS, until, buffer, b"" if self.plain else b"}")
        elif kind == t.LIST:
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
        """Write the opening brace and the `$type`, `$id`, `$wire` of a list or map, if it has any."""
        out = self.out
        first = index + t.WIDTH
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

    def _open_bean(self, tape: Tape, index: i64, buffer: Buffer, head: i64) -> None:
        """Write the opening brace of a bean, and its `$class`, `$id` and `$wire`."""
        out = self.out
        first = index + t.WIDTH
        if tape.kind(first) != t.TYPE or not self._type(tape, first, buffer, b'{"$class": '):
            out.write(b'{"$class": null')
        if head & t.REFERRED:
            out.write(b', "$id": ')
            write_int(out, tape.number(index))
        form = head >> t.FORM_SHIFT & t.FORM_MASK
        if form:
            self._tag_wire(tape, index, buffer, form)

    def _type(self, tape: Tape, index: i64, buffer: Buffer, before: bytes) -> bool:
        """Write `before` and the text of a TYPE node; False, and nothing is written, if it has no text."""
        out = self.out
        defined = tape.number(index)
        text = defined + t.WIDTH
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
        """Whether a map's keys can be the keys of a JSON object."""
        words = tape.words
        data = buffer.data
        end = tape.next(index)
        i = index + t.WIDTH
        is_key = True
        alike = False  # whether two keys may be equal
        seen: i64 = 0  # bits by each key's text, in two sets
        others: i64 = 0
        one: i64 = 1
        while i < end:
            head = words[i + t.HEAD]
            if head & t.HIDDEN == 0:
                if is_key:
                    kind = head & t.KIND_MASK
                    if self.plain:
                        if t.LIST <= kind <= t.OBJECT or kind == t.REMOTE or kind == t.TYPED:
                            return False
                    else:
                        if kind != t.STRING and kind != t.STRING16 and kind < t.LATIN1:
                            return False
                        if head >> t.FORM_SHIFT & t.FORM_MASK:
                            return False
                        span = words[i + t.SPAN]
                        number = span >> t.END_SHIFT
                        end_of = (span & t.LOW_HALF) + (head >> t.NEXT_SHIFT & t.SIZE_MASK)
                        if head & t.SHORT == 0:
                            number = words[i + t.NUMBER]
                            end_of = span >> t.END_SHIFT
                        if head & t.SIMPLE == 0 or number < 0:
                            content = _content(tape, i, buffer, number)
                            if content.startswith(b"$") or decoded_text(content, kind) is None:
                                return False
                        elif number < end_of and data[number] == 0x24:  # $
                            return False
                        if number < 0:
                            alike = True
                        else:
                            slot = slot_of(data, number, end_of - number)
                            bit = one << (slot & 63)
                            other = one << (slot >> 4)
                            alike = alike or (seen & bit != 0 and others & other != 0)
                            seen |= bit
                            others |= other
                is_key = not is_key
            i = tape.next(i)
        return not alike or all_differ(tape, index, buffer)

    def _key(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Write a map's key as the key of a JSON object."""
        head = tape.head(index)
        kind = head & t.KIND_MASK
        number = tape.number(index)
        if kind == t.STRING:
            self._leaf(tape, index, buffer, head, kind, number)
            return
        if kind == t.SYMBOL and number >= 0 and tape.next(number) > number + t.WIDTH:
            text = number + t.WIDTH
            head = tape.head(text)
            self._string(tape, text, buffer, head, head & t.KIND_MASK, tape.number(text))
            return
        inner = Writer(True)
        inner._leaf(tape, index, buffer, head, kind, number)
        written = inner.out.getvalue()
        self.out.write(written if written.startswith(b'"') else quoted(written.decode()))

    def _class_keys(self, tape: Tape, index: i64, buffer: Buffer) -> ClassKeys:
        """How objects of the class at `index` are written."""
        if index == self.class_index:
            return self.class_keys
        keys = known_keys(tape, index, buffer)
        if keys is None:
            keys = None if self.odd_classes is None else self.odd_classes.get(int(index))
            if keys is None:
                keys = read_keys(tape, index, buffer)
                if not keys.definition:
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
            path = tape.following(index)
            if tape.next(index) > path:
                head = tape.head(path)
                self._string(tape, path, buffer, head, head & t.KIND_MASK, tape.number(path))
            else:
                write_int(out, Node(tape, index, buffer).reference)
            if form and not self.plain:
                self._tag_wire(tape, index, buffer, form)
            out.write(b"}")
            return
        if kind == t.REMOTE:
            self._remote(tape, index, buffer, form)
            return
        if kind == t.SCALAR or kind == t.SYMBOL:
            self._scalar(tape, index, buffer, kind, form)
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
            if kind == t.STRING or kind == t.STRING16 or kind >= t.LATIN1:
                self._string(tape, index, buffer, head, kind, number)
                return
            if kind == t.NULL or kind == t.BOOL or kind == t.INT or (kind == t.INT32 and fits32(number)):
                self._untagged(tape, index, buffer, head, kind, number)
                return
            if kind == t.DOUBLE and number >> 52 & 0x7FF != 0x7FF:  # finite
                write_double(out, number)
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
        elif kind == t.STRING or kind == t.STRING16 or kind >= t.LATIN1:
            content = _content(tape, index, buffer, number)
            text = decoded_text(content, kind)
            if text is None:
                out.write(b'{"$raw": "')
                write_hex(out, content)
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

    def _scalar(self, tape: Tape, index: i64, buffer: Buffer, kind: i64, form: i64) -> None:
        """Write a scalar of a protocol's own, or a name with a number that is not a key of a bean."""
        out = self.out
        node = Node(tape, index, buffer)
        tag = "$symbol"
        value: Json = node.text
        if kind == t.SYMBOL and node.number < 0:
            value = node.number
        if kind == t.SCALAR:
            tag, value = node.tagged()
        if self.plain:
            out.write(dumps(value).encode())
            return
        out.write(b"{")
        out.write(quoted(tag))
        out.write(b": ")
        out.write(dumps(value).encode())
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
            write_hex(out, _content(tape, index, buffer, number))
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
            out.write(fault_json(fault.code, fault.offset, fault.text, self.places))
        else:
            out.write(b"null")

    def _string(self, tape: Tape, index: i64, buffer: Buffer, head: i64, kind: i64, number: i64) -> None:
        """Write a string, or its bytes if they are not text."""
        out = self.out
        if head & t.SIMPLE:
            out.append(0x22)
            write_part(out, buffer.data, number, tape.end(index))
            out.append(0x22)
            return
        if number >= 0 and kind < t.LATIN1 and self._text(buffer.data, number, tape.end(index), kind):
            return
        content = _content(tape, index, buffer, number)
        text = decoded_text(content, kind)
        if text is None:
            raw = content.hex().encode()
            out.write(b'"' + raw + b'"' if self.plain else b'{"$raw": "' + raw + b'"}')
        else:
            out.write(quoted(text))

    def _text(self, data: bytes, at: i64, end: i64, kind: i64) -> bool:
        """Write text that needs no escapes; surrogate pairs of UTF-16 are joined.

        False, and nothing is written, for any other text.
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
        first = index + t.WIDTH
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
                write_double(out, number)
            else:
                out.write(quoted(special))
        elif kind == t.FLOAT32:
            value = single_of(number)
            if number & 0x7F800000 == 0x7F800000:
                out.write(b'"NaN"' if value != value else b'"Infinity"' if value > 0 else b'"-Infinity"')
            else:
                out.write(repr(value).encode())
        elif kind == t.STRING or kind == t.STRING16 or kind == t.XML or kind >= t.LATIN1:
            self._string(tape, index, buffer, head, kind, number)
        elif kind == t.BYTES:
            out.append(0x22)
            write_hex(out, _content(tape, index, buffer, number))
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


_ALL_TAGS: Final[dict[int, str]] = {
    t.NULL: "$null",
    t.BOOL: "$bool",
    t.INT: "$int",
    t.INT32: "$int32",
    t.BYTES: "$bytes",
    t.DATE: "$date",
    t.XML: "$xml",
    **TAGS,
}


def _opening(kind: int) -> bytes:
    """The text before the value of a kind that has a tag."""
    return b'{"' + _ALL_TAGS.get(kind, "").encode() + b'": '


_LONG: Final = _opening(t.LONG)
_OPENINGS: Final[list[bytes]] = [_opening(kind) for kind in range(t.REMOTE + 1)]


def _content(tape: Tape, index: i64, buffer: Buffer, number: i64) -> bytes:
    """The content of text or bytes: in one piece, or of chunks."""
    if number >= 0:
        return buffer.data[number : tape.end(index)]
    return Node(tape, index, buffer).content
