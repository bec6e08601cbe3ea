"""How a run changes its target folder: completely or not at all, and one run at a time.

    DST/messages/run=RUN/…     DST/quarantine/run=RUN/…            what is finished
    DST/_ledger/               ledger.parquet, and _pending/run=RUN: streams for the next run
    DST/_ledger/_versions/     00000007.json: the last commit, what it removes and what it moves into place
    DST/_runs/RUN/             what an active run writes:
        run.json     its host and process; written again as a heartbeat
        rows/…       part files of tasks, also of those that failed or were tried again
        stage/…      part files with the numbers of flows, likewise
        ready/…      those that the run reported, in folders that are moved as they are
        fragments/…  left-over IP fragments

Files of Delta Lake tables are written where they stay, in DST/messages/RUN; the tables' logs name those
that count.

A run writes `run.json` first and looks for other runs afterwards, so of two that begin at one moment at least
one sees the other; see `Run._claim`. It changes nothing outside its own folder until it creates the file of
the next version, which only one of several processes can do, and which appears complete. From then on the run
counts as done: while its folder exists, the next run applies the rest of the list, whose steps may be
repeated. Any other run folder is left from a run that ended early: a version without changes is created, so
that its process cannot commit any more if it still lives, and the folder is removed.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, NamedTuple

from wirelens.cli.bulk import stores
from wirelens.cli.bulk.delta import TableChange, publish
from wirelens.cli.bulk.files import Folder, shown
from wirelens.cli.bulk.table import LEDGER, arrow_schema
from wirelens.cli.tables.columns import TABLES
from wirelens.cli.version import install_command

RUNS = "_runs"
LEDGER_FILE = "_ledger/ledger.parquet"
PENDING = "_ledger/_pending"
VERSIONS = "_ledger/_versions"
VERSIONS_KEPT = 2  # the highest is the last commit
CLAIM_POLL_SECONDS = 0.1
CLAIM_POLLS = 10  # for which a run's folder may be without its run.json
LAYOUT = 3  # of the tables; raised when rows of two versions cannot be in one table
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
    late: int = 0
    filtered: int = 0
    pending: int = 0
    packets: int | None = None
    flows: int | None = None
    messages: int = 0
    errors: int = 0
    first_time: int | None = None
    last_time: int | None = None
    settings: str = ""
    notes: list[dict[str, Any]] | None = None


class NotAllowedError(Exception):
    """The state of the folder does not allow this run; the text states why and what to do."""


class ActiveRunError(NotAllowedError):
    """Another run is active on the folder."""


class State(NamedTuple):
    """What a folder holds: the rows of the ledger, and the files of unfinished streams.

    version: that of the last commit, 0 without one. ledger: the files of the ledger's rows. layout: of the
    tables, 0 if there are none. flows: the highest number of a flow.
    """

    rows: list[LedgerRow]
    pending: list[str]
    finished: bool
    version: int = 0
    ledger: Sequence[str] = ()
    layout: int = 0
    flows: int = 0


class Run:
    """An active run on a folder."""

    def __init__(self, place: str) -> None:
        self.folder = Folder(place)
        self.name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
        self._stop = threading.Event()
        self._heartbeat: threading.Thread | None = None
        self._active = False
        self._state = State([], [], False)

    @property
    def path(self) -> str:
        """The run's own folder, relative to the folder."""
        return f"{RUNS}/{self.name}"

    def begin(self, mode: str, resume: bool) -> State:
        """Claim the folder, finish or remove what earlier runs left, check that this run is allowed.

        Raises NotAllowedError, OSError.
        """
        if stores.is_s3(self.folder.place) and not stores.has_client():
            raise NotAllowedError(f"tables on S3 are committed with boto3:  {install_command('s3')}")
        self._claim()
        try:
            recover(self.folder, self.name)
            self._state = state = load(self.folder)
            self._check_mode(state, mode, resume)
        except BaseException:
            self.end()
            raise
        return state

    def _claim(self) -> None:
        """Become the only run, and start the heartbeat. Raises NotAllowedError if there is another.

        A claim is written first, and others are looked for afterwards. Of several that are still claiming,
        the first by name waits until the others gave up; all others give up, and so does any that sees an
        active run.
        """
        self.folder.make(self.path)
        self._write_heartbeat()
        self._heartbeat = threading.Thread(target=self._beat, daemon=True)
        self._heartbeat.start()
        polls = 0
        try:
            while True:
                others = [(name, owner) for name, owner in _owners(self.folder) if name != self.name]
                living = [(name, owner) for name, owner in others if owner and _is_alive(owner)]
                begun = any(not owner for _, owner in others) and polls < CLAIM_POLLS
                for name, owner in living:
                    if owner.get("active", True) or name < self.name:
                        raise ActiveRunError(
                            f"another run is active on {shown(self.folder.place)}: "
                            f"{name} on {owner['host']}, process {owner['pid']}"
                        )
                if not living and not begun:
                    break
                polls += 1
                time.sleep(CLAIM_POLL_SECONDS)
            self._active = True
            self._write_heartbeat()
        except BaseException:
            self.end()
            raise

    def _check_mode(self, state: State, mode: str, resume: bool) -> None:
        if mode != "overwrite" or resume:
            self.check_layout(state)
        if state.finished and mode == "errorifexists" and not resume:
            raise NotAllowedError(
                f"{shown(self.folder.place)} holds the result of an earlier run: "
                "use --resume to add what is new, or --mode append or overwrite"
            )
        if not state.finished:
            others = [
                name
                for name in self.folder.names()
                if name not in (RUNS, "_ledger")
                and not name.startswith(".")
                and not (name in TABLES and not self.folder.walk(name))  # of a run that was discarded
            ]
            if others and mode != "append":
                raise NotAllowedError(
                    f"{shown(self.folder.place)} is not empty and not a result of wirelens bulk: {others[0]}"
                )

    def check_layout(self, state: State) -> None:
        """Check that rows can be added to the tables. Raises NotAllowedError."""
        if state.finished and state.layout != LAYOUT:
            older = state.layout < LAYOUT
            raise NotAllowedError(
                f"the tables in {shown(self.folder.place)} have the layout of "
                f"{'an older' if older else 'a newer'} wirelens: convert everything again, "
                "with --mode overwrite or to another folder"
            )

    def peek(self) -> State:
        """What the folder holds, without changing it."""
        return load(self.folder)

    def commit(
        self,
        rows: Sequence[LedgerRow],
        moves: Mapping[str, str],
        removes: Sequence[str],
        delta: Mapping[str, TableChange] | None = None,
        flows: int = 0,
    ) -> None:
        """Move the run's files into the folder: `moves` names staged files and their targets.

        removes: files and folders, none of which is a target. delta: changes of Delta Lake tables, by their
        names. flows: the highest number of a flow. The ledger is written again with `rows`; all of this takes
        effect at once, or not at all if anything was committed since this run began. Raises NotAllowedError,
        OSError.
        """
        if not self.folder.exists(self.path, "run.json"):
            raise NotAllowedError(self._overtaken())
        staged = f"{self.path}/stage/ledger.parquet"
        self.folder.make(self.path, "stage")
        self.folder.write(ledger_file(rows), staged)
        old = [path for path in self._state.ledger if path != LEDGER_FILE]
        steps = {
            "run": self.name,
            "layout": LAYOUT,
            "flows": flows,
            "delta": delta or {},
            "remove": [*removes, *old],
            "move": [*self._arranged(moves), (staged, LEDGER_FILE)],
        }
        if not create_version(self.folder, self._state.version + 1, steps):
            raise NotAllowedError(self._overtaken())
        apply_commit(self.folder, self._state.version + 1, steps)

    def _arranged(self, moves: Mapping[str, str]) -> list[tuple[str, str]]:
        """The moves, of whole folders if possible: then a reader sees all files of a table at once."""
        if not self.folder.renames:
            return list(moves.items())
        arranged: dict[str, str] = {}
        for source, target in moves.items():
            ready = f"{self.path}/ready/{target}"
            self.folder.move(source, ready)
            before, mark, _ = target.partition(f"/run={self.name}")
            arranged[f"{self.path}/ready/{before}{mark}"] = before + mark
        return list(arranged.items())

    def _overtaken(self) -> str:
        return (
            f"another run took over {shown(self.folder.place)}, because this one gave no sign of life for "
            f"{DEAD_SECONDS:.0f} seconds: nothing was converted"
        )

    def end(self) -> None:
        """Stop the heartbeat; remove the run's folder unless a commit still has to be applied."""
        self._stop.set()
        if self._heartbeat is not None:
            self._heartbeat.join()
            self._heartbeat = None
        if self.folder.exists(self.path):
            _, steps = last_version(self.folder)
            if steps["run"] == self.name:  # without run.json this process no longer counts as applying it
                self.folder.remove(self.path, "run.json")
            else:
                discard(self.folder, self.name)
        self.folder.remove_empty(RUNS)

    def _write_heartbeat(self) -> None:
        owner = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "time": time.time(),
            "active": self._active,
        }
        self.folder.write(json.dumps(owner).encode(), self.path, "run.json")

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            try:
                if self.folder.exists(self.path, "run.json"):  # else another run took over
                    self._write_heartbeat()
            except OSError:
                continue  # a full disk is reported where the space is needed


def recover(folder: Folder, own: str) -> None:
    """Apply the last commit if its run did not get to the end of it, remove what other dead runs left.

    `own` is the name of the run that does this; no other may be active.
    """
    version, steps = last_version(folder)
    names = [name for name in folder.names(RUNS) if name != own]
    dead = [name for name in names if name != steps["run"]]
    if dead:
        # Should one of them only have been very slow, it can no longer commit. Only the last version counts.
        while not create_version(folder, version + 1, steps):
            version, steps = last_version(folder)
    if steps["run"] in names:
        apply_commit(folder, version, steps)
    for name in names:
        if name != steps["run"]:
            discard(folder, name)


def discard(folder: Folder, name: str) -> None:
    """Remove everything that a run wrote which did not commit."""
    for table in TABLES:
        folder.remove(table, name)
        folder.remove_empty(table)
    folder.remove(RUNS, name)


def _owners(folder: Folder) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The names of the runs in a folder, with what their run.json states: {} without one."""
    for name in folder.names(RUNS):
        owner = {}
        with suppress(FileNotFoundError):
            owner = json.loads(folder.read(RUNS, name, "run.json"))
        yield name, owner


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


def last_version(folder: Folder) -> tuple[int, dict[str, Any]]:
    """The number of the last commit, 0 without one, and its steps."""
    names = [name for name in folder.names(VERSIONS) if name.endswith(".json")]
    if not names:
        return 0, {"run": "", "layout": 0, "delta": {}, "remove": [], "move": []}
    return int(names[-1].removesuffix(".json")), json.loads(folder.read(VERSIONS, names[-1]))


def create_version(folder: Folder, number: int, steps: Mapping[str, Any]) -> bool:
    """Commit, if nobody else created this version or a later one; whether it was committed."""
    name = f"{number:08d}.json"
    folder.make(VERSIONS)
    if not folder.create(json.dumps(steps).encode(), VERSIONS, name):
        return False
    names = sorted(name for name in folder.names(VERSIONS) if name.endswith(".json"))
    if names[-1] != name:  # so much later that this number was free again
        folder.remove(VERSIONS, name)
        return False
    for old in names[:-VERSIONS_KEPT]:
        folder.remove(VERSIONS, old)
    return True


def apply_commit(folder: Folder, version: int, steps: Mapping[str, Any]) -> None:
    """Apply the steps of a commit; those that are already done stay done."""
    run = f"{RUNS}/{steps['run']}"
    moves = [move for move in steps["move"] if move[1] != LEDGER_FILE]
    for top in ("_ledger/", *(f"{table}/" for table in TABLES)):  # each table in the shortest time
        for path in steps["remove"]:
            if path.startswith(top):
                folder.take_away(path, f"{run}/removed")
        folder.move_all([move for move in moves if move[1].startswith(top)])
    for table, change in steps["delta"].items():
        publish(folder, table, version, TableChange(*change))
    folder.move_all([move for move in steps["move"] if move[1] == LEDGER_FILE])
    folder.remove(run)


def load(folder: Folder) -> State:
    """The ledger and the pending streams of a folder; no rows if they are of another layout."""
    from pyarrow import parquet

    ledger: list[LedgerRow] = []
    files = folder.walk("_ledger")
    version, steps = last_version(folder)
    found = [path for path in files if path.count("/") == 1 and path.endswith(".parquet")]
    layout = steps.get("layout", 0) if found else 0
    for path in found if layout == LAYOUT else ():
        rows = parquet.read_table(BytesIO(folder.read(path)))
        for column, kind, _ in LEDGER:
            if kind == "timestamp":
                index = rows.column_names.index(column)
                rows = rows.set_column(index, column, rows.column(column).cast("int64"))
        ledger.extend(LedgerRow(**row) for row in rows.to_pylist())
    pending = [path for path in files if path.startswith(f"{PENDING}/")]
    return State(ledger, pending, bool(found), version, found, layout, steps.get("flows", 0))


def ledger_file(rows: Sequence[LedgerRow]) -> bytes:
    """The ledger's rows as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = arrow_schema("ledger")
    arrays = [pa.array([getattr(row, field.name) for row in rows], type=field.type) for field in schema]
    out = BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="zstd")
    return out.getvalue()
