"""The page: its parts put together, with the policy that lets only its own script and styles run."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

    from wirelens.codecs import Json

SCRIPTS: Final = (
    "base.js",
    "filter.js",
    "rows.js",
    "overview.js",
    "calls.js",
    "message.js",
    "drawings.js",
    "call.js",
    "conversations.js",
    "start.js",
)
LEVEL: Final = 9  # of compression


def page_of(data: Json, raw: bytes) -> bytes:
    """The page that shows `data`, and `raw`, the bytes of all messages.

    Both are in one element as base64, which has no character that could end it.
    """
    content = json.dumps(data, separators=(",", ":")).encode()
    packed = gzip.compress(len(content).to_bytes(4, "big") + content + raw, LEVEL, mtime=0)
    styles = _part("report.css")
    inner = "".join([_part(name) for name in SCRIPTS])
    script = f"'use strict';\n(async () => {{\n{inner}}})().catch(failed);\n" + _part("failed.js")
    page = _part("report.html")
    for mark, part in (
        ("@STYLE_HASH@", _digest(styles)),
        ("@SCRIPT_HASH@", _digest(script)),
        ("@STYLE@", styles),
        ("@SCRIPT@", script),
        ("@DATA@", b64encode(packed).decode()),
    ):
        before, _, after = page.partition(mark)
        page = before + part + after
    return page.encode()


def _part(name: str) -> str:
    return files("wirelens.formatters.html").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
