"""Detection: which protocol bytes speak, as evidence in bits."""

from typing import Final, NamedTuple

from wirelens.codecs import registry
from wirelens.codecs.record import UNKNOWN

ENOUGH_BYTES: Final = 1 << 16  # of a stream, after which detection waits for no more
THRESHOLD: Final = 24.0  # bits; see `detect`


class Candidate(NamedTuple):
    """A protocol that some evidence speaks for."""

    protocol: str
    bits: float
    reasons: tuple[str, ...]
    settle: str


class Detection(NamedTuple):
    """What detection found.

    `protocol` is "unknown" where no candidate reaches the threshold. `equal` names the protocols under
    which the bytes mean the same; the usual one of them is `protocol`. `candidates` has most evidence
    first.
    """

    protocol: str
    equal: tuple[str, ...]
    candidates: tuple[Candidate, ...]


def detect(data: bytes, other: bytes = b"") -> Detection:
    """Which protocol the start of a stream speaks; `other` is the opposite direction's, where known."""
    candidates: list[Candidate] = []
    equal: dict[str, tuple[str, ...]] = {}
    for codec in registry.codecs():
        evidence = codec.probe(data, other)
        if evidence.bits > 0:
            candidates.append(Candidate(codec.name, evidence.bits, evidence.reasons, evidence.settle))
            equal[codec.name] = evidence.equal
    candidates.sort(key=_most_first)
    if not candidates or candidates[0].bits < THRESHOLD:
        return Detection(UNKNOWN, (), tuple(candidates))
    best = candidates[0].protocol
    return Detection(best, equal[best], tuple(candidates))


def _most_first(candidate: Candidate) -> float:
    return -candidate.bits
