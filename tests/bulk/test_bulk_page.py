"""docs/bulk.md is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import inprocess
import pytest

from wirelens.cli.bulk import report as reports
from wirelens.cli.bulk.table import TABLES, reference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "bulk.md"


@pytest.fixture(scope="module")
def section() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What its first command gives."""
    target = tmp_path_factory.mktemp("readme") / "out"
    inprocess.run([ROOT / "examples" / "captures"], target)
    return target


def blocks(section: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)


def test_the_report(section: str, tmp_path: Path) -> None:
    shown = blocks(section, "console")[0]
    assert shown.startswith("$ wirelens bulk examples/captures out\n")
    report = inprocess.run([ROOT / "examples" / "captures"], tmp_path / "out")
    *lines, _ = reports.text(report, "out").splitlines()  # the last one has the time
    assert shown.splitlines()[1:-1] == lines


def test_the_columns(section: str) -> None:
    assert reference() in section
    for name, _, comment in (column for columns in TABLES.values() for column in columns):
        assert comment, name


def test_duckdb(section: str, out: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql(blocks(section, "sql")[0].replace("out/", f"{out}/")).fetchall()
    messages = inprocess.table(out, "messages")
    assert sum(row[2] for row in rows) == len(messages)
    assert {row[0] for row in rows} == {row["protocol"] for row in messages}


def test_pandas(section: str, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = next(block for block in blocks(section, "python") if "pandas" in block)
    exec(code.replace("out/", f"{out}/"), {})
    assert re.search(r"[A-Z_]+ +\d+", capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark(section: str, out: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks(section, "python"):
        if "spark" in block:
            code = block.replace("out/", f"{out}/").replace("examples/", f"{ROOT}/examples/")
            exec(code, {"spark": spark})
    printed = capsys.readouterr().out
    latencies = [row["latency_us"] for row in inprocess.table(out, "messages") if row["latency_us"]]
    assert f"{max(latencies) / 1000}" in printed
    assert re.search(r"\| *mevent *\| *\d+\|", printed)
