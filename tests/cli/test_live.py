"""Messages of a pipe that another program fills: shown at once, and read to the end after Ctrl-C."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from commands import process

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

from building import START, Talk, pcap

REQUEST = bytes.fromhex("dabbe2000000000000000007000000014e")  # a heartbeat of Dubbo
REPLY = bytes.fromhex("dabb22140000000000000007000000014e")


def exchanges(count: int, port: int = 40000) -> list[bytes]:
    """The frames of a connection to Dubbo's port with some heartbeats, without its end."""
    talk = Talk(1, 2, port, 20880)
    frames = talk.hello()
    for _ in range(count):
        frames += [talk.send(0, REQUEST), talk.send(1, REPLY)]
    return frames


@pytest.mark.parametrize("command", ["decode", "flows", "detect"])
def test_the_first_interrupt_reads_on_to_the_end(command: str) -> None:
    data = pcap(exchanges(3))
    words = ["--format", "summary"] if command == "decode" else []
    running = process(command, *words, "-")
    assert running.stdin is not None
    assert running.stdout is not None
    assert running.stderr is not None
    cut = len(pcap(exchanges(1)))
    running.stdin.write(data[:cut])
    running.stdin.flush()
    if command == "decode":
        assert b"heartbeat req #7" in running.stdout.readline()
        assert b" resp" in running.stdout.readline()
    else:
        wait_for_handler(running.pid)
    running.send_signal(signal.SIGINT)
    assert running.stderr.readline() == b"\n"
    assert b"reading on to the end" in running.stderr.readline()
    rest, _ = running.communicate(data[cut:])
    assert running.returncode == 0
    if command == "decode":
        assert rest.count(b"heartbeat") == 4
    else:
        assert b"dubbo" in rest
        if command == "flows":
            assert b"3 / 3" in rest


def test_the_second_interrupt_ends_it() -> None:
    running = process("decode", "--format", "summary", "-")
    assert running.stdin is not None
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdin.write(pcap(exchanges(1)))
    running.stdin.flush()
    assert b"heartbeat req #7" in running.stdout.readline()
    running.send_signal(signal.SIGINT)
    running.stderr.readline()
    running.stderr.readline()
    running.send_signal(signal.SIGINT)
    running.wait()
    assert running.returncode == 130


def test_a_pause_shows_the_messages_of_a_stream_without_its_start() -> None:
    """Older bytes of it may come; where nothing comes for a while, they will not."""
    running = process("decode", "--format", "summary", "-")
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(pcap(exchanges(1)[3:]))
    running.stdin.flush()
    guard = threading.Timer(60, running.kill)  # if none were shown, reading would not end
    guard.start()
    assert b"heartbeat req #7" in running.stdout.readline()
    assert b" resp" in running.stdout.readline()
    guard.cancel()
    rest, _ = running.communicate()
    assert (rest, running.returncode) == (b"", 0)


@pytest.mark.parametrize(("command", "lines"), [("decode", 4), ("calls", 3)])
def test_a_silent_pipe_does_not_hold_back_another(command: str, lines: int, tmp_path: Path) -> None:
    """Not before its first packet, nor while its clock is that of now; what it then gives is still read."""
    silent = tmp_path / "silent"
    os.mkfifo(silent)
    words = ["--format", "summary"] if command == "decode" else []
    running = process(command, *words, str(silent), "-")
    assert running.stdin is not None
    assert running.stdout is not None
    guard = threading.Timer(60, running.kill)
    guard.start()
    with silent.open("wb", buffering=0) as other:
        now = time.time_ns() // 1000 - START * 1_000_000
        other.write(pcap([]))
        running.stdin.write(pcap(exchanges(2), times=range(now, now + 7)))
        running.stdin.flush()
        shown = [running.stdout.readline() for _ in range(lines)]
        other.write(pcap(exchanges(1, 40001), times=range(now, now + 5))[len(pcap([])) :])
        shown += [running.stdout.readline() for _ in range(lines // 2)]
        assert len([line for line in shown if b"heartbeat" in line]) == len(shown) - lines % 2
    rest, _ = running.communicate()
    guard.cancel()
    assert (rest, running.returncode) == (b"", 0)


def wait_for_handler(pid: int) -> None:
    """Wait until a process handles SIGINT, which an interpreter that is starting does not."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("no /proc here")
    while True:
        caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
        asleep = "State:\tS" in status.read_text()
        if int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1 and asleep:
            return


@pytest.mark.once
def test_tcpdump_on_loopback() -> None:
    """Each message comes as soon as its packets do, and after Ctrl-C on both nothing is lost."""
    if shutil.which("tcpdump") is None:
        pytest.skip("no tcpdump here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        words = ["tcpdump", "-U", "-i", "lo", "-w", "-", "--immediate-mode", "port", str(port)]
        dump = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert dump.stdout is not None
        assert dump.stderr is not None
        if b"listening" not in dump.stderr.readline():
            dump.wait()
            pytest.skip("tcpdump may not capture here")
        running = process("decode", "--format", "summary", "-", stdin=dump.stdout)
        dump.stdout.close()
        assert running.stdout is not None
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        for _ in range(3):
            client.sendall(REQUEST)
            accepted.recv(100)
            accepted.sendall(REPLY)
            client.recv(100)
            assert b"heartbeat req #7" in running.stdout.readline()
            assert b" resp" in running.stdout.readline()
        for end in (running, dump):
            end.send_signal(signal.SIGINT)
        _, said = running.communicate()
        dump.communicate()
        client.close()
        accepted.close()
        assert running.returncode == 0
        assert b"reading on to the end" in said
