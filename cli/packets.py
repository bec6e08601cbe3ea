"""Captures for the commands: pieces and messages of a file, and what is said of it at the end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wirelens.codecs.captures.reader import Reader
from wirelens.codecs.conversations import Conversations
from wirelens.formatters.layout import clean, count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from wirelens.cli.inputs import Input
    from wirelens.cli.select import Selection
    from wirelens.codecs.captures import Piece
    from wirelens.codecs.conversations import Said, Verdict

LARGE: Final = 1 << 25  # bytes of a file that takes long enough for a progress bar
NOTES_SAID: Final = 8  # notes on a capture file that are said
UNREAD: Final = {
    "encrypted": "encrypted",
    "fragment-incomplete": "in fragments of which some are missing",
    "layers": "with too many headers",
}


class Capture:
    """Reads one capture; counts what is not shown.

    With `why` the verdicts on directions are collected in `verdicts`, for the caller to take out.
    """

    def __init__(
        self, item: Input, protocol: str | None, selection: Selection | None, why: bool = False
    ) -> None:
        self.item = item
        self.reader = Reader()
        self.verdicts: dict[tuple[int, int], Verdict] = {}
        self.conversations = Conversations(protocol, self.verdicts if why else None)
        self.selection = selection if selection is not None and selection.of_flows else None
        self.messages = 0
        self.foreign = 0  # bytes of other protocols
        self.foreign_flows: set[int] = set()

    def pieces(self) -> Iterator[Piece]:
        """The pieces of all streams that are wanted."""
        wanted = self.selection
        for chunk in progress(self.item):
            for pieces in self.reader.steps(chunk):
                for piece in pieces:
                    if wanted is None or wanted.takes(piece.flow):
                        yield piece
        for piece in self.reader.close():
            if wanted is None or wanted.takes(piece.flow):
                yield piece

    def messages_of(self, pieces: Iterator[Piece]) -> Iterator[Said]:
        """The messages, each when it is complete; bytes of other protocols are only counted."""
        for piece in pieces:
            yield from self.known(self.conversations.feed(piece))
        yield from self.known(self.conversations.close())

    def known(self, said: list[Said]) -> Iterator[Said]:
        for one in said:
            record = one.record
            if record.codec is None:
                self.foreign += record.length
                self.foreign_flows.add(one.flow.number)
                continue
            self.messages += 1
            if record.origin is not None and self.item.name != "-":
                record.origin.file = self.item.name
            yield one

    @property
    def damaged(self) -> bool:
        """True where the file itself is cut or damaged."""
        return bool(self.reader.damage) or bool(self.item.notes)

    def say_end(self) -> None:
        """Say on standard error what the result does not show."""
        name = self.item.name
        damage = self.reader.damage
        for note in damage[:NOTES_SAID]:
            click.echo(f"{name}: at byte {note.offset}: {clean(note.text)} ({note.code})", err=True)
        if len(damage) > NOTES_SAID:
            click.echo(f"{name}: {count(len(damage) - NOTES_SAID, 'more note')} like these", err=True)
        for way, note in self.conversations.unsaid[:NOTES_SAID]:
            click.echo(f"{name}: {way}: {clean(note.text)} ({note.code})", err=True)
        if self.foreign:
            flows = count(len(self.foreign_flows), "flow")
            click.echo(f"{name}: {flows} with {count(self.foreign, 'byte')} of other protocols", err=True)
        if self.reader.missing:
            missing = count(self.reader.missing, "byte")
            click.echo(f"{name}: {missing} of its streams not captured", err=True)
        unread = unread_packets(self.reader.ignored)
        if unread:
            click.echo(f"{name}: not read: {unread}", err=True)
        if not self.messages and not self.foreign:
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
