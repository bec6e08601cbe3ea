"""Decoding Hessian's messages: calls, replies, faults, messages, envelopes, packets, and plain values.

Sources: the notes on deployed software, section 1.3; the draft text names only the opcodes. Each message
is a scope of its own, with new tables.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import deflation, forms
from wirelens.codecs.hessian import message_forms as m
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.class_notes import is_generic
from wirelens.codecs.hessian.packets import Packets, lengths_lead_to_end
from wirelens.codecs.hessian.tables import Tables
from wirelens.codecs.hessian.texts import content_of
from wirelens.codecs.hessian.value_decoding import TO_END, TO_MARK, Values
from wirelens.codecs.hessian.well_known_classes import known_definition, skip_plain_class
from wirelens.codecs.node import Node
from wirelens.codecs.tape import Buffer, Tape

_TOP: Final = (
    2 * t.WIDTH
)  # index of the first value of a message of plain values: after its root and an array
_CONTROLS: Final = frozenset([code for code in range(32) if code not in b"\t\n\f\r\x1b"])
MOST_DEFINED: Final = 64  # class definitions in a row that are passed over to find the object after them


@mypyc_attr(acyclic=True, free_list_len=1)
class Messages(Packets):
    """Decodes one message of a dialect from a cursor onto a tape."""

    def read(self, root_head: i64 = m.ROOT, number: i64 = 0) -> None:
        """Read the message that starts at the cursor, under a root node of the given head and number.

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
                self.values.read_misplaced()
                raise
            first = error
        cursor.pos = start
        tape.rollback(mark)
        self.restart(1)
        try:
            self._read(root_head, number)
        except DecodeError as error:
            self.values.read_misplaced()
            if error.incomplete or error.offset > first.offset:
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
        if d.may_open(dialect, byte):
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
        """Read consecutive values, up to the end of the input or to a byte that no value starts with."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        root = self.open_root(root_head, start, number)
        items = tape.open(m.VALUES, start, 0)
        self.values.read(TO_END)
        tape.close(items, cursor.pos)
        tape.close(root, cursor.pos)
        if cursor.pos == cursor.end and not self.final:
            raise cursor.short(1, "more values, or the end of the stream")

    def _version(self, noun: str) -> None:
        """Read the two bytes of a version after the opcode."""
        cursor = self.cursor
        at = cursor.skip(2, f"the version of a {noun}")
        if cursor.data[at] > 2 or cursor.data[at + 1] > 1:
            version = f"{cursor.data[at]}.{cursor.data[at + 1]}"
            cursor.pos = at
            raise cursor.error("bad-value", at, f"unknown version {version} of a {noun}")
        self.tape.leaf(m.VERSION, at, at + 2, 0)

    def _mark(self, letter: i64, noun: str) -> None:
        """Pass over the byte that marks the start or the end of a part."""
        cursor = self.cursor
        at = cursor.pos
        byte = cursor.u8(noun)
        if byte != letter:
            cursor.pos = at
            raise cursor.error("bad-value", at, f"expected {noun} ({letter:02x}), not {byte:02x}")

    def _headers(self) -> None:
        """Read the headers of 1.0 and the draft, if there are any."""
        cursor = self.cursor
        tape = self.tape
        if cursor.peek() != 0x48:
            return
        headers = tape.open(m.HEADERS, cursor.pos, 0)
        while cursor.peek() == 0x48:
            pair = tape.open(m.PAIR, cursor.pos, 0)
            cursor.pos += 1
            self.values.text(0, "a header's name")
            self.values.read(1)
            tape.close(pair, cursor.pos)
        tape.close(headers, cursor.pos)

    def _method(self, call: i64, count_head: i64) -> None:
        """Read the name of a method, as a member of `call`."""
        tape = self.tape
        method = tape.size()
        if count_head:
            self.values.string(m.METHOD, "the name of a method")
        else:
            self._mark(0x6D, "the method")
            self.values.text(m.METHOD, "the name of a method")
        if is_generic(tape, method, self.cursor.data):
            tape.unchecked_names = True
        if tape.head(method) >> t.FORM_SHIFT & t.FORM_MASK:
            tape.set_form(method, 0)
            tape.set_form(call, m.METHODS[self.dialect])

    def _call(self, root_head: i64, number: i64) -> None:
        """Read a call of 1.0 or the draft."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        byte = cursor.peek()
        root = self.open_root(root_head, start, number)
        if byte == 0x48:
            tape.set_form(root, m.NO_VERSION)
        else:
            if byte != 0x63:
                tape.set_form(root, m.STARTS[int(byte)])
            cursor.pos += 1
            self._version("call")
        call = tape.open(m.CALL, cursor.pos, 0)
        self._headers()
        self._method(call, 0)
        arguments = tape.open(m.ARGUMENTS, cursor.pos, 0)
        self.values.read(TO_MARK)
        tape.close(arguments, cursor.pos)
        self._mark(0x7A, "the end of the call")
        tape.close(call, cursor.pos)
        tape.close(root, cursor.pos)

    def _reply(self, root_head: i64, number: i64) -> None:
        """Read a reply of 1.0 or the draft."""
        cursor = self.cursor
        tape = self.tape
        root = self.open_root(root_head, cursor.pos, number)
        byte = cursor.u8("a reply")
        if byte != 0x72:
            tape.set_form(root, m.STARTS[int(byte)])
        self._version("reply")
        reply = tape.open(m.REPLY, cursor.pos, 0)
        self._headers()
        if cursor.peek() == 0x66:
            fault = tape.open(t.head(t.MAP, m.FAULT), cursor.pos, -1)
            cursor.pos += 1
            self._fault(fault, 0x7A)
        else:
            self.values.read(1, m.VALUE)
        self._mark(0x7A, "the end of the reply")
        tape.close(reply, cursor.pos)
        tape.close(root, cursor.pos)

    def _fault(self, fault: i64, mark: i64) -> None:
        """Read the pairs of a fault up to their end."""
        cursor = self.cursor
        self.values.read(TO_MARK)
        if self._shown_children(fault) & 1:
            raise cursor.error("bad-value", cursor.pos, "a fault's last key has no value")
        self._mark(mark, "the end of the fault")
        self.tape.close(fault, cursor.pos)

    def _shown_children(self, index: i64) -> i64:
        """The number of children, without hidden ones, of a node that is still open."""
        tape = self.tape
        count: i64 = 0
        at = tape.following(index)
        while at < tape.size():
            if tape.head(at) & t.HIDDEN == 0:
                count += 1
            at = tape.next(at)
        return count

    def _message_or_packets(self, root_head: i64, number: i64) -> None:
        """Read what starts with p or P in the draft: a message if it has a version and reads as one."""
        cursor = self.cursor
        start = cursor.pos
        data = cursor.data
        if cursor.end - start < 3 and not self.final:
            raise cursor.short(3, "a message or a packet")
        if data[start + 1 : start + 3] == b"\2\0":
            error = self._attempt(root_head, number, True)
            if error is None:
                return
            if error.incomplete and not self.final:
                raise error
            if self._attempt(root_head, number, False) is not None:
                self._message(root_head, number)  # for its error
            return
        self.read_packets(root_head, number, "3.2.1")

    def _attempt(self, root_head: i64, number: i64, message: bool) -> DecodeError | None:
        """Try one reading; its error, after which cursor and tape are as before."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        try:
            if message:
                self._message(root_head, number)
            else:
                self.read_packets(root_head, number, "3.2.1")
            return None
        except DecodeError as error:
            cursor.pos = start
            tape.rollback(mark)
            self.restart()
            return error

    def _message(self, root_head: i64, number: i64) -> None:
        """Read a message: p, a version, values, z."""
        cursor = self.cursor
        tape = self.tape
        root = self.open_root(root_head, cursor.pos, number)
        byte = cursor.u8("a message")
        if byte != 0x70:
            tape.set_form(root, m.STARTS[int(byte)])
        self._version("message")
        message = tape.open(m.MESSAGE, cursor.pos, 0)
        items = tape.open(m.VALUES, cursor.pos, 0)
        if self.dialect == d.FINAL:
            self._values_to_z()
        else:
            self.values.read(TO_MARK)
        tape.close(items, cursor.pos)
        self._mark(0x7A, "the end of the message")
        tape.close(message, cursor.pos)
        tape.close(root, cursor.pos)

    def _values_to_z(self) -> None:
        """Read values of final up to a z, which in that dialect also opens a list of two.

        It is the end if nothing or another message follows it.
        """
        cursor = self.cursor
        data = cursor.data
        while True:
            if cursor.peek() == 0x7A:
                after = cursor.pos + 1
                if after >= cursor.end:
                    if self.final:
                        return
                    raise cursor.short(2, "the byte after a z")
                if d.opens_message(d.FINAL, data, after, cursor.end) or data[after : after + 3] == b"p\2\0":
                    return
            self.values.read(1)

    # --- final ------------------------------------------------------------------------------------------

    def _read_final(self, byte: i64, root_head: i64, number: i64) -> bool:
        """Read a message of the final dialect whose first byte may open one; False if it does not."""
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
            root = self.open_root(root_head, start, number)
            cursor.pos += 1
            self._version("message")
            if data[start + 3] == 0x43:
                self._call_final()
            elif data[start + 3] == 0x52:
                self._reply_final()
            else:
                cursor.pos += 1
                self.values.read(1, m.FAULT)
            self.tape.close(root, cursor.pos)
            return True
        if byte == 0x43:
            if self._defines_class():
                return False
            root = self.open_root(root_head, start, number)
            self.tape.set_form(root, m.NO_VERSION)
            self._call_final()
            self.tape.close(root, cursor.pos)
            return True
        if byte == 0x45:
            self._envelope(root_head, number)
            return True
        if byte == 0x50:
            self.read_packets(root_head, number, "3.2.1")
            return True
        # p: a message with its version; else a list, or a packet
        if left < 3 and not self.final and data[start : cursor.end] == b"p\2\0"[:left]:
            raise cursor.short(3, "a message or a list")
        if data[start + 1 : start + 3] != b"\2\0":
            return False
        error = self._attempt(root_head, number, True)
        if error is not None and error.incomplete and not self.final:
            raise error
        return error is None

    def _defines_class(self) -> bool:
        """True if the C at the cursor defines a class for an object, False if it starts a call.

        A row of calls looks like a row of definitions; passing over at most `MOST_DEFINED` keeps it linear.
        """
        cursor = self.cursor
        data = cursor.data
        after = cursor.pos
        count: i64 = 0
        while 0 <= after < cursor.end and data[after] == 0x43:
            if count == MOST_DEFINED:
                return True
            count += 1
            known = known_definition(d.FINAL, data, after, cursor.end)
            if known is not None:
                after += len(known.data)
            else:
                after = skip_plain_class(data, after + 1, cursor.end)
        if 0 <= after < cursor.end:
            opener: i64 = d.TABLES[d.FINAL][data[after]]
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
            if error.incomplete and not self.final:
                raise
            return False

    def _call_final(self) -> None:
        """Read a call of final: C, the method, the number of arguments, the arguments."""
        cursor = self.cursor
        tape = self.tape
        call = tape.open(m.CALL, cursor.pos, 0)
        cursor.pos += 1
        self._method(call, 1)
        count = self._counter(m.COUNT, "the number of arguments")
        arguments = tape.open(m.ARGUMENTS, cursor.pos, 0)
        self.values.read(count)
        tape.close(arguments, cursor.pos)
        tape.close(call, cursor.pos)

    def _counter(self, head: i64, noun: str) -> i64:
        """Read an int that counts what follows, as a hidden member."""
        cursor = self.cursor
        at = cursor.pos
        count = self.values.integer(noun)
        if count < 0:
            raise cursor.error("bad-length", at, f"{noun} is negative: {count}")
        form: i64 = 0
        if not self.values.usual:
            form = forms.int_form_number(cursor.data, at)
        self.tape.leaf(head | form << t.FORM_SHIFT, at, cursor.pos, count)
        return count

    def _reply_final(self) -> None:
        """Read a reply of final: R and a value, or (release 3.2.1) a fault with a start of its own."""
        cursor = self.cursor
        tape = self.tape
        reply = tape.open(m.REPLY, cursor.pos, 0)
        cursor.pos += 1
        at = cursor.pos
        if cursor.data[at : at + 5] == b"H\2\0FH":
            # its map does not get a reference number
            fault = tape.open(t.head(t.MAP, m.FAULT), at, -1)
            cursor.pos = at + 5
            self._fault(fault, 0x5A)
        else:
            self.values.read(1, m.VALUE)
        tape.close(reply, cursor.pos)

    # --- envelopes --------------------------------------------------------------------------------------

    def _envelope(self, root_head: i64, number: i64) -> None:
        """Read an envelope: a method, then parts of headers, content and footers."""
        cursor = self.cursor
        tape = self.tape
        final = self.dialect == d.FINAL
        root = self.open_root(root_head, cursor.pos, number)
        cursor.pos += 1
        if not final:
            self._version("envelope")
        envelope = tape.open(m.ENVELOPE, cursor.pos, 0)
        method = tape.size()
        self._method(envelope, 1 if final else 0)
        inflates = content_of(tape, method, cursor.data) == deflation.METHOD
        parts = tape.open(m.PARTS, cursor.pos, 0)
        closing: i64 = 0x5A if final else 0x7A
        while cursor.peek() != closing:
            part = tape.open(m.PART, cursor.pos, 0)
            self._pairs(m.HEADERS, m.HEADER_COUNT, "the number of headers")
            self._content(inflates)
            self._pairs(m.FOOTERS, m.FOOTER_COUNT, "the number of footers")
            tape.close(part, cursor.pos)
        tape.close(parts, cursor.pos)
        self._mark(closing, "the end of the envelope")
        tape.close(envelope, cursor.pos)
        tape.close(root, cursor.pos)

    def _pairs(self, head: i64, count_head: i64, noun: str) -> None:
        """Read headers or footers of an envelope's part."""
        cursor = self.cursor
        tape = self.tape
        count = self._counter(count_head, noun)
        if count == 0:
            return
        pairs = tape.open(head, cursor.pos, 0)
        while count > 0:
            pair = tape.open(m.PAIR, cursor.pos, 0)
            self.values.string(0, "a header's name")
            self.values.read(1)
            tape.close(pair, cursor.pos)
            count -= 1
        tape.close(pairs, cursor.pos)

    def _content(self, inflates: bool) -> None:
        """Read the bytes of an envelope's part, and the message in them if they have one."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        byte = cursor.u8("the content of an envelope")
        action: i64 = d.TABLES[self.dialect][byte]
        if action < d.BINARY_SHORT or action > d.BINARY_CHUNK:
            cursor.pos = start
            raise cursor.error("bad-value", start, f"expected the content of an envelope, not {byte:02x}")
        form = tape.size()
        self.values.binary(m.CONTENT_FORM & ~t.KIND_MASK, start, action, byte)
        content = content_of(tape, form, cursor.data)
        tape.set_form(form, 0 if action == d.BINARY_LAST else m.CONTENTS[self.dialect])
        if inflates:
            inflated = deflation.inflate(content)
            if inflated is not None and self._nested(inflated, start):
                if deflation.deflate(inflated) != content:
                    self._hex(m.COMPRESSED, form)
                return
        self._hex(m.CONTENT_HEX, form)

    def _hex(self, head: i64, form: i64) -> None:
        """Write the bytes that node `form` spans, as a member in hex."""
        tape = self.tape
        if tape.number(form) >= 0:
            tape.leaf(head, tape.start(form), tape.end(form), tape.number(form))
            return
        whole = tape.open(head, tape.start(form), -1)
        at = tape.following(form)
        while at < tape.next(form):
            tape.leaf(t.CHUNK | t.HIDDEN, tape.start(at), tape.end(at), tape.number(at))
            at = tape.next(at)
        tape.close(whole, tape.end(form))

    def _nested(self, content: bytes, start: i64) -> bool:
        """Read an envelope's content as a message of its own; False if it is not one."""
        cursor = self.cursor
        tape = self.tape
        mark = tape.mark()
        index = tape.size()
        buffers = len(tape.buffers)
        tape.buffers.append(Buffer(content, cursor.buffer.absolute(start), None, True))
        inner = Cursor(tape.buffers[buffers], 0, len(content))
        try:
            Messages(self.dialect, inner, tape, True).read(
                t.head(t.STRUCT, m.CONTENT_FIELD) | t.EMBEDDED, buffers
            )
            if inner.pos == inner.end:
                self.tape.set_span(index, start, cursor.pos)
                return True
        except DecodeError:
            pass
        tape.rollback(mark)
        return False


def decode(dialect: int, cursor: Cursor, tape: Tape, final: bool) -> None:
    """See Codec.decode. Bytes that do not read as values may be packets, or the layout of 2006."""
    start = cursor.pos
    try:
        Messages(dialect, cursor, tape, final).read()
        if start == 0 and dialect == d.FINAL and tape.buffer.base == 0:
            packets = likelier_packets(cursor, tape)
            if packets is not None:
                tape.take(packets)
        return
    except DecodeError as error:
        if error.incomplete and not final:
            raise
        first = error
    reached = cursor.pos
    if start == 0 and tape.buffer.base == 0:
        # only for a whole stream: tried at each damaged place, this would not be linear
        if dialect == d.FINAL:
            trial = Tape(tape.buffer)
            cursor.pos = 0
            if Messages(dialect, cursor, trial, final).try_packets():
                tape.take(trial)
                return
        _refuse_2006(dialect, cursor, 0, final)
    cursor.pos = reached
    raise first


def likelier_packets(cursor: Cursor, plain: Tape) -> Tape | None:
    """The whole input as packets, if they hold fewer unlikely values than `plain`, what was read of it.

    None if that is not so. A row of packets often reads as values too, such as 3,000 empty lists where there
    is one text of 3,000 times `x`.
    """
    if cursor.pos < cursor.end or plain.size() <= _TOP or plain.head(t.WIDTH) & ~t.BROKEN != m.VALUES:
        return None
    first: i64 = _TOP
    while plain.head(first) & t.HIDDEN and plain.next(first) < plain.size():
        first = plain.next(first)
    if plain.next(first) == plain.size() and plain.head(first) & (t.SIMPLE | t.KIND_MASK) != t.STRING16:
        return None  # one value, unless it is a text with characters that could be lengths
    if not lengths_lead_to_end(cursor.data, cursor.end):
        return None
    unlikely = _unlikely_values(plain)
    if unlikely == 0:
        return None
    trial = Tape(plain.buffer)
    if Messages(d.FINAL, Cursor(cursor.buffer, 0, cursor.end), trial, True).try_packets():
        return trial if 2 * _unlikely_values(trial) <= unlikely else None
    return None


def _unlikely_values(tape: Tape) -> i64:
    """How many values are empty, texts with control characters, next to others at the top, or missing."""
    unlikely: i64 = 0
    index: i64 = t.WIDTH
    while index < tape.size():
        head = tape.head(index)
        kind = head & t.KIND_MASK
        if head & ~t.BROKEN == m.VALUES:
            values = len(Node(tape, int(index), tape.buffer))
            unlikely += 2 if values == 0 else values - 1
        elif head & t.HIDDEN == 0:
            size = tape.end(index) - tape.number(index)
            if (kind == t.LIST or kind == t.MAP) and tape.next(index) == index + t.WIDTH:
                unlikely += 1
            elif kind == t.STRING16 and tape.number(index) >= 0 and (size == 0 or head & t.SIMPLE == 0):
                if size == 0 or not _CONTROLS.isdisjoint(Node(tape, int(index), tape.buffer).content):
                    unlikely += 1
        index = tape.following(index)
    return unlikely


def _reads(dialect: int, cursor: Cursor, start: i64, final: bool) -> bool:
    """True if everything from `start` on reads as messages of a dialect."""
    ahead = Cursor(cursor.buffer, start, cursor.end)
    try:
        while ahead.pos < ahead.end:
            Messages(dialect, ahead, Tape(cursor.buffer), True).read()
    except DecodeError as error:
        return error.incomplete and not final
    return True


def _refuse_2006(dialect: int, cursor: Cursor, start: i64, final: bool) -> None:
    """Raise `hessian-2006` if the bytes from `start` on read in that layout, and in none of the dialects."""
    if not _reads(d.LAYOUT_2006, cursor, start, final):
        return
    if not final:
        cursor.pos = start
        raise cursor.short(cursor.end - start + 1, "the rest of a message in the layout of 2006")
    for other in (d.V1, d.DRAFT, d.FINAL):
        if other != dialect and _reads(other, cursor, start, final):
            return
    raise cursor.error(
        "hessian-2006",
        start,
        "Hessian in the layout of 2006 (Resin 3.0.22 to 3.1.1), which is recognised but not supported",
    )
