"""A bulk run without Spark: the same reading and decoding tasks, with a sort between them. And its tables."""

import itertools
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from wirelens.cli.bulk import decoding
from wirelens.cli.bulk.chunks import Row
from wirelens.cli.bulk.decoding import Config
from wirelens.cli.bulk.job import Job, JobOptions
from wirelens.cli.bulk.reading import read_tasks, row_batch
from wirelens.cli.bulk.report import Report

VECTORS = Path(__file__).resolve().parent.parent / "vectors"

Table = list[dict[str, Any]]


def convert(count: int, config: Config) -> list[bytes]:
    """What Spark does: read, bring each bucket together, sort, decode."""
    rows: list[Row] = []
    for place in range(count):
        for batch in read_tasks(config, [pa.record_batch([pa.array([place])], ["id"])]):
            rows += map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))
    rows.sort(key=lambda row: (row.bucket, row.kind, row.key, row.time, row.packet))
    results: list[bytes] = []
    for _, group in itertools.groupby(rows, key=lambda row: row.bucket):
        mine = list(group)
        batches = [row_batch(mine[at : at + 7]) for at in range(0, len(mine), 7)]
        for batch in decoding.decode_rows(config, (), batches):
            results += batch.column(0).to_pylist()
    return results


def run(
    sources: Sequence[Path | str],
    target: Path | str,
    parallel: int = 2,
    packet_folder: str = "",
    **options: Any,
) -> Report:
    """Convert in this process; packets go through files in `packet_folder`, if given."""
    job = Job(JobOptions([str(source) for source in sources], str(target), **options))
    try:
        job.inspect()
        return job.convert(convert, dict, parallel, packet_folder)
    finally:
        job.run.end()


def table(target: Path, name: str) -> Table:
    """All rows of a table; `protocol` is put in where it stands in the folder's name."""
    rows: Table = []
    for path in sorted((target / name).rglob("*.parquet")):
        if "_pending" in path.parts:
            continue
        found = parquet.read_table(BytesIO(path.read_bytes()))
        for place, field in enumerate(found.schema):
            if pa.types.is_timestamp(field.type):
                found = found.set_column(place, field.name, found.column(place).cast("int64"))
        parts = dict(part.split("=", 1) for part in path.parts if part.startswith("protocol="))
        rows += [{**row, **parts} for row in found.to_pylist()]
    return rows


def contents(target: Path, numbers: bool = True) -> list[tuple[Any, ...]]:
    """The contents of the two tables, without what depends on how captures were split into files.

    `numbers`: with those of flows, which depend on all captures of a run.
    """
    left_out = {"file", "point", "packet", "connection", "notes"} | (set() if numbers else {"flow_number"})
    messages = table(target, "messages")
    pairs: dict[str, list[tuple[Any, ...]]] = {}
    for row in messages:
        if row["pair_id"] is not None:
            pairs.setdefault(row["pair_id"], []).append((row["direction"], row["offset"], row["summary"]))
    found = []
    for row in messages + table(target, "quarantine"):
        notes = [(note["code"], note["offset"]) for note in row["notes"] or ()]
        plain = {key: value for key, value in row.items() if key not in left_out}
        if "pair_id" in plain:
            plain["pair_id"] = sorted(pairs.get(row["pair_id"], []))
        found.append((*(str(plain[key]) for key in sorted(plain)), str(notes)))
    return sorted(found)


def sums_agree(target: Path) -> None:
    """Each row of the ledger adds up, and so do the rows of the tables."""
    ledger = table(target, "_ledger")
    for row in ledger:
        assert row["read"] == row["overhead"] + row["payload"], row
        parts = ("decoded", "quarantined", "unrecognised", "retransmitted", "late", "filtered", "pending")
        assert row["payload"] == sum(row[part] for part in parts), row
    messages = table(target, "messages")
    assert sum(row["messages"] for row in ledger) == len(messages)
    assert sum(row["decoded"] for row in ledger) == sum(row["length"] for row in messages)
    quarantine = table(target, "quarantine")
    unknown = [row["length"] for row in quarantine if row["error_code"] == "unknown-protocol"]
    late = [row["length"] for row in quarantine if row["error_code"] == "late"]
    assert sum(row["late"] for row in ledger) == sum(late)
    assert sum(row["unrecognised"] for row in ledger) == sum(unknown)
    sizes = [row["length"] for row in quarantine if row["length"] is not None]  # damaged files have none
    assert sum(row["quarantined"] for row in ledger) == sum(sizes) - sum(unknown) - sum(late)
