"""`wirelens annotate` and `wirelens wireshark`: packets as they were, with comments that TShark reads."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import building

from wirelens.codecs.captures.annotating import Annotator
from wirelens.codecs.captures.containers import PacketReader

if TYPE_CHECKING:
    from commands import Run

    from wirelens.codecs.captures.pcap import Packet

REQUEST: Final = "dabbc200{:016x}"
BODY: Final = b"".join(
    bytes([len(text)]) + text
    for text in (b"2.0.2", b"com.x.Shop", b"1.0", b"find", b"Ljava/lang/String;", b"a")
)


def request(number: int) -> bytes:
    body = BODY + b"HZ"
    return struct.pack(">HBBQI", 0xDABB, 0xC2, 0, number, len(body)) + body


def reply(number: int, status: int = 20) -> bytes:
    body = b"\x91\x02ok" if status == 20 else b"\x06failed"
    return struct.pack(">HBBQI", 0xDABB, 2, status, number, len(body)) + body


def talk(calls: int = 3) -> tuple[list[bytes], list[int]]:
    """Frames of a connection with calls, and their times in microseconds: each call takes 150 ms."""
    one = building.Talk(peer=20880)
    frames, times = one.hello(), [0, 10, 20]
    for number in range(1, calls + 1):
        frames += [one.send(0, request(number)), one.send(1, reply(number, 80 if number == calls else 20))]
        times += [number * 1_000_000, number * 1_000_000 + 150_000]
    return frames, times


def pcapng(frames: list[bytes], times: list[int], order: str) -> bytes:
    """Two interfaces, options, a block of secrets, and a section that states its length."""
    comment = building.option(1, b"seen by hand", order) + building.option(2, b"\1\0\0\0", order)
    body = building.interface(options=building.option(2, b"eth0", order), order=order)
    body += building.interface(options=building.option(9, b"\x09", order), order=order)
    body += building.block(10, b"KSLT" + b"\4\0\0\0" + b"abcd", order)
    for place, (frame, time) in enumerate(zip(frames, times, strict=True)):
        now = building.START * 1_000_000 + time
        ticks = now * 1000 + 7 if place % 2 else now
        body += building.enhanced(frame, ticks, place % 2, order, comment if place == 4 else b"")
    head = building.block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, len(body)), order)
    return head + body


def packets(data: bytes) -> list[Packet]:
    reader = PacketReader()
    found = [
        packet
        for at in range(0, len(data), 65536)
        for part in reader.steps(data[at : at + 65536])
        for packet in part
    ]
    return found + reader.close()


def same(before: bytes, after: bytes) -> None:
    old, new = packets(before), packets(after)
    assert len(old) == len(new)
    for one, other in zip(old, new, strict=True):
        assert (one.number, one.time_us, one.data) == (other.number, other.time_us, other.data)
        assert (one.original_length, one.link_type) == (other.original_length, other.link_type)


def forms() -> dict[str, bytes]:
    frames, times = talk()
    snoop = b"snoop\0\0\0" + struct.pack(">II", 2, 4)
    for frame, time in zip(frames, times, strict=True):
        seconds, rest = divmod(building.START * 1_000_000 + time, 1_000_000)
        padded = len(frame) + 24 + 3 & ~3
        snoop += struct.pack(">IIIIII", len(frame), len(frame), padded, 0, seconds, rest)
        snoop += frame + bytes(padded - 24 - len(frame))
    plain = building.pcap(frames, times=times)
    return {
        "pcap": plain,
        "pcap-big": building.pcap(frames, times=times, order=">"),
        "pcap-nanoseconds": building.pcap(frames, times=times, magic=0xA1B23C4D),
        "pcapng": pcapng(frames, times, "<"),
        "pcapng-big": pcapng(frames, times, ">"),
        "snoop": snoop,
        "gzip": gzip.compress(plain),
    }


@pytest.fixture(params=sorted(forms()))
def capture(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.cap"
    path.write_bytes(forms()[request.param])
    return path


def comments(data: bytes) -> list[str]:
    """The comments of this program in a pcapng file, in order."""
    found: list[str] = []
    at = 0
    while True:
        at = data.find(b"wirelens protocol=", at)
        if at < 0:
            return found
        little, big = struct.unpack("<H", data[at - 2 : at])[0], struct.unpack(">H", data[at - 2 : at])[0]
        length = min(little, big)
        found.append(data[at : at + length].decode())
        at += length


def test_packets_stay_and_messages_are_comments(capture: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.pcapng"
    assert run("annotate", str(capture), "-o", str(target)).exit_code == 0
    data = target.read_bytes()
    same(capture.read_bytes(), data)
    found = comments(data)
    assert len(found) == 6
    assert found[0] == (
        'wirelens protocol="dubbo" kind="request" service="com.x.Shop" method="find" '
        'text="dubbo req #1 com.x.Shop.find(String) v1.0" call=1 outcome="ok" response_in=5'
    )
    assert found[1].endswith('service="com.x.Shop" method="find" outcome="ok" latency=0.15 request_in=4')
    assert 'outcome="error" latency=0.15' in found[5]
    again = tmp_path / "again.pcapng"
    assert run("annotate", str(target), "-o", str(again)).exit_code == 0
    assert again.read_bytes() == data


@pytest.mark.parametrize("order", ["<", ">"])
def test_all_else_of_a_pcapng_file_stays(order: str, run: Run, tmp_path: Path) -> None:
    frames, times = talk()
    path, target = tmp_path / "in.pcapng", tmp_path / "out.pcapng"
    path.write_bytes(pcapng(frames, times, order))
    run("annotate", str(path), "-o", str(target))
    data = target.read_bytes()
    assert b"seen by hand" in data
    assert b"KSLT\4\0\0\0abcd" in data
    assert struct.pack(order + "q", -1) in data[:28]
    assert run("annotate", "--where", "kind=nothing-like-it", str(path), "-o", str(target)).exit_code == 2
    run("annotate", "--where", "kind=response", str(path), "-o", str(target))
    assert len(comments(target.read_bytes())) == 3


@pytest.mark.parametrize("size", [1, 7, 100, 10**6])
def test_chunks_of_any_size_give_the_same(size: int) -> None:
    for data in forms().values():
        if data[:2] == b"\x1f\x8b":
            continue
        copies = []
        for step in (size, len(data)):
            annotator = Annotator(lambda number: (f"wirelens protocol={number}",) if number % 2 else ())
            parts = [
                part for at in range(0, len(data), step) for part in annotator.feed(data[at : at + step])
            ]
            copies.append(b"".join([*parts, *annotator.close()]))
        assert copies[0] == copies[1]


def test_several_captures_become_one_file(run: Run, tmp_path: Path) -> None:
    frames, times = talk(4)
    for name, part in (("a", slice(0, 6)), ("b", slice(6, None))):
        (tmp_path / f"{name}.pcap").write_bytes(building.pcap(frames[part], times=times[part]))
    target = tmp_path / "out.pcapng"
    assert (
        run("annotate", str(tmp_path / "a.pcap"), str(tmp_path / "b.pcap"), "-o", str(target)).exit_code == 0
    )
    found = comments(target.read_bytes())
    assert len(found) == 8
    assert found[2].endswith("response_in=7")  # which is in the other file
    assert found[3].endswith("request_in=6")


def test_damage_is_copied(run: Run, tmp_path: Path) -> None:
    frames, times = talk()
    data = bytearray(pcapng(frames, times, "<"))
    at = data.index(frames[3])
    data[at - 28 + 4 : at - 28 + 8] = b"\xff\xff\xff\xff"  # the length of a block
    path, target = tmp_path / "in.pcapng", tmp_path / "out.pcapng"
    path.write_bytes(data)
    assert run("annotate", str(path), "-o", str(target)).exit_code == 1
    same(bytes(data), target.read_bytes())
    assert bytes(data[at - 28 : at + 20]) in target.read_bytes()


def test_what_cannot_be_annotated_is_an_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(request(1))
    shown = run("annotate", str(path), "-o", str(tmp_path / "out"))
    assert shown.exit_code == 2
    assert "not a capture" in shown.stderr
    frames, times = talk()
    capture = tmp_path / "a.pcap"
    capture.write_bytes(building.pcap(frames, times=times))
    assert run("annotate", str(capture), "-o", str(capture)).exit_code == 2
    assert packets(capture.read_bytes())


@pytest.mark.slow
def test_every_shared_capture_keeps_its_packets(shared: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.pcapng"
    tried = 0
    for path in sorted((shared / "captures").rglob("*cap*")):
        if not path.is_file() or path.stat().st_size > 400_000:
            continue
        done = run("annotate", str(path), "-o", str(target))
        if done.exit_code == 2:
            assert "not a capture" in done.stderr or "does not read" in done.stderr or "text" in done.stderr
            continue
        same(path.read_bytes(), target.read_bytes())
        tried += 1
    assert tried > 100


needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="TShark is not installed")


def tshark(home: Path, *words: str) -> list[list[str]]:
    settings = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    done = subprocess.run(["tshark", *words], capture_output=True, text=True, env=settings, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@needs_tshark
@pytest.mark.slow
def test_tshark_has_the_fields(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames, times = talk()
    path, target = tmp_path / "in.pcap", tmp_path / "out.pcapng"
    path.write_bytes(building.pcap(frames, times=times))
    run("annotate", str(path), "-o", str(target))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    assert run("wireshark", "--install").exit_code == 0
    fields = ["-T", "fields"]
    for name in ("protocol", "kind", "service", "method", "outcome", "latency", "call", "request_in", "text"):
        fields += ["-e", f"wirelens.{name}"]
    slow = tshark(tmp_path, "-r", str(target), "-Y", "wirelens.latency > 0.1", *fields)
    assert [row[6] for row in slow] == ["1", "2", "3"]
    assert slow[0] == [
        "dubbo", "response", "com.x.Shop", "find", "ok", "0.15", "1", "4", 'dubbo resp #1 ok "ok"',
    ]  # fmt: skip
    failed = tshark(tmp_path, "-r", str(target), "-Y", 'wirelens.outcome == "error"', *fields)
    assert [row[1] for row in failed] == ["request", "response"]
    table = tshark(
        tmp_path, "-r", str(target), "-q", "-z", "io,stat,0,COUNT(wirelens.latency)wirelens.latency"
    )
    assert any(" 3 |" in " ".join(row) for row in table)
    every = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.cap_len", "-e", "eth"]
    assert tshark(tmp_path, "-r", str(path), *every) == tshark(tmp_path, "-r", str(target), *every)
    assert run("wireshark", "--uninstall").exit_code == 0
    assert run("wireshark", "--uninstall").exit_code == 1


def test_the_plug_in_goes_where_it_is_told(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    assert run("wireshark", "--install", "--folder", str(folder)).exit_code == 0
    assert (folder / "wirelens.lua").read_text() == run("wireshark").stdout
    assert run("wireshark", "--install", "--uninstall").exit_code == 2
