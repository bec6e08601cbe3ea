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


class Piece:
    """A piece of an expression; two are equal if they are the same, wherever they stand.

    `column` is where it begins in the text, from 1.
    """

    __slots__ = ("column",)

    def __init__(self, column: int) -> None:
        self.column = column

    def parts(self) -> tuple[object, ...]:
        """What it consists of."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Piece) and self.parts() == other.parts()

    def __hash__(self) -> int:
        return hash(self.parts())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.parts()}"


class Step(Piece):
    """A step of a path: the name of a member, its place in a list, or None for all of a list.

    `anywhere`: the member at any depth.
    """

    __slots__ = ("anywhere", "key")

    def __init__(self, key: str | int | None, anywhere: bool = False, column: int = 1) -> None:
        super().__init__(column)
        self.key = key
        self.anywhere = anywhere

    def parts(self) -> tuple[object, ...]:
        """Key and depth."""
        return self.key, self.anywhere

    def __str__(self) -> str:
        if self.key is None:
            return "[*]"
        if isinstance(self.key, int):
            return f"[{self.key}]"
        name = self.key if re.fullmatch(MEMBER, self.key) else quoted(self.key)
        return (".." if self.anywhere else ".") + name


class Path(Piece):
    """A field, or a path into a message: `root` is the field's name, "" for a path that begins with `..`."""

    __slots__ = ("root", "steps")

    def __init__(self, root: str, steps: tuple[Step, ...] = (), column: int = 1) -> None:
        super().__init__(column)
        self.root = root
        self.steps = steps

    def parts(self) -> tuple[object, ...]:
        """Root and steps."""
        return self.root, self.steps

    def __str__(self) -> str:
        return self.root + "".join([str(step) for step in self.steps])


class Value(Piece):
    """A value as it was read; `quoted`: it was in quotes, or has an opening bracket without its closing."""

    __slots__ = ("quoted", "text")

    def __init__(self, text: str, quoted: bool = False, column: int = 1) -> None:
        super().__init__(column)
        self.text = text
        self.quoted = quoted

    def parts(self) -> tuple[object, ...]:
        """The text, and whether it was in quotes."""
        return self.text, self.quoted

    def __str__(self) -> str:
        return quoted(self.text) if self.quoted else self.text


class Comparison(Piece):
    """A field or path compared with a value; `operator` is one of OPERATORS without `==`, at `column`."""

    __slots__ = ("operator", "path", "value")

    def __init__(self, path: Path, operator: str, value: Value, column: int = 1) -> None:
        super().__init__(column)
        self.path = path
        self.operator = operator
        self.value = value

    def parts(self) -> tuple[object, ...]:
        """Path, operator and value."""
        return self.path, self.operator, self.value

    def __str__(self) -> str:
        value = str(self.value)
        blank = " " if value[0] in "=~" else ""  # they would be part of the operator
        return f"{self.path}{self.operator}{blank}{value}"


class Presence(Piece):
    """Whether there is a value at a path."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        super().__init__(path.column)
        self.path = path

    def parts(self) -> tuple[object, ...]:
        """The path."""
        return (self.path,)

    def __str__(self) -> str:
        return f"has {self.path}"


class Words(Piece):
    """Text that a row contains."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        super().__init__(value.column)
        self.value = value

    def parts(self) -> tuple[object, ...]:
        """The text."""
        return (self.value,)

    def __str__(self) -> str:
        return str(self.value)


class Negation(Piece):
    """True where its part is false."""

    __slots__ = ("part",)

    def __init__(self, part: Expression) -> None:
        super().__init__(part.column)
        self.part = part

    def parts(self) -> tuple[object, ...]:
        """What it negates."""
        return (self.part,)

    def __str__(self) -> str:
        return f"not {_inner(self.part)}"


class Conjunction(Piece):
    """True where all of `all` are."""

    __slots__ = ("all",)

    def __init__(self, all: tuple[Expression, ...]) -> None:
        super().__init__(all[0].column)
        self.all = all

    def parts(self) -> tuple[object, ...]:
        """What has to be true."""
        return self.all

    def __str__(self) -> str:
        return " and ".join([_inner(part) for part in self.all])


class Disjunction(Piece):
    """True where one of `any` is."""

    __slots__ = ("any",)

    def __init__(self, any: tuple[Expression, ...]) -> None:
        super().__init__(any[0].column)
        self.any = any

    def parts(self) -> tuple[object, ...]:
        """What may be true."""
        return self.any

    def __str__(self) -> str:
        texts = [_inner(part) if isinstance(part, Disjunction) else str(part) for part in self.any]
        return " or ".join(texts)


Expression: TypeAlias = "Comparison | Presence | Words | Negation | Conjunction | Disjunction"


def _inner(part: Expression) -> str:
    """The text of a part of an expression that binds closer than `or` and `and`."""
    return f"({part})" if isinstance(part, Conjunction | Disjunction) else str(part)


def quoted(text: str) -> str:
    """Text in quotes, as an expression has it."""
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"
