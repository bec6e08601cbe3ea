"""The Spark session of a bulk run: local, on a cluster, remote, or the one that spark-submit made."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wirelens.cli.bulk.java import NoJavaError, find_java, spark_can_launch
from wirelens.cli.version import install_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK_TRIES = 4  # local masters try once by default, so one killed worker would end the run

JAVA_END_SECONDS = 1.0

# The defaults of Spark suit small rows; these rows are chunks of packets of up to 256 KiB.
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
    # Row groups are short-lived: the C library, if Arrow uses it, keeps their memory, which need not be
    # zeroed again then.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
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
    """Spark cannot be used here; the text states what to install or to do."""


def check() -> None:
    """Check that Spark is installed, without starting it. Raises NoSparkError."""
    from importlib.util import find_spec

    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        raise NoSparkError(
            f"bulk runs on Spark, and {' and '.join(missing)} is not installed.\n"
            f"Install it, with a Java if there is none:  {install_command('spark', 'java')}"
        )


def ready() -> None:
    """Check that Spark can start on this machine. Raises NoJavaError."""
    problem = spark_can_launch()
    if problem:
        raise NoJavaError(problem)
    find_java()


def submitted() -> bool:
    """Whether spark-submit started this process, so that its master and settings apply."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def start(
    master: str = "", remote: str = "", conf: Sequence[str] = (), log: Path | None = None
) -> SparkSession:
    """A session; `conf` are texts KEY=VALUE, which override what is set here.

    What a local JVM prints goes to the file `log`. Raises NoSparkError, NoJavaError before anything starts.
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
        # Executors use the Python of the driver, unless a packed environment is given.
        if "spark.pyspark.python" in wanted:
            os.environ["PYSPARK_PYTHON"] = wanted["spark.pyspark.python"]
            check_python(wanted["spark.pyspark.python"])
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        # A host name that does not resolve must not keep a local run from starting.
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
            if "SPARK_LOCAL_DIRS" not in os.environ and SparkSession.getActiveSession() is None:
                settings["spark.local.dir"] = _private_folder()
    settings |= wanted
    with _quiet(log, settings):
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    if submitted() and not spark.conf.get("spark.log.level", ""):
        spark.sparkContext.setLogLevel(STATIC["spark.log.level"])
    return spark


def stop(spark: SparkSession) -> None:
    """Stop a session, also if its JVM is gone."""
    try:
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # that the JVM is gone
            spark.stop()
    except Exception:
        if not java_ended():
            raise


def _java_process() -> subprocess.Popen[bytes] | None:
    """The JVM that pyspark started for this process, if it did."""
    pyspark = sys.modules.get("pyspark")
    gateway = None if pyspark is None else getattr(pyspark.SparkContext, "_gateway", None)
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    return process


def java_ended() -> str:
    """How the JVM of this process ended, as a sentence; "" if it lives, or was not started here."""
    process = _java_process()
    if process is None:
        return ""
    try:
        status = process.wait(JAVA_END_SECONDS)  # its connections end before itself
    except subprocess.TimeoutExpired:
        return ""
    if status == -signal.SIGKILL:
        return "Spark's Java was killed (SIGKILL), as systems do that run out of memory"
    return f"Spark's Java ended: {f'signal {-status}' if status < 0 else f'exit status {status}'}"


def end_java() -> None:
    """End the JVM of this process by force."""
    process = _java_process()
    if process is not None:
        process.kill()


def _private_folder() -> str:
    """A temporary folder that nobody else may read, whatever the umask; removed at the end."""
    folder = tempfile.mkdtemp(prefix="wirelens-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def java_options(given: str) -> str:
    """Options for the JVM of a local Spark, in addition to those given.

    It moves rows and does little else. So only the first compiler is used, as the second takes more time than
    its code saves; and the collector with the least work, unless one is chosen: Java accepts only one.
    """
    elsewhere = [os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")]
    chosen = any("GC" in options for options in (given, *elsewhere))
    return "-XX:TieredStopAtLevel=1" if chosen else "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"


def check_python(path: str) -> None:
    """Check that the Python of the executors exists here, where Spark plans with it. Raises NoSparkError."""
    if shutil.which(path) is None:
        folder = Path(path).parent.parent
        raise NoSparkError(
            f"spark.pyspark.python {path} does not exist here, where Spark plans with it:\n"
            f"let it point to this environment:  ln -s {sys.prefix} {folder}"
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
    """Let a JVM that is started inside inherit `log` as its stderr, and log only errors to it."""
    if log is None or submitted():
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix="wirelens-"))
    logging = folder / "log4j2.properties"
    logging.write_text(LOG4J)
    # Spark puts the options of the driver on the command line and reads the file only at the start.
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
