"""Text from input reaches no terminal raw, whichever way it is shown; what is shown escaped is not lost."""

import json
import unicodedata

import pytest

from wirelens import codecs
from wirelens.codecs.json_text import dumps, loads, quoted
from wirelens.codecs.words import SUMMARY_CELLS, clean, shortened

HIDDEN = [
    chr(code)
    for code in range(0x110000)
    if 0x7F <= code < 0xA0 or unicodedata.category(chr(code)) in ("Cf", "Zl", "Zp")
]


def reply(text: str) -> bytes:
    """A reply of Hessian with one string, in the encoding of Java."""
    units = text.encode("utf-16-be", "surrogatepass")
    parts = [chr(units[at] << 8 | units[at + 1]) for at in range(0, len(units), 2)]
    content = "".join(parts).encode("utf-8", "surrogatepass")
    return b"H\2\0RS" + len(parts).to_bytes(2, "big") + content


def test_json_escapes_what_is_not_seen() -> None:
    for char in HIDDEN:
        for text in (char, "a" + char + "\u4e2d"):
            data = quoted(text)
            assert json.loads(data) == text
            assert char.encode() not in data
            assert dumps({text: text}).isascii() or char not in dumps({text: text})
            assert loads(dumps({text: text})) == {text: text}


@pytest.mark.parametrize("plain", [False, True])
def test_messages_escape_it_in_json(plain: bool) -> None:
    for at in range(0, len(HIDDEN), 40):
        text = "\u4e2d".join(HIDDEN[at : at + 40])
        record = codecs.decode(reply(text), "hessian2")[0]
        shown = record.json_text(plain)
        assert not any(char in shown for char in HIDDEN)
        assert loads(shown) == record.to_json(plain)
        assert codecs.encode([codecs.decode(reply(text), "hessian2")[0].to_json()]) == reply(text)
    one = codecs.decode(b"".join([reply(char) for char in HIDDEN]), "hessian2")
    for record in one:
        assert not any(char in record.json_text(plain) for char in HIDDEN)


def test_text_that_is_seen_stays() -> None:
    for text in (
        "naïve",
        "\u4e2d\u6587",
        "\u2764\ufe0f 1\ufe0f\u20e3",
        "e\u0301",
        "\u0e01\u0e33",
        "\u201cx\u201d",
    ):
        assert clean(text) == text
        assert quoted(text) == f'"{text}"'.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u3164b", "a\\u3164b"),
        ("a\u115fb", "a\\u115fb"),
        ("a\u034fb", "a\\u034fb"),
        ("a\ufe0fb", "a\\ufe0fb"),
        ("\ufe0f", "\\ufe0f"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + "\\u0301" * 2),
        ("a\u202eb", "a\\u202eb"),
        ("\u009b31m\u0301", "\\u009b31m\u0301"),
    ],
)
def test_what_is_not_seen_is_shown_escaped(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_summaries_have_an_end() -> None:
    assert shortened("x" * 200) == "x" * 200
    assert shortened("x" * 201) == "x" * 199 + "…"
    wide = shortened("\u4e2d" * 5000)
    assert len(wide) == SUMMARY_CELLS // 2
    record = codecs.decode(reply("y" * 9000), "hessian2")[0]
    assert len(record.summary) <= SUMMARY_CELLS
