#!/usr/bin/env python3
"""Set wirelens up in `.venv` beside this file, then run it, its tests or its checks.

    python3 dev.py demo                    decode an example
    python3 dev.py compile                 compile it, for speed
    python3 dev.py wheel                   a compiled wheel of it, in dist/
    python3 dev.py run ARGS...             wirelens with any arguments
    python3 dev.py test [--form FORM] ...  the tests, in the forms pure and compiled; the rest goes to pytest
    python3 dev.py test --explore ...      the properties only, with new examples, ten times as many
    python3 dev.py test --coverage ...     the uncompiled form, and the share of lines and branches that ran
    python3 dev.py fuzz [--minutes N] [NAME...]   atheris: each harness of tests/fuzz, or those named
    python3 dev.py pythons                 the quick tests, uncompiled, with each other promised Python
    python3 dev.py stage                   the package as it is imported, in build/stage: for editors
    python3 dev.py docs                    what in docs/ is made from the program (graphviz draws the graphs)
    python3 dev.py lint                    ruff, its format too
    python3 dev.py types                   mypy --strict

Needs Python 3.11 or newer and nothing else; what is up to date already is left alone. wirelens is installed
uncompiled, in seconds, until `compile` or `test` compiles it; from then on each change of a source does.
"""

import os
import shutil
import sys

if sys.version_info < (3, 11):  # any Python from 3.6 on reads this file as far as here
    for newer in ("python3.13", "python3.12", "python3.11"):
        if shutil.which(newer):
            os.execvp(newer, [newer, *sys.argv])
    sys.exit(
        f"wirelens needs Python 3.11 or newer; this is {sys.version_info[0]}.{sys.version_info[1]}.\n"
        "Debian 12 and Ubuntu 24.04 have it (apt-get install python3); on macOS: brew install python."
    )

import hashlib
import importlib.util
import json
import re
import shlex
import subprocess
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # no __pycache__ beside the project's folders
from setup import FOLDERS, ROOT, sources, stage

Command = Sequence[str | Path]

VENV = Path(os.environ.get("WIRELENS_VENV", ROOT / ".venv")).absolute()
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "wirelens.json"
PURE = ROOT / "build" / "stage"
COMPILED = ROOT / "build" / "compiled"  # what earlier builds compiled
FUZZ = Path("tests", "fuzz")
DEMO = ["decode", "examples/dubbo-order.xxd"]
JAVA = 17  # the oldest that Spark 4 runs on
ASK_VERSION = "import sys, venv; print(*sys.version_info[:2], sep='.')"
SPEED_UP = "8 to 30 times"  # processor time of `decode` on 5 to 11 MB: captured mevent, ESNP, Dubbo orders


def main(arguments: list[str]) -> int:
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if verb in ("-h", "--help"):
        print(__doc__)
        return 0
    if verb == "run":
        return wirelens(rest)
    if verb == "test":
        return test(rest)
    if verb == "fuzz":
        return fuzz(rest)
    plain = {
        "demo": demo,
        "compile": compiled,
        "wheel": wheel,
        "lint": lint,
        "types": types,
        "pythons": pythons,
        "stage": staged,
        "docs": docs,
    }
    if verb in plain and not rest:
        return plain[verb]()
    print(__doc__, file=sys.stderr)
    return 2


# ---- what it can do


def demo() -> int:
    ensure()
    say("$ wirelens " + shlex.join(DEMO))
    status = run([VENV / "bin" / "wirelens", *DEMO])
    environment, script, readme = (
        shlex.quote(shown(path)) for path in (VENV, ROOT / "dev.py", ROOT / "README.md")
    )
    steps = {
        f". {environment}/bin/activate": "make wirelens a command of this shell",
        "wirelens decode FILE": "show a file of your own: a payload, a hex dump, a capture",
        "wirelens --help": "see what else there is",
        f"python3 {script} compile": f"compile it, in some minutes: decodes {SPEED_UP} as fast",
        f"less {readme}": "read the documentation",
    }
    if is_compiled():
        del steps[f"python3 {script} compile"]
    width = max(map(len, steps))
    say("next:")
    for command, what in steps.items():
        print(f"    {command:{width}}  {what}", file=sys.stderr, flush=True)
    return status


def compiled() -> int:
    problem = compiler_problem()
    if problem:
        say(problem)
        return 1
    ensure(form="0")
    return run([VENV / "bin" / "wirelens", "--version"])


def wheel() -> int:
    problem = compiler_problem()
    if problem:
        say(problem)
        return 1
    ensure(form=None)
    pip: Command = [PYTHON, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    with step("building a wheel (this takes a minute or two)"), tempfile.TemporaryDirectory() as folder:
        must([*pip, "--wheel-dir", folder, "."], {"WIRELENS_PURE": "0"})
        (built,) = Path(folder).glob("*.whl")
        target = ROOT / "dist" / built.name
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(built, target)
    print(target)
    return 0


def wirelens(arguments: list[str]) -> int:
    ensure(*(spark() if arguments[:1] == ["bulk"] else ()))
    return run([VENV / "bin" / "wirelens", *arguments], cwd=Path.cwd())


def test(arguments: list[str]) -> int:
    """In both forms, the compiled one where there is a compiler; a form that is asked for must run."""
    forms = {"pure": ["pure"], "compiled": ["compiled"], "both": ["pure", "compiled"]}
    wish, rest = take_option(arguments, "--form")
    if wish is not None and wish not in forms:
        say(f"--form is one of {', '.join(forms)}")
        return 2
    coverage = "--coverage" in rest
    if coverage:
        wish = "pure"
    if wish in ("compiled", "both") and (problem := compiler_problem()):
        say(problem)
        return 1
    if wish is None:
        ensure("test", *spark(), form=os.environ.get("WIRELENS_PURE", ""))
    else:
        ensure("test", *spark(), form=None if wish == "pure" else "0")
    explore = "--explore" in rest
    rest = [word for word in rest if word not in ("--explore", "--coverage")]
    if not rest:
        rest = ["-n", str(min(4, os.cpu_count() or 1)), "--dist", "loadgroup"]
    chosen = forms[wish or "both"]
    if not is_compiled() and "compiled" in chosen:
        why = compiler_problem() or "compiling failed (`dev.py compile` shows how)"
        say(f"no compiled form to test: {why}")
        chosen = [form for form in chosen if form != "compiled"]
    status = 0
    for form in chosen:
        say(f"testing the {form} form")
        path = os.environ.get("PYTHONPATH", "")
        if form == "pure":
            stage(PURE)
            path = os.pathsep.join(filter(None, [str(PURE), path]))
        marks = ["hypothesis"] if explore else []
        marks += [] if form == chosen[-1] else ["not once", "not interpreted"]
        options = ["--hypothesis-profile=explore"] if explore else []
        options += ["-m", " and ".join(marks)] if marks else []
        options += ["--cov=wirelens", "--cov-branch", "--cov-report=term:skip-covered"] if coverage else []
        # -P: a folder here has the name of one of Python's modules
        command: Command = [PYTHON, "-P", "-m", "pytest", *options, *rest]
        status = run(command, env={"PYTHONPATH": path, "WIRELENS_FORM": form}) or status
    return status


def fuzz(arguments: list[str]) -> int:
    """Each harness for some minutes, from where it stopped; what it finds stays beside its corpus."""
    minutes, names = take_option(arguments, "--minutes")
    harnesses = sorted(path.stem.removeprefix("fuzz_") for path in (ROOT / FUZZ).glob("fuzz_*.py"))
    unknown = [name for name in names if name not in harnesses]
    if unknown or not re.fullmatch(r"[1-9]\d{0,5}", minutes or "30"):
        say(f"names are {', '.join(harnesses)}; minutes are a number of at least 1")
        return 2
    ensure("test", form=None)
    if not succeeds([str(PYTHON), "-c", "import atheris"]):
        say("atheris has no wheel for this Python or system; it has for CPython 3.11 to 3.13 on Linux")
        return 1
    stage(PURE)
    paths = [str(PURE), *(str(ROOT / folder) for folder in ("tests", "tests/captures"))]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wirelens" / "fuzz"
    failed = []
    for name in names or harnesses:
        found = cache / "findings" / name
        found.mkdir(parents=True, exist_ok=True)
        say(f"fuzzing {name} for {minutes or 30} minutes, corpus in {cache / name}")
        options = [f"-max_total_time={60 * int(minutes or 30)}", f"-artifact_prefix={found}/"]
        command: Command = [PYTHON, FUZZ / "fuzz.py", name, cache / name, *options]
        if run(command, env={"PYTHONPATH": os.pathsep.join(paths)}):
            failed.append(name)
    if failed:
        say(f"found something: {', '.join(failed)}; inputs are in {cache / 'findings'}")
    return 1 if failed else 0


def pythons() -> int:
    """A sample of the tests that need neither Spark nor seconds, with each other promised Python.

    Every test runs, with each fifth of its parameters: what differs between Pythons hardly depends on them.
    """
    stage(PURE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["unit"]]
    found = dict(other_pythons())
    folders = {version: VENV.with_name(f"{VENV.name}-{version}") for version in found}
    states = {version: json.dumps([python, needed]) for version, python in found.items()}
    stamps = {version: folder / "wirelens.json" for version, folder in folders.items()}
    kept = {version: stamp.read_text() for version, stamp in stamps.items() if stamp.exists()}
    stale = [version for version in found if kept.get(version) != states[version]]

    def make(version: str) -> None:
        folder = folders[version]
        shutil.rmtree(folder, ignore_errors=True)
        must([found[version], "-m", "venv", folder])
        must([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *needed])
        stamps[version].write_text(states[version])

    if stale:
        with step(f"making environments for Python {' and '.join(stale)}"), ThreadPoolExecutor() as pool:
            list(pool.map(make, stale))
    status = 0
    for version, folder in folders.items():
        say(f"testing the pure form with Python {version}")
        # the others need Spark, or wirelens installed
        others = ["--ignore=tests/bulk", "--ignore=tests/test_packaging.py"]
        marks = ["-m", "not slow and not once", "--hypothesis-profile=few", "--each=5", *others]
        spread = ["-n", str(min(4, os.cpu_count() or 1)), "-q"]
        command: Command = [folder / "bin" / "python", "-P", "-m", "pytest", *marks, *spread]
        status = run(command, env={"PYTHONPATH": str(PURE), "WIRELENS_FORM": "pure"}) or status
    return status


def other_pythons() -> Iterator[tuple[str, str]]:
    """Each promised Python that is installed, except the one that runs this: version and path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for classifier in project["classifiers"]:
        version = classifier.rpartition(":: ")[2]
        if not re.fullmatch(r"3\.\d+", version) or version == ".".join(map(str, sys.version_info[:2])):
            continue
        places = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
        for python in (shutil.which(f"python{version}"), *map(str, places)):
            shown = output_of([python, "-c", ASK_VERSION]) if python else None
            if python and shown and shown.strip() == version:
                yield version, python
                break


def staged() -> int:
    stage(PURE)
    print(PURE)
    return 0


def docs() -> int:
    ensure("unit")
    return run([PYTHON, "-P", ROOT / "tests" / "manual.py"])


def lint() -> int:
    ensure("dev", form=None)
    ruff = VENV / "bin" / "ruff"
    checked = run([ruff, "check", "."])
    return run([ruff, "format", "--check", "."]) or checked


def types() -> int:
    """Over the package as it is imported, the tests, the measurements and the scripts."""
    ensure("dev", form=None)
    tree = ROOT / "build" / "types"
    stage(tree)
    targets = ["wirelens", "setup.py", "dev.py"]  # as files: names would be found where they are installed
    for name in ("setup.py", "dev.py", "tests", "bench"):
        (tree / name).unlink(missing_ok=True)
        (tree / name).symlink_to(ROOT / name)
        if any((ROOT / name).glob("**/*.py")):
            targets.append(name)
    helpers = tree / "helpers"  # what tests share is imported by its bare name
    shutil.rmtree(helpers, ignore_errors=True)
    helpers.mkdir()
    for path in (ROOT / "tests").glob("**/*.py"):
        if not path.name.startswith(("test_", "conftest")):
            (helpers / path.name).symlink_to(path)
    options = [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache'}"]
    command: Command = [PYTHON, "-P", "-m", "mypy", *options, *targets]
    env = {**os.environ, "MYPYPATH": f"{tree}{os.pathsep}{helpers}"}
    done = subprocess.run(command, cwd=tree, env=env, check=False, stdout=subprocess.PIPE, text=True)
    print(re.sub(r"^wirelens/", "", done.stdout, flags=re.MULTILINE), end="", flush=True)
    return done.returncode


def take_option(arguments: list[str], name: str) -> tuple[str | None, list[str]]:
    """The value of `name VALUE` or `name=VALUE`, and the other arguments."""
    for at, argument in enumerate(arguments):
        if argument == name and at + 1 < len(arguments):
            return arguments[at + 1], arguments[:at] + arguments[at + 2 :]
        if argument.startswith(name + "="):
            return argument.partition("=")[2], arguments[:at] + arguments[at + 1 :]
    return None, arguments


# ---- the virtual environment


def ensure(*extras: str, form: str | None = "kept") -> None:
    """Bring `.venv` up to date: made, with these extras and those it had, with wirelens as it is now.

    `form` is what WIRELENS_PURE is to be: "0" compiled, "1" not, "" compiled where that works; "kept" is the
    variable's value, else the form that is there. With None wirelens may be an older one: its files are used
    from where they lie.
    """
    stamp = read_stamp()
    if stamp.get("python") != sys.version or not PYTHON.exists():
        if VENV.exists():
            shutil.rmtree(VENV)
        VENV.mkdir(parents=True)
        write_stamp({})  # ours from here on, even if it stays half made
        make_venv()
        stamp = write_stamp({"python": sys.version})
    pip: Command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = sorted({*stamp.get("extras", []), *extras})
    needed = requirements(wanted)
    if stamp.get("needs") != needed:
        new = [each for each in needed if each not in stamp.get("needs", [])] or needed
        names = ", ".join(re.split(r"[^\w.-]", each)[0] for each in new)
        with step(f"installing {names}" + (" (this takes minutes)" if wanted else "")):
            must([*pip, *needed])
        stamp = write_stamp({"extras": wanted, "needs": needed})
    built = digest_of_sources()
    if form == "kept":
        form = os.environ.get("WIRELENS_PURE") or ("" if is_compiled() else "1")
    if form is None and "built" not in stamp:
        form = "1"
    if form is not None and (stamp.get("built") != built or not form_fits(form, stamp.get("form", ""))):
        how = "uncompiled" if form == "1" or compiler_problem() else "compiled (this takes minutes)"
        with step(f"installing wirelens, {how}"):
            must([*pip, "--no-deps", "--force-reinstall", "."], {"WIRELENS_PURE": form})
        write_stamp({"built": built, "form": form})


def read_stamp() -> dict[str, Any]:
    """What an earlier run left; refuses a `.venv` that someone else made."""
    try:
        found = json.loads(STAMP.read_text())
    except ValueError:
        return {}
    except FileNotFoundError:
        if VENV.exists():
            sys.exit(f"{VENV} was not made by this script: move it away, or name another in WIRELENS_VENV")
        return {}
    return found if isinstance(found, dict) else {}


def write_stamp(changes: dict[str, Any]) -> dict[str, Any]:
    """Add to what is known; another run of this script may have added to it, as `.ci/run` compiles beside."""
    stamp = (read_stamp() if STAMP.exists() else {}) | changes
    part = STAMP.with_name(f"{STAMP.name}.{os.getpid()}")
    part.write_text(json.dumps(stamp, indent=1) + "\n")
    part.replace(STAMP)
    return stamp


def digest_of_sources() -> str:
    """Of all that decides what an install puts there."""
    state = hashlib.sha256(repr(shutil.which("cc")).encode())
    paths = [Path("setup.py"), Path("pyproject.toml")]
    for path in paths + [path for folder in FOLDERS for path in sources(folder)]:
        state.update(f"{path}\0".encode() + hashlib.sha256((ROOT / path).read_bytes()).digest())
    return state.hexdigest()


def requirements(extras: Sequence[str]) -> list[str]:
    """The packages that wirelens needs with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = list(project["dependencies"])
    for extra in extras:
        for each in project["optional-dependencies"][extra]:
            own = re.fullmatch(rf"{project['name']}\[(.+)\]", each)
            found += requirements(own[1].split(",")) if own else [each]
    return list(dict.fromkeys(found))


def form_fits(form: str, tried: str) -> bool:
    """Whether what is installed is of the form that WIRELENS_PURE asks for; `tried` is what it was then."""
    return {"0": is_compiled(), "1": not is_compiled()}.get(form, is_compiled() or tried == form)


def compiler_problem() -> str:
    """Why nothing can be compiled here, and what to do; "" if there is no such reason."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if not shutil.which(shlex.split(compiler)[0]):
        return (
            f"there is no C compiler ({compiler}). Debian and Ubuntu: apt-get install gcc libc6-dev; "
            "macOS: xcode-select --install"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's C headers are missing. Debian and Ubuntu: apt-get install python3-dev"
    return ""


def is_compiled() -> bool:
    return any(VENV.glob("lib/python*/site-packages/wirelens/codecs/*.so"))


def make_venv() -> None:
    """A virtual environment with pip in it, in whatever way this Python allows."""
    name = shown(VENV)
    if not importlib.util.find_spec("ensurepip"):
        if importlib.util.find_spec("virtualenv"):
            with step(f"making a virtual environment in {name}"):
                return must([sys.executable, "-m", "virtualenv", "--quiet", VENV])
        if importlib.util.find_spec("pip"):
            with step(f"making a virtual environment in {name}"):
                must([sys.executable, "-m", "venv", "--without-pip", VENV])
                return must([sys.executable, "-m", "pip", "--python", PYTHON, "install", "--quiet", "pip"])
        install_ensurepip()
    with step(f"making a virtual environment in {name}"):
        return must([sys.executable, "-m", "venv", VENV])


def install_ensurepip() -> None:
    """Debian and Ubuntu keep what `venv` needs in a package of its own."""
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    rights = [] if os.geteuid() == 0 else ["sudo", "-n"]
    update = [*rights, "apt-get", "update", "-qq"]
    install = [*rights, "apt-get", "install", "-qq", "--no-install-recommends", package]
    if not shutil.which("apt-get"):
        sys.exit(
            "This Python cannot make virtual environments: it comes without ensurepip, virtualenv and pip.\n"
            "Install one of them with the system's package manager, then run this again."
        )
    if rights and not succeeds([*rights, "true"]):
        sys.exit(
            "This Python cannot make virtual environments: a package of the system is missing. Install\n"
            f"it, then run this again:\n\n    sudo apt-get update && sudo apt-get install {package}\n"
        )
    with step(f"Python's ensurepip is missing here: {shlex.join(install)}"):
        must(update)
        must(install, {"DEBIAN_FRONTEND": "noninteractive"})


# ---- Java, for Spark


def spark() -> list[str]:
    """The extras that `bulk` needs on this machine: a Java too where none is new enough."""
    return ["spark"] if has_java() else ["spark", "java"]


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    for java in (Path(home, "bin", "java") if home else None, shutil.which("java")):
        said = output_of([str(java), "-version"]) if java else None
        found = re.search(r'version "(?:1\.)?(\d+)', said or "")
        if found and int(found[1]) >= JAVA:
            return True
    return False


# ---- processes


def say(text: str) -> None:
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def shown(path: Path) -> str:
    """A path as a user at the working directory would type it."""
    below = path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd()) if below else path)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Show what is being done, and then how long it took."""
    print(f"dev.py: {what} … ", end="", file=sys.stderr, flush=True)
    began = time.monotonic()
    yield
    print(f"{time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)


def run(command: Command, cwd: Path = ROOT, env: dict[str, str] | None = None) -> int:
    """Run a command to its end; gives its exit status."""
    base = {"WIRELENS_BUILD_CACHE": str(COMPILED), **os.environ}
    return subprocess.run(command, cwd=cwd, env={**base, **(env or {})}, check=False).returncode


def must(command: Command, env: dict[str, str] | None = None) -> None:
    """Run a command that has to succeed; what it prints is shown only if it fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        print("failed", file=sys.stderr)
        print(done.stdout, end="", file=sys.stderr)
        say(f"this failed with status {done.returncode}: {shlex.join(map(str, command))}")
        sys.exit(1)


def succeeds(command: list[str]) -> bool:
    return output_of(command) is not None


def output_of(command: list[str]) -> str | None:
    """What a command prints on stdout and stderr; None if it is not there or fails."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return None if done.returncode else done.stdout


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
