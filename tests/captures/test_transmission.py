"""How messages were transmitted: first copies, holes, retransmissions, packets captured twice."""

from collections.abc import Sequence

import pytest
from building import ACK, PSH, SYN, Talk, ethernet, ipv4, pcap, tcp
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.captures import Flow, Piece, Reader
from wirelens.codecs.captures.merge import MergedReader
from wirelens.codecs.captures.transmission import RESENT, Acknowledgement, History, Resent, Transmission

MS = 1000


def history(*segments: tuple[int, int, int], acks: dict[int, int] | None = None) -> History:
    """Segments (sequence, length, time); before the nth of them `acks`[n] is acknowledged."""
    made = History(False)
    for order, (sequence, length, time_us) in enumerate(segments):
        if acks and order in acks:
            made.acknowledge(acks[order])
        made.add(sequence, length, time_us, order, order + 1, 7, 100 + order)
    return made


def times(message: Transmission) -> tuple[int, int, int]:
    return message.first_us, message.own_us, message.readable_us


def test_a_message_in_one_packet() -> None:
    made = history((1000, 20, 5), (1020, 30, 9))
    first, second = made.take(1000, 0, 20), made.take(1000, 20, 30)
    assert times(first) == (5, 5, 5)
    assert times(second) == (9, 9, 9)
    assert (first.packets, first.resent_bytes, first.once, first.packet) == (1, 0, True, 1)
    assert (second.sequence, second.order, second.cuts) == (1020, 1, [])


def test_several_messages_in_one_packet_and_one_in_several() -> None:
    made = history((0, 30, 1), (30, 30, 2), (60, 40, 3))
    assert [times(made.take(0, at, 10)) for at in (0, 10, 20)] == [(1, 1, 1)] * 3
    whole = made.take(0, 30, 70)
    assert times(whole) == (3, 3, 3)
    assert whole.packets == 2
    assert whole.cuts == [30]


def test_a_message_that_is_complete_but_follows_a_hole() -> None:
    made = history((0, 10, 1 * MS), (20, 10, 2 * MS), (10, 10, 200 * MS))
    made.take(0, 0, 10)
    lost, held = made.take(0, 10, 10), made.take(0, 20, 10)
    assert times(lost) == (200 * MS,) * 3
    assert lost.early_copy
    assert times(held) == (2 * MS, 2 * MS, 200 * MS)
    assert not held.early_copy


def test_a_hole_that_was_acknowledged_before_the_copy_came_delays_nothing() -> None:
    made = history((0, 10, 1), (20, 10, 2), (10, 10, 200 * MS), acks={2: 30})
    made.take(0, 0, 10)
    missed, after = made.take(0, 10, 10), made.take(0, 20, 10)
    assert times(missed) == (-1, -1, -1)
    assert times(after) == (2, 2, 2)


def test_a_hole_never_filled() -> None:
    made = history((0, 10, 1), (20, 10, 2))
    made.take(0, 0, 10)
    assert times(made.take(0, 20, 10)) == (2, 2, -1)
    made = history((0, 10, 1), (20, 10, 2), (30, 10, 3), acks={2: 30})
    made.take(0, 0, 10)
    assert times(made.take(0, 20, 10)) == (2, 2, 2)
    cut = history((0, 10, 1), (20, 10, 2)).take(0, 0, 30)
    assert cut.missing == 10
    assert not cut.once
    assert cut.own_us == -1


def test_order_of_packets_not_of_times() -> None:
    made = history((0, 10, 900), (20, 10, 950), (10, 10, 100))  # the clock was set back before the last one
    made.take(0, 0, 10)
    made.take(0, 10, 10)
    assert times(made.take(0, 20, 10)) == (950, 950, 100)


@pytest.mark.parametrize("late", [False, True])
def test_what_is_sent_again_counts_before_and_after_the_message_is_taken(late: bool) -> None:
    made = history((0, 100, 1), *([] if late else [(50, 50, 300 * MS)]))
    message = made.take(0, 0, 100)
    if late:
        made.add(50, 50, 300 * MS, 9, 10, 7, 200)
    assert (message.packets, message.resent_bytes, message.first_us) == (2, 50, 1)
    assert [repeat[:2] for repeat in message.repeats] == [(50, 100)]
    assert not message.once


@pytest.mark.parametrize(
    ("mark", "passed", "copies"),
    [(100, 30, 1), (100, 9000, 1), (100, 20_000, 2), (101, 30, 2), (0, 30, 1), (0, 300, 2)],
)
def test_a_packet_captured_twice(mark: int, passed: int, copies: int) -> None:
    made = History(False)
    made.add(0, 10, 0, 1, 1, 7, mark and 100)
    made.add(0, 10, passed, 2, 2, 7, mark)
    assert made.take(0, 0, 10).packets == copies


def test_a_copy_captured_twice_is_one_copy() -> None:
    made = history((0, 10, 0), (10, 10, 1))
    made.take(0, 0, 10)
    message = made.take(0, 10, 10)
    made.add(10, 10, 300 * MS, 5, 5, 7, 500)
    made.add(10, 10, 300 * MS + 20, 6, 6, 7, 500)
    assert message.packets == 2
    assert message.resent_bytes == 10


def test_a_keep_alive_is_no_copy() -> None:
    made = history((0, 10, 0))
    message = made.take(0, 0, 10)
    made.acknowledge(10)
    assert made.add(9, 1, 60_000 * MS, 5, 5, 7, 9) == "keep-alive"
    assert message.once


def test_sequence_numbers_that_wrap() -> None:
    near = (1 << 32) - 15
    made = history((near, 10, 1), ((near + 10) & 0xFFFFFFFF, 10, 2), (5, 10, 3))
    assert [made.take(near, at, 10).first_us for at in (0, 10, 20)] == [1, 2, 3]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.data())
def test_any_order_and_any_copies(sizes: list[int], data: st.DataObject) -> None:
    """Messages of one packet each, in any order, some sent twice: the times are those of a plain model."""
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    order = data.draw(st.permutations(range(len(sizes))))
    again = data.draw(st.lists(st.sampled_from(range(len(sizes))), max_size=5))
    sent = [*order, *again]
    made = History(False)
    for place, index in enumerate(sent):
        made.add(starts[index], sizes[index], 100 * place, place, place, 7, 1000 + place)
    arrived = {index: 100 * place for place, index in enumerate(order)}
    for index, size in enumerate(sizes):
        message = made.take(0, starts[index], size)
        assert message.first_us == message.own_us == arrived[index]
        assert message.readable_us == max(arrived[before] for before in range(index + 1))
        assert message.packets == 1 + again.count(index)
        assert message.missing == 0


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=20), st.integers(1, 20), st.data()
)
def test_counted_messages_have_the_packets_and_copies_of_taken_ones(
    segments: list[tuple[int, int]], size: int, data: st.DataObject
) -> None:
    """Whatever came before the message was asked for, and whatever comes after it."""
    taken, counted = History(False), History(False)
    resent = Resent()
    messages: list[tuple[Transmission, int]] = []
    for place, (start, length) in enumerate([(0, 30), *segments]):
        for made in (taken, counted):
            made.add(start, length, MS * place, place, place, 7, 1000 + place)
        if len(messages) < 3 and data.draw(st.booleans()):
            at = size * len(messages)
            number = len(messages)
            messages.append((taken.take(0, at, size), int(counted.count(0, at, size, number, resent))))
    for number, (message, packets) in enumerate(messages):
        again, length = resent.take(number)
        assert (packets + again, length) == (message.packets, message.resent_bytes)
    assert not resent.copies


def test_copies_that_nobody_asks_for_are_bounded() -> None:
    resent = Resent()
    for number in range(RESENT + 2):
        resent.add(number, 5)
    assert len(resent.copies) <= RESENT
    assert resent.take(RESENT + 1) == (1, 5)


def observed(frames: Sequence[bytes], *, merged: bool = False, log: bool = False) -> Flow:
    data = pcap(frames)
    reader: Reader | MergedReader = MergedReader([0]) if merged else Reader()
    reader.assembler.observe(log)
    pieces: list[Piece] = []
    if isinstance(reader, MergedReader):
        for portion in (*reader.feed(data), *reader.end()):
            pieces += portion
    else:
        for portion in reader.steps(data):
            pieces += portion
        pieces += reader.close()
    return pieces[0].flow


@pytest.mark.parametrize("merged", [False, True])
def test_a_capture_read_with_its_histories(merged: bool) -> None:
    talk = Talk()
    request = talk.send(0, b"x" * 50)
    frames = [request, talk.send(1, b"y" * 20), request]
    flow = observed([*Talk().hello()[:0], *frames], merged=merged)
    asked, answered = flow.directions[0].history, flow.directions[1].history
    assert asked is not None
    assert answered is not None
    message = asked.take(flow.directions[0].sequence, 0, 50)
    assert message.packets == 1  # same identification, within 10 ms: captured twice
    assert answered.take(flow.directions[1].sequence, 0, 20).sequence == 5000
    assert message.mark & 0xFFFF == 1


def test_the_log_of_segments() -> None:
    talk = Talk()
    frames = talk.hello()
    frames += [talk.send(0, b"x" * 50), talk.send(1, b"y" * 20)]
    again = ethernet(ipv4(tcp(40000, 1080, 1001, 5001, ACK | PSH, b"x" * 50), ident=9))
    flow = observed([*frames, again], log=True)
    history = flow.directions[0].history
    assert history is not None
    assert [(one.flags & SYN, one.length, one.remark) for one in history.log] == [
        (SYN, 0, ""),
        (0, 0, ""),
        (0, 50, ""),
        (0, 50, "again"),
    ]
    assert [one.sequence for one in history.log] == [1001, 1001, 1001, 1001]


def test_nothing_is_kept_unless_it_is_asked_for() -> None:
    talk = Talk()
    flow = Reader()
    pieces = [piece for part in flow.steps(pcap([talk.send(0, b"abc")])) for piece in part]
    pieces += flow.close()
    assert pieces[0].flow.directions[0].history is None


def test_the_acknowledgement_of_a_message() -> None:
    """It may come before the message is asked for, or after; captured twice it is one."""
    made = history((1000, 10, 1), (1010, 10, 2), (1020, 10, 3))
    made.acknowledge_alone(1010, Acknowledgement(50, 3, 4, 77))
    made.acknowledge_alone(1010, Acknowledgement(60, 4, 5, 77))
    made.acknowledge_alone(1015, Acknowledgement(70, 5, 6, 78))
    first, second, third = (made.take(1000, at, 10) for at in (0, 10, 20))
    assert first.acknowledgement is not None
    assert (first.acknowledgement.time_us, first.acknowledgement.again) == (50, False)
    assert second.acknowledgement is None
    made.acknowledge_alone(1030, Acknowledgement(80, 6, 7, 79))
    assert third.acknowledgement is not None
    assert not third.acknowledgement.again
    made.acknowledge_alone(1030, Acknowledgement(90_000, 7, 8, 80))
    assert third.acknowledgement.again
    assert second.acknowledgement is None
