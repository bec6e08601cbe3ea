"""The tables that a run writes: their columns, and the writer of a task's part files."""

from __future__ import annotations

import json
import posixpath
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wirelens.cli.bulk.files import Folder
from wirelens.cli.tables import columns as shared
from wirelens.cli.tables.arrow import arrow_types, batch_of_rows, call_batch, record_batch
from wirelens.cli.tables.call_columns import CallColumns
from wirelens.cli.tables.columns import ColumnList
from wirelens.cli.tables.record_columns import Columns
from wirelens.codecs.numbers import time_text

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 1 << 22  # of rows that a decoding task writes together, about
BATCH_ROWS = 1 << 14
ROW_GROUP_ROWS = 1 << 14  # of a Parquet file; so few that a filter on `time` can pass over most of them
PART_BYTES = 1 << 28  # in a part file, about, before compression; then a new one is started

LEDGER = (
    ("file", "string", "the input file"),
    ("number", "int64", "the file's number in this table, never reused"),
    ("run", "string", "the run that read it"),
    ("status", "string", "done, or why it could not be read"),
    ("container", "string", "pcap, pcapng, snoop; the form of a pasted text; raw"),
    ("compressed", "bool", "whether it is compressed"),
    ("size", "int64", "bytes on disk"),
    ("modified", "timestamp", "when it was last written to"),
    ("read", "int64", "bytes after unpacking, also of pasted texts; overhead + payload"),
    ("overhead", "int64", "bytes that are not payload: headers, other transports, damage"),
    ("payload", "int64", "decoded + quarantined + unrecognised + retransmitted + late + filtered + pending"),
    ("decoded", "int64", "bytes of rows in `messages`"),
    ("quarantined", "int64", "bytes of a recognised protocol that did not decode"),
    ("unrecognised", "int64", "bytes of no known protocol"),
    ("retransmitted", "int64", "bytes that came again and are equal to the first"),
    ("late", "int64", "bytes that came after their stream had moved on, and did not decode on their own"),
    ("filtered", "int64", "bytes of messages that do not match --where"),
    ("pending", "int64", "bytes at the end of streams that the next run continues"),
    ("packets", "int64", "packets in it"),
    ("flows", "int64", "flows that begin in it"),
    ("messages", "int64", "rows in `messages` whose last byte is in this file"),
    ("errors", "int64", "damage in the file, and rows in `quarantine` of recognised protocols"),
    ("digest", "string", "BLAKE2b-128 of the first 64 KiB, used to recognise a file"),
    ("first_time", "timestamp", "time of the first packet"),
    ("last_time", "timestamp", "the latest time of a packet"),
    (
        "settings",
        "string",
        "options of the run that read it, versions of wirelens and its codecs; JSON",
    ),
    ("notes", "notes", "what is wrong with the file"),
)
PENDING = (
    ("key", "binary", "the pair of endpoints"),
    ("state", "binary", "the state of their streams"),
    ("flow_number", "int64", "the number of their flow"),
)
NEW_FLOWS = (
    ("scope", "int64", "the file that is read by itself, by its number; -1 for all captures as one"),
    ("time", "int64", "running time of the packet that opens the flow, microseconds"),
    ("packet", "int64", "that packet's number, with its file's"),
    ("tie", "int64", "orders flows that one packet opens, in any bucket alike"),
)
TABLES: dict[str, ColumnList] = {
    **shared.TABLES,
    "ledger": LEDGER,
    "pending": PENDING,
    "new_flows": NEW_FLOWS,
}

GROWING = (
    "time",
    "packet",
    "sent",
    "answered",
    "first_time",
    "last_time",
)  # numbers close to those of the row before
WHOLE = (
    "summary",
    "message",
    "partial",
    "raw",
)  # read whole, if at all: the least and greatest are of no use
DISTINCT = ("pair_id", "request_id", "id", "trace", "key", "state")  # different in each row

_README = {"timestamp": "timestamp, UTC", "notes": "list of {code, offset, text}"}
_SPARK = {
    "string": "string",
    "bool": "boolean",
    "int8": "byte",
    "int32": "integer",
    "int64": "long",
    "timestamp": "timestamp",
    "binary": "binary",
}


def reference() -> str:
    """The columns of the tables for the README, as Markdown."""
    lines = []
    for title, columns in (*shared.TABLES.items(), ("_ledger", LEDGER)):
        lines += [f"**{title}**", "", "| column | type | |", "|---|---|---|"]
        lines += [f"| {name} | {_README.get(kind, kind)} | {comment} |" for name, kind, comment in columns]
        lines.append("")
    return "\n".join(lines)


def arrow_schema(table: str) -> pa.Schema:
    """A table's columns for Arrow, with comments, and the same as Spark describes it."""
    import pyarrow as pa

    comments = [{"comment": comment} for _, _, comment in TABLES[table]]
    fields = [
        pa.field(name, kind, metadata=comment)
        for (name, kind), comment in zip(arrow_types(TABLES[table]), comments, strict=True)
    ]
    spark = {"org.apache.spark.sql.parquet.row.metadata": json.dumps(spark_schema(TABLES[table]))}
    return pa.schema(fields, metadata=spark)


def spark_schema(columns: ColumnList) -> dict[str, Any]:
    """Columns as Spark's JSON of a StructType."""

    def field(name: str, kind: object, comment: str = "") -> dict[str, Any]:
        return {
            "name": name,
            "type": kind,
            "nullable": True,
            "metadata": {"comment": comment} if comment else {},
        }

    note = {
        "type": "struct",
        "fields": [field("code", "string"), field("offset", "long"), field("text", "string")],
    }
    notes = {"type": "array", "elementType": note, "containsNull": True}
    fields = [
        field(name, notes if kind == "notes" else _SPARK[kind], comment) for name, kind, comment in columns
    ]
    return {"type": "struct", "fields": fields}


class PartWriter:
    """Row groups of one table, and one protocol, to part files below `folder`.

    `form`: "parquet", "jsonl"; or, for another step of the run, "arrow". `metadata` goes into Parquet files.
    `run` is the run's folder, if it is not the one that holds the first of `parts`.
    """

    def __init__(
        self,
        folder: Folder,
        table: str,
        parts: tuple[str, ...],
        stem: str,
        form: str = "parquet",
        metadata: Mapping[bytes, str] | None = None,
        run: str = "",
    ) -> None:
        self.files: list[tuple[str, int, int]] = []  # path in the folder, rows, bytes
        self.schema = arrow_schema(table)
        self._metadata = dict(metadata or {})
        self._run = run or posixpath.dirname(parts[0])
        self._folder = folder
        self.table = table
        self._parts = parts
        self._stem = stem
        self._form = form
        self._written = 0
        self._rows = 0
        self._path = ""
        self._stream: Any = None
        self._writer: Any = None

    def write(self, batch: pa.RecordBatch, size: int) -> None:
        """Write rows of about `size` bytes as a row group."""
        self._begin()
        if self._writer is None:
            self._stream.writelines(json_lines(batch, TABLES[self.table]))
        else:
            self._writer.write_batch(batch)
        self._rows += batch.num_rows
        self._written += size
        if self._written >= PART_BYTES:
            self._end()

    def close(self, needed: bool = False) -> None:
        """End the last part; if `needed`, there is always one, even without rows."""
        if needed and not self.files and self._stream is None:
            self._begin()
        self._end()

    def _begin(self) -> None:
        if self._stream is not None:
            return
        # Each try of a task has names of its own: only files that the successful one reported are moved.
        name = f"{self._stem}-{len(self.files):03d}-{uuid.uuid4().hex[:8]}.{self._form}"
        parts = (*self._parts, name)
        if not self._folder.exists(self._run, "run.json"):
            raise OSError("the run of this task has ended")  # and its folder must not be made again
        self._folder.make(*self._parts)
        self._path = "/".join(parts)
        self._stream = self._folder.system.open_output_stream(self._folder.at(*parts), compression=None)
        if self._form == "arrow":
            from pyarrow import ipc

            options = ipc.IpcWriteOptions(compression="lz4")
            self._writer = ipc.new_stream(self._stream, self.schema, options=options)
        elif self._form != "jsonl":
            import pyarrow as pa
            from pyarrow.parquet import ParquetWriter

            # A dictionary does not help where each row differs; deltas suit growing numbers.
            columns = set(self.schema.names)
            plain = [field.name for field in self.schema if not pa.types.is_list(field.type)]
            self._writer = ParquetWriter(
                self._stream,
                self.schema.with_metadata({**self.schema.metadata, **self._metadata}),
                compression="zstd",
                write_statistics=[name for name in plain if name not in WHOLE],
                use_dictionary=sorted(columns - {*GROWING, *DISTINCT}),
                column_encoding={name: "DELTA_BINARY_PACKED" for name in GROWING if name in columns},
            )

    def _end(self) -> None:
        if self._stream is None:
            return
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        size = self._stream.tell()
        self._stream.close()
        self._stream = None
        self.files.append((self._path, self._rows, size))
        self._rows = self._written = 0

    @property
    def is_open(self) -> bool:
        """Whether a part is being written."""
        return self._stream is not None

    def end_part(self) -> None:
        """End the part that is being written, if there is one; what comes next begins another."""
        self._end()


Rows = TypeVar("Rows", Columns, CallColumns)


class ColumnWriter(PartWriter, Generic[Rows]):
    """Rows given as `columns`, which a subclass makes a batch of."""

    columns: Rows

    def close(self, needed: bool = False) -> None:
        """Write what is left and close the file."""
        self._flush()
        super().close(needed)

    def _flush(self) -> None:
        if self.columns.rows:
            self.write(self._batch(), self.columns.size)
            self.columns.clear()

    def _batch(self) -> pa.RecordBatch:
        raise NotImplementedError


class RecordWriter(ColumnWriter[Columns]):
    """Rows of `messages` or of `quarantine`, given as `columns`. names: of files, by their numbers."""

    def __init__(
        self,
        folder: Folder,
        table: str,
        parts: tuple[str, ...],
        stem: str,
        form: str,
        names: Mapping[int, str],
        points: Mapping[int, str],
        metadata: Mapping[bytes, str] | None = None,
        run: str = "",
    ) -> None:
        super().__init__(folder, table, parts, stem, form, metadata, run)
        self.columns = Columns(names, BATCH_ROWS, BATCH_BYTES, self._flush, points)

    def _batch(self) -> pa.RecordBatch:
        return record_batch(self.columns, self.schema)


class CallWriter(ColumnWriter[CallColumns]):
    """Rows of `calls`, given as `columns`. names: of files, by their numbers."""

    def __init__(
        self,
        folder: Folder,
        parts: tuple[str, ...],
        stem: str,
        names: Mapping[int, str],
        points: Mapping[int, str],
    ) -> None:
        super().__init__(folder, "calls", parts, stem, "arrow")
        self.columns = CallColumns(names, points, BATCH_ROWS, BATCH_BYTES, self._flush)

    def _batch(self) -> pa.RecordBatch:
        return call_batch(self.columns, self.schema)


class RowWriter(PartWriter):
    """Rows given as tuples."""

    def __init__(self, folder: Folder, table: str, parts: tuple[str, ...], stem: str, form: str) -> None:
        super().__init__(folder, table, parts, stem, form)
        self._waiting: list[tuple[Any, ...]] = []
        self._held = 0

    def add(self, row: tuple[Any, ...], size: int) -> None:
        """Add a row of about `size` bytes."""
        self._waiting.append(row)
        self._held += size
        if self._held >= BATCH_BYTES or len(self._waiting) >= BATCH_ROWS:
            self._flush()

    def close(self, needed: bool = False) -> None:
        """Write what is left and close the file."""
        self._flush()
        super().close(needed)

    def _flush(self) -> None:
        if self._waiting:
            waiting, size = self._waiting, self._held
            self._waiting, self._held = [], 0
            self.write(batch_of_rows(waiting, self.schema), size)


def json_lines(batch: pa.RecordBatch, columns: ColumnList) -> Iterator[bytes]:
    """The rows as JSON, one per line, without null columns; a message is JSON already."""
    names = [(f"{json.dumps(name)}: ", name, kind) for name, kind, _ in columns]
    values = [
        (column.cast("int64") if kind == "timestamp" else column).to_pylist()
        for column, (_, _, kind) in zip(batch.columns, names, strict=True)
    ]
    for row in zip(*values, strict=True):
        fields = [
            start + json_value(name, kind, value)
            for (start, name, kind), value in zip(names, row, strict=True)
            if value is not None
        ]
        yield f"{{{', '.join(fields)}}}\n".encode()


def json_value(name: str, kind: str, value: Any) -> str:
    """A column's value as JSON text."""
    if name in ("message", "partial"):
        return str(value)
    if kind == "timestamp":
        return f'"{time_text(value)}"'
    if kind == "binary":
        return f'"{value.hex()}"'
    return json.dumps(value)
