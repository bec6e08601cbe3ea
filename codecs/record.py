from typing import NamedTuple


class Note(NamedTuple):
    """A legal or tolerated oddity: its code (see codes.py), absolute offset in bytes, and a sentence."""

    code: str
    offset: int
    text: str
