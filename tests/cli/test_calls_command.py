"""`wirelens calls` as it is run: rows, order, formats, one call, live pipes."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commands import process

import wirelens
from wirelens.cli.sorting import InOrder, Sorted
from wirelens.codecs.call import Call
from wirelens.formatters import calls as view
from wirelens.formatters.layout import Layout, plain

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import planted

if TYPE_CHECKING:
    from commands import Run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[planted.Planted]]:
    """A capture of 400 calls of all fates, and what they are."""
    data, calls = planted.planted(400, 7, each=12, connections=5)
    path = tmp_path_factory.mktemp("calls") / "app.pcap"
    path.write_bytes(data)
    return path, calls


def rows(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_rows_are_those_of_python_in_the_order_of_requests(
    run: Run, made: tuple[Path, list[planted.Planted]]
) -> None:
    path, calls = made
    done = run("calls", "--format", "jsonl", str(path))
    assert done.exit_code == 0
    found = rows(done.stdout)
    assert [row["call"] for row in found] == list(range(1, len(calls) + 1))
    assert [row["id"] for row in found] == [str(call.number) for call in calls]
    by_python = sorted(wirelens.calls([path.read_bytes()]), key=lambda call: call.call)
    for row, call in zip(found, by_python, strict=True):
        assert row.pop("file") == str(path)
        assert row == call.to_json()


def test_csv_has_the_same_values(run: Run, made: tuple[Path, list[planted.Planted]]) -> None:
    path, _ = made
    as_json = rows(run("calls", "--format", "jsonl", str(path)).stdout)
    as_csv = list(csv.DictReader(io.StringIO(run("calls", "--format", "csv", str(path)).stdout)))
    assert len(as_csv) == len(as_json)
    for line, row in zip(as_csv, as_json, strict=True):
        given = {name: text for name, text in line.items() if text}
        assert given == {
            name: json.dumps(value) if isinstance(value, bool | int | float) else value
            for name, value in row.items()
        }


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_lines_fit_and_methods_and_errors_are_whole(
    run: Run, made: tuple[Path, list[planted.Planted]], width: int
) -> None:
    path, calls = made
    lines = run("calls", "--width", str(width), str(path)).stdout.splitlines()
    assert max(map(len, lines)) <= width
    shown = [line for line in lines if re.match(r" *\d+  \d\d:", line)]
    assert len(shown) == len(calls)
    for line, call in zip(shown, calls, strict=True):
        assert f"{call.service.rpartition('.')[2]}.{call.method} " in line + " "
    text = " ".join(" ".join(lines).split())
    assert all(f"failed {method}" in text for method in planted.METHODS)
    assert f"{len(calls)} calls: " in text


def test_sort_and_limit(run: Run, made: tuple[Path, list[planted.Planted]]) -> None:
    path, _ = made
    every = rows(run("calls", "--format", "jsonl", str(path)).stdout)
    slowest = sorted(every, key=lambda row: (-row.get("latency", -1), row["call"]))
    for limit in (1, 10, 10_000):
        found = run("calls", "--format", "jsonl", "--sort", "latency", "--limit", str(limit), str(path))
        assert rows(found.stdout) == slowest[:limit]
    assert rows(run("calls", "--format", "jsonl", "--sort", "latency", str(path)).stdout) == slowest
    largest = sorted(
        every, key=lambda row: (-row["request_bytes"] - row.get("response_bytes", 0), row["call"])
    )
    assert rows(run("calls", "--format", "jsonl", "--sort", "bytes", str(path)).stdout) == largest
    assert rows(run("calls", "--format", "jsonl", "--limit", "3", str(path)).stdout) == every[:3]
    assert run("calls", "--limit", "0", "--format", "jsonl", str(path)).stdout == ""


EXAMPLES = [
    ("outcome=unanswered", [13]),
    ("late=true", [9]),
    ("late=true or outcome!=ok", [9, 13]),
    ("latency>100ms", [5, 9]),
    ("resent_bytes>0", [5]),
    ("request_packets>1", [5]),
    ("waited>.5", [13]),
    ("not has latency", [13]),
    ("timeout=1s and id=7", [7]),
    ("call<3", [1, 2]),
    ("open_calls>0", list(range(14, 21))),
    ("service~orderservice and method=find", [3, 6, 9, 12, 15, 18]),
    ("OrderService.find", [3, 6, 9, 12, 15, 18]),
    ("✕", [13]),
    ("client=10.0.0.1 and server=10.0.0.0/8 and port=20880", list(range(1, 21))),
    ("server=10.0.0.2:1", []),
    ("time=2026-01-17T10:40:01", [8, 9]),
    ("sent>=2026-01-17T10:40:03.8", [20]),
    ("answered>=2026-01-17T10:40:03.9", [20]),
    ("flow=1 and call=4", [4]),
    ("flow~10.0.0.1:40000 > 10.0.0.2 and call=4", [4]),
    ("request.body.arguments[0]=o3", [3]),
    ("reply.body.value=v5", [5]),
    ("has reply.body.value and call>18", [19, 20]),
    ("message.body.value=v5 or message.body.arguments[0]=o3", [3, 5]),
    ("..arguments[0]=o3", [3]),
    ("not has reply", [13]),
    ("packets=3", [5]),
    ("late=false and call=9", []),
]


@pytest.mark.parametrize(("expression", "numbers"), EXAMPLES, ids=[text for text, _ in EXAMPLES])
def test_where(run: Run, shared: Path, expression: str, numbers: list[int]) -> None:
    path = str(shared / "field/ends/client.pcap")
    done = run("calls", "--format", "jsonl", "--where", expression, path)
    assert done.exit_code == 0
    assert [row["call"] for row in rows(done.stdout)] == numbers
    assert done.stderr == ("" if numbers else "0 of 20 calls match\n")


@pytest.mark.parametrize(
    ("expression", "column"),
    [("kind=request", 1), ("latncy>1s", 1), ("outcome=bad", 9), ("latency>1x", 9), ("late=yes", 6)],
)
def test_a_where_that_cannot_be(run: Run, shared: Path, expression: str, column: int) -> None:
    done = run("calls", "--where", expression, str(shared / "field/ends/client.pcap"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"column {column}: " in done.stderr


def test_one_flow(run: Run, made: tuple[Path, list[planted.Planted]]) -> None:
    path, _ = made
    every = rows(run("calls", "--format", "jsonl", str(path)).stdout)
    flow = [row["id"] for row in every if row["flow"] == 2]
    done = run("calls", "--flow", "99", str(path))
    assert done.exit_code == 2
    assert "no flow 99: there are 5 flows" in done.stderr
    for choice, wanted in (("2", flow), ("2c", flow), ("2s", [])):
        found = rows(run("calls", "--format", "jsonl", "--flow", choice, str(path)).stdout)
        assert [row["id"] for row in found] == wanted


def test_one_call(run: Run, made: tuple[Path, list[planted.Planted]]) -> None:
    path, calls = made
    for fate in planted.FATES:
        call = next(call for call in calls if call.fate == fate)
        done = run("calls", "--call", str(call.number), str(path))
        assert done.exit_code == 0
        lines = done.stdout.splitlines()
        assert lines[0].startswith(f"call {call.number}  {call.service}.{call.method}  ")
        assert any(f"dubbo  req #{call.number} " in line for line in lines)
        answered = fate not in ("unanswered", "one-way")
        assert any(f"dubbo  resp #{call.number} " in line for line in lines) == answered
        assert any(line.startswith("on the wire") for line in lines)
        assert any("bytes sent again" in line for line in lines[:3]) == ("repeated" in fate)
        assert any(line.startswith("no reply") for line in lines) != answered
    done = run("calls", "--call", "99999", str(path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no call 99999: there are calls 1 to 400" in done.stderr
    assert run("calls", "--call", "1", "--sort", "time", str(path)).exit_code == 2


def test_what_is_wrong_is_refused(run: Run, made: tuple[Path, list[planted.Planted]], tmp_path: Path) -> None:
    path, _ = made
    before = path.read_bytes()
    assert run("calls", "-o", str(path), str(path)).exit_code == 2
    assert path.read_bytes() == before
    assert run("calls", "--sort", "size", str(path)).exit_code == 2
    done = run("calls", "--hex", "dabb")
    assert done.exit_code == 2
    assert "not a capture" in done.stderr
    target = tmp_path / "out.jsonl"
    assert run("calls", "--format", "jsonl", "-o", str(target), str(path)).exit_code == 0
    assert len(rows(target.read_text())) == 400


def test_several_captures_and_separate_ones(
    run: Run, made: tuple[Path, list[planted.Planted]], tmp_path: Path
) -> None:
    path, calls = made
    copies = [tmp_path / "a" / "one.pcap", tmp_path / "b" / "two.pcap"]
    for copy in copies:
        copy.parent.mkdir()
        copy.write_bytes(path.read_bytes())
    names = [str(copy) for copy in copies]
    apart = rows(run("calls", "--format", "jsonl", "--separate", *names).stdout)
    assert [row["call"] for row in apart] == list(range(1, 2 * len(calls) + 1))
    assert [row["flow"] for row in apart[400:403]] == [row["flow"] + 5 for row in apart[:3]]
    points = rows(run("calls", "--format", "jsonl", "--point", "folder", *names).stdout)
    assert len(points) == 2 * len(calls)
    assert {row["point"] for row in points} == {str(copy.parent) for copy in copies}
    assert {(row["point"], Path(row["file"]).name) for row in points} == {
        (str(copy.parent), copy.name) for copy in copies
    }


def test_a_live_pipe_shows_calls_as_they_are_answered() -> None:
    data, calls = planted.planted(30, 3, each=0, connections=1)
    first = next(place for place, call in enumerate(calls) if call.fate == "unanswered")
    running = process("calls", "--format", "jsonl", "-")
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(data)
    running.stdin.flush()
    for number in range(first):
        assert json.loads(running.stdout.readline())["call"] == number + 1
    rest, errors = running.communicate()
    assert errors == b""
    assert [json.loads(line)["call"] for line in rest.splitlines()] == list(range(first + 1, 31))
    assert running.returncode == 0


@pytest.mark.once
@pytest.mark.parametrize("width", [20, 60])
def test_no_line_is_longer_than_narrow_terminals(
    run: Run, made: tuple[Path, list[planted.Planted]], width: int
) -> None:
    for words in (
        ["calls"],
        ["calls", "--call", "4"],
        ["stats"],
        ["stats", "--by", "service,method,client,server,outcome"],
        ["stats", "--sizes"],
        ["flows"],
    ):
        for more in ([], ["--ascii"]):
            result = run(*words, "--width", str(width), *more, str(made[0]))
            assert result.exit_code == 0
            assert max(map(len, result.stdout.splitlines())) <= width, words


def test_text_alone_on_a_row() -> None:
    call = Call()
    call.call, call.flow, call.service, call.method = 5, 2, "com.x.S", "find"
    call.outcome, call.status, call.exception = "error", "SERVER_TIMEOUT", "waited 5\x1b[31m s"
    text = view.row_text(call)
    assert "com.x.S.find" in text
    assert "✕ server timeout" in text
    assert "waited 5\\u001b[31m s" in text


def test_outcomes_have_signs() -> None:
    def shown(**members: Any) -> str:
        call = Call()
        for name, value in members.items():
            setattr(call, name, value)
        return plain(view.outcome(call))

    assert shown(outcome="ok") == "ok"
    assert shown(outcome="ok", late=True) == "ok, late"
    assert shown(outcome="error", exception="com.x.OutOfStockException") == "◆ OutOfStockException"
    assert shown(outcome="error", status="SERVER_TIMEOUT", exception="no reply") == "✕ server timeout"
    assert shown(outcome="error", status="404 Not Found") == "✕ 404 Not Found"
    assert shown(outcome="error", status="OK", exception="bad things") == "✕ error"
    assert shown(outcome="unanswered") == "✕ unanswered"
    assert shown(outcome="unanswered", timed_out=True) == "✕ timed out"
    assert shown(outcome="one-way") == "one-way"


def test_hostile_texts_are_escaped_in_rows() -> None:
    call = Call()
    call.service, call.method, call.outcome = "x\x1b]0;t\x07", "m\u202e\n", "error"
    call.exception = "a\x1b[2J b\nc"
    for width in (None, 80):
        table = view.CallTable(Layout(width))
        text = "".join(plain(line) for line in table.lines([call]))
        assert text.isprintable()


def numbered(number: int) -> Call:
    call = Call()
    call.call = number
    call.method = f"m{number}"
    return call


@pytest.mark.parametrize("in_memory", [1, 7, 50, 5000])
def test_calls_in_order_go_to_disk_where_they_are_many(in_memory: int) -> None:
    chance = random.Random(in_memory)
    numbers = list(range(1, 2001))
    for at in range(0, len(numbers), 40):  # late ones, some of them very late
        part = numbers[at : at + 40]
        chance.shuffle(part)
        numbers[at : at + 40] = part
    late = [number for number in numbers if number % 97 == 0]
    numbers = [number for number in numbers if number % 97] + late
    order = InOrder(1, in_memory)
    found: list[Call] = []
    for number in numbers:
        for portion in order.add([(number, None if number % 5 == 0 else numbered(number))]):
            found += portion
    assert [call.call for call in found] == [number for number in range(1, 2001) if number % 5]
    assert all(call.method == f"m{call.call}" for call in found)


@pytest.mark.parametrize("in_memory", [1, 3, 64, 5000])
@pytest.mark.parametrize("limit", [None, 0, 1, 30, 5000])
def test_sorted_calls_go_to_disk_where_they_are_many(in_memory: int, limit: int | None) -> None:
    chance = random.Random(in_memory)
    keys = [chance.randrange(50) for _ in range(300)]
    calls = Sorted(limit, in_memory)
    for number, key in enumerate(keys, 1):
        calls.add(key, numbered(number))
    wanted = sorted(range(1, 301), key=lambda number: (keys[number - 1], number))
    assert [call.call for call in calls] == wanted[:limit]


def test_plain_text_is_as_lines_have_it(shared: Path) -> None:
    data, _ = planted.planted(200, 5, each=6, connections=3)
    calls = [*planted.calls_of(data), *wirelens.calls([(shared / "field/ends/client.pcap").read_bytes()])]
    lines = [plain(line).rstrip() for line in view.CallTable(Layout()).lines(calls)]
    assert view.CallTable(Layout()).text(calls).decode().splitlines() == lines
