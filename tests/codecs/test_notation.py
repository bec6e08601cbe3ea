"""JSON text both ways, and what the writer makes of each kind of node."""

import json
import math
import pickle
import struct
from datetime import datetime, timedelta

import checks
import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from wirelens import codecs
from wirelens.codecs import tape as t
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_text import JsonTextError, dumps, loads, place_of
from wirelens.codecs.json_writers import tree_json
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.notation import Writer
from wirelens.codecs.numbers import (
    HEX_PORTION,
    LAST_MICROSECOND,
    date_text,
    eight_digits,
    time_text,
    write_double,
    write_hex,
    write_int,
)
from wirelens.codecs.record import Origin, Place
from wirelens.codecs.tape import Buffer, Fault, Tape

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=30,
)
DEEP = checks.DEEP


def bits(value: float) -> int:
    number: int = struct.unpack(">q", struct.pack(">d", value))[0]
    return number


@given(value=TREES)
def test_text_and_objects_are_the_same_thing(value: Json) -> None:
    text = dumps(value)
    assert loads(text) == value
    assert json.loads(text) == value


@pytest.mark.parametrize("opening", ["[", '{"a": '])
def test_nesting_is_no_limit(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    text = opening * DEEP + "1" + closing * DEEP
    value = loads(text)
    assert dumps(value) == text
    depth = 0
    while isinstance(value, (list, dict)):
        value = value[0] if isinstance(value, list) else value["a"]
        depth += 1
    assert depth == DEEP


@given(value=TREES)
def test_the_deep_reader_agrees_with_the_quick_one(value: Json) -> None:
    text = "[" * 3000 + dumps(value) + "]" * 3000
    deep = loads(text)
    for _ in range(3000):
        assert isinstance(deep, list)
        deep = deep[0]
    assert deep == value


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("[1,\n 2", 2, 3),
        ('{"a" 1}', 1, 6),
        ("[1] x", 1, 5),
        ("[NaN]", 1, 2),
        ("[1,\n -1e999]", 2, 2),
        ("[" + "1" * 5000 + "]", 1, 2),
        ("[" * 5000 + "x", 1, 5001),
        ("[" * 5000 + "1e999" + "]" * 5000, 1, 5001),
        ("[" * 5000 + "1" + "]" * 4999 + "}", 1, 10001),
        ("[" * 5000 + "\n{1: 2}", 2, 2),
        ("[" * 5000 + '{"a" 2}', 1, 5006),
        ("[" * 5000 + "]" * 5000 + "x", 1, 10001),
    ],
)
def test_text_that_is_no_json_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(JsonTextError) as caught:
        loads(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('{"a": 1, "a": 1}', 10),
        ('[{}, {"b": {"a": 1, "c": [], "\\u0061": 2}}]', 30),
        ("[" * 3000 + '{"a": 1, "a": 2}' + "]" * 3000, 3010),
    ],
)
def test_a_name_that_comes_twice_is_refused(text: str, column: int) -> None:
    with pytest.raises(JsonTextError) as caught:
        loads(text)
    assert (caught.value.line, caught.value.column) == (1, column)
    assert caught.value.text == 'the name "a" occurs twice in one object'


def test_numbers_of_many_digits_are_refused_without_raising_anything_else() -> None:
    with pytest.raises(JsonTextError) as caught:
        loads('{"a": [1, ' + "9" * 5000 + "]}")
    assert str(caught.value) == "line 1, column 11: a number of 5,000 digits is too long"


def test_lone_surrogates_are_escapes() -> None:
    assert dumps(["\ud800", "\U0001f602"]) == '["\\ud800", "\U0001f602"]'
    assert loads('["\\ud800"]') == ["\ud800"]


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (894621091000, "1998-05-08T09:51:31.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (-62135596800000, "0001-01-01T00:00:00.000Z"),
        (253402300799999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_dates(milliseconds: int, text: str) -> None:
    assert date_text(milliseconds) == text


FIELD = field("f")
NAMES = field("n", {1: "ONE"})
FORM = hint("odd")
COMPUTED_FORM = hint(lambda node: node.number * 2)
CONTENT = 'x\u4e2d"'.encode()
DATA = CONTENT + b"\xff"

LEAVES: list[tuple[int, int, str, str]] = [
    # head, number, notation, plain form
    (t.NULL, 0, "null", "null"),
    (t.head(t.NULL, 0, FORM), 0, '{"$null": null, "$wire": "odd"}', "null"),
    (t.BOOL, 1, "true", "true"),
    (t.head(t.BOOL, 0, FORM), 0, '{"$bool": false, "$wire": "odd"}', "false"),
    (t.INT, -5, "-5", "-5"),
    (t.head(t.INT, 0, COMPUTED_FORM), 5, '{"$int": 5, "$wire": 10}', "5"),
    (t.INT32, 5, "5", "5"),
    (t.INT32, 1 << 40, '{"$int32": 1099511627776}', "1099511627776"),
    (t.head(t.INT32, 0, FORM), 5, '{"$int32": 5, "$wire": "odd"}', "5"),
    (t.LONG, -1 << 63, '{"$long": -9223372036854775808}', "-9223372036854775808"),
    (t.UINT64, -1, '{"$uint64": 18446744073709551615}', "18446744073709551615"),
    (t.UINT32, -1, '{"$uint32": 18446744073709551615}', "18446744073709551615"),
    (t.UINT8, 255, '{"$uint8": 255}', "255"),
    (t.VAR_INT, 7, '{"$int": 7}', "7"),
    (t.DOUBLE, bits(1.0), "1.0", "1.0"),
    (t.DOUBLE, bits(-0.0), "-0.0", "-0.0"),
    (t.DOUBLE, bits(1e22), "1e+22", "1e+22"),
    (t.DOUBLE, bits(math.inf), '{"$double": "Infinity"}', '"Infinity"'),
    (t.DOUBLE, bits(-math.inf), '{"$double": "-Infinity"}', '"-Infinity"'),
    (t.DOUBLE, 0x7FF8000000000000, '{"$double": "NaN"}', '"NaN"'),
    (t.DOUBLE, 0x7FF8000000000001, '{"$double": "NaN", "$wire": "7ff8000000000001"}', '"NaN"'),
    (t.DOUBLE, -1, '{"$double": "NaN", "$wire": "ffffffffffffffff"}', '"NaN"'),
    (t.head(t.DOUBLE, 0, FORM), bits(2.0), '{"$double": 2.0, "$wire": "odd"}', "2.0"),
    (t.FLOAT32, 0x3FC00000, '{"$float32": 1.5}', "1.5"),
    (t.FLOAT32, 0x7F800000, '{"$float32": "Infinity"}', '"Infinity"'),
    (t.FLOAT32, 0xFF800000, '{"$float32": "-Infinity"}', '"-Infinity"'),
    (t.FLOAT32, 0x7FC00000, '{"$float32": "NaN"}', '"NaN"'),
    (t.FLOAT32, 0x7FC00001, '{"$float32": "NaN", "$wire": "7fc00001"}', '"NaN"'),
    (t.DATE, 0, '{"$date": "1970-01-01T00:00:00.000Z"}', '"1970-01-01T00:00:00.000Z"'),
    (t.DATE, 1 << 60, '{"$date": 1152921504606846976}', "1152921504606846976"),
    (t.BYTES, 0, '{"$bytes": "78e4b8ad22"}', '"78e4b8ad22"'),
    (t.STRING, 0, '"x\u4e2d\\""', '"x\u4e2d\\""'),
    (t.STRING16, 0, '"x\u4e2d\\""', '"x\u4e2d\\""'),
    (t.XML, 0, '{"$xml": "x\u4e2d\\""}', '"x\u4e2d\\""'),
    (t.head(t.STRING, 0, FORM), 0, '{"$string": "x\u4e2d\\"", "$wire": "odd"}', '"x\u4e2d\\""'),
    (t.REF, t.reference_number(3, -1), '{"$ref": 3}', '{"$ref": 3}'),
    (t.REF, t.reference_number(-3, -1), '{"$ref": -3}', '{"$ref": -3}'),
]


@pytest.mark.parametrize(("head", "number", "notation", "plain"), LEAVES)
def test_leaves(head: int, number: int, notation: str, plain: str) -> None:
    tape = Tape(Buffer(DATA))
    tape.leaf(head, 0, len(CONTENT), number)
    assert tree_json(tape).decode() == notation
    assert tree_json(tape, True).decode() == plain


def test_malformed_text_is_raw() -> None:
    tape = Tape(Buffer(DATA))
    tape.leaf(t.STRING, 0, len(DATA), 0)
    assert tree_json(tape).decode() == '{"$raw": "78e4b8ad22ff"}'
    assert tree_json(tape, True).decode() == '"78e4b8ad22ff"'


def test_members_and_the_hints_of_their_message() -> None:
    tape = Tape(Buffer(DATA))
    root = tape.open(t.STRUCT, 0, 0)
    tape.leaf(t.head(t.INTEGER, FIELD, FORM), 0, 1, 7)
    tape.leaf(t.head(t.MARK, field("size"), FORM) | t.HIDDEN, 0, 1, 7)
    tape.leaf(t.head(t.NAMED, NAMES), 0, 1, 1)
    tape.leaf(t.head(t.NAMED, NAMES), 0, 1, 2)
    tape.leaf(t.head(t.UNSIGNED, FIELD), 0, 1, -1)
    tape.leaf(t.head(t.BOOLEAN, FIELD), 0, 1, 1)
    tape.leaf(t.head(t.HEX, FIELD), 0, 1, 0)
    tape.leaf(t.head(t.ABSENT, FIELD), 0, 1, 0)
    tape.fault(t.head(t.FAULT, FIELD), 0, Fault("bad-value", 5, "no"))
    inner = tape.open(t.head(t.ARRAY, FIELD), 0, 0)
    tape.leaf(t.INT, 0, 1, 1)
    tape.leaf(t.INT, 0, 1, 2)
    tape.close(inner, 1)
    tape.close(root, 1)
    assert tree_json(tape).decode() == (
        '{"f": 7, "n": "ONE", "n": 2, "f": 18446744073709551615, "f": true, "f": "78", "f": null, '
        '"f": {"code": "bad-value", "offset": 5, "text": "no"}, "f": [1, 2], '
        '"$wire": {"f": "odd", "size": "odd"}}'
    )


def text(tape: Tape, content: bytes) -> int:
    """Write a string whose content is somewhere in the buffer."""
    at = tape.buffers[0].data.index(content)
    return int(tape.leaf(t.STRING16, at, at + len(content), at))


def test_maps_keep_what_a_json_object_would_lose() -> None:
    buffer = Buffer(b"ab$c")
    cases: list[tuple[list[bytes | int], str]] = [
        ([], "{}"),
        ([b"a", 1, b"b", 2], '{"a": 1, "b": 2}'),
        ([b"a", 1, b"a", 2], '{"$map": [["a", 1], ["a", 2]]}'),
        ([b"$c", 1], '{"$map": [["$c", 1]]}'),
        ([1, b"a"], '{"$map": [[1, "a"]]}'),
    ]
    for members, expected in cases:
        tape = Tape(buffer)
        root = tape.open(t.MAP, 0, 0)
        for member in members:
            if isinstance(member, bytes):
                text(tape, member)
            else:
                tape.leaf(t.INT, 0, 1, member)
        tape.close(root, 4)
        assert tree_json(tape).decode() == expected


def test_objects_types_and_references() -> None:
    tape = Tape(Buffer(b"TypeClassabc$d"))
    root = tape.open(t.LIST | t.REFERRED, 0, 0)
    kind = tape.open(t.TYPE | t.HIDDEN, 0, tape.size())
    text(tape, b"Type")
    tape.close(kind, 4)
    defined = tape.open(t.CLASS | t.HIDDEN, 0, 0)
    for name in (b"Class", b"a", b"b"):
        text(tape, name)
    tape.close(defined, 0)
    thing = tape.open(t.OBJECT | t.REFERRED, 0, t.object_number(defined, 1))
    tape.leaf(t.INT, 0, 1, 1)
    tape.leaf(t.REF, 0, 1, t.reference_number(0, 0))
    tape.close(thing, 5)
    again = tape.open(t.LIST, 0, 2)
    tape.leaf(t.TYPE | t.HIDDEN, 0, 1, kind)
    tape.close(again, 1)
    odd = tape.open(t.CLASS | t.HIDDEN, 0, 0)
    for name in (b"Class", b"$d", b"a"):
        text(tape, name)
    tape.close(odd, 0)
    second = tape.open(t.OBJECT, 0, t.object_number(odd, 3))
    tape.leaf(t.INT, 0, 1, 1)
    tape.leaf(t.REF, 0, 1, t.reference_number(1, thing))
    tape.close(second, 5)
    tape.close(root, 8)
    assert tree_json(tape).decode() == (
        '{"$type": "Type", "$id": 0, "$list": [{"$class": "Class", "$id": 1, "a": 1, "b": {"$ref": 0}}, '
        '{"$type": "Type", "$list": []}, {"$class": "Class", "$fields": [["$d", 1], ["a", {"$ref": 1}]]}]}'
    )
    node = Node(tape, 0, tape.buffers[0])
    assert node.type_name == "Type"
    assert [child.type_name for child in node.children] == ["Class", "Type", "Class"]
    assert node.children[0].children[1].path == "[0].b"
    assert node.children[0].children[1].target == 0
    assert node.children[2].children[1].target == thing


def test_nested_lists_write_without_recursion() -> None:
    tape = Tape(Buffer(b"x"))
    nodes = [tape.open(t.LIST, 0, -1) for _ in range(DEEP)]
    for node in reversed(nodes):
        tape.close(node, 1)
    assert tree_json(tape) == b"[" * DEEP + b"]" * DEEP


@given(st.integers(0, LAST_MICROSECOND), st.lists(st.integers(-1_500_000, 1_500_000), max_size=4))
def test_times_near_each_other_are_each_right(first: int, steps: list[int]) -> None:
    for step in (0, *steps):
        time = min(max(first + step, 0), LAST_MICROSECOND)
        passed = datetime(1970, 1, 1) + timedelta(microseconds=time)
        assert time_text(time) == passed.isoformat(timespec="microseconds") + "Z"


@pytest.mark.parametrize("plain", [False, True])
def test_a_tree_in_parts_is_the_same_text(plain: bool) -> None:
    numbers = [0] * 70_000  # more than a portion
    values = [numbers, {"$map": [[1, [2, {"a": None}]], [[3], 4]]}, {"$class": "A", "b": [{"c": "d"}] * 9}]
    data = codecs.encode({"protocol": "hessian2", "message": {"values": values}})
    (record,) = codecs.decode(data, "hessian2")
    whole = record.json_bytes(plain)
    assert b"".join(record.json_parts(plain)) == whole
    tape = record.tape
    assert tape is not None
    writer = Writer(plain)
    writer.begin(tape, 0, tape.buffer)
    parts = []
    node = 0
    while node >= 0:
        node = writer.proceed(tape, 0, node, 10)
        parts.append(writer.out.getvalue())
        writer.out.truncate(0)
    assert len(parts) > 15
    assert b"".join(parts) == tree_json(tape, plain)


def test_encode_errors_cross_process_boundaries() -> None:
    again = pickle.loads(pickle.dumps(EncodeError("lines[2]", "expected an object")))
    assert str(again) == "lines[2]: expected an object"


@given(
    file=st.text(max_size=20),
    flow=st.text(min_size=1, max_size=20),
    time=st.integers(-5, 1 << 60),
    packets=st.lists(st.integers(1, 1 << 40), min_size=1, max_size=5),
    number=st.integers(1, 1 << 40),
    pair=st.integers(0, 1 << 40),
    latency=st.integers(-1, 200) | st.integers(0, 10_000_000) | st.integers(0, 1 << 60),
)
def test_an_origin_is_written_as_dumps_has_it(
    file: str, flow: str, time: int, packets: list[int], number: int, pair: int, latency: int
) -> None:
    said: dict[str, Json] = {}
    if file:
        said["file"] = file
    said["flow"] = flow
    if number:
        said["flow_number"] = number
    if time > 0 and time_text(time):
        said["time"] = time_text(time)
    said["packets"] = [*packets]
    if pair:
        said["pair"] = f"{number}.{pair}"
    if latency >= 0:
        said["latency"] = latency / 1_000_000
    out = BytesWriter()
    Origin(Place(file, flow, number), time, tuple(packets), pair, latency).write(out)
    assert out.getvalue().decode() == dumps(said)


@given(
    st.integers(-(1 << 63), (1 << 63) - 1)
    | st.integers(-(10**9), 10**9)
    | st.integers(0, 12).map(lambda n: 10**n)
)
def test_integers_are_written_in_full(number: int) -> None:
    out = BytesWriter()
    write_int(out, number)
    assert out.getvalue() == b"%d" % number


@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(0.1, 1e16)
    | st.lists(st.integers(1, 10**7), min_size=1, max_size=5).map(
        lambda cents: sum(one / 100 for one in cents)
    )
    | st.tuples(st.integers(1010, 1080), st.integers(0, 9)).map(
        lambda pair: struct.unpack("<d", struct.pack("<q", (pair[0] << 52) + pair[1] - 4))[0]
    )
)
def test_doubles_are_written_as_python_shows_them(value: float) -> None:
    out = BytesWriter()
    write_double(out, struct.unpack("<q", struct.pack("<d", value))[0])
    assert out.getvalue().decode() == repr(value)


@given(st.integers(0, 10**8 - 1))
def test_eight_digits_at_once(number: int) -> None:
    assert int(eight_digits(number)).to_bytes(8, "little") == b"%08d" % number


@given(
    st.lists(st.sampled_from(["a", "b", "key", "longer than eight", "longer than nine", "$"]), max_size=12)
)
def test_a_map_has_keys_where_they_differ(keys: list[str]) -> None:
    data = "".join(keys).encode()
    tape = Tape(Buffer(data))
    node = tape.open(t.MAP, 0, -1)
    at = 0
    for key in keys:
        tape.leaf(t.STRING16 | t.SIMPLE, at, at + len(key), at)
        tape.leaf(t.INT, at, at, 1)
        at += len(key)
    tape.close(node, at)
    text = tree_json(tape).decode()
    if len(set(keys)) == len(keys) and "$" not in keys:
        assert text == dumps(dict.fromkeys(keys, 1))
    else:
        pairs: Json = [[key, 1] for key in keys]
        assert text == dumps({"$map": pairs})


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ('{"a": 1}', "a", (1, 7)),
        ('{"a": 1}', "", (1, 1)),
        (' {"a": 1}', "b", (1, 2)),
        ('{"a": {"b": 1}}', "a.c", (1, 7)),
        ('{"a": {"b": 1}}', "a.b", (1, 13)),
        ("[1,\n 2,\n 3]", "[2]", (3, 2)),
        ("[1, 2]", "[7]", (1, 1)),
        ('{"a.b": 1, "a": {"b": 2}}', "a.b", (1, 9)),
        ('{"a[0]": 1, "a": [2]}', "a[0]", (1, 10)),
        ('{"x": "}]\\"{", "a": [[], {}, "[", 5]}', "a[3]", (1, 35)),
        ('{"v": {"$map": [["k", 1], ["l", 2]]}}', "v[1][1]", (1, 33)),
        ('{"v": {"$map": [["k", 1], ["l", 2]]}}', "v.$map[1][1]", (1, 33)),
        ('{"v": {"$long": "x"}}', "v.$long", (1, 17)),
        ("[" * 5000 + "7" + "]" * 5000, "[0]" * 5000, (1, 5001)),
    ],
)
def test_place_of_a_path(text: str, path: str, place: tuple[int, int]) -> None:
    assert place_of(text, path) == place


def test_a_misspelt_protocol_or_member_of_a_record_is_answered_with_the_nearest() -> None:
    with pytest.raises(codecs.UnknownProtocolError) as unknown:
        codecs.encode({"lines": []}, "esnpline")
    assert 'did you mean "esnp-line"?' in str(unknown.value)
    with pytest.raises(EncodeError) as misspelt:
        codecs.encode({"protocol": "esnp-line", "mesage": {"lines": []}})
    assert 'did you mean "message"?' in misspelt.value.text


@pytest.mark.parametrize("size", [0, 1, HEX_PORTION - 1, HEX_PORTION, HEX_PORTION + 1, 3 * HEX_PORTION])
def test_hex_in_portions(size: int) -> None:
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    out = BytesWriter()
    write_hex(out, data)
    assert out.getvalue() == data.hex().encode()
