"""Bolt: the vectors, every sort of frame, damage, detection, and public payloads."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from checks import codes, decoded, message, one
from click.testing import CliRunner
from neutral import differences

from wirelens import codecs
from wirelens.cli.main import group
from wirelens.codecs import registry
from wirelens.codecs.captures import Flow, Piece
from wirelens.codecs.codec import Exchange
from wirelens.codecs.conversations import Conversations
from wirelens.codecs.node import Node

VECTORS = {
    vector["name"].partition("/")[2]: vector
    for vector in map(
        json.loads, (Path(__file__).parent.parent / "vectors/bolt-frames.jsonl").read_text().splitlines()
    )
}
HEX = {name: bytes.fromhex(vector["hex"]) for name, vector in VECTORS.items()}
REQUEST_CLASS = "com.alipay.sofa.rpc.core.request.SofaRequest"
RESPONSE_CLASS = "com.alipay.sofa.rpc.core.response.SofaResponse"


def frame(
    kind: int = 1,
    content: bytes = b"",
    name: bytes = b"com.x.Request",
    headers: bytes = b"",
    command: int | None = None,
    codec: int = 1,
    extra: bytes = b"\0\0\0\x64",
    number: int = 7,
    version: bytes = b"\1",
    switch: bytes = b"",
) -> bytes:
    if command is None:
        command = 1 if kind else 2
    if kind == 0:
        extra = extra[2:]
    head = version + bytes([kind]) + command.to_bytes(2, "big") + b"\1" + number.to_bytes(4, "big")
    head += bytes([codec]) + switch + extra
    head += len(name).to_bytes(2, "big") + len(headers).to_bytes(2, "big") + len(content).to_bytes(4, "big")
    return head + name + headers + content


def mapped(*texts: str | None) -> bytes:
    parts = []
    for text in texts:
        if text is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            parts.append(len(text.encode()).to_bytes(4, "big") + text.encode())
    return b"".join(parts)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    data = HEX[name]
    record = one(data, "bolt")
    parsed = message(record)
    wanted = VECTORS[name]["frame"]
    assert parsed["version"] == wanted["proto"]
    assert parsed["type"] == ("response", "request", "oneway")[wanted["type"]]
    assert parsed["command"] == ("heartbeat", "request", "response")[wanted["cmdcode"]]
    assert parsed["id"] == wanted["id"]
    assert parsed["codec"] == "hessian"
    assert parsed.get("class", "") == wanted["class"]
    assert ("crc" in parsed) is wanted["crc"]
    if wanted["type"]:
        assert parsed["timeout"] == wanted["timeout_or_status"]
    else:
        assert parsed["status"] == "SUCCESS"
    assert not record.damaged
    assert not record.notes
    assert "$wire" not in record.json_text()
    assert codecs.detect(data).protocol == "bolt"
    root = record.root
    assert root is not None
    content = root.member("content")
    values = None if content is None else content.member("values")
    items = [] if values is None else values.children
    assert len(items) == len(VECTORS[name].get("body", []))
    for value, tree in zip(items, VECTORS[name].get("body", []), strict=True):
        assert differences(value, tree) == []
    if content is not None:
        assert content.span[0] == VECTORS[name]["content_offset"]


def test_the_messages_of_vectors() -> None:
    parsed = message(one(HEX["bolt_v1_oneway"], "bolt"))
    assert parsed["headers"] == [
        ["sofa_head_target_service", "com.example.OrderService:1.0"],
        ["sofa_head_method_name", "find"],
    ]
    assert parsed["content"]["values"][1] == {"$long": 42}
    assert message(one(HEX["bolt_v2_request_crc"], "bolt"))["crc"] == "7b286b9c"


@pytest.mark.parametrize(
    ("name", "kind", "role", "summary"),
    [
        ("bolt_v1_heartbeat", "heartbeat", "request", "bolt heartbeat req #11"),
        (
            "bolt_v1_oneway",
            "oneway",
            "",
            "bolt req #8 one-way com.example.OrderService:1.0.find(long, Gen$Car)",
        ),
        ("bolt_v1_response", "response", "reply", "bolt resp #7 ok list[2]"),
        (
            "bolt_v2_request_crc",
            "request",
            "request",
            "bolt req #9 com.example.OrderService:1.0.find(long, Gen$Car)",
        ),
        ("bolt_v2_response", "response", "reply", "bolt resp #9 ok list[2]"),
    ],
)
def test_kinds_summaries_and_exchanges(name: str, kind: str, role: str, summary: str) -> None:
    record = one(HEX[name], "bolt")
    root = record.root
    assert root is not None
    assert record.kind == kind
    assert record.summary == summary
    key = str(VECTORS[name]["frame"]["id"]) if role else ""
    assert registry.get("bolt").exchange(root) == Exchange(role, key)


def test_arguments_are_annotated_with_their_declared_types() -> None:
    root = one(HEX["bolt_v1_oneway"], "bolt").root
    assert root is not None
    codec = registry.get("bolt")
    meanings: dict[str, str] = {}
    work: list[Node] = [root]
    while work:
        node = work.pop()
        meaning = codec.annotate(node)
        if meaning:
            meanings[node.path] = meaning
        work.extend(node.parts())
    assert meanings["content.values[1]"] == "long"
    assert meanings["content.values[2]"] == "lab.Gen$Car"


@pytest.mark.parametrize(
    ("status", "name", "words"),
    [
        (1, "ERROR", "error"),
        (2, "SERVER_EXCEPTION", "server exception"),
        (4, "SERVER_THREADPOOL_BUSY", "server threadpool busy"),
        (7, "TIMEOUT", "timeout"),
        (16, "CONNECTION_CLOSED", "connection closed"),
        (18, "SERVER_DESERIAL_EXCEPTION", "server deserial exception"),
        (99, 99, "status 99"),
    ],
)
def test_statuses_are_named(status: int, name: str | int, words: str) -> None:
    record = one(frame(0, extra=b"\0\0" + status.to_bytes(2, "big")), "bolt")
    assert message(record)["status"] == name
    assert record.summary == f"bolt resp #7 {words} com.x.Request"


def test_a_response_that_is_an_error() -> None:
    written: Any = {
        "type": "response",
        "id": 5,
        "content": {
            "values": [
                {
                    "$class": RESPONSE_CLASS,
                    "isError": True,
                    "errorMsg": "no such service",
                    "appResponse": None,
                    "responseProps": None,
                }
            ]
        },
    }
    data = codecs.encode(written, "bolt")
    assert one(data, "bolt").summary == "bolt resp #5 error no such service"


def test_an_exception_is_shown_with_its_message() -> None:
    thrown: Any = {"$class": "com.x.Refused", "detailMessage": "sold out", "cause": None, "stackTrace": []}
    answer: Any = {"$class": RESPONSE_CLASS, "isError": False, "errorMsg": None, "appResponse": thrown}
    data = codecs.encode({"status": "SUCCESS", "id": 5, "content": {"values": [answer]}}, "bolt")
    assert one(data, "bolt").summary == "bolt resp #5 exception com.x.Refused: sold out"


@pytest.mark.parametrize(("number", "name"), [(11, "protobuf"), (12, "json"), (2, 2)])
def test_other_codecs_are_named_and_kept(number: int, name: str | int) -> None:
    parsed = message(one(frame(content=b"\x08\1", codec=number), "bolt"))
    assert parsed["codec"] == name
    assert parsed["content"] == {"data": "0801"}


def test_content_in_json_is_shown() -> None:
    parsed = message(one(frame(content=b'{"a": 1}', codec=12), "bolt"))
    assert parsed["content"]["json"] == {"a": 1}
    given: Any = {"codec": "json", "id": 7, "timeout": 100, "class": "com.x.Request"}
    given["content"] = {"json": {"a": 1}}
    assert codecs.encode(given, "bolt") == frame(content=b'{"a": 1}', codec=12)


def test_a_header_map_with_null() -> None:
    parsed = message(one(frame(headers=mapped("a", None, None, "b", "", "")), "bolt"))
    assert parsed["headers"] == [["a", None], [None, "b"], ["", ""]]


@pytest.mark.parametrize(
    "headers", [b"\0\0\0\1", mapped("a"), b"\0\0\0\x09a" + mapped("b"), b"\xff\xff\xff\xfe"]
)
def test_a_header_map_that_does_not_fill_its_length(headers: bytes) -> None:
    record = one(frame(headers=headers, content=b"N"), "bolt")
    parsed = message(record)
    assert parsed["headers"]["data"] == headers.hex()
    assert record.damaged
    assert parsed["content"]["values"] == [None]


def test_final_hessian_is_recognised_by_its_bytes() -> None:
    content = b"C\x05com.x\x91\x01a\x60\x05hello"
    parsed = message(one(frame(content=content), "bolt"))
    assert parsed["hessian"] == "hessian2"
    assert parsed["content"]["values"] == [{"$class": "com.x", "a": "hello"}]


def test_content_without_a_class() -> None:
    parsed = message(one(frame(name=b"", content=b"N"), "bolt"))
    assert parsed["$wire"] == {"class": "absent"}


@pytest.mark.parametrize(
    ("version", "switch", "checked", "wire"),
    [
        (1, 0, False, None),
        (2, 1, True, None),
        (2, 0, False, {"protocol_version": 2}),
        (1, 1, False, {"protocol_version": 1}),
        (2, 3, True, None),
    ],
)
def test_version_and_switch_announce_a_checksum(version: int, switch: int, checked: bool, wire: Any) -> None:
    data = frame(version=bytes([2, version]), switch=bytes([switch]), content=b"N")
    if checked:
        data += zlib.crc32(data).to_bytes(4, "big")
    parsed = message(one(data, "bolt"))
    assert parsed["switch"] == switch
    assert ("crc" in parsed) is checked
    assert parsed.get("$wire") == wire


def test_a_wrong_checksum_is_noted_and_kept() -> None:
    data = HEX["bolt_v2_request_crc"][:-1] + b"\0"
    record = one(data, "bolt")
    assert codes(record) == ["bad-checksum"]
    assert record.notes[0].offset == len(data) - 4
    assert message(record)["$wire"] == {"crc": "wrong"}
    # who changes a frame has its checksum computed
    parsed = message(one(HEX["bolt_v2_request_crc"], "bolt"))
    parsed["id"] = 10
    changed = codecs.encode(parsed, "bolt")
    assert not one(changed, "bolt").notes


# --- damage ---------------------------------------------------------------------------------------------


def test_content_that_does_not_decode_is_an_inner_error() -> None:
    content = b"\x03abc\x47"
    record = one(frame(content=content), "bolt")
    parsed = message(record)["content"]
    assert parsed["data"] == content.hex()
    assert parsed["partial"] == {"values": ["abc"]}
    assert parsed["error"]["offset"] == record.length - 1
    assert record.damaged


@pytest.mark.parametrize("name", ["bolt_v1_oneway", "bolt_v2_request_crc"])
def test_a_frame_that_is_cut(name: str) -> None:
    whole = HEX[name]
    for size in range(1, len(whole), 7):
        record = codecs.decode(whole[:size], "bolt")[0]
        assert record.error is not None
        assert record.error.code == "truncated"
        assert record.error.offset <= size
    partial: Any = one(whole[:300], "bolt").to_json()
    assert partial["partial"]["headers"][1] == ["sofa_head_method_name", "find"]
    assert "bytes of the content missing" in partial["error"]["text"]
    assert partial["partial"]["content"]["values"]


@pytest.mark.parametrize("name", ["bolt_v2_response", "bolt_v2_request_crc"])
def test_no_frame_is_found_inside_a_header(name: str) -> None:
    whole = HEX[name]
    for size in range(1, len(whole)):
        (record,) = codecs.decode(whole[:size], "bolt")
        assert record.error is not None
        assert record.error.code == "truncated"


@pytest.mark.parametrize(
    ("next_frame", "proved"),
    [
        (frame(0, name=b"", command=0), True),
        (frame(0, name=b"", headers=mapped("k", "v")), True),
        (frame(0, name=b"", headers=b"\0\x99\x63\x6f"), False),
        (frame(), True),
    ],
)
def test_what_proves_a_frame_after_damage(next_frame: bytes, proved: bool) -> None:
    records = codecs.decode(b"\0\0\0" + next_frame, "bolt")
    assert len(records) == 1 + proved


@pytest.mark.parametrize("data", [b"\3\1", b"\1\3\0\1", b"\2\1\7", b"\0"])
def test_what_is_not_a_frame(data: bytes) -> None:
    record = codecs.decode(data + bytes(30), "bolt")[0]
    assert record.error is not None
    assert record.error.code == "no-message"


def test_lengths_are_not_trusted() -> None:
    data = bytearray(frame())
    data[18:22] = b"\xff\xff\xff\xff"
    record = codecs.decode(bytes(data), "bolt")[0]
    assert record.error is not None
    assert record.error.code == "limit"


def test_decoding_goes_on_at_the_next_header() -> None:
    good = HEX["bolt_v1_response"]
    records = decoded(b"\4\3\2\1" + good + b"zz" + HEX["bolt_v1_oneway"][:80] + good, "bolt")
    assert [record.error is None for record in records] == [False, True, False, False, True]
    assert records[3].length == 80


# --- encoding -------------------------------------------------------------------------------------------


def test_a_frame_by_hand() -> None:
    written: Any = {
        "id": 7,
        "timeout": 100,
        "headers": [["a", "b"]],
        "content": {"values": [{"$class": REQUEST_CLASS, "methodName": "m"}, 5]},
    }
    data = codecs.encode(written, "bolt")
    content = b"O\xbc" + REQUEST_CLASS.encode() + b"\x91\x0amethodNameo\x90\x01m\x95"
    assert data == frame(name=REQUEST_CLASS.encode(), headers=mapped("a", "b"), content=content)
    checked = codecs.encode({**written, "version": 2, "switch": 1}, "bolt")
    assert checked[-4:] == zlib.crc32(checked[:-4]).to_bytes(4, "big")
    assert codecs.encode({"command": "heartbeat", "id": 11}, "bolt") == HEX["bolt_v1_heartbeat"]


# --- finding --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("0101000c2112a442") + bytes(40),  # STUN
        bytes.fromhex("01010001000800000001000000000000010400010417"),  # FastCGI
        bytes.fromhex("010100000002000d0100007530") + bytes(20),  # HART-IP
        bytes.fromhex("01010600c979b96000000000c0a80168") + bytes(40),  # DHCP
        bytes(64),
    ],
)
def test_other_protocols_are_not_claimed(data: bytes) -> None:
    assert codecs.detect(data).protocol != "bolt"
    assert registry.get("bolt").probe(data, b"").bits < 12


def test_evidence_grows_with_frames() -> None:
    codec = registry.get("bolt")
    response = HEX["bolt_v1_response"]
    once = codec.probe(response, b"")
    twice = codec.probe(response * 2, b"")
    assert twice.bits > once.bits
    assert (once.whole, once.one, twice.one) == (True, True, False)
    assert codec.probe(response + b"no header, but text", b"").bits < once.bits
    cut = codec.probe(response[:100], b"")
    assert cut.bits >= 24
    assert "119 more bytes" in cut.settle


def test_a_conversation_over_many_segments() -> None:
    conversations = Conversations()
    flow = Flow(1, "tcp", (b"\x0a\0\0\1", b"\x0a\0\0\2"), (40000, 12200))
    asked = HEX["bolt_v2_request_crc"] + HEX["bolt_v1_heartbeat"]
    answered = frame(0, name=b"", command=0, number=11) + HEX["bolt_v2_response"]
    messages = []
    for direction, data in ((0, asked), (1, answered)):
        for at in range(0, len(data), 11):
            time = 1_000_000 * (direction + 1) + at
            piece = Piece(flow, direction, at, data[at : at + 11], time, (at,), 0, (), "")
            messages.extend(conversations.feed([piece]))
    messages.extend(conversations.close())
    assert [item.record.kind for item in messages] == ["request", "heartbeat", "heartbeat", "response"]
    assert messages[2].pair == messages[1].pair != ""
    assert messages[3].pair == messages[0].pair != ""


def test_a_pasted_frame_decodes_on_the_command_line() -> None:
    result = CliRunner().invoke(group, ["decode", "--hex", HEX["bolt_v2_request_crc"].hex()])
    assert result.exit_code == 0
    assert "bolt  req #9 com.example.OrderService:1.0.find(long, Gen$Car)" in result.output
    assert "crc:" in result.output


# --- what others published ------------------------------------------------------------------------------


def test_public_payloads(shared: Path) -> None:
    positive = shared / "captures/positive"
    summaries = {}
    for entry in json.loads((positive / "manifest.json").read_text()):
        if entry["label"] == "sofa-bolt":
            data = (positive / entry["file"]).read_bytes()
            assert codecs.detect(data).protocol == "bolt", entry["file"]
            record = one(data, "bolt")
            assert not record.damaged, entry["file"]
            summaries[entry["file"]] = record.summary
    assert summaries == {
        "sofa-new.frame1.bin": "bolt req #2 com.mycompany.app.common.ServInterface:1.0.testSuccess(Req)",
        "sofa-new.frame2.bin": "bolt resp #2 ok com.mycompany.app.common.Resp",
        "sofabolt_node_decoder_1.bin": (
            "bolt resp #1 server exception com.alipay.remoting.rpc.exception.RpcServerException: com.a…"
        ),
        "sofabolt_python_0.bin": (
            "bolt resp #132 ok com.alipay.sofa.rpc.core.response.SofaResponse protobuf, 3 bytes"
        ),
        "sofabolt_python_1.bin": (
            "bolt req #109 com.alipay.rpc.common.service.facade.pb.SampleServicePb:1.0.hello(…)"
            " protobuf, 3 bytes"
        ),
    }
