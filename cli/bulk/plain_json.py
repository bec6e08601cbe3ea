"""Plain values (numbers, text, bytes, lists, dicts and dataclasses of them) as JSON, and back.

Tuples become lists and dataclasses become dicts. Bytes become `{"$b64": …}`: these files are only read by
wirelens itself, and their key is not one of the notation's, whose `$bytes` is hex.
"""

import base64
import json
from dataclasses import is_dataclass
from typing import Any

_BYTES = "$b64"


def dumps(value: Any) -> bytes:
    """The JSON of a plain value."""
    return json.dumps(value, default=_object, separators=(",", ":")).encode()


def loads(data: bytes) -> Any:
    """The value of JSON that `dumps` gave."""
    return json.loads(data, object_hook=_value)


def tuples(value: Any) -> Any:
    """A plain value with tuples instead of lists."""
    return tuple([tuples(item) for item in value]) if isinstance(value, list) else value


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    if is_dataclass(value):
        return vars(value)
    raise TypeError(f"{type(value).__name__} is not a plain value")


def _value(members: dict[str, Any]) -> Any:
    if members.keys() == {_BYTES}:
        return base64.b64decode(members[_BYTES])
    return members
