"""The data source `wirelens` for Spark.

    spark.dataSource.register(WirelensDataSource)
    spark.read.format("wirelens").load("captures/")

gives a row for each record, each file by itself, with the columns of `messages` and `quarantine` together;
`error_code` is null for messages. `load` takes a file, a folder or a pattern such as `captures/*.pcap`, or a
list of them. Options: `table` (records, calls or connections), `columns` (names with commas between: only
these are made, so that counting `kind` writes no JSON), `as` (a protocol; detected by default), `quarantine`
(head, full or none: what is kept of streams of no known protocol), `point` (as --point of `wirelens bulk`).
A partition is one large capture or several small files. Streams that continue in another file are joined by
`wirelens bulk` only, which reads without this source, as Spark starts Python three times to ask one.
`spark.readStream` gives new files as they come, see streaming.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from wirelens.cli.bulk.files import find_all
from wirelens.cli.bulk.records import COLUMNS, RECORDS
from wirelens.cli.bulk.table import spark_schema
from wirelens.cli.bulk.tasks import places, read_records, tasks_of
from wirelens.cli.tables.columns import ColumnList

if TYPE_CHECKING:
    import pyarrow as pa


class WirelensDataSource(DataSource):
    """The data source `wirelens`; its options are described above."""

    @classmethod
    def name(cls) -> str:
        """The name of the data source, for `spark.read.format`."""
        return "wirelens"

    def schema(self) -> StructType | str:
        """The columns."""
        return StructType.fromJson(spark_schema(columns_of(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads, for these options."""
        options = {key: str(value) for key, value in self.options.items()}
        columns_of({**options, "columns": ",".join(schema.names)})  # those of a schema that was given
        return RecordSource(options, schema.names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """What reads new files as they come, for these options."""
        try:
            from wirelens.cli.bulk.streaming import RecordStream
        except ImportError:
            raise NotImplementedError("readStream needs Spark 4.2 or newer") from None
        options = {key: str(value) for key, value in self.options.items()}
        columns_of({**options, "columns": ",".join(schema.names)})  # those of a schema that was given
        return RecordStream(options, schema.names)


def columns_of(options: Mapping[str, str]) -> ColumnList:
    """The columns that the options `table` and `columns` ask for. Raises ValueError for unknown ones."""
    table = options.get("table", RECORDS)
    if table not in COLUMNS:
        raise ValueError(f"no table {table}: there are {', '.join(COLUMNS)}")
    columns = {column[0]: column for column in COLUMNS[table]}
    names = [name.strip() for name in options.get("columns", ",".join(columns)).split(",")]
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise ValueError(f"no column {unknown[0]} in {table}: there are {', '.join(columns)}")
    return tuple([columns[name] for name in names])


class RecordSource(DataSourceReader):
    """Reads files to rows, each file by itself; problems of a file itself are among the records."""

    def __init__(self, options: dict[str, str], names: list[str]) -> None:
        self.options = options
        self.names = names
        if not places(options):
            raise ValueError("no path: use .load(path)")

    def partitions(self) -> list[InputPartition]:
        """One for each task."""
        return tasks_of(find_all(places(self.options)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        yield from read_records(partition, self.options, self.names)
