"""Evidence for and against frames: a message of Hessian that ends where its length leads."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.background import MEETS
from wirelens.codecs.codec import NO_EVIDENCE, Evidence, messages_evidence
from wirelens.codecs.framed.vocabulary import DIALECTS, LENGTH_SIZE
from wirelens.codecs.hessian import evidence as hessian
from wirelens.codecs.words import count

USUAL_CONTENT: Final = 1 << 24  # bytes; most that a length may announce
PROBED_FRAMES: Final = 8  # at most this many are looked into
LENGTH_BITS: Final = 10.0  # for a length that leads exactly to the end
BROKEN_BITS: Final = 12.0  # against it: content that is not a message, or a length that leads to none


def evidence(data: bytes) -> Evidence:
    """The evidence of the frames that follow one another from the start."""
    end: i64 = len(data)
    if end <= LENGTH_SIZE or not _is_usual(data, 0):
        return NO_EVIDENCE
    best = NO_EVIDENCE
    bits = 0.0
    after = LENGTH_SIZE + _length(data, 0)
    content = data[LENGTH_SIZE:after]
    for dialect in DIALECTS:
        found = hessian.probe(dialect, content)
        if after <= end and not found.whole:
            continue
        score = found.bits + (found.at_end if after <= end else 0.0)
        if score > bits or best is NO_EVIDENCE:
            best = found
            bits = score
    if best is NO_EVIDENCE or bits <= 0.0:
        return NO_EVIDENCE
    # content neither ends nor breaks before the place where the length leads
    if after > end and not best.settle and end - LENGTH_SIZE <= hessian.FIRST_LOOK:
        return NO_EVIDENCE
    reasons = list(best.reasons)
    settle = ""
    at_end = 0.0
    frames: i64 = 1
    while True:
        if after >= end:
            break
        if frames >= PROBED_FRAMES or end - after < LENGTH_SIZE:
            settle = "" if frames >= PROBED_FRAMES else count(LENGTH_SIZE - (end - after), "more byte")
            break
        at = after
        after = at + LENGTH_SIZE + _length(data, at)
        content = data[at + LENGTH_SIZE : after]
        if not _is_usual(data, at) or not _holds(content, after <= end):
            bits -= BROKEN_BITS
            reasons.append("against it: the length does not lead to another message")
            after = at
            break
        frames += 1
        bits += MEETS / float(frames - 1)
    whole = after == end
    if frames > 1:
        reasons.append(f"{frames} messages where the lengths lead")
    if after > end:
        settle = count(after - end, "more byte")
    elif whole:
        # content that could be anything makes no frame, whatever its length
        at_end = min(LENGTH_BITS, bits)
        reasons.append("the length leads to the end")
    return messages_evidence(bits, reasons, frames, whole, at_end, settle)


def _length(data: bytes, at: i64) -> i64:
    """The length at a position, unsigned."""
    high: i64 = data[at]
    return high << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]


def _is_usual(data: bytes, at: i64) -> bool:
    """Whether the length at a position is one that messages have."""
    return 0 < _length(data, at) <= USUAL_CONTENT


def _holds(content: bytes, whole: bool) -> bool:
    """Whether content is a message in one of the dialects; if it is not `whole`, starts as one."""
    for dialect in DIALECTS:
        found = hessian.probe(dialect, content)
        if found.whole if whole else found.bits > 0.0 or not content:
            return True
    return False
