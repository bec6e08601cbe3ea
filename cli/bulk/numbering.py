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
from wirelens.cli.bulk.table import NEW_FLOWS, PartWriter
from wirelens.codecs.captures.pcap import FILE_SHIFT

if TYPE_CHECKING:
    import pyarrow as pa

UNNUMBERED = "rows"  # in the run's folder: part files of decoding tasks
NUMBERS = "numbers"  # in the run's folder: of the new flows of each bucket
COLUMN = "flow_number"
ALL_CAPTURES = -1  # the scope of flows of captures that are read as one


class Numbering(NamedTuple):
    """The settings of a task; plain values, because it crosses processes."""

    place: str  # the target folder
    run: str  # the run's folder, relative to it
    form: str  # of the tables: "parquet" or "jsonl"
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
        batch = pa.record_batch([numbers.slice(begin, size)], names=[COLUMN])
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
    from pyarrow import compute

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
        inner = part.path.split(f"/{UNNUMBERED}/", 1)[1].split("/")
        form = numbering.form if part.table != "pending" else "parquet"
        stem = inner[-1].rsplit("-", 1)[0]
        writer = PartWriter(folder, part.table, (f"{numbering.run}/stage", *inner[:-1]), stem, form)
        column = writer.schema.get_field_index(COLUMN)
        for batch in _batches(folder, part.path):
            given = batch.column(column)
            is_new = compute.less(given, 0)
            place = compute.if_else(is_new, compute.bit_wise_not(given), pa.scalar(None, pa.int64()))
            final = compute.coalesce(numbers.take(place), given)
            rows = batch.set_column(column, writer.schema.field(column), final)
            writer.write(rows, rows.nbytes)
        writer.close()
        written += [Part(part.table, path, rows) for path, rows in writer.files]
    return written


def _batches(folder: Folder, path: str) -> Iterator[pa.RecordBatch]:
    """The batches of a file."""
    from pyarrow import ipc

    with folder.system.open_input_stream(folder.at(path)) as file, ipc.open_stream(file) as reader:
        yield from reader
