"""What tests of a protocol hold every input against."""

import gzip
import os
from pathlib import Path
from typing import Any

from wirelens import codecs
from wirelens.codecs.record import Record

VECTORS = Path(__file__).parent / "vectors"
# Levels that no code may take as calls inside one another; C's stack lasts for more of them than Python's.
DEEP = 100_000 if os.environ.get("WIRELENS_FORM") == "compiled" else 20_000


def decoded(data: bytes, protocol: str) -> list[Record]:
    """The records of an input: the same whole and byte by byte, and from their JSON the same bytes again."""
    records = codecs.decode(data, protocol)
    assert sum(record.length for record in records) == len(data)
    assert codecs.encode(records) == data
    assert b"".join([codecs.encode_text(record.json_text()) for record in records]) == data
    decoder = codecs.Decoder(protocol)
    pieces: list[Record] = []
    for at in range(len(data)):
        pieces.extend(decoder.feed(data[at : at + 1]))
    pieces.extend(decoder.close())
    assert [record.json_text() for record in pieces] == [record.json_text() for record in records]
    return records


def one(data: bytes, protocol: str) -> Record:
    """The only record of an input."""
    (record,) = decoded(data, protocol)
    return record


def message(record: Record) -> Any:
    """The message of a record in the notation."""
    as_json = record.to_json()
    assert isinstance(as_json, dict)
    return as_json["message"]


def codes(record: Record) -> list[str]:
    return [note.code for note in record.notes]


def inputs(protocol: str, folder: Path = VECTORS) -> list[bytes]:
    """The bytes of the vectors of a protocol, of the files in tests/vectors or in another folder."""
    found: list[bytes] = []
    for path in sorted(folder.glob("*.jsonl*")):
        raw = path.read_bytes()
        for line in (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines():
            # not json.loads: some meanings nest deeper than it reads
            if f'"protocol": "{protocol}"' in line[:400] and '"hex": "' in line:
                start = line.index('"hex": "') + len('"hex": "')
                found.append(bytes.fromhex(line[start : line.index('"', start)]))
    return found
