"""What decoding tasks counted of each file, written by the tasks and added up.

There may be as many counts as files times buckets, so they are not collected: Spark adds them up if they are
many, and the driver gets one row for each file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from wirelens.cli.bulk.files import Folder
from wirelens.cli.tables.counts import COUNTS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FOLDER = "counts"  # in the run's folder
MANY = 1 << 17  # counts; fewer are added up by the driver, which takes less than a job of Spark
TASK_BUCKETS = 64  # of which one task adds up the counts

NAMES = ["file", *(f"count{place}" for place in range(COUNTS))]


def write_counts(folder: Folder, run: str, bucket: int, counts: Mapping[int, Sequence[int]]) -> None:
    """Write what was counted in a bucket, by the numbers of files."""
    import pyarrow as pa

    columns = [list(counts), *map(list, zip(*counts.values(), strict=True))]
    batch = pa.record_batch([pa.array(column, pa.int64()) for column in columns], names=NAMES)
    with pa.BufferOutputStream() as out:
        with pa.ipc.new_stream(out, batch.schema) as writer:
            writer.write_batch(batch)
        folder.make(run, FOLDER)
        folder.write(out.getvalue().to_pybytes(), run, FOLDER, f"{bucket:05d}.arrow")


def summed(folder: Folder, run: str, buckets: Iterable[int]) -> dict[int, list[int]]:
    """The sums over buckets, by the numbers of files."""
    sums: dict[int, list[int]] = {}
    for bucket in buckets:
        columns = [column.to_pylist() for column in _read(folder, run, bucket).columns]
        for file, *counts in zip(*columns, strict=True):
            before = sums.get(file)
            sums[file] = counts if before is None else [a + b for a, b in zip(before, counts, strict=True)]
    return sums


def summed_by_spark(
    spark: SparkSession, place: str, run: str, buckets: Sequence[int]
) -> dict[int, list[int]]:
    """As `summed`, in tasks; `place` is that of the target folder."""
    from pyspark.sql import functions

    schema = ", ".join(f"{name} bigint" for name in NAMES)
    tasks = -(-len(buckets) // TASK_BUCKETS)
    rows = spark.range(0, len(buckets), 1, tasks).mapInArrow(
        partial(sums_of_buckets, place, run, buckets), schema
    )
    sums = rows.groupBy("file").agg(*[functions.sum(name).alias(name) for name in NAMES[1:]])
    return {row[0]: list(row[1:]) for row in sums.collect()}


def sums_of_buckets(
    place: str, run: str, buckets: Sequence[int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The sums over the buckets whose places are in `batches`."""
    import pyarrow as pa

    chosen = [buckets[at] for batch in batches for at in batch.column(0).to_pylist()]
    sums = summed(Folder(place), run, chosen)
    if not sums:
        return
    columns = [list(sums), *map(list, zip(*sums.values(), strict=True))]
    yield pa.record_batch([pa.array(column, pa.int64()) for column in columns], names=NAMES)


def _read(folder: Folder, run: str, bucket: int) -> pa.RecordBatch:
    """What was counted in a bucket."""
    import pyarrow as pa

    with pa.ipc.open_stream(folder.read(run, FOLDER, f"{bucket:05d}.arrow")) as reader:
        batch: pa.RecordBatch = reader.read_next_batch()
    return batch
