"""`stats --every`: the table of a pipe, again and again."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from wirelens.cli.stats_output import as_json, ordered
from wirelens.codecs.words import count

if TYPE_CHECKING:
    from wirelens.cli.call_reading import CallReading
    from wirelens.cli.output import Output


class Repeating:
    """Shows the statistics of all calls since the start, each time some time has passed.

    On a terminal in place. The timer may interrupt the wait for input, where the table is drawn at once;
    anywhere else it waits for the next batch of calls.
    """

    def __init__(
        self, reading: CallReading, by: tuple[str, ...], sort: str, style: str, output: Output
    ) -> None:
        from wirelens.codecs.stats import Statistics

        self.reading = reading
        self.statistics = Statistics(by)
        self.sort = sort
        self.style = style
        self.output = output
        self.waiting = False  # whether it waits for input
        self.due = False
        self.drawn = 0  # lines of the last table on the terminal

    def run(self, every_us: int) -> None:
        """Read all calls; show the last table at the end."""
        self.output.live()
        self.reading.before_read = self._wait
        before = signal.signal(signal.SIGALRM, self._rings)
        signal.setitimer(signal.ITIMER_REAL, every_us / 1e6, every_us / 1e6)
        try:
            for calls in self.reading.batches():
                self.waiting = False
                for call in calls:
                    if self.reading.takes(call):
                        self.statistics.add(call)
                if self.due:
                    self.draw()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.draw(True)

    def _wait(self) -> None:
        if self.due:
            self.draw()
        self.waiting = True

    def _rings(self, number: int, frame: object) -> None:
        self.due = True
        if self.waiting:
            self.draw()

    def draw(self, last: bool = False) -> None:
        """Show the table."""
        self.due = False
        output = self.output
        if self.style == "json":
            from wirelens.codecs import dumps

            groups = ordered(self.statistics, self.sort)
            output.text(dumps([as_json(self.statistics.by, group) for group in groups]) + "\n")
        else:
            self._draw_text(last)
        output.flush()

    def _draw_text(self, last: bool) -> None:
        from wirelens.formatters import layout as lay
        from wirelens.formatters.stats import table

        output = self.output
        lines = table(self.statistics, output.layout, ordered(self.statistics, self.sort))
        open_calls = self.reading.open
        calls = f"{count(self.statistics.calls, 'call')} finished, {open_calls:,} open"
        if output.terminal:
            if self.drawn:
                output.text(f"\x1b[{self.drawn}A\x1b[J")
            self.drawn = len(lines) + 1
        else:
            from time import time_ns

            from wirelens.codecs.numbers import time_text

            output.line([(lay.HEADING, time_text(time_ns() // 1000))])
        output.lines(lines)
        output.line([(lay.DIM, calls)])
        if not output.terminal and not last:
            output.text("\n")
