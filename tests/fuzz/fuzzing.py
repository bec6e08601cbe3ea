"""What the harnesses share: payloads to start from, what every result is held against, changed JSON.

A harness is a module `fuzz_NAME` with `try_one(data)`, which raises for a finding, and `seeds()`; it may have
`mutated`, which makes one input of another.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import checks

from wirelens import codecs
from wirelens.codecs import registry
from wirelens.codecs.errors import WirelensError
from wirelens.codecs.json_text import dumps, loads
from wirelens.codecs.node import Json
from wirelens.codecs.record import Record

ROOT: Final = Path(__file__).resolve().parents[2]
JSON_RATIO: Final = 512  # bytes of JSON for each byte of input, at most
JSON_FREE: Final = 1 << 17
SEED_BYTES: Final = 4096  # longer ones only slow the fuzzer down
PROTOCOLS: Final = registry.names()

# fmt: off
HOSTILE: Final[list[Json]] = [
    None, True, 0, -1, 1 << 31, -(1 << 63), 1 << 64, 10**400, 0.5, 1e308, -0.0,
    "", "a", "\0", "\x9b", "\ud800", "0x1", "00ff", "NaN", "2024-01-01T00:00:00Z", "é" * 300,
    [], {}, [[]], {"$ref": 0}, {"$": 1},
]
# fmt: on


def payloads(protocol: str, most: int = 100) -> list[bytes]:
    """Bytes of a protocol's vectors, of all sizes."""
    found = sorted({data for data in checks.inputs(protocol) if len(data) < SEED_BYTES}, key=len)
    return found[:: max(len(found) // most, 1)]


def sizes(data: bytes, seed: int) -> Iterator[bytes]:
    """The data in chunks of random sizes."""
    chance = random.Random(seed)
    position = 0
    while position < len(data):
        size = chance.choice((1, 2, 5, 40, 1000))
        yield data[position : position + size]
        position += size


def check_records(records: list[Record], data: bytes) -> None:
    """Records cover the input, give it back, and are in proportion to it; errors lie inside their records."""
    position = 0
    written = 0
    texts: list[str] = []
    for record in records:
        assert record.offset == position, "a gap between records"
        position += record.length
        if record.error is not None:
            assert record.offset <= record.error.offset <= position, "an error outside of its record"
        texts.append(record.json_text())
        written += len(texts[-1])
        assert len(record.summary) <= 200
    assert position == len(data), "records do not cover the input"
    assert written <= JSON_RATIO * len(data) + JSON_FREE, "JSON out of proportion"
    assert codecs.encode(records) == data, "records do not encode to the input"
    assert codecs.encode([codecs.loads(text) for text in texts]) == data, "JSON does not encode to the input"


def check_error(error: WirelensError, text: str | bytes) -> None:
    """An error is in wirelens's own words, and no longer than what it is about."""
    message = str(error)
    assert len(message) <= 2 * len(text) + 1000
    assert "sys." not in message, "a hint of Python's"


def changed(value: Json, chance: random.Random) -> Json:
    """The value with one place in it replaced, dropped, doubled, wrapped or renamed."""
    places: list[tuple[list[Json] | dict[str, Json], int | str]] = []
    found: list[Json] = [value]
    for one in found:  # grows
        if isinstance(one, list):
            places += [(one, at) for at in range(len(one))]
            found += one
        elif isinstance(one, dict):
            places += [(one, key) for key in one]
            found += one.values()
    if not places or chance.random() < 0.03:
        return chance.choice(HOSTILE)
    inside, at = chance.choice(places)
    other = chance.choice((*HOSTILE, *chance.sample(found, min(len(found), 12))))
    other = loads(dumps(other))  # no part of two places
    action = chance.randrange(5)
    if action == 0 and isinstance(inside, dict):
        assert isinstance(at, str)
        keys = [one for within, one in places if isinstance(one, str)]
        inside[chance.choice((*keys, "$wire", "a"))] = other
    elif action == 1:
        del inside[at]  # type: ignore[arg-type]
    elif action == 2 and isinstance(inside, list):
        inside.append(other)
    else:
        inside[at] = [other] if action == 3 else other  # type: ignore[index]
    return found[0] if len(found) < 2000 else None
