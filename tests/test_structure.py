"""The house is as CONTRIBUTING.md draws it: imports run one way, each protocol has all that belongs to it."""

import ast
import gzip
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from wirelens import codecs
from wirelens.codecs import registry
from wirelens.codecs.codes import CODES

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
EXAMPLES = ROOT / "examples"
LAYERS = ("codecs", "formatters", "cli")  # each may import itself and those before it

# What a layer may not need: a program that only decodes has neither a terminal nor Spark.
FOREIGN = {
    "codecs": {"click", "rich", "pyspark", "pyarrow", "pandas", "subprocess", "pathlib", "os"},
    "formatters": {"click", "pyspark", "pyarrow", "pandas", "subprocess", "pathlib", "os"},
    "cli": set(),
}

# The calls that take a code, and which argument it is.
TAKES_CODE = {"error": 0, "short": 0, "note": 0, "Note": 0, "DecodeError": 0, "PastedError": 0}


@cache
def parsed(layer: str) -> list[tuple[Path, ast.Module]]:
    paths = sorted((ROOT / layer).rglob("*.py"))
    return [(path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield module
            yield from (f"{module}.{one.name}" for one in node.names)


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_run_one_way(layer: str) -> None:
    allowed = LAYERS[: LAYERS.index(layer) + 1]
    wrong = [
        f"{path}: {name}"
        for path, tree in parsed(layer)
        for name in imported(tree)
        if name.startswith("wirelens.") and name.split(".")[1] not in (*allowed, "reference")
    ]
    assert wrong == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_nothing_that_is_foreign_to_it(layer: str) -> None:
    wrong = [
        f"{path}: {name}"
        for path, tree in parsed(layer)
        for name in imported(tree)
        if name.split(".")[0] in FOREIGN[layer]
    ]
    assert wrong == []


def test_codecs_neither_open_nor_print() -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in parsed("codecs")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("open", "print", "input", "exec", "eval")
    ]
    assert wrong == []


def test_every_code_that_is_used_has_a_meaning_and_the_other_way_round() -> None:
    used: dict[str, str] = {}
    texts: set[str] = set()
    for path, tree in parsed("codecs"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and path.name != "codes.py":
                texts.add(node.value)
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = TAKES_CODE.get(name.lstrip("_"), len(node.args))
            code = node.args[place] if place < len(node.args) else None
            if isinstance(code, ast.Constant) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", str(code.value)):
                used[str(code.value)] = f"{path}:{node.lineno}"
    assert len(used) > 20
    assert {code: place for code, place in used.items() if code not in CODES} == {}
    assert [code for code in CODES if code not in texts] == []


@pytest.mark.parametrize("module", sorted({protocol.module for protocol in registry.PROTOCOLS}))
def test_a_module_has_exactly_the_protocols_listed_for_it(module: str) -> None:
    listed = {protocol.id for protocol in registry.PROTOCOLS if protocol.module == module}
    assert {codec.name for codec in import_module(module).CODECS} == listed


@pytest.fixture(scope="module")
def examples() -> set[str]:
    """The protocols of the records in examples/."""
    found: set[str] = set()
    for path in (*EXAMPLES.glob("*.xxd"), *EXAMPLES.glob("*.bin")):
        records = codecs.decode(codecs.captures.pasted(path.read_bytes()).data)
        found.update(record.protocol for record in records)
    return found


@pytest.mark.parametrize("protocol", registry.names())
def test_a_protocol_has_all_that_belongs_to_it(protocol: str, examples: set[str]) -> None:
    assert re.search(rf"^\|.*`{protocol}`.*\|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert protocol in examples
    module = registry.entry(protocol).module.split(".")[2]
    assert (ROOT / "tests" / "codecs" / f"test_{module}.py").exists()
    assert any(protocol in protocols(path) for path in (ROOT / "tests" / "vectors").iterdir())


def protocols(path: Path) -> set[str]:
    """Those of a file of vectors; not by its JSON, for some meanings nest deeper than Python reads."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return {name.decode() for name in re.findall(rb'"protocol": "([a-z0-9-]+)"', data)}


def test_the_picture_of_the_house_names_every_part() -> None:
    picture = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("The folders install as")[0]
    there = {path.stem for path in (ROOT / "codecs").glob("*.py")} - {"__init__"}
    there |= {path.parent.name for layer in LAYERS for path in (ROOT / layer).glob("*/__init__.py")}
    assert [name for name in sorted(there) if not re.search(rf"\b{name}\b", picture)] == []


# --- the shape of the code --------------------------------------------------------------------------------

LINES_OF_A_FILE = 700
LINES_OF_A_FUNCTION = 120

# Longer ones, each with its length at most and the reason. The lists may only shrink.
NOT_PRIVATE = {"_replace", "_make", "_fields", "_asdict", "_Decompress"}  # of named tuples; zlib's type
LONG_FILES: dict[str, tuple[int, str]] = {}
LONG_FUNCTIONS: dict[str, tuple[int, str]] = {
    "codecs/hessian/value_decoding.py:_read": (
        313,
        "the loop over values: a call for each value costs it time",
    ),
}


def modules() -> Iterator[tuple[str, Path, ast.Module]]:
    """Each module by the name under which it is imported."""
    for layer in LAYERS:
        for path, tree in parsed(layer):
            parts = path.with_suffix("").parts
            name = ".".join(("wirelens", *(parts[2:] if parts[1:2] == ("face",) else parts)))
            yield name.removesuffix(".__init__"), path, tree


def imports_at_run_time(tree: ast.Module) -> Iterator[str]:
    """Modules that are imported, inside functions too; not those for type checkers only."""

    def walk(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for statement in node.orelse:
                yield from walk(statement)
            return
        yield node
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    for node in walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)


def test_no_imports_in_a_circle() -> None:
    known = {name: tree for name, _, tree in modules()}
    arrows: dict[str, set[str]] = {}
    for name, tree in known.items():
        arrows[name] = set()
        for imported_name in imports_at_run_time(tree):
            target = imported_name if imported_name in known else imported_name.rpartition(".")[0]
            if target in known and target != name:
                arrows[name].add(target)
    done: set[str] = set()

    def circle_from(name: str, above: tuple[str, ...]) -> list[str]:
        if name in above:
            return [*above[above.index(name) :], name]
        if name in done:
            return []
        for target in sorted(arrows[name]):
            if found := circle_from(target, (*above, name)):
                return found
        done.add(name)
        return []

    assert [found for name in sorted(arrows) if (found := circle_from(name, ()))] == []


def test_no_module_uses_private_names_of_another() -> None:
    wrong = []
    for _, path, tree in modules():
        own = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
            elif isinstance(node, ast.alias):
                own.add(node.asname or "")
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wirelens"):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.Attribute):
                names = [node.attr] if node.attr not in own else []
            else:
                continue
            private = [name for name in names if re.match(r"_[A-Za-z]", name) and name not in NOT_PRIVATE]
            wrong += [f"{path}:{node.lineno}: {name}" for name in private]
    assert wrong == []


def test_no_file_is_long() -> None:
    lengths = {
        path.as_posix(): len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for _, path, _ in modules()
    }
    long = {name: length for name, length in lengths.items() if length > LINES_OF_A_FILE}
    assert {name: length for name, length in long.items() if length > LONG_FILES.get(name, (0,))[0]} == {}
    assert [name for name in LONG_FILES if name not in long] == []  # no longer needed


def test_no_function_is_long() -> None:
    long = {}
    for _, path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > LINES_OF_A_FUNCTION:
                    long[f"{path}:{node.name}"] = length
    assert {name: length for name, length in long.items() if length > LONG_FUNCTIONS.get(name, (0,))[0]} == {}
    assert [name for name in LONG_FUNCTIONS if name not in long] == []  # no longer needed


def test_every_public_name_is_documented() -> None:
    bare = []
    for _, path, tree in modules():
        if ast.get_docstring(tree) is None:
            bare.append(f"{path}: the module")
        above: list[ast.Module | ast.ClassDef] = [tree]
        while above:
            for node in above.pop().body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                    overloads = any("overload" in ast.dump(mark) for mark in node.decorator_list)
                    if ast.get_docstring(node) is None and not overloads:
                        bare.append(f"{path}:{node.lineno}: {node.name}")
                    if isinstance(node, ast.ClassDef):
                        above.append(node)
    assert bare == []
