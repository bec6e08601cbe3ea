"""Fields of rows and their types: what a value of an expression means for them, and the test that it makes.

A test takes one value of a field. `Field.get` gives a row's value, None if it has none, or with `several`
all its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from wirelens.cli.where import values
from wirelens.cli.where.language import WhereError
from wirelens.codecs.words import quote, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Final, TypeAlias

    from wirelens.cli.where.language import Comparison
    from wirelens.cli.where.values import Range
    from wirelens.codecs import Json

    Test: TypeAlias = Callable[[Any], bool]

Row = TypeVar("Row")
SHOWN: Final = 40  # characters of a value in errors
ARROW: Final = " > "  # in the text of each flow
A_FLOW: Final = "tcp 10.0.0.1:40000 > 10.0.0.2:20880"
ADDRESSES_KEPT: Final = 1 << 12  # addresses whose network is known
WORDS_SHOWN: Final = 40  # known values in errors

HEADER: Final = 0  # what it costs to get a field: known without looking into the message
MESSAGE: Final = 1  # from the decoded message
TEXT: Final = 2  # a line of text is made
TREE: Final = 3  # all of the message's JSON is made


class Type:
    """A type of fields: its operators, and the test of a value for each of them."""

    def __init__(self, name: str, operators: Sequence[str], example: str = "") -> None:
        self.name: Final = name
        self.operators: Final = operators
        self.example: Final = example

    def test(self, comparison: Comparison, operator: str) -> Test:
        """The test for an operator that is not a negative one. Raises WhereError."""
        raise NotImplementedError

    def refused(self, comparison: Comparison) -> WhereError:
        """The error about a value that is not of this type."""
        value = comparison.value
        return WhereError(value.column, f"{shown(value.text)} is not {self.name}; as {self.example}")


class TextType(Type):
    """Text: = is exact, ~ contains, whatever the case."""

    def __init__(self) -> None:
        super().__init__("a text", ("=", "!=", "~", "!~"))

    def test(self, comparison: Comparison, operator: str) -> Test:
        """The test for `=` or `~`."""
        text = comparison.value.text
        if operator == "=":
            return text.__eq__
        part = text.lower()
        return lambda value: part in value.lower()


class RangeType(Type):
    """Whole numbers, which are written as `read` reads them: durations, sizes, times, numbers."""

    def __init__(self, name: str, example: str, read: Callable[[str], Range | None]) -> None:
        super().__init__(name, ("=", "!=", "<", "<=", ">", ">="), example)
        self.read: Final = read

    def test(self, comparison: Comparison, operator: str) -> Test:
        """The test for `=`, `<`, `<=`, `>` or `>=`."""
        found = self.read(comparison.value.text)
        if found is None:
            raise self.refused(comparison)
        first, end = found
        if operator == "=":
            return first.__eq__ if end == first + 1 else lambda value: first <= value < end
        if operator == "<":
            return first.__gt__
        if operator == "<=":
            return end.__gt__
        return end.__le__ if operator == ">" else first.__le__


class AddressType(Type):
    """Addresses with a port, as (bytes, port)."""

    def __init__(self) -> None:
        super().__init__("an address", ("=", "!="), "10.0.0.1, 10.0.0.1:20880, [::1]:80, 10.0.0.0/24")

    def test(self, comparison: Comparison, operator: str) -> Test:
        """The test for `=`."""
        found = values.addresses(comparison.value.text)
        if found is None:
            raise self.refused(comparison)
        bits, mask, length, port = found
        known: dict[bytes, bool] = {}  # addresses that were asked about

        def test(value: tuple[bytes, int]) -> bool:
            host, number = value
            if port is not None and number != port:
                return False
            is_in = known.get(host)
            if is_in is None:
                if len(known) >= ADDRESSES_KEPT:
                    known.clear()
                is_in = known[host] = len(host) == length and int.from_bytes(host, "big") & mask == bits
            return is_in

        return test


class TruthType(Type):
    """True or false."""

    def __init__(self) -> None:
        super().__init__("true or false", ("=", "!="), "true, false")

    def test(self, comparison: Comparison, operator: str) -> Test:
        """The test for `=`."""
        text = comparison.value.text
        if text not in ("true", "false"):
            raise self.refused(comparison)
        wanted = text == "true"
        return lambda value: value is wanted


class NumberedType(Type):
    """Texts that may be numbers, as ids are: compared as numbers where both are, else as texts."""

    def __init__(self, name: str) -> None:
        super().__init__(name, ("=", "!=", "~", "!~", "<", "<=", ">", ">="), "5")

    def test(self, comparison: Comparison, operator: str) -> Test:
        """The test for an operator."""
        text = comparison.value.text
        if operator == "~":
            part = text.lower()
            return lambda value: part in value.lower()
        wanted = values.number(text)
        if operator == "=":
            if wanted is None:
                return text.__eq__
            return lambda value: value == text or values.number(value) == wanted
        if wanted is None:
            raise WhereError(
                comparison.value.column, f"{shown(text)} is not a number, and {operator} takes one"
            )
        compare = values.comparing(operator, wanted)
        return lambda value: (number := values.number(value)) is not None and compare(number)


class FlowType(Type):
    """A flow: its number, or its text. Values are (number, text)."""

    def __init__(self) -> None:
        super().__init__("a flow", ("=", "!=", "~", "!~", "<", "<=", ">", ">="), f"3, {A_FLOW}")

    def test(self, comparison: Comparison, operator: str) -> Test:
        """The test for an operator."""
        text = comparison.value.text
        if operator == "~":
            part = text.lower()
            return lambda value: part in value[1].lower()
        found = values.whole(text)
        if found is None:
            if operator == "=" and ARROW in text:
                return lambda value: value[1] == text
            raise self.refused(comparison)
        test = RangeType(self.name, self.example, values.whole).test(comparison, operator)
        return lambda value: test(value[0])


class FlowTextType(TextType):
    """The text of a flow, where flows have no numbers yet."""

    def test(self, comparison: Comparison, operator: str) -> Test:
        """The test for `=` or `~`."""
        value = comparison.value
        if operator == "=" and value.text.isdecimal():
            raise WhereError(value.column, f"flows are not numbered yet; as {A_FLOW}")
        if operator == "=" and ARROW not in value.text:
            raise WhereError(value.column, f"{shown(value.text)} is not a flow; as {A_FLOW}")
        return super().test(comparison, operator)


TEXTS: Final = TextType()
FLOW_TEXTS: Final = FlowTextType()
DURATIONS: Final = RangeType("a duration", "100ms, 1.5s, 2min", values.duration)
SIZES: Final = RangeType("a size", "512, 64kB, 1.5MiB", values.size)
NUMBERS: Final = RangeType("a number", "5", values.whole)
TIMES: Final = RangeType("a time", "2026-01-17, 2026-01-17T10:40:01.25, …Z, …+08:00", values.time)
ADDRESSES: Final = AddressType()
TRUTHS: Final = TruthType()
IDS: Final = NumberedType("an id")
FLOWS: Final = FlowType()


class Field(NamedTuple, Generic[Row]):
    """A field of rows.

    `get`: its value, or with `several` its values. `listed`: a list that each row has, so that what is
    negative is true of an empty one. `words`: the values that there can be, if they are known.
    """

    kind: Type
    get: Callable[[Row], Any]
    cost: int = HEADER
    several: bool = False
    listed: bool = False
    words: Callable[[], Collection[str]] | None = None


class Fields(NamedTuple, Generic[Row]):
    """What an expression may name.

    `text`: the field that text alone is looked for in. `trees`: what makes the JSON trees that paths go
    through, by the path's first name; several for a name that stands for more than one message. `anywhere`:
    the first name of paths that begin with `..`. `elsewhere`: fields of other commands, with where they are.
    """

    named: Mapping[str, Field[Row]]
    text: Field[Row]
    trees: Mapping[str, Callable[[Row], Sequence[Json]]]
    anywhere: str
    elsewhere: Mapping[str, str]

    @property
    def names(self) -> set[str]:
        """All names that are known, those of other commands too."""
        return {*self.named, *self.trees, *self.elsewhere}


def shown(text: str) -> str:
    """A value in an error."""
    return quote(shortened(text, SHOWN))


def check_word(comparison: Comparison, operator: str, words: Collection[str]) -> None:
    """Check a value of a field whose values are known. Raises WhereError, which lists them."""
    text = comparison.value.text
    name = comparison.path.root
    part = text.lower()
    if text.isdecimal():  # a number that has no name
        return
    if text in words if operator == "=" else any(part in word.lower() for word in words):
        return
    raise WhereError(
        comparison.value.column,
        f"{shown(text)} is not a value of {name}; {near(text, words)}{listing(words)}",
    )


def near(text: str, words: Collection[str]) -> str:
    """A question with the word that may be meant, "" if none is near."""
    from wirelens.codecs.json_input import nearest_name

    nearest = nearest_name(text, words)
    return f"is {nearest} meant? " if nearest else ""


def listing(words: Collection[str]) -> str:
    """The list of words, as a clause."""
    first = sorted(words, key=lambda word: (word.isupper(), word))
    more = ", …" if len(first) > WORDS_SHOWN else ""
    return f"there are {', '.join(first[:WORDS_SHOWN])}{more}"
