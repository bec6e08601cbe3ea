"""`wirelens diff` as it is run: forms of input, captures, output, exit status."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from wirelens.codecs import decode, encode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import building

if TYPE_CHECKING:
    from commands import Run

ORDER = {
    "$class": "shop.Order",
    "$id": 0,
    "buyer": {"$class": "shop.Customer", "name": "Ada", "note": "x" * 500 + "old" + "y" * 500},
    "lines": [{"$class": "shop.Line", "sku": "TEA", "quantity": 2, "order": {"$ref": 0}}],
}
CHANGED_ORDER = {
    "$class": "shop.Order",
    "$id": 7,
    "lines": [
        {"$class": "shop.Line", "sku": "CUP", "quantity": 1, "order": {"$ref": 7}},
        {"$class": "shop.Line", "sku": "TEA", "quantity": 3, "order": {"$ref": 7}},
    ],
    "buyer": {"$class": "shop.Customer", "name": "Ada", "note": "x" * 500 + "new" + "y" * 500},
}


def record(number: int, value: Any, method: str = "place", trace: str = "t1") -> dict[str, Any]:
    """A request of Dubbo."""
    body = {
        "dubbo_version": "2.0.2",
        "path": "shop.OrderService",
        "version": "1.0.0",
        "method": method,
        "parameter_types": "Ljava/lang/Object;",
        "arguments": [value],
        "attachments": {"path": "shop.OrderService", "traceparent": trace},
    }
    head = {"type": "request", "two_way": True, "event": False, "serialization": "hessian2", "id": number}
    return {"protocol": "dubbo", "message": {**head, "body": body}}


def answer(number: int, value: Any) -> dict[str, Any]:
    head = {"type": "response", "two_way": False, "event": False, "serialization": "hessian2"}
    body = {"result": "value", "value": value}
    return {"protocol": "dubbo", "message": {**head, "status": "OK", "id": number, "body": body}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """old.bin and new.bin, and new.bin in other forms."""
    (tmp_path / "old.bin").write_bytes(encode(record(7, ORDER)))
    data = encode(record(9, CHANGED_ORDER))
    (tmp_path / "new.bin").write_bytes(data)
    (tmp_path / "new.hex").write_text(data.hex(" "), encoding="utf-8")
    (tmp_path / "new.json").write_text(json.dumps(record(9, CHANGED_ORDER)), encoding="utf-8")
    (message,) = decode(data)
    (tmp_path / "decoded.json").write_text(json.dumps([message.to_json()]), encoding="utf-8")
    (tmp_path / "bare.json").write_text(json.dumps(record(9, CHANGED_ORDER)["message"]), encoding="utf-8")
    return tmp_path


CHANGES = [
    ("changed", "id"),
    ("changed", "body.arguments[0].buyer.note"),
    ("added", "body.arguments[0].lines[0]"),
    ("changed", "body.arguments[0].lines[0].quantity"),
]


def document(text: str) -> Any:
    return json.loads(text)


def changes(text: str) -> list[tuple[str, str]]:
    return [
        (change["change"], change["path"])
        for message in document(text)["messages"]
        for change in message["changes"]
    ]


def test_text(run: Run, folder: Path) -> None:
    done = run("diff", str(folder / "old.bin"), str(folder / "new.bin"))
    assert done.exit_code == 1
    assert done.stderr == ""
    lines = done.stdout.replace(str(folder), "").splitlines()
    assert lines[0].startswith("- /old.bin  dubbo  req #7 shop.OrderService.place")
    assert lines[1].startswith("+ /new.bin  dubbo  req #9 shop.OrderService.place")
    (old,), (new,) = (decode((folder / name).read_bytes()) for name in ("old.bin", "new.bin"))
    assert old.root is not None
    assert new.root is not None
    order, other = old.root["body"]["arguments"][0], new.root["body"]["arguments"][0]
    quantity = order["lines"][0]["quantity"].span[0], other["lines"][1]["quantity"].span[0]
    assert f" {quantity[0]} {quantity[1]}  ~ body.arguments[0].lines[0→1].quantity: 2 → 3" in lines
    added = next(line for line in lines if " + " in line)
    assert added.endswith('lines[0]: Line {sku: "CUP", quantity: 1, order: → #0 Order}')
    assert f" {other['lines'][0].span[0]}  + body" in added
    assert lines[-1] == "values: 3 changed, 1 added; 14 the same"


def test_values_are_shortened_to_the_width_but_what_differs_is_kept(run: Run, folder: Path) -> None:
    for width in (60, 80, 120):
        done = run(
            "diff", "--width", str(width), "--ignore-ids", str(folder / "old.bin"), str(folder / "new.bin")
        )
        lines = [line for line in done.stdout.splitlines() if "body." not in line and "req" not in line]
        assert max(map(len, lines)) <= width
        assert "oldyyyy" in done.stdout
        assert "xxxnewyyy" in done.stdout
        assert "x" * width not in done.stdout


@pytest.mark.parametrize("name", ["new.bin", "new.hex", "new.json", "decoded.json"])
def test_every_form_of_input_gives_the_same_result(run: Run, folder: Path, name: str) -> None:
    done = run("diff", "--format", "json", str(folder / "old.bin"), str(folder / name))
    assert done.exit_code == 1, done.output
    assert changes(done.stdout) == CHANGES
    assert run("diff", str(folder / "new.bin"), str(folder / name)).exit_code == 0
    assert run("diff", "-", str(folder / name), stdin=(folder / "new.bin").read_bytes()).exit_code == 0


def test_a_bare_message_needs_its_protocol(run: Run, folder: Path) -> None:
    words = (str(folder / "new.bin"), str(folder / "bare.json"))
    done = run("diff", *words)
    assert done.exit_code == 2
    assert "--as PROTOCOL" in done.stderr
    assert run("diff", "--as", "dubbo", *words).exit_code == 0


def test_an_object_that_holds_bytes_is_no_message(run: Run, folder: Path) -> None:
    data = (folder / "new.bin").read_bytes()
    (folder / "holder.json").write_text(json.dumps({"payload": data.hex()}), encoding="utf-8")
    done = run("diff", str(folder / "new.bin"), str(folder / "holder.json"))
    assert (done.exit_code, done.stdout) == (0, "the same: 1 message\n"), done.output


def test_texts_on_the_command_line(run: Run) -> None:
    same = run("diff", "--as", "hessian2", "--hex", "91 92", "--hex", "9192")
    assert (same.exit_code, same.stdout) == (0, "the same: 1 message\n")
    other = run("diff", "--as", "hessian2", "--hex", "91 92", "--hex", "9193", "--format", "json")
    assert changes(other.stdout) == [("changed", "values[1]")]
    longer = run("diff", "--as", "hessian2", "--hex", "91", "--hex", "4900000001")
    assert longer.exit_code == 0
    wire = run("diff", "--as", "hessian2", "--hex", "91", "--hex", "4900000001", "--wire")
    assert wire.exit_code == 1
    assert '= values[0].$wire: null → "I"' in wire.stdout


def test_json_has_both_paths_offsets_and_values(run: Run, folder: Path) -> None:
    done = run("diff", "--format", "json", str(folder / "old.bin"), str(folder / "new.bin"))
    result = document(done.stdout)
    assert result["same"] is False
    assert result["old"] == str(folder / "old.bin")
    assert result["counts"] == {"messages": {"changed": 1}, "values": {"added": 1, "changed": 3}}
    (message,) = result["messages"]
    assert message["old"]["protocol"] == "dubbo"
    first, _, added, quantity = message["changes"]
    assert first == {
        "change": "changed", "path": "id", "old_offset": 4, "new_offset": 4, "old": 7, "new": 9
    }  # fmt: skip
    assert added["new"]["sku"] == "CUP"
    assert "old" not in added
    assert quantity["new_path"] == "body.arguments[0].lines[1].quantity"
    assert (quantity["old"], quantity["new"]) == (2, 3)
    same = run("diff", "--format", "json", str(folder / "old.bin"), str(folder / "old.bin"))
    assert document(same.stdout)["messages"] == []
    assert document(same.stdout)["same"] is True


def test_values_that_are_ignored(run: Run, folder: Path) -> None:
    files = (str(folder / "old.bin"), str(folder / "new.bin"))
    one = run("diff", "--format", "json", "--ignore", "body.arguments", *files)
    assert changes(one.stdout) == [("changed", "id")]
    words = ("--ignore", "message.body.arguments[0].lines", "--ignore", "..note", "--ignore-ids")
    done = run("diff", *words, *files)
    assert done.exit_code == 0
    assert "not compared: " in done.stdout


MISTAKES = [
    (("a.bin",), "two inputs are compared, 1 was given"),
    (("a.bin", "b.bin", "c.bin"), "two inputs are compared, 3 were given"),
    (("-", "-"), "standard input can be only one of the two"),
    (("--ignore", "a[x]", "old.bin", "new.bin"), "column 2"),
    (("--as", "nothing", "old.bin", "new.bin"), "is not one of"),
    (("none.bin", "old.bin"), "No such file"),
    (("old.bin", "broken.json"), "broken.json"),
    (("old.bin", "wrong.json"), "body"),
    (("old.bin", "new.bin", "-o", "old.bin"), "is an input"),
    (("old.bin", "new.bin", "-o", "new.bin"), "is an input"),
]


@pytest.mark.parametrize(("words", "text"), MISTAKES)
def test_trouble_is_status_2(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], text: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "broken.json").write_text('[{"protocol": "dubbo", ', encoding="utf-8")
    wrong = record(9, 1)
    del wrong["message"]["body"]["method"]
    (folder / "wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
    before = (folder / "old.bin").read_bytes()
    done = run("diff", *words)
    assert done.exit_code == 2, done.output
    assert text in done.stderr
    assert done.stdout == ""
    assert (folder / "old.bin").read_bytes() == before


def test_hostile_text_does_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    bad = "\x1b[31mred\u202e\u0000\n\x9b"
    for name, value in (("old.json", {"k": bad, bad: 1}), ("new.json", {"k": bad + "x", bad: 2})):
        text = json.dumps({"protocol": "hessian2", "message": {"values": [value]}})
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = (str(tmp_path / "old.json"), str(tmp_path / "new.json"))
    done = run("diff", *files)
    assert done.exit_code == 1
    assert not any((ord(char) < 32 and char != "\n") or char in "\x9b\u202e" for char in done.stdout)
    assert len(done.stdout.splitlines()) == 6
    assert document(run("diff", "--format", "json", *files).stdout)["same"] is False


def test_long_output_is_bounded(run: Run, tmp_path: Path) -> None:
    for name, values in (("old.json", range(3000)), ("new.json", range(5000, 8000))):
        message = {"protocol": "hessian2", "message": {"values": [list(values)]}}
        (tmp_path / name).write_text(json.dumps(message), encoding="utf-8")
    files = (str(tmp_path / "old.json"), str(tmp_path / "new.json"))
    text = run("diff", *files).stdout
    assert "2,000 more changes; --format json has all" in text
    assert len(text.splitlines()) < 1010
    assert len(changes(run("diff", "--format", "json", *files).stdout)) == 3000


def test_files_of_several_messages(run: Run, tmp_path: Path) -> None:
    messages = [encode(record(number, {"n": number})) for number in range(30)]
    (tmp_path / "old.bin").write_bytes(b"".join(messages))
    (tmp_path / "new.bin").write_bytes(b"".join([*messages[:10], encode(record(99, "new")), *messages[10:]]))
    files = (str(tmp_path / "old.bin"), str(tmp_path / "new.bin"))
    done = run("diff", *files)
    assert done.exit_code == 1
    lines = done.stdout.replace(str(tmp_path), "").splitlines()
    assert lines[0].startswith("+ /new.bin  message 11  dubbo")
    assert lines[-1] == "messages: 1 added; 30 the same"
    only = run("diff", "--where", "id=5", *files)
    assert (only.exit_code, only.stdout) == (0, "the same: 1 message\n")


def test_long_lists_of_messages_are_bounded(run: Run, tmp_path: Path) -> None:
    (tmp_path / "old.bin").write_bytes(b"")
    (tmp_path / "new.bin").write_bytes(b"".join([encode(record(number, number)) for number in range(1200)]))
    done = run("diff", str(tmp_path / "old.bin"), str(tmp_path / "new.bin"))
    lines = done.stdout.splitlines()
    assert len(lines) == 1003
    assert lines[-3:] == [
        "… 200 more messages with differences; --format json has all",
        "",
        "messages: 1,200 added; 0 the same",
    ]


# --- captures ----------------------------------------------------------------------------------------------


def captured(
    calls: list[tuple[str, Any, Any]], first_id: int, client: bytes, start_us: int, trace: str
) -> bytes:
    """A capture of calls (method, argument, result; None: no reply) over one connection."""
    frames: list[bytes] = []
    times: list[int] = []
    sent = [100, 900]

    def add(direction: int, data: bytes, flags: int = building.ACK) -> None:
        ports = (40000, 20880) if direction == 0 else (20880, 40000)
        ends = (client, building.SERVER) if direction == 0 else (building.SERVER, client)
        segment = building.tcp(*ports, seq=sent[direction], ack=sent[1 - direction], flags=flags, data=data)
        frames.append(building.ethernet(building.ipv4(segment, source=ends[0], destination=ends[1])))
        times.append(start_us + 1000 * len(frames))
        sent[direction] += len(data) + (1 if flags & building.SYN else 0)

    add(0, b"", building.SYN)
    add(1, b"", building.SYN | building.ACK)
    for number, (method, argument, result) in enumerate(calls, first_id):
        add(0, encode(record(number, argument, method, trace)))
        if result is not None:
            add(1, encode(answer(number, result)))
    return building.pcap(frames, times=times)


CALLS: list[tuple[str, Any, Any]] = [
    ("find", "o1", {"id": "o1", "status": "PAID"}),
    ("find", "o2", {"id": "o2", "status": "NEW"}),
    ("place", {"sku": "TEA", "n": 1}, 1),
    ("place", {"sku": "CUP", "n": 2}, 2),
    ("find", "o1", {"id": "o1", "status": "PAID"}),
]


@pytest.fixture
def monday(tmp_path: Path) -> Path:
    path = tmp_path / "monday.pcap"
    path.write_bytes(captured(CALLS, 1, bytes([10, 0, 0, 1]), 0, "t1"))
    return path


def tuesday(folder: Path, calls: list[tuple[str, Any, Any]]) -> Path:
    """Another day: other ids, addresses, times and traces."""
    path = folder / "tuesday.pcap"
    path.write_bytes(captured(calls, 5000, bytes([10, 9, 9, 9]), 86_400_000_000, "t2"))
    return path


def calls(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (call["change"], [(change["change"], change["path"]) for change in call.get("changes", [])])
        for call in document(text)["calls"]
    ]


def test_captures_of_two_days_are_the_same(run: Run, monday: Path, tmp_path: Path) -> None:
    other = tuesday(tmp_path, [CALLS[3], *CALLS[:3], CALLS[4]])
    done = run("diff", str(monday), str(other))
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "the same: 5 calls"), done.output


def test_calls_of_captures_are_paired_by_method_and_arguments(run: Run, monday: Path, tmp_path: Path) -> None:
    changed: list[tuple[str, Any, Any]] = [
        ("place", {"sku": "CUP", "n": 2}, None),
        ("find", "o2", {"id": "o2", "status": "PAID"}),
        ("place", {"sku": "TEA", "n": 7}, 1),
        ("cancel", "o3", True),
        CALLS[0],
        CALLS[0],
    ]
    other = tuesday(tmp_path, changed)
    done = run("diff", "--format", "json", str(monday), str(other))
    assert done.exit_code == 1, done.output
    assert calls(done.stdout) == [
        ("changed", [("changed", "reply.body.value.status")]),
        ("changed", [("changed", "request.body.arguments[0].n")]),
        ("changed", [("changed", "outcome")]),
        ("added", []),
    ]
    result = document(done.stdout)
    assert result["counts"]["calls"] == {"added": 1, "changed": 3, "same": 2}
    assert result["calls"][2]["old"]["outcome"] == "ok"
    assert result["calls"][2]["new"]["outcome"] == "unanswered"
    ignored = ("--ignore", "reply.body.value.status", "--ignore", "request..n")
    done = run("diff", "--format", "json", *ignored, str(monday), str(other))
    assert [kind for kind, _ in calls(done.stdout)] == ["changed", "added"]
    text = run("diff", str(monday), str(other)).stdout
    assert "call 4" in text
    assert '~ outcome: "ok" → "unanswered"' in text


def test_captures_are_selected_as_elsewhere(run: Run, monday: Path, tmp_path: Path) -> None:
    other = tuesday(tmp_path, CALLS[:2])
    files = (str(monday), str(other))
    assert run("diff", *files).exit_code == 1
    assert run("diff", "--where", "..arguments[*]=o2", *files).exit_code == 0
    assert run("diff", "--port", "20880", *files).exit_code == 1
    assert run("diff", "--flow", "9", *files).exit_code == 2
    assert run("diff", "--flow", "1", *files).exit_code == 1


def test_a_capture_and_a_file_are_compared_message_by_message(run: Run, monday: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.bin"
    path.write_bytes(encode(record(2, "o2", "find")))
    done = run("diff", "--where", "id=2 and kind=request", str(monday), str(path))
    assert (done.exit_code, done.stdout) == (0, "the same: 1 message\n"), done.output


def test_folders_are_captures(run: Run, monday: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for number in range(2):
        part = captured(CALLS[:2], 1, bytes([10, 0, 1, number]), number * 1_000_000, "t")
        (tmp_path / "a" / f"{number}.pcap").write_bytes(part)
        (tmp_path / "b" / f"{number}.pcap").write_bytes(part)
    done = run("diff", str(tmp_path / "a"), str(tmp_path / "b"))
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "the same: 4 calls"), done.output


# --- JSON for other tools ----------------------------------------------------------------------------------


def test_json_without_offsets(run: Run, monday: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.bin"
    data = encode(record(7, ORDER))
    path.write_bytes(b"\0" * 3 + data[:-9])
    for source in (monday, path):
        for style in ("json", "jsonl"):
            text = run("decode", "--as", "dubbo", "--no-offset", "--format", style, str(source)).stdout
            assert '"offset"' not in text
            assert '"length"' not in text
            assert '"source"' not in text
            whole = run("decode", "--as", "dubbo", "--format", style, str(source)).stdout
            kept = [
                {key: value for key, value in row.items() if key not in ("offset", "length", "source")}
                for row in rows(whole, style)
            ]
            for row in kept:
                for note in [*row.get("notes", ()), *([row["error"]] if "error" in row else ())]:
                    note.pop("offset")
            assert rows(text, style) == kept


def rows(text: str, style: str) -> list[Any]:
    return document(text) if style == "json" else [json.loads(line) for line in text.splitlines()]


def test_json_without_offsets_encodes(run: Run, folder: Path) -> None:
    text = run("decode", "--no-offset", "--format", "json", str(folder / "old.bin")).stdout
    done = run("encode", "--to", "raw", stdin=text)
    assert done.stdout_bytes == (folder / "old.bin").read_bytes()
    assert run("decode", "--no-offset", str(folder / "old.bin")).exit_code == 2
