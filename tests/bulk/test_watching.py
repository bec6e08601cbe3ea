"""`bulk --watch`: run after run, each for what is new."""

import os
import signal
import time
from io import StringIO
from pathlib import Path

import inprocess
import pytest
from inprocess import contents, convert, sums_agree, table
from made import frames, rotated

from wirelens.cli.bulk.cancelling import Cancelling
from wirelens.cli.bulk.job import Job, JobOptions
from wirelens.cli.bulk.progress import Display
from wirelens.cli.bulk.report import Report
from wirelens.cli.bulk.watching import SETTLE_SECONDS, Rounds


def growing(paths: list[Path], folder: Path) -> list[tuple[Path, bytes]]:
    """What is written to which file of a folder, one after the other: captures, the first in two parts."""
    folder.mkdir()
    steps = [(folder / path.name, path.read_bytes()) for path in paths]
    (first, data), *rest = steps
    return [(first, data[:3000]), (first, data[3000:]), *rest]


@pytest.mark.parametrize("early", [False, True], ids=["between two runs", "in a run"])
def test_what_comes_is_converted_until_a_signal(tmp_path: Path, early: bool) -> None:
    paths = sorted(rotated(frames(3, 12), 3, tmp_path / "all"), key=lambda path: path.name[-6:])
    steps = growing(paths, tmp_path / "in")
    out = tmp_path / "out"
    rounds = Rounds(Job(JobOptions([str(tmp_path / "in")], str(out), resume=True)), 0.001)
    shown = StringIO()

    def step() -> None:
        if steps:
            path, data = steps.pop(0)
            with path.open("ab") as file:
                file.write(data)
        else:
            os.kill(os.getpid(), signal.SIGINT)

    with Cancelling() as cancelled:

        def work(job: Job) -> Report:
            job._cancelling = cancelled
            if early:
                step()
            report = job.convert(convert, dict, 2)
            if not early:
                step()
            return report

        step()
        rounds.job.inspect()
        if early:
            with pytest.raises(KeyboardInterrupt):
                rounds.work(work, cancelled, Display(shown))
        else:
            rounds.work(work, cancelled, Display(shown))
        rounds.job.run.end()
    assert cancelled.signal == signal.SIGINT
    assert cancelled.committing != early
    assert not (out / "_runs").exists()
    report = rounds.report
    assert report is not None
    assert report.messages == len(table(out, "messages"))
    sums_agree(out)
    if early:
        return
    ledger = table(out, "_ledger")
    assert report.files == len(ledger) == 3
    assert report.size == sum(row["size"] for row in ledger)
    assert (report.pending, report.payload) == tuple(
        sum(row[name] for row in ledger) for name in ("pending", "payload")
    )
    assert shown.getvalue().count("1 file, ") == 4
    inprocess.run([tmp_path / "in"], out, resume=True, final=True)
    inprocess.run(paths, tmp_path / "other")
    known = [
        [row for row in contents(place) if "unknown-protocol" not in row]
        for place in (out, tmp_path / "other")
    ]
    assert known[0] == known[1]


def test_files_that_are_being_written_are_left_alone_unless_they_may_grow(tmp_path: Path) -> None:
    (path,) = rotated(frames(3, 2), 1, tmp_path / "in")
    payload, old = path.with_name("payload"), path.with_name("old")
    for file in (payload, old):
        file.write_bytes(b"1")
    os.utime(old, (0, time.time() - SETTLE_SECONDS - 1))
    options = JobOptions([str(tmp_path / "in")], str(tmp_path / "out"), settle_seconds=SETTLE_SECONDS)
    assert set(Job(options).find()) == {str(path), str(old)}
