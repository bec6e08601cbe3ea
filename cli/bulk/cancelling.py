"""SIGINT and SIGTERM during a run: remembered until it ends, so that nothing commits afterwards."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from socketserver import BaseServer
from types import FrameType
from typing import Any, Final, Self

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
EXIT: Final = 128  # added to a signal's number it is the exit status
AGAIN_SECONDS: Final = 0.3  # jobs that begin after a cancellation are not cancelled by it, so it is repeated
CANCEL_SECONDS: Final = 5.0  # then Spark is ended by force; containers are often killed after 10 or 30
STOP_SECONDS: Final = 3.0


class CancelledError(Exception):
    """The run is to end."""


class Cancelling:
    """A context, in the main thread, in which the first signal raises KeyboardInterrupt and is remembered.

    Once the run commits, signals are only remembered: it counts as done. So they are between two runs.
    """

    def __init__(self) -> None:
        self.signal = 0
        self.committing = False
        self._lock = threading.RLock()  # a signal may arrive while the main thread has it
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        # py4j and PySpark's server would print, with tracebacks, where a signal found them and that the JVM
        # is gone.
        logging.disable(logging.ERROR)
        self._handle_error = BaseServer.handle_error
        BaseServer.handle_error = _say_nothing  # type: ignore[method-assign, assignment]
        self._before = [signal.getsignal(number) for number in SIGNALS]
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        logging.disable(logging.NOTSET)
        BaseServer.handle_error = self._handle_error  # type: ignore[method-assign]
        for number, handler in zip(SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    def install(self) -> None:
        """Handle the signals, also after Spark installed its own handler, which would wait for its JVM."""
        for number in SIGNALS:
            signal.signal(number, self._handle)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        with self._lock:
            first = not self.signal
            self.signal = self.signal or number
            if self.committing or not first:
                return
        raise KeyboardInterrupt

    @property
    def status(self) -> int:
        """The exit status of a run that was cancelled."""
        return EXIT + (self.signal or signal.SIGINT)

    def check(self) -> None:
        """Check that the run may go on, from any thread. Raises CancelledError."""
        if self.signal:
            raise CancelledError

    def begin_commit(self) -> None:
        """From here on the run is not cancelled any more. Raises CancelledError if it was before."""
        with self._lock:
            self.check()
            self.committing = True

    def end_commit(self) -> bool:
        """Let signals cancel again; whether to go on. After a signal they are still only remembered."""
        with self._lock:
            self.committing = bool(self.signal)
            return not self.signal

    def sleep(self, seconds: float) -> None:
        """Sleep, while signals are only remembered, until there is one."""
        end = time.monotonic() + seconds
        while not self.signal and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, AGAIN_SECONDS))


def _say_nothing(_server: BaseServer, request: Any, client_address: Any) -> None:
    """In place of `BaseServer.handle_error`."""


def cancel(request: Callable[[], None], done: threading.Event) -> bool:
    """Make a request again and again until what it cancels is done; whether it is, after CANCEL_SECONDS."""

    def repeat() -> None:
        while not done.wait(AGAIN_SECONDS):
            with suppress(Exception):
                request()

    # In a thread, as a request may wait for an answer.
    threading.Thread(target=repeat, daemon=True).start()
    return done.wait(CANCEL_SECONDS)


def within(seconds: float, work: Callable[[], object]) -> bool:
    """Do something in a thread; whether it came to its end in this time."""
    done = threading.Event()

    def run() -> None:
        with suppress(Exception):
            work()
        done.set()

    threading.Thread(target=run, daemon=True).start()
    end = time.monotonic() + seconds
    while not done.wait(AGAIN_SECONDS) and time.monotonic() < end:
        pass
    return done.is_set()
