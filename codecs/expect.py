"""Reading the notation's JSON: what the encoders expect of it, and errors that name the place."""

from collections.abc import Iterable
from typing import Final

from wirelens.codecs.node import Json
from wirelens.codecs.notation import EncodeError

# The words for floats that are no numbers.
NOT_FINITE: Final[dict[str, float]] = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}


class Path:
    """A place in JSON, as a chain of steps; its text is made only for an error."""

    def __init__(self, above: "Path | None", step: str) -> None:
        self.above: Final = above
        self.step: Final = step

    def text(self) -> str:
        """The place as in `lines[2].value`."""
        steps: list[str] = []
        place: Path | None = self
        while place is not None:
            steps.append(place.step)
            place = place.above
        return "".join(reversed(steps)).removeprefix(".")

    def error(self, text: str) -> EncodeError:
        """An error at this place, to be raised by the caller."""
        return EncodeError(self.text(), text)


def object_of(value: Json, path: str, what: str) -> dict[str, Json]:
    """An object; `what` says what it was to be."""
    if not isinstance(value, dict):
        raise EncodeError(path, f"expected an object: {what}")
    return value


def array_of(value: Json, path: str, what: str) -> list[Json]:
    """An array; `what` says of what."""
    if not isinstance(value, list):
        raise EncodeError(path, f"expected an array of {what}")
    return value


def only(value: dict[str, Json], names: Iterable[str], path: str) -> None:
    """Refuse members that are not in `names`: a misspelt one would be lost in silence."""
    known = sorted(names)
    for name in value:
        if name not in known:
            raise EncodeError(
                f"{path}.{name}".removeprefix("."), "no such member here; there are " + ", ".join(known)
            )


def number_of(value: Json, names: dict[int, str], path: str, low: int, high: int) -> int:
    """An integer in low … high, or the name that stands for one."""
    if isinstance(value, str) and names:
        for number, name in names.items():
            if name == value:
                return number
        raise EncodeError(path, f"{value!r} is none of {', '.join(names.values())}, nor a number")
    if isinstance(value, bool) or not isinstance(value, int):
        raise EncodeError(path, "expected an integer" + (" or a name" if names else ""))
    if not low <= value <= high:
        raise EncodeError(path, f"{value} is not in {low} … {high}")
    return value


def hex_bytes(value: Json, path: str) -> bytes:
    """Bytes written as hex digits."""
    if not isinstance(value, str):
        raise EncodeError(path, "expected bytes as hex digits")
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise EncodeError(path, "expected pairs of hex digits") from None


def text_bytes(value: Json, path: str) -> bytes:
    """The UTF-8 of text, or the bytes of {"$raw": hex}."""
    if isinstance(value, dict) and "$raw" in value:
        return hex_bytes(value["$raw"], path + ".$raw")
    if not isinstance(value, str):
        raise EncodeError(path, "expected text")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise EncodeError(path, "a lone surrogate has no UTF-8; bytes go in $raw") from None
