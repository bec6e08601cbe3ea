"""The words of a tape as the interpreter reads and writes them faster: a list, while the message is short.

Decoding takes a sixth less time by it. A list takes some four times the memory of native numbers.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from librt.vecs import extend, vec
from mypy_extensions import i64

LISTED: Final = 1 << 11  # words; more of them are native numbers

# as in tape.py
_KIND_MASK: Final = 0xFF
_STRING16: Final = 35
_SHORT: Final = 1 << 14
_NEXT_SHIFT: Final = 26
_BOTH: Final = 1 << 32 | 1  # the two halves of a span

_BITS: Final = 64  # of a word


def doubled(words: Any) -> Any:
    """Words and as many after them."""
    listed = isinstance(words, list) and len(words) < LISTED
    return words + words if listed else extend(vec[i64](words), words)


class _Nodes:
    """The words of a subtree, each relative, as the digits of one large number, with 64 bits for each.

    The words at another place are a sum: of this number, the node's index times `by_index`, and its position
    times `by_position`. No digit of it overflows, as long as no NUMBER is negative.
    """

    def __init__(self, words: list[int], start: int, node: int) -> None:
        self.layout = Struct(f"<{len(words)}q")
        self.words = self.by_index = self.by_position = 0
        place = 0
        while place < len(words):
            head, span = words[place : place + 2]
            shift = place * _BITS
            self.words |= (head | span << _BITS) << shift
            if head & _SHORT:
                self.by_position |= (_BOTH if head & _KIND_MASK == _STRING16 else 1) << shift + _BITS
                place += 2
            else:
                self.words |= words[place + 2] << shift + 2 * _BITS
                self.by_index |= 1 << _NEXT_SHIFT << shift
                self.by_position |= _BOTH << shift + _BITS
                place += 3
        self.words -= node * self.by_index + start * self.by_position


def _copied(tape: Any, node: int) -> _Nodes:
    """See Tape.copied."""
    return _Nodes(list(tape.words[node : tape.next(node)]), tape.start(node), node)


def _paste(tape: Any, nodes: _Nodes, position: int) -> int:
    """See Tape.paste: one sum takes an eighth of the time of a loop over the words."""
    index: int = tape.count
    at = index
    layout = nodes.layout
    added = nodes.words + index * nodes.by_index + position * nodes.by_position
    pasted = layout.unpack(added.to_bytes(layout.size, "little"))
    end = at + len(pasted)
    words = tape.words
    while end > len(words):
        words = tape.more(position)
    if isinstance(words, list):
        words[at:end] = pasted
    else:
        for word in pasted:
            words[at] = word
            at += 1
    tape.count = end
    return index


METHODS: Final[dict[str, Callable[..., Any]]] = {"copied": _copied, "paste": _paste}
