"""The inputs of a command: files, folders of files, `-`, texts of --hex; each is an Input."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from wirelens.cli.input import CAPTURE, CHUNK, PACKETS, RAW, STDIN, TEXT, TOO_MUCH, Input, InputError
from wirelens.cli.stderr import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from wirelens.cli.input_options import InputOptions, MergeOptions
    from wirelens.cli.merged import Merged


class Inputs:
    """The inputs of a command, opened one after the other.

    Inputs that cannot be read are reported on standard error and counted in `failed`. Damaged compression is
    reported when the next input is requested and counted in `damaged`. With `verbose` the form of each input
    is reported. `before_report` is called before such a report on an input that was read. With `quiet`
    nothing is reported, as the same inputs are read a second time. `copies`: files with the bytes of pipes.
    """

    def __init__(
        self,
        options: InputOptions,
        verbose: bool = False,
        called: str = TEXT,
        quiet: bool = False,
        copies: Mapping[str, BinaryIO] | None = None,
    ) -> None:
        self.paths = list(options.paths)
        self.texts = list(options.texts)
        self.form = options.form
        self.verbose = verbose
        self.called = called  # the option for texts on the command line
        self.quiet = quiet
        self.copies = copies or {}
        self.failed = 0
        self.damaged = 0  # damages of compressed inputs
        self.takes_json = False  # whether JSON of messages is a form, too
        self.before_report: Callable[[], None] | None = None
        if not self.paths and not self.texts:
            if sys.stdin is None or sys.stdin.isatty():
                raise click.UsageError(f"no input: give files, {called} TEXT, or - for standard input")
            self.paths = [STDIN]
        self.several = len(self.paths) + len(self.texts) > 1 or any(
            os.path.isdir(path) for path in self.paths
        )

    def fail(self, text: str) -> None:
        """Report an input that cannot be read."""
        self.failed += 1
        if not self.quiet:
            warn(f"Error: {text}")

    def fail_on(self, item: Input | Merged, error: InputError | MemoryError) -> None:
        """Report an input that cannot be read on, or is too much; the next one is read."""
        self.fail(str(error) if isinstance(error, InputError) else f"{item.name}: {TOO_MUCH}")

    def __iter__(self) -> Iterator[Input]:
        for item in self._all():
            if self._open(item):
                yield item
                self._ended(item)

    def merged(self, options: MergeOptions) -> Iterator[Input | Merged]:
        """The inputs, several captures as one; captures come first, then all others by their names."""
        if options.separate or not self.several or self.form not in (None, CAPTURE):
            yield from self
            return
        from wirelens.cli.merged import Merged, capture_start
        from wirelens.codecs.captures.merge import NO_START

        captures: list[tuple[int, str, Input]] = []
        rest: list[Input] = []
        for item in self._all():
            if item.text is None and not os.path.isfile(item.name):  # it can be read only once
                if not self._open(item):
                    continue
                start_us = NO_START if item.capture and item.form != PACKETS else None
            else:
                start_us = None if item.text is not None else capture_start(item.name)
            if start_us is None:
                rest.append(item)
            else:
                captures.append((start_us, item.name, item))
        rest.sort(key=lambda item: (item.text is None, item.name))
        captures.sort(key=lambda each: (each[0] == NO_START, *each[:2]))
        items = [item for *_, item in captures]
        if len(items) > 1:
            starts = [start_us for start_us, *_ in captures]
            yield Merged(items, starts, options.point, self.form, self._opened, self._ended, self.fail)
            items = []
        for item in items + rest:
            if item.form or self._open(item):
                yield item
                self._ended(item)

    def _open(self, item: Input) -> bool:
        """Open an input; False if that failed, which is reported."""
        item.takes_json = self.takes_json
        try:
            item.open(self.form)
        except (InputError, MemoryError) as error:
            self.fail_on(item, error)
            return False
        self._opened(item)
        return True

    def _opened(self, item: Input) -> None:
        if self.quiet:
            return
        if item.remark:
            text = f"{item.remark}; using the text itself" if item.form == RAW else item.remark
            warn(f"{item.name}: {text}")
        if self.verbose:
            packed = f"{item.packing} " if item.compression else ""
            warn(f"{item.name}: read as {packed}{item.form}")

    def _ended(self, item: Input) -> None:
        """Report damage to the packing of an input that was read."""
        for note in item.notes:
            self.damaged += 1
            if self.quiet:
                continue
            if self.before_report is not None:
                self.before_report()
            warn(f"{item.name}: {note.text}")

    def _all(self) -> Iterator[Input]:
        for text in self.texts:
            yield Input(self.called, text)
        for path in self.paths:
            if path != STDIN and os.path.isdir(path):
                yield from self._folder(path)
            elif path in self.copies:
                yield Input(path, data=_copied(self.copies[path]))
            else:
                yield Input(path)

    def _folder(self, path: str) -> Iterator[Input]:
        """The files of a folder and its subfolders, by name, except hidden ones."""
        from wirelens.cli.folders import FolderWalk

        empty = True
        walk = FolderWalk(path, self._unreadable)
        for name in walk:
            empty = False
            item = Input(name)
            item.walked = True
            yield item
        if walk.skipped:
            warn(f"{path}: {walk.skipped_text()}")
        if empty and not self.failed:
            self.fail(f"{path}: no files in this folder")

    def _unreadable(self, error: OSError) -> None:
        self.fail(f"{error.filename}: {error.strerror}")


def _copied(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file, from its start."""
    file.seek(0)
    while chunk := file.read(CHUNK):
        yield chunk
