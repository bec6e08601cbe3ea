"""`bulk --remote`: the tasks run in a server of Spark Connect, and this process has no Java."""

import subprocess
import sys
from pathlib import Path

import inprocess
import pytest
from inprocess import contents, sums_agree
from made import frames, rotated

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def test_the_command_through_a_server(connect: str, tmp_path: Path) -> None:
    for name in ("grpc_status", "zstandard", "google.rpc"):
        pytest.importorskip(name)
    paths = rotated(frames(3, 8), 3, tmp_path / "in")
    out = tmp_path / "out"
    words = ["bulk", "--remote", connect, "--max-errors", "1000", str(tmp_path / "in"), str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "wirelens.cli.main", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    sums_agree(out)
    inprocess.run(paths, tmp_path / "other")
    assert contents(out) == contents(tmp_path / "other")
    assert not (out / "_runs").exists()
