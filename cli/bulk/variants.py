"""Messages as VARIANT: Spark itself writes the staged messages again, because pyarrow cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirelens.cli.bulk.files import below, shown
from wirelens.cli.bulk.ledger import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_target(spark: SparkSession, run: Run) -> None:
    """Check, before the work, that Spark itself can read the target. Raises ValueError."""
    try:
        spark.read.text(below(run.folder.place, run.path, "run.json")).count()
    except Exception as error:
        place = shown(run.folder.place)
        raise ValueError(f"--document variant is written by Spark, which cannot reach {place}") from error


def write_variants(spark: SparkSession, run: Run, moves: dict[str, str]) -> dict[str, str]:
    """Write the staged messages again as VARIANT; the moves with those files instead.

    A message that no VARIANT can hold stays text, in the column `message_text`.
    """
    from pyspark.sql import functions

    folder = run.folder
    stage = f"{run.path}/stage/messages/"
    new_moves = {source: target for source, target in moves.items() if not source.startswith(stage)}
    rows = spark.read.parquet(below(folder.place, run.path, "stage", "messages", f"run={run.name}"))
    document = functions.try_parse_json("message")
    text = functions.when(document.isNull(), functions.col("message"))
    rows = rows.withColumn("message_text", text).withColumn("message", document)
    variants = f"{run.path}/stage/variant"
    rows = rows.sortWithinPartitions("protocol", "day", "time")
    writer = rows.write.partitionBy("protocol", "day").option("compression", "zstd")
    writer.parquet(below(folder.place, variants))
    for path in folder.walk(variants):
        if path.endswith(".parquet"):
            new_moves[path] = f"messages/run={run.name}/{path.removeprefix(variants).lstrip('/')}"
    return new_moves
