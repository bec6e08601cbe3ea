"""Lets the tests of this folder import each other's helpers and those of the captures' tests."""

import sys
from pathlib import Path

for folder in ("bulk", "captures"):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / folder))
