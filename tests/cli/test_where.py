"""--where on messages: the examples of its specification, on a made capture and on a real one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filtering import check_counts, lines

from wirelens import codecs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

from building import ACK, FIN, START, Talk, pcap

if TYPE_CHECKING:
    from commands import Run

BEGIN_US = (1_768_646_400 - START) * 1_000_000 + 99_999  # 2026-01-17T10:40:00.099999Z
SLOW_US = {5: 216_478, 9: 1_404_000}  # latencies that are not usual
UNANSWERED = 13
SERVICE = "com.example.shop.OrderService"

# Expressions and how many of 39 messages match: 20 requests, 19 replies.
EXAMPLES = [
    ("kind=request", 20),
    ("!kind=request", 19),
    ("latency>1s", 1),
    ("latency<=1s", 18),
    ("not latency>1s", 38),
    ("latency!=1s", 19),
    ("has latency", 19),
    ("not has latency", 20),
    ("latency > .1", 2),
    ("status!=OK", 0),
    ("not status=OK", 20),
    ("note=joined-middle", 0),
    ("note!=joined-middle", 39),
    ("has note", 0),
    ("method=find or method=place and latency>1s", 6),
    ("(method=find or method=place) and id<5", 3),
    ("find", 6),
    ("not find", 33),
    ("orderservice.place", 7),
    ("message.body.arguments[0]=o3", 1),
    ("..arguments[*]=o3", 1),
    ("message.body.arguments[-1]~O1", 11),
    ("..timeout>500", 20),
    ("..timeout='1000'", 20),
    ("message.two_way=true", 20),
    ("message.two_way='true'", 0),
    ("..nosuch!=1", 0),
    ("client=10.0.0.1:40000 and server=10.0.0.2", 39),
    ("client=10.0.0.0/8 and not server=10.0.0.1", 39),
    ("port!=20880", 0),
    ("port!=5", 39),
    ("port>30000", 39),
    ("flow=tcp 10.0.0.1:40000 > 10.0.0.2:20880", 20),
    ("flow=1", 39),
    ("flow!=1", 0),
    ("flow~> 10.0.0.1", 19),
    ("time=2026-01-17T10:40:01", 4),
    ("time>2026-01-17", 0),
    ("time<=2026-01-17", 39),
    ("time>=2026-01-17T18:40+08:00 and time<2026-01-17T10:41", 39),
    ("kind==request && method~PL", 7),
    ("timeout=1s", 20),
    ("timeout!=1000ms", 0),
    (f"service={SERVICE}", 20),
    ("length<100", 19),
    ("length>=.1kB", 20),
    ("id=9", 2),
    ("id=09", 2),
    ("id!=9", 37),
    ("packets=1", 39),
    ("has error or has exception or has trace or has point", 0),
    ("message.body.attachments.timeout=1000.0", 20),
    ("has message", 39),
    ("message=null", 0),
    ('.."two_way"=true', 20),
]

# Expressions that cannot be, the column, and what the error states.
WRONG = [
    ("latency>1x", 9, "as 100ms, 1.5s, 2min"),
    ("latncy>1s", 1, "is latency meant?"),
    ("kind=request latency>1s", 14, "`and` or `or` is missing before"),
    ("method<find", 7, "method is a text"),
    ("kind=foo", 6, "there are altsvc, call, "),
    ("kind~foo", 6, "there are altsvc, call, "),
    ("note=joined-midle", 6, "is joined-middle meant?"),
    ("protocol=duboo", 10, "is dubbo meant?"),
    ("(kind=request", 1, '")" is missing'),
    ("kind=request)", 13, "closes no bracket"),
    ("outcome=ok", 1, "of calls: wirelens calls"),
    ("has open_calls", 5, "of calls: wirelens calls"),
    ("find and late=true", 10, "of calls: wirelens calls"),
    ("summary=~x", 8, "regular expressions"),
    ("", 1, "a condition is missing"),
    ("kind=", 5, "a value is missing"),
    ("kind=request and", 16, "a condition is missing"),
    ("or kind=request", 1, "a condition is missing"),
    ("has", 3, "a field is missing"),
    ("=5", 1, "a field is missing"),
    ("summary~'x", 9, "quotes are not closed"),
    ("kind.x=request", 5, 'has no ".x"'),
    ("message[x]=5", 8, "not a step of a path"),
    ("..timeout>5s", 11, "neither a number nor a time"),
    ("..timeout>'5'", 11, "neither a number nor a time"),
    ("client=10.0.0.300", 8, "is not an address"),
    ("client~10", 7, "~ is not for it"),
    ("time=2026-02-30", 6, "is not a time"),
    ("port=http", 6, "is not a number"),
    ("length>5ms", 8, "is not a size"),
    ("id<o5", 4, "is not a number"),
    ("flow<x", 6, "is not a flow"),
    ("flow=1c", 6, "is not a flow; as 3, tcp 10.0.0.1"),
    ("method=find&&kind=request", 12, "blanks are missing around &&"),
    ("(" * 101 + "x", 101, "more than 100"),
]


def message(number: int, reply: bool) -> bytes:
    if reply:
        body: dict[str, object] = {"result": "value", "value": f"v{number}"}
        record: dict[str, object] = {"type": "response", "status": "OK", "id": number, "body": body}
    else:
        body = {
            "dubbo_version": "2.0.2",
            "path": SERVICE,
            "version": "1.0.0",
            "method": ("find", "place", "cancel")[number % 3],
            "parameter_types": "Ljava/lang/String;",
            "arguments": [f"o{number}"],
            "attachments": {"path": SERVICE, "timeout": "1000"},
        }
        record = {"type": "request", "two_way": True, "id": number, "body": body}
    return codecs.encode(record, "dubbo")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A capture of 20 calls: one is slow, one very slow, one has no reply."""
    talk = Talk(peer=20880)
    frames = talk.hello()
    times = [BEGIN_US - 3, BEGIN_US - 2, BEGIN_US - 1]
    at = BEGIN_US
    for number in range(1, 21):
        frames.append(talk.send(0, message(number, False)))
        times.append(at)
        if number != UNANSWERED:
            at += SLOW_US.get(number, 16_000)
            frames.append(talk.send(1, message(number, True)))
            times.append(at)
        at += 100_000
    frames.append(talk.send(0, b"", FIN | ACK))
    times.append(at)
    path = tmp_path_factory.mktemp("where") / "made.pcap"
    path.write_bytes(pcap(frames, times=times))
    return str(path)


@pytest.fixture(scope="module")
def real(shared: Path) -> str:
    return str(shared / "field" / "ends" / "client.pcap")


def test_examples_over_a_made_capture(run: Run, made: str) -> None:
    check_counts(run, "decode", made, 39, EXAMPLES)


def test_examples_over_a_real_capture(run: Run, real: str) -> None:
    check_counts(run, "decode", real, 39, EXAMPLES)


@pytest.mark.parametrize(("expression", "column", "text"), WRONG)
@pytest.mark.parametrize("command", ["decode", "flows"])
def test_what_cannot_be_is_an_error_before_anything_is_read(
    run: Run, command: str, expression: str, column: int, text: str
) -> None:
    result = run(command, "--where", expression, "no-such-file")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"column {column}: " in result.stderr
    assert text in result.stderr
    assert "no-such-file" not in result.stderr


def test_every_expression_is_checked(run: Run, made: str) -> None:
    result = run("decode", "--where", "kind=request", "--where", "latncy>1s", made)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert '"latncy>1s", column 1: no field "latncy"' in result.stderr


def test_several_are_joined_by_and(run: Run, made: str) -> None:
    both = lines(run, "decode", "--where", "method=find or method=place", "--where", "id<5 or id>19", made)
    assert both == lines(run, "decode", "--where", "(method=find or method=place) and (id<5 or id>19)", made)
    assert len(both) == 3


def test_what_matches_nothing_is_reported(run: Run, made: str) -> None:
    for command in ("decode", "flows"):
        result = run(command, "--where", "latency>1h", made)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "0 of 39 messages match\n")


def test_flows_lists_those_with_a_message_that_matches(run: Run, made: str) -> None:
    whole = run("flows", "--format", "json", made).stdout
    some = run("flows", "--format", "json", "--where", "latency>1s", made)
    assert some.stdout == whole
    assert some.exit_code == 0
    none = run("flows", "--format", "json", "--where", "latency>1h", made)
    assert json.loads(none.stdout) == []
    assert none.exit_code == 0
    # of one direction only its messages count
    assert run("flows", "--flow", "1c", "--where", "has latency", made).stdout == ""


def test_a_flow_that_is_not_there(run: Run, made: str) -> None:
    for command in ("decode", "flows"):
        result = run(command, "--flow", "99", made)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == "Error: no flow 99: there is 1 flow\n"


def test_annotate_writes_nothing_for_a_flow_that_is_not_there(run: Run, made: str, tmp_path: Path) -> None:
    target = tmp_path / "out.pcapng"
    result = run("annotate", "--flow", "99", made, "-o", str(target))
    assert result.exit_code == 2
    assert result.stderr == "Error: no flow 99: there is 1 flow\n"
    assert not target.exists()
    assert run("annotate", "--where", "latncy>1s", made, "-o", str(target)).exit_code == 2
    assert not target.exists()


def test_records_that_are_not_from_a_capture(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "payload"
    path.write_bytes(message(1, False) + message(2, False) + message(2, True))
    assert len(lines(run, "decode", "--where", "method=cancel and id=2", str(path))) == 1
    for expression in (
        "latency!=1s",
        "client!=10.0.0.1",
        "port!=5",
        "has flow",
        "flow!=1",
        "time>2000-01-01",
    ):
        assert lines(run, "decode", "--where", expression, str(path)) == []
    other = tmp_path / "other"
    other.write_bytes(message(3, False))
    assert len(lines(run, "decode", "--where", "file~other", str(path), str(other))) == 1
    assert len(lines(run, "decode", "--where", "file~payload", str(path), str(other))) == 3


def test_the_exit_status_is_that_of_all_messages(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(message(1, False) + message(2, True)[:-2])
    assert run("decode", str(path)).exit_code == 1
    assert run("decode", "--where", "id=1", str(path)).exit_code == 1
    assert (
        len(run("decode", "--format", "jsonl", "--where", "message=null", str(path)).stdout.splitlines()) == 1
    )


def test_point(run: Run, made: str, tmp_path: Path) -> None:
    content = Path(made).read_bytes()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.pcap").write_bytes(content)
    words = ["--point", "folder", str(tmp_path)]
    assert len(lines(run, "decode", *words)) == 78
    assert len(lines(run, "decode", "--where", f"point={tmp_path}/there", *words)) == 39
    assert len(lines(run, "decode", "--where", "point~here and kind=request", *words)) == 40
    assert lines(run, "decode", "--where", "has point", str(tmp_path)) == []
