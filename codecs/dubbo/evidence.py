"""What bytes show for and against Dubbo: headers, lengths that lead from one to the next, the first body."""

import re
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence, messages_evidence
from wirelens.codecs.dubbo.vocabulary import (
    EVENT_FLAG,
    FASTJSON2,
    HEADER_SIZE,
    HESSIAN,
    MAGIC,
    OK,
    REQUEST_FLAG,
    SERIALIZATION_MASK,
    SERIALIZATIONS,
    STATUSES,
    TWO_WAY_FLAG,
)
from wirelens.codecs.payload import decoded
from wirelens.codecs.words import count

USUAL_BODY: Final = 1 << 24  # bytes; most that a header may announce if it is found after damage or probed
PROBED_FRAMES: Final = 64  # at most this many headers are followed
PROBED_BODY: Final = 1 << 16  # bytes; a longer frame is not decoded
VERSION_BITS: Final = 12.0  # for the version that opens a request, whatever its serialization
BODY_BITS: Final = 16.0  # for a first body that decodes
LENGTH_BITS: Final = 10.0  # for a length that leads exactly to the end
BROKEN_BITS: Final = 12.0  # against it: a length that does not lead to another header

_VERSION_TEXT: Final = re.compile(rb"[23]\.[0-9]{1,2}\.[0-9]")


def evidence(codec: Codec, data: bytes) -> Evidence:
    """The evidence of the frames that follow one another from the start."""
    end: i64 = len(data)
    bits = header_bits(data, 0)
    if bits == 0.0:
        return NO_EVIDENCE
    reasons = ["magic da bb with valid flags"]
    settle = "" if end >= HEADER_SIZE else "the rest of the header"
    frames: i64 = 0
    at: i64 = 0
    whole = False
    while frames < PROBED_FRAMES and at + HEADER_SIZE <= end:
        after = at + HEADER_SIZE + _length(data, at)
        frames += 1
        if after > end:
            settle = count(after - end, "more byte")
            break
        if after == end:
            whole = True
            reasons.append("the length leads to the end")
            break
        next_bits = header_bits(data, after)
        if next_bits > 0.0:
            bits += next_bits / float(frames)
        elif end - after >= 3 or data[after:end] != MAGIC[: end - after]:
            bits -= BROKEN_BITS
            reasons.append("against it: the length does not lead to another header")
            break
        at = after
    if frames > 1:
        reasons.append(f"{frames} headers where the lengths lead")
    request = data[2] & (REQUEST_FLAG | EVENT_FLAG) == REQUEST_FLAG
    if request and _VERSION_TEXT.search(data, HEADER_SIZE, HEADER_SIZE + 16):
        bits += VERSION_BITS
        reasons.append("a version of Dubbo at the start of the body")
    if frames and HEADER_SIZE + _length(data, 0) <= end and _body_decodes(codec, data, 0):
        bits += BODY_BITS
        reasons.append("the first body decodes")
    return messages_evidence(max(bits, 0.0), reasons, frames, whole, LENGTH_BITS, settle)


def next_header(data: bytes, start: i64, end: i64) -> i64:
    """See Codec.resync: the magic, a valid status and length."""
    at = start
    while True:
        place: i64 = data.find(MAGIC, at, end + 1)
        if place < 0 or place + HEADER_SIZE > len(data):
            return end
        if header_bits(data, place) > 0.0:
            return place
        at = place + 1


def header_bits(data: bytes, at: i64) -> float:
    """The bits of the header at a position, as far as it is there; 0 if it is not a header.

    The flags of hessian2 count most: writers nearly always send them. Zeros are cheap in foreign data.
    """
    left = len(data) - at
    if data[at : at + 2] != MAGIC or left < 3:
        return 0.0
    flags: i64 = data[at + 2]
    request = flags & REQUEST_FLAG != 0
    serialization = flags & SERIALIZATION_MASK
    if not request and flags & TWO_WAY_FLAG:
        return 0.0
    bits = 18.0
    if serialization == HESSIAN[0]:
        bits = 21.0
    elif serialization not in SERIALIZATIONS:
        bits = 17.0  # the magic, and one bit for the flags that a response cannot have
    if not request:
        bits += 1.0
    if left > 3:
        status: i64 = data[at + 3]
        if request:
            if status:
                return 0.0
            bits += 4.0
        elif status == OK:
            bits += 4.0
        elif status in STATUSES:
            bits += 3.0
    if left >= HEADER_SIZE:
        if _length(data, at) > USUAL_BODY:
            return 0.0
        bits += 2.0
    return bits


def _length(data: bytes, at: i64) -> i64:
    """The length of the body in the header at a position, unsigned."""
    high: i64 = data[at + 12]
    return high << 24 | data[at + 13] << 16 | data[at + 14] << 8 | data[at + 15]


def _body_decodes(codec: Codec, data: bytes, at: i64) -> bool:
    """Whether the whole frame at a position has a body in Hessian or JSONB that decodes."""
    serialization = data[at + 2] & SERIALIZATION_MASK
    if serialization not in HESSIAN and serialization != FASTJSON2:
        return False
    after = at + HEADER_SIZE + _length(data, at)
    if after - at > PROBED_BODY:
        return False
    tape = decoded(codec, data[at:after])
    return tape is not None and tape.fault_count() == 0
