"""Paths into a message's JSON, and comparisons with what they lead to.

Tags are no steps: a path goes through `$list`, `$map`, `$fields` and `$value` to what they hold, and a
tagged scalar counts as its value. A `$ref` is not followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.cli.where.values import Range, comparing, number, time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Final

    from wirelens.cli.where.language import Step, Value
    from wirelens.codecs import Json

CONTENTS: Final = ("$list", "$map", "$fields", "$value")  # tags of what holds other values
PAIRS: Final = ("$map", "$fields")  # those whose content may be pairs of key and value
SCALARS: Final = frozenset(
    {
        "$long",
        "$int",
        "$int8",
        "$int16",
        "$int32",
        "$int64",
        "$uint",
        "$uint8",
        "$uint16",
        "$uint32",
        "$uint64",
    }
    | {"$float32", "$double", "$bool", "$string", "$bytes", "$date", "$raw", "$xml", "$null", "$value"}
)
WORDS: Final = {"true": True, "false": False, "null": None}
DATE: Final = "$date"


def found(tree: Json, steps: tuple[Step, ...]) -> Iterable[Json]:
    """The values to which the steps lead, in the order of the JSON."""
    values: Iterable[Json] = (tree,)
    for step in steps:
        values = _after(values, step)
    return values


def _after(values: Iterable[Json], step: Step) -> Iterator[Json]:
    for value in values:
        if step.anywhere:
            yield from _anywhere(value, str(step.key))
        elif isinstance(step.key, str):
            yield from _members(value, step.key)
        else:
            yield from _items(value, step.key)


def _members(value: Json, key: str) -> Iterator[Json]:
    """The members of an object with this name: one, or several where it repeats."""
    while isinstance(value, dict):
        if key in value:
            yield value[key]
            return
        tag = next((tag for tag in CONTENTS if tag in value), "")
        content = value.get(tag)
        if tag in PAIRS and isinstance(content, list):
            for pair in content:
                if isinstance(pair, list) and len(pair) == 2 and _is_key(pair[0], key):
                    yield pair[1]
            return
        value = content


def _is_key(value: Json, key: str) -> bool:
    """Whether a key of a map is a text or a number that reads like this."""
    plain = scalar(value)
    return plain == key or (isinstance(plain, int) and not isinstance(plain, bool) and str(plain) == key)


def _items(value: Json, place: int | None) -> Iterator[Json]:
    """An item of a list, or (None) all of them."""
    while isinstance(value, dict):
        value = next((value[tag] for tag in ("$list", "$value") if tag in value), None)
    if isinstance(value, list):
        if place is None:
            yield from value
        elif -len(value) <= place < len(value):
            yield value[place]


def _anywhere(value: Json, key: str) -> Iterator[Json]:
    """The members with this name at any depth."""
    stack: list[Json] = [value]
    while stack:
        inner = stack.pop()
        if isinstance(inner, dict):
            if key in inner:
                yield inner[key]
            for tag in PAIRS:
                pairs = inner.get(tag)
                if isinstance(pairs, list):
                    yield from _members({tag: pairs}, key)
            stack.extend(reversed(inner.values()))
        elif isinstance(inner, list):
            stack.extend(reversed(inner))


def scalar(value: Json) -> Json:
    """What a tagged scalar holds; any other value as it is."""
    while isinstance(value, dict):
        tag = next(iter(SCALARS & value.keys()), "")
        if not tag:
            break
        value = value[tag]
    return value


def _number_of(value: Json) -> int | float | None:
    """A number, also of a text that is one, None for anything else."""
    if isinstance(value, str):
        return number(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return None


def _date(value: Json) -> Range | None:
    """The microseconds that a date stands for, None for anything else."""
    if not isinstance(value, dict) or DATE not in value:
        return None
    date = value[DATE]
    if isinstance(date, str):
        return time(date)
    if isinstance(date, int) and not isinstance(date, bool):
        return Range(date * 1000, date * 1000 + 1)
    return None


def equal(value: Value) -> Callable[[Json], bool]:
    """Whether a value of JSON is equal to the one of an expression."""
    text = value.text
    if value.quoted:
        return lambda found: scalar(found) == text
    wanted = number(text)
    if wanted is not None:
        return lambda found: (plain := scalar(found)) == text or _number_of(plain) == wanted
    if text in WORDS:
        word = WORDS[text]
        return lambda found: (plain := scalar(found)) is word or plain == text
    moment = time(text)
    if moment is None:
        return lambda found: scalar(found) == text
    first, end = moment

    def is_within(found: Json) -> bool:
        date = _date(found)
        return scalar(found) == text if date is None else first <= date.first < end

    return is_within


def containing(value: Value) -> Callable[[Json], bool]:
    """Whether a value of JSON is a text that contains the one of an expression."""
    part = value.text.lower()

    def contains(found: Json) -> bool:
        plain = scalar(found)
        return isinstance(plain, str) and part in plain.lower()

    return contains


def ordered(operator: str, value: Value) -> Callable[[Json], bool] | None:
    """Whether a value of JSON is before or after the one of an expression; None if that has no order."""
    if value.quoted:
        return None
    bound = number(value.text)
    if bound is not None:
        return _number_test(operator, bound)
    moment = time(value.text)
    return None if moment is None else _date_test(operator, moment)


def _number_test(operator: str, bound: int | float) -> Callable[[Json], bool]:
    compare = comparing(operator, bound)

    def test(found: Json) -> bool:
        value = _number_of(scalar(found))
        return value is not None and compare(value)

    return test


def _date_test(operator: str, moment: Range) -> Callable[[Json], bool]:
    first, end = moment

    def test(found: Json) -> bool:
        date = _date(found)
        if date is None:
            return False
        at = date.first
        if operator == "<":
            return at < first
        if operator == "<=":
            return at < end
        return at >= end if operator == ">" else at >= first

    return test
