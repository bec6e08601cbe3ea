"""Plain values (numbers, text, bytes, lists and dicts of them) as JSON, and back; tuples become lists."""

import base64
import json
from typing import Any


def dumps(value: Any) -> bytes:
    """The JSON of a plain value."""
    return json.dumps(value, default=_bytes, separators=(",", ":")).encode()


def loads(data: bytes) -> Any:
    """The value of JSON that `dumps` gave."""
    return json.loads(data, object_hook=_object)


def tuples(value: Any) -> Any:
    """A plain value with tuples for its lists, as it was before it was JSON."""
    return tuple([tuples(each) for each in value]) if isinstance(value, list) else value


def _bytes(value: object) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} is no plain value")


def _object(found: dict[str, Any]) -> Any:
    if found.keys() == {"$bytes"}:
        return base64.b64decode(found["$bytes"])
    return found
