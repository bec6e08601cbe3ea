"""What bytes show for and against Bolt: headers, class names, header maps, lengths that lead on."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.bolt.vocabulary import (
    CHECKED,
    CODEC_NAMES,
    CONTENT,
    CRC,
    HEADER_SIZE,
    HEARTBEAT,
    REQUEST_COMMAND,
    REQUEST_SIZE,
    RESPONSE,
    RESPONSE_COMMAND,
    SWITCH_CHECKSUM,
)
from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence, messages_evidence
from wirelens.codecs.payload import decoded
from wirelens.codecs.words import count

USUAL_CONTENT: Final = 1 << 24  # bytes; most that a header may announce if found after damage or probed
USUAL_HEARTBEAT: Final = 1 << 12  # bytes that may follow the header of a heartbeat
PROBED_FRAMES: Final = 64  # at most this many headers are followed
PROBED_FRAME: Final = 1 << 16  # bytes; a longer frame is not decoded
CHECKED_NAME: Final = 64  # bytes of a class name that are checked
HEADER_BITS: Final = 12.0  # for a header, most of which is zeros and small numbers
CLASS_BITS: Final = 16.0
MAP_BITS: Final = 12.0
CONTENT_BITS: Final = 12.0
CHECKSUM_BITS: Final = 24.0
LENGTH_BITS: Final = 8.0  # for lengths that lead exactly to the end
BROKEN_BITS: Final = 12.0  # against it: a length that does not lead to another header


def evidence(codec: Codec, data: bytes) -> Evidence:
    """The evidence of the frames that follow one another from the start."""
    end: i64 = len(data)
    at: i64 = 0
    bits = 0.0
    frames: i64 = 0
    named: i64 = 0
    mapped: i64 = 0
    settle = ""
    broken = False
    while frames < PROBED_FRAMES and at < end:
        size = frame_size(data, at)
        if size <= 0:
            if size == 0 and frames:
                bits -= BROKEN_BITS
                broken = True
            break
        frames += 1
        bits += HEADER_BITS / float(frames)
        checked = _checked_name(data, at)
        if checked:
            named += 1
            bits += min(float(checked), CLASS_BITS) / float(named)
        if _has_header_map(data, at):
            mapped += 1
            bits += MAP_BITS / float(mapped)
        at += size
    whole = at == end and frames > 0
    if frames == 0:
        return NO_EVIDENCE
    if at > end:
        settle = count(at - end, "more byte")
    reasons = ["a header with valid type, command and codec"]
    if frames > 1:
        reasons.append(f"{frames} headers where the lengths lead")
    if named:
        reasons.append("a class name of the declared length")
    if mapped:
        reasons.append("a header map that fills its length")
    if whole:
        reasons.append("the length leads to the end")
    if broken:
        reasons.append("against it: the length does not lead to another header")
    first = frame_size(data, 0)
    tape = decoded(codec, data[:first]) if named and first <= min(end, PROBED_FRAME) else None
    if tape is not None:
        crc = tape.find(0, CRC)
        if crc >= 0 and tape.head(crc) >> t.FORM_SHIFT & t.FORM_MASK == 0:
            bits += CHECKSUM_BITS
            reasons.append("the checksum is right")
        if tape.fault_count() == 0 and tape.find(0, CONTENT) >= 0:
            bits += CONTENT_BITS
            reasons.append("the first content decodes")
    return messages_evidence(max(bits, 0.0), reasons, frames, whole, LENGTH_BITS, settle)


def next_header(data: bytes, start: i64, end: i64) -> i64:
    """See Codec.resync: a header in which everything that can be checked is valid."""
    at = start
    while at < end:
        version: i64 = data[at]
        if (version == 1 or version == 2) and not _inside_header(data, at):
            size = frame_size(data, at)
            if size > 0 and _is_proved(data, at):
                return at
            if size < 0 or (size > 0 and at + size > end):
                return end  # more bytes may prove it
        at += 1
    return end


def frame_size(data: bytes, at: i64) -> i64:
    """The size in bytes of the frame whose header is at a position; 0: not a header, -1: one that is cut."""
    end: i64 = len(data)
    version: i64 = data[at]
    if version < 1 or version > 2:
        return 0
    type_at = at + version
    if version == 2 and at + 1 < end and (data[at + 1] < 1 or data[at + 1] > 2):
        return 0
    if type_at + 3 > end:
        return -1
    frame_type: i64 = data[type_at]
    command: i64 = data[type_at + 1] << 8 | data[type_at + 2]
    usual_command: i64 = RESPONSE_COMMAND if frame_type == RESPONSE else REQUEST_COMMAND
    if frame_type > 2 or (command != HEARTBEAT and command != usual_command):
        return 0
    size: i64 = HEADER_SIZE if frame_type == RESPONSE else REQUEST_SIZE
    if version == 2:
        size = size + 2
    if at + size > end:
        return -1
    if data[type_at + 3] != 1 or data[type_at + 8] not in CODEC_NAMES:
        return 0
    lengths = _lengths_at(data, at)
    class_length: i64 = data[lengths] << 8 | data[lengths + 1]
    header_length: i64 = data[lengths + 2] << 8 | data[lengths + 3]
    high: i64 = data[lengths + 4]
    content: i64 = high << 24 | data[lengths + 5] << 16 | data[lengths + 6] << 8 | data[lengths + 7]
    rest = class_length + header_length + content
    if content > USUAL_CONTENT:
        return 0
    if command == HEARTBEAT:
        if frame_type != RESPONSE and rest > USUAL_HEARTBEAT:
            return 0
    elif class_length == 0 and (content > 0 or frame_type != RESPONSE):
        return 0
    name_at = at + size
    until = min(name_at + min(class_length, CHECKED_NAME), end)
    while name_at < until:
        byte: i64 = data[name_at]
        if byte < 0x24 or byte > 0x7A:
            return 0
        name_at += 1
    size += rest
    if version == 2 and data[at + 1] == CHECKED and data[type_at + 9] & SWITCH_CHECKSUM:
        size += 4
    return size


# The functions below take the position of a header that `frame_size` accepted.


def _lengths_at(data: bytes, at: i64) -> i64:
    """The position of the lengths of class, header map and content, the last 8 bytes of the header."""
    version: i64 = data[at]
    type_at = at + version
    lengths: i64 = type_at + (9 + 2 if data[type_at] == RESPONSE else 9 + 4)
    return lengths + 1 if version == 2 else lengths


def _class_length(data: bytes, at: i64) -> i64:
    """The length of the class name."""
    lengths = _lengths_at(data, at)
    return data[lengths] << 8 | data[lengths + 1]


def _checked_name(data: bytes, at: i64) -> i64:
    """The number of bytes of the class name that are there, of the first `CHECKED_NAME`."""
    start = _lengths_at(data, at) + 8
    return max(min(_class_length(data, at), CHECKED_NAME, len(data) - start), 0)


def _inside_header(data: bytes, at: i64) -> bool:
    """Whether this is the second byte of a header of version 2: from there on it looks like version 1."""
    return at > 0 and data[at - 1] == 2 and frame_size(data, at - 1) != 0


def _is_proved(data: bytes, at: i64) -> bool:
    """Whether the checked part of the class is there; without a class, whether the header map is valid."""
    checked = min(_class_length(data, at), CHECKED_NAME)
    if checked:
        return _checked_name(data, at) == checked
    lengths = _lengths_at(data, at)
    return (data[lengths + 2] == 0 and data[lengths + 3] == 0) or _has_header_map(data, at)


def _has_header_map(data: bytes, at: i64) -> bool:
    """Whether there is a whole header map whose inner lengths fill it."""
    lengths = _lengths_at(data, at)
    position: i64 = lengths + 8 + _class_length(data, at)
    length: i64 = data[lengths + 2] << 8 | data[lengths + 3]
    after = position + length
    if length == 0 or after > len(data):
        return False
    while position + 4 <= after:
        if data[position] or data[position + 1]:
            return False
        position += 4 + (data[position + 2] << 8 | data[position + 3])
    return position == after
