"""Content codings: gzip and deflate, unpacked up to a limit and packed as Java does."""

import zlib
from typing import Final

from mypy_extensions import i64

MAX_UNPACKED: Final = 1 << 26  # bytes that a body may expand to
UNPACKED_FREE: Final = 1 << 20  # bytes that any body, or compressed file but a capture, may expand to,
UNPACKED_FACTOR: Final = 128  # and this many more for each of its bytes


class Unpacked:
    """What content expands to: all of it (`whole`), or as far as it is valid or (`over`) within the limit."""

    def __init__(self, content: bytes, whole: bool, over: bool) -> None:
        self.content: Final = content
        self.whole: Final = whole
        self.over: Final = over


def unpacked_limit(size: i64) -> i64:
    """The number of bytes that a body of `size` bytes may expand to."""
    return min(MAX_UNPACKED, UNPACKED_FREE + UNPACKED_FACTOR * size)


def unpack(content: bytes, coding: bytes, limit: i64) -> Unpacked:
    """Expand gzip or deflate content, the latter with zlib's header or without."""
    if coding == b"gzip":
        return _unpack(content, 31, limit)
    unpacked = _unpack(content, 15, limit)
    return unpacked if unpacked.content else _unpack(content, -15, limit)


def _unpack(content: bytes, window_bits: int, limit: i64) -> Unpacked:
    decompressor = zlib.decompressobj(window_bits)
    try:
        unpacked = decompressor.decompress(content, int(limit) + 1)
    except zlib.error:
        return Unpacked(b"", False, False)
    if len(unpacked) > limit:
        return Unpacked(unpacked[:limit], False, True)
    return Unpacked(unpacked, decompressor.eof and not decompressor.unused_data, False)


def pack(content: bytes, coding: bytes) -> bytes:
    """Compress content as Java's GZIPOutputStream and DeflaterOutputStream do."""
    if coding == b"deflate":
        return zlib.compress(content)
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = compressor.compress(content) + compressor.flush()
    trailer = zlib.crc32(content).to_bytes(4, "little") + (len(content) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"\x1f\x8b\x08\0\0\0\0\0\0\0" + packed + trailer
