"""Options that several commands share."""

from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING, cast

import click

from wirelens.cli.help_option import CONTEXT, CommandWithHelp, Option
from wirelens.cli.input_options import CaptureOptions, FlowChoice, InputOptions, MergeOptions, OutputOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, TypeVar

    from click.shell_completion import CompletionItem

    Command = TypeVar("Command", bound=Callable[..., Any])
    Packed = InputOptions | CaptureOptions | MergeOptions | OutputOptions
    Parameter = click.ParamType[str]
else:
    Parameter = click.ParamType  # no generic before click 8.4


def command(
    epilog: str, kind: type[CommandWithHelp] = CommandWithHelp
) -> Callable[[Callable[..., Any]], CommandWithHelp]:
    """What makes a function a command, whose help ends with `epilog`."""
    return click.command(cls=kind, context_settings=CONTEXT, epilog=epilog)


def option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """An option of a command, as click's decorator of this name makes it."""
    return click.option(*names, cls=Option, **settings)


class Path(Parameter):
    """A path, or - for standard input or output; a file, unless `folders`.

    As click's, whose name gettext translates: that imports `locale`, 2 % of the start of a command.
    """

    name = "path"

    def __init__(self, folders: bool) -> None:
        self.folders = folders

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path as it is; click's says what is wrong with one."""
        right = os.access(value, os.R_OK) and (self.folders or not os.path.isdir(value))
        if value == "-" or right or not os.path.exists(value):
            return value
        return click.Path(dir_okay=self.folders, allow_dash=True).convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The shell completes it."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class Words(Parameter):
    """One of several words, which are looked up only when needed."""

    def __init__(
        self, name: str, words: Callable[[], dict[str, str]], known_as: Callable[[str], str] = str
    ) -> None:
        self.name = name
        self.words = words
        self.known_as = known_as  # the word that another name stands for

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the word."""
        words = self.words()
        word = self.known_as(str(value))
        if word not in words:
            self.none_of(word, words, param, ctx)
        return word

    def none_of(
        self, value: str, words: dict[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> None:
        """Fail with the list of words."""
        from wirelens.codecs.json_input import nearest_name

        nearest = nearest_name(value, words)
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        self.fail(f"{value!r} is not one of {', '.join(words)}.{hint}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Words that complete what is typed."""
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(word, help=line)
            for word, line in self.words().items()
            if word.startswith(incomplete)
        ]


def _protocols() -> dict[str, str]:
    from wirelens.codecs import registry

    return {name: registry.entry(name).title for name in registry.names()}


def _protocol_id(name: str) -> str:
    from wirelens.codecs import registry

    return registry.id_of(name)


def _forms() -> dict[str, str]:
    from wirelens.cli.input import CAPTURE
    from wirelens.codecs.captures.pasting import FORMS

    return {CAPTURE: "pcap, pcapng, snoop", **FORMS}


class FlowNumber(Parameter):
    """A flow's number, with `c` or `s` for one direction of it."""

    name = "flow"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The FlowChoice of the text."""
        if isinstance(value, FlowChoice):
            return value
        number = value.rstrip("cs")
        if not number.isdecimal() or not int(number) or len(value) - len(number) > 1:
            self.fail(f"{value!r} is not a number of a flow, as in 1, 1c or 1s", param, ctx)
        return FlowChoice(int(number), "cs".index(value[-1]) if len(value) > len(number) else None)


PROTOCOL: Final = Words("protocol", _protocols, _protocol_id)
FLOW: Final = FlowNumber()
FORM: Final = Words("form", _forms)
PATH: Final = Path(folders=True)


def _packed(function: Command, name: str, kind: type[Packed]) -> Command:
    """The command with the fields of `kind` in one parameter."""

    @wraps(function)
    def packed(*args: Any, **values: Any) -> Any:
        values[name] = kind(**{field: values.pop(field) for field in kind.__slots__})
        return function(*args, **values)

    return cast("Command", packed)


def inputs(function: Command) -> Command:
    """INPUT…, --hex and --input: the command gets them as `input_options`."""
    function = _packed(function, "input_options", InputOptions)
    for decorate in (
        option(
            "--input",
            "form",
            type=FORM,
            metavar="FORM",
            help="Read the input in this form; recognised by default. `protocols --forms` lists them.",
        ),
        option(
            "--hex",
            "texts",
            multiple=True,
            metavar="TEXT",
            help="Bytes as text on the command line; may be repeated.",
        ),
        click.argument("paths", nargs=-1, type=PATH, metavar="[INPUT]..."),
    ):
        function = decorate(function)
    return function


class Point(Parameter):
    """How the point of a capture is found in its path."""

    name = "point"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value as it is, if it is a word or a regular expression."""
        if value not in ("folder", "none"):
            import re

            try:
                re.compile(value)
            except re.error as error:
                self.fail(f"{value!r} is neither folder, none nor a regular expression: {error}", param, ctx)
        return str(value)


POINT: Final = Point()


def point(function: Command) -> Command:
    """--point."""
    decorate = option(
        "--point",
        type=POINT,
        default="none",
        metavar="folder|none|REGEX",
        help="Where a capture was made: its folder, or what REGEX matches in its path. Flows of other points "
        "stay apart, even with the same addresses. Default: none.",
    )
    return decorate(function)


def merging(function: Command) -> Command:
    """--separate and --point: the command gets them as `merge_options`."""
    function = _packed(function, "merge_options", MergeOptions)
    for decorate in (
        point,
        option(
            "--separate",
            is_flag=True,
            help="Read each capture by itself; by default several are merged into one, by time.",
        ),
    ):
        function = decorate(function)
    return function


def protocol(function: Command) -> Command:
    """--as."""
    decorate = option(
        "--as",
        "protocol",
        type=PROTOCOL,
        metavar="PROTOCOL",
        help="Decode as this protocol; do not detect it.",
    )
    return decorate(function)


def message_protocol(function: Command) -> Command:
    """--as of a command that encodes."""
    decorate = option(
        "--as",
        "protocol",
        type=PROTOCOL,
        metavar="PROTOCOL",
        help="The protocol of bare messages; a record states its own.",
    )
    return decorate(function)


def record_flow(function: Command) -> Command:
    """--flow of a command that reads records."""
    decorate = option(
        "--flow",
        metavar="FLOW",
        help="Only records of this direction of a capture's flow: 1c from the client, 1s from the server, "
        "or its text.",
    )
    return decorate(function)


def selection(function: Command) -> Command:
    """--flow, --port of a command that reads captures."""
    for decorate in (
        option(
            "--port",
            type=click.IntRange(0, 65535),
            metavar="PORT",
            help="Only flows with this port, of either side.",
        ),
        option(
            "--flow",
            type=FLOW,
            metavar="N",
            help="Only this flow, as `wirelens flows` numbers them; 1c: only what its client sends, 1s: only "
            "its server.",
        ),
    ):
        function = decorate(function)
    return function


def captures(function: Command) -> Command:
    """INPUT…, and all that chooses among the conversations in captures and joins them: the command gets it
    as `input_options` and `capture_options`.
    """
    function = _packed(function, "capture_options", CaptureOptions)
    for decorate in (merging, selection, protocol, inputs):
        function = decorate(function)
    return function


class Expression(Parameter):
    """An expression of --where about rows of a kind; only completed here, the command reads it."""

    name = "expression"

    def __init__(self, rows: str) -> None:
        self.rows = rows

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Expressions that begin with what is typed."""
        from click.shell_completion import CompletionItem

        from wirelens.cli.where.call_fields import call_fields
        from wirelens.cli.where.completing import completions
        from wirelens.cli.where.message_fields import file_of_source, message_fields

        fields = call_fields() if self.rows == "calls" else message_fields(file_of_source)
        return [CompletionItem(text, help=remark or None) for text, remark in completions(incomplete, fields)]


def where(rows: str, examples: str) -> Callable[[Command], Command]:
    """--where of a command whose rows are called `rows`."""
    return option(
        "--where",
        multiple=True,
        type=Expression(rows),
        metavar="EXPRESSION",
        help=f"Only {rows} that match, as {examples}. May be repeated: all must match.",
    )


def style(*names: str) -> Callable[[Command], Command]:
    """--format, one of `names`: the command gets it as `style`. The first is the default."""
    return option(
        "-f",
        "--format",
        "style",
        type=click.Choice(names),
        default=names[0],
        help=f"Output format; {names[0]} by default.",
    )


def output(function: Command) -> Command:
    """-o, --color, --theme, --ascii, --width, --pager, -v: the command gets them as `output_options`."""
    function = _packed(function, "output_options", OutputOptions)
    for decorate in (
        option("-v", "--verbose", is_flag=True, help="Report on stderr how the input was read."),
        option(
            "--pager/--no-pager",
            default=True,
            help="Page long output on a terminal, with WIRELENS_PAGER, PAGER or less.",
        ),
        option(
            "--width",
            type=click.IntRange(20),
            metavar="CELLS",
            help="Shorten lines to this width; that of the terminal by default.",
        ),
        option(
            "--ascii",
            is_flag=True,
            help="Draw with ASCII only; the default in a locale without UTF-8.",
        ),
        option(
            "--theme",
            type=click.Choice(["auto", "dark", "light", "either"]),
            default="auto",
            envvar="WIRELENS_THEME",
            metavar="dark|light|either",
            help="Colours for this background; by default the terminal is asked for its own.",
        ),
        option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Whether to use colour; auto: on terminals.",
        ),
        option(
            "-o",
            "--output",
            "target",
            type=Path(folders=False),
            metavar="FILE",
            help="Write to a file; it is replaced only when all is written.",
        ),
    ):
        function = decorate(function)
    return function


def kind(function: Command) -> Command:
    """--to."""
    decorate = option(
        "--to",
        "kind",
        type=click.Choice(["raw", "hex", "dump", "c"]),
        help="Output format: raw bytes, hex digits on a line, a dump of hex and text, a C array.",
    )
    return decorate(function)
