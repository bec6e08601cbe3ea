"""The result of a run: its figures, as text for people, as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wirelens.cli.bulk.files import shown
from wirelens.cli.bulk.progress import size_text, time_text
from wirelens.cli.tables.counts import SLOWEST, slowest_methods
from wirelens.cli.unread import unread_packets
from wirelens.codecs.words import clean

SUMS = ("decoded", "quarantined", "unrecognised", "retransmitted", "late", "filtered", "pending")
SELDOM = ("late", "filtered", "pending")  # those of SUMS that are shown only if there are some
PROBLEMS_SHOWN = 10
PROBLEMS_KEPT = 10_000  # of several runs
SLOWEST_SHOWN = 5
METHODS_SHOWN = 10
METHODS_JSON = 100  # in JSON


@dataclass
class Report:
    """The figures of a run. Sizes in bytes; `protocols` are messages and bytes."""

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
    late: int = 0  # came after their stream had moved on
    filtered: int = 0  # of messages that do not match --where
    resumed: int = 0  # left pending by an earlier run
    pending: int = 0
    packets: int = 0
    flows: int = 0
    messages: int = 0
    errors: int = 0
    repeated: int = 0  # captures whose bytes are all in others too
    contradiction: str = ""  # which files do not fit together
    ignored: dict[str, int] = field(default_factory=dict)  # packets without a segment, by reason
    seconds: float = 0.0
    decoding_seconds: float = 0.0  # processor time of the decoding tasks
    protocols: dict[str, tuple[int, int]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    slowest: list[tuple[int, str, str]] = field(default_factory=list)  # latency (µs), protocol, summary
    methods: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # calls, their µs, the longest
    problems: list[tuple[str, str, str]] = field(default_factory=list)  # file, code, text


def added(first: Report, then: Report) -> Report:
    """The report of two runs, one after the other."""
    numbers = (
        "files size read overhead payload decoded quarantined unrecognised retransmitted late filtered "
        "packets flows messages errors repeated seconds decoding_seconds"
    )
    methods = {key: list(values) for key, values in first.methods.items()}
    for key, (calls, total_us, longest_us) in then.methods.items():
        before = methods.get(key, [0, 0, 0])
        methods[key] = [before[0] + calls, before[1] + total_us, max(before[2], longest_us)]
    protocols = dict(first.protocols)
    for name, (messages, size) in then.protocols.items():
        one = protocols.get(name, (0, 0))
        protocols[name] = one[0] + messages, one[1] + size
    return replace(
        first,
        **{name: getattr(first, name) + getattr(then, name) for name in numbers.split()},
        pending=then.pending,
        contradiction=first.contradiction or then.contradiction,
        ignored=dict(Counter(first.ignored) + Counter(then.ignored)),
        codes=dict(Counter(first.codes) + Counter(then.codes)),
        protocols=protocols,
        slowest=sorted(first.slowest + then.slowest, reverse=True)[:SLOWEST],
        methods=methods,
        problems=(first.problems + then.problems)[:PROBLEMS_KEPT],
    )


def text(report: Report, target: str) -> str:
    """The report as lines."""
    return "\n".join([clean(line) for line in _lines(report, shown(target))])


def _lines(report: Report, target: str) -> Iterator[str]:
    skipped = f", {report.skipped:,} done before" if report.skipped else ""
    yield f"{target}: {report.messages:,} messages of {report.files:,} files{skipped}"
    yield ""
    rows = [
        ("on disk", report.size),
        ("read", report.read),
        ("overhead", report.overhead),
        ("payload", report.payload),
    ]
    sums = [(name, getattr(report, name)) for name in SUMS]
    rows += [(f"  {name}", size) for name, size in sums if size or name not in SELDOM]
    yield from _table(("bytes", ""), [(name, f"{size:,}") for name, size in rows])
    if report.repeated:
        captures = "capture has only bytes" if report.repeated == 1 else "captures have only bytes"
        yield f"{report.repeated:,} {captures} that others have too (--separate decodes each file by itself)"
    if report.contradiction:
        yield report.contradiction
    unread = unread_packets(report.ignored)
    if unread:
        yield f"not read: {unread}"
    if report.protocols:
        yield ""
        protocols = sorted(report.protocols.items(), key=lambda item: (-item[1][0], item[0]))
        yield from _table(
            ("protocol", "messages", "bytes"),
            [(name, f"{n:,}", f"{size:,}") for name, (n, size) in protocols],
        )
    if report.codes:
        yield ""
        codes = sorted(report.codes.items(), key=lambda item: (-item[1], item[0]))
        yield from _table(("error", "times"), [(code, f"{n:,}") for code, n in codes])
    for name, code, problem in report.problems[:PROBLEMS_SHOWN]:
        yield f"  {name}: {code}: {problem}"
    if len(report.problems) > PROBLEMS_SHOWN:
        yield f"  and {len(report.problems) - PROBLEMS_SHOWN:,} more, in the quarantine"
    if report.slowest:
        yield ""
        yield "slowest replies"
        for latency_us, protocol, summary in report.slowest[:SLOWEST_SHOWN]:
            yield f"  {latency_us / 1000:,.1f} ms  {protocol}  {summary}"
    if report.methods:
        yield ""
        lines = [
            (
                name,
                protocol,
                f"{calls:,}",
                f"{total_us / calls / 1000:,.1f} ms",
                f"{longest_us / 1000:,.1f} ms",
            )
            for (protocol, name), (calls, total_us, longest_us) in slowest_methods(
                report.methods, METHODS_SHOWN
            )
        ]
        yield from _table(("slowest methods", "", "calls", "mean", "longest"), lines)
    yield ""
    seconds = max(report.seconds, 0.001)
    rate = f"{report.messages / seconds:,.0f} messages and {size_text(report.read / seconds)} a second"
    yield f"{report.packets:,} packets, {report.flows:,} flows in {time_text(report.seconds)}: {rate}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns, the first aligned left, all others right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        yield "  ".join(cells).rstrip()


def as_json(report: Report, target: str) -> dict[str, Any]:
    """The report for programs; sizes in bytes, times in microseconds except `seconds`."""
    names = (
        "files",
        "skipped",
        "size",
        "read",
        "overhead",
        "payload",
        *SUMS,
        "packets",
        "flows",
        "messages",
        "errors",
    )
    seconds = max(report.seconds, 0.001)
    return {
        "target": shown(target),
        **{name: getattr(report, name) for name in names},
        "repeated_files": report.repeated,
        "contradiction": report.contradiction or None,
        "not_read": unread_packets(report.ignored) or None,
        "seconds": round(report.seconds, 3),
        "messages_per_second": round(report.messages / seconds, 1),
        "bytes_per_second": round(report.read / seconds, 1),
        "protocols": {name: {"messages": n, "bytes": size} for name, (n, size) in report.protocols.items()},
        "error_codes": report.codes,
        "damaged_files": [
            {"file": name, "code": code, "text": problem} for name, code, problem in report.problems
        ],
        "slowest": [
            {"latency_us": latency_us, "protocol": protocol, "summary": summary}
            for latency_us, protocol, summary in report.slowest
        ],
        "slowest_methods": [
            {
                "protocol": protocol,
                "method": name,
                "calls": calls,
                "mean_us": round(total_us / calls),
                "longest_us": longest_us,
            }
            for (protocol, name), (calls, total_us, longest_us) in slowest_methods(
                report.methods, METHODS_JSON
            )
        ],
    }


def failure_json(text: str, target: str) -> dict[str, Any]:
    """The report, for programs, of a run that converted nothing."""
    return {"target": shown(target), "error": text, "files": 0, "messages": 0}
