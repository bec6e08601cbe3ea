"""Java types in text: JVM descriptors, names of `Class.getName`, and names as Java's source has them.

Source: The Java Virtual Machine Specification, section 4.3 (descriptors).
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.node import Json

TYPES_SHOWN: Final = 12  # parameter types named in a line

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

# Descriptors of the notation's tagged values.
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


def descriptor_types(descriptor: str, limit: int = 1 << 30) -> list[str] | None:
    """The Java types of a JVM parameter descriptor: `JLjava/util/List;[B` is long, java.util.List, byte[].

    At most the first `limit`; None if the text is not a descriptor.
    """
    data = descriptor.encode("utf-8", "surrogatepass")
    types: list[str] = []
    at: i64 = 0
    while at < len(data) and len(types) < limit:
        after = _type_end(data, at, len(data))
        if after < 0:
            return None
        types.append(java_type(data[at:after].decode("utf-8", "surrogatepass")))
        at = after
    return types


def descriptor_count(data: bytes, at: i64, end: i64) -> i64:
    """The number of types in the JVM parameter descriptor data[at:end]; -1 if it is not a descriptor."""
    count: i64 = 0
    while at < end:
        at = _type_end(data, at, end)
        if at < 0:
            return -1
        count += 1
    return count


def _type_end(data: bytes, at: i64, end: i64) -> i64:
    """The position after the type that starts at `at` in a descriptor; -1 if none does."""
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
    """A type as in Java's source, from a descriptor or `Class.getName`: `[Lcom.x.Car;`, `[string`."""
    element = name.lstrip("[")
    depth = len(name) - len(element)
    if element.startswith("L") and element.endswith(";"):
        element = element[1:-1].replace("/", ".")
    elif len(element) == 1:
        element = _PRIMITIVES.get(element, element)
    return element + "[]" * depth


def parameter_list(types: list[str]) -> str:
    """Types in brackets, without packages: `(long, Car)`."""
    shown = [name.rpartition(".")[2] for name in types[:TYPES_SHOWN]]
    if len(types) > TYPES_SHOWN:
        shown.append("…")
    return f"({', '.join(shown)})"


def descriptor_of(arguments: Json) -> str:
    """A JVM parameter descriptor that fits arguments given as JSON, for messages that do not give one."""
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


def _descriptor_of_class(name: str) -> str:
    """The descriptor of a class, or of an array's type as Hessian names it (`[int`, `[com.x.Car`)."""
    element = name.lstrip("[")
    depth = len(name) - len(element)
    letter = _LETTERS.get(element)
    if letter is None:
        names = {"string": "java.lang.String", "object": "java.lang.Object", "date": "java.util.Date"}
        letter = f"L{names.get(element, element).replace('.', '/')};"
    return "[" * depth + letter
