"""The documented package `wirelens`: its names, their documentation in both forms, what they accept."""

import inspect
import mmap
import pydoc
from pathlib import Path
from typing import Any

import pytest

import wirelens
from wirelens import codecs

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
DATA = bytes(codecs.captures.pasted((EXAMPLES / "dubbo-order.xxd").read_bytes()).data)

FUNCTIONS = ("calls", "conversations", "decode", "detect", "encode", "encode_text", "dumps", "loads")
CLASSES = ("Call", "Candidate", "Decoder", "Detection", "Node", "Note", "Record")
ERRORS = ("DecodeError", "EncodeError", "JsonTextError", "PastedError", "UnknownProtocolError")


def test_all_names_are_there_and_listed() -> None:
    assert {*FUNCTIONS, *CLASSES, *ERRORS, "WirelensError", "captures", "__version__"} == set(
        wirelens.__all__
    )
    assert set(wirelens.__all__) <= set(dir(wirelens))
    for name in wirelens.__all__:
        assert getattr(wirelens, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = wirelens.nothing


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES, *ERRORS, "WirelensError"])
def test_help_has_text(name: str) -> None:
    shown = pydoc.plain(pydoc.render_doc(getattr(wirelens, name)))
    documentation = inspect.getdoc(getattr(wirelens, name))
    assert documentation
    assert documentation.splitlines()[0] in shown


def test_help_of_the_package_has_every_function() -> None:
    shown = pydoc.plain(pydoc.render_doc(wirelens))
    for name in (*FUNCTIONS, "Record", "Node"):
        assert f"{name}(" in shown or f"class {name}" in shown


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_have_types_of_the_language(name: str) -> None:
    signature = inspect.signature(getattr(wirelens, name))
    texts = [str(part.annotation) for part in signature.parameters.values()] + [
        str(signature.return_annotation)
    ]
    assert all(text and "_empty" not in text and "i64" not in text for text in texts)


@pytest.mark.parametrize("name", ["Record", "Node", "Call"])
def test_the_reference_names_only_members_that_there_are(name: str) -> None:
    from wirelens.reference import CLASSES as TEXTS

    record = wirelens.decode(DATA)[0]
    example = {"Record": record, "Node": record.root, "Call": wirelens.Call()}[name]
    for line in TEXTS[name].splitlines()[1:]:
        word = line.split("(")[0].split()
        member = word[0].removeprefix(name + ".") if word else ""
        if line[:5].strip() and member.isidentifier():
            assert hasattr(example, member) or member in ("len", name.lower()), line


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes(form: type) -> None:
    data = form(DATA)
    assert wirelens.detect(data).protocol == "dubbo"
    records = wirelens.decode(data)
    assert wirelens.encode(records) == DATA
    decoder = wirelens.Decoder()
    fed = [*decoder.feed(data[:20]), *decoder.feed(data[20:]), *decoder.close()]
    assert [record.to_json() for record in fed] == [record.to_json() for record in records]
    assert decoder.protocol == "dubbo"
    assert decoder.detection is not None
    assert decoder.detection.protocol == "dubbo"
    assert repr(decoder) == "<Decoder dubbo>"


def test_a_mapped_file(tmp_path: Path) -> None:
    path = tmp_path / "message.bin"
    path.write_bytes(DATA)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        assert wirelens.encode(wirelens.decode(data)) == DATA


def test_text_is_not_bytes() -> None:
    with pytest.raises(TypeError):
        wirelens.decode("da bb")  # type: ignore[arg-type]


def test_nodes_are_read_by_name_and_position() -> None:
    root = wirelens.decode(DATA)[0].root
    assert root is not None
    body = root["body"]
    assert body["method"].value == "place"
    assert body.get("nothing") is None
    assert body.get("nothing", root) is root
    assert [node.name for node in root] == [node.name for node in root.children]
    assert len(root) == len(root.children)
    assert root[0].name == root.children[0].name
    assert root[-1].name == "body"
    assert bool(root[0])
    with pytest.raises(KeyError):
        _ = root["nothing"]
    with pytest.raises(IndexError):
        _ = root[99]


def test_maps_are_read_by_their_keys() -> None:
    root = wirelens.decode(codecs.encode({"values": [{"a": 1, "b": [2, 3]}]}, "hessian2"), "hessian2")[0].root
    assert root is not None
    entries = root["values"][0]
    assert entries["a"].value == 1
    assert [node.value for node in entries["b"]] == [2, 3]
    assert entries.get("c") is None


def test_representations_show_what_things_are() -> None:
    record = wirelens.decode(DATA)[0]
    root = record.root
    assert root is not None
    assert repr(record).startswith("<Record dubbo request at 0, ")
    assert repr(root) == f"<Node root: struct at 0-{len(DATA)}>"
    assert repr(root["body"]["method"]).startswith("<Node body.method: string place at ")
    hostile = codecs.encode({"values": ["\x1b[2J" * 30]}, "hessian2")
    value = wirelens.decode(hostile, "hessian2")[0].root
    assert value is not None
    assert "\x1b" not in repr(value["values"][0])
    assert "\x1b" not in repr(wirelens.decode(hostile, "hessian2")[0])


def test_representations_of_what_captures_give() -> None:
    flow = wirelens.captures.Flow(3, "tcp", (b"\x0a\0\0\1", b"\x0a\0\0\2"), (4000, 20880))
    assert repr(flow) == "<Flow 3 tcp 10.0.0.1:4000 > 10.0.0.2:20880>"
    piece = wirelens.captures.Piece(flow, 1, 40, b"abc", 0, (7,), 5, (), "fin")
    assert repr(piece) == "<Piece flow 3 server at 40, 3 bytes, 5 bytes missing before, ends: fin>"
    assert repr(wirelens.Note("bad-text", 5, "x")) == "Note(code='bad-text', offset=5, text='x')"


def test_errors_have_one_base() -> None:
    for name in ERRORS:
        assert issubclass(getattr(wirelens, name), wirelens.WirelensError)
    with pytest.raises(wirelens.WirelensError):
        wirelens.decode(b"", "nothing")
    with pytest.raises(LookupError):
        wirelens.decode(b"", "nothing")
    with pytest.raises(wirelens.WirelensError):
        wirelens.loads("{")
    with pytest.raises(wirelens.WirelensError):
        wirelens.encode({"values": 1}, "hessian2")
    assert wirelens.DecodeError("truncated", 1, "x", 5).incomplete
    assert not wirelens.DecodeError("bad-value", 1, "x").incomplete


@pytest.mark.parametrize(
    ("record", "hint"),
    [
        ({"request": True, "service": "a.B"}, 'what a message has stands in it: "message": {"request": …}'),
        ({"mesage": {}}, 'did you mean "message"?'),
        ({}, 'needs "bytes", as hex'),
    ],
)
def test_a_record_without_its_message(record: Any, hint: str) -> None:
    record["protocol"] = "dubbo"
    with pytest.raises(wirelens.EncodeError) as raised:
        wirelens.encode(record)
    assert str(raised.value).endswith(hint)
