"""What JSONB's references mean: paths from the root of a document, the holder itself, the same path again."""

import re
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node
from wirelens.codecs.scan import starts_with
from wirelens.codecs.tape import Buffer, Tape

ROOT: Final = b"$"
HOLDER: Final = b".."
AGAIN: Final = b"#-1"
MOST_STEPS: Final = 1 << 18  # members that are looked at for all references of one document
MOST_DIGITS: Final = 9  # of a position in a list


class References:
    """The references of one document, to be resolved once all of it was read."""

    def __init__(self, tape: Tape, buffer: Buffer) -> None:
        self.tape: Final = tape
        self.buffer: Final = buffer
        self.nodes: Final[list[tuple[int, int]]] = []  # a reference, and the container that holds it
        self.known: Final[dict[bytes, i64]] = {}  # the node at a path
        self.steps: i64 = 0

    def add(self, node: i64, holder: i64) -> None:
        """Keep a reference and its holder, -1 if it has none."""
        self.nodes.append((int(node), int(holder)))

    def resolve(self, root: i64) -> None:
        """Point all references to their targets in the document at `root`; note those that have none."""
        tape = self.tape
        path = b""
        for index, holder in self.nodes:
            if tape.next(index) <= tape.following(index):
                continue  # cut off before its path
            text = self._bytes(tape.following(index))
            if text != AGAIN:
                path = text
            target: i64 = holder if path == HOLDER else self._at(path, root)
            if target < 0:
                shown = (path or text).decode("utf-8", "surrogatepass")
                tape.note("dangling-ref", tape.start(index), f"nothing is at the path {shown}", self.buffer)
                continue
            reference: i64 = -1
            kind = tape.kind(target)
            if kind == t.LIST or kind == t.MAP or kind == t.TYPED:
                tape.set_flags(target, t.REFERRED)
                reference = tape.number(target)
            tape.set_number(index, t.reference_number(reference, target))

    def _at(self, path: bytes, root: i64) -> i64:
        """The node at a path from the root; -1 if there is none."""
        found = self.known.get(path)
        if found is not None:
            return found
        target = self._walk(path, root) if path.startswith(ROOT) else -1
        self.known[path] = target
        return target

    def _walk(self, path: bytes, found: i64) -> i64:
        """Follow the steps of a path, `[0]` and `.name`; `\\` makes the next character part of a name."""
        at: i64 = len(ROOT)
        end: i64 = len(path)
        while at < end and found >= 0:
            opening = path[at]
            at += 1
            first = at
            found = self._inside(found)
            if opening == 0x5B:  # [
                position: i64 = 0
                while at < end and at - first < MOST_DIGITS and 0x30 <= path[at] <= 0x39:
                    position = position * 10 + path[at] - 0x30
                    at += 1
                if at == first or at == end or path[at] != 0x5D:
                    return -1
                at += 1
                found = self._item(found, position)
            elif opening == 0x2E:  # .
                escaped = False
                while at < end and path[at] != 0x2E and path[at] != 0x5B:
                    if path[at] == 0x5C:
                        escaped = True
                        at += 1
                    at += 1
                if at > end:
                    return -1
                name = path[first:at]
                if escaped:
                    name = re.sub(rb"\\(.)", rb"\1", name, flags=re.DOTALL)
                found = self._member(found, name)
            else:
                return -1
        return found

    def _inside(self, index: i64) -> i64:
        """The node whose members a step leads to: the value of a typed value, the target of a reference."""
        tape = self.tape
        if tape.kind(index) == t.REF:
            index = (tape.number(index) >> 32) - 1
        while index >= 0 and tape.kind(index) == t.TYPED:
            self.steps += 1
            inner = tape.next(tape.following(index))
            if inner >= tape.next(index) or self.steps > MOST_STEPS:
                return -1
            index = inner
        return index

    def _item(self, index: i64, position: i64) -> i64:
        """The item of a list at a position."""
        if index < 0 or self.tape.kind(index) != t.LIST:
            return -1
        return self._child(index, position, b"")

    def _member(self, index: i64, name: bytes) -> i64:
        """The value under a key of a map."""
        if index < 0 or self.tape.kind(index) != t.MAP:
            return -1
        return self._child(index, -1, name)

    def _child(self, index: i64, position: i64, name: bytes) -> i64:
        tape = self.tape
        end = tape.next(index)
        at = tape.following(index)
        count: i64 = 0
        matched = False
        while at < end:
            self.steps += 1
            if self.steps > MOST_STEPS:
                return -1
            if tape.head(at) & t.HIDDEN == 0:
                if matched or count == position:
                    return at
                if position < 0 and count & 1 == 0:
                    matched = self._is_key(at, name)
                count += 1
            at = tape.next(at)
        return -1

    def _is_key(self, index: i64, name: bytes) -> bool:
        """Whether a key is the one that a path names."""
        tape = self.tape
        index = self._inside(index)
        if index < 0:
            return not name
        if tape.kind(index) == t.SYMBOL and tape.number(index) >= 0:
            index = tape.following(tape.number(index))  # the text of its definition
        if tape.kind(index) == t.STRING16:
            at = tape.number(index)
            size: i64 = len(name)
            return tape.end(index) - at == size and starts_with(self.buffer.data, at, name)
        return self._bytes(index) == name

    def _bytes(self, index: i64) -> bytes:
        """A text or a key as paths have it, in UTF-8."""
        tape = self.tape
        if tape.kind(index) == t.STRING16:
            return self.buffer.data[tape.number(index) : tape.end(index)]
        value = Node(tape, int(index), self.buffer).value
        text = value if isinstance(value, str) else "null" if value is None else str(value)
        return text.encode("utf-8", "surrogatepass")
