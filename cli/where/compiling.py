"""An expression to a predicate: one closure for each of its parts, those of cheap fields first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple

from wirelens.cli.where import json_paths
from wirelens.cli.where.fields import TREE, Row, check_word, listing, near, shown
from wirelens.cli.where.language import (
    OPPOSITE,
    Comparison,
    Conjunction,
    Disjunction,
    Negation,
    Path,
    Presence,
    Value,
    WhereError,
    Words,
)
from wirelens.cli.where.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeAlias

    from wirelens.cli.where.fields import Field, Fields, Test
    from wirelens.cli.where.language import Expression, Step
    from wirelens.codecs import Json

    Predicate: TypeAlias = Callable[[Row], bool]
    Part: TypeAlias = tuple[int, Predicate[Row]]  # with its cost


class Filter(NamedTuple, Generic[Row]):
    """Whether a row matches, and whether that takes the JSON trees of its messages."""

    matches: Callable[[Row], bool]
    needs_trees: bool


def compiled(texts: Sequence[str], fields: Fields[Row]) -> Filter[Row] | None:
    """What asks a row for all expressions; None if there are none. Raises WhereError."""
    names = fields.names
    parts: list[Part[Row]] = []
    for number, text in enumerate(texts):
        try:
            parts.append(Compiler(fields).part(parse(text, names)))
        except WhereError as error:
            error.number = number
            raise
    if not parts:
        return None
    cost, predicate = together(parts)
    return Filter(predicate, cost == TREE)


def normal(texts: Sequence[str], fields: Fields[Row]) -> str:
    """All expressions as one, "" without any; blanks and brackets that change nothing are left out."""
    names = fields.names
    parts = [parse(text, names) for text in texts]
    return str(Conjunction(tuple(parts)) if len(parts) > 1 else parts[0]) if parts else ""


class Compiler(Generic[Row]):
    """Makes the predicates of expressions over certain fields."""

    def __init__(self, fields: Fields[Row]) -> None:
        self.fields = fields

    def part(self, part: Expression) -> Part[Row]:
        """The cost and the predicate of an expression. Raises WhereError."""
        if isinstance(part, Conjunction):
            return together([self.part(inner) for inner in part.all])
        if isinstance(part, Disjunction):
            return either([self.part(inner) for inner in part.any])
        if isinstance(part, Negation):
            cost, inner = self.part(part.part)
            return cost, lambda row: not inner(row)
        if isinstance(part, Presence):
            return self.presence(part.path)
        if isinstance(part, Words):
            text = self.fields.text
            return text.cost, compared(text, "~", text.kind.test(_contains(part.value), "~"))
        return self.comparison(part)

    def comparison(self, comparison: Comparison) -> Part[Row]:
        """A field or a path compared with a value."""
        path = comparison.path
        operator = OPPOSITE.get(comparison.operator, comparison.operator)
        trees = self.trees(path)
        if trees is not None:
            test = _json_test(comparison, operator)
            return TREE, _path_predicate(trees, path.steps, comparison.operator in OPPOSITE, test)
        field = self.field(path)
        kind = field.kind
        if comparison.operator not in kind.operators:
            raise WhereError(
                comparison.column,
                f"{path.root} is {kind.name}: {comparison.operator} is not for it; there are "
                f"{', '.join(kind.operators)}",
            )
        if field.words is not None:
            check_word(comparison, operator, field.words())
        return field.cost, compared(field, comparison.operator, kind.test(comparison, operator))

    def presence(self, path: Path) -> Part[Row]:
        """Whether there is a value."""
        trees = self.trees(path)
        if trees is not None:
            steps = path.steps

            def is_found(row: Row) -> bool:
                return any(True for tree in trees(row) for _ in json_paths.found(tree, steps))

            return TREE, is_found
        field = self.field(path)
        get = field.get
        if field.several or field.listed:
            return field.cost, lambda row: len(get(row)) > 0
        return field.cost, lambda row: get(row) is not None

    def trees(self, path: Path) -> Callable[[Row], Sequence[Json]] | None:
        """What makes the trees that a path goes through, None for a field."""
        return self.fields.trees.get(path.root or self.fields.anywhere)

    def field(self, path: Path) -> Field[Row]:
        """The field of a path without steps. Raises WhereError."""
        fields = self.fields
        name = path.root
        field = fields.named.get(name)
        if field is not None:
            if path.steps:
                step = path.steps[0]
                raise WhereError(step.column, f"{name} is {field.kind.name}, which has no {shown(str(step))}")
            return field
        if name in fields.elsewhere:
            raise WhereError(path.column, f"{name} is a field {fields.elsewhere[name]}")
        names = [*fields.named, *fields.trees]
        raise WhereError(
            path.column,
            f"no field {shown(name)}; {near(name, names)}{listing(names)}; quote it if it is a text",
        )


def compared(field: Field[Row], operator: str, test: Test) -> Predicate[Row]:
    """The predicate of a field and the test of its values."""
    get = field.get
    negative = operator in OPPOSITE
    if field.several or field.listed:

        def is_one(row: Row) -> bool:
            for value in get(row):  # noqa: SIM110  # a generator takes longer
                if test(value):
                    return True
            return False

        if not negative:
            return is_one
        if field.listed:
            return lambda row: not is_one(row)
        return lambda row: len(get(row)) > 0 and not is_one(row)
    if negative:
        return lambda row: (value := get(row)) is not None and not test(value)
    return lambda row: (value := get(row)) is not None and test(value)


def together(parts: Iterable[Part[Row]]) -> Part[Row]:
    """What is true where all parts are; the cheapest is asked first."""
    ordered = sorted(parts, key=_cost)
    tests = tuple([test for _, test in ordered])
    if len(tests) == 1:
        return ordered[0]
    first = tests[0]
    rest = tests[1:]

    def is_true(row: Row) -> bool:
        if not first(row):
            return False
        for test in rest:  # noqa: SIM110  # a generator takes longer
            if not test(row):
                return False
        return True

    return ordered[-1][0], is_true


def either(parts: Iterable[Part[Row]]) -> Part[Row]:
    """What is true where one of the parts is; the cheapest is asked first."""
    ordered = sorted(parts, key=_cost)
    tests = tuple([test for _, test in ordered])

    def is_true(row: Row) -> bool:
        for test in tests:  # noqa: SIM110  # a generator takes longer
            if test(row):
                return True
        return False

    return ordered[-1][0], is_true


def _cost(part: tuple[int, Any]) -> int:
    return part[0]


def _contains(value: Value) -> Comparison:
    """Text alone, as the comparison that it stands for."""
    return Comparison(Path("text"), "~", value, value.column)


def _json_test(comparison: Comparison, operator: str) -> Callable[[Json], bool]:
    """The test of what a path leads to. Raises WhereError."""
    value = comparison.value
    if operator == "=":
        return json_paths.equal(value)
    if operator == "~":
        return json_paths.containing(value)
    test = json_paths.ordered(operator, value)
    if test is None:
        raise WhereError(
            value.column,
            f"{shown(value.text)} is neither a number nor a time, and {operator} takes one; as 100, 1.5, "
            "2026-01-17T10:40",
        )
    return test


def _path_predicate(
    trees: Callable[[Row], Sequence[Json]],
    steps: tuple[Step, ...],
    negative: bool,
    test: Callable[[Json], bool],
) -> Predicate[Row]:
    """The predicate of a path and the test of what it leads to."""
    found = json_paths.found

    def is_true(row: Row) -> bool:
        for tree in trees(row):
            for value in found(tree, steps):
                if test(value):
                    return True
        return False

    def is_false(row: Row) -> bool:
        there = False
        for tree in trees(row):
            for value in found(tree, steps):
                if test(value):
                    return False
                there = True
        return there

    return is_false if negative else is_true
