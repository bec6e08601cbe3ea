"""The database of a query: tables in a temporary file, without access to anything else."""

from __future__ import annotations

import json
import re
import tempfile
from typing import TYPE_CHECKING, Any

from wirelens.cli.tables.arrow import arrow_types
from wirelens.cli.tables.columns import PARTITIONED, TABLES
from wirelens.codecs.words import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Final

    import pyarrow as pa

MEMORY: Final = "1GB"  # that DuckDB uses; beyond it, it writes to temporary files
FETCHED: Final = 1024  # rows of a result at a time
INCOMING: Final = "incoming rows"  # the name under which DuckDB finds a batch
SHOWN_LINE: Final = 200  # characters of a line of SQL in an error
# These plan for tables that stay as empty as they are when the query is checked.
FOR_EMPTY_TABLES: Final = ("statistics_propagation", "empty_result_pullup")
ONE_SELECT: Final = "one SELECT is needed: nothing can be changed, and no file is read or written"
SETTINGS: Final = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_unsigned_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": MEMORY,
}


class QueryError(Exception):
    """A query that cannot be answered; the text has its place and the names there are."""


def schema(table: str) -> pa.Schema:
    """The columns of a table as a query sees them: those of bulk's files, then those of its folders."""
    import pyarrow as pa

    fields = arrow_types(TABLES[table])
    if table in PARTITIONED:
        fields += [("protocol", pa.string()), ("day", pa.date32())]
    return pa.schema(fields)


class Database:
    """A context manager; `needed`: the columns that the query reads, by table, after `check`.

    Nothing else can be reached from its SQL: no file, no network, no extension, no variable of this process,
    and no setting can be changed.
    """

    def __init__(self) -> None:
        self.needed: dict[str, set[str]] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="wirelens-query-")
        self._connection: Any = None

    def __enter__(self) -> Database:
        import duckdb
        import pyarrow as pa

        folder = self._folder.name
        settings: dict[str, Any] = {**SETTINGS, "temp_directory": f"{folder}/spilled"}
        connection = self._connection = duckdb.connect(f"{folder}/tables.duckdb", config=settings)
        connection.execute("SET TimeZone = 'UTC'")
        for table in TABLES:
            connection.register(INCOMING, pa.Table.from_batches([], schema(table)))
            connection.execute(f'CREATE TABLE {table} AS SELECT * FROM "{INCOMING}" LIMIT 0')
            connection.unregister(INCOMING)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()
        self._folder.cleanup()

    def check(self, sql: str) -> None:
        """Check the query before anything is read, and find what it needs. Raises QueryError."""
        import duckdb

        connection = self._connection
        try:
            statements = connection.extract_statements(sql)
        except duckdb.Error as error:
            raise QueryError(explained(error, sql)) from None
        try:
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError(ONE_SELECT)
            names = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
            disabled = ",".join(name for (name,) in names if name in FOR_EMPTY_TABLES)
            connection.execute(f"SET disabled_optimizers = '{disabled}'")
            plan = connection.execute(f"EXPLAIN (FORMAT json)\n{sql}").fetchall()
            connection.execute("SET disabled_optimizers = ''")
            connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            raise QueryError(explained(error, sql, before=1)) from None
        self.needed = needed(plan[-1][-1])

    def insert(self, table: str, batch: pa.RecordBatch) -> None:
        """Add rows to a table."""
        import pyarrow as pa

        connection = self._connection
        connection.register(INCOMING, pa.Table.from_batches([batch]))
        connection.execute(f'INSERT INTO {table} SELECT * FROM "{INCOMING}"')
        connection.unregister(INCOMING)

    def rows(self, sql: str) -> tuple[list[tuple[str, str]], Iterator[list[tuple[Any, ...]]]]:
        """The names and types of the result's columns, and its rows in portions. Raises QueryError."""
        import duckdb

        try:
            cursor = self._connection.execute(sql)
        except duckdb.Error as error:
            raise QueryError(explained(error, sql)) from None

        def portions() -> Iterator[list[tuple[Any, ...]]]:
            try:
                while rows := cursor.fetchmany(FETCHED):
                    yield rows
            except duckdb.Error as error:
                raise QueryError(explained(error, sql)) from None

        return [(column[0], str(column[1])) for column in cursor.description], portions()

    def batches(self, sql: str) -> pa.RecordBatchReader:
        """The result for Arrow. Raises QueryError."""
        import duckdb

        try:
            result = self._connection.sql(sql)
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader
            return reader(FETCHED)
        except duckdb.Error as error:
            raise QueryError(explained(error, sql)) from None


def explained(error: Exception, sql: str, before: int = 0) -> str:
    """An error of DuckDB, with its place, and the tables or columns that there are.

    `before`: lines before those of `sql` in what DuckDB was given.
    """
    lines = [clean(line)[:SHOWN_LINE] for line in str(error).splitlines() if line.strip()]
    text = "\n".join(lines)
    place = re.search(r"^LINE (\d+)", text, re.MULTILINE)
    if place is not None and before:
        text = f"{text[: place.start()]}LINE {int(place[1]) - before}{text[place.end() :]}"
    if "Catalog Error: Table" in text:
        text += f"\nThere are: {', '.join(TABLES)}"
    elif "Binder Error" in text and "olumn" in text:
        for table in TABLES:
            if table in sql.lower():
                text += f"\nColumns of {table}: {', '.join(schema(table).names)}"
    return text


def needed(plan: str) -> dict[str, set[str]]:
    """The columns that the scans of a plan read, by table; all of a table whose scan is not understood."""
    found: dict[str, set[str]] = {}
    waiting: list[Any] = [json.loads(plan)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            info = node.get("extra_info")
            if isinstance(info, dict) and "Table" in info:
                table = str(info["Table"]).rpartition(".")[2]
                if table in TABLES:
                    found.setdefault(table, set()).update(_read(info, schema(table).names))
    return found


def _read(scan: Mapping[str, Any], names: Sequence[str]) -> set[str]:
    """Which of these columns a scan reads, for its result or for its filters."""
    if "Projections" not in scan:
        return set(names)
    words = set(re.findall(r"\w+", json.dumps([value for key, value in scan.items() if key != "Table"])))
    return {name for name in names if name in words}
