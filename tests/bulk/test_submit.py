"""`spark-submit`, as docs/bulk.md shows it."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import inprocess
import pyspark
import pytest
from inprocess import contents, sums_agree

from wirelens.cli.bulk.java import find_java
from wirelens.cli.bulk.session import java_options

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark-processes")]

ROOT = Path(__file__).resolve().parent.parent.parent
CAPTURES = ROOT / "examples" / "captures"
SHOWN = re.compile(r"^\$ (PYSPARK_PYTHON=.* spark-submit (?:.*\\\n)*.*)$", re.MULTILINE)


def test_the_documented_command(tmp_path: Path) -> None:
    (shown,) = SHOWN.findall((ROOT / "docs" / "bulk.md").read_text(encoding="utf-8"))
    # As the page has it: the environment is linked here, and packed for the nodes.
    (tmp_path / "environment").symlink_to(sys.prefix)
    with tarfile.open(tmp_path / "wirelens.tar.gz", "w:gz") as archive:
        archive.add(Path(sys.prefix) / "pyvenv.cfg", "pyvenv.cfg")
    source, out = CAPTURES / "esnp_line_tcp.pcap", tmp_path / "out"
    places = {
        "spark://HOST:7077": "local[2]",
        "examples/": f"{ROOT}/examples/",
        "s3://bucket/captures": str(source),
        "s3://bucket/out": str(out),
    }
    for place, here in places.items():
        assert place in shown
        shown = shown.replace(place, here)
    environ = {
        **os.environ,
        "PATH": f"{Path(pyspark.__file__).parent / 'bin'}:{os.environ['PATH']}",
        "JAVA_HOME": find_java().home,
        "JDK_JAVA_OPTIONS": java_options(""),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        shown, shell=True, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    sums_agree(out)
    inprocess.run([source], tmp_path / "other")
    assert contents(out) == contents(tmp_path / "other")
