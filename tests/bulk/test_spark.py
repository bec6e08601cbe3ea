"""What Spark makes of it: the same as one process."""

from __future__ import annotations

import gzip
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import inprocess
import pytest
from inprocess import contents, sums_agree, table
from made import capture, frames, rotated
from processes import children, has_rows

from wirelens.cli.bulk import cancelling, counting, session
from wirelens.cli.bulk.cancelling import Cancelling
from wirelens.cli.bulk.command import _work
from wirelens.cli.bulk.job import Job, JobOptions
from wirelens.cli.bulk.ledger import NotAllowedError
from wirelens.cli.bulk.progress import Display
from wirelens.cli.bulk.report import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def run(spark: SparkSession, sources: list[Path], target: Path, **options: Any) -> Report:
    job = Job(JobOptions([str(source) for source in sources], str(target), **options))
    try:
        job.inspect()
        return job.work(spark)
    finally:
        job.run.end()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rotated captures with streams across them, payload files in several forms, damaged and odd files."""
    folder = tmp_path_factory.mktemp("sources")
    mixed = frames(11)
    rotated(mixed, 10, folder / "rotated")
    (folder / "damaged.pcap").write_bytes(capture(frames(12, 6))[:-11])
    (folder / "zeros.bin").write_bytes(bytes(5000))
    (folder / "empty").write_bytes(b"")
    (folder / "netmon.cap").write_bytes(b"GMBU" + bytes(200))
    (folder / "ambiguous.txt").write_text("00 01 02 03\n" * 3 + "0x\n")
    vectors = Path(__file__).resolve().parent.parent / "vectors"
    (folder / "payloads").mkdir()
    for name in ("esnp.jsonl", "mevent.jsonl"):
        for number, line in enumerate((vectors / name).read_text().splitlines()[:40]):
            data = bytes.fromhex(json.loads(line)["hex"])
            path = folder / "payloads" / f"{name}-{number}"
            text = (data.hex(" "), repr(data), ", ".join(f"0x{byte:02x}" for byte in data))
            path.write_bytes(data if number % 4 == 3 else text[number % 4].encode())
    return folder


@pytest.fixture(scope="module")
def converted(spark: SparkSession, sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("converted") / "out"
    run(spark, [sources], out)
    return out


def test_spark_gives_what_one_process_gives(converted: Path, sources: Path, tmp_path: Path) -> None:
    inprocess.run([sources], tmp_path / "out")
    assert contents(converted) == contents(tmp_path / "out")
    assert len(table(converted, "messages")) > 200
    sums_agree(converted)
    ledger = {Path(row["file"]).name: row for row in table(converted, "_ledger")}
    assert len(ledger) == sum(path.is_file() for path in sources.rglob("*"))
    assert ledger["damaged.pcap"]["notes"][0]["code"] == "truncated"
    assert ledger["damaged.pcap"]["messages"] > 0
    assert ledger["netmon.cap"]["quarantined"] == 204
    assert not (converted / "_runs").exists()


def test_spark_reads_its_tables(spark: SparkSession, converted: Path) -> None:
    messages = spark.read.parquet(str(converted / "messages"))
    assert dict(messages.dtypes)["time"] == "timestamp"
    assert messages.schema["pair_id"].metadata["comment"].startswith("the same for a request")
    counted = {row.protocol: row["count"] for row in messages.groupBy("protocol").count().collect()}
    assert counted == Counter(row["protocol"] for row in table(converted, "messages"))
    ledger = spark.read.parquet(str(converted / "_ledger"))
    assert ledger.where("read != overhead + payload").count() == 0


def test_resuming_through_spark(
    spark: SparkSession, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MANY", 0)
    paths = sorted((sources / "rotated").iterdir(), key=lambda path: int(path.stem.split("-")[1]))
    first = run(spark, paths[:4], tmp_path / "out", resume=True)
    assert first.pending > 0
    last = run(spark, paths, tmp_path / "out", resume=True, final=True)
    assert (last.resumed, last.pending, last.skipped) == (first.pending, 0, 4)
    sums_agree(tmp_path / "out")
    inprocess.run(paths, tmp_path / "other")
    known = [row for row in contents(tmp_path / "other") if "unknown-protocol" not in row]
    assert [row for row in contents(tmp_path / "out") if "unknown-protocol" not in row] == known


def test_the_data_source(spark: SparkSession, sources: Path, tmp_path: Path) -> None:
    from wirelens.cli.bulk.source import WirelensDataSource

    (tmp_path / "in").mkdir()
    for name in ("damaged.pcap", "zeros.bin", "ambiguous.txt", "netmon.cap"):
        (tmp_path / "in" / name).write_bytes((sources / name).read_bytes())
    (tmp_path / "in" / "cut.gz").write_bytes(gzip.compress(bytes(range(256)) * 40)[:-9])
    inprocess.run([tmp_path / "in"], tmp_path / "out")
    spark.dataSource.register(WirelensDataSource)
    rows = spark.read.format("wirelens").load(str(tmp_path / "in"))
    found = [row.asDict() for row in rows.collect()]
    messages, quarantine = table(tmp_path / "out", "messages"), table(tmp_path / "out", "quarantine")
    found_messages = sorted(row["message"] for row in found if row["error_code"] is None)
    assert found_messages == sorted(row["message"] for row in messages)

    def failures(rows: list[dict[str, Any]]) -> list[tuple[object, ...]]:
        names = ("file", "packet", "length", "protocol", "error_code", "error_offset", "error_text", "raw")
        failed = [[row[name] for name in names] for row in rows if row["error_code"] is not None]
        return sorted((*map(str, row[:-1]), row[-1] and bytes(row[-1])) for row in failed)

    assert failures(found) == failures(quarantine)
    assert {"damaged.pcap", "cut.gz"} <= {
        Path(row["file"]).name for row in found if row["error_code"] == "truncated" and row["length"] is None
    }


def test_new_files_come_as_a_stream(spark: SparkSession, sources: Path, tmp_path: Path) -> None:
    from wirelens.cli.bulk.source import WirelensDataSource

    spark.dataSource.register(WirelensDataSource)
    (tmp_path / "in").mkdir()
    paths = sorted((sources / "rotated").iterdir())[:3]
    counts = []
    for path in paths:
        (tmp_path / "in" / path.name).write_bytes(path.read_bytes())
        stream = spark.readStream.format("wirelens").option("columns", "file,kind").load(str(tmp_path / "in"))
        query = stream.writeStream.format("parquet").trigger(availableNow=True)
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.start(str(tmp_path / "rows")).awaitTermination()
        counts.append(spark.read.parquet(str(tmp_path / "rows")).count())
    assert counts == sorted(set(counts))
    batch = spark.read.format("wirelens").option("columns", "file,kind").load(str(tmp_path / "in"))
    rows = spark.read.parquet(str(tmp_path / "rows"))
    assert sorted(batch.collect(), key=repr) == sorted(rows.collect(), key=repr)


def test_documents_as_variant(spark: SparkSession, sources: Path, tmp_path: Path) -> None:
    run(spark, [sources / "rotated"], tmp_path / "out", document="variant")
    rows = spark.read.parquet(str(tmp_path / "out" / "messages"))
    assert dict(rows.dtypes)["message"] == "variant"
    inprocess.run([sources / "rotated"], tmp_path / "other")
    expected = [json.loads(row["message"]) for row in table(tmp_path / "other", "messages")]
    found = [json.loads(row.text) for row in rows.selectExpr("to_json(message) as text").collect()]
    assert sorted(json.dumps(one, sort_keys=True) for one in found) == sorted(
        json.dumps(one, sort_keys=True) for one in expected
    )
    with pytest.raises(NotAllowedError, match="--document variant"):
        inprocess.run([sources / "rotated"], tmp_path / "out", mode="append")
    asked = rows.selectExpr("variant_get(message, '$.lines[0].type', 'string') as type")
    assert asked.where("type is not null").count() > 0
    assert rows.where("message_text is not null").count() == 0


def test_a_killed_worker_is_replaced(
    spark: SparkSession, converted: Path, sources: Path, tmp_path: Path, small_tasks: None
) -> None:
    out = tmp_path / "out"
    killed = []

    def kill() -> None:
        java = session._java_process()
        assert java is not None
        for daemon in children(java.pid):
            for worker in children(daemon)[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

    with once_rows_are_written(out, kill):
        run(spark, [sources], out)
    assert killed
    assert contents(out) == contents(converted)
    sums_agree(out)


def test_an_interrupted_run(
    spark: SparkSession, sources: Path, tmp_path: Path, small_tasks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancelling, "CANCEL_SECONDS", 120)  # then the session's Java is ended by force
    out = tmp_path / "out"
    job = Job(JobOptions([str(sources)], str(out)))
    with Cancelling() as cancelled, once_rows_are_written(out, partial(os.kill, os.getpid(), signal.SIGINT)):
        job.inspect()
        with pytest.raises(KeyboardInterrupt):
            _work(job, spark, Display(StringIO(), False), cancelled)
        job.run.end()
    assert cancelled.status == 130
    assert list(out.iterdir()) == []


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that some are still to be done when the first has ended."""
    monkeypatch.setattr("wirelens.cli.bulk.plan.TASK_BYTES", 1)
    monkeypatch.setattr("wirelens.cli.bulk.job.BUCKET_BYTES", 10_000)


@contextmanager
def once_rows_are_written(out: Path, act: Callable[[], object]) -> Iterator[None]:
    """Do something, in another thread, as soon as a run has written the first rows."""
    ended = threading.Event()

    def wait() -> None:
        while not ended.wait(0.02):
            if has_rows(out):
                act()
                return

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_run_is_cancelled_from_another_thread(spark: SparkSession) -> None:
    from pyspark import InheritableThread

    from wirelens.cli.bulk.progress import Watch

    def slow(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            time.sleep(120)
            yield batch

    watch = Watch(spark, "to be cancelled")
    failed: list[Exception] = []
    done = threading.Event()

    def work() -> None:
        watch.tag()
        try:
            spark.range(2).mapInArrow(slow, "id long").collect()
        except Exception as error:
            failed.append(error)
        done.set()

    InheritableThread(target=work, session=spark).start()
    while not spark.sparkContext.statusTracker().getActiveStageIds():
        time.sleep(0.05)
    watch.cancel()
    assert done.wait(60)
    assert "cancelled" in str(failed[0])
