"""From pieces of streams to paired messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import traffic
from feeding import fed

from wirelens import codecs
from wirelens.codecs import conversations as module
from wirelens.codecs.captures import Flow, Piece, Reader
from wirelens.codecs.codes import Note
from wirelens.codecs.conversations import Conversations, Message
from wirelens.codecs.numbers import time_text
from wirelens.codecs.verdicts import Verdict, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

END = b"\0\0\0\0"


def request(number: int) -> bytes:
    return b"\x1e\0\0\1\x08\x11\0\0\x08" + number.to_bytes(8, "big") + END


def reply(number: int) -> bytes:
    return b"\x1e\0\0\1\x06\x12\0\0\x08" + number.to_bytes(8, "big") + END


def flow(number: int = 1, ports: tuple[int, int] = (40000, 1080), transport: str = "tcp") -> Flow:
    return Flow(number, transport, (b"\x0a\0\0\1", b"\x0a\0\0\2"), ports)


class Talk:
    """Gives pieces of one flow, each a millisecond after the one before."""

    def __init__(self, conversations: Conversations, of: Flow | None = None) -> None:
        self.conversations = conversations
        self.flow = of or flow()
        self.offsets = [0, 0]
        self.packet = 0

    def say(
        self, direction: int, data: bytes, gap: int = 0, notes: tuple[Note, ...] = (), end: str = ""
    ) -> list[Message]:
        self.packet += 1
        self.offsets[direction] += gap
        offset = self.offsets[direction]
        self.offsets[direction] += len(data)
        time = 1_000_000_000_000_000 + self.packet * 1000
        piece = Piece(self.flow, direction, offset, data, time, (self.packet,), gap, notes, end)
        return self.conversations.feed([piece])


def test_requests_and_replies_are_paired_by_their_ids() -> None:
    talk = Talk(Conversations())
    first, second = talk.say(0, request(1) + request(2))
    (late,) = talk.say(1, reply(2))
    (later,) = talk.say(1, reply(1))
    (alone,) = talk.say(1, reply(3))
    assert first.pair != second.pair
    assert (late.pair, later.pair, alone.pair) == (second.pair, first.pair, "")
    assert (late.latency_us, later.latency_us, alone.latency_us) == (1000, 2000, None)
    assert first.latency_us is None
    source = late.record.source
    assert source == {
        "flow": "tcp 10.0.0.2:1080 > 10.0.0.1:40000",
        "flow_number": 1,
        "time": "2001-09-09T01:46:40.002000Z",
        "packets": [2],
        "pair": second.pair,
        "latency": 0.001,
    }


def test_the_latest_request_of_an_id_is_answered_first() -> None:
    talk = Talk(Conversations())
    (first,) = talk.say(0, request(1))
    (second,) = talk.say(0, request(1))
    assert [said.pair for said in talk.say(1, reply(1) * 3)] == [second.pair, first.pair, ""]


def test_a_message_over_several_packets_has_the_time_of_its_last_byte() -> None:
    talk = Talk(Conversations())
    whole = request(7) * 2
    assert talk.say(0, request(7)[:4]) == []
    said = talk.say(0, whole[4:30])
    said += talk.say(0, whole[30:])
    assert [one.packets for one in said] == [(1, 2), (2, 3)]
    assert [one.time_us % 1000_000 for one in said] == [2000, 3000]
    assert [one.record.offset for one in said] == [0, len(request(7))]


def test_a_gap_ends_a_message_and_the_next_provable_one_is_found() -> None:
    talk = Talk(Conversations())
    (before,) = talk.say(0, request(1))
    assert talk.say(0, request(2)[:10]) == []
    said = talk.say(0, request(3)[5:] + request(4), gap=100, notes=(Note("missing-bytes", 110, "100 bytes"),))
    records = [one.record for one in said]
    assert before.record.error is None
    assert records[0].error is not None
    assert records[0].error.code == "truncated"
    assert records[0].raw == request(2)[:10]
    assert records[-1].error is None
    assert records[-1].offset == talk.offsets[0] - len(request(4))
    codes = [note.code for record in records for note in record.notes]
    assert codes.count("missing-bytes") == 1


def test_late_bytes_are_decoded_on_their_own() -> None:
    """In no pair, and with a note; what does not decode has the error "late"."""
    talk = Talk(Conversations(arrivals=True))
    talk.say(0, request(1))
    both = request(2) + request(3)[:-1]
    middle = 17 + len(request(2))
    parts = ((middle, 5, (7,)), (17 + len(both), 6, (8,)))
    late = Piece(talk.flow, 0, 17, both, 6, (8,), 0, (), "", late="missed", parts=parts)
    whole, cut = talk.conversations.feed([late])
    assert (whole.record.kind, whole.time_us, whole.packets, whole.pair) == ("request", 5, (7,), "")
    assert [note.code for note in whole.record.notes] == ["late"]
    error = cut.record.error
    assert error is not None
    assert (error.code, cut.packets, cut.record.length) == ("late", (8,), len(both) - len(request(2)))
    for piece in (
        Piece(talk.flow, 0, 0, request(9), 6, (9,), 0, (), "", late="different", parts=((22, 6, (9,)),)),
        Piece(talk.flow, 1, -22, request(9), 6, (9,), 0, (), "", late="missed", parts=((0, 6, (9,)),)),
    ):
        (message,) = talk.conversations.feed([piece])
        assert message.record.error is not None
        assert message.record.error.code == "late"
        assert '"error": {"code": "late"' in message.record.json_text()


def test_notes_without_a_record_are_not_lost() -> None:
    late = Note("reset-text", 0, "a reset carries 7 bytes of text")
    for directions in ((0, 1), (0,)):
        talk = Talk(Conversations())
        talk.say(0, request(1))
        for direction in directions:
            talk.say(direction, b"", notes=(late, Note("joined-middle", 0, "")), end="reset")
        talk.conversations.close()
        way = ["tcp 10.0.0.1:40000 > 10.0.0.2:1080", "tcp 10.0.0.2:1080 > 10.0.0.1:40000"]
        expected = [(way[direction], late) for direction in directions]
        assert sorted(talk.conversations.unattached_notes) == sorted(expected)
    talk = Talk(Conversations())
    talk.say(0, b"GARBAGE?")
    talk.say(1, b"", notes=(late,), end="reset")
    talk.conversations.close()
    assert talk.conversations.unattached_notes == []  # nothing is reported of other protocols


def test_both_directions_help_each_other() -> None:
    verdicts: dict[tuple[int, int], Verdict] = {}
    talk = Talk(Conversations(None, verdicts))
    assert talk.say(1, END) == []  # too little to tell anything
    said = talk.say(0, request(1) * 3)
    assert [one.direction for one in said] == [1, 0, 0, 0]  # as they were captured
    assert {verdict.protocol for verdict in verdicts.values()} == {"esnp-line"}


HELLO_1 = b"S\0\x05hello"
CALL_200 = b"c\2\0m\0\4echo" + HELLO_1 + b"z"  # 1.0 values, and a wish for a reply in final 2.0
CALL_100 = b"c\1\0m\0\4echo" + HELLO_1 + b"z"
CALL_DRAFT = b"c\2\0m\0\4echo\5hello\x91z"
CALL_FINAL = b"H\2\0C\4echo\x91\5hello"
REPLY_FINAL = b"H\2\0R\5hello"
FAULT_FINAL = b"H\2\0FH\4code\x10ServiceException\7message\4nopeZ"
ENVELOPE_FINAL = b"E\x08Identity\x90\x25H\2\0RN\x90Z"


@pytest.mark.parametrize("size", [1000, 1])
@pytest.mark.parametrize(
    ("call", "reply", "protocols", "summary"),
    [
        (CALL_200, REPLY_FINAL, "hessian1 hessian2", 'reply ok "hello"'),
        (CALL_200, b"H\2\0RN", "hessian1 hessian2", "reply ok null"),
        (CALL_200, FAULT_FINAL, "hessian1 hessian2", 'fault ServiceException "nope"'),
        (CALL_200, b"r\1\0" + HELLO_1 + b"z", "hessian1 hessian1", 'reply ok "hello"'),
        (CALL_200, b"r\2\0\5helloz", "hessian1 hessian2-draft", 'reply ok "hello"'),
        (CALL_100, b"r\1\0" + HELLO_1 + b"z", "hessian1 hessian1", 'reply ok "hello"'),
        (CALL_100, b"r\1\0Nz", "hessian1 hessian1", "reply ok null"),
        (CALL_100, REPLY_FINAL, "hessian1 hessian2", 'reply ok "hello"'),
        (CALL_100, b"r\2\0\5helloz", "hessian1 hessian2-draft", 'reply ok "hello"'),
        (CALL_DRAFT, b"r\2\0\x97z", "hessian2-draft hessian2-draft", "reply ok int 7"),
        (CALL_DRAFT, REPLY_FINAL, "hessian2-draft hessian2", 'reply ok "hello"'),
        (b"c\2\0m\0\4pingz", b"H\2\0R\x91", "hessian2-draft hessian2", "reply ok int 1"),
        (CALL_FINAL, REPLY_FINAL, "hessian2 hessian2", 'reply ok "hello"'),
        (CALL_FINAL, b"H\2\0RN", "hessian2 hessian2", "reply ok null"),
        (CALL_FINAL, FAULT_FINAL, "hessian2 hessian2", 'fault ServiceException "nope"'),
        (CALL_200, ENVELOPE_FINAL, "hessian1 hessian2", "envelope Identity"),
        (CALL_FINAL, ENVELOPE_FINAL, "hessian2 hessian2", "envelope Identity"),
    ],
)
def test_a_call_may_be_answered_in_another_dialect_of_hessian(
    call: bytes, reply: bytes, protocols: str, summary: str, size: int
) -> None:
    talk = Talk(Conversations(), flow(ports=(40000, 8080)))
    said: list[Message] = []
    for direction, data in ((0, call), (1, reply)):
        for at in range(0, len(data), size):
            said += talk.say(direction, data[at : at + size])
    said += talk.conversations.close()
    said.sort(key=lambda one: one.direction)
    assert [one.record.error for one in said] == [None, None]
    assert " ".join([one.record.protocol for one in said]) == protocols
    assert said[1].record.summary == summary
    assert (said[0].pair == said[1].pair) == (not summary.startswith("envelope"))


def test_a_reply_joined_before_its_call_is_in_its_own_dialect() -> None:
    talk = Talk(Conversations(), flow(ports=(40000, 8080)))
    said = talk.say(1, b"H\2\0RN") + talk.say(0, CALL_200) + talk.say(1, REPLY_FINAL)
    said += talk.conversations.close()
    replies = [one for one in said if one.direction == 1]
    assert [one.record.summary for one in replies] == ["reply ok null", 'reply ok "hello"']
    assert len(said) == 3


def test_unknown_traffic_is_given_out_and_not_kept() -> None:
    conversations = Conversations()
    talk = Talk(conversations, flow(ports=(1, 2)))
    data = bytes(range(200, 256)) * 20
    total = 0
    for _ in range(100):
        for said in talk.say(0, data):
            assert said.record.codec is None
            total += said.record.length
        assert conversations.heads + conversations.held < module.HEAD + len(data)
    total += sum(said.record.length for said in conversations.close())
    assert total == 100 * len(data)
    assert conversations.heads == conversations.held == 0


@pytest.mark.slow
def test_waiting_bytes_of_all_flows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 1 << 16
    monkeypatch.setattr(module, "ALL_HEADS", limit)
    if module.ALL_HEADS != limit or not hasattr(module.known_messages, "__code__"):
        pytest.skip("constants of compiled code do not change")
    conversations = Conversations()
    for number in range(1, 200):
        Talk(conversations, flow(number)).say(0, bytes(range(200, 256)) * 20)
        assert conversations.heads <= limit


def test_a_message_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALL_HELD", 1 << 16)
    if not hasattr(module.known_messages, "__code__"):
        pytest.skip("constants of compiled code do not change")
    talk = Talk(Conversations("esnp-line"))
    said = talk.say(0, b"\x16\xff\xff\xff" + bytes(1000))
    for _ in range(100):
        said += talk.say(0, bytes([1]) * 1000)
        assert talk.conversations.held <= 1 << 16
    assert said[0].record.error is not None
    assert "capture-limit" in [note.code for note in said[0].record.notes]


def test_datagrams_are_messages_of_their_own() -> None:
    talk = Talk(Conversations("esnp-line"), flow(transport="udp"))
    (cut,) = talk.say(0, request(1)[:10])
    (whole,) = talk.say(0, request(2))
    assert cut.record.error is not None
    assert whole.record.error is None
    assert whole.record.offset == 10


def test_flows_are_forgotten_when_both_sides_have_ended() -> None:
    conversations = Conversations()
    talk = Talk(conversations)
    talk.say(0, request(1), end="fin")
    (answer,) = talk.say(1, reply(1))
    assert answer.latency_us == 1000
    talk.say(1, b"", end="fin")
    assert not conversations.sides
    assert conversations.close() == []


def test_a_port_counts_little(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = codecs.Candidate("mevent", 21.0, ("reason",), "")
    found = codecs.Detection("unknown", (), (candidate,))
    assert verdict_of(found, flow(ports=(26000, 5))).protocol == "mevent"
    assert verdict_of(found, flow(ports=(5, 6))).protocol == "unknown"
    weak = codecs.Detection("unknown", (), (candidate._replace(bits=15.0),))
    assert verdict_of(weak, flow(ports=(26000, 5))).protocol == "unknown"


@pytest.mark.parametrize(
    ("time", "text"),
    [(0, "1970-01-01T00:00:00.000000Z"), (1, "1970-01-01T00:00:00.000001Z"), (-1, ""), (1 << 62, "")],
)
def test_times(time: int, text: str) -> None:
    assert time_text(time) == text


@pytest.mark.parametrize("size", [100, 1 << 20])
def test_the_sessions_decode_whole(shared: Path, size: int) -> None:
    for path in sorted((shared / "captures" / "sessions").glob("*.pcap")):
        data = path.read_bytes()
        reader, conversations = Reader(), Conversations()
        said: list[Message] = []
        for at in range(0, len(data), size):
            for piece in fed(reader, data[at : at + size]):
                said += conversations.feed([piece])
        for piece in reader.close():
            said += conversations.feed([piece])
        said += conversations.close()
        assert sum(one.record.length for one in said) == reader.delivered, path
        assert all(one.record.codec is not None for one in said), path
        requests = {one.pair for one in said if one.pair and one.latency_us is None}
        replies = [one for one in said if one.latency_us is not None]
        assert len(replies) >= len(requests) / 2, path
        assert {one.pair for one in replies} <= requests


def test_nothing_is_kept_of_ended_captures(shared: Path) -> None:
    for path in sorted((shared / "captures" / "quirks").glob("*.pcap*")):
        reader, conversations = Reader(), Conversations()
        for piece in [*fed(reader, path.read_bytes()), *reader.close()]:
            conversations.feed([piece])
        assert not conversations.sides, path
        assert conversations.held == conversations.heads == 0


def test_arrivals_are_those_of_the_record() -> None:
    talk = Talk(Conversations("esnp-line", arrivals=True))
    data = request(1) + request(2) + request(3)
    cut = len(request(1)) + 5
    (first,) = talk.say(0, data[:cut])
    second, third = talk.say(0, data[cut:])
    found = [
        [(int(one.start), int(one.end), one.packets) for one in m.arrivals] for m in (first, second, third)
    ]
    here, there = (0, cut, (1,)), (cut, len(data), (2,))
    assert found == [[here], [here, there], [there]]
    assert [message.packets for message in (first, second, third)] == [(1,), (1, 2), (2,)]
    assert talk.conversations.undecoded() == []
    assert talk.say(0, request(4)[:7], gap=20) == []
    assert talk.conversations.undecoded() == [(7, 3)]
    (fourth,) = talk.say(0, request(4)[7:])
    start = len(data) + 20
    assert [(int(one.start), int(one.end)) for one in fourth.arrivals] == [
        (start, start + 7),
        (start + 7, start + len(request(4))),
    ]
    (plain,) = Talk(Conversations("esnp-line")).say(0, request(1))
    assert plain.arrivals == ()


@pytest.mark.parametrize("protocol", [None, "esnp-line"])
@pytest.mark.parametrize("cut", [1, 9, 24, 30])
def test_saved_conversations_go_on(protocol: str | None, cut: int) -> None:
    data = request(1) + request(2)
    whole = Talk(Conversations(protocol, arrivals=True))
    expected = [*whole.say(0, data[:cut]), *whole.say(0, data[cut:]), *whole.say(1, reply(2) + reply(1))]
    talk = Talk(Conversations(protocol, arrivals=True))
    messages = talk.say(0, data[:cut], notes=(Note("snap-length", 3, "a note"),))
    undecoded = talk.conversations.undecoded()
    state = talk.conversations.save()
    assert sum(size for size, _ in undecoded) == cut - sum(one.record.length for one in messages)
    talk.conversations = Conversations(protocol, arrivals=True)
    talk.conversations.load(state, [talk.flow])
    assert talk.conversations.save() == state
    assert talk.conversations.undecoded() == undecoded
    messages += [*talk.say(0, data[cut:]), *talk.say(1, reply(2) + reply(1))]
    assert facts(messages) == facts(expected)
    assert "a note" in [note.text for one in messages for note in one.record.notes]
    assert is_plain(state)


def is_plain(state: object) -> bool:
    if isinstance(state, tuple):
        return all(is_plain(item) for item in state)
    return state is None or type(state) in (int, bool, str, bytes)


def facts(messages: list[Message]) -> list[tuple[object, ...]]:
    return [
        (one.direction, one.record.offset, one.record.summary, one.pair, one.latency_us, one.packets)
        for one in messages
    ]


def test_a_state_of_another_form_is_refused() -> None:
    from wirelens.codecs import checkpoint

    for state, form in (((("key", 0, False, 1), (), ()), 1), ((99, (), ()), 99), ((), 1)):
        with pytest.raises(ValueError, match=f"saved in form {form} cannot be continued"):
            checkpoint.load(state)


def test_both_directions_leave_a_protocol_in_which_they_were_joined() -> None:
    """Neither has a proved message before the head of the 101; what follows is in the capture's order."""
    talk = Talk(Conversations(), flow(ports=(40000, 8080)))
    joined = (Note("joined-middle", 0, ""),)
    messages = talk.say(0, b"grade\r\nUpgrade: bolt\r\n\r\n", notes=joined)
    messages += talk.say(1, b"HTTP/", notes=joined)
    messages += talk.say(1, b"1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: bolt\r\n\r\n")
    for number in (1, 2, 3):
        messages += talk.say(0, traffic.bolt(1, 1, number, b"<q00000%d>" % number))
        messages += talk.say(1, traffic.bolt(0, 2, number, b"<r00000%d>" % number))
    for direction in (0, 1):
        messages += talk.say(direction, b"", end="fin")
    messages += talk.conversations.close()
    times = [message.time_us for message in messages]
    assert times == sorted(times)
    assert [message.pair_number > 0 for message in messages if message.record.protocol == "bolt"] == [
        True
    ] * 6


GET = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: bolt\r\n\r\n"
SWITCHING = b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: bolt\r\n\r\n"
JOINED = (Note("joined-middle", 0, ""),)


def bolt_calls(talk: Talk, numbers: range, gaps: tuple[int, int] = (0, 0)) -> list[Message]:
    messages: list[Message] = []
    for number in numbers:
        first = number == numbers.start
        for direction, kind, command in ((0, 1, 1), (1, 0, 2)):
            data = traffic.bolt(kind, command, number, b"<q00000%d>" % number)
            messages += talk.say(direction, data, gap=gaps[direction] if first else 0)
    for direction in (0, 1):
        messages += talk.say(direction, b"", end="fin")
    return messages + talk.conversations.close()


@pytest.mark.parametrize("tail", [b"", b"Upgrade: bolt\r\n\r\n"])
def test_a_server_whose_101_was_not_captured_follows_its_client(tail: bytes) -> None:
    talk = Talk(Conversations(), flow(ports=(40000, 8080)))
    messages = talk.say(0, GET)
    if tail:
        messages += talk.say(1, tail, notes=JOINED)
        messages += bolt_calls(talk, range(1, 4))
    else:
        messages += talk.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        messages += bolt_calls(talk, range(1, 4), (0, len(SWITCHING)))
    assert [message.time_us for message in messages] == sorted(message.time_us for message in messages)
    assert [one.pair_number > 0 for one in messages if one.record.protocol == "bolt"] == [True] * 6
    errors = [one.record for one in messages if one.record.error is not None]
    assert [(record.protocol, record.raw) for record in errors] == [("http", tail)] * bool(tail)


@pytest.mark.parametrize(("asked", "accepted"), [(40, 40), (20, 40), (40, 0)])
def test_cut_heads_lead_out_of_http(asked: int, accepted: int) -> None:
    """The bytes of each segment that were captured; a head of which nothing was captured is a gap."""
    talk = Talk(Conversations(), flow(ports=(40000, 8080)))
    messages = talk.say(0, GET[:asked])
    if accepted:
        messages += talk.say(1, SWITCHING[:accepted])
    else:
        messages += talk.say(1, b"Switching\r\n", notes=JOINED)
    messages += bolt_calls(talk, range(1, 4), (len(GET) - asked, len(SWITCHING) - max(accepted, 11)))
    assert [one.pair_number > 0 for one in messages if one.record.protocol == "bolt"] == [True] * 6


def test_a_cut_request_whose_body_is_no_protocol_stays_http() -> None:
    talk = Talk(Conversations(), flow(ports=(40000, 8080)))
    head = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-"
    messages = talk.say(0, head) + talk.say(0, bytes(range(200, 250)), gap=40)
    messages += talk.say(1, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    messages += talk.say(0, traffic.http_request(b"<q000001>"), gap=9) + talk.say(1, traffic.http_reply(b"-"))
    messages += talk.conversations.close()
    assert {one.record.protocol for one in messages} == {"http"}
    assert sum(one.record.error is None for one in messages) == 3


@pytest.mark.parametrize("phrase", [b"OK", b"Connection established"])
@pytest.mark.parametrize("joined", [False, True])
def test_what_follows_a_reply_to_connect(phrase: bytes, joined: bool) -> None:
    """Also where CONNECT was captured late, or not at all."""
    talk = Talk(Conversations(), flow(ports=(40000, 8080)))
    for direction in (0, 1):
        talk.flow.directions[direction].sequence = 1000
    messages: list[Message] = []
    if not joined:
        messages += talk.say(0, b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
    messages += talk.say(1, b"HTTP/1.1 200 " + phrase + b"\r\n\r\n", notes=JOINED if joined else ())
    messages += bolt_calls(talk, range(1, 4))
    assert [one.pair_number > 0 for one in messages if one.record.protocol == "bolt"] == [True] * 6
    assert all(one.record.error is None for one in messages)


def test_after_an_upgrade_that_was_not_captured_nothing_is_invented() -> None:
    """Frames of WebSocket, in both directions, after heads of which only ends were captured."""
    conversations = Conversations()
    talk = Talk(conversations, flow(ports=(40000, 8080)))
    messages = talk.say(0, GET[:40]) + talk.say(1, SWITCHING[:40])
    frames = bytes.fromhex("818537fa213d7f9f4d5158"), bytes.fromhex("810548656c6c6f")
    for direction, frame, lost in ((0, frames[0], len(GET) - 40), (1, frames[1], len(SWITCHING) - 40)):
        messages += talk.say(direction, frame * 5, gap=lost)
    messages += conversations.close()
    known = [one.record for one in messages if one.record.codec is not None]
    assert [record.offset for record in known] == [0, 0]
    assert conversations.foreign == 5 * len(frames[0]) + 5 * len(frames[1])


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("lost", [0, 9])
def test_both_directions_joined_give_their_first_messages_in_order(lost: int, saved: bool) -> None:
    """The client's first message is proved only by the next one, after the server's, which is younger."""
    asked = [traffic.magline(6, call, bytes(20) + b"<q%06d>" % call) for call in range(5)]
    answers = [traffic.magline(7, call, bytes(20) + b"<r%06d>" % call) for call in range(5)]
    steps = [
        (1, answers[0], 0),
        (0, asked[0] * 2, 0),
        (1, answers[1][20:40], 20),
        (0, asked[1][20:] + asked[2] + asked[3][:10], 20),
        (1, answers[2][:20], 5),
        (1, answers[2][20:], 0),
        (1, answers[3][lost:], lost),
        (1, answers[4], 0),
        (0, asked[3][10:], 0),
        (0, asked[4], 0),
    ]
    talk = Talk(Conversations(), flow(ports=(40000, 9757)))
    messages: list[Message] = []
    for direction, data, gap in steps:
        messages += talk.say(direction, data, gap=gap)
        if saved:
            state = talk.conversations.save()
            talk.conversations = Conversations()
            talk.conversations.load(state, [talk.flow])
    messages += talk.conversations.close()
    known = [one for one in messages if one.record.error is None]
    assert len(known) == (8 if lost else 9)
    assert [one.time_us for one in known] == sorted([one.time_us for one in known])
    assert talk.conversations.held == talk.conversations.heads == 0
