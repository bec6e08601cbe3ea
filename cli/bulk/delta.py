"""The tables as Delta Lake tables: part files stay where tasks wrote them; a commit of the log shows them.

The deltalake package writes the log. Each commit has the version of the ledger (a transaction of APP), so
that it can be made again: a run that was killed between the commits of two tables is brought to its end by
the next one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wirelens.cli.bulk.files import Folder, below
from wirelens.cli.bulk.stores import delta_place
from wirelens.cli.bulk.table import arrow_schema
from wirelens.cli.tables.columns import PARTITIONED, TIMES
from wirelens.codecs.numbers import time_text

if TYPE_CHECKING:
    from typing import Final

    from deltalake import Schema

APP: Final = "wirelens"
LOG: Final = "_delta_log"
PARTITIONS: Final = ("protocol", "day")
NO_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"


class TableChange(NamedTuple):
    """What a commit does with a table.

    replace: whether all files that are there are removed. files: those that are added: paths in the target
    folder, rows, bytes, and the first and last time, -1 without. modified: of the files, in milliseconds.
    """

    replace: bool
    files: Sequence[tuple[str, int, int, int, int]]
    modified: int
    removed: Sequence[tuple[str, int]] = ()


def is_installed() -> bool:
    """Whether the deltalake package is installed."""
    from importlib.util import find_spec

    return find_spec("deltalake") is not None


def publish(folder: Folder, table: str, version: int, change: TableChange) -> None:
    """Commit a change of a table, unless that was done."""
    from deltalake import CommitProperties, DeltaTable, Transaction
    from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

    place, options = delta_place(below(folder.place, table))
    adds: list[AddAction | RemoveAction] = [
        AddAction(
            path=path.split("/", 1)[1],
            size=size,
            partition_values=_partition_values(table, path),
            modification_time=change.modified,
            data_change=True,
            stats=_stats(table, rows, first, last),
        )
        for path, rows, size, first, last in change.files
    ]
    properties = CommitProperties(app_transactions=[Transaction(APP, version)])
    partitions = list(PARTITIONS) if table in PARTITIONED else []
    if not folder.exists(table, LOG):
        folder.make(table)
        create_table_with_add_actions(
            place,
            schema(table),
            [add for add in adds if isinstance(add, AddAction)],
            partition_by=partitions,
            storage_options=options,
            commit_properties=properties,
        )
        return
    existing = DeltaTable(place, storage_options=options)
    if (existing.transaction_version(APP) or 0) >= version:
        return
    for path, size in change.removed:
        values = _partition_values(table, path)
        adds.append(RemoveAction(path.split("/", 1)[1], True, change.modified, size, values))
    mode = "overwrite" if change.replace else "append"
    existing.create_write_transaction(
        adds, mode, schema(table), partition_by=partitions, commit_properties=properties
    )


def files(folder: Folder, table: str) -> dict[str, int]:
    """The part files of a table now, by their paths in the target folder, with their bytes."""
    import pyarrow as pa
    from deltalake import DeltaTable

    if not folder.exists(table, LOG):
        return {}
    place, options = delta_place(below(folder.place, table))
    found = pa.table(DeltaTable(place, storage_options=options).get_add_actions())
    paths = (f"{table}/{path}" for path in found.column("path").to_pylist())
    return dict(zip(paths, found.column("size_bytes").to_pylist(), strict=True))


def schema(table: str) -> Schema:
    """The columns of a table, with those that partition it."""
    import pyarrow as pa
    from deltalake import Schema

    found = arrow_schema(table).remove_metadata()
    if table in PARTITIONED:
        found = found.append(pa.field("protocol", pa.string())).append(pa.field("day", pa.date32()))
    return Schema.from_arrow(found)


def _partition_values(table: str, path: str) -> dict[str, str | None]:
    if table not in PARTITIONED:
        return {}
    pairs = dict(part.split("=", 1) for part in path.split("/")[1:-1] if "=" in part)
    return {name: None if pairs[name] == NO_PARTITION else pairs[name] for name in PARTITIONS}


def _stats(table: str, rows: int, first: int, last: int) -> str:
    """What readers use to pass over a file. Their times have milliseconds, so the last one is rounded up."""
    stats: dict[str, object] = {"numRecords": rows}
    if first >= 0 and (column := TIMES.get(table)) is not None:
        stats["minValues"] = {column: _milliseconds(first // 1000)}
        stats["maxValues"] = {column: _milliseconds(-(-last // 1000))}
    return json.dumps(stats)


def _milliseconds(time_ms: int) -> str:
    text = time_text(time_ms * 1000)
    whole, _, fraction = text.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<3}"[:23] + "Z"
