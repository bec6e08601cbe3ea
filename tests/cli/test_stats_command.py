"""`wirelens stats` as it is run: groups, formats, sorting, widths, tables of a live pipe, sizes of fields."""

from __future__ import annotations

import csv
import io
import json
import signal
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commands import process

import wirelens

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import planted

if TYPE_CHECKING:
    from commands import Run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of 500 calls of all fates."""
    data, _ = planted.planted(500, 11, each=12, connections=5)
    path = tmp_path_factory.mktemp("stats") / "app.pcap"
    path.write_bytes(data)
    return path


def by_hand(path: Path, by: list[str], run: Run) -> dict[tuple[str, ...], dict[str, Any]]:
    """The rows of stats, made from those of calls."""
    done = run("calls", "--format", "jsonl", str(path))
    groups: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for line in done.stdout.splitlines():
        row = json.loads(line)
        row["minute"] = row["sent"][:16] + "Z"
        groups[tuple(row.get(name, "") for name in by)].append(row)
    found = {}
    for key, calls in groups.items():
        latencies = sorted(row["latency"] for row in calls if "latency" in row)
        wanted: dict[str, Any] = {name: value for name, value in zip(by, key, strict=True) if value}
        wanted["calls"] = len(calls)
        for name in ("ok", "error", "unanswered", "one-way", "cancelled"):
            wanted[name.replace("-", "_")] = sum(row["outcome"] == name for row in calls)
        wanted["late"] = sum(row.get("late", False) for row in calls)
        for name in ("request_bytes", "response_bytes", "resent_bytes"):
            wanted[name] = sum(row.get(name, 0) for row in calls)
        if latencies:
            for percent in (50, 90, 95, 99):
                wanted[f"p{percent}"] = latencies[max(1, -(-percent * len(latencies) // 100)) - 1]
            wanted["max"] = latencies[-1]
            wanted["mean"] = pytest.approx(sum(latencies) / len(latencies), rel=1e-12)
        found[key] = wanted
    return found


@pytest.mark.parametrize(
    "by",
    [
        [],
        ["service"],
        ["method", "outcome"],
        ["client"],
        ["server", "protocol"],
        ["exception"],
        ["minute"],
    ],
)
def test_rows_agree_with_those_of_calls(run: Run, made: Path, by: list[str]) -> None:
    words = ["--by", ",".join(by)] if by else []
    done = run("stats", *words, "--format", "json", str(made))
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    names = by or ["service", "method"]
    wanted = by_hand(made, names, run)
    assert {tuple(row.get(name, "") for name in names): row for row in rows} == wanted
    assert [row["calls"] for row in rows] == sorted([row["calls"] for row in rows], reverse=True)
    repeated = [word for name in by for word in ("--by", name)]
    assert run("stats", *repeated, "--format", "json", str(made)).stdout == done.stdout


def test_csv_has_the_same_values(run: Run, made: Path) -> None:
    as_json = json.loads(run("stats", "--by", "outcome", "--format", "json", str(made)).stdout)
    done = run("stats", "--by", "outcome", "--format", "csv", str(made))
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(lines[0]) == [
        "outcome",
        *["calls", "ok", "error", "unanswered", "late", "one_way", "cancelled"],
        *["p50", "p90", "p95", "p99", "max", "mean"],
        *["request_bytes", "response_bytes", "resent_bytes"],
    ]
    for line, row in zip(lines, as_json, strict=True):
        assert line == {name: str(row.get(name, "")) for name in line}


@pytest.mark.parametrize("sort", ["calls", "error", "late", "p99", "max", "mean", "request_bytes", "name"])
def test_sort(run: Run, made: Path, sort: str) -> None:
    rows = json.loads(
        run("stats", "--by", "method,outcome", "--sort", sort, "--format", "json", str(made)).stdout
    )
    if sort == "name":
        values: list[Any] = [(row["method"], row["outcome"]) for row in rows]
        assert values == sorted(values)
    else:
        values = [row.get(sort, -1) for row in rows]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 140, 200])
def test_lines_fit_and_keep_what_is_asked_most(run: Run, made: Path, width: int) -> None:
    lines = run("stats", "--width", str(width), str(made)).stdout.splitlines()
    assert max(map(len, lines)) <= width
    rows = by_hand(made, ["service", "method"], run)
    for (service, method), row in rows.items():
        name = f"{service.rpartition('.')[2]}.{method} "
        (line,) = [line for line in lines if name in line]
        assert f" {row['calls']} " in line
        assert f" {row['error'] + row['unanswered']} " in line or f" {row['error']} " in line
    assert lines[1 + len(rows)].split()[:2] == ["all", "500"]
    assert {"calls", "p50", "p95", "max"} <= set(lines[0].split())
    assert ("●" in "".join(lines)) == (width >= 100)


def test_where_and_flow(run: Run, made: Path) -> None:
    rows = json.loads(
        run("stats", "--by", "method", "--where", "outcome=error", "--format", "json", str(made)).stdout
    )
    assert all(row["calls"] == row["error"] > 0 for row in rows)
    done = run("stats", "--where", "method=nothing", "--format", "json", str(made))
    assert (done.exit_code, json.loads(done.stdout)) == (0, [])
    assert "0 of 500 calls match" in done.stderr
    flow = json.loads(run("stats", "--by", "client", "--flow", "2", "--format", "json", str(made)).stdout)
    assert len(flow) == 1
    assert run("stats", "--flow", "9", str(made)).exit_code == 2


def test_what_is_wrong_is_refused(run: Run, made: Path) -> None:
    before = made.read_bytes()
    for words in (
        ["--by", "colour", str(made)],
        ["--sort", "p42", str(made)],
        ["--every", "5s", str(made)],
        ["--every", "5parsecs", "-"],
        ["--every", "20ms", "-"],
        ["--every", "1s", "--format", "csv", "-"],
        ["-o", str(made), str(made)],
    ):
        done = run("stats", *words)
        assert (done.exit_code, done.stdout) == (2, ""), words
    assert made.read_bytes() == before


def test_sizes_account_for_every_byte(run: Run, made: Path) -> None:
    rows = json.loads(run("stats", "--sizes", "--by", "service", "--format", "json", str(made)).stdout)
    wanted = by_hand(made, ["service"], run)
    for (service,), group in wanted.items():
        for side in ("request", "response"):
            own = [row for row in rows if (row["service"], row["message"]) == (service, side)]
            assert sum(row["bytes"] for row in own) == group[f"{side}_bytes"]
            assert [row["bytes"] for row in own] == sorted([row["bytes"] for row in own], reverse=True)
            assert sum(row["share"] for row in own) == pytest.approx(1, abs=1e-4)
    path = next(row for row in rows if row["field"] == "body.path")
    assert len(path["service"]) < 32
    assert path["bytes"] == path["messages"] * (1 + len(path["service"]))
    text = run("stats", "--sizes", "--width", "90", str(made)).stdout
    assert "body.attachments" in text
    lines = list(csv.DictReader(io.StringIO(run("stats", "--sizes", "--format", "csv", str(made)).stdout)))
    assert sum(int(line["bytes"]) for line in lines) == sum(row["bytes"] for row in rows)


@pytest.mark.parametrize("style", ["text", "json"])
def test_tables_of_a_live_pipe(style: str) -> None:
    data, calls = planted.planted(40, 3, each=1, connections=1)
    running = process("stats", "--every", "200ms", "--by", "outcome", "--format", style, "-")
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(data[: len(data) * 9 // 10])
    running.stdin.flush()
    seen = []
    for _ in range(200):  # also while nothing comes
        line = running.stdout.readline().decode()
        seen.append(line)
        if (style == "json" and line.count('"ok"') and len(seen) > 2) or "finished" in line:
            break
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(data[len(data) * 9 // 10 :])
    assert running.returncode == 0
    if style == "json":
        last = json.loads(rest.decode().splitlines()[-1])
        assert sum(row["calls"] for row in last) == len(calls)
    else:
        lines = rest.decode().splitlines()
        assert lines[-1] == f"{len(calls)} calls finished, 0 open"
        assert any(line.startswith("ok ") for line in lines)


def test_no_calls(run: Run, tmp_path: Path) -> None:
    data, _ = planted.planted(1, 1, each=0, connections=1)
    path = tmp_path / "none.pcap"
    path.write_bytes(data[:24])
    assert wirelens.calls([data[:24]]) is not None
    assert run("stats", "--format", "json", str(path)).stdout == "[]\n"
    assert run("stats", str(path)).stdout == ""
