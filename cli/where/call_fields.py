"""The fields of calls, for calls and stats; `request.`, `reply.` and `message.` lead into their messages."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from wirelens.cli.where import values
from wirelens.cli.where.fields import (
    ADDRESSES,
    DURATIONS,
    FLOWS,
    IDS,
    MESSAGE,
    NUMBERS,
    SIZES,
    TEXT,
    TEXTS,
    TIMES,
    TRUTHS,
    Field,
    Fields,
)
from wirelens.codecs import registry
from wirelens.codecs.call import DURATION, MEMBERS, NUMBER, OUTCOMES, SIZE, TIME, TRUTH, Call

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from wirelens.cli.where.fields import Type
    from wirelens.codecs import Json

OF_MESSAGES: Final = "of messages: wirelens decode"
MESSAGE_FIELDS: Final = ("kind", "note", "error", "length")
SEEN: Final = ("both", "client", "server")
ADDRESSES_KEPT: Final = 1 << 12  # endpoints whose texts have been read

TYPES: Final[dict[str, Type]] = {
    DURATION: DURATIONS,
    NUMBER: NUMBERS,
    SIZE: SIZES,
    TIME: TIMES,
    TRUTH: TRUTHS,
}


class _Endpoints:
    """Endpoints as (address, port), from their texts."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, int] | None] = {}

    def of(self, text: str) -> tuple[bytes, int] | None:
        """The address and port of an endpoint, None for what is not one."""
        known = self._known
        if text not in known:
            if len(known) >= ADDRESSES_KEPT:
                known.clear()
            found = values.addresses(text)
            known[text] = (
                None if found is None else (found.bits.to_bytes(found.length, "big"), found.port or 0)
            )
        return known[text]


class _Trees:
    """The JSON of a call's messages, kept of the latest call for the next condition."""

    def __init__(self) -> None:
        self._call: Call | None = None
        self._trees: list[tuple[bool, Json]] = []  # whether it is of the request, the message

    def _of(self, call: Call) -> list[tuple[bool, Json]]:
        from wirelens.codecs import loads

        if call is not self._call:
            self._call = call
            self._trees = []
            for message in call.messages:
                json = loads(message.record.json_text())
                tree = json.get("message") if isinstance(json, dict) else None
                self._trees.append((message.direction == call.direction, tree))
        return self._trees

    def requests(self, call: Call) -> list[Json]:
        """The messages of the request."""
        return [tree for is_request, tree in self._of(call) if is_request]

    def replies(self, call: Call) -> list[Json]:
        """The messages of the reply."""
        return [tree for is_request, tree in self._of(call) if not is_request]

    def both(self, call: Call) -> list[Json]:
        """All messages."""
        return [tree for _, tree in self._of(call)]


def call_fields() -> Fields[Call]:
    """The fields of calls. Where they name a message, calls must have theirs (`Filter.needs_trees`)."""
    endpoints = _Endpoints()
    trees = _Trees()

    def ports(call: Call) -> list[int]:
        found = (endpoints.of(call.client), endpoints.of(call.server))
        return [end[1] for end in found if end is not None]

    row = Field(TEXTS, _row_text, TEXT)
    named: dict[str, Field[Call]] = {name: _field(name, kind) for name, kind in MEMBERS}
    named |= {
        "protocol": Field(TEXTS, _text("protocol"), words=registry.names),
        "outcome": Field(TEXTS, _text("outcome"), words=lambda: OUTCOMES),
        "seen": Field(TEXTS, _text("seen"), words=lambda: SEEN),
        "id": Field(IDS, _text("id")),
        "client": Field(ADDRESSES, lambda call: endpoints.of(call.client)),
        "server": Field(ADDRESSES, lambda call: endpoints.of(call.server)),
        "port": Field(NUMBERS, ports, MESSAGE, several=True),
        "flow": Field(FLOWS, lambda call: (call.flow, f"{call.transport} {call.client} > {call.server}")),
        "packets": Field(NUMBERS, _packets),
        "time": named["sent"],
        "summary": row,
    }
    return Fields(
        named,
        row,
        {"request": trees.requests, "reply": trees.replies, "message": trees.both},
        "message",
        dict.fromkeys(MESSAGE_FIELDS, OF_MESSAGES),
    )


def _field(name: str, kind: str) -> Field[Call]:
    """The field of a member of calls."""
    if kind in (TIME, DURATION):
        name += "_us"
    found = TYPES.get(kind)
    return Field(TEXTS, _text(name)) if found is None else Field(found, attrgetter(name))


def _text(name: str) -> Callable[[Call], Any]:
    """What gives a member that is text, None where it is empty."""
    get = attrgetter(name)
    return lambda call: get(call) or None


def _packets(call: Call) -> int | None:
    return (call.request_packets or 0) + (call.response_packets or 0) or None


def _row_text(call: Call) -> str:
    from wirelens.formatters.calls import row_text

    return row_text(call)
