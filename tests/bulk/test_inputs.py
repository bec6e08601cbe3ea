"""All sorts of inputs in one run: each byte of each is accounted for, and none stops another."""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import comparing
import inprocess
import pytest
from inprocess import contents, sums_agree, table
from made import capture, frames, messages, rotated

from wirelens.cli.bulk import files


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_compressed_captures(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    data = capture(frames(53))
    (tmp_path / "a.pcap").write_bytes(data)
    (tmp_path / "a.pcap.packed").write_bytes(pack(data))
    inprocess.run([tmp_path / "a.pcap"], tmp_path / "plain")
    inprocess.run([tmp_path / "a.pcap.packed"], tmp_path / "packed")
    assert contents(tmp_path / "plain") == contents(tmp_path / "packed")
    (row,) = table(tmp_path / "packed", "_ledger")
    assert (row["compressed"], row["read"]) == (True, len(data))
    assert row["size"] < len(data)
    sums_agree(tmp_path / "packed")


def test_captures_in_large_blocks_are_joined(tmp_path: Path) -> None:
    """The first packet of a compressed capture may take much of its file to unpack."""
    noise = [bytes(200) + os.urandom(1300) for _ in range(700)]
    stream = frames(57, 8)
    half = len(stream) // 2
    for folder, pack in (("plain", bytes), ("packed", bz2.compress)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "b").write_bytes(pack(capture(noise + stream[:half])))
        (tmp_path / folder / "a").write_bytes(pack(capture(noise + stream[half:], 5000)))
        inprocess.run([tmp_path / folder], tmp_path / f"{folder}-out")
    assert (tmp_path / "packed" / "b").stat().st_size > 900_000
    assert contents(tmp_path / "plain-out") == contents(tmp_path / "packed-out")


def test_of_damaged_gzip_all_that_unpacks_is_converted(tmp_path: Path) -> None:
    data, payload = capture(frames(53)), b"\x1e\0\0\1\x08\0\0\0\0"
    plain, packed = tmp_path / "in" / "plain", tmp_path / "in" / "packed"
    plain.mkdir(parents=True)
    packed.mkdir()
    for name, content in (("a.pcap", data), ("b.bin", payload)):
        (plain / name).write_bytes(content)
        bad = bytearray(gzip.compress(content))
        bad[-6] ^= 1
        (packed / f"{name}.gz").write_bytes(bad)
    inprocess.run([*plain.iterdir()], tmp_path / "plain")
    report = inprocess.run([*packed.iterdir()], tmp_path / "packed")
    assert report.codes["bad-checksum"] == 2
    messages = [len(table(tmp_path / name, "messages")) for name in ("plain", "packed")]
    assert messages[0] == messages[1] > 10
    sums_agree(tmp_path / "packed")


def test_quarantine_keeps_what_was_asked_for(tmp_path: Path) -> None:
    noise = bytes(range(1, 256)) * 41
    (tmp_path / "noise.bin").write_bytes(noise)
    for mode, kept in (("full", [noise]), ("head", [noise[:4096]]), ("none", [None])):
        report = inprocess.run([tmp_path / "noise.bin"], tmp_path / mode, quarantine=mode)
        rows = table(tmp_path / mode, "quarantine")
        assert [row["raw"] for row in rows] == kept
        assert [row["length"] for row in rows] == [len(noise)]
        assert (report.errors, report.unrecognised) == (0, len(noise))
        sums_agree(tmp_path / mode)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "good.pcap").write_bytes(capture(frames(54, 5)))
    (tmp_path / "bad.pcap").write_bytes(b"x")
    (tmp_path / "bad.pcap").chmod(0)
    report = inprocess.run([tmp_path / "good.pcap", tmp_path / "bad.pcap"], tmp_path / "out")
    assert report.codes["unreadable"] == 1


def test_a_file_that_vanishes_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = rotated(frames(55, 8), 3, tmp_path / "in")
    whole = files.Readers.chunks

    def gone(
        readers: files.Readers, root: str, path: str, offset: int = 0, length: int = -1
    ) -> Iterator[bytes]:
        if (path == str(paths[1]) and length > 1 << 16) or length == paths[1].stat().st_size:
            raise FileNotFoundError(path)
        return whole(readers, root, path, offset, length)

    monkeypatch.setattr(files.Readers, "chunks", gone)
    report = inprocess.run([tmp_path / "in"], tmp_path / "out")
    assert report.codes["unreadable"] == 1
    assert report.messages > 0
    status = {row["file"]: row["status"] for row in table(tmp_path / "out", "_ledger")}
    assert [path for path, said in status.items() if said != "done"] == [str(paths[1])]
    sums_agree(tmp_path / "out")


def test_uris(tmp_path: Path) -> None:
    rotated(frames(56, 8), 3, tmp_path / "in")
    inprocess.run([tmp_path / "in"], tmp_path / "plain")
    inprocess.run([(tmp_path / "in").as_uri()], (tmp_path / "uri").as_uri())
    assert contents(tmp_path / "uri") == contents(tmp_path / "plain")
    names = {row["file"] for row in table(tmp_path / "uri", "_ledger")}
    assert names == {path.as_uri() for path in (tmp_path / "in").iterdir()}


@pytest.mark.parametrize(
    ("place", "parts", "expected"),
    [
        ("/a/b", ("c", "d"), "/a/b/c/d"),
        ("s3://bucket/x", ("y",), "s3://bucket/x/y"),
        (
            "s3://bucket/x?region=eu&endpoint_override=h",
            ("y", "z"),
            "s3://bucket/x/y/z?region=eu&endpoint_override=h",
        ),
        ("hdfs://name:8020/x/", ("y",), "hdfs://name:8020/x/y"),
    ],
)
def test_places(place: str, parts: tuple[str, ...], expected: str) -> None:
    assert files.below(place, *parts) == expected
    assert files.is_uri(place) == ("://" in place)
    assert "endpoint" not in files.shown(expected)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("s3://key:secret@bucket/x?region=eu", "s3://bucket/x"),
        ("s3://bucket", "s3://bucket"),
        ("hdfs://user@name:8020/x", "hdfs://user@name:8020/x"),
        ("/a?b:c@d/e", "/a?b:c@d/e"),
    ],
)
def test_keys_are_not_shown(place: str, expected: str) -> None:
    assert files.shown(place) == expected


def test_hidden_files_are_left_out(tmp_path: Path) -> None:
    for name in ("a", ".hidden", "_SUCCESS", "sub/b", ".git/c", "_runs/d"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    found = files.find(str(tmp_path / "in"))
    assert [os.path.relpath(each.name, tmp_path / "in") for each in found] == ["a", "sub/b"]
    assert files.find(str(tmp_path / "in" / ".hidden"))[0].size == 1


def damaged_gzip(data: bytes) -> dict[str, bytes]:
    """gzip of `data`, damaged in several ways."""
    packed = gzip.compress(data, mtime=0)
    middle = len(packed) // 2
    return {
        "checksum": packed[:-8] + b"\0\0\0\0" + packed[-4:],
        "short": packed[:middle],
        "flipped": packed[:middle] + bytes([packed[middle] ^ 0xFF]) + packed[middle + 1 :],
        "followed": packed + b"not gzip",
    }


@pytest.mark.parametrize("damage", damaged_gzip(b"").keys())
def test_decode_and_bulk_agree_on_damaged_gzip(tmp_path: Path, damage: str) -> None:
    """Both get everything that still unpacks, from a capture and from a payload."""
    payload = b"".join(data for data in messages("mevent.jsonl") if 0 < len(data) < 3000)
    for name, data in (("a.pcap.gz", capture(frames(57, 8))), ("b.bin.gz", payload)):
        path, out = tmp_path / name, tmp_path / f"{name}-out"
        path.write_bytes(damaged_gzip(data)[damage])
        inprocess.run([path], out)
        found = comparing.converted(out)
        assert found == comparing.decoded([path])
        assert found
        sums_agree(out)
        (row,) = table(out, "_ledger")
        assert row["compressed"]
        assert row["notes"]
