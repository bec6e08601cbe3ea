"""From a link-layer frame to the TCP segment or UDP datagram in it.

`Dissector.add` reads one layer after the other, tunnels included, and puts IP fragments together. The
path Ethernet - IP - TCP or UDP is here; links.py and tunnels.py read the headers of all other layers,
fragments.py keeps IP fragments. The lengths in headers bound every layer (so padding and checksums of the
link are left out), and the frame bounds the lengths.
Sources: IEEE 802.3, 802.1Q, 802.11; RFC 791, 8200, 2675, 9293, 768, 2516.
"""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.captures.fragments import DATAGRAM_LIMIT, Datagram, FragmentRow, Fragments
from wirelens.codecs.captures.layers import (
    AGGREGATE,
    BAD,
    CUT,
    ETHERNET,
    IP,
    IP_DESTINATION,
    IP_FRAGMENT,
    IP_HIP,
    IP_HOP_BY_HOP,
    IP_MOBILITY,
    IP_ROUTING,
    IP_TCP,
    IP_UDP,
    IPV4,
    IPV6,
    LAYER_MASK,
    LINK,
    LLC,
    LOWEST_ETHERTYPE,
    NO_TRANSPORT,
    PPP,
    PPPOE_SESSION,
    QINQ,
    QINQ_91,
    QINQ_92,
    QINQ_93,
    REASONS,
    TOO_DEEP,
    UNREAD,
    VLAN,
    u16_be,
    u32_be,
    unread_name,
)
from wirelens.codecs.captures.links import LINK_LAYERS, link_header
from wirelens.codecs.captures.pcap import Packet
from wirelens.codecs.captures.tunnels import tunnel_header, udp_tunnel
from wirelens.codecs.scan import write_part

LAYER_LIMIT: Final = 32  # headers that one frame may have before its transport
DAMAGED_KEPT: Final = 100  # packets with a damaged header that are kept
SUBFRAME_HEADER: Final = (
    14  # bytes before each frame in an 802.11 frame of several: two addresses and a length
)
MADE_LINK_TYPE: Final = 228  # of packets that fragments are put together to: raw IPv4

TCP: Final = 6
UDP: Final = 17
FIN: Final = 1
SYN: Final = 2
RST: Final = 4
PSH: Final = 8
ACK: Final = 16
DUPLICATE: Final = 0x100  # not in TCP's header: a duplicate SACK reports the byte before the acknowledged one

# A segment as plain values: the arguments of `Segment`, in order. It pickles.
Row = tuple[bytes, bool, int, int, int, bytes, int, int, int, int, tuple[int, ...]]


@mypyc_attr(acyclic=True, free_list_len=1)
class Segment:
    """A TCP segment or a UDP datagram.

    `key` is the transport's number, then the two endpoints (address, port; big-endian), the smaller first;
    the same for both directions. VLANs and tunnels do not count. `forward`: whether the smaller endpoint
    sent it. `sequence`, `acknowledgement` and `flags` (with DUPLICATE) are TCP's (0 for UDP). `payload` has
    its bytes that were captured; `missing` counts those that the capture cut off. `time_us`, `packet` and
    `file_offset` are of the packet that completed it; `fragments` has the numbers of all packets if there
    were several. `mark`: the interface's index and, in the lowest 16 bits, the IP identification, where
    `Dissector.mark` was asked for them.
    """

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
        self.key: Final = key
        self.forward: Final = forward
        self.sequence: Final = sequence
        self.acknowledgement: Final = acknowledgement
        self.flags: Final = flags
        self.payload: Final = payload
        self.missing: Final = missing
        self.time_us: Final = time_us
        self.packet: Final = packet
        self.file_offset: Final = file_offset
        self.fragments: Final = fragments
        self.mark: i64 = 0

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


class Dissector:
    """Finds the transport segment of each packet; keeps only unfinished IP datagrams.

    `ignored` counts the packets that gave no segment, by reason. `damaged` has (file offset, packet number,
    reason) of the first DAMAGED_KEPT packets with a header that is cut or invalid. `late`: see `dissect`.
    """

    def __init__(self) -> None:
        self.ignored: dict[str, int] = {}
        self.damaged: list[tuple[int, int, str]] = []
        self.late: list[Segment] = []
        self._fragments: Final = Fragments()
        self._addresses: i64 = 0  # of the last segment: where the two IP addresses are in its packet
        self._width: i64 = 0  # bytes of each
        self._out: Final = BytesWriter()  # for keys

    def add(self, packet: Packet, segments: list[Segment]) -> None:
        """Append the segments that this packet contains or completes, in order; without one it is `ignored`.

        Several come from an 802.11 frame that aggregates frames, and when datagrams waited too long for
        their fragments: the beginnings of those come first.
        """
        segment = self.dissect(packet)
        if self.late:
            segments.extend(self.take_late())
        if segment is not None:
            segments.append(segment)

    def mark(self, segment: Segment, packet: Packet) -> None:
        """Set the `mark` of the segment that was dissected last, from its packet."""
        named = self._width == 4 and not segment.fragments
        identification: i64 = u16_be(packet.data, self._addresses - 8) if named else 0
        segment.mark = packet.interface << 16 | identification

    def take_late(self) -> list[Segment]:
        """The segments in `late`, which is empty after this."""
        segments = self.late
        self.late = []
        return segments

    def add_fragment(self, row: FragmentRow, segments: list[Segment]) -> None:
        """Take a fragment that another Dissector's `state` gave; append the segments that it completes."""
        segment = self._add_fragment(row, len(row[3]))
        if self.late:
            segments.extend(self.take_late())
        if segment is not None:
            segments.append(segment)

    def close(self) -> list[Segment]:
        """The beginnings of the datagrams whose fragments have not all arrived."""
        while (oldest := self._fragments.oldest()) is not None:
            self._give_up(oldest)
        return self.take_late()

    def state(self) -> list[FragmentRow]:
        """The waiting fragments as plain rows, for `add_fragment` of another Dissector."""
        return self._fragments.rows()

    def dissect(self, packet: Packet) -> Segment | None:
        """As `add`, but only the last of the segments; those before it go to `late`.

        A segment that is used before the next packet is dissected costs less: its memory is used again.
        """
        if packet.repeated:
            self._ignore("repeated", packet)
            return None
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

    def _ignore(self, reason: str, packet: Packet) -> None:
        self.ignored[reason] = self.ignored.get(reason, 0) + 1
        if (reason == "bad-header" or reason == "cut") and len(self.damaged) < DAMAGED_KEPT:
            self.damaged.append((int(packet.file_offset), int(packet.number), reason))

    def _walk(
        self, packet: Packet, data: bytes, layer: i64, whole: i64, fragments: tuple[int, ...]
    ) -> Segment | None:
        """Go through the layers. `whole`: where the present one ends on the wire; `size`: where data ends."""
        size: i64 = len(data)
        position: i64 = 0
        addresses: i64 = 0  # where the two IP addresses are, `width` bytes each
        width: i64 = 0
        outer: Segment | None = None  # the datagram whose port is a tunnel's
        length: i64 = 0
        step: i64 = 0
        count: i64 = 0
        while count < LAYER_LIMIT:
            count += 1
            if layer == ETHERNET:
                if position + 14 > size:
                    return self._end(CUT, layer, outer, packet)
                layer = u16_be(data, position + 12)
                position += 14
                if layer < LOWEST_ETHERTYPE:
                    whole = min(whole, position + layer) if layer else whole
                    layer = LLC
            elif layer == IPV4:
                if position + 20 > size:
                    return self._end(CUT if whole > size or size == position else BAD, layer, outer, packet)
                length = (data[position] & 15) * 4
                if data[position] >> 4 != 4 or length < 20:
                    return self._end(BAD, layer, outer, packet)
                if position + length > size:
                    return self._end(CUT, layer, outer, packet)
                total = u16_be(data, position + 2)
                if 0 < total < length:
                    return self._end(BAD, layer, outer, packet)
                if total:
                    whole = min(whole, position + total)
                addresses = position + 12
                width = 4
                layer = IP + data[position + 9]
                part = u16_be(data, position + 6) & 0x3FFF
                if part:
                    return self._fragment4(packet, data, position, part, length, whole)
                position += length
            elif layer == IP_TCP:
                if position + 20 > size or position + 20 > whole:
                    return self._end(CUT, layer, outer, packet)
                length = (data[position + 12] >> 4) * 4
                if length < 20 or position + length > whole:
                    return self._end(BAD, layer, outer, packet)
                return self._segment(packet, TCP, data, addresses, width, position, length, whole, fragments)
            elif layer == IP_UDP:
                if position + 8 > size or position + 8 > whole:
                    return self._end(CUT, layer, outer, packet)
                total = u16_be(data, position + 4)
                if total:
                    if total < 8:
                        return self._end(BAD, layer, outer, packet)
                    whole = min(whole, position + total)
                segment = self._segment(packet, UDP, data, addresses, width, position, 8, whole, fragments)
                step = udp_tunnel(data, position, position + 8, min(size, whole))
                if step < 0:
                    return segment
                if outer is None:
                    outer = segment
                position += 8 + (step >> 32)
                layer = step & LAYER_MASK
                if position > min(size, whole):
                    return outer
            elif layer == IPV6:
                if position + 40 > size:
                    return self._end(CUT if whole > size or size == position else BAD, layer, outer, packet)
                if data[position] >> 4 != 6:
                    return self._end(BAD, layer, outer, packet)
                total = u16_be(data, position + 4)
                if total:
                    whole = min(whole, position + 40 + total)
                addresses = position + 8
                width = 16
                layer = IP + data[position + 6]
                position += 40
            elif layer == VLAN or layer == QINQ or layer == QINQ_91 or layer == QINQ_92 or layer == QINQ_93:
                if position + 4 > size:
                    return self._end(CUT, layer, outer, packet)
                layer = u16_be(data, position + 2)
                position += 4
                if layer < LOWEST_ETHERTYPE:
                    whole = min(whole, position + layer) if layer else whole
                    layer = LLC
            elif layer == IP_FRAGMENT and width == 16:
                if position + 8 > size:
                    return self._end(CUT, layer, outer, packet)
                part = u16_be(data, position + 2)
                if part & 0xFFF9:
                    return self._fragment6(packet, data, position, part, addresses, whole)
                layer = IP + data[position]
                position += 8
            elif layer == PPPOE_SESSION:  # RFC 2516 section 4
                if position + 6 > size:
                    return self._end(CUT, layer, outer, packet)
                whole = min(whole, position + 6 + u16_be(data, position + 4))
                position += 6
                layer = PPP
            elif layer == AGGREGATE:
                return self._subframes(packet, data, position, whole)
            else:
                if width == 16 and _is_extension(layer):
                    if layer == IP_HOP_BY_HOP:
                        whole = _jumbo_end(data, position, size, whole)
                    step = _extension(data, position, size, whole)
                elif LINK <= layer < IP:
                    step = link_header(layer, data, position, size)
                else:
                    step = tunnel_header(layer, data, position, size)
                if step < 0:
                    return self._end(step, layer, outer, packet)
                position += step >> 32
                layer = step & LAYER_MASK
                if layer < LOWEST_ETHERTYPE:
                    whole = min(whole, position + layer) if layer else whole
                    layer = LLC
        return self._end(TOO_DEEP, layer, outer, packet)

    def _end(self, step: i64, layer: i64, outer: Segment | None, packet: Packet) -> Segment | None:
        """Stop at a layer for a negative result; `outer` counts if it is not the tunnel its port suggests."""
        number: int = layer
        if outer is not None and (step != UNREAD or number not in NO_TRANSPORT):
            return outer
        self._ignore(unread_name(number) if step == UNREAD else REASONS[-step], packet)
        return None

    def _segment(
        self,
        packet: Packet,
        transport: i64,
        data: bytes,
        addresses: i64,
        width: i64,
        ports: i64,
        header: i64,
        whole: i64,
        fragments: tuple[int, ...],
    ) -> Segment:
        """The segment with its ports, and thus its header of `header` bytes, at `ports`."""
        self._addresses = addresses
        self._width = width
        start = ports + header
        stop: i64 = min(len(data), whole)
        if stop < start:
            stop = start
        cursor = addresses
        end = addresses + width
        while data[cursor] == data[cursor + width]:
            cursor += 1
            if cursor == end:
                break
        if cursor < end:
            forward = data[cursor] < data[cursor + width]
        else:
            forward = u16_be(data, ports) <= u16_be(data, ports + 2)
        # the key, put together without objects for its parts
        smaller: i64 = 0 if forward else 1
        larger = 1 - smaller
        out = self._out
        out.truncate(0)
        out.append(transport)
        write_part(out, data, addresses + smaller * width, addresses + (smaller + 1) * width)
        write_part(out, data, ports + 2 * smaller, ports + 2 * smaller + 2)
        write_part(out, data, addresses + larger * width, addresses + (larger + 1) * width)
        write_part(out, data, ports + 2 * larger, ports + 2 * larger + 2)
        sequence: i64 = 0
        acknowledgement: i64 = 0
        flags: i64 = 0
        if transport == TCP:
            sequence = u32_be(data, ports + 4)
            acknowledgement = u32_be(data, ports + 8)
            flags = data[ports + 13]
            if header >= 32 and start == stop <= len(data) and _reports_duplicate(data, ports, start):
                flags |= DUPLICATE
        return Segment(
            out.getvalue(),
            forward,
            sequence,
            acknowledgement,
            flags,
            data[start:stop],
            whole - stop,
            packet.time_us,
            packet.number,
            packet.file_offset,
            fragments,
        )

    def _subframes(self, packet: Packet, data: bytes, position: i64, whole: i64) -> Segment | None:
        """Dissect the frames in an 802.11 frame (section 9.3.2.2.2), each to a segment of its own.

        No layer leads from one of them to 802.11 again, so that this does not nest.
        """
        last: Segment | None = None
        size: i64 = len(data)
        if position + SUBFRAME_HEADER > size:
            self._ignore("cut", packet)
        while position + SUBFRAME_HEADER <= size:
            start = position + SUBFRAME_HEADER
            length = u16_be(data, position + 12)
            if length == 0 or start + length > whole:
                self._ignore("bad-header", packet)
                break
            segment = self._walk(packet, data[start : start + length], LLC, length, ())
            if segment is not None:
                if last is not None:
                    self.late.append(last)
                last = segment
            position += (SUBFRAME_HEADER + length + 3) & ~3
        return last

    def _fragment4(
        self, packet: Packet, data: bytes, position: i64, part: i64, length: i64, whole: i64
    ) -> Segment | None:
        """A fragment whose IPv4 header of `length` bytes, at `position`, has `part`: flags and offset."""
        key = data[position + 12 : position + 20] + data[position + 9 : position + 10]
        key += data[position + 4 : position + 6]
        more = part & 0x2000 != 0
        return self._fragment(packet, key, (part & 0x1FFF) * 8, more, data, position + length, whole)

    def _fragment6(
        self, packet: Packet, data: bytes, position: i64, part: i64, addresses: i64, whole: i64
    ) -> Segment | None:
        """A fragment whose IPv6 fragment header, at `position`, has `part`: offset and flag."""
        key = data[addresses : addresses + 32] + data[position : position + 1]
        key += data[position + 4 : position + 8]
        return self._fragment(packet, key, part & 0xFFF8, part & 1 != 0, data, position + 8, whole)

    def _fragment(
        self, packet: Packet, key: bytes, offset: i64, more: bool, data: bytes, start: i64, whole: i64
    ) -> Segment | None:
        """Keep a fragment of datagram `key` (addresses, protocol, identification): `data` from `start` on."""
        part = data[start : max(start, min(whole, len(data)))]
        length: i64 = max(whole - start, len(part))
        number: int = packet.number
        place: int = packet.file_offset
        row = (key, int(offset), more, part, int(packet.time_us), number, place)
        segment = self._add_fragment(row, length)
        if segment is None:
            self._ignore("bad-header" if offset + length > DATAGRAM_LIMIT else "fragment", packet)
        return segment

    def _add_fragment(self, row: FragmentRow, length: i64) -> Segment | None:
        """Keep a fragment of `length` bytes on the wire; the segment of its datagram if that completes it."""
        late = self._fragments.expired(row[0], row[4])
        if late is not None:
            self._give_up(late)
        if row[1] + length > DATAGRAM_LIMIT:
            return None
        datagram = self._fragments.add(row, length)
        if datagram is not None:
            data = datagram.prefix()[: datagram.total]
            return self._reassembled(datagram, row, data, len(data))
        while (oldest := self._fragments.excess()) is not None:
            self._give_up(oldest)
        return None

    def _reassembled(self, datagram: Datagram, last: FragmentRow, data: bytes, whole: i64) -> Segment | None:
        """Dissect what fragments gave, after an IP header, so that tunnels in it are followed too."""
        packet = Packet(last[5], last[4], MADE_LINK_TYPE, 0, b"", 0, last[6])
        header = datagram.header()
        layer: i64 = IPV4 if datagram.is_ipv4() else IPV6
        return self._walk(packet, header + data, layer, len(header) + whole, tuple(datagram.packets))

    def _give_up(self, datagram: Datagram) -> None:
        """Take the beginning of a datagram, if it came, as a segment with missing bytes."""
        self.ignored["fragment-incomplete"] = self.ignored.get("fragment-incomplete", 0) + 1
        data = datagram.prefix()
        if data:
            whole: i64 = max(len(data), datagram.total)
            segment = self._reassembled(datagram, datagram.rows[-1], data, whole)
            if segment is not None:
                self.late.append(segment)


def _reports_duplicate(data: bytes, ports: i64, end: i64) -> bool:
    """Whether the options begin with a SACK block of the one byte before the acknowledged one (RFC 2883)."""
    cursor = ports + 20
    if u32_be(data, cursor) == 0x0101080A and end == cursor + 12:
        return False  # timestamps alone, the usual case
    while cursor + 10 <= end:
        kind: i64 = data[cursor]
        if kind == 0:
            return False
        if kind == 1:
            cursor += 1
            continue
        if kind == 5:
            after = u32_be(data, cursor + 6)
            return after == u32_be(data, ports + 8) and u32_be(data, cursor + 2) == (after - 1) & 0xFFFFFFFF
        cursor += max(data[cursor + 1], 2)
    return False


def _is_extension(layer: i64) -> bool:
    """Whether this is an IPv6 extension header of the common format, all but fragments and authentication."""
    if layer == IP_HOP_BY_HOP or layer == IP_ROUTING or layer == IP_DESTINATION:
        return True
    return layer == IP_MOBILITY or layer == IP_HIP


def _extension(data: bytes, position: i64, size: i64, whole: i64) -> i64:
    """RFC 8200 section 4: next header, length in units of 8 bytes, the first not counted."""
    if position + 8 > size:
        return CUT
    length: i64 = (data[position + 1] + 1) * 8
    if position + length > whole:
        return BAD
    return CUT if position + length > size else length << 32 | (IP + data[position])


def _jumbo_end(data: bytes, position: i64, size: i64, whole: i64) -> i64:
    """Where the packet ends, at most at `whole`, by a Jumbo Payload option (RFC 2675) in this header."""
    if position + 8 > size:
        return whole
    end: i64 = min(size, position + (data[position + 1] + 1) * 8)
    cursor = position + 2
    while cursor + 2 <= end:
        if data[cursor] == 0:
            cursor += 1
            continue
        if data[cursor] == 0xC2 and data[cursor + 1] == 4 and cursor + 6 <= end:
            return min(whole, position + u32_be(data, cursor + 2))
        cursor += 2 + data[cursor + 1]
    return whole
