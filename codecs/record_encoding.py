"""A record of the notation's JSON to the bytes that it stands for."""

from typing import Final

from librt.strings import BytesWriter

from wirelens.codecs import registry
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import did_you_mean
from wirelens.codecs.node import Json
from wirelens.codecs.registry import UNKNOWN

_MEMBERS: Final = ("protocol", "offset", "length", "source", "message", "notes", "error", "bytes", "partial")


def encode_record(record: dict[str, Json], out: BytesWriter, path: str) -> None:
    """Write the bytes of a record: an object with the key "protocol". `path` is its place in the JSON.

    Raises EncodeError, UnknownProtocolError.
    """
    prefix = path + "." if path else ""
    name = record["protocol"]
    if not isinstance(name, str):
        raise EncodeError(prefix + "protocol", "expected a protocol's id as text")
    message = record.get("message")
    if message is not None:
        encode_message(message, name, out, prefix + "message")
        return
    raw = record.get("bytes")
    if not isinstance(raw, str):
        others = [key for key in record if key not in _MEMBERS]
        hint = did_you_mean(others[0], _MEMBERS) if others else ""
        if others and not hint:
            hint = f'; what a message has stands in it: "message": {{"{others[0]}": …}}'
        raise EncodeError(path, f'a record without "message" needs "bytes", as hex{hint}')
    try:
        out.write(bytes.fromhex(raw))
    except ValueError:
        raise EncodeError(prefix + "bytes", "expected pairs of hex digits") from None


def encode_message(message: Json, name: str, out: BytesWriter, path: str) -> None:
    """Write the bytes of a message of the protocol called `name`. `path` is its place in the JSON.

    Raises EncodeError, UnknownProtocolError.
    """
    if name == UNKNOWN:
        raise EncodeError(path, 'a record of protocol "unknown" has "bytes" and no message')
    codec = registry.get(name)
    try:
        codec.encode(message, out)
    except EncodeError as error:
        inner = error.path
        joined = path + inner if inner.startswith("[") or not path else f"{path}.{inner}" if inner else path
        raise EncodeError(joined, error.text) from None
