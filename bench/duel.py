"""Two contenders in turn: A B A B …, so that what slows the machine for a while slows both.

Each has a process of its own and is warmed up before the first turn; the ratio is taken pair by pair, and its
median is what counts.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

Command = Sequence[str | Path]
TURN = 0.05  # seconds of the processor that a turn takes about, where passes are counted


class ContenderError(RuntimeError):
    """A contender that did not come to its end; the text is the last that it said."""


class Contender:
    """A process that runs a pass for each line it is given, and reports how long that took."""

    def __init__(self, command: Command, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed in __exit__
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=cwd,
            env={**os.environ, **(env or {})},
        )
        self.messages = 0
        self.bytes = 0
        self._passes = 0  # in a turn of `processor`

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def ready(self) -> None:
        """Wait until it is warmed up."""
        said = json.loads(self._line())
        self.messages = said["messages"]
        self.bytes = said["bytes"]

    def seconds(self) -> float:
        """Run one pass."""
        return self._turn(1)[0]

    def rate(self) -> float:
        """Run one pass; messages a second."""
        return self.messages / self.seconds()

    def processor(self) -> float:
        """Run a few passes; seconds of the processor, user and system, of one.

        Only Python contenders say them.
        """
        if not self._passes:
            self._passes = max(1, round(TURN / max(self._turn(1)[1], 1e-6)))
        return self._turn(self._passes)[1] / self._passes

    def _turn(self, passes: int) -> list[float]:
        """Run some passes; seconds by the clock and, where the contender reports them, of the processor."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{passes}\n")
        self._process.stdin.flush()
        return [float(figure) for figure in self._line().split()]

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            said = self._errors.read().strip().splitlines()
            raise ContenderError(said[-1] if said else f"ended with status {self._process.returncode}")
        return line


@dataclass(frozen=True)
class Pairs:
    """Figures of the two sides, pair by pair."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the pairs' ratios, ours to theirs."""
        return statistics.median(self.ratios)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Of the pairs' ratios."""
        if len(self.ratios) < 2:
            return self.ratio, self.ratio
        low, _, high = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return low, high

    @property
    def our_median(self) -> float:
        return statistics.median(self.ours)

    @property
    def their_median(self) -> float:
        return statistics.median(self.theirs)


def alternate(ours: Callable[[], float], theirs: Callable[[], float], pairs: int) -> Pairs:
    """Take `pairs` figures of each side, in turn."""
    first: list[float] = []
    second: list[float] = []
    for _ in range(pairs):
        first.append(ours())
        second.append(theirs())
    return Pairs(first, second)


@dataclass(frozen=True)
class Finished:
    """A command that ran to its end: seconds, those of the processor, peak memory and output in bytes."""

    seconds: float
    processor: float  # user and system
    peak: int
    printed: int


def run(
    command: Command, source: Path | IO[bytes] | None = None, env: dict[str, str] | None = None
) -> Finished:
    """Run a command to its end, its output read through a pipe and thrown away.

    `source`: its standard input, a file or what is open already.

    Raises ContenderError where its exit status is not 0.
    """
    if source is None or isinstance(source, Path):
        opened: IO[bytes] = open(source or os.devnull, "rb")  # noqa: SIM115, closed below
    else:
        opened = source
    with tempfile.TemporaryFile("w+") as errors, opened as standard_input:
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=standard_input,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(env or {})},
        )
        assert process.stdout is not None
        printed = 0
        while chunk := os.read(process.stdout.fileno(), 1 << 20):
            printed += len(chunk)
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        unit = 1 if sys.platform == "darwin" else 1024
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            said = errors.read().strip().splitlines()
            raise ContenderError(said[-1] if said else f"ended with status {process.returncode}")
    return Finished(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit, printed)
