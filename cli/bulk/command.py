"""`wirelens bulk`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from wirelens.cli import options
from wirelens.cli.errors import RefusedError

if TYPE_CHECKING:
    from typing import Any, Final, TextIO

    from wirelens.cli.bulk.cancelling import Cancelling
    from wirelens.cli.bulk.job import Job
    from wirelens.cli.bulk.progress import Display
    from wirelens.cli.bulk.report import Report
    from wirelens.cli.bulk.watching import Rounds

EPILOG: Final = """\b
Examples:
  wirelens bulk captures/ out                        a table in out/messages
  wirelens bulk --resume captures/ out               later: only new files
  wirelens bulk --watch captures/ out                convert new files as they come, until Ctrl-C
  wirelens bulk --master spark://host:7077 s3://b/in s3://b/out

\b
Exit status: 0 success; 1 more errors than --max-errors; 2 nothing was converted;
130 (SIGINT) or 143 (SIGTERM) cancelled: run the same command again. With --watch, a signal
between two runs is the ordinary end: 0 or 1."""

EVERY_SECONDS: Final = 10.0  # between two looks at the sources with --watch


@options.command(EPILOG)
@click.argument("places", nargs=-1, required=True, metavar="SRC... DST")
@options.protocol
@options.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "delta", "jsonl"]),
    default="parquet",
    help="Format of the tables: Parquet (the default), Delta Lake, JSON lines.",
)
@options.option(
    "--separate",
    is_flag=True,
    help="Decode each file by itself: for captures that are not parts of one.",
)
@options.point
@options.where("messages", "protocol=dubbo and kind=request, latency>100ms, TEXT")
@options.option(
    "--mode",
    type=click.Choice(["errorifexists", "overwrite", "append"]),
    default="errorifexists",
    help="What to do if DST holds a result: refuse (the default), replace it, or add to it.",
)
@options.option(
    "--resume", is_flag=True, help="Add what is new since the last run; keep streams open for the next."
)
@options.option(
    "--final", is_flag=True, help="With --resume: the last run; unfinished streams go to the quarantine."
)
@options.option(
    "--watch", is_flag=True, help="Stay, and convert what is new as --resume does, until Ctrl-C or SIGTERM."
)
@options.option(
    "--every",
    type=click.FloatRange(0.1),
    default=None,
    metavar="SECONDS",
    help="With --watch: the time between two looks at SRC; 10 by default.",
)
@options.option(
    "--redo",
    "redo_files",
    multiple=True,
    metavar="FILE",
    help="Convert FILE of SRC again, and the captures that share flows with it; may be repeated.",
)
@options.option(
    "--redo-quarantine",
    is_flag=True,
    help="Convert again all files with something that did not decode.",
)
@options.option(
    "--redo-before",
    default="",
    metavar="VERSION",
    help="Convert again all files that an older wirelens converted.",
)
@options.option("--compact", is_flag=True, help="Also put the small files of earlier runs together.")
@options.option(
    "--document",
    type=click.Choice(["json", "variant"]),
    default="json",
    help="Messages as JSON text, or as VARIANT.",
)
@options.option(
    "--quarantine",
    type=click.Choice(["head", "full", "none"]),
    default="head",
    help="What to keep of streams of no known protocol: 4 KiB (the default), all, or nothing.",
)
@options.option(
    "--max-errors",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Exit with 1 if there are more errors; 0 by default.",
)
@options.option(
    "--master",
    default="",
    metavar="URL",
    help="Spark master; by default local[*], all cores of this machine.",
)
@options.option("--remote", default="", metavar="URL", help="A Spark Connect server, sc://HOST:PORT.")
@options.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
@options.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write the report as JSON.",
)
@options.option(
    "--progress/--no-progress",
    default=None,
    help="Show progress; by default if stderr is a terminal or a log.",
)
@options.option("--dry-run", is_flag=True, help="List what would be read, and stop.")
@click.pass_context
def command(
    ctx: click.Context,
    places: tuple[str, ...],
    protocol: str | None,
    form: str,
    mode: str,
    resume: bool,
    final: bool,
    watch: bool,
    every: float | None,
    redo_files: tuple[str, ...],
    redo_quarantine: bool,
    redo_before: str,
    compact: bool,
    separate: bool,
    point: str,
    where: tuple[str, ...],
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
    input file. Streams that continue in the next of rotated files are joined. A run that ends early changes
    nothing in DST: run the same command again.
    """
    if len(places) < 2:
        raise click.UsageError("sources and a target are needed: SRC... DST")
    if final and not resume:
        raise click.UsageError("--final needs --resume")
    redo = bool(redo_files or redo_quarantine or redo_before)
    if watch and (final or redo or mode != "errorifexists"):
        raise click.UsageError("--watch goes on as --resume does: --final, --redo… and --mode are other runs")
    if every is not None and not watch:
        raise click.UsageError("--every needs --watch")
    if (redo or compact) and mode == "overwrite":
        raise click.UsageError("--mode overwrite converts everything again, into few files")
    if redo_before and not any(sign.isdigit() for sign in redo_before):
        raise click.UsageError(f"--redo-before needs a version, as in 1.2: {redo_before}")
    if master and remote:
        raise click.UsageError("--master and --remote exclude each other")
    if document == "variant" and form != "parquet":
        raise click.UsageError("--document variant needs --format parquet")
    if where:
        from wirelens.cli.select import message_filter

        message_filter(where, numbered=False)
    from wirelens.cli.bulk import session
    from wirelens.cli.bulk.java import NoJavaError
    from wirelens.cli.bulk.ledger import NotAllowedError

    # The JVM inherits stderr, which is redirected for it: messages of this process need a copy of their own.
    stderr = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="backslashreplace")
    try:
        session.check()
        if not remote and not session.submitted():
            session.ready()
        list(session.parse_conf(conf))
        from wirelens.cli.bulk.job import Job, JobOptions
        from wirelens.cli.bulk.redo import Redo
        from wirelens.cli.bulk.watching import SETTLE_SECONDS, Rounds

        job_options = JobOptions(
            places[:-1],
            places[-1],
            mode,
            resume or redo or watch,
            final or (redo and not resume),
            protocol or "",
            form == "jsonl",
            form == "delta",
            separate,
            quarantine,
            document,
            point,
            where,
            Redo(redo_quarantine, redo_files, redo_before) if redo else None,
            compact,
            SETTLE_SECONDS if watch else 0.0,
        )
        job = Job(job_options)
        if dry_run:
            _dry_run(job)
            return
        rounds = Rounds(job, (every or EVERY_SECONDS) if watch else 0)
        status = _run(rounds, master, remote, conf, report_file, progress, max_errors, stderr)
    except (session.NoSparkError, NoJavaError, NotAllowedError, ValueError) as error:
        raise RefusedError(str(error)) from None
    except FileNotFoundError as error:
        raise RefusedError(f"{error.filename or error}: {error.strerror or 'not found'}") from None
    ctx.exit(status)


def _dry_run(job: Job) -> None:
    from wirelens.cli.bulk.progress import size_text
    from wirelens.codecs.words import clean

    job.inspect(changing=False)
    for item in job.inputs:
        click.echo(f"{item.kind:12} {size_text(item.size):>9}  {clean(item.name)}")
    done = f"; {job.skipped} done before" if job.skipped else ""
    click.echo(f"{len(job.inputs)} files, {size_text(job.total)}{done}")


def _run(
    rounds: Rounds,
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

    from wirelens.cli.bulk import session
    from wirelens.cli.bulk.cancelling import STOP_SECONDS, CancelledError, Cancelling, within
    from wirelens.cli.bulk.java import NoJavaError
    from wirelens.cli.bulk.ledger import NotAllowedError
    from wirelens.cli.bulk.progress import Display, size_text
    from wirelens.cli.bulk.settling import UnbalancedError

    log = Path(tempfile.mkstemp(prefix="wirelens-spark-", suffix=".log")[1])
    keep_log = False

    def failed(text: str, status: int) -> int:
        """Show why the run ended early, with the report of those before it."""
        display.show(text)
        _end(rounds, report_file, text)
        return status

    def convert(job: Job) -> Report:
        return _work(job, spark, display, cancelling)

    job = rounds.job
    with Display(stderr, progress) as display, Cancelling() as cancelling:
        try:
            display.step("Looking at the files")
            job.inspect()
            display.note(f"{len(job.inputs):,} files, {size_text(job.total)}")
            if job.idle and not rounds.watching:
                display.show("Nothing new to convert." if job.skipped else "No files to convert.")
                return 0 if job.skipped else 2
            display.step("Starting Spark, about ten seconds")
            try:
                spark = session.start(master, remote, conf, log)
            except KeyboardInterrupt:
                session.end_java()
                raise
            cancelling.install()
            try:
                rounds.work(convert, cancelling, display)
            finally:
                display.step("Stopping Spark")
                if not cancelling.signal:
                    session.stop(spark)
                elif not within(STOP_SECONDS, spark.stop):
                    session.end_java()
        except (KeyboardInterrupt, CancelledError):
            if cancelling.committing:
                display.show("Interrupted while files were moved into place: the next run moves the rest.")
                return cancelling.status
            before = " this one" if rounds.report is not None else ""
            text = f"Interrupted: the tables are as before{before}; run the same command again."
            return failed(text, cancelling.status)
        except UnbalancedError as error:
            return failed(f"Error: {error}. This is a bug in wirelens; nothing was converted.", 70)
        except Exception as error:
            ended = session.java_ended()
            known = (OSError, ValueError, NotAllowedError, session.NoSparkError, NoJavaError)
            if isinstance(error, known) and not ended:
                if rounds.report is not None:
                    _end(rounds, report_file, str(error))
                raise
            keep_log = True
            why = ended or _cause(error)
            return failed(f"Error: {why}. Nothing was converted. The log of Spark is {log}", 2)
        finally:
            rounds.job.run.end()
            if not keep_log:
                log.unlink(missing_ok=True)
    errors = _end(rounds, report_file)
    return 1 if errors > max_errors else 0


def _end(rounds: Rounds, report_file: str | None, error: str = "") -> int:
    """Print and write the report; how many errors it has. `error` is why the last run failed."""
    from wirelens.cli.bulk import report as reports

    report, target = rounds.report, rounds.job.options.target
    if report is not None:
        click.echo(reports.text(report, target))
    if report_file is not None:
        plain = reports.failure_json(error, target) if error else {}
        _write_report(report_file, plain | (reports.as_json(report, target) if report is not None else {}))
    return report.errors if report is not None else 0


def _work(job: Job, spark: object, display: Display, cancelling: Cancelling) -> Report:
    """Convert in a thread, so that this one can show progress and handle signals."""
    import threading
    from typing import cast

    from pyspark import InheritableThread
    from pyspark.sql import SparkSession

    from wirelens.cli.bulk.cancelling import CANCEL_SECONDS, cancel
    from wirelens.cli.bulk.progress import Watch
    from wirelens.cli.bulk.session import end_java

    session = cast(SparkSession, spark)
    watch = Watch(session, f"wirelens-{job.run.name}")
    reports: list[Report] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            watch.tag()
            reports.append(job.work(session, watch, cancelling))
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    display.step("Converting")
    display.set_total(len(job.inputs), job.total)
    # Spark Connect copies the tags of the session to the thread; a classic session is not used.
    thread: threading.Thread = InheritableThread(target=work, session=session)
    thread.daemon = True
    thread.start()
    try:
        # Not `thread.join`: if that is interrupted, Python 3.11 considers the thread ended.
        while not done.wait(0.5) and not cancelling.signal:
            messages = watch.messages.value if watch.messages is not None else None
            error_count = watch.errors.value if watch.errors is not None else None
            display.update(watch.progress(), messages, error_count)
        # A commit that was begun is brought to its end, if that does not take too long.
        if not done.wait(CANCEL_SECONDS):
            raise KeyboardInterrupt
        watch.end()
    except KeyboardInterrupt:
        display.step("Cancelling")
        if not cancelling.committing and not cancel(watch.cancel, done):
            end_java()
            done.wait(CANCEL_SECONDS / 5)
        raise
    if errors:
        raise errors[0]
    return reports[0]


def _cause(error: Exception) -> str:
    """The line of Spark's long text that names the error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in reversed([line.removeprefix("Caused by").lstrip(": ") for line in lines]):
        name, colon, _ = line.partition(":")
        if colon and (name.endswith(("Error", "Exception")) and " " not in name):
            return line[:500]
    return (lines[0] if lines else type(error).__name__)[:500]


def _write_report(path: str, report: dict[str, Any]) -> None:
    import json

    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
        file.write("\n")
