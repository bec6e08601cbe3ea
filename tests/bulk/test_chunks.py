"""Segments in rows, and back in order."""

from hypothesis import given
from hypothesis import strategies as st

from wirelens.cli.bulk import plain_json
from wirelens.codecs.captures import Bundler, Segment, unbundle
from wirelens.codecs.captures.bundles import Bundle
from wirelens.codecs.captures.merge import in_order

words = st.integers(0, (1 << 32) - 1)
longs = st.integers(-(1 << 62), (1 << 62) - 1)
segments = st.builds(
    Segment,
    st.sampled_from([b"\x06" + bytes(12), b"\x11" + bytes(range(12)), b"\x06" + bytes(36)]),
    st.booleans(),
    words,
    words,
    st.integers(0, 511),
    st.binary(max_size=80),
    st.integers(0, 1 << 31),
    longs,
    st.integers(1, 1 << 50),
    longs,
    st.lists(st.integers(1, 1 << 50), max_size=3).map(tuple),
)


@given(st.lists(st.tuples(segments, st.integers(0, 5)), max_size=40), st.sampled_from([1, 60, 1 << 20]))
def test_segments_come_back_in_the_order_of_time_and_packet(
    given_segments: list[tuple[Segment, int]], limit: int
) -> None:
    bundlers = [Bundler(limit, 4 * limit, 0, 0) for _ in range(2)]  # two captures of the same time
    bundles: list[Bundle] = []
    times = [0, 0]
    expected: dict[bytes, list[tuple[int, int, tuple[object, ...]]]] = {}
    for place, (made, step) in enumerate(given_segments):
        which = place % 2
        times[which] += step
        row = made.row()
        segment = Segment(*row[:8], which << 40 | place, *row[9:])
        expected.setdefault(segment.key, []).append((times[which], segment.packet, segment.row()))
        bundlers[which].time = times[which]
        bundlers[which].add(segment, bundles)
    for bundler in bundlers:
        bundles += bundler.flush()
    assert sum(bundler.payload for bundler in bundlers) == sum(len(one.payload) for one, _ in given_segments)
    found: dict[bytes, list[tuple[object, ...]]] = {}
    for key in {bundle[0] for bundle in bundles}:
        mine = sorted((bundle for bundle in bundles if bundle[0] == key), key=lambda bundle: bundle[1:3])
        rows = ((time, packet, unbundle(key, data)) for _, time, packet, data in mine)
        runs = [run for run, _, _ in in_order(rows)]
        assert all(len({one.packet >> 40 for one in run}) == 1 for run in runs)
        found[key] = [segment.row() for run in runs for segment in run]
    assert found == {key: [row for _, _, row in sorted(each)] for key, each in expected.items()}


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=7), inner, max_size=3),
)


@given(plain)
def test_plain_values_come_back(value: object) -> None:
    assert plain_json.loads(plain_json.dumps(value)) == value
