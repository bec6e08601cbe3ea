"""Packets: the layouts in which releases of Hessian send values in pieces of known lengths.

Source: the notes on deployed software, section 1.3. The framings bear the names of the releases that first
had them.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import tape as t
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.hessian import message_forms as m
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.tables import Tables
from wirelens.codecs.hessian.value_decoding import TO_END, Values
from wirelens.codecs.tape import Buffer, Tape


@mypyc_attr(acyclic=True)
class Packets:
    """Decodes sequences of packets, of a dialect, from a cursor onto a tape. Base of `Messages`."""

    def __init__(self, dialect: i64, cursor: Cursor, tape: Tape, final: bool) -> None:
        self.dialect: Final[i64] = dialect
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.final: Final = final
        self.tables = Tables(dialect)
        self.values = Values(cursor, tape, self.tables)

    def restart(self, units: i64 = 0) -> None:
        """Make new tables, for another reading; `units` as in Tables."""
        self.tables = Tables(self.dialect)
        self.tables.units = units
        self.values = Values(self.cursor, self.tape, self.tables)

    def open_root(self, head: i64, start: i64, number: i64) -> i64:
        """Open the root of the message that starts at `start`; returns its index."""
        return self.tape.open(head, start, number)

    def try_packets(self) -> bool:
        """Try the framings of final that start like values; True if one of them holds to the end.

        Only for bytes that do not read as values: the cursor is at the start, the tape empty.
        """
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        mark = tape.mark()
        for framing in ("4.0.66", "4.0.7", "4.0.0", "3.2.1"):
            self.restart()
            try:
                self.read_packets(m.ROOT, 0, framing)
                if cursor.pos == cursor.end:
                    return True
            except DecodeError as error:
                if error.incomplete and not self.final:
                    raise
            cursor.pos = start
            tape.rollback(mark)
        return False

    def _part(self, framing: str, first: bool) -> tuple[i64, bool]:
        """Pass over one part of a packet; its size, and whether another part of the packet follows."""
        cursor = self.cursor
        at = cursor.pos
        byte = cursor.u8("a packet")
        continues = True
        if framing == "3.2.1":
            size = cursor.u16("the length of a packet")
            continues = byte == 0x70
        elif framing == "4.0.66":
            continues = byte & 0x80 != 0
            if byte & 0x7F != (5 if first else 0):
                raise cursor.error("bad-value", at, f"{byte:02x} does not start a packet")
            size = cursor.u8("the length of a packet")
            if size == 0x7E:
                size = cursor.u16("the length of a packet")
                if size < 0x7E:
                    raise cursor.error("bad-length", at, "a packet's length is longer than needed")
            elif size > 0x7E:
                raise cursor.error("bad-value", at, "a packet's length takes more than 16 bits")
        else:
            if framing == "4.0.7":
                if byte != 0x80:
                    raise cursor.error("bad-value", at, f"{byte:02x} does not start a packet")
                byte = cursor.u8("the length of a packet")
            size = byte
            if byte >= 0x80:
                low = cursor.u8("the length of a packet")
                size = (byte & 0x7F) << 7 | low
                if low >= 0x80 or size < 0x80:
                    raise cursor.error("bad-length", at, "a packet's length is not in its usual form")
            continues = size > 0
        cursor.skip(size, "a packet's content")
        return size, continues

    def read_packets(self, root_head: i64, number: i64, framing: str) -> None:
        """Read a sequence of packets.

        If any of them has several parts, the contents of all are joined in one buffer: packets share
        classes and types, whose names must be in the buffer of the objects.
        """
        cursor = self.cursor
        tape = self.tape
        data = cursor.data
        start = cursor.pos
        contents: list[list[tuple[int, int]]] = []  # start and end of each part, by packet
        ends: list[i64] = []  # of whole packets
        error: DecodeError | None = None
        continues = False
        while cursor.pos < cursor.end and error is None:
            at = cursor.pos
            if framing == "3.2.1" and data[at] != 0x50 and data[at] != 0x70:
                break
            try:
                if not continues:
                    contents.append([])
                size, continues = self._part(framing, len(contents[-1]) == 0)
                if size or framing == "3.2.1" or framing == "4.0.66":
                    contents[-1].append((int(cursor.pos - size), int(cursor.pos)))
                if not continues:
                    ends.append(cursor.pos)
            except DecodeError as caught:
                cursor.pos = at
                error = caught
        if error is None and continues:
            error = cursor.short(1, "the rest of a packet")
        root = self.open_root(root_head, start, number)
        if self.dialect == d.FINAL and framing != "4.0.66":
            tape.set_form(root, m.FRAMINGS[framing])
        packets = tape.open(m.PACKETS, start, 0)
        head = m.PACKET
        inner = Cursor(cursor.buffer, start, start)
        if any(len(parts) != 1 for parts in contents):
            head |= t.EMBEDDED
            inner = Cursor(_joined(cursor.buffer, contents), 0, 0)
            tape.buffers.append(inner.buffer)
        self.values = Values(inner, tape, self.tables)
        after = start
        for position, end in enumerate(ends):
            packet = tape.open(head, after, len(tape.buffers) - 1 if head & t.EMBEDDED else 0)
            self._packet(packet, inner, contents[position])
            tape.close(packet, end)
            after = end
        if error is not None:
            raise error
        if cursor.pos == cursor.end and not self.final:
            raise cursor.short(1, "another packet, or the end of the stream")
        tape.close(packets, cursor.pos)
        tape.close(root, cursor.pos)

    def _packet(self, packet: i64, inner: Cursor, parts: list[tuple[int, int]]) -> None:
        """Read one packet's values, from the input or from the buffer in which all packets are joined."""
        tape = self.tape
        if tape.head(packet) & t.EMBEDDED:
            inner.end = inner.pos
            for start, end in parts:
                inner.end += end - start
            if len(parts) != 1:
                tape.set_form(packet, m.PACKET_CHUNKS)
                for start, end in parts:
                    tape.leaf(m.CHUNK_SIZE, inner.pos, inner.pos, end - start)
        else:
            inner.pos = parts[0][0]
            inner.end = parts[0][1]
        items = tape.open(m.VALUES, inner.pos, 0)
        self.tables.clear_references()
        try:
            self.values.read(TO_END)
        except DecodeError as error:
            # no more input can complete a packet whose length is known
            raise DecodeError(error.code, error.offset, error.text) from None
        if inner.pos < inner.end:
            raise inner.error("bad-value", inner.pos, "a packet holds more than values")
        tape.close(items, inner.pos)


def _joined(buffer: Buffer, packets: list[list[tuple[int, int]]]) -> Buffer:
    """The contents of all packets, one after the other."""
    pieces: list[bytes] = []
    segments: list[tuple[int, int]] = []
    total = 0
    for parts in packets:
        for start, end in parts:
            if end > start:
                segments.append((total, int(buffer.absolute(start))))
                pieces.append(buffer.data[start:end])
                total += end - start
    return Buffer(b"".join(pieces), buffer.base, segments)


def lengths_lead_to_end(data: bytes, end: i64) -> bool:
    """Whether the lengths of one of the framings that start like values lead from the start to the end.

    Where they lead only through empty packets, that is not framing: the bytes are more likely values.
    """
    for opener in (5, 0x80, -1):
        if opener == 5 and data[0] & 0x7F != 5:
            continue
        empty: i64 = 1 if opener < 0 else 2  # bytes of an empty part
        filled = opener == 5
        at: i64 = 0
        while at < end:
            start = at
            at = _after_part(data, at, end, opener)
            if at < 0:
                break
            if at - start > empty:
                filled = True
        if at == end and filled:
            return True
    return False


def _after_part(data: bytes, at: i64, end: i64, opener: i64) -> i64:
    """Where the part of a packet that starts at `at` ends, in 4.0.66 (5), 4.0.7 (0x80) or 4.0.0; -1: none."""
    if opener >= 0:
        byte: i64 = data[at]
        if byte != opener and (opener != 5 or byte & 0x7F not in (0, 5)):
            return -1
        at += 1
        if at >= end:
            return -1
    size: i64 = data[at]
    at += 1
    if opener == 5 and size >= 0x7E:
        if size > 0x7E or at + 2 > end:
            return -1
        size = data[at] << 8 | data[at + 1]
        at += 2
    elif opener != 5 and size >= 0x80:
        if at >= end:
            return -1
        size = (size & 0x7F) << 7 | data[at]
        at += 1
    if at + size > end:
        return -1
    return at + size
