"""An expression's text to its parts. Nothing is known here of fields but their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wirelens.cli.where.language import (
    BLANKS,
    MEMBER,
    NAME,
    OPERATORS,
    Comparison,
    Conjunction,
    Disjunction,
    Negation,
    Path,
    Presence,
    Step,
    Value,
    WhereError,
    Words,
)
from wirelens.codecs.words import quote, shortened

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Final

    from wirelens.cli.where.language import Expression

DEEPEST: Final = 100  # levels of brackets and negations
SHOWN: Final = 40  # characters of what was read, in errors

_INDEX: Final = r"\[(-?\d{1,9}|\*)\]"
_OPERATOR_LATER: Final = r"[^\s=~<>!]*(?:[=~<>]|!=)"  # the rest of a word has one
_QUOTED: Final = r"(?s)'((?:[^\\']|\\.)*)'"
_DOUBLE_QUOTED: Final = r'(?s)"((?:[^\\"]|\\.)*)"'
_ESCAPE: Final = r"(?s)\\(.)"
_WORD_END: Final = r"(?=[\s()!'\"]|$)"  # after `and`, `or`, `not`, `has`
_ENDING: Final = r"(?:and|or)(?=[\s()]|$)|&&|\|\|"  # where a value ends, after a blank


def parse(text: str, names: Collection[str] = ()) -> Expression:
    """The expression of a text; `names` are those of fields. Raises WhereError."""
    parser = _Parser(text, names)
    if parser.blank() == len(text):
        raise WhereError(1, "a condition is missing, as kind=request")
    expression = parser.disjunction()
    if parser.at < len(text):
        raise parser.error(parser.at, f"{parser.read(parser.at)} closes no bracket; quote it if it is a text")
    return expression


class _Parser:
    """Reads an expression from `at` on."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text: Final = text
        self.names: Final = names
        self.at = 0
        self.depth = 0

    def error(self, at: int, text: str) -> WhereError:
        """An error at a position; one at the end is at the last character."""
        return WhereError(max(1, min(at + 1, len(self.text))), text)

    def read(self, at: int) -> str:
        """What stands at a position, for people."""
        return (
            quote(shortened(self.text[at:].split(None, 1)[0], SHOWN)) if self.text[at:].strip() else "the end"
        )

    def blank(self) -> int:
        """Skip blanks; the position after them."""
        while self.at < len(self.text) and self.text[self.at] in BLANKS:
            self.at += 1
        return self.at

    def word(self, *words: str) -> bool:
        """Skip one of the words, if it stands here."""
        for word in words:
            if self.text.startswith(word, self.at):
                end = self.at + len(word)
                if not word.isalpha() or re.compile(_WORD_END).match(self.text, end):
                    self.at = end
                    return True
        return False

    def disjunction(self) -> Expression:
        """Conjunctions with `or` between them, up to a bracket or the end."""
        parts = [self.conjunction()]
        while self.blank() < len(self.text) and self.word("or", "||"):
            parts.append(self.conjunction())
        if self.at < len(self.text) and self.text[self.at] != ")":
            raise self.error(self.at, f"`and` or `or` is missing before {self.read(self.at)}")
        return parts[0] if len(parts) == 1 else Disjunction(tuple(parts))

    def conjunction(self) -> Expression:
        """Negations with `and` between them."""
        parts = [self.negation()]
        while self.blank() < len(self.text) and self.word("and", "&&"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else Conjunction(tuple(parts))

    def negation(self) -> Expression:
        """A condition, or an expression in brackets, with or without `not`."""
        self.depth += 1
        start = self.blank()
        if self.depth > DEEPEST:
            raise self.error(start, f"more than {DEEPEST} brackets and negations in each other")
        part: Expression
        if start < len(self.text) and self.text[start] == "(":
            self.at += 1
            part = self.disjunction()
            if self.at == len(self.text):
                raise self.error(start, 'the bracket is not closed: ")" is missing')
            self.at += 1
        elif self.word("not", "!"):
            part = Negation(self.negation())
        else:
            part = self.condition()
        self.depth -= 1
        return part

    def condition(self) -> Expression:
        """`has` path, a comparison, or text."""
        start = self.at
        if start == len(self.text) or self.text[start] == ")" or re.compile(_ENDING).match(self.text, start):
            raise self.error(start, f"a condition is missing before {self.read(start)}")
        path = self.path()
        after = self.at
        if path is not None:
            operator_at = self.blank()
            operator = self.operator()
            if operator and not self.is_text(path):
                if self.text.startswith("=~", operator_at):
                    raise self.error(
                        operator_at, "there are no regular expressions; ~ asks for a part of a text"
                    )
                return Comparison(path, operator, self.value(), operator_at + 1)
            if path == Path("has") and after > start and not operator:
                return Presence(self.present())
            self.at = after
            self.check_steps(path)
        self.at = start
        if self.operator():
            raise self.error(start, "a field is missing before the operator; quote it if it is a text")
        return Words(self.value())

    def is_text(self, path: Path) -> bool:
        """Whether what looks like a path is text: a name that is in no way that of a field."""
        return bool(path.root) and not path.root.islower() and path.root.lower() not in self.names

    def check_steps(self, path: Path) -> None:
        """A known field, followed by something that is not a step but has an operator, is not a text."""
        if path.root and path.root not in self.names:
            return
        if self.text[self.at : self.at + 1] in ("[", ".") and re.compile(_OPERATOR_LATER).match(
            self.text, self.at
        ):
            raise self.error(
                self.at,
                f"{self.read(self.at)} is not a step of a path, such as .name, ..name, [0], [-1] or [*]",
            )

    def present(self) -> Path:
        """The path after `has`."""
        start = self.blank()
        path = self.path()
        if path is None:
            raise self.error(start, f'a field is missing after "has", before {self.read(start)}')
        return path

    def path(self) -> Path | None:
        """A path, None if there is none here."""
        start = self.at
        text = self.text
        name = re.compile(NAME).match(text, start)
        steps: list[Step] = []
        if name is not None:
            self.at = name.end()
        elif not text.startswith("..", start):
            return None
        while True:
            step = self.step()
            if step is None:
                break
            steps.append(step)
        if name is None and not steps:
            return None
        return Path("" if name is None else name[0], tuple(steps), start + 1)

    def step(self) -> Step | None:
        """A step of a path, None if there is none here."""
        start = self.at
        index = re.compile(_INDEX).match(self.text, start)
        if index is not None:
            self.at = index.end()
            return Step(None if index[1] == "*" else int(index[1]), False, start + 1)
        dots = 2 if self.text.startswith("..", start) else 1
        if not self.text.startswith(".", start):
            return None
        member = re.compile(MEMBER).match(self.text, start + dots)
        if member is not None:
            self.at = member.end()
            return Step(member[0], dots == 2, start + 1)
        self.at = start + dots
        quoted = self.quoted() if self.text.startswith(('"', "'"), self.at) else None
        if quoted is None:
            self.at = start
            return None
        return Step(quoted.text, dots == 2, start + 1)

    def operator(self) -> str:
        """An operator, "" if there is none here."""
        for operator in OPERATORS:
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                return "=" if operator == "==" else operator
        return ""

    def value(self) -> Value:
        """A value after an operator, or a text."""
        start = self.blank()
        if self.text.startswith(("'", '"'), start):
            quoted = self.quoted()
            if quoted is None:
                raise self.error(start, "the quotes are not closed")
            return quoted
        end, depth = self.bare_end(start)
        if end == start:
            raise self.error(start, f"a value is missing before {self.read(start)}; quote it if it is a text")
        self.at = end
        return Value(self.text[start:end], depth > 0, start + 1)

    def bare_end(self, start: int) -> tuple[int, int]:
        """Where words that are not quoted end, and how many brackets in them are not closed."""
        text = self.text
        end = at = start
        depth = 0
        while at < len(text):
            if text[at] in BLANKS:
                at += 1
                continue
            if at == start or text[at - 1] in BLANKS:
                if re.compile(_ENDING).match(text, at):
                    break
                if at > start and self.begins_condition(at):
                    missing = f"`and` or `or` is missing before {self.read(at)}"
                    raise self.error(at, f"{missing}; quote the value if this is part of it")
            elif text.startswith(("&&", "||"), at) and self.begins_condition(at + 2):
                raise self.error(at, f"blanks are missing around {text[at : at + 2]}")
            if text[at] == ")":
                if depth == 0:
                    break
                depth -= 1
            elif text[at] == "(":
                depth += 1
            at += 1
            end = at
        return end, depth

    def begins_condition(self, at: int) -> bool:
        """Whether a known field and an operator follow, or a path and an operator."""
        before = self.at
        self.at = at + self.text.startswith("!", at)
        path = self.path()
        self.blank()
        begins = path is not None and (not path.root or path.root in self.names) and self.operator() != ""
        self.at = before
        return begins

    def quoted(self) -> Value | None:
        """A text in quotes, None if they are not closed."""
        start = self.at
        found = re.compile(_QUOTED).match(self.text, start) or re.compile(_DOUBLE_QUOTED).match(
            self.text, start
        )
        if found is None:
            return None
        self.at = found.end()
        return Value(re.sub(_ESCAPE, r"\1", found[1]), True, start + 1)
