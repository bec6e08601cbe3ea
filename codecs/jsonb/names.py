"""The names of one JSONB document: types and names share one numbering, and each is defined once."""

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.node import Node
from wirelens.codecs.scan import SLOTS, same_bytes, slot_of
from wirelens.codecs.tape import Buffer, Tape

_ROOM: Final = 64  # slots at first; at most half of them are used
_MOST_TRIES: Final = 16  # slots that are looked at for one name
_FREE: Final[vec[i64]] = vec[i64]([0] * _ROOM)


class _AnyNames:
    """Names in any encoding, with any numbers, and defined more than once."""

    def __init__(self) -> None:
        self.definers: Final[dict[int, int]] = {}  # the node that defines a number
        self.texts: Final[dict[str, int]] = {}  # the number that a text was first defined with
        self.odd: Final[set[int]] = set()  # numbers whose text was first defined with another one

    def define(self, number: int, node: int, text: str) -> None:
        """Keep a definition."""
        if self.texts.setdefault(text, number) == number:
            self.odd.discard(number)
        else:
            self.odd.add(number)
        self.definers[number] = node


@mypyc_attr(acyclic=True)
class Names:
    """The names that a document has defined so far.

    The usual writer numbers names from 0 on, and defines none twice: as long as a document does so in ASCII,
    no Python object is made for a name (a Dubbo request of 30 names decodes twice as fast).
    """

    def __init__(self, tape: Tape, buffer: Buffer) -> None:
        self.tape: Final = tape
        self.buffer: Final = buffer
        self.count: i64 = 0  # definitions so far
        self.nodes: vec[i64] = vec[i64](capacity=_ROOM)  # the node that defines each number
        self.slots: vec[i64] = _FREE[:]  # by the hash of a text: `first` + its number; less in a free slot
        self.first: i64 = 1  # above all that earlier documents left in the slots
        self.any: _AnyNames | None = None  # all names, once there is an unusual one

    def clear(self) -> None:
        """Start another document."""
        if self.count:
            self.first += self.count
            self.count = 0
            self.any = None

    def find(self, number: i64) -> i64:
        """The node that defines a number; -1 if there is none."""
        if self.any is not None:
            return self.any.definers.get(int(number), -1)
        return self.nodes[number] if 0 <= number < self.count else -1

    def is_odd(self, number: i64) -> bool:
        """Whether a writer would use another number for the text with this one."""
        return self.any is not None and int(number) in self.any.odd

    def define(self, number: i64, node: i64, text: i64) -> bool:
        """Keep the name that `node` defines, with the text node `text`; whether it is numbered as usual."""
        usual = number == self.count
        if self.any is None and not (usual and self._add(number, text)):
            names = _AnyNames()
            for earlier in range(int(self.count)):
                names.define(
                    earlier, int(self.nodes[earlier]), self._text(self.tape.following(self.nodes[earlier]))
                )
            self.any = names
        if self.any is not None:
            content = self._text(text)
            usual = usual and content not in self.any.texts
            self.any.define(int(number), int(node), content)
        elif number < len(self.nodes):
            self.nodes[number] = node
        else:
            self.nodes = append(self.nodes, node)
        self.count += 1
        return usual

    def _add(self, number: i64, text: i64) -> bool:
        """Put a new text in the slots; False if it is not new, not in ASCII, or does not find a place."""
        tape = self.tape
        if tape.kind(text) != t.STRING16:
            return False
        if 2 * number >= len(self.slots) and not self._grow():
            return False
        at = tape.number(text)
        size = tape.end(text) - at
        data = self.buffer.data
        slots = self.slots
        mask: i64 = len(slots) - 1
        slot = slot_of(data, at, size) & mask
        tries: i64 = 0
        while tries < _MOST_TRIES:
            tries += 1
            other = slots[slot] - self.first
            if other < 0:
                slots[slot] = self.first + number
                return True
            known = tape.following(self.nodes[other])
            first = tape.number(known)
            if tape.end(known) - first == size and same_bytes(data, first, at, size):
                return False
            slot = (slot + 1) & mask
        return False

    def _grow(self) -> bool:
        """Double the slots; False if they are as many as they can be."""
        size = 2 * len(self.slots)
        if size > SLOTS:
            return False
        self.slots = vec[i64]([0] * size)
        number: i64 = 0
        while number < self.count:
            if not self._add(number, self.tape.following(self.nodes[number])):
                return False
            number += 1
        return True

    def _text(self, node: i64) -> str:
        """The text of a text node."""
        return Node(self.tape, int(node), self.buffer).text or ""
