"""The numbers of layers, and what a function that reads a layer's header returns.

A layer is one number: EtherTypes as they are, link layers from LINK on, IP protocols from IP on, address
families from FAMILY on, protocols of Linux cooked captures from COOKED_PROTOCOL on, those of GRE and PPP
that are not read from GRE_PROTOCOL and PPP_PROTOCOL on.

A function that reads a header, `(data, position, size) -> i64`, returns the next layer in the lower 32 bits
and the header's length in bytes above them, or one of the negative results below.
"""

from typing import Final

from librt.strings import read_i16_be, read_i16_le, read_i32_be, read_i32_le
from mypy_extensions import i64

LAYER_MASK: Final = 0xFFFFFFFF

CUT: Final = -1  # the header ends after the data
BAD: Final = -2  # the header is invalid
ENCRYPTED: Final = -3
UNREAD: Final = -4  # nothing here reads this layer, or what it contains
TOO_DEEP: Final = -5  # more headers than a frame may have
REASONS: Final = ("", "cut", "bad-header", "encrypted", "", "layers")  # by the result's number, negated

# EtherTypes (IEEE 802 numbers)
LOWEST_ETHERTYPE: Final = 0x600  # below it, the field is a length
IPV4: Final = 0x0800
ARP: Final = 0x0806
WAKE_ON_LAN: Final = 0x0842
TRANSPARENT_ETHERNET: Final = 0x6558
REVERSE_ARP: Final = 0x8035
VLAN: Final = 0x8100
QINQ: Final = 0x88A8
QINQ_91: Final = 0x9100  # and what was used before the standard
QINQ_92: Final = 0x9200
QINQ_93: Final = 0x9300
IPV6: Final = 0x86DD
SLOW_PROTOCOLS: Final = 0x8809
MPLS: Final = 0x8847
MPLS_MULTICAST: Final = 0x8848
PPPOE_DISCOVERY: Final = 0x8863
PPPOE_SESSION: Final = 0x8864
EAPOL: Final = 0x888E
LLDP: Final = 0x88CC
MACSEC: Final = 0x88E5
BACKBONE: Final = 0x88E7  # IEEE 802.1ah's service tag
PRECISION_TIME: Final = 0x88F7
CONNECTIVITY_FAULT: Final = 0x8902
CISCO_METADATA: Final = 0x8909
VN_TAG: Final = 0x8926
E_TAG: Final = 0x893F  # IEEE 802.1BR
NSH: Final = 0x894F
LOOPBACK: Final = 0x9000  # Ethernet's test protocol

# Link layers
LINK: Final = 0x10000
ETHERNET: Final = LINK + 0
LLC: Final = LINK + 1
PPP: Final = LINK + 2
NULL: Final = LINK + 3
LOOP: Final = LINK + 4
RAW: Final = LINK + 5
COOKED: Final = LINK + 6
COOKED2: Final = LINK + 7
WLAN: Final = LINK + 8
RADIOTAP: Final = LINK + 9
PRISM: Final = LINK + 10
AVS: Final = LINK + 11
PPI: Final = LINK + 12
NFLOG: Final = LINK + 13
PFLOG: Final = LINK + 14
ENC: Final = LINK + 15
TOKEN_RING: Final = LINK + 16
FDDI: Final = LINK + 17
FRAME_RELAY: Final = LINK + 18
FIREWIRE: Final = LINK + 19
AGGREGATE: Final = LINK + 20  # the frames in an 802.11 frame of several
PADDED_WLAN: Final = LINK + 21  # WLAN whose header is padded to four bytes
PKTAP: Final = LINK + 22
USER2: Final = LINK + 23  # what users make of it; Apple's is PKTAP
IPOIB: Final = LINK + 24
TAGGED: Final = LINK + 25  # Ethernet with a switch's tag of four bytes before the EtherType
TAGGED_BEFORE: Final = LINK + 26  # the same with the tag before the addresses
TAGGED_LONG: Final = LINK + 27  # a tag of eight bytes before the EtherType

# IP protocols
IP: Final = 0x20000
IP_HOP_BY_HOP: Final = IP + 0
IP_ICMP: Final = IP + 1
IP_IGMP: Final = IP + 2
IP_IPV4: Final = IP + 4
IP_TCP: Final = IP + 6
IP_UDP: Final = IP + 17
IP_IPV6: Final = IP + 41
IP_ROUTING: Final = IP + 43
IP_FRAGMENT: Final = IP + 44
IP_RSVP: Final = IP + 46
IP_GRE: Final = IP + 47
IP_ESP: Final = IP + 50
IP_AUTHENTICATION: Final = IP + 51
IP_ICMPV6: Final = IP + 58
IP_NO_NEXT_HEADER: Final = IP + 59
IP_DESTINATION: Final = IP + 60
IP_EIGRP: Final = IP + 88
IP_OSPF: Final = IP + 89
IP_IPIP: Final = IP + 94
IP_ETHERIP: Final = IP + 97
IP_PIM: Final = IP + 103
IP_VRRP: Final = IP + 112
IP_SCTP: Final = IP + 132
IP_MOBILITY: Final = IP + 135
IP_MPLS: Final = IP + 137
IP_HIP: Final = IP + 139

FAMILY: Final = 0x30000
COOKED_PROTOCOL: Final = 0x40000
GRE_PROTOCOL: Final = 0x50000
PPP_PROTOCOL: Final = 0x60000

# Protocols without TCP or UDP, that prove what they lie in.
NO_TRANSPORT: Final[dict[int, str]] = {
    ARP: "arp",
    WAKE_ON_LAN: "wake-on-lan",
    REVERSE_ARP: "reverse-arp",
    SLOW_PROTOCOLS: "slow-protocols",
    EAPOL: "eapol",
    LLDP: "lldp",
    PRECISION_TIME: "precision-time",
    CONNECTIVITY_FAULT: "connectivity-fault",
    LOOPBACK: "loopback",
    PPPOE_DISCOVERY: "pppoe-discovery",
    MACSEC: "encrypted",
    IP_ICMP: "icmp",
    IP_IGMP: "igmp",
    IP_ESP: "encrypted",
    IP_ICMPV6: "icmpv6",
    IP_NO_NEXT_HEADER: "no-next-header",
    IP_RSVP: "rsvp",
    IP_EIGRP: "eigrp",
    IP_OSPF: "ospf",
    IP_PIM: "pim",
    IP_VRRP: "vrrp",
    IP_SCTP: "sctp",
}

# Layers whose header is read, with content that is not.
_CONTENT_UNREAD: Final[dict[int, str]] = {
    LLC: "llc",
    PPP: "ppp-control",
    NSH: "nsh",
    IP_GRE: "gre",
    PKTAP: "pktap",
    USER2: "link-type 149",
    FRAME_RELAY: "frame-relay",
    WLAN: "802.11-no-data",
    PADDED_WLAN: "802.11-no-data",
}


def unread_name(layer: int) -> str:
    """What a packet is counted under that gave no segment because `layer`, or its content, is not read."""
    name = NO_TRANSPORT.get(layer) or _CONTENT_UNREAD.get(layer)
    if name is not None:
        return name
    if layer >= PPP_PROTOCOL:
        return f"ppp-protocol 0x{layer - PPP_PROTOCOL:04x}"
    if layer >= GRE_PROTOCOL:
        return f"gre-type 0x{layer - GRE_PROTOCOL:04x}"
    if layer >= COOKED_PROTOCOL:
        return f"cooked-protocol {layer - COOKED_PROTOCOL}"
    if layer >= FAMILY:
        return f"address-family {layer - FAMILY}"
    if layer >= IP:
        return f"ip-protocol {layer - IP}"
    return f"ethertype 0x{layer:04x}"


def u16_be(data: bytes, at: i64) -> i64:
    """Two bytes, big-endian, unsigned."""
    return i64(read_i16_be(data, at)) & 0xFFFF


def u16_le(data: bytes, at: i64) -> i64:
    """Two bytes, little-endian, unsigned."""
    return i64(read_i16_le(data, at)) & 0xFFFF


def u32_be(data: bytes, at: i64) -> i64:
    """Four bytes, big-endian, unsigned."""
    return i64(read_i32_be(data, at)) & 0xFFFFFFFF


def u32_le(data: bytes, at: i64) -> i64:
    """Four bytes, little-endian, unsigned."""
    return i64(read_i32_le(data, at)) & 0xFFFFFFFF
