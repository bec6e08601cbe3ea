"""What an install puts there: in both forms, and when compiling fails."""

import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from importlib import import_module, metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from wirelens.cli.version import compiled_modules, describe

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("cli", "codecs", "formatters")


def copy_of_project(to: Path) -> Path:
    skip = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, to / folder, ignore=skip)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy2(ROOT / name, to / name)
    return to


def build(project: Path, **env: str) -> Path:
    """The wheel that pip makes of a project."""
    out = project / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(out), str(project)]
    done = subprocess.run(
        command, cwd=project, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


def import_from(wheel: Path, to: Path) -> str:
    """Where `wirelens.codecs.tape` comes from when a wheel is all there is of wirelens."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(to)
    code = "import wirelens.codecs.tape as tape; print(tape.__file__)"
    env = {**os.environ, "PYTHONPATH": str(to)}
    return subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=to, env=env, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_form_under_test_is_the_one_that_was_asked_for() -> None:
    form = os.environ.get("WIRELENS_FORM")
    if form is None:
        pytest.skip("run by hand, in whatever form is installed")
    file = import_module("wirelens.codecs.tape").__file__
    assert file is not None
    assert file.endswith(tuple(EXTENSION_SUFFIXES)) == (form == "compiled")


def test_extras() -> None:
    found = metadata.metadata("wirelens").get_all("Provides-Extra") or []
    assert {"dev", "java", "spark", "test"} <= set(found)
    core = [line for line in metadata.requires("wirelens") or [] if "extra ==" not in line]
    assert sorted(line.partition("<")[0].partition(">")[0] for line in core) == [
        "click",
        "librt",
        "mypy-extensions",
        "rich",
    ]
    assert all("<" in line and ">=" in line for line in core)


@pytest.mark.once
@pytest.mark.slow
def test_a_wheel_holds_every_source_and_py_typed(tmp_path: Path) -> None:
    project = copy_of_project(tmp_path / "project")
    extra = project / "codecs" / "newcomer"  # a new protocol needs no change of the build
    extra.mkdir()
    (extra / "__init__.py").touch()
    wheel = build(project, WIRELENS_PURE="1")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"wirelens/{path.relative_to(project).as_posix()}"
        for folder in FOLDERS
        for path in (project / folder).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }
    assert {name for name in names if name.startswith("wirelens/")} == wanted
    assert "wirelens/codecs/newcomer/__init__.py" in wanted
    assert {f"wirelens/{folder}/py.typed" for folder in FOLDERS} <= wanted
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in names if name.endswith("/METADATA"))
        fields = HeaderParser().parsestr(archive.read(name).decode())
    assert fields["Requires-Python"] == ">=3.11"


@pytest.mark.once
@pytest.mark.slow
def test_a_failing_compiler_installs_the_plain_form(tmp_path: Path) -> None:
    wheel = build(copy_of_project(tmp_path / "project"), CC="/bin/false", WIRELENS_PURE="")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert import_from(wheel, tmp_path / "site").endswith("tape.py")


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_code_that_mypyc_refuses_installs_the_plain_form(tmp_path: Path) -> None:
    project = copy_of_project(tmp_path / "project")
    (project / "codecs" / "odd.py").write_text('COUNT: int = "not a number"\n')
    wheel = build(project, WIRELENS_PURE="")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert import_from(wheel, tmp_path / "site").endswith("tape.py")


def test_version_says_what_is_there(tmp_path: Path) -> None:
    said = describe()
    assert metadata.version("wirelens") in said
    assert f"{sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}" in said
    folder = tmp_path / "codecs"
    (folder / "inner").mkdir(parents=True)
    for name in ("a.py", "b.py", "inner/c.py"):
        (folder / name).touch()
    assert describe(folder).endswith("not compiled")
    for name in ("a", "inner/c"):
        (folder / f"{name}{EXTENSION_SUFFIXES[0]}").touch()
    assert describe(folder).endswith("compiled (2 modules)")
    later = (folder / "inner" / "c.py").stat().st_mtime + 60
    os.utime(folder / "inner" / "c.py", (later, later))
    assert compiled_modules(folder) == (2, [f"codecs/inner/c{EXTENSION_SUFFIXES[0]}"])
    assert f"codecs/inner/c{EXTENSION_SUFFIXES[0]}" in describe(folder)
