"""What damage may cost: bytes are not read over and over, whatever the input claims."""

import random
import re
from collections.abc import Callable
from contextlib import suppress

import pytest
from stepping import lines

from wirelens import codecs
from wirelens.codecs import registry, tape
from wirelens.codecs.captures import pasted
from wirelens.codecs.captures.pasting import PastedError
from wirelens.codecs.captures.reader import Reader
from wirelens.codecs.decoder import ATTEMPT_FACTOR, ATTEMPT_FREE
from wirelens.codecs.record import Record


def word(number: int) -> bytes:
    return number.to_bytes(4, "big")


def reached(record: Record) -> int:
    """The offset up to which a failed record was read: its error's, or the one that its text states."""
    assert record.error is not None
    stated = re.search(r"read on, at offset (\d+)", record.error.text)
    return record.error.offset if stated is None else int(stated[1])


@pytest.mark.parametrize("size", [2_000, 8_000])
def test_claims_inside_claims_are_read_a_bounded_number_of_times(size: int) -> None:
    """Each unit is a request that takes all that follows as its variables, up to the damage at the end."""
    request = word(1 << 28 | 7) + word(0) + word(4) + b"plug"
    # both readings, from a unit's start and from the request in its name, meet U32 after U32
    unit = word(1) + word(20) + request + word(1) + word(20)
    data = request + unit * size + word(9)
    records = codecs.decode(data, "mevent")
    assert sum(record.length for record in records) == len(data)
    # each failed where the damage is, so this many bytes were read
    failed = [record for record in records if record.error is not None and reached(record) > len(data) - 40]
    assert len(failed) > 2
    assert (
        sum(len(data) - record.offset for record in failed) <= (ATTEMPT_FACTOR + 2) * len(data) + ATTEMPT_FREE
    )


SIZE = 20_000  # bytes
FEW = 2_000  # lines that any call may run
interpreted = pytest.mark.skipif(
    not hasattr(tape.Tape.leaf, "__code__"), reason="compiled code has no lines to count"
)


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def read(data: bytes) -> int:
    reader = Reader()
    for at in range(0, len(data), 4096):
        for _ in reader.steps(data[at : at + 4096]):
            pass
    reader.close()
    return reader.damages


HEADER = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
PACKET = bytes.fromhex("00000000000000000100000001000000ff")
CAPTURES = {
    "pcap": bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    + PACKET
    + b"\1\0\0\0"
    + b"\xff" * 12,
    "pcapng": bytes.fromhex(
        "0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000"
        "01000000140000000100000000000000140000000" + "f" * 33
    ),
}


@interpreted
@pytest.mark.parametrize("name", CAPTURES)
def test_resynchronising_a_capture(name: str) -> None:
    head = CAPTURES[name]
    assert read(head + bytes(SIZE)) >= 1
    zeros = lines(lambda: read(head + bytes(SIZE)))
    assert zeros <= 3 * lines(lambda: read(head + noise(SIZE))) + FEW
    assert lines(lambda: read(head + bytes(2 * SIZE))) <= 2.2 * zeros + FEW


@interpreted
@pytest.mark.parametrize("name", registry.names())
def test_resynchronising_a_stream(name: str) -> None:
    codec = registry.get(name)

    def searched(data: bytes) -> int:
        return lines(lambda: codec.resync(data, 1, len(data)))

    searched(bytes(SIZE))  # what is compiled on first use
    zeros = searched(bytes(SIZE))
    assert zeros <= 3 * searched(noise(SIZE)) + FEW
    assert searched(bytes(2 * SIZE)) <= 2.2 * zeros + FEW


@interpreted
@pytest.mark.parametrize("made", [bytes, noise])
def test_detection_is_linear(made: Callable[[int], bytes]) -> None:
    once = lines(lambda: codecs.detect(made(SIZE)))
    assert lines(lambda: codecs.detect(made(2 * SIZE))) <= 2.2 * once + FEW
    most = lines(lambda: codecs.detect(made(1 << 17)))
    assert lines(lambda: codecs.detect(made(1 << 18))) <= 1.2 * most + FEW


RUNS = {
    "zeros": b"\0",
    "ones": b"\1",
    "spaces": b" ",
    "nulls": b"N",
    "lists": b"\x90",
    "numbers": b"\0\0\0\1",
    "blocks": bytes(63) + b"\1",
    "a length of zeros": b"\0\0\1\0",
}


@interpreted
@pytest.mark.parametrize("name", RUNS)
def test_detection_over_runs(name: str) -> None:
    unit = RUNS[name]
    data = unit * (SIZE // len(unit))
    codecs.detect(data)  # what is compiled on first use
    assert lines(lambda: codecs.detect(data)) <= 3 * lines(lambda: codecs.detect(noise(SIZE))) + FEW


# fmt: off
TEXTS = [
    '"', "'", "`", "a'", '"a" ', '"\\x41" ', "\\", "\\x41", "\\u0041", "%41", "=41", "$", "(", "[", "{", "<",
    "1,", "0x41,", "41 ", "41", "a", "QUJD", "101 ", "01000001 ", "-1 ", ".", "!", "::", "->", "...", "#",
    "//", "\n", "a\n", "41\n", "0000 41\n", "00000000: 4142  AB\n", "```\n", "a: b\n", "    41 42\n",
    '{"a":', "<a>",
]
# fmt: on


def try_pasted(text: str) -> None:
    with suppress(PastedError):
        pasted(text)


@pytest.mark.parametrize("text", TEXTS)
def test_pasted_text_is_linear(text: str) -> None:
    """Pasted text is interpreted in both forms."""
    short, long = (text * (size // len(text)) for size in (4000, 8000))
    for each in (short, long):
        try_pasted(each)  # what is compiled on first use
    once = lines(lambda: try_pasted(short))
    assert lines(lambda: try_pasted(long)) <= 2.2 * once + FEW
