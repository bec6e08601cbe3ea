"""The tables `calls` and `connections` state what `wirelens calls` and `wirelens flows` state."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import inprocess
import pyarrow as pa
import pytest
from comparing import ROOT
from inprocess import run, table
from made import frames, rotated
from pyarrow import parquet

from wirelens import codecs
from wirelens.cli.bulk.files import find
from wirelens.cli.bulk.plan import Range, inspect_files
from wirelens.cli.bulk.records import COLUMNS, RECORDS, Rows, record_batches
from wirelens.cli.tables.arrow import arrow_types, record_batch
from wirelens.cli.tables.call_columns import CallColumns
from wirelens.cli.tables.columns import TABLES, TIMES
from wirelens.cli.tables.counts import DECODED, ERRORS, MESSAGES, QUARANTINED, Counters
from wirelens.cli.tables.record_columns import Columns
from wirelens.cli.tables.rows import RowMaker
from wirelens.codecs.call import DURATION, MEMBERS, TIME
from wirelens.codecs.captures import FRESH
from wirelens.codecs.conversations import Message
from wirelens.codecs.decoder import TOO_MUCH
from wirelens.codecs.numbers import time_text
from wirelens.codecs.record import Record

SAMPLES = ("../shared/field/ends/client.pcap", "../shared/captures/sessions", "../shared/captures/real")
OF_ONE_RUN = {"file", "packet", "connection", "flow_number", "pair_id", "point"}


def command(*words: str) -> list[dict[str, Any]]:
    """The JSON that a command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "wirelens.cli.main", *words], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    if words[0] == "flows":
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_printed(row: dict[str, Any]) -> dict[str, Any]:
    """A row of `calls` as `wirelens calls` prints it, as far as both have it."""
    printed: dict[str, Any] = {}
    for name, kind in MEMBERS:
        value = row.get(name + "_us" if kind == DURATION else name)
        if name == "flow":
            value = row["flow_number"]
        if value is not None and name != "waited":
            printed[name] = time_text(value) if kind == TIME else value / 1e6 if kind == DURATION else value
    return printed


def listed(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def sources(name: str, shared: Path, tmp_path: Path) -> list[Path]:
    """A folder of made captures, or one of `shared`."""
    if name == "made":
        rotated(frames(77), 5, tmp_path / "in")
        return [tmp_path / "in"]
    return [shared / name.removeprefix("../shared/")]


@pytest.mark.once
@pytest.mark.parametrize("name", ["made", *SAMPLES])
def test_calls_and_connections(name: str, shared: Path, tmp_path: Path) -> None:
    paths = sources(name, shared, tmp_path)
    out = tmp_path / "out"
    run(paths, out)
    expected = command("calls", "--format", "jsonl", *map(str, paths))
    assert expected
    for row in expected:
        row.setdefault("file", str(paths[0]))
        for member in ("call", "waited", "request_packets", "response_packets", "resent_bytes"):
            row.pop(member, None)
    assert listed([as_printed(row) for row in table(out, "calls")]) == listed(expected)
    flows = command("flows", "--all", "--format", "json", *map(str, paths))
    of_number = {row["flow_number"]: row for row in table(out, "connections")}
    assert {flow["flow"] for flow in flows} <= of_number.keys()
    for flow in flows:
        row = of_number[flow["flow"]]
        assert (row["transport"], row["protocol"] or "unknown") == (flow["transport"], flow["protocol"]), flow
        for side, direction in zip(("client", "server"), flow["directions"], strict=True):
            for column in ("messages", "unanswered", "bytes", "missing", "gaps", "retransmitted", "packets"):
                assert row[f"{side}_{column}"] == direction[column], (flow, column)


@pytest.mark.once
def test_names_of_requests_are_on_replies(tmp_path: Path) -> None:
    run([ROOT / "examples" / "ends" / "client.pcap"], tmp_path / "out")
    rows = table(tmp_path / "out", "messages")
    named = {row["pair_id"]: row["method"] for row in rows if row["kind"] == "request" and row["pair_id"]}
    replies = [row for row in rows if row["kind"] != "request" and row["pair_id"] in named]
    assert replies
    assert [row["method"] for row in replies] == [named[row["pair_id"]] for row in replies]
    assert {row["status"] for row in replies} == {"OK"}
    assert all(row["request_id"] for row in replies)


@pytest.mark.once
@pytest.mark.parametrize("seed", range(3))
def test_runs_that_resume_have_the_same_calls(tmp_path: Path, seed: int) -> None:
    paths = rotated(frames(900 + seed), 4, tmp_path / "in")
    run([tmp_path / "in"], tmp_path / "whole")
    for count in range(1, len(paths)):
        run(paths[:count], tmp_path / "out", resume=True)
    run([tmp_path / "in"], tmp_path / "out", resume=True, final=True)
    for name in ("calls", "connections"):
        both = [
            listed([{key: row[key] for key in row if key not in OF_ONE_RUN} for row in table(out, name)])
            for out in (tmp_path / "whole", tmp_path / "out")
        ]
        assert both[0] == both[1]
        assert both[0]


@pytest.mark.once
def test_files_are_sorted_by_time_and_divided_by_day(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rotated(frames(5), 2, tmp_path / "in" / "first")
    rotated(frames(6), 2, tmp_path / "in" / "second", 3 * 24 * 3600 * 1000)
    run([tmp_path / "in"], tmp_path / "out")
    days = {path.name for path in (tmp_path / "out" / "messages").rglob("day=*")}
    assert days == {"day=2023-11-14", "day=2023-11-17"}
    for name in TABLES:
        paths = list((tmp_path / "out" / name).rglob("*.parquet"))
        assert paths
        for path in paths:
            times = parquet.ParquetFile(path).read([TIMES[name]]).column(0).drop_null().to_pylist()
            assert times == sorted(times)
            for part in path.parts:
                if part.startswith("day="):
                    assert {f"day={time.date()}" for time in times} == {part}


@pytest.mark.once
def test_without_captures_all_tables_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("no message")
    run([tmp_path / "x.txt"], tmp_path / "out")
    for name, columns in TABLES.items():
        assert list((tmp_path / "out" / name).rglob("*.parquet")), name
        assert inprocess.table(tmp_path / "out", name) == [] or name == "quarantine"
        path = next((tmp_path / "out" / name).rglob("*.parquet"))
        assert parquet.ParquetFile(path).schema_arrow.names == [column for column, _, _ in columns]


@pytest.mark.once
def test_only_the_columns_that_are_wanted_are_made() -> None:
    """What the data source gives for a file; no message is written as JSON if its column is not wanted."""
    path = ROOT / "examples" / "captures" / "mevent_udp_tcp.pcap"
    (item,) = inspect_files(find(str(path)), (), 0)
    whole = Range(0, 0, item.root, item.path, item.name, item.kind, 0, item.size, FRESH, 0, True)
    for table_name, columns in COLUMNS.items():
        batches = list(record_batches(whole, "", "head", table_name))
        assert batches
        assert batches[0].schema.names == [name for name, _, _ in columns]
    kinds = [kind for batch in record_batches(whole, "", "head") for kind in batch["kind"].to_pylist()]
    some = list(record_batches(whole, "", "head", names=["protocol", "kind"]))
    assert [batch.schema.names for batch in some] == [["protocol", "kind"]] * len(some)
    assert [kind for batch in some for kind in batch["kind"].to_pylist()] == kinds
    rows = Rows("records", ["kind"], "", "none")
    assert (rows.columns.trees, rows.columns.summaries) == (False, False)
    rows = Rows("records", ["message"], "", "none")
    assert (rows.columns.trees, rows.columns.summaries) == (True, False)


def test_a_row_without_enough_memory_is_in_the_quarantine() -> None:
    """The memory ends where rows are handed over, and where an expression looks at the message."""
    schema = pa.schema(arrow_types(COLUMNS[RECORDS]))
    taken: list[dict[str, Any]] = []
    counters = Counters()

    def full() -> None:
        if columns.size > 100_000:
            raise MemoryError
        taken.extend(record_batch(columns, schema).to_pylist())
        columns.clear()

    def matches(record: Record, message: Message | None, file: int) -> bool:
        if record.offset == 0:
            raise MemoryError
        return True

    columns = Columns({0: "a.bin"}, 4, 80_000, full)
    calls = CallColumns({}, {}, 4, 80_000, full)
    maker = RowMaker(
        "none",
        counters,
        lambda *_: columns,
        lambda *_: calls,
        lambda _: None,
        {0: "a.bin"},
        {},
        matches,
        ["messages"],
    )
    text = b"\1a" * 60_000
    replies = [b"\x90", b"\x91", b"\x57" + text + b"Z", b"\x92", b"\x57" + text + b"Z", b"\x93"]
    data = b"".join(b"H\2\0R" + reply for reply in replies)
    for record in codecs.decode(data, "hessian2"):
        maker.add_record(0, record)
    full()
    texts = [row["error_text"] or row["message"] for row in taken]
    values = [f'{{"version": "2.0", "reply": {{"value": {number}}}}}' for number in (1, 2, 3)]
    assert texts == [TOO_MUCH, values[0], TOO_MUCH, values[1], TOO_MUCH, values[2]]
    counts = counters.counts(0)
    assert counts[DECODED] + counts[QUARANTINED] == len(data)
    assert (counts[MESSAGES], counts[ERRORS]) == (3, 3)
