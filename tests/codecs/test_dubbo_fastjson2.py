"""Dubbo with fastjson2: real frames with their meaning, damage, frames written by hand, detection, calls."""

import json
from pathlib import Path
from typing import Any

import pytest
from checks import codes, decoded, message, one

from wirelens import codecs
from wirelens.codecs.node import Node

SHARED = Path(__file__).parents[3] / "shared"
WRITTEN = SHARED / "dubbo3/dubbo-fastjson2.jsonl"
FRAMES = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()] if WRITTEN.exists() else []
REQUEST: dict[str, Any] = {
    "serialization": "fastjson2",
    "body": {
        "path": "org.example.Shop",
        "method": "place",
        "parameter_types": "Lorg/example/Order;J",
        "arguments": [{"$class": "org.example.Order", "id": {"$long": 7}, "name": "Zoë"}, {"$long": 5}],
        "attachments": {"timeout": "250", "sw8": "ab12"},
    },
}
RESPONSE: dict[str, Any] = {
    "type": "response",
    "serialization": "fastjson2",
    "body": {
        "result": "exception",
        "value": {"$class": "IllegalStateException", "detailMessage": "no stock", "stackTrace": []},
        "attachments": {"dubbo": "2.0.2"},
    },
}


def written(frame: dict[str, Any]) -> bytes:
    return codecs.encode(frame, "dubbo")


def spans(root: Node) -> list[list[int]]:
    """Start and length of each value of a body, its length included."""
    found: list[list[int]] = []
    body = root["body"]
    for part in body.parts():
        inner = list(part.parts()) if part.field.name == "arguments" else [part]
        for node in inner:
            start, end = node.span
            if node.kind_name == "length":
                found.append([start, 0])
            elif found:
                found[-1][1] = end - found[-1][0]
    return found


@pytest.mark.skipif(not FRAMES, reason="the frames are not here")
@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: f"{frame['name']} {frame['kind']}")
def test_frames_have_their_meaning(frame: dict[str, Any]) -> None:
    data = bytes.fromhex(frame["hex"])
    (record,) = decoded(data, "dubbo") if len(data) < 2000 else codecs.decode(data, "dubbo")
    assert not record.damaged
    assert "$wire" not in record.json_text()
    root = record.root
    assert root is not None
    assert record.codec is not None
    assert spans(root) == frame["spans"]
    body = root["body"]
    assert root["id"].value == frame["id"]
    facts = record.codec.call(root)
    if frame["kind"] == "request":
        assert (facts.service, facts.method) == (frame["service"], frame["method"])
        assert body["version"].value == frame["version"]
        assert body["dubbo_version"].value == frame["dubbo"]
        assert len(body["arguments"]) == len(frame["args"])
        assert len(body["attachments"]) == 2 * len(frame["attachments"]["object"])
    elif frame["kind"] == "response":
        assert root["status"].number == frame["status"]
        assert facts.failed == (frame["outcome"] in ("exception", "error"))
        if frame["outcome"] == "exception":
            assert facts.exception == frame["value"]["type"]
        if frame["outcome"] == "error":
            assert body["error"].value == frame["error"]
    else:
        assert body["event"].value == frame["event"]


def test_a_request_written_by_hand() -> None:
    data = written(REQUEST)
    record = one(data, "dubbo")
    assert record.summary == "dubbo req #1 org.example.Shop.place(Order, long)"
    assert data[16:26] == b"\0\0\0\6\x4e2.0.2"
    assert message(record)["body"]["arguments"][0]["name"] == "Zoë"
    assert record.codec is not None
    assert record.root is not None
    facts = record.codec.call(record.root)
    assert (facts.service, facts.method, facts.timeout_us, facts.trace) == (
        "org.example.Shop",
        "place",
        250_000,
        "ab12",
    )


def test_each_value_has_names_of_its_own() -> None:
    user = {"$class": "org.example.User", "id": 1}
    body = {
        **REQUEST["body"],
        "parameter_types": "Lorg/example/User;Lorg/example/User;",
        "arguments": [user, user],
    }
    data = written({**REQUEST, "body": body})
    assert data.count(b"org.example.User\0") == 2
    assert message(one(data, "dubbo"))["body"]["arguments"] == [user, user]


def test_an_exception() -> None:
    record = one(written(RESPONSE), "dubbo")
    assert record.summary == "dubbo resp #1 exception IllegalStateException: no stock"
    assert record.codec is not None
    assert record.root is not None
    facts = record.codec.call(record.root)
    assert (facts.status, facts.exception, facts.failed) == ("OK", "IllegalStateException", True)


def test_heartbeats() -> None:
    data = written({"event": True, "serialization": "fastjson2", "body": {"event": None}})
    assert data[16:] == b"\0\0\0\1\xaf"
    assert one(data, "dubbo").kind == "heartbeat"


def test_the_kind_of_result_keeps_its_form() -> None:
    data = bytearray(written(RESPONSE))
    at = data.index(b"\0\0\0\2\xbd\3")
    data[at : at + 6] = b"\0\0\0\1\3"
    data[12:16] = (len(data) - 16).to_bytes(4, "big")
    assert message(one(bytes(data), "dubbo"))["body"]["$wire"] == {"result": {"bytes": "03"}}


@pytest.mark.parametrize(
    ("at", "byte", "code"),
    [
        (19, 7, "bad-value"),
        (19, 5, "truncated"),
        (16, 0xFF, "bad-length"),
        (16, 0x7F, "bad-length"),
        (20, 1, "bad-length"),
    ],
)
def test_damage_keeps_what_decoded_and_the_bytes(at: int, byte: int, code: str) -> None:
    data = bytearray(written(REQUEST))
    data[at] = byte
    record = one(bytes(data), "dubbo")
    assert record.damaged
    body = message(record)["body"]
    assert bytes.fromhex(body["data"]) == bytes(data[16:])
    assert body["error"]["code"] in (code, "bad-value", "bad-length")


def test_cut_anywhere() -> None:
    data = written(REQUEST)
    for end in range(1, len(data)):
        (record,) = codecs.decode(data[:end], "dubbo")
        assert record.error is not None
        assert record.error.code == "truncated", end
    assert '"path": "org.example.Shop"' in codecs.decode(data[:-3], "dubbo")[0].json_text()


def test_detected_by_the_first_frame() -> None:
    assert codecs.detect(written(REQUEST)).protocol == "dubbo"
    found = codecs.detect(written(REQUEST) + written(RESPONSE), final=False)
    assert found.protocol == "dubbo"
    assert "the first body decodes" in found.candidates[0].reasons


def test_a_class_known_from_attacks_is_noted() -> None:
    body = {
        **REQUEST["body"],
        "arguments": [{"$class": "com.sun.rowset.JdbcRowSetImpl", "a": 1}, {"$long": 1}],
    }
    assert codes(one(written({**REQUEST, "body": body}), "dubbo")) == ["gadget-class"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({**REQUEST["body"], "arguments": [{"$long": "x"}]}, "body.arguments[0].$long"),
        ({"result": "value", "value": 1, "$wire": {"result": {"bytes": "05"}}}, "body.$wire.result.bytes"),
    ],
)
def test_mistakes_have_their_path(body: dict[str, Any], path: str) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        written({"serialization": "fastjson2", "body": body})
    assert caught.value.path == path
