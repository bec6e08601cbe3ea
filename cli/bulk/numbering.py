"""The numbers of flows: their places in the order of all captures, which only all buckets together show.

Decoding tasks write rows whose `flow_number` is -1 - n for the n-th of the new flows of their bucket, and the
number for a flow that has one. `assign` numbers the new flows of all buckets, after those of earlier runs;
`write_numbered`, again in tasks, writes the part files with the numbers.
"""

from __future__ import annotations

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

UNNUMBERED = "rows"  # in the run's folder: part files of decoding tasks
NUMBERS = "numbers"  # in the run's folder: of the new flows of each bucket
ALL_CAPTURES = -1  # the scope of flows of captures that are read as one


class Numbering(NamedTuple):
    """The settings of a task; plain values, because it crosses processes."""

    place: str  # the target folder
    run: str  # the run's folder, relative to it
    form: str  # of the tables: "parquet" or "jsonl"
    metadata: dict[bytes, str]  # of Parquet files
    buckets: list[tuple[int, list[Part]]]  # with the parts that their decoding tasks wrote


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


def write_numbered(numbering: Numbering, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The parts that were written for the buckets whose places are in `batches`."""
    import pyarrow as pa

    schema = pa.schema([("result", pa.binary())])
    for batch in batches:
        for place in batch.column(0).to_pylist():
            result = plain_json.dumps(numbered_parts(numbering, place))
            yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], schema=schema)


def numbered_parts(numbering: Numbering, place: int) -> list[Part]:
    """Write the part files of a bucket with the numbers of flows."""
    import pyarrow as pa

    folder = Folder(numbering.place)
    bucket, parts = numbering.buckets[place]
    numbers = pa.array([], pa.int64())
    name = f"{numbering.run}/{NUMBERS}/{bucket:05d}.arrow"
    if folder.exists(name):
        numbers = next(iter(_batches(folder, name))).column(0)
    written: list[Part] = []
    for part in parts:
        if part.table == "new_flows":
            continue
        folders = part.path.split(f"/{UNNUMBERED}/", 1)[1].split("/")
        stem = folders.pop().rsplit("-", 1)[0]
        form = numbering.form if part.table != "pending" else "parquet"
        into = (f"{numbering.run}/stage", *folders)
        writer = PartWriter(folder, part.table, into, stem, form, numbering.metadata)
        for batch in _in_order(pa.Table.from_batches(_batches(folder, part.path)), numbers, part.table):
            writer.write(batch, 0)
        writer.close()
        written += [Part(part.table, path, rows) for path, rows in writer.files]
    return written


def _in_order(rows: pa.Table, numbers: pa.Array, table: str) -> list[pa.RecordBatch]:
    """Rows of a part with the numbers of flows, sorted by time, as row groups."""
    from pyarrow import compute

    column = rows.schema.get_field_index(FLOW_NUMBER)
    final = _final(rows.column(column), numbers)
    rows = rows.set_column(column, rows.schema.field(column), final)
    time = TIMES.get(table)
    if time is not None:
        rows = rows.take(compute.sort_indices(rows.column(time)))
    batches: list[pa.RecordBatch] = rows.combine_chunks().to_batches(max_chunksize=ROW_GROUP_ROWS)
    return batches


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
