"""Compressed files unpacked in chunks: gzip, xz, bzip2, and with an extra Zstandard and LZ4.

Sources: RFC 1952 (gzip), RFC 8878 (Zstandard); the .xz file format 1.2; LZ4's frame format 1.6.
"""

import importlib
from collections.abc import Iterator
from typing import Any, Final

from mypy_extensions import i64

from wirelens.codecs.captures.gzip import STEP, UNPROVEN, Unpacker
from wirelens.codecs.captures.magic import COMPRESSIONS
from wirelens.codecs.captures.unpacking import Unpacking

EXTRA: Final = "compression"  # the extra of this package with the modules that Python may lack
BLOCK: Final = 1 << 10  # bytes unpacked at a time, as an error loses what its call would have given
MEMORY: Final = 1 << 27  # bytes that unpacking xz may take; xz -9 needs half of it

# The modules that unpack a compression, the first one that is there.
_MODULES: Final[dict[str, tuple[str, ...]]] = {
    "xz": ("lzma",),
    "bz2": ("bz2",),
    "zstd": ("compression.zstd", "backports.zstd"),
    "lz4": ("lz4.frame",),
}


def unpacker(compression: str) -> Unpacking | None:
    """What unpacks a compression, a key of COMPRESSIONS; None if a module that it needs is missing."""
    if compression == "gzip":
        return Unpacker()
    for name in _MODULES[compression]:
        try:
            return StreamUnpacker(compression, importlib.import_module(name))
        except ImportError:
            continue
    return None


class StreamUnpacker(Unpacking):
    """Chunks of a file of xz, bzip2, Zstandard or LZ4 in, portions of its content out, as gzip's Unpacker.

    `module` has the decompressor, all of which have the methods of Python's bz2.BZ2Decompressor.
    """

    def __init__(self, compression: str, module: Any) -> None:
        super().__init__(compression)
        self._title: str = COMPRESSIONS[compression]
        self._module: Any = module
        self._decompressor: Any = None  # None between streams
        self._members: int = 0
        self._begun: bool = False  # whether the stream has given content
        self._fed: i64 = 0
        self._lost: bool = False  # in damage: what follows is not read
        self._unproven: list[bytes] | None = []  # the bytes so far, as long as they have given nothing
        self._unproven_size: i64 = 0

    def steps(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk unpacks to, in portions."""
        if not self.is_packed:
            self.unpacked += len(chunk)
            yield chunk
            return
        if self._unproven is not None:
            self._unproven.append(chunk)
            self._unproven_size += len(chunk)
        start: i64 = 0
        while start < len(chunk) and not self._lost:
            size: i64 = BLOCK - self._fed % BLOCK
            part = chunk[start : start + size]
            start += len(part)
            self._fed += len(part)
            yield from self._block(part)
        if self._unproven_size > UNPROVEN:
            self._unproven = None

    def close(self) -> bytes:
        """The end of the file, noted if it cuts a stream; all bytes, if they have given nothing so far."""
        if self.is_packed and not self._lost and self._decompressor is not None:
            self.note("truncated", f"the {self._title} data is cut off")
            if self._unproven is not None:
                self.is_packed = False
                return b"".join(self._unproven)
        return b""

    def _block(self, data: bytes) -> Iterator[bytes]:
        more = False  # whether the decompressor holds back content of bytes that it has taken
        while data or more:
            if self._decompressor is None:
                if self._members:
                    data = data.lstrip(b"\0")
                    if not data:
                        return
                self._decompressor = self._new()
                self._begun = False
            problem = ""
            content = b""
            try:
                content = self._decompressor.decompress(data, STEP)
            except Exception as error:  # each module has errors of its own
                problem = str(error) or type(error).__name__
            if problem:
                self._lost = True
                yield from self._damage(problem)
                return
            if content or self._decompressor.eof:
                self._begun = True
                self._unproven = None
            more = not self._decompressor.eof and not self._decompressor.needs_input
            data = b""
            if self._decompressor.eof:
                data = self._decompressor.unused_data or b""
                self._decompressor = None
                self._members += 1
            if content:
                self.unpacked += len(content)
                yield content

    def _new(self) -> Any:
        module = self._module
        if self.compression == "xz":
            return module.LZMADecompressor(format=module.FORMAT_XZ, memlimit=MEMORY)
        if self.compression == "bz2":
            return module.BZ2Decompressor()
        return module.ZstdDecompressor() if self.compression == "zstd" else module.LZ4FrameDecompressor()

    def _damage(self, problem: str) -> Iterator[bytes]:
        """Note an error; what only begins like this compression is given out as it is."""
        if self._unproven is not None:
            content = b"".join(self._unproven)
            self._unproven = None
            self.is_packed = False
            self.unpacked += len(content)
            yield content
        elif self._members and not self._begun:
            self.note("skipped-bytes", f"what follows the {self._title} data is not {self._title}")
        else:
            self.note("bad-value", f"the {self._title} data is damaged here ({problem}); the rest is lost")
