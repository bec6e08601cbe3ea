"""Bolt v1 and v2, the protocol of SOFA: a header, a class name, a header map, content mostly in Hessian.

Source: the notes on deployed software, section 1.3 (Bolt v1, v2).

All values of `$wire`:

| where | `$wire` | meaning |
|---|---|---|
| message | `{"protocol_version": n}` | v2: the second byte, where it is not 2 with a checksum and 1 without |
| message | `{"class": "absent"}` | no class before content in Hessian, as nearly every frame has |
| message | `{"crc": "wrong"}` | the checksum is not that of the bytes: it is written as it stands |
"""

import zlib
from typing import Final

from librt.strings import BytesWriter, write_i16_be, write_i32_be
from mypy_extensions import i16, i32, i64

from wirelens.codecs import payload
from wirelens.codecs import tape as t
from wirelens.codecs.codec import NO_EVIDENCE, Codec, Evidence, Exchange
from wirelens.codecs.cursor import Cursor, DecodeError
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.gadgets import class_notes
from wirelens.codecs.hessian.members import Members
from wirelens.codecs.hessian.value_decoding import Tables, Values
from wirelens.codecs.hessian.value_encoding import Encoder
from wirelens.codecs.json_input import array_of, hex_bytes, number_of, object_of, only, text_bytes
from wirelens.codecs.json_text import JsonTextError, dumps, loads
from wirelens.codecs.node import Json, Node, field, hint
from wirelens.codecs.payload import DATA, DIALECT, ERROR, PARTIAL
from wirelens.codecs.tape import Buffer, Fault, Tape
from wirelens.codecs.words import count

MAX_CONTENT: Final = (1 << 28) - (1 << 18)  # bytes
USUAL_CONTENT: Final = 1 << 24  # bytes that a header found behind damage, or by detection, may announce
LOOKED_AT: Final = 64  # frames that detection walks over
LOOKED_FOR: Final = 1 << 16  # bytes of content that detection decodes
NAME_CHECKED: Final = 64  # bytes of a class name that detection looks at
HEADER_BITS: Final = 12.0  # of a header, most of which is zeros and small numbers
CLASS_BITS: Final = 16.0
MAP_BITS: Final = 12.0
CONTENT_BITS: Final = 12.0
CHECKSUM_BITS: Final = 24.0
LENGTH_BITS: Final = 8.0  # of lengths that lead just to the end
ANNOTATED: Final = 64  # arguments that have their declared type beside them

RESPONSE: Final = 0
REQUEST: Final = 1
ONEWAY: Final = 2
TYPES: Final[dict[int, str]] = {RESPONSE: "response", REQUEST: "request", ONEWAY: "oneway"}
HEARTBEAT: Final = 0
COMMANDS: Final[dict[int, str]] = {HEARTBEAT: "heartbeat", 1: "request", 2: "response"}
HESSIAN: Final = 1
JSON_TEXT: Final = 12
CODEC_NAMES: Final[dict[int, str]] = {HESSIAN: "hessian", 11: "protobuf", JSON_TEXT: "json"}
STATUSES: Final[dict[int, str]] = {
    0: "SUCCESS",
    1: "ERROR",
    2: "SERVER_EXCEPTION",
    3: "UNKNOWN",
    4: "SERVER_THREADPOOL_BUSY",
    5: "ERROR_COMM",
    6: "NO_PROCESSOR",
    7: "TIMEOUT",
    8: "CLIENT_SEND_ERROR",
    9: "CODEC_EXCEPTION",
    16: "CONNECTION_CLOSED",
    17: "SERVER_SERIAL_EXCEPTION",
    18: "SERVER_DESERIAL_EXCEPTION",
}
CHECKED: Final = 2  # version of v2 frames that may have a checksum
SWITCH_CHECKSUM: Final = 1  # bit of the switch
REQUEST_CLASS: Final = "com.alipay.sofa.rpc.core.request.SofaRequest"
RESPONSE_CLASS: Final = "com.alipay.sofa.rpc.core.response.SofaResponse"
SERVICE_HEADER: Final = "sofa_head_target_service"
METHOD_HEADER: Final = "sofa_head_method_name"


def _byte(node: Node) -> Json:
    return node.raw[0]


def _json_of(node: Node) -> Json:
    return _parsed(node.raw)


def _parsed(content: bytes) -> Json:
    """The JSON that content holds; None where it holds none."""
    try:
        return loads(content.decode())
    except (UnicodeDecodeError, JsonTextError):
        return None


_VERSION_FORM: Final = hint(_byte)
_WRONG: Final = hint("wrong")
_NO_CLASS: Final = hint({"class": "absent"})

_ROOT: Final[i64] = t.head(t.STRUCT)
_VERSION: Final[i64] = t.head(t.INTEGER, field("version"))
_PROTOCOL_VERSION: Final[i64] = t.head(t.MARK, field("protocol_version")) | t.HIDDEN
_TYPE: Final[i64] = t.head(t.NAMED, field("type", TYPES))
_COMMAND: Final[i64] = t.head(t.NAMED, field("command", COMMANDS))
_COMMAND_VERSION: Final[i64] = t.head(t.INTEGER, field("command_version"))
_ID: Final[i64] = t.head(t.INTEGER, field("id"))
_CODEC: Final[i64] = t.head(t.NAMED, field("codec", CODEC_NAMES))
_SWITCH: Final[i64] = t.head(t.INTEGER, field("switch"))
_TIMEOUT: Final[i64] = t.head(t.INTEGER, field("timeout"))
_STATUS: Final[i64] = t.head(t.NAMED, field("status", STATUSES))
_LENGTH: Final[i64] = t.head(t.LENGTH, field("length")) | t.HIDDEN
_CLASS: Final[i64] = t.head(t.TEXT, field("class"))
_HEADERS_FIELD: Final[i64] = field("headers")
_HEADERS: Final[i64] = t.head(t.ARRAY, _HEADERS_FIELD)
_RAW_HEADERS: Final[i64] = t.head(t.STRUCT, _HEADERS_FIELD)
_PAIR: Final[i64] = t.head(t.ARRAY)
_TEXT: Final[i64] = t.head(t.TEXT)
_NOTHING: Final[i64] = t.head(t.ABSENT)
_CONTENT: Final[i64] = t.head(t.STRUCT, field("content"))
_VALUES: Final[i64] = t.head(t.ARRAY, field("values"))
_JSON: Final[i64] = t.head(t.COMPUTED, field("json", None, _json_of))
_CRC: Final[i64] = t.head(t.HEX, field("crc"))


class Bolt(Codec):
    """Bolt, as SOFABolt and SOFA RPC speak it."""

    carries = payload.PROTOCOLS
    says_kind = True

    def decode(self, cursor: Cursor, tape: Tape, final: bool) -> None:
        """See Codec.decode. Content that does not decode is an inner error, with its bytes."""
        data = cursor.data
        start = cursor.pos
        if start < cursor.end and (data[start] < 1 or data[start] > 2):
            raise cursor.error("no-message", start, "expected 01 or 02, a version of Bolt")
        second = data[start] == 2
        type_at = start + (2 if second else 1)
        if type_at < cursor.end and data[type_at] > 2:
            raise cursor.error("no-message", type_at, f"{data[type_at]} is no type of a Bolt frame")
        size: i64 = 20
        if type_at >= cursor.end or data[type_at] != RESPONSE:
            size = 22
        if second:
            size += 2
        if cursor.left() < size and not final:
            raise cursor.short(size, "a header")
        root = tape.open(_ROOT, start, 0)
        version = cursor.u8("the version")
        tape.leaf(_VERSION, start, start + 1, version)
        inner_version = self._byte(cursor, tape, _PROTOCOL_VERSION, "the protocol's version") if second else 1
        hidden = tape.size() - 1
        kind = self._byte(cursor, tape, _TYPE, "the type")
        at = cursor.pos
        command = cursor.u16("the command")
        tape.leaf(_COMMAND, at, at + 2, command)
        self._byte(cursor, tape, _COMMAND_VERSION, "the command's version")
        at = cursor.pos
        number = cursor.u32("the id")
        tape.leaf(_ID, at, at + 4, number)
        codec = self._byte(cursor, tape, _CODEC, "the codec")
        switch: i64 = 0
        if second:
            switch = self._byte(cursor, tape, _SWITCH, "the switch")
        at = cursor.pos
        if kind == RESPONSE:
            status = cursor.u16("the status")
            tape.leaf(_STATUS, at, at + 2, status)
        else:
            timeout = cursor.int32("the timeout")
            tape.leaf(_TIMEOUT, at, at + 4, timeout)
        at = cursor.pos
        class_length = cursor.u16("the length of the class")
        tape.leaf(_LENGTH, at, at + 2, class_length)
        at = cursor.pos
        header_length = cursor.u16("the length of the header map")
        tape.leaf(_LENGTH, at, at + 2, header_length)
        at = cursor.pos
        content_length = cursor.u32("the length of the content")
        tape.leaf(_LENGTH, at, at + 4, content_length)
        if content_length > MAX_CONTENT:
            raise cursor.error("limit", at, f"content of {content_length} bytes; {MAX_CONTENT} are allowed")
        checked = second and inner_version == CHECKED and switch & SWITCH_CHECKSUM != 0
        if second and inner_version != (CHECKED if switch & SWITCH_CHECKSUM else 1):
            tape.set_form(hidden, _VERSION_FORM)
        rest = class_length + header_length + content_length + (4 if checked else 0)
        if rest > cursor.left() and not final:
            raise cursor.short(rest, "the rest of a frame")
        if class_length:
            at = cursor.skip(class_length, "the class")
            tape.leaf(_CLASS, at, cursor.pos, at)
        elif content_length and codec == HESSIAN and command != HEARTBEAT:
            tape.set_form(root, _NO_CLASS)
        if header_length:
            self._headers(cursor, tape, header_length)
        dialect: i64 = d.DRAFT
        if content_length:
            dialect = self._content(cursor, tape, codec, content_length)
        if dialect != d.DRAFT:
            tape.leaf(DIALECT, cursor.pos, cursor.pos, dialect)
        if checked:
            at = cursor.skip(4, "the checksum")
            crc = zlib.crc32(data[start:at])
            head = _CRC
            if crc.to_bytes(4, "big") != data[at : at + 4]:
                head |= _WRONG << t.FORM_SHIFT
                tape.note("bad-checksum", at, f"the checksum of these bytes is {crc:08x}", cursor.buffer)
            tape.leaf(head, at, at + 4, at)
        tape.close(root, cursor.pos)
        class_notes(tape)

    def _byte(self, cursor: Cursor, tape: Tape, head: i64, what: str) -> i64:
        at = cursor.pos
        value = cursor.u8(what)
        tape.leaf(head, at, at + 1, value)
        return value

    def _headers(self, cursor: Cursor, tape: Tape, length: i64) -> None:
        """The header map: keys and values by turns, each behind 32 bits of length; below 0 is null."""
        start = cursor.pos
        outer = cursor.end
        cut = length > cursor.left()
        if not cut:
            cursor.end = start + length
        mark = tape.mark()
        headers = tape.open(_HEADERS, start, 0)
        try:
            while cursor.pos < cursor.end:
                pair = tape.open(_PAIR, cursor.pos, 0)
                self._text(cursor, tape, "a header's name")
                self._text(cursor, tape, "a header's value")
                tape.close(pair, cursor.pos)
            if cut:
                raise cursor.short(length - (cursor.pos - start), "the rest of the header map")
            tape.close(headers, cursor.pos)
        except DecodeError as error:
            if cut:
                raise
            tape.rollback(mark)
            raw = tape.open(_RAW_HEADERS, start, 0)
            tape.leaf(DATA, start, cursor.end, start)
            tape.fault(ERROR, cursor.end, Fault(error.code, error.offset, error.text))
            tape.close(raw, cursor.end)
            cursor.pos = cursor.end
        cursor.end = outer

    def _text(self, cursor: Cursor, tape: Tape, what: str) -> None:
        start = cursor.pos
        length = cursor.int32(f"the length of {what}")
        if length == -1:
            tape.leaf(_NOTHING, start, cursor.pos, 0)
            return
        content = cursor.skip(length, what)
        tape.leaf(_TEXT, start, cursor.pos, content)

    def _content(self, cursor: Cursor, tape: Tape, codec: i64, length: i64) -> i64:
        """The content; its dialect. The draft, unless the bytes say final 2.0."""
        start = cursor.pos
        outer = cursor.end
        missing = length - cursor.left()
        if missing < 0:
            cursor.end = start + length
            missing = 0
        content = tape.open(_CONTENT, start, 0)
        dialect: i64 = d.DRAFT
        if codec != HESSIAN:
            cursor.pos = cursor.end
            tape.leaf(DATA, start, cursor.end, start)
            if codec == JSON_TEXT and _parsed(cursor.data[start : cursor.end]) is not None:
                tape.leaf(_JSON, start, cursor.end, start)
            if missing:
                self._missing(cursor, missing, None, dialect)
        else:
            dialect = self._hessian(cursor, tape, missing)
        tape.close(content, cursor.pos)
        cursor.end = outer
        return dialect

    def _hessian(self, cursor: Cursor, tape: Tape, missing: i64) -> i64:
        start = cursor.pos
        mark = tape.mark()
        notes = tape.note_count()
        dialect: i64 = d.DRAFT
        error = self._values(cursor, tape, d.DRAFT)
        cut = missing > 0 and error is not None and error.code == "truncated"
        if (error is not None and not cut) or payload.dangling(tape, notes):
            tape.rollback(mark)
            cursor.pos = start
            other = self._values(cursor, tape, d.FINAL)
            good = other is None and not payload.dangling(tape, notes)
            if good or (missing > 0 and other is not None and other.code == "truncated"):
                return self._missing(cursor, missing, other, d.FINAL)
            tape.rollback(mark)
            cursor.pos = start
            if error is None or missing > 0:
                error = self._values(cursor, tape, d.DRAFT)
            else:
                partial = tape.open(PARTIAL, start, 0)
                self._values(cursor, tape, d.DRAFT)
                tape.close_from(partial, cursor.pos)
                if tape.size() == partial + 2:
                    tape.cut(partial)
                cursor.pos = cursor.end
                tape.leaf(DATA, start, cursor.end, start)
                tape.fault(ERROR, cursor.end, Fault(error.code, error.offset, error.text))
        return self._missing(cursor, missing, error, dialect)

    def _missing(self, cursor: Cursor, missing: i64, error: DecodeError | None, dialect: i64) -> i64:
        """Raise where bytes of the content are missing; else the dialect."""
        if missing == 0:
            return dialect
        said = "" if error is None else f": {error.text}"
        raise DecodeError(
            "truncated",
            int(cursor.buffer.absolute(cursor.end)),
            f"{count(missing, 'byte')} of the content missing{said}",
            int(cursor.end + missing),
        )

    def _values(self, cursor: Cursor, tape: Tape, dialect: i64) -> DecodeError | None:
        """The values up to the cursor's end, which share their tables; the error, if any."""
        values = Values(cursor, tape, Tables(dialect))
        items = tape.open(_VALUES, cursor.pos, 0)
        try:
            while cursor.pos < cursor.end:
                values.read(1)
        except DecodeError as error:
            return error
        tape.close(items, cursor.pos)
        return None

    # --- encoding ---------------------------------------------------------------------------------------

    def encode(self, message: Json, out: BytesWriter) -> None:
        """See Codec.encode. Lengths and checksum are computed; what is not said is as usual."""
        given = object_of(message, "", "a frame of Bolt")
        only(given, MEMBERS, "")
        wire = object_of(given.get("$wire", {}), "$wire", "forms by name")
        only(wire, ("protocol_version", "class", "crc"), "$wire")
        version = number_of(given.get("version", 1), {}, "version", 1, 2)
        kind = number_of(
            given.get("type", "response" if "status" in given else "request"), TYPES, "type", 0, 2
        )
        usual_command = 2 if kind == RESPONSE else 1
        command = number_of(given.get("command", usual_command), COMMANDS, "command", 0, 0xFFFF)
        command_version = number_of(given.get("command_version", 1), {}, "command_version", 0, 255)
        number = number_of(given.get("id", 1), {}, "id", 0, 0xFFFFFFFF)
        codec = number_of(given.get("codec", HESSIAN), CODEC_NAMES, "codec", 0, 255)
        switch = number_of(given.get("switch", 1 if "crc" in given else 0), {}, "switch", 0, 255)
        usual_version = CHECKED if switch & SWITCH_CHECKSUM else 1
        inner_version = number_of(
            wire.get("protocol_version", usual_version), {}, "$wire.protocol_version", 0, 255
        )
        if version == 1:
            for member in ("switch", "crc"):
                if member in given:
                    raise EncodeError(member, "only version 2 of Bolt has it")
        content = _content_bytes(given)
        name = b""
        usual_class = ""
        if codec == HESSIAN and command != HEARTBEAT and wire.get("class") != "absent":
            usual_class = RESPONSE_CLASS if kind == RESPONSE else REQUEST_CLASS
        if "class" in given or (usual_class and _class_of(given) == usual_class):
            name = text_bytes(given.get("class", usual_class), "class")
        headers = _header_bytes(given.get("headers", []))
        if len(name) > 0xFFFF or len(headers) > 0xFFFF:
            raise EncodeError("class" if len(name) > 0xFFFF else "headers", "it takes 65535 bytes at most")
        frame = BytesWriter()
        frame.append(version)
        if version == 2:
            frame.append(inner_version)
        frame.append(kind)
        write_i16_be(frame, i16(command - 0x10000 if command >> 15 else command))
        frame.append(command_version)
        write_i32_be(frame, i32(number - (1 << 32) if number >> 31 else number))
        frame.append(codec)
        if version == 2:
            frame.append(switch)
        if kind == RESPONSE:
            if "timeout" in given:
                raise EncodeError("timeout", "only requests have a timeout")
            status = number_of(given.get("status", 0), STATUSES, "status", 0, 0xFFFF)
            frame.append(status >> 8)
            frame.append(status & 0xFF)
        else:
            if "status" in given:
                raise EncodeError("status", "only responses have a status")
            timeout = number_of(given.get("timeout", 0), {}, "timeout", -1 << 31, (1 << 31) - 1)
            write_i32_be(frame, i32(timeout))
        for length in (len(name), len(headers)):
            frame.append(length >> 8)
            frame.append(length & 0xFF)
        if len(content) > MAX_CONTENT:
            raise EncodeError("content", f"it has {len(content)} bytes; {MAX_CONTENT} are allowed")
        write_i32_be(frame, i32(len(content)))
        frame.write(name)
        frame.write(headers)
        frame.write(content)
        whole = frame.getvalue()
        out.write(whole)
        if version == 2 and inner_version == CHECKED and switch & SWITCH_CHECKSUM:
            if wire.get("crc") is not None:
                if wire["crc"] != "wrong":
                    raise EncodeError("$wire.crc", 'expected "wrong"')
                checksum = hex_bytes(given.get("crc"), "crc")
                if len(checksum) != 4:
                    raise EncodeError("crc", "expected 8 hex digits")
                out.write(checksum)
            else:
                out.write(zlib.crc32(whole).to_bytes(4, "big"))
        elif "crc" in given:
            raise EncodeError("crc", "neither version nor switch say that there is a checksum")

    # --- finding ----------------------------------------------------------------------------------------

    def resync(self, data: bytes, start: i64, end: i64) -> i64:
        """The next header in which all that can be checked is as it must be."""
        at = start
        while at < end:
            byte: i64 = data[at]
            if (byte == 1 or byte == 2) and not _inside_header(data, at):
                size = _frame_size(data, at)
                if size > 0 and _proved(data, at):
                    return at
                if size < 0 or (size > 0 and at + size > end):
                    return end  # more bytes may prove it
            at += 1
        return end

    def probe(self, data: bytes, other: bytes) -> Evidence:
        """Bits of the headers at the start, of class names and header maps, of lengths that lead on."""
        end: i64 = len(data)
        at: i64 = 0
        bits = 0.0
        frames: i64 = 0
        named: i64 = 0
        mapped: i64 = 0
        whole = False
        settle = ""
        against = False
        while frames < LOOKED_AT and at < end:
            size = _frame_size(data, at)
            if size <= 0:
                if size == 0 and frames:
                    bits -= 12.0
                    against = True
                break
            frames += 1
            bits += HEADER_BITS / float(frames)
            seen = _class_seen(data, at)
            if seen:
                named += 1
                bits += min(float(seen), CLASS_BITS) / float(named)
            if _maps(data, at):
                mapped += 1
                bits += MAP_BITS / float(mapped)
            at += size
            if at >= end:
                whole = at == end
                if at > end:
                    settle = f"{at - end} more bytes"
                break
        if frames == 0:
            return NO_EVIDENCE
        reasons = ["a header with type, command and codec that can be"]
        if frames > 1:
            reasons.append(f"{frames} headers where the lengths lead")
        if named:
            reasons.append("a class name where its length says")
        if mapped:
            reasons.append("a header map that fills its length")
        if whole:
            reasons.append("the length leads to the end")
        if against:
            reasons.append("against it: the length leads to no other header")
        first = _frame_size(data, 0)
        if named and first <= min(end, LOOKED_FOR):
            buffer = Buffer(data[:first])
            tape = Tape(buffer)
            self.decode(Cursor(buffer, 0, first), tape, True)
            root = Node(tape, 0, buffer)
            crc = root.member("crc")
            if crc is not None and crc.form == 0:
                bits += CHECKSUM_BITS
                reasons.append("the checksum is right")
            if tape.fault_count() == 0 and root.member("content") is not None:
                bits += CONTENT_BITS
                reasons.append("the first content decodes")
        at_end = LENGTH_BITS if whole else 0.0
        return Evidence(
            bits=max(bits, 0.0),
            reasons=tuple(reasons),
            settle=settle,
            whole=whole,
            one=whole and frames == 1,
            at_end=at_end,
        )

    # --- for people -------------------------------------------------------------------------------------

    def kind(self, root: Node) -> str:
        """ "request", "oneway", "response" or "heartbeat"."""
        if root.member("command") is not None and root.number_of("command") == HEARTBEAT:
            return "heartbeat"
        return TYPES[root.number_of("type")]

    def summary(self, root: Node) -> str:
        """`bolt req #8 com.x.OrderService:1.0.find(long, Car)`, `bolt resp #5 ok com.x.Result`."""
        response = root.number_of("type") == RESPONSE
        word = "resp" if response else "req"
        number = root.number_of("id")
        if self.kind(root) == "heartbeat":
            return f"bolt heartbeat {word} #{number}"
        said = f"bolt {word} #{number}"
        if not response:
            if root.number_of("type") == ONEWAY:
                said += " one-way"
            return f"{said} {_call(root)}"
        status = root.member("status")
        if status is not None and status.number:
            name = STATUSES.get(status.number)
            said += " " + (f"status {status.number}" if name is None else name.lower().replace("_", " "))
        return said + _result(root, status is None or status.number == 0)

    def annotate(self, node: Node) -> str:
        """The declared type beside an argument, and what values mean."""
        said = payload.annotate(node)
        parent = node.parent
        if parent is not None and parent.field.name == "values" and node.position:
            declared = _declared(parent, int(node.position) - 1)
            if declared:
                return f"{declared}; {said}" if said else declared
        return said

    def details(self, node: Node) -> list[str]:
        """The stack trace of an exception."""
        return payload.details(node)

    def exchange(self, root: Node) -> Exchange:
        """A request, a heartbeat too, is answered under its id."""
        key = str(root.number_of("id"))
        kind = root.number_of("type")
        if kind == RESPONSE:
            return Exchange("reply", key)
        return Exchange("request", key) if kind == REQUEST else Exchange("")


MEMBERS: Final = (
    "version",
    "type",
    "command",
    "command_version",
    "id",
    "codec",
    "switch",
    "timeout",
    "status",
    "class",
    "headers",
    "content",
    "hessian",
    "crc",
    "$wire",
)


def _content_bytes(given: dict[str, Json]) -> bytes:
    """The content of a frame given as JSON."""
    if "content" not in given:
        return b""
    content = object_of(given["content"], "content", 'with "values" or "data"')
    if "data" in content:
        only(content, ("data", "json", "error", "partial"), "content")
        return hex_bytes(content["data"], "content.data")
    if "json" in content:
        only(content, ("json",), "content")
        return dumps(content["json"]).encode()
    only(content, ("values",), "content")
    if "values" not in content:
        raise EncodeError("content", 'expected "values", "data" or "json"')
    codec = given.get("codec", "hessian")
    if codec not in (HESSIAN, "hessian"):
        raise EncodeError("content", f'content of codec {codec} is given as {{"data": hex}}')
    out = BytesWriter()
    dialect = payload.dialect_named(given.get("hessian"), d.DRAFT, "hessian")
    Encoder(out, dialect).values(content["values"], "content.values")
    return out.getvalue()


def _class_of(given: dict[str, Json]) -> Json:
    """The class of the first value of the content given as JSON."""
    content = given.get("content")
    values = content.get("values") if isinstance(content, dict) else None
    first = values[0] if isinstance(values, list) and values else None
    return first.get("$class") if isinstance(first, dict) else None


def _header_bytes(given: Json) -> bytes:
    """A header map: pairs, or {"data": hex}."""
    if isinstance(given, dict):
        only(given, ("data", "error"), "headers")
        return hex_bytes(given.get("data"), "headers.data")
    out = BytesWriter()
    for position, pair in enumerate(array_of(given, "headers", "pairs [name, value]")):
        path = f"headers[{position}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise EncodeError(path, "expected a pair [name, value]")
        for step, text in enumerate(pair):
            if text is None:
                write_i32_be(out, i32(-1))
            else:
                content = text_bytes(text, f"{path}[{step}]")
                write_i32_be(out, i32(len(content)))
                out.write(content)
    return out.getvalue()


def _frame_size(data: bytes, at: i64) -> i64:
    """How many bytes the frame at a position takes, by a header that can be; 0 for none, -1 for a cut one."""
    end: i64 = len(data)
    version: i64 = data[at]
    if version < 1 or version > 2:
        return 0
    place = at + version  # of the type
    if version == 2 and at + 1 < end and (data[at + 1] < 1 or data[at + 1] > 2):
        return 0
    if place + 3 > end:
        return -1
    kind: i64 = data[place]
    command: i64 = data[place + 1] << 8 | data[place + 2]
    if kind > 2 or (command != HEARTBEAT and command != (2 if kind == RESPONSE else 1)):
        return 0
    size: i64 = 20
    if kind != RESPONSE:
        size = 22
    if version == 2:
        size = size + 2
    if at + size > end:
        return -1
    if data[place + 3] != 1 or data[place + 8] not in CODEC_NAMES:
        return 0
    lengths = at + size - 8
    class_length: i64 = data[lengths] << 8 | data[lengths + 1]
    header_length: i64 = data[lengths + 2] << 8 | data[lengths + 3]
    high: i64 = data[lengths + 4]
    content: i64 = high << 24 | data[lengths + 5] << 16 | data[lengths + 6] << 8 | data[lengths + 7]
    if content > USUAL_CONTENT:
        return 0
    if command == HEARTBEAT and kind != RESPONSE and class_length + header_length + content > 0x1000:
        return 0
    if command != HEARTBEAT and class_length == 0 and content > 0:
        return 0
    if command != HEARTBEAT and kind != RESPONSE and class_length == 0:
        return 0
    at_name = at + size
    until = min(at_name + min(class_length, NAME_CHECKED), end)
    while at_name < until:
        byte: i64 = data[at_name]
        if byte < 0x24 or byte > 0x7A:
            return 0
        at_name += 1
    size += class_length + header_length + content
    if version == 2 and data[at + 1] == CHECKED and data[place + 9] & SWITCH_CHECKSUM:
        size += 4
    return size


def _class_length(data: bytes, at: i64) -> i64:
    """The length of the class of a header that `_frame_size` found good."""
    place = at + data[at]
    lengths = place + 9 + (2 if data[place] == RESPONSE else 4) + (1 if data[at] == 2 else 0)
    return data[lengths] << 8 | data[lengths + 1]


def _class_seen(data: bytes, at: i64) -> i64:
    """How many bytes of the class name of a good header are there, of the first `NAME_CHECKED`."""
    place = at + data[at]
    start = place + 9 + (2 if data[place] == RESPONSE else 4) + (1 if data[at] == 2 else 0) + 8
    return max(min(_class_length(data, at), NAME_CHECKED, len(data) - start), 0)


def _inside_header(data: bytes, at: i64) -> bool:
    """True for the second byte of a header of version 2: from there on it looks like one of version 1."""
    return at > 0 and data[at - 1] == 2 and _frame_size(data, at - 1) != 0


def _proved(data: bytes, at: i64) -> bool:
    """True where a good header's class is there as far as it is checked; its header map where it has none."""
    named = min(_class_length(data, at), NAME_CHECKED)
    if named:
        return _class_seen(data, at) == named
    place = at + data[at]
    lengths = place + 9 + (2 if data[place] == RESPONSE else 4) + (1 if data[at] == 2 else 0)
    return (data[lengths + 2] == 0 and data[lengths + 3] == 0) or _maps(data, at)


def _maps(data: bytes, at: i64) -> bool:
    """True where the header map of a good header is there and its lengths fill it."""
    place = at + data[at]
    lengths = place + 9 + (2 if data[place] == RESPONSE else 4) + (1 if data[at] == 2 else 0)
    position: i64 = lengths + 8 + _class_length(data, at)
    length: i64 = data[lengths + 2] << 8 | data[lengths + 3]
    behind = position + length
    if length == 0 or behind > len(data):
        return False
    while position + 4 <= behind:
        if data[position] or data[position + 1]:
            return False
        position += 4 + (data[position + 2] << 8 | data[position + 3])
    return position == behind


def _header(root: Node, name: str) -> str:
    """The value of a header; empty where there is none of that name."""
    headers = root.member("headers")
    if headers is not None and headers.kind == t.ARRAY:
        for pair in headers.children:
            parts = pair.children
            if len(parts) == 2 and parts[0].text == name:
                return parts[1].text or ""
    return ""


def _first(root: Node) -> Members | None:
    """The first value of the content: SofaRequest, SofaResponse."""
    content = root.member("content")
    if content is None:
        return None
    holder = content if content.member("values") is not None else content.member("partial")
    values = None if holder is None else holder.member("values")
    if values is not None:
        for part in values.parts():
            if not part.hidden:
                return Members(part) if part.kind == t.OBJECT else None
    return None


def _call(root: Node) -> str:
    """What a request calls: service, method, parameter types; else its class."""
    request = _first(root)
    service = _header(root, SERVICE_HEADER)
    method = _header(root, METHOD_HEADER)
    types: list[str] | None = None
    if request is not None:
        service = service or request.text("targetServiceUniqueName") or ""
        method = method or request.text("methodName") or ""
        types = _signatures(request)
    if not service and not method:
        name = root.member("class")
        return _content_words(root, "" if name is None else name.shown)
    called = f"{service}.{method}{'(…)' if types is None else payload.parameters(types)}"
    return called if request is not None else _content_words(root, called)


def _content_words(root: Node, said: str) -> str:
    """The class of content, and how much of what there is where it is not Hessian."""
    content = root.member("content")
    data = None if content is None else content.member("data")
    if data is not None:
        codec = root.number_of("codec")
        size = len(data.content)
        said += f" {CODEC_NAMES.get(codec, f'codec {codec}')}, {count(size, 'byte')}"
    return said.strip()


def _signatures(request: Members) -> list[str] | None:
    """The parameter types that a SofaRequest names."""
    given = request.get("methodArgSigs")
    if given is None or given.kind != t.LIST:
        return None
    return [payload.java_type(payload.text_of(part) or "?") for part in given.children]


def _declared(values: Node, position: int) -> str:
    """The declared type of the argument at a position behind a SofaRequest."""
    if position >= ANNOTATED:
        return ""
    for part in values.parts():
        if not part.hidden:
            types = _signatures(Members(part)) if part.kind == t.OBJECT else None
            return types[position] if types is not None and position < len(types) else ""
    return ""


def _result(root: Node, good: bool) -> str:
    """What a response brings."""
    response = _first(root)
    if response is None:
        name = root.member("class")
        ok = " ok" if good else ""
        return ok + " " + _content_words(root, "" if name is None else name.shown)
    if response.type != RESPONSE_CLASS:
        return (" ok " if good else " ") + payload.result_words(response.node)
    failed = response.get("isError")
    if failed is not None and failed.kind == t.BOOL and failed.number:
        return f" error {response.text('errorMsg') or ''}".rstrip()
    value = response.get("appResponse")
    said = ""
    if value is not None:
        said = (" exception " if payload.is_exception(value) else " ") + payload.result_words(value)
    return (" ok" if good else "") + said


CODECS: Final = (Bolt("bolt"),)
