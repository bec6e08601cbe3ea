"""Tunnels and tags: from a header that encapsulates packets to the layer in it.

Sources: IEEE 802.1ah, 802.1AE, 802.1BR; RFC 2661, 2784, 2890, 2637, 3032, 3378, 4023, 4380, 7348, 7510, 8086,
8300, 8926; draft-foschiano-erspan; draft-smith-kandula-sxp (Cisco metadata); 3GPP TS 29.281.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.layers import (
    BACKBONE,
    BAD,
    CISCO_METADATA,
    CUT,
    E_TAG,
    ETHERNET,
    GRE_PROTOCOL,
    IP,
    IP_AUTHENTICATION,
    IP_ETHERIP,
    IP_GRE,
    IP_IPIP,
    IP_IPV4,
    IP_IPV6,
    IP_MPLS,
    IPV4,
    IPV6,
    MACSEC,
    MPLS,
    MPLS_MULTICAST,
    NO_TRANSPORT,
    NSH,
    PPP,
    QINQ,
    RAW,
    TRANSPARENT_ETHERNET,
    UNREAD,
    VLAN,
    VN_TAG,
    u16_be,
)

# UDP ports
VXLAN_PORT: Final = 4789
VXLAN_LINUX_PORT: Final = 8472  # Linux's before one was assigned
VXLAN_GPE_PORT: Final = 4790
GENEVE_PORT: Final = 6081
TEREDO_PORT: Final = 3544
GTP_PORT: Final = 2152
NSH_PORT: Final = 6633
MPLS_PORT: Final = 6635
GRE_PORT: Final = 4754
L2TP_PORT: Final = 1701
LOWEST_PORT: Final = L2TP_PORT
HIGHEST_PORT: Final = VXLAN_LINUX_PORT
TUNNEL_HEADER: Final = 8  # bytes that each of these tunnels has at least

# Protocols in GRE besides EtherTypes
GRE_PPP: Final = 0x880B
GRE_ERSPAN: Final = 0x88BE  # types I and II
GRE_ERSPAN3: Final = 0x22EB
GRE_WCCP: Final = 0x883E
GRE_READ: Final = (  # EtherTypes in GRE that are read, or known to have no TCP or UDP
    IPV4,
    IPV6,
    TRANSPARENT_ETHERNET,
    VLAN,
    QINQ,
    MPLS,
    MPLS_MULTICAST,
    NSH,
    *NO_TRANSPORT,
)

BACKBONE_TAG: Final = 4  # bytes; the customer's addresses after it are those of the inner frame
ETHERIP_HEADER: Final = 2
MACSEC_CHANGED: Final = 0x0C  # encrypted, or changed in another way
MACSEC_CHANNEL: Final = 0x20  # a channel identifier of eight bytes is in the header
IPV6_HEADER: Final = 40


def tunnel_header(layer: i64, data: bytes, position: i64, size: i64) -> i64:
    """Read the header of a tunnel over Ethernet or IP; the result is as layers.py describes it."""
    if layer == IP_IPV4 or layer == IP_IPIP:
        return IPV4
    if layer == IP_IPV6:
        return IPV6
    if layer == IP_GRE:
        return _gre(data, position, size)
    if layer == MPLS or layer == MPLS_MULTICAST or layer == IP_MPLS:
        return _mpls(data, position, size)
    if layer == TRANSPARENT_ETHERNET:
        return ETHERNET
    if layer == IP_ETHERIP:
        return ETHERIP_HEADER << 32 | ETHERNET
    if layer == IP_AUTHENTICATION:
        return _authentication(data, position, size)
    if layer == NSH:
        return _nsh(data, position, size)
    if layer == BACKBONE:
        return BACKBONE_TAG << 32 | ETHERNET
    if layer == VN_TAG:
        return CUT if position + 6 > size else 6 << 32 | u16_be(data, position + 4)
    if layer == E_TAG or layer == CISCO_METADATA:
        return CUT if position + 8 > size else 8 << 32 | u16_be(data, position + 6)
    if layer == MACSEC:
        return _macsec(data, position, size)
    return UNREAD


def udp_tunnel(data: bytes, ports: i64, position: i64, end: i64) -> i64:
    """Read the header of a tunnel in a datagram's payload, from `position` to `end`.

    A datagram is one if its destination or its source port (at `ports`) is a tunnel's and its header fits;
    UNREAD if not.
    """
    if position + TUNNEL_HEADER > end:
        return UNREAD
    step: i64 = UNREAD
    port = u16_be(data, ports + 2)
    if LOWEST_PORT <= port <= HIGHEST_PORT:
        step = _tunnel_of_port(data, position, end, port)
    if step < 0:
        port = u16_be(data, ports)
        if LOWEST_PORT <= port <= HIGHEST_PORT:
            step = _tunnel_of_port(data, position, end, port)
    return step


def _tunnel_of_port(data: bytes, position: i64, end: i64, port: i64) -> i64:
    if port == VXLAN_PORT or port == VXLAN_LINUX_PORT or port == VXLAN_GPE_PORT:
        return _vxlan(data, position, port == VXLAN_GPE_PORT)
    if port == GENEVE_PORT:
        return _geneve(data, position)
    if port == TEREDO_PORT:
        return _teredo(data, position, end)
    if port == GTP_PORT:
        return _gtp(data, position, end)
    if port == NSH_PORT:
        return _nsh_in_udp(data, position)
    if port == MPLS_PORT:
        return MPLS
    if port == GRE_PORT:
        return IP_GRE
    if port == L2TP_PORT:
        return _l2tp(data, position, end)
    return UNREAD


def _vxlan(data: bytes, position: i64, generic: bool) -> i64:
    """RFC 7348 section 5, reserved bits ignored; `generic`: bit 2 announces a next protocol."""
    flags: i64 = data[position]
    if flags & 8 == 0:
        return UNREAD
    if generic and flags & 4:
        layer = _next_protocol(data[position + 3])
        return layer if layer < 0 else 8 << 32 | layer
    return 8 << 32 | ETHERNET


def _geneve(data: bytes, position: i64) -> i64:
    """RFC 8926 section 3.4."""
    flags: i64 = data[position]
    if flags >> 6 or data[position + 7]:
        return UNREAD
    length = 8 + (flags & 0x3F) * 4
    return length << 32 | u16_be(data, position + 2)


def _teredo(data: bytes, position: i64, end: i64) -> i64:
    """RFC 4380 section 5.1.1: perhaps an authentication and an origin indication, then IPv6."""
    length: i64 = 0
    if data[position] == 0 and data[position + 1] == 1 and position + 4 <= end:
        length = 13 + data[position + 2] + data[position + 3]
    if position + length + 8 <= end and data[position + length] == 0 and data[position + length + 1] == 0:
        length += 8
    if position + length + IPV6_HEADER <= end and data[position + length] >> 4 == 6:
        return length << 32 | IPV6
    return UNREAD


def _gtp(data: bytes, position: i64, end: i64) -> i64:
    """GTP-U: 3GPP TS 29.281 section 5.1, version 1, a user packet."""
    flags: i64 = data[position]
    if flags & 0xF0 != 0x30 or data[position + 1] != 255:
        return UNREAD
    length: i64 = 8
    if flags & 7:
        length = 12
        if position + 12 > end:
            return UNREAD
        extension: i64 = data[position + 11]
        while extension:
            if position + length >= end or data[position + length] == 0:
                return UNREAD
            length += data[position + length] * 4
            if position + length > end:
                return UNREAD
            extension = data[position + length - 1]
    if position + length >= end or data[position + length] >> 4 not in (4, 6):
        return UNREAD
    return length << 32 | RAW


def _nsh_in_udp(data: bytes, position: i64) -> i64:
    """RFC 8300 section 2.2: version 0, whole words, a known type of metadata."""
    metadata: i64 = data[position + 2] & 15
    if data[position] >> 6 or data[position + 1] & 0x3F < 2 or (metadata != 1 and metadata != 2):
        return UNREAD
    return NSH


def _nsh(data: bytes, position: i64, size: i64) -> i64:
    """RFC 8300 section 2.2."""
    if position + 8 > size:
        return CUT
    length: i64 = (data[position + 1] & 0x3F) * 4
    layer = _next_protocol(data[position + 3])
    if length < 8:
        return BAD
    return layer if layer < 0 else length << 32 | layer


def _next_protocol(number: i64) -> i64:
    """The layer of a next protocol of NSH and VXLAN-GPE."""
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
    return UNREAD


def _l2tp(data: bytes, position: i64, end: i64) -> i64:
    """L2TP version 2, data: RFC 2661 section 3.1."""
    flags: i64 = data[position]
    if flags & 0x80 or data[position + 1] & 15 != 2:
        return UNREAD
    length: i64 = 6
    if flags & 0x40:
        length += 2
    if flags & 0x08:
        length += 4
    if flags & 0x02:
        if position + length + 2 > end:
            return UNREAD
        length += 2 + u16_be(data, position + length)
    return length << 32 | PPP


def _gre(data: bytes, position: i64, size: i64) -> i64:
    """RFC 2784 and 2890; version 1 is PPTP's (RFC 2637); ERSPAN's headers with it."""
    if position + 4 > size:
        return CUT
    flags = u16_be(data, position)
    kind = u16_be(data, position + 2)
    length: i64 = 4
    if flags & 7 == 1:
        length = 8
        if flags & 0x1000:
            length += 4
        if flags & 0x0080:
            length += 4
        return length << 32 | (PPP if kind == GRE_PPP else GRE_PROTOCOL + kind)
    if flags & 0x4007:
        return UNREAD
    if flags & 0x8000:
        length += 4
    if flags & 0x2000:
        length += 4
    if flags & 0x1000:
        length += 4
    layer: i64 = kind
    if kind == GRE_PPP:
        layer = PPP
    elif kind == GRE_ERSPAN:
        layer = ETHERNET
        if flags & 0x1000:
            length += 8
    elif kind == GRE_ERSPAN3:
        layer = ETHERNET
        if position + length + 12 > size:
            return CUT
        length += 20 if data[position + length + 11] & 1 else 12
    elif kind == GRE_WCCP:
        layer = IPV4
        if position + length < size and data[position + length] >> 4 != 4:
            length += 4
    elif kind not in GRE_READ:
        layer = GRE_PROTOCOL + kind
    return length << 32 | layer


def _macsec(data: bytes, position: i64, size: i64) -> i64:
    """IEEE 802.1AE section 9.3, with the EtherType after it; UNREAD where that is not in clear text."""
    if position + 8 > size:
        return CUT
    flags: i64 = data[position]
    if flags & MACSEC_CHANGED:
        return UNREAD
    length: i64 = 14 if flags & MACSEC_CHANNEL else 6
    return CUT if position + length + 2 > size else (length + 2) << 32 | u16_be(data, position + length)


def _mpls(data: bytes, position: i64, size: i64) -> i64:
    """RFC 3032 section 2.1: entries with a bottom of stack bit, then IP or Ethernet."""
    cursor = position
    while cursor + 4 <= size and data[cursor + 2] & 1 == 0:
        cursor += 4
    cursor += 4
    if cursor >= size:
        return CUT
    layer: i64 = ETHERNET
    version: i64 = data[cursor] >> 4
    if version == 4:
        layer = IPV4
    elif version == 6:
        layer = IPV6
    elif data[cursor] == 0 and cursor + 4 <= size:
        cursor += 4  # the control word of RFC 4385
    return (cursor - position) << 32 | layer


def _authentication(data: bytes, position: i64, size: i64) -> i64:
    """RFC 4302: the authentication header; its length is in words, without the first two."""
    if position + 12 > size:
        return CUT
    length: i64 = (data[position + 1] + 2) * 4
    return length << 32 | (IP + data[position])
