"""The Spark session of a bulk run: local, a cluster's, a remote one, or the one that spark-submit made."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wirelens.cli.bulk.java import NoJavaError, find_java, spark_can_launch
from wirelens.cli.version import install_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK_TRIES = 4  # local masters try once by default, and one killed worker would end the run

# Spark's defaults in these suit small rows; ours are chunks of packets of up to 256 KiB.
CONF = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1024",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
}
STATIC = {
    "spark.app.name": "wirelens bulk",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "2g",
    "spark.task.maxFailures": str(TASK_TRIES),
    # Row groups come and go: the C library keeps their memory, rather than have it cleared again each time.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(1 << 28),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(1 << 28),
}

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


class NoSparkError(Exception):
    """Spark cannot be used here; the text says what to install or to do."""


def check() -> None:
    """Find out whether Spark is installed, without starting it. Raises NoSparkError."""
    from importlib.util import find_spec

    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        raise NoSparkError(
            f"bulk runs on Spark, and {' and '.join(missing)} is not installed.\n"
            f"Install it, with a Java where there is none:  {install_command('spark', 'java')}"
        )


def ready() -> None:
    """Find out whether a Spark of this machine's own can start. Raises NoJavaError."""
    problem = spark_can_launch()
    if problem:
        raise NoJavaError(problem)
    find_java()


def submitted() -> bool:
    """Whether spark-submit started this process, and its master and settings hold."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def start(
    master: str = "", remote: str = "", conf: Sequence[str] = (), log: Path | None = None
) -> SparkSession:
    """A session; `conf` are texts KEY=VALUE, and win over what is set here.

    A local JVM's own talk goes to the file `log`. Raises NoSparkError and NoJavaError before anything starts.
    """
    check()
    wanted = dict(parse_conf(conf))
    if remote:
        return _start_remote(remote, wanted)
    if not submitted():
        problem = spark_can_launch()
        if problem:
            raise NoJavaError(problem)
        os.environ["JAVA_HOME"] = find_java().home
        # An executor's Python is the driver's own, unless a packed environment says otherwise.
        if "spark.pyspark.python" in wanted:
            os.environ["PYSPARK_PYTHON"] = wanted["spark.pyspark.python"]
            check_python(wanted["spark.pyspark.python"])
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        # Only the hosts' own addresses: a name that does not resolve must not keep a local run from starting.
        if not master or master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    settings = dict(CONF)
    if not submitted():
        settings |= STATIC
        builder = builder.master(local_master(master or "local[*]"))
        if master.startswith("local") or not master:
            options = wanted.get("spark.driver.extraJavaOptions", "")
            wanted["spark.driver.extraJavaOptions"] = f"{java_options(options)} {options}".strip()
            settings["spark.driver.bindAddress"] = "127.0.0.1"
            settings["spark.driver.host"] = "127.0.0.1"
    settings |= wanted
    with _quiet(log, settings):
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    if submitted() and not spark.conf.get("spark.log.level", ""):
        spark.sparkContext.setLogLevel(STATIC["spark.log.level"])
    return spark


def java_options(said: str) -> str:
    """What a local Spark's JVM gets besides the options that are `said`, for it moves rows and little else.

    Its first compiler alone, as the second takes more time than its code saves; and of the collectors that
    which has the least to do, unless one is chosen: Java takes no second choice.
    """
    elsewhere = [os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")]
    chosen = any("GC" in options for options in (said, *elsewhere))
    return "-XX:TieredStopAtLevel=1" if chosen else "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"


def check_python(path: str) -> None:
    """Find out whether the executors' Python is here too, where Spark plans with it. Raises NoSparkError."""
    if shutil.which(path) is None:
        folder = Path(path).parent.parent
        raise NoSparkError(
            f"spark.pyspark.python {path} is not there, and Spark plans with it here too:\n"
            f"make it lead to this environment:  ln -s {sys.prefix} {folder}"
        )


def local_master(master: str) -> str:
    """A local master with a number of tries for each task: local[2] becomes local[2,4]."""
    if master == "local":
        return f"local[1,{TASK_TRIES}]"
    if master.startswith("local[") and master.endswith("]") and "," not in master:
        return f"{master[:-1]},{TASK_TRIES}]"
    return master


def parse_conf(conf: Iterable[str]) -> Iterator[tuple[str, str]]:
    """KEY and VALUE of texts KEY=VALUE. Raises ValueError."""
    for text in conf:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{text!r} is not KEY=VALUE")
        yield key.strip(), value.strip()


def _start_remote(remote: str, wanted: dict[str, str]) -> SparkSession:
    from importlib.util import find_spec

    if find_spec("grpc") is None:
        raise NoSparkError("--remote needs Spark Connect's client:  pip install 'pyspark[connect]'")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.remote(remote)
    session = builder.getOrCreate()
    for key, value in (CONF | wanted).items():
        session.conf.set(key, value)
    return session


@contextmanager
def _quiet(log: Path | None, settings: dict[str, str]) -> Iterator[None]:
    """Let the JVM that is started inside inherit `log` as its stderr, and log only errors there."""
    if log is None or submitted():
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix="wirelens-"))
    logging = folder / "log4j2.properties"
    logging.write_text(LOG4J)
    # Spark puts the driver's options on the command line and reads the file at start only.
    options = settings.get("spark.driver.extraJavaOptions", "")
    settings["spark.driver.extraJavaOptions"] = (
        f"-Dlog4j2.configurationFile={logging.as_uri()} {options}".strip()
    )
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        with log.open("ab") as target:
            os.dup2(target.fileno(), 2)
            try:
                yield
            finally:
                os.dup2(saved, 2)
    finally:
        os.close(saved)
        shutil.rmtree(folder, ignore_errors=True)
