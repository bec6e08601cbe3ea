"""New files as they come, for `spark.readStream.format("wirelens")`.

A file is read once, whole, so it has to be put in place complete (by renaming), or left alone for `age`
seconds. The offset of a stream has the files that were seen, of the last day by the times at which they were
written; older ones that are not in it are not new.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from wirelens.cli.bulk.files import File, find_all
from wirelens.cli.bulk.tasks import places, read_records, tasks_of

if TYPE_CHECKING:
    import pyarrow as pa

KEPT_US = 24 * 3600 * 1_000_000  # files written this long before the newest one may still come

Offset = dict[str, Any]
"""`seen`: the times of files by their names, µs; files that are older than `since` are not new."""


class RecordStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads files to rows, each file by itself, once."""

    def __init__(self, options: dict[str, str], names: list[str]) -> None:
        self.options = options
        self.names = names
        self.age_us = int(float(options.get("age", "0")) * 1_000_000)
        self.target: Offset | None = None
        if not places(options):
            raise ValueError("no path: use .load(path)")

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """Before any file."""
        return {"since": 0, "seen": {}}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """After all files that are there; those that were seen and are gone count as there."""
        found = self.target if self.target is not None else self._there()
        seen = {**found["seen"], **start["seen"]}
        since = max(start["since"], max(seen.values(), default=0) - KEPT_US)
        return {"since": since, "seen": {name: at for name, at in sorted(seen.items()) if at >= since}}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Keep to the files that are there now."""
        self.target = self._there()

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """One for each task."""
        files = [file for file in self._files() if not _has(start, file) and _has(end, file)]
        return tasks_of(files) if files else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        yield from read_records(partition, self.options, self.names)

    def _files(self) -> list[File]:
        latest = int(time.time() * 1_000_000) - self.age_us
        return [
            file for file in find_all(places(self.options)) if not self.age_us or file.modified_us <= latest
        ]

    def _there(self) -> Offset:
        return {"since": 0, "seen": {file.name: file.modified_us for file in self._files()}}


def _has(offset: Offset, file: File) -> bool:
    """Whether a file was seen."""
    return file.name in offset["seen"] or file.modified_us < offset["since"]
