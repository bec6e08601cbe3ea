"""Nothing a sender can do: output and memory stay in proportion to the input, and chunks change nothing."""

import subprocess
import sys

import pytest

from wirelens import codecs
from wirelens.codecs import tape as tape_module
from wirelens.codecs.record import Record
from wirelens.codecs.tape import MOST_LEVELS

FREE = 1 << 16  # bytes of repeated names that any message may have
FACTOR = 64  # and for each byte of it


def text(size: int) -> bytes:
    return b"S" + size.to_bytes(2, "big") + b"a" * size


def objects(name: int, field: int, count: int) -> bytes:
    """A reply of Hessian with a list of objects of one class, which has long names."""
    fields = b"\x91" + text(field) if field else b"\x90"
    return b"H\2\0R\x57C" + text(name) + fields + (b"\x60" + b"N" * (field > 0)) * count + b"Z"


def lists(size: int, count: int) -> bytes:
    """A reply with typed lists, all but the first with the number of the type."""
    return b"H\2\0R\x57\x70" + text(size) + b"\x70\x90" * count + b"Z"


def maps(size: int, count: int) -> bytes:
    return b"H\2\0R\x57M" + text(size) + b"Z" + b"M\x90Z" * count + b"Z"


def covers(records: list[Record], size: int) -> bool:
    position = 0
    for record in records:
        if record.offset != position:
            return False
        position += record.length
    return position == size


@pytest.mark.parametrize(
    "data",
    [objects(30_000, 0, 6000), objects(10, 30_000, 3000), lists(30_000, 3000), maps(30_000, 2000)],
    ids=["class", "field", "list type", "map type"],
)
def test_repeated_names_end_a_message(data: bytes) -> None:
    records = codecs.decode(data, "hessian2")
    error = records[0].error
    assert error is not None
    assert error.code == "limit"
    assert error.offset <= records[0].length
    assert records[0].partial is not None
    assert covers(records, len(data))
    assert codecs.encode(records) == data
    written = sum(len(record.json_bytes()) for record in records)
    assert written <= FACTOR * len(data) + FREE + 40 * len(data)


def test_repeated_names_within_the_limit_are_no_error() -> None:
    below = codecs.decode(objects(2000, 0, FREE // 2010), "hessian2")
    assert [record.error for record in below] == [None]
    above = codecs.decode(objects(2000, 0, 80), "hessian2")
    assert above[0].error is not None
    many = codecs.decode(objects(50, 0, 20_000), "hessian2")  # few bytes each: in proportion however many
    assert [record.error for record in many] == [None]


def test_nodes_of_a_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    if not isinstance(tape_module.Tape.leaf, type(covers)):
        pytest.skip("compiled code has the constant itself")
    monkeypatch.setattr(tape_module, "MOST_WORDS", 8192)
    data = b"H\2\0R\x57" + b"\x90" * 20_000 + b"Z"
    records = codecs.decode(data, "hessian2")
    assert records[0].error is not None
    assert records[0].error.code == "limit"
    assert records[0].partial is not None
    assert covers(records, len(data))
    for record in records:
        tape = record.tape
        assert tape is None or tape.size() <= 8192 * 2


def test_the_room_of_large_tapes_grows_by_a_quarter() -> None:
    count = tape_module.DOUBLED // tape_module.SHORT_WIDTH + 50_000
    record = codecs.decode(b"H\2\0R\x57" + b"\x90" * count + b"Z", "hessian2")[0]
    assert record.tape is not None
    assert tape_module.DOUBLED < record.tape.size() <= len(record.tape.words) <= record.tape.size() * 5 // 4


def test_what_failed_keeps_no_nodes_of_what_follows() -> None:
    reply = b"H\2\0R\x90"
    records = codecs.decode(b"H\2\0R\x7a" + reply * 3, "hessian2")
    for record in records:
        root = record.partial
        assert root is None or root.span[1] <= record.offset + record.length


DAMAGED = [
    ("hessian2-draft", "7201004cffff00ff720200f8800000007a"),
    ("hessian2", "705748020052497fffffff"),
    ("hessian2", "48020043000048020052904802005205"),
    ("hessian1", "63010072010053000168720100540a7a"),
]


@pytest.mark.parametrize(("protocol", "digits"), DAMAGED)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_damage_is_the_same_in_chunks(protocol: str, digits: str, size: int) -> None:
    data = bytes.fromhex(digits)
    whole = codecs.decode(data, protocol)
    decoder = codecs.Decoder(protocol)
    parts: list[Record] = []
    for at in range(0, len(data), size):
        parts.extend(decoder.feed(data[at : at + size]))
    parts.extend(decoder.close())
    assert [record.to_json() for record in parts] == [record.to_json() for record in whole]
    for record in whole:
        error = record.error
        assert error is None or record.offset <= error.offset <= record.offset + record.length


NESTED = [
    ("hessian2", b"H\2\0R" + b"\x79" * 1000, 1000),
    ("hessian2", b"H\2\0R" + b"\x57" * MOST_LEVELS, MOST_LEVELS),
    ("hessian1", b"r\1\0" + b"V" * (MOST_LEVELS + 9), MOST_LEVELS),
    ("hessian2", b"H\2\0RC\x01a\x91\x01b" + b"\x60" * (MOST_LEVELS * 2) + b"N", MOST_LEVELS),
    ("hessian2-draft", b"r\2\0" + b"M" * (MOST_LEVELS + 9), MOST_LEVELS),
]


@pytest.mark.parametrize(("protocol", "data", "levels"), NESTED)
def test_containers_inside_one_another_are_bounded(protocol: str, data: bytes, levels: int) -> None:
    records = codecs.decode(data, protocol)
    assert covers(records, len(data))
    assert codecs.encode(records) == data
    first = records[0]
    assert first.error is not None
    assert first.error.code == ("limit" if len(data) > levels + 9 else "truncated")
    deepest = 0
    tape = first.tape
    assert tape is not None
    ends: list[int] = []
    for index in tape.indexes():
        while ends and index >= ends[-1]:
            ends.pop()
        if tape.kind(index) in tape_module.CONTAINERS:
            ends.append(int(tape.next(index)))
            deepest = max(deepest, len(ends))
    assert levels <= deepest <= levels + 4


def test_containers_of_an_entry_are_bounded() -> None:
    values = b"\x17\2" * (MOST_LEVELS + 9)
    data = b"\x15" + (2 + len(values)).to_bytes(3, "big") + b"\2k" + values
    records = codecs.decode(data, "esnp-line")
    assert records[0].tape is not None
    assert [fault.code for fault in records[0].tape.faults] == ["limit"]
    assert codecs.encode(records) == data


MEASURE = """
import resource, sys
from wirelens import codecs
from wirelens.codecs import captures, node, notation, registry
kind, name, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
parts = [bytes.fromhex(part) for part in sys.argv[4:]]
if kind == "decode":
    codecs.encode(codecs.decode(parts[0] + parts[1] + parts[2], name))
elif kind == "encode":
    codecs.encode([codecs.loads('{"values": [[]]}')], name)
elif kind == "pasted":
    captures.pasted(b"48 02")
def read(records):
    for record in records:
        for part in record.json_parts():
            pass
        record.summary
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = (size - len(parts[0]) - len(parts[2])) // len(parts[1])
data = parts[0] + parts[1] * count + parts[2]
if kind == "decode":
    decoder = codecs.Decoder(name)
    for at in range(0, len(data), 1 << 16):
        read(decoder.feed(data[at : at + (1 << 16)]))
    read(decoder.close())
elif kind == "encode":
    try:
        codecs.encode([codecs.loads(data.decode())], name)
    except ValueError:
        pass
else:
    try:
        captures.pasted(data)
    except captures.PastedError:
        pass
unit = 1 if sys.platform == "darwin" else 1024
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit, len(data))
"""

MEMORY_FACTOR = 40  # bytes for each byte of input,
MEMORY_FREE = 100_000_000  # and this many more
LEAST_SIZE = 400_000  # bytes; fewer are all in what is free
HESSIAN = b"H\2\0R"
COSTLY = {
    "ones": ("decode", "hessian2", HESSIAN + b"\x57", b"\x90", b"Z"),
    "empty lists": ("decode", "hessian2", HESSIAN + b"\x57", b"\x78", b"Z"),
    "lists inside one another": ("decode", "hessian2", HESSIAN, b"\x79", b"\x90"),
    "lists left open": ("decode", "hessian1", b"r\1\0", b"V", b""),
    "maps": ("decode", "hessian2", HESSIAN + b"\x57", b"HZ", b"Z"),
    "maps as keys": ("decode", "hessian2", HESSIAN, b"H", b""),
    "typed maps": ("decode", "hessian2", HESSIAN + b"\x57M\1aZ", b"M\x90Z", b"Z"),
    "typed lists": ("decode", "hessian2", HESSIAN + b"\x57\x70\1a", b"\x70\x90", b"Z"),
    "empty strings": ("decode", "hessian2", HESSIAN + b"\x57", b"\0", b"Z"),
    "doubles": ("decode", "hessian2", HESSIAN + b"\x57", b"\x5b", b"Z"),
    "objects": ("decode", "hessian2", HESSIAN + b"\x57C\1a\x90", b"\x60", b"Z"),
    "objects inside one another": ("decode", "hessian2", HESSIAN + b"C\1a\x91\1b", b"\x60", b"N"),
    "classes": ("decode", "hessian2", HESSIAN + b"\x57", b"C\1a\x90\x60", b"Z"),
    "references": ("decode", "hessian2", HESSIAN + b"\x57", b"Q\x90", b"Z"),
    "chunks": ("decode", "hessian2", HESSIAN, b"R\0\1a", b"\1a"),
    "messages": ("decode", "hessian2", b"", HESSIAN + b"\x90", b""),
    "damaged messages": ("decode", "hessian2", b"", b"\1\x90" + HESSIAN, b""),
    "header lines": ("decode", "http", b"POST / HTTP/1.1\r\n", b"a:\r\n", b"\r\n"),
    "cells": ("decode", "mevent", bytes.fromhex("10000007 00000000 00000004 706c7567"), b"\0\0\0\1" * 3, b""),
    "zeros": ("decode", "esnp-line", b"", b"\0", b""),
    "JSON: numbers": ("encode", "hessian2", b'{"values": [', b"1,", b"1]}"),
    "JSON: objects": ("encode", "hessian2", b'{"values": [', b"{},", b"1]}"),
    "JSON: arrays left open": ("encode", "hessian2", b"", b"[", b""),
    "JSON: objects left open": ("encode", "hessian2", b"", b'{"":', b""),
    "quotes": ("pasted", "", b"", b'"', b""),
    "apostrophes": ("pasted", "", b"a", b"'", b""),
    "short lines": ("pasted", "", b"", b"a\n", b""),
    "fences": ("pasted", "", b"", b"```\n", b""),
    "numbers": ("pasted", "", b"", b"1,", b"1"),
}
# These take what others take in either form: the compiled one is enough.
ALIKE = {
    "ones",
    "empty lists",
    "lists inside one another",
    "maps",
    "maps as keys",
    "typed maps",
    "typed lists",
    "empty strings",
    "doubles",
    "references",
    "objects inside one another",
    "JSON: arrays left open",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.once) if kind == "pasted" or name in ALIKE else name
        for name, (kind, *_) in COSTLY.items()
    ],
)
def test_memory_is_in_proportion(name: str) -> None:
    """What is free is left out where it is not needed, so that small inputs show the factor."""
    kind, protocol, start, unit, end = COSTLY[name]
    nested = "inside" in name or "open" in name or "keys" in name
    free = nested or name in ("short lines", "fences")
    size = LEAST_SIZE * (4 if nested else 1)
    words = [kind, protocol, str(size), start.hex(), unit.hex(), end.hex()]
    done = subprocess.run([sys.executable, "-P", "-c", MEASURE, *words], check=True, capture_output=True)
    used, length = map(int, done.stdout.split())
    assert length > size - 16
    assert used <= MEMORY_FACTOR * length + (MEMORY_FREE if free else MEMORY_FREE // 10)


ESCAPES = """
import tracemalloc
from wirelens.codecs.json_text import quoted
text = "\\x7f" * 300_000
quoted(text[:9])  # what is compiled on first use
tracemalloc.start()
written = quoted(text)
print(tracemalloc.get_traced_memory()[1], len(written))
assert written == b'"' + b"\\\\u007f" * len(text) + b'"'
"""


def test_escapes_take_the_memory_of_their_text() -> None:
    """In a process of its own, as other threads of the tests allocate too."""
    done = subprocess.run([sys.executable, "-P", "-c", ESCAPES], check=True, capture_output=True)
    used, length = map(int, done.stdout.split())
    assert used <= 4 * length


LITTLE = """
import resource
from wirelens import codecs
codecs.encode(codecs.decode(bytes.fromhex("4802005290"), "hessian2"))
data = bytes.fromhex("4802005257") + b"\\x90" * 8_000_000 + b"Z" + bytes.fromhex("4802005291")
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 100_000_000,) * 2)
records = codecs.decode(data, "hessian2")
assert sum(record.length for record in records) == len(data)
assert codecs.encode(records) == data
print(records[0].error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is of Linux")
def test_a_message_without_enough_memory_is_a_record_with_an_error() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", LITTLE], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert "not enough memory for this message" in done.stdout
    assert "limit" in done.stdout
