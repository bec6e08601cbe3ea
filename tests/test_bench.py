"""The suite of measurements runs from end to end, in small sizes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def bench(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """The JSON of `python -m bench` with a folder of peers that is empty, and its table's text."""
    file = tmp_path / "out.json"
    command = [
        sys.executable,
        "-m",
        "bench",
        "--quick",
        "--json",
        str(file),
        "--peers",
        str(tmp_path / "none"),
    ]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert all(row["row"] in done.stdout for row in found["rows"])
    return {row["row"]: row for row in found["rows"]}


def test_a_row_without_its_peer_says_so(tmp_path: Path) -> None:
    rows = bench(tmp_path, "--only", "tree-python", "--only", "text")
    assert set(rows) == {"tree-python", "text"}
    for row in rows.values():
        assert "--setup" in row["missing"]
        assert "reached" not in row


def test_rows_without_peers(tmp_path: Path) -> None:
    rows = bench(tmp_path, "--only", "start-help", "--only", "memory-message")
    assert rows["start-help"]["reached"] == (rows["start-help"]["judged"] <= 1.3)
    assert rows["start-help"]["figures"]["ours"] > 0
    assert rows["memory-message"]["figures"]["peak"] > rows["memory-message"]["figures"]["bytes"]


@pytest.mark.parametrize(
    "protocol", ["hessian2", "hessian2-draft", "hessian1", "esnp-line", "mevent", "magline"]
)
def test_corpora_are_whole_messages(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench import corpus
    from wirelens import codecs

    monkeypatch.setattr(corpus, "SHARED", ROOT / "nowhere")
    made = corpus.load(protocol, 20)
    assert made.messages == corpus.load(protocol, 20).messages
    assert len(set(made.messages)) == 20
    assert corpus.split(corpus.join(made.messages)) == made.messages
    for message in made.messages:
        (record,) = codecs.decode(message, protocol)
        assert not record.damaged
        assert not record.notes


def test_the_large_message_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench import corpus
    from wirelens import codecs

    data = corpus.large(400_000)
    (record,) = codecs.decode(data, "hessian2")
    assert not record.damaged
    assert len(data) > 300_000
    assert codecs.encode(record) == data
