"""--point: where a capture was made, according to its path. Flows of different points are different flows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

POINT_BYTES: Final = 8  # of what stands for a point in the keys of flows
NONE: Final = "none"
FOLDER: Final = "folder"


def point_of(path: str, option: str) -> str:
    """The name of the point where a capture was made, as --point finds it in the path; "" for none."""
    if option == NONE:
        return ""
    if option == FOLDER:
        return path.rpartition("/")[0]
    found = re.search(option, path)
    if found is None:
        return ""
    return next((group for group in found.groups() if group), "") if found.groups() else found.group()


def points_of(names: Mapping[int, str], option: str) -> dict[int, str]:
    """The points where files were captured, by their numbers; none without --point."""
    if option == NONE:
        return {}
    return {number: point_of(name, option) for number, name in names.items()}


def point_key(path: str, option: str) -> bytes:
    """What stands for the point in the keys of its flows; b"" for none."""
    if option == NONE:
        return b""
    from hashlib import blake2b

    point = point_of(path, option).encode("utf-8", "surrogateescape")
    return blake2b(point, digest_size=POINT_BYTES).digest() if point else b""


def contradiction(files: Iterable[tuple[str, str]]) -> str:
    """A warning about the first two files that contradict each other and lie in different folders, or ""."""
    for first, second in files:
        if first.rpartition("/")[0] != second.rpartition("/")[0]:
            return (
                f"{first} and {second} have different bytes at the same place of a stream; if they were "
                f"captured at different points, --point {FOLDER} keeps their flows apart"
            )
    return ""
