"""Writers of the notation that are used again, and the JSON of one tree."""

from typing import Final

from wirelens.codecs.notation import Writer
from wirelens.codecs.tape import Tape

# Unused writers: making one takes longer than writing a message.
_idle: Final[list[Writer]] = []
_KEPT: Final = 1 << 16  # a writer with more bytes of room than this is not kept


def start_writing(plain: bool, places: bool = True) -> Writer:
    """An empty writer, for `end_writing` to take back."""
    try:
        writer = _idle.pop()
    except IndexError:
        return Writer(plain, places)
    writer.plain = plain
    writer.places = places
    return writer


def end_writing(writer: Writer) -> bytes:
    """What was written; the writer must not be used afterwards."""
    text = writer.out.getvalue()
    if len(text) <= _KEPT:
        writer.out.truncate(0)
        _idle.append(writer)
    return text


def tree_json(tape: Tape, plain: bool = False) -> bytes:
    """The JSON, in UTF-8, of a tape's root."""
    writer = start_writing(plain)
    writer.write(tape, 0, tape.buffer)
    return end_writing(writer)
