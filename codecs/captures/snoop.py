"""snoop files, as Solaris writes them. Source: RFC 1761."""

from struct import Struct
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.captures.pcap import MILLION, RECORD_LIMIT, Packet, RecordReader, State

MAGIC: Final = b"snoop\0\0\0"
FILE_HEADER: Final = 16
RECORD_HEADER: Final = 24

LINK_TYPES: Final[dict[int, int]] = {0: 1, 2: 6, 4: 1, 8: 10, 26: 101}
"""snoop's datalink numbers that have a LINKTYPE_ number."""

_HEADER: Final = Struct(">II")
_RECORD: Final = Struct(">IIIIII")


class SnoopReader(RecordReader):
    """Reads a snoop file. Its records carry their own length; one that cannot be true ends the reading."""

    def __init__(self, state: State | None = None, position: int = 0) -> None:
        super().__init__()
        self.container = "snoop"
        self.position = position
        self._started: bool = False
        self._link_type: i64 = 0
        if state is not None:
            self._started = True
            self._link_type = state[1][0]
            self.number = state[1][1]

    def state(self) -> State:
        return ("snoop", (int(self._link_type), int(self.number)), ())

    def _read(self, data: bytes, packets: list[Packet], final: bool) -> i64:
        size: i64 = len(data)
        position: i64 = 0
        if self.searching:
            return size
        if not self._started:
            if size < FILE_HEADER:
                self._need = FILE_HEADER
                return 0
            _, datalink = _HEADER.unpack_from(data, 8)
            self._link_type = LINK_TYPES.get(datalink, -1 - datalink)
            self._started = True
            position = FILE_HEADER
        self._need = RECORD_HEADER
        while position + RECORD_HEADER <= size:
            original, captured, length, _, seconds, fraction = _RECORD.unpack_from(data, position)
            if length < RECORD_HEADER + captured or length > RECORD_LIMIT:
                self.searching = True
                self.note(
                    "bad-length",
                    self.position + position,
                    f"the record claims {length} bytes and cannot be true",
                )
                return size
            if position + length > size:
                self._need = length
                break
            self.number += 1
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
        return position
