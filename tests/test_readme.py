"""README.md is true: each command prints the text below it.

Blocks marked `console` are run from the top folder in a shell, in order; the lines below a command are what
it must print, standard error included. Run with UPDATE_TRANSCRIPTS=1 to write what is printed now.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose PATH has the `wirelens` under test."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "wirelens"
    command.write_text(
        f"#!{sys.executable}\nfrom wirelens.cli.main import main\n\nmain()\n".replace(
            "#!", "#!/usr/bin/env -S ", 1
        )
    )
    command.chmod(0o755)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    return {**kept, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def printed(command: str, environment: dict[str, str]) -> str:
    """The output of a command."""
    if command == "python3 dev.py demo":
        # the demo sets up first; this is the command that it shows
        text = (ROOT / "dev.py").read_text(encoding="utf-8")
        match = re.search(r'^DEMO = \["(.*)"\]$', text, re.MULTILINE)
        assert match is not None
        shown = "wirelens " + " ".join(match[1].split('", "'))
        return f"$ {shown}\n{printed(shown, environment)}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return done.stdout.decode()


def commands(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def replayed(block: str, environment: dict[str, str]) -> str:
    parts: list[str] = []
    for command in commands(block):
        # the output of `dev.py demo` starts with a command line
        if command.startswith("wirelens") and parts and parts[-1].startswith("$ python3 dev.py demo"):
            continue
        parts.append(f"$ {command}\n{printed(command, environment)}")
    return "".join(parts)


def test_every_command_prints_what_the_readme_shows(environment: dict[str, str]) -> None:
    text = README.read_text(encoding="utf-8")
    now = BLOCK.sub(
        # commands that need Spark or a cluster have tests of their own
        lambda match: match[0] if "bulk" in match[1] else f"```console\n{replayed(match[1], environment)}```",
        text,
    )
    if os.environ.get("UPDATE_TRANSCRIPTS"):
        README.write_text(now, encoding="utf-8")
    else:
        assert now == text


@pytest.mark.parametrize(
    "module",
    ["hessian/forms", "hessian/message_forms", "dubbo/vocabulary", "bolt/vocabulary", "http/vocabulary"],
)
def test_the_reference_has_every_wire_form(module: str) -> None:
    text = README.read_text(encoding="utf-8")
    docstring = (ROOT / "codecs" / f"{module}.py").read_text(encoding="utf-8").split('"""')[1]
    rows = [line for line in docstring.splitlines() if line.startswith("| ")]
    assert rows
    assert [row for row in rows if row not in text] == []


def test_every_example_decodes(environment: dict[str, str]) -> None:
    rows = re.findall(r"^\| `(wirelens decode [^`]+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 8
    for command in rows:
        done = subprocess.run(
            ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, timeout=120, check=False
        )
        assert (done.returncode, done.stderr) == (0, b""), command
        assert b"unknown" not in done.stdout


def test_the_python_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = README.read_text(encoding="utf-8").partition("## In Python")[2]
    code = text.partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "payload.bin").write_bytes(bytes.fromhex("1e0000010811000008000000000000000700000000"))
    exec(code, {})
    assert "esnp-line 0 REQUEST #7" in capsys.readouterr().out


def test_the_readme_shows_commands() -> None:
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    assert sum(len(commands(block)) for block in blocks) >= 10
