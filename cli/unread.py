"""Packets that may carry messages but cannot be read, for people."""

from collections.abc import Mapping
from typing import Final

from wirelens.codecs.words import count

KINDS_SHOWN: Final = 10
UNREAD: Final = {
    "encrypted": "encrypted",
    "fragment-incomplete": "in fragments of which some are missing",
    "layers": "with too many headers",
    "repeated": "already seen on another interface",
    "gre": "of an unknown kind of GRE",
    "frame-relay": "of an unknown protocol in Frame Relay",
    "sctp": "of SCTP",
    "nsh": "of an unknown protocol in NSH",
    "pktap": "of an unknown link type in PKTAP",
}
UNREAD_KINDS: Final = {  # what is not read by its number
    "link-type": "link type",
    "ethertype": "EtherType",
    "ip-protocol": "IP protocol",
    "gre-type": "GRE type",
    "ppp-protocol": "PPP protocol",
    "address-family": "address family",
    "cooked-protocol": "protocol of Linux cooked captures",
}


def unread_packets(ignored: Mapping[str, int]) -> str:
    """The packets that may carry messages but cannot be read, as a sentence; "" for none."""
    parts: list[tuple[int, str]] = []
    for reason, number in sorted(ignored.items(), key=lambda entry: -entry[1]):
        kind, _, name = reason.partition(" ")
        if kind in UNREAD_KINDS:
            parts.append((number, f"of the {UNREAD_KINDS[kind]} {name}"))
        elif reason in UNREAD:
            parts.append((number, UNREAD[reason]))
    if len(parts) > KINDS_SHOWN:
        rest = parts[KINDS_SHOWN - 1 :]
        parts[KINDS_SHOWN - 1 :] = [(sum(number for number, _ in rest), f"of {len(rest)} other kinds")]
    return ", ".join([f"{count(number, 'packet')} {text}" for number, text in parts])
