"""The lines of HTTP/1.1: start lines, header lines, chunk lines, and what the headers state of the body.

Source: RFC 9112, sections 2 to 7.
"""

import re
from typing import Final

from mypy_extensions import i64

_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
START_LINE: Final = re.compile(
    rb"(?:HTTP/1\.[0-9] ([1-5][0-9][0-9])(?:[ \t][^\n]*)?|(" + _TOKEN + rb"{1,32}) ([^\n]*[^\n ]) "
    rb"HTTP/1\.[0-9])\r?\n"
)
START_PREFIX: Final = re.compile(rb"HTTP/1|" + _TOKEN + rb"{1,32}( |\Z)")  # how a start line may begin
STATUS_LINE: Final = re.compile(rb"HTTP/1\.[0-9] [1-5][0-9][0-9][ \r\n]")
HEAD_END: Final = re.compile(rb"[\t -~]*\r?\n(?:[\t -~]+\r?\n)*?\r?\n|\r?\n")  # lines up to an empty one
METHODS: Final = (b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE", b"CONNECT")
# A start line that is proof enough in the middle of a stream, and the most bytes that a match takes.
NEXT_START: Final = (  # to be compiled when it is first used
    rb"HTTP/1\.[01] [1-5][0-9][0-9][ \r]|"
    rb"(?:" + b"|".join(METHODS) + rb") [!-~]{1,8192} HTTP/1\.[01]\r?\n"
)
NEXT_START_SIZE: Final = 8300
CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*)?\r?\n")


class Line:
    """Positions in a header line: its name, its value (-1 without a colon), and the end of the line."""

    def __init__(self, start: i64, name_end: i64, value: i64, value_end: i64, end: i64, usual: bool) -> None:
        self.start: Final[i64] = start
        self.name_end: Final[i64] = name_end
        self.value: Final[i64] = value
        self.value_end: Final[i64] = value_end
        self.end: Final[i64] = end
        self.usual: Final = usual  # written as `usual_line` writes it


def parse_line(data: bytes, start: i64, end: i64) -> Line:
    """Parse the header line data[start:end], with its folds and its line end."""
    content = end - 1
    usual = False
    if content > start and data[content - 1] == 0x0D:
        content -= 1
        usual = True
    colon: i64 = data.find(b":", start, content)
    if colon < 0:
        return Line(start, content, -1, -1, end, usual)
    name_end = colon
    while name_end > start and is_space(data[name_end - 1]):
        name_end -= 1
    value = colon + 1
    while value < content and is_space(data[value]):
        value += 1
    value_end = content
    while value_end > value and is_space(data[value_end - 1]):
        value_end -= 1
    usual = usual and name_end == colon and value == colon + 2 and data[colon + 1] == 0x20
    return Line(start, name_end, value, value_end, end, usual and value_end == content)


def is_space(byte: i64) -> bool:
    """Whether a byte is a space or a tab."""
    return byte == 0x20 or byte == 0x09


def usual_line(name: bytes, value: bytes | None) -> bytes:
    """A header line as nearly every writer writes it; without a colon if there is no value."""
    return name + b"\r\n" if value is None else name + b": " + value + b"\r\n"


def is_line_of(line: bytes, name: bytes, value: bytes | None) -> bool:
    """Whether bytes are one header line with a name and a value."""
    if not line.endswith(b"\n") or line in (b"\n", b"\r\n"):
        return False
    at = line.find(b"\n") + 1
    while at < len(line):
        if line[at] != 0x20 and line[at] != 0x09:
            return False
        at = line.find(b"\n", at) + 1
    parsed = parse_line(line, 0, len(line))
    if line[: parsed.name_end] != name:
        return False
    if parsed.value < 0:
        return value is None
    return value == line[parsed.value : parsed.value_end]


def without_end(line: bytes) -> bytes:
    """A line without its line end."""
    return line[:-2] if line.endswith(b"\r\n") else line[:-1]


class Head:
    """What the start line and the headers state of the body."""

    def __init__(self, start_line: bytes) -> None:
        match = START_LINE.match(start_line)
        self.valid: Final = match is not None and match.end() == len(start_line)
        self.status: Final = 0 if match is None or match[1] is None else int(match[1])  # 0: a request
        self.minor: Final = 1 if match is None or b"HTTP/1.0" not in start_line else 0
        # what proxies reply to CONNECT, whether that request was captured or not
        self.connected: Final = 200 <= self.status < 300 and b"connection established" in start_line.lower()
        self.lengths: Final[list[bytes]] = []
        self.codings: Final[list[bytes]] = []
        self.transfer: Final[list[bytes]] = []
        self.content_type = b""

    def add(self, name: bytes, value: bytes) -> None:
        """Take in a header."""
        lower = name.lower()
        if lower == b"content-length":
            self.lengths.append(value)
        elif lower == b"transfer-encoding":
            self.transfer.extend([coding.strip().lower() for coding in value.split(b",")])
        elif lower == b"content-encoding":
            self.codings.extend([coding.strip().lower() for coding in value.split(b",")])
        elif lower == b"content-type":
            self.content_type = value

    @property
    def has_no_body(self) -> bool:
        """Whether the status never has a body."""
        return self.status == 204 or self.status == 304 or 100 <= self.status < 200

    @property
    def chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return bool(self.transfer) and self.transfer[-1] == b"chunked"

    @property
    def length(self) -> int:
        """The length in Content-Length; -1 without one, -2 if it is not a length."""
        length = -1
        for value in self.lengths:
            for text in value.split(b","):
                number = decimal(text.strip())
                if number < 0 or (length >= 0 and length != number):
                    return -2
                length = number
        return length

    def states_length(self, length: int) -> bool:
        """Whether every Content-Length is exactly this number."""
        return all(decimal(value) == length for value in self.lengths)

    @property
    def coding(self) -> bytes:
        """`gzip` or `deflate` if that is the content's only coding; else empty."""
        if len(self.codings) != 1:
            return b""
        coding = self.codings[0]
        if coding == b"x-gzip":
            return b"gzip"
        return coding if coding == b"gzip" or coding == b"deflate" else b""

    @property
    def claims_hessian(self) -> bool:
        """Whether the content type is one of Hessian."""
        return b"hessian" in self.content_type.lower()


def decimal(text: bytes) -> int:
    """The number in decimal digits; -1 if the text is not such a number."""
    return int(text) if text.isdigit() and len(text) <= 18 else -1
