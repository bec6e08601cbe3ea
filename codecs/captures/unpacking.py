"""What the unpackers of compressed files share."""

from collections.abc import Iterator
from typing import Final

from wirelens.codecs.codes import Note

NOTES_KEPT: Final = 100


class Unpacking:
    """Chunks of a compressed file in, portions of its content out.

    `compression` is a key of COMPRESSIONS. `is_packed`: False once the bytes turn out not to be compressed;
    they are given out as they are then. `notes`: damage, with offsets in the content; `damages` counts it
    all. `unpacked`: bytes of content so far.
    """

    def __init__(self, compression: str) -> None:
        self.compression: Final = compression
        self.is_packed: bool = True
        self.notes: list[Note] = []
        self.damages: int = 0
        self.unpacked: int = 0

    def steps(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk unpacks to, in portions."""
        raise NotImplementedError

    def close(self) -> bytes:
        """The end of the file: bytes that are left because it is not compressed, else b""."""
        raise NotImplementedError

    def note(self, code: str, text: str) -> None:
        """Count damage at the end of the content so far, and keep a note on it."""
        self.damages += 1
        if len(self.notes) < NOTES_KEPT:
            self.notes.append(Note(code, self.unpacked, text))
