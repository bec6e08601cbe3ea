"""Tasks of the data source: what each reads, and their rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from wirelens.cli.bulk.files import File
from wirelens.cli.bulk.plan import Range, group, inspect_files, load_range
from wirelens.cli.bulk.records import RECORDS
from wirelens.cli.points import NONE
from wirelens.codecs.captures import FRESH

if TYPE_CHECKING:
    import pyarrow as pa


class Task(InputPartition):
    """What one task reads: the plain values of its ranges."""

    def __init__(self, ranges: list[tuple[Any, ...]], first: bool) -> None:
        self.ranges = ranges
        self.first = first


def read_records(
    partition: InputPartition, options: dict[str, str], names: list[str]
) -> Iterator[pa.RecordBatch]:
    """The rows of one task, with the columns that are named."""
    from wirelens.cli.bulk.records import record_batches

    assert isinstance(partition, Task)
    protocol, quarantine = options.get("as", ""), options.get("quarantine", "head")
    table, point = options.get("table", RECORDS), options.get("point", NONE)
    for plain in partition.ranges:
        yield from record_batches(load_range(plain), protocol, quarantine, table, names, point)


def tasks_of(files: list[File]) -> list[InputPartition]:
    """Files as tasks, at least one."""
    ranges = []
    for item in inspect_files(files, (), 0):
        whole = (0, item.size, FRESH, 0, True)
        ranges.append(Range(item.number, item.number, item.root, item.path, item.name, item.kind, *whole))
    return [Task([tuple(item) for item in task], False) for task in group(ranges)] or [Task([], False)]


def places(options: dict[str, str]) -> list[str]:
    """The places that `load` was given: one as `path`, several as `paths`, a list in JSON."""
    if "paths" in options:
        return [str(place) for place in json.loads(options["paths"])]
    return [options["path"]] if options.get("path") else []
