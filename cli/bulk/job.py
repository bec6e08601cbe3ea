"""A bulk run: plan, read, decode, check the sums, commit.

Spark reads the ranges of the plan through the data source, brings the packets of each flow to one task, in
order, and that task decodes them and writes part files. The driver sees only accounts: it adds them up, and
either everything becomes the folder's or nothing does (see ledger.py).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from wirelens.cli.bulk import chunks, decoding
from wirelens.cli.bulk.decoding import (
    DECODED,
    DELIVERED,
    ERRORS,
    MESSAGES,
    PAYLOAD,
    PENDING,
    QUARANTINED,
    UNRECOGNISED,
    Config,
)
from wirelens.cli.bulk.files import Found, below, find
from wirelens.cli.bulk.ledger import Entry, Run, staged_target
from wirelens.cli.bulk.plan import NO_TIME, Input, Range, cut, look, pack
from wirelens.cli.bulk.reading import side_place
from wirelens.cli.bulk.source import WirelensDataSource
from wirelens.cli.bulk.table import PartWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET_BYTES = 1 << 26
"""A decoding task gets about so many bytes of packets."""


class UnbalancedError(Exception):
    """The sums of a run do not agree; nothing was written."""


@dataclass
class Order:
    """What a run is asked for."""

    sources: Sequence[str]
    target: str
    mode: str = "errorifexists"
    resume: bool = False
    protocol: str = ""
    jsonl: bool = False
    quarantine: str = "head"
    document: str = "json"


@dataclass
class Report:
    """What a run came to."""

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
    pending: int = 0
    packets: int = 0
    flows: int = 0
    messages: int = 0
    errors: int = 0
    seconds: float = 0.0
    protocols: dict[str, tuple[int, int]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    slow: list[tuple[int, str, str]] = field(default_factory=list)
    damaged: list[tuple[str, str, str]] = field(default_factory=list)


class Job:
    """A run in steps; `say` is told what is going on."""

    def __init__(self, order: Order, say: Callable[[str], None]) -> None:
        self.order = order
        self.say = say
        self.run = Run(order.target)
        self.inputs: list[Input] = []
        self.ranges: list[Range] = []
        self.total = 0

    def prepare(self) -> None:
        """Look at the sources and the target. Raises NotAllowedError and OSError before anything starts."""
        order = self.order
        found: dict[str, Found] = {}
        for source in order.sources:
            for each in find(source):
                found[each.name] = each
        self.state = self.run.begin(order.mode, order.resume)
        known: dict[str, Entry] = {}
        if order.mode == "append" or order.resume:
            known = {entry["file"]: entry for entry in self.state.entries}
        self.kept = list(known.values())
        fresh = [each for each in found.values() if not order.resume or not _same(known.get(each.name), each)]
        self.skipped = len(found) - len(fresh)
        first = max((entry["number"] for entry in self.kept), default=-1) + 1
        self.inputs = look(fresh, first)
        self.total = sum(each.size for each in self.inputs)

    def work(self, spark: SparkSession, parallel: int) -> Report:
        """Convert. Raises UnbalancedError, and what Spark raises."""
        started = time.monotonic()
        order = self.order
        self.ranges = cut(self.inputs, parallel)
        tasks = pack(self.ranges)
        run_place = below(order.target, self.run.path)
        self.run.folder.write(json.dumps(tasks).encode(), self.run.path, "plan.json")
        buckets = max(1, min(4096, sum(each.length for each in self.ranges) // BUCKET_BYTES + 1))
        if buckets > 1:
            buckets = max(buckets, 2 * parallel)
        config = Config(
            order.target,
            self.run.path,
            side_place(run_place),
            buckets,
            order.protocol,
            order.jsonl,
            order.quarantine,
            tuple((each.number, each.name) for each in self.inputs),
        )
        spark.dataSource.register(WirelensDataSource)
        rows = (
            spark.read.format("wirelens")
            .option("plan", below(run_place, "plan.json"))
            .option("side", config.side)
            .option("buckets", str(buckets))
            .load()
        )
        if hasattr(rows, "repartitionById"):
            rows = rows.repartitionById(buckets, "bucket")
        else:
            rows = rows.repartition(buckets, "bucket")
        rows = rows.sortWithinPartitions(*chunks.SORT)
        results = rows.mapInArrow(partial(decoding.decode_rows, config), decoding.RESULT).collect()
        accounts = [json.loads(row.result) for row in results]
        report, entries, moves = self._settle(accounts, buckets)
        removes = []
        if order.mode == "overwrite" and not order.resume:
            removes = [path for table in ("messages", "quarantine") for path in self.run.folder.walk(table)]
        self.run.commit([*self.kept, *entries], moves, removes)
        report.seconds = time.monotonic() - started
        return report

    def _settle(
        self, accounts: Sequence[dict[str, Any]], buckets: int
    ) -> tuple[Report, list[Entry], dict[str, str]]:
        """Add up the accounts, check them, and make the ledger's rows."""
        if sorted(account["bucket"] for account in accounts) != list(range(buckets)):
            raise UnbalancedError("a bucket's account came twice, or not at all")
        counts: dict[int, list[int]] = {}
        ranges: dict[int, list[dict[str, Any]]] = {}
        said: dict[int, dict[str, Any]] = {}
        report = Report(skipped=self.skipped)
        moves: dict[str, str] = {}
        rows = {"messages": 0, "quarantine": 0}
        for account in accounts:
            for file, more in account["files"].items():
                have = counts.setdefault(int(file), [0] * decoding.COUNTS)
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
            report.slow.extend(tuple(each) for each in account["slow"])
            report.flows += account["flows"]
            for table, _, path, amount, _ in account["parts"]:
                moves[path] = staged_target(path, self.run.name)
                rows[table] += amount
        report.slow = sorted(report.slow, reverse=True)[: decoding.SLOWEST]
        expected = {each.place for each in self.ranges if each.kind == "capture"}
        if sorted(each["place"] for of in ranges.values() for each in of) != sorted(expected):
            raise UnbalancedError("a range's account came twice, or not at all")
        entries = []
        for each in self.inputs:
            count = counts.get(each.number, [0] * decoding.COUNTS)
            if each.kind == "capture":
                entry = self._captured(each, sorted(ranges.get(each.number, []), key=_place), count)
            else:
                entry = self._plain(each, said.get(each.number), count)
            self._check(each, entry, count)
            entries.append(entry)
            for code, _, text in entry.pop("faults"):
                report.codes[code] = report.codes.get(code, 0) + 1
                report.damaged.append((each.name, code, text))
            report.files += 1
            for name in (
                "size", "read", "overhead", "payload", "decoded", "quarantined", "unrecognised",
                "retransmitted", "pending", "packets", "messages", "errors",
            ):  # fmt: skip
                setattr(report, name, getattr(report, name) + (entry[name] or 0))
        if rows["messages"] != report.messages:
            raise UnbalancedError(f"{report.messages} messages were decoded, {rows['messages']} rows written")
        for table, amount in rows.items():
            if not amount:
                moves |= self._empty(table)
        return report, entries, moves

    def _captured(self, each: Input, ranges: Sequence[dict[str, Any]], count: Sequence[int]) -> Entry:
        notes = [note for of in ranges for note in of["notes"]]
        read = sum(of["read"] for of in ranges)
        raw = sum(of["raw"] for of in ranges)
        if raw != count[decoding.RAW]:
            raise UnbalancedError(
                f"{each.name}: {raw} bytes of segments were read, {count[decoding.RAW]} came to be decoded"
            )
        times = [of["first_us"] for of in ranges if of["first_us"] >= 0]
        lasts = [of["last_us"] for of in ranges if of["last_us"] >= 0]
        unreadable = [text for code, _, text in notes if code == "unreadable"]
        entry = self._entry(each, count)
        entry |= {
            "status": unreadable[0] if unreadable else "done",
            "container": each.detail,
            "compressed": any(of["compressed"] for of in ranges),
            "read": read,
            "overhead": read - count[PAYLOAD],
            "packets": sum(of["packets"] for of in ranges),
            "first_time": min(times, default=None),
            "last_time": max(lasts, default=None),
            "errors": count[ERRORS] + sum(of["damages"] for of in ranges),
            "notes": _notes(notes),
            "faults": notes,
        }
        return entry

    def _plain(self, each: Input, said: dict[str, Any] | None, count: Sequence[int]) -> Entry:
        entry = self._entry(each, count)
        notes = []
        status = "done"
        if said is None:
            status = each.detail or "not read"
            notes = [("unreadable", 0, status)]
        elif said["status"] != "done":
            status = said["status"]
            notes = [("unreadable", said["read"], status)]
        else:
            notes = said["notes"]
        entry |= {
            "status": status,
            "container": said["container"] if said else "",
            "compressed": said["compressed"] if said else False,
            "read": said["read"] if said else 0,
            "overhead": 0,
            "packets": None,
            "first_time": None,
            "last_time": None,
            "errors": count[ERRORS] + len(notes),
            "notes": _notes(notes),
            "faults": notes,
        }
        return entry

    def _entry(self, each: Input, count: Sequence[int]) -> Entry:
        return {
            "file": each.name,
            "number": each.number,
            "run": self.run.name,
            "size": each.size,
            "modified": each.modified_us,
            "payload": count[PAYLOAD],
            "decoded": count[DECODED],
            "quarantined": count[QUARANTINED],
            "unrecognised": count[UNRECOGNISED],
            "retransmitted": count[PAYLOAD] - count[DELIVERED],
            "pending": count[PENDING],
            "messages": count[MESSAGES],
        }

    def _check(self, each: Input, entry: Entry, count: Sequence[int]) -> None:
        """Each byte of a file is in one place."""
        parts = ("decoded", "quarantined", "unrecognised", "retransmitted", "pending")
        if entry["payload"] != sum(entry[name] for name in parts):
            told = ", ".join(f"{name} {entry[name]}" for name in ("payload", *parts))
            raise UnbalancedError(f"{each.name}: the bytes do not add up: {told}")
        if entry["read"] != entry["overhead"] + entry["payload"]:
            raise UnbalancedError(f"{each.name}: read {entry['read']}, payload {entry['payload']}")
        if (
            entry["container"]
            and entry["status"] == "done"
            and not entry["compressed"]
            and each.kind == "capture"
        ):
            if entry["read"] != each.size:
                raise UnbalancedError(f"{each.name}: {each.size} bytes on disk, {entry['read']} read")

    def _empty(self, table: str) -> dict[str, str]:
        """A part without rows, so that a table is there to be read."""
        parts = [f"{self.run.path}/stage", table]
        if table == "messages":
            parts.append("protocol=unknown")
        writer = PartWriter(self.run.folder, table, tuple(parts), "empty", self.order.jsonl)
        writer.close(needed=True)
        return {path: staged_target(path, self.run.name) for path, _, _ in writer.files}


def _place(of: dict[str, Any]) -> int:
    return int(of["place"])


def _notes(faults: Sequence[tuple[str, int, str]]) -> list[dict[str, Any]] | None:
    return [{"code": code, "offset": offset, "text": text} for code, offset, text in faults] or None


def _same(entry: Entry | None, each: Found) -> bool:
    """Whether a file is the one that an earlier run read."""
    if entry is None or entry["status"] != "done":
        return False
    return bool(entry["size"] == each.size and entry["modified"] == each.modified_us)


__all__ = ["NO_TIME", "Job", "Order", "Report", "UnbalancedError"]
