"""The words of a tape as the interpreter reads and writes them faster: a list, while the message is short.

Decoding takes a sixth less time by it. A list takes some four times the memory of native numbers.
"""

from typing import Any, Final

from librt.vecs import extend, vec
from mypy_extensions import i64

LISTED: Final = 1 << 11  # words; more of them are native numbers


def doubled(words: Any) -> Any:
    """Words and as many after them."""
    listed = isinstance(words, list) and len(words) < LISTED
    return words + words if listed else extend(vec[i64](words), words)
