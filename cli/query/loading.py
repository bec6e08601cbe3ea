"""The inputs of a query to the rows of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wirelens.cli.packets import Capture
from wirelens.cli.points import point_of
from wirelens.cli.query.database import schema
from wirelens.cli.stderr import warn
from wirelens.cli.tables.arrow import batch_of_rows, call_batch, record_batch
from wirelens.cli.tables.call_columns import CallColumns
from wirelens.cli.tables.columns import TIMES
from wirelens.cli.tables.counts import Counters
from wirelens.cli.tables.record_columns import Columns
from wirelens.cli.tables.rows import Decoding, RowMaker
from wirelens.codecs.calls import Calls

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    import pyarrow as pa

    from wirelens.cli.input import Input
    from wirelens.cli.input_options import CaptureOptions
    from wirelens.cli.inputs import Inputs
    from wirelens.cli.merged import Merged
    from wirelens.cli.query.database import Database
    from wirelens.cli.select import Selection
    from wirelens.codecs import Record
    from wirelens.codecs.conversations import Message

BATCH_ROWS: Final = 1 << 14
BATCH_BYTES: Final = 1 << 24
RECORDS: Final = ("messages", "quarantine")


class Loading:
    """Reads all inputs into the tables of a database that a query needs.

    `damaged`: whether a capture is cut or damaged, or something in it did not decode.
    """

    def __init__(
        self, database: Database, inputs: Inputs, options: CaptureOptions, selection: Selection | None
    ) -> None:
        self.database = database
        self.inputs = inputs
        self.options = options
        self.selection = selection
        self.damaged = False
        self.captured = False
        self.flows = 0
        self._names: dict[int, str] = {}  # of files, by their numbers
        self._points: dict[int, str] = {}
        self._counters = Counters()
        needed = database.needed
        self._connections: list[tuple[Any, ...]] = []
        self._calls = CallColumns(self._names, self._points, BATCH_ROWS, BATCH_BYTES, self._write_calls)
        self._columns = {
            table: Columns(
                self._names,
                BATCH_ROWS,
                BATCH_BYTES,
                self._flush(table),
                self._points,
                bool({"message", "partial"} & needed.get(table, set())),
                "summary" in needed.get(table, ()),
            )
            for table in RECORDS
        }
        self._maker = RowMaker(
            "full" if "raw" in needed.get("quarantine", ()) else "none",
            self._counters,
            lambda table, _protocol, _day: self._columns[table],
            lambda _protocol, _day: self._calls,
            self._add_connection,
            self._names,
            self._points,
            None if selection is None else self._matches,
            [*needed, "connections"],
        )

    def load(self) -> None:
        """Read all inputs."""
        from wirelens.cli.input import InputError

        merge_options = self.options.merge_options
        for item in self.inputs.merged(merge_options):
            item.progress = True
            try:
                if item.capture:
                    self._capture(item)
                else:
                    self._plain(item)
            except (InputError, MemoryError) as error:
                self.inputs.fail_on(item, error)
        for table in RECORDS:
            self._flush(table)()
        self._write_calls()
        self._write_connections()
        self.damaged = self.damaged or bool(self._counters.errors)
        if self.selection is not None:
            beyond = self.selection.beyond(self.flows)
            if self.captured and beyond:
                self.inputs.fail(beyond)
            elif self._needs_records:
                self.selection.report()

    @property
    def _needs_records(self) -> bool:
        return any(table in self.database.needed for table in RECORDS)

    def _add_files(self, names: tuple[str, ...]) -> int:
        """Give files numbers; that of the first."""
        first = len(self._names)
        for number, name in enumerate(names, first):
            self._names[number] = name
            point = point_of(name, self.options.merge_options.point)
            if point:
                self._points[number] = point
        return first

    def _capture(self, item: Input | Merged) -> None:
        number = len(self._names)
        capture = Capture(
            item,
            self.options.protocol,
            self.selection,
            False,
            self.flows,
            self.selection is not None,
            True,
            number,
        )
        self._add_files(capture.source.files or (capture.source.file,))
        decoding = Decoding(capture.conversations, Calls())
        before = self._messages()
        for pieces in capture.pieces():
            self._maker.add_pieces(pieces, decoding, {})
        self._maker.close_decoding(decoding)
        self.captured = True
        self.flows = capture.flows
        self.damaged = self.damaged or capture.damaged
        shown = self._messages() - before if self._needs_records else 1
        capture.report_rest(shown, capture.conversations.foreign)

    def _messages(self) -> int:
        """The number of messages so far, with those that do not match --where."""
        if self.selection is not None and self.selection.where is not None:
            return self.selection.asked
        return sum(messages for messages, _ in self._counters.protocols.values())

    def _plain(self, item: Input) -> None:
        """Decode an input that is one stream of bytes."""
        from wirelens.codecs.decoder import Decoder

        if not self._needs_records:
            warn(f"{item.name}: not a capture ({item.form})")
            return
        number = self._add_files((item.name,))
        decoder = Decoder(self.options.protocol)
        last = b""
        for chunk in item.chunks:  # one late, so that the last one is decoded together with the end
            self._add_records(number, item, decoder.feed(last))
            last = chunk
        self._add_records(number, item, decoder.close(last))
        self._maker.close()

    def _add_records(self, number: int, item: Input, records: list[Record]) -> None:
        for record in records:
            if self.selection is not None:
                from wirelens.codecs.record import Origin, Place

                record.origin = Origin(Place(item.name))
            self._maker.add_record(number, record)

    def _matches(self, record: Record, message: Message | None, _file: int) -> bool:
        """Whether a record is selected by --flow and --where."""
        selection = self.selection
        assert selection is not None
        if message is None:
            return bool(selection.of_records([record]))
        return selection.takes_direction(message.direction) and selection.matches(message)

    def _add_connection(self, row: tuple[Any, ...]) -> None:
        """Take a row of `connections`."""
        if "connections" not in self.database.needed:
            return
        self._connections.append(row)
        if len(self._connections) >= BATCH_ROWS:
            self._write_connections()

    def _write_connections(self) -> None:
        """Write the rows of `connections` so far."""
        rows = self._connections
        if rows:
            self._insert("connections", lambda own: batch_of_rows(rows, own))
            rows.clear()

    def _write_calls(self) -> None:
        """Write the rows of `calls` so far, of the directions that are selected."""
        columns = self._calls
        if columns.rows:
            self._insert("calls", lambda own: self._selected(call_batch(columns, own)))
            columns.clear()

    def _selected(self, calls: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of calls whose requests are of a selected direction."""
        import pyarrow as pa
        from pyarrow import compute

        if self.selection is None:
            return calls
        directions = [number for number in (0, 1) if self.selection.takes_direction(number)]
        wanted = compute.is_in(calls.column("direction"), pa.array(directions, pa.int8()))
        return calls.filter(wanted)

    def _flush(self, table: str) -> Callable[[], None]:
        """What writes the rows of `messages` or of `quarantine` so far."""

        def flush() -> None:
            columns = self._columns[table]
            if not columns.rows:
                return
            if table in self.database.needed:
                self._insert(table, lambda own: record_batch(columns, own))
            columns.clear()

        return flush

    def _insert(self, table: str, make: Callable[[pa.Schema], pa.RecordBatch]) -> None:
        """Add a batch to a table, with the column `day` if it has one; `make` gives all other columns."""
        import pyarrow as pa

        whole = schema(table)
        batch = make(pa.schema([field for field in whole if field.name != "day"]))
        if "day" in whole.names:
            days = batch.column(TIMES[table]).cast(pa.date32(), safe=False)
            batch = pa.RecordBatch.from_arrays([*batch.columns, days], schema=whole)
        self.database.insert(table, batch)
