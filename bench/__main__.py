"""Measures wirelens beside the others, and reports for each row whether it meets its target.

    python -m bench [--only ROW]... [--quick] [--long] [--json FILE]
    python -m bench --setup       the others first, from npm and PyPI
    python -m bench --list
    python -m bench --against PYTHON [--only ROW]...
                                  beside the wirelens of another Python; exit status 1 if a row is slower

Run it from the project's root with the Python that has wirelens installed. Each side of a row runs in a
process of its own, one thread, warmed up, garbage collection as it is by default; the two take turns, and the
ratio is the median of the pairs' (in brackets its quartiles). Files that are made go to a temporary folder.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from bench import against
from bench.duel import ContenderError
from bench.peers import NPM, PYPI, Peers, usual_folder
from bench.rows import ROWS, MissingError, Outcome, Row, Settings, is_compiled

HEADS = ("row", "measure", "wirelens", "peer", "theirs", "ratio", "to reach", "reached")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    peers = Peers(options.peers)
    if options.setup:
        return peers.install()
    if options.list:
        for row in ROWS:
            print(f"{row.name:16} {row.measure}" + (f", {row.wanted}" if row.wanted else ""))
        return 0
    rows = [row for row in ROWS if row.name in options.only or (not options.only and not row.long)]
    if options.long and not options.only:
        rows = ROWS
    if options.against:
        rows = [row for row in rows if row.own]
        if not rows:
            print(f"not to be compared: {', '.join(options.only)}", file=sys.stderr)
            return 2
    results = []
    with tempfile.TemporaryDirectory(prefix="wirelens-bench-", dir=options.folder) as name:
        folder = Path(name)
        settings = Settings.quick(peers, folder) if options.quick else Settings(peers, folder)
        if options.against:
            # many short turns rather than a few long ones: their median bears a busy machine
            pairs = options.pairs or (settings.pairs if options.quick else against.PAIRS)
            settings = replace(settings, pairs=pairs, messages=settings.messages // 4, warm_up=0.5)
            return against.report(rows, options.against, settings, options.json)
        if options.pairs:
            settings = replace(settings, pairs=options.pairs)
        about = circumstances(peers, options.quick)
        for row in rows:
            print(f"{row.name} …", end="", file=sys.stderr, flush=True)
            results.append((row, attempt(row, settings)))
            print("\r" + " " * (len(row.name) + 2) + "\r", end="", file=sys.stderr, flush=True)
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    show([cells(row, outcome) for row, outcome in results])
    for row, outcome in results:
        if isinstance(outcome, Outcome) and outcome.note:
            print(f"{row.name}: {outcome.note}")
    if options.json:
        options.json.write_text(json.dumps(document(about, results), indent=2, ensure_ascii=False) + "\n")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [row.name for row in ROWS]
    parser.add_argument("--only", action="append", default=[], choices=names, metavar="ROW")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that all runs")
    parser.add_argument("--long", action="store_true", help="also the rows that take many minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there too")
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("--against", type=Path, metavar="PYTHON", help="a Python with another wirelens")
    parser.add_argument("--pairs", type=int, metavar="N", help="how many turns of both")
    parser.add_argument("--setup", action="store_true", help="install the others")
    parser.add_argument("--peers", type=Path, default=usual_folder(), help="where the others are")
    parser.add_argument("--folder", type=Path, help="for files that are made, some GB with --long")
    return parser.parse_args(arguments)


def attempt(row: Row, settings: Settings) -> Outcome | str:
    """The row's outcome, or why there is none."""
    try:
        return row.run(settings)
    except MissingError as error:
        return str(error)
    except ContenderError as error:
        return f"failed: {error}"


def circumstances(peers: Peers, quick: bool) -> dict[str, str]:
    """What the figures depend on."""
    about = {
        "wirelens": version("wirelens") + (", compiled" if is_compiled() else ", interpreted"),
        "Python": platform.python_version(),
        "on": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
    }
    about |= {name: peers.version(name) for name in (*NPM, *PYPI, "tshark", "node") if not peers.lacks(name)}
    if quick:
        about["sizes"] = "quick: the figures say little"
    return about


def cells(row: Row, outcome: Outcome | str) -> tuple[str, ...]:
    """A row of the table."""
    if isinstance(outcome, str):
        return (row.name, row.measure, "", row.peer, outcome, "", row.wanted, "")
    judged = (
        f"{outcome.judged:.3g}{row.unit}" if outcome.judged < 1000 else f"{outcome.judged:,.0f}{row.unit}"
    )
    if outcome.spread is not None:
        judged += f" ({outcome.spread[0]:.3g}-{outcome.spread[1]:.3g})"
    reached = {True: "yes", False: "no", None: ""}[row.reached(outcome)]
    return (row.name, row.measure, outcome.ours, row.peer, outcome.theirs, judged, row.wanted, reached)


def show(rows: list[tuple[str, ...]]) -> None:
    """The table, with rich where it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(len(row[at]) for row in (HEADS, *rows)) for at in range(len(HEADS))]
        for row in (HEADS, *rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    console = Console(width=None if sys.stdout.isatty() else 170)
    table = Table(*HEADS)
    for row in rows:
        table.add_row(*row[:-1], {"yes": "[green]yes", "no": "[red]no"}.get(row[-1], ""))
    console.print(table)


def document(about: dict[str, str], results: list[tuple[Row, Outcome | str]]) -> dict[str, object]:
    """All figures, for programs."""
    rows: list[dict[str, object]] = []
    for row, outcome in results:
        found: dict[str, object] = {"row": row.name, "measure": row.measure, "peer": row.peer}
        found |= {"reach": row.reach, "at_most": row.at_most, "unit": row.unit.strip()}
        if isinstance(outcome, str):
            found["missing"] = outcome
        else:
            found |= {"judged": outcome.judged, "spread": outcome.spread, "reached": row.reached(outcome)}
            found |= {"wirelens": outcome.ours, "theirs": outcome.theirs, "note": outcome.note}
            found["figures"] = outcome.figures
        rows.append(found)
    return {"about": about, "rows": rows}


if __name__ == "__main__":
    sys.exit(main())
