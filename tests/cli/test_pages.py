"""Trees as HTML and SVG: the same text, nothing that runs or is fetched."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from wirelens import codecs

if TYPE_CHECKING:
    from commands import Run

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=y>&amp;\u2028\u202e]]>\x00 中文"
SVG = "{http://www.w3.org/2000/svg}"


class _Text(HTMLParser):
    """The text of a page's only preformatted part, and the names of all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.names: set[str] = set()
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.inside = self.inside or tag == "pre"
        assert all(name in ("class", "lang", "charset") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "pre"

    def handle_data(self, data: str) -> None:
        self.text += data if self.inside else ""


@pytest.fixture
def message() -> bytes:
    value = {HOSTILE: [HOSTILE, 1], "b": None}
    return codecs.encode({"protocol": "hessian2", "message": {"values": [value]}})


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("theme", ["dark", "light", "auto"])
def test_html_has_the_text_of_the_tree(theme: str, message: bytes, run: Run) -> None:
    words = ("--as", "hessian2", "--hex", message.hex())
    page = run("decode", "--format", "html", "--theme", theme, *words).stdout
    parsed = _Text()
    parsed.feed(page)
    assert parsed.names == {"html", "head", "meta", "title", "style", "body", "pre", "span"}
    assert lines(parsed.text) == lines(run("decode", *words).stdout)
    assert "://" not in page


def test_svg_has_the_text_of_the_tree(message: bytes, run: Run) -> None:
    words = ("--as", "hessian2", "--hex", message.hex())
    picture = run("decode", "--format", "svg", *words).stdout
    root = ElementTree.fromstring(picture)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "style", "rect", "defs", "clipPath", "g", "text",
    }  # fmt: skip
    rows: dict[float, list[tuple[float, str]]] = {}
    for element in root.iter(SVG + "text"):
        rows.setdefault(float(element.attrib["y"]), []).append(
            (float(element.attrib["x"]), (element.text or "").replace("\xa0", " "))
        )
    drawn = ["".join(part for _, part in sorted(rows[y])) for y in sorted(rows)]
    shown = [re.sub(r"\s", "", line) for line in run("decode", *words).stdout.splitlines()]
    assert [re.sub(r"\s", "", line) for line in drawn] == shown
    assert picture.count("://") == 1  # the name of SVG itself
