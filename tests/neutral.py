"""The vectors' neutral tree of Hessian values, made from ours, and the comparison of the two."""

import gzip
import hashlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wirelens.codecs import loads
from wirelens.codecs import tape as t
from wirelens.codecs.node import Node

Tree = dict[str, Any]


def vectors(folder: Path, pattern: str) -> Iterator[Tree]:
    """The cases of the files that match, of any nesting."""
    for path in sorted(folder.glob(pattern)):
        content = path.read_bytes()
        text = gzip.decompress(content) if path.suffix == ".gz" else content
        for line in text.decode().splitlines():
            case = loads(line)
            assert isinstance(case, dict)
            yield case


def _declared(node: Node) -> int | None:
    for part in node.parts():
        if part.kind == t.LENGTH:
            return part.number if part.number >= 0 else None
    opcode = node.raw[0]
    if 0x70 <= opcode <= 0x7F:
        return opcode & 7
    return None


def shallow(node: Node) -> Tree:
    """A node's neutral tree without what is in it."""
    kind = node.kind
    value = node.value
    if kind == t.NULL:
        return {"kind": "null"}
    if kind == t.BOOL:
        return {"kind": "bool", "value": value}
    if kind == t.INT:
        return {"kind": "int", "value": value}
    if kind == t.LONG:
        return {"kind": "long", "value": str(value)}
    if kind == t.DOUBLE:
        return {"kind": "double", "bits": f"{node.number & 0xFFFFFFFFFFFFFFFF:016x}"}
    if kind == t.DATE:
        return {"kind": "date", "ms": str(value)}
    if kind == t.STRING16:
        return {"kind": "string", "value": node.text}
    if kind == t.BYTES:
        return {"kind": "binary", "hex": node.content.hex()}
    if kind == t.REF:
        return {"kind": "ref", "id": node.reference}
    if kind == t.LIST:
        return {
            "kind": "list",
            "id": node.reference,
            "type": node.type_name or None,
            "declared_length": _declared(node),
        }
    if kind == t.MAP:
        return {"kind": "map", "id": node.reference, "type": node.type_name or None}
    if kind == t.OBJECT:
        return {"kind": "object", "id": node.reference, "type": node.type_name}
    if kind == t.REMOTE:
        url = node.children[0].text
        return {"kind": "remote", "type": node.type_name, "url": url}
    return {"kind": node.kind_name, "value": value}


def differences(node: Node, wanted: Tree) -> list[str]:
    """Where a tree is not what the vector says; without recursion."""
    found: list[str] = []
    work: list[tuple[Node, Tree]] = [(node, wanted)]
    while work and len(found) < 5:
        node, wanted = work.pop()
        got = shallow(node)
        wanted = dict(wanted)
        items: list[Tree] = []
        names: list[Any] = []
        if "items" in wanted:
            items = wanted.pop("items")
        if "entries" in wanted:
            items = [side for pair in wanted.pop("entries") for side in pair]
        if "fields" in wanted:
            pairs = wanted.pop("fields")
            names = [pair[0] for pair in pairs]
            items = [pair[1] for pair in pairs]
        wanted.pop("repr", None)
        if wanted["kind"] == "binary":
            content = bytes.fromhex(got.get("hex", ""))
            if "sha256" in wanted:
                got = {
                    "kind": got["kind"],
                    "len": len(content),
                    "sha256": hashlib.sha256(content).hexdigest(),
                }
                wanted = {name: wanted[name] for name in got}
            else:
                wanted.pop("len", None)
        if wanted["kind"] == "string" and "value" not in wanted and isinstance(got.get("value"), str):
            text = got["value"]
            units = text.encode("utf-16-be", "surrogatepass")
            head = units[: 2 * len(wanted["head"].encode("utf-16-be", "surrogatepass")) // 2]
            got = {
                "kind": "string",
                "utf16_len": len(units) // 2,
                "head": head.decode("utf-16-be", "surrogatepass"),
                "sha256_utf16be": hashlib.sha256(units).hexdigest(),
            }
        if wanted["kind"] in ("list", "map") and "type" in wanted:
            wanted["type"] = wanted["type"] or None
        if got != wanted:
            found.append(f"{node.path}: {got} is not {wanted}")
        children = node.children if got["kind"] in ("list", "map", "object") else []
        if got["kind"] == "object" and node.class_names()[1:] != names:
            found.append(f"{node.path}: fields {node.class_names()[1:]} are not {names}")
        if len(children) != len(items):
            found.append(f"{node.path}: {len(children)} children, not {len(items)}")
        work.extend(zip(children, items, strict=False))
    return found


def double_bits(value: float) -> str:
    """16 hex digits of a double."""
    return struct.pack(">d", value).hex()


__all__ = ["Tree", "differences", "double_bits", "json", "shallow", "vectors"]
