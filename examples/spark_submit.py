"""For spark-submit, which wants a file: `spark-submit [ITS OPTIONS] spark_submit.py [OPTIONS] SRC... DST`."""

import sys

from wirelens.cli.main import group

if __name__ == "__main__":
    group(["bulk", *sys.argv[1:]], prog_name="wirelens")
