"""JSON to bytes: frames with the specified head, and frames with the deployed one."""

from librt.strings import BytesWriter

from wirelens.codecs.errors import EncodeError
from wirelens.codecs.json_input import number_of, object_of
from wirelens.codecs.magline import schema as s
from wirelens.codecs.magline import vocabulary as v
from wirelens.codecs.magline.fields import write_number
from wirelens.codecs.node import Json
from wirelens.codecs.protobuf_encoding import message_bytes
from wirelens.codecs.schema import HEX


def encode_specified(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. The lengths are computed."""
    schema = s.FRAME
    frame = schema.members_of(message, "", "a frame with cmd and body")
    schema.require(frame, "", "a frame")
    named = frame["cmd"]
    if isinstance(named, str):
        named = v.HEADINGS.get(named.upper(), named)
    cmd = number_of(named, v.COMMANDS, "cmd", 0, 0xFFFF)
    little = schema.word(frame, "byte_order") == "little"
    head = schema.hex(frame, "head")
    body = _specified_body(cmd, object_of(frame.get("body", {}), "body", "the body's members"), little)
    size = len(head)
    full = v.SPECIFIED_SIZE + size
    head_length = schema.number(frame, "head_length", "", full)
    inside = head_length < v.SPECIFIED_SIZE and head_length == size
    usual_length = len(body) + (size if inside else 0)
    message_length = schema.number(frame, "message_length", "", usual_length)
    if head_length >= v.SPECIFIED_SIZE and head_length != full:
        raise EncodeError("head_length", f"it is {full} with this head; leave it out to have it computed")
    if head_length < v.SPECIFIED_SIZE and head_length != size:
        raise EncodeError("head_length", f"below 16 it is the length of the head, {size}")
    if message_length != usual_length and not (
        inside and message_length == len(body) and message_length < size
    ):
        text = f"the message has {len(body)} bytes; leave it out to have it computed"
        raise EncodeError("message_length", text)
    out.append(schema.number(frame, "magic"))
    out.append(schema.number(frame, "version"))
    optional = schema.number(frame, "head_optional")
    seq = schema.number(frame, "seq")
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
    if cmd not in s.SPECIFIED or ("data" in body and "business_cmd" not in body):
        return s.DATA.hex(s.DATA.members_of(body, "body", ""), "data", "body")
    schema = s.SPECIFIED[cmd]
    schema.members_of(body, "body", "")
    if v.REQ <= cmd <= v.PSH:
        schema.require(body, "body", v.COMMANDS[cmd])
        code = schema.hex(body, "hmac", "body")
        data = schema.hex(body, "data", "body")
        if len(code) > v.CODE_SIZE or (data and len(code) != v.CODE_SIZE):
            raise EncodeError("body.hmac", f"expected {v.CODE_SIZE} bytes, got {len(code)}")
        write_number(out, schema.number(body, "business_cmd", "body"), v.WORD, little)
        out.write(code)
        out.write(data)
        return out.getvalue()
    for name, member in schema.members.items():
        schema.require_member(name, body, "body", v.COMMANDS[cmd])
        if member.kind == HEX:
            out.write(schema.hex(body, name, "body"))
        else:
            write_number(out, schema.number(body, name, "body"), v.WORD, little)
    return out.getvalue()


def encode_deployed(message: Json, out: BytesWriter) -> None:
    """See Codec.encode. The length is computed."""
    schema = s.OLD_FRAME
    frame = schema.members_of(message, "", "a frame with cmd and body")
    schema.require(frame, "", "a frame")
    cmd = schema.number(frame, "cmd")
    body = _deployed_body(cmd, object_of(frame.get("body", {}), "body", "the body's members"))
    length = schema.number(frame, "length", "", len(body))
    if length != len(body):
        raise EncodeError("length", f"the body has {len(body)} bytes; leave it out to have it computed")
    out.append(schema.number(frame, "magic"))
    out.append(schema.number(frame, "version"))
    write_number(out, cmd, 2, True)
    write_number(out, schema.number(frame, "seq"), 4, True)
    write_number(out, length, 4, True)
    out.write(body)


def _deployed_body(cmd: int, body: dict[str, Json]) -> bytes:
    """The bytes of a deployed frame's body."""
    if "data" in body or cmd not in v.DEPLOYED_COMMANDS:
        return s.DATA.hex(s.DATA.members_of(body, "body", ""), "data", "body")
    if cmd in s.PROTOBUF:
        return message_bytes(body, v.PROTOBUF_MEMBERS[cmd], s.PROTOBUF[cmd], "body")
    if cmd == v.NODE_MSG or cmd == v.KNOT_MSG:
        return s.PAYLOAD.hex(s.PAYLOAD.members_of(body, "body", ""), "payload", "body")
    out = BytesWriter()
    schema = s.FIXED[cmd]
    schema.members_of(body, "body", "")
    if cmd == v.OLD_SYN and not body:
        return b""
    schema.require(body, "body", v.DEPLOYED_COMMANDS[cmd])
    for part in v.LAYOUTS[cmd].parts:
        width = int(part.width)
        number = schema.number(body, part.name, "body")
        write_number(out, number & ((1 << 8 * width) - 1), width, True)
    out.write(schema.hex(body, "extra", "body"))
    return out.getvalue()
