"""Encoding: records, or the notation's JSON, to bytes."""

from collections.abc import Iterable

from librt.strings import BytesWriter

from wirelens.codecs.errors import EncodeError
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
