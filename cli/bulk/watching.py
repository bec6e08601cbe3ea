"""Runs one after the other, each for what is new in the sources, until a signal comes between two of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from wirelens.cli.bulk.job import Job
from wirelens.cli.bulk.ledger import ActiveRunError
from wirelens.cli.bulk.progress import size_text, time_text
from wirelens.cli.bulk.report import Report, added
from wirelens.codecs.words import count

if TYPE_CHECKING:
    from typing import Final

    from wirelens.cli.bulk.cancelling import Cancelling
    from wirelens.cli.bulk.progress import Display

SETTLE_SECONDS: Final = 5.0  # since a file was last written, unless it is read as it grows


class Rounds:
    """The runs of a command, and their report together."""

    def __init__(self, job: Job, seconds: float = 0) -> None:
        """`seconds` pass between two looks at the sources; 0: there is one run only."""
        self.job = job  # the current one
        self.report: Report | None = None
        self._seconds = seconds
        self._first = job.run.name

    @property
    def watching(self) -> bool:
        """Whether there is more than one."""
        return self._seconds > 0

    def work(self, convert: Callable[[Job], Report], cancelling: Cancelling, display: Display) -> None:
        """Convert with `convert`, and go on with what is new.

        Raises CancelledError, and what `convert` raises.
        """
        if self.job.idle:
            self.report = Report(skipped=self.job.skipped)
            cancelling.begin_commit()
        else:
            self._add(convert(self.job), display)
        while self.watching:
            self.job.run.end()
            if not self._wait(cancelling, display):
                return
            self._add(convert(self.job), display)

    def _wait(self, cancelling: Cancelling, display: Display) -> bool:
        """Wait until there is a job for something new; whether to go on."""
        display.restart("Waiting for new files; Ctrl-C ends")
        seen = self.job.files
        complaint = ""
        while not cancelling.signal:
            cancelling.sleep(self._seconds)
            job = Job(self.job.options)
            try:
                if job.find() == seen:
                    continue
                job.inspect()
            except (ActiveRunError, OSError) as error:  # it may be better at the next look
                if str(error) != complaint:
                    complaint = str(error)
                    display.show(f"{_clock()}  {complaint}; looking again in {time_text(self._seconds)}")
                continue
            if not job.idle:
                self.job = job
                return cancelling.end_commit()
            seen = job.files
            job.run.end()
        return False

    def _add(self, report: Report, display: Display) -> None:
        """Add the report of a run; files that grew since an earlier one are counted once."""
        if self.watching:
            files, size = count(len(self.job.inputs), "file"), size_text(self.job.total)
            done = f"{count(report.messages, 'message')}, {count(report.errors, 'error')}"
            display.note(f"{_clock()}  {files}, {size}: {done} in {time_text(report.seconds)}")
        rows = [item.ledger_row for item in self.job.inputs if item.kind == "grown"]
        again = [row for row in rows if row is not None and row.run >= self._first]
        grown = sum(row.size for row in again)
        one = replace(report, files=report.files - len(again), size=report.size - grown)
        self.report = one if self.report is None else added(self.report, one)


def _clock() -> str:
    return time.strftime("%H:%M:%S")
