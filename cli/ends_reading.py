"""The calls of captures that were made at both ends: read twice, joined, each with where its time went."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

import click

from wirelens.cli.call_reading import CallReading
from wirelens.cli.input import STDIN, Input
from wirelens.cli.input_options import InputOptions
from wirelens.cli.inputs import Inputs
from wirelens.cli.server_side import OPTION
from wirelens.cli.stderr import warn
from wirelens.codecs.numbers import time_text
from wirelens.codecs.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, Final

    from wirelens.cli.input_options import MergeOptions
    from wirelens.cli.select import Selection
    from wirelens.codecs.call import Call
    from wirelens.codecs.clocks import Clocks
    from wirelens.codecs.ends.matching import Match
    from wirelens.codecs.ends.splits import Splits
    from wirelens.codecs.ends.table import Table

ENDS: Final = ("client", "server")
AT_CLIENT: Final = 0
AT_SERVER: Final = 1
UNKNOWN_RATE: Final = 499.0  # ppm; limits of the rate that are not below it say nothing


class EndsReading(CallReading):
    """Reads the captures of the clients' end as `CallReading` does, and those of the servers' end.

    Both are read twice, as no call can be split before both ends are known: first their messages, the
    server's first, then the calls; last those calls that only the server's end has.
    """

    def __init__(
        self,
        inputs: Inputs,
        input_options: InputOptions,
        server_paths: tuple[str, ...],
        merge_options: MergeOptions,
        protocol: str | None,
        selection: Selection,
        kept: int = 0,
        logs: bool = False,
    ) -> None:
        super().__init__(inputs, merge_options, protocol, selection, kept, logs)
        if not input_options.paths:
            raise click.UsageError(f"no captures of the clients' end: give them before {OPTION}")
        if merge_options.separate or input_options.texts:
            raise click.UsageError(f"{OPTION} joins all captures of an end: without --separate and --hex")
        if STDIN in input_options.paths and STDIN in server_paths:
            raise click.UsageError(f"{STDIN} is one end only")
        self.copies: dict[str, BinaryIO] = {}  # of pipes, which can be read only once
        inputs.copies = self.copies
        self.input_options = input_options
        self.server_options = InputOptions(server_paths, (), input_options.form)

    def batches(self) -> Iterator[list[Call]]:
        """The calls of the clients' end as they are finished, then those that only the servers' end has."""
        self._copy_pipes()
        splits = self._join()
        ones: dict[int, int] = {}  # one-way requests so far, by flow
        for calls in super().batches():
            for call in calls:
                number = _number(call, ones)
                splits.of_client(call.pair, call.flow, number).put(call)
            yield calls
        if not self.selection.of_flows:
            yield from self._server_only(splits)

    def _copy_pipes(self) -> None:
        """Read pipes to their ends into temporary files."""
        from wirelens.cli.input import InputError
        from wirelens.cli.temporary import temporary_file

        for path in (*self.server_options.paths, *self.input_options.paths):
            pipe = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
            if path not in self.copies and (pipe or path == STDIN):
                file = self.copies[path] = temporary_file()
                try:
                    Input(path).copy_to(file)
                except InputError as error:
                    self.inputs.fail(str(error))

    def _join(self) -> Splits:
        """Read the messages of both ends and join them; report what is known of connections and clocks."""
        from wirelens.cli.select import Selection
        from wirelens.codecs.ends.matching import Match
        from wirelens.codecs.ends.splits import Splits
        from wirelens.codecs.ends.table import MOST_MESSAGES

        everything = Selection(None, None)
        server_inputs = Inputs(self.server_options, self.inputs.verbose, copies=self.copies)
        server_inputs.before_report = self.inputs.before_report
        server, server_names, server_series = self._table(server_inputs, everything, AT_SERVER, MOST_MESSAGES)
        self.inputs.failed += server_inputs.failed
        quiet = Inputs(self.input_options, quiet=True, copies=self.copies)
        room = MOST_MESSAGES - (0 if server.is_spilled else server.count)
        client, client_names, client_series = self._table(quiet, self.selection, AT_CLIENT, room)
        match = Match(client, server, (client_series, server_series))
        if self.inputs.before_report is not None:
            self.inputs.before_report()
        report(match, (client_names, server_names))
        return Splits(match)

    def _table(
        self, inputs: Inputs, selection: Selection, end: int, limit: int
    ) -> tuple[Table, list[str], list[int]]:
        """The messages of an end, the names of its files, and the series of its clocks.

        More than `limit` messages go to temporary files. What the client's end leaves out is reported when
        its calls are read.
        """
        from wirelens.cli.input import InputError
        from wirelens.cli.packets import Capture
        from wirelens.cli.temporary import temporary_file
        from wirelens.codecs.ends.table import Table, series_of

        table = Table(limit, temporary_file)
        names: list[str] = []
        for item in inputs.merged(self.merge_options):
            if not item.capture:
                inputs.fail(f"{item.name}: not a capture ({item.form})")
                continue
            if names:
                inputs.fail(f"{item.name}: cannot be merged with {names[0]}")
                continue
            item.progress = self.progress
            try:
                capture = Capture(item, self.protocol, selection, False, 0, sources=False)
                names = list(capture.source.files) or [capture.name]
                capture.reader.assembler.observe(acknowledgements=True)
                for messages, _ in capture.conversed():
                    for message in messages:
                        table.add(message)
                if end == AT_SERVER:
                    self.damaged = self.damaged or capture.damaged
                    capture.report_rest(table.count, capture.conversations.foreign)
            except InputError as error:
                inputs.fail(str(error))
        table.close()
        return table, names, series_of(table, names)

    def _server_only(self, splits: Splits) -> Iterator[list[Call]]:
        """The calls that only the servers' end has, in the order of their requests."""
        from wirelens.cli.select import Selection
        from wirelens.cli.sorting import InOrder
        from wirelens.codecs.calls import ALL_CALLS
        from wirelens.codecs.ends.splits import SERVER

        table = splits.match.server
        if splits.match.messages == table.count:
            return
        inputs = Inputs(self.server_options, quiet=True, copies=self.copies)
        kept = ALL_CALLS if self.kept else 0
        reading = CallReading(
            inputs, self.merge_options, self.protocol, Selection(None, None), kept, self.logs
        )
        reading.quiet = True
        order = InOrder(1)
        ones: dict[int, int] = {}
        for calls in reading.batches():
            rows: list[Call] = []
            for call in calls:
                only = not splits.is_joined(call.pair, call.flow, _number(call, ones))
                for row in chain.from_iterable(order.add([(call.call, call if only else None)])):
                    self.number += 1
                    row.call = self.number
                    row.seen = SERVER
                    rows.append(row)
            if rows:
                yield rows


def _number(call: Call, ones: dict[int, int]) -> int:
    """Which of its flow's one-way requests a call is."""
    if call.pair:
        return 0
    number = ones.get(call.flow, 0)
    ones[call.flow] = number + 1
    return number


def report(match: Match, names: tuple[list[str], list[str]]) -> None:
    """Report on standard error what is known of the clocks, and which connections have no partner."""
    for source, clocks in match.clocks.items():
        line = clock_line(clocks, match.joined[source])
        if line and len(match.clocks) > 1:
            files = [
                names[end][table.clocks[match.series[end].index(source[end])][0]]
                for end, table in enumerate((match.client, match.server))
            ]
            line = f"{files[0]}, {files[1]}: {line}"
        if line:
            warn(line)
    for end, reasons in enumerate(match.unjoined):
        if reasons:
            parts = [f"{number:,} {reason}" for reason, number in reasons.items()]
            connections = count(sum(reasons.values()), "connection")
            warn(f"{connections} at the {ENDS[end]} not joined: {', '.join(parts)}")


def clock_line(clocks: Clocks, connections: int) -> str:
    """`server's clock is 37.500 s ahead, ± 2.0 ms (…)`; "" where nothing is known."""
    best = None
    for span in clocks.spans:
        first, last = span.times
        estimate = clocks.estimate(span, (first + last) // 2)
        if estimate is not None and (best is None or last - first > best[0]):
            best = (last - first, estimate)
    if best is None:
        return ""
    theta, uncertainty = best[1]
    ahead = "ahead" if theta >= 0 else "slow"
    size = abs(theta)
    text = f"{size / 1e6:,.3f} s" if size >= 1e6 else f"{size / 1e3:.3f} ms"
    parts = [count(connections, "connection"), count(clocks.count, "bound")]
    low, high = clocks.rates()
    if -UNKNOWN_RATE < low and high < UNKNOWN_RATE:
        parts.append(f"drift {_ppm(low)}…{_ppm(high)} ppm")
    steps = [time_text(span.times[0])[11:19] for span in clocks.spans[1:]]
    if steps:
        parts.append(
            f"{count(len(steps), 'step')} at {', '.join(steps[:8])}{', …' if len(steps) > 8 else ''}"
        )
    return f"server's clock is {text} {ahead}, ± {_milliseconds(uncertainty)} ({', '.join(parts)})"


def _ppm(rate: float) -> str:
    return f"{'−' if round(rate) < 0 else '+'}{abs(round(rate))}"


def _milliseconds(duration_us: float) -> str:
    return f"{duration_us / 1000:.1f} ms" if duration_us >= 1000 else f"{duration_us / 1000:.3f} ms"
