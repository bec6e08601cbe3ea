"""The contract that every protocol passes, from its vectors: one set of tests for all of them.

WIRELENS_VECTORS names a folder with vectors of other protocols (and their mistakes.jsonl) to test instead.
"""

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import checks
import pytest
from checks import inputs

from wirelens import codecs
from wirelens.codecs import registry
from wirelens.codecs.detection import THRESHOLD
from wirelens.codecs.schema import FLAGS, INTEGER, WORD, Member, Schema

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


# --- what `wirelens protocols PROTOCOL` shows is what encoders accept --------------------------------------


def messages(protocol: str) -> list[Any]:
    """Messages of a protocol in JSON: its examples, those of members.jsonl, those of small vectors."""
    found: list[Any] = list(registry.notation(protocol).examples.values())
    if (FOLDER / "members.jsonl").exists():
        rows = [json.loads(line) for line in (FOLDER / "members.jsonl").read_text("utf-8").splitlines()]
        found += [row["message"] for row in rows if row["protocol"] == protocol]
    for data in vectors(protocol):
        if len(data) < LONGEST_SHOWN:
            found += [checks.message(record) for record in codecs.decode(data, protocol)]
    return found


LONGEST_SHOWN = 400  # bytes of vectors whose members are tried
NO_MEMBER = re.compile(r"no such member here; there (?:are none|are ([^;]*))(?:;.*)?")
NO_TAG = re.compile(r"as a tag, '[^']*' is not one of ([^;(]*?)(?:;.*| \(.*)")


class Place:
    """An object in a message, with which the message can be encoded changed."""

    def __init__(self, protocol: str, message: Any, steps: tuple[Any, ...]) -> None:
        self.protocol = protocol
        self.message = message
        self.steps = steps
        self.members: dict[str, Any] = message
        for step in steps:
            self.members = self.members[step]

    def encoded(self, change: dict[str, Any], without: str = "") -> bytes | codecs.EncodeError:
        """The bytes of the message with other members in this object, or the error."""
        changed = {name: value for name, value in {**self.members, **change}.items() if name != without}
        message: Any = changed
        for at in range(len(self.steps) - 1, -1, -1):
            outer = self.message
            for step in self.steps[:at]:
                outer = outer[step]
            outer = outer.copy()
            outer[self.steps[at]] = message
            message = outer
        try:
            return codecs.encode([message], self.protocol)
        except codecs.EncodeError as error:
            return error

    def listed(self, name: str, pattern: re.Pattern[str]) -> frozenset[str] | None:
        """The names that the error about an unknown one lists; None if there is no such error."""
        error = self.encoded({name: 1})
        match = pattern.fullmatch(error.text) if isinstance(error, codecs.EncodeError) else None
        return frozenset((match[1] or "").split(", ")) - {""} if match is not None else None


def places(protocol: str) -> Iterator[Place]:
    """The objects of all messages of a protocol, each of which encodes."""
    for message in messages(protocol):
        assert codecs.encode([message], protocol)
        left: list[tuple[Any, tuple[Any, ...]]] = [(message, ())]
        while left:
            value, steps = left.pop()
            if isinstance(value, dict):
                yield Place(protocol, message, steps)
                left += [(inner, (*steps, name)) for name, inner in value.items()]
            elif isinstance(value, list):
                left += [(inner, (*steps, at)) for at, inner in enumerate(value)]


def shown(protocol: str) -> dict[frozenset[str], list[Schema]]:
    """The schemas of a protocol and of those that its bodies contain, by the names of their members."""
    found: dict[frozenset[str], list[Schema]] = {}
    for name in (protocol, *registry.get(protocol).carries):
        for schema in registry.notation(name).objects:
            found.setdefault(frozenset(schema.members), []).append(schema)
    return found


def wrong_words(place: Place, member: Member) -> list[Any]:
    """Words and numbers of a member that its encoder treats otherwise than as they are shown."""
    wrong: list[Any] = []
    for word in (*member.names.values(), *member.choices):
        done = place.encoded({member.name: word})
        if isinstance(done, codecs.EncodeError) and "is not one of" in done.text:
            wrong.append(word)
    beyond: list[Any] = ["no such word"] if member.kind in (INTEGER, FLAGS, WORD) else []
    if member.kind in (INTEGER, FLAGS) and member.name not in (place.members.get("$wire") or {}):
        beyond += [member.low - 1, member.high + 1]
    return wrong + [word for word in beyond if isinstance(place.encoded({member.name: word}), bytes)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_that_are_shown_are_those_that_encoders_accept(protocol: str) -> None:
    schemas = shown(protocol)
    accepted: set[tuple[str, str]] = set()
    defaults: set[tuple[str, str]] = set()
    for place in places(protocol):
        names = place.listed("no_such_member", NO_MEMBER)
        if names is None:
            continue
        assert names in schemas, (place.steps, names)
        for schema in schemas[names]:
            accepted.update((schema.title, name) for name in place.members)
            for member in schema.members.values():
                assert wrong_words(place, member) == [], member.name
                without = place.encoded({}, member.name)
                if member.needed and member.name in place.members:
                    assert isinstance(without, codecs.EncodeError), member.name
                if member.default is not None and not place.members.get("$wire"):
                    with_default = place.encoded({member.name: member.default})
                    if isinstance(without, bytes) and isinstance(with_default, bytes):
                        assert with_default == without, (member.name, place.message)
                        defaults.add((schema.title, member.name))
    own = registry.notation(protocol).objects
    every = {(schema.title, name) for schema in own for name in schema.members}
    assert sorted(every - accepted) == []
    stated = {
        (one.title, name) for one in own for name, member in one.members.items() if member.default is not None
    }
    assert sorted(stated - defaults) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tags_that_are_shown_are_those_that_encoders_accept(protocol: str) -> None:
    notation = registry.notation(protocol)
    known = [registry.notation(name).values for name in (protocol, *registry.get(protocol).carries)]
    listings: set[frozenset[str]] = set()
    used: set[str] = set()
    for place in places(protocol):
        listed = place.listed("$no_such_tag", NO_TAG)
        if listed is not None:
            listings.add(listed)
        used.update(place.members)
    assert listings <= {frozenset(values) - {""} for values in known}
    assert not notation.values or frozenset(notation.values) in listings
    if protocol not in ("dubbo", "bolt", "http", "framed-hessian"):  # their values are those of Hessian
        assert sorted(set(notation.values) - used) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_examples_of_messages_encode_and_decode(protocol: str) -> None:
    examples = registry.notation(protocol).examples
    assert examples
    for name, message in examples.items():
        data = codecs.encode({"protocol": protocol, "message": message})
        (record,) = checks.decoded(data, protocol)
        assert (record.damaged, list(record.notes)) == (False, []), name
