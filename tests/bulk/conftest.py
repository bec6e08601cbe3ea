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
    """A local session, started as the command starts it, whose JVM is a server of Spark Connect too."""
    from cluster import free_port

    from wirelens.cli.bulk import session

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    server = ["spark.plugins=org.apache.spark.sql.connect.SparkConnectPlugin"]
    server += [
        "spark.connect.grpc.binding.address=127.0.0.1",
        f"spark.connect.grpc.binding.port={free_port()}",
    ]
    found = session.start("local[2]", conf=["spark.driver.memory=1g", *server], log=log)
    yield found
    found.stop()


@pytest.fixture
def connect(spark: SparkSession) -> str:
    """The URL of the session's server of Spark Connect."""
    return f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"
