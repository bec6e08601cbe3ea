"""What late pieces of a stream hold: messages decoded on their own, or records with the error "late"."""

from collections.abc import Iterator
from typing import Final

from wirelens.codecs import registry
from wirelens.codecs.captures.flow import Piece
from wirelens.codecs.codes import Note
from wirelens.codecs.cursor import DecodeError
from wirelens.codecs.decoder import Decoder
from wirelens.codecs.record import Record
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.sides import PACKETS, Arrival

WHY: Final = {
    "missed": "it came after its stream had moved on without it",
    "different": "it came again, different from the first",
    "old": "it came again, too late to be compared with the first",
}  # by `Piece.late`

Located = tuple[Record, tuple[Arrival, ...], tuple[int, ...]]  # with where it came from, and packet numbers


def late_records(piece: Piece, protocol: str, role: str) -> Iterator[Located]:
    """The records of a late piece, which cover all of it.

    Only what was missing is decoded; all else was, as far as it can be known. `role` as of `Decoder`.
    """
    text = WHY[piece.late]
    codec = None if protocol == UNKNOWN else registry.get(protocol)
    if codec is not None and piece.late == "missed":
        decoder = Decoder(protocol, piece.offset)
        decoder.joined = True
        decoder.role = role
        records = decoder.close(piece.data)
    else:
        error = DecodeError("late", piece.offset, text)
        records = [Record(codec, piece.offset, len(piece.data), None, error, piece.data)]
    for record in records:
        failed = record.error
        if failed is None:
            record.extra_notes = [Note("late", record.offset, text)]
            yield _located(piece, record)
        else:
            if failed.code != "late":
                failed = DecodeError("late", failed.offset, f"{text}; {failed.text}")
            yield _located(
                piece, Record(record.codec, record.offset, record.length, record.tape, failed, record.raw)
            )


def _located(piece: Piece, record: Record) -> Located:
    """A record of a late piece, with the parts that have bytes of it."""
    arrivals: list[Arrival] = []
    packets: tuple[int, ...] = ()
    start = piece.offset
    for end, time_us, numbers in piece.parts:
        if end > record.offset and start < record.offset + record.length:
            arrivals.append(Arrival(start, end, time_us, numbers))
            packets = packets + numbers if len(packets) < PACKETS else packets[: PACKETS - 1] + numbers
        start = end
    return record, tuple(arrivals), packets
