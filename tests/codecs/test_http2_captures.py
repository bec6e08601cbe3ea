"""HTTP/2 in captures of gRPC, Triple and nghttp2: everything as their truth has it, from any packet on."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from wirelens import codecs
from wirelens.codecs.calls import Calls
from wirelens.codecs.captures import Reader
from wirelens.codecs.conversations import Conversations, Message
from wirelens.codecs.http2 import reading
from wirelens.codecs.node import Node, root_of

NAMES = ("unary", "streaming", "gzip", "metadata", "goaway", "triple", "nghttp-prior", "hand-h2", "thousand")
Fields = list[list[str | None]]


def read(data: bytes) -> tuple[list[Message], list[Any]]:
    """The messages and the calls of a capture."""
    reader = Reader()
    conversations = Conversations()
    calls = Calls()
    messages: list[Message] = []
    finished: list[Any] = []
    for pieces in (*reader.steps(data), reader.close()):
        new = conversations.feed(pieces)
        messages += new
        finished += calls.feed(new, pieces)
    new = conversations.close()
    finished += calls.close(new)
    return messages + new, finished


def content(path: Path) -> bytes:
    packed = path.with_name(path.name + ".gz")
    return gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()


def text(value: bytes) -> str:
    try:
        return value.decode("ascii") if b"\0" not in value else "hex:" + value.hex()
    except UnicodeDecodeError:
        return "hex:" + value.hex()


def fields(root: Node) -> Fields | None:
    """The header fields that a frame shows; None for what is unknown."""
    headers = root.member("headers")
    if headers is None:
        return None
    return [[None if part.kind_name == "absent" else text(part.content) for part in pair] for pair in headers]


def blocks(messages: list[Message], clients: set[str]) -> list[tuple[str, str, int, int, Fields]]:
    """The header blocks: client, side, stream, packet, fields."""
    found = []
    for message in messages:
        root = message.record.root
        if root is None or message.record.protocol != "http2":
            continue
        shown = fields(root)
        if shown is None:
            continue
        sender, receiver = (
            message.flow.endpoint(side) for side in (message.direction, 1 - message.direction)
        )
        side = "client" if sender in clients else "server"
        other = sender if sender in clients else receiver
        found.append((other, side, root.number_of("stream"), message.packets[-1], shown))
    return found


def bodies(
    messages: list[Message], clients: set[str]
) -> dict[tuple[str, int, str], list[tuple[bool, int, str]]]:
    """The messages of gRPC by client, stream and side: compressed, size, bytes."""
    found: dict[tuple[str, int, str], list[tuple[bool, int, str]]] = {}
    for message in messages:
        root = message.record.root
        shown = None if root is None else root.member("messages")
        if shown is None or root is None:
            continue
        sender = message.flow.endpoint(message.direction)
        ends = {message.flow.endpoint(0), message.flow.endpoint(1)} & clients
        for one in shown:
            data = one.inner.data[5:]
            for end in ends:
                key = (end, root.number_of("stream"), "request" if end == sender else "response")
                entry = (one.member("compressed") is not None, one.number_of("size"), data.hex())
                found.setdefault(key, []).append(entry)
    return found


@pytest.fixture(scope="module", params=NAMES)
def capture(request: pytest.FixtureRequest, shared: Path) -> tuple[str, bytes, Any]:
    folder = shared / "dubbo3/pcaps"
    name = request.param
    return name, content(folder / f"{name}.pcap"), json.loads(content(folder / f"{name}.json"))


def test_header_blocks_messages_and_calls_are_those_of_the_truth(capture: tuple[str, bytes, Any]) -> None:
    name, data, truth = capture
    messages, calls = read(data)
    flows: dict[int, list[bytes]] = {}
    for message in messages:
        record = message.record
        assert record.protocol == "http2", record
        if record.error is not None:
            assert name == "hand-h2"
            assert record.error.code == "truncated"
        key = 2 * message.flow.number + message.direction
        flows.setdefault(key, []).append(codecs.encode([codecs.loads(record.json_text())]))
        if record.root is not None:
            assert flows[key][-1] == record.root.raw
    late = name == "hand-h2"  # packets out of order: another packet than the last byte's completes a frame
    expected = sorted(
        (
            one["client"],
            side,
            block["stream"],
            0 if late else block["packet"],
            [pair[:2] for pair in block["fields"]],
        )
        for one in truth["connections"]
        for side, found in one["header_blocks"].items()
        for block in found
        if not block.get("promise")
    )
    shown_blocks = blocks(messages, {one["client"] for one in truth["connections"]})
    assert sorted((*one[:3], 0 if late else one[3], one[4]) for one in shown_blocks) == expected
    shown = bodies(messages, {one["client"] for one in truth["connections"]})
    by_id = {(call.client, call.id): call for call in calls}
    for call in truth["calls"]:
        for side in ("request", "response"):
            place = (call["client"], call["stream"], side)
            wanted = [(bool(m["compressed"]), m["size"], m["hex"]) for m in call[f"{side}_messages"]]
            if (
                call["grpc_status"] is None
                and call["http_status"]
                and "grpc" not in str(call["response_headers"])
            ):
                continue
            found = shown.get(place, [])
            assert [one[:2] for one in found] == [one[:2] for one in wanted], place
            for ours, theirs in zip(found, wanted, strict=True):
                assert ours[2].startswith(theirs[2].rstrip("…")), (
                    place
                )  # the truth has the start of long ones
        if call["stream"] % 2 == 0:
            continue
        done = by_id[call["client"], str(call["stream"])]
        assert (
            f"/{done.service}/{done.method}" == call["path"] or done.method == call["path"].partition("?")[0]
        )
        reset = call["rst"] or {}
        if reset.get("by") == "client":
            assert done.outcome == "cancelled"
        elif call["grpc_status"] is not None:
            assert done.outcome == ("ok" if call["grpc_status"] == "0" else "error")
        elif call["http_status"] is not None and call["ended"]["s"]:
            assert done.outcome == ("error" if call["http_status"] == "404" else "ok")
    odd = [one for one in truth["calls"] if one["stream"] % 2]
    assert len(calls) == len(odd)


def without(data: bytes, dropped: set[int]) -> bytes:
    """A capture without some packets, by their numbers from 0."""
    at = 24
    number = 0
    kept = [data[:24]]
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        if number not in dropped:
            kept.append(data[at:end])
        number += 1
        at = end
    return b"".join(kept)


@pytest.mark.slow
def test_whatever_packets_are_missing_nothing_is_wrong(capture: tuple[str, bytes, Any]) -> None:
    name, data, truth = capture
    if name in ("unary", "thousand"):
        pytest.skip("its kinds are in others")
    clients = {one["client"] for one in truth["connections"]}
    whole, _ = read(data)
    known: dict[tuple[Any, ...], list[Fields]] = {}
    for client, side, stream, _, shown in blocks(whole, clients):
        known.setdefault((client, side, stream), []).append(shown)
    count = max(message.packets[-1] for message in whole)
    chance = random.Random(name)
    cuts = [set(range(cut)) for cut in [*range(1, min(count, 50), 3), *range(50, count, 41)]]
    holes = [{chance.randrange(4, count) for _ in range(3)} for _ in range(8)]
    for dropped in cuts + holes:
        messages, _ = read(without(data, dropped))
        for client, side, stream, _, shown in blocks(messages, clients):
            assert any(
                len(one) == len(shown)
                and all(a in (None, b) and c in (None, d) for (a, c), (b, d) in zip(shown, one, strict=True))
                for one in known[client, side, stream]
            ), (dropped, stream, shown)
        theirs = bodies(whole, clients)
        for key, found in bodies(messages, clients).items():
            if dropped in cuts:
                assert found == theirs[key][len(theirs[key]) - len(found) :], (dropped, key)
            else:
                assert set(found) <= set(theirs[key]), (dropped, key)


@pytest.mark.parametrize("name", ["triple", "gzip"])
def test_saved_state_goes_on(shared: Path, name: str) -> None:
    data = content(shared / f"dubbo3/pcaps/{name}.pcap")
    reader = Reader()
    pieces = [piece for some in (*reader.steps(data), reader.close()) for piece in some]

    def shown(cut: int) -> list[str]:
        conversations = Conversations()
        messages: list[Message] = []
        for place, piece in enumerate(pieces):
            if place == cut:
                state = conversations.save()
                conversations = Conversations()
                conversations.load(state, list({one.flow.number: one.flow for one in pieces}.values()))
            messages += conversations.feed([piece])
        return [one.record.json_text() for one in messages + conversations.close()]

    whole = shown(-1)
    for cut in range(3, len(pieces), len(pieces) // 4):
        assert shown(cut) == whole


def test_cuts_know_what_can_be_known(shared: Path) -> None:
    for path in sorted((shared / "dubbo3/cuts").glob("*.json")):
        truth = json.loads(path.read_text())
        messages, _ = read(path.with_suffix(".pcap").read_bytes())
        ours: dict[Any, Any] = {}
        clients = {block["client"] for block in truth}
        for _, side, stream, packet, shown in blocks(messages, clients):
            ours.setdefault((side, stream, packet), []).append(shown)
        wanted: dict[Any, Any] = {}
        for block in truth:
            wanted.setdefault((block["side"], block["stream"], block["packet"]), []).append(block["fields"])
        assert ours == wanted, path.name


def test_field_capture_of_triple(shared: Path) -> None:
    messages, calls = read((shared / "field/bytes/tri.pcap").read_bytes())
    assert len(calls) == 20
    assert {call.outcome for call in calls} == {"ok"}
    assert reading.KINDS[0] == "preface"
    assert root_of(messages[0].record.tape)  # type: ignore[arg-type]
