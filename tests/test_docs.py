"""README.md and docs/ are true: commands print the text below them, and what is made is as it would be made.

Blocks marked `console` are run from the top folder; the lines below a command are what it must print,
standard error included. Commands of wirelens alone run in this process, others in a shell. Commands in the
text, without output, must have options that exist. UPDATE_TRANSCRIPTS=1 writes what is printed now, and
`python3 dev.py docs` what is made.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import manual
import pytest
from click.testing import CliRunner

from wirelens.cli.main import COMMANDS, group
from wirelens.codecs import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINES_OF_README = 220
SHELL = re.compile(r"[;&<>$`*(){}\\]|\bprintf\b")

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose PATH has the `wirelens` under test."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "wirelens"
    command.write_text(f"#!/usr/bin/env -S {sys.executable}\nfrom wirelens.cli.main import main\n\nmain()\n")
    command.chmod(0o755)
    left_out = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PAGER", "WIRELENS_DEBUG")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
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
    programs = (
        [shlex.split(part) for part in command.split(" | ")] if not SHELL.search(unquoted(command)) else []
    )
    if programs and all(words[0] == "wirelens" for words in programs):
        return printed_here(programs, environment)
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


def unquoted(command: str) -> str:
    """A command without what is in single quotes."""
    return re.sub(r"'[^']*'", "''", command)


def printed_here(programs: list[list[str]], environment: dict[str, str]) -> str:
    """The output of wirelens, piped from one to the next, in this process."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        data = b""
        others = ""
        for words in programs:
            result = CliRunner(env=dict(environment)).invoke(
                group, words[1:], input=data, prog_name="wirelens"
            )
            data = result.stdout_bytes
            if words is not programs[-1]:
                others += result.stderr
        return others + result.output
    finally:
        os.chdir(here)


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


@pytest.mark.parametrize("name", NAMES)
def test_every_command_prints_what_is_shown(name: str, environment: dict[str, str]) -> None:
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    now = BLOCK.sub(
        # commands that need Spark or a cluster have tests of their own
        lambda match: (
            match[0] if "wirelens bulk" in match[1] else f"```console\n{replayed(match[1], environment)}```"
        ),
        text,
    )
    if os.environ.get("UPDATE_TRANSCRIPTS"):
        path.write_text(now, encoding="utf-8")
    else:
        assert now == text


def mentioned(text: str) -> Iterator[str]:
    """The commands that a page names outside of `console` blocks: in code, or indented."""
    rest = BLOCK.sub("", text)
    yield from re.findall(
        r"`((?:[a-z -]*\| )?wirelens [^`\n]*)`", re.sub(r"```.*?```", "", rest, flags=re.DOTALL)
    )
    yield from re.findall(r"^(?:    |\$ )(.*\bwirelens .*)$", rest, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_that_is_mentioned_exists(name: str) -> None:
    context = click.Context(group, info_name="wirelens")
    for line in mentioned((ROOT / name).read_text(encoding="utf-8")):
        for call in re.findall(r"\bwirelens ([a-z]+)((?:[^|;&]|'[^']*')*)", line):
            if call[0] not in COMMANDS:
                assert call[0] in ("help", "is"), line
                continue
            command = group.get_command(context, call[0])
            assert command is not None
            known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
            used = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", unquoted(call[1].partition("  ")[0]))
            assert [option for option in used if option not in {*known, "-h", "--help"}] == [], line


def test_links_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if not target.startswith("http") and not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_readme_is_a_page() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES_OF_README
    assert sum(len(commands(block)) for block in BLOCK.findall(text)) >= 10
    linked = set(re.findall(r"\]\((docs/[^)#]+)", text + index_links()))
    assert [
        name for name in NAMES if name.startswith("docs/") and name not in linked | {"docs/README.md"}
    ] == []


def index_links() -> str:
    """The links of docs/README.md as README.md would have them."""
    return (ROOT / "docs" / "README.md").read_text(encoding="utf-8").replace("](", "](docs/")


@pytest.mark.parametrize("path", manual.texts(), ids=lambda path: path.name)
def test_what_is_made_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == manual.texts()[path], "python3 dev.py docs"


def test_no_man_page_is_left_over() -> None:
    assert set(manual.MAN.glob("*")) == {path for path in manual.texts() if path.parent == manual.MAN}


def test_the_pictures_show_what_the_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    name, words = manual.TREE
    picture = (manual.DOCS / name).read_text(encoding="utf-8")
    assert manual.words_of(picture) == manual.words_of(manual.output(words))
    assert "@font-face" not in picture
    assert "http" not in picture.replace("http://www.w3.org/", "")
    name, words = manual.GRAPH
    assert manual.words_of((manual.DOCS / name).read_text("utf-8")) == manual.words_of_graph(
        manual.output(words)
    )
    name, source = manual.DRAWING
    drawing = (manual.DOCS / source).read_text(encoding="utf-8")
    assert manual.words_of((manual.DOCS / name).read_text("utf-8")) == manual.words_of_drawing(drawing)


def test_the_folder_holds_text_and_pictures_only() -> None:
    kinds = {path.suffix for path in (ROOT / "docs").rglob("*") if path.is_file()}
    assert kinds <= {".md", ".svg", ".dot", ".1"}


@pytest.mark.parametrize(
    "module",
    ["hessian/forms", "hessian/message_forms", "dubbo/vocabulary", "bolt/vocabulary", "http/vocabulary"],
)
def test_the_notation_has_every_wire_form(module: str) -> None:
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    docstring = (ROOT / "codecs" / f"{module}.py").read_text(encoding="utf-8").split('"""')[1]
    rows = [line for line in docstring.splitlines() if line.startswith("| ")]
    assert rows
    assert [row for row in rows if row not in text] == []


def test_every_example_decodes(environment: dict[str, str]) -> None:
    text = (ROOT / "docs" / "decoding.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(wirelens decode [^`]+)` \|", text, re.MULTILINE)
    assert len(rows) >= len(registry.names())
    for command in rows:
        shown = printed(command, environment)
        assert "unknown" not in shown
        assert "✕" not in shown, command


def test_the_python_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "payload.bin").write_bytes(bytes.fromhex("1e0000010811000008000000000000000700000000"))
    exec(code, {})
    assert "esnp-line 0 REQUEST #7" in capsys.readouterr().out
