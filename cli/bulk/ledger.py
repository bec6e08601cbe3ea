"""How a run changes its folder: all of it or nothing.

    DST/messages/protocol=…/   DST/quarantine/   DST/_ledger/          what is finished
    DST/_runs/RUN/                                                     what a run at work writes
        run.json     who it is; written again while it lives
        stage/…      part files of tasks, also of tasks that died or lost
        fragments/…  left-over IP fragments
        commit.json  what to remove and what to move into place

A run changes nothing outside its own folder until `commit.json` is there, and that file appears whole. From
then on the run counts as done: whoever comes next carries out the rest of the list, each step of which may
be done again. A run folder without `commit.json` is waste of a run that ended early; it is removed.
"""

import json
import os
import posixpath
import socket
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, NamedTuple

from wirelens.cli.bulk.files import Folder, shown
from wirelens.cli.bulk.table import LEDGER, arrow_schema

RUNS = "_runs"
ALIVE_SECONDS = 10.0
DEAD_SECONDS = 120.0
"""A run on another host that did not say that it lives for so long is dead."""

Entry = dict[str, Any]
"""A row of the ledger, times in microseconds."""


class NotAllowedError(Exception):
    """The folder is not in a state that this run may go on from; the text says why and what to do."""


class State(NamedTuple):
    """What a folder holds: the ledger's rows, and the files with streams that are not ended."""

    entries: list[Entry]
    pending: list[str]
    finished: bool


class Run:
    """A run at work on a folder."""

    def __init__(self, place: str) -> None:
        self.folder = Folder(place)
        self.name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
        self._stop = threading.Event()
        self._alive: threading.Thread | None = None

    @property
    def path(self) -> str:
        """The run's own folder, relative to the folder."""
        return f"{RUNS}/{self.name}"

    def begin(self, mode: str, resume: bool) -> State:
        """Finish or clear away what earlier runs left, see whether this one may go on, and say that it lives.

        Raises NotAllowedError, OSError.
        """
        recover(self.folder)
        state = load(self.folder)
        if state.finished and mode == "errorifexists" and not resume:
            raise NotAllowedError(
                f"{shown(self.folder.place)} holds the result of an earlier run: "
                "say --resume to add what is new, or --mode append or overwrite"
            )
        if not state.finished:
            others = [name for name in self.folder.names() if name != RUNS and not name.startswith(".")]
            if others and mode != "append":
                raise NotAllowedError(
                    f"{shown(self.folder.place)} is not empty and no result of wirelens bulk: {others[0]}"
                )
        self.folder.make(self.path)
        self._say()
        self._alive = threading.Thread(target=self._keep_saying, daemon=True)
        self._alive.start()
        return state

    def peek(self) -> State:
        """What the folder holds, as it is."""
        return load(self.folder)

    def commit(self, entries: Sequence[Entry], moves: Mapping[str, str], removes: Sequence[str]) -> None:
        """Make the run's files the folder's: `moves` names staged files and where they go.

        The ledger is written anew with `entries`; all this counts from one moment on. Raises OSError.
        """
        ledger = f"_ledger/{self.name}.parquet"
        self.folder.make(self.path, "stage")
        self.folder.write(ledger_file(entries), self.path, "stage", "ledger.parquet")
        order = {
            # Files one by one: none of them is ever a target, so that this can be done again.
            "remove": [*removes, *(path for path in self.folder.walk("_ledger") if path.count("/") == 1)],
            "move": [*moves.items(), (f"{self.path}/stage/ledger.parquet", ledger)],
        }
        self.folder.write(json.dumps(order).encode(), self.path, "commit.json")
        carry_out(self.folder, self.name)

    def end(self) -> None:
        """Stop saying that the run lives; clear away its folder unless there is something to carry out."""
        self._stop.set()
        if self._alive is not None:
            self._alive.join()
            self._alive = None
        if self.folder.exists(self.path) and not self.folder.exists(self.path, "commit.json"):
            self.folder.remove(self.path)
        if not self.folder.names(RUNS):
            self.folder.remove(RUNS)

    def _say(self) -> None:
        who = {"host": socket.gethostname(), "pid": os.getpid(), "time": time.time()}
        self.folder.write(json.dumps(who).encode(), self.path, "run.json")

    def _keep_saying(self) -> None:
        while not self._stop.wait(ALIVE_SECONDS):
            try:
                self._say()
            except OSError:
                continue  # a full disk will be told by those who need the space


def recover(folder: Folder) -> None:
    """Carry out what earlier runs decided, clear away what others left.

    Raises NotAllowedError where one is at work.
    """
    for name in folder.names(RUNS):
        if folder.exists(RUNS, name, "commit.json"):
            carry_out(folder, name)
            continue
        who = {}
        if folder.exists(RUNS, name, "run.json"):
            who = json.loads(folder.read(RUNS, name, "run.json"))
        if who and _lives(who):
            raise NotAllowedError(
                f"another run is at work on {shown(folder.place)}: "
                f"{name} on {who['host']}, process {who['pid']}"
            )
        folder.remove(RUNS, name)


def _lives(who: Mapping[str, Any]) -> bool:
    if who["host"] != socket.gethostname():
        return bool(time.time() - who["time"] < DEAD_SECONDS)
    if who["pid"] == os.getpid():
        return True
    try:
        os.kill(who["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # The number may have gone to another process since.
    return bool(time.time() - who["time"] < DEAD_SECONDS)


def carry_out(folder: Folder, name: str) -> None:
    """Do what a run's commit.json says; steps that are done already stay done."""
    order = json.loads(folder.read(RUNS, name, "commit.json"))
    targets = {target for _, target in order["move"]}
    for path in order["remove"]:
        if path not in targets:
            folder.remove(path)
    for source, target in order["move"]:
        folder.move(source, target)
    folder.remove(RUNS, name)


def load(folder: Folder) -> State:
    """The ledger and the pending streams of a folder."""
    from pyarrow import parquet

    entries: list[Entry] = []
    files = folder.walk("_ledger")
    finished = False
    for path in files:
        if path.count("/") == 1 and path.endswith(".parquet"):
            finished = True
            rows = parquet.read_table(BytesIO(folder.read(path)))
            for column, kind, _ in LEDGER:
                if kind == "timestamp":
                    place = rows.column_names.index(column)
                    rows = rows.set_column(place, column, rows.column(column).cast("int64"))
            entries.extend(rows.to_pylist())
    pending = [path for path in files if path.startswith("_ledger/_pending/")]
    return State(entries, pending, finished)


def ledger_file(entries: Sequence[Entry]) -> bytes:
    """The ledger's rows as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = arrow_schema("ledger")
    arrays = [pa.array([entry[field.name] for entry in entries], type=field.type) for field in schema]
    out = BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="zstd")
    return out.getvalue()


def staged_target(path: str, run: str) -> str:
    """Where a staged file goes: _runs/RUN/stage/quarantine/part.parquet to quarantine/RUN-part.parquet."""
    inner = path.split("/stage/", 1)[1]
    folder, name = posixpath.split(inner)
    return posixpath.join(folder, f"{run}-{name}")
