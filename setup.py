"""Maps the folders to the package `wirelens`; compiles `codecs/` and COMPILED with mypyc where that works.

Compiling is never needed: with no C compiler, no mypyc, or a failure of either, the same files are
installed as they are. WIRELENS_PURE=1 does not try; WIRELENS_PURE=0 takes a failure as an error. The folder
WIRELENS_BUILD_CACHE, if that is set, keeps what was compiled: a change of files that are not compiled then
compiles nothing again.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setuptools import Extension

ROOT = Path(__file__).resolve().parent
FOLDERS = ("cli", "codecs", "formatters")
FACE = Path("codecs/face")  # installs as the package `wirelens` itself
PLUGIN = Path("formatters/wirelens.lua")  # of Wireshark
PAGE = Path("formatters/html")  # the report
PAGE_FILES = ("*.html", "*.css", "*.js")

# The compiled code and `librt` at run time must agree: raise this together with `librt` in pyproject.toml.
MYPYC = "mypy[mypyc]>=2.4,<2.5"

# Modules and folders of codecs/ that stay interpreted, besides every __init__.py and schema.py: nothing to
# gain, and the C compiler's time grows with each.
INTERPRETED = (
    "codecs/captures/compression.py",  # large blocks, which libraries unpack
    "codecs/captures/gzip.py",
    "codecs/captures/late.py",  # for bytes that come after their stream has moved on
    "codecs/captures/magic.py",
    "codecs/captures/unpacking.py",
    "codecs/checkpoint.py",  # once for each input
    "codecs/face",  # carries the documentation, which compiling drops
    "codecs/late_records.py",  # of late bytes, as above
    "codecs/hessian/gadgets.py",  # once for each class
    "codecs/hessian/java_time.py",  # for what is shown as Java prints it
    "codecs/hessian/rows.py",  # for rows of numbers at the top level
    "codecs/hessian/value_decoding_uncompiled.py",
    "codecs/hessian/throwable.py",  # for stack traces
    "codecs/http2",  # frames are few, and much of the work is in large pieces of bytes
    "codecs/jsonb/encoding.py",  # messages one by one
    "codecs/mevent/hdf_encoding.py",  # likewise
    "codecs/protobuf_encoding.py",
    "codecs/jsonb/scalar_encoding.py",
    "codecs/scan_uncompiled.py",
    "codecs/tape_uncompiled.py",
    "codecs/sizes.py",  # for one option of one command
    "codecs/captures/annotating.py",  # most of it is copying
    "codecs/captures/pasting",  # one text at a time, most of it regular expressions
    "codecs/comparing",  # dictionaries, sets and digests, which compiling makes little faster
    "codecs/file_kinds.py",  # once for each input that is of no known protocol
    "codecs/clocks.py",  # once for each message, and only where two ends are joined
    "codecs/ends",  # likewise
)

# What is compiled besides codecs/.
COMPILED = (  # these run for every record
    "cli/tables/call_columns.py",
    "cli/tables/counts.py",
    "cli/tables/record_columns.py",
    "cli/tables/rows.py",
)

# Modules that call each other for every value: one C file, with mypyc's functions on lists, in which the
# compiler inlines across them. The other modules of a folder are one C file too.
TOGETHER = (
    "codecs/call_words.py",
    "codecs/class_keys.py",
    "codecs/codes.py",
    "codecs/cursor.py",
    "codecs/decoder.py",
    "codecs/errors.py",
    "codecs/fields.py",
    "codecs/json_writers.py",
    "codecs/node.py",
    "codecs/notation.py",
    "codecs/numbers.py",
    "codecs/payload.py",
    "codecs/protobuf.py",
    "codecs/record.py",
    "codecs/scan.py",
    "codecs/tape.py",
    "codecs/words.py",
    "codecs/dubbo/decoding.py",
    "codecs/dubbo/fastjson2.py",
    "codecs/dubbo/reading.py",
    "codecs/esnp/decoding.py",
    "codecs/esnp/evidence.py",
    "codecs/hessian/class_notes.py",
    "codecs/hessian/decoding.py",
    "codecs/hessian/deflation.py",
    "codecs/hessian/descriptors.py",
    "codecs/hessian/doubles.py",
    "codecs/hessian/evidence.py",
    "codecs/hessian/heads.py",
    "codecs/hessian/members.py",
    "codecs/hessian/message_forms.py",
    "codecs/hessian/packets.py",
    "codecs/hessian/parts.py",
    "codecs/hessian/tables.py",
    "codecs/hessian/texts.py",
    "codecs/hessian/value_decoding.py",
    "codecs/hessian/vocabulary.py",
    "codecs/hessian/weighing.py",
    "codecs/hessian/well_known_classes.py",
    "codecs/jsonb/decoding.py",
    "codecs/jsonb/names.py",
    "codecs/magline/decoding.py",
    "codecs/magline/evidence.py",
    "codecs/mevent/decoding.py",
    "codecs/mevent/evidence.py",
)
# Folders whose other modules run for every record too; those of the rest are optimised less (-O2).
HOT = ("wirelens_codecs", "wirelens_codecs_captures", "wirelens_codecs_hessian")
INLINED = "list_ops.c"  # of mypyc; all of them take 10 s of processor time and gain nothing more

# What the compiler takes as seldom run: it optimises that for size, and puts it, with what leads to it, apart
# from the code that runs for every value. Of mypyc's functions those that run when something fails; of its C
# those with such names, which interpreted code calls, or which run once. Compiling takes 8 % less.
SELDOM = """\
#include <Python.h>
#include "CPy.h"
#ifdef __GNUC__
#define SELDOM __attribute__((cold))
#else
#define SELDOM
#endif
SELDOM void CPy_Raise(PyObject *);
SELDOM void CPy_Reraise(void);
SELDOM tuple_T3OOO CPy_CatchError(void);
SELDOM void CPy_RestoreExcInfo(tuple_T3OOO);
SELDOM bool CPy_ExceptionMatches(PyObject *);
SELDOM PyObject *CPy_GetExcValue(void);
SELDOM void CPyError_OutOfMemory(void);
SELDOM void CPy_TypeError(const char *, PyObject *);
SELDOM void CPy_AddTraceback(const char *, const char *, int, PyObject *);
SELDOM void CPy_TypeErrorTraceback(const char *, const char *, int, PyObject *, const char *, PyObject *);
SELDOM void CPy_AttributeError(const char *, const char *, const char *, const char *, int, PyObject *);
"""
SELDOM_NAMES = r"(?:CPyPy_|CPyInit|CPyExec|CPyDef_\w*__top_level__)"

# Of a library's texts only names are interned, as Python does with the constants of a module: with the others
# its table of interned texts is doubled at each start, which takes 106 page faults of `wirelens decode`.
NAMES_INTERNED = """\
#define PyUnicode_InternInPlace(text) \\
    (PyUnicode_IsIdentifier(*(text)) ? PyUnicode_InternInPlace(text) : (void)0)
"""

CACHED = 4  # builds that are kept in WIRELENS_BUILD_CACHE

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
    files += [*(Path(folder, "py.typed") for folder in FOLDERS), FACE / "py.typed", PLUGIN]
    files += [path.relative_to(ROOT) for kind in PAGE_FILES for path in (ROOT / PAGE).glob(kind)]
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


def has_compiler(*flags: str) -> bool:
    """Whether the C compiler that would be used makes an extension, with these flags."""
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext
    from setuptools.extension import Extension

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <Python.h>\nPyMODINIT_FUNC PyInit_probe(void) { return NULL; }\n")
        probe = Extension("probe", [str(source)], extra_compile_args=list(flags), extra_link_args=list(flags))
        command = build_ext(Distribution({"ext_modules": [probe]}))
        command.build_lib = command.build_temp = folder
        try:
            command.ensure_finalized()
            command.run()
        except (Exception, SystemExit):
            return False
    return True


def is_interpreted(path: Path) -> bool:
    """Whether a module stays as it is; the tables in `schema.py` of each protocol do, too."""
    left_out = {path.as_posix(), *(folder.as_posix() for folder in path.parents)}
    tables = path.match("codecs/*/schema.py")
    return path.name == "__init__.py" or tables or not left_out.isdisjoint(INTERPRETED)


def compiled_sources() -> list[Path]:
    """The files that are compiled, relative to the root."""
    return [path for path in sources("codecs") if not is_interpreted(path)] + [
        Path(name) for name in COMPILED
    ]


def compile_modules(build: Path) -> list[str]:
    """Compile what is to be into `build`/lib and give the extensions' names; raises when anything fails."""
    stage(build)
    modules = [installed(path) for path in compiled_sources()]
    extensions = translate(modules, build)
    cache = os.environ.get("WIRELENS_BUILD_CACHE")
    kept = Path(cache, digest_of_c(extensions, build)) if cache else None
    if kept is not None and kept.exists():
        shutil.copytree(kept, build / "lib")
    else:
        compile_c(extensions, build)
        for folder in {module.parent for module in modules}:
            (entry,) = filter(Path.is_file, (build / "lib" / folder).iterdir())
            _, dot, suffix = entry.name.partition(".")
            for module in modules:
                if module.parent == folder and module.stem + dot + suffix != entry.name:
                    shutil.copy2(entry, entry.with_name(module.stem + dot + suffix))
    trial = build / "trial"
    shutil.copytree(build / "wirelens", trial / "wirelens")
    shutil.copytree(build / "lib", trial, dirs_exist_ok=True)
    names = [".".join(path.with_suffix("").parts) for path in modules]
    code = f"import sys; sys.path.insert(0, {str(trial)!r})\nimport {', '.join(names)}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=build, timeout=120)
    if kept is not None:
        keep(build / "lib", kept)
    return [extensions[0].name, *names]


def translate(modules: list[Path], build: Path) -> "list[Extension]":
    """mypyc's C of the modules, in `build`/c: a library of few large files, and `entries` to its modules."""
    from mypyc.build import mypycify

    flags = ["--config-file=", f"--cache-dir={os.devnull}"]
    flags += ["--namespace-packages", "--explicit-package-bases", "--follow-imports=silent"]
    os.environ["MYPYPATH"] = str(build)  # rather than a wirelens that is installed
    here = Path.cwd()
    os.chdir(build)  # so that the compiled code names its sources as they are installed
    try:
        extensions: list[Any] = mypycify(
            [*flags, *map(str, modules)],
            opt_level="3",
            debug_level="0",
            multi_file=True,
            target_dir=str(build / "c"),
            group_name="wirelens_native",  # at the top: from there mypyc reckons each module's __file__
        )
    finally:
        os.chdir(here)
    for extension in extensions:  # a warning of a compiler that mypyc does not know must not stop it
        extension.extra_compile_args = [flag for flag in extension.extra_compile_args if flag != "-Werror"]
    header = build / "c" / "__native_internal_wirelens_native.h"
    header.write_text(
        re.sub(rf"^extern (?=.*\b{SELDOM_NAMES})", "extern SELDOM ", header.read_text(), flags=re.M)
    )
    library = extensions[0]
    library.sources = joined(library.sources, modules, build / "c")
    # direct calls between the files, and calls of Python without the jump through the PLT
    for flags in (["-fno-semantic-interposition", "-fvisibility=hidden"], ["-fno-plt"]):
        if os.name == "posix" and has_compiler(*flags):
            library.extra_compile_args += flags
    return [library, *entries(extensions[1:], build / "c")]


def joined(sources: list[str], modules: list[Path], folder: Path) -> list[str]:
    """The C files of a library as a few, the largest first: TOGETHER, and the others of each folder.

    A file for each module takes 20 % longer to compile, and the code is 3 to 8 % slower; one for all
    modules would be compiled by one processor.
    """
    together = {installed(Path(name)) for name in TOGETHER}
    group_of = {
        f"__native_{'___'.join(module.with_suffix('').parts)}.c": (
            "together" if module in together else "_".join(module.parent.parts)
        )
        for module in modules
    }
    groups: dict[str, list[Path]] = {}
    for source in sources:
        path = Path(source)
        name = "together" if path.name == INLINED else group_of.get(path.name, "mypyc")
        groups.setdefault(name, []).append(path)
    sizes: dict[str, int] = {}
    for name, group in groups.items():
        target = folder / f"{name}.c"
        # relative, as the cache knows a build by the text of its files
        names = [path.relative_to(folder) if path.is_relative_to(folder) else path for path in group]
        head = SELDOM + (NAMES_INTERNED if name == "mypyc" else "")
        target.write_text(head + "".join(f'#include "{path.as_posix()}"\n' for path in names))
        sizes[str(target)] = sum(path.stat().st_size for path in group)
    return sorted(sizes, key=lambda name: -sizes[name])


def entries(extensions: "list[Extension]", folder: Path) -> "list[Extension]":
    """An extension for each folder, with the entry points of all its modules; a copy serves each of them.

    mypyc makes an extension for each module, which only hands on what the library holds. 140 of them
    would take 25 s of processor time, as each reads all of Python's headers.
    """
    packages: dict[str, list[Extension]] = {}
    for extension in extensions:
        packages.setdefault(extension.name.rpartition(".")[0], []).append(extension)
    for package, members in packages.items():
        source = folder / f"entries_{package}.c"
        lines = []
        for number, member in enumerate(members):
            # for `__init__` mypyc defines the same name in each file, which nothing here uses
            lines.append(f"#define PyInit___init__ unused_{number}")
            lines += [f'#include "{Path(name).relative_to(folder).as_posix()}"' for name in member.sources]
            lines.append("#undef PyInit___init__")
        source.write_text("\n".join(lines) + "\n")
        members[0].sources = [str(source)]
    return [members[0] for members in packages.values()]


def compile_c(extensions: "list[Extension]", build: Path) -> None:
    """Compile and link into `build`/lib, as many C files at a time as there are processors."""
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    at_a_time = os.cpu_count() or 1

    class Parallel(build_ext):
        def build_extensions(self) -> None:
            compile_some = self.compiler.compile

            def compile_one(source: str, **options: Any) -> list[str]:
                if os.name == "posix" and Path(source).stem not in ("together", *HOT):
                    options["extra_postargs"] = [*options["extra_postargs"], "-O2"]
                made: list[str] = compile_some([source], **options)
                return made

            def compile_each(sources: list[str], **options: Any) -> list[str]:
                with ThreadPoolExecutor(at_a_time) as pool:
                    done = pool.map(lambda source: compile_one(source, **options), sources)
                    return [name for names in done for name in names]

            self.compiler.compile = compile_each
            super().build_extensions()

    command = Parallel(Distribution({"ext_modules": extensions}))
    command.build_lib, command.build_temp = str(build / "lib"), str(build / "temp")
    command.parallel = at_a_time
    command.ensure_finalized()
    command.run()


def digest_of_c(extensions: "list[Extension]", build: Path) -> str:
    """Of all that decides what the C compiler makes."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    said = subprocess.run([*compiler, "--version"], capture_output=True, check=False).stdout
    flags = [(each.name, each.extra_compile_args, each.extra_link_args) for each in extensions]
    environment = [os.environ.get(name) for name in ("CFLAGS", "CPPFLAGS", "LDFLAGS", "ARCHFLAGS")]
    digest = hashlib.sha256(repr((sys.version, compiler, said, flags, environment)).encode())
    for path in sorted((build / "c").rglob("*.[ch]")):
        digest.update(f"{path.relative_to(build)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def keep(built: Path, kept: Path) -> None:
    """Copy what was built to the cache, and let go of what has not been used for long."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    if not kept.exists():
        part = Path(tempfile.mkdtemp(dir=kept.parent))
        shutil.copytree(built, part, dirs_exist_ok=True)
        part.rename(kept)
    os.utime(kept)
    for old in sorted(kept.parent.iterdir(), key=lambda path: -path.stat().st_mtime)[CACHED:]:
        shutil.rmtree(old, ignore_errors=True)


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
            package_data={"": ["py.typed", "*.lua", *PAGE_FILES]},
            ext_modules=[Extension(name, []) for name in compiled],
            cmdclass={"build_ext": CopyCompiled},
            options={"build": {"build_base": str(build / "setuptools")}},
            setup_requires=[MYPYC] if tried else [],  # for pip to read: setuptools itself installs nothing
        )


if __name__ == "__main__":
    main()
