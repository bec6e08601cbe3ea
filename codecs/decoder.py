"""Decoding: a stream of bytes, whole or in chunks, to records."""

from typing import Any, Final

from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import registry
from wirelens.codecs.codec import Codec, Track
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.detection import ENOUGH_BYTES, Detection, detect
from wirelens.codecs.node import Node
from wirelens.codecs.record import NO_PROTOCOL, Record
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.tape import DOUBLED, Buffer, Tape

# Bytes of one message that may wait for their rest: with these, all escaped in JSON, it takes less than 2 GB.
MAX_MESSAGE: Final = 7 << 24
PORTION: Final = 1 << 30  # bytes that are taken at a time; a tape's buffer has less than twice as many
OPAQUE_BYTES: Final = 1 << 20  # bytes of no known protocol that one record holds at most
ATTEMPT_FACTOR: Final = 4  # bytes that may be read over again for each byte that came in
TOO_MUCH: Final = "not enough memory for this message"  # text of error `limit`
ATTEMPT_FREE: Final = 1 << 16
JOIN_BYTES: Final = 1 << 16  # bytes in which a first message is looked for, then in the next ones
ROOM_WORDS: Final = 3  # words of a tape for each
ROOM_BYTES: Final = 8  # bytes of a message, about,
LEAST_ROOM: Final = 48  # but at least this many words, or three a byte: a header's fields


def decode(data: bytes, protocol: str | None = None) -> list[Record]:
    """The records of a whole input, in order, together covering every byte of it.

    `protocol` is an id of the registry; None detects it, and gives one record of protocol "unknown"
    where the evidence is too little. Raises LookupError for a protocol that does not exist.
    """
    return Decoder(protocol).close(data)


@mypyc_attr(acyclic=True, free_list_len=1)
class Decoder:
    """Decodes a stream that comes in chunks; holds no more than one message.

    With `protocol` None the protocol is detected once, on the first bytes, and stays. `base` is the
    stream's offset of the first byte fed. `other` may hold bytes of the opposite direction, to help
    detection. `detection` is the one that was used, once there was one.

    Where a message ends the use of its protocol, the rest is detected afresh; with `stays_left`
    the decoder stops there instead: `left` is set, and `rest` gives what was not decoded. `joined`: the
    stream's beginning is missing, so decoding starts at the first message that can be proved; `role` then
    is "request" or "reply" if only those can come. `track`: see Codec.track; the decoder of the other
    direction may share it, `direction` then tells them apart.
    """

    def __init__(self, protocol: str | None = None, base: int = 0, other: bytes = b"") -> None:
        self.codec: Codec | None = None
        self.settled = False
        self.detection: Detection | None = None
        self.other = other
        self.joined = False
        self.role = ""
        self.direction = 0
        self.track: Track | None = None
        self.left = False
        self.stays_left = False
        self._unknown = ("unknown-protocol", NO_PROTOCOL)
        self._data = b""
        self._pos: i64 = 0  # of the first byte in `_data` that is in no record yet
        self._base: i64 = base  # input offset of `_data[0]`
        self._parts: list[bytes] | None = None  # what came in after `_data`
        self._waiting: i64 = 0  # bytes in `_parts`
        self._wanted: i64 = 0  # bytes of `_data` to have before the next attempt
        self._received: i64 = 0
        self._read_again: i64 = 0
        self._first: Final[i64] = base
        self._wasted: i64 = 0  # bytes read in messages that failed
        self._words: i64 = 0  # that the message at `_pos` had when it was read last, incomplete,
        self._tried: i64 = 0  # and the bytes that it had
        if protocol is not None and protocol != UNKNOWN:
            self.codec = registry.get(protocol)
            self.settled = True
            self.track = self.codec.track()
        elif protocol == UNKNOWN:
            self.settled = True

    @property
    def protocol(self) -> str:
        """The protocol in use; "unknown" while or where it is."""
        return UNKNOWN if self.codec is None else self.codec.name

    def feed(self, chunk: bytes) -> list[Record]:
        """Take the next bytes; the records that they complete."""
        if not chunk:
            return []
        if len(chunk) > PORTION:
            portions = [chunk[at : at + PORTION] for at in range(0, len(chunk), PORTION)]
            return [record for portion in portions for record in self.feed(portion)]
        self._take(chunk)
        size = len(self._data) - self._pos + self._waiting
        if size < self._wanted - self._pos:
            return []
        if self._read_again + size > ATTEMPT_FACTOR * self._received + ATTEMPT_FREE:
            return []
        return self._run(False)

    def close(self, last: bytes = b"") -> list[Record]:
        """Say that the stream has ended, after the bytes `last`; the records of what is left."""
        records: list[Record] = []
        if len(last) > PORTION:
            records = self.feed(last)
        elif last:
            self._take(last)
        records += self._run(True)
        self._base += len(self._data)
        self._data = b""
        self._pos = 0
        self._wanted = 0
        return records

    def gap(self, size: int) -> list[Record]:
        """Say that `size` bytes of the stream are missing here; the records of what came before."""
        codec = self.codec
        cut = None if codec is None else codec.before_gap()
        self.codec = cut
        records = self.close()
        if self.codec is cut:
            self.codec = codec
        if self.track is not None:
            self.track.lost(self.direction)
        self._base += size
        self._read_again = 0
        last = records[-1] if records else None
        # the next message begins after the gap if the gap is exactly what the last one lacks
        self.joined = last is None or last.error is None or last.full_length != last.length + size
        if last is not None and last.error is not None and last.codec is not None and last.codec.may_leave:
            self.left = self.left or (last.error.code == "truncated" and last.codec.left_by(last.raw) > 0)
        return records

    def again(self) -> list[Record]:
        """Try what waits once more, as its codec is another one now; the records that it gives."""
        return self._run(False)

    @property
    def pending(self) -> bytes:
        """The bytes that are in no record yet."""
        return b"".join([self._data[self._pos :], *(self._parts or ())])

    def peek(self, size: int) -> bytes:
        """The first bytes that are in no record yet."""
        data = self._data[self._pos : self._pos + size]
        return data if len(data) == size or self._parts is None else self.pending[:size]

    def rest(self) -> bytes:
        """Give up the bytes that are in no record yet."""
        data = self.pending
        self._base += self._pos + len(data)
        self._data = b""
        self._pos = 0
        self._parts = None
        self._waiting = 0
        return data

    def save(self) -> tuple[Any, ...]:
        """The state as plain values: protocol, offset, and the bytes that are in no record yet."""
        data = self.pending
        track = () if self.track is None else self.track.save()
        return (
            self.protocol,
            int(self._base + self._pos),
            data,
            self.joined,
            self.role,
            self.direction,
            track,
            "" if self.codec is None else self.codec.form,
        )

    @staticmethod
    def load(state: tuple[Any, ...]) -> "Decoder":
        """A decoder that goes on where `save` was called."""
        protocol, base, data, joined, role, direction, track, form = state
        decoder = Decoder(protocol, base)
        if decoder.codec is not None:
            decoder.codec = decoder.codec.in_form(form)
        decoder.joined = joined
        decoder.role = role
        decoder.direction = direction
        if decoder.track is not None:
            decoder.track.load(track)
        if data:
            decoder._take(data)
        return decoder

    def _take(self, chunk: bytes) -> None:
        self._received += len(chunk)
        if self._pos == len(self._data) and self._parts is None:
            self._base += self._pos
            self._pos = 0
            self._data = chunk
            return
        if self._parts is None:
            self._parts = []
        self._parts.append(chunk)
        self._waiting += len(chunk)

    def _run(self, final: bool) -> list[Record]:
        if self._parts is not None:
            self._data = b"".join([self._data[self._pos :], *self._parts])
            self._base += self._pos
            self._pos = 0
            self._parts = None
            self._waiting = 0
        self._wanted = 0
        self._read_again += len(self._data) - self._pos
        records: list[Record] = []
        while True:
            if not self.settled and not self._settle(final):
                return records
            if self.codec is None:
                self._opaque(records)
            else:
                self._messages(self.codec, records, final)
            if not self.left or self.stays_left:
                break
            self.left = False
            self.settled = False
            self.codec = None
            self.track = None
            self.other = b""
        if self._pos == len(self._data):
            # many streams may be open at once: what is read is not kept
            self._base += self._pos
            self._data = b""
            self._pos = 0
        return records

    def _settle(self, final: bool) -> bool:
        """Detect the protocol; False to wait for more bytes."""
        data = self._data[self._pos :] if self._pos else self._data
        if not data:
            return False
        detection = detect(data, self.other, final)
        if detection.protocol == UNKNOWN and not final:
            enough = MAX_MESSAGE if detection.unfinished else ENOUGH_BYTES
            if len(data) < enough:
                self._wanted = self._pos + min(2 * len(data), enough)
                return False
        self.detection = detection
        if detection.protocol != UNKNOWN:
            self.codec = registry.get(detection.protocol)
            self.track = self.codec.track()
        elif detection.code != "unknown-protocol":
            self._unknown = (detection.code, detection.reason)
        self.settled = True
        return True

    def _opaque(self, records: list[Record]) -> None:
        """Bytes of no known protocol, as they are."""
        data = self._data
        while self._pos < len(data):
            end = min(self._pos + OPAQUE_BYTES, len(data))
            offset = int(self._base + self._pos)
            error = DecodeError(self._unknown[0], offset, self._unknown[1])
            records.append(Record(None, offset, int(end - self._pos), None, error, data[self._pos : end]))
            self._pos = end

    def _messages(self, codec: Codec, records: list[Record], final: bool) -> None:
        data = self._data
        end: i64 = len(data)
        buffer = Buffer(data, self._base)
        size = end - self._pos
        room = max(size * ROOM_WORDS // ROOM_BYTES, min(3 * size, LEAST_ROOM))
        if self.joined and not self._join(codec, records, final):
            return
        while self._pos < end:
            start = self._pos
            tape = Tape(buffer, room)
            cursor = Cursor(buffer, start, end)
            try:
                if self._words:
                    tape.reserve(self._words * (end - start) // self._tried)
                    self._words = 0
                codec.decode(cursor, tape, final)
            except DecodeError as error:
                if (
                    error.needed
                    and not final
                    and end - start < MAX_MESSAGE
                    and error.needed - start <= MAX_MESSAGE
                ):
                    self._wanted = error.needed
                    self._words = tape.size()
                    self._tried = end - start
                    return
                tape.close_from(0, min(cursor.pos, end))
                reached = min(max(cursor.pos, error.offset - self._base, start + 1), end)
                if not final and end < start + codec.proves_ahead:
                    self._wanted = start + codec.proves_ahead
                    return
                wasted = self._wasted + (reached - start)
                again = start + 1
                if (
                    error.code == "limit"
                    or wasted > ATTEMPT_FACTOR * (self._base + reached - self._first) + ATTEMPT_FREE
                ):
                    # one damaged claim inside the other: what was read is not read once more
                    again = reached
                following = self._next_start(codec, start, again, end, final)
                if following < 0:
                    self._wanted = end + 1
                    return
                self._wasted = wasted
                records.append(self._failed(codec, tape, error, start, following))
                self._pos = following
                continue
            except MemoryError:
                too_much = cursor.error("limit", start, TOO_MUCH)
                records.append(self._failed(codec, Tape(buffer), too_much, start, end))
                self._pos = end
                continue
            if cursor.pos <= start:
                raise AssertionError(f"{codec.name} decoded a message of no bytes")
            if tape.size() > DOUBLED:
                tape.give_back()
            if self.track is not None:
                self.track.add(self.direction, tape)
            records.append(Record(codec, int(self._base + start), int(cursor.pos - start), tape))
            self._pos = cursor.pos
            if codec.has_forms:
                codec = self.codec = codec.after(Node(tape, 0, buffer))
            if codec.may_leave and codec.leaves(Node(tape, 0, buffer)):
                self.left = True
                return
            room = tape.size() + tape.size() // 4  # the next one is often like it

    def _join(self, codec: Codec, records: list[Record], final: bool) -> bool:
        """Skip to the first message that can be proved; False to wait for more bytes."""
        data = self._data
        end: i64 = len(data)
        start = self._pos
        if start == end:
            return False
        if self.track is not None:
            self.track.lost(self.direction)
        at = codec.first(data, start, end, final, self.role)
        if (at < 0 or at == end) and not final and end - start < JOIN_BYTES:
            self._wanted = end + 1
            return False
        if at < 0:
            at = end
        if at > start:
            records.append(inside_message(codec, int(self._base + start), data[start:at]))
            self._pos = at
        self.joined = at == end
        return at < end

    def _next_start(self, codec: Codec, start: i64, again: i64, end: i64, final: bool) -> i64:
        """Where decoding continues after damage that starts at `start`; -1 to wait for more bytes.

        `again`: from where on a message is looked for.
        """
        most = start + OPAQUE_BYTES
        last = min(end, most)
        if again >= most:  # what was read belongs to the record
            return again
        if again < last:
            following = codec.resync(self._data, again, last)
            if following < last:
                return following
        return last if final or last < end or last == most else -1

    def _failed(self, codec: Codec, tape: Tape, error: DecodeError, start: i64, end: i64) -> Record:
        if self.track is not None:
            self.track.lost(self.direction)
        raw = self._data[start:end]
        last = self._base + end
        # decoding may go on inside what was read: its nodes and notes are of what follows
        tape.trim(end)
        tape.notes[:] = [note for note in tape.notes if note.offset <= last]
        if error.offset > last:
            text = f"another message starts here; read on, at offset {error.offset}: {error.text}"
            error = DecodeError(error.code, last, text)
        kept = tape if tape.size() or tape.notes else None
        return Record(codec, int(self._base + start), int(end - start), kept, error, raw)


def inside_message(codec: Codec, offset: int, data: bytes) -> Record:
    """Bytes of a message whose beginning is missing."""
    error = DecodeError("inside-message", offset, "its beginning was not captured")
    return Record(codec, offset, len(data), None, error, data)
