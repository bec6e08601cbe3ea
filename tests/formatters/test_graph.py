"""Graphs: boxes, rows and arrows; limits; and hostile text."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
import trees
from hypothesis import given
from hypothesis import strategies as st
from trees import NULL, Tree, bean, binary, entries, items, long, ref, text, whole

from wirelens import codecs
from wirelens.codecs import tape as t
from wirelens.codecs.codec import Codec
from wirelens.codecs.hessian.java import annotate
from wirelens.codecs.node import Node
from wirelens.codecs.record import Record
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import clean, quote
from wirelens.formatters import graph


class Stub(Codec):
    """A protocol of hand-made trees."""

    text = "a stub"

    def annotate(self, node: Node) -> str:
        return annotate(node)

    def summary(self, root: Node) -> str:
        return self.text


STUB = Stub("hessian2")


def record(*values: Tree, codec: Codec = STUB) -> Record:
    return of_tape(trees.build(list(values)), codec)


def of_tape(tape: Tape, codec: Codec = STUB) -> Record:
    return Record(codec, 0, len(tape.buffers[0].data), tape)


# --- reading graphs back -----------------------------------------------------------------

LABEL = r'"(?:[^"\\]|\\.)*"'
DOT_LINES = [
    r"digraph messages \{", r"  (graph|node|edge) \[[a-z0-9A-Z=, ]+\];",
    r"  subgraph cluster_\d+ \{", rf"    label={LABEL};", r"  \}", r"\}",
    rf"    (?P<start>r\d+\w+) -> (?P<end>r\d+\w+) \[label=(?P<label>{LABEL})(?P<style>(, [a-z]+=[a-z]+)*)\];",
    rf"  (more|further) \[shape=note, style=dashed, label={LABEL}\];",
]  # fmt: skip
TABLE = re.compile(r"    (r\d+\w+) \[label=<(<TABLE .*?</TABLE>)>\];")

MERMAID_TEXT = r"(?:[^\"`<>;&\\*$%{}\[\]|~#:]|#\d+;|<br/>|</?[bi]>)*"
MERMAID_LINES = [
    r"flowchart LR", rf'  subgraph r\d+\["{MERMAID_TEXT}"\]', r"    direction LR", r"  end",
    rf'    (?P<box>r\d+\w+)\["(?P<text>{MERMAID_TEXT})"\]',
    rf'    (?P<start>r\d+\w+) (-->|-\.->)(\|"(?P<label>{MERMAID_TEXT})"\|)? (?P<end>r\d+\w+)',
    rf'  (more|further)\["{MERMAID_TEXT}"\]',
    r"  classDef [a-z]+ [a-z:#0-9, -]+", r"  class [a-z0-9,]+ [a-z]+",
]  # fmt: skip


class Read:
    """A graph read back: the cells of each box by its identifier, and arrows (start, end, label, style)."""

    def __init__(self) -> None:
        self.boxes: dict[str, list[str]] = {}
        self.arrows: list[tuple[str, str, str, str]] = []
        self.rest: list[str] = []

    def named(self) -> list[tuple[str, str, str]]:
        """The arrows between boxes by their titles."""
        return [(self.boxes[start][0], label, self.boxes[end][0]) for start, end, label, _ in self.arrows]


def unquoted(quoted: str) -> str:
    return unescape(re.sub(r"\\(.)", r"\1", quoted[1:-1]))


def read_dot(lines: Iterable[str]) -> Read:
    read = Read()
    document = "".join(lines)

    def table(match: re.Match[str]) -> str:
        root = ElementTree.fromstring(match[2])
        read.boxes[match[1]] = ["".join(cell.itertext()) for cell in root.iter("TD")]
        return ""

    for line in TABLE.sub(table, re.sub(r"\n(?=      |    </TABLE)", " ", document)).split("\n"):
        matches = [match for pattern in DOT_LINES if (match := re.fullmatch(pattern, line))]
        assert matches or not line, line
        if matches and "start" in matches[0].groupdict():
            match = matches[0]
            read.arrows.append((match["start"], match["end"], unquoted(match["label"]), match["style"]))
        elif matches:
            read.rest.append(line)
    read.arrows.reverse()
    return read


def plain(label: str) -> str:
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), re.sub(r"</?[bi]>", "", label))


def read_mermaid(lines: Iterable[str]) -> Read:
    read = Read()
    for line in "".join(lines).splitlines():
        matches = [match for pattern in MERMAID_LINES if (match := re.fullmatch(pattern, line))]
        assert matches, line
        groups = matches[0].groupdict()
        if "box" in groups:
            read.boxes[groups["box"]] = [plain(part) for part in groups["text"].split("<br/>")]
        elif "start" in groups:
            read.arrows.append((groups["start"], groups["end"], plain(groups["label"] or ""), ""))
        else:
            read.rest.append(line)
    return read


# --- boxes, rows and arrows ------------------------------------------------------------------------------


def order() -> Record:
    return record(
        bean(
            "example.Order",
            id=long(7),
            status=bean("example.Status", name=text("PAID")),
            buyer=bean("example.Customer", name=text("Ada"), referrer=ref(2)),
            total=bean("java.math.BigDecimal", value=text("19.90")),
            lines=items(
                bean("example.Line", sku=text("A-1"), order=ref(0)),
                bean("example.Line", sku=text("B-2"), order=ref(0)),
            ),
            tags=items(text("gift"), text("fast")),
            nothing=NULL,
            gone=ref(99),
        )
    )


def test_an_order() -> None:
    drawn = read_dot(graph.dot([order()]))
    assert list(drawn.boxes.values())[-2] == [
        "example.Order #0",
        *("id", "7"),
        *("status", "Status.PAID (Status)"),
        *("total", "19.90 (BigDecimal)"),
        *("tags", '["gift", "fast"]'),
        *("nothing", "null"),
    ]
    assert drawn.named() == [
        ("hessian2 message", "values[0]", "example.Order #0"),
        ("example.Order #0", "buyer", "example.Customer #2"),
        ("example.Order #0", "lines", "list"),
        ("list", "0", "example.Line"),
        ("list", "1", "example.Line"),
        ("example.Order #0", "gone", "→ #99no object has this number"),
        ("example.Customer #2", "referrer", "example.Customer #2"),
        ("example.Line", "order", "example.Order #0"),
        ("example.Line", "order", "example.Order #0"),
    ]
    assert [bool(style) for _, _, _, style in drawn.arrows] == [False] * 5 + [True] * 4


def test_both_formats_agree() -> None:
    first, second = read_dot(graph.dot([order()])), read_mermaid(graph.mermaid([order()]))
    assert [(start, end, label) for start, end, label, _ in first.arrows] == [
        (start, end, label) for start, end, label, _ in second.arrows
    ]
    assert set(first.boxes) == set(second.boxes)
    name = next(name for name, cells in first.boxes.items() if cells[0] == "example.Customer #2")
    assert first.boxes[name] == ["example.Customer #2", "name", '"Ada"']
    assert second.boxes[name] == ["example.Customer #2", 'name = "Ada"']


def test_the_same_message_gives_the_same_text() -> None:
    for form in (graph.dot, graph.mermaid):
        assert list(form([order(), order()])) == list(form([order(), order()]))


@pytest.mark.parametrize(
    ("tree", "row"),
    [
        (items(), "[]"),
        (items(whole(1), whole(2), of="[int"), "[int [1, 2]"),
        (items(*[whole(n) for n in range(20)]), "[0, 1, 2, 3, 4, 5, 6, 7, … 20 items]"),
        (entries(), "{}"),
        (text("x" * 100), '"' + "x" * 42 + '…" 100 characters'),
        (binary(bytes(3)), "3 bytes 000000"),
        (binary(bytes(range(100))), f"100 bytes {bytes(range(24)).hex()}…"),
        (binary(b'{"a":1}'), r'7 bytes 7b2261223a317d "{\"a\":1}" (looks like JSON: {"a":1})'),
        ({"kind": "date", "ms": 894621091000}, "1998-05-08T09:51:31.000Z"),
        ({"kind": "date", "ms": 1 << 60}, f"{1 << 60} ms"),
        ({"kind": "bool", "value": True}, "true"),
        (text("a\nb\0"), r'"a\nb\u0000"'),
        (text("\ud800\u202e"), r'"\ud800\u202e"'),
    ],
)
def test_rows(tree: Tree, row: str) -> None:
    drawn = read_dot(graph.dot([record(bean("example.Car", it=tree))]))
    assert next(iter(drawn.boxes.values())) == ["example.Car", "it", row]
    drawn = read_mermaid(graph.mermaid([record(bean("example.Car", it=tree))]))
    assert list(drawn.boxes.values())[1] == ["example.Car", f"it = {row}"]


def test_maps() -> None:
    tree = entries(
        (text("a"), whole(1)),
        (whole(5), items(items())),
        (bean("k.Key", x=NULL), text("v")),
        (items(entries((NULL, NULL))), bean("k.Car", y=NULL)),
        (text("me"), ref(0)),
    )
    drawn = read_dot(graph.dot([record(tree)]))
    assert ["map #0", "a", "1", "value 2", '"v"'] in drawn.boxes.values()
    assert [(label, end) for start, label, end in drawn.named() if start == "map #0"] == [
        ("5", "list"),
        ("key 2", "k.Key"),
        ("key 3", "list"),
        ("value 3", "k.Car"),
        ("me", "map #0"),
    ]


def test_a_shared_list_of_scalars_is_a_box() -> None:
    drawn = read_dot(graph.dot([record(items(items(whole(1)), ref(1)))]))
    assert drawn.named()[1:] == [("list", "0", "list #1"), ("list", "1", "list #1")]


def test_dangling_references_of_one_number_share_a_box() -> None:
    drawn = read_dot(graph.dot([record(items(ref(9), ref(9), ref(8)))]))
    assert [end for _, _, end in drawn.named()][1:] == [f"→ #{n}no object has this number" for n in (9, 9, 8)]
    assert len(drawn.boxes) == 4


def test_errors_notes_and_undecoded_bytes() -> None:
    tape = trees.build([whole(1)])
    for number in range(5):
        tape.note("dangling-ref", number, "nothing there", tape.buffers[0])
    error = codecs.DecodeError("truncated", 9, "the input ends")
    damaged = Record(STUB, 5, 9, tape, error, b"\1\2")
    unknown = Record(None, 14, 3, None, codecs.DecodeError("unknown-protocol", 14, "none fits"), b"abc")
    lines = list(graph.dot([damaged, unknown]))
    drawn = read_dot(lines)
    (heading,) = [line for line in lines if "truncated" in line]
    assert "truncated at 9: the input ends" in heading
    assert heading.count("note dangling-ref") == 3
    assert "2 more notes" in heading
    assert ["3 bytes", "error", "unknown-protocol: none fits", "bytes", "61 62 63"] in drawn.boxes.values()
    assert read_mermaid(graph.mermaid([damaged, unknown])).boxes["r1raw"][0] == "3 bytes"


def test_nothing_to_draw() -> None:
    assert not read_dot(graph.dot([])).boxes
    assert not read_mermaid(graph.mermaid([])).boxes


# --- limits -------------------------------------------------------------------------------------


def ring(size: int) -> bytes:
    """A ring of objects linked both ways, in final Hessian."""
    number = [b"I" + place.to_bytes(4, "big") for place in range(size)]
    back = [b"Q" + number[place - 1] for place in range(size)]
    return b"C\1a\x92\4next\4prev" + b"\x60" * size + b"Q\x90" + b"".join(reversed(back))


def test_a_long_ring_has_straight_arrows() -> None:
    for size, straight in ((20, False), (400, True)):
        document = "".join(graph.dot(codecs.decode(ring(size), "hessian2")))
        assert ("splines=line" in document) == straight
        assert document.count("style=dashed") == size + 1


def test_many_boxes() -> None:
    many = record(items(*[items(items()) for _ in range(1500)]))
    lines = list(graph.dot([many, many]))
    drawn = read_dot(lines)
    assert len(drawn.boxes) == graph.DOT_BOXES
    (more,) = [line for line in lines if line.startswith("  more ")]
    assert f'"{2 * (1500 - 998)} lists, maps, objects and arrows left out' in more
    (further,) = [line for line in lines if line.startswith("  further ")]
    assert "1 more record left out" in further


def test_many_records() -> None:
    lines = list(graph.dot([record(whole(1))] * (graph.RECORDS + 2)))
    assert sum("subgraph" in line for line in lines) == graph.RECORDS
    assert any("2 more records left out" in line for line in lines)


def test_many_references() -> None:
    tree = items(*[ref(0)] * 5000, *[ref(n) for n in range(10, 2000)])
    drawn = read_dot(graph.dot([record(tree)]))
    assert len(drawn.arrows) == 1 + graph.MAX_REFERENCES * graph.DOT_BOXES
    dangling = items(*[ref(n) for n in range(10, 4000)])
    assert len(read_dot(graph.dot([record(dangling)])).boxes) == graph.DOT_BOXES


def test_many_rows() -> None:
    drawn = read_dot(graph.dot([record(bean("a.Wide", **{f"f{n}": whole(n) for n in range(100)}))]))
    (cells,) = [cells for cells in drawn.boxes.values() if cells[0] == "a.Wide"]
    assert len(cells) == 1 + 2 * (graph.MAX_ROWS + 1)
    assert cells[-2:] == ["…", "and more"]


@pytest.mark.parametrize(
    "tree",
    [
        items(*[bean("example.Car", color=text("é" * 40), model=text('"' * 60)) for _ in range(240)]),
        items(*[ref(0)] * 2000),
        items(*[items(items(ref(1)), ref(0)) for _ in range(300)]),
        text("x"),
    ],
)
def test_mermaid_stays_within_its_limits(tree: Tree) -> None:
    lines = list(graph.mermaid([record(tree)] * 3))
    drawn = read_mermaid(lines)
    assert len("".join(lines)) < 50_000
    assert len(drawn.arrows) < 500
    assert len(drawn.boxes) <= graph.MERMAID_BOXES
    left_out = any('more["' in line or 'further["' in line for line in lines)
    assert left_out == (tree["kind"] != "string")
    assert all(start in drawn.boxes and end in drawn.boxes for start, end, _, _ in drawn.arrows)


def test_deep_nesting() -> None:
    builder = trees.Builder()
    opened = [builder.opened(t.LIST, number) for number in range(100_000)]
    for index in reversed(opened):
        builder.tape.close(index, len(builder.data))
    tape = Tape(Buffer(bytes(builder.data)))
    tape.take(builder.tape)
    lines = list(graph.dot([of_tape(tape)]))
    assert len(read_dot(lines).boxes) == graph.DOT_BOXES
    assert any("arrows left out: at most" in line for line in lines)


# --- hostile text -------------------------------------------------------------------------------

HOSTILE = [
    '"', "\\", '\\"', '"];', "<b>", "</TABLE>>];", "&amp;", "&#34;", "#34;", "#quot;", "`", "`x`",
    "\n", "\r\n", "\x00", "{", "}", "[", "]", "|", ";", "%%", "%%{init: {}}%%", "-->", "---", "end",
    "graph", "style a fill:#fff;", "click a", "classDef x:#a;", "1. one", "- one", "1) one",
    "    four", "# head", "*x*", "_x_", "__x__", "~~x~~", "$$x$$", "$x", "\\N", "\\G", "<script>",
    "javascript:alert(1)", "\ud800", "\udc00\ud800", "😀", "\u202e", "\ufffe", "ﬂ°°34¶ß", "\x7f",
    "]]>", "<!--", "subgraph x", "o", "x", "", " ", "  ", "é", "\u3000", "<br/>", "fa:fa-x", "'",
    "@{", "\t",
]  # fmt: skip


def hostile(content: str) -> list[Record]:
    class Hostile(Stub):
        text = content

    members: dict[str, Tree] = {
        "inner": bean("a.B", x=items(items(), of=content)),
        "other": entries((text(content), items(NULL, items()))),
        "exception": bean("a.BadException", detailMessage=text(content), cause=ref(0)),
        "enum": bean("a.FileEnum", name=text(content)),
        "file": bean("java.io.File", value=text(content)),
        content or "empty": text(content),
    }
    tree = bean(content, **members)
    tape = trees.build([tree, ref(0), ref(77)])
    tape.note("dangling-ref", 1, content, tape.buffers[0])
    return [
        of_tape(tape, Hostile("hessian2")),
        Record(None, 1, 2, None, codecs.DecodeError("x", 1, content), b""),
    ]


@pytest.mark.parametrize("content", HOSTILE)
def test_hostile_text_stays_text(content: str) -> None:
    drawn = read_dot(graph.dot(hostile(content)))
    cells = [cell for box in drawn.boxes.values() for cell in box]
    assert quote(content) in cells
    drawn = read_mermaid(graph.mermaid(hostile(content)))
    rows = [row for box in drawn.boxes.values() for row in box]
    assert f"{clean(content) or 'empty'} = {quote(content)}" in rows


anything = st.one_of(st.text(st.characters(), max_size=80), st.lists(st.sampled_from(HOSTILE)).map("".join))


@given(anything)
def test_no_text_breaks_the_quotes(content: str) -> None:
    for lines, read in (
        (graph.dot(hostile(content)), read_dot),
        (graph.mermaid(hostile(content)), read_mermaid),
    ):
        written = list(lines)
        "".join(written).encode()
        assert all(line.index("\n") == len(line) - 1 for line in written)
        assert len(read(written).boxes) > 4


@given(anything)
def test_edge_labels_come_back(content: str) -> None:
    tree = bean("a.B", **{content: items(items())})
    joined = content.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    label = clean(graph.shortened(joined, graph.MAX_NAME))
    assert label in [arrow[2] for arrow in read_dot(graph.dot([record(tree)])).arrows]
    assert label in [arrow[2] for arrow in read_mermaid(graph.mermaid([record(tree)])).arrows]


# --- arbitrary graphs and other protocols -------------------------------------------------------

leaves = st.one_of(
    st.just(NULL), st.integers(0, 9).map(whole), st.integers(-1, 9).map(ref), st.just(text("x"))
)


def nested(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    content = st.lists(inner, max_size=4)
    return st.one_of(
        content.map(lambda values: items(*values)),
        st.lists(st.tuples(inner, inner), max_size=3).map(lambda values: entries(*values)),
        content.map(lambda values: bean("a.B", **{f"f{n}": value for n, value in enumerate(values)})),
    )


@given(st.lists(st.recursive(leaves, nested, max_leaves=20), max_size=3))
def test_every_graph_draws(values: list[Tree]) -> None:
    one = record(*values)
    drawn = read_dot(graph.dot([one]))
    assert all(start in drawn.boxes and end in drawn.boxes for start, end, _, _ in drawn.arrows)
    holders = [end for _, end, _, style in drawn.arrows if not style]
    assert len(holders) == len(set(holders)), "each box is contained in one other"
    assert set(drawn.boxes) == set(read_mermaid(graph.mermaid([one])).boxes)


def test_every_vector_of_esnp_draws(shared: Path) -> None:
    count = 0
    for line in (shared / "vectors/esnp.jsonl").read_text().splitlines():
        vector = json.loads(line)
        records = codecs.decode(bytes.fromhex(vector["hex"]), vector["protocol"])
        drawn = read_dot(graph.dot(records))
        assert len(drawn.boxes) >= len(records)
        assert all(start in drawn.boxes and end in drawn.boxes for start, end, _, _ in drawn.arrows)
        read_mermaid(graph.mermaid(records))
        count += 1
    assert count > 50


def test_items_of_a_layout_are_attached_to_its_box() -> None:
    message: codecs.Json = {"lines": [{"type": "ADDRESS", "address": "HOST", "value": "h"}, {"type": "END"}]}
    drawn = read_dot(graph.dot(codecs.decode(codecs.encode([message], "esnp-line"), "esnp-line")))
    assert drawn.named() == [
        ("esnp-line message", "lines[0]", "lines[0]esnp://h/_/_"),
        ("esnp-line message", "lines[1]", "lines[1]"),
    ]


EXAMPLES = Path(__file__).parent.parent.parent / "examples"
CYCLE = [
    ("hessian2 values", "values[0]", "com.example.Team #0"),
    ("com.example.Team #0", "lead", "com.example.Person #2"),
    ("com.example.Team #0", "members", "list"),
    ("list", "1", "com.example.Person #4"),
    ("list", "2", "com.example.Person"),
    ("com.example.Person #2", "team", "com.example.Team #0"),
    ("list", "0", "com.example.Person #2"),
    ("com.example.Person #4", "boss", "com.example.Person #2"),
    ("com.example.Person #4", "team", "com.example.Team #0"),
    ("com.example.Person", "boss", "com.example.Person #4"),
    ("com.example.Person", "team", "com.example.Team #0"),
]


@pytest.mark.parametrize("name", ["cyclic-graph.xxd", "cyclic-graph.json"])
@pytest.mark.parametrize(("form", "read"), [("dot", read_dot), ("mermaid", read_mermaid)])
def test_the_command_line(name: str, form: str, read: Callable[[Iterable[str]], Read]) -> None:
    content = (EXAMPLES / name).read_bytes()
    if name.endswith(".json"):
        content = run("encode", "-", content=content)
    drawing = run("decode", "--as", "hessian2", "--format", form, "-", content=content)
    assert read([drawing.decode()]).named() == CYCLE


def run(*arguments: str, content: bytes) -> bytes:
    """The output of `wirelens` for this input."""
    script = "from wirelens.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        input=content,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


# --- the programs that read graphs ------------------------------------------------------------


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_it() -> None:
    records = [order(), *[one for content in HOSTILE for one in hostile(content)]]
    fan = record(items(*[items(items(ref(0))) for _ in range(30)]))
    for batch in (records, [fan], codecs.decode(ring(400), "hessian2")):
        document = "".join(graph.dot(batch)).encode()
        done = subprocess.run(["dot", "-Tsvg"], input=document, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr.decode()[:500]
        assert b"rror" not in done.stderr
        if batch is records:
            shown = unescape(done.stdout.decode())
            assert all(clean(content).strip() in shown.replace("\xa0", " ") for content in HOSTILE)


SCRIPT = """
const need = require('module').createRequire(process.env.WIRELENS_MERMAID + '/');
const dom = new (need('jsdom').JSDOM)('');
globalThis.window = dom.window; globalThis.document = dom.window.document;
const path = require('path').join(process.env.WIRELENS_MERMAID, 'node_modules/mermaid/dist/mermaid.core.mjs');
import(path).then(async ({default: mermaid}) => {
  for (const text of JSON.parse(require('fs').readFileSync(0, 'utf8'))) await mermaid.parse(text);
  console.log('read');
}).catch(error => { console.log(String(error)); process.exit(1); });
"""


@pytest.mark.skipif(
    not os.environ.get("WIRELENS_MERMAID") or shutil.which("node") is None,
    reason="WIRELENS_MERMAID names no folder in which `npm install mermaid jsdom` was done",
)
def test_mermaid_reads_it() -> None:
    drawings = ["".join(graph.mermaid(hostile(content))) for content in HOSTILE]
    drawings.append("".join(graph.mermaid([order()])))
    done = subprocess.run(
        ["node", "-e", SCRIPT],
        input=json.dumps(drawings),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "read", done.stdout[:800] + done.stderr[:800]
