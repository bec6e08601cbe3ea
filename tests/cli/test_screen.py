"""Colours, background and characters of a terminal, as the options, the variables and the terminal decide."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from commands import ROOT, process

MESSAGE = ["decode", "--as", "hessian2", "examples/cyclic-graph.xxd"]
VARIABLES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORFGBG", "COLORTERM", "COLUMNS")


def surroundings(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in (*VARIABLES, "WIRELENS_THEME", "LC_ALL", "LC_CTYPE", "LANG")
    }
    return {**kept, "TERM": "xterm-256color", "PAGER": "cat", "LC_ALL": "C.UTF-8", **more}


def piped(*words: str, **more: str) -> str:
    with process(*words, env=surroundings(**more)) as running:
        return running.communicate()[0].decode()


def answering(answer: bytes, *words: str, **more: str) -> tuple[str, bytes]:
    """What `wirelens WORDS…` writes to a terminal that answers questions so, and what it leaves unread."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    code = (
        "import os, fcntl, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        f"os.execv({sys.executable!r}, {[sys.executable, '-m', 'wirelens.cli.main', *words]!r})"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        env=surroundings(**more),
    )
    written = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([controller], [], [], 0.1)[0]:
            written += os.read(controller, 65536)
            if b"\x1b[c" in written and answer:
                os.write(controller, answer)
                answer = b""
        elif running.poll() is not None:
            break
    assert running.wait() == 0, running.stderr
    left = b""
    attributes = termios.tcgetattr(terminal)
    assert attributes[3] & termios.ECHO
    attributes[3] &= ~termios.ICANON
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    while select.select([terminal], [], [], 0)[0]:
        left += os.read(terminal, 100)
    os.close(terminal)
    os.close(controller)
    return written.decode(), left


@pytest.mark.parametrize(
    ("answer", "colour"),
    [
        (b"\x1b]11;rgb:0000/2b2b/3636\x1b\\\x1b[?64;1c", 80),
        (b"\x1b]11;rgb:ff/ff/ff\x07\x1b[?1;2c", 24),
        (b"\x1b[?6c", 63),
        (b"", 63),
    ],
)
def test_the_terminal_is_asked_for_its_background(answer: bytes, colour: int) -> None:
    written, left = answering(answer, *MESSAGE)
    assert written.count("\x1b]11;?") == 1
    assert f"\x1b[38;5;{colour}m" in written
    assert not left


def test_a_theme_is_not_asked_for() -> None:
    for words, more in (((*MESSAGE, "--theme", "light"), {}), (MESSAGE, {"WIRELENS_THEME": "light"})):
        written, _ = answering(b"", *words, **more)
        assert "\x1b]11" not in written
        assert "\x1b[38;5;24m" in written


@pytest.mark.parametrize(("value", "colour"), [("15;0", 80), ("0;default;15", 24), ("x", 63), ("", 63)])
def test_colorfgbg_names_the_background(value: str, colour: int) -> None:
    text = piped(*MESSAGE, "--color", "always", COLORFGBG=value)
    assert f"\x1b[38;5;{colour}m" in text


@pytest.mark.parametrize(
    ("more", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ],
)
def test_variables_that_people_know(more: dict[str, str], coloured: bool) -> None:
    assert ("\x1b" in piped(*MESSAGE, **more)) == coloured


def test_clicolor_is_for_terminals() -> None:
    written, _ = answering(b"", *MESSAGE, CLICOLOR="0")
    assert "\x1b" not in written


def test_colour_is_only_added() -> None:
    plain = piped(*MESSAGE)
    for theme in ("dark", "light", "either"):
        for term in ("xterm-256color", "linux"):
            text = piped(*MESSAGE, "--color", "always", "--theme", theme, TERM=term)
            assert re.sub(r"\x1b\[[0-9;]*m", "", text) == plain


@pytest.mark.parametrize("more", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LC_ALL": "de_DE.ISO-8859-1"}])
def test_a_locale_without_lines_gets_ascii(more: dict[str, str]) -> None:
    text = piped(*MESSAGE, **more)
    assert text.isascii()
    assert "`- " in text
    assert "|- " in text
    assert text == piped(*MESSAGE, "--ascii")


def test_text_in_ascii_is_escaped(tmp_path: Path) -> None:
    text = piped("decode", "--ascii", "--as", "hessian2", "--hex", "05 e2 94 82 c3 a9 61 e2 82 ac 62")
    assert '"\\u2502\\u00e9a\\u20acb"' in text


def test_a_pager_gets_whole_lines(tmp_path: Path) -> None:
    pager = tmp_path / "less"
    pager.write_text('#!/bin/sh\necho "$LESS $LESSCHARSET $*"\ncat\n')
    pager.chmod(0o755)
    path = tmp_path / "long.bin"
    path.write_bytes(b"\x55" + b"S\x00\xc8" + b"x" * 190 + b"needle" + b"y" * 4 + b"\x90" * 60 + b"Z")
    words = ("decode", "--as", "hessian2", "--color", "never", str(path))
    paged, _ = answering(b"", *words, PAGER="less", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert paged.startswith("FRSX utf-8 -RS\r\n")
    assert "needle" in paged
    shown, _ = answering(b"", *words, "--no-pager")
    assert "needle" not in shown


@pytest.mark.parametrize(
    "words", [("decode", "--format", "json"), ("decode", "--format", "jsonl"), ("detect", "--format", "json")]
)
def test_json_in_colour_is_the_same_json(words: tuple[str, ...]) -> None:
    path = "examples/dubbo-order.xxd"
    coloured = piped(*words, "--color", "always", "--theme", "dark", path)
    assert "\x1b[38;5;80m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == piped(*words, path)
