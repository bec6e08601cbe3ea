"""The parts of an expression, and its text.

expression = conjunction { OR conjunction } ;            OR  = "or" | "||" ;
conjunction = negation { AND negation } ;                AND = "and" | "&&" ;
negation   = NOT negation | primary ;                    NOT = "not" | "!" ;
primary    = "(" expression ")" | "has" path | path operator value | text ;
operator   = "=" | "==" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">=" ;
path       = ( name | ".." member ) { "." member | ".." member | "[" ( integer | "*" ) "]" } ;
value      = quoted | bare ;                             text = quoted | bare ;
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

BLANKS: Final = " \t\r\n"
OPERATORS: Final = ("==", "!=", "!~", "<=", ">=", "=", "~", "<", ">")  # longer ones first
OPPOSITE: Final = {"!=": "=", "!~": "~"}  # operators that are true where the other one is false of a value
NAME: Final = "[A-Za-z][A-Za-z0-9_]*"
MEMBER: Final = r"[\w$-]+"


class WhereError(Exception):
    """An expression that cannot be: its column, from 1, what is wrong there, its place among several."""

    def __init__(self, column: int, text: str) -> None:
        super().__init__(f"column {column}: {text}")
        self.column: Final = column
        self.text: Final = text
        self.number = 0


@dataclass(frozen=True)
class Step:
    """A step of a path: the name of a member, its place in a list, or None for all of a list.

    `anywhere`: the member at any depth.
    """

    key: str | int | None
    anywhere: bool = False
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        if self.key is None:
            return "[*]"
        if isinstance(self.key, int):
            return f"[{self.key}]"
        return (".." if self.anywhere else ".") + (
            self.key if re.fullmatch(MEMBER, self.key) else quoted(self.key)
        )


@dataclass(frozen=True)
class Path:
    """A field, or a path into a message: `root` is the field's name, "" for a path that begins with `..`."""

    root: str
    steps: tuple[Step, ...] = ()
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return self.root + "".join([str(step) for step in self.steps])


@dataclass(frozen=True)
class Value:
    """A value as it was read; `quoted`: it was in quotes, or has an opening bracket without its closing."""

    text: str
    quoted: bool = False
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return quoted(self.text) if self.quoted else self.text


@dataclass(frozen=True)
class Comparison:
    """A field or path compared with a value; `operator` is one of OPERATORS without `==`."""

    path: Path
    operator: str
    value: Value
    column: int = field(default=1, compare=False)  # of the operator

    def __str__(self) -> str:
        value = str(self.value)
        blank = " " if value[0] in "=~" else ""  # they would be part of the operator
        return f"{self.path}{self.operator}{blank}{value}"


@dataclass(frozen=True)
class Presence:
    """Whether there is a value at a path."""

    path: Path

    def __str__(self) -> str:
        return f"has {self.path}"


@dataclass(frozen=True)
class Words:
    """Text that a row contains."""

    value: Value

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Negation:
    """True where its part is false."""

    part: Expression

    def __str__(self) -> str:
        return f"not {_inner(self.part)}"


@dataclass(frozen=True)
class Conjunction:
    """True where all its parts are."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " and ".join([_inner(part) for part in self.parts])


@dataclass(frozen=True)
class Disjunction:
    """True where one of its parts is."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        texts = [_inner(part) if isinstance(part, Disjunction) else str(part) for part in self.parts]
        return " or ".join(texts)


Expression: TypeAlias = "Comparison | Presence | Words | Negation | Conjunction | Disjunction"


def _inner(part: Expression) -> str:
    """The text of a part of an expression that binds closer than `or` and `and`."""
    return f"({part})" if isinstance(part, Conjunction | Disjunction) else str(part)


def quoted(text: str) -> str:
    """Text in quotes, as an expression has it."""
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"
