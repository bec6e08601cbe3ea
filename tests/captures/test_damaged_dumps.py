"""A dump that was damaged on its way is read as its true bytes or refused, never as other bytes."""

from collections.abc import Callable

import pytest
from dumps import DUMPS, WORD_DUMPS
from hypothesis import assume, example, given
from hypothesis import strategies as st
from properties import examples

from wirelens.codecs.captures.pasting import PastedError, pasted

pytestmark = pytest.mark.once  # this part is never compiled

RENDERERS = {
    name: render
    for name, render in (DUMPS | WORD_DUMPS).items()
    if name not in ("xxd -b", "tcpdump -X", "follow", "hxd", "strace -e write")
}
PREFIXES: dict[str, Callable[[int], str]] = {
    "": lambda row: "",
    "logger": lambda row: "2026-01-02 03:04:05.006 DEBUG c.example.Codec - ",
    "clock and thread": lambda row: f"03:04:0{row % 10}.123 [main] INFO  x.Y -- ",
    "glog": lambda row: "I0102 03:04:05.000 7 a.cc:1] ",
    "kernel": lambda row: "[   12.345678] ",
    "compose": lambda row: "app_1  | ",
    "numbers": lambda row: f"{row + 1}: ",
    "numbers of an editor": lambda row: f"{row + 1:6}\t",
    "mail": lambda row: "> ",
    "comment": lambda row: "# ",
    "indent": lambda row: "    ",
}
DIGITS = "0123456789abcdef"


def join(lines: list[str], row: int, column: int) -> list[str]:
    """Without the line end after `row`."""
    return [*lines[:row], "".join(lines[row : row + 2]), *lines[row + 2 :]]


def join_with_blank(lines: list[str], row: int, column: int) -> list[str]:
    return [*lines[:row], " ".join([part.strip() for part in lines[row : row + 2]]), *lines[row + 2 :]]


def drop(lines: list[str], row: int, column: int) -> list[str]:
    """Without one character."""
    line = lines[row]
    return [*lines[:row], line[:column] + line[column + 1 :], *lines[row + 1 :]]


def repeat(lines: list[str], row: int, column: int) -> list[str]:
    return [*lines[: row + 1], *lines[row:]]


def shift(lines: list[str], row: int, column: int) -> list[str]:
    """With another digit, mostly one of the offset."""
    line = lines[row]
    at = next((at for at in range(column % 8, len(line)) if line[at] in DIGITS), -1)
    digit = DIGITS[(DIGITS.index(line[at]) + 1 + column) % 16] if at >= 0 else ""
    return [*lines[:row], line[:at] + digit + line[at + 1 :] if at >= 0 else line, *lines[row + 1 :]]


def cut(lines: list[str], row: int, column: int) -> list[str]:
    """With the end of a line cut off, mostly its text."""
    return [*lines[:row], lines[row][:column], *lines[row + 1 :]]


def lose(lines: list[str], row: int, column: int) -> list[str]:
    return lines[:row] + lines[row + 1 :]


def swap(lines: list[str], row: int, column: int) -> list[str]:
    return [*lines[:row], *reversed(lines[row : row + 2]), *lines[row + 2 :]]


def blank(lines: list[str], row: int, column: int) -> list[str]:
    return [*lines[:row], lines[row][:column] + " " + lines[row][column:], *lines[row + 1 :]]


Damage = Callable[[list[str], int, int], list[str]]
DAMAGES: list[Damage] = [join, join_with_blank, drop, repeat, shift, cut, lose, swap, blank]

OCTETS = st.one_of(
    st.binary(min_size=33, max_size=90),
    st.lists(st.sampled_from(b"\0\0\0\1\2\xff abc"), min_size=33, max_size=90).map(bytes),
)


def true_enough(found: bytes, data: bytes, changed_last: bool, damage: Damage) -> bool:
    """Whether bytes are the true ones, or those of another sound dump, which the damage made."""
    if found == data:
        return True
    if damage in (lose, cut) and data.endswith(found):
        return True  # debuggers print addresses: nothing shows that the first row is missing
    if damage is shift and len(found) == len(data):
        return sum(a != b for a, b in zip(found, data, strict=True)) == 1
    return changed_last and (data.startswith(found) or found.startswith(data[: (len(data) - 1) // 16 * 16]))


@pytest.mark.once
@examples(600)
@given(
    data=OCTETS,
    form=st.sampled_from(sorted(RENDERERS)),
    prefix=st.sampled_from(sorted(PREFIXES)),
    damage=st.sampled_from(DAMAGES),
    before=st.booleans(),
    row=st.integers(0, 9),
    column=st.integers(0, 90),
)
@example(
    data=bytes(range(33)),
    form="wireshark without text",
    prefix="kernel",
    damage=join,
    before=False,
    row=0,
    column=0,
)
@example(data=bytes(33), form="od", prefix="comment", damage=drop, before=False, row=0, column=0)
def test_never_other_bytes(
    data: bytes, form: str, prefix: str, damage: Damage, before: bool, row: int, column: int
) -> None:
    lines = RENDERERS[form](data).rstrip("\n").split("\n")
    assume(row < len(lines) and (form, damage) != ("hexdump", lose))  # its offsets could be octal
    column = column % (len(lines[row]) + 1)
    put = PREFIXES[prefix]
    if before:
        lines = damage(lines, row, column)
    lines = [put(number) + line for number, line in enumerate(lines)]
    if not before:
        lines = damage(lines, row, column)
    try:
        found = pasted("\n".join(lines))
    except PastedError:
        return
    if found.form != "raw":
        assert true_enough(found.data, data, row >= len(lines) - 3, damage), found
