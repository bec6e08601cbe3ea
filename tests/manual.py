"""What in docs/ is made from the program: `python3 dev.py docs` writes it, test_docs.py compares.

It is the reference of commands and the man pages, from click's commands (names, options and texts, not
click's layout); in the pages of protocols, the members of messages and the codes of notes; and the pictures.
Graphviz's `dot` draws graphs; without it their pictures stay as they are.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.testing import CliRunner

from wirelens.cli import protocol_members
from wirelens.cli.main import COMMANDS, group
from wirelens.cli.suggestions import MEANT
from wirelens.codecs import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PROTOCOLS = DOCS / "protocols"
MAN = DOCS / "man"
START = "<!-- made by `python3 dev.py docs`, to the next such line -->"
END = "<!-- end of what is made -->"

# Pictures of commands: the file, and the words after `wirelens`.
TREE = ("tree.svg", ["decode", "--format", "svg", "examples/dubbo-order.xxd"])
GRAPH = ("graph.svg", ["decode", "--format", "dot", "examples/cyclic-graph.xxd"])
DRAWING = ("inside.svg", "inside.dot")


def output(words: list[str]) -> str:
    """What a command prints, run in the project's folder."""
    result = CliRunner().invoke(group, words, prog_name="wirelens")
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


# --- commands ---------------------------------------------------------------------------------------------


def paragraphs(text: str | None) -> Iterator[tuple[bool, str]]:
    """The paragraphs of a help text or epilog: whether each is laid out as it is, and its text."""
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        lines = paragraph.split("\n")
        if lines[0].strip() == "\b":
            yield True, "\n".join(lines[1:])
        elif paragraph.strip():
            yield False, " ".join(line.strip() for line in lines)


def placeholder(parameter: click.Parameter) -> str:
    """What stands for the value of a parameter; empty for flags."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return ""
    if parameter.metavar:
        return parameter.metavar
    if isinstance(parameter.type, click.Choice):
        return "|".join(map(str, parameter.type.choices))
    kind = parameter.type.name
    return (parameter.name or "").upper() if isinstance(parameter, click.Argument) else kind.upper()


def names(option: click.Option) -> str:
    """An option as it is typed: `-f, --format tree|hex`."""
    typed = ", ".join((*option.opts, *option.secondary_opts))
    return f"{typed} {placeholder(option)}".strip()


def usage(name: str, command: click.Command) -> str:
    """How a command is called."""
    words = [placeholder(one) for one in command.params if isinstance(one, click.Argument)]
    return " ".join(["wirelens", name, "[OPTION]...", *words])


def options(command: click.Command) -> list[click.Option]:
    """The options of a command that its help shows."""
    return [one for one in command.params if isinstance(one, click.Option) and not one.hidden]


def each_command() -> Iterator[tuple[str, str, click.Command]]:
    """The name, title and command of each."""
    context = click.Context(group, info_name="wirelens")
    for name, (_, title) in COMMANDS.items():
        command = group.get_command(context, name)
        assert command is not None
        yield name, title, command


def shown(text: str) -> str:
    """Text in a table of Markdown."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def laid_out(text: str | None) -> list[str]:
    """A help text or an epilog in Markdown."""
    lines: list[str] = []
    for verbatim, paragraph in paragraphs(text):
        if not verbatim:
            lines += [paragraph, ""]
            continue
        first, _, rest = paragraph.partition("\n")
        if first.endswith(":") and rest.startswith(" "):
            lines += [first, ""]
            paragraph = rest
            lines += [re.sub(r"^", "    ", inspect.cleandoc(paragraph), flags=re.MULTILINE), ""]
        else:
            lines += [" ".join(paragraph.split()), ""]
    return lines


def commands_page() -> str:
    """docs/commands.md."""
    lines = [
        "# Commands",
        "",
        "Each command, as `wirelens help COMMAND` shows it. `-h` and `--help` do, too.",
        "",
    ]
    lines += ["| command | |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {title} |" for name, title, _ in each_command()]
    lines += ["", *laid_out(group.epilog)]
    for name, _, command in each_command():
        lines += [f"## {name}", "", f"`{usage(name, command)}`", "", *laid_out(command.help)]
        if options(command):
            lines += ["| option | |", "|---|---|"]
            lines += [f"| `{shown(names(one))}` | {shown(one.help or '')} |" for one in options(command)]
            lines.append("")
        lines += laid_out(command.epilog)
    lines += [
        "## Options of other programs",
        "",
        "Where one of these is typed, the error names the option here.",
        "",
    ]
    lines += ["| typed | here |", "|---|---|"]
    lines += [f"| `--{word}` | `{here}` |" for word, here in sorted(MEANT.items())]
    return "\n".join(lines) + "\n"


def roff(text: str) -> str:
    """Text for a man page."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)


def man_page(name: str, title: str, command: click.Command) -> str:
    """The man page of a command."""
    lines = [f'.TH "WIRELENS\\-{name.upper()}" 1 "" "wirelens" "wirelens"', ".SH NAME"]
    lines += [roff(f"wirelens-{name} - {title.rstrip('.')}"), ".SH SYNOPSIS", roff(usage(name, command))]
    lines += [".SH DESCRIPTION", *roff_paragraphs(command.help)]
    if options(command):
        lines.append(".SH OPTIONS")
        for one in options(command):
            lines += [".TP", f"\\fB{roff(names(one))}\\fR", roff(one.help or "")]
    if command.epilog:
        lines += [".SH NOTES", *roff_paragraphs(command.epilog)]
    lines += [".SH SEE ALSO", roff("wirelens(1)")]
    return "\n".join(lines) + "\n"


def roff_paragraphs(text: str | None) -> list[str]:
    """A help text or an epilog for a man page."""
    lines: list[str] = []
    for verbatim, paragraph in paragraphs(text):
        lines += [".PP", *([".nf", roff(paragraph), ".fi"] if verbatim else [roff(paragraph)])]
    return lines


def man_pages() -> dict[str, str]:
    """The man pages by the names of their files."""
    main = ['.TH "WIRELENS" 1 "" "wirelens" "wirelens"', ".SH NAME"]
    main += [roff("wirelens - inspect the bytes of binary RPC protocols"), ".SH SYNOPSIS"]
    main += [roff("wirelens [OPTION]... COMMAND [ARGUMENT]..."), ".SH DESCRIPTION", roff(group.help or "")]
    main.append(".SH COMMANDS")
    for name, title, _ in each_command():
        main += [".TP", f"\\fBwirelens\\-{name}\\fR(1)", roff(title)]
    main.append(".SH OPTIONS")
    for one in options(group):
        main += [".TP", f"\\fB{roff(names(one))}\\fR", roff(one.help or "")]
    main += [".SH NOTES", *roff_paragraphs(group.epilog)]
    pages = {"wirelens.1": "\n".join(main) + "\n"}
    for name, title, command in each_command():
        pages[f"wirelens-{name}.1"] = man_page(name, title, command)
    return pages


# --- protocols --------------------------------------------------------------------------------------------


def package(protocol: str) -> str:
    """The package of a protocol, which is the name of its page, too."""
    return registry.entry(protocol).module.split(".")[2]


def pages_of_protocols() -> dict[str, list[str]]:
    """The protocols by the name of their page."""
    pages: dict[str, list[str]] = {}
    for name in registry.names():
        pages.setdefault(package(name), []).append(name)
    return pages


def protocol_part(protocols: list[str]) -> str:
    """What is made in the page of a protocol: kinds, members, an example, codes."""
    lines: list[str] = []
    tables: dict[tuple[str, ...], str] = {}
    for name in protocols:
        entry = registry.entry(name)
        codec = registry.get(name)
        notation = registry.notation(name)
        ports = f"; usual ports {', '.join(map(str, entry.ports))}" if entry.ports else ""
        lines += [f"## {name}", "", f"{entry.title}. Source: {entry.source}{ports}.", ""]
        kinds = ", ".join([f"`{kind}`" for kind in codec.kinds])
        lines += [f"Kinds of messages, for `--where kind=`: {kinds}.", ""]
        if codec.carries:
            lines += [f"Its bodies contain {', '.join(codec.carries)}.", ""]
        examples = ", ".join([f"`{example}`" for example in notation.examples])
        lines += [f"Examples, for `wirelens protocols {name} --example`: {examples}. The first:", ""]
        lines += ["```json", protocol_members.example(name, "").rstrip(), "```", ""]
        for title, rows in protocol_members.sections(notation):
            table = ["| | |", "|---|---|"] + [
                f"| `{member.removesuffix(' *')}`{' *' if member.endswith(' *') else ''} | {shown(words)} |"
                for member, words in rows
            ]
            same = tables.setdefault(tuple(table), name)
            if same != name and len(table) > FEW:
                lines += [f"**{title}**: as of {same}.", ""]
            else:
                lines += [f"**{title}**", "", *table, ""]
    lines += ["`*`: cannot be left out.", "", "## Errors and notes", "", "| code | |", "|---|---|"]
    lines += [f"| `{code}` | {shown(text)} |" for code, text in codes(package(protocols[0])).items()]
    return "\n".join(lines) + "\n"


FEW = 4  # lines of a table that is shown again


def codes(name: str) -> dict[str, str]:
    """The codes of errors and notes that the modules of a package have, with their texts."""
    known = registry.codes()
    found: set[str] = set()
    for path in (ROOT / "codecs" / name).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in known:
                found.add(str(node.value))
    return {code: known[code].text for code in sorted(found)}


def with_part(page: str, part: str) -> str:
    """A page with what is made in it."""
    before, start, rest = page.partition(START)
    after = rest.partition(END)[2] if start else "\n"
    return f"{before}{START}\n\n{part}\n{END}{after}"


def protocol_page(name: str, protocols: list[str]) -> str:
    """The page of a protocol as it should be; a new one has its title."""
    path = PROTOCOLS / f"{name}.md"
    entry = registry.entry(protocols[0])
    page = path.read_text(encoding="utf-8") if path.exists() else f"# {entry.title}\n\n"
    return with_part(page, protocol_part(protocols))


def codes_part() -> str:
    """What is made in docs/exit-status.md."""
    lines = ["| code | |", "|---|---|"]
    lines += [f"| `{code}` | {shown(meaning.text)} |" for code, meaning in sorted(registry.codes().items())]
    return "\n".join(lines) + "\n"


@cache
def texts() -> dict[Path, str]:
    """Every file of text that is made, as it should be."""
    made = {DOCS / "commands.md": commands_page()}
    status = DOCS / "exit-status.md"
    made[status] = with_part(status.read_text(encoding="utf-8"), codes_part())
    made.update({MAN / name: text for name, text in man_pages().items()})
    for name, protocols in pages_of_protocols().items():
        made[PROTOCOLS / f"{name}.md"] = protocol_page(name, protocols)
    return made


# --- pictures ---------------------------------------------------------------------------------------------


def drawn(graph: str) -> str | None:
    """A graph of DOT as SVG; None without graphviz."""
    if shutil.which("dot") is None:
        return None
    done = subprocess.run(["dot", "-Tsvg"], input=graph, capture_output=True, check=True, text=True)
    return re.sub(r"<!--.*?-->\n?", "", done.stdout, flags=re.DOTALL)


def words_of(svg: str) -> list[str]:
    """The words of a picture's texts, sorted: renderers cut lines differently."""
    from html import unescape

    found = re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL)
    return sorted(" ".join(unescape(re.sub(r"<[^>]*>", " ", text)) for text in found).split())


def words_of_graph(graph: str) -> list[str]:
    """The words of the labels of a graph in DOT, sorted."""
    from html import unescape

    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', graph)
    labels = [label.replace("\\n", " ").replace("\\l", " ") for label in labels]
    cells = re.findall(r"<TD[^>]*>(.*?)</TD>", graph, re.DOTALL)
    return sorted(" ".join([*labels, *(unescape(re.sub(r"<[^>]*>", " ", cell)) for cell in cells)]).split())


def words_of_drawing(graph: str) -> list[str]:
    """The words of the labels of a graph that is written by hand, sorted."""
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', graph)
    return sorted(" ".join(labels).replace("\\n", " ").split())


def main() -> None:
    """Write all that is made."""
    os.chdir(ROOT)
    for path, text in texts().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for stale in set(MAN.glob("*.1")) - set(texts()):
        stale.unlink()
    name, words = TREE
    (DOCS / name).write_text(output(words), encoding="utf-8")
    drawing = (DOCS / DRAWING[1]).read_text(encoding="utf-8")
    for picture, graph in ((GRAPH[0], output(GRAPH[1])), (DRAWING[0], drawing)):
        svg = drawn(graph)
        if svg is None:
            print(f"without graphviz's dot, {picture} stays as it is")
        else:
            (DOCS / picture).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
