"""What JSONB's references mean: paths from the root of a document, the holder itself, the same path again."""

import re
from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node
from wirelens.codecs.tape import Buffer, Tape

ROOT: Final = "$"
HOLDER: Final = ".."
AGAIN: Final = "#-1"
MOST_STEPS: Final = 1 << 18  # members that are looked at for all references of one document

_STEP: Final = re.compile(r"\[(\d{1,9})\]|\.((?:[^\\.\[]|\\.)*)", re.DOTALL)


class References:
    """The references of one document, to be resolved once all of it was read."""

    def __init__(self, tape: Tape, buffer: Buffer) -> None:
        self.tape: Final = tape
        self.buffer: Final = buffer
        self.nodes: Final[list[tuple[int, int]]] = []  # a reference, and the container that holds it
        self.known: Final[dict[str, int]] = {}  # the node at a path
        self.steps = 0

    def add(self, node: i64, holder: i64) -> None:
        """Keep a reference and its holder, -1 if it has none."""
        self.nodes.append((int(node), int(holder)))

    def resolve(self, root: i64) -> None:
        """Point all references to their targets in the document at `root`; note those that have none."""
        tape = self.tape
        path = ""
        for index, holder in self.nodes:
            if tape.next(index) <= index + 1:
                continue  # cut off before its path
            text = Node(tape, index + 1, self.buffer).text or ""
            path = path if text == AGAIN else text
            target = holder if path == HOLDER else self._at(path, int(root))
            if target < 0:
                where = int(tape.start(index))
                tape.note("dangling-ref", where, f"nothing is at the path {path or text}", self.buffer)
                continue
            reference: i64 = -1
            if tape.kind(target) in (t.LIST, t.MAP, t.TYPED):
                tape.set_flags(target, t.REFERRED)
                reference = tape.number(target)
            tape.set_number(index, t.reference_number(reference, target))

    def _at(self, path: str, root: int) -> int:
        """The node at a path from the root; -1 if there is none."""
        found = self.known.get(path)
        if found is not None:
            return found
        found = -1
        if path.startswith(ROOT):
            found = root
            at = len(ROOT)
            while at < len(path) and found >= 0:
                step = _STEP.match(path, at)
                if step is None:
                    found = -1
                    break
                at = step.end()
                found = self._inside(found)
                if step[1] is not None:
                    found = self._item(found, int(step[1]))
                else:
                    found = self._member(found, re.sub(r"\\(.)", r"\1", step[2], flags=re.DOTALL))
        self.known[path] = found
        return found

    def _inside(self, index: int) -> int:
        """The node whose members a step leads to: the value of a typed value, the target of a reference."""
        tape = self.tape
        if tape.kind(index) == t.REF:
            index = int(tape.number(index) >> 32) - 1
        while index >= 0 and tape.kind(index) == t.TYPED:
            self.steps += 1
            inner = int(tape.next(index + 1))
            if inner >= tape.next(index) or self.steps > MOST_STEPS:
                return -1
            index = inner
        return index

    def _item(self, index: int, position: int) -> int:
        """The item of a list at a position."""
        if index < 0 or self.tape.kind(index) != t.LIST:
            return -1
        return self._child(index, position, "")

    def _member(self, index: int, name: str) -> int:
        """The value under a key of a map."""
        if index < 0 or self.tape.kind(index) != t.MAP:
            return -1
        return self._child(index, -1, name)

    def _child(self, index: int, position: int, name: str) -> int:
        tape = self.tape
        end = int(tape.next(index))
        at = index + 1
        count = 0
        matched = False
        while at < end:
            self.steps += 1
            if self.steps > MOST_STEPS:
                return -1
            if tape.head(at) & t.HIDDEN == 0:
                if matched or count == position:
                    return at
                if position < 0 and count & 1 == 0:
                    matched = self._key(at) == name
                count += 1
            at = int(tape.next(at))
        return -1

    def _key(self, index: int) -> str:
        """A key as paths have it."""
        index = self._inside(index)
        if index < 0:
            return ""
        value = Node(self.tape, index, self.buffer).value
        return value if isinstance(value, str) else "null" if value is None else str(value)
