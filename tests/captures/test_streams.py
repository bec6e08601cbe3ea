"""Segments to streams."""

import itertools
import random
import struct
import tracemalloc
from typing import Self

import pytest
from building import ACK, CLIENT, FIN, PSH, RST, SERVER, SYN, Talk, ethernet, ipv4, pcap, tcp, udp
from feeding import fed
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs import checkpoint
from wirelens.codecs.captures import Assembler, Flow, Piece, Reader, Segment, flows, ordering, sequencing
from wirelens.codecs.captures import streams as limits
from wirelens.codecs.captures.packets import DUPLICATE
from wirelens.codecs.captures.past import PAST
from wirelens.codecs.conversations import Conversations


def key(client: int = 1) -> bytes:
    return b"\x06" + struct.pack(">IHIH", client, 40000, 0x0A000000, 1080)


def segment(
    seq: int,
    data: bytes = b"",
    flags: int = ACK,
    side: int = 0,
    *,
    ack: int = 0,
    missing: int = 0,
    time: int = 0,
    number: int = 1,
    client: int = 1,
) -> Segment:
    seq, ack = seq & 0xFFFFFFFF, ack & 0xFFFFFFFF
    return Segment(key(client), side == 0, seq, ack, flags, data, missing, time, number, 0, ())


def pieces_of(assembler: Assembler, *segments: Segment) -> list[Piece]:
    pieces: list[Piece] = []
    assembler.extend(list(segments), pieces)
    return pieces


class Sink:
    """Adds segments and checks what every sequence of pieces must keep to."""

    def __init__(self) -> None:
        self.assembler = Assembler()
        self.pieces: list[Piece] = []
        self.next: dict[tuple[int, int], int] = {}
        self.ended: set[tuple[int, int]] = set()
        self.closed = False

    def add(self, *segments: Segment) -> list[Piece]:
        return self.take(pieces_of(self.assembler, *segments))

    def take(self, found: list[Piece]) -> list[Piece]:
        for piece in found:
            stream = (piece.flow.number, piece.direction)
            if piece.late:
                assert piece.offset + len(piece.data) == piece.parts[-1][0]
                continue
            assert stream not in self.ended
            assert piece.gap >= 0
            assert piece.offset == self.next.get(stream, 0) + piece.gap
            self.next[stream] = piece.offset + len(piece.data)
            assert piece.data or piece.end
            if piece.end:
                self.ended.add(stream)
        self.pieces += found
        return found

    def close(self) -> Self:
        self.take(self.assembler.close())
        self.closed = True
        assembler = self.assembler
        assert assembler.payload == assembler.delivered + assembler.retransmitted
        assert assembler.delivered == sum(len(piece.data) for piece in self.pieces)
        assert assembler.missing == sum(piece.gap for piece in self.pieces)
        assert len(self.ended) == 2 * assembler.flows
        assert assembler.open_flows == 0
        return self

    def data(self, direction: int = 0, flow: int = 1) -> bytes:
        mine = [p for p in self.pieces if (p.flow.number, p.direction) == (flow, direction)]
        return b"".join(p.data for p in mine if not p.late)

    def late(self) -> list[tuple[int, bytes, str]]:
        return [(piece.offset, piece.data, piece.late) for piece in self.pieces if piece.late]

    def notes(self) -> list[tuple[str, int]]:
        return [(note.code, note.offset) for piece in self.pieces for note in piece.notes]

    def ends(self) -> list[tuple[int, int, str]]:
        return [(p.flow.number, p.direction, p.end) for p in self.pieces if p.end]


def started(client: int = 0, server: int = 500) -> Sink:
    """A connection after its handshake; the next numbers are client + 1 and server + 1."""
    sink = Sink()
    sink.add(segment(client, flags=SYN), segment(server, flags=SYN | ACK, side=1, ack=client + 1))
    return sink


def test_each_segment_comes_out_at_once() -> None:
    sink = started()
    (piece,) = sink.add(segment(1, b"abc", time=5, number=7))
    assert (piece.data, piece.offset, piece.direction, piece.time_us, piece.packets) == (
        b"abc",
        0,
        0,
        5,
        (7,),
    )
    assert (piece.gap, piece.notes, piece.end) == (0, (), "")
    (piece,) = sink.add(segment(501, b"xy", side=1))
    assert (piece.data, piece.offset, piece.direction) == (b"xy", 0, 1)
    (piece,) = sink.add(segment(4, b"de"))
    assert (piece.data, piece.offset) == (b"de", 3)
    flow = piece.flow
    assert (flow.number, flow.transport, flow.syn) == (1, "tcp", True)
    assert (flow.endpoint(0), flow.endpoint(1)) == ("0.0.0.1:40000", "10.0.0.0:1080")
    sink.close()
    assert sink.notes() == []
    assert sink.ends() == [(1, 0, "close"), (1, 1, "close")]


def test_the_side_of_the_syn_is_the_first() -> None:
    for first in (segment(0, flags=SYN, side=1), segment(0, flags=SYN | ACK, side=0)):
        sink = Sink()
        sink.add(first)
        (piece,) = sink.add(segment(1, b"x", side=1 if first.flags == SYN else 0))
        assert piece.direction == (0 if first.flags == SYN else 1)
        assert piece.flow.ports[piece.direction] == (1080 if first.flags == SYN else 40000)
    sink = Sink()
    sink.add(segment(501, b"from the server", side=1, ack=1))
    sink.add(segment(500, flags=SYN | ACK, side=1, ack=1), segment(0, flags=SYN))
    sink.close()
    assert sink.data(1) == b"from the server"
    assert sink.pieces[0].flow.ports == (40000, 1080)
    assert sink.notes() == []


def test_out_of_order_waits() -> None:
    sink = started()
    assert sink.add(segment(4, b"def", number=2, time=20)) == []
    assert sink.add(segment(10, b"jk", number=3, time=30)) == []
    found = sink.add(segment(1, b"abc", number=4, time=40))
    assert [(p.data, p.packets, p.time_us) for p in found] == [(b"abc", (4,), 40), (b"def", (2,), 20)]
    found = sink.add(segment(7, b"ghi", number=5))
    assert [(p.data, p.packets) for p in found] == [(b"ghi", (5,)), (b"jk", (3,))]
    assert sink.close().notes() == []


def test_retransmission_and_overlap_keep_the_first() -> None:
    sink = started()
    sink.add(segment(1, b"abcdef"))
    assert sink.add(segment(1, b"abcdef")) == []
    assert sink.add(segment(3, b"cd")) == []
    (piece,) = sink.add(segment(4, b"defghi"))
    assert (piece.data, piece.offset) == (b"ghi", 6)
    assert sink.close().notes() == []
    assert sink.assembler.retransmitted == 6 + 2 + 3


def test_conflicts_are_notes() -> None:
    sink = started()
    sink.add(segment(1, b"abcdef"))
    (piece,) = sink.add(segment(5, b"eXgh"))
    assert (piece.data, sink.notes()) == (b"gh", [("overlap-conflict", 4)])
    assert sink.close().late() == [(4, b"eX", "different")]
    assert sink.assembler.retransmitted == 0
    sink = started()
    sink.add(segment(5, b"efgh"), segment(3, b"cdXXXXij"), segment(1, b"abc"))
    assert sink.close().data() == b"abcdefghij"
    assert ("overlap-conflict", 4) in sink.notes()
    assert sink.late() == [(4, b"XXXX", "different")]


def test_what_comes_after_its_stream_has_moved_on_is_late() -> None:
    sink = started()
    sink.add(segment(1, b"abc", number=1), segment(14, b"nop", number=2, time=10))
    sink.add(segment(501, b"", ACK, side=1, ack=17, time=2_000_000))
    assert sink.data() == b"abcnop"
    assert sink.add(segment(6, b"fgh", number=3), segment(9, b"ijk", number=4)) == []
    sink.add(segment(2, b"bcdefgh", number=5))  # all seen before, but de
    sink.add(segment(9, b"ijk", number=6))
    sink.add(segment(17, b"q", number=7))
    assert sink.late() == [(5, b"fghijk", "missed"), (3, b"de", "missed")]
    assert sink.pieces[-1].data == b"q"  # the last that waited comes before what is next
    assert [part for piece in sink.pieces for part in piece.parts] == [
        (8, 0, (3,)),
        (11, 0, (4,)),
        (5, 0, (5,)),
    ]
    sink.add(segment(18, flags=FIN), segment(501, b"", FIN | ACK, side=1))
    sink.add(segment(12, b"lm"), segment(12, b"lm"), segment(12, b"lM"))
    sink.close()
    assert sink.late()[2:] == [(11, b"lm", "missed"), (11, b"lM", "different")]
    assert sink.assembler.retransmitted == 2 + 3 + 3 + 2
    assert sink.pieces[0].flow.directions[0].late == 6 + 2 + 2 + 2


def test_what_came_before_a_stream_was_joined_is_late() -> None:
    sink = Sink()
    sink.add(*(segment(100 + at, b"x", PSH | ACK) for at in range(sequencing.JOIN_SEGMENTS)))
    sink.add(segment(90, b"0123456789xx"))
    assert sink.close().late() == [(-10, b"0123456789", "missed")]
    assert sink.assembler.retransmitted == 2


def test_bytes_too_old_to_be_compared_are_late() -> None:
    sink = started()
    for at in range(0, 4 * PAST, 1000):
        sink.add(segment(1 + at, bytes(1000)))
    sink.add(segment(1, bytes(1000)), segment(1 + 3 * PAST + 1000, bytes(1000)))
    assert sink.close().late() == [(0, bytes(1000), "old")]
    assert sink.assembler.retransmitted == 1000


def test_keep_alives_do_not_enter_the_stream() -> None:
    sink = started()
    sink.add(segment(1, b"abc"))
    assert sink.add(segment(3, b"\0"), segment(3, b"")) == []
    sink.add(segment(4, b"def", FIN | ACK))
    assert sink.add(segment(7, b"\0")) == []
    assert sink.close().data() == b"abcdef"
    assert sink.notes() == []


def test_data_on_syn_and_fin() -> None:
    sink = Sink()
    (piece,) = sink.add(segment(0, b"early", SYN))
    assert piece.data == b"early"
    sink.add(segment(500, b"reply", SYN | ACK, side=1, ack=6))
    found = sink.add(segment(6, b"last", FIN | ACK))
    assert [(p.data, p.end) for p in found] == [(b"last", ""), (b"", "fin")]
    found = sink.add(segment(506, b"", FIN | ACK, side=1))
    assert [(p.end, p.direction) for p in found] == [("fin", 1)]
    assert sink.close().ends() == [(1, 0, "fin"), (1, 1, "fin")]
    assert (sink.data(0), sink.data(1)) == (b"earlylast", b"reply")


def test_a_fin_before_its_data_waits() -> None:
    sink = started()
    sink.add(segment(4, b"def", FIN | ACK))
    found = sink.add(segment(1, b"abc"))
    assert [p.data for p in found] == [b"abc", b"def", b""]
    assert found[-1].end == "fin"
    sink.close()


def test_bytes_behind_a_fin_are_kept() -> None:
    sink = started()
    sink.add(segment(4, b"", FIN | ACK), segment(4, b"more"), segment(1, b"abc"))
    assert sink.close().data() == b"abcmore"
    sink = started()
    sink.add(segment(1, b"abc", FIN | ACK), segment(4, b"more"))
    sink.close()
    assert (sink.data(0, 1), sink.data(0, 2)) == (b"abc", b"more")


def test_a_reset_ends_what_its_sender_sends_and_its_text_is_a_note() -> None:
    sink = started()
    sink.add(segment(1, b"abc"))
    found = sink.add(segment(501, b"go away", RST | ACK, side=1))
    assert [(p.direction, p.end, p.data) for p in found] == [(1, "reset", b"")]
    assert sink.notes() == [("reset-text", 0)]
    assert sink.assembler.reset_text == 7
    assert sink.assembler.open_flows == 0
    assert sink.add(segment(1, b"abc")) == []
    (piece,) = sink.add(segment(4, b"def"))
    assert (piece.flow.number, piece.direction, piece.offset, piece.data) == (1, 0, 3, b"def")
    assert sink.add(segment(501, b"", RST, side=1), segment(501, b"late", RST, side=1)) == []
    assert sink.close().ends() == [(1, 1, "reset"), (1, 0, "reset")]
    assert (sink.assembler.retransmitted, sink.assembler.reset_text, sink.assembler.flows) == (3, 11, 1)


def test_bytes_in_flight_at_a_reset_may_be_out_of_order() -> None:
    sink = started()
    sink.add(segment(1, b"abc"), segment(501, flags=RST, side=1))
    assert sink.add(segment(7, b"ghi", number=5)) == []
    assert [p.data for p in sink.add(segment(4, b"def", number=6))] == [b"def", b"ghi"]
    found = sink.add(segment(10, b"", FIN | ACK))
    assert [(p.direction, p.end) for p in found] == [(0, "fin")]
    assert sink.close().notes() == []


def test_bytes_missing_at_a_reset_are_not_waited_for_long() -> None:
    sink = started()
    sink.add(segment(1, b"abc"), segment(501, flags=RST, side=1), segment(7, b"ghi", time=5))
    assert sink.add(segment(10, b"j", time=6)) == []
    found = sink.add(segment(11, b"k", time=5 + limits.GAP_TIME_US))
    assert [(p.data, p.gap) for p in found] == [(b"ghi", 3), (b"j", 0), (b"k", 0)]
    sink.close()


def test_after_a_reset_other_bytes_are_of_another_connection() -> None:
    for late in (
        segment(4 + sequencing.IN_FLIGHT + 1, b"second"),  # of the side that goes on, too far ahead
        segment(501, b"second", side=1),  # of the side that sent the reset
        segment(4, b"second", SYN),
    ):
        sink = started()
        sink.add(segment(1, b"abc"), segment(501, flags=RST, side=1), late)
        sink.close()
        direction = 0 if late.forward else 1
        assert sink.data(1 - direction, 2) + sink.data(direction, 2) == b"second"
        assert [end for end in sink.ends() if end[0] == 1] == [(1, 1, "reset"), (1, 0, "reset")]


def test_a_reset_survives_a_checkpoint() -> None:
    assembler = Assembler()
    pieces_of(assembler, segment(0, flags=SYN), segment(500, flags=SYN | ACK, side=1, ack=1))
    pieces_of(assembler, segment(1, b"abc"), segment(501, flags=RST, side=1))
    assembler, _ = checkpoint.load(checkpoint.save(assembler, Conversations()))
    (piece,) = pieces_of(assembler, segment(4, b"def"))
    assert (piece.flow.number, piece.offset, piece.data) == (1, 3, b"def")
    assert [(p.direction, p.end) for p in assembler.close()] == [(0, "reset")]


def probe(seq: int, byte: bytes = b"\0", flags: int = ACK, time: int = 0) -> Segment:
    return segment(seq, byte, flags, time=time)


def answer(ack: int, flags: int = ACK) -> Segment:
    return segment(5000, flags=flags, side=1, ack=ack)


DATA = segment(900, b"data", PSH | ACK, time=limits.PROBE_TIME_US)
KEEP_ALIVES_FIRST: dict[str, tuple[Segment, ...]] = {
    "zero, without PSH": (probe(899), answer(900)),
    "not zero, acknowledged alone": (probe(899, b"x"), answer(900)),
    "acknowledged before": (answer(900), probe(899, b"x", PSH | ACK), answer(900)),
    "a duplicate by its answer": (probe(899, b"x", PSH | ACK), answer(900, ACK | DUPLICATE)),
    "the same byte again": (probe(899, b"x", PSH | ACK), answer(900), probe(899, b"x", PSH | ACK)),
    "again, nothing heard of the other side": (
        probe(899, b"x", PSH | ACK),
        probe(899, b"x", PSH | ACK, limits.PROBE_TIME_US),
    ),
    "its sender was further": (segment(900), probe(899, b"x", PSH | ACK)),
    "many": (probe(899), answer(900)) * 20,
    "no answer": (probe(899),),
}


@pytest.mark.parametrize("segments", KEEP_ALIVES_FIRST.values(), ids=KEEP_ALIVES_FIRST)
@pytest.mark.parametrize("saved", [False, True])
def test_a_keep_alive_before_all_data_is_not_of_the_stream(
    segments: tuple[Segment, ...], saved: bool
) -> None:
    sink = Sink()
    for part in segments:
        assert sink.add(part) == []
        if saved:
            sink.assembler, _ = checkpoint.load(checkpoint.save(sink.assembler, Conversations()))
            sink.assembler.payload = sink.assembler.delivered = 0
    sink.add(DATA, *[answer(904)] * sequencing.JOIN_SEGMENTS)
    if not saved:
        sink.close()
    assert [(piece.data, piece.offset, piece.gap) for piece in sink.pieces if piece.data] == [(b"data", 0, 0)]


def test_one_byte_that_was_written_is_of_the_stream() -> None:
    one = segment(899, b"x", PSH | ACK)
    for segments in (
        (one, answer(900)),
        (one, one, answer(900)),  # retransmitted, not acknowledged yet
        (
            answer(899),
            probe(899, b"x"),
            answer(900),
        ),  # the next byte that the other side expects: a window probe
        (probe(899, b"x"),),  # data cut into segments of one byte
    ):
        sink = Sink()
        sink.add(*segments, DATA, answer(904))
        sink.close()
        assert sink.data(0) + sink.data(1) == b"xdata"
    sink = Sink()
    sink.add(one, answer(900))
    assert sink.close().data() == b"x"


def test_a_keep_alive_after_missing_bytes_is_not_of_the_stream() -> None:
    for segments in (
        (probe(99, b"x"), answer(100)),
        (probe(99, b"x", PSH | ACK), answer(100, ACK | DUPLICATE)),
        (probe(99, b"x", PSH | ACK), answer(100), probe(99, b"x", PSH | ACK)),
    ):
        sink = started()
        sink.add(segment(1, b"abc"), *segments, segment(100, b"data", PSH | ACK), answer(104))
        sink.close()
        assert (sink.data(), sink.assembler.missing) == (b"abcdata", 96)
    sink = started()
    sink.add(segment(1, b"abc"), probe(6), answer(7), segment(4, b"def", PSH | ACK), segment(7, b"g"))
    assert (sink.data(), sink.close().notes()) == (b"abcdefg", [])


def test_one_byte_that_was_sent_twice_before_those_that_it_follows() -> None:
    sink = started()
    one = segment(7, b"g")
    sink.add(segment(1, b"abc"), one, answer(8), one, segment(4, b"def", PSH | ACK), segment(8, b"h"))
    assert (sink.data(), sink.close().notes()) == (b"abcdefgh", [])
    joined = Sink()
    joined.add(segment(3, b"c"), answer(4), segment(3, b"c"), segment(4, b"def", PSH | ACK), answer(7))
    assert joined.close().data() == b"cdef"


@given(st.data())
def test_keep_alives_at_any_place(draw: st.DataObject) -> None:
    """Joined anywhere, each side's stream begins with the first data that was captured."""
    packets: list[tuple[Segment, bytes]] = []
    following = [draw.draw(st.sampled_from([1, 0xFFFFFFF0])), 7000]
    for turn in range(draw.draw(st.integers(1, 8))):
        side = draw.draw(st.integers(0, 1))
        other = 1 - side
        seq, ack = following[side], following[other]
        time = turn * limits.PROBE_TIME_US
        if draw.draw(st.booleans()):
            flag, byte = draw.draw(st.sampled_from([(ACK, b"\0"), (ACK, b"g"), (PSH | ACK, b"g")]))
            duplicate = DUPLICATE if flag & PSH else 0
            packets.append((segment(seq - 1, byte, flag, side, ack=ack, time=time), b""))
            packets.append((segment(ack, b"", ACK | duplicate, other, ack=seq, time=time), b""))
        else:
            data = bytes([turn + 1]) * draw.draw(st.integers(2, 5))
            packets.append((segment(seq, data, PSH | ACK, side, ack=ack, time=time), data))
            following[side] = (seq + len(data)) & 0xFFFFFFFF
            packets.append((segment(ack, b"", ACK, other, ack=following[side], time=time), b""))
    packets = packets[draw.draw(st.integers(0, len(packets) - 1)) :]
    sink = Sink()
    sink.add(*[packet for packet, _ in packets])
    sink.close()
    first = packets[0][0].forward
    for side in (0, 1):
        sent = b"".join(data for packet, data in packets if packet.forward == (side == 0))
        assert sink.data(side if first else 1 - side) == sent
    assert sink.assembler.missing == 0


def test_a_reset_from_nowhere_is_not_believed() -> None:
    sink = started()
    sink.add(segment(1, b"abc"), segment(0x50000000, b"", RST))
    (piece,) = sink.add(segment(4, b"def"))
    assert piece.data == b"def"
    sink.close()


def test_port_reuse_begins_a_flow() -> None:
    sink = started()
    sink.add(segment(1, b"first", FIN | ACK), segment(501, b"", FIN | ACK, side=1))
    sink.add(segment(9000, flags=SYN), segment(9000, flags=SYN), segment(9001, b"second"))
    sink.add(segment(40, flags=SYN), segment(41, b"third"))
    sink.close()
    assert [sink.data(0, number) for number in (1, 2, 3)] == [b"first", b"second", b"third"]
    assert ("reuse") in [end for _, _, end in sink.ends()]
    assert sink.notes() == []


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_day_of_silence_ends_a_flow(transport: str) -> None:
    sink = started() if transport == "tcp" else Sink()
    day = limits.OVER_TIME_US

    def at(time: int, seq: int) -> list[Piece]:
        one = segment(seq, b"abc", time=time)
        if transport == "udp":
            one = Segment(b"\x11" + one.key[1:], *one.row()[1:])
        return sink.add(one)

    (first,) = at(0, 1)
    (second,) = at(day, 4)
    assert (second.flow, second.offset) == (first.flow, 3)
    ends = [(piece.flow.number, piece.end) for piece in at(2 * day + 1, 7) if piece.end]
    sink.close()
    assert ends == [(1, "silent"), (1, "silent")]
    assert (sink.data(0, 1), sink.data(0, 2)) == (b"abcabc", b"abc")


def test_late_repetitions_of_a_closed_flow_are_its_own() -> None:
    sink = started()
    sink.add(segment(1, b"abc", FIN | ACK), segment(501, b"", FIN | ACK, side=1))
    assert (
        sink.add(segment(1, b"abc", FIN | ACK), segment(0, flags=SYN), segment(501, b"", ACK, side=1)) == []
    )
    assert sink.close().assembler.flows == 1


def test_joined_in_the_middle() -> None:
    sink = Sink()
    assert sink.add(segment(900, b"abc")) == []
    for _ in range(sequencing.JOIN_SEGMENTS - 2):
        assert sink.add(segment(5000, b"", ACK, side=1, ack=903)) == []
    found = sink.add(segment(5000, b"", ACK, side=1, ack=903))
    assert [p.data for p in found] == [b"abc"]
    assert sink.notes() == [("joined-middle", 0)]
    assert sink.add(segment(5000, b"reply", ACK, side=1, ack=903)) == []
    late = segment(903, b"", ACK, ack=5005, time=limits.GAP_TIME_US)
    assert [(p.data, p.offset) for p in sink.add(late)] == [(b"reply", 0)]
    sink.close()


def test_joined_in_the_middle_older_bytes_may_be_late() -> None:
    """Those that the capture has later, acknowledged or not, are of the stream, also before missing ones."""
    for early, gap in ((b"abcdef", 0), (b"abc", 3)):
        sink = Sink()
        sink.add(segment(5000, b"", ACK, side=1, ack=906), segment(906, b"ghi"))
        sink.add(segment(5000, b"", ACK, side=1, ack=909), segment(900, early))
        sink.add(segment(909, b"", FIN | ACK), segment(5000, b"", ACK, side=1, ack=910))
        assert [p.data for p in sink.pieces if p.direction == 1 and p.end == "fin"] == [b""] * (not gap)
        found = [(p.data, p.gap) for p in sink.close().pieces if p.direction == 1 and p.data]
        assert found == [(early, 0), (b"ghi", gap)]


def test_joined_with_bytes_one_by_one() -> None:
    """A byte between others is of the stream, though it came alone, late, or twice."""
    one = segment(902, b"c")
    rest = (segment(900, b"ab"), segment(903, b"d"))
    first = (segment(900, b"\0"), segment(901, b"abc"))
    answer_to_all = segment(5000, b"", ACK, side=1, ack=904)
    for order in ((*rest, answer_to_all, one), (*rest, one, answer_to_all, one)):
        sink = Sink()
        sink.add(*order)
        assert sink.close().data() == b"abcd"
    for again in (
        [*first, answer_to_all],
        [*first, *first, answer_to_all],
        [first[1], answer_to_all, *first],
    ):
        sink = Sink()
        sink.add(*again)
        assert sink.close().data() == b"\0abc"


@pytest.mark.parametrize("idle", [False, True])
def test_what_waits_while_a_capture_is_made(idle: bool) -> None:
    """A pause, or the time of another flow, shows that no older bytes will come."""
    sink = Sink()
    sink.add(segment(900, b"ask", ack=5000), segment(5000, b"reply", side=1, ack=903, time=5))
    assert sink.pieces == []
    if not idle:
        assert sink.assembler.overdue(False) == []
        sink.assembler.add(segment(1, client=2, time=5 + limits.GAP_TIME_US), [])
    found = sink.take(sink.assembler.overdue(idle))
    assert [(p.direction, p.data) for p in found] == [(0, b"ask"), (1, b"reply")]
    assert sink.assembler.overdue(True) == []
    assert [p.data for p in sink.add(segment(903, b"more", ack=5005, time=10))] == [b"more"]
    sink.add(segment(908, b"late", ack=5005, time=11), segment(5005, b"", ACK, side=1, ack=908, time=12))
    assert [(p.data, p.gap) for p in sink.take(sink.assembler.overdue(True))] == [(b"late", 1)]
    sink.close()


def test_two_joined_sides_begin_in_order() -> None:
    """One segment shows that both have begun: what they sent before comes in the order of the capture."""
    sink = Sink()
    for at in range(4):
        sink.add(segment(900 + 2 * at, b"aa", ack=5000 + 2 * at, time=2 * at))
        if at in (1, 2):
            sink.add(segment(902 + 2 * at, b"", ACK, ack=5000 + 2 * at))
        assert sink.pieces == []
        sink.add(segment(5000 + 2 * at, b"bb", side=1, ack=902 + 2 * at, time=2 * at + 1))
    assert [p.data for p in sink.pieces] == [b"aa", b"bb"] * 4


def test_what_a_joined_side_sent_waits_while_older_bytes_of_the_other_may_come() -> None:
    """A reply is known to be younger than the request that comes late, as it acknowledges it."""
    sink = Sink()
    for at in range(sequencing.JOIN_SEGMENTS - 1):
        sink.add(segment(5000 + at, b"b", side=1, ack=903, time=at))
    sink.add(segment(903, b"def", ack=5000, time=10), segment(5007, b"b", side=1, ack=903, time=11))
    assert sink.pieces == []
    sink.add(segment(900, b"abc", ack=5000, time=12))
    pieces = [p for p in sink.close().pieces if p.data]
    assert [p.data for p in pieces][-3:] == [b"b", b"abc", b"def"]
    assert {p.opposite for p in pieces if p.direction != pieces[-1].direction} == {900}


def test_joined_where_bytes_were_sent_that_had_not_arrived() -> None:
    """They may be captured yet, though many segments after them were."""
    for acked, data in ((900, b"abcdefghijkl"), (903, b"defghijkl")):
        sink = Sink()
        sink.add(answer(acked), *[segment(903 + at, b"%c" % (100 + at)) for at in range(9)])
        sink.add(segment(900, b"abc"))
        assert sink.close().data(1) == data


def test_at_the_end_of_a_capture_no_direction_is_over_before_the_bytes_of_the_other() -> None:
    sink = Sink()
    sink.add(segment(900, b"abc"), segment(5000, b"def", side=1, time=1))
    assert [(p.data, p.end) for p in sink.close().pieces] == [
        (b"abc", ""),
        (b"def", ""),
        (b"", "close"),
        (b"", "close"),
    ]


def test_joined_in_the_middle_out_of_order() -> None:
    sink = Sink()
    sink.add(segment(903, b"def"), segment(900, b"abc"))
    sink.add(segment(5000, b"", ACK, side=1, ack=906))
    assert sink.close().data() == b"abcdef"


def test_one_side_only() -> None:
    sink = Sink()
    for index in range(sequencing.JOIN_SEGMENTS):
        sink.add(segment(900 + index, b"x"))
    assert sink.data() == b""  # the other one may come yet
    after_us = ordering.SILENT_US + 1
    assert sink.add(segment(900 + sequencing.JOIN_SEGMENTS, b"y", time=after_us))[-1].data == b"y"
    assert sink.data() == b"x" * sequencing.JOIN_SEGMENTS + b"y"
    assert sink.add(segment(901 + sequencing.JOIN_SEGMENTS, b"z", time=after_us))[0].data == b"z"
    sink.close()


def test_segments_count_once_however_they_are_held() -> None:
    """Six segments and a seventh that fills the holes between them, then the SYN: nothing is missing."""
    sink = Sink()
    for at in (0, 1, 2, 3, 5, 7):
        sink.add(segment(1 + at, bytes([at])))
    assert sink.add(segment(1, bytes(range(8)))) == []
    sink.add(segment(0, flags=SYN))
    assert (sink.data(), sink.close().notes()) == (bytes(range(8)), [])


def test_repeated_segments_do_not_begin_a_stream() -> None:
    sink = Sink()
    for _ in range(2 * sequencing.JOIN_SEGMENTS):
        assert sink.add(segment(4, b"def")) == []
    sink.add(segment(1, b"abc"), segment(0, flags=SYN))
    assert (sink.data(), sink.close().notes()) == (b"abcdef", [])


def test_segments_before_a_checkpoint_count() -> None:
    assembler = Assembler()
    for index in range(sequencing.JOIN_SEGMENTS - 1):
        assert pieces_of(assembler, segment(900 + index, b"x")) == []
    assembler, _ = checkpoint.load(checkpoint.save(assembler, Conversations()))
    last = segment(900 + sequencing.JOIN_SEGMENTS - 1, b"x", time=ordering.SILENT_US + 1)
    found = pieces_of(assembler, last)
    assert b"".join(piece.data for piece in found) == b"x" * sequencing.JOIN_SEGMENTS


@pytest.mark.parametrize("side", [0, 1])
def test_a_syn_is_not_of_a_stream_whose_acknowledgments_it_contradicts(side: int) -> None:
    """Ports are used again, with a sequence number shortly before that of the bytes that wait."""
    sink = Sink()
    sink.add(segment(910, b"x", side=side, ack=500))
    if side == 0:
        sink.add(segment(500, side=1, ack=800))  # it has not received the bytes from 900 on
        sink.add(segment(899, flags=SYN), segment(900, b"new"))
    else:
        sink.add(segment(899, flags=SYN | ACK, side=1, ack=501), segment(900, b"new", side=1, ack=501))
    sink.close()
    assert [sink.data(0, 1), sink.data(side, 2)] == [b"x", b"new"]  # who sent first is taken for the client


def joined_replies(client: int = 1, data: bytes = b"x") -> list[Segment]:
    """The bytes of a server from 900 on, of which the last ones acknowledge 10 bytes of its client."""
    count = sequencing.JOIN_SEGMENTS
    return [
        segment(900 + len(data) * at, data, PSH | ACK, 1, ack=510 if at > 4 else 500, client=client)
        for at in range(count)
    ]


def test_first_bytes_of_one_direction_wait_for_those_of_the_other() -> None:
    """They show which replies were captured before their requests, in the process that goes on, too."""
    asked = [segment(500, b"request 10", PSH | ACK, ack=900), segment(510, flags=FIN | ACK, ack=908)]
    found: list[list[tuple[str, bytes, int]]] = []
    for saved in (False, True):
        assembler = Assembler()
        assert pieces_of(assembler, *joined_replies()) == []
        if saved:
            assembler, _ = checkpoint.load(checkpoint.save(assembler, Conversations()))
        assert sum(size for size, _ in assembler.waiting()) == sequencing.JOIN_SEGMENTS
        pieces = pieces_of(assembler, *asked) + assembler.close()
        found.append([(piece.flow.endpoint(piece.direction), piece.data, piece.opposite) for piece in pieces])
        assert assembler.payload == assembler.delivered + assembler.retransmitted
    assert found[0] == found[1]
    assert [opposite for _, data, opposite in found[0] if data == b"x"] == [500] * sequencing.JOIN_SEGMENTS


def test_what_waits_for_the_other_direction_is_bounded() -> None:
    data = bytes(ordering.SILENT_BYTES // 16)
    sink = Sink()
    for client in range(2 * limits.ALL_SILENT // (sequencing.JOIN_SEGMENTS * len(data))):
        sink.add(*joined_replies(client, data))
    assert sum(size for size, _ in sink.assembler.waiting()) <= limits.ALL_SILENT
    sink = Sink()
    sink.add(*joined_replies(data=bytes(ordering.SILENT_BYTES // 8 + 1)))
    assert sink.assembler.waiting() == []
    sink = Sink()
    sink.add(segment(510, flags=ACK, ack=900), *joined_replies())  # nothing of it can be missing
    assert sink.assembler.waiting() == []
    sink = Sink()
    sink.add(*joined_replies())
    assert len(sink.take(sink.assembler.overdue(True))) == sequencing.JOIN_SEGMENTS


def test_a_syn_behind_its_data() -> None:
    sink = Sink()
    sink.add(segment(4, b"def"), segment(1, b"abc"))
    found = sink.add(segment(0, flags=SYN))
    assert [p.data for p in found] == [b"abc", b"def"]
    assert sink.close().notes() == []
    assert sink.assembler.flows == 1


@pytest.mark.parametrize("start", [0, 0xFFFFFFF0, 0x7FFFFFF8, 0xFFFFFFFF])
def test_numbers_wrap(start: int) -> None:
    data = bytes(range(256)) * 3
    sink = started(start)
    order = list(range(0, len(data), 5))
    for at in range(0, len(order), 4):
        for offset in order[at : at + 4][::-1]:
            sink.add(segment(start + 1 + offset, data[offset : offset + 5]))
    assert sink.close().data() == data
    assert sink.assembler.retransmitted == 0


def test_a_stream_of_more_than_four_gibibytes() -> None:
    sink = started()
    step = limits.OUT_OF_STEP // 2
    position = 1
    for _ in range(40):
        sink.add(segment(position, b"data", missing=step - 4))
        position += step
    assert sink.close().pieces[-2].offset > 1 << 32
    assert sink.data() == b"data" * 40
    assert sink.pieces[0].flow.directions[0].length == 40 * step


def test_a_gap_is_said_with_its_size() -> None:
    sink = started()
    sink.add(segment(1, b"abc"), segment(104, b"def", time=10))
    found = sink.add(segment(501, b"", ACK, side=1, ack=107, time=20))
    assert found == []
    found = sink.add(segment(501, b"", ACK, side=1, ack=107, time=10 + limits.GAP_TIME_US))
    assert [(p.data, p.offset, p.gap) for p in found] == [(b"def", 103, 100)]
    assert sink.notes() == [("missing-bytes", 103)]
    (piece,) = sink.add(segment(107, b"ghi"))
    assert (piece.data, piece.gap) == (b"ghi", 0)
    flow = sink.close().pieces[0].flow
    direction = flow.directions[0]
    assert (direction.gap_bytes, direction.gap_count, direction.length) == (100, 1, 109)


def test_a_gap_nobody_confirms_waits_longer() -> None:
    sink = Sink()
    sink.add(segment(0, flags=SYN), segment(11, b"late", time=0))
    assert sink.add(segment(15, b"x", time=limits.GAP_TIME_US * 2)) == []
    found = sink.add(segment(16, b"y", time=limits.SILENT_TIME_US))
    assert [p.data for p in found] == [b"late", b"x", b"y"]
    sink.close()


def test_bytes_the_capture_cut_off() -> None:
    sink = started()
    found = sink.add(segment(1, b"abc", missing=7))
    assert [p.data for p in found] == [b"abc"]
    (piece,) = sink.add(segment(11, b"def", missing=2))
    assert (piece.data, piece.gap, piece.offset) == (b"def", 7, 10)
    sink.add(segment(20, b"xyz", missing=1), segment(16, b"", missing=4))
    assert sink.pieces[-1].data == b"xyz"
    assert sink.pieces[-1].gap == 6
    (piece, *_) = sink.take(sink.assembler.close())
    assert (piece.data, piece.end, piece.gap) == (b"", "close", 1)
    assert {code for code, _ in sink.notes()} == {"snap-length", "missing-bytes"}


def test_another_connection_without_a_syn() -> None:
    sink = started()
    sink.add(segment(1, b"first"), segment(0x90000000, b"second"), segment(501, b"", side=1, ack=0x90000006))
    sink.close()
    assert [sink.data(0, 1), sink.data(0, 2)] == [b"first", b"second"]


def test_one_stream_does_not_wait_with_more_than_its_limit() -> None:
    sink = started()
    size = 1400
    count = sequencing.STREAM_WAITING // size + 10
    tracemalloc.start()
    for index in range(count):
        sink.add(segment(2 + index * size, bytes(size)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * sequencing.STREAM_WAITING
    assert sink.pieces[0].gap == 1
    assert ("capture-limit", 1) in [(code, offset or 1) for code, offset in sink.notes()]
    assert sink.close().assembler.delivered == count * size


def test_tiny_segments_count_more_than_their_bytes() -> None:
    sink = started()
    count = sequencing.STREAM_WAITING // sequencing.WAITING_COST
    for index in range(count):
        sink.add(segment(3 + 2 * index, b"x"))
    assert sink.pieces != []
    sink.close()


def test_all_streams_together_are_bounded() -> None:
    sink = Sink()
    size = 60_000
    clients = sequencing.ALL_WAITING // size + 40
    data = bytes(size)
    for client in range(1, clients):
        sink.add(segment(0, flags=SYN, client=client), segment(10, data, client=client))
    given_up = {piece.flow.number for piece in sink.pieces}
    assert given_up == set(range(1, max(given_up) + 1))
    assert max(given_up) >= 30
    sink.close()


def test_open_flows_are_bounded() -> None:
    assembler = Assembler()
    count = limits.FLOWS + 1000
    pieces = [
        piece
        for client in range(1, count + 1)
        for piece in pieces_of(assembler, segment(0, b"x", SYN, client=client))
    ]
    assert assembler.open_flows <= limits.FLOWS
    ended = [piece.flow.number for piece in pieces if piece.end and piece.direction == 0]
    assert ended == list(range(1, limits.FLOWS // 4 + 2))
    assert {piece.end for piece in pieces} == {"", "limit"}
    pieces += assembler.close()
    assert sum(len(piece.data) for piece in pieces) == count


def test_finished_flows_are_forgotten() -> None:
    assembler = Assembler()
    for client in range(1, limits.CLOSED_FLOWS + 3000):
        for part in (segment(0, flags=SYN, client=client), segment(1, b"", RST, client=client)):
            pieces_of(assembler, part)
    assert len(assembler._table) <= limits.CLOSED_FLOWS + 1
    assert assembler.open_flows == 0


def test_many_flows_interleaved() -> None:
    count, rounds = 10_000, 6
    sink = Sink()
    chooser = random.Random(5)
    positions = [1] * count
    for _ in range(rounds):
        for client in chooser.sample(range(count), count):
            if positions[client] == 1:
                sink.add(segment(0, flags=SYN, client=client + 1))
            data = struct.pack(">II", client, positions[client])
            sink.add(segment(positions[client], data, client=client + 1))
            positions[client] += len(data)
    sink.close()
    streams: dict[int, list[bytes]] = {}
    for piece in sink.pieces:
        streams.setdefault(piece.flow.number, []).append(piece.data)
    assert len(streams) == count
    for parts in streams.values():
        whole = b"".join(parts)
        name = whole[:4]
        assert whole == b"".join(name + struct.pack(">I", 1 + 8 * turn) for turn in range(rounds))


def test_datagrams_are_pieces() -> None:
    frames = [
        ethernet(ipv4(udp(5000, 26000, b"ask"), 17)),
        ethernet(ipv4(udp(26000, 5000, b"answer"), 17, SERVER, CLIENT)),
        ethernet(ipv4(udp(5000, 26000, b""), 17)),
        ethernet(ipv4(udp(5000, 26000, b"again"), 17)),
    ]
    reader = Reader()
    pieces = fed(reader, pcap(frames))
    assert [(p.direction, p.offset, p.data, p.packets) for p in pieces] == [
        (0, 0, b"ask", (1,)),
        (1, 0, b"answer", (2,)),
        (0, 3, b"again", (4,)),
    ]
    assert pieces[0].flow.transport == "udp"
    assert [p.end for p in reader.close()] == ["close", "close"]


def test_a_cut_datagram_is_a_gap_behind_it() -> None:
    frames = [ethernet(ipv4(udp(data=b"0123456789"), 17)), ethernet(ipv4(udp(data=b"next"), 17))]
    reader = Reader()
    data = pcap([frames[0][:-4], frames[1]], lengths=[len(frame) for frame in frames])
    first, second = fed(reader, data)
    assert (first.data, [note.code for note in first.notes]) == (b"012345", ["snap-length"])
    assert (second.data, second.gap, second.offset) == (b"next", 4, 10)


def conversation() -> tuple[list[bytes], bytes, bytes]:
    talk = Talk()
    frames = talk.hello()
    frames += [talk.send(0, b"question " * 20), talk.send(1, b"answer " * 50), talk.send(0, b"thanks")]
    return frames + talk.goodbye(), b"question " * 20 + b"thanks", b"answer " * 50


def test_flows() -> None:
    frames, client, server = conversation()
    (flow,) = flows([pcap(frames)])
    assert isinstance(flow, Flow)
    assert (flow.directions[0].data, flow.directions[1].data) == (client, server)
    assert [direction.length for direction in flow.directions] == [len(client), len(server)]
    assert [direction.gaps for direction in flow.directions] == [[], []]
    assert flow.last_us - flow.first_us == (len(frames) - 1) * 1000
    assert flow.directions[0].segments + flow.directions[1].segments == len(frames)
    (flow,) = flows([pcap(frames[:3] + frames[4:])])
    assert flow.directions[0].gaps == [(0, 180)]
    assert flow.directions[0].data == b"thanks"
    assert flow.endpoint(0) == "10.0.0.1:40000"
    assert flows([]) == []
    assert flows([b"no capture"]) == []


def test_the_bytes_add_up() -> None:
    frames, client, server = conversation()
    noise = [ethernet(bytes(28), 0x0806), b"short", frames[3], frames[4]]
    data = pcap(frames + noise) + bytes(9)
    reader = Reader()
    pieces = fed(reader, data) + reader.close()
    assert reader.bytes_read == len(data) == reader.overhead + reader.payload
    assert reader.delivered == len(client) + len(server) == sum(len(piece.data) for piece in pieces)
    assert reader.retransmitted == 180 + 350
    assert reader.payload == reader.delivered + reader.retransmitted
    assert reader.ignored == {"arp": 1, "cut": 1}
    assert [note.code for note in reader.damage] == ["truncated", "bad-packet"]
    assert reader.damages == 2
    assert (reader.packets, reader.flows, reader.container, reader.unsupported) == (
        len(frames) + 4,
        1,
        "pcap",
        "",
    )


def test_streams_from_rows() -> None:
    frames, client, server = conversation()
    from wirelens.codecs.captures import Dissector, read_packets

    dissector = Dissector()
    segments: list[Segment] = []
    for packet in read_packets([pcap(frames)]):
        dissector.add(packet, segments)
    rows = [segment.row() for segment in segments]
    sink = Sink()
    for row in sorted(rows, key=lambda row: (row[7], row[8])):
        sink.add(Segment(*row))
    sink.close()
    assert (sink.data(0), sink.data(1)) == (client, server)


@pytest.mark.parametrize("start", [1 << 31, (1 << 32) - 300, (1 << 32) - 3])
def test_a_connection_begins_after_a_single_byte_taken_for_a_keep_alive(start: int) -> None:
    sink = Sink()
    sink.add(*[segment(0, flags=0)] * 12)
    sink.add(segment(0, ack=(1 << 32) - 1))
    sink.add(segment(1 << 31, b"\0", side=1))
    sink.add(segment(start, flags=SYN, side=1), segment(start + 1, b"abc", side=1))
    sink.close()
    assert b"".join(piece.data for piece in sink.pieces) == b"abc"


@given(st.integers(1, 400), st.integers(0, 0xFFFFFFFF), st.booleans(), st.data())
def test_any_order_gives_the_same_stream(size: int, start: int, with_syn: bool, draw: st.DataObject) -> None:
    """Cut anyhow, repeated, overlapping, in any order: the stream is the same."""
    data = bytes((index * 7 + index // 251) % 256 for index in range(size))
    cuts = sorted({0, size, *draw.draw(st.lists(st.integers(0, size), max_size=12))})
    parts = list(itertools.pairwise(cuts))
    parts += draw.draw(st.lists(st.tuples(st.integers(0, size), st.integers(0, size)), max_size=6))
    parts = [(first, last) for first, last in draw.draw(st.permutations(parts)) if first < last]
    sink = Sink()
    segments = [segment(start + 1 + first, data[first:last]) for first, last in parts]
    syn = segment(start, flags=SYN)
    if with_syn:
        segments.insert(0, syn)
    else:
        segments.insert(draw.draw(st.integers(0, min(len(segments), sequencing.JOIN_SEGMENTS - 1))), syn)
    sink.add(*segments)
    sink.close()
    assert sink.data() == data
    assert sink.assembler.flows == 1
    assert sink.notes() == []


@given(st.integers(2, 300), st.data())
def test_missing_segments_are_gaps(size: int, draw: st.DataObject) -> None:
    data = bytes(index % 256 for index in range(size))
    cuts = sorted({0, size, *draw.draw(st.lists(st.integers(0, size), max_size=12))})
    parts = list(itertools.pairwise(cuts))
    kept = draw.draw(st.lists(st.sampled_from(parts), unique=True))
    sink = started()
    sink.add(*[segment(1 + first, data[first:last]) for first, last in kept])
    sink.close()
    whole = bytearray(size)
    seen = 0
    for piece in sink.pieces:
        if piece.direction == 0:
            whole[piece.offset : piece.offset + len(piece.data)] = piece.data
            seen += len(piece.data)
    assert seen == sum(last - first for first, last in kept)
    assert len(whole) == size
    for first, last in kept:
        assert whole[first:last] == data[first:last]


numbers = st.one_of(st.integers(0, 60), st.sampled_from([0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x10000000]))


@given(
    st.lists(
        st.tuples(
            numbers,
            st.binary(max_size=12),
            st.sampled_from([0, ACK, SYN, SYN | ACK, FIN | ACK, RST, RST | ACK, SYN | FIN, PSH | ACK, 0xFF]),
            st.integers(0, 1),
            numbers,
            st.sampled_from([0, 0, 0, 1, 9, 1 << 31]),
            st.integers(-5, 30_000_000),
        ),
        max_size=40,
    )
)
def test_any_segments_are_survived(parts: list[tuple[int, bytes, int, int, int, int, int]]) -> None:
    sink = Sink()
    for seq, data, flags, side, ack, missing, time in parts:
        sink.add(segment(seq, data, flags, side, ack=ack, missing=missing, time=time))
    sink.close()


@given(st.binary(max_size=300))
def test_flows_never_raise(data: bytes) -> None:
    flows([data])
    flows([pcap([data])])
    flows([pcap([ethernet(ipv4(data))])])
    flows([pcap([ethernet(ipv4(tcp(data=data) + data))]), data])


@pytest.mark.slow
def test_a_large_capture_takes_little_memory() -> None:
    """What is given out is not kept: 20 MB of 500 flows that never end."""
    reader = Reader()
    total = len(pcap([]))
    fed(reader, pcap([]))
    tracemalloc.start()
    for turn in range(40):
        frames = []
        for client in range(500):
            source = struct.pack(">I", 0x0B000000 + client)
            frames.append(
                ethernet(ipv4(tcp(seq=1 + turn * 1000, flags=PSH | ACK, data=bytes(1000)), 6, source))
            )
        chunk = pcap(frames)[24:]
        total += len(chunk)
        for start in range(0, len(chunk), 1 << 16):
            fed(reader, chunk[start : start + (1 << 16)])
    del frames, chunk
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert reader.bytes_read == total > 20_000_000
    assert size < 3_000_000 + 2 * sequencing.HISTORY  # kept for comparison, in buffers that double
    reader.close()
    assert reader.delivered == 20_000_000
