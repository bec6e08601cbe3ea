"""The summary view: a line for each message.

In captures a reply names the method that it answers. On a narrow terminal the lines give up what repeats or
matters least, all of them the same, so that columns stand still: `STEPS` has the order. Methods, errors,
exceptions and latencies are never cut; what does not fit beside them goes to a second line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs.numbers import duration, time_text
from wirelens.codecs.words import clean, count, shortened
from wirelens.formatters import layout as lay
from wirelens.formatters.names import initials, split_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Final

    from wirelens.codecs import Record
    from wirelens.codecs.codec import CallFacts
    from wirelens.formatters.layout import Layout, Line

MOST_CALLS: Final = 100_000  # requests whose methods are kept for their replies
FAILURE_CELLS: Final = 12  # of a failure, for which other lines give something up
LEAST_RESULT: Final = 12  # cells that a good result needs to be shown at all
FAILED: Final = "✕ "
EXCEPTION: Final = "◆ "
CONTINUED: Final = "↳ "

# What lines of captures leave out where room is short, one after the other.
STEPS: Final = (
    "nothing",
    "date",  # which a heading has
    "transport",
    "protocol",  # which a heading has, if all have the same
    "addresses",  # the number of the flow and an arrow instead
    "details",  # microseconds, ids, versions, what a good result holds
    "packages",  # their initials instead
    "arguments",
    "initials",
    "fractions of a second",
)
DATE, TRANSPORT, PROTOCOL, ADDRESSES, DETAILS, PACKAGES, ARGUMENTS, INITIALS, FRACTIONS = range(1, 10)


class Summaries:
    """The lines of a list of messages; `learn` has to see all of the messages, in their order."""

    def __init__(self) -> None:
        self.calls: dict[int, CallFacts] = {}  # of requests, by their pair
        self.step = 0
        self.protocol = ""  # that all messages have; "" before the first
        self.mixed = False
        self.heading = ""
        self.subject_cells = 0  # the widest subject of a reply

    def learn(self, records: Iterable[Record]) -> None:
        """Keep what requests call, for their replies."""
        for record in records:
            origin = record.origin
            if origin is None or not origin.pair or record.codec is None or origin.latency_us >= 0:
                continue
            root = record.root
            if root is None:
                continue
            facts = record.codec.call(root)
            if facts.service or facts.method:
                if len(self.calls) >= MOST_CALLS:
                    del self.calls[next(iter(self.calls))]
                self.calls[origin.pair] = facts

    def draws(self, records: list[Record]) -> Iterator[Callable[[Layout], list[Line]]]:
        """For each message what gives its lines for a layout; all have the same columns."""
        rows = [_Row(record, self.calls) for record in records]
        for row in rows:
            self.protocol = self.protocol or row.protocol
            self.mixed = self.mixed or row.protocol != self.protocol
        fitted = False
        for row in rows:

            def draw(layout: Layout, row: _Row = row) -> list[Line]:
                nonlocal fitted
                if not fitted:
                    fitted = True
                    self._fit(rows, layout)
                return self._lines(row, layout)

            yield draw

    def _fit(self, rows: list[_Row], layout: Layout) -> None:
        """Give up as much as the widest of the lines needs."""
        width = layout.width
        if width is None:
            return
        while self.step < len(STEPS) - 1:
            self._align(rows, layout)
            if all(layout.cells(self._line(row, layout, FAILURE_CELLS)) <= width for row in rows):
                return
            self.step += 1
            self.subject_cells = 0
        self._align(rows, layout)

    def _align(self, rows: list[_Row], layout: Layout) -> None:
        for row in rows:
            if row.outcome:
                cells = layout.cells(row.subject(self.step))
                self.subject_cells = max(self.subject_cells, cells)

    def _lines(self, row: _Row, layout: Layout) -> list[Line]:
        lines: list[Line] = []
        if row.heading is None:
            row.heading = self._new_heading(row)
        if row.heading:
            lines.append([(lay.DIM, row.heading)])
        line = self._line(row, layout)
        width = layout.limit
        if width is None or layout.cells(line) <= width:
            return [*lines, line]
        if not row.flow:
            return [layout.fit(line)]
        return [*lines, *self._broken(row, layout, width)]

    def _new_heading(self, row: _Row) -> str:
        """What the lines from this one on leave out, if that has changed; else ""."""
        if not row.flow or self.step < DATE:
            return ""
        heading = f"{row.day} UTC" if row.day else ""
        if self.step >= PROTOCOL and not self.mixed:
            heading += f"  {self.protocol}"
        if heading == self.heading:
            return ""
        self.heading = heading
        return heading.strip()

    def _start(self, row: _Row) -> Line:
        """Where the message is: file and offset, or time and flow; its protocol."""
        if not row.flow:
            line: Line = [(lay.HEADING, row.file + " ")] if row.file else []
            line.append((lay.DIM, f"{row.offset:>8}  "))
            line.append((lay.PROTOCOL, f"{row.protocol:<10}  "))
            return line
        step = self.step
        line = [(lay.DIM, row.time(step) + "  ")] if row.day else []
        if step >= ADDRESSES:
            line.append((lay.DIM, f"{row.number}"))
            line.append((lay.PLAIN, "← " if row.from_server else "→ "))
        else:
            flow = row.flow.partition(" ")[2] if step >= TRANSPORT else row.flow
            line.extend([(lay.HEADING, flow), (lay.PLAIN, "  ")])
        if self.mixed or step < PROTOCOL:
            line.append((lay.PROTOCOL, f"{row.protocol:<10}  "))
        return line

    def _line(self, row: _Row, layout: Layout, most: int | None = None) -> Line:
        """A message on one line; `most`: cells that a failure is cut to."""
        line = self._start(row)
        subject = row.subject(self.step)
        line.extend(subject)
        end = row.end(self.step)
        if row.outcome and layout.width is not None and row.flow:
            line.append((lay.PLAIN, " " * (self.subject_cells - layout.cells(subject))))
        room = None if layout.width is None else layout.width - layout.cells(line) - layout.cells(end) - 2
        outcome = row.result(self.step, layout, room)
        if outcome:
            style, text = outcome[0]
            if most is not None and row.outcome_style:
                outcome = [(style, layout.cut(text, most))]
            line.extend([(lay.PLAIN, "  "), *outcome])
        if row.latency and layout.width is not None and row.flow:
            line.append((lay.PLAIN, " " * (layout.width - layout.cells(line) - layout.cells(end))))
        return line + end

    def _broken(self, row: _Row, layout: Layout, width: int) -> list[Line]:
        """A line that is too long even so: what follows the subject is on a second one."""
        first = self._start(row)
        indent = " " * min(layout.cells(first), width // 4) + CONTINUED
        subject = row.subject(self.step)
        if row.called:
            first.extend(subject)
        else:
            first.append(_cut(subject, layout, width - layout.cells(first)))
        end = row.end(self.step)
        room = width - layout.measure(indent) - layout.cells(end)
        rest: Line = [*row.result(self.step, layout, room), *end]
        return [first, [(lay.DIM, indent), *rest]] if rest else [first]


def _cut(line: Line, layout: Layout, room: int) -> tuple[str, str]:
    """A text of one style, cut to the room."""
    style, text = (line[0][0], lay.plain(line)) if line else (lay.PLAIN, "")
    start = layout.cut(text, max(room - 1, lay.LEAST))
    return style, text if len(start) == len(text) else start + "…"


class _Row:
    """What the summary shows of a message, in parts."""

    def __init__(self, record: Record, calls: dict[int, CallFacts]) -> None:
        self.protocol = record.protocol
        self.offset = record.offset
        self.damaged = record.error is not None
        faults = [] if record.tape is None or self.damaged else record.tape.faults
        self.inside = len(faults)
        self.first_error = min([int(fault.offset) for fault in faults], default=0)
        self.notes = ", ".join(dict.fromkeys(note.code for note in record.notes))
        self.service = self.method = self.arguments = self.before = self.after = ""
        self.outcome = self.outcome_style = self.exception = ""
        self.style = lay.SUMMARY  # of a text that is not parted
        self.worded = False  # whether the text has other words for the call than service and method
        self.heading: str | None = None  # above its line; None: not yet known
        origin = record.origin
        place = None if origin is None else origin.place
        self.flow = "" if place is None else clean(place.flow)
        self.file = "" if place is None else clean(place.file)
        self.number = 0 if place is None else int(place.number)
        self.from_server = place is not None and place.direction == 1
        self.day, self.clock = "", ""
        if origin is not None and origin.time_us and self.flow:
            self.day, _, self.clock = time_text(origin.time_us).rstrip("Z").partition("T")
        self.latency = _latency(record)
        self.text = shortened(clean(record.summary)).removeprefix(self.protocol + " ")
        root = record.root
        codec = record.codec
        if root is None or codec is None:
            return
        kind = record.kind
        if kind.lower() not in self.text.lower() and not codec.summary_has_kind:
            self.text = f"{kind} {self.text}"
        facts = codec.call(root)
        if not self.flow:  # nothing states what a reply answers
            if facts.failed:
                thrown = "exception " in self.text
                self.text = (EXCEPTION if thrown else FAILED) + self.text
                self.style = lay.NOTE if thrown else lay.ERROR
            elif facts.service or facts.method:
                self._request(facts)
            return
        request = facts if facts.service or facts.method else None
        if request is None and origin is not None and origin.pair:
            request = calls.pop(origin.pair, None)
            self._reply(facts, request, kind)
        elif request is None and facts.failed:
            self._reply(facts, None, kind)
        elif request is not None:
            self._request(request)

    @property
    def called(self) -> bool:
        """Whether it is known what is called."""
        return bool(self.service or self.method)

    @property
    def _dot(self) -> str:
        """What stands between service and method; nothing before the path of HTTP."""
        return "." if self.service and not self.method.startswith("/") else ""

    def _request(self, facts: CallFacts) -> None:
        """Find service, method and arguments in the text."""
        if not facts.method:
            return
        self.service, self.method = clean(facts.service), clean(facts.method)
        name = f"{self.service}{self._dot}{self.method}"
        self.before, found, rest = self.text.partition(name)
        if not found:  # the text has other words for it
            self.before = ""
            opening = self.text.rfind(" (")
            self.worded = True
            if self.text.endswith(")") and opening > 0:
                self.arguments = self.text[opening + 1 :]
        elif rest.startswith("("):
            arguments, closing, after = rest.rpartition(")")
            self.arguments, self.after = (arguments + closing, after) if closing else (rest, "")
        else:
            self.after = rest

    def _reply(self, facts: CallFacts, request: CallFacts | None, kind: str) -> None:
        """Part the text into what names the message and its outcome."""
        if request is not None:
            self.service, self.method = clean(request.service), clean(request.method)
        words = self.text
        if facts.id:
            self.before, found, rest = self.text.partition(f"#{facts.id}")
            if not found:
                self.before = ""
            elif " " not in self.before.strip() or (not rest and not facts.failed):
                self.before = (self.before + found).removeprefix(f"{self.method} ")
                words = rest
            else:
                words = self.before.removesuffix("re ") + rest
                self.before = ""
            name = f" {self.service}{self._dot}{self.method}"
            words = words.replace(name, " ", 1) if self.called else words
        plain = kind.lower() in ("response", "reply")  # which the arrow and the outcome show
        parts = [word for word in words.split(" ") if word and not (plain and word.lower() == kind.lower())]
        self.outcome = " ".join(parts)
        if facts.failed:
            self.exception = clean(facts.exception)
            thrown = self.outcome.startswith("exception ")
            self.outcome = (EXCEPTION if thrown else FAILED) + self.outcome.removeprefix("exception ")
            self.outcome_style = lay.NOTE if thrown else lay.ERROR
        if not self.outcome:
            self.outcome = "ok"

    def time(self, step: int) -> str:
        """The time as a step shows it."""
        if step < DATE:
            return f"{self.day}T{self.clock}Z"
        if step >= FRACTIONS:
            return self.clock[:8]
        return self.clock[:13] if step >= DETAILS else self.clock

    def subject(self, step: int) -> Line:
        """What is called, or the message's text."""
        if self.damaged:
            return [(lay.ERROR, FAILED + self.text)]
        if self.worded and (step < DETAILS or not self.flow):
            return [(lay.SUMMARY, self.text)]
        if not self.called:
            named = self.before if self.outcome and step < DETAILS else ""
            text = named if self.outcome else self.text
            return [(self.style, text)] if text else []
        line: Line = []
        if (step < DETAILS or not self.flow) and self.before.strip():
            line.append((lay.DIM, self.before.rstrip() + " "))
        package, last = split_package(self.service) if self._dot else ("", self.service)
        if step >= INITIALS:
            package = ""
        elif step >= PACKAGES:
            package = initials(package)
        if package:
            line.append((lay.TYPE, package))
        if last:
            line.append((lay.TYPE if self.outcome else lay.PLAIN, last + self._dot))
        line.append((lay.PLAIN if self.outcome else lay.WORD, self.method))
        if not self.outcome:
            if step < ARGUMENTS and self.arguments:
                line.append((lay.TYPE, self._arguments(step)))
            if (step < DETAILS or not self.flow) and self.after:
                line.append((lay.DIM, self.after))
        return line

    def _arguments(self, step: int) -> str:
        """The types of the arguments, without packages on narrow lines."""
        if step < PACKAGES:
            return self.arguments
        types = self.arguments[1:-1].split(", ")
        return "(" + ", ".join([split_package(kind)[1] for kind in types]) + ")"

    def result(self, step: int, layout: Layout, room: int | None) -> Line:
        """The outcome: whole if the call failed; else as much as there is room for."""
        text = self.outcome
        if not text:
            return []
        if self.outcome_style:
            if self.outcome_style == lay.NOTE and room is not None:
                text = self._thrown(layout, room)
            return [(self.outcome_style, text)]
        if step >= DETAILS and self.flow and text.startswith("ok "):
            text = "ok"
        if room is not None and layout.measure(text) > room:
            start = layout.cut(text, max(room - 1, LEAST_RESULT))
            text = start if len(start) == len(text) else start + "…"
        return [(lay.PLAIN, text)]

    def _thrown(self, layout: Layout, room: int) -> str:
        """An exception in the room: if need be without its package, its message cut, but its class whole."""
        text = self.outcome
        if layout.measure(text) <= room or not self.exception:
            return text
        last = split_package(self.exception)[1] or self.exception
        text = text.replace(self.exception, last, 1)
        least = layout.measure(EXCEPTION + last)
        start = layout.cut(text, max(room - 1, least))
        if layout.measure(text) <= room or not text.startswith(EXCEPTION + last):
            return text
        return EXCEPTION + last if len(start) <= least + 2 else start + "…"

    def end(self, step: int) -> Line:
        """Errors inside, notes, latency."""
        line: Line = []
        if self.inside:
            text = f"{count(self.inside, 'error')} inside, at {self.first_error}"
            line.append((lay.ERROR, f"  {FAILED}{text}"))
        if self.notes:
            line.append((lay.NOTE, "  " + self.notes))
        if self.latency:
            line.append((lay.NUMBER, f"  {self.latency}"))
        return line


def origin(record: Record) -> Line:
    """Time and flow of a message from a capture; empty for others."""
    source = record.origin
    if source is None or not source.place.flow:
        return []
    time = time_text(source.time_us) + "  " if source.time_us else ""
    return [(lay.DIM, time), (lay.HEADING, clean(source.place.flow)), (lay.PLAIN, "  ")]


def _latency(record: Record) -> str:
    """The time between request and reply; empty if unknown."""
    source = record.origin
    return "" if source is None or source.latency_us < 0 else duration(source.latency_us / 1_000_000)


def heading(record: Record, layout: Layout) -> Line:
    """The line above a message from a capture or from one of several files: its place; empty for others."""
    source = record.origin
    if source is None:
        return []
    if not source.place.flow:
        return [(lay.HEADING, clean(source.place.file))]
    line = origin(record)
    packets = source.packets
    if packets:
        numbers = ", ".join([str(number) for number in packets[:8]])
        line.append((lay.DIM, f"packet {numbers}{', …' if len(packets) > 8 else ''}"))
    latency = _latency(record)
    if latency:
        line.append((lay.NUMBER, f"  after {latency}"))
    if layout.width is not None and layout.cells(line) > layout.width:
        style, time = line[0]
        line[0] = (style, time[time.find("T") + 1 :])  # nearly always the same day
    return line
