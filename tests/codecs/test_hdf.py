"""HDF text: what is read, what is written, what breaks it."""

from typing import Any

import checks
import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from wirelens import codecs
from wirelens.codecs.codes import Note
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import Path
from wirelens.codecs.json_writers import tree_json
from wirelens.codecs.mevent import hdf, hdf_encoding
from wirelens.codecs.node import Json, root_of
from wirelens.codecs.tape import STRUCT, Buffer, Tape, head


def read(text: bytes) -> tuple[Any, list[Note]]:
    """The tree of a text (None: no HDF) and the notes."""
    buffer = Buffer(text, 100)
    tape = Tape(buffer)
    root = tape.open(head(STRUCT), 0, 0)
    hdf.read(tape, buffer, 0, len(text))
    tape.close(root, len(text))
    message = codecs.loads(tree_json(tape).decode())
    assert isinstance(message, dict)
    return message.get("hdf"), tape.notes


def write(items: Json) -> bytes:
    out = BytesWriter()
    hdf_encoding.write(items, Path(None, "hdf"), out)
    return out.getvalue()


def one(**members: Any) -> list[dict[str, Any]]:
    return [members]


READ: list[tuple[str, bytes, Any]] = [
    ("empty", b"", []),
    ("nul", b"\0", []),
    ("blank lines", b"\n \t\n\0", []),
    ("value", b"a = 1\n", one(name="a", value="1")),
    ("no newline", b"a = 1", one(name="a", value="1")),
    ("no blanks", b"a=1\n", one(name="a", value="1")),
    ("blanks around", b"  a \t =  x y \r\n", one(name="a", value="x y")),
    ("no value", b"a =\n", one(name="a", value="")),
    ("equals sign in value", b"d = x = y\n", one(name="d", value="x = y")),
    ("dotted", b"Page.Menu.0 = Home\n", one(name="Page.Menu.0", value="Home")),
    ("utf-8", "t = 你好 😀\n".encode(), one(name="t", value="你好 😀")),
    ("not utf-8", b"t = \xff\n", one(name="t", value={"$raw": "ff"})),
    ("comment", b"# a = 1\nb = 2\n  # c\n", one(name="b", value="2")),
    ("link", b"a : b.c\n", one(name="a", link="b.c")),
    ("copy", b"a := b.c\n", one(name="a", copy="b.c")),
    (
        "nesting",
        b"a {\nb {\nc = 1\n}\n}\n",
        one(name="a", children=one(name="b", children=one(name="c", value="1"))),
    ),
    ("indented", b"a {\n  b = 1\n  }\n", one(name="a", children=one(name="b", value="1"))),
    ("empty children", b"a {\n}\n", one(name="a", children=[])),
    ("text after {", b"a { what\n}\n", one(name="a", children=[])),
    (
        "here-document",
        b"t << EOM\nl1\nl2\nEOM\nb = 1\n",
        [{"name": "t", "value": "l1\nl2\n"}, {"name": "b", "value": "1"}],
    ),
    ("here-document without lines", b"t << X\nX\n", one(name="t", value="")),
    ("here-document, its own EOM", b"t << LPWD\nEOM\nLPWDx\nLPWD\n", one(name="t", value="EOM\nLPWDx\n")),
    ("mark followed by text", b"t << E\nx\nE f\n", one(name="t", value="x\n")),
    (
        "attributes",
        b'a [k, j="x y", n=5] = 1\n',
        one(name="a", attributes={"k": "1", "j": "x y", "n": "5"}, value="1"),
    ),
    (
        "attributes without commas",
        b"a [k j=2] {\n}\n",
        one(name="a", attributes={"k": "1", "j": "2"}, children=[]),
    ),
    (
        "attribute twice",
        b"a [k, k=2] = 1\n",
        one(name="a", attributes={"$map": [["k", "1"], ["k", "2"]]}, value="1"),
    ),
    ("escapes", rb'a [k="\"\\\n\t\r\x\101"] = 1', one(name="a", attributes={"k": '"\\\n\t\rxA'}, value="1")),
    ("escaped, not utf-8", rb'a [k="\377"] = 1', one(name="a", attributes={"k": {"$raw": "ff"}}, value="1")),
    ("no attributes", b"a [] = 1\n", one(name="a", attributes={}, value="1")),
]


@pytest.mark.parametrize(("text", "tree"), [case[1:] for case in READ], ids=[case[0] for case in READ])
def test_read(text: bytes, tree: Any) -> None:
    assert read(text) == (tree, [])
    assert read(text + b"\0" if b"\0" not in text else text) == (tree, [])


@pytest.mark.parametrize(
    "text",
    [
        b"hello world",
        b"{\n}\n",
        b"= 1\n",
        b"a\n",
        b"a ! b\n",
        b"a <<\nx\n",
        b"a [k = 1\n",
        b"a [=] = 1\n",
        b"}\n",
        b"#include x\n",
    ],
)
def test_text_that_is_no_hdf_shows_none(text: bytes) -> None:
    assert read(text) == (None, [])


DAMAGED: list[tuple[bytes, Any, int, str]] = [
    (b"a = 1\nhello\n", one(name="a", value="1"), 6, "without a name and an operator"),
    (b"a = 1\nb\0", one(name="a", value="1"), 6, "without a name and an operator"),
    (b"a {\nb = 1\n", one(name="a", children=one(name="b", value="1")), 10, "a { without a }"),
    (b"a {\n}\n}\nb = 1\n", one(name="a", children=[]), 6, "a } without a {"),
    (b"a {\n} x\n", one(name="a", children=[]), 4, "text after }"),
    (b"a << EOM\nx\ny", one(name="a", value="x\ny"), 12, "without an end"),
    (b'a = 1\nb [k="x] = 2\n', one(name="a", value="1"), 6, "malformed attributes"),
    (b"a = 1\nb [k] ? 2\n", one(name="a", value="1"), 6, "without a name and an operator"),
    (b"a = 1\n#include x\n", one(name="a", value="1"), 6, "#include"),
    (b"a {\nb ?\n}\n", one(name="a", children=[]), 4, "without a name"),
    (b"a = 1\n\0b", one(name="a", value="1"), 6, "1 byte after the NUL"),
]


@pytest.mark.parametrize(("text", "tree", "at", "expected"), DAMAGED)
def test_what_came_before_damage_is_kept(text: bytes, tree: Any, at: int, expected: str) -> None:
    found, notes = read(text)
    assert found == tree
    assert [(note.code, note.offset) for note in notes] == [("hdf-damaged", 100 + at)]
    assert expected in notes[0].text


def test_text_above_the_limit_is_not_drawn() -> None:
    found, notes = read(b"a = " + b"x" * hdf.MAX_TEXT)
    assert found is None
    assert [note.code for note in notes] == ["limit"]


def test_nesting_is_no_limit() -> None:
    depth = checks.DEEP
    found, notes = read(b"a {\n" * depth + b"}\n" * depth)
    assert notes == []
    assert write(found) == b"a {\n" * depth + b"}\n" * depth


WRITTEN: list[tuple[Any, bytes]] = [
    ([], b""),
    (one(name="a", value="1"), b"a = 1\n"),
    (one(name="a", value=""), b"a = \n"),
    (one(name="a", value={"$raw": "ff"}), b"a = \xff\n"),
    (one(name="a", value="x\ny\n"), b"a << EOM\nx\ny\nEOM\n"),
    (one(name="a", value="x\ny"), b"a << EOM\nx\ny\nEOM\n"),
    (one(name="a", value="EOM\nEOM1 x\n EOM2\n"), b"a << EOM2\nEOM\nEOM1 x\n EOM2\nEOM2\n"),
    (one(name="a", link="b"), b"a : b\n"),
    (one(name="a", copy="b"), b"a := b\n"),
    (one(name="a", children=one(name="b", value="1")), b"a {\nb = 1\n}\n"),
    (one(name="a", value="0", children=one(name="b", value="1")), b"a = 0\na {\nb = 1\n}\n"),
    (one(name="a", attributes={"k": "1", "j": 'x"\\\n'}, value="1"), b'a [k, j="x\\"\\\\\\n"] = 1\n'),
    (one(name="a", attributes=[["k", "1"], ["k", "2"]], value="1"), b'a [k, k="2"] = 1\n'),
    (one(name="a", attributes={"$map": [["k", "2"]]}, link="b"), b'a [k="2"] : b\n'),
]


@pytest.mark.parametrize(("items", "text"), WRITTEN)
def test_write(items: Any, text: bytes) -> None:
    assert write(items) == text


REFUSED: list[tuple[Any, str, str]] = [
    ({}, "hdf", "expected an array of items of HDF"),
    ([1], "hdf[0]", "expected an object"),
    (one(name="a"), "hdf[0]", "needs value, link, copy or children"),
    (one(value="a"), "hdf[0]", 'needs the member "name"'),
    (one(name="a b", value="1"), "hdf[0].name", "letters, digits"),
    (one(name="", value="1"), "hdf[0].name", "letters, digits"),
    (one(name="a", value=" x"), "hdf[0].value", "blanks at its ends"),
    (one(name="a", value="x\0y"), "hdf[0].value", "NUL"),
    (one(name="a", value="x\n\0"), "hdf[0].value", "NUL"),
    (one(name="a", value="x", link="y"), "hdf[0].link", "one of value, link and copy"),
    (one(name="a", link="x\ny"), "hdf[0].link", "one line"),
    (one(name="a", valeu="x"), "hdf[0].valeu", "no such member"),
    (one(name="a", attributes={"k!": "1"}, value="x"), "hdf[0].attributes", "letters and digits"),
    (one(name="a", attributes=["k"], value="x"), "hdf[0].attributes", "pairs"),
    (one(name="a", attributes={"k": "\0"}, value="x"), "hdf[0].attributes", "NUL"),
    (
        one(name="a", children=one(name="b", children=[5])),
        "hdf[0].children[0].children[0]",
        "expected an object",
    ),
]


@pytest.mark.parametrize(("items", "path", "expected"), REFUSED)
def test_refused(items: Any, path: str, expected: str) -> None:
    with pytest.raises(EncodeError) as caught:
        write(items)
    assert caught.value.path == path
    assert expected in caught.value.text


def test_lookup_follows_dots_and_nesting() -> None:
    text = b"Output.errmsg = first\nOutput {\nerrmsg = last\n}\nOther = x\n"
    buffer = Buffer(text)
    tape = Tape(buffer)
    hdf.read(tape, buffer, 0, len(text))
    found = [hdf.lookup(root_of(tape), name) for name in ("Output.errmsg", "Other", "Output", "Output.none")]
    assert [None if node is None else node.shown for node in found] == ["last", "x", None, None]


LINES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
VALUES = LINES.map(lambda text: text.strip() if "\n" not in text else text.rstrip("\n") + "\n").filter(
    # ClearSilver trims what C calls blank, Python some more
    lambda text: "\n" in text or text == text.strip(hdf.BLANKS.decode())
)
ITEMS = st.recursive(
    st.builds(
        lambda name, value: {"name": name, "value": value},
        st.from_regex(r"[a-zA-Z0-9_.]+", fullmatch=True),
        VALUES,
    ),
    lambda inner: st.builds(
        lambda name, items: {"name": name, "children": items}, st.just("n"), st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(ITEMS, max_size=4))
def test_what_is_written_reads_back(items: list[Any]) -> None:
    assert read(write(items)) == (items, [])


@given(st.binary(max_size=200))
def test_any_bytes_read(text: bytes) -> None:
    read(text)


@given(
    st.lists(
        st.sampled_from(
            [b"a", b" = ", b"{", b"}", b"\n", b"<<", b"[", b"]", b'"', b"\\", b",", b"\0", b"#", b":"]
        ),
        max_size=40,
    )
)
def test_any_tokens_read(parts: list[bytes]) -> None:
    found, _ = read(b"".join(parts))
    if found is not None:
        assert isinstance(found, list)
