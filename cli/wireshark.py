"""`wirelens wireshark`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wirelens.cli import options

if TYPE_CHECKING:
    from typing import Final

PLUGIN: Final = "wirelens.lua"

EPILOG: Final = """\b
Examples:
  wirelens wireshark --install
  wirelens annotate app.pcap -o annotated.pcapng
  tshark -r annotated.pcapng -Y 'wirelens.latency > 0.1' -T fields -e frame.number -e wirelens.method
  tshark -r annotated.pcapng -q -z 'io,stat,60,AVG(wirelens.latency)wirelens.latency'

\b
Fields: wirelens.protocol, .kind, .service, .method, .status, .exception, .outcome, .call, .text; of replies
.latency, in seconds; .request_in and .response_in, which link the two messages of a call."""


@options.command(EPILOG)
@options.option("--install", is_flag=True, help="Write the plug-in into Wireshark's folder for Lua plug-ins.")
@options.option("--uninstall", is_flag=True, help="Remove it from there.")
@options.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="That folder, if it is another than Wireshark reports.",
)
def command(install: bool, uninstall: bool, folder: Path | None) -> None:
    """A plug-in that turns the comments of `annotate` into fields of Wireshark and TShark.

    Without an option it is printed.
    """
    if install and uninstall:
        raise click.UsageError("either --install or --uninstall")
    if not install and not uninstall:
        click.echo(plugin(), nl=False)
        return
    target = (folder or plugin_folder()) / PLUGIN
    if uninstall:
        if not target.exists():
            raise click.ClickException(f"{target} is not there")
        target.unlink()
        click.echo(f"removed {target}")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(plugin(), encoding="utf-8")
    click.echo(f"wrote {target}; Wireshark reads it when it starts")


def plugin() -> str:
    """The text of the plug-in."""
    from importlib.resources import files

    return files("wirelens.formatters").joinpath(PLUGIN).read_text(encoding="utf-8")


def plugin_folder() -> Path:
    """Where Wireshark looks for a user's own Lua plug-ins: as TShark reports it, else its usual place."""
    import shutil
    import subprocess

    tshark = shutil.which("tshark")
    if tshark is not None:
        try:
            done = subprocess.run([tshark, "-G", "folders"], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            done = None
        for line in [] if done is None else done.stdout.splitlines():
            name, _, path = line.partition(":")
            if name.strip().lower() == "personal lua plugins" and path.strip():
                return Path(path.strip())
    home = os.environ.get("HOME") or os.path.expanduser("~")
    return Path(home, ".local", "lib", "wireshark", "plugins")
