"""Output to a terminal: colour, width, pager."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from commands import ROOT, process

from wirelens.formatters.terminal import cells

LONG = "中文" * 60
MESSAGE = '{"lines": [{"type": "DATA", "name": "text", "value": "' + LONG + '"}]}'


def on_terminal(columns: int, rows: int, *words: str, **environment: str) -> str:
    """The output of `wirelens WORDS…` on a terminal of that size."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    settings = {**kept, "TERM": "xterm-256color", "PAGER": "cat", **environment}
    with process(*words, stdout=terminal, env=settings) as running:
        os.close(terminal)
        parts = []
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:
                break
            if not part:
                break
            parts.append(part)
        running.communicate()
    os.close(controller)
    return b"".join(parts).decode().replace("\r\n", "\n")


def bare(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "message.bin"
    with process("encode", "--as", "esnp-line", "--json", MESSAGE, "-o", str(target)) as running:
        running.communicate()
    return target


@pytest.mark.parametrize("columns", [40, 80, 160])
@pytest.mark.parametrize("style", ["tree", "hex", "summary"])
def test_lines_fit_the_terminal(columns: int, style: str, path: Path) -> None:
    text = on_terminal(columns, 50, "decode", "--format", style, str(path))
    assert "\x1b[" in text
    lines = bare(text).splitlines()
    assert max(map(cells, lines)) <= columns
    if style == "tree" and columns > 40:
        assert f"{len(LONG)} characters" in bare(text)


def test_json_is_never_shortened(path: Path) -> None:
    assert LONG in on_terminal(40, 50, "decode", "--format", "jsonl", str(path))


def test_no_color(path: Path) -> None:
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        text = on_terminal(80, 50, "decode", str(path), **environment)
        assert "\x1b" not in text
        assert "characters" in text


def test_bytes_are_a_dump(path: Path) -> None:
    assert bare(on_terminal(80, 50, "bytes", str(path))).startswith("00000000  15 00 ")


def test_only_long_output_is_paged(path: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho paged\ncat\n")
    pager.chmod(0o755)
    assert not on_terminal(80, 50, "decode", str(path), PAGER=str(pager)).startswith("paged")
    text = on_terminal(80, 4, "decode", "--format", "hex", str(path), PAGER=str(pager))
    assert text.startswith("paged\n")
    assert "END" in bare(text)
    assert not on_terminal(80, 4, "decode", "--no-pager", str(path), PAGER=str(pager)).startswith("paged")


def test_a_pager_that_quits_is_not_an_error(path: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nhead -n 1\n")
    pager.chmod(0o755)
    big = tmp_path / "big.bin"
    big.write_bytes(path.read_bytes() * 3000)
    text = on_terminal(80, 4, "decode", str(big), PAGER=str(pager))
    assert len(text.splitlines()) == 1


CAPTURE = "examples/captures/esnp_line_tcp.pcap"


@pytest.mark.parametrize(
    "words",
    [
        *(["decode", "--format", style, CAPTURE] for style in ("tree", "hex", "summary", "json", "jsonl")),
        *([command, CAPTURE] for command in ("detect", "flows", "calls")),
        ["bytes", "examples/sofa-request.xxd"],
        ["encode", "examples/dubbo-exchange.json"],
        ["protocols"],
        ["--help"],
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_a_closed_standard_output_is_quiet(words: list[str]) -> None:
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "wirelens.cli.main", *words]
    done = subprocess.run(closed, cwd=ROOT, capture_output=True, check=False, timeout=180)
    usual = subprocess.run(closed[4:], cwd=ROOT, capture_output=True, check=False, timeout=180)
    assert (done.returncode, done.stdout, done.stderr) == (usual.returncode, b"", usual.stderr)
    assert usual.stdout
