"""How strongly bytes speak for a dialect of Hessian."""

from wirelens.codecs.codec import NO_EVIDENCE, Evidence


def probe(dialect: int, data: bytes, other: bytes) -> Evidence:
    """See Codec.probe; `dialect` is one of dialects.py."""
    return NO_EVIDENCE
