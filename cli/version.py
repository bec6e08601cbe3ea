"""What is installed here: `wirelens --version`; and how to install more of it."""

import json
import platform
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

SLACK = 10.0  # seconds: an installer writes a compiled module and its source one after the other


def describe(folder: Path | None = None) -> str:
    """Version, Python, whether what there is to compile runs compiled, and what is older than its source."""
    root = Path(__file__).parent.parent
    found = [
        compiled_modules(each) for each in ((root / "codecs", root / "cli") if folder is None else (folder,))
    ]
    compiled = sum(count for count, _ in found)
    stale = [name for _, names in found for name in names]
    form = f"compiled ({compiled} modules)" if compiled else "not compiled"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    lines = [f"wirelens {_version()}, {python}, {form}"]
    if stale:
        lines.append(f"older than the source, install again or delete: {', '.join(stale)}")
    return "\n".join(lines)


def compiled_modules(folder: Path) -> tuple[int, list[str]]:
    """How many modules of a folder load compiled, and those of them whose source was edited since."""
    count, stale = 0, []
    for source in sorted(folder.rglob("*.py")):
        built = next((path for end in EXTENSION_SUFFIXES if (path := source.with_suffix(end)).exists()), None)
        if built is not None:
            count += 1
            if source.stat().st_mtime > built.stat().st_mtime + SLACK:
                stale.append(built.relative_to(folder.parent).as_posix())
    return count, stale


def install_command(*extras: str) -> str:
    """The command, for a shell, that adds these extras to wirelens in the way that it was installed.

    An installer records in direct_url.json what it installed from, unless that was an index (PEP 610).
    """
    from importlib import metadata

    try:
        recorded = metadata.distribution("wirelens").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        recorded = None
    return _command(json.loads(recorded) if recorded else {}, extras)


def _command(origin: dict[str, Any], extras: Sequence[str]) -> str:
    wanted = f"[{','.join(extras)}]"
    url = origin.get("url", "")
    if "dir_info" in origin:
        folder = shlex.quote(unquote(urlsplit(url).path))
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"cd {folder} && {_pip()} install {editable}'.{wanted}'"
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"{_pip()} install 'wirelens{wanted}{' @ ' if url else ''}{url}'"


def _pip() -> str:
    """`pip` where a shell finds this environment's, else its Python with -m pip."""
    found = shutil.which("pip")
    if found and Path(found).parent == Path(sys.executable).parent:
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("wirelens")
    except metadata.PackageNotFoundError:
        return "(not installed)"
