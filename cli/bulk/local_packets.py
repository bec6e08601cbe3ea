"""Packets in files of one machine, instead of in the rows that Spark moves.

There are two ways for the packets of a row from the task that reads them to the task that decodes them:

- In the row itself (`data` is the bundle). It works on every master, and costs what Spark takes for each byte
  that it shuffles: from Python to the JVM through Arrow, sorted, written to a shuffle file, read, and back to
  Python through Arrow.
- In a file, here: the reading task writes one file per range, the row holds only where its packets are
  (24 bytes), and the decoding task reads them there. The bytes are written and read once. This needs a disk
  that all tasks reach, so it is used for local masters only.

Both stay because a cluster needs the first and one machine is faster with the second: 100 MB of captures on
two busy cores took 14 to 21 s with files and 16 to 34 s with rows, the files faster in every pair of runs.
The choice is made in one place, `shared_folder`; readers and decoders see it as a folder's path, "" for the
first way.
"""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPEN_FILES = 64  # a decoding task has at most this many files open

_LOCATION = struct.Struct(">QQQ")  # the range's place; offset and bytes in its file


@contextmanager
def shared_folder(spark: SparkSession) -> Iterator[str]:
    """A folder that all tasks of a session reach, or "" if they may run on other machines.

    It is among the files that Spark itself has on the disk, which the JVM removes however the driver ends.
    """
    from pyspark import SparkFiles

    from wirelens.cli.bulk.progress import is_remote

    if is_remote(spark) or (spark.sparkContext.master or "").partition("[")[0] != "local":
        yield ""
        return
    parent = SparkFiles.getRootDirectory()
    with TemporaryDirectory(prefix="wirelens-", dir=parent, ignore_cleanup_errors=True) as folder:
        yield folder


class PacketWriter:
    """Writes the packets of the range at `place` to a file in the folder."""

    def __init__(self, folder: str, place: int) -> None:
        self._place = place
        self._path = _path(folder, place)
        self._draft = f"{self._path}.{uuid.uuid4().hex[:8]}.draft"  # two tries of one task may run at once
        self._file = open(self._draft, "wb")  # noqa: SIM115
        self._position = 0

    def put(self, data: bytes) -> bytes:
        """Write packets; their location, which the row holds instead of them."""
        location = _LOCATION.pack(self._place, self._position, len(data))
        self._file.write(data)
        self._position += len(data)
        return location

    def close(self) -> None:
        """Make the complete file visible to the decoding tasks."""
        self._file.close()
        os.replace(self._draft, self._path)


class PacketFiles:
    """Reads what PacketWriters wrote in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._open: dict[int, BinaryIO] = {}

    def get(self, location: bytes) -> bytes:
        """The packets at a location that `PacketWriter.put` gave. Raises OSError."""
        place, offset, size = _LOCATION.unpack(location)
        file = self._open.get(place)
        if file is None:
            if len(self._open) == OPEN_FILES:
                self._open.pop(next(iter(self._open))).close()
            file = self._open[place] = open(_path(self._folder, place), "rb", buffering=0)  # noqa: SIM115
        file.seek(offset)
        data = file.read(size)
        if len(data) != size:
            raise OSError(f"{file.name}: fewer than {size} bytes at {offset}")
        return data

    def close(self) -> None:
        """Close all files."""
        for file in self._open.values():
            file.close()
        self._open = {}


def _path(folder: str, place: int) -> str:
    return os.path.join(folder, f"{place:012d}")
