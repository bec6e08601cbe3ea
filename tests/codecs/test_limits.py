"""Nothing a sender can do: output and memory stay in proportion to the input, and chunks change nothing."""

import pytest

from wirelens import codecs
from wirelens.codecs import tape as tape_module
from wirelens.codecs.record import Record

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
    monkeypatch.setattr(tape_module, "MOST_NODES", 4096)
    data = b"H\2\0R\x57" + b"\x90" * 20_000 + b"Z"
    records = codecs.decode(data, "hessian2")
    assert records[0].error is not None
    assert records[0].error.code == "limit"
    assert records[0].partial is not None
    assert covers(records, len(data))
    for record in records:
        tape = record.tape
        assert tape is None or tape.size() <= 4096 * 2


def test_the_room_of_large_tapes_grows_by_a_quarter() -> None:
    count = (1 << 19) + 50_000
    record = codecs.decode(b"H\2\0R\x57" + b"\x90" * count + b"Z", "hessian2")[0]
    assert record.tape is not None
    assert len(record.tape.words) <= record.tape.size() * tape_module.WIDTH * 5 // 4


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
