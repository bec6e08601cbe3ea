"""The result of a query in each format."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

from wirelens.cli.csv_text import csv_text
from wirelens.codecs.numbers import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Final

    from wirelens.cli.output import Output
    from wirelens.cli.query.database import Database

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MEASURED: Final = 1000  # rows that decide how wide the columns of a text are
NUMBERS: Final = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "REAL")
NONE: Final = "–"


def plain(value: Any) -> Any:
    """A value of DuckDB as one of JSON: times as ISO 8601, in UTC where they have a zone; bytes in hex."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return value.isoformat()
        return time_text((value - EPOCH) // timedelta(microseconds=1))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


def text_of(value: Any) -> str:
    """A value as text, "" for null."""
    from wirelens.codecs import dumps

    value = plain(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else dumps(value)


def write_text(database: Database, sql: str, output: Output) -> None:
    """A table for people."""
    from wirelens.formatters.grid import Grid

    columns, portions = database.rows(sql)
    right = [any(word in kind.upper() for word in NUMBERS) for _, kind in columns]
    grid = Grid([name for name, _ in columns], right, output.layout)
    waiting: list[list[str]] = []
    measured = False
    for rows in portions:
        waiting += [[NONE if value is None else text_of(value) for value in row] for row in rows]
        if len(waiting) >= MEASURED or measured:
            if not measured:
                grid.measure(waiting)
                output.line(grid.head())
                measured = True
            output.lines(grid.lines(waiting))
            waiting = []
    if not measured:
        grid.measure(waiting)
        output.line(grid.head())
    output.lines(grid.lines(waiting))


def write_json(database: Database, sql: str, output: Output) -> None:
    """An array of objects."""
    from wirelens.formatters.json import array

    for text in array(_objects(database, sql)):
        output.json(text)


def _objects(database: Database, sql: str) -> Iterator[str]:
    from wirelens.codecs import dumps

    columns, portions = database.rows(sql)
    names = _distinct([name for name, _ in columns])
    for rows in portions:
        for row in rows:
            yield dumps(dict(zip(names, map(plain, row), strict=True)))


def _distinct(names: list[str]) -> list[str]:
    """Names of members, different from each other."""
    found: list[str] = []
    for name in names:
        number = 1
        new = name
        while new in found:
            number += 1
            new = f"{name}_{number}"
        found.append(new)
    return found


def write_csv(database: Database, sql: str, output: Output) -> None:
    """Comma-separated values, with a line of names; null is empty."""
    columns, portions = database.rows(sql)
    output.text(csv_text([[name for name, _ in columns]]))
    for rows in portions:
        output.text(csv_text([text_of(value) for value in row] for row in rows))


def write_parquet(database: Database, sql: str, output: Output) -> None:
    """A Parquet file."""
    from pyarrow.parquet import ParquetWriter

    reader = database.batches(sql)
    buffer = BytesIO()
    with ParquetWriter(buffer, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            output.data(buffer.getvalue())
            buffer.seek(0)
            buffer.truncate()
    output.data(buffer.getvalue())


WRITERS: Final[dict[str, Callable[[Database, str, Output], None]]] = {
    "text": write_text,
    "json": write_json,
    "csv": write_csv,
    "parquet": write_parquet,
}
