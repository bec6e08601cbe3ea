"""Dubbo: the vectors, every sort of frame, damage, detection, and public captures."""

import json
from pathlib import Path
from typing import Any

import pytest
from checks import codes, decoded, message, one
from click.testing import CliRunner
from feeding import fed

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
        json.loads, (Path(__file__).parent.parent / "vectors/dubbo-frames.jsonl").read_text().splitlines()
    )
}
HEX = {name: bytes.fromhex(vector["hex"]) for name, vector in VECTORS.items()}


def frame(flags: int, body: bytes, status: int = 0, number: int = 7, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"\xda\xbb" + bytes([flags, status]) + number.to_bytes(8, "big") + size.to_bytes(4, "big") + body


def text(value: str) -> bytes:
    """A string of final Hessian 2.0 of less than 32 characters, or of less than 1024."""
    content = value.encode()
    size = len(content)
    return bytes([size] if size < 32 else [0x30 + (size >> 8), size & 0xFF]) + content


def request(
    *arguments: bytes,
    types: str = "",
    method: str = "create",
    version: bytes = text("1.0"),
    flags: int = 0xC2,
) -> bytes:
    head = text("2.0.2") + text("com.x.OrderService") + version + text(method) + text(types)
    return frame(flags, head + b"".join(arguments) + b"HZ")


def body(data: bytes) -> Any:
    return message(one(data, "dubbo"))["body"]


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    record = one(HEX[name], "dubbo")
    parsed = message(record)
    wanted = VECTORS[name]["frame"]
    flags = wanted["flags"]
    assert parsed["type"] == ("request" if flags & 0x80 else "response")
    assert parsed["two_way"] is (flags & 0x40 != 0)
    assert parsed["event"] is (flags & 0x20 != 0)
    assert parsed["serialization"] == "hessian2"
    assert parsed.get("status") == (None if flags & 0x80 else "OK")
    assert str(parsed["id"]) == wanted["request_id"]
    assert record.root is not None
    facts = registry.get("dubbo").call(record.root)  # which finds the flags by their place in the tape
    assert (facts.status == "") is (flags & 0x80 != 0)
    assert facts.oneway is (flags & 0xE0 == 0x80)
    assert (facts.method == record.kind) is (flags & 0xA0 == 0xA0)
    assert record.length == 16 + wanted["body_length"]
    assert not record.damaged
    assert not record.notes
    assert "$wire" not in record.json_text()
    assert codecs.detect(HEX[name]).protocol == "dubbo"


def test_the_messages_of_vectors() -> None:
    assert body(HEX["dubbo_heartbeat_req"]) == {"event": None}
    assert body(HEX["dubbo_readonly_event"]) == {"event": "R"}
    assert body(HEX["dubbo_resp_null"]) == {"result": "null"}
    parsed = body(HEX["dubbo_req_twoway"])
    assert parsed["path"] == "com.example.OrderService"
    assert parsed["parameter_types"] == "JLjava/lang/String;Llab/Gen$Car;"
    car = {"$class": "lab.Gen$Car", "mileage": 1, "model": "corvette", "color": "red"}
    assert parsed["arguments"] == [{"$long": 42}, "abc", car]
    assert parsed["attachments"]["timeout"] == "3000"
    parsed = body(HEX["dubbo_resp_value"])
    assert parsed["value"] == [{**car, "$id": 1}, {"$ref": 1}]
    assert parsed["attachments"] == {"dubbo": "2.0.2"}
    assert body(HEX["dubbo_resp_exception"])["value"]["detailMessage"] == "boom"


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (b"\x90\x03abc", {"result": "exception", "value": "abc"}),
        (b"\x91\x03abc", {"result": "value", "value": "abc"}),
        (b"\x92", {"result": "null"}),
        (b"\x93\x03abcHZ", {"result": "exception", "value": "abc", "attachments": {}}),
        (b"\x94\x03abcHZ", {"result": "value", "value": "abc", "attachments": {}}),
        (b"\x95HZ", {"result": "null", "attachments": {}}),
        (b"\x91N", {"result": "value", "value": None}),
        (b"I\0\0\0\x02", {"result": "null", "$wire": {"result": "I"}}),
    ],
)
def test_results(result: bytes, wanted: dict[str, Any]) -> None:
    assert body(frame(2, result, 20)) == wanted


@pytest.mark.parametrize(
    ("status", "name", "words"),
    [
        (25, "SERIALIZATION_ERROR", "serialization error"),
        (30, "CLIENT_TIMEOUT", "client timeout"),
        (31, "SERVER_TIMEOUT", "server timeout"),
        (35, "CHANNEL_INACTIVE", "channel inactive"),
        (40, "BAD_REQUEST", "bad request"),
        (50, "BAD_RESPONSE", "bad response"),
        (60, "SERVICE_NOT_FOUND", "service not found"),
        (70, "SERVICE_ERROR", "service error"),
        (80, "SERVER_ERROR", "server error"),
        (90, "CLIENT_ERROR", "client error"),
        (100, "SERVER_THREADPOOL_EXHAUSTED_ERROR", "server threadpool exhausted error"),
        (21, 21, "status 21"),
    ],
)
def test_a_status_other_than_ok_has_one_text(status: int, name: str | int, words: str) -> None:
    record = one(frame(2, b"\x04late", status), "dubbo")
    assert message(record)["status"] == name
    assert message(record)["body"] == {"error": "late"}
    assert record.summary == f'dubbo resp #7 {words} "late"'


def test_null_as_the_version_of_a_service() -> None:
    record = one(request(version=b"N"), "dubbo")
    assert message(record)["body"]["version"] is None
    assert record.summary == "dubbo req #7 com.x.OrderService.create()"


def test_summaries() -> None:
    data = request(b"\x91", b"\xe1", types="Lcom/x/Order;J")
    assert one(data, "dubbo").summary == "dubbo req #7 com.x.OrderService.create(Order, long) v1.0"
    value = b"\x91C\x0ccom.x.Result\x90\x60"
    assert one(frame(2, value, 20), "dubbo").summary == "dubbo resp #7 ok com.x.Result"
    assert one(HEX["dubbo_resp_exception"], "dubbo").summary == (
        "dubbo resp #3 exception java.lang.RuntimeException: boom"
    )
    assert one(request(flags=0x82), "dubbo").summary == (
        "dubbo req #7 one-way com.x.OrderService.create() v1.0"
    )
    assert one(HEX["dubbo_heartbeat_req"], "dubbo").summary == "dubbo heartbeat req #5"
    assert "read-only" in one(HEX["dubbo_readonly_event"], "dubbo").summary


def test_kinds_and_exchanges() -> None:
    codec = registry.get("dubbo")
    for data, kind, role in (
        (request(), "request", "request"),
        (request(flags=0x82), "oneway", ""),
        (frame(2, b"\x92", 20), "response", "reply"),
        (frame(0xE2, b"N"), "heartbeat", "request"),
        (frame(0x22, b"N", 20), "heartbeat", "reply"),
        (frame(0xE6, b"null\n"), "heartbeat", "request"),
        (frame(0xA2, b"\x01R"), "event", ""),
        (frame(0xA6, b'"R"\n'), "event", ""),
    ):
        record = one(data, "dubbo")
        root = record.root
        assert root is not None
        assert record.kind == kind
        assert codec.exchange(root) == Exchange(role, "7" if role else "")


def annotated(data: bytes) -> dict[str, str]:
    root = one(data, "dubbo").root
    assert root is not None
    codec = registry.get("dubbo")
    meanings: dict[str, str] = {}
    work: list[Node] = [root]
    while work:
        node = work.pop()
        meaning = codec.annotate(node)
        if meaning:
            meanings[node.path] = meaning
        work.extend(node.parts())
    return meanings


def test_arguments_are_annotated_with_their_declared_types() -> None:
    meanings = annotated(request(b"\x91", b"\x03abc", b"N", types="JLjava/lang/String;[[Lcom/x/A;"))
    assert meanings["body.parameter_types"] == "long, java.lang.String, com.x.A[][]"
    assert meanings["body.arguments[0]"] == "long"
    assert meanings["body.arguments[1]"] == "java.lang.String"
    assert meanings["body.arguments[2]"] == "com.x.A[][]"


def test_a_generic_call_shows_the_method_it_calls() -> None:
    arguments = (text("create"), b"\x72\x07[string" + text("com.x.Order") + text("long"), b"\x7aN\x91")
    data = request(
        *arguments, types="Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/Object;", method="$invoke"
    )
    assert one(data, "dubbo").summary == ("dubbo req #7 com.x.OrderService.create(Order, long) v1.0 generic")
    assert annotated(data)["body.method"] == "a generic call of create(Order, long)"


@pytest.mark.parametrize(
    ("count", "rest", "wire", "words"),
    [
        (b"\x8f", text("J") + b"\xe1", -1, "(long)"),
        (b"\x92", b"\xe1\x03abc", 2, "(long, string)"),
        (b"\x90", b"", 0, "()"),
        (b"I\xff\xff\xff\xff", text("J") + b"\xe1", {"$int": -1, "$wire": "I"}, "(long)"),
    ],
)
def test_the_int_of_dubbox_after_the_method(count: bytes, rest: bytes, wire: Any, words: str) -> None:
    head = text("2.8.4") + text("com.x.S") + text("0.0.0") + text("m")
    record = one(frame(0xC2, head + count + rest + b"HZ"), "dubbo")
    parsed = message(record)["body"]
    assert parsed["$wire"] == {"argument_count": wire}
    assert ("parameter_types" in parsed) is (words == "(long)")
    assert parsed["attachments"] == {}
    assert record.summary == f"dubbo req #7 com.x.S.m{words}"


def test_the_draft_is_recognised_by_its_bytes() -> None:
    draft = b"\x91V\x74\0\x10java.util.ArrayLn\x02\x91\x92z"
    record = one(frame(2, draft, 20), "dubbo")
    assert message(record)["hessian"] == "hessian2-draft"
    assert message(record)["body"]["value"] == {"$type": "java.util.ArrayL", "$list": [1, 2]}
    assert not record.damaged


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (3, "java"),
        (4, "compactedjava"),
        (7, "nativejava"),
        (8, "kryo"),
        (9, "fst"),
        (22, "protobuf"),
        (1, "dubbo"),
        (13, 13),
    ],
)
def test_other_serializations_are_named_and_kept(number: int, name: str | int) -> None:
    record = one(frame(0xC0 | number, b"\x01\x02"), "dubbo")
    assert message(record)["serialization"] == name
    assert message(record)["body"] == {"data": "0102"}
    assert not record.damaged


def test_bodies_in_json_are_shown() -> None:
    lines = b'"2.0.2"\n"com.x.S"\n"1.0"\n"m"\n"J"\n{"a": [1.5, null]}\n{}\n'
    record = one(frame(0xC6, lines), "dubbo")
    assert message(record)["body"]["json"][5] == {"a": [1.5, None]}
    assert record.summary == "dubbo req #7 com.x.S.m(long) v1.0 fastjson"
    assert "json" not in body(frame(0xC6, lines + b"{"))
    refused = one(frame(6, b'"no such service"\n', 60), "dubbo")
    assert refused.summary == 'dubbo resp #7 service not found "no such service" fastjson, 18 bytes'
    assert codecs.encode({"serialization": "gson", "id": 7, "body": {"json": ["a", 1]}}, "dubbo") == frame(
        0xD0, b'"a"\n1\n'
    )


def test_native_hessian_is_hessian() -> None:
    assert body(frame(0x0A, b"\x91\x92", 20)) == {"result": "value", "value": 2}


def test_bytes_after_a_valid_body_are_kept() -> None:
    assert body(frame(2, b"\x92\x03abc", 20))["extra"] == "03616263"


def test_a_request_that_ends_after_its_arguments() -> None:
    data = frame(0xC2, text("2.0.2") + text("p") + text("0") + text("m") + text("J") + b"\xe1")
    assert body(data)["$wire"] == {"attachments": "absent"}


def test_more_arguments_than_types() -> None:
    record = one(request(b"\xe1", b"\xe2", b"\xe3", types="J"), "dubbo")
    parsed = message(record)["body"]
    assert parsed["arguments"] == [{"$long": 1}, {"$long": 2}, {"$long": 3}]
    assert parsed["attachments"] == {}
    assert codes(record) == ["argument-count"]


def test_text_that_is_not_a_descriptor() -> None:
    record = one(request(b"\xe1", b"\x78", types="what"), "dubbo")
    assert message(record)["body"]["arguments"] == [{"$long": 1}, []]
    assert codes(record) == ["argument-count"]


def test_the_unused_byte_of_requests() -> None:
    data = bytearray(request())
    data[3] = 9
    assert message(one(bytes(data), "dubbo"))["$wire"] == {"status": 9}


def test_an_id_has_a_sign() -> None:
    data = frame(2, b"\x92", 20, number=(1 << 64) - 5)
    assert message(one(data, "dubbo"))["id"] == -5
    assert codecs.encode({"id": (1 << 64) - 5, "body": {"result": "null"}}, "dubbo") == data


# --- damage ---------------------------------------------------------------------------------------------


def test_a_body_that_does_not_decode_is_an_inner_error() -> None:
    data = request(b"\x03abc", b"\x5a", types="Ljava/lang/String;J")
    record = one(data, "dubbo")
    parsed = message(record)["body"]
    assert parsed["data"] == data[16:].hex()
    assert parsed["error"]["code"] == "bad-value"
    assert parsed["error"]["offset"] == data.index(b"\x03abc") + 4
    assert parsed["partial"]["method"] == "create"
    assert parsed["partial"]["arguments"] == ["abc"]
    assert record.damaged
    assert "com.x.OrderService.create" in record.summary


def test_an_unknown_kind_of_result() -> None:
    parsed = body(frame(2, b"\xa1", 20))
    assert parsed["data"] == "a1"
    assert parsed["error"]["offset"] == 16


def test_an_empty_body() -> None:
    assert body(frame(0xC2, b""))["error"]["code"] == "truncated"
    assert body(frame(0xE2, b"")) == {"data": ""}


@pytest.mark.parametrize("size", [2, 3, 15, 16, 20, 40, 200])
def test_a_frame_that_is_cut(size: int) -> None:
    whole = HEX["dubbo_req_twoway"]
    record = one(whole[:size], "dubbo")
    assert record.error is not None
    assert record.error.code == "truncated"
    assert record.error.offset <= size
    if size >= 16:
        assert f"{253 - size} bytes of the body missing" in record.error.text
    partial: Any = record.to_json()
    if size == 200:
        assert partial["partial"]["body"]["method"] == "find"


def test_lengths_are_not_trusted() -> None:
    for length, code in ((1 << 31, "bad-length"), ((1 << 28) + 1, "limit")):
        record = one(frame(0xC2, b"", length=length), "dubbo")
        assert record.error is not None
        assert record.error.code == code
        assert record.error.offset == 12


def test_decoding_goes_on_at_the_next_header() -> None:
    good = HEX["dubbo_resp_null"]
    records = decoded(b"\xda\xbb\xff" + good + b"zz" + good[:14] + good, "dubbo")
    assert [record.error is None for record in records] == [False, True, False, False, True]
    assert records[3].length == 14
    cut = HEX["dubbo_req_twoway"][:100]
    records = decoded(cut + good, "dubbo")
    assert [record.length for record in records] == [100, len(good)]


def test_a_known_class_of_attacks_is_noted() -> None:
    name = text("com.rometools.rome.feed.impl.ToStringBean")
    assert codes(one(frame(2, b"\x91C" + name + b"\x90\x60", 20), "dubbo")) == ["gadget-class"]


# --- encoding -------------------------------------------------------------------------------------------


def test_a_request_by_hand() -> None:
    written = {"body": {"path": "com.x.OrderService", "version": "1.0", "method": "create", "arguments": [1]}}
    assert codecs.encode(written, "dubbo") == frame(
        0xC2,
        text("2.0.2") + text("com.x.OrderService") + text("1.0") + text("create") + text("I") + b"\x91HZ",
        number=1,
    )


@pytest.mark.parametrize(
    ("argument", "descriptor"),
    [
        (True, "Z"),
        (5, "I"),
        (1 << 40, "J"),
        ({"$long": 5}, "J"),
        (1.5, "D"),
        ("a", "Ljava/lang/String;"),
        ([1], "Ljava/util/List;"),
        ({"a": 1}, "Ljava/util/Map;"),
        ({"$type": "[int", "$list": [1]}, "[I"),
        ({"$type": "[com.x.Car", "$list": []}, "[Lcom/x/Car;"),
        ({"$class": "com.x.Car", "color": "red"}, "Lcom/x/Car;"),
        ({"$bytes": "00"}, "[B"),
        ({"$date": 0}, "Ljava/util/Date;"),
        (None, "Ljava/lang/Object;"),
    ],
)
def test_a_missing_descriptor_is_made_from_the_arguments(argument: Any, descriptor: str) -> None:
    written: Any = {"body": {"path": "p", "method": "m", "arguments": [argument]}}
    (record,) = codecs.decode(codecs.encode(written, "dubbo"), "dubbo")
    assert message(record)["body"]["parameter_types"] == descriptor
    assert not record.damaged
    assert not record.notes


def test_responses_by_hand() -> None:
    assert codecs.encode({"id": 7, "body": {"result": "null"}}, "dubbo") == frame(2, b"\x92", 20)
    five = {"type": "response", "id": 7, "body": {"value": 5}}
    assert codecs.encode(five, "dubbo") == frame(2, b"\x91\x95", 20)
    late = {"status": "SERVER_TIMEOUT", "id": 7, "body": {"error": "late"}}
    assert codecs.encode(late, "dubbo") == frame(2, b"\x04late", 31)


# --- finding --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"\xda\xba" + HEX["dubbo_req_twoway"][2:],
        b"\xda\xbc" + HEX["dubbo_req_twoway"][2:],  # dubbo over thrift
        b"\xbb\xda" + HEX["dubbo_req_twoway"][2:],
        b"\xda\xbb\xdf\x07" + HEX["dubbo_req_twoway"][4:],  # no such serialization, a status in a request
        b"\xda\xbb\x42\x14" + HEX["dubbo_resp_value"][4:],  # two-way in a response
    ],
)
def test_near_misses_are_not_claimed(data: bytes) -> None:
    assert codecs.detect(data).protocol != "dubbo"


def test_evidence_grows_with_frames() -> None:
    codec = registry.get("dubbo")
    heartbeat = HEX["dubbo_heartbeat_req"]
    once = codec.probe(heartbeat, b"")
    twice = codec.probe(heartbeat * 2, b"")
    assert twice.bits > once.bits >= 24
    assert (once.whole, once.one, twice.whole, twice.one) == (True, True, True, False)
    against = codec.probe(frame(0xC8, b"1234") + b"no header", b"")
    assert against.bits < codec.probe(frame(0xC8, b"1234"), b"").bits
    assert "4 more bytes" in codec.probe(frame(0xC2, b"1", length=5), b"").settle


def test_a_stream_joined_in_the_middle_of_a_frame() -> None:
    data = HEX["dubbo_req_twoway"][37:] + HEX["dubbo_resp_value"] + HEX["dubbo_heartbeat_req"]
    assert codecs.detect(data).protocol == "dubbo"
    records = codecs.decode(data)
    assert [record.error is None for record in records] == [False, True, True]


def test_a_conversation_over_many_segments() -> None:
    conversations = Conversations()
    flow = Flow(1, "tcp", (b"\x0a\0\0\1", b"\x0a\0\0\2"), (40000, 20880))
    asked = HEX["dubbo_req_twoway"] + HEX["dubbo_heartbeat_req"]
    answered = HEX["dubbo_heartbeat_resp"] + HEX["dubbo_resp_value"]
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
    assert messages[3].latency_us is not None


# --- as a user does it ----------------------------------------------------------------------------------


def test_a_pasted_frame_decodes_on_the_command_line() -> None:
    runner = CliRunner()
    data = HEX["dubbo_req_twoway"]
    as_java = "new byte[]{" + ", ".join(str(byte - 256 if byte > 127 else byte) for byte in data) + "}"
    result = runner.invoke(group, ["decode", "--hex", as_java])
    assert result.exit_code == 0
    assert 'method: "find"' in result.output
    assert "← long" in result.output
    as_json = runner.invoke(group, ["decode", "--format", "json", "--hex", data.hex()]).output
    back = runner.invoke(group, ["encode", "--to", "hex", "-"], input=as_json)
    assert back.exit_code == 0
    assert back.output.replace("\n", "").replace(" ", "") == data.hex()


# --- what others published ------------------------------------------------------------------------------


def public(shared: Path) -> list[tuple[str, bytes]]:
    positive = shared / "captures/positive"
    manifest = json.loads((positive / "manifest.json").read_text())
    payloads = [
        (entry["file"], (positive / entry["file"]).read_bytes())
        for entry in manifest
        if entry["label"] == "dubbo" and entry["file"].endswith(".bin") and "_eth" not in entry["file"]
    ]
    for folder, pattern in (("vectors/fixtures/captures", "dubbo_*.bin"), ("cases", "*dubbo*.bin")):
        payloads.extend((path.name, path.read_bytes()) for path in sorted((shared / folder).glob(pattern)))
    return [(name, data) for name, data in payloads if data.startswith(b"\xda\xbb")]


def test_public_payloads(shared: Path) -> None:
    cut = ("truncated", "fastjson2", "haomeiwen")
    payloads = public(shared)
    assert len(payloads) >= 18
    for name, data in payloads:
        assert codecs.detect(data).protocol == "dubbo", name
        record = one(data, "dubbo")
        if any(word in name for word in cut):
            assert record.error is not None, name
            assert record.error.code == "truncated", name
            assert record.partial is not None, name
        else:
            assert record.error is None, name
            assert record.damaged is ("bad_type" in name), name


def test_the_messages_of_public_payloads(shared: Path) -> None:
    payloads = dict(public(shared))
    assert one(payloads["dubbo_hessian2.frame1.bin"], "dubbo").summary == (
        "dubbo req #22872 my.demo.service.UserService.login(String, String)"
    )
    parsed = body(payloads["dubbofinder-java.bin"])
    assert (parsed["path"], parsed["method"], parsed["parameter_types"]) == ("$", "$", "")
    assert parsed["attachments"]["timeout"] == 1000
    parsed = body(payloads["dubbo_response_page39.bin"])
    assert parsed["value"]["$list"] == [{"$long": 194133}, {"$long": 199284}]
    partial: Any = one(payloads["dubbo_go_issue163_truncated.bin"], "dubbo").to_json()
    assert partial["partial"]["body"]["method"] == "stopNotifyJob"
    partial = one(payloads["dubbo_go_issue367_truncated.bin"], "dubbo").to_json()
    assert partial["partial"]["body"]["parameter_types"] == "Lorg/apache/dubbo/common/URL;"


def test_a_frame_of_ethernet_without_a_capture_around_it(shared: Path) -> None:
    data = (shared / "captures/positive/deepflow_fastjson2_frame_eth.bin").read_bytes()
    assert codecs.detect(data).protocol == "dubbo"
    head, body = codecs.decode(data)
    assert head.length == 54
    assert body.error is not None
    assert body.error.text.startswith("249 bytes of the body missing: expected a text")
    partial: Any = body.to_json()
    assert partial["partial"]["serialization"] == "fastjson2"
    assert partial["partial"]["body"]["dubbo_version"] == "2.0.2"


def test_public_captures(shared: Path) -> None:
    for name, count in (("dubbo-eys.pcap", 1), ("dubbo_hessian2.pcap", 2)):
        reader = codecs.captures.Reader()
        conversations = Conversations()
        messages = []
        for piece in fed(reader, (shared / "captures/positive" / name).read_bytes()) + reader.close():
            messages.extend(conversations.feed([piece]))
        messages.extend(conversations.close())
        assert len(messages) >= 1
        assert [item.record.protocol for item in messages] == ["dubbo"] * len(messages)
        assert all(not item.record.damaged for item in messages)
        assert len(messages) <= count
