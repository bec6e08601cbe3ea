"""Maps the folders to the package `wirelens`; compiles `codecs/` and COMPILED with mypyc where that works.

Compiling is never needed: with no C compiler, no mypyc, or a failure of either, the same files are
installed as they are. WIRELENS_PURE=1 does not try; WIRELENS_PURE=0 takes a failure as an error.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
FOLDERS = ("cli", "codecs", "formatters")
FACE = Path("codecs/face")  # installs as the package `wirelens` itself

# The compiled code and `librt` at run time must agree: raise this together with `librt` in pyproject.toml.
MYPYC = "mypy[mypyc]>=2.4,<2.5"

# Modules and folders of codecs/ that stay interpreted, besides every __init__.py: nothing to gain, and
# the C compiler's time grows with each.
INTERPRETED = (
    "codecs/face",  # carries the documentation, which compiling drops
    "codecs/captures/pasting",  # one text at a time, most of it regular expressions
)

# What is compiled besides codecs/.
COMPILED = ("cli/bulk/rows.py",)  # runs for every record

BUILDING = {"bdist_wheel", "build", "build_ext", "develop", "editable_wheel", "install"}


def sources(folder: str) -> list[Path]:
    """The Python files of a folder that are in a package, relative to the root."""
    found = (ROOT / folder).rglob("*.py")
    return sorted(path.relative_to(ROOT) for path in found if (path.parent / "__init__.py").exists())


def packages() -> dict[str, str]:
    """Each package by its import name, with the folder it lies in."""
    folders = sorted({path.parent for folder in FOLDERS for path in sources(folder)})
    return {".".join(installed(folder).parts): folder.as_posix() for folder in folders}


def installed(path: Path) -> Path:
    """Where a file or folder of the project is when it is installed."""
    return Path("wirelens", path.relative_to(FACE) if path.is_relative_to(FACE) else path)


def stage(into: Path) -> None:
    """Make `into/wirelens` show the folders as they are imported, by links to each file.

    For mypy, mypyc and the tests of the uncompiled form, none of which knows setuptools' mapping.
    """
    files = [path for folder in FOLDERS for path in sources(folder)]
    files += [*(Path(folder, "py.typed") for folder in FOLDERS), FACE / "py.typed"]
    wanted = {installed(path): ROOT / path for path in files}
    for old in (into / "wirelens").rglob("*"):
        if old.is_symlink() and old.relative_to(into) not in wanted:
            old.unlink(missing_ok=True)
    for path, target in wanted.items():
        link = into / path
        if link.is_symlink() and os.readlink(link) == str(target):
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def has_compiler() -> bool:
    """Whether the C compiler that would be used translates a file that needs Python's headers."""
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext
    from setuptools.extension import Extension

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\nPyMODINIT_FUNC PyInit_probe(void) { return NULL; }\n")
        command = build_ext(Distribution({"ext_modules": [Extension("probe", [str(source)])]}))
        command.build_lib = command.build_temp = folder
        try:
            command.ensure_finalized()
            command.run()
        except (Exception, SystemExit):
            return False
    return True


def is_interpreted(path: Path) -> bool:
    left_out = {path.as_posix(), *(folder.as_posix() for folder in path.parents)}
    return path.name == "__init__.py" or not left_out.isdisjoint(INTERPRETED)


def compiled_sources() -> list[Path]:
    """The files that are compiled, relative to the root."""
    return [path for path in sources("codecs") if not is_interpreted(path)] + [
        Path(name) for name in COMPILED
    ]


def compile_modules(build: Path) -> list[str]:
    """Compile what is to be into `build`/lib and give the extensions' names; raises when anything fails."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    stage(build)
    modules = [Path("wirelens", path) for path in compiled_sources()]
    flags = ["--config-file=", f"--cache-dir={os.devnull}"]
    flags += ["--namespace-packages", "--explicit-package-bases", "--follow-imports=silent"]
    os.environ["MYPYPATH"] = str(build)  # rather than a wirelens that is installed
    here = Path.cwd()
    os.chdir(build)  # so that the compiled code names its sources as they are installed
    try:
        extensions = mypycify(
            [*flags, *map(str, modules)],
            opt_level="3",
            debug_level="0",
            target_dir=str(build / "c"),
            group_name="wirelens_native",  # at the top: from there mypyc reckons each module's __file__
        )
    finally:
        os.chdir(here)
    for extension in extensions:  # a warning of a compiler that mypyc does not know must not stop it
        extension.extra_compile_args = [flag for flag in extension.extra_compile_args if flag != "-Werror"]
        if os.name == "posix":  # calls within the library are direct: some per cent faster
            extension.extra_compile_args.append("-fno-semantic-interposition")
    command = build_ext(Distribution({"ext_modules": extensions}))
    command.build_lib, command.build_temp = str(build / "lib"), str(build / "temp")
    command.ensure_finalized()
    command.run()
    trial = build / "trial"
    shutil.copytree(build / "wirelens", trial / "wirelens")
    shutil.copytree(build / "lib", trial, dirs_exist_ok=True)
    names = [".".join(path.with_suffix("").parts) for path in modules]
    code = f"import sys; sys.path.insert(0, {str(trial)!r})\nimport {', '.join(names)}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=build, timeout=120)
    return [extension.name for extension in extensions]


def main() -> None:
    from setuptools import Extension, setup
    from setuptools.command.build_ext import build_ext

    wish = os.environ.get("WIRELENS_PURE", "")
    tried = wish in ("", "0") and (wish == "0" or has_compiler())
    # A fresh folder for each build: what an earlier one left in setuptools' own would go into the wheel.
    with tempfile.TemporaryDirectory(prefix="wirelens-build-") as folder:
        build = Path(folder).resolve()
        compiled: list[str] = []
        if tried and BUILDING.intersection(sys.argv):
            try:
                compiled = compile_modules(build)
            except (Exception, SystemExit) as error:
                if wish == "0":
                    raise
                print(f"wirelens: installed without compiled modules ({error!r})", file=sys.stderr)

        class CopyCompiled(build_ext):
            """The extensions are there already: put them where the command wants them."""

            def build_extension(self, ext: Extension) -> None:
                target = Path(self.get_ext_fullpath(ext.name))
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(build / "lib" / target.relative_to(self.build_lib), target)

        setup(
            packages=list(packages()),
            package_dir=packages(),
            package_data={"": ["py.typed"]},
            ext_modules=[Extension(name, []) for name in compiled],
            cmdclass={"build_ext": CopyCompiled},
            options={"build": {"build_base": str(build / "setuptools")}},
            setup_requires=[MYPYC] if tried else [],  # for pip to read: setuptools itself installs nothing
        )


if __name__ == "__main__":
    main()
