"""Counts the lines that a call runs: its work, whatever the clock shows. Compiled code has no lines."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines(call: Callable[[], object]) -> int:
    """The number of lines run, in Python's own modules too."""
    count = 0

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    collects = gc.isenabled()
    gc.disable()  # what ends with garbage of other tests is not work of this call
    sys.settrace(step)
    try:
        call()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count
