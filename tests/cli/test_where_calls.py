"""--where on calls: every member of a call is a field, and paths lead into its messages."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filtering import check_counts, lines

import wirelens
from wirelens.cli.where.call_fields import call_fields
from wirelens.cli.where.compiling import compiled
from wirelens.codecs.call import MEMBERS, Call

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import planted

if TYPE_CHECKING:
    from commands import Run

# Expressions and how many of 20 calls match.
EXAMPLES = [
    ("outcome=ok", 19),
    ("outcome!=ok", 1),
    ("late=true", 1),
    ("late!=true", 18),
    ("late=false", 18),
    ("has late", 19),
    ("timed_out=true", 0),
    ("latency>1s or outcome=unanswered", 2),
    ("has waited", 1),
    ("method=find", 6),
    ("find", 6),
    ("orderservice.place", 7),
    ("summary~unanswered", 1),
    ("client=10.0.0.1:40000 and server=10.0.0.2", 20),
    ("server=10.0.0.0/8 and not client=10.0.0.2", 20),
    ("port=20880 and port=40000 and port!=5", 20),
    ("request.body.arguments[0]=o3", 1),
    ("reply.body.value~v1", 10),
    ("not has reply.status", 1),
    ("reply.status!=OK", 0),
    ("message.status=OK", 19),
    ("..arguments[*]=o3", 1),
    ("request.id>18 and method=cancel", 1),
    ("resent_bytes>0", 1),
    ("open_calls>0", 7),
    ("time=2026-01-17T10:40:01", 2),
    ("sent<2026-01-17T10:40:01 and answered<2026-01-17T10:40:01", 6),
    ("flow=1", 20),
    ("flow=tcp 10.0.0.1:40000 > 10.0.0.2:20880", 20),
    ("packets=2", 18),
    ("call<=5", 5),
    ("timeout=1s", 20),
    ("request_bytes>100B and response_bytes<100B", 19),
    ("has exception or has trace or has point or has seen or has server_time", 0),
]

WRONG = [
    ("outcome=okay", 9, "is ok meant?"),
    ("seen=booth", 6, "is both meant?"),
    ("kind=request", 1, "of messages: wirelens decode"),
    ("has note", 5, "of messages: wirelens decode"),
    ("latncy>1s", 1, "is latency meant?"),
    ("late>true", 5, "late is true or false"),
    ("late=yes", 6, "true, false"),
    ("open_calls>1s", 12, "is not a number"),
]


@pytest.fixture(scope="module")
def real(shared: Path) -> str:
    return str(shared / "field" / "ends" / "client.pcap")


def test_examples(run: Run, real: str) -> None:
    check_counts(run, "calls", real, 20, EXAMPLES)


@pytest.mark.parametrize(("expression", "column", "text"), WRONG)
def test_what_cannot_be_is_an_error_before_anything_is_read(
    run: Run, expression: str, column: int, text: str
) -> None:
    result = run("calls", "--where", expression, "no-such-file")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"column {column}: " in result.stderr
    assert text in result.stderr
    assert "no-such-file" not in result.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A capture of 200 calls of all fates."""
    path = tmp_path_factory.mktemp("calls") / "app.pcap"
    path.write_bytes(planted.planted(200, 3, each=9, connections=3)[0])
    return str(path)


def test_fields_have_the_values_of_json(run: Run, made: str) -> None:
    every = [json.loads(line) for line in lines(run, "calls", made)]
    for expression, condition in (
        ("outcome=error", lambda row: row["outcome"] == "error"),
        ("late=true", lambda row: row.get("late") is True),
        ("timed_out=true", lambda row: row.get("timed_out") is True),
        ("latency>=.02", lambda row: row.get("latency", 0) >= 0.02),
        ("waited<1s", lambda row: row.get("waited", 9) < 1),
        ("resent_bytes>1", lambda row: row.get("resent_bytes", 0) > 1),
        ("flow=2 or open_calls>3", lambda row: row["flow"] == 2 or row["open_calls"] > 3),
        ("exception~FAIL", lambda row: "fail" in row.get("exception", "").lower()),
        ("id>=50", lambda row: int(row["id"]) >= 50),
        ("request.id>=50 and late!=false", lambda row: int(row["id"]) >= 50 and row.get("late")),
    ):
        wanted = [row for row in every if condition(row)]
        assert [json.loads(line) for line in lines(run, "calls", "--where", expression, made)] == wanted
        assert 0 < len(wanted) < len(every), expression


def test_rows_that_wait_are_selected_too(run: Run, made: str) -> None:
    words = ("--where", "request.id>50", "--sort", "latency", made)
    slowest = [json.loads(line).get("latency", -1) for line in lines(run, "calls", *words)]
    assert len(slowest) == 150
    assert slowest == sorted(slowest, reverse=True)
    assert lines(run, "calls", "--limit", "5", *words) == lines(run, "calls", *words)[:5]


def test_what_matches_nothing_is_reported(run: Run, made: str) -> None:
    result = run("calls", "--where", "latency>1h", made)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.endswith("0 of 200 calls match\n")


def test_a_flow_that_is_not_there(run: Run, made: str) -> None:
    result = run("calls", "--flow", "99", made)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no flow 99: there are 3 flows" in result.stderr


def test_one_call_is_found_with_any_filter(run: Run, made: str) -> None:
    shown = run("calls", "--call", "7", made)
    assert shown.exit_code == 0
    assert run("calls", "--call", "7", "--where", "latency>1h", made).stdout == shown.stdout


def test_every_member_is_a_field() -> None:
    calls = wirelens.calls([planted.planted(20, 3)[0]])
    values: dict[str, Any] = {}
    for name, kind in MEMBERS:
        found = compiled([f"has {name}"], call_fields())
        assert found is not None
        for call in calls:
            row = call.to_json()
            assert isinstance(row, dict)
            if name in ("client", "server", "flow", "call"):
                assert found.matches(call)
            else:
                assert found.matches(call) == (name in row), name
        values[name] = kind
        assert not found.matches(Call()) or name in ("call", "flow")
    assert len(values) == len(MEMBERS)


def test_calls_of_both_ends(run: Run, shared: Path) -> None:
    ends = [str(shared / "field" / "ends" / name) for name in ("client.pcap", "server.pcap")]
    words = (ends[0], "--server-side", ends[1])
    for expression, numbers in (
        ("server_time>1s", [9]),
        ("request_transit>100ms and request_lost=1", [5]),
        ("seen=both and not has server_time", [13]),
        ("reply_lost>0 or request.body.arguments[0]=o7", [7]),
        ("uncertainty<1us", []),
    ):
        result = run("calls", "--format", "jsonl", "--where", expression, *words)
        assert result.exit_code == 0
        assert [json.loads(line)["call"] for line in result.stdout.splitlines()] == numbers, expression


def test_stats_count_the_calls_that_match(run: Run, made: str) -> None:
    def counted(*words: str) -> dict[str, int]:
        result = run("stats", "--format", "json", "--by", "outcome", *words, made)
        assert result.exit_code == 0
        return {row["outcome"]: row["calls"] for row in json.loads(result.stdout)}

    every = counted()
    assert sum(every.values()) == 200
    assert counted("--where", "outcome=error") == {"error": every["error"]}
    for expression in ("latency>.02", "request.id>50 and flow=2", "not late=false", "fail"):
        calls = [json.loads(line) for line in lines(run, "calls", "--where", expression, made)]
        outcomes = [call["outcome"] for call in calls]
        assert counted("--where", expression) == {name: outcomes.count(name) for name in set(outcomes)}
        assert 0 < len(calls) < 200
    result = run("stats", "--where", "latency>1h", made)
    assert result.exit_code == 0
    assert result.stderr.endswith("0 of 200 calls match\n")
    assert run("stats", "--where", "latncy>1s", "no-such-file").exit_code == 2
    result = run("stats", "--flow", "99", made)
    assert result.exit_code == 2
    assert "no flow 99: there are 3 flows" in result.stderr
