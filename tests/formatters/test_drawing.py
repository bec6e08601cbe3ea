"""Properties of the views: nothing is lost, control characters are escaped, no nesting is too deep."""

import gzip
import json
import random
import re
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelens import codecs
from wirelens.codecs import registry
from wirelens.codecs.numbers import duration
from wirelens.codecs.words import clean, count, quote
from wirelens.formatters import layout as lay
from wirelens.formatters.hexview import hexview
from wirelens.formatters.json import indented
from wirelens.formatters.json import json as json_array
from wirelens.formatters.layout import Layout, plain
from wirelens.formatters.octets import c_array, dump, hex_digits
from wirelens.formatters.palettes import LOOKS
from wirelens.formatters.summary import Summaries
from wirelens.formatters.terminal import Painter, cells
from wirelens.formatters.tree import tree

VECTORS = Path(__file__).parent.parent / "vectors"
ROW = re.compile(r"^(\+?[0-9a-f]{3,})  ([0-9a-f ]+?) +\|(.*)\|")


def vectors(limit: int) -> list[tuple[str, bytes]]:
    """Protocol and bytes of at most `limit` vectors of every file."""
    found = []
    for path in sorted(VECTORS.glob("*.jsonl*")):
        content = path.read_bytes()
        rows = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()
        for line in random.Random(path.name).sample(rows, min(limit, len(rows))):
            protocol = re.search(r'"protocol": "([^"]+)"', line)
            data = re.search(r'"hex": "([0-9a-f]+)"', line)
            if protocol and data and protocol[1] in registry.names():
                found.append((protocol[1], bytes.fromhex(data[1])))
    return found


def esnp(value: bytes, name: bytes = b"k") -> bytes:
    """An ESNP message with one DATA line that has a Var."""
    body = bytes([len(name) * 2]) + name + value
    return b"\x15" + len(body).to_bytes(3, "big") + body + b"\0\0\0\0"


def nested(depth: int) -> bytes:
    """Lists in lists."""
    return esnp(b"\x17\x02" * depth + b"\x00")


@pytest.mark.parametrize("width", [None, 40, 200])
def test_every_byte_is_in_the_hex_view_once(width: int | None) -> None:
    for protocol, data in vectors(25):
        for record in codecs.decode(data, protocol):
            if width is not None and record.length > 40:
                continue  # long fields are shortened
            rows = [ROW.match(plain(line)) for line in hexview(record, Layout(None))]
            place = record.offset
            for row in rows:
                if row is None or row[1].startswith("+"):
                    continue
                shown = bytes.fromhex(row[2])
                assert int(row[1], 16) == place
                assert shown == data[place : place + len(shown)]
                assert row.string[row.start(3) + len(shown)] == "|"  # a value after it may have one too
                place += len(shown)
            assert place == record.offset + record.length


@pytest.mark.once
def test_views_fit_every_width() -> None:
    painter = Painter("dark")
    for protocol, data in vectors(15):
        for record in codecs.decode(data, protocol):
            for width in (20, 79, None):
                layout = Layout(width, cells)
                for view in (tree, hexview):
                    for line in view(record, layout):
                        assert all(style in LOOKS or not style for style, _ in line)
                        text = plain(line)
                        assert text.replace("\u3000", " ").isprintable()
                        assert painter.paint(line).count("\x1b[0m") == sum(
                            1 for style, part in line if style and part
                        )
                (draw,) = Summaries().draws([record])
                for line in draw(layout):
                    failed = any(style == lay.ERROR for style, _ in line)
                    assert width is None or failed or cells(plain(line)) <= max(width, 60)


@pytest.mark.parametrize("depth", [10, 1000, 20000])
def test_deep_nesting(depth: int) -> None:
    (record,) = codecs.decode(nested(depth), "esnp-line")
    assert not record.damaged
    lines = [plain(line) for line in tree(record, Layout(None))]
    assert len(lines) == depth + 3
    assert max(map(len, lines)) < 150
    assert f"{depth + 1}· " in lines[-2] or depth < 24
    hexes = [plain(line) for line in hexview(record, Layout(None))]
    assert len(hexes) > depth
    assert max(map(len, hexes)) < 200
    text = "".join(json_array([record]))
    assert max(len(line) - len(line.lstrip()) for line in text.splitlines()) <= 128
    assert codecs.dumps(codecs.loads(text)) == f"[{record.json_text()}]"


def test_work_is_linear_in_the_nesting() -> None:
    sizes = []
    for depth in (2000, 4000, 8000):
        (record,) = codecs.decode(nested(depth), "esnp-line")
        sizes.append(sum(len(plain(line)) for line in tree(record, Layout(None))))
    assert sizes[2] - sizes[1] < 2.2 * (sizes[1] - sizes[0])


def test_drawing_starts_before_the_end() -> None:
    (record,) = codecs.decode(esnp(b"\x17\x80\x89\x7a" + b"\0" * 1_000_000), "esnp-line")
    lines = tree(record, Layout(None))
    next(lines)
    assert "list (1,000,000)" in plain(next(lines))


@given(st.text(max_size=300))
def test_text_from_the_wire_is_harmless(text: str) -> None:
    shown = clean(text)
    assert all(char.isprintable() or char == "\u3000" for char in shown)
    invisible = re.search(
        "[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]", text
    )
    piled = re.search("m{5}", "".join("m" if category(char) in ("Mn", "Me") else "." for char in text))
    assert shown == text or invisible or piled or not text.replace("\u3000", "").isprintable()


def test_escapes_are_shown() -> None:
    assert quote('a"b\\c\n\x1b[31m\u202e\ud800中') == '"a\\"b\\\\c\\n\\u001b[31m\\u202e\\ud800中"'


@given(st.text(max_size=80), st.integers(4, 60))
def test_cut_text_fits_its_room(text: str, room: int) -> None:
    layout = Layout(80, cells)
    short = layout.cut(text, room)
    assert text.startswith(short)
    assert cells(short) <= room
    if text.isascii():
        assert len(short) == min(len(text), room)


@given(st.text(min_size=1, max_size=400), st.integers(30, 100))
def test_shortened_text_states_its_length(text: str, room: int) -> None:
    line = lay.text_segments(text, room, Layout(100, cells))
    shown = plain(line)
    if "…" in shown and "…" not in text:
        assert f" {count(len(text), 'character')}" in shown
    elif "…" not in text:
        assert shown == quote(text)
    assert lay.text_segments(text, 10**9, Layout()) == [(lay.STRING, quote(text))]


def test_bytes_are_shown_as_hex_and_text() -> None:
    layout = Layout()
    assert plain(lay.bytes_segments(b"", 80, layout)) == "0 bytes"
    assert plain(lay.bytes_segments(b"\0", 80, layout)) == "1 byte 00"
    assert plain(lay.bytes_segments(b"Hello", 80, layout)) == '5 bytes 48656c6c6f "Hello"'
    assert plain(lay.bytes_segments(b"Hello", 80, layout, digits=False)) == '5 bytes "Hello"'
    assert plain(lay.bytes_segments(bytes(100), 40, layout)) == "100 bytes " + "00" * 14 + "…"
    assert plain(lay.bytes_segments("中文字".encode() * 30, 40, Layout(80, cells))).startswith(
        '270 bytes "中文字中'
    )


# Python values to JSON text in the notation's style, for the indenter.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=60,
)


@given(VALUES)
def test_indented_json_has_the_same_value(value: object) -> None:
    text = "".join(indented(json.dumps(value, ensure_ascii=False)))
    assert json.loads(text) == value
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        assert (len(line) - len(stripped)) % 2 == 0
    if len(text) <= 100:
        assert "\n" not in text


def test_an_empty_json_array() -> None:
    assert "".join(json_array([])) == "[]\n"


@given(st.lists(st.binary(max_size=50), max_size=8))
def test_bytes_as_text(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert "".join(hex_digits(chunks)) == whole.hex() + ("\n" if chunks else "")
    rows = [ROW.match(plain(line)) for line in dump(chunks)]
    assert b"".join([bytes.fromhex(row[2]) for row in rows if row]) == whole
    code = "".join(c_array(chunks))
    assert bytes(int(number, 16) for number in re.findall(r"0x(..),", code)) == whole
    assert f"data_length = {len(whole)};" in code


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 µs"),
        (0.000087, "87 µs"),
        (0.00123, "1.23 ms"),
        (2.5, "2.50 s"),
        (0.09996, "100 ms"),
        (0.99949, "999 ms"),
        (0.9996, "1.00 s"),
        (99.9, "99.9 s"),
        (123.4, "2 min 3 s"),
        (86400.0, "24 h 0 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_hdf_as_a_tree() -> None:
    text = "Output {\n errmsg = bad\n}\nlong = " + "x" * 200 + "\nl : Output\na [b=1] = c\n"
    root = {"type": "STRING", "name": "root", "value": text}
    message = {"reply": {"id": 1, "code": 1000, "variables": [root]}}
    (record,) = codecs.decode(codecs.encode(message, "mevent"), "mevent")
    drawn = [plain(line) for line in tree(record, Layout(None))]
    start = next(position for position, line in enumerate(drawn) if "hdf: (4)" in line)
    assert [line[line.index("─ ") + 2 :] for line in drawn[start + 1 : start + 9]] == [
        "Output  children: (1)",
        'errmsg: "bad"',
        f'long: "{"x" * 200}"',
        'l  link: "Output"',
        "a",
        "attributes: map (1)",
        '"b": "1"',
        'value: "c"',
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0e7ff8000000000000", "NaN double"),
        ("0efff0000000000000", "-Infinity double"),
        ("0d7f800000", "Infinity Float32"),
    ],
)
def test_numbers_that_are_not_finite_are_shown_as_in_the_notation(value: str, shown: str) -> None:
    (record,) = codecs.decode(esnp(bytes.fromhex(value)), "esnp-line")
    assert any(plain(line).endswith(f"value: {shown}") for line in tree(record, Layout(None)))
