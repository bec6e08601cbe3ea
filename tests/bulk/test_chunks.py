"""Segments in rows, and back in order."""

from hypothesis import given
from hypothesis import strategies as st

from wirelens.cli.bulk import chunks, plain_json
from wirelens.cli.bulk.chunks import Packer, Row, in_order, unpack
from wirelens.codecs.captures import Segment

words = st.integers(0, (1 << 32) - 1)
longs = st.integers(-(1 << 62), (1 << 62) - 1)
segments = st.builds(
    Segment,
    st.sampled_from([b"\x06" + bytes(12), b"\x11" + bytes(range(12)), b"\x06" + bytes(36)]),
    st.booleans(),
    words,
    words,
    st.integers(0, 255),
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
    rows: list[Row] = []
    before = chunks.CHUNK_BYTES, chunks.TASK_BYTES
    chunks.CHUNK_BYTES, chunks.TASK_BYTES = limit, 4 * limit
    try:
        packers = [Packer(3, file, False) for file in (0, 1)]
        times = [0, 0]
        expected: dict[bytes, list[tuple[int, int, tuple[object, ...]]]] = {}
        for place, (segment, step) in enumerate(given_segments):
            which = place % 2  # two captures of the same time
            times[which] += step
            segment.packet = which << 40 | place
            expected.setdefault(segment.key, []).append((times[which], segment.packet, segment.row()))
            packers[which].add(segment, times[which], rows)
        for packer in packers:
            packer.flush(rows)
    finally:
        chunks.CHUNK_BYTES, chunks.TASK_BYTES = before
    found: dict[bytes, list[tuple[object, ...]]] = {}
    for key in {row.key for row in rows}:
        mine = sorted((row for row in rows if row.key == key), key=lambda row: (row.time, row.packet))
        unpacked = ((row.time, row.packet, unpack(key, row.data)) for row in mine)
        found[key] = [segment.row() for segment in in_order(unpacked)]
    assert found == {key: [row for _, _, row in sorted(each)] for key, each in expected.items()}


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=7), inner, max_size=3),
)


@given(plain)
def test_plain_values_come_back(value: object) -> None:
    assert plain_json.loads(plain_json.dumps(value)) == value
