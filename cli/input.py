"""One input: the form of its bytes, and the bytes in chunks. Independent of the command line.

The form is recognised by the content alone: compressed bytes are unpacked, a capture has its magic, text is
read as the pasted form that all of it fits, everything else is the bytes themselves. Captures and raw bytes
are read in chunks as they arrive; text is read whole, up to TEXT_LIMIT.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from wirelens.codecs.captures.magic import (
    COMPRESSIONS,
    READABLE,
    SNIFF_LENGTH,
    STARTS,
    SURE_LENGTH,
    UNSUPPORTED,
    compression_of,
    may_be_compressed,
    sniff,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from io import FileIO
    from typing import BinaryIO, Final

    from wirelens.codecs.captures.pasting import Pasted
    from wirelens.codecs.captures.unpacking import Unpacking
    from wirelens.codecs.codes import Note

CHUNK: Final = 1 << 18  # bytes read at a time
PAUSE: Final = 0.5  # seconds
TEXT_LIMIT: Final = 1 << 26  # bytes of text; longer ones are raw bytes
TOO_MUCH: Final = "not enough memory"
RAW: Final = "raw"
CAPTURE: Final = "capture"
PACKETS: Final = "packets"  # packets as text, which are a capture of their own
RECORDS: Final = "records"  # JSON of messages, where a command takes it
STDIN: Final = "-"
TEXT: Final = "--hex"

_BINARY: Final = bytes([*range(9), *range(14, 27), *range(28, 32), 0x7F])
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_SPACE: Final = b" \t\r\n"
# How JSON of records or messages begins. A Buffer of Node.js is bytes.
_JSON: Final = rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*"(?!type"\s*:\s*"Buffer")'


class InputError(Exception):
    """An input that cannot be read; the text names it, `reason` is the cause alone."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason or text


class Input:
    """One input: its name, and after `open` its form and its bytes in chunks.

    `form` is a form of pasted text, "raw", or a capture's container ("pcap", …), for which `capture` is set.
    """

    def __init__(self, name: str, text: str | None = None, data: Iterator[bytes] | None = None) -> None:
        self.name = name
        self.text = text
        self.data = data  # the file's bytes, where something else than `open` reads them
        self.walked = False  # whether it was found in a folder
        self.form = ""
        self.capture = False
        self.takes_json = False  # whether JSON of messages is a form
        self.remark = ""  # which lines of a text were taken, or why a text that is mostly hex is raw
        self.step = CHUNK  # bytes to read at a time from now on
        self.unpacker: Unpacking | None = None
        self.live = False  # a pipe or a terminal, which another program may fill slowly
        self.chunks: Iterator[bytes] = iter(())
        self.pauses = False  # whether a pipe in which nothing comes for PAUSE gives an empty chunk, once
        self.progress = False  # whether a progress bar may be shown
        self.before_read: Callable[[], None] | None = None
        self._file: FileIO | None = None
        self.pipe: BinaryIO | FileIO | None = None  # what is read, if live

    def before_each_read(self, call: Callable[[], None]) -> None:
        """Have `call` called before the input is waited for."""
        self.before_read = call

    @property
    def compression(self) -> str:
        """The key of COMPRESSIONS that the input is packed with, else ""."""
        unpacker = self.unpacker
        return unpacker.compression if unpacker is not None and unpacker.is_packed else ""

    @property
    def packing(self) -> str:
        """How the input is packed, as an adjective; "" if it is not."""
        compression = self.compression
        if compression == "gzip":
            return "gzipped"
        return f"{COMPRESSIONS[compression]}-compressed" if compression else ""

    @property
    def notes(self) -> list[Note]:
        """What is wrong with the way the bytes were packed, as far as they are read."""
        return [] if self.unpacker is None else self.unpacker.notes

    @property
    def size(self) -> int:
        """Bytes of the file on disk; 0 if unknown."""
        try:
            return os.stat(self.name).st_size if self.text is None and self.name != STDIN else 0
        except OSError:
            return 0

    def open(self, form: str | None = None) -> None:
        """Find out the form, or take the one given. Raises InputError."""
        if self.text is not None:
            self._pasted(self.text.encode("utf-8", "surrogateescape"), form)
            return
        data = self._read() if self.data is None else self.data
        self._recognise(self._unpacked(data, form == RAW), form)

    def _recognise(self, chunks: Iterator[bytes], form: str | None) -> None:
        if form == RAW:
            self.form, self.chunks = RAW, chunks
            return
        parts: list[bytes] = []
        size = 0
        text = True
        wanted = form is None or form == CAPTURE
        for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if wanted:
                head = parts[0] if len(parts) == 1 else b"".join(parts)
                if not head.startswith(STARTS):
                    wanted = len(head) < 2
                elif size >= SNIFF_LENGTH or (size >= SURE_LENGTH and sniff(head) in READABLE):
                    if self._sniff(head, parts, chunks):
                        return
                    wanted = False
            if form is None and text and binary(chunk, parts[0]):
                text = False
            if not text and not wanted:
                break
            if size > TEXT_LIMIT:
                if form is not None:
                    raise InputError(f"{self.name}: text of more than {TEXT_LIMIT >> 20} MiB")
                text = False
                break
        if wanted and self._sniff(b"".join(parts), parts, chunks):
            return
        if form == CAPTURE:
            raise InputError(f"{self.name}: not a capture that wirelens reads (pcap, pcapng, snoop)")
        if text:
            self._pasted(b"".join(parts), form)
        else:
            self.form, self.chunks = RAW, _chained(parts, chunks)

    def _sniff(self, head: bytes, parts: list[bytes], chunks: Iterator[bytes]) -> bool:
        """Whether it is a capture. Raises InputError for one that is not read."""
        container = sniff(head[:SNIFF_LENGTH])
        if container in READABLE:
            from wirelens.codecs import captures

            self.form, self.capture, self.chunks = container, True, _chained(parts, chunks)
            self.step = captures.CHUNK
            return True
        if container in UNSUPPORTED:
            reason = f"a capture of {UNSUPPORTED[container]}, which wirelens does not read"
            raise InputError(f"{self.name}: {reason}", reason)
        return False

    def _pasted(self, data: bytes, form: str | None) -> None:
        if self.takes_json and form is None and re.match(_JSON, data) and not _holds_bytes(data):
            self.form, self.chunks = RECORDS, iter([data])
            return
        quick = plain_hex(data) if form in (None, "hex") else None
        if quick is not None:
            self.form, whole = "hex", quick
        else:
            from wirelens.codecs.captures.pasting import PastedError, pasted

            try:
                found = self._recognised(data) if form is None else pasted(data, form)
            except PastedError as error:
                problem = f"{error.text} ({error.code})"
                where = f"{self.name}:{error.line}:{error.column}"
                raise InputError(
                    f"{where}: {problem}; --input {RAW} takes the text as the bytes",
                    f"line {error.line}, column {error.column}: {problem}",
                ) from None
            self.form, whole, self.remark = found.form, found.data, found.note
            self.capture = found.form == PACKETS
        self.chunks = iter([whole[at : at + CHUNK] for at in range(0, len(whole), CHUNK)])

    def _recognised(self, data: bytes) -> Pasted:
        """The bytes a text stands for; text of --hex that fits no form, or several, is hex."""
        from wirelens.codecs.captures.pasting import PastedError, pasted

        try:
            found = pasted(data)
        except PastedError as error:
            if self.text is None or error.code != "pasted-ambiguous":
                raise
            try:
                return pasted(data, "hex")
            except PastedError:
                raise error from None
        return found if self.text is None or found.form != RAW else pasted(data, "hex")

    def release(self) -> None:
        """Close the file, if it can be opened again when its next bytes are asked for."""
        if self._file is not None and not self.live:
            self._file.close()
            self._file = None

    def copy_to(self, file: BinaryIO) -> None:
        """Write the bytes, compressed as they are, to a file. Raises InputError."""
        for chunk in self._read():
            file.write(chunk)

    def _read(self) -> Iterator[bytes]:
        """The file's bytes as they come."""
        if self.name == STDIN:
            yield from self._blocks(sys.stdin.buffer)
            return
        try:
            self._file = open(self.name, "rb", buffering=0)  # noqa: SIM115 (`release` may close it)
            try:
                yield from self._blocks(self._file)
            finally:
                if self._file is not None:
                    self._file.close()
                    self._file = None
        except OSError as error:
            name = self.name or '""'
            raise InputError(f"{name}: {error.strerror or error}") from None

    def _blocks(self, file: BinaryIO | FileIO) -> Iterator[bytes]:
        self.live = not _regular(file)
        self.pipe = file if self.live else None
        if self.live and not file.isatty():
            from wirelens.cli.interrupts import reading_on

            with reading_on():
                yield from self._steps(file)
        else:
            yield from self._steps(file)

    def _steps(self, file: BinaryIO | FileIO) -> Iterator[bytes]:
        named = self._file is not None
        position = 0
        while True:
            if self.live and self.before_read is not None:
                self.before_read()
            if self.pauses and self.live and not self.compression and not _ready([file], PAUSE):
                yield b""
                if self.before_read is not None:
                    self.before_read()
            if named and self._file is None:  # it was released
                file = self._file = open(self.name, "rb", buffering=0)  # noqa: SIM115
                file.seek(position)
            read = getattr(file, "read1", None) or file.read
            chunk = read(self.step)
            if not chunk:
                return
            position += len(chunk)
            yield chunk

    def _unpacked(self, chunks: Iterator[bytes], raw: bool) -> Iterator[bytes]:
        """The chunks, unpacked if they are compressed.

        If that needs a missing module, `raw` chunks are given as they are; otherwise raises InputError.
        """
        first = next(chunks, b"")
        while first and may_be_compressed(first):
            more = next(chunks, b"")
            if not more:
                break
            first += more
        compression = compression_of(first)
        if not compression:
            if first:
                yield first
            yield from chunks
            return
        from wirelens.codecs.captures.compression import EXTRA
        from wirelens.codecs.captures.compression import unpacker as unpacker_of
        from wirelens.codecs.http.codings import UNPACKED_FACTOR, UNPACKED_FREE

        unpacker = self.unpacker = unpacker_of(compression)
        if unpacker is None and raw:
            yield from _chained([first], chunks)
            return
        if unpacker is None:
            from wirelens.cli.version import install_command

            reason = f"compressed with {COMPRESSIONS[compression]}; to read it: {install_command(EXTRA)}"
            raise InputError(f"{self.name}: {reason}", reason)
        allowed = UNPACKED_FREE
        for chunk in _chained([first], chunks):
            allowed += UNPACKED_FACTOR * len(chunk)
            for part in unpacker.steps(chunk):
                if unpacker.unpacked > allowed and not self.capture:
                    text = f"unpacks to more than {UNPACKED_FACTOR} times its size; the rest is not read"
                    unpacker.note("limit", f"{text}. To read it, unpack it into a pipe")
                    return
                yield part
        rest = unpacker.close()
        if rest:
            yield rest


def _holds_bytes(data: bytes) -> bool:
    """Whether a JSON object has bytes in one of its fields, rather than being a message or a record."""
    from wirelens.codecs.captures.pasting import PastedError, pasted

    if b'"protocol"' in data:
        return False
    try:
        return pasted(data).form == "json"
    except PastedError:
        return False


def plain_hex(data: bytes) -> bytes | None:
    """The bytes of plain lines of lower- or upper-case hex; None for anything that needs a closer look."""
    rows = data.strip(_SPACE).split(b"\n")
    length = len(rows[0])
    if length < 8 or length & 1 or len(rows[-1]) > length or len(rows[-1]) & 1:
        return None
    for row in rows[:-1]:
        if len(row) != length:
            return None
    digits = b"".join(rows)
    letters = digits.translate(None, b"0123456789")
    if not letters or len(letters) == len(digits):
        return None
    if letters.translate(None, b"abcdef") and letters.translate(None, b"ABCDEF"):
        return None
    return bytes.fromhex(digits.decode())


def binary(chunk: bytes, head: bytes) -> bool:
    """Whether a chunk has bytes that text never has; `head` is the start of the input."""
    return not head.startswith(_MARKS) and len(chunk.translate(None, _BINARY)) != len(chunk)


def readable(items: Sequence[Input], wait: bool) -> list[Input]:
    """The live inputs of which bytes, or the end, have come; with `wait` there is one at least."""
    ready = _ready([item.pipe for item in items if item.pipe is not None], None if wait else 0)
    return [item for item in items if item.pipe in ready or item.pipe is None]


def _ready(files: list[BinaryIO | FileIO], seconds: float | None) -> list[BinaryIO | FileIO]:
    """Those of which bytes, or the end, come within that time; all where that cannot be known."""
    from select import select

    try:
        return select(files, [], [], seconds)[0]
    except (OSError, ValueError):
        return files


def _regular(file: BinaryIO | FileIO) -> bool:
    from stat import S_ISREG

    try:
        return S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):
        return True


def _chained(parts: Sequence[bytes], chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield from parts
    yield from chunks
