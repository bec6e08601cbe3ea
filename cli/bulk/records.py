"""Files to rows of messages and of what is none, each file for itself: what the data source gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from wirelens.cli.bulk.decoding import Account, RowMaker, decode_plain
from wirelens.cli.bulk.files import Readers
from wirelens.cli.bulk.plan import Range
from wirelens.cli.bulk.table import MESSAGES, QUARANTINE, arrow_array, arrow_types
from wirelens.codecs.captures import Piece, Reader
from wirelens.codecs.conversations import Conversations

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {name for name, _, _ in MESSAGES}
COLUMNS = (*MESSAGES, *(column for column in QUARANTINE if column[0] not in _NAMES))
BATCH_ROWS = 4096
BATCH_BYTES = 1 << 23

_SOURCE = len(MESSAGES) - 7  # columns that both tables begin with


class _Rows:
    """Takes the rows of both tables in one shape."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.size = 0

    def add(self, table: str, protocol: str, row: tuple[Any, ...], size: int) -> None:
        self.size += size
        if table == "messages":
            self.rows.append((*row, protocol, None, None, None, None, None))
        else:
            *said, notes = row[_SOURCE:]
            self.rows.append((*row[:_SOURCE], None, None, None, None, None, None, notes, *said))


def record_batches(each: Range, protocol: str, quarantine: str) -> Iterator[pa.RecordBatch]:
    """The rows of one file, in batches. What cannot be read gives what came before, and no error."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, kind) for name, kind in arrow_types(COLUMNS)])
    rows = _Rows()
    maker = RowMaker(quarantine, Account(), rows, {0: each.name})
    steps = (
        _capture(each, protocol, maker)
        if each.kind == "capture"
        else decode_plain(each, 0, protocol, maker, {})
    )
    for _ in steps:
        if len(rows.rows) >= BATCH_ROWS or rows.size >= BATCH_BYTES:
            yield _batch(rows, schema)
    if rows.rows:
        yield _batch(rows, schema)


def _batch(rows: _Rows, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    columns = zip(*rows.rows, strict=True)
    arrays = [arrow_array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    rows.rows, rows.size = [], 0
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _capture(each: Range, protocol: str, maker: RowMaker) -> Iterator[None]:
    reader = Reader()
    conversations = Conversations(protocol or None, sources=False)

    def take(pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if piece.packets:
                maker.packet = piece.packets[-1]
            maker.piece(piece)
            for said in conversations.feed(piece):
                maker.said(said)
            if piece.end:
                maker.end(piece)

    try:
        for chunk in Readers().chunks(each.root, each.path, 0, each.length):
            for pieces in reader.steps(chunk):
                take(pieces)
                yield None
    except OSError:
        pass
    take(reader.close())
    for said in conversations.close():
        maker.said(said)
    maker.close()
    yield None
