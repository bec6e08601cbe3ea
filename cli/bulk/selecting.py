"""--where of a bulk run, in its tasks: which messages get rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.cli.where.compiling import compiled, normal
from wirelens.cli.where.message_fields import LoneRecord, message_fields
from wirelens.codecs.captures.pcap import FILE_SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wirelens.cli.where.message_fields import Row
    from wirelens.codecs import Record
    from wirelens.codecs.conversations import Message

    Matches = Callable[[Record, Message | None, int], bool]


def matches(where: Sequence[str], point: str, names: Mapping[int, str]) -> Matches | None:
    """Whether a record matches all expressions; None without any. Raises WhereError.

    It is given the record, its message if it is of a capture, else the number of its file. `names` are those
    of the files, by their numbers; `point` is --point.
    """

    def file_of(row: Row) -> str:
        return names.get(row.packets[-1] >> FILE_SHIFT, "") if row.packets else ""

    found = compiled(where, message_fields(file_of, point, False))
    if found is None:
        return None
    test = found.matches

    def record_matches(record: Record, message: Message | None, file: int) -> bool:
        return test(LoneRecord(record, (file << FILE_SHIFT,)) if message is None else message)

    return record_matches


def normal_text(where: Sequence[str]) -> str:
    """All expressions as one, "" without any; each the same whatever its blanks. Raises WhereError."""
    fields = message_fields(_no_file, numbered=False)
    compiled(where, fields)
    return normal(where, fields)


def _no_file(_row: Row) -> str:
    return ""
