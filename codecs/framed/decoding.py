"""Decoding frames: the length, and the message of Hessian, in the dialect whose writers would send it so."""

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.framed.vocabulary import DIALECTS, LENGTH, LENGTH_SIZE, MAX_CONTENT
from wirelens.codecs.hessian import message_forms as m
from wirelens.codecs.hessian.class_notes import class_notes
from wirelens.codecs.hessian.decoding import Messages
from wirelens.codecs.payload import DIALECT, PARTIAL, HessianContent, missing_error
from wirelens.codecs.tape import Tape


def decode_frame(cursor: Cursor, tape: Tape, final: bool) -> None:
    """See Codec.decode. Content that does not decode is an inner error, with its bytes."""
    start = cursor.pos
    length = cursor.u32("the length of a message")
    if length > MAX_CONTENT:
        cursor.pos = start
        raise cursor.error("limit", start, f"a message of {length} bytes; {MAX_CONTENT} are allowed")
    outer = cursor.end
    missing = length - cursor.left()
    if missing > 0 and not final:
        raise cursor.short(length, "a message")
    if missing <= 0:
        missing = 0
        cursor.end = start + LENGTH_SIZE + length
    content = FrameContent(cursor, tape, -1, missing)
    try:
        _read_plainest(content)
        if content.missing > 0:
            raise missing_error(cursor, content.missing, "the message", content.error)
    finally:
        class_notes(tape)
    cursor.end = outer
    tape.leaf(DIALECT, cursor.pos, cursor.pos, content.way)
    tape.close(0, cursor.pos)


def _read_plainest(content: "FrameContent") -> None:
    """Read content in the first of the dialects that fit in which the fewest parts are unusual."""
    tape = content.tape
    mark = tape.mark()
    best: i64 = -1
    fewest: i64 = -1
    for dialect in DIALECTS:
        if not content.fit((dialect,)):
            continue
        forms = _unusual_forms(tape)
        if forms == 0:
            return
        if fewest < 0 or forms < fewest:
            fewest = forms
            best = dialect
        tape.rollback(mark)
        content.rewind()
    if best >= 0:
        content.fit((int(best),))
        return
    content.fit(DIALECTS, True)
    error = content.error
    if error is None or content.missing > 0:
        content.error = content.read(content.way)
        return
    Message(content.way, content.cursor, tape, True).open_root(m.ROOT, content.start, 0)
    content.write_damaged(error)


def _unusual_forms(tape: Tape) -> i64:
    """How many nodes have a wire form."""
    forms: i64 = 0
    index: i64 = 0
    while index < tape.size():
        if tape.head(index) >> t.FORM_SHIFT & t.FORM_MASK:
            forms += 1
        index = tape.following(index)
    return forms


@mypyc_attr(acyclic=True, free_list_len=1)
class Message(Messages):
    """Decodes a message whose root starts at the length before it."""

    def open_root(self, head: i64, start: i64, number: i64) -> i64:
        """See Packets.open_root."""
        if head != m.ROOT:
            return self.tape.open(head, start, number)
        root = self.tape.open(head, start - LENGTH_SIZE, number)
        self.tape.leaf(LENGTH, start - LENGTH_SIZE, start, 0)
        return root


@mypyc_attr(acyclic=True, free_list_len=1)
class FrameContent(HessianContent):
    """Reads the message in a frame as the root of the tape. A way is a dialect."""

    def __init__(self, cursor: Cursor, tape: Tape, parent: i64, missing: i64) -> None:
        super().__init__(cursor, tape, parent, missing)
        self.head: i64 = m.ROOT  # of the message, or of the part of it that decodes

    def read(self, way: i64) -> DecodeError | None:
        """See HessianContent.read."""
        cursor = self.cursor
        message = Message(way, cursor, self.tape, True)
        if cursor.pos == cursor.end:  # a frame without content has no values
            root = message.open_root(self.head, cursor.pos, 0)
            self.tape.close(self.tape.open(m.VALUES, cursor.pos, 0), cursor.pos)
            self.tape.close(root, cursor.pos)
            return None
        try:
            message.read(self.head)
        except DecodeError as error:
            return error
        if cursor.pos < cursor.end:
            return cursor.error("bad-value", cursor.pos, "the length goes on after the message")
        return None

    def write_partial(self) -> None:
        """See HessianContent.write_partial."""
        tape = self.tape
        partial = tape.size()
        self.head = PARTIAL
        self.read(self.way)
        tape.close_from(partial, self.cursor.pos)
        if tape.nodes(partial, tape.size()) <= 2:  # an array of values alone is not content
            tape.cut(partial)
