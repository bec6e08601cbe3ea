"""Views at the widths that people use: nothing is wider, names in deep trees are whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from wirelens import codecs
from wirelens.cli.input import Input
from wirelens.formatters import layout as lay
from wirelens.formatters.hexview import hexview
from wirelens.formatters.layout import Layout, plain
from wirelens.formatters.summary import Summaries
from wirelens.formatters.terminal import cells
from wirelens.formatters.tree import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wirelens.codecs import Record

EXAMPLES: Final = sorted(Path(__file__).resolve().parents[2].glob("examples/*.xxd"))
WIDTHS: Final = (60, 80, 100, 120, 200)
DEPTH: Final = 200


def nested(depth: int) -> Record:
    """Objects in objects: each has a name, the one before, the first one and the next one."""
    inner: codecs.Json = None
    for number in reversed(range(depth)):
        members: dict[str, codecs.Json] = {"$class": "com.example.Node", "name": f"node-{number}"}
        inner = {**members, "head": None if number == 0 else {"$ref": 0}, "next": inner}
    data = codecs.encode({"protocol": "hessian2", "message": {"values": [inner]}})
    (record,) = codecs.decode(data, "hessian2")
    assert not record.damaged
    return record


def content(path: Path) -> bytes:
    item = Input(str(path))
    item.open(None)
    return b"".join(item.chunks)


def messages(path: Path) -> list[Record]:
    return list(codecs.decode(content(path)))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_line_is_wider(path: Path, width: int) -> None:
    layout = Layout(width, cells)
    records = messages(path)
    lines = [line for record in records for view in (tree, hexview) for line in view(record, layout)]
    lines += [line for draw in Summaries().draws(records) for line in draw(layout)]
    for line in lines:
        failed = any(style == lay.ERROR for style, _ in line)  # which is never cut
        assert failed or cells(plain(line)) <= width


@pytest.mark.parametrize("width", [60, 80, 100])
def test_all_names_in_a_deep_tree(width: int) -> None:
    lines = [plain(line) for line in tree(nested(DEPTH), Layout(width, cells))]
    for number in range(DEPTH):
        assert any(line.endswith(f'name: "node-{number}"') for line in lines)
    assert any(f" {DEPTH + 1}· name" in line for line in lines)
    assert max(map(len, lines)) <= width


def test_a_reference_names_its_object_and_its_offset() -> None:
    lines = [plain(line) for line in tree(nested(3), Layout(80, cells))]
    (first,) = [line for line in lines if line.endswith("com.example.Node #0")]
    offset = int(first.split()[0])
    assert sum(line.endswith(f"head: → #0 Node at {offset}") for line in lines) == 2


def folded(lines: Iterator[lay.Line]) -> list[str]:
    return [plain(line) for line in lines]


def test_depth_folds_what_is_deeper() -> None:
    record = nested(10)
    whole = folded(tree(record, Layout(None)))
    for depth in range(12):
        lines = folded(tree(record, Layout(None, depth=depth)))
        hidden = sum(int(line.rpartition("… ")[2].split()[0]) for line in lines if line.endswith(" more"))
        assert len(lines) + hidden == len(whole) or depth == 0
        assert len(lines) <= len(whole)
    assert len(folded(tree(record, Layout(None, depth=0)))) <= 2


def test_lists_that_broke_off_state_how_many_there_should_be() -> None:
    data = bytes.fromhex("589a919293949596")
    (record,) = codecs.decode(data, "hessian2")
    lines = folded(tree(record, Layout(80, cells)))
    assert any("list (6 of 10)" in line for line in lines)
    assert any("list (6 of 10)" in plain(line) for line in hexview(record, Layout(80, cells)))


def test_an_error_is_at_its_place() -> None:
    (path,) = [path for path in EXAMPLES if path.stem == "dubbo-order"]
    data = bytearray(content(path))
    data[300] = 0xFF
    (record,) = codecs.decode(bytes(data))
    lines = folded(tree(record, Layout(80, cells)))
    assert lines[0].endswith("✕ 1 error inside, at 300")
    place = next(number for number, line in enumerate(lines) if "✕ bad-text" in line)
    assert 'name: "Ada"' in lines[place - 1]
    assert lines[place].startswith("300 ")
    mark = next(number for number, line in enumerate(lines) if line.strip().startswith("^^"))
    column = lines[mark].index("^^")
    assert lines[mark - 1][column : column + 2] == "ff"
    assert lines[mark].endswith("0x12c")
    assert not any(f"{record.length - 16:,} bytes {bytes(data[16:20]).hex()}" in line for line in lines)
    rows = folded(hexview(record, Layout(80, cells)))
    (row,) = [line for line in rows if "✕ bad-text" in line]
    assert row.startswith("012c  ff")
