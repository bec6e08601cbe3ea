"""Texts of several packets, as tcpdump and TShark print them: a capture."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from building import START, Talk, ethernet, ipv4, ipv6, pcap, tcp, udp
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.captures import flows, read_packets
from wirelens.codecs.captures.pasted import PastedError, pasted
from wirelens.codecs.captures.pasted.packets import capture_of, time_of

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "captures" / "quirks"
COOKED = bytes([0, 0, 0, 1, 0, 6]) + bytes(8)


def talk() -> list[bytes]:
    talk = Talk()
    return [*talk.hello(), talk.send(0, bytes(range(100))), talk.send(1, b"answer"), *talk.goodbye()]


def words(frame: bytes) -> str:
    """The rows of tcpdump -x."""
    out = []
    for at in range(0, len(frame), 16):
        row = frame[at : at + 16]
        out.append(f"\t0x{at:04x}:  " + " ".join(row[i : i + 2].hex() for i in range(0, len(row), 2)) + "\n")
    return "".join(out)


def pairs(frame: bytes) -> str:
    """The rows of TShark -x."""
    out = []
    for at in range(0, len(frame), 16):
        row = frame[at : at + 16]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        out.append(f"{at:04x}  {row.hex(' '):47}   {text}\n")
    return "".join(out) + "\n"


def tcpdump(frames: list[bytes], head: Callable[[int], str]) -> str:
    return "".join(head(index) + words(frame) for index, frame in enumerate(frames))


CLOCK = 22 * 3600 + 13 * 60 + 20  # of START


HEADS: dict[str, tuple[Callable[[int], str], int]] = {
    "time of day": (lambda i: f"22:13:20.{i:03}000 IP 10.0.0.1.40000 > 10.0.0.2.1080: tcp 1\n", CLOCK),
    "-tttt": (lambda i: f"2023-11-14 22:13:20.{i:03}000 IP 10.0.0.1 > 10.0.0.2: tcp 1\n", START),
    "-tt": (lambda i: f"{START}.{i:03}000 IP 10.0.0.1.40000 > 10.0.0.2.1080: tcp 1\n", START),
    "-t": (lambda i: "IP 10.0.0.1.40000 > 10.0.0.2.1080: tcp 1\n", -1),
    "-ttt": (lambda i: f" 00:00:00.{i:03}000 IP 10.0.0.1.40000 > 10.0.0.2.1080: tcp 1\n", -1),
    "-#": (lambda i: f"{i + 1:5}  22:13:20.{i:03}000 IP 10.0.0.1.4 > 10.0.0.2.1080: tcp 1\n", CLOCK),
    "-v": (
        lambda i: (
            f"22:13:20.{i:03}000 IP (tos 0x0, ttl 64, id 1, offset 0, proto TCP (6), length 44)\n"
            "    10.0.0.1.40000 > 10.0.0.2.1080: Flags [.], cksum 0x026a (correct), length 0\n"
        ),
        CLOCK,
    ),
}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("link", [0, 14, -16])
def test_tcpdump(head: str, link: int) -> None:
    """-x leaves 14 bytes of Ethernet out; the third is the header of tcpdump -i any."""
    line, start = HEADS[head]
    frames = talk()
    shown = [COOKED + frame[12:] if link < 0 else frame[link:] for frame in frames]
    found = pasted(tcpdump(shown, line))
    assert found.form == "packets"
    packets = list(read_packets([found.data]))
    assert [packet.data for packet in packets] == shown
    assert {packet.link_type for packet in packets} == {{0: 1, 14: 101, -16: 113}[link]}
    times = [0 if start < 0 else start * 1_000_000 + index * 1000 for index in range(len(frames))]
    assert [packet.time_us for packet in packets] == times
    (flow,) = flows([found.data])
    assert [side.data for side in flow.directions] == [bytes(range(100)), b"answer"]


def test_tshark() -> None:
    frames = talk()
    (flow,) = flows([pasted("".join(map(pairs, frames))).data])
    assert [side.data for side in flow.directions] == [bytes(range(100)), b"answer"]
    text = "".join(
        f"{index + 1:5}   {index}.500000    10.0.0.1 → 10.0.0.2    TCP 58 40000 → 1080 [ACK] Len=0\n\n"
        + (
            f"Frame ({len(frame)} bytes):\n{pairs(frame)}"
            f"Reassembled TCP ({len(frame)} bytes):\n{pairs(bytes(len(frame)))}"
        )
        for index, frame in enumerate(frames)
    )
    packets = list(read_packets([pasted(text).data]))
    assert [packet.data for packet in packets] == frames
    assert [packet.time_us for packet in packets] == [
        index * 1_000_000 + 500_000 for index in range(len(frames))
    ]


def test_one_packet() -> None:
    """Below its line it is a packet; without one it is the bytes."""
    frame = talk()[3]
    text = HEADS["-tttt"][0](0) + words(frame[14:])
    assert pasted(text).form == "packets"
    assert pasted(text, "dump").data == frame[14:]
    assert pasted(words(frame[14:])).data == frame[14:]
    assert pasted(words(frame[14:]), "packets").form == "packets"
    (flow,) = flows([pasted(text).data])
    assert flow.directions[0].data == bytes(range(100))


def test_what_the_capture_cut_is_missing() -> None:
    frames = [frame[14:60] for frame in talk()]
    (flow,) = flows([pasted(tcpdump(frames, HEADS["-tt"][0])).data])
    assert flow.directions[0].data == bytes(range(6))
    assert flow.directions[0].gaps == [(6, 94)]


def test_fragments_and_datagrams() -> None:
    whole = udp(data=bytes(range(60)))
    frames = [
        ipv4(whole[:32], 17, fragment=0x2000),
        ipv4(whole[32:], 17, fragment=4),
        ipv6(udp(data=b"x"), 17),
    ]
    found = flows([pasted(tcpdump(frames, HEADS["-t"][0])).data])
    assert [flow.directions[0].data for flow in found] == [bytes(range(60)), b"x"]


def test_midnight() -> None:
    frames = talk()[:3]
    text = "".join(
        f"{clock}.000000 IP 10.0.0.1 > 10.0.0.2: tcp 1\n" + words(frame)
        for clock, frame in zip(("23:59:59", "00:00:01", "00:00:00"), frames, strict=True)
    )
    packets = read_packets([pasted(text).data])
    assert [packet.time_us // 1_000_000 for packet in packets] == [86_399, 86_401, 86_400]


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("22:13:20.5 IP", CLOCK),
        ("2023-11-14 22:13:20.500000 IP", START),
        ("1700000000.500000 IP", START),
        ("    1   0.500000 10.0.0.1 → 10.0.0.2 TCP", 0),
        ("IP 10.0.0.1", None),
        (" 00:00:00.500000 IP", None),
        ("2023-13-40 22:13:20.500000 IP", None),
        ("1969-01-01 22:13:20.500000 IP", None),
        ("", None),
    ],
)
def test_times(line: str, seconds: int | None) -> None:
    assert time_of(line) == (None if seconds is None else seconds * 1_000_000 + 500_000)


@pytest.mark.parametrize("body", [b"\xda\xbb\xc2\x00" * 12, b"dubbo hessian2 bytes of no packet", b"E" * 40])
def test_dumps_that_are_no_packets(body: bytes) -> None:
    with pytest.raises(PastedError) as caught:
        pasted(words(body) + "\n" + words(body))
    assert caught.value.code == "pasted-several"
    assert pasted(HEADS["-tt"][0](0) + words(body)).data == body


def test_damage_is_told_where_it_is() -> None:
    text = tcpdump(talk(), HEADS["-tt"][0])
    lines = text.split("\n")
    lines[7] = lines[7][:-2] + "zz"
    with pytest.raises(PastedError) as caught:
        pasted("\n".join(lines))
    assert (caught.value.code, caught.value.line) == ("pasted-damaged", 8)


@given(st.lists(st.tuples(st.binary(max_size=60), st.integers(0, (1 << 32) * 1_000_000 - 1)), max_size=6))
def test_any_frames_are_survived(frames: list[tuple[bytes, int]]) -> None:
    data = capture_of(frames)
    assert data is None or [packet.data for packet in read_packets([data])] == [frame for frame, _ in frames]


COMMANDS = [
    ("tcpdump", "-x"),
    ("tcpdump", "-XX"),
    ("tcpdump", "-e", "-vv", "-tttt", "-x"),
    ("tshark", "-x"),
    ("tshark", "-P", "-t", "ad", "-x"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "name", ["made", "vlan", "ipv6", "lt_null_le", "lt_raw_12", "vxlan", "ipv4_fragments"]
)
def test_the_tools_themselves(command: tuple[str, ...], name: str, tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    path = tmp_path / "made.pcap"
    if name == "made":
        path.write_bytes(pcap([*talk(), ethernet(ipv4(tcp(seq=9, data=bytes(700))))]))
    else:
        path = SAMPLES / f"{name}.pcap"
    if not path.exists():
        pytest.skip("no ../shared here")
    tool = subprocess.run([*command, "-n", "-r", str(path)], capture_output=True, check=True)
    whole = [[side.data for side in flow.directions] for flow in flows([path.read_bytes()])]
    found = pasted(tool.stdout)
    assert found.form == "packets"
    assert [[side.data for side in flow.directions] for flow in flows([found.data])] == whole
