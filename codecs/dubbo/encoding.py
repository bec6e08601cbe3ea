"""Encoding Dubbo: messages of the notation to bytes."""

from typing import Final

from librt.strings import BytesWriter, write_i32_be, write_i64_be
from mypy_extensions import i32

from wirelens.codecs.dubbo.values import HessianValues, JsonbValues, Values
from wirelens.codecs.dubbo.vocabulary import (
    DEFAULT_SERVICE_VERSION,
    DEFAULT_VERSION,
    DEFAULTS,
    EVENT_FLAG,
    FASTJSON2,
    HESSIAN,
    MAGIC,
    MAX_BODY,
    OK,
    REQUEST_FLAG,
    RESULTS,
    SERIALIZATIONS,
    STATUSES,
    TWO_WAY_FLAG,
    TYPES,
    WITH_ATTACHMENTS,
)
from wirelens.codecs.errors import EncodeError
from wirelens.codecs.hessian import vocabulary as d
from wirelens.codecs.hessian.descriptors import descriptor_of
from wirelens.codecs.json_input import array_of, hex_bytes, number_of, object_of, only
from wirelens.codecs.node import Json
from wirelens.codecs.payload import dialect_named, json_lines_bytes
from wirelens.codecs.words import count


def encode_message(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. Lengths are computed; members that are left out have their DEFAULTS."""
    members = object_of(message, "", "a message of Dubbo")
    only(members, (*DEFAULTS, "type", "status", "body", "hessian", "$wire"), "")
    wire = object_of(members.get("$wire", {}), "$wire", "forms by name")
    only(wire, ("status",), "$wire")
    body = object_of(members.get("body", {}), "body", "the members of the body")
    usual_type = "response" if "result" in body or "status" in members else "request"
    request = number_of(members.get("type", usual_type), TYPES, "type", 0, 1) == 1
    event = _flag(members, "event")
    two_way = _flag(members, "two_way") if "two_way" in members else request
    serialization = number_of(
        members.get("serialization", DEFAULTS["serialization"]), SERIALIZATIONS, "serialization", 0, 31
    )
    if request and "status" in members:
        raise EncodeError("status", "only responses have a status")
    status = number_of(members.get("status", OK), STATUSES, "status", 0, 255)
    fourth = number_of(wire.get("status", 0), {}, "$wire.status", 0, 255) if request else status
    number = number_of(members.get("id", DEFAULTS["id"]), {}, "id", -1 << 63, (1 << 64) - 1)
    dialect = dialect_named(members.get("hessian"), d.FINAL, "hessian")
    content = BytesWriter()
    if "data" in body:
        only(body, ("data", "json", "error", "partial"), "body")
        content.write(hex_bytes(body["data"], "body.data"))
    elif "json" in body:
        only(body, ("json",), "body")
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


def _flag(members: dict[str, Json], name: str) -> bool:
    value = members.get(name, DEFAULTS[name])
    if not isinstance(value, bool):
        raise EncodeError(name, "expected true or false")
    return value


class _BodyWriter:
    """Writes one body, whose values `encoder` writes."""

    def __init__(self, out: BytesWriter, encoder: Values) -> None:
        self.out: Final = out
        self.encoder: Final = encoder

    def write(self, body: dict[str, Json], request: bool, event: bool, status: int) -> None:
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
