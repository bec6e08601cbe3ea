"""Link layers but Ethernet: from the start of a frame to the network layer in it.

Sources: IEEE 802.2, 802.5, 802.11; RFC 1661, 1662, 2427, 4391; the LINKTYPE_ list of tcpdump.org; Apple's
net/pktap.h.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.layers import (
    AGGREGATE,
    AVS,
    BAD,
    COOKED,
    COOKED2,
    COOKED_PROTOCOL,
    CUT,
    ENC,
    ENCRYPTED,
    ETHERNET,
    FAMILY,
    FDDI,
    FIREWIRE,
    FRAME_RELAY,
    IPOIB,
    IPV4,
    IPV6,
    LLC,
    LOOP,
    LOWEST_ETHERTYPE,
    MPLS,
    NFLOG,
    NULL,
    PADDED_WLAN,
    PFLOG,
    PKTAP,
    PPI,
    PPP,
    PPP_PROTOCOL,
    PPPOE_SESSION,
    PRISM,
    RADIOTAP,
    RAW,
    TAGGED,
    TAGGED_BEFORE,
    TAGGED_LONG,
    TOKEN_RING,
    UNREAD,
    USER2,
    WLAN,
    u16_be,
    u16_le,
    u32_be,
    u32_le,
)

# LINKTYPE_ numbers (the BSDs' raw IP numbers among them) and the layer a frame begins with
LINK_LAYERS: Final[dict[int, int]] = {
    0: NULL,
    1: ETHERNET,
    6: TOKEN_RING,
    9: PPP,
    10: FDDI,
    12: RAW,
    14: RAW,
    50: PPP,
    51: PPPOE_SESSION,
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
    149: USER2,
    163: AVS,
    192: PPI,
    219: MPLS,
    228: IPV4,
    229: IPV6,
    239: NFLOG,
    242: IPOIB,
    258: PKTAP,
    276: COOKED2,
    281: TAGGED,  # Broadcom
    282: TAGGED_BEFORE,  # Broadcom
    284: TAGGED,  # Marvell
    285: TAGGED_LONG,  # Marvell
}

ENC_HEADER: Final = 12
FDDI_HEADER: Final = 13
RADIOTAP_FLAGS_PADDED: Final = 0x20

# Protocols of LLC, by the two service access points
SNAP_SAPS: Final = 0xAAAA
CISCO: Final = 0x00000C  # the organization whose SNAP protocols are not EtherTypes
IP_SAPS: Final = 0x0606

# Protocols of PPP
PPP_IPV4: Final = 0x21
PPP_IPV6: Final = 0x57
PPP_MPLS: Final = 0x281
PPP_MPLS_MULTICAST: Final = 0x283
PPP_LOWEST_CONTROL: Final = 0x8000  # from here on, protocols that only set up the link

# Network layer protocol identifiers (RFC 2427)
NLPID_SNAP: Final = 0x80
NLPID_IPV4: Final = 0xCC
NLPID_IPV6: Final = 0x8E

IPOIB_HEADER: Final = 44  # a global route header, then an EtherType and two bytes
PKTAP_HEADER: Final = 12  # bytes that are read of it
PKTAP_PACKET: Final = 1  # a packet follows
NFLOG_PAYLOAD: Final = 9  # the type of the field that holds the packet
COOKED_8023: Final = 1  # Linux's protocol of frames without LLC
COOKED_8022: Final = 4  # and with LLC


def link_header(layer: i64, data: bytes, position: i64, size: i64) -> i64:
    """Read the header of a link layer; the result is as layers.py describes it."""
    if layer == COOKED:
        return _cooked(data, position, size, 16, 14)
    if layer == COOKED2:
        return _cooked(data, position, size, 20, 0)
    if layer == NULL or layer == LOOP:
        return _null(data, position, size, layer == LOOP)
    if layer == RAW:
        return _raw(data, position, size)
    if layer == LLC:
        return _llc(data, position, size)
    if layer == PPP:
        return _ppp(data, position, size)
    if layer == WLAN or layer == PADDED_WLAN:
        return _wlan(data, position, size, layer == PADDED_WLAN)
    if layer == RADIOTAP:
        return _radiotap(data, position, size)
    if layer == PRISM or layer == AVS:
        return _prism(data, position, size, layer == AVS)
    if layer == PPI:
        return _ppi(data, position, size)
    if layer == NFLOG:
        return _nflog(data, position, size)
    if layer == PFLOG:
        return CUT if position >= size else i64((data[position] + 3) & 0xFC) << 32 | RAW
    if layer == ENC:
        return ENC_HEADER << 32 | RAW
    if layer == TOKEN_RING:
        return _token_ring(data, position, size)
    if layer == FDDI:
        return FDDI_HEADER << 32 | LLC
    if layer == FRAME_RELAY:
        return _frame_relay(data, position, size)
    if layer == FIREWIRE:
        return _ether_type(data, position, size, 16, 2)
    if layer == TAGGED:
        return _ether_type(data, position, size, 16, 2)
    if layer == TAGGED_LONG:
        return _ether_type(data, position, size, 20, 2)
    if layer == TAGGED_BEFORE:
        return 4 << 32 | ETHERNET
    if layer == IPOIB:
        return _ether_type(data, position, size, IPOIB_HEADER - 4, 4)
    if layer == PKTAP or layer == USER2:
        return _pktap(data, position, size, layer)
    return UNREAD


def _ether_type(data: bytes, position: i64, size: i64, before: i64, length: i64) -> i64:
    """A header with an EtherType after `before` bytes, and `length` bytes from it to the header's end."""
    end = before + length
    return CUT if position + end > size else end << 32 | u16_be(data, position + before)


def _cooked(data: bytes, position: i64, size: i64, length: i64, protocol_at: i64) -> i64:
    """Linux cooked captures, the first and the second version."""
    if position + length > size:
        return CUT
    protocol = u16_be(data, position + protocol_at)
    if protocol >= LOWEST_ETHERTYPE:
        return length << 32 | protocol
    if protocol == COOKED_8023 or protocol == COOKED_8022:
        return length << 32 | LLC
    return length << 32 | (COOKED_PROTOCOL + protocol)


def _null(data: bytes, position: i64, size: i64, big_endian: bool) -> i64:
    """The BSDs' loopback: an address family, in the host's byte order unless it is LINKTYPE_LOOP."""
    if position + 4 > size:
        return CUT
    family = u32_be(data, position)
    if not big_endian and family > 0xFFFF:
        kind = family & 0xFFFF
        if kind == IPV4 or kind == IPV6:
            return 4 << 32 | kind
        family = u32_le(data, position)
    return 4 << 32 | _family(family) if family <= 0xFFFF else BAD


def _family(number: i64) -> i64:
    """The layer of a BSD or Linux address family."""
    if number == 2:
        return IPV4
    if number == 10 or number == 24 or number == 28 or number == 30:
        return IPV6
    return FAMILY + number


def _raw(data: bytes, position: i64, size: i64) -> i64:
    """IP of either version."""
    if position >= size:
        return CUT
    version: i64 = data[position] >> 4
    if version == 4:
        return IPV4
    return IPV6 if version == 6 else BAD


def _llc(data: bytes, position: i64, size: i64) -> i64:
    """IEEE 802.2 with the SNAP extension of IEEE 802."""
    if position + 3 > size:
        return CUT
    saps = u16_be(data, position)
    if saps == SNAP_SAPS and position + 8 <= size:
        if u32_be(data, position + 2) & 0xFFFFFF == CISCO:
            return UNREAD
        return 8 << 32 | u16_be(data, position + 6)
    return 3 << 32 | IPV4 if saps == IP_SAPS else UNREAD


def _ppp(data: bytes, position: i64, size: i64) -> i64:
    """RFC 1661 section 2 with RFC 1662's and Cisco's framing."""
    length: i64 = 0
    if position + 2 > size:
        return CUT
    kind: i64 = data[position]
    if kind == 0xFF and data[position + 1] == 3:
        length = 2
    elif (kind == 0x0F or kind == 0x8F) and data[position + 1] == 0:
        return CUT if position + 4 > size else 4 << 32 | u16_be(data, position + 2)
    elif kind <= 1 and data[position + 1] == 3:
        # a direction in place of the address
        length = 2
    if position + length >= size:
        return CUT
    kind = data[position + length]
    length += 1
    if kind & 1 == 0:
        if position + length >= size:
            return CUT
        kind = kind << 8 | data[position + length]
        length += 1
    if kind == PPP_IPV4:
        return length << 32 | IPV4
    if kind == PPP_IPV6:
        return length << 32 | IPV6
    if kind == PPP_MPLS or kind == PPP_MPLS_MULTICAST:
        return length << 32 | MPLS
    return UNREAD if kind >= PPP_LOWEST_CONTROL else length << 32 | (PPP_PROTOCOL + kind)


def _wlan(data: bytes, position: i64, size: i64, padded: bool) -> i64:
    """IEEE 802.11 section 9.2; only data frames are read. `padded`: the header ends at four bytes."""
    if position + 24 > size:
        return CUT
    control: i64 = data[position]
    flags: i64 = data[position + 1]
    if control & 0x0C != 8 or control & 0x40:
        return UNREAD
    if flags & 0x40:
        return ENCRYPTED
    inner: i64 = LLC
    length: i64 = 24
    if flags & 3 == 3:
        length += 6
    if control & 0x80:
        if position + length + 2 > size:
            return CUT
        if data[position + length] & 0x80:
            inner = AGGREGATE
        length += 2
        if flags & 0x80:
            length += 4
    if padded:
        length = (length + 3) & ~3
    return length << 32 | inner


def _radiotap(data: bytes, position: i64, size: i64) -> i64:
    """A radiotap header (radiotap.org): 802.11 comes after it."""
    if position + 8 > size:
        return CUT
    length = u16_le(data, position + 2)
    if length < 8:
        return BAD
    padded = _radiotap_padded(data, position, min(size, position + length))
    return length << 32 | (PADDED_WLAN if padded else WLAN)


def _radiotap_padded(data: bytes, position: i64, end: i64) -> bool:
    """Whether the flags field (radiotap.org) states that the 802.11 header is padded to four bytes."""
    present = u32_le(data, position + 4)
    first: i64 = present
    cursor: i64 = position + 8
    while present & 0x80000000:
        if cursor + 4 > end:
            return False
        present = u32_le(data, cursor)
        cursor += 4
    if first & 2 == 0:
        return False
    if first & 1:
        cursor = position + ((cursor - position + 7) & ~7) + 8
    return cursor < end and data[cursor] & RADIOTAP_FLAGS_PADDED != 0


def _prism(data: bytes, position: i64, size: i64, is_avs: bool) -> i64:
    """A Prism header, or AVS's, whose files may have Prism's LINKTYPE_: 802.11 comes after it."""
    if position + 8 > size:
        return CUT
    if is_avs or u32_be(data, position) & 0xFFFFF000 == 0x80211000:
        length = u32_be(data, position + 4)
    else:
        length = u32_le(data, position + 4)
    return CUT if position + length > size else length << 32 | WLAN


def _ppi(data: bytes, position: i64, size: i64) -> i64:
    """Per-packet information: the LINKTYPE_ of what comes after it is in the header."""
    if position + 8 > size:
        return CUT
    length = u16_le(data, position + 2)
    link_type: int = u32_le(data, position + 4)
    layer: i64 = LINK_LAYERS.get(link_type, UNREAD)
    if length < 8 or layer < 0 or layer == PPI:
        return BAD
    return length << 32 | layer


def _pktap(data: bytes, position: i64, size: i64, layer: i64) -> i64:
    """A header of macOS, in the host's byte order: its length, what follows, the LINKTYPE_ of that."""
    if position + PKTAP_HEADER > size:
        return UNREAD if layer == USER2 else CUT
    length = u32_le(data, position)
    kind = u32_le(data, position + 4)
    link_type: int = u32_le(data, position + 8)
    if length > 0xFFFF:
        length = u32_be(data, position)
        kind = u32_be(data, position + 4)
        link_type = u32_be(data, position + 8)
    inner: i64 = LINK_LAYERS.get(link_type, UNREAD)
    if kind != PKTAP_PACKET or inner < 0 or inner == layer:
        return UNREAD
    if not PKTAP_HEADER <= length <= 0xFFFF:
        return UNREAD if layer == USER2 else BAD
    return length << 32 | inner


def _nflog(data: bytes, position: i64, size: i64) -> i64:
    """LINKTYPE_NFLOG: family, version, resource; then fields of length, type (host order), value."""
    start: i64 = position
    if position + 4 > size:
        return BAD
    layer = _family(data[position])
    position += 4
    while position + 4 <= size:
        length = u16_le(data, position)
        kind = u16_le(data, position + 2)
        if kind > 255:
            length = u16_be(data, position)
            kind = u16_be(data, position + 2)
        if length < 4:
            return BAD
        if kind == NFLOG_PAYLOAD:
            return BAD if layer >= FAMILY else (position + 4 - start) << 32 | layer
        position += (length + 3) & ~3
    return BAD


def _token_ring(data: bytes, position: i64, size: i64) -> i64:
    """IEEE 802.5: with a routing field where the source address has its first bit set."""
    if position + 15 > size:
        return CUT
    length: i64 = 14
    if data[position + 8] & 0x80:
        length += data[position + 14] & 0x1F
    return length << 32 | LLC


def _frame_relay(data: bytes, position: i64, size: i64) -> i64:
    """RFC 2427: address of two bytes, control, protocol identifier."""
    if position + 9 > size:
        return CUT
    kind: i64 = data[position + 3]
    if kind == NLPID_SNAP:
        return 9 << 32 | u16_be(data, position + 7)
    if kind == NLPID_IPV4:
        return 4 << 32 | IPV4
    return 4 << 32 | IPV6 if kind == NLPID_IPV6 else UNREAD
