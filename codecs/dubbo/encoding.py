"""Encoding Dubbo: messages of the notation to bytes."""

from typing import Final

from librt.strings import BytesWriter, write_i32_be, write_i64_be
from mypy_extensions import i32

from wirelens.codecs.dubbo import schema as s
from wirelens.codecs.dubbo.values import HessianValues, JsonbValues, Values
from wirelens.codecs.dubbo.vocabulary import (
    EVENT_FLAG,
    FASTJSON2,
    HESSIAN,
    MAGIC,
    MAX_BODY,
    OK,
    REQUEST_FLAG,
    RESULTS,
    SERIALIZATIONS,
    TWO_WAY_FLAG,
    WITH_ATTACHMENTS,
)
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.descriptors import descriptor_of
from wirelens.codecs.json_input import array_of, object_of
from wirelens.codecs.node import Json
from wirelens.codecs.payload import dialect_named, json_lines_bytes
from wirelens.codecs.words import count


def encode_message(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. Lengths are computed; members that are left out have the defaults of schema.py."""
    schema = s.MESSAGE
    members = schema.members_of(message, "", "a message of Dubbo")
    wire = s.MESSAGE_WIRE.members_of(members.get("$wire", {}), "$wire", "forms by name")
    body = object_of(members.get("body", {}), "body", "the members of the body")
    usual_type = "response" if "result" in body or "status" in members else "request"
    request = schema.number(members, "type", "", usual_type) == 1
    event = schema.flag(members, "event")
    two_way = schema.flag(members, "two_way", "", request)
    serialization = schema.number(members, "serialization")
    if request and "status" in members:
        raise EncodeError("status", "only responses have a status")
    status = schema.number(members, "status")
    fourth = s.MESSAGE_WIRE.number(wire, "status", "$wire") if request else status
    number = schema.number(members, "id")
    dialect = dialect_named(schema.value(members, "hessian"), d.FINAL, "hessian")
    content = BytesWriter()
    if "data" in body:
        s.DATA.members_of(body, "body", "")
        content.write(s.DATA.hex(body, "data", "body"))
    elif "json" in body:
        s.JSON.members_of(body, "body", "")
        content.write(json_lines_bytes(body["json"], "body.json"))
    elif serialization == FASTJSON2:
        _BodyWriter(content, JsonbValues(content)).write(body, request, event, status)
    elif serialization not in HESSIAN:
        name = SERIALIZATIONS.get(serialization, serialization)
        raise EncodeError("body", f'a body of serialization {name} is given as {{"data": hex}}')
    else:
        _BodyWriter(content, HessianValues(content, dialect)).write(body, request, event, status)
    size = len(content)
    if size > MAX_BODY:
        raise EncodeError("body", f"it has {count(size, 'byte')}; {MAX_BODY} are allowed")
    out.write(MAGIC)
    flags = serialization
    if request:
        flags |= REQUEST_FLAG
    if two_way:
        flags |= TWO_WAY_FLAG
    if event:
        flags |= EVENT_FLAG
    out.append(flags)
    out.append(fourth)
    write_i64_be(out, number - (1 << 64) if number >> 63 > 0 else number)
    write_i32_be(out, i32(size))
    out.write(content.getvalue())


class _BodyWriter:
    """Writes one body, whose values `encoder` writes."""

    def __init__(self, out: BytesWriter, encoder: Values) -> None:
        self.out: Final = out
        self.encoder: Final = encoder

    def write(self, body: dict[str, Json], request: bool, event: bool, status: int) -> None:
        wire = object_of(body.get("$wire", {}), "body.$wire", "forms by name")
        if not request and status != OK:
            s.ERROR.members_of(body, "body", "")
            self.encoder.value(body.get("error"), "body.error")
        elif event:
            s.EVENT.members_of(body, "body", "")
            self.encoder.value(body.get("event"), "body.event")
        elif request:
            self._request(body, wire)
        else:
            self._response(body, wire)
        if "extra" in body:
            self.out.write(s.REQUEST.hex(body, "extra", "body"))

    def _request(self, body: dict[str, Json], wire: dict[str, Json]) -> None:
        schema = s.REQUEST
        schema.members_of(body, "body", "")
        s.REQUEST_WIRE.members_of(wire, "body.$wire", "")
        schema.require(body, "body", "a request")
        encoder = self.encoder
        encoder.value(schema.value(body, "dubbo_version"), "body.dubbo_version")
        encoder.value(body["path"], "body.path")
        encoder.value(schema.value(body, "version"), "body.version")
        encoder.value(body["method"], "body.method")
        arguments = array_of(schema.value(body, "arguments"), "body.arguments", "values")
        described = True
        if "argument_count" in wire:
            arity = wire["argument_count"]
            encoder.value(arity, "body.$wire.argument_count")
            if isinstance(arity, dict):
                arity = arity.get("$int")
            described = isinstance(arity, int) and arity < 0
        if described:
            types = body.get("parameter_types")
            if "parameter_types" not in body:
                types = descriptor_of(arguments)
            encoder.value(types, "body.parameter_types")
        elif "parameter_types" in body:
            raise EncodeError("body.parameter_types", "the number of arguments takes its place")
        encoder.values(arguments, "body.arguments")
        if "attachments" in body or wire.get("attachments") != "absent":
            encoder.value(schema.value(body, "attachments"), "body.attachments")

    def _response(self, body: dict[str, Json], wire: dict[str, Json]) -> None:
        s.RESPONSE.members_of(body, "body", "")
        s.RESPONSE_WIRE.members_of(wire, "body.$wire", "")
        usual = "value" if body.get("value") is not None else "null"
        result = s.RESPONSE.number(body, "result", "body", usual) % WITH_ATTACHMENTS
        if "attachments" in body:
            result += WITH_ATTACHMENTS
        self.encoder.integer(result, wire.get("result"), "body.result")
        if RESULTS[result] != "null":
            self.encoder.value(body.get("value"), "body.value")
        elif "value" in body:
            raise EncodeError("body.value", 'a result "null" has no value')
        if "attachments" in body:
            self.encoder.value(body["attachments"], "body.attachments")
