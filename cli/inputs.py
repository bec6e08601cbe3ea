"""What INPUT means: files, folders of files, `-`, text of --hex; and the form in which bytes stand in it.

A form is told from the content alone: gzip is unpacked, a capture has its magic, text is read as
whatever pasted form the whole of it fits, all else is the bytes themselves. Captures and raw bytes are
read in chunks as they come; text is read whole, up to TEXT_LIMIT.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO, Final

    from wirelens.cli.options import Given
    from wirelens.codecs.captures.pasting import Pasted

CHUNK: Final = 1 << 18  # bytes read at a time
TEXT_LIMIT: Final = 1 << 26  # bytes of text; longer ones are raw bytes
RAW: Final = "raw"
CAPTURE: Final = "capture"
STDIN: Final = "-"
TEXT: Final = "--hex"

_BINARY: Final = bytes([*range(9), *range(14, 27), *range(28, 32), 0x7F])
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
# The first two bytes of all containers of captures: others need no closer look.
STARTS: Final = (
    b"\xd4\xc3", b"\xa1\xb2", b"\x4d\x3c", b"\x34\xcd", b"\xac\x01", b"\x1c\0", b"\xab\x01",
    b"\n\r", b"sn", b"RT", b"GM", b"TR", b"XC", b"\xaa\xaa", b"+-", b"\0\0", b"bt", b"ip",
    b"Ob", b"\x05V", b"Ey",
)  # fmt: skip
SNIFFED: Final = 40  # bytes that decide which container it is
_SPACE: Final = b" \t\r\n"


class InputError(Exception):
    """An input that cannot be read; the text names it, `reason` only says why."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason or text


class Input:
    """One input: its name, and after `open` its form and its bytes in chunks.

    `form` is a form of pasted text, "raw", or a capture's container ("pcap", …); `capture` tells the last.
    `notes` collects what is wrong with the way the bytes were packed, while the chunks are read.
    """

    def __init__(self, name: str, text: str | None = None) -> None:
        self.name = name
        self.text = text
        self.form = ""
        self.capture = False
        self.step = CHUNK  # bytes read at a time from here on
        self.gzipped = False
        self.notes: list[str] = []
        self.live = False  # a pipe or a terminal, which another program may fill slowly
        self.chunks: Iterator[bytes] = iter(())
        self.progress = False  # whether a progress bar would be in nobody's way
        self.before_read: Callable[[], None] | None = None

    @property
    def size(self) -> int:
        """Bytes of the file as it lies on disk; 0 where nobody knows."""
        try:
            return os.stat(self.name).st_size if self.text is None and self.name != STDIN else 0
        except OSError:
            return 0

    def open(self, form: str | None = None) -> None:
        """Find out the form, or take the one given. Raises InputError."""
        if self.text is not None:
            self._pasted(self.text.encode("utf-8", "surrogateescape"), form)
            return
        self._recognise(self._unpacked(self._read()), form)

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
                elif size >= SNIFFED:
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
            self.form, self.chunks = RAW, _behind(parts, chunks)

    def _sniff(self, head: bytes, parts: list[bytes], chunks: Iterator[bytes]) -> bool:
        """True where it is a capture."""
        from wirelens.codecs import captures
        from wirelens.codecs.captures.containers import READABLE, UNSUPPORTED, sniff

        container = sniff(head[:SNIFFED])
        if container in READABLE:
            self.form, self.capture, self.chunks = container, True, _behind(parts, chunks)
            self.step = captures.CHUNK
            return True
        if container in UNSUPPORTED:
            reason = f"a capture of {UNSUPPORTED[container]}, which wirelens does not read"
            raise InputError(f"{self.name}: {reason}", reason)
        return False

    def _pasted(self, data: bytes, form: str | None) -> None:
        quick = plain_hex(data) if form in (None, "hex") else None
        if quick is not None:
            self.form, whole = "hex", quick
        else:
            from wirelens.codecs.captures.pasting import PACKETS, PastedError, pasted

            try:
                found = self._hex_if_ambiguous(data) if form is None else pasted(data, form)
            except PastedError as error:
                said = f"{error.text} ({error.code})"
                where = f"{self.name}:{error.line}:{error.column}"
                raise InputError(
                    f"{where}: {said}; --input {RAW} takes the text as the bytes",
                    f"line {error.line}, column {error.column}: {said}",
                ) from None
            self.form, whole = found.form, found.data
            self.capture = found.form == PACKETS
        self.chunks = iter([whole[at : at + CHUNK] for at in range(0, len(whole), CHUNK)])

    def _hex_if_ambiguous(self, data: bytes) -> Pasted:
        """What a text means; one of --hex that several forms fit is hex, as the option says."""
        from wirelens.codecs.captures.pasting import PastedError, pasted

        try:
            return pasted(data)
        except PastedError as error:
            if self.text is None or error.code != "pasted-ambiguous":
                raise
            try:
                return pasted(data, "hex")
            except PastedError:
                raise error from None

    def _read(self) -> Iterator[bytes]:
        """The file's bytes as they come."""
        if self.name == STDIN:
            file = sys.stdin.buffer
            self.live = not _regular(file)
            yield from self._blocks(file)
            return
        try:
            with open(self.name, "rb", buffering=0) as file:
                self.live = not _regular(file)
                yield from self._blocks(file)
        except OSError as error:
            raise InputError(f"{self.name}: {error.strerror or error}") from None

    def _blocks(self, file: BinaryIO) -> Iterator[bytes]:
        read = getattr(file, "read1", None) or file.read
        while True:
            if self.live and self.before_read is not None:
                self.before_read()
            chunk = read(self.step)
            if not chunk:
                return
            yield chunk

    def _unpacked(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks, unpacked where they are gzip."""
        first = next(chunks, b"")
        while 0 < len(first) < 3:
            more = next(chunks, b"")
            if not more:
                break
            first += more
        if not first.startswith(b"\x1f\x8b\x08"):
            if first:
                yield first
            yield from chunks
            return
        self.gzipped = True
        yield from self._gunzip(_behind([first], chunks))

    def _gunzip(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Unpack gzip; what has its start and gives nothing is no gzip, and given out as it is."""
        import zlib

        unpacker = zlib.decompressobj(31)
        nothing: list[bytes] | None = []  # of which nothing came yet
        try:
            for chunk in chunks:
                packed = chunk
                if nothing is not None:
                    nothing.append(chunk)
                while packed:
                    if unpacker.eof:
                        if not packed.strip(b"\0"):
                            break
                        unpacker = zlib.decompressobj(31)
                    data = unpacker.decompress(packed, CHUNK)
                    if data or unpacker.eof:
                        nothing = None
                    if data:
                        yield data
                    packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
        except zlib.error:
            if nothing is not None:
                self.gzipped = False
                yield from _behind(nothing, chunks)
                return
            self.notes.append("the gzip data is damaged here; what comes behind is lost")
            return
        if nothing is not None:
            self.gzipped = False
            yield from nothing
        elif not unpacker.eof:
            self.notes.append("the gzip data is cut off")


def plain_hex(data: bytes) -> bytes | None:
    """The bytes of plain lines of lower- or upper-case hex; None for anything that takes a closer look."""
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
    """True where a chunk has bytes that no text has; `head` is the start of the input."""
    return not head.startswith(_MARKS) and len(chunk.translate(None, _BINARY)) != len(chunk)


def _regular(file: BinaryIO) -> bool:
    from stat import S_ISREG

    try:
        return S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):
        return True


def _behind(parts: Sequence[bytes], chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield from parts
    yield from chunks


class Inputs:
    """The inputs of a command, opened one after the other.

    Those that cannot be read are said on standard error and counted in `failed`; the others go on. What is
    wrong with their packing is said when the next one is asked for, and counted in `damaged`. With `verbose`
    the form of each is said. `before_talk` is called before something is said of an input that was read.
    """

    def __init__(
        self,
        given: Given,
        verbose: bool = False,
        called: str = TEXT,
    ) -> None:
        self.paths = list(given.paths)
        self.texts = list(given.texts)
        self.form = given.form
        self.verbose = verbose
        self.called = called  # the option that gave the texts
        self.failed = 0
        self.damaged = 0  # those whose packing is damaged
        self.before_talk: Callable[[], None] | None = None
        if not self.paths and not self.texts:
            if sys.stdin is None or sys.stdin.isatty():
                raise click.UsageError(f"no input: give files, {called} TEXT, or - for standard input")
            self.paths = [STDIN]
        self.several = len(self.paths) + len(self.texts) > 1 or any(
            os.path.isdir(path) for path in self.paths
        )

    def fail(self, text: str) -> None:
        """Say that an input cannot be read."""
        self.failed += 1
        click.echo(f"Error: {text}", err=True)

    def __iter__(self) -> Iterator[Input]:
        for item in self._all():
            try:
                item.open(self.form)
            except InputError as error:
                self.fail(str(error))
                continue
            if item.text and item.form == RAW and self.form is None:
                click.echo(f"{item.name}: no form of bytes, so these are the text's own", err=True)
            if self.verbose:
                packed = "gzipped " if item.gzipped else ""
                click.echo(f"{item.name}: read as {packed}{item.form}", err=True)
            yield item
            for note in item.notes:
                self.damaged += 1
                if self.before_talk is not None:
                    self.before_talk()
                click.echo(f"{item.name}: {note}", err=True)

    def _all(self) -> Iterator[Input]:
        for text in self.texts:
            yield Input(self.called, text)
        for path in self.paths:
            if path != STDIN and os.path.isdir(path):
                yield from self._folder(path)
            else:
                yield Input(path)

    def _folder(self, path: str) -> Iterator[Input]:
        """The files of a folder and of those in it, by name; hidden ones are left out."""
        found = False
        for folder, folders, files in os.walk(path, onerror=self._unreadable):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                if not name.startswith("."):
                    found = True
                    yield Input(os.path.join(folder, name))
        if not found and not self.failed:
            self.fail(f"{path}: no files in this folder")

    def _unreadable(self, error: OSError) -> None:
        self.fail(f"{error.filename}: {error.strerror}")
