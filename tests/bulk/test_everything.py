"""All sorts of inputs in one run through Spark: each message is what `decode` makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import inprocess
import pytest
from comparing import converted, decoded, merged
from feeding import fed
from inprocess import sums_agree, table
from made import capture, frames, messages, rotated

from wirelens.cli.bulk.job import Job, JobOptions
from wirelens.cli.bulk.report import as_json, text
from wirelens.codecs.captures import READABLE, PacketReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMS = (
    lambda data: data.hex(),
    lambda data: data.hex(" ").upper(),
    lambda data: ", ".join(f"0x{byte:02x}" for byte in data),
    lambda data: "".join(f"\\x{byte:02x}" for byte in data),
    lambda data: "{" + ", ".join(str(byte - (byte > 127) * 256) for byte in data) + "}",
)
DAYS = 40 * 24 * 3600 * 1000  # the rotated captures are of another time than all others


def payloads() -> list[bytes]:
    """200 messages of several protocols."""
    names = ("dubbo-frames.jsonl", "bolt-frames.jsonl", "esnp.jsonl", "hessian2-final.jsonl.gz")
    found = [data for name in names for data in messages(name) if 12 < len(data) < 3000]
    assert len(found) > 200
    return found[:200]


@pytest.fixture(scope="module")
def folders(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What was captured, payloads in forms as they are pasted, a damaged file, rotated captures."""
    made = tmp_path_factory.mktemp("everything")
    rotated(frames(51, 60), 10, made / "rotated", DAYS)
    (made / "damaged").mkdir()
    (made / "damaged" / "damaged.pcap").write_bytes(capture(frames(52, 6))[:-13])
    (made / "payloads").mkdir()
    for number, data in enumerate(payloads()):
        (made / "payloads" / f"{number:03d}.txt").write_text(FORMS[number % len(FORMS)](data))
    names = ("sessions", "positive", "quirks", "forms")
    return [*(shared / "captures" / name for name in names), made]


@pytest.fixture(scope="module")
def files(folders: list[Path]) -> tuple[list[Path], list[Path]]:
    """The captures, and all others."""
    captures: list[Path] = []
    others: list[Path] = []
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        reader = PacketReader()
        fed(reader, path.read_bytes())
        reader.close()
        (captures if reader.container in READABLE else others).append(path)
    return captures, others


def bytes_of(paths: list[Path], name: str) -> bytes:
    return next(path for path in paths if path.name == name).read_bytes()


def unnumbered(results: list[Any]) -> list[Any]:
    """Results, sorted, without the numbers of flows, which follow the order of the inputs."""
    rest = [{name: value for name, value in result.items() if name != "flow_number"} for result in results]
    return sorted(rest, key=lambda result: json.dumps(result, sort_keys=True))


def on_time(results: list[Any]) -> list[Any]:
    """Results without late bytes and notes on them, whose records are of one file each."""
    kept = [result for result in results if (result.get("error") or {}).get("code") != "late"]
    return [{name: value for name, value in result.items() if name != "notes"} for result in kept]


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_in_one_run(
    spark: SparkSession, folders: list[Path], files: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    job = Job(JobOptions(list(map(str, folders)), str(out)))
    job.inspect()
    done = job.work(spark)
    job.run.end()
    sums_agree(out)
    captures, others = files
    report = as_json(done, str(out))
    assert report["errors"] > 0
    ledger = table(out, "_ledger")
    assert report["files"] == len(ledger) == len(captures) + len(others)
    for name in ("read", "overhead", "payload", "decoded", "quarantined", "unrecognised", "retransmitted"):
        assert report[name] == sum(row[name] for row in ledger)
    found = converted(out)
    assert unnumbered(found) == unnumbered(decoded([*captures, *others]))
    whole, places = merged(captures)
    (tmp_path / "merged.pcapng").write_bytes(whole)
    expected = [*decoded([tmp_path / "merged.pcapng"], places), *decoded(others)]
    assert unnumbered(on_time(found)) == unnumbered(on_time(expected))
    assert len(table(out, "messages")) > 1500
    # many of the quirks are of one and the same conversation
    assert report["repeated_files"] > 20
    assert "--separate" in text(done, str(out))


def test_each_for_itself(folders: list[Path], files: tuple[list[Path], list[Path]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    inprocess.run(folders, out, separate=True)
    sums_agree(out)
    captures, others = files
    assert unnumbered(converted(out)) == unnumbered(decoded([*captures, *others], options=["--separate"]))
    failed = {Path(row["file"]).name: row for row in table(out, "quarantine")}
    assert failed["editcap_netmon2.cap"]["error_text"].startswith("a capture of Microsoft Network Monitor")
    assert failed["tshark_fields_payload.txt"]["error_text"].startswith("line 2, column 1: ")
    assert failed["pcap_short_header.pcap"]["raw"] == bytes_of(captures, "pcap_short_header.pcap")
    ledger = {Path(row["file"]).name: row for row in table(out, "_ledger")}
    # packets as text are a capture of their own, and one without times has none
    assert (ledger["tcpdump_x.txt"]["packets"], ledger["tcpdump_x.txt"]["messages"]) == (14, 4)
    assert ledger["pcapng_simple_packets.pcapng"]["first_time"] is None
    assert ledger["pcapng_simple_packets.pcapng"]["messages"] == 4
