"""What the frames of a flow have in common: header tables, header blocks, messages of streams, calls.

Bounded by the constants below. Where bytes of a direction are missing, its header table is forgotten, and
what then cannot be known is not guessed.
"""

from typing import Any, Final

from wirelens.codecs import tape as t
from wirelens.codecs.codec import Track
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.http2 import grpc, reading, triple
from wirelens.codecs.http2 import vocabulary as v
from wirelens.codecs.http2.hpack import HeaderField, HpackError, Table, read_block
from wirelens.codecs.node import Node, field, root_of
from wirelens.codecs.tape import Buffer, Fault, Tape

STREAMS: Final = 1 << 12  # that are kept of a flow; then the oldest is forgotten
MAX_BLOCK: Final = 1 << 24  # bytes of a header block in several frames
HELD: Final = 1 << 26  # bytes of messages that wait for their rest, of a flow
FRAMES_NAMED: Final = 64  # offsets of frames that a call names: its first ones and the last

CLIENT: Final = 1
SERVER: Final = 2

_CALL: Final = t.head(t.STRUCT, field("call"))
_PATH_FIELD: Final = field("path")
_PATH: Final = t.head(t.TEXT, _PATH_FIELD)
_UNKNOWN_PATH: Final = t.head(t.ABSENT, _PATH_FIELD)
_STATUS: Final = t.head(t.TEXT, field("status"))
_REQUESTS: Final = t.head(t.INTEGER, field("request_messages"))
_RESPONSES: Final = t.head(t.INTEGER, field("response_messages"))
_CANCELLED: Final = t.head(t.BOOLEAN, field("cancelled"))
_STATUS_DETAILS: Final = t.head(t.STRUCT, field("status_details"))
_HEADERS_ERROR: Final = t.head(t.FAULT, field("headers_error"))
_LEFT_OVER: Final = t.head(t.INTEGER, field("left_over"))


class Half:
    """One direction of a stream.

    `frames`: how many parts of its call it had; the first of its frames and the last are at `places`.
    `headed`: whether its header block was seen. `grpc`: whether it carries messages of gRPC; `coding`: its
    grpc-encoding; None if that is not known.
    """

    def __init__(self) -> None:
        self.frames = 0
        self.places: list[int] = []
        self.headed = False
        self.ended = False
        self.grpc: bool | None = None
        self.coding: bytes | None = None
        self.messages = 0
        self.pieces: Final = grpc.Pieces()
        self.exception = False  # whether its message is an exception, as a header of Triple states
        self.thrown = ""  # the class of the last message, if that is an exception

    def name(self, place: int) -> None:
        """Take in where a frame is."""
        if len(self.places) == FRAMES_NAMED:
            self.places[-1] = place
        else:
            self.places.append(place)

    def save(self) -> tuple[Any, ...]:
        """The half as plain values."""
        flags = (self.headed, self.ended, self.grpc, self.coding, self.exception, self.thrown)
        return (self.frames, tuple(self.places), flags, self.messages, self.pieces.save())

    def load(self, state: tuple[Any, ...]) -> None:
        """Continue with what `save` gave."""
        self.frames, places, flags, self.messages, pieces = state
        self.places = list(places)
        self.headed, self.ended, self.grpc, self.coding, self.exception, self.thrown = flags
        self.pieces.load(pieces)


class Stream:
    """A stream: its halves by direction, and what its header fields state.

    `closed`: whether its answer has ended, or a side has reset it. `upgraded`: whether its request came as
    HTTP/1.1.
    """

    def __init__(self) -> None:
        self.halves: Final = (Half(), Half())
        self.path: bytes | None = None
        self.status = ""
        self.closed = False
        self.upgraded = False


class Streams(Track):
    """What is known of one flow; its directions have the numbers 0 and 1."""

    def __init__(self) -> None:
        self.tables: Final = (Table(), Table())
        self.whole = [True, True]  # whether a direction has its beginning, and nothing is missing since
        self.sides = [0, 0]  # CLIENT, SERVER, or 0 if that is not known
        self.streams: Final[dict[int, Stream]] = {}
        self.blocks: Final[list[tuple[int, int, grpc.Pieces] | None]] = [None, None]  # stream, flags, frames
        self.held = 0

    # --- Track -------------------------------------------------------------------------------------------

    def lost(self, direction: int) -> None:
        """See Track.lost."""
        self.tables[direction].lose()
        self.whole[direction] = False
        self.blocks[direction] = None
        for stream in self.streams.values():
            half = stream.halves[direction]
            self.held -= half.pieces.size
            half.pieces.clear()
            half.headed = False

    def add(self, direction: int, tape: Tape) -> None:
        """See Track.add."""
        if tape.find(0, v.PREFACE_NODE) >= 0:
            self._is(direction, CLIENT)
            return
        root = root_of(tape)
        frame_type = int(tape.number_of(0, v.TYPE))
        stream = int(tape.number_of(0, v.STREAM))
        start = int(tape.buffer.absolute(tape.start(0)))
        end = tape.end(0)
        block = self.blocks[direction]
        if block is not None and (frame_type != v.CONTINUATION or stream != block[0]):
            text = "a header block is not continued; the header table is unknown from here"
            tape.note("bad-header", tape.start(0), text, tape.buffer)
            self.lost(direction)
        if frame_type == v.SETTINGS:
            self._settings(direction, root)
        elif frame_type == v.DATA:
            self._data(direction, root, stream, start)
        elif frame_type in (v.HEADERS, v.PUSH_PROMISE, v.CONTINUATION):
            self._fragment(direction, root, frame_type, stream, start)
        elif frame_type == v.RST_STREAM:
            self._reset(direction, root, stream, start)
        tape.close(0, end)

    def save(self) -> tuple[Any, ...]:
        """See Track.save."""
        streams = tuple(
            [
                (number, tuple([half.save() for half in one.halves]), one.path, one.status, one.closed)
                for number, one in self.streams.items()
            ]
        )
        blocks = tuple([None if one is None else (one[0], one[1], one[2].save()) for one in self.blocks])
        tables = tuple([table.save() for table in self.tables])
        return (tables, tuple(self.whole), tuple(self.sides), streams, blocks)

    def load(self, state: tuple[Any, ...]) -> None:
        """See Track.load."""
        tables, whole, sides, streams, blocks = state
        for table, saved in zip(self.tables, tables, strict=True):
            table.load(saved)
        self.whole[:] = whole
        self.sides[:] = sides
        for number, halves, path, status, closed in streams:
            one = self.streams[number] = Stream()
            one.path, one.status, one.closed = path, status, closed
            for half, saved in zip(one.halves, halves, strict=True):
                half.load(saved)
                self.held += half.pieces.size
        for direction, block in enumerate(blocks):
            if block is not None:
                pieces = grpc.Pieces()
                pieces.load(block[2])
                self.blocks[direction] = (block[0], block[1], pieces)

    # --- sides and settings ------------------------------------------------------------------------------

    def _is(self, direction: int, side: int) -> None:
        """Note which side sends in a direction."""
        self.sides[direction] = side
        self.sides[1 - direction] = CLIENT + SERVER - side

    def _settings(self, direction: int, root: Node) -> None:
        """Take in what a side allows the other: the size of its header table."""
        table = self.tables[1 - direction]
        if not self.whole[direction]:
            table.allowed = 0
        settings = root.member("settings")
        for setting in [] if settings is None else settings:
            if setting.number_of("id") == v.HEADER_TABLE_SIZE and table.allowed:
                table.allowed = max(table.allowed, setting.number_of("value"))

    def _stream(self, number: int) -> Stream:
        stream = self.streams.get(number)
        if stream is None:
            stream = self.streams[number] = Stream()
            if len(self.streams) > STREAMS:
                closed = [other for other, one in self.streams.items() if one.closed][: STREAMS // 4]
                for other in closed or [next(iter(self.streams))]:
                    self.held -= sum([half.pieces.size for half in self.streams.pop(other).halves])
        return stream

    # --- header blocks -----------------------------------------------------------------------------------

    def _fragment(self, direction: int, root: Node, frame_type: int, stream: int, start: int) -> None:
        """Take in a part of a header block; its last frame shows the header fields."""
        tape = root.tape
        flags = root.tape.number_of(0, v.FLAGS_NODE)
        fragment = root.member("fragment")
        assert fragment is not None
        block = self.blocks[direction]
        if frame_type == v.CONTINUATION:
            if block is None:
                self._part(direction, tape, stream, start, False)
                return
            opening, pieces = block[1], block[2]
        else:
            opening = flags
            pieces = grpc.Pieces()
        pieces.pieces.append((fragment.content, int(fragment.span[0]), start))
        pieces.size += len(fragment.content)
        if flags & v.END_HEADERS == 0:
            if pieces.size > MAX_BLOCK:
                tape.note(
                    "limit", tape.start(0), f"a header block of more than {MAX_BLOCK} bytes", tape.buffer
                )
                self.lost(direction)
                return
            promise = frame_type == v.PUSH_PROMISE or (block is not None and opening < 0)
            self.blocks[direction] = (stream, -1 if promise else opening, pieces)
            if not promise:
                self._stream(stream).halves[direction].name(start)
            return
        self.blocks[direction] = None
        fields = self._fields(direction, tape, pieces)
        if frame_type == v.PUSH_PROMISE or opening < 0:
            self._is(direction, SERVER)
            return
        one = self._stream(stream)
        if fields is not None:
            self._states(direction, one, fields)
        one.halves[direction].headed = True
        if fields is not None:
            self._status_details(tape, fields)
        self._part(direction, tape, stream, start, opening & v.END_STREAM != 0)

    def _fields(self, direction: int, tape: Tape, pieces: grpc.Pieces) -> list[HeaderField] | None:
        """Write the header fields of a whole block; None if it does not decode."""
        block = pieces.joined()
        if len(pieces.pieces) > 1:
            array = tape.open(v.BLOCK_FRAMES, 0, 0)
            for _, _, frame in pieces.pieces:
                tape.leaf(v.FRAME_OFFSET, 0, 0, frame)
            tape.close(array, 0)
        try:
            fields = read_block(block.data, self.tables[direction])
        except HpackError as error:
            self.lost(direction)
            offset = block.absolute(error.position)
            tape.fault(_HEADERS_ERROR, tape.end(0), Fault(error.code, offset, error.text))
            return None
        texts: list[bytes] = []
        segments: list[tuple[int, int]] = []
        at = 0
        for one in fields:
            for text, place in ((one.name, one.name_at), (one.value, one.value_at)):
                segments.append((at, int(block.absolute(place))))
                texts.append(text or b"")
                at += len(text or b"")
        number = len(tape.buffers)
        tape.buffers.append(Buffer(b"".join(texts), block.base, segments))
        fragment = tape.find(0, v.FRAGMENT)
        array = tape.open(v.HEADER_FIELDS | t.EMBEDDED, tape.start(fragment), number)
        at = 0
        for one in fields:
            pair = tape.open(v.PAIR, at, 0)
            for text in (one.name, one.value):
                end = at + len(text or b"")
                tape.leaf(v.UNKNOWN_TEXT if text is None else v.TEXT, at, end, at)
                at = end
            tape.close(pair, at)
        tape.close(array, tape.end(fragment))
        return fields

    def _states(self, direction: int, stream: Stream, fields: list[HeaderField]) -> None:
        """Take in what header fields state of their stream."""
        half = stream.halves[direction]
        first = not half.headed
        known = all(one.name is not None for one in fields)
        if first:
            half.grpc = False if known else None
            half.coding = b"" if known else None
        for one in fields:
            name, value = one.name, one.value
            if name in (b":method", b":scheme", b":path", b":authority"):
                self._is(direction, CLIENT)
                if name == b":path":
                    stream.path = value
            elif name == b":status":
                self._is(direction, SERVER)
            elif name == b"content-type":
                half.grpc = None if value is None else value.startswith(grpc.CONTENT_TYPE)
            elif name == b"grpc-encoding":
                half.coding = None if value is None else b"" if value == b"identity" else value
            elif name == b"tri-exception-code":
                half.exception = value is not None and value != b"0"
            elif name == b"grpc-status":
                status = "unknown" if value is None else value.decode("utf-8", "replace")
                stream.status = grpc.STATUSES.get(status, status)
            if name == b":status" and value is not None and not stream.status:
                stream.status = value.decode("utf-8", "replace")

    def _status_details(self, tape: Tape, fields: list[HeaderField]) -> None:
        """Write what grpc-status-details-bin holds."""
        for one in fields:
            if one.name != b"grpc-status-details-bin" or one.value is None:
                continue
            content = grpc.binary_value(one.value)
            if content is None:
                continue
            number = len(tape.buffers)
            inner = Buffer(content, tape.buffer.absolute(tape.start(0)), None, True)
            tape.buffers.append(inner)
            details = tape.open(_STATUS_DETAILS | t.EMBEDDED, tape.end(0), number)
            try:
                triple.write_status(tape, Cursor(inner, 0, len(content)))
                tape.close(details, tape.end(0))
            except DecodeError:
                tape.cut(details)

    # --- data --------------------------------------------------------------------------------------------

    def _data(self, direction: int, root: Node, number: int, start: int) -> None:
        """Take in data, and write the messages that it completes."""
        tape = root.tape
        content = root.member("data")
        assert content is not None
        stream = self._stream(number)
        half = stream.halves[direction]
        ended = root.tape.number_of(0, v.FLAGS_NODE) & v.END_STREAM != 0
        messages = half.grpc
        if messages is None and not half.headed:
            messages = stream.halves[1 - direction].grpc
        if messages is not False:
            held = half.pieces.size
            half.pieces.add(content.content, int(content.span[0]), start)
            sure = messages is True and half.headed
            self._messages(direction, tape, stream, start, ended, sure)
            self.held += half.pieces.size - held
            if self.held > HELD:
                tape.note("limit", tape.start(0), f"more than {HELD} bytes of messages wait", tape.buffer)
                self.held -= half.pieces.size
                half.pieces.clear()
                half.headed = False
        self._part(direction, tape, number, start, ended)

    def _messages(
        self, direction: int, tape: Tape, stream: Stream, start: int, ended: bool, sure: bool
    ) -> None:
        """Write the messages that are whole; `sure`: they are known to start where the pieces do."""
        half = stream.halves[direction]
        pieces = half.pieces
        if not sure and not _fits(pieces):
            if ended or pieces.needed() < pieces.size:
                pieces.clear()
            return
        if not sure:
            half.headed = half.grpc = True
        role = self._role(direction)
        content = tape.find(0, v.DATA_NODE)
        first, last = tape.start(content), tape.end(content)
        array = -1
        while pieces.size:
            needed = pieces.needed()
            if needed < 0 or needed > grpc.MAX_MESSAGE:
                text = "not a message of gRPC" if needed < 0 else f"a message of {needed} bytes"
                tape.note("bad-value" if needed < 0 else "limit", tape.start(0), text, tape.buffer)
                pieces.clear()
                half.headed = False
                break
            if pieces.size < needed or needed == grpc.PREFIX > pieces.size:
                break
            if array < 0:
                array = tape.open(grpc.MESSAGES, first, 0)
            grpc.write_message(tape, pieces.take(needed), start, half.coding, role, (first, last))
            half.messages += 1
        if array >= 0:
            tape.close(array, last)
            if role == v.REPLY:
                half.thrown = reading.thrown(Node(tape, array, tape.buffer)) or half.thrown
        if ended and pieces.size:
            tape.leaf(_LEFT_OVER, tape.end(0), tape.end(0), pieces.size)
            pieces.clear()

    # --- calls -------------------------------------------------------------------------------------------

    def _role(self, direction: int) -> int:
        side = self.sides[direction]
        return v.REQUEST if side == CLIENT else v.REPLY if side == SERVER else 0

    def _part(self, direction: int, tape: Tape, number: int, start: int, ended: bool) -> None:
        """Write the part that a frame of a stream has in its call, and the call where that ends."""
        stream = self._stream(number)
        role = self._role(direction)
        half = stream.halves[direction]
        half.frames += 1
        half.name(start)
        if ended:
            half.ended = True
            if role == v.REPLY:
                role = v.LAST_REPLY
            self._write_call(tape, stream, half, False)
        self._write_role(direction, tape, number, stream, role)
        if role == v.LAST_REPLY:
            stream.closed = True

    def _write_role(self, direction: int, tape: Tape, number: int, stream: Stream, role: int) -> None:
        """Write the role of a frame, unless its call is over, or it is of a promised stream."""
        if role == 0 or stream.closed or number % 2 == 0:
            return
        half = stream.halves[direction]
        other = stream.halves[1 - direction]
        if role == v.REPLY or role == v.LAST_REPLY:
            if number == 1 and other.frames == 0 and self.whole[1 - direction]:
                role |= v.UPGRADED
        end = tape.end(0)
        tape.leaf(v.PART, end, end, half.frames)
        tape.leaf(v.ROLE, end, end, role)

    def _write_call(self, tape: Tape, stream: Stream, half: Half, cancelled: bool) -> None:
        """Write what is known of a call at its end, or at the end of its request."""
        end = tape.end(0)
        path = stream.path or b""
        status = stream.status.encode()
        answer = stream.halves[0 if self.sides[0] == SERVER else 1]
        thrown = b""
        if answer.exception or (answer.thrown and stream.status not in ("", "OK", "200")):
            thrown = (answer.thrown or "exception").encode("utf-8", "replace")
        number = len(tape.buffers)
        tape.buffers.append(Buffer(path + status + thrown, tape.buffer.absolute(end), None, True))
        call = tape.open(_CALL | t.EMBEDDED, end, number)
        at = len(path)
        if stream.path is not None:
            tape.leaf(_PATH, 0, at, 0)
        elif stream.halves[0].frames and stream.halves[1].frames:
            tape.leaf(_UNKNOWN_PATH, 0, 0, 0)
        if status:
            tape.leaf(_STATUS, at, at + len(status), at)
        at += len(status)
        if thrown:
            tape.leaf(v.EXCEPTION, at, at + len(thrown), at)
        if cancelled:
            tape.leaf(_CANCELLED, 0, 0, 1)
        server = 0 if self.sides[0] == SERVER else 1
        tape.leaf(_REQUESTS, 0, 0, stream.halves[1 - server].messages)
        tape.leaf(_RESPONSES, 0, 0, stream.halves[server].messages)
        frames = tape.open(v.FRAMES, 0, 0)
        for place in half.places:
            tape.leaf(v.FRAME_OFFSET, 0, 0, place)
        tape.close(frames, 0)
        tape.close(call, end)

    def _reset(self, direction: int, root: Node, number: int, start: int) -> None:
        """Take in the end of a stream before its own: the client cancels, or the server refuses to go on."""
        stream = self.streams.get(number)
        if stream is None:
            return
        tape = root.tape
        half = stream.halves[direction]
        for one in stream.halves:
            self.held -= one.pieces.size
            one.pieces.clear()
        if stream.closed:
            return
        role = self._role(direction)
        half.frames += 1
        half.name(start)
        self._write_call(tape, stream, half, role == v.REQUEST)
        role = v.CANCELLING if role == v.REQUEST else v.LAST_REPLY if role else 0
        self._write_role(direction, tape, number, stream, role)
        stream.closed = True


def _fits(pieces: grpc.Pieces) -> bool:
    """Whether pieces are exactly some messages, where it is not known whether a message starts with them."""
    needed = pieces.needed()
    if needed < 0 or needed > pieces.size:
        return False
    data = b"".join([one for one, _, _ in pieces.pieces])
    at = 0
    while len(data) - at >= grpc.PREFIX and data[at] <= 1:
        at += grpc.PREFIX + int.from_bytes(data[at + 1 : at + grpc.PREFIX], "big")
    return at == len(data)
