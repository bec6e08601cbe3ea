"""JSON to bytes: frames with the specified head, and frames with the deployed one."""

from typing import Final

from librt.strings import BytesWriter

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import hex_bytes, number_of, object_of, one_of, only
from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.magline.fields import write_number
from wirelens.codecs.node import Json
from wirelens.codecs.protobuf import message_bytes

_SPECIFIED_MEMBERS: Final = (
    "magic",
    "version",
    "cmd",
    "head_optional",
    "head_length",
    "seq",
    "message_length",
    "byte_order",
    "head",
    "body",
)


def encode_specified(message: Json, out: BytesWriter) -> None:
    """See Codec.encode.

    Defaults: magic 127, version 1, head_optional 0, seq 0, byte_order "big", an empty head, the real lengths.
    """
    frame = object_of(message, "", "a frame with cmd and body")
    only(frame, _SPECIFIED_MEMBERS, "")
    if "cmd" not in frame:
        raise EncodeError("", 'a frame needs the member "cmd"')
    named = frame["cmd"]
    if isinstance(named, str):
        named = v.HEADINGS.get(named.upper(), named)
    cmd = number_of(named, v.COMMANDS, "cmd", 0, 0xFFFF)
    order = one_of(frame.get("byte_order", "big"), ("big", "little"), "byte_order")
    little = order == "little"
    head = hex_bytes(frame.get("head", ""), "head")
    body = _specified_body(cmd, object_of(frame.get("body", {}), "body", "the body's members"), little)
    size = len(head)
    full = v.SPECIFIED_SIZE + size
    head_length = number_of(frame.get("head_length", full), {}, "head_length", 0, 0xFFFF)
    inside = head_length < v.SPECIFIED_SIZE and head_length == size
    usual_length = len(body) + (size if inside else 0)
    message_length = number_of(frame.get("message_length", usual_length), {}, "message_length", 0, 0xFFFFFFFF)
    if head_length >= v.SPECIFIED_SIZE and head_length != full:
        raise EncodeError("head_length", f"it is {full} with this head; leave it out to have it computed")
    if head_length < v.SPECIFIED_SIZE and head_length != size:
        raise EncodeError("head_length", f"below 16 it is the length of the head, {size}")
    if message_length != usual_length and not (
        inside and message_length == len(body) and message_length < size
    ):
        text = f"the message has {len(body)} bytes; leave it out to have it computed"
        raise EncodeError("message_length", text)
    out.append(number_of(frame.get("magic", v.MAGIC), {}, "magic", 0, 255))
    out.append(number_of(frame.get("version", v.C_VERSION), {}, "version", 0, 255))
    optional = number_of(frame.get("head_optional", 0), {}, "head_optional", 0, 0xFFFF)
    seq = number_of(frame.get("seq", 0), {}, "seq", 0, 0xFFFFFFFF)
    write_number(out, cmd, 2, little)
    write_number(out, optional, 2, little)
    write_number(out, head_length, 2, little)
    write_number(out, seq, 4, little)
    write_number(out, message_length, 4, little)
    out.write(head)
    out.write(body)


def _specified_body(cmd: int, body: dict[str, Json], little: bool) -> bytes:
    """The bytes of a specified frame's body."""
    out = BytesWriter()
    if "data" in body and (cmd not in v.COMMANDS or "business_cmd" not in body):
        only(body, ("data", "error"), "body")
        return hex_bytes(body["data"], "body.data")
    if cmd not in v.COMMANDS:
        only(body, ("data",), "body")
        return b""
    if cmd == v.SYN or cmd == v.ACK:
        names = ["random", "public_key", "sealed"] if cmd == v.ACK else ["random", "public_key"]
        only(body, names, "body")
        for name in names:
            _require(body, name, v.COMMANDS[cmd])
            out.write(hex_bytes(body[name], f"body.{name}"))
        return out.getvalue()
    if v.REQ <= cmd <= v.PSH:
        only(body, ("business_cmd", "hmac", "data"), "body")
        _require(body, "business_cmd", v.COMMANDS[cmd])
        _require(body, "hmac", v.COMMANDS[cmd])
        code = hex_bytes(body["hmac"], "body.hmac")
        data = hex_bytes(body.get("data", ""), "body.data")
        if len(code) > v.CODE_SIZE or (data and len(code) != v.CODE_SIZE):
            raise EncodeError("body.hmac", f"expected {v.CODE_SIZE} bytes, got {len(code)}")
        business = number_of(body["business_cmd"], {}, "body.business_cmd", 0, 0xFFFFFFFF)
        write_number(out, business, v.WORD, little)
        out.write(code)
        out.write(data)
        return out.getvalue()
    words = ["business_cmd", "error"] if cmd == v.ERR else ["reason"] if cmd == v.FIN else ["ping"]
    only(body, [*words, "extra"], "body")
    for name in words:
        _require(body, name, v.COMMANDS[cmd])
        write_number(out, number_of(body[name], {}, f"body.{name}", 0, 0xFFFFFFFF), v.WORD, little)
    out.write(hex_bytes(body.get("extra", ""), "body.extra"))
    return out.getvalue()


def encode_deployed(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. Defaults: magic 127, version 101, seq 0, the real length."""
    frame = object_of(message, "", "a frame with cmd and body")
    only(frame, ("magic", "version", "cmd", "seq", "length", "body"), "")
    if "cmd" not in frame:
        raise EncodeError("", 'a frame needs the member "cmd"')
    cmd = number_of(frame["cmd"], v.DEPLOYED_COMMANDS, "cmd", 0, 0xFFFF)
    body = _deployed_body(cmd, object_of(frame.get("body", {}), "body", "the body's members"))
    length = number_of(frame.get("length", len(body)), {}, "length", 0, 0xFFFFFFFF)
    if length != len(body):
        raise EncodeError("length", f"the body has {len(body)} bytes; leave it out to have it computed")
    out.append(number_of(frame.get("magic", v.MAGIC), {}, "magic", v.MAGIC, v.MAGIC))
    out.append(number_of(frame.get("version", v.GO_VERSION), {}, "version", 0, 255))
    write_number(out, cmd, 2, True)
    write_number(out, number_of(frame.get("seq", 0), {}, "seq", 0, 0xFFFFFFFF), 4, True)
    write_number(out, length, 4, True)
    out.write(body)


def _deployed_body(cmd: int, body: dict[str, Json]) -> bytes:
    """The bytes of a deployed frame's body."""
    if "data" in body:
        only(body, ("data", "error"), "body")
        return hex_bytes(body["data"], "body.data")
    if cmd in v.PROTOBUF_MEMBERS:
        return message_bytes(body, v.PROTOBUF_MEMBERS[cmd], "body")
    if cmd not in v.DEPLOYED_COMMANDS:
        only(body, ("data",), "body")
        return b""
    if cmd == v.NODE_MSG or cmd == v.KNOT_MSG:
        only(body, ("payload",), "body")
        return hex_bytes(body.get("payload", ""), "body.payload")
    out = BytesWriter()
    parts = v.LAYOUTS[cmd].parts
    only(body, [*(part.name for part in parts), "extra"], "body")
    if cmd == v.OLD_SYN and not body:
        return b""
    for part in parts:
        _require(body, part.name, v.DEPLOYED_COMMANDS[cmd])
        width = int(part.width)
        bits = 8 * width
        low = -1 << (bits - 1) if part.signed else 0
        high = (1 << (bits - 1)) - 1 if part.signed else (1 << bits) - 1
        number = number_of(body[part.name], {}, f"body.{part.name}", low, high)
        write_number(out, number & ((1 << bits) - 1), width, True)
    out.write(hex_bytes(body.get("extra", ""), "body.extra"))
    return out.getvalue()


def _require(body: dict[str, Json], name: str, command: str) -> None:
    """Refuse a body without a member that its command needs."""
    if name not in body:
        raise EncodeError("body", f'{command} needs the member "{name}"')
