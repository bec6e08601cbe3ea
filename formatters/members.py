"""More members for the JSON of records, for programs such as jq that read it: `decode --with`.

They stand before `message`, in the order in which they are asked for; those of which a message knows nothing
are left out. A reply has the service and the method of its request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.codecs.call import seconds_text
from wirelens.codecs.codec import CallFacts
from wirelens.codecs.json_text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Final

    from wirelens.codecs import Record

NAMES: Final = (
    "kind",
    "summary",
    "service",
    "method",
    "outcome",
    "status",
    "exception",
    "latency",
    "timeout",
    "id",
    "trace",
)
MOST_CALLS: Final = 100_000  # requests whose services and methods are kept for their replies
MESSAGE: Final = (
    b', "message": '  # what follows the members; in no text before it, for texts have no bare quotes
)
NO_FACTS: Final = CallFacts()


class Members:
    """Members added to records; `learn` has to see all messages of a capture, in their order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names: Final = names
        self._calls: dict[int, CallFacts] = {}  # of requests, by their pair
        self._named: Final = "service" in names or "method" in names

    def learn(self, records: Iterable[Record]) -> None:
        """Keep what requests call, for their replies."""
        if not self._named:
            return
        for record in records:
            origin = record.origin
            root = record.root
            if origin is None or not origin.pair or root is None or record.codec is None:
                continue
            if record.codec.exchange(root).role == "request":
                if len(self._calls) >= MOST_CALLS:
                    del self._calls[next(iter(self._calls))]
                self._calls[origin.pair] = record.codec.call(root)

    def line(self, record: Record, plain: bool, places: bool) -> bytes:
        """The JSON of a record with the members, on one line without its end."""
        return b"".join(self.added(record, iter([record.json_bytes(plain, places)])))

    def added(self, record: Record, parts: Iterator[bytes]) -> Iterator[bytes]:
        """The parts of a record's JSON, as of `Record.json_parts`, with the members in the first."""
        first = next(parts)
        at = first.index(MESSAGE)
        yield first[:at] + self._members(record) + first[at:]
        yield from parts

    def _members(self, record: Record) -> bytes:
        root = record.root
        codec = record.codec
        facts = NO_FACTS if root is None or codec is None else codec.call(root)
        role = "" if root is None or codec is None else codec.exchange(root).role
        origin = record.origin
        asked = facts
        if role == "reply" and origin is not None:
            asked = self._calls.get(origin.pair, facts)
        latency = -1 if origin is None else origin.latency_us
        timeout = facts.timeout_us
        outcome = "one-way" if facts.oneway else ""
        if role == "reply":
            outcome = "error" if facts.failed else "ok"
        texts = {
            "kind": record.kind,
            "summary": record.summary,
            "service": asked.service,
            "method": asked.method,
            "outcome": outcome,
            "status": facts.status,
            "exception": facts.exception,
            "id": facts.id,
            "trace": facts.trace,
        }
        durations = {"latency": latency, "timeout": -1 if timeout is None else timeout}
        parts: list[bytes] = []
        for name in self.names:
            duration = durations.get(name, -1)
            text = texts.get(name, "")
            if duration >= 0:
                parts.append(b', "%b": %b' % (name.encode(), seconds_text(duration).encode()))
            elif text:
                parts.append(b', "%b": %b' % (name.encode(), quoted(text)))
        return b"".join(parts)
