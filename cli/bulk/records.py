"""Files to rows, each file by itself: what the data source gives."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wirelens.cli.bulk.accounts import InputAccount
from wirelens.cli.bulk.decoding import Steps, damaged_bytes, decode_capture, decode_input
from wirelens.cli.bulk.files import Readers
from wirelens.cli.bulk.plan import Range
from wirelens.cli.points import NONE, points_of
from wirelens.cli.tables.arrow import arrow_types, batch_of_rows, call_batch, record_batch
from wirelens.cli.tables.call_columns import CallColumns
from wirelens.cli.tables.columns import CALLS, CONNECTIONS, MESSAGES, QUARANTINE, RECORD_TABLES, ColumnList
from wirelens.cli.tables.counts import Counters
from wirelens.cli.tables.record_columns import Columns
from wirelens.cli.tables.rows import RowMaker

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {name for name, _, _ in MESSAGES}
RECORDS = "records"
COLUMNS: dict[str, ColumnList] = {
    RECORDS: (*MESSAGES, *(column for column in QUARANTINE if column[0] not in _NAMES)),
    "calls": (("protocol", "string", "the protocol"), *CALLS),
    "connections": CONNECTIONS,
}
BATCH_ROWS = 4096
BATCH_BYTES = 1 << 23


class Rows:
    """The rows of one table, as batches with the `columns` that are named, or all."""

    def __init__(self, table: str, names: Sequence[str] | None, file: str, point: str) -> None:
        import pyarrow as pa

        fields = [pa.field(name, kind) for name, kind in arrow_types(COLUMNS[table])]
        self._schema = pa.schema(fields)
        self._wanted = self._schema.names if names is None else list(names)
        self._table = table
        self._rows: list[tuple[Any, ...]] = []
        self.names = {0: file}
        self.points = points_of(self.names, point)
        self.calls = CallColumns(self.names, self.points, BATCH_ROWS, BATCH_BYTES, self.full)
        self.batches: list[pa.RecordBatch] = []
        self.columns = Columns(
            self.names,
            BATCH_ROWS,
            BATCH_BYTES,
            self.full,
            self.points,
            names is None or "message" in names,
            names is None or "summary" in names,
        )

    def add_connection(self, row: tuple[Any, ...]) -> None:
        """Add a row of `connections`."""
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self.full()

    def full(self) -> None:
        """Make a batch of the rows so far."""
        if self._table == RECORDS:
            if not self.columns.rows:
                return
            batch = record_batch(self.columns, self._schema).select(self._wanted)
            self.columns.clear()
        elif self.calls.rows:
            batch = call_batch(self.calls, self._schema).select(self._wanted)
            self.calls.clear()
        elif self._rows:
            batch = batch_of_rows(self._rows, self._schema).select(self._wanted)
            self._rows = []
        else:
            return
        self.batches.append(batch)


def record_batches(
    source: Range,
    protocol: str,
    quarantine: str,
    table: str = RECORDS,
    names: Sequence[str] | None = None,
    point: str = NONE,
) -> Iterator[pa.RecordBatch]:
    """The rows of one file, in batches; those of records end with what is wrong with the file itself.

    `names`: of the columns that are wanted, None for all.
    """
    rows = Rows(table, names, source.name, point)
    tables = RECORD_TABLES if table == RECORDS else (table,)
    maker = RowMaker(
        quarantine,
        Counters(),
        lambda _table, _protocol, _day: rows.columns,
        lambda _protocol, _day: rows.calls,
        rows.add_connection,
        rows.names,
        rows.points,
        tables=tables,
    )
    readers = Readers()
    if source.kind == "capture":
        chunks = readers.chunks(source.root, source.path, 0, source.length)
        steps = decode_capture(chunks, 0, protocol, maker)
    else:
        steps = decode_input(source, 0, protocol, maker)
    account = yield from _batches(steps, rows.batches)
    if table == RECORDS:
        container = account.container if source.kind == "capture" else ""
        for problem in account.problems:
            raw = None
            if container and not account.compressed:
                raw = damaged_bytes(readers, source.root, source.path, problem)
            rows.columns.add_problem(0, container, *problem, raw)
    rows.full()
    yield from rows.batches


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
