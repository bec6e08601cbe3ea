"""What an install puts there: in both forms, and when compiling fails."""

import os
import shutil
import subprocess
import sys
import venv
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
    assert {"dev", "java", "query", "spark", "test"} <= set(found)
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
        f"wirelens/{path.relative_to(project).as_posix().removeprefix('codecs/face/')}"
        for folder in FOLDERS
        for path in (project / folder).rglob("*")
        if path.suffix in (".py", ".lua", ".html", ".css", ".js") or path.name == "py.typed"
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


@pytest.fixture(scope="module")
def compiled_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled wheel; of `dev.py test` the one that it tests, from its WIRELENS_BUILD_CACHE."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    return build(copy_of_project(tmp_path_factory.mktemp("project")), WIRELENS_PURE="0")


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.xdist_group("wheel")
def test_a_compiled_wheel_needs_no_compiler(compiled_wheel: Path, tmp_path: Path) -> None:
    assert not compiled_wheel.name.endswith("-none-any.whl")
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    empty = tmp_path / "empty"
    empty.mkdir()
    env = {**os.environ, "PATH": str(empty)}  # no cc, nor anything else
    for name in ("PYTHONPATH", "CC", "WIRELENS_PURE"):
        env.pop(name, None)

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", compiled_wheel)
    wirelens = python.with_name("wirelens")
    assert ", compiled (" in run(wirelens, "--version")
    assert "com.example" in run(wirelens, "decode", ROOT / "examples" / "dubbo-order.xxd")
    where = run(python, "-c", "import wirelens.codecs.tape as tape; print(tape.__file__)").strip()
    assert Path(where).is_relative_to(tmp_path / "venv")
    assert where.endswith(tuple(EXTENSION_SUFFIXES))


# Two modules are compiled, then once more where the C compiler must not run.
TWICE = """
import sys
from pathlib import Path
import setup
setup.compiled_sources = lambda: [Path("codecs/scan.py"), Path("codecs/tape.py")]
if sys.argv[2:]:
    def compile_c(*_): sys.exit("compiles")
    setup.compile_c = compile_c
print(setup.compile_modules(Path(sys.argv[1]).resolve()))
"""


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_was_compiled_is_not_compiled_again(tmp_path: Path) -> None:
    for needed in ("setuptools", "mypyc"):
        pytest.importorskip(needed)
    project = copy_of_project(tmp_path / "project")
    env = {**os.environ, "WIRELENS_BUILD_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(project)}

    def compile_two(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", TWICE, *arguments]
        return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)

    first = compile_two(str(tmp_path / "first"))
    assert first.returncode == 0, first.stdout + first.stderr
    (project / "cli" / "main.py").write_text((project / "cli" / "main.py").read_text() + "# changed\n")
    again = compile_two(str(tmp_path / "again"), "without compiling")
    assert again.returncode == 0, again.stdout + again.stderr
    made = {path.name for path in (tmp_path / "first" / "lib").rglob("*.so")}
    assert made
    assert {path.name for path in (tmp_path / "again" / "lib").rglob("*.so")} == made
    scan = project / "codecs" / "scan.py"
    scan.write_text(scan.read_text() + "\n\ndef newcomer(value: int) -> int:\n    return value + 1\n")
    assert "compiles" in compile_two(str(tmp_path / "changed"), "without compiling").stderr


@pytest.mark.once
@pytest.mark.parametrize(
    ("platform", "systems", "processors"),
    [
        ("linux", ("manylinux", "musllinux"), ("x86_64", "aarch64")),
        ("macos", ("macosx",), ("x86_64", "arm64")),
    ],
)
def test_the_wheels_that_are_published(
    platform: str, systems: tuple[str, ...], processors: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", platform]
    env = {name: value for name, value in os.environ.items() if not name.startswith("CIBW_")}
    done = subprocess.run(
        [*command, str(ROOT)], env=env, cwd=ROOT.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {
        f"cp3{minor}-{system}_{processor}"
        for minor in (11, 12, 13, 14)
        for system in systems
        for processor in processors
    }


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
