"""Where in the JSON the value being written is: open containers, and the paths of errors."""

from typing import Any, Final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs.errors import EncodeError

# How the members of an open container are named in paths.
ITEMS: Final = 0
TAGGED_ITEMS: Final = 1
KEYS: Final = 2
TAGGED_KEYS: Final = 3
PAIRS: Final = 4
FIELDS: Final = 5
FIELD_PAIRS: Final = 6


# Not tracked by the garbage collector, as nothing refers back to it. Members are Any rather than Json:
# whenever compiled code takes one, it would check it for each type of the union.
@mypyc_attr(acyclic=True, free_list_len=1)
class Frame:
    """A container being written: its members, in the order of the bytes."""

    def __init__(
        self,
        outer: "Frame | None",
        items: list[Any],
        naming: i64,
        names: list[str],
        closer: i64,
        first: i64 = 0,
    ) -> None:
        self.outer: Final = outer
        self.items: Final = items
        self.naming: Final[i64] = naming
        self.names: Final = names  # of fields; they may be preceded by others
        self.closer: Final[i64] = closer  # the byte that ends it; -1 for none
        self.size: Final[i64] = len(items)
        level: i64 = 0
        if outer is not None:
            level = outer.level + 1
        self.level: Final[i64] = level
        self.next = first

    def step(self) -> str:
        """The step of a path to the member being written."""
        at = int(self.next) - 1
        if self.naming == ITEMS:
            return f"[{at}]"
        if self.naming == TAGGED_ITEMS:
            return f".$list[{at}]"
        if self.naming == PAIRS:
            return f".$map[{at // 2}][{at % 2}]"
        if self.naming == FIELD_PAIRS:
            return f".$fields[{at}][1]"
        if self.naming == FIELDS:
            return "." + self.names[at - int(self.size)]
        key = self.items[at & ~1]
        return (".$map." if self.naming == TAGGED_KEYS else ".") + (
            key if isinstance(key, str) else "$fields"
        )


@mypyc_attr(acyclic=True)
class Place:
    """The value being written, by its path. Base of `Encoder`."""

    def __init__(self, out: BytesWriter, dialect: int) -> None:
        self.out: Final = out
        self.dialect: Final = dialect
        self.base = ""  # the path of the outermost value, or of the array of values
        self.position = -1  # in an array of values
        self.frame: Frame | None = None  # the innermost open container

    def place(self, path: str) -> None:
        """Set the path of a part that is not a value (a name, a length) and is written next."""
        self.base = path
        self.position = -1
        self.frame = None

    def error(self, text: str, step: str = "") -> EncodeError:
        """An error at the value being written, or at its member `step`."""
        path = self.base if self.position < 0 else f"{self.base}[{self.position}]"
        steps: list[str] = []
        frame = self.frame
        while frame is not None:
            steps.append(frame.step())
            frame = frame.outer
        path += "".join(reversed(steps)) + step
        return EncodeError(path.removeprefix("."), text)
