"""Calls: what came of each request, in all protocols, whatever networks and captures do to them."""

import random
import struct
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import wirelens
from wirelens import codecs
from wirelens.codecs.call import MEMBERS, Call, call_of
from wirelens.codecs.calls import Calls
from wirelens.codecs.captures import Reader
from wirelens.codecs.codec import Exchange
from wirelens.codecs.conversations import Conversations
from wirelens.codecs.open_requests import ALL_REQUESTS, Request, Requests, Waiting

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import building
import planted
import traffic


def capture(*packets: tuple[int, int, bytes], end: int = 0, udp: bool = False, fin: bool = False) -> bytes:
    """A capture of one connection: (milliseconds, direction, bytes); at `end` ms a packet of another one."""
    frames: list[bytes] = []
    times: list[int] = []
    lengths = [0, 0]
    ports = (40000, 20880)
    hosts = (building.CLIENT, building.SERVER)

    def add(time_ms: int, direction: int, data: bytes, flags: int) -> None:
        there, back = ports[direction], ports[1 - direction]
        if udp:
            body = building.udp(there, back, data)
        else:
            sequence = 1000 + lengths[direction] - (flags & building.SYN) // 2
            body = building.tcp(there, back, sequence, 1000 + lengths[1 - direction], flags, data)
        ends = (hosts[direction], hosts[1 - direction])
        frames.append(building.ethernet(building.ipv4(body, 17 if udp else 6, *ends)))
        times.append(1000 * time_ms)
        lengths[direction] += len(data)

    if not udp:
        add(0, 0, b"", building.SYN)
        add(0, 1, b"", building.SYN | building.ACK)
    for time_ms, direction, data in packets:
        add(time_ms, direction, data, building.ACK)
    if fin:
        add(packets[-1][0], 0, b"", building.ACK | building.FIN)
        add(packets[-1][0], 1, b"", building.ACK | building.FIN)
    if end:
        frames.append(building.ethernet(building.ipv4(building.udp(1, 2, b"x"), 17)))
        times.append(1000 * end)
    return building.pcap(frames, times=times)


def dubbo(number: int, fate: str = "ok") -> planted.Planted:
    return planted.Planted(number, fate, "com.x.S", "m")


def rows(data: bytes, **options: Any) -> list[Any]:
    return [call.to_json() for call in planted.calls_of(data, **options)]


def test_the_members_of_a_call() -> None:
    one = dubbo(7)
    data = capture((1, 0, planted.request(one)), (40, 1, planted.reply(one)))
    assert rows(data) == [
        {
            "call": 1,
            "protocol": "dubbo",
            "service": "com.x.S",
            "method": "m",
            "outcome": "ok",
            "status": "OK",
            "late": False,
            "timeout": 0.3,
            "client": "10.0.0.1:40000",
            "server": "10.0.0.2:20880",
            "flow": 1,
            "id": "7",
            "sent": "2023-11-14T22:13:20.001000Z",
            "answered": "2023-11-14T22:13:20.040000Z",
            "latency": 0.039,
            "request_bytes": len(planted.request(one)),
            "response_bytes": len(planted.reply(one)),
            "request_packets": 1,
            "response_packets": 1,
            "resent_bytes": 0,
            "open_calls": 0,
        }
    ]


@pytest.mark.parametrize(
    ("end", "fin", "waited", "timed_out"),
    [
        (0, False, 0.0, False),
        (100, False, 0.099, False),
        (900, False, 0.899, True),
        (900, True, 0.0, False),  # its connection was closed long before
    ],
)
def test_how_long_an_unanswered_call_was_waited_for(
    end: int, fin: bool, waited: float, timed_out: bool
) -> None:
    (row,) = rows(capture((1, 0, planted.request(dubbo(7))), end=end, fin=fin))
    assert row["outcome"] == "unanswered"
    assert (row["waited"], row["timed_out"]) == (waited, timed_out)
    assert "late" not in row
    assert "latency" not in row


def test_errors_late_ones_and_one_way() -> None:
    failed, late, oneway = dubbo(1, "error"), dubbo(2), dubbo(3, "one-way")
    data = capture(
        (1, 0, planted.request(failed) + planted.request(late) + planted.request(oneway)),
        (20, 1, planted.reply(failed)),
        (400, 1, planted.reply(late)),
    )
    first, second, third = rows(data)
    assert (first["outcome"], first["status"], first["exception"]) == ("error", "SERVICE_ERROR", "failed m")
    assert (second["outcome"], second["late"], second["open_calls"]) == ("ok", True, 1)
    assert (third["outcome"], third["method"]) == ("one-way", "m")
    assert "late" not in third


def test_heartbeats_are_calls_of_whoever_sent_them() -> None:
    ask, answer = traffic.dubbo(0xE2, 0, 9, b"N"), traffic.dubbo(0x22, 20, 9, b"N")
    one = dubbo(1)
    data = capture((1, 0, planted.request(one)), (2, 1, planted.reply(one)), (5, 1, ask), (6, 0, answer))
    row = rows(data)[1]
    assert (row["method"], row["client"], row["outcome"]) == ("heartbeat", "10.0.0.2:20880", "ok")


def test_a_reply_in_several_messages() -> None:
    ask = traffic.esnp(traffic.esnp_flag(4), traffic.esnp_id(5), traffic.esnp_address(), marker=b"<q000001>")
    source = traffic.esnp_id(5, 0x12)
    parts = [
        traffic.esnp(traffic.esnp_flag(3), source, traffic.esnp_part(part, 3), marker=b"<r000001>")
        for part in (1, 2, 3)
    ]
    data = capture((1, 0, ask), *[(10 * part, 1, message) for part, message in enumerate(parts, 1)])
    (row,) = rows(data)
    assert (row["outcome"], row["latency"], row["response_packets"]) == ("ok", 0.029, 3)
    assert row["response_bytes"] == sum(map(len, parts))


def test_a_reply_captured_first() -> None:
    data = capture(
        (1, 1, traffic.mevent_reply(5, b"<r000001>", False)),
        (2, 0, traffic.mevent_request(5, b"<q000001>", 2, False)),
        (3, 0, traffic.mevent_request(6, b"<q000002>", 2, False)),
        (4, 1, traffic.mevent_reply(6, b"<r000002>", False)),
        udp=True,
    )
    found = {row["id"]: row for row in rows(data)}
    assert found["5"]["outcome"] == "ok"
    assert "latency" not in found["5"]
    assert found["6"]["latency"] == 0.001


def test_datagrams_sent_twice() -> None:
    ask, answer = (
        traffic.mevent_request(5, b"<q000001>", 2, False),
        traffic.mevent_reply(5, b"<r000001>", False),
    )
    (row,) = rows(capture((1, 0, ask), (3, 0, ask), (4, 1, answer), (5, 1, answer), (6, 0, ask), udp=True))
    assert (row["outcome"], row["latency"], row["resent_bytes"]) == ("ok", 0.001, 2 * len(ask) + len(answer))


@pytest.mark.parametrize(("end", "kept"), [(900, True), (1200, False)])
def test_a_connection_that_has_ended_keeps_its_history_while_copies_may_come(end: int, kept: bool) -> None:
    one = dubbo(7)
    data = capture((1, 0, planted.request(one)), (40, 1, planted.reply(one)), fin=True, end=end)
    reader = Reader()
    reader.assembler.observe()
    conversations = Conversations(sources=False)
    calls = Calls()
    pieces = [piece for part in reader.steps(data) for piece in part]
    found = calls.feed(conversations.feed(pieces), pieces)
    assert len(found) == (0 if kept else 1)
    assert all((side.history is not None) == kept for side in pieces[0].flow.directions)


def test_replies_without_a_request_are_counted() -> None:
    one = dubbo(1)
    data = capture((1, 0, planted.request(one)), (2, 1, planted.reply(one) + planted.reply(dubbo(2))))
    calls = Calls()
    conversations = Conversations(sources=False)
    reader = Reader()
    for pieces in (*reader.steps(data), reader.close()):
        calls.feed(conversations.feed(pieces), pieces)
    calls.close(conversations.close())
    assert (calls.number, calls.orphans) == (1, 1)


@pytest.mark.parametrize("kind", traffic.KINDS, ids=[str(kind[0]) for kind in traffic.KINDS])
@pytest.mark.parametrize("condition", traffic.CONDITIONS)
def test_every_request_of_every_protocol(kind: tuple[object, ...], condition: str) -> None:
    """Calls agree with messages: one for each pair and each unanswered request, with the same latency."""
    connections, parts = traffic.capture(kind, condition, 60, 5)
    messages = traffic.messages_of(parts)
    pairs: dict[int, list[Any]] = {}
    for message in messages:
        if message.pair_number and message.exchange is not None:
            pairs.setdefault(message.pair_number, []).append(message)
    calls = Calls()
    found = sorted([*calls.feed(messages, []), *calls.close([])], key=lambda call: call.call)
    assert connections
    asked = {number for number, ones in pairs.items() if any(one.exchange.role == "request" for one in ones)}
    assert {call.pair for call in found if call.pair} == asked
    assert [call.call for call in found] == list(range(1, len(found) + 1))
    for call in found:
        ones = pairs.get(call.pair, [])
        latencies = [one.latency_us for one in ones if one.latency_us is not None]
        answered = any(one.exchange.role == "reply" for one in ones)
        assert (call.outcome in ("ok", "error")) == answered
        assert call.latency_us in latencies or not latencies
        assert call.id or call.service or call.method


@pytest.mark.once
@pytest.mark.parametrize("protocol", ["bolt", "esnp", "mevent", "magline", "http"])
def test_all_planted_calls_of_other_protocols_are_found_and_no_others(protocol: str) -> None:
    data, calls = planted.planted(1_000, 1, each=60, protocol=protocol)
    wanted = Counter((str(call.number), call.fate) for call in calls)
    found = planted.calls_of(data)
    assert Counter((planted.number_of(call), planted.fate_of(call)) for call in found) == wanted


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_all_planted_calls_are_found_and_no_others(seed: int) -> None:
    data, calls = planted.planted(4_000, seed, each=140)
    wanted = Counter((str(call.number), call.fate) for call in calls)
    found = planted.calls_of(data)
    assert Counter((call.id, planted.fate_of(call)) for call in found) == wanted
    by_number = {str(call.number): call for call in calls}
    for call in found:
        truth = by_number[call.id]
        assert (call.service, call.method) == (truth.service, truth.method)
        assert call.latency_us == (truth.latency_us or None)


@examples(20)
@given(seed=st.integers(0, 1 << 20), size=st.integers(1, 5000), live=st.booleans())
def test_chunks_change_nothing(seed: int, size: int, live: bool) -> None:
    data, _ = planted.planted(40, seed, each=2, connections=3)
    assert rows(data, size=size, live=live) == rows(data)


def test_what_is_open_is_bounded_and_counted() -> None:
    ones = [dubbo(number) for number in range(1, 51)]
    data = capture(
        *[(number, 0, planted.request(one)) for number, one in enumerate(ones, 1)],
        *[(100 + number, 1, planted.reply(one)) for number, one in enumerate(ones, 1)],
    )
    calls = Calls(most_open=20)
    conversations = Conversations(sources=False)
    reader = Reader()
    found: list[Call] = []
    for at in range(0, len(data), 100):
        for pieces in reader.steps(data[at : at + 100]):
            found += calls.feed(conversations.feed(pieces), pieces)
    pieces = reader.close()
    found += calls.feed(conversations.feed(pieces), pieces)
    found += calls.close(conversations.close())
    outcomes = Counter(call.outcome for call in found)
    assert outcomes == {"ok": 20, "unanswered": 30}
    assert (calls.given_up, calls.late_replies, calls.open_calls) == (30, 30, 0)
    assert sorted(call.call for call in found) == list(range(1, 51))


def test_a_live_call_is_given_up_after_a_minute() -> None:
    first, *others = [dubbo(number) for number in range(1, 8)]
    data = capture(
        (1, 0, planted.request(first)),
        *[(10_000 * one.number, 0, planted.request(one)) for one in others],
        (70_001, 1, planted.reply(first)),
        *[(70_002, 1, planted.reply(one)) for one in others],
    )
    calls = planted.calls_of(data, size=64, live=True)
    assert [call.outcome for call in calls] == ["unanswered", *["ok"] * 6]
    waited = calls[0].waited_us
    assert waited is not None
    assert 60_000_000 <= waited <= 70_000_000
    assert [call.outcome for call in planted.calls_of(data, size=64)] == ["ok"] * 7


def test_values_make_the_same_call_again() -> None:
    data, _ = planted.planted(60, 3, each=3, connections=2)
    for call in planted.calls_of(data):
        again = call_of(call.values())
        assert again.values() == call.values()
        assert again.json_bytes() == call.json_bytes()
    assert [name for name, _ in MEMBERS[:5]] == ["call", "protocol", "service", "method", "outcome"]


def test_two_captures_of_the_same_calls(shared: Path) -> None:
    calls = list(wirelens.calls([(shared / "field/ends/client.pcap").read_bytes()]))
    assert len(calls) == 20
    by_number = {call.call: call for call in calls}
    assert by_number[9].late
    assert by_number[9].latency_us == 1_404_000
    assert by_number[13].outcome == "unanswered"
    assert sorted(call.call for call in calls if call.outcome != "ok" or call.late) == [9, 13]


def test_a_capture_in_python() -> None:
    data, calls = planted.planted(30, 1, each=1, connections=2)
    found = list(wirelens.calls([data[:1000], memoryview(data)[1000:]]))
    assert len(found) == len(calls)
    assert "OrderService" in repr(found[0]) or "UserService" in repr(found[0])
    with pytest.raises(codecs.UnknownProtocolError):
        next(wirelens.calls([data], "nothing"))


def test_damage_and_other_traffic_are_no_calls() -> None:
    chance = random.Random(4)
    assert rows(capture((1, 0, chance.randbytes(300)), (2, 1, chance.randbytes(300)))) == []


def test_many_calls_are_open_on_one_connection() -> None:
    ones = [dubbo(number) for number in range(1, 3001)]
    data = capture(
        *[(number, 0, planted.request(one)) for number, one in enumerate(ones, 1)],
        *[(4000 + number, 1, planted.reply(one)) for number, one in enumerate(ones, 1)],
    )
    found = planted.calls_of(data)
    assert [(call.call, call.outcome, call.latency_us) for call in found] == [
        (number, "ok", 4_000_000) for number in range(1, 3001)
    ]
    assert [call.open_calls for call in found] == list(range(3000))


def test_the_oldest_requests_are_dropped_beyond_all_bounds() -> None:
    waiting = Waiting()
    waiting.number = ALL_REQUESTS - 1500
    requests = Requests(waiting)
    for number in range(4000):
        requests.add(str(number), Request(number, 1, Exchange("request", str(number))))
    assert 1024 <= requests.count <= 1510
    assert waiting.number <= ALL_REQUESTS
    assert requests.latest("3999") is not None
    assert requests.latest("0") is None
    requests.leave()
    assert waiting.number == ALL_REQUESTS - 1500


def cut_packets(data: bytes, most: int) -> bytes:
    """The capture as if it had been made with a snapshot length."""
    out = bytearray(data[:24])
    at = 24
    while at < len(data):
        seconds, fraction, size, original = struct.unpack_from("<IIII", data, at)
        kept = data[at + 16 : at + 16 + min(size, most)]
        out += struct.pack("<IIII", seconds, fraction, len(kept), original) + kept
        at += 16 + size
    return bytes(out)


@pytest.mark.parametrize("most", [54 + 16, 54 + 40])
def test_heads_of_messages_are_half_of_a_call(most: int) -> None:
    data, calls = planted.planted(300, 9, each=10, connections=4)
    found = {call.id: call for call in planted.calls_of(cut_packets(data, most))}
    assert set(found) == {str(call.number) for call in calls}
    for full in planted.calls_of(data):
        half = found[full.id]
        assert (half.sent_us, half.answered_us, half.latency_us) == (
            full.sent_us,
            full.answered_us,
            full.latency_us,
        )
        assert (half.outcome, half.status) == (full.outcome, full.status)
        assert (half.request_bytes, half.response_bytes) == (full.request_bytes, full.response_bytes)
        assert half.method in ("", full.method)
