"""Bytes as text: hex digits, a dump, a C array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.formatters import layout as lay
from wirelens.formatters.tree import hex_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from wirelens.formatters.layout import Line

ROW: Final = 16  # bytes
C_ROW: Final = 12  # bytes


def rows(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in rows of `size`, the last one shorter."""
    rest = b""
    for chunk in chunks:
        data = rest + chunk if rest else chunk
        whole = len(data) - len(data) % size
        for at in range(0, whole, size):
            yield data[at : at + size]
        rest = data[whole:]
    if rest:
        yield rest


def dump(chunks: Iterable[bytes]) -> Iterator[Line]:
    """Lines of offset, hex and text."""
    at = 0
    for row in rows(chunks, ROW):
        yield [(lay.DIM, f"{at:08x}  "), *hex_row(row, ROW)]
        at += len(row)


def hex_digits(chunks: Iterable[bytes]) -> Iterator[str]:
    """Hex digits on one line."""
    end = ""
    for chunk in chunks:
        yield chunk.hex()
        end = "\n"
    yield end


def c_array(chunks: Iterable[bytes]) -> Iterator[str]:
    """A C array and its length."""
    yield "unsigned char data[] = {\n"
    size = 0
    for row in rows(chunks, C_ROW):
        yield "    " + ", ".join([f"0x{byte:02x}" for byte in row]) + ",\n"
        size += len(row)
    yield f"}};\nunsigned int data_length = {size};\n"
