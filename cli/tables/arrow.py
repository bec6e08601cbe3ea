"""Rows of the tables for Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from wirelens.cli.tables.columns import FAILURE_COLUMNS, STREAM_COLUMNS, ColumnList
from wirelens.cli.tables.record_columns import Columns, Texts
from wirelens.cli.tables.rows import DAY_US
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK
from wirelens.codecs.numbers import time_text

if TYPE_CHECKING:
    import pyarrow as pa
    from librt.strings import BytesWriter


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
    points = [columns.points.get(number) or None for number in files.dictionary.to_pylist()]
    arrays["point"] = pa.array(points, pa.string()).take(files.indices)
    packets = compute.bit_wise_and(packets, pa.scalar(NUMBER_MASK, pa.int64()))
    arrays["packet"] = where(arrays["transport"].is_valid(), packets)
    # A capture without times has zeros.
    times = numbers(columns.time, pa.int64())
    arrays["time"] = where(compute.not_equal(times, pa.scalar(0, pa.int64())), times).view(
        schema.field("time").type
    )
    arrays["length"] = at_least(numbers(columns.length, pa.int64()), 0)
    arrays["offset"] = where(arrays["length"].is_valid(), numbers(columns.offset, pa.int64()))
    words = pa.array(columns.words, pa.string())
    kinds = at_least(numbers(columns.kind, pa.int32()), 0)
    arrays["protocol"] = words.take(numbers(columns.protocol, pa.int32()))
    arrays["kind"] = words.take(kinds)
    for name, out in (("service", columns.service), ("method", columns.method), ("status", columns.status)):
        arrays[name] = words.take(at_least(numbers(out, pa.int32()), 0))
    requests = texts(columns.request)
    arrays["request_id"] = where(compute.not_equal(requests, ""), requests)
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


def day_text(day: int) -> str | None:
    """A day, as days since 1970, as text; None for NO_DAY."""
    return None if day < 0 else time_text(day * DAY_US)[:10]


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
