"""The members that objects of the notation have, as tables that encoders read by and people read.

A `Schema` is one kind of object: the body of a request, an entry of some type. Its encoder takes names,
limits, words and defaults from it, so that what is documented is what is accepted. Each protocol has its
schemas in `schema.py` of its package.
"""

from typing import Final

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import (
    Path,
    flags_of,
    hex_bytes,
    number_of,
    object_of,
    one_of,
    only,
    text_bytes,
    wrong,
)
from wirelens.codecs.node import Json

# Kinds of members.
INTEGER: Final = 0
FLAGS: Final = 1  # names joined by `|`
BOOLEAN: Final = 2
WORD: Final = 3  # one of a few words
HEX: Final = 4
TEXT: Final = 5
OTHER: Final = 6  # what `words` describe

LARGEST: Final = 1 << 64  # limits from here on are not shown


class Member:
    """A member of an object.

    `default` is what encoders take if it is left out, None if nothing, or if `usual` describes in words what
    they take. `needed`: it cannot be left out. `names` are words for numbers, `choices` the only words.
    `low` and `high` are the limits of integers. `prefixes` are what specifications write before the names.
    `words` describe the value; for other kinds than OTHER in addition to the type.
    """

    def __init__(
        self,
        name: str,
        kind: int,
        words: str = "",
        default: Json = None,
        usual: str = "",
        needed: bool = False,
        names: dict[int, str] | None = None,
        choices: tuple[str, ...] = (),
        low: int = 0,
        high: int = LARGEST,
        prefixes: tuple[str, ...] = (),
    ) -> None:
        self.name: Final = name
        self.kind: Final = kind
        self.words: Final = words
        self.default: Final = default
        self.usual: Final = usual
        self.needed: Final = needed
        self.names: Final[dict[int, str]] = {} if names is None else names
        self.choices: Final = choices
        self.low: Final = low
        self.high: Final = high
        self.prefixes: Final = prefixes

    def type_words(self) -> str:
        """The type of the value for people: `integer 0 … 255`."""
        if self.kind == INTEGER or self.kind == FLAGS:
            words = ", ".join([f"{name} ({number})" for number, name in self.names.items()])
            limits = f"{self.low} … {self.high}" if self.high < LARGEST else "an integer"
            if not words:
                return f"integer {limits}" if self.high < LARGEST else "integer"
            joined = ", joined by |" if self.kind == FLAGS else ""
            only_names = len(self.names) == self.high - self.low + 1
            return words + joined + ("" if only_names else f"; or {limits}")
        if self.kind == BOOLEAN:
            return "true or false"
        if self.kind == WORD:
            return " or ".join([f'"{word}"' for word in self.choices])
        return "hex" if self.kind == HEX else "text" if self.kind == TEXT else ""


def integer(
    name: str,
    low: int,
    high: int,
    words: str = "",
    default: Json = None,
    usual: str = "",
    needed: bool = False,
    names: dict[int, str] | None = None,
    prefixes: tuple[str, ...] = (),
) -> Member:
    """A member that is an integer, or one of the `names` of some."""
    return Member(name, INTEGER, words, default, usual, needed, names, (), low, high, prefixes)


def boolean(name: str, words: str = "", default: Json = None, usual: str = "") -> Member:
    """A member that is true or false."""
    return Member(name, BOOLEAN, words, default, usual)


def word(
    name: str,
    choices: tuple[str, ...],
    words: str = "",
    default: Json = None,
    usual: str = "",
    needed: bool = False,
) -> Member:
    """A member that is one of a few words."""
    return Member(name, WORD, words, default, usual, needed, None, choices)


def hexadecimal(
    name: str, words: str = "", default: Json = None, usual: str = "", needed: bool = False
) -> Member:
    """A member that is bytes in hex digits."""
    return Member(name, HEX, words, default, usual, needed)


def text(name: str, words: str = "", default: Json = None, usual: str = "", needed: bool = False) -> Member:
    """A member that is text, or {"$raw": hex} where the bytes are not UTF-8."""
    return Member(name, TEXT, words, default, usual, needed)


def other(name: str, words: str, default: Json = None, usual: str = "", needed: bool = False) -> Member:
    """A member that the encoder itself reads."""
    return Member(name, OTHER, words, default, usual, needed)


WIRE: Final = other("$wire", "forms other than the usual ones")
DAMAGED: Final = (  # of what did not decode, in place of its members
    hexadecimal("data", "the bytes, in place of all other members"),
    other("error", "why the bytes did not decode; not encoded"),
)
PARTIAL: Final = other("partial", "what did decode of the bytes; not encoded")


class Schema:
    """The members of one kind of object; `title` names it ("body of a request")."""

    def __init__(self, title: str, *members: Member) -> None:
        self.title: Final = title
        self.members: Final[dict[str, Member]] = {member.name: member for member in members}
        self.needed: Final = tuple([member.name for member in members if member.needed])

    def members_of(self, value: Json, where: Path | str, what: str) -> dict[str, Json]:
        """An object with no other members; `what` names what was expected. Raises EncodeError."""
        given = object_of(value, where, what)
        only(given, self.members, where)
        return given

    def require(self, given: dict[str, Json], where: Path | str, what: str) -> None:
        """Refuse an object without a member that is needed; `what` names the object ("a request")."""
        for name in self.needed:
            self.require_member(name, given, where, what)

    def require_member(self, name: str, given: dict[str, Json], where: Path | str, what: str) -> None:
        """Refuse an object without this member, if it is needed; `what` as of `require`."""
        if name not in given and self.members[name].needed:
            raise wrong(where, f'{what} needs the member "{name}"')

    def value(self, given: dict[str, Json], name: str) -> Json:
        """A member as it is given, or its default."""
        if name in given:
            return given[name]
        return self.members[name].default

    def number(self, given: dict[str, Json], name: str, where: str = "", usual: Json = None) -> int:
        """A member that is an integer; `usual` if it is left out and its default depends on others."""
        member = self.members[name]
        value = given.get(name, member.default if usual is None else usual)
        path = f"{where}.{name}" if where else name
        if member.kind == FLAGS:
            return flags_of(value, member.names, path, member.high, *member.prefixes)
        return number_of(value, member.names, path, member.low, member.high, *member.prefixes)

    def flag(self, given: dict[str, Json], name: str, where: str = "", usual: Json = None) -> bool:
        """A member that is true or false."""
        value = given[name] if name in given else self.members[name].default if usual is None else usual
        if not isinstance(value, bool):
            raise EncodeError(f"{where}.{name}" if where else name, "expected true or false")
        return value

    def word(self, given: dict[str, Json], name: str, where: str = "") -> str:
        """A member that is one of a few words."""
        return one_of(
            self.value(given, name), self.members[name].choices, f"{where}.{name}" if where else name
        )

    def hex(self, given: dict[str, Json], name: str, where: str = "") -> bytes:
        """A member that is bytes; none if it is left out and has no default."""
        value = self.value(given, name)
        if name not in given and value is None:
            return b""
        return hex_bytes(value, f"{where}.{name}" if where else name)

    def text(self, given: dict[str, Json], name: str, where: str = "") -> bytes:
        """A member that is text, as UTF-8."""
        return text_bytes(self.value(given, name), f"{where}.{name}" if where else name)


class Notation:
    """What messages of a protocol look like in JSON.

    `objects` are the kinds of objects, the message first. `examples` are messages to start from, by what they
    are ("request"). `values` describe the tags of values, where there are some.
    """

    def __init__(
        self,
        objects: tuple[Schema, ...],
        examples: dict[str, Json],
        values: dict[str, str] | None = None,
    ) -> None:
        self.objects: Final = objects
        self.examples: Final = examples
        self.values: Final[dict[str, str]] = {} if values is None else values
