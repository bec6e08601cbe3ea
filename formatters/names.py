"""Names of services and classes: their parts, and shorter forms of them for narrow lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def split_package(name: str) -> tuple[str, str]:
    """A name's package with its dot, "" if it has none, and the class: ("com.x.", "Order[]")."""
    package, dot, last = name.rpartition(".")
    return package + dot, last


def initials(package: str) -> str:
    """A package with each part cut to its first letter: "com.example.shop." becomes "c.e.s."."""
    return ".".join([part[:1] for part in package.split(".")])


def shortened_packages(names: Iterable[str]) -> dict[str, str]:
    """Each name with its package as initials; parts in which two of the same form differ are whole."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        package, last = split_package(name)
        groups.setdefault(initials(package) + last, []).append(name)
    short: dict[str, str] = {}
    for form, group in groups.items():
        if len(group) == 1:
            short[group[0]] = form
            continue
        parts = [split_package(name)[0].split(".") for name in group]
        for name, own in zip(group, parts, strict=True):
            shown = [
                part if any(len(other) > place and other[place] != part for other in parts) else part[:1]
                for place, part in enumerate(own)
            ]
            short[name] = ".".join(shown) + split_package(name)[1]
    return short
