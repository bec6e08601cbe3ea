"""Messages whose head was captured and whose last bytes were not: half of a call each."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import traffic
from building import Talk, pcap
from two_ends import Plan, World, calls_of, messages, messages_of

from wirelens import codecs
from wirelens.codecs import registry


@pytest.mark.parametrize(("protocol", "snap"), [("dubbo", 80), ("dubbo", 96), ("bolt", 96), ("http", 130)])
def test_calls_of_a_short_snap_length(protocol: str, snap: int) -> None:
    plan = Plan(seed=41, protocol=protocol, connections=1, calls=40, large=0)
    plan.width = 1 if protocol == "http" else 4
    whole = calls_of(World(plan).capture(0))
    plan.snap = snap
    cut = calls_of(World(plan).capture(0))
    assert len(cut) == len(whole) == 40
    for one, other in zip(whole, cut, strict=True):
        for name in ("id", "sent_us", "answered_us", "latency_us", "request_bytes", "response_bytes"):
            assert getattr(one, name) == getattr(other, name)


def magline(command: int, number: int) -> bytes:
    return traffic.magline(command, number, bytes((0, 0, 0, 7)) + bytes(range(200, 225)))


def test_frames_of_magline_between_gaps() -> None:
    """Segments of which 40 bytes were captured: detection reads no two of them as if they were neighbours."""
    talk = Talk(port=40000, peer=9000)
    frames = [talk.send(1, magline(7, number))[:94] for number in (1, 2)]
    for number in (3, 4):
        data = magline(7, number)
        frames += [talk.send(1, data[:20]), talk.send(1, data[20:])]
    frames.append(talk.send(1, magline(7, 5))[:94])
    found = [message.record for given, _ in messages_of(pcap(frames)) for message in given]
    assert {record.protocol for record in found} == {"magline"}
    assert [record.error is None for record in found] == [False, False, True, True, False]
    assert [record.full_length for record in found[2:]] == [45, 45, 45]


def test_a_cut_request_of_magline_has_no_number_that_was_not_captured() -> None:
    codec = registry.get("magline")
    (record,) = codecs.decode(magline(6, 9)[:17], "magline")
    assert record.headed is not None
    assert (codec.call(record.headed).method, codec.call(record.headed).id) == ("REQ", "9")


def test_a_head_that_is_cut_is_no_call() -> None:
    plan = Plan(seed=42, connections=1, calls=10, snap=60)
    assert calls_of(World(plan).capture(0)) == []


def test_the_declared_length_of_magline() -> None:
    old = bytes.fromhex("7f01090001000000050000001122334455")
    for protocol, data in (("magline", magline(6, 9)), ("magline-old", old)):
        codec = registry.get(protocol)
        assert {codec.extent(data[:size]) for size in range(1, len(data))} == {0, len(data)}


@pytest.mark.parametrize("protocol", ["dubbo", "bolt", "http"])
def test_the_declared_length(protocol: str) -> None:
    codec = registry.get(protocol)
    for data in messages(protocol, 7, (5000, 40)):
        lengths = {codec.extent(data[:size]) for size in range(1, len(data))}
        assert lengths == {0, len(data)}


def test_a_direction_that_begins_inside_a_long_message_follows_the_other_one() -> None:
    talk = Talk(port=40000, peer=20880)
    big, _ = messages("dubbo", 1, (40_000, 10))
    frames = [talk.send(0, big[at : at + 1400]) for at in range(14_000, len(big), 1400)]
    for number in range(1, 6):
        asked, answered = messages("dubbo", number, (20, 20))
        frames += [talk.send(0, asked)] if number > 1 else []
        frames.append(talk.send(1, answered))
    found = [message for given, _ in messages_of(pcap(frames)) for message in given]
    whole = [message for message in found if message.record.root is not None]
    assert [(message.direction, message.pair_number > 0) for message in whole] == [(1, False)] + 4 * [
        (0, True),
        (1, True),
    ]
    assert sum(message.record.length for message in found if message.direction == 0) == talk.next[0] - 1000


def test_a_cut_message_has_its_pair_and_its_error() -> None:
    world = World(Plan(seed=43, connections=1, calls=5, snap=96, large=0, unanswered=0))
    found = [message for given, _ in messages_of(world.capture(0)) for message in given]
    cut = [message for message in found if message.record.error is not None]
    assert len(cut) >= 5
    for message in cut:
        assert message.pair_number
        assert message.record.root is None
        assert message.record.full_length > message.record.length
    assert sorted(message.pair_number for message in found) == sorted([*range(1, 6), *range(1, 6)])
