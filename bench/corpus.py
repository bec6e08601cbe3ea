"""The messages that are measured.

Of Hessian: what Java wrote, from ../shared/bench where that is there; elsewhere, and for the other protocols,
messages of the same kind made here by wirelens' own encoder, the same ones at each run.
"""

from __future__ import annotations

import gzip
import random
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wirelens import codecs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wirelens.codecs import Json

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "bench"

# Protocol, and the file of recorded messages.
HESSIAN = {"hessian2": "corpus-final", "hessian2-draft": "corpus-draft-sofa", "hessian1": "corpus-v1"}

CITIES = ("Hangzhou", "Shenzhen", "Chengdu", "Wuhan", "上海", "北京")
PROVINCES = ("Zhejiang", "Guangdong", "Sichuan", "Hubei")
STREETS = ("West Lake Road", "Century Avenue", "解放路", "Garden Street")
NAMES = ("Liu Yang", "Wang Fang", "张伟", "Chen Jing", "Zhao Min")
TITLES = ("USB-C cable 1m", "Notebook A5 dotted", "机械键盘 87键", "Desk lamp", "Water bottle 500ml")
TAGS = ("vip", "fast", "gift", "return")


@dataclass(frozen=True)
class Corpus:
    """Messages of one protocol; `origin` says where they come from."""

    protocol: str
    messages: list[bytes]
    origin: str

    @property
    def size(self) -> int:
        """Bytes of all messages."""
        return sum(map(len, self.messages))


def load(protocol: str, count: int) -> Corpus:
    """`count` messages of a protocol, or as many as were recorded.

    "dubbo+fastjson2" are those of Dubbo with that serialization.
    """
    carrier, _, serialization = protocol.partition("+")
    if serialization:
        requests = _requests(serialization, count)
        return Corpus(carrier, [encode(carrier, one) for one in requests], "made")
    if protocol in HESSIAN:
        recorded = SHARED / f"{HESSIAN[protocol]}.bin.gz"
        if recorded.exists():
            with gzip.open(recorded) as file:
                return Corpus(protocol, split(file.read())[:count], "written by Java")
        return Corpus(protocol, [encode(protocol, one) for one in _orders(protocol, count)], "made")
    return Corpus(protocol, [encode(protocol, one) for one in MADE[protocol](count)], "made")


def encode(protocol: str, message: Json) -> bytes:
    return codecs.encode(message, protocol)


def split(data: bytes) -> list[bytes]:
    """The messages of a file, each after its length in 4 bytes, big-endian."""
    messages = []
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        messages.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return messages


def join(messages: Iterable[bytes]) -> bytes:
    """A file of messages, as `split` reads it."""
    return b"".join(struct.pack(">I", len(one)) + one for one in messages)


# ---- orders, as Hessian


def order(chooser: random.Random, number: int) -> dict[str, Json]:
    """An order of a shop in the notation of Hessian 2.0: about 90 nodes in 650 bytes."""
    created = 1_700_000_000_000 + chooser.randrange(10**9)
    return {
        "$class": "com.example.order.Order",
        "id": {"$long": 1_000_000_000_000 + number},
        "orderNo": f"SO2024{number:07d}",
        "status": chooser.randrange(60),
        "paid": chooser.random() < 0.5,
        "total": chooser.randrange(1_000_000) / 100,
        "couponId": None if chooser.random() < 0.7 else {"$long": chooser.randrange(10**6)},
        "remark": "" if chooser.random() < 0.6 else "请在下午送货" * chooser.randrange(1, 4),
        "created": {"$date": created},
        "customer": {
            "$class": "com.example.order.Customer",
            "uid": {"$long": chooser.randrange(10**6)},
            "name": chooser.choice(NAMES),
            "email": f"user{chooser.randrange(10**5)}@example.com",
            "level": chooser.randrange(6),
            "address": {
                "$class": "com.example.order.Address",
                "province": chooser.choice(PROVINCES),
                "city": chooser.choice(CITIES),
                "street": f"{chooser.randrange(1, 999)} {chooser.choice(STREETS)}",
                "zip": f"{chooser.randrange(10**6):06d}",
            },
        },
        "items": [
            {
                "$class": "com.example.order.Item",
                "skuId": {"$long": chooser.randrange(10**10)},
                "title": chooser.choice(TITLES),
                "quantity": chooser.randrange(1, 6),
                "price": chooser.randrange(100_000) / 100,
                "weight": {"$long": chooser.randrange(3000)},
            }
            for _ in range(chooser.randrange(1, 4))
        ],
        "attrs": {
            "traceId": chooser.randbytes(16).hex(),
            "ip": f"10.140.{chooser.randrange(256)}.{chooser.randrange(256)}",
            "channel": chooser.choice(("app", "web")),
            "locale": "zh_CN",
        },
        "tags": {"$type": "java.util.Arrays$ArrayList", "$list": list(chooser.sample(TAGS, 2))},
        "updated": {"$date": created // 60_000 * 60_000},
    }


def _orders(protocol: str, count: int) -> Iterator[Json]:
    chooser = random.Random(2024)
    for number in range(count):
        made: Json = order(chooser, number)
        yield {"values": [_as_maps(made) if protocol == "hessian1" else made]}


def _requests(serialization: str, count: int) -> Iterator[Json]:
    """Requests of Dubbo that have an order as their argument."""
    chooser = random.Random(2024)
    for number in range(count):
        yield {
            "serialization": serialization,
            "id": number,
            "body": {
                "path": "com.example.order.OrderService",
                "method": "place",
                "parameter_types": "Lcom/example/order/Order;",
                "arguments": [order(chooser, number)],
                "attachments": {"path": "com.example.order.OrderService", "timeout": "3000"},
            },
        }


def _as_maps(value: Json) -> Json:
    """Objects as Hessian 1.0 has them: maps with a type. Orders nest a few levels, so this recurses."""
    if isinstance(value, list):
        return [_as_maps(one) for one in value]
    if isinstance(value, dict) and "$class" in value:
        members: Json = {name: _as_maps(one) for name, one in value.items() if name != "$class"}
        return {"$type": value["$class"], "$map": members}
    return value


def large(size: int) -> bytes:
    """One Hessian 2.0 message of about `size` bytes: a list of orders."""
    sample: list[Json] = [order(random.Random(number), number) for number in range(200)]
    one = encode("hessian2", {"values": [sample]})
    times = max(1, size // len(one))
    # a list of lists: the first brings the class definitions, the others name them
    first = encode("hessian2", {"values": [[sample, sample]]})
    again = first[1 + len(one) :]
    return b"\x57" + one + again * (times - 1) + b"\x5a"


# ---- the other protocols


def _lines(count: int) -> Iterator[Json]:
    chooser = random.Random(7)
    for number in range(count):
        yield {
            "lines": [
                {"type": "MESSAGE_ID", "value": number + 1},
                {"type": "MESSAGE_KIND", "kind": "REQUEST"},
                {"type": "ADDRESS", "address": "SERVICE", "value": "order"},
                {"type": "ADDRESS", "address": "OP", "value": chooser.choice(("create", "find", "cancel"))},
                {"type": "HEADER", "name": "traceId", "value": chooser.randbytes(16).hex()},
                {"type": "DATA", "name": "id", "value": chooser.randrange(10**9)},
                {"type": "DATA", "name": "name", "value": chooser.choice(NAMES)},
                {"type": "DATA", "name": "total", "value": chooser.randrange(10**6) / 100},
                {
                    "type": "DATA",
                    "name": "items",
                    "value": [
                        {"sku": chooser.randrange(10**6), "title": chooser.choice(TITLES), "gift": False}
                        for _ in range(chooser.randrange(1, 6))
                    ],
                },
                {"type": "PAYLOAD", "data": chooser.randbytes(chooser.randrange(200)).hex()},
                {"type": "END"},
            ],
            "counts": "unsigned",
        }


def _events(count: int) -> Iterator[Json]:
    chooser = random.Random(8)
    for number in range(count):
        yield {
            "request": {
                "version": 1,
                "id": number + 1,
                "command": chooser.randrange(1, 2000),
                "flags": 2,
                "plugin": chooser.choice(("skeleton", "order", "session")),
                "variables": [
                    {"type": "U32", "name": "uid", "value": chooser.randrange(10**6)},
                    {"type": "STRING", "name": "name", "value": chooser.choice(NAMES) + "\0"},
                    {
                        "type": "ARRAY",
                        "name": "items",
                        "value": [
                            {"type": "STRING", "name": f"item{at}", "value": chooser.choice(TITLES) + "\0"}
                            for at in range(chooser.randrange(1, 8))
                        ],
                    },
                ],
                "eof": True,
            },
            "dialect": "deployed",
            "prefix": True,
        }


def _frames(count: int) -> Iterator[Json]:
    chooser = random.Random(9)
    for number in range(count):
        yield {
            "cmd": chooser.choice(("REQ", "REP", "PSH")),
            "seq": number + 1,
            "body": {
                "business_cmd": chooser.randrange(1, 500),
                "hmac": chooser.randbytes(16).hex(),
                "data": chooser.randbytes(chooser.randrange(20, 400)).hex(),
            },
        }


MADE = {"esnp-line": _lines, "mevent": _events, "magline": _frames}
