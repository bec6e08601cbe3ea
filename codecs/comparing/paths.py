"""Paths into messages, as in `body.arguments[0].buyer.name`: written, and matched by patterns.

A step is a member's name (text) or an item's position (int). Names that are not plain words are quoted:
`headers."content-type x"`. A pattern may also have `[*]` (each item), `[-1]` (from the end) and `..name` (at
any depth). Tags of the notation (`$list`, `$map`, `$fields`) are no steps.
"""

import re
from typing import Final, NamedTuple, TypeAlias

from wirelens.codecs.errors import WirelensError

Step: TypeAlias = str | int
States: TypeAlias = tuple[tuple[int, int], ...]  # (pattern, steps of it that are matched)

_WORD: Final = re.compile(r"[A-Za-z0-9_$-]+")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_INDEX: Final = re.compile(r"\[(-?\d{1,9}|\*)\]")
_TAGS: Final = ("$list", "$map", "$fields")
_MESSAGE: Final = "message"  # may stand before a path, as in JSON


class PathError(WirelensError):
    """A path that cannot be read: what was expected, and its column from 1."""

    def __init__(self, text: str, column: int) -> None:
        super().__init__(text, column)
        self.text = text
        self.column = column

    def __str__(self) -> str:
        return f"column {self.column}: {self.text}"


class PatternStep(NamedTuple):
    """One step of a pattern: a name, a position, or None for any position; `deep`: at any depth."""

    key: Step | None
    deep: bool


class Pattern(NamedTuple):
    """A pattern of paths."""

    steps: tuple[PatternStep, ...]

    def within(self, name: str) -> "Pattern | None":
        """The pattern of what is in the member `name` if it begins with that, else None."""
        if len(self.steps) > 1 and self.steps[0] == PatternStep(name, False):
            return Pattern(self.steps[1:])
        return None


def pattern(text: str) -> Pattern:
    """The pattern that a text describes. Raises PathError."""
    found = Pattern(tuple([step for step in _parsed(text) if step.key not in _TAGS]))
    if not found.steps:
        raise PathError("expected a member's name or [", 1)
    return found.within(_MESSAGE) or found


def _parsed(text: str) -> list[PatternStep]:
    steps: list[PatternStep] = []
    at = 0
    while at < len(text):
        if text[at] == "[":
            index = _INDEX.match(text, at)
            if index is None:
                raise PathError("expected a position in brackets, as in [0], [-1] or [*]", at + 1)
            steps.append(PatternStep(None if index[1] == "*" else int(index[1]), False))
            at = index.end()
            continue
        deep = text.startswith("..", at)
        if deep:
            at += 2
        elif text[at] == "." and at:
            at += 1
        elif at:
            raise PathError("expected . or [", at + 1)
        quoted = _QUOTED.match(text, at)
        word = quoted or _WORD.match(text, at)
        if word is None:
            raise PathError("expected a member's name", at + 1)
        name = word[0] if quoted is None else re.sub(r"\\(.)", r"\1", quoted[1])
        steps.append(PatternStep(name, deep))
        at = word.end()
    return steps


class Matcher:
    """Follows several patterns at once from the root of a message down."""

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        self.patterns: Final = [pattern.steps for pattern in patterns]
        self.start: Final[States] = tuple([(number, 0) for number in range(len(patterns))])

    def follow(self, states: States, step: Step, length: int) -> States | None:
        """The states after a step into a container of `length` items; None if a pattern is complete."""
        found: dict[tuple[int, int], None] = {}
        for number, done in states:
            wanted = self.patterns[number][done]
            if wanted.deep:
                found[number, done] = None
            key = wanted.key
            if isinstance(step, int):
                matching = key is None or key == step or (isinstance(key, int) and key + length == step)
            else:
                matching = key == step
            if matching:
                if done + 1 == len(self.patterns[number]):
                    return None
                found[number, done + 1] = None
        return tuple(found)


def path_text(steps: list[Step]) -> str:
    """A path as text."""
    parts: list[str] = []
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append("." + step_text(step))
    return "".join(parts).removeprefix(".")


def step_text(name: str) -> str:
    """A member's name in a path, in quotes if it is not a plain word."""
    if _WORD.fullmatch(name) is not None:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
