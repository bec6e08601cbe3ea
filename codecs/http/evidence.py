"""What bytes show for HTTP: the start line and the header lines after it."""

import re
from typing import Final

from mypy_extensions import i64

from wirelens.codecs.codec import NO_EVIDENCE, Evidence
from wirelens.codecs.http.lines import METHODS, NEXT_START, NEXT_START_SIZE, START_LINE, parse_line
from wirelens.codecs.http.vocabulary import MAX_CHUNK_LINE, MAX_START_LINE

PROBED_BEFORE: Final = 8  # bytes of empty lines before the start line
PROBED_LINES: Final = 4  # at most this many header lines count
START_BITS: Final = 32.0
LINE_BITS: Final = 4.0


def evidence(data: bytes) -> Evidence:
    """The evidence of the start line, and of the header lines after it."""
    at = 0
    while at < PROBED_BEFORE and data[at : at + 1] in (b"\r", b"\n"):
        at += 1
    match = START_LINE.match(data, at, at + MAX_START_LINE)
    if match is None:
        return NO_EVIDENCE
    lines = 0
    place = match.end()
    while lines < PROBED_LINES:
        end = data.find(b"\n", place, place + MAX_CHUNK_LINE)
        if end < 0:
            break
        line = parse_line(data, place, end + 1)
        if line.value < 0 or line.name_end == line.start:
            break
        lines += 1
        place = end + 1
    reasons = ["a request line of HTTP/1" if match[2] is not None else "a status line of HTTP/1"]
    if lines:
        reasons.append("header lines after it")
    return Evidence(bits=START_BITS + LINE_BITS * float(lines), reasons=tuple(reasons))


def first_start(data: bytes, start: i64, end: i64, final: bool) -> i64:
    """See Codec.first: a start line right there, unless its method may be the end of a usual one.

    What comes before a usual method, without a blank, is the end of the message before.
    """
    match = START_LINE.match(data, start, end)
    if match is not None:
        method = match[2]
        if method is None:
            return start
        if not any(name != method and name.endswith(method) for name in METHODS):
            usual = max([len(name) for name in METHODS if method.endswith(name)], default=len(method))
            return start + len(method) - usual
    elif not final and _may_begin(data[start : min(end, start + 8)]):
        found = next_start(data, start, end)
        return -1 if found == end else found
    return next_start(data, start, end)


def _may_begin(data: bytes) -> bool:
    """Whether a few bytes may be the start of a status line, or of a request line of a usual method."""
    if b"HTTP/1.".startswith(data[:7]):
        return True
    return any(data.startswith(name + b" ") or name.startswith(data) for name in METHODS)


def next_start(data: bytes, start: i64, end: i64) -> i64:
    """See Codec.resync: the next status line, or request line of a usual method."""
    match = re.compile(NEXT_START).search(data, start, min(end + NEXT_START_SIZE, len(data)))
    if match is None:
        return end
    place: i64 = match.start()
    return min(place, end)
