"""Captures: containers, packets, streams and conversations. The first byte chooses the chunks."""

import gzip
from collections.abc import Iterator

import fuzzing
from building import SYN, enhanced, ethernet, interface, ipv4, ipv6, pcap, section, tcp, udp

from wirelens.codecs.captures.reader import Reader
from wirelens.codecs.conversations import Conversations


def try_one(data: bytes) -> None:
    if len(data) < 2:
        return
    capture = data[1:]
    reader = Reader()
    talk = Conversations()
    messages = []
    for chunk in fuzzing.sizes(capture, data[0]):
        for pieces in reader.steps(chunk):
            messages.extend(talk.feed(pieces))
    messages.extend(talk.feed(reader.close()))
    messages.extend(talk.close())
    assert reader.bytes_fed == len(capture)
    assert reader.payload == reader.delivered + reader.retransmitted, "bytes of streams are lost"
    assert reader.overhead >= 0
    assert sum(message.record.length for message in messages) == reader.delivered, "bytes of no message"
    written = sum(len(message.record.json_text()) for message in messages)
    bound = fuzzing.JSON_RATIO * reader.bytes_read + fuzzing.JSON_FREE
    assert written <= bound, "JSON out of proportion"


def seeds() -> Iterator[bytes]:
    for path in sorted(fuzzing.ROOT.glob("examples/captures/*.pcap")):
        data = path.read_bytes()[: fuzzing.SEED_BYTES - 1]
        yield b"\0" + data
        yield b"\1" + gzip.compress(data, mtime=0)
    for name in fuzzing.PROTOCOLS:
        payload = min(fuzzing.payloads(name), key=lambda one: abs(len(one) - 200))[:1000]
        parts = (payload[:50], payload[50:], payload)
        segments = [
            tcp(seq=99, flags=SYN),
            *(tcp(seq=seq, data=one) for seq, one in zip((100, 150, 500), parts, strict=True)),
        ]
        datagram = ipv4(udp(data=payload), 17)
        halves = (ipv4(datagram[20:60], 17, fragment=0x2000), ipv4(datagram[60:], 17, fragment=5))
        frames = [*map(ethernet, map(ipv4, segments)), ethernet(datagram), *map(ethernet, halves)]
        frames.append(ethernet(ipv6(udp(data=payload), 17), 0x86DD))
        yield b"\2" + pcap(frames)
        yield b"\3" + section() + interface() + b"".join(map(enhanced, frames))
