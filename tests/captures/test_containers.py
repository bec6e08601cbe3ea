"""Capture files to packets."""

import gzip
import pickle
import struct
import tempfile
import tracemalloc

import pytest
from building import START, block, enhanced, ethernet, interface, ipv4, option, pcap, section, tcp
from feeding import fed
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.captures import FRESH, PacketReader, Part, range_reader, sniff, split
from wirelens.codecs.captures.pcap import Packet

FRAMES = [ethernet(ipv4(tcp(seq=index, data=bytes([index]) * (index * 7 % 50)))) for index in range(12)]


def read(data: bytes, size: int = 0) -> tuple[list[Packet], PacketReader]:
    reader = PacketReader()
    packets: list[Packet] = []
    for start in range(0, len(data), size or max(len(data), 1)):
        packets += fed(reader, data[start : start + (size or len(data))])
    return packets + reader.close(), reader


def facts(packets: list[Packet]) -> list[tuple[int, int, int, int, bytes, int, int]]:
    return [
        (p.number, p.time_us, p.link_type, p.interface, p.data, p.original_length, p.file_offset)
        for p in packets
    ]


def codes(reader: PacketReader) -> list[str]:
    return [note.code for note in reader.notes]


def ng(order: str = "<") -> bytes:
    parts = [section(order), interface(1, order=order)]
    parts += [enhanced(frame, START * 1_000_000 + i * 1000, 0, order) for i, frame in enumerate(FRAMES)]
    return b"".join(parts)


def snoop() -> bytes:
    out = [b"snoop\0\0\0" + struct.pack(">II", 2, 4)]
    for index, frame in enumerate(FRAMES):
        padding = -len(frame) % 4
        length = 24 + len(frame) + padding
        out.append(
            struct.pack(">IIIIII", len(frame), len(frame), length, 0, START, index * 1000)
            + frame
            + bytes(padding)
        )
    return b"".join(out)


FILES = {
    "little": pcap(FRAMES),
    "big": pcap(FRAMES, order=">"),
    "nanoseconds": pcap(FRAMES, magic=0xA1B23C4D),
    "big-nanoseconds": pcap(FRAMES, magic=0xA1B23C4D, order=">"),
    "modified": pcap(FRAMES, magic=0xA1B2CD34, extra=bytes(8)),
    "modified-long": pcap(FRAMES, magic=0xA1B2CD34, extra=bytes(12)),
    "big-modified": pcap(FRAMES, magic=0xA1B2CD34, extra=bytes(8), order=">"),
    "nokia": pcap(FRAMES, extra=bytes(4)),
    "ixia": pcap(FRAMES, magic=0x1C0001AC, header=struct.pack("<I", 0)),
    "version-2.3": pcap(FRAMES, version=(2, 3)),
    "pcapng": ng(),
    "big-pcapng": ng(">"),
    "snoop": snoop(),
    "gzip": gzip.compress(pcap(FRAMES)),
}


@pytest.mark.parametrize("name", FILES)
def test_every_form_gives_the_same_packets(name: str) -> None:
    packets, reader = read(FILES[name])
    assert [p.data for p in packets] == FRAMES
    assert [p.time_us for p in packets] == [START * 1_000_000 + i * 1000 for i in range(len(FRAMES))]
    assert [p.number for p in packets] == list(range(1, len(FRAMES) + 1))
    assert {p.link_type for p in packets} == {1}
    assert all(p.original_length == len(p.data) for p in packets)
    assert reader.notes == []
    assert reader.compressed == (name == "gzip")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("size", [1, 3, 64])
def test_chunks_do_not_matter(name: str, size: int) -> None:
    whole, first = read(FILES[name])
    parts, second = read(FILES[name], size)
    assert facts(whole) == facts(parts)
    assert first.notes == second.notes
    assert first.bytes_read == second.bytes_read


@pytest.mark.parametrize("name", FILES)
def test_a_cut_file_gives_every_packet_before_the_cut(name: str) -> None:
    data = FILES[name]
    whole = facts(read(data)[0])
    for cut in range(0, len(data), 5):
        packets, reader = read(data[:cut])
        if name in ("nokia", "modified-long") and cut < whole[2][-1]:
            continue  # two records tell how long their headers are
        assert facts(packets) == whole[: len(packets)]
        if name != "gzip":
            ends = [offset for *_, offset in whole[1:]] + [len(data)]
            assert len(packets) == sum(end <= cut for end in ends)
        if cut > 0 and not codes(reader):
            assert name != "gzip"
            assert cut in (reader.position, 0)


def test_swapped_lengths_of_old_versions() -> None:
    frame = FRAMES[3]
    data = pcap([frame], version=(2, 2), lengths=[len(frame)]) + b""
    swapped = bytearray(data)
    swapped[24 + 8 : 24 + 16] = struct.pack("<II", len(frame) + 9, len(frame))
    (packet,) = read(bytes(swapped))[0]
    assert (packet.data, packet.original_length) == (frame, len(frame) + 9)


def test_a_captured_length_beyond_the_original_is_believed() -> None:
    (packet,) = read(pcap([FRAMES[3]], lengths=[3]))[0]
    assert packet.data == FRAMES[3]


@pytest.mark.parametrize("claim", [0x7FFFFFFF, 0xFFFFFFFF, 2_000_000])
def test_a_claimed_length_allocates_nothing_and_reading_goes_on(claim: int) -> None:
    data = bytearray(pcap(FRAMES))
    offset = read(bytes(data))[0][4].file_offset
    data[offset + 8 : offset + 12] = struct.pack("<I", claim)
    tracemalloc.start()
    packets, reader = read(bytes(data))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert [p.data for p in packets] == FRAMES[:4] + FRAMES[5:]
    assert codes(reader) == ["bad-length", "skipped-bytes"]
    assert reader.notes[0].offset == offset
    assert facts(read(bytes(data), 7)[0]) == facts(packets)


@pytest.mark.parametrize("size", [16, 4096, 100_000])
def test_zeros_after_the_records_are_not_packets(size: int) -> None:
    packets, reader = read(pcap(FRAMES) + bytes(size))
    assert len(packets) == len(FRAMES)
    assert codes(reader) == ["bad-length"]


@pytest.mark.parametrize("extra", [4, 8, 12])
def test_a_single_record_tells_the_size_of_its_header(extra: int) -> None:
    magic = 0xA1B2C3D4 if extra == 4 else 0xA1B2CD34
    packets, reader = read(pcap(FRAMES[3:4], magic=magic, extra=bytes(extra)))
    assert [p.data for p in packets] == FRAMES[3:4]
    assert reader.notes == []


def test_trailing_bytes_are_said() -> None:
    packets, reader = read(pcap(FRAMES) + bytes(7))
    assert len(packets) == len(FRAMES)
    assert [tuple(note)[:2] for note in reader.notes] == [("truncated", len(pcap(FRAMES)))]


def test_concatenated_files() -> None:
    packets, reader = read(pcap(FRAMES[:5]) + pcap(FRAMES[5:]))
    assert [p.data for p in packets] == FRAMES
    assert reader.notes == []
    packed = gzip.compress(pcap(FRAMES[:5])) + gzip.compress(pcap(FRAMES[5:])) + bytes(512)
    for size in (0, 1, 10):
        packets, reader = read(packed, size)
        assert [p.data for p in packets] == FRAMES
        assert reader.notes == []


def test_damaged_gzip_is_said() -> None:
    packed = gzip.compress(pcap(FRAMES))
    packets, reader = read(packed[:-20])
    assert codes(reader)[0] == "truncated"
    packets, reader = read(packed[:-8] + bytes(8))
    assert len(packets) == len(FRAMES)
    assert codes(reader) == ["bad-checksum"]
    noise = [ethernet(bytes((index * index + part * 7) % 251 for part in range(200))) for index in range(300)]
    broken = bytearray(gzip.compress(pcap(noise)))
    broken[len(broken) // 2 :] = b"\xff" * (len(broken) - len(broken) // 2)
    packets, reader = read(bytes(broken))
    assert [p.data for p in packets[:100]] == noise[:100]
    assert codes(reader)
    packets, reader = read(packed + b"what else")
    assert len(packets) == len(FRAMES)
    assert codes(reader) == ["skipped-bytes"]


def test_gzip_is_unpacked_in_bounded_portions() -> None:
    packed = gzip.compress(pcap([ethernet(bytes(1000))] * 20_000))
    reader = PacketReader()
    most = 0
    total = 0
    for step in reader.steps(packed):
        most = max(most, len(step))
        total += len(step)
    assert total == 20_000
    assert most < 400


def test_interfaces_sections_and_times() -> None:
    seconds = option(9, b"\0") + option(14, struct.pack("<q", 100))
    binary = option(9, b"\x8a")
    nano = option(9, b"\x09") + option(2, b"eth0") + option(0, b"")
    data = b"".join(
        [
            section(),
            interface(1, nano),
            interface(101, seconds),
            interface(113, binary),
            enhanced(FRAMES[0], 1_234_567_890, 0, options=option(1, b"a comment")),
            enhanced(FRAMES[1], 5, 1),
            enhanced(FRAMES[2], 1024, 2),
            block(0x0BAD, b"unknown block here"),
            block(3, struct.pack("<I", len(FRAMES[3])) + FRAMES[3]),
            block(2, struct.pack("<HHIIII", 1, 0, 0, 7, len(FRAMES[4]), 99) + FRAMES[4]),
            section(">"),
            interface(228, order=">"),
            enhanced(FRAMES[5], 77, 0, ">"),
        ]
    )
    for size in (0, 1, 13):
        packets, reader = read(data, size)
        assert [(p.time_us, p.link_type, p.interface) for p in packets] == [
            (1_234_567, 1, 0),
            (105_000_000, 101, 1),
            (1_000_000, 113, 2),
            (0, 1, 0),
            (107_000_000, 101, 1),
            (77, 228, 0),
        ]
        assert [p.data for p in packets] == FRAMES[:6]
        assert packets[4].original_length == 99
        assert reader.notes == []


def test_extreme_times_do_not_overflow() -> None:
    for resolution in (b"\0", b"\x06", b"\x7f", b"\x80", b"\xff"):
        for offset in (-(1 << 63), (1 << 63) - 1):
            options = option(9, resolution) + option(14, struct.pack("<q", offset))
            data = section() + interface(1, options) + enhanced(FRAMES[0], (1 << 64) - 1)
            (packet,) = read(data)[0]
            assert -(1 << 62) < packet.time_us < 1 << 62
    (packet,) = read(section() + interface() + enhanced(FRAMES[0], (1 << 64) - 1))[0]
    assert packet.time_us == (1 << 62) - 1


@pytest.mark.parametrize(
    "damage",
    [
        bytes(20),
        b"\xff" * 33,
        struct.pack("<II", 6, 0xFFFFFFFF),
        struct.pack("<II", 6, 8),
        struct.pack("<III", 6, 40, 1) + bytes(25) + struct.pack("<I", 41),
    ],
)
def test_pcapng_resumes_after_damage(damage: bytes) -> None:
    start = section() + interface() + enhanced(FRAMES[0]) + enhanced(FRAMES[1])
    data = start + damage + enhanced(FRAMES[2]) + enhanced(FRAMES[3]) + enhanced(FRAMES[4])
    packets, reader = read(data)
    assert [p.data for p in packets[:2]] == FRAMES[:2]
    assert [p.data for p in packets[-2:]] == FRAMES[3:5]
    assert codes(reader)[:2] == ["bad-length", "skipped-bytes"]
    assert reader.notes[0].offset == len(start)
    assert facts(read(data, 5)[0]) == facts(packets)


def test_a_packet_without_interface_is_said() -> None:
    packets, reader = read(section() + enhanced(FRAMES[0]) + enhanced(FRAMES[1]))
    assert packets == []
    assert codes(reader) == ["unknown-interface"]


@pytest.mark.parametrize("name", ["little", "big", "nanoseconds", "modified", "version-2.3"])
def test_pcap_whose_first_record_is_bad(name: str) -> None:
    data = bytearray(FILES[name])
    order = ">" if name == "big" else "<"
    data[24 + 8 : 24 + 16] = struct.pack(order + "II", 0x7FFFFFFF, 0x7FFFFFFF)
    following = read(FILES[name])[0][1].file_offset
    for size in (0, 1, 7):
        packets, reader = read(bytes(data), size)
        assert [packet.data for packet in packets] == FRAMES[1:]
        assert codes(reader) == ["bad-length", "skipped-bytes"]
        assert reader.notes[1].text == f"{following - 24} bytes skipped"


@pytest.mark.parametrize(
    ("at", "value"),
    [(8, 0x7FFFFFFF), (8, 23), (4, 0x10000), (8, 0)],
    ids=["length-large", "length-small", "captured-large", "length-zero"],
)
@pytest.mark.parametrize("record", [0, 4])
def test_snoop_with_a_bad_record(at: int, value: int, record: int) -> None:
    data = bytearray(snoop())
    offset = read(bytes(data))[0][record].file_offset
    data[offset + at : offset + at + 4] = struct.pack(">I", value)
    for size in (0, 1, 7):
        packets, reader = read(bytes(data), size)
        assert [packet.data for packet in packets] == FRAMES[:record] + FRAMES[record + 1 :]
        assert codes(reader) == ["bad-length", "skipped-bytes"]
        assert reader.notes[0].offset == offset
        assert reader.notes[1].text == f"{24 + len(FRAMES[record]) + -len(FRAMES[record]) % 4} bytes skipped"


def test_snoop_resumes_after_garbage_and_ends_in_it() -> None:
    whole = snoop()
    offset = read(whole)[0][3].file_offset
    for garbage in (b"\xff" * 100, b"\xff" * 7 + bytes(1000), bytes(range(255, 0, -1))):
        packets, reader = read(whole[:offset] + garbage + whole[offset:])
        assert [packet.data for packet in packets] == FRAMES
        assert reader.notes[-1].text == f"{len(garbage)} bytes skipped"
        packets, reader = read(whole + garbage)
        assert [packet.data for packet in packets] == FRAMES
        assert codes(reader) == ["bad-length"]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"", ""),
        (b"GET / HTTP/1.1", ""),
        (b"\n\r\r\n" + bytes(8), ""),
        (section()[:8], "pcapng"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"RTSS\1\1", "netmon"),
        (b"GMBU\0\2", "netmon"),
        (b"TRSNIFF data    \x1a", "ngsniffer"),
        (b"\xaa\xaa\xaa\xaa\x20\0\0\0", "5views"),
        (b"+---------+---------------+----------+", "k12"),
        (snoop(), "snoop"),
        (pcap([]), "pcap"),
        (pcap([], order=">"), "pcap"),
    ],
)
def test_sniff(head: bytes, name: str) -> None:
    assert sniff(head) == name


def test_refused_and_unknown_files() -> None:
    packets, reader = read(b"GMBU" + bytes(100))
    assert (packets, reader.container, codes(reader)) == ([], "netmon", ["unsupported-capture"])
    packets, reader = read(gzip.compress(b"GMBU" + bytes(100)))
    assert (packets, reader.container, codes(reader)) == ([], "netmon", ["unsupported-capture"])
    packets, reader = read(b"hello")
    assert (packets, reader.container, codes(reader)) == ([], "", ["no-capture"])
    assert read(b"")[1].notes == []


@pytest.mark.parametrize("name", [name for name in FILES if name != "gzip"])
@pytest.mark.parametrize("target", [1, 300, 10**9])
def test_ranges_read_alone_give_the_same(name: str, target: int) -> None:
    data = FILES[name]
    chunks = [data[start : start + 100] for start in range(0, len(data), 100)]
    ranges = split(chunks, Part(0, len(data), FRESH, 0), target)
    assert [part.offset for part in ranges] == [0, *(part.offset + part.length for part in ranges[:-1])]
    assert ranges[-1].offset + ranges[-1].length == len(data)
    found: list[Packet] = []
    for start, length, state, time_us in ranges:
        assert time_us == max([packet.time_us for packet in found], default=0)
        reader = range_reader(pickle.loads(pickle.dumps(state)), start)
        found += fed(reader, data[start : start + length]) + reader.close()
        assert reader.notes == []
    assert facts(found) == facts(read(data)[0])
    if target == 300:
        assert len(ranges) > 2


def test_what_cannot_be_split_is_one_range() -> None:
    data = FILES["gzip"]
    for chunks in ([data[:50], data[50:]], [b"no capture" * 10], []):
        whole = Part(0, sum(map(len, chunks)), FRESH, 0)
        assert split(chunks, whole, 10) == [whole]


def test_a_part_is_split_again() -> None:
    data = pcap(FRAMES)
    chunks = [data[at : at + 100] for at in range(0, len(data), 100)]
    first, second, *_, last = split(chunks, Part(0, len(data), FRESH, 0), 300)
    assert split([data[: first.length]], first, 10**9) == [first]
    assert split([data[last.offset :]], last, 10**9) == [last]
    rest = second._replace(length=len(data) - first.length)
    parts = split([data[at : at + 50] for at in range(rest.offset, len(data), 50)], rest, 100)
    assert len(parts) > 2
    packets = [
        packet
        for part in parts
        for reader in [range_reader(part.state, part.offset)]
        for packet in [*fed(reader, data[part.offset : part.offset + part.length]), *reader.close()]
    ]
    assert facts(packets) == facts(read(data)[0])[-len(packets) :]


@given(st.sampled_from(sorted(FILES)), st.data())
def test_any_damage_is_survived(name: str, draw: st.DataObject) -> None:
    data = bytearray(FILES[name])
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(data) - 1))
        data[at : at + 4] = draw.draw(st.binary(min_size=0, max_size=8))
        if not data:
            return
    whole, first = read(bytes(data))
    parts, second = read(bytes(data), draw.draw(st.integers(1, 200)))
    assert facts(whole) == facts(parts)
    assert first.notes == second.notes
    assert first.bytes_read == second.bytes_read


@given(
    st.sampled_from([pcap([])[:24], section(), section() + interface(), b"\x1f\x8b\x08", b""]), st.binary()
)
def test_any_bytes_are_survived(head: bytes, rest: bytes) -> None:
    whole, first = read(head + rest)
    parts, second = read(head + rest, 1)
    assert facts(whole) == facts(parts)
    assert first.notes == second.notes


@pytest.mark.parametrize("name", ["little", "big", "nanoseconds", "pcapng", "big-pcapng", "modified"])
def test_like_libpcap(name: str) -> None:
    cypcap = pytest.importorskip("cypcap")
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(FILES[name])
        file.flush()
        with cypcap.open_offline(file.name) as theirs:
            expected = [(bytes(data), header.caplen, header.len, header.ts) for header, data in theirs]
    packets = read(FILES[name])[0]
    assert len(packets) == len(expected)
    for packet, (data, captured, length, time) in zip(packets, expected, strict=True):
        assert (packet.data, len(packet.data), packet.original_length) == (data, captured, length)
        assert packet.time_us == pytest.approx(float(time) * 1_000_000, abs=2)


@pytest.mark.parametrize(
    ("magic", "fraction", "second"),
    [
        (0xA1B2C3D4, 1_000_000, 1_000_000),
        (0xA1B2C3D4, 0x80000000, 1_000_000),
        (0xA1B23C4D, 1_000_000_000, 1_000_000_000),
        (0xA1B23C4D, 0xFFFFFFFF, 1_000_000_000),
    ],
)
@pytest.mark.parametrize("wrong", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("size", [1, 1 << 16])
def test_a_wrong_fraction_of_a_second(
    magic: int, fraction: int, second: int, wrong: tuple[int, ...], size: int
) -> None:
    frames = [ethernet(ipv4(tcp(data=b"payload"))) for _ in range(3)]
    data = bytearray(pcap(frames, magic=magic, times=[0, 0, 0]))
    step = 16 + len(frames[0])
    for index in wrong:
        data[24 + index * step + 4 : 24 + index * step + 8] = struct.pack("<I", fraction)
    reader = PacketReader()
    packets = [
        packet
        for start in range(0, len(data), size)
        for step_packets in reader.steps(bytes(data[start : start + size]))
        for packet in step_packets
    ] + reader.close()
    assert [packet.data for packet in packets] == frames
    expected = [START + (index in wrong) for index in range(3)]
    assert [packet.time_us for packet in packets] == [time * 1_000_000 for time in expected]
    assert [(note.code, note.offset) for note in reader.notes] == [
        ("bad-value", 24 + index * step) for index in wrong
    ]
    unit = "ns" if second == 1_000_000_000 else "µs"
    number = wrong[0] + 1
    assert reader.notes[0].text == (
        f"packet {number}: invalid time: {fraction} {unit} after the second; taken as one second"
    )


def test_a_header_with_a_wrong_fraction_and_a_far_time_is_invalid() -> None:
    frames = [ethernet(ipv4(tcp(data=b"payload"))) for _ in range(5)]
    data = bytearray(pcap(frames))
    step = 16 + len(frames[0])
    data[24 + step : 24 + step + 8] = b"\xff" * 8
    reader = PacketReader()
    packets = [packet for found in reader.steps(bytes(data)) for packet in found] + reader.close()
    assert len(packets) == 4
    assert [note.code for note in reader.notes] == ["bad-length", "skipped-bytes"]


def test_a_wrong_fraction_of_a_second_in_snoop() -> None:
    frame = ethernet(ipv4(tcp(data=b"payload")))
    head = b"snoop\0\0\0" + struct.pack(">II", 2, 4)
    record = struct.pack(">IIIIII", len(frame), len(frame), 24 + len(frame), 0, START, 0x80000000)
    reader = PacketReader()
    packets = [packet for found in reader.steps(head + record + frame) for packet in found] + reader.close()
    assert [(packet.data, packet.time_us) for packet in packets] == [(frame, (START + 1) * 1_000_000)]
    assert [(note.code, note.offset) for note in reader.notes] == [("bad-value", 16)]
