"""A bulk run: plan, read, decode, check the sums, commit.

Spark's tasks read the ranges of the plan; it brings the packets of each pair of endpoints to
one task, in order, and that task decodes them and writes part files. The driver gets only accounts: it adds
them up (see settling.py), and then either everything is moved into the target folder or nothing (ledger.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from wirelens.cli.bulk import chunks, counting, decoding, delta, plain_json
from wirelens.cli.bulk.accounts import BucketAccount, Part, load_bucket_account
from wirelens.cli.bulk.decoding import Config
from wirelens.cli.bulk.files import File, Readers, below, find, is_inside, shown
from wirelens.cli.bulk.ledger import PENDING, LedgerRow, NotAllowedError, Run, State
from wirelens.cli.bulk.local_packets import shared_folder
from wirelens.cli.bulk.numbering import (
    OUTPUT_BYTES,
    REWRITTEN_PLACE,
    Numbering,
    Output,
    assign,
    numbered_parts,
    outputs,
    rewritten,
    run_folders,
    with_rows_of,
    write_numbered,
)
from wirelens.cli.bulk.plan import (
    HEAD_BYTES,
    NO_TIME,
    Input,
    Range,
    Tail,
    group,
    inspect_files,
    is_settled,
    load_state,
    split,
)
from wirelens.cli.bulk.reading import fragments_place, read_tasks, write_plan
from wirelens.cli.bulk.redo import Redo, connected, is_named, selected
from wirelens.cli.bulk.report import Report
from wirelens.cli.bulk.selecting import normal_text
from wirelens.cli.bulk.settings import METADATA, check_form, check_resumable, dumps, loads, settings
from wirelens.cli.bulk.settling import Plan, Settlement, UnbalancedError, add_contradictions, settle
from wirelens.cli.bulk.table import PartWriter, RecordWriter
from wirelens.cli.bulk.variants import check_target, write_variants
from wirelens.cli.points import NONE, contradiction, points_of
from wirelens.cli.tables.columns import TABLES
from wirelens.cli.tables.rows import NO_DAY
from wirelens.cli.version import install_command
from wirelens.codecs import checkpoint
from wirelens.codecs.captures import FRESH
from wirelens.codecs.captures.pcap import FILE_SHIFT
from wirelens.codecs.registry import UNKNOWN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wirelens.cli.bulk.cancelling import Cancelling
    from wirelens.cli.bulk.progress import Watch

BUCKET_BYTES = 1 << 26  # of packets for a decoding task, about
MOST_BUCKETS = 4096
CONTINUATION = "more.json"  # tails and fragments for the next run, among the pending streams


@dataclass
class JobOptions:
    """What a run converts, and how."""

    sources: Sequence[str]
    target: str
    mode: str = "errorifexists"
    resume: bool = False
    final: bool = False  # with `resume`: no stream is kept open for another run
    protocol: str = ""
    jsonl: bool = False
    delta: bool = False  # Delta Lake tables
    separate: bool = False  # streams end with their file
    quarantine: str = "head"
    document: str = "json"
    point: str = NONE  # how names show where a capture was made
    where: tuple[str, ...] = ()  # expressions that messages have to match
    redo: Redo | None = None  # what to convert again; with `resume`
    compact: bool = False  # put small part files together
    settle_seconds: float = 0.0  # files written more recently are left to another run, unless they may grow


class Job:
    """A run: `inspect`, then `convert`."""

    def __init__(self, options: JobOptions) -> None:
        self.options = options
        self.settings = settings(
            options.protocol,
            options.point,
            options.separate,
            normal_text(options.where) if options.where else "",
            options.quarantine,
            self._format,
            options.document,
        )
        self.run = Run(options.target)
        self.final = options.final or not options.resume
        self.files: dict[str, File] = {}  # what was found in the sources
        self.inputs: list[Input] = []
        self.ranges: list[Range] = []
        self.order: list[int] = []  # the numbers of inputs as they were given, files of a folder by name
        self.total = 0
        self.skipped = 0
        self.state = State([], [], False)
        self.ledger: dict[int, LedgerRow] = {}  # the rows that stay
        self.tails: dict[int, Tail] = {}
        self.dropped: frozenset[str] = frozenset()  # files that are converted again
        self.pending: list[str] = []  # files of pending streams
        self.fragments: list[Any] = []
        self._cancelling: Cancelling | None = None
        self._last_flow = 0

    def inspect(self, changing: bool = True) -> None:
        """Inspect the sources and the target. Raises NotAllowedError and OSError before anything starts.

        Unless `changing`, the target stays as it is.
        """
        options = self.options
        if options.delta and not delta.is_installed():
            raise NotAllowedError(f"Delta Lake tables need a package:  {install_command('delta')}")
        for source in options.sources:
            if is_inside(options.target, source):
                raise NotAllowedError(f"{shown(options.target)} is inside {shown(source)}, which is read")
        self.files = files = self.find()
        self.state = self.run.begin(options.mode, options.resume) if changing else self.run.peek()
        if not changing and (options.mode != "overwrite" or options.resume):
            self.run.check_layout(self.state)
        if options.mode == "append" or options.resume:
            self._check_settings()
            self.ledger = {row.number: row for row in self.state.rows}
        if options.compact and (options.jsonl or options.document == "variant"):
            raise NotAllowedError(
                "--compact reads the tables again: they have to be Parquet with --document json"
            )
        if options.resume:
            self._load_pending()
        if options.redo is not None:
            self._choose(options.redo, files)
        known = list(self.ledger.values()) if options.resume else []
        places = {name: place for place, name in enumerate(files)}
        adds = options.mode == "append" or options.resume
        first_number = max((row.number for row in self.state.rows if adds), default=-1) + 1
        self.inputs = []
        for item in inspect_files(list(files.values()), known, first_number):
            tail = self.tails.get(item.number)
            incomplete = self.final and tail is not None and tail.offset < item.size
            if item.kind == "done" and not incomplete:
                self.skipped += 1
            elif not self.final and _just_begun(item):
                continue
            elif item.kind in ("grown", "done"):
                kind = "grown" if item.number in self.tails else "changed"
                self.inputs.append(item._replace(kind=kind))
            else:
                self.inputs.append(item)
        self.total = sum(item.size for item in self.inputs)
        self.order = [item.number for item in sorted(self.inputs, key=lambda item: places[item.name])]

    def find(self) -> dict[str, File]:
        """The files that are there to be read, by their names. Raises OSError."""
        files = {file.name: file for source in self.options.sources for file in find(source)}
        if self.options.settle_seconds:
            latest_us = int((time.time() - self.options.settle_seconds) * 1_000_000)
            files = {name: file for name, file in files.items() if is_settled(file, latest_us)}
        return files

    def _check_settings(self) -> None:
        """Check that this run can add to what is there. Raises NotAllowedError."""
        place = shown(self.run.folder.place)
        for before in {row.settings for row in self.state.rows}:
            check_form(place, loads(before), self.settings)
            if self.options.resume:
                check_resumable(place, loads(before), self.settings, self.options.redo is not None)

    def _choose(self, redo: Redo, files: Mapping[str, File]) -> None:
        """Choose the files that are converted again. Raises NotAllowedError."""
        place = shown(self.run.folder.place)
        if self.options.jsonl or self.options.document == "variant":
            raise NotAllowedError("to convert again, the tables have to be Parquet with --document json")
        if self.state.pending:
            raise NotAllowedError(
                f"streams in {place} are still open: end them with --resume --final, then convert again"
            )
        rows = self.state.rows
        chosen = selected(rows, redo)
        for name in redo.files:
            if not any(is_named(row, name) for row in rows):
                raise NotAllowedError(f"{name} is not in the ledger of {place}")
        if not self.options.separate:
            chosen = connected(rows, chosen, self._flow_times)
        self.dropped = frozenset(row.file for row in rows if row.number in chosen)
        missing = sorted(name for name in self.dropped if name not in files)
        if missing:
            raise NotAllowedError(
                f"{missing[0]} has to be converted again, as it shares flows or was asked for, "
                "but it is not in what is read"
            )
        self.ledger = {row.number: row for row in rows if row.file not in self.dropped}

    def _flow_times(self) -> Iterator[tuple[int, int]]:
        """The times of the first and the last packet of each flow, microseconds."""
        from pyarrow import parquet

        folder = self.run.folder
        for path in self._files("connections"):
            with folder.system.open_input_file(folder.at(path)) as file:
                rows = parquet.ParquetFile(file).read(["first_time", "last_time"])
            columns = [rows.column(name).cast("int64").to_pylist() for name in rows.column_names]
            yield from (both for both in zip(*columns, strict=True) if None not in both)

    def _files(self, table: str) -> dict[str, int]:
        """The part files of a table, with their bytes."""
        if self.options.delta:
            return delta.files(self.run.folder, table)
        return self.run.folder.sizes(table)

    def _load_pending(self) -> None:
        """Load what the last run kept for this one. Raises NotAllowedError if it is of another version."""
        version = None
        for path in self.state.pending:
            if path.endswith(".parquet"):
                self.pending.append(path)
            elif path.endswith(".json"):
                plain = plain_json.loads(self.run.folder.read(path))
                version = plain.get("version")
                if version == checkpoint.VERSION:
                    self.fragments = plain["fragments"]
                    for number, (offset, state, latest) in plain["tails"]:
                        self.tails[number] = Tail(offset, load_state(state), latest)
        if self.state.pending and version != checkpoint.VERSION:
            raise NotAllowedError(
                f"the unfinished streams in {shown(self.run.folder.place)} were kept by another version of "
                "wirelens: end them with that one (--resume --final) first"
            )

    @property
    def _format(self) -> str:
        """The value of --format."""
        return "delta" if self.options.delta else self._form

    @property
    def _form(self) -> str:
        return "jsonl" if self.options.jsonl else "parquet"

    def _check_cancelled(self) -> None:
        """Check that no signal ended the run. Raises CancelledError."""
        if self._cancelling is not None:
            self._cancelling.check()

    @property
    def _stage(self) -> str:
        """Where the part files of tables are written: Delta Lake tables get them where they stay."""
        return "" if self.options.delta else f"{self.run.path}/stage"

    @property
    def _metadata(self) -> dict[bytes, str]:
        return {METADATA: dumps(self.settings)}

    @property
    def idle(self) -> bool:
        """Whether there is nothing to convert."""
        if self.options.compact and self.state.finished:
            return False
        return not self.inputs and not (self.final and (self.pending or self.fragments))

    def work(
        self, spark: SparkSession, watch: Watch | None = None, cancelling: Cancelling | None = None
    ) -> Report:
        """Convert with Spark. Raises UnbalancedError, CancelledError, and what Spark raises."""
        self._cancelling = cancelling
        variant = self.options.document == "variant"
        if variant:
            check_target(spark, self.run)
        both = () if watch is None else (watch.messages, watch.errors)
        accumulators = tuple(accumulator for accumulator in both if accumulator is not None)

        def convert(count: int, config: Config) -> list[bytes]:
            rows = _packets(spark, count, config)
            decode = partial(decoding.decode_rows, config, accumulators)
            self._check_cancelled()
            return [bytes(row.result) for row in rows.mapInArrow(decode, decoding.RESULT).collect()]

        def number(numbering: Numbering) -> list[bytes]:
            count = len(numbering.outputs)
            rows = spark.range(0, count, 1, count)
            write = partial(write_numbered, numbering)
            self._check_cancelled()
            return [bytes(row.result) for row in rows.mapInArrow(write, decoding.RESULT).collect()]

        def finish(moves: dict[str, str]) -> dict[str, str]:
            return write_variants(spark, self.run, moves) if variant else moves

        def total(buckets: list[int]) -> dict[int, list[int]]:
            self._check_cancelled()
            return counting.summed_by_spark(spark, self.run.folder.place, self.run.path, buckets)

        with shared_folder(spark) as packet_folder:
            return self.convert(convert, finish, _parallel(spark), packet_folder, number, total)

    def convert(
        self,
        convert: Callable[[int, Config], list[bytes]],
        finish: Callable[[dict[str, str]], dict[str, str]],
        parallel: int,
        packet_folder: str = "",
        number: Callable[[Numbering], list[bytes]] | None = None,
        total: Callable[[list[int]], dict[int, list[int]]] | None = None,
    ) -> Report:
        """Convert. `convert` gives the buckets' accounts for a number of reading tasks, `parallel` at a time.

        Packets pass between tasks in files of `packet_folder`, if given, else in the rows. `number` gives the
        parts that `write_numbered` writes, and `total` the sums of counts of buckets; without these, this
        process does both. `finish` may change the staged files and where they are moved in the end.
        """
        started = time.monotonic()
        folder = self.run.folder
        self.ranges = split(self.inputs, self.tails, parallel)
        tasks: list[list[Range]] = [[self._pending_range(path)] for path in self.pending]
        tasks += group(self.ranges, parallel)
        count = write_plan(folder, self.run.path, tasks)
        if self.fragments:
            folder.make(self.run.path, "fragments")
            folder.write(plain_json.dumps((0, self.fragments)), self.run.path, "fragments", f"{0:012d}.json")
        buckets = bucket_count(sum(item.length for item in self.ranges), parallel)
        place = below(folder.place, self.run.path)
        config = Config(
            folder.place,
            self.run.path,
            fragments_place(place),
            packet_folder,
            buckets,
            self.options.protocol,
            self.options.quarantine,
            self.final,
            self.options.separate,
            max((item.first_us for item in self.inputs if item.first_us < NO_TIME - 1), default=0),
            tuple(self._names()),
            self.options.point,
            self.options.where,
        )
        results = convert(count, config)
        accounts = [load_bucket_account(plain_json.loads(result)) for result in results]
        plan = Plan(
            self.run.name,
            self.inputs,
            self.ranges,
            buckets,
            self.ledger,
            self.final,
            self.options.resume,
            self.skipped,
        )
        counted = [account.bucket for account in accounts if account.counted]
        if total is None or sum(account.counted for account in accounts) < counting.MANY:
            counts = counting.summed(folder, self.run.path, counted)
        else:
            counts = total(counted)
        settlement = settle(plan, accounts, counts)
        for item in self.inputs:
            settlement.ledger[item.number].settings = dumps(self.settings)
        if self.options.point == NONE:
            files = {number: row.file for number, row in self.ledger.items()} | dict(config.names)
            pairs = {pair for account in accounts for pair in account.contradictions}
            settlement.report.contradiction = contradiction(
                (files[first], files[second]) for first, second in sorted(pairs)
            )
            add_contradictions(settlement.ledger, pairs)
        parts = self._number(settlement, accounts, number, parallel)
        parts += self._write_problems(settlement)
        parts += self._empty_tables(settlement)
        kept, replaced = self._rewrite(number)
        rows = [settlement.ledger[number] for number in sorted(settlement.ledger)]
        moves = finish(self._moves(parts + kept, settlement))
        if self._cancelling is not None:
            self._cancelling.begin_commit()
        removes = self._removes() + ([] if self.options.delta else list(replaced))
        self.run.commit(rows, moves, removes, self._changes(parts + kept, replaced), self._last_flow)
        settlement.report.seconds = time.monotonic() - started
        return settlement.report

    def _number(
        self,
        settlement: Settlement,
        accounts: Sequence[BucketAccount],
        number: Callable[[Numbering], list[bytes]] | None,
        parallel: int,
    ) -> list[Part]:
        """Number the new flows and write the rows with their numbers; the part files."""
        adds = self.options.mode == "append" or self.options.resume
        self._last_flow = self.state.flows if adds else 0
        found = assign(self.run.folder, self.run.path, accounts, self.order, self._last_flow)
        for file, flows in found.items():
            row = settlement.ledger[file]
            row.flows = (row.flows or 0) + flows
            self._last_flow += flows
        planned = outputs(accounts, parallel)
        parts = self._write(planned, number)
        for table, rows in settlement.written.items():
            if sum(part.rows for part in parts if part.table == table) != rows:
                raise UnbalancedError(f"{rows} rows of {table} were decoded, others were numbered")
        return parts

    def _write(self, planned: list[Output], number: Callable[[Numbering], list[bytes]] | None) -> list[Part]:
        """Write planned part files."""
        place, run = self.run.folder.place, self.run.path
        numbering = Numbering(place, run, self._form, self._stage, self._metadata, planned, self.dropped)
        if not planned:
            return []
        if number is None:
            return [part for at in range(len(planned)) for part in numbered_parts(numbering, at)]
        return [Part(*part) for result in number(numbering) for part in plain_json.loads(result)]

    def _rewrite(
        self, number: Callable[[Numbering], list[bytes]] | None
    ) -> tuple[list[Part], dict[str, int]]:
        """Write again part files of earlier runs: without rows that are converted again, or small ones.

        Gives the new part files, and those that they replace with their bytes.
        """
        planned: list[Output] = []
        replaced: dict[str, int] = {}
        for table in TABLES if self.dropped or self.options.compact else ():
            files = {path: size for path, size in self._files(table).items() if path.endswith(".parquet")}
            files = {path: size for path, size in files.items() if self.run.name not in path.split("/")}
            if self.dropped:
                files = with_rows_of(self.run.folder, files, self.dropped)
            less_than = 0 if self.dropped else OUTPUT_BYTES
            found = rewritten(files, REWRITTEN_PLACE + len(planned), less_than)
            planned += found
            replaced |= {path: files[path] for output in found for _, path in output.parts}
        return self._write(planned, number), replaced

    def _pending_range(self, path: str) -> Range:
        folder = self.run.folder
        return Range(-1, -1, folder.place, folder.at(path), path, "pending", 0, 0, FRESH, 0, True)

    def _names(self) -> list[tuple[int, str]]:
        """Numbers and names of the files of rows: the inputs, and those with pending bytes."""
        names = [(item.number, item.name) for item in self.inputs]
        pending = {number for number, row in self.ledger.items() if row.pending}
        pending |= {fragment[5] >> FILE_SHIFT for fragment in self.fragments}
        pending -= {item.number for item in self.inputs}
        return names + [(number, self.ledger[number].file) for number in pending]

    def _removes(self) -> list[str]:
        """The files and folders of the target that this run replaces; files of Delta Lake tables stay."""
        folder, options = self.run.folder, self.options
        if not options.resume and options.mode != "overwrite":
            return []
        removes = [f"{PENDING}/{name}" for name in folder.names(PENDING)]
        if not options.resume:
            for table in TABLES:
                if not options.delta or not folder.exists(table, delta.LOG):
                    removes += [f"{table}/{name}" for name in folder.names(table) if name != self.run.name]
        return removes

    def _moves(self, parts: Sequence[Part], settlement: Settlement) -> dict[str, str]:
        """Where each staged file is moved."""
        stage = f"{self.run.path}/stage/"
        staged = [part.path for part in parts if part.path.startswith(stage)]
        if not self.final and (settlement.tails or settlement.fragments or settlement.written["pending"]):
            staged.append(self._write_continuation(settlement))
        return {path: path.removeprefix(stage) for path in staged}

    def _changes(
        self, parts: Sequence[Part], replaced: Mapping[str, int]
    ) -> dict[str, delta.TableChange] | None:
        """The changes of Delta Lake tables; None if the tables are no such."""
        if not self.options.delta:
            return None
        replace = self.options.mode == "overwrite" and not self.options.resume
        modified = int(time.time() * 1000)
        changes = {}
        for table in TABLES:
            files = [
                (part.path, part.rows, part.size, part.first_time, part.last_time)
                for part in parts
                if part.table == table
            ]
            removed = [both for both in replaced.items() if both[0].startswith(f"{table}/")]
            changes[table] = delta.TableChange(replace, files, modified, removed)
        return changes

    def _empty_tables(self, settlement: Settlement) -> Iterator[Part]:
        """Write a part without rows for each table that has no files, so that it can be read."""
        for table in TABLES if not self.options.delta else ():
            if not settlement.written[table] and (
                self.options.mode == "overwrite" or not self.run.folder.walk(table)
            ):
                yield from self._write_empty(table)

    def _write_problems(self, settlement: Settlement) -> list[Part]:
        """Write what is wrong with files to a part of the quarantine, with the bytes there where possible."""
        readers = Readers()
        names = {item.number: item.name for item in self.inputs}
        points = points_of(names, self.options.point)
        writer = RecordWriter(
            self.run.folder,
            "quarantine",
            run_folders(self._stage, "quarantine", self.run.name),
            "files",
            self._form,
            names,
            points,
            self._metadata,
            self.run.path,
        )
        for item in self.inputs:
            container = item.detail if item.kind in ("capture", "grown", "changed") else ""
            for problem in settlement.problems.get(item.number, ()):
                raw = None
                if item.number in settlement.uncompressed:
                    raw = decoding.damaged_bytes(readers, item.root, item.path, problem)
                writer.columns.add_problem(item.number, container, *problem, raw)
                settlement.written["quarantine"] += 1
        writer.close()
        return [Part("quarantine", *file) for file in writer.files]

    def _write_empty(self, table: str) -> list[Part]:
        """Write a part without rows, so that the table can be read."""
        folders = "/".join(decoding.partition(table, UNKNOWN, NO_DAY))
        parts = run_folders(self._stage, folders, self.run.name)
        writer = PartWriter(self.run.folder, table, parts, "empty", self._form, self._metadata, self.run.path)
        writer.close(needed=True)
        return [Part(table, *file) for file in writer.files]

    def _write_continuation(self, settlement: Settlement) -> str:
        """Write what the next run needs besides the streams."""
        plain = {
            "version": checkpoint.VERSION,
            "tails": list(settlement.tails.items()),
            "fragments": settlement.fragments,
        }
        folder = f"{self.run.path}/stage/{PENDING}/run={self.run.name}"
        self.run.folder.make(folder)
        self.run.folder.write(plain_json.dumps(plain), folder, CONTINUATION)
        return f"{folder}/{CONTINUATION}"


def bucket_count(size: int, parallel: int) -> int:
    """How many buckets `size` bytes get: several per core even for little, but none too small.

    If there are more than cores, their number is a multiple of them, so that all cores end together.
    """
    buckets = max(size // BUCKET_BYTES, min(3 * parallel, size // (BUCKET_BYTES // 16)))
    if buckets > parallel:
        buckets += -buckets % parallel
    return max(1, min(MOST_BUCKETS, buckets))


def _packets(spark: SparkSession, count: int, config: Config) -> DataFrame:
    """The rows of chunks.SCHEMA of `count` reading tasks, each bucket in one partition, in order."""
    rows = spark.range(0, count, 1, count).mapInArrow(partial(read_tasks, config), chunks.SCHEMA)
    if hasattr(rows, "repartitionById"):
        rows = rows.repartitionById(config.buckets, "bucket")
    else:
        rows = rows.repartition(config.buckets, "bucket")
    return rows.sortWithinPartitions(*chunks.SORT)


def _parallel(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    from wirelens.cli.bulk.progress import is_remote

    if is_remote(spark):
        return int(spark.conf.get("spark.default.parallelism", "8") or 8)
    return int(spark.sparkContext.defaultParallelism)


def _just_begun(item: Input) -> bool:
    """Whether a file is still so short that it is left to the next run."""
    if item.kind == "capture":
        return item.first_us == NO_TIME - 1 and item.size < HEAD_BYTES
    return item.kind == "payload" and not item.size
