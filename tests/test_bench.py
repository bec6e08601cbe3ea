"""The suite of measurements runs from end to end, in small sizes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def bench(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """The JSON of `python -m bench` with a folder of peers that is empty, and its table's text."""
    file = tmp_path / "out.json"
    command = [
        sys.executable,
        "-m",
        "bench",
        "--quick",
        "--json",
        str(file),
        "--peers",
        str(tmp_path / "none"),
    ]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert all(row["row"] in done.stdout for row in found["rows"])
    return {row["row"]: row for row in found["rows"]}


def test_the_plan_of_a_cluster_is_that_of_the_page() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.cluster"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout in (ROOT / "docs" / "bulk.md").read_text(encoding="utf-8")


def test_a_row_without_its_peer_says_so(tmp_path: Path) -> None:
    rows = bench(tmp_path, "--only", "tree-python", "--only", "text")
    assert set(rows) == {"tree-python", "text"}
    for row in rows.values():
        assert "--setup" in row["missing"]
        assert "reached" not in row


def test_rows_without_peers(tmp_path: Path) -> None:
    rows = bench(tmp_path, "--only", "start-help", "--only", "memory-message")
    assert rows["start-help"]["reached"] == (rows["start-help"]["judged"] <= 1.3)
    assert rows["start-help"]["figures"]["ours"] > 0
    assert rows["memory-message"]["figures"]["peak"] > rows["memory-message"]["figures"]["bytes"]


@pytest.mark.parametrize(
    "protocol", ["hessian2", "hessian2-draft", "hessian1", "esnp-line", "mevent", "magline"]
)
def test_corpora_are_whole_messages(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench import corpus
    from wirelens import codecs

    monkeypatch.setattr(corpus, "SHARED", ROOT / "nowhere")
    made = corpus.load(protocol, 20)
    assert made.messages == corpus.load(protocol, 20).messages
    assert len(set(made.messages)) == 20
    assert corpus.split(corpus.join(made.messages)) == made.messages
    for message in made.messages:
        (record,) = codecs.decode(message, protocol)
        assert not record.damaged
        assert not record.notes


def test_the_large_message_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench import corpus
    from wirelens import codecs

    data = corpus.large(400_000)
    (record,) = codecs.decode(data, "hessian2")
    assert not record.damaged
    assert len(data) > 300_000
    assert codecs.encode(record) == data


def other_python(tmp_path: Path) -> Path:
    """A command that is this Python, with the wirelens of the run under test."""
    script = tmp_path / "python"
    path = os.environ.get("PYTHONPATH", "")
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return script


@pytest.mark.once
@pytest.mark.slow
def test_two_versions_run_in_turn(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    command = [sys.executable, "-m", "bench", "--quick", "--json", str(file)]
    command += ["--against", str(other_python(tmp_path))]
    rows = ["tree-v1", "capture", "start-decode"]
    for row in rows:
        command += ["--only", row]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    found = json.loads(file.read_text())
    assert [row["row"] for row in found["rows"]] == rows
    for row in found["rows"]:
        assert len(row["here"]) == len(row["there"]) == 3
        assert min(*row["here"], *row["there"]) > 0
        low, high = row["quartiles"]
        assert low <= row["ratio"] <= high
    assert done.returncode == any(row["ratio"] < 0.97 for row in found["rows"]), done.stdout + done.stderr
    assert found["about"]["here"] == found["about"]["there"]


@pytest.mark.once
def test_the_median_of_the_pairs_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench import against, rows
    from bench.peers import Peers

    taken: list[str] = []

    def own(times: list[float]) -> rows.Own:
        @contextmanager
        def side(which: against.Installed, settings: rows.Settings) -> Iterator[against.Turn]:
            def turn() -> float:
                taken.append("here" if which.python == Path(sys.executable) else "there")
                return times[len(taken) // 2 % len(times)] if taken[-1] == "here" else 1.0

            yield turn

        return side

    def row(name: str, times: list[float]) -> rows.Row:
        return rows.Row(name, "", "", None, rows.memory_of_message, own=own(times))

    other = other_python(tmp_path)
    settings = rows.Settings(Peers(tmp_path), tmp_path, pairs=9)
    assert against.report([row("even", [1.0]), row("once", [1.0] * 8 + [2.0])], other, settings, None) == 0
    assert taken[:18] == ["here", "there"] * 9
    capsys.readouterr()
    assert against.report([row("even", [1.0]), row("slow", [1.05])], other, settings, None) == 1
    said = capsys.readouterr().out
    assert "0.952   0.952-0.952   below 0.97" in said
    assert said.endswith("below 0.97 or failed: slow\n")


@pytest.mark.once
def test_another_python_that_has_no_wirelens(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "--quick", "--only", "detect", "--against"]
    done = subprocess.run(
        [*command, str(tmp_path / "none")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "wirelens does not run there" in done.stderr


@pytest.mark.slow
def test_calls_beside_flows_and_with_many_open_ones(tmp_path: Path) -> None:
    rows = bench(tmp_path, "--only", "stats", "--only", "memory-calls")
    assert rows["stats"]["figures"]["theirs"] > 0
    assert rows["memory-calls"]["figures"]["peak"] > 0
