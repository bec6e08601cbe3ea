"""`wirelens doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@click.command(context_settings=options.CONTEXT, short_help="Say what is installed, and what bulk lacks.")
@click.option("--start", is_flag=True, help="Start Spark too, and run something on it.")
@click.pass_context
def command(ctx: click.Context, start: bool) -> None:
    """Say what is installed here: wirelens itself, and what `wirelens bulk` needs.

    The exit status is 0 if bulk can run, else 1.
    """
    from wirelens.cli.version import describe

    click.echo(describe())
    good = True
    for name, found, problem in checks():
        mark = "missing" if problem and not found else "trouble" if problem else "ok"
        click.echo(f"{mark:8} {name:8} {found}{': ' if found and problem else ''}{problem}")
        good = good and not problem
    if good and start:
        good = _start()
    ctx.exit(0 if good else 1)


def checks() -> Iterator[tuple[str, str, str]]:
    """What bulk needs: its name, what was found, and what is wrong with it or to be done."""
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
        wrong = major < oldest or (below and major >= below)
        wanted = f"{oldest} or newer" + (f", older than {below}" if below else "")
        yield name, version, f"{wanted} is needed: {install}" if wrong else ""
    looked = candidates(os.environ)
    java = looked[-1]
    if java.problem:
        yield "java", "", f"{'; '.join(str(each) for each in looked)}; {install}"
    else:
        yield "java", str(java), ""
    yield "bash", shutil.which("bash") or "", spark_can_launch()


def _start() -> bool:
    import tempfile
    import time
    from pathlib import Path

    from wirelens.cli.bulk import session

    log = Path(tempfile.mkstemp(prefix="wirelens-spark-", suffix=".log")[1])
    click.echo("starting Spark, about ten seconds", err=True)
    began = time.monotonic()
    try:
        spark = session.start(log=log)
        try:
            count = spark.range(1000).mapInArrow(_as_it_is, "id bigint").count()
        finally:
            spark.stop()
    except Exception as error:
        click.echo(f"trouble  spark    {str(error).splitlines()[0]}: {log}")
        return False
    log.unlink()
    click.echo(f"ok       spark    {count} rows through Python in {time.monotonic() - began:.1f} s")
    return True


def _as_it_is(batches: Iterator[Any]) -> Iterator[Any]:
    return batches
