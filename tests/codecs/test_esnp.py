"""ESNP: the vectors, and what they do not hold."""

import json
from pathlib import Path
from typing import Any

import checks
import pytest

from wirelens import codecs
from wirelens.codecs import registry
from wirelens.codecs.codec import Exchange
from wirelens.codecs.esnp.reading import url
from wirelens.codecs.node import Json
from wirelens.codecs.record import Record

VECTORS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "vectors/esnp.jsonl").read_text().splitlines()
]
NAMES = [str(vector["name"]) for vector in VECTORS]
# Messages of no entry, or of nothing but entries that the texts do not name, are too little to tell.
TOO_LITTLE = {
    "line/empty_message",
    "frame/empty_message",
    "frame/app_defined_frames",
    "line/read_missing_end",
    "line/read_unknown_line_types",
    "line/read_varint_overflow",
    "line/payload_empty",
    "frame/trace_empty_frame",
}


def sense(value: Any) -> Any:
    """A message without hints for encoding, and of inner errors the code alone."""
    if isinstance(value, dict):
        return {
            key: inner["code"] if key == "error" and isinstance(inner, dict) else sense(inner)
            for key, inner in value.items()
            if key != "$wire"
        }
    if isinstance(value, list):
        return [sense(inner) for inner in value]
    return value


def messages(records: list[Record]) -> list[Any]:
    found = []
    for record in records:
        as_json = record.to_json()
        assert isinstance(as_json, dict)
        if as_json["message"] is not None:
            found.append(sense(as_json["message"]))
    return found


def decode(data: str, protocol: str = "esnp-line") -> list[Record]:
    return codecs.decode(bytes.fromhex(data), protocol)


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_meaning_and_bytes_back(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    records = codecs.decode(data, vector["protocol"])
    assert messages(records) == sense(vector["messages"])
    failed = [record for record in records if record.error is not None]
    assert [record.offset for record in failed] == ([vector["error"]["offset"]] if "error" in vector else [])
    assert codecs.encode([record.to_json() for record in records]) == data
    assert codecs.encode(records) == data
    for record in records:
        assert Record.from_json(record.to_json()).to_json() == record.to_json()


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_one_byte_at_a_time(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    decoder = codecs.Decoder(vector["protocol"])
    records = []
    for at in range(len(data)):
        records.extend(decoder.feed(data[at : at + 1]))
    assert len([record for record in records if record.error is None]) == len(vector["messages"])
    records.extend(decoder.close())
    whole = codecs.decode(data, vector["protocol"])
    assert [record.to_json() for record in records] == [record.to_json() for record in whole]


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_followed_by_other_bytes(vector: dict[str, Any]) -> None:
    if "error" in vector:
        pytest.skip("nothing decodes after a cut message")
    data = bytes.fromhex(vector["hex"])
    records = codecs.decode(data + b"\x17\xff\xff\xff rest", vector["protocol"])
    assert messages(records) == sense(vector["messages"])
    assert (records[-1].offset, records[-1].length) == (len(data), 9)
    assert records[-1].error is not None
    assert records[-1].error.code == "truncated"


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_detected(vector: dict[str, Any]) -> None:
    found = codecs.detect(bytes.fromhex(vector["hex"]))
    if vector["name"] in TOO_LITTLE or "error" in vector:
        assert found.protocol == "unknown" or vector["protocol"] in (found.protocol, *found.equal)
        return
    assert vector["protocol"] in (found.protocol, *found.equal)
    assert set(found.equal) <= {"esnp-line", "esnp-frame"}


def test_frame_entries_tell_the_older_text() -> None:
    data = bytes.fromhex("1900000011000008000000000000000100000000")
    found = codecs.detect(data)
    assert (found.protocol, found.equal) == ("esnp-frame", ("esnp-line",))


def test_spans_cover_the_message() -> None:
    record = decode("1100000800000000000000071e0000010800000000")[0]
    root = record.root
    assert root is not None
    assert root.span == (0, 21)
    lines = root.member("lines")
    assert lines is not None
    assert [line.span for line in lines.children] == [(0, 12), (12, 17), (17, 21)]
    value = lines.children[0].member("value")
    assert value is not None
    assert (value.span, value.value, value.path) == ((4, 12), 7, "lines[0].value")


def test_summary_starts_with_what_people_look_for() -> None:
    message: Json = {
        "lines": [
            {"type": "FLAG", "flag": "REQUEST"},
            {"type": "ADDRESS", "address": "OP", "value": "add"},
            {"type": "ADDRESS", "address": "SERVICE", "value": "test"},
            {"type": "ADDRESS", "address": "HOST", "value": "127.0.0.1:1080"},
            {"type": "ADDRESS", "address": "OBJECT", "value": "o1"},
            {"type": "MESSAGE_ID", "value": 42},
            {"type": "SEQ_NO", "current": 3, "last": 0},
            {"type": "DATA", "name": "p", "value": [1, 2.0, "x", None, True, {"k": {"$int64": 1}}]},
            {"type": "PAYLOAD", "data": "0102"},
        ]
    }
    record = codecs.decode(codecs.encode(message, "esnp-line"), "esnp-line")[0]
    assert record.summary == "REQUEST test.add@127.0.0.1:1080 #42 seq 3/? (p) payload 2 bytes"
    assert record.kind == "request"
    root = record.root
    assert root is not None
    assert url(root) == "esnp://127.0.0.1:1080/test/add?o=o1"
    lines = root.member("lines")
    assert lines is not None
    assert record.codec is not None
    assert [record.codec.annotate(line) for line in lines.children[:3]] == ["", url(root), ""]
    assert record.codec.exchange(root) == Exchange("request", "42")
    # an END is added to a message written by hand
    assert sense(messages([record])[0]["lines"][-1]) == {"type": "END"}


def test_replies_name_their_request() -> None:
    message: Json = {
        "lines": [
            {"type": "FLAG", "flag": "RESP"},
            {"type": "SOURCE_MESSAGE_ID", "value": (1 << 64) - 1},
            {"type": "ERROR", "text": "no such op"},
        ]
    }
    record = codecs.decode(codecs.encode(message, "esnp-line"), "esnp-line")[0]
    assert record.summary == 'ERROR "no such op" RESPONSE re #18446744073709551615'
    assert record.root is not None
    assert record.codec is not None
    assert record.codec.exchange(record.root) == Exchange("reply", "18446744073709551615")


@pytest.mark.parametrize(
    ("data", "code", "offset"),
    [
        ("140000010200000000", "bad-length", 5),  # a LenString that the body cuts
        ("14000003026b1900000000", "unknown-type", 6),  # a Var tag that the texts do not name
        ("140000041861626300000000", "bad-length", 5),  # a name longer than its body
        ("1400000301616200000000", "bad-length", 5),  # a name of negative length
        ("14000004026b178000000000", "truncated", 7),  # a cut count
        ("14000005026b17ff7f00000000", "bad-length", 7),  # more values than bytes
        ("11000002000100000000", "truncated", 4),
        ("1f00000301020300000000", "truncated", 4),
    ],
)
def test_a_bad_body_is_kept_as_data_and_the_rest_decodes(data: str, code: str, offset: int) -> None:
    records = decode(data)
    assert len(records) == 1
    assert records[0].error is None
    assert records[0].damaged
    line = checks.message(records[0])["lines"][0]
    assert isinstance(line, dict)
    size = int(data[2:8], 16)
    assert line["data"] == data[8 : 8 + 2 * size]
    assert isinstance(line["error"], dict)
    assert (line["error"]["code"], line["error"]["offset"]) == (code, offset)
    assert codecs.encode(records).hex() == data


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("1e00000388000000000000", {"type": "FLAG", "flag": 4, "extra": "00"}),
        ("0000000400000000", {"type": "END", "extra": "00000000"}),
        ("1600000000000000", {"type": "PAYLOAD", "data": ""}),
        ("1c00000302123400000000", {"type": "XDATA", "id": 1, "data": "1234"}),
        ("1c000002020000000000", {"type": "XDATA", "id": 1, "value": None}),
        ("1c0000010200000000", {"type": "XDATA", "id": 1, "data": ""}),
        ("05000002abcd00000000", {"type": 5, "data": "abcd"}),
        ("80000002abcd00000000", {"type": 128, "data": "abcd"}),
        ("1d000002ff4100000000", {"type": "ERROR", "text": {"$raw": "ff41"}}),
        ("14000005026b01ff0900000000", {"type": "HEADER", "name": "k", "value": True, "extra": "09"}),
        (
            "14000008026b150204c1c20000000000",
            {"type": "HEADER", "name": "k", "value": {"$map": [[{"$raw": "c1c2"}, None]]}},
        ),
    ],
)
def test_odd_entries(data: str, line: Json) -> None:
    records = decode(data)
    shown = messages(records)[0]["lines"][0]
    if isinstance(line, dict) and line.get("flag") == 4:
        assert shown["flag"] == "REQUEST"
        assert shown["extra"] == "00"
    elif isinstance(line, dict) and line.get("value") is True:
        assert shown == {"type": "HEADER", "name": "k", "value": {"$bool": True}, "extra": "09"}
    else:
        assert shown == line
    assert codecs.encode(records).hex() == data


def test_overlong_varints_and_wide_ones_come_back_with_notes() -> None:
    data = "1e00000388800014000008026b04808080807f00000000".replace(" ", "")
    records = decode(data)
    assert codecs.encode([record.to_json() for record in records]).hex() == data
    codes = [note.code for note in records[0].notes]
    assert codes == ["wide-varint"]


# Entries without the END, and the notes that they get: (code, offset).
NOTED: list[tuple[str, list[tuple[str, int]]]] = [
    ("000000026162", [("extra-bytes", 4)]),
    ("1e0000020800", [("extra-bytes", 5)]),
    ("1900000101", [("extra-bytes", 4)]),
    ("1f0000050102030405", [("extra-bytes", 8)]),
    ("15000005026b010109", [("extra-bytes", 8)]),
    ("1d000002fffe", [("bad-text", 4)]),
    ("1d000003e4bda0", []),
    ("1500000402ff0100", [("bad-text", 5)]),
    ("15000005026b1802ff", [("bad-text", 8)]),
    ("15000008026b150202c30100", [("bad-text", 9)]),
    ("1700000314" + "02ff", [("bad-text", 6)]),
    ("1500000b0276150402610002610101", [("repeated-key", 11)]),
    ("1500000b0276150402610002620101", []),
    ("1b0000020000", [("bad-sequence", 4)]),
    ("1b0000020604", [("bad-sequence", 4)]),
    ("1b000002010a", [("bad-sequence", 4)]),
    ("1b0000020401", [("bad-sequence", 4)]),
    ("1b0000020606", []),
    ("1b0000020600", []),
    (3 * "110000080000000000000001", [("repeated-entry", 12)]),
    ("1f000004010203041f00000401020304", [("repeated-entry", 8)]),
    (2 * "1300000101" + 2 * "120000080000000000000001", [("repeated-entry", 5), ("repeated-entry", 22)]),
    ("01000000", [("unknown-type", 0)]),
    ("09000000", []),
    ("2000000178", [("unknown-type", 0)]),
    ("7f000000", [("unknown-type", 0)]),
    ("8000000178", []),
    ("ff000000", []),
    ("1e00000110", [("unknown-flag", 4)]),
    ("1e000002fe01", [("unknown-flag", 4)]),
    ("1e0000028002", []),
    ("1e00000101", [("unknown-flag", 4)]),
]


@pytest.mark.parametrize(("data", "notes"), NOTED)
def test_what_the_text_forbids_is_noted(data: str, notes: list[tuple[str, int]]) -> None:
    ended = data if data.startswith("00") else data + "00000000"
    (record,) = decode(ended, "esnp-frame")
    assert record.error is None
    assert [(note.code, note.offset) for note in record.notes] == notes
    assert codecs.encode([record.to_json()]).hex() == ended


def test_names_as_the_texts_spell_them() -> None:
    for written, data in (
        ({"type": "MT_FLAG", "flag": "FLAG_REQUEST"}, "1e00000108"),
        ({"type": "flag", "flag": "request"}, "1e00000108"),
        ({"type": "0x1e", "flag": "0x8"}, "1e00000110"),
        ({"type": "MT_ADDRESS", "address": "ADDRESS_SERVICE", "value": "x"}, "170000033c0278"),
        ({"type": "ADDRESS", "address": "NODE", "value": "x"}, "17000003460278"),
        ({"type": "MESSAGE_KIND", "kind": "MK_REQUEST"}, "1300000101"),
        ({"type": "MESSAGE_KIND", "kind": "INFO_RESPONSE"}, "1300000105"),
        ({"type": "MESSAGE_ID", "value": "0x10"}, "110000080000000000000010"),
    ):
        assert codecs.encode({"lines": [written]}, "esnp-line").hex() == data + "00000000"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"type": "FLAGS"}, 'did you mean "FLAG"?'),
        ({"type": "FLAG", "flag": "REQEST"}, 'did you mean "REQUEST"?'),
        ({"type": "FLAG", "flags": 4}, 'did you mean "flag"?'),
        ({"type": "MESSAGE_ID", "id": 4}, "there are $wire, error, extra, type, value"),
        ({"type": "DATA", "name": "n", "value": {"$integer": 4}}, 'did you mean "$int'),
        ({}, "there are END, SESSION_INFO"),
    ],
)
def test_an_unknown_name_is_answered_with_those_that_exist(line: Json, expected: str) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode({"lines": [line]}, "esnp-line")
    assert expected in caught.value.text


@pytest.mark.parametrize(
    ("tag", "low", "high"),
    [
        ("$int", -(1 << 31), (1 << 31) - 1),
        ("$int8", -128, 127),
        ("$int16", -32768, 32767),
        ("$int32", -(1 << 31), (1 << 31) - 1),
        ("$int64", -(1 << 63), (1 << 63) - 1),
        ("$uint", 0, (1 << 32) - 1),
        ("$uint8", 0, 255),
        ("$uint16", 0, 65535),
        ("$uint32", 0, (1 << 32) - 1),
        ("$uint64", 0, (1 << 64) - 1),
    ],
)
def test_integers_outside_their_type_need_a_wire_form(tag: str, low: int, high: int) -> None:
    def message(value: Json) -> Json:
        return {"lines": [{"type": "DATA", "name": "k", "value": value}]}

    for number in (low, high):
        data = codecs.encode(message({tag: number}), "esnp-line")
        (record,) = codecs.decode(data, "esnp-line")
        assert record.notes == []
        assert "wire" not in record.json_text()
    for number in (low - 1, high + 1):
        with pytest.raises(codecs.EncodeError) as caught:
            codecs.encode(message({tag: number}), "esnp-line")
        assert f"{low} … {high}" in caught.value.text
        if "8" in tag or "64" in tag or number < 0 <= low:
            continue
        forms: list[Json] = ["wide", {"wide": 9}]
        for wire in forms:
            written = message({tag: number, "$wire": wire})
            data = codecs.encode(written, "esnp-line")
            (record,) = codecs.decode(data, "esnp-line")
            assert [note.code for note in record.notes] == ["wide-varint"]
            assert checks.message(record)["lines"][0]["value"] == {tag: number, "$wire": wire}
            assert codecs.encode([codecs.loads(record.json_text())]) == data


def test_wide_members_need_a_wire_form() -> None:
    line: dict[str, Json] = {"type": "SEQ_NO", "current": 1, "last": 1 << 31}
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode({"lines": [line]}, "esnp-line")
    assert caught.value.path == "lines[0].last"
    assert '"wide"' in caught.value.text
    line["$wire"] = {"last": "wide"}
    data = codecs.encode({"lines": [line]}, "esnp-line")
    assert checks.message(decode(data.hex())[0])["lines"][0] == line


def test_header_after_body_is_a_note_of_the_line_text_only() -> None:
    data = "15000004026b01001e0000010800000000"
    (line,) = decode(data)
    assert [(note.code, note.offset) for note in line.notes] == [("header-after-body", 8)]
    (frame,) = decode(data, "esnp-frame")
    assert frame.notes == []


def test_messages_before_change_nothing() -> None:
    signed = bytes.fromhex("15000004026b170000000000")
    unsigned = bytes.fromhex("15000008026b15010278050200000000")
    for vector in VECTORS:
        data = bytes.fromhex(vector["hex"])
        for end in {len(data), max(len(data) - 5, 1), max(len(data) // 2, 1)}:
            found = []
            for before in (signed, unsigned):
                codecs.decode(before, "esnp-line")
                found.append([record.json_text() for record in codecs.decode(data[:end], vector["protocol"])])
            assert found[0] == found[1]


@pytest.mark.parametrize("counts", [None, "unsigned"])
def test_both_rules_for_counts(counts: str | None) -> None:
    message: dict[str, Json] = {
        "lines": [{"type": "DATA", "name": "k", "value": {"a": [1, 2, 3], "b": {"c": "d"}}}]
    }
    if counts is not None:
        message["counts"] = counts
    data = codecs.encode(message, "esnp-line")
    back = messages(codecs.decode(data, "esnp-line"))[0]
    assert back.get("counts") == counts
    assert back["lines"][0]["value"] == {"a": [1, 2, 3], "b": {"c": "d"}}


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (5, ""),
        ({}, ""),
        ({"lines": [], "lin": 1}, "lin"),
        ({"lines": [], "counts": "signed"}, "counts"),
        ({"lines": [1]}, "lines[0]"),
        ({"lines": [{}]}, "lines[0].type"),
        ({"lines": [{"type": "NOPE"}]}, "lines[0].type"),
        ({"lines": [{"type": 256, "data": ""}]}, "lines[0].type"),
        ({"lines": [{"type": "END"}, {"type": "END"}]}, "lines[1]"),
        ({"lines": [{"type": "FLAG"}]}, "lines[0]"),
        ({"lines": [{"type": "FLAG", "flag": "NOPE"}]}, "lines[0].flag"),
        ({"lines": [{"type": "FLAG", "flag": 4, "oops": 1}]}, "lines[0].oops"),
        ({"lines": [{"type": "FLAG", "flag": 4, "$wire": {"flag": 11}}]}, "lines[0].flag"),
        ({"lines": [{"type": "FLAG", "flag": 400, "$wire": {"flag": 1}}]}, "lines[0].flag"),
        ({"lines": [{"type": "FLAG", "flag": 4, "$wire": {"flg": 2}}]}, "lines[0].$wire.flg"),
        ({"lines": [{"type": "END", "$wire": {"flag": 2}}]}, "lines[0].$wire.flag"),
        ({"lines": [{"type": "FLAG", "data": "08", "$wire": {"data": 2}}]}, "lines[0].$wire.data"),
        (
            {"lines": [{"type": "DATA", "name": "a", "value": 1, "$wire": {"value": 2}}]},
            "lines[0].$wire.value",
        ),
        ({"lines": [{"type": "MESSAGE_ID", "value": -1}]}, "lines[0].value"),
        ({"lines": [{"type": "VERSION", "version": "1.2.3"}]}, "lines[0].version"),
        ({"lines": [{"type": "XDATA", "id": 1, "value": 2, "data": "00"}]}, "lines[0]"),
        ({"lines": [{"type": "PAYLOAD", "data": "0"}]}, "lines[0].data"),
        ({"lines": [{"type": "DATA", "name": "k", "value": [1, {"$long": 2}]}]}, "lines[0].value[1]"),
        ({"lines": [{"type": "DATA", "name": "k", "value": {"a": {"$int8": 200}}}]}, "lines[0].value.a"),
        ({"lines": [{"type": "DATA", "name": "k", "value": {"$map": [[1, 2]]}}]}, "lines[0].value[0][0]"),
        ({"lines": [{"type": "DATA", "name": "k", "value": {"$bytes": "xy"}}]}, "lines[0].value"),
        ({"lines": [{"type": "DATA", "name": "k", "value": {"$float32": 1e300}}]}, "lines[0].value"),
        ({"lines": [{"type": "DATA", "name": "k", "value": 1 << 64}]}, "lines[0].value"),
        ({"lines": [{"type": "DATA", "name": "\ud800", "value": 1}]}, "lines[0].name"),
        ({"lines": [{"type": "PAYLOAD", "data": "00" * 0x1000000}]}, "lines[0]"),
    ],
)
def test_errors_of_encoding_name_the_path(message: Json, path: str) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode([message] if not isinstance(message, dict) else message, "esnp-line")
    assert caught.value.path.removeprefix("[0]") == path
    assert caught.value.text


@pytest.mark.parametrize(
    "value",
    [
        {"$int64": -1 << 63},
        {"$uint64": (1 << 64) - 1},
        {"$int64": 1 << 62},
        {"$uint": 1 << 31},
        {"$int": -5},
        {"$int8": -128},
        {"$int16": -32768},
        {"$uint8": 255},
        {"$uint16": 65535},
        {"$uint32": (1 << 32) - 1},
        {"$float32": 1.5},
        {"$float32": "-Infinity"},
        {"$double": "NaN"},
        {"$bytes": "00ff"},
        {"$map": [["a", 1], ["a", 2]]},
        {"$raw": "ff"},
        -0.0,
        "\u4e2d\u6587 \U0001f602\u0000",
        [],
        {},
    ],
)
def test_every_value_comes_back(value: Json) -> None:
    data = codecs.encode({"lines": [{"type": "DATA", "name": "k", "value": value}]}, "esnp-line")
    back = messages(codecs.decode(data, "esnp-line"))[0]["lines"][0]["value"]
    assert repr(back) == repr(value)


def test_plain_integers_outside_32_bits_are_64_bit_ones() -> None:
    for number, tagged in ((1 << 31, {"$int64": 1 << 31}), (1 << 63, {"$uint64": 1 << 63})):
        data = codecs.encode({"lines": [{"type": "DATA", "name": "k", "value": number}]}, "esnp-line")
        assert messages(codecs.decode(data, "esnp-line"))[0]["lines"][0]["value"] == tagged


def test_nesting_is_no_limit() -> None:
    deep: Json = 1
    for _ in range(checks.DEEP):
        deep = [deep]
    data = codecs.encode({"lines": [{"type": "DATA", "name": "k", "value": deep}]}, "esnp-line")
    records = codecs.decode(data, "esnp-line")
    assert len(records) == 1
    assert codecs.encode([codecs.loads(records[0].json_text())]) == data


def test_decoding_goes_on_after_damage_at_a_proved_message() -> None:
    good = bytes.fromhex("1e0000010800000000")
    damaged = b"\x14\xff\xff\xffgarbage" + bytes(7) + good + good
    records = codecs.decode(damaged, "esnp-line")
    assert [(record.offset, record.length, record.error is None) for record in records] == [
        (0, 18, False),
        (18, 9, True),
        (27, 9, True),
    ]


@pytest.mark.parametrize("size", [0xFFFFFF, 0x1000])
def test_a_huge_claim_allocates_nothing(size: int) -> None:
    data = b"\x15" + size.to_bytes(3, "big") + b"\x02k\x17\xfe\xff\xff\xff\x0f"
    records = codecs.decode(data, "esnp-line")
    assert [record.error.code if record.error else None for record in records] == ["truncated"]
    partial = records[0].to_json()
    assert isinstance(partial, dict)
    assert partial["partial"] == {"lines": [{"type": "DATA", "name": "k"}]}


@pytest.mark.slow
@pytest.mark.once
def test_foreign_streams_are_not_claimed(shared: Path) -> None:
    claimed = []
    for path in sorted((shared / "captures/negative").glob("*.bin")):
        data = path.read_bytes()
        found = codecs.detect(data)
        if len(data) >= 16 and found.protocol.startswith("esnp"):
            claimed.append((path.name, found.candidates[0].bits))
    assert claimed == []


def test_the_recorded_session_decodes_whole(shared: Path) -> None:
    capture = (shared / "captures/sessions/esnp_line_tcp.pcap").read_bytes()
    flows = codecs.captures.flows([capture])
    assert flows
    for flow in flows:
        for direction in flow.directions:
            if direction.data:
                records = codecs.decode(direction.data)
                assert {record.protocol for record in records} == {"esnp-line"}
                assert not any(record.damaged for record in records)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("026b", {"name": "k"}),
        ("026b18", {"name": "k"}),
        ("026b0508", {"name": "k", "value": 4}),
        ("026b170605020504", {"name": "k", "value": [1, 2]}),
    ],
)
def test_a_cut_body_shows_what_decodes(body: str, shown: dict[str, Json]) -> None:
    (record,) = decode(f"1e00000108 15000040 {body}")
    found = record.to_json()
    assert isinstance(found, dict)
    assert found["partial"] == {"lines": [{"type": "FLAG", "flag": "REQUEST"}, {"type": "DATA", **shown}]}
    assert record.error is not None
    assert (record.error.code, record.error.offset) == ("truncated", 9)


def test_a_cut_message_shows_maps_under_the_rule_that_fits() -> None:
    (record,) = decode("15000005026b170100 15000040 026b")
    found = record.to_json()
    assert isinstance(found, dict)
    assert found["partial"] == {
        "lines": [{"type": "DATA", "name": "k", "value": [None]}, {"type": "DATA", "name": "k"}]
    }


@pytest.mark.parametrize("kind", range(0x20))
def test_empty_bodies_at_the_end_of_the_bytes_are_probed(kind: int) -> None:
    data = bytes.fromhex("1e00000104") + bytes([kind]) + bytes(3)
    assert sum(record.length for record in codecs.decode(data)) == len(data)


def notes_for_people(data: str) -> list[str]:
    """What the entries of a message, without its END, are annotated with."""
    (record,) = decode(data + "00000000")
    root = record.root
    assert root is not None
    codec = registry.get("esnp-line")
    return [codec.annotate(line) for line in root["lines"]][:-1]


def test_ranges_and_later_names_are_told() -> None:
    assert notes_for_people("0f000000090000007f00000080000000") == [
        "reserved by the texts",
        "CLOSE_CHANNEL in deployed code of the frame era; reserved by the texts",
        "not defined by the texts",
        "the application's own",
    ]
    assert notes_for_people("1e00000280021e0000010813000001051300000101") == [
        "the application's own",
        "",
        "INFO_RESPONSE",
        "",
    ]
    (record,) = decode("130000010512000008000000000000000100000000")
    assert record.summary == "RESPONSE re #1"


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ([(35, "n 1")], "esnp://_/_/_?a35=n%201"),
        ([(20, "a/b"), (30, "s"), (40, "h:1")], "esnp://h:1/s/a%2Fb"),
        ([(10, "o=o b"), (50, "j?&g=g&x")], "esnp://_/_/_?o=o%3Do%20b&g=j%3F%26g%3Dg%26x"),
        (
            [(50, "g"), (10, "o"), (40, "_"), (40, "second"), (10, "two")],
            "esnp://%5F/_/_?o=o&o=two&g=g&a40=second",
        ),
        ([(30, "服务"), (20, "100%")], "esnp://_/服务/100%25"),
        ([(40, "")], "esnp://_/_/_?a40="),
        ([], ""),
    ],
)
def test_the_url_has_every_address(addresses: list[tuple[int, str]], expected: str) -> None:
    message: Json = {
        "lines": [{"type": "ADDRESS", "address": number, "value": text} for number, text in addresses]
    }
    (record,) = codecs.decode(codecs.encode(message, "esnp-line"), "esnp-line")
    assert record.root is not None
    assert url(record.root) == expected


def test_the_value_of_xdata_is_marked_as_a_guess() -> None:
    (record,) = decode("1c000002020000000000")
    assert record.root is not None
    (line, _) = record.root["lines"]
    assert "guess" in registry.get("esnp-line").annotate(line["value"])


@pytest.mark.parametrize(
    ("flag", "value", "summary"),
    [
        ("RESP", 200, "RESPONSE status 200 (s)"),
        ("RESP", 500, "ERROR status 500 RESPONSE (s)"),
        ("RESP", {"$uint16": 404}, "ERROR status 404 RESPONSE (s)"),
        ("RESP", "200", "RESPONSE (s)"),
        ("REQUEST", 500, "REQUEST (s)"),
    ],
)
def test_the_status_of_a_call_of_a_service(flag: str, value: Json, summary: str) -> None:
    message: Json = {"lines": [{"type": "FLAG", "flag": flag}, {"type": "DATA", "name": "s", "value": value}]}
    (record,) = codecs.decode(codecs.encode(message, "esnp-line"), "esnp-line")
    assert record.summary == summary
