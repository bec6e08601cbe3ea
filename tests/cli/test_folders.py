"""Folders are evidence, not instructions."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING

import planted
import pytest
from click.testing import CliRunner

from wirelens.cli.bulk.files import find, is_inside
from wirelens.cli.folders import FolderWalk
from wirelens.cli.input import Input
from wirelens.cli.main import group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commands import Run

FLAG = bytes.fromhex("1e0000010800000000")


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """A folder with two files, and six entries that are not evidence."""
    folder = tmp_path / "evidence"
    (folder / "inner").mkdir(parents=True)
    (folder / "b.bin").write_bytes(FLAG)
    (folder / "link.bin").symlink_to("b.bin")
    os.mkfifo(folder / "a")
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "loop").symlink_to(".")
    (folder / "inner" / "up").symlink_to("..")
    (folder / "nowhere").symlink_to("nothing")
    return folder


def test_a_walk_takes_regular_files_of_the_folder(evidence: Path) -> None:
    pytest.importorskip("pyarrow")  # for bulk's part
    walk = FolderWalk(str(evidence))
    assert list(walk) == [str(evidence / "b.bin"), str(evidence / "link.bin")]
    assert walk.skipped == 6
    assert [file.path for file in find(str(evidence))] == list(FolderWalk(str(evidence)))


def test_what_is_skipped_is_reported_once(evidence: Path) -> None:
    result = CliRunner().invoke(group, ["decode", "--as", "esnp-line", "--format", "summary", str(evidence)])
    assert result.exit_code == 0
    assert result.stderr.count("6 entries skipped") == 1


def test_names_that_are_not_utf8_are_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")  # for bulk's part
    try:
        (tmp_path / os.fsdecode(b"x\xff.bin")).write_bytes(FLAG)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    files = find(str(tmp_path))
    assert len(files) == 1
    assert files[0].name.isascii()
    assert "\\udcff" in files[0].name


def test_an_output_inside_the_input_is_known(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert is_inside(str(tmp_path / "in" / "out"), str(tmp_path / "in"))
    assert is_inside(str(tmp_path / "in"), str(tmp_path / "in"))
    assert not is_inside(str(tmp_path / "in2"), str(tmp_path / "in"))
    assert is_inside("s3://b/in/out", "s3://b/in")


def test_names_are_cleaned_on_standard_error(tmp_path: Path) -> None:
    name = tmp_path / "z\x1b]0;t\x07\u202e\n.bin"
    name.write_bytes(b"")
    result = CliRunner().invoke(group, ["decode", str(name)])
    assert "no bytes in it" in result.stderr
    for char in "\x1b\x07\u202e":
        assert char not in result.output
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["decode"],
        ["decode", "--format", "summary"],
        ["decode", "--format", "hex"],
        ["decode", "--format", "json"],
        ["decode", "-v"],
        ["detect"],
        ["detect", "-v"],
        ["detect", "--format", "json"],
        ["flows", "--point", "folder"],
        ["flows", "--format", "json"],
        ["calls"],
        ["calls", "--call", "1"],
        ["calls", "--format", "jsonl"],
        ["calls", "--format", "csv"],
        ["stats"],
        ["diff"],
        ["annotate"],
        ["bytes", "--to", "dump"],
    ],
    ids=" ".join,
)
def test_names_are_cleaned_by_every_command(run: Run, tmp_path: Path, words: list[str]) -> None:
    """Of folders and files; what is meant for other programs escapes them in its own way."""
    folder = tmp_path / "f\x1b[31m"
    folder.mkdir()
    data, _ = planted.planted(4, 1, each=0, connections=1)
    for part in "ab":
        (folder / f"{part}\x1b]0;t\x07\u202e\x9b.pcap").write_bytes(data)
        (folder / f"{part}\x1b]0;t\x07\u202e\x9b.bin").write_bytes(bytes.fromhex("4802005290"))
    (folder / "empty\x1b\u202e.bin").write_bytes(b"")
    inputs = sorted(map(str, folder.glob("[ab]*.pcap"))) if words[0] == "diff" else [str(folder)]
    rest = ["-o", str(tmp_path / "o.pcapng")] if words[0] == "annotate" else []
    result = run(*words, *inputs, *rest)
    for char in "\x1b\x07\u202e\x9b":
        assert char not in result.stdout
        assert char not in result.stderr


def test_a_compressed_payload_is_unpacked_up_to_a_ratio(run: Run, tmp_path: Path) -> None:
    """A capture is read as a stream, however much it unpacks to."""
    ones = bytes.fromhex("4802005257") + b"\x90" * 6_000_000 + b"Z"
    (tmp_path / "a.bin.gz").write_bytes(gzip.compress(ones))
    (tmp_path / "b.hex").write_text("4802005290")
    stated = "a.bin.gz: unpacks to more than 128 times its size; the rest is not read"
    decoded = run("decode", "--format", "summary", str(tmp_path))
    assert (decoded.exit_code, stated in decoded.stderr, "b.hex" in decoded.stdout) == (1, True, True)
    written = run("bytes", str(tmp_path))
    assert (written.exit_code, stated in written.stderr) == (1, True)
    assert written.stdout_bytes.startswith(ones[:1_000_000])
    assert written.stdout_bytes.endswith(bytes.fromhex("4802005290"))
    assert len(written.stdout_bytes) < 3_000_000
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(b'{"values": [' + b"1," * 2_000_000 + b"1]}"))
    refused = run("encode", "--as", "hessian2", str(tmp_path / "c.json.gz"))
    assert refused.exit_code == 2
    assert "unpacks to more than 128 times its size" in refused.stderr
    header = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    packet = bytes(8) + (60_000).to_bytes(4, "little") * 2 + bytes(60_000)
    (tmp_path / "d.pcap.gz").write_bytes(gzip.compress(header + packet * 200))
    result = run("flows", str(tmp_path / "d.pcap.gz"))
    assert "unpacks" not in result.stderr
    assert "200 packets" in result.stderr


def test_too_little_memory_does_not_stop_the_next_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(bytes.fromhex("4802005290"))
    read = Input._read

    def fails(self: Input) -> Iterator[bytes]:
        if self.name.endswith("a.bin"):
            raise MemoryError
        yield from read(self)

    monkeypatch.setattr(Input, "_read", fails)
    for command in ("decode", "detect", "bytes"):
        result = run(command, str(tmp_path))
        assert f"Error: {tmp_path / 'a.bin'}: not enough memory" in result.stderr
        assert result.exit_code == 2
        assert result.stdout
    result = run("encode", str(tmp_path / "a.bin"))
    assert result.exit_code == 2
    assert "a.bin: not enough memory" in result.stderr
