"""From a link-layer frame to the TCP segment or UDP datagram in it.

`Dissector.dissect` walks the layers with an explicit loop, tunnels included, and puts IP fragments together.
Lengths of the headers bound every layer (so padding and checksums of the link stay out) and the frame
bounds the lengths. Sources: IEEE 802.3, 802.1Q, 802.11; RFC 791, 8200, 9293, 768, 2784, 7348, 8926, 3032,
2516, 1661, 4380, 8300; 3GPP TS 29.281; the LINKTYPE_ list of tcpdump.org.
"""

from typing import Final

from librt.strings import BytesWriter, read_i16_be, read_i16_le, read_i32_be, read_i32_le
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.captures.pcap import Packet
from wirelens.codecs.scan import write_part

LAYER_LIMIT: Final = 32
"""So many headers one frame may have before its transport."""
FRAGMENT_DATAGRAMS: Final = 1024
"""So many IP datagrams may wait for fragments; the oldest is given up."""
FRAGMENT_BYTES: Final = 1 << 23
"""So many bytes of fragments may wait."""
FRAGMENTS: Final = 1500
"""So many fragments one datagram may have; the smallest link there may be (68 bytes) makes 1366 of 65,535."""
FRAGMENT_COST: Final = 128
"""What a waiting fragment counts beside its bytes."""
FRAGMENT_TIME_US: Final = 30_000_000
"""A fragment so many microseconds later is of another datagram (RFC 791 has 15 s, RFC 8200 60 s)."""
AGGREGATE_HEADER: Final = 14
"""Bytes before each frame in an 802.11 frame of several: two addresses and a length."""
DATAGRAM_LIMIT: Final = 65_535 + 40
"""No datagram of fragments is longer."""

TCP: Final = 6
UDP: Final = 17
FIN: Final = 1
SYN: Final = 2
RST: Final = 4
ACK: Final = 16

Row = tuple[bytes, bool, int, int, int, bytes, int, int, int, int, tuple[int, ...]]
"""A segment as plain values: the arguments of `Segment`, in order. It pickles."""
FragmentRow = tuple[bytes, int, bool, bytes, int, int, int]
"""A waiting fragment: datagram key, offset, whether more follow, data, time, packet number, file offset."""

# Layers below 0x10000 are EtherTypes; 0x20000 and up are IP protocol numbers.
IPV4: Final = 0x0800
IPV6: Final = 0x86DD
ETHERNET: Final = 0x10000
LLC: Final = 0x10001
PPP: Final = 0x10002
NULL: Final = 0x10003
LOOP: Final = 0x10004
RAW: Final = 0x10005
COOKED: Final = 0x10006
COOKED2: Final = 0x10007
WLAN: Final = 0x10008
RADIOTAP: Final = 0x10009
PRISM: Final = 0x1000A
AVS: Final = 0x1000B
PPI: Final = 0x1000C
NFLOG: Final = 0x1000D
PFLOG: Final = 0x1000E
ENC: Final = 0x1000F
TOKEN_RING: Final = 0x10010
FDDI: Final = 0x10011
FRAME_RELAY: Final = 0x10012
FIREWIRE: Final = 0x10013
AGGREGATE: Final = 0x10014
NSH: Final = 0x894F
MPLS: Final = 0x8847
IP: Final = 0x20000

LINK_LAYERS: Final[dict[int, int]] = {
    0: NULL,
    1: ETHERNET,
    6: TOKEN_RING,
    9: PPP,
    10: FDDI,
    12: RAW,
    14: RAW,
    50: PPP,
    51: 0x8864,
    100: LLC,
    101: RAW,
    104: PPP,
    105: WLAN,
    107: FRAME_RELAY,
    108: LOOP,
    109: ENC,
    113: COOKED,
    117: PFLOG,
    119: PRISM,
    127: RADIOTAP,
    138: FIREWIRE,
    163: AVS,
    192: PPI,
    219: MPLS,
    228: IPV4,
    229: IPV6,
    239: NFLOG,
    276: COOKED2,
}
"""LINKTYPE_ numbers (the BSDs' raw IP numbers among them) and the layer a frame begins with."""

_NAMES: Final[dict[int, str]] = {
    0x0806: "arp",
    0x88CC: "lldp",
    0x8863: "pppoe-discovery",
    0x88E5: "encrypted",
    IP + 1: "icmp",
    IP + 2: "igmp",
    IP + 50: "encrypted",
    IP + 58: "icmpv6",
    IP + 59: "no-next-header",
    IP + 89: "ospf",
    IP + 132: "sctp",
}


@mypyc_attr(acyclic=True, free_list_len=1)
class Segment:
    """A TCP segment or a UDP datagram.

    key: the transport's number, then the two endpoints (address, port; big-endian), the smaller first; the
    same for both directions. VLANs and tunnels do not count. forward: whether the smaller endpoint sent it.
    sequence, acknowledgement, flags: TCP's (0 for UDP). payload: its bytes that were captured. missing:
    bytes of payload that the capture cut off. time_us, packet, file_offset: of the packet that completed it.
    fragments: the numbers of all packets if there were several.
    """

    __slots__ = (
        "acknowledgement",
        "file_offset",
        "flags",
        "forward",
        "fragments",
        "key",
        "missing",
        "packet",
        "payload",
        "sequence",
        "time_us",
    )

    def __init__(
        self,
        key: bytes,
        forward: bool,
        sequence: i64,
        acknowledgement: i64,
        flags: i64,
        payload: bytes,
        missing: i64,
        time_us: i64,
        packet: i64,
        file_offset: i64,
        fragments: tuple[int, ...],
    ) -> None:
        self.key: bytes = key
        self.forward: bool = forward
        self.sequence: i64 = sequence
        self.acknowledgement: i64 = acknowledgement
        self.flags: i64 = flags
        self.payload: bytes = payload
        self.missing: i64 = missing
        self.time_us: i64 = time_us
        self.packet: i64 = packet
        self.file_offset: i64 = file_offset
        self.fragments: tuple[int, ...] = fragments

    def row(self) -> Row:
        """The segment as a tuple; `Segment(*row)` makes it again."""
        return (
            self.key,
            self.forward,
            int(self.sequence),
            int(self.acknowledgement),
            int(self.flags),
            self.payload,
            int(self.missing),
            int(self.time_us),
            int(self.packet),
            int(self.file_offset),
            self.fragments,
        )


class _Datagram:
    """The fragments of one IP datagram so far: never overlapping, in order of their offset."""

    def __init__(self, protocol: i64, time_us: i64) -> None:
        self.protocol: i64 = protocol
        self.time_us: i64 = time_us
        self.total: i64 = -1
        self.cost: i64 = 0
        self.have: i64 = 0
        self.parts: list[tuple[int, bytes]] = []
        self.packets: list[int] = []
        self.rows: list[FragmentRow] = []

    def add(self, offset: i64, data: bytes) -> None:
        """Keep what is new of data; bytes that were there first stay."""
        end: i64 = offset + len(data)
        if not self.parts or offset >= self.parts[-1][0] + len(self.parts[-1][1]):
            self.parts.append((int(offset), data))
            self.have += len(data)
            return
        kept: list[tuple[int, bytes]] = []
        cursor: i64 = offset
        for start, part in self.parts:
            stop: i64 = start + len(part)
            if cursor < end and start > cursor:
                upto: i64 = min(end, start)
                kept.append((int(cursor), data[cursor - offset : upto - offset]))
                self.have += upto - cursor
                cursor = upto
            kept.append((start, part))
            cursor = max(cursor, stop) if start <= cursor else cursor
        if cursor < end:
            kept.append((int(cursor), data[cursor - offset :]))
            self.have += end - cursor
        self.parts = kept

    def prefix(self) -> bytes:
        """The bytes from offset 0 without a hole."""
        found: list[bytes] = []
        cursor: i64 = 0
        for start, part in self.parts:
            if start != cursor:
                break
            found.append(part)
            cursor += len(part)
        return b"".join(found)


class Dissector:
    """Finds the transport segment of each packet; keeps only unfinished IP datagrams.

    ignored counts the packets that gave no segment, by reason. damaged holds (file offset, packet number,
    reason) for the first DAMAGED_KEPT packets with a header that is cut or cannot be true.
    """

    DAMAGED_KEPT: Final = 100

    def __init__(self) -> None:
        self.ignored: dict[str, int] = {}
        self.damaged: list[tuple[int, int, str]] = []
        self._late: list[Segment] = []
        self._waiting: dict[bytes, _Datagram] = {}
        self._waiting_cost: i64 = 0
        self._reason: str = ""
        self._out: Final = BytesWriter()  # for keys

    def add(self, packet: Packet, segments: list[Segment]) -> None:
        """Append the segments that this packet carries or completes, in order; without one it is `ignored`.

        Several come from an 802.11 frame that aggregates frames, and when datagrams waited too long for
        their fragments: what there is of those comes first.
        """
        segment = self._dissect(packet)
        if self._late:
            segments.extend(self._late)
            self._late = []
        if segment is not None:
            segments.append(segment)

    def add_fragment(self, row: FragmentRow, segments: list[Segment]) -> None:
        """Take a fragment that another Dissector's `state` gave; append the segments that it completes."""
        key, offset, more, data, time_us, number, file_offset = row
        packet = Packet(number, time_us, 228, 0, b"", 0, file_offset)
        segment = self._fragment(packet, key, offset, more, data, len(data))
        if self._late:
            segments.extend(self._late)
            self._late = []
        if segment is not None:
            segments.append(segment)

    def close(self) -> list[Segment]:
        """The segments of datagrams whose fragments did not all arrive, as far as they go."""
        while self._waiting:
            self._give_up(next(iter(self._waiting)))
        segments = self._late
        self._late = []
        return segments

    def _dissect(self, packet: Packet) -> Segment | None:
        """The last segment of this packet; those before it go to `_late`."""
        link_type: int = packet.link_type
        layer = LINK_LAYERS.get(link_type, -1)
        if layer < 0:
            self._ignore(f"link-type {link_type}", packet)
            return None
        whole: i64 = packet.original_length
        if whole == 0 and not packet.data:
            self._ignore("empty", packet)
            return None
        if whole < len(packet.data):
            whole = len(packet.data)
        return self._walk(packet, packet.data, layer, whole, ())

    def state(self) -> list[FragmentRow]:
        """The waiting fragments as plain rows, for `add_fragment` of another Dissector."""
        rows: list[FragmentRow] = []
        for datagram in self._waiting.values():
            rows.extend(datagram.rows)
        return rows

    def _ignore(self, reason: str, packet: Packet) -> None:
        self.ignored[reason] = self.ignored.get(reason, 0) + 1
        if (reason == "bad-header" or reason == "cut") and len(self.damaged) < self.DAMAGED_KEPT:
            self.damaged.append((int(packet.file_offset), int(packet.number), reason))

    def _key(
        self, transport: i64, data: bytes, addresses: i64, width: i64, ports: i64, forward: bool
    ) -> bytes:
        """The key of a segment (see there), put together without objects for its parts."""
        out = self._out
        out.truncate(0)
        out.append(transport)
        first: i64 = 0 if forward else 1
        second = 1 - first
        write_part(out, data, addresses + first * width, addresses + (first + 1) * width)
        write_part(out, data, ports + 2 * first, ports + 2 * first + 2)
        write_part(out, data, addresses + second * width, addresses + (second + 1) * width)
        write_part(out, data, ports + 2 * second, ports + 2 * second + 2)
        return out.getvalue()

    def _walk(
        self, packet: Packet, data: bytes, layer: i64, whole: i64, fragments: tuple[int, ...]
    ) -> Segment | None:
        """Go through the layers. whole: where the present one ends on the wire; size: where the data does."""
        size: i64 = len(data)
        position: i64 = 0
        addresses: i64 = 0  # where the two IP addresses lie, each `width` bytes
        width: i64 = 0
        outer: Segment | None = None
        reason = "layers"
        kind: i64 = 0
        length: i64 = 0
        count: i64 = 0
        while count < LAYER_LIMIT:
            count += 1
            if layer == ETHERNET:
                if position + 14 > size:
                    reason = "cut"
                    break
                kind = _u16_be(data, position + 12)
                position += 14
                if kind >= 0x600:
                    layer = kind
                else:
                    whole = min(whole, position + kind) if kind else whole
                    layer = LLC
            elif layer == IPV4:
                if position + 20 > size:
                    reason = "cut" if whole > size or size == position else "bad-header"
                    break
                length = (data[position] & 15) * 4
                if data[position] >> 4 != 4 or length < 20:
                    reason = "bad-header"
                    break
                if position + length > size:
                    reason = "cut"
                    break
                kind = _u16_be(data, position + 2)
                if kind:
                    if kind < length:
                        reason = "bad-header"
                        break
                    whole = min(whole, position + kind)
                addresses = position + 12
                width = 4
                kind = _u16_be(data, position + 6) & 0x3FFF
                layer = IP + data[position + 9]
                if kind:
                    found = self._fragment(
                        packet,
                        data[addresses : addresses + 2 * width]
                        + data[position + 9 : position + 10]
                        + data[position + 4 : position + 6],
                        (kind & 0x1FFF) * 8,
                        kind & 0x2000 != 0,
                        data[position + length : max(position + length, min(whole, size))],
                        whole - position - length,
                    )
                    if found is None:
                        reason = self._reason
                        outer = None
                        break
                    return found
                position += length
            elif layer == IP + TCP:
                if position + 20 > min(size, whole):
                    reason = "cut"
                    break
                length = (data[position + 12] >> 4) * 4
                if length < 20 or position + length > whole:
                    reason = "bad-header"
                    break
                forward = _is_forward(data, addresses, width, position)
                start: i64 = position + length
                stop: i64 = max(start, min(size, whole))
                return Segment(
                    self._key(TCP, data, addresses, width, position, forward),
                    forward,
                    _u32_be(data, position + 4),
                    _u32_be(data, position + 8),
                    data[position + 13],
                    data[start:stop],
                    whole - stop,
                    packet.time_us,
                    packet.number,
                    packet.file_offset,
                    fragments,
                )
            elif layer == IP + UDP:
                if position + 8 > min(size, whole):
                    reason = "cut"
                    break
                kind = _u16_be(data, position + 4)
                if kind:
                    if kind < 8:
                        reason = "bad-header"
                        break
                    whole = min(whole, position + kind)
                forward = _is_forward(data, addresses, width, position)
                position += 8
                stop = min(size, whole)
                found = Segment(
                    self._key(UDP, data, addresses, width, position - 8, forward),
                    forward,
                    0,
                    0,
                    0,
                    data[position:stop],
                    whole - stop,
                    packet.time_us,
                    packet.number,
                    packet.file_offset,
                    fragments,
                )
                kind = _u16_be(data, position - 6)
                layer = _udp_tunnel(data, position, stop, kind)
                if layer < 0:
                    kind = _u16_be(data, position - 8)
                    layer = _udp_tunnel(data, position, stop, kind)
                if layer < 0:
                    return found
                if outer is None:
                    outer = found
                length = layer >> 32
                layer = layer & 0xFFFFFFFF
                position += length
                if position > stop:
                    return outer
            elif layer == IPV6:
                if position + 40 > size:
                    reason = "cut" if whole > size or size == position else "bad-header"
                    break
                if data[position] >> 4 != 6:
                    reason = "bad-header"
                    break
                kind = _u16_be(data, position + 4)
                if kind:
                    whole = min(whole, position + 40 + kind)
                addresses = position + 8
                width = 16
                layer = IP + data[position + 6]
                position += 40
            elif layer == 0x8100 or layer == 0x88A8 or layer == 0x9100 or layer == 0x9200 or layer == 0x9300:
                if position + 4 > size:
                    reason = "cut"
                    break
                layer = _u16_be(data, position + 2)
                position += 4
                if layer < 0x600:
                    whole = min(whole, position + layer) if layer else whole
                    layer = LLC
            elif (
                layer == IP or layer == IP + 43 or layer == IP + 60 or layer == IP + 135 or layer == IP + 139
            ):
                # RFC 8200 section 4: next header, length in units of 8 bytes, the first not counted
                if width != 16:
                    reason = f"ip-protocol {layer - IP}"
                    break
                if position + 8 > size:
                    reason = "cut"
                    break
                length = (data[position + 1] + 1) * 8
                if layer == IP:
                    jumbo = _jumbo(data, position, min(size, position + length))
                    if jumbo >= 0:
                        whole = min(whole, position + jumbo)
                if position + length > whole:
                    reason = "bad-header"
                    break
                if position + length > size:
                    reason = "cut"
                    break
                layer = IP + data[position]
                position += length
            elif layer == IP + 44:
                # section 4.5
                if width != 16:
                    reason = "ip-protocol 44"
                    break
                if position + 8 > size:
                    reason = "cut"
                    break
                kind = _u16_be(data, position + 2)
                layer = IP + data[position]
                position += 8
                if kind & 0xFFF9:
                    found = self._fragment(
                        packet,
                        data[addresses : addresses + 2 * width]
                        + data[position - 8 : position - 7]
                        + data[position - 4 : position],
                        kind & 0xFFF8,
                        kind & 1 != 0,
                        data[position : max(position, min(whole, size))],
                        whole - position,
                    )
                    if found is None:
                        reason = self._reason
                        outer = None
                        break
                    return found
            elif layer == IP + 51:
                if position + 12 > size:
                    reason = "cut"
                    break
                length = (data[position + 1] + 2) * 4
                layer = IP + data[position]
                position += length
            elif layer == IP + 4 or layer == IP + 94:
                layer = IPV4
            elif layer == IP + 41:
                layer = IPV6
            elif layer == IP + 97:
                layer = ETHERNET
                position += 2
            elif layer == IP + 137 or layer == MPLS or layer == 0x8848:
                # RFC 3032 section 2.1: 20 bits of label, 3 bits, bottom of stack, 8 bits
                while position + 4 <= size and data[position + 2] & 1 == 0:
                    position += 4
                position += 4
                if position >= size:
                    reason = "cut"
                    break
                kind = data[position] >> 4
                if kind == 4:
                    layer = IPV4
                elif kind == 6:
                    layer = IPV6
                else:
                    layer = ETHERNET
                    if kind == 0 and position + 4 <= size and data[position] == 0:
                        position += 4
            elif layer == IP + 47:
                layer = _gre(data, position, size)
                if layer < 0:
                    reason = "cut" if layer == -1 else "gre"
                    break
                position += layer >> 32
                layer = layer & 0xFFFFFFFF
            elif layer == LLC:
                if position + 3 > size:
                    reason = "cut"
                    break
                kind = _u16_be(data, position)
                if kind == 0xAAAA and position + 8 <= size:
                    layer = _u16_be(data, position + 6)
                    position += 8
                elif kind == 0x0606:
                    layer = IPV4
                    position += 3
                else:
                    reason = "llc"
                    break
            elif layer == 0x8864:
                # RFC 2516 section 4
                if position + 6 > size:
                    reason = "cut"
                    break
                kind = _u16_be(data, position + 4)
                position += 6
                whole = min(whole, position + kind)
                layer = PPP
            elif layer == PPP:
                layer = _ppp(data, position, size)
                if layer < 0:
                    reason = "cut" if layer == -1 else "ppp"
                    break
                position += layer >> 32
                layer = layer & 0xFFFFFFFF
            elif layer == NULL or layer == LOOP:
                if position + 4 > size:
                    reason = "cut"
                    break
                family: i64 = _u32_be(data, position)
                if layer == NULL and family > 0xFFFF:
                    family = _u32_le(data, position)
                layer = _family(family)
                position += 4
                if layer < 0:
                    reason = f"address-family {family}" if family < 0x10000 else "bad-header"
                    break
            elif layer == RAW:
                if position >= size:
                    reason = "cut"
                    break
                kind = data[position] >> 4
                if kind != 4 and kind != 6:
                    reason = "bad-header"
                    break
                layer = IPV4 if kind == 4 else IPV6
            elif layer == COOKED or layer == COOKED2:
                length = 16 if layer == COOKED else 20
                if position + length > size:
                    reason = "cut"
                    break
                kind = _u16_be(data, position + 14 if layer == COOKED else position)
                position += length
                layer = LLC if kind < 0x600 else kind
                if kind < 0x600 and kind != 4 and kind != 1:
                    reason = f"cooked-protocol {kind}"
                    break
            elif layer == WLAN:
                layer = _wlan(data, position, size)
                if layer < 0:
                    reason = ("cut", "802.11-no-data", "encrypted")[-1 - layer]
                    break
                position += layer >> 32
                layer = layer & 0xFFFFFFFF
            elif layer == AGGREGATE:
                return self._subframes(packet, data, position, whole)
            elif layer == RADIOTAP or layer == PRISM or layer == AVS or layer == PPI:
                if position + 8 > size:
                    reason = "cut"
                    break
                if layer == RADIOTAP:
                    length = _u16_le(data, position + 2)
                    if length < 8:
                        reason = "bad-header"
                        break
                    if _radiotap_padded(data, position, min(size, position + length)):
                        data = _without_padding(data, position + length)
                        whole -= size - len(data)
                        size = len(data)
                    layer = WLAN
                elif layer == PPI:
                    length = _u16_le(data, position + 2)
                    kind = _u32_le(data, position + 4)
                    layer = LINK_LAYERS.get(int(kind), -1)
                    if length < 8 or layer < 0 or layer == PPI:
                        reason = "bad-header"
                        break
                else:
                    length = _u32_be(data, position + 4)
                    if layer == PRISM and _u32_be(data, position) & 0xFFFFF000 != 0x80211000:
                        kind = _u32_le(data, position + 4)
                        length = kind
                    layer = WLAN
                position += length
            elif layer == NSH:
                # RFC 8300 section 2.2
                if position + 8 > size:
                    reason = "cut"
                    break
                length = (data[position + 1] & 0x3F) * 4
                layer = _next_protocol(data[position + 3])
                if length < 8 or layer < 0:
                    reason = "bad-header"
                    break
                position += length
            elif layer == 0x88E7:
                # IEEE 802.1ah: the tag holds the customer's addresses, which the inner frame begins with
                position += 4
                layer = ETHERNET
            elif layer == 0x8926:
                # VN-Tag
                if position + 6 > size:
                    reason = "cut"
                    break
                layer = _u16_be(data, position + 4)
                position += 6
            elif layer == 0x6558:
                layer = ETHERNET
            elif layer == NFLOG:
                layer = _nflog(data, position, size)
                if layer < 0:
                    reason = "bad-header"
                    break
                position += layer >> 32
                layer = layer & 0xFFFFFFFF
            elif layer == PFLOG:
                if position >= size:
                    reason = "cut"
                    break
                position += (data[position] + 3) & 0xFC
                layer = RAW
            elif layer == ENC:
                position += 12
                layer = RAW
            elif layer == TOKEN_RING:
                if position + 15 > size:
                    reason = "cut"
                    break
                length = 14
                if data[position + 8] & 0x80:
                    length += data[position + 14] & 0x1F
                position += length
                layer = LLC
            elif layer == FDDI:
                position += 13
                layer = LLC
            elif layer == FRAME_RELAY:
                # RFC 2427: address of two bytes, control, protocol identifier
                if position + 9 > size:
                    reason = "cut"
                    break
                kind = data[position + 3]
                if kind == 0x80:
                    layer = _u16_be(data, position + 7)
                    position += 9
                elif kind == 0xCC or kind == 0x8E:
                    layer = IPV4 if kind == 0xCC else IPV6
                    position += 4
                else:
                    reason = "frame-relay"
                    break
            elif layer == FIREWIRE:
                if position + 18 > size:
                    reason = "cut"
                    break
                layer = _u16_be(data, position + 16)
                position += 18
            else:
                reason = _NAMES.get(int(layer), "")
                if reason:
                    outer = None
                else:
                    reason = f"ip-protocol {layer - IP}" if layer >= IP else f"ethertype 0x{layer:04x}"
                break
        if outer is not None:
            # not the tunnel its port promised
            return outer
        self._ignore(reason, packet)
        return None

    def _subframes(self, packet: Packet, data: bytes, position: i64, whole: i64) -> Segment | None:
        """Dissect the frames in an 802.11 frame (section 9.3.2.2.2), each to a segment of its own.

        No layer leads from one of them to 802.11 again, so that this does not nest.
        """
        last: Segment | None = None
        size: i64 = len(data)
        if position + AGGREGATE_HEADER > size:
            self._ignore("cut", packet)
        while position + AGGREGATE_HEADER <= size:
            start = position + AGGREGATE_HEADER
            length: i64 = _u16_be(data, position + 12)
            if length == 0 or start + length > whole:
                self._ignore("bad-header", packet)
                break
            found = self._walk(packet, data[start : start + length], LLC, length, ())
            if found is not None:
                if last is not None:
                    self._late.append(last)
                last = found
            position += (AGGREGATE_HEADER + length + 3) & ~3
        return last

    def _fragment(
        self, packet: Packet, key: bytes, offset: i64, more: bool, data: bytes, length: i64
    ) -> Segment | None:
        """Keep a fragment of datagram `key` (addresses, protocol, identification); length: on the wire."""
        length = max(length, len(data))
        waiting = self._waiting.get(key)
        time_us = packet.time_us
        if waiting is not None and time_us - waiting.time_us > FRAGMENT_TIME_US:
            self._give_up(key)
            waiting = None
        if offset + length > DATAGRAM_LIMIT:
            self._reason = "bad-header"
            return None
        self._reason = "fragment"
        if waiting is None:
            waiting = _Datagram(key[8] if len(key) == 11 else key[32], time_us)
            self._waiting[key] = waiting
        cost: i64 = len(data) + FRAGMENT_COST
        waiting.cost += cost
        self._waiting_cost += cost
        number: int = packet.number
        if len(waiting.rows) < FRAGMENTS:
            place: int = packet.file_offset
            cut = length > len(data)
            waiting.rows.append((key, int(offset), more or cut, data, int(time_us), number, place))
            if cut and not more:
                # of a last fragment that the capture cut, an empty one says where it ended
                waiting.rows.append((key, int(offset + length), False, b"", int(time_us), number, place))
            waiting.packets.append(number)
            waiting.add(offset, data)
        if not more:
            waiting.total = offset + length
        if waiting.total >= 0 and waiting.have >= waiting.total:
            del self._waiting[key]
            self._waiting_cost -= waiting.cost
            whole = waiting.prefix()[: waiting.total]
            return self._transport(packet, key, waiting, whole, len(whole))
        while self._waiting_cost > FRAGMENT_BYTES or len(self._waiting) > FRAGMENT_DATAGRAMS:
            self._give_up(next(iter(self._waiting)))
        return None

    def _transport(
        self, packet: Packet, key: bytes, datagram: _Datagram, data: bytes, whole: i64
    ) -> Segment | None:
        """Dissect what fragments gave: behind a made IP header, so that tunnels in it are followed too."""
        if len(key) == 11:
            # total length 0: the data decides
            head = b"\x45\0\0\0\0\0\0\0\0" + key[8:9] + b"\0\0" + key[:8]
            return self._walk(packet, head + data, IPV4, whole + 20, tuple(datagram.packets))
        head = b"\x60\0\0\0\0\0" + key[32:33] + b"\0" + key[:32]
        return self._walk(packet, head + data, IPV6, whole + 40, tuple(datagram.packets))

    def _give_up(self, key: bytes) -> None:
        """Stop waiting for a datagram: its beginning, if it came, is a segment with missing bytes."""
        datagram = self._waiting.pop(key)
        self._waiting_cost -= datagram.cost
        self.ignored["fragment-incomplete"] = self.ignored.get("fragment-incomplete", 0) + 1
        data = datagram.prefix()
        if not data:
            return
        last = datagram.rows[-1]
        packet = Packet(last[5], last[4], 228, 0, b"", 0, last[6])
        found = self._transport(packet, key, datagram, data, max(len(data), datagram.total))
        if found is not None:
            self._late.append(found)


def _is_forward(data: bytes, addresses: i64, width: i64, ports: i64) -> bool:
    """Whether the source, address and port, is not above the destination."""
    end = addresses + width
    while addresses < end:
        source = data[addresses]
        destination = data[addresses + width]
        if source != destination:
            return source < destination
        addresses += 1
    return _u16_be(data, ports) <= _u16_be(data, ports + 2)


def _u16_be(data: bytes, at: i64) -> i64:
    return i64(read_i16_be(data, at)) & 0xFFFF


def _u16_le(data: bytes, at: i64) -> i64:
    return i64(read_i16_le(data, at)) & 0xFFFF


def _u32_be(data: bytes, at: i64) -> i64:
    return i64(read_i32_be(data, at)) & 0xFFFFFFFF


def _u32_le(data: bytes, at: i64) -> i64:
    return i64(read_i32_le(data, at)) & 0xFFFFFFFF


# A helper's answer: the next layer in the lower 32 bits, the bytes to pass over above them; negative: none.


def _family(number: i64) -> i64:
    """BSD and Linux address families."""
    if number == 2:
        return IPV4
    if number == 10 or number == 24 or number == 28 or number == 30:
        return IPV6
    return -1


def _next_protocol(number: i64) -> i64:
    """NSH's and VXLAN-GPE's next protocol."""
    if number == 1:
        return IPV4
    if number == 2:
        return IPV6
    if number == 3:
        return ETHERNET
    if number == 4:
        return NSH
    if number == 5:
        return MPLS
    return -1


def _jumbo(data: bytes, position: i64, end: i64) -> i64:
    """The length in a Jumbo Payload option (RFC 2675), counted from this header; -1 without one."""
    position += 2
    while position + 2 <= end:
        if data[position] == 0:
            position += 1
            continue
        if data[position] == 0xC2 and data[position + 1] == 4 and position + 6 <= end:
            length: i64 = _u32_be(data, position + 2)
            return length
        position += 2 + data[position + 1]
    return -1


def _udp_tunnel(data: bytes, position: i64, end: i64, port: i64) -> i64:
    """What a datagram to or from a tunnel's port carries, if its header is the tunnel's."""
    if port != 4789 and port != 8472 and port != 4790 and port != 6081 and port != 3544:
        if port != 2152 and port != 6635 and port != 4754 and port != 1701 and port != 6633:
            return -1
    if position + 8 > end:
        return -1
    flags: i64 = data[position]
    length: i64 = 8
    layer: i64 = -1
    kind: i64 = 0
    if port == 4789 or port == 8472 or port == 4790:
        # RFC 7348 section 5; with bit 2 the generic extension's next protocol
        if flags & 8 == 0:
            return -1
        if flags & 4:
            layer = _next_protocol(data[position + 3])
        elif data[position + 7] == 0:
            layer = ETHERNET
    elif port == 6081:
        # RFC 8926 section 3.4
        if flags >> 6 or data[position + 7]:
            return -1
        length += (flags & 0x3F) * 4
        kind = _u16_be(data, position + 2)
        layer = kind
    elif port == 3544:
        # RFC 4380 section 5.1.1
        length = 0
        if flags == 0 and data[position + 1] == 1 and position + 4 <= end:
            length = 13 + data[position + 2] + data[position + 3]
        if position + length + 8 <= end and data[position + length] == 0 and data[position + length + 1] == 0:
            length += 8
        if position + length + 40 <= end and data[position + length] >> 4 == 6:
            layer = IPV6
    elif port == 2152:
        # 3GPP TS 29.281 section 5.1: version 1, a user packet
        if flags & 0xF0 != 0x30 or data[position + 1] != 255:
            return -1
        if flags & 7:
            length = 12
            if position + 12 > end:
                return -1
            kind = data[position + 11]
            while kind:
                if position + length >= end or data[position + length] == 0:
                    return -1
                length += data[position + length] * 4
                if position + length > end:
                    return -1
                kind = data[position + length - 1]
        layer = RAW
        if position + length >= end or data[position + length] >> 4 not in (4, 6):
            return -1
    elif port == 6633:
        # RFC 8300 section 2.2: version 0, whole words, a known kind of metadata
        kind = data[position + 2] & 15
        if flags >> 6 or data[position + 1] & 0x3F < 2 or (kind != 1 and kind != 2):
            return -1
        length = 0
        layer = NSH
    elif port == 6635:
        length = 0
        layer = MPLS
    elif port == 4754:
        length = 0
        layer = IP + 47
    else:
        # L2TP version 2, data (RFC 2661 section 3.1)
        if flags & 0x80 or data[position + 1] & 15 != 2:
            return -1
        length = 6
        if flags & 0x40:
            length += 2
        if flags & 0x08:
            length += 4
        if flags & 0x02:
            if position + length + 2 > end:
                return -1
            kind = _u16_be(data, position + length)
            length += 2 + kind
        layer = PPP
    return -1 if layer < 0 else length << 32 | layer


def _gre(data: bytes, position: i64, size: i64) -> i64:
    """RFC 2784 and 2890; version 1 is PPTP's (RFC 2637); ERSPAN's headers with it. -1: cut, -2: unknown."""
    if position + 4 > size:
        return -1
    flags: i64 = _u16_be(data, position)
    kind: i64 = _u16_be(data, position + 2)
    length: i64 = 4
    if flags & 7 == 1:
        length = 8
        if flags & 0x1000:
            length += 4
        if flags & 0x0080:
            length += 4
        return length << 32 | PPP if kind == 0x880B else -2
    if flags & 0x4007:
        return -2
    if flags & 0x8000:
        length += 4
    if flags & 0x2000:
        length += 4
    if flags & 0x1000:
        length += 4
    layer: i64 = kind
    if kind == 0x880B:
        layer = PPP
    elif kind == 0x88BE:
        layer = ETHERNET
        if flags & 0x1000:
            length += 8
    elif kind == 0x22EB:
        layer = ETHERNET
        if position + length + 12 > size:
            return -1
        length += 20 if data[position + length + 11] & 1 else 12
    elif kind == 0x883E:
        layer = IPV4
        if position + length < size and data[position + length] >> 4 != 4:
            length += 4
    return length << 32 | layer


def _ppp(data: bytes, position: i64, size: i64) -> i64:
    """RFC 1661 section 2 with RFC 1662's and Cisco's framing. -1: cut, -2: no IP."""
    length: i64 = 0
    if position + 2 > size:
        return -1
    kind: i64 = data[position]
    if kind == 0xFF and data[position + 1] == 3:
        length = 2
    elif (kind == 0x0F or kind == 0x8F) and data[position + 1] == 0:
        if position + 4 > size:
            return -1
        kind = _u16_be(data, position + 2)
        return 4 << 32 | kind
    elif kind <= 1 and data[position + 1] == 3:
        # a direction where the address belongs
        length = 2
    if position + length >= size:
        return -1
    kind = data[position + length]
    length += 1
    if kind & 1 == 0:
        if position + length >= size:
            return -1
        kind = kind << 8 | data[position + length]
        length += 1
    if kind == 0x21:
        return length << 32 | IPV4
    if kind == 0x57:
        return length << 32 | IPV6
    if kind == 0x281 or kind == 0x283:
        return length << 32 | MPLS
    return -2


def _wlan(data: bytes, position: i64, size: i64) -> i64:
    """IEEE 802.11 section 9.2. -1: cut, -2: not a data frame, -3: encrypted."""
    if position + 24 > size:
        return -1
    control: i64 = data[position]
    flags: i64 = data[position + 1]
    if control & 0x0C != 8 or control & 0x40:
        return -2
    if flags & 0x40:
        return -3
    inner: i64 = LLC
    length: i64 = 24
    if flags & 3 == 3:
        length += 6
    if control & 0x80:
        if position + length + 2 > size:
            return -1
        if data[position + length] & 0x80:
            inner = AGGREGATE
        length += 2
        if flags & 0x80:
            length += 4
    return length << 32 | inner


def _radiotap_padded(data: bytes, position: i64, end: i64) -> bool:
    """Whether the flags field (radiotap.org) says that the 802.11 header is padded to four bytes."""
    if position + 8 > end:
        return False
    present: i64 = _u32_le(data, position + 4)
    first: i64 = present
    cursor: i64 = position + 8
    while present & 0x80000000:
        if cursor + 4 > end:
            return False
        present = _u32_le(data, cursor)
        cursor += 4
    if first & 2 == 0:
        return False
    if first & 1:
        cursor = position + ((cursor - position + 7) & ~7) + 8
    return cursor < end and data[cursor] & 0x20 != 0


def _without_padding(data: bytes, position: i64) -> bytes:
    """The frame without the padding behind its 802.11 header at `position`."""
    found = _wlan(data, position, len(data))
    if found < 0:
        return data
    length: i64 = found >> 32
    padding: i64 = -length & 3
    if padding == 0:
        return data
    return data[: position + length] + data[position + length + padding :]


def _nflog(data: bytes, position: i64, size: i64) -> i64:
    """LINKTYPE_NFLOG: family, version, resource; then fields of length, type (host order), value."""
    start: i64 = position
    if position + 4 > size:
        return -1
    family: i64 = _family(data[position])
    position += 4
    while position + 4 <= size:
        length: i64 = _u16_le(data, position)
        kind: i64 = _u16_le(data, position + 2)
        if kind > 255:
            length = _u16_be(data, position)
            kind = _u16_be(data, position + 2)
        if length < 4:
            return -1
        if kind == 9:
            return -1 if family < 0 else (position + 4 - start) << 32 | family
        position += (length + 3) & ~3
    return -1
