"""Real peers on loopback: a proxy between them records both directions of each connection."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from wirelens.codecs.calls import Calls
from wirelens.codecs.captures import Flow, Piece
from wirelens.codecs.conversations import Conversations, Message


class Recorder:
    """Forwards connections from `port` to another one.

    `chunks` has what came: number of the connection, direction, time, bytes.
    """

    def __init__(self, server: int) -> None:
        self.server = server
        self.chunks: list[tuple[int, int, int, bytes]] = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        self.threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *arguments: Any) -> None:
        self.threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self.threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.server))
            self.connections += 1
            for source, target, direction in ((client, server, 0), (server, client, 1)):
                self._start(self._forward, self.connections, direction, source, target)

    def _forward(self, number: int, direction: int, source: socket.socket, target: socket.socket) -> None:
        while True:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            with self.lock:  # before it is sent on: the answer to it cannot be recorded first
                self.chunks.append((number, direction, time.time_ns() // 1000, data))
            with suppress(OSError):  # the other side may be gone
                if data:
                    target.sendall(data)
                else:
                    target.shutdown(socket.SHUT_WR)
            if not data:
                return

    def close(self) -> None:
        """Wait for the ends of the connections: a thread that goes on would slow down all later tests."""
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # ends what waits in `accept`, which closing does not
        self.listener.close()
        for thread in self.threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self.threads)

    def read(self) -> tuple[list[Message], list[Any]]:
        """The messages and calls of what was recorded so far."""
        conversations = Conversations()
        calls = Calls()
        flows: dict[int, Flow] = {}
        offsets: dict[tuple[int, int], int] = {}
        messages: list[Message] = []
        finished: list[Any] = []
        with self.lock:
            chunks = list(self.chunks)
        for packet, (number, direction, time_us, data) in enumerate(chunks, 1):
            flow = flows.get(number)
            if flow is None:
                hosts = (b"\x7f\0\0\1", b"\x7f\0\0\1")
                flow = flows[number] = Flow(number, "tcp", hosts, (40000 + number, self.server))
            offset = offsets.get((number, direction), 0)
            offsets[number, direction] = offset + len(data)
            flow.last_us = time_us
            piece = Piece(flow, direction, offset, data, time_us, (packet,), 0, (), "" if data else "fin")
            new = conversations.feed([piece])
            messages += new
            finished += calls.feed(new, [piece])
        new = conversations.close()
        return messages + new, finished + calls.close(new)
