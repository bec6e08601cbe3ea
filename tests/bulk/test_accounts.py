"""Accounts cross processes whole, and functions return what they find instead of filling in dicts."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pyarrow as pa
from inprocess import run
from made import capture, frames, messages
from pyspark.sql.streaming.datasource import ReadAllAvailable

from wirelens.cli.bulk import counting, plain_json
from wirelens.cli.bulk.accounts import (
    BucketAccount,
    InputAccount,
    Part,
    Problem,
    RangeAccount,
    load_bucket_account,
)
from wirelens.cli.bulk.files import Folder
from wirelens.cli.bulk.plan import load_range
from wirelens.cli.bulk.streaming import Offset, RecordStream
from wirelens.cli.bulk.tasks import Task
from wirelens.cli.tables.counts import COUNTS
from wirelens.codecs import loads

BULK = Path(__file__).resolve().parent.parent.parent / "cli" / "bulk"
FILLS = {"update", "setdefault", "pop", "clear"}


def filled_dicts(source: str) -> list[str]:
    """Parameters annotated as a dict to Any that their function changes."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        arguments = function.args
        dicts = {
            argument.arg
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if argument.annotation is not None and ast.unparse(argument.annotation) == "dict[str, Any]"
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, ast.AugAssign):
                targets = [node.target]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                targets = [node.func] if node.func.attr in FILLS else []
            else:
                continue
            for target in targets:
                base = target.value if isinstance(target, ast.Subscript | ast.Attribute) else target
                if isinstance(base, ast.Name) and base.id in dicts:
                    found.append(f"{function.name}({base.id}), line {node.lineno}")
    return found


def test_no_function_fills_in_a_dict_of_its_caller() -> None:
    head = "def f(a: dict[str, Any], b: dict[str, int]) -> None:\n"
    body = "    a['x'] = 1\n    a |= {}\n    a.update({})\n    b['y'] = a['x']"
    assert filled_dicts(head + body) == ["f(a), line 2", "f(a), line 3", "f(a), line 4"]
    found = {path.name: filled_dicts(path.read_text()) for path in BULK.glob("*.py")}
    assert {name: places for name, places in found.items() if places} == {}


def test_accounts_come_back() -> None:
    ranges = [
        RangeAccount(
            file=1,
            place=2,
            read=3,
            raw=4,
            end=5,
            state=("pcap", (1, 2), ((3, 4),)),
            time=6,
            packets=7,
            first_us=-1,
            last_us=8,
            compressed=False,
            damages=1,
            problems=[Problem("bad-packet", 9, "a header is cut")],
        )
    ]
    inputs = [InputAccount(3, read=4, container="hex", problems=[Problem("truncated", 0, "cut off")])]
    account = BucketAccount(
        bucket=0,
        seconds=0.5,
        flows=2,
        parts=[Part("messages", "stage/x.parquet", 7)],
        counted=1,
        ranges=ranges,
        inputs=inputs,
        protocols={"dubbo": [1, 2]},
        errors={"truncated": 1},
        slowest=[(5, "dubbo", "a reply")],
        methods=[("dubbo", "Users.find", [3, 9, 5])],
        fragments=[(b"\0\xff", 0, True, b"data", 1, 2, 3)],
    )
    back = load_bucket_account(plain_json.loads(plain_json.dumps(account)))
    assert plain_json.dumps(back) == plain_json.dumps(account)
    assert (back.ranges, back.inputs, back.parts) == (ranges, inputs, account.parts)
    assert back.slowest == account.slowest
    assert back.methods == account.methods


def test_bytes_have_a_key_that_is_not_one_of_the_notation() -> None:
    text = plain_json.dumps(b"\x01\x02").decode()
    assert "$bytes" not in text
    assert plain_json.loads(b'{"$bytes": "0102"}') == {"$bytes": "0102"}  # hex of the notation stays as it is
    assert loads(text) == {"$b64": "AQI="}


def test_executors_do_not_import_click(tmp_path: Path) -> None:
    """What runs on the nodes reads pasted text and captures without the command line's library."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.hex").write_text(next(data for data in messages("esnp.jsonl") if len(data) > 30).hex())
    (source / "a.pcap").write_bytes(capture(frames(5, 5)))
    script = (
        "import sys\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "import inprocess\n"
        f"report = inprocess.run([{str(source)!r}], {str(tmp_path / 'out')!r})\n"
        "assert report.files == 2 and report.messages > 0, report\n"
        "assert 'click' not in sys.modules and 'rich' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # the same messages come out in this process
    assert run([source / "a.pcap"], tmp_path / "other").messages > 0


def test_counts_of_files_are_added_up_in_parts(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    expected: dict[int, list[int]] = {}
    for bucket in range(5):
        counts = {file: [bucket + file + what for what in range(COUNTS)] for file in range(bucket, 9)}
        counting.write_counts(folder, "_runs/x", bucket, counts)
        for file, amounts in counts.items():
            before = expected.get(file, [0] * COUNTS)
            expected[file] = [a + b for a, b in zip(before, amounts, strict=True)]
    assert counting.summed(folder, "_runs/x", range(5)) == expected
    parts = [pa.record_batch([pa.array(places)], names=["id"]) for places in ([0, 2], [1, 3, 4])]
    sums: dict[int, list[int]] = {}
    for part in parts:
        for batch in counting.sums_of_buckets(str(tmp_path), "_runs/x", list(range(5)), [part]):
            for file, *amounts in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                before = sums.get(file, [0] * COUNTS)
                sums[file] = [a + b for a, b in zip(before, amounts, strict=True)]
    assert sums == expected
    empty = pa.record_batch([pa.array([], pa.int64())], names=["id"])
    assert list(counting.sums_of_buckets(str(tmp_path), "_runs/x", [], [empty])) == []


def test_a_stream_reads_each_file_once(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.hex").write_text("da bb e2")
        os.utime(tmp_path / f"{number}.hex", (1000 + number, 1000 + number))
    stream = RecordStream({"path": str(tmp_path)}, ["kind"])

    def new(start: Offset, end: Offset) -> list[str]:
        tasks = stream.partitions(start, end)
        return [Path(load_range(plain).name).stem for task in tasks for plain in cast(Task, task).ranges]

    first = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    assert new(stream.initialOffset(), first) == ["0", "1", "2"]
    assert stream.latestOffset(first, ReadAllAvailable()) == first
    assert new(first, first) == []
    (tmp_path / "late.hex").write_text("da bb e2")
    os.utime(tmp_path / "late.hex", (999, 999))  # written before the others, then moved here
    (tmp_path / "0.hex").unlink()
    second = stream.latestOffset(first, ReadAllAvailable())
    assert new(first, second) == ["late"]
    assert new(stream.initialOffset(), first) == ["1", "2"]  # started again
    (tmp_path / "day.hex").write_text("da bb e2")
    third = stream.latestOffset(second, ReadAllAvailable())
    assert new(second, third) == ["day"]
    assert len(third["seen"]) == 1  # the others are too old to come again
    stream.prepareForTriggerAvailableNow()
    (tmp_path / "new.hex").write_text("da bb e2")
    assert stream.latestOffset(third, ReadAllAvailable()) == third
