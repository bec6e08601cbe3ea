"""JSON text that is encoded as it is read, beside the same text by way of its objects."""

import json
from typing import Any

import pytest
from graphs import VALUES, opened, shared_graph
from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.codecs.record_encoding import encode_text as written_as_read
from wirelens.codecs.scan import SLOTS, slot_of

FINAL = "hessian2"
SEPARATORS = ((", ", ": "), (",", ":"), (" ,\n", ":\t"))
ORDER: dict[str, Any] = {
    "$class": "example.text.Order",
    "id": {"$long": 1_000_000_000_000},
    "number": 300,
    "paid": True,
    "total": -12.25,
    "rate": 0.1234567890123456,
    "coupon": None,
    "remark": "下午 📱\u00e9\u007f",
    "created": {"$date": "2024-02-29T23:59:58.123Z"},
    "updated": {"$date": -60000},
    "customer": {"$class": "example.text.Customer", "$id": 1, "name": "x" * 40, "level": 0},
    "again": {"$ref": 1},
    "counts": list(range(-20, 60)),
    "nested": [[], [[1], list(range(8)), {}], {"": {"a": 1, "b": {"a": 2}}}],
    "attributes": {f"key {number}": number * 1000 for number in range(80)},
    "tags": {"$type": "java.util.ArrayList", "$list": ["a", "b\n\u0041"]},
    "more": {"$type": "java.util.ArrayList", "$id": 14, "$list": list(range(9))},
    "sorted": {"$type": "java.util.TreeMap", "$map": {"k": False}},
    "large": 12345678901,
}


def outcome(text: str, protocol: str | None) -> object:
    """What a text becomes by way of its objects: bytes, or an error."""
    try:
        return codecs.encode(codecs.loads(text), protocol)
    except codecs.WirelensError as error:
        return type(error), str(error)


def check(text: str, protocol: str | None = FINAL) -> None:
    """Both ways must have the same outcome."""
    expected = outcome(text, protocol)
    got: object
    try:
        got = codecs.encode_text(text, protocol)
    except codecs.WirelensError as error:
        got = type(error), str(error)
    assert got == expected


def order_text(separators: tuple[str, str] = SEPARATORS[0]) -> str:
    """An order's text; its classes are known from here on."""
    message = {"values": [ORDER]}
    codecs.encode(message, FINAL)
    return json.dumps(message, ensure_ascii=False, separators=separators)


def test_calls_and_replies_are_written_as_they_are_read() -> None:
    order_text()
    calls: list[dict[str, Any]] = [
        {"version": "2.0", "call": {"method": "place", "arguments": [ORDER, 5]}},
        {"version": "2.0", "call": {"method": "list", "arguments": []}},
        {"version": "2.0", "reply": {"value": ORDER}},
    ]
    for message in calls:
        data = codecs.encode(message, FINAL)
        assert written_as_read(codecs.decode(data, FINAL)[0].json_text(), None) == data


@pytest.mark.parametrize("separators", SEPARATORS)
def test_usual_values_are_written_as_they_are_read(separators: tuple[str, str]) -> None:
    text = order_text(separators)
    expected = outcome(text, FINAL)
    assert isinstance(expected, bytes)
    assert written_as_read(text, FINAL) == expected
    record = codecs.decode(expected, FINAL)[0].json_text()
    assert written_as_read(record, None) == expected
    assert written_as_read(record + " \n", "unknown") == expected
    assert written_as_read(json.dumps(json.loads(record), indent=2), None) == expected


@given(values=VALUES, chance=st.randoms(use_true_random=False), separators=st.sampled_from(SEPARATORS))
def test_any_values(values: list[Any], chance: Any, separators: tuple[str, str]) -> None:
    values = shared_graph(values, chance)
    message: dict[str, Any] = {"values": values}
    check(json.dumps(message, ensure_ascii=chance.random() < 0.5, separators=separators))
    record = codecs.decode(codecs.encode(message, FINAL), FINAL)[0].json_text()
    check(record, None)


SNIPPETS = (
    '"',
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "0",
    "-",
    ".5",
    "e1",
    "1",
    "\n",
    "\x0b",
    "$",
    "null",
    "\ud800",
)


@given(
    at=st.integers(0, 1 << 16),
    drop=st.integers(0, 3),
    put=st.one_of(st.just(""), st.sampled_from(SNIPPETS), st.sampled_from(sorted(ORDER))),
)
def test_damaged_text_has_the_same_outcome(at: int, drop: int, put: str) -> None:
    text = codecs.decode(codecs.encode({"values": [ORDER]}, FINAL), FINAL)[0].json_text()
    at %= len(text)
    check(text[:at] + put + text[at + drop :], None)
    check(text[:at], None)


@pytest.mark.parametrize(
    "text",
    [
        '{"values": [{"a": 1, "b": 2, "a": 3}]}',
        '{"values": [{"$long": 1, "$long": 2}]}',
        '{"values": [{"a": 1, "\\u0061": 2}]}',
        '{"values": [{"a": 1, "$b": 2}]}',
        '{"values": [01]}',
        '{"values": [1.]}',
        '{"values": [1e999]}',
        '{"values": [-0, -0.0, 1e5, 1E-3, 1.5e+2, 123456789012345678901234567890.5]}',
        '{"values": [9223372036854775808]}',
        '{"values": [{"$long": 1.0}]}',
        '{"values": [{"$date": "2023-02-29T00:00:00.000Z"}]}',
        '{"values": [{"$date": "2023-02-28T00:00:00.000+"}]}',
        '{"values": [{"$ref": -1}, {"$ref": 7}]}',
        '{"values": [[1,]]}',
        '{"values": [,1]}',
        '{"values": [1] } x',
        '{"values": ["\\ud800", "\\ud83d\\ude00", "a\tb"]}',
        '{"values": [' + "[" * 200 + "]" * 200 + "]}",
        '{"values": [1], "values": [2]}',
        '{"values": []}',
        '{"version": "2.0", "call": {"method": " é", "arguments": [1, [2], {}]}}',
        '{"call": {"method": "a", "arguments": []}}',
        '{"call": {"method": "a", "arguments": [], "method": "b"}}',
        '{"version": "2.1", "reply": {"value": 1}}',
        '{"reply": {"value": {"$type": "a", "$list": [{}]}}}',
        '{"reply": {"value": 1, "value": 2}}',
        '{"version": "2.0", "values": []}',
        '{"protocol": "hessian2", "offset": 1, "offset": 2, "message": {"values": []}}',
        '{"protocol": "hessian2", "offset": 01, "message": {"values": []}}',
        '{"protocol": "hessian9", "message": {"values": []}',
        '{"protocol": "hessian1", "message": {"values": [1]}}',
        '{"protocol": "unknown", "bytes": "00"}',
        '{"protocol": 5}',
        "",
        "[]",
        "\ufeff{}",
    ],
)
def test_unusual_text_has_the_same_outcome(text: str) -> None:
    check(text)


def test_classes_that_share_a_slot_are_both_known() -> None:
    names: dict[int, str] = {}
    for number in range(SLOTS + 1):
        name = f"example.text.Class{number}"
        slot = slot_of(name.encode(), 0, len(name))
        if slot in names:
            break
        names[slot] = name
    text = json.dumps({"values": [{"$class": one, "a": 1} for one in (name, names[slot])]})
    codecs.encode(codecs.loads(text), FINAL)
    assert written_as_read(text, FINAL) == written_as_read(text, FINAL) == outcome(text, FINAL)


def test_layouts_of_one_class_take_turns() -> None:
    name = {"$class": "example.text.Turns"}
    layouts = [
        {**name, "a": 1, "b": [2]},
        {**name, "b": 1, "a": {"$date": 60000}},
        {**name, "$id": 3, "a": "x", "b": 2},
        {**name, "a": 1, "$id": 4, "b": 2},
        {**name, "a": 1, "c": 1},
        {**name, "a": 1},
    ]
    values = [layouts[at] for at in (0, 1, 2, 0, 4, 5, 3, 1)]
    assert codecs.encode({"values": [*values, name, name]}, FINAL).count(b"example.text.Turns") == 5
    for some in (values[:3], [values[1], values[0]], [values[3], *values[4:]]):
        text = json.dumps({"values": some})
        data = codecs.encode_text(text, FINAL)
        expected = [{key: one[key] for key in one if key != "$id"} for one in some]
        shown = codecs.decode(data, FINAL)[0].json_text(plain=True)
        plain = json.dumps({"values": expected}).replace('{"$date": 60000}', '"1970-01-01T00:01:00.000Z"')
        assert json.loads(shown)["message"] == json.loads(plain)
        check(text)


def test_long_texts() -> None:
    for size in (31, 32, 1023, 1024, 0x8000, 0x8001):
        for letter in ("a", "é", "📱"):
            check(json.dumps({"values": [letter * size, letter * (size // 2)]}, ensure_ascii=False))


def test_labels_in_another_order_than_on_the_wire() -> None:
    values = [{"$id": 1, "$list": []}, {"$id": 0, "$map": {}}, {"$ref": 1}]
    assert len(opened(values)) == 2
    check(json.dumps({"values": values}))
