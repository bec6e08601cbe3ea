"""Files converted again, and small part files put together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inprocess import VECTORS, contents, run, sums_agree, table
from made import frames, rotated

from wirelens.cli.bulk import settings
from wirelens.cli.bulk.ledger import LedgerRow, NotAllowedError
from wirelens.cli.bulk.redo import Redo, connected, selected
from wirelens.cli.tables.columns import TABLES

pytestmark = [pytest.mark.once]


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """Rotated captures, and two payloads, one of which does not decode."""
    paths = rotated(frames(3, 8), 3, tmp_path / "in")
    for name in ("esnp.jsonl", "mevent.jsonl"):
        line = json.loads((VECTORS / name).read_text().splitlines()[0])
        paths.append(tmp_path / "in" / f"{name}.bin")
        paths[-1].write_bytes(bytes.fromhex(line["hex"]))
    paths[-1].write_bytes(bytes(100))
    return paths


def rows_of(target: Path) -> dict[str, list[str]]:
    """The rows of all tables, without the numbers of flows, which are given anew."""
    left_out = {"flow_number", "connection", "pair_id"}
    return {
        name: sorted(
            str({key: value for key, value in row.items() if key not in left_out})
            for row in table(target, name)
        )
        for name in TABLES
    }


@pytest.mark.parametrize("delta", [False, True])
def test_what_is_converted_again_replaces_what_was_there(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delta: bool
) -> None:
    out = tmp_path / "out"
    how: dict[str, Any] = {"resume": True, "final": True, "delta": delta}
    run(sources, out, **how)
    expected = visible(out, delta)
    before = {row["number"]: row["file"] for row in table(out, "_ledger")}
    report = run(sources, out, redo=Redo(files=(sources[0].name,)), **how)
    captures = sum(path.suffix == ".pcap" for path in sources)
    assert (report.files, report.skipped) == (captures, len(sources) - captures)
    assert visible(out, delta) == expected
    if not delta:
        sums_agree(out)
    after = {row["number"]: row["file"] for row in table(out, "_ledger")}
    assert sorted(after.values()) == sorted(before.values())
    assert {before[number] for number in before.keys() & after.keys()} == {str(path) for path in sources[-2:]}
    flows = sum(row["flows"] or 0 for row in table(out, "_ledger"))
    numbers = {row["flow_number"] for row in table(out, "connections")}
    assert max(numbers) == 2 * flows
    with pytest.raises(NotAllowedError, match="not in what is read"):
        run(sources[1:], out, redo=Redo(files=(sources[0].name,)), **how)
    with pytest.raises(NotAllowedError, match="not in the ledger"):
        run(sources, out, redo=Redo(files=("other",)), **how)
    # By another version: refused, until it is converted again.
    monkeypatch.setattr(settings, "version", lambda: "99.1")
    with pytest.raises(NotAllowedError, match="--redo-before VERSION"):
        run(sources, out, **how)
    assert run(sources, out, redo=Redo(quarantine=True), **how).files >= 1
    assert run(sources, out, redo=Redo(before="99.1"), **how).skipped >= 1
    assert run(sources, out, **how).files == 0
    assert visible(out, delta) == expected


def visible(target: Path, delta: bool) -> dict[str, list[str]]:
    if not delta:
        return rows_of(target)
    deltalake = pytest.importorskip("deltalake")
    left_out = {"flow_number", "connection", "pair_id", "day"}
    return {
        name: sorted(
            str({key: value for key, value in row.items() if key not in left_out})
            for row in deltalake.DeltaTable(target / name).to_pyarrow_table().to_pylist()
        )
        for name in TABLES
    }


def test_open_streams_are_ended_first(sources: list[Path], tmp_path: Path) -> None:
    run(sources[:2], tmp_path / "out", resume=True)
    with pytest.raises(NotAllowedError, match="--resume --final"):
        run(sources, tmp_path / "out", resume=True, redo=Redo(files=(sources[0].name,)))


@pytest.mark.parametrize("delta", [False, True])
def test_small_files_are_put_together(sources: list[Path], tmp_path: Path, delta: bool) -> None:
    out = tmp_path / "out"
    for count in range(1, len(sources) + 1):
        run(sources[:count], out, resume=True, final=count == len(sources), delta=delta)
    expected = visible(out, delta)
    many = len(list((out / "messages").rglob("*.parquet")))
    run(sources, out, resume=True, compact=True, delta=delta)
    assert visible(out, delta) == expected
    if delta:
        return
    parts = list((out / "messages").rglob("*.parquet"))
    assert len({path.parent.relative_to(path.parents[2]) for path in parts}) == len(parts) < many
    sums_agree(out)
    run(sources, tmp_path / "other")
    assert contents(out, numbers=False) == contents(tmp_path / "other", numbers=False)


def test_captures_that_may_share_a_flow_are_converted_together() -> None:
    times = [(0, 10), (11, 20), (21, 30), (40, 50), (None, None)]
    rows = [
        LedgerRow(f"{n}.pcap", n, "", first_time=first, last_time=last, errors=n % 2)
        for n, (first, last) in enumerate(times)
    ]
    flows = [(5, 12), (25, 26), (41, 42)]
    assert connected(rows, {0}, lambda: flows) == {0, 1}
    assert connected(rows, {2}, lambda: flows) == {2}
    assert connected(rows, {4, 3}, lambda: flows) == {3, 4}
    assert connected(rows, {4}, lambda: [(0, 1 << 60)]) == {4}
    assert selected(rows, Redo(quarantine=True)) == {1, 3}
    assert selected(rows, Redo(files=("2.pcap",))) == {2}
    rows[0].settings = '{"wirelens": "0.9.2"}'
    rows[1].settings = '{"wirelens": "0.10"}'
    rows[2].settings = rows[3].settings = rows[4].settings = '{"wirelens": "1.0"}'
    assert selected(rows, Redo(before="0.10.1")) == {0, 1}
