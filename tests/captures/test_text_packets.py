"""Texts of several packets, as tcpdump and TShark print them: a capture."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from building import START, Talk, ethernet, ipv4, ipv6, pcap, tcp, udp
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.captures import flows, read_packets
from wirelens.codecs.captures.pasting import PastedError, pasted
from wirelens.codecs.captures.pasting.packets import capture_of, time_of

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


SPOKEN = [bytes(range(100)), b"answer"]


def fields_of(frame: bytes, index: int) -> dict[str, str]:
    """The fields that TShark 4 shows of a frame of `talk`, as far as they are used."""
    addresses, ports = frame[26:34], frame[34:38]
    payload = frame[54:]
    fields = {
        "frame.time_epoch": f"{START}.{index:03}000000",
        "frame.protocols": "eth:ethertype:ip:tcp:data",
        "ip.src": ".".join(map(str, addresses[:4])),
        "ip.dst": ".".join(map(str, addresses[4:])),
        "tcp.srcport": str(int.from_bytes(ports[:2], "big")),
        "tcp.dstport": str(int.from_bytes(ports[2:], "big")),
        "tcp.len": str(len(payload)),
        "tcp.seq": "1",
        "tcp.seq_raw": str(int.from_bytes(frame[38:42], "big")),
        "tcp.ack_raw": str(int.from_bytes(frame[42:46], "big")),
        "tcp.flags": f"0x{frame[47]:04x}",
    }
    if payload:
        fields["tcp.payload"] = payload.hex(":")
    return fields


def layers_of(fields: dict[str, str], flat: bool) -> dict[str, object]:
    layers: dict[str, dict[str, str]] = {}
    for name, value in fields.items():
        layer = name.split(".")[0]
        key = f"{layer}_{name.replace('.', '_')}" if flat else name
        layers.setdefault(layer, {})[key] = value
    return dict(layers)


def exported(form: str, frames: list[bytes]) -> str:
    """A text as `tshark -T FORM` prints it; with -x where the form ends so."""
    listed = [fields_of(frame, index) for index, frame in enumerate(frames)]
    kind, _, raw = form.partition(" ")
    if kind == "json":
        packets = []
        for fields, frame in zip(listed, frames, strict=True):
            layers = layers_of(fields, False)
            if raw:
                layers = {"frame_raw": [frame.hex(), 0, len(frame), 0, 1], "frame": layers["frame"]}
            packets.append({"_index": "packets-2023-11-14", "_source": {"layers": layers}})
        return json.dumps(packets, indent=2)
    if kind == "ek":
        lines = []
        for fields, frame in zip(listed, frames, strict=True):
            layers = layers_of(fields, True)
            if raw:
                layers = {"frame_raw": frame.hex(), "frame": layers["frame"]}
            lines.append('{"index":{"_index":"packets-2023-11-14","_type":"doc"}}')
            lines.append(json.dumps({"timestamp": "1700000000300", "layers": layers}))
        return "\n".join(lines) + "\n"
    if kind == "pdml":
        out = ['<?xml version="1.0" encoding="utf-8"?>\n<pdml version="0">\n']
        for fields in listed:
            out.append('<packet>\n  <proto name="geninfo" pos="0" size="58">\n')
            for name, value in fields.items():
                octets = f' value="{value.replace(":", "")}"' if name == "tcp.payload" else ""
                out.append(f'    <field name="{name}" showname="x: &lt;" size="4" show="{value}"{octets}/>\n')
            out.append("  </proto>\n</packet>\n")
        return "".join([*out, "</pdml>\n"])
    if kind == "fields":
        names = [name for name in listed[0] if name not in ("tcp.seq", "frame.protocols")] + ["tcp.payload"]
        cells = [[fields.get(name, "") for name in names] for fields in listed]
        quote = '"' if raw == ";" else ""
        rows = [names, *[[quote + cell + quote for cell in row] for row in cells]]
        return "".join((raw or "\t").join(row) + "\n" for row in rows)
    out = []
    for index, frame in enumerate(frames):
        bits = f"({len(frame) * 8} bits)"
        out.append(
            f"Frame {index + 1}: {len(frame)} bytes on wire {bits}, {len(frame)} bytes captured {bits}\n"
        )
        out.append(f"    Epoch Time: {START}.{index:03}000000 seconds\n    0100 .... = Version: 4\n")
        out.append(f"Data (3 bytes)\n    Data: 010203\n\n{pairs(frame)}")
    return "".join(out)


@pytest.mark.parametrize(
    "form", ["json", "json x", "ek", "ek x", "pdml", "fields", "fields ,", "fields ;", "fields |", "V"]
)
def test_exports_of_tshark(form: str) -> None:
    frames = talk()
    text = exported(form, frames)
    for lines in (text, text.replace("\n", "\r\n")):
        found = pasted(lines)
        assert found.form == "packets"
        packets = list(read_packets([found.data]))
        assert [packet.time_us for packet in packets] == [
            START * 1_000_000 + index * 1000 for index in range(len(frames))
        ]
        if form in ("json x", "ek x", "V"):
            assert [packet.data for packet in packets] == frames
        (flow,) = flows([found.data])
        assert [side.data for side in flow.directions] == SPOKEN
        assert [side.gaps for side in flow.directions] == [[], []]
        assert flow.ports == (40000, 1080)
    assert pasted(text, "packets") == pasted(text)


def test_pdml_is_xml() -> None:
    text = exported("pdml", talk())
    expected = pasted(text)
    assert pasted(text + "$ ") == expected  # what follows the document
    spaced = text.replace(' showname="x: &lt;" size="4"', " \n size = '4' showname = 'x: &#60;\x0c>'")
    assert spaced != text
    assert pasted(spaced) == expected
    assert pasted(text.replace("<proto", "<!-- <packet> --><proto")) == expected
    for size in (len(text) - 9, len(text) * 2 // 3, len(text) * 2 // 3 + 7):
        with pytest.raises(PastedError) as caught:
            pasted(text[:size])
        assert caught.value.code == "pasted-cut"
    with pytest.raises(PastedError) as caught:
        pasted(text.replace("</proto>", "</protocol>", 1))
    line = text[: text.index("</proto>")].count("\n") + 1
    assert (caught.value.code, caught.value.line) == ("pasted-damaged", line)


def test_pdml_declares_no_entities() -> None:
    text = exported("pdml", talk())
    doctype = '<!DOCTYPE pdml [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n<pdml'
    with pytest.raises(PastedError) as caught:
        pasted(text.replace("<pdml", doctype, 1))
    assert (caught.value.code, caught.value.line) == ("pasted-damaged", 2)
    with pytest.raises(PastedError) as caught:
        pasted(text.replace('show="', 'show="&a;', 1))
    assert caught.value.code == "pasted-damaged"


WAY = ["ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tcp.payload"]


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ("-T json", []),
        ("-T json -x", []),
        ("-T json --no-duplicate-keys", []),
        ("-T jsonraw", []),
        ("-T ek", []),
        ("-T ek -x", []),
        ("-T pdml", []),
        ("-V -x", []),
        ("-x", []),
        ("-T fields -E header=y", WAY),
        ("-T json", [*WAY, "tcp.flags"]),
        ("-T ek", [*WAY, "tcp.flags"]),
    ],
)
def test_what_tshark_here_exports(arguments: str, fields: list[str], tmp_path: Path) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("no tshark")
    file = tmp_path / "talk.pcap"
    file.write_bytes(pcap(talk()))
    command = [tshark, "-nr", str(file), *arguments.split()]
    for name in fields:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    found = pasted(done.stdout)
    assert found.form == "packets"
    (flow,) = flows([found.data])
    assert sorted(side.data for side in flow.directions) == SPOKEN


def test_datagrams_and_cut_payloads_of_exports() -> None:
    fields = {
        "frame.protocols": "eth:ethertype:ipv6:udp:data",
        "ipv6.src": "2001:db8::1",
        "ipv6.dst": "2001:db8::2",
        "udp.srcport": "40000",
        "udp.dstport": "26000",
        "udp.length": "13",
        "data.data": b"abc".hex(),
    }
    text = json.dumps([{"_index": "x", "_source": {"layers": layers_of(fields, False)}}])
    (packet,) = read_packets([pasted(text).data])
    assert packet.original_length == 40 + 13
    (flow,) = flows([pasted(text).data])
    assert (flow.transport, flow.directions[0].data, flow.directions[0].gaps) == ("udp", b"abc", [(3, 2)])


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ('[{"_index": "x", "_source": {"layers": {}}}]', "pasted-cut", "-x"),
        ('{"index":{}}\n{"timestamp":"1","layers":{"frame":{}}}\n', "pasted-cut", "-x"),
        (exported("json", talk())[:-2], "pasted-cut", "does not end"),
        (exported("json", talk())[:3000], "pasted-damaged", "damaged"),
        (exported("ek", talk())[:-20], "pasted-damaged", "damaged"),
        ('[{"_index": ' + "[" * 100_000, "pasted-damaged", "damaged"),
        (exported("V", talk()).replace("0010  ", "0020  "), "pasted-damaged", "offset"),
        (exported("fields", talk()) + "1\t2\n", "pasted-damaged", "2 columns"),
        ("1\t10.0.0.1\t" + "ab" * 30 + "\n2\t10.0.0.2\t" + "cd" * 20 + "\n", "pasted-several", "header=y"),
        ("tcp.srcport,tcp.payload\n4,abab\n5,cdcd\n", "pasted-several", "addresses"),
        ('<?xml version="1.0"?>\n<psml version="0">\n</psml>\n', "pasted-cut", "-x"),
        ("    1   0.000000  10.0.0.1 → 10.0.0.2    TCP 58 40000 → 1080 [SYN] Seq=0\n", "pasted-cut", "-x"),
        ("22:13:20.000000 IP 10.0.0.1.40000 > 10.0.0.2.1080: Flags [S], seq 1000\n", "pasted-cut", "-x"),
        (
            "Frame 1: 9 bytes on wire (72 bits), 9 bytes captured (72 bits)\nData (2 bytes)\n0000  61 62\n",
            "pasted-cut",
            "-x",
        ),
        ("ab" * 300 + "\n" + "cd" * 40 + "\n" + "ef" * 20 + "\n", "pasted-several", "payload"),
    ],
)
def test_exports_without_bytes_or_damaged_are_refused(text: str, code: str, message: str) -> None:
    with pytest.raises(PastedError) as caught:
        pasted(text)
    assert caught.value.code == code
    assert message in caught.value.text


@pytest.mark.parametrize(
    "changes",
    [
        {"ip.src": "no address"},
        {"ip.dst": "2001:db8::1"},
        {"tcp.srcport": "65536"},
        {"tcp.srcport": "http"},
        {"tcp.payload": "zz"},
        {"tcp.flags": "SYN"},
        {"tcp.len": "1" * 400},
        {"frame.protocols": "eth:ethertype:ip:icmp:ip:tcp"},
        {"frame.time_epoch": "yesterday"},
        {"frame.time_epoch": "9" * 50},
        {"frame.time_epoch": "2023-11-14T22:13:20.000000000Z"},
    ],
)
def test_odd_fields_of_exports(changes: dict[str, str]) -> None:
    """Packets that cannot be made are left out."""
    frames = talk()
    listed = [fields_of(frame, index) for index, frame in enumerate(frames)]
    listed[3] |= changes
    text = json.dumps([{"_index": "x", "_source": {"layers": layers_of(fields, False)}} for fields in listed])
    (flow,) = flows([pasted(text).data])
    assert flow.directions[1].data == b"answer"
    assert flow.directions[0].data in (b"", bytes(range(100)))


def test_one_payload_alone_is_the_bytes() -> None:
    text = '[{"_index": "x", "_source": {"layers": {"tcp.payload": ["0102"]}}}]'
    assert pasted(text).data == b"\1\2"
