"""`wirelens doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@click.command(context_settings=options.CONTEXT)
@click.option("--start", is_flag=True, help="Also start Spark and run a small job.")
@click.pass_context
def command(ctx: click.Context, start: bool) -> None:
    """Report what is installed: wirelens itself, and what `wirelens bulk` needs.

    Exit status: 0: bulk can run; 1: it cannot.
    """
    from wirelens.cli.version import describe

    click.echo(describe())
    complete = True
    for name, version, problem in checks():
        state = "missing" if problem and not version else "problem" if problem else "ok"
        click.echo(f"{state:8} {name:8} {version}{': ' if version and problem else ''}{problem}")
        complete = complete and not problem
    if complete and start:
        complete = _start()
    ctx.exit(0 if complete else 1)


def checks() -> Iterator[tuple[str, str, str]]:
    """The requirements of bulk: name, version or path (empty: missing), and the problem or its remedy."""
    import os
    import shutil
    from importlib import metadata

    from wirelens.cli.bulk.java import candidates, spark_can_launch
    from wirelens.cli.version import install_command

    install = install_command("spark", "java")
    for name, oldest, below in (("pyspark", 4, 5), ("pyarrow", 18, 0), ("pandas", 2, 3)):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "", install
            continue
        major = int(version.split(".")[0])
        unsuitable = major < oldest or (below and major >= below)
        suitable = f"{oldest} or newer" + (f", older than {below}" if below else "")
        yield name, version, f"{suitable} is needed: {install}" if unsuitable else ""
    javas = candidates(os.environ)
    java = javas[-1]
    if java.problem:
        yield "java", "", f"{'; '.join(map(str, javas))}; {install}"
    else:
        yield "java", str(java), ""
    yield "bash", shutil.which("bash") or "", spark_can_launch()


def _start() -> bool:
    """Start Spark and run a job through Python; whether that works."""
    import tempfile
    import time
    from pathlib import Path

    from wirelens.cli.bulk import session

    log = Path(tempfile.mkstemp(prefix="wirelens-spark-", suffix=".log")[1])
    click.echo("starting Spark, which takes about ten seconds", err=True)
    started = time.monotonic()
    try:
        spark = session.start(log=log)
        try:
            count = spark.range(1000).mapInArrow(_identity, "id bigint").count()
        finally:
            spark.stop()
    except Exception as error:
        click.echo(f"problem  spark    {str(error).splitlines()[0]}: {log}")
        return False
    log.unlink()
    click.echo(f"ok       spark    {count} rows through Python in {time.monotonic() - started:.1f} s")
    return True


def _identity(batches: Iterator[Any]) -> Iterator[Any]:
    return batches
