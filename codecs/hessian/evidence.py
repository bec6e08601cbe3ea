"""The evidence for a dialect of Hessian, and the search for the next message after damage.

The start of a stream is read by the dialect's own decoder, and what it wrote is weighed (weighing.py;
detection.py explains the scale).
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.background import OTHER, PROVED, proved
from wirelens.codecs.codec import NO_EVIDENCE, Evidence
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.decoding import Messages, likelier_packets
from wirelens.codecs.hessian.message_forms import VALUES
from wirelens.codecs.hessian.packets import lengths_lead_to_end
from wirelens.codecs.hessian.tables import Tables
from wirelens.codecs.hessian.value_decoding import MISPLACED, TO_END, Values
from wirelens.codecs.hessian.weighing import MOST_NUMBERS, MOST_WORDS, Weighing
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import count

PREVIEW: Final = 1 << 8  # bytes that are read before, where half of them are the same
LONGEST_PATTERN: Final = 1 << 8
PATTERN_START: Final = 8  # bytes by which a pattern is looked for
MANY_VALUES: Final = 96  # at the top level; once this many show no evidence, nothing more is read
HOPELESS: Final = 18.0  # bits; fewer than these are no evidence for MANY_VALUES
FIRST_LOOK: Final = 1 << 12  # bytes that are read first
SECOND_LOOK: Final = 1 << 17  # bytes that are read if the first look ends inside a message
FEW_NODES: Final = 512  # at most, in the first look, for the second
SAME_LOOK: Final = 1 << 14  # bytes in which two dialects are compared
PROMISING: Final = 14.0  # or bits for the second look, if it can read to the end
MOST_MESSAGES: Final = 8
SEVERAL: Final = -3.0  # several values at the top level: most streams have one
ANOTHER: Final = -0.2  # each further value at the top level
USELESS: Final = -20.0  # class definitions without an object
ERROR: Final = -8.0
OUT_OF_PLACE: Final = -4.0  # an object where a string belongs: receivers in Java read it
CUT: Final = -3.0
TEXT_SHARE: Final = 8.0  # bytes of pure text that cost one bit
JUNK: Final = -6.0  # what follows a message or value is not one

RESYNC_FREE: Final = 1 << 16  # bytes of failed candidates that cost nothing
RESYNC_FACTOR: Final = 8  # bytes of failed candidates for each byte passed over
RESYNC_CUT: Final = 1 << 14  # bytes of a last message that may be cut


def probe(dialect: i64, data: bytes, other: bytes = b"") -> Evidence:
    """See Codec.probe; `dialect` is one of vocabulary.py."""
    if not data or _is_run(dialect, data):
        return NO_EVIDENCE
    result = _weigh(dialect, data)
    if other and result.bits > 0:
        theirs = _weigh(dialect, other)
        if proved(theirs.bits, theirs.whole, theirs.at_end):
            reasons = (*result.reasons, "the other direction is in the same dialect")
            return result.changed(bits=result.bits + OTHER, reasons=reasons)
    return result


def _weigh(dialect: i64, data: bytes) -> Evidence:
    """The evidence of one direction; repetitions of a pattern after its second add nothing."""
    result = _look(dialect, data, FIRST_LOOK)
    if result.bits >= PROVED / 2.0:
        twice: i64 = 2 * _pattern_size(data[:FIRST_LOOK])
        if 0 < twice < len(data):
            bits = _look(dialect, data[:twice], FIRST_LOOK).bits
            return result.changed(bits=min(result.bits, bits))
    return result


def _pattern_size(data: bytes) -> i64:
    """The size of the shortest pattern, up to LONGEST_PATTERN bytes, that the data is made of; 0 for none."""
    size: i64 = len(data)
    start = data[:PATTERN_START]
    at: i64 = data.find(start, 1, LONGEST_PATTERN + PATTERN_START)
    while at > 0:
        if data[at:] == data[: size - at]:
            return at
        at = data.find(start, at + 1, LONGEST_PATTERN + PATTERN_START)
    return 0


def _is_run(dialect: i64, data: bytes) -> bool:
    """Whether it starts as nothing but many values at the top level: zeros are empty strings."""
    if len(data) <= PREVIEW:
        return False
    for common in (0, data[PREVIEW - 1], data[PREVIEW - 2]):
        if 2 * data.count(common, 0, PREVIEW) >= PREVIEW:
            break
    else:
        return False
    if dialect == d.FINAL and len(data) <= FIRST_LOOK and lengths_lead_to_end(data, len(data)):
        return False  # packets
    head = data[:PREVIEW]
    tape = Tape(Buffer(head))
    _read(dialect, Cursor(tape.buffer, 0, PREVIEW), tape)
    if _top(tape) < MANY_VALUES:
        return False
    weighing = Weighing(dialect, head)
    weighing.message(tape, 0, PREVIEW)
    return max(weighing.best, weighing.bits) < HOPELESS


def _look(dialect: i64, data: bytes, size: i64) -> Evidence:
    """Weigh the first `size` bytes."""
    start_of = data[:size]
    end: i64 = len(start_of)
    buffer = Buffer(start_of)
    cursor = Cursor(buffer, 0, end)
    weighing = Weighing(dialect, start_of)
    messages: i64 = 0
    values: i64 = 0
    settle = ""
    failed = False
    unfinished = False
    words: i64 = 0  # of the tapes
    while cursor.pos < end and messages < MOST_MESSAGES and words < MOST_WORDS:
        start = cursor.pos
        tape = Tape(buffer)
        try:
            Messages(dialect, cursor, tape, True).read()
        except DecodeError as error:
            if start == 0 and dialect == d.FINAL:
                framed = Tape(buffer)
                again = Cursor(buffer, 0, end)
                if Messages(dialect, again, framed, True).try_packets():
                    cursor.pos = end
                    messages = 1
                    weighing.heads.append("packets")
                    weighing.packets(framed)
                    weighing.message(framed, 0, end)
                    break
            failed = True
            words += tape.size()
            if not error.needed:
                tape.close_from(0, min(cursor.pos, end))
                weighing.message(tape, start, end)
                misplaced = any(note.code == MISPLACED for note in tape.notes)
                weighing.bits += OUT_OF_PLACE if misplaced else ERROR
                weighing.add_objection(f"offset {error.offset}: {error.text}")
                break
            if end < len(data) and size < SECOND_LOOK:
                # a promising message, or one long text, is worth reading further
                tape.close_from(0, end)
                weighing.message(tape, start, end)
                promising = PROMISING <= weighing.bits < PROVED and len(data) <= SECOND_LOOK
                one_value = messages == 0 and _top(tape) == 1 and weighing.bits < PROVED
                few = tape.nodes(0, tape.size()) <= FEW_NODES and _top(tape) <= MANY_VALUES
                if promising or one_value or few:
                    return _look(dialect, data, SECOND_LOOK)
                break
            missing = error.needed - len(data)
            if missing > 0:
                settle = count(missing, "more byte")
            if dialect == d.FINAL and start_of[start] == 0x43:
                tape = _as_values(buffer, start, end, tape)
            tape.close_from(0, end)
            weighing.message(tape, start, end)
            unfinished = messages == 0 and _top(tape) == 1
            if unfinished and end < len(data) and weighing.bits < PROVED:
                return _look(dialect, data, len(data))  # only its end can prove it
            break
        if start == 0 and dialect == d.FINAL:
            packets = likelier_packets(cursor, tape)
            if packets is not None:
                tape = packets
                weighing.heads.append("packets")
                weighing.packets(packets)
        words += tape.size()
        messages += 1
        values += _top(tape)
        weighing.message(tape, start, cursor.pos)
        weighing.best = max(weighing.best, weighing.bits)
    if values > 1:
        weighing.bits += SEVERAL + ANOTHER * float(values - 2)
    junk = weighing.best + JUNK > weighing.bits
    if junk:
        weighing.bits = weighing.best + JUNK
        weighing.add_objection("what follows is not a message")
    if weighing.row and weighing.row + SEVERAL > weighing.bits:
        weighing.bits = weighing.row + SEVERAL
        weighing.heads.append("a row of numbers of several sizes")
    if weighing.classes and weighing.objects == 0 and not settle:
        weighing.bits += USELESS
        weighing.add_objection("class definitions without an object")
    refused = ""
    if dialect == d.DRAFT and failed and len(data) <= size and (not settle or weighing.heads):
        if _is_2006(start_of):
            refused = "hessian-2006"
    whole = not failed and not junk and cursor.pos == len(data)
    at_end = _at_end(weighing, data, values) if whole else CUT if settle else 0.0
    if dialect != d.FINAL:
        weighing.bits -= 0.125 if dialect == d.DRAFT else 0.25  # less common today
    one = messages == 1 and values <= 1
    if not (whole and one and weighing.texts) and end >= 16 and _is_text(start_of[:FIRST_LOOK]):
        # every few bytes a writer sends a length or opcode that is not text
        weighing.bits -= float(min(end, FIRST_LOOK)) / TEXT_SHARE
        weighing.add_objection("all of it is text")
    equal = (d.NAMES[d.V1], d.NAMES[d.FINAL]) if refused else ()
    return Evidence(
        bits=weighing.bits,
        reasons=_reasons(weighing, whole),
        settle=settle,
        equal=equal,
        whole=whole,
        one=one,
        at_end=at_end,
        refused=refused,
        unfinished=unfinished,
    )


def _at_end(weighing: Weighing, data: bytes, values: i64) -> float:
    """Bits of an end where all of the data is used up."""
    at_end = 2.0
    if weighing.longest >= 4:
        items = weighing.longest
        while items > 1 and at_end < 12.0:
            at_end += 1.0
            items >>= 1
    if weighing.last_text == len(data):
        at_end = max(at_end, weighing.last_bits)
    elif data[len(data) - 1] == 0x7A or data[len(data) - 1] == 0x5A:
        at_end = max(at_end, 4.0)
    if weighing.numbers > MOST_NUMBERS:
        at_end += float(min(weighing.numbers - MOST_NUMBERS, MOST_NUMBERS))
    if values > 1 and weighing.last_text == len(data):
        at_end = min(at_end, 4.0)  # a row of texts can end anywhere
    return at_end


def _as_values(buffer: Buffer, start: i64, end: i64, tape: Tape) -> Tape:
    """What starts with C and is cut, read as class definitions; `tape` if it does not read as such.

    The decoder takes it for a call if nothing follows.
    """
    other = Tape(buffer)
    other.open(t.head(t.STRUCT), start, 0)
    other.open(VALUES, start, 0)
    cursor = Cursor(buffer, start, end)
    try:
        Values(cursor, other, Tables(d.FINAL)).read(TO_END)
    except DecodeError as error:
        if error.needed:
            return other
    return tape


def _is_text(data: bytes) -> bool:
    """True for UTF-8, cut anywhere, without control characters other than those of text."""
    for cut in range(4):
        try:
            text = data[: len(data) - cut].decode()
        except UnicodeDecodeError as error:
            if error.start < len(data) - 4:
                return False
            continue
        break
    else:
        return False
    return not any(chr(byte) in text for byte in range(32) if byte not in b"\t\n\f\r\x1b")


def _is_2006(data: bytes) -> bool:
    """True for bytes that read to the end in the layout of 2006, and in none of the dialects in use."""
    return _reads(d.LAYOUT_2006, data) and not (
        _reads(d.DRAFT, data) or _reads(d.FINAL, data) or _reads(d.V1, data)
    )


def _reads(dialect: i64, data: bytes) -> bool:
    """True if all of the data is messages of a dialect."""
    buffer = Buffer(data)
    cursor = Cursor(buffer, 0, len(data))
    while cursor.pos < cursor.end:
        if _read(dialect, cursor, Tape(buffer)):
            return False
    return True


def _top(tape: Tape) -> i64:
    """The number of values of a message of plain values; 0 for any other message."""
    if tape.size() <= t.WIDTH or tape.head(t.WIDTH) & ~t.BROKEN != VALUES:
        return 0
    count: i64 = 0
    at: i64 = 2 * t.WIDTH
    after = tape.next(t.WIDTH)
    while at < after:
        if tape.head(at) & t.HIDDEN == 0:
            count += 1
        at = tape.next(at)
    return count


def _reasons(weighing: Weighing, whole: bool) -> tuple[str, ...]:
    """The parts of the evidence, in words."""
    reasons: list[str] = []
    if weighing.heads:
        reasons.append(f"it starts as {weighing.heads[0]}")
    if weighing.classes:
        reasons.append(count(weighing.classes, "class definition"))
    if weighing.names:
        reasons.append(count(weighing.names, "Java-style name"))
    if weighing.resolved:
        reasons.append(count(weighing.resolved, "valid reference"))
    if weighing.ends:
        reasons.append(
            count(weighing.ends, "end marker in the right place", "end markers in the right places")
        )
    if weighing.counts:
        reasons.append(count(weighing.counts, "correct list length"))
    if weighing.texts:
        reasons.append(
            count(weighing.texts, "string of the declared length", "strings of the declared length")
        )
    if whole:
        reasons.append("all bytes are used")
    reasons.extend([f"against it: {reason}" for reason in weighing.against[:3]])
    return tuple(reasons)


def same_meaning(first: i64, second: i64, data: bytes) -> bool:
    """True if the bytes mean the same in two dialects, in the part that detection looks at."""
    if len(data) > FIRST_LOOK and not _same_in(first, second, data[:FIRST_LOOK]):
        return False
    return _same_in(first, second, data[:SAME_LOOK])


def unusual_forms(dialect: i64, data: bytes) -> i64:
    """How many values are not in the form that writers use, in the part that dialects are compared in."""
    head = data[:SAME_LOOK]
    buffer = Buffer(head)
    cursor = Cursor(buffer, 0, len(head))
    count: i64 = 0
    while cursor.pos < cursor.end:
        tape = Tape(buffer)
        failed = _read(dialect, cursor, tape)
        index: i64 = 0
        while index < tape.size():
            if tape.head(index) >> t.FORM_SHIFT & t.FORM_MASK:
                count += 1
            index = tape.following(index)
        if failed:
            break
    return count


def _same_in(first: i64, second: i64, data: bytes) -> bool:
    """True if two dialects read all of the bytes to the same nodes."""
    end: i64 = len(data)
    buffer = Buffer(data)
    left_cursor = Cursor(buffer, 0, end)
    right_cursor = Cursor(buffer, 0, end)
    while left_cursor.pos < end:
        left = Tape(buffer)
        right = Tape(buffer)
        cut = _read(first, left_cursor, left)
        if (
            cut != _read(second, right_cursor, right)
            or left_cursor.pos != right_cursor.pos
            or not _same(left, right)
        ):
            return False
        if cut:
            break
    return True


def _read(dialect: i64, cursor: Cursor, tape: Tape) -> bool:
    """Read a message; True if that fails."""
    try:
        Messages(dialect, cursor, tape, True).read()
    except DecodeError:
        tape.close_from(0, min(cursor.pos, cursor.end))
        return True
    return False


def _same(left: Tape, right: Tape) -> bool:
    """True if two tapes hold the same nodes, apart from wire forms."""
    if left.size() != right.size():
        return False
    count = left.size()
    ours = left.words
    theirs = right.words
    mask: i64 = t.FORM_MASK
    mask = ~(mask << t.FORM_SHIFT)
    at: i64 = 0
    while at < count:
        if ours[at] & mask != theirs[at] & mask or ours[at + 1] != theirs[at + 1]:
            return False
        if ours[at] & t.SHORT:
            at += t.SHORT_WIDTH
            continue
        # of a class, one of the two may have no number for its layout yet
        if ours[at + 2] != theirs[at + 2] and ours[at] & t.KIND_MASK != t.CLASS:
            return False
        at += t.WIDTH
    return True


def _has_head(dialect: i64, data: bytes, at: i64, end: i64) -> bool:
    """True where a call, reply, message or envelope with a version may start."""
    if end - at < 5:
        return False
    byte: i64 = data[at]
    if dialect == d.FINAL:
        if byte == 0x48:
            return data[at + 1 : at + 3] == b"\2\0" and data[at + 3] in b"CRF"
        return byte == 0x70 and data[at + 1 : at + 3] == b"\2\0"
    if data[at + 1] > 2 or data[at + 2] > 1:
        return False
    if byte == 0x63:
        return data[at + 3] in b"mH"
    if byte == 0x72:
        return True
    return dialect == d.DRAFT and (byte == 0x70 or (byte == 0x45 and data[at + 3] == 0x6D))


def resync(dialect: i64, data: bytes, start: i64, end: i64) -> i64:
    """The next call, reply or message that decodes whole; `end` if there is none. Values alone prove nothing.

    The work on candidates that fail is bounded by the distance, so that the search stays linear.
    """
    spent: i64 = 0
    at = start
    while at < end:
        if _has_head(dialect, data, at, end) and spent <= RESYNC_FREE + RESYNC_FACTOR * (at - start):
            buffer = Buffer(data)
            cursor = Cursor(buffer, at, end)
            try:
                Messages(dialect, cursor, Tape(buffer), False).read()
                return at
            except DecodeError as error:
                if error.incomplete and end - at <= RESYNC_CUT:
                    return at
                spent += end - at if error.incomplete else cursor.pos - at
        at += 1
    return end
