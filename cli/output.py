"""Output of results: to standard output or a file, with colour, width and pager of the terminal.

Standard output has the result only; reports go to standard error.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from wirelens.cli.screen import colours, is_ascii, is_coloured, theme
from wirelens.formatters.layout import Layout, in_ascii
from wirelens.formatters.layout import plain as plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from subprocess import Popen
    from types import TracebackType
    from typing import IO, Final, TypeAlias

    from wirelens.cli.input_options import OutputOptions
    from wirelens.formatters.layout import Line
    from wirelens.formatters.terminal import Painter

    Draw: TypeAlias = Callable[[Layout], Iterable[Line]]

CLOSED_PIPE: Final = 141  # exit status in a shell of a command that SIGPIPE ended
BLOCK: Final = 1 << 16  # bytes collected before they are written
LARGE: Final = 1 << 14  # bytes that are written as they are: joining would copy them
PIPE: Final = 1 << 20  # size of an enlarged pipe, in bytes; 64 KiB is usual
PAGER: Final = "less"


class Output:
    """Writes lines, text or bytes. A context manager: a file is replaced when it ends without an error.

    Of `options`, `target` is a path, None or "-" for standard output; `color` is "auto", "always" or "never";
    `width` None is the terminal's. `inputs` are paths that must not be overwritten.
    """

    def __init__(
        self,
        options: OutputOptions,
        inputs: Iterable[str] = (),
        plain: bool = False,
        depth: int | None = None,
    ) -> None:
        width = options.width
        self.target = None if options.target in (None, "-") else options.target
        self.terminal = self.target is None and sys.stdout.isatty()
        self.parts: list[bytes] = []
        self.waiting = 0
        self.file: IO[bytes] | None = None
        self.widened = False  # whether enlarging the pipe was tried
        self.unfinished: str | None = None  # the path of the incomplete file
        self.process: Popen[bytes] | None = None
        self.held: list[bytes] | None = None  # the first screen, held back until it is clear whether to page
        self.drawn: list[bytes | Draw] = []  # what the first screen shows, to be drawn again in a pager
        self.height = 0
        if self.target is not None:
            self._keep_inputs(inputs)
        coloured = is_coloured(options.color, self.terminal)
        self.ascii = is_ascii(options.ascii)
        self.theme = options.theme  # as it was chosen
        self.painter: Painter | None = None
        # variables that force colour do not change JSON that another program reads
        self.paints_json = self.terminal or options.color == "always"
        measure: Callable[[str], int] = len
        if coloured or self.terminal or width is not None:
            from wirelens.formatters import layout, terminal

            measure = layout.ascii_cells if self.ascii else terminal.cells
            if coloured:
                self.painter = terminal.Painter(theme(options.theme, self.terminal), colours())
        if self.terminal:
            size = os.get_terminal_size(sys.stdout.fileno())
            columns = int(os.environ.get("COLUMNS") or 0) if os.environ.get("COLUMNS", "").isdigit() else 0
            width = width or columns or size.columns or 80
            smart = os.environ.get("TERM") != "dumb"
            if options.pager and smart and size.lines > 2 and pager_command():
                self.held = []
                self.height = size.lines - 1
        self.layout = Layout(width, measure, plain, depth=depth)

    def _keep_inputs(self, inputs: Iterable[str]) -> None:
        """Refuse to overwrite an input."""
        target = self.target
        assert target is not None
        if os.path.exists(target):
            for path in inputs:
                if path != "-" and os.path.exists(path) and os.path.samefile(path, target):
                    raise click.BadParameter(f"{target} is an input", param_hint="-o")
        elif not os.path.isdir(os.path.dirname(target) or "."):
            raise click.BadParameter(f"{os.path.dirname(target)}: no such folder", param_hint="-o")

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or issubclass(kind, click.exceptions.Exit) or self.target is None:
                self._end()
        except BrokenPipeError:
            self.closed_pipe()
        finally:
            unfinished = self.unfinished
            if unfinished is not None and os.path.exists(unfinished):
                os.unlink(unfinished)
        if kind is not None and issubclass(kind, BrokenPipeError):
            self.closed_pipe()

    def _end(self) -> None:
        """Write the rest; the file gets its name only now."""
        if self.held is not None:
            self.parts, self.held = self.held, None
            self.drawn.clear()
        self.flush()
        if self.process is not None:
            self._wait()
        if self.file is not None and self.target is not None:
            self.file.close()
            if self.unfinished is not None:
                os.replace(self.unfinished, self.target)
                self.unfinished = None
        elif self.target is not None:
            self._open().close()
            if self.unfinished is not None:
                os.replace(self.unfinished, self.target)
                self.unfinished = None

    def closed_pipe(self) -> None:
        """Exit quietly after the reader has closed the pipe."""
        if self.process is not None:
            self._wait()
        else:
            try:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, sys.stdout.fileno())
            except (OSError, ValueError):
                pass
        raise SystemExit(0 if self.process is not None else CLOSED_PIPE)

    def _wait(self) -> None:
        process = self.process
        assert process is not None
        try:
            if process.stdin is not None:
                process.stdin.close()
        except BrokenPipeError:
            pass
        while True:
            try:
                process.wait()
                return
            except KeyboardInterrupt:  # meant for the pager
                continue

    def _open(self) -> IO[bytes]:
        """The file that is written to, opened on first use."""
        if self.file is None:
            if self.target is None:
                self.file = sys.stdout.buffer
            elif os.path.exists(self.target) and not os.path.isfile(self.target):
                self.file = open(self.target, "wb")  # noqa: SIM115 (a device or a pipe)
            else:
                folder, name = os.path.split(os.path.realpath(self.target))
                self._clean_up_when_ended()
                self.unfinished = os.path.join(folder, f".{name}.{os.urandom(6).hex()}")
                try:
                    handle = os.open(self.unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                except OSError as error:
                    raise OSError(error.errno, error.strerror, self.target) from None
                os.fchmod(handle, _mode(self.target))
                self.file = open(handle, "wb")  # noqa: SIM115
        return self.file

    def _clean_up_when_ended(self) -> None:
        """Remove the incomplete file when a signal ends the process."""
        import signal

        def end(number: int, _frame: object) -> None:
            if self.unfinished is not None and os.path.exists(self.unfinished):
                os.unlink(self.unfinished)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL and _in_main_thread():
                signal.signal(number, end)

    def line(self, line: Line) -> None:
        """Write a line of segments."""
        self.utf8(self._painted(line))

    def lines(self, lines: Iterable[Line]) -> None:
        """Write lines of segments."""
        for line in lines:
            self.line(line)

    def view(self, draw: Draw) -> None:
        """Write the lines that `draw` gives for a layout: that of the terminal, or whole ones in a pager."""
        if self.held is None:
            self.lines(draw(self.layout))
            return
        for line in draw(self.layout):
            self.held.append(self._painted(line))
            self.height -= 1
            if self.height <= 0:
                self._page(draw)
                return
        self.drawn.append(draw)

    def _painted(self, line: Line) -> bytes:
        if self.ascii:
            line = in_ascii(line)
        painter = self.painter
        text = (plain_text(line) if painter is None else painter.paint(line)).rstrip() + "\n"
        return text.encode("utf-8", "backslashreplace")

    def text(self, text: str) -> None:
        """Write text."""
        self.utf8(text.encode("utf-8", "backslashreplace"))

    def json(self, text: str | bytes) -> None:
        """Write JSON text that does not begin or end inside a token, in colour on terminals."""
        painter = self.painter
        if painter is not None and self.paints_json:
            from wirelens.formatters.terminal import json_segments

            text = text.decode() if isinstance(text, bytes) else text
            parts = [painter.paint(json_segments(line)) for line in text.split("\n")]
            text = "\n".join(parts)
        self.utf8(text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text)

    def utf8(self, text: bytes) -> None:
        """Write text that is encoded in UTF-8."""
        held = self.held
        if held is not None:
            held.append(text)
            self.height -= text.count(b"\n")
            if self.height <= 0:
                self._page(text)
            else:
                self.drawn.append(text)
            return
        if len(text) >= LARGE:
            self._write_parts()
            self._widen()
            self._open().write(text)
            return
        self.parts.append(text)
        self.waiting += len(text)
        if self.waiting >= BLOCK:
            self._widen()
            self.flush()

    def _widen(self) -> None:
        """Enlarge a pipe before a large write: waiting for the reader took a seventh of `calls` as JSON."""
        if self.widened or sys.platform != "linux":
            return
        self.widened = True
        import fcntl

        try:
            pipe = self._open().fileno()
            if fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) < PIPE:
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
        except (OSError, ValueError):  # not a pipe, or a size that the system does not allow
            return

    def data(self, data: bytes) -> None:
        """Write bytes."""
        self.flush()
        self._open().write(data)

    def _write_parts(self) -> None:
        if self.parts:
            parts, self.parts, self.waiting = self.parts, [], 0
            self._open().write(b"".join(parts))

    def flush(self) -> None:
        """Write what is collected, so that the reader sees it while more input is awaited."""
        if self.held is not None:
            return
        self._write_parts()
        if self.file is not None:
            self.file.flush()

    def live(self) -> None:
        """The input is a live stream: show each message at once, without a pager."""
        held, self.held = self.held, None
        self.drawn.clear()
        if held:
            self.parts = held

    def _page(self, last: bytes | Draw) -> None:
        """Start the pager and give it all that was held back, and what filled the screen, in whole lines."""
        import shlex
        import subprocess

        drawn, self.drawn, self.held = [*self.drawn, last], [], None
        self.layout = self.layout.uncut()
        environment = {"LESS": "FRSX", "LESSCHARSET": "utf-8", **os.environ}
        self.process = subprocess.Popen(shlex.split(pager_command()), stdin=subprocess.PIPE, env=environment)
        assert self.process.stdin is not None
        self.file = self.process.stdin
        for part in drawn:
            if isinstance(part, bytes):
                self.utf8(part)
            else:
                self.lines(part(self.layout))
        self.flush()


def _in_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def _mode(path: str) -> int:
    """The permissions for the file: those of the file that it replaces, or the default."""
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def pager_command() -> str:
    """The pager's command; empty for none."""
    import shutil

    command = os.environ.get("WIRELENS_PAGER", os.environ.get("PAGER", PAGER)).strip()
    if not command or command == "cat" or shutil.which(command.split()[0]) is None:
        return ""
    return "less -RS" if command == "less" else command
