"""From the accounts of all tasks to the rows of the ledger: added up, and checked byte by byte.

Every sum is checked before anything is committed; a run whose sums do not agree fails.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from wirelens.cli.bulk.accounts import BucketAccount, InputAccount, Problem, RangeAccount
from wirelens.cli.bulk.ledger import LedgerRow
from wirelens.cli.bulk.plan import Input, Range, Tail
from wirelens.cli.bulk.report import SUMS, Report
from wirelens.cli.points import contradiction
from wirelens.cli.tables.columns import TABLES
from wirelens.cli.tables.counts import (
    COUNTS,
    DECODED,
    ERRORS,
    FILTERED,
    LATE,
    MESSAGES,
    PAYLOAD,
    PENDING,
    QUARANTINED,
    RAW,
    RESUMED,
    RETRANSMITTED,
    SLOWEST,
    UNRECOGNISED,
)

GROWING_US = 24 * 3600 * 1_000_000  # a capture modified this recently may grow; where reading stopped is kept


class UnbalancedError(Exception):
    """The sums of a run do not agree; nothing was written."""


class Plan(NamedTuple):
    """What a run set out to do, as far as its accounts have to match it."""

    run: str  # its name
    inputs: Sequence[Input]
    ranges: Sequence[Range]
    buckets: int
    ledger: Mapping[int, LedgerRow]  # the rows that are there, by file number
    final: bool
    resume: bool
    skipped: int


@dataclass
class Settlement:
    """The result of a run's accounts.

    ledger: all rows of the new ledger, by file number. written: rows of each table. problems: of files, by
    their numbers. uncompressed: captures whose damaged bytes can be shown. tails, fragments: what the next
    run continues from.
    """

    report: Report
    ledger: dict[int, LedgerRow]
    written: dict[str, int]
    problems: dict[int, list[Problem]]
    uncompressed: Set[int]
    tails: dict[int, Tail]
    fragments: list[Any]


def settle(plan: Plan, accounts: Sequence[BucketAccount], counts: Mapping[int, Sequence[int]]) -> Settlement:
    """Add up the accounts and check them against the plan; `counts` are those of files, from all buckets.

    Raises UnbalancedError.
    """
    if sorted(account.bucket for account in accounts) != list(range(plan.buckets)):
        raise UnbalancedError("a bucket's account was given twice, or not at all")
    report = Report(skipped=plan.skipped)
    settlement = Settlement(
        report,
        ledger=dict(plan.ledger),
        written=dict.fromkeys((*TABLES, "pending"), 0),
        problems={},
        uncompressed=set(),
        tails={},
        fragments=[],
    )
    _add_accounts(settlement, accounts)
    ranges = _ranges_of_files(plan, accounts)
    inputs = {account.file: account for bucket in accounts for account in bucket.inputs}
    for item in plan.inputs:
        _settle_input(plan, settlement, item, ranges.get(item.number, []), inputs, counts.get(item.number))
    ledger = settlement.ledger
    for number, problems in settlement.problems.items():
        for problem in problems:
            report.codes[problem.code] = report.codes.get(problem.code, 0) + 1
            report.problems.append((ledger[number].file, problem.code, problem.text))
    for number, account in inputs.items():
        if account.refused:
            report.problems.append((ledger[number].file, "input-refused", account.refused))
    changed = {item.number for item in plan.inputs if item.kind != "changed"} | set(counts)
    for number in changed:
        ledger[number] = _add_counts(plan, ledger[number], counts.get(number, [0] * COUNTS), report)
    captures = {item.number for item in plan.inputs if item.kind in ("capture", "grown")}
    report.repeated = sum(0 < ledger[number].payload == ledger[number].retransmitted for number in captures)
    settlement.uncompressed = {number for number in captures if not ledger[number].compressed}
    for number, row in plan.ledger.items():
        if row.pending and plan.resume and number not in counts:
            raise UnbalancedError(f"{row.file}: {row.pending} pending bytes are lost")
    written = settlement.written["messages"]
    if written != report.messages:
        raise UnbalancedError(f"{report.messages} messages were decoded, {written} rows written")
    return settlement


def add_contradictions(ledger: dict[int, LedgerRow], pairs: Set[tuple[int, int]]) -> None:
    """Note in the ledger which files of different folders contradict each other."""
    others: dict[int, set[str]] = {}
    for first, second in pairs:
        if contradiction([(ledger[first].file, ledger[second].file)]):
            others.setdefault(first, set()).add(ledger[second].file)
            others.setdefault(second, set()).add(ledger[first].file)
    for number, names in others.items():
        row = ledger[number]
        first_name = min(names)
        text = f"different bytes at the same place of a stream than {first_name}"
        if len(names) > 1:
            text += f" and {len(names) - 1:,} more"
        note = Problem("overlap-conflict", 0, f"{text}; captured at different points? see --point")
        ledger[number] = replace(row, notes=[*(row.notes or ()), *_notes([note])])


def _add_accounts(settlement: Settlement, accounts: Sequence[BucketAccount]) -> None:
    """Add up what does not depend on the plan."""
    report = settlement.report
    for account in accounts:
        for protocol, (messages, size) in account.protocols.items():
            before = report.protocols.get(protocol, (0, 0))
            report.protocols[protocol] = (before[0] + messages, before[1] + size)
        for code, amount in account.errors.items():
            report.codes[code] = report.codes.get(code, 0) + amount
        report.slowest += account.slowest
        for protocol, name, (calls, total_us, longest_us) in account.methods:
            method = report.methods.setdefault((protocol, name), [0, 0, 0])
            method[0] += calls
            method[1] += total_us
            method[2] = max(method[2], longest_us)
        report.flows += account.flows
        report.decoding_seconds += account.seconds
        left_out = [account.ignored, *(one.ignored for one in account.ranges)]
        left_out += [one.ignored for one in account.inputs]
        for ignored in left_out:
            for reason, number in ignored.items():
                report.ignored[reason] = report.ignored.get(reason, 0) + number
        settlement.fragments += account.fragments
        for part in account.parts:
            if part.table in settlement.written:
                settlement.written[part.table] += part.rows
    report.slowest = sorted(report.slowest, reverse=True)[:SLOWEST]


def _ranges_of_files(plan: Plan, accounts: Sequence[BucketAccount]) -> dict[int, list[RangeAccount]]:
    """The accounts of ranges by file, in the order of the file. Raises UnbalancedError."""
    ranges = sorted((item for account in accounts for item in account.ranges), key=_place)
    expected = sorted(item.place for item in plan.ranges if item.kind == "capture")
    if [item.place for item in ranges] != expected:
        raise UnbalancedError("a range's account was given twice, or not at all")
    by_file: dict[int, list[RangeAccount]] = {}
    for item in ranges:
        by_file.setdefault(item.file, []).append(item)
    return by_file


def _settle_input(
    plan: Plan,
    settlement: Settlement,
    item: Input,
    ranges: Sequence[RangeAccount],
    inputs: Mapping[int, InputAccount],
    counts: Sequence[int] | None,
) -> None:
    """Write into an input's ledger row what was read of it."""
    number = item.number
    if item.kind == "changed":
        why = "it has grown or was modified since it was converted, and reading cannot continue"
        settlement.problems[number] = [Problem("changed", 0, why)]
        settlement.report.errors += 1
        return
    old = plan.ledger.get(number) if item.kind == "grown" else None
    row = replace(old) if old is not None else LedgerRow(item.name, number, plan.run)
    row.size, row.modified, row.digest = item.size, item.modified_us, item.digest
    if item.kind in ("capture", "grown"):
        settlement.problems[number] = _settle_capture(plan, item, row, ranges, counts)
        tail = _tail(plan, item, ranges)
        if tail is not None:
            settlement.tails[number] = tail
    else:
        settlement.problems[number] = _settle_whole_input(row, item, inputs.get(number))
    settlement.ledger[number] = row
    settlement.report.files += 1
    settlement.report.size += item.size


def _settle_capture(
    plan: Plan, item: Input, row: LedgerRow, ranges: Sequence[RangeAccount], counts: Sequence[int] | None
) -> list[Problem]:
    """Write into a ledger row what was read of a capture; its problems. Raises UnbalancedError."""
    problems = [problem for account in ranges for problem in account.problems]
    raw = sum(account.raw for account in ranges)
    received = 0 if counts is None else counts[RAW]
    if raw != received:
        raise UnbalancedError(
            f"{item.name}: {raw} bytes of segments were read, {received} arrived to be decoded"
        )
    read = sum(account.read for account in ranges)
    # Captures without times have zeros.
    firsts = [account.first_us for account in ranges if account.first_us > 0]
    lasts = [account.last_us for account in ranges if account.last_us > 0]
    unreadable = [problem.text for problem in problems if problem.code == "unreadable"]
    compressed = any(account.compressed for account in ranges)
    row.status = unreadable[0] if unreadable else "done"
    row.container = row.container or item.detail
    row.compressed = row.compressed or compressed
    row.read += read
    row.overhead += read
    row.packets = (row.packets or 0) + sum(account.packets for account in ranges)
    row.flows = row.flows or 0
    row.first_time = min([*firsts, *_known(row.first_time)], default=None)
    row.last_time = max([*lasts, *_known(row.last_time)], default=None)
    row.errors += sum(account.damages for account in ranges)
    row.notes = [*(row.notes or ()), *_notes(problems)] or None
    if not unreadable and not compressed and plan.final and row.read != item.size:
        raise UnbalancedError(f"{item.name}: {item.size} bytes on disk, {row.read} read")
    return problems


def _settle_whole_input(row: LedgerRow, item: Input, account: InputAccount | None) -> list[Problem]:
    """Write into a ledger row what was read of an input that is not a capture; its problems."""
    if account is None:
        row.status = item.detail or "not read"
        problems = [Problem("unreadable", 0, row.status)]
    else:
        row.status = account.status
        row.container = account.container
        row.compressed = account.compressed
        row.packets = account.packets
        row.read = row.overhead = account.read
        problems = account.problems
    row.errors += len(problems)
    row.notes = _notes(problems) or None
    return problems


def _tail(plan: Plan, item: Input, ranges: Sequence[RangeAccount]) -> Tail | None:
    """Where the next run continues a capture, if it may grow or ends in an incomplete packet."""
    last = ranges[-1]
    if plan.final or last.state is None:
        return None
    if last.end == item.size and item.modified_us < time.time() * 1_000_000 - GROWING_US:
        return None
    return Tail(last.end, last.state, last.time)


def _add_counts(plan: Plan, row: LedgerRow, counts: Sequence[int], report: Report) -> LedgerRow:
    """A file's ledger row with its counts added, which are added to the report too. Raises UnbalancedError.

    Each byte is in exactly one place.
    """
    row = replace(row)
    old = plan.ledger.get(row.number, LedgerRow(row.file, row.number, ""))
    if counts[RESUMED] != old.pending:
        raise UnbalancedError(f"{row.file}: {old.pending} bytes were pending, {counts[RESUMED]} resumed")
    row.decoded += counts[DECODED]
    row.quarantined += counts[QUARANTINED]
    row.unrecognised += counts[UNRECOGNISED]
    row.retransmitted += counts[RETRANSMITTED]
    row.late += counts[LATE]
    row.filtered += counts[FILTERED]
    row.pending = counts[PENDING]
    row.payload += counts[PAYLOAD]
    row.overhead -= counts[PAYLOAD]
    row.messages += counts[MESSAGES]
    row.errors += counts[ERRORS]
    if row.payload != sum(getattr(row, column) for column in SUMS):
        sums = ", ".join(f"{column} {getattr(row, column)}" for column in ("payload", *SUMS))
        raise UnbalancedError(f"{row.file}: the bytes do not add up: {sums}")
    if row.read != row.overhead + row.payload or row.read < 0:
        raise UnbalancedError(f"{row.file}: read {row.read}, payload {row.payload}")
    report.read += row.read - old.read
    report.overhead += row.overhead - old.overhead
    report.payload += counts[PAYLOAD]
    report.decoded += counts[DECODED]
    report.quarantined += counts[QUARANTINED]
    report.unrecognised += counts[UNRECOGNISED]
    report.retransmitted += counts[RETRANSMITTED]
    report.late += counts[LATE]
    report.filtered += counts[FILTERED]
    report.resumed += counts[RESUMED]
    report.pending += counts[PENDING]
    report.packets += (row.packets or 0) - (old.packets or 0)
    report.messages += counts[MESSAGES]
    report.errors += row.errors - old.errors
    return row


def _place(account: RangeAccount) -> int:
    return account.place


def _known(time_us: int | None) -> list[int]:
    return [] if time_us is None else [time_us]


def _notes(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    return [problem._asdict() for problem in problems]
