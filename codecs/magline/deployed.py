"""The deployed 12-byte head: what proves one, and where a frame ends whose length was cut to 16 bits."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.magline.fields import u16_at, u32_at

CUT: Final = 1 << 16  # bytes that a length lacks, or a multiple, if its writer kept 16 bits of it
MOST_CUTS: Final = 15  # multiples that are tried


def head_at(data: bytes, at: i64) -> bool:
    """Whether a whole head is at a position: magic, version, command and length fit."""
    if data[at] != v.MAGIC or (data[at + 1] != v.GO_VERSION and data[at + 1] != v.C_VERSION):
        return False
    return length_fits(u16_at(data, at + 2, True), u32_at(data, at + 8, True))


def length_fits(cmd: i64, length: i64) -> bool:
    """Whether a body of a known command can have that length."""
    number = int(cmd)
    layout = v.LAYOUTS.get(number)
    if layout is not None:
        return length == layout.size or (number == v.OLD_SYN and length == 0)
    if number == v.KNOT_CONN_RSP:
        return length == 0
    return number in v.DEPLOYED_COMMANDS and length <= v.MAX_FRAME


def end_of_cut(data: bytes, at: i64) -> i64:
    """Where a frame that states `at` as its end really ends, as a head or the end of the data there proves.

    -1 if there is no such position.
    """
    end: i64 = len(data)
    for _ in range(MOST_CUTS):
        at += CUT
        if at == end or (at + v.DEPLOYED_SIZE <= end and head_at(data, at)):
            return at
    return -1
