"""Damaged captures, from the file to the messages: nothing raises, and no byte is lost."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass

from building import ACK, FIN, PSH, Talk, enhanced, ethernet, interface, ipv4, pcap, section, tcp, udp
from click.testing import CliRunner
from feeding import fed
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from wirelens.cli.main import group
from wirelens.codecs.captures import Reader
from wirelens.codecs.conversations import Conversations, Message

HELLO = b"H\2\0C\4echo\x91\5hello"
REPLY = b"H\2\0R\5hello"


def frames() -> list[bytes]:
    """A conversation with all that may befall one, fragments, datagrams, and traffic of another protocol."""
    talk = Talk()
    found = talk.hello()
    for number in range(3):
        found += [talk.send(0, HELLO), talk.send(1, REPLY)]
        found.append(talk.frame(1, PSH | ACK, REPLY[-4:], talk.next[1] - 4))  # again, in part
        if number == 1:
            talk.next[0] += 7  # missing
    later = talk.send(0, HELLO[5:])
    found += [talk.frame(0, PSH | ACK, HELLO[:5], talk.next[0] - len(HELLO)), later]  # out of order
    found += talk.goodbye()
    whole = udp(data=bytes(range(60)))
    found.append(ethernet(ipv4(whole[32:], 17, fragment=4)))
    found.append(ethernet(ipv4(whole[:32], 17, fragment=0x2000)))
    other = Talk(port=50000, peer=443)
    found += [*other.hello(), other.send(0, b"\x16\x03\x01" + bytes(range(100)))]
    found.append(ethernet(ipv4(tcp(seq=1, data=HELLO, flags=FIN | ACK))))
    return found


SNOOP = b"snoop\0\0\0\0\0\0\2\0\0\0\4"
FILES = [
    pcap(frames()),
    pcap(frames(), order=">", magic=0xA1B23C4D),
    section() + interface() + b"".join(enhanced(frame) for frame in frames()),
    SNOOP
    + b"".join(
        b"".join(
            value.to_bytes(4, "big")
            for value in (len(frame), len(frame), 24 + len(frame), 0, 1_700_000_000, index)
        )
        + frame
        for index, frame in enumerate(frames())
    ),
]
HARD = [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\0\x80", b"\0\1", b"\xff", b"\0"]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A capture with some places after its magic written over, left out, put in or repeated."""
    data = bytearray(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(4, max(len(data) - 1, 4)))
        size = draw(st.sampled_from([1, 2, 4, 16, 100]))
        match draw(st.sampled_from(["over", "out", "in", "again", "cut"])):
            case "over":
                new = draw(st.sampled_from(HARD) | st.binary(min_size=1, max_size=8))
                data[at : at + len(new)] = new
            case "out":
                del data[at : at + size]
            case "in":
                data[at:at] = draw(st.binary(min_size=1, max_size=30))
            case "again":
                data[at:at] = data[at : at + size]
            case _:
                del data[max(at, 24) :]
    return bytes(data)


def is_late(message: Message) -> bool:
    error = message.record.error
    return (error is not None and error.code == "late") or "late" in [
        note.code for note in message.record.notes
    ]


@dataclass
class Outcome:
    records: list[tuple[int, int, int, int, str, bool]]
    present: dict[tuple[int, int], int]
    reader: Reader


def outcome(data: bytes, chunk: int) -> Outcome:
    reader = Reader()
    conversations = Conversations()
    messages = []
    present: dict[tuple[int, int], int] = defaultdict(int)
    for at in range(0, len(data), chunk):
        for piece in fed(reader, data[at : at + chunk]):
            present[piece.flow.number, piece.direction] += len(piece.data)
            messages += conversations.feed([piece])
    for piece in reader.close():
        present[piece.flow.number, piece.direction] += len(piece.data)
        messages += conversations.feed([piece])
    messages += conversations.close()
    rows = [
        (
            one.flow.number,
            one.direction,
            one.record.offset,
            one.record.length,
            one.record.summary,
            is_late(one),
        )
        for one in messages
    ]
    return Outcome(sorted(rows), present, reader)


@examples(150)
@given(damaged())
def test_every_byte_is_accounted_for(data: bytes) -> None:
    whole = outcome(data, len(data) + 1)
    reader = whole.reader
    assert reader.bytes_read == len(data)
    assert reader.payload == reader.delivered + reader.retransmitted
    assert 0 <= reader.payload <= len(data)
    assert sum(whole.present.values()) == reader.delivered
    held: dict[tuple[int, int], int] = defaultdict(int)
    ends: dict[tuple[int, int], int] = defaultdict(int)
    for flow, direction, offset, length, _, late in whole.records:
        if not late:
            assert offset >= ends[flow, direction]  # records follow one another
            ends[flow, direction] = offset + length
        held[flow, direction] += length
    assert held == {way: size for way, size in whole.present.items() if size}
    parts = outcome(data, 7)
    assert parts.reader.delivered == reader.delivered
    assert parts.reader.damage == reader.damage
    assert parts.records == whole.records


@examples(60)
@given(damaged(), st.sampled_from(["tree", "hex", "summary", "json", "jsonl", "dot"]), st.booleans())
def test_the_commands_survive_it(data: bytes, style: str, packed: bool) -> None:
    given_data = gzip.compress(data) if packed else data
    for words in (
        ["decode", "--format", style],
        ["flows", "--all", "--format", "json"],
        ["flows"],
        ["detect"],
    ):
        result = CliRunner().invoke(group, [*words, "-"], input=given_data)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.exit_code in (0, 1, 2)
        if words[-1] == "json" and result.exit_code < 2:
            json.loads(result.stdout)
