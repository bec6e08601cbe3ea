"""A capture of a made shop's calls over Dubbo, for tests that need many ordinary messages."""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent / "captures"))

import building

METHODS: Final = ("place", "find", "cancel", "quote")
FIELDS: Final = ("id", "customer", "street", "remark", "total", "lines")


def text(value: str) -> bytes:
    """A string of Hessian 2."""
    units, data = len(value.encode("utf-16-le")) // 2, value.encode()
    if units < 32:
        return bytes([units]) + data
    return (
        bytes([0x30 + (units >> 8), units & 0xFF]) if units < 1024 else b"S" + struct.pack(">H", units)
    ) + data


def thing(name: str, fields: dict[str, bytes]) -> bytes:
    """An object of Hessian 2 with the definition of its class."""
    names = b"".join(map(text, fields))
    return b"C" + text(name) + bytes([0x90 + len(fields)]) + names + b"O\x90" + b"".join(fields.values())


def order(number: int, chance: random.Random) -> bytes:
    """An order of some 250 bytes."""
    lines = b"".join([text(f"sku-{chance.randrange(10**6):06}") for _ in range(4)])
    values = (
        b"L" + struct.pack(">q", 20_260_000_000 + number),
        text(f"customer {chance.randrange(10**4)}"),
        text(f"{chance.randrange(999)} Long Street, Springfield"),
        text(f"please ring twice, order {number}"),
        b"D" + struct.pack(">d", chance.randrange(10**6) / 100),
        b"\x7c" + lines,
    )
    return thing("com.example.shop.Order", dict(zip(FIELDS, values, strict=True)))


def frame(flags: int, status: int, number: int, body: bytes) -> bytes:
    """A message of Dubbo."""
    return struct.pack(">HBBQI", 0xDABB, flags, status, number, len(body)) + body


def request(number: int, method: str, argument: bytes, keys: dict[str, str] | None = None) -> bytes:
    """A call of a method with one argument."""
    names = ("2.0.2", "com.example.shop.OrderService", "1.0.0", method, "Lcom/example/shop/Order;")
    attachments = (
        b"H" + b"".join([text(key) + text(value) for key, value in (keys or {"path": "shop"}).items()]) + b"Z"
    )
    return frame(0xC2, 0, number, b"".join(map(text, names)) + argument + attachments)


def reply(number: int, value: bytes) -> bytes:
    """A good reply."""
    return frame(2, 20, number, b"\x91" + value)


def failure(number: int, words: str) -> bytes:
    """A reply with an exception."""
    value = thing("com.example.shop.OutOfStockException", {"detailMessage": text(words), "code": b"\x95"})
    return frame(2, 20, number, b"\x90" + value)


def capture(calls: int, seed: int = 1) -> bytes:
    """A capture of calls in four conversations."""
    chance = random.Random(seed)
    talks = [building.Talk(1000, 5000, 40000 + place, 20880) for place in range(4)]
    frames: list[bytes] = []
    times: list[int] = []
    now = 0
    for talk in talks:
        for one in talk.hello():
            frames.append(one)
            times.append(now := now + 10)
    for number in range(1, calls + 1):
        talk = talks[chance.randrange(4)]
        frames.append(talk.send(0, request(number, METHODS[chance.randrange(4)], order(number, chance))))
        times.append(now := now + chance.randrange(200, 4000))
        answer = (
            failure(number, "nothing left of it")
            if number % 31 == 0
            else reply(number, order(number, chance))
        )
        frames.append(talk.send(1, answer))
        times.append(now := now + int(chance.lognormvariate(9, 1)))
    return building.pcap(frames, times=times)
