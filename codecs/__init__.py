"""Pure codecs: bytes to messages and back, without files, terminals or Spark.

`detect`, `decode`, `Decoder`, `encode`, `encode_text`, `Record`, and the notation's `dumps` and `loads` are
the Python API, together with `codecs.captures`. Loaded on first use, so listing the protocols does not import
a decoder.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from wirelens.codecs import captures
    from wirelens.codecs.codes import CODES, Note
    from wirelens.codecs.cursor import DecodeError
    from wirelens.codecs.decoder import Decoder, decode
    from wirelens.codecs.detection import Candidate, Detection, detect
    from wirelens.codecs.encoder import encode, encode_text
    from wirelens.codecs.errors import EncodeError, UnknownProtocolError, WirelensError
    from wirelens.codecs.json_text import JsonTextError, dumps, loads
    from wirelens.codecs.node import Json, Node
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
    "UnknownProtocolError",
    "WirelensError",
    "captures",
    "decode",
    "detect",
    "dumps",
    "encode",
    "encode_text",
    "loads",
]

_HOMES: Final[dict[str, str]] = {
    "CODES": "codes",
    "Candidate": "detection",
    "DecodeError": "cursor",
    "Decoder": "decoder",
    "Detection": "detection",
    "EncodeError": "errors",
    "Json": "node",
    "JsonTextError": "json_text",
    "Node": "node",
    "Note": "codes",
    "Record": "record",
    "UnknownProtocolError": "errors",
    "WirelensError": "errors",
    "decode": "decoder",
    "detect": "detection",
    "dumps": "json_text",
    "encode": "encoder",
    "encode_text": "encoder",
    "loads": "json_text",
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
