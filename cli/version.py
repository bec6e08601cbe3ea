"""What is installed here: `wirelens --version`."""

import platform
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

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


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("wirelens")
    except metadata.PackageNotFoundError:
        return "(not installed)"
