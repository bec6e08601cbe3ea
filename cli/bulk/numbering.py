"""The numbers of flows: their places in the order of all captures, which only all buckets together show.

Decoding tasks write rows whose `flow_number` is -1 - n for the n-th of the new flows of their bucket, and the
number for a flow that has one. `assign` numbers the new flows of all buckets, after those of earlier runs;
`write_numbered`, again in tasks, writes the part files with the numbers.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wirelens.cli.bulk import plain_json
from wirelens.cli.bulk.accounts import BucketAccount, Part
from wirelens.cli.bulk.files import Folder
from wirelens.cli.bulk.table import NEW_FLOWS, ROW_GROUP_ROWS, PartWriter
from wirelens.cli.tables.columns import FLOW_NUMBER, TIMES
from wirelens.codecs.captures.pcap import FILE_SHIFT

if TYPE_CHECKING:
    import pyarrow as pa

OUTPUT_BYTES = 1 << 26  # of part files of decoding tasks that become one part file, at most
LEAST_OUTPUT_BYTES = 1 << 24  # and at least, even if few tasks are left then
OUTPUTS_A_CORE = 3
UNNUMBERED = "rows"  # in the run's folder: part files of decoding tasks
NUMBERS = "numbers"  # in the run's folder: of the new flows of each bucket
ALL_CAPTURES = -1  # the scope of flows of captures that are read as one


class Output(NamedTuple):
    """A part file to write: its table and folders, its place among those of the run, from which rows."""

    table: str
    folders: str
    place: int
    parts: list[tuple[int, str]]  # buckets and paths


class Numbering(NamedTuple):
    """The settings of a task; plain values, because it crosses processes."""

    place: str  # the target folder
    run: str  # the run's folder, relative to it
    form: str  # of the tables: "parquet" or "jsonl"
    stage: str  # the folder, relative to the target folder, below which the tables' folders are
    metadata: dict[bytes, str]  # of Parquet files
    outputs: list[Output]


def assign(
    folder: Folder, run: str, accounts: Sequence[BucketAccount], order: Sequence[int], last: int
) -> dict[int, int]:
    """Number the new flows after `last`; how many begin in each file.

    Those of captures that are read as one come first, then those of each file, in the `order` of files.
    """
    import pyarrow as pa
    from pyarrow import compute

    tables: list[pa.Table] = []
    sizes: list[tuple[int, int]] = []
    for account in accounts:
        parts = [part for part in account.parts if part.table == "new_flows"]
        tables += [pa.Table.from_batches(_batches(folder, part.path)) for part in parts]
        if parts:
            sizes.append((account.bucket, sum(part.rows for part in parts)))
    if not tables:
        return {}
    flows = pa.concat_tables(tables)
    scopes = compute.index_in(flows["scope"], pa.array([ALL_CAPTURES, *order], pa.int64()))
    flows = flows.set_column(0, "scope", scopes)
    keys = [(name, "ascending") for name, _, _ in NEW_FLOWS]
    # the inverse of the permutation that sorts them
    ranks = compute.sort_indices(compute.sort_indices(flows, sort_keys=keys))
    numbers = compute.add(ranks.cast(pa.int64()), last + 1)
    folder.make(run, NUMBERS)
    begin = 0
    for bucket, size in sizes:
        batch = pa.record_batch([numbers.slice(begin, size)], names=[FLOW_NUMBER])
        with pa.BufferOutputStream() as out:
            with pa.ipc.new_stream(out, batch.schema) as writer:
                writer.write_batch(batch)
            folder.write(out.getvalue().to_pybytes(), run, NUMBERS, f"{bucket:05d}.arrow")
        begin += size
    files = compute.value_counts(compute.shift_right(flows["packet"], FILE_SHIFT))
    return {entry["values"]: entry["counts"] for entry in files.to_pylist()}


def outputs(accounts: Sequence[BucketAccount], parallel: int) -> list[Output]:
    """The part files to make of those of all buckets, small ones of a folder together.

    Their number depends on the bytes and on the folders, not on the number of buckets.
    """
    parts = [
        (part.table, posixpath.dirname(part.path).split(f"/{UNNUMBERED}/", 1)[1], account.bucket, part)
        for account in accounts
        for part in account.parts
        if part.table != "new_flows"
    ]
    total = sum(part.size for *_, part in parts)
    limit = min(OUTPUT_BYTES, max(LEAST_OUTPUT_BYTES, total // (OUTPUTS_A_CORE * parallel)))
    found: list[Output] = []
    size = 0
    for table, folders, bucket, part in sorted(parts, key=lambda item: item[:3]):
        if not found or found[-1][:2] != (table, folders) or size + part.size > limit:
            found.append(Output(table, folders, len(found), []))
            size = 0
        found[-1].parts.append((bucket, part.path))
        size += part.size
    return found


def write_numbered(numbering: Numbering, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The parts that were written for the outputs whose places are in `batches`."""
    import pyarrow as pa

    schema = pa.schema([("result", pa.binary())])
    for batch in batches:
        for place in batch.column(0).to_pylist():
            result = plain_json.dumps(numbered_parts(numbering, place))
            yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], schema=schema)


def numbered_parts(numbering: Numbering, place: int) -> list[Part]:
    """Write the part file of an output with the numbers of flows."""
    import pyarrow as pa
    from pyarrow import compute

    folder = Folder(numbering.place)
    output = numbering.outputs[place]
    table, name = output.table, posixpath.basename(numbering.run)
    tables: list[pa.Table] = []
    for bucket, path in output.parts:
        numbers = pa.array([], pa.int64())
        known = f"{numbering.run}/{NUMBERS}/{bucket:05d}.arrow"
        if folder.exists(known):
            numbers = next(iter(_batches(folder, known))).column(0)
        rows = pa.Table.from_batches(_batches(folder, path))
        column = rows.schema.get_field_index(FLOW_NUMBER)
        final = _final(rows.column(column), numbers)
        tables.append(rows.set_column(column, rows.schema.field(column), final))
    form, stage = numbering.form, numbering.stage
    if table == "pending":
        form, stage = "parquet", f"{numbering.run}/stage"
    into = run_folders(stage, output.folders, name)
    metadata = numbering.metadata if form == "parquet" else None
    writer = PartWriter(folder, table, into, f"{output.place:05d}", form, metadata, numbering.run)
    rows = pa.concat_tables(tables)
    time = TIMES.get(table)
    first = last = -1
    if time is not None:
        rows = rows.take(compute.sort_indices(rows.column(time)))
        times = compute.min_max(rows.column(time).cast("int64")).as_py()
        first, last = (-1 if times[one] is None else times[one] for one in ("min", "max"))
    for batch in rows.combine_chunks().to_batches(max_chunksize=ROW_GROUP_ROWS):
        writer.write(batch, 0)
    writer.close()
    return [Part(table, *file, first, last) for file in writer.files]


def run_folders(stage: str, folders: str, run: str) -> tuple[str, ...]:
    """The folders of a run's part files, below `stage`: those of a table, with one for the run in it.

    A run's files of a table are in one folder, so that one step moves all of them into place. Without a
    `stage`, they are a Delta Lake table's, whose partitions are in its log.
    """
    top = "_ledger/_pending" if folders.startswith("_ledger/_pending") else folders.split("/", 1)[0]
    return tuple(filter(None, (stage, top, f"run={run}" if stage else run, folders[len(top) + 1 :])))


def _final(given: pa.ChunkedArray, numbers: pa.Array) -> pa.Array:
    """The numbers of flows, where some are places among the new flows of a bucket, which have `numbers`."""
    import pyarrow as pa
    from pyarrow import compute

    place = compute.if_else(compute.less(given, 0), compute.bit_wise_not(given), pa.scalar(None, pa.int64()))
    return compute.coalesce(numbers.take(place), given)


def _batches(folder: Folder, path: str) -> Iterator[pa.RecordBatch]:
    """The batches of a file."""
    from pyarrow import ipc

    with folder.system.open_input_stream(folder.at(path)) as file, ipc.open_stream(file) as reader:
        yield from reader
