"""Encoding Bolt: frames of the notation to bytes."""

import zlib

from librt.strings import BytesWriter, write_i16_be, write_i32_be
from mypy_extensions import i16, i32

from wirelens.codecs.bolt.vocabulary import (
    CHECKED,
    CODEC_NAMES,
    COMMANDS,
    HEARTBEAT,
    HESSIAN,
    MAX_CONTENT,
    MEMBERS,
    REQUEST_CLASS,
    REQUEST_COMMAND,
    RESPONSE,
    RESPONSE_CLASS,
    RESPONSE_COMMAND,
    STATUSES,
    SWITCH_CHECKSUM,
    TYPES,
)
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.value_encoding import Encoder
from wirelens.codecs.json_input import array_of, hex_bytes, number_of, object_of, only, text_bytes
from wirelens.codecs.json_text import dumps
from wirelens.codecs.node import Json
from wirelens.codecs.payload import dialect_named
from wirelens.codecs.words import count


def encode_frame(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. Lengths and checksum are computed; members that are left out are as usual."""
    members = object_of(message, "", "a frame of Bolt")
    only(members, MEMBERS, "")
    wire = object_of(members.get("$wire", {}), "$wire", "forms by name")
    only(wire, ("protocol_version", "class", "crc"), "$wire")
    version = number_of(members.get("version", 1), {}, "version", 1, 2)
    usual_type = "response" if "status" in members else "request"
    frame_type = number_of(members.get("type", usual_type), TYPES, "type", 0, 2)
    usual_command = RESPONSE_COMMAND if frame_type == RESPONSE else REQUEST_COMMAND
    command = number_of(members.get("command", usual_command), COMMANDS, "command", 0, 0xFFFF)
    command_version = number_of(members.get("command_version", 1), {}, "command_version", 0, 255)
    number = number_of(members.get("id", 1), {}, "id", 0, 0xFFFFFFFF)
    codec = number_of(members.get("codec", HESSIAN), CODEC_NAMES, "codec", 0, 255)
    switch = number_of(members.get("switch", 1 if "crc" in members else 0), {}, "switch", 0, 255)
    usual_version = CHECKED if switch & SWITCH_CHECKSUM else 1
    protocol_version = number_of(
        wire.get("protocol_version", usual_version), {}, "$wire.protocol_version", 0, 255
    )
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
    headers = _header_bytes(members.get("headers", []))
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
        status = number_of(members.get("status", 0), STATUSES, "status", 0, 0xFFFF)
        frame.append(status >> 8)
        frame.append(status & 0xFF)
    else:
        if "status" in members:
            raise EncodeError("status", "only responses have a status")
        timeout = number_of(members.get("timeout", 0), {}, "timeout", -1 << 31, (1 << 31) - 1)
        write_i32_be(frame, i32(timeout))


def _checksum(members: dict[str, Json], wire: dict[str, Json], frame: bytes) -> bytes:
    """The checksum of a frame, or the wrong one that `$wire` asks for."""
    if wire.get("crc") is None:
        return zlib.crc32(frame).to_bytes(4, "big")
    if wire["crc"] != "wrong":
        raise EncodeError("$wire.crc", 'expected "wrong"')
    checksum = hex_bytes(members.get("crc"), "crc")
    if len(checksum) != 4:
        raise EncodeError("crc", "expected 8 hex digits")
    return checksum


def _content_bytes(members: dict[str, Json]) -> bytes:
    """The content of a frame in JSON."""
    if "content" not in members:
        return b""
    content = object_of(members["content"], "content", 'with "values" or "data"')
    if "data" in content:
        only(content, ("data", "json", "error", "partial"), "content")
        return hex_bytes(content["data"], "content.data")
    if "json" in content:
        only(content, ("json",), "content")
        return dumps(content["json"]).encode()
    only(content, ("values",), "content")
    if "values" not in content:
        raise EncodeError("content", 'expected "values", "data" or "json"')
    codec = members.get("codec", "hessian")
    if codec not in (HESSIAN, "hessian"):
        raise EncodeError("content", f'content of codec {codec} is given as {{"data": hex}}')
    out = BytesWriter()
    dialect = dialect_named(members.get("hessian"), d.DRAFT, "hessian")
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
        only(headers, ("data", "error"), "headers")
        return hex_bytes(headers.get("data"), "headers.data")
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
