"""Deflation: the method of envelopes whose content is a message compressed with zlib."""

from typing import Final

METHOD: Final = b"com.caucho.hessian.io.Deflation"
MAX_INFLATED: Final = 1 << 26  # bytes that the content of an envelope may expand to


def inflate(content: bytes) -> bytes | None:
    """The content of zlib data; None if the data is not whole, or the content longer than MAX_INFLATED."""
    import zlib  # few messages are compressed

    try:
        inflater = zlib.decompressobj()
        inflated = inflater.decompress(content, MAX_INFLATED)
        if inflater.eof and not inflater.unused_data:
            return inflated
    except zlib.error:
        pass
    return None


def deflate(content: bytes) -> bytes:
    """zlib data as the writers of envelopes make it."""
    import zlib

    return zlib.compress(content)
