"""Selecting messages: --flow, --port, --where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from wirelens.cli.input_options import FlowChoice
    from wirelens.codecs import Record
    from wirelens.codecs.captures import Flow

FIELDS: Final = ("protocol", "kind", "summary", "note", "error", "flow")


class Condition:
    """One --where: FIELD=VALUE, FIELD!=VALUE, FIELD~TEXT (contains), or TEXT alone (in the summary)."""

    def __init__(self, text: str) -> None:
        self.field, self.operator, self.value = "summary", "~", text
        for operator in ("!=", "=", "~"):
            name, separator, value = text.partition(operator)
            if separator and name in FIELDS:
                self.field, self.operator, self.value = name, operator, value
                return
            if separator and name.isidentifier() and name.islower():
                raise click.BadParameter(
                    f"no field {name!r}; the fields are {', '.join(FIELDS)}", param_hint="--where"
                )

    def matches(self, record: Record) -> bool:
        """Whether the condition is true for a record."""
        texts = self.texts(record)
        if self.operator == "~":
            part = self.value.lower()
            return any(part in text.lower() for text in texts)
        return (self.value in texts) == (self.operator == "=")

    def texts(self, record: Record) -> list[str]:
        """The field's values in a record: one, or one for each note or error."""
        if self.field == "protocol":
            return [record.protocol]
        if self.field == "kind":
            return [record.kind]
        if self.field == "summary":
            return [record.summary]
        if self.field == "note":
            return [note.code for note in record.notes]
        if self.field == "flow":
            return ["" if record.origin is None else record.origin.place.flow]
        inner = [fault.code for fault in record.tape.faults] if record.tape is not None else []
        return inner if record.error is None else [record.error.code, *inner]


class Selection:
    """The options --flow, --port and --where; without any of them, everything is selected."""

    def __init__(self, flow: FlowChoice | None, port: int | None, where: Sequence[str]) -> None:
        self.flow = flow
        self.port = port
        self.conditions = [Condition(text) for text in where]

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

    def of(self, records: list[Record]) -> list[Record]:
        """The records that match every --where."""
        return [
            record for record in records if all(condition.matches(record) for condition in self.conditions)
        ]
