"""HTTP: framing against h11, contents of bodies, damage, and captures."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from checks import codes, decoded, message, one
from click.testing import CliRunner
from feeding import fed
from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.cli.main import group
from wirelens.codecs import registry
from wirelens.codecs.captures import Flow, Piece, Reader
from wirelens.codecs.conversations import Conversations
from wirelens.codecs.http import codings
from wirelens.codecs.http.vocabulary import MAX_HEAD
from wirelens.codecs.node import Node
from wirelens.codecs.record import Record

CALL = b"c\x02\0m\0\x03addI\0\0\0\1I\0\0\0\2z"  # Hessian 1.0 after c 02 00
FINAL_CALL = b"H\2\0C\x03add\x92\x91\x92"
REPLY = b"H\2\0R\x93"
OBJECT = b"C\x0fcom.xxl.Request\x92\x02id\x04name\x60\x91\x03job"
HEAD = b"POST /api HTTP/1.1\r\nHost: h\r\nContent-Type: x-application/hessian\r\n"


def post(body: bytes, headers: bytes = b"") -> bytes:
    return HEAD + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*chunks: bytes, headers: bytes = b"") -> bytes:
    parts = [b"%x\r\n" % len(chunk) + chunk + b"\r\n" for chunk in chunks]
    return HEAD + headers + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(parts) + b"0\r\n\r\n"


def answer(head: bytes, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 " + head + b"\r\n\r\n" + body


# --- vectors --------------------------------------------------------------------------------------------

VECTORS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "vectors/http.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    assert message(one(data, "http")) == vector["message"]
    assert codecs.encode([vector["message"]], "http") == data
    assert message(codecs.decode(data + data, "http")[1]) == vector["message"]


# --- contents of bodies ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "dialect", "kind"),
    [
        (CALL, "hessian1", "call"),
        (b"c\x01\0m\0\x03addz", "hessian1", "call"),
        (b"c\x02\0m\0\x03add\x91z", "hessian2-draft", "call"),
        (FINAL_CALL, "hessian2", "call"),
        (REPLY, "hessian2", "reply"),
        (b"r\x01\0Nz", "hessian1", "reply"),
        (b"H\2\0FH\x04code\x04FailZ", "hessian2", "fault"),
        (OBJECT, "hessian2", "values"),
        (b"O\x95com.x\x91\x01ao\x90\x92", "hessian2-draft", "values"),
        (b"Mt\0\x05com.xS\0\1aNz", "hessian1", "values"),
    ],
)
@pytest.mark.parametrize("content_type", ["x-application/hessian", "application/octet-stream", "text/html"])
def test_a_body_is_shown_as_the_message_in_it(
    body: bytes, dialect: str, kind: str, content_type: str
) -> None:
    data = post(body).replace(b"x-application/hessian", content_type.encode())
    record = one(data, "http")
    parsed = message(record)
    assert parsed["hessian"] == dialect
    assert kind in parsed["body"]
    assert "$wire" not in parsed
    assert not record.damaged
    assert codecs.detect(data).protocol == "http"
    root = record.root
    assert root is not None
    inner = root.member("body")
    assert inner is not None
    assert inner.span == (len(data) - len(body), len(data))


def test_values_of_little_meaning_need_the_content_type() -> None:
    assert message(one(post(b"\x03abc"), "http"))["body"] == {"values": ["abc"]}
    plain = post(b"\x03abc").replace(b"x-application/hessian", b"application/octet-stream")
    assert message(one(plain, "http"))["body"] == {"data": "03616263"}


def test_a_reply_in_the_dialect_that_the_request_asked_for() -> None:
    records = decoded(post(CALL), "http") + decoded(answer(b"200 OK\r\nContent-Length: 5", REPLY), "http")
    assert [message(record)["hessian"] for record in records] == ["hessian1", "hessian2"]
    assert [record.summary for record in records] == [
        "POST /api call add(int, int)",
        "200 OK reply ok int 3",
    ]


def test_other_bodies_are_counted_not_decoded() -> None:
    head = b"200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 4"
    record = one(answer(head, b"<p/>"), "http")
    assert message(record)["body"] == {"data": b"<p/>".hex()}
    assert record.summary == "200 OK text/html 4 bytes"
    assert not record.damaged


def test_html_announced_as_hessian_is_an_inner_error() -> None:
    head = b"200 OK\r\nContent-Type: x-application/hessian\r\nContent-Length: 7"
    record = one(answer(head, b"\n<html>"), "http")
    parsed = message(record)["body"]
    assert parsed["data"] == b"\n<html>".hex()
    assert "the body is text" in parsed["error"]["text"]
    assert record.damaged


def test_hessian_that_does_not_decode_is_an_inner_error() -> None:
    record = one(post(FINAL_CALL[:-1] + b"\x47"), "http")
    parsed = message(record)["body"]
    assert parsed["error"]["offset"] == record.length - 1
    assert parsed["partial"]["call"]["method"] == "add"
    assert record.summary.startswith("POST /api call add(")
    more = message(one(post(REPLY + b"zzz"), "http"))["body"]
    assert more["error"]["code"] == "extra-bytes"


# --- framing --------------------------------------------------------------------------------------------


def test_pipelined_messages() -> None:
    data = post(CALL) + b"GET /x HTTP/1.1\r\n\r\n" + chunked(FINAL_CALL) + post(FINAL_CALL)
    records = decoded(data, "http")
    assert [record.summary for record in records] == [
        "POST /api call add(int, int)",
        "GET /x",
        "POST /api call add(int, int)",
        "POST /api call add(int, int)",
    ]


def test_chunks() -> None:
    assert "$wire" not in message(one(chunked(FINAL_CALL), "http"))
    cut = message(one(chunked(FINAL_CALL[:2], FINAL_CALL[2:9], FINAL_CALL[9:]), "http"))
    assert cut["body"]["call"]["arguments"] == [1, 2]
    assert cut["$wire"] == {"chunks": [2, 7, 2]}
    empty = message(one(chunked(), "http"))
    assert "body" not in empty
    assert "$wire" not in empty


def test_offsets_in_chunks_are_those_of_the_input() -> None:
    data = chunked(FINAL_CALL[:9], FINAL_CALL[9:])
    root = one(data, "http").root
    assert root is not None
    body = root.member("body")
    assert body is not None
    call = body.member("call")
    assert call is not None
    arguments = call.member("arguments")
    assert arguments is not None
    spans = [node.span[0] for node in arguments.children]
    assert [data[at] for at in spans] == [0x91, 0x92]
    assert spans == [data.index(b"\x91\x92"), data.index(b"\x91\x92") + 1]


def test_unusual_chunk_lines_trailers_and_line_ends_are_kept() -> None:
    data = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    data += b'2;name="v"\r\n' + FINAL_CALL[:2] + b"\r\n" + b"09 \n" + FINAL_CALL[2:] + b"\n"
    data += b"000;last\r\nA: b\r\nC:d\r\n \te\r\n\n"
    parsed = message(one(data, "http"))
    assert parsed["trailers"] == [["A", "b"], ["C", "d\r\n \te"]]
    assert parsed["$wire"] == {
        "chunks": [[2, '2;name="v"\r\n'], [9, "09 \n", "\n"]],
        "last": "000;last\r\n",
        "trailer_lines": {"1": "C:d\r\n \te\r\n", "end": "\n"},
    }


def test_spacing_case_folds_and_line_ends_of_headers_are_kept() -> None:
    data = b"\r\nPOST /x HTTP/1.0\nhOsT:h\r\nA: b\r\n c \r\nno colon\r\nE: \r\nF:\r\n"
    data += b"CONTENT-length :  2 \r\n\nok"
    record = one(data, "http")
    parsed = message(record)
    assert parsed["headers"] == [
        ["hOsT", "h"],
        ["A", "b\r\n c"],
        ["no colon", None],
        ["E", ""],
        ["F", ""],
        ["CONTENT-length", "2"],
    ]
    assert parsed["body"] == {"data": "6f6b"}
    assert sorted(parsed["$wire"]["lines"]) == ["0", "1", "4", "5", "before", "end", "start"]
    assert codes(record) == ["bad-header"] * 3


def test_bytes_that_are_not_utf8() -> None:
    parsed = message(one(b"GET /\xe9 HTTP/1.1\r\nA:\xff\r\n\r\n", "http"))
    assert parsed["start_line"] == {"$raw": b"GET /\xe9 HTTP/1.1".hex()}
    assert parsed["headers"] == [["A", {"$raw": "ff"}]]
    assert parsed["$wire"] == {"lines": {"0": {"$raw": b"A:\xff\r\n".hex()}}}


@pytest.mark.parametrize(
    "status", [b"100 Continue", b"101 Switching Protocols", b"204 No Content", b"304 Not Modified"]
)
def test_statuses_that_have_no_body(status: bytes) -> None:
    empty = answer(b"200 OK\r\nContent-Length: 0")
    records = decoded(answer(status + b"\r\nContent-Length: 5") + empty, "http")
    assert len(records) == 2
    assert "body" not in message(records[0])
    assert message(records[0])["$wire"] == {"content_length": "as-is"}


def test_a_body_that_ends_with_the_connection() -> None:
    data = answer(b"200 OK", REPLY)
    assert message(one(data, "http"))["body"]["reply"] == {"value": 3}
    decoder = codecs.Decoder("http")
    assert decoder.feed(data) == []
    assert [record.summary for record in decoder.close()] == ["200 OK reply ok int 3"]


def test_the_reply_to_a_head() -> None:
    data = answer(b"200 OK\r\nContent-Length: 50") + answer(b"200 OK\r\nTransfer-Encoding: chunked")
    data += answer(b"200 OK\r\nContent-Length: 2", b"ok")
    records = decoded(data, "http")
    assert [codes(record) for record in records] == [["no-body"], ["no-body"], []]
    assert [message(record).get("$wire") for record in records] == [
        {"content_length": "as-is"},
        {"body": "absent"},
        None,
    ]


@pytest.mark.parametrize(
    ("headers", "body", "noted"),
    [
        (b"Content-Length: 2\r\nContent-Length: 2\r\n", b"ok", True),
        (b"Content-Length: 2, 2\r\n", b"ok", True),
        (b"Content-Length: 02\r\n", b"ok", False),
        (b"Content-Length: 2\r\nContent-Length: 3\r\n", b"", True),
        (b"Content-Length: -2\r\n", b"", True),
        (b"Content-Length: two\r\n", b"", True),
        (b"Transfer-Encoding: gzip\r\n", b"", True),
    ],
)
def test_content_length_of_requests(headers: bytes, body: bytes, noted: bool) -> None:
    records = decoded(b"POST / HTTP/1.1\r\n" + headers + b"\r\n" + body + b"GET / HTTP/1.1\r\n\r\n", "http")
    assert len(records) == 2
    assert message(records[0]).get("body", {}).get("data", "") == body.hex()
    assert (codes(records[0]) == ["bad-header"]) is noted


def test_chunked_wins_over_content_length() -> None:
    data = chunked(b"ok", headers=b"Content-Length: 99\r\n")
    parsed = message(one(data, "http"))
    assert parsed["body"]["data"] == "6f6b"
    assert parsed["$wire"] == {"content_length": "as-is"}


# --- content codings ------------------------------------------------------------------------------------


def java_gzip(content: bytes) -> bytes:
    """As java.util.zip.GZIPOutputStream writes it: no time, no operating system."""
    return gzip.compress(content, 6, mtime=0)[:9] + b"\0" + gzip.compress(content, 6, mtime=0)[10:]


def raw_deflate(content: bytes) -> bytes:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflater.compress(content) + deflater.flush()


@pytest.mark.parametrize(
    ("coding", "packed", "kept"),
    [
        (b"gzip", java_gzip(FINAL_CALL), False),
        (b"x-gzip", gzip.compress(FINAL_CALL, mtime=9), True),
        (b"deflate", zlib.compress(FINAL_CALL), False),
        (b"deflate", zlib.compress(FINAL_CALL, 1), True),
        (b"deflate", raw_deflate(FINAL_CALL), True),
    ],
)
@pytest.mark.parametrize("in_chunks", [False, True])
def test_compressed_content_is_shown_decoded(
    coding: bytes, packed: bytes, kept: bool, in_chunks: bool
) -> None:
    headers = b"Content-Encoding: " + coding + b"\r\n"
    data = chunked(packed[:5], packed[5:], headers=headers) if in_chunks else post(packed, headers)
    record = one(data, "http")
    parsed = message(record)
    assert parsed["body"]["call"]["arguments"] == [1, 2]
    assert (parsed.get("compressed") == packed.hex()) is kept
    # what `compressed` no longer holds is compressed anew
    parsed["body"]["call"]["arguments"] = [7, 8]
    parsed.pop("$wire", None)
    again = message(one(codecs.encode(parsed, "http"), "http"))
    assert again["body"]["call"]["arguments"] == [7, 8]
    assert "compressed" not in again


def test_compressed_content_of_other_kinds_stays_as_it_is() -> None:
    packed = gzip.compress(b"<html>")
    data = answer(b"200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d" % len(packed), packed)
    assert message(one(data, "http"))["body"] == {"data": packed.hex()}


def test_damaged_compressed_content_is_an_inner_error() -> None:
    packed = zlib.compress(FINAL_CALL)[:-2]
    parsed = message(one(post(packed, b"Content-Encoding: deflate\r\n"), "http"))["body"]
    assert parsed["data"] == packed.hex()
    assert parsed["error"]["code"] == "bad-value"


def test_content_expands_up_to_a_limit() -> None:
    packed = zlib.compress(b"H\2\0R" + b"B\xff\xff" + bytes(4 * codings.UNPACKED_FREE))
    assert codings.unpacked_limit(len(packed)) < 4 * codings.UNPACKED_FREE
    record = one(post(packed, b"Content-Encoding: deflate\r\n"), "http")
    assert codes(record) == ["limit"]
    assert message(record)["body"] == {"data": packed.hex()}


def test_the_limit_grows_with_the_content_up_to_a_bound() -> None:
    assert codings.unpacked_limit(0) == codings.UNPACKED_FREE
    assert codings.unpacked_limit(100) == codings.UNPACKED_FREE + 100 * codings.UNPACKED_FACTOR
    assert codings.unpacked_limit(1 << 40) == codings.MAX_UNPACKED


# --- damage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [post(FINAL_CALL), chunked(FINAL_CALL[:5], FINAL_CALL[5:])])
def test_a_message_that_is_cut(data: bytes) -> None:
    for size in range(1, len(data)):
        record = codecs.decode(data[:size], "http")[0]
        assert record.error is not None
        assert record.error.code == "truncated"
        assert codecs.encode([record]) == data[: record.length]


def test_missing_bytes_are_reported() -> None:
    record: Any = one(post(FINAL_CALL)[:-3], "http").to_json()
    assert record["error"]["text"].startswith("3 bytes of the body missing")
    assert record["partial"]["body"]["call"]["method"] == "add"


def test_decoding_goes_on_at_the_next_message() -> None:
    cut = HEAD + b"Content-Length: 5000\r\n\r\n" + FINAL_CALL[:-5]
    empty = answer(b"200 OK\r\nContent-Length: 0")
    records = decoded(cut + post(CALL) + b"\x16\x03\x01junk" + empty, "http")
    assert [record.error is None for record in records] == [False, True, False, True]
    assert records[0].length == len(cut)


@pytest.mark.parametrize("line", [b"xyz\r\n", b"\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"5"])
def test_invalid_chunk_lines(line: bytes) -> None:
    record = codecs.decode(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + line, "http")[0]
    assert record.error is not None
    partial: Any = record.to_json()
    assert partial["partial"]["body"] == {"data": "6f6b"}


def test_lengths_are_not_trusted() -> None:
    for data in (
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (MAX_HEAD // 6 + 1),
    ):
        record = codecs.decode(data, "http")[0]
        assert record.error is not None
        assert record.error.code == "limit"


@pytest.mark.parametrize(
    "data", [b"GET /zeek.html\n", b"\x16\x03\x01\0", b"OPTIONS sip:bob@x SIP/2.0\r\n\r\n", b"A" * 40]
)
def test_what_is_not_http(data: bytes) -> None:
    record = codecs.decode(data, "http")[0]
    assert record.error is not None
    assert record.error.code == "no-message"
    assert codecs.detect(data).protocol != "http"


# --- h11 agrees ------------------------------------------------------------------------------------------

TOKEN = st.text("abcDEF-123", min_size=1, max_size=8)
VALUE = st.text("abc /;=,.", max_size=12).map(str.strip)


@given(
    headers=st.lists(st.tuples(TOKEN.map(lambda name: "X-" + name), VALUE), max_size=5),
    chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=4),
    trailers=st.lists(st.tuples(TOKEN.map(lambda name: "X-" + name), VALUE), max_size=2),
    sized=st.booleans(),
)
def test_reads_what_h11_writes(
    headers: list[tuple[str, str]], chunks: list[bytes], trailers: list[tuple[str, str]], sized: bool
) -> None:
    h11 = pytest.importorskip("h11")
    body = b"".join(chunks)
    framing = ("Content-Length", str(len(body))) if sized else ("Transfer-Encoding", "chunked")
    connection = h11.Connection(our_role=h11.CLIENT)
    all_headers = [("Host", "h"), framing, *headers]
    data = connection.send(h11.Request(method="POST", target="/x", headers=all_headers))
    for chunk in chunks:
        data += connection.send(h11.Data(data=chunk))
    data += connection.send(h11.EndOfMessage(headers=[] if sized else trailers))
    record = one(data, "http")
    parsed = message(record)
    assert parsed["start_line"] == "POST /x HTTP/1.1"
    assert [[name.lower(), value] for name, value in parsed["headers"]] == [
        [name.lower(), value] for name, value in all_headers
    ]
    assert not record.damaged
    root = record.root
    assert root is not None
    inner = root.member("body")
    content = b""
    if inner is not None:
        data_node = inner.member("data")
        content = data_node.content if data_node is not None else body
    assert content == body
    if not sized:
        assert [[name.lower(), value] for name, value in parsed.get("trailers", [])] == [
            [name.lower(), value] for name, value in trailers
        ]


@given(
    bodies=st.lists(st.binary(max_size=60), min_size=1, max_size=4),
    cuts=st.lists(st.integers(1, 7), max_size=5),
    in_chunks=st.booleans(),
)
def test_h11_reads_what_is_written(bodies: list[bytes], cuts: list[int], in_chunks: bool) -> None:
    h11 = pytest.importorskip("h11")
    data = b""
    for body in bodies:
        written: Any = {"start_line": "POST /x HTTP/1.1", "headers": [["Host", "h"]]}
        if body:
            written["body"] = {"data": body.hex()}
        if in_chunks:
            written["headers"].append(["Transfer-Encoding", "chunked"])
            sizes: list[int] = []
            for cut in cuts:
                if sum(sizes) + cut < len(body):
                    sizes.append(cut)
            if body:
                sizes.append(len(body) - sum(sizes))
            written["$wire"] = {"chunks": sizes}
        data += codecs.encode(written, "http")
    server = h11.Connection(our_role=h11.SERVER)
    server.receive_data(data)
    contents: list[bytes] = []
    for _ in bodies:
        event = server.next_event()
        assert type(event) is h11.Request
        content = b""
        while type(event) is not h11.EndOfMessage:
            event = server.next_event()
            if type(event) is h11.Data:
                content += bytes(event.data)
        contents.append(content)
        server.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
        server.send(h11.EndOfMessage())
        server.start_next_cycle()
    assert contents == bodies
    assert len(decoded(data, "http")) == len(bodies)


# --- encoding -------------------------------------------------------------------------------------------


def test_a_request_by_hand() -> None:
    written: Any = {
        "start_line": "POST /api HTTP/1.1",
        "headers": [["Host", "h"], ["Content-Type", "x-application/hessian"]],
        "hessian": "hessian2",
        "body": {"call": {"method": "add", "arguments": [1, 2]}},
    }
    assert codecs.encode(written, "http") == post(FINAL_CALL)
    written["headers"].append(["Content-Length", "99"])
    assert codecs.encode(written, "http") == post(FINAL_CALL)
    written["headers"][2] = ["Transfer-Encoding", "chunked"]
    assert codecs.encode(written, "http") == chunked(FINAL_CALL)


def test_a_line_of_wire_is_used_only_if_it_has_the_same_name_and_value() -> None:
    parsed = message(one(b"GET / HTTP/1.1\r\na:b\r\n\r\n", "http"))
    assert codecs.encode(parsed, "http") == b"GET / HTTP/1.1\r\na:b\r\n\r\n"
    parsed["headers"][0][1] = "c"
    assert codecs.encode(parsed, "http") == b"GET / HTTP/1.1\r\na: c\r\n\r\n"


# --- conversations and captures -------------------------------------------------------------------------


def talk(pieces: list[Piece]) -> list[Any]:
    conversations = Conversations()
    messages = []
    for piece in pieces:
        messages.extend(conversations.feed([piece]))
    messages.extend(conversations.close())
    return messages


def test_requests_and_responses_are_paired_in_order() -> None:
    flow = Flow(1, "tcp", (b"\x0a\0\0\1", b"\x0a\0\0\2"), (40000, 8080))
    asked = post(CALL) + post(FINAL_CALL)
    answered = answer(b"100 Continue") + answer(b"200 OK\r\nContent-Length: 5", REPLY) * 2
    pieces = []
    for direction, data in ((0, asked), (1, answered)):
        for at in range(0, len(data), 13):
            time = 1_000_000 * (direction + 1) + at
            pieces.append(Piece(flow, direction, at, data[at : at + 13], time, (at,), 0, (), ""))
    messages = talk(pieces)
    assert [item.record.kind for item in messages] == ["request"] * 2 + ["response"] * 3
    assert [item.pair for item in messages[2:]] == ["", messages[0].pair, messages[1].pair]


def test_public_captures(shared: Path) -> None:
    for path in sorted((shared / "captures/quirks").glob("http_*.pcap")):
        reader = Reader()
        messages = talk([*fed(reader, path.read_bytes()), *reader.close()])
        final = [item for item in messages if item.record.summary != "100 Continue"]
        assert [item.record.protocol for item in messages] == ["http"] * len(messages), path.name
        assert [item.record.summary for item in final] == [
            "POST /hello call sayHello(string)",
            '200 OK reply ok "Hello client"',
        ], path.name
        assert final[1].pair == final[0].pair != ""
        assert not [item for item in messages if item.record.damaged]


@pytest.mark.slow
@pytest.mark.once
def test_foreign_http_is_decoded_and_encoded_again(shared: Path) -> None:
    count = 0
    for path in sorted((shared / "captures/negative").glob("*.bin")):
        data = path.read_bytes()
        if codecs.detect(data).protocol == "http":
            count += 1
            records: list[Record] = codecs.decode(data, "http")
            assert codecs.encode([codecs.loads(record.json_text()) for record in records]) == data, path.name
            for record in records:
                root = record.root
                body = None if root is None else root.member("body")
                assert body is None or body.member("data") is not None, path.name
    assert count > 50


def test_nothing_foreign_is_claimed_for_dubbo_or_bolt(shared: Path) -> None:
    for path in sorted((shared / "captures/negative").glob("*.bin")):
        data = path.read_bytes()
        for name in ("dubbo", "bolt"):
            assert registry.get(name).probe(data, b"").bits < 12, path.name


def test_a_body_is_a_tree_for_people_too() -> None:
    result = CliRunner().invoke(group, ["decode", "--hex", post(OBJECT).hex()])
    assert result.exit_code == 0
    assert "com.xxl.Request" in result.output
    as_json = CliRunner().invoke(group, ["decode", "--format", "jsonl", "--hex", post(OBJECT).hex()]).output
    assert json.loads(as_json)["message"]["body"]["values"][0]["name"] == "job"


def test_every_part_has_its_offset() -> None:
    data = post(CALL)
    root = one(data, "http").root
    assert root is not None
    nodes: list[Node] = [root]
    while nodes:
        node = nodes.pop()
        start, end = node.span
        assert 0 <= start <= end <= len(data)
        nodes.extend(node.parts())


SMUGGLED = [
    (b"POST / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "together"),
    (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", "Content-Length more than once"),
    (b"POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\nx", "Content-Length more than once"),
    (b"POST / HTTP/1.1\r\nContent-Length : 1\r\n\r\nx", "space between"),
    (b"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", "CR without LF"),
    (b"GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", "NUL"),
    (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "chunked more than once"),
    (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.0"),
    (b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "next line"),
]


@pytest.mark.parametrize(("data", "words"), SMUGGLED)
def test_what_smuggles_requests_is_noted(data: bytes, words: str) -> None:
    record = codecs.decode(data, "http")[0]
    assert record.error is None
    assert record.length == len(data)
    assert [note.code for note in record.notes if words in note.text] == ["bad-header"]
    assert codecs.encode([record.to_json()]) == data
