"""The numbers of flows: their places in the order of all captures, which only all buckets together show.

Decoding tasks write rows whose `flow_number` is -1 - n for the n-th of the new flows of their bucket, and the
number for a flow that has one. `assign` numbers the new flows of all buckets, after those of earlier runs;
`write_numbered`, again in tasks, writes the part files with the numbers.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from wirelens.cli.bulk import plain_json
from wirelens.cli.bulk.accounts import BucketAccount, Part
from wirelens.cli.bulk.files import Folder
from wirelens.cli.bulk.settings import METADATA
from wirelens.cli.bulk.table import NEW_FLOWS, ROW_GROUP_ROWS, PartWriter, arrow_schema
from wirelens.cli.tables.columns import FLOW_NUMBER, TIMES
from wirelens.codecs.captures.pcap import FILE_SHIFT

if TYPE_CHECKING:
    import pyarrow as pa

OUTPUT_BYTES = 1 << 26  # of part files of decoding tasks that become one part file, at most
LEAST_OUTPUT_BYTES = 1 << 24  # and at least, even if few tasks are left then
OUTPUTS_A_CORE = 3
REWRITTEN_PLACE = 50_000  # so that files that are written again have names of their own
PARTITIONS = ("protocol=", "day=")
UNNUMBERED = "rows"  # in the run's folder: part files of decoding tasks
NUMBERS = "numbers"  # in the run's folder: of the new flows of each bucket
READ_THREADS = 16
KEPT = -1
ALL_CAPTURES = -1  # the scope of flows of captures that are read as one


class Output(NamedTuple):
    """A part file to write: its table and folders, its place among those of the run, from which rows."""

    table: str
    folders: str
    place: int
    parts: list[tuple[int, str]]  # buckets and paths; KEPT instead of a bucket for files of earlier runs


class Numbering(NamedTuple):
    """The settings of a task; plain values, because it crosses processes."""

    place: str  # the target folder
    run: str  # the run's folder, relative to it
    form: str  # of the tables: "parquet" or "jsonl"
    stage: str  # the folder, relative to the target folder, below which the tables' folders are
    metadata: dict[bytes, str]  # of Parquet files
    outputs: list[Output]
    dropped: frozenset[str] = frozenset()  # files whose rows are not kept of part files of earlier runs


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
    settings: set[str] = set()  # of rows of earlier runs
    for bucket, path in output.parts:
        if bucket == KEPT:
            rows = _kept(folder, path, table, numbering.dropped)
            settings.add((rows.schema.metadata or {}).get(METADATA, b"").decode())
            tables.append(rows.replace_schema_metadata(arrow_schema(table).metadata))
            continue
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
    if settings:
        metadata = {METADATA: settings.pop()} if len(settings) == 1 else None
    writer = PartWriter(folder, table, into, f"{output.place:05d}", form, metadata, numbering.run)
    rows = pa.concat_tables(tables)
    if not rows.num_rows:
        return []
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


def rewritten(files: Mapping[str, int], place: int, less_than: int = 0) -> list[Output]:
    """Outputs, from `place` on, of part files of earlier runs, given with their bytes.

    Each file is one output; or with `less_than` bytes, smaller ones of a folder together, unless it has only
    one.
    """
    folders: dict[str, list[str]] = {}
    for path in files:
        table, *middle = path.split("/")[:-1]
        names = "/".join([table, *(name for name in middle if name.startswith(PARTITIONS))])
        folders.setdefault(names, []).append(path)
    found: list[Output] = []
    for names, paths in sorted(folders.items()):
        groups: list[list[str]] = []
        size = 0
        for path in sorted(paths):
            if less_than and files[path] >= less_than:
                continue
            if not less_than or not groups or size + files[path] > less_than:
                groups.append([])
                size = 0
            groups[-1].append(path)
            size += files[path]
        for group in groups:
            if len(group) > 1 or not less_than:
                kept = [(KEPT, path) for path in group]
                found.append(Output(names.split("/")[0], names, place + len(found), kept))
    return found


def with_rows_of(folder: Folder, files: Mapping[str, int], dropped: Set[str]) -> dict[str, int]:
    """Those of the part files that may hold rows of these input files, by their statistics."""
    from pyarrow import parquet

    names = sorted(dropped)

    def may_hold(path: str) -> bool:
        with folder.system.open_input_file(folder.at(path)) as file:
            metadata = parquet.read_metadata(file)
        column = metadata.schema.to_arrow_schema().names.index("file")
        for group in range(metadata.num_row_groups):
            found = metadata.row_group(group).column(column).statistics
            if found is None or not found.has_min_max:
                return True
            at = bisect_left(names, found.min)
            if at < len(names) and names[at] <= found.max:
                return True
        return False

    with ThreadPoolExecutor(READ_THREADS) as pool:
        held = list(pool.map(may_hold, files))
    return {path: size for (path, size), holds in zip(files.items(), held, strict=True) if holds}


def _kept(folder: Folder, path: str, table: str, dropped: frozenset[str]) -> pa.Table:
    """The rows of a part file of an earlier run that stay."""
    import pyarrow as pa
    from pyarrow import compute, parquet

    with folder.system.open_input_file(folder.at(path)) as file:
        rows = parquet.ParquetFile(file).read()
    schema = arrow_schema(table)
    rows = rows.select(schema.names).cast(schema.with_metadata(rows.schema.metadata))
    if dropped:
        gone = compute.is_in(rows.column("file"), pa.array(sorted(dropped), pa.string()))
        rows = rows.filter(compute.invert(gone))
    return rows


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
