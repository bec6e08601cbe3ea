"""What every test may use."""

import gc
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "captures")]  # for modules that tests share

COMMON: Final[dict[str, Any]] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The same examples in each run and for everyone, so that a change fails only for what it changed.
settings.register_profile("same", derandomize=True, **COMMON)
# `dev.py test --explore`: other examples in each run, and ten times as many.
settings.register_profile("explore", max_examples=1000, print_blob=True, **COMMON)
# `dev.py pythons`: what differs between Pythons hardly depends on the number of examples.
settings.register_profile("few", max_examples=10, derandomize=True, **COMMON)
settings.load_profile("same")  # pytest's option --hypothesis-profile comes later, and wins

# Files and folders of tests that are about code which stays interpreted in both forms.
INTERPRETED: Final = (
    "captures/test_compression.py",
    "captures/test_gzip.py",
    "captures/test_names.py",
    "captures/test_text_packets.py",
    "cli",
    "codecs/test_clocks.py",
    "codecs/test_comparing.py",
    "codecs/test_ends.py",
    "codecs/test_file_kinds.py",
    "codecs/test_http2.py",
    "codecs/test_http2_captures.py",
    "codecs/test_http2_peers.py",
    "formatters",
    "test_bench.py",
)
# Of those folders: what the commands read and write is the same in both forms.
BOTH_FORMS: Final = ("cli/test_captures.py", "cli/test_identity.py", "cli/test_transcripts.py")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the checkout with captures, vectors and texts to measure against."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no ../shared here")
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "of the parameters of each test, run only each Nth"
    parser.addoption("--each", type=int, default=1, metavar="N", help=text)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Long values are not written into names, which processes pass to each other."""
    if isinstance(val, bytes | str) and len(val) > 80:
        return f"{argname} of {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what need run in one form only; bulk conversion takes long and hardly depends on the form."""
    for item in items:
        path = item.path.relative_to(ROOT / "tests")
        if path.is_relative_to("bulk"):
            item.add_marker(pytest.mark.once)
        elif any(map(path.is_relative_to, INTERPRETED)) and path.as_posix() not in BOTH_FORMS:
            item.add_marker(pytest.mark.interpreted)
    counts: Counter[str] = Counter()
    left_out = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        if counts[test] % config.getoption("--each"):
            left_out.append(item)
        counts[test] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    if hasattr(config, "workerinput"):  # the long ones first, so that the workers end at about the same time
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Ten thousand collected tests are not looked through again for each garbage of the tests.

    Python also waits with full collections until a quarter of all objects is new: of few, that is soon.
    """
    gc.collect()
    gc.freeze()
