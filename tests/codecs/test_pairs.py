"""Conversations as they were: order, pairs, what breaks a protocol's own rules, streams joined or left."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import wirelens
from wirelens.codecs import registry
from wirelens.codecs.captures import Flow, Piece, Reader
from wirelens.codecs.codes import Note
from wirelens.codecs.conversations import Conversations, Message

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import building
import traffic

END = b"\0\0\0\0"


def field(shared: Path, name: str) -> list[Message]:
    path = shared / "field" / "streams" / name
    if not path.is_file():
        pytest.skip(f"no {path} here")
    return list(wirelens.conversations([path.read_bytes()]))


def shown(messages: list[Message]) -> list[tuple[int, str, str, int | None]]:
    return [(one.direction, one.record.kind, one.pair, one.latency_us) for one in messages]


def notes(messages: list[Message]) -> list[list[str]]:
    return [[note.code for note in one.record.notes] for one in messages]


@pytest.mark.parametrize("condition", traffic.CONDITIONS)
@pytest.mark.parametrize("kind", traffic.KINDS[:-1], ids=lambda kind: str(kind[0]))
def test_every_call_is_shown_and_paired(kind: tuple[object, ...], condition: str) -> None:
    figures = traffic.figures_of(kind, condition, 60, 1)
    assert figures.calls > 30
    assert figures.faults == 0, figures


@pytest.mark.parametrize("condition", traffic.MORE_CONDITIONS)
def test_every_call_is_paired_whatever_captures_leave_out(condition: str) -> None:
    """VLANs, IPv6, one direction only, ports that are used again, packets that are cut."""
    for kind in traffic.KINDS[:6:2]:
        figures = traffic.figures_of(kind, condition, 30, 1)
        assert figures.faults == 0, (kind[0], figures)


@pytest.mark.parametrize("condition", ["cut", "joined", "snapped", "all"])
@pytest.mark.parametrize("kind", traffic.TUNNELS, ids=lambda kind: str(kind[0]))
def test_every_call_in_a_tunnel_is_paired(kind: tuple[object, ...], condition: str) -> None:
    for seed in (1, 2):
        figures = traffic.figures_of(kind, condition, 30, seed)
        assert figures.faults == 0, figures


@pytest.mark.parametrize("seed", [5, 11])
@pytest.mark.parametrize("kind", traffic.KINDS, ids=lambda kind: str(kind[0]))
def test_the_size_of_chunks_changes_nothing(kind: tuple[object, ...], seed: int) -> None:
    """Streams may be further than what is decoded of them: that must not show in pairs, notes or counts."""

    def found(size: int) -> list[tuple[object, ...]]:
        chunks = [part[at : at + size] for part in parts for at in range(0, len(part), size)]
        return [
            (one.flow.number, one.direction, one.record.offset, one.pair, one.latency_us, one.time_us, codes)
            for one in traffic.messages_of(chunks)
            for codes in notes([one])
        ]

    _, parts = traffic.capture(kind, "all", 40, seed)
    whole = found(1 << 30)
    assert len(whole) > 60
    for size in (100, 1000):
        assert found(size) == whole


@pytest.mark.parametrize("condition", ["all", "snapped"])
@pytest.mark.parametrize("kind", traffic.TUNNELS, ids=lambda kind: str(kind[0]))
def test_saving_after_each_piece_changes_nothing(kind: tuple[object, ...], condition: str) -> None:
    def found(save: bool) -> list[tuple[object, ...]]:
        reader, conversations = Reader(), Conversations()
        flows: dict[int, Flow] = {}
        messages: list[Message] = []
        given = [pieces for part in parts for pieces in reader.steps(part)]
        for piece in [piece for pieces in [*given, reader.close()] for piece in pieces]:
            flows[piece.flow.number] = piece.flow
            messages += conversations.feed([piece])
            if save:
                state = conversations.save()
                conversations = Conversations()
                conversations.load(state, list(flows.values()))
                assert conversations.save() == state
        messages += conversations.close()
        return sorted(
            (one.flow.number, one.direction, one.record.offset, one.record.protocol, one.time_us, one.pair)
            for one in messages
        )

    _, parts = traffic.capture(kind, condition, 20, 3)
    assert found(True) == found(False)


def test_the_first_reply_of_a_flow_comes_after_its_request(shared: Path) -> None:
    messages = field(shared, "order.pcap")
    assert [one.time_us for one in messages] == sorted(one.time_us for one in messages)
    replies = [one for one in messages if one.direction]
    assert [one.latency_us for one in replies] == [1000] * 5
    assert {one.pair for one in replies} == {one.pair for one in messages if not one.direction}


def test_a_trace_event_is_no_reply(shared: Path) -> None:
    request, event, reply = field(shared, "trace.pcap")
    assert (event.pair, event.latency_us) == ("", None)
    assert (reply.pair, reply.latency_us) == (request.pair, 250_500)


def test_all_replies_of_a_series_answer_its_request(shared: Path) -> None:
    request, *replies = field(shared, "seq.pcap")
    assert [one.pair for one in replies] == [request.pair] * 3
    assert [one.latency_us for one in replies] == [100_000, 200_000, 300_000]
    flow = request.flow
    assert [side.unanswered + side.orphaned for side in flow.directions] == [0, 0]


def test_a_request_without_a_flag_is_answered(shared: Path) -> None:
    messages = field(shared, "noflag.pcap")
    assert [one.latency_us for one in messages] == [None, 1000, None, 1000]
    assert messages[0].pair == messages[1].pair != messages[2].pair == messages[3].pair


def test_an_error_answers_the_request_of_its_number(shared: Path) -> None:
    messages = field(shared, "mag.pcap")
    by_summary = {one.record.summary.split(":")[0]: one for one in messages}
    assert by_summary["ERR seq 7"].pair == by_summary["REQ seq 7"].pair
    assert by_summary["ERR seq 1"].pair == messages[-3].pair != ""
    assert by_summary["ACK seq 9"].pair == by_summary["SYN seq 9"].pair


def test_a_connection_has_one_vocabulary(shared: Path) -> None:
    assert {one.record.protocol for one in field(shared, "mix.pcap")} == {"esnp-line"}


def test_a_stream_joined_in_the_middle_starts_at_a_whole_message(shared: Path) -> None:
    for name in ("mid_esnp_1.pcap", "mid_mevent_25.pcap"):
        messages = field(shared, name)
        errors = [one for one in messages if one.record.error is not None]
        assert [one.record.error.code for one in errors if one.record.error is not None] == ["inside-message"]
        requests = [one for one in messages if not one.direction and one.record.error is None]
        replies = [one for one in messages if one.direction]
        assert len(requests) == 5
        assert [one.pair for one in replies[1:]] == [one.pair for one in requests]
        assert replies[0].pair == ""


def test_after_connect_the_tunnel_is_detected_afresh(shared: Path) -> None:
    messages = field(shared, "http_connect_hessian.pcap")
    assert [one.latency_us for one in messages] == [None, 100, None, 100]
    assert messages[3].record.summary == "200 OK reply ok com.xxl.job.core.biz.model.ReturnT"


def test_after_an_upgrade_the_stream_is_other_traffic(shared: Path) -> None:
    messages = field(shared, "http_101_websocket.pcap")
    assert [one.record.error for one in messages] == [None, None]
    assert messages[1].latency_us == 100


@pytest.mark.parametrize("name", ["keepalive_only", "mqtt_ping", "openflow_echo", "real_chat_claimed"])
def test_short_foreign_streams_are_not_claimed(shared: Path, name: str) -> None:
    assert field(shared, f"{name}.pcap") == []


# --- made inputs ------------------------------------------------------------------------------------------


class Talk:
    """Gives pieces of a flow, a millisecond apart, with acknowledgments as TCP has them."""

    def __init__(self, transport: str = "tcp", syn: bool = True) -> None:
        self.flow = Flow(1, transport, (b"\x0a\0\0\1", b"\x0a\0\0\2"), (40000, 8080))
        self.flow.syn = syn
        self.start = () if syn else (Note("joined-middle", 0, "the capture does not have the beginning"),)
        for side in self.flow.directions:
            side.sequence = 1000
        self.conversations = Conversations()
        self.offsets = [0, 0]
        self.count = 0

    def start_afresh(self) -> None:
        """Go on from the saved state."""
        state = self.conversations.save()
        self.conversations = Conversations()
        self.conversations.load(state, [self.flow])

    def say(
        self, direction: int, data: bytes, acked: int | None = None, end: str = "", gap: int = 0
    ) -> list[Message]:
        self.count += 1
        offset = self.offsets[direction]
        self.offsets[direction] += len(data)
        time = 10**15 + 1000 * self.count
        known = 1000 + (self.offsets[1 - direction] if acked is None else acked)
        start = () if offset else self.start
        piece = Piece(self.flow, direction, offset, data, time, (self.count,), gap, start, end, time, known)
        return self.conversations.feed([piece])


def esnp(*entries: bytes) -> bytes:
    return b"".join(entries) + END


def request(number: int, *more: bytes) -> bytes:
    return esnp(traffic.esnp_flag(4), traffic.esnp_id(number), *more)


def reply(number: int, *more: bytes) -> bytes:
    return esnp(traffic.esnp_flag(3), traffic.esnp_id(number, 0x12), *more)


def test_a_reply_captured_before_its_request() -> None:
    talk = Talk()
    talk.say(0, request(1))
    talk.say(1, reply(1))
    (early,) = talk.say(1, reply(2), len(request(1)) * 2)
    (late,) = talk.say(0, request(2))
    assert early.pair == late.pair != ""
    assert (early.latency_us, late.latency_us) == (None, None)
    assert notes([early, late]) == [["reply-first"], ["reply-first"]]
    assert [side.unanswered + side.orphaned for side in talk.flow.directions] == [0, 0]


def test_a_reply_captured_before_its_request_is_not_that_to_the_one_before() -> None:
    """Replies without ids, of a stream joined in the middle of the first one."""
    asked = [traffic.http_request(b"<q%06d>" % call) for call in range(3)]
    answers = [traffic.http_reply(b"<r%06d>" % call) for call in range(3)]
    known, sent = 28, len(asked[0])
    talk = Talk(syn=False)
    found = talk.say(1, answers[0][known:], sent)
    found += talk.say(0, asked[0], -known)
    found += talk.say(1, answers[1], 2 * sent)
    found += talk.say(0, asked[1], len(answers[0]) - known)
    found += talk.say(0, asked[2]) + talk.say(1, answers[2])
    calls = [one.pair for one in found if one.record.error is None]
    assert calls[1] == calls[2] != ""
    assert calls[3] == calls[4] != ""
    assert len({*calls}) == 3
    talk = Talk(syn=False)
    found = talk.say(1, answers[0][known:], sent)
    found += talk.say(0, asked[0][:20], -known) + talk.say(1, answers[1], 2 * sent)
    found += talk.say(0, asked[0][20:], -known) + talk.say(0, asked[1], len(answers[0]) - known)
    found += talk.say(0, asked[2]) + talk.say(1, answers[2])
    calls = [one.pair for one in found if one.record.error is None]
    assert calls[0] == calls[2] != ""
    assert calls[3] == calls[4] != ""
    assert len({*calls}) == 3


def test_a_reply_whose_request_is_lost_leaves_the_next_ones_as_they_are() -> None:
    asked = [traffic.mevent_request(1, b"<q%06d>" % call, 2, True) for call in range(4)]
    answers = [traffic.mevent_reply(1, b"<r%06d>" % call, True) for call in range(4)]
    sent, known = len(asked[0]), len(answers[0])
    talk = Talk(syn=False)
    found = talk.say(0, asked[0][:39], -known)
    found += talk.say(1, answers[1], 2 * sent)  # the end of the first request, and the second, are lost
    talk.offsets[0] = 2 * sent
    for call in (2, 3):
        found += talk.say(0, asked[call], gap=2 * sent - 39 if call == 2 else 0) + talk.say(1, answers[call])
    first, *calls = [one.pair for one in found if one.record.error is None]
    assert calls[0] == calls[1] != ""
    assert calls[2] == calls[3] != ""
    assert first not in calls


def test_a_reply_captured_before_its_request_at_the_end_of_a_capture() -> None:
    """Both directions were decided only at the end, when nothing more comes of either."""
    asked = traffic.mevent_request(1, b"<q000001>", 2, True)
    answer = traffic.mevent_reply(1, b"<r000001>", True)
    made = traffic.Connection("mevent-1", "tcp", 5555, [], client=traffic.FIRST_PORT)
    made.packets = [
        traffic.Packet(0, -1, b"", 0, building.SYN),
        traffic.Packet(1, -1, b"", 0, building.SYN | building.ACK),
        traffic.Packet(0, 0, asked[:31], 0),
        traffic.Packet(1, 0, answer, len(asked)),
        traffic.Packet(0, 31, asked[31:], 0),
    ]
    reply, request = traffic.messages_of(traffic.files([(made, packet) for packet in made.packets], 1))
    assert reply.pair == request.pair != ""
    assert notes([reply, request]) == [["reply-first"], ["reply-first"]]


def test_a_reply_captured_before_its_request_in_a_connection_joined_in_the_middle() -> None:
    """What came of the server is enough to begin its stream and to know its protocol."""
    asked, old, new = request(2), reply(1), reply(2)
    made = traffic.Connection("esnp", "tcp", 1080, [], client=traffic.FIRST_PORT)
    ends = range(4, len(old) + 4, 4)
    made.packets = [traffic.Packet(1, end - 4, old[end - 4 : end], 100) for end in ends]
    made.packets.append(traffic.Packet(1, len(old), new, 100 + len(asked)))
    made.packets.append(traffic.Packet(0, 100, asked, len(old)))
    parts = traffic.files([(made, packet) for packet in made.packets], 1)
    lost, answer, question = traffic.messages_of(parts)
    assert (lost.pair, answer.pair != "", answer.pair == question.pair) == ("", True, True)
    assert notes([answer, question]) == [["reply-first"], ["joined-middle", "reply-first"]]


def test_a_reply_to_nothing_and_a_request_without_reply_are_counted() -> None:
    talk = Talk()
    talk.say(0, request(1))
    lost = talk.say(1, reply(9))[-1]
    assert (lost.pair, notes([lost])) == ("", [["no-request"]])
    assert [(side.unanswered, side.orphaned) for side in talk.flow.directions] == [(1, 0), (0, 1)]
    joined = Talk(syn=False)  # its request may have been sent before the capture began
    joined.say(0, request(1))
    assert notes(joined.say(1, reply(9)))[-1] == ["joined-middle"]  # and not that it answers nothing


def test_an_id_that_is_open_twice_is_noted() -> None:
    talk = Talk()
    first, second = talk.say(0, request(1) * 2)
    assert notes([first, second]) == [[], ["duplicate-id"]]
    assert [one.pair for one in talk.say(1, reply(1) * 2)] == [second.pair, first.pair]


def test_a_gap_in_a_series_is_noted() -> None:
    talk = Talk()
    talk.say(0, request(1))
    *_, one, three = talk.say(1, b"".join(reply(1, traffic.esnp_part(part, 3)) for part in (1, 3)))
    assert one.pair == three.pair != ""
    assert notes([one, three]) == [[], ["series-gap"]]


def test_session_info_must_be_repeated() -> None:
    info = traffic.entry(0x10, b"\x02s\x02\x06")
    talk = Talk()
    talk.say(0, request(1, info) + request(2, info))
    kept, lost = talk.say(1, reply(1, info) + reply(2))
    assert notes([kept, lost]) == [[], ["session-info"]]


def test_asynchronous_requests_have_no_reply() -> None:
    talk = Talk()
    talk.say(0, traffic.mevent_request(5, b"m", 2, True) + traffic.mevent_request(6, b"m", 0, True))
    (answer,) = talk.say(1, traffic.mevent_reply(5, b"m", True))
    assert answer.latency_us == 1000
    assert talk.flow.directions[0].unanswered == 0


def test_a_refused_connect_leaves_http_as_it_is() -> None:
    talk = Talk()
    talk.say(0, b"CONNECT a:1 HTTP/1.1\r\n\r\n")
    (refused,) = talk.say(1, b"HTTP/1.1 407 Proxy\r\nContent-Length: 2\r\n\r\nno")
    (again,) = talk.say(0, b"CONNECT a:1 HTTP/1.1\r\nA: b\r\n\r\n")
    (accepted,) = talk.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
    talk.say(0, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", end="fin")
    talk.say(1, b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03", end="fin")
    assert (refused.record.length, refused.latency_us) == (43, 1000)
    assert (accepted.pair, accepted.latency_us) == (again.pair, 1000)
    assert talk.conversations.foreign == 22


@pytest.mark.parametrize("saved", [False, True])
def test_magline_describes_messages_by_their_place_in_the_connection(saved: bool) -> None:
    def number(cmd: int, seq: int, *words: int) -> bytes:
        return traffic.magline(cmd, seq, b"".join(word.to_bytes(4, "big") for word in words))

    talk = Talk()
    found = talk.say(0, traffic.magline(1, 1, bytes(36)))
    found += talk.say(1, traffic.magline(2, 1, bytes(68)))
    found += talk.say(0, traffic.magline(6, 2, bytes(20)))
    found += talk.say(1, number(3, 2, 7, 404))
    found += talk.say(0, traffic.magline(1, 3, bytes(36)))
    found += talk.say(1, number(3, 3, 1, 5))
    if saved:
        talk.start_afresh()
    found += talk.say(1, number(9, 4, 5), end="fin")
    lines = [message.record.summary for message in found]
    assert lines[0].startswith("SYN seq 1: the client opens a session (")
    assert lines[3] == "ERR seq 2: business 7, error 404; answers REQ with seq 2"
    assert lines[4].startswith("SYN seq 3: the client asks for a session again, as after a break (")
    assert lines[5] == "ERR seq 3: business 1, error 5; refuses the session, and FIN follows"
    assert lines[6] == "FIN seq 4: the sender ends the connection after refusing the session, reason 5"


def test_a_magline_stream_joined_in_the_middle_does_not_show_which_syn_is_the_first() -> None:
    talk = Talk(syn=False)
    found = talk.say(0, traffic.magline(6, 2, bytes(20)) + traffic.magline(1, 3, bytes(36)))
    found += talk.say(1, traffic.magline(7, 2, bytes(20)) + traffic.magline(2, 3, bytes(68)))
    found += talk.conversations.close()
    (line,) = [message.record.summary for message in found if message.record.kind == "SYN"]
    assert line.startswith("SYN seq 3: the client opens, or resumes after a break (")


@pytest.mark.parametrize(("peer", "count"), [(9757, 4), (9999, 0)])
def test_the_only_call_of_a_magline_stream_joined_in_the_middle(peer: int, count: int) -> None:
    """A message up to the end, at the usual port, is enough; it shows what the other side is."""
    asked = bytes(range(27, 37)) + traffic.magline(6, 2, bytes(20) + b"<q000002>")
    answered = bytes(range(40, 109)) + traffic.magline(7, 2, bytes(20) + b"<r000002>")
    made = traffic.Connection("magline", "tcp", peer, [], client=traffic.FIRST_PORT)
    packets = [
        traffic.Packet(0, 42, asked[:10], 15),
        traffic.Packet(1, 15, answered[:69], 52),
        traffic.Packet(0, 52, asked[10:], 84),
        traffic.Packet(1, 84, answered[69:], 97),
    ]
    messages = traffic.messages_of(traffic.files([(made, packet) for packet in packets], 1))
    found = [one for one in messages if one.record.codec is not None]
    assert len(found) == count
    if count:
        assert [one.record.kind for one in found if one.pair] == ["REQ", "REP"]
        assert len({one.pair for one in found if one.pair}) == 1


@pytest.mark.parametrize(("missing", "known"), [(range(47, 52), True), (range(4, 16), False)])
def test_lengths_lead_over_missing_bytes_to_the_next_message(missing: range, known: bool) -> None:
    """What shows the protocol must not be among the missing bytes."""
    protocol = "magline" if known else "unknown"
    data = traffic.magline(1, 1, bytes(range(1, 37))) + traffic.magline(6, 2, bytes(20) + b"<q000002>")
    talk = Talk()
    found = talk.say(0, data[: missing.start])
    found += talk.say(0, data[missing.stop :], gap=len(missing), end="fin")
    found += talk.conversations.close()
    assert [one.record.protocol for one in found] == [protocol, protocol]
    assert [one.record.kind for one in found if one.record.error is None] == (["REQ"] if known else [])


@pytest.mark.parametrize(
    ("protocol", "one"),
    [
        ("mevent", traffic.mevent_request(5, b"<q000005>", 2, True)),
        ("mevent", traffic.mevent_reply(5, b"<r000005>", True)),
        ("http", traffic.http_request(b"<q000005>")),
        ("bolt", traffic.bolt(1, 1, 5, b"<q000005>")),
        ("dubbo", traffic.dubbo_request(5, b"<q000005>")),
    ],
)
def test_the_first_message_is_found_wherever_what_follows_is_cut(protocol: str, one: bytes) -> None:
    codec = registry.get(protocol)
    for inside in (one[-1:], one[-20:]):
        for size in range(len(one) + 1):
            data = inside + one + one[:size]
            assert codec.first(data, 0, len(data), True, "") == len(inside), size


def test_a_reply_whose_request_was_cut_is_lost_before_the_next_request_was_sent() -> None:
    """What shows that is sent with the next request, which comes while the rest of the cut one waits."""
    asked = [traffic.mevent_request(1, b"<q00000%d>" % number, 2, True) for number in (1, 2)]
    size, length = len(asked[0]), len(traffic.mevent_reply(1, b"<r000001>", True))
    made = traffic.Connection("mevent-1", "tcp", 5555, [], client=traffic.FIRST_PORT)
    packets = [
        traffic.Packet(0, 0, asked[0][:27], 0),
        traffic.Packet(0, 33, asked[0][33:], 0),
        traffic.Packet(0, size, asked[1][:20], length),
        traffic.Packet(0, size + 20, asked[1][20:], length),
        traffic.Packet(1, length, traffic.mevent_reply(1, b"<r000002>", True), 2 * size),
    ]
    messages = traffic.messages_of(traffic.files([(made, packet) for packet in packets], 1))
    question, answer = (one for one in messages if one.record.error is None)
    assert question.pair == answer.pair != ""


def joined_late(saved: bool = False) -> list[Message]:
    """What comes of a stream that shows its first message late, while the other side goes on."""
    first = traffic.magline(1, 1, bytes(36))[1:]  # its first byte is missing, which turns the lengths around
    asked = traffic.magline(6, 2, bytes(20) + b"<q000002>")
    answered = traffic.magline(7, 2, bytes(20) + b"<r000002>")
    talk = Talk(syn=False)
    found = talk.say(1, traffic.magline(2, 1, bytes(68)))
    found += talk.say(0, first)
    found += talk.say(1, traffic.magline(4, 7, bytes(4)))
    if saved:
        talk.start_afresh()
    found += talk.say(0, asked)
    found += talk.say(1, answered, end="fin")
    found += talk.say(0, traffic.magline(5, 7, bytes(4)), end="fin")
    assert talk.conversations.close() == []
    assert talk.conversations.heads == talk.conversations.held == 0
    return found


@pytest.mark.parametrize("saved", [False, True])
def test_what_the_other_side_sent_waits_for_the_first_message_of_a_joined_stream(saved: bool) -> None:
    found = joined_late(saved)
    assert [one.record.summary.split(" seq")[0] for one in found if one.record.error is None] == [
        "ACK",
        "PIN",
        "REQ",
        "REP",
        "PON",
    ]
    assert [one.record.error.code for one in found if one.record.error is not None] == ["inside-message"]
    assert [one.time_us for one in found] == sorted([one.time_us for one in found])
    request, answer = (one for one in found if one.record.summary.startswith("RE"))
    assert request.pair == answer.pair != ""


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("method", [b"POST", b"HEAD"])
def test_a_body_that_was_not_captured_is_missing_unless_for_a_head(method: bytes, saved: bool) -> None:
    talk = Talk()
    (asked,) = talk.say(0, method + b" / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
    found = talk.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n")
    if saved:
        talk.start_afresh()
    found += talk.say(1, traffic.http_reply(b"<r000001>"), gap=16)
    assert [message.record.error is None for message in found] == [method == b"HEAD", True]
    assert found[0].pair == asked.pair != ""


def test_what_waits_for_a_joined_stream_is_bounded() -> None:
    talk = Talk(syn=False)
    found = talk.say(1, request(1) * 2)
    found += talk.say(0, reply(7)[9:-1])
    sent = 2
    while sent < 5000 and len(found) < 3:
        found += talk.say(1, request(sent))
        sent += 1
    assert sent < 5000
    assert talk.conversations.heads == 0
    assert talk.say(1, request(sent))[0].record.error is None  # it is not waited for any more


def test_a_message_without_its_start_is_none() -> None:
    cut = {
        "esnp-line": request(1)[5:],  # without its flag
        "esnp": reply(1, traffic.esnp_address())[5:],
        "mevent": traffic.mevent_reply(5, b"<r000005>", True)[4:],  # without its length
        "mevent request": traffic.mevent_request(5, b"<q000005>", 2, True)[4:],
    }
    whole = {
        "esnp-line": reply(1),
        "esnp": request(1),
        "mevent": traffic.mevent_request(5, b"<q000005>", 2, True),
        "mevent request": traffic.mevent_reply(5, b"<r000005>", True),
    }
    for name, data in cut.items():
        talk = Talk(syn=False)
        found = talk.say(1, whole[name] * 2) + talk.say(0, data) + talk.conversations.close()
        errors = [one.record.error.code for one in found if one.record.error is not None]
        assert errors == ["inside-message"], name


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("by_itself", [False, True])
def test_a_prefix_and_an_id_whose_rest_is_missing_are_no_message(by_itself: bool, saved: bool) -> None:
    """They look like a whole message without a prefix, which its connection does not have."""
    asked = [traffic.mevent_request(number, b"<q%06d>" % number, 2, True) for number in (300, 301)]
    answers = [traffic.mevent_reply(number, b"<r%06d>" % number, True) for number in (300, 301)]
    talk = Talk()
    found = talk.say(0, asked[0] + asked[1])
    if by_itself:
        found += talk.say(1, answers[0])
    found += talk.say(1, answers[1][:8])
    if saved:
        talk.start_afresh()
    found += talk.conversations.close()
    errors = [one.record.error.code for one in found if one.record.error is not None]
    assert errors == ["truncated"]
    assert found[-1].record.length == 8


def test_hessian_inside_a_message_whose_head_was_not_captured() -> None:
    asked = traffic.http_request(b"<q000001>")
    body = asked[asked.index(b"\r\n\r\n") + 4 :]
    for order in ((0, 1), (1, 0)):
        talk = Talk(syn=False)
        found: list[Message] = []
        for direction in order:
            found += talk.say(direction, traffic.http_reply(b"<r000000>") if direction else body)
        found += talk.say(0, asked) + talk.say(1, traffic.http_reply(b"<r000001>"))
        found += talk.conversations.close()
        assert {one.record.protocol for one in found} == {"http"}
        assert sorted(one.record.error is not None for one in found) == [False, False, False, True]
    talk = Talk(syn=False)
    found = talk.say(0, asked[38:]) + talk.conversations.close()
    assert [one.record.error is None for one in found] == [False]
    talk = Talk(syn=False)
    found = talk.say(0, body) + talk.say(1, b"r\1\0S\0\1az")
    assert [one.record.protocol for one in found + talk.conversations.close()] == ["hessian1", "hessian1"]


def test_saved_pairs_go_on() -> None:
    talk = Talk()
    talk.say(0, request(1) + request(2, traffic.entry(0x10, b"\x02s\x02\x06")))
    talk.say(1, reply(1, traffic.esnp_part(1, 2)))
    talk.start_afresh()
    last, second = talk.say(1, reply(1, traffic.esnp_part(2, 2)) + reply(2))
    assert (last.latency_us, notes([last])) == (2000, [[]])
    assert (second.latency_us, notes([second])) == (2000, [["session-info"]])
    assert talk.flow.directions[0].unanswered == 0


def test_a_protocol_that_does_not_exist_is_refused() -> None:
    with pytest.raises(wirelens.UnknownProtocolError):
        wirelens.conversations([], "nothing")
