"""HTTP/2 as real peers send it: grpcio's kinds of calls, nghttp2 with prior knowledge and by an upgrade."""

import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import pytest
from peers import Recorder

from wirelens.codecs.conversations import Message

grpc = pytest.importorskip("grpc")

SERVICE = "demo.Echo"


def one(data: bytes, context: Any) -> bytes:
    if data == b"fail":
        context.set_trailing_metadata((("x-trail", "t"),))
        context.abort(grpc.StatusCode.NOT_FOUND, "no such thing, 100 % gone: ä")
    if data == b"wait":
        ended = threading.Event()
        context.add_callback(ended.set)
        ended.wait(30)
    return data


def several(data: bytes, context: Any) -> Iterator[bytes]:
    for _ in range(data[0]):
        yield data


def count(requests: Iterator[bytes], context: Any) -> bytes:
    return bytes([sum(1 for _ in requests)])


def each(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
    for data in requests:
        yield data
        yield data


def handlers() -> Any:
    """Methods whose messages are bytes as they are."""
    methods = {
        "One": grpc.unary_unary_rpc_method_handler(one),
        "Several": grpc.unary_stream_rpc_method_handler(several),
        "Count": grpc.stream_unary_rpc_method_handler(count),
        "Each": grpc.stream_stream_rpc_method_handler(each),
    }
    return grpc.method_handlers_generic_handler(SERVICE, methods)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """A recorder before a server of gRPC."""
    server = grpc.server(futures.ThreadPoolExecutor(16), handlers=(handlers(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    recorder = Recorder(port)
    yield recorder
    server.stop(None)
    recorder.close()


def channel(recorder: Recorder, **options: Any) -> Any:
    return grpc.insecure_channel(f"127.0.0.1:{recorder.port}", **options)


def bodies(messages: list[Message]) -> Counter[tuple[int, bytes]]:
    """The messages by direction and content, unpacked."""
    found: Counter[tuple[int, bytes]] = Counter()
    for message in messages:
        assert message.record.protocol == "http2"
        assert message.record.error is None
        root = message.record.root
        shown = None if root is None else root.member("messages")
        for item in [] if shown is None else shown:
            body = item.member("body")
            packed = item.member("compressed") is not None
            content = body.inner.data if packed and body is not None else item.inner.data[5:]
            found[message.direction, content] += 1
    return found


def test_the_four_kinds_of_calls_and_a_failed_one(recorder: Recorder) -> None:
    with channel(recorder) as to:
        assert (
            to.unary_unary(f"/{SERVICE}/One")(b"a", timeout=9, metadata=(("x-key", "v"), ("x-bin", b"\0\1")))
            == b"a"
        )
        assert len(list(to.unary_stream(f"/{SERVICE}/Several")(b"\5"))) == 5
        assert to.stream_unary(f"/{SERVICE}/Count")(iter([b"x"] * 7)) == b"\7"
        assert len(list(to.stream_stream(f"/{SERVICE}/Each")(iter([b"y"] * 3)))) == 6
        with pytest.raises(grpc.RpcError):
            to.unary_unary(f"/{SERVICE}/One")(b"fail")
    messages, calls = recorder.read()
    shown = [
        (call.service, call.method, call.outcome, call.status, call.request_messages, call.response_messages)
        for call in calls
    ]
    assert shown == [
        (SERVICE, "One", "ok", "OK", 1, 1),
        (SERVICE, "Several", "ok", "OK", 1, 5),
        (SERVICE, "Count", "ok", "OK", 7, 1),
        (SERVICE, "Each", "ok", "OK", 3, 6),
        (SERVICE, "One", "error", "NOT_FOUND", 1, 0),
    ]
    assert calls[4].exception == "no such thing, 100 % gone: ä"
    assert 8_000_000 < (calls[0].timeout_us or 0) <= 9_100_000
    assert bodies(messages)[0, b"x"] == 7
    headers = [str(message.record.to_json()) for message in messages if message.direction == 0]
    assert any("x-key" in text and "x-bin" in text for text in headers)


@pytest.mark.slow
@pytest.mark.once
def test_a_thousand_calls_a_hundred_at_a_time(recorder: Recorder) -> None:
    with channel(recorder) as to, futures.ThreadPoolExecutor(100) as pool:
        call = to.unary_unary(f"/{SERVICE}/One")
        wanted = [b"number %d" % number for number in range(1000)]
        assert list(pool.map(call, wanted)) == wanted
    messages, calls = recorder.read()
    assert len(calls) == 1000
    assert {(call.outcome, call.request_messages, call.response_messages) for call in calls} == {("ok", 1, 1)}
    found = bodies(messages)
    assert all(found[direction, data] == 1 for direction in (0, 1) for data in wanted)


@pytest.mark.parametrize("algorithm", ["Gzip", "Deflate"])
def test_compressed_calls(recorder: Recorder, algorithm: str) -> None:
    content = b"a compressible text " * 50
    with channel(recorder, compression=getattr(grpc.Compression, algorithm)) as to:
        assert to.unary_unary(f"/{SERVICE}/One")(content) == content
    messages, calls = recorder.read()
    assert [call.outcome for call in calls] == ["ok"]
    assert bodies(messages) == {(0, content): 1, (1, content): 1}


def test_a_cancelled_call(recorder: Recorder) -> None:
    with channel(recorder) as to:
        begun = to.unary_unary(f"/{SERVICE}/One").future(b"wait")
        deadline = threading.Event()
        while not any(b"wait" in chunk[3] for chunk in list(recorder.chunks)):
            deadline.wait(0.01)
        begun.cancel()
        assert to.unary_unary(f"/{SERVICE}/One")(b"after") == b"after"
    _, calls = recorder.read()
    assert [call.outcome for call in calls] == ["cancelled", "ok"]


# --- nghttp2 --------------------------------------------------------------------------------------------


def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def started(command: list[str], port: int) -> subprocess.Popen[bytes]:
    """A server, once it listens."""
    import socket

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process
        except OSError:
            time.sleep(0.02)
    process.kill()
    raise AssertionError(f"{command[0]} does not listen")


@pytest.mark.parametrize("upgrade", [False, True])
def test_nghttp2_with_prior_knowledge_and_by_upgrade(tmp_path: Path, upgrade: bool) -> None:
    tools = ("nghttp", "nghttpd", "nghttpx")
    found = [shutil.which(tool) or shutil.which(tool, path="/usr/sbin") for tool in tools]
    if None in found:
        pytest.skip("no nghttp2 here")
    client, server, proxy = map(str, found)
    (tmp_path / "index.html").write_text("<p>hello</p>")
    port = free_port()
    processes = [started([server, "--no-tls", "-d", str(tmp_path), str(port)], port)]
    try:
        if upgrade:
            front = free_port()
            options = [f"--frontend=127.0.0.1,{front};no-tls", f"--backend=127.0.0.1,{port};;proto=h2"]
            processes.append(started([proxy, *options, "--workers=1", "--conf=/dev/null"], front))
            port = front
        recorder = Recorder(port)
        url = f"http://127.0.0.1:{recorder.port}"
        command = [client, "--null-out", *(["-u"] if upgrade else ["--continuation"])]
        subprocess.run([*command, f"{url}/index.html", f"{url}/none"], check=True, timeout=30)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    recorder.close()
    messages, calls = recorder.read()
    assert all(message.record.error is None for message in messages)
    assert [(call.method, call.outcome, call.status[:3]) for call in calls] == [
        ("/index.html", "ok", "200"),
        ("/none", "error", "404"),
    ]
    assert [call.protocol for call in calls] == ["http" if upgrade else "http2", "http2"]
    assert not any(note.code == "no-request" for message in messages for note in message.record.notes)
