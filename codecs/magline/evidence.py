"""Evidence for frames of either head: commands, lengths that fit them and lead to the next head; resync."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.background import MEETS, OTHER, prices, proved
from wirelens.codecs.codec import NO_EVIDENCE, Evidence, messages_evidence
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.magline.deployed import end_of_cut, head_at
from wirelens.codecs.magline.fields import u16_at, u32_at
from wirelens.codecs.magline.specified import SpecifiedHead
from wirelens.codecs.protobuf import read_fields
from wirelens.codecs.tape import Buffer
from wirelens.codecs.words import count

LOOKED_AT: Final = 16  # frames that detection walks over
MAX_RESYNC: Final = 1 << 20  # bytes of a specified frame that is searched for after damage
LEAST_HEAD: Final = 8  # bytes of a head that is cut: versions, command, its length
NO_HEAD: Final = 8.0  # bits against, if the last frame led to no head


def probe_specified(data: bytes, other: bytes) -> Evidence:
    """Bits of the frames at the start: command, head length, sizes that fit and chain."""
    result = _specified_evidence(data)
    if result.bits <= 0:
        return result
    bits = result.bits
    reasons = result.reasons
    if other and _proved(_specified_evidence(other)):
        bits += OTHER
        reasons = (*reasons, "the other direction is Magline too")
    if _deployed_evidence(data).bits > 0:
        reasons = (*reasons, "the bytes also fit the deployed 12-byte head (magline-old)")
    return result.changed(bits=bits, reasons=reasons)


def probe_deployed(data: bytes, other: bytes) -> Evidence:
    """Bits of the frames at the start: magic, version, command, lengths that fit and chain."""
    result = _deployed_evidence(data)
    if result.bits <= 0:
        return result
    bits = result.bits
    reasons = result.reasons
    if other and _proved(_deployed_evidence(other)):
        bits += OTHER
        reasons = (*reasons, "the other direction is the old Magline too")
    if len(data) >= v.SPECIFIED_SIZE and SpecifiedHead(data, 0).usual():
        reasons = (*reasons, "the bytes also fit the specified 16-byte head (magline)")
    return result.changed(bits=bits, reasons=reasons)


def resync_specified(data: bytes, start: i64, end: i64) -> i64:
    """The next head of a known command, with a head length of 16 and a message length that the command can
    have; linear in the bytes."""
    at = start
    while at + v.SPECIFIED_SIZE <= end:
        if data[at + 6] == v.SPECIFIED_SIZE or data[at + 7] == v.SPECIFIED_SIZE:
            head = SpecifiedHead(data, at)
            if head.usual() and head.total <= MAX_RESYNC:
                return at
        at += 1
    return end


def resync_deployed(data: bytes, start: i64, end: i64) -> i64:
    """The next head with a known version and command and a length that the command can have; linear."""
    at = start
    while at + v.DEPLOYED_SIZE <= end:
        if data[at] == v.MAGIC and head_at(data, at):
            return at
        at += 1
    return end


def first_specified(data: bytes, start: i64, end: i64, final: bool) -> i64:
    """See Codec.first: a usual head whose length leads to another one, or to the end of the bytes.

    A byte more or less turns the byte order of a head around, which then claims another length.
    """
    at = start
    while at + v.SPECIFIED_SIZE <= end:
        at = resync_specified(data, at, end)
        if at == end:
            break
        head = SpecifiedHead(data, at)
        after = at + head.total
        if after == end:
            return at
        if after + v.SPECIFIED_SIZE <= end:
            following = SpecifiedHead(data, after)
            if following.usual() and following.little == head.little and data[after + 1] == data[at + 1]:
                return at
        elif final and after < end and _begins_alike(data, at, after, min(end - after, LEAST_HEAD)):
            return at
        at += 1
    return end if final else -1


def first_deployed(data: bytes, start: i64, end: i64, final: bool) -> i64:
    """See Codec.first: a head whose length leads to another one, or to the end of the bytes."""
    at = start
    while at + v.DEPLOYED_SIZE <= end:
        at = resync_deployed(data, at, end)
        if at == end:
            break
        after = at + v.DEPLOYED_SIZE + u32_at(data, at + 8, True)
        if after == end:
            return at
        if after + v.DEPLOYED_SIZE <= end:
            if head_at(data, after) or end_of_cut(data, after) >= 0:
                return at
        elif final and after < end and _begins_alike(data, at, after, min(end - after, 2)):
            return at
        at += 1
    return end if final else -1


def _begins_alike(data: bytes, at: i64, after: i64, size: i64) -> bool:
    """Whether the first bytes of a head that is cut are as in a whole one: versions, the head's length."""
    known = min(size, 2)
    if data[after : after + known] != data[at : at + known]:
        return False
    return size <= 6 or data[after + 6 : after + size] == data[at + 6 : at + size]


def _proved(opposite: Evidence) -> bool:
    """Whether the evidence of the other direction is enough to help this one."""
    return proved(opposite.bits, opposite.whole, opposite.at_end)


def _specified_evidence(data: bytes) -> Evidence:
    """Evidence of the frames at the start.

    A head fixes the command's high byte and the head's length; the message's length is the one that its
    command has, or leads to the next head or the end.
    """
    end: i64 = len(data)
    if end < v.SPECIFIED_SIZE:
        return NO_EVIDENCE
    at: i64 = 0
    bits = 0.0
    frames = 0
    little = False
    settle = ""
    fixed = False
    while at + v.SPECIFIED_SIZE <= end and frames < LOOKED_AT:
        head = SpecifiedHead(data, at)
        if not head.usual():
            break
        if frames and (head.little != little or data[at + 1] != data[1]):
            break
        little = head.little
        gained = prices(data, at + 2, 2) - 2.0 + prices(data, at + 6, 2)
        if frames:
            gained += prices(data, at, 2) / frames
        fixed = v.ERR <= head.cmd <= v.PON or head.cmd == v.FIN
        if fixed:
            gained += prices(data, at + 12, 4)
        elif frames:
            gained += MEETS  # of the length before
        frames += 1
        bits += gained
        at += head.total
        if at > end:
            settle = f"{at - end} more bytes"
            break
    if frames == 0:
        return NO_EVIDENCE
    if not settle and at < end and frames < LOOKED_AT and end - at >= v.SPECIFIED_SIZE:
        bits -= NO_HEAD
    order = "little" if little else "big"
    reasons = [
        f"{count(frames, order + '-endian head')}: a command, a head length of 16",
        "each message has a length that its command can have",
    ]
    return _result(bits, reasons, settle, at == end, fixed, frames)


def _deployed_evidence(data: bytes) -> Evidence:
    """Evidence of the frames at the start: magic, version, a command, the length that it has."""
    end: i64 = len(data)
    at: i64 = 0
    bits = 0.0
    frames = 0
    settle = ""
    fixed = False
    while at + v.DEPLOYED_SIZE <= end and frames < LOOKED_AT and head_at(data, at):
        cmd = int(u16_at(data, at + 2, True))
        length = u32_at(data, at + 8, True)
        gained = (prices(data, at, 2) - 1.0) / (frames + 1) + prices(data, at + 2, 2) - 2.0
        fixed = cmd in v.LAYOUTS or cmd == v.KNOT_CONN_RSP
        if fixed:
            gained += prices(data, at + 8, 4)
        elif frames:
            gained += MEETS
        frames += 1
        bits += gained
        at += v.DEPLOYED_SIZE + length
        if at > end:
            settle = f"{at - end} more bytes"
            break
        if not fixed and at + v.DEPLOYED_SIZE <= end and not head_at(data, at):
            after = end_of_cut(data, at)
            if after >= 0:
                at = after
                continue
        members = v.PROTOBUF_MEMBERS.get(cmd)
        if members is not None and length:
            try:
                first = read_fields(Cursor(Buffer(data), at - length, at))[0]
            except DecodeError:
                return NO_EVIDENCE
            if int(first.number) not in members:
                return NO_EVIDENCE
            bits += 8.0
    if frames == 0:
        return NO_EVIDENCE
    whole = at == end
    if not settle and at < end and frames < LOOKED_AT and end - at >= v.DEPLOYED_SIZE:
        if (end - at) & 0xFFFF == 0 and not fixed:
            whole = True  # the Go server writes 16 bits of a length
        else:
            bits -= NO_HEAD
    reasons = [f"{count(frames, 'head')} with magic 0x7f, version {data[1]} and a command"]
    return _result(bits, reasons, settle, whole, fixed, frames)


def _result(bits: float, reasons: list[str], settle: str, whole: bool, fixed: bool, frames: int) -> Evidence:
    """The evidence of `frames` frames; `fixed`: the last one has the one length of its command."""
    at_end = 0.0
    if whole:
        reasons.append("the lengths lead to the end of the bytes")
        at_end = 4.0 if fixed else 4.0 + MEETS
    return messages_evidence(max(bits, 0.0), reasons, frames, whole, at_end, settle)
