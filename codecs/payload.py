"""What the protocols that carry Hessian share: its dialect's name, Java types, bodies that are JSON."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import java, throwable
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.members import Members
from wirelens.codecs.hessian.reading import cut, value_words
from wirelens.codecs.json_text import JsonTextError, dumps, loads
from wirelens.codecs.node import Json, Node, field
from wirelens.codecs.tape import Tape

DIALECTS: Final[dict[int, str]] = {dialect: d.NAMES[dialect] for dialect in (d.V1, d.DRAFT, d.FINAL)}
PROTOCOLS: Final = tuple(DIALECTS.values())
TYPES_SHOWN: Final = 12  # parameter types named in a line

# Members that every such protocol has: the dialect where it is not the usual one, bytes that did not
# decode with what did decode of them, and why.
DIALECT: Final[i64] = t.head(t.NAMED, field("hessian", DIALECTS))
DATA: Final[i64] = t.head(t.HEX, field("data"))
EXTRA: Final[i64] = t.head(t.HEX, field("extra"))
PARTIAL: Final[i64] = t.head(t.STRUCT, field("partial"))
ERROR: Final[i64] = t.head(t.FAULT, field("error"))

_PRIMITIVES: Final[dict[str, str]] = {
    "Z": "boolean",
    "B": "byte",
    "C": "char",
    "D": "double",
    "F": "float",
    "I": "int",
    "J": "long",
    "S": "short",
    "V": "void",
}
_TYPE_LETTERS: Final = tuple([ord(letter) for letter in _PRIMITIVES])
_LETTERS: Final[dict[str, str]] = {name: letter for letter, name in _PRIMITIVES.items()}


def dialect_named(value: Json, usual: int, path: str) -> int:
    """The dialect that the member "hessian" names; `usual` where it is not there."""
    if value is None:
        return usual
    for dialect, name in DIALECTS.items():
        if name == value:
            return dialect
    raise EncodeError(path, "expected one of " + ", ".join(DIALECTS.values()))


# --- Java types -----------------------------------------------------------------------------------------


def descriptor_types(descriptor: str, limit: int = 1 << 30) -> list[str] | None:
    """The Java types of a JVM parameter descriptor: `JLjava/util/List;[B` is long, java.util.List, byte[].

    The first `limit` of them; None where it is no descriptor.
    """
    data = descriptor.encode("utf-8", "surrogatepass")
    types: list[str] = []
    at: i64 = 0
    while at < len(data) and len(types) < limit:
        behind = _type_end(data, at, len(data))
        if behind < 0:
            return None
        types.append(java_type(data[at:behind].decode("utf-8", "surrogatepass")))
        at = behind
    return types


def descriptor_count(data: bytes, at: i64, end: i64) -> i64:
    """How many types the JVM parameter descriptor data[at:end] has; -1 where it is no descriptor."""
    count: i64 = 0
    while at < end:
        at = _type_end(data, at, end)
        if at < 0:
            return -1
        count += 1
    return count


def _type_end(data: bytes, at: i64, end: i64) -> i64:
    """The position behind the type of a descriptor that starts at `at`; -1 where none does."""
    while at < end and data[at] == 0x5B:  # [
        at += 1
    if at == end:
        return -1
    letter: i64 = data[at]
    at += 1
    if letter != 0x4C:  # L
        return at if letter in _TYPE_LETTERS else -1
    name = at
    while at < end and data[at] != 0x3B:  # ;
        at += 1
    return at + 1 if name < at < end else -1


def java_type(name: str) -> str:
    """A type as Java's source has it, of a descriptor or of Class.getName: `[Lcom.x.Car;`, `[string`."""
    element = name.lstrip("[")
    depth = len(name) - len(element)
    if element.startswith("L") and element.endswith(";"):
        element = element[1:-1].replace("/", ".")
    elif len(element) == 1:
        element = _PRIMITIVES.get(element, element)
    return element + "[]" * depth


def simple_type(name: str) -> str:
    """A type without its package."""
    return name.rpartition(".")[2]


def parameters(types: list[str]) -> str:
    """Types in brackets, without packages."""
    shown = [simple_type(name) for name in types[:TYPES_SHOWN]]
    if len(types) > TYPES_SHOWN:
        shown.append("…")
    return f"({', '.join(shown)})"


def descriptor_of(arguments: Json) -> str:
    """A JVM parameter descriptor that fits arguments given as JSON, for messages that say none."""
    return "".join([_descriptor(item) for item in arguments]) if isinstance(arguments, list) else ""


def _descriptor(value: Json) -> str:
    if isinstance(value, bool):
        return "Z"
    if isinstance(value, int):
        return "I" if -0x80000000 <= value <= 0x7FFFFFFF else "J"
    if isinstance(value, float):
        return "D"
    if isinstance(value, str):
        return "Ljava/lang/String;"
    if isinstance(value, list):
        return "Ljava/util/List;"
    if isinstance(value, dict):
        name = value.get("$class", value.get("$type"))
        if isinstance(name, str) and name:
            return _descriptor_of_class(name)
        for tag, descriptor in _TAGGED.items():
            if tag in value:
                return descriptor
        return "Ljava/util/Map;"
    return "Ljava/lang/Object;"


_TAGGED: Final[dict[str, str]] = {
    "$bool": "Z",
    "$int": "I",
    "$long": "J",
    "$double": "D",
    "$string": "Ljava/lang/String;",
    "$raw": "Ljava/lang/String;",
    "$bytes": "[B",
    "$date": "Ljava/util/Date;",
    "$list": "Ljava/util/List;",
    "$map": "Ljava/util/Map;",
    "$null": "Ljava/lang/Object;",
    "$ref": "Ljava/lang/Object;",
}


def _descriptor_of_class(name: str) -> str:
    """The descriptor of a class, or of an array's type as Hessian names it (`[int`, `[com.x.Car`)."""
    element = name.lstrip("[")
    depth = len(name) - len(element)
    letter = _LETTERS.get(element)
    if letter is None:
        named = {"string": "java.lang.String", "object": "java.lang.Object", "date": "java.util.Date"}
        letter = f"L{named.get(element, element).replace('.', '/')};"
    return "[" * depth + letter


# --- bodies that are JSON -------------------------------------------------------------------------------


def json_lines(content: bytes) -> list[Json] | None:
    """The JSON texts of a body that has one on each line; None where it is anything else."""
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    values: list[Json] = []
    for line in lines:
        if line.strip():
            try:
                values.append(loads(line))
            except JsonTextError:
                return None
    return values or None


def _json_of(node: Node) -> Json:
    return json_lines(node.raw)


def lines_of(value: Json, path: str) -> bytes:
    """A body of JSON texts, one on each line."""
    if not isinstance(value, list):
        raise EncodeError(path, "expected an array: the JSON value of each line")
    return "".join([dumps(item) + "\n" for item in value]).encode()


JSON: Final[i64] = t.head(t.COMPUTED, field("json", None, _json_of))


# --- on the tape ----------------------------------------------------------------------------------------


def dangling(tape: Tape, first: i64) -> bool:
    """True where one of the notes from number `first` on tells of a reference to nothing."""
    return any(note.code.startswith("dangling") for note in tape.notes[first:])


# --- for people -----------------------------------------------------------------------------------------


def annotate(node: Node) -> str:
    """What a Hessian value means beyond its raw fields."""
    return java.annotate(node)


def details(node: Node) -> list[str]:
    """The lines of an exception's stack trace."""
    return throwable.stack_trace(node)


def is_exception(value: Node) -> bool:
    """True for an object that is a Throwable."""
    return (value.kind == t.OBJECT or value.kind == t.MAP) and throwable.is_exception(Members(value))


def result_words(value: Node) -> str:
    """A result in a few words: an exception with its message, the class of an object, a scalar's value."""
    if is_exception(value):
        return cut(throwable.heading(Members(value)))
    return value_words(value)


def text_of(node: Node | None) -> str:
    """The text of a string; empty for anything else."""
    if node is None:
        return ""
    return node.text or ""
