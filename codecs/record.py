"""Records: the result of decoding, one per message, together covering every byte of the input."""

from collections.abc import Iterator
from typing import Final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from wirelens.codecs import registry
from wirelens.codecs.codec import Codec
from wirelens.codecs.codes import CODES, Note
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_text import fault_json, loads, quoted
from wirelens.codecs.json_writers import end_writing, start_writing
from wirelens.codecs.node import Json, Node
from wirelens.codecs.notation import Writer
from wirelens.codecs.numbers import LAST_MICROSECOND, write_hex, write_int, write_seconds, write_time
from wirelens.codecs.registry import UNKNOWN
from wirelens.codecs.tape import Buffer, Tape
from wirelens.codecs.words import clean, count, shortened

LAST_OFFSET: Final = 1 << 62  # 64 bits hold the sum of two
LARGE: Final = 1 << 20  # bytes of a message whose JSON is written in parts
PART: Final = 1 << 20  # bytes of such a part, or somewhat more
NO_PROTOCOL: Final = "no protocol has enough evidence"

_UNKNOWN_OPENING: Final = b'{"protocol": "unknown", "offset": '


@mypyc_attr(acyclic=True)
class Place:
    """The part of a message's origin that many messages share.

    `file`: its name, "" for a single input. In captures `flow`: transport and endpoints as text, sender
    first, the flow's `number` and the message's `direction`: 0 from client to server, 1 back; "" and 0
    otherwise.
    `json`: how a `source` starts.
    """

    def __init__(
        self, file: str = "", flow: str = "", number: i64 = 0, sender: str = "", direction: i64 = 0
    ) -> None:
        self.file: Final = file
        self.flow: Final = flow
        self.number: Final[i64] = number
        self.sender: Final = sender
        self.direction: Final[i64] = direction
        members = [b'"file": ' + quoted(file)] if file else []
        if flow:
            members.append(b'"flow": ' + quoted(flow))
            if number:
                members.append(b'"flow_number": %d' % number)
            if sender:
                members.append(b'"sender": ' + quoted(sender))
        self.json: Final = b"{" + b", ".join(members)


@mypyc_attr(acyclic=True, free_list_len=1)
class Origin:
    """Where a message came from: the place, and in captures its time, packets and pair.

    `time_us`: microseconds since 1970 of its last byte, 0 if unknown; `packets`: their numbers; `pair`: a
    number that a request and its reply share, or 0; `latency_us`: latency of a reply, -1 if unknown.
    """

    def __init__(
        self,
        place: Place,
        time_us: i64 = 0,
        packets: tuple[int, ...] = (),
        pair: i64 = 0,
        latency_us: i64 = -1,
    ) -> None:
        self.place: Final = place
        self.time_us: Final[i64] = time_us
        self.packets: Final = packets
        self.pair: Final[i64] = pair
        self.latency_us: Final[i64] = latency_us

    def write(self, out: BytesWriter) -> None:
        """Write the `source` of a record: a JSON object of what is known, durations in seconds."""
        place = self.place
        out.write(place.json)
        if place.flow:
            if 0 < self.time_us <= LAST_MICROSECOND:
                out.write(b', "time": "')
                write_time(out, self.time_us)
                out.append(0x22)
            out.write(b', "packets": ')
            mark = b"["
            for number in self.packets:
                out.write(mark)
                write_int(out, number)
                mark = b", "
            out.write(b"]")
            if self.pair:
                out.write(b', "pair": "')
                write_int(out, place.number)
                out.append(0x2E)
                write_int(out, self.pair)
                out.append(0x22)
            if self.latency_us >= 0:
                out.write(b', "latency": ')
                write_seconds(out, self.latency_us)
        out.append(0x7D)


@mypyc_attr(acyclic=True, free_list_len=1)
class Record:
    """One message, or a stretch of bytes that is not one.

    `offset` and `length` are bytes in the input. `codec` is None for bytes of no known protocol. `tape`
    holds the message or, with an `error`, the part of it that decoded (None: nothing). `raw` are the bytes
    of a record with an error. `origin` is set if the input is a capture or one of several files.
    """

    def __init__(
        self,
        codec: Codec | None,
        offset: int,
        length: int,
        tape: Tape | None,
        error: DecodeError | None = None,
        raw: bytes = b"",
    ) -> None:
        self.codec: Final = codec
        self.offset: Final = offset
        self.length: Final = length
        self.tape: Final = tape
        self.error: Final = error
        self.raw: Final = raw
        self.origin: Origin | None = None
        self.extra_notes: list[Note] | None = None  # notes from the message's surroundings
        self.context = ""  # see Codec.context

    def __repr__(self) -> str:
        size = count(self.length, "byte")
        return f"<Record {self.protocol} {self.kind} at {self.offset}, {size}: {clean(self.summary)}>"

    @property
    def protocol(self) -> str:
        """The protocol's id, or "unknown"."""
        return UNKNOWN if self.codec is None else self.codec.name

    @property
    def root(self) -> Node | None:
        """The message's tree; None if it did not decode."""
        return None if self.error is not None else self.partial

    @property
    def partial(self) -> Node | None:
        """The tree of the part that decoded, with or without an error."""
        tape = self.tape
        if tape is None or tape.size() == 0:
            return None
        return Node(tape, 0, tape.buffer)

    @property
    def full_length(self) -> int:
        """The length in bytes, with those that are missing at its end, as its head declares them."""
        length: int = self.length
        error = self.error
        if error is None or self.codec is None or error.code != "truncated":
            return length
        declared: int = self.codec.extent(self.raw)
        return max(length, declared)

    @property
    def headed(self) -> Node | None:
        """The tree of a message, or of one whose head is whole and whose last bytes are missing."""
        error = self.error
        if error is None or self.codec is None:
            return self.partial
        return self.partial if error.code == "truncated" and self.codec.extent(self.raw) else None

    @property
    def source(self) -> Json:
        """Its origin as the notation has it; None if it has none."""
        if self.origin is None:
            return None
        out = BytesWriter()
        self.origin.write(out)
        return loads(out.getvalue().decode())

    @property
    def kind(self) -> str:
        """What sort of message this is, in a word; "error" or "opaque" if it is not one."""
        root = self.root
        if root is None or self.codec is None:
            return "opaque" if self.codec is None else "error"
        return self.codec.kind(root)

    @property
    def summary(self) -> str:
        """The message in one line."""
        root = self.root
        if root is not None and self.codec is not None:
            if self.context:
                return shortened(self.codec.summary_in(root, self.context))
            return shortened(self.codec.summary(root))
        error = self.error
        reason = f": {error.text} at offset {error.offset}" if error is not None and error.text else ""
        return shortened(f"{count(self.length, 'byte')} not decoded{reason}")

    @property
    def notes(self) -> list[Note]:
        """Legal or tolerated oddities, worst first."""
        notes = [] if self.extra_notes is None else list(self.extra_notes)
        if self.tape is not None and self.tape.note_count():
            notes.extend(self.tape.notes)
        if len(notes) > 1:
            notes.sort(key=_rank)
        return notes

    @property
    def damaged(self) -> bool:
        """Whether any part of it did not decode, inner errors included."""
        return self.error is not None or (self.tape is not None and self.tape.fault_count() > 0)

    def json_bytes(self, plain: bool = False, places: bool = True) -> bytes:
        """The record in the notation, on one line, in UTF-8; `plain` and `places` as of Writer."""
        writer = start_writing(plain, places)
        self.write(writer)
        return end_writing(writer)

    def json_parts(self, plain: bool = False, places: bool = True) -> Iterator[bytes]:
        """As `json_bytes`, in parts of some PART bytes each: the text is never whole in memory."""
        writer = start_writing(plain, places)
        out = writer.out
        tape = self._write_before(writer)
        if tape is not None:
            writer.begin(tape, 0, tape.buffer)
            node: i64 = 0
            while node >= 0:
                node = writer.proceed(tape, 0, node, PART)
                yield out.getvalue()
                out.truncate(0)
        self._write_after(writer)
        yield out.getvalue()

    def write(self, writer: Writer) -> None:
        """Write the record in the notation, on one line."""
        tape = self._write_before(writer)
        if tape is not None:
            writer.write(tape, 0, tape.buffer)
        self._write_after(writer)

    def _write_before(self, writer: Writer) -> Tape | None:
        """Write what stands before the tree, which is to follow; None if there is none."""
        out = writer.out
        if writer.places:
            out.write(_UNKNOWN_OPENING if self.codec is None else self.codec.json_opening)
            write_int(out, self.offset)
            out.write(b', "length": ')
            write_int(out, self.length)
            if self.origin is not None:
                out.write(b', "source": ')
                self.origin.write(out)
        else:
            out.write(b'{"protocol": "%b"' % self.protocol.encode())
        tape = self.tape
        error = self.error
        if error is None:
            if tape is not None:
                out.write(b', "message": ')
            return tape
        out.write(b', "message": null, "error": ')
        out.write(fault_json(error.code, error.offset, error.text, writer.places))
        out.write(b', "bytes": "')
        write_hex(out, self.raw)
        out.write(b'"')
        if tape is None or tape.size() == 0:
            return None
        out.write(b', "partial": ')
        return tape

    def _write_after(self, writer: Writer) -> None:
        """Write the notes, and the end."""
        out = writer.out
        tape = self.tape
        if self.extra_notes is not None or (tape is not None and tape.note_count()):
            out.write(b', "notes": [')
            for position, note in enumerate(self.notes):
                if position:
                    out.write(b", ")
                out.write(fault_json(note.code, note.offset, note.text, writer.places))
            out.write(b"]")
        out.write(b"}")

    def json_text(self, plain: bool = False, places: bool = True) -> str:
        """The record in the notation, as text on one line."""
        return self.json_bytes(plain, places).decode()

    def to_json(self, plain: bool = False) -> Json:
        """The record in the notation, as Python objects."""
        return loads(self.json_text(plain))

    @staticmethod
    def from_json(obj: Json) -> "Record":
        """The record that the notation's JSON describes: its message is encoded, then decoded again.

        A record with an error gets that error again; an offset that no input has is 0. Raises EncodeError if
        the JSON is not a record or does not encode, UnknownProtocolError.
        """
        if not isinstance(obj, dict) or not isinstance(obj.get("protocol"), str):
            raise EncodeError("", 'expected a record: an object with the key "protocol"')
        from wirelens.codecs.record_encoding import encode_record

        name = str(obj["protocol"])
        out = BytesWriter()
        encode_record(obj, out, "")
        data = out.getvalue()
        offset = _offset(obj.get("offset"), 0)
        codec = None if name == UNKNOWN else registry.get(name)
        tape: Tape | None = None
        failure: DecodeError | None = None
        end = len(data)
        if codec is not None:
            buffer = Buffer(data, offset)
            tape = Tape(buffer)
            cursor = Cursor(buffer, 0, end)
            try:
                codec.decode(cursor, tape, True)
            except DecodeError as error:
                tape.close_from(0, min(cursor.pos, end))
                failure = error
        if obj.get("message") is not None:
            if failure is not None or cursor.pos != end:
                raise EncodeError("message", "its bytes do not read back as one message")
            return Record(codec, offset, end, tape)
        if failure is None:  # as part of a longer input these bytes did not decode; alone they do
            tape = None
            code, text = ("unknown-protocol", NO_PROTOCOL) if codec is None else ("bad-value", "")
            failure = _stated_error(obj.get("error"), code, offset, text)
        return Record(codec, offset, end, tape, failure, data)


def _stated_error(stated: Json, code: str, offset: int, text: str) -> DecodeError:
    """The error that a record's JSON states; what it leaves out is as given."""
    members = stated if isinstance(stated, dict) else {}
    given_code = members.get("code")
    given_text = members.get("text")
    return DecodeError(
        given_code if isinstance(given_code, str) else code,
        _offset(members.get("offset"), offset),
        given_text if isinstance(given_text, str) else text,
    )


def _offset(given: Json, otherwise: int) -> int:
    """An offset that JSON states, if it can be one."""
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= LAST_OFFSET:
        return given
    return otherwise


def json_lines(records: list[Record], plain: bool = False, places: bool = True) -> bytes:
    """Records in the notation, each on a line of its own, in UTF-8."""
    writer = start_writing(plain, places)
    for record in records:
        record.write(writer)
        writer.out.append(0x0A)
    return end_writing(writer)


def any_large(records: list[Record]) -> bool:
    """Whether any of the records has more than LARGE bytes."""
    return any(record.length > LARGE for record in records)


def any_damaged(records: list[Record]) -> bool:
    """Whether any part of the records did not decode."""
    return any(record.damaged for record in records)


def _rank(note: Note) -> int:
    code = CODES.get(note.code)
    return 0 if code is None else -code.severity
