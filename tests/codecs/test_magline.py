"""Magline, both generations: the vectors, and what they do not hold."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.cli.main import group
from wirelens.codecs import registry
from wirelens.codecs.codec import Exchange
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.magline.vocabulary import COMMANDS, DEPLOYED_COMMANDS
from wirelens.codecs.node import Node
from wirelens.codecs.record import Record

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
VECTORS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "vectors/magline.jsonl").read_text().splitlines()
]
NAMES = [str(vector["name"]) for vector in VECTORS]
WHOLE = [vector for vector in VECTORS if "message" in vector]
LARGE = 20_000  # bytes above which single bytes take too long


def message(record: Record) -> Any:
    as_json = record.to_json()
    assert isinstance(as_json, dict)
    return as_json["message"]


def in_bytes(data: bytes, protocol: str) -> list[Record]:
    decoder = codecs.Decoder(protocol)
    records = []
    for at in range(len(data)):
        records.extend(decoder.feed(data[at : at + 1]))
    return records + decoder.close()


def texts(records: list[Record]) -> list[str]:
    return [record.json_text() for record in records]


def decode(data: bytes, protocol: str = "magline") -> list[Record]:
    """The records of an input, the same whole and in single bytes, with the same bytes back."""
    records = codecs.decode(data, protocol)
    assert codecs.encode(records) == data
    assert codecs.encode([record.to_json() for record in records]) == data
    assert texts(in_bytes(data, protocol)) == texts(records)
    return records


def codes(record: Record) -> list[str]:
    return [note.code for note in record.notes]


def frame(
    cmd: int,
    body: bytes,
    order: Any = "big",
    head: bytes = b"",
    head_length: int = 16,
    length: int = -1,
    seq: int = 7,
) -> bytes:
    fields = ((cmd, 2), (0, 2), (head_length, 2), (seq, 4), (len(body) if length < 0 else length, 4))
    return b"\x7f\1" + b"".join(number.to_bytes(size, order) for number, size in fields) + head + body


def old(cmd: int, body: bytes = b"", version: int = 101, seq: int = 1) -> bytes:
    return (
        bytes((0x7F, version))
        + b"".join(number.to_bytes(size, "little") for number, size in ((cmd, 2), (seq, 4), (len(body), 4)))
        + body
    )


@pytest.mark.parametrize("vector", WHOLE, ids=[str(vector["name"]) for vector in WHOLE])
def test_meaning_and_bytes_back(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    records = codecs.decode(data, vector["protocol"])
    assert [message(record) for record in records] == [vector["message"]]
    assert [(record.error, codes(record)) for record in records] == [(None, vector.get("codes", []))]
    assert codecs.encode([record.to_json() for record in records]) == data
    assert texts([Record.from_json(records[0].to_json())]) == texts(records)


def test_the_length_that_was_cut() -> None:
    """65536 bytes are missing in the length of a frame of 70000."""
    vector = next(vector for vector in VECTORS if "message" not in vector)
    data = bytes.fromhex(vector["hex"])
    records = codecs.decode(data, "magline-old")
    assert [(record.offset, record.length) for record in records] == [(0, 4476), (4476, 65536)]
    assert records[0].error is None
    assert records[1].error is not None
    assert (records[1].error.code, records[1].error.offset) == ("no-message", 4476)
    assert records[1].notes == []
    assert codecs.encode(records) == data
    # the next head proves it
    records = codecs.decode(data + old(0x000F), "magline-old")
    assert [(record.offset, record.length) for record in records] == [(0, 4476), (4476, 65536), (70012, 12)]
    assert codes(records[1]) == ["length-cut"]
    assert records[2].error is None


def test_a_length_that_was_cut_is_no_evidence_against() -> None:
    protobuf = b"\x08\x01\x12\xf0\xa2\x04" + bytes(70000)
    whole = old(0x1009, protobuf)
    cut = whole[:8] + (len(protobuf) & 0xFFFF).to_bytes(4, "little") + whole[12:]
    agent = old(0x1003, b"\x08\x01")
    for data in (agent + cut + agent, cut + agent, agent + agent + cut):
        assert codecs.detect(data).protocol == "magline-old"


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_one_byte_at_a_time(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    if len(data) > LARGE:
        pytest.skip("too long for single bytes")
    assert texts(in_bytes(data, vector["protocol"])) == texts(codecs.decode(data, vector["protocol"]))


@pytest.mark.parametrize("vector", WHOLE, ids=[str(vector["name"]) for vector in WHOLE])
def test_followed_by_other_bytes(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    for following in (data, b"\xff" * 16, bytes(16), b"GET / HTTP/1.1\r\n", b"\x7f"):
        records = codecs.decode(data + following, vector["protocol"])
        assert message(records[0]) == vector["message"]
        assert records[0].length == len(data)
        assert [record.error is None for record in records[1:]] == [following == data]
        assert codecs.encode(records) == data + following


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_detected(vector: dict[str, Any]) -> None:
    found = codecs.detect(bytes.fromhex(vector["hex"]))
    assert found.protocol == vector["protocol"]
    assert found.equal == ()


def test_what_fits_both_heads_is_reported() -> None:
    """A sequence number that is also the length of a body of the other head."""
    data = frame(9, bytes(4), "little", seq=8)
    found = codecs.detect(data)
    assert found.protocol == "unknown"
    assert found.reason == "the bytes fit magline-old and magline with different meanings"
    reasons = {candidate.protocol: candidate.reasons for candidate in found.candidates}
    assert any("(magline-old)" in reason for reason in reasons["magline"])
    assert any("(magline)" in reason for reason in reasons["magline-old"])


def test_the_other_direction_helps_detection() -> None:
    cut = frame(6, bytes(100))[:60]
    assert codecs.detect(cut).protocol == "unknown"
    assert codecs.detect(cut, frame(7, bytes(40))).protocol == "magline"


@pytest.mark.parametrize("protocol", ["magline", "magline-old"])
def test_the_first_message_of_a_stream_that_ends_anywhere_in_the_next(protocol: str) -> None:
    codec = registry.get(protocol)
    one = frame(6, bytes(29)) if protocol == "magline" else old(0x1009, b"\x08\x01" + bytes(27))
    inside = b"\x55" * 25
    for size in range(len(one) + 1):
        data = inside + one + one[:size]
        assert codec.first(data, 0, len(data), True, "") == len(inside)
    data = inside + one + b"\xff"
    assert codec.first(data, 0, len(data), True, "") == len(data)


def test_negatives_stay_unknown(shared: Path) -> None:
    probes = [registry.get(name) for name in ("magline", "magline-old")]
    for path in sorted((shared / "captures/negative").glob("*.bin")):
        data = path.read_bytes()[: 1 << 16]
        if len(data) >= 16:
            for codec in probes:
                assert codec.probe(data, b"").bits < 24, path.name


def test_session_holds_the_vectors(shared: Path) -> None:
    wanted = {
        vector["hex"]: vector["message"] for vector in WHOLE if "magline_old_tcp" in vector["provenance"]
    }
    seen = set()
    for flow in codecs.captures.flows([(shared / "captures/sessions/magline_old_tcp.pcap").read_bytes()]):
        for direction in flow.directions:
            data = direction.data
            for record in codecs.decode(data, "magline-old"):
                assert record.error is None
                raw = data[record.offset : record.offset + record.length].hex()
                if raw in wanted:
                    assert message(record) == wanted[raw]
                    seen.add(raw)
    assert seen == set(wanted)


KEY = bytes(range(32))
# command, body, what is shown of it
BODIES: list[tuple[str, int, bytes, dict[str, Any]]] = [
    ("SYN, a random of 4", 1, b"\1\2\3\4" + KEY, {"random": "01020304", "public_key": KEY.hex()}),
    ("SYN, a random of 32", 1, KEY[::-1] + KEY, {"random": KEY[::-1].hex(), "public_key": KEY.hex()}),
    ("SYN, two words", 1, b"\1\2\3\4\5\6\7\x08", {"random": "01020304", "public_key": "05060708"}),
    ("SYN, nothing", 1, b"", {"random": "", "public_key": ""}),
    (
        "ACK, a random of 4",
        2,
        b"\1\2\3\4" + KEY + bytes(32),
        {"random": "01020304", "public_key": KEY.hex(), "sealed": "00" * 32},
    ),
    (
        "ACK, a random of 8",
        2,
        b"\1" * 8 + KEY + bytes(16),
        {"random": "01" * 8, "public_key": KEY.hex(), "sealed": "00" * 16},
    ),
    (
        "ACK, a random of 16",
        2,
        b"\1" * 16 + KEY + bytes(32),
        {"random": "01" * 16, "public_key": KEY.hex(), "sealed": "00" * 32},
    ),
    (
        "ACK, no whole blocks",
        2,
        b"\1\2\3\4" + KEY + b"\5",
        {"random": "01020304", "public_key": KEY.hex(), "sealed": "05"},
    ),
    (
        "ACK, three words",
        2,
        b"\1\2\3\4" * 3,
        {"random": "01020304", "public_key": "0102030401020304", "sealed": ""},
    ),
    ("ERR", 3, b"\0\0\0\5\0\0\0\6", {"business_cmd": 5, "error": 6}),
    ("PIN", 4, b"\xff\xff\xff\xff", {"ping": 0xFFFFFFFF}),
    ("PON, with more after it", 5, b"\0\0\0\1\2", {"ping": 1, "extra": "02"}),
    ("FIN", 9, b"\0\0\0\1", {"reason": 1}),
    ("REQ", 6, b"\0\0\0\1" + KEY[:16] + b"hi", {"business_cmd": 1, "hmac": KEY[:16].hex(), "data": "6869"}),
    ("REP, a short code", 7, b"\0\0\0\1\2\3", {"business_cmd": 1, "hmac": "0203", "data": ""}),
    ("PSH", 8, b"\0\0\0\1" + KEY[:16], {"business_cmd": 1, "hmac": KEY[:16].hex(), "data": ""}),
    ("an unknown command", 77, b"\1\2", {"data": "0102"}),
]


@pytest.mark.parametrize(
    ("cmd", "body", "shown"), [case[1:] for case in BODIES], ids=[case[0] for case in BODIES]
)
def test_bodies(cmd: int, body: bytes, shown: dict[str, Any]) -> None:
    records = decode(frame(cmd, body))
    assert [message(record)["body"] for record in records] == [shown]
    assert message(records[0])["cmd"] == COMMANDS.get(cmd, cmd)
    wanted = ["unknown-command"] if cmd == 77 else ["extra-bytes"] if "extra" in shown else []
    assert codes(records[0]) == wanted


@pytest.mark.parametrize("cmd", sorted(COMMANDS))
@pytest.mark.parametrize("order", ["big", "little"])
def test_byte_order(cmd: int, order: str) -> None:
    body = bytes(8 if cmd == 3 else 36 if cmd <= 2 else 20 if 6 <= cmd <= 8 else 4)
    found = message(decode(frame(cmd, body, order))[0])
    assert (found["byte_order"], found["cmd"], found["seq"]) == (order, COMMANDS[cmd], 7)


def test_a_body_too_short_for_its_command() -> None:
    record = decode(frame(3, b"\0\0\0\1\2"))[0]
    assert record.damaged
    body = message(record)["body"]
    assert body["data"] == "0000000102"
    assert (body["error"]["code"], body["error"]["offset"]) == ("truncated", 16)


HEADS: list[tuple[str, bytes, int, str, dict[str, Any]]] = [
    ("a head of 20", frame(4, b"\0\0\0\1", head=b"\1\2\3\4", head_length=20), 24, "01020304", {"ping": 1}),
    ("a header inside the message", frame(4, b"\1\2\0\0\0\1", head_length=2), 22, "0102", {"ping": 1}),
    ("a header beside the message", frame(4, b"", head=b"\1\2", head_length=2), 18, "0102", {}),
    ("no head length", frame(4, b"\0\0\0\1", head_length=0), 20, "", {"ping": 1}),
]


@pytest.mark.parametrize(
    ("data", "length", "head", "body"), [case[1:] for case in HEADS], ids=[case[0] for case in HEADS]
)
def test_message_header(data: bytes, length: int, head: str, body: dict[str, Any]) -> None:
    record = decode(data)[0]
    found = message(record)
    assert (record.length, found["head"]) == (length, head)
    if body:
        assert found["body"] == body


FAILURES: list[tuple[str, str, bytes, str, int]] = [
    ("a cut head", "magline", frame(4, bytes(4))[:15], "truncated", 0),
    ("a cut body", "magline", frame(4, bytes(4))[:-1], "truncated", 12),
    ("a cut header", "magline", frame(4, bytes(4), head=bytes(4), head_length=20)[:18], "truncated", 16),
    ("no command and no head length", "magline", frame(77, bytes(4), head_length=17), "no-message", 0),
    ("gigabytes", "magline", frame(6, b"", length=0xFFFFFFFF), "limit", 0),
    ("another magic", "magline-old", b"\x7e" + old(1)[1:], "no-message", 0),
    ("a cut head", "magline-old", old(1)[:11], "truncated", 0),
    ("a cut body", "magline-old", old(9, b"abc")[:-1], "truncated", 12),
    ("gigabytes", "magline-old", old(9)[:8] + b"\xff" * 4, "limit", 8),
]


@pytest.mark.parametrize(
    ("protocol", "data", "code", "at"),
    [case[1:] for case in FAILURES],
    ids=[f"{case[1]}: {case[0]}" for case in FAILURES],
)
def test_failures(protocol: str, data: bytes, code: str, at: int) -> None:
    record = decode(data, protocol)[0]
    assert record.error is not None
    assert (record.error.code, record.error.offset) == (code, at)


@pytest.mark.parametrize(
    ("protocol", "following"),
    [("magline", frame(cmd, bytes(40 if 6 <= cmd <= 8 else 4))) for cmd in (4, 5, 6, 7, 8, 9)]
    + [
        ("magline", frame(6, bytes(40), "little")),
        ("magline-old", old(9, b"abc")),
        ("magline-old", old(3, version=1)),
    ],
)
def test_decoding_goes_on_after_damage(protocol: str, following: bytes) -> None:
    records = decode(b"\xee" * 21 + following + following, protocol)
    assert [(record.error is None, record.length) for record in records] == [
        (False, 21),
        (True, len(following)),
        (True, len(following)),
    ]


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


OLD_BODIES: list[tuple[str, int, bytes, dict[str, Any], list[str]]] = [
    ("SYN", 1, b"\1\0\2\0\3\0", {"protobuf": 1, "channel": 2, "crypto": 3}, []),
    ("ACK", 2, b"\2\0\3\0", {"channel": 2, "crypto": 3}, []),
    ("CONFIRM", 6, b"\xfe\xff\xff\xff", {"errno": -2}, []),
    (
        "ACK, with more after it",
        2,
        b"\2\0\3\0\4",
        {"channel": 2, "crypto": 3, "extra": "04"},
        ["extra-bytes"],
    ),
    ("unknown command", 0x55, b"\1", {"data": "01"}, ["unknown-command"]),
    ("nothing", 0x1002, b"", {}, []),
    ("no fields", 0x1003, b"", {}, []),
    ("errno below 0", 0x1004, b"\x08\x01\x10" + varint((1 << 64) - 5), {"AgentID": 1, "errno": -5}, []),
    ("errno alone", 0x1004, b"\x10\x01", {"errno": 1}, []),
    (
        "fields that the command does not have",
        0x1003,
        b"\x08\x01" + b"\x38\x02" + b"\x42\x01x" + b"\x4d\1\0\0\0" + b"\x51\xff\xff\xff\xff\xff\xff\xff\xff",
        {
            "AgentID": 1,
            "unknown": [
                {"field": 7, "type": "varint", "value": 2},
                {"field": 8, "type": "bytes", "value": "78"},
                {"field": 9, "type": "fixed32", "value": 1},
                {"field": 10, "type": "fixed64", "value": (1 << 64) - 1},
            ],
        },
        [],
    ),
    (
        "another wire type than the field's",
        0x1003,
        b"\x0a\x01x",
        {"unknown": [{"field": 1, "type": "bytes", "value": "78"}]},
        [],
    ),
    (
        "fields out of order",
        0x1009,
        b"\x12\x01x\x08\x01",
        {
            "fields": [
                {"field": 2, "type": "bytes", "value": "78"},
                {"field": 1, "type": "varint", "value": 1},
            ]
        },
        [],
    ),
    (
        "a field twice",
        0x1003,
        b"\x08\x01\x08\x02",
        {
            "fields": [
                {"field": 1, "type": "varint", "value": 1},
                {"field": 1, "type": "varint", "value": 2},
            ]
        },
        [],
    ),
    ("an overlong value", 0x1003, b"\x08\x81\x00", {"AgentID": 1, "$wire": {"AgentID": "088100"}}, []),
    ("an overlong key", 0x1003, b"\x88\x00\x01", {"AgentID": 1, "$wire": {"AgentID": "880001"}}, []),
    (
        "an overlong length",
        0x1001,
        b"\x0a\x81\x00x",
        {"AccessKey": "78", "$wire": {"AccessKey": "0a810078"}},
        [],
    ),
    (
        "an overlong unknown field",
        0x1002,
        b"\x38\x82\x00",
        {"unknown": [{"field": 7, "type": "varint", "value": 2, "$wire": {"value": "388200"}}]},
        [],
    ),
]


@pytest.mark.parametrize(
    ("cmd", "body", "shown", "notes"), [case[1:] for case in OLD_BODIES], ids=[case[0] for case in OLD_BODIES]
)
def test_old_bodies(cmd: int, body: bytes, shown: dict[str, Any], notes: list[str]) -> None:
    record = decode(old(cmd, body), "magline-old")[0]
    assert message(record)["body"] == shown
    assert message(record)["cmd"] == DEPLOYED_COMMANDS.get(cmd, cmd)
    assert codes(record) == notes


@pytest.mark.parametrize(
    ("cmd", "body", "code"),
    [
        (0x1003, b"\x08", "bad-protobuf"),
        (0x1003, b"\x00\x01", "bad-protobuf"),
        (0x1003, b"\x0b", "bad-protobuf"),
        (0x1001, b"\x0a\x05x", "bad-protobuf"),
        (0x1003, b"\x08" + b"\xff" * 10 + b"\1", "bad-protobuf"),
        (0x0004, b"\1\2", "truncated"),
        (0x0001, b"\1\2", "truncated"),
    ],
)
def test_old_bodies_that_do_not_decode(cmd: int, body: bytes, code: str) -> None:
    record = decode(old(cmd, body), "magline-old")[0]
    assert record.damaged
    shown = message(record)["body"]
    assert (shown["data"], shown["error"]["code"]) == (body.hex(), code)


def test_versions_of_the_old_head() -> None:
    assert [codes(codecs.decode(old(3, version=n), "magline-old")[0]) for n in (1, 101, 2)] == [
        [],
        [],
        ["other-version"],
    ]


STORY: list[tuple[str, bytes, str, tuple[str, str]]] = [
    (
        "magline",
        frame(1, bytes(36)),
        "SYN seq 7: the client opens, or resumes after a break (random 4 bytes, key 32 bytes); "
        "ACK answers, or ERR and FIN",
        ("request", "connection"),
    ),
    (
        "magline",
        frame(2, bytes(52)),
        "ACK seq 7: the server accepts the SYN (sealed session id, 16 bytes)",
        ("reply", "connection"),
    ),
    (
        "magline",
        frame(3, b"\0\0\0\1\0\0\0\2"),
        "ERR seq 7: business 1, error 2; answers REQ with seq 7, or refuses SYN, and FIN follows",
        ("reply", "connection"),
    ),
    ("magline", frame(9, b"\0\0\0\3"), "FIN seq 7: the sender ends the connection, reason 3", ("", "")),
    ("magline", frame(4, b"\0\0\0\5"), "PIN seq 7: ping 5; PON answers", ("request", "ping 5")),
    ("magline", frame(5, b"\0\0\0\5"), "PON seq 7: pong 5", ("reply", "ping 5")),
    (
        "magline",
        frame(6, b"\0\0\0\1" + bytes(17)),
        "REQ seq 7: business 1, 1 byte; REP with seq 7 answers",
        ("request", "seq 7"),
    ),
    (
        "magline",
        frame(7, b"\0\0\0\1" + bytes(16)),
        "REP seq 7: business 1, 0 bytes; answers REQ with seq 7",
        ("reply", "seq 7"),
    ),
    (
        "magline",
        frame(8, b"\0\0\0\1" + bytes(18)),
        "PSH seq 7: business 1, 2 bytes; pushed, no answer",
        ("", ""),
    ),
    ("magline", frame(77, b"\0"), "77 seq 7: 1 byte", ("", "")),
    ("magline", frame(3, b"\0\0\0\6"), "ERR seq 7: the body is cut, 4 bytes", ("reply", "connection")),
    ("magline", frame(6, b""), "REQ seq 7: the body is cut, 0 bytes", ("request", "seq 7")),
    ("magline", frame(9, b"\0"), "FIN seq 7: the body is cut, 1 byte", ("", "")),
    ("magline", frame(4, b""), "PIN seq 7: the body is cut, 0 bytes", ("", "")),
    ("magline-old", old(1, bytes(6)), "SYN seq 1: the client opens; ACK answers", ("request", "connection")),
    ("magline-old", old(2, bytes(4)), "ACK seq 1: the server accepts the SYN", ("reply", "connection")),
    ("magline-old", old(3), "SESSION_REQ seq 1: the client asks for a session", ("request", "session")),
    (
        "magline-old",
        old(4, b"\1\0\x10\x40"),
        "SESSION_RSP seq 1: the server gives a session, agent 0x40100001",
        ("reply", "session"),
    ),
    ("magline-old", old(9, b"abc"), "NODE_MSG seq 1: 3 bytes", ("", "")),
    (
        "magline-old",
        old(13, b"\2\0\0\0\xfb\xff\xff\xff"),
        "ERROR_MSG seq 1: error, errno -5 (session)",
        ("reply", "session"),
    ),
    ("magline-old", old(13, b"\3\0\0\0\1\0\0\0"), "ERROR_MSG seq 1: error, errno 1 (node message)", ("", "")),
    (
        "magline-old",
        old(0x1003, b"\x08\x05"),
        "KNOT_AGENT_ARRIVE_REQ seq 1: an agent arrives, agent 0x00000005",
        ("request", "agent 5"),
    ),
    (
        "magline-old",
        old(0x1004, b"\x08\x05\x10\x00"),
        "KNOT_AGENT_ARRIVE_RSP seq 1: the knot takes the agent, agent 0x00000005, errno 0",
        ("reply", "agent 5"),
    ),
    ("magline-old", old(0x77), "119 seq 1", ("", "")),
]


@pytest.mark.parametrize(("protocol", "data", "summary", "exchange"), STORY)
def test_the_connections_story(protocol: str, data: bytes, summary: str, exchange: tuple[str, str]) -> None:
    record = codecs.decode(data, protocol)[0]
    assert record.summary == summary
    assert record.kind == summary.split()[0]
    assert record.root is not None
    assert record.codec is not None
    assert record.codec.exchange(record.root) == Exchange(*exchange)


def annotations(data: bytes, protocol: str) -> dict[str, str]:
    record = codecs.decode(data, protocol)[0]
    assert record.root is not None
    assert record.codec is not None
    found: dict[str, str] = {}
    work: list[Node] = [record.root]
    while work:
        node = work.pop()
        work.extend(node.children)
        if text := record.codec.annotate(node):
            found[node.name] = text
    return found


def test_annotations() -> None:
    assert annotations(frame(2, bytes(52)), "magline") == {
        "byte_order": "by evidence: the text leaves it open",
        "public_key": "X25519",
        "sealed": "AES(K + session id)",
    }
    assert annotations(frame(7, bytes(10)), "magline")["hmac"] == "6 of 16 bytes"
    assert annotations(old(13, b"\2\0\0\0\0\0\0\0"), "magline-old") == {"version": "Go", "status": "session"}
    assert annotations(old(4, b"\1\0\x10\x40", version=1), "magline-old") == {
        "version": "C client",
        "agent_id": "0x40100001",
    }


WRITTEN: list[tuple[str, dict[str, Any], bytes]] = [
    ("magline", {"cmd": "PIN", "body": {"ping": 1}}, frame(4, b"\0\0\0\1", seq=0)),
    (
        "magline",
        {"cmd": "PIN", "byte_order": "little", "seq": 7, "body": {"ping": 1}},
        frame(4, b"\1\0\0\0", "little"),
    ),
    (
        "magline",
        {"cmd": "REQ", "seq": 7, "head": "0102", "body": {"business_cmd": 1, "hmac": "00" * 16}},
        frame(6, b"\0\0\0\1" + bytes(16), head=b"\1\2", head_length=18),
    ),
    ("magline", {"cmd": 77, "body": {"data": "01"}}, frame(77, b"\1", seq=0)),
    ("magline", {"cmd": 77}, frame(77, b"", seq=0)),
    ("magline-old", {"cmd": "DISCARD"}, old(15, seq=0)),
    ("magline", {"cmd": "ping", "seq": 7, "body": {"ping": 3}}, frame(4, b"\0\0\0\3")),
    ("magline-old", {"cmd": "SYN", "version": 1}, old(1, version=1, seq=0)),
    ("magline-old", {"cmd": "NODE_MSG", "seq": 1, "body": {"payload": "6162"}}, old(9, b"ab")),
    (
        "magline-old",
        {"cmd": "KNOT_AGENT_ARRIVE_RSP", "seq": 1, "body": {"errno": 0, "AgentID": 5}},
        old(0x1004, b"\x08\x05\x10\x00"),
    ),
]


@pytest.mark.parametrize(("protocol", "written", "data"), WRITTEN)
def test_encode_by_hand(protocol: str, written: dict[str, Any], data: bytes) -> None:
    assert codecs.encode(written, protocol) == data


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("magline", {}, "", '"cmd"'),
    ("magline", {"cmd": "HELLO"}, "cmd", "not one of SYN"),
    ("magline", {"cmd": "PIN"}, "body", '"ping"'),
    ("magline", {"cmd": "PIN", "body": {"pong": 1}}, "body.pong", "no such member"),
    ("magline", {"cmd": "PIN", "body": {"ping": -1}}, "body.ping", "not in 0"),
    ("magline", {"cmd": "PIN", "body": {"ping": 1}, "message_length": 5}, "message_length", "has 4 bytes"),
    ("magline", {"cmd": "PIN", "body": {"ping": 1}, "head_length": 17}, "head_length", "it is 16"),
    (
        "magline",
        {"cmd": "PIN", "body": {"ping": 1}, "head_length": 3},
        "head_length",
        "length of the head, 0",
    ),
    (
        "magline",
        {"cmd": "PIN", "body": {"ping": 1}, "byte_order": "middle"},
        "byte_order",
        '"big" or "little"',
    ),
    ("magline", {"cmd": "REQ", "body": {"business_cmd": 1}}, "body", '"hmac"'),
    (
        "magline",
        {"cmd": "REQ", "body": {"business_cmd": 1, "hmac": "00", "data": "00"}},
        "body.hmac",
        "16 bytes",
    ),
    ("magline", {"cmd": "SYN", "body": {"random": "0"}}, "body.random", "pairs of hex"),
    ("magline", {"cmd": "SYN", "body": {"random": "00"}}, "body", '"public_key"'),
    ("magline-old", {"cmd": "SYN", "seqq": 1}, "seqq", "no such member"),
    ("magline-old", {"cmd": "SYN", "magic": 1}, "magic", "not in 127"),
    ("magline-old", {"cmd": "ACK", "body": {"channel": 1}}, "body", '"crypto"'),
    ("magline-old", {"cmd": "CONFIRM", "body": {"errno": 1 << 31}}, "body.errno", "not in"),
    ("magline-old", {"cmd": "NODE_MSG", "length": 1}, "length", "has 0 bytes"),
    ("magline-old", {"cmd": "KNOT_CONN_REQ", "body": {"accesskey": ""}}, "body.accesskey", "no such member"),
    (
        "magline-old",
        {"cmd": "KNOT_CONN_REQ", "body": {"AccessKey": "00", "$wire": {"AccessKey": "0a0101"}}},
        "body.AccessKey",
        "$wire",
    ),
    (
        "magline-old",
        {"cmd": "KNOT_CONN_REQ", "body": {"fields": [{"field": 1, "type": "bits", "value": 1}]}},
        "body.fields[0].type",
        "varint",
    ),
    (
        "magline-old",
        {"cmd": "KNOT_CONN_REQ", "body": {"unknown": [{"field": 1, "value": 1}]}},
        "body.unknown[0]",
        '"type"',
    ),
]


@pytest.mark.parametrize(("protocol", "written", "path", "expected"), REFUSED)
def test_refused(protocol: str, written: dict[str, Any], path: str, expected: str) -> None:
    with pytest.raises(EncodeError) as caught:
        codecs.encode(written, protocol)
    assert caught.value.path == path
    assert expected in caught.value.text


@given(st.binary(max_size=60), st.sampled_from([0x1001, 0x1002, 0x1003, 0x1004, 0x1009]))
def test_any_protobuf_body_comes_back(body: bytes, cmd: int) -> None:
    data = old(cmd, body)
    records = codecs.decode(data, "magline-old")
    assert len(records) == 1
    assert records[0].error is None
    assert codecs.encode([record.to_json() for record in records]) == data


FIELD = st.one_of(
    st.builds(lambda n, v: varint(n << 3) + varint(v), st.integers(1, 12), st.integers(0, (1 << 64) - 1)),
    st.builds(
        lambda n, v: varint(n << 3 | 2) + varint(len(v)) + v, st.integers(1, 12), st.binary(max_size=6)
    ),
    st.builds(lambda n, v: varint(n << 3 | 5) + v, st.integers(1, 12), st.binary(min_size=4, max_size=4)),
    st.builds(lambda n, v: varint(n << 3 | 1) + v, st.integers(1, 12), st.binary(min_size=8, max_size=8)),
    st.builds(lambda n, v: varint(n << 3) + bytes((v | 0x80, 0)), st.integers(1, 3), st.integers(0, 127)),
)


@given(st.lists(FIELD, max_size=5), st.sampled_from([0x1001, 0x1004, 0x1009]))
def test_protobuf_fields_come_back(fields: list[bytes], cmd: int) -> None:
    data = old(cmd, b"".join(fields))
    record = codecs.decode(data, "magline-old")[0]
    assert not record.damaged
    assert codecs.encode(record.to_json()) == data


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (
            "magline-connection.xxd",
            "SYN seq 7: the client opens, or resumes after a break (random 4 bytes, key 32 bytes); "
            "ACK answers, or ERR and FIN",
        ),
        ("magline-old-session.xxd", "SYN seq 0: the client opens; ACK answers"),
        ("magline-old-knot.xxd", "KNOT_CONN_REQ seq 1: the knot connects with its access key"),
    ],
)
def test_examples_on_the_command_line(example: str, expected: str) -> None:
    path = str(EXAMPLES / example)
    shown = CliRunner().invoke(group, ["decode", "--format", "summary", path])
    assert shown.exit_code == 0
    assert expected in shown.stdout.splitlines()[0]
    as_json = CliRunner().invoke(group, ["decode", "--format", "json", path])
    back = CliRunner().invoke(group, ["encode", "-"], input=as_json.stdout)
    plain = CliRunner().invoke(group, ["bytes", "--to", "raw", path])
    assert (as_json.exit_code, back.exit_code, plain.exit_code) == (0, 0, 0)
    assert back.stdout_bytes == plain.stdout_bytes
    assert len(plain.stdout_bytes) > 50


@pytest.mark.parametrize("cmd", [0x0100, 0x0600, 0x0900])
@pytest.mark.parametrize("order", ["big", "little"])
def test_the_head_length_decides_the_byte_order(cmd: int, order: str) -> None:
    written = {"cmd": cmd, "seq": 1, "byte_order": order, "body": {"data": "616263"}}
    data = codecs.encode(written, "magline")
    (record,) = codecs.decode(data, "magline")
    assert codecs.encode(record) == data
    assert (message(record)["byte_order"], message(record)["cmd"]) == (order, cmd)
