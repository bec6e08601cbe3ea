"""`decode --with`: members added to records, for jq."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wirelens

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import planted

if TYPE_CHECKING:
    from commands import Run

NAMES = ("kind", "summary", "service", "method", "outcome", "status", "exception", "latency", "timeout", "id")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A capture of 100 calls of all fates."""
    path = tmp_path_factory.mktemp("with") / "app.pcap"
    path.write_bytes(planted.planted(100, 5, each=5, connections=3)[0])
    return str(path)


def rows(run: Run, *words: str) -> list[dict[str, Any]]:
    result = run("decode", "--format", "jsonl", *words)
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_members_stand_before_the_message_and_nothing_else_changes(run: Run, made: str) -> None:
    plain = rows(run, made)
    for words in ((), ("--plain",), ("--no-offset",)):
        without = rows(run, *words, made)
        found = rows(run, *words, "--with", ", ".join(NAMES), made)
        assert len(found) == len(plain)
        for row, before in zip(found, without, strict=True):
            keys = list(row)
            added = [key for key in keys if key in NAMES]
            assert added == [name for name in NAMES if name in added]
            assert keys[keys.index("message") - len(added) : keys.index("message")] == added
            assert {key: row[key] for key in keys if key not in NAMES} == before
    assert rows(run, "--with", "latency,kind", made)[1].keys() - plain[1].keys() <= {"latency", "kind"}


def test_values_are_those_of_calls_and_records(run: Run, made: str) -> None:
    calls = {call.id: call for call in wirelens.calls([Path(made).read_bytes()])}
    outcomes = set()
    for row in rows(run, "--with", ",".join(NAMES), made):
        call = calls[row["id"]]
        assert row["method"] == call.method
        assert row.get("service", "") == call.service
        assert row.get("latency") == row["source"].get("latency")
        outcomes.add((row["kind"], row.get("outcome")))
        if row["kind"] == "response" and call.latency_us is not None:
            assert row["outcome"] == call.outcome
            assert row.get("exception", "") == call.exception
        if row["kind"] != "response":
            assert row.get("timeout") == (None if call.timeout_us is None else call.timeout_us / 1e6)
    assert {("request", None), ("response", "ok"), ("response", "error"), ("oneway", "one-way")} <= outcomes


def test_replies_have_the_method_of_requests_that_are_left_out(run: Run, made: str) -> None:
    for words in (("--where", "kind=response"), ("--flow", "1s")):
        assert all(row["method"] for row in rows(run, "--with", "method", *words, made))


def test_what_was_added_encodes_back(run: Run, made: str, tmp_path: Path) -> None:
    results = []
    for words in ((), ("--with", ",".join(NAMES))):
        for style in ("json", "jsonl"):
            text = run("decode", "--format", style, *words, made).stdout
            target = tmp_path / "out"
            assert run("encode", "--flow", "1c", "-o", str(target), stdin=text).exit_code == 0
            results.append(target.read_bytes())
    assert len(results[0]) > 100
    assert len(set(results)) == 1


def test_what_did_not_decode(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(bytes.fromhex("dabbe2000000000000000007000000014edabbe20000000000000000070000000a4e"))
    result = run("decode", "--as", "dubbo", "--format", "jsonl", "--with", "kind,method,id", str(path))
    good, bad = map(json.loads, result.stdout.splitlines())
    assert (good["kind"], good["method"], good["id"]) == ("heartbeat", "heartbeat", "7")
    assert bad["kind"] == "error"
    assert bad["message"] is None
    assert "method" not in bad


def test_what_is_wrong_is_refused(run: Run, made: str) -> None:
    result = run("decode", "--format", "jsonl", "--with", "kind,nose", made)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no member 'nose'; there are kind, summary" in result.stderr
    assert run("decode", "--with", "kind", made).exit_code == 2


def test_a_large_message_in_parts(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(wirelens.encode({"values": [["text " * 6000] * 50]}, "hessian2"))
    plain, more = rows(run, str(path)), rows(run, "--with", "summary", str(path))
    assert len(plain) == 1
    assert plain[0]["length"] > 1 << 20
    assert list(more[0])[-2:] == ["summary", "message"]
    assert more[0].pop("summary")
    assert more == plain
