"""Bytes in a field with a name: JSON, YAML, and one label or assignment without a literal after it."""

import json
import re
from collections.abc import Callable
from typing import Final

from wirelens.codecs.captures.pasting.context import ASSIGN, LABEL
from wirelens.codecs.captures.pasting.plain import (
    ambiguous,
    base64_bytes,
    read_decimal,
    read_prefixed,
    strong_base64,
)
from wirelens.codecs.captures.pasting.source import Pasted, PastedError, Source
from wirelens.codecs.captures.pasting.strings import strong_text

_FIELDS: Final = (
    "data",
    "payload",
    "bytes",
    "body",
    "content",
    "hex",
    "base64",
    "value",
    "buffer",
    "raw",
    "message",
    "packet",
    "binary",
    "$binary",
    "blob",
    "request",
    "response",
)


def read_json(source: Source) -> Pasted | None:
    """A JSON object with one field of bytes: numbers, hex or base64; or with a number for each index."""
    text = source.text.strip()
    if not text.startswith("{") or not text.endswith("}"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for _ in range(4):
        if not isinstance(value, dict) or not value:
            return None
        keys = list(value)
        if all(key == str(index) for index, key in enumerate(keys)):
            numbers = list(value.values())
            if all(type(n) is int and -128 <= n <= 255 for n in numbers):
                return Pasted(bytes(n & 255 for n in numbers), "json")
            return None
        found = [(key, value[key]) for key in keys if key.lower() in _FIELDS]
        read = [(key, data) for key, item in found if (data := _json_bytes(key, item, value)) is not None]
        if len({data for _, data in read}) > 1:
            at = max(source.text.find(f'"{read[1][0]}"'), 0)
            raise ambiguous(source, at, f"the field {read[0][0]}", f"the field {read[1][0]}")
        if read:
            return Pasted(read[0][1], "json")
        inner = [item for _, item in found if isinstance(item, dict)]
        if len(inner) != 1:
            return None
        value = inner[0]
    return None


def _json_bytes(key: str, item: object, whole: dict[str, object]) -> bytes | None:
    if isinstance(item, list):
        if item and all(type(n) is int and -128 <= n <= 255 for n in item):
            return bytes(n & 255 for n in item)
        return b"" if not item and whole.get("type") == "Buffer" else None
    if not isinstance(item, str) or not item:
        return None
    if item.startswith("data:") and ";base64," in item:
        return base64_bytes(item.split(";base64,", 1)[1])
    codec = str(whole.get("encoding", whole.get("format", key))).lower()
    bare = "".join(item.split())
    digits = bare.removeprefix("0x")
    if re.fullmatch("(?:[0-9A-Fa-f]{2})+", digits) and (codec == "hex" or len(digits) >= 8):
        if codec not in ("base64", "binary", "$binary"):
            return bytes.fromhex(digits)
    if codec in ("base64", "binary", "$binary") or strong_base64(bare):
        return base64_bytes(bare)
    return None


def read_yaml(source: Source, forced: bool = False) -> Pasted | None:
    """YAML with one `!!binary` value, as Wireshark's follow dialog saves it; of several, one peer's only."""
    if "!!binary" not in source.text:
        return None
    rows = source.lines
    blocks: list[tuple[int, str, list[int]]] = []
    peer = ""
    row = 0
    while row < len(rows):
        line = rows[row]
        found = re.match(r"(\s*)(?:- )?(?:[\w-]+:\s*)?!!binary\s*(\|[-+]?|>[-+]?)?\s*(.*)$", line)
        if found:
            indent = len(found[1])
            body = [row] if found[3].strip() else []
            while (
                row + 1 < len(rows)
                and (not rows[row + 1].strip() or len(rows[row + 1]) - len(rows[row + 1].lstrip()) > indent)
                and not re.match(r"\s*[\w-]+:(?:\s|$)", rows[row + 1])
            ):
                row += 1
                if rows[row].strip():
                    body.append(row)
            blocks.append((row, peer, body))
        elif (
            re.match(r"\s*(?:-\s+)?[\w-]+:(?:\s.*)?$", line)
            or not line.strip()
            or line.lstrip().startswith(("#", "---"))
        ):
            match = re.match(r"\s*(?:-\s+)?peer:\s*(\S+)", line)
            peer = match[1] if match else peer
        else:
            if forced or blocks:
                raise source.error_in(
                    row, 0, "pasted-damaged", "this line does not belong to the YAML around it"
                )
            return None
        row += 1
    if not blocks:
        return None
    if len({peer for _, peer, _ in blocks}) > 1:
        raise source.error_in(
            blocks[1][0], 0, "pasted-several", "the text holds both directions of a conversation"
        )
    out: list[bytes] = []
    for _, _, body in blocks:
        encoded = "".join(re.sub(r"^.*!!binary\s*", "", rows[index]).strip().strip("\"'") for index in body)
        data = base64_bytes(encoded)
        if data is None:
            at = body[-1] if body else 0
            raise source.error_in(
                at, len(rows[at].rstrip()) - 1, "pasted-damaged", "the base64 is not whole here"
            )
        short = [index for index in body[1:-1] if len(rows[index].strip()) != len(rows[body[0]].strip())]
        if short and len(body) > 2:
            raise source.error_in(short[0], 0, "pasted-damaged", "a base64 line of another length")
        out.append(data)
    return Pasted(b"".join(out), "yaml")


def read_labelled(source: Source) -> Pasted | None:
    """`NAME: hex`, `NAME = base64`, `{{hex}}`: what follows one short label, if it is surely bytes."""
    text = source.plain
    match = LABEL.match(text) or ASSIGN.match(text)
    if not match:
        return None
    rest = source.sub(match.end(), len(text.rstrip().rstrip(";,")))
    if not rest.text.strip():
        return None
    strong = strong_text(rest)
    if strong:
        return strong
    readers: list[Callable[[Source], Pasted | None]] = [read_prefixed, read_decimal]
    for reader in readers:
        try:
            result = reader(rest)
        except PastedError as error:
            if error.code == "pasted-ambiguous":
                raise
            return None
        if result and len(result.data) >= (2 if reader is read_prefixed and "," in rest.text else 4):
            return result
    return None
