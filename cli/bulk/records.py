"""Files to rows of messages and of what is none, each file for itself: what the data source gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wirelens.cli.bulk.decoding import damaged_bytes, decode_capture, decode_plain
from wirelens.cli.bulk.files import Readers
from wirelens.cli.bulk.plan import Range
from wirelens.cli.bulk.rows import Account, Columns, RowMaker
from wirelens.cli.bulk.table import MESSAGES, QUARANTINE, arrow_types, record_batch

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {name for name, _, _ in MESSAGES}
COLUMNS = (*MESSAGES, *(column for column in QUARANTINE if column[0] not in _NAMES))
BATCH_ROWS = 4096
BATCH_BYTES = 1 << 23


def record_batches(each: Range, protocol: str, quarantine: str) -> Iterator[pa.RecordBatch]:
    """The rows of one file, in batches; in the end those of what is wrong with the file itself."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, kind) for name, kind in arrow_types(COLUMNS)])
    batches: list[pa.RecordBatch] = []

    def full() -> None:
        if columns.rows:
            batches.append(record_batch(columns, schema))
            columns.begin()

    columns = Columns({0: each.name}, BATCH_ROWS, BATCH_BYTES, full)
    maker = RowMaker(quarantine, Account(), lambda _table, _protocol: columns)
    readers = Readers()
    said: dict[str, Any] = {}
    if each.kind == "capture":
        chunks = readers.chunks(each.root, each.path, 0, each.length)
        steps = decode_capture(chunks, 0, protocol, maker, said)
    else:
        steps = decode_plain(each, 0, protocol, maker, said)
    for _ in steps:
        yield from batches
        batches.clear()
    container = said["container"] if each.kind == "capture" else ""
    for code, offset, text in said["notes"]:
        raw = None
        if container and not said["compressed"]:
            raw = damaged_bytes(readers, each.root, each.path, (code, offset, text))
        columns.damage(0, container, code, offset, text, raw)
    full()
    yield from batches
