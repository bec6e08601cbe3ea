"""What the terminal shows: colours, how many, on which background; characters beyond ASCII or not."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

    from wirelens.formatters.palettes import Colour

ASK_SECONDS: Final = 0.1  # how long a terminal has to answer
LONGEST_ANSWER: Final = 256  # bytes
LIGHT_BACKGROUNDS: Final = {"7", "9", "10", "11", "12", "13", "14", "15"}  # in COLORFGBG; as Vim takes them
FEW_COLOURS: Final = ("linux", "ansi", "cygwin", "vt100", "vt102", "vt220", "xterm-16color", "xterm-color")

# "Which colour is the background?" (OSC 11) and "which terminal are you?" (DA1), which all terminals answer.
QUESTION: Final = b"\x1b]11;?\x1b\\\x1b[c"


def is_coloured(option: str, terminal: bool) -> bool:
    """Whether to use colour: `option` is --color; the usual variables decide for "auto".

    In this order: NO_COLOR; CLICOLOR_FORCE and FORCE_COLOR; TERM=dumb and CLICOLOR=0; else on a terminal.
    """
    if option != "auto":
        return option == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "") not in ("", "0") for name in ("CLICOLOR_FORCE", "FORCE_COLOR")):
        return True
    return terminal and os.environ.get("TERM") != "dumb" and os.environ.get("CLICOLOR") != "0"


def colours() -> int:
    """How many colours the terminal has: 16 or 256."""
    term = os.environ.get("TERM", "")
    if os.environ.get("COLORTERM") or term not in FEW_COLOURS:
        return 256
    return 16


def theme(option: str, terminal: bool) -> str:
    """The theme of `palettes`: `option` is --theme; for "auto" the terminal is asked, then COLORFGBG."""
    from wirelens.formatters.palettes import DARK, EITHER, LIGHT, THEMES, theme_for

    if option in THEMES:
        return option
    background = _ask() if terminal else None
    if background is not None:
        return theme_for(background)
    number = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    if number.isdecimal():
        return LIGHT if number in LIGHT_BACKGROUNDS else DARK
    return EITHER


def is_ascii(option: bool) -> bool:
    """Whether to draw with ASCII only: `option` is --ascii, or the locale has no characters for lines."""
    if option:
        return True
    environment = os.environ
    name = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    if name in ("C", "POSIX"):
        return True
    coding = name.partition(".")[2].partition("@")[0]
    if not coding:
        return False
    try:
        "─│└├…→←✕◆".encode(coding)
    except UnicodeEncodeError:
        return True
    except LookupError:
        pass
    return False


def _ask() -> Colour | None:
    """The background's colour as the terminal gives it; None without an answer.

    Asked only where input and output are the same terminal, this process is in its foreground, and nothing
    has been typed.
    """
    try:
        import termios
    except ImportError:
        return None
    try:
        source, target = sys.stdin.fileno(), sys.stdout.fileno()
        if not (os.isatty(source) and os.isatty(target) and os.ttyname(source) == os.ttyname(target)):
            return None
        if os.environ.get("TERM", "") in ("", "dumb", *FEW_COLOURS) or os.tcgetpgrp(source) != os.getpgrp():
            return None
        return _background_in(_answer(source, target))
    except (OSError, ValueError, termios.error):
        return None


def _answer(source: int, target: int) -> bytes:
    """What the terminal answers, up to its answer to the second question."""
    import select
    import termios
    import time
    import tty

    answer = b""
    before = termios.tcgetattr(source)
    tty.setcbreak(source, termios.TCSANOW)
    try:
        if select.select([source], [], [], 0)[0]:
            return answer
        os.write(target, QUESTION)
        end = time.monotonic() + ASK_SECONDS
        while len(answer) < LONGEST_ANSWER:
            left = end - time.monotonic()
            if left <= 0 or not select.select([source], [], [], left)[0]:
                break
            answer += os.read(source, LONGEST_ANSWER)
            if b"\x1b[?" in answer and answer.endswith(b"c"):
                break
    finally:
        termios.tcsetattr(source, termios.TCSANOW, before)
    return answer


def _background_in(answer: bytes) -> Colour | None:
    """The colour in the answer `OSC 11 ; rgb:RRRR/GGGG/BBBB`; None if there is none."""
    import re

    match = re.search(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})", answer)
    if match is None:
        return None
    red, green, blue = (int(part, 16) * 255 // (16 ** len(part) - 1) for part in match.groups())
    return red, green, blue
