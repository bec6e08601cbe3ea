"""What unknown options and commands mean here: those of other programs, and misspelt ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from wirelens.codecs.json_input import nearest_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

# What options of other programs are called here.
MEANT: Final[dict[str, str]] = {
    **{
        name: f"--format {name}" for name in ("json", "jsonl", "csv", "summary", "hex", "tree", "svg", "html")
    },
    **dict.fromkeys(("filter", "query", "match", "select", "display-filter"), "--where"),
    **dict.fromkeys(("grep", "search"), "--find"),
    **dict.fromkeys(("protocol", "proto", "decode-as", "type"), "--as"),
    **dict.fromkeys(("out", "outfile", "write", "output-file"), "-o"),
    **dict.fromkeys(("no-color", "no-colour", "nocolor", "monochrome"), "--color never"),
    **dict.fromkeys(("colour", "colors"), "--color"),
    **dict.fromkeys(("columns", "wrap"), "--width"),
    **dict.fromkeys(("stream", "conversation", "connection", "session"), "--flow"),
    **dict.fromkeys(("group-by", "groupby"), "--by"),
    **dict.fromkeys(("head", "top", "max", "count"), "--limit"),
    **dict.fromkeys(("level", "max-depth"), "--depth"),
    **dict.fromkeys(("slow", "slowest", "order", "order-by", "by-latency"), "--sort latency"),
    **dict.fromkeys(("errors", "failed", "failures"), "--where outcome=error"),
    **dict.fromkeys(("method", "service", "kind", "client", "server", "host", "ip"), "--where"),
    **dict.fromkeys(("since", "until", "after", "before", "start", "end"), "--where"),
    **dict.fromkeys(("interval", "watch"), "--every"),
}
FILES: Final = ("--file", "--infile", "--in", "--read", "--capture", "--pcap", "-r")  # inputs are arguments

# What commands of other programs are called here.
MEANT_COMMANDS: Final[dict[str, str]] = {
    **dict.fromkeys(("parse", "show", "dump", "print", "read", "view", "inspect", "cat", "graph"), "decode"),
    **dict.fromkeys(("identify", "guess", "probe", "which"), "detect"),
    **dict.fromkeys(("craft", "build", "make", "write", "pack"), "encode"),
    **dict.fromkeys(("hex", "unhex", "paste", "xxd"), "bytes"),
    **dict.fromkeys(("conversations", "connections", "sessions", "streams"), "flows"),
    **dict.fromkeys(("requests", "slow", "latency", "trace"), "calls"),
    **dict.fromkeys(("statistics", "latencies", "percentiles"), "stats"),
    **dict.fromkeys(("sql", "select"), "query"),
    "compare": "diff",
    **dict.fromkeys(("html", "page"), "report"),
    **dict.fromkeys(("comment", "tag"), "annotate"),
    "tshark": "wireshark",
    **dict.fromkeys(("convert", "spark", "parquet", "table", "tables", "export"), "bulk"),
    **dict.fromkeys(("list", "codes", "example", "members", "schema"), "protocols"),
    **dict.fromkeys(("complete", "completions"), "completion"),
    **dict.fromkeys(("check", "env", "setup"), "doctor"),
    "version": "--version",
}


def suggesting(error: click.NoSuchOption) -> click.UsageError:
    """An error about an unknown option, with the option that has that meaning here as a suggestion."""
    if error.option_name in FILES and error.ctx is not None:
        usage = f"{error.ctx.command_path} FILE"
        return click.UsageError(f"No such option '{error.option_name}'. Name files alone: {usage}", error.ctx)
    meant = MEANT.get(error.option_name.lstrip("-"))
    known = [] if error.ctx is None else [name for param in error.ctx.command.params for name in param.opts]
    if meant is None or meant.split(" ", 1)[0] not in known:
        # click counts the dashes as letters that are the same
        names = {name.lstrip("-"): name for name in known}
        meant = names.get(nearest_name(error.option_name.lstrip("-"), names), "")
    if not meant:
        return click.UsageError(f"No such option '{error.option_name}'.", error.ctx)
    return click.UsageError(f"No such option '{error.option_name}'. Did you mean '{meant}'?", error.ctx)


def unknown(name: str, commands: Iterable[str]) -> str:
    """The error message for a command that does not exist."""
    nearest = MEANT_COMMANDS.get(name.lower()) or nearest_name(name, commands)
    if nearest:
        return f"No such command {name!r}. Did you mean {nearest!r}?"
    if os.path.exists(name):
        return f"No such command {name!r}. It is a file: wirelens decode {name}"
    return f"No such command {name!r}."
