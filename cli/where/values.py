"""Values of fields: what a text means as a duration, a size, a number, a time, an address."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, NamedTuple

DURATION_UNITS: Final = {  # in nanoseconds
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 10**6,
    "s": 10**9,
    "": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
SIZE_UNITS: Final = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DIGITS: Final = 300  # of a number at most

_ORDERS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_DECIMAL: Final = rf"([+-]?)(\d{{1,{DIGITS}}}(?:\.\d{{0,{DIGITS}}})?|\.\d{{1,{DIGITS}}})"
_NUMBER: Final = _DECIMAL + r"(?:[eE]([+-]?\d{1,3}))?"
_CLOCK: Final = r"T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?"
_TIME: Final = rf"(\d{{4}})-(\d\d)-(\d\d)(?:{_CLOCK})?(Z|[+-]\d\d:\d\d)?"  # the offset last


class Range(NamedTuple):
    """The whole numbers that a value stands for: from `first` up to before `end`.

    For a value between two of them both are the upper one, and no number is equal to it.
    """

    first: int
    end: int


def whole_numbers(numerator: int, denominator: int) -> Range:
    """The whole numbers that equal a fraction: one or none."""
    first = -(-numerator // denominator)
    return Range(first, first + (numerator % denominator == 0))


def _decimal(text: str, units: dict[str, int]) -> tuple[int, int] | None:
    """A decimal number with one of the units, as a fraction; None for any other text."""
    match = re.fullmatch(rf"{_DECIMAL} ?([^\d\s.]*)", text, re.ASCII)
    if match is None or match[3] not in units:
        return None
    whole, _, fraction = match[2].partition(".")
    number = int(whole + fraction) * (-1 if match[1] == "-" else 1)
    return number * units[match[3]], 10 ** len(fraction)


def duration(text: str) -> Range | None:
    """A duration in microseconds; without a unit it is in seconds."""
    found = _decimal(text, DURATION_UNITS)
    return None if found is None else whole_numbers(found[0], found[1] * 1000)


def size(text: str) -> Range | None:
    """A number of bytes."""
    found = _decimal(text, SIZE_UNITS)
    return None if found is None else whole_numbers(*found)


def whole(text: str) -> Range | None:
    """A decimal number, to compare with whole ones."""
    found = _decimal(text, {"": 1})
    return None if found is None else whole_numbers(*found)


def number(text: str) -> int | float | None:
    """A number as JSON or a person writes it; None for any other text."""
    match = re.fullmatch(_NUMBER, text, re.ASCII)
    if match is None:
        return None
    if match[3] is None and "." not in match[2]:
        return int(text)
    return float(text)


def comparing(sign: str, bound: int | float) -> Callable[[int | float], bool]:
    """The test of numbers against a bound, for `<`, `<=`, `>` or `>=`."""
    compare = _ORDERS[sign]
    return lambda value: bool(compare(value, bound))


def time(text: str) -> Range | None:
    """The microseconds since 1970 of the day, minute, second or fraction of it that a time stands for."""
    match = re.fullmatch(_TIME, text, re.ASCII)
    if match is None:
        return None
    year, month, day, hour, minute, second = [int(match[place] or 0) for place in range(1, 7)]
    fraction = match[7] or ""
    try:
        zone = _zone(match[8] or "Z")
        moment = datetime(year, month, day, hour, minute, second, int(f"{fraction:0<6}"), zone)
        first = (moment - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
    if match[4] is None:
        length = 86_400_000_000
    elif match[6] is None:
        length = 60_000_000
    else:
        length = int(10 ** (6 - len(fraction)))
    return Range(first, first + length)


def _zone(text: str) -> timezone:
    """The time zone of `Z` or an offset. Raises ValueError."""
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[4:6])
    if minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


class Addresses(NamedTuple):
    """The addresses of a network, with a port or (None) any: those whose bits under `mask` are `bits`."""

    bits: int
    mask: int
    length: int  # of an address in bytes
    port: int | None


def addresses(text: str) -> Addresses | None:
    """An address or a network, or an address with a port; None for any other text."""
    from ipaddress import ip_network

    port = None
    host = text
    match = re.fullmatch(r"\[([^\[\]]*)\](?::(\d{1,5}))?|([^:]*):(\d{1,5})", text, re.ASCII)
    if match is not None:
        host = match[3] if match[1] is None else match[1]
        digits = match[4] if match[1] is None else match[2]
        port = None if digits is None else int(digits)
        if "/" in host or (match[1] is not None and ":" not in host):
            return None
    if "%" in host or (port is not None and port > 0xFFFF):
        return None
    try:
        network = ip_network(host, strict=False)
    except ValueError:
        return None
    return Addresses(int(network.network_address), int(network.netmask), network.max_prefixlen // 8, port)
