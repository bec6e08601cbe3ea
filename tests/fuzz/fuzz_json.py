"""JSON to encode: texts, and records and messages of each protocol whose members are exchanged for others."""

import random
from collections.abc import Iterator

import fuzzing

from wirelens import codecs
from wirelens.codecs.errors import WirelensError
from wirelens.codecs.json_text import JsonTextError, dumps, loads
from wirelens.codecs.node import Json
from wirelens.codecs.record import Record


def try_one(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        value = loads(text)
    except JsonTextError:
        return
    assert loads(dumps(value)) == value
    try:
        record = Record.from_json(value)
    except WirelensError as error:
        fuzzing.check_error(error, text)
    else:
        assert codecs.encode([record]) == codecs.encode([value])
    assert _outcome(text, None) == _outcome(text, value)
    for name in fuzzing.PROTOCOLS:
        try:
            written = codecs.encode([value], name)
        except WirelensError as error:
            fuzzing.check_error(error, text)
            continue
        assert len(written) <= 64 * len(text) + 1024, "more bytes than the JSON states"
        fuzzing.check_records(codecs.decode(written, name), written)


def _outcome(text: str, value: Json) -> bytes | str:
    """What a text becomes as it is read, or as its objects; or the text of the error."""
    try:
        return codecs.encode_text(text, "hessian2") if value is None else codecs.encode(value, "hessian2")
    except WirelensError as error:
        return str(error)


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """Another JSON text: a value of it replaced, doubled, dropped or wrapped, sometimes bytes changed."""
    import atheris

    chance = random.Random(seed)
    try:
        value = loads(data.decode())
    except (JsonTextError, UnicodeDecodeError):
        value = None
    if value is None or chance.random() < 0.1:
        changed: bytes = atheris.Mutate(data, most)
        return changed
    for _ in range(chance.choice((1, 1, 2, 4))):
        value = fuzzing.changed(value, chance)
    text = dumps(value).encode()
    return text if len(text) <= most else data


def seeds() -> Iterator[bytes]:
    for name in fuzzing.PROTOCOLS:
        for payload in fuzzing.payloads(name, 20):
            for record in codecs.decode(payload, name)[:2]:
                yield record.json_bytes()
                written: Json = record.to_json()
                assert isinstance(written, dict)
                yield dumps(written.get("message")).encode()
