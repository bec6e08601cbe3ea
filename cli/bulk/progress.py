"""What a run says while it works: a moving line on a terminal, now and then a line in a log."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession
    from rich.progress import Progress

READING_SHARE = 0.35
"""So much of the work is reading; decoding is the rest."""
LOG_SECONDS = 30.0


class Look(NamedTuple):
    """How far a run is: shares of the reading and the decoding tasks that are done, and tasks that failed."""

    reading: float
    decoding: float
    failed: int

    @property
    def done(self) -> float:
        return READING_SHARE * self.reading + (1 - READING_SHARE) * self.decoding


class Watch:
    """Asks Spark how far a run's jobs are. `tag` marks those jobs."""

    def __init__(self, spark: SparkSession, tag: str) -> None:
        self._spark = spark
        self._tag = tag
        self._remote = is_remote(spark)
        self._stages: dict[int, tuple[int, int, int]] = {}  # all, done, failed tasks
        self._lock = threading.Lock()
        self.messages: Accumulator[int] | None = None
        self.errors: Accumulator[int] | None = None
        if self._remote:
            handler: Any = self._told  # an abstract class, though any function will do
            spark.registerProgressHandler(handler)
        else:
            self.messages = spark.sparkContext.accumulator(0)
            self.errors = spark.sparkContext.accumulator(0)

    def look(self) -> Look:
        """Where things stand; what Spark has forgotten stays as it was last seen."""
        if not self._remote:
            tracker = self._spark.sparkContext.statusTracker()
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    self._stages[stage] = (info.numTasks, info.numCompletedTasks, info.numFailedTasks)
            active = set(tracker.getActiveStageIds())
            for stage, (tasks, _, failed) in self._stages.items():
                if stage not in active and any(later in active for later in self._stages if later > stage):
                    self._stages[stage] = (tasks, tasks, failed)
        with self._lock:
            stages = [self._stages[stage] for stage in sorted(self._stages)]
        shares = [done / tasks if tasks else 1.0 for tasks, done, _ in stages[:2]] + [0.0, 0.0]
        return Look(shares[0], shares[1], sum(failed for _, _, failed in stages))

    def tag(self) -> None:
        """Take what this thread starts from now on for the run's."""
        if self._remote:
            self._spark.addTag(self._tag)
        else:  # a session's tags are known to the thread that set them, and to no other
            self._spark.sparkContext.addJobTag(self._tag)

    def cancel(self) -> None:
        """Stop the run's jobs, from any thread."""
        if self._remote:
            self._spark.interruptTag(self._tag)
        else:
            self._spark.sparkContext.cancelJobsWithTag(self._tag)

    def _told(
        self, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """As ProgressHandler of Spark Connect has it."""
        with self._lock:
            for stage in stages or ():
                self._stages[stage.stage_id] = (stage.num_tasks, stage.num_completed_tasks, 0)


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is Spark Connect's, which has no status tracker and no accumulators."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


class Display:
    """Shows steps and progress on `file`, the terminal's or a log's stderr."""

    def __init__(self, file: TextIO, wanted: bool | None = None) -> None:
        self._file = file
        smart = file.isatty() and os.environ.get("TERM") != "dumb"
        self._moving = smart if wanted is None else wanted and smart
        self._quiet = wanted is False
        self._rich: Progress | None = None
        self._task: Any = None
        self._told = time.monotonic()
        self._started = self._told
        self._files = self._bytes = 0
        self._done, self._at = (
            0.0,
            0.0,
        )  # the share that was done when it last grew, and the seconds until then

    def __enter__(self) -> Display:
        if self._moving:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._rich = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(16),
                TextColumn("{task.fields[said]}"),
                TimeElapsedColumn(),
                console=Console(file=self._file, stderr=False),
                transient=True,
            )
            self._rich.start()
            self._task = self._rich.add_task("", total=None, said="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rich is not None:
            self._rich.stop()
            self._rich = None

    def step(self, text: str) -> None:
        """Say what is being done."""
        if self._rich is not None:
            self._rich.update(self._task, description=text)
        elif not self._quiet:
            self.say(text)

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._rich is not None:
            self._rich.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=self._file, flush=True)

    def expect(self, files: int, size: int) -> None:
        """The work that lies ahead."""
        self._files, self._bytes = files, size
        self._started = time.monotonic()

    def update(self, look: Look, messages: int | None, errors: int | None) -> None:
        """Where things stand."""
        now = time.monotonic()
        if self._rich is None and (self._quiet or now - self._told < LOG_SECONDS):
            return
        self._told = now
        seconds = max(now - self._started, 0.001)
        if look.done != self._done:
            self._done, self._at = look.done, seconds
        size = size_text(self._bytes)
        if look.reading < 1:
            read = size_text(look.reading * self._bytes)
            parts = [f"{int(look.reading * self._files):,}/{self._files:,} files", f"{read} of {size}"]
        else:
            parts = [f"{size} read"]
        if messages is not None and look.decoding:
            parts.append(f"{messages:,} messages")
        if errors:
            parts.append(f"{errors:,} errors")
        if look.failed:
            parts.append(f"{look.failed} tasks tried again")
        if look.done:
            parts.append(f"{size_text(look.done * self._bytes / self._at)}/s")
            left = self._at / look.done - seconds  # tasks end in leaps, time does not
            parts.append(f"{time_text(left)} left" if left > 1 else "nearly done")
        if self._rich is None:
            print(f"{look.done:.0%}  {', '.join(parts)}", file=self._file, flush=True)
        else:
            self._rich.update(self._task, total=1.0, completed=look.done, said=", ".join(parts))


def size_text(size: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def time_text(seconds: float) -> str:
    """A time span for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
