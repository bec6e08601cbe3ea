"""Evidence for and against ESNP: sizes that lead to an END, bodies that fill them."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.background import CHANGE, MEETS, OTHER, prices, proved
from wirelens.codecs.codec import NO_EVIDENCE, Evidence, messages_evidence
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.esnp import vocabulary as v
from wirelens.codecs.esnp.decoding import BodyReader, unzigzag
from wirelens.codecs.tape import Tape
from wirelens.codecs.words import count

LOOKED_AT: Final = 1024  # entries that detection walks over


def probe(data: bytes, other: bytes, lines: bool) -> Evidence:
    """Bits of the entries at the start: known types, sizes that chain to an END, bodies that decode."""
    result, era = evidence(data)
    if result.bits <= 0:
        return result
    bits = result.bits
    reasons = result.reasons
    if other:
        opposite, other_era = evidence(other)
        era += other_era
        if proved(opposite.bits, opposite.whole, opposite.at_end):
            bits += OTHER
            reasons = (*reasons, "the other direction is ESNP too")
    twin = "esnp-frame" if lines else "esnp-line"
    if (era < 0) == lines:
        bits -= 1.0
    if era != 0:
        reasons = (*reasons, f"an entry of the {'line' if era > 0 else 'frame'} era")
    reasons = (*reasons, f"the bytes fit {twin} too")
    return result.changed(bits=bits, reasons=reasons, equal=(twin,))


def first_message(data: bytes, start: i64, end: i64, final: bool) -> i64:
    """Where decoding starts in a stream whose beginning is missing; see Codec.first.

    The first entry that leads to an END may be in the middle of a message, so it counts only after an END, or
    where the stream starts with a message that states what it is. One that starts with an id, or with the
    mark of a trace alone, may lack its flag: that the next message does so too proves it whole.
    """
    at = resync(data, start, end)
    if at < end and (at == start or _follows_end(data, start, at)):
        after = _message_end(data, at)
        opening: i64 = data[at]
        if at == start and _may_lack_flag(data, at, after):
            if after == end:
                return end if final else -1
            if data[after] == v.FLAG:
                return after
        if _states_part(data, at, after) or at > start:
            return at
        while after < end:
            following = _message_end(data, after)
            if following < 0 or following > end:
                break
            if data[after] == opening and not _states_part(data, after, following):
                return at  # others are like this one
            after = following
    if at == end:
        return end if final else -1
    after = _message_end(data, at)
    if after >= end:
        return end if final else -1
    return after


def _follows_end(data: bytes, start: i64, at: i64) -> bool:
    """Whether the bytes before a position are the END of a message, or what the capture has of it."""
    before = max(start, at - 4)
    while before < at:
        if data[before] != 0:
            return False
        before += 1
    return True


def _message_end(data: bytes, at: i64) -> i64:
    """The position after the END that the entries at a position lead to; -1 if the bytes end before it."""
    end: i64 = len(data)
    while at + 4 <= end:
        kind: i64 = data[at]
        at += 4 + (i64(data[at + 1]) << 16 | i64(data[at + 2]) << 8 | i64(data[at + 3]))
        if kind == v.END:
            return at if at <= end else -1
    return -1


def _may_lack_flag(data: bytes, at: i64, end: i64) -> bool:
    """Whether a message starts as one does whose first entry, a flag, is missing."""
    opening: i64 = data[at]
    if opening == v.FLAG:
        if data[at + 4] >> 1 not in v.TRACE_FLAGS:
            return False
        at += 4 + (i64(data[at + 1]) << 16 | i64(data[at + 2]) << 8 | i64(data[at + 3]))
    elif opening != v.MESSAGE_ID and opening != v.SOURCE_MESSAGE_ID:
        return False
    while at < end:
        kind: i64 = data[at]
        if kind == v.FLAG or kind == v.MESSAGE_KIND:
            return False
        at += 4 + (i64(data[at + 1]) << 16 | i64(data[at + 2]) << 8 | i64(data[at + 3]))
    return True


def _states_part(data: bytes, at: i64, end: i64) -> bool:
    """Whether a message has what determines its part in a conversation: a flag, a kind, or its ids."""
    numbered = False
    addressed = False
    while at < end:
        kind: i64 = data[at]
        if kind == v.FLAG or kind == v.MESSAGE_KIND or kind == v.SOURCE_MESSAGE_ID:
            return True
        numbered = numbered or kind == v.MESSAGE_ID
        addressed = addressed or kind == v.ADDRESS
        at += 4 + (i64(data[at + 1]) << 16 | i64(data[at + 2]) << 8 | i64(data[at + 3]))
    return numbered and addressed


def resync(data: bytes, start: i64, end: i64) -> i64:
    """The next entry from which known types with fitting sizes lead to an END.

    Worked from the right, each position once: linear in the bytes.
    """
    good = bytearray(end - start + 1)  # of entries, 1: leads to an END; 2: does so, over an entry with a body
    at = end - 4
    position = end
    while at >= start:
        kind: i64 = data[at]
        if v.SESSION_INFO <= kind <= v.VERSION:
            length: i64 = data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
            after = at + 4 + length
            if after <= end - 4 and size_fits(kind, length):
                leads: i64 = good[after - start]
                if data[after] == v.END and data[after + 1] | data[after + 2] | data[after + 3] == 0:
                    leads = 1
                if leads:
                    good[at - start] = 2 if length else leads
                    if length or leads == 2:
                        position = at
        at -= 1
    return position


def size_fits(kind: i64, length: i64) -> bool:
    """Whether a body of the type can have that length."""
    if kind == v.MESSAGE_ID or kind == v.SOURCE_MESSAGE_ID:
        return length == 8
    if kind == v.VERSION:
        return length == 4
    if kind == v.FLAG:
        return 1 <= length <= 10
    if kind == v.MESSAGE_KIND:
        return 1 <= length <= 5
    if kind == v.TRACE or kind == v.TRACE_RESP:
        return length == 0
    if kind == v.PAYLOAD or kind == v.ERROR:
        return True
    return length >= 2


def evidence(data: bytes) -> tuple[Evidence, int]:
    """Evidence in a stream's start, and the era that its entries indicate (1 line, -1 frame, 0 neither).

    A known type is one of 17 small numbers. A body that its own lengths fill, or that has the one size of
    its type, confirms the size before it; inner lengths confirm one another. An END counts only if a size
    other than zero led to it: zeros are frequent in foreign data. Entries with type numbers that the texts
    leave open, and bodies without inner structure, are no evidence by themselves; bodies that do not decode
    are evidence against ESNP.
    """
    end: i64 = len(data)
    at: i64 = 0
    bits = 0.0
    era = 0
    entries = 0
    messages = 0
    bodies = 0
    since_end = 0
    solid = False  # a size that is not zero has led here
    settle = "the rest of the message, up to its END"
    seen: list[int] = [0] * 32
    for _ in range(LOOKED_AT):
        if at + 4 > end:
            break
        kind: i64 = data[at]
        length: i64 = data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
        after = at + 4 + length
        if kind == v.END:
            if not since_end or (length and after > end):
                break
            if solid and length == 0:
                bits += MEETS / min(messages + 1, 4)
            messages += 1
            since_end = 0
            solid = False
        elif kind not in v.TYPES:
            if not (kind <= 15 or kind >= 0x80) or after > end:
                return NO_EVIDENCE, 0
            since_end += 1
            if kind == 9 and length == 0:
                era = -1
        else:
            entries += 1
            since_end += 1
            if length:
                solid = True
            if kind in (v.MESSAGE_KIND, v.TRACE, v.TRACE_RESP):
                era = -1
            if after > end:
                settle = f"{after - end} more bytes"
                bits += _cut_bits(data, at + 4, after, kind) + prices(data, at, 1) - 2.5
                break
            gained = _body_bits(data, at + 4, length, kind) if size_fits(kind, length) else -8.0
            if gained > 0:
                bodies += 1
            if kind == v.FLAG and length and data[at + 4] == 14:
                era = 1
            seen[kind] += 1
            gained += prices(data, at, 1) - 2.5
            bits += gained / min(seen[kind], 8) if gained > 0.0 else gained
        at = after
    if messages == 0 and since_end and bodies == 0:
        return NO_EVIDENCE, 0
    whole = at == end and since_end == 0 and messages > 0
    reasons = _reasons(entries, messages, bodies)
    if whole:
        reasons.append("the last END is the end of the bytes")
    return messages_evidence(bits, reasons, messages, whole, MEETS, settle), era


def _reasons(entries: int, messages: int, bodies: int) -> list[str]:
    reasons = [f"{count(entries, 'entry', 'entries')} of known types"]
    if bodies:
        reasons.append(f"{count(bodies, 'body', 'bodies')} of the size that the type needs")
    if messages:
        reasons.append(f"sizes chain to {count(messages, 'END')}")
    return reasons


def _body_bits(data: bytes, start: i64, length: i64, kind: i64) -> float:
    """Bits that a body's inner lengths satisfy; negative if it does not decode."""
    if kind == v.PAYLOAD or kind == v.ERROR:
        return 0.0
    if kind == v.MESSAGE_ID or kind == v.SOURCE_MESSAGE_ID or kind == v.VERSION:
        return prices(data, start - 3, 3)
    buffer = t.Buffer(data)
    tape = Tape(buffer)
    cursor = Cursor(buffer, start, start + length)
    best = -1.0
    for unsigned in (False, True):
        tape.cut(0)
        cursor.pos = start
        body = BodyReader(cursor, tape, unsigned, True)
        try:
            body.read(kind)
        except DecodeError:
            continue
        if cursor.pos == cursor.end:
            best = prices(data, start - 3, 3) + _inner_bits(data, tape, kind)
            break
        best = max(best, 0.0)
    if best < 0:
        return (
            0.0 if kind in (v.DATA, v.HEADER, v.SESSION_INFO) else -8.0
        )  # deployed writers leave values out
    return best


def _cut_bits(data: bytes, start: i64, after: i64, kind: i64) -> float:
    """Bits of a body that the input cuts: a name, then a text or bytes that end where the body ends."""
    if kind != v.DATA and kind != v.HEADER and kind != v.SESSION_INFO:
        return 0.0
    cursor = Cursor(t.Buffer(data), start, len(data))
    try:
        cursor.skip(unzigzag(cursor.varint("a length")), "a name")
        tag = cursor.u8("a tag")
        if tag != 24 and tag != 17:
            return 0.0
        length = unzigzag(cursor.varint("a length"))
    except DecodeError:
        return 0.0
    if length < 0 or length != after - cursor.pos:
        return 0.0
    return prices(data, start - 3, 3) + MEETS + CHANGE


def _inner_bits(data: bytes, tape: Tape, kind: i64) -> float:
    """Bits of the content of a body that fills its size: known numbers, names, the tags of values."""
    bits = 0.0
    first = tape.number(0)
    if kind == v.FLAG:
        bits += 2.0 if 1 <= first <= 7 else 0.0
    elif kind == v.ADDRESS or kind == v.SOURCE_ADDRESS:
        bits += (MEETS + CHANGE if int(first) in v.ADDRESSES else 0.0) + CHANGE
    elif kind == v.DATA or kind == v.HEADER or kind == v.SESSION_INFO:
        bits += CHANGE  # the length of a name
        value = tape.following(0)
        if tape.size() > value:
            tag = tape.kind(value)
            bits += CHANGE
            if tag == t.STRING or tag == t.BYTES or tag == t.MAP or tag == t.LIST:
                bits += CHANGE + 1.0  # a tag, and lengths that end where the body does
    return bits
