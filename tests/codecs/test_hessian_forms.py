"""Hessian's wire forms: what hand-written JSON becomes, and what `$wire` keeps, table by table."""

import math
import struct
from pathlib import Path
from typing import Any

import pytest
from graphs import VALUES, opened, shared_graph
from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.codecs import tape as t
from wirelens.codecs.hessian import doubles

V1, DRAFT, FINAL = "hessian1", "hessian2-draft", "hessian2"


def one(protocol: str, value: Any) -> str:
    """The hex of a stream of one value."""
    return codecs.encode({"values": [value]}, protocol).hex()


def back(protocol: str, data: bytes) -> Any:
    """The values of a stream in the notation."""
    records = codecs.decode(data, protocol)
    assert len(records) == 1
    assert records[0].error is None, records[0].error
    message = records[0].to_json()
    assert codecs.encode(message) == data
    assert isinstance(message, dict)
    inner = message["message"]
    assert isinstance(inner, dict)
    return inner["values"]


# value in JSON: bytes in hessian1, hessian2-draft, hessian2, as these dialects' Java writers send them
WRITTEN: list[tuple[Any, str, str, str]] = [
    (None, "4e", "4e", "4e"),
    (True, "54", "54", "54"),
    (False, "46", "46", "46"),
    (0, "4900000000", "90", "90"),
    (-16, "49fffffff0", "80", "80"),
    (47, "490000002f", "bf", "bf"),
    (48, "4900000030", "c830", "c830"),
    (-2048, "49fffff800", "c000", "c000"),
    (2048, "4900000800", "d40800", "d40800"),
    (-262144, "49fffc0000", "d00000", "d00000"),
    (262144, "4900040000", "4900040000", "4900040000"),
    (-2147483648, "4980000000", "4980000000", "4980000000"),
    (2147483648, "4c0000000080000000", "4c0000000080000000", "4c0000000080000000"),
    ({"$long": 5}, "4c0000000000000005", "e5", "e5"),
    ({"$long": 16}, "4c0000000000000010", "f810", "f810"),
    ({"$long": 2048}, "4c0000000000000800", "3c0800", "3c0800"),
    ({"$long": 262144}, "4c0000000000040000", "7700040000", "5900040000"),
    ({"$long": -(1 << 63)}, "4c8000000000000000", "4c8000000000000000", "4c8000000000000000"),
    (0.0, "440000000000000000", "67", "5b"),
    (-0.0, "448000000000000000", "448000000000000000", "448000000000000000"),
    (1.0, "443ff0000000000000", "68", "5c"),
    (-128.0, "44c060000000000000", "6980", "5d80"),
    (128.0, "444060000000000000", "6a0080", "5e0080"),
    (12.25, "444028800000000000", "6b41440000", "5f00002fda"),
    (0.1, "443fb999999999999a", "443fb999999999999a", "5f00000064"),
    (1e300, "447e37e43c8800759c", "447e37e43c8800759c", "447e37e43c8800759c"),
    ({"$double": "NaN"}, "447ff8000000000000", "447ff8000000000000", "447ff8000000000000"),
    ({"$double": "-Infinity"}, "44fff0000000000000", "6bff800000", "44fff0000000000000"),
    ({"$date": "1998-05-08T09:51:31.000Z"}, "64000000d04b9284b8", "64000000d04b9284b8", "4a000000d04b9284b8"),
    ({"$date": "1998-05-08T09:51:00Z"}, "64000000d04b920ba0", "64000000d04b920ba0", "4b00e3838f"),
    ({"$date": -1}, "64ffffffffffffffff", "64ffffffffffffffff", "4affffffffffffffff"),
    ("", "530000", "00", "00"),
    ("héllo", "53000568c3a96c6c6f", "0568c3a96c6c6f", "0568c3a96c6c6f"),
    ("x" * 32, "530020" + "78" * 32, "530020" + "78" * 32, "3020" + "78" * 32),
    ("x" * 1024, "530400" + "78" * 1024, "530400" + "78" * 1024, "530400" + "78" * 1024),
    ("😀", "530002eda0bdedb880", "02eda0bdedb880", "02eda0bdedb880"),
    ("\ud800", "530001eda080", "01eda080", "01eda080"),
    ({"$bytes": ""}, "420000", "20", "20"),
    ({"$bytes": "010203"}, "420003010203", "23010203", "23010203"),
    ({"$bytes": "00" * 16}, "420010" + "00" * 16, "420010" + "00" * 16, "3410" + "00" * 16),
    ([], "566c000000007a", "566e007a", "78"),
    ([1, "a"], "566c0000000249000000015300016" + "17a", "566e029101617a", "7a910161"),
    (
        {"$type": "[int", "$list": [1]},
        "567400045b696e746c0000000149000000017a",
        "567400045b696e746e01917a",
        "71045b696e7491",
    ),
    ({}, "4d7400007a", "4d7a", "485a"),
    ({"a": 1}, "4d74000053000161" + "49000000017a", "4d0161917a", "480161915a"),
    ({"$map": [[1, "a"]]}, "4d74000049000000015300016" + "17a", "4d9101617a", "489101615a"),
    ({"$type": "T", "$map": {}}, "4d740001547a", "4d740001547a", "4d01545a"),
    (
        {"$class": "example.Car", "color": "red"},
        "4d74000b6578616d706c652e43617253000563" + "6f6c6f725300037265647a",
        "4f9b6578616d706c652e4361729105636f6c6f726f9003726564",
        "430b6578616d706c652e4361729105636f6c6f726003726564",
    ),
    ({"$ref": 7}, "5200000007", "4a07", "5197"),
    ({"$ref": 256}, "5200000100", "4b0100", "51c900"),
    ({"$ref": 65536}, "5200010000", "5200010000", "51d50000"),
]


@pytest.mark.parametrize(
    ("value", "first", "draft", "final"), WRITTEN, ids=[repr(row[0])[:40] for row in WRITTEN]
)
def test_hand_written_values(value: Any, first: str, draft: str, final: str) -> None:
    assert one(V1, value) == first
    assert one(DRAFT, value) == draft
    assert one(FINAL, value) == final


@pytest.mark.parametrize("row", WRITTEN, ids=[repr(row[0])[:40] for row in WRITTEN])
def test_usual_bytes_carry_no_hint(row: tuple[Any, str, str, str]) -> None:
    for protocol, data in zip((V1, DRAFT, FINAL), row[1:], strict=True):
        assert "$wire" not in repr(back(protocol, bytes.fromhex(data)))


# protocol, bytes, the value that they mean, with what `$wire` keeps of them
KEPT: list[tuple[str, str, Any]] = [
    (DRAFT, "4900000001", {"$int": 1, "$wire": "I"}),
    (FINAL, "c801", {"$int": 1, "$wire": "two-byte"}),
    (FINAL, "d40001", {"$int": 1, "$wire": "three-byte"}),
    (DRAFT, "4c0000000000000001", {"$long": 1, "$wire": "L"}),
    (DRAFT, "f801", {"$long": 1, "$wire": "two-byte"}),
    (FINAL, "3c0001", {"$long": 1, "$wire": "three-byte"}),
    (DRAFT, "7700000001", {"$long": 1, "$wire": "four-byte"}),
    (FINAL, "5900000001", {"$long": 1, "$wire": "four-byte"}),
    (FINAL, "443ff0000000000000", {"$double": 1.0, "$wire": "D"}),
    (DRAFT, "6900", {"$double": 0.0, "$wire": "byte"}),
    (FINAL, "5e0001", {"$double": 1.0, "$wire": "short"}),
    (DRAFT, "6b3f800000", {"$double": 1.0, "$wire": "float"}),
    (DRAFT, "6b80000000", {"$double": -0.0, "$wire": "float"}),
    (FINAL, "5f000003e8", {"$double": 1.0, "$wire": "mill"}),
    (DRAFT, "6b7fc00001", {"$double": "NaN", "$wire": {"float": "7fc00001"}}),
    (FINAL, "447ff8000000000001", {"$double": "NaN", "$wire": "7ff8000000000001"}),
    (FINAL, "4a0000000000000000", {"$date": "1970-01-01T00:00:00.000Z", "$wire": "long"}),
    (FINAL, "53000161", {"$string": "a", "$wire": "S"}),
    (FINAL, "300161", {"$string": "a", "$wire": "medium"}),
    (V1, "730001615300" + "0162", {"$string": "ab", "$wire": {"chunks": [1, 1]}}),
    (FINAL, "5200016153000162", {"$string": "ab", "$wire": {"chunks": [1, 1], "last": "S"}}),
    (FINAL, "02f09f9880", {"$string": "😀", "$wire": {"units": 2}}),
    (FINAL, "01f09f9880", {"$string": "😀", "$wire": {"units": 1}}),
    (FINAL, "02c341" + "41", {"$raw": "c34141", "$wire": {"units": 2}}),
    (FINAL, "3001c341", {"$raw": "c341", "$wire": {"exact": [["medium", 1, "c341"]]}}),
    (FINAL, "520001c34100", {"$raw": "c341", "$wire": {"exact": [["more", 1, "c341"], ["short", 0, ""]]}}),
    (FINAL, "02c080" + "41", {"$string": "\0A", "$wire": {"utf8": "c08041"}}),
    (FINAL, "3001c080", {"$string": "\0", "$wire": {"exact": [["medium", 1, "c080"]]}}),
    (FINAL, "520001c08000", {"$string": "\0", "$wire": {"exact": [["more", 1, "c080"], ["short", 0, ""]]}}),
    (FINAL, "42000101", {"$bytes": "01", "$wire": "B"}),
    (FINAL, "340101", {"$bytes": "01", "$wire": "medium"}),
    (FINAL, "4100010142000102", {"$bytes": "0102", "$wire": {"chunks": [1, 1], "last": "B"}}),
    (DRAFT, "6200010120", {"$bytes": "01", "$wire": {"chunks": [1, 0]}}),
    (V1, "5800024142", {"$xml": "AB"}),
    (V1, "78000141580001" + "42", {"$xml": "AB", "$wire": {"chunks": [1, 1]}}),
    (V1, "7274000154530001" + "75", {"$remote": "T", "url": "u"}),
    (V1, "4d7a", {"$wire": {"type": "absent"}, "$map": {}}),
    (DRAFT, "4d7400007a", {"$wire": {"type": "empty"}, "$map": {}}),
    (FINAL, "4d005a", {"$wire": {"type": "empty"}, "$map": {}}),
    (FINAL, "4d905a", {"$wire": {"type": 0}, "$map": {}}),
    (V1, "567a", {"$wire": {"length": None}, "$list": []}),
    (V1, "567400006c000000007a", {"$wire": {"type": "empty"}, "$list": []}),
    (DRAFT, "566c000000007a", {"$wire": {"length_form": "l"}, "$list": []}),
    (DRAFT, "566e057a", {"$wire": {"length": 5}, "$list": []}),
    (FINAL, "575a", {"$wire": {"length": None}, "$list": []}),
    (FINAL, "5890", {"$wire": {"form": "X"}, "$list": []}),
    (FINAL, "58c800", {"$wire": {"length_form": "two-byte", "form": "X"}, "$list": []}),
    (FINAL, "55015490" + "5a", {"$type": "T", "$wire": {"length": None}, "$list": [0]}),
    (FINAL, "56015491" + "90", {"$type": "T", "$wire": {"form": "V"}, "$list": [0]}),
    (FINAL, "7053000154", {"$type": "T", "$wire": {"type": {"$string": "T", "$wire": "S"}}, "$list": []}),
    (FINAL, "43014190" + "4f90", {"$class": "A", "$wire": {"form": "O"}}),
    (FINAL, "43014190" + "4fc800", {"$class": "A", "$wire": {"form": "O", "class_form": "two-byte"}}),
    (DRAFT, "4f0141906f90", {"$class": "A", "$wire": {"name": "string"}}),
    (DRAFT, "4f74000141906f90", {"$class": "A", "$wire": {"name": "t"}}),
    (
        DRAFT,
        "4f914190" + "4e",
        {"$null": None, "$wire": {"define": [{"name": "A", "fields": []}]}},
    ),
    (
        DRAFT,
        "4f914190" + "c801",
        {"$int": 1, "$wire": {"define": [{"name": "A", "fields": []}], "form": "two-byte"}},
    ),
    (
        DRAFT,
        "4fc8014190" + "6f90",
        {"$class": "A", "$wire": {"define": [{"name": "A", "fields": [], "length_form": "two-byte"}]}},
    ),
    (
        FINAL,
        "430141c800" + "60",
        {"$class": "A", "$wire": {"define": [{"name": "A", "fields": [], "count_form": "two-byte"}]}},
    ),
    (FINAL, "51c800", {"$ref": 0, "$wire": "two-byte"}),
    (DRAFT, "4b0000", {"$ref": 0, "$wire": "short"}),
    (DRAFT, "5200000000", {"$ref": 0, "$wire": "R"}),
]


@pytest.mark.parametrize(("protocol", "data", "value"), KEPT, ids=[f"{row[0]}-{row[1][:24]}" for row in KEPT])
def test_unusual_bytes_are_kept(protocol: str, data: str, value: Any) -> None:
    got = back(protocol, bytes.fromhex(data))
    assert got == [value]
    for item in got:
        if isinstance(item, dict) and isinstance(item.get("$double"), float):
            assert math.copysign(1, item["$double"]) == math.copysign(1, value["$double"])


# Streams whose later values depend on the tables that earlier ones filled.
STREAMS: list[tuple[str, str, list[Any]]] = [
    (
        FINAL,
        "7001547090" + "700154",
        [
            {"$type": "T", "$list": []},
            {"$type": "T", "$list": []},
            {"$type": "T", "$wire": {"type": "text"}, "$list": []},
        ],
    ),
    (
        DRAFT,
        "56740001546e007a" + "769090" + "567590" + "6e007a",
        [
            {"$type": "T", "$list": []},
            {"$type": "T", "$list": []},
            {"$type": "T", "$wire": {"form": "V"}, "$list": []},
        ],
    ),
    (
        DRAFT,
        "4d740001547a" + "4d75907a",
        [{"$type": "T", "$map": {}}, {"$type": "T", "$map": {}}],
    ),
    (
        FINAL,
        "43014190" + "43014291" + "0178" + "6190" + "60",
        [
            {
                "$class": "B",
                "x": 0,
                "$wire": {"define": [{"name": "A", "fields": []}, {"name": "B", "fields": ["x"]}]},
            },
            {"$class": "A"},
        ],
    ),
    (
        FINAL,
        "4301419060" + "4301419061" + "60",
        [
            {"$class": "A"},
            {"$class": "A", "$wire": {"define": [{"name": "A", "fields": []}], "class": 1}},
            {"$class": "A"},
        ],
    ),
    (FINAL, "7851905190", [{"$list": [], "$id": 0}, {"$ref": 0}, {"$ref": 0}]),
    (FINAL, "795190", [{"$list": [{"$ref": 0}], "$id": 0}]),
    (FINAL, "43014191016160" + "5190", [{"$class": "A", "$id": 0, "a": {"$ref": 0}}]),
    (FINAL, "4301419201610161609091", [{"$class": "A", "$fields": [["a", 0], ["a", 1]]}]),
    (FINAL, "43014191" + "022478" + "6090", [{"$class": "A", "$fields": [["$x", 0]]}]),
    (FINAL, "480161" + "900161" + "915a", [{"$map": [["a", 0], ["a", 1]]}]),
    (
        DRAFT,
        "5674000154" + "917a" + "76908f92",
        [
            {"$type": "T", "$wire": {"length": None}, "$list": [1]},
            {"$type": "T", "$wire": {"length": -1}, "$list": [2]},
        ],
    ),
]


@pytest.mark.parametrize(("protocol", "data", "values"), STREAMS, ids=[row[1] for row in STREAMS])
def test_streams_share_their_tables(protocol: str, data: str, values: list[Any]) -> None:
    assert back(protocol, bytes.fromhex(data)) == values


def test_more_than_sixteen_classes() -> None:
    values = [{"$class": f"example.C{number}", "x": number} for number in range(40)]
    data = codecs.encode({"values": [*values, *values]}, FINAL)
    assert b"\x4f\xa0\xa0" in data  # O 16, and its field 16
    assert back(FINAL, data) == [*values, *values]


def test_labels_of_any_kind() -> None:
    values: list[Any] = [
        {"$list": [{"$class": "A", "$id": "inner"}], "$id": 77},
        {"$ref": "inner"},
        {"$ref": 77},
        {"$ref": 9},  # no label: the number itself
    ]
    data = codecs.encode({"values": values}, FINAL)
    assert data.hex() == "79" + "43014190" + "60" + "5191" + "5190" + "5199"


def test_a_label_has_to_come_before() -> None:
    for dialect in (FINAL, DRAFT, V1):
        for values in ([{"$ref": "x"}, {"$list": [], "$id": "x"}], [{"$ref": "x"}]):
            with pytest.raises(codecs.EncodeError) as caught:
                codecs.encode({"values": [values]}, dialect)
            assert caught.value.path == "values[0][0].$ref"
            assert "'x'" in caught.value.text
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode({"values": [{"$list": [{"$ref": "lits"}], "$id": "list"}]}, FINAL)
    assert 'did you mean "list"?' in caught.value.text
    assert one(FINAL, {"$list": [{"$ref": "list"}], "$id": "list"}) == "795190"


def test_a_number_that_has_not_come_before_is_written_and_noted() -> None:
    data = codecs.encode({"values": [[{"$ref": 1}, {"$list": [], "$id": 1}]]}, FINAL)
    assert data.hex() == "7a519178"
    assert [note.code for note in codecs.decode(data, FINAL)[0].notes] == ["dangling-ref"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"$lnog": 5}, 'did you mean "$long"?'),
        ({"$clas": "x"}, 'did you mean "$class"?'),
        ({"$long": 5, "$wrie": "L"}, 'did you mean "$wire"?'),
        ({"$list": [], "$idd": 1}, 'did you mean "$id"?'),
        ({"$zzz": 5}, "$null, $bool"),
    ],
)
def test_an_unknown_tag_is_answered_with_those_that_exist(value: Any, expected: str) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode({"values": [value]}, FINAL)
    assert expected in caught.value.text


@pytest.mark.parametrize(
    ("protocol", "data", "code"),
    [
        (FINAL, "5190", "dangling-ref"),
        (FINAL, "7090", "dangling-type"),
        (DRAFT, "566e057a", "list-length"),
        (DRAFT, "56740001547a76908f", "unended-list"),
        (FINAL, "02f09f9880", "four-byte-utf8"),
        (FINAL, "02c34141", "bad-text"),
        (FINAL, "02c08041", "overlong-utf8"),
    ],
)
def test_oddities_are_notes(protocol: str, data: str, code: str) -> None:
    record = codecs.decode(bytes.fromhex(data), protocol)[0]
    assert record.error is None
    assert [note.code for note in record.notes] == [code]


@pytest.mark.parametrize(
    ("protocol", "data", "code", "offset"),
    [
        (V1, "80", "bad-value", 0),
        (DRAFT, "40", "bad-value", 0),
        (FINAL, "60", "bad-value", 0),
        (FINAL, "48915a", "bad-value", 2),
        (FINAL, "5a", "bad-value", 0),
        (FINAL, "7a915a", "bad-value", 2),
        (FINAL, "0261", "truncated", 1),
        (FINAL, "0180", "bad-text", 1),
        (FINAL, "01f8888080", "bad-text", 1),
        (FINAL, "588f", "bad-length", 1),
        (FINAL, "904301419060" + "4301", "truncated", 8),
        (DRAFT, "72530001", "bad-value", 0),
        (V1, "63010053", "bad-value", 3),
    ],
)
def test_errors_say_where(protocol: str, data: str, code: str, offset: int) -> None:
    record = codecs.decode(bytes.fromhex(data), protocol)[0]
    assert record.error is not None
    assert (record.error.code, record.error.offset) == (code, offset)
    assert codecs.encode([codecs.loads(record.json_text())]) == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("protocol", "message", "path"),
    [
        (FINAL, {"values": [{"a": [1, {"$long": "x"}]}]}, "values[0].a[1].$long"),
        (FINAL, {"values": [{"$int": 1 << 31}]}, "values[0].$int"),
        (FINAL, {"values": [1 << 63]}, "values[0]"),
        (FINAL, {"values": [{"$list": 5}]}, "values[0].$list"),
        (FINAL, {"values": [{"$bytes": "0"}]}, "values[0].$bytes"),
        (FINAL, {"values": [{"$date": "yesterday"}]}, "values[0].$date"),
        (FINAL, {"values": [{"$int": 5, "$wire": "L"}]}, "values[0].$wire"),
        (FINAL, {"values": [{"$uint": 5}]}, "values[0]"),
        (FINAL, {"values": [{"$ref": "nowhere"}]}, "values[0].$ref"),
        (FINAL, {"values": [{"$class": "A", "b": {"$double": "big"}}]}, "values[0].b.$double"),
        (FINAL, {"values": [{"$map": [[1]]}]}, "values[0].$map[0]"),
        (FINAL, {"values": [{"$map": [[1, {"$long": None}]]}]}, "values[0].$map[0][1].$long"),
        (FINAL, {"values": [{"$xml": "a"}]}, "values[0]"),
        (FINAL, {"values": [{"$list": [], "$id": 1}, {"$list": [], "$id": 1}]}, "values[1].$id"),
        (FINAL, {"values": 5}, "values"),
        (FINAL, {"call": {}}, "call"),
        (FINAL, {"call": {"method": 5}}, "call.method"),
        (FINAL, {"call": {"method": "m", "arguments": [{"$long": None}]}}, "call.arguments[0].$long"),
        (FINAL, {"reply": {}}, "reply"),
        (V1, {"fault": {}}, "fault"),
        (V1, {"packets": []}, "packets"),
        (V1, {"call": {"method": "m", "headers": [["a"]]}}, "call.headers[0]"),
        (FINAL, {"values": [], "version": "2.0"}, "version"),
        (FINAL, {}, ""),
    ],
)
def test_errors_of_json_name_the_place(protocol: str, message: Any, path: str) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode(message, protocol)
    assert caught.value.path == path


# --- any value at all ------------------------------------------------------------------------------------


def meaning(value: Any) -> Any:
    """Values with every container tagged, and labels as the numbers in order of opening."""
    copied = codecs.loads(codecs.dumps(value))
    assert isinstance(copied, list)
    things = opened(copied)
    numbers = {thing["$id"]: number for number, thing in enumerate(things) if "$id" in thing}
    for number, thing in enumerate(things):
        if "$id" in thing:
            thing["$id"] = number
    work: list[Any] = [copied]
    while work:
        item = work.pop()
        if isinstance(item, list):
            work.extend(item)
        elif isinstance(item, dict):
            if "$ref" in item:
                item["$ref"] = numbers.get(item["$ref"], item["$ref"])
            work.extend(item.values())
    return copied


@given(values=VALUES, chance=st.randoms(use_true_random=False), protocol=st.sampled_from([DRAFT, FINAL]))
def test_any_graph_comes_back(values: list[Any], chance: Any, protocol: str) -> None:
    values = shared_graph(values, chance)
    data = codecs.encode({"values": values}, protocol)
    records = codecs.decode(data, protocol)
    assert len(records) == 1
    assert records[0].error is None
    message = codecs.loads(records[0].json_text())
    assert codecs.encode(message) == data
    assert isinstance(message, dict)
    got = message["message"]
    assert isinstance(got, dict)
    # references to what opens later stay numbers without a label on the wire
    earlier = {note.code for note in records[0].notes}
    if "dangling-ref" not in earlier:
        assert meaning(got["values"]) == meaning(values)


@given(values=VALUES, chance=st.randoms(use_true_random=False))
def test_any_graph_comes_back_in_the_first_dialect(values: list[Any], chance: Any) -> None:
    """An object becomes a map there, so that only the bytes can be compared."""
    values = shared_graph(values, chance)
    data = codecs.encode({"values": values}, V1)
    records = codecs.decode(data, V1)
    assert [record.error for record in records] == [None]
    assert codecs.encode(codecs.loads(records[0].json_text())) == data
    assert len(opened(back(V1, data))) == len(opened(values))


PRINTABLE = [chr(code) for code in range(0x20, 0x7F) if chr(code) not in '"\\\\']


def simple(text: str, after: bytes) -> bool:
    """The SIMPLE flag that a string gets on the tape, with bytes after it."""
    content = text.encode()
    data = len(text).to_bytes(1) + content + after
    tape = codecs.decode(data, FINAL)[0].tape
    assert tape is not None
    return tape.head(2 * t.WIDTH) & t.SIMPLE != 0


@pytest.mark.parametrize("size", range(1, 26))
def test_one_odd_character_is_seen_wherever_it_is(size: int) -> None:
    text = "a" * size
    for after in (b"", b"N" * 8):
        assert simple(text, after)
        for at in range(size):
            for odd in '\x00\x1f"\\\\\x7f':
                assert not simple(text[:at] + odd + text[at + 1 :], after), (at, odd)


@given(text=st.text(st.characters(codec="ascii"), max_size=31))
def test_simple_texts(text: str) -> None:
    assert simple(text, b"NN") == all(character in PRINTABLE for character in text)


@given(bits=st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 0xFFFFFFFF).map(doubles.single_bits))
def test_doubles_that_are_singles(bits: int) -> None:
    value = struct.unpack(">d", struct.pack(">q", bits))[0]
    try:
        fits = struct.unpack(">f", struct.pack(">f", value))[0] == value
    except OverflowError:
        fits = False
    assert doubles.single_fits(bits) == fits


@given(single=st.integers(0, 0xFFFFFFFF))
def test_singles_become_doubles(single: int) -> None:
    value = struct.unpack(">f", struct.pack(">I", single))[0]
    bits = doubles.single_bits(single)
    got = struct.unpack(">d", struct.pack(">q", bits))[0]
    assert got == value or (got != got and value != value)
    assert (bits < 0) == (single >> 31 == 1)


@given(value=st.integers(-(1 << 31), (1 << 31) - 1))
def test_thousandths(value: int) -> None:
    assert struct.pack(">q", doubles.mill_bits(value)) == struct.pack(">d", value * 0.001)
    assert struct.pack(">q", doubles.int_bits(value)) == struct.pack(">d", float(value))


def test_every_form_is_documented() -> None:
    text = (Path(__file__).parents[2] / "codecs" / "hessian" / "forms.py").read_text()
    for word in (
        "I",
        "two-byte",
        "three-byte",
        "four-byte",
        "L",
        "D",
        "byte",
        "short",
        "float",
        "mill",
        "long",
        "R",
        "S",
        "medium",
        "chunks",
        "units",
        "exact",
        "absent",
        "empty",
        "text",
        "type_form",
        "length",
        "length_form",
        "form",
        "class",
        "class_form",
        "name",
        "define",
        "name_form",
        "count_form",
    ):
        assert f'"{word}"' in text, word


def content_of(text: str) -> bytes:
    """A text as Hessian sends it: each UTF-16 unit in UTF-8."""
    wide = text.encode("utf-16-be", "surrogatepass")
    units = [wide[at : at + 2].decode("utf-16-be", "surrogatepass") for at in range(0, len(wide), 2)]
    return "".join(units).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("size", [0, 1, 2, 6, 7, 8, 9, 30, 31, 32, 33])
@pytest.mark.parametrize("odd", ["a", "\x7f", "\x80", "\xff", "\u4e0b", "\ud800", "\U0001f4f1"])
def test_texts_of_any_length_with_another_character_at_any_place(size: int, odd: str) -> None:
    for place in range(max(size, 1)):
        text = "x" * place + odd + "y" * (size - place - 1) if size else ""
        content = content_of(text)
        units = len(text.encode("utf-16-be", "surrogatepass")) // 2
        long = b"S" + units.to_bytes(2, "big")
        short = bytes([units]) if units <= 31 else long
        medium = short if units <= 31 else bytes([0x30, units])
        for protocol, head in ((V1, long), (DRAFT, short), (FINAL, medium)):
            assert codecs.encode({"values": [text]}, protocol) == head + content
            data = codecs.encode({"values": [{"k": text, text: None}]}, protocol)
            assert head + content + head + content + b"N" in data


@pytest.mark.parametrize("protocol", [DRAFT, FINAL])
@pytest.mark.parametrize("step", [1, 2, 5, 7])
def test_classes_and_types_in_any_order(protocol: str, step: int) -> None:
    """What is kept of them, within a message and from one to the next, changes nothing."""
    objects: list[Any] = [
        {"$class": f"example.turns.C{number % 23}", **dict.fromkeys("abc"[: 1 + number % 3], number)}
        for number in range(69)
    ]
    lists: list[Any] = [{"$type": f"example.turns.T{number}", "$list": [number]} for number in range(20)]
    values = [objects[at * step % len(objects)] for at in range(100)]
    values += [lists[at * step % len(lists)] for at in range(40)]
    data = codecs.encode({"values": values}, protocol)
    assert back(protocol, data) == values
    names = {value["$class"] + str(len(value)) for value in values[:100]}
    assert data.count(b"example.turns.C") == len(names)
    assert data.count(b"example.turns.T") == len({value["$type"] for value in values[100:]})


def test_more_classes_than_are_kept() -> None:
    values: list[Any] = [{"$class": f"example.many.C{number % 1200}", "x": 1} for number in range(1300)]
    values[1210]["y"] = 2
    assert back(FINAL, codecs.encode({"values": values}, FINAL)) == values
    assert back(FINAL, codecs.encode({"values": values[::-1]}, FINAL)) == values[::-1]
