"""The tape: what decoding writes, and all that formatters, the notation and views read.

A decoded message is a row of *nodes* in stream order, each of `WIDTH` 64-bit integers in one native vector:

| word | meaning |
|---|---|
| `HEAD` | kind, flags, wire form, next and field, packed as below |
| `SPAN` | bytes [start, end) in the node's buffer, of less than 2 GiB: start in the lower 32 bits, then end |
| `NUMBER` | one number whose meaning depends on the kind |

*Next* is the index of the first node after a node's subtree: its children are the nodes before that. An index
is the place of a node's `HEAD` in the vector. There is no
object for a node: a view is made when one is needed (node.py). The vector has room after the last node and
is doubled when that is used up: storing by index is five times as fast as appending.

Most nodes are SHORT, of `SHORT_WIDTH` words: those without children, of less than 64 MiB, whose number has 32
bits. Their `HEAD` has the size in bytes in place of next, their `SPAN` the number in place of the end.

`HEAD` packs, from the lowest bit: kind (8 bits), flags (7), wire form (11; 0 is the protocol's usual one,
`node.hint` assigns the others), next (26; 0 in a node that is open), field (10; 0 is none, `node.field`
assigns the others). `head` and `Tape.head` give it without next and without SHORT.
"""

from typing import Final, TypeAlias

from librt.vecs import append, extend, vec
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.codes import Note
from wirelens.codecs.errors import DecodeError

WIDTH: Final = 3  # words of a node,
SHORT_WIDTH: Final = 2  # and of a SHORT one
HEAD: Final = 0
SPAN: Final = 1
NUMBER: Final = 2

# Kinds of plain fields: the parts of a message's own layout.
STRUCT: Final = 1  # named members; number: the buffer of its content if EMBEDDED
ARRAY: Final = 2  # items in order; number as for STRUCT
INTEGER: Final = 3  # number: signed 64-bit
UNSIGNED: Final = 4  # number: unsigned 64-bit as two's complement
BOOLEAN: Final = 5  # number: 0 or 1
NAMED: Final = 6  # number, shown by its name in the field's table
TEXT: Final = 7  # UTF-8; number: where the content starts, up to END
HEX: Final = 8  # bytes shown as hex; number as for TEXT
COMPUTED: Final = 9  # shown as the field's `render` computes it
ABSENT: Final = 10  # null in place of a field's value
FAULT: Final = 11  # an error inside a good message; number: index into `Tape.faults`

# Kinds of values: the parts of a sender's own data (Hessian values, ESNP Var).
NULL: Final = 16
BOOL: Final = 17  # number: 0 or 1
INT: Final = 18  # Hessian int, 32-bit: the plain integer of the notation
LONG: Final = 19  # Hessian long
INT8: Final = 20
INT16: Final = 21
INT64: Final = 22
VAR_INT: Final = 23  # ESNP tag Int, another than Int32
VAR_UINT: Final = 24
UINT8: Final = 25
UINT16: Final = 26
UINT32: Final = 27
UINT64: Final = 28  # two's complement where it takes 64 bits
INT32: Final = 29  # ESNP Int32, the plain integer of the notation too
DOUBLE: Final = 32  # number: the 64 bits of the IEEE 754 double
FLOAT32: Final = 33  # number: the 32 bits of the IEEE 754 single
STRING: Final = 34  # UTF-8; number: where the content starts
STRING16: Final = 35  # UTF-16 units, each in UTF-8 by itself (CESU-8); number: content, or -1: CHUNK children
BYTES: Final = 36  # number: content, or -1: CHUNK children
DATE: Final = 37  # number: milliseconds since 1970-01-01 UTC
SCALAR: Final = 38  # any other scalar; number: which of node.SCALARS makes its {tag: value}
LIST: Final = 40  # number: its reference number, or -1; children: TYPE?, hidden parts, items
MAP: Final = 41  # number: its reference number, or -1; children: TYPE?, hidden parts, key, value, ...
OBJECT: Final = 42  # number: see `object_number`; children: the fields' values, in the class's order
REF: Final = 43  # number: see `reference_number`
XML: Final = 44  # as STRING16
REMOTE: Final = 45  # children: TYPE?, STRING16 (the URL)
TYPED: Final = 46  # number: its reference number, or -1; children: TYPE, a value that is not a list or map
SYMBOL: Final = 47  # a name with a number; number as of TYPE, or below 0 an index outside the data

# Parts that are not in the JSON: names and pieces that others refer to. They carry the HIDDEN flag.
# TYPE's number: index of the TYPE or SYMBOL that holds the text as its child (itself, or an earlier one), -1:
# none.
TYPE: Final = 48
CLASS: Final = 49  # a class definition; number: `class_number`; children: its name, its fields' names (texts)
CHUNK: Final = 50  # one piece of a string or of bytes; number: content
LENGTH: Final = 51  # number: a declared length
MARK: Final = 52  # any other byte or length of the layout: tags, ends, sizes

# Text in other encodings; number: where the content starts.
LATIN1: Final = 56
UTF16: Final = 57  # big-endian, or as its byte order mark has it
UTF16LE: Final = 58
UTF16BE: Final = 59
GB18030: Final = 60
ENCODINGS: Final[dict[int, str]] = {
    LATIN1: "latin-1",
    UTF16: "utf-16",
    UTF16LE: "utf-16-le",
    UTF16BE: "utf-16-be",
    GB18030: "gb18030",
}

# Flags in HEAD.
HIDDEN: Final = 1 << 8  # on the wire and in hex views, not in the notation
REFERRED: Final = 1 << 9  # a back reference points to this list, map or object
EMBEDDED: Final = 1 << 10  # content lies in another buffer, `Tape.buffers[number]`
SIMPLE: Final = 1 << 11  # text in printable ASCII with nothing that JSON escapes
VALUED: Final = 1 << 12  # of a CLASS: each of its objects has one value, without a name, in place of fields
BROKEN: Final = 1 << 13  # an error ended the node before its own end; heads are compared without it
SHORT: Final = 1 << 14  # two words, see above

KIND_MASK: Final = 0xFF
FORM_SHIFT: Final = 15
FORM_MASK: Final = 0x7FF
NEXT_SHIFT: Final = 26
NEXT_MASK: Final = 0x3FFFFFF
SIZE_MASK: Final = NEXT_MASK  # of a SHORT node, in bytes
FIELD_SHIFT: Final = 52
FIELD_MASK: Final = 0x3FF
END_SHIFT: Final = 32
LOW_HALF: Final = 0xFFFFFFFF
WITHOUT_NEXT: Final = ~(NEXT_MASK << NEXT_SHIFT | SHORT)
# Here, as compiled code makes numbers only of constants of the module itself.
FORMS: Final = FORM_MASK << FORM_SHIFT
FORMS_SHORT: Final = FORMS | SHORT
SIMPLE_SHORT: Final = SIMPLE | SHORT
SIMPLE_USUAL: Final = SIMPLE_SHORT | FORMS  # for simple texts in their usual form
_KIND_AND_FIELD: Final = ~((1 << FIELD_SHIFT) - 1) | KIND_MASK

# Kinds whose nodes have children that are shown.
CONTAINERS: Final = (STRUCT, ARRAY, LIST, MAP, OBJECT, REMOTE, TYPED)

# How far a tape is written: its words, notes, buffers and inner errors.
Mark: TypeAlias = tuple[i64, i64, i64, i64]


# acyclic, here and elsewhere: nothing refers back to such an object, so the garbage collector can ignore it.
@mypyc_attr(acyclic=True, free_list_len=1)
class Buffer:
    """Bytes that nodes' offsets point into, and where these bytes are in the input.

    `base` is the input offset of `data[0]`. Content joined from pieces (chunks, packets) has `segments`:
    pairs (position in data, input offset), ascending. Content that was unpacked has no bytes of its own in
    the input: with `collapsed` every position maps to the base.
    """

    def __init__(
        self,
        data: bytes,
        base: i64 = 0,
        segments: list[tuple[int, int]] | None = None,
        collapsed: bool = False,
    ) -> None:
        self.data: Final = data
        self.base: Final[i64] = base
        self.segments: Final = segments
        self.collapsed: Final = collapsed

    def absolute(self, position: i64) -> i64:
        """Offset in the input, in bytes, of a position in `data`."""
        if self.collapsed:
            return self.base
        segments = self.segments
        if not segments:
            return self.base + position
        first: i64 = 0  # a search as that of bisect, whose import takes half a per cent of a start
        after: i64 = len(segments)
        while after - first > 1:
            middle = (first + after) // 2
            if segments[middle][0] <= position:
                first = middle
            else:
                after = middle
        at, offset = segments[first]
        return offset + (position - at)


@mypyc_attr(acyclic=True)
class Fault:
    """An error inside a message: a code of codes.py, the absolute offset in bytes, and a sentence."""

    def __init__(self, code: str, offset: i64, text: str) -> None:
        self.code: Final = code
        self.offset: Final[i64] = offset
        self.text: Final = text


LEAST_ROOM: Final = 12  # words of a new tape; or, if it has more than SMALL_ROOM,
# this many: such memory is kept when it is free, while Python gives the arenas of what has up to 512 bytes
# back to the system, and getting them again takes longer than decoding does;
SMALL_ROOM: Final = 24
USUAL_ROOM: Final = 66
MOST_ROOM: Final = 768  # at most
DOUBLED: Final = 3 << 19  # words up to which the room of a tape is doubled; larger rooms are estimated
SPARE: Final = 16  # an estimated room is enlarged by this fraction: one part in 16
MOST_WORDS: Final = 3 << 24  # words of one message: of 16 million nodes at least
MOST_LEVELS: Final = 1 << 17  # containers inside one another; views and writers have some objects for each
_ROOM: Final[vec[i64]] = vec[i64]([0] * MOST_ROOM)
_NONE: Final[vec[i64]] = vec[i64]()
_PORTION: Final = 1 << 14  # words that are added at once
_HALF: Final = 1 << 31  # what the least number of a SHORT node is below 0


@mypyc_attr(acyclic=True, free_list_len=1)
class Tape:
    """The nodes of one message, with its notes and inner errors.

    `words` holds `count` words of nodes and room for more, at first some `room` in all. `unchecked_names` is
    set when a name was read that the codec has to look at once the message is complete.
    """

    def __init__(self, buffer: Buffer, room: i64 = 96) -> None:
        if room > SMALL_ROOM:
            room = min(max(room, USUAL_ROOM), MOST_ROOM)
        # a loop that sets words to 0 takes three times as many instructions
        self.words: vec[i64] = _ROOM[: max(room, LEAST_ROOM)]
        self.count: i64 = 0
        self.buffer: Final = buffer
        self.unchecked_names = False
        # created on first use: most messages have none, and there are many messages
        self._buffers: list[Buffer] | None = None
        self._notes: list[Note] | None = None
        self._faults: list[Fault] | None = None
        self._definitions: vec[i64] = _NONE
        self._looked: i64 = 0  # the size for which these are known

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers that nodes point into: first the input's, then those of EMBEDDED content."""
        if self._buffers is None:
            self._buffers = [self.buffer]
        return self._buffers

    @property
    def notes(self) -> list[Note]:
        """The notes, in the order of decoding."""
        if self._notes is None:
            self._notes = []
        return self._notes

    @property
    def faults(self) -> list[Fault]:
        """The inner errors; a FAULT node's number is an index into them."""
        if self._faults is None:
            self._faults = []
        return self._faults

    def note_count(self) -> i64:
        """The number of notes."""
        return 0 if self._notes is None else len(self._notes)

    def fault_count(self) -> i64:
        """The number of inner errors."""
        return 0 if self._faults is None else len(self._faults)

    def size(self) -> i64:
        """The number of words of all nodes, which is the index of the next one."""
        return self.count

    def leaf(self, head: i64, start: i64, end: i64, number: i64) -> i64:
        """Write a node without children; returns its index."""
        index = self.count
        words = self.words
        if index + WIDTH > len(words):
            words = self.more(start)
        size = end - start
        if (number + _HALF | size << 6) >> 32 == 0:  # a number of 32 bits, a size of 26
            words[index + HEAD] = head | SHORT | size << NEXT_SHIFT
            words[index + SPAN] = start | number << END_SHIFT
            self.count = index + SHORT_WIDTH
            return index
        words[index + HEAD] = head | (index + WIDTH) << NEXT_SHIFT
        words[index + SPAN] = start | end << END_SHIFT
        words[index + NUMBER] = number
        self.count = index + WIDTH
        return index

    def reserve(self, size: i64) -> None:
        """Allocate room for about `size` words at once; growing in steps copies them at each step."""
        self._grow(min(size + size // SPARE, MOST_WORDS))

    def give_back(self) -> None:
        """Release unused room if an estimate was more than a quarter too large."""
        size = self.count
        if len(self.words) - size > size // SPARE * 4:
            self.words = self.words[:size]

    def _grow(self, size: i64) -> None:
        """Make room for `size` words in all."""
        words = self.words
        if size <= len(words):
            return
        wide = extend(vec[i64](capacity=size), words)
        more = wide[:_PORTION]
        while len(wide) < size:
            wide = extend(wide, more if size - len(wide) >= len(more) else more[: size - len(wide)])
        self.words = wide

    def more(self, start: i64) -> vec[i64]:
        """Make room for more nodes, of which the next starts at `start`; the words. Raises `limit`."""
        count = self.count
        if count + WIDTH > MOST_WORDS:
            raise self._limit(start, f"a message whose values take more than {8 * MOST_WORDS >> 20} MiB")
        if count < DOUBLED:
            self.words = doubled(self.words)
            return self.words
        # One estimate for the rest of the message: repeated growth keeps two large copies in memory.
        first = self.start(0)
        rest = len(self.buffer.data) - start
        self.reserve(count + max(count * rest // max(start - first, 1), WIDTH))
        return self.words

    def _limit(self, start: i64, text: str) -> DecodeError:
        if self._buffers is not None and len(self._buffers) > 1:  # `start` may be in any of them
            start = self.start(0)
        return DecodeError("limit", self.buffer.absolute(start), text)

    def check_level(self, level: i64, start: i64) -> None:
        """Raise `limit` for a container at `start` inside `level` others, if these are MOST_LEVELS."""
        if level >= MOST_LEVELS:
            raise self._limit(start, f"more than {MOST_LEVELS:,} containers inside one another")

    def open(self, head: i64, start: i64, number: i64) -> i64:
        """Write a node whose children follow until `close`; returns its index."""
        index = self.count
        words = self.words
        if index + WIDTH > len(words):
            words = self.more(start)
        words[index + HEAD] = head
        words[index + SPAN] = start
        words[index + NUMBER] = number
        self.count = index + WIDTH
        return index

    def close(self, index: i64, end: i64) -> None:
        """Close an open node: its bytes end at `end`, its children with the last node written."""
        self.shrink(index, self.count, end)

    def complete(self, index: i64, end: i64) -> None:
        """As `close`, for a node that is as `open` wrote it but for its flags, in half the time."""
        words = self.words
        words[index + HEAD] |= self.count << NEXT_SHIFT
        words[index + SPAN] |= end << END_SHIFT

    def close_from(self, index: i64, end: i64) -> None:
        """Close every open node from `index` on, after an error at `end`: what decoded stays a tree."""
        words = self.words
        count = self.count
        while index < count:
            if self.next(index) == 0:
                words[index + HEAD] |= BROKEN | count << NEXT_SHIFT
                start = words[index + SPAN] & LOW_HALF
                words[index + SPAN] = start | max(end, start) << END_SHIFT
            index = self.following(index)

    def close_hidden(self, end: i64) -> None:
        """After an error, close the last open node if it is HIDDEN; drop it if it is empty."""
        found: i64 = -1
        index: i64 = 0
        while index < self.count:
            after = self.next(index)
            if after == 0:  # open, with all that follows inside it
                found = index
                after = index + WIDTH
            index = after
        if found < 0 or self.words[found + HEAD] & HIDDEN == 0:
            return
        if found + WIDTH == self.count:
            self.count = found
        else:
            self.close(found, end)

    def shrink(self, index: i64, next: i64, end: i64) -> None:
        """End a node that was opened again: its children stop before node `next`, its bytes at `end`."""
        words = self.words
        words[index + HEAD] = words[index + HEAD] & WITHOUT_NEXT | next << NEXT_SHIFT
        words[index + SPAN] = words[index + SPAN] & LOW_HALF | end << END_SHIFT

    def set_span(self, index: i64, start: i64, end: i64) -> None:
        """Replace the span of a node that was opened, as when it was read in another buffer."""
        self.words[index + SPAN] = start | end << END_SHIFT

    def mark(self) -> Mark:
        """How far the tape is written, for `rollback` after a trial."""
        return (
            self.count,
            0 if self._notes is None else len(self._notes),
            1 if self._buffers is None else len(self._buffers),
            0 if self._faults is None else len(self._faults),
        )

    def rollback(self, mark: Mark) -> None:
        """Drop all that was written since `mark`: nodes, notes, buffers and inner errors."""
        count, notes, buffers, faults = mark
        self.count = count
        if self._notes is not None:
            del self._notes[notes:]
        if self._buffers is not None:
            del self._buffers[buffers:]
        if self._faults is not None:
            del self._faults[faults:]

    def find(self, index: i64, head: i64) -> i64:
        """The child of a node that has the kind and field of `head`, whatever its flags; -1 if none."""
        words = self.words
        last = self.next(index)
        index = self.following(index)
        while index < last:
            if (words[index + HEAD] ^ head) & _KIND_AND_FIELD == 0:
                return index
            index = self.next(index)
        return -1

    def number_of(self, index: i64, head: i64) -> i64:
        """The number of the child that `find` gives; 0 if there is none."""
        found = self.find(index, head)
        if found < 0:  # compiled, an expression with `else` makes an object of the number
            return 0
        return self.number(found)

    def last_from(self, first: i64) -> i64:
        """The last of the sibling nodes written from index `first` on; -1 if there is none."""
        count = self.count
        last: i64 = -1
        while first < count:
            last = first
            first = self.next(first)
        return last

    def cut(self, size: i64) -> None:
        """Drop the nodes from index `size` on, and nothing else."""
        self.count = size

    def trim(self, position: i64) -> None:
        """Drop the nodes that start at or after a position of the tape's own buffer, and unused room."""
        words = self.words
        count = self.count
        index: i64 = 0
        while index < count and self.start(index) < position:
            # EMBEDDED content is in another buffer
            embedded = words[index + HEAD] & EMBEDDED != 0
            index = self.next(index) if embedded else self.following(index)
        count = min(index, count)
        index = 0
        while index < count:
            if self.next(index) > count:
                self.shrink(index, count, min(self.end(index), position))
            index = self.following(index)
        self.count = count
        if len(words) > count + MOST_ROOM:
            self.words = words[:count]

    def take(self, other: "Tape") -> None:
        """Replace the contents with those of another reading of the same bytes."""
        self.words = other.words
        self.count = other.count
        self._buffers = other._buffers
        self._notes = other._notes
        self._faults = other._faults
        self.unchecked_names = other.unchecked_names

    def copied(self, node: i64) -> vec[i64]:
        """A subtree as `paste` writes it again: its words, with next relative to its index.

        Spans and the numbers of texts are relative to its start.
        """
        first = node
        start = self.start(node)
        words = self.words
        end = self.next(node)
        nodes = vec[i64]()
        while node < end:
            head = words[node + HEAD]
            span = words[node + SPAN] - start
            if head & SHORT:
                if head & KIND_MASK == STRING16:
                    span -= start << END_SHIFT
                nodes = append(append(nodes, head), span)
                node += SHORT_WIDTH
            else:
                head -= first << NEXT_SHIFT
                span -= start << END_SHIFT
                nodes = append(append(append(nodes, head), span), words[node + NUMBER])
                node += WIDTH
        return nodes

    def paste(self, nodes: vec[i64], position: i64) -> i64:
        """Write a subtree that was `copied` before, from a position on; returns its index."""
        index = self.count
        at = index
        size = len(nodes)
        words = self.words
        while at + size > len(words):
            words = self.more(position)
        place: i64 = 0
        both = position | position << END_SHIFT
        later = index << NEXT_SHIFT
        while place < size:
            head = nodes[place + HEAD]
            span = nodes[place + SPAN]
            if head & SHORT:
                words[at + HEAD] = head
                words[at + SPAN] = span + (both if head & KIND_MASK == STRING16 else position)
                at += SHORT_WIDTH
                place += SHORT_WIDTH
            else:
                words[at + HEAD] = head + later
                words[at + SPAN] = span + both
                words[at + NUMBER] = nodes[place + NUMBER]
                at += WIDTH
                place += WIDTH
        self.count = at
        return index

    def head(self, index: i64) -> i64:
        """A node's HEAD word, packed as `head` does."""
        return self.words[index + HEAD] & WITHOUT_NEXT

    def kind(self, index: i64) -> i64:
        """A node's kind, without its flags."""
        return self.words[index + HEAD] & KIND_MASK

    def start(self, index: i64) -> i64:
        """The position of a node's first byte in its buffer's data."""
        return self.words[index + SPAN] & LOW_HALF

    def end(self, index: i64) -> i64:
        """The position after a node's last byte in its buffer's data."""
        words = self.words
        head = words[index + HEAD]
        span = words[index + SPAN]
        if head & SHORT:
            return (span & LOW_HALF) + (head >> NEXT_SHIFT & SIZE_MASK)
        return span >> END_SHIFT

    def next(self, index: i64) -> i64:
        """The index of the first node after a node's subtree; 0 in a node that is open."""
        head = self.words[index + HEAD]
        if head & SHORT:
            return index + SHORT_WIDTH
        return head >> NEXT_SHIFT & NEXT_MASK

    def following(self, index: i64) -> i64:
        """The index after a node's own words: of its first child if it has any, else as `next`."""
        if self.words[index + HEAD] & SHORT:
            return index + SHORT_WIDTH
        return index + WIDTH

    def nodes(self, index: i64, end: i64) -> i64:
        """The number of nodes from one on, before index `end`."""
        count: i64 = 0
        while index < end:
            count += 1
            index = self.following(index)
        return count

    def indexes(self) -> list[int]:
        """The indexes of all nodes, in the order of the stream."""
        found: list[int] = []
        index: i64 = 0
        while index < self.count:
            found.append(int(index))
            index = self.following(index)
        return found

    def definitions(self) -> vec[i64]:
        """The indexes of all CLASS nodes."""
        if self._looked != self.count:
            found = vec[i64]()
            index: i64 = 0
            while index < self.count:
                if self.kind(index) == CLASS:
                    found = append(found, index)
                index = self.following(index)
            self._definitions = found
            self._looked = self.count
        return self._definitions

    def number(self, index: i64) -> i64:
        """A node's number, whose meaning depends on its kind."""
        words = self.words
        if words[index + HEAD] & SHORT:
            return words[index + SPAN] >> END_SHIFT
        return words[index + NUMBER]

    def set_flags(self, index: i64, flags: i64) -> None:
        """Set bits of a node's HEAD: flags, or a field or wire form shifted to its place."""
        self.words[index + HEAD] |= flags

    def set_number(self, index: i64, number: i64) -> None:
        """Replace a node's number, by one of at most `largest` and at least -`largest`."""
        if self.words[index + HEAD] & SHORT:
            self.words[index + SPAN] = self.words[index + SPAN] & LOW_HALF | number << END_SHIFT
        else:
            self.words[index + NUMBER] = number

    def largest(self, index: i64) -> int:
        """The largest number that a node can have."""
        return (1 << 31) - 1 if self.words[index + HEAD] & SHORT else (1 << 63) - 1

    def set_kind(self, index: i64, kind: i64) -> None:
        """Replace a node's kind."""
        self.words[index + HEAD] = self.words[index + HEAD] & ~KIND_MASK | kind

    def set_form(self, index: i64, form: i64) -> None:
        """Replace a node's wire form (see `node.hint`)."""
        self.words[index + HEAD] = self.words[index + HEAD] & ~(FORM_MASK << FORM_SHIFT) | form << FORM_SHIFT

    def fault(self, field_head: i64, at: i64, fault: Fault) -> i64:
        """Write an inner error as a FAULT node of the given head; returns its index."""
        self.faults.append(fault)
        return self.leaf(field_head, at, at, len(self.faults) - 1)

    def note(self, code: str, position: i64, text: str, buffer: Buffer) -> None:
        """Add a note about a position in `buffer`."""
        self.notes.append(Note(code, buffer.absolute(position), text))


def doubled(words: vec[i64]) -> vec[i64]:
    """Words and as many after them."""
    return extend(words, words)


def head(kind: i64, field: i64 = 0, form: i64 = 0) -> i64:
    """Pack a HEAD word; the caller adds flags with `|`."""
    return kind | form << FORM_SHIFT | field << FIELD_SHIFT


def class_number(before: i64, layout: i64) -> i64:
    """A CLASS's number: how many definitions directly precede it, and the number of its layout.

    Definitions of the same layout, in any message, have the same bytes; 0: it has no number.
    """
    return before | layout << 32


def object_number(class_index: i64, reference: i64) -> i64:
    """An OBJECT's number: the index of its CLASS node, and its reference number (each below 2^31)."""
    return class_index | reference << 32


def reference_number(reference: i64, target: i64) -> i64:
    """A REF's number: the wire's own reference number, and the index of its target node (-1: none)."""
    return (reference & LOW_HALF) | (target + 1) << 32


if __file__.endswith(".py"):
    from wirelens.codecs import tape_uncompiled

    globals().update(_ROOM=list(_ROOM), doubled=tape_uncompiled.doubled)
    for _name, _method in tape_uncompiled.METHODS.items():
        setattr(Tape, _name, _method)
