"""mevent: requests and replies with typed variables, over UDP, TCP, SCTP and TIPC.

Source: the mevent protocol text (request head and body, reply). What deployed software does beside it:
its type numbers are others (`dialect` "deployed": ULONG 2, STRING 3, ARRAY 4), TCP puts a 4-byte length
that counts itself before each message (`prefix`), the old client leaves the end marker out, a failed
send is a reply with a bare error code, and a string `root` holds HDF text (hdf.py). All integers are
big-endian.

No form of mevent needs a `$wire`: whatever is readable is said by members of the message. `eof` is false
where the end marker is missing, `error_code` is the number of a failed send, `extra` holds bytes behind
the end marker (in a reply: inside its vsize; beside `prefix`: inside the prefixed length).

Where a message without prefix ends: a request at its end marker, or, that missing, before the next
request's head or at the end of the input; a reply behind its val, or behind its code where no val
follows. Type numbers are those under which the message decodes whole, the text's where both do.
"""

from typing import Final

from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i64_be
from mypy_extensions import i64

from wirelens.codecs import hdf
from wirelens.codecs import tape as t
from wirelens.codecs.background import CHANGE, OTHER, prices, proved
from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import Path, array_of, hex_bytes, number_of, object_of, only, text_bytes
from wirelens.codecs.node import Json, Node, field, root_of
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import count

EOF: Final = 0
U32: Final = 1
ULONG: Final = 2  # deployed
DEPLOYED_STRING: Final = 3
DEPLOYED_ARRAY: Final = 4
STRING: Final = 2  # the text
ARRAY: Final = 3

SPECIFIED_TYPES: Final[dict[int, str]] = {U32: "U32", STRING: "STRING", ARRAY: "ARRAY"}
DEPLOYED_TYPES: Final[dict[int, str]] = {
    U32: "U32",
    ULONG: "ULONG",
    DEPLOYED_STRING: "STRING",
    DEPLOYED_ARRAY: "ARRAY",
}

COMMANDS: Final[dict[int, str]] = {
    0: "NONE",
    100: "CACHE_GET",
    101: "CACHE_SET",
    102: "CACHE_DEL",
    103: "CACHE_EMPTY",
    1000: "STATS",
}
FLAGS: Final[dict[int, str]] = {0: "NONE", 1: "CACHE_ONLY", 2: "SYNC"}
FLAG_SYNC: Final = 2
# In the order in which they are numbered, from a first number that differs (see `code_meaning`).
ERRORS: Final = (
    "REP_ERR",
    "REP_ERR_VER",
    "REP_ERR_SEND",
    "REP_ERR_BROKEN",
    "REP_ERR_UNKREQ",
    "REP_ERR_MEM",
    "REP_ERR_DB",
    "REP_ERR_BUSY",
    "REP_ERR_PACK",
    "REP_ERR_BADPARAM",
    "REP_ERR_CACHE_MISS",
)
REP_OK: Final = 1000
TYPED_OK: Final = 100
TYPED_ERROR: Final = 512
TYPED_APP: Final = 1024
FIRST_ERROR: Final = 0x800  # May 2009
FAILED: Final = (13, 14, TYPED_ERROR, FIRST_ERROR)  # REP_ERR by era: the code before a bare error code

MAX_ID: Final = 0x0FFFFFFF
MAX_LENGTH: Final = 1 << 16  # bytes of a datagram, and of what the server takes over TCP
MAX_NOTES: Final = 20  # of one sort, of one message
REQUEST_HEAD: Final = 12
LONGEST_NAME: Final = 64  # of a plugin, where a message is looked for
LONGEST_HEAD: Final = 4 + REQUEST_HEAD + LONGEST_NAME
MAX_CLAIM: Final = 1 << 26  # bytes that any length here may claim
SMALL_TYPE: Final = 255  # up to here a number in the place of a type is an unknown type


def _dialect(node: Node) -> Json:
    return "deployed" if node.number else "specified"


_ROOT: Final[i64] = t.head(t.STRUCT)
_PREFIX: Final[i64] = t.head(t.BOOLEAN, field("prefix"))
_REQUEST: Final[i64] = t.head(t.STRUCT, field("request"))
_REPLY: Final[i64] = t.head(t.STRUCT, field("reply"))
_VERSION: Final[i64] = t.head(t.INTEGER, field("version"))
_ID: Final[i64] = t.head(t.INTEGER, field("id"))
_COMMAND: Final[i64] = t.head(t.INTEGER, field("command"))
_FLAGS: Final[i64] = t.head(t.INTEGER, field("flags"))
_PLUGIN: Final[i64] = t.head(t.TEXT, field("plugin"))
_CODE: Final[i64] = t.head(t.INTEGER, field("code"))
_VSIZE: Final[i64] = t.head(t.LENGTH, field("vsize")) | t.HIDDEN
_ERROR_CODE: Final[i64] = t.head(t.INTEGER, field("error_code"))
_VARIABLES: Final[i64] = t.head(t.ARRAY, field("variables"))
_EOF: Final[i64] = t.head(t.BOOLEAN, field("eof"))
_EXTRA: Final[i64] = t.head(t.HEX, field("extra"))
_DIALECT: Final[i64] = t.head(t.COMPUTED, field("dialect", None, _dialect))
_VARIABLE: Final[i64] = t.head(t.STRUCT)
_SPECIFIED_TYPE: Final[i64] = t.head(t.NAMED, field("type", SPECIFIED_TYPES))
_DEPLOYED_TYPE: Final[i64] = t.head(t.NAMED, field("type", DEPLOYED_TYPES))
_NAME: Final[i64] = t.head(t.TEXT, field("name"))
_VALUE_FIELD: Final[i64] = field("value")
_NUMBER: Final[i64] = t.head(t.UNSIGNED, _VALUE_FIELD)
_TEXT: Final[i64] = t.head(t.TEXT, _VALUE_FIELD)
_ELEMENTS: Final[i64] = t.head(t.ARRAY, _VALUE_FIELD)


def _word(data: bytes, at: i64) -> i64:
    """The unsigned 32-bit number at a position; the caller knows that it is there."""
    return i64(read_i32_be(data, at)) & 0xFFFFFFFF


def known_code(code: i64) -> bool:
    """True for the numbers that the system's own reply codes have had."""
    return (
        13 <= code <= 24
        or code == TYPED_OK
        or code == REP_OK
        or TYPED_ERROR <= code <= 522
        or FIRST_ERROR <= code <= 0x805
    )


def _check_claim(cursor: Cursor, length: i64, what: str) -> None:
    """Refuse a length for which it makes no sense to wait."""
    if length > MAX_CLAIM:
        raise cursor.error("limit", cursor.pos, f"{what} claims {length} bytes, {MAX_CLAIM} at most")


def _val_follows(vsize: i64, first: i64) -> bool:
    """True where two words behind a reply's code can be vsize and the first type of val."""
    if vsize < 4:
        return vsize == 0
    return 1 <= first <= DEPLOYED_ARRAY or (first == EOF and vsize == 4)


def _prefix(data: bytes, pos: i64, end: i64, final: bool) -> i64:
    """The length that a prefix at `pos` says, 0 where there is no prefix.

    A first word below 2^28 is a prefix or a reply's id. The words behind it tell which, in the same way
    whether they come at once or one by one; -n asks for n bytes.
    """
    length = _word(data, pos)
    if length < 12 or length > MAX_ID:
        return 0
    left = end - pos
    second = _word(data, pos + 4)
    top = second >> 28
    if top == 1 and length >= 4 + REQUEST_HEAD:
        return length
    if left < 12:
        return 0 if final else -12
    third = _word(data, pos + 8)
    if length == 12 and (top != 0 or known_code(third) != known_code(second)):
        return 12 if known_code(third) else 0
    if left < 16:
        if not final:
            return -16
        return 12 if length == 12 else 0
    fourth = _word(data, pos + 12)
    if top != 0:
        if known_code(third) and (length == 16 + fourth or (length == 16 and known_code(fourth))):
            return length
        return length if 1 <= fourth <= SMALL_TYPE and 16 + fourth <= length else 0
    if length == 12:
        # without prefix the fourth word is the next reply's code, with it the next length
        code = (13 <= fourth <= 24 and fourth != 16 and fourth != 20) or fourth == REP_OK
        bare = code and known_code(second)
        return 0 if bare or _val_follows(third, fourth) else 12
    if length == 16 and (fourth == 0 or (third in FAILED and known_code(fourth))):
        return 0 if _val_follows(third, fourth) else 16
    if length == 16 + fourth:
        if length == 20:
            if left < 20:
                return 20 if final else -20
            return 20 if _word(data, pos + 16) == EOF else 0
        return length
    if known_code(second) or length > MAX_LENGTH or _val_follows(third, fourth):
        return 0
    # neither fits: damage; where the length leads to tells which
    if left < length:
        return 0 if final else -length
    if left < length + 4:
        if final:
            return length if left == length else 0
        return -(length + 4)
    return length if 12 <= _word(data, pos + length) <= MAX_LENGTH else 0


class _Variables:
    """Reads the variables of one message under one numbering of types.

    `bounded`: they fill the cursor's range, as val does, and a message with a prefix. Otherwise they
    may end before a next message, and may go on behind the cursor's end unless `final`.
    """

    def __init__(
        self, cursor: Cursor, tape: Tape, deployed: bool, bounded: bool, final: bool, own: i64
    ) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.deployed: Final = deployed
        self.highest: Final[i64] = DEPLOYED_ARRAY if deployed else ARRAY
        self.bounded: Final = bounded
        self.final: Final = final
        self.own: Final[i64] = own  # the id with which a reply behind the request would start; -1: none does
        self.typed = False  # a type number was used that means different things
        self.boundary: i64 = cursor.pos  # where the last complete variable ended
        self.repeats = 0

    def read(self) -> None:
        """Write `variables` and `eof`. Raises DecodeError."""
        cursor = self.cursor
        tape = self.tape
        variables = tape.open(_VARIABLES, cursor.pos, 0)
        size = tape.size()
        notes = len(tape.notes)
        eof = False
        try:
            eof = self.run()
        except DecodeError as error:
            at = self.boundary
            if self.bounded or (error.needed and not self.final) or cursor.end - at < 4:
                raise
            if _word(cursor.data, at) != self.own or self.own > self.highest:
                raise
            # not a variable: the reply to this request, whose id is as small as a type
            self.drop(size, at, notes)
            cursor.pos = at
        at = cursor.pos
        tape.close(variables, at - 4 if eof else at)
        tape.leaf(_EOF, at - 4 if eof else at, at, 1 if eof else 0)
        if not eof:
            tape.note(
                "missing-eof", at, "the end marker is missing, as old clients leave it out", cursor.buffer
            )

    def drop(self, size: i64, at: i64, notes: int) -> None:
        """Cut what was written from position `at` on off the tape."""
        tape = self.tape
        index = size
        while index < tape.size() and tape.start(index) < at:
            index = tape.next(index) if tape.next(index) else tape.size()
        tape.cut(index)
        while len(tape.notes) > notes and tape.notes[-1].offset >= self.cursor.buffer.absolute(at):
            tape.notes.pop()

    def run(self) -> bool:
        """The variables up to the end, nested ones by an explicit stack; True for an end marker."""
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        opened: list[i64] = []  # arrays: the variable's node, then the elements'
        counts: list[i64] = []
        names: list[set[bytes]] = [set()]
        wanted: i64 = -1  # elements that the innermost array still has to have; -1 outside
        type_head = _DEPLOYED_TYPE if self.deployed else _SPECIFIED_TYPE
        while True:
            if wanted == 0:
                tape.close(opened.pop(), cursor.pos)
                tape.close(opened.pop(), cursor.pos)
                wanted = counts.pop()
                names.pop()
                continue
            at = cursor.pos
            if wanted < 0:
                self.boundary = at
                if at == cursor.end and (self.bounded or self.final):
                    return False
            kind = self.word("the type of a variable")
            if kind == EOF and wanted < 0:
                return True
            if kind == EOF or kind > self.highest:
                cursor.pos = at
                if wanted < 0 and kind > SMALL_TYPE and not self.bounded:
                    return False
                raise cursor.error("unknown-type", at, f"{kind} is no type of a variable")
            if wanted > 0:
                wanted -= 1
            variable = tape.open(_VARIABLE, at, 0)
            tape.leaf(type_head, at, at + 4, kind)
            length = self.word("the length of a name")
            content = self.take(length, "the name of a variable")
            tape.leaf(_NAME, at + 4, cursor.pos, content)
            own = data[at : cursor.pos]
            seen = names[len(names) - 1]
            if own in seen:
                self.repeated(at, data[content : cursor.pos])
            else:
                seen.add(own)
            start = cursor.pos
            if kind == U32:
                number = self.word("the value of a U32")
                tape.leaf(_NUMBER, start, cursor.pos, number)
            elif kind == ULONG and self.deployed:
                self.typed = True
                self.take(8, "the value of a ULONG")
                number = read_i64_be(data, start)
                tape.leaf(_NUMBER, start, cursor.pos, number)
            elif kind == STRING or (kind == DEPLOYED_STRING and self.deployed):
                self.typed = True
                length = self.word("the length of a STRING")
                content = self.take(length, "a STRING")
                tape.leaf(_TEXT, start, cursor.pos, content)
                if not opened and start - at == 12 and data[at + 8 : start] == b"root":
                    hdf.read(tape, cursor.buffer, content, cursor.pos)
            else:
                self.typed = True
                count = self.word("the count of an ARRAY")
                if self.bounded and count * REQUEST_HEAD > cursor.left():
                    raise cursor.error(
                        "bad-length", start, f"{count} elements do not fit in the {cursor.left()} bytes left"
                    )
                opened.append(variable)
                opened.append(tape.open(_ELEMENTS, start, 0))
                counts.append(wanted)
                names.append(set())
                wanted = count
                continue
            tape.close(variable, cursor.pos)

    def word(self, what: str) -> i64:
        cursor = self.cursor
        if self.bounded and cursor.left() < 4:
            raise cursor.error("truncated", cursor.pos, f"expected {what} (4 bytes), {cursor.left()} left")
        return cursor.u32(what)

    def take(self, length: i64, what: str) -> i64:
        """Pass over a declared length; where it starts."""
        cursor = self.cursor
        if self.bounded and length > cursor.left():
            raise cursor.error(
                "bad-length", cursor.pos, f"{what} of {length} bytes does not fit in the {cursor.left()} left"
            )
        _check_claim(cursor, length, what)
        return cursor.skip(length, what)

    def repeated(self, at: i64, name: bytes) -> None:
        self.repeats += 1
        if self.repeats <= MAX_NOTES:
            shown = name.decode("utf-8", "replace")
            text = f'"{shown}" stands here again with the same type; receivers take the last one'
            self.tape.note("duplicate-variable", at, text, self.cursor.buffer)


class Mevent(Codec):
    """mevent in both numberings, with and without the prefix of TCP."""

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode."""
        start = cursor.pos
        if cursor.left() < 8:
            raise cursor.short(8, "a message of mevent")
        length = _prefix(cursor.data, start, cursor.end, final)
        if length < 0:
            raise cursor.short(-length, "a message of mevent")
        if length == 0:
            self.message(cursor, tape, False, final, True)
            if cursor.pos - start > MAX_LENGTH:
                text = f"{cursor.pos - start} bytes without a prefix: more than a datagram holds (64 KiB)"
                tape.note("over-64k", start, text, cursor.buffer)
            return
        _check_claim(cursor, length, "the prefix")
        cut = length > cursor.left()
        if cut and not final:
            raise cursor.short(length, "a message with its length before it")
        outer = cursor.end
        root = tape.open(_ROOT, start, 0)
        tape.leaf(_PREFIX, start, start + 4, 1)
        cursor.pos = start + 4
        if not cut:
            cursor.end = start + length
        self.message(cursor, tape, not cut, final, False)
        if cut:
            raise DecodeError(
                "truncated",
                int(cursor.buffer.absolute(start)),
                f"the prefix says {length} bytes, {outer - start} are there",
                int(start + length),
            )
        if cursor.pos < cursor.end:
            tape.leaf(_EXTRA, cursor.pos, cursor.end, cursor.pos)
            self.extra_note(cursor, tape)
        cursor.pos = cursor.end
        cursor.end = outer
        tape.close(root, cursor.pos)
        if length > MAX_LENGTH:
            text = f"{length} bytes: servers close the connection above 64 KiB"
            tape.note("over-64k", start, text, cursor.buffer)

    def message(self, cursor: Cursor, tape: Tape, bounded: bool, final: bool, alone: bool) -> None:
        """A request or a reply, up to the cursor's end if `bounded`; `alone`: with a root of its own."""
        start = cursor.pos
        left = cursor.left()
        top: i64 = 0
        second: i64 = 0
        if left >= 8:
            top = _word(cursor.data, start) >> 28
            second = _word(cursor.data, start + 4)
        request = top == 1
        if top == 1:
            # a reply's id may be garbage, and it is the only one that is so short
            if left == 8 and (bounded or final) and known_code(second):
                request = False
        elif top > 1:
            request = not known_code(second) and not (left < REQUEST_HEAD and (bounded or final))
            if bounded and left == 8:
                request = False
        root: i64 = -1
        if alone:
            root = tape.open(_ROOT, start, 0)
        if request:
            dialect = self.request(cursor, tape, bounded, final)
        else:
            dialect = self.reply(cursor, tape, bounded, final)
        if dialect >= 0:
            tape.leaf(_DIALECT, cursor.pos, cursor.pos, dialect)
        if alone:
            tape.close(root, cursor.pos)

    def request(self, cursor: Cursor, tape: Tape, bounded: bool, final: bool) -> i64:
        """A request; the dialect of its variables."""
        start = cursor.pos
        node = tape.open(_REQUEST, start, 0)
        if cursor.left() < REQUEST_HEAD:
            raise self.short(cursor, bounded, REQUEST_HEAD, "the head of a request")
        first = cursor.u32("version and id")
        version = first >> 28
        own = first & MAX_ID
        tape.leaf(_VERSION, start, start + 1, version)
        tape.leaf(_ID, start + 1, start + 4, own)
        command = cursor.u16("a command")
        tape.leaf(_COMMAND, start + 4, start + 6, command)
        flags = cursor.u16("flags")
        tape.leaf(_FLAGS, start + 6, start + 8, flags)
        length = cursor.u32("the length of the plugin's name")
        if version != 1 and length > SMALL_TYPE:
            raise cursor.error(
                "no-message", start, f"version {version} and a name of {length} bytes: no message"
            )
        _check_claim(cursor, length, "the plugin's name")
        if length > cursor.left():
            raise self.short(cursor, bounded, length, "the plugin's name")
        content = cursor.skip(length, "the plugin's name")
        tape.leaf(_PLUGIN, start + 8, cursor.pos, content)
        if version != 1:
            tape.note("other-version", start, f"version {version}; the protocol's is 1", cursor.buffer)
        dialect = self.variables(cursor, tape, bounded, final, own)
        tape.close(node, cursor.pos)
        return dialect

    def reply(self, cursor: Cursor, tape: Tape, bounded: bool, final: bool) -> i64:
        """A reply; the dialect of its variables, -1 where it has none."""
        start = cursor.pos
        node = tape.open(_REPLY, start, 0)
        if cursor.left() < 8:
            raise self.short(cursor, bounded, 8, "the id and the code of a reply")
        own = cursor.u32("an id")
        tape.leaf(_ID, start, start + 4, own)
        code = cursor.u32("a reply code")
        if code == 0:
            raise cursor.error("no-message", start, "no message starts here: 0 is no reply code")
        tape.leaf(_CODE, start + 4, start + 8, code)
        if own > MAX_ID:
            self.odd_id(cursor, tape, start, own, code)
        dialect: i64 = -1
        sized = self.sized(cursor, bounded, final, code)
        if sized < 0:
            number = cursor.u32("an error code")
            tape.leaf(_ERROR_CODE, start + 8, cursor.pos, number)
            text = "an error code stands where vsize would be: the server's answer where it fails"
            tape.note("bare-error-code", start + 8, text, cursor.buffer)
        elif sized > 0:
            dialect = self.val(cursor, tape, bounded, final)
        tape.close(node, cursor.pos)
        return dialect

    def sized(self, cursor: Cursor, bounded: bool, final: bool, code: i64) -> i64:
        """What follows a reply's code: 1 vsize and val, 0 nothing, -1 a bare error code."""
        left = cursor.left()
        data = cursor.data
        at = cursor.pos
        if bounded:
            if left < 4:
                return 0
            return -1 if left == 4 and _word(data, at) != 0 else 1
        if left < 4:
            if final:
                return 0
            raise cursor.short(4, "a vsize, or the next message")
        vsize = _word(data, at)
        if vsize < 4:
            return 1 if vsize == 0 else 0
        if left < 8:
            if final and left == 4 and known_code(vsize) and code in FAILED:
                return -1
            raise cursor.short(8, "a vsize and its val")
        first = _word(data, at + 4)
        if _val_follows(vsize, first):
            return 1
        if known_code(first) or vsize > MAX_LENGTH:
            return 0  # the next reply
        # a val with a damaged type, if the input ends with it
        behind = 4 + vsize
        if left <= behind and not final:
            raise cursor.short(behind + (1 if left == behind else 0), "a vsize and its val")
        return 1 if left == behind else 0

    def val(self, cursor: Cursor, tape: Tape, bounded: bool, final: bool) -> i64:
        """vsize, and as many bytes of variables; their dialect."""
        at = cursor.pos
        vsize = cursor.u32("vsize")
        tape.leaf(_VSIZE, at, at + 4, vsize)
        _check_claim(cursor, vsize, "val")
        outer = cursor.end
        cut = vsize > cursor.left()
        if cut and bounded:
            raise cursor.error("bad-length", at, f"vsize is {vsize}, {cursor.left()} bytes are left")
        if cut and not final:
            raise cursor.short(vsize, "val")
        if not cut:
            cursor.end = cursor.pos + vsize
        dialect = self.variables(cursor, tape, not cut, final, -1)
        if cut:
            raise DecodeError(
                "truncated",
                int(cursor.buffer.absolute(at)),
                f"vsize is {vsize}, {outer - at - 4} bytes are there",
                int(at + 4 + vsize),
            )
        if cursor.pos < cursor.end:
            tape.leaf(_EXTRA, cursor.pos, cursor.end, cursor.pos)
            self.extra_note(cursor, tape)
        cursor.pos = cursor.end
        cursor.end = outer
        return dialect

    def variables(self, cursor: Cursor, tape: Tape, bounded: bool, final: bool, own: i64) -> i64:
        """The variables under the numbering that fits; 0 the text's, 1 the deployed one."""
        start = cursor.pos
        size = tape.size()
        notes = len(tape.notes)
        reading = _Variables(cursor, tape, False, bounded, final, -1)
        failed: DecodeError | None = None
        try:
            reading.read()
        except DecodeError as error:
            failed = error
        if failed is None:
            if not reading.typed or (bounded and cursor.pos == cursor.end):
                return 0
            return self.doubtful(cursor, tape, bounded, final, own, start, size, notes)
        asks = failed.needed != 0 and not final and not bounded
        if asks and failed.needed - start <= MAX_LENGTH:
            raise failed
        offset = failed.offset
        again = 1
        try:
            self.again(cursor, tape, start, size, notes, _Variables(cursor, tape, True, bounded, final, -1))
        except DecodeError as error:
            if not bounded and 1 <= own <= DEPLOYED_ARRAY and (final or not error.needed):
                # a reply may follow, whose id is as small as a type
                reading = _Variables(cursor, tape, True, bounded, final, own)
                try:
                    self.again(cursor, tape, start, size, notes, reading)
                    return 1 if reading.typed else 0
                except DecodeError:
                    pass
            again = 1 if error.offset >= offset or (error.needed and not final) else 0
            reading = _Variables(cursor, tape, again == 1, bounded, final, -1)
            self.again(cursor, tape, start, size, notes, reading)
        return again

    def again(
        self, cursor: Cursor, tape: Tape, start: i64, size: i64, notes: int, reading: _Variables
    ) -> None:
        """Read the variables from `start` once more, in place of what was written."""
        tape.cut(size)
        del tape.notes[notes:]
        cursor.pos = start
        reading.boundary = start
        reading.read()

    def doubtful(
        self,
        cursor: Cursor,
        tape: Tape,
        bounded: bool,
        final: bool,
        own: i64,
        start: i64,
        size: i64,
        notes: int,
    ) -> i64:
        """The text's numbering fits, but not as far as the bytes go: see how far the other one does."""
        first_end = cursor.pos
        other = Tape(cursor.buffer)
        cursor.pos = start
        asks: DecodeError | None = None
        second_end: i64 = -1
        try:
            _Variables(cursor, other, True, bounded, final, -1).read()
            second_end = cursor.pos
        except DecodeError as error:
            if error.needed and not final and not bounded and error.needed - start <= MAX_LENGTH:
                asks = error
        cursor.pos = first_end
        if asks is None and (second_end < 0 or second_end == first_end):
            return 0
        if bounded:
            better = second_end == cursor.end
        else:
            if cursor.end - first_end < 4 and not final:
                raise cursor.short(4, "what follows the message")
            if _starts_next(cursor, first_end, own):
                return 0
            if asks is not None:
                raise asks
            if cursor.end - second_end < 4 and not final:
                cursor.pos = second_end
                raise cursor.short(4, "what follows the message")
            better = _starts_next(cursor, second_end, own)
        if not better:
            return 0
        self.again(cursor, tape, start, size, notes, _Variables(cursor, tape, True, bounded, final, -1))
        return 1

    def short(self, cursor: Cursor, bounded: bool, count: i64, what: str) -> DecodeError:
        """The error that `count` bytes are not there: for good, in a message of stated length."""
        if bounded:
            return cursor.error(
                "bad-length", cursor.pos, f"{what} ({count} bytes) does not fit in the {cursor.left()} left"
            )
        return cursor.short(count, what)

    def extra_note(self, cursor: Cursor, tape: Tape) -> None:
        left = cursor.left()
        text = f"{count(left, 'byte')} left over behind the end of the variables"
        tape.note("extra-bytes", cursor.pos, text, cursor.buffer)

    def odd_id(self, cursor: Cursor, tape: Tape, at: i64, own: i64, code: i64) -> None:
        swapped = int.from_bytes(cursor.data[at : at + 4], "little")
        text = f"0x{own:08x} is no id of a request (28 bits)"
        if swapped <= MAX_ID and code in (14, 15, TYPED_ERROR + 1):
            text += f"; servers answer a wrong version with its bytes reversed: request {swapped}"
        else:
            text += "; servers answer a request under 17 bytes with whatever is on their stack"
        tape.note("odd-id", at, text, cursor.buffer)

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The next place with a head that its own lengths, names and codes bear out; linear in the bytes.

        Behind damage inside a message with prefix that is where its length leads, if a head stands there.
        """
        if end - start >= 19:
            length = _prefix(data, start - 1, end, True)
            behind = start - 1 + length
            if length and length <= MAX_LENGTH and behind <= end:
                if behind + 12 <= end and _starts(data, behind, end):
                    return behind
                if behind + LONGEST_HEAD > end:
                    return end
        at = start
        while at + 12 <= end:
            if _starts(data, at, end):
                return at
            at += 1
        return end

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """Bits of the messages at the start: version, lengths that meet, types, names and codes."""
        found = _evidence(data)
        if found.bits > 0 and other:
            theirs = _evidence(other)
            if proved(theirs.bits, theirs.whole, theirs.at_end):
                reasons = (*found.reasons, "the other direction is mevent too")
                return found._replace(bits=found.bits + OTHER, reasons=reasons)
        return found

    def kind(self, root: Node) -> str:
        """ "request" or "reply"."""
        return "reply" if root.member("request") is None else "request"

    def summary(self, root: Node) -> str:
        """Id, plugin, command and flags; or id, code and the error's message; then the data's names."""
        request = root.member("request")
        if request is not None:
            flags = _int(request, "flags")
            command = _int(request, "command")
            parts = [f"REQUEST #{_int(request, 'id')}", _shown(request, "plugin")]
            parts.append(f"command {command}" + (f" {COMMANDS[command]}" if command in COMMANDS else ""))
            if flags:
                parts.append(flags_meaning(flags))
            if not flags & FLAG_SYNC:
                parts.append("(async)")
            parts.extend(_data(request))
            return " ".join(parts)
        reply = root.member("reply")
        if reply is None:
            return "message"
        code = _int(reply, "code")
        parts = [f"REPLY #{_int(reply, 'id')}", str(signed_code(code)), code_name(code)]
        error_code = reply.member("error_code")
        if error_code is not None:
            parts.append(f"error code {error_code.number} {code_name(error_code.number)}")
        parts.extend(_data(reply))
        return " ".join(part for part in parts if part)

    def annotate(self, node: Node) -> str:
        """Names of commands, flags and reply codes."""
        name = node.field.name
        parent = node.parent
        if parent is None or parent.field.name not in ("request", "reply"):
            return ""
        number = node.number
        if name == "command":
            return COMMANDS.get(number, "")
        if name == "flags":
            said = flags_meaning(number)
            if not number & FLAG_SYNC:
                said += ": no reply expected (typed era: REP_OK at once)"
            return said
        if name in ("code", "error_code"):
            return code_meaning(number)
        if name == "eof" and not number:
            return "no end marker"
        return ""

    def exchange(self, root: Node) -> Exchange:
        """Requests and replies pair by id; the typed era numbers all with 1, so those pair in order."""
        request = root.member("request")
        part = request or root.member("reply")
        if part is None:
            return Exchange("")
        own = _int(part, "id")
        return Exchange("request" if request is not None else "reply", "" if own == 1 else str(own))

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode. Absent are taken: version 1, id 1, command 0, flags 0, eof true, no prefix."""
        members = object_of(message, "", "a message with request or reply")
        only(members, ("request", "reply", "dialect", "prefix", "extra"), "")
        if ("request" in members) == ("reply" in members):
            raise EncodeError("", 'a message has one of "request" and "reply"')
        dialect = members.get("dialect", "specified")
        if dialect not in ("specified", "deployed"):
            raise EncodeError("dialect", 'expected "specified" or "deployed"')
        prefix = members.get("prefix", False)
        if not isinstance(prefix, bool):
            raise EncodeError("prefix", "expected true or false")
        if "extra" in members and not prefix:
            raise EncodeError("extra", "only a message with prefix can have bytes behind it")
        body = BytesWriter()
        deployed = dialect == "deployed"
        if "request" in members:
            _write_request(object_of(members["request"], "request", "a request"), deployed, body)
        else:
            reply = object_of(members["reply"], "reply", "a reply")
            if "dialect" in members and "variables" not in reply:
                raise EncodeError("dialect", "a reply without variables has no dialect")
            _write_reply(reply, deployed, body)
        if "extra" in members:
            body.write(hex_bytes(members["extra"], "extra"))
        if prefix:
            _write_word(out, len(body) + 4)
        out.write(body.getvalue())


def _starts_next(cursor: Cursor, at: i64, own: i64) -> bool:
    """True where a message can end: at the end of the input, before a request, before its own reply."""
    if cursor.end - at < 4:
        return cursor.end == at
    word = _word(cursor.data, at)
    return word >> 28 == 1 or (word == own and own > 0)


def signed_code(code: int) -> int:
    """A reply code as servers keep it, in 32 signed bits."""
    return code - (1 << 32) if code >> 31 else code


def _numbered(code: int, first: int) -> str:
    return ERRORS[code - first] if first <= code < first + len(ERRORS) else ""


def code_name(code: int) -> str:
    """The short name of a reply code; two where ClearSilver's own numbering decides; empty for none."""
    if 13 <= code <= 24:
        names = [name for name in (_numbered(code, 13), _numbered(code, 14)) if name]
        return " or ".join(names)
    if code in (REP_OK, TYPED_OK):
        return "REP_OK"
    if _numbered(code, TYPED_ERROR):
        return _numbered(code, TYPED_ERROR)
    if 25 <= code < REP_OK:
        return "REP_ERR_APP"
    return ""


def code_meaning(code: int) -> str:
    """What a reply code means in the eras in which it was used.

    Since 2010 the numbers are given at run time behind ClearSilver's own errors: from 13 with 0.10.5,
    from 14 (as in the text) with its trunk. The typed era of 2009 and 2010 counted from 512.
    """
    said: list[str] = []
    if code >> 31:
        said.append(f"{signed_code(code)} in signed numbers")
    if _numbered(code, 13):
        said.append(f"{_numbered(code, 13)} with ClearSilver 0.10.5")
    if _numbered(code, 14):
        said.append(f"{_numbered(code, 14)} with its trunk, as in the text")
    if 1 <= code < 13:
        said.append("an error of ClearSilver itself")
    if code == TYPED_OK:
        said.append("REP_OK of the typed era")
    if _numbered(code, TYPED_ERROR):
        said.append(f"{_numbered(code, TYPED_ERROR)} of the typed era")
    if 25 <= code < REP_OK:
        said.append("REP_ERR_APP, the application's own")
    if code == REP_OK:
        said.append("REP_OK")
    elif REP_OK < code < 1 << 31:
        said.append("REP_OK with the application's number")
    if TYPED_APP <= code < FIRST_ERROR:
        said.append("REP_ERR_APP of the typed era")
    if FIRST_ERROR <= code <= 0x805:
        said.append("a system code of May 2009")
    return "; or ".join(said)


def flags_meaning(flags: int) -> str:
    """The names of the bits that are set."""
    names = [name for bit, name in ((1, "CACHE_ONLY"), (2, "SYNC")) if flags & bit]
    if flags & ~3:
        names.append(f"0x{flags & ~3:x}")
    return "|".join(names) or "NONE"


def _int(part: Node, name: str) -> int:
    member = part.member(name)
    return 0 if member is None else member.number


def _shown(part: Node, name: str) -> str:
    member = part.member(name)
    return "" if member is None else member.shown


def _data(part: Node) -> list[str]:
    """The names in a message's data for its summary, an error's message first."""
    variables = part.member("variables")
    if variables is None:
        return []
    names: list[str] = []
    message = ""
    for variable in variables.children:
        tree = variable.member("hdf")
        if tree is None:
            name = _shown(variable, "name")
            if name == "errmsg":
                message = _shown(variable, "value")
            else:
                names.append(name)
            continue
        found = hdf.lookup(tree, "Output.errmsg")
        if found is not None:
            message = found.shown
            trace = hdf.lookup(tree, "Output.errtrace")
            if trace is not None:
                names.append(f"errtrace {len(trace.shown.splitlines())} lines")
            continue
        names.extend(_shown(item, "name") for item in tree.children[:7])
    parts: list[str] = []
    if message:
        parts.append(f'"{message}"')
    if names:
        parts.append("(" + ", ".join(names[:6]) + (", …" if len(names) > 6 else "") + ")")
    return parts


def _printable(data: bytes, start: i64, end: i64) -> bool:
    """True for at least one byte, all of them printable ASCII without blanks."""
    at = start
    while at < end:
        if not 0x21 <= i64(data[at]) <= 0x7E:
            return False
        at += 1
    return end > start


def _starts(data: bytes, at: i64, end: i64) -> bool:
    """True where a message's head stands that its lengths, names and codes bear out.

    What is decided does not depend on bytes further on than it looks, so that input in pieces gives the
    same.
    """
    first = _word(data, at)
    second = _word(data, at + 4)
    third = _word(data, at + 8)
    top = first >> 28
    if top == 1:
        return _request_at(data, at, end)
    if top != 0 or first == 0:
        return False
    if second >> 28 == 1:
        return 4 + REQUEST_HEAD <= first <= MAX_LENGTH and _request_at(data, at + 4, end)
    if second >> 28 != 0 or second == 0:
        return False
    if first == 12:
        return known_code(third)
    if at + 20 > end:
        return False
    fourth = _word(data, at + 12)
    fifth = _word(data, at + 16)
    if first == 16 + fourth and fourth >= 4:
        return fifth <= DEPLOYED_ARRAY and third > 0
    return (
        known_code(second) and third <= MAX_LENGTH and 1 <= fourth <= DEPLOYED_ARRAY and fifth <= LONGEST_NAME
    )


def _request_at(data: bytes, at: i64, end: i64) -> bool:
    """True where a request's head stands, with a name of printable bytes."""
    if at + REQUEST_HEAD > end:
        return False
    length = _word(data, at + 8)
    behind = at + REQUEST_HEAD + length
    return length <= LONGEST_NAME and behind <= end and _printable(data, at + REQUEST_HEAD, behind)


def _evidence(data: bytes) -> Evidence:
    """Evidence of the messages at the start of a stream."""
    buffer = Buffer(data)
    end: i64 = len(data)
    cursor = Cursor(buffer, 0, end)
    codec = CODECS[0]
    bits = 0.0
    weak = 0.0
    messages = 0
    whole = False
    settle = "more messages, or the other direction"
    reasons: list[str] = []
    while cursor.pos < end and messages < 16:
        tape = Tape(buffer)
        cut = False
        try:
            codec.decode(cursor, tape, True)
        except DecodeError as error:
            cut = error.needed > end
            tape.close_from(0, end)
            if not cut or tape.size() == 0:
                if not messages:
                    return NO_EVIDENCE
                break
            settle = _more(error.needed - end)
        gained, strong = _message_bits(root_of(tape), cut)
        if gained < 0:
            if not messages:
                return NO_EVIDENCE
            break
        messages += 1
        whole = not cut and cursor.pos == end
        if strong:
            bits += gained
        else:
            weak = min(weak + gained, 20.0)
        if len(reasons) < 3:
            reasons.append(_reason(root_of(tape), cut))
        if cut:
            break
    if cursor.pos == end and messages > 1:
        reasons.append(f"{messages} messages fill the bytes")
    bits += weak
    at_end = 4.0 if whole else 0.0
    return Evidence(
        bits=bits,
        reasons=tuple(reasons),
        settle="" if bits >= 24.0 else settle,
        whole=whole,
        one=messages == 1,
        at_end=at_end,
    )


def _more(size: int) -> str:
    return f"{count(size, 'more byte')}"


def _reason(root: Node, cut: bool) -> str:
    request = root.member("request")
    prefix = "a prefix that counts its message, " if root.member("prefix") is not None else ""
    end = " that the input cuts" if cut else ""
    if request is not None:
        return f'{prefix}a request{end} to the plugin "{_shown(request, "plugin")}"'
    reply = root.member("reply")
    return f"{prefix}a reply{end} with code {0 if reply is None else _int(reply, 'code')}"


def _message_bits(root: Node, cut: bool) -> tuple[float, bool]:
    """Bits of one message (-1: it cannot be one), and whether it may speak for itself."""
    prefix = root.member("prefix") is not None
    request = root.member("request")
    part = request or root.member("reply")
    if part is None:
        return -1.0, False
    if root.member("extra") is not None or part.member("extra") is not None:
        return -1.0, False
    bits = 0.0
    strong = True
    data = root.buffer.data
    variables = part.member("variables")
    if prefix:
        # four bytes that count the message: foretold by where it ends, or where the next one starts
        bits += prices(data, root.span[0], 4) if not cut else 2.0
    if request is not None:
        plugin = request.member("plugin")
        if plugin is None or _int(request, "version") != 1:
            return -1.0, False
        name = plugin.content
        if len(name) > LONGEST_NAME or not _printable(name, 0, len(name)):
            return -1.0, False
        bits += 4.0 + _text_bits(data, plugin.span, len(name))
        if _int(request, "flags") <= 3:
            bits += 1.0
        if _int(request, "eof"):
            bits += 3.0
    else:
        own = _int(part, "id")
        code = _int(part, "code")
        known = known_code(code)
        likely = known or 13 <= code < FIRST_ERROR or -256 <= signed_code(code) < 0
        if own > MAX_ID and known:
            return 0.0, False
        if own == 0 or own > MAX_ID or not likely:
            return -1.0, False
        where = part.member("code")
        if known and where is not None:
            bits += max(prices(data, where.span[0], 4) - (2.0 if code >= 1000 else 4.0), 0.0)
        if variables is None:
            if part.member("error_code") is not None:
                if code not in FAILED or not known_code(_int(part, "error_code")):
                    return -1.0, False
                bits += 6.0
            else:
                strong = prefix
        elif not cut:
            bits += 8.0  # vsize, that leads to the end of the message
            strong = prefix or len(variables.children) > 0
    if variables is not None:
        seen = _variable_bits(data, variables)
        if seen < 0:
            return -1.0, False
        bits += seen
    return bits, strong


def _text_bits(data: bytes, span: tuple[int, int], size: int) -> float:
    """Bits of a name: a length behind which the printable bytes end, text between other bytes."""
    if size <= 0:
        return 0.0
    end = span[1]
    bits = prices(data, span[0], 4) - 3.0 + min(0.5 * float(size), CHANGE)
    if end < len(data) and data[end] < 0x20:
        bits += CHANGE
    return bits


def _variable_bits(data: bytes, variables: Node) -> float:
    """Bits of a message's variables; -1 where a name is none that software gives."""
    bits = 0.0
    count = 1.0
    for variable in variables.children[:4]:
        name = variable.member("name")
        value = variable.member("value")
        if name is None:
            continue
        content = name.content
        if len(content) > LONGEST_NAME or not _printable(content, 0, len(content)):
            return -1.0
        seen = 4.0 + _text_bits(data, name.span, len(content))  # a type from 1 to 4 in four bytes, a name
        if content == b"root":
            seen += 8.0
        if value is not None:
            seen += 4.0  # a length that stays within the message, or a value
        bits += seen / count
        count += 1.0
    return bits


def _write_word(out: BytesWriter, number: int) -> None:
    out.append(number >> 24 & 0xFF)
    out.append(number >> 16 & 0xFF)
    out.append(number >> 8 & 0xFF)
    out.append(number & 0xFF)


def _write_request(request: dict[str, Json], deployed: bool, out: BytesWriter) -> None:
    only(request, ("version", "id", "command", "flags", "plugin", "variables", "eof"), "request")
    version = number_of(request.get("version", 1), {}, "request.version", 0, 15)
    own = number_of(request.get("id", 1), {}, "request.id", 0, MAX_ID)
    command = number_of(request.get("command", 0), COMMANDS, "request.command", 0, 0xFFFF)
    flags = number_of(request.get("flags", 0), FLAGS, "request.flags", 0, 0xFFFF)
    if "plugin" not in request:
        raise EncodeError("request", 'a request needs the member "plugin"')
    plugin = text_bytes(request["plugin"], "request.plugin")
    _write_word(out, version << 28 | own)
    _write_word(out, command << 16 | flags)
    _write_word(out, len(plugin))
    out.write(plugin)
    _write_variables(request.get("variables", []), "request.variables", deployed, out)
    _write_eof(request, "request", out)


def _write_reply(reply: dict[str, Json], deployed: bool, out: BytesWriter) -> None:
    only(reply, ("id", "code", "error_code", "variables", "eof", "extra"), "reply")
    if "code" not in reply:
        raise EncodeError("reply", 'a reply needs the member "code"')
    _write_word(out, number_of(reply.get("id", 1), {}, "reply.id", 0, 0xFFFFFFFF))
    _write_word(out, number_of(reply["code"], {}, "reply.code", 0, 0xFFFFFFFF))
    if "variables" not in reply:
        for name in ("eof", "extra"):
            if name in reply:
                raise EncodeError(f"reply.{name}", 'there is none without "variables"')
        if "error_code" in reply:
            _write_word(out, number_of(reply["error_code"], {}, "reply.error_code", 1, 0xFFFFFFFF))
        return
    if "error_code" in reply:
        raise EncodeError("reply.error_code", "it stands in the place of variables, not beside them")
    val = BytesWriter()
    _write_variables(reply["variables"], "reply.variables", deployed, val)
    _write_eof(reply, "reply", val)
    if "extra" in reply:
        val.write(hex_bytes(reply["extra"], "reply.extra"))
    _write_word(out, len(val))
    out.write(val.getvalue())


def _write_eof(part: dict[str, Json], path: str, out: BytesWriter) -> None:
    eof = part.get("eof", True)
    if not isinstance(eof, bool):
        raise EncodeError(path + ".eof", "expected true or false")
    if eof:
        _write_word(out, EOF)


def _write_variables(variables: Json, path: str, deployed: bool, out: BytesWriter) -> None:
    """Write variables, nested ones by an explicit stack."""
    names = DEPLOYED_TYPES if deployed else SPECIFIED_TYPES
    work: list[tuple[Json, Path]] = []
    _push(array_of(variables, path, "variables"), Path(None, path), work)
    while work:
        item, place = work.pop()
        variable = object_of(item, place, "a variable")
        only(variable, ("type", "name", "value", "hdf"), place)
        said = variable.get("type")
        if said == "ULONG" and not deployed:
            raise Path(place, ".type").error('ULONG exists only with "dialect": "deployed"')
        if not isinstance(said, str):
            raise Path(place, ".type").error("expected one of " + ", ".join(names.values()))
        kind = number_of(said, names, Path(place, ".type"), 0, 0)
        if "name" not in variable:
            raise place.error('a variable needs the member "name"')
        name = text_bytes(variable["name"], Path(place, ".name"))
        _write_word(out, kind)
        _write_word(out, len(name))
        out.write(name)
        if "value" not in variable and not (said == "STRING" and "hdf" in variable):
            raise place.error('a variable needs the member "value"')
        where = Path(place, ".value")
        if said == "U32":
            _write_word(out, number_of(variable["value"], {}, where, 0, 0xFFFFFFFF))
        elif said == "ULONG":
            number = number_of(variable["value"], {}, where, 0, (1 << 64) - 1)
            write_i64_be(out, number - (1 << 64) if number >> 63 else number)
        elif said == "ARRAY":
            elements = array_of(variable["value"], where, "variables")
            _write_word(out, len(elements))
            _push(elements, where, work)
        else:
            content = _string(variable, deployed, place)
            _write_word(out, len(content))
            out.write(content)


def _string(variable: dict[str, Json], deployed: bool, place: Path) -> bytes:
    """The bytes of a STRING: its value; that absent, its HDF as text, with the NUL of deployed writers."""
    if "value" in variable:
        return text_bytes(variable["value"], Path(place, ".value"))
    text = BytesWriter()
    hdf.write(variable["hdf"], Path(place, ".hdf"), text)
    if deployed:
        text.append(0)
    return text.getvalue()


def _push(variables: list[Json], place: Path, work: list[tuple[Json, Path]]) -> None:
    work.extend((variables[at], Path(place, f"[{at}]")) for at in range(len(variables) - 1, -1, -1))


CODECS: Final = (Mevent("mevent"),)
