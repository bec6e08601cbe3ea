"""What bytes show for HTTP/2: the preface, and heads of frames that lead to one another."""

import re
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.background import MEETS, prices
from wirelens.codecs.codec import NO_EVIDENCE, Evidence, messages_evidence
from wirelens.codecs.http2 import vocabulary as v
from wirelens.codecs.http2.decoding import head_error
from wirelens.codecs.http2.hpack import HpackError, Table, read_block
from wirelens.codecs.words import count

PROBED: Final = 1 << 16  # bytes
PROBED_FRAMES: Final = 16
FIXED_BITS: Final = 4.0  # of a type that has one length
BLOCK_BITS: Final = 6.0  # of a header block that decodes
CHAIN: Final = 4  # frames in a row that are looked at inside a stream
ANCHORS: Final = (v.SETTINGS, v.PING, v.WINDOW_UPDATE, v.RST_STREAM, v.GOAWAY)
KNOWN_SETTING: Final = 0x10  # settings up to here, and from
FIRST_PRIVATE: Final = 0xF0  # here on by their first byte, are sent
LOOSE_BITS: Final = 20.0  # at most, of frames that may have any payload
WINDOW: Final = 1 << 12  # bytes from a position that may prove a frame there
PROOF_BITS: Final = 30.0

_NAME: Final = rb":?[!#$%&'*+\-.^_`|~0-9a-z]+"
# What the head of a frame may look like: a length up to 64 KiB, types and flags that are known. First what
# has none in it: a run of zeros, all at once.
_HEADS: Final = (
    rb"\x00(?:(\x00{8,}+)|[\x00-\xff]{2}(?:(?:\x00[\x00\x01\x08\x09]|\x01[\x00\x01\x04\x05\x08\x09\x0c\x0d\x20\x21\x24\x25\x28"
    rb"\x29\x2c\x2d]|[\x02\x03]\x00|\x05[\x00\x04\x08\x0c]|\x09[\x00\x04])(?!\x00{4})"
    rb"|(?:[\x04\x06][\x00\x01]|\x07\x00)(?=\x00{4})|\x08\x00)\x00[\x00-\xff]{3})"
)


class Chain:
    """Frames that follow one another: where they end, how many are whole, their bits and reasons."""

    def __init__(self) -> None:
        self.end: i64 = 0
        self.frames = 0
        self.prefaces = 0
        self.bits = 0.0
        self.broken = False  # whether no head of a frame follows
        self.blocks = 0  # header blocks that decode
        self.anchors = 0  # frames whose payloads have a form


def _usual(data: bytes, at: i64) -> bool:
    """Whether the head at a position is one that writers send."""
    frame_type = data[at + 3]
    flags = data[at + 4]
    known = v.ACK if frame_type in v.ACKNOWLEDGED else 0
    for number in v.FLAGS.get(frame_type, {}):
        known |= number
    if frame_type > v.CONTINUATION or flags & ~known or data[at + 5] or head_error(data, at):
        return False
    # DATA without bytes only ends a stream
    return frame_type != v.DATA or flags != 0 or data[at : at + 3] != b"\0\0\0"


def chain(data: bytes, start: i64, end: i64, most: int) -> Chain:
    """The frames from a position on, at most `most`."""
    found = Chain()
    at = start
    bits = 0.0
    promised = False
    while found.frames < most and at < end:
        head = data[at : min(end, at + len(v.PREFACE))]
        if v.PREFACE.startswith(head):
            if len(head) == len(v.PREFACE):
                found.prefaces += 1
                bits += prices(data, at, len(head))
            at += len(head)
            continue
        if end - at < v.HEAD:
            break
        if not _usual(data, at):
            found.broken = True
            break
        length: i64 = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
        frame_type = data[at + 3]
        cost = prices(data, at, v.HEAD)
        if frame_type in v.LENGTHS or frame_type == v.SETTINGS:
            cost += FIXED_BITS
        following = at + v.HEAD + length
        if following < end:
            if end - following >= v.HEAD and (
                _usual(data, following) or data.startswith(v.PREFACE, following)
            ):
                cost += MEETS
        promised = promised or frame_type == v.PUSH_PROMISE
        if not promised and data[at + 8] & 1 == 0 and any(data[at + 5 : at + 9]):
            cost = 0.0  # an even stream is a server's own (RFC 9113, 5.1.1), which it has to promise
        if following > end:
            at = end + 1
            break
        if not _is_likely(data, at, following):
            found.broken = True
            break
        if frame_type == v.HEADERS and data[at + 4] & v.END_HEADERS:
            cost += BLOCK_BITS
            found.blocks += 1
            found.anchors += 1
        elif frame_type in ANCHORS:
            found.anchors += 1
        found.frames += 1
        bits += cost / float(found.frames)
        at = following
    found.end = at
    found.bits = bits if found.anchors or found.prefaces else min(bits, LOOSE_BITS)
    return found


def _is_likely(data: bytes, at: i64, end: i64) -> bool:
    """Whether the payload of a whole frame is one that writers send."""
    frame_type = data[at + 3]
    start = at + v.HEAD
    if frame_type == v.SETTINGS:
        return all(
            (data[place] == 0 and 0 < data[place + 1] <= KNOWN_SETTING) or data[place] >= FIRST_PRIVATE
            for place in range(start, end, v.SETTING)
        )
    if frame_type == v.WINDOW_UPDATE:
        return data[start:end] != bytes(4)
    if frame_type == v.RST_STREAM or frame_type == v.GOAWAY:
        code = start if frame_type == v.RST_STREAM else start + 4
        return data[code : code + 3] == b"\0\0\0" and data[code + 3] in v.ERRORS
    if frame_type == v.HEADERS:
        if data[at + 4] & v.END_HEADERS == 0:
            return end + 4 > len(data) or data[end + 3] == v.CONTINUATION
        return end > start and _is_block(data, at, end)
    return frame_type != v.CONTINUATION or end > start


def _is_block(data: bytes, at: i64, end: i64) -> bool:
    """Whether a frame's header block, all of it, decodes to fields whose names are some."""
    flags = data[at + 4]
    start = at + v.HEAD
    if flags & v.PADDED:
        end -= data[start]
        start += 1
    if flags & v.HAS_PRIORITY:
        start += v.PRIORITY_SIZE
    table = Table()
    table.lose()
    try:
        fields = read_block(data[start : max(start, end)], table)
    except HpackError:
        return False
    return len(fields) > 0 and all(
        one.name is None or re.fullmatch(_NAME, one.name) is not None for one in fields
    )


def evidence(data: bytes) -> Evidence:
    """The evidence of a preface and of frames after it, or of frames alone."""
    if data[:1] not in (b"\0", b"P"):
        return NO_EVIDENCE
    end: i64 = min(len(data), PROBED)
    found = chain(data, 0, end, PROBED_FRAMES)
    if found.bits <= 0 or (found.frames == 0 and found.prefaces == 0 and found.end <= end):
        return NO_EVIDENCE
    if found.broken and found.frames < 2 and not found.prefaces:
        return NO_EVIDENCE
    reasons: list[str] = []
    if found.prefaces:
        reasons.append("the preface of HTTP/2")
    if found.frames:
        reasons.append(f"{count(found.frames, 'frame')} that lead to one another")
    if found.blocks:
        reasons.append("a header block")
    whole = not found.broken and found.end == len(data)
    return messages_evidence(found.bits, reasons, found.frames + found.prefaces, whole, MEETS)


def next_start(data: bytes, start: i64, end: i64) -> i64:
    """See Codec.resync: a preface, or the first of several frames in a row."""
    preface: i64 = data.find(v.PREFACE, start, min(len(data), end + len(v.PREFACE)))
    last = end if preface < 0 else min(preface, end)
    pattern = re.compile(_HEADS, re.DOTALL)
    at = start
    while at < last:
        match = pattern.search(data, at, min(len(data), last + v.HEAD))
        if match is None:
            break
        at = match.start()
        if at >= last:
            break
        if match.lastindex:
            at = match.end() - v.HEAD + 1
            continue
        if proves(data, at):
            return at
        at += 1
    return last


def proves(data: bytes, at: i64) -> bool:
    """Whether frames at a position prove that one starts there; looks at WINDOW bytes."""
    end: i64 = min(len(data), at + WINDOW)
    following = _frame_end(data, at)
    if following + v.HEAD > end:
        return False
    if _frame_end(data, following) > end and not data.startswith(v.PREFACE, following):
        return False  # two frames are wanted; most places fail here, before anything is weighed
    found = chain(data, at, end, CHAIN)
    return found.frames >= 2 and found.bits >= PROOF_BITS


def _frame_end(data: bytes, at: i64) -> i64:
    """Where the frame whose head is at a position ends."""
    length: i64 = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
    return at + v.HEAD + length


def first_start(data: bytes, start: i64, end: i64, final: bool) -> i64:
    """See Codec.first: right there if the head of a frame is, and leads to another or to the end."""
    if end - start >= v.HEAD and _usual(data, start):
        found = chain(data, start, end, CHAIN)
        if not found.broken and (found.frames or final):
            return start
    elif end - start < v.HEAD and not final:
        return -1
    return next_start(data, start, end)
