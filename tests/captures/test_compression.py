"""Captures in xz, bzip2, Zstandard and LZ4: whole, in chunks, damaged, without the module that unpacks."""

import bz2
import importlib
import lzma
import random
from collections.abc import Callable

import pytest
from building import ethernet, ipv4, pcap, tcp

from wirelens.codecs.captures import PacketReader, Reader, compression, flows
from wirelens.codecs.captures.gzip import STEP
from wirelens.codecs.captures.magic import COMPRESSIONS, compression_of, may_be_compressed

FRAMES = [
    ethernet(ipv4(tcp(seq=1 + index * 500, data=random.Random(index).randbytes(500)))) for index in range(500)
]
CAPTURE = pcap(FRAMES)


def zstd(data: bytes) -> bytes:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            packed: bytes = importlib.import_module(name).compress(data)
        except ImportError:
            continue
        return packed
    pytest.skip("no module for Zstandard")


def lz4(data: bytes) -> bytes:
    packed: bytes = pytest.importorskip("lz4.frame").compress(data, content_checksum=True)
    return packed


def bz2_small(data: bytes) -> bytes:
    return bz2.compress(data, 1)  # blocks of 100 kB, so that there are several


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "xz": lzma.compress,
    "bz2": bz2_small,
    "zstd": zstd,
    "lz4": lz4,
}
EVERY = pytest.mark.parametrize("name", PACKERS)


def read(data: bytes, size: int) -> tuple[list[bytes], PacketReader]:
    reader = PacketReader()
    packets = [
        packet.data
        for start in range(0, len(data), size)
        for step in reader.steps(data[start : start + size])
        for packet in step
    ]
    return packets + [packet.data for packet in reader.close()], reader


@EVERY
@pytest.mark.parametrize("size", [1, 1000, 1 << 16, 1 << 20])
def test_a_compressed_capture(name: str, size: int) -> None:
    packed = PACKERS[name](CAPTURE)
    if size == 1:
        packed = PACKERS[name](pcap(FRAMES[:5]))
    packets, reader = read(packed, size)
    assert packets == (FRAMES if size > 1 else FRAMES[:5])
    assert (reader.container, reader.compressed, reader.splittable) == ("pcap", True, False)
    assert (reader.notes, reader.damages, reader.bytes_fed) == ([], 0, len(packed))
    assert compression_of(packed[:10]) == name


@EVERY
def test_several_streams_follow_one_another(name: str) -> None:
    pack = PACKERS[name]
    half = len(CAPTURE) // 2
    packets, reader = read(pack(CAPTURE[:half]) + pack(b"") + pack(CAPTURE[half:]) + bytes(64), 1 << 16)
    assert (packets, reader.notes) == (FRAMES, [])
    packets, reader = read(pack(CAPTURE) + b"something else that follows", 1 << 16)
    assert packets == FRAMES
    assert [note.code for note in reader.notes] in (["skipped-bytes"], ["truncated"])
    assert reader.notes[0].offset == len(CAPTURE)


@EVERY
def test_portions_are_bounded(name: str) -> None:
    packed = PACKERS[name](bytes(40 * STEP))
    unpacker = compression.unpacker(name)
    assert unpacker is not None
    sizes = [len(part) for part in unpacker.steps(packed)]
    assert (sum(sizes), unpacker.unpacked, unpacker.close()) == (40 * STEP, 40 * STEP, b"")
    assert max(sizes) <= STEP


@EVERY
def test_what_is_cut_gives_what_there_is(name: str) -> None:
    packed = PACKERS[name](CAPTURE)
    packets, reader = read(packed[: len(packed) * 3 // 4], 1 << 16)
    assert packets == FRAMES[: len(packets)]
    assert len(packets) > 100 or name in ("zstd", "lz4")  # whose blocks may be as large as this capture
    assert "truncated" in [note.code for note in reader.notes]
    assert f"the {COMPRESSIONS[name]} data is cut off" in [note.text for note in reader.notes]


@EVERY
def test_damage_is_noted_and_does_not_depend_on_chunks(name: str) -> None:
    packed = bytearray(PACKERS[name](CAPTURE))
    packed[len(packed) * 3 // 4] ^= 0x55
    packets, reader = read(bytes(packed), 1 << 16)
    assert packets == FRAMES[: len(packets)] or name != "bz2"  # the others check at the end only, or never
    assert reader.compressed
    if name in ("xz", "bz2"):
        assert any(f"the {COMPRESSIONS[name]} data is damaged here" in note.text for note in reader.notes)
    again, other = read(bytes(packed), 1 << 12)
    assert (again, other.notes) == (packets, reader.notes)


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_what_only_begins_like_it_is_given_out_as_it_is(name: str) -> None:
    magic = {
        "xz": b"\xfd7zXZ\0",
        "bz2": b"BZh91AY&SY",
        "zstd": b"\x28\xb5\x2f\xfd",
        "lz4": b"\x04\x22\x4d\x18",
    }
    data = magic.get(name, b"\x1f\x8b\x08") + b"\xff" * 3000
    if name in ("zstd", "lz4"):
        PACKERS[name](b"")  # skips where the module is missing
    unpacker = compression.unpacker(name)
    assert unpacker is not None
    content = b"".join([*unpacker.steps(data[:1500]), *unpacker.steps(data[1500:]), unpacker.close()])
    assert content == data
    assert (unpacker.is_packed, unpacker.notes, unpacker.unpacked) == (False, [], len(data))


@pytest.mark.parametrize("name", PACKERS)
def test_without_the_module_the_compression_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = PACKERS[name](CAPTURE)

    def missing(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr(importlib, "import_module", missing)
    reader = Reader()
    assert [pieces for pieces in reader.steps(packed) if pieces] == []
    assert reader.close() == []
    assert (reader.container, reader.unsupported) == (name, COMPRESSIONS[name])
    (note,) = reader.damage
    assert (note.code, note.offset) == ("unsupported-capture", 0)
    assert note.text == f"compressed with {COMPRESSIONS[name]}, which needs the extra `compression`"


def test_flows_of_a_compressed_capture() -> None:
    (flow,) = flows([lzma.compress(CAPTURE)])
    assert flow.directions[0].length == 500 * 500


def test_magic() -> None:
    assert compression_of(b"BZh91AY") == ""
    assert may_be_compressed(b"BZh91AY")
    assert not may_be_compressed(b"BZh91AY&SX")
    assert not may_be_compressed(b"plain")
    assert compression_of(bz2.compress(b"")) == "bz2"
