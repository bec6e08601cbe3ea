"""Folders are evidence, not instructions."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from wirelens.cli.bulk.files import find, is_inside
from wirelens.cli.folders import FolderWalk
from wirelens.cli.main import group

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
