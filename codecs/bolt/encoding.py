"""Encoding Bolt: frames of the notation to bytes."""

import zlib

from librt.strings import BytesWriter, write_i16_be, write_i32_be
from mypy_extensions import i16, i32

from wirelens.codecs.bolt import schema as s
from wirelens.codecs.bolt.vocabulary import (
    CHECKED,
    HEARTBEAT,
    HESSIAN,
    MAX_CONTENT,
    REQUEST_CLASS,
    REQUEST_COMMAND,
    RESPONSE,
    RESPONSE_CLASS,
    RESPONSE_COMMAND,
    SWITCH_CHECKSUM,
)
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.value_encoding import Encoder
from wirelens.codecs.json_input import array_of, object_of, text_bytes
from wirelens.codecs.json_text import dumps
from wirelens.codecs.node import Json
from wirelens.codecs.payload import dialect_named
from wirelens.codecs.words import count


def encode_frame(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. Lengths and checksum are computed; members that are left out are as usual."""
    schema = s.FRAME
    members = schema.members_of(message, "", "a frame of Bolt")
    wire = s.FRAME_WIRE.members_of(members.get("$wire", {}), "$wire", "forms by name")
    version = schema.number(members, "version")
    usual_type = "response" if "status" in members else "request"
    frame_type = schema.number(members, "type", "", usual_type)
    usual_command = RESPONSE_COMMAND if frame_type == RESPONSE else REQUEST_COMMAND
    command = schema.number(members, "command", "", usual_command)
    command_version = schema.number(members, "command_version")
    number = schema.number(members, "id")
    codec = schema.number(members, "codec")
    switch = schema.number(members, "switch", "", 1 if "crc" in members else 0)
    usual_version = CHECKED if switch & SWITCH_CHECKSUM else 1
    protocol_version = s.FRAME_WIRE.number(wire, "protocol_version", "$wire", usual_version)
    if version == 1:
        for member in ("switch", "crc"):
            if member in members:
                raise EncodeError(member, "only version 2 of Bolt has it")
    content = _content_bytes(members)
    name = b""
    usual_class = ""
    if codec == HESSIAN and command != HEARTBEAT and wire.get("class") != "absent":
        usual_class = RESPONSE_CLASS if frame_type == RESPONSE else REQUEST_CLASS
    if "class" in members or (usual_class and _first_class(members) == usual_class):
        name = text_bytes(members.get("class", usual_class), "class")
    headers = _header_bytes(schema.value(members, "headers"))
    if len(name) > 0xFFFF or len(headers) > 0xFFFF:
        raise EncodeError("class" if len(name) > 0xFFFF else "headers", "it takes 65535 bytes at most")
    frame = BytesWriter()
    frame.append(version)
    if version == 2:
        frame.append(protocol_version)
    frame.append(frame_type)
    write_i16_be(frame, i16(command - 0x10000 if command >> 15 else command))
    frame.append(command_version)
    write_i32_be(frame, i32(number - (1 << 32) if number >> 31 else number))
    frame.append(codec)
    if version == 2:
        frame.append(switch)
    _write_status_or_timeout(members, frame_type, frame)
    for length in (len(name), len(headers)):
        frame.append(length >> 8)
        frame.append(length & 0xFF)
    if len(content) > MAX_CONTENT:
        raise EncodeError("content", f"it has {count(len(content), 'byte')}; {MAX_CONTENT} are allowed")
    write_i32_be(frame, i32(len(content)))
    frame.write(name)
    frame.write(headers)
    frame.write(content)
    frame_bytes = frame.getvalue()
    out.write(frame_bytes)
    if version == 2 and protocol_version == CHECKED and switch & SWITCH_CHECKSUM:
        out.write(_checksum(members, wire, frame_bytes))
    elif "crc" in members:
        raise EncodeError("crc", "neither version nor switch announces a checksum")


def _write_status_or_timeout(members: dict[str, Json], frame_type: int, frame: BytesWriter) -> None:
    if frame_type == RESPONSE:
        if "timeout" in members:
            raise EncodeError("timeout", "only requests have a timeout")
        status = s.FRAME.number(members, "status")
        frame.append(status >> 8)
        frame.append(status & 0xFF)
    else:
        if "status" in members:
            raise EncodeError("status", "only responses have a status")
        timeout = s.FRAME.number(members, "timeout")
        write_i32_be(frame, i32(timeout))


def _checksum(members: dict[str, Json], wire: dict[str, Json], frame: bytes) -> bytes:
    """The checksum of a frame, or the wrong one that `$wire` asks for."""
    if wire.get("crc") is None:
        return zlib.crc32(frame).to_bytes(4, "big")
    if wire["crc"] != "wrong":
        raise EncodeError("$wire.crc", 'expected "wrong"')
    checksum = s.FRAME.hex(members, "crc")
    if len(checksum) != 4:
        raise EncodeError("crc", "expected 8 hex digits")
    return checksum


def _content_bytes(members: dict[str, Json]) -> bytes:
    """The content of a frame in JSON."""
    dialect = dialect_named(s.FRAME.value(members, "hessian"), d.DRAFT, "hessian")
    if "content" not in members:
        return b""
    content = object_of(members["content"], "content", 'with "values" or "data"')
    if "data" in content:
        return s.DATA.hex(s.DATA.members_of(content, "content", ""), "data", "content")
    if "json" in content:
        s.JSON.members_of(content, "content", "")
        return dumps(content["json"]).encode()
    s.CONTENT.members_of(content, "content", "")
    if "values" not in content:
        raise EncodeError("content", 'expected "values", "data" or "json"')
    codec = s.FRAME.value(members, "codec")
    if codec not in (HESSIAN, "hessian"):
        raise EncodeError("content", f'content of codec {codec} is given as {{"data": hex}}')
    out = BytesWriter()
    Encoder(out, dialect).values(content["values"], "content.values")
    return out.getvalue()


def _first_class(members: dict[str, Json]) -> Json:
    """The class of the first value of the content of a frame in JSON."""
    content = members.get("content")
    values = content.get("values") if isinstance(content, dict) else None
    first = values[0] if isinstance(values, list) and values else None
    return first.get("$class") if isinstance(first, dict) else None


def _header_bytes(headers: Json) -> bytes:
    """A header map: pairs, or {"data": hex}."""
    if isinstance(headers, dict):
        return s.HEADERS.hex(s.HEADERS.members_of(headers, "headers", ""), "data", "headers")
    out = BytesWriter()
    for position, pair in enumerate(array_of(headers, "headers", "pairs [name, value]")):
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
