"""The samples of ../shared/captures, read in place."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from feeding import fed

from wirelens.codecs.captures import UNSUPPORTED, Flow, Reader, flows

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"


def manifest(folder: str) -> list[dict[str, Any]]:
    path = CAPTURES / folder / "manifest.json"
    return json.loads(path.read_text()) if path.exists() else []


def names(folder: str) -> list[Any]:
    return [pytest.param(entry, id=entry["file"]) for entry in manifest(folder)]


def run(data: bytes, size: int) -> tuple[Reader, dict[tuple[int, int], bytes], list[str]]:
    reader = Reader()
    streams: dict[tuple[int, int], bytes] = {}
    notes: list[str] = []
    pieces = []
    for start in range(0, len(data), size):
        pieces += fed(reader, data[start : start + size])
    pieces += reader.close()
    for piece in pieces:
        stream = (piece.flow.number, piece.direction)
        if not piece.late:
            streams[stream] = streams.get(stream, b"") + piece.data
        notes += [note.code for note in piece.notes]
    assert reader.bytes_fed == len(data)
    assert reader.bytes_read == reader.overhead + reader.payload
    assert reader.payload == reader.delivered + reader.retransmitted
    late = sum(len(piece.data) for piece in pieces if piece.late)
    assert reader.delivered == late + sum(map(len, streams.values()))
    return reader, streams, notes


# TShark stops at an invalid record header; here reading resumes at the next record that fits.
MORE_PACKETS = {"pcap_huge_caplen.pcap": 13}
DAMAGED = {
    "pcap_trailing_garbage.pcap": ["truncated"],
    "pcap_truncated_last_record.pcap": ["truncated"],
    "pcap_truncated_payload_record.pcap": ["truncated"],
    "pcap_short_header.pcap": ["truncated"],
    "pcap_huge_caplen.pcap": ["bad-length", "skipped-bytes"],
    "pcapng_truncated_last_block.pcapng": ["truncated"],
    "pcapng_no_idb.pcapng": ["unknown-interface"],
}
SIZES = {
    "tcp_gap.pcap": [(191, 43)],
    "tcp_port_reuse.pcap": [(308, 60), (17, 17)],
    "tcp_server_first_packet.pcap": [(43, 17)],
    "udp_two_datagrams.pcap": [(72, 0)],
    "editcap_snap80.pcap": [(43, 43)],
    "pcap_huge_caplen.pcap": [(308, 17)],
    "lt_user0_147.pcap": [],
    "pcapng_no_idb.pcapng": [],
}
NOTES = {
    "tcp_gap.pcap": {"missing-bytes"},
    "tcp_no_syn.pcap": {"joined-middle"},
    "tcp_midstream_midframe.pcap": {"joined-middle"},
    "tcp_server_first_packet.pcap": {"joined-middle"},
    "tcp_rst_payload.pcap": {"reset-text"},
    "editcap_snap80.pcap": {"snap-length", "missing-bytes"},
    "pcap_huge_caplen.pcap": {"missing-bytes"},
}


@pytest.mark.parametrize("entry", names("quirks"))
@pytest.mark.parametrize("size", [1 << 20, 17])
def test_quirks(entry: dict[str, Any], size: int) -> None:
    name = entry["file"]
    data = (CAPTURES / "quirks" / name).read_bytes()
    reader, streams, notes = run(data, size)
    found = flows([data])
    if name.endswith(".txt"):
        assert (found, [note.code for note in reader.damage]) == ([], ["no-capture"])
        return
    if reader.container in UNSUPPORTED:
        assert name in (
            "editcap_ngsniffer.cap",
            "editcap_netmon2.cap",
            "editcap_5views.cap",
            "editcap_k12text.cap",
        )
        assert (found, [note.code for note in reader.damage]) == ([], ["unsupported-capture"])
        assert reader.unsupported
        return
    assert reader.packets == MORE_PACKETS.get(name, entry["tshark"]["packets"])
    assert [note.code for note in reader.damage] == DAMAGED.get(name, [])
    assert set(notes) == NOTES.get(name, set())
    sizes = [tuple(len(direction.data) for direction in flow.directions) for flow in found]
    put_in = entry.get("generated_payload") or {}
    if name in SIZES:
        assert sizes == SIZES[name]
    elif put_in.get("streams") == 0:
        assert sizes == []
    else:
        assert sizes == [(put_in["c2s"], put_in["s2c"])]
    assert [direction.data for flow in found for direction in flow.directions] == [
        streams.get((flow.number, side), b"") for flow in found for side in (0, 1)
    ]


def test_the_streams_of_one_conversation_are_the_same_everywhere() -> None:
    """The made samples with 308 and 60 bytes carry the same conversation."""
    if not CAPTURES.exists():
        pytest.skip("no ../shared here")
    seen: set[tuple[bytes, bytes]] = set()
    count = 0
    for entry in manifest("quirks"):
        for flow in flows([(CAPTURES / "quirks" / entry["file"]).read_bytes()]):
            pair = (flow.directions[0].data, flow.directions[1].data)
            if tuple(map(len, pair)) == (308, 60):
                seen.add(pair)
                count += 1
    assert len(seen) == 1
    assert count > 40


def test_the_gap_lies_where_it_was_made() -> None:
    path = CAPTURES / "quirks" / "tcp_gap.pcap"
    if not path.exists():
        pytest.skip("no ../shared here")
    (flow,) = flows([path.read_bytes()])
    assert flow.directions[0].gaps == [(100, 100)]
    assert flow.directions[0].length == 291
    whole = (
        next(iter(flows([(CAPTURES / "quirks" / "tcp_split_segments.pcap").read_bytes()]))).directions[0].data
    )
    assert flow.directions[0].data == whole[:100] + whole[200:]


def ids(folder: str, *endings: str) -> list[Any]:
    paths = sorted((CAPTURES / folder).glob("**/*")) if CAPTURES.exists() else []
    return [pytest.param(path, id=path.name) for path in paths if path.suffix in endings]


@pytest.mark.parametrize("path", ids("positive", ".pcap", ".pcapng", ".cap") + ids("sessions", ".pcap"))
def test_captures_are_read_to_the_end(path: Path) -> None:
    data = path.read_bytes()
    reader, streams, _ = run(data, 1 << 20)
    assert reader.packets > 0
    assert run(data, 61)[1] == streams


@pytest.mark.parametrize("path", ids("sessions", ".pcap"))
def test_sessions_are_whole(path: Path) -> None:
    reader, _, notes = run(path.read_bytes(), 1 << 20)
    assert (reader.damage, reader.missing, notes) == ([], 0, [])
    found: list[Flow] = flows([path.read_bytes()])
    assert all(flow.syn for flow in found if flow.transport == "tcp")
    assert all(flow.directions[0].length for flow in found)


# Fuzzers' files: capinfos stops before a record that can be read, and counts zeros after damage as a packet.
CRASH = "PcapPlusPlus__Tests__Fuzzers__RegressionTests__regression_samples__crash-"
OTHER_PACKETS = {
    f"{CRASH}exception-cast-constructed-record": 2,
    f"{CRASH}8534c61cdf5987482365d7877ade12eef5aaf8b7": 1,
}


@pytest.mark.parametrize("entry", names("real"))
def test_public_captures(entry: dict[str, Any]) -> None:
    """Packets are as many as capinfos counts, and streams are those that TShark follows."""
    name = entry["file"]
    data = (CAPTURES / "real" / name).read_bytes()
    reader, streams, _ = run(data, 1 << 16)
    assert reader.packets == OTHER_PACKETS.get(name, entry["packets"])
    found: list[list[tuple[str, int, str]]] = []
    for flow in flows([data]):
        sides = []
        for side in (0, 1):
            content = flow.directions[side].data
            assert content == streams.get((flow.number, side), b"")
            sides.append((flow.endpoint(side), len(content), hashlib.sha256(content).hexdigest()))
        if flow.transport == "tcp":
            found.append(sorted(sides))
    for stream in entry["streams"]:
        found.remove(sorted(zip(stream["ends"], stream["bytes"], stream["sha256"], strict=True)))
