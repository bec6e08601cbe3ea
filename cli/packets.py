"""Captures for the commands: pieces and messages of a file, and the report on it at the end."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from wirelens.cli.input import PACKETS, PAUSE, STDIN, Input
from wirelens.cli.stderr import warn
from wirelens.cli.unread import unread_packets
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.captures.reader import Reader
from wirelens.codecs.conversations import Conversations, known_messages
from wirelens.codecs.record import any_damaged
from wirelens.codecs.words import clean, count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Final

    from wirelens.cli.merged import Merged
    from wirelens.cli.select import Selection
    from wirelens.codecs import Record
    from wirelens.codecs.captures import Flow, Piece
    from wirelens.codecs.codes import Note
    from wirelens.codecs.conversations import Message
    from wirelens.codecs.verdicts import Verdict

LARGE: Final = 1 << 25  # bytes of a file that is worth a progress bar
PORTION: Final = 128  # pieces that are decoded before their messages are written
NOTES_SHOWN: Final = 8  # notes on a capture file


class Single:
    """A capture that is read by itself: what `Capture` needs of it, as `Merged` has it for several.

    `number`: the file's, in the numbers of its packets.
    """

    def __init__(self, item: Input, number: int = 0) -> None:
        self.item = item
        self.name = item.name
        self.reader = Reader(file_bits=number << FILE_SHIFT)
        self.file = "" if item.name == STDIN else item.name
        self.files = ()
        self.warning = ""
        self.idle = False  # while nothing comes from a pipe

    def pieces(self) -> Iterator[list[Piece]]:
        """The pieces of all streams, to the end."""
        reader = self.reader
        item = self.item
        size = 0 if item.compression or item.form == PACKETS or not item.progress else item.size
        item.pauses = True
        checked = monotonic()
        with progress_bar(self.name, size) as advance:
            for chunk in item.chunks:
                yield from reader.steps(chunk)
                if advance is not None:
                    advance(len(chunk))
                if item.live and (not chunk or monotonic() - checked >= PAUSE):
                    yield reader.overdue(not chunk)
                    checked = monotonic()
                if not chunk:
                    self.idle = True
                    yield []
                    self.idle = False
        yield reader.close()

    def damage(self) -> list[tuple[str, list[Note]]]:
        """What is wrong with each file and its packets."""
        return [(self.name, self.reader.damage)]

    def file_of(self, flow: Flow) -> str:
        """The name of the file in which the payload of a flow begins."""
        return self.name

    @property
    def notes(self) -> list[Note]:
        """What is wrong with the way the file was packed."""
        return self.item.notes


def source_of(item: Input | Merged, number: int = 0) -> Single | Merged:
    """What reads an input that is a capture; `number` as of `Single`."""
    return Single(item, number) if isinstance(item, Input) else item


class Capture:
    """Reads one capture, or several as one; `messages` counts those of the selected flows.

    `undecoded`: whether any of them did not decode.

    With `explain` the verdicts on directions are collected in `verdicts`, for the caller to clear.
    `flows_before` is the number of flows in what was read before; the numbers of these continue it. Without
    `sources` records do not get their origin; with `arrivals` messages get theirs. `file_number`: that of a
    capture that is read by itself, in the numbers of its packets.
    """

    def __init__(
        self,
        item: Input | Merged,
        protocol: str | None,
        selection: Selection | None,
        explain: bool = False,
        flows_before: int = 0,
        sources: bool = True,
        arrivals: bool = False,
        file_number: int = 0,
    ) -> None:
        self.source = source_of(item, file_number)
        self.name = self.source.name
        self.reader = self.source.reader
        self.reader.assembler.flows = flows_before
        self.verdicts: dict[tuple[int, int], Verdict] = {}
        self.conversations = Conversations(
            protocol,
            self.verdicts if explain else None,
            sources,
            self.source.file,
            arrivals,
            self.source.files,
        )
        self.selection = selection
        self.before_selection: Callable[[list[Record]], None] | None = None  # gets all messages
        self.messages = 0
        self.undecoded = False
        self.portion = PORTION

    @property
    def flows(self) -> int:
        """The number of flows so far, with those before."""
        return self.reader.assembler.flows

    def pieces(self) -> Iterator[list[Piece]]:
        """The pieces of the selected streams, in portions."""
        selection = self.selection
        for pieces in self.source.pieces():
            if selection is not None and selection.of_flows:
                pieces = [piece for piece in pieces if selection.takes(piece.flow)]
            for at in range(0, len(pieces), self.portion):
                yield pieces[at : at + self.portion]
            if self.source.idle:
                yield []

    def conversed(self) -> Iterator[tuple[list[Message], list[Piece]]]:
        """The messages of the selected flows, as they are completed, with the pieces that give them."""
        conversations = self.conversations
        for pieces in self.pieces():
            yield conversations.feed(pieces), pieces
            if self.source.idle:
                yield conversations.idle(), []
        yield conversations.close(), []

    def records(self) -> Iterator[list[Record]]:
        """The selected messages, each as soon as it is complete; bytes of no protocol are only counted."""
        for messages, _ in self.conversed():
            yield self._selected(messages)

    def _selected(self, messages: list[Message]) -> list[Record]:
        selection = self.selection
        if self.before_selection is not None:
            self.before_selection([message.record for message in known_messages(messages)])
        if selection is not None and selection.flow is not None:
            messages = [message for message in messages if selection.takes_direction(message.direction)]
        messages = known_messages(messages)
        records = [message.record for message in messages]
        self.messages += len(records)
        self.undecoded = self.undecoded or any_damaged(records)
        return records if selection is None or selection.where is None else selection.of(messages)

    @property
    def damaged(self) -> bool:
        """Whether a file itself is cut or damaged."""
        return any(damage for _, damage in self.source.damage()) or bool(self.source.notes)

    def report_rest(self, shown: int, foreign: int) -> None:
        """Report on standard error what the result leaves out.

        `shown`: number of messages or flows in it; `foreign`: bytes of other protocols that are not in it.
        """
        name = self.name
        for file, damage in self.source.damage():
            for note in damage[:NOTES_SHOWN]:
                warn(f"{file}: at byte {note.offset}: {clean(note.text)} ({note.code})")
            if len(damage) > NOTES_SHOWN:
                warn(f"{file}: {count(len(damage) - NOTES_SHOWN, 'more note')} like these")
        if self.source.warning:
            warn(self.source.warning)
        for direction, note in self.conversations.unattached_notes[:NOTES_SHOWN]:
            warn(f"{name}: {direction}: {clean(note.text)} ({note.code})")
        if foreign:
            flows = count(self.conversations.foreign_flows, "flow")
            warn(f"{name}: {flows} with {count(foreign, 'byte')} of other protocols")
        if self.reader.missing:
            missing = count(self.reader.missing, "byte")
            warn(f"{name}: {missing} of its streams not captured")
        unread = unread_packets(self.reader.ignored)
        if unread:
            warn(f"{name}: not read: {unread}")
        beyond = "" if self.selection is None else self.selection.beyond(self.flows)
        if not shown and not foreign and not beyond:
            packets = count(self.reader.packets, "packet")
            warn(f"{name}: {packets}, none with TCP or UDP payload in the selected flows")


@contextmanager
def progress_bar(name: str, size: int) -> Iterator[Callable[[int], None] | None]:
    """A progress bar that counts bytes; None unless `size` is large and stderr a terminal."""
    if size < LARGE or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(clean(name), total=size)
        yield partial(bar.advance, task)
