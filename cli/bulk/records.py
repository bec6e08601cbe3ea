"""Files to rows of messages and of quarantine together, each file by itself: what the data source gives."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from wirelens.cli.bulk.accounts import InputAccount
from wirelens.cli.bulk.decoding import Steps, damaged_bytes, decode_capture, decode_input
from wirelens.cli.bulk.files import Readers
from wirelens.cli.bulk.plan import Range
from wirelens.cli.bulk.rows import Columns, Counters, RowMaker
from wirelens.cli.bulk.table import MESSAGES, QUARANTINE, arrow_types, record_batch

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {name for name, _, _ in MESSAGES}
COLUMNS = (*MESSAGES, *(column for column in QUARANTINE if column[0] not in _NAMES))
BATCH_ROWS = 4096
BATCH_BYTES = 1 << 23


def record_batches(source: Range, protocol: str, quarantine: str) -> Iterator[pa.RecordBatch]:
    """The rows of one file, in batches; the last ones report what is wrong with the file itself."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, kind) for name, kind in arrow_types(COLUMNS)])
    batches: list[pa.RecordBatch] = []

    def full() -> None:
        if columns.rows:
            batches.append(record_batch(columns, schema))
            columns.clear()

    columns = Columns({0: source.name}, BATCH_ROWS, BATCH_BYTES, full)
    maker = RowMaker(quarantine, Counters(), lambda _table, _protocol: columns)
    readers = Readers()
    if source.kind == "capture":
        chunks = readers.chunks(source.root, source.path, 0, source.length)
        steps = decode_capture(chunks, 0, protocol, maker)
    else:
        steps = decode_input(source, 0, protocol, maker)
    account = yield from _batches(steps, batches)
    container = account.container if source.kind == "capture" else ""
    for problem in account.problems:
        raw = None
        if container and not account.compressed:
            raw = damaged_bytes(readers, source.root, source.path, problem)
        columns.add_problem(0, container, *problem, raw)
    full()
    yield from batches


def _batches(steps: Steps, batches: list[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, InputAccount]:
    """The batches that each step adds to `batches`, which is emptied; the account at the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            account: InputAccount = end.value
            return account
        yield from batches
        batches.clear()
