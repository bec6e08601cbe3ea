"""Running commands as a user does: types and processes that the tests of several folders share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).resolve().parent.parent


class Run(Protocol):
    def __call__(self, *words: str, stdin: str | bytes = b"") -> Result: ...


def _heed_interrupts() -> None:
    """What a program gets that is not started in the background, where SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def process(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Starts `wirelens WORDS…` as a process, all its streams being pipes unless `options` say otherwise.

    One that hangs is killed after minutes, so that what waits for it fails.
    """
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "wirelens.cli.main", *words]
    running = subprocess.Popen(
        command, cwd=ROOT, **{"env": kept, "preexec_fn": _heed_interrupts, **pipes, **options}
    )
    watchdog = threading.Timer(180, running.kill)
    watchdog.daemon = True
    watchdog.start()
    return running
