"""The work that a backtracking matcher does for a regular expression, counted in steps.

`re` cannot be counted, so the parsed pattern is interpreted here as `re` does it: greedy and lazy repeats
with backtracking, possessive repeats and atomic groups without. `near_misses` makes texts that repeat what
one of the repeats of a pattern takes, and then fail.
"""

import re
import sys
from collections.abc import Callable, Iterator
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

CHARACTERS = " a0.\n\t,!:(-_A\"'\\;x)]}>=<|&$#*/+@%~?[{Z9g\x01é"  # a class is tried with those it has
VARIANTS = 6

Op = tuple[Any, Any]
After = Callable[[int], bool]


class TooManyStepsError(Exception):
    """The matcher took more steps than it may."""


def parse(pattern: str | bytes, flags: int = 0) -> Any:
    """The parsed pattern; bytes count as Latin-1."""
    if isinstance(pattern, bytes):
        pattern = pattern.decode("latin-1")
        flags |= re.ASCII
    return parser.parse(pattern, flags & ~re.UNICODE)


class Matcher:
    """Counts the steps of a pattern on one text."""

    def __init__(self, pattern: str | bytes, flags: int, text: str, limit: int) -> None:
        self.tree = parse(pattern, flags)
        self.flags = self.tree.state.flags
        self.text = text
        self.limit = limit
        self.steps = 0
        self.groups: dict[int, tuple[int, int]] = {}

    def run(self, method: str) -> int:
        """Steps that a method of a pattern takes: `match`, `fullmatch`, `search`, or one that finds all."""
        depth = sys.getrecursionlimit()
        sys.setrecursionlimit(200_000)
        try:
            start = 0
            while start <= len(self.text):
                end = self.first_end(list(self.tree), start, method == "fullmatch")
                if method in ("match", "fullmatch") or (method == "search" and end >= 0):
                    break
                start = max(end, start + 1)
        finally:
            sys.setrecursionlimit(depth)
        return self.steps

    def one(self, op: Any, arg: Any, at: int) -> bool:
        """Whether an expression for one character matches the one at `at`."""
        if at >= len(self.text):
            return False
        char = self.text[at]
        if op is c.ANY:
            return bool(self.flags & re.DOTALL) or char != "\n"
        return in_class(op, arg, char, bool(self.flags & re.IGNORECASE))

    def match(self, ops: list[Op], index: int, at: int, after: After) -> bool:
        """Whether `ops` from `index` match at `at` and `after` accepts where they end."""
        while True:
            self.steps += 1
            if self.steps > self.limit:
                raise TooManyStepsError
            if index == len(ops):
                return after(at)
            op, arg = ops[index]
            if op in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
                if not self.one(op, arg, at):
                    return False
                at += 1
            elif op is c.AT:
                if not self.anchor(arg, at):
                    return False
            elif op in (c.ASSERT, c.ASSERT_NOT):
                direction, body = arg
                low, _ = body.getwidth()
                start = at if direction > 0 else at - low
                found = start >= 0 and self.match(list(body), 0, start, lambda end: True)
                if found is (op is c.ASSERT_NOT):
                    return False
            elif op is c.GROUPREF:
                first, last = self.groups.get(arg, (-1, -1))
                if first < 0 or not self.text.startswith(self.text[first:last], at):
                    return False
                at += last - first
            else:
                break
            index += 1
        rest: After = lambda end: self.match(ops, index + 1, end, after)  # noqa: E731
        if op is c.BRANCH:
            return any(self.match(list(branch), 0, at, rest) for branch in arg[1])
        if op is c.SUBPATTERN:
            group, _, _, body = arg

            def close(end: int) -> bool:
                if group is not None:
                    self.groups[group] = (at, end)
                return rest(end)

            return self.match(list(body), 0, at, close)
        if op is c.ATOMIC_GROUP:
            end = self.first_end(list(arg), at)
            return end >= 0 and rest(end)
        low, high, body = arg
        if op is c.POSSESSIVE_REPEAT:
            count = 0
            while count < high:
                end = self.first_end(list(body), at)
                if end < 0 or (end == at and count >= low):
                    break
                at, count = end, count + 1
            return count >= low and rest(at)
        if op is c.MAX_REPEAT and len(body) == 1 and body[0][0] in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
            end = at
            single, argument = body[0]
            while end - at < high and self.one(single, argument, end):
                end += 1
                self.steps += 1
            while end - at >= low:
                if rest(end):
                    return True
                end -= 1
            return False
        return self.repeat(list(body), low, high, op is c.MIN_REPEAT, at, rest, 0)

    def repeat(
        self, body: list[Op], low: int, high: int, lazy: bool, at: int, rest: After, count: int
    ) -> bool:
        """A repeat that can be taken back, after `count` times its body."""

        def again(end: int) -> bool:
            if end == at and count >= low:
                return False
            return self.repeat(body, low, high, lazy, end, rest, count + 1)

        if lazy and count >= low and rest(at):
            return True
        if count < high and self.match(body, 0, at, again):
            return True
        return not lazy and count >= low and rest(at)

    def first_end(self, body: list[Op], at: int, whole: bool = False) -> int:
        """Where the first match of `body` ends, at the end of the text if `whole`; -1 without one."""
        ends: list[int] = []

        def keep(end: int) -> bool:
            ends.append(end)
            return not whole or end == len(self.text)

        return ends[-1] if self.match(body, 0, at, keep) else -1

    def anchor(self, kind: Any, at: int) -> bool:
        """Whether a position is what an anchor asks for."""
        text = self.text
        if kind in (c.AT_BOUNDARY, c.AT_NON_BOUNDARY):
            before = at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
            here = at < len(text) and (text[at].isalnum() or text[at] == "_")
            return (before != here) is (kind is c.AT_BOUNDARY)
        if kind is c.AT_BEGINNING:
            return at == 0 or bool(self.flags & re.MULTILINE and text[at - 1] == "\n")
        if kind is c.AT_END:
            return at >= len(text) - text.endswith("\n") or bool(
                self.flags & re.MULTILINE and text[at] == "\n"
            )
        return at == 0 if kind is c.AT_BEGINNING_STRING else at == len(text)


def in_class(op: Any, arg: Any, char: str, any_case: bool = False) -> bool:
    """Whether a literal or a class of characters has `char`."""
    if any_case and char.lower() != char.upper():
        return in_class(op, arg, char.lower()) or in_class(op, arg, char.upper())
    code = ord(char)
    if op in (c.LITERAL, c.NOT_LITERAL):
        return (code == arg) is (op is c.LITERAL)
    found = False
    for kind, value in arg:
        if kind is c.LITERAL:
            found |= code == value
        elif kind is c.RANGE:
            found |= value[0] <= code <= value[1]
        elif kind is c.CATEGORY:
            name = str(value).removeprefix("CATEGORY_")
            test = {"DIGIT": char.isdigit(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_"}
            found |= test[name.removeprefix("NOT_")] is not name.startswith("NOT_")
    return found is not (bool(arg) and arg[0][0] is c.NEGATE)


def sample(ops: list[Op], variant: int) -> str:
    """A short text that `ops` match, most of the time; variants differ in characters and branches."""
    out = []
    for op, arg in ops:
        if op is c.LITERAL:
            out.append(chr(arg))
        elif op is c.ANY:
            out.append(CHARACTERS[variant])
        elif op in (c.IN, c.NOT_LITERAL):
            fits = [char for char in CHARACTERS if in_class(op, arg, char)]
            rest = (chr(code) for code in range(0x110000) if in_class(op, arg, chr(code)))
            out.append(fits[variant % len(fits)] if fits else next(rest))
        elif op is c.BRANCH:
            out.append(sample(list(arg[1][variant % len(arg[1])]), variant // len(arg[1])))
        elif op is c.SUBPATTERN:
            out.append(sample(list(arg[3]), variant))
        elif op is c.ATOMIC_GROUP:
            out.append(sample(list(arg), variant))
        elif op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            out.append(sample(list(arg[2]), variant) * arg[0])
    return "".join(out)


def repeats(ops: list[Op], before: str) -> Iterator[tuple[str, list[Op]]]:
    """Every repeat of more than 50 times in a pattern: a text that leads to it, and its body."""
    for index, (op, arg) in enumerate(ops):
        lead = before + sample(ops[:index], 0)
        if op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            if arg[1] > 50:
                yield lead, list(arg[2])
            yield from repeats(list(arg[2]), lead)
        elif op is c.BRANCH:
            for branch in arg[1]:
                yield from repeats(list(branch), lead)
        elif op is c.SUBPATTERN:
            yield from repeats(list(arg[3]), lead)
        elif op is c.ATOMIC_GROUP:
            yield from repeats(list(arg), lead)
        elif op in (c.ASSERT, c.ASSERT_NOT):
            yield from repeats(list(arg[1]), lead)


def near_misses(pattern: str | bytes, flags: int, size: int) -> Iterator[str]:
    """Texts of about `size` characters that keep a pattern's repeats busy and then fail."""
    tree = parse(pattern, flags)
    seen: set[str] = set()
    for lead, body in repeats(list(tree), ""):
        units = {sample(body, variant) for variant in range(VARIANTS)}
        units |= {lead + unit for unit in units if len(lead) < 20}  # a search that starts over and over
        for unit in sorted(units - {""}):
            for text in (lead + unit * (size // len(unit)), unit * (size // len(unit))):
                if text not in seen:
                    seen.add(text)
                    yield text + "\x02"
                    yield text + "\n\x02"
