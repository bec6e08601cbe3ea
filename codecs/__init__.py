"""Pure codecs: bytes to messages and back, without files, terminals or Spark.

`detect`, `decode`, `Decoder`, `encode`, `Record`, and the notation's `dumps` and `loads` are the Python
API, with `codecs.captures` beside them. They load when they are first used: who only lists the protocols
waits for no decoder.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from wirelens.codecs import captures
    from wirelens.codecs.codes import CODES, Note
    from wirelens.codecs.cursor import DecodeError
    from wirelens.codecs.decoder import Decoder, decode
    from wirelens.codecs.detect import Candidate, Detection, detect
    from wirelens.codecs.encoder import encode
    from wirelens.codecs.node import Json, Node
    from wirelens.codecs.notation import EncodeError, JsonTextError, dumps, loads
    from wirelens.codecs.record import Record

__all__ = [
    "CODES",
    "Candidate",
    "DecodeError",
    "Decoder",
    "Detection",
    "EncodeError",
    "Json",
    "JsonTextError",
    "Node",
    "Note",
    "Record",
    "captures",
    "decode",
    "detect",
    "dumps",
    "encode",
    "loads",
]

_HOMES: Final[dict[str, str]] = {
    "CODES": "codes",
    "Candidate": "detect",
    "DecodeError": "cursor",
    "Decoder": "decoder",
    "Detection": "detect",
    "EncodeError": "notation",
    "Json": "node",
    "JsonTextError": "notation",
    "Node": "node",
    "Note": "codes",
    "Record": "record",
    "decode": "decoder",
    "detect": "detect",
    "dumps": "notation",
    "encode": "encoder",
    "loads": "notation",
}


def __getattr__(name: str) -> object:
    value: object
    if name == "captures":
        value = import_module(f"{__name__}.captures")
    elif name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


class _Package(ModuleType):
    """Keeps `detect` the function: importing the module of that name would put itself in its place."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "detect" and isinstance(value, ModuleType):
            value = value.detect
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
