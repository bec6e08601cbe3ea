"""Detection: what it names, what it leaves alone, and what it says."""

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from foreign import MAKERS, pcap
from hypothesis import example, given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.codecs.detection import MARGIN, THRESHOLD, WHOLE, detect
from wirelens.codecs.node import Json

ROOT = Path(__file__).resolve().parent.parent.parent
VECTORS = ROOT / "tests/vectors"
TOO_LITTLE = {
    # an END alone, numbers that the texts leave open, cut or broken entries
    "line/empty_message",
    "frame/empty_message",
    "line/read_missing_end",
    "line/read_unknown_line_types",
    "line/read_varint_overflow",
    "frame/app_defined_frames",
    "cpp/bug_flag_128_wrong_size",
    # a frame alone, few of whose bits are fixed
    "a type without a name",
    "ping with an unknown flag",
    "settings",
    "window update with the reserved bits",
    # several plain values in a row, one of them as no writer has it
    "seed-examples/seed_4.8.1_map_fee_misprint_b9",
}


class Case(NamedTuple):
    name: str
    protocol: str  # empty for the layout of 2006
    data: bytes


def cases(pattern: str) -> Iterator[Case]:
    for path in sorted(VECTORS.glob(pattern)):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in text.decode().splitlines():
            case = codecs.loads(line)
            assert isinstance(case, dict)
            if "hex" not in case:  # of mistakes.jsonl
                continue
            protocol = case["protocol"]
            yield Case(
                str(case["name"]),
                protocol if isinstance(protocol, str) else "",
                bytes.fromhex(str(case["hex"])),
            )


# Bare values of JSONB show nothing; test_jsonb.py has those that do.
ALL = [case for case in cases("*.jsonl*") if case.protocol not in ("", "jsonb")]
LAYOUT_2006 = list(cases("*2006*"))


def names(data: bytes, other: bytes = b"", final: bool = True) -> tuple[str, ...]:
    found = codecs.detect(data, other, final)
    return (found.protocol, *found.equal)


def test_every_vector_is_named_or_too_little() -> None:
    missed = {case.name for case in ALL if case.protocol not in names(case.data)}
    assert missed == TOO_LITTLE & {case.name for case in ALL}


def test_no_vector_is_named_wrong() -> None:
    wrong = [
        (case.name, named)
        for case in ALL
        for named in [names(case.data)]
        if case.protocol not in named and named[0] != "unknown"
    ]
    assert wrong == []


@pytest.mark.once
def test_the_same_is_named_without_looking_at_what_is_carried() -> None:
    skipped = 0
    for case in [*ALL, *LAYOUT_2006]:
        for data in (case.data, case.data[:40], case.data * 2, b"\x11" + case.data):
            for final in (True, False):
                full = codecs.detect(data, b"", final)
                quick = detect(data, b"", final, everything=False)
                assert (quick.protocol, quick.equal, quick.margin, quick.code) == (
                    full.protocol,
                    full.equal,
                    full.margin,
                    full.code,
                )
                skipped += len(full.candidates) - len(quick.candidates)
                assert {one.protocol for one in quick.candidates} <= {one.protocol for one in full.candidates}
    assert skipped > 0


@pytest.mark.parametrize("size", [4, 8, 16, 24, 32, 64, 128, 512])
def test_a_first_packet_is_never_named_wrong(size: int) -> None:
    named = 0
    for case in ALL:
        if len(case.data) > size:
            said = names(case.data[:size], final=False)
            assert said[0] == "unknown" or case.protocol in said, case.name
            named += case.protocol in said
    assert named > 0 or size < 16


@pytest.mark.parametrize("after", [bytes(20), b"\r\nGET / HTTP/1.1\r\n", b"\xff" * 9, b"\x41"])
def test_what_follows_does_not_mislead(after: bytes) -> None:
    named = 0
    for case in ALL:
        if len(case.data) >= 16:
            said = names(case.data + after)
            assert said[0] == "unknown" or case.protocol in said, case.name
            named += case.protocol in said
    assert named > len(ALL) // 4


@pytest.mark.parametrize("size", [0, 3, 7, 15, 23])
def test_a_stream_joined_in_the_middle(size: int) -> None:
    data = next(case.data for case in ALL if case.name == "dubbo-frames/dubbo_resp_exception")
    found = codecs.detect(data[-size - 1 :] + data + data, final=False)
    assert found.protocol == "dubbo"


def test_a_first_call_further_on() -> None:
    call = next(case.data for case in ALL if case.name == "hessian2-final/call_shared")
    found = codecs.detect(b"@@@" + call + call)
    assert found.protocol == "hessian2"
    assert found.candidates[0].reasons[0] == "a first message at offset 3"
    records = codecs.decode(b"@@@" + call + call)
    assert [record.error is None for record in records] == [False, True, True]


@pytest.mark.parametrize("maker", MAKERS, ids=[maker.__name__ for maker in MAKERS])
def test_foreign_bytes_are_not_claimed(maker: Callable[[random.Random], bytes]) -> None:
    for seed in range(40):
        data = maker(random.Random(seed))
        if len(data) >= 16:
            found = codecs.detect(data)
            assert found.protocol == "unknown", (seed, data)
            assert found.reason


@given(st.sampled_from(MAKERS), st.integers(0, 1 << 32), st.integers(0, 200), st.integers(1, 400))
@example(pcap, 135, 0, 179)  # frames of streams with even numbers, it seems
def test_pieces_of_foreign_streams_are_not_claimed(
    maker: Callable[[random.Random], bytes], seed: int, start: int, size: int
) -> None:
    found = codecs.detect(maker(random.Random(seed))[start : start + size], final=False)
    assert found.protocol == "unknown"


@pytest.mark.parametrize("step", [32, 64, 160, 192, 224])
def test_repetitions_of_a_pattern_are_no_evidence(step: int) -> None:
    for first in range(256):
        data = bytes((first + step * index) & 0xFF for index in range(400))
        assert codecs.detect(data, final=False).protocol == "unknown", first


@pytest.mark.parametrize("message", ["480200524e", "4802004304 70696e67 90", "7201004e7a"])
def test_repeated_messages_are_recognised(message: str) -> None:
    data = bytes.fromhex(message)
    for times in (2, 3, 40):
        assert codecs.detect(data * times, final=False).protocol.startswith("hessian"), times


@given(st.binary(max_size=300), st.binary(max_size=60), st.booleans())
def test_arbitrary_bytes_keep_the_contract(data: bytes, other: bytes, final: bool) -> None:
    found = codecs.detect(data, other, final)
    assert list(found.candidates) == sorted(found.candidates, key=lambda one: -one.bits)
    if found.protocol == "unknown":
        assert found.reason
        assert found.equal == ()
    else:
        best = next(one for one in found.candidates if one.protocol == found.protocol)
        assert best.bits >= best.asked
        assert found.protocol not in found.equal
        if not final:
            assert best.asked == THRESHOLD


@given(st.sampled_from([case for case in ALL if len(case.data) < 2000]), st.data())
def test_a_changed_byte_misleads_to_no_other_family(case: Case, chooser: st.DataObject) -> None:
    data = bytearray(case.data)
    place = chooser.draw(st.integers(0, len(data) - 1))
    data[place] = chooser.draw(st.integers(0, 255))
    said = names(bytes(data), final=False)[0]
    assert said == "unknown" or said.startswith(families(case))


def families(case: Case) -> tuple[str, ...]:
    """Those of a case's protocol: bytes with a length before them may be taken for what they contain."""
    family, _, content = case.protocol.partition("-")
    return (family.rstrip("12"), content) if family == "framed" else (family.rstrip("12"),)


def test_a_damaged_length_leaves_what_follows_it() -> None:
    (case,) = [case for case in ALL if case.name == "framed/a request of XXL-RPC"]
    # as strings of one character, which two bytes each of the length are then, before the same object
    assert names(b"\x01" + case.data[1:], final=False)[0] == "hessian2"


def test_a_length_beyond_the_end_of_a_message_is_not_that_of_a_frame() -> None:
    """A Dubbo frame whose first byte is damaged: its head reads as a length and empty strings."""
    (case,) = (case for case in ALL if case.name == "dubbo-frames/dubbo_resp_exception")
    assert names(b"\0" + case.data[1:], final=False)[0] == "hessian2"


VALUES = [
    ("90", "hessian2", {"hessian2-draft"}),
    ("54", "hessian2", {"hessian2-draft", "hessian1"}),
    ("0568656c6c6f", "hessian2", {"hessian2-draft"}),
    ("53000568656c6c6f", "hessian1", {"hessian2-draft", "hessian2"}),
    ("4900000005", "hessian1", {"hessian2-draft", "hessian2"}),
    ("7a", "unknown", set()),
    ("5c", "hessian2", set()),
    ("67", "hessian2-draft", set()),
    ("9091", "hessian2", {"hessian2-draft"}),
    ("0000", "unknown", set()),
    ("ffffffff", "unknown", set()),
]


@pytest.mark.parametrize(("text", "protocol", "equal"), VALUES)
def test_single_values(text: str, protocol: str, equal: set[str]) -> None:
    """What fits several dialects with one meaning is named as the plainest one, with the others."""
    found = codecs.detect(bytes.fromhex(text))
    assert (found.protocol, set(found.equal)) == (protocol, equal)
    assert codecs.detect(bytes.fromhex(text), final=False).protocol == "unknown"


def test_readings_of_different_meaning_are_not_chosen_without_evidence() -> None:
    # of final: a date of minutes; of the draft: a reference, then two ints
    found = codecs.detect(bytes.fromhex("4b01909192"))
    assert found.protocol in ("unknown", "hessian2")
    # the frame's sequence number is also the length of a body of the other head
    both = codecs.detect(bytes.fromhex("7f01090000001000080000000400000000000000"))
    assert both.protocol == "unknown"
    assert both.margin < MARGIN
    assert "different meanings" in both.reason
    assert {one.protocol for one in both.candidates} >= {"magline", "magline-old"}


def test_the_layout_of_2006_is_refused_by_name() -> None:
    refused = 0
    for case in LAYOUT_2006:
        found = codecs.detect(case.data)
        if found.protocol != "unknown":
            assert all(record.error is None for record in codecs.decode(case.data, found.protocol)), case.name
        elif found.code == "hessian-2006":
            refused += 1
            assert "2006" in found.reason
            error = codecs.decode(case.data)[0].error
            assert error is not None
            assert error.code == "hessian-2006"
    assert refused > 40


def test_what_is_missing_is_said() -> None:
    found = codecs.detect(b"H\2\0C\x03add\x91\x0chello wor")
    assert found.candidates[0].settle == "3 more bytes"
    assert codecs.detect(b"").reason == "there are no bytes"
    assert codecs.detect(b"hello, world, again").reason


def test_an_envelope_comes_before_what_it_carries() -> None:
    for case in ALL:
        if case.protocol in ("dubbo", "bolt"):
            found = codecs.detect(case.data)
            assert found.protocol == case.protocol, case.name


def test_the_other_direction_sharpens() -> None:
    request = next(case.data for case in ALL if case.name == "hessian1/call_add2")
    reply = bytes.fromhex("72010049000000057a")
    assert codecs.detect(reply, final=False).protocol == "unknown"
    assert codecs.detect(reply, request, final=False).protocol == "hessian1"
    assert codecs.detect(reply, b"GET / HTTP/1.1\r\n\r\n", final=False).protocol == "unknown"


def test_thresholds_are_the_derived_ones() -> None:
    assert (THRESHOLD, WHOLE) == (10 + 4 + 10, 2 + 10)


@pytest.mark.parametrize("step", [1, 5, 64])
def test_a_decoder_waits_until_it_can_tell(step: int) -> None:
    for name in (
        "hessian2-final/obj_car",
        "hessian2-draft/obj_car",
        "hessian1/obj_car",
        "hessian2-final/string_len_15",
    ):
        data = next(case.data for case in ALL if case.name == name)
        decoder = codecs.Decoder()
        records = []
        for at in range(0, len(data), step):
            records += decoder.feed(data[at : at + step])
        records += decoder.close()
        whole = codecs.decode(data)
        assert [record.to_json() for record in records] == [record.to_json() for record in whole]
        assert records[0].protocol in names(data)


@pytest.mark.parametrize(
    "unit", [b"\0", b"V", b"\x79", b"c\2\0m", b"\x1e\0\0\1\x08", b"\x05hello", b"\x90", b"P\0\1N"]
)
def test_large_repetitive_inputs(unit: bytes) -> None:
    """Bytes that lead a decoder far must not lead detection to a claim, unless it is ESNP's entries."""
    found = codecs.detect(unit * (1 << 16 >> 2))
    assert found.protocol == ("esnp-line" if unit[0] == 0x1E else "unknown")


def numbers_of(sizes: Iterable[int], chooser: random.Random, as_long: bool = False) -> list[Json]:
    """Numbers that Hessian writes in these sizes."""
    bounds = {1: 16, 2: 2048, 3: 1 << 18}
    drawn = [chooser.randrange(bounds[size] // 2, bounds[size]) for size in sizes]
    return [{"$long": number} for number in drawn] if as_long else list(drawn)


@pytest.mark.parametrize("as_long", [False, True])
@pytest.mark.parametrize("protocol", ["hessian2", "hessian2-draft"])
def test_a_row_of_numbers_of_several_sizes_is_known(protocol: str, as_long: bool) -> None:
    chooser = random.Random(1)
    drawn = numbers_of(chooser.choices((1, 2, 3), (4, 4, 1), k=100_001), chooser, as_long)
    counted: list[Json] = [{"$long": number} if as_long else number for number in range(100_001)]
    for values in (drawn, counted):
        found = names(codecs.encode({"values": values}, protocol))
        assert protocol in found


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_row_of_numbers_of_one_size_is_an_array_of_samples(size: int) -> None:
    """Each of these is, byte for byte, an array of samples of that size whose high bytes are alike."""
    chooser = random.Random(size)
    for values in (numbers_of([size] * 5000, chooser), numbers_of([size], chooser) * 5000):
        data = codecs.encode({"values": values}, "hessian2")
        assert len(data) == 5000 * size
        assert names(data) == ("unknown",)


@pytest.mark.parametrize("low", [0x78, 0x80, 0x90, 0xA0])
def test_pixels_are_not_a_row_of_values(low: int) -> None:
    chooser = random.Random(low)
    pixels = bytes([low + chooser.randrange(0x20) for _ in range(3000)])
    walk = bytearray([low])
    for _ in range(3000):
        walk.append(min(0xD0, max(0x70, walk[-1] + chooser.randrange(-6, 7))))
    assert names(pixels) == names(bytes(walk)) == ("unknown",)


def measured(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.detection", "--json", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode == 0) == found["holds"]
    return found


@pytest.mark.once
@pytest.mark.slow
def test_the_bounds(shared: Path) -> None:
    found = measured("--shared", str(shared))
    assert found["wrong"] == []
    assert found["outside"] == []
    assert found["layout_of_2006_claimed"] == []
    assert found["share"] >= 0.995
    assert found["holds"]
    assert found["inputs"] > 2000
    assert found["foreign"] > 1000
