"""`wirelens bulk`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from typing import Final, TextIO

    from wirelens.cli.bulk.job import Job, Report
    from wirelens.cli.bulk.progress import Display

EPILOG: Final = """\b
Examples:
  wirelens bulk captures/ out                        a table in out/messages
  wirelens bulk --resume captures/ out               later: only what is new
  wirelens bulk --master spark://host:7077 s3://b/in s3://b/out

\b
Exit status: 0 all well; 1 more errors than --max-errors; 2 nothing was converted;
130 interrupted, the same command goes on."""

INTERRUPTED: Final = 130


@click.command(
    context_settings=options.CONTEXT,
    epilog=EPILOG,
    short_help="Turn folders of captures into a table, with Spark.",
)
@click.argument("places", nargs=-1, required=True, metavar="SRC... DST")
@click.option(
    "--as",
    "protocol",
    type=options.PROTOCOL,
    metavar="PROTOCOL",
    help="Decode as this protocol; do not detect it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "jsonl"]),
    default="parquet",
    help="Of the tables; Parquet by default.",
)
@click.option(
    "--separate",
    is_flag=True,
    help="Put no streams together across files: for captures that have nothing to do with each other.",
)
@click.option(
    "--mode",
    type=click.Choice(["errorifexists", "overwrite", "append"]),
    default="errorifexists",
    help="What to do where DST holds a result: refuse (the default), replace it, or add to it.",
)
@click.option(
    "--resume", is_flag=True, help="Add what is new since the last run, and keep streams open for the next."
)
@click.option(
    "--final", is_flag=True, help="With --resume: the last run; unfinished streams go to the quarantine."
)
@click.option(
    "--document",
    type=click.Choice(["json", "variant"]),
    default="json",
    help="Messages as JSON text, or as VARIANT.",
)
@click.option(
    "--quarantine",
    type=click.Choice(["head", "full", "none"]),
    default="head",
    help="What to keep of streams of no known protocol: 4 KiB (the default), all, or nothing.",
)
@click.option(
    "--max-errors",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Exit with 1 at more errors; 0 by default.",
)
@click.option(
    "--master",
    default="",
    metavar="URL",
    help="Spark's master; local[*] by default, all cores of this machine.",
)
@click.option("--remote", default="", metavar="URL", help="A Spark Connect server, sc://HOST:PORT.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark's; may be repeated.")
@click.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the report as JSON too.",
)
@click.option(
    "--progress/--no-progress",
    default=None,
    help="Say how far it is; by default where stderr is a terminal or a log.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be read, and stop.")
@click.pass_context
def command(
    ctx: click.Context,
    places: tuple[str, ...],
    protocol: str | None,
    form: str,
    mode: str,
    resume: bool,
    final: bool,
    separate: bool,
    document: str,
    quarantine: str,
    max_errors: int,
    master: str,
    remote: str,
    conf: tuple[str, ...],
    report_file: str | None,
    progress: bool | None,
    dry_run: bool,
) -> None:
    """Convert the captures and payload files in SRC (files, folders, URIs) to tables in the folder DST.

    DST/messages has a row for each message, DST/quarantine for what did not decode, DST/_ledger for each
    input file. Streams that run across rotated files are put together. A run that ends early leaves
    nothing behind that counts: the same command starts over.
    """
    if len(places) < 2:
        raise click.UsageError("say where from and where to: SRC... DST")
    if final and not resume:
        raise click.UsageError("--final goes with --resume")
    if master and remote:
        raise click.UsageError("--master and --remote exclude each other")
    if document == "variant" and form != "parquet":
        raise click.UsageError("--document variant goes with --format parquet")
    from wirelens.cli.bulk import session
    from wirelens.cli.bulk.java import NoJavaError
    from wirelens.cli.bulk.ledger import NotAllowedError

    # The JVM that is started inherits stderr, and is sent elsewhere: what is said here needs one of its own.
    stderr = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="backslashreplace")
    try:
        session.check()
        if not remote and not session.submitted():
            session.ready()
        list(session.parse_conf(conf))
        from wirelens.cli.bulk.job import Job, Order

        order = Order(
            places[:-1],
            places[-1],
            mode,
            resume,
            final,
            protocol or "",
            form == "jsonl",
            separate,
            quarantine,
            document,
        )
        job = Job(order)
        if dry_run:
            _dry_run(job)
            return
        status = _run(job, master, remote, conf, report_file, progress, max_errors, stderr)
    except (session.NoSparkError, NoJavaError, NotAllowedError, ValueError) as error:
        raise _Refused(str(error)) from None
    except FileNotFoundError as error:
        raise _Refused(f"{error.filename or error}: {error.strerror or 'not found'}") from None
    ctx.exit(status)


class _Refused(click.ClickException):
    """Nothing was converted."""

    exit_code = 2


def _dry_run(job: Job) -> None:
    from wirelens.cli.bulk.progress import size_text

    job.look(changing=False)
    for each in job.inputs:
        click.echo(f"{each.kind:12} {size_text(each.size):>9}  {each.name}")
    done = f"; {job.skipped} done before" if job.skipped else ""
    click.echo(f"{len(job.inputs)} files, {size_text(job.total)}{done}")


def _run(
    job: Job,
    master: str,
    remote: str,
    conf: tuple[str, ...],
    report_file: str | None,
    progress: bool | None,
    max_errors: int,
    stderr: TextIO,
) -> int:
    """Start Spark and convert; the exit status."""
    import tempfile
    from pathlib import Path

    from wirelens.cli.bulk import report as reports
    from wirelens.cli.bulk import session
    from wirelens.cli.bulk.java import NoJavaError
    from wirelens.cli.bulk.job import UnbalancedError
    from wirelens.cli.bulk.ledger import NotAllowedError
    from wirelens.cli.bulk.progress import Display, size_text

    log = Path(tempfile.mkstemp(prefix="wirelens-spark-", suffix=".log")[1])
    kept = False
    with Display(stderr, progress) as display:
        try:
            display.step("Looking at the files")
            job.look()
            display.say(
                f"{len(job.inputs):,} files, {size_text(job.total)}"
            ) if progress is not False else None
            if job.idle:
                display.say("Nothing new to convert." if job.skipped else "No files to convert.")
                return 0 if job.skipped else 2
            display.step("Starting Spark, about ten seconds")
            spark = session.start(master, remote, conf, log)
            try:
                report = _work(job, spark, display)
            finally:
                display.step("Stopping Spark")
                spark.stop()
        except KeyboardInterrupt:
            display.say("Interrupted: nothing of this run counts; the same command starts over.")
            return INTERRUPTED
        except UnbalancedError as error:
            display.say(f"Error: {error}. This is a mistake in wirelens; nothing was converted.")
            return 70
        except (OSError, ValueError, NotAllowedError, session.NoSparkError, NoJavaError):
            raise
        except Exception as error:
            kept = True
            display.say(f"Error: {_cause(error)}")
            display.say(f"Nothing was converted. What Spark said is in {log}")
            return 2
        finally:
            job.run.end()
            if not kept:
                log.unlink(missing_ok=True)
    click.echo(reports.text(report, job.order.target))
    if report_file is not None:
        _write_report(report_file, report, job)
    return 1 if report.errors > max_errors else 0


def _work(job: Job, spark: object, display: Display) -> Report:
    """Do the work in a thread, so that this one can show how far it is and hear Ctrl-C."""
    import signal
    import threading
    from typing import cast

    from pyspark import InheritableThread
    from pyspark.sql import SparkSession

    from wirelens.cli.bulk.progress import Watch

    session = cast(SparkSession, spark)
    watch = Watch(session, f"wirelens-{job.run.name}")
    found: list[Report] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            watch.tag()
            found.append(job.work(session, watch))
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    display.step("Converting")
    display.expect(len(job.inputs), job.total)
    # The session is not needed by a classic one; Spark Connect copies its tags to the thread.
    thread: threading.Thread = InheritableThread(target=work, session=session)
    thread.daemon = True
    # Spark's own handler would cancel jobs from inside the signal. SIGTERM is to leave things in order too.
    before = [signal.signal(each, interrupt) for each in (signal.SIGINT, signal.SIGTERM)]
    thread.start()
    try:
        # not by joining the thread: where that is interrupted, Python 3.11 takes the thread for ended
        while not done.wait(0.5):
            messages = watch.messages.value if watch.messages is not None else None
            display.update(watch.look(), messages, watch.errors.value if watch.errors is not None else None)
    except KeyboardInterrupt:
        display.step("Cancelling")
        watch.cancel()
        done.wait(30)
        if not found:  # else it was quicker, and is done
            raise
    finally:
        for each, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(each, handler)
    if failed:
        raise failed[0]
    return found[0]


def _cause(error: Exception) -> str:
    """The line of Spark's long text that says what went wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in reversed([line.removeprefix("Caused by").lstrip(": ") for line in lines]):
        name, colon, _ = line.partition(":")
        if colon and (name.endswith(("Error", "Exception")) and " " not in name):
            return line[:500]
    return (lines[0] if lines else type(error).__name__)[:500]


def _write_report(path: str, report: Report, job: Job) -> None:
    import json

    from wirelens.cli.bulk.report import as_json

    with open(path, "w", encoding="utf-8") as file:
        json.dump(as_json(report, job.order.target), file, indent=2)
        file.write("\n")
