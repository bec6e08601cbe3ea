"""The contract that every protocol passes, from its vectors: one set of tests for all of them.

WIRELENS_VECTORS names a folder with vectors of other protocols (and their mistakes.jsonl) to test instead.
"""

import json
import os
import random
from pathlib import Path
from typing import Any

import checks
import pytest
from checks import inputs

from wirelens import codecs
from wirelens.codecs import registry
from wirelens.codecs.detection import THRESHOLD

FOLDER = Path(os.environ.get("WIRELENS_VECTORS", checks.VECTORS))
CHOSEN = 24  # vectors of a protocol that a test takes
TELLING = THRESHOLD / 2  # bits; repeating bytes that could be anything is not evidence
DAMAGES = 8  # places of a vector that are damaged
OTHERS = (b"\0" * 12, b"\xff" * 12, b"not a message", random.Random(1).randbytes(24))


def mistakes() -> list[Any]:
    """Messages that do not encode, each with its protocol and the path of the mistake."""
    lines = (FOLDER / "mistakes.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [pytest.param(row["protocol"], row["message"], row["path"], id=row["name"]) for row in rows]


def vectors(protocol: str) -> list[bytes]:
    """Some vectors of a protocol, of all sizes, that decode without an error."""
    data = sorted({data for data in inputs(protocol, FOLDER) if data}, key=lambda one: (len(one), one))
    good = [one for one in data if not any(record.damaged for record in codecs.decode(one, protocol))]
    return good[:: max(len(good) // CHOSEN, 1)][:CHOSEN]


PROTOCOLS = [name for name in registry.names() if inputs(name, FOLDER)]


def test_every_protocol_has_vectors() -> None:
    assert PROTOCOLS
    if FOLDER == checks.VECTORS:
        assert registry.names() == PROTOCOLS
        assert {row.values[0] for row in mistakes()} == set(PROTOCOLS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_whole_and_byte_by_byte_and_through_json(protocol: str) -> None:
    for data in vectors(protocol):
        for record in checks.decoded(data, protocol):
            assert record.protocol == protocol
            assert record.codec is not None
            assert record.kind in record.codec.kinds or record.kind.isdecimal()
            assert record.summary


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_facts_of_calls(protocol: str) -> None:
    """Requests have a method or an id, and never fail; replies have the id of what they answer."""
    for data in vectors(protocol):
        for record in codecs.decode(data, protocol):
            assert record.codec is not None
            assert record.root is not None
            exchange = record.codec.exchange(record.root)
            facts = record.codec.call(record.root)
            if exchange.role == "request":
                assert facts.method or facts.id
                assert (facts.status, facts.exception, facts.failed) == ("", "", False)
            if exchange.role == "reply":
                assert facts.timeout_us is None
                assert facts.failed or not facts.exception
            assert facts.timeout_us is None or facts.timeout_us > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_followed_by_other_bytes(protocol: str) -> None:
    for data in vectors(protocol):
        for following in (*OTHERS, data):
            checks.decoded(data + following, protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_damaged(protocol: str) -> None:
    chance = random.Random(protocol)
    for data in vectors(protocol):
        for _ in range(DAMAGES):
            at = chance.randrange(len(data))
            for damaged in (
                data[:at],
                data[at:],
                data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :],
                data[:at] + chance.randbytes(3) + data[at:],
            ):
                for record in checks.decoded(damaged, protocol) if damaged else []:
                    if record.root is not None and record.codec is not None:
                        assert record.codec.call(record.root).service is not None
                    if record.error is not None:
                        assert record.offset <= record.error.offset <= len(damaged)
                        assert record.error.code in registry.codes()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_evidence_grows(protocol: str) -> None:
    codec = registry.get(protocol)
    repeated = [data * (1 + 256 // len(data)) for data in vectors(protocol)]
    most = max((codec.probe(data, b"").bits for data in repeated), default=0.0)
    assert most >= THRESHOLD
    for data in vectors(protocol):
        once = codec.probe(data, b"").bits
        if once >= TELLING:
            assert codec.probe(data * 3, b"").bits >= once
    for foreign in OTHERS:
        assert codec.probe(foreign, b"").bits < THRESHOLD


@pytest.mark.parametrize("protocol", [one.id for one in registry.PROTOCOLS if one.starts])
def test_other_first_bytes_are_no_evidence(protocol: str) -> None:
    """What the registry states of first bytes is true: detection does not ask the codec about others."""
    codec = registry.get(protocol)
    chance = random.Random(protocol)
    starts = registry.entry(protocol).starts
    tails = [data[1:] for data in vectors(protocol)] if protocol in PROTOCOLS else []
    for first in range(256):
        if first in starts:
            continue
        for tail in (*tails[:6], *OTHERS, chance.randbytes(40)):
            found = codec.probe(bytes([first]) + tail, b"")
            assert (found.bits <= 0, found.whole, found.refused) == (True, False, ""), (first, tail)
    for data in vectors(protocol) if protocol in PROTOCOLS else []:
        assert data[0] in starts


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("written", [None, 5, "text", [], {"no_such_member": 1}])
def test_what_is_not_a_message_is_refused(protocol: str, written: Any) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode([written], protocol)
    assert caught.value.text


@pytest.mark.parametrize(("protocol", "written", "path"), mistakes())
def test_a_mistake_is_reported_with_its_path(protocol: str, written: Any, path: str) -> None:
    with pytest.raises(codecs.EncodeError) as caught:
        codecs.encode(written, protocol)
    assert caught.value.path == path
