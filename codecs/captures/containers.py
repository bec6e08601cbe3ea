"""Any capture file, compressed or not: its container is recognised and its packets are read."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from wirelens.codecs.captures.compression import EXTRA, unpacker
from wirelens.codecs.captures.magic import COMPRESSIONS, SNIFF_LENGTH, UNSUPPORTED, compression_of, sniff
from wirelens.codecs.captures.pcap import Packet, PcapReader, RecordReader, State
from wirelens.codecs.captures.pcapng import PcapngReader
from wirelens.codecs.captures.snoop import SnoopReader
from wirelens.codecs.captures.unpacking import Unpacking
from wirelens.codecs.codes import Note

FRESH: Final[State] = ("", (), ())  # the state before a file's first byte


def _reader(container: str, state: State | None, position: int) -> RecordReader | None:
    if container == "pcap":
        return PcapReader(state, position)
    if container == "pcapng":
        return PcapngReader(state, position)
    if container == "snoop":
        return SnoopReader(state, position)
    return None


class PacketReader:
    """Chunks of a capture file in, packets out.

    `container`: what it is once the first bytes are known ("" for no capture; a key of
    COMPRESSIONS for one that cannot be unpacked here). `compressed`: whether it is unpacked.
    `bytes_fed` and `bytes_read`: bytes as given, and after unpacking. `notes`: damage, with offsets in the
    unpacked file; `damages` counts it all. Chunks of 64 KiB to 4 MiB are best. Memory: one record.
    `state` and `position` continue where another reader stopped.
    """

    def __init__(self, state: State | None = None, position: int = 0) -> None:
        self.container: str = ""
        self.bytes_fed: int = 0
        self.bytes_read: int = 0
        self._first: int = position
        self._notes: list[Note] = []
        self._head: bytes = b""  # until the container is known
        self._packing_known: bool = False  # whether the file is known to be compressed or not
        self._known: bool = False  # whether the container is known
        self._reader: RecordReader | None = None
        self._unpacker: Unpacking | None = None
        if state is not None:
            self.container = state[0]
            self._packing_known = True
            self._known = True
            self._reader = _reader(state[0], state, position)

    @property
    def compressed(self) -> bool:
        """Whether the bytes are compressed."""
        unpacker = self._unpacker
        return unpacker is not None and unpacker.is_packed

    @property
    def notes(self) -> list[Note]:
        """Notes on damage, of the container and of the compression around it."""
        notes = [] if self._reader is None else list(self._reader.notes)
        notes += self._notes
        if self._unpacker is not None:
            notes += self._unpacker.notes
        return notes

    @property
    def damages(self) -> int:
        """The number of damages, those without a note included."""
        count = len(self._notes)
        if self._reader is not None:
            count += self._reader.damages
        if self._unpacker is not None:
            count += self._unpacker.damages
        return count

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
        """Whether another reader can continue at `position` with `state()`."""
        reader = self._reader
        return reader is not None and not self.compressed and not reader.searching and reader.number > 0

    def state(self) -> State:
        """What `PacketReader(state, position)` needs to continue there: plain values that pickle."""
        reader = self._reader
        return FRESH if reader is None else reader.state()

    def steps(self, chunk: bytes) -> Iterator[list[Packet]]:
        """The packets that a chunk completes; in portions, as it may unpack to many times its size."""
        if not chunk:
            return
        self.bytes_fed += len(chunk)
        if not self._packing_known:
            self._head += chunk
            if len(self._head) < SNIFF_LENGTH:
                return
            chunk = self._head
            self._start(chunk)
        if self._unpacker is None:
            yield self._take(chunk)
        else:
            for content in self._unpacker.steps(chunk):
                yield self._take(content)

    def close(self) -> list[Packet]:
        """The packets left at the end; a cut record or stream becomes a note."""
        packets: list[Packet] = []
        if not self._packing_known:
            head = self._head
            self._start(head)
            if self._unpacker is None:
                packets += self._take(head)
            else:
                for content in self._unpacker.steps(head):
                    packets += self._take(content)
        if self._unpacker is not None:
            packets += self._take(self._unpacker.close())
        if not self._known:
            packets += self._begin()
        reader = self._reader
        if reader is not None:
            packets += reader.close()
        return packets

    def _start(self, head: bytes) -> None:
        """The first bytes of the file are there: it is compressed or not."""
        self._packing_known = True
        self._head = b""
        compression = compression_of(head)
        if not compression:
            return
        self._unpacker = unpacker(compression)
        if self._unpacker is None:
            self._known = True
            self.container = compression
            text = f"compressed with {COMPRESSIONS[compression]}, which needs the extra `{EXTRA}`"
            self._notes.append(Note("unsupported-capture", 0, text))

    def _take(self, data: bytes) -> list[Packet]:
        """The packets that unpacked bytes complete; the first of them show the container."""
        self.bytes_read += len(data)
        if self._known:
            return [] if self._reader is None else self._reader.feed(data)
        self._head += data
        return self._begin() if len(self._head) >= SNIFF_LENGTH else []

    def _begin(self) -> list[Packet]:
        """The first unpacked bytes are there, or all of them: choose the reader and give them to it."""
        head = self._head
        self._head = b""
        self._known = True
        container = sniff(head)
        self.container = "" if container in COMPRESSIONS else container
        reader = _reader(container, None, 0)
        self._reader = reader
        if reader is not None:
            return reader.feed(head)
        name = UNSUPPORTED.get(container)
        if name is not None:
            self._notes.append(Note("unsupported-capture", 0, f"a capture of {name} is not read"))
        elif head:
            self._notes.append(Note("no-capture", 0, "no capture file begins like this"))
        return []


def read_packets(chunks: Iterable[bytes]) -> Iterator[Packet]:
    """The packets of a capture file given in chunks."""
    reader = PacketReader()
    for chunk in chunks:
        for step in reader.steps(chunk):
            yield from step
    yield from reader.close()


class Part(NamedTuple):
    """A stretch of a capture file that `range_reader` reads alone.

    `state` is that of the reader before it, `time_us` the latest time of the packets before it.
    """

    offset: int
    length: int
    state: State
    time_us: int


def split(chunks: Iterable[bytes], whole: Part, target_bytes: int) -> list[Part]:
    """Cut a part of a capture, given in chunks, into parts of about `target_bytes` between records.

    Packet numbers continue across parts. Cuts are near the ends of chunks, so chunks should be smaller than
    the target. A file that cannot be split (compressed, not a capture) stays whole. The parts cover all the
    bytes.
    """
    offset, length, state, time_us = whole
    end = offset + length
    latest = time_us
    reader = range_reader(state, offset)
    parts: list[Part] = []
    for chunk in chunks:
        for packets in reader.steps(chunk):
            for packet in packets:
                if packet.time_us > latest:
                    latest = packet.time_us
        if reader.compressed:
            break
        position = reader.position
        if position - offset >= target_bytes and reader.splittable:
            parts.append(Part(offset, position - offset, state, time_us))
            offset, state, time_us = position, reader.state(), latest
    if end > offset or not parts:
        parts.append(Part(offset, end - offset, state, time_us))
    return parts


def range_reader(state: State, offset: int) -> PacketReader:
    """A reader for one part that `split` gave."""
    return PacketReader(state if state[0] else None, offset)
