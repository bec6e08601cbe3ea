"""Regular expressions that are compiled when they are first used.

There are some hundred of them, and one text needs few: compiling them all takes longer than reading it.
"""

import re
from typing import Any, cast


class _Pattern:
    """Stands for a compiled expression; what is taken from that once is kept here."""

    def __init__(self, text: str, flags: int) -> None:
        self._source = (text, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)
        return value


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The expression `text`, compiled later; `flags` as for `re.compile`."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
