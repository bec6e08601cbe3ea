"""Weighing what a dialect's decoder wrote: bits for and against the dialect, part by part.

That all bytes read proves little: four bytes in ten open a value of the 2.0 dialects, so runs of zeros and
of small numbers read as empty strings and ints. What counts: heads with a version, class definitions and
types with Java names, lengths after which another kind of byte starts, ends in the right places, declared
counts that are right, references and class numbers that have a target.
"""

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.background import MEETS
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.message_forms import VALUES
from wirelens.codecs.node import shortest_utf8
from wirelens.codecs.tape import Tape

LEAST_ROW: Final = 32  # values of a row of plain numbers that is looked at
LARGEST_NUMBER: Final = 9  # bytes of a number; fewer are the rest of one that is cut
MOST_WORDS: Final = 8192  # of nodes of one message, that are weighed
MOST_NUMBERS: Final = 8  # opcodes of ints and longs that count; the same number again if all bytes are used
LONG_TEXT: Final = 16  # bytes of a text after whose length of two bytes or more a value has to start
_NONE_SEEN: Final[vec[i64]] = vec[i64]([0] * 256)
RUN: Final = 8.0  # bits at most for text that goes on to the end of the input

# Bits, each the lower bound of what the part costs under the background, less its cost for a writer.
CALL_HEAD: Final = 20.0  # an opcode, a version, an opcode: three changes between text and binary
REPLY_HEAD: Final = 13.0
LETTER: Final = 3.0  # a letter in its role, among other kinds of bytes
LONE_LETTER: Final = 5.0  # a letter before a byte that is not one
CLASS_PARTS: Final = 8.0  # the opcode of a definition, and the int that counts its fields
NAME: Final = 4.0  # a name whose length reaches to the end of its characters
ROOTED: Final = 8.0  # a name that starts like the names of Java classes
COUNT: Final = 5.0  # a declared length equal to the number of items
RESOLVED: Final = 5.0
DANGLING: Final = -12.0
BROKEN: Final = -12.0
CONTROL: Final = -3.0
UNUSUAL: Final = -3.0  # a longer form than a writer of the dialect uses

_ROOTS: Final = (
    b"java.",
    b"javax.",
    b"com.",
    b"org.",
    b"net.",
    b"io.",
    b"cn.",
    b"[java.",
    b"[com.",
    b"[org.",
    b"[int",
    b"[long",
    b"[string",
    b"[byte",
    b"[double",
    b"[float",
    b"[object",
    b"[boolean",
    b"[short",
    b"[date",
)


class Weighing:
    """Adds up the bits for one dialect of what its decoder wrote."""

    def __init__(self, dialect: i64, data: bytes) -> None:
        self.dialect: Final[i64] = dialect
        self.data = data  # the content that the current nodes point into
        self.bits = 0.0
        # how often each opcode occurred; detection takes 4 % longer with a list
        self.seen: vec[i64] = _NONE_SEEN[:]
        self.before: i64 = -99  # the opcode of the previous scalar
        self.step: i64 = 0  # from the opcode before that one
        self.last_number: i64 = -1
        self.at_top = False
        self.top_texts: i64 = 0
        self.row = 0.0  # bits of a row of numbers that the bytes start with
        self.best = 0.0  # the most bits at the end of a message or of a value at the top
        self.objects: i64 = 0
        self.numbers: i64 = 0  # opcodes of ints and longs that counted
        self.classes: i64 = 0
        self.names: i64 = 0
        self.texts: i64 = 0
        self.ends: i64 = 0
        self.counts: i64 = 0
        self.resolved: i64 = 0
        self.against: list[str] = []
        self.heads: list[str] = []
        self.long_texts = 1.0  # how many, and one
        self.longest: i64 = 0  # items of the longest list with a count that ends where the bytes end
        self.last_text: i64 = -1  # the end of the last text or bytes, and the bits of its length
        self.last_bits = 0.0

    def occurrences(self, opcode: i64) -> float:
        """How often an opcode has occurred, this time included."""
        count = self.seen[opcode] + 1
        self.seen[opcode] = count
        return float(count)

    def add_objection(self, reason: str) -> None:
        """Keep a reason against the dialect, once."""
        if reason not in self.against:
            self.against.append(reason)

    def message(self, tape: Tape, start: i64, end: i64) -> None:
        """Weigh what was written of the message at [start, end)."""
        data = self.data
        byte: i64 = data[start]
        count: i64 = tape.size()
        if count <= t.WIDTH:
            return
        words = tape.words
        index = tape.following(0)
        if words[t.HEAD] & t.KIND_MASK == t.STRUCT:
            self.head(data, start, end, byte, tape)
        limit = min(count, MOST_WORDS)
        after: i64 = 0
        first: i64 = 2 * t.WIDTH  # the next value at the top
        values = tape.head(index) & ~t.BROKEN == VALUES
        while index < limit:
            self.at_top = values and index >= first
            if self.at_top:
                if first > 2 * t.WIDTH:
                    self.best = max(self.best, self.bits)
                first = tape.next(index)
            if after and index >= after:
                self.data = data
                after = 0
            if words[index + t.HEAD] & t.EMBEDDED:
                self.data = tape.buffers[tape.number(index)].data
                after = tape.next(index)
                self.last_text = -1
            index = self.node(tape, words, index)
        self.data = data
        if not (values and start == 0 and count >= 2 * t.WIDTH + LEAST_ROW * t.SHORT_WIDTH):
            return
        last = tape.last_from(2 * t.WIDTH)
        if tape.nodes(2 * t.WIDTH, count) >= LEAST_ROW and end - tape.end(last) < LARGEST_NUMBER:
            from wirelens.codecs.hessian.rows import row_bits  # seldom needed

            self.row = row_bits(self.dialect, tape)

    def packets(self, tape: Tape) -> None:
        """Weigh a framing of packets: bytes where lengths predict them, less the cost of empty packets."""
        first: i64 = self.data[0]
        opener = 2.0
        if first == 0x80:
            opener = 7.0
        elif first & 0x7F == 5:
            opener = 6.0
        self.bits -= 4.0  # rare, compared with plain values
        count: i64 = 0
        at: i64 = 2 * t.WIDTH
        while at < tape.next(t.WIDTH):
            count += 1
            self.bits += opener / float(count)
            if opener == 2.0 and tape.nodes(at, tape.next(at)) <= 3:
                self.bits += CONTROL
            at = max(tape.next(at), tape.following(at))

    def head(self, data: bytes, start: i64, end: i64, byte: i64, tape: Tape) -> None:
        """Weigh the head of a message other than plain values."""
        version = end - start > 3 and data[start + 1] <= 2 and data[start + 2] <= 1
        if version and byte == 0x48 and self.dialect != d.FINAL:
            return  # a header's name of 512 characters would start like this; final's head does
        kind = tape.kind(tape.following(0))
        if kind == t.ARRAY:
            return  # values, or packets
        final = self.dialect == d.FINAL
        if not version:
            if final and byte == 0x43:
                self.bits += LETTER + 3.0
                self.heads.append("a call")
            elif byte == 0x45:
                self.bits += LETTER
                self.heads.append("an envelope")
            elif byte == 0x48:
                self.bits += 2.0 * LETTER  # H, and m after the headers
                self.heads.append("the headers of a call")
                if data[end - 1] == 0x7A:
                    self.bits += LETTER
            return
        if byte == 0x48 and final:
            self.bits += CALL_HEAD
            self.heads.append("H 02 00 and " + chr(data[start + 3]))
        elif byte == 0x63 or byte == 0x43 or (byte == 0x45 and data[start + 3] == 0x6D):
            self.bits += CALL_HEAD
            self.heads.append(f"{chr(byte)} {data[start + 1]:02x} {data[start + 2]:02x}")
        else:
            self.bits += REPLY_HEAD
            self.heads.append(f"{chr(byte)} {data[start + 1]:02x} {data[start + 2]:02x}")
        if not final and (data[start + 1] == 2) != (self.dialect == d.DRAFT):
            # clients that want a reply in final 2.0 send c 02 00 with values of 1.0
            if byte != 0x63 or self.dialect == d.DRAFT:
                self.bits += UNUSUAL
        if not final and data[end - 1] == 0x7A:
            self.bits += LETTER

    def node(self, tape: Tape, words: "vec[i64]", index: i64) -> i64:
        """Weigh a node, or a hidden part with all its children; the index of the next node."""
        head = words[index + t.HEAD]
        kind = head & t.KIND_MASK
        start = tape.start(index)
        number = tape.number(index)
        following = tape.following(index)
        data = self.data
        if kind == t.CLASS:
            return self.define(tape, index)
        if kind == t.TYPE:
            return self.type(tape, index)
        if kind < t.NULL:
            return following
        if kind == t.CHUNK or kind == t.LENGTH or kind == t.MARK:
            return following
        if tape.end(index) <= start or start >= len(data):
            return following
        opcode: i64 = data[start]
        odd = head >> t.FORM_SHIFT & t.FORM_MASK != 0
        if kind == t.STRING16:
            self.text(tape, index, head, start, tape.end(index))
            return tape.next(index)
        if kind == t.BYTES:
            self.binary(tape, index, start, tape.end(index))
            return tape.next(index)
        k = self.occurrences(opcode)
        if kind < t.DATE:
            # numbers in a row (1 2 3, or equal ones) are no evidence that each byte opens a value
            step = opcode - self.before
            counting = -4 <= step <= 4 or step == self.step
            if step == 0:
                counting = number == self.last_number  # equal numbers
            self.last_number = number
            self.step = step
            self.before = opcode
            if counting:
                if odd:
                    self.unusual()
                return following
        if kind == t.INT or kind == t.LONG:
            if 0x40 <= opcode < 0x80:
                self.bits += self.letter(start + 1) / k
            elif k < 2.0 and opcode < 0xF0:
                self.numbers += 1
                if self.numbers <= MOST_NUMBERS:
                    self.bits += 1.0
            if odd:
                self.unusual()
        elif kind == t.NULL or kind == t.BOOL:
            self.bits += 1.5 / k
        elif kind == t.DOUBLE:
            self.double(number, opcode, start, k)
            if odd:
                self.unusual()
        elif kind == t.DATE:
            self.date(number, k)
        elif kind == t.REF:
            if number >> 32 > 0:
                self.resolved += 1
                self.bits += RESOLVED / k
            else:
                self.bits += DANGLING
                self.add_objection("a reference without a target")
        elif kind == t.OBJECT:
            self.objects += 1
            self.resolved += 1
            self.bits += RESOLVED / k
        elif kind == t.LIST or kind == t.MAP:
            self.container(tape, words, index, kind, opcode, k)
        elif kind == t.REMOTE:
            if following >= tape.size() or tape.kind(following) != t.TYPE:
                self.bits += BROKEN
                self.add_objection("a remote object without a type")
        elif kind == t.XML:
            self.bits += 2.0 * CONTROL
            return tape.next(index)
        return following

    def letter(self, after: i64) -> float:
        """Bits of an opcode that is a letter: more before a byte that is not a letter."""
        data = self.data
        if after < len(data) and 0x20 <= data[after] < 0x7F:
            return LETTER
        return LONE_LETTER

    def unusual(self) -> None:
        """Weigh a number or text in a longer form than needed."""
        if self.dialect != d.V1:
            self.bits += UNUSUAL
            self.add_objection("longer forms than a writer of the dialect uses")

    def double(self, bits: i64, opcode: i64, start: i64, k: float) -> None:
        """Weigh a double; most of those sent in full are neither huge nor tiny."""
        self.bits += self.letter(start + 1) / k
        if opcode == 0x44 or opcode == 0x6B:
            exponent = bits >> 52 & 0x7FF
            if 1023 - 150 <= exponent <= 1023 + 130:
                self.bits += LETTER / k
            elif bits & 0xFFFFFFFFFF:
                self.bits -= LETTER

    def date(self, milliseconds: i64, k: float) -> None:
        """Weigh a date: those from 1970 to 2100 are likely."""
        if 0 <= milliseconds < 4_102_444_800_000:
            self.bits += 6.0 / k
        else:
            self.bits += 2.0 * CONTROL

    def container(self, tape: Tape, words: "vec[i64]", index: i64, kind: i64, opcode: i64, k: float) -> None:
        """Weigh a list or map: its opcode, its end, its count."""
        end = tape.end(index)
        form = words[index + t.HEAD] >> t.FORM_SHIFT & t.FORM_MASK
        if end == len(self.data) and kind == t.LIST and (opcode == 0x58 or opcode == 0x56):
            part = index
            for _ in range(2):
                part = tape.following(part)
                if part >= tape.size():
                    break
                if tape.kind(part) == t.LENGTH:
                    self.longest = max(self.longest, tape.number(part))
        last: i64 = self.data[end - 1] if end <= len(self.data) else 0
        gained = 2.0 if end < len(self.data) else 1.0
        if (
            self.dialect == d.FINAL and 0x70 <= opcode < 0x80
        ):  # short lists: numbers of bytes alike open each of these often
            k = max(k, self.occurrences(0x01 if opcode < 0x78 else 0x02))  # places that no opcode takes
        closed = last == 0x5A if self.dialect == d.FINAL else last == 0x7A
        letters = kind == t.MAP or opcode == 0x55 or opcode == 0x57 or self.dialect != d.FINAL
        if closed and letters and opcode != 0x76:
            gained += LETTER
            self.ends += 1
            if kind == t.LIST and form == 0 and self.dialect != d.FINAL:
                gained += COUNT
                self.counts += 1
        self.bits += gained / k

    # --- texts ------------------------------------------------------------------------------------------

    def text(self, tape: Tape, index: i64, head: i64, start: i64, end: i64) -> None:
        """Weigh a string: does its length reach to where another kind of byte starts?"""
        data = self.data
        content = tape.number(index)
        if content < 0:
            content = start + 3
            self.bits += LETTER
        size = end - content
        if size <= 0:
            self.bits += CONTROL
            return
        self.texts += 1
        if self.at_top:
            self.top_texts += 1
        if self.heads and head >> t.FORM_SHIFT & t.FORM_MASK:
            self.unusual()
        name = head >> t.FIELD_SHIFT != 0
        gained = self.boundary(content, end) if head & t.SIMPLE else self.mixed(content, end)
        if name and identifier(data, content, end, False):
            gained += NAME
            self.names += 1
        if end >= len(data) and size >= 8:
            gained += 2.0  # text up to the end of the input
        before = content - start
        length_bits = 4.0
        if before == 2:
            length_bits = 7.0
        elif before >= 3:
            length_bits = 9.0
            gained += LETTER / self.occurrences(data[start])
        # texts with lengths before them are common: many are worth no more than a few
        spread = 1.0 + float(self.texts) / 8.0
        if self.at_top and self.top_texts > 1:
            gained = min(gained, 0.5)
        self.bits += gained / (spread * spread) if gained > 0.0 else gained
        if before >= 2 and size >= LONG_TEXT and end < len(data) and gained > 0.0 and not self.at_top:
            self.bits += MEETS / self.long_texts
            self.long_texts += 1.0
        self.last_text = end
        self.last_bits = length_bits if size > 3 else 1.0
        if gained > 0.0:
            self.last_bits += min(RUN, 0.6 * float(size))

    def boundary(self, content: i64, end: i64) -> float:
        """Bits of a length after which printable characters seem to end."""
        data = self.data
        size = end - content
        if size < 3:
            return 0.5
        if end >= len(data):
            return 1.0
        after: i64 = data[end]
        if after < 0x20 or after >= 0x7F:
            return 3.0
        return 0.5

    def mixed(self, content: i64, end: i64) -> float:
        """Bits of a text that has more than printable ASCII."""
        data = self.data
        controls: i64 = 0
        wide: i64 = 0
        at = content
        limit = min(end, content + 1024)
        while at < limit:
            byte: i64 = data[at]
            if byte < 0x20:
                if byte != 0x0A and byte != 0x0D and byte != 0x09:
                    controls += 1
                at += 1
            elif byte < 0x80:
                at += 1
            elif byte < 0xE0:
                if at + 1 >= end or data[at + 1] & 0xC0 != 0x80 or byte < 0xC0:
                    self.add_objection("text that is not well-formed")
                    return BROKEN
                if byte >= 0xC2:
                    wide += 1
                at += 2
            elif byte < 0xF0:
                if at + 2 >= end or data[at + 1] & 0xC0 != 0x80 or data[at + 2] & 0xC0 != 0x80:
                    self.add_objection("text that is not well-formed")
                    return BROKEN
                if byte != 0xE0 or data[at + 1] >= 0xA0:
                    wide += 1
                at += 3
            else:
                if at + 3 >= end or data[at + 1] & 0xC0 != 0x80 or data[at + 3] & 0xC0 != 0x80:
                    self.add_objection("text that is not well-formed")
                    return BROKEN
                wide += 1
                at += 4
        if controls:
            self.add_objection("control characters in a text")
            return max(CONTROL * float(controls), 3.0 * BROKEN) + min(4.0 * float(wide), 16.0)
        return min(1.0 + 2.0 * float(wide), 8.0)

    def class_name(self, tape: Tape, index: i64) -> None:
        """Weigh the name of a class or type, a text node."""
        content = tape.number(index)
        end = tape.end(index)
        name = b"" if content < 0 else self.data[content:end]
        if not name.isascii():
            name = shortest_utf8(name)
        if not identifier(name, 0, len(name), True):
            self.bits += BROKEN
            self.add_objection("a class whose name is not a Java name")
            return
        gained = NAME
        if name.startswith(_ROOTS):
            gained += ROOTED
        elif b"." in name:
            gained += NAME
        self.names += 1
        self.bits += gained / (1.0 + float(self.names) / 16.0)

    def type(self, tape: Tape, index: i64) -> i64:
        """Weigh a type, as text or as a number; the index after it."""
        after = tape.next(index)
        if tape.number(index) == index:
            text = tape.following(index)
            if self.dialect != d.FINAL:
                self.bits += LETTER / self.occurrences(0x74)  # t
            if text < tape.size() and tape.number(text) < tape.end(text):
                self.class_name(tape, text)
                self.bits += 2.0
        elif tape.number(index) >= 0:
            self.resolved += 1
            self.bits += RESOLVED / self.occurrences(0)
        elif after < tape.size() or tape.end(index) < len(self.data):  # otherwise the type may be cut
            self.bits += DANGLING
            self.add_objection("a type number that is not defined")
        return max(after, tape.following(index))

    def define(self, tape: Tape, index: i64) -> i64:
        """Weigh a class definition; the index after it."""
        after = max(tape.next(index), tape.following(index))
        self.classes += 1
        at = tape.following(index)
        first = True
        while at < after and at < index + MOST_WORDS:
            if tape.kind(at) == t.STRING16:
                if first:
                    self.class_name(tape, at)
                    first = False
                    if tape.next(at) < after:
                        self.bits += CLASS_PARTS / float(self.classes)
                elif tape.number(at) < 0 or not identifier(self.data, tape.number(at), tape.end(at), False):
                    self.bits += CONTROL
                    self.add_objection("a field whose name is not a Java name")
                else:
                    self.names += 1
                    self.bits += NAME / (1.0 + float(self.names) / 16.0)
            at = max(tape.next(at), tape.following(at))
        return after

    def binary(self, tape: Tape, index: i64, start: i64, end: i64) -> None:
        """Weigh bytes: their length, and the opcodes between chunks."""
        k = self.occurrences(0x20)
        content = tape.number(index)
        size = end - content
        head = content - start
        if content < 0:
            chunks = tape.nodes(tape.following(index), tape.next(index))
            self.bits += LETTER + 8.0 * float(min(chunks - 1, 3))
            size = end - start
            head = 3
        self.bits += 2.0 / k
        self.last_text = end
        self.last_bits = 1.0
        if size > 3:
            self.last_bits = 4.0 if head == 1 else 10.0 if head == 2 else 11.0


def identifier(data: bytes, at: i64, end: i64, dotted: bool) -> bool:
    """True where data[at:end] is a Java identifier; with `dotted` for a class name, arrays included."""
    if dotted:
        while at < end and data[at] == 0x5B:
            at += 1
    if at >= end or end - at > 256:
        return False
    if 0x30 <= data[at] <= 0x39:
        return False
    while at < end:
        byte: i64 = data[at]
        letter = 0x61 <= byte | 0x20 <= 0x7A or 0x30 <= byte <= 0x39 or byte == 0x5F or byte == 0x24
        if not letter and byte < 0x80:
            if not dotted or (byte != 0x2E and byte != 0x3B):
                return False
        at += 1
    return True
