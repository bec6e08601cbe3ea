"""Makes bytes of other protocols and formats, for tests of detection; wirelens decodes none of them."""

import json
import random
import struct
import zlib
from collections.abc import Callable

WORDS = [
    *("user", "name", "order", "service", "config", "value", "status", "java.util.List", "com.example.Order"),
    *("createdAt", "id", "host", "port", "path", "query", "result", "error", "message", "session", "token"),
    *("amount", "total", "北京", "größe", "naïve", "ok", "true", "false", "null", "2024-01-02"),
]


def text(chooser: random.Random, most: int = 24) -> bytes:
    words = " ".join(chooser.choice(WORDS) for _ in range(chooser.randrange(1, 5)))
    return words.encode()[: chooser.randrange(1, most + 1)].decode(errors="ignore").encode()


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(chooser: random.Random) -> int:
    return chooser.choice(
        (0, 1, 2, 3, chooser.randrange(256), chooser.randrange(65536), chooser.getrandbits(31))
    )


def protobuf(chooser: random.Random, depth: int = 0) -> bytes:
    out = b""
    for field in sorted(chooser.sample(range(1, 16), chooser.randrange(1, 7))):
        kind = chooser.randrange(4 if depth < 2 else 3)
        if kind == 0:
            out += varint(field << 3) + varint(number(chooser))
        elif kind == 1:
            value = text(chooser)
            out += varint(field << 3 | 2) + varint(len(value)) + value
        elif kind == 2:
            out += varint(field << 3 | 1) + struct.pack("<d", chooser.random())
        else:
            value = protobuf(chooser, depth + 1)
            out += varint(field << 3 | 2) + varint(len(value)) + value
    return out


def grpc(chooser: random.Random) -> bytes:
    body = protobuf(chooser)
    return b"\0" + struct.pack(">I", len(body)) + body


def delimited(chooser: random.Random) -> bytes:
    parts = [protobuf(chooser) for _ in range(chooser.randrange(1, 9))]
    return b"".join(varint(len(part)) + part for part in parts)


def msgpack(chooser: random.Random, depth: int = 0) -> bytes:
    kind = chooser.randrange(8 if depth < 3 else 5)
    if kind == 0:
        return bytes([chooser.randrange(128)])
    if kind == 1:
        value = text(chooser)
        return (
            bytes([0xA0 | len(value)]) + value if len(value) < 32 else b"\xd9" + bytes([len(value)]) + value
        )
    if kind == 2:
        return chooser.choice((b"\xc0", b"\xc2", b"\xc3"))
    if kind == 3:
        return b"\xce" + struct.pack(">I", number(chooser))
    if kind == 4:
        return b"\xcb" + struct.pack(">d", chooser.random())
    size = chooser.randrange(1, 8)
    if kind == 5:
        return bytes([0x90 | size]) + b"".join(msgpack(chooser, depth + 1) for _ in range(size))
    pairs = b""
    for _ in range(size):
        key = text(chooser, 12)
        pairs += bytes([0xA0 | len(key)]) + key + msgpack(chooser, depth + 1)
    return bytes([0x80 | size]) + pairs


def cbor(chooser: random.Random, depth: int = 0) -> bytes:
    kind = chooser.randrange(6 if depth < 3 else 4)
    if kind == 0:
        return bytes([chooser.randrange(24)])
    if kind == 1:
        value = text(chooser)[:23]
        return bytes([0x60 | len(value)]) + value
    if kind == 2:
        return b"\x19" + struct.pack(">H", chooser.randrange(65536))
    if kind == 3:
        return chooser.choice((b"\xf4", b"\xf5", b"\xf6"))
    size = chooser.randrange(1, 9)
    if kind == 4:
        return bytes([0x80 | size]) + b"".join(cbor(chooser, depth + 1) for _ in range(size))
    return bytes([0xA0 | size]) + b"".join(
        bytes([0x60 | len(key)]) + key + cbor(chooser, depth + 1)
        for key in [text(chooser, 12) for _ in range(size)]
    )


def thrift(chooser: random.Random) -> bytes:
    name = chooser.choice((b"ping", b"getUser", b"list_orders"))
    out = struct.pack(">HHI", 0x8001, 1, len(name)) + name + struct.pack(">I", chooser.randrange(1000))
    for field in range(1, chooser.randrange(2, 6)):
        if chooser.random() < 0.5:
            value = text(chooser)
            out += struct.pack(">BHI", 11, field, len(value)) + value
        else:
            out += struct.pack(">BHI", 8, field, number(chooser))
    out += b"\0"
    return struct.pack(">I", len(out)) + out if chooser.random() < 0.5 else out


def ber(chooser: random.Random, depth: int = 0) -> bytes:
    parts = b""
    for _ in range(chooser.randrange(1, 6)):
        kind = chooser.randrange(4 if depth < 3 else 3)
        if kind == 0:
            value = text(chooser)
            parts += bytes([0x04, len(value)]) + value
        elif kind == 1:
            value = bytes([chooser.randrange(128)])
            parts += b"\x02\x01" + value
        elif kind == 2:
            parts += b"\x0a\x01\0"
        else:
            parts += ber(chooser, depth + 1)
    length = bytes([len(parts)]) if len(parts) < 128 else b"\x82" + struct.pack(">H", len(parts))
    return chooser.choice((b"\x30", b"\x30", b"\x60", b"\xa3")) + length + parts


def ldap(chooser: random.Random) -> bytes:
    return b"".join(ber(chooser) for _ in range(chooser.randrange(1, 5)))


def tls(chooser: random.Random) -> bytes:
    out = b""
    for _ in range(chooser.randrange(1, 4)):
        body = chooser.randbytes(chooser.randrange(20, 400))
        out += struct.pack(">BHH", chooser.choice((20, 21, 22, 23)), 0x0303, len(body)) + body
    return out


def dns(chooser: random.Random) -> bytes:
    labels = [chooser.choice((b"www", b"example", b"com", b"mail", b"a", b"net")) for _ in range(3)]
    name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    head = struct.pack(">HHHHHH", chooser.randrange(65536), chooser.choice((0x0100, 0x8180)), 1, 0, 0, 0)
    return head + name + struct.pack(">HH", chooser.choice((1, 28, 15)), 1)


def byte_strings(chooser: random.Random) -> bytes:
    parts = [text(chooser) for _ in range(chooser.randrange(2, 30))]
    return b"".join(bytes([len(part)]) + part for part in parts)


def short_strings(chooser: random.Random) -> bytes:
    parts = [text(chooser) for _ in range(chooser.randrange(1, 12))]
    return b"".join(struct.pack(">H", len(part)) + part for part in parts)


def word_strings(chooser: random.Random) -> bytes:
    order = chooser.choice("<>")
    parts = [text(chooser) for _ in range(chooser.randrange(1, 12))]
    return struct.pack(order + "I", len(parts)) + b"".join(
        struct.pack(order + "I", len(part)) + part for part in parts
    )


def records(chooser: random.Random) -> bytes:
    """Frames of a type, a length of some width in some order, a body."""
    order = chooser.choice("<>")
    width = chooser.choice("BHI")
    lead = chooser.choice(("B", "H", "BB", ""))
    out = b""
    for _ in range(chooser.randrange(1, 12)):
        body = chooser.choice(
            (text(chooser), chooser.randbytes(chooser.randrange(40)), bytes(chooser.randrange(9)))
        )
        kinds = [chooser.randrange(1, 32) for _ in lead]
        out += struct.pack(order + lead + width, *kinds, len(body)) + body
    return out


def triple(chooser: random.Random) -> bytes:
    """Frames of a type and a length of three bytes, as HTTP/2, TLS handshakes and MySQL have them."""
    out = b""
    for _ in range(chooser.randrange(1, 9)):
        body = chooser.randbytes(chooser.randrange(30))
        kind = bytes([chooser.choice((chooser.randrange(32), chooser.randrange(256)))])
        size = len(body).to_bytes(3, "big")
        out += (kind + size if chooser.random() < 0.7 else size + kind) + body
    return out


def structs(chooser: random.Random) -> bytes:
    order = chooser.choice("<>")
    layout = order + "".join(chooser.choice("BHIQ") for _ in range(chooser.randrange(2, 8)))
    count = chooser.randrange(1, 20)
    out = b""
    base = chooser.randrange(1 << 16)
    for index in range(count):
        values = [chooser.choice((0, index, base + index, number(chooser))) for _ in layout[1:]]
        limits = {"B": 0xFF, "H": 0xFFFF, "I": 0xFFFFFFFF, "Q": 0xFFFFFFFFFFFFFFFF}
        out += struct.pack(
            layout, *(value & limits[kind] for value, kind in zip(values, layout[1:], strict=True))
        )
    return out


def zeros(chooser: random.Random) -> bytes:
    out = bytearray(chooser.randrange(16, 3000))
    for _ in range(chooser.randrange(4)):
        out[chooser.randrange(len(out))] = chooser.randrange(256)
    return bytes(out)


def runs(chooser: random.Random) -> bytes:
    return bytes([chooser.randrange(256)]) * chooser.randrange(16, 500)


def counting(chooser: random.Random) -> bytes:
    first, step = chooser.randrange(256), chooser.randrange(1, 256)
    return bytes((first + step * index) & 0xFF for index in range(chooser.randrange(16, 400)))


def noise(chooser: random.Random) -> bytes:
    return chooser.randbytes(chooser.randrange(16, 600))


def compressed(chooser: random.Random) -> bytes:
    return zlib.compress(b" ".join(text(chooser) for _ in range(40)))[chooser.choice((0, 2)) :]


def rtp(chooser: random.Random) -> bytes:
    return struct.pack(
        ">BBHII", 0x80, chooser.randrange(128), chooser.randrange(65536), number(chooser), number(chooser)
    ) + chooser.randbytes(160)


def stun(chooser: random.Random) -> bytes:
    out = b""
    for _ in range(chooser.randrange(4)):
        value = chooser.randbytes(4 * chooser.randrange(1, 5))
        out += struct.pack(">HH", chooser.choice((1, 6, 0x20, 0x8022)), len(value)) + value
    kind = chooser.choice((1, 0x101, 0x11))
    return struct.pack(">HHI", kind, len(out), 0x2112A442) + chooser.randbytes(12) + out


def lines(chooser: random.Random) -> bytes:
    end = chooser.choice((b"\n", b"\r\n"))
    return b"".join(text(chooser, 60) + end for _ in range(chooser.randrange(1, 30))) + bytes(1)


def plain(chooser: random.Random) -> bytes:
    return (b" ".join(text(chooser, 60) for _ in range(chooser.randrange(2, 30)))).ljust(16, b".")


def json_text(chooser: random.Random) -> bytes:
    value = {
        chooser.choice(WORDS): chooser.choice((number(chooser), chooser.choice(WORDS))) for _ in range(6)
    }
    return json.dumps(value).encode()


def base64_text(chooser: random.Random) -> bytes:
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return bytes(chooser.choice(letters) for _ in range(chooser.randrange(16, 400)))


def utf16(chooser: random.Random) -> bytes:
    return "".join(chooser.choice(WORDS) for _ in range(20)).encode(
        chooser.choice(("utf-16-le", "utf-16-be"))
    )


def ebcdic(chooser: random.Random) -> bytes:
    return "".join(chooser.choice(WORDS[:8]) for _ in range(20)).encode("cp037")


def gbk(chooser: random.Random) -> bytes:
    return ("北京上海广州深圳订单服务" * chooser.randrange(2, 9)).encode("gbk")


def java_serialized(chooser: random.Random) -> bytes:
    name = chooser.choice((b"java.util.HashMap", b"com.example.Order", b"java.lang.Integer"))
    out = b"\xac\xed\0\x05sr" + struct.pack(">H", len(name)) + name + chooser.randbytes(8)
    out += b"\x03\0\x02F\0\nloadFactorI\0\tthresholdxp?@\0\0\0\0\0\x0cw\x08\0\0\0\x10\0\0\0\x02"
    for _ in range(chooser.randrange(1, 5)):
        value = text(chooser)
        out += b"t" + struct.pack(">H", len(value)) + value
    return out + b"x"


def resp(chooser: random.Random) -> bytes:
    parts = [text(chooser) for _ in range(chooser.randrange(1, 6))]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def kafka(chooser: random.Random) -> bytes:
    client = text(chooser)
    body = (
        struct.pack(">HHIH", chooser.randrange(20), chooser.randrange(9), number(chooser), len(client))
        + client
    )
    body += b"".join(struct.pack(">IH", 1, 4) + b"test" for _ in range(chooser.randrange(3)))
    return struct.pack(">I", len(body)) + body


def mqtt(chooser: random.Random) -> bytes:
    topic, value = text(chooser), text(chooser)
    body = struct.pack(">H", len(topic)) + topic + value
    return bytes([chooser.choice((0x10, 0x30, 0x31, 0x82))]) + varint(len(body)) + body


def bson(chooser: random.Random) -> bytes:
    body = b""
    for _ in range(chooser.randrange(1, 6)):
        key, value = text(chooser, 10).replace(b"\0", b""), text(chooser)
        body += b"\x02" + key + b"\0" + struct.pack("<I", len(value) + 1) + value + b"\0"
        body += b"\x10" + key + b"\0" + struct.pack("<I", number(chooser))
    return struct.pack("<I", len(body) + 5) + body + b"\0"


def modbus(chooser: random.Random) -> bytes:
    out = b""
    for index in range(chooser.randrange(2, 9)):
        body = struct.pack(
            ">BBHH", 1, chooser.choice((1, 3, 16)), chooser.randrange(100), chooser.randrange(1, 20)
        )
        out += struct.pack(">HHH", index, 0, len(body)) + body
    return out


def pcap(chooser: random.Random) -> bytes:
    return struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + structs(chooser)


MAKERS: tuple[Callable[[random.Random], bytes], ...] = (
    protobuf, grpc, delimited, msgpack, cbor, thrift, ber, ldap, tls, dns, byte_strings, short_strings,
    word_strings, records, triple, structs, zeros, runs, counting, noise, compressed, rtp, stun, lines, plain,
    json_text, base64_text, utf16, ebcdic, gbk, java_serialized, resp, kafka, mqtt, bson, modbus, pcap,
)  # fmt: skip
