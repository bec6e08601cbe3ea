"""Numbers of the types and class definitions that are written, by the order in which they come."""

from typing import Final

from mypy_extensions import i64, mypyc_attr

# Up to this many entries are compared one by one, more are looked up in a dictionary; uncompiled, all are.
_FEW: Final = 0 if __file__.endswith(".py") else 8


@mypyc_attr(acyclic=True, free_list_len=1)
class Numbering:
    """The entries of one table of a scope, numbered from 0.

    Comparing a few takes less time than their hashes and a dictionary: 4 % of a message.
    """

    def __init__(self) -> None:
        self.entries: list[bytes] = []
        self.first: dict[bytes, int] | None = None  # the first number of each of many entries

    def find(self, entry: bytes) -> i64:
        """The first number of an entry; -1 if it has none."""
        if self.first is not None:
            return self.first.get(entry, -1)
        at: i64 = 0
        size: i64 = len(self.entries)
        while at < size:
            if self.entries[at] == entry:
                return at
            at += 1
        return -1

    def add(self, entry: bytes) -> None:
        """Give an entry the next number."""
        self.entries.append(entry)
        if self.first is not None:
            self.first.setdefault(entry, len(self.entries) - 1)
        elif len(self.entries) > _FEW:
            self.first = {}
            for number, one in enumerate(self.entries):
                self.first.setdefault(one, number)

    def replace(self, number: i64, entry: bytes) -> None:
        """Put an entry that has no number yet in the place of one that is not looked up."""
        self.entries[number] = entry
        if self.first is not None:
            self.first[entry] = number

    def drop_last(self) -> None:
        """Take the last entry back, whose number was its first."""
        entry = self.entries.pop()
        if self.first is not None:
            del self.first[entry]
