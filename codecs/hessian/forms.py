"""Wire forms of Hessian's values: the contents of `$wire`, and how they are read from the bytes.

A node has a form only if its bytes are not those that the dialect's Java writer usually sends; from JSON
with its `$wire`, `encode` writes the same bytes again. All values of `$wire`:

| of | `$wire` | meaning |
|---|---|---|
| int | `"I"`, `"two-byte"`, `"three-byte"` | longer than needed: the opcodes I, c0-cf, d0-d7 |
| long | `"L"`, `"two-byte"`, `"three-byte"`, `"four-byte"` | likewise: L, f0-ff, 38-3f, 77 or 59 |
| double | `"D"`, `"byte"`, `"short"`, `"float"`, `"mill"` | not the form that the writer would choose |
| double | `{"float": "7fc00001"}` | a NaN as 32 bits |
| double | `"7ff8000000000001"` | the 64 bits of a NaN |
| date | `"long"` | 8 bytes where minutes would do |
| ref | `"short"`, `"R"` | draft: wider than needed |
| ref | `"I"`, `"two-byte"`, `"three-byte"` | final: the form of its number, as of an int |
| string | `"S"`, `"medium"` | the opcodes S, 30-33 where a shorter would do |
| string | `{"chunks": [units, …], "last": "short"}` | cut otherwise than at 32768 units; `last`: its opcode |
| string | `{"units": n}` | what the writer counted, of `$raw` and of text in four-byte UTF-8 |
| string | `{"utf8": hex}` | its bytes, of text with characters in more bytes than they need |
| string | `{"exact": [[opcode, units, hex], …]}` | any other: every chunk as it is |
| bytes | `"B"`, `"medium"` | the opcodes B, 34-37 where a shorter would do |
| bytes | `{"chunks": [size, …], "last": "short"}` | cut otherwise than at the dialect's usual size |
| XML | `{"chunks": …}`, `{"units": n}`, `{"exact": …}` | as of a string |
| list, map, remote | `{"type": "absent"}`, `"empty"` | no type, or an empty one; the other is usual |
| list, map | `{"type": "text"}` | the type as text again although the type table has it |
| list, map, remote | `{"type": n}` | the number in the type table: another is usual, or none is defined |
| list, map, remote | `{"type": {"$string": …, "$wire": …}}` | the type's text in an unusual form |
| list, map | `{"type_form": …}` | the form of the type's number, as of an int |
| list | `{"length": null}` | no length on the wire |
| list | `{"length": n}` | a length that is not the number of items; -1 in the draft's v: no end either |
| list | `{"length_form": "l"}` | draft: the length in four bytes where one would do |
| list | `{"length_form": …}` | the form of the length, as of an int |
| list | `{"form": "V"}`, `{"form": "X"}` | an opcode that has a length where a shorter would do |
| object | `{"class": n}` | the number in the class table, where another is usual |
| object | `{"form": "O"}` | final: the opcode with a class number where 60-6f would do |
| object | `{"class_form": …}` | the form of the class number, as of an int |
| object | `{"name": "string"}`, `"t"`, `{"type": n}` | draft: how the class just defined gives its name |
| any value | `{"define": [{"name", "fields"}, …]}` | class definitions before it, where not the usual one |
| any value | `{"define": …, "form": …}` | in addition, the value's own form |
| a definition | `"name_form": "string"`, `"t"`, `{"type": n}` | draft: how it gives its name; as type `n` |
| a definition | `"length_form"`, `"count_form"` | of the name's length, of the fields' number, as of an int |
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.texts import units_of_raw
from wirelens.codecs.json_text import loads
from wirelens.codecs.node import HINTS, Json, Node, hint, utf16_text
from wirelens.codecs.notation import Writer

CHUNK_UNITS: Final = 0x8000  # units of a string's chunk, in every dialect
CHUNK_BYTES: Final = (0x8000, 0x8000, 8189, 0x8000)  # size of a chunk of bytes, by dialect

# Flags of a container's form.
TYPE: Final = 1
LENGTH: Final = 2
OPEN: Final = 4
OPCODE: Final = 8
NUMBERED: Final = 16  # of a type or class: its number in the table is not the expected one
NAME: Final = 32


def int_form(data: bytes, at: i64) -> str | None:
    """The form of the int at a position; None for the shortest."""
    opcode = data[at]
    if 0x80 <= opcode < 0xC0:
        return None
    if opcode < 0x80:
        value = i64(read_i32_be(data, at + 1))
        return None if value < -0x40000 or value > 0x3FFFF else "I"
    if opcode < 0xD0:
        value = ((opcode - 0xC8) << 8) + data[at + 1]
        return None if value < -16 or value > 47 else "two-byte"
    value = ((opcode - 0xD4) << 16) + (i64(read_i16_be(data, at + 1)) & 0xFFFF)
    return None if value < -0x800 or value > 0x7FF else "three-byte"


def int_value(data: bytes, at: i64) -> i64:
    """The int at a position, which is known to be complete."""
    opcode: i64 = data[at]
    if opcode < 0x80:
        return i64(read_i32_be(data, at + 1))
    if opcode < 0xC0:
        return opcode - 0x90
    if opcode < 0xD0:
        return ((opcode - 0xC8) << 8) + data[at + 1]
    return ((opcode - 0xD4) << 16) + (i64(read_i16_be(data, at + 1)) & 0xFFFF)


def usual_string(dialect: i64, units: i64) -> str:
    """The opcode that a writer uses for a string's last chunk of that number of units."""
    if dialect != d.V1 and units <= (15 if dialect == d.LAYOUT_2006 else 31):
        return "short"
    return "medium" if dialect == d.FINAL and units <= 1023 else "S"


def usual_binary(dialect: i64, size: i64) -> str:
    """The opcode that a writer uses for the last chunk of bytes, of that size."""
    if dialect != d.V1 and size <= 15:
        return "short"
    return "medium" if dialect == d.FINAL and size <= 1023 else "B"


def _chunks(node: Node, dialect: int) -> list[tuple[str, int, bytes]]:
    """The chunks of a string, of XML or of bytes: opcode, declared length, content."""
    chunks: list[tuple[str, int, bytes]] = []
    tape = node.tape
    data = node.buffer.data
    pieces = [node.index]
    if node.number < 0:
        pieces = [part.index for part in node.parts() if part.kind == t.CHUNK]
    table = d.TABLES[dialect]
    for index in pieces:
        start = tape.start(index)
        number = tape.number(index)
        opcode = data[start]
        action = table[opcode]
        if action == d.STRING_SHORT:
            chunks.append(("short", opcode, b""))
        elif action == d.BINARY_SHORT:
            chunks.append(("short", opcode - 0x20, b""))
        elif action in (d.STRING_MEDIUM, d.BINARY_MEDIUM):
            chunks.append(("medium", (opcode & 3) << 8 | data[start + 1], b""))
        else:
            letter = "B" if action == d.BINARY_LAST else "S"
            if action in (d.STRING_CHUNK, d.BINARY_CHUNK, d.XML_CHUNK):
                letter = "more"
            chunks.append((letter, data[start + 1] << 8 | data[start + 2], b""))
        chunks[-1] = (chunks[-1][0], chunks[-1][1], data[number : tape.end(index)])
    return chunks


def _string_wire(dialect: int, node: Node) -> Json:
    chunks = _chunks(node, dialect)
    content = b"".join([chunk[2] for chunk in chunks])
    text = utf16_text(content)
    last = chunks[-1][0]
    usual = "S" if node.kind == t.XML else usual_string(dialect, chunks[-1][1])
    if text is not None and text.encode("utf-16-be", "surrogatepass") == _units_of(content):
        if len(chunks) == 1:
            return last
        wire: dict[str, Json] = {"chunks": [chunk[1] for chunk in chunks]}
        if last != usual:
            wire["last"] = last
        return wire
    if len(chunks) == 1 and last == usual:
        if text is None or text.encode("utf-8", "surrogatepass") == content:
            return {"units": chunks[0][1]}
        if chunks[0][1] == units_of_raw(content):
            return {"utf8": content.hex()}
    return {"exact": [[opcode, units, piece.hex()] for opcode, units, piece in chunks]}


def _units_of(content: bytes) -> bytes | None:
    """UTF-16 of content that is CESU-8 throughout; None if it is not."""
    for byte in content:
        if byte >= 0xF0:
            return None
    try:
        return content.decode("utf-8", "surrogatepass").encode("utf-16-be", "surrogatepass")
    except UnicodeDecodeError:
        return None


def _binary_wire(dialect: int, node: Node) -> Json:
    chunks = _chunks(node, dialect)
    last = chunks[-1][0]
    if len(chunks) == 1:
        return last
    wire: dict[str, Json] = {"chunks": [chunk[1] for chunk in chunks]}
    if last != usual_binary(dialect, chunks[-1][1]):
        wire["last"] = last
    return wire


def _counted_wire(node: Node) -> Json:
    """Of text after a 16-bit count of units (types, methods, header names)."""
    data = node.buffer.data
    start = node.tape.number(node.index)
    return _name_wire(node, data[start - 2] << 8 | data[start - 1])


def _named_wire(node: Node) -> Json:
    """Of a class name after an int that counts units."""
    return _name_wire(node, int(int_value(node.buffer.data, node.tape.start(node.index))))


def _name_wire(node: Node, units: int) -> Json:
    content = node.content
    text = utf16_text(content)
    if text is not None and _units_of(content) is None and units == units_of_raw(content):
        if text.encode("utf-8", "surrogatepass") != content:
            return {"utf8": content.hex()}
    return {"units": units}


def _float_wire(node: Node) -> Json:
    return {"float": node.raw[1:].hex()}


def _ref_wire(node: Node) -> Json:
    return int_form(node.buffer.data, node.tape.start(node.index) + 1)


INT_I: Final = hint("I")
TWO_BYTE: Final = hint("two-byte")
THREE_BYTE: Final = hint("three-byte")
FOUR_BYTE: Final = hint("four-byte")
LONG_L: Final = hint("L")
DOUBLE_D: Final = hint("D")
BYTE: Final = hint("byte")
SHORT: Final = hint("short")
FLOAT: Final = hint("float")
MILL: Final = hint("mill")
FLOAT_NAN: Final = hint(_float_wire)
DATE_LONG: Final = hint("long")
REF_WIDE: Final = hint("R")
LENGTH_L: Final = hint("l")
REF_INT: Final = hint(_ref_wire)
COUNTED: Final = hint(_counted_wire)
NAMED: Final = hint(_named_wire)

STRINGS: Final = [hint(partial(_string_wire, dialect)) for dialect in range(4)]
BINARIES: Final = [hint(partial(_binary_wire, dialect)) for dialect in range(4)]


def int_form_number(data: bytes, at: i64) -> int:
    """The number of the form of the int at a position, which is not the shortest."""
    opcode = data[at]
    if opcode < 0x80:
        return INT_I
    return TWO_BYTE if opcode < 0xD0 else THREE_BYTE


def value_json(node: Node) -> Json:
    """A node's JSON in the notation."""
    writer = Writer()
    writer.write(node.tape, node.index, node.buffer)
    return loads(writer.out.getvalue().decode())


def _type_wire(node: Node, wire: dict[str, Json], again: bool) -> None:
    """Put the unusual form of the type of a list, map or remote into its `$wire`."""
    part = next(node.parts(), None)
    if part is None or part.kind != t.TYPE:
        wire["type"] = "absent"
        return
    data = part.buffer.data
    text = next(part.parts(), None)
    if text is not None:
        if text.form:
            wire["type"] = value_json(text)
        else:
            wire["type"] = "text" if text.content else "empty"
        return
    if part.number == part.index:  # as text that is empty and ends where a cut message does
        wire["type"] = "empty"
        return
    start = part.tape.start(part.index)
    if data[start] == 0x75:  # u
        start += 1
    if again:
        wire["type"] = int(int_value(data, start))
    form = int_form(data, start)
    if form is not None:
        wire["type_form"] = form


def _list_wire(flags: int, node: Node) -> Json:
    wire: dict[str, Json] = {}
    data = node.buffer.data
    opcode = data[node.tape.start(node.index)]
    if flags & TYPE:
        _type_wire(node, wire, flags & NUMBERED != 0)
    if flags & OPEN:
        wire["length"] = None
    elif flags & LENGTH:
        for part in node.parts():
            if part.kind == t.LENGTH:
                if part.number != len(node):
                    wire["length"] = part.number
                if part.form:
                    wire["length_form"] = part.wire
    if flags & OPCODE:
        wire["form"] = chr(opcode)
    return wire


def _map_wire(flags: int, node: Node) -> Json:
    wire: dict[str, Json] = {}
    _type_wire(node, wire, flags & NUMBERED != 0)
    return wire


def _object_wire(flags: int, node: Node) -> Json:
    wire: dict[str, Json] = {}
    tape = node.tape
    data = node.buffer.data
    start = tape.start(node.index)
    opcode = data[start]
    if flags & NUMBERED:
        wire["class"] = int(int_value(data, start + 1)) if opcode in (0x4F, 0x6F) else opcode - 0x60
    if flags & OPCODE:
        if opcode == 0x4F and int_value(data, start + 1) <= 15:
            wire["form"] = "O"
        form = int_form(data, start + 1)
        if form is not None:
            wire["class_form"] = form
    if flags & NAME:
        definition = Node(tape, node.number & t.LOW_HALF, node.buffer)
        wire["name"] = name_form(definition)
    return wire


def name_form(definition: Node) -> Json:
    """How a class definition of the draft gives its name: "int", "string", "t" or the number of a type."""
    data = definition.buffer.data
    start = definition.tape.start(definition.index)
    opcode = data[start + 1]
    if opcode == 0x74:
        return "t"
    if opcode == 0x75:
        return {"type": int(int_value(data, start + 2))}
    return "string" if d.TABLES[d.DRAFT][opcode] in (d.STRING_SHORT, d.STRING_LAST, d.STRING_CHUNK) else "int"


def _definition_json(definition: Node) -> Json:
    """A class definition as `define` lists it."""
    data = definition.buffer.data
    names: list[Json] = []
    wire: dict[str, Json] = {}
    for part in definition.parts():
        if part.kind == t.STRING16:
            names.append(value_json(part))
            if len(names) == 1 and data[definition.tape.start(definition.index)] == 0x4F:
                name_kind = name_form(definition)
                place = definition.tape.start(definition.index) + 1
                if name_kind != "int":
                    wire["name_form"] = name_kind
                    place += 1
                form = int_form(data, place) if name_kind != "string" and name_kind != "t" else None
                if form is not None:
                    wire["length_form"] = form
        elif part.kind == t.LENGTH and part.form:
            wire["count_form"] = part.wire
    return {"name": names[0], "fields": names[1:], **wire}


def definitions_before(node: Node) -> list[Node]:
    """The class definitions directly before a value; there is at least one."""
    tape = node.tape
    definitions = tape.definitions()
    first: i64 = 0
    end: i64 = len(definitions)
    while first < end:  # a search as that of bisect
        middle = (first + end) // 2
        if definitions[middle] < node.index:
            first = middle + 1
        else:
            end = middle
    first -= 1 + (tape.number(definitions[end - 1]) & t.LOW_HALF)
    return [Node(tape, int(index), node.buffer) for index in definitions[first:end]]


def _defining_wire(base: int, node: Node) -> Json:
    definitions: list[Json] = [_definition_json(definition) for definition in definitions_before(node)]
    wire: dict[str, Json] = {"define": definitions}
    base_wire: Json = None if base == 0 else HINTS[base].json(node)
    if isinstance(base_wire, dict) and node.kind in (t.LIST, t.MAP, t.OBJECT):
        base_wire.pop("name", None)
        wire.update(base_wire)
    elif base_wire is not None:
        wire["form"] = base_wire
    return wire


_defining: Final[dict[int, int]] = {}


def defining(form: int) -> int:
    """The form that adds the class definitions before the value to another form."""
    number = _defining.get(form)
    if number is None:
        number = hint(partial(_defining_wire, form))
        _defining[form] = number
    return number


def _register(make: Callable[[int, Node], Json]) -> int:
    """Register a form for each of 64 combinations of flags; the number of the first, for flags 0."""
    numbers = [hint(partial(make, flags)) for flags in range(64)]
    return numbers[0]


LISTS: Final = _register(_list_wire)
MAPS: Final = _register(_map_wire)
OBJECTS: Final = _register(_object_wire)
