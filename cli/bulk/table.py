"""The tables that a run writes: their columns, and the writer of a task's part files."""

from __future__ import annotations

import json
import posixpath
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from wirelens.cli.bulk.files import Folder
from wirelens.cli.bulk.rows import Columns, Texts
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK
from wirelens.codecs.numbers import time_text

if TYPE_CHECKING:
    import pyarrow as pa
    from librt.strings import BytesWriter

ROW_GROUP_BYTES = 1 << 25  # of messages in a row group, about, before compression
ROW_GROUP_ROWS = 1 << 16
PART_BYTES = 1 << 30  # in a part file, about, before compression; then a new one is started

# Name, Arrow type, comment. The comments go into the Parquet fields and are the reference in the README.
SOURCE = (
    ("file", "string", "input file that holds the last byte of the record"),
    ("transport", "string", "tcp or udp; null if the input is not a capture"),
    ("source_address", "string", "address of the sender"),
    ("source_port", "int32", "port of the sender"),
    ("destination_address", "string", "address of the receiver"),
    ("destination_port", "int32", "port of the receiver"),
    ("connection", "int64", "the same for both directions of one conversation, different for all others"),
    (
        "flow_number",
        "int64",
        "as `wirelens flows` numbers the flows of the same inputs",
    ),
    (
        "direction",
        "int8",
        "0: from the side that sent the SYN (without one, the first packet); 1: from the other",
    ),
    ("time", "timestamp", "capture time of the last byte, UTC, microseconds"),
    ("packet", "int64", "number, in `file`, of the packet that holds the last byte"),
    (
        "offset",
        "int64",
        "of the first byte in this direction's stream, or in an input that is not a capture",
    ),
    ("length", "int64", "bytes"),
)
MESSAGES = (
    *SOURCE,
    ("kind", "string", "the kind of message, as the protocol names it"),
    ("summary", "string", "the message in one line"),
    ("pair_id", "string", "the same for a request and its reply; null if there is no counterpart so far"),
    ("latency_us", "int64", "microseconds from a request to its reply; on the reply"),
    ("message", "string", "the message in the JSON notation"),
    ("damaged", "bool", "whether something inside did not decode"),
    ("notes", "notes", "legal or tolerated oddities, worst first"),
)
QUARANTINE = (
    *SOURCE,
    (
        "protocol",
        "string",
        "protocol that was recognised or asked for, or unknown; for a damaged file its container",
    ),
    ("error_code", "string", "why it did not decode"),
    ("error_offset", "int64", "where, counted as `offset`; for a damaged file, in the file"),
    ("error_text", "string", "why, in words"),
    ("partial", "string", "the part that decoded, in the JSON notation"),
    ("pair_id", "string", "as in `messages`, of a message that the capture cut off"),
    ("latency_us", "int64", "as in `messages`"),
    (
        "raw",
        "binary",
        "the bytes; for a stream of no known protocol as --quarantine sets, for a damaged file 4 KiB",
    ),
    ("notes", "notes", "oddities, worst first"),
)
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
    ("payload", "int64", "decoded + quarantined + unrecognised + retransmitted + filtered + pending"),
    ("decoded", "int64", "bytes of rows in `messages`"),
    ("quarantined", "int64", "bytes of a recognised protocol that did not decode"),
    ("unrecognised", "int64", "bytes of no known protocol"),
    ("retransmitted", "int64", "bytes that were sent again"),
    ("filtered", "int64", "bytes of messages that do not match --where"),
    ("pending", "int64", "bytes at the end of streams that the next run continues"),
    ("packets", "int64", "packets in it"),
    ("flows", "int64", "flows that begin in it"),
    ("messages", "int64", "rows in `messages` whose last byte is in this file"),
    ("errors", "int64", "damage in the file, and rows in `quarantine` of recognised protocols"),
    ("digest", "string", "BLAKE2b-128 of the first 64 KiB, used to recognise a file"),
    ("first_time", "timestamp", "time of the first packet"),
    ("last_time", "timestamp", "the latest time of a packet"),
    ("selection", "string", "--where of the run that read it: only messages that match have rows"),
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
TABLES = {
    "messages": MESSAGES,
    "quarantine": QUARANTINE,
    "ledger": LEDGER,
    "pending": PENDING,
    "new_flows": NEW_FLOWS,
}

ColumnList = tuple[tuple[str, str, str], ...]

STREAM_COLUMNS = (
    "transport",
    "source_address",
    "source_port",
    "destination_address",
    "destination_port",
    "connection",
    "flow_number",
    "direction",
)  # the columns that `Stream.source` gives
FLOW_NUMBER = "flow_number"
GROWING = ("time", "packet")  # numbers close to those of the row before
DISTINCT = ("pair_id", "key", "state")  # different in each row
FAILURE_COLUMNS = ("error_code", "error_offset", "error_text", "partial", "raw")

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
    for title, columns in (("messages", MESSAGES), ("quarantine", QUARANTINE), ("_ledger", LEDGER)):
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


def arrow_types(columns: ColumnList) -> list[tuple[str, pa.DataType]]:
    """Names and Arrow types of columns."""
    import pyarrow as pa

    note = pa.struct([("code", pa.string()), ("offset", pa.int64()), ("text", pa.string())])
    types = {
        "string": pa.string(),
        "bool": pa.bool_(),
        "int8": pa.int8(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "binary": pa.binary(),
        "notes": pa.list_(pa.field("element", note)),
    }
    return [(name, types[kind]) for name, kind, _ in columns]


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


def _leaves(schema: pa.Schema) -> list[str]:
    """The names of Parquet's columns: those of a list of structures have one each."""
    import pyarrow as pa

    names: list[str] = []
    for field in schema:
        if pa.types.is_list(field.type):
            names += [f"{field.name}.list.element.{inner.name}" for inner in field.type.value_type]
        else:
            names.append(field.name)
    return names


class PartWriter:
    """Row groups of one table, and one protocol, to part files below `folder`.

    `form`: "parquet", "jsonl"; or, for another step of the run, "arrow", or "staged": Parquet in which the
    dictionary of FLOW_NUMBER can be written over, as it is not compressed and no statistics depend on it.
    """

    def __init__(
        self, folder: Folder, table: str, parts: tuple[str, ...], stem: str, form: str = "parquet"
    ) -> None:
        self.files: list[tuple[str, int]] = []  # path in the folder, rows
        self.schema = arrow_schema(table)
        self._folder = folder
        self._table = table
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
            self._stream.writelines(json_lines(batch, TABLES[self._table]))
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
        suffix = "parquet" if self._form == "staged" else self._form
        name = f"{self._stem}-{len(self.files):03d}-{uuid.uuid4().hex[:8]}.{suffix}"
        parts = (*self._parts, name)
        if not self._folder.exists(posixpath.dirname(self._parts[0]), "run.json"):
            raise OSError("the run of this task has ended")  # and its folder must not be made again
        self._folder.make(*self._parts)
        self._path = "/".join(parts)
        self._stream = self._folder.system.open_output_stream(self._folder.at(*parts), compression=None)
        if self._form == "arrow":
            from pyarrow import ipc

            options = ipc.IpcWriteOptions(compression="lz4")
            self._writer = ipc.new_stream(self._stream, self.schema, options=options)
        elif self._form != "jsonl":
            from pyarrow.parquet import ParquetWriter

            # A dictionary does not help where each row differs; deltas suit growing numbers.
            columns = set(self.schema.names)
            compression: Any = "zstd"
            statistics: Any = True
            if self._form == "staged":
                leaves = _leaves(self.schema)
                compression = {name: "none" if name == FLOW_NUMBER else "zstd" for name in leaves}
                statistics = [name for name in leaves if name != FLOW_NUMBER]
            self._writer = ParquetWriter(
                self._stream,
                self.schema,
                compression=compression,
                write_statistics=statistics,
                use_dictionary=sorted(columns - {*GROWING, *DISTINCT}),
                column_encoding={name: "DELTA_BINARY_PACKED" for name in GROWING if name in columns},
            )

    def _end(self) -> None:
        if self._stream is None:
            return
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._stream.close()
        self._stream = None
        self.files.append((self._path, self._rows))
        self._rows = self._written = 0


class RecordWriter(PartWriter):
    """Rows of `messages` or of `quarantine`, given as `columns`. names: of files, by their numbers."""

    def __init__(
        self,
        folder: Folder,
        table: str,
        parts: tuple[str, ...],
        stem: str,
        form: str,
        names: Mapping[int, str],
    ) -> None:
        super().__init__(folder, table, parts, stem, form)
        self.columns = Columns(names, ROW_GROUP_ROWS, ROW_GROUP_BYTES, self._flush)

    def close(self, needed: bool = False) -> None:
        """Write what is left and close the file."""
        self._flush()
        super().close(needed)

    def _flush(self) -> None:
        columns = self.columns
        if columns.rows:
            batch, size = record_batch(columns, self.schema), columns.size
            columns.clear()
            self.write(batch, size)


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
        if self._held >= ROW_GROUP_BYTES or len(self._waiting) >= ROW_GROUP_ROWS:
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


def record_batch(columns: Columns, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of `columns` for Arrow, with the columns of the schema."""
    import pyarrow as pa
    from pyarrow import compute

    rows = int(columns.rows)

    def numbers(out: BytesWriter, kind: pa.DataType) -> pa.Array:
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(out.getvalue())])

    def texts(column: Texts) -> pa.Array:
        buffers = [None, pa.py_buffer(column.ends.getvalue()), pa.py_buffer(column.data.getvalue())]
        return pa.Array.from_buffers(pa.string(), rows, buffers)

    def where(condition: pa.Array, values: pa.Array) -> pa.Array:
        """The values, null where the condition is false."""
        return compute.if_else(condition, values, pa.scalar(None, values.type))

    def at_least(values: pa.Array, least: int) -> pa.Array:
        """The values, null where they are below `least`."""
        return where(compute.greater_equal(values, pa.scalar(least, values.type)), values)

    arrays: dict[str, pa.Array] = {}
    # Columns that are equal for all rows of a stream, and the names of files.
    indexes = numbers(columns.stream, pa.int32())
    sources = zip(*(stream.source() for stream in columns.streams), strict=True)
    for name, values in zip(STREAM_COLUMNS, sources, strict=True):
        arrays[name] = pa.array(values, schema.field(name).type).take(indexes)
    packets = numbers(columns.packet, pa.int64())
    files = compute.shift_right(packets, pa.scalar(FILE_SHIFT, pa.int64())).dictionary_encode()
    names = [columns.names[number] for number in files.dictionary.to_pylist()]
    arrays["file"] = pa.array(names, pa.string()).take(files.indices)
    packets = compute.bit_wise_and(packets, pa.scalar(NUMBER_MASK, pa.int64()))
    arrays["packet"] = where(arrays["transport"].is_valid(), packets)
    # A capture without times has zeros.
    times = numbers(columns.time, pa.int64())
    arrays["time"] = where(compute.not_equal(times, pa.scalar(0, pa.int64())), times).view(
        schema.field("time").type
    )
    arrays["offset"] = at_least(numbers(columns.offset, pa.int64()), 0)
    arrays["length"] = at_least(numbers(columns.length, pa.int64()), 0)
    words = pa.array(columns.words, pa.string())
    kinds = at_least(numbers(columns.kind, pa.int32()), 0)
    arrays["protocol"] = words.take(numbers(columns.protocol, pa.int32()))
    arrays["kind"] = words.take(kinds)
    arrays["summary"] = texts(columns.summary)
    arrays["message"] = texts(columns.message)
    arrays["damaged"] = numbers(columns.damaged, pa.uint8()).cast(pa.bool_())
    if columns.failures:
        for name in ("summary", "message", "damaged"):
            arrays[name] = where(kinds.is_valid(), arrays[name])
    pairs = at_least(numbers(columns.pair, pa.int64()), 1)
    arrays["pair_id"] = compute.binary_join_element_wise(
        arrays["connection"].cast(pa.string()), pairs.cast(pa.string()), "."
    )
    arrays["latency_us"] = at_least(numbers(columns.latency, pa.int64()), 0)

    def sparse(name: str, values: Mapping[int, Any]) -> pa.Array:
        kind = schema.field(name).type
        if not values:
            return pa.nulls(rows, kind)
        return arrow_array([values.get(row) for row in range(rows)], kind)

    arrays["notes"] = sparse("notes", columns.notes)
    for index, name in enumerate(FAILURE_COLUMNS):
        if name in schema.names:
            arrays[name] = sparse(name, {row: failure[index] for row, failure in columns.failures.items()})
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def batch_of_rows(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows, with values in the order of the schema, for Arrow."""
    import pyarrow as pa

    arrays = [
        arrow_array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values of a column for Arrow; text may be given as UTF-8 bytes, which is faster."""
    import pyarrow as pa

    binary = pa.types.is_binary(kind) or pa.types.is_string(kind)
    if binary and isinstance(next(filter(None, column), None), bytes):
        if None in column:
            return pa.array(column, type=pa.binary()).view(kind)
        # One copy; a builder would grow its buffer again and again.
        ends = pa.array(accumulate(map(len, column), initial=0), type=pa.int32(), size=len(column) + 1)
        buffers = [None, ends.buffers()[1], pa.py_buffer(b"".join(column))]
        return pa.Array.from_buffers(kind, len(column), buffers)
    return pa.array(column, type=kind)
