"""Encoding HTTP/2: frames of the notation to bytes."""

from typing import Final

from librt.strings import BytesWriter

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.http2 import schema as s
from wirelens.codecs.http2 import vocabulary as v
from wirelens.codecs.http2.decoding import head_error
from wirelens.codecs.http2.hpack_encoding import pack_block
from wirelens.codecs.json_input import array_of, text_bytes
from wirelens.codecs.node import Json
from wirelens.codecs.schema import Schema

_BIT: Final = 1 << 31


def encode_message(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. The flags PADDED and PRIORITY follow from the members that they announce."""
    members = s.FRAME.members_of(message, "", "a frame of HTTP/2")
    if "preface" in members:
        if s.FRAME.flag(members, "preface"):
            if len(members) > 1:
                raise EncodeError("preface", "the preface has no other members")
            out.write(v.PREFACE)
            return
    s.FRAME.require(members, "", "a frame")
    if "type" not in members:
        raise EncodeError("", 'a frame needs the member "type"')
    _Frame(members).write(out)


class _Frame:
    """Writes one frame from its members."""

    def __init__(self, members: dict[str, Json]) -> None:
        self.members: Final = members
        self.type: Final = s.FRAME.number(members, "type")
        self.flags = s.FRAME.number(members, "flags")
        if s.FRAME.flag(members, "ack"):
            self.flags |= v.ACK
        self.wire: Final = s.WIRE_FORMS.members_of(members.get("$wire", {}), "$wire", "forms by name")
        for name in members:
            if name not in s.MEMBERS.get(self.type, s.OTHER_MEMBERS) and name not in s.COMMON_MEMBERS:
                kind = v.TYPES.get(self.type, f"type {self.type}")
                raise EncodeError(name, f"a frame of {kind} has no such member")

    def write(self, out: BytesWriter) -> None:
        """Write the frame. Raises EncodeError."""
        stream = s.FRAME.number(self.members, "stream")
        payload = self._payload()
        if len(payload) > v.MAX_LENGTH:
            raise EncodeError("", f"a frame of {len(payload)} bytes; {v.MAX_LENGTH} are allowed")
        head = len(payload).to_bytes(3, "big") + bytes([self.type, self.flags])
        frame = head + self._reserved(stream, "reserved") + payload
        wrong = head_error(frame, 0)
        if wrong is not None:
            raise EncodeError("", wrong[1])
        out.write(frame)

    def _reserved(self, number: int, form: str) -> bytes:
        """A number of 31 bits after a reserved one."""
        if form in self.wire and s.WIRE_FORMS.flag(self.wire, form, "$wire"):
            number |= _BIT
        return number.to_bytes(4, "big")

    def _number(self, name: str, size: int) -> bytes:
        return s.FRAME.number(self.members, name).to_bytes(size, "big")

    def _payload(self) -> bytes:
        kind = self.type
        if kind == v.DATA:
            return self._padded(b"", s.FRAME.hex(self.members, "data"))
        if kind == v.HEADERS:
            before = b""
            if self.flags & v.HAS_PRIORITY or self._has_priority():
                self.flags |= v.HAS_PRIORITY
                before = self._priority()
            return self._padded(before, self._fragment())
        if kind == v.PRIORITY:
            return self._priority()
        if kind == v.RST_STREAM:
            return self._number("error_code", 4)
        if kind == v.SETTINGS:
            return self._settings()
        if kind == v.PUSH_PROMISE:
            promised = s.FRAME.number(self.members, "promised_stream")
            return self._padded(self._reserved(promised, "reserved_payload"), self._fragment())
        if kind == v.GOAWAY:
            last = s.FRAME.number(self.members, "last_stream")
            debug = s.FRAME.text(self.members, "debug") if "debug" in self.members else b""
            return self._reserved(last, "reserved_payload") + self._number("error_code", 4) + debug
        if kind == v.WINDOW_UPDATE:
            return self._reserved(s.FRAME.number(self.members, "increment"), "reserved_payload")
        if kind == v.CONTINUATION:
            return self._fragment()
        data = s.FRAME.hex(self.members, "data")
        return data or bytes(8) if kind == v.PING else data

    def _padded(self, before: bytes, content: bytes) -> bytes:
        if "padding" not in self.members and self.flags & v.PADDED == 0:
            return before + content
        padding = s.FRAME.hex(self.members, "padding")
        if len(padding) > 0xFF:
            raise EncodeError("padding", f"{len(padding)} bytes of padding; 255 are allowed")
        self.flags |= v.PADDED
        return bytes([len(padding)]) + before + content + padding

    def _has_priority(self) -> bool:
        """Whether a member of a priority has another value than its default."""
        members = [(s.FRAME.members[name], self.members.get(name)) for name in s.PRIORITY]
        return any(value is not None and value != member.default for member, value in members)

    def _priority(self) -> bytes:
        depends_on = s.FRAME.number(self.members, "depends_on")
        if s.FRAME.flag(self.members, "exclusive"):
            depends_on |= _BIT
        weight = s.FRAME.number(self.members, "weight") - 1
        return depends_on.to_bytes(4, "big") + bytes([weight])

    def _fragment(self) -> bytes:
        """The header block's part: as it is given, or made of header fields without the header table."""
        if "fragment" in self.members or "headers" not in self.members:
            return s.FRAME.hex(self.members, "fragment")
        fields: list[tuple[bytes, bytes]] = []
        for position, pair in enumerate(array_of(self.members["headers"], "headers", "pairs [name, value]")):
            where = f"headers[{position}]"
            if not isinstance(pair, list) or len(pair) != 2:
                raise EncodeError(where, "expected a pair [name, value]")
            fields.append((text_bytes(pair[0], where + "[0]"), text_bytes(pair[1], where + "[1]")))
        return pack_block(fields)

    def _settings(self) -> bytes:
        payload = b""
        value = s.FRAME.value(self.members, "settings")
        for position, one in enumerate(array_of(value, "settings", "objects with id and value")):
            where = f"settings[{position}]"
            setting = s.SETTING.members_of(one, where, "a setting")
            s.SETTING.require(setting, where, "a setting")
            payload += _integer(s.SETTING, setting, "id", where, 2) + _integer(
                s.SETTING, setting, "value", where, 4
            )
        return payload


def _integer(schema: Schema, members: dict[str, Json], name: str, where: str, size: int) -> bytes:
    return schema.number(members, name, where).to_bytes(size, "big")
