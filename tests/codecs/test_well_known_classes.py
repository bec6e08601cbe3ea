"""What was met before changes nothing: known definitions and names give the tape that they gave when new."""

import random

import pytest
from checks import inputs

from wirelens.codecs import decode, encode
from wirelens.codecs.hessian import value_decoding, well_known_classes
from wirelens.codecs.scan import slot_of
from wirelens.codecs.tape import LOW_HALF, NUMBER

HESSIAN = ("hessian1", "hessian2-draft", "hessian2")


def forget() -> None:
    for slot in range(len(well_known_classes._definitions)):
        well_known_classes._definitions[slot] = well_known_classes.NO_DEFINITION
        well_known_classes._harmless[slot] = b""


def told(data: bytes, protocol: str) -> list[tuple[object, ...]]:
    """All that decoding says: the words of the tapes, the notes, the JSON."""
    found: list[tuple[object, ...]] = []
    for record in decode(data, protocol):
        tape = record.tape
        words = [] if tape is None else list(tape.words[: tape.size()])
        for at in [] if tape is None else tape.definitions():
            words[at + NUMBER] &= LOW_HALF  # without the layout's number
        notes = [(note.code, note.offset, note.text) for note in record.notes]
        found.append((words, notes, record.json_text()))
    return found


@pytest.mark.parametrize("protocol", HESSIAN)
def test_the_third_time_is_as_the_first(protocol: str) -> None:
    learned = 0
    for data in inputs(protocol):
        forget()
        first = told(data, protocol)
        for _ in range(3):
            assert told(data, protocol) == first
        learned += any(one is not well_known_classes.NO_DEFINITION for one in well_known_classes._definitions)
    assert (learned > 50) == (protocol != "hessian1")


@pytest.mark.parametrize("protocol", HESSIAN)
def test_what_others_said_changes_nothing(protocol: str) -> None:
    """Definitions of other messages and dialects are in the tables, some of the same names."""
    chance = random.Random(3)
    some = chance.sample(inputs(protocol), 150)
    forget()
    alone = []
    for data in some:
        forget()
        alone.append(told(data, protocol))
    for _ in range(2):
        for other in HESSIAN:
            for data in some:
                decode(data, other)
        assert [told(data, protocol) for data in some] == alone


def definition(name: bytes, *fields: bytes) -> bytes:
    texts = [bytes([len(text)]) + text for text in (name, *fields)]
    return b"C" + texts[0] + bytes([0x90 + len(fields)]) + b"".join(texts[1:])


def test_a_definition_is_known_by_all_its_bytes() -> None:
    forget()
    same = definition(b"com.example.Point", b"x", b"y") + b"`\x91\x92"
    other = definition(b"com.example.Point", b"x", b"z") + b"`\x91\x92"
    cut = same[:-4]
    for _ in range(3):
        for data, last in ((same, "y"), (other, "z")):
            (record,) = decode(data, "hessian2")
            assert f'"x": 1, "{last}": 2' in record.json_text()
        assert decode(cut, "hessian2")[0].error is not None


def test_a_definition_twice_in_a_message_is_noted_in_its_form() -> None:
    forget()
    point = definition(b"com.example.Point", b"x")
    data = point + b"`\x91" + point + b"a\x92"
    texts = {decode(data, "hessian2")[0].json_text() for _ in range(4)}
    assert len(texts) == 1
    assert '"$wire"' in texts.pop()
    assert encode(decode(data, "hessian2")) == data


def test_names_that_share_a_slot_take_turns() -> None:
    forget()
    slot = slot_of(b"com.example.A", 0, 13)
    other = next(
        name
        for name in (b"com.example.B%d" % number for number in range(100_000))
        if slot_of(name, 0, len(name)) == slot
    )
    for _ in range(3):
        for name in (b"com.example.A", other):
            (record,) = decode(definition(name, b"x") + b"`\x91", "hessian2")
            assert record.json_text().count(name.decode()) == 1
            assert not record.notes


def test_a_gadget_is_noted_each_time() -> None:
    forget()
    data = definition(b"com.sun.rowset.JdbcRowSetImpl", b"x") + b"`\x91"
    for _ in range(4):
        assert [note.code for note in decode(data, "hessian2")[0].notes] == ["gadget-class"]


def test_tapes_that_grow_out_of_their_room() -> None:
    """A known definition of more nodes than a short message makes room for."""
    forget()
    wide = definition(b"com.example.Wide", *(b"f%d" % number for number in range(40)))
    one = wide + b"`" + b"\x90" * 40
    for data in (one, b"X\xcb\xe8" + b"\x91" * 1000 + one):
        forget()
        first = told(data, "hessian2")
        for _ in range(3):
            assert told(data, "hessian2") == first


def test_what_is_very_long_is_not_kept() -> None:
    """Or a few messages would fill the memory until the process ends."""
    forget()
    name = b"com.example." + b"x" * 2000
    long_name = b"C" + b"S" + len(name).to_bytes(2) + name + b"\x91\x01x"
    fields = [b"field%026d" % number for number in range(400)]
    many = b"C\x11com.example.Point\xc9\x90" + b"".join(bytes([len(text)]) + text for text in fields)
    for definition_of, values in ((long_name, 1), (many, 400)):
        data = definition_of + b"`" + b"\x91" * values
        first = told(data, "hessian2")
        for _ in range(3):
            assert told(data, "hessian2") == first
    assert all(len(known.data) <= 1 << 13 for known in well_known_classes._definitions)
    assert all(len(known) <= 1 << 10 for known in well_known_classes._harmless)
    assert b"com.example.Point" in well_known_classes._harmless


@pytest.mark.parametrize("protocol", HESSIAN)
def test_the_interpreters_own_way_reads_the_same(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that it reads by a table give the tapes that the loop over values gives, damaged ones too."""
    if not value_decoding._RUNS:
        pytest.skip("compiled")
    chance = random.Random(5)
    some = chance.sample(inputs(protocol), 150)
    for data in some[:]:
        at = chance.randrange(len(data))
        some += [data[:at], data[:at] + chance.randbytes(1) + data[at + 1 :]]
    by_table = [told(data, protocol) for data in some]
    monkeypatch.setattr(value_decoding, "_RUNS", False)
    assert [told(data, protocol) for data in some] == by_table
