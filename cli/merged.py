"""Several captures that are read as one."""

from __future__ import annotations

from time import monotonic, time
from typing import TYPE_CHECKING

from wirelens.cli.input import PAUSE, STDIN, TOO_MUCH, InputError, readable
from wirelens.cli.packets import progress_bar
from wirelens.cli.points import NONE, contradiction, point_key
from wirelens.codecs.captures import CHUNK
from wirelens.codecs.captures.merge import MergedReader, start_of
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Final, Literal

    from wirelens.cli.input import Input
    from wirelens.codecs.captures import Flow, Piece
    from wirelens.codecs.codes import Note

HEAD: Final = 1 << 16  # bytes in which the first packet of a capture is looked for
OPEN_FILES: Final = 64  # at most; files of the same time are opened again in turn
ALL_CHUNKS: Final = 1 << 25  # bytes of all chunks that are read at a time, as far as LEAST_CHUNK allows
LEAST_CHUNK: Final = 1 << 12  # bytes
RECENT: Final = 60  # seconds that the clock of a capture that is being made may differ from this one's


def capture_start(path: str) -> int | None:
    """The time of the first packet of a capture file (NO_START: not in its HEAD), None for other files."""
    from wirelens.codecs.captures.magic import READABLE, head_size

    try:
        with open(path, "rb", buffering=0) as file:
            head = file.read(HEAD)
            size = head_size(head, HEAD)
            head += file.read(size - HEAD)
    except OSError:
        return None
    container, start_us = start_of(head, len(head) < size)
    return start_us if container in READABLE else None


class Merged:
    """Captures that are read as one.

    `items` are sorted by their first packets, whose times are `starts`; `point` is that of --point, `form`
    that of --input. `opened` and `ended` are called for each when it has been opened, and after its last
    byte; `failed` with the text about one that cannot be read. `progress`: whether a progress bar may be
    shown. `file` and `files`: names in messages, as of `Conversations`; that of standard input is empty.
    """

    capture: Literal[True] = True

    def __init__(
        self,
        items: Sequence[Input],
        starts: Sequence[int],
        point: str,
        form: str | None,
        opened: Callable[[Input], None],
        ended: Callable[[Input], None],
        failed: Callable[[str], None],
    ) -> None:
        self.items: Final = items
        self.point: Final = point
        self.name: Final = count(len(items), "capture")
        self.file: Final = ""
        self.files: Final = tuple(["" if item.name == STDIN else item.name for item in items])
        points = [point_key(item.name, point) for item in items]
        self.reader: Final = MergedReader(starts, points if any(points) else ())
        self.progress = False
        self.idle = False  # while nothing comes from all that can be read now
        self._form: Final = form
        self._opened: Final = opened
        self._ended: Final = ended
        self._failed: Final = failed
        self._chunks: dict[int, Iterator[bytes]] = {}  # of the items that are being read
        self._open: dict[int, None] = {}  # items with an open file, the one unused for longest first
        self._before_read: Callable[[], None] | None = None
        for item in items:
            item.pauses = item.live

    @property
    def live(self) -> bool:
        """Whether another program may fill one of them slowly."""
        return any(item.live for item in self.items)

    @property
    def notes(self) -> list[Note]:
        """What is wrong with the way they were packed, as far as they are read."""
        return [note for item in self.items for note in item.notes]

    def before_each_read(self, call: Callable[[], None]) -> None:
        """Have `call` called before one of them is waited for."""
        self._before_read = call
        for item in self.items:
            item.before_read = call

    def pieces(self) -> Iterator[list[Piece]]:
        """The pieces of all streams, to the end."""
        reader = self.reader
        size = sum(item.size for item in self.items) if self.progress else 0
        checked = monotonic()
        with progress_bar(self.name, size) as advance:
            while reader.wanted >= 0 or reader.skipped:
                if reader.skipped:
                    self._resume()
                item = self.items[reader.wanted]
                chunk = self._next(reader.wanted)
                if chunk is None:
                    if self._keeps_up(reader.wanted):
                        yield from reader.skip()
                        if reader.wanted >= 0:
                            continue
                    yield from self._paused()
                    continue
                if advance is not None and bool(chunk) == (item.compression == ""):
                    advance(len(chunk) or item.size)
                if chunk:
                    yield from reader.feed(chunk)
                else:
                    yield from reader.end()
                if item.live and monotonic() - checked >= PAUSE:
                    yield reader.overdue(False)
                    checked = monotonic()

    def damage(self) -> list[tuple[str, list[Note]]]:
        """What is wrong with each file and its packets."""
        return [(item.name, self.reader.damage(number)) for number, item in enumerate(self.items)]

    @property
    def warning(self) -> str:
        """That they do not fit together, or ""."""
        if self.point != NONE:
            return ""
        files = self.reader.assembler.contradictions
        return contradiction((self.items[first].name, self.items[second].name) for first, second in files)

    def file_of(self, flow: Flow) -> str:
        """The name of the file in which the payload of a flow begins."""
        return self.items[max(flow.packet, 0) >> FILE_SHIFT].name

    def _paused(self) -> Iterator[list[Piece]]:
        """What only waits for what else may come."""
        yield self.reader.overdue(True)
        self.idle = True
        yield []
        self.idle = False

    def _keeps_up(self, number: int) -> bool:
        """Whether the packets that will come of an item are new, so that no others need to wait for them."""
        time_us = self.reader.time_us(number)
        return not time_us or abs(time() - time_us / 1e6) < RECENT

    def _resume(self) -> None:
        """Have those of the skipped items go on that can be read; wait for one if there is nothing else."""
        reader = self.reader
        waits = reader.wanted < 0
        if waits and self._before_read is not None:
            self._before_read()
        for item in readable([self.items[number] for number in reader.skipped], waits):
            reader.resume(self.items.index(item))

    def _next(self, number: int) -> bytes | None:
        """The next chunk of an item, b"" at its end, None if nothing comes for a while."""
        item = self.items[number]
        try:
            chunks = self._chunks.get(number)
            if chunks is None:
                chunks = self._begin(number)
            self._open.pop(number, None)
            self._open[number] = None
            if len(self._open) > OPEN_FILES:
                oldest = next(iter(self._open))
                del self._open[oldest]
                self.items[oldest].release()
            item.step = max(LEAST_CHUNK, min(CHUNK, ALL_CHUNKS // len(self._chunks)))
            for chunk in chunks:
                if chunk:
                    return chunk
                if item.pauses and not item.compression:
                    return None
        except (InputError, MemoryError) as error:
            self._failed(str(error) if isinstance(error, InputError) else f"{item.name}: {TOO_MUCH}")
        else:
            self._ended(item)
        self._chunks.pop(number, None)
        self._open.pop(number, None)
        item.chunks = iter(())
        return b""

    def _begin(self, number: int) -> Iterator[bytes]:
        item = self.items[number]
        if not item.form:  # standard input and pipes are open already
            item.step = max(LEAST_CHUNK, min(CHUNK, ALL_CHUNKS // (len(self._chunks) + 1)))
            item.open(self._form)
            self._opened(item)
        if not item.capture:
            raise InputError(f"{item.name}: not a capture any more ({item.form})")
        chunks = self._chunks[number] = item.chunks
        return chunks
