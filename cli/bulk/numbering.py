"""The numbers of flows: their places in the order of all captures, which only all buckets together show.

Decoding tasks write rows whose `flow_number` is -1 - n for the n-th of the new flows of their bucket, and the
number for a flow that has one. `assign` numbers the new flows of all buckets, after those of earlier runs;
`write_numbered`, again in tasks, writes the part files with the numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wirelens.cli.bulk import plain_json
from wirelens.cli.bulk.accounts import BucketAccount, Part
from wirelens.cli.bulk.files import Folder
from wirelens.cli.bulk.table import FLOW_NUMBER, NEW_FLOWS, PartWriter
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
        name = folders.pop()
        stage = f"{numbering.run}/stage"
        if part.table != "pending" and numbering.form == "parquet":
            folder.make(stage, *folders)
            folder.write(_written_over(folder.read(part.path), numbers), stage, *folders, name)
            written.append(Part(part.table, "/".join([stage, *folders, name]), part.rows))
            continue
        form = numbering.form if part.table != "pending" else "parquet"
        writer = PartWriter(folder, part.table, (stage, *folders), name.rsplit("-", 1)[0], form)
        column = writer.schema.get_field_index(FLOW_NUMBER)
        read = _batches if part.table == "pending" else _row_groups
        for batch in read(folder, part.path):
            final = _final(batch.column(column), numbers)
            rows = batch.set_column(column, writer.schema.field(column), final)
            writer.write(rows, rows.nbytes)
        writer.close()
        written += [Part(part.table, path, rows) for path, rows in writer.files]
    return written


def _final(given: pa.Array, numbers: pa.Array) -> pa.Array:
    """The numbers of flows, where some are places among the new flows of a bucket, which have `numbers`."""
    import pyarrow as pa
    from pyarrow import compute

    place = compute.if_else(compute.less(given, 0), compute.bit_wise_not(given), pa.scalar(None, pa.int64()))
    return compute.coalesce(numbers.take(place), given)


def _written_over(data: bytes, numbers: pa.Array) -> bytes:
    """A staged Parquet file with the final numbers of flows: the values in the dictionary of each row group.

    These are the last bytes before the first data page of the column.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(pa.BufferReader(data))
    column = file.schema.names.index(FLOW_NUMBER)
    out = bytearray(data)
    for group in range(file.num_row_groups):
        given = file.read_row_group(group, columns=[FLOW_NUMBER])[FLOW_NUMBER].combine_chunks()
        distinct = given.dictionary_encode().dictionary
        form = f"<{len(distinct)}q"
        end = file.metadata.row_group(group).column(column).data_page_offset
        begin = end - struct.calcsize(form)
        if out[begin:end] != struct.pack(form, *distinct.to_pylist()):
            raise AssertionError("the numbers of flows are not where they belong")
        out[begin:end] = struct.pack(form, *_final(distinct, numbers).to_pylist())
    return bytes(out)


def _row_groups(folder: Folder, path: str) -> Iterator[pa.RecordBatch]:
    """The row groups of a Parquet file."""
    from pyarrow.parquet import ParquetFile

    with folder.system.open_input_file(folder.at(path)) as file:
        parquet = ParquetFile(file)
        for group in range(parquet.num_row_groups):
            yield from parquet.read_row_group(group).combine_chunks().to_batches()


def _batches(folder: Folder, path: str) -> Iterator[pa.RecordBatch]:
    """The batches of a file."""
    from pyarrow import ipc

    with folder.system.open_input_stream(folder.at(path)) as file, ipc.open_stream(file) as reader:
        yield from reader
