"""Lets the tests of this folder import helpers, theirs and those of the captures' tests; a Spark session."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

for folder in ("bulk", "captures"):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / folder))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session, started as the command starts it."""
    from wirelens.cli.bulk import session

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    found = session.start("local[2]", conf=["spark.driver.memory=1g"], log=log)
    yield found
    found.stop()
