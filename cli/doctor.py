"""`wirelens doctor`."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

NET_RAW: Final = 13  # the number of CAP_NET_RAW, with which Linux lets a program capture

EPILOG: Final = """\b
Exit status: 0: bulk can run; 1: it cannot. What other commands lack does not count."""

Check = tuple[str, str, str]
"""Name; version, path or state (empty: missing); the problem or its remedy (empty: none)."""


@options.command(EPILOG)
@options.option("--start", is_flag=True, help="Also start Spark and run a small job.")
@click.pass_context
def command(ctx: click.Context, start: bool) -> None:
    """Report what is installed and set up, what is not, and what to do.

    It looks at wirelens itself, the terminal, programs that capture, and what `wirelens query` and `wirelens
    bulk` need.
    """
    from wirelens.cli.version import describe

    click.echo(describe())
    for title, found in (
        ("wirelens", _itself()),
        ("terminal", _terminal()),
        ("captures", _captures()),
        ("wirelens report", _browser()),
        ("wirelens query", _query()),
    ):
        _show(title, found)
    complete = _show("wirelens bulk", checks())
    if complete and start:
        complete = _start()
    ctx.exit(0 if complete else 1)


def _show(title: str, found: Iterator[Check]) -> bool:
    """Print checks under a title; whether nothing is wrong."""
    complete = True
    click.echo(f"\n{title}")
    for name, version, problem in found:
        state = "missing" if problem and not version else "problem" if problem else "ok"
        click.echo(f"{state:8} {name:10} {version}{': ' if version and problem else ''}{problem}")
        complete = complete and not problem
    return complete


def _itself() -> Iterator[Check]:
    """Whether it is compiled, and reads every compression."""
    from pathlib import Path

    from wirelens.cli.version import compiled_modules, install_command
    from wirelens.codecs.captures.compression import EXTRA, unpacker
    from wirelens.codecs.captures.magic import COMPRESSIONS

    root = Path(__file__).parent.parent
    folders = [compiled_modules(root / name) for name in ("codecs", "cli")]
    stale = [path for _, older in folders for path in older]
    if not any(number for number, _ in folders):
        step = "install again" if shutil.which("cc") else "install a C compiler (cc), and this again"
        yield "compiled", "", f"large inputs decode 8 to 30 times as fast when compiled: {step}"
    elif stale:
        yield "compiled", "older than its sources", "install again"
    else:
        yield "compiled", "yes", ""
    yield "unpacks", ", ".join([title for name, title in COMPRESSIONS.items() if unpacker(name)]), ""
    for name, title in COMPRESSIONS.items():
        if unpacker(name) is None:
            yield name, "", f"for files in {title}: {install_command(EXTRA)}"


def _terminal() -> Iterator[Check]:
    """Locale, size and colours, pager."""
    from wirelens.cli import screen
    from wirelens.cli.output import pager_command

    names = [os.environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG")]
    locale = next(filter(None, names), "not set")
    ascii_only = "trees are drawn with ASCII; for lines: export LC_ALL=C.UTF-8"
    yield "locale", locale, ascii_only if screen.is_ascii(False) else ""
    if sys.stdout.isatty():
        size = shutil.get_terminal_size()
        colours = screen.colours() if screen.is_coloured("auto", True) else "no"
        yield "terminal", f"{size.columns} × {size.lines}, {colours} colours", ""
    else:
        yield "terminal", "standard output is none: no colours, no pages (--color always)", ""
    pager = pager_command()
    wanted = os.environ.get("WIRELENS_PAGER", os.environ.get("PAGER", "less"))
    if pager or wanted.strip() in ("", "cat"):
        yield "pager", pager or "none, as the environment asks", ""
    else:
        yield "pager", "", f"no program {wanted!r}: install less, or set WIRELENS_PAGER"


def _captures() -> Iterator[Check]:
    """The programs that capture, and whether this user may."""
    from wirelens.cli.wireshark import PLUGIN, plugin_folder

    tcpdump = shutil.which("tcpdump")
    if tcpdump is None:
        yield "tcpdump", "", "to capture; captures from other hosts are read without it"
    else:
        remedy = f"this user may not capture: sudo setcap cap_net_raw+ep {tcpdump}; or start it with sudo"
        yield "tcpdump", tcpdump, "" if may_capture(tcpdump) else remedy
    tshark = shutil.which("tshark")
    if tshark is None:
        yield "tshark", "", "to show messages in Wireshark and TShark; nothing else needs it"
        return
    yield "tshark", tshark, ""
    plugin = plugin_folder() / PLUGIN
    installed = plugin.exists()
    yield "plug-in", str(plugin) if installed else "", "" if installed else "wirelens wireshark --install"


def may_capture(program: str) -> bool:
    """Whether a program of this user may open packet sockets (Linux), or read BPF devices."""
    if not sys.platform.startswith("linux"):
        return os.access("/dev/bpf0", os.R_OK)
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            rights = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
        if int(rights, 16) >> NET_RAW & 1:
            return True
        given = os.getxattr(program, "security.capability")
    except OSError:
        return False
    return int.from_bytes(given[4:8], "little") >> NET_RAW & 1 != 0


def _browser() -> Iterator[Check]:
    """Whether there is a browser for pages."""
    import webbrowser

    try:
        webbrowser.get()
    except webbrowser.Error:
        yield "browser", "", "the page is one file without links: open it on another host"
    else:
        yield "browser", "there is one", ""


def _query() -> Iterator[Check]:
    from importlib import metadata

    from wirelens.cli.version import install_command

    try:
        yield "duckdb", metadata.version("duckdb"), ""
    except metadata.PackageNotFoundError:
        yield "duckdb", "", install_command("query")


def checks() -> Iterator[Check]:
    """The requirements of bulk."""
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
        click.echo(f"problem  spark      {str(error).splitlines()[0]}: {log}")
        return False
    log.unlink()
    click.echo(f"ok       spark      {count} rows through Python in {time.monotonic() - started:.1f} s")
    return True


def _identity(batches: Iterator[Any]) -> Iterator[Any]:
    return batches
