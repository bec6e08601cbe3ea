"""What the values of one scope share: references, class definitions, types."""

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.hessian.texts import content_of
from wirelens.codecs.scan import same_bytes
from wirelens.codecs.tape import END_SHIFT, HEAD, NEXT_SHIFT, SHORT, SIZE_MASK, SPAN, WIDTH, Tape

# A class in `Tables.classes`, one word; its CLASS node has the rest.
CLASS_NODE: Final = (1 << 26) - 1  # the bits of its node's index
FLAGS_SHIFT: Final = 26
FLAGS_MASK: Final = 15
FIELDS_SHIFT: Final = 32  # how many fields it has

# Flags of a class.
SAME: Final = 1  # an earlier class has the same name and fields
NAMED: Final = 2  # its name is in an unusual form
ODD: Final = 4  # something else about its bytes is unusual
COSTLY: Final = 8  # an object may be so much smaller than its names that its uses are counted

# The words of a type in `Tables.types`; its TYPE node has the rest.
TYPE_NODE: Final = 0
TYPE_FIRST: Final = 1  # the number of the first type with the same text
TYPE_WORDS: Final = 2

# Names are sent once, and shown at each use: what their uses add stays in proportion to the bytes.
REPEATS_FACTOR: Final = 64  # bytes of repeated names for each byte of the scope,
REPEATS_FREE: Final = 1 << 16  # and as many at least

_FEW: Final = 12  # entries are compared one by one up to this many, then looked up in a dictionary


@mypyc_attr(acyclic=True, free_list_len=1)
class Tables:
    """References, class definitions and types of one scope, by number.

    A scope is a stream of values, or the content of one call, reply, message or envelope. `units`: how many
    units the writer counted for a character in four-byte UTF-8, 1 or 2; 0 while that is not known.
    `repeated`: bytes of names that were sent once and count again, for their uses.
    """

    def __init__(self, dialect: i64) -> None:
        self.dialect: Final[i64] = dialect
        self.references: vec[i64] = vec[i64](capacity=16)  # nodes of lists, maps and objects
        self.classes: vec[i64] = vec[i64](capacity=8)
        self.types: vec[i64] = vec[i64](capacity=4 * TYPE_WORDS)
        self.units: i64 = 0
        self.repeated: i64 = 0
        self.class_keys: dict[bytes, int] | None = None
        self.type_keys: dict[bytes, int] | None = None

    def clear_references(self) -> None:
        """Drop the value references, as a writer does between packets; classes and types stay."""
        self.references = vec[i64]()

    def class_count(self) -> i64:
        """The number of class definitions."""
        return len(self.classes)

    def add_class(self, node: i64, fields: i64, flags: i64, names: i64) -> None:
        """Give a definition of `names` bytes the next number; the others are as in its word."""
        if names > REPEATS_FACTOR * (1 + fields):
            flags |= COSTLY
            self.repeated -= names  # its first use repeats nothing
        self.classes = append(self.classes, node | flags << FLAGS_SHIFT | fields << FIELDS_SHIFT)

    def find_class(self, tape: Tape, data: bytes, node: i64, odd: bool) -> i64:
        """The number of the first class with the same name and fields as CLASS node `node`; -1 if it is new.

        `odd`: bytes that differ may have the same meaning.
        """
        classes = self.classes
        count: i64 = len(classes)
        keys = self.class_keys
        words = tape.words
        odd = odd or words[node + WIDTH + HEAD] & SHORT == 0  # a name in chunks
        if keys is None and not odd and count <= _FEW:
            # the words of the class and its name are read here: calls take 4 % of a message, uncompiled
            name = words[node + WIDTH + SPAN] >> END_SHIFT
            size = (words[node + SPAN] >> END_SHIFT) - name
            name_size = words[node + WIDTH + HEAD] >> NEXT_SHIFT & SIZE_MASK
            at: i64 = 0
            while at < count:
                place = classes[at] & CLASS_NODE
                other = words[place + WIDTH + SPAN] >> END_SHIFT
                if (
                    (words[place + SPAN] >> END_SHIFT) - other == size
                    and words[place + WIDTH + HEAD] >> NEXT_SHIFT & SIZE_MASK == name_size
                    and same_bytes(data, other, name, size)
                ):
                    return at
                at += 1
            return -1
        if keys is None:
            keys = {}
            self.class_keys = keys
            at = 0
            while at < count:
                keys.setdefault(class_key(tape, classes[at] & CLASS_NODE, data), int(at))
                at += 1
        number = keys.setdefault(class_key(tape, node, data), int(count))
        return -1 if number == count else number

    def find_type(self, tape: Tape, data: bytes, node: i64, start: i64, end: i64) -> i64:
        """The number of the first type with the text of TYPE node `node`; -1 if it is new."""
        types = self.types
        count = len(types) // TYPE_WORDS
        keys = self.type_keys
        if keys is None and start >= 0 and count <= _FEW:
            size = end - start
            at: i64 = 0
            while at < len(types):
                defined = types[at + TYPE_NODE]
                other = tape.number(tape.following(defined))
                if tape.end(defined) - other == size and same_bytes(data, other, start, size):
                    return at // TYPE_WORDS
                at += TYPE_WORDS
            return -1
        if keys is None:
            keys = {}
            self.type_keys = keys
            at = 0
            while at < len(types):
                keys.setdefault(
                    content_of(tape, tape.following(types[at + TYPE_NODE]), data), int(at // TYPE_WORDS)
                )
                at += TYPE_WORDS
        number = keys.setdefault(content_of(tape, tape.following(node), data), int(count))
        return -1 if number == count else number


def class_key(tape: Tape, node: i64, data: bytes) -> bytes:
    """The identity of a class: its name and its fields' names, joined by ff, a byte that no text has."""
    names: list[bytes] = []
    at = tape.following(node)
    end = tape.next(node)
    while at < end:
        if tape.kind(at) == t.STRING16:
            names.append(content_of(tape, at, data))
        at = tape.next(at)
    return b"\xff".join(names)
