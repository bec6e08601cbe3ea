"""Made captures: connections that run on from file to file, with all that disturbs them."""

import gzip
import json
import random
from pathlib import Path

from building import ACK, CLIENT, SERVER, Talk, ethernet, ipv4, pcap, udp

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


def messages(name: str) -> list[bytes]:
    """The bytes of a file of vectors' messages."""
    data = (VECTORS / name).read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
    return [bytes.fromhex(json.loads(line)["hex"]) for line in lines if line]


class Connection:
    """A TCP connection with messages in both directions, its bytes cut into segments anywhere."""

    def __init__(self, chance: random.Random, port: int, lines: list[bytes], open_end: bool) -> None:
        talk = Talk(chance.randrange(1 << 32), chance.randrange(1 << 32), port)
        self.frames: list[bytes] = [] if chance.random() < 0.2 else talk.hello()
        for _ in range(chance.randrange(2, 8)):
            side = chance.randrange(2)
            data = b"".join(chance.choices(lines, k=chance.randrange(1, 9)))
            at = 0
            while at < len(data):
                size = chance.choice((1, 7, 60, 300, 1400))
                self.frames.append(talk.send(side, data[at : at + size]))
                at += size
            if chance.random() < 0.5:
                self.frames.append(talk.send(1 - side, b"", ACK))
        if not open_end:
            self.frames += talk.goodbye()
        self._disturb(chance)

    def _disturb(self, chance: random.Random) -> None:
        for _ in range(len(self.frames) // 12):
            at = chance.randrange(3, len(self.frames)) if len(self.frames) > 3 else 0
            what = chance.random()
            if what < 0.4:
                self.frames.insert(at, self.frames[at])  # sent again
            elif what < 0.9 and at + 1 < len(self.frames):
                self.frames[at], self.frames[at + 1] = self.frames[at + 1], self.frames[at]
            else:
                del self.frames[at]


def fragments(data: bytes, ident: int, port: int) -> list[bytes]:
    """A UDP datagram in IP fragments."""
    whole = udp(port, 26000, data)
    step = 64
    found = []
    for at in range(0, len(whole), step):
        more = 0x2000 if at + step < len(whole) else 0
        found.append(
            ethernet(ipv4(whole[at : at + step], 17, CLIENT, SERVER, ident=ident, fragment=more | at // 8))
        )
    return found


def frames(seed: int, connections: int = 20) -> list[bytes]:
    """The frames of many connections, mixed: ESNP, mevent in datagrams and in fragments, unknown bytes."""
    chance = random.Random(seed)
    esnp = [data for data in messages("esnp.jsonl") if 0 < len(data) < 3000]
    mevent = [data for data in messages("mevent.jsonl") if 0 < len(data) < 3000]
    talks = []
    for number in range(connections):
        lines = esnp if number % 5 else [chance.randbytes(chance.randrange(1, 900)) for _ in range(9)]
        # ports are reused: the same endpoints, another connection
        talks.append(Connection(chance, 40000 + number % (connections - 3), lines, number % 3 == 0).frames)
    for number in range(connections):
        data = chance.choice(mevent)
        if number % 2 and len(data) > 80:
            talks.append(fragments(data, number + 1, 50000 + number))
        else:
            talks.append([ethernet(ipv4(udp(50000 + number, 26000, data), 17))])
    mixed = []
    while talks:
        talk = chance.choice(talks[:8])
        mixed.append(talk.pop(0))
        if not talk:
            talks.remove(talk)
    return mixed


def capture(frames: list[bytes], first: int = 0) -> bytes:
    """A pcap file of frames a millisecond apart; `first` is the place of the first of them."""
    return pcap(frames, times=[(first + at) * 1000 for at in range(len(frames))])


def rotated(frames: list[bytes], count: int, folder: Path, first: int = 0) -> list[Path]:
    """The frames in `count` files, one after the other; their names do not tell the order."""
    folder.mkdir()
    cuts = [len(frames) * at // count for at in range(count + 1)]
    paths = []
    for at in range(count):
        path = folder / f"{(at * 7 + 3) % count:02d}-{at}.pcap"
        path.write_bytes(capture(frames[cuts[at] : cuts[at + 1]], first + cuts[at]))
        paths.append(path)
    return paths
