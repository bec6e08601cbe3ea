"""Captures as input of the commands."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import process

from wirelens.codecs import captures

if TYPE_CHECKING:
    from collections.abc import Callable

    from commands import Run


@pytest.fixture
def session(shared: Path) -> Path:
    return shared / "captures" / "sessions" / "esnp_line_tcp.pcap"


def records(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_records_have_their_source(run: Run, session: Path) -> None:
    result = run("decode", "--format", "jsonl", str(session))
    assert result.exit_code == 0
    rows = records(result.stdout)
    assert len(rows) == 14
    for row in rows:
        source = row["source"]
        assert isinstance(source, dict)
        assert source["file"] == str(session)
        assert source["flow"].startswith("tcp 127.0.0.1:")
        assert source["time"].endswith("Z")
        assert source["packets"]
        assert source["pair"]


@pytest.mark.parametrize("direction", [0, 1])
def test_encode_writes_the_bytes_of_a_direction(
    run: Run, session: Path, direction: int, tmp_path: Path
) -> None:
    decoded = run("decode", "--format", "json", str(session)).stdout
    assert run("encode", stdin=decoded).exit_code == 2
    target = tmp_path / "out"
    assert run("encode", "--flow", f"1{'cs'[direction]}", "-o", str(target), stdin=decoded).exit_code == 0
    (flow,) = captures.flows([session.read_bytes()])
    assert target.read_bytes() == flow.directions[direction].data


def test_flows_have_the_same_number_everywhere(run: Run, shared: Path, tmp_path: Path) -> None:
    path = str(shared / "captures" / "sessions" / "magline_old_tcp.pcap")
    decoded = run("decode", "--format", "jsonl", path).stdout
    target = tmp_path / "out"
    for row in json.loads(run("flows", "--format", "json", path).stdout):
        for side, letter in zip(row["directions"], "cs", strict=True):
            name = f"{row['flow']}{letter}"
            part = run("decode", "--format", "jsonl", "--flow", name, path).stdout
            for record in records(part):
                source = record["source"]
                assert isinstance(source, dict)
                assert source["flow_number"] == row["flow"]
                assert str(source["flow"]).startswith(f"tcp {side['from']} > ")
            assert len(records(part)) == side["messages"]
            assert run("encode", "--flow", name, "-o", str(target), stdin=decoded).exit_code == 0
            whole = target.read_bytes()
            assert len(whole) == side["bytes"]
            # the same name selects it where only that direction is left
            for again in (name, str(row["flow"])):
                assert run("encode", "--flow", again, "-o", str(target), stdin=part).exit_code == 0
                assert target.read_bytes() == whole
    refused = run("encode", "--flow", "1", stdin=decoded)
    assert refused.exit_code == 2
    assert "1c" in refused.stderr
    assert "1s" in refused.stderr
    assert run("encode", "--flow", "3c", stdin=decoded).exit_code == 2
    for wrong in ("0", "x", "1x", "1cs", "c"):
        assert run("decode", "--flow", wrong, path).exit_code == 2


def test_a_gzipped_capture_and_one_from_standard_input(run: Run, session: Path, tmp_path: Path) -> None:
    packed = tmp_path / "x.pcap.gz"
    packed.write_bytes(gzip.compress(session.read_bytes()))
    expected = run("decode", "--format", "summary", str(session)).stdout
    assert run("decode", "--format", "summary", str(packed)).stdout == expected
    assert run("decode", "--format", "summary", stdin=session.read_bytes()).stdout == expected


def test_every_session(run: Run, shared: Path) -> None:
    for path in sorted((shared / "captures" / "sessions").glob("*.pcap")):
        for style in ("tree", "hex", "summary", "json"):
            result = run("decode", "--format", style, str(path))
            assert result.exit_code in (0, 1), result.output
            assert result.stdout
            assert "Traceback" not in result.output


def test_messages_before_the_end_of_a_truncated_capture(run: Run, session: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(session.read_bytes()[:2000])
    result = run("decode", "--format", "summary", str(cut))
    assert result.exit_code == 1
    whole = run("decode", "--format", "summary", str(session)).stdout
    lines = [line for line in result.stdout.splitlines() if "joined-middle" not in line]
    assert len(lines) > 3
    assert lines == whole.splitlines()[: len(lines)]
    assert f"{cut}: at byte" in result.stderr


def test_flows(run: Run, session: Path) -> None:
    (row,) = json.loads(run("flows", "--format", "json", str(session)).stdout)
    assert row["flow"] == 1
    assert row["protocol"] == "esnp-line"
    assert [side["messages"] for side in row["directions"]] == [7, 7]
    assert [side["bytes"] for side in row["directions"]] == [369, 340]
    assert all(side["missing"] == 0 for side in row["directions"])
    text = run("flows", str(session))
    assert text.exit_code == 0
    assert "esnp-line" in text.stdout
    assert "7 / 7" in text.stdout
    assert "369 / 340" in text.stdout


def test_selection(run: Run, shared: Path) -> None:
    path = str(shared / "captures" / "sessions" / "magline_old_tcp.pcap")
    everything = records(run("decode", "--format", "jsonl", path).stdout)
    flows = json.loads(run("flows", "--format", "json", path).stdout)
    assert len(flows) == 2
    parts = [
        records(run("decode", "--format", "jsonl", "--flow", str(number), path).stdout) for number in (1, 2)
    ]
    assert len(parts[0]) + len(parts[1]) == len(everything)
    port = flows[1]["directions"][0]["from"].rpartition(":")[2]
    assert [
        row["message"] for row in records(run("decode", "--format", "jsonl", "--port", port, path).stdout)
    ] == [row["message"] for row in parts[1]]
    some = run("decode", "--format", "summary", "--where", "kind=SYN", path).stdout
    assert len(some.splitlines()) == 2
    nothing = run("decode", "--port", "9", path)
    assert nothing.exit_code == 0
    assert "none" in nothing.stderr


def test_detect(run: Run, session: Path) -> None:
    found = json.loads(run("detect", "--format", "json", str(session)).stdout)
    assert [row["protocol"] for row in found] == ["esnp-line", "esnp-line"]
    assert all(" > " in row["flow"] for row in found)


def test_other_protocols_are_counted_and_not_an_error(run: Run, shared: Path) -> None:
    folder = shared / "captures" / "quirks"
    manifest = json.loads((folder / "manifest.json").read_text())
    seen = 0
    for row in manifest if isinstance(manifest, list) else manifest["files"]:
        path = folder / row["file"]
        result = run("decode", "--format", "jsonl", str(path))
        assert result.exit_code in (0, 1, 2), row["file"]
        assert "Traceback" not in result.output
        assert result.exit_code != main_failed(), result.output
        seen += 1
    assert seen > 50


def main_failed() -> int:
    from wirelens.cli.main import FAILED

    return FAILED


def test_a_live_capture_shows_messages_at_once(session: Path) -> None:
    data = session.read_bytes()
    with process("decode", "--format", "summary", "-") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        # the file header and the first packets, up to the first request
        running.stdin.write(data[:700])
        running.stdin.flush()
        assert b"REQUEST test.add" in running.stdout.readline()
        running.stdin.write(data[700:])
        running.stdin.close()
        assert len(running.stdout.readlines()) == 13
        assert running.wait(60) == 0


def test_bytes_refuses_a_capture(run: Run, session: Path) -> None:
    result = run("bytes", str(session))
    assert result.exit_code == 2
    assert "--flow" in result.stderr


TCPDUMP = """\
22:13:20.000000 IP 192.0.2.1.40000 > 192.0.2.2.20880: Flags [P.], seq 1:18, ack 1, win 8192, length 17
\t0x0000:  4500 0039 0000 0000 4006 f6bb c000 0201
\t0x0010:  c000 0202 9c40 5190 0000 03e9 0000 1389
\t0x0020:  5018 2000 1d5c 0000 dabb e200 0000 0000
\t0x0030:  0000 0001 0000 0001 4e
22:13:20.250000 IP 192.0.2.2.20880 > 192.0.2.1.40000: Flags [P.], seq 1:18, ack 18, win 8192, length 17
\t0x0000:  4500 0039 0000 0000 4006 f6bb c000 0202
\t0x0010:  c000 0201 5190 9c40 0000 1389 0000 03fa
\t0x0020:  5018 2000 dd36 0000 dabb 2214 0000 0000
\t0x0030:  0000 0001 0000 0001 4e
"""


def test_packets_as_text(run: Run) -> None:
    result = run("decode", "-v", "--format", "jsonl", stdin=TCPDUMP)
    assert result.exit_code == 0
    assert "-: read as packets" in result.stderr
    request, reply = [row["source"] for row in records(result.stdout)]
    assert isinstance(request, dict)
    assert isinstance(reply, dict)
    assert request["flow"] == "tcp 192.0.2.1:40000 > 192.0.2.2:20880"
    assert reply["latency"] == 0.25
    assert request["pair"] == reply["pair"]
    (row,) = json.loads(run("flows", "--format", "json", stdin=TCPDUMP).stdout)
    assert (row["protocol"], row["directions"][0]["bytes"]) == ("dubbo", 17)
    assert "dubbo" in run("detect", stdin=TCPDUMP).stdout
    assert run("bytes", stdin=TCPDUMP).exit_code == 2
    # packets without times give records without times
    bare = run(
        "decode",
        "--format",
        "jsonl",
        stdin=TCPDUMP.replace("22:13:20.000000 ", "").replace("22:13:20.250000 ", ""),
    )
    for said in records(bare.stdout):
        assert isinstance(said["source"], dict)
        assert sorted(said["source"]) == ["flow", "flow_number", "packets", "pair"]


def test_unread_packets_are_reported(run: Run, shared: Path) -> None:
    result = run("decode", str(shared / "captures" / "quirks" / "lt_user0_147.pcap"))
    assert result.exit_code == 0
    assert "not read: 4 packets of the link type 147" in result.stderr


def test_each_kind_of_unread_packet_is_named(run: Run, tmp_path: Path) -> None:
    network = b"\x45\0\0\x40" + bytes(5)
    frames = [
        b"\x89\x03" + bytes(40),
        b"\x89\x03" + bytes(40),
        b"\x08\0" + network + bytes([108]) + bytes(54),
        b"\x08\0" + network + bytes([47]) + bytes(10) + b"\0\0\x82\0" + bytes(40),
        b"\x88\xe5\x2c\0" + bytes(40),
        b"\x08\x06" + bytes(40),
    ]
    data = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65536, 1)
    for frame in frames:
        data += struct.pack("<IIII", 1, 0, 12 + len(frame), 12 + len(frame)) + bytes(12) + frame
    path = tmp_path / "unread.pcap"
    path.write_bytes(data)
    result = run("flows", "-v", str(path))
    assert (
        f"{path}: not read: 2 packets of the EtherType 0x8903, 1 packet of the IP protocol 108, "
        "1 packet of the GRE type 0x8200, 1 packet encrypted\n"
    ) in result.stderr


@pytest.mark.parametrize(("name", "pack"), [("xz", lzma.compress), ("bzip2", bz2.compress)])
def test_captures_and_payloads_in_other_compressions(
    run: Run, session: Path, tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = tmp_path / "x.pcap.packed"
    packed.write_bytes(pack(session.read_bytes()))
    result = run("decode", "-v", "--format", "summary", str(packed))
    assert result.exit_code == 0
    assert f"{packed}: read as {name}-compressed pcap" in result.stderr
    plain = run("decode", "--format", "summary", str(session))
    assert result.stdout == plain.stdout
    assert run("decode", "--format", "summary", stdin=packed.read_bytes()).stdout == plain.stdout
    assert run("flows", str(packed)).stdout == run("flows", str(session)).stdout
    heartbeat = bytes.fromhex("dabbe20000000000000000010000000 14e".replace(" ", ""))
    assert run("decode", stdin=pack(heartbeat)).stdout == run("decode", stdin=heartbeat).stdout
    cut = run("decode", "--format", "summary", stdin=packed.read_bytes()[:-20])
    assert cut.exit_code == 1
    assert f"the {name} data is cut off" in cut.stderr


@pytest.mark.parametrize(
    ("name", "magic"), [("Zstandard", b"\x28\xb5\x2f\xfd"), ("LZ4", b"\x04\x22\x4d\x18")]
)
def test_a_compression_whose_module_is_missing_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, magic: bytes
) -> None:
    def missing(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr(importlib, "import_module", missing)
    for command in ("decode", "flows", "detect"):
        result = run(command, stdin=magic + bytes(100))
        assert result.exit_code == 2
        assert f"Error: -: compressed with {name}; to read it: " in result.stderr
        assert "[compression]'" in result.stderr
