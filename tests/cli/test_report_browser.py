"""The page of `wirelens report` in a real browser: links, keys, hostile texts, no request."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "captures"))

import browser
import building
import shop
from browser import Browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commands import Run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.once,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not (browser.CHROMIUM and browser.DRIVER), reason=browser.MISSING),
]
EXAMPLES: Final = Path(__file__).resolve().parent.parent.parent / "examples"
MOST_NETWORK: Final = ("file:", "data:", "about:", "chrome:")

SCRIPTS: Final = Path(__file__).resolve().parent.parent / "scripts"
LINKS: Final = (SCRIPTS / "links.js").read_text(encoding="utf-8")
CONTRAST: Final = (SCRIPTS / "contrast.js").read_text(encoding="utf-8")
NAMELESS: Final = (SCRIPTS / "nameless.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("browser"))
    yield one
    one.close()


def page(run: Run, folder: Path, *words: str) -> Path:
    target = folder / "page.html"
    result = run("report", *words, "-o", str(target))
    assert result.exit_code in (0, 1), result.output
    return target


def quiet(window: Browser) -> None:
    """Nothing was refused, nothing failed, nothing was asked for."""
    assert [entry["message"] for entry in window.log() if entry["level"] == "SEVERE"] == []
    for entry in window.log("performance"):
        message: dict[str, Any] = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            assert message["params"]["request"]["url"].startswith(MOST_NETWORK)


def links(window: Browser) -> tuple[list[str], int]:
    """What is not linked in the messages of a page, and the number of rows that were tried.

    Of calls of the same method and outcome the first stands for all.
    """
    wrong: list[str] = []
    rows = 0
    seen: set[str] = set()
    for call in range(
        window.run("return Number(document.getElementById('number').textContent.replace(',', ''))")
    ):
        window.go(f"#call/{call}")
        name = window.run(
            "return document.querySelector('.callhead').textContent.replace(/[0-9.]+.[mµ]?s$/, '')"
        )
        if name in seen:
            continue
        seen.add(name)
        tabs = window.run("return [...document.querySelectorAll('[role=tab]')].map(tab => tab.dataset.key)")
        for tab in tabs[: 1 if len(tabs) <= 5 else -2]:
            window.run("document.querySelector(`[data-key=${arguments[0]}]`).click()", tab)
            found, counts = window.run(LINKS)
            wrong += [f"call {call}: {text}" for text in found]
            rows += counts["rows"]
    return wrong, rows


def test_every_node_of_every_example_and_its_bytes_mark_each_other(
    run: Run, window: Browser, tmp_path: Path
) -> None:
    inputs = [*sorted(EXAMPLES.glob("*.xxd")), EXAMPLES / "http-hessian.bin"]
    inputs += sorted(EXAMPLES.glob("captures/*.pcap"))
    shown = page(run, tmp_path, *map(str, inputs))
    window.resize(1400, 600)
    window.open(shown)
    wrong, rows = links(window)
    assert wrong == []
    assert rows > 800
    quiet(window)


HOSTILE: Final = (
    "</script><script>document.hacked = 1</script>",
    "<img src=x onerror=document.hacked=1>",
    "</textarea><svg onload=document.hacked=1>",
    "line\u2028para\u2029graph",
    "\u202etxt.exe\u2066bidi",
    "nul\0byte and \x1b[31m",
    "-->'\"`${document.hacked=1}{{1}}<!--",
    "javascript:document.hacked=1",
)


def hostile(folder: Path) -> Path:
    """A capture with hostile texts wherever a text can be."""
    talk = building.Talk(1000, 5000, 40000, 20880)
    frames = talk.hello()
    for number, word in enumerate(HOSTILE, 1):
        value = shop.thing(word, {word: shop.text(word), "other": shop.text(word * 40)})
        frames += [
            talk.send(0, shop.request(number, word, value, {word: word})),
            talk.send(1, shop.failure(number, word) if number % 2 else shop.reply(number, value)),
        ]
    target = folder / "<img src=x onerror=document.hacked=1>.pcap"
    target.write_bytes(building.pcap(frames))
    return target


def test_hostile_texts_run_nowhere(run: Run, window: Browser, tmp_path: Path) -> None:
    shown = page(run, tmp_path, str(hostile(tmp_path)))
    window.open(shown)
    tabs = ("both", "request", "reply", "objects", "fields")
    for part in ("#overview", "#calls", "#talk/1", "#calls?<img src=x onerror=document.hacked=1>"):
        window.go(part)
        assert window.run("return document.getElementById('main').childElementCount") > 0
    for call in range(len(HOSTILE)):
        window.go(f"#call/{call}")
        for tab in tabs:
            window.run("document.querySelector(`[data-key=${arguments[0]}]`).click()", tab)
            window.settle()
    found = window.run(
        "return [document.hacked, document.scripts.length, document.images.length, document.title,"
        "document.querySelectorAll('[onerror], [onload], iframe, object').length,"
        "document.getElementById('main').textContent]"
    )
    assert found[:3] == [None, 2, 0]
    assert found[4] == 0
    assert not set(found[3] + found[5]) & set("\u2028\u2029\u202e\u2066\0\x1b")
    quiet(window)


def test_calls_are_filtered_sorted_and_opened_by_keyboard(run: Run, window: Browser, tmp_path: Path) -> None:
    capture = tmp_path / "shop.pcap"
    capture.write_bytes(shop.capture(200))
    window.open(page(run, tmp_path, str(capture)))
    window.press("2")
    rows = "return document.querySelector('[role=grid]').getAttribute('aria-rowcount')"
    assert window.run(rows) == "201"
    window.press("/")
    window.press(*"outcome!=ok")
    assert window.run(rows) == "7"
    assert window.run("return location.hash") == "#calls?outcome!%3Dok"
    window.press(browser.ENTER)
    window.press("j", browser.ENTER)
    assert window.run("return document.querySelector('h1').textContent").startswith(
        "com.example.shop.OrderService."
    )
    assert "OutOfStockException" in window.run("return document.querySelector('.callhead').textContent")
    window.press("n")
    window.run("document.querySelector('[role=tree]').focus()")
    window.press(browser.DOWN, browser.DOWN)
    chosen = window.run("return document.querySelector('[role=tree]').getAttribute('aria-activedescendant')")
    marked = window.run("return document.querySelector('.t.pin')")
    assert chosen
    assert marked
    assert "request/" in window.run("return location.hash")
    window.press(browser.ESCAPE)
    assert window.run("return document.querySelector('.t.pin')") is None
    window.press("/", *"nofield=1")
    assert "no field" in window.run("return document.querySelector('.hint').textContent")
    window.run("[...document.querySelectorAll('[role=columnheader] button')][5].click()")
    quiet(window)


def test_two_thousand_messages_are_usable_and_print_whole(run: Run, window: Browser, tmp_path: Path) -> None:
    capture = tmp_path / "shop.pcap"
    capture.write_bytes(shop.capture(1000))
    shown = page(run, tmp_path, str(capture))
    payload = 1000 * 500
    assert shown.stat().st_size <= 400_000 + 3 * payload
    window.open(shown)
    assert "2,000 messages" in window.run("return document.querySelector('.lede').textContent")
    window.go("#calls")
    drawn = "return document.querySelectorAll('.view .row').length"
    assert window.run(drawn) < 100
    window.run("dispatchEvent(new Event('beforeprint'))")
    assert window.run(drawn) == 1000
    window.run("dispatchEvent(new Event('afterprint'))")
    assert window.run(drawn) < 100


def test_errors_and_notes_stand_at_their_places(run: Run, window: Browser, tmp_path: Path) -> None:
    broken = shop.request(1, "place", shop.thing("com.example.Big", {"name": shop.text("x" * 20)}))
    cut = tmp_path / "cut.bin"
    cut.write_bytes(broken[:120])
    gadget = tmp_path / "gadget.bin"
    gadget.write_bytes(
        shop.request(
            2, "place", shop.thing("com.sun.rowset.JdbcRowSetImpl", {"dataSourceName": shop.text("ldap")})
        )
    )
    window.open(page(run, tmp_path, str(cut)), "#call/0")
    window.settle()
    assert "truncated" in window.run("return document.querySelector('.banner.error').textContent")
    assert "truncated" in window.run("return document.querySelector('.t .x').textContent")
    assert window.run("return document.querySelector('.mark.err') !== null")
    window.open(page(run, tmp_path, str(gadget)), "#call/0")
    before = window.run(
        "const note = document.querySelector('.t .w').closest('.t');"
        "return [note.textContent, note.previousElementSibling.textContent]"
    )
    assert "gadget-class" in before[0]
    assert "JdbcRowSetImpl" in before[1]
    assert window.run("return document.querySelector('.mark.odd') !== null")
    quiet(window)


def test_texts_have_contrast_and_controls_have_names(run: Run, window: Browser, tmp_path: Path) -> None:
    capture = tmp_path / "shop.pcap"
    capture.write_bytes(shop.capture(40))
    window.open(page(run, tmp_path, str(capture)))
    for part in ("#overview", "#calls", "#call/30", "#talk/1"):
        window.go(part)
        for _theme in range(2):
            assert window.run(CONTRAST) == []
            window.press("t")
        assert window.run(NAMELESS) == []


def test_values_that_the_page_reads_from_bytes_are_those_of_decode(
    run: Run, window: Browser, tmp_path: Path
) -> None:
    doubles = [0.1, 1.0, -0.0, 1e16, 123456789012345680.0, 1e-5, 2.5e-310, -1.7976931348623157e308, 1e300]
    longs = [0, -1, 2**63 - 1, -(2**63), 1234567890123]
    texts = [
        "a text of more than twenty-four bytes",
        'with "quotes" and \\ in it, long enough',
        "你好，世界" * 4,
    ]
    values = [b"D" + struct.pack(">d", value) for value in doubles]
    values += [b"L" + struct.pack(">q", value) for value in longs]
    values += [
        *map(shop.text, texts),
        b"\x24\0\1\xfe\xff",
        b"\x25plain",
        b"D" + struct.pack(">d", float("nan")),
    ]
    source = tmp_path / "values.bin"
    source.write_bytes(shop.reply(1, b"W" + b"".join(values) + b"Z"))
    window.open(page(run, tmp_path, str(source)), "#call/0")
    shown = window.run("return [...document.querySelectorAll('.t .val')].map(value => value.textContent)")
    wanted = [*map(str, doubles), *map(str, longs), *[json.dumps(text, ensure_ascii=False) for text in texts]]
    wanted += ["0001feff", '"plain"', "NaN"]
    assert [value for value in shown if value in wanted] == wanted
