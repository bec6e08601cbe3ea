"""A capture's way: container, packets, segments, pieces of its streams."""

from collections.abc import Iterable, Iterator
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.containers import PacketReader
from wirelens.codecs.captures.flow import Flow, Piece
from wirelens.codecs.captures.magic import unsupported
from wirelens.codecs.captures.packets import Dissector
from wirelens.codecs.captures.pcap import Packet, State
from wirelens.codecs.captures.streams import Assembler
from wirelens.codecs.codes import Note

CHUNK: Final = 1 << 16  # bytes; chunks of this size stay in the processor's cache


class Reader:
    """Chunks of a capture in, pieces of its streams out, each as soon as it is in order; bounded memory.

    `state` and `position` continue where another reader stopped (see `PacketReader`). `file_bits` are set in
    the numbers of all packets, to distinguish those of several files. Never raises for what the bytes are.
    After `close`: bytes_read = overhead + payload and payload = delivered + retransmitted, in unpacked bytes.
    """

    def __init__(self, state: State | None = None, position: int = 0, file_bits: int = 0) -> None:
        self.packet_reader: Final = PacketReader(state, position)
        self.dissector: Final = Dissector()
        self.assembler: Final = Assembler()
        self._file_bits: Final[i64] = file_bits

    def steps(self, chunk: bytes) -> Iterator[list[Piece]]:
        """The pieces that a chunk completes; in portions, as it may unpack to many times its size."""
        for packets in self.packet_reader.steps(chunk):
            pieces: list[Piece] = []
            self._add(packets, pieces)
            yield pieces

    def close(self) -> list[Piece]:
        """The pieces left at the end of the capture; every stream that has not ended does so now."""
        pieces: list[Piece] = []
        self._add(self.packet_reader.close(), pieces)
        self.assembler.extend(self.dissector.close(), pieces)
        pieces.extend(self.assembler.close())
        return pieces

    def _add(self, packets: list[Packet], pieces: list[Piece]) -> None:
        if self._file_bits:
            for packet in packets:
                packet.number |= self._file_bits
        dissector = self.dissector
        assembler = self.assembler
        observes = assembler.observes
        for packet in packets:
            segment = dissector.dissect(packet)
            if dissector.late:
                assembler.extend(dissector.take_late(), pieces)
            if segment is not None:
                if observes:
                    dissector.mark(segment, packet)
                assembler.add(segment, pieces)

    def overdue(self, idle: bool) -> list[Piece]:
        """See Assembler.overdue."""
        return self.assembler.overdue(idle)

    @property
    def position(self) -> int:
        """Offset, in the unpacked file, of the first byte that is not yet read: a record's start."""
        return self.packet_reader.position

    @property
    def container(self) -> str:
        """ "pcap", "pcapng", "snoop"; a key of UNSUPPORTED or COMPRESSIONS; "" if unknown or no capture."""
        return self.packet_reader.container

    @property
    def unsupported(self) -> str:
        """The name of a container or compression that is recognised and refused, else ""."""
        return unsupported(self.packet_reader.container)

    @property
    def compressed(self) -> bool:
        """Whether the input is compressed."""
        return self.packet_reader.compressed

    @property
    def packets(self) -> int:
        """The number of packets read."""
        return self.packet_reader.number

    @property
    def bytes_fed(self) -> int:
        """Bytes as given, packed or not."""
        return self.packet_reader.bytes_fed

    @property
    def bytes_read(self) -> int:
        """Bytes after unpacking."""
        return self.packet_reader.bytes_read

    @property
    def payload(self) -> int:
        """Bytes of TCP and UDP payload that the capture holds."""
        return self.assembler.payload

    @property
    def overhead(self) -> int:
        """All other bytes: headers, padding, other protocols, text on resets, damage."""
        return self.packet_reader.bytes_read - self.assembler.payload

    @property
    def delivered(self) -> int:
        """Bytes given out in pieces."""
        return self.assembler.delivered

    @property
    def retransmitted(self) -> int:
        """Bytes that were retransmitted and left out, keep-alives included."""
        return self.assembler.retransmitted

    @property
    def missing(self) -> int:
        """Bytes of streams that are known to be missing from the capture."""
        return self.assembler.missing

    @property
    def flows(self) -> int:
        """Flows so far."""
        return self.assembler.flows

    @property
    def ignored(self) -> dict[str, int]:
        """Packets without a segment, by reason."""
        return self.dissector.ignored

    @property
    def damage(self) -> list[Note]:
        """What is wrong with the file and its packets; offsets in the unpacked file."""
        return self.packet_reader.notes + packet_notes(self.dissector.damaged, int(~self._file_bits))

    @property
    def damages(self) -> int:
        """The number of damages; `damage` has the first thousand."""
        ignored = self.dissector.ignored
        return self.packet_reader.damages + ignored.get("cut", 0) + ignored.get("bad-header", 0)


def packet_notes(damaged: Iterable[tuple[int, int, str]], mask: int = -1) -> list[Note]:
    """Notes on the packets that a dissector found damaged; `mask` removes the file's bits from numbers."""
    return [
        Note(
            "bad-packet",
            offset,
            f"packet {number & mask}: a header {'is cut' if reason == 'cut' else 'is invalid'}",
        )
        for offset, number, reason in damaged
    ]


def flows(chunks: Iterable[bytes]) -> list[Flow]:
    """The flows of a small capture with their bytes in memory, in order of appearance.

    Unpacks compressed files; never raises; [] for anything but a capture. `flow.directions[d].data` are the
    bytes present, in order, `.gaps` the (stream offset, bytes) of those missing.
    """
    reader = Reader()
    by_number: dict[int, Flow] = {}
    for chunk in chunks:
        for pieces in reader.steps(chunk):
            _collect(pieces, by_number)
    _collect(reader.close(), by_number)
    return [by_number[number] for number in sorted(by_number)]


def _collect(pieces: list[Piece], by_number: dict[int, Flow]) -> None:
    for piece in pieces:
        flow = piece.flow
        by_number[flow.number] = flow
        if not piece.late:
            flow.directions[piece.direction].keep(piece.offset, piece.data, piece.gap)
