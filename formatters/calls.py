"""Calls as lines: which columns there is room for, the outcome with a sign, errors in full."""

from __future__ import annotations

import re
from math import log10
from typing import TYPE_CHECKING

from wirelens.codecs.call import CANCELLED, ERROR, OK, ONE_WAY, UNANSWERED, Lines
from wirelens.codecs.numbers import duration, time_text
from wirelens.codecs.words import clean, count
from wirelens.formatters import layout as lay
from wirelens.formatters.names import shortened_packages, split_package

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from wirelens.codecs.call import Call
    from wirelens.formatters.layout import Layout, Line

SECONDS: Final = 3  # the form without packages and without fractions of a second
WIDE: Final = 132  # cells from which times have microseconds
LEAST_BAR: Final = 8  # cells
MOST_BAR: Final = 24
MOST_OUTCOME: Final = 40  # cells of an outcome; what is longer follows on the next line
LEAST_OUTCOME: Final = 8
LEAST_NAME: Final = 12
INDENT: Final = 7  # cells before what follows on the next line
LEAST_WIDTH: Final = 32  # cells of a line; on narrower ones there are
NARROW: Final = 2  # cells before it
GAP: Final = "  "
SHORTEST_US: Final = 100  # the logarithmic scale of bars, in microseconds
LONGEST_US: Final = 10_000_000
PARTS: Final = " ▏▎▍▌▋▊▉█"
HEADINGS: Final = ("call", "time", "flow", "method", "outcome", "latency")

_CLASS: Final = re.compile(r"[\w$]+(\.[\w$]+)*(Exception|Error|Throwable|Fault)|[\w$]+(\.[\w$]+)+")
_WORDS: Final = re.compile(r"[A-Z][A-Z_]+")


class CallTable:
    """Lays out calls as lines with columns that stand still; later rows may widen them."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.form = 0  # 0 names whole, 1 packages as initials, 2 without packages, SECONDS
        self.widths = [4, 0, 4, 6, 7, 7]
        self.most_outcome = MOST_OUTCOME
        self.most_name = lay.UNLIMITED
        self.bar = 0
        self.day = ""
        self.begun = False

    def lines(self, calls: Sequence[Call]) -> list[Line]:
        """The lines of calls, after those of earlier ones."""
        lines: list[Line] = []
        names = self._names(calls)
        cells = [self._cells(call, names) for call in calls]
        if not self.begun:
            self._choose(calls, cells)
            names = self._names(calls)
            cells = [self._cells(call, names) for call in calls]
        self._widen(cells)
        if not self.begun:
            self.begun = True
            lines.append(self._heading())
        for call, row in zip(calls, cells, strict=True):
            day = time_text(call.sent_us or 0)[:10]
            if self.layout.width is not None and day != self.day:
                self.day = day
                lines.append([(lay.DIM, f"{'':>{self.widths[0]}}{GAP}{day}")])
            lines += self._row(call, row)
        return lines

    def text(self, calls: list[Call]) -> bytes:
        """Calls as plain text where the width is not limited: what `lines` has, but faster."""
        if not calls:
            return b""
        found = Lines(calls)
        names = {key: clean(_name(*key)) or "–" for key in found.names}
        kinds = {place: lay.plain(outcome(calls[place])) for place in found.remarkable}
        for place in kinds:
            found.latencies[place] = latency(calls[place])[1]
        numbers, times, flows, latencies = found.widths()
        most = min(max(map(len, (OK, *kinds.values()))), MOST_OUTCOME)
        needed = (numbers, times, flows, max(map(len, names.values())), most, latencies)
        self.widths = [max(pair) for pair in zip(self.widths, needed, strict=True)]
        first, second, third, fourth, fifth, sixth = self.widths
        found.names = {key: encoded(name.ljust(fourth)) for key, name in names.items()}
        for place, kind in kinds.items():
            about = detail(calls[place])
            rest = encoded(GAP + about) if about else b""
            found.remarkable[place] = (encoded(kind.ljust(fifth)), rest)
        heading = b""
        if not self.begun:
            self.begun = True
            heading = encoded(lay.plain(self._heading()) + "\n")
        return heading + found.text((first, second, third, sixth), encoded(OK.ljust(fifth)))

    # --- columns --------------------------------------------------------------------------------------

    def _names(self, calls: Sequence[Call]) -> dict[str, tuple[str, str]]:
        """The package and the class of each service, in the form that fits."""
        services = {call.service for call in calls}
        if self.form == 0 or self.layout.width is None:
            return {service: split_package(service) for service in services if _is_java(service)}
        if self.form == 1:
            short = shortened_packages([service for service in services if _is_java(service)])
            return {service: split_package(form) for service, form in short.items()}
        return {service: ("", split_package(service)[1]) for service in services if _is_java(service)}

    def _cells(self, call: Call, names: dict[str, tuple[str, str]]) -> list[Line]:
        """The columns of a row."""
        package, last = names.get(call.service, ("", call.service))
        dot = "." if last and call.method and not call.method.startswith("/") else ""
        name: Line = [(lay.TYPE, clean(package)), (lay.WORD, clean(last + dot + call.method) or "–")]
        return [
            [(lay.DIM, str(call.call))],
            [(lay.DIM, self._time(call.sent_us or 0))],
            [(lay.DIM, str(call.flow))],
            name,
            outcome(call),
            [latency(call)],
        ]

    def _time(self, time_us: int) -> str:
        text = time_text(time_us)
        width = self.layout.width
        if width is None:
            return text
        if self.form == SECONDS:
            return text[11:19]
        return text[11:26] if width >= WIDE else text[11:24]

    def _choose(self, calls: Sequence[Call], cells: list[list[Line]]) -> None:
        """Choose the form of names that leaves room, and the length of bars."""
        width = self.layout.width
        if width is None:
            return
        for form in range(4):
            self.form = form
            names = self._names(calls)
            cells = [self._cells(call, names) for call in calls]
            self.widths = [4, 0, 4, 6, 7, 7]
            self._widen(cells)
            rest = width - sum(self.widths) - len(GAP) * (len(self.widths) - 1)
            if rest >= 0:
                self.bar = 0 if rest <= LEAST_BAR else min(rest - 1, MOST_BAR)
                return
        # what does not fit even so is cut, and whole on a line of its own
        self.most_outcome = max(self.widths[4] + rest, LEAST_OUTCOME)
        rest += self.widths[4] - self.most_outcome
        self.widths[4] = self.most_outcome
        least = min(LEAST_NAME, self.widths[3])
        self.most_name = self.widths[3] = max(self.widths[3] + min(rest, 0), least)

    def _widen(self, cells: list[list[Line]]) -> None:
        measure = self.layout.cells
        for place in range(len(self.widths)):
            most = max([measure(row[place]) for row in cells], default=0)
            if place == 4:
                most = min(most, self.most_outcome)
            if place == 3:
                most = min(most, self.most_name)
            self.widths[place] = max(self.widths[place], most)

    def _heading(self) -> Line:
        text = ""
        width = self.layout.width
        fits = width is None or sum(self.widths) + len(GAP) * (len(self.widths) - 1) <= width
        for place, heading in enumerate(HEADINGS if fits else HEADINGS[:3]):
            right = place in (0, 2, 5)
            cells = self.widths[place]
            text += (f"{heading:>{cells}}" if right else f"{heading:<{cells}}") + GAP
        if width is None:
            text += "client > server"
        return self.layout.fit([(lay.DIM, text.rstrip())])

    # --- rows -----------------------------------------------------------------------------------------

    def _row(self, call: Call, cells: list[Line]) -> list[Line]:
        width = self.layout.width
        text = detail(call)
        if width is None:
            line = [*self._columns(cells), (lay.PLAIN, f"{GAP}{call.client} > {call.server}")]
            return [[*line, (lay.ERROR, f"{GAP}{text}")] if text else line]
        lines, about = self._beside(call, cells, width)
        if max(map(self.layout.cells, lines)) > width:
            lines, about = self._below(cells, width), ""
        text = f"{about}: {text}" if about and text else about or text
        if text:
            style = lay.ERROR if call.outcome == ERROR else lay.TYPE
            if style != lay.ERROR and (call.late or call.timed_out or call.remarks or text.startswith("◆")):
                style = lay.NOTE
            margin = " " * (INDENT if width >= LEAST_WIDTH else NARROW) + "↳ "
            lines.extend(lay.wrapped(margin, style, text, self.layout))
        return lines

    def _beside(self, call: Call, cells: list[Line], width: int) -> tuple[list[Line], str]:
        """The columns of a row beside one another; the outcome, if it was cut."""
        lines: list[Line] = []
        measure = self.layout.cells
        about = ""
        if measure(cells[4]) > self.widths[4]:
            about = lay.plain(cells[4])
            shortened = [(cells[4][0][0], self.layout.shortened(about, self.widths[4]))]
            cells = [*cells[:4], shortened, *cells[5:]]
        if measure(cells[3]) > self.widths[3]:  # the name has a line, outcome and latency the next
            line = [*self._columns(cells[:3]), (lay.PLAIN, GAP), *cells[3]]
            if measure(line) > width:
                lines.append(self._columns(cells[:3]))
                line = [(lay.PLAIN, " " * INDENT), *cells[3]]
            lines.append(line)
            cells = [[], [], [], [], *cells[4:]]
        line = self._columns(cells)
        drawn = bar(call.latency_us, self.bar) if self.bar else ""
        return [*lines, [*line, (lay.BAR, " " + drawn)] if drawn else line], about

    def _below(self, cells: list[Line], width: int) -> list[Line]:
        """The columns of a row that do not fit beside one another: name and outcome below."""
        margin = " " * (INDENT if width >= LEAST_WIDTH else NARROW)
        lines = [self.layout.fit(self._columns(cells[:3]))]
        outcome_line = [*cells[4], (lay.PLAIN, GAP), *cells[5]]
        for line in (cells[3], outcome_line):
            if self.layout.cells(line) + len(margin) <= width:
                lines.append([(lay.PLAIN, margin), *line])
            else:
                lines += lay.wrapped(margin, line[0][0] or lay.WORD, lay.plain(line), self.layout)
        return lines

    def _columns(self, cells: list[Line]) -> Line:
        """The first columns of a row, each in its width."""
        line: Line = []
        for place, cell in enumerate(cells):
            room = self.widths[place] - self.layout.cells(cell)
            blanks = [(lay.PLAIN, " " * room)] if room > 0 else []
            line += [*blanks, *cell] if place in (0, 2, 5) else [*cell, *blanks]
            if place < len(self.widths) - 1 and place < len(cells) - 1:
                line.append((lay.PLAIN, GAP))
        return line


def totals(shown: int, read: int, outcomes: dict[str, int], slowest_us: int) -> str:
    """The last line: `12 of 2,000 calls: 11 ok, 1 error; slowest 2.71 s`."""
    number = count(shown, "call") if shown == read else f"{shown:,} of {count(read, 'call')}"
    names = {
        OK: "ok",
        ERROR: "with an error",
        UNANSWERED: "unanswered",
        ONE_WAY: "one-way",
        CANCELLED: CANCELLED,
    }
    parts = [f"{outcomes[name]:,} {text}" for name, text in names.items() if outcomes.get(name)]
    slowest = f"; slowest {duration(slowest_us / 1e6)}" if slowest_us >= 0 else ""
    return number + (f": {', '.join(parts)}" if parts and shown == read else "") + slowest


def row_text(call: Call) -> str:
    """A call as plain text on one line, nothing left out: what a text alone is looked for in."""
    parts = [
        str(call.call),
        time_text(call.sent_us or 0),
        str(call.flow),
        name_of(call),
        lay.plain(outcome(call)),
        latency(call)[1],
        f"{call.client} > {call.server}",
        detail(call),
    ]
    return GAP.join([part for part in parts if part])


def name_of(call: Call) -> str:
    """Service and method."""
    return _name(call.service, call.method)


def _name(service: str, method: str) -> str:
    dot = "." if service and method and not method.startswith("/") else ""
    return f"{service}{dot}{method}"


def encoded(text: str) -> bytes:
    """Text in UTF-8, with escapes for what that cannot write."""
    return text.encode("utf-8", "backslashreplace")


def outcome(call: Call) -> Line:
    """What came of a call, in some words: `ok`, `◆ OutOfStockException`, `✕ server timeout`."""
    late = ", late" if call.late else ""
    if call.outcome == OK:
        return [(lay.NOTE if late else lay.PLAIN, OK + late)]
    if call.outcome == ONE_WAY or call.outcome == CANCELLED:
        return [(lay.DIM if call.outcome == ONE_WAY else lay.NOTE, call.outcome)]
    if call.outcome == UNANSWERED:
        return [(lay.ERROR, "✕ timed out" if call.timed_out else "✕ unanswered")]
    if _CLASS.fullmatch(call.exception):
        return [(lay.NOTE, f"◆ {clean(split_package(call.exception)[1])}{late}")]
    status = call.status
    if _WORDS.fullmatch(status):
        status = status.lower().replace("_", " ")
    word = "" if status in ("ok", "success", "") else f" {clean(status)}"
    return [(lay.ERROR, f"✕{word or ' error'}{late}")]


def streams(call: Call) -> bool:
    """Whether a side of the call sent several messages."""
    return (call.request_messages or 0) > 1 or (call.response_messages or 0) > 1


def detail(call: Call) -> str:
    """What is worth a line of its own: an error's text, a stream's messages, the timeout that was missed."""
    parts = []
    if call.exception and not _CLASS.fullmatch(call.exception):
        parts.append(clean(call.exception))
    if streams(call):
        sent = count(call.request_messages or 0, "message")
        parts.append(f"{sent} sent, {call.response_messages or 0:,} received")
    if (call.late or call.timed_out) and call.timeout_us is not None:
        parts.append(f"the client's timeout is {duration(call.timeout_us / 1e6)}")
    if call.seen:
        parts += split_words(call)
    return "; ".join(parts)


def split_words(call: Call) -> list[str]:
    """Where the time of a call went that was looked for at both ends: `there 2.0 ms, server 1.4 s, …`."""
    ways = (
        ("there", call.request_transit_us),
        ("server", call.server_time_us),
        ("back", call.reply_transit_us),
    )
    parts = [f"{way} {_span(time_us)}" for way, time_us in ways if time_us is not None]
    text = ", ".join(parts)
    if call.request_transit_us is not None or call.reply_transit_us is not None:
        text += f" (± {_span(call.uncertainty_us or 0)})"
    found = [text] if text else []
    held = (("the server", call.request_held_us), ("the client", call.reply_held_us))
    found += [f"held {_span(time_us)} at {end} for lost bytes before it" for end, time_us in held if time_us]
    if call.remarks:
        found.append(call.remarks)
    if call.seen != "both" and "never" not in call.remarks:
        found.append(f"captured at the {call.seen} only")
    return found


def _span(time_us: int) -> str:
    """A duration that may be negative."""
    return ("−" if time_us < 0 else "") + duration(abs(time_us) / 1e6)


def latency(call: Call) -> tuple[str, str]:
    """The latency; of an unanswered call how long it was waited for."""
    if call.latency_us is not None:
        return lay.NUMBER, duration(call.latency_us / 1e6)
    if call.waited_us is not None:
        return lay.DIM, "> " + duration(call.waited_us / 1e6)
    return lay.DIM, "–"


def bar(latency_us: int | None, cells: int) -> str:
    """A bar whose length is logarithmic, from 100 µs to 10 s."""
    if latency_us is None or latency_us <= SHORTEST_US:
        return ""
    share = min(1.0, log10(latency_us / SHORTEST_US) / log10(LONGEST_US / SHORTEST_US))
    eighths = round(share * cells * 8)
    return PARTS[8] * (eighths // 8) + PARTS[eighths % 8].strip()


def _is_java(service: str) -> bool:
    """Whether a service is a name with a package, rather than a host."""
    return re.fullmatch(r"[\w$.]+\.[A-Z][\w$]*(:.*)?", service) is not None
