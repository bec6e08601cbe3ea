"""Writing Hessian's calls, replies, faults, messages, packets and envelopes from the notation's JSON.

See message_forms.py for the values of their `$wire`.
"""

from typing import Final

from librt.strings import BytesWriter

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import deflation
from wirelens.codecs.hessian import schema as s
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.value_encoding import Encoder
from wirelens.codecs.json_input import array_of, did_you_mean, hex_bytes, object_of
from wirelens.codecs.node import Json
from wirelens.codecs.words import count

_ANY_MEMBER: Final = "a message with one of " + ", ".join(s.CONTENTS)
_FOREIGN: Final = {  # what another dialect has, for errors
    "fault": 'in {} a fault stands in a reply: {{"reply": {{"fault": …}}}}',
    "message": "{} has no messages",
    "packets": "{} has no packets",
    "envelope": "{} has no envelopes",
}
PACKET_BYTES: Final = 0xFFFF


def encode_message(message: Json, dialect: int, out: BytesWriter, path: str = "") -> None:
    """Write one message of the notation. Raises EncodeError with the path."""
    members = object_of(message, path, _ANY_MEMBER)
    prefix = path + "." if path else ""
    values = members.get("values") if len(members) == 1 else None
    if values is not None:
        Encoder(out, dialect).values(values, prefix + "values")
        return
    names = [name for name in s.CONTENTS if name in members]
    if len(names) != 1:
        near = "" if names else "".join([did_you_mean(given, s.CONTENTS) for given in list(members)[:1]])
        raise EncodeError(path, f"expected one of the members {', '.join(s.CONTENTS)}{near}")
    name = names[0]
    if name not in s.MESSAGES[dialect].members:
        raise EncodeError(prefix + name, _FOREIGN[name].format(d.NAMES[dialect]))
    s.MESSAGES[dialect].members_of(members, path, "")
    if "version" in members and name in ("values", "packets"):
        raise EncodeError(prefix + "version", f'"{name}" have no version')
    wire = s.MESSAGE_WIRE.members_of(members.get("$wire", {}), prefix + "$wire", "forms by name")
    writer = _Writer(out, dialect)
    inner = prefix + name
    body = members[name]
    if name == "values":
        writer.encoder.values(body, inner)
        return
    if name == "packets":
        writer.packets(body, wire, inner)
        return
    absent = wire.get("version") == "absent"
    version = _version(members.get("version"), dialect, prefix + "version")
    start = wire.get("start")
    if name == "call":
        writer.call(body, version, absent, start, inner)
    elif name == "reply":
        writer.reply(body, version, start, inner)
    elif name == "fault":
        out.append(0x48)
        out.write(version)
        out.append(0x46)
        writer.encoder.value(body, inner)
    elif name == "message":
        out.append(0x50 if start == "P" else 0x70)
        out.write(version)
        writer.encoder.values(_values_in(body, inner)["values"], inner + ".values")
        out.append(0x7A)
    else:
        writer.envelope(body, version, inner)


def _version(value: Json, dialect: int, path: str) -> bytes:
    """The two bytes of a version; the dialect's usual one for None."""
    if value is None:
        return b"\1\0" if dialect == d.V1 else b"\2\0"
    if isinstance(value, str):
        parts = value.split(".")
        if len(parts) == 2 and all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
            numbers = [int(part) for part in parts]
            if max(numbers) <= 255:
                return bytes(numbers)
    raise EncodeError(path, 'expected a version such as "2.0"')


def _values_in(value: Json, path: str) -> dict[str, Json]:
    """A message or a packet."""
    given = s.VALUES_INSIDE.members_of(value, path, 'with "values"')
    s.VALUES_INSIDE.require(given, path, "it")
    return given


class _Writer:
    """Writes the parts of one message, which share one scope."""

    def __init__(self, out: BytesWriter, dialect: int) -> None:
        self.out: Final = out
        self.dialect: Final = dialect
        self.encoder: Final = Encoder(out, dialect)

    def call(self, body: Json, version: bytes, absent: bool, start: Json, path: str) -> None:
        out = self.out
        schema = s.CALL_WITH_HEADERS
        if self.dialect == d.FINAL:
            schema = s.CALL
            if isinstance(body, dict) and "headers" in body:
                raise EncodeError(path + ".headers", "a call of hessian2 has no headers")
        given = schema.members_of(body, path, 'a call: "method", "arguments"')
        forms = s.CALL_WIRE if self.dialect == d.FINAL else s.EARLIER_CALL_WIRE
        wire = forms.members_of(given.get("$wire", {}), path + ".$wire", "forms by name")
        arguments = array_of(schema.value(given, "arguments"), path + ".arguments", "values")
        schema.require(given, path, "a call")
        if self.dialect == d.FINAL:
            if not absent:
                out.append(0x48)
                out.write(version)
            out.append(0x43)
            self._at(path)
            self.encoder.string(given["method"], wire.get("method"), ".method")
            self.encoder.integer(len(arguments), wire.get("count"), path + ".$wire.count")
            self.encoder.values(arguments, path + ".arguments")
            return
        if not absent:
            out.append(0x43 if start == "C" else 0x63)
            out.write(version)
        elif not given.get("headers"):
            raise EncodeError(path, "a call without its start needs headers, by which it is recognised")
        self._headers(given, path)
        out.append(0x6D)
        self._at(path)
        self.encoder.counted(given["method"], wire.get("method"), ".method")
        self.encoder.values(arguments, path + ".arguments")
        out.append(0x7A)

    def _at(self, path: str) -> None:
        """Set the path for errors in the next text."""
        self.encoder.place(path)

    def _headers(self, given: dict[str, Json], path: str) -> None:
        """Write the headers of a call or reply of 1.0 or the draft."""
        for position, pair in enumerate(
            array_of(given.get("headers", []), path + ".headers", "pairs [name, value]")
        ):
            step = f"{path}.headers[{position}]"
            name, value = _pair(pair, step)
            self.out.append(0x48)
            self._at(step)
            self.encoder.counted(name, None, "[0]")
            self.encoder.value(value, step + "[1]")

    def reply(self, body: Json, version: bytes, start: Json, path: str) -> None:
        out = self.out
        schema = s.REPLY_WITH_HEADERS
        if self.dialect == d.FINAL:
            schema = s.REPLY
            if isinstance(body, dict) and "headers" in body:
                raise EncodeError(path + ".headers", "a reply of hessian2 has no headers")
        given = schema.members_of(body, path, 'a reply: "value" or "fault"')
        if ("value" in given) == ("fault" in given):
            raise EncodeError(path, 'a reply has either a "value" or a "fault"')
        if self.dialect == d.FINAL:
            out.append(0x48)
            out.write(version)
            out.append(0x52)
            if "value" in given:
                self.encoder.value(given["value"], path + ".value")
                return
            out.append(0x48)
            out.write(version)
            out.write(b"FH")
            self._pairs(given["fault"], path + ".fault")
            out.append(0x5A)
            return
        out.append(0x52 if start == "R" else 0x72)
        out.write(version)
        self._headers(given, path)
        if "value" in given:
            self.encoder.value(given["value"], path + ".value")
        else:
            out.append(0x66)
            self._pairs(given["fault"], path + ".fault")
            out.append(0x7A)
        out.append(0x7A)

    def _pairs(self, fault: Json, path: str) -> None:
        """Write the keys and values of a fault, a map that is not in the reference table."""
        if isinstance(fault, dict) and "$map" in fault:
            s.FAULT.members_of(fault, path, "")
            fault = fault["$map"]
            path += ".$map"
        if isinstance(fault, dict):
            for key, value in fault.items():
                self.encoder.value(key, path)
                self.encoder.value(value, f"{path}.{key}")
            return
        for position, pair in enumerate(array_of(fault, path, "pairs [key, value]")):
            step = f"{path}[{position}]"
            first, second = _pair(pair, step)
            self.encoder.value(first, step + "[0]")
            self.encoder.value(second, step + "[1]")

    # --- packets ----------------------------------------------------------------------------------------

    def packets(self, body: Json, wire: dict[str, Json], path: str) -> None:
        """Write a sequence of packets; they share classes and types, not references."""
        framing = wire.get("framing")
        if self.dialect == d.DRAFT:
            framing = "3.2.1"
        elif framing is None:
            framing = s.MESSAGE_WIRE.members["framing"].default
        if framing not in ("3.2.1", "4.0.0", "4.0.7", "4.0.66"):
            raise EncodeError(path, f"unknown framing {framing!r} of packets")
        content = BytesWriter()
        encoder = Encoder(content, self.dialect)
        for position, packet in enumerate(array_of(body, path, "packets")):
            step = f"{path}[{position}]"
            encoder.clear_references()
            content.truncate(0)
            encoder.values(_values_in(packet, step)["values"], step + ".values")
            data = content.getvalue()
            sizes = _packet_sizes(packet, data, step)
            at = 0
            for part, size in enumerate(sizes):
                self._frame(str(framing), data[at : at + size], part == 0, part == len(sizes) - 1, step)
                at += size
            if framing == "4.0.0":
                self.out.append(0)
            elif framing == "4.0.7":
                self.out.write(b"\x80\0")

    def _frame(self, framing: str, part: bytes, first: bool, last: bool, path: str) -> None:
        """Write one part of a packet."""
        out = self.out
        size = len(part)
        if framing == "3.2.1":
            out.append(0x50 if last else 0x70)
            out.append(size >> 8)
            out.append(size & 0xFF)
        elif framing == "4.0.66":
            out.append((5 if first else 0) | (0 if last else 0x80))
            if size >= 0x7E:
                out.append(0x7E)
                out.append(size >> 8)
                out.append(size & 0xFF)
            else:
                out.append(size)
        else:
            if size == 0:
                return
            if size > 0x3FFF:
                raise EncodeError(path, f"a part of a packet has at most 16383 bytes, not {size}")
            if framing == "4.0.7":
                out.append(0x80)
            if size >= 0x80:
                out.append(0x80 | size >> 7)
                out.append(size & 0x7F)
            else:
                out.append(size)
        out.write(part)

    # --- envelopes --------------------------------------------------------------------------------------

    def envelope(self, body: Json, version: bytes, path: str) -> None:
        out = self.out
        given = s.ENVELOPE.members_of(body, path, 'an envelope: "method", "parts"')
        wire = s.ENVELOPE_WIRE.members_of(given.get("$wire", {}), path + ".$wire", "forms by name")
        s.ENVELOPE.require(given, path, "an envelope")
        out.append(0x45)
        self._at(path)
        if self.dialect == d.FINAL:
            self.encoder.string(given["method"], wire.get("method"), ".method")
        else:
            out.write(version)
            out.append(0x6D)
            self.encoder.counted(given["method"], wire.get("method"), ".method")
        for position, part in enumerate(array_of(s.ENVELOPE.value(given, "parts"), path + ".parts", "parts")):
            self._part(part, f"{path}.parts[{position}]", given["method"] == deflation.METHOD.decode())
        out.append(0x5A if self.dialect == d.FINAL else 0x7A)

    def _part(self, part: Json, path: str, deflates: bool) -> None:
        given = s.PART.members_of(part, path, 'a part: "content"')
        wire = s.PART_WIRE.members_of(given.get("$wire", {}), path + ".$wire", "forms by name")
        self._counted_pairs(given, "headers", wire.get("header_count"), path)
        content = given.get("content")
        if isinstance(content, str) or not deflates:
            data = hex_bytes(content, path + ".content")
        else:
            inner = BytesWriter()
            encode_message(content, self.dialect, inner, path + ".content")
            plain = inner.getvalue()
            data = b""
            if "compressed" in given:
                data = hex_bytes(given["compressed"], path + ".compressed")
                if deflation.inflate(data) != plain:
                    data = b""
            data = data or deflation.deflate(plain)
        form = wire.get("content_form")
        self._at(path)
        if form is None and len(data) <= 0xFFFF:
            form = "B"
        self.encoder.binary(data, form, ".content")
        self._counted_pairs(given, "footers", wire.get("footer_count"), path)

    def _counted_pairs(self, given: dict[str, Json], name: str, form: Json, path: str) -> None:
        pairs = array_of(given.get(name, []), f"{path}.{name}", "pairs [name, value]")
        self.encoder.integer(len(pairs), form, f"{path}.$wire")
        for position, pair in enumerate(pairs):
            step = f"{path}.{name}[{position}]"
            text, value = _pair(pair, step)
            self._at(step)
            self.encoder.string(text, None, "[0]")
            self.encoder.value(value, step + "[1]")


def _pair(value: Json, path: str) -> tuple[Json, Json]:
    if not isinstance(value, list) or len(value) != 2:
        raise EncodeError(path, "expected a pair of two values")
    return value[0], value[1]


def _packet_sizes(packet: Json, data: bytes, path: str) -> list[int]:
    """The sizes of the parts of a packet's content."""
    wire = packet.get("$wire") if isinstance(packet, dict) else None
    if wire is None:
        sizes = []
        left = len(data)
        while left > PACKET_BYTES:
            sizes.append(PACKET_BYTES)
            left -= PACKET_BYTES
        return [*sizes, left]
    chunks = s.PACKET_WIRE.members_of(wire, path + ".$wire", "chunks").get("chunks")
    sizes = [size for size in array_of(chunks, path + ".$wire.chunks", "sizes") if isinstance(size, int)]
    if sum(sizes) != len(data) or not all(0 <= size <= PACKET_BYTES for size in sizes):
        raise EncodeError(
            path + ".$wire.chunks", f"the sum of the chunks is not the packet's {count(len(data), 'byte')}"
        )
    return sizes
