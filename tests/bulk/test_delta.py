"""Delta Lake tables: what readers see, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inprocess import contents, convert, run, table
from made import frames, rotated

from wirelens.cli.bulk import delta, ledger
from wirelens.cli.bulk.files import Folder
from wirelens.cli.bulk.job import Job, JobOptions
from wirelens.cli.bulk.ledger import NotAllowedError
from wirelens.cli.tables.columns import TABLES

deltalake = pytest.importorskip("deltalake")
pytestmark = [pytest.mark.once]


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    return rotated(frames(3, 8), 3, tmp_path / "in")


def seen(target: Path, name: str) -> list[tuple[str, ...]]:
    """What a reader of a Delta Lake table sees, without what differs from run to run; [] without a table."""
    if not (target / name / "_delta_log").exists():
        return []
    rows = deltalake.DeltaTable(target / name).to_pyarrow_table().to_pylist()
    kept = (
        "file",
        "packet",
        "offset",
        "length",
        "summary",
        "id",
        "protocol",
        "time",
        "first_time",
        "error_code",
    )
    return sorted(tuple(str(row.get(column)) for column in kept) for row in rows)


def test_readers(sources: list[Path], tmp_path: Path) -> None:
    pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pandas", "polars", "duckdb"))
    out, plain = tmp_path / "out", tmp_path / "plain"
    for target in (out, plain):
        run(sources[:2], target, resume=True, delta=target == out)
        run(sources, target, resume=True, final=True, delta=target == out)
    for name in TABLES:
        place = deltalake.DeltaTable(out / name)
        expected = len(table(plain, name))
        assert place.version() == 1
        assert place.transaction_version("wirelens") == 2
        assert len(polars.read_delta(str(out / name))) == expected
        assert len(place.to_pandas()) == expected
        rows = duckdb.from_arrow(place.to_pyarrow_dataset())
        assert rows.count("*").fetchall() == [(expected,)]
        found = polars.scan_parquet(plain / name / "**" / "*.parquet", hive_partitioning=True)
        assert len(found.collect()) == expected
    counted = Counter(row["protocol"] for row in table(plain, "messages"))
    frame = pandas.DataFrame(deltalake.DeltaTable(out / "messages").to_pandas())
    assert dict(frame.groupby("protocol").size()) == counted
    assert contents(out) == contents(plain)
    # Files whose times are not asked for are passed over, by the log alone.
    times = sorted(row["time"] for row in table(plain, "messages") if row["time"])
    last = polars.from_epoch(polars.Series([times[-1]]), time_unit="us")[0].replace(tzinfo=None)
    log = polars.DataFrame(deltalake.DeltaTable(out / "messages").get_add_actions(flatten=True))
    assert max(log["max.time"]).replace(tzinfo=None) >= last
    assert log["num_records"].sum() == len(table(plain, "messages"))


@pytest.mark.parametrize("how", [{"mode": "overwrite"}, {"resume": True}])
def test_a_reader_sees_all_of_a_run_or_nothing(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    """Of each table, whenever the run is killed; and all of it once the next run began."""
    whole = tmp_path / "whole"
    first: dict[str, Any] = {"resume": True} if "resume" in how else {}
    run(sources[:1], whole, delta=True, **first)
    before = {name: seen(whole, name) for name in TABLES}
    run(sources, whole, delta=True, **how)
    after = {name: seen(whole, name) for name in TABLES}
    left = [1 << 60]

    def die(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return function(*args)

        return call

    for name in ("create", "move", "remove"):
        monkeypatch.setattr(Folder, name, die(getattr(Folder, name)))
    monkeypatch.setattr(ledger, "publish", die(delta.publish))
    monkeypatch.setattr(ledger, "_is_alive", lambda who: False)
    halfway = False
    for steps in range(1, 60):
        target = tmp_path / f"out{steps}"
        run(sources[:1], target, delta=True, **first)
        left[0] = steps
        job = Job(JobOptions([str(source) for source in sources], str(target), delta=True, **how))
        try:
            job.inspect()
            job.convert(convert, dict, 2)
        except KeyboardInterrupt:
            pass
        done, left[0] = left[0] >= 0, 1 << 60
        job.run._stop.set()
        found = {name: seen(target, name) for name in TABLES}
        assert all(rows in (before[name], after[name]) for name, rows in found.items())
        halfway = halfway or found not in (before, after)
        other = Job(JobOptions([], str(target), mode="append"))
        other.run.begin("append", False)
        other.run.end()
        now = {name: seen(target, name) for name in TABLES}
        assert now == after or (now == before and found == before)
        if done:
            break
    assert done
    assert halfway
    assert found == after


def test_a_table_keeps_its_format(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(sources, tmp_path / "out")
    with pytest.raises(NotAllowedError, match="--format parquet: use it here too"):
        run(sources, tmp_path / "out", delta=True, mode="append")
    run(sources, tmp_path / "out", delta=True, mode="overwrite")
    assert not list(tmp_path.rglob("run=*"))
    assert all(len(seen(tmp_path / "out", name)) == len(table(tmp_path / "out", name)) for name in TABLES)
    run(sources, tmp_path / "out", mode="overwrite")
    assert not list(tmp_path.rglob("_delta_log"))
    monkeypatch.setattr("wirelens.cli.bulk.delta.is_installed", lambda: False)
    with pytest.raises(NotAllowedError, match=r"pip.*delta"):
        run(sources, tmp_path / "other", delta=True)
