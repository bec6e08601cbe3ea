"""What every test may use."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # for modules that tests share

# `ci` gives the same examples in each run, so that a change fails for what it changed.
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the checkout with captures, vectors and texts to measure against."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no ../shared here")
    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts Spark takes long and hardly depends on the form: it need run in one only."""
    for item in items:
        if any(mark.args == ("spark",) for mark in item.iter_markers("xdist_group")):
            item.add_marker(pytest.mark.once)
