"""Captures and pasted text to bytes: packet files, packets, streams. Pure: no files are opened."""

from wirelens.codecs.captures.containers import (
    READABLE,
    SNIFF_LENGTH,
    UNSUPPORTED,
    PacketReader,
    range_reader,
    read_packets,
    sniff,
    split,
)
from wirelens.codecs.captures.packets import Dissector, FragmentRow, Row, Segment
from wirelens.codecs.captures.pcap import Packet, State
from wirelens.codecs.captures.reader import CHUNK, Reader, flows
from wirelens.codecs.captures.streams import Assembler, Direction, Flow, Piece

__all__ = [
    "CHUNK",
    "READABLE",
    "SNIFF_LENGTH",
    "UNSUPPORTED",
    "Assembler",
    "Direction",
    "Dissector",
    "Flow",
    "FragmentRow",
    "Packet",
    "PacketReader",
    "Piece",
    "Reader",
    "Row",
    "Segment",
    "State",
    "flows",
    "range_reader",
    "read_packets",
    "sniff",
    "split",
]
