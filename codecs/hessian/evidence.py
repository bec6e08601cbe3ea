"""How strongly bytes speak for a dialect of Hessian.

The start of the stream is read by the dialect's own decoder, and what it wrote is weighed part by part
(see detection.py for the scale). That all of it reads says little: four bytes in ten open a value of the
2.0 dialects, so runs of zeros and of small numbers read as empty strings and ints. What weighs: heads
with a version, class definitions and types with Java names, lengths behind which another kind of byte
starts, ends in their places, counts that come out, references and class numbers that resolve.
"""

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.background import OTHER, PROVED, proved
from wirelens.codecs.codec import NO_EVIDENCE, Evidence
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.decoding import VALUES, Messages
from wirelens.codecs.hessian.value_decoding import TO_END, Tables, Values
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import count

FIRST_LOOK: Final = 1 << 12  # bytes that are read first
SECOND_LOOK: Final = 1 << 17  # bytes that are read where the first look ends inside a message
FEW_NODES: Final = 512  # for that
SAME_LOOK: Final = 1 << 14  # bytes in which two dialects are compared
PROMISING: Final = 14.0  # or bits for that, where it may read to the end and settles what is open
MOST_NODES: Final = 4096  # of one message, that are weighed
MOST_MESSAGES: Final = 8
MOST_NUMBERS: Final = 8  # opcodes of ints and longs that count; as many again where the bytes are whole
RUN: Final = 8.0  # bits at most for text that goes on to the end of the input

# Bits, each the lower bound of what the part costs under the background less what it costs a writer.
CALL_HEAD: Final = 20.0  # an opcode, a version, an opcode: three changes between text and binary
REPLY_HEAD: Final = 13.0
LETTER: Final = 3.0  # a letter in its role, among other kinds of bytes
LONE_LETTER: Final = 5.0  # a letter before a byte that is none: among such it is a byte like any other
CLASS_PARTS: Final = 8.0  # the opcode of a definition, and the int that counts its fields
NAME: Final = 4.0  # a name whose length reaches to where its characters end
ROOTED: Final = 8.0  # a name that starts as names of Java classes do
COUNT: Final = 5.0  # a declared length that the items have
RESOLVED: Final = 5.0
DANGLING: Final = -12.0
BROKEN: Final = -12.0
CONTROL: Final = -3.0
UNUSUAL: Final = -3.0  # a longer form than a writer of the dialect takes
SEVERAL: Final = -3.0  # several values at the top: a stream mostly has one
ANOTHER: Final = -0.2  # each of these
USELESS: Final = -20.0  # class definitions without any object
ERROR: Final = -8.0
CUT: Final = -3.0
TEXT_SHARE: Final = 8.0  # bytes of pure text that cost a bit
JUNK: Final = -6.0  # what follows a message or value is none

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


class _Weighing:
    """Adds up the bits of what one dialect's decoder wrote."""

    def __init__(self, dialect: i64, data: bytes) -> None:
        self.dialect: Final[i64] = dialect
        self.data = data  # that the nodes at hand point into
        self.bits = 0.0
        self.seen: list[int] = [0] * 256  # how often each opcode was met
        self.before: i64 = -99  # the opcode of the scalar before, and how far it was from its own
        self.step: i64 = 0
        self.last_number: i64 = -1
        self.at_top = False
        self.top_texts: i64 = 0
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
        self.longest: i64 = 0  # items of the longest list with a count that ends where the bytes end
        self.last_text: i64 = -1  # the end of the last text or bytes, and the bits of its length
        self.last_bits = 0.0

    def again(self, opcode: i64) -> float:
        """How often an opcode has been met, this time included."""
        count = self.seen[opcode] + 1
        self.seen[opcode] = count
        return float(count)

    def say_against(self, what: str) -> None:
        """Keep what speaks against the dialect, once."""
        if what not in self.against:
            self.against.append(what)

    def message(self, tape: Tape, start: i64, end: i64) -> None:
        """Weigh what was written of one message at [start, end)."""
        data = self.data
        byte: i64 = data[start]
        count: i64 = tape.size()
        if count < 2:
            return
        words = tape.words
        index: i64 = 1
        if words[t.HEAD] & t.KIND_MASK == t.STRUCT:
            self.head(data, start, end, byte, tape)
        limit = min(count, MOST_NODES)
        behind: i64 = 0
        first: i64 = 2  # the next value at the top
        values = words[t.WIDTH + t.HEAD] == VALUES
        while index < limit:
            self.at_top = values and index >= first
            if self.at_top:
                if first > 2:
                    self.best = max(self.best, self.bits)
                first = words[index * t.WIDTH + t.NEXT]
            if behind and index >= behind:
                self.data = data
                behind = 0
            at = index * t.WIDTH
            if words[at + t.HEAD] & t.EMBEDDED:
                self.data = tape.buffers[words[at + t.NUMBER]].data
                behind = words[at + t.NEXT]
                self.last_text = -1
            index = self.node(tape, words, index)
        self.data = data

    def packets(self, tape: Tape) -> None:
        """A framing of packets: bytes at places that lengths foretell, less what empty ones cost."""
        first: i64 = self.data[0]
        opener = 2.0
        if first == 0x80:
            opener = 7.0
        elif first & 0x7F == 5:
            opener = 6.0
        self.bits -= 4.0  # rare, beside plain values
        count: i64 = 0
        at: i64 = 2
        while at < tape.next(1):
            count += 1
            self.bits += opener / float(count)
            if tape.next(at) <= at + 3 and opener == 2.0:
                self.bits += CONTROL
            at = max(tape.next(at), at + 1)

    def head(self, data: bytes, start: i64, end: i64, byte: i64, tape: Tape) -> None:
        """What opens a message other than plain values."""
        version = end - start > 3 and data[start + 1] <= 2 and data[start + 2] <= 1
        if version and byte == 0x48 and self.dialect != d.FINAL:
            return  # a header's name of 512 characters would start so; final's head does
        kind = tape.kind(1)
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
                self.bits += 2.0 * LETTER  # H, and m behind the headers
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
        """Weigh a node, or a hidden part with all that is in it; the index of what follows."""
        at = index * t.WIDTH
        head = words[at + t.HEAD]
        kind = head & t.KIND_MASK
        start = words[at + t.START]
        data = self.data
        if kind == t.CLASS:
            return self.define(tape, index)
        if kind == t.TYPE:
            return self.type(tape, index)
        if kind < t.NULL:
            return index + 1
        if kind == t.CHUNK or kind == t.LENGTH or kind == t.MARK:
            return index + 1
        if words[at + t.END] <= start or start >= len(data):
            return index + 1
        opcode: i64 = data[start]
        odd = head >> t.FORM_SHIFT & t.FORM_MASK != 0
        if kind == t.STRING16:
            self.text(tape, index, head, start, words[at + t.END])
            return words[at + t.NEXT]
        if kind == t.BYTES:
            self.binary(tape, index, start, words[at + t.END])
            return words[at + t.NEXT]
        k = self.again(opcode)
        if kind < t.DATE:
            # what goes on counting is cheap: it is no evidence that each of it opens something
            step = opcode - self.before
            counting = -4 <= step <= 4 or step == self.step
            if step == 0:
                counting = words[at + t.NUMBER] == self.last_number  # the same once more
            self.last_number = words[at + t.NUMBER]
            self.step = step
            self.before = opcode
            if counting:
                if odd:
                    self.unusual()
                return index + 1
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
            self.double(words[at + t.NUMBER], opcode, start, k)
            if odd:
                self.unusual()
        elif kind == t.DATE:
            self.date(words[at + t.NUMBER], k)
        elif kind == t.REF:
            if words[at + t.NUMBER] >> 32 > 0:
                self.resolved += 1
                self.bits += RESOLVED / k
            else:
                self.bits += DANGLING
                self.say_against("a reference to nothing")
        elif kind == t.OBJECT:
            self.objects += 1
            self.resolved += 1
            self.bits += RESOLVED / k
        elif kind == t.LIST or kind == t.MAP:
            self.container(tape, words, index, kind, opcode, k)
        elif kind == t.REMOTE:
            if index + 1 >= tape.size() or tape.kind(index + 1) != t.TYPE:
                self.bits += BROKEN
                self.say_against("a remote object without a type")
        elif kind == t.XML:
            self.bits += 2.0 * CONTROL
            return words[at + t.NEXT]
        return index + 1

    def letter(self, behind: i64) -> float:
        """Bits of an opcode that is a letter: more before a byte that is none."""
        data = self.data
        if behind < len(data) and 0x20 <= data[behind] < 0x7F:
            return LETTER
        return LONE_LETTER

    def unusual(self) -> None:
        """A number or text in a longer form than needed."""
        if self.dialect != d.V1:
            self.bits += UNUSUAL
            self.say_against("longer forms than a writer of the dialect takes")

    def double(self, bits: i64, opcode: i64, start: i64, k: float) -> None:
        """A double; of those that take their bytes as they are, most are neither huge nor tiny."""
        self.bits += self.letter(start + 1) / k
        if opcode == 0x44 or opcode == 0x6B:
            exponent = bits >> 52 & 0x7FF
            if 1023 - 150 <= exponent <= 1023 + 130:
                self.bits += LETTER / k
            elif bits & 0xFFFFFFFFFF:
                self.bits -= LETTER

    def date(self, milliseconds: i64, k: float) -> None:
        """A date from 1970 to 2100 is likely."""
        if 0 <= milliseconds < 4_102_444_800_000:
            self.bits += 6.0 / k
        else:
            self.bits += 2.0 * CONTROL

    def container(self, tape: Tape, words: "vec[i64]", index: i64, kind: i64, opcode: i64, k: float) -> None:
        """A list or map: its opcode, its end, its count."""
        at = index * t.WIDTH
        end = words[at + t.END]
        form = words[at + t.HEAD] >> t.FORM_SHIFT & t.FORM_MASK
        if end == len(self.data) and kind == t.LIST and (opcode == 0x58 or opcode == 0x56):
            part = index + 1
            while part < index + 3 and part < tape.size():
                if tape.kind(part) == t.LENGTH:
                    self.longest = max(self.longest, tape.number(part))
                part += 1
        last: i64 = self.data[end - 1] if end <= len(self.data) else 0
        gained = 2.0 if end < len(self.data) else 1.0
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
        """A string: does its length reach to where another kind of byte starts?"""
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
        if name and self.identifier(content, end, False):
            gained += NAME
            self.names += 1
        if end >= len(data) and size >= 8:
            gained += 2.0  # text to the end of what is there
        before = content - start
        length_bits = 4.0
        if before == 2:
            length_bits = 7.0
        elif before >= 3:
            length_bits = 9.0
            gained += LETTER / self.again(data[start])
        # a row of texts with lengths before them is common: many are worth no more than a few
        spread = 1.0 + float(self.texts) / 8.0
        if self.at_top and self.top_texts > 1:
            gained = min(gained, 0.5)
        self.bits += gained / (spread * spread) if gained > 0.0 else gained
        self.last_text = end
        self.last_bits = length_bits if size > 3 else 1.0
        if gained > 0.0:
            self.last_bits += min(RUN, 0.6 * float(size))

    def boundary(self, content: i64, end: i64) -> float:
        """Bits of a length behind which the text of printable characters seems to end."""
        data = self.data
        size = end - content
        if size < 3:
            return 0.5
        if end >= len(data):
            return 1.0
        behind: i64 = data[end]
        if behind < 0x20 or behind >= 0x7F:
            return 3.0
        return 0.5

    def mixed(self, content: i64, end: i64) -> float:
        """Bits of a text with other than printable characters of one byte."""
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
                if at + 1 >= end or data[at + 1] & 0xC0 != 0x80 or byte < 0xC2:
                    self.say_against("text that is not well-formed")
                    return BROKEN
                wide += 1
                at += 2
            elif byte < 0xF0:
                if at + 2 >= end or data[at + 1] & 0xC0 != 0x80 or data[at + 2] & 0xC0 != 0x80:
                    self.say_against("text that is not well-formed")
                    return BROKEN
                wide += 1
                at += 3
            else:
                if at + 3 >= end or data[at + 1] & 0xC0 != 0x80 or data[at + 3] & 0xC0 != 0x80:
                    self.say_against("text that is not well-formed")
                    return BROKEN
                wide += 1
                at += 4
        if controls:
            self.say_against("control characters in a text")
            return max(CONTROL * float(controls), 3.0 * BROKEN) + min(4.0 * float(wide), 16.0)
        return min(1.0 + 2.0 * float(wide), 8.0)

    def identifier(self, content: i64, end: i64, dotted: bool) -> bool:
        """True for a Java name; with `dotted` of a class, arrays included."""
        data = self.data
        at = content
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

    def class_name(self, tape: Tape, index: i64) -> None:
        """The name of a class or type, a text node."""
        content = tape.number(index)
        end = tape.end(index)
        if content < 0 or not self.identifier(content, end, True):
            self.bits += BROKEN
            self.say_against("a class with a name that is none")
            return
        data = self.data
        gained = NAME
        for root in _ROOTS:
            if data[content : content + len(root)] == root:
                gained += ROOTED
                break
        else:
            if b"." in data[content:end]:
                gained += NAME
        self.names += 1
        self.bits += gained / (1.0 + float(self.names) / 16.0)

    def type(self, tape: Tape, index: i64) -> i64:
        """A type, as text or as a number; the index behind it."""
        behind = tape.next(index)
        if tape.number(index) == index:
            text = index + 1
            if self.dialect != d.FINAL:
                self.bits += LETTER / self.again(0x74)  # t
            if text < tape.size() and tape.number(text) < tape.end(text):
                self.class_name(tape, text)
                self.bits += 2.0
        elif tape.number(index) >= 0:
            self.resolved += 1
            self.bits += RESOLVED / self.again(0)
        elif behind < tape.size() or tape.end(index) < len(self.data):  # else it is cut
            self.bits += DANGLING
            self.say_against("a type number that is not defined")
        return max(behind, index + 1)

    def define(self, tape: Tape, index: i64) -> i64:
        """A class definition; the index behind it."""
        behind = max(tape.next(index), index + 1)
        self.classes += 1
        at = index + 1
        first = True
        while at < behind and at < index + MOST_NODES:
            if tape.kind(at) == t.STRING16:
                if first:
                    self.class_name(tape, at)
                    first = False
                    if tape.next(at) < behind:
                        self.bits += CLASS_PARTS / float(self.classes)
                elif tape.number(at) < 0 or not self.identifier(tape.number(at), tape.end(at), False):
                    self.bits += CONTROL
                    self.say_against("a field with a name that is none")
                else:
                    self.names += 1
                    self.bits += NAME / (1.0 + float(self.names) / 16.0)
            at = max(tape.next(at), at + 1)
        return behind

    def binary(self, tape: Tape, index: i64, start: i64, end: i64) -> None:
        """Bytes: their length, and where there are several chunks the opcodes between these."""
        k = self.again(0x20)
        content = tape.number(index)
        size = end - content
        head = content - start
        if content < 0:
            chunks: i64 = 0
            at = index + 1
            while at < tape.next(index):
                chunks += 1
                at += 1
            self.bits += LETTER + 8.0 * float(min(chunks - 1, 3))
            size = end - start
            head = 3
        self.bits += 2.0 / k
        self.last_text = end
        self.last_bits = 1.0
        if size > 3:
            self.last_bits = 4.0 if head == 1 else 10.0 if head == 2 else 11.0


def evidence(dialect: i64, data: bytes, other: bytes = b"") -> Evidence:
    """See Codec.probe; `dialect` is one of vocabulary.py."""
    if not data:
        return NO_EVIDENCE
    found = _look(dialect, data, FIRST_LOOK)
    if other and found.bits > 0:
        theirs = _look(dialect, other, FIRST_LOOK)
        if proved(theirs.bits, theirs.whole, theirs.at_end):
            reasons = (*found.reasons, "the other direction is of the same dialect")
            return found._replace(bits=found.bits + OTHER, reasons=reasons)
    return found


def _look(dialect: i64, data: bytes, size: i64) -> Evidence:
    """Weigh the first `size` bytes."""
    start_of = data[:size]
    end: i64 = len(start_of)
    buffer = Buffer(start_of)
    cursor = Cursor(buffer, 0, end)
    weighing = _Weighing(dialect, start_of)
    messages: i64 = 0
    values: i64 = 0
    settle = ""
    failed = False
    nodes: i64 = 0
    while cursor.pos < end and messages < MOST_MESSAGES and nodes < MOST_NODES:
        start = cursor.pos
        tape = Tape(buffer)
        try:
            Messages(dialect, cursor, tape, True).read()
        except DecodeError as error:
            if start == 0 and dialect == d.FINAL and start_of[0] < 0x90:
                framed = Tape(buffer)
                again = Cursor(buffer, 0, end)
                if Messages(dialect, again, framed, True).packets():
                    cursor.pos = end
                    messages = 1
                    weighing.heads.append("packets")
                    weighing.packets(framed)
                    weighing.message(framed, 0, end)
                    break
            failed = True
            nodes += tape.size()
            if not error.needed:
                tape.close_from(0, min(cursor.pos, end))
                weighing.message(tape, start, end)
                weighing.bits += ERROR
                weighing.say_against(f"offset {error.offset}: {error.text}")
                break
            if end < len(data) and size < SECOND_LOOK:
                # a promising message, or one long text, is worth reading on
                tape.close_from(0, end)
                weighing.message(tape, start, end)
                promising = PROMISING <= weighing.bits < PROVED and len(data) <= SECOND_LOOK
                if promising or tape.size() <= FEW_NODES:
                    return _look(dialect, data, SECOND_LOOK)
                break
            missing = error.needed - len(data)
            if missing > 0:
                settle = f"{count(missing, 'more byte')}"
            if dialect == d.FINAL and start_of[start] == 0x43:
                tape = _as_values(buffer, start, end, tape)
            tape.close_from(0, end)
            weighing.message(tape, start, end)
            break
        nodes += tape.size()
        messages += 1
        values += _top(tape)
        weighing.message(tape, start, cursor.pos)
        weighing.best = max(weighing.best, weighing.bits)
    if values > 1:
        weighing.bits += SEVERAL + ANOTHER * float(values - 2)
    junk = weighing.best + JUNK > weighing.bits
    if junk:
        weighing.bits = weighing.best + JUNK
        weighing.say_against("what follows is no message")
    if weighing.classes and weighing.objects == 0 and not settle:
        weighing.bits += USELESS
        weighing.say_against("class definitions without an object")
    refused = ""
    if dialect == d.DRAFT and failed and len(data) <= size and (not settle or weighing.heads):
        if _is_2006(start_of):
            refused = "hessian-2006"
    whole = not failed and not junk and cursor.pos == len(data)
    at_end = CUT if settle else 0.0
    if whole:
        at_end = 2.0
        if weighing.longest >= 4:
            items = weighing.longest
            while items > 1 and at_end < 12.0:
                at_end += 1.0
                items >>= 1
        if weighing.last_text == cursor.pos:
            at_end = max(at_end, weighing.last_bits)
        elif data[len(data) - 1] == 0x7A or data[len(data) - 1] == 0x5A:
            at_end = max(at_end, 4.0)
        if weighing.numbers > MOST_NUMBERS:
            at_end += float(min(weighing.numbers - MOST_NUMBERS, MOST_NUMBERS))
        if values > 1 and weighing.last_text == cursor.pos:
            at_end = min(at_end, 4.0)  # rows of texts end where they end
    if dialect != d.FINAL:
        weighing.bits -= 0.125 if dialect == d.DRAFT else 0.25  # spoken less often today
    one = messages == 1 and values <= 1
    if not (whole and one and weighing.texts) and end >= 16 and _is_text(start_of[:FIRST_LOOK]):
        # writers send some length or opcode that is no text every few bytes
        weighing.bits -= float(min(end, FIRST_LOOK)) / TEXT_SHARE
        weighing.say_against("all of it is text")
    equal = (d.NAMES[d.V1], d.NAMES[d.FINAL]) if refused else ()
    return Evidence(
        bits=weighing.bits,
        reasons=_reasons(weighing, whole),
        settle=settle,
        equal=equal,
        whole=whole,
        one=one,
        at_end=at_end,
        refused=refused,
    )


def _as_values(buffer: Buffer, start: i64, end: i64, tape: Tape) -> Tape:
    """What starts with C and is cut, read as class definitions; `tape` where it is none.

    The decoder takes it for a call where nothing follows.
    """
    other = Tape(buffer)
    other.open(t.head(t.STRUCT), start, 0)
    other.open(VALUES, start, 0)
    cursor = Cursor(buffer, start, end)
    try:
        Values(cursor, other, Tables(d.FINAL)).read(TO_END)
    except DecodeError as error:
        if error.needed:
            return other
    return tape


def _is_text(data: bytes) -> bool:
    """True for UTF-8, cut anywhere, with no control characters but those of text."""
    for cut in range(4):
        try:
            text = data[: len(data) - cut].decode()
        except UnicodeDecodeError as error:
            if error.start < len(data) - 4:
                return False
            continue
        break
    else:
        return False
    return not any(chr(byte) in text for byte in range(32) if byte not in b"\t\n\f\r\x1b")


def _is_2006(data: bytes) -> bool:
    """True for bytes that read to the end in the layout of 2006, and in no dialect that lives."""
    return _reads(d.LAYOUT_2006, data) and not (
        _reads(d.DRAFT, data) or _reads(d.FINAL, data) or _reads(d.V1, data)
    )


def _reads(dialect: i64, data: bytes) -> bool:
    """True where all of the data is messages of a dialect."""
    buffer = Buffer(data)
    cursor = Cursor(buffer, 0, len(data))
    while cursor.pos < cursor.end:
        if _read(dialect, cursor, Tape(buffer)):
            return False
    return True


def _top(tape: Tape) -> i64:
    """How many values a message of plain values has; 0 for any other message."""
    if tape.size() < 2 or tape.head(1) != VALUES:
        return 0
    count: i64 = 0
    at: i64 = 2
    behind = tape.next(1)
    while at < behind:
        if tape.head(at) & t.HIDDEN == 0:
            count += 1
        at = tape.next(at)
    return count


def _reasons(weighing: _Weighing, whole: bool) -> tuple[str, ...]:
    """What the evidence consists of, in words."""
    reasons: list[str] = []
    if weighing.heads:
        reasons.append(f"it starts as {weighing.heads[0]}")
    if weighing.classes:
        reasons.append(_several(weighing.classes, "class definition", "class definitions"))
    if weighing.names:
        reasons.append(_several(weighing.names, "name as Java has them", "names as Java has them"))
    if weighing.resolved:
        reasons.append(_several(weighing.resolved, "reference", "references") + " that resolve")
    if weighing.ends:
        reasons.append(_several(weighing.ends, "end in its place", "ends in their places"))
    if weighing.counts:
        reasons.append(_several(weighing.counts, "list length", "list lengths") + " that come out")
    if weighing.texts:
        reasons.append(_several(weighing.texts, "text", "texts") + " of the length said")
    if whole:
        reasons.append("the bytes are used exactly")
    reasons.extend([f"against it: {said}" for said in weighing.against[:3]])
    return tuple(reasons)


def _several(count: i64, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def same_meaning(first: i64, second: i64, data: bytes) -> bool:
    """True where the bytes mean the same in two dialects, as far as they read in what detection looks at."""
    if len(data) > FIRST_LOOK and not _same_in(first, second, data[:FIRST_LOOK]):
        return False
    return _same_in(first, second, data[:SAME_LOOK])


def _same_in(first: i64, second: i64, data: bytes) -> bool:
    end: i64 = len(data)
    buffer = Buffer(data)
    one = Cursor(buffer, 0, end)
    two = Cursor(buffer, 0, end)
    while one.pos < end:
        left = Tape(buffer)
        right = Tape(buffer)
        cut = _read(first, one, left)
        if cut != _read(second, two, right) or one.pos != two.pos or not _same(left, right):
            return False
        if cut:
            break
    return True


def _read(dialect: i64, cursor: Cursor, tape: Tape) -> bool:
    """Read a message; True where it does not end well."""
    try:
        Messages(dialect, cursor, tape, True).read()
    except DecodeError:
        tape.close_from(0, min(cursor.pos, cursor.end))
        return True
    return False


def _same(left: Tape, right: Tape) -> bool:
    """True where two tapes hold the same nodes, their wire forms aside."""
    if left.size() != right.size():
        return False
    count = left.size() * t.WIDTH
    ours = left.words
    theirs = right.words
    mask: i64 = t.FORM_MASK
    mask = ~(mask << t.FORM_SHIFT)
    at: i64 = 0
    while at < count:
        if ours[at] & mask != theirs[at] & mask or ours[at + 1] != theirs[at + 1]:
            return False
        if ours[at + 2] != theirs[at + 2] or ours[at + 3] != theirs[at + 3] or ours[at + 4] != theirs[at + 4]:
            return False
        at += t.WIDTH
    return True
