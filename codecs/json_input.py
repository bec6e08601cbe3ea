"""Reading the notation's JSON: what the encoders expect of it, and errors that name the place."""

from collections.abc import Iterable
from typing import Final

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.node import Json

# The words for floats that are not finite.
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


def wrong(where: Path | str, text: str, step: str = "") -> EncodeError:
    """An error at a place (and a step further in), to be raised by the caller."""
    place = where.text() if isinstance(where, Path) else where
    return EncodeError((place + step).removeprefix("."), text)


def object_of(value: Json, where: Path | str, what: str) -> dict[str, Json]:
    """An object; `what` names what was expected."""
    if not isinstance(value, dict):
        raise wrong(where, f"expected an object: {what}")
    return value


def array_of(value: Json, where: Path | str, what: str) -> list[Json]:
    """An array; `what` names its items."""
    if not isinstance(value, list):
        raise wrong(where, f"expected an array of {what}")
    return value


def only(value: dict[str, Json], names: Iterable[str], where: Path | str) -> None:
    """Refuse members that are not in `names`: a misspelt one would be lost in silence."""
    known = sorted(names)
    for name in value:
        if name not in known:
            raise wrong(where, "no such member here; there are " + ", ".join(known), "." + name)


def number_of(value: Json, names: dict[int, str], where: Path | str, low: int, high: int) -> int:
    """An integer in low … high, or the name that stands for one."""
    if isinstance(value, str) and names:
        for number, name in names.items():
            if name == value:
                return number
        raise wrong(where, f"{value!r} is none of {', '.join(names.values())}, nor a number")
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(where, "expected an integer" + (" or a name" if names else ""))
    if not low <= value <= high:
        raise wrong(where, f"{value} is not in {low} … {high}")
    return value


def hex_bytes(value: Json, where: Path | str) -> bytes:
    """Bytes written as hex digits."""
    if not isinstance(value, str):
        raise wrong(where, "expected bytes as hex digits")
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise wrong(where, "expected pairs of hex digits") from None


def text_bytes(value: Json, where: Path | str) -> bytes:
    """The UTF-8 of text, or the bytes of {"$raw": hex}."""
    if isinstance(value, dict) and "$raw" in value:
        return hex_bytes(value["$raw"], where)
    if not isinstance(value, str):
        raise wrong(where, "expected text")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise wrong(where, "a lone surrogate has no UTF-8; bytes go in $raw") from None
