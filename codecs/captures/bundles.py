"""Segments of a flow to bundles of bytes and back, so that processes exchange few large objects.

A bundle is a run of segments in the order of the capture. Each is seven little-endian words of 64 bits
(length of the payload and sequence number; flags and acknowledgement; missing; time; running time; packet;
file offset), the numbers of its packets if there were several, and its payload.
"""

from typing import Final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

from wirelens.codecs.captures.packets import Dissector, Segment
from wirelens.codecs.captures.pcap import Packet

Bundle = tuple[
    bytes, int, int, bytes
]  # key of the flow; running time and packet of the first segment; segments

_WORDS: Final = 56  # bytes of a segment before the numbers of its packets
_FORWARD: Final = 1 << 16  # above the flags of a segment
_FRAGMENTS: Final = 1 << 17
_FLAGS: Final = (1 << 16) - 1
_LOW: Final = 0xFFFFFFFF


class _Open:
    """A bundle that is not full."""

    def __init__(self, time: i64, packet: i64) -> None:
        self.time: i64 = time
        self.packet: i64 = packet
        self.size: i64 = 0
        self.out: BytesWriter = BytesWriter()


class Bundler:
    """Packets of a capture in, bundles out.

    A bundle is given out at `bundle_bytes`, and all of them when they hold `all_bytes` together. `file_bits`
    are set in the numbers of all packets. `time`: the latest of all packets so far, in microseconds, which is
    the running time. `payload`: bytes of all segments. `first_us`, `last_us`: the first and the latest time
    of the packets given here, or -1.
    """

    def __init__(self, bundle_bytes: i64, all_bytes: i64, time: i64, file_bits: i64) -> None:
        self.dissector: Final = Dissector()
        self.time: i64 = time
        self.payload: i64 = 0
        self.packets: i64 = 0
        self.first_us: i64 = -1
        self.last_us: i64 = -1
        self._file_bits: i64 = file_bits
        self._bundle_bytes: i64 = bundle_bytes
        self._all_bytes: i64 = all_bytes
        self._open: dict[bytes, _Open] = {}
        self._held: i64 = 0

    def feed(self, packets: list[Packet]) -> list[Bundle]:
        """The bundles that these packets fill."""
        bundles: list[Bundle] = []
        segments: list[Segment] = []
        dissector = self.dissector
        self.packets += len(packets)
        for packet in packets:
            packet.number |= self._file_bits
            time_us = packet.time_us
            if time_us > self.time:
                self.time = time_us
            if self.first_us < 0:
                self.first_us = time_us
            if time_us > self.last_us:
                self.last_us = time_us
            dissector.add(packet, segments)
            for segment in segments:
                self.add(segment, bundles)
            segments.clear()
        return bundles

    def add(self, segment: Segment, bundles: list[Bundle]) -> None:
        """Take the next segment; append the bundles that it fills."""
        key = segment.key
        bundle = self._open.get(key)
        if bundle is None:
            bundle = _Open(self.time, segment.packet)
            self._open[key] = bundle
        out = bundle.out
        payload = segment.payload
        length: i64 = len(payload)
        flags = segment.flags
        if segment.forward:
            flags |= _FORWARD
        fragments = segment.fragments
        count: i64 = len(fragments)
        if count:
            flags |= _FRAGMENTS
        write_i64_le(out, length << 32 | segment.sequence)
        write_i64_le(out, flags << 32 | segment.acknowledgement)
        write_i64_le(out, segment.missing)
        write_i64_le(out, segment.time_us)
        write_i64_le(out, self.time)
        write_i64_le(out, segment.packet)
        write_i64_le(out, segment.file_offset)
        size: i64 = _WORDS + length
        if count:
            write_i64_le(out, count)
            for number in fragments:
                write_i64_le(out, number)
            size += 8 + 8 * count
        out.write(payload)
        bundle.size += size
        self._held += size
        self.payload += length
        if bundle.size >= self._bundle_bytes:
            del self._open[key]
            self._held -= bundle.size
            bundles.append((key, int(bundle.time), int(bundle.packet), out.getvalue()))
        if self._held >= self._all_bytes:
            bundles.extend(self.flush())

    def flush(self) -> list[Bundle]:
        """All bundles that are not full."""
        bundles = [
            (key, int(bundle.time), int(bundle.packet), bundle.out.getvalue())
            for key, bundle in self._open.items()
        ]
        self._open = {}
        self._held = 0
        return bundles


def unbundle(key: bytes, data: bytes) -> tuple[list[tuple[int, int]], list[Segment]]:
    """The segments of a bundle, and the running time and packet of each."""
    keys: list[tuple[int, int]] = []
    segments: list[Segment] = []
    position: i64 = 0
    size: i64 = len(data)
    while position < size:
        first = read_i64_le(data, position)
        second = read_i64_le(data, position + 8)
        length: i64 = first >> 32
        flags: i64 = second >> 32
        time = read_i64_le(data, position + 32)
        packet = read_i64_le(data, position + 40)
        missing = read_i64_le(data, position + 16)
        time_us = read_i64_le(data, position + 24)
        file_offset = read_i64_le(data, position + 48)
        position += _WORDS
        fragments: tuple[int, ...] = ()
        if flags & _FRAGMENTS:
            count = read_i64_le(data, position)
            position += 8
            numbers: list[int] = []
            for _ in range(count):
                numbers.append(int(read_i64_le(data, position)))
                position += 8
            fragments = tuple(numbers)
        payload = data[position : position + length]
        position += length
        keys.append((int(time), int(packet)))
        segments.append(
            Segment(
                key,
                flags & _FORWARD != 0,
                first & _LOW,
                second & _LOW,
                flags & _FLAGS,
                payload,
                missing,
                time_us,
                packet,
                file_offset,
                fragments,
            )
        )
    return keys, segments
