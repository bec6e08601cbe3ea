"""Any capture file, gzipped or not: its container is recognised and its packets are read."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from wirelens.codecs.captures.pcap import NOTES_KEPT, Packet, PcapReader, RecordReader, State
from wirelens.codecs.captures.pcapng import PcapngReader
from wirelens.codecs.captures.snoop import SnoopReader
from wirelens.codecs.codes import Note

SNIFF_LENGTH: Final = 40
"""So many bytes decide which container it is."""
UNPACK_STEP: Final = 1 << 18
"""Gzip gives at most so many bytes at a time."""

SALVAGE_STEP: Final = 1 << 8
"""Close before damage gzip is fed so many bytes at a time."""

READABLE: Final = ("pcap", "pcapng", "snoop")

_MAGICS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\xd4\xc3\xb2\xa1", "pcap"),
    (b"\xa1\xb2\xc3\xd4", "pcap"),
    (b"\x4d\x3c\xb2\xa1", "pcap"),
    (b"\xa1\xb2\x3c\x4d", "pcap"),
    (b"\x34\xcd\xb2\xa1", "pcap"),
    (b"\xa1\xb2\xcd\x34", "pcap"),
    (b"\xac\x01\x00\x1c", "pcap"),
    (b"\x1c\x00\x01\xac", "pcap"),
    (b"\xab\x01\x00\x1c", "pcap"),
    (b"\x1c\x00\x01\xab", "pcap"),
    (b"snoop\0\0\0", "snoop"),
    (b"RTSS", "netmon"),
    (b"GMBU", "netmon"),
    (b"TRSNIFF data    \x1a", "ngsniffer"),
    (b"XCP\0", "netxray"),
    (b"\xaa\xaa\xaa\xaa\x20\x00\x00\x00", "5views"),
    (b"+---------+---------------+----------+", "k12"),
    (b"\x00\x00\x02\x00\x12\x05\x00\x10", "k12"),
    (b"btsnoop\0", "btsnoop"),
    (b"iptrace 1.0", "iptrace"),
    (b"iptrace 2.0", "iptrace"),
    (b"ObserverPktBuffer", "observer"),
    (b"\x05VNF", "visual"),
    (b"EyeSDN", "eyesdn"),
)

UNSUPPORTED: Final[dict[str, str]] = {
    "netmon": "Microsoft Network Monitor",
    "ngsniffer": "Sniffer (DOS)",
    "netxray": "Sniffer (Windows) or NetXRay",
    "5views": "Accellent 5Views",
    "k12": "Tektronix K12",
    "btsnoop": "Bluetooth snoop",
    "iptrace": "AIX iptrace",
    "observer": "Network Instruments Observer",
    "visual": "Visual Networks",
    "eyesdn": "EyeSDN",
}
"""Containers that are recognised and refused, with their names."""


def sniff(head: bytes) -> str:
    """Name the container that begins with `head` (its first SNIFF_LENGTH bytes, or all there are).

    "pcap", "pcapng", "snoop" can be read, "gzip" is looked into, the keys of UNSUPPORTED are refused; "" is
    no capture.
    """
    if head[:2] == b"\x1f\x8b" and head[2:3] in (b"", b"\x08"):
        return "gzip"
    if head[:4] == b"\n\r\r\n":
        order = head[8:12]
        if order in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a") or len(head) < 12:
            return "pcapng"
        return ""
    for magic, name in _MAGICS:
        if head.startswith(magic):
            return name
    return ""


def _reader(container: str, state: State | None, position: int) -> RecordReader | None:
    if container == "pcap":
        return PcapReader(state, position)
    if container == "pcapng":
        return PcapngReader(state, position)
    if container == "snoop":
        return SnoopReader(state, position)
    return None


class PacketReader:
    """Chunks of a capture file in, packets out; needs nothing but the bytes.

    container: what it is once the first bytes are known ("" for no capture). compressed: inside gzip.
    bytes_fed and bytes_read: bytes as given, and after unpacking. notes: damage, with offsets in the unpacked
    file; damages counts it all. Chunks of 64 KiB to 4 MiB are best; gzip may unpack a chunk to a thousand
    times its size, `steps` then gives the packets in bounded portions. Memory: one record.
    """

    def __init__(self, state: State | None = None, position: int = 0) -> None:
        self.container: str = ""
        self.compressed: bool = False
        self.bytes_fed: int = 0
        self.bytes_read: int = 0
        self._first: int = position
        self._notes: list[Note] = []
        self._head: bytes = b""
        self._known: bool = False
        self._refused: bool = False
        self._reader: RecordReader | None = None
        self._unpacker: zlib._Decompress | None = None
        self._between: bool = False
        self._garbage: bool = False
        self._tail: bytes = b""
        if state is not None:
            self.container = state[0]
            self._known = True
            self._reader = _reader(state[0], state, position)

    @property
    def notes(self) -> list[Note]:
        reader = self._reader
        return self._notes if reader is None else reader.notes + self._notes

    @property
    def damages(self) -> int:
        reader = self._reader
        return len(self._notes) + (0 if reader is None else reader.damages)

    @property
    def number(self) -> int:
        """Packets read so far."""
        reader = self._reader
        return 0 if reader is None else reader.number

    @property
    def position(self) -> int:
        """Offset, in the unpacked file, of the first byte that is not yet read: a record's start."""
        reader = self._reader
        return self._first if reader is None else reader.position

    @property
    def splittable(self) -> bool:
        """Whether another reader can go on at `position` with `state()`."""
        reader = self._reader
        return reader is not None and not self.compressed and not reader.searching and reader.number > 0

    def state(self) -> State:
        """What `PacketReader(state, position)` needs to go on there: plain numbers, so it pickles."""
        reader = self._reader
        return ("", (), ()) if reader is None else reader.state()

    def steps(self, chunk: bytes) -> Iterator[list[Packet]]:
        """The packets that a chunk completes; in portions, as gzip may unpack it to many times its size."""
        if not chunk:
            return
        self.bytes_fed += len(chunk)
        if self._unpacker is not None or self._between:
            yield from self._unpack(chunk)
        elif self._known:
            yield self._take(chunk)
        else:
            self._head += chunk
            if len(self._head) >= SNIFF_LENGTH:
                yield from self._start()

    def close(self) -> list[Packet]:
        """The packets left at the end; a cut record or stream becomes a note."""
        packets: list[Packet] = []
        if not self._known:
            for step in self._start():
                packets.extend(step)
        if self._unpacker is not None:
            self._note("truncated", "the gzip stream ends early")
        if self._head:
            head = self._head
            self._head = b""
            self._begin(head)
            packets.extend(self._give(head))
        reader = self._reader
        if reader is not None:
            packets.extend(reader.close())
        return packets

    def _note(self, code: str, text: str) -> None:
        if len(self._notes) < NOTES_KEPT:
            self._notes.append(Note(code, self._first + self.bytes_read, text))

    def _start(self) -> Iterator[list[Packet]]:
        self._known = True
        head = self._head
        if sniff(head) == "gzip":
            self._head = b""
            self.compressed = True
            self._between = True
            yield from self._unpack(head)
            return
        self._begin(head)
        self._head = b""
        yield self._take(head)

    def _begin(self, head: bytes) -> None:
        self.container = sniff(head)
        reader = _reader(self.container, None, 0)
        self._reader = reader
        if reader is None:
            self._refused = True
            name = UNSUPPORTED.get(self.container)
            if name is not None:
                self._notes.append(Note("unsupported-capture", 0, f"a capture of {name} is not read"))
            elif head:
                self._notes.append(Note("no-capture", 0, "no capture file begins like this"))

    def _take(self, data: bytes) -> list[Packet]:
        self.bytes_read += len(data)
        return self._give(data)

    def _give(self, data: bytes) -> list[Packet]:
        reader = self._reader
        return [] if reader is None else reader.feed(data)

    def _unpacked(self, data: bytes) -> list[Packet]:
        """Unpacked bytes: the first of them still have to be recognised."""
        if self._reader is not None or self._refused:
            return self._take(data)
        self._head += data
        if len(self._head) < SNIFF_LENGTH:
            self.bytes_read += len(data)
            return []
        head = self._head
        self._begin(head)
        self.bytes_read += len(data)
        self._head = b""
        return self._give(head)

    def _unpack(self, data: bytes) -> Iterator[list[Packet]]:
        """Gzip members (RFC 1952), one behind the other."""
        if self._garbage:
            return
        if self._between and self._unpacker is None:
            data = self._tail + data if self._tail else data
            self._tail = b""
        full = False
        while data or full:
            if self._unpacker is None:
                data = data.lstrip(b"\0") if self.bytes_read else data
                if not data:
                    return
                if len(data) == 1 and data == b"\x1f":
                    self._tail = data
                    return
                if data[:2] != b"\x1f\x8b":
                    self._garbage = True
                    self._note("skipped-bytes", "what follows the gzip stream is not gzip")
                    return
                self._unpacker = zlib.decompressobj(31)
                self._between = False
            unpacker = self._unpacker
            before = unpacker.copy()
            try:
                out = unpacker.decompress(data, UNPACK_STEP)
            except zlib.error:
                self._garbage = True
                self._unpacker = None
                self._between = True
                yield self._unpacked(_salvage(before, data))
                self._note("bad-value", "the gzip stream is damaged; the rest of it is lost")
                return
            data = unpacker.unconsumed_tail
            full = len(out) == UNPACK_STEP
            if unpacker.eof:
                data = unpacker.unused_data
                full = False
                self._unpacker = None
                self._between = True
            if out:
                yield self._unpacked(out)


def _salvage(unpacker: "zlib._Decompress", data: bytes) -> bytes:
    """What unpacks before the damage: zlib gives nothing of a step that fails."""
    found: list[bytes] = []
    step = SALVAGE_STEP
    position = 0
    while position < len(data):
        before = unpacker.copy()
        try:
            found.append(unpacker.decompress(data[position : position + step]))
        except zlib.error:
            if step == 1:
                break
            unpacker = before
            step = 1
            continue
        position += step
    return b"".join(found)


def read_packets(chunks: Iterable[bytes]) -> Iterator[Packet]:
    """The packets of a capture file given in chunks."""
    reader = PacketReader()
    for chunk in chunks:
        for step in reader.steps(chunk):
            yield from step
    yield from reader.close()


def split(chunks: Iterable[bytes], target_bytes: int) -> list[tuple[int, int, State]]:
    """Byte ranges (offset, length, state) of about target_bytes that begin and end at record boundaries.

    `PacketReader(state, offset)` reads such a range alone; packet numbers go on through the ranges. Cuts lie
    where chunks do, so chunks should be smaller than the target. What cannot be split (gzip, no
    capture) is one range with an empty state: a fresh PacketReader reads it. Ranges cover the whole file.
    """
    reader = PacketReader()
    ranges: list[tuple[int, int, State]] = []
    start = 0
    state: State = ("", (), ())
    total = 0
    for chunk in chunks:
        total += len(chunk)
        for _ in reader.steps(chunk):
            pass
        position = reader.position
        if position - start >= target_bytes and reader.splittable:
            ranges.append((start, position - start, state))
            start = position
            state = reader.state()
    if total > start or not ranges:
        ranges.append((start, total - start, state))
    return ranges


def range_reader(state: State, offset: int) -> PacketReader:
    """A reader for one range that `split` gave."""
    return PacketReader(state if state[0] else None, offset)
