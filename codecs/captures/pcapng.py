"""pcapng files. Source: draft-ietf-opsawg-pcapng (general block section 3.1, options 3.5, blocks 4)."""

import re
from struct import Struct
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.pcap import MILLION, SNAP_LIMIT, Packet, RecordReader, State

BLOCK_LIMIT: Final = 1 << 24  # bytes of a block
INTERFACE_LIMIT: Final = 1 << 16  # interfaces of a section

SECTION: Final = 0x0A0D0D0A  # section 4.1
INTERFACE: Final = 1  # section 4.2
OLD_PACKET: Final = 2  # appendix A
SIMPLE_PACKET: Final = 3  # section 4.4
ENHANCED_PACKET: Final = 6  # section 4.3
BYTE_ORDER: Final = 0x1A2B3C4D

REPEAT_TIME_US: Final = 1_000  # the same bytes on another interface within this time are the same packet
COPIES: Final = 1 << 12  # packets that are remembered for it at most

OPTION_TSRESOL: Final = 9
OPTION_TSOFFSET: Final = 14

TIME_MAXIMUM: Final = (1 << 62) - 1  # later times become this one, so that differences fit in 64 bits
RESOLUTION_MAXIMUM: Final = 60

_LITTLE: Final = Struct("<II")
_BIG: Final = Struct(">II")
_LITTLE_WORD: Final = Struct("<I")
_BIG_WORD: Final = Struct(">I")
_LITTLE_PACKET: Final = Struct("<IIIII")
_BIG_PACKET: Final = Struct(">IIIII")
_LITTLE_SHORTS: Final = Struct("<HH")
_BIG_SHORTS: Final = Struct(">HH")

# starts of blocks with a type of the draft, either byte order; the lengths decide
_BLOCK_START: Final = re.compile(rb"\n\r\r\n|[\x01-\x06\x0a]\x00\x00\x00|\x00\x00\x00[\x01-\x06\x0a]")


def microseconds(ticks: int, resolution: int, offset: int) -> int:
    """Ticks of an if_tsresol (section 4.2), moved by if_tsoffset seconds, in microseconds since 1970."""
    exponent = min(resolution & 0x7F, RESOLUTION_MAXIMUM)
    if resolution & 0x80:
        time = (ticks * MILLION) >> exponent
    elif exponent <= 6:
        time = ticks * 10 ** (6 - exponent)
    else:
        time = ticks // 10 ** (exponent - 6)
    time += offset * MILLION
    return max(-TIME_MAXIMUM, min(time, TIME_MAXIMUM))


class _Copies:
    """The copies of a packet's bytes that were seen shortly after one another, by interface."""

    def __init__(self, time_us: i64) -> None:
        self.time_us: Final[i64] = time_us
        self.counts: dict[int, int] = {}


class _Seen:
    """The packets of the last moment, to recognise those that were captured on several interfaces."""

    def __init__(self) -> None:
        self._copies: dict[bytes, _Copies] = {}  # by the packet's bytes, oldest first

    def repeats(self, packet: Packet) -> bool:
        """Whether as many copies of the packet were already seen on another interface as now on its own."""
        time_us = packet.time_us
        recent = self._copies
        while recent:
            oldest = next(iter(recent))
            if len(recent) <= COPIES and _close(time_us, recent[oldest].time_us):
                break
            del recent[oldest]
        copies = recent.get(packet.data)
        if copies is None or not _close(time_us, copies.time_us):
            recent.pop(packet.data, None)
            copies = recent[packet.data] = _Copies(time_us)
        interface = int(packet.interface)
        count = copies.counts.get(interface, 0) + 1
        others = [number for other, number in copies.counts.items() if other != interface]
        copies.counts[interface] = count
        return bool(others) and max(others) >= count


def _close(time_us: i64, other_us: i64) -> bool:
    return -REPEAT_TIME_US <= time_us - other_us <= REPEAT_TIME_US


class PcapngReader(RecordReader):
    """Reads a pcapng file: sections of either byte order, interfaces, enhanced, simple and old packets.

    Other blocks and all options but time resolution and offset are passed over. A block whose two lengths
    disagree or that is too large is a note; reading goes on at the next block whose lengths agree.
    """

    def __init__(self, state: State | None = None, position: int = 0) -> None:
        super().__init__()
        self.container = "pcapng"
        self.position = position
        self._little: bool = True
        self._section: bool = False
        # link type, time resolution, time offset in seconds, snap length
        self._interfaces: list[tuple[int, ...]] = []
        self._unknown_interface: bool = False
        self._seen: _Seen = _Seen()
        if state is not None:
            self._little = state[1][0] != 0
            self.number = state[1][1]
            self._interfaces = list(state[2])
            self._section = True

    def state(self) -> State:
        """Everything that reading on needs, as plain values."""
        return ("pcapng", (int(self._little), int(self.number)), tuple(self._interfaces))

    def _read(self, data: bytes, packets: list[Packet], final: bool) -> i64:
        position: i64 = 0
        size: i64 = len(data)
        self._need = 12
        while True:
            if self.searching:
                position = self._search(data, position, final)
                if self.searching:
                    return position
            if position + 12 > size:
                return position
            unpack = _LITTLE.unpack_from if self._little else _BIG.unpack_from
            kind, length = unpack(data, position)
            if kind == SECTION:
                # the byte order is known only from the word after the length
                order = _LITTLE_WORD.unpack_from(data, position + 8)[0]
                if order == BYTE_ORDER:
                    little = True
                elif _BIG_WORD.unpack_from(data, position + 8)[0] == BYTE_ORDER:
                    little = False
                else:
                    self.lose(self.position + position, "invalid section header: no byte order")
                    continue
                length = (_LITTLE_WORD if little else _BIG_WORD).unpack_from(data, position + 4)[0]
            else:
                little = self._little
                if not self._section:
                    self.lose(self.position + position, "no section header")
                    continue
            if length < 12 or length > BLOCK_LIMIT or length % 4:
                self.lose(self.position + position, f"invalid block header: length {length}")
                continue
            if position + length > size:
                self._need = length
                return position
            word = _LITTLE_WORD if little else _BIG_WORD
            if word.unpack_from(data, position + length - 4)[0] != length:
                self.lose(self.position + position, "the block's two lengths disagree")
                continue
            self._little = little
            self._block(kind, data, position, length, packets)
            position += length

    def _block(self, kind: i64, data: bytes, position: i64, length: i64, packets: list[Packet]) -> None:
        end: i64 = position + length - 4
        if kind == ENHANCED_PACKET or kind == OLD_PACKET:
            if length < 32:
                self._short(position)
                return
            packet = _LITTLE_PACKET if self._little else _BIG_PACKET
            interface, high, low, captured, original = packet.unpack_from(data, position + 8)
            if kind == OLD_PACKET:
                shorts = _LITTLE_SHORTS if self._little else _BIG_SHORTS
                interface = shorts.unpack_from(data, position + 8)[0]
            start: i64 = position + 28
            self._packet(
                interface, (high << 32) | low, True, captured, original, data, position, start, end, packets
            )
        elif kind == SIMPLE_PACKET:
            if length < 16:
                self._short(position)
                return
            original = (_LITTLE_WORD if self._little else _BIG_WORD).unpack_from(data, position + 8)[0]
            start = position + 12
            captured = min(original, int(end - start))
            if self._interfaces and 0 < self._interfaces[0][3] < captured:
                captured = self._interfaces[0][3]
            self._packet(0, 0, False, captured, original, data, position, start, end, packets)
        elif kind == INTERFACE:
            if length < 20:
                self._short(position)
                return
            self._interface(data, position, end)
        elif kind == SECTION:
            self._section = True
            self._interfaces = []
            self._unknown_interface = False

    def _packet(
        self,
        interface: i64,
        ticks: int,
        timed: bool,
        captured: i64,
        original: i64,
        data: bytes,
        position: i64,
        start: i64,
        end: i64,
        packets: list[Packet],
    ) -> None:
        if interface >= len(self._interfaces):
            if not self._unknown_interface:
                self._unknown_interface = True
                self.note(
                    "unknown-interface",
                    self.position + position,
                    f"no description of interface {interface}",
                )
            return
        if captured > end - start:
            self.note(
                "bad-length",
                self.position + position,
                f"the packet claims {captured} bytes, its block has {end - start}",
            )
            captured = end - start
        entry = self._interfaces[interface]
        time: int = 0
        if timed:
            time = ticks if entry[1] == 6 and entry[2] == 0 else microseconds(ticks, entry[1], entry[2])
            if time > TIME_MAXIMUM:
                time = TIME_MAXIMUM
        self.number += 1
        packet = Packet(
            self.number,
            time,
            entry[0],
            interface,
            data[start : start + captured],
            original,
            self.position + position,
        )
        if len(self._interfaces) > 1 and timed:
            packet.repeated = self._seen.repeats(packet)
        packets.append(packet)

    def _interface(self, data: bytes, position: i64, end: i64) -> None:
        if len(self._interfaces) >= INTERFACE_LIMIT:
            self.note("limit", self.position + position, f"more than {INTERFACE_LIMIT} interfaces")
            return
        shorts = _LITTLE_SHORTS if self._little else _BIG_SHORTS
        link_type, _ = shorts.unpack_from(data, position + 8)
        snap = (_LITTLE_WORD if self._little else _BIG_WORD).unpack_from(data, position + 12)[0]
        resolution = 6
        offset = 0
        cursor: i64 = position + 16
        while cursor + 4 <= end:
            code, length = shorts.unpack_from(data, cursor)
            cursor += 4
            if code == 0 or cursor + length > end:
                break
            if code == OPTION_TSRESOL and length == 1:
                resolution = data[cursor]
            elif code == OPTION_TSOFFSET and length == 8:
                value = data[cursor : cursor + 8]
                offset = int.from_bytes(value, "little" if self._little else "big", signed=True)
            cursor += (length + 3) & ~3
        self._interfaces.append((link_type, resolution, offset, snap if snap <= SNAP_LIMIT else 0))

    def _short(self, position: i64) -> None:
        self.note("bad-length", self.position + position, "the block is too short for its type")

    def _search(self, data: bytes, position: i64, final: bool) -> i64:
        """Look for a whole block after damage: its position, or where to look again."""
        size: i64 = len(data)
        self._need = 12
        if self.position + position == self.damage:
            position += 1
        while True:
            found = _BLOCK_START.search(data, position)
            if found is None:
                return size if final else max(position, size - 3)
            position = found.start()
            if position + 12 > size:
                if final:
                    return size
                return position
            little = self._little
            if data[position] == 0x0A and data[position + 1] == 0x0D:
                little = _LITTLE_WORD.unpack_from(data, position + 8)[0] == BYTE_ORDER
                fits = little or _BIG_WORD.unpack_from(data, position + 8)[0] == BYTE_ORDER
            else:
                fits = self._section and (data[position] != 0) == little
            if fits:
                word = _LITTLE_WORD if little else _BIG_WORD
                length: i64 = word.unpack_from(data, position + 4)[0]
                if length < 16 or length > BLOCK_LIMIT or length % 4:
                    fits = False
                elif position + length > size:
                    if not final:
                        self._need = length
                        return position
                    fits = False
                else:
                    fits = word.unpack_from(data, position + length - 4)[0] == length
            if fits:
                return self.find(position)
            position += 1
