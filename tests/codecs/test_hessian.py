"""Hessian against bytes of real writers: their meaning, and the same bytes back."""

import json
from collections import Counter
from pathlib import Path

import pytest
from neutral import Tree, differences, vectors

from wirelens import codecs
from wirelens.codecs import tape as t
from wirelens.codecs.node import Node

HERE = Path(__file__).parent.parent / "vectors"
FILES = sorted(path.name for path in HERE.glob("*.jsonl.gz") if path.name.startswith(("hessian", "seed-")))
LIVING = [name for name in FILES if "predraft" not in name]
DIALECTS = ["hessian1", "hessian2-draft", "hessian2"]


def values_of(root: Node | None) -> list[Node]:
    """The values of a message as the vectors list them: headers' first, a part's content as its message."""
    found: list[Node] = []
    for body in [] if root is None else root.children:
        name = body.field.name
        if name in ("values", "arguments"):
            found.extend(body.children)
        elif name in ("value", "fault"):
            found.append(body)
        elif name == "headers":
            found.extend(pair.children[1] for pair in body.children)
        elif name in ("call", "reply", "message", "envelope", "content"):
            found.extend(values_of(body))
        elif name in ("packets", "parts"):
            for part in body.children:
                found.extend(values_of(part))
    if root is not None and root.field.name == "call":
        # headers may stand before the arguments in the list, wherever the bytes have them
        found.sort(key=lambda node: node.span)
    return found


def problems(case: Tree) -> list[str]:
    """What is wrong with the decoding of a case, and with its bytes written again."""
    data = bytes.fromhex(case["hex"])
    records = codecs.decode(data, case["protocol"])
    if len(records) != 1 or records[0].error is not None:
        return [f"{len(records)} records, {records[0].error}"]
    found: list[str] = []
    wanted = case.get("values", [])
    got = values_of(records[0].root)
    if case.get("envelope", {}).get("kind") == "fault" and len(wanted) > 1:
        got = [side for fault in got for side in fault.children]
    if len(got) != len(wanted):
        found.append(f"{len(got)} values, not {len(wanted)}")
    for node, tree in zip(got, wanted, strict=False):
        found.extend(differences(node, tree))
    method = case.get("envelope", {}).get("method")
    if method is not None and json.dumps(method, ensure_ascii=False) not in records[0].json_text():
        found.append(f"the method {method} is not in the message")
    if codecs.encode(codecs.loads(records[0].json_text())) != data:
        found.append("other bytes come back")
    return found


def check_all(folder: Path, name: str) -> None:
    bad: list[str] = []
    count = 0
    for case in vectors(folder, name):
        if "error_expected" in case:
            continue
        count += 1
        bad.extend(f"{case['name']}: {problem}" for problem in problems(case))
    assert count > 0
    assert bad == []


@pytest.mark.parametrize("name", LIVING)
def test_meaning_and_bytes(name: str) -> None:
    check_all(HERE, name)


@pytest.mark.parametrize(
    "pattern", ["hessian1*.jsonl*", "hessian2-draft*.jsonl*", "hessian2-final*.jsonl*", "seed-examples.jsonl"]
)
@pytest.mark.once
def test_every_vector(shared: Path, pattern: str) -> None:
    check_all(shared / "vectors", pattern)


def texts(data: bytes, protocol: str, size: int) -> list[str]:
    """The records of an input fed in chunks."""
    decoder = codecs.Decoder(protocol)
    records = []
    for at in range(0, len(data), size):
        records.extend(decoder.feed(data[at : at + size]))
    records.extend(decoder.close())
    return [record.json_text() for record in records]


@pytest.mark.parametrize("name", LIVING)
def test_chunks_change_nothing(name: str) -> None:
    for case in vectors(HERE, name):
        data = bytes.fromhex(case["hex"])
        whole = texts(data, case["protocol"], len(data))
        assert texts(data, case["protocol"], 1 if len(data) < 200 else len(data) // 5) == whole, case["name"]


def test_a_misprint_is_an_error_with_what_decoded(shared: Path) -> None:
    cases = [case for case in vectors(shared / "vectors", "seed-examples.jsonl") if "error_expected" in case]
    assert cases
    for case in cases:
        record = codecs.decode(bytes.fromhex(case["hex"]), case["protocol"])[0]
        assert record.error is not None
        assert (record.error.code, record.error.offset) == ("bad-value", 17)
        assert record.partial is not None
        assert [child.value for child in record.partial.children[0].children[0].children][1] == "fee"


def outcome(data: bytes, protocol: str) -> str:
    """How an input decodes: the code of its error, "several", or "whole"."""
    records = codecs.decode(data, protocol)
    if records[0].error is not None:
        return records[0].error.code
    return "whole" if len(records) == 1 else "several"


def test_the_layout_of_2006_is_refused_by_name() -> None:
    found: Counter[str] = Counter()
    for case in vectors(HERE, "hessian2-predraft-2006.jsonl.gz"):
        data = bytes.fromhex(case["hex"])
        outcomes = {outcome(data, protocol) for protocol in DIALECTS}
        # valid in a living dialect as well, or refused in all of them
        assert "whole" in outcomes or outcomes == {"hessian-2006"}, case["name"]
        found["living" if "whole" in outcomes else "refused"] += 1
    assert found["refused"] > 20


def test_the_layout_of_2006_in_chunks() -> None:
    data = bytes.fromhex("567400085b626f6f6c65616e750254467a")
    assert texts(data, "hessian2-draft", 3) == texts(data, "hessian2-draft", len(data))
    assert '"hessian-2006"' in texts(data, "hessian2-draft", 3)[0]


# --- bytes that others published -------------------------------------------------------------------------

DIALECT_NAMES = {"hessian1": "hessian1", "hessian2-draft": "hessian2-draft", "hessian2-final": "hessian2"}


def test_published_fixtures(shared: Path) -> None:
    count = 0
    for path in sorted((shared / "vectors" / "fixtures").glob("*/*.json")):
        about = json.loads(path.read_text())
        if about.get("dialect") is None or about.get("decode_error"):
            continue
        data = path.with_suffix(".bin").read_bytes()
        case = {"protocol": DIALECT_NAMES[about["dialect"]], "hex": data.hex(), "values": about["values"]}
        assert problems(case) == [], path.name
        count += 1
    assert count >= 8


@pytest.mark.parametrize(
    ("name", "skipped", "cut"),
    [
        ("blog_user_signed_decimal", 0, False),
        ("dubbo_py_issue9_leftover", 0, False),
        ("dubbo_response_page39", 16, False),
        ("dubbo_go_issue163_truncated", 0, True),
        ("dubbo_go_issue367_truncated", 0, True),
    ],
)
def test_published_captures(shared: Path, name: str, skipped: int, cut: bool) -> None:
    folder = shared / "vectors" / "fixtures" / "captures"
    about = json.loads((folder / f"{name}.json").read_text())
    data = (folder / f"{name}.bin").read_bytes()[about.get("body_offset", skipped) :]
    record = codecs.decode(data, "hessian2")[0]
    assert (record.error is not None) == cut
    if cut:
        assert record.error is not None
        assert record.error.code == "truncated"
    got = values_of(record.partial)
    for node, tree in zip(got, about.get("values_before_error", []), strict=False):
        assert differences(node, tree) == []
    assert len(got) >= len(about.get("values_before_error", []))


LABELS = {"hessian2-value": "hessian2", "hessian1-value": "hessian1", "hessian1-call": "hessian1"}


def test_published_payloads(shared: Path) -> None:
    folder = shared / "captures" / "positive"
    count = 0
    for about in json.loads((folder / "manifest.json").read_text()):
        label = about["label"]
        if not label.startswith("hessian"):
            continue
        data = (folder / about["file"]).read_bytes()
        records = codecs.decode(data, LABELS.get(label, label))
        count += 1
        assert len(records) == 1, about["file"]
        if "truncated" in about["contains"]:
            error = records[0].error
            assert error is not None
            assert error.code == "truncated"
            assert error.offset > len(data) - 40
        else:
            assert records[0].error is None, about["file"]
            assert codecs.encode(codecs.loads(records[0].json_text())) == data
    assert count >= 100


# --- nesting ---------------------------------------------------------------------------------------------

DEEP = 20_000
NESTED = [
    ("hessian1", b"Vl\0\0\0\1", b"N", b"z"),
    ("hessian1", b"Mt\0\0N", b"N", b"z"),
    ("hessian2-draft", b"Vn\1", b"N", b"z"),
    ("hessian2-draft", b"MN", b"N", b"z"),
    ("hessian2", b"\x79", b"N", b""),
    ("hessian2", b"W", b"N", b"Z"),
    ("hessian2", b"HN", b"N", b"Z"),
]


@pytest.mark.parametrize(("protocol", "opening", "inner", "closing"), NESTED)
def test_deep_nesting_comes_back(protocol: str, opening: bytes, inner: bytes, closing: bytes) -> None:
    data = opening * DEEP + inner + closing * DEEP
    record = codecs.decode(data, protocol)[0]
    assert record.error is None
    assert record.tape is not None
    assert record.tape.size() > DEEP
    assert codecs.encode(codecs.loads(record.json_text())) == data
    assert record.summary


@pytest.mark.parametrize(("protocol", "opening", "inner", "closing"), NESTED)
def test_deep_nesting_cut(protocol: str, opening: bytes, inner: bytes, closing: bytes) -> None:
    data = opening * DEEP
    record = codecs.decode(data, protocol)[0]
    assert record.error is not None
    assert record.error.code == "truncated"
    assert codecs.encode([codecs.loads(record.json_text())]) == data


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "opening"), [("hessian1", b"V"), ("hessian2-draft", b"V"), ("hessian2", b"W")]
)
def test_a_hundred_thousand_levels(protocol: str, opening: bytes) -> None:
    data = opening * 100_000 + (b"Z" if protocol == "hessian2" else b"z") * 100_000
    record = codecs.decode(data, protocol)[0]
    assert record.error is None
    assert codecs.encode(codecs.loads(record.json_text())) == data


def test_objects_nest_as_deep() -> None:
    data = b"C\x01a\x91\x01b" + b"\x60" * DEEP + b"N"
    record = codecs.decode(data, "hessian2")[0]
    assert record.error is None
    assert codecs.encode(codecs.loads(record.json_text())) == data


def test_kinds_of_the_vectors_are_all_there() -> None:
    kinds: set[int] = set()
    for name in LIVING:
        for case in vectors(HERE, name):
            tape = codecs.decode(bytes.fromhex(case["hex"]), case["protocol"])[0].tape
            assert tape is not None
            kinds.update(tape.kind(index) for index in tape.indexes())
    assert kinds >= {
        t.NULL,
        t.BOOL,
        t.INT,
        t.LONG,
        t.DOUBLE,
        t.STRING16,
        t.BYTES,
        t.DATE,
        t.LIST,
        t.MAP,
        t.OBJECT,
        t.REF,
        t.REMOTE,
        t.TYPE,
        t.CLASS,
        t.CHUNK,
        t.LENGTH,
    }
