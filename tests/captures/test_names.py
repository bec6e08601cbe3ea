"""What `codecs.captures` exports, in whatever order it is imported."""

import subprocess
import sys

import pytest

from wirelens.codecs import captures


def test_every_name_is_there() -> None:
    for name in captures.__all__:
        assert getattr(captures, name) is not None
    with pytest.raises(AttributeError):
        _ = captures.nothing


def test_pasted_is_the_function_after_its_module_is_loaded() -> None:
    code = (
        "import wirelens.codecs.captures.pasting; from wirelens.codecs import captures; captures.pasted('00')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pasted_text_does_not_load_the_packet_readers() -> None:
    code = "import sys; from wirelens.codecs.captures.pasting import pasted; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    for name in ("pcap", "packets", "streams"):
        assert f"wirelens.codecs.captures.{name}" not in loaded.split()
