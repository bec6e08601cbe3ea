"""Ctrl-C while another program fills a pipe: it reaches both, and what that program still writes is read."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

STDERR: Final = 2
READING_ON: Final = b"\nInterrupted: reading on to the end of the input; Ctrl-C again stops.\n"

_pipes = 0  # how many are in `reading_on`


@contextmanager
def reading_on() -> Iterator[None]:
    """The first SIGINT in this context is only reported; the next one is a KeyboardInterrupt as usual."""
    global _pipes
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or (
        not _pipes and signal.getsignal(signal.SIGINT) != usual
    ):
        yield
        return
    if not _pipes:
        signal.signal(signal.SIGINT, _report)
    _pipes += 1
    try:
        yield
    finally:
        _pipes -= 1
        if not _pipes:
            signal.signal(signal.SIGINT, usual)


def _report(number: int, _frame: object) -> None:
    signal.signal(number, signal.default_int_handler)
    os.write(STDERR, READING_ON)  # not through a buffer, whose writing may be what was interrupted
