"""What requests carry besides their arguments, under names that several protocols share: timeout, trace.

Sources: W3C Trace Context (traceparent), SkyWalking's cross-process header (sw8), Zipkin's B3, SOFATracer;
Dubbo's attachment `timeout`.
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Buffer, Tape

ERROR_SHOWN: Final = 500  # characters of an error's text
MAX_TIMEOUT: Final = 1 << 40  # milliseconds; a larger number is not a timeout
TIMEOUT: Final = b"timeout"
# Names of trace ids in lower case, the one that counts first where there are several.
TRACES: Final[dict[bytes, int]] = {
    b"traceparent": 1,
    b"sw8": 2,
    b"b3": 3,
    b"x-b3-traceid": 4,
    b"rpc_trace_context.sofatraceid": 5,
    b"sofatraceid": 6,
}
# The lengths of these names, each a bit: others are not looked at.
_LENGTHS: Final[i64] = 1 << 7 | 1 << 11 | 1 << 3 | 1 << 2 | 1 << 12 | 1 << 29
_WHOLE: Final = (t.INT, t.LONG)
TIMEOUT_DIGITS: Final = 13  # a longer text is not a timeout


class RequestContext:
    """The timeout and the trace among the attachments or headers of a request."""

    def __init__(self) -> None:
        self.trace = ""
        self.timeout_us: int | None = None
        self._rank: i64 = 0  # of the name that `trace` had

    def add(self, name: bytes, value: Node) -> None:
        """Take in a value under its name."""
        lower = name.lower()
        if lower == TIMEOUT:
            if value.kind in _WHOLE:
                self._set_timeout(value.number)
            else:
                self._add_timeout(value.text)
            return
        rank: i64 = TRACES.get(lower, 0)
        if rank and (self._rank == 0 or rank < self._rank):
            text = value.text
            if text:
                self.trace = text
                self._rank = rank

    def add_map(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Take in the entries of a Hessian map."""
        if tape.kind(index) != t.MAP:
            return
        end = tape.next(index)
        at = tape.following(index)
        key: i64 = -1
        while at < end:
            if tape.head(at) & t.HIDDEN == 0:
                if key < 0:
                    key = at
                else:
                    self._add_at(tape, key, at, buffer)
                    key = -1
            at = tape.next(at)

    def add_pairs(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Take in the pairs of texts in an array."""
        end = tape.next(index)
        pair = tape.following(index)
        while pair < end:
            key = tape.following(pair)
            value = tape.next(key)
            if value < tape.next(pair):
                self._add_at(tape, key, value, buffer)
            pair = tape.next(pair)

    def add_json(self, attachments: Json) -> None:
        """Take in the members of a JSON object."""
        if not isinstance(attachments, dict):
            return
        for name, value in attachments.items():
            lower = name.lower().encode("utf-8", "replace")
            if lower == TIMEOUT:
                self._add_timeout(str(value))
            rank: i64 = TRACES.get(lower, 0)
            if rank and (self._rank == 0 or rank < self._rank) and isinstance(value, str) and value:
                self.trace = value
                self._rank = rank

    def _add_at(self, tape: Tape, key: i64, value: i64, buffer: Buffer) -> None:
        start = tape.number(key)
        length = tape.end(key) - start
        if start < 0 or length > 32 or _LENGTHS >> length & 1 == 0 or not _is_text(tape.head(key)):
            return
        name = buffer.data[start : start + length]
        if name == TIMEOUT:
            head = tape.head(value)
            if head & t.SIMPLE and _is_text(head) and tape.number(value) >= 0:
                self._set_timeout(_decimal(buffer.data, tape.number(value), tape.end(value)))
            else:
                self.add(name, Node(tape, value, buffer))
        elif name.lower() in TRACES:
            self.add(name, Node(tape, value, buffer))

    def _add_timeout(self, text: str | None) -> None:
        if text and text.isascii() and text.isdecimal() and len(text) <= TIMEOUT_DIGITS:
            self._set_timeout(int(text))

    def _set_timeout(self, milliseconds: i64) -> None:
        if 0 < milliseconds < MAX_TIMEOUT:
            self.timeout_us = int(1000 * milliseconds)


def _is_text(head: i64) -> bool:
    kind = head & t.KIND_MASK
    return kind == t.STRING16 or kind == t.STRING or kind == t.TEXT


def _decimal(data: bytes, at: i64, end: i64) -> i64:
    """The number that some bytes write in decimal digits, as a timeout; 0 if they write none."""
    if end - at > TIMEOUT_DIGITS:
        return 0
    number: i64 = 0
    while at < end:
        digit: i64 = data[at] - 0x30
        if digit < 0 or digit > 9:
            return 0
        number = 10 * number + digit
        at += 1
    return number


def error_line(text: str) -> str:
    """The first line of an error's text that has something, at most `ERROR_SHOWN` characters of it."""
    line = text[: 4 * ERROR_SHOWN].lstrip().split("\n", 1)[0].rstrip()
    return line if len(line) <= ERROR_SHOWN else line[: ERROR_SHOWN - 1] + "…"
