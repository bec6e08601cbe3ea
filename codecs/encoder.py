"""Encoding: records, or the notation's JSON, to bytes."""

from collections.abc import Iterable

from librt.strings import BytesWriter

from wirelens.codecs import record_encoding
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_text import loads
from wirelens.codecs.node import Json
from wirelens.codecs.record import Record
from wirelens.codecs.record_encoding import encode_message, encode_record


def encode(records: Record | Json | Iterable[Record | Json], protocol: str | None = None) -> bytes:
    """The bytes of records as `decode` gave them, or of the notation's JSON.

    JSON objects with the key "protocol" are records; others are bare messages of `protocol`. Raises
    EncodeError with the JSON path, UnknownProtocolError.
    """
    out = BytesWriter()
    if isinstance(records, dict) or isinstance(records, Record):  # noqa: SIM101, dicts are recognised faster
        _encode(records, protocol, out, "")
        return out.getvalue()
    if records is None or isinstance(records, (bool, int, float, str)):
        raise EncodeError("", "expected a record, a message, or an array of them")
    for position, item in enumerate(records):
        _encode(item, protocol, out, f"[{position}]")
    return out.getvalue()


def encode_text(text: str, protocol: str | None = None) -> bytes:
    """The bytes of `encode(loads(text), protocol)`, and the same errors, JsonTextError included.

    Several times as fast for values of Hessian 2.0 in the order that `decode` shows them in.
    """
    data = record_encoding.encode_text(text, protocol)
    return encode(loads(text), protocol) if data is None else data


def _encode(item: Record | Json, protocol: str | None, out: BytesWriter, path: str) -> None:
    if isinstance(item, Record):
        if item.error is not None:
            out.write(item.raw)
            return
        item = item.to_json()
    if not isinstance(item, dict):
        raise EncodeError(path, "expected an object: a record, or a message")
    if "protocol" in item:
        encode_record(item, out, path)
    elif protocol is None:
        raise EncodeError(path, 'a bare message needs its protocol (--as), a record has the key "protocol"')
    else:
        encode_message(item, protocol, out, path)
