"""gzip unpacked: whole, in chunks, damaged in every way; every command gets all that can be unpacked."""

import gzip
import random
import struct
import zlib
from pathlib import Path

import pytest
from building import ethernet, ipv4, pcap, tcp
from hypothesis import example, given
from hypothesis import strategies as st

from wirelens.codecs.captures.gzip import STEP, Unpacker

TEXT = b"".join(b"%d: words that deflate shortens, over and over\n" % number for number in range(5000))
NOISE = random.Random(7).randbytes(3000)


def unpack(data: bytes, size: int = 0) -> tuple[bytes, list[str], bool]:
    """Content, codes of notes, and whether it is gzip."""
    unpacker = Unpacker()
    parts: list[bytes] = []
    for start in range(0, len(data), size or max(len(data), 1)):
        parts.extend(unpacker.steps(data[start : start + (size or len(data))]))
    assert all(len(part) <= STEP for part in parts) or not unpacker.is_packed
    parts.append(unpacker.close())
    content = b"".join(parts)
    assert unpacker.unpacked == len(content)
    assert unpacker.damages == len(unpacker.notes)
    return content, [note.code for note in unpacker.notes], unpacker.is_packed


def member(content: bytes, flags: int = 0, fields: bytes = b"", level: int = 6) -> bytes:
    """A member with optional header fields, made by hand after RFC 1952."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = packer.compress(content) + packer.flush()
    head = struct.pack("<2sBBIBB", b"\x1f\x8b", 8, flags, 0, 0, 255)
    return head + fields + body + struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)


@pytest.mark.parametrize("size", [0, 1, 7, 1000])
@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(TEXT, mtime=0),
        member(TEXT, 4, struct.pack("<H", 5) + b"extra"),
        member(TEXT, 8, b"name\0"),
        member(TEXT, 16, b"comment\0"),
        member(TEXT, 31, struct.pack("<H", 0) + b"name\0comment\0\x12\x34"),
        member(TEXT[:100]) + member(TEXT[100:], 8, b"second\0"),
        member(b"") + member(TEXT),
        member(TEXT[:1000]) + bytes(600) + member(TEXT[1000:]) + bytes(512),
    ],
)
def test_whole_files(packed: bytes, size: int) -> None:
    assert unpack(packed, size) == (TEXT, [], True)


def test_portions_are_bounded() -> None:
    packed = gzip.compress(bytes(50 * STEP), mtime=0)
    sizes = [len(part) for part in Unpacker().steps(packed)]
    assert sum(sizes) == 50 * STEP
    assert max(sizes) <= STEP


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_wrong_checksum_loses_nothing(size: int) -> None:
    first, second = bytearray(gzip.compress(TEXT, mtime=0)), gzip.compress(NOISE, mtime=0)
    for place in (-1, -5):  # the length, the checksum
        damaged = bytearray(first)
        damaged[place] ^= 0x40
        assert unpack(bytes(damaged), size) == (TEXT, ["bad-checksum"], True)
        assert unpack(bytes(damaged) + second, size) == (TEXT + NOISE, ["bad-checksum"], True)


def test_cut_anywhere_gives_what_there_is() -> None:
    packed = gzip.compress(TEXT[:2000], mtime=0) + gzip.compress(NOISE, mtime=0)
    first = len(gzip.compress(TEXT[:2000], mtime=0))
    whole = TEXT[:2000] + NOISE
    for end in range(first - 30, len(packed)):
        content, codes, is_packed = unpack(packed[:end])
        assert whole.startswith(content)
        assert is_packed
        assert codes == ([] if end == first else ["truncated"])
        expected = zlib.decompressobj(31).decompress(packed[:end])
        assert len(content) >= len(expected)


@pytest.mark.parametrize("size", [0, 1, 333])
def test_what_follows_that_is_not_gzip(size: int) -> None:
    for garbage in (b"what else", b"\0\0\0\0x", b"\x1f\x8b\x07", b"\x1f\x8b\x08\xff" + bytes(20)):
        assert unpack(gzip.compress(TEXT, mtime=0) + garbage, size) == (TEXT, ["skipped-bytes"], True)


@pytest.mark.slow
def test_damage_in_the_data_gives_all_that_is_before_it() -> None:
    packed = gzip.compress(TEXT, mtime=0)
    for place in range(40, len(packed) - 8, 97):
        damaged = packed[:place] + b"\xff" * (len(packed) - place)
        content, codes, is_packed = unpack(damaged)
        # zlib itself, byte by byte: what it gives before it meets the damage
        oracle = zlib.decompressobj(31)
        expected = b""
        for at in range(len(damaged)):
            try:
                expected += oracle.decompress(damaged[at : at + 1])
            except zlib.error:
                break
        assert codes in (["bad-value"], ["truncated"]) if is_packed else not codes
        assert content.startswith(expected) if is_packed else content == damaged and not expected
        assert unpack(damaged, 50) == (content, codes, is_packed)


@pytest.mark.parametrize("size", [0, 1, 4096])
@pytest.mark.parametrize(
    "data",
    [
        b"\x1f\x8b\x08",
        b"\x1f\x8b\x08" + bytes(7),
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 9000,
        b"\x1f\x8b\x08\xe0" + bytes(50),
        gzip.compress(b"", mtime=0)[:-3],
        gzip.compress(b"", mtime=0)[:-8] + bytes(range(1, 9)) + b"more",
    ],
)
def test_what_only_begins_like_gzip_is_given_out_as_it_is(data: bytes, size: int) -> None:
    assert unpack(data, size) == (data, [], False)


@given(
    st.binary(max_size=400), st.lists(st.tuples(st.integers(0, 500), st.integers(0, 255))), st.integers(1, 60)
)
@example(b"", [(10, 58)], 1)
def test_any_damage_is_survived(content: bytes, damage: list[tuple[int, int]], size: int) -> None:
    data = bytearray(gzip.compress(content, mtime=0))
    for at, value in damage:
        data[at % len(data)] = value
    if data[:3] == b"\x1f\x8b\x08":
        assert unpack(bytes(data), size) == unpack(bytes(data))


def frames(count: int) -> list[bytes]:
    return [
        ethernet(ipv4(tcp(seq=1 + 14 * number, data=b"\x1e\0\0\1\x08\0\0\0\0 five")))
        for number in range(count)
    ]


def test_field_captures(shared: Path) -> None:
    from feeding import fed

    from wirelens.codecs.captures import Reader

    folder = shared / "field" / "streams"
    if not folder.exists():
        pytest.skip("no field captures here")
    reader = Reader()
    fed(reader, (folder / "crc.pcap.gz").read_bytes())
    reader.close()
    assert reader.packets > 0
    assert [note.code for note in reader.damage] == ["bad-checksum"]
    content, codes, is_packed = unpack((folder / "damaged.bin.gz").read_bytes())
    assert content
    assert codes
    assert is_packed


def test_a_damaged_capture_gives_its_packets() -> None:
    from feeding import fed

    from wirelens.codecs.captures import Reader

    packed = bytearray(gzip.compress(pcap(frames(200))))
    packed[-6] ^= 1
    reader = Reader()
    fed(reader, bytes(packed))
    reader.close()
    assert (reader.packets, [note.code for note in reader.damage]) == (200, ["bad-checksum"])
