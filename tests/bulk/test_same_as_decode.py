"""`decode` and `bulk` give the same messages, pairs, latencies and errors, whatever they are given."""

import random
from pathlib import Path
from typing import Any

import dumps
import inprocess
import pytest
from comparing import converted, decoded
from inprocess import sums_agree
from made import capture, frames, rotated

PARTS = 6  # of the files of ../shared, so that a failure names few of them


def differences(sources: list[Path], out: Path, *options: str, **settings: Any) -> list[str]:
    """What differs between the two: a line for each result that only one of them has."""
    inprocess.run(sources, out, **settings)
    sums_agree(out)
    found, expected = converted(out), decoded(sources, options=options)
    assert expected
    return [
        *(f"only bulk: {result}" for result in found if result not in expected),
        *(f"only decode: {result}" for result in expected if result not in found),
        *(["another number of equal results"] if len(found) != len(expected) else []),
    ]


def shared_files(shared: Path) -> list[Path]:
    """All files of ../shared/captures and ../shared/field."""
    found = [path for name in ("captures", "field") for path in sorted((shared / name).rglob("*"))]
    return [path for path in found if path.is_file() and not path.name.startswith((".", "_"))]


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("part", range(PARTS))
def test_files_by_themselves(shared: Path, tmp_path: Path, part: int) -> None:
    files = shared_files(shared)[part::PARTS]
    assert differences(files, tmp_path / "out", "--separate", separate=True) == []


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("name", ["captures/sessions", "captures/real", "captures/quirks", "field"])
def test_folders_as_one_capture(shared: Path, tmp_path: Path, name: str) -> None:
    """Many of these have the same endpoints at other times, or at the same time, which is worse."""
    assert differences([shared / name], tmp_path / "out") == []


@pytest.mark.once
@pytest.mark.parametrize("seed", range(4))
def test_rotated_captures(tmp_path: Path, seed: int) -> None:
    rotated(frames(100 + seed), 2 + 3 * seed, tmp_path / "in")
    assert differences([tmp_path / "in"], tmp_path / "out") == []


@pytest.mark.once
@pytest.mark.parametrize("seed", range(4))
def test_captures_of_the_same_time(tmp_path: Path, seed: int) -> None:
    """Packets are dealt to files at random; a clock goes back, a file is cut, one is empty."""
    from building import pcap

    chance = random.Random(seed)
    mixed = frames(200 + seed)
    parts: list[list[int]] = [[] for _ in range(5)]
    for place in range(len(mixed)):
        parts[chance.randrange(4)].append(place)
    (tmp_path / "in").mkdir()
    for number, part in enumerate(parts):
        times = [place * 1000 - (50_000 if chance.random() < 0.02 else 0) for place in part]
        data = pcap([mixed[place] for place in part], times=[max(time, 0) for time in times])
        (tmp_path / "in" / f"{number}.pcap").write_bytes(data[:-7] if number == 2 else data)
    (tmp_path / "in" / "text.txt").write_text("da bb e2 00 00 00 00 00 00 00 00 07 00 00 00 01 4e")
    (tmp_path / "in" / "other.pcap").write_bytes(capture(frames(300 + seed, 6), 7)[:-5])
    assert differences([tmp_path / "in"], tmp_path / "out") == []


@pytest.mark.once
@pytest.mark.parametrize("separate", [False, True])
def test_flows_of_packets_printed_as_text_are_numbered_in_their_turn(tmp_path: Path, separate: bool) -> None:
    rotated(frames(500, 6), 2, tmp_path / "in")
    for seed, name in ((501, "000.txt"), (502, "zzz.txt")):
        text = "".join(
            f"2023-11-14 22:13:20.{number:06} IP 10.0.0.1 > 10.0.0.2: tcp 1\n{dumps.tcpdump_x(frame)}"
            for number, frame in enumerate(frames(seed, 4))
        )
        (tmp_path / "in" / name).write_text(text)
    options = ["--separate"] if separate else []
    assert differences([tmp_path / "in"], tmp_path / "out", *options, separate=separate) == []
    files = {row["file"] for row in inprocess.table(tmp_path / "out", "messages") if row["flow_number"]}
    assert len(files) == 4


@pytest.mark.once
def test_captures_of_several_points(tmp_path: Path) -> None:
    """Two hosts with the same addresses at the same time, their captures rotated."""
    for number, host in enumerate(("left", "right")):
        rotated(frames(400 + number), 3, tmp_path / host)
    sources = [tmp_path / "left", tmp_path / "right"]
    for option in ("folder", "left|right"):
        out = tmp_path / f"out-{option[:4]}"
        assert differences(sources, out, "--point", option, point=option) == []
    alone = []
    for source in sources:
        inprocess.run([source], tmp_path / f"alone-{source.name}")
        alone += inprocess.contents(tmp_path / f"alone-{source.name}", numbers=False)
    assert inprocess.contents(tmp_path / "out-fold", numbers=False) == sorted(alone)
    mixed = inprocess.run(sources, tmp_path / "mixed")
    assert "--point folder" in mixed.contradiction
    notes = [
        note["code"] for row in inprocess.table(tmp_path / "mixed", "_ledger") for note in row["notes"] or ()
    ]
    assert notes.count("overlap-conflict") > 1
    assert not inprocess.run(sources, tmp_path / "apart", point="folder").contradiction
