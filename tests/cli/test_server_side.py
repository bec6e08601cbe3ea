"""`wirelens calls CLIENT… --server-side SERVER…`: the option, rows and what is reported on standard error."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

from two_ends import SECOND, Clock, Plan, World

from wirelens.cli.server_side import spread
from wirelens.cli.temporary import temporary_file

if TYPE_CHECKING:
    from typing import BinaryIO

    from commands import Run

BOTH = "--server-side"


@pytest.fixture
def ends(tmp_path: Path) -> tuple[str, str]:
    """Captures of both ends, the client's ending early."""
    world = World(Plan(seed=20, loss=0.02, connections=2, calls=30, early=(0.2, 0.0)))
    paths = tmp_path / "client.pcap", tmp_path / "server.pcap"
    for end, path in enumerate(paths):
        path.write_bytes(world.capture(end))
    return str(paths[0]), str(paths[1])


@pytest.mark.parametrize(
    ("arguments", "spread_out"),
    [
        (["c", BOTH, "a", "b"], ["c", BOTH, "a", BOTH, "b"]),
        ([BOTH, "a", "b", "--format", "csv", "c"], [BOTH, "a", BOTH, "b", "--format", "csv", "c"]),
        (["c", BOTH, "a", BOTH, "b", "-v"], ["c", BOTH, "a", BOTH, "b", "-v"]),
        (["c", f"{BOTH}=a", "d"], ["c", f"{BOTH}=a", "d"]),
        ([BOTH, "a", "--", "c", BOTH], [BOTH, "a", "--", "c", BOTH]),
    ],
)
def test_the_option_takes_every_argument_up_to_the_next(arguments: list[str], spread_out: list[str]) -> None:
    assert spread(arguments) == spread_out


@pytest.mark.parametrize("arguments", [["c", BOTH], ["c", BOTH, "--format", "csv"], [BOTH, "--", "c"]])
def test_the_option_without_a_value(arguments: list[str]) -> None:
    with pytest.raises(click.UsageError):
        spread(arguments)


def test_an_empty_side_is_an_error(run: Run, ends: tuple[str, str]) -> None:
    client, server = ends
    for words in ([client, BOTH], [BOTH, server], [BOTH, server, client]):
        result = run("calls", *words)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "clients' end" in result.stderr or "no captures" in result.stderr
    assert run("calls", "--separate", client, BOTH, server).exit_code == 2
    assert run("calls", "-", BOTH, "-").exit_code == 2
    assert run("calls", "-", BOTH, server).exit_code == 2
    assert run("calls", client, BOTH, server + ".not").exit_code == 2


def test_an_end_may_be_a_pipe(run: Run, ends: tuple[str, str]) -> None:
    """It is read twice, from a copy."""
    client, server = ends
    wanted = run("calls", "--format", "csv", client, BOTH, server).stdout
    found = run("calls", "--format", "csv", client, BOTH, "-", stdin=Path(server).read_bytes()).stdout
    assert found == wanted.replace(server, "")
    found = run("calls", "--format", "csv", "-", BOTH, server, stdin=Path(client).read_bytes()).stdout
    assert found == wanted.replace(client, "")


def test_rows_with_the_split(run: Run, ends: tuple[str, str]) -> None:
    client, server = ends
    result = run("calls", "--format", "jsonl", client, BOTH, server)
    assert result.exit_code == 0
    assert result.stderr.startswith("server's clock is 37.500 s ahead, ± ")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["call"] for row in rows] == list(range(1, len(rows) + 1))
    seen = [row["seen"] for row in rows]
    assert seen.count("both") >= 40
    assert seen.count("server") >= 5
    assert seen[-5:] == ["server"] * 5
    assert "server" not in seen[: len(seen) - seen.count("server")]
    split = [row for row in rows if "request_transit" in row and "reply_transit" in row]
    for row in split:
        total = row["request_transit"] + row["server_time"] + row["reply_transit"]
        assert abs(total - row["latency"] - row.get("reply_held", 0)) < 1e-9
        assert 0.0009 < row["uncertainty"] < 0.0015
    assert len(split) >= 35
    alone = run("calls", "--format", "jsonl", client)
    single = [json.loads(line) for line in alone.stdout.splitlines()]
    for row, other in zip(rows, single, strict=False):
        assert {name: row[name] for name in ("id", "sent", "outcome")} == {
            name: other[name] for name in ("id", "sent", "outcome")
        }
    assert sum(row.get("request_lost", 0) + row.get("reply_lost", 0) for row in rows) > 0


def test_other_forms(run: Run, ends: tuple[str, str]) -> None:
    client, server = ends
    table = list(csv.DictReader(io.StringIO(run("calls", "--format", "csv", client, BOTH, server).stdout)))
    assert {row["seen"] for row in table} == {"both", "server"}
    text = run("calls", client, BOTH, server).stdout
    assert "there 1." in text
    assert "captured at the server only" in text
    assert "lost on the way" in text
    slowest = run("calls", "--sort", "latency", "--limit", "3", client, BOTH, server).stdout
    assert len(slowest.splitlines()) == 4
    assert "server " in slowest


def test_one_call_with_the_split(run: Run, ends: tuple[str, str]) -> None:
    client, server = ends
    result = run("calls", "--call", "3", client, BOTH, server)
    assert result.exit_code == 0
    assert "there " in result.stdout
    assert "on the wire" in result.stdout


def test_captures_in_several_files(run: Run, tmp_path: Path) -> None:
    world = World(Plan(seed=21, calls=30, connections=1))
    first, second = World(Plan(seed=21, calls=30, connections=1)), world
    first.plan.early = (0.5, 0.0)
    names = [tmp_path / name for name in ("client-1.pcap", "client-2.pcap", "server.pcap")]
    names[0].write_bytes(first.capture(0))
    second.plan.late = (0.5, 0.0)
    names[1].write_bytes(second.capture(0))
    names[2].write_bytes(world.capture(1))
    result = run("calls", "--format", "jsonl", *map(str, names[:2]), BOTH, str(names[2]))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == 30
    assert {row["seen"] for row in rows} == {"both"}
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("server's clock")


def test_two_clients_with_clocks_of_their_own(run: Run, tmp_path: Path) -> None:
    """Their clocks differ by less than the round trip: taken for one, no call would be right."""
    clients: list[str] = []
    servers: list[str] = []
    truths: dict[tuple[str, str], float] = {}
    for number, clock in enumerate((0.0, 1500.0)):
        world = World(Plan(seed=31 + number, connections=1, calls=100, apart=20_000, jitter=100))
        world.clocks = (Clock(clock, 0.0, 0.0, []), Clock(37.5 * SECOND, 20.0, 0.0, []))
        (line,) = world.lines
        line.ports = (41_000 + number, 20880)
        for end, paths in enumerate((clients, servers)):
            path = tmp_path / f"{('client', 'server')[end]}-{number}.pcap"
            path.write_bytes(world.capture(end))
            paths.append(str(path))
        for truth in line.calls.values():
            truths[f"{41_000 + number}", str(truth.number)] = truth.arrived - truth.sent
    result = run("calls", "--format", "jsonl", *clients, BOTH, *servers)
    assert len(result.stderr.splitlines()) == 2
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    split = [row for row in rows if "request_transit" in row]
    assert len(split) == len(truths) == 200
    for row in split:
        transit = truths[row["client"].rpartition(":")[2], row["id"]]
        assert abs(row["request_transit"] * 1e6 - transit) <= row["uncertainty"] * 1e6 + 1


def test_connections_that_are_not_joined_are_reported(run: Run, tmp_path: Path) -> None:
    worlds = World(Plan(seed=22)), World(Plan(seed=23, protocol="bolt"))
    paths = tmp_path / "a.pcap", tmp_path / "b.pcap"
    for end, path in enumerate(paths):
        path.write_bytes(worlds[end].capture(end))
    result = run("calls", "--format", "jsonl", str(paths[0]), BOTH, str(paths[1]))
    assert "2 connections at the client not joined: 2 no message in common" in result.stderr
    assert "2 connections at the server not joined: 2 no message in common" in result.stderr
    seen = [json.loads(line)["seen"] for line in result.stdout.splitlines()]
    assert seen == ["client"] * 80 + ["server"] * 80


def test_a_step_is_reported(run: Run, tmp_path: Path) -> None:
    world = World(Plan(seed=24, calls=150, connections=1, steps=[(2 * SECOND, -3 * SECOND)]))
    paths = tmp_path / "client.pcap", tmp_path / "server.pcap"
    for end, path in enumerate(paths):
        path.write_bytes(world.capture(end))
    result = run("calls", str(paths[0]), BOTH, str(paths[1]))
    assert ", 1 step at " in result.stderr


def test_the_example(run: Run, shared: Path) -> None:
    folder = shared / "field" / "ends"
    result = run("calls", str(folder / "client.pcap"), BOTH, str(folder / "server.pcap"))
    assert result.stderr == "server's clock is 37.500 s ahead, ± 2.0 ms (1 connection, 38 bounds)\n"
    lines = result.stdout.splitlines()
    assert "there 202 ms, server 12.5 ms, back 2.0" in lines[5]
    assert lines[5].endswith("ms); lost on the way there, sent again after 200 ms")
    assert "ok, late" in lines[9]
    assert "server 1.4" in lines[9]
    assert "unanswered" in lines[13]
    assert "the server sent no reply" in lines[13]


def test_messages_beyond_the_limit_go_to_temporary_files(
    run: Run, ends: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted = run("calls", "--format", "jsonl", ends[0], BOTH, ends[1])
    monkeypatch.setattr("wirelens.codecs.ends.table.MOST_MESSAGES", 50)
    monkeypatch.setattr("wirelens.codecs.ends.table.BLOCK", 30)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    files: list[tuple[int, list[str]]] = []

    def watched() -> BinaryIO:
        file = temporary_file()
        files.append((os.fstat(file.fileno()).st_mode & 0o777, os.listdir(tmp_path)))
        return file

    before = os.listdir(tmp_path)
    monkeypatch.setattr("wirelens.cli.temporary.temporary_file", watched)
    assert run("calls", "--format", "jsonl", ends[0], BOTH, ends[1]).output == wanted.output
    assert len(files) >= 6
    assert all(mode & 0o077 == 0 and names == before for mode, names in files)


def test_a_full_disk_is_reported(run: Run, ends: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    full = open("/dev/full", "r+b", buffering=0)  # noqa: SIM115 (it is closed as a temporary file is)
    monkeypatch.setattr("wirelens.cli.temporary.TemporaryFile", lambda buffering: full)
    monkeypatch.setattr("wirelens.codecs.ends.table.MOST_MESSAGES", 50)
    done = run("calls", ends[0], BOTH, ends[1])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "temporary file in /" in done.stderr
    assert "No space left on device" in done.stderr
