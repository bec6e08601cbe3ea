"""A real standalone cluster that loses a worker on the way."""

import subprocess
import sys
import time
from pathlib import Path

import inprocess
import pytest
from cluster import Cluster
from inprocess import contents, sums_agree
from made import frames, rotated
from processes import has_rows

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark-processes")]

# As the command does it, but in many small tasks, so that there is a way on which to lose a worker.
RUN = """
import sys
from pathlib import Path
from wirelens.cli.bulk import decoding, job, plan, session
plan.TASK_BYTES = 1
job.BUCKET_BYTES = 10_000
master, source, target, log = sys.argv[1:]
# So that what the lost worker kept is given up soon.
quick = ["spark.shuffle.io.maxRetries=1", "spark.shuffle.io.retryWait=1s"]
quick += [f"spark.{side}.extraJavaOptions={session.java_options('')}" for side in ("driver", "executor")]
spark = session.start(master, conf=["spark.executor.memory=512m", *quick], log=Path(log))
work = job.Job(job.JobOptions([source], target))
work.inspect()
work.work(spark)
work.run.end()
"""


def test_a_cluster_that_loses_a_worker(tmp_path: Path) -> None:
    mixed = frames(21, 20)
    rotated(mixed, 8, tmp_path / "in")
    out = tmp_path / "out"
    with Cluster(tmp_path) as cluster:
        words = [cluster.master, str(tmp_path / "in"), str(out), str(tmp_path / "driver.log")]
        run = subprocess.Popen([sys.executable, "-c", RUN, *words], stderr=subprocess.PIPE, text=True)
        # Rows show that both stages are at work.
        while run.poll() is None and not has_rows(out):
            time.sleep(0.1)
        assert run.poll() is None, run.communicate()[1]
        cluster.kill_worker(0)
        _, stderr = run.communicate(timeout=300)
        assert run.returncode == 0, stderr
        left = sum(1 for _ in out.glob("_runs/*"))
    assert left == 0
    inprocess.run([tmp_path / "in"], tmp_path / "other")
    assert contents(out) == contents(tmp_path / "other")
    sums_agree(out)
