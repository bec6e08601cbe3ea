"""Selecting messages: --flow, --port, --where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli.stderr import warn
from wirelens.codecs.words import count, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wirelens.cli.input_options import FlowChoice, MergeOptions
    from wirelens.cli.where.compiling import Filter
    from wirelens.cli.where.fields import Fields, Row
    from wirelens.cli.where.message_fields import Row as MessageRow
    from wirelens.codecs import Record
    from wirelens.codecs.call import Call
    from wirelens.codecs.captures import Flow
    from wirelens.codecs.conversations import Message


def row_filter(texts: Sequence[str], fields: Fields[Row]) -> Filter[Row] | None:
    """What asks a row for every --where; None without one. Raises click's error about a wrong one."""
    from wirelens.cli.where.compiling import compiled
    from wirelens.cli.where.language import WhereError

    try:
        return compiled(texts, fields)
    except WhereError as error:
        text = quote(texts[error.number]) + ", " if len(texts) > 1 else ""
        raise click.BadParameter(f"{text}{error}", param_hint="--where") from None


def message_filter(
    texts: Sequence[str], point: str = "none", numbered: bool = True
) -> Filter[MessageRow] | None:
    """What asks a message for every --where; `numbered`: whether flows have the numbers of `flows`."""
    from wirelens.cli.where.message_fields import file_of_source, message_fields

    return row_filter(texts, message_fields(file_of_source, point, numbered))


def call_filter(texts: Sequence[str]) -> Filter[Call] | None:
    """What asks a call for every --where; None without one. Raises click's error about a wrong one."""
    if not texts:
        return None
    from wirelens.cli.where.call_fields import call_fields

    return row_filter(texts, call_fields())


def report_none(asked: int, noun: str) -> None:
    """Report on standard error that of what --where was asked about nothing matches."""
    if asked:
        warn(f"0 of {count(asked, noun)} {'matches' if asked == 1 else 'match'}")


class Selection:
    """The options --flow, --port and --where of commands that read messages.

    `asked` and `matched` count the messages that --where was asked about, and those that match.
    """

    def __init__(
        self,
        flow: FlowChoice | None,
        port: int | None,
        where: Sequence[str] = (),
        merge_options: MergeOptions | None = None,
    ) -> None:
        self.flow = flow
        self.port = port
        self.asked = 0
        self.matched = 0
        self.where: Callable[[MessageRow], bool] | None = None
        if where:
            found = message_filter(where, "none" if merge_options is None else merge_options.point)
            self.where = None if found is None else found.matches

    @property
    def of_flows(self) -> bool:
        """Whether it selects among a capture's flows."""
        return self.flow is not None or self.port is not None

    def takes(self, flow: Flow) -> bool:
        """Whether a flow is selected."""
        if self.flow is not None and flow.number != self.flow.number:
            return False
        return self.port is None or self.port in flow.ports

    def takes_direction(self, direction: int) -> bool:
        """Whether the messages of a direction of the selected flows are wanted."""
        return self.flow is None or self.flow.direction in (None, direction)

    def beyond(self, flows: int) -> str:
        """An error about a flow that is not among this number of flows; "" if it is there."""
        if self.flow is None or self.flow.number <= flows:
            return ""
        are = "is" if flows == 1 else "are"
        return f"no flow {self.flow.number}: there {are} {count(flows, 'flow')}"

    def matches(self, message: MessageRow) -> bool:
        """Whether a message matches --where."""
        self.asked += 1
        if self.where is None or self.where(message):
            self.matched += 1
            return True
        return False

    def of(self, messages: Sequence[Message]) -> list[Record]:
        """The records of the messages that match --where."""
        where = self.where
        if where is None:
            return [message.record for message in messages]
        records = [message.record for message in messages if where(message)]
        self.asked += len(messages)
        self.matched += len(records)
        return records

    def of_records(self, records: list[Record]) -> list[Record]:
        """The records that match --where, of those that are not from a capture."""
        if self.where is None:
            return records
        from wirelens.cli.where.message_fields import LoneRecord

        return [record for record in records if self.matches(LoneRecord(record))]

    def report(self) -> None:
        """Report on standard error that nothing matches --where."""
        if self.where is not None and not self.matched:
            report_none(self.asked, "message")
