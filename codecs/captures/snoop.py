"""snoop files, as Solaris writes them. Source: RFC 1761."""

import re
from struct import Struct
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.pcap import (
    MILLION,
    RECORD_LIMIT,
    RESYNC_RECORDS,
    RESYNC_SECONDS,
    Packet,
    RecordReader,
    State,
)

MAGIC: Final = b"snoop\0\0\0"
FILE_HEADER: Final = 16
RECORD_HEADER: Final = 24

LINK_TYPES: Final[dict[int, int]] = {0: 1, 2: 6, 4: 1, 8: 10, 26: 101}  # datalink number to LINKTYPE_

_HEADER: Final = Struct(">II")
_RECORD: Final = Struct(">IIIIII")
PADDING: Final = 64  # a record after damage has fewer bytes after its packet; 3 align it to 4 bytes

# three lengths, none above RECORD_LIMIT, and a part of a second below a million
_RECORD_START: Final = re.compile(
    rb"\x00[\x00-\x10]..\x00[\x00-\x10]..\x00[\x00-\x10].{10}\x00[\x00-\x0f]", re.DOTALL
)


class SnoopReader(RecordReader):
    """Reads a snoop file. Its records have a length of their own; an invalid one is a note.

    Reading resumes where records provably follow one another again.
    """

    def __init__(self, state: State | None = None, position: int = 0) -> None:
        super().__init__()
        self.container = "snoop"
        self.position = position
        self._started: bool = False
        self._link_type: i64 = 0
        self._seconds: i64 = -1
        if state is not None:
            self._started = True
            self._link_type = state[1][0]
            self.number = state[1][1]

    def state(self) -> State:
        """Everything that reading on needs, as plain values."""
        return ("snoop", (int(self._link_type), int(self.number)), ())

    def _read(self, data: bytes, packets: list[Packet], final: bool) -> i64:
        size: i64 = len(data)
        position: i64 = 0
        if not self._started:
            if size < FILE_HEADER:
                self._need = FILE_HEADER
                return 0
            _, datalink = _HEADER.unpack_from(data, 8)
            self._link_type = LINK_TYPES.get(datalink, -1 - datalink)
            self._started = True
            position = FILE_HEADER
        self._need = RECORD_HEADER
        while True:
            if self.searching:
                position = self._search(data, position, final)
                if self.searching:
                    return position
                self._need = RECORD_HEADER
            if position + RECORD_HEADER > size:
                return position
            original, captured, length, _, seconds, fraction = _RECORD.unpack_from(data, position)
            if length < RECORD_HEADER + captured or length > RECORD_LIMIT:
                self.lose(self.position + position, f"invalid record header: length {length}")
                continue
            if position + length > size:
                self._need = length
                return position
            self.number += 1
            self._seconds = seconds
            if fraction >= MILLION:
                fraction = int(self.whole_second(self.number, fraction, MILLION, self.position + position))
            start: i64 = position + RECORD_HEADER
            packets.append(
                Packet(
                    self.number,
                    seconds * MILLION + fraction,
                    self._link_type,
                    0,
                    data[start : start + captured],
                    original,
                    self.position + position,
                )
            )
            position += length

    def _search(self, data: bytes, position: i64, final: bool) -> i64:
        """Look for records after damage: the position of the first, or where to look again."""
        size: i64 = len(data)
        self._need = RECORD_HEADER
        if self.position + position == self.damage:
            position += 1
        while True:
            found = _RECORD_START.search(data, position)
            if found is None:
                return size if final else max(position, size - RECORD_HEADER + 1)
            position = found.start()
            cursor: i64 = position
            seen: i64 = 0
            seconds = self._seconds
            fits = True
            while seen < RESYNC_RECORDS and cursor + RECORD_HEADER <= size:
                original, captured, length, _, time, fraction = _RECORD.unpack_from(data, cursor)
                padding = length - RECORD_HEADER - captured
                fits = 0 < captured <= original <= RECORD_LIMIT and 0 <= padding < PADDING
                if fraction >= MILLION or (seconds >= 0 and abs(time - int(seconds)) > RESYNC_SECONDS):
                    fits = False
                if not fits:
                    break
                seconds = time
                cursor += length
                seen += 1
            if fits and seen < RESYNC_RECORDS:
                if not final:
                    self._need = max(cursor + RECORD_HEADER, size + 1) - position
                    return position
                fits = seen > 0 and cursor == size
            if fits:
                return self.find(position)
            position += 1
