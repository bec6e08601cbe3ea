"""Hessian after its length: vectors, dialects, damage, calls by number, evidence."""

from pathlib import Path
from typing import Any

import checks
import pytest
from checks import message, one

from wirelens import codecs

FIELD = Path("../shared/field/bytes")
NAME = "framed-hessian"
CAR = {"$class": "com.example.Car", "model": "Beetle", "year": 1964}


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def encoded(values: list[Any], dialect: str = "hessian2") -> bytes:
    return codecs.encode({"hessian": dialect, "values": values}, NAME)


def test_the_length_is_computed() -> None:
    data = encoded([CAR])
    assert data == frame(codecs.encode({"values": [CAR]}, "hessian2"))
    assert message(one(data, NAME)) == {"values": [CAR], "hessian": "hessian2"}
    assert codecs.detect(data).protocol == NAME
    assert codecs.encode({"values": [CAR]}, NAME) == data


def test_an_input_of_the_field() -> None:
    path = FIELD / "len-prefixed-uuid.bin"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    data = path.read_bytes()
    (record,) = codecs.decode(data)
    assert record.protocol == NAME
    assert message(record)["values"][0]["value"] == "00000000-0000-0001-0000-000000000002"
    records = codecs.decode(data * 3)
    assert [(record.offset, record.protocol) for record in records] == [(at, NAME) for at in (0, 66, 132)]


@pytest.mark.parametrize("dialect", ["hessian1", "hessian2-draft", "hessian2"])
def test_the_dialect_whose_writers_send_it_so(dialect: str) -> None:
    data = encoded([CAR, {"$type": "java.util.HashMap", "$map": {"name": "A"}}, [1, 2, 3]], dialect)
    record = one(data, NAME)
    assert message(record)["hessian"] == dialect
    assert '"$wire"' not in record.json_text()
    assert codecs.detect(data).protocol == NAME


@pytest.mark.parametrize("dialect", ["hessian1", "hessian2-draft", "hessian2"])
def test_calls_and_replies_in_frames(dialect: str) -> None:
    call = {"call": {"method": "add", "arguments": [1, "two"]}}
    record = one(frame(codecs.encode(call, dialect)), NAME)
    assert record.kind == "call"
    assert message(record)["call"]["method"] == "add"
    assert record.summary == "call add(int, string)"


def test_a_frame_without_content() -> None:
    assert message(one(frame(b""), NAME)) == {"values": [], "hessian": "hessian2"}


def test_content_that_does_not_decode_keeps_its_bytes() -> None:
    good = codecs.encode({"values": [CAR]}, "hessian2")
    for content in (good[:-3], good + b"\xff", b"\x40abc"):
        (record,) = checks.decoded(frame(content), NAME)
        assert record.damaged
        parts = message(record)
        assert parts["data"] == content.hex()
        assert parts["error"]["code"]
        assert record.kind == "damaged"
    assert "com.example.Car" in str(message(one(frame(good[:-3]), NAME))["partial"])
    # the next frame is where the length leads
    records = checks.decoded(frame(b"\x40abc") + frame(good), NAME)
    assert [record.damaged for record in records] == [True, False]


def test_a_cut_frame_shows_what_is_there() -> None:
    (record,) = checks.decoded(encoded([CAR])[:-3], NAME)
    assert record.error is not None
    assert record.error.code == "truncated"
    assert "3 bytes of the message missing" in record.error.text


def test_the_length_is_a_field_of_the_hex_view() -> None:
    record = one(encoded([CAR]), NAME)
    assert record.root is not None
    length = next(part for part in record.root.parts() if part.hidden)
    assert length.span == (0, 4)
    assert record.root.span == (0, record.length)


def rpc(name: str, **fields: Any) -> bytes:
    return encoded([{"$class": f"com.xxl.rpc.core.remoting.params.{name}", **fields}])


def test_requests_and_replies_by_their_number() -> None:
    request = one(rpc("XxlRpcRequest", requestId="a-1", className="com.x.Demo", methodName="hi"), NAME)
    reply = one(rpc("XxlRpcResponse", requestId="a-1", errorMsg=None, result="done"), NAME)
    failed = one(rpc("XxlRpcResponse", requestId="a-2", errorMsg="no", result=None), NAME)
    assert (request.kind, request.summary) == ("request", "request #a-1 com.x.Demo.hi")
    assert (reply.kind, reply.summary) == ("reply", 'reply #a-1 "done"')
    assert failed.summary == 'reply #a-2 failed: "no"'
    codec = codecs.registry.get(NAME)
    exchanges = []
    for record in (request, reply):
        assert record.root is not None
        exchanges.append(codec.exchange(record.root))
    assert [(exchange.role, exchange.key) for exchange in exchanges] == [("request", "a-1"), ("reply", "a-1")]


def test_gadgets_are_noted() -> None:
    record = one(encoded([{"$class": "java.lang.ProcessBuilder", "command": ["id"]}]), NAME)
    assert checks.codes(record) == ["gadget-class"]


def test_lengths_alone_are_no_evidence() -> None:
    for content in (b"\0" * 40, bytes(range(1, 41)), b"GET / HTTP/1.1\r\n\r\n", b"\x01" * 60):
        assert codecs.detect(frame(content)).protocol != NAME
        assert codecs.detect(frame(content) * 4).protocol != NAME
    assert codecs.detect(encoded([CAR])[:-2]).candidates[0].settle == "2 more bytes"


def test_a_length_that_leads_elsewhere_is_none() -> None:
    data = encoded([CAR])
    best = codecs.detect(data + b"\xff" * 9).candidates[0]
    assert best.settle == ""
    assert "against it: the length does not lead to another message" in best.reasons
    assert codecs.detect(data[4:]).protocol == "hessian2"
