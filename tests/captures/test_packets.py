"""Frames to segments."""

import itertools
import pickle
import struct
import tracemalloc

import pytest
from building import ACK, CLIENT, CLIENT6, PSH, SERVER, SERVER6, ethernet, ipv4, ipv6, pcap, tcp, udp
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.captures import Dissector, Packet, Segment, flows
from wirelens.codecs.captures.fragments import FRAGMENT_BYTES, FRAGMENT_DATAGRAMS, FRAGMENT_TIME_US
from wirelens.codecs.captures.links import LINK_LAYERS
from wirelens.codecs.captures.packets import DUPLICATE

DATA = b"what the client says"
INNER = ipv4(tcp(data=DATA, seq=77, ack=99, flags=PSH | ACK))
INNER6 = ipv6(tcp(data=DATA, seq=77, ack=99, flags=PSH | ACK))
KEY = b"\x06" + CLIENT + struct.pack(">H", 40000) + SERVER + struct.pack(">H", 1080)
KEY6 = b"\x06" + CLIENT6 + struct.pack(">H", 40000) + SERVER6 + struct.pack(">H", 1080)


def packet(frame: bytes, link_type: int = 1, original: int = -1, number: int = 1, time: int = 0) -> Packet:
    return Packet(number, time, link_type, 0, frame, len(frame) if original < 0 else original, 24)


def dissect(frame: bytes, link_type: int = 1, original: int = -1) -> Segment | None:
    return one_of(Dissector(), packet(frame, link_type, original))


def added(dissector: Dissector, packet: Packet) -> list[Segment]:
    segments: list[Segment] = []
    dissector.add(packet, segments)
    return segments


def one_of(dissector: Dissector, packet: Packet) -> Segment | None:
    """The one segment that a packet gives, if it gives one."""
    segments = added(dissector, packet)
    assert len(segments) <= 1
    return segments[0] if segments else None


def u16(*values: int) -> bytes:
    return struct.pack(f">{len(values)}H", *values)


def tunnel(port: int, body: bytes) -> bytes:
    return ethernet(ipv4(udp(50000, port, body), 17))


def gre(kind: int, body: bytes, flags: int = 0, extra: bytes = b"") -> bytes:
    return ethernet(ipv4(u16(flags, kind) + extra + body, 47))


SNAP = b"\xaa\xaa\x03\0\0\0\x08\0"
WLAN = b"\x08\x01\0\0" + bytes(18) + b"\0\0"
WLAN_QOS = b"\x88\x01\0\0" + bytes(18) + b"\0\0" + b"\0\0"
WLAN_FOUR = b"\x08\x03\0\0" + bytes(26)
NFLOG = b"\2\0\0\0" + struct.pack("<HH", 8, 1) + bytes(4) + struct.pack("<HH", 4 + len(INNER), 9)
LABELS = b"\0\1\0\x40\0\2\1\x40"


def pktap(link_type: int, frame: bytes, order: str = "<", length: int = 108) -> bytes:
    """A packet with such a header; one that says that it is longer than it can be has 156 bytes."""
    return struct.pack(order + "III", length, 1, link_type) + bytes(min(length, 156) - 12) + frame


def tagged(size: int) -> bytes:
    """What follows the addresses: a switch's tag, an EtherType, a packet."""
    return bytes(size) + u16(0x0800) + INNER


FRAMES: dict[str, tuple[int, bytes]] = {
    "ethernet": (1, ethernet(INNER)),
    "ethernet-padding": (1, ethernet(INNER) + bytes(6)),
    "ethernet-llc": (1, ethernet(SNAP + INNER + b"\1\2\3", 8 + len(INNER))),
    "vlan": (1, ethernet(u16(5, 0x0800) + INNER, 0x8100)),
    "qinq": (1, ethernet(u16(5, 0x8100, 6, 0x0800) + INNER, 0x88A8)),
    "vlan-three": (1, ethernet(u16(5, 0x8100, 6, 0x8100, 7, 0x0800) + INNER, 0x9100)),
    "vntag": (1, ethernet(bytes(4) + u16(0x8100, 6, 0x0800) + INNER, 0x8926)),
    "vntag-llc": (1, ethernet(bytes(4) + u16(8 + len(INNER)) + SNAP + INNER + bytes(3), 0x8926)),
    "etag": (1, ethernet(b"\x10\2\1\3\4\5" + u16(0x0800) + INNER, 0x893F)),
    "etag-vlan": (1, ethernet(bytes(6) + u16(0x8100, 6, 0x0800) + INNER, 0x893F)),
    "cisco-metadata": (1, ethernet(b"\1\1" + u16(1, 99, 0x0800) + INNER, 0x8909)),
    "macsec-clear": (1, ethernet(b"\x40\0\0\0\0\1" + u16(0x0800) + INNER + bytes(16), 0x88E5)),
    "macsec-clear-channel": (1, ethernet(b"\x20\0" + bytes(12) + u16(0x0800) + INNER + bytes(16), 0x88E5)),
    "mpls": (1, ethernet(LABELS + INNER, 0x8847)),
    "mpls-ethernet": (1, ethernet(LABELS + bytes(4) + ethernet(INNER), 0x8847)),
    "provider-backbone": (1, ethernet(bytes(4) + ethernet(INNER), 0x88E7)),
    "pppoe": (1, ethernet(b"\x11\0\0\1" + u16(2 + len(INNER), 0x21) + INNER + bytes(9), 0x8864)),
    "ppp": (9, b"\xff\x03\0\x21" + INNER),
    "ppp-compressed": (9, b"\x21" + INNER),
    "ppp-mpls": (9, b"\xff\x03\x02\x81" + LABELS + INNER),
    "cisco-hdlc": (104, b"\x0f\0\x08\0" + INNER),
    "ppp-direction": (50, b"\x01\x03\0\x21" + INNER),
    "pppoe-bare": (51, b"\x11\0\0\1" + u16(2 + len(INNER), 0x21) + INNER),
    "cooked": (113, bytes(14) + b"\x08\0" + INNER),
    "cooked-vlan": (113, bytes(14) + b"\x81\0" + u16(5, 0x0800) + INNER),
    "cooked2": (276, b"\x08\0" + bytes(18) + INNER),
    "null-little": (0, struct.pack("<I", 2) + INNER),
    "null-big": (0, struct.pack(">I", 2) + INNER),
    "loop": (108, struct.pack(">I", 2) + INNER),
    "raw": (101, INNER),
    "raw-12": (12, INNER),
    "raw-14": (14, INNER),
    "ipv4": (228, INNER),
    "802.11": (105, WLAN + SNAP + INNER),
    "802.11-qos": (105, WLAN_QOS + SNAP + INNER),
    "802.11-four-addresses": (105, WLAN_FOUR + SNAP + INNER),
    "radiotap": (127, struct.pack("<BBHI", 0, 0, 8, 0) + WLAN + SNAP + INNER + bytes(4)),
    "radiotap-padded": (
        127,
        struct.pack("<BBHIQB", 0, 0, 17, 3, 0, 0x20) + WLAN_QOS + bytes(2) + SNAP + INNER,
    ),
    "radiotap-two-words": (
        127,
        struct.pack("<BBHIIB", 0, 0, 13, 0x80000002, 0, 0) + WLAN + SNAP + INNER,
    ),
    "prism": (119, struct.pack("<II", 0x44, 144) + bytes(136) + WLAN + SNAP + INNER),
    "avs": (163, struct.pack(">II", 0x80211001, 64) + bytes(56) + WLAN + SNAP + INNER),
    "ppi": (192, struct.pack("<BBHI", 0, 0, 8, 105) + WLAN + SNAP + INNER),
    "nflog": (239, NFLOG + INNER),
    "pflog": (117, b"\x3d" + bytes(63) + INNER),
    "enc": (109, bytes(12) + INNER),
    "token-ring": (6, bytes(14) + SNAP + INNER),
    "token-ring-routed": (6, bytes(8) + b"\x80" + bytes(5) + b"\x04\0\0\0" + SNAP + INNER),
    "fddi": (10, bytes(13) + SNAP + INNER),
    "atm-llc": (100, SNAP + INNER),
    "frame-relay": (107, b"\x18\x41\x03\xcc" + INNER),
    "pktap": (258, pktap(1, ethernet(INNER))),
    "pktap-big": (258, pktap(1, ethernet(INNER), order=">")),
    "pktap-long": (258, pktap(1, ethernet(INNER), length=156)),
    "pktap-null": (258, pktap(0, struct.pack("<I", 2) + INNER)),
    "pktap-raw": (258, pktap(12, INNER)),
    "pktap-149": (149, pktap(1, ethernet(INNER))),
    "ip-over-infiniband": (242, bytes(40) + u16(0x0800, 0) + INNER),
    "switch-tag": (281, ethernet(b"")[:12] + tagged(4)),
    "switch-tag-before": (282, bytes(4) + ethernet(INNER)),
    "switch-tag-marvell": (284, ethernet(b"")[:12] + tagged(4)),
    "switch-tag-long": (285, ethernet(b"")[:12] + tagged(8)),
    "switch-tag-llc": (284, ethernet(b"")[:12] + bytes(4) + u16(8 + len(INNER)) + SNAP + INNER + bytes(5)),
    "null-ethertype": (0, b"\x0f\0\x08\0" + INNER),
    "firewire": (138, bytes(16) + b"\x08\0" + INNER),
    "gre": (1, gre(0x0800, INNER)),
    "gre-key": (1, gre(0x0800, INNER, 0x2000, bytes(4))),
    "gre-all": (1, gre(0x0800, INNER, 0xB000, bytes(12))),
    "gre-ethernet": (1, gre(0x6558, ethernet(INNER))),
    "gre-in-gre": (1, gre(0x0800, ipv4(u16(0, 0x0800) + INNER, 47))),
    "pptp": (1, gre(0x880B, b"\xff\x03\0\x21" + INNER, 0x3001, bytes(8))),
    "erspan": (1, gre(0x88BE, bytes(8) + ethernet(INNER), 0x1000, bytes(4))),
    "erspan-1": (1, gre(0x88BE, ethernet(INNER))),
    "erspan-3": (1, gre(0x22EB, bytes(12) + ethernet(INNER), 0x1000, bytes(4))),
    "wccp": (1, gre(0x883E, b"\0\0\0\0" + INNER)),
    "ip-in-ip": (1, ethernet(ipv4(INNER, 4))),
    "ip-in-ip6": (1, ethernet(ipv6(INNER, 4), 0x86DD)),
    "mpls-in-ip": (1, ethernet(ipv4(LABELS + INNER, 137))),
    "ether-ip": (1, ethernet(ipv4(b"\x30\0" + ethernet(INNER), 97))),
    "authentication": (1, ethernet(ipv4(b"\x06\x04\0\0" + bytes(20) + INNER[20:], 51))),
    "vxlan": (1, tunnel(4789, b"\x08\0\0\0\0\0\1\0" + ethernet(INNER))),
    "vxlan-linux": (1, tunnel(8472, b"\x08\0\0\0\0\0\1\0" + ethernet(INNER))),
    "vxlan-reserved-last": (1, tunnel(4789, b"\x08\0\0\0\0\0\1\1" + ethernet(INNER))),
    "vxlan-reserved-flags": (1, tunnel(4789, b"\xff\1\xd1\xf2\0\0\1\1" + ethernet(INNER))),
    "vxlan-group-policy": (1, tunnel(4789, b"\x88\0\0\7\0\0\1\0" + ethernet(INNER))),
    "vxlan-gpe-ethernet": (1, tunnel(4790, b"\x08\0\0\0\0\0\1\0" + ethernet(INNER))),
    "vxlan-gpe": (1, tunnel(4790, b"\x0c\0\0\1\0\0\1\0" + INNER)),
    "vxlan-nsh": (1, tunnel(4790, b"\x0c\0\0\4\0\0\1\0" + b"\0\2\1\1\0\0\0\0" + INNER)),
    "nsh-in-udp": (1, tunnel(6633, b"\0\2\1\1\0\0\0\0" + INNER)),
    "geneve": (1, tunnel(6081, b"\x01\0\x65\x58\0\0\1\0" + bytes(4) + ethernet(INNER))),
    "geneve-ip": (1, tunnel(6081, b"\0\0\x08\0\0\0\1\0" + INNER)),
    "gtp": (1, tunnel(2152, b"\x30\xff" + u16(len(INNER)) + bytes(4) + INNER)),
    "gtp-extended": (1, tunnel(2152, b"\x34\xff\0\0" + bytes(7) + b"\x85\x01\0\0\0" + INNER)),
    "mpls-in-udp": (1, tunnel(6635, LABELS + INNER)),
    "gre-in-udp": (1, tunnel(4754, u16(0, 0x0800) + INNER)),
    "l2tp": (1, tunnel(1701, b"\x00\x02\0\1\0\1" + b"\xff\x03\0\x21" + INNER)),
    "l2tp-all": (1, tunnel(1701, b"\x4a\x02\0\0\0\1\0\1\0\0\0\0\0\2xx" + b"\xff\x03\0\x21" + INNER)),
    "options": (1, ethernet(ipv4(INNER[20:], options=bytes(8)))),
}
FRAMES6: dict[str, tuple[int, bytes]] = {
    "ethernet": (1, ethernet(INNER6, 0x86DD)),
    "ipv6": (229, INNER6),
    "raw": (101, INNER6),
    "null-24": (0, struct.pack("<I", 24) + INNER6),
    "null-28": (0, struct.pack("<I", 28) + INNER6),
    "null-30": (0, struct.pack("<I", 30) + INNER6),
    "ppp": (9, b"\xff\x03\0\x57" + INNER6),
    "6in4": (1, ethernet(ipv4(INNER6, 41))),
    "mpls": (1, ethernet(LABELS + INNER6, 0x8847)),
    "extensions": (
        1,
        ethernet(
            ipv6(b"\x2b\0" + bytes(6) + b"\x3c\0" + bytes(6) + b"\6\1" + bytes(14) + INNER6[40:], 0), 0x86DD
        ),
    ),
    "atomic-fragment": (1, ethernet(ipv6(b"\6\0\0\0\0\0\0\1" + INNER6[40:], 44), 0x86DD)),
    "teredo": (1, tunnel(3544, INNER6)),
    "teredo-origin": (1, tunnel(3544, bytes(8) + INNER6)),
    "teredo-authentication": (1, tunnel(3544, b"\0\1\0\0" + bytes(9) + bytes(8) + INNER6)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_layers(name: str) -> None:
    link_type, frame = FRAMES[name]
    segment = dissect(frame, link_type)
    assert segment is not None
    assert segment.row() == (KEY, True, 77, 99, PSH | ACK, DATA, 0, 0, 1, 24, ())


@pytest.mark.parametrize("name", FRAMES6)
def test_layers_of_ipv6(name: str) -> None:
    link_type, frame = FRAMES6[name]
    segment = dissect(frame, link_type)
    assert segment is not None
    assert segment.row() == (KEY6, True, 77, 99, PSH | ACK, DATA, 0, 0, 1, 24, ())


@pytest.mark.parametrize("name", FRAMES)
def test_a_snap_length_cuts_the_payload_only(name: str) -> None:
    link_type, frame = FRAMES[name]
    padding = len(frame) - frame.index(DATA) - len(DATA)
    for cut in range(1, len(DATA)):
        segment = dissect(frame[: len(frame) - padding - cut], link_type, len(frame))
        assert segment is not None
        if "radiotap-padded" not in name:
            assert (segment.payload, segment.missing) == (DATA[:-cut], cut)
    for cut in range(len(frame) - padding - len(DATA)):
        segment = dissect(frame[:cut], link_type, len(frame))
        # a tunnel that is cut in its own header is what is left: its datagram
        assert segment is None or segment.key[0] == 17 or segment.payload == b""


def aggregate(*bodies: bytes, header: bytes = WLAN_QOS[:-2]) -> bytes:
    """An 802.11 frame with several frames in it, each but the last padded to four bytes."""
    frame = header + b"\x80\0"
    for index, body in enumerate(bodies):
        frame += bytes(12) + u16(len(body)) + body
        frame += bytes(-(14 + len(body)) % 4) if index + 1 < len(bodies) else b""
    return frame


RADIOTAP_PADDED = struct.pack("<BBHIQB", 0, 0, 17, 3, 0, 0x20)


@pytest.mark.parametrize("tail", [b"", bytes(4)], ids=["", "checksum"])
@pytest.mark.parametrize(
    ("link_type", "start"),
    [
        (105, WLAN_QOS[:-2] + b"\x80\0"),
        (105, b"\x88\x03\0\0" + bytes(26) + b"\x80\0"),
        (127, struct.pack("<BBHI", 0, 0, 8, 0) + WLAN_QOS[:-2] + b"\x80\0"),
        (127, RADIOTAP_PADDED + WLAN_QOS[:-2] + b"\x80\0" + bytes(2)),
    ],
)
def test_each_frame_in_an_aggregate_of_80211_is_a_segment(link_type: int, start: bytes, tail: bytes) -> None:
    payloads = [b"one", b"two!", b"", b"three", b"x" * 2000]
    bodies = [SNAP + ipv4(tcp(seq=index, data=data)) for index, data in enumerate(payloads)]
    bodies.insert(2, b"\x42\x42\x03")  # spanning tree
    dissector = Dissector()
    segments = added(dissector, packet(start + aggregate(*bodies)[26:] + tail, link_type))
    assert [segment.payload for segment in segments] == payloads
    assert [segment.sequence for segment in segments] == [0, 1, 2, 3, 4]
    assert dissector.ignored == {"llc": 1}


def test_an_aggregate_of_80211_that_is_cut() -> None:
    bodies = [SNAP + ipv4(tcp(seq=index, data=b"payload")) for index in range(3)]
    frame = aggregate(*bodies)
    for size in range(len(frame)):
        dissector = Dissector()
        for index, segment in enumerate(added(dissector, packet(frame[:size], 105, len(frame)))):
            assert segment.sequence == index
            assert b"payload".startswith(segment.payload)
            assert len(segment.payload) + segment.missing == 7


def test_frames_of_an_aggregate_of_80211_come_in_order() -> None:
    bodies = [SNAP + ipv4(tcp(seq=at, data=b"abcdefgh"[at : at + 2])) for at in (0, 2, 4, 6)]
    (flow,) = flows([pcap([aggregate(*bodies[:3]), aggregate(bodies[3])], 105)])
    assert flow.directions[0].data == b"abcdefgh"


@pytest.mark.parametrize(
    ("options", "duplicate"),
    [
        (struct.pack(">BBBBII", 1, 1, 5, 10, 98, 99), True),
        (struct.pack(">BBBBIIBBBBII", 1, 1, 8, 10, 7, 7, 1, 1, 5, 10, 98, 99), True),
        (struct.pack(">BBBBIIII", 1, 1, 5, 18, 98, 99, 500, 600), True),
        (struct.pack(">BBBBII", 1, 1, 5, 10, 97, 99), False),
        (struct.pack(">BBBBII", 1, 1, 5, 10, 100, 101), False),
        (struct.pack(">BBBBII", 1, 1, 8, 10, 98, 99), False),
        (struct.pack(">BBBBII", 0, 1, 5, 10, 98, 99), False),
        (bytes([3, 0]) * 8, False),
    ],
)
def test_a_duplicate_that_an_acknowledgement_reports(options: bytes, duplicate: bool) -> None:
    header = bytearray(tcp(seq=77, ack=99))
    header[12] = (20 + len(options)) // 4 << 4
    options += bytes(-len(options) % 4)
    segment = dissect(ethernet(ipv4(bytes(header) + options)))
    assert segment is not None
    assert segment.flags == (ACK | DUPLICATE if duplicate else ACK)
    segment = dissect(ethernet(ipv4(bytes(header) + options + b"data")))
    assert segment is not None
    assert segment.flags == ACK


@pytest.mark.parametrize("size", range(20, 32))
def test_a_snap_length_in_the_options(size: int) -> None:
    """Compiled code may not take a slice that ends before it begins."""
    options = bytes([1]) * 12
    whole = tcp(seq=7)[:12] + b"\x80" + tcp(seq=7)[13:] + options + b"payload"
    frame = ethernet(ipv4(whole))[: 34 + size]
    segment = one_of(Dissector(), Packet(1, 0, 1, 0, frame, 34 + len(whole), 0))
    assert segment is not None
    assert (segment.sequence, segment.payload, segment.missing) == (7, b"", 7)


def test_both_directions_have_one_key() -> None:
    there = dissect(ethernet(INNER))
    back = dissect(ethernet(ipv4(tcp(1080, 40000), 6, SERVER, CLIENT)))
    assert there is not None
    assert back is not None
    assert there.key == back.key
    assert (there.forward, back.forward) == (True, False)


def test_rows_pickle() -> None:
    segment = dissect(ethernet(INNER))
    assert segment is not None
    row = pickle.loads(pickle.dumps(segment.row()))
    assert Segment(*row).row() == segment.row()


@pytest.mark.parametrize("size", [10, 1460, 70_000])
def test_offloaded_packets_have_no_length(size: int) -> None:
    data = bytes(size)
    frame = ethernet(ipv4(tcp(data=data), total=0))
    six = ethernet(ipv6(tcp(data=data), length=0), 0x86DD)
    for whole in (frame, six):
        segment = dissect(whole)
        assert segment is not None
        assert segment.payload == data
        segment = dissect(whole[:-5], 1, len(whole))
        assert segment is not None
        assert (segment.payload, segment.missing) == (data[:-5], 5)


def test_jumbograms() -> None:
    data = bytes(70_000)
    body = tcp(data=data)
    jumbo = b"\x06\0\xc2\x04" + struct.pack(">I", 8 + len(body))
    segment = dissect(ethernet(ipv6(jumbo + body, 0, length=0) + b"padding", 0x86DD))
    assert segment is not None
    assert segment.payload == data


@pytest.mark.parametrize(
    ("claimed", "expected"), [(8 + 4, b"data"), (0, b"data!!"), (8 + 6, b"data!!"), (99, b"data!!")]
)
def test_datagram_lengths(claimed: int, expected: bytes) -> None:
    segment = dissect(ethernet(ipv4(udp(data=b"data!!", length=claimed), 17)))
    assert segment is not None
    assert (segment.key[0], segment.payload, segment.missing) == (17, expected, 0)


def test_a_datagram_to_a_tunnels_port_that_is_no_tunnel() -> None:
    for port in (4789, 8472, 4790, 6081, 3544, 2152, 6635, 4754, 1701, 6633):
        for data in (b"", b"x", b"mevent!?" * 4, b"\xff" * 60, bytes(60), b"\x08\0\0\0\0\0\1\0rest"):
            segment = dissect(tunnel(port, data))
            assert segment is not None
            assert (segment.key[0], segment.payload) == (17, data)


@pytest.mark.parametrize(
    ("link_type", "frame", "reason"),
    [
        (1, ethernet(bytes(28), 0x0806), "arp"),
        (1, ethernet(bytes(28), 0x88CC), "lldp"),
        (1, ethernet(bytes(28), 0x1234), "ethertype 0x1234"),
        (1, ethernet(bytes(28), 0x8903), "ethertype 0x8903"),
        (1, ethernet(b"\x2c\0" + bytes(40), 0x88E5), "encrypted"),
        (1, ethernet(b"\x04\0" + bytes(40), 0x88E5), "encrypted"),
        (1, ethernet(bytes(60), 0x9000), "loopback"),
        (1, ethernet(b"\xaa\xaa\x03\0\0\x0c\x20\0" + bytes(20), 28), "llc"),
        (1, gre(0x8200, bytes(40)), "gre-type 0x8200"),
        (1, gre(0x0806, bytes(28)), "arp"),
        (1, gre(0x1234, bytes(28), 0x3001, bytes(8)), "gre-type 0x1234"),
        (1, gre(0x0800, INNER, 7), "gre"),
        (1, ethernet(b"\0\2\1\x99" + bytes(40), 0x894F), "nsh"),
        (9, b"\xff\x03\xc0\x21" + bytes(20), "ppp-control"),
        (9, b"\xff\x03\x00\xfd" + bytes(20), "ppp-protocol 0x00fd"),
        (258, pktap(147, INNER), "pktap"),
        (258, struct.pack("<III", 108, 0, 1) + bytes(96), "pktap"),
        (258, pktap(1, b"")[:11], "cut"),
        (258, pktap(1, INNER, order=">", length=0x80000000 + 108), "bad-header"),
        (258, pktap(1, INNER, length=0xC0C0C0C0), "pktap"),
        (149, b"anything else", "link-type 149"),
        (149, b"short", "link-type 149"),
        (1, ethernet(ipv4(bytes(8), 108)), "ip-protocol 108"),
        (1, ethernet(ipv4(bytes(8), 103)), "pim"),
        (1, ethernet(ipv4(bytes(8), 1)), "icmp"),
        (1, ethernet(ipv6(bytes(8), 58), 0x86DD), "icmpv6"),
        (1, ethernet(ipv4(bytes(8), 50)), "encrypted"),
        (1, ethernet(ipv4(bytes(8), 99)), "ip-protocol 99"),
        (1, ethernet(ipv4(b"\6\0\0\1" + bytes(8), 44)), "ip-protocol 44"),
        (1, ethernet(ipv4(b"\6\0" + bytes(30), 60)), "ip-protocol 60"),
        (1, ethernet(b"\x42\x42\x03", 3), "llc"),
        (1, ethernet(b"\x55" + INNER[1:]), "bad-header"),
        (1, ethernet(b"\x41" + INNER[1:]), "bad-header"),
        (1, ethernet(INNER[:2] + u16(10) + INNER[4:]), "bad-header"),
        (1, ethernet(ipv4(INNER[20:32] + b"\x10" + INNER[33:])), "bad-header"),
        (1, ethernet(ipv4(INNER[20:32] + b"\xf0" + INNER[33:])), "bad-header"),
        (1, ethernet(ipv4(udp(length=3), 17)), "bad-header"),
        (1, ethernet(INNER[:30]), "cut"),
        (1, b"short", "cut"),
        (105, b"\x08\x41" + bytes(40), "encrypted"),
        (105, b"\x80\0" + bytes(40), "802.11-no-data"),
        (105, b"\x88\1" + bytes(22) + b"\x80\0" + bytes(20), "bad-header"),
        (105, b"\x88\1" + bytes(22) + b"\x80\0" + bytes(13), "cut"),
        (105, b"\x88\1" + bytes(22) + b"\x80\0" + bytes(12) + u16(5) + bytes(4), "bad-header"),
        (0, struct.pack("<I", 7) + INNER, "address-family 7"),
        (147, INNER, "link-type 147"),
        (1, ethernet(u16(1, 0x8100) * 40, 0x8100), "layers"),
    ],
)
def test_what_gives_no_segment_is_counted(link_type: int, frame: bytes, reason: str) -> None:
    dissector = Dissector()
    assert one_of(dissector, packet(frame, link_type)) is None
    assert dissector.ignored == {reason: 1}
    assert dissector.damaged == ([(24, 1, reason)] if reason in ("cut", "bad-header") else [])


def fragments(body: bytes, size: int, ident: int = 1, version: int = 4) -> list[bytes]:
    found = []
    for offset in range(0, len(body), size):
        part = body[offset : offset + size]
        more = offset + size < len(body)
        if version == 4:
            found.append(ethernet(ipv4(part, 6, ident=ident, fragment=offset // 8 | (0x2000 if more else 0))))
        else:
            head = b"\6\0" + u16(offset | more) + struct.pack(">I", ident)
            found.append(ethernet(ipv6(head + part, 44), 0x86DD))
    return found


BODY = tcp(seq=5, data=bytes(range(100)))


@pytest.mark.parametrize("version", [4, 6])
def test_fragments_in_any_order(version: int) -> None:
    frames = fragments(BODY, 32, version=version)
    assert len(frames) == 4
    for order in itertools.permutations(range(4)):
        dissector = Dissector()
        found = [
            one_of(dissector, packet(frames[at], number=at + 1, time=step)) for step, at in enumerate(order)
        ]
        assert found[:3] == [None] * 3
        segment = found[3]
        assert segment is not None
        assert segment.payload == bytes(range(100))
        assert segment.time_us == 3
        assert segment.fragments == tuple(at + 1 for at in order)
        assert dissector.ignored == {"fragment": 3}
        assert dissector.close() == []


def test_fragments_twice_and_overlapping() -> None:
    dissector = Dissector()
    frames = fragments(BODY, 32)
    wrong = ethernet(ipv4(b"\xff" * 48, 6, ident=1, fragment=0x2000 | 3))
    for number, frame in enumerate([frames[0], frames[0], frames[1], wrong, frames[2]]):
        assert one_of(dissector, packet(frame, number=number)) is None
    segment = one_of(dissector, packet(frames[3]))
    assert segment is not None
    expected = bytearray(range(100))
    # 24..72 of the datagram came again with other bytes: 64..72 of them first
    expected[64 - 20 : 72 - 20] = b"\xff" * 8
    assert segment.payload == bytes(expected)


def test_a_last_fragment_that_the_capture_cut() -> None:
    body = udp(data=bytes(range(100)))
    frames = [ipv4(body[:64], 17, fragment=0x2000), ipv4(body[64:], 17, fragment=8)]
    whole = len(frames[1]) + 14
    packets = [
        Packet(1, 0, 1, 0, ethernet(frames[0]), 98, 0),
        Packet(2, 9, 1, 0, ethernet(frames[1])[:-9], whole, 90),
    ]
    dissector = Dissector()
    segments = [segment for packet in packets for segment in added(dissector, packet)]
    assert segments == []
    rows = dissector.state()
    other = Dissector()
    for row in rows:
        other.add_fragment(row, segments)
    assert segments == []
    for one in (dissector, other):
        (segment,) = one.close()
        assert (segment.payload, segment.missing) == (bytes(range(91)), 9)


def test_fragments_of_a_tunnel() -> None:
    whole = udp(50000, 4789, b"\x08\0\0\0\0\0\1\0" + ethernet(INNER))
    dissector = Dissector()
    first = ethernet(ipv4(whole[:64], 17, fragment=0x2000))
    assert one_of(dissector, packet(first)) is None
    segment = one_of(dissector, packet(ethernet(ipv4(whole[64:], 17, fragment=8)), number=2))
    assert segment is not None
    assert (segment.payload, segment.fragments) == (DATA, (1, 2))


def test_fragments_that_never_come() -> None:
    dissector = Dissector()
    frames = fragments(BODY, 32)
    for at in (0, 1, 3):
        one_of(dissector, packet(frames[at], number=at + 1))
    (segment,) = dissector.close()
    assert (segment.payload, segment.missing) == (bytes(range(44)), 56)
    assert dissector.ignored == {"fragment": 3, "fragment-incomplete": 1}
    dissector = Dissector()
    one_of(dissector, packet(frames[0]))
    (segment,) = added(dissector, packet(frames[1], time=FRAGMENT_TIME_US + 1))
    assert segment.payload == bytes(range(12))


def test_waiting_fragments_go_to_another_dissector() -> None:
    frames = fragments(BODY, 32)
    first, second = Dissector(), Dissector()
    for at in (0, 2):
        one_of(first, packet(frames[at], number=at + 1))
    for at in (1, 3):
        one_of(second, packet(frames[at], number=at + 1))
    rows = pickle.loads(pickle.dumps(second.state()))
    found: list[Segment] = []
    first.add_fragment(rows[0], found)
    assert found == []
    first.add_fragment(rows[1], found)
    assert found[0].payload == bytes(range(100))


@pytest.mark.slow
def test_waiting_fragments_are_bounded() -> None:
    dissector = Dissector()
    tracemalloc.start()
    for ident in range(20_000):
        part = ipv4(bytes(1400), 6, struct.pack(">I", ident), ident=ident & 0xFFFF, fragment=0x2000)
        added(dissector, packet(ethernet(part), time=ident))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(dissector.state()) <= FRAGMENT_DATAGRAMS
    assert peak < 2 * FRAGMENT_BYTES


@given(st.sampled_from(sorted(LINK_LAYERS)), st.binary(max_size=200), st.integers(0, 300))
def test_any_frame_is_survived(link_type: int, frame: bytes, original: int) -> None:
    one_of(Dissector(), packet(frame, link_type, original))


@given(st.sampled_from(sorted(FRAMES)), st.data())
def test_any_damage_is_survived(name: str, draw: st.DataObject) -> None:
    link_type, frame = FRAMES[name]
    data = bytearray(frame)
    for _ in range(draw.draw(st.integers(1, 5))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    dissector = Dissector()
    segments = added(dissector, packet(bytes(data[: draw.draw(st.integers(0, len(data)))]), link_type))
    for segment in [*segments, *dissector.close()]:
        assert segment.missing >= 0
        assert len(segment.payload) <= len(frame)


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20), st.booleans(), st.binary(max_size=40)), max_size=30
    )
)
def test_any_fragments_are_survived(parts: list[tuple[int, int, bool, bytes]]) -> None:
    dissector = Dissector()
    for offset, ident, more, data in parts:
        frame = ethernet(ipv4(data, 6, ident=ident, fragment=offset | (0x2000 if more else 0)))
        one_of(dissector, packet(frame))
    dissector.close()
    assert dissector.state() == []
