"""pcap files, and what every reader of capture files shares: packets, buffering, notes.

Source: draft-ietf-opsawg-pcap (file header section 4, packet record section 5). The modified record
headers (Kuznetsov's a1b2cd34, the longer one of ss990915, Nokia's) are recognised by their records.
"""

import re
from typing import Final

from librt.strings import read_i32_be, read_i32_le
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.codes import Note

# The state of a reader at a record boundary: container, numbers, interfaces. Plain values, so it pickles.
State = tuple[str, tuple[int, ...], tuple[tuple[int, ...], ...]]

RECORD_LIMIT: Final = 1 << 20  # bytes of a record, unless the file's own snap length is larger
SNAP_LIMIT: Final = 1 << 24  # a longer snap length is ignored
NOTES_KEPT: Final = 1000  # at most this many notes are kept; further damage is only counted
RESYNC_RECORDS: Final = 3  # records in a row that must fit before reading resumes after damage
RESYNC_SECONDS: Final = 86_400  # records after damage are at most this far from the last good one

FILE_SHIFT: Final = 40  # bits of a packet's number; in those above is its file's, where there are several
NUMBER_MASK: Final = (1 << FILE_SHIFT) - 1

MICROSECONDS: Final = 0xA1B2C3D4
NANOSECONDS: Final = 0xA1B23C4D
MODIFIED: Final = 0xA1B2CD34
IXIA_HARDWARE: Final = 0x1C0001AC
IXIA_SOFTWARE: Final = 0x1C0001AB

USUAL_ETHERTYPES: Final = (
    b"\x08\0",
    b"\x86\xdd",
    b"\x08\x06",
    b"\x81\0",
    b"\x88\xa8",
    b"\x88\x47",
    b"\x88\x64",
)

FILE_HEADER: Final = 24
BILLION: Final = 1_000_000_000
MILLION: Final = 1_000_000

# Two lengths from 1 to 2^18, after a time; compiled only to search after damage.
_LITTLE_LENGTHS: Final = rb".{8}(?!\x00{4})..[\x00-\x03]\x00(?!\x00{4})..[\x00-\x03]\x00"
_BIG_LENGTHS: Final = rb".{8}(?!\x00{4})\x00[\x00-\x03]..(?!\x00{4})\x00[\x00-\x03]"


@mypyc_attr(acyclic=True)
class Packet:
    """One captured frame.

    `number` counts from 1 over the capture. `time_us` is in microseconds since 1970 UTC (0 if the file has
    none), `link_type` the LINKTYPE_ number, `interface` its index in the section (0 in pcap). `data` has the
    bytes captured; `original_length` is the frame's length on the wire, as the file claims. `file_offset` is
    that of the record's header in the unpacked file. `repeated`: whether it was already seen on another
    interface.
    """

    def __init__(
        self,
        number: i64,
        time_us: i64,
        link_type: i64,
        interface: i64,
        data: bytes,
        original_length: i64,
        file_offset: i64,
    ) -> None:
        self.number: i64 = number
        self.time_us: Final = time_us
        self.link_type: Final = link_type
        self.interface: Final = interface
        self.data: Final = data
        self.original_length: Final = original_length
        self.file_offset: Final = file_offset
        self.repeated: bool = False


class RecordReader:
    """What the readers of one container share: whole records are taken from chunks of any size.

    A subclass gives `_read`, which takes what it can from the start of `data`. Chunks are joined only when
    they suffice for a step, so that tiny ones cost no quadratic copying. At most one record (three while
    searching after damage) waits.
    """

    def __init__(self) -> None:
        self.container: str = ""
        self.notes: list[Note] = []
        self.damages: int = 0
        self.number: i64 = 0
        self.position: i64 = 0
        self.searching: bool = False
        self.damage: i64 = 0  # where the damage starts after which a record is searched
        self._data: bytes = b""
        self._parked: list[bytes] = []
        self._parked_size: i64 = 0
        self._need: i64 = 1

    def feed(self, chunk: bytes) -> list[Packet]:
        """The packets that `chunk` completes."""
        packets: list[Packet] = []
        have: i64 = len(self._data) + len(chunk) + self._parked_size
        if have < self._need:
            self._parked.append(chunk)
            self._parked_size += len(chunk)
            return packets
        self._advance(self._join(chunk), packets, False)
        return packets

    def close(self) -> list[Packet]:
        """The packets left at the end of the input; what remains of a cut record becomes a note."""
        packets: list[Packet] = []
        self._advance(self._join(b""), packets, True)
        rest: i64 = len(self._data)
        if rest and not self.searching:
            self.note("truncated", self.position, f"incomplete record: the last {rest} bytes")
        self.position += rest
        self._data = b""
        return packets

    def state(self) -> State:
        """What another reader needs to go on at `position`."""
        return (self.container, (), ())

    def note(self, code: str, offset: i64, text: str) -> None:
        """Count a damage, and keep a note on it while there is room."""
        self.damages += 1
        if len(self.notes) < NOTES_KEPT:
            self.notes.append(Note(code, offset, text))

    def lose(self, offset: i64, text: str) -> None:
        """Note damage at an offset, after which the next record has to be searched."""
        self.searching = True
        self.damage = offset
        self.note("bad-length", offset, text)

    def find(self, position: i64) -> i64:
        """Note that the search has ended, at a position of the data; returns that position."""
        self.searching = False
        skipped = self.position + position - self.damage
        self.note("skipped-bytes", self.damage, f"{skipped} bytes skipped")
        return position

    def whole_second(self, number: i64, fraction: i64, second: i64, offset: i64) -> i64:
        """Note a fraction of a second that is too large; a whole second, which takes its place."""
        unit = "ns" if second == BILLION else "µs"
        text = f"packet {number}: invalid time: {fraction} {unit} after the second; taken as one second"
        self.note("bad-value", offset, text)
        return second

    def _join(self, chunk: bytes) -> bytes:
        if self._parked:
            parts = [self._data, *self._parked, chunk]
            self._parked = []
            self._parked_size = 0
            return b"".join(parts)
        if self._data:
            return self._data + chunk
        return chunk

    def _advance(self, data: bytes, packets: list[Packet], final: bool) -> None:
        used = self._read(data, packets, final)
        self._data = data[used:] if used else data
        self.position += used

    def _read(self, data: bytes, packets: list[Packet], final: bool) -> i64:
        return 0


class PcapReader(RecordReader):
    """Reads a pcap file, little- or big-endian, in micro- or nanoseconds, with any known record header.

    Concatenated files are read on. An invalid record header is a note, and reading resumes where records
    provably follow one another again.
    """

    def __init__(self, state: State | None = None, position: int = 0) -> None:
        super().__init__()
        self.container = "pcap"
        self.position = position
        self._started: bool = False
        self._little: bool = True
        self._magic: i64 = 0
        self._nanoseconds: bool = False
        self._minor: i64 = 4
        self._header: i64 = 16
        self._link_type: i64 = 0
        self._limit: i64 = RECORD_LIMIT
        self._settled: bool = False
        self._seconds: i64 = -1
        if state is not None:
            numbers = state[1]
            self._started = True
            self._little = numbers[0] != 0
            self._magic = numbers[1]
            self._nanoseconds = numbers[2] != 0
            self._minor = numbers[3]
            self._header = numbers[4]
            self._link_type = numbers[5]
            self._limit = numbers[6]
            self._settled = numbers[7] != 0
            self._seconds = numbers[8]
            self.number = numbers[9]

    def state(self) -> State:
        """Everything that reading on needs, as plain values."""
        numbers = (
            int(self._little),
            int(self._magic),
            int(self._nanoseconds),
            int(self._minor),
            int(self._header),
            int(self._link_type),
            int(self._limit),
            int(self._settled),
            int(self._seconds),
            int(self.number),
        )
        return ("pcap", numbers, ())

    def _read(self, data: bytes, packets: list[Packet], final: bool) -> i64:
        position: i64 = 0
        if not self._started:
            position = self._read_header(data, 0)
            if position == 0:
                return 0
        while True:
            if self.searching:
                position = self._search(data, position, final)
                if self.searching:
                    return position
            if not self._settled:
                if not self._settle(data, position, final):
                    return position
                self._settled = True
            position = self._records(data, position, packets)
            if self.searching:
                continue
            if self._started:
                return position
            following = self._read_header(data, position)
            if following == position:
                return position
            position = following

    def _records(self, data: bytes, position: i64, packets: list[Packet]) -> i64:
        little = self._little
        size: i64 = len(data)
        header: i64 = self._header
        limit: i64 = self._limit
        base: i64 = self.position
        number: i64 = self.number
        link_type: i64 = self._link_type
        magic: i64 = self._magic
        nanoseconds = self._nanoseconds
        second: i64 = BILLION if nanoseconds else MILLION
        minor: i64 = self._minor
        modified = header >= 24
        interface: i64 = 0
        seconds: i64 = self._seconds
        self._need = header
        while position + header <= size:
            first = _word(data, position, little)
            fraction = _word(data, position + 4, little)
            captured = _word(data, position + 8, little)
            original = _word(data, position + 12, little)
            if _swapped(minor, captured, original):
                captured, original = original, captured
            if first == magic and fraction & 0xFF in (2, 4) and fraction >> 16 in (2, 4):
                # a version where the time's fraction should be: another file begins here
                self._started = False
                break
            if captured > limit or (fraction >= BILLION and not self._near(data, position, seconds)):
                self.lose(base + position, f"invalid record header: length {captured}")
                break
            if captured == 0 and first == 0 and fraction == 0 and original == 0:
                self.lose(base + position, "invalid record header: all zeros")
                break
            end: i64 = position + header + captured
            if end > size:
                self._need = end - position
                break
            seconds = first
            number += 1
            if fraction >= second:
                fraction = self.whole_second(number, fraction, second, base + position)
            if modified:
                interface = data[position + 16] if little else data[position + 19]
            packets.append(
                Packet(
                    number,
                    first * MILLION + (fraction // 1000 if nanoseconds else fraction),
                    link_type,
                    interface,
                    data[position + header : end],
                    original,
                    base + position,
                )
            )
            position = end
        self.number = number
        self._seconds = seconds
        return position

    def _read_header(self, data: bytes, position: i64) -> i64:
        """The position after the file header; the same one if more bytes are needed."""
        if len(data) - position < FILE_HEADER:
            self._need = FILE_HEADER
            return position
        self._little = True
        magic = _word(data, position, True)
        minor = _word(data, position + 4, True) >> 16
        if magic not in (MICROSECONDS, NANOSECONDS, MODIFIED, IXIA_HARDWARE, IXIA_SOFTWARE):
            self._little = False
            magic = _word(data, position, False)
            minor = _word(data, position + 4, False) & 0xFFFF
        ixia = magic in (IXIA_HARDWARE, IXIA_SOFTWARE)
        length: i64 = FILE_HEADER + 4 if ixia else FILE_HEADER
        if len(data) - position < length:
            self._need = length
            return position
        snap = _word(data, position + 16, self._little)
        self._magic = magic
        self._minor = minor
        self._nanoseconds = ixia or magic == NANOSECONDS
        self._link_type = _word(data, position + 20, self._little) & 0xFFFF
        self._limit = snap if RECORD_LIMIT < snap <= SNAP_LIMIT else RECORD_LIMIT
        self._header = 24 if magic == MODIFIED else 16
        self._settled = False
        self._started = True
        return position + length

    def _settle(self, data: bytes, position: i64, final: bool) -> bool:
        """Find the size of the record header from the first records; False: more bytes are needed.

        Only Ethernet files with the usual magic were ever written with Nokia's longer header, so a first
        frame with a usual EtherType settles it and a live capture's first packet need not wait.
        """
        usual = self._header
        if self._magic == MICROSECONDS:
            if self._link_type != 1:
                return True
            if len(data) - position >= 16 and self._plausible(data, position) >= 14:
                if len(data) - position < 30:
                    self._need = 30
                    return final
                if data[position + 28 : position + 30] in USUAL_ETHERTYPES:
                    return True
        elif self._magic != MODIFIED:
            return True
        found = self._follow(data, position, usual, 2)
        if found == 0 and not final:
            return False
        others: tuple[int, ...] = (28, 16) if self._magic == MODIFIED else (20, 24, 28)
        if found == 0 and len(data) - position >= usual:
            # a single record: the size that ends with the file
            rest: i64 = len(data) - position - self._plausible(data, position)
            for size in others:
                if rest == size:
                    self._header = size
        elif found < 0:
            for size in others:
                found = self._follow(data, position, size, 3)
                if found == 0 and not final:
                    return False
                if found >= 0:
                    self._header = size
                    break
        return True

    def _follow(self, data: bytes, position: i64, header: i64, count: i64) -> i64:
        """1: `count` record headers follow one another, -1: one is invalid, 0: too few bytes."""
        seen: i64 = 0
        size: i64 = len(data)
        start: i64 = position
        while position + header <= size:
            length = self._plausible(data, position)
            if length < 0:
                return -1
            position += header + length
            seen += 1
            if seen == count:
                return 1
        self._need = position + header - start
        return 0

    def _plausible(self, data: bytes, position: i64) -> i64:
        """The captured length of the record at position, -1 if its header is invalid."""
        little = self._little
        fraction = _word(data, position + 4, little)
        captured = _word(data, position + 8, little)
        original = _word(data, position + 12, little)
        if _swapped(self._minor, captured, original):
            captured = original
        if captured > self._limit or fraction >= (BILLION if self._nanoseconds else MILLION):
            return -1
        if captured == 0 and _word(data, position, little) == 0:
            return -1
        return captured

    def _search(self, data: bytes, position: i64, final: bool) -> i64:
        """Look for records after damage: the position of the first, or where to look again."""
        size: i64 = len(data)
        self._need = 16
        # the upper half of the time's seconds stays the same for 18 hours
        upper = (int(self._seconds) >> 16) & 0xFFFF
        known = self._seconds >= 0 and upper != 0  # zeros are anywhere
        pattern = upper.to_bytes(2, "little" if self._little else "big")
        shift: i64 = 2 if self._little else 0
        if self._little:
            lengths = re.compile(_LITTLE_LENGTHS, re.DOTALL)
        else:
            lengths = re.compile(_BIG_LENGTHS, re.DOTALL)
        if self.position + position == self.damage:
            position += 1
        header = self._header
        while True:
            found: i64 = -1
            if known:
                found = data.find(pattern, position + shift)
            else:
                place = lengths.search(data, position)
                found = -1 if place is None else place.start() + shift
            if found < 0:
                if final:
                    return size
                return max(position, size - (3 if known else 15))
            position = found - shift
            cursor: i64 = position
            seen: i64 = 0
            fits = True
            seconds: i64 = self._seconds
            while seen < RESYNC_RECORDS and cursor + header <= size:
                length = self._plausible(data, cursor)
                if length <= 0 or not self._near(data, cursor, seconds):
                    fits = False
                    break
                seconds = _word(data, cursor, self._little)
                cursor += header + length
                seen += 1
            if fits and seen < RESYNC_RECORDS:
                if not final:
                    self._need = max(cursor + header, size + 1) - position
                    return position
                fits = seen > 0 and cursor == size
            if fits:
                return self.find(position)
            position += 1

    def _near(self, data: bytes, position: i64, seconds: i64) -> bool:
        """True where a record is near others in time (below 0: none is known) and not above its packet."""
        little = self._little
        near = seconds < 0 or abs(int(_word(data, position, little)) - int(seconds)) <= RESYNC_SECONDS
        return near and _word(data, position + 8, little) <= _word(data, position + 12, little)


def _word(data: bytes, at: i64, little: bool) -> i64:
    """Four bytes as an unsigned number."""
    return i64(read_i32_le(data, at) if little else read_i32_be(data, at)) & 0xFFFFFFFF


def _swapped(minor: i64, captured: i64, original: i64) -> bool:
    """Whether the two lengths of a record stand the other way round, as in versions before 2.4."""
    return minor < 4 and (minor < 3 or captured > original)
