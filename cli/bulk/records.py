"""Files to rows of messages and of what is none, each file for itself: what the data source gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wirelens.cli.bulk.decoding import (
    Account,
    RowMaker,
    damage_row,
    damaged_bytes,
    decode_capture,
    decode_plain,
)
from wirelens.cli.bulk.files import Readers
from wirelens.cli.bulk.plan import Range
from wirelens.cli.bulk.table import MESSAGES, QUARANTINE, arrow_array, arrow_types

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
    """The rows of one file, in batches; in the end those of what is wrong with the file itself."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, kind) for name, kind in arrow_types(COLUMNS)])
    rows = _Rows()
    maker = RowMaker(quarantine, Account(), rows, {0: each.name})
    readers = Readers()
    said: dict[str, Any] = {}
    if each.kind == "capture":
        chunks = readers.chunks(each.root, each.path, 0, each.length)
        steps = decode_capture(chunks, 0, protocol, maker, said)
    else:
        steps = decode_plain(each, 0, protocol, maker, said)
    for _ in steps:
        if len(rows.rows) >= BATCH_ROWS or rows.size >= BATCH_BYTES:
            yield _batch(rows, schema)
    container = said["container"] if each.kind == "capture" else ""
    for fault in said["notes"]:
        raw = None
        if container and not said["compressed"]:
            raw = damaged_bytes(readers, each.root, each.path, fault)
        rows.add("quarantine", "", damage_row(each.name, container, fault, raw), len(raw or b""))
    if rows.rows:
        yield _batch(rows, schema)


def _batch(rows: _Rows, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    columns = zip(*rows.rows, strict=True)
    arrays = [arrow_array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    rows.rows, rows.size = [], 0
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
