"""Class definitions and type names that were read before: a stream repeats them in each of its messages.

Both tables are looked up by the bytes of a name in place, without making an object of them; a newer entry
replaces an older one in its slot.

Class definitions are cached in three places, each in the form that its user needs: here as nodes to paste
on a tape, by the bytes of the definition; in codecs/class_keys.py as the JSON text of an object's keys, by
the number that a definition gets here, or by its bytes if it has none; in class_encoding.py as the bytes to
send, by an object's keys in JSON.
"""

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.scan import SLOTS, plain_end, slot_of, starts_with
from wirelens.codecs.tape import Tape

# Classes that io.github.wuwen5.hessian writes without fields, and each object as the one value that follows.
VALUED: Final = (
    "java.time.LocalDate",
    "java.time.LocalTime",
    "java.time.Year",
    "java.time.ZoneId",
    "java.time.ZoneOffset",
    "java.time.ZoneRegion",
    "java.util.Calendar",
    "java.util.GregorianCalendar",
)
_VALUED: Final = tuple([name.encode() for name in VALUED])

_LONGEST_NAME: Final = 1 << 10  # bytes of a name that is kept
_LONGEST: Final = 1 << 13  # bytes of a definition that is kept
_NUMBERS: Final = b"java.math.Big"  # BigDecimal and BigInteger
_NUMBER_SIZE: Final = 20  # bytes of either name


@mypyc_attr(acyclic=True)
class Definition:
    """A class definition: its bytes from the opcode on, its nodes for `Tape.paste`, its number of fields.

    `slot` is its place in the table of definitions, and `following` that of the one that came next in a
    message, which often does so again.
    """

    def __init__(self, data: bytes, nodes: vec[i64], fields: i64, slot: i64) -> None:
        self.data: Final = data
        self.nodes: Final = nodes
        self.fields: Final[i64] = fields
        self.slot: Final[i64] = slot
        self.following: i64 = 0


NO_DEFINITION: Final = Definition(b"", vec[i64](), 0, 0)  # before a message's first
_definitions: Final[list[Definition]] = [NO_DEFINITION] * SLOTS
_last_layout: Final[list[i64]] = [0]  # the number given last
_MOST_LAYOUTS: Final = (1 << 31) - 1
_harmless: Final[list[bytes]] = [b""] * SLOTS


def harmless(data: bytes, at: i64, end: i64) -> bool:
    """True where the name in data[at:end] is known to need no note."""
    known = _harmless[slot_of(data, at, end - at)]
    return len(known) == end - at and starts_with(data, at, known)


def names_number(data: bytes, at: i64, end: i64) -> bool:
    """True where the name in data[at:end] is BigDecimal or BigInteger, whose numbers some writers lose."""
    return end - at == _NUMBER_SIZE and starts_with(data, at, _NUMBERS)


def is_valued(data: bytes, at: i64, end: i64) -> bool:
    """True where the name in data[at:end] is of a class in `VALUED`."""
    return data[at:end] in _VALUED


def learn_harmless(name: bytes) -> None:
    """Keep a name, unless it is very long, as one that needs no note."""
    if len(name) > _LONGEST_NAME:
        return
    _harmless[slot_of(name, 0, len(name))] = name


def find_definition(data: bytes, at: i64, name: i64, size: i64) -> Definition | None:
    """The known definition whose bytes are those at `at`; its name has `size` bytes, from `name` on."""
    known = _definitions[slot_of(data, name, size)]
    if len(known.data) and starts_with(data, at, known.data):
        return known
    return None


def learn_definition(tape: Tape, node: i64, data: bytes) -> None:
    """Keep a definition, unless it is very long: the CLASS `node`, whose SIMPLE texts end the tape."""
    start = tape.start(node)
    if tape.end(node) - start > _LONGEST:
        return
    if _last_layout[0] < _MOST_LAYOUTS:
        _last_layout[0] += 1
        tape.set_number(node, t.class_number(0, _last_layout[0]))
    name_node = tape.following(node)
    fields = tape.number(tape.next(name_node))  # of the LENGTH after the name
    name = tape.number(name_node)
    slot = slot_of(data, name, tape.end(name_node) - name)
    _definitions[slot] = Definition(data[start : tape.end(node)], tape.copied(node), fields, slot)


def known_definition(dialect: i64, data: bytes, start: i64, end: i64) -> Definition | None:
    """The known class definition that starts at `start`, if one with the same bytes was read before."""
    name = start + 2
    if name >= end:
        return None
    size: i64 = data[start + 1]
    action: i64 = d.TABLES[dialect][size]
    if dialect == d.FINAL:
        if action == d.STRING_MEDIUM:
            size = (size & 3) << 8 | data[name]
            name += 1
        elif action != d.STRING_SHORT:
            return None
    elif action == d.INT_1:
        size -= 0x90
    elif action == d.INT_2:
        size = ((size - 0xC8) << 8) + data[name]
        name += 1
    else:
        return None
    if size <= 0 or name + size > end:
        return None
    known = find_definition(data, start, name, size)
    return None if known is None or start + len(known.data) > end else known


def next_definition(before: Definition, dialect: i64, data: bytes, start: i64, end: i64) -> Definition | None:
    """As `known_definition`, for the definition that comes after another one; in half the time."""
    known = _definitions[before.following]
    size = len(known.data)
    if size and start + size <= end and starts_with(data, start, known.data):
        return known
    found = known_definition(dialect, data, start, end)
    if found is not None:
        before.following = found.slot
    return found


def skip_plain_class(data: bytes, pos: i64, end: i64) -> i64:
    """Where a class definition (final dialect) ends, starting after its `C`; -1 if not in the common form.

    The common form has strings in printable ASCII, shorter than 1,024, and the number of fields in one byte.
    """
    left: i64 = -1  # fields still to come; -1 before the name
    while left != 0:
        if pos >= end:
            return -1
        size: i64 = data[pos]
        if size >= 0x30 and size < 0x34 and pos + 1 < end:
            size = (size & 3) << 8 | data[pos + 1]
            pos += 1
        elif size >= 0x20:
            return -1
        pos += 1
        if pos + size >= end or plain_end(data, pos, pos + size) != pos + size:
            return -1
        pos += size
        if left < 0:
            left = data[pos] - 0x90
            if left < 0 or left > 0x2F:
                return -1
            pos += 1
        else:
            left -= 1
    return pos
