"""Encoding: records, or the notation's JSON, to bytes."""

from collections.abc import Iterable

from librt.strings import BytesWriter

from wirelens.codecs import registry
from wirelens.codecs.cursor import DecodeError
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.node import Json
from wirelens.codecs.notation import EncodeError
from wirelens.codecs.record import UNKNOWN, Record


def encode(records: Record | Json | Iterable[Record | Json], protocol: str | None = None) -> bytes:
    """The bytes of records as `decode` gave them, or of the notation's JSON.

    JSON objects with the key "protocol" are records; others are bare messages, of `protocol`. Raises
    EncodeError with the JSON path, LookupError for a protocol that does not exist.
    """
    out = BytesWriter()
    if isinstance(records, dict) or isinstance(records, Record):  # noqa: SIM101, dicts are told faster
        _encode_one(records, protocol, out, "")
        return out.getvalue()
    if records is None or isinstance(records, (bool, int, float, str)):
        raise EncodeError("", "expected a record, a message, or an array of them")
    for position, item in enumerate(records):
        _encode_one(item, protocol, out, f"[{position}]")
    return out.getvalue()


def _encode_one(item: Record | Json, protocol: str | None, out: BytesWriter, path: str) -> None:
    if isinstance(item, Record):
        if item.error is not None:
            out.write(item.raw)
            return
        item = item.to_json()
    if not isinstance(item, dict):
        raise EncodeError(path, "expected an object: a record, or a message")
    if "protocol" in item:
        _encode_record(item, out, path)
    elif protocol is None:
        raise EncodeError(path, 'a bare message needs its protocol (--as), a record has the key "protocol"')
    else:
        _encode_message(item, protocol, out, path)


def _encode_record(record: dict[str, Json], out: BytesWriter, path: str) -> None:
    prefix = path + "." if path else ""
    name = record["protocol"]
    if not isinstance(name, str):
        raise EncodeError(prefix + "protocol", "expected a protocol's id as text")
    message = record.get("message")
    if message is not None:
        _encode_message(message, name, out, prefix + "message")
        return
    raw = record.get("bytes")
    if not isinstance(raw, str):
        raise EncodeError(path, 'a record without "message" needs "bytes", as hex')
    try:
        out.write(bytes.fromhex(raw))
    except ValueError:
        raise EncodeError(prefix + "bytes", "expected pairs of hex digits") from None


def _encode_message(message: Json, name: str, out: BytesWriter, path: str) -> None:
    if name == UNKNOWN:
        raise EncodeError(path, 'a record of protocol "unknown" has "bytes" and no message')
    codec = registry.get(name)
    try:
        codec.encode(message, out)
    except EncodeError as error:
        inner = error.path
        joined = path + inner if inner.startswith("[") or not path else f"{path}.{inner}" if inner else path
        raise EncodeError(joined, error.text) from None


def record_from_json(obj: Json) -> Record:
    """See Record.from_json."""
    if not isinstance(obj, dict) or not isinstance(obj.get("protocol"), str):
        raise EncodeError("", 'expected a record: an object with the key "protocol"')
    data = encode(obj)
    name = str(obj["protocol"])
    given = obj.get("offset", 0)
    offset = given if isinstance(given, int) else 0
    decoder = Decoder(name, offset)
    records = decoder.feed(data) + decoder.close()
    if obj.get("message") is None:
        if len(records) == 1 and records[0].error is not None:
            return records[0]
        # as a part of a longer input these bytes did not decode: here they would
        said = obj.get("error")
        fault = said if isinstance(said, dict) else {}
        at = fault.get("offset", offset)
        error = DecodeError(
            str(fault.get("code", "bad-value")),
            at if isinstance(at, int) else offset,
            str(fault.get("text", "")),
        )
        codec = None if name == UNKNOWN else registry.get(name)
        return Record(codec, offset, len(data), None, error, data)
    if len(records) != 1 or records[0].tape is None:
        raise EncodeError("message", "its bytes do not read back as one message")
    return records[0]
