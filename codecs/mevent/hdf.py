"""HDF text, ClearSilver's hierarchical data format: text to nodes of a tape. (hdf_encoding.py: JSON to text.)

mevent sends its data sets as such text. A line is `name = value`, `name : link`, `name := copy`,
`name {` with the children on the lines up to `}`, or `name << MARK` with the value on the lines up to
one that starts with MARK; attributes are in brackets after the name; `#` starts a comment. A name consists
of letters, digits, `_` and the dots of a path. Source: ClearSilver's documentation of the HDF data set, and
what its reader accepts; mevent's text, note 2.

As JSON an item is {"name", "attributes"?, "value" | "link" | "copy" | "children"}. An attribute without
a value reads as "1". There is no `$wire` here: the message that contains the text keeps it too.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Json, Node, field, utf8
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import count

MAX_TEXT: Final = 1 << 20  # bytes of text that are read; mevent itself stops at 64 KiB

BLANKS: Final = b" \t\n\v\f\r"
_ESCAPES: Final[dict[int, int]] = {ord("n"): 10, ord("t"): 9, ord("r"): 13}
_DIGITS: Final = b"0123456789"

# The result of reading the line of an item.
_DONE: Final = 0
_OPEN: Final = 1  # its children follow
_BROKEN: Final = 2  # it is not an item


def _unquoted(node: Node) -> Json:
    """The text of a quoted attribute."""
    content = unescape(node.raw[1:-1])
    text = utf8(content)
    return {"$raw": content.hex()} if text is None else text


def _implied(node: Node) -> Json:
    """The value of an attribute without one."""
    return "1"


_HDF: Final[i64] = t.head(t.ARRAY, field("hdf"))
_CHILDREN: Final[i64] = t.head(t.ARRAY, field("children"))
_ITEM: Final[i64] = t.head(t.STRUCT)
_NAME: Final[i64] = t.head(t.TEXT, field("name"))
_VALUE: Final[i64] = t.head(t.TEXT, field("value"))
_LINK: Final[i64] = t.head(t.TEXT, field("link"))
_COPY: Final[i64] = t.head(t.TEXT, field("copy"))
_ATTRIBUTES: Final[i64] = t.head(t.MAP, field("attributes"))
_KEY: Final[i64] = t.head(t.STRING)
_PLAIN: Final[i64] = t.head(t.STRING)
_QUOTED: Final[i64] = t.head(t.COMPUTED, field("", None, _unquoted))
_BARE: Final[i64] = t.head(t.COMPUTED, field("", None, _implied))


def is_blank(byte: i64) -> bool:
    """Whether C's isspace holds for a byte, in the C locale."""
    return byte == 32 or 9 <= byte <= 13


def is_name(byte: i64) -> bool:
    """Whether a byte may be part of an item's name: an ASCII letter or digit, `_` or a dot."""
    return 97 <= byte <= 122 or 65 <= byte <= 90 or 48 <= byte <= 57 or byte == 95 or byte == 46


def is_key(byte: i64) -> bool:
    """Whether a byte may be part of an attribute's name: an ASCII letter or digit."""
    return is_name(byte) and byte != 95 and byte != 46


def skip_blanks(data: bytes, at: i64, end: i64) -> i64:
    """The first position from `at` on that is not a blank; `end` if there is none."""
    while at < end and is_blank(data[at]):
        at += 1
    return at


def strip_end(data: bytes, start: i64, end: i64) -> i64:
    """The end of a range, less the blanks before it."""
    while end > start and is_blank(data[end - 1]):
        end -= 1
    return end


def unescape(quoted: bytes) -> bytes:
    r"""The bytes that the inside of a quoted attribute means: `\n`, `\t`, `\r`, octal, `\` and any other."""
    if b"\\" not in quoted:
        return quoted
    out = bytearray()
    at = 0
    while at < len(quoted):
        byte = quoted[at]
        at += 1
        if byte != 0x5C or at == len(quoted):
            out.append(byte)
            continue
        byte = quoted[at]
        at += 1
        if byte in _DIGITS:
            number = byte - 48
            last = at + 2
            while at < min(last, len(quoted)) and quoted[at] in _DIGITS:
                number = number * 8 + quoted[at] - 48
                at += 1
            out.append(number & 0xFF)
        else:
            out.append(_ESCAPES.get(byte, byte))
    return bytes(out)


def read(tape: Tape, buffer: Buffer, start: i64, end: i64) -> None:
    """Write the tree of the HDF text in buffer.data[start:end] as the member `hdf`.

    The text ends at the first NUL, as in C. Text whose first line is not HDF gives no member at all; if a
    later line is not, what came before is kept, with a note.
    """
    if end - start > MAX_TEXT:
        tape.note(
            "limit", start, f"{end - start} bytes of text are not read as HDF, {MAX_TEXT} at most", buffer
        )
        return
    _Reader(tape, buffer, start, end).read()


class _Reader:
    """Reads one text; `problem` states what is not HDF, at `at`."""

    def __init__(self, tape: Tape, buffer: Buffer, start: i64, end: i64) -> None:
        self.tape: Final = tape
        self.buffer: Final = buffer
        self.data: Final = buffer.data
        self.start: Final[i64] = start
        self.end: Final[i64] = end
        nul: i64 = buffer.data.find(b"\0", start, end)
        self.stop: Final[i64] = end if nul < 0 else nul
        self.at: i64 = start
        self.problem = ""
        self.pos: i64 = start

    def read(self) -> None:
        """Write the member `hdf`, or nothing."""
        tape = self.tape
        data = self.data
        stop = self.stop
        mark = tape.mark()
        root = tape.open(_HDF, self.start, 0)
        opened: list[i64] = []  # open nodes: an item, then the array of its children
        good = False
        while self.pos < stop:
            newline: i64 = data.find(b"\n", self.pos, stop)
            line_end = stop if newline < 0 else newline
            at = skip_blanks(data, self.pos, line_end)
            self.at = at
            self.pos = stop if newline < 0 else newline + 1
            if at == line_end:
                continue
            byte: i64 = data[at]
            if byte == 0x23:  # a comment
                if data[at : at + 9] == b"#include ":
                    self.problem = "#include is not read from text"
                    break
                continue
            if byte == 0x7D:
                if strip_end(data, at, line_end) != at + 1:
                    self.problem = "text after }"
                elif not opened:
                    self.problem = "a } without a {"
                if self.problem:
                    break
                tape.close(opened.pop(), at)
                tape.close(opened.pop(), at + 1)
                continue
            item = tape.open(_ITEM, at, 0)
            outcome = self.item(at, line_end)
            if outcome == _BROKEN:
                tape.cut(item)
                break
            good = True
            if outcome == _OPEN:
                opened.append(item)
                opened.append(tape.size() - t.WIDTH)  # the children: the last node
            else:
                tape.close(item, self.pos)
            if self.problem:
                break
        if opened and not self.problem:
            self.at = stop
            self.problem = "a { without a }"
        while opened:
            tape.close(opened.pop(), self.at)
        tape.close(root, stop)
        if self.problem and not good:
            tape.rollback(mark)
            return
        if self.problem:
            tape.note("hdf-damaged", self.at, f"the HDF text is damaged: {self.problem}", self.buffer)
        if stop + 1 < self.end:
            left = self.end - stop - 1
            tape.note("hdf-damaged", stop, f"{count(left, 'byte')} after the NUL", self.buffer)

    def item(self, at: i64, line_end: i64) -> i64:
        """Write the members of an item whose line starts at `at`; returns what became of it."""
        tape = self.tape
        data = self.data
        name_end = at
        while name_end < line_end and is_name(data[name_end]):
            name_end += 1
        pos = skip_blanks(data, name_end, line_end)
        self.problem = "a line without a name and an operator"
        if name_end == at or pos == line_end:
            return _BROKEN
        tape.leaf(_NAME, at, name_end, at)
        if data[pos] == 0x5B:
            pos = self.attributes(pos, line_end)
            if pos < 0:
                self.problem = "malformed attributes"
                return _BROKEN
            pos = skip_blanks(data, pos, line_end)
        operator: i64 = data[pos] if pos < line_end else -1
        following: i64 = data[pos + 1] if pos + 1 < line_end else -1
        if operator == 0x3C and following == 0x3C:
            return self.here_document(pos + 2, line_end)
        if operator != 0x3D and operator != 0x3A and operator != 0x7B:
            return _BROKEN
        self.problem = ""
        if operator == 0x7B:
            tape.open(_CHILDREN, pos, 0)
            return _OPEN
        if operator == 0x3D:
            self.rest_of_line(_VALUE, pos + 1, line_end)
        elif following == 0x3D:
            self.rest_of_line(_COPY, pos + 2, line_end)
        else:
            self.rest_of_line(_LINK, pos + 1, line_end)
        return _DONE

    def rest_of_line(self, head: i64, at: i64, line_end: i64) -> None:
        """Write the rest of a line, without the blanks around it."""
        start = skip_blanks(self.data, at, line_end)
        end = strip_end(self.data, start, line_end)
        self.tape.leaf(head, start, end, start)

    def here_document(self, at: i64, line_end: i64) -> i64:
        """Write the lines of a here-document, up to one that starts with its mark and a blank."""
        data = self.data
        stop = self.stop
        start = skip_blanks(data, at, line_end)
        mark = data[start : strip_end(data, start, line_end)]
        if not mark:
            self.problem = "a here-document without a mark"
            return _BROKEN
        size: i64 = len(mark)
        content = self.pos
        line = content
        while line < stop:
            newline: i64 = data.find(b"\n", line, stop)
            after = stop if newline < 0 else newline + 1
            if line + size < after and data.startswith(mark, line) and is_blank(data[line + size]):
                self.tape.leaf(_VALUE, content, line, content)
                self.pos = after
                self.problem = ""
                return _DONE
            line = after
        self.at = stop
        self.problem = "a here-document without an end"
        self.tape.leaf(_VALUE, content, stop, content)
        self.pos = stop
        return _DONE

    def attributes(self, opening: i64, end: i64) -> i64:
        """Write the attributes of an item as a map; returns the position after `]`, -1 if malformed."""
        tape = self.tape
        data = self.data
        node = tape.open(_ATTRIBUTES, opening, -1)
        at = opening + 1
        while at < end and data[at] != 0x5D:
            key = at
            while at < end and is_key(data[at]):
                at += 1
            if at == key:
                return -1
            tape.leaf(_KEY, key, at, key)
            at = skip_blanks(data, at, end)
            if at < end and data[at] == 0x3D:
                at = skip_blanks(data, at + 1, end)
                start = at
                if at < end and data[at] == 0x22:
                    at += 1
                    while at < end and data[at] != 0x22:
                        at += 2 if data[at] == 0x5C else 1
                    if at >= end:
                        return -1
                    at += 1
                    tape.leaf(_QUOTED, start, at, start)
                else:
                    while at < end and data[at] != 0x20 and data[at] != 0x2C and data[at] != 0x5D:
                        at += 1
                    tape.leaf(_PLAIN, start, at, start)
            else:
                tape.leaf(_BARE, at, at, at)
            at = skip_blanks(data, at, end)
            if at < end and data[at] == 0x2C:
                at = skip_blanks(data, at + 1, end)
        if at >= end:
            return -1
        tape.close(node, at + 1)
        return at + 1


def lookup(items: Node, name: str) -> Node | None:
    """The value at a dotted name below an array of items; the last of several, as ClearSilver reads it."""
    value: Node | None = None
    work: list[tuple[Node, str]] = [(items, name)]
    while work:
        parent, path = work.pop()
        for item in parent:
            name_node = item.member("name")
            if name_node is None:
                continue
            item_name = name_node.shown
            if item_name == path:
                found = item.member("value")
                if found is not None:
                    value = found
            elif path.startswith(item_name + "."):
                children = item.member("children")
                if children is not None:
                    work.append((children, path[len(item_name) + 1 :]))
    return value
