"""`python -m bench --against PYTHON`: this wirelens beside the one that another Python has installed.

Row by row, in turn, by the processor time that a pass or a command takes, user and system. Where the memory
of a process happens to lie makes a few per cent of its speed for as long as it runs: both are started anew
every few pairs. A ratio above 1 means that this wirelens is the faster one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench import corpus
from bench.duel import Command, Contender, ContenderError, Pairs, alternate, run

if TYPE_CHECKING:
    from bench.rows import Row, Settings

ENOUGH = 0.97  # of the other's speed; below this a row has become slower
PAIRS = 45
ROUNDS = 5  # processes of each side

Turn = Callable[[], float]


@dataclass(frozen=True)
class Installed:
    """A Python with wirelens; `path` is where it looks besides its own folders."""

    python: Path
    path: str = ""

    @property
    def env(self) -> dict[str, str]:
        return {"PYTHONPATH": self.path, "PYTHONDONTWRITEBYTECODE": "1"}

    def module(self, name: str, *arguments: str | Path) -> Command:
        return [self.python, "-m", name, *arguments]

    def wirelens(self, *arguments: str | Path) -> Command:
        """A command line that runs wirelens as a user does."""
        script = self.python.with_name("wirelens")
        if script.exists() and not self.path:
            return [script, *arguments]
        return [self.python, "-P", "-c", "from wirelens.cli.main import main; main()", *arguments]

    def describe(self) -> str:
        """What `wirelens --version` prints there; raises ContenderError where it cannot run."""
        command = [str(part) for part in self.wirelens("--version")]
        try:
            done = subprocess.run(
                command, env={**os.environ, **self.env}, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise ContenderError(str(error)) from error
        if done.returncode:
            raise ContenderError((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
        return done.stdout.strip()


# ---- what a row measures of each side: a context that gives a turn, which gives seconds of the processor


@contextmanager
def passes(
    task: str, file: Callable[[Settings], Path], protocol: str, side: Installed, settings: Settings
) -> Iterator[Turn]:
    """A task of contender.py on a file of messages."""
    command = side.module("bench.contender", task, file(settings), protocol, str(settings.warm_up))
    with Contender(command, side.env, corpus.ROOT) as contender:
        contender.ready()
        yield contender.processor


@contextmanager
def commands(
    arguments: Callable[[Settings], Sequence[str | Path]], side: Installed, settings: Settings
) -> Iterator[Turn]:
    """A command of wirelens from start to end."""
    command = side.wirelens(*arguments(settings))

    def turn() -> float:
        return run(command, env=side.env).processor

    turn()
    yield turn


@contextmanager
def bulk(side: Installed, settings: Settings) -> Iterator[Turn]:
    """What Spark's workers take to decode captures."""

    def turn() -> float:
        with tempfile.TemporaryDirectory(dir=settings.folder) as name:
            file = Path(name, "bulk.json")
            size = str(max(1, settings.capture // 1_000_000))
            command = side.module("bench.bulk", "--sizes", size, "--folder", name, "--json", file)
            env = {**os.environ, **side.env}
            parts = [str(part) for part in command]
            done = subprocess.run(
                parts, cwd=corpus.ROOT, env=env, check=False, capture_output=True, text=True
            )
            if done.returncode:
                raise ContenderError((done.stderr.strip().splitlines() or ["bench.bulk failed"])[-1])
            (found,) = json.loads(file.read_text())
            return float(found["decoding"])

    yield turn


# ---- the comparison


def compare(row: Row, here: Installed, there: Installed, settings: Settings) -> Pairs:
    """Seconds of both, in turn; raises ContenderError where a side does not come to its end."""
    assert row.own is not None
    found = Pairs([], [])
    for number in range(ROUNDS):
        count = (settings.pairs + number) // ROUNDS
        if not count:
            continue
        with row.own(here, settings) as ours, row.own(there, settings) as theirs:
            pairs = alternate(ours, theirs, count)
        found = Pairs(found.ours + pairs.ours, found.theirs + pairs.theirs)
    return found


def report(rows: list[Row], python: Path, settings: Settings, target: Path | None) -> int:
    """Compare the rows and print them; the exit status: 1 if a row became slower or failed."""
    # not resolved: the Python of a virtual environment is a link
    here, there = (
        Installed(Path(sys.executable), os.environ.get("PYTHONPATH", "")),
        Installed(python.absolute()),
    )
    try:
        about = {"here": here.describe(), "there": there.describe()}
    except ContenderError as error:
        print(f"wirelens does not run there: {error}", file=sys.stderr)
        return 2
    for name, said in about.items():
        print(f"{name}: {said}")
    print(f"seconds of the processor, {settings.pairs} pairs; a ratio above 1: faster here")
    print(f"{'row':16}{'here':>12}{'there':>12}{'ratio':>8}   quartiles", flush=True)
    slower: list[str] = []
    results: list[dict[str, object]] = []
    for row in rows:
        try:
            pairs = compare(row, here, there, settings)
        except ContenderError as error:
            print(f"{row.name:16}failed: {error}", flush=True)
            slower.append(row.name)
            results.append({"row": row.name, "failed": str(error)})
            continue
        speed = Pairs(pairs.theirs, pairs.ours)  # speeds are the times' reciprocals
        low, high = speed.quartiles
        verdict = "" if speed.ratio >= ENOUGH else f"   below {ENOUGH}"
        ours, theirs = scaled(pairs.our_median), scaled(pairs.their_median)
        print(
            f"{row.name:16}{ours:>12}{theirs:>12}{speed.ratio:8.3f}   {low:.3f}-{high:.3f}{verdict}",
            flush=True,
        )
        if verdict:
            slower.append(row.name)
        results.append({"row": row.name, "ratio": speed.ratio, "quartiles": [low, high]})
        results[-1] |= {"here": pairs.ours, "there": pairs.theirs}
    if target is not None:
        target.write_text(json.dumps({"about": about, "rows": results}, indent=2) + "\n")
    if slower:
        print(f"below {ENOUGH} or failed: {', '.join(slower)}")
    return 1 if slower else 0


def scaled(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.2f} ms"
