"""`stats --sizes`: which fields of the messages carry the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.cli.stats_output import write_rows
from wirelens.codecs.words import clean, count
from wirelens.formatters import layout as lay

if TYPE_CHECKING:
    from typing import Final

    from wirelens.cli.call_reading import CallReading
    from wirelens.cli.output import Output
    from wirelens.codecs import Json
    from wirelens.codecs.sizes import FieldSizes
    from wirelens.formatters.layout import Line

GROUPS: Final = 1000  # groups whose fields are counted; others are in one
SHOWN: Final = 20  # fields of a message in the text
SIDES: Final = ("request", "response")
REST: Final = "…"

Key = tuple[tuple[str, ...], str]


def write_sizes(reading: CallReading, by: tuple[str, ...], style: str, output: Output) -> None:
    """Read all calls, then write the fields of each group's requests and responses, largest first."""
    found = collect(reading, by)
    keys = sorted(found, key=lambda key: (-found[key].total, key))
    if style == "text":
        for key in keys:
            output.lines(lines(by, key, found[key], output))
        return
    rows = [row for key in keys for row in as_json(by, key, found[key])]
    if style == "csv":
        write_rows([*by, "message", "field", "bytes", "messages", "share"], rows, output)
        return
    from wirelens.codecs import dumps
    from wirelens.formatters.json import array

    for text in array(dumps(row) for row in rows):
        output.text(text)


def collect(reading: CallReading, by: tuple[str, ...]) -> dict[Key, FieldSizes]:
    """The sizes of fields, by group and side."""
    from wirelens.codecs.sizes import FieldSizes
    from wirelens.codecs.stats import group_names

    found: dict[Key, FieldSizes] = {}
    for calls in reading.batches():
        for call in calls:
            messages = call.messages
            if not reading.takes(call):
                continue
            names = group_names(call, by)
            for message in messages:
                side = SIDES[message.direction != call.direction]
                sizes = found.get((names, side))
                if sizes is None:
                    if len(found) >= 2 * GROUPS:
                        names = (REST,) * len(by)
                    sizes = found.setdefault((names, side), FieldSizes())
                sizes.add(message.record)
    return found


def as_json(by: tuple[str, ...], key: Key, sizes: FieldSizes) -> list[dict[str, Json]]:
    """The fields of a group's requests or responses as JSON."""
    names, side = key
    group: dict[str, Json] = {name: value for name, value in zip(by, names, strict=True) if value}
    return [
        {
            **group,
            "message": side,
            "field": path,
            "bytes": size,
            "messages": messages,
            "share": round(size / sizes.total, 6) if sizes.total else 0.0,
        }
        for path, size, messages in sizes.rows()
    ]


def lines(by: tuple[str, ...], key: Key, sizes: FieldSizes, output: Output) -> list[Line]:
    """A heading, and a line for each of the largest fields."""
    names, side = key
    name = ".".join([name for name in names if name]) or "–"
    about = f"{count(sizes.messages, side)}, {count(sizes.total, 'byte')}"
    found = list(lay.after_title(lay.WORD, clean(name), [(lay.DIM, about)], output.layout))
    rows = sizes.rows()
    for path, size, messages in rows[:SHOWN]:
        share = size / sizes.total if sizes.total else 0.0
        bar = "█" * round(share * 20)
        mean = f"{size / messages:,.0f} B each"
        found.append(
            output.layout.fit(
                [
                    (lay.NUMBER, f"{share:>7.1%}  "),
                    (lay.BAR, f"{bar:<20}  "),
                    (lay.NAME, clean(path)),
                    (lay.DIM, f"  {mean}"),
                ]
            )
        )
    if len(rows) > SHOWN:
        rest = sum([size for _, size, _ in rows[SHOWN:]])
        found.append([(lay.DIM, f"{rest / sizes.total:>7.1%}  {count(len(rows) - SHOWN, 'more field')}")])
    found.append([])
    return found
