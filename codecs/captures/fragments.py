"""IP datagrams in fragments (RFC 791 section 3.2, RFC 8200 section 4.5): put together, within limits."""

from typing import Final

from mypy_extensions import i64

FRAGMENT_DATAGRAMS: Final = 1024  # at most this many IP datagrams wait for fragments
FRAGMENT_BYTES: Final = 1 << 23  # at most this many bytes of fragments wait
FRAGMENTS: Final = 1500  # of a datagram, at most: the smallest link (68 bytes) makes 1,366 of 65,535
FRAGMENT_COST: Final = 128  # bytes that a waiting fragment counts besides its data
FRAGMENT_TIME_US: Final = 30_000_000  # a later one is of another datagram (RFC 791: 15 s, RFC 8200: 60 s)
DATAGRAM_LIMIT: Final = 65_535 + 40  # the longest datagram

_KEY4: Final = 11  # bytes of an IPv4 key: addresses, protocol, identification

# A waiting fragment: datagram key, offset, whether more follow, data, time, packet number, file offset
FragmentRow = tuple[bytes, int, bool, bytes, int, int, int]


class Datagram:
    """The fragments of one IP datagram so far: never overlapping, in order of their offset.

    `key` is the two addresses, the protocol and the identification. `total` is the length of the data if
    the last fragment has come, -1 until then; `packets` has the packet of each fragment, in order of arrival.
    """

    def __init__(self, key: bytes, time_us: i64) -> None:
        self.key: Final = key
        self.time_us: Final = time_us
        self.total: i64 = -1
        self.cost: i64 = 0
        self.packets: list[int] = []
        self.rows: list[FragmentRow] = []
        self._have: i64 = 0
        self._parts: list[tuple[int, bytes]] = []

    def add(self, offset: i64, data: bytes) -> None:
        """Keep what is new of data; bytes that were there first stay."""
        end: i64 = offset + len(data)
        if not self._parts or offset >= self._parts[-1][0] + len(self._parts[-1][1]):
            self._parts.append((int(offset), data))
            self._have += len(data)
            return
        kept: list[tuple[int, bytes]] = []
        cursor: i64 = offset
        for start, part in self._parts:
            stop: i64 = start + len(part)
            if cursor < end and start > cursor:
                upto: i64 = min(end, start)
                kept.append((int(cursor), data[cursor - offset : upto - offset]))
                self._have += upto - cursor
                cursor = upto
            kept.append((start, part))
            cursor = max(cursor, stop) if start <= cursor else cursor
        if cursor < end:
            kept.append((int(cursor), data[cursor - offset :]))
            self._have += end - cursor
        self._parts = kept

    def is_complete(self) -> bool:
        """Whether all bytes up to the last fragment are here."""
        return self.total >= 0 and self._have >= self.total

    def prefix(self) -> bytes:
        """The bytes from offset 0 without a hole."""
        parts: list[bytes] = []
        cursor: i64 = 0
        for start, part in self._parts:
            if start != cursor:
                break
            parts.append(part)
            cursor += len(part)
        return b"".join(parts)

    def is_ipv4(self) -> bool:
        """Whether it is a datagram of IPv4; else of IPv6."""
        return len(self.key) == _KEY4

    def header(self) -> bytes:
        """An IP header for the whole datagram, with a length of 0: the data decides."""
        key = self.key
        if self.is_ipv4():
            return b"\x45\0\0\0\0\0\0\0\0" + key[8:9] + b"\0\0" + key[:8]
        return b"\x60\0\0\0\0\0" + key[32:33] + b"\0" + key[:32]


class Fragments:
    """The datagrams that wait for fragments."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, Datagram] = {}
        self._cost: i64 = 0

    def rows(self) -> list[FragmentRow]:
        """All waiting fragments as plain values, in order of their datagrams' arrival."""
        rows: list[FragmentRow] = []
        for datagram in self._waiting.values():
            rows.extend(datagram.rows)
        return rows

    def expired(self, key: bytes, time_us: i64) -> Datagram | None:
        """The datagram of this key if it waited too long for a fragment of `time_us`; it waits no longer."""
        datagram = self._waiting.get(key)
        if datagram is None or time_us - datagram.time_us <= FRAGMENT_TIME_US:
            return None
        return self._take(datagram)

    def excess(self) -> Datagram | None:
        """The oldest datagram if more wait than the limits allow; it waits no longer."""
        if self._cost > FRAGMENT_BYTES or len(self._waiting) > FRAGMENT_DATAGRAMS:
            return self.oldest()
        return None

    def oldest(self) -> Datagram | None:
        """The oldest datagram, if any waits; it waits no longer."""
        for datagram in self._waiting.values():
            return self._take(datagram)
        return None

    def add(self, row: FragmentRow, length: i64) -> Datagram | None:
        """Keep a fragment of `length` bytes on the wire; its datagram if that completes it."""
        key, offset, more, data, time_us, packet, file_offset = row
        datagram = self._waiting.get(key)
        if datagram is None:
            datagram = Datagram(key, time_us)
            self._waiting[key] = datagram
        cost: i64 = len(data) + FRAGMENT_COST
        datagram.cost += cost
        self._cost += cost
        end: i64 = offset + length
        if len(datagram.rows) < FRAGMENTS:
            cut = length > len(data)
            datagram.rows.append((key, offset, more or cut, data, time_us, packet, file_offset))
            if cut and not more:
                # the capture cut the last fragment: an empty one keeps where it ended
                datagram.rows.append((key, int(end), False, b"", time_us, packet, file_offset))
            datagram.packets.append(packet)
            datagram.add(offset, data)
        if not more:
            datagram.total = end
        return self._take(datagram) if datagram.is_complete() else None

    def _take(self, datagram: Datagram) -> Datagram:
        del self._waiting[datagram.key]
        self._cost -= datagram.cost
        return datagram
