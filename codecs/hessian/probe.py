"""How strongly bytes speak for a dialect of Hessian."""

from mypy_extensions import i64
from wirelens.codecs.codec import NO_EVIDENCE, Evidence


def evidence(dialect: i64, data: bytes, other: bytes = b"") -> Evidence:
    """See Codec.probe; `dialect` is one of dialects.py."""
    return NO_EVIDENCE
