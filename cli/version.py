"""The installed version and form, and the command that installs extras."""

import json
import platform
import shlex
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from wirelens.codecs.words import count

SLACK = 10.0  # seconds by which a source may be newer: installers write it after the compiled module


def describe(folder: Path | None = None) -> str:
    """Version, Python, whether the compiled modules are in use, and which are stale."""
    root = Path(__file__).parent.parent
    folders = (root / "codecs", root / "cli") if folder is None else (folder,)
    number = 0
    stale: list[str] = []
    for path in folders:
        modules, older = compiled_modules(path)
        number += modules
        stale += older
    form = f"compiled ({count(number, 'module')})" if number else "not compiled"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    lines = [f"wirelens {version()}, {python}, {form}"]
    if stale:
        lines.append(f"older than their sources; install again or delete: {', '.join(stale)}")
    return "\n".join(lines)


def compiled_modules(folder: Path) -> tuple[int, list[str]]:
    """The number of compiled modules in a folder, and the paths of those whose source is newer."""
    number, stale = 0, []
    for source in sorted(folder.rglob("*.py")):
        built = next((path for end in EXTENSION_SUFFIXES if (path := source.with_suffix(end)).exists()), None)
        if built is not None:
            number += 1
            if source.stat().st_mtime > built.stat().st_mtime + SLACK:
                stale.append(built.relative_to(folder.parent).as_posix())
    return number, stale


@cache
def codecs_digest() -> str:
    """Identifies the sources of the codecs: those of another version, or changed ones, have another."""
    import hashlib

    found = hashlib.blake2b(digest_size=6)
    root = Path(__file__).parent.parent / "codecs"
    for path in sorted(root.rglob("*.py")):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def install_command(*extras: str) -> str:
    """The shell command that adds extras to wirelens, installed from the same place as now.

    Installers record that place in direct_url.json, unless it is an index (PEP 610).
    """
    from importlib import metadata

    # a folder in which it was built has metadata too, but does not record an origin
    records = [each.read_text("direct_url.json") for each in metadata.distributions(name="wirelens")]
    recorded = next(filter(None, records), None)
    return _command(json.loads(recorded) if recorded else {}, extras)


def _command(origin: dict[str, Any], extras: Sequence[str]) -> str:
    extra = f"[{','.join(extras)}]"
    url = origin.get("url", "")
    if "dir_info" in origin:
        folder = shlex.quote(unquote(urlsplit(url).path))
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"cd {folder} && {_pip()} install {editable}'.{extra}'"
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"{_pip()} install 'wirelens{extra}{' @ ' if url else ''}{url}'"


def _pip() -> str:
    """`pip` if a shell finds the one of this environment, else its Python with -m pip."""
    path = shutil.which("pip")
    if path and Path(path).parent == Path(sys.executable).parent:
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"


def version() -> str:
    """The installed version."""
    from importlib import metadata

    try:
        return metadata.version("wirelens")
    except metadata.PackageNotFoundError:
        return "(not installed)"
