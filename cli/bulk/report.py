"""What a run came to: as text for people, as JSON for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from wirelens.cli.bulk.files import shown
from wirelens.cli.bulk.job import Report
from wirelens.cli.bulk.progress import size_text, time_text

SUMS = ("decoded", "quarantined", "unrecognised", "retransmitted", "pending")
DAMAGED_SHOWN = 10
SLOW_SHOWN = 5


def text(report: Report, target: str) -> str:
    """The report as lines."""
    return "\n".join(_lines(report, shown(target)))


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
    rows += [(f"  {name}", getattr(report, name)) for name in SUMS if name != "pending" or report.pending]
    yield from _table(("bytes", ""), [(name, f"{size:,}") for name, size in rows])
    if report.repeated:
        have = "capture has only bytes" if report.repeated == 1 else "captures have only bytes"
        yield f"{report.repeated:,} {have} that others have too (--separate keeps each file to itself)"
    if report.protocols:
        yield ""
        rows_of = sorted(report.protocols.items(), key=lambda item: (-item[1][0], item[0]))
        yield from _table(
            ("protocol", "messages", "bytes"), [(name, f"{n:,}", f"{size:,}") for name, (n, size) in rows_of]
        )
    if report.codes:
        yield ""
        codes = sorted(report.codes.items(), key=lambda item: (-item[1], item[0]))
        yield from _table(("error", "times"), [(code, f"{n:,}") for code, n in codes])
    for name, code, said in report.damaged[:DAMAGED_SHOWN]:
        yield f"  {name}: {code}: {said}"
    if len(report.damaged) > DAMAGED_SHOWN:
        yield f"  and {len(report.damaged) - DAMAGED_SHOWN:,} more, in the quarantine"
    if report.slow:
        yield ""
        yield "slowest replies"
        for latency, protocol, said in report.slow[:SLOW_SHOWN]:
            yield f"  {latency / 1000:,.1f} ms  {protocol}  {said}"
    yield ""
    seconds = max(report.seconds, 0.001)
    rate = f"{report.messages / seconds:,.0f} messages and {size_text(report.read / seconds)} a second"
    yield f"{report.packets:,} packets, {report.flows:,} flows in {time_text(report.seconds)}: {rate}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns, the first to the left, all others to the right."""
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    for row in (head, *rows):
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        yield "  ".join(cells).rstrip()


def as_json(report: Report, target: str) -> dict[str, Any]:
    """The report for programs; sizes in bytes, times in microseconds but `seconds`."""
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
        "seconds": round(report.seconds, 3),
        "messages_per_second": round(report.messages / seconds, 1),
        "bytes_per_second": round(report.read / seconds, 1),
        "protocols": {name: {"messages": n, "bytes": size} for name, (n, size) in report.protocols.items()},
        "error_codes": report.codes,
        "damaged_files": [{"file": name, "code": code, "text": said} for name, code, said in report.damaged],
        "slowest": [
            {"latency_us": us, "protocol": protocol, "summary": said} for us, protocol, said in report.slow
        ],
    }
