"""What a run reports while it works."""

import io
from collections.abc import Iterable

import pytest

from wirelens.cli.bulk.progress import Display, RunProgress


def shown(
    monkeypatch: pytest.MonkeyPatch, steps: Iterable[tuple[float, RunProgress, int | None]]
) -> list[str]:
    """The lines in the log of a run: its state after each of the times, in seconds."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    out = io.StringIO()
    with Display(out) as display:
        display.step("Converting")
        display.set_total(10, 100_000_000)
        for seconds, progress, messages in steps:
            clock[0] = seconds
            display.update(progress, messages, 0)
    return out.getvalue().splitlines()


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        (10.0, RunProgress(0.1, 0.0, 0), 0),
        (40.0, RunProgress(0.5, 0.0, 0), 0),
        (50.0, RunProgress(0.9, 0.0, 0), 0),
        (80.0, RunProgress(1.0, 0.25, 2), 1234),
    ]
    assert shown(monkeypatch, steps) == [
        "Converting",
        "18%  5/10 files, 50.0 MB of 100.0 MB, 437.5 kB/s, 3 min left",
        "51%  100.0 MB read, 1,234 messages, 2 tasks tried again, 640.6 kB/s, 76 s left",
    ]


def test_the_time_left_does_not_grow_while_tasks_are_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [(seconds, RunProgress(1.0, 0.5, 0), 100) for seconds in (40.0, 70.0, 100.0, 130.0)]
    lines = shown(monkeypatch, steps)[1:]
    assert [line.rpartition(", ")[2] for line in lines] == ["19 s left", "nearly done"] + ["nearly done"] * 2
    assert {line.partition("B/s")[0] for line in lines} == {"68%  100.0 MB read, 100 messages, 1.7 M"}


def test_without_progress_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    with Display(out, wanted=False) as display:
        display.step("Converting")
        display.update(RunProgress(0.5, 0.0, 0), 1, 1)
    assert out.getvalue() == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_moves_on_a_terminal_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    with Display(out) as display:
        display.step("Reading a\x1b]0;title\x07\x9b31m\u202e[red]b.pcap")
        display.show("still\x1b[31m [bold]here")
    text = out.getvalue()
    assert r"a\u001b]0;title\u0007\u009b31m\u202e[red]b.pcap" in text
    assert r"still\u001b[31m [bold]here" in text
    assert "\x07" not in text
