"""The evidence in a row of plain numbers and dates: values of several sizes, each told by its opcode.

Arrays of samples, pixels and counters read as such rows too (background.py), so what counts is the
evidence against the one of them that explains the row best. A row whose values all have one size, or sizes in
a fixed order, is such an array byte for byte, and shows nothing.
"""

import math
from itertools import pairwise
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.background import CHANGE
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.tape import Tape

MOST: Final = 32.0  # bits, however long the row is
GOES_ON: Final = 16.0  # bits of a count that goes on in another size: two known bytes or more
ORDER: Final = 8  # sizes before a value, which foretell its size where they are in a fixed order
_ACTIONS: Final[dict[int, frozenset[int]]] = {
    t.INT: frozenset((d.INT_1, d.INT_2, d.INT_3, d.INT_4)),
    t.LONG: frozenset((d.LONG_1, d.LONG_2, d.LONG_3, d.LONG_4, d.LONG_8)),
    t.DATE: frozenset((d.DATE_8, d.DATE_4)),
}


def row_bits(dialect: int, tape: Tape) -> float:
    """Bits of plain values, if they are numbers and dates in usual forms; else 0."""
    actions: set[int] = set()
    places = []
    numbers = []
    index: i64 = 2 * t.WIDTH
    last = index
    while index < tape.size():
        kind = tape.kind(index)
        if kind not in _ACTIONS or tape.head(index) >> t.FORM_SHIFT & t.FORM_MASK:
            return 0.0
        actions |= _ACTIONS[kind]
        places.append(tape.start(index))
        numbers.append(tape.number(index))
        last = index
        index = tape.following(index)
    places.append(tape.end(last))
    table = d.TABLES[dialect]
    opcodes = bytes([byte for byte in range(256) if table[byte] in actions])
    # any bytes: each opcode is one of few
    by_chance = len(numbers) * math.log2(256 / len(opcodes))
    # bytes alike (pixels): only after an opcode is there any other byte
    data = tape.buffer.data[places[0] : places[-1]]
    free = len(data) - len(numbers)
    others = len(data.translate(None, opcodes))
    alike = others * math.log2(len(data) / free) if free else 0.0
    sizes = [after - start for start, after in pairwise(places)]
    return min(by_chance / 2.0, alike / 2.0, _changes(sizes, numbers), MOST)


def _changes(sizes: list[int], numbers: list[int]) -> float:
    """Bits of sizes that those before them do not foretell."""
    bits = 0.0
    foretold: dict[tuple[int, ...], int] = {}
    for index in range(ORDER, len(sizes)):
        size = sizes[index]
        before = tuple(sizes[index - ORDER : index])
        known = foretold.get(before, size)
        foretold[before] = size
        step = numbers[index - 1] - numbers[index - 2]
        if size != before[-1] and step and numbers[index] - numbers[index - 1] == step:
            bits += GOES_ON
        elif known != size:
            bits += CHANGE
    return bits
