"""The other decoders: where they are, and how they get there.

They live in a folder outside the project; `python -m bench --setup` fills it from npm and PyPI.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

NPM = ("hessian.js", "sofa-hessian-node")
PYPI = ("python-hessian",)


def usual_folder() -> Path:
    """Where the peers are kept when no folder is named."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "wirelens-bench")


@dataclass(frozen=True)
class Peers:
    """The peers in one folder."""

    folder: Path

    @property
    def modules(self) -> Path:
        """Where Node.js finds its modules."""
        return self.folder / "node_modules"

    @property
    def python(self) -> Path:
        """Where Python finds its packages."""
        return self.folder / "python"

    def lacks(self, name: str) -> str:
        """What stands in the way of measuring a peer; empty if nothing does."""
        if name in NPM:
            if not shutil.which("node"):
                return "Node.js is not installed"
            if not (self.modules / name).is_dir():
                return f"{name} is not installed: python -m bench --setup"
        elif name in PYPI:
            if not (self.python / "pyhessian").is_dir():
                return f"{name} is not installed: python -m bench --setup"
        elif not shutil.which(name):
            return f"{name} is not installed"
        return ""

    def version(self, name: str) -> str:
        """The version of a peer that is there."""
        if name in NPM:
            found = json.loads((self.modules / name / "package.json").read_text())["version"]
            return str(found)
        if name in PYPI:
            stem = name.replace("-", "_")
            names = [path.name for path in self.python.glob(f"{stem}-*.dist-info")]
            return names[0].removeprefix(f"{stem}-").removesuffix(".dist-info") if names else "?"
        done = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
        return done.stdout.split("\n", 1)[0].strip() or "?"

    def install(self) -> int:
        """Install what the registries have; the exit status."""
        self.folder.mkdir(parents=True, exist_ok=True)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(self.folder), *NPM]
        pip = [sys.executable, "-m", "pip", "install", "--upgrade", "--target", str(self.python), *PYPI]
        status = 0
        if shutil.which("npm"):
            (self.folder / "package.json").write_text('{"private": true}\n')
            status = subprocess.run(npm, check=False).returncode
        else:
            print("npm is not installed: without " + " and ".join(NPM), file=sys.stderr)
        if not shutil.which("tshark"):
            print("tshark comes with the system's packages: apt-get install tshark", file=sys.stderr)
        return subprocess.run(pip, check=False).returncode or status
