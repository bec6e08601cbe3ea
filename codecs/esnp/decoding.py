"""Bytes to nodes of a tape: entries up to an END, the members of their bodies, Vars and what they contain."""

from contextlib import suppress
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.esnp import vocabulary as v
from wirelens.codecs.fields import read_int64, read_rest, read_u8
from wirelens.codecs.node import utf8
from wirelens.codecs.scan import plain_end, slot_of
from wirelens.codecs.tape import Fault, Tape
from wirelens.codecs.words import count


def decode(cursor: Cursor, tape: Tape, final: bool, lines: bool) -> None:
    """See Codec.decode. The specified rule for counts (zigzag) holds unless the other one fits better."""
    start = cursor.pos
    if _unsigned[0] and _reads_unsigned(cursor, tape, final, lines):
        return
    _unsigned[0] = False
    body = BodyReader(cursor, tape, False, lines)
    cut: DecodeError | None = None
    try:
        _read_message(body, final)
    except DecodeError as error:
        if not final or body.problems == 0:
            raise
        cut = error
    if body.problems:
        end = cursor.pos
        cursor.pos = start
        other = BodyReader(cursor, Tape(cursor.buffer), True, lines)
        with suppress(DecodeError):  # where the first rule found the input cut
            _read_message(other, final)
        if other.problems < body.problems:
            tape.take(other.tape)
            _unsigned[0] = True
        cursor.pos = end
    if cut is not None:
        raise cut


# Whether the last message had unsigned counts. The next one is likely to have them too, and is then read so
# first: in 0.6 of the time, for most messages show by their counts that the specified rule does not fit.
_unsigned: Final[list[bool]] = [False]


def _reads_unsigned(cursor: Cursor, tape: Tape, final: bool, lines: bool) -> bool:
    """Read a message whose counts are surely unsigned, or that has none; False if it is another one."""
    start = cursor.pos
    mark = tape.mark()
    body = BodyReader(cursor, tape, True, lines)
    try:
        _read_message(body, final)
        if body.problems == 0 and (body.negative or body.containers == 0):
            return True
    except DecodeError:
        pass
    tape.rollback(mark)
    cursor.pos = start
    return False


def _read_message(body: "BodyReader", final: bool) -> None:
    """Read a message under one rule for counts. Raises DecodeError."""
    cursor = body.cursor
    tape = body.tape
    start = cursor.pos
    root = tape.open(v.MESSAGE_HEAD, start, 0)
    entries = tape.open(v.LINES_HEAD if body.lines else v.FRAMES_HEAD, start, 0)
    outer = cursor.end
    body_seen = False
    order_noted = False
    seen: i64 = 0  # bits of the types that a message has once
    while True:
        at = cursor.pos
        if cursor.left() < 4:
            raise cursor.short(4, "a type and a size")
        entry = tape.open(v.ENTRY_HEAD, at, 0)
        kind = read_u8(cursor, tape, v.TYPE_HEAD, "a type")
        size = cursor.u8("a size") << 16
        size |= cursor.u16("a size")
        tape.leaf(v.SIZE_HEAD, at + 1, at + 4, size)
        if size > cursor.left():
            cut = cursor.short(size, f"the body of {v.TYPES.get(kind, kind)}")
            if final:
                body.read_cut(kind)
            raise cut
        cursor.end = cursor.pos + size
        body.read_whole(kind)
        cursor.end = outer
        tape.close(entry, cursor.pos)
        if kind == v.END:
            break
        if kind == v.MESSAGE_ID or kind == v.SOURCE_MESSAGE_ID or kind == v.MESSAGE_KIND or kind == v.VERSION:
            seen = _note_repeated(body, kind, seen, at)
        elif kind < v.SESSION_INFO or v.FIRST_UNDEFINED <= kind < v.FIRST_APPLICATION:
            if kind != v.CLOSE_CHANNEL:
                reserved = "reserved" if kind < v.SESSION_INFO else "not defined"
                tape.note("unknown-type", at, f"the type 0x{kind:02x} is {reserved}", cursor.buffer)
        if body.lines:
            part: i64 = v.PARTS[kind]
            if part == v.BODY_LINE:
                body_seen = True
            elif body_seen and not order_noted and part == v.HEADER_LINE:
                order_noted = True
                text = f"the header line {v.TYPES[kind]} comes after a body line"
                tape.note("header-after-body", at, text, cursor.buffer)
    tape.close(entries, cursor.pos)
    if body.unsigned and body.containers:
        tape.leaf(v.COUNTS_HEAD, cursor.pos, cursor.pos, 1)
    tape.close(root, cursor.pos)


def _note_repeated(body: "BodyReader", kind: i64, seen: i64, at: i64) -> i64:
    """Note an entry that a message has once, where it comes again; returns `seen` with its bit."""
    bit: i64 = 1
    bit <<= kind  # below FIRST_UNDEFINED
    if seen & bit != 0 and seen & bit << 32 == 0:
        text = f"{v.TYPES[kind]} is there again; readers take the first"
        body.tape.note("repeated-entry", at, text, body.cursor.buffer)
        seen |= bit << 32
    return seen | bit


def varint_size(value: i64) -> i64:
    """How many bytes the shortest varint of a number (two's complement if over 63 bits) takes."""
    if value < 0:
        return 10
    size: i64 = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


def unzigzag(value: i64) -> i64:
    """The signed number of a zigzag varint: 0, 1, 2, 3 mean 0, -1, 1, -2."""
    most: i64 = 0x3FFFFFFFFFFFFFFF  # one bit less, as a larger literal would be an object when compiled
    return (value >> 1 & (most << 1 | 1)) ^ -(value & 1)


def read_length(cursor: Cursor, what: str) -> i64:
    """Read a varint that is the length of `what`. Raises DecodeError."""
    byte = cursor.peek()
    if 0 <= byte < 0x80:  # most, without making the text of an error: 10 % of a message's time
        cursor.pos += 1
        return byte
    return cursor.varint(f"the length of {what}")


class BodyReader:
    """Reads the bodies of one message's entries onto its tape, under one rule for counts."""

    def __init__(self, cursor: Cursor, tape: Tape, unsigned: bool, lines: bool) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.unsigned: Final = unsigned
        self.lines: Final = lines
        self.containers: i64 = 0  # Maps and Lists so far
        self.problems: i64 = 0  # bodies with a Map or List that did not fit the rule for counts
        self.outside: i64 = 0  # Maps and Lists before this body
        # Whether the signed rule would come to a negative count: the first of a body, or the first of what
        # that holds, and so on, up to which both rules read the same. `inner`: where such a value starts.
        self.negative = False
        self.inner: i64 = -1
        # Of `var`, here so that they are made once: the containers that are open, and of each the values that
        # follow its inner container.
        self.nodes: Final[list[i64]] = []
        self.counts: Final[list[i64]] = []

    def read_whole(self, kind: i64) -> None:
        """A body up to the cursor's end; one that does not decode is kept as data, with its error."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        containers = self.containers
        self.outside = containers
        fits = True
        try:
            self.read(kind)
            if cursor.pos < cursor.end:
                self.note_extra(kind)
                tape.leaf(v.EXTRA_HEAD, cursor.pos, cursor.end, cursor.pos)
                fits = False
        except DecodeError as error:
            tape.rollback(mark)
            tape.leaf(v.DATA_HEAD, start, cursor.end, start)
            tape.fault(v.FAULT_HEAD, cursor.end, Fault(error.code, error.offset, error.text))
            fits = False
        if not fits and self.containers > containers:
            self.problems += 1
        cursor.pos = cursor.end

    def note_extra(self, kind: i64) -> None:
        """Note the bytes between what a body holds and its end."""
        cursor = self.cursor
        left = count(cursor.left(), "byte")
        text = f"{left} in END, which is always 00 00 00 00"
        if kind != v.END:
            text = f"{left} left over after what {v.TYPES[kind]} holds"
        self.tape.note("extra-bytes", cursor.pos, text, cursor.buffer)

    def read_cut(self, kind: i64) -> None:
        """As much as decodes of a body that the input cuts."""
        with suppress(DecodeError):
            self.read(kind)

    def read(self, kind: i64) -> None:
        """The body of an entry of a type, up to the cursor's end. Raises DecodeError."""
        cursor = self.cursor
        tape = self.tape
        if kind == v.DATA or kind == v.HEADER or kind == v.SESSION_INFO:
            self.text(v.NAME_HEAD, "a name")
            self.var()
        elif kind == v.MESSAGE_ID or kind == v.SOURCE_MESSAGE_ID:
            read_int64(cursor, tape, v.ID_HEAD, "a message id")
        elif kind == v.ADDRESS or kind == v.SOURCE_ADDRESS:
            self.signed(v.ADDRESS_HEAD, "an address type", 32)
            self.text(v.VALUE_TEXT_HEAD, "an address")
        elif kind == v.FLAG:
            at = cursor.pos
            flag = self.signed(v.LINE_FLAG_HEAD if self.lines else v.FRAME_FLAG_HEAD, "a flag", 32)
            last: i64 = 7 if self.lines else 6
            if (flag < 1 or flag > last) and flag < v.FIRST_APPLICATION:
                tape.note("unknown-flag", at, f"{flag} is not a flag that the text defines", cursor.buffer)
        elif kind == v.PAYLOAD:
            read_rest(cursor, tape, v.DATA_HEAD)
        elif kind == v.ERROR:
            at = cursor.pos
            read_rest(cursor, tape, v.TEXT_HEAD)
            self.check_text(at, "the error")
        elif kind == v.SEQ_NO:
            at = cursor.pos
            current = self.signed(v.CURRENT_HEAD, "a sequence number", 32)
            most = self.signed(v.LAST_HEAD, "the last sequence number", 32)
            if current < 1 or most < 0 or (most > 0 and current > most):
                text = f"number {current} of {most}: numbers start at 1, up to the last (0: not known)"
                tape.note("bad-sequence", at, text, cursor.buffer)
        elif kind == v.XDATA:
            self.signed(v.XDATA_ID_HEAD, "an XDATA id", 32)
            self.xdata()
        elif kind == v.MESSAGE_KIND:
            read_u8(cursor, tape, v.KIND_HEAD, "a message kind")
        elif kind == v.VERSION:
            start = cursor.skip(4, "a version")
            tape.leaf(v.VERSION_HEAD, start, cursor.pos, 0)
        elif kind != v.TRACE and kind != v.TRACE_RESP and kind != v.END:
            read_rest(cursor, tape, v.DATA_HEAD)

    def xdata(self) -> None:
        """The value after an XDATA id: one Var if it fills the body exactly, else bytes."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        negative = self.negative
        try:
            self.var()
            self.negative = negative  # such a value is no problem under either rule
            if cursor.pos == cursor.end:
                return
        except DecodeError:
            self.negative = negative
        tape.rollback(mark)
        cursor.pos = start
        read_rest(cursor, tape, v.DATA_HEAD)

    def signed(self, head: i64, what: str, width: i64) -> i64:
        """A zigzag varint as a plain member; returns the number."""
        cursor = self.cursor
        start = cursor.pos
        raw = cursor.varint(what)
        number = unzigzag(raw)
        if cursor.pos - start != varint_size(raw):
            head |= v.VARINT << t.FORM_SHIFT
        if self.wide(start, number, width, what):
            head = (head & ~(t.FORM_MASK << t.FORM_SHIFT)) | v.WIDE << t.FORM_SHIFT
        self.tape.leaf(head, start, cursor.pos, number)
        return number

    def wide(self, start: i64, number: i64, width: i64, what: str) -> bool:
        """Whether a number takes more than `width` bits, which is noted."""
        limit: i64 = 1  # a literal would be shifted in 32 bits when compiled
        limit <<= width - 1
        if width == 64 or -limit <= number < limit:
            return False
        text = f"{what} takes more than {width} bits: {number}"
        self.tape.note("wide-varint", start, text, self.cursor.buffer)
        return True

    def text(self, head: i64, what: str) -> None:
        """A LenString as a plain member."""
        cursor = self.cursor
        start = cursor.pos
        raw = read_length(cursor, what)
        if cursor.pos - start != varint_size(raw):
            head |= v.VARINT << t.FORM_SHIFT
        content = self.run(unzigzag(raw), what)
        self.tape.leaf(head, start, cursor.pos, content)
        self.check_text(content, what)

    def check_text(self, content: i64, what: str) -> None:
        """Note text, from `content` up to the cursor, that is not UTF-8."""
        cursor = self.cursor
        end = cursor.pos
        if plain_end(cursor.data, content, end) < end and utf8(cursor.data[content:end]) is None:
            self.tape.note("bad-text", content, f"{what} is not UTF-8", cursor.buffer)

    def check_keys(self, index: i64) -> None:
        """Note a key that a Map has twice."""
        tape = self.tape
        data = self.cursor.data
        end = tape.next(index)
        at = tape.following(index)
        bits: i64 = 0  # of each key's slot, in two sets
        others: i64 = 0
        alike = False
        while at < end and not alike:
            start = tape.number(at)
            slot = slot_of(data, start, tape.end(at) - start)
            bit: i64 = 1
            bit <<= slot & 63
            other: i64 = 1
            other <<= slot >> 4 & 63
            alike = bits & bit != 0 and others & other != 0
            bits |= bit
            others |= other
            at = tape.next(tape.next(at))
        if not alike:
            return
        keys: set[bytes] = set()
        at = tape.following(index)
        while at < end:
            key = data[tape.number(at) : tape.end(at)]
            if key in keys:
                text = f'the key "{key.decode("utf-8", "replace")}" is there twice'
                tape.note("repeated-key", tape.start(at), text, self.cursor.buffer)
                return
            keys.add(key)
            at = tape.next(tape.next(at))

    def run(self, length: i64, what: str) -> i64:
        """Skip content of a declared length; returns where it starts. Raises DecodeError."""
        cursor = self.cursor
        if length > cursor.end - cursor.pos:
            raise cursor.error(
                "bad-length",
                cursor.pos,
                f"{what} of {length} bytes does not fit in the {cursor.end - cursor.pos} that are left",
            )
        return cursor.skip(length, what)

    def var(self) -> None:
        """A Var as the entry's value; nested ones with an explicit stack."""
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        nodes = self.nodes
        counts = self.counts
        if nodes:  # an error ended the last Var
            nodes.clear()
            counts.clear()
        wanted: i64 = 1
        in_map = False
        key = False
        place = v.VALUE_FIELD << t.FIELD_SHIFT
        while True:
            if wanted == 0:
                if not nodes:
                    return
                container = nodes.pop()
                tape.close(container, cursor.pos)
                if in_map:
                    self.check_keys(container)
                wanted = counts.pop()
                if not nodes:
                    return
                in_map = tape.kind(nodes[len(nodes) - 1]) == t.MAP
                key = in_map
                continue
            start = cursor.pos
            if in_map and key:
                self.key(start)
                if start == self.inner:
                    self.inner = cursor.pos
                key = False
                continue
            key = in_map
            wanted -= 1
            tag = cursor.u8("a Var type")
            if tag == 24 or tag == 17:
                what = "a string" if tag == 24 else "bytes"
                length_at = cursor.pos
                raw = read_length(cursor, what)
                head = place | (t.STRING if tag == 24 else t.BYTES)
                if cursor.pos - length_at != varint_size(raw):
                    head |= v.VARINT << t.FORM_SHIFT
                content = self.run(unzigzag(raw), what)
                tape.leaf(head, start, cursor.pos, content)
                if tag == 24:
                    self.check_text(content, what)
            elif tag == 21 or tag == 23:
                first = self.containers == self.outside
                self.containers += 1
                raw = cursor.varint("a count")
                if first or start == self.inner:
                    if raw & 1:
                        self.negative = True
                    self.inner = cursor.pos
                    if raw == 0:
                        self.inner = -1
                overlong = cursor.pos - start - 1 != varint_size(raw)
                items = raw if self.unsigned else unzigzag(raw)
                if items < 0 or items > cursor.left():
                    raise cursor.error(
                        "bad-length",
                        start + 1,
                        f"a count of {items} does not fit in the {cursor.left()} bytes left",
                    )
                head = place | (t.MAP if tag == 21 else t.LIST)
                if overlong:
                    head |= v.VARINT << t.FORM_SHIFT
                tape.check_level(len(nodes), start)
                nodes.append(tape.open(head, start, -1))
                counts.append(wanted)
                wanted = items
                in_map = tag == 21
                key = in_map
            elif tag == 5 or tag == 6 or tag == 2 or tag == 4:
                self.integer(place, tag, start, True)
            elif tag == 7 or (9 <= tag <= 11):
                self.integer(place, tag, start, False)
            elif tag == 0:
                tape.leaf(place | t.NULL, start, cursor.pos, 0)
            elif tag == 1:
                number = cursor.u8("a Bool")
                head = place | t.BOOL
                if number > 1:
                    head |= v.TRUE_BYTE << t.FORM_SHIFT
                tape.leaf(head, start, cursor.pos, 1 if number else 0)
            elif tag == 3:
                number = cursor.u8("an Int8")
                tape.leaf(place | t.INT8, start, cursor.pos, number - 256 if number >= 128 else number)
            elif tag == 8:
                number = cursor.u8("a UInt8")
                tape.leaf(place | t.UINT8, start, cursor.pos, number)
            elif tag == 13:
                number = cursor.u32("a Float32")
                tape.leaf(place | t.FLOAT32, start, cursor.pos, number)
            elif tag == 14:
                number = cursor.int64("a Float64")
                tape.leaf(place | t.DOUBLE, start, cursor.pos, number)
            else:
                raise cursor.error("unknown-type", start, f"{data[start]} is not a Var type")
            place = 0

    def key(self, start: i64) -> None:
        """A Map's key: a LenString."""
        cursor = self.cursor
        raw = read_length(cursor, "a key")
        head: i64 = t.STRING
        if cursor.pos - start != varint_size(raw):
            head |= v.KEY_VARINT << t.FORM_SHIFT
        content = self.run(unzigzag(raw), "a key")
        self.tape.leaf(head, start, cursor.pos, content)
        self.check_text(content, "a key")

    def integer(self, place: i64, tag: i64, start: i64, zigzag: bool) -> None:
        """A Var's varint, after its tag."""
        cursor = self.cursor
        at = cursor.pos
        raw = cursor.varint("an integer")
        number = unzigzag(raw) if zigzag else raw
        head = place | v.VARINT_KINDS[tag]
        if cursor.pos - at != varint_size(raw):
            head |= v.VARINT << t.FORM_SHIFT
        wide = False
        if zigzag:
            if tag != 6:
                what = "an Int16" if tag == 4 else "an Int32"
                wide = self.wide(start, number, 16 if tag == 4 else 32, what)
        elif tag != 11:
            width: i64 = 16 if tag == 9 else 32
            wide = raw < 0 or raw >> width != 0
            if wide:
                text = f"an unsigned integer takes more than {width} bits"
                self.tape.note("wide-varint", start, text, cursor.buffer)
        if wide:
            head = (head & ~(t.FORM_MASK << t.FORM_SHIFT)) | v.WIDE << t.FORM_SHIFT
        self.tape.leaf(head, start, cursor.pos, number)
