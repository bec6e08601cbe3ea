"""Evidence for mevent: lengths that lead to the next message, types, names, codes; where a message starts."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs.background import CHANGE, OTHER, prices, proved
from wirelens.codecs.codec import NO_EVIDENCE, Evidence, messages_evidence
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.mevent import decoding
from wirelens.codecs.mevent import vocabulary as v
from wirelens.codecs.mevent.decoding import prefix_length, word_at
from wirelens.codecs.node import Node, root_of
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import count

LOOKED_AT: Final = 16  # messages that detection decodes
MOST_WEAK: Final = 20.0  # bits that messages may give that prove nothing by themselves
STARTS_TRIED: Final = 256  # positions that are tried as the first message of a stream
SETTLED: Final = 24.0  # bits above which more input would not add to the result


def probe(data: bytes, other: bytes) -> Evidence:
    """Bits of the messages at the start: version, lengths that meet, types, names and codes."""
    result = _evidence(data)
    if result.bits > 0 and other:
        opposite = _evidence(other)
        if proved(opposite.bits, opposite.whole, opposite.at_end):
            reasons = (*result.reasons, "the other direction is mevent too")
            return result.changed(bits=result.bits + OTHER, reasons=reasons)
    return result


def resync(data: bytes, start: i64, end: i64) -> i64:
    """The next position of a head that its own lengths, names and codes confirm; linear in the bytes.

    After damage inside a message with prefix that is where its length leads, if a head is there.
    """
    if end - start >= 19:
        length = prefix_length(data, start - 1, end, True)
        after = start - 1 + length
        if length and length <= v.MAX_LENGTH and after <= end:
            if after + 12 <= end and _starts(data, after, end):
                return after
            if after + v.LONGEST_HEAD > end:
                return end
    at = start
    while at + 12 <= end:
        if _starts(data, at, end) and not (at == start + 3 and _is_cut(data, start - 1, end)):
            return at
        at += 1
    return end


def _is_cut(data: bytes, at: i64, end: i64) -> bool:
    """Whether a prefix at a position states a length that servers take, and that the bytes do not have."""
    return at >= 0 and end - at < word_at(data, at) <= v.MAX_LENGTH


def first_message(data: bytes, start: i64, end: i64, final: bool, role: str) -> i64:
    """Where decoding starts in a stream whose beginning is missing; see Codec.first.

    A head counts if messages of one kind follow one another from there to the end of the bytes. One
    direction has requests or replies, not both; a request proves itself by its plugin's name, so where
    there is one, replies found before it are chance.
    """
    at = start
    tried = 0
    reply: i64 = -1
    while at + 8 <= end and tried < STARTS_TRIED:
        if at > start or end - at >= 12:
            while at + 12 <= end and not _starts(data, at, end):
                at += 1
        if at + 12 > end and not (final and at == start):
            break
        tried += 1
        if 0 < at - start < 4 and data[at - 1] != 0:
            at += 1  # the message lacks the start of its prefix
            continue
        found = _chain(data, at, end, final)
        if found == "request" and role != "reply":
            if at > start or word_at(data, at) >> 28 != 1:
                return at
            following = _following(data, at, end)
            if following < 0 and not final:
                return -1  # whether it lacks its prefix, the next message will show
            if following >= 0 and word_at(data, following) >> 28 == 1:
                return at
        if found == "reply" and role != "request" and reply < 0:
            reply = at
            if at == start and _prefix(data, at, end, True) == 0:
                following = _following(data, at, end)
                prefix = -1 if following < 0 else _prefix(data, following, end, final)
                if prefix < 0 and not final:
                    return -1
                if prefix != 0:
                    reply = -1  # it lacks its prefix
        at += 1
    if reply >= 0:
        return reply
    return end if final else -1


def _chain(data: bytes, at: i64, end: i64, final: bool) -> str:
    """The kind of the messages that follow one another from a position to the end, "" if they do not."""
    buffer = Buffer(data)
    cursor = Cursor(buffer, at, end)
    kind = ""
    messages = 0
    while cursor.pos < end and messages < LOOKED_AT:
        if messages and cursor.pos + v.LONGEST_HEAD <= end and not _starts(data, cursor.pos, end):
            return ""
        if messages and end - cursor.pos == 8 and _prefix(data, at, end, True) > 0:
            if 8 <= word_at(data, cursor.pos) <= v.MAX_LENGTH:
                return kind  # a prefix and an id, which by themselves are a message without a prefix
        tape = Tape(buffer)
        try:
            decoding.decode(cursor, tape, final)
        except DecodeError as error:
            if not error.needed or error.needed <= end:
                return ""
            tape.close_from(0, end)
            if messages:
                return kind
            if tape.size() == 0:  # more is needed to read anything
                if not _starts(data, at, end):
                    return ""
                asks = word_at(data, at) >> 28 == 1 or word_at(data, at + 4) >> 28 == 1
                return "request" if asks else "reply"
            if not _plausible(root_of(tape)):
                return ""
            return "request" if root_of(tape).member("request") is not None else "reply"
        root = root_of(tape)
        if not _plausible(root):
            return ""
        this = "reply" if root.member("request") is None else "request"
        if kind and this != kind:
            return ""
        kind = this
        messages += 1
    return kind


def _following(data: bytes, at: i64, end: i64) -> i64:
    """The position of the message after the one at a position; -1 if the bytes end before it."""
    cursor = Cursor(Buffer(data), at, end)
    try:
        decoding.decode(cursor, Tape(cursor.buffer), True)
    except DecodeError:
        return -1
    return cursor.pos if cursor.pos + 4 <= end else -1


def _prefix(data: bytes, at: i64, end: i64, final: bool) -> i64:
    """The length that a prefix at a position states: 0 without one, negative if that takes more bytes."""
    if at + 8 > end:
        return 0 if final else -8
    return decoding.prefix_length(data, at, end, final)


def _plausible(root: Node) -> bool:
    """Whether a message has nothing that software would not write."""
    return _message_bits(root, False)[0] >= 0


def _starts(data: bytes, at: i64, end: i64) -> bool:
    """Whether a position has a message's head that its lengths, names and codes confirm.

    The result does not depend on bytes after those that it looks at, so that input in pieces gives the same.
    """
    first = word_at(data, at)
    second = word_at(data, at + 4)
    third = word_at(data, at + 8)
    top = first >> 28
    if top == 1:
        return _request_at(data, at, end)
    if top != 0 or first == 0:
        return False
    if second >> 28 == 1:
        return 4 + v.REQUEST_HEAD <= first <= v.MAX_LENGTH and _request_at(data, at + 4, end)
    if second >> 28 != 0 or second == 0:
        return False
    if first == 12:
        return v.known_code(third)
    if at + 20 > end:
        return False
    fourth = word_at(data, at + 12)
    fifth = word_at(data, at + 16)
    if first == 16 + fourth and fourth >= 4:
        return fifth <= v.DEPLOYED_ARRAY and third > 0
    return (
        v.known_code(second)
        and third <= v.MAX_LENGTH
        and 1 <= fourth <= v.DEPLOYED_ARRAY
        and fifth <= v.LONGEST_NAME
    )


def _request_at(data: bytes, at: i64, end: i64) -> bool:
    """Whether a position has a request's head with a name of printable bytes."""
    if at + v.REQUEST_HEAD > end:
        return False
    length = word_at(data, at + 8)
    after = at + v.REQUEST_HEAD + length
    return length <= v.LONGEST_NAME and after <= end and _printable(data, at + v.REQUEST_HEAD, after)


def _printable(data: bytes, start: i64, end: i64) -> bool:
    """Whether a range has at least one byte, and all are printable ASCII other than blanks."""
    at = start
    while at < end:
        if not 0x21 <= i64(data[at]) <= 0x7E:
            return False
        at += 1
    return end > start


def _evidence(data: bytes) -> Evidence:
    """Evidence of the messages at the start of a stream."""
    buffer = Buffer(data)
    end: i64 = len(data)
    cursor = Cursor(buffer, 0, end)
    bits = 0.0
    weak = 0.0
    messages = 0
    whole = False
    settle = "more messages, or the other direction"
    reasons: list[str] = []
    while cursor.pos < end and messages < LOOKED_AT:
        tape = Tape(buffer)
        cut = False
        try:
            decoding.decode(cursor, tape, True)
        except DecodeError as error:
            cut = error.needed > end
            tape.close_from(0, end)
            if not cut or tape.size() == 0:
                if not messages:
                    return NO_EVIDENCE
                break
            settle = count(error.needed - end, "more byte")
        root = root_of(tape)
        gained, strong = _message_bits(root, cut)
        if gained < 0:
            if not messages:
                return NO_EVIDENCE
            break
        messages += 1
        whole = not cut and cursor.pos == end
        if strong:
            bits += gained
        else:
            weak = min(weak + gained, MOST_WEAK)
        if len(reasons) < 3:
            reasons.append(_reason(root, cut))
        if cut:
            break
    if cursor.pos == end and messages > 1:
        reasons.append(f"{messages} messages fill the bytes")
    bits += weak
    return messages_evidence(bits, reasons, messages, whole, 4.0, "" if bits >= SETTLED else settle)


def _reason(root: Node, cut: bool) -> str:
    """A message as a reason: request or reply, and whether its prefix counts it."""
    request = root.member("request")
    prefix = "a prefix that counts its message, " if root.member("prefix") is not None else ""
    end = " that the input cuts" if cut else ""
    if request is not None:
        return f'{prefix}a request{end} to the plugin "{request.shown_of("plugin")}"'
    reply = root.member("reply")
    return f"{prefix}a reply{end} with code {0 if reply is None else reply.number_of('code')}"


def _message_bits(root: Node, cut: bool) -> tuple[float, bool]:
    """Bits of one message (-1: not a message), and whether it proves something by itself."""
    if root.member("extra") is not None:
        return -1.0, False
    bits = 0.0
    prefix = root.member("prefix") is not None
    if prefix:
        # four bytes that count the message: confirmed by its end, or by the start of the next one
        bits = prices(root.buffer.data, root.span[0], 4) if not cut else 2.0
    request = root.member("request")
    if request is not None:
        gained = _request_bits(request)
        return (-1.0, False) if gained < 0 else (bits + gained, True)
    reply = root.member("reply")
    if reply is None:
        return -1.0, False
    return _reply_bits(reply, bits, prefix, cut)


def _request_bits(request: Node) -> float:
    """Bits of a request; -1 if it is not one."""
    plugin = request.member("plugin")
    if plugin is None or request.number_of("version") != 1 or request.member("extra") is not None:
        return -1.0
    name = plugin.content
    if len(name) > v.LONGEST_NAME or not _printable(name, 0, len(name)):
        return -1.0
    bits = 4.0 + _text_bits(request.buffer.data, plugin.span, len(name))
    if request.number_of("flags") <= 3:
        bits += 1.0
    if request.number_of("eof"):
        bits += 3.0
    gained = _variable_bits(request)
    return -1.0 if gained < 0 else bits + gained


def _reply_bits(reply: Node, bits: float, prefix: bool, cut: bool) -> tuple[float, bool]:
    """Bits of a reply (-1: not a reply) in addition to `bits`, and whether it proves something by itself."""
    if reply.member("extra") is not None:
        return -1.0, False
    reply_id = reply.number_of("id")
    code = reply.number_of("code")
    known = v.known_code(code)
    likely = known or 13 <= code < v.FIRST_ERROR or -256 <= v.signed_code(code) < 0
    if reply_id > v.MAX_ID and known:
        return 0.0, False
    if reply_id == 0 or reply_id > v.MAX_ID or not likely:
        return -1.0, False
    strong = True
    code_node = reply.member("code")
    if known and code_node is not None:
        free = 2.0 if code >= 1000 else 4.0  # bits of the choice among the known codes
        bits += max(prices(reply.buffer.data, code_node.span[0], 4) - free, 0.0)
    variables = reply.member("variables")
    if variables is None:
        if reply.member("error_code") is not None:
            if code not in v.FAILED or not v.known_code(reply.number_of("error_code")):
                return -1.0, False
            bits += 6.0
        else:
            strong = prefix
    elif not cut:
        bits += 8.0  # vsize, which leads to the end of the message
        strong = prefix or len(variables) > 0
    gained = _variable_bits(reply)
    return (-1.0, False) if gained < 0 else (bits + gained, strong)


def _text_bits(data: bytes, span: tuple[int, int], size: int) -> float:
    """Bits of a name: a length after which the printable bytes end, text between other bytes."""
    if size <= 0:
        return 0.0
    end = span[1]
    bits = prices(data, span[0], 4) - 3.0 + min(0.5 * float(size), CHANGE)
    if end < len(data) and data[end] < 0x20:
        bits += CHANGE
    return bits


def _variable_bits(part: Node) -> float:
    """Bits of a message's variables; -1 if software would not give one of the names."""
    variables = part.member("variables")
    if variables is None:
        return 0.0
    data = part.buffer.data
    bits = 0.0
    position = 1.0
    for variable in variables.first(4):
        name = variable.member("name")
        if name is None:
            continue
        content = name.content
        if len(content) > v.LONGEST_NAME or not _printable(content, 0, len(content)):
            return -1.0
        gained = 4.0 + _text_bits(data, name.span, len(content))  # a type from 1 to 4 in four bytes, a name
        if content == b"root":
            gained += 8.0
        if variable.member("value") is not None:
            gained += 4.0  # a length that stays within the message, or a value
        bits += gained / position
        position += 1.0
    return bits
