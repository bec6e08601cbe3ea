"""Temporary files: without a name, so that nothing is left of them however the process ends."""

from __future__ import annotations

import os
from io import BufferedRandom, FileIO
from tempfile import TemporaryFile, gettempdir
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, BinaryIO


class _File(FileIO):
    """A file whose errors name the folder that it is in."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"temporary file in {gettempdir()}") from None


def temporary_file() -> BinaryIO:
    """A new temporary file, which only this process can open."""
    with TemporaryFile(buffering=0) as file:
        return BufferedRandom(_File(os.dup(file.fileno()), "r+b"))
