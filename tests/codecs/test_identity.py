"""Properties that every protocol has: nothing is lost, nothing raised, chunks change nothing."""

import random

import pytest
from checks import inputs
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

from wirelens import codecs
from wirelens.codecs import registry
from wirelens.codecs.record import Record

PROTOCOLS = registry.names()
CHOSEN = 40  # vectors a file that the mutations start from


def check(data: bytes, protocol: str | None) -> list[Record]:
    """Decode, and hold the result against what is true of every input."""
    records = codecs.decode(data, protocol)
    at = 0
    for record in records:
        assert record.offset == at
        assert record.length > 0
        at += record.length
        if record.error is not None:
            assert record.raw == data[record.offset : at]
            assert record.offset <= record.error.offset <= len(data)
            assert record.error.code in codecs.CODES
        assert record.summary
        assert record.kind
        for note in record.notes:
            assert note.code in codecs.CODES
            # what is noted of a message of gRPC may stand in an earlier frame, where the message began
            first = 0 if record.protocol == "http2" else record.offset
            assert first <= note.offset <= at
    assert at == len(data)
    assert codecs.encode(records) == data
    texts = [record.json_text() for record in records]
    assert codecs.encode([codecs.loads(text) for text in texts]) == data
    return records


def mutate(data: bytes, chance: random.Random) -> bytes:
    """One damage of the kinds that happen: a changed byte, a cut, bytes lost, bytes put in, repeats."""
    if not data:
        return b"\0"
    at = chance.randrange(len(data))
    kind = chance.randrange(5)
    if kind == 0:
        return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + data[at + chance.randrange(1, 9) :]
    if kind == 3:
        return data[:at] + chance.randbytes(chance.randrange(1, 9)) + data[at:]
    return data + data[at:]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(data=st.binary(max_size=300))
@example(data=bytes.fromhex("708e"))  # a list whose type has the number -2
@example(data=bytes.fromhex("4d7549fffffffe7a"))  # a map, in the older dialects
@example(data=bytes.fromhex("72010056740000"))  # a list that ends after its empty type
def test_arbitrary_bytes_come_back(protocol: str, data: bytes) -> None:
    check(data, protocol)


@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_come_back_when_detected(data: bytes) -> None:
    check(data, None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@examples(30)
@given(seed=st.integers(0, 1 << 32))
@example(247)
@example(1690)
def test_damaged_messages_come_back(protocol: str, seed: int) -> None:
    chance = random.Random(seed)
    vectors = [data for data in inputs_of(protocol) if len(data) < 4000]
    assert vectors
    for _ in range(8):
        data = chance.choice(vectors)
        for _ in range(chance.randrange(1, 4)):
            data = mutate(data, chance)
        check(data, protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@examples(30)
@given(seed=st.integers(0, 1 << 32))
def test_chunks_change_nothing(protocol: str, seed: int) -> None:
    chance = random.Random(seed)
    vectors = [data for data in inputs_of(protocol) if len(data) < 2000]
    assert vectors
    data = b"".join(chance.choice(vectors) for _ in range(chance.randrange(1, 4)))
    whole = [record.json_text() for record in codecs.decode(data, protocol)]
    decoder = codecs.Decoder(protocol)
    records: list[Record] = []
    at = 0
    while at < len(data):
        size = chance.choice((1, 1, 2, 3, 7, 50, 1000))
        records.extend(decoder.feed(data[at : at + size]))
        at += size
    records.extend(decoder.close())
    assert [record.json_text() for record in records] == whole


_inputs: dict[str, list[bytes]] = {}


def inputs_of(protocol: str) -> list[bytes]:
    """`inputs`, read once."""
    if protocol not in _inputs:
        _inputs[protocol] = inputs(protocol)
    return _inputs[protocol]
