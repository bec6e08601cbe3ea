"""How a run changes its target folder: completely or not at all.

    DST/messages/protocol=…/   DST/quarantine/   DST/_ledger/          what is finished
    DST/_runs/RUN/                                                     what an active run writes
        run.json     its host and process; written again as a heartbeat
        stage/…      part files of tasks, also of those that failed or were tried again
        fragments/…  left-over IP fragments
        commit.json  what to remove and what to move into place

A run changes nothing outside its own folder until `commit.json` exists, and that file appears complete. From
then on the run counts as done: the next run applies the rest of the list, whose steps may be repeated. A run
folder without `commit.json` is left from a run that ended early; it is removed.
"""

import json
import os
import posixpath
import socket
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, NamedTuple

from wirelens.cli.bulk.files import Folder, shown
from wirelens.cli.bulk.table import LEDGER, arrow_schema

RUNS = "_runs"
SETTINGS = b"wirelens.settings"  # key of the ledger file's metadata
HEARTBEAT_SECONDS = 10.0
DEAD_SECONDS = 120.0  # without a heartbeat, then a run on another host is considered dead


@dataclass
class LedgerRow:
    """A row of the ledger, with the columns that table.LEDGER describes; times in microseconds."""

    file: str
    number: int
    run: str
    status: str = "done"
    container: str = ""
    compressed: bool = False
    size: int = 0
    modified: int = 0
    digest: str = ""
    read: int = 0
    overhead: int = 0
    payload: int = 0
    decoded: int = 0
    quarantined: int = 0
    unrecognised: int = 0
    retransmitted: int = 0
    filtered: int = 0
    pending: int = 0
    packets: int | None = None
    flows: int | None = None
    messages: int = 0
    errors: int = 0
    first_time: int | None = None
    last_time: int | None = None
    selection: str = ""
    notes: list[dict[str, Any]] | None = None


class NotAllowedError(Exception):
    """The state of the folder does not allow this run; the text states why and what to do."""


class State(NamedTuple):
    """What a folder holds: the rows of the ledger, and the files of unfinished streams.

    settings: the options of the run that wrote the ledger which the next run has to share.
    """

    rows: list[LedgerRow]
    pending: list[str]
    finished: bool
    settings: Mapping[str, str] = {}


class Run:
    """An active run on a folder."""

    def __init__(self, place: str) -> None:
        self.folder = Folder(place)
        self.name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
        self._stop = threading.Event()
        self._heartbeat: threading.Thread | None = None

    @property
    def path(self) -> str:
        """The run's own folder, relative to the folder."""
        return f"{RUNS}/{self.name}"

    def begin(self, mode: str, resume: bool) -> State:
        """Finish or remove what earlier runs left, check that this one is allowed, start the heartbeat.

        Raises NotAllowedError, OSError.
        """
        recover(self.folder)
        state = load(self.folder)
        if state.finished and mode == "errorifexists" and not resume:
            raise NotAllowedError(
                f"{shown(self.folder.place)} holds the result of an earlier run: "
                "use --resume to add what is new, or --mode append or overwrite"
            )
        if not state.finished:
            others = [name for name in self.folder.names() if name != RUNS and not name.startswith(".")]
            if others and mode != "append":
                raise NotAllowedError(
                    f"{shown(self.folder.place)} is not empty and not a result of wirelens bulk: {others[0]}"
                )
        self.folder.make(self.path)
        self._write_heartbeat()
        self._heartbeat = threading.Thread(target=self._beat, daemon=True)
        self._heartbeat.start()
        return state

    def peek(self) -> State:
        """What the folder holds, without changing it."""
        return load(self.folder)

    def commit(
        self,
        rows: Sequence[LedgerRow],
        moves: Mapping[str, str],
        removes: Sequence[str],
        settings: Mapping[str, str],
    ) -> None:
        """Move the run's files into the folder: `moves` names staged files and their targets.

        The ledger is written again with `rows` and `settings`; all of this takes effect at once. Raises
        OSError.
        """
        ledger = f"_ledger/{self.name}.parquet"
        self.folder.make(self.path, "stage")
        self.folder.write(ledger_file(rows, settings), self.path, "stage", "ledger.parquet")
        steps = {
            # Single files, none of which is ever a target, so that this can be repeated.
            "remove": [*removes, *(path for path in self.folder.walk("_ledger") if path.count("/") == 1)],
            "move": [*moves.items(), (f"{self.path}/stage/ledger.parquet", ledger)],
        }
        self.folder.write(json.dumps(steps).encode(), self.path, "commit.json")
        apply_commit(self.folder, self.name)

    def end(self) -> None:
        """Stop the heartbeat; remove the run's folder unless a commit still has to be applied."""
        self._stop.set()
        if self._heartbeat is not None:
            self._heartbeat.join()
            self._heartbeat = None
        if self.folder.exists(self.path) and not self.folder.exists(self.path, "commit.json"):
            self.folder.remove(self.path)
        if not self.folder.names(RUNS):
            self.folder.remove(RUNS)

    def _write_heartbeat(self) -> None:
        owner = {"host": socket.gethostname(), "pid": os.getpid(), "time": time.time()}
        self.folder.write(json.dumps(owner).encode(), self.path, "run.json")

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            try:
                self._write_heartbeat()
            except OSError:
                continue  # a full disk is reported where the space is needed


def recover(folder: Folder) -> None:
    """Apply the commits of earlier runs, remove what others left.

    Raises NotAllowedError if a run is active.
    """
    for name in folder.names(RUNS):
        if folder.exists(RUNS, name, "commit.json"):
            apply_commit(folder, name)
            continue
        owner = {}
        if folder.exists(RUNS, name, "run.json"):
            owner = json.loads(folder.read(RUNS, name, "run.json"))
        if owner and _is_alive(owner):
            raise NotAllowedError(
                f"another run is active on {shown(folder.place)}: "
                f"{name} on {owner['host']}, process {owner['pid']}"
            )
        folder.remove(RUNS, name)


def _is_alive(owner: Mapping[str, Any]) -> bool:
    if owner["host"] != socket.gethostname():
        return bool(time.time() - owner["time"] < DEAD_SECONDS)
    if owner["pid"] == os.getpid():
        return True
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # The number may belong to another process by now.
    return bool(time.time() - owner["time"] < DEAD_SECONDS)


def apply_commit(folder: Folder, name: str) -> None:
    """Apply a run's commit.json; steps that are already done stay done."""
    steps = json.loads(folder.read(RUNS, name, "commit.json"))
    targets = {target for _, target in steps["move"]}
    for path in steps["remove"]:
        if path not in targets:
            folder.remove(path)
    for source, target in steps["move"]:
        folder.move(source, target)
    folder.remove(RUNS, name)


def load(folder: Folder) -> State:
    """The ledger and the pending streams of a folder."""
    from pyarrow import parquet

    ledger: list[LedgerRow] = []
    settings: dict[str, str] = {}
    files = folder.walk("_ledger")
    finished = False
    for path in files:
        if path.count("/") == 1 and path.endswith(".parquet"):
            finished = True
            rows = parquet.read_table(BytesIO(folder.read(path)))
            settings = json.loads((rows.schema.metadata or {}).get(SETTINGS, b"{}"))
            for column, kind, _ in LEDGER:
                if kind == "timestamp":
                    index = rows.column_names.index(column)
                    rows = rows.set_column(index, column, rows.column(column).cast("int64"))
            ledger.extend(LedgerRow(**row) for row in rows.to_pylist())
    pending = [path for path in files if path.startswith("_ledger/_pending/")]
    return State(ledger, pending, finished, settings)


def ledger_file(rows: Sequence[LedgerRow], settings: Mapping[str, str]) -> bytes:
    """The ledger's rows as a Parquet file, with the settings of the run in its metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = arrow_schema("ledger")
    schema = schema.with_metadata({**(schema.metadata or {}), SETTINGS: json.dumps(settings).encode()})
    arrays = [pa.array([getattr(row, field.name) for row in rows], type=field.type) for field in schema]
    out = BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="zstd")
    return out.getvalue()


def staged_target(path: str, run: str) -> str:
    """The target of a staged file: _runs/RUN/stage/quarantine/part.parquet to quarantine/RUN-part.parquet."""
    inner = path.split("/stage/", 1)[1]
    folder, name = posixpath.split(inner)
    return posixpath.join(folder, f"{run}-{name}")
