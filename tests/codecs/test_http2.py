"""HTTP/2: vectors, HPACK against its RFC and another implementation, what spans frames, damage."""

import gzip
import json
import random
import zlib
from pathlib import Path
from typing import Any

import hpack
import pytest
from checks import decoded, message

from wirelens import codecs
from wirelens.codecs import registry
from wirelens.codecs.detection import detect
from wirelens.codecs.http2 import grpc
from wirelens.codecs.http2.hpack import FACTOR, FREE, HpackError, Table, read_block
from wirelens.codecs.http2.hpack_encoding import huffman, pack_block
from wirelens.codecs.http2.huffman import unpack
from wirelens.codecs.http2.vocabulary import PREFACE

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "vectors/http2.jsonl").read_text("utf-8").splitlines()
]
REQUEST = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/shop.Orders/Find"],
    ["content-type", "application/grpc"],
]


def frames(*members: dict[str, Any]) -> bytes:
    return codecs.encode(list(members), "http2")


def headers(fields: list[Any], flags: str = "END_HEADERS", stream: int = 1) -> dict[str, Any]:
    return {"type": "HEADERS", "flags": flags, "stream": stream, "headers": fields}


def data(content: bytes, flags: str | int = 0, stream: int = 1) -> dict[str, Any]:
    return {"type": "DATA", "flags": flags, "stream": stream, "data": content.hex()}


def grpc_message(content: bytes, compressed: bool = False) -> bytes:
    return bytes([compressed]) + len(content).to_bytes(4, "big") + content


def last(*members: dict[str, Any]) -> Any:
    """The message of the last of some frames."""
    return message(decoded(frames(*members), "http2")[-1])


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vectors(vector: dict[str, Any]) -> None:
    content = bytes.fromhex(vector["hex"])
    assert [message(record) for record in decoded(content, "http2")] == vector["messages"]
    assert codecs.encode(vector["messages"], "http2") == content


# --- HPACK ----------------------------------------------------------------------------------------------


def pairs(block: bytes, table: Table) -> list[tuple[bytes | None, bytes | None]]:
    return [(one.name, one.value) for one in read_block(block, table)]


def test_hpack_as_the_rfc_has_it(shared: Path) -> None:
    for case in json.loads((shared / "dubbo3/rfc7541-c.json").read_text()):
        table = Table()
        table.allowed = table.maximum = case["table_size"]
        for block in case["blocks"]:
            wanted = [(name.encode(), value.encode()) for name, value in block["headers"]]
            assert pairs(bytes.fromhex(block["hex"]), table) == wanted, case["name"]
            assert table.size == block["table_after"]


def test_hpack_against_another_implementation() -> None:
    chance = random.Random(7541)
    encoder = hpack.Encoder()
    table = Table()
    late = Table()
    late.lose()
    names = [b":path", b":status", b"x-a", b"x-b", b"cookie", b"grpc-status"]
    for number in range(300):
        if number % 40 == 39:
            encoder.header_table_size = chance.choice([0, 64, 200, 4096])
        fields = [
            (
                chance.choice(names),
                chance.randbytes(chance.randrange(40)).hex().encode()[: chance.randrange(60)],
            )
            for _ in range(chance.randrange(6))
        ]
        fields += chance.sample(fields, len(fields) // 2)
        block = encoder.encode([(*one, chance.random() < 0.1) for one in fields], chance.random() < 0.5)
        assert pairs(block, table) == fields
        if number > 150:
            for ours, theirs in zip(pairs(block, late), fields, strict=True):
                assert ours[0] in (None, theirs[0])
                assert ours[1] in (None, theirs[1])
        assert hpack.Decoder().decode(pack_block(fields), raw=True) == fields


def test_huffman_both_ways_and_what_is_not_its_code() -> None:
    every = bytes(range(256))
    assert unpack(huffman(every)) == every
    assert unpack(b"") == b""
    assert unpack(b"\xff\xff\xff\xff") is None  # the code of the end
    assert unpack(huffman(b"a") + b"\xff") is None  # more than seven bits after it
    assert unpack(b"\x18") is None  # filled with zeros


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("80", "0 is not an index"),
        ("be", "index 62 is beyond the 61 entries"),
        ("7f", "ends inside a number"),
        ("ffffffffffff7f", "more than 32 bits"),
        ("3fe21f", "4097 bytes; the receiver allows 4096"),
        ("8220", "after a field"),
        ("400561", "a text of 5 bytes; 1 are left"),
        ("4081ff00", "not in the Huffman code"),
    ],
)
def test_blocks_that_are_none(block: str, text: str) -> None:
    with pytest.raises(HpackError, match=text):
        read_block(bytes.fromhex(block), Table())
    record = decoded(frames({"type": "HEADERS", "flags": 4, "stream": 1, "fragment": block}), "http2")[0]
    assert record.damaged
    assert text in message(record)["headers_error"]["text"]


def test_small_blocks_do_not_become_large() -> None:
    table = Table()
    entry = b"\x40\x01a" + b"\x7f" + bytes([(3900 - 127) & 0x7F | 0x80, (3900 - 127) >> 7]) + b"x" * 3900
    with pytest.raises(HpackError) as caught:
        read_block(entry + b"\xbe" * 4000, table)
    assert caught.value.code == "limit"
    assert 4000 * 3900 > FREE + FACTOR * (len(entry) + 4000)


# --- messages -------------------------------------------------------------------------------------------


def test_a_message_in_several_frames_is_in_the_last_with_their_offsets() -> None:
    content = grpc_message(b"\x0a\x03Ada")
    shown = last(headers(REQUEST), data(content[:3]), data(content[3:9]), data(content[9:] + content, 1))
    assert [one["size"] for one in shown["messages"]] == [5, 5]
    first, second = shown["messages"]
    assert len(first["frames"]) == 3
    assert "frames" not in second
    assert first["body"] == {"unknown": [{"field": 1, "type": "bytes", "value": "416461"}]}
    assert (shown["call"]["path"], shown["call"]["request_messages"]) == ("/shop.Orders/Find", 2)


@pytest.mark.parametrize(("coding", "packed"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_compressed_messages(coding: str, packed: Any) -> None:
    content = b"\x0a\x03Ada"
    fields = [*REQUEST, ["grpc-encoding", coding]]
    shown = last(headers(fields), data(grpc_message(packed(content), True) + grpc_message(content)))
    assert [one.get("compressed") for one in shown["messages"]] == [True, None]
    assert shown["messages"][0]["body"] == shown["messages"][1]["body"]
    bomb = grpc_message(packed(bytes(1 << 24)), True)
    (one,) = last(headers(fields), data(bomb))["messages"]
    assert one["error"]["code"] == "limit"
    (one,) = last(headers(fields), data(grpc_message(b"none", True)))["messages"]
    assert one["error"]["code"] == "bad-value"
    (one,) = last(headers(REQUEST), data(grpc_message(packed(content), True)))["messages"]
    assert "grpc-encoding is not stated" in one["error"]["text"]


def test_data_of_other_content_is_no_message() -> None:
    fields = [[":status", "200"], ["content-type", "text/html"]]
    assert "messages" not in last(headers(fields), data(grpc_message(b"")))


def test_a_value_of_triple_that_does_not_decode_is_shown_as_bytes() -> None:
    wrapper = b"\x0a\x08hessian4\x12\x02\x05a\x1a\x01a"
    (one,) = last(headers(REQUEST), data(grpc_message(wrapper)))["messages"]
    (argument,) = one["body"]["arguments"]
    assert argument["data"] == "0561"
    assert argument["error"]["code"] == "truncated"


# --- headers --------------------------------------------------------------------------------------------


def test_a_block_that_is_interrupted_makes_the_table_unknown() -> None:
    indexed = "4001610162"  # puts a: b into the table
    block = {"type": "HEADERS", "stream": 1, "fragment": indexed}
    again = {"type": "HEADERS", "flags": 4, "stream": 3, "fragment": "be"}
    assert last({**block, "flags": 4}, again)["headers"] == [["a", "b"]]
    records = decoded(frames({**block, "flags": 4}, block, {"type": "PING"}, again), "http2")
    assert [note.code for note in records[2].notes] == ["bad-header"]
    assert message(records[3])["headers"] == [[None, None]]


def test_headers_as_people_write_them() -> None:
    assert grpc.percent_decoded(b"a%20b%zz%4") == "a b%zz%4"
    assert grpc.timeout_us("20S") == 20_000_000
    assert grpc.timeout_us("20100m") == 20_100_000
    assert [grpc.timeout_us(one) for one in ("", "S", "5", "5s", "0S", "123456789S")] == [None] * 6
    assert grpc.binary_value(b"\0\1\2") == b"\1\2"
    assert grpc.binary_value(b"AQI") == b"\1\2"
    assert grpc.binary_value(b"?") is None
    assert grpc.path_parts("/a.B/c") == ("a.B", "c")
    assert grpc.path_parts("/c") == ("", "/c")


# --- damage and detection ---------------------------------------------------------------------------------


def test_frames_that_cannot_be() -> None:
    for head in ("00000005000000000000", "0000050600000000000000000000", "000001040000000000ff"):
        (record,) = decoded(bytes.fromhex(head), "http2")
        assert record.error is not None


def test_after_damage_frames_are_found_again() -> None:
    ping = frames({"type": "PING", "data": "0102030405060708"})
    records = decoded(ping + b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" + ping * 3, "http2")
    assert [record.error is None for record in records] == [True, False, True, True, True]


@pytest.mark.parametrize("size", range(20))
def test_frames_after_zeros_are_found(size: int) -> None:
    stream = bytes(size) + frames({"type": "PING", "data": "0102030405060708"}) * 3
    codec = registry.get("http2")
    assert codec.resync(stream, 0, len(stream)) == size
    assert codec.resync(bytes(size), 0, size) == size


def test_other_data_is_not_http2() -> None:
    codec = registry.get("http2")
    chance = random.Random(9113)
    for size in (16, 64, 256, 4096):
        for _ in range(20):
            content = bytes([0, 0]) + bytes([chance.choice((0, 0, 0, 1, 4, 8, 255)) for _ in range(size)])
            assert codec.probe(content, b"").bits < 24 or codec.resync(content, 0, size) < size, content.hex()


@pytest.mark.slow
@pytest.mark.once
def test_foreign_streams_are_not_http2(shared: Path) -> None:
    paths = sorted((shared / "captures/negative").glob("*.bin"))
    named = [path for path in paths if detect(path.read_bytes()).protocol == "http2"]
    assert all(path.read_bytes().startswith(PREFACE) for path in named)
