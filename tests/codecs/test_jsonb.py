"""JSONB: vectors of fastjson2's writer with their meaning, references, damage, JSON written by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checks import codes, decoded, message, one
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.cli.main import group
from wirelens.codecs import registry
from wirelens.codecs.node import Node

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared"
OWN = [json.loads(line) for line in (HERE.parent / "vectors/jsonb.jsonl").read_text("utf-8").splitlines()]
WRITTEN = SHARED / "dubbo3/jsonb-vectors.jsonl"
VECTORS = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()] if WRITTEN.exists() else []
GOOD = [vector for vector in VECTORS if "expect" not in vector]
DAMAGED = [vector for vector in VECTORS if "expect" in vector]

INTEGERS = {"int": "$int", "long": "$long", "short": "$int16", "byte": "$int8"}
NO_WORD = {"nan": "NaN", "inf": "Infinity", "infinity": "Infinity", "-inf": "-Infinity"}


def value_of(data: bytes) -> Any:
    return message(one(data, "jsonb"))["value"]


def written(value: Any) -> str:
    """The hex of a value of the notation."""
    return codecs.encode([{"value": value}], "jsonb").hex()


# --- the vectors ------------------------------------------------------------------------------------------


def fraction(text: str) -> str:
    """A time as the vectors have it: numbers without leading zeros, nanoseconds after the point."""
    day, _, clock = text.rpartition("T")
    clock, _, nanos = clock.partition(".")
    shown = ":".join(str(int(part)) for part in clock.split(":")) + f".{int(nanos.ljust(9, '0') or 0)}"
    return f"{date(day)}T{shown}" if day else shown


def date(text: str) -> str:
    sign = "-" if text.startswith("-") else ""
    return sign + "-".join(str(int(part)) for part in text.lstrip("-").split("-"))


def number(kind: str, node: Node) -> Any:
    value = node.value
    if isinstance(value, float) and value != value:
        return {kind: "nan"}
    return {kind: value}


def meaning(node: Node) -> Any:
    """A value in the terms of the vectors."""
    kind = node.kind_name
    wire = node.shown
    if kind == "list":
        return typed(node, {"array": [meaning(child) for child in node]})
    if kind == "map":
        parts = [meaning(child) for child in node]
        return typed(node, {"object": [list(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]})
    if kind == "typed":
        return typed(node, meaning(node.children[0]))
    plain = {"null": None, "bool": node.value, "string": node.value, "name": node.value}
    if kind == "name" and node.number < 0:
        return {"symbol": node.number}
    if kind in plain:
        return plain[kind]
    if kind == "ref":
        return {"ref": next(node.parts()).text}
    found: dict[str, Callable[[], Any]] = {
        "int": lambda: {"int": node.value},
        "long": lambda: {"long": node.value},
        "Int16": lambda: {"short": node.value},
        "Int8": lambda: {"byte": node.value},
        "double": lambda: number("double", node),
        "Float32": lambda: number("float", node),
        "binary": lambda: {"binary": node.content.hex()},
        "date": lambda: {"date": node.value},
        "char": lambda: {"char": node.value},
        "bigint": lambda: {"bigint": node.value},
        "localdate": lambda: {"localdate": date(wire)},
        "localtime": lambda: {"localtime": fraction(wire)},
        "localdatetime": lambda: {"localdatetime": fraction(wire)},
        "zoned": lambda: {"zoned": [fraction(wire.partition("[")[0]), wire.partition("[")[2][:-1]]},
        "decimal": lambda: {"decimal": wire},
        "instant": lambda: {"instant": wire},
        "text_symbol": lambda: {"symbol": int(wire)},
    }
    return found[kind]()


def typed(node: Node, value: Any) -> Any:
    name = node.type_name
    if name is None and node.kind_name == "typed":
        (symbol,) = [part for part in node.parts() if part.kind_name == "type"]
        return {"type": {"symbol": symbol.number}, "value": value}
    part = next(node.parts(), None)
    if name is None and part is not None and part.kind_name == "type":
        return {"type": {"symbol": part.number}, "value": value}
    return value if name is None else {"type": name, "value": value}


def normal(value: Any) -> Any:
    """A meaning of the vectors, in which numbers that are texts there are numbers."""
    if isinstance(value, list):
        return [normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    (name, inner), *_ = value.items()
    if name in ("double", "float"):
        number = float(inner)
        if name == "float" and number == number and abs(number) != float("inf"):
            import struct

            number = struct.unpack(">f", struct.pack(">f", number))[0]
        return {name: "nan" if number != number else number}
    if name == "decimal":
        from decimal import Decimal

        digits = tuple(int(digit) for digit in inner[0].lstrip("-"))
        return {name: str(Decimal((int(inner[0].startswith("-")), digits, -inner[1])))}
    if name == "instant":
        from datetime import UTC, datetime, timedelta

        seconds, nanos = inner
        if not -62135596800 <= seconds <= 253402300799:
            return {name: str(inner)}
        text = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).isoformat()[:19]
        return {name: text + (f".{nanos:09}".rstrip("0") if nanos else "") + "Z"}
    if name == "object":
        return {name: [[normal(key), normal(item)] for key, item in inner]}
    return {key: normal(item) for key, item in value.items()}


@pytest.mark.skipif(not VECTORS, reason="the vectors are not here")
def test_written_values_have_their_meaning_and_their_bytes_again() -> None:
    wrong: list[str] = []
    for vector in GOOD:
        data = bytes.fromhex(vector["hex"])
        (record,) = codecs.decode(data, "jsonb")
        if record.error is not None or record.root is None:
            wrong.append(f"{vector['name']}: {record.summary}")
            continue
        again = codecs.encode([codecs.loads(record.json_text())])
        found = meaning(record.root["value"])
        if again != data or found != normal(vector["meaning"]):
            wrong.append(f"{vector['name']}: {found} for {vector['meaning']}, {again.hex()} for {data.hex()}")
    assert wrong == []
    assert len(GOOD) > 700


@pytest.mark.skipif(not VECTORS, reason="the vectors are not here")
def test_what_the_usual_writer_sends_needs_no_wire() -> None:
    usual = [vector for vector in GOOD if "dubbo" in vector.get("features", [])]
    assert len(usual) > 100
    for vector in usual:
        (record,) = codecs.decode(bytes.fromhex(vector["hex"]), "jsonb")
        assert "$wire" not in record.json_text(), vector["name"]


@pytest.mark.skipif(not VECTORS, reason="the vectors are not here")
def test_references_mean_what_the_vectors_state() -> None:
    count = 0
    for vector in GOOD:
        if "refs" not in vector:
            continue
        (record,) = codecs.decode(bytes.fromhex(vector["hex"]), "jsonb")
        assert record.root is not None
        found = [node for node in walk(record.root) if node.kind_name == "ref"]
        assert [next(node.parts()).text for node in found] == [ref["says"] for ref in vector["refs"]]
        paths: dict[str, int] = {}
        for node in found:
            assert node.target >= 0 or "dangling-ref" in codes(record), (vector["name"], vector["refs"])
        for node, ref in zip(found, vector["refs"], strict=True):
            if ref["means"] == "..":
                holder = node.parent
                while holder is not None and holder.kind_name == "typed":
                    holder = holder.parent
                assert holder is not None
                assert node.target == holder.index, vector["name"]
            else:
                assert paths.setdefault(ref["means"], node.target) == node.target
            count += 1
    assert count > 100


def walk(node: Node) -> list[Node]:
    found = [node]
    for child in node:
        found.extend(walk(child))
    return found


@pytest.mark.skipif(not VECTORS, reason="the vectors are not here")
@pytest.mark.parametrize("vector", DAMAGED, ids=lambda vector: str(vector["name"]))
def test_damage_has_an_offset_and_a_reason(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    records = codecs.decode(data, "jsonb")
    if not data:
        assert records == []
        return
    error = records[0].error
    assert error is not None
    assert error.text
    assert 0 <= error.offset <= len(data)


@pytest.mark.parametrize("vector", OWN, ids=lambda vector: str(vector["name"]))
def test_own_vectors(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    record = one(data, "jsonb")
    assert codecs.dumps(message(record)) == codecs.dumps(vector["message"])
    assert codecs.encode([vector["message"]], "jsonb") == data


# --- hand-written JSON ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5_000_000_000, "be000000012a05f200"),
        ({"a": "é"}, "a64a614ae9a5"),
        (
            {"$class": "A", "b": 1, "c": {"$class": "A", "b": 2}},
            "924a4100a67f4a6201017f4a63029200a67f0102a5a5",
        ),
        ({"$class": None, "b": 1}, "a67f4a620001a5"),
        ({"$type": "A", "$list": [1, 2]}, "924a4100960102"),
        ([{"$id": "x", "$map": {}}, {"$ref": "x"}, {"$ref": "x"}], "97a6a5934d245b305d934c232d31"),
        ({"$id": "m", "$map": {"self": {"$ref": "m"}}}, "a64d73656c66934b2e2ea5"),
        ({"a.b": {"$id": 1, "$list": []}, "c": {"$ref": 1}}, "a64c612e62944a63934f242e615c2e62a5"),
        ({"$decimal": 1.5}, "b9010f"),
        ({"$double": 3}, "b4e3"),
    ],
)
def test_json_written_by_hand_becomes_what_the_usual_writer_sends(value: Any, expected: str) -> None:
    assert written(value) == expected
    decoded(bytes.fromhex(expected), "jsonb")


@pytest.mark.parametrize("target", [None, True, 1.5, [], {}, 3])
def test_a_reference_to_no_label_is_refused(target: Any) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode({"value": [{"$ref": target}]}, "jsonb")
    assert caught.value.path == "value[0].$ref"


def test_deep_values_and_many_references_take_time_in_proportion() -> None:
    deep = b"\x95" * 10_000 + b"\x01"
    record = codecs.decode(deep, "jsonb")[0]
    assert record.error is None
    assert codecs.encode([codecs.loads(record.json_text())]) == deep
    keys = b"".join(b"\x4c" + f"{number:03x}".encode() + b"\xaf" for number in range(4000))
    paths = b"".join(
        b"\x4c" + f"x{number:02x}".encode() + b"\x93\x4e$.z" + f"{number:02x}".encode()
        for number in range(256)
    )
    record = codecs.decode(b"\xa6" + keys + paths + b"\xa5", "jsonb")[0]
    assert record.error is None
    assert {note.code for note in record.notes} == {"dangling-ref"}


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=60)
    | st.builds(lambda value: {"$long": value}, st.integers(-(1 << 63), (1 << 63) - 1))
    | st.builds(lambda value: {"$bytes": value.hex()}, st.binary(max_size=20))
    | st.builds(lambda value: {"$bigint": str(value)}, st.integers(-(1 << 200), 1 << 200))
    | st.builds(lambda value: {"$decimal": str(value)}, st.decimals(allow_nan=False, allow_infinity=False))
    | st.builds(lambda value: {"$float32": value}, st.floats(width=32, allow_nan=False))
)
NAMES = st.text(max_size=8).filter(lambda name: not name.startswith("$"))
TYPES = st.text(min_size=1, max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES, inner, max_size=4)
        | st.builds(
            lambda name, fields: {"$class": name, **fields},
            TYPES,
            st.dictionaries(NAMES, inner, min_size=1, max_size=4),
        )
        | st.builds(lambda name, items: {"$type": name, "$list": items}, TYPES, st.lists(inner, max_size=3))
    ),
    max_leaves=20,
)


@given(value=VALUES)
def test_any_value_comes_back(value: Any) -> None:
    data = codecs.encode([{"value": value}], "jsonb")
    (record,) = codecs.decode(data, "jsonb")
    assert record.error is None
    text = record.json_text()
    assert '"$wire": ' not in text
    assert codecs.encode([codecs.loads(text)]) == data


@given(data=st.binary(min_size=1, max_size=60))
def test_any_bytes_come_back(data: bytes) -> None:
    decoded(data, "jsonb")


@given(data=st.binary(max_size=8), start=st.integers(0, 255), count=st.integers(1, 4))
def test_every_opcode_comes_back(data: bytes, start: int, count: int) -> None:
    decoded((bytes([start]) + data) * count, "jsonb")


# --- damage, notes, detection ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "offset", "code"),
    [
        ("80", 0, "bad-value"),
        ("a5", 0, "bad-value"),
        ("a64a61a5", 3, "bad-value"),
        ("9205a6a5", 1, "bad-value"),
        ("a64a6101", 4, "truncated"),
        ("910501", 2, "truncated"),
        ("9305", 1, "bad-value"),
        ("7a02c328", 2, "bad-text"),
        ("a9200d0d01", 1, "bad-value"),
        ("bb00", 1, "bad-length"),
        ("a4f0", 1, "bad-length"),
    ],
)
def test_errors(data: str, offset: int, code: str) -> None:
    error = decoded(bytes.fromhex(data), "jsonb")[0].error
    assert error is not None
    assert (error.offset, error.code) == (offset, code)


def test_a_cut_value_shows_what_decoded() -> None:
    data = bytes.fromhex(written({"$class": "org.example.A", "a": 1, "b": [1, 2, 3]}))
    (record,) = decoded(data[:-2], "jsonb")
    assert record.partial is not None
    assert '"a": 1' in record.json_text()


def test_a_class_known_from_attacks_is_noted() -> None:
    data = bytes.fromhex(written({"$class": "com.sun.rowset.JdbcRowSetImpl", "dataSourceName": "ldap://x"}))
    assert codes(one(data, "jsonb")) == ["gadget-class"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "gb18030"])
def test_such_a_class_is_noted_in_any_encoding(encoding: str) -> None:
    name = "com.sun.rowset.JdbcRowSetImpl".encode(encoding)
    byte = {"utf-8": 0x7A, "utf-16-le": 0x7C, "utf-16-be": 0x7D, "gb18030": 0x7E}[encoding]
    length = bytes([len(name)]) if len(name) < 48 else bytes([0x38, len(name)])
    assert codes(one(b"\x92" + bytes([byte]) + length + name + b"\0\xa6\xa5", "jsonb")) == ["gadget-class"]


def test_references_that_lead_nowhere_are_noted() -> None:
    record = one(bytes.fromhex(written([{"$ref": "$.a"}, {"$ref": "$[0]"}, {"$ref": "$[x"}])), "jsonb")
    assert codes(record) == ["dangling-ref", "dangling-ref"]


def test_an_exception_has_its_trace() -> None:
    (vector,) = [vector for vector in OWN if vector["name"] == "an exception"]
    record = one(bytes.fromhex(vector["hex"]), "jsonb")
    assert record.kind == "exception"
    assert record.summary == "exception java.lang.IllegalStateException: no stock"
    assert record.root is not None
    assert record.codec is not None
    assert record.codec.details(record.root["value"])[1].strip() == "at org.example.Shop.buy(Shop.java:12)"


def test_beans_are_recognised_and_bare_values_are_not() -> None:
    (vector,) = [vector for vector in OWN if vector["name"] == "a list of beans"]
    assert codecs.detect(bytes.fromhex(vector["hex"])).protocol == "jsonb"
    for vector in OWN:
        if "7f" not in vector["hex"] and "92" not in vector["hex"]:
            assert codecs.detect(bytes.fromhex(vector["hex"])).protocol != "jsonb", vector["name"]


def foreign() -> list[Path]:
    return [
        path
        for name in ("captures/negative", "captures/real", "real")
        for path in sorted((SHARED / name).rglob("*"))
        if path.is_file() and path.stat().st_size < 1 << 20
    ]


@pytest.mark.skipif(not foreign(), reason="the captures are not here")
def test_nothing_foreign_is_evidence() -> None:
    codec = registry.get("jsonb")
    for path in foreign():
        assert codec.probe(path.read_bytes(), b"").bits == 0.0, path


@pytest.mark.parametrize(
    "arguments",
    [["--find", "value.buyer.name"], ["--find", "Zoë"], ["--where", 'message.value.buyer.name == "Zoë"']],
)
def test_names_are_steps_of_paths(arguments: list[str]) -> None:
    example = HERE.parents[1] / "examples/jsonb-order.xxd"
    result = CliRunner().invoke(group, ["decode", *arguments, str(example)])
    assert result.exit_code == 0
    assert 'name: "Zoë"' in result.stdout
