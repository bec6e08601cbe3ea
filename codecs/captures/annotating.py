"""Copies captures as pcapng with comments on packets.

A pcapng file is copied byte for byte, but for the comments; packets of pcap and snoop files become enhanced
packet blocks with the same bytes, lengths and times. Source: draft-ietf-opsawg-pcapng (blocks: section 4,
options: 3.5).
"""

from collections.abc import Callable, Iterator
from struct import Struct, pack
from typing import Final

from wirelens.codecs.captures.containers import PacketReader
from wirelens.codecs.captures.pcap import Packet
from wirelens.codecs.captures.pcapng import (
    BYTE_ORDER,
    ENHANCED_PACKET,
    INTERFACE,
    OLD_PACKET,
    OPTION_TSRESOL,
    SECTION,
    SIMPLE_PACKET,
)
from wirelens.codecs.codes import Note

MARK: Final = "wirelens "  # how each comment of this program starts
LONGEST: Final = 4000  # bytes of a comment
OPTION_COMMENT: Final = 1
OPTION_END: Final = 0
UNKNOWN_LENGTH: Final = b"\xff" * 8  # of a section
NANOSECONDS: Final = 9  # resolution of times: powers of ten
FILE_HEADER: Final = 24  # bytes, of a pcap file
ENHANCED_HEADER: Final = 28  # bytes before a packet's own, in enhanced and old packet blocks

_MARK: Final = MARK.encode()
_LITTLE: Final = Struct("<II")
_BIG: Final = Struct(">II")


class Annotator:
    """Chunks of an unpacked capture file in, chunks of a pcapng file out.

    `comments` gives the texts for a packet by its number in the file, () for most. `number`: packets so far;
    `unattached`: comments for packets in blocks that have none (simple packet blocks). Earlier comments of
    this program are replaced.
    """

    def __init__(self, comments: Callable[[int], tuple[str, ...]]) -> None:
        self.comments: Final = comments
        self.number = 0
        self.unattached = 0
        self._reader: Final = PacketReader()
        self._raw = bytearray()  # what is not copied yet
        self._base = 0  # the offset of its first byte
        self._copied = 0  # of `_raw`
        self._interfaces: dict[tuple[int, int], int] = {}
        self._start = b""  # of the file, at most FILE_HEADER bytes
        self._out: list[bytes] = []

    @property
    def notes(self) -> list[Note]:
        """What is wrong with the file."""
        return self._reader.notes

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The copy of what the chunk completes."""
        self._raw += chunk
        self._start += chunk[: FILE_HEADER - len(self._start)]
        for packets in self._reader.steps(chunk):
            self._take(packets)
            yield self._flush()

    def close(self) -> Iterator[bytes]:
        """The rest of the copy."""
        self._take(self._reader.close())
        if self._reader.container == "pcapng":
            self._copy(self._base + len(self._raw))
        elif not self._interfaces and self._reader.container:
            self._begin()
        yield self._flush()

    def _flush(self) -> bytes:
        if self._reader.container == "pcapng":
            self._copy(self._reader.position)
        else:
            self._copied = max(self._reader.position - self._base, self._copied)
        del self._raw[: self._copied]
        self._base += self._copied
        self._copied = 0
        out = b"".join(self._out)
        self._out.clear()
        return out

    def _take(self, packets: list[Packet]) -> None:
        native = self._reader.container == "pcapng"
        for packet in packets:
            self.number = int(packet.number)
            texts = self.comments(self.number)
            if native:
                self._annotate(packet, texts)
            else:
                self._convert(packet, texts)

    # --- pcapng -----------------------------------------------------------------------------------------

    def _copy(self, until: int) -> None:
        """Copy what comes before an offset, with sections of no stated length, as theirs may change."""
        end = until - self._base
        raw = self._raw
        at = self._copied
        while at + 24 <= end and self._is_block(at):
            kind, length = self._header(at)
            if kind == SECTION:
                self._out.append(bytes(raw[self._copied : at + 16]) + UNKNOWN_LENGTH)
                self._copied = at + 24
            at += length
        if end > self._copied:
            self._out.append(bytes(raw[self._copied : end]))
            self._copied = end

    def _is_block(self, at: int) -> bool:
        """Whether a whole block is there: its two lengths agree."""
        kind, length = self._header(at)
        end = at + length
        if length < 12 or length % 4 or end > len(self._raw) or (kind == SECTION and length < 28):
            return False
        return self._raw[at + 4 : at + 8] == self._raw[end - 4 : end]

    def _header(self, at: int) -> tuple[int, int]:
        """Type and length of the block there."""
        raw = self._raw
        little, big = _LITTLE.unpack_from(raw, at), _BIG.unpack_from(raw, at)
        if little[0] == SECTION:  # the same in both orders
            return little if _LITTLE.unpack_from(raw, at + 4)[1] == BYTE_ORDER else big
        return little if self._little(at) else big

    def _little(self, at: int) -> bool:
        """The byte order of a block other than a section header: its length is small, its zeros show it."""
        raw = self._raw
        return int.from_bytes(raw[at + 4 : at + 8], "little") <= int.from_bytes(raw[at + 4 : at + 8], "big")

    def _annotate(self, packet: Packet, texts: tuple[str, ...]) -> None:
        at = int(packet.file_offset) - self._base
        self._copy(self._base + at)
        kind, length = self._header(at)
        block = bytes(self._raw[at : at + length])
        if kind == SIMPLE_PACKET:
            self.unattached += len(texts)
        elif kind in (ENHANCED_PACKET, OLD_PACKET) and (texts or _MARK in block):
            block = _with_comments(block, self._little(at), texts)
        self._out.append(block)
        self._copied = at + length

    # --- other containers -------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._out.append(_block(SECTION, pack("<IHH", BYTE_ORDER, 1, 0) + UNKNOWN_LENGTH))

    def _snap_length(self) -> int:
        """The bytes of a packet that were captured at most; 0 for no limit or where it is not known."""
        if self._reader.container != "pcap" or len(self._start) < FILE_HEADER:
            return 0
        little = bool(self._reader.state()[1][0])
        return int.from_bytes(self._start[16:20], "little" if little else "big")

    def _convert(self, packet: Packet, texts: tuple[str, ...]) -> None:
        if not self._interfaces:
            self._begin()
        key = (int(packet.link_type), int(packet.interface))
        interface = self._interfaces.get(key)
        if interface is None:
            interface = self._interfaces[key] = len(self._interfaces)
            body = pack("<HHI", key[0] & 0xFFFF, 0, self._snap_length())
            options = [(OPTION_TSRESOL, bytes([NANOSECONDS]))]
            self._out.append(_block(INTERFACE, body + _options(options, True)))
        ticks = (packet.time_us * 1000 + self._nanoseconds(packet)) & 0xFFFFFFFFFFFFFFFF
        data = packet.data
        head = pack(
            "<IIIII",
            interface,
            ticks >> 32,
            ticks & 0xFFFFFFFF,
            len(data),
            packet.original_length & 0xFFFFFFFF,
        )
        options = [(OPTION_COMMENT, _comment(text)) for text in texts]
        self._out.append(_block(ENHANCED_PACKET, head + _padded(data) + _options(options, True)))

    def _nanoseconds(self, packet: Packet) -> int:
        """What the time of a packet has beyond microseconds."""
        state = self._reader.state()
        if state[0] != "pcap" or not state[1][2]:
            return 0
        at = int(packet.file_offset) - self._base
        order = "<I" if state[1][0] else ">I"
        fraction = int(Struct(order).unpack_from(self._raw, at + 4)[0])
        return fraction % 1000 if fraction // 1000 == packet.time_us % 1_000_000 else 0


def _comment(text: str) -> bytes:
    """A comment as UTF-8, at most LONGEST bytes."""
    return text.encode("utf-8", "backslashreplace")[:LONGEST].decode("utf-8", "ignore").encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _block(kind: int, body: bytes, order: str = "<") -> bytes:
    length = len(body) + 12
    return pack(order + "II", kind, length) + body + pack(order + "I", length)


def _options(options: list[tuple[int, bytes]], little: bool) -> bytes:
    """Options with their end; nothing if there are none."""
    if not options:
        return b""
    order = "<HH" if little else ">HH"
    parts = [pack(order, code, len(value)) + _padded(value) for code, value in options]
    return b"".join(parts) + pack(order, OPTION_END, 0)


def _with_comments(block: bytes, little: bool, texts: tuple[str, ...]) -> bytes:
    """A packet block with these comments of this program, and all other options as they were.

    A block whose options are damaged is left as it is.
    """
    order = "<" if little else ">"
    kind = int(Struct(order + "I").unpack_from(block, 0)[0])
    captured = int(Struct(order + "I").unpack_from(block, 20)[0])
    start = ENHANCED_HEADER + (captured + 3 & ~3)
    end = len(block) - 4
    if start > end:
        return block
    options: list[tuple[int, bytes]] = []
    at = start
    while at + 4 <= end:
        code, length = Struct(order + "HH").unpack_from(block, at)
        if code == OPTION_END:
            break
        if at + 4 + length > end:
            return block
        value = block[at + 4 : at + 4 + length]
        if code != OPTION_COMMENT or not value.startswith(_MARK):
            options.append((code, value))
        at += 4 + (length + 3 & ~3)
    options += [(OPTION_COMMENT, _comment(text)) for text in texts]
    return _block(kind, block[8:start] + _options(options, little), order)
