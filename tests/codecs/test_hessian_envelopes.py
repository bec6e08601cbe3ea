"""Hessian's calls, replies, faults, messages, packets, envelopes: bytes and JSON, both ways."""

import random
import zlib
from typing import Any

import pytest
from librt.strings import BytesWriter

from wirelens import codecs
from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.tables import Tables
from wirelens.codecs.hessian.value_decoding import TO_END, TO_MARK, Values
from wirelens.codecs.hessian.value_encoding import Encoder
from wirelens.codecs.node import root_of
from wirelens.codecs.tape import Buffer, Tape

V1, DRAFT, FINAL = "hessian1", "hessian2-draft", "hessian2"

CALL = {"version": "2.0", "call": {"method": "add2", "arguments": [2, 3]}}
DEFLATED = zlib.compress(b"r\x02\x00\x02hiz").hex()
PLAIN = zlib.compress(b"r\x02\x00\x02hiz", 0).hex()
NAME = b"com.caucho.hessian.io.Deflation".hex()

MESSAGES: list[tuple[str, str, dict[str, Any]]] = [
    (
        V1,
        "6301006d000461646432" + "4900000002" + "4900000003" + "7a",
        {"version": "1.0", "call": {"method": "add2", "arguments": [2, 3]}},
    ),
    (V1, "6302006d000461646432" + "4900000002" + "4900000003" + "7a", CALL),
    (DRAFT, "6302006d00046164643292937a", CALL),
    (FINAL, "480200430461646432929293", CALL),
    (FINAL, "430461646432929293", {"call": CALL["call"], "$wire": {"version": "absent"}}),
    (
        V1,
        "630001" + "48000161" + "53000162" + "6d00016d" + "7a",
        {"version": "0.1", "call": {"headers": [["a", "b"]], "method": "m", "arguments": []}},
    ),
    (
        DRAFT,
        "48000161" + "0162" + "6d00016d" + "907a",
        {"call": {"headers": [["a", "b"]], "method": "m", "arguments": [0]}, "$wire": {"version": "absent"}},
    ),
    (
        DRAFT,
        "4302006d00016d7a",
        {"version": "2.0", "call": {"method": "m", "arguments": []}, "$wire": {"start": "C"}},
    ),
    (
        FINAL,
        "48020043" + "53000161" + "c801" + "90",
        {
            "version": "2.0",
            "call": {"method": "a", "arguments": [0], "$wire": {"method": "S", "count": "two-byte"}},
        },
    ),
    (
        V1,
        "6301006d0001f09f98807a",
        {"version": "1.0", "call": {"method": "😀", "arguments": [], "$wire": {"method": {"units": 1}}}},
    ),
    (V1, "7201004e7a", {"version": "1.0", "reply": {"value": None}}),
    (
        DRAFT,
        "720200" + "48000268" + "31" + "99" + "0376616c" + "7a",
        {"version": "2.0", "reply": {"headers": [["h1", 9]], "value": "val"}},
    ),
    (DRAFT, "520200907a", {"version": "2.0", "reply": {"value": 0}, "$wire": {"start": "R"}}),
    (FINAL, "4802005291", {"version": "2.0", "reply": {"value": 1}}),
    (
        V1,
        "72010066" + "530004636f6465" + "53000141" + "7a7a",
        {"version": "1.0", "reply": {"fault": {"code": "A"}}},
    ),
    (DRAFT, "720200667a7a", {"version": "2.0", "reply": {"fault": {}}}),
    (FINAL, "48020046" + "4804636f6465" + "0141" + "5a", {"version": "2.0", "fault": {"code": "A"}}),
    (
        FINAL,
        "48020052" + "480200464804636f6465" + "0141" + "5a",
        {"version": "2.0", "reply": {"fault": {"code": "A"}}},
    ),
    (DRAFT, "700200910161" + "7a", {"version": "2.0", "message": {"values": [1, "a"]}}),
    (DRAFT, "50020091" + "7a", {"version": "2.0", "message": {"values": [1]}, "$wire": {"start": "P"}}),
    (FINAL, "70020091" + "7a9192" + "7a", {"version": "2.0", "message": {"values": [1, [1, 2]]}}),
    (DRAFT, "50000191" + "50000192", {"packets": [{"values": [1]}, {"values": [2]}]}),
    (
        DRAFT,
        "70000101" + "50000161" + "50000192",
        {"packets": [{"values": ["a"], "$wire": {"chunks": [1, 1]}}, {"values": [2]}]},
    ),
    (FINAL, "05019105" + "0192", {"packets": [{"values": [1]}, {"values": [2]}]}),
    (
        FINAL,
        "850101" + "000161" + "050192",
        {"packets": [{"values": ["a"], "$wire": {"chunks": [1, 1]}}, {"values": [2]}]},
    ),
    (
        FINAL,
        "500001" + "91" + "50000192",
        {"packets": [{"values": [1]}, {"values": [2]}], "$wire": {"framing": "3.2.1"}},
    ),
    (
        FINAL,
        "037a9192" + "00" + "0190" + "00",
        {"packets": [{"values": [[1, 2]]}, {"values": [0]}], "$wire": {"framing": "4.0.0"}},
    ),
    (
        FINAL,
        "8003" + "7a9192" + "8000" + "8001908000",
        {"packets": [{"values": [[1, 2]]}, {"values": [0]}], "$wire": {"framing": "4.0.7"}},
    ),
    (
        DRAFT,
        "4502006d001f" + NAME + "90" + f"42{len(DEFLATED) // 2:04x}" + DEFLATED + "907a",
        {
            "version": "2.0",
            "envelope": {
                "method": "com.caucho.hessian.io.Deflation",
                "parts": [{"content": {"version": "2.0", "reply": {"value": "hi"}}}],
            },
        },
    ),
    (
        DRAFT,
        "4502006d001f" + NAME + "90" + f"42{len(PLAIN) // 2:04x}" + PLAIN + "907a",
        {
            "version": "2.0",
            "envelope": {
                "method": "com.caucho.hessian.io.Deflation",
                "parts": [{"content": {"version": "2.0", "reply": {"value": "hi"}}, "compressed": PLAIN}],
            },
        },
    ),
    (
        FINAL,
        "450158" + "91" + "01680176" + "22" + "0102" + "c801" + "016690" + "5a",
        {
            "envelope": {
                "method": "X",
                "parts": [
                    {
                        "headers": [["h", "v"]],
                        "content": "0102",
                        "footers": [["f", 0]],
                        "$wire": {"content_form": "short", "footer_count": "two-byte"},
                    }
                ],
            }
        },
    ),
]


@pytest.mark.parametrize(
    ("protocol", "data", "message"), MESSAGES, ids=[f"{row[0]}-{row[1][:30]}" for row in MESSAGES]
)
def test_messages(protocol: str, data: str, message: dict[str, Any]) -> None:
    records = codecs.decode(bytes.fromhex(data), protocol)
    assert [record.error for record in records] == [None]
    got = records[0].to_json()
    assert isinstance(got, dict)
    assert got["message"] == message
    assert codecs.encode(got).hex() == data
    assert codecs.encode(message, protocol).hex() == data


@pytest.mark.parametrize(
    ("protocol", "data", "message"), MESSAGES, ids=[f"{row[0]}-{row[1][:30]}" for row in MESSAGES]
)
def test_every_cut_is_an_error_with_its_bytes(protocol: str, data: str, message: dict[str, Any]) -> None:
    whole = bytes.fromhex(data)
    for size in range(1, len(whole)):
        records = codecs.decode(whole[:size], protocol)
        assert codecs.encode([codecs.loads(record.json_text()) for record in records]) == whole[:size]


@pytest.mark.parametrize(
    ("protocol", "message", "data"),
    [
        (V1, {"call": {"method": "m"}}, "6301006d00016d7a"),
        (DRAFT, {"call": {"method": "m"}}, "6302006d00016d7a"),
        (FINAL, {"call": {"method": "m"}}, "48020043016d90"),
        (FINAL, {"reply": {"value": None}}, "480200524e"),
        (FINAL, {"fault": {"code": "A"}}, "480200464804636f646501415a"),
        (DRAFT, {"message": {"values": [1]}}, "700200917a"),
        (FINAL, {"packets": [{"values": [1]}]}, "050191"),
    ],
)
def test_hand_written_messages(protocol: str, message: dict[str, Any], data: str) -> None:
    assert codecs.encode(message, protocol).hex() == data


def kinds(data: bytes, protocol: str, size: int = 0) -> list[tuple[str, int]]:
    """Kind and length of the records of a stream, fed whole or in chunks."""
    decoder = codecs.Decoder(protocol)
    records = []
    for at in range(0, len(data), size or len(data)):
        records.extend(decoder.feed(data[at : at + (size or len(data))]))
    records.extend(decoder.close())
    return [(record.kind, record.length) for record in records]


STREAMS = [
    (
        V1,
        "4e4e" + "6301006d00016d7a" + "7201004e7a" + "54",
        [("values", 2), ("call", 8), ("reply", 5), ("values", 1)],
    ),
    (DRAFT, "9091" + "6302006d00016d7a" + "7202004e7a", [("values", 2), ("call", 8), ("reply", 5)]),
    (DRAFT, "700200917a" + "50000191" + "6302006d00016d7a", [("message", 5), ("packets", 4), ("call", 8)]),
    (FINAL, "480200524e" + "48020043016d90", [("reply", 5), ("call", 7)]),
    (FINAL, "9091" + "480200524e", [("values", 2), ("reply", 5)]),
    (FINAL, "700200917a" + "480200524e", [("message", 5), ("reply", 5)]),
]


@pytest.mark.parametrize(("protocol", "data", "wanted"), STREAMS, ids=[row[1] for row in STREAMS])
def test_streams_of_messages(protocol: str, data: str, wanted: list[tuple[str, int]]) -> None:
    raw = bytes.fromhex(data)
    assert kinds(raw, protocol) == wanted
    for size in (1, 2, 3, 5):
        assert kinds(raw, protocol, size) == wanted


def test_calls_come_out_as_soon_as_they_are_whole() -> None:
    call = bytes.fromhex("6302006d00046164643292937a")
    decoder = codecs.Decoder(DRAFT)
    assert decoder.feed(call[:-1]) == []
    assert [record.kind for record in decoder.feed(call[-1:] + call[:5])] == ["call"]


def test_behind_damage_the_next_call_is_found() -> None:
    call = bytes.fromhex("6301006d000461646432" + "4900000002" + "4900000003" + "7a")
    damaged = call[:15] + b"\x00" + call[16:]
    records = codecs.decode(damaged + call + call[:4], V1)
    assert [(record.kind, record.offset) for record in records] == [
        ("error", 0),
        ("call", len(call)),
        ("error", 2 * len(call)),
    ]
    assert records[0].partial is not None
    assert records[0].partial.children[1].member("arguments") is not None


def test_finding_the_next_call_is_linear() -> None:
    # every third position looks like a reply whose value never ends
    data = b"\x00" + b"r\1\0V" * 30_000
    records = codecs.decode(data, V1)
    assert sum(record.length for record in records) == len(data)


@pytest.mark.parametrize(
    ("protocol", "data", "line"),
    [
        (V1, "6301006d000461646432490000000249000000037a", "call add2(int, int)"),
        (DRAFT, "7202004e7a", "reply ok null"),
        (DRAFT, "72020066" + "04636f6465" + "0141" + "076d657373616765" + "026e6f" + "7a7a", 'fault A "no"'),
        (FINAL, "43096f72672e782e4f6e65" + "90" + "60" + "60", "values: org.x.One, org.x.One"),
        (FINAL, "4802004301729291" + "72045b696e749091", "call r(int, int[])"),
        (FINAL, "05037a919205040374776f", "2 packets: list[2], …"),
    ],
)
def test_summaries(protocol: str, data: str, line: str) -> None:
    assert codecs.decode(bytes.fromhex(data), protocol)[0].summary == line


def test_packets_share_classes_and_not_references() -> None:
    first = bytes.fromhex("430141" + "91" + "0161" + "60" + "5190")
    second = bytes.fromhex("60" + "5190")
    data = b"P" + len(first).to_bytes(2) + first + b"P" + len(second).to_bytes(2) + second
    record = codecs.decode(data, FINAL)[0]
    assert record.error is None
    got = record.to_json()
    assert isinstance(got, dict)
    thing = {"$class": "A", "$id": 0, "a": {"$ref": 0}}
    assert got["message"] == {
        "packets": [{"values": [thing]}, {"values": [thing]}],
        "$wire": {"framing": "3.2.1"},
    }
    assert codecs.encode(got) == data
    packets = root_of(record.tape or Tape(Buffer(b""))).children[0].children
    assert packets[1].children[0].children[0].span == (len(first) + 6, len(data))


def test_an_envelope_cannot_blow_up() -> None:
    bomb = zlib.compress(b"\x00" * (1 << 27))
    data = codecs.encode(
        {"envelope": {"method": "com.caucho.hessian.io.Deflation", "parts": [{"content": bomb.hex()}]}}, DRAFT
    )
    record = codecs.decode(data, DRAFT)[0]
    assert record.error is None
    assert f'"content": "{bomb.hex()}"' in record.json_text()


# --- what the codecs of envelopes such as Dubbo use ------------------------------------------------------


def test_values_that_share_tables() -> None:
    out = BytesWriter()
    encoder = Encoder(out, d.FINAL)
    encoder.value({"$class": "A", "x": 1}, "first")
    encoder.value({"$class": "A", "x": 2}, "second")
    encoder.values([{"$ref": 1}], "rest")
    data = out.getvalue()
    assert data.hex() == "430141910178" + "6091" + "6092" + "5191"
    buffer = Buffer(data)
    cursor = Cursor(buffer, 0, len(data))
    tape = Tape(buffer)
    root = tape.open(t.head(t.ARRAY), 0, 0)
    values = Values(cursor, tape, Tables(d.FINAL))
    values.read(1)
    assert cursor.pos == 8
    values.read(TO_END)
    tape.close(root, cursor.pos)
    assert [child.reference for child in root_of(tape).children] == [0, 1, 1]


def test_values_up_to_a_mark() -> None:
    buffer = Buffer(b"\x90\x91z\x92")
    cursor = Cursor(buffer, 0, 4)
    tape = Tape(buffer)
    Values(cursor, tape, Tables(d.DRAFT)).read(TO_MARK)
    assert (cursor.pos, len(tape.indexes())) == (2, 2)


def test_a_cursor_that_is_bounded_asks_for_nothing() -> None:
    buffer = Buffer(b"\x92\x05hello")
    cursor = Cursor(buffer, 0, 4)
    with pytest.raises(DecodeError) as caught:
        Values(cursor, Tape(buffer), Tables(d.FINAL)).read(2)
    assert (caught.value.code, caught.value.needed) == ("truncated", 0)


def test_hostile_counts_take_no_memory() -> None:
    chance = random.Random(5)
    for protocol, opening in (
        (FINAL, "58497fffffff"),
        (FINAL, "430161497fffffff"),
        (DRAFT, "7690497fffffff"),
    ):
        data = bytes.fromhex(opening) + bytes(chance.choices(range(0x80, 0xC0), k=50))
        record = codecs.decode(data, protocol)[0]
        assert record.error is not None
