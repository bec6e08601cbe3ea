"""The packets of rows, beside Spark: where all tasks share a disk, the rows only say where their packets lie.

A reading task writes a file for each of its ranges; a decoding task reads what its rows point at.
"""

import os
import struct
import uuid
from typing import BinaryIO

OPEN_FILES = 64
"""So many files a decoding task has open at most."""

_WHERE = struct.Struct(">QQQ")  # the range's place; offset and bytes in its file


class PacketWriter:
    """Writes the packets of the range at `place` to a file in the folder."""

    def __init__(self, folder: str, place: int) -> None:
        self._place = place
        self._path = _path(folder, place)
        self._draft = f"{self._path}.{uuid.uuid4().hex[:8]}.draft"  # two tries of one task may be at it
        self._file = open(self._draft, "wb")  # noqa: SIM115
        self._position = 0

    def put(self, data: bytes) -> bytes:
        """Write packets; what a row says instead of them."""
        where = _WHERE.pack(self._place, self._position, len(data))
        self._file.write(data)
        self._position += len(data)
        return where

    def close(self) -> None:
        """All is written: now the file is there for others."""
        self._file.close()
        os.replace(self._draft, self._path)


class PacketFiles:
    """Reads what PacketWriters wrote in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._open: dict[int, BinaryIO] = {}

    def get(self, where: bytes) -> bytes:
        """The packets that `PacketWriter.put` gave `where` for. Raises OSError."""
        place, offset, size = _WHERE.unpack(where)
        file = self._open.get(place)
        if file is None:
            if len(self._open) == OPEN_FILES:
                self._open.pop(next(iter(self._open))).close()
            file = self._open[place] = open(_path(self._folder, place), "rb", buffering=0)  # noqa: SIM115
        file.seek(offset)
        data = file.read(size)
        if len(data) != size:
            raise OSError(f"{file.name}: {size} bytes at {offset} are not there")
        return data

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open = {}


def _path(folder: str, place: int) -> str:
    return os.path.join(folder, f"{place:012d}")
