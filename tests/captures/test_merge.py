"""Packets of several captures are those of one capture, in the order of their times."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from building import Talk, enhanced, ethernet, interface, ipv4, pcap, section, udp
from hypothesis import given
from hypothesis import strategies as st

from wirelens.codecs.captures import CHUNK, Piece, Reader
from wirelens.codecs.captures.merge import NO_START, MergedReader, Runs, in_order, start_of
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK

if TYPE_CHECKING:
    from collections.abc import Sequence

runs_of_numbers = st.lists(
    st.lists(st.integers(0, 20), min_size=1, max_size=8).map(sorted), min_size=1, max_size=6
)


@given(runs_of_numbers)
def test_rows_come_out_sorted(rows: list[list[int]]) -> None:
    keyed = [([(time, 100 * turn + at) for at, time in enumerate(row)], row) for turn, row in enumerate(rows)]
    keyed.sort(key=lambda run: run[0][0])
    expected = sorted(key for keys, _ in keyed for key in keys)
    parts = list(in_order((*keys[0], (keys, list(keys))) for keys, _ in keyed))
    assert [key for part, _, _ in parts for key in part] == expected
    assert all(part and keys[start : start + len(part)] == part for part, keys, start in parts)


def test_a_run_is_taken_up_to_the_next() -> None:
    runs: Runs[str] = Runs()
    runs.add(7, [(1, 0), (2, 0), (5, 0)], ["a", "b", "c"])
    runs.add(8, [(3, 1)], ["x"])
    assert runs.first == (1, 0)
    assert runs.take((2, 0)) == ["a"]
    assert runs.take(None) == ["b"]
    assert (runs.turn, runs.holds(7)) == (7, True)
    assert runs.take(None) == ["x"]
    assert (runs.turn, runs.holds(8)) == (8, False)
    assert runs.take(None) == ["c"]
    assert runs.first is None
    runs.add(9, [], [])
    assert runs.first is None


def conversation(chance: random.Random) -> list[bytes]:
    """Frames of some connections and datagrams."""
    frames: list[bytes] = []
    talks = [Talk(chance.randrange(1 << 32), chance.randrange(1 << 32), 40000 + port) for port in range(4)]
    for talk in talks:
        frames += talk.hello()
    for _ in range(60):
        talk = chance.choice(talks)
        frames.append(talk.send(chance.randrange(2), chance.randbytes(chance.randrange(1, 90))))
        if chance.random() < 0.2:
            frames.append(ethernet(ipv4(udp(50000, 26000, chance.randbytes(20)), 17)))
    return frames


def plain(pieces: Sequence[Piece]) -> list[tuple[object, ...]]:
    return [
        (
            piece.flow.number,
            int(piece.direction),
            int(piece.offset),
            piece.data,
            int(piece.time_us),
            piece.end,
        )
        for piece in pieces
    ]


def read(
    files: Sequence[bytes], starts: Sequence[int], step: int, points: Sequence[bytes] = ()
) -> list[Piece]:
    """The pieces of merged captures, read in steps; only captures whose packets are due are asked for."""
    reader = MergedReader(starts, points)
    at = [0] * len(files)
    pieces: list[Piece] = []
    while reader.wanted >= 0:
        number = reader.wanted
        chunk = files[number][at[number] : at[number] + step]
        at[number] += len(chunk)
        for portion in reader.feed(chunk) if chunk else reader.end():
            pieces += portion
    assert at == [len(file) for file in files]
    return pieces


@given(
    st.integers(0, 1000),
    st.integers(1, 5),
    st.sampled_from(["rotated", "dealt", "any"]),
    st.sampled_from([50, 700, CHUNK]),
    st.booleans(),
)
def test_captures_are_as_one(seed: int, count: int, how: str, step: int, known: bool) -> None:
    chance = random.Random(seed)
    frames = conversation(chance)
    whole = Reader()
    expected = [piece for part in whole.steps(pcap(frames)) for piece in part] + whole.close()
    places: list[list[int]] = [[] for _ in range(count)]
    for place in range(len(frames)):
        which = {"rotated": place * count // len(frames), "dealt": place % count}
        places[which.get(how, chance.randrange(count))].append(place)
    files = [
        pcap([frames[place] for place in part], times=[1000 * place for place in part]) for part in places
    ]
    starts = [start_of(file, True)[1] if known else NO_START for file in files]
    pieces = read(files, starts, step)
    assert plain(pieces) == plain(expected)
    for piece, same in zip(pieces, expected, strict=True):
        if not same.packets:  # the end of a direction without bytes
            continue
        file, number = piece.packets[-1] >> FILE_SHIFT, piece.packets[-1] & NUMBER_MASK
        assert places[file][number - 1] == same.packets[-1] - 1


def test_files_are_read_only_when_their_packets_are_due() -> None:
    frames = conversation(random.Random(1))
    files = [pcap(frames[at : at + 20], times=[1000 * (at + n) for n in range(20)]) for at in (40, 20, 0)]
    starts = [start_of(file, True)[1] for file in files]
    reader = MergedReader(starts)
    wanted: list[int] = []
    given_out: list[int] = []
    while reader.wanted >= 0:
        number = reader.wanted
        fresh = number not in wanted
        wanted.append(number)
        portions = reader.feed(files[number]) if fresh else reader.end()
        given_out.append(sum(len(portion) for portion in portions))
    assert wanted == [2, 2, 1, 1, 0, 0]
    assert given_out[0]  # a file's pieces do not wait for the next file


def test_points_have_flows_of_their_own() -> None:
    frames = conversation(random.Random(2))
    file = pcap(frames)
    start = start_of(file, True)[1]
    alone = read([file], [start], CHUNK)
    merged = read([file, file], [start, start], CHUNK, (b"left", b"right"))
    assert len({piece.flow.number for piece in merged}) == 2 * len({piece.flow.number for piece in alone})
    assert sum(len(piece.data) for piece in merged) == 2 * sum(len(piece.data) for piece in alone)
    assert {piece.flow.hosts for piece in merged} == {piece.flow.hosts for piece in alone}
    assert {piece.flow.ports for piece in merged} == {piece.flow.ports for piece in alone}


def test_damage_is_of_its_file() -> None:
    good = pcap([ethernet(ipv4(udp(1, 2, b"abc"), 17))])
    cut = pcap([ethernet(ipv4(udp(1, 2, b"abc"), 17))[:30]], times=[5])
    reader = MergedReader([NO_START, NO_START])
    files = [good, cut + b"xyz"]
    fed: set[int] = set()
    while reader.wanted >= 0:
        number = reader.wanted
        portions = reader.end() if number in fed else reader.feed(files[number])
        fed.add(number)
        for _ in portions:
            pass
    assert reader.damage(0) == []
    assert [note.code for note in reader.damage(1)] == ["truncated", "bad-packet"]
    assert "packet 1:" in reader.damage(1)[1].text
    assert reader.packets == 2
    assert sum(reader.ignored.values()) == 1


def test_a_packet_on_two_interfaces_counts_once() -> None:
    same = ethernet(ipv4(udp(50000, 26000, b"same"), 17))
    other = ethernet(ipv4(udp(50000, 26000, b"other"), 17))
    # time in microseconds, interface, packet; the comment is whether it is new
    packets = [
        (1000, 0, same),  # new
        (1400, 1, same),
        (1500, 1, same),  # new: sent again
        (1600, 0, same),
        (1700, 2, same),
        (1700, 2, other),  # new
        (2701, 1, other),  # new: too late for the same
        (5000, 1, same),  # new
        (5100, 1, same),  # new: twice on one interface
    ]
    blocks = [section(), interface(), interface(), interface()]
    file = b"".join([*blocks, *(enhanced(data, time, number) for time, number, data in packets)])
    reader = Reader()
    pieces = [piece for part in reader.steps(file) for piece in part] + reader.close()
    assert [int(piece.time_us) for piece in pieces if piece.data] == [1000, 1500, 1700, 2701, 5000, 5100]
    assert reader.ignored == {"repeated": 3}
    assert reader.packets == len(packets)
    assert reader.bytes_read == reader.overhead + reader.payload
    one = b"".join([section(), interface(), *(enhanced(data, time, 0) for time, _, data in packets)])
    assert sum(1 for piece in read([one], [NO_START], CHUNK) if piece.data) == len(packets)
