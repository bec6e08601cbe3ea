"""The decoder and the encoder: chunks, damage, limits, records by hand."""

import pytest

from wirelens import codecs
from wirelens.codecs import decoder as decoder_module
from wirelens.codecs.node import Json
from wirelens.codecs.record import Record

FLAG = bytes.fromhex("1e0000010800000000")
ADDRESS = bytes.fromhex("1700000628086563686f1e0000010800000000")


def spans(records: list[Record]) -> list[tuple[int, int, bool]]:
    return [(record.offset, record.length, record.error is None) for record in records]


def test_messages_come_as_soon_as_they_are_complete() -> None:
    decoder = codecs.Decoder("esnp-line")
    assert decoder.feed(FLAG[:5]) == []
    assert spans(decoder.feed(FLAG[5:] + FLAG + FLAG[:1])) == [(0, 9, True), (9, 9, True)]
    assert spans(decoder.feed(FLAG[1:])) == [(18, 9, True)]
    assert decoder.close() == []


def test_offsets_go_on_behind_a_gap() -> None:
    decoder = codecs.Decoder("esnp-line", 1000)
    assert spans(decoder.feed(FLAG + FLAG[:4])) == [(1000, 9, True)]
    assert spans(decoder.gap(50)) == [(1009, 4, False)]
    records = decoder.feed(FLAG)
    assert spans(records) == [(1063, 9, True)]
    root = records[0].root
    assert root is not None
    assert root.span == (1063, 1072)


def test_detection_waits_for_enough_and_settles_once() -> None:
    decoder = codecs.Decoder()
    records = decoder.feed(ADDRESS[:3])
    assert records == []
    assert decoder.protocol == "unknown"
    records = decoder.feed(ADDRESS[3:] + ADDRESS)
    records.extend(decoder.feed(b"\x14\xff\xff\xff"))
    records.extend(decoder.close())
    assert [record.protocol for record in records] == ["esnp-line"] * 3
    assert records[-1].error is not None


def test_unknown_bytes_are_kept_in_pieces_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"no protocol at all, " * 5000
    records = codecs.decode(data)
    assert spans(records) == [(0, 100_000, False)]
    assert records[0].error is not None
    assert records[0].error.code == "unknown-protocol"
    assert (records[0].protocol, records[0].kind) == ("unknown", "opaque")
    assert codecs.encode(records) == data
    decoder = codecs.Decoder("unknown")
    assert spans(decoder.feed(b"abc")) == [(0, 3, False)]


def test_damage_ends_at_a_bounded_size() -> None:
    size = decoder_module.OPAQUE_BYTES + 100
    records = codecs.decode(b"\x14\xff\xff\xff" + b"\x55" * size, "esnp-line")
    assert records[0].length == decoder_module.OPAQUE_BYTES
    assert sum(record.length for record in records) == size + 4


def test_a_protocol_that_does_not_exist() -> None:
    with pytest.raises(LookupError, match="esnp-line"):
        codecs.decode(b"", "esnp")
    with pytest.raises(LookupError):
        codecs.encode({"lines": []}, "esnp")


def test_empty_input_has_no_records() -> None:
    assert codecs.decode(b"") == []
    assert codecs.decode(b"", "esnp-line") == []
    assert codecs.encode([]) == b""


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (None, ""),
        (5, ""),
        ([5], "[0]"),
        ([{"lines": []}], "[0]"),
        ([{"protocol": 5}], "[0].protocol"),
        ([{"protocol": "esnp-line", "message": None}], "[0]"),
        ([{"protocol": "esnp-line", "message": None, "bytes": "x"}], "[0].bytes"),
        ([{"protocol": "unknown", "message": {}}], "[0].message"),
        ([{"protocol": "esnp-line", "message": {"lines": [{"type": "NOPE"}]}}], "[0].message.lines[0].type"),
        ({"protocol": "esnp-line", "message": {"lines": 1}}, "message"),
    ],
)
def test_records_that_do_not_encode(given: Json, path: str) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode(given)
    assert caught.value.path == path


def test_records_as_json_encode_what_they_hold() -> None:
    good: Json = {"protocol": "esnp-line", "offset": 7, "message": {"lines": [{"type": "FLAG", "flag": 4}]}}
    bad: Json = {"protocol": "unknown", "message": None, "bytes": "c0ffee"}
    assert codecs.encode([good, bad]) == FLAG + b"\xc0\xff\xee"
    again = Record.from_json(good)
    assert (again.offset, again.length) == (7, 9)
    assert again.root is not None
    assert again.root.span == (7, 16)
    assert Record.from_json(bad).to_json() == {
        "protocol": "unknown",
        "offset": 0,
        "length": 3,
        "message": None,
        "error": {"code": "unknown-protocol", "offset": 0, "text": "no protocol has enough evidence"},
        "bytes": "c0ffee",
    }


def test_the_reading_form_has_no_tags() -> None:
    message: Json = {
        "lines": [
            {"type": "DATA", "name": "k", "value": {"$map": [["a", {"$int64": 5}], ["a", {"$bytes": "00"}]]}}
        ]
    }
    record = codecs.decode(codecs.encode(message, "esnp-line"), "esnp-line")[0]
    assert '"value": {"a": 5, "a": "00"}' in record.json_text(True)
    assert '{"$int64": 5}' in record.json_text()
