"""What every test may use."""

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
    """Bulk conversion takes long and hardly depends on the form: it need run in one only."""
    for item in items:
        if item.path.is_relative_to(ROOT / "tests" / "bulk"):
            item.add_marker(pytest.mark.once)
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
