"""Messages, calls and conversations as the data of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs.captures.pcap import NUMBER_MASK
from wirelens.codecs.codec import CallFacts
from wirelens.codecs.sizes import FieldSizes
from wirelens.codecs.words import clean, count
from wirelens.formatters.html.page import page_of
from wirelens.formatters.html.redaction import are_names, is_word
from wirelens.formatters.html.rows import MOST_TEXT, Strings, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from wirelens.codecs import Json, Record
    from wirelens.codecs.call import Call
    from wirelens.codecs.captures import Flow
    from wirelens.codecs.conversations import Message
    from wirelens.formatters.html.redaction import Redactor

MOST_MESSAGES: Final = 10_000
MOST_PAYLOAD: Final = 1 << 25  # bytes of all messages
MOST_ROWS: Final = 1_500_000  # of all messages
FIELDS: Final = 40  # fields in the table of those that carry the most bytes
PACKETS: Final = 16  # packet numbers of a message


class Report:
    """Collects messages and calls; `page` makes the page of them.

    `messages`: the number of those in it; what is beyond the limits is counted in `left_out`.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        self.redactor: Final = redactor
        self.messages = 0
        self.left_out = 0
        self.payload = 0
        self.remarks: list[str] = []  # what else the page leaves out, in sentences without names
        self._strings = Strings()
        self._table = Table(self._strings)
        self._raw: list[bytes] = []
        self._messages: list[Json] = []
        self._calls: list[tuple[int, int, dict[str, Json]]] = []  # time, first message, members
        self._flows: dict[int, int] = {}
        self._flow_rows: list[Json] = []
        self._names: dict[str, str] = {}
        self._sizes = FieldSizes()
        self._cut = [0, 0]  # messages, nodes of them

    @property
    def full(self) -> bool:
        """Whether nothing more is added."""
        return self.messages >= MOST_MESSAGES or self.payload >= MOST_PAYLOAD or len(self._table) >= MOST_ROWS

    def takes(self, waiting: int) -> bool:
        """Whether one more message may be added, after those that wait; one that may not is counted."""
        if self.full or waiting >= MOST_MESSAGES:
            self.left_out += 1
            return False
        return True

    def add_call(self, call: Call, messages: Sequence[Message]) -> None:
        """Add a call with its messages."""
        if self.full:
            self.left_out += len(messages)
            return
        first = self.messages
        facts = [self._add_message(message) for message in messages]
        members: dict[str, Json] = {
            "call": call.call,
            "messages": list(range(first, self.messages)),
            "service": self._text(call.service),
            "method": self._text(call.method),
            "outcome": call.outcome,
            "latency": call.latency_us,
            "answered": call.direction,
        }
        status, exception, identity, trace = call.status, call.exception, call.id, call.trace
        if self.redactor is not None:  # what its messages state now
            if not is_word(status):
                status = next((fact.status for fact in reversed(facts) if fact.status), "")
            exception = next((fact.exception for fact in reversed(facts) if fact.exception), "")
            identity = call.id if call.id.isdigit() and not self.redactor.numbers else self._other(call.id)
            trace = self._other(call.trace)
            if not are_names(call.service, call.method):
                members["service"] = self._text(next((fact.service for fact in facts if fact.service), ""))
                members["method"] = self._text(next((fact.method for fact in facts if fact.method), ""))
        members |= {
            "status": self._text(status),
            "exception": self._text(exception),
            "id": identity,
            "trace": trace,
        }
        self._calls.append((call.sent_us or call.answered_us or 0, first, members))

    def add_message(self, message: Message) -> None:
        """Add a message of a capture that is part of no call."""
        if self.full:
            self.left_out += 1
            return
        stated = _facts(message.record)
        self._add_single(message.record, stated, self._add_message(message), message.time_us)

    def add_record(self, record: Record, name: str) -> None:
        """Add a record of an input that is no capture; `name`: the input's."""
        if self.full:
            self.left_out += 1
            return
        stated = _facts(record)
        self._add_single(record, stated, self._add(record, -1, 0, 0, (), self._file(name)), 0)

    def page(self, names: Sequence[str]) -> bytes:
        """The page; `names`: those of the inputs."""
        self._calls.sort(key=lambda entry: (entry[0] == 0, entry[0], entry[1]))
        left: list[Json] = list(self.remarks)
        if self.left_out:
            left.insert(
                0,
                f"{count(self.left_out, 'message')} left out: the report has the first "
                f"{count(self.messages, 'message')}",
            )
        if self._cut[0]:
            left.append(
                f"{count(self._cut[1], 'node')} of {count(self._cut[0], 'large message')} left out of trees"
            )
        files: list[Json] = [self._file(name) for name in names]
        data: dict[str, Json] = {
            "title": files[0] if len(files) == 1 else count(len(files), "file"),
            "files": files[:100],
            "redacted": self.redactor is not None,
            "left": left,
            "strings": list(self._strings.texts),
            "flows": self._flow_rows,
            "messages": self._messages,
            "calls": [members for _, _, members in self._calls],
            "rows": self._table.columns(),
            "fields": [[path, size, messages] for path, size, messages in self._sizes.rows()[:FIELDS]],
            "payload": self._sizes.total,
        }
        return page_of(data, b"".join(self._raw))

    def _other(self, text: str) -> str:
        return text if self.redactor is None or not text else self.redactor.text(text)

    def _file(self, name: str) -> str:
        """A file's name, as the page shows it."""
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = clean(self._other(name))
        return found

    def _text(self, text: str) -> str:
        return clean(text[:MOST_TEXT])

    def _add_single(self, record: Record, stated: CallFacts, facts: CallFacts, time: int) -> None:
        """Add the row of a message that is part of no call, and was added last.

        `stated`: what it states of its call; `facts`: the same as the page shows it.
        """
        named = stated
        if self.redactor is not None and not are_names(stated.service, stated.method):
            named = facts
        first = self.messages - 1
        members: dict[str, Json] = {
            "call": 0,
            "messages": [first],
            "service": self._text(named.service),
            "method": self._text(named.method),
            "outcome": "not decoded" if record.error is not None else "",
            "latency": None,
            "answered": 0,
            "status": self._text(stated.status if is_word(stated.status) else facts.status),
            "exception": self._text(facts.exception),
            "id": "",
            "trace": "",
        }
        self._calls.append((time, first, members))

    def _add_message(self, message: Message) -> CallFacts:
        """Add a message of a capture; what it states of its call."""
        flow = self._flow(message.flow)
        return self._add(message.record, flow, message.direction, message.time_us, message.packets, "")

    def _flow(self, flow: Flow) -> int:
        """A conversation's place in the list."""
        number = int(flow.number)
        found = self._flows.get(number)
        if found is None:
            found = self._flows[number] = len(self._flow_rows)
            ends = [flow.endpoint(0), flow.endpoint(1)]
            if self.redactor is not None:
                ends = [self.redactor.address(end) for end in ends]
            self._flow_rows.append([number, clean(ends[0]), clean(ends[1])])
        return found

    def _add(
        self, record: Record, flow: int, direction: int, time: int, packets: tuple[int, ...], file: str
    ) -> CallFacts:
        """Add a message, with other values if that is wanted; what it states of its call then."""
        if self.redactor is not None:
            record = self.redactor.record(record)
        facts = _facts(record)
        self._sizes.add(record)
        rows = self._table.add(record)
        errors: list[Json] = []
        if record.error is not None:
            error = record.error
            errors.append([error.code, int(error.offset) - record.offset, clean(error.text)[:MOST_TEXT]])
        elif record.tape is not None:
            errors.extend(
                [fault.code, int(fault.offset) - record.offset, clean(fault.text)[:MOST_TEXT]]
                for fault in record.tape.faults[:100]
            )
        notes: list[Json] = [
            [code, at - record.offset, clean(text)[:MOST_TEXT]] for code, at, text in record.notes[:100]
        ]
        if rows.left_out:
            self._cut[0] += 1
            self._cut[1] += rows.left_out
        sections: list[Json] = []
        for section in rows.sections:
            self._raw.append(section.shown)
            self.payload += len(section.shown)
            sections.append([section.start, section.length, len(section.shown)])
        number = self._strings.number
        self._messages.append(
            {
                "protocol": number(record.protocol),
                "kind": number(record.kind),
                "summary": number(clean(record.summary)),
                "offset": record.offset,
                "length": record.length,
                "sections": sections,
                "time": time,
                "flow": flow,
                "direction": direction,
                "packets": [packet & NUMBER_MASK for packet in packets[-PACKETS:]],
                "file": number(file),
                "errors": errors,
                "notes": notes,
                "rows": rows.rows,
                "references": list(rows.references),
                "left": rows.left_out,
            }
        )
        self.messages += 1
        return facts


def _facts(record: Record) -> CallFacts:
    """What a record states of its call."""
    root = record.headed
    return CallFacts() if record.codec is None or root is None else record.codec.call(root)
