"""A standalone Spark cluster on loopback, started from pyspark's own distribution."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pyspark

from wirelens.cli.bulk.java import find_java
from wirelens.cli.bulk.session import java_options


class Cluster:
    """One master and some workers; a context that ends them."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.port = free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self.count = workers
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._start("master.Master", "--port", str(self.port))
            _wait(lambda: _listens(self.port), "the master")
            for number in range(self.count):
                work = self.folder / f"work{number}"
                self._start("worker.Worker", "--cores", "1", "--memory", "1g", "-d", str(work), self.master)
            log = self.folder / "master.Master0.log"
            _wait(lambda: log.read_text().count("Registering worker") == self.count, "the workers")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def kill_worker(self, number: int) -> None:
        """End a worker and all that it started, as a failing machine does."""
        os.killpg(self.processes[1 + number].pid, signal.SIGKILL)

    def _start(self, name: str, *words: str) -> None:
        home = Path(pyspark.__file__).parent
        log = self.folder / f"{name}{len(self.processes)}.log"
        environ = {
            **os.environ,
            "JAVA_HOME": find_java().home,
            "SPARK_HOME": str(home),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": java_options(""),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        main = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
        ends = ["--host", "127.0.0.1", "--webui-port", "0"]
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*main, *ends, *words], env=environ, stdout=file, stderr=file, start_new_session=True
            )
        self.processes.append(process)

    def _end(self) -> None:
        for process in reversed(self.processes):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in self.processes:
            process.wait()


def free_port() -> int:
    """A port of loopback on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait(done: Callable[[], bool], what: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come up")
        time.sleep(0.2)
