"""Writing class definitions, and the table of those that a scope has."""

from collections.abc import Sequence
from typing import Any, Final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr, u8

from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.numbering import Numbering
from wirelens.codecs.hessian.text_encoding import Texts
from wirelens.codecs.hessian.well_known_classes import VALUED
from wirelens.codecs.json_text import quoted
from wirelens.codecs.node import Json
from wirelens.codecs.scan import SLOTS, slot_of, starts_with

USUAL: Final[dict[str, Json]] = {}  # the `$wire` of a value in its usual form


class KnownClass:
    """A class whose objects have the keys `keys` in the notation: "$class", then the fields."""

    def __init__(self, name: str, keys: list[str]) -> None:
        self.name: Final = name
        self.keys: Final = keys
        self.identity: Final[tuple[str | bytes, ...]] = (name, *keys[1:])  # as `class_key` gives it
        self.place: i64 = 0  # among the classes that are kept, from 1 on; 0 if it is not one
        self.definition = b""  # in the usual form; empty until it is first needed
        # in UTF-8, the keys as JSON text with colons; only of the final dialect
        self.text_name = b""
        self.text_keys: list[bytes] = []


def new_class(name: str, keys: list[str]) -> KnownClass | None:
    """The class of an object with these keys, if they are "$class", maybe "$id", then fields."""
    if len(keys) > 1 and keys[1] == "$id":
        keys = keys[:1] + keys[2:]
    if keys[0] != "$class" or any(key.startswith("$") for key in keys[1:]):
        return None
    return None if len(keys) == 1 and name in VALUED else KnownClass(name, keys)


# The class last defined under a name, by dialect: messages repeat the same few. Of the three caches of class
# definitions (see well_known_classes.py), the one that the JSON keys of an object lead to.
_known: Final[list[dict[str, KnownClass]]] = [{} for _ in d.NAMES]
_KEPT: Final = 1024  # classes in each dialect
_KEPT_BYTES: Final = 4096  # of a definition
# By dialect and place of a class: the class whose object followed last; at 0, the first one.
# It is tried before it is looked up by name, as messages repeat: 2 % of a message.
_followers: Final[list[list[KnownClass | None]]] = [[None] * (_KEPT + 1) for _ in d.NAMES]


def find_known(dialect: int, name: str) -> KnownClass | None:
    """The class last defined under a name in its usual form."""
    return _known[dialect].get(name)


# Those of the final dialect that were found last, by the hash of the name in JSON text.
_by_text: Final[list[KnownClass]] = [KnownClass("", [""])] * SLOTS


def find_by_text(data: bytes, at: i64, end: i64) -> KnownClass | None:
    """The class last defined in the final dialect under the name in data[at:end], printable ASCII."""
    slot = slot_of(data, at, end - at)
    known = _by_text[slot]
    if len(known.text_name) == end - at and starts_with(data, at, known.text_name):
        return known
    other = find_known(d.FINAL, data[at:end].decode())
    if other is not None:
        _by_text[slot] = other
    return other


@mypyc_attr(acyclic=True)
class Classes(Texts):
    """Writes class definitions. Base of `Encoder`."""

    def __init__(self, out: BytesWriter, dialect: int) -> None:
        super().__init__(out, dialect)
        self.definitions: Final = Numbering()  # of known classes; empty bytes for those of others
        self.classes: dict[tuple[str | bytes, ...], int] = {}  # numbers by `class_key`
        self.defined: list[KnownClass] = []  # those that `classes` does not have yet
        self.followers: Final = _followers[dialect]
        self.last_place: i64 = 0  # of the class of the last object

    def number_of(self, known: KnownClass) -> i64:
        """The number of a known class in this scope, after writing its definition if it is new."""
        definition = known.definition
        if len(definition) == 0:
            definition = self._learn(known)
        number = self.definitions.find(definition)
        if number < 0 and len(self.classes) > 0:
            number = self.classes.get(known.identity, -1)
            if number >= 0:
                self.definitions.replace(number, definition)  # bytes keep their hash, tuples do not
        if number < 0:
            number = self.class_count()
            self.definitions.add(definition)
            self.defined.append(known)
            self.out.write(definition)
        return number

    def class_count(self) -> i64:
        """How many classes are defined in this scope."""
        return len(self.definitions.entries)

    def known_class(self, name: Any) -> KnownClass | None:
        """The class last defined in its usual form under a name; None, too, where `$class` is no text."""
        if not isinstance(name, str):
            return None
        known = self.followers[self.last_place]
        if known is None or known.place == 0 or known.name != name:
            known = find_known(self.dialect, name)
            if known is None:
                return None
            self.followers[self.last_place] = known
        self.last_place = known.place
        return known

    def open_object(self, known: KnownClass) -> None:
        """Write the head of an object of a known class."""
        number = self.number_of(known)
        if self.dialect == d.FINAL and number <= 15:
            self.out.append(u8(0x60 + number))
        else:
            self.out.append(0x4F if self.dialect == d.FINAL else 0x6F)
            self.write_int(number)

    def forget_last(self) -> None:
        """Take back the last definition, of a known class."""
        self.definitions.drop_last()
        self.defined.pop()

    def number_by_key(self, key: tuple[str | bytes, ...]) -> int:
        """The number of a class by its `class_key`, -1 if it is not defined yet."""
        for known in self.defined:
            self.classes.setdefault(known.identity, self.definitions.find(known.definition))
        self.defined.clear()
        return self.classes.get(key, -1)

    def define(self, given: Json) -> None:
        """Write the class definitions that `$wire` puts before a value."""
        if self.dialect == d.V1 or not isinstance(given, list):
            raise self.error("expected class definitions, in a dialect that has them", ".$wire.define")
        for entry in given:
            fields = entry.get("fields") if isinstance(entry, dict) else None
            if not isinstance(entry, dict) or not isinstance(fields, list) or "name" not in entry:
                raise self.error('expected {"name", "fields": […]}', ".$wire.define")
            forms = {
                "name": entry.get("name_form"),
                "count": entry.get("count_form"),
                "length": entry.get("length_form"),
            }
            self.define_one(entry["name"], fields, forms)

    def _learn(self, known: KnownClass) -> bytes:
        """The definition of a class in its usual form; the class is known from here on."""
        aside = BytesWriter()
        Classes(aside, self.dialect).define_one(known.name, known.keys[1:], USUAL)
        known.definition = aside.getvalue()
        if len(known.definition) <= _KEPT_BYTES:
            cache = _known[self.dialect]
            if len(cache) >= _KEPT:
                cache.clear()
                self.followers[:] = [None] * len(self.followers)
            last = cache.get(known.name)
            known.place = len(cache) + 1
            if last is not None:
                known.place = last.place
                last.place = 0
            cache[known.name] = known
            if self.dialect == d.FINAL:
                known.text_name = known.name.encode("utf-8", "surrogatepass")
                known.text_keys = [quoted(key) + b":" for key in known.keys]
                _by_text[slot_of(known.text_name, 0, len(known.text_name))] = known
        return known.definition

    def define_one(self, name: Json, fields: Sequence[Json], forms: dict[str, Json]) -> None:
        """Write a class definition; it takes the next number in the class table."""
        out = self.out
        if self.dialect == d.FINAL:
            out.append(0x43)
            self.string(name, None, ".$class")
        else:
            out.append(0x4F)
            form = forms.get("name")
            number = form.get("type") if isinstance(form, dict) else None
            if form == "t":
                out.append(0x74)
                self.counted(name, None, ".$class")
            elif form == "string":
                self.string(name, None, ".$class")
            elif isinstance(number, int) and not isinstance(number, bool):
                out.append(0x75)
                self.write_int_as(number, forms.get("length"), ".$wire.define")
            elif form is None or form == "int":
                content, units = self.text_of(name, None, ".$class")
                self.write_int_as(units, forms.get("length"), ".$wire.define")
                out.write(content)
            else:
                raise self.error(
                    f'unknown form {form!r} of a class name; there are "string", "t" and {{"type": n}}',
                    ".$wire.name",
                )
        self.write_int_as(len(fields), forms.get("count"), ".$wire.define")
        for field in fields:
            self.string(field, None, ".$class")
        key = class_key(name, fields)
        if self.number_by_key(key) < 0:
            self.classes[key] = self.class_count()
        self.definitions.add(b"")


def class_key(name: Json, fields: Sequence[Json]) -> tuple[str | bytes, ...]:
    """The identity of a class: its name and its fields' names."""
    key: list[str | bytes] = [_key_part(name)]
    key.extend([field if isinstance(field, str) else _key_part(field) for field in fields])
    return tuple(key)


def _key_part(text: Json) -> str | bytes:
    if isinstance(text, str):
        return text
    if isinstance(text, dict):
        wire = text.get("$wire")
        plain = text.get("$string")
        if isinstance(plain, str):
            wide = isinstance(wire, dict) and ("units" in wire or "exact" in wire or "utf8" in wire)
            return plain.encode("utf-8", "surrogatepass") if wide else plain
        raw = text.get("$raw")
        if isinstance(raw, str):
            return raw.encode()
    return b""
