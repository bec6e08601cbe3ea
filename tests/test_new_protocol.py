"""Adding a protocol is one package and one line: a made one, in a copy, passes the contract."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A frame: `TY`, a kind (0 request, 1 reply), a 32-bit id, a 16-bit length, that many bytes of UTF-8.
PACKAGE = {
    "__init__": '"""Toy: frames of text, for tests."""\n',
    "vocabulary": '''
"""The parts of a frame."""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.node import field

MAGIC: Final = b"TY"
KINDS: Final = {0: "request", 1: "reply"}

ROOT: Final[i64] = t.head(t.STRUCT)
MARK: Final[i64] = t.head(t.MARK, field("magic")) | t.HIDDEN
KIND: Final[i64] = t.head(t.NAMED, field("kind", KINDS))
ID: Final[i64] = t.head(t.UNSIGNED, field("id"))
LENGTH: Final[i64] = t.head(t.LENGTH, field("length")) | t.HIDDEN
TEXT: Final[i64] = t.head(t.TEXT, field("text"))
''',
    "decoding": '''
"""A frame to the tape."""

from wirelens.codecs.cursor import Cursor
from wirelens.codecs.fields import read_u8, read_u16, read_u32
from wirelens.codecs.tape import Tape
from wirelens.codecs.toy import vocabulary as v


def decode(cursor: Cursor, tape: Tape) -> None:
    """Read one frame. Raises DecodeError."""
    start = cursor.pos
    root = tape.open(v.ROOT, start, 0)
    if cursor.data[start : start + 2] != v.MAGIC[: cursor.left()]:
        raise cursor.error("no-message", start, "expected TY")
    tape.leaf(v.MARK, cursor.skip(2, "the magic"), cursor.pos, 0)
    at = cursor.pos
    if read_u8(cursor, tape, v.KIND, "the kind") not in v.KINDS:
        raise cursor.error("bad-value", at, "a kind is 0 or 1")
    read_u32(cursor, tape, v.ID, "the id")
    length = read_u16(cursor, tape, v.LENGTH, "the length")
    text = cursor.skip(length, "the text")
    tape.leaf(v.TEXT, text, cursor.pos, text)
    tape.close(root, cursor.pos)
''',
    "schema": '''
"""The members of a frame in JSON."""

from wirelens.codecs.schema import Notation, Schema, integer, text
from wirelens.codecs.toy import vocabulary as v

FRAME = Schema(
    "message",
    integer("kind", 0, 1, default="request", names=v.KINDS),
    integer("id", 0, (1 << 32) - 1, default=0),
    text("text", default=""),
)
SCHEMAS = {"toy": Notation((FRAME,), {"request": {"kind": "request", "id": 5, "text": "hi"}})}
''',
    "encoding": '''
"""JSON to a frame."""

from librt.strings import BytesWriter

from wirelens.codecs.node import Json
from wirelens.codecs.toy.schema import FRAME
from wirelens.codecs.toy import vocabulary as v


def encode(message: Json, out: BytesWriter) -> None:
    """Write one frame. Raises EncodeError."""
    members = FRAME.members_of(message, "", "a frame")
    kind = FRAME.number(members, "kind")
    number = FRAME.number(members, "id")
    text = FRAME.text(members, "text")
    out.write(v.MAGIC + bytes([kind]) + number.to_bytes(4, "big") + len(text).to_bytes(2, "big") + text)
''',
    "evidence": '''
"""Evidence for frames."""

from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.toy.vocabulary import MAGIC

FRAME_BITS = 20.0
FRAMES = 16  # at most this many are read


def probe(codec: Codec, data: bytes) -> Evidence:
    """Whole frames, one after the other."""
    buffer = Buffer(data)
    cursor = Cursor(buffer, 0, len(data))
    frames = 0
    while cursor.pos < len(data) and frames < FRAMES:
        try:
            codec.decode(cursor, Tape(buffer), True)
        except DecodeError:
            break
        frames += 1
    if not frames:
        return NO_EVIDENCE
    whole = cursor.pos == len(data)
    bits = frames * FRAME_BITS
    return Evidence(bits=bits, reasons=(f"{frames} frames",), whole=whole, one=whole and frames == 1)


def resync(data: bytes, start: int, end: int) -> int:
    """The next magic with a known kind."""
    at = data.find(MAGIC, start, end + 1)
    while 0 <= at < end:
        if data[at + 2 : at + 3] in (b"\\0", b"\\1"):
            return at
        at = data.find(MAGIC, at + 1, end + 1)
    return end
''',
    "reading": '''
"""Frames for people, and their part in a conversation."""

from wirelens.codecs.codec import Exchange
from wirelens.codecs.node import Node
from wirelens.codecs.toy.vocabulary import KINDS


def kind(root: Node) -> str:
    """ "request" or "reply"."""
    return KINDS[root.number_of("kind")]


def summary(root: Node) -> str:
    """`toy request #5 text`."""
    return f"toy {kind(root)} #{root.number_of('id')} {root.text_of('text')}"


def exchange(root: Node) -> Exchange:
    """A reply has its request's id."""
    return Exchange(kind(root), str(root.number_of("id")))
''',
    "codec": '''
"""The codec of frames of text."""

from librt.strings import BytesWriter

from wirelens.codecs.codec import Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor
from wirelens.codecs.node import Json, Node
from wirelens.codecs.tape import Tape
from wirelens.codecs.toy import decoding, encoding, evidence, reading


class Toy(Codec):
    """Frames of text."""

    kinds = ("request", "reply")

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        decoding.decode(cursor, tape)

    def encode(self, message: Json, out: BytesWriter) -> None:
        encoding.encode(message, out)

    def probe(self, data: bytes, other: bytes) -> Evidence:
        return evidence.probe(self, data)

    def resync(self, data: bytes, start: int, end: int) -> int:
        return evidence.resync(data, start, end)

    def kind(self, root: Node) -> str:
        return reading.kind(root)

    def summary(self, root: Node) -> str:
        return reading.summary(root)

    def exchange(self, root: Node) -> Exchange:
        return reading.exchange(root)


CODECS = (Toy("toy"),)
''',
}
ENTRY = '    Protocol("toy", "wirelens.codecs.toy.codec", "Frames of text", "this test", (4711,)),\n'

VECTORS = [
    ("545900000000050002" + "6869", {"kind": "request", "id": 5, "text": "hi"}),
    ("545901000000050005" + "68656c6c6f", {"kind": "reply", "id": 5, "text": "hello"}),
    ("545900ffffffff0000", {"kind": "request", "id": 4294967295, "text": ""}),
]
MISTAKES = [
    ("a kind by another name", {"kind": "question"}, "kind"),
    ("an id that is too large", {"id": 1 << 32}, "id"),
    ("a text that is a number", {"text": 5}, "text"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the uncompiled package with the made protocol in it: one package and one line."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("cli", "codecs", "formatters", "setup.py"):
        source = ROOT / name
        copied = folder / name
        if source.is_dir():
            shutil.copytree(source, copied, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        else:
            shutil.copy(source, copied)
    package = folder / "codecs" / "toy"
    package.mkdir()
    for module, text in PACKAGE.items():
        (package / f"{module}.py").write_text(text.lstrip("\n"), encoding="utf-8")
    registry = folder / "codecs" / "registry.py"
    before, opening, after = registry.read_text(encoding="utf-8").partition(
        "PROTOCOLS: Final[tuple[Protocol, ...]] = (\n"
    )
    assert opening
    registry.write_text(before + opening + ENTRY + after, encoding="utf-8")
    vectors = folder / "vectors"
    vectors.mkdir()
    rows = [{"name": text, "protocol": "toy", "hex": text, "message": message} for text, message in VECTORS]
    (vectors / "toy.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    wrong = [
        {"name": name, "protocol": "toy", "message": message, "path": path}
        for name, message, path in MISTAKES
    ]
    (vectors / "mistakes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in wrong))
    code = "import pathlib, setup; setup.stage(pathlib.Path('stage'))"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=60)
    return folder


def run(copy: Path, *words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy / "stage"),
        "WIRELENS_VECTORS": str(copy / "vectors"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-P", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, input=data, capture_output=True, timeout=300, check=False
    )


@pytest.mark.slow
@pytest.mark.once
def test_a_made_protocol_passes_the_contract(copy: Path) -> None:
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/codecs/test_contract.py")
    assert done.returncode == 0, done.stdout.decode()
    assert b"toy" in run(copy, "-m", "wirelens.cli.main", "protocols").stdout
    assert b'by default "request"' in run(copy, "-m", "wirelens.cli.main", "protocols", "toy").stdout


@pytest.mark.slow
@pytest.mark.once
def test_a_made_protocol_is_detected_and_shown(copy: Path) -> None:
    data = b"".join(bytes.fromhex(text) for text, _ in VECTORS)
    shown = run(
        copy, "-m", "wirelens.cli.main", "decode", "--format", "summary", "--input", "raw", "-", data=data
    )
    assert shown.returncode == 0, shown.stderr.decode()
    assert b"reply #5 hello" in shown.stdout
    as_json = run(
        copy, "-m", "wirelens.cli.main", "decode", "--format", "jsonl", "--input", "raw", "-", data=data
    )
    back = run(copy, "-m", "wirelens.cli.main", "encode", "-", data=as_json.stdout)
    assert back.stdout == data, back.stderr.decode()
