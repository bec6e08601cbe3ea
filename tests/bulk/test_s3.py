"""Sources and targets on S3, as moto's server plays it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inprocess import contents, run, sums_agree, table
from made import frames, rotated

from wirelens.cli.bulk import stores
from wirelens.cli.bulk.files import Folder
from wirelens.cli.bulk.job import Job, JobOptions
from wirelens.cli.bulk.ledger import NotAllowedError
from wirelens.cli.tables.columns import TABLES

server = pytest.importorskip("moto.server")

pytestmark = [pytest.mark.once]


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URI of an empty bucket, whose query follows the folders in it."""
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    query = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    place = "s3://key:secret@bucket{}?" + query
    stores.client(place).create_bucket(Bucket="bucket")
    yield place
    moto.stop()


def downloaded(place: str, target: Path) -> Path:
    folder = Folder(place)
    for path in folder.walk():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(folder.read(path))
    return target


def test_tables_on_s3(bucket: str, tmp_path: Path) -> None:
    paths = rotated(frames(3, 8), 3, tmp_path / "in")
    sources = Folder(bucket.format("/in"))
    for path in paths:
        sources.write(path.read_bytes(), path.name)
    out = bucket.format("/out")
    run([bucket.format(f"/in/{path.name}") for path in paths[:2]], out, resume=True)
    run([bucket.format("/in")], out, resume=True, final=True)
    run(paths[:2], tmp_path / "other", resume=True)
    run(paths, tmp_path / "other", resume=True, final=True)
    found = downloaded(out, tmp_path / "out")
    assert contents(found) == contents(tmp_path / "other")
    sums_agree(found)
    assert not [path for path in found.rglob("*") if path.is_file() and "_runs" in path.parts]


def test_delta_tables_on_s3(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their part files are neither copied nor moved: the commit of a log shows them."""
    deltalake = pytest.importorskip("deltalake")
    copied: list[str] = []
    copy = stores.copy_object

    def logged(place: str, source: str, target: str) -> bool:
        copied.append(target)
        return copy(place, source, target)

    monkeypatch.setattr(stores, "copy_object", logged)
    paths = rotated(frames(3, 8), 3, tmp_path / "in")
    out = bucket.format("/delta")
    run(paths[:2], out, delta=True)
    run(paths, out, delta=True, mode="overwrite")
    assert copied == ["bucket/delta/_ledger/ledger.parquet"] * 2
    run(paths, tmp_path / "other")
    for name in TABLES:
        place, options = stores.delta_place(bucket.format(f"/delta/{name}"))
        assert place == f"s3://bucket/delta/{name}"
        found = deltalake.DeltaTable(place, storage_options=options)
        assert found.version() == 1
        assert found.to_pyarrow_table().num_rows == len(table(tmp_path / "other", name))


def test_of_two_commits_on_s3_one_succeeds(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = bucket.format("/two")
    first = Job(JobOptions([], out))
    first.inspect()
    with pytest.raises(NotAllowedError, match="another run is active"):
        Job(JobOptions([], out)).inspect()
    second = Folder(out)
    exists: Any = Folder.exists

    def late(folder: Folder, *parts: str) -> bool:
        """Just before the commit, another process commits."""
        assert second.create(
            b'{"run": "", "delta": {}, "remove": [], "move": []}', "_ledger/_versions/00000001.json"
        )
        monkeypatch.setattr(Folder, "exists", exists)
        return bool(exists(folder, *parts))

    monkeypatch.setattr(Folder, "exists", late)
    with pytest.raises(NotAllowedError, match="another run took over"):
        first.run.commit([], {}, [])
    assert not second.create(b"", "_ledger/_versions/00000001.json")
    first.run.end()
    monkeypatch.setattr(stores, "has_client", lambda: False)
    with pytest.raises(NotAllowedError, match="boto3"):
        Job(JobOptions([], out, mode="append")).inspect()
