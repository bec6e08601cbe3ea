"""Pure codecs: bytes to messages and back, without files, terminals or Spark.

`detect`, `decode`, `Decoder`, `encode`, `Record`, and the notation's `dumps` and `loads` are the Python
API, with `codecs.captures` beside them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from wirelens.codecs.codes import CODES, Note
from wirelens.codecs.cursor import DecodeError
from wirelens.codecs.decoder import Decoder, decode
from wirelens.codecs.detect import Candidate, Detection, detect
from wirelens.codecs.encoder import encode
from wirelens.codecs.node import Json, Node
from wirelens.codecs.notation import EncodeError, JsonTextError, dumps, loads
from wirelens.codecs.record import Record

if TYPE_CHECKING:
    from wirelens.codecs import captures

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


def __getattr__(name: str) -> object:
    """`captures` loads when it is first asked for: who decodes plain bytes does not wait for it."""
    if name == "captures":
        return import_module("wirelens.codecs.captures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
