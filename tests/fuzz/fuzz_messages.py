"""Bytes of each protocol and of none, whole and in chunks. The first two bytes choose protocol and chunks."""

from collections.abc import Iterator

import fuzzing

from wirelens import codecs
from wirelens.codecs.record import Record

NAMES = [*fuzzing.PROTOCOLS, None]  # None: detected


def try_one(data: bytes) -> None:
    if len(data) < 3:
        return
    name = NAMES[data[0] % len(NAMES)]
    payload = data[2:]
    records = codecs.decode(payload, name)
    fuzzing.check_records(records, payload)
    decoder = codecs.Decoder(name)
    parts: list[Record] = []
    for chunk in fuzzing.sizes(payload, data[1]):
        parts.extend(decoder.feed(chunk))
    parts.extend(decoder.close())
    if name is None:  # the first bytes decide, and in chunks they are fewer
        fuzzing.check_records(parts, payload)
    else:
        whole = [record.json_text() for record in records]
        assert [record.json_text() for record in parts] == whole, "other records in chunks"


def seeds() -> Iterator[bytes]:
    for index, name in enumerate(fuzzing.PROTOCOLS):
        for number, payload in enumerate(fuzzing.payloads(name)):
            yield bytes([index, number & 0xFF]) + payload
        yield bytes([len(NAMES) - 1, 0]) + payload
