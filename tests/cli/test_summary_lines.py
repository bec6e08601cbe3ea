"""The lines of `decode --format summary`: what differs between messages is whole at every width."""

from __future__ import annotations

import random
import re
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import building

from wirelens.formatters.terminal import cells

if TYPE_CHECKING:
    from commands import Run

SERVICES: Final = (
    "com.example.user.UserService",
    "com.example.shop.OrderService",
    "com.example.warehouse.stock.StockQueryService",  # 45 letters
    "org.example.billing.api.InvoiceFacade",
)
METHODS: Final = ("login", "find", "reserve", "cancelAllOpenInvoices", "placeOrder")
EXCEPTION: Final = "com.example.shop.OutOfStockException"
CALLS: Final = 2000


class Call(NamedTuple):
    service: str
    method: str
    failed: bool


def text(value: str) -> bytes:
    data = value.encode()
    return bytes([len(data)]) + data if len(data) < 32 else bytes([0x30, len(data)]) + data


def frame(flags: int, status: int, number: int, body: bytes) -> bytes:
    return struct.pack(">HBBQI", 0xDABB, flags, status, number, len(body)) + body


def messages(number: int, call: Call) -> tuple[bytes, bytes]:
    words = ("2.0.2", call.service, "1.0.0", call.method, "Lcom/example/user/Query;", "q")
    request = frame(0xC2, 0, number, b"".join(map(text, words)) + b"HZ")
    if not call.failed:
        return request, frame(2, 20, number, b"\x91" + text("done"))
    thrown = b"C" + text(EXCEPTION) + b"\x91" + text("detailMessage") + b"\x60" + text("none left")
    return request, frame(2, 20, number, b"\x90" + thrown)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Call]]:
    chosen = random.Random(7)
    calls = [
        Call(chosen.choice(SERVICES), chosen.choice(METHODS), chosen.random() < 0.05) for _ in range(CALLS)
    ]
    talks = [building.Talk(port=40000 + number, peer=20880) for number in range(6)]
    frames = [frame for talk in talks for frame in talk.hello()]
    times = [0] * len(frames)
    time_us = 0
    for number, call in enumerate(calls):
        for side, data in enumerate(messages(number, call)):
            time_us += chosen.randrange(50, 90_000)
            frames.append(talks[number % len(talks)].send(side, data))
            times.append(time_us)
    path = tmp_path_factory.mktemp("summary") / "calls.pcap"
    path.write_bytes(building.pcap(frames, times=times))
    return path, calls


def lines(run: Run, path: Path, width: int, *words: str) -> list[str]:
    result = run("decode", "--format", "summary", "--width", str(width), *words, str(path))
    return result.stdout.splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 120, 132, 200])
def test_every_method_is_whole(width: int, capture: tuple[Path, list[Call]], run: Run) -> None:
    path, calls = capture
    shown = lines(run, path, width)
    assert max(map(cells, shown)) <= width
    named = [re.sub(r"\n +↳", "", line) for line in re.split(r"\n(?! +↳)", "\n".join(shown))]
    named = [line for line in named if "Service." in line or "Facade." in line]
    assert len(named) == 2 * CALLS
    for call, request, reply in zip(calls, named[::2], named[1::2], strict=True):
        last = call.service.rpartition(".")[2]
        assert re.search(rf"\b{last}\.{call.method}\b", request)
        assert re.search(rf"\b{last}\.{call.method}\b", reply)
        assert re.search(r"\d( µs| ms|\.\d\d s)$", reply)
        assert ("◆ " in reply) == call.failed
        assert not call.failed or "OutOfStockException" in reply
    assert not any("ok exception" in line for line in shown)


def test_columns_stand_still(capture: tuple[Path, list[Call]], run: Run) -> None:
    path, _ = capture
    shown = [line for line in lines(run, path, 100) if " ok " in line]
    assert len({line.index(" ok ") for line in shown[:100]}) == 1
    assert {cells(line) for line in shown} == {100}


def test_what_repeats_is_in_a_heading(capture: tuple[Path, list[Call]], run: Run) -> None:
    path, _ = capture
    narrow = lines(run, path, 80)
    assert narrow[0] == "2023-11-14 UTC  dubbo"
    assert not any("dubbo" in line or "tcp" in line or "2023-" in line for line in narrow[1:])
    wide = lines(run, path, 260)
    assert len(wide) == 2 * CALLS
    assert all(line.startswith("2023-11-14T") and " tcp " in line and " dubbo " in line for line in wide)
    assert all(line.count("dubbo") == 1 for line in wide)


def test_a_pipe_gets_all(capture: tuple[Path, list[Call]], run: Run) -> None:
    path, calls = capture
    shown = run("decode", "--format", "summary", str(path)).stdout.splitlines()
    assert len(shown) == 2 * CALLS
    for call, request, reply in zip(calls, shown[::2], shown[1::2], strict=True):
        assert f"{call.service}.{call.method}(Query)" in request
        assert f"{call.service}.{call.method}" in reply
        assert not call.failed or f"◆ {EXCEPTION}: none left" in reply


def test_replies_alone_name_their_methods(capture: tuple[Path, list[Call]], run: Run) -> None:
    path, _ = capture
    shown = lines(run, path, 80, "--where", "kind=response")
    assert sum("Service." in line or "Facade." in line for line in shown) == CALLS


def test_what_does_not_fit_goes_to_a_second_line(run: Run, tmp_path: Path) -> None:
    talk = building.Talk(peer=20880)
    call = Call("com.example.shop.OrderService", "place", False)
    request, _ = messages(1, call)
    failure = frame(2, 80, 1, text("no provider for this service here"))
    path = tmp_path / "failed.pcap"
    path.write_bytes(building.pcap([*talk.hello(), talk.send(0, request), talk.send(1, failure)]))
    shown = lines(run, path, 50)
    assert any("OrderService.place" in line for line in shown)
    assert "no provider for this service here" in shown[-1]
    assert "↳ ✕ " in shown[-1]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_calls_fit_too(width: int, capture: tuple[Path, list[Call]], run: Run) -> None:
    path, calls = capture
    shown = run("calls", "--width", str(width), str(path)).stdout.splitlines()
    assert max(map(cells, shown)) <= width
    rows = re.split(r"\n(?= *\d+  \d\d:)", "\n".join(shown))[1:]
    assert len(rows) == CALLS
    for call, row in zip(calls, rows, strict=True):
        assert f"{call.service.rpartition('.')[2]}.{call.method}" in row
    assert sum("OutOfStockException" in line for line in shown) == sum(call.failed for call in calls)


def test_heartbeats_are_answered(run: Run, tmp_path: Path) -> None:
    talk = building.Talk(peer=20880)
    beat, answer = frame(0xE2, 0, 7, b"N"), frame(0x22, 20, 7, b"N")
    path = tmp_path / "beats.pcap"
    path.write_bytes(building.pcap([*talk.hello(), talk.send(0, beat), talk.send(1, answer)]))
    shown = lines(run, path, 60)
    assert shown[-2].endswith("→ heartbeat req #7")
    assert re.search(r"← resp #7 heartbeat +ok +1.00 ms$", shown[-1])
