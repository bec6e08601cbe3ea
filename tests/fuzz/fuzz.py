"""Run a harness under atheris: `fuzz.py NAME CORPUS [OPTIONS of libFuzzer]`. (`dev.py fuzz` does.)

The corpus is a folder; the harness's seeds are added to it. What stops a run is written to a file there.
"""

import hashlib
import sys
from importlib import import_module
from pathlib import Path

import atheris

LIMITS = ["-timeout=60", "-rss_limit_mb=1500", "-print_final_stats=1"]  # seconds an input


def main() -> None:
    name, corpus, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["wirelens"]):
        harness = import_module(f"fuzz_{name}")
    longest = import_module("fuzzing").SEED_BYTES
    folder = Path(corpus)
    folder.mkdir(parents=True, exist_ok=True)
    for seed in harness.seeds():
        if len(seed) <= longest:
            (folder / hashlib.sha256(seed).hexdigest()[:32]).write_bytes(seed)
    mutator = getattr(harness, "mutated", None)
    arguments = [sys.argv[0], corpus, f"-max_len={longest}", *LIMITS, *options]
    atheris.Setup(arguments, harness.try_one, custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
