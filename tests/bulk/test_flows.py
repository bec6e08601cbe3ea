"""Streams across files, tasks and runs: however a capture is cut up, the tables say the same."""

from pathlib import Path
from typing import Any

import pytest
from building import CLIENT, SERVER, ethernet, ipv4, pcap, tcp
from feeding import fed
from inprocess import contents, run, sums_agree, table
from made import capture, frames, rotated

from wirelens.cli.bulk import plan, reading
from wirelens.cli.bulk.files import find
from wirelens.cli.bulk.ledger import NotAllowedError
from wirelens.cli.bulk.plan import inspect_files, split
from wirelens.cli.bulk.report import as_json, text
from wirelens.codecs.captures import Reader
from wirelens.codecs.conversations import Conversations


@pytest.fixture(scope="module")
def mixed() -> list[bytes]:
    return frames(7)


@pytest.fixture(scope="module")
def merged(mixed: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result for the one capture that all others are cut from."""
    folder = tmp_path_factory.mktemp("merged")
    (folder / "all.pcap").write_bytes(capture(mixed))
    run([folder / "all.pcap"], folder / "out")
    sums_agree(folder / "out")
    return folder / "out"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit so small that it is met."""
    monkeypatch.setattr(plan, "SPLIT_BYTES", 20_000)
    monkeypatch.setattr(plan, "TASK_BYTES", 1)
    monkeypatch.setattr("wirelens.cli.bulk.files.CHUNK", 5_000)
    monkeypatch.setattr(reading, "CHUNK_BYTES", 2_000)
    monkeypatch.setattr(reading, "TASK_BYTES", 30_000)
    monkeypatch.setattr(reading, "BATCH_BYTES", 10_000)
    monkeypatch.setattr("wirelens.cli.bulk.job.BUCKET_BYTES", 50_000)
    monkeypatch.setattr("wirelens.cli.bulk.local_packets.OPEN_FILES", 2)


def test_the_table_holds_what_decoding_the_capture_gives(merged: Path, mixed: list[bytes]) -> None:
    reader, conversations = Reader(), Conversations()
    messages = [
        message
        for piece in [*fed(reader, capture(mixed)), *reader.close()]
        for message in conversations.feed([piece])
    ]
    messages += conversations.close()
    decoded = [message for message in messages if message.record.error is None]
    rows = table(merged, "messages")
    assert len(rows) == len(decoded) > 100
    expected = sorted(
        (
            message.flow.endpoint(message.direction),
            message.record.offset,
            message.time_us,
            message.packets[-1],
            message.record.summary,
        )
        for message in decoded
    )
    found = sorted(
        (
            f"{row['source_address']}:{row['source_port']}",
            row["offset"],
            row["time"],
            row["packet"],
            row["summary"],
        )
        for row in rows
    )
    assert found == expected
    assert sum(row["latency_us"] is not None for row in rows) == sum(
        message.latency_us is not None for message in messages
    )
    errors = [row for row in table(merged, "quarantine") if row["protocol"] != "unknown"]
    failed = [
        message.record
        for message in messages
        if message.record.error is not None and message.record.codec is not None
    ]
    assert sorted(row["raw"] for row in errors) == sorted(record.raw for record in failed)


@pytest.mark.parametrize("count", [2, 10])
def test_rotated_files_are_as_one(mixed: list[bytes], merged: Path, tmp_path: Path, count: int) -> None:
    rotated(mixed, count, tmp_path / "in")
    report = run([tmp_path / "in"], tmp_path / "out")
    assert contents(tmp_path / "out") == contents(merged)
    sums_agree(tmp_path / "out")
    assert report.files == count


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("local", [False, True])
def test_pieces_of_files_are_as_one(mixed: list[bytes], merged: Path, tmp_path: Path, local: bool) -> None:
    (tmp_path / "all.pcap").write_bytes(capture(mixed))
    (tmp_path / "packets").mkdir()
    folder = str(tmp_path / "packets") if local else ""
    report = run([tmp_path / "all.pcap"], tmp_path / "out", parallel=4, packet_folder=folder)
    assert (len(list((tmp_path / "packets").iterdir())) > 2) == local
    assert contents(tmp_path / "out") == contents(merged)
    sums_agree(tmp_path / "out")
    assert report.files == 1


@pytest.mark.usefixtures("tiny")
def test_captures_of_the_same_time_are_merged(mixed: list[bytes], merged: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for which in range(3):
        at = range(which, len(mixed), 3)
        from building import pcap

        (tmp_path / "in" / f"{which}.pcap").write_bytes(
            pcap([mixed[n] for n in at], times=[n * 1000 for n in at])
        )
    run([tmp_path / "in"], tmp_path / "out")
    assert contents(tmp_path / "out") == contents(merged)
    sums_agree(tmp_path / "out")


@pytest.mark.parametrize("small", [False, True])
def test_runs_that_resume_are_as_one(
    mixed: list[bytes], merged: Path, tmp_path: Path, small: bool, request: pytest.FixtureRequest
) -> None:
    if small:
        request.getfixturevalue("tiny")
    paths = rotated(mixed, 6, tmp_path / "all")
    (tmp_path / "in").mkdir()
    pending = []
    for number, path in enumerate(paths):
        path.rename(tmp_path / "in" / path.name)
        report = run([tmp_path / "in"], tmp_path / "out", resume=True)
        assert (report.files, report.skipped) == (1, number)
        sums_agree(tmp_path / "out")
        pending.append(report.pending)
    assert any(pending)
    run([tmp_path / "in"], tmp_path / "out", resume=True, final=True)
    sums_agree(tmp_path / "out")
    ledger = table(tmp_path / "out", "_ledger")
    assert len(ledger) == 6
    assert not any(row["pending"] for row in ledger)
    assert not list((tmp_path / "out").rglob("_pending/*.parquet"))
    known = [row for row in contents(merged) if "unknown-protocol" not in row]
    # of a stream that nobody recognises, each run counts its part
    assert [row for row in contents(tmp_path / "out") if "unknown-protocol" not in row] == known


def test_a_file_that_comes_late_is_not_lost(tmp_path: Path) -> None:
    """What its streams went on without is decoded on its own, or is in the quarantine; no byte is in both."""
    requests = [b"\x1e\0\0\1\x08\x11\0\0\x08" + number.to_bytes(8, "big") + bytes(4) for number in range(60)]
    size = len(requests[0])
    packets = []
    for number, data in enumerate(requests):
        packets.append(ethernet(ipv4(tcp(seq=1 + number * size, data=data))))
        ack = 1 + (number + 1) * size
        packets.append(ethernet(ipv4(tcp(1080, 40000, ack=ack), source=SERVER, destination=CLIENT)))
    middle = packets[40:80]
    middle += [middle[0], ethernet(ipv4(tcp(seq=1 + 25 * size, data=bytes(size))))]
    (tmp_path / "in").mkdir()
    paths = []
    for name, cut in enumerate((packets[:40], middle, packets[80:])):
        paths.append(tmp_path / "in" / f"{name}.pcap")
        paths[-1].write_bytes(pcap(cut, times=[(name * 40 + at) * 2_000_000 for at in range(len(cut))]))
    run([paths[0], paths[2]], tmp_path / "out", resume=True)
    run([paths[1]], tmp_path / "out", resume=True, final=True)
    sums_agree(tmp_path / "out")
    (row,) = (row for row in table(tmp_path / "out", "_ledger") if row["file"] == str(paths[1]))
    assert (row["decoded"], row["retransmitted"], row["late"]) == (20 * size, size, size)
    found = table(tmp_path / "out", "messages")
    assert len(found) == 60
    assert sum("late" in str(message["notes"]) for message in found) == 20
    (late,) = table(tmp_path / "out", "quarantine")
    assert (late["error_code"], late["offset"], late["raw"]) == ("late", 25 * size, bytes(size))
    (connection,) = table(tmp_path / "out", "connections")
    assert (connection["client_late"], connection["client_retransmitted"]) == (21 * size, size)


def test_a_file_that_grows_is_continued(mixed: list[bytes], merged: Path, tmp_path: Path) -> None:
    data = capture(mixed)
    path = tmp_path / "live.pcap"
    for size in (10, 40, len(data) // 3, len(data) // 3 + 5, len(data) * 2 // 3 + 9, len(data)):
        path.write_bytes(data[:size])
        run([path], tmp_path / "out", resume=True)
        sums_agree(tmp_path / "out")
    run([path], tmp_path / "out", resume=True, final=True)
    sums_agree(tmp_path / "out")
    known = [row for row in contents(merged) if "unknown-protocol" not in row]
    assert [row for row in contents(tmp_path / "out") if "unknown-protocol" not in row] == known
    assert [row["read"] for row in table(tmp_path / "out", "_ledger")] == [len(data)]


def test_a_final_run_reports_what_was_cut(mixed: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(capture(mixed)[:-20])
    report = run([path], tmp_path / "out", resume=True)
    assert not report.problems
    assert report.read < path.stat().st_size
    report = run([path], tmp_path / "out", resume=True, final=True)
    assert [code for _, code, _ in report.problems] == ["truncated"]
    (row,) = (row for row in table(tmp_path / "out", "quarantine") if row["protocol"] == "pcap")
    assert path.read_bytes()[row["error_offset"] :] == row["raw"]
    assert [row["read"] for row in table(tmp_path / "out", "_ledger")] == [path.stat().st_size]


def test_nothing_new_is_nothing_to_do(mixed: list[bytes], tmp_path: Path) -> None:
    rotated(mixed, 3, tmp_path / "in")
    run([tmp_path / "in"], tmp_path / "out")
    before = contents(tmp_path / "out")
    report = run([tmp_path / "in"], tmp_path / "out", resume=True)
    assert (report.files, report.skipped, report.messages) == (0, 3, 0)
    assert contents(tmp_path / "out") == before


def test_renamed_and_replaced_files_are_distinguished(mixed: list[bytes], tmp_path: Path) -> None:
    paths = rotated(mixed, 3, tmp_path / "in")
    run(paths[:2], tmp_path / "out", resume=True)
    paths[0].rename(paths[0].with_name("renamed.pcap"))
    paths[1].write_bytes(paths[2].read_bytes())  # a ring of files
    paths[2].unlink()
    report = run([tmp_path / "in"], tmp_path / "out", resume=True)
    assert (report.files, report.skipped) == (1, 1)
    assert len(table(tmp_path / "out", "_ledger")) == 3


def test_flows_are_continued_with_the_settings_of_the_first_run(mixed: list[bytes], tmp_path: Path) -> None:
    paths = rotated(mixed, 2, tmp_path / "in")
    run(paths[:1], tmp_path / "out", resume=True)
    others: tuple[dict[str, Any], ...] = ({"point": "folder"}, {"separate": True})
    for other in others:
        with pytest.raises(NotAllowedError, match=f"--{next(iter(other))}"):
            run(paths, tmp_path / "out", resume=True, **other)
    assert run(paths, tmp_path / "out", resume=True).files == 1
    run(paths[:1], tmp_path / "point", point="folder")
    with pytest.raises(NotAllowedError, match="--point folder"):
        run(paths, tmp_path / "point", resume=True)
    run(paths, tmp_path / "point", mode="append")  # which continues nothing


def test_flows_of_later_runs_have_the_next_numbers(mixed: list[bytes], tmp_path: Path) -> None:
    """Also those in a file that was captured earlier; a flow that goes on keeps its number."""
    paths = rotated(mixed, 3, tmp_path / "in")
    for path in (paths[1], paths[0], paths[2]):
        run([path], tmp_path / "out", resume=True)
    run([paths[2]], tmp_path / "out", resume=True, final=True)
    flows = {row["file"]: row["flows"] for row in table(tmp_path / "out", "_ledger")}
    found = table(tmp_path / "out", "messages")
    assert {row["flow_number"] for row in found} <= set(range(1, sum(flows.values()) + 1))
    numbers: dict[int, set[int]] = {}
    for row in found:
        numbers.setdefault(row["connection"], set()).add(row["flow_number"])
    assert all(len(each) == 1 for each in numbers.values())
    assert len({next(iter(each)) for each in numbers.values()}) == len(numbers)
    first = {row["flow_number"] for row in found if row["file"] == str(paths[1])}
    assert max(first) <= flows[str(paths[1])]


@pytest.mark.once
def test_packets_that_are_not_read_are_named(mixed: list[bytes], tmp_path: Path) -> None:
    other = b"\0" * 12 + b"\x89\x03" + bytes(40)
    rotated([*mixed, other, other], 2, tmp_path / "in")
    report = run([tmp_path / "in"], tmp_path / "out")
    sentence = "not read: 2 packets of the EtherType 0x8903"
    assert sentence in text(report, "out").split("\n")
    assert as_json(report, "out")["not_read"] == sentence.removeprefix("not read: ")


def test_separate_files_share_no_streams(mixed: list[bytes], tmp_path: Path) -> None:
    paths = rotated(mixed, 3, tmp_path / "in")
    run([tmp_path / "in"], tmp_path / "out", separate=True)
    alone = []
    for number, path in enumerate(paths):
        run([path], tmp_path / f"{number}")
        alone += contents(tmp_path / f"{number}", numbers=False)
    assert contents(tmp_path / "out", numbers=False) == sorted(alone)
    flows = [row["flows"] for row in table(tmp_path / "out", "_ledger")]
    second = {
        row["flow_number"]
        for row in table(tmp_path / "out", "messages")
        if row["file"] == str(paths[1]) and row["flow_number"] is not None
    }
    assert second <= set(range(flows[0] + 1, flows[0] + flows[1] + 1))
    sums_agree(tmp_path / "out")


def test_a_day_of_silence_ends_a_connection(tmp_path: Path) -> None:
    esnp = frames(1, 6)
    (tmp_path / "in").mkdir()
    day = 25 * 3600 * 1000
    for number in range(3):
        (tmp_path / "in" / f"{number}.pcap").write_bytes(capture(esnp, number * day))
    report = run([tmp_path / "in"], tmp_path / "out")
    once = run([tmp_path / "in" / "0.pcap"], tmp_path / "once")
    assert (report.messages, report.flows) == (3 * once.messages, 3 * once.flows)
    assert report.retransmitted == 3 * once.retransmitted
    sums_agree(tmp_path / "out")


def test_reading_again_gives_the_same_rows(mixed: list[bytes], tmp_path: Path) -> None:
    """A task whose worker is lost runs again, beside others that worked on what it gave before."""
    rotated(mixed, 3, tmp_path / "in")
    (tmp_path / "in" / "note.txt").write_bytes(b"no capture")
    ranges = split(inspect_files(find(str(tmp_path / "in")), (), 0), {}, 2)
    first, again = (
        [row for rows in reading.read_ranges(ranges, 4, str(tmp_path / "side"), True, False) for row in rows]
        for _ in range(2)
    )
    assert len(first) > 20
    assert first == again
