"""Which protocol a direction of a flow is of: what its bytes prove, and what the other direction adds."""

from typing import Final, NamedTuple

from wirelens.codecs import registry
from wirelens.codecs.captures.flow import Flow
from wirelens.codecs.detection import MARGIN, Detection, detect
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.sides import Side

ANSWER_HEAD: Final = 4  # bytes that distinguish the protocols that answer another
FILLERS: Final = (b"\0", b"\xa5")  # in place of missing bytes: evidence with one of them only is none
MOST_SPANNED: Final = 1 << 16  # bytes with the missing ones between them
PORT_BITS: Final = 4.0  # what a protocol's usual port adds to the evidence of the bytes


class Verdict(NamedTuple):
    """How a direction's protocol was found: `bits` and `reasons` as in detection, none if it was given."""

    protocol: str
    bits: float
    reasons: tuple[str, ...]


def verdict_of(detection: Detection, flow: Flow) -> Verdict:
    """The protocol of a detection; one that lacks few bits is helped by its usual port."""
    for candidate in detection.candidates:
        if candidate.protocol == detection.protocol:
            return Verdict(candidate.protocol, candidate.bits, candidate.reasons)
    for port in flow.ports:
        usual = registry.usual_at(port)
        if usual:
            for candidate in detection.candidates:
                if candidate.protocol in usual and candidate.bits + PORT_BITS >= candidate.asked:
                    reasons = (*candidate.reasons, f"port {port}")
                    return Verdict(candidate.protocol, candidate.bits + PORT_BITS, reasons)
    return Verdict(UNKNOWN, 0.0, ())


def across_gaps(side: Side, whole: bool) -> Verdict:
    """The protocol by all bytes that wait of a stream of which some are missing, whatever those were.

    Lengths lead over them to what follows.
    """
    verdict = Verdict(UNKNOWN, 0.0, ())
    for filler in FILLERS:
        data = side.spanned(filler, MOST_SPANNED)
        if not data:
            return Verdict(UNKNOWN, 0.0, ())
        found = verdict_of(detect(data, b"", whole, False, True, side.joined), side.flow)
        if found.protocol == UNKNOWN or verdict.protocol not in (UNKNOWN, found.protocol):
            return Verdict(UNKNOWN, 0.0, ())
        if verdict.protocol == UNKNOWN or found.bits < verdict.bits:
            verdict = found
    return verdict


def together(detection: Detection, verdict: Verdict, side: Side, known_one: str, final: bool) -> Verdict:
    """The protocol of a direction, where the other one's is known: one dialect or vocabulary for both."""
    if known_one == UNKNOWN:
        return verdict
    answers = registry.get(known_one).answers
    if verdict.protocol == UNKNOWN:
        # both sides of a conversation speak the same protocol, or one that answers it
        if answers and side.tried < ANSWER_HEAD and not final:
            return verdict
        return _answer(detection, known_one, answers)
    if side.joined and registry.get(verdict.protocol).contained and registry.get(known_one).carries:
        return Verdict(known_one, 0.0, (f"the other direction is {known_one}",))
    if verdict.protocol != known_one and not answers and known_one in detection.equal:
        return Verdict(known_one, verdict.bits, (*verdict.reasons, f"the other direction is {known_one}"))
    return verdict


def _answer(detection: Detection, other: str, answers: tuple[str, ...]) -> Verdict:
    """The protocol of a direction that lacks bits, where the opposite one speaks `other`."""
    reason = f"the other direction is {other}"
    best = Verdict(other, 0.0, (reason,))
    most = 0.0
    for candidate in detection.candidates:
        if candidate.protocol == other or candidate.protocol in answers:
            bits = candidate.bits + (MARGIN if candidate.protocol == other else 0.0)
            if bits > most:
                most = bits
                best = Verdict(candidate.protocol, bits, (*candidate.reasons, reason))
    return best
