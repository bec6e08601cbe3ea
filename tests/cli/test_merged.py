"""Several files are one capture, unless asked otherwise."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

from building import Talk, pcap

if TYPE_CHECKING:
    from commands import Run

REQUEST = "dabbe200{:016x}000000014e"  # a heartbeat of Dubbo, its id, its reply
REPLY = "dabb2214{:016x}000000014e"


def frames(port: int, calls: int, first: int = 1) -> list[bytes]:
    """A connection with calls; each message is in two segments."""
    talk = Talk(7 * first, 9 * first, port, 20880)
    found = talk.hello()
    for number in range(first, first + calls):
        for side, form in ((0, REQUEST), (1, REPLY)):
            data = bytes.fromhex(form.format(number))
            found += [talk.send(side, data[:9]), talk.send(side, data[9:])]
    return found


def rotated(folder: Path, data: list[bytes], count: int, start: int = 0) -> list[Path]:
    """The frames, a millisecond apart, in files whose names do not tell their order; one is gzipped."""
    folder.mkdir(parents=True)
    paths: list[Path] = []
    for at in range(count):
        part = range(len(data) * at // count, len(data) * (at + 1) // count)
        times = [start + 1000 * place for place in part]
        path = folder / f"{count - at:02d}.pcap"
        file = pcap([data[place] for place in part], times=times)
        path.write_bytes(gzip.compress(file) if at == 1 else file)
        paths.append(path)
    return paths


def decoded(run: Run, *words: str, stdin: bytes = b"") -> list[dict[str, Any]]:
    result = run("decode", "--format", "jsonl", *words, stdin=stdin)
    return [json.loads(line) for line in result.stdout.splitlines()]


def without_places(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for record in records:
        record["source"] = {k: v for k, v in record["source"].items() if k not in ("file", "packets")}
    return records


@pytest.mark.parametrize("most_open", [1, 2, 64])
def test_rotated_files_are_one_capture(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_open: int
) -> None:
    monkeypatch.setattr("wirelens.cli.merged.OPEN_FILES", most_open)
    data = frames(40000, 5)
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(pcap(data))
    paths = rotated(tmp_path / "in", data, 4)
    found = decoded(run, str(tmp_path / "in"))
    assert len(found) == 10
    assert sum("latency" in record["source"] for record in found) == 5
    places = [len(data) * at // 4 for at in range(5)]
    for record, same in zip(found, decoded(run, str(whole)), strict=True):
        last = same["source"]["packets"][-1] - 1  # that of the message's last byte
        file = max(at for at in range(4) if places[at] <= last)
        assert record["source"]["file"] == str(paths[file])
        numbers = [number - 1 - places[file] + 1 for number in same["source"]["packets"]]
        assert record["source"]["packets"] == [number for number in numbers if number > 0]
    assert without_places(found) == without_places(decoded(run, str(whole)))
    (row,) = json.loads(run("flows", "--format", "json", str(tmp_path / "in")).stdout)
    (same,) = json.loads(run("flows", "--format", "json", str(whole)).stdout)
    assert row.pop("file") == str(paths[0])
    assert same.pop("file") == str(whole)
    assert row == same
    detections = json.loads(run("detect", "--format", "json", str(tmp_path / "in")).stdout)
    assert [found["protocol"] for found in detections] == ["dubbo", "dubbo"]


def test_files_of_the_same_time_with_few_open(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wirelens.cli.merged.OPEN_FILES", 2)
    monkeypatch.setattr("wirelens.cli.merged.ALL_CHUNKS", 1)
    monkeypatch.setattr("wirelens.cli.merged.LEAST_CHUNK", 100)
    data = frames(40000, 60)
    (tmp_path / "in").mkdir()
    for at in range(7):
        part = range(at, len(data), 7)
        file = pcap([data[place] for place in part], times=[1000 * place for place in part])
        (tmp_path / "in" / f"{at}.pcap").write_bytes(gzip.compress(file) if at % 2 else file)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    found = decoded(run, str(tmp_path / "in"))
    assert len(found) == 120
    assert sum("latency" in record["source"] for record in found) == 60
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_standard_input_is_one_more_file(run: Run, tmp_path: Path) -> None:
    paths = rotated(tmp_path / "in", frames(40000, 3), 2)
    found = decoded(run, str(paths[1]), "-", stdin=paths[0].read_bytes())
    assert len(found) == 6
    assert {record["source"].get("file") for record in found} == {None, str(paths[1])}
    assert all("error" not in record for record in found)


def test_separate_keeps_files_apart(run: Run, tmp_path: Path) -> None:
    data = frames(40000, 4)
    paths = rotated(tmp_path / "in", data, 3)  # cut inside a message
    found = decoded(run, "--separate", str(tmp_path / "in"))
    assert sum("error" not in record for record in found) < 8
    # flows are numbered through, so that a number is that of one flow
    assert [record["source"]["flow_number"] for record in found] == sorted(
        record["source"]["flow_number"] for record in found
    )
    rows = json.loads(run("flows", "--separate", "--format", "json", str(tmp_path / "in")).stdout)
    assert [row["flow"] for row in rows] == [1, 2, 3]
    second = decoded(run, "--separate", "--flow", "2", str(tmp_path / "in"))
    assert {record["source"]["file"] for record in second} == {str(paths[1])}


def test_payload_files_follow_by_name(run: Run, tmp_path: Path) -> None:
    paths = rotated(tmp_path / "m", frames(40000, 1), 2)
    for name in ("z.hex", "a.hex"):
        (tmp_path / name).write_text(REQUEST.format(5))
    packets = tmp_path / "b.txt"  # packets as text are a capture of their own, with other numbers of flows
    packets.write_text(
        "22:13:20.000000 IP 192.0.2.1.40000 > 192.0.2.2.20880: UDP, length 17\n"
        "\t0x0000:  4500 002d 0001 0000 4011 0000 c000 0201\n"
        "\t0x0010:  c000 0202 9c40 5190 0019 0000 dabb e200\n"
        "\t0x0020:  0000 0000 0000 0007 0000 0001 4e\n"
    )
    words = [str(tmp_path / name) for name in ("z.hex", "a.hex", "b.txt")]
    found = decoded(run, words[0], *map(str, paths), *words[1:])
    names = [Path(record["source"]["file"]).name for record in found]
    assert names[-3:] == ["a.hex", "b.txt", "z.hex"]
    assert len(found) == 5
    assert found[3]["source"]["flow_number"] == 2


def test_points_have_their_own_flows(run: Run, tmp_path: Path) -> None:
    for number, host in enumerate(("left", "right"), 1):
        rotated(tmp_path / "in" / host, frames(40000, 5, 1000 * number), 3, 500 * number)
    for point in ("folder", "left|right", "in/(left)?", "in/([a-z]+)/"):
        result = run("decode", "--format", "jsonl", "--point", point, str(tmp_path / "in"))
        found = [json.loads(line) for line in result.stdout.splitlines()]
        assert len(found) == 20, point
        assert {record["source"]["flow_number"] for record in found} == {1, 2}
        assert sum("latency" in record["source"] for record in found) == 10
        assert "--point" not in result.stderr
    for command in ("decode", "flows"):
        assert "--point folder" in run(command, str(tmp_path / "in")).stderr
    assert run("decode", "--point", "(", str(tmp_path / "in")).exit_code == 2


def test_bytes_that_differ_between_folders_are_reported(run: Run, tmp_path: Path) -> None:
    """The same connection, with the same numbers; and one that does not contradict the other."""
    for host, first in (("left", 1), ("right", 1), ("same", 1)):
        data = frames(40000, 5, first)
        if host == "right":
            data[3] = data[3][:-1] + bytes([data[3][-1] ^ 1])
        rotated(tmp_path / host, data, 2)
    both = run("decode", str(tmp_path / "left"), str(tmp_path / "right"))
    assert "left/02.pcap" in both.stderr
    assert "right/02.pcap" in both.stderr
    assert "--point folder" in both.stderr
    apart = run("decode", "--point", "folder", str(tmp_path / "left"), str(tmp_path / "right"))
    assert "--point" not in apart.stderr
    assert "--point" not in run("decode", str(tmp_path / "left"), str(tmp_path / "same")).stderr


def test_a_file_that_cannot_be_read_stops_no_other(run: Run, tmp_path: Path) -> None:
    paths = rotated(tmp_path / "in", frames(40000, 3), 3)
    result = run("decode", "--format", "jsonl", str(tmp_path / "in"), str(tmp_path / "absent.pcap"))
    assert result.exit_code == 2
    assert "absent.pcap" in result.stderr
    assert len(result.stdout.splitlines()) == 6
    paths[2].write_bytes(paths[2].read_bytes()[:-5])
    result = run("decode", str(tmp_path / "in"))
    assert result.exit_code == 1
    assert f"{paths[2]}: at byte" in result.stderr
