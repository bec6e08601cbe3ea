"""A bulk run: plan, read, decode, check the sums, commit.

Spark reads the ranges of the plan through the data source, brings the packets of each pair of endpoints to
one task, in order, and that task decodes them and writes part files. The driver sees only accounts: it adds
them up, and either everything becomes the folder's or nothing does (see ledger.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from wirelens.cli.bulk import chunks, decoding, plain_json
from wirelens.cli.bulk.decoding import Config
from wirelens.cli.bulk.files import Found, Readers, below, find, shown
from wirelens.cli.bulk.ledger import Entry, NotAllowedError, Run, State, staged_target
from wirelens.cli.bulk.plan import FRESH, HEAD_BYTES, NO_TIME, Input, Range, Tail, cut, load_state, look, pack
from wirelens.cli.bulk.reading import Fault, side_place
from wirelens.cli.bulk.rows import (
    AGAIN,
    CARRIED,
    COUNTS,
    DECODED,
    ERRORS,
    MESSAGES,
    PAYLOAD,
    PENDING,
    QUARANTINED,
    RAW,
    SLOWEST,
    UNRECOGNISED,
)
from wirelens.cli.bulk.table import PartWriter, RecordWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wirelens.cli.bulk.progress import Watch

BUCKET_BYTES = 1 << 26
"""A decoding task gets about so many bytes of packets."""
MOST_BUCKETS = 4096
GROWING_US = 24 * 3600 * 1_000_000
"""A capture that was written to so lately may grow, and is remembered where reading it stopped."""

COUNTED = (
    "read",
    "overhead",
    "payload",
    "decoded",
    "quarantined",
    "unrecognised",
    "retransmitted",
    "pending",
    "messages",
    "errors",
)
"""Columns of the ledger that begin at nought."""


class UnbalancedError(Exception):
    """The sums of a run do not agree; nothing was written."""


@dataclass
class Order:
    """What a run is asked for."""

    sources: Sequence[str]
    target: str
    mode: str = "errorifexists"
    resume: bool = False
    final: bool = False  # with `resume`: nothing is kept open for another run
    protocol: str = ""
    jsonl: bool = False
    separate: bool = False  # put no streams together across files
    quarantine: str = "head"
    document: str = "json"


@dataclass
class Report:
    """What a run came to. Sizes in bytes."""

    files: int = 0
    skipped: int = 0
    size: int = 0
    read: int = 0
    overhead: int = 0
    payload: int = 0
    decoded: int = 0
    quarantined: int = 0
    unrecognised: int = 0
    retransmitted: int = 0
    carried: int = 0
    pending: int = 0
    packets: int = 0
    flows: int = 0
    messages: int = 0
    errors: int = 0
    repeated: int = 0  # captures that hold no byte which others do not hold
    seconds: float = 0.0
    decoding_seconds: float = 0.0  # of the processors, in our own code
    protocols: dict[str, tuple[int, int]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    slow: list[tuple[int, str, str]] = field(default_factory=list)
    damaged: list[tuple[str, str, str]] = field(default_factory=list)


class Job:
    """A run, in two steps."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.run = Run(order.target)
        self.final = order.final or not order.resume
        self.inputs: list[Input] = []
        self.ranges: list[Range] = []
        self.total = 0
        self.skipped = 0
        self.state = State([], [], False)
        self.kept: dict[int, Entry] = {}
        self.tails: dict[int, Tail] = {}
        self.pending: list[str] = []
        self.fragments: list[Any] = []

    def look(self, changing: bool = True) -> None:
        """Look at the sources and the target. Raises NotAllowedError and OSError before anything starts.

        Unless `changing`, the target stays as it is.
        """
        order = self.order
        found: dict[str, Found] = {}
        for source in order.sources:
            for file in find(source):
                found[file.name] = file
        self.state = self.run.begin(order.mode, order.resume) if changing else self.run.peek()
        if order.mode == "append" or order.resume:
            self._check_shape()
            self.kept = {entry["number"]: entry for entry in self.state.entries}
        if order.resume:
            self._load_pending()
        known = list(self.kept.values()) if order.resume else []
        first = max(self.kept, default=-1) + 1
        looked = look(list(found.values()), known, first)
        self.inputs = []
        for each in looked:
            tail = self.tails.get(each.number)
            cut = self.final and tail is not None and tail.offset < each.size
            if each.kind == "done" and not cut:
                self.skipped += 1
            elif not self.final and _only_begun(each):
                continue
            elif each.kind in ("grown", "done"):
                kind = "grown" if each.number in self.tails else "changed"
                self.inputs.append(each._replace(kind=kind))
            else:
                self.inputs.append(each)
        self.total = sum(each.size for each in self.inputs)

    def _check_shape(self) -> None:
        """Find out whether the tables that are there are of the form that is asked for.

        Raises NotAllowedError.
        """
        from pyarrow.parquet import read_schema

        folder, order = self.run.folder, self.order
        path = next((path for path in folder.walk("messages") if path.endswith((".parquet", ".jsonl"))), "")
        if not path:
            return
        wish = "--format jsonl" if order.jsonl else f"--document {order.document}"
        if path.endswith(".jsonl"):
            have = "--format jsonl"
        else:
            with folder.system.open_input_file(folder.at(path)) as file:
                names = read_schema(file).names
            have = f"--document {'variant' if 'message_text' in names else 'json'}"
        if have != wish:
            raise NotAllowedError(
                f"the tables in {shown(folder.place)} were written with {have}: say that here too"
            )

    def _load_pending(self) -> None:
        """What the last run left to go on with."""
        for path in self.state.pending:
            if path.endswith(".parquet"):
                self.pending.append(path)
            elif path.endswith(".json"):
                more = plain_json.loads(self.run.folder.read(path))
                self.fragments = more["fragments"]
                for number, (offset, state, latest) in more["tails"]:
                    self.tails[number] = Tail(offset, load_state(state), latest)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to convert."""
        return not self.inputs and not (self.final and (self.pending or self.fragments))

    def work(self, spark: SparkSession, watch: Watch | None = None) -> Report:
        """Convert. Raises UnbalancedError, and what Spark raises."""
        if self.order.document == "variant":
            self._check_writer(spark)
        both = () if watch is None else (watch.messages, watch.errors)
        counters = [counter for counter in both if counter is not None]

        def convert(plan: str, config: Config) -> list[bytes]:
            rows = _packets(spark, plan, config)
            decode = partial(decoding.decode_rows, config, tuple(counters))
            return [bytes(row.result) for row in rows.mapInArrow(decode, decoding.RESULT).collect()]

        def finish(moves: dict[str, str]) -> dict[str, str]:
            return self._variants(spark, moves) if self.order.document == "variant" else moves

        with _shared_folder(spark) as beside:
            return self.convert(convert, finish, _parallel(spark), beside)

    def convert(
        self,
        convert: Callable[[str, Config], list[bytes]],
        finish: Callable[[dict[str, str]], dict[str, str]],
        parallel: int,
        beside: str = "",
    ) -> Report:
        """As `work`. `convert` makes accounts of what the plan at a place says, with `parallel` tasks.

        Packets go from task to task in files of the folder `beside`, if one is given, and else in the rows.
        `finish` may change what is moved where in the end.
        """
        started = time.monotonic()
        folder = self.run.folder
        self.ranges = cut(self.inputs, self.tails, parallel)
        tasks: list[list[Range]] = [[self._pending_range(path)] for path in self.pending]
        tasks += pack(self.ranges, parallel)
        folder.write(plain_json.dumps(tasks), self.run.path, "plan.json")
        if self.fragments:
            folder.make(self.run.path, "fragments")
            folder.write(plain_json.dumps((0, self.fragments)), self.run.path, "fragments", f"{0:012d}.json")
        size = sum(each.length for each in self.ranges)
        # Some for each core even where there is little, yet no crumbs; and all cores end together.
        buckets = max(size // BUCKET_BYTES, min(3 * parallel, size // (BUCKET_BYTES // 16)))
        if buckets > parallel:
            buckets += -buckets % parallel
        buckets = max(1, min(MOST_BUCKETS, buckets))
        names = [(each.number, each.name) for each in self.inputs]
        old = {number for number, entry in self.kept.items() if entry["pending"]}
        old |= {fragment[5] >> chunks.FILE_SHIFT for fragment in self.fragments}
        old -= {each.number for each in self.inputs}
        names += [(number, self.kept[number]["file"]) for number in old]
        place = below(folder.place, self.run.path)
        config = Config(
            folder.place,
            self.run.path,
            side_place(place),
            beside,
            buckets,
            self.order.protocol,
            self.order.jsonl,
            self.order.quarantine,
            self.final,
            self.order.separate,
            max((each.first_us for each in self.inputs if each.first_us < NO_TIME - 1), default=0),
            tuple(names),
        )
        results = convert(below(place, "plan.json"), config)
        report, entries, moves = self._settle([plain_json.loads(result) for result in results], buckets)
        removes = []
        if self.order.resume:
            removes = self.state.pending
        elif self.order.mode == "overwrite":
            removes = [path for table in ("messages", "quarantine") for path in folder.walk(table)]
            removes += self.state.pending
        self.run.commit(entries, finish(moves), removes)
        report.seconds = time.monotonic() - started
        return report

    def _pending_range(self, path: str) -> Range:
        folder = self.run.folder
        return Range(-1, -1, folder.place, folder.at(path), path, "pending", 0, 0, FRESH, 0, True)

    def _settle(
        self, accounts: Sequence[dict[str, Any]], buckets: int
    ) -> tuple[Report, list[Entry], dict[str, str]]:
        """Add up the accounts, check them, and make the ledger's rows and the list of what to move where."""
        if sorted(account["bucket"] for account in accounts) != list(range(buckets)):
            raise UnbalancedError("a bucket's account came twice, or not at all")
        counts: dict[int, list[int]] = {}
        ranges: dict[int, list[dict[str, Any]]] = {}
        said: dict[int, dict[str, Any]] = {}
        report = Report(skipped=self.skipped)
        moves: dict[str, str] = {}
        rows = {"messages": 0, "quarantine": 0, "pending": 0}
        fragments: list[Any] = []
        for account in accounts:
            for file, more in account["files"]:
                have = counts.setdefault(file, [0] * COUNTS)
                for what, amount in enumerate(more):
                    have[what] += amount
            for each in account["ranges"]:
                ranges.setdefault(each["file"], []).append(each)
            for each in account["inputs"]:
                said[each["file"]] = each
            for protocol, (messages, size) in account["protocols"].items():
                before = report.protocols.get(protocol, (0, 0))
                report.protocols[protocol] = (before[0] + messages, before[1] + size)
            for code, amount in account["errors"].items():
                report.codes[code] = report.codes.get(code, 0) + amount
            report.slow.extend((each[0], each[1], each[2]) for each in account["slow"])
            report.flows += account["flows"]
            report.decoding_seconds += account["busy"]
            fragments += account["fragments"]
            for table, _, path, amount, _ in account["parts"]:
                moves[path] = staged_target(path, self.run.name)
                rows[table] += amount
        report.slow = sorted(report.slow, reverse=True)[:SLOWEST]
        expected = sorted(each.place for each in self.ranges if each.kind == "capture")
        if sorted(each["place"] for of in ranges.values() for each in of) != expected:
            raise UnbalancedError("a range's account came twice, or not at all")
        entries = dict(self.kept)
        tails = {}
        faults: dict[int, list[Fault]] = {}
        changed = set(counts)
        captures = {each.number for each in self.inputs if each.kind in ("capture", "grown")}
        for each in self.inputs:
            number = each.number
            if each.kind == "changed":
                why = "it grew or was written to since it was converted, and cannot be gone on with"
                faults[number] = [("changed", 0, why)]
                report.errors += 1
                continue
            changed.add(number)
            old = self.kept.get(number) if each.kind == "grown" else None
            entry = self._entry(each) if old is None else dict(old)
            if each.kind in ("capture", "grown"):
                of = sorted(ranges.get(number, []), key=_place)
                faults[number] = self._captured(each, entry, of, counts.get(number))
                tail = self._tail(each, of)
                if tail is not None:
                    tails[number] = tail
            else:
                faults[number] = self._plain(entry, each, said.get(number))
            entries[number] = entry
            report.files += 1
            report.size += each.size
        for number, more in faults.items():
            for code, _, text in more:
                report.codes[code] = report.codes.get(code, 0) + 1
                report.damaged.append((entries[number]["file"], code, text))
        for number, of_file in said.items():
            if of_file["refused"]:
                report.damaged.append((entries[number]["file"], "input-refused", of_file["refused"]))
        for number in changed:
            entries[number] = self._add(entries[number], number, counts.get(number, [0] * COUNTS), report)
        for number in captures:
            entry = entries[number]
            report.repeated += 0 < entry["payload"] == entry["retransmitted"]
        for number, entry in self.kept.items():
            if entry["pending"] and self.order.resume and number not in counts:
                raise UnbalancedError(f"{entry['file']}: {entry['pending']} bytes were pending and are gone")
        if rows["messages"] != report.messages:
            raise UnbalancedError(f"{report.messages} messages were decoded, {rows['messages']} rows written")
        plain = {number for number in captures if not entries[number]["compressed"]}
        moves |= self._damage(faults, plain, rows)
        for table in ("messages", "quarantine"):
            if not rows[table] and (self.order.mode == "overwrite" or not self.run.folder.walk(table)):
                moves |= self._empty(table)
        if not self.final and (tails or fragments):
            moves |= self._keep(tails, fragments)
        return report, [entries[number] for number in sorted(entries)], moves

    def _captured(
        self, each: Input, entry: Entry, ranges: Sequence[dict[str, Any]], count: Sequence[int] | None
    ) -> list[Fault]:
        """Say in a ledger row what was read of a capture; what is wrong with it."""
        faults: list[Fault] = [(code, offset, text) for of in ranges for code, offset, text in of["notes"]]
        raw = sum(of["raw"] for of in ranges)
        came = 0 if count is None else count[RAW]
        if raw != came:
            raise UnbalancedError(
                f"{each.name}: {raw} bytes of segments were read, {came} came to be decoded"
            )
        read = sum(of["read"] for of in ranges)
        # 0 where the capture does not tell times.
        firsts = [of["first_us"] for of in ranges if of["first_us"] > 0]
        lasts = [of["last_us"] for of in ranges if of["last_us"] > 0]
        unreadable = [text for code, _, text in faults if code == "unreadable"]
        compressed = any(of["compressed"] for of in ranges)
        entry["size"], entry["modified"], entry["digest"] = each.size, each.modified_us, each.digest
        entry["status"] = unreadable[0] if unreadable else "done"
        entry["container"] = entry["container"] or each.detail
        entry["compressed"] = entry["compressed"] or compressed
        entry["read"] += read
        entry["overhead"] += read
        entry["packets"] = (entry["packets"] or 0) + sum(of["packets"] for of in ranges)
        entry["first_time"] = min([*firsts, *_some(entry["first_time"])], default=None)
        entry["last_time"] = max([*lasts, *_some(entry["last_time"])], default=None)
        entry["errors"] += sum(of["damages"] for of in ranges)
        entry["notes"] = [*(entry["notes"] or ()), *_notes(faults)] or None
        if not unreadable and not compressed and self.final and entry["read"] != each.size:
            raise UnbalancedError(f"{each.name}: {each.size} bytes on disk, {entry['read']} read")
        return faults

    def _tail(self, each: Input, ranges: Sequence[dict[str, Any]]) -> Tail | None:
        """Where the next run goes on with a capture, if it may grow or has a packet that is not whole."""
        last = ranges[-1]
        if self.final or last["state"] is None:
            return None
        if last["end"] == each.size and each.modified_us < time.time() * 1_000_000 - GROWING_US:
            return None
        return Tail(last["end"], last["state"], last["time"])

    def _plain(self, entry: Entry, each: Input, said: dict[str, Any] | None) -> list[Fault]:
        """Say in a ledger row what was read of an input that is no capture; what is wrong with it."""
        faults: list[Fault]
        if said is None:
            entry["status"] = each.detail or "not read"
            faults = [("unreadable", 0, entry["status"])]
        else:
            entry["status"] = said["status"]
            entry["container"] = said["container"]
            entry["compressed"] = said["compressed"]
            entry["packets"] = said["packets"]
            entry["read"] = entry["overhead"] = said["read"]
            faults = [(code, offset, text) for code, offset, text in said["notes"]]
        entry["errors"] += len(faults)
        entry["notes"] = _notes(faults) or None
        return faults

    def _entry(self, each: Input) -> Entry:
        """A ledger row without what was read."""
        return {
            "file": each.name,
            "number": each.number,
            "run": self.run.name,
            "status": "done",
            "container": "",
            "compressed": False,
            "size": each.size,
            "modified": each.modified_us,
            "digest": each.digest,
            "packets": None,
            "first_time": None,
            "last_time": None,
            "notes": None,
            **dict.fromkeys(COUNTED, 0),
        }

    def _add(self, entry: Entry, number: int, count: Sequence[int], report: Report) -> Entry:
        """Add to a ledger row, and to the report, what became of a file's bytes. Each is in one place."""
        entry = dict(entry)
        name = entry["file"]
        old = self.kept.get(number, {"read": 0, "overhead": 0, "packets": 0, "pending": 0, "errors": 0})
        if count[CARRIED] != old["pending"]:
            raise UnbalancedError(f"{name}: {old['pending']} bytes were pending, {count[CARRIED]} came back")
        into = {
            "decoded": DECODED,
            "quarantined": QUARANTINED,
            "unrecognised": UNRECOGNISED,
            "retransmitted": AGAIN,
        }
        for column, what in into.items():
            entry[column] += count[what]
            setattr(report, column, getattr(report, column) + count[what])
        entry["pending"] = count[PENDING]
        entry["payload"] += count[PAYLOAD]
        entry["overhead"] -= count[PAYLOAD]
        entry["messages"] += count[MESSAGES]
        entry["errors"] += count[ERRORS]
        parts = (*into, "pending")
        if entry["payload"] != sum(entry[column] for column in parts):
            told = ", ".join(f"{column} {entry[column]}" for column in ("payload", *parts))
            raise UnbalancedError(f"{name}: the bytes do not add up: {told}")
        if entry["read"] != entry["overhead"] + entry["payload"] or entry["read"] < 0:
            raise UnbalancedError(f"{name}: read {entry['read']}, payload {entry['payload']}")
        report.read += entry["read"] - old["read"]
        report.overhead += entry["overhead"] - old["overhead"]
        report.payload += count[PAYLOAD]
        report.carried += count[CARRIED]
        report.pending += count[PENDING]
        report.packets += (entry["packets"] or 0) - (old["packets"] or 0)
        report.messages += count[MESSAGES]
        report.errors += entry["errors"] - old["errors"]
        return entry

    def _damage(
        self, faults: Mapping[int, Sequence[Fault]], plain: Set[int], rows: dict[str, int]
    ) -> dict[str, str]:
        """A part of the quarantine with what is wrong with files, and the bytes there of those in `plain`."""
        readers = Readers()
        names = {each.number: each.name for each in self.inputs}
        parts = (f"{self.run.path}/stage", "quarantine")
        writer = RecordWriter(self.run.folder, "quarantine", parts, "files", self.order.jsonl, names)
        for each in self.inputs:
            container = each.detail if each.kind in ("capture", "grown", "changed") else ""
            for fault in faults.get(each.number, ()):
                raw = None
                if each.number in plain:
                    raw = decoding.damaged_bytes(readers, each.root, each.path, fault)
                writer.columns.damage(each.number, container, *fault, raw)
                rows["quarantine"] += 1
        writer.close()
        return {path: staged_target(path, self.run.name) for path, _, _ in writer.files}

    def _empty(self, table: str) -> dict[str, str]:
        """A part without rows, so that a table is there to be read."""
        parts = [f"{self.run.path}/stage", table]
        if table == "messages":
            parts.append("protocol=unknown")
        writer = PartWriter(self.run.folder, table, tuple(parts), "empty", self.order.jsonl)
        writer.close(needed=True)
        return {path: staged_target(path, self.run.name) for path, _, _ in writer.files}

    def _check_writer(self, spark: SparkSession) -> None:
        """Find out whether Spark itself reaches the target, before the work. Raises ValueError."""
        try:
            spark.read.text(below(self.run.folder.place, self.run.path, "run.json")).count()
        except Exception as error:
            place = shown(self.run.folder.place)
            raise ValueError(
                f"--document variant is written by Spark, and it does not reach {place}"
            ) from error

    def _variants(self, spark: SparkSession, moves: dict[str, str]) -> dict[str, str]:
        """Write the staged messages again, each as a VARIANT; what none can hold stays text beside it."""
        from pyspark.sql import functions

        folder = self.run.folder
        stage = f"{self.run.path}/stage/messages/"
        kept = {source: target for source, target in moves.items() if not source.startswith(stage)}
        rows = spark.read.parquet(below(folder.place, self.run.path, "stage", "messages"))
        document = functions.try_parse_json("message")
        text = functions.when(document.isNull(), functions.col("message"))
        rows = rows.withColumn("message_text", text).withColumn("message", document)
        again = f"{self.run.path}/stage/variant"
        writer = rows.write.partitionBy("protocol").option("compression", "zstd")
        writer.parquet(below(folder.place, again))
        for path in folder.walk(again):
            if path.endswith(".parquet"):
                kept[path] = staged_target(path, self.run.name).replace("variant/", "messages/", 1)
        return kept

    def _keep(self, tails: dict[int, Tail], fragments: list[Any]) -> dict[str, str]:
        """A file with what the next run needs besides the streams."""
        path = f"{self.run.path}/stage/_ledger/_pending/more.json"
        self.run.folder.make(f"{self.run.path}/stage/_ledger/_pending")
        self.run.folder.write(plain_json.dumps({"tails": list(tails.items()), "fragments": fragments}), path)
        return {path: staged_target(path, self.run.name)}


def _packets(spark: SparkSession, plan: str, config: Config) -> DataFrame:
    """The rows of chunks.SCHEMA, each bucket in one partition, in order."""
    from wirelens.cli.bulk.source import WirelensDataSource

    spark.dataSource.register(WirelensDataSource)
    reader = spark.read.format("wirelens").option("plan", plan).option("side", config.side)
    reader = reader.option("buckets", str(config.buckets)).option("final", str(int(config.final)))
    reader = reader.option("separate", str(int(config.separate)))
    rows = reader.option("beside", config.beside).load()
    if hasattr(rows, "repartitionById"):
        rows = rows.repartitionById(config.buckets, "bucket")
    else:
        rows = rows.repartition(config.buckets, "bucket")
    return rows.sortWithinPartitions(*chunks.SORT)


@contextmanager
def _shared_folder(spark: SparkSession) -> Iterator[str]:
    """A folder that all tasks reach; "" where they run on other machines.

    It lies among the files that Spark itself has on the disk, which its JVM removes however the driver ends.
    """
    from pyspark import SparkFiles

    from wirelens.cli.bulk.progress import is_remote

    if is_remote(spark) or (spark.sparkContext.master or "").partition("[")[0] != "local":
        yield ""
        return
    place = SparkFiles.getRootDirectory()
    with TemporaryDirectory(prefix="wirelens-", dir=place, ignore_cleanup_errors=True) as folder:
        yield folder


def _parallel(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    from wirelens.cli.bulk.progress import is_remote

    if is_remote(spark):
        return int(spark.conf.get("spark.default.parallelism", "8") or 8)
    return int(spark.sparkContext.defaultParallelism)


def _only_begun(each: Input) -> bool:
    """Whether a file has so little in it yet that the next run had better read it."""
    if each.kind == "capture":
        return each.first_us == NO_TIME - 1 and each.size < HEAD_BYTES
    return each.kind == "payload" and not each.size


def _place(of: dict[str, Any]) -> int:
    return int(of["place"])


def _some(value: int | None) -> list[int]:
    return [] if value is None else [value]


def _notes(faults: Sequence[Fault]) -> list[dict[str, Any]]:
    return [{"code": code, "offset": offset, "text": text} for code, offset, text in faults]


__all__ = ["Job", "Order", "Report", "UnbalancedError"]
