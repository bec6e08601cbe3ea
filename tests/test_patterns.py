"""No regular expression that meets input does more work than a small multiple of the input's length."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from backtracking import Matcher, TooManyStepsError, near_misses, parse

from wirelens.codecs.captures.pasting.words import NUMBERS, hex_kind

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent
SIZE = 200  # characters of a near miss; work that grows with the square takes 100 steps a character
STEPS = 50  # a character, at most

# These read what wirelens or a program on this machine wrote, or only compile what others have.
TRUSTED = {"codecs/captures/pasting/patterns.py", "cli/bulk/java.py", "cli/version.py", "cli/doctor.py"}
# The user's own patterns, given as an option
OWN = {("cli/points.py", "option"), ("cli/options.py", "value")}

ALL = ("sub", "split", "findall", "finditer")
LATER = "lazy_pattern"  # the function for expressions that are compiled when they are first used
CALLS = {"compile", "match", "fullmatch", "search", *ALL}


# Patterns that functions of a module make
MADE = {
    "codecs/captures/pasting/words.py": [
        kind.word.pattern for kind in (*NUMBERS, *(hex_kind(width) for width in (2, 4, 8, 16, 32)))
    ]
}


class Use(NamedTuple):
    """A regular expression and how it is used."""

    place: str
    pattern: str | bytes
    flags: int
    method: str


def texts() -> Iterator[tuple[str, str]]:
    """The modules of the project by name."""
    for layer in ("codecs", "formatters", "cli"):
        for path in sorted((ROOT / layer).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name not in TRUSTED:
                yield name, path.read_text(encoding="utf-8")


def method_of_re(node: ast.expr) -> str:
    """The function of `re` that an expression calls, "compile" for those that are compiled later; else ""."""
    if isinstance(node, ast.Name):
        return "compile" if node.id == LATER else ""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re":
        return node.attr
    return ""


@cache
def methods() -> dict[tuple[str, str], set[str]]:
    """Methods that are called on names, by module and name; a public name is one in all modules."""
    found: dict[tuple[str, str], set[str]] = {}
    for name, text in texts():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = "" if not node.value.id.startswith("_") else name
                found.setdefault((owner, node.value.id), set()).add(node.attr)
    return found


def uses(name: str) -> list[Use]:
    """All regular expressions of a module."""
    found: list[Use] = []
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    named = {
        call: target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in ([node.target] if isinstance(node, ast.AnnAssign) else node.targets)
        if isinstance(target, ast.Name) and node.value is not None
        for call in ast.walk(node.value)
    }
    at_once = {
        node.value: node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)
    }
    for node in ast.walk(tree):
        method = method_of_re(node.func) if isinstance(node, ast.Call) else ""
        if method not in CALLS:
            continue
        assert isinstance(node, ast.Call)
        module = import_module(
            "wirelens." + name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        )
        place = f"{name}:{node.lineno}"
        flags = 0
        arguments = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        for argument in arguments:
            if "re." in ast.unparse(argument):
                flags |= int(eval(ast.unparse(argument), vars(module)))
        try:
            pattern = eval(ast.unparse(node.args[0]), vars(module))
        except NameError:
            if (name, ast.unparse(node.args[0])) in OWN:
                continue
            made = MADE.get(name, [""])
            found += [Use(place, pattern, flags if pattern else -1, "match") for pattern in made]
            continue
        if method == "compile":
            called = {at_once[node]} if node in at_once else set()
            if node in named:
                target = named[node]
                called = methods().get((name if target.startswith("_") else "", target), set())
            method = "fullmatch" if called == {"fullmatch"} else "match"
            method = next((each for each in (*ALL, "search") if each in called), method)
        found.append(Use(place, pattern, flags, method))
    return found


OF_THE_USER = ("formatters/find.py",)  # makes patterns of what the command line searches for
CALL = re.compile(rf"\bre\.(?:{'|'.join(sorted(CALLS))})\(|\b{LATER}\(")
COUNTS = {name: len(CALL.findall(text)) for name, text in texts() if name not in OF_THE_USER}


def test_there_are_expressions() -> None:
    assert sum(COUNTS.values()) > 150


@pytest.mark.parametrize("name", [name for name, count in COUNTS.items() if count])
def test_work_is_in_proportion(name: str) -> None:
    found = uses(name)
    assert len(found) >= COUNTS[name] - sum(owner == name for owner, _ in OWN)
    for use in found:
        assert use.flags >= 0, (
            f"{use.place}: a pattern that is made when it is needed cannot be tried: name it"
        )
        for text in near_misses(use.pattern, use.flags, SIZE):
            matcher = Matcher(use.pattern, use.flags, text, STEPS * SIZE)
            try:
                matcher.run(use.method)
            except TooManyStepsError:
                pytest.fail(f"{use.place}: {use.pattern!r} takes too many steps on {text[:60]!r}...")


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(?:a+)+b", "match"),
        (r"(?:a|ab|b)*c", "match"),
        (r"a*a*b", "fullmatch"),
        (r" +$", "search"),
        (r"[ \t]+x", "sub"),
        (r"\w+x\w*y", "match"),
    ],
)
def test_more_work_is_noticed(pattern: str, method: str) -> None:
    matchers = [Matcher(pattern, 0, text, STEPS * SIZE) for text in near_misses(pattern, 0, SIZE)]
    with pytest.raises(TooManyStepsError):
        [matcher.run(method) for matcher in matchers]


@pytest.mark.parametrize(
    "pattern", [r"(?:a++)*+b", r"a*b", r"(?>a|ab)*+c", r"[ab]{0,40}c", r"\s*+(?:\w++,?+)*+;"]
)
def test_little_work_is_no_fault(pattern: str) -> None:
    for text in near_misses(pattern, 0, SIZE):
        Matcher(pattern, 0, text, STEPS * SIZE).run("match")


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"(a+?)(b|bc)*\1c$", ["aabbcac", "abca", "aac", "ac"]),
        (r"(?i)x(?=[0-9]{2})\d*+y?(?<!3)\Z", ["X12", "x12y", "x3", "x123"]),
        (r"(?m)^\s*(?:#[^\n]*|\w+(?:, ?\w+)*)$", ["# a", "a, b,c", "a b", " "]),
        (r"(?s)<.*?>|[^\W\d]+", ["<a\nb>", "abc", "12"]),
    ],
)
def test_the_matcher_matches_as_re_does(pattern: str, texts: list[str]) -> None:
    for text in texts:
        for full in (False, True):
            end = Matcher(pattern, 0, text, 10_000).first_end(list(parse(pattern)), 0, full)
            found = (re.fullmatch if full else re.match)(pattern, text)
            assert end == (found.end() if found else -1), text
