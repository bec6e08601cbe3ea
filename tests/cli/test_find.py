"""`decode --find`: nodes by text, expression or path."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.formatters.find import Found, Search, SearchError
from wirelens.formatters.layout import Layout, plain

if TYPE_CHECKING:
    from commands import Run

ORDER = "examples/dubbo-order.xxd"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("/TEA|POT/", ["body.arguments[0].lines[0].sku", "body.arguments[0].lines[1].sku"]),
        ("tea-250", ["body.arguments[0].lines[0].sku"]),
        ("/tea-250/", []),
        ("body.arguments[0].buyer.name", ["body.arguments[0].buyer.name"]),
        ("message.body.arguments[0].buyer.name", ["body.arguments[0].buyer.name"]),
        ("body.arguments[*].lines[*].quantity", [f"body.arguments[0].lines[{n}].quantity" for n in (0, 1)]),
        ("..locale", ["body.arguments[0].buyer.locale"]),
        ("20260117001", ["body.arguments[0].id"]),
        ("OrderStatus.PAID", ["body.arguments[0].status"]),
        ("timeout", ["body.attachments.timeout"]),
        ("nothing of this", []),
    ],
)
def test_what_is_found(text: str, paths: list[str], run: Run) -> None:
    shown = run("decode", "--find", text, ORDER)
    assert shown.exit_code == (0 if paths else 1)
    found = re.findall(r"^ *(\d+)  0x([0-9a-f]+)  (.*)$", shown.stdout, re.MULTILINE)
    assert [path for _, _, path in found] == paths
    assert all(int(decimal) == int(digits, 16) for decimal, digits, _ in found)
    matches = "1 node matches" if len(paths) == 1 else f"{len(paths)} nodes match"
    assert shown.stderr == matches + "\n"


def test_ancestors_and_bytes_are_shown(run: Run) -> None:
    lines = run("decode", "--find", "POT-1", ORDER).stdout.splitlines()
    tree = lines[: lines.index("")]
    assert [line.split("─ ")[-1].partition(":")[0] for line in tree[1:]] == [
        "body",
        "arguments",
        "[0]",
        "lines",
        "[1]",
        "sku",
    ]
    assert tree[-1].endswith('sku: "POT-1"  05 50 4f 54 2d 31')


def test_a_wrong_expression_is_an_error(run: Run) -> None:
    shown = run("decode", "--find", "/(/", ORDER)
    assert shown.exit_code == 2
    assert "not a regular expression" in shown.stderr
    assert run("decode", "--find", "x", "--format", "json", ORDER).exit_code == 2
    with pytest.raises(SearchError):
        Search("")


VALUES = st.recursive(
    st.integers(-(2**31), 2**31 - 1) | st.text("abc.é", max_size=5) | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc. ", max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_every_node_is_found_by_its_path(value: codecs.Json) -> None:
    text = json.dumps({"protocol": "hessian2", "message": {"values": [value]}})
    (record,) = codecs.decode(codecs.encode(json.loads(text)), "hessian2")
    found = Found(record, Search("/(?s:.*)/"))
    paths = [hit.path for hit in found.hits if hit.path]
    assert len(set(paths)) == len(paths)
    for path in paths:
        again = Found(record, Search(path))
        assert path in [hit.path for hit in again.hits]
        assert len(list(again.lines(Layout()))) > 1
    assert all(isinstance(plain(line), str) for line in found.lines(Layout(60)))
