"""Captures of ../shared/field that were read wrongly once, read in place."""

from pathlib import Path

import pytest

from wirelens.codecs.captures import Flow, PacketReader, flows

STREAMS = Path(__file__).resolve().parents[3] / "shared" / "field" / "streams"

pytestmark = pytest.mark.skipif(not STREAMS.exists(), reason="no ../shared here")


def read(name: str) -> list[Flow]:
    return flows([(STREAMS / name).read_bytes()])


def sizes(name: str) -> list[tuple[int, int]]:
    return [(len(flow.directions[0].data), len(flow.directions[1].data)) for flow in read(name)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("keepalive_only.pcap", (0, 0)),
        ("keepalive_then_esnp.pcap", (21, 0)),
        ("ka_esnp_line_tcp.pcap", (369, 340)),
        ("rst_per_segment.pcap", (733, 0)),
        ("rst_then_data.pcap", (704, 265)),
    ],
)
def test_the_bytes_of_one_connection(name: str, expected: tuple[int, int]) -> None:
    assert sizes(name) == [expected]


@pytest.mark.parametrize("name", ["etag.pcap", "vxlan_reserved_last.pcap"])
def test_what_lies_in_tags_and_tunnels_is_read(name: str) -> None:
    assert sizes(name) == [(369, 340)]


@pytest.mark.parametrize(
    ("name", "packets", "wrong"),
    [("tcpdump__tests__timestamp_invalid_micro.pcap", 3, 2), ("usec_1000000.pcap", 7, 1)],
)
def test_packets_with_a_wrong_fraction_of_a_second_are_kept(name: str, packets: int, wrong: int) -> None:
    reader = PacketReader()
    found = [packet for step in reader.steps((STREAMS / name).read_bytes()) for packet in step]
    assert len(found + reader.close()) == packets
    assert [note.code for note in reader.notes] == ["bad-value"] * wrong
