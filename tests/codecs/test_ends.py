"""Calls captured at both ends: joined, split and explained as the simulation made them."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import building
import traffic
from two_ends import SECOND, Figures, Plan, World, calls_of, joined, measure, plan_of, table_of

from wirelens.codecs.ends.matching import AMBIGUOUS, FEW_CALLS, NO_FIT, NO_MESSAGE, OTHER_BYTES, Match
from wirelens.codecs.ends.splits import CLOCK_STEP, Split, Splits
from wirelens.codecs.ends.table import series_of

LOSSY = Plan(seed=3, loss=0.03, connections=3)


def figures(plan: Plan) -> Figures:
    found = Figures()
    measure(plan, found)
    return found


@pytest.mark.parametrize("protocol", ["dubbo", "bolt", "esnp", "http"])
def test_every_call_is_split_as_it_was(protocol: str) -> None:
    counts = figures(Plan(seed=1, protocol=protocol, width=1 if protocol == "http" else 4)).counts
    assert counts["wrong joins"] == 0
    assert counts["joined"] == 2
    assert counts["calls"] == counts["matched"] == 80
    assert 75 <= counts["whole"] == counts["split"] == counts["inside"] == counts["server right"]


@pytest.mark.parametrize(
    "plan",
    [
        LOSSY,
        replace(LOSSY, reorder=True, jitter=2000),
        replace(LOSSY, offload=True, large=0.5),
        replace(LOSSY, translated=True),
        replace(LOSSY, translated=True, rewritten=True),
        replace(LOSSY, twice=1.0),
        replace(LOSSY, asymmetry=4, ppm=-100, offset=-4 * 3600 * SECOND),
        replace(LOSSY, seed=5, late=(0.2, 0), early=(0, 0.2)),
        replace(LOSSY, snap=96),
        replace(LOSSY, protocol="http", width=1),
        replace(LOSSY, protocol="bolt", wander=1, heavy=True),
    ],
    ids=lambda plan: str(plan.seed),
)
def test_what_networks_and_captures_do(plan: Plan) -> None:
    found = figures(plan)
    counts = found.counts
    assert counts["wrong joins"] == 0
    assert counts["calls"] == counts["matched"] > 50
    assert counts["split"] >= 0.98 * counts["whole"]
    assert counts["inside"] == counts["split"]
    assert counts["server right"] == counts["timed"]
    assert counts["told right"] == counts["told"]
    assert counts["lossy"] > 0
    assert max(found.ratios) < 1.6


@pytest.mark.once
@pytest.mark.parametrize("seed", [53, 212, 250, 397])
def test_acknowledgements_bound_clocks_where_messages_are_few(seed: int) -> None:
    """A call of more than a second, the last or the first one; five calls that all had to queue."""
    found = figures(plan_of(seed))
    assert found.counts["inside"] >= found.counts["split"] - 1  # whose first copy came before the capture
    assert max(found.ratios) < 1.5


@pytest.mark.parametrize("rewritten", [False, True])
def test_connections_with_the_same_bytes(rewritten: bool) -> None:
    plan = Plan(seed=5, connections=3, twins=True, translated=True, rewritten=rewritten)
    counts = figures(plan).counts
    assert (counts["joined"], counts["wrong joins"]) == (3, 0)


def test_bytes_that_are_sent_all_the_time() -> None:
    """More connections with the same bytes than a message has votes for differ in their numbers."""
    plan = Plan(seed=13, connections=70, calls=2, twins=True, large=0)
    counts = figures(plan).counts
    assert (counts["joined"], counts["wrong joins"]) == (70, 0)


def test_strangers_with_the_same_bytes_are_not_joined() -> None:
    world = World(Plan(seed=6, connections=1, strangers=True, translated=True, rewritten=True))
    match, _, calls = joined(world.capture(0), world.capture(1))
    assert len(match.connections) == 1
    for reasons in match.unjoined:
        assert sum(reasons.values()) == 1
        assert set(reasons) <= {NO_FIT, FEW_CALLS, OTHER_BYTES, AMBIGUOUS}
    assert len(calls) == 80


@pytest.mark.parametrize(("seed", "connections"), [(70041, 4), (100190, 2)])
def test_clocks_of_joined_connections_decide_about_others(seed: int, connections: int) -> None:
    """Rewritten numbers and few calls; strangers that run at the same time."""
    counts = figures(plan_of(seed)).counts
    assert counts["joined"] == connections
    assert counts["wrong joins"] == 0
    assert counts["matched"] == counts["calls"] > 0


def test_a_clock_that_is_set() -> None:
    plan = Plan(seed=7, calls=200, ppm=0, steps=[(2 * SECOND, 5 * SECOND)], connections=1)
    counts = figures(plan).counts
    assert counts["matched"] == counts["calls"] == 200
    assert counts["inside"] == counts["split"] >= 190
    world = World(plan)
    match, splits, calls = joined(world.capture(0), world.capture(1))
    (clocks,) = match.clocks.values()
    assert len(clocks.spans) == 2
    found = [splits.of_client(call.pair, call.flow) for call in calls]
    across = [split for split in found if CLOCK_STEP in split.remarks]
    assert 1 <= len(across) <= 10
    assert all(split.server_time_us is None and split.request_transit_us is None for split in across)


def test_nothing_in_common() -> None:
    first, second = World(Plan(seed=8)), World(Plan(seed=9, protocol="bolt"))
    match, splits, calls = joined(first.capture(0), second.capture(1))
    assert match.connections == []
    assert match.unjoined == ({NO_MESSAGE: 2}, {NO_MESSAGE: 2})
    assert {splits.of_client(call.pair, call.flow).seen for call in calls} == {"client"}


def test_a_few_calls_with_rewritten_numbers_are_too_few() -> None:
    world = World(Plan(seed=10, calls=4, connections=1, rewritten=True))
    match, _, _ = joined(world.capture(0), world.capture(1))
    assert match.unjoined == ({FEW_CALLS: 1}, {FEW_CALLS: 1})
    world = World(Plan(seed=10, calls=1, connections=1, unanswered=0))
    match, splits, (call,) = joined(world.capture(0), world.capture(1))
    assert len(match.connections) == 1
    assert splits.of_client(call.pair, call.flow).server_time_us is not None


def test_calls_of_the_server_alone() -> None:
    world = World(Plan(seed=11, connections=2, early=(0.5, 0.0)))
    server, server_calls = table_of(world.capture(1)), calls_of(world.capture(1))
    client = table_of(world.capture(0))
    splits = Splits(Match(client, server, (series_of(client, ["c"]), series_of(server, ["s"]))))
    seen = [splits.is_joined(call.pair, call.flow) for call in server_calls]
    assert len(seen) == 80
    assert 30 <= sum(seen) <= 50


def test_requests_that_never_reach_the_server() -> None:
    world = World(Plan(seed=14, calls=30, connections=2, large=0, unanswered=0))
    line = world.lines[0]
    at = sorted(truth.sent for truth in line.calls.values())[20] - 1
    server, client = world.frames[1], world.frames[0]
    server[:] = [frame for frame in server if frame.connection is not line or frame.time < at]
    client[:] = [
        frame for frame in client if frame.connection is not line or not frame.side or frame.time < at
    ]
    _, splits, calls = joined(world.capture(0), world.capture(1))
    found = [splits.of_client(call.pair, call.flow) for call in calls if call.outcome == "unanswered"]
    lost = [split for split in found if split.remarks == ("the request never reached the server",)]
    assert len(lost) >= 5  # the last ones may have arrived after the end of the server's capture
    assert all((split.seen, split.request_lost) == ("client", 1) for split in lost)
    replies = [split for split in found if split.seen == "both"]
    assert all("the server sent no reply" in split.remarks for split in replies)


def test_remarks_on_what_was_lost() -> None:
    world = World(LOSSY)
    match, splits, calls = joined(world.capture(0), world.capture(1))
    remarks = [remark for call in calls for remark in splits.of_client(call.pair, call.flow).remarks]
    starts = {remark.partition(", ")[0] for remark in remarks}
    assert {"lost on the way there", "lost on the way back"} <= starts
    assert any(", sent again after " in remark for remark in remarks)
    assert match.unjoined == ({}, {})


def test_two_clients_with_clocks_of_their_own_and_a_rotated_server() -> None:
    names = ["cap/client-1.pcap", "cap/client-2.pcap", "cap/client-3.pcap", "cap/other-4.pcap"]
    table = table_of(World(Plan(seed=12)).capture(0))
    table.clocks = [(0, 0), (1, 0), (2, 0), (3, 0)]
    table.times = [(0, 100), (100, 200), (150, 300), (400, 500)]
    first, second, third, fourth = series_of(table, names)
    assert first == second != third
    assert fourth not in (first, third)


def by_number(client: bytes, server: bytes) -> dict[int, Split]:
    _, splits, calls = joined(client, server)
    return {call.call: splits.of_client(call.pair, call.flow) for call in calls}


def test_the_example(shared: Path) -> None:
    folder = shared / "field" / "ends"
    client, server = (folder / "client.pcap").read_bytes(), (folder / "server.pcap").read_bytes()
    match, _, calls = joined(client, server)
    (clocks,) = match.clocks.values()
    estimate = clocks.estimate(clocks.spans[0], clocks.spans[0].times[0])
    assert estimate is not None
    assert abs(estimate.theta_us - 37_500_000) < 50
    assert 2000 <= estimate.uncertainty_us <= 2050
    splits = by_number(client, server)
    fifth, ninth, thirteenth = splits[5], splits[9], splits[13]
    assert abs((fifth.request_transit_us or 0) - 202_000) < 50
    assert abs((fifth.server_time_us or 0) - 12_500) < 50
    assert abs((fifth.reply_transit_us or 0) - 2000) < 50
    assert (fifth.request_lost, fifth.reply_lost) == (1, 0)
    assert ninth.server_time_us == 1_400_000
    assert next(call.late for call in calls if call.call == 9)
    assert thirteenth.server_time_us is None
    assert thirteenth.remarks == ("the server sent no reply",)
    assert next(call.outcome for call in calls if call.call == 13) == "unanswered"


def test_what_both_ends_show_adds_up() -> None:
    world = World(replace(LOSSY, width=16, apart=2000, loss=0.05))
    client = world.capture(0)
    _, splits, calls = joined(client, world.capture(1))
    held = 0
    for call in calls:
        split = splits.of_client(call.pair, call.flow)
        parts = (split.request_transit_us, split.server_time_us, split.reply_transit_us)
        if None in parts:
            continue
        split.put(call)
        assert call.latency_us is not None
        held += bool(call.reply_held_us)
        assert sum(part for part in parts if part is not None) == call.latency_us + (call.reply_held_us or 0)
    assert held > 0


def outcome(client: bytes, server: bytes, limit: int = 0) -> tuple[list[Split], object, object, object, int]:
    """All that is known of two ends."""
    match, splits, calls = joined(client, server, limit)
    ones: Counter[int] = Counter()
    found: list[Split] = []
    for call in calls:
        found.append(splits.of_client(call.pair, call.flow, ones[call.flow]))
        ones[call.flow] += not call.pair
    clocks = {
        source: (one.count, one.outside, len(one.spans), one.rates()) for source, one in match.clocks.items()
    }
    pairs = [(one.client.text, one.server.text, one.rank) for one in match.connections]
    return found, clocks, pairs, match.unjoined, match.messages


PLANS = [
    replace(LOSSY, calls=25, loss=0.05, translated=True, late=(0.2, 0)),
    replace(LOSSY, calls=25, rewritten=True, strangers=True),
    replace(LOSSY, calls=60, connections=1, ppm=0, steps=[(1 * SECOND, 5 * SECOND)], protocol="bolt"),
    replace(LOSSY, calls=20, connections=3, twins=True, snap=96),
]


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("ends.table.BLOCK", 37),
        ("ends.table.COPIES", 2),
        ("ends.columns.IN_MEMORY", 14_000),
    ):
        monkeypatch.setattr(f"wirelens.codecs.{name}", value)
    monkeypatch.setattr("wirelens.codecs.clocks.IN_MEMORY", 11)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("plan", PLANS)
def test_files_give_what_memory_gives(plan: Plan) -> None:
    world = World(plan)
    client, server = world.capture(0), world.capture(1)
    assert outcome(client, server, 50) == outcome(client, server)


def one_ways(end: int) -> bytes:
    """20 requests without a reply, both sides in turn; the server's end lacks the fourth one."""
    frames: list[bytes] = []
    times: list[int] = []
    hosts, ports = (building.CLIENT, building.SERVER), (40000, 20880)
    sent = [1000, 5000]
    for number in range(20):
        side = number % 2
        names = (b"2.0.2", b"com.example.OrderService", b"1.0.0", b"note", b"")
        data = traffic.dubbo(0x82, 0, number, b"".join(map(traffic.text, names)) + b"HZ")
        segment = building.tcp(ports[side], ports[1 - side], sent[side], sent[1 - side], building.ACK, data)
        sent[side] += len(data)
        if not end or number != 3:
            packet = building.ipv4(segment, 6, hosts[side], hosts[1 - side], ident=number + 1)
            frames.append(building.ethernet(packet))
            times.append(20_000 * number + (1000 if side != end else 0))
    return building.pcap(frames, times=times)


@pytest.mark.usefixtures("small_memory")
def test_files_give_what_memory_gives_of_requests_without_a_reply() -> None:
    found = outcome(one_ways(0), one_ways(1))
    assert [split.seen for split in found[0]] == ["client" if number == 3 else "both" for number in range(20)]
    assert outcome(one_ways(0), one_ways(1), 5) == found


@pytest.mark.usefixtures("small_memory")
def test_files_give_what_memory_gives_of_datagrams() -> None:
    client, server = datagrams(0, (7, 9)), datagrams(1, (7, 9))
    assert outcome(client, server, 20) == outcome(client, server)
    assert outcome(client, server, 5) == outcome(client, server)


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.once
def test_an_hour_with_a_rate_that_wanders() -> None:
    plan = Plan(seed=77, connections=1, calls=7000, apart=500_000, wander=1.0, ppm=40, one_way=150, jitter=60)
    counts = figures(replace(plan, large=0.02)).counts
    assert counts["matched"] == counts["calls"] == 7000
    assert counts["inside"] >= 0.995 * counts["split"] > 6500


@pytest.mark.slow
@pytest.mark.once
def test_many_pairs() -> None:
    plain, stepped = Figures(), Figures()
    for seed in range(1000, 1040):
        plan = plan_of(seed)
        measure(plan, stepped if plan.steps else plain)
    counts = plain.counts
    assert counts["wrong joins"] == stepped.counts["wrong joins"] == 0
    assert counts["matched"] >= 0.99 * counts["calls"]
    assert counts["split"] >= 0.997 * counts["whole"]
    assert counts["inside"] >= 0.998 * counts["split"]
    assert counts["server right"] >= 0.999 * counts["timed"]
    assert counts["told right"] >= 0.999 * counts["told"]
    assert max(plain.ratios) <= 1.6


def datagrams(end: int, lost: tuple[int, int]) -> bytes:
    """30 requests and replies of 1 ms each way and 5 ms of work; one request and one reply get lost."""
    frames: list[bytes] = []
    times: list[int] = []
    hosts, ports = (building.CLIENT, building.SERVER), (40000, 26000)
    for number in range(1, 31):
        request = traffic.mevent_request(number, b"<q%06d>" % number, 2, False)
        reply = traffic.mevent_reply(number, b"<r%06d>" % number, False)
        sent = 20_000 * number
        for side, data, time_us in ((0, request, sent), (1, reply, sent + 6000)):
            if (number == lost[0] and (side == 1 or end == 1)) or (
                number == lost[1] and side == 1 and end == 0
            ):
                continue
            body = building.udp(ports[side], ports[1 - side], data)
            frames.append(building.ethernet(building.ipv4(body, 17, hosts[side], hosts[1 - side])))
            times.append(time_us + (1000 if side != end else 0) + (37_500_000 if end else 0))
    return building.pcap(frames, times=times)


def test_datagrams_are_joined_by_their_bytes() -> None:
    match, splits, calls = joined(datagrams(0, (7, 9)), datagrams(1, (7, 9)))
    assert [one.client.datagrams for one in match.connections] == [True]
    found = {call.call: splits.of_client(call.pair, call.flow) for call in calls}
    assert [number for number, split in found.items() if split.seen != "both"] == [7]
    assert found[9].remarks == ("answered, the reply never reached the client",)
    for number, split in found.items():
        if number not in (7, 9):
            times = (split.request_transit_us, split.server_time_us, split.reply_transit_us)
            assert times == pytest.approx((1000, 5000, 1000), abs=2)
