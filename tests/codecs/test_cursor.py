"""The cursor: what it reads, and the error it raises."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.esnp.decoding import unzigzag, varint_size
from wirelens.codecs.tape import Buffer

WIDEST = [0, 1, 127, 128, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def cursor(data: bytes, base: int = 0) -> Cursor:
    return Cursor(Buffer(data, base), 0, len(data))


def leb128(number: int, size: int = 0) -> bytes:
    out = bytearray()
    while number >= 0x80 or size > 1:
        out.append(number & 0x7F | 0x80)
        number >>= 7
        size -= 1
    out.append(number)
    return bytes(out)


def test_integers_are_big_endian() -> None:
    reader = cursor(bytes(range(0x80, 0x80 + 27)))
    assert reader.u8("a byte") == 0x80
    assert reader.u16("two bytes") == 0x8182
    assert reader.u32("four bytes") == 0x83848586
    assert reader.int32("four bytes") == 0x8788898A - (1 << 32)
    assert reader.int64("eight bytes") == 0x8B8C8D8E8F909192 - (1 << 64)
    assert reader.left() == 8
    assert reader.peek() == 0x93


@pytest.mark.parametrize("number", WIDEST)
def test_varints_of_64_bits_come_as_twos_complement(number: int) -> None:
    data = leb128(number)
    reader = cursor(data)
    value = reader.varint("a number")
    assert value & 0xFFFFFFFFFFFFFFFF == number
    assert reader.pos == len(data) == varint_size(value)


@given(number=st.integers(0, (1 << 64) - 1), size=st.integers(1, 10))
def test_overlong_varints_read(number: int, size: int) -> None:
    data = leb128(number, size)
    reader = cursor(data)
    assert reader.varint("a number") & 0xFFFFFFFFFFFFFFFF == number
    assert reader.pos == len(data)


@pytest.mark.parametrize(("raw", "number"), [(0, 0), (1, -1), (2, 1), (-2, (1 << 63) - 1), (-1, -1 << 63)])
def test_zigzag(raw: int, number: int) -> None:
    assert unzigzag(raw) == number


@pytest.mark.parametrize("data", [b"\xff" * 9 + b"\x02", b"\xff" * 10, b"\xff" * 11, b"\x80" * 10 + b"\0"])
def test_varints_past_64_bits_overflow(data: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        cursor(data, 100).varint("a number")
    assert (caught.value.code, caught.value.offset, caught.value.needed) == ("varint-overflow", 100, 0)


@pytest.mark.parametrize("size", range(10))
def test_a_cut_varint_needs_one_more_byte(size: int) -> None:
    with pytest.raises(DecodeError) as caught:
        cursor(b"\xff" * size).varint("a number")
    assert (caught.value.code, caught.value.needed) == ("truncated", size + 1)


def test_a_cut_read_says_what_is_needed_and_leaves_the_position() -> None:
    reader = cursor(b"abc", 40)
    reader.u8("a byte")
    with pytest.raises(DecodeError, match=r"expected four bytes \(4 bytes\), 2 left") as caught:
        reader.u32("four bytes")
    assert (caught.value.offset, caught.value.needed, reader.pos) == (41, 5, 1)


def test_a_drawn_in_end_needs_no_more_input() -> None:
    reader = cursor(b"abcdef")
    reader.end = 3
    with pytest.raises(DecodeError) as caught:
        reader.u32("four bytes")
    assert caught.value.needed == 0


def test_a_negative_length_is_an_error() -> None:
    with pytest.raises(DecodeError) as caught:
        cursor(b"abc").skip(-1, "a name")
    assert caught.value.code == "bad-length"


def test_errors_cross_process_boundaries() -> None:
    error = DecodeError("truncated", 7, "expected more", 9)
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.offset, again.text, again.needed) == ("truncated", 7, "expected more", 9)
    assert str(again) == "expected more (offset 7, truncated)"


def test_positions_map_to_the_input_through_segments() -> None:
    joined = Buffer(b"abcdef", 0, [(0, 100), (2, 110), (5, 120)])
    assert [joined.absolute(at) for at in range(7)] == [100, 101, 110, 111, 112, 120, 121]
    assert Buffer(b"abc", 10).absolute(2) == 12
    assert Buffer(b"unpacked", 50, None, True).absolute(6) == 50
