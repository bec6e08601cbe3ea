"""What was met before: a stream says the same class definitions and types in each of its messages.

Both tables are looked up by the bytes of a name where they lie, no object being made for them; a newer
entry takes the place of an older one that falls on its slot.
"""

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.scan import SLOTS, slot_of, starts_with
from wirelens.codecs.tape import Tape

_LONGEST_NAME: Final = 1 << 10  # bytes of a name, and of a definition, that is kept
_LONGEST: Final = 1 << 13
_NUMBERS: Final = b"java.math.Big"
_NUMBER_SIZE: Final = 20  # bytes of either name


@mypyc_attr(acyclic=True)
class Definition:
    """A class definition: its bytes from the opcode on, its nodes for `Tape.paste`, its number of fields."""

    def __init__(self, data: bytes, nodes: vec[i64], fields: i64) -> None:
        self.data: Final = data
        self.nodes: Final = nodes
        self.fields: Final[i64] = fields


_NO_DEFINITION: Final = Definition(b"", vec[i64](), 0)
_definitions: Final[list[Definition]] = [_NO_DEFINITION] * SLOTS
_harmless: Final[list[bytes]] = [b""] * SLOTS


def harmless(data: bytes, at: i64, end: i64) -> bool:
    """True where the name in data[at:end] is known to be one of which there is nothing to say."""
    known = _harmless[slot_of(data, at, end - at)]
    return len(known) == end - at and starts_with(data, at, known)


def names_number(data: bytes, at: i64, end: i64) -> bool:
    """True where the name in data[at:end] is BigDecimal or BigInteger, whose numbers some writers lose."""
    return end - at == _NUMBER_SIZE and starts_with(data, at, _NUMBERS)


def learn_harmless(name: bytes) -> None:
    """Keep a name, unless it is very long, as one of which there is nothing to say."""
    if len(name) > _LONGEST_NAME:
        return
    _harmless[slot_of(name, 0, len(name))] = name


def find_definition(data: bytes, at: i64, name: i64, size: i64) -> Definition | None:
    """The known definition whose bytes lie at `at`, where its name is the `size` bytes from `name` on."""
    known = _definitions[slot_of(data, name, size)]
    if len(known.data) and starts_with(data, at, known.data):
        return known
    return None


def learn_definition(tape: Tape, node: i64, data: bytes) -> None:
    """Keep the definition of the CLASS `node`, the last on the tape but for what it holds: SIMPLE texts.

    Very long ones are not kept.
    """
    start = tape.start(node)
    if tape.end(node) - start > _LONGEST:
        return
    nodes = vec[i64]()
    fields: i64 = -1
    index = node
    while index < tape.size():
        head = tape.head(index)
        number = tape.number(index)
        if head & t.KIND_MASK == t.STRING16:
            number -= start
            fields += 1
        nodes = append(append(append(nodes, head), tape.start(index) - start), tape.end(index) - start)
        nodes = append(append(nodes, tape.next(index) - node), number)
        index += 1
    name = tape.number(node + 1)
    known = Definition(data[start : tape.end(node)], nodes, fields)
    _definitions[slot_of(data, name, tape.end(node + 1) - name)] = known
