"""The data source `wirelens` for Spark.

    spark.dataSource.register(WirelensDataSource)
    spark.read.format("wirelens").load("captures/")

gives a row for each record, each file by itself, with the columns of `messages` and `quarantine` together;
`error_code` is null for messages. `load` takes a file, a folder or a pattern such as `captures/*.pcap`, or a
list of them. Options: `table` (records, calls or connections), `columns` (names with commas between: only
these are made, so that counting `kind` writes no JSON), `as` (a protocol; detected by default), `quarantine`
(head, full or none: what is kept of streams of no known protocol), `point` (as --point of `wirelens bulk`).
A partition is one large capture or several small files. Streams that continue in another file are joined by
`wirelens bulk` only. `spark.readStream` gives new files as they come, see streaming.py. Bulk reads through
this source too: with the option `plan` the rows are the packets of chunks.SCHEMA.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from wirelens.cli.bulk import chunks, plain_json
from wirelens.cli.bulk.files import Folder, find_all
from wirelens.cli.bulk.plan import load_range
from wirelens.cli.bulk.reading import bucket_rows, read_ranges
from wirelens.cli.bulk.records import COLUMNS, RECORDS
from wirelens.cli.bulk.table import spark_schema
from wirelens.cli.bulk.tasks import Task, places, read_records, tasks_of
from wirelens.cli.tables.arrow import batch_of_rows
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
        if "plan" in self.options:
            return chunks.SCHEMA
        return StructType.fromJson(spark_schema(columns_of(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads, for these options."""
        options = {key: str(value) for key, value in self.options.items()}
        if "plan" in options:
            return PacketSource(options)
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


class PacketSource(DataSourceReader):
    """Reads the packets of a bulk run, following its plan."""

    def __init__(self, options: dict[str, str]) -> None:
        self.plan = options["plan"]
        self.fragments = options["fragments"]
        self.buckets = int(options["buckets"])
        self.final = options["final"] == "1"
        self.separate = options["separate"] == "1"
        self.packet_folder = options["packets"]
        self.point = options["point"]

    def partitions(self) -> list[InputPartition]:
        """One for each task."""
        tasks = plain_json.loads(Folder(self.plan).read())
        return [Task(ranges, place == 0) for place, ranges in enumerate(tasks)] or [Task([], True)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        assert isinstance(partition, Task)
        if partition.first:
            yield row_batch(bucket_rows(self.buckets))
        ranges = [load_range(plain) for plain in partition.ranges]
        where = (self.fragments, self.final, self.separate, self.packet_folder, self.point)
        for rows in read_ranges(ranges, self.buckets, *where):
            yield row_batch(rows)


def row_batch(rows: Sequence[chunks.Row]) -> pa.RecordBatch:
    """Rows of chunks.SCHEMA for Arrow."""
    import pyarrow as pa

    types = {"int": pa.int32(), "bigint": pa.int64(), "binary": pa.binary()}
    pairs = (column.split(" ") for column in chunks.SCHEMA.split(", "))
    schema = pa.schema([(name, types[kind]) for name, kind in pairs])
    return batch_of_rows(rows, schema)


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
