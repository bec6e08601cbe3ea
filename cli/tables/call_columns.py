"""Rows of `calls`, column by column, as `arrow` gives them to Arrow.

This runs for every call, and is compiled as `codecs/` is.
"""

from collections.abc import Callable, Mapping
from typing import Final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from wirelens.cli.tables.record_columns import Texts, clean
from wirelens.codecs.call import Call
from wirelens.codecs.captures.pcap import FILE_SHIFT, NUMBER_MASK

NOTHING: Final = -(1 << 62)  # the number of what is not known
CALL_BYTES: Final = 320  # of a row without its longer texts, about

# The columns whose texts are kept once for all rows that have them, in the order of `CallColumns.words`.
WORDS: Final = (
    "protocol",
    "service",
    "method",
    "outcome",
    "status",
    "exception",
    "client",
    "server",
    "file",
    "point",
    "transport",
)
# Columns of numbers, times and truth values, in the order of `CallColumns.numbers`.
NUMBERS: Final = (
    "late",
    "timed_out",
    "timeout_us",
    "waited_us",
    "sent",
    "answered",
    "latency_us",
    "request_bytes",
    "response_bytes",
    "open_calls",
    "request_messages",
    "response_messages",
    "connection",
    "flow_number",
    "direction",
    "packet",
    "pair",  # the number of the pair in the connection
)


class CallColumns:
    """Rows of `calls`, column by column, until they are a row group.

    `full` is called when there are `most_rows`, or about `most_bytes`; it takes them and then calls `clear`.
    `names` and `points` are those of files, by their numbers.
    """

    def __init__(
        self,
        names: Mapping[int, str],
        points: Mapping[int, str],
        most_rows: int,
        most_bytes: int,
        full: Callable[[], None],
    ) -> None:
        self.names: Final = names
        self.points: Final = points
        self.most_rows: Final[i64] = most_rows
        self.most_bytes: Final[i64] = most_bytes
        self.full: Final = full
        self.rows: i64 = 0
        self.size: i64 = 0
        self.known: Final[dict[str, int]] = {}  # the texts of WORDS, and their indexes
        self.words: Final = [BytesWriter() for _ in WORDS]  # indexes in `known`, of 32 bits; -1: no text
        self.numbers: Final = [BytesWriter() for _ in NUMBERS]  # of 64 bits
        self.id: Final = Texts(BytesWriter())  # "": none
        self.trace: Final = Texts(BytesWriter())

    def clear(self) -> None:
        """Remove all rows; the memory stays."""
        self.rows = 0
        self.size = 0
        for out in self.words:
            out.truncate(0)
        for out in self.numbers:
            out.truncate(0)
        self.known.clear()
        self.id.clear()
        self.trace.clear()

    def add(self, call: Call, flow_number: i64) -> None:
        """Add the row of a call; `flow_number` is that of its flow in the tables."""
        file = call.packet >> FILE_SHIFT
        self._word(0, call.protocol)
        self._word(1, call.service)
        self._word(2, call.method)
        self._word(3, call.outcome)
        self._word(4, call.status)
        self._word(5, call.exception)
        self._word(6, call.client)
        self._word(7, call.server)
        self._word(8, self.names.get(file, ""))
        self._word(9, self.points.get(file, ""))
        self._word(10, call.transport)
        self._number(0, call.late)
        self._number(1, call.timed_out)
        self._number(2, call.timeout_us)
        self._number(3, call.waited_us)
        self._number(4, call.sent_us)
        self._number(5, call.answered_us)
        self._number(6, call.latency_us)
        self._number(7, call.request_bytes)
        self._number(8, call.response_bytes)
        self._number(9, call.open_calls)
        self._number(10, call.request_messages)
        self._number(11, call.response_messages)
        self._number(12, call.connection)
        write_i64_le(self.numbers[13], flow_number)
        self._number(14, call.direction)
        self._number(15, call.packet & NUMBER_MASK)
        self._number(16, call.pair)
        self.id.add(clean(call.id).encode())
        self.trace.add(clean(call.trace).encode())
        self.rows += 1
        self.size += CALL_BYTES + len(call.exception) + len(call.trace)
        if self.rows >= self.most_rows or self.size >= self.most_bytes:
            self.full()

    def _word(self, column: i64, text: str) -> None:
        """Write a text of one of WORDS."""
        slot: i64 = -1
        if text:
            found = self.known.get(text)
            if found is None:
                found = self.known[text] = len(self.known)
            slot = found
        write_i32_le(self.words[column], i32(slot))

    def _number(self, column: i64, number: int | None) -> None:
        """Write a value of one of NUMBERS."""
        value: i64 = NOTHING if number is None else number
        write_i64_le(self.numbers[column], value)
