"""Rows of the tables for Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from wirelens.cli.tables.call_columns import NOTHING, NUMBERS, WORDS, CallColumns
from wirelens.cli.tables.columns import FAILURE_COLUMNS, STREAM_COLUMNS, ColumnList
from wirelens.cli.tables.record_columns import Columns, Texts, clean
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

    arrays: dict[str, pa.Array] = {}
    # Columns that are equal for all rows of a stream, and the names of files.
    indexes = _numbers(columns.stream, pa.int32(), rows)
    sources = zip(*(stream.source() for stream in columns.streams), strict=True)
    for name, values in zip(STREAM_COLUMNS, sources, strict=True):
        arrays[name] = pa.array(values, schema.field(name).type).take(indexes)
    packets = _numbers(columns.packet, pa.int64(), rows)
    files = compute.shift_right(packets, pa.scalar(FILE_SHIFT, pa.int64())).dictionary_encode()
    names = [columns.names[number] for number in files.dictionary.to_pylist()]
    arrays["file"] = pa.array(names, pa.string()).take(files.indices)
    points = [columns.points.get(number) or None for number in files.dictionary.to_pylist()]
    arrays["point"] = pa.array(points, pa.string()).take(files.indices)
    packets = compute.bit_wise_and(packets, pa.scalar(NUMBER_MASK, pa.int64()))
    arrays["packet"] = _where(arrays["transport"].is_valid(), packets)
    # A capture without times has zeros.
    times = _numbers(columns.time, pa.int64(), rows)
    arrays["time"] = _where(_differs(times, 0), times).view(schema.field("time").type)
    arrays["length"] = _at_least(_numbers(columns.length, pa.int64(), rows), 0)
    arrays["offset"] = _where(arrays["length"].is_valid(), _numbers(columns.offset, pa.int64(), rows))
    words = pa.array(columns.words, pa.string())
    kinds = _at_least(_numbers(columns.kind, pa.int32(), rows), 0)
    arrays["protocol"] = words.take(_numbers(columns.protocol, pa.int32(), rows))
    arrays["kind"] = words.take(kinds)
    for name, out in (("service", columns.service), ("method", columns.method), ("status", columns.status)):
        arrays[name] = words.take(_at_least(_numbers(out, pa.int32(), rows), 0))
    arrays["request_id"] = _some(_texts(columns.request, rows))
    arrays["summary"] = _texts(columns.summary, rows)
    arrays["message"] = _texts(columns.message, rows)
    arrays["damaged"] = _numbers(columns.damaged, pa.uint8(), rows).cast(pa.bool_())
    if columns.failures:
        for name in ("summary", "message", "damaged"):
            arrays[name] = _where(kinds.is_valid(), arrays[name])
    pairs = _at_least(_numbers(columns.pair, pa.int64(), rows), 1)
    arrays["pair_id"] = _pair_ids(arrays["connection"], pairs)
    arrays["latency_us"] = _at_least(_numbers(columns.latency, pa.int64(), rows), 0)

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


def call_batch(columns: CallColumns, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of `columns` for Arrow, with the columns of the schema."""
    import pyarrow as pa

    rows = int(columns.rows)
    arrays: dict[str, pa.Array] = {}
    known = pa.array([clean(text) for text in columns.known], pa.string())
    for name, out in zip(WORDS, columns.words, strict=True):
        arrays[name] = known.take(_at_least(_numbers(out, pa.int32(), rows), 0))
    for name, out in zip(NUMBERS, columns.numbers, strict=True):
        values = _numbers(out, pa.int64(), rows)
        arrays[name] = _where(_differs(values, NOTHING), values)
    for name, texts in (("id", columns.id), ("trace", columns.trace)):
        arrays[name] = _some(_texts(texts, rows))
    arrays["pair_id"] = _pair_ids(arrays["connection"], _at_least(arrays["pair"], 1))
    return pa.RecordBatch.from_arrays(
        [arrays[field.name].cast(field.type) for field in schema], schema=schema
    )


def _numbers(out: BytesWriter, kind: pa.DataType, rows: int) -> pa.Array:
    """A column of numbers of a fixed size."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(out.getvalue())])


def _texts(column: Texts, rows: int) -> pa.Array:
    """A column of texts."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(column.ends.getvalue()), pa.py_buffer(column.data.getvalue())]
    return pa.Array.from_buffers(pa.string(), rows, buffers)


def _where(condition: pa.Array, values: pa.Array) -> pa.Array:
    """The values, null where the condition is false."""
    import pyarrow as pa
    from pyarrow import compute

    return compute.if_else(condition, values, pa.scalar(None, values.type))


def _at_least(values: pa.Array, least: int) -> pa.Array:
    """The values, null where they are below `least`."""
    import pyarrow as pa
    from pyarrow import compute

    return _where(compute.greater_equal(values, pa.scalar(least, values.type)), values)


def _differs(values: pa.Array, number: int) -> pa.Array:
    """Whether each value is another than `number`."""
    import pyarrow as pa
    from pyarrow import compute

    return compute.not_equal(values, pa.scalar(number, values.type))


def _some(texts: pa.Array) -> pa.Array:
    """Texts, null where they are empty."""
    from pyarrow import compute

    return _where(compute.not_equal(texts, ""), texts)


def _pair_ids(connections: pa.Array, pairs: pa.Array) -> pa.Array:
    """The column `pair_id`."""
    import pyarrow as pa
    from pyarrow import compute

    return compute.binary_join_element_wise(connections.cast(pa.string()), pairs.cast(pa.string()), ".")


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
