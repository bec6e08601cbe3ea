"""What stands around Hessian values: calls, replies, faults, messages, packets, envelopes.

Sources: the notes on deployed software, section 1.3; the draft text names only the opcodes. Each of
these is a scope of its own with new tables.

All values of `$wire` beside a message's members:

| of | `$wire` | meaning |
|---|---|---|
| message | `{"version": "absent"}` | final: no `H 02 00` (3.2.1); draft: a call that starts at a header |
| message | `{"start": "C"}`, `"R"`, `"P"` | draft: the streaming opcodes for a call, a reply, a message |
| call, envelope | `{"method": …}` | the form of the method's name, as of a string |
| call | `{"count": …}` | final: the form of the number of arguments, as of an int |
| packets | `{"framing": "3.2.1"}`, `"4.0.0"`, `"4.0.7"` | final: that release's framing (usual: 4.0.66) |
| a packet | `{"chunks": [size, …]}` | a packet in several parts |
| a part | `{"content_form": …}` | the form of the content, as of bytes; usual: one B |
| a part | `{"header_count": …}`, `{"footer_count": …}` | forms of the counts, as of an int |
"""

import zlib
from functools import partial
from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import forms
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.value_decoding import (
    OPENERS,
    TO_END,
    TO_MARK,
    Tables,
    Values,
    content_of,
    known_definition,
    opens_message,
    skip_plain_class,
)
from wirelens.codecs.node import HINTS, Json, Node, field, hint
from wirelens.codecs.tape import Buffer, Tape

DEFLATION: Final = b"com.caucho.hessian.io.Deflation"
MAX_INFLATED: Final = 1 << 26  # bytes that the content of an envelope may expand to
MOST_DEFINED: Final = 64  # class definitions in a row that are looked past for the object behind them


def _version(node: Node) -> Json:
    """The two bytes of a version as "2.0"."""
    return f"{node.raw[-2]}.{node.raw[-1]}"


def _method_wire(dialect: int, node: Node) -> Json:
    """`$wire` of a call or envelope whose method's name is in an unusual form."""
    method = node.member("method")
    if method is None:
        return None
    form = forms.STRINGS[dialect] if dialect == d.FINAL else forms.COUNTED
    return {"method": HINTS[form].json(method)}


def _packet_wire(node: Node) -> Json:
    """`$wire` of a packet in several parts."""
    sizes: list[Json] = [part.number for part in node.parts() if part.kind == t.LENGTH]
    return {"chunks": sizes}


def _content_wire(dialect: int, node: Node) -> Json:
    """`$wire` of an envelope's content: the form of the bytes, given by the MARK that spans them."""
    return HINTS[forms.BINARIES[dialect]].json(node)


VALUES_FIELD: Final[i64] = field("values")
VALUES: Final[i64] = t.head(t.ARRAY, VALUES_FIELD)
_ROOT: Final[i64] = t.head(t.STRUCT)
_VERSION: Final[i64] = t.head(t.COMPUTED, field("version", None, _version))
_CALL: Final[i64] = t.head(t.STRUCT, field("call"))
_METHOD: Final[i64] = t.head(0, field("method"))
_HEADERS: Final[i64] = t.head(t.ARRAY, field("headers"))
_FOOTERS: Final[i64] = t.head(t.ARRAY, field("footers"))
_PAIR: Final[i64] = t.head(t.ARRAY)
_ARGUMENTS: Final[i64] = t.head(t.ARRAY, field("arguments"))
_COUNT: Final[i64] = t.head(t.LENGTH, field("count")) | t.HIDDEN
_HEADER_COUNT: Final[i64] = t.head(t.LENGTH, field("header_count")) | t.HIDDEN
_FOOTER_COUNT: Final[i64] = t.head(t.LENGTH, field("footer_count")) | t.HIDDEN
_REPLY: Final[i64] = t.head(t.STRUCT, field("reply"))
_VALUE: Final[i64] = field("value")
_FAULT: Final[i64] = field("fault")
_MESSAGE: Final[i64] = t.head(t.STRUCT, field("message"))
_PACKETS: Final[i64] = t.head(t.ARRAY, field("packets"))
_PACKET: Final[i64] = t.head(t.STRUCT)
_CHUNK_SIZE: Final[i64] = t.head(t.LENGTH) | t.HIDDEN
_ENVELOPE: Final[i64] = t.head(t.STRUCT, field("envelope"))
_PARTS: Final[i64] = t.head(t.ARRAY, field("parts"))
_PART: Final[i64] = t.head(t.STRUCT)
_CONTENT_FIELD: Final[i64] = field("content")
_CONTENT_HEX: Final[i64] = t.head(t.HEX, _CONTENT_FIELD)
_CONTENT_FORM: Final[i64] = t.head(t.BYTES, field("content_form")) | t.HIDDEN
_COMPRESSED: Final[i64] = t.head(t.HEX, field("compressed"))

_NO_VERSION: Final = hint({"version": "absent"})
_STARTS: Final[dict[int, int]] = {letter: hint({"start": chr(letter)}) for letter in (0x43, 0x50, 0x52)}
_METHODS: Final = [hint(partial(_method_wire, dialect)) for dialect in range(4)]
_FRAMINGS: Final[dict[str, int]] = {name: hint({"framing": name}) for name in ("3.2.1", "4.0.0", "4.0.7")}
_PACKET_CHUNKS: Final = hint(_packet_wire)
_CONTENTS: Final = [hint(partial(_content_wire, dialect)) for dialect in range(4)]


@mypyc_attr(acyclic=True, free_list_len=1)
class Messages:
    """Decodes one message of a dialect from a cursor onto a tape."""

    def __init__(self, dialect: i64, cursor: Cursor, tape: Tape, final: bool) -> None:
        self.dialect: Final[i64] = dialect
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.final: Final = final
        self.tables = Tables(dialect)
        self.values = Values(cursor, tape, self.tables)
        self.packets_read = 0

    def read(self, root_head: i64 = _ROOT, number: i64 = 0) -> None:
        """Read whichever message starts at the cursor, under a root node of the given head and number.

        Raises DecodeError. Where a text in four-byte UTF-8 can be counted in two ways, both are tried.
        """
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        try:
            self._read(root_head, number)
            return
        except DecodeError as error:
            if not self.values.wide_seen or self.tables.units:
                raise
            first = error
        cursor.pos = start
        tape.rollback(mark)
        self._restart(1)
        try:
            self._read(root_head, number)
        except DecodeError as error:
            if error.needed or error.offset > first.offset:
                raise
            raise first from None

    def _read(self, root_head: i64, number: i64) -> None:
        cursor = self.cursor
        dialect = self.dialect
        data = cursor.data
        start = cursor.pos
        if start >= cursor.end:
            raise cursor.short(1, "a message")
        byte: i64 = data[start]
        left = cursor.end - start
        if byte in OPENERS[dialect]:
            if dialect == d.FINAL:
                if self._read_final(byte, root_head, number):
                    return
            elif byte == 0x63 or (byte == 0x43 and dialect == d.DRAFT):
                self._call(root_head, number)
                return
            elif byte == 0x72:
                if left < 2 and not self.final:
                    raise cursor.short(2, "a reply or a remote object")
                if left > 1 and data[start + 1] <= 2:
                    self._reply(root_head, number)
                    return
            elif byte == 0x52:
                if left < 3 and not self.final:
                    raise cursor.short(3, "a reply or a reference")
                if left > 2 and data[start + 1] == 2 and data[start + 2] == 0:
                    self._reply(root_head, number)
                    return
            elif byte == 0x48:
                self._call(root_head, number)
                return
            elif byte == 0x45:
                self._envelope(root_head, number)
                return
            else:
                self._message_or_packets(root_head, number)
                return
        self._values(root_head, number)

    def _values(self, root_head: i64, number: i64) -> None:
        """Consecutive values, up to the end of the input or to what opens no value."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        root = tape.open(root_head, start, number)
        items = tape.open(VALUES, start, 0)
        self.values.read(TO_END)
        tape.close(items, cursor.pos)
        tape.close(root, cursor.pos)
        if cursor.pos == cursor.end and not self.final:
            raise cursor.short(1, "more values, or the end of the stream")

    def _version_at(self, what: str) -> None:
        """Two bytes of a version behind the opcode."""
        cursor = self.cursor
        at = cursor.skip(2, f"the version of {what}")
        if cursor.data[at] > 2 or cursor.data[at + 1] > 1:
            version = f"{cursor.data[at]}.{cursor.data[at + 1]}"
            cursor.pos = at
            raise cursor.error("bad-value", at, f"no {what} has the version {version}")
        self.tape.leaf(_VERSION, at, at + 2, 0)

    def _mark(self, letter: i64, what: str) -> None:
        """Pass over the byte that ends something."""
        cursor = self.cursor
        at = cursor.pos
        byte = cursor.u8(what)
        if byte != letter:
            cursor.pos = at
            raise cursor.error("bad-value", at, f"expected {what} ({letter:02x}), not {byte:02x}")

    def _headers(self) -> None:
        """The headers of 1.0 and the draft, where there are any."""
        cursor = self.cursor
        tape = self.tape
        if cursor.peek() != 0x48:
            return
        headers = tape.open(_HEADERS, cursor.pos, 0)
        while cursor.peek() == 0x48:
            pair = tape.open(_PAIR, cursor.pos, 0)
            cursor.pos += 1
            self.values.text(0, "a header's name")
            self.values.read(1)
            tape.close(pair, cursor.pos)
        tape.close(headers, cursor.pos)

    def _method(self, call: i64, count_head: i64) -> None:
        """The name of a method, as a member of `call`."""
        tape = self.tape
        method = tape.size()
        if count_head:
            self.values.string(_METHOD, "the name of a method")
        else:
            self._mark(0x6D, "the method")
            self.values.text(_METHOD, "the name of a method")
        if tape.head(method) >> t.FORM_SHIFT & t.FORM_MASK:
            tape.set_form(method, 0)
            tape.set_form(call, _METHODS[self.dialect])

    def _call(self, root_head: i64, number: i64) -> None:
        """A call of 1.0 and the draft."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        byte = cursor.peek()
        root = tape.open(root_head, start, number)
        if byte == 0x48:
            tape.set_form(root, _NO_VERSION)
        else:
            if byte != 0x63:
                tape.set_form(root, _STARTS[int(byte)])
            cursor.pos += 1
            self._version_at("call")
        call = tape.open(_CALL, cursor.pos, 0)
        self._headers()
        self._method(call, 0)
        arguments = tape.open(_ARGUMENTS, cursor.pos, 0)
        self.values.read(TO_MARK)
        tape.close(arguments, cursor.pos)
        self._mark(0x7A, "the end of the call")
        tape.close(call, cursor.pos)
        tape.close(root, cursor.pos)

    def _reply(self, root_head: i64, number: i64) -> None:
        """A reply of 1.0 and the draft."""
        cursor = self.cursor
        tape = self.tape
        root = tape.open(root_head, cursor.pos, number)
        byte = cursor.u8("a reply")
        if byte != 0x72:
            tape.set_form(root, _STARTS[int(byte)])
        self._version_at("reply")
        reply = tape.open(_REPLY, cursor.pos, 0)
        self._headers()
        if cursor.peek() == 0x66:
            fault = tape.open(t.head(t.MAP, _FAULT), cursor.pos, -1)
            cursor.pos += 1
            self._fault(fault, 0x7A)
        else:
            self.values.read(1, _VALUE)
        self._mark(0x7A, "the end of the reply")
        tape.close(reply, cursor.pos)
        tape.close(root, cursor.pos)

    def _fault(self, fault: i64, mark: i64) -> None:
        """The pairs of a fault up to their end."""
        cursor = self.cursor
        self.values.read(TO_MARK)
        if self._count(fault) & 1:
            raise cursor.error("bad-value", cursor.pos, "a fault's last key has no value")
        self._mark(mark, "the end of the fault")
        self.tape.close(fault, cursor.pos)

    def _count(self, index: i64) -> i64:
        """How many shown children a node has that is still open."""
        tape = self.tape
        count: i64 = 0
        at = index + 1
        while at < tape.size():
            if tape.head(at) & t.HIDDEN == 0:
                count += 1
            at = tape.next(at)
        return count

    def _message_or_packets(self, root_head: i64, number: i64) -> None:
        """What starts with p or P in the draft: a message where it has a version and reads as one."""
        cursor = self.cursor
        start = cursor.pos
        data = cursor.data
        if cursor.end - start < 3 and not self.final:
            raise cursor.short(3, "a message or a packet")
        if data[start + 1 : start + 3] == b"\2\0":
            error = self._attempt(root_head, number, True)
            if error is None:
                return
            if error.needed and not self.final:
                raise error
            if self._attempt(root_head, number, False) is not None:
                self._message(root_head, number)  # for its error
            return
        self._packets(root_head, number, "3.2.1")

    def _attempt(self, root_head: i64, number: i64, message: bool) -> DecodeError | None:
        """Try one reading; its error, after which all is as before."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        try:
            if message:
                self._message(root_head, number)
            else:
                self._packets(root_head, number, "3.2.1")
            return None
        except DecodeError as error:
            cursor.pos = start
            tape.rollback(mark)
            self._restart()
            return error

    def _restart(self, units: i64 = 0) -> None:
        """New tables; `units` as in Tables."""
        self.tables = Tables(self.dialect)
        self.tables.units = units
        self.values = Values(self.cursor, self.tape, self.tables)

    def _message(self, root_head: i64, number: i64) -> None:
        """A message: p, a version, values, z."""
        cursor = self.cursor
        tape = self.tape
        root = tape.open(root_head, cursor.pos, number)
        byte = cursor.u8("a message")
        if byte != 0x70:
            tape.set_form(root, _STARTS[int(byte)])
        self._version_at("message")
        message = tape.open(_MESSAGE, cursor.pos, 0)
        items = tape.open(VALUES, cursor.pos, 0)
        if self.dialect == d.FINAL:
            self._values_to_z()
        else:
            self.values.read(TO_MARK)
        tape.close(items, cursor.pos)
        self._mark(0x7A, "the end of the message")
        tape.close(message, cursor.pos)
        tape.close(root, cursor.pos)

    def _values_to_z(self) -> None:
        """Values of final up to a z, which in that dialect also opens a list of two.

        It is the end where nothing follows it, or the start of another message.
        """
        cursor = self.cursor
        data = cursor.data
        while True:
            if cursor.peek() == 0x7A:
                behind = cursor.pos + 1
                if behind >= cursor.end:
                    if self.final:
                        return
                    raise cursor.short(2, "what stands behind a z")
                if opens_message(d.FINAL, data, behind, cursor.end) or data[behind : behind + 3] == b"p\2\0":
                    return
            self.values.read(1)

    # --- final ------------------------------------------------------------------------------------------

    def _read_final(self, byte: i64, root_head: i64, number: i64) -> bool:
        """Read a message of the final dialect whose first byte may open one; False where it does not."""
        cursor = self.cursor
        start = cursor.pos
        data = cursor.data
        left = cursor.end - start
        if byte == 0x48:
            if left < 4 and not self.final and data[start : cursor.end] == b"H\2\0"[:left]:
                raise cursor.short(4, "a message or a map")
            if left < 3 or data[start + 1 : start + 3] != b"\2\0":
                return False
            if left == 3:
                raise cursor.short(4, "a call, a reply or a fault")
            if data[start + 3] not in b"CRF":
                return False
            root = self.tape.open(root_head, start, number)
            cursor.pos += 1
            self._version_at("message")
            if data[start + 3] == 0x43:
                self._call_final()
            elif data[start + 3] == 0x52:
                self._reply_final()
            else:
                cursor.pos += 1
                self.values.read(1, _FAULT)
            self.tape.close(root, cursor.pos)
            return True
        if byte == 0x43:
            if self._defines_class():
                return False
            root = self.tape.open(root_head, start, number)
            self.tape.set_form(root, _NO_VERSION)
            self._call_final()
            self.tape.close(root, cursor.pos)
            return True
        if byte == 0x45:
            self._envelope(root_head, number)
            return True
        if byte == 0x50:
            self._packets(root_head, number, "3.2.1")
            return True
        # p: a message with its version; else a list, or a packet
        if left < 3 and not self.final and data[start : cursor.end] == b"p\2\0"[:left]:
            raise cursor.short(3, "a message or a list")
        if data[start + 1 : start + 3] != b"\2\0":
            return False
        error = self._attempt(root_head, number, True)
        if error is not None and error.needed and not self.final:
            raise error
        return error is None

    def _defines_class(self) -> bool:
        """True where the C at the cursor defines classes for an object, False where it is a call.

        A row of calls looks like a row of definitions; looking past `MOST_DEFINED` of them at most is linear.
        """
        cursor = self.cursor
        data = cursor.data
        behind = cursor.pos
        count: i64 = 0
        while 0 <= behind < cursor.end and data[behind] == 0x43:
            if count == MOST_DEFINED:
                return True
            count += 1
            known = known_definition(d.FINAL, data, behind, cursor.end)
            if known is not None:
                behind += len(known.data)
            else:
                behind = skip_plain_class(data, behind + 1, cursor.end)
        if 0 <= behind < cursor.end:
            opener: i64 = d.TABLES[d.FINAL][data[behind]]
            return opener == d.OBJECT_SHORT or opener == d.OBJECT_INT
        ahead = Cursor(cursor.buffer, cursor.pos, cursor.end)
        scratch = Tape(cursor.buffer)
        values = Values(ahead, scratch, Tables(d.FINAL))
        try:
            while True:
                if values.tables.class_count() == MOST_DEFINED:
                    return True
                at = ahead.pos
                ahead.pos += 1
                values.define_class(at, d.CLASS_FINAL, 0)
                if ahead.pos >= ahead.end:
                    if not self.final:
                        raise ahead.short(1, "an object or the end of a call")
                    return False
                action: i64 = d.TABLES[d.FINAL][ahead.data[ahead.pos]]
                if action != d.CLASS_FINAL:
                    return action == d.OBJECT_SHORT or action == d.OBJECT_INT
        except DecodeError as error:
            if error.needed and not self.final:
                raise
            return False

    def _call_final(self) -> None:
        """A call of final: C, the method, how many arguments, the arguments."""
        cursor = self.cursor
        tape = self.tape
        call = tape.open(_CALL, cursor.pos, 0)
        cursor.pos += 1
        self._method(call, 1)
        count = self._counter(_COUNT, "the number of arguments")
        arguments = tape.open(_ARGUMENTS, cursor.pos, 0)
        self.values.read(count)
        tape.close(arguments, cursor.pos)
        tape.close(call, cursor.pos)

    def _counter(self, head: i64, what: str) -> i64:
        """An int that counts what follows, as a hidden member."""
        cursor = self.cursor
        at = cursor.pos
        count = self.values.integer(what)
        if count < 0:
            raise cursor.error("bad-length", at, f"{what} is negative: {count}")
        form: i64 = 0
        if not self.values.usual:
            form = forms.int_form_number(cursor.data, at)
        self.tape.leaf(head | form << t.FORM_SHIFT, at, cursor.pos, count)
        return count

    def _reply_final(self) -> None:
        """A reply of final: R and a value, or (release 3.2.1) a fault with a start of its own."""
        cursor = self.cursor
        tape = self.tape
        reply = tape.open(_REPLY, cursor.pos, 0)
        cursor.pos += 1
        at = cursor.pos
        if cursor.data[at : at + 5] == b"H\2\0FH":
            # its map takes no reference number
            fault = tape.open(t.head(t.MAP, _FAULT), at, -1)
            cursor.pos = at + 5
            self._fault(fault, 0x5A)
        else:
            self.values.read(1, _VALUE)
        tape.close(reply, cursor.pos)

    # --- packets ----------------------------------------------------------------------------------------

    def packets(self) -> bool:
        """Try the framings of final that start like values; True where one of them holds to the end.

        Only for what does not read as values: the cursor is at the start, the tape empty.
        """
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        for framing in ("4.0.66", "4.0.7", "4.0.0", "3.2.1"):
            self._restart()
            waits = False
            try:
                self._packets(_ROOT, 0, framing)
                if cursor.pos == cursor.end:
                    return True
            except DecodeError as error:
                waits = error.needed != 0 and not self.final and self.packets_read > 0
                if waits:
                    raise
            cursor.pos = start
            tape.rollback(mark)
        return False

    def _part(self, framing: str, first: bool) -> tuple[i64, bool]:
        """Pass over one part of a packet; its size, and whether the packet goes on behind it."""
        cursor = self.cursor
        at = cursor.pos
        byte = cursor.u8("a packet")
        more = True
        if framing == "3.2.1":
            size = cursor.u16("the length of a packet")
            more = byte == 0x70
        elif framing == "4.0.66":
            more = byte & 0x80 != 0
            if byte & 0x7F != (5 if first else 0):
                raise cursor.error("bad-value", at, f"{byte:02x} opens no packet")
            size = cursor.u8("the length of a packet")
            if size == 0x7E:
                size = cursor.u16("the length of a packet")
                if size < 0x7E:
                    raise cursor.error("bad-length", at, "a packet's length is longer than it need be")
            elif size > 0x7E:
                raise cursor.error("bad-value", at, "a packet's length takes more than 16 bits")
        else:
            if framing == "4.0.7":
                if byte != 0x80:
                    raise cursor.error("bad-value", at, f"{byte:02x} opens no packet")
                byte = cursor.u8("the length of a packet")
            size = byte
            if byte >= 0x80:
                low = cursor.u8("the length of a packet")
                size = (byte & 0x7F) << 7 | low
                if low >= 0x80 or size < 0x80:
                    raise cursor.error("bad-length", at, "a packet's length is not in its usual form")
            more = size > 0
        cursor.skip(size, "a packet's content")
        return size, more

    def _packets(self, root_head: i64, number: i64, framing: str) -> None:
        """A sequence of packets.

        Where any of them comes in several parts, the contents of all are put together in one buffer:
        packets share classes and types, whose names must lie where the objects do.
        """
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        start = cursor.pos
        self.packets_read = 0
        found: list[
            list[tuple[int, int]]
        ] = []  # of each packet its parts: where their contents start and end
        ends: list[i64] = []  # of whole packets
        error: DecodeError | None = None
        more = False
        while cursor.pos < cursor.end and error is None:
            at = cursor.pos
            if framing == "3.2.1" and data[at] != 0x50 and data[at] != 0x70:
                break
            try:
                if not more:
                    found.append([])
                size, more = self._part(framing, len(found[-1]) == 0)
                if size or framing == "3.2.1" or framing == "4.0.66":
                    found[-1].append((int(cursor.pos - size), int(cursor.pos)))
                if not more:
                    ends.append(cursor.pos)
            except DecodeError as caught:
                cursor.pos = at
                error = caught
        if error is None and more:
            error = cursor.short(1, "the rest of a packet")
        root = tape.open(root_head, start, number)
        if self.dialect == d.FINAL and framing != "4.0.66":
            tape.set_form(root, _FRAMINGS[framing])
        packets = tape.open(_PACKETS, start, 0)
        head = _PACKET
        inner = Cursor(cursor.buffer, start, start)
        if any(len(parts) != 1 for parts in found):
            head |= t.EMBEDDED
            inner = Cursor(_joined(cursor.buffer, found), 0, 0)
            tape.buffers.append(inner.buffer)
        self.values = Values(inner, tape, self.tables)
        behind = start
        for position, end in enumerate(ends):
            packet = tape.open(head, behind, len(tape.buffers) - 1 if head & t.EMBEDDED else 0)
            self._packet(packet, inner, found[position])
            tape.close(packet, end)
            behind = end
        if error is not None:
            raise error
        if cursor.pos == cursor.end and not self.final:
            raise cursor.short(1, "another packet, or the end of the stream")
        tape.close(packets, cursor.pos)
        tape.close(root, cursor.pos)

    def _packet(self, packet: i64, inner: Cursor, parts: list[tuple[int, int]]) -> None:
        """One packet's values, read from the input or from the buffer in which all packets are joined."""
        tape = self.tape
        if tape.head(packet) & t.EMBEDDED:
            inner.end = inner.pos
            for start, end in parts:
                inner.end += end - start
            if len(parts) != 1:
                tape.set_form(packet, _PACKET_CHUNKS)
                for start, end in parts:
                    tape.leaf(_CHUNK_SIZE, inner.pos, inner.pos, end - start)
        else:
            inner.pos = parts[0][0]
            inner.end = parts[0][1]
        items = tape.open(VALUES, inner.pos, 0)
        self.tables.clear_references()
        try:
            self.values.read(TO_END)
        except DecodeError as error:
            # no more input can complete a packet whose length is known
            raise DecodeError(error.code, error.offset, error.text) from None
        if inner.pos < inner.end:
            raise inner.error("bad-value", inner.pos, "a packet holds more than values")
        tape.close(items, inner.pos)
        self.packets_read += 1

    # --- envelopes --------------------------------------------------------------------------------------

    def _envelope(self, root_head: i64, number: i64) -> None:
        """An envelope: a method, then parts of headers, content and footers."""
        cursor = self.cursor
        tape = self.tape
        final = self.dialect == d.FINAL
        root = tape.open(root_head, cursor.pos, number)
        cursor.pos += 1
        if not final:
            self._version_at("envelope")
        envelope = tape.open(_ENVELOPE, cursor.pos, 0)
        method = tape.size()
        self._method(envelope, 1 if final else 0)
        inflates = content_of(tape, method, cursor.data) == DEFLATION
        parts = tape.open(_PARTS, cursor.pos, 0)
        closing: i64 = 0x5A if final else 0x7A
        while cursor.peek() != closing:
            part = tape.open(_PART, cursor.pos, 0)
            self._pairs(_HEADERS, _HEADER_COUNT, "the number of headers")
            self._content(inflates)
            self._pairs(_FOOTERS, _FOOTER_COUNT, "the number of footers")
            tape.close(part, cursor.pos)
        tape.close(parts, cursor.pos)
        self._mark(closing, "the end of the envelope")
        tape.close(envelope, cursor.pos)
        tape.close(root, cursor.pos)

    def _pairs(self, head: i64, count_head: i64, what: str) -> None:
        """Headers or footers of an envelope's part."""
        cursor = self.cursor
        tape = self.tape
        count = self._counter(count_head, what)
        if count == 0:
            return
        pairs = tape.open(head, cursor.pos, 0)
        while count > 0:
            pair = tape.open(_PAIR, cursor.pos, 0)
            self.values.string(0, "a header's name")
            self.values.read(1)
            tape.close(pair, cursor.pos)
            count -= 1
        tape.close(pairs, cursor.pos)

    def _content(self, inflates: bool) -> None:
        """The bytes of an envelope's part: the message in them where there is one."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        byte = cursor.u8("the content of an envelope")
        action: i64 = d.TABLES[self.dialect][byte]
        if action < d.BINARY_SHORT or action > d.BINARY_CHUNK:
            cursor.pos = start
            raise cursor.error("bad-value", start, f"expected the content of an envelope, not {byte:02x}")
        form = tape.size()
        self.values.binary(_CONTENT_FORM & ~t.KIND_MASK, start, action, byte)
        content = content_of(tape, form, cursor.data)
        tape.set_form(form, 0 if action == d.BINARY_LAST else _CONTENTS[self.dialect])
        if inflates:
            inflated = inflate(content)
            if inflated is not None and self._nested(inflated, start):
                if deflate(inflated) != content:
                    self._hex(_COMPRESSED, form)
                return
        self._hex(_CONTENT_HEX, form)

    def _hex(self, head: i64, form: i64) -> None:
        """The bytes that node `form` spans, as a member in hex."""
        tape = self.tape
        if tape.number(form) >= 0:
            tape.leaf(head, tape.start(form), tape.end(form), tape.number(form))
            return
        whole = tape.open(head, tape.start(form), -1)
        at = form + 1
        while at < tape.next(form):
            tape.leaf(t.CHUNK | t.HIDDEN, tape.start(at), tape.end(at), tape.number(at))
            at = tape.next(at)
        tape.close(whole, tape.end(form))

    def _nested(self, content: bytes, start: i64) -> bool:
        """Read an envelope's content as a message of its own; False where it is none."""
        cursor = self.cursor
        tape = self.tape
        mark = tape.mark()
        index = tape.size()
        buffers = len(tape.buffers)
        tape.buffers.append(Buffer(content, cursor.buffer.absolute(start), None, True))
        inner = Cursor(tape.buffers[buffers], 0, len(content))
        try:
            Messages(self.dialect, inner, tape, True).read(
                t.head(t.STRUCT, _CONTENT_FIELD) | t.EMBEDDED, buffers
            )
            if inner.pos == inner.end:
                self.tape.set_span(index, start, cursor.pos)
                return True
        except DecodeError:
            pass
        tape.rollback(mark)
        return False


def _joined(buffer: Buffer, packets: list[list[tuple[int, int]]]) -> Buffer:
    """The contents of all packets, one behind the other."""
    pieces: list[bytes] = []
    segments: list[tuple[int, int]] = []
    total = 0
    for parts in packets:
        for start, end in parts:
            if end > start:
                segments.append((total, int(buffer.absolute(start))))
                pieces.append(buffer.data[start:end])
                total += end - start
    return Buffer(b"".join(pieces), buffer.base, segments)


def inflate(content: bytes) -> bytes | None:
    """What zlib data expands to; None where it is not whole, or beyond MAX_INFLATED."""
    try:
        inflater = zlib.decompressobj()
        inflated = inflater.decompress(content, MAX_INFLATED)
        if inflater.eof and not inflater.unused_data:
            return inflated
    except zlib.error:
        pass
    return None


def deflate(content: bytes) -> bytes:
    """zlib data as the writers of envelopes make it."""
    return zlib.compress(content)
