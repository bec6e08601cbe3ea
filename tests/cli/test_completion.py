"""Completion of command lines, as the shells ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import process

if TYPE_CHECKING:
    from commands import Run


def completed(*words: str) -> list[str]:
    """What completes the last of the words after `wirelens`."""
    line = ["wirelens", *words]
    quoted = " ".join("'" + word + "'" if " " in word else word for word in line)
    settings = {
        **os.environ,
        "_WIRELENS_COMPLETE": "bash_complete",
        "COMP_WORDS": quoted,
        "COMP_CWORD": str(len(line) - 1),
    }
    with process(env=settings) as running:
        lines = running.communicate()[0].decode().splitlines()
    return [line.partition(",")[2] for line in lines if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("dec",), {"decode"}),
        (("decode", "--as", "hess"), {"hessian1", "hessian2", "hessian2-draft"}),
        (("decode", "--where", "meth"), {"method"}),
        (("decode", "--where", "method"), {"method=", "method!=", "method~", "method!~"}),
        (("decode", "--where", "kind=resp"), {"kind=response"}),
        (("decode", "--where", "protocol=dub"), {"protocol=dubbo"}),
        (("decode", "--where", "note=joined"), {"note=joined-middle"}),
        (("calls", "--where", "outcome=un"), {"outcome=unanswered"}),
        (("calls", "--where", "late"), {"late=", "late!=", "latency"}),
        (("help", "dec"), {"decode"}),
        (("decode", "a/pat"), {"a/pat"}),  # the shell completes it
        (("stats", "--by", "service,meth"), {"service,method"}),
        (("decode", "--where", "zzz"), set()),
        (("decode", "--where", "outcome=o"), set()),
    ],
)
def test_what_completes_a_line(words: tuple[str, ...], expected: set[str]) -> None:
    assert set(completed(*words)) == expected


def test_expressions_go_on(run: Run) -> None:
    from wirelens.cli.where.call_fields import call_fields
    from wirelens.cli.where.completing import completions

    fields = call_fields()
    assert ("method=find and outcome=error", "outcome") in completions("method=find and outcome=er", fields)
    assert ("(method=a or late=", "true or false") in completions("(method=a or late", fields)
    assert ("request.", "a path") in completions("req", fields)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one(shell: str, run: Run, tmp_path: Path) -> None:
    script = run("completion", shell)
    assert script.exit_code == 0
    assert f"_WIRELENS_COMPLETE={shell}_complete" in script.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(script.stdout)
    assert subprocess.run([shell, "-n", str(path)], check=False).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_an_expression(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text(run("completion", "bash").stdout)
    text = (
        f"source {path}; case $COMP_WORDBREAKS in *=*) exit 3;; esac; "
        "type _wirelens_completion >/dev/null || exit 4"
    )
    assert subprocess.run(["bash", "-c", text], check=False).returncode == 0


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("decode", "--json", "x"), "--format json"),
        (("calls", "--filter", "x"), "--where"),
        (("stats", "--group-by", "x"), "--by"),
        (("decode", "--grep", "x"), "--find"),
        (("flows", "--no-color"), "--color never"),
        (("decode", "--widht", "8"), "--width"),
    ],
)
def test_unknown_options_are_answered_with_those_that_are_meant(
    words: tuple[str, ...], meant: str, run: Run
) -> None:
    shown = run(*words)
    assert shown.exit_code == 2
    assert f"'{meant}'" in shown.stderr


def test_help_of_a_command(run: Run) -> None:
    assert run("help", "detect").stdout == run("detect", "--help").stdout
    assert run("help").stdout == run("--help").stdout
    shown = run("help", "detcet")
    assert shown.exit_code == 2
    assert "Did you mean 'detect'?" in shown.stderr


def test_short_options(run: Run) -> None:
    assert run("-V").stdout == run("--version").stdout
    path = "examples/dubbo-order.xxd"
    assert run("decode", "-f", "json", path).stdout == run("decode", "--format", "json", path).stdout
