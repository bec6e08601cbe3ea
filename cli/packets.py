"""Captures for the commands: pieces and messages of a file, and what is said of it at the end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wirelens.cli.inputs import STDIN
from wirelens.codecs.captures.reader import Reader
from wirelens.codecs.conversations import Conversations, known
from wirelens.formatters.layout import clean, count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.cli.inputs import Input
    from wirelens.cli.select import Selection
    from wirelens.codecs import Record
    from wirelens.codecs.captures import Piece
    from wirelens.codecs.conversations import Message, Verdict

LARGE: Final = 1 << 25  # bytes of a file that takes long enough for a progress bar
PORTION: Final = 128  # pieces of streams that are decoded before what they gave is written
NOTES_SAID: Final = 8  # notes on a capture file that are said
UNREAD: Final = {
    "encrypted": "encrypted",
    "fragment-incomplete": "in fragments of which some are missing",
    "layers": "with too many headers",
}


class Capture:
    """Reads one capture; `messages` counts what is shown.

    With `why` the verdicts on directions are collected in `verdicts`, for the caller to take out.
    """

    def __init__(
        self, item: Input, protocol: str | None, selection: Selection | None, why: bool = False
    ) -> None:
        self.item = item
        self.reader = Reader()
        self.verdicts: dict[tuple[int, int], Verdict] = {}
        self.conversations = Conversations(
            protocol, self.verdicts if why else None, file="" if item.name == STDIN else item.name
        )
        self.selection = selection if selection is not None and selection.of_flows else None
        self.messages = 0

    def pieces(self) -> Iterator[list[Piece]]:
        """The pieces of all streams that are wanted, in portions."""
        wanted = self.selection
        for pieces in self._all_pieces():
            if wanted is not None:
                pieces = [piece for piece in pieces if wanted.takes(piece.flow)]
            for at in range(0, len(pieces), PORTION):
                yield pieces[at : at + PORTION]

    def _all_pieces(self) -> Iterator[list[Piece]]:
        for chunk in progress(self.item):
            yield from self.reader.steps(chunk)
        yield self.reader.close()

    def records(self) -> Iterator[list[Record]]:
        """The messages, each when it is complete; bytes of other protocols are only counted."""
        for pieces in self.pieces():
            yield self._known(self.conversations.feed(pieces))
        yield self._known(self.conversations.close())

    def _known(self, messages: list[Message]) -> list[Record]:
        records = known(messages)
        self.messages += len(records)
        return records

    @property
    def damaged(self) -> bool:
        """True where the file itself is cut or damaged."""
        return bool(self.reader.damage) or bool(self.item.notes)

    def say_end(self, shown: int, foreign: int) -> None:
        """Say on standard error what the result does not show.

        `shown`: how many messages or flows it does; `foreign`: bytes of other protocols that it does not.
        """
        name = self.item.name
        damage = self.reader.damage
        for note in damage[:NOTES_SAID]:
            click.echo(f"{name}: at byte {note.offset}: {clean(note.text)} ({note.code})", err=True)
        if len(damage) > NOTES_SAID:
            click.echo(f"{name}: {count(len(damage) - NOTES_SAID, 'more note')} like these", err=True)
        for way, note in self.conversations.unattached_notes[:NOTES_SAID]:
            click.echo(f"{name}: {way}: {clean(note.text)} ({note.code})", err=True)
        if foreign:
            flows = count(self.conversations.foreign_flows, "flow")
            click.echo(f"{name}: {flows} with {count(foreign, 'byte')} of other protocols", err=True)
        if self.reader.missing:
            missing = count(self.reader.missing, "byte")
            click.echo(f"{name}: {missing} of its streams not captured", err=True)
        unread = unread_packets(self.reader.ignored)
        if unread:
            click.echo(f"{name}: not read: {unread}", err=True)
        if not shown and not foreign:
            packets = count(self.reader.packets, "packet")
            click.echo(f"{name}: {packets}, none with bytes of TCP or UDP that are wanted", err=True)


def unread_packets(ignored: dict[str, int]) -> str:
    """What there is of packets that may well carry messages but cannot be looked into; "" for none."""
    parts: list[str] = []
    for reason, number in sorted(ignored.items(), key=lambda entry: -entry[1]):
        if reason.startswith("link-type "):
            parts.append(f"{count(number, 'packet')} of the link type {reason[10:]}")
        elif reason in UNREAD:
            parts.append(f"{count(number, 'packet')} {UNREAD[reason]}")
    return ", ".join(parts[:NOTES_SAID])


def progress(item: Input) -> Iterator[bytes]:
    """The chunks of an input, with a progress bar where the file is large and somebody watches."""
    size = item.size
    if size < LARGE or item.gzipped or item.form == "packets" or not item.progress or not sys.stderr.isatty():
        yield from item.chunks
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
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(clean(item.name), total=size)
        for chunk in item.chunks:
            yield chunk
            bar.advance(task, len(chunk))
