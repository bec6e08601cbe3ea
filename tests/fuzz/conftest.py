"""Lets the harnesses of this folder import what they share, and how captures are written."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "captures")]
