"""Writing Hessian values of any dialect from the notation's JSON, as the dialect's Java writer sends them.

The writer's choices (the notes on deployed software, section 1.1) are the default; `$wire` (see forms.py)
gives the form where a sender chose otherwise. Dates, numbers, texts and class definitions are written by
the modules whose classes `Encoder` extends.
"""

from collections.abc import Sequence
from typing import Any, Final

from librt.strings import BytesWriter, write_i32_be
from mypy_extensions import i32, i64, mypyc_attr, u8

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.class_encoding import (
    USUAL,
    KnownClass,
    class_key,
    new_class,
)
from wirelens.codecs.hessian.json_path import (
    FIELD_PAIRS,
    FIELDS,
    ITEMS,
    KEYS,
    PAIRS,
    TAGGED_ITEMS,
    TAGGED_KEYS,
    Frame,
)
from wirelens.codecs.hessian.leaf_encoding import Leaves
from wirelens.codecs.hessian.numbering import Numbering
from wirelens.codecs.hessian.schema import VALUES
from wirelens.codecs.hessian.texts import cesu8
from wirelens.codecs.hessian.well_known_classes import VALUED
from wirelens.codecs.json_input import NOT_FINITE, did_you_mean, hex_bytes, none_of
from wirelens.codecs.node import ONLY_VALUE, Json
from wirelens.codecs.tape import MOST_LEVELS

# Kinds of tagged values.
_NULL: Final = 0
_BOOL: Final = 1
_INT: Final = 2
_LONG: Final = 3
_DOUBLE: Final = 4
_DATE: Final = 5
_STRING: Final = 6
_RAW: Final = 7
_BYTES: Final = 8
_XML: Final = 9
_REMOTE: Final = 10
_REF: Final = 11
_LIST: Final = 12
_MAP: Final = 13


class _Tag:
    """The kind of value that a tag stands for, and the members that may accompany it."""

    def __init__(self, kind: i64, *others: str) -> None:
        self.kind: Final = kind
        self.others: Final = (*others, "$wire")


TAGS: Final[dict[str, _Tag]] = {
    "$null": _Tag(_NULL),
    "$bool": _Tag(_BOOL),
    "$int": _Tag(_INT),
    "$long": _Tag(_LONG),
    "$double": _Tag(_DOUBLE),
    "$date": _Tag(_DATE),
    "$string": _Tag(_STRING),
    "$raw": _Tag(_RAW),
    "$bytes": _Tag(_BYTES),
    "$xml": _Tag(_XML),
    "$remote": _Tag(_REMOTE, "url"),
    "$ref": _Tag(_REF),
    "$list": _Tag(_LIST, "$type", "$id"),
    "$map": _Tag(_MAP, "$type", "$id"),
}

OBJECT_KEYS: Final = ("$class", "$id", "$wire", "$fields", ONLY_VALUE)  # of an object, besides its fields

_NO_NAMES: Final[list[str]] = []  # of fields
AS_TEXT: Final = 1 << 32  # in place of the number of a type: it is written as text,
NO_TYPE: Final = AS_TEXT + 1  # or there is none


@mypyc_attr(acyclic=True)
class Encoder(Leaves):
    """Writes values that share one scope: one reference table, one class table, one type table."""

    def __init__(self, out: BytesWriter, dialect: int) -> None:
        super().__init__(out, dialect)
        self.count: i64 = 0  # of lists, maps and objects so far
        self.types: Final = Numbering()
        self.labels: dict[str | int, int] = {}

    def clear_references(self) -> None:
        """Drop the references, as between packets; classes and types stay."""
        self.count = 0
        self.labels = {}

    def values(self, items: Json, path: str) -> None:
        """Write an array's values, one after the other. Raises EncodeError."""
        if not isinstance(items, list):
            raise EncodeError(path, "expected an array of values")
        self.base = path
        for position, item in enumerate(items):
            self.position = position
            self._value(item)
        self.position = -1

    def value(self, value: Json, path: str) -> None:
        """Write one value; `path` is its place in the JSON. Raises EncodeError."""
        self.base = path
        self.position = -1
        self._value(value)

    def _value(self, value: Json) -> None:
        out = self.out
        self.frame = None
        item: Any = value
        while True:
            if self.leaf(item):
                pass
            elif isinstance(item, dict):
                self._dict(item)
            elif isinstance(item, list):
                self._list(item, None, USUAL, ITEMS)
            else:
                self.write_long(item)
            frame: Frame | None = self.frame
            while frame is not None and frame.next == frame.size:
                if frame.closer >= 0:
                    out.append(u8(frame.closer))
                frame = frame.outer
                self.frame = frame
            if frame is None:
                return
            item = frame.items[frame.next]
            frame.next += 1

    # --- tagged values ----------------------------------------------------------------------------------

    def _dict(self, item: dict[str, Any]) -> None:
        """Write a value given as a JSON object: an object, a map, or a tagged value."""
        if self._usual(item, None):
            return
        name = item["$class"]
        if isinstance(name, str) and self.dialect != d.V1:
            known = new_class(name, list(item.keys()))
            if known is not None and self._usual(item, known):
                return
        self._unusual_object(item)

    def _usual(self, item: dict[str, Any], known: KnownClass | None) -> bool:
        """Write a map, a tagged value, or an object of a class that is given or known by its name.

        Of an object, this writes all up to the first field that is no leaf; the others come next. False, and
        nothing is written, if its keys are not those of the class, maybe with `$id` after the first. One loop
        for all of this, as each step of it takes 0.2 % of a message; lists of keys and of values take longer.
        """
        out = self.out
        size: i64 = len(out)
        classes = self.class_count()
        keys = _NO_NAMES
        at: i64 = 0
        labelled = False
        rest: list[Any] | None = None
        for name, value in item.items():
            if at == 0:  # the first member decides
                if name != "$class":
                    self._map_or_tagged(item, name, value)
                    return True
                if known is None:
                    known = self.known_class(value)
                    if known is None:
                        return False
                keys = known.keys
                self.open_object(known)
                at = 1
            elif at < len(keys) and name == keys[at]:
                at += 1
                if rest is not None:
                    rest.append(value)
                elif not self.leaf(value):
                    rest = [value]
            elif at == 1 and name == "$id":
                labelled = True
            else:
                break
        else:
            if at == 0:
                self._map_or_tagged(item, "", None)
                return True
            if at == len(keys):
                if labelled:
                    self._label(item)
                if rest is None:
                    self._count_one()
                else:
                    self._open(rest, FIELDS, keys, -1)
                return True
        out.truncate(size)
        if self.class_count() > classes:
            self.forget_last()
        return False

    def _map_or_tagged(self, item: dict[str, Any], name: str, value: Any) -> None:
        """Write a map, or a tagged value, by its first member."""
        if name and ord(name[0]) == 0x24:  # $; the usual ones need no table
            if name == "$ref" and len(item) == 1:
                self._reference(value, None)
            elif name == "$type" and len(item) == 2 and self.dialect == d.FINAL:
                self._type_and_value(item, value)
            else:
                self._tagged(item)
            return
        out = self.out
        size: i64 = len(out)
        out.append(0x48)
        rest: list[Any] | None = None
        for key, member in item.items():
            if key and ord(key[0]) == 0x24:
                out.truncate(size)
                self._tagged(item)
                return
            if rest is not None:
                rest.append(key)
                rest.append(member)
            elif self.dialect == d.FINAL:
                self.write_text(key)
                if not self.leaf(member):
                    rest = [key, member]
        if self.dialect != d.FINAL:
            out.truncate(size)
            self._map(item, None, USUAL, KEYS)
        elif rest is None:
            self._count_one()
            out.append(0x5A)
        else:
            self._open(rest, KEYS, _NO_NAMES, 0x5A, 1)

    def _type_and_value(self, item: dict[str, Any], kind: Json) -> None:
        """Write a typed list in its usual form, or leave a value of another tag to `_tagged`."""
        items = item.get("$list")
        if not isinstance(items, list) or not isinstance(kind, str) or not kind:
            self._tagged(item)
            return
        out = self.out
        size: i64 = len(items)
        out.append(u8(0x70 + size) if size <= 7 else 0x56)
        content, units = cesu8(kind)
        number = self.types.find(content)
        if number >= 0:
            self.write_int(number)
        else:
            self.write_content(kind, content, units)
            self.types.add(content)
        if size > 7:
            self.write_int(size)
        self._open(items, TAGGED_ITEMS, _NO_NAMES, -1, self.leaves(items))

    def _tagged(self, item: dict[str, Json]) -> None:
        """Write a value given as a JSON object with a key that starts with $."""
        if "$class" in item:
            self._unusual_object(item)
            return
        name = ""
        tag: _Tag | None = None
        for key in item:
            if key.startswith("$"):
                name = key
                tag = TAGS.get(key)
                if tag is not None:
                    break
        if tag is None:
            near = none_of(name, VALUES[self.dialect])
            raise self.error(f"as a tag, {near} (a map with such keys needs $map)")
        kind = tag.kind
        value = item[name]
        wire: Json = None
        if len(item) > 1:
            wire = self._tag_wire(item, name, tag)
        if kind == _LONG:
            self.write_long_as(self._integer_under(value, name), wire)
        elif kind == _LIST or kind == _MAP:
            self._label(item)
            if wire is None:
                wire = USUAL
            if not isinstance(wire, dict):
                raise self.error("expected an object", ".$wire")
            if kind == _MAP:
                self._map(value, item.get("$type"), wire, TAGGED_KEYS)
            elif isinstance(value, list):
                self._list(value, item.get("$type"), wire, TAGGED_ITEMS)
            else:
                raise self.error("expected an array", ".$list")
        elif kind == _STRING:
            self.string(value, wire)
        elif kind == _RAW:
            self.string({"$raw": value}, wire)
        elif kind == _REF:
            self._reference(value, wire)
        elif kind == _BYTES:
            self.binary(hex_bytes(value, self.error("", ".$bytes").path), wire)
        elif kind == _DATE:
            self.write_date(value, wire)
        elif kind == _XML:
            if self.dialect == d.FINAL:
                raise self.error("hessian2 has no XML values")
            self.string(value, wire, "", True)
        elif kind == _REMOTE:
            self._remote(item, wire)
        elif kind == _DOUBLE:
            number = NOT_FINITE.get(value) if isinstance(value, str) else value
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise self.error('expected a number, "NaN", "Infinity" or "-Infinity"', ".$double")
            try:
                self.write_double_as(float(number), wire)
            except OverflowError:
                raise self.error(f"{number} is too large for a double", ".$double") from None
        elif kind == _INT:
            small = self.within(self._integer_under(value, name), 32, ".$int")
            self.write_int_as(small, wire, ".$wire")
        else:
            if (value is not None) if kind == _NULL else not isinstance(value, bool):
                raise self.error("expected null" if kind == _NULL else "expected true or false", "." + name)
            if wire is not None:
                raise self.error("null and booleans have only one form", ".$wire")
            self.out.append(0x4E if value is None else 0x54 if value else 0x46)

    def _tag_wire(self, item: dict[str, Json], name: str, tag: _Tag) -> Json:
        """Write the class definitions in the `$wire` of a tagged value; the rest of that `$wire`."""
        for key in item:
            if key != name and key not in tag.others:
                others = ", ".join(tag.others)
                near = did_you_mean(key, tag.others)
                raise self.error(f"{key} cannot accompany {name}; there are {others}{near}")
        wire = item.get("$wire")
        if isinstance(wire, dict) and "define" in wire:
            self.define(wire["define"])
            wire = {key: form for key, form in wire.items() if key != "define"}
            if tag.kind != _LIST and tag.kind != _MAP:
                wire = wire.get("form")
        return wire

    def _integer_under(self, value: Json, name: str) -> int:
        """The integer under a tag."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error("expected an integer", "." + name)
        return value

    def _label(self, item: dict[str, Json]) -> None:
        """Keep the label of the list, map or object that comes next."""
        if "$id" not in item:
            return
        label = item["$id"]
        if isinstance(label, bool) or not isinstance(label, (int, str)):
            raise self.error("expected a label: text or a number", ".$id")
        if label in self.labels:
            raise self.error(f"the label {label!r} is given twice in one scope", ".$id")
        self.labels[label] = self.count

    def _reference(self, label: Json, form: Json) -> None:
        out = self.out
        if isinstance(label, bool) or not isinstance(label, (int, str)):
            raise self.error("expected a label: text or a number", ".$ref")
        number = self.labels.get(label)
        if number is None:
            if isinstance(label, str):
                near = did_you_mean(label, [known for known in self.labels if isinstance(known, str)])
                raise self.error(f"no $id before it has the label {label!r}{near}", ".$ref")
            number = label  # an index on the wire
        if self.dialect == d.FINAL:
            out.append(0x51)
            self.within(number, 32, ".$ref")
            self.write_int_as(number, form, ".$wire")
            return
        if form is None:
            form = "R"
            if self.dialect != d.V1 and 0 <= number <= 0xFFFF:
                form = "byte" if number <= 0xFF else "short"
        if form == "R":
            out.append(0x52)
            write_i32_be(out, i32(self.within(number, 32, ".$ref")))
        elif form == "byte" and self.dialect != d.V1 and 0 <= number <= 0xFF:
            out.append(0x4A)
            out.append(number)
        elif form == "short" and self.dialect != d.V1 and 0 <= number <= 0xFFFF:
            out.append(0x4B)
            self.write_u16(number)
        else:
            raise self.error(f"the reference {number} has no form {form!r}", ".$wire")

    def _remote(self, item: dict[str, Json], wire: Json) -> None:
        if self.dialect == d.FINAL:
            raise self.error("hessian2 has no remote values")
        if "url" not in item:
            raise self.error('a remote value needs its address, "url"')
        forms = wire if isinstance(wire, dict) else {}
        self.out.append(0x72)
        given = forms.get("type")
        if isinstance(given, int) and not isinstance(given, bool):
            self.out.append(0x75)
            self.write_int_as(given, forms.get("type_form"), ".$wire.type_form")
        else:
            text = item["$remote"] if given is None or given == "text" or given == "empty" else given
            self._type_text("" if text is None else text)
        self.string(item["url"], None, ".url")

    # --- containers -------------------------------------------------------------------------------------

    def _type_text(self, text: Json) -> None:
        """Write a type as text; it gets the next number in the type table."""
        if self.dialect == d.FINAL:
            content, _ = self.text_of(text, None, ".$type")
            self.string(text, None, ".$type")
        else:
            self.out.append(0x74)
            content = self.counted(text, None, ".$type")
        self.types.add(content)

    def _type_number(self, kind: Json, given: Json) -> int:
        """The number as which a type is written, of 32 bits; or AS_TEXT, or NO_TYPE."""
        if isinstance(given, int) and not isinstance(given, bool):
            self.within(given, 32, ".$wire.type")
            return given
        if isinstance(given, dict) or given in ("text", "empty"):
            return AS_TEXT
        if kind is None or kind == "":
            return NO_TYPE
        if self.dialect == d.V1:
            return AS_TEXT
        content, _ = self.text_of(kind, None, ".$type")
        number = self.types.find(content)
        return AS_TEXT if number < 0 else number

    def _typed(self, kind: Json, given: Json) -> Json:
        """The text of a type that is written as text."""
        if isinstance(given, dict):
            return given
        return "" if given == "empty" or kind is None else kind

    def _open(self, items: list[Any], naming: i64, names: list[str], closer: i64, first: i64 = 0) -> None:
        """Make `items`, from index `first` on, the next to write: the members of a list, map or object."""
        self._count_one()
        if first < len(items):
            self.frame = Frame(self.frame, items, naming, names, closer, first)
        elif closer >= 0:
            self.out.append(u8(closer))

    def _count_one(self) -> None:
        """Count a list, map or object."""
        outer = self.frame
        if outer is not None and outer.level >= MOST_LEVELS - 1:
            raise self.error(f"more than {MOST_LEVELS:,} containers inside one another")
        self.count += 1

    def _list(self, items: list[Any], kind: Json, wire: dict[str, Json], naming: i64) -> None:
        """Write the head of a list; its items follow."""
        out = self.out
        size = len(items)
        if self.dialect == d.FINAL and kind is None and size <= 7 and not wire:
            out.append(0x78 + size)
            self._open(items, naming, _NO_NAMES, -1, self.leaves(items))
            return
        given = wire.get("type")
        number = self._type_number(kind, given)
        declared: Json = wire.get("length", size)
        length_form = wire.get("length_form")
        form = wire.get("form")
        if declared is not None:
            if isinstance(declared, bool) or not isinstance(declared, int):
                raise self.error("expected a length, or null for none", ".$wire.length")
            self.within(declared, 32, ".$wire.length")
        closer = -1
        if self.dialect == d.FINAL:
            if number == NO_TYPE:
                if declared is None:
                    out.append(0x57)
                    closer = 0x5A
                elif declared <= 7 and form is None:
                    out.append(0x78 + declared)
                else:
                    out.append(0x58)
                    self.write_int_as(declared, length_form, ".$wire.length_form")
            else:
                if declared is None:
                    out.append(0x55)
                    closer = 0x5A
                elif declared <= 7 and form is None:
                    out.append(0x70 + declared)
                else:
                    out.append(0x56)
                if number < AS_TEXT:
                    self.write_int_as(number, wire.get("type_form"), ".$wire.type_form")
                else:
                    self._type_text(self._typed(kind, given))
                if declared is not None and (declared > 7 or form is not None):
                    self.write_int_as(declared, length_form, ".$wire.length_form")
            if declared is not None and declared != size:
                raise self.error("a list of hessian2 has as many items as its length", ".$wire.length")
        elif number < AS_TEXT and form != "V":
            if self.dialect == d.V1 or declared is None:
                raise self.error("the number of a type needs a length after it, and the draft", ".$wire.type")
            out.append(0x76)
            self.write_int_as(number, wire.get("type_form"), ".$wire.type_form")
            self.write_int_as(declared, length_form, ".$wire.length_form")
        else:
            out.append(0x56)
            closer = 0x7A
            if number < AS_TEXT:
                out.append(0x75)
                self.write_int_as(number, wire.get("type_form"), ".$wire.type_form")
            elif number == AS_TEXT:
                self._type_text(self._typed(kind, given))
            if declared is not None:
                if self.dialect != d.V1 and 0 <= declared < 256 and length_form is None:
                    out.append(0x6E)
                    out.append(declared)
                else:
                    out.append(0x6C)
                    write_i32_be(out, i32(declared))
        self._open(items, naming, _NO_NAMES, closer, self.leaves(items))

    def _map(self, value: Json, kind: Json, wire: dict[str, Json], naming: i64) -> None:
        """Write the head of a map; its keys and values follow."""
        out = self.out
        items: list[Json] = []
        if isinstance(value, dict):
            for key, member in value.items():
                items.append(key)
                items.append(member)
        elif isinstance(value, list):
            naming = PAIRS
            for position, pair in enumerate(value):
                if not isinstance(pair, list) or len(pair) != 2:
                    raise self.error("expected a pair [key, value]", f".$map[{position}]")
                items.extend(pair)
        else:
            raise self.error("expected an object, or an array of pairs [key, value]", ".$map")
        if self.dialect == d.FINAL and kind is None and not wire:
            out.append(0x48)
            self._open(items, naming, _NO_NAMES, 0x5A)
            return
        given = wire.get("type")
        number = self._type_number(kind, given)
        if self.dialect == d.FINAL:
            out.append(0x48 if number == NO_TYPE else 0x4D)
        else:
            out.append(0x4D)
            if number == NO_TYPE and self.dialect == d.V1 and given != "absent":
                number = AS_TEXT
        if number < AS_TEXT:
            if self.dialect != d.FINAL:
                out.append(0x75)
            self.write_int_as(number, wire.get("type_form"), ".$wire.type_form")
        elif number == AS_TEXT:
            self._type_text(self._typed(kind, given))
        self._open(items, naming, _NO_NAMES, 0x5A if self.dialect == d.FINAL else 0x7A)

    def _unusual_object(self, item: dict[str, Json]) -> None:
        """Write the head of an object that has more than a class and fields, or of any object in 1.0."""
        out = self.out
        name = item["$class"]
        texts: list[str] = []
        items: list[Json] = []
        for key, member in item.items():
            if not key or ord(key[0]) != 0x24:  # $
                texts.append(key)
                items.append(member)
        forms = USUAL
        names: Sequence[Json] = texts
        naming = FIELDS
        if len(texts) + 1 < len(item):
            forms = self._object_forms(item)
            if "$fields" in item:
                names, items = self._field_pairs(item["$fields"], texts)
                naming = FIELD_PAIRS
        valued = self.dialect == d.FINAL and name in VALUED and not names
        if ONLY_VALUE in item:
            if not valued:
                raise self.error(f"only objects of {', '.join(VALUED)} have one, in hessian2", ".$value")
            items = [item[ONLY_VALUE]]
            texts = [ONLY_VALUE]
        elif valued:
            raise self.error(f'{name} without fields needs its value, "{ONLY_VALUE}"')
        if self.dialect == d.V1:
            self._object_as_map(name, names, items)
            return
        identity = class_key(name, names)
        if forms:
            number = self._class_number(identity, name, names, forms)
        else:
            number = self.number_by_key(identity)
            if number < 0:
                number = self.class_count()
                self.define_one(name, names, forms)
        short = "form" not in forms and "class_form" not in forms
        if short and self.dialect == d.FINAL and 0 <= number <= 15:
            out.append(0x60 + number)
        else:
            out.append(0x4F if self.dialect == d.FINAL else 0x6F)
            self.write_int_as(number, forms.get("class_form"), ".$wire.class_form")
        self._open(items, naming, texts, -1)

    def _field_pairs(self, pairs: Json, texts: list[str]) -> tuple[list[Json], list[Json]]:
        """The names and the values of fields given as pairs."""
        if texts:
            raise self.error("an object has its fields either next to $class or in $fields")
        if not isinstance(pairs, list):
            raise self.error("expected an array of pairs [name, value]", ".$fields")
        names: list[Json] = []
        items: list[Json] = []
        for position, pair in enumerate(pairs):
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.error("expected a pair [name, value]", f".$fields[{position}]")
            names.append(pair[0])
            items.append(pair[1])
        return names, items

    def _object_forms(self, item: dict[str, Json]) -> dict[str, Json]:
        """Keep an object's label; its `$wire`."""
        for key in item:
            if key.startswith("$") and key not in OBJECT_KEYS:
                near = did_you_mean(key, OBJECT_KEYS)
                others = ", ".join(OBJECT_KEYS[1:])
                raise self.error(
                    f"{key} cannot accompany $class (fields go in $fields); there are {others}{near}"
                )
        self._label(item)
        wire = item.get("$wire")
        if wire is None:
            return USUAL
        if not isinstance(wire, dict):
            raise self.error("expected an object", ".$wire")
        return wire

    def _class_number(
        self,
        identity: tuple[str | bytes, ...],
        name: Json,
        names: Sequence[Json],
        forms: dict[str, Json],
    ) -> int:
        """Write the definitions that an object's `$wire` asks for; the object's class number."""
        if "define" in forms:
            self.define(forms["define"])
        number = self.number_by_key(identity)
        given = forms.get("class")
        if isinstance(given, int) and not isinstance(given, bool):
            if "define" not in forms and given == self.class_count():
                self.define_one(name, names, forms)
            return given
        if number < 0:
            number = self.class_count()
            self.define_one(name, names, forms)
        return number

    def _object_as_map(self, name: Json, names: Sequence[Json], items: list[Json]) -> None:
        """Write the head of an object in 1.0: a map with the class as its type."""
        self.out.append(0x4D)
        self._type_text(name)
        members: list[Json] = []
        for key, member in zip(names, items, strict=True):
            members.append(key)
            members.append(member)
        self._open(members, KEYS, _NO_NAMES, 0x7A)
