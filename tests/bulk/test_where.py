"""`bulk --where`: the rows of `decode` with the same expression, and each byte that is left out counted."""

import json
from pathlib import Path

import inprocess
import pytest
from comparing import converted, decoded
from inprocess import sums_agree, table
from made import capture, frames, messages, rotated

from wirelens.cli.bulk.ledger import NotAllowedError
from wirelens.cli.where.language import WhereError

EXPRESSIONS = (
    "kind=request",
    "protocol=dubbo or latency>1ms",
    "not kind=response and length<200",
    "port>1024 and time>=2023-11-14T22:13:20.1",
    "flow~10.0.0.1 and not note=missing-bytes",
    "has error or has latency",
    "message.type=request or ..method~e",
    "file~1.pcap",
)


@pytest.mark.once
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_rows_are_those_of_decode(tmp_path: Path, expression: str) -> None:
    rotated(frames(17), 3, tmp_path / "in")
    payload = b"".join(data for data in messages("dubbo-frames.jsonl") if len(data) > 30)
    (tmp_path / "in" / "text.hex").write_text(payload[:3000].hex())
    report = inprocess.run([tmp_path / "in"], tmp_path / "out", where=(expression,))
    sums_agree(tmp_path / "out")
    every = decoded([tmp_path / "in"])
    expected = decoded([tmp_path / "in"], options=["--where", expression])
    assert 0 < len(expected) < len(every)
    assert converted(tmp_path / "out") == expected
    assert report.filtered == sum(one["length"] for one in every) - sum(one["length"] for one in expected)
    ledger = table(tmp_path / "out", "_ledger")
    assert sum(row["filtered"] for row in ledger) == report.filtered
    assert {json.loads(row["settings"])["--where"] for row in ledger} == {expression}


@pytest.mark.once
def test_points(tmp_path: Path) -> None:
    for name in ("left", "right"):
        rotated(frames(5), 2, tmp_path / name)
    sources = [tmp_path / "left", tmp_path / "right"]
    words = ["--point", "folder", "--where", "point~left"]
    inprocess.run(sources, tmp_path / "out", where=("point~left",), point="folder")
    assert converted(tmp_path / "out") == decoded(sources, options=words)


@pytest.mark.once
def test_what_is_left_out_stays_left_out_when_streams_continue(tmp_path: Path) -> None:
    paths = rotated(frames(23), 3, tmp_path / "in")
    where = ("kind=request", "length<500")
    for number in range(len(paths)):
        inprocess.run(paths[: number + 1], tmp_path / "out", resume=True, final=number == 2, where=where)
        sums_agree(tmp_path / "out")
    inprocess.run(paths, tmp_path / "whole", where=where)
    assert inprocess.contents(tmp_path / "out") == inprocess.contents(tmp_path / "whole")
    assert table(tmp_path / "whole", "messages")


@pytest.mark.once
def test_to_resume_needs_the_same_expression(tmp_path: Path) -> None:
    first, second = rotated(frames(3), 2, tmp_path / "in")
    inprocess.run([first], tmp_path / "out", resume=True, where=("kind = request",))
    for other in ((), ("kind=response",), ("kind=request", "length<5")):
        with pytest.raises(NotAllowedError, match="with --where 'kind=request': --resume needs the same"):
            inprocess.run([first, second], tmp_path / "out", resume=True, where=other)
    inprocess.run([first, second], tmp_path / "out", resume=True, where=("(kind=request)",))
    inprocess.run([first], tmp_path / "every", resume=True)
    with pytest.raises(NotAllowedError, match="without --where"):
        inprocess.run([first, second], tmp_path / "every", resume=True, where=("kind=request",))


@pytest.mark.once
def test_what_cannot_be_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(capture(frames(1)))
    with pytest.raises(WhereError, match="column 1"):
        inprocess.run([tmp_path / "a.pcap"], tmp_path / "out", where=("latncy>1s",))
    assert not (tmp_path / "out").exists()
    for expression, column in (("flow>3", 5), ("flow=3", 6), ("flow!=3", 7)):  # they are numbered at the end
        with pytest.raises(WhereError, match=f"column {column}"):
            inprocess.run([tmp_path / "a.pcap"], tmp_path / "out", where=(expression,))
