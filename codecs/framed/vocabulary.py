"""The parts of a frame: its length, and what every message of Hessian has (message_forms.py).

There is no `$wire` but that of Hessian's own messages and values: the length is computed.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.node import field

LENGTH_SIZE: Final = 4  # bytes
MAX_CONTENT: Final = 1 << 28  # bytes; XXL-RPC allows less
LENGTH: Final[i64] = t.head(t.LENGTH, field("length")) | t.HIDDEN
# The dialects in the order in which they are tried: a frame does not say which it has.
DIALECTS: Final[tuple[int, ...]] = (d.FINAL, d.DRAFT, d.V1)
