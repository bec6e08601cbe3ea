"""Dubbo: a header of 16 bytes, and a body that is mostly final Hessian 2.0.

Source: the notes on deployed software, section 1.3 (Dubbo frame; dubbox).

All values of `$wire`:

| where | `$wire` | meaning |
|---|---|---|
| message | `{"status": n}` | a request whose fourth byte, which only responses use, is not 0 |
| body | `{"argument_count": n}` | dubbox: the int behind the method; from 0 on there is no descriptor |
| body | `{"attachments": "absent"}` | a request that ends behind its arguments |
| body | `{"result": …}` | the form of the int that says what the result is, as of an int |
"""

import re
from typing import Final

from librt.strings import BytesWriter, write_i32_be, write_i64_be
from mypy_extensions import i32, i64, mypyc_attr

from wirelens.codecs import payload
from wirelens.codecs import tape as t
from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import forms
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.gadgets import class_notes
from wirelens.codecs.hessian.reading import cut, type_word
from wirelens.codecs.hessian.value_decoding import Tables, Values
from wirelens.codecs.hessian.value_encoding import Encoder
from wirelens.codecs.json_input import array_of, hex_bytes, number_of, object_of, only
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.payload import DATA, DIALECT, ERROR, EXTRA, JSON, PARTIAL
from wirelens.codecs.tape import Buffer, Fault, Mark, Tape
from wirelens.codecs.words import count

HEADER: Final = 16
MAGIC: Final = b"\xda\xbb"
REQUEST: Final = 0x80
TWO_WAY: Final = 0x40
EVENT: Final = 0x20
MAX_BODY: Final = (1 << 28) - HEADER  # bytes; Dubbo itself takes 8 MiB unless told otherwise
USUAL_BODY: Final = 1 << 24  # bytes that a header found behind damage, or by detection, may announce
LOOKED_AT: Final = 64  # frames that detection walks over
ANNOTATED: Final = 64  # arguments that have their declared type beside them
BODY_LOOKED_AT: Final = 1 << 16  # bytes of a frame that detection decodes
VERSION_BITS: Final = 12.0  # of the version that opens a request, whatever its serialization
LENGTH_BITS: Final = 10.0  # of a length that leads just to the end

SERIALIZATIONS: Final[dict[int, str]] = {
    2: "hessian2",
    3: "java",
    4: "compactedjava",
    6: "fastjson",
    7: "nativejava",
    8: "kryo",
    9: "fst",
    10: "native-hessian",
    11: "avro",
    12: "protostuff",
    16: "gson",
    21: "protobuf-json",
    22: "protobuf",
    23: "fastjson2",
    25: "kryo2",
    31: "msgpack",
}
HESSIAN: Final = (2, 10)
JSON_TEXTS: Final = (6, 16, 21)
OK: Final = 20
STATUSES: Final[dict[int, str]] = {
    OK: "OK",
    25: "SERIALIZATION_ERROR",
    30: "CLIENT_TIMEOUT",
    31: "SERVER_TIMEOUT",
    35: "CHANNEL_INACTIVE",
    40: "BAD_REQUEST",
    50: "BAD_RESPONSE",
    60: "SERVICE_NOT_FOUND",
    70: "SERVICE_ERROR",
    80: "SERVER_ERROR",
    90: "CLIENT_ERROR",
    100: "SERVER_THREADPOOL_EXHAUSTED_ERROR",
}
RESULTS: Final[dict[int, str]] = {
    0: "exception",
    1: "value",
    2: "null",
    3: "exception",
    4: "value",
    5: "null",
}
WITH_ATTACHMENTS: Final = 3  # what the number of a result is more by when attachments follow
GENERIC: Final = ("$invoke", "$invokeAsync")

_VERSION_TEXT: Final = re.compile(rb"[23]\.[0-9]{1,2}\.[0-9]")
_USED: Final = frozenset(SERIALIZATIONS)


def _count_wire(node: Node) -> Json:
    """dubbox's int: its number, or with its form where that is unusual."""
    data = node.buffer.data
    start = node.tape.start(node.index)
    form = forms.int_form(data, start)
    return node.number if form is None else {"$int": node.number, "$wire": form}


def _status_byte(node: Node) -> Json:
    return node.raw[0]


_COUNT_FORM: Final = hint(_count_wire)
_STATUS_FORM: Final = hint(_status_byte)
_NO_ATTACHMENTS: Final = hint({"attachments": "absent"})

_ROOT: Final[i64] = t.head(t.STRUCT)
_MAGIC: Final[i64] = t.head(t.MARK, field("magic")) | t.HIDDEN
_TYPE: Final[i64] = t.head(t.NAMED, field("type", {0: "response", 1: "request"}))
_TWO_WAY: Final[i64] = t.head(t.BOOLEAN, field("two_way"))
_EVENT: Final[i64] = t.head(t.BOOLEAN, field("event"))
_SERIALIZATION: Final[i64] = t.head(t.NAMED, field("serialization", SERIALIZATIONS))
_STATUS_FIELD: Final[i64] = field("status", STATUSES)
_STATUS: Final[i64] = t.head(t.NAMED, _STATUS_FIELD)
_UNUSED: Final[i64] = t.head(t.MARK, _STATUS_FIELD) | t.HIDDEN
_ID: Final[i64] = t.head(t.INTEGER, field("id"))
_LENGTH: Final[i64] = t.head(t.LENGTH, field("length")) | t.HIDDEN
_BODY: Final[i64] = t.head(t.STRUCT, field("body"))
_DUBBO_VERSION: Final[i64] = field("dubbo_version")
_PATH: Final[i64] = field("path")
_VERSION: Final[i64] = field("version")
_METHOD: Final[i64] = field("method")
_ARGUMENT_COUNT: Final[i64] = field("argument_count")
_PARAMETER_TYPES: Final[i64] = field("parameter_types")
_ARGUMENTS: Final[i64] = t.head(t.ARRAY, field("arguments"))
_ATTACHMENTS: Final[i64] = field("attachments")
_RESULT: Final[i64] = t.head(t.NAMED, field("result", RESULTS))
_VALUE: Final[i64] = field("value")
_ERROR_VALUE: Final[i64] = field("error")
_EVENT_VALUE: Final[i64] = field("event")


@mypyc_attr(acyclic=True, free_list_len=1)
class _Body:
    """Reads one body from the cursor up to its end onto the tape, in one dialect."""

    def __init__(self, cursor: Cursor, tape: Tape, dialect: i64, counted: bool) -> None:
        self.cursor: Final = cursor
        self.tape: Final = tape
        self.values: Final = Values(cursor, tape, Tables(dialect))
        self.counted: Final = counted  # whether the descriptor says how many arguments there are
        self.clean = True  # whether all is as a writer sends it

    def read(self, body: i64, request: bool, event: bool, status: i64) -> None:
        """Read the body of a message of that sort. Raises DecodeError."""
        notes: i64 = self.tape.note_count()
        if not request and status != OK:
            self.values.read(1, _ERROR_VALUE)
        elif event:
            self.values.read(1, _EVENT_VALUE)
        elif request:
            self._request(body)
        else:
            self._response()
        cursor = self.cursor
        if cursor.pos < cursor.end:
            self.clean = False
            self.tape.leaf(EXTRA, cursor.pos, cursor.end, cursor.pos)
            cursor.pos = cursor.end
        if self.tape.note_count() > notes and payload.dangling(self.tape, notes):
            self.clean = False

    def _text(self, member: i64, what: str) -> i64:
        """A string or null as a member; its node."""
        tape = self.tape
        cursor = self.cursor
        start = cursor.pos
        first = tape.size()
        self.values.read(1, member)
        node = tape.last_from(first)
        kind = tape.kind(node)
        if kind != t.STRING16 and kind != t.NULL:
            raise cursor.error("bad-value", start, f"expected {what}, a string or null")
        return node

    def _request(self, body: i64) -> None:
        cursor = self.cursor
        tape = self.tape
        self._text(_DUBBO_VERSION, "the version of Dubbo")
        self._text(_PATH, "the path of the service")
        self._text(_VERSION, "the version of the service")
        self._text(_METHOD, "the name of the method")
        count: i64 = -1
        if cursor.pos < cursor.end:
            action: i64 = self.values.actions[cursor.data[cursor.pos]]
            if d.INT_1 <= action <= d.INT_4:
                start = cursor.pos
                count = self.values.integer("the number of arguments")
                if count < -1:
                    raise cursor.error("bad-length", start, f"the number of arguments is negative: {count}")
                tape.leaf(t.head(t.INT, _ARGUMENT_COUNT, _COUNT_FORM) | t.HIDDEN, start, cursor.pos, count)
        if count < 0:
            node = self._text(_PARAMETER_TYPES, "the descriptor of the parameters")
            if self.counted:
                count = self._parameters(node)
            if count < 0:
                self._to_the_end(body)
                return
        arguments = tape.open(_ARGUMENTS, cursor.pos, 0)
        self.values.read(count)
        tape.close(arguments, cursor.pos)
        if cursor.pos == cursor.end:
            tape.set_form(body, _NO_ATTACHMENTS)
            return
        start = cursor.pos
        first = tape.size()
        self.values.read(1, _ATTACHMENTS)
        kind = tape.kind(tape.last_from(first))
        if kind != t.MAP and kind != t.NULL:
            self.clean = False
            tape.note("bad-value", start, "the attachments are no map", cursor.buffer)

    def _parameters(self, node: i64) -> i64:
        """How many parameters a descriptor has; -1 where it is none."""
        tape = self.tape
        if tape.head(node) & t.SIMPLE:
            return payload.descriptor_count(self.cursor.data, tape.number(node), tape.end(node))
        text = Node(tape, node, self.cursor.buffer).text
        if text is None:
            return -1
        data = text.encode("utf-8", "surrogatepass")
        return payload.descriptor_count(data, 0, len(data))

    def _to_the_end(self, body: i64) -> None:
        """Arguments of unknown number: all values, but a map in the last place is the attachments."""
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        arguments = tape.open(_ARGUMENTS, start, 0)
        last: i64 = -1
        count: i64 = 0
        while cursor.pos < cursor.end:
            first = tape.size()
            self.values.read(1)
            last = tape.last_from(first)
            count += 1
        tape.close(arguments, cursor.pos)
        if last >= 0 and tape.kind(last) == t.MAP:
            tape.shrink(arguments, last, tape.start(last))
            tape.set_flags(last, _ATTACHMENTS << t.FIELD_SHIFT)
            count -= 1
        else:
            self.clean = False
            tape.set_form(body, _NO_ATTACHMENTS)
        tape.note(
            "argument-count",
            start,
            f"{count} arguments, which the descriptor of the parameters does not say",
            cursor.buffer,
        )

    def _response(self) -> None:
        cursor = self.cursor
        tape = self.tape
        start = cursor.pos
        result = self.values.integer("what the result is")
        if result < 0 or result > 5:
            raise cursor.error("bad-value", start, f"no result is of the kind {result}; there are 0 to 5")
        form: i64 = 0
        if not self.values.usual:
            form = forms.int_form_number(cursor.data, start)
        tape.leaf(_RESULT | form << t.FORM_SHIFT, start, cursor.pos, result)
        if result != 2 and result != 5:
            self.values.read(1, _VALUE)
        if result >= WITH_ATTACHMENTS:
            self.values.read(1, _ATTACHMENTS)


class Dubbo(Codec):
    """Dubbo's own protocol, as servers of Apache Dubbo and dubbox speak it."""

    carries = payload.PROTOCOLS
    says_kind = True

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. A body that does not decode is an inner error, with its bytes."""
        data = cursor.data
        start = cursor.pos
        left = cursor.left()
        if data[start : start + 2] != MAGIC[:left]:
            raise cursor.error("no-message", start, "expected da bb, the magic of Dubbo")
        if left < HEADER and not final:
            raise cursor.short(HEADER, "a header")
        root = tape.open(_ROOT, start, 0)
        cursor.skip(2, "the magic")
        tape.leaf(_MAGIC, start, start + 2, 0)
        at = cursor.pos
        flags = cursor.u8("the flags")
        request = flags & REQUEST != 0
        event = flags & EVENT != 0
        serialization = flags & 0x1F
        tape.leaf(_TYPE, at, at + 1, 1 if request else 0)
        tape.leaf(_TWO_WAY, at, at + 1, 1 if flags & TWO_WAY else 0)
        tape.leaf(_EVENT, at, at + 1, 1 if event else 0)
        tape.leaf(_SERIALIZATION, at, at + 1, serialization)
        at = cursor.pos
        status = cursor.u8("the status")
        if not request:
            tape.leaf(_STATUS, at, at + 1, status)
        elif status:
            tape.leaf(_UNUSED | _STATUS_FORM << t.FORM_SHIFT, at, at + 1, 0)
        at = cursor.pos
        number = cursor.int64("the id")
        tape.leaf(_ID, at, at + 8, number)
        at = cursor.pos
        length = cursor.int32("the length of the body")
        tape.leaf(_LENGTH, at, at + 4, length)
        if length < 0:
            raise cursor.error("bad-length", at, f"the body has the negative length {length}")
        if length > MAX_BODY:
            raise cursor.error("limit", at, f"a body of {length} bytes; {MAX_BODY} are allowed")
        outer = cursor.end
        whole = length <= cursor.left()
        if not whole and not final:
            raise cursor.short(length, "the body")
        body = tape.open(_BODY, cursor.pos, 0)
        if whole:
            cursor.end = cursor.pos + length
        missing = length - cursor.left()
        if serialization not in HESSIAN or length == 0:
            content = cursor.pos
            cursor.pos = cursor.end
            tape.leaf(DATA, content, cursor.end, content)
            if missing > 0:
                raise _missing(cursor, missing, None)
            if serialization in JSON_TEXTS and payload.json_lines(data[content : cursor.end]) is not None:
                tape.leaf(JSON, content, cursor.end, content)
            if length == 0 and not event and serialization in HESSIAN:
                offset = cursor.buffer.absolute(content)
                tape.fault(ERROR, content, Fault("truncated", offset, "the body is empty"))
            dialect: i64 = d.FINAL
        else:
            dialect = self._body(cursor, tape, body, request, event, status, missing)
        tape.close(body, cursor.pos)
        cursor.end = outer
        if dialect != d.FINAL:
            tape.leaf(DIALECT, cursor.pos, cursor.pos, dialect)
        tape.close(root, cursor.pos)
        class_notes(tape)

    def _body(
        self, cursor: Cursor, tape: Tape, body: i64, request: bool, event: bool, status: i64, missing: i64
    ) -> i64:
        """A body in Hessian; its dialect. Final 2.0, unless the bytes say the draft."""
        start = cursor.pos
        mark = tape.mark()
        dialect: i64 = d.FINAL
        counted = True
        error, clean = self._attempt(cursor, tape, body, request, event, status, dialect, counted)
        if missing > 0:
            if error is not None and error.code == "truncated":
                clean = True  # as far as there are bytes
        if not clean:
            tries = ((d.DRAFT, True), (d.FINAL, False), (d.DRAFT, False))
            for other, by_descriptor in tries[:1] if missing > 0 or not request else tries:
                self._restart(cursor, tape, body, start, mark)
                failed, good = self._attempt(cursor, tape, body, request, event, status, other, by_descriptor)
                if good or (missing > 0 and failed is not None and failed.code == "truncated"):
                    error = failed
                    dialect = other
                    clean = True
                    break
        if not clean:
            self._restart(cursor, tape, body, start, mark)
            if error is None or missing > 0:
                error, clean = self._attempt(cursor, tape, body, request, event, status, dialect, counted)
            else:
                partial = tape.open(PARTIAL, start, 0)
                self._attempt(cursor, tape, partial, request, event, status, dialect, counted)
                reached = max(cursor.pos, start)
                if tape.size() == partial + 1:
                    tape.cut(partial)
                else:
                    tape.close_from(partial, reached)
                cursor.pos = cursor.end
                tape.leaf(DATA, start, cursor.end, start)
                tape.fault(ERROR, cursor.end, Fault(error.code, error.offset, error.text))
        if missing > 0:
            raise _missing(cursor, missing, error)
        return dialect

    def _attempt(
        self,
        cursor: Cursor,
        tape: Tape,
        body: i64,
        request: bool,
        event: bool,
        status: i64,
        dialect: i64,
        counted: bool,
    ) -> tuple[DecodeError | None, bool]:
        """Read a body in one way; its error, and whether all is as a writer sends it."""
        reading = _Body(cursor, tape, dialect, counted)
        try:
            reading.read(body, request, event, status)
        except DecodeError as error:
            return error, False
        return None, reading.clean

    def _restart(self, cursor: Cursor, tape: Tape, body: i64, start: i64, mark: Mark) -> None:
        cursor.pos = start
        tape.rollback(mark)
        tape.set_form(body, 0)

    # --- encoding ---------------------------------------------------------------------------------------

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode. Lengths are computed; what is not said is as usual (see `DEFAULTS`)."""
        given = object_of(message, "", "a message of Dubbo")
        only(given, (*DEFAULTS, "type", "status", "body", "hessian", "$wire"), "")
        wire = object_of(given.get("$wire", {}), "$wire", "forms by name")
        only(wire, ("status",), "$wire")
        body = object_of(given.get("body", {}), "body", "the members of the body")
        kind = given.get("type", "response" if "result" in body or "status" in given else "request")
        request = number_of(kind, {0: "response", 1: "request"}, "type", 0, 1) == 1
        event = _flag(given, "event")
        two_way = _flag(given, "two_way") if "two_way" in given else request
        serialization = number_of(
            given.get("serialization", DEFAULTS["serialization"]), SERIALIZATIONS, "serialization", 0, 31
        )
        if request and "status" in given:
            raise EncodeError("status", "only responses have a status")
        status = number_of(given.get("status", OK), STATUSES, "status", 0, 255)
        fourth = number_of(wire.get("status", 0), {}, "$wire.status", 0, 255) if request else status
        number = number_of(given.get("id", DEFAULTS["id"]), {}, "id", -1 << 63, (1 << 64) - 1)
        dialect = payload.dialect_named(given.get("hessian"), d.FINAL, "hessian")
        inner = BytesWriter()
        if "data" in body:
            only(body, ("data", "json", "error", "partial"), "body")
            inner.write(hex_bytes(body["data"], "body.data"))
        elif "json" in body:
            only(body, ("json",), "body")
            inner.write(payload.lines_of(body["json"], "body.json"))
        elif serialization not in HESSIAN:
            name = SERIALIZATIONS.get(serialization, serialization)
            raise EncodeError("body", f'a body of serialization {name} is given as {{"data": hex}}')
        else:
            _Writer(inner, dialect).body(body, request, event, status)
        size = len(inner)
        if size > MAX_BODY:
            raise EncodeError("body", f"it has {size} bytes; {MAX_BODY} are allowed")
        out.write(MAGIC)
        flags = serialization
        if request:
            flags |= REQUEST
        if two_way:
            flags |= TWO_WAY
        if event:
            flags |= EVENT
        out.append(flags)
        out.append(fourth)
        write_i64_be(out, number - (1 << 64) if number >> 63 > 0 else number)
        write_i32_be(out, i32(size))
        out.write(inner.getvalue())

    # --- finding ----------------------------------------------------------------------------------------

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The next header: the magic, a known serialization, a status and a length that can be."""
        at = start
        while True:
            found: i64 = data.find(MAGIC, at, end + 1)
            if found < 0 or found + HEADER > len(data):
                return end
            if _header_bits(data, found) > 0.0:
                return found
            at = found + 1

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """Bits of the headers at the start, of lengths that lead from one to the next, of the first body."""
        return _chain(data)

    # --- for people -------------------------------------------------------------------------------------

    def kind(self, root: Node) -> str:
        """ "request", "oneway", "response", "heartbeat" (an event that says null) or "event"."""
        if root.tape.number_of(root.index, _EVENT):
            body = root.member("body")
            said = None if body is None else body.member("event")
            json = None if body is None or said is not None else body.member("json")
            if json is not None:
                return "heartbeat" if payload.json_lines(json.raw) == [None] else "event"
            return "heartbeat" if said is not None and said.kind == t.NULL else "event"
        if root.tape.number_of(root.index, _TYPE) == 0:
            return "response"
        return "request" if root.tape.number_of(root.index, _TWO_WAY) else "oneway"

    def summary(self, root: Node) -> str:
        """`dubbo req #4711 com.x.OrderService.create(Order, long) v1.0`, `dubbo resp #4711 ok Order`."""
        kind = self.kind(root)
        request = root.tape.number_of(root.index, _TYPE) == 1
        word = "req" if request else "resp"
        said = f"dubbo {word} #{root.tape.number_of(root.index, _ID)}"
        body = root.member("body")
        if body is None or body.kind != t.STRUCT:
            return said
        if kind in ("heartbeat", "event"):
            value = body.member("event")
            said = f"dubbo {kind} {word} #{root.tape.number_of(root.index, _ID)}"
            if kind == "event" and value is not None:
                meaning = _event_meaning(value)
                said += f" {value.shown}" + (f" ({meaning})" if meaning else "")
            return said
        if request:
            if kind == "oneway":
                said += " one-way"
            return f"{said} {_call(root, body)}"
        status = root.member("status")
        if status is not None:
            said += " " + _status_words(status)
        result = body.member("result")
        value = body.member("value")
        if result is not None and RESULTS.get(result.number) == "exception":
            said += " exception"
        if value is not None:
            said += " " + payload.result_words(value)
        elif result is not None:
            said += " null"
        else:
            failure = body.member("error")
            if failure is not None and failure.kind != t.FAULT:
                return f"{said} {payload.result_words(failure)}"
            json = body.member("json")
            if json is not None and status is not None and status.number != OK:
                texts = payload.json_lines(json.raw) or []
                if texts and isinstance(texts[0], str):
                    said += f' "{cut(texts[0])}"'
            said += _bytes_words(root, body)
        return said

    def annotate(self, node: Node) -> str:
        """The declared type beside an argument, Java types beside a descriptor, and what values mean."""
        name = node.field.name
        parent = node.parent
        if name == "parameter_types":
            types = payload.descriptor_types(payload.text_of(node))
            return ", ".join(types) if types else ""
        if name == "event" and parent is not None and parent.field.name == "body":
            return _event_meaning(node)
        if name == "method" and parent is not None and payload.text_of(node) in GENERIC:
            meant = _generic(parent)
            return f"a generic call of {meant}" if meant else ""
        said = payload.annotate(node)
        if parent is not None and parent.field.name == "arguments" and parent.parent is not None:
            declared = _declared(parent.parent, int(node.position))
            if declared:
                return f"{declared}; {said}" if said else declared
        return said

    def details(self, node: Node) -> list[str]:
        """The stack trace of an exception."""
        return payload.details(node)

    def exchange(self, root: Node) -> Exchange:
        """A two-way request, a heartbeat too, is answered under its id."""
        key = str(root.tape.number_of(root.index, _ID))
        if root.tape.number_of(root.index, _TYPE) == 0:
            return Exchange("reply", key)
        return Exchange("request", key) if root.tape.number_of(root.index, _TWO_WAY) else Exchange("")


# What a message has that does not say it.
DEFAULTS: Final[dict[str, Json]] = {
    "two_way": True,
    "event": False,
    "serialization": "hessian2",
    "id": 1,
}
DEFAULT_VERSION: Final = "2.0.2"  # of Dubbo's protocol
DEFAULT_SERVICE_VERSION: Final = "0.0.0"


class _Writer:
    """Writes one body in one dialect."""

    def __init__(self, out: BytesWriter, dialect: int) -> None:
        self.out: Final = out
        self.encoder: Final = Encoder(out, dialect)

    def body(self, body: dict[str, Json], request: bool, event: bool, status: int) -> None:
        wire = object_of(body.get("$wire", {}), "body.$wire", "forms by name")
        if not request and status != OK:
            only(body, ("error", "extra"), "body")
            self.encoder.value(body.get("error"), "body.error")
        elif event:
            only(body, ("event", "extra"), "body")
            self.encoder.value(body.get("event"), "body.event")
        elif request:
            self._request(body, wire)
        else:
            self._response(body, wire)
        if "extra" in body:
            self.out.write(hex_bytes(body["extra"], "body.extra"))

    def _request(self, body: dict[str, Json], wire: dict[str, Json]) -> None:
        names = ("dubbo_version", "path", "version", "method", "parameter_types", "arguments", "attachments")
        only(body, (*names, "extra", "$wire"), "body")
        only(wire, ("argument_count", "attachments"), "body.$wire")
        for name in ("path", "method"):
            if name not in body:
                raise EncodeError("body", f'a request needs "{name}"')
        encoder = self.encoder
        encoder.value(body.get("dubbo_version", DEFAULT_VERSION), "body.dubbo_version")
        encoder.value(body["path"], "body.path")
        encoder.value(body.get("version", DEFAULT_SERVICE_VERSION), "body.version")
        encoder.value(body["method"], "body.method")
        arguments = array_of(body.get("arguments", []), "body.arguments", "values")
        described = True
        if "argument_count" in wire:
            count = wire["argument_count"]
            encoder.value(count, "body.$wire.argument_count")
            if isinstance(count, dict):
                count = count.get("$int")
            described = isinstance(count, int) and count < 0
        if described:
            types = body.get("parameter_types")
            if "parameter_types" not in body:
                types = payload.descriptor_of(arguments)
            encoder.value(types, "body.parameter_types")
        elif "parameter_types" in body:
            raise EncodeError("body.parameter_types", "a number of arguments stands in its place")
        encoder.values(arguments, "body.arguments")
        if "attachments" in body:
            encoder.value(body["attachments"], "body.attachments")
        elif wire.get("attachments") != "absent":
            encoder.value({}, "body.attachments")

    def _response(self, body: dict[str, Json], wire: dict[str, Json]) -> None:
        only(body, ("result", "value", "attachments", "extra", "$wire"), "body")
        only(wire, ("result",), "body.$wire")
        usual = "value" if body.get("value") is not None else "null"
        result = number_of(body.get("result", usual), RESULTS, "body.result", 0, 5) % WITH_ATTACHMENTS
        if "attachments" in body:
            result += WITH_ATTACHMENTS
        self.encoder.integer(result, wire.get("result"), "body.result")
        if RESULTS[result] != "null":
            self.encoder.value(body.get("value"), "body.value")
        elif "value" in body:
            raise EncodeError("body.value", 'a result "null" has no value')
        if "attachments" in body:
            self.encoder.value(body["attachments"], "body.attachments")


def _flag(given: dict[str, Json], name: str) -> bool:
    value = given.get(name, DEFAULTS[name])
    if not isinstance(value, bool):
        raise EncodeError(name, "expected true or false")
    return value


def _missing(cursor: Cursor, missing: i64, error: DecodeError | None) -> DecodeError:
    """The error that a body is cut, with what was expected where it breaks off; to be raised."""
    said = "" if error is None else f": {error.text}"
    return DecodeError(
        "truncated",
        int(cursor.buffer.absolute(cursor.end)),
        f"{count(missing, 'byte')} of the body missing{said}",
        int(cursor.end + missing),
    )


def _header_bits(data: bytes, at: i64) -> float:
    """Bits of the header at a position, or of what is there of it; 0 where it cannot be one.

    Of the flags a writer nearly always sends those of hessian2; zeros are cheap in foreign data.
    """
    left = len(data) - at
    if data[at : at + 2] != MAGIC or left < 3:
        return 0.0
    flags: i64 = data[at + 2]
    request = flags & REQUEST != 0
    if flags & 0x1F not in _USED or (not request and flags & TWO_WAY):
        return 0.0
    bits = 21.0 if flags & 0x1F == HESSIAN[0] else 18.0
    if not request:
        bits += 1.0
    if left > 3:
        status: i64 = data[at + 3]
        if request:
            if status:
                return 0.0
            bits += 4.0
        elif status == OK:
            bits += 4.0
        elif status in STATUSES:
            bits += 3.0
    if left >= HEADER:
        if _length(data, at) > USUAL_BODY:
            return 0.0
        bits += 2.0
    return bits


def _length(data: bytes, at: i64) -> i64:
    """The length that the header at a position gives to its body, unsigned."""
    high: i64 = data[at + 12]
    return high << 24 | data[at + 13] << 16 | data[at + 14] << 8 | data[at + 15]


def _chain(data: bytes) -> Evidence:
    """Evidence of the frames that follow one another from the start."""
    end: i64 = len(data)
    bits = _header_bits(data, 0)
    if bits == 0.0:
        return NO_EVIDENCE
    reasons = ["magic da bb with flags that can be"]
    settle = "" if end >= HEADER else "the rest of the header"
    frames: i64 = 0
    at: i64 = 0
    whole = False
    while frames < LOOKED_AT and at + HEADER <= end:
        behind = at + HEADER + _length(data, at)
        frames += 1
        if behind > end:
            settle = f"{behind - end} more bytes"
            break
        if behind == end:
            whole = True
            reasons.append("the length leads to the end")
            break
        more = _header_bits(data, behind)
        if more > 0.0:
            bits += more / float(frames)
        elif end - behind >= 3 or data[behind:end] != MAGIC[: end - behind]:
            bits -= 12.0
            reasons.append("against it: the length leads to no other header")
            break
        at = behind
    if frames > 1:
        reasons.append(f"{frames} headers where the lengths lead")
    if data[2] & (REQUEST | EVENT) == REQUEST and _VERSION_TEXT.search(data, HEADER, HEADER + 16):
        bits += VERSION_BITS
        reasons.append("a version of Dubbo at the start of the body")
    if frames and HEADER + _length(data, 0) <= end and _body_reads(data, 0):
        bits += 16.0
        reasons.append("the first body decodes")
    at_end = LENGTH_BITS if whole else 0.0
    return Evidence(
        bits=max(bits, 0.0),
        reasons=tuple(reasons),
        settle=settle,
        whole=whole,
        one=whole and frames == 1,
        at_end=at_end,
    )


def _body_reads(data: bytes, at: i64) -> bool:
    """True where the frame at a position, which is whole, has a body in Hessian that decodes."""
    if data[at + 2] & 0x1F not in HESSIAN:
        return False
    behind = at + HEADER + _length(data, at)
    if behind - at > BODY_LOOKED_AT:
        return False
    buffer = Buffer(data[at:behind])
    tape = Tape(buffer)
    try:
        CODECS[0].decode(Cursor(buffer, 0, len(buffer.data)), tape, True)
    except DecodeError:
        return False
    return tape.fault_count() == 0


def _status_words(status: Node) -> str:
    """A status as said: "ok", "server timeout", "status 21"."""
    name = STATUSES.get(status.number)
    return f"status {status.number}" if name is None else name.lower().replace("_", " ")


def _event_meaning(value: Node) -> str:
    """What an event says."""
    if value.kind == t.NULL:
        return "heartbeat"
    return {"R": "read-only: the server takes no new requests", "W": "writable"}.get(
        payload.text_of(value), ""
    )


def _call(root: Node, body: Node) -> str:
    """`com.x.OrderService.create(Order, long) v1.0` of a request."""
    path = body.member("path")
    json = None if path is not None else body.member("json")
    if json is not None:
        texts = payload.json_lines(json.raw) or []
        if len(texts) >= 5 and all(isinstance(text, str) or text is None for text in texts[:5]):
            types = payload.descriptor_types(str(texts[4] or ""))
            said = f"{texts[1]}.{texts[3]}{payload.parameters(types or [])}"
            return f"{said}{_version_words(str(texts[2] or ''))} {_serialization_name(root)}"
    called: Node | None = body
    if path is None:
        called = body.member("partial")
        path = None if called is None else called.member("path")
    if called is None or path is None:
        return _bytes_words(root, body).strip()
    service = payload.text_of(path)
    method = payload.text_of(called.member("method"))
    version = _version_words(payload.text_of(called.member("version")))
    if method in GENERIC:
        meant = _generic(called)
        if meant:
            return f"{service}.{meant}{version} generic"
    descriptor = called.member("parameter_types")
    if descriptor is None:
        arguments = called.member("arguments")
        types = None if arguments is None else [type_word(part) for part in arguments.children]
    else:
        types = payload.descriptor_types(payload.text_of(descriptor))
    said = "(…)" if types is None else payload.parameters(types)
    return f"{service}.{method}{said}{version}"


def _version_words(version: str) -> str:
    return f" v{version}" if version and version != DEFAULT_SERVICE_VERSION else ""


def _serialization_name(root: Node) -> str:
    number = root.number_of("serialization")
    return SERIALIZATIONS.get(number, f"serialization {number}")


def _bytes_words(root: Node, body: Node) -> str:
    """How a body that is bytes is said: " kryo, 775 bytes"."""
    data = body.member("data")
    if data is None:
        return ""
    size = len(data.content)
    return f" {_serialization_name(root)}, {count(size, 'byte')}"


def _generic(body: Node) -> str:
    """The method that a generic invocation means, with its parameter types; empty where it is none."""
    arguments = body.member("arguments")
    given = [] if arguments is None else arguments.children
    if not given or not payload.text_of(given[0]):
        return ""
    types: list[str] = []
    if len(given) > 1 and given[1].kind == t.LIST:
        types = [payload.java_type(payload.text_of(part) or "?") for part in given[1].children]
    return payload.text_of(given[0]) + payload.parameters(types)


def _declared(body: Node, position: int) -> str:
    """The declared Java type of the argument at a position; empty where none is known."""
    if position >= ANNOTATED:
        return ""
    types = payload.descriptor_types(payload.text_of(body.member("parameter_types")), ANNOTATED)
    return types[position] if types is not None and position < len(types) else ""


CODECS: Final = (Dubbo("dubbo"),)
