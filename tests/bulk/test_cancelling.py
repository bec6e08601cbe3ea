"""Signals during a run: nothing commits after them."""

import os
import signal
import threading
from pathlib import Path

import pytest
from inprocess import contents, convert
from made import frames, rotated

from wirelens.cli.bulk import cancelling
from wirelens.cli.bulk.cancelling import CancelledError, Cancelling, cancel, within
from wirelens.cli.bulk.job import Job, JobOptions
from wirelens.cli.bulk.ledger import Run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_commits_after_a_signal(tmp_path: Path, number: int) -> None:
    sources = rotated(frames(3, 8), 3, tmp_path / "in")
    job = Job(JobOptions([str(source) for source in sources], str(tmp_path / "out")))
    before = signal.getsignal(number)
    with Cancelling() as cancelled:
        job._cancelling = cancelled
        job.inspect()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)  # another one changes nothing
        with pytest.raises(CancelledError):
            job.convert(convert, dict, 2)
        job.run.end()
    assert cancelled.status == 128 + number
    assert signal.getsignal(number) == before
    assert list((tmp_path / "out").iterdir()) == []


def test_a_signal_during_the_commit_comes_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = rotated(frames(3, 8), 3, tmp_path / "in")
    job = Job(JobOptions([str(source) for source in sources], str(tmp_path / "out")))
    commit = Run.commit

    def interrupted(run: Run, *args: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        commit(run, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Run, "commit", interrupted)
    with Cancelling() as cancelled:
        job._cancelling = cancelled
        job.inspect()
        job.convert(convert, dict, 2)
        job.run.end()
    assert cancelled.signal == signal.SIGINT
    assert contents(tmp_path / "out")


def test_a_request_to_cancel_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that begins later is not cancelled by the first request."""
    monkeypatch.setattr(cancelling, "AGAIN_SECONDS", 0.001)
    done = threading.Event()
    left = [3]

    def request() -> None:
        left[0] -= 1
        if not left[0]:
            done.set()
        raise OSError("nobody listens")

    assert cancel(request, done)
    assert within(60, done.set)
    assert not within(0, threading.Barrier(2).wait)  # which takes for ever
