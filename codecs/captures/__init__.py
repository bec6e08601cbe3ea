"""Captures and pasted text to bytes: packet files, packets, streams. Pure: no files are opened.

Loaded on first use, so reading pasted text does not import the packet readers, and vice versa.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from wirelens.codecs.captures.bundles import Bundler, unbundle
    from wirelens.codecs.captures.containers import (
        FRESH,
        PacketReader,
        Part,
        range_reader,
        read_packets,
        split,
    )
    from wirelens.codecs.captures.flow import Direction, Flow, Piece
    from wirelens.codecs.captures.fragments import FragmentRow
    from wirelens.codecs.captures.magic import READABLE, SNIFF_LENGTH, UNSUPPORTED, sniff
    from wirelens.codecs.captures.packets import Dissector, Row, Segment
    from wirelens.codecs.captures.pasting import PastedError, pasted
    from wirelens.codecs.captures.pcap import Packet, State
    from wirelens.codecs.captures.reader import CHUNK, Reader, flows
    from wirelens.codecs.captures.streams import Assembler

__all__ = [
    "CHUNK",
    "FRESH",
    "READABLE",
    "SNIFF_LENGTH",
    "UNSUPPORTED",
    "Assembler",
    "Bundler",
    "Direction",
    "Dissector",
    "Flow",
    "FragmentRow",
    "Packet",
    "PacketReader",
    "Part",
    "PastedError",
    "Piece",
    "Reader",
    "Row",
    "Segment",
    "State",
    "flows",
    "pasted",
    "range_reader",
    "read_packets",
    "sniff",
    "split",
    "unbundle",
]

_HOMES: Final[dict[str, str]] = {
    "CHUNK": "reader",
    "READABLE": "magic",
    "SNIFF_LENGTH": "magic",
    "UNSUPPORTED": "magic",
    "Assembler": "streams",
    "Bundler": "bundles",
    "Direction": "flow",
    "Dissector": "packets",
    "Flow": "flow",
    "FragmentRow": "fragments",
    "Packet": "pcap",
    "FRESH": "containers",
    "PacketReader": "containers",
    "Part": "containers",
    "PastedError": "pasting",
    "Piece": "flow",
    "Reader": "reader",
    "Row": "packets",
    "Segment": "packets",
    "State": "pcap",
    "flows": "reader",
    "pasted": "pasting",
    "range_reader": "containers",
    "read_packets": "containers",
    "sniff": "magic",
    "split": "containers",
    "unbundle": "bundles",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
