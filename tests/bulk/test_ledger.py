"""All of a run or nothing of it, whenever it ends."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inprocess import VECTORS, contents, convert, run, sums_agree, table
from made import capture, frames, rotated
from pyarrow import parquet

from wirelens.cli.bulk import ledger, settings
from wirelens.cli.bulk import table as tables
from wirelens.cli.bulk.files import Folder, Readers
from wirelens.cli.bulk.job import Job, JobOptions
from wirelens.cli.bulk.ledger import NotAllowedError
from wirelens.codecs.captures import unbundle


class KilledError(BaseException):
    """Nothing may catch it, as nothing catches SIGKILL."""


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    return rotated(frames(3, 8), 3, tmp_path / "in")


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets the folder's nth change from now on be the last; all that changes it is counted."""
    left = [1 << 60]

    def die(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise KilledError
            return function(*args)

        return call

    for name in ("write", "create", "move", "remove"):
        monkeypatch.setattr(Folder, name, die(getattr(Folder, name)))
    monkeypatch.setattr(ledger, "_is_alive", lambda who: False)

    def after(count: int) -> None:
        left[0] = count

    return after


def killed_run(sources: list[Path], target: Path, **options: Any) -> bool:
    """A run that nobody ends; whether it came to its end."""
    job = Job(JobOptions([str(source) for source in sources], str(target), **options))
    try:
        job.inspect()
        job.convert(convert, dict, 2)
    except KilledError:
        return False
    finally:
        job.run._stop.set()
    return True


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("mode", ["errorifexists", "overwrite", "append", "resume"])
def test_killed_anywhere_the_next_run_makes_it_whole(
    sources: list[Path], tmp_path: Path, killed: Callable[[int], None], mode: str
) -> None:
    options: dict[str, Any] = {"resume": True} if mode == "resume" else {"mode": mode}
    begun, whole = tmp_path / "begun", tmp_path / "whole"
    begun.mkdir()
    if mode != "errorifexists":
        run(sources[:1], begun, resume=mode == "resume")
    before = contents(begun)
    shutil.copytree(begun, whole)
    run(sources, whole, **options)
    expected = contents(whole)
    steps = 0
    while True:
        target = tmp_path / f"out{steps}"
        shutil.copytree(begun, target)
        killed(steps)
        done = killed_run(sources, target, **options)
        killed(1 << 60)
        if done:
            break
        # Nothing shows of a run that did not get to its commit.
        last = max(target.glob("_ledger/_versions/*.json"), default=None)
        if last is None or not (target / "_runs" / json.loads(last.read_text())["run"]).exists():
            assert contents(target) in (before, expected)
        job = Job(JobOptions([], str(target), mode="append"))
        job.run.begin("append", False)
        job.run.end()
        if contents(target) != expected:
            assert contents(target) == before
            run(sources, target, **options)
        assert contents(target) == expected, steps
        sums_agree(target)
        assert not (target / "_runs").exists()
        steps += 1 if mode == "overwrite" else 3  # which has all kinds of changes
    assert steps > 5


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_full_disk_leaves_nothing(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    left = [at]
    write = tables.PartWriter.write

    def full(writer: tables.PartWriter, batch: Any, size: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(writer, batch, size)

    with monkeypatch.context() as patch:
        patch.setattr(tables.PartWriter, "write", full)
        with pytest.raises(OSError, match="No space"):
            run(sources, tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.parquet"))
    run(sources, tmp_path / "out")
    run(sources, tmp_path / "other")
    assert contents(tmp_path / "out") == contents(tmp_path / "other")


@pytest.mark.parametrize("how", [{"mode": "append"}, {"resume": True}])
def test_tables_keep_their_form(sources: list[Path], tmp_path: Path, how: dict[str, Any]) -> None:
    lines, plain = tmp_path / "lines", tmp_path / "plain"
    run(sources[:1], lines, jsonl=True, resume=True)
    run(sources[:1], plain, resume=True)
    with pytest.raises(NotAllowedError, match="--format jsonl"):
        run(sources, lines, **how)
    with pytest.raises(NotAllowedError, match="--format parquet"):
        run(sources, plain, jsonl=True, **how)
    with pytest.raises(NotAllowedError, match="--document json"):
        run(sources, plain, document="variant", **how)
    run(sources, lines, jsonl=True, **how)
    run(sources, plain, **how)
    assert not (plain / "_runs").exists()
    written = [json.loads(line) for path in lines.rglob("*.jsonl") for line in path.read_text().splitlines()]
    places = [(row["file"], row["packet"], row["flow_number"]) for row in written if "flow_number" in row]
    assert sorted(places) == sorted(
        (row["file"], row["packet"], row["flow_number"])
        for name in ("messages", "quarantine", "calls", "connections")
        for row in table(plain, name)
        if row["flow_number"] is not None
    )


def test_settings_belong_to_what_was_written(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run(sources[:2], out, resume=True, separate=True)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "with --separate: --resume needs the same"),
        ({"separate": True, "protocol": "esnp"}, "without --as: --resume"),
        ({"separate": True, "point": "folder"}, "without --point: --resume"),
        ({"separate": True, "quarantine": "full"}, "with --quarantine head: --resume"),
    ]
    for options, expected in wrong:
        with pytest.raises(NotAllowedError, match=expected):
            run(sources, out, resume=True, **options)
    own = {name: getattr(settings, name)() for name in ("version", "codecs_digest")}
    for name, expected in (
        ("version", f"by wirelens {own['version']}, and this is 99"),
        ("codecs_digest", f"codecs {own['codecs_digest']}, here 99"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(settings, name, lambda: "99")
            with pytest.raises(NotAllowedError, match=re.escape(expected)):
                run(sources, out, resume=True, separate=True)
            run(sources[:1], tmp_path / name, mode="append")
    run(sources, out, resume=True, separate=True)
    written = [json.loads(row["settings"]) for row in table(out, "_ledger")]
    parts = [parquet.read_metadata(path).metadata for path in (out / "messages").rglob("*.parquet")]
    written += [json.loads(metadata[settings.METADATA]) for metadata in parts]
    assert all(one == written[0] for one in written)
    assert (written[0]["--separate"], written[0]["wirelens"]) == ("yes", own["version"])


def test_a_file_that_did_not_change_is_not_read_again(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(sources[:2], tmp_path / "out", resume=True)
    opened: list[str] = []
    head = Readers.head

    def logged(readers: Readers, root: str, path: str, size: int) -> bytes:
        opened.append(path)
        return head(readers, root, path, size)

    monkeypatch.setattr(Readers, "head", logged)
    os.utime(sources[1])
    job = Job(JobOptions([str(source) for source in sources], str(tmp_path / "out"), resume=True))
    job.inspect(changing=False)
    assert opened == [str(sources[1]), str(sources[2])]
    assert (job.skipped, len(job.inputs)) == (2, 1)


def test_tables_of_another_layout_are_refused(sources: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(sources, out)
    once = contents(out)
    (path,) = (out / "_ledger" / "_versions").iterdir()
    steps = json.loads(path.read_text())
    for change, expected in (({"layout": 1}, "an older"), ({"layout": 99}, "a newer"), (None, "an older")):
        path.unlink(missing_ok=True)
        if change is not None:
            path.write_text(json.dumps(steps | change))
        ways: list[dict[str, Any]] = [{"resume": True}, {"mode": "append"}]
        for how in ways:
            with pytest.raises(NotAllowedError, match=f"the layout of {expected} wirelens.*--mode overwrite"):
                run(sources, out, **how)
            job = Job(JobOptions([str(source) for source in sources], str(out), **how))
            with pytest.raises(NotAllowedError, match=expected):
                job.inspect(changing=False)
    run(sources, out, mode="overwrite")
    assert contents(out) == once


def test_a_finished_folder_is_refused_unless_the_mode_allows_it(sources: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(sources, out)
    once = contents(out)
    with pytest.raises(NotAllowedError, match="--resume"):
        run(sources, out)
    assert contents(out) == once
    run(sources, out, mode="overwrite")
    assert contents(out) == once
    once = contents(out, numbers=False)
    last = max(row["flow_number"] for row in table(out, "messages"))
    flows = sum(row["flows"] or 0 for row in table(out, "_ledger"))
    run(sources, out, mode="append")
    assert sorted(once + once) == contents(out, numbers=False)
    numbers = {row["flow_number"] for row in table(out, "messages") if row["flow_number"] is not None}
    assert max(numbers) == flows + last  # flows that are added have the next ones
    sums_agree(out)
    assert len({row["number"] for row in table(out, "_ledger")}) == 2 * len(sources)


def test_a_folder_of_somebody_else_is_refused(sources: list[Path], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    for mode in ("errorifexists", "overwrite"):
        with pytest.raises(NotAllowedError, match="thesis"):
            run(sources, tmp_path / "out", mode=mode)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "mine"


def test_two_runs_at_a_time_are_refused(sources: list[Path], tmp_path: Path) -> None:
    first = Job(JobOptions([str(sources[0])], str(tmp_path / "out")))
    first.inspect()
    with pytest.raises(NotAllowedError, match="another run is active"):
        run(sources, tmp_path / "out")
    first.run.end()
    run(sources, tmp_path / "out")


RACE = """
import sys, time
from wirelens.cli.bulk.ledger import NotAllowedError, Run
run = Run(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    run.begin("append", False)
except NotAllowedError as error:
    assert "another run is active" in str(error), error
    print("refused", flush=True)
else:
    print("active", flush=True)
    sys.stdin.readline()  # until all have looked
    run.end()
"""


def test_of_runs_that_begin_at_one_moment_one_goes_on(tmp_path: Path) -> None:
    words = [sys.executable, "-c", RACE, str(tmp_path / "out")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen(words, **pipes) for _ in range(4)]
    for one in runs:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in runs:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    answers = sorted(one.stdout.readline() for one in runs if one.stdout is not None)
    assert answers == ["active\n", *["refused\n"] * 3]
    for one in runs:
        one.communicate("end\n")
        assert one.returncode == 0
    assert not (tmp_path / "out" / "_runs").exists()


def test_a_slow_run_cannot_commit_after_another_took_over(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one gives no sign of life until the other is done, or is at work."""
    out = tmp_path / "out"
    for finished in (True, False):
        slow = Job(JobOptions([str(sources[0])], str(out), mode="append"))
        slow.inspect()
        monkeypatch.setattr(ledger, "_is_alive", lambda who: False)
        other = Job(JobOptions([str(sources[1])], str(out), mode="append"))
        other.inspect()
        if finished:
            other.convert(convert, dict, 2)
        monkeypatch.undo()
        slow.run.folder.make(slow.run.path)
        slow.run._write_heartbeat()
        before = contents(out) if finished else []
        with pytest.raises(NotAllowedError, match="another run took over"):
            slow.run.commit([], {}, slow.run._state.ledger)
        slow.run.end()
        other.run.end()
        assert contents(out) == before or not finished
    sums_agree(out)
    assert len(table(out, "_ledger")) == 1


def test_a_dead_run_is_known_by_its_process(sources: list[Path], tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    folder = Folder(str(tmp_path / "out"))
    folder.make("_runs", "old")
    who = {"host": os.uname().nodename, "pid": gone.pid, "time": 4e9}
    folder.write(json.dumps(who).encode(), "_runs", "old", "run.json")
    run(sources, tmp_path / "out")
    sums_agree(tmp_path / "out")


def test_a_task_that_was_tried_again_counts_once(sources: list[Path], tmp_path: Path) -> None:
    job = Job(JobOptions([str(source) for source in sources], str(tmp_path / "out")))
    job.inspect()
    try:
        # the first try writes its parts, and is lost
        job.convert(lambda plan, config: [convert(plan, config), convert(plan, config)][1], dict, 2)
    finally:
        job.run.end()
    run(sources, tmp_path / "other")
    assert contents(tmp_path / "out") == contents(tmp_path / "other")


@pytest.mark.parametrize("spoil", [lambda results: results[:-1], lambda results: results + results[:1]])
def test_an_account_that_is_lost_or_doubled_fails_the_run(
    sources: list[Path], tmp_path: Path, spoil: Callable[[list[bytes]], list[bytes]]
) -> None:
    from wirelens.cli.bulk.settling import UnbalancedError

    job = Job(JobOptions([str(source) for source in sources], str(tmp_path / "out")))
    job.inspect()
    try:
        with pytest.raises(UnbalancedError):
            job.convert(lambda plan, config: spoil(convert(plan, config)), dict, 2)
    finally:
        job.run.end()
        assert not list((tmp_path / "out").rglob("*.parquet"))


def test_lost_rows_fail_the_run(sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wirelens.cli.bulk import decoding
    from wirelens.cli.bulk.chunks import SegmentRun
    from wirelens.cli.bulk.settling import UnbalancedError

    def spoiled(key: bytes, data: bytes) -> SegmentRun:
        keys, segments = unbundle(key, data)
        return keys[1:], segments[1:]

    monkeypatch.setattr(decoding, "unbundle", spoiled)
    with pytest.raises(UnbalancedError, match="bytes of segments"):
        run(sources, tmp_path / "out")


def test_the_columns_carry_their_comments(sources: list[Path], tmp_path: Path) -> None:
    run(sources, tmp_path / "out")
    for name, columns in tables.TABLES.items():
        folder = "_ledger" if name == "ledger" else name
        for path in (tmp_path / "out" / folder).rglob("*.parquet"):
            file = parquet.ParquetFile(path)
            comments = {field.name: field.metadata[b"comment"].decode() for field in file.schema_arrow}
            assert comments == {column: comment for column, _, comment in columns}
            if file.num_row_groups:
                assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_json_lines_hold_the_same(sources: list[Path], tmp_path: Path) -> None:
    run(sources, tmp_path / "out")
    run(sources, tmp_path / "lines", jsonl=True)
    for name in ("messages", "quarantine"):
        rows = [
            json.loads(line)
            for path in sorted((tmp_path / "lines" / name).rglob("*.jsonl"))
            for line in path.read_text().splitlines()
        ]
        expected = table(tmp_path / "out", name)
        assert len(rows) == len(expected)
        key = "message" if name == "messages" else "raw"
        for row in expected:
            row[key] = json.loads(row[key]) if name == "messages" else row[key].hex()
        assert sorted(json.dumps(row[key]) for row in rows) == sorted(
            json.dumps(row[key]) for row in expected
        )


def test_one_capture_makes_one_part_a_protocol(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(capture(frames(1)))
    run([tmp_path / "a.pcap"], tmp_path / "out")
    parts = list((tmp_path / "out" / "messages").rglob("*.parquet"))
    assert len(parts) == len({path.parent for path in parts})


def test_streams_kept_by_another_version_are_refused(sources: list[Path], tmp_path: Path) -> None:
    run(sources[:2], tmp_path / "out", resume=True)
    (path,) = (tmp_path / "out" / "_ledger" / "_pending").rglob("*.json")
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"version": kept["version"] - 1}))
    with pytest.raises(NotAllowedError, match="another version"):
        run(sources, tmp_path / "out", resume=True)
    path.unlink()
    with pytest.raises(NotAllowedError, match="another version"):
        run(sources, tmp_path / "out", resume=True)
    path.write_text(json.dumps(kept))
    run(sources, tmp_path / "out", resume=True, final=True)
    run(sources, tmp_path / "other")
    known = [row for row in contents(tmp_path / "other") if "unknown-protocol" not in row]
    assert [row for row in contents(tmp_path / "out") if "unknown-protocol" not in row] == known


def test_a_full_disk_is_not_taken_for_an_unreadable_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a file that is not a capture are written while it is read."""
    data = (VECTORS / "mevent.jsonl").read_bytes().splitlines()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(b"".join(bytes.fromhex(json.loads(line)["hex"]) for line in data))

    def full(writer: tables.PartWriter, batch: Any, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tables, "ROW_GROUP_ROWS", 1)
    monkeypatch.setattr(tables.PartWriter, "write", full)
    with pytest.raises(OSError, match="No space"):
        run([tmp_path / "in"], tmp_path / "out")
