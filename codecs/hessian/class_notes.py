"""Notes on the classes of a message: those known from attacks, and numbers that the sender lost."""

import re
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.hessian.texts import as_read, content_of
from wirelens.codecs.hessian.well_known_classes import learn_harmless, names_number
from wirelens.codecs.node import FIELDS, Node
from wirelens.codecs.tape import Buffer, Tape

CODE: Final = "gadget-class"
LOST: Final = "number-lost"

GENERIC_METHOD: Final = b"$invoke"  # how the names of methods begin whose arguments name classes in texts
_BEAN: Final = b"JavaBeanDescriptor"  # how the classes end whose fields do
_PROXY: Final = b"SerializationProxy"  # how the classes end in whose place Scala's collections are sent
LOST_CONTENT: Final = " without fields: its sender wrote nothing of the collection that it stands for"
# Regular expressions, compiled when they are first used
_JSON_CLASS: Final = rb'"(?:@?class|@type)"\s*:\s*"([^"]{1,256})"'
_NAME: Final = rb"[\w$.\[;/]+\Z"
_JAVA_CLASS: Final = b"r"  # opens a class in Java serialization, before the length of its name


class _Lost:
    """The numbers that a sender lost: the first, and how many there are."""

    def __init__(self) -> None:
        self.text = ""
        self.position: i64 = 0
        self.buffer: Buffer | None = None
        self.count = 0

    def look(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Count an object or map, if it is complete and such a number."""
        if tape.next(index) <= index:
            return
        from wirelens.codecs.hessian.java import number_lost  # most messages have no such number

        text = number_lost(Node(tape, int(index), buffer))
        if text:
            self.count += 1
            if self.count == 1:
                self.text = text
                self.position = tape.start(index)
                self.buffer = buffer

    def note(self, tape: Tape) -> None:
        """Write the note, if there is anything to note."""
        if self.buffer is not None:
            others = f"; {self.count - 1} more like it" if self.count > 1 else ""
            tape.note(LOST, self.position, self.text + others, self.buffer)


class _Notes:
    """Writes the notes on classes, each class once."""

    def __init__(self, tape: Tape) -> None:
        self.tape: Final = tape
        self.seen: set[bytes] = set()
        self.companions: list[tuple[bytes, int, Buffer]] = []
        self.gadget_seen = False

    def look(self, name: bytes, position: i64, buffer: Buffer) -> bool:
        """Note a class if it is known from attacks; True if it is, or may be together with others."""
        if name in self.seen:
            return True
        from wirelens.codecs.hessian.gadgets import companion, gadget  # most classes are known by now

        danger = gadget(name)
        if danger:
            self.seen.add(name)
            self.gadget_seen = True
            self.note(name, danger, position, buffer)
            return True
        if companion(name):
            self.seen.add(name)
            self.companions.append((name, int(position), buffer))
            return True
        return False

    def text(self, content: bytes, position: i64, buffer: Buffer) -> None:
        """Look up the classes that a text of a generic call names: as a whole, or in JSON."""
        text = _shown_name(content)
        if re.match(_NAME, text):
            self.look(text, position, buffer)
        elif b"{" in text:
            for match in re.finditer(_JSON_CLASS, text):
                self.look(match[1].lstrip(b"[L").rstrip(b";"), position, buffer)

    def java_bytes(self, content: bytes, position: i64, buffer: Buffer) -> None:
        """Look up the classes that bytes of Java serialization name."""
        at: i64 = content.find(_JAVA_CLASS)
        while 0 <= at and at + 3 < len(content):
            size: i64 = content[at + 1] << 8 | content[at + 2]
            if 3 < size <= 256 and at + 3 + size <= len(content):
                name = content[at + 3 : at + 3 + size]
                if re.match(_NAME, name):
                    self.look(_element(name), position, buffer)
            at = content.find(_JAVA_CLASS, at + 1)

    def note(self, name: bytes, danger: str, position: i64, buffer: Buffer) -> None:
        """Write the note on a class."""
        class_name = name.decode("utf-8", "replace")
        text = f"{class_name} is known from deserialization attacks: it {danger}"
        self.tape.note(CODE, position, text, buffer)

    def note_companions(self) -> None:
        """Write the notes on classes that mean something only together with others, if there are any."""
        if self.gadget_seen:
            from wirelens.codecs.hessian.gadgets import companion

            for name, position, holder in self.companions:
                self.note(name, companion(name), position, holder)


def class_notes(tape: Tape) -> None:
    """Note each class known from attacks once, where a tape first names it, and lost numbers.

    The offset is that of the name; an array's type, such as `[com.example.Car`, names its class. In generic
    calls and bean descriptors texts and bytes may name classes too, and so may JSON. Of the BigDecimals and
    BigIntegers whose sender lost the number the first is noted, at its own offset. Looks at each node once,
    and at none if decoding read only names that are known to need no note.
    """
    if not tape.unchecked_names:
        return
    size: i64 = tape.size()
    index: i64 = 0
    before: i64 = -1  # the node before it
    buffer: Buffer = tape.buffer
    ends: list[int] = []
    outer: list[Buffer] = []
    numbers = False
    generic = False  # whether texts and bytes may name classes
    lost = _Lost()
    notes = _Notes(tape)
    while index < size:
        while ends and index >= ends[-1]:
            ends.pop()
            buffer = outer.pop()
        head: i64 = tape.head(index)
        kind: i64 = head & t.KIND_MASK
        if head & t.EMBEDDED:
            ends.append(int(tape.next(index)))
            outer.append(buffer)
            buffer = tape.buffers[int(tape.number(index))]
        elif (kind == t.TYPE and tape.number(index) == index) or kind == t.CLASS:
            text = tape.following(index)
            while text < tape.next(index) and not _is_text(tape.kind(text)):
                text = tape.next(text)
            if text < tape.next(index):
                name = content_of(tape, text, buffer.data)
                if tape.kind(text) >= t.LATIN1:
                    name = (Node(tape, int(text), buffer).text or "").encode("utf-8", "surrogatepass")
                number = names_number(name, 0, len(name))
                if number:
                    numbers = True
                    if kind == t.TYPE and before >= 0 and tape.kind(before) == t.MAP:
                        lost.look(tape, before, buffer)
                generic = generic or name.endswith(_BEAN)
                proxy = name.endswith(_PROXY)
                if proxy and kind == t.CLASS and tape.nodes(text, tape.next(index)) == 2:
                    shown = name.decode("utf-8", "replace")
                    tape.note("content-lost", tape.start(text), shown + LOST_CONTENT, buffer)
                found = notes.look(_element(_shown_name(name)), tape.start(text), buffer)
                if not (found or number or proxy) and not name.endswith(_BEAN):
                    learn_harmless(name)
        elif kind == t.OBJECT and numbers:
            lost.look(tape, index, buffer)
        elif kind == t.STRING16 and head & t.HIDDEN == 0:
            if generic:
                notes.text(content_of(tape, index, buffer.data), tape.start(index), buffer)
            elif head >> t.FIELD_SHIFT and FIELDS[head >> t.FIELD_SHIFT].name == "method":
                generic = is_generic(tape, index, buffer.data)
        elif kind == t.COMPUTED and FIELDS[head >> t.FIELD_SHIFT].name == "json":
            text_of = buffer.data[tape.start(index) : tape.end(index)]
            notes.text(text_of, tape.start(index), buffer)
        elif kind == t.BYTES and generic:
            notes.java_bytes(content_of(tape, index, buffer.data), tape.start(index), buffer)
        before = index
        index = tape.following(index)
    lost.note(tape)
    notes.note_companions()


def _is_text(kind: i64) -> bool:
    """Whether a node of a kind is a text."""
    return t.STRING <= kind <= t.STRING16 or kind >= t.LATIN1


def is_generic(tape: Tape, method: i64, data: bytes) -> bool:
    """Whether a method, a text node, is one whose arguments name classes in texts."""
    number = tape.number(method)
    if 0 <= number < tape.end(method):
        first: i64 = data[number]
        if first != 0x24 and first < 0xC0:  # neither $ nor the start of an overlong one
            return False
    return _shown_name(content_of(tape, method, data)).startswith(GENERIC_METHOD)


def _shown_name(content: bytes) -> bytes:
    """A name as receivers read it."""
    return content if content.isascii() else as_read(content)


def _element(name: bytes) -> bytes:
    """The class of an array's items; the name of another class."""
    if not name.startswith(b"["):
        return name
    element = name.lstrip(b"[")
    descriptor = element.startswith(b"L") and element.endswith(b";")
    return element[1:-1].replace(b"/", b".") if descriptor else element
