"""What receivers in Java make of bytes that no writer sends: read as they read it, and noted."""

import json
import random
import re
import uuid
from pathlib import Path
from typing import Any

import checks
import pytest

from wirelens import codecs
from wirelens.codecs.node import root_of
from wirelens.codecs.record import Record
from wirelens.formatters.layout import Layout
from wirelens.formatters.tree import tree

FIELD = Path("../shared/field/bytes")
DIALECTS = ("hessian1", "hessian2-draft", "hessian2")


def field(name: str) -> bytes:
    """An input of the shared folder."""
    path = FIELD / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path.read_bytes()


def overlong(text: str, size: int = 2) -> bytes:
    """ASCII with each character in `size` bytes."""
    return b"".join([overlong_one(letter, size) for letter in text])


def overlong_one(letter: str, size: int) -> bytes:
    code = ord(letter)
    if size == 2:
        return bytes([0xC0 | code >> 6, 0x80 | code & 0x3F])
    return bytes([0xE0, 0x80 | code >> 6, 0x80 | code & 0x3F])


def values(record: Record) -> Any:
    return checks.message(record)["values"]


def notes(record: Record) -> list[tuple[str, str]]:
    return [(note.code, note.text.split(" ")[0]) for note in record.notes]


# --- overlong UTF-8 -------------------------------------------------------------------------------------

GADGET = "java.lang.ProcessBuilder"


def test_one_letter_in_two_bytes_hides_no_class() -> None:
    data = field("overlong-one-char.bin")
    record = checks.one(data, "hessian2")
    assert values(record)[0]["$class"] == GADGET
    assert checks.codes(record) == ["overlong-utf8", "gadget-class"]
    assert codecs.detect(data).protocol == "hessian2"


@pytest.mark.parametrize("size", [2, 3])
def test_names_and_values_in_overlong_letters(size: int) -> None:
    name = overlong(GADGET, size)
    key = overlong("a", size)
    units = len(GADGET)
    sent = {
        "hessian2": b"C"
        + bytes([units])
        + name
        + b"\x91\x01"
        + key
        + b"\x60\x02"
        + overlong("hi", size)
        + b"\x60\x90",
        "hessian2-draft": b"O"
        + bytes([0x90 + units])
        + name
        + b"\x91\x01"
        + key
        + b"o\x90\x02"
        + overlong("hi", size)
        + b"o\x90\x90",
        "hessian1": b"Mt"
        + units.to_bytes(2, "big")
        + name
        + b"S\0\x01"
        + key
        + b"S\0\x02"
        + overlong("hi", size)
        + b"S\0\x01bNz",
    }
    for protocol, data in sent.items():
        record = checks.one(data, protocol)
        first = values(record)[0]
        shown = first.get("$class", first.get("$type"))
        assert shown == GADGET, protocol
        assert "hi" in str(first), protocol
        assert "a" in str(first)
        assert ("gadget-class", GADGET) in notes(record)
        assert "overlong-utf8" in checks.codes(record)
        assert codecs.detect(data).protocol == protocol


def test_a_plain_class_and_an_overlong_one_of_the_same_name() -> None:
    plain = b"C\x05a.Car\x91\x01w\x60\x91"
    odd = b"C\x05a." + overlong("C") + b"ar\x91\x01w\x61\x92\x60\x93\x61\x94"
    record = checks.one(plain + odd, "hessian2")
    assert [item["$class"] for item in values(record)] == ["a.Car"] * 4


def test_types_of_the_same_text_in_other_bytes() -> None:
    odd = b"\x71\x05a.C" + overlong("a") + b"r\x90"
    record = checks.one(
        odd + b"\x71\x90\x91" + b"\x71\x05a.Car\x92" + b"\x71\x91\x93" + b"\x71\x90\x94", "hessian2"
    )
    assert [item["$type"] for item in values(record)] == ["a.Car"] * 5


def test_overlong_letters_in_chunks_and_in_long_texts() -> None:
    text = overlong("x") * 40
    for data in (b"S\0\x28" + text, b"R\0\x14" + text[:40] + b"\x14" + text[40:], b"\x30\x28" + text):
        record = checks.one(data, "hessian2")
        assert values(record)[0]["$string"] == "x" * 40
        assert checks.codes(record)[0] == "overlong-utf8"


def test_a_text_changed_beside_its_bytes_is_refused() -> None:
    record = checks.one(b"\x02" + overlong("hi"), "hessian2")
    message = values(record)
    message[0]["$string"] = "ho"
    with pytest.raises(codecs.EncodeError, match=r"delete \$wire"):
        codecs.encode({"values": message}, "hessian2")
    del message[0]["$wire"]
    assert codecs.encode({"values": message}, "hessian2") == b"\x02ho"


def test_bytes_that_are_no_text_stay_bytes() -> None:
    record = checks.one(b"\x02\xc3\x28a", "hessian2")
    assert "$raw" in values(record)[0]
    assert checks.codes(record) == ["bad-text"]


def test_a_class_whose_name_is_malformed_is_looked_up_as_read() -> None:
    # readers do not check that a continuation byte is one
    name = GADGET.encode().replace(b"B", b"\xc1\x02")
    record = checks.one(b"C" + bytes([len(GADGET)]) + name + b"\x90\x60", "hessian2")
    assert ("gadget-class", GADGET) in notes(record)


def test_a_class_name_in_chunks_is_looked_up() -> None:
    data = b"CR\0\x05" + GADGET[:5].encode() + bytes([len(GADGET) - 5]) + GADGET[5:].encode() + b"\x90\x60"
    assert ("gadget-class", GADGET) in notes(checks.one(data, "hessian2"))


# --- generic calls --------------------------------------------------------------------------------------


def generic_call(arguments: list[Any], attachments: dict[str, Any] | None = None) -> bytes:
    return codecs.encode(
        {
            "body": {
                "path": "com.example.U",
                "method": "$invoke",
                "parameter_types": "Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/Object;",
                "arguments": arguments,
                "attachments": attachments or {"generic": "true"},
            }
        },
        "dubbo",
    )


JNDI = "org.apache.xbean.propertyeditor.JndiConverter"
BEAN = "org.apache.dubbo.common.beanutil.JavaBeanDescriptor"
STREAM = bytes.fromhex("aced0005") + b"sr" + len(GADGET).to_bytes(2, "big") + GADGET.encode() + bytes(12)


def strings(*texts: str) -> dict[str, Any]:
    return {"$list": list(texts), "$type": "[string"}


def objects(*items: Any) -> dict[str, Any]:
    return {"$list": list(items), "$type": "[object"}


@pytest.mark.parametrize(
    ("generic", "arguments", "name"),
    [
        ("true", ["x", strings("java.lang.Object"), objects({"class": JNDI, "asText": "ldap://x"})], JNDI),
        ("raw.return", ["x", strings("java.lang.Object"), objects([{"a": {"class": JNDI}}])], JNDI),
        ("true", ["x", strings(GADGET), objects("a")], GADGET),
        ("bean", ["x", strings("a.B"), objects({"$class": BEAN, "className": JNDI, "type": 7})], JNDI),
        ("nativejava", ["x", strings("java.lang.Object"), objects({"$bytes": STREAM.hex()})], GADGET),
        ("gson", ["x", strings("a.B"), objects('{"class": "' + JNDI + '"}')], JNDI),
        ("fastjson", ["x", strings("a.B"), objects('{"a":{"@type":"L' + GADGET + ';"}}')], GADGET),
    ],
)  # fmt: skip
def test_gadgets_in_generic_calls(generic: str, arguments: list[Any], name: str) -> None:
    data = generic_call(arguments, {"generic": generic})
    for _ in range(2):  # what was learned from the first must not hide the second
        record = checks.one(data, "dubbo")
        assert ("gadget-class", name) in notes(record)


def test_a_generic_gadget_of_the_field() -> None:
    record = checks.one(field("24-generic-gadget-map.bin"), "dubbo")
    assert ("gadget-class", "com.sun.rowset.JdbcRowSetImpl") in notes(record)


@pytest.mark.parametrize("number", [6, 16, 21])
def test_gadgets_in_bodies_of_json(number: int) -> None:
    lines = ["2.0.2", "a.B", "0.0.0", "put", "Ljava/lang/Object;", {"@type": GADGET, "command": ["id"]}, {}]
    body = "".join([json.dumps(line) + "\n" for line in lines]).encode()
    assert ("gadget-class", GADGET) in notes(checks.one(dubbo_frame(body, 0xC0 | number), "dubbo"))


def test_honest_generic_calls_have_no_notes() -> None:
    data = generic_call(
        [
            "x",
            strings("java.util.Map"),
            objects({"class": "com.example.Order", "text": "the javax.naming. package"}),
        ]
    )
    assert checks.one(data, "dubbo").notes == []


def test_a_bean_descriptor_outside_generic_calls() -> None:
    data = codecs.encode({"values": [{"$class": BEAN, "className": GADGET, "type": 7}]}, "hessian2")
    for _ in range(2):
        assert ("gadget-class", GADGET) in notes(checks.one(data, "hessian2"))


def test_a_generic_call_of_hessian_itself() -> None:
    call = {"call": {"method": "$invoke", "arguments": ["x", strings("a.B"), objects({"class": JNDI})]}}
    for protocol in DIALECTS:
        assert ("gadget-class", JNDI) in notes(checks.one(codecs.encode(call, protocol), protocol))


# --- objects in the place of strings --------------------------------------------------------------------

ATTACK = b"C\x1dcom.sun.rowset.JdbcRowSetImpl\x91\x0adataSource\x60\x08ldap://x"


def test_an_object_in_the_place_of_a_class_name() -> None:
    data = field("21-c-prefix.bin")
    assert codecs.detect(data).protocol == "hessian2"
    (record,) = checks.decoded(data, "hessian2")
    assert record.error is not None
    assert record.error.offset == 1
    assert record.tape is not None
    assert "Gen$EnumHolder" in [node.type_name for node in root_of(record.tape)["call"]]


@pytest.mark.parametrize(
    "before",
    [
        b"C",
        b"CC",
        b"C\x03a.B",
        b"M",
        b"V",
        b"H\x01a",
        b"Q",
        b"H\2\0C",
        b"H\2\0C\x01m",
        b"O",
        b"X",
    ],
)
def test_an_object_in_the_place_of_a_string_or_int(before: bytes) -> None:
    (record,) = checks.decoded(before + ATTACK, "hessian2")
    assert ("gadget-class", "com.sun.rowset.JdbcRowSetImpl") in notes(record)
    if not before.startswith(b"H\x01a"):
        assert record.error is not None
        assert "misplaced-object" in checks.codes(record)


def dubbo_frame(body: bytes, flags: int = 0xC2, status: int = 0) -> bytes:
    return b"\xda\xbb" + bytes([flags, status]) + (7).to_bytes(8, "big") + len(body).to_bytes(4, "big") + body


PARTS = [b"\x052.0.2", b"\x05a.b.C", b"\x050.0.0", b"\x03put", b"\x00", b"HZ"]


@pytest.mark.parametrize("head", [b"M", b"U", b"r"])
def test_an_object_in_the_place_of_a_type(head: bytes) -> None:
    name = b"java.lang.ProcessBuilder"
    data = head + b"C" + bytes([len(name)]) + name + b"\x91\x07command\x60\x02id" + b"\x01k\x01vZ"
    assert codecs.detect(data).protocol == "hessian2"
    record = checks.one(data, "hessian2")
    assert ("gadget-class", "java.lang.ProcessBuilder") in notes(record)
    assert "misplaced-object" in checks.codes(record)


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("prefix", [b"", b"C"])
def test_an_object_in_the_place_of_a_string_of_dubbo(place: int, prefix: bytes) -> None:
    parts = list(PARTS)
    parts[place] = prefix + ATTACK
    record = checks.one(dubbo_frame(b"".join(parts)), "dubbo")
    assert ("gadget-class", "com.sun.rowset.JdbcRowSetImpl") in notes(record)
    assert "misplaced-object" in checks.codes(record)
    assert record.damaged
    assert "None" not in record.summary
    if not prefix and place < 3:
        assert record.root is not None
        partial = record.root["body"]["partial"]
        assert partial.text_of("method") == "put"
        if place == 1:
            assert "<com.sun.rowset.JdbcRowSetImpl>.put" in record.summary


@pytest.mark.parametrize(
    "frame", [dubbo_frame(ATTACK, 0xE2), dubbo_frame(b"\x90" + ATTACK, 2, 20), dubbo_frame(ATTACK, 2, 70)]
)
def test_an_object_as_event_and_exception_of_dubbo(frame: bytes) -> None:
    record = checks.one(frame, "dubbo")
    assert ("gadget-class", "com.sun.rowset.JdbcRowSetImpl") in notes(record)
    assert "com.sun.rowset.JdbcRowSetImpl" in record.summary


def test_the_summary_names_the_value_of_an_event() -> None:
    record = checks.one(field("25b-event-object.bin"), "dubbo")
    assert record.summary == "dubbo event req #1 com.rometools.rome.feed.impl.ToStringBean"
    assert checks.one(dubbo_frame(b"HZ", 0xA2), "dubbo").summary == "dubbo event req #7 map[0]"


# --- Dubbo's serializations -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 5, 13, 18, 24, 27, 28, 30, 31])
def test_no_id_of_a_serialization_speaks_against_dubbo(number: int) -> None:
    body = b"\xa5hello"
    for frame in (
        dubbo_frame(body, 0xC0 | number),
        dubbo_frame(body, number, 20),
        dubbo_frame(b"\xc0", 0xE0 | number),
    ):
        assert codecs.detect(frame).protocol == "dubbo"
        assert codecs.detect(frame * 2).protocol == "dubbo"


def test_serializations_of_dubbo_3_have_names() -> None:
    named = {1: "dubbo", 5: "json", 18: "jackson", 27: "msgpack", 28: "fury", 31: "custom-messagepack"}
    for number, name in named.items():
        assert (
            checks.message(checks.one(dubbo_frame(b"\xc0", 0xC0 | number), "dubbo"))["serialization"] == name
        )


# --- of readings with one meaning, the plainest ---------------------------------------------------------


def test_values_of_hessian_1_are_named_so() -> None:
    detection = codecs.detect(field("h1-enum.bin"))
    assert (detection.protocol, detection.equal) == ("hessian1", ("hessian2-draft",))
    assert detection.candidates[0].protocol == "hessian1"
    (record,) = codecs.decode(field("h1-enum.bin"))
    assert values(record) == [{"$type": "com.x.E", "$map": {"name": "A"}}]


def test_vectors_of_hessian_1_need_no_forms(shared: Path) -> None:
    for path in ("hessian1.jsonl", "hessian1-sofa352.jsonl"):
        lines = (shared / "vectors" / path).read_text().splitlines()
        for data in [bytes.fromhex(json.loads(line)["hex"]) for line in lines if '"hex"' in line]:
            detection = codecs.detect(data)
            if "hessian1" in (detection.protocol, *detection.equal) and detection.protocol != "hessian1":
                forms = [
                    codecs.registry.get(name).unusual_forms(data) for name in (detection.protocol, "hessian1")
                ]
                assert forms[0] <= forms[1]


# --- classes without fields, whose objects are one value ------------------------------------------------


def annotations(record: Record) -> dict[str, str]:
    """What the nodes below a message's values mean, by their paths."""
    assert record.root is not None
    assert record.codec is not None
    found: dict[str, str] = {}
    work = list(record.root["values"])
    while work:
        node = work.pop()
        found[node.path] = record.codec.annotate(node)
        work.extend(node)
    return found


def test_an_order_of_wuwen5() -> None:
    data = field("wuwen-order.bin")
    assert codecs.detect(data).protocol == "hessian2"
    record = checks.one(data, "hessian2")
    order = {
        "$class": "com.example.Order",
        "day": {"$class": "java.time.LocalDate", "$value": {"$long": 18319}},
        "name": "Bob",
        "qty": 5,
    }
    assert values(record) == [order]
    assert annotations(record)["values[0].day"] == "2020-02-27"
    assert codecs.encode({"values": [order]}, "hessian2") == data


@pytest.mark.parametrize(
    ("name", "value", "meaning"),
    [
        ("java.time.LocalDate", {"$long": -1}, "1969-12-31"),
        ("java.time.LocalTime", {"$long": 3_723_000_000_004}, "01:02:03.000000004"),
        ("java.time.Year", 2021, "2021"),
        ("java.time.ZoneId", "Asia/Shanghai", "Asia/Shanghai"),
        ("java.time.ZoneOffset", 28800, "+08:00"),
        ("java.util.Calendar", {"$date": "1998-05-08T09:51:31.000Z"}, "1998-05-08T09:51:31.000Z"),
        ("java.util.GregorianCalendar", {"$date": "1998-05-08T09:51:00.000Z"}, "1998-05-08T09:51:00.000Z"),
        ("java.time.LocalDate", {"$long": 1 << 60}, ""),
        ("java.time.LocalDate", None, ""),
    ],
)
def test_one_value_in_place_of_fields(name: str, value: Any, meaning: str) -> None:
    item = {"$class": name, "$value": value}
    data = codecs.encode(
        {"values": [[item, item, {"$class": name, "$id": 3, "$value": value}, {"$ref": 3}]]}, "hessian2"
    )
    assert data[1 + len(name) + 3 :].startswith(b"\x60")
    record = checks.one(data, "hessian2")
    assert values(record)[0] == [item, item, {"$class": name, "$id": 3, "$value": value}, {"$ref": 3}]
    assert annotations(record)["values[0][0]"] == meaning


def test_objects_that_lack_their_value_are_refused() -> None:
    with pytest.raises(codecs.EncodeError, match="needs its value"):
        codecs.encode({"values": [{"$class": "java.time.Year"}]}, "hessian2")
    with pytest.raises(codecs.EncodeError, match="only objects of"):
        codecs.encode({"values": [{"$class": "a.B", "$value": 1}]}, "hessian2")
    with pytest.raises(codecs.EncodeError, match="only objects of"):
        codecs.encode({"values": [{"$class": "java.time.Year", "$value": 1}]}, "hessian2-draft")
    fields = {"$class": "java.time.Year", "year": 2021}
    assert values(checks.one(codecs.encode({"values": [fields]}, "hessian2"), "hessian2")) == [fields]


def test_times_of_wuwen5_with_fields() -> None:
    item = {
        "$class": "java.time.ZonedDateTime",
        "date": {"$long": 18319},
        "time": {"$long": 0},
        "zone": "Asia/Tokyo",
    }
    record = checks.one(codecs.encode({"values": [item]}, "hessian2"), "hessian2")
    assert annotations(record)["values[0]"] == "2020-02-27T00:00[Asia/Tokyo]"


# --- evidence -------------------------------------------------------------------------------------------


def uuids(count: int, protocol: str = "hessian2") -> bytes:
    numbers = random.Random(4)
    return codecs.encode(
        {"values": [[str(uuid.UUID(int=numbers.getrandbits(128))) for _ in range(count)]]}, protocol
    )


def test_whole_texts_before_a_cut_one_count() -> None:
    assert codecs.detect(field("uuids-100-cut.bin")).protocol == "hessian2"
    for protocol in DIALECTS:
        for cut in (1, 10, 35):
            assert codecs.detect(uuids(100, protocol)[: -cut - 1]).protocol in DIALECTS


def emoji(count: int) -> str:
    return "".join([chr(0x1F600 + number * 7 % 60) for number in range(count)])


@pytest.mark.parametrize(
    "value",
    [
        emoji(40_000),
        "".join([chr(0x4E00 + number * 31 % 3000) for number in range(96_000)]),
        '{"id": 12345, "name": "Ann", "tags": ["a", "b"]},\n' * 4000,
        list(range(100_001)),
        [number * 7919 % 4_294_967 for number in range(100_001)],
        [{"$long": 1_700_000_000_000 + number * 997} for number in range(100_001)],
        [{"$date": 1_700_000_000_000 + number * 61_003} for number in range(100_001)],
        {"$type": "[string", "$list": [f"item {number} of the list" for number in range(6000)]},
    ],
    ids=["emoji", "Chinese", "JSON", "counting", "ints", "longs", "dates", "texts"],
)
@pytest.mark.parametrize("protocol", DIALECTS)
def test_one_long_value_is_known_by_its_end(protocol: str, value: Any) -> None:
    data = codecs.encode({"values": [value]}, protocol)
    detection = codecs.detect(data)
    assert protocol in (detection.protocol, *detection.equal)
    decoder = codecs.Decoder()
    records: list[Record] = []
    for at in range(0, len(data), 1 << 16):
        records.extend(decoder.feed(data[at : at + (1 << 16)]))
    records.extend(decoder.close())
    assert [(record.protocol, record.length) for record in records] == [(detection.protocol, len(data))]


def test_zeros_are_not_waited_for() -> None:
    decoder = codecs.Decoder()
    assert decoder.feed(bytes(1 << 18))
    assert decoder.protocol == "unknown"


def test_what_settles_it_holds() -> None:
    trace = {
        "$class": "java.lang.Exception",
        "detailMessage": "no",
        "cause": None,
        "stackTrace": [
            {
                "$class": "java.lang.StackTraceElement",
                "declaringClass": "a.B",
                "methodName": "c",
                "fileName": "B.java",
                "lineNumber": 3,
            }
        ],
    }
    kept = 0
    for protocol, whole in [
        (name, codecs.encode({"values": [value]}, name))
        for name in DIALECTS
        for value in (trace, ["Ann", "Bob", {"a": 1.5}], "text of some length")
    ]:
        for end in range(1, len(whole)):
            detection = codecs.detect(whole[:end])
            if detection.protocol != "unknown":
                continue
            for candidate in detection.candidates:
                number = re.fullmatch("([0-9]+) more bytes?", candidate.settle)
                if number is not None and candidate.protocol == protocol:
                    kept += 1
                    assert codecs.detect(whole[: end + int(number[1])]).protocol != "unknown", (protocol, end)
    assert kept


# --- packets or values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["x" * 3000, "x" * 40, "N" * 200, "xxx", "a" * 3000])
@pytest.mark.parametrize("framing", [None, "4.0.0", "4.0.7", "3.2.1"])
def test_one_text_in_packets_is_not_a_row_of_values(text: str, framing: str | None) -> None:
    message: dict[str, Any] = {"packets": [{"values": [text]}]}
    if framing is not None:
        message["$wire"] = {"framing": framing}
    record = checks.one(codecs.encode(message, "hessian2"), "hessian2")
    assert checks.message(record) == message


@pytest.mark.parametrize("items", [["abc", ""], ["", ""], [[], []], ["a", "b", None], ["\0\1"], [[], {}, ""]])
def test_unlikely_values_that_are_no_packets(items: list[Any]) -> None:
    assert values(checks.one(codecs.encode({"values": items}, "hessian2"), "hessian2")) == items


# --- the draft's rarer productions ----------------------------------------------------------------------

TYPED_CLASS = bytes.fromhex(
    "4d74000b6578616d706c652e4361727a4f75909205636f6c6f72056d6f64656c6f900372656408636f727665747465"
)


def test_a_class_named_by_a_type() -> None:
    record = checks.one(TYPED_CLASS, "hessian2-draft")
    shown = {"$class": "example.Car", "$wire": {"name": {"type": 0}}, "color": "red", "model": "corvette"}
    assert values(record) == [{"$type": "example.Car", "$map": {}}, shown]
    # a gadget is one, however its class gets its name
    gadget = TYPED_CLASS.replace(b"\x0bexample.Car", b"\x18" + GADGET.encode())
    assert ("gadget-class", GADGET) in notes(checks.one(gadget, "hessian2-draft"))
    again = TYPED_CLASS + b"o\x90\x01a\x01b"
    assert [item.get("$class") for item in values(checks.one(again, "hessian2-draft"))[1:]] == [
        "example.Car"
    ] * 2
    # with the number in a longer form, and beside a class of the same name and fields
    long = TYPED_CLASS.replace(b"Ou\x90", b"OuI\0\0\0\0")
    assert values(checks.one(long, "hessian2-draft"))[1]["$class"] == "example.Car"
    twice = TYPED_CLASS + TYPED_CLASS[16:].replace(b"o\x90", b"o\x91")
    assert len(values(checks.one(twice, "hessian2-draft"))) == 3


def test_a_class_named_by_a_type_that_is_not_defined() -> None:
    (record,) = checks.decoded(b"Ou\x91\x90o\x90", "hessian2-draft")
    assert record.error is not None
    assert "type number 1 is not defined; the table has 0 types" in record.error.text


def test_surrogates_in_different_chunks_are_noted() -> None:
    record = checks.one(bytes.fromhex("730001eda0bd01edb880"), "hessian2-draft")
    assert values(record)[0]["$string"] == chr(0x1F600)
    assert checks.codes(record) == ["split-surrogates"]


def test_a_length_byte_that_would_be_right_as_an_int() -> None:
    record = checks.one(bytes.fromhex("567400045b696e746e9290917a"), "hessian2-draft")
    assert record.notes[0].text == "a list of 2 items declares 146; the byte 92 as an int is 2"


# --- known faults of writers ----------------------------------------------------------------------------


def test_doubles_of_hessian_net() -> None:
    (record,) = checks.decoded(b"\x5a\x40\x28\x00\x00\x00\x00\x00\x00", "hessian2")
    assert record.error is not None
    assert "Hessian.NET writes doubles with this opcode" in record.error.text


def test_dates_in_seconds_of_gohessian() -> None:
    record = checks.one(bytes.fromhex("4b6553f100"), "hessian2")
    assert [note.code for note in record.notes] == ["date-unit"]
    assert "2023-11-14T22:13:20" in record.notes[0].text
    assert (
        checks.one(
            codecs.encode({"values": [{"$date": "2999-01-01T00:00:00Z"}]}, "hessian2"), "hessian2"
        ).notes
        == []
    )


def test_a_proxy_of_scala_without_its_content() -> None:
    name = b"scala.collection.immutable.List$SerializationProxy"
    data = b"C\x30" + bytes([len(name)]) + name + b"\x90\x60"
    for _ in range(2):
        assert checks.codes(checks.one(data, "hessian2")) == ["content-lost"]
    filled = b"C\x30" + bytes([len(name)]) + name + b"\x91\x01a\x60\x90"
    assert checks.codes(checks.one(filled, "hessian2")) == []


@pytest.mark.parametrize("number", [3, 4, 7])
def test_java_serialization_without_its_header(number: int) -> None:
    record = checks.one(dubbo_frame(bytes.fromhex("77020101"), number, 20), "dubbo")
    assert checks.codes(record) == ["no-java-header"]
    assert "77020101" in record.notes[0].text
    assert checks.one(dubbo_frame(bytes.fromhex("aced000577020101"), number, 20), "dubbo").notes == []


def test_a_text_that_runs_over_the_next_field() -> None:
    address = b"S\0\x19ldap://x.x.x.x:1389/a"
    data = b"Mt\0\x03a.BS\0\x03url" + address + b"S\0\x01bR\0\0\0\x07rz"
    (record,) = checks.decoded(data, "hessian1")
    assert record.error is not None
    overrun = [note for note in record.notes if note.code == "text-overrun"]
    assert [note.offset for note in overrun] == [data.index(address)]


# --- what is drawn --------------------------------------------------------------------------------------


def drawn(data: bytes, protocol: str) -> str:
    layout = Layout(None)
    lines = [line for record in codecs.decode(data, protocol) for line in tree(record, layout)]
    return "\n".join(["".join([text for _, text in line]) for line in lines])


def test_empty_names_are_visible() -> None:
    text = drawn(bytes.fromhex("56004f00906f907a"), "hessian2-draft")
    assert 'object of class ""' in text
    text = drawn(b"C\x01A\x91\0\x60\x90", "hessian2")
    assert '"": 0 int' in text


def test_a_definition_alone_is_drawn() -> None:
    text = drawn(bytes.fromhex("4f74000158910161"), "hessian2-draft")
    assert "defined so far:" in text
    assert "class X: a" in text
    assert "decoded so far:" not in text


@pytest.mark.parametrize(
    ("protocol", "data"),
    [
        ("hessian1", "4d7400004d740001415300016149000000017a72"),
        ("hessian2", "484301419201610162600568656c6c6f01"),
        ("hessian2", "4879904e91"),
        ("hessian2", "487991"),
        ("hessian2", "4879"),
        ("hessian2", "484843019040"),
    ],
)
def test_what_decoded_inside_a_key_is_drawn(protocol: str, data: str) -> None:
    text = drawn(bytes.fromhex(data), protocol)
    assert "None" not in text


def test_keys_of_the_field() -> None:
    text = drawn(field("key-map-h1.bin"), "hessian1")
    assert '"a": 1 int' in text
    assert "None" not in text
    text = drawn(field("key-obj-h2.bin"), "hessian2")
    assert 'a: "hello"' in text
    assert "None" not in text
