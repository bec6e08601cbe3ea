"""Looking over text eight bytes at a time, and numbers and dates by arithmetic, against the plain way."""

import json
import math
import struct
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from wirelens import codecs
from wirelens.codecs import scan_uncompiled
from wirelens.codecs.numbers import (
    FIRST_MILLISECOND,
    LAST_MILLISECOND,
    NO_DATE,
    date_text,
    read_date,
    write_int,
)
from wirelens.codecs.scan import (
    SLOTS,
    joined_pair,
    json_end,
    plain_end,
    same_bytes,
    slot_of,
    starts_with,
    write_part,
)

# Pieces of text: plain, escaped, of each length of UTF-8, and malformed.
PIECES = [
    b"abc",
    b"12345678",
    b"x" * 9,
    b" ~",
    b'"',
    b"\\",
    b"\0",
    b"\x1f",
    b"\x7f",
    *[text.encode() for text in ("\x80", "é", "中", "\ud7ff", "\ue000", "😀", "\U0010ffff")],
    b"\xed\xa0\xbd",
    b"\xed\xb8\x80",
    b"\xc0\x80",
    b"\xe0\x80\x80",
    b"\xf0\x80\x80\x80",
    b"\xf4\x90\x80\x80",
    b"\x80",
    b"\xe4\xb8",
    b"\xff",
]
texts = st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join)


def is_plain(byte: int) -> bool:
    return 0x20 <= byte <= 0x7E and byte not in b'"\\'


def is_ready(content: bytes) -> bool:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    hidden = any(char == "\x7f" or "\x80" <= char < "\xa0" for char in text)
    return not hidden and json.dumps(text, ensure_ascii=False) == f'"{text}"'


@given(texts, st.data())
def test_stretches(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    plain = plain_end(data, start, end)
    assert all(map(is_plain, data[start:plain]))
    assert plain == end or not is_plain(data[plain])
    ready = json_end(data, start, end)
    assert is_ready(data[start:ready])
    # nor could the next character stand there
    assert not any(is_ready(data[ready:more]) for more in range(ready + 1, min(ready + 5, end + 1)))


@pytest.mark.parametrize("text", ["😀", "\U00010000", "\U0010ffff"])
def test_pairs_of_surrogates(text: str) -> None:
    units = text.encode("utf-16-be", "surrogatepass")
    content = b"".join(
        chr(int.from_bytes(units[at : at + 2], "big")).encode("utf-8", "surrogatepass") for at in (0, 2)
    )
    assert joined_pair(b"a" + content, 1, 7) == text.encode()
    assert joined_pair(b"a" + content, 1, 6) == b""
    assert joined_pair(content[3:] + content[:3], 0, 6) == b""
    assert joined_pair(content[:3] * 2, 0, 6) == b""
    assert joined_pair(b"abcdef", 0, 6) == b""


@given(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 2000) | st.integers(10**14, 10**16))
def test_integers(number: int) -> None:
    out = BytesWriter()
    write_int(out, number)
    assert out.getvalue() == b"%d" % number


decimals = st.builds(
    lambda number, digits: number / 10**digits, st.integers(-(10**13), 10**13), st.integers(0, 4)
)


@given(decimals | st.floats(allow_nan=False, allow_infinity=False))
def test_doubles(value: float) -> None:
    (record,) = codecs.decode(b"D" + struct.pack(">d", value), "hessian1")
    assert record.json_text().endswith(f'{{"values": [{value!r}]}}}}')


def test_zeros() -> None:
    (record,) = codecs.decode(b"D" + struct.pack(">d", -0.0) + b"D" + bytes(8), "hessian1")
    assert '"values": [-0.0, 0.0]' in record.json_text()
    assert math.copysign(1, json.loads(record.json_text())["message"]["values"][0]) == -1


@given(st.integers(FIRST_MILLISECOND, LAST_MILLISECOND))
def test_dates(milliseconds: int) -> None:
    text = date_text(milliseconds)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    assert text == moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    assert read_date(text.encode()) == milliseconds


@pytest.mark.parametrize(
    "text",
    [
        "1998-02-29T00:00:00.000Z",
        "1900-02-29T00:00:00.000Z",
        "1998-04-31T00:00:00.000Z",
        "1998-13-01T00:00:00.000Z",
        "1998-00-01T00:00:00.000Z",
        "1998-01-00T00:00:00.000Z",
        "0000-01-01T00:00:00.000Z",
        "1998-01-01T24:00:00.000Z",
        "1998-01-01T00:60:00.000Z",
        "1998-01-01T00:00:60.000Z",
        "1998-01-01T00:00:00.000+",
        "1998-01-01 00:00:00.000Z",
        "199a-01-01T00:00:00.000Z",
    ],
)
def test_no_dates(text: str) -> None:
    assert read_date(text.encode()) == NO_DATE


@given(st.binary(max_size=300), st.data())
def test_parts_are_copied(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(at, len(data)))
    out = BytesWriter()
    write_part(out, data, at, end)
    assert out.getvalue() == data[at:end]


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_parts_are_compared(data: bytes, other: bytes, at: int, place: int) -> None:
    at = min(at, len(data))
    assert starts_with(data, at, other) == data[at:].startswith(other)
    assert starts_with(data + other, len(data), other)
    place = min(place, len(data))
    size = len(data) - max(at, place)
    assert same_bytes(data, at, place, size) == (data[at : at + size] == data[place : place + size])


@given(st.binary(max_size=60), st.binary(max_size=9))
def test_a_slot_is_the_same_wherever_the_name_lies(name: bytes, before: bytes) -> None:
    slot = slot_of(name, 0, len(name))
    assert 0 <= slot < SLOTS == scan_uncompiled.SLOTS
    assert slot_of(before + name + b"more after", len(before), len(name)) == slot


def test_names_spread_over_the_slots() -> None:
    names = [b"com.example.order.model.Class%d" % number for number in range(SLOTS // 2)]
    assert len({slot_of(name, 0, len(name)) for name in names}) > SLOTS // 4
