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

LIKENESS: Final = 0.5  # of a misspelt name to the one meant: the share of letters that they have in common
MOST_COMPARED: Final = 64  # characters of a misspelt name


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
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise wrong(where, f"no such member here; {there}{did_you_mean(name, known)}", "." + name)


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """The end of an error about a misspelt name: '; did you mean "id"?', or nothing."""
    nearest = nearest_name(word, names)
    return f'; did you mean "{nearest}"?' if nearest else ""


def nearest_name(word: str, names: Iterable[str]) -> str:
    """The name most like a misspelt one, whatever the case of its letters; empty if none is like it."""
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in names}
    close = get_close_matches(word[:MOST_COMPARED].casefold(), folded, 1, LIKENESS)
    return folded[close[0]] if close else ""


def number_named(word: str, names: dict[int, str], prefixes: Iterable[str] = ()) -> int | None:
    """The number that a name stands for: as in the table, in any case, or with a prefix of the specification.

    "REQUEST", "request" and, with the prefix "FLAG_", "FLAG_REQUEST"; "0x1e" stands for itself.
    """
    for number, name in names.items():
        if name == word:
            return number
    if word[:2] in ("0x", "0X"):
        try:
            return int(word, 16)
        except ValueError:
            return None
    upper = word.upper()
    forms = [upper, *[upper.removeprefix(prefix) for prefix in prefixes]]
    for number, name in names.items():
        if name.upper() in forms:
            return number
    return None


def none_of(word: str, names: Iterable[str], also: str = "") -> str:
    """The text of an error about a name that is not among those that exist."""
    known = list(dict.fromkeys(names))
    return f"{word!r} is not one of {', '.join(known)}{also}{did_you_mean(word, known)}"


def number_of(
    value: Json, names: dict[int, str], where: Path | str, low: int, high: int, *prefixes: str
) -> int:
    """An integer in low … high, given as a number, as "0x1e", or by the name that stands for one.

    `prefixes`: what the specification writes before the names (`MT_` of `MT_FLAG`).
    """
    if isinstance(value, str) and (names or value[:2] in ("0x", "0X")):
        number = number_named(value, names, prefixes)
        if number in names:
            return number
        if number is None and names:
            raise wrong(where, none_of(value, names.values(), ", nor a number"))
        if number is not None:
            value = number
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(where, "expected an integer" + (" or a name" if names else ""))
    if not low <= value <= high:
        raise wrong(where, f"{value} is not in {low} … {high}")
    return value


def flags_of(value: Json, names: dict[int, str], where: Path | str, high: int, *prefixes: str) -> int:
    """Bits up to `high`, given as a number or as names joined by `|`: "CACHE_ONLY|SYNC"."""
    if not isinstance(value, str):
        return number_of(value, names, where, 0, high, *prefixes)
    flags = 0
    for name in value.split("|"):
        flags |= number_of(name.strip(), names, where, 0, high, *prefixes)
    return flags


def one_of(value: Json, words: Iterable[str], where: Path | str) -> str:
    """One of a few words, in any case of its letters."""
    known = list(words)
    text = value if isinstance(value, str) else ""
    for word in known:
        if word.casefold() == text.casefold():
            return word
    listed = ", ".join([f'"{word}"' for word in known[:-1]])
    raise wrong(where, f'expected {listed} or "{known[-1]}"{did_you_mean(text, known)}')


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
