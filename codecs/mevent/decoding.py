"""Bytes to nodes of a tape: prefix, requests and replies, and their variables under either numbering."""

import re
from typing import Final

from librt.strings import read_i32_be, read_i64_be
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.fields import read_rest, read_u16, read_u32
from wirelens.codecs.mevent import hdf
from wirelens.codecs.mevent import vocabulary as v
from wirelens.codecs.scan import plain_end, slot_of
from wirelens.codecs.tape import Mark, Tape
from wirelens.codecs.words import count

CONTROLS: Final = rb"[\x00-\x08\x0e-\x1f\x7f]"  # compiled when it is first used


def decode(cursor: Cursor, tape: Tape, final: bool, prefixed: bool = False) -> None:
    """See Codec.decode; `prefixed`: the other messages of the connection have the prefix."""
    start = cursor.pos
    if cursor.left() < 8:
        raise cursor.short(8, "a mevent message")
    length = prefix_length(cursor.data, start, cursor.end, final, prefixed)
    if length < 0:
        raise cursor.short(-length, "a mevent message")
    if length == 0:
        root = tape.open(v.ROOT_HEAD, start, 0)
        _read_message(cursor, tape, False, final)
        tape.close(root, cursor.pos)
        if cursor.pos - start > v.MAX_LENGTH:
            text = f"{cursor.pos - start} bytes without a prefix: more than a datagram holds (64 KiB)"
            tape.note("over-64k", start, text, cursor.buffer)
        return
    _check_claim(cursor, length, "the prefix")
    cut = length > cursor.left()
    if cut and not final:
        raise cursor.short(length, "a message with its length before it")
    outer = cursor.end
    root = tape.open(v.ROOT_HEAD, start, 0)
    tape.leaf(v.PREFIX_HEAD, start, start + 4, 1)
    cursor.pos = start + 4
    if not cut:
        cursor.end = start + length
    _read_message(cursor, tape, not cut, final)
    if cut:
        raise DecodeError(
            "truncated",
            int(cursor.buffer.absolute(start)),
            f"the prefix states {length} bytes, {outer - start} are present",
            int(start + length),
        )
    if cursor.pos < cursor.end:
        _read_extra(cursor, tape)
    cursor.end = outer
    tape.close(root, cursor.pos)
    if length > v.MAX_LENGTH:
        text = f"{length} bytes: servers close the connection above 64 KiB"
        tape.note("over-64k", start, text, cursor.buffer)


def word_at(data: bytes, at: i64) -> i64:
    """The unsigned 32-bit number at a position; the caller knows that the data has it."""
    return i64(read_i32_be(data, at)) & 0xFFFFFFFF


def prefix_length(data: bytes, pos: i64, end: i64, final: bool, prefixed: bool = False) -> i64:
    """The length that a prefix at `pos` states; 0 if there is no prefix; -n asks for n bytes.

    A first word below 2^28 is a prefix or a reply's id. The words after it decide which, in the same way
    whether they arrive at once or one by one. If the other messages of a connection are `prefixed`, one that
    is cut is too.
    """
    length = word_at(data, pos)
    if length < 12 or length > v.MAX_ID:
        return 0
    left = end - pos
    second = word_at(data, pos + 4)
    top = second >> 28
    if top == 1 and length >= 4 + v.REQUEST_HEAD:
        return length
    if prefixed and final and left < length <= v.MAX_LENGTH and top == 0:
        return length
    if left < 12:
        if not final:
            return -12
        return 0 if left == 8 or v.known_code(second) else length  # the rest of a message is missing
    third = word_at(data, pos + 8)
    if length == 12 and (top != 0 or v.known_code(third) != v.known_code(second)):
        return 12 if v.known_code(third) else 0
    if left < 16:
        if not final:
            return -16
        if length == 12:
            return 12
        return length if v.known_code(third) and not v.known_code(second) else 0
    fourth = word_at(data, pos + 12)
    if top != 0:
        if v.known_code(third) and (length == 16 + fourth or (length == 16 and v.known_code(fourth))):
            return length
        return length if 1 <= fourth <= v.SMALL_TYPE and 16 + fourth <= length else 0
    if length == 12:
        # without prefix the fourth word is the next reply's code, with it the next length
        code = (13 <= fourth <= 24 and fourth != 16 and fourth != 20) or fourth == v.REP_OK
        bare = code and v.known_code(second)
        return 0 if bare or _val_follows(third, fourth) else 12
    if length == 16 and (fourth == 0 or (third in v.FAILED and v.known_code(fourth))):
        return 0 if _val_follows(third, fourth) else 16
    if length == 16 + fourth and fourth >= 4:
        if length == 20:
            if left < 20:
                return 20 if final else -20
            return 20 if word_at(data, pos + 16) == v.EOF else 0
        return length
    if v.known_code(second) or length > v.MAX_LENGTH or _val_follows(third, fourth):
        return 0
    # neither fits: damage; the position that the length leads to decides
    if left < length:
        return 0 if final else -length
    if left < length + 4:
        if final:
            return length if left == length else 0
        return -(length + 4)
    return length if 12 <= word_at(data, pos + length) <= v.MAX_LENGTH else 0


def _val_follows(vsize: i64, first: i64) -> bool:
    """Whether two words after a reply's code can be vsize and the first type of val."""
    if vsize < 4:
        return vsize == 0
    return 1 <= first <= v.DEPLOYED_ARRAY or (first == v.EOF and vsize == 4)


def _check_claim(cursor: Cursor, length: i64, what: str) -> None:
    """Refuse a length that is too large to wait for."""
    if length > v.MAX_CLAIM:
        raise cursor.error("limit", cursor.pos, f"{what} claims {length} bytes, {v.MAX_CLAIM} at most")


def _too_short(cursor: Cursor, bounded: bool, size: i64, what: str) -> DecodeError:
    """The error that `size` bytes are missing: final, if the message has a stated length."""
    if bounded:
        text = f"{what} ({size} bytes) does not fit in the {cursor.left()} left"
        return cursor.error("bad-length", cursor.pos, text)
    return cursor.short(size, what)


def _read_message(cursor: Cursor, tape: Tape, bounded: bool, final: bool) -> None:
    """Read a request or a reply; up to the cursor's end if `bounded`."""
    start = cursor.pos
    left = cursor.left()
    top: i64 = 0
    second: i64 = 0
    if left >= 8:
        top = word_at(cursor.data, start) >> 28
        second = word_at(cursor.data, start + 4)
    request = top == 1
    if top == 1:
        # a reply's id may be garbage, and only a reply is that short
        if left == 8 and (bounded or final) and v.known_code(second):
            request = False
    elif top > 1:
        request = not v.known_code(second) and not (left < v.REQUEST_HEAD and (bounded or final))
        if bounded and left == 8:
            request = False
    if request:
        dialect = _read_request(cursor, tape, bounded, final)
    else:
        dialect = _read_reply(cursor, tape, bounded, final)
    if dialect >= 0:
        tape.leaf(v.DIALECT_HEAD, cursor.pos, cursor.pos, dialect)


def _read_request(cursor: Cursor, tape: Tape, bounded: bool, final: bool) -> i64:
    """Read a request; returns the dialect of its variables."""
    start = cursor.pos
    node = tape.open(v.REQUEST_NODE, start, 0)
    if cursor.left() < v.REQUEST_HEAD:
        raise _too_short(cursor, bounded, v.REQUEST_HEAD, "the head of a request")
    first = cursor.u32("version and id")
    version = first >> 28
    request_id = first & v.MAX_ID
    tape.leaf(v.VERSION_HEAD, start, start + 1, version)
    tape.leaf(v.ID_HEAD, start + 1, start + 4, request_id)
    read_u16(cursor, tape, v.COMMAND_HEAD, "a command")
    read_u16(cursor, tape, v.FLAGS_HEAD, "flags")
    length = cursor.u32("the length of the plugin's name")
    if version != 1 and length > v.SMALL_TYPE:
        text = f"no message starts here: version {version} and a name of {length} bytes"
        raise cursor.error("no-message", start, text)
    _check_claim(cursor, length, "the plugin's name")
    if length > cursor.left():
        raise _too_short(cursor, bounded, length, "the plugin's name")
    content = cursor.skip(length, "the plugin's name")
    tape.leaf(v.PLUGIN_HEAD, start + 8, cursor.pos, content)
    if version != 1:
        tape.note("other-version", start, f"version {version}; the protocol's is 1", cursor.buffer)
    dialect = _read_variables(cursor, tape, bounded, final, request_id, cursor.pos - start)
    tape.close(node, cursor.pos)
    return dialect


def _read_reply(cursor: Cursor, tape: Tape, bounded: bool, final: bool) -> i64:
    """Read a reply; returns the dialect of its variables, -1 if it has none."""
    start = cursor.pos
    node = tape.open(v.REPLY_NODE, start, 0)
    if cursor.left() < 8:
        raise _too_short(cursor, bounded, 8, "the id and the code of a reply")
    reply_id = read_u32(cursor, tape, v.ID_HEAD, "an id")
    code = cursor.u32("a reply code")
    if code == 0:
        raise cursor.error("no-message", start, "no message starts here: 0 is not a reply code")
    tape.leaf(v.CODE_HEAD, start + 4, start + 8, code)
    if reply_id > v.MAX_ID:
        _note_odd_id(cursor, tape, start, reply_id, code)
    dialect: i64 = -1
    following = _after_code(cursor, bounded, final, code)
    if following == _ERROR_CODE:
        text = "an error code in the place of vsize: a server's answer when it fails"
        tape.note("bare-error-code", cursor.pos, text, cursor.buffer)
        read_u32(cursor, tape, v.ERROR_CODE_HEAD, "an error code")
    elif following == _VAL:
        dialect = _read_val(cursor, tape, bounded, final)
    tape.close(node, cursor.pos)
    return dialect


# What follows a reply's code.
_NOTHING: Final = 0
_VAL: Final = 1  # vsize and val
_ERROR_CODE: Final = 2  # a bare error code


def _after_code(cursor: Cursor, bounded: bool, final: bool, code: i64) -> i64:
    """What follows the code of a reply. Raises DecodeError if it takes more bytes to decide."""
    left = cursor.left()
    data = cursor.data
    at = cursor.pos
    if bounded:
        if left < 4:
            return _NOTHING
        return _ERROR_CODE if left == 4 and word_at(data, at) != 0 else _VAL
    if left < 4:
        if final:
            return _NOTHING
        raise cursor.short(4, "a vsize, or the next message")
    vsize = word_at(data, at)
    if vsize < 4:
        return _VAL if vsize == 0 else _NOTHING
    if left < 8:
        if final and left == 4 and v.known_code(vsize) and code in v.FAILED:
            return _ERROR_CODE
        raise cursor.short(8, "a vsize and its val")
    first = word_at(data, at + 4)
    if _val_follows(vsize, first):
        return _VAL
    if v.known_code(first) or vsize > v.MAX_LENGTH:
        return _NOTHING  # the next reply
    # a val with a damaged type, if the input ends with it
    size = 4 + vsize
    if left <= size and not final:
        raise cursor.short(size + (1 if left == size else 0), "a vsize and its val")
    return _VAL if left == size else _NOTHING


def _read_val(cursor: Cursor, tape: Tape, bounded: bool, final: bool) -> i64:
    """Read vsize, and variables in as many bytes; returns their dialect."""
    at = cursor.pos
    vsize = read_u32(cursor, tape, v.VSIZE_HEAD, "vsize")
    _check_claim(cursor, vsize, "val")
    outer = cursor.end
    cut = vsize > cursor.left()
    if cut and bounded:
        raise cursor.error("bad-length", at, f"vsize is {vsize}, {cursor.left()} bytes are left")
    if cut and not final:
        raise cursor.short(vsize, "val")
    if not cut:
        cursor.end = cursor.pos + vsize
    dialect = _read_variables(cursor, tape, not cut, final, -1, 0)
    if cut:
        raise DecodeError(
            "truncated",
            int(cursor.buffer.absolute(at)),
            f"vsize is {vsize}, {outer - at - 4} bytes are present",
            int(at + 4 + vsize),
        )
    if cursor.pos < cursor.end:
        _read_extra(cursor, tape)
    cursor.end = outer
    return dialect


def _read_extra(cursor: Cursor, tape: Tape) -> None:
    """Read the bytes between the variables and the end of a stated length."""
    text = f"{count(cursor.left(), 'byte')} left over after the end of the variables"
    tape.note("extra-bytes", cursor.pos, text, cursor.buffer)
    read_rest(cursor, tape, v.EXTRA_HEAD)


def _note_odd_id(cursor: Cursor, tape: Tape, at: i64, reply_id: i64, code: i64) -> None:
    swapped = int.from_bytes(cursor.data[at : at + 4], "little")
    text = f"0x{reply_id:08x} is not a request id (28 bits)"
    if swapped <= v.MAX_ID and code in (14, 15, v.TYPED_ERROR + 1):
        text += f"; servers answer a wrong version with the id byte-swapped: request {swapped}"
    else:
        text += "; servers answer a request under 17 bytes with whatever is on their stack"
    tape.note("odd-id", at, text, cursor.buffer)


def _read_variables(
    cursor: Cursor, tape: Tape, bounded: bool, final: bool, request_id: i64, head: i64
) -> i64:
    """Read the variables under the numbering that fits; returns 0 for the text's, 1 for the deployed one.

    `request_id`: the id of the request that they belong to, which its reply starts with; -1 in a reply.
    `head`: bytes of the request before them; 0 in a reply.
    """
    reader = VariablesReader(cursor, tape, bounded, final, head)
    failure: DecodeError | None = None
    if bounded and not fits(cursor, False) and fits(cursor, True):
        # the same result as below; raising and catching errors took a third of the time of most messages
        reader.read(True, -1)
        return 1
    try:
        reader.read(False, -1)
    except DecodeError as error:
        failure = error
    if failure is None:
        if not reader.typed or (bounded and cursor.pos == cursor.end):
            return 0
        return _compare_numberings(reader, request_id)
    waits = failure.incomplete and not final and not bounded
    if waits and failure.needed - reader.start <= v.MAX_LENGTH:
        raise failure
    odd = reader.odd_values()
    misread = reader.misread or failure.code == "unknown-type"
    deployed = True
    try:
        reader.read_again(True, -1)
        if not reader.ended and cursor.pos < cursor.end and reader.odd_values() > odd:
            deployed = False
            reader.read_again(False, -1)
    except DecodeError as error:
        if not bounded and 1 <= request_id <= v.DEPLOYED_ARRAY and (final or not error.incomplete):
            # a reply may follow, whose id is as small as a type
            try:
                reader.read_again(True, request_id)
                return 1 if reader.typed else 0
            except DecodeError:
                pass
        if not deployed:
            raise
        if not error.incomplete or final:
            # damage in either case: whose values look like values, and whose types like types
            odd_too = reader.odd_values()
            misread_too = reader.misread or error.code == "unknown-type"
            if odd_too != odd:
                deployed = odd_too < odd
            elif misread_too != misread:
                deployed = misread
            else:
                deployed = misread and error.offset >= failure.offset
        reader.read_again(deployed, -1)
    return 1 if deployed else 0


def _compare_numberings(reader: "VariablesReader", request_id: i64) -> i64:
    """The variables fit the text's numbering, but not as far as the bytes go: see how far the other one fits.

    Returns the dialect, and leaves the tape and the cursor with it. Raises DecodeError if it takes more bytes
    to decide.
    """
    cursor = reader.cursor
    tape = reader.tape
    bounded = reader.bounded
    final = reader.final
    first_end = cursor.pos
    mark = tape.mark()
    failure: DecodeError | None = None
    second_end: i64 = -1
    try:
        reader.read(True, -1)
        second_end = cursor.pos
    except DecodeError as error:
        if error.incomplete and not final and not bounded and error.needed - reader.start <= v.MAX_LENGTH:
            failure = error
    tape.rollback(mark)
    cursor.pos = first_end
    if failure is None and (second_end < 0 or second_end == first_end):
        return 0
    if bounded:
        better = second_end == cursor.end
    else:
        if cursor.end - first_end < 4 and not final:
            raise cursor.short(4, "what follows the message")
        if _message_follows(cursor, first_end, request_id):
            return 0
        if failure is not None:
            raise failure
        if cursor.end - second_end < 4 and not final:
            cursor.pos = second_end
            raise cursor.short(4, "what follows the message")
        better = _message_follows(cursor, second_end, request_id)
    if not better:
        return 0
    reader.read_again(True, -1)
    return 1


def _message_follows(cursor: Cursor, at: i64, request_id: i64) -> bool:
    """Whether a message can end at a position: the input's end, a request's head, or its own reply's id."""
    if cursor.end - at < 4:
        return cursor.end == at
    word = word_at(cursor.data, at)
    return word >> 28 == 1 or (word == request_id and request_id > 0)


def fits(cursor: Cursor, deployed: bool) -> bool:
    """Whether variables of a stated range, from the cursor on, are read without an error: by a
    VariablesReader that is `bounded`.
    """
    data = cursor.data
    at = cursor.pos
    end = cursor.end
    highest: i64 = v.DEPLOYED_ARRAY if deployed else v.ARRAY
    counts: list[int] = []  # elements to come in the arrays around
    expected: i64 = -1
    while True:
        while expected == 0:
            expected = counts.pop()
        if expected < 0 and at == end:
            return True
        if end - at < 4:
            return False
        kind = word_at(data, at)
        if kind == v.EOF and expected < 0:
            return True
        if kind == v.EOF or kind > highest or end - at < 8:
            return False
        length = word_at(data, at + 4)
        if length > v.MAX_CLAIM or length > end - at - 8:
            return False
        if expected > 0:
            expected -= 1
        at += 8 + length
        if kind == v.ULONG and deployed:
            length = 8
        elif end - at < 4:
            return False
        elif kind == v.U32:
            length = 4
        elif kind == v.STRING or (kind == v.DEPLOYED_STRING and deployed):
            length = word_at(data, at)
            if length > v.MAX_CLAIM:
                return False
            length += 4
        else:
            length = 4
            counts.append(int(expected))
            expected = word_at(data, at)
            if expected * v.REQUEST_HEAD > end - at - 4:
                return False
        if length > end - at:
            return False
        at += length


@mypyc_attr(acyclic=True)
class _Names:
    """The names and types of the variables in a container, to tell which comes twice.

    Few do, so there is no set of them until two may be equal.
    """

    __slots__ = ("first", "known", "others", "seen")

    def __init__(self, first: i64) -> None:
        self.first: Final[i64] = first  # the node of the first variable
        self.seen: i64 = 0  # bits by each variable's bytes, in two sets
        self.others: i64 = 0
        self.known: set[bytes] | None = None

    def repeats(self, tape: Tape, variable: i64, data: bytes, start: i64, end: i64) -> bool:
        """Whether the type and name at start:end, of that node, were there before; keeps them."""
        known = self.known
        if known is None:
            slot = slot_of(data, start, end - start)
            one: i64 = 1
            bit = one << (slot & 63)
            other = one << (slot >> 4)
            if self.seen & bit == 0 or self.others & other == 0:
                self.seen |= bit
                self.others |= other
                return False
            known = self.known = set()
            before = self.first
            while before < variable:
                name = tape.next(tape.following(before))  # after its type
                known.add(data[tape.start(before) : tape.end(name)])
                before = tape.next(before)
        key = data[start:end]
        if key in known:
            return True
        known.add(key)
        return False


class VariablesReader:
    """Reads the variables of one message, from the cursor's position on, under one numbering or the other.

    `bounded`: they fill the cursor's range, as val does, and a message with a prefix. Otherwise they may end
    before a next message, and may go on after the cursor's end unless `final`.
    """

    def __init__(self, cursor: Cursor, tape: Tape, bounded: bool, final: bool, head: i64) -> None:
        self.cursor: Final = cursor
        self.head: Final[i64] = head  # bytes of a request before them; 0 in a reply
        self.tape: Final = tape
        self.bounded: Final = bounded
        self.final: Final = final
        self.start: Final[i64] = cursor.pos
        self.mark: Final[Mark] = tape.mark()
        self.deployed = False
        self.typed = False  # a type number was used whose meaning depends on the numbering
        self.ended = False  # the end marker was found
        self.misread = False  # an array's count does not fit, and no variable follows it
        self.boundary: i64 = cursor.pos  # where the last complete variable ended, unless `bounded`
        self.boundary_mark: Mark = self.mark
        self.repeats = 0

    def read_again(self, deployed: bool, reply_id: i64) -> None:
        """Like `read`, in place of what was written before."""
        self.tape.rollback(self.mark)
        self.read(deployed, reply_id)

    def read(self, deployed: bool, reply_id: i64) -> None:
        """Write `variables` and `eof`. Raises DecodeError.

        `reply_id`: the id that a reply would start with, if one may follow the request; else -1.
        """
        cursor = self.cursor
        tape = self.tape
        cursor.pos = self.start
        self.deployed = deployed
        self.typed = False
        self.ended = False
        self.misread = False
        self.repeats = 0
        variables = tape.open(v.VARIABLES_HEAD, cursor.pos, 0)
        eof = False
        try:
            eof = self.read_items()
        except DecodeError as error:
            at = self.boundary
            if self.bounded or (error.incomplete and not self.final) or cursor.end - at < 4:
                raise
            highest: i64 = v.DEPLOYED_ARRAY if deployed else v.ARRAY
            if word_at(cursor.data, at) != reply_id or reply_id > highest:
                raise
            # not a variable: the reply to this request, whose id is as small as a type
            tape.rollback(self.boundary_mark)
            cursor.pos = at
        at = cursor.pos
        tape.close(variables, at - 4 if eof else at)
        tape.leaf(v.EOF_HEAD, at - 4 if eof else at, at, 1 if eof else 0)
        size = self.head + at - self.start
        invalid = ""
        if size < v.SHORTEST_REQUEST and self.head > 0:
            invalid = f"a request of {size} bytes is invalid: it has at least {v.SHORTEST_REQUEST}"
        if not eof:
            text = "the end marker is missing" + ("; old clients leave it out" if self.head else "")
            tape.note("missing-eof", at, f"{text}; {invalid}" if invalid else text, cursor.buffer)
        elif invalid:
            tape.note("short-request", self.start - self.head, invalid, cursor.buffer)
        self.ended = eof

    def odd_values(self) -> i64:
        """How many of the names and texts that were read are not likely to be text: those with controls."""
        tape = self.tape
        data = self.cursor.data
        number: i64 = 0
        at: i64 = self.mark[0]
        while at < tape.size():
            if tape.kind(at) == t.TEXT:
                start = tape.number(at)
                end = tape.end(at)
                if start < end and data[end - 1] == 0:
                    end -= 1
                # most texts are plain: 4 % of a message's time
                if plain_end(data, start, end) < end:
                    if re.compile(CONTROLS).search(data, start, end) is not None:
                        number += 1
            at = tape.following(at)
        return number

    def read_items(self) -> bool:
        """The variables up to the end, nested ones with an explicit stack; True if an end marker follows."""
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        opened: list[i64] = []  # arrays: the variable's node, then the elements'
        counts: list[i64] = []
        names = [_Names(tape.size())]
        expected: i64 = -1  # elements still to come in the innermost array; -1 outside arrays
        deployed = self.deployed
        highest: i64 = v.DEPLOYED_ARRAY if deployed else v.ARRAY
        type_head = v.DEPLOYED_TYPE_HEAD if deployed else v.SPECIFIED_TYPE_HEAD
        while True:
            if expected == 0:
                tape.close(opened.pop(), cursor.pos)
                tape.close(opened.pop(), cursor.pos)
                expected = counts.pop()
                names.pop()
                continue
            at = cursor.pos
            if expected < 0:
                if not self.bounded:
                    self.boundary = at
                    self.boundary_mark = tape.mark()
                if at == cursor.end and (self.bounded or self.final):
                    return False
            kind = self.word("the type of a variable")
            if kind == v.EOF and expected < 0:
                return True
            if kind == v.EOF or kind > highest:
                cursor.pos = at
                if expected < 0 and kind > v.SMALL_TYPE and not self.bounded:
                    return False
                raise cursor.error("unknown-type", at, f"{kind} is not a type of variables")
            if expected > 0:
                expected -= 1
            variable = tape.open(v.VARIABLE_HEAD, at, 0)
            tape.leaf(type_head, at, at + 4, kind)
            length = self.word("the length of a name")
            content = self.skip(length, "the name of a variable")
            tape.leaf(v.NAME_HEAD, at + 4, cursor.pos, content)
            if names[len(names) - 1].repeats(tape, variable, data, at, cursor.pos):
                self.note_repeated(at, data[content : cursor.pos])
            start = cursor.pos
            if kind == v.U32:
                number = self.word("the value of a U32")
                tape.leaf(v.NUMBER_HEAD, start, cursor.pos, number)
            elif kind == v.ULONG and deployed:
                self.typed = True
                self.skip(8, "the value of a ULONG")
                number = read_i64_be(data, start)
                tape.leaf(v.NUMBER_HEAD, start, cursor.pos, number)
            elif kind == v.STRING or (kind == v.DEPLOYED_STRING and deployed):
                self.typed = True
                length = self.word("the length of a STRING")
                content = self.skip(length, "a STRING")
                tape.leaf(v.TEXT_HEAD, start, cursor.pos, content)
                if not opened and start - at == 12 and data[at + 8 : start] == b"root":
                    hdf.read(tape, cursor.buffer, content, cursor.pos)
            else:
                self.typed = True
                elements = self.word("the count of an ARRAY")
                if self.bounded and elements * v.REQUEST_HEAD > cursor.left():
                    self.misread = cursor.left() >= 4 and not 1 <= word_at(data, cursor.pos) <= highest
                    text = f"{elements} elements do not fit in the {cursor.left()} bytes left"
                    raise cursor.error("bad-length", start, text)
                opened.append(variable)
                members = tape.open(v.ELEMENTS_HEAD, start, 0)
                opened.append(members)
                counts.append(expected)
                names.append(_Names(tape.size()))
                expected = elements
                continue
            tape.close(variable, cursor.pos)

    def word(self, what: str) -> i64:
        """An unsigned 32-bit number. Raises DecodeError."""
        cursor = self.cursor
        if self.bounded and cursor.left() < 4:
            raise cursor.error("truncated", cursor.pos, f"expected {what} (4 bytes), {cursor.left()} left")
        return cursor.u32(what)

    def skip(self, length: i64, what: str) -> i64:
        """Skip content of a declared length; returns where it starts. Raises DecodeError."""
        cursor = self.cursor
        if self.bounded and length > cursor.left():
            text = f"{what} of {length} bytes does not fit in the {cursor.left()} left"
            raise cursor.error("bad-length", cursor.pos, text)
        _check_claim(cursor, length, what)
        return cursor.skip(length, what)

    def note_repeated(self, at: i64, name: bytes) -> None:
        """Note that an array or message has a variable twice; MAX_NOTES times at most."""
        self.repeats += 1
        if self.repeats <= v.MAX_NOTES:
            shown = name.decode("utf-8", "replace")
            text = f'"{shown}" is repeated with the same type; receivers take the last one'
            self.tape.note("duplicate-variable", at, text, self.cursor.buffer)
