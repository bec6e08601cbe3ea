"""The Python side of a measurement: one task in a process of its own, run by the suite.

    python -m bench.contender TASK FILE [PROTOCOL]

Loads its input, warms up, describes one pass in a line of JSON. Each line on its standard input is a
count of passes to run; it answers with the seconds that they took, by the clock and of the processor. Garbage
collection is on, as it is by default.

Uses `wirelens.codecs` as it is documented and nothing else of wirelens: `bench --against` runs this file with
older versions too.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.corpus import split

Pass = Callable[[], object]


def tree(messages: list[bytes], protocol: str) -> Pass:
    """Each message by itself to its tree."""
    from wirelens.codecs import decode

    def run() -> None:
        for message in messages:
            decode(message, protocol)

    check = [record for message in messages for record in decode(message, protocol)]
    assert len(check) == len(messages)
    assert not any(record.damaged for record in check)
    return run


def text(messages: list[bytes], protocol: str) -> Pass:
    """Each message to the notation's JSON text, in UTF-8 as it is written out."""
    from wirelens.codecs import decode

    def run() -> None:
        for message in messages:
            decode(message, protocol)[0].json_bytes()

    return run


def back(messages: list[bytes], protocol: str) -> Pass:
    """Each message from its objects in the notation to its bytes."""
    from wirelens.codecs import decode, encode

    objects = [decode(message, protocol)[0].to_json() for message in messages]

    def run() -> None:
        for one in objects:
            encode(one)

    assert [encode(one) for one in objects] == messages
    return run


def text_back(messages: list[bytes], protocol: str) -> Pass:
    """Each message from its JSON text to its bytes."""
    from wirelens import codecs

    texts = [codecs.decode(message, protocol)[0].json_text() for message in messages]

    def by_objects(text: str) -> bytes:  # of versions without `encode_text`
        return codecs.encode(codecs.loads(text))

    encode = getattr(codecs, "encode_text", by_objects)

    def run() -> None:
        for one in texts:
            encode(one)

    assert [encode(one) for one in texts] == messages
    return run


def stream(messages: list[bytes], protocol: str) -> Pass:
    """All messages as one stream to their trees."""
    from wirelens.codecs import decode

    data = b"".join(messages)
    records = decode(data, protocol)
    assert len(records) == len(messages)
    assert not any(record.damaged for record in records)
    return lambda: decode(data, protocol)


def python_hessian(messages: list[bytes], protocol: str) -> Pass:
    """Each message with python-hessian; its parser reads whole replies, so each is made one."""
    read = _python_hessian()
    replies = [b"H\2\0R" + message for message in messages]

    def run() -> None:
        for reply in replies:
            read(reply)

    return run


def python_hessian_text(messages: list[bytes], protocol: str) -> Pass:
    """Each message with python-hessian to JSON text in UTF-8, with the standard library's json."""
    read = _python_hessian()
    replies = [b"H\2\0R" + message for message in messages]

    def plain(value: Any) -> Any:
        return value.isoformat() if hasattr(value, "isoformat") else value.__getstate__()

    def run() -> None:
        for reply in replies:
            json.dumps(read(reply), ensure_ascii=False, default=plain).encode()

    return run


def _python_hessian() -> Callable[[bytes], Any]:
    from pyhessian.parser import Parser

    def read(reply: bytes) -> Any:
        return Parser().parse_string(reply).value

    return read


def detection(messages: list[bytes], protocol: str) -> Pass:
    """What each message speaks; a protocol is not told."""
    from wirelens.codecs import detect

    def run() -> None:
        for message in messages:
            detect(message)

    return run


TASKS = {
    "detect": detection,
    "tree": tree,
    "text": text,
    "back": back,
    "text-back": text_back,
    "stream": stream,
    "python-hessian": python_hessian,
    "python-hessian-text": python_hessian_text,
}


def main() -> None:
    task, file, protocol, warm_up = sys.argv[1:]
    messages = split(Path(file).read_bytes())
    run = TASKS[task](messages, protocol)
    until = time.perf_counter() + float(warm_up)
    run()
    while time.perf_counter() < until:
        run()
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps({"messages": len(messages), "bytes": sum(map(len, messages))}), flush=True)
        for line in sys.stdin:
            passes = range(int(line))
            start, worked = time.perf_counter(), time.process_time()
            for _ in passes:
                run()
            worked = time.process_time() - worked
            print(time.perf_counter() - start, worked, flush=True)


if __name__ == "__main__":
    main()
