"""The progress of a run: a moving line on a terminal, a line now and then in a log."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from wirelens.codecs.words import clean

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession
    from rich.progress import Progress

READING_SHARE = 0.35  # of the work; decoding is the rest
LOG_SECONDS = 30.0  # between two lines in a log


class RunProgress(NamedTuple):
    """The shares of reading and decoding tasks that are done, and how many tasks failed."""

    reading: float
    decoding: float
    failed: int

    @property
    def done(self) -> float:
        """The share of the run that is done, from 0 to 1."""
        return READING_SHARE * self.reading + (1 - READING_SHARE) * self.decoding


class Watch:
    """Asks Spark for the progress of a run's jobs, which `tag` marks."""

    def __init__(self, spark: SparkSession, tag: str) -> None:
        self._spark = spark
        self._tag = tag
        self._remote = is_remote(spark)
        self._stages: dict[int, tuple[int, int, int]] = {}  # tasks: all, done, failed
        self._lock = threading.Lock()
        self.messages: Accumulator[int] | None = None
        self.errors: Accumulator[int] | None = None
        if self._remote:
            handler: Any = self._update  # typed as an abstract class, but any function works
            spark.registerProgressHandler(handler)
        else:
            self.messages = spark.sparkContext.accumulator(0)
            self.errors = spark.sparkContext.accumulator(0)

    def end(self) -> None:
        """Ask no more."""
        if self._remote:
            handler: Any = self._update
            self._spark.removeProgressHandler(handler)

    def progress(self) -> RunProgress:
        """The progress now; stages that Spark no longer reports stay as last seen."""
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
        return RunProgress(shares[0], shares[1], sum(failed for _, _, failed in stages))

    def tag(self) -> None:
        """Mark the jobs that this thread starts from now on."""
        if self._remote:
            self._spark.addTag(self._tag)
        else:  # the tags of a session apply only to the thread that set them
            self._spark.sparkContext.addJobTag(self._tag)

    def cancel(self) -> None:
        """Stop the run's jobs, from any thread."""
        if self._remote:
            self._spark.interruptTag(self._tag)
        else:
            self._spark.sparkContext.cancelJobsWithTag(self._tag)

    def _update(
        self, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """A ProgressHandler of Spark Connect."""
        with self._lock:
            for stage in stages or ():
                self._stages[stage.stage_id] = (stage.num_tasks, stage.num_completed_tasks, 0)


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has no status tracker and no accumulators."""
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
        self._shown = time.monotonic()
        self._started = self._shown
        self._files = self._bytes = 0
        self._done = 0.0  # the share that was done when it last grew, and the seconds until then
        self._done_seconds = 0.0

    def __enter__(self) -> Display:
        if self._moving:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._rich = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(16),
                TextColumn("{task.fields[detail]}"),
                TimeElapsedColumn(),
                console=Console(file=self._file, stderr=False),
                transient=True,
            )
            self._rich.start()
            self._task = self._rich.add_task("", total=None, detail="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rich is not None:
            self._rich.stop()
            self._rich = None

    def step(self, text: str) -> None:
        """Show what is being done."""
        if self._rich is not None:
            self._rich.update(self._task, description=clean(text))
        elif not self._quiet:
            self.show(text)

    def restart(self, text: str) -> None:
        """Show what is being done, with nothing of the run before."""
        if self._rich is not None:
            self._rich.remove_task(self._task)
            self._task = self._rich.add_task("", total=None, detail="")
        self.step(text)

    def show(self, text: str) -> None:
        """Show a line that stays."""
        text = clean(text)
        if self._rich is not None:
            self._rich.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=self._file, flush=True)

    def note(self, text: str) -> None:
        """Show a line that stays, unless no progress is wanted."""
        if not self._quiet:
            self.show(text)

    def set_total(self, files: int, size: int) -> None:
        """Set the files and bytes to convert."""
        self._files, self._bytes = files, size
        self._started = time.monotonic()
        self._done = self._done_seconds = 0.0

    def update(self, progress: RunProgress, messages: int | None, errors: int | None) -> None:
        """Show the progress."""
        now = time.monotonic()
        if self._rich is None and (self._quiet or now - self._shown < LOG_SECONDS):
            return
        self._shown = now
        seconds = max(now - self._started, 0.001)
        if progress.done != self._done:
            self._done, self._done_seconds = progress.done, seconds
        size = size_text(self._bytes)
        if progress.reading < 1:
            read = size_text(progress.reading * self._bytes)
            parts = [f"{int(progress.reading * self._files):,}/{self._files:,} files", f"{read} of {size}"]
        else:
            parts = [f"{size} read"]
        if messages is not None and progress.decoding:
            parts.append(f"{messages:,} messages")
        if errors:
            parts.append(f"{errors:,} errors")
        if progress.failed:
            parts.append(f"{progress.failed} tasks tried again")
        if progress.done:
            parts.append(f"{size_text(progress.done * self._bytes / self._done_seconds)}/s")
            left = self._done_seconds / progress.done - seconds  # tasks end in jumps, time passes evenly
            parts.append(f"{time_text(left)} left" if left > 1 else "nearly done")
        if self._rich is None:
            print(f"{progress.done:.0%}  {', '.join(parts)}", file=self._file, flush=True)
        else:
            self._rich.update(self._task, total=1.0, completed=progress.done, detail=", ".join(parts))


def size_text(size: float) -> str:
    """A size in bytes, for people."""
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
