"""A record of the notation's JSON to the bytes that it stands for."""

from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64

from wirelens.codecs import registry
from wirelens.codecs.errors import EncodeError, UnknownProtocolError
from wirelens.codecs.json_input import did_you_mean
from wirelens.codecs.node import Json
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.scan import past_space, plain_end, starts_with

_MEMBERS: Final = ("protocol", "offset", "length", "source", "message", "notes", "error", "bytes", "partial")
_PROTOCOL: Final = b'"protocol":'
_PLACE: Final = (b'"offset":', b'"length":')
_MOST_DIGITS: Final = 18


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


def encode_text(text: str, protocol: str | None) -> bytes | None:
    """The bytes of one record, or of one message of `protocol`, given as JSON text.

    None where only its objects tell: of most protocols, of what is not usual, and of every mistake.
    """
    braces: i64 = 0
    try:
        data = text.encode()
        at = past_space(data, 0)
        name = past_space(data, at + 1)
        if starts_with(data, name, _PROTOCOL):
            start = past_space(data, name + len(_PROTOCOL)) + 1
            end = plain_end(data, start, len(data))
            if data[at] != 0x7B or data[start - 1] != 0x22 or data[end] != 0x22:
                return None
            protocol = data[start:end].decode()
            at = _message_in(data, end + 1)
            braces = 1
        if protocol is None or protocol == UNKNOWN or at < 0:
            return None
        codec = registry.get(protocol)
    except (IndexError, UnicodeEncodeError, UnknownProtocolError):
        return None
    return codec.encode_text(data, at, braces)


def _message_in(data: bytes, at: i64) -> i64:
    """Where the message of a record starts, after its protocol; -1 if more than its place is between."""
    for name in _PLACE:
        start = _member(data, at, name)
        if start >= 0:
            at = start
            while 0x30 <= data[at] <= 0x39:
                at += 1
            if not 0 < at - start <= _MOST_DIGITS or (data[start] == 0x30 and at > start + 1):
                return -1
    return _member(data, at, b'"message":')


def _member(data: bytes, at: i64, name: bytes) -> i64:
    """Where the value of a member starts, after a comma and its name; -1 if another member is there."""
    at = past_space(data, at)
    name_at = past_space(data, at + 1)
    if data[at] != 0x2C or not starts_with(data, name_at, name):
        return -1
    return past_space(data, name_at + len(name))


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
